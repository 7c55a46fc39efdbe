"""A print of 4 h takes 8.5 h if the power fails every 3 h on average, and 4.5 h with a
checkpoint every 20 minutes.

(Lecture 15: interrupts)
"""

# %% [markdown]
# Until now a service that had begun was completed, and a customer in a queue waited as
# long as necessary. In practice machines fail, urgent work goes before other work, and
# people leave. This lecture has five such cases:
#
# | word | meaning | in SimPy |
# |---|---|---|
# | **breakdown** | a machine fails while it works | `process.interrupt()` |
# | **checkpoint** | work is saved from time to time | a loop over pieces |
# | **preemption** | urgent work takes the server away | `PreemptiveResource` |
# | **balking** | a customer sees the queue and does not join it | `len(desk.queue)` |
# | **reneging** | a customer leaves the queue unserved | `turn` or a timeout |
#
# (**Jockeying** is to change from one queue to a shorter one.)
#
# ## An interrupt
# A process can be interrupted by another one, `process.interrupt()`. At the `yield` at
# which it waits, the exception `simpy.Interrupt` is raised. SimPy does nothing else:
# the process has to know what it has done and what is left.

# %%
from math import ceil, exp, expm1, inf, sqrt
from pathlib import Path

import numpy as np
import simpy
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim


def worker(env, done):
    begin = env.now
    try:
        yield env.timeout(10)
    except simpy.Interrupt as interrupt:
        done.append((env.now - begin, interrupt.cause))


def phone(env, process):
    yield env.timeout(4)
    process.interrupt("the phone rings")


env, done = simpy.Environment(), []
env.process(phone(env, env.process(worker(env, done))))
env.run()
print("minutes of work done, and cause:", *done)
print(claim("4 of 10 minutes are done", done[0][0], equal=4))

# %% [markdown]
# ## Breakdowns: a print that starts again
# A workshop has a 3-D printer and a print of 4 hours. The power fails every 3 hours on
# average, for a moment, with exponential times between failures. After a failure the
# print starts again, unless there are **checkpoints**: after each piece of work its
# state is saved, which takes a minute. A restart takes 2 minutes.

# %%
SEED, SEEDS = 15_000, range(15_000, 15_010)
WORK_H, MEAN_H, WRITING_H, RESTART_H = 4.0, 3.0, 1 / 60, 2 / 60


@cg.model(unit_s=3600)
def printing(env, draw, piece_h=WORK_H):
    """Print in pieces; piece_h: hours of work between checkpoints."""

    def printer():
        left_h, again_h = WORK_H, 0.0
        while left_h > 1e-9:
            work_h = min(piece_h, left_h)
            is_last = left_h - work_h < 1e-9
            try:
                yield env.timeout(again_h + work_h + (0 if is_last else WRITING_H))
                left_h, again_h = left_h - work_h, 0.0
            except simpy.Interrupt:  # the piece is lost
                again_h = RESTART_H

    def power(job):
        while True:
            yield env.timeout(draw("failures").exponential(MEAN_H))
            job.interrupt()

    job = env.process(printer())
    env.process(power(job))
    env.run(until=job)
    return {"hours": env.now}


def simulated_h(runs, piece_h):
    seeds = range(SEED, SEED + runs)
    runs = (printing(simpy.Environment(), cg.Draw(seed), piece_h) for seed in seeds)
    return cg.statistics.mean([run["hours"] for run in runs])


# %% [markdown]
# ## The same by a formula
# Failures have the rate r = 1 / 3 per hour. A piece of length L (work and checkpoint)
# is finished without a failure with probability exp(-r L). The first attempt needs L,
# each later one L and the restart R. The expected time of a piece is
#
#     E(L) = (1 - exp(-r L)) exp(r (L + R)) / r
#
# With R = 0 this is (exp(r L) - 1) / r, and the variance of the time is (exp(2 r L) - 2
# r L exp(r L) - 1) / r². These two determine how many runs give the mean to ± 5 %. We
# make this number of runs for each distance between checkpoints.

# %%
RATE = 1 / MEAN_H


def piece_h(length_h, restart_h=RESTART_H):
    return -expm1(-RATE * length_h) * exp(RATE * (length_h + restart_h)) / RATE


def formula_h(distance_h):
    """Return the expected hours of the print with checkpoints at a distance."""
    pieces = ceil(WORK_H / distance_h - 1e-9)
    last_h = WORK_H - distance_h * (pieces - 1)
    return (pieces - 1) * piece_h(distance_h + WRITING_H) + piece_h(last_h)


x = RATE * WORK_H
sd_h = sqrt(exp(2 * x) - 2 * x * exp(x) - 1) / RATE
RUNS = ceil((1.96 * sd_h / (0.05 * piece_h(WORK_H, 0))) ** 2)
MINUTES = (5, 10, 20, 40, 80, 240)
by_distance = {minutes: simulated_h(RUNS, minutes / 60) for minutes in MINUTES}
print(f"hours until the print is done, {RUNS} runs each")
print("checkpoint every    simulated     formula")
worst = 0
for minutes, mean in by_distance.items():
    exact_h = formula_h(minutes / 60)
    worst = max(worst, abs(mean.mean / exact_h - 1))
    print(f"{minutes:8} min {mean.mean:12.2f} ± {mean.half_width:.2f} {exact_h:10.2f}")
print(claim("All are within 10 % of the formula", worst, below=0.1))
plain_h = formula_h(WORK_H)
print(claim("A print of 4 h takes 8.5 h", round(plain_h, 1), equal=8.5))
print(claim("with checkpoints 4.5 h", round(formula_h(1 / 3), 1), equal=4.5))

# %% [markdown]
# Many checkpoints cost writing time; with few checkpoints more work is lost. Near the
# best distance the expected time changes little. A good approximation is **Young's
# rule**, the square root of 2 c / r where c is the time to write a checkpoint.

# %%
distances_h = WORK_H / np.arange(1, 60)
best_h = min(distances_h, key=formula_h)
young_h = sqrt(2 * WRITING_H / RATE)
for name, distance_h in (("best of equal pieces", best_h), ("Young's rule", young_h)):
    print(f"{name:21} {60 * distance_h:.1f} min, {formula_h(distance_h):.3f} h")
ratio = formula_h(young_h) / formula_h(best_h)
print(claim("Young's rule costs at most 0.5 % more", ratio, below=1.005))

# %% [markdown]
# ## Preemption
# A machine serves urgent jobs and others. In a `PreemptiveResource` a request with a
# smaller priority interrupts the job in service. The interrupted job requests the
# machine again for what is left: **preemptive resume**. For one server and Poisson
# arrivals both cases have formulas, without interruption (Cobham) and with it.

# %%
RATES, MEANS = (0.2, 0.1), (1.0, 4.0)  # jobs per minute, minutes of work


@cg.model(unit_s=60)
def workshop(env, draw, preempt=True, keeps=True, end_min=20_000.0):
    """Urgent jobs and others. keeps: whether the work done is subtracted."""
    machine = cg.PreemptiveResource(env, name="machine")
    stays = [cg.Monitor(env, "urgent"), cg.Monitor(env, "others")]
    cg.warm_up(env, 0.2 * end_min)

    def job(kind, left):
        arrival = env.now
        while left > 0:
            with machine.request(priority=kind, preempt=preempt) as turn:
                yield turn
                begin = env.now
                try:
                    yield env.timeout(left)
                    left = 0
                except simpy.Interrupt:
                    if keeps:
                        left -= env.now - begin
        stays[kind].tally(env.now - arrival)

    def source(kind):
        while True:
            yield env.timeout(draw("gaps", kind).exponential(1 / RATES[kind]))
            env.process(job(kind, draw("work", kind).exponential(MEANS[kind])))

    for kind in (0, 1):
        env.process(source(kind))
    env.run(end_min)


CASES = {
    "urgent first": {"preempt": False},
    "urgent interrupts": {},
    "work done is lost": {"keeps": False},
}
squares = [2 * mean**2 for mean in MEANS]  # second moments of exponential times
FORMULAS = {
    "urgent first": cg.queueing.mg1_priority(RATES, MEANS, squares) + np.array(MEANS),
    "urgent interrupts": cg.queueing.mg1_preemptive(RATES, MEANS, squares),
}
means = cg.compare(workshop, CASES, seeds=SEEDS).means()
print("minutes from arrival to departure")
worst = 0
for name in CASES:
    for kind, column in enumerate(("urgent", "others")):
        mean, formula = means[name][column], ("as above", "no steady state")[kind]
        if name in FORMULAS:
            exact = FORMULAS[name][kind]
            worst = max(worst, abs(mean.mean / exact - 1))
            formula = f"formula {exact:.2f}"
        figures = f"{mean.mean:8.2f} ± {mean.half_width:6.2f} ({formula})"
        print(f"  {name:18} {column} {figures}")
print(claim("All are within 10 % of their formula", worst, below=0.1))
alone = float(cg.queueing.mmc(RATES[0], 1 / MEANS[0], 1).wait_s) + MEANS[0]
urgent, others = FORMULAS["urgent interrupts"]
print(claim("Urgent jobs are as fast as alone", round(urgent - alone, 9), equal=0))
later = round(others - FORMULAS["urgent first"][1], 9)
print(claim("The others stay one minute longer", later, equal=1))

# %% [markdown]
# With preemption the urgent jobs are as fast as if they were alone, and the others stay
# a minute longer. If work done is lost, the others have no steady state (see below).
# (In SimPy, an interrupted job that requests the machine again is the last of its
# priority in the queue. With exponential work this does not change the mean.)
#
# ## Balking and reneging
# A call centre has five agents. A caller who hears that three others are already
# waiting balks, that is, does not join. In two other cases, a caller who has waited for
# 90 seconds hangs up, that is, reneges: the caller waits for the first of two events,
# and at the end of the `with` block the request is withdrawn from the queue.


# %%
@cg.model
def call_centre(env, draw, agents=5, patience_s=inf, places=inf, end_s=50_000.0):
    """Callers every 12 s, calls of 60 s on average. places: to wait in."""
    desk = cg.Resource(env, agents, name="desk")
    arrived = balked = 0

    def caller(talk_s):
        with desk.request() as turn:
            limit = env.timeout(patience_s) if patience_s < inf else env.event()
            if turn in (yield turn | limit):
                yield env.timeout(talk_s)

    def source():
        nonlocal arrived, balked
        while True:
            yield env.timeout(draw("gaps").exponential(12))
            talk_s = draw("talk").exponential(60)
            arrived += 1
            if desk.count == agents and len(desk.queue) >= places:
                balked += 1
            else:
                env.process(caller(talk_s))

    env.process(source())
    env.run(end_s)
    return {"balked_pct": 100 * balked / arrived}


CALLS = {
    "balk, 3 places": {"places": 3},
    "renege, 5 agents": {"patience_s": 90.0},
    "renege, 4 agents": {"patience_s": 90.0, "agents": 4},
}
QUEUES = (
    cg.queueing.mmck(1 / 12, 1 / 60, 5, 3),
    cg.queueing.mmc_patience(1 / 12, 1 / 60, 5, 90),
    cg.queueing.mmc_patience(1 / 12, 1 / 60, 4, 90),
)
losses = cg.compare(call_centre, CALLS, seeds=SEEDS).means()
lost_pct, worst = [100 * queue.left for queue in QUEUES], 0
for name, exact_pct in zip(CALLS, lost_pct):
    row = losses[name]
    pct = row["balked_pct" if "balk" in name else "desk_withdrawn_pct"]
    print(f"  {name:17} {pct.mean:5.2f} ± {pct.half_width:.2f} %", end=" ")
    print(f"(formula {exact_pct:.2f}), wait {row['desk_wait'].mean:.0f} s")
    worst = max(worst, abs(pct.mean / exact_pct - 1))
print(claim("All are within 15 % of their formula", worst, below=0.15))
twice = lost_pct[2] / lost_pct[1]
print(claim("With four agents more than twice as many renege", twice, above=2))

# %% The figure


def draw_figure():
    with cg.plots.styled("lecture"):
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(15, 6), layout="constrained"
        )
        left.plot(60 * distances_h, [*map(formula_h, distances_h)], color="0.5")
        values = [(mean.mean, mean.half_width) for mean in by_distance.values()]
        left.errorbar(MINUTES, *zip(*values), fmt="o", color="#0B4F9C", capsize=6)
        left.axvline(60 * young_h, 0, 0.5, color="#C04A00", ls="--")
        left.text(60 * young_h * 1.1, 0.6, "Young's rule", color="#C04A00")
        left.set(xscale="log", xticks=MINUTES, xticklabels=MINUTES, ylim=(0, 10))
        left.set(xlabel="minutes between checkpoints", ylabel="hours until done")
        left.minorticks_off()
        for kind, name, colour in ((0, "urgent", "#C04A00"), (1, "others", "0.3")):
            shown = [means[case][name] for case in FORMULAS]
            values = [(mean.mean, mean.half_width) for mean in shown]
            style = {"color": colour, "capsize": 6, "label": f"{name}, simulated"}
            right.errorbar((0, 1), *zip(*values), fmt="o", **style)
            exact = [formula[kind] for formula in FORMULAS.values()]
            style = {"color": colour, "mfc": "white", "label": f"{name}, formula"}
            right.plot((0.1, 1.1), exact, "D", **style)
        right.set(ylabel="time in the workshop (min)", xlim=(-0.5, 1.5), ylim=(0, 15))
        right.set_xticks(range(len(FORMULAS)), FORMULAS)
        right.legend(frameon=False, ncols=2, loc="upper left", fontsize="small")
        left.set_title("(a) a print with checkpoints", loc="left", size="medium")
        right.set_title("(b) preemption", loc="left", size="medium")
        Path("pictures").mkdir(exist_ok=True)
        figure.savefig("pictures/lecture_15.png", dpi=150)


draw_figure()

# %% [markdown]
# ## Three misconceptions
# **"Twice the work takes twice the time."** Without checkpoints the expected time grows
# exponentially: a print of 8 h takes more than four times as long as one of 4 h.
#
# **"After an interrupt SimPy continues the service."** It does not. If the line that
# subtracts the work done is missing, no error appears, and each job begins again. A job
# that is not urgent, with x minutes of work, then needs (exp(0.2 x) - 1) / 0.2 minutes
# of service: 20 on average instead of 4. The load is far above 1, and the queue grows
# without limit. This is the last case of the table above.
#
# **"A caller who hangs up has left the queue."** Only if the request is withdrawn. With
# a request outside `with`, the server is later granted to a caller who is gone, and is
# never released.


# %%
def without_withdrawal(env, desk, served):
    turn = desk.request()
    if turn in (yield turn | env.timeout(2)):
        yield env.timeout(5)
        served.append(env.now)
        desk.release(turn)


longer = piece_h(2 * WORK_H) / plain_h
print(claim("Twice the work takes more than four times as long", longer, above=4))

service_min = (1 / (1 - RATES[0] * MEANS[1]) - 1) / RATES[0]
load = RATES[0] * MEANS[0] + RATES[1] * service_min
print(f"if work is lost: {service_min:.0f} min of service per job, load {load:.1f}")
print(claim("20 minutes of service on average", round(service_min, 9), equal=20))
print(claim("The load is above 2 if work is lost", load, above=2))
growth = means["work done is lost"]["others"].mean / others
print(claim("The others stay more than ten times as long", growth, above=10))

env, served = simpy.Environment(), []
desk = simpy.Resource(env)
for start_min in (1, 2, 21):
    env.run(until=start_min)
    env.process(without_withdrawal(env, desk, served))
env.run()
print(claim("Of three callers only the first is served", len(served), equal=1))

# %% [markdown]
# ## Five questions
# <details><summary>1. What happens in a process that is interrupted and does not catch
# the exception?</summary>
#
# It ends with the exception, and the run stops with an error.
# </details>
# <details><summary>2. A machine fails every 10 hours of work on average. A repair takes
# 2 hours. Which share of the time does it work?</summary>
#
# 10 / (10 + 2), five sixths. This share is called availability.
# </details>
# <details><summary>3. What is the difference between balking and reneging?</summary>
#
# A customer who balks does not join the queue. A customer who reneges leaves it
# unserved.
# </details>
# <details><summary>4. Failures become four times as rare. What does Young's rule say?
# </summary>
#
# Twice the distance between checkpoints: it grows with the square root.
# </details>
# <details><summary>5. Why does the mean wait of the served callers say little about a
# call centre in which callers renege?</summary>
#
# Those who would have waited longest are not in it: they hang up.
# </details>
#
# ## You can now
# - interrupt a process, and account for work that is done, left or lost;
# - model breakdowns and checkpoints, and choose the distance between checkpoints;
# - let urgent work preempt other work, and check it by a formula;
# - model balking and reneging, and report the share that is lost.
#
# ## References
# - SimPy's documentation, "Process Interaction" and "Shared Resources".
# - Law, *Simulation Modeling and Analysis*, 5th ed., Chapter 2 (modeling complex
#   systems) and Chapter 14 (simulation of manufacturing systems: machine downtimes).
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation*, 5th ed., Chapter 6
#   (queueing models: balking, reneging, jockeying).
# - J. W. Young, "A First Order Approximation to the Optimum Checkpoint Interval",
#   Communications of the ACM 17 (1974), 530-531.
#
# ## Exercises
# **15.1** What is the expected time of a job without checkpoints, restarts included?
# Your own numbers: `cg.exercises.question(15.1, "your name")`.
# `cg.exercises.check(15.1, answer, "your name")`
#
# **15.2** Write a process `job(env, work, every)`. It has the given amount of work and
# saves its state after each `every` units of work, which takes no time. The judge
# interrupts it: the work since the last checkpoint is lost, and the job continues at
# once. It returns the time on the clock at its end. `cg.exercises.check(15.2, job)`
#
# **15.3** Write a process `caller(env, desk, talk, patience)`. The caller waits for the
# resource `desk` for the time `patience` at most, and is served for the time `talk`. It
# returns 1 if the caller was served, and 0 otherwise. A caller who reneges must leave
# the queue as soon as the patience ends. `cg.exercises.check(15.3, caller)`
#
# **15.4** Write a process `job(env, machine, priority, work)`. `machine` is a
# `simpy.PreemptiveResource`. A job that is interrupted keeps the work done and requests
# the machine again. The process returns the time from arrival to departure.
# `cg.exercises.check(15.4, job)`
