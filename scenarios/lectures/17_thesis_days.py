"""Five rented GPUs have work for less than a third of the time, and still jobs wait
more than an hour: provisioning a GPU takes too long.

(Lecture 17: days of the thesis)
"""

# %% [markdown]
# This lecture and the next one are a case study: the model of the thesis that this
# package reproduces. A studio renders frames of a film on rented GPUs.
#
# ## The conceptual model
# - **Entities**: jobs, one per frame. Attributes: submission, deadline, complexity
#   (1 to 3), and whether it is a rush order.
# - **Resources**: C_max **slots**, here five, each for one rented GPU at a time. The
#   slots have types with different prices and execution times.
# - **Activities**: **provisioning**, from the dispatch until the GPU is available, and
#   **execution**. A slot is held for both.
# - **Market**: the stock of a GPU type is High, Medium or Low. Provisioning takes
#   seconds, about a minute, or ten minutes to two hours. Stock is scarce from 12:00 to
#   18:00. A day begins at 08:00.
#
# The data of such days are in `cg.day`: "normal" (100 jobs), "hectic" (950 jobs before
# noon), "surge" (jobs arrive for ten hours).
#
# ## In plain SimPy
# A `PriorityStore` holds the numbers of idle slots and gives the smallest first; jobs
# get them first come, first served. A job keeps its number until its execution ends.

# %%
from dataclasses import replace
from pathlib import Path

import numpy as np
import simpy
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.metrics import queue_length
from cgrsp_simpy.exercises import claim


def provisioning(env, day, slot, draws):
    """Return the event of the arrival of a GPU that is ordered now."""
    status = day.market.status(day.slots[slot], env.now, draws.status)
    return env.timeout(day.market.provisioning_s(status, draws.delay))


def execution(env, day, slot, job, draws):
    mean_s = day.slots[slot].mean_execution_s[job.complexity - 1]
    return env.timeout(mean_s * draws.service)


def rented(env, day, idle, job, draws, records):
    yield env.timeout(job.submit_s)
    slot = yield idle.get()
    dispatch_s = env.now
    yield provisioning(env, day, slot, draws)
    start_s = env.now
    yield execution(env, day, slot, job, draws)
    records[job.id] = (slot, dispatch_s, start_s, env.now)
    yield idle.put(slot)


def slot_later(env, day, idle, job, draws, records):
    """Take a slot only when the GPU is there."""
    yield env.timeout(job.submit_s)
    dispatch_s = env.now
    yield provisioning(env, day, job.id % len(day.slots), draws)
    slot = yield idle.get()
    start_s = env.now
    yield execution(env, day, slot, job, draws)
    records[job.id] = (slot, dispatch_s, start_s, env.now)
    yield idle.put(slot)


def records_of(process, day, seed):
    """Return slot, dispatch, start and end by job, and the mean wait in minutes."""
    env, records = simpy.Environment(), {}
    idle = simpy.PriorityStore(env)
    for slot in range(len(day.slots)):
        idle.put(slot)
    jobs = list(day.workload.generate(seed, day.service))
    for job, draws in jobs:
        env.process(process(env, day, idle, job, draws, records))
    env.run()
    return records, np.mean([records[job.id][2] - job.submit_s for job, _ in jobs]) / 60


SEEDS = range(1, 6)
COLUMNS = ["job", "slot", "dispatch_s", "start_s", "finish_s"]
same, later_min = 0, {}
for name in ("normal", "hectic"):
    day, waits = cg.day(name), {rented: [], slot_later: []}
    for seed in SEEDS:
        engine = cg.simulate(day, "fifo", seed).jobs[COLUMNS].tolist()
        for process, minutes in waits.items():
            records, wait_min = records_of(process, day, seed)
            minutes.append(wait_min)
            if process is rented:
                same += engine == [(job, *records[job]) for job in sorted(records)]
    later_min[name] = cg.statistics.paired_difference(waits[slot_later], waits[rented])
    means = (
        f"{process.__name__} {np.mean(waits[process]):.1f} min" for process in waits
    )
    print(f"{name} day, mean wait of {len(SEEDS)} seeds:", ", ".join(means))
print(claim("Ten days: all slots and times as in the package", same, equal=10))
last_h = max(job.submit_s for job, _ in day.workload.generate(1, day.service)) / 3600
print(claim("The jobs of the hectic day come before noon, hour 4", last_h, below=4))
print("provisioning in s, stock High, Medium, Low:", day.market.delay_s)
print(
    claim("Hectic day, a slot taken later: far shorter", later_min["hectic"], below=-60)
)

# %% [markdown]
# These few lines give the same slots and times as the package's engine, without any
# tolerance. This is a **verification** by a second implementation.
#
# If a job takes its slot only when its GPU is available, several GPUs are ordered for
# one slot at the same time. The provider does not allow this, and on the hectic day the
# error makes the mean wait look far shorter.
#
# ## The offered load
# On the surge day 72 jobs arrive per hour, and each needs little more than a minute of
# a GPU. The **offered load** is the arrival rate times the mean execution time, per
# slot.

# %%
day = cg.day("surge")
arrivals = 3600 * day.workload.rate_per_s
run = cg.simulate(day, "fifo", seed=0)
load, wait_min = day.known().offered_load, run.summary()["wait_min"]
print(f"{arrivals:.0f} jobs per hour, load {load:.2f}, mean wait {wait_min:.0f} min")
print(claim("Work for less than a third of the time", load, below=1 / 3))

# %% [markdown]
# ## The pace
# The load leaves out the provisioning, which holds the slots as well. The **pace** is
# the number of jobs per hour that the slots can serve if each is held for provisioning
# and execution. It depends on the hour, because the probabilities of High, Medium and
# Low do.


# %%
def held_s(day, gpu, hour):
    """Return the mean provisioning delay and the mean execution time of a job."""
    chances = day.market.probabilities(gpu, 3600 * hour)
    delay_s = sum(p * sum(ends) / 2 for p, ends in zip(chances, day.market.delay_s))
    return delay_s, np.dot(day.workload.mix, gpu.mean_execution_s)


def pace(day, hour):
    return sum(3600 / sum(held_s(day, gpu, hour)) for gpu in day.slots)


def share_pct(start, end, since_s, until_s):
    """Return the share of the slots' time between two events of each job."""
    inside_s = np.clip(run.jobs[end], since_s, until_s)
    inside_s -= np.clip(run.jobs[start], since_s, until_s)
    return 100 * inside_s.sum() / (until_s - since_s) / len(day.slots)


END_H = run.tally.end_s / 3600
times_s, waiting = queue_length(run)
idle_pct, ordered_pct = {}, {}
print("hours          pace  executing  provisioning   idle   waiting at the end")
for since, until in ((0, 4), (4, 10), (10, END_H)):
    span_s = 3600 * since, 3600 * until
    busy = share_pct("start_s", "finish_s", *span_s)
    ordered_pct[since] = share_pct("dispatch_s", "start_s", *span_s)
    idle_pct[since] = 100 - busy - ordered_pct[since]
    queue = waiting[np.searchsorted(times_s, span_s[1], "right") - 1]
    print(f"{since:2} to {until:4.1f} {pace(day, since):8.0f} {busy:8.0f} %", end=" ")
    print(f"{ordered_pct[since]:11.0f} % {idle_pct[since]:5.0f} % {queue:8.0f} jobs")
print(claim("In the morning: idle half of the time or more", idle_pct[0], above=50))
print(claim("In the peak the pace is below the arrivals", pace(day, 4), below=arrivals))
print(claim("In the peak the slots wait for GPUs", ordered_pct[4], above=75))

# %% [markdown]
# In the morning the demand is the limit. In the peak the pace is below the arrival
# rate, and the queue grows by about the difference per hour, while the slots are full
# of jobs whose GPU is not available yet. After the peak the pace is high again, but the
# queue is still there. The **bottleneck** moves: demand, provisioning, backlog.
#
# ## Remedies
# A remedy helps if it acts at the bottleneck. Two days, six alternatives, ten seeds,
# first come, first served. Stock is scarce in the hours 4 to 10 of a run.


# %%
def faster(name):
    day = cg.day(name)

    def twice(gpu):
        return replace(gpu, mean_execution_s=tuple(s / 2 for s in gpu.mean_execution_s))

    slots, gpus = (tuple(map(twice, kind)) for kind in (day.slots, day.gpus))
    return replace(day, slots=slots, gpus=gpus)


def with_market(name, **changes):
    day = cg.day(name)
    return replace(day, market=replace(day.market, **changes))


def at_once(name):
    return with_market(name, delay_s=((0, 0),) * 3)


def later(name):
    return with_market(name, clock=replace(cg.day(name).market.clock, start_h=18))


def held(view):
    """Start nothing before hour 10; then first come, first served."""
    return [cg.Wake(36_000)] if view.now_s < 36_000 else zip(view.queue, view.idle)


REMEDIES = {
    "as it is": (cg.day, "fifo"),
    "GPUs twice as fast": (faster, "fifo"),
    "two slots more": (lambda name: cg.day(name, slots=7), "fifo"),
    "GPUs without delay": (at_once, "fifo"),
    "nothing starts before 18:00": (cg.day, held),
    "submitted 10 hours later": (later, "fifo"),
}
values = {}  # remedy, day, figure -> values by seed
print(f"{'mean wait (min), rush orders late (%)':40}surge               hectic")
for remedy, (scenario, policy) in REMEDIES.items():
    row = f"{remedy:28}"
    for name in ("surge", "hectic"):
        study = cg.compare(scenario(name), [policy], range(10))
        for figure in ("wait_min", "tight_miss_pct"):
            x = np.array(study.values(study.policies[0], figure))
            values[remedy, name, figure] = x
        wait = cg.statistics.mean(values[remedy, name, "wait_min"])
        late_pct = values[remedy, name, "tight_miss_pct"].mean()
        row += f"{wait.mean:7.1f} ± {wait.half_width:4.1f}, {late_pct:5.1f} %"
    print(row)


def ratio(remedy, name):
    """Return the mean wait as a share of the day as it is, paired by seed."""
    as_it_is = values["as it is", name, "wait_min"]
    return cg.statistics.mean(values[remedy, name, "wait_min"] / as_it_is)


for remedy in list(REMEDIES)[1:4]:
    left = ratio(remedy, "hectic")
    print(claim(f"Hectic day, {remedy}: below a third", left, below=1 / 3))
fast = ratio("GPUs twice as fast", "surge")
print(claim("On the surge day faster GPUs help less", fast, above=0.5))
surge = cg.statistics.mean(values["as it is", "surge", "wait_min"])
print(claim("On the surge day jobs wait more than an hour", surge, above=60))
without = values["GPUs without delay", "surge", "wait_min"].max()
print(claim("GPUs without delay leave hardly any wait", without, below=0.1))

# %% [markdown]
# ## "Start after the peak"
# This advice can mean two things, and they are two different systems.
#
# **The jobs arrive as before and are held.** A job waits from its submission on, even
# if the policy holds it. So the wait is longer than before, and all rush orders are
# late.
#
# **The jobs are submitted later.** Nobody is held; ten hours later the peak of the
# market is over, so on the surge day jobs hardly wait. (On the hectic day they still
# do, since 950 jobs arrive in less than three hours.) This is another studio, for
# example one on another continent. A comparison of the two changes the demand, not the
# policy.

# %%
ratio_held = ratio("nothing starts before 18:00", "surge")
print(claim("Held jobs wait three times as long or more", ratio_held, above=3))
late = values["nothing starts before 18:00", "surge", "tight_miss_pct"].min()
print(claim("All rush orders are late", late, equal=100))
other = cg.statistics.mean(values["submitted 10 hours later", "surge", "wait_min"])
print(claim("On the surge day, jobs submitted later hardly wait", other, below=1))


# %% The figure


def draw_figure():
    with cg.plots.styled("lecture"):
        figure, (top, middle, bottom) = plt.subplots(
            3, 1, figsize=(14, 10), sharex=True, layout="constrained"
        )
        hours = np.arange(0, END_H, 0.05)
        paces = [pace(day, hour) for hour in hours]
        top.step(hours, paces, where="post", color="#0B4F9C", label="pace")
        style = {"where": "post", "color": "#C04A00", "ls": "--", "label": "arrivals"}
        top.step((0, day.workload.jobs / arrivals, END_H), (arrivals, 0, 0), **style)
        top.set(ylabel="jobs per hour", ylim=(0, None))
        top.legend(frameon=False, loc="upper center")
        cg.plots.slot_timeline(run, ax=middle).set(xlabel="", ylabel="slots")
        cg.plots.queue_length(run, ax=bottom)
        for ax in (top, bottom):
            ax.axvspan(4, 10, color="#fff3cd", zorder=0)
        top.text(9.9, 150, "stock is scarce", ha="right")
        Path("pictures").mkdir(exist_ok=True)
        figure.savefig("pictures/lecture_17.png", dpi=150)


draw_figure()

# %% [markdown]
# ## Three misconceptions
# 1. *"A utilisation of one third means a short queue."* This is true only if the load
#    includes everything that holds a slot, and is one third in every hour.
# 2. *"The mean over the day shows the bottleneck."* Over the ten hours in which jobs
#    come, the mean pace is higher than the arrival rate.
# 3. *"Holding jobs until GPUs are available at once makes the wait shorter."* It moves
#    the start, not the submission.

# %%
mean_pace = np.mean([pace(day, hour) for hour in np.arange(0, 10, 0.5)])
print(claim("2. The mean pace is above the arrivals", mean_pace, above=arrivals))

# %% [markdown]
# ## You can now
# - describe the thesis's system as a conceptual model and as SimPy processes;
# - compute a pace from everything that holds a server;
# - find a bottleneck that moves over the day, and test a remedy at it;
# - distinguish a policy that holds jobs from another arrival process.
#
# ## Five questions
# <details><summary>1. When does a job begin to hold its slot?</summary>
#
# At its dispatch, before its GPU is available.
# </details>
# <details><summary>2. A slot is held for 100 s by half of the jobs and for 1000 s by
# the others. What is its pace?</summary>
#
# 3600 / 550 = 6.5 jobs per hour. It is not the mean of 36 and 3.6.
# </details>
# <details><summary>3. By how many jobs does the queue grow in an hour with 72 arrivals
# and a pace of 25?</summary>
#
# By 47.
# </details>
# <details><summary>4. Why do faster GPUs help much on the hectic day, but little on the
# surge day?</summary>
#
# On the hectic day all jobs arrive before the peak, while execution holds the slots:
# with faster GPUs all of them start before the peak begins. On the surge day most jobs
# meet the peak, in which provisioning holds the slots.
# </details>
# <details><summary>5. Why is the second implementation compared without a tolerance?
# </summary>
#
# Both use the same draws and the same arithmetic. A tolerance would hide rare errors,
# such as two jobs in the wrong order.
# </details>
#
# ## References
# - Law, *Simulation Modeling and Analysis* (5th ed.), Chapter 5 (valid and credible
#   models).
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation* (5th ed.),
#   Chapter 10 (verification, calibration and validation).
# - The model and the tables of the thesis: `docs/papers/thesis.md` and
#   `docs/howto/figures.md`.
#
# ## Exercises
# **17.1** How many jobs per hour can the slots serve in the peak? Your own times:
# `cg.exercises.question(17.1, "your name")`
# Check it: `cg.exercises.check(17.1, answer, "your name")`
#
# **17.2** Write a process `job(env, slot, delay, work)`: it requests the resource
# `slot`; its GPU is available after `delay`; then it executes for `work` and leaves. It
# starts at the submission and returns its wait until the execution begins. Check it:
# `cg.exercises.check(17.2, job)`
