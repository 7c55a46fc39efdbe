"""At utilisation 0.95 the mean wait is nineteen service times; at 0.8, one common queue
in place of four leaves a fifth of the wait.

(Lecture 10: queues and formulas)
"""

# %% [markdown]
# ## A model whose answer is known
# Before we trust a simulation model, we compare it with cases whose answers are known.
# This is a part of **validation**, and queueing theory has many such cases. Their names
# say what is random: in **M/M/c** interarrival times and service times are exponential
# (M for Markovian, without memory) and there are c servers; in **M/D/1** all service
# times are equal (D for deterministic); in **M/G/1** they have a general distribution.
#
# The **utilisation** rho is the arrival rate times the mean service time over the
# number of servers. It must be below 1; otherwise there is no steady state.
#
# The model is a call centre. `cv2` is the squared coefficient of variation of the
# service time, its variance over its squared mean: 0 for equal times, 1 for exponential
# ones. The gamma distribution gives any other value.

# %%
from math import ceil
from pathlib import Path

import numpy as np
import simpy
from matplotlib import pyplot as plt
from scipy.stats import t

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim

SEED = 10_000  # the first seed of all runs
RUNS, WITHIN, MEAN_S = 10, 0.2, 10.0


@cg.model(figures={"wait": cg.Metric("mean wait", "s")})
def call_centre(
    env,
    draw,
    clerks=1,
    load=0.8,
    cv2=1.0,
    calls=2000,
    separate=False,
    shortest_first=False,
    warm_up=0.2,
):
    """load: of each clerk. separate: one queue per clerk. warm_up: share of calls."""
    servers = [1] * clerks if separate else [clerks]
    desks = [cg.PriorityResource(env, n, f"desk{k}") for k, n in enumerate(servers)]
    wait, gap_s = cg.Monitor(env, "wait"), MEAN_S / (load * clerks)
    if warm_up:
        cg.warm_up(env, warm_up * calls * gap_s)

    def call(desk, work_s):
        arrival = env.now
        with desk.request(work_s if shortest_first else 0) as turn:
            yield turn
            wait.tally(env.now - arrival)
            yield env.timeout(work_s)

    def source():
        for _ in range(calls):
            yield env.timeout(draw("gaps").exponential(gap_s))
            desk = desks[draw("kinds").integers(len(desks))]
            work = cv2 * draw("work").gamma(1 / cv2) if cv2 else 1.0
            env.process(call(desk, MEAN_S * work))

    env.process(source())
    env.run()
    return {"calls_per_s": calls / env.now}


def formula_s(clerks=1, load=0.8, cv2=1.0, separate=False, **_):
    """Mean wait in steady state."""
    rate = load / MEAN_S
    if clerks == 1 or separate:
        return float(cg.queueing.mg1(rate, 1 / MEAN_S, cv2**0.5).wait_s)
    return float(cg.queueing.mmc(rate * clerks, 1 / MEAN_S, clerks).wait_s)


# %% [markdown]
# For M/G/1 the formula is that of Pollaczek and Khinchine:
#
#     mean wait = rho / (1 - rho) * (1 + cv2) / 2 * mean service time
#
# The wait grows with 1 / (1 - rho), so the idle share matters. It also grows with the
# variation of the service times.

# %%
for load in (0.5, 0.8, 0.9, 0.95, 0.99):
    ratio = formula_s(load=load) / MEAN_S
    print(f"M/M/1, utilisation {load:.2f}: mean wait {ratio:4.1f} service times")
nineteen = round(formula_s(load=0.95) / MEAN_S, 9)
print(claim("At 0.95 the mean wait is nineteen service times", nineteen, equal=19))
halved = round(formula_s(cv2=0) / formula_s(), 9)
print(claim("Equal service times halve the wait", halved, equal=0.5))

# %% [markdown]
# ## How long must a run be?
# Fix the length before you look at results. If runs are lengthened until the interval
# contains the formula's value, this will happen at some length, even for a wrong model.
# Successive waits are correlated (lecture 9). For M/M/1 the variance of the mean of n
# waits is known for large n (Daley, Journal of the Australian Mathematical Society 8,
# 1968):
#
#     (mean wait)² (2 + 5 rho - 4 rho² + rho³) / (rho (1 - rho)² n)
#
# We want the mean wait of M/M/1 to ± 20 % from ten runs. The other queues get the
# length of M/M/1 at the same utilisation. The first fifth of each run is the warm-up.


# %%
def calls_per_run(load):
    """Length at which RUNS runs give the mean wait of M/M/1 to ± WITHIN."""
    variance = (2 + 5 * load - 4 * load**2 + load**3) / (load * (1 - load) ** 2)
    return ceil(variance * (t.ppf(0.975, RUNS - 1) / WITHIN) ** 2 / RUNS / 0.8)


CASES = {
    "M/M/1 at 0.5": {"load": 0.5},
    "M/M/1 at 0.8": {},
    "M/M/1 at 0.9": {"load": 0.9},
    "M/D/1 at 0.8": {"cv2": 0.0},
    "M/G/1 at 0.8, cv2 = 4": {"cv2": 4.0},
    "M/M/4 at 0.8": {"clerks": 4},
    "four M/M/1 at 0.8": {"clerks": 4, "separate": True},
}
for case in CASES.values():
    case["calls"] = calls_per_run(case.get("load", 0.8))
study = cg.compare(call_centre, CASES, seeds=range(SEED, SEED + RUNS))
waits = {name: means["wait"] for name, means in study.means().items()}
print(f"mean wait in s, {RUNS} runs        simulated    formula")
for name, wait in waits.items():
    measured = f"{wait.mean:6.1f} ± {wait.half_width:<5.1f}"
    print(f"  {name:24} {measured} {formula_s(**CASES[name]):9.1f}")
exact = {name: formula_s(**case) for name, case in CASES.items()}
inside = sum(wait.low <= exact[name] <= wait.high for name, wait in waits.items())
print(claim("Most intervals contain the formula's value", inside, above=3.5))
times = calls_per_run(0.95) / calls_per_run(0.8)
print(
    claim("0.95 takes fourteen times as many calls as 0.8", times, above=13, below=15)
)

# %% [markdown]
# For a correct model, one 95 % interval in twenty does not contain the exact value, and
# with short runs a few more. So one miss among seven is no reason to lengthen the runs
# or to use other seeds. It is a reason to look for an error if the miss is large.
#
# ## Little's law
# The mean number of waiting calls is the arrival rate times the mean wait,
# L = lambda W. The law needs no distribution and holds for every order of service. From
# an empty start to an empty end it holds exactly. The left side is an average over
# time, measured by `cg.Resource`; the right side is an average over calls.

# %%
worst = 0.0
for shortest_first in (False, True):
    case = {"calls": 1000, "warm_up": 0, "shortest_first": shortest_first}
    summary = cg.simulate(call_centre, case, SEED).summary()
    over_time = summary["desk0_queue"]
    over_calls = summary["calls_per_s"] * summary["wait"]
    order = "shortest first" if shortest_first else "first come    "
    print(f"  {order}: L {over_time:.6f}, lambda W {over_calls:.6f}")
    worst = max(worst, abs(over_time / over_calls - 1))
print(claim("Little's law holds to rounding in both orders", worst, below=1e-9))

# %% [markdown]
# ## One common queue or separate queues?
# Four clerks serve calls of four kinds. Either each kind has its own clerk and queue,
# or all clerks share one queue. Both systems serve the same calls. With separate queues
# a clerk can be idle while calls of another kind wait; with a common queue this is
# impossible.

# %%
left = formula_s(clerks=4) / formula_s()
print(claim("A fifth of the wait is left", left, above=0.17, below=0.23))
ratio = waits["M/M/4 at 0.8"].mean / waits["four M/M/1 at 0.8"].mean
print(f"simulated: {ratio:.2f} of the wait is left")
pair = ("M/M/4 at 0.8", "four M/M/1 at 0.8")
less_s = cg.statistics.paired_difference(*(study.values(name, "wait") for name in pair))
print(claim("In the common queue calls wait less", less_s, below=0))
print("clerks, all at utilisation 0.8    mean wait in s, by the formula")
for clerks in (1, 2, 4, 8, 16):
    print(f"{clerks:30} {formula_s(clerks=clerks):20.2f}")

# %% [markdown]
# ## The waiting-time paradox
# Why does variation make queues longer? Buses arrive every ten minutes on average.
# Passengers arrive at random and wait for the next bus, in SimPy one event that all of
# them yield.


# %%
def bus_stop(intervals, seed):
    """Mean wait of passengers, one per minute on average."""
    env, draw, waits = simpy.Environment(), cg.Draw(seed), []
    stop = {"next bus": env.event()}

    def passenger():
        arrival = env.now
        yield stop["next bus"]
        waits.append(env.now - arrival)

    def passengers():
        while True:
            yield env.timeout(draw("passengers").exponential(1))
            env.process(passenger())

    def buses():
        for interval in intervals:
            yield env.timeout(interval)
            stop["next bus"].succeed()
            stop["next bus"] = env.event()

    env.process(passengers())
    env.run(env.process(buses()))
    return np.mean(waits)


BUSES = 2000
intervals = cg.Draw(SEED)("buses").exponential(10, BUSES)
random_min = bus_stop(intervals, SEED)
regular_min = bus_stop([10.0] * BUSES, SEED)
print(f"mean wait: regular buses {regular_min:.1f} min, random {random_min:.1f} min")

# %% [markdown]
# With regular buses the mean wait is half an interval. With exponential intervals it is
# a whole interval, because more passengers arrive in the long intervals. In general it
# is (1 + cv2) / 2 intervals, and this is the factor in the formula of Pollaczek and
# Khinchine: a call that finds the clerk busy waits for the rest of a service.


# %%
def draw_figure():
    with cg.plots.styled("lecture"):
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(15, 6), layout="constrained", width_ratios=(3, 2)
        )
        rho = np.linspace(0.01, 0.92, 100)
        for kind, how, colour, marker, label_at in (
            ("M/M/1", {}, "#000000", "o", 0.925),
            ("M/D/1", {"cv2": 0.0}, "#C04A00", "s", 0.925),
            ("M/G/1", {"cv2": 4.0}, "#7A5195", "D", 0.76),
            ("M/M/4", {"clerks": 4}, "#0B4F9C", "^", 0.925),
        ):
            curve = [formula_s(load=load, **how) / MEAN_S for load in rho]
            left.plot(rho, curve, color=colour)
            height = formula_s(load=label_at, **how) / MEAN_S
            before = kind == "M/G/1"
            side = {"ha": "right" if before else "left", "va": "center"}
            shown = "M/G/1, cv2 = 4 " if before else kind
            left.text(label_at, height, shown, color=colour, **side)
            style = {"fmt": marker, "color": colour, "capsize": 6}
            for name, wait in waits.items():
                if name.startswith(kind):
                    values = wait.mean / MEAN_S, wait.half_width / MEAN_S
                    left.errorbar(CASES[name].get("load", 0.8), *values, **style)
        left.set(xlabel="utilisation", xlim=(0, 1.02), ylim=(0, 14))
        left.set_ylabel("mean wait (service times)")
        left.set_title("lines: formula; marks: simulated", fontsize="medium")
        clerks = np.arange(1, 17)
        common = [formula_s(clerks=int(n)) / MEAN_S for n in clerks]
        right.plot(clerks, common, "o-", color="#0B4F9C", label="common queue")
        right.axhline(formula_s() / MEAN_S, color="black", label="separate queues")
        right.set(xlabel="clerks", xticks=(1, 4, 8, 12, 16), ylim=(0, None))
        right.set_ylabel("mean wait (service times)")
        right.set_title("utilisation 0.8, by the formulas", fontsize="medium")
        right.legend(frameon=False)
        Path("pictures").mkdir(exist_ok=True)
        figure.savefig("pictures/lecture_10.png", dpi=150)


draw_figure()

# %% [markdown]
# ## Three misconceptions
# 1. *"An eighth more load makes the wait an eighth longer."* From utilisation 0.8 to
#    0.9 the wait more than doubles by the formula.
# 2. *"Only the mean service time matters."* With equal means, variable service times
#    (cv2 = 4) give five times the wait of equal ones.
# 3. *"If buses arrive every ten minutes on average, one waits five minutes on
#    average."* Only if they arrive regularly.

# %%
grown = waits["M/M/1 at 0.9"].mean / waits["M/M/1 at 0.8"].mean
print(claim("1. The wait grows by more than a third", grown, above=4 / 3))
varied = waits["M/G/1 at 0.8, cv2 = 4"].mean / waits["M/D/1 at 0.8"].mean
print(claim("2. Variable service times more than double the wait", varied, above=2))
print(claim("3. Passengers wait about ten minutes", random_min, above=8, below=12))

# %% [markdown]
# ## You can now
# - compare a model with M/M/c, M/D/1 and M/G/1, with a run length fixed beforehand;
# - explain why the wait grows with 1 / (1 - rho) and with the variation;
# - check a model by Little's law;
# - compute how much a common queue saves, by the formula and by simulation.
#
# ## Five questions
# 1. What is the mean wait in M/M/1 at rho = 0.75, in service times?
#    <details><summary>Answer</summary>0.75 / 0.25 = 3.</details>
# 2. And in M/D/1?
#    <details><summary>Answer</summary>Half of it, 1.5, as cv2 is 0.</details>
# 3. Twelve customers arrive per hour and stay for 15 minutes on average. How many are
#    inside on average?
#    <details><summary>Answer</summary>12 times 1/4 is 3, by Little's law.</details>
# 4. Does Little's law need a queue in order of arrival?
#    <details><summary>Answer</summary>No. It holds for every order and every
#    distribution.</details>
# 5. A 95 % interval of a correct model does not contain the formula's value. What now?
#    <details><summary>Answer</summary>One in twenty does so. Do not lengthen this run
#    until it fits. Run a new, longer study whose length is fixed
#    in advance.</details>
#
# ## References
# - Law, *Simulation Modeling and Analysis* (5th ed.), Appendix 1B (queueing systems).
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation* (5th ed.),
#   Chapter 6 (queueing models).
#
# ## Exercises
# **10.1** Calls arrive at random; service times are exponential. What is the least
# number of clerks with one common queue for a given mean wait? Your numbers:
# `print(cg.exercises.question(10.1, "your name"))`
# Check it: `cg.exercises.check(10.1, answer, "your name")`
#
# **10.2** Write `mean_number(env, desk, gaps, works)`: the time average of the number
# of customers in the system (waiting or in service), from time 0 until the last one
# leaves. Customer k arrives gaps[k] after the customer before and holds `desk`, a
# `simpy.Resource`, for works[k]. Start the processes and call `env.run()`.
# Check it: `cg.exercises.check(10.2, mean_number)`
#
# **10.3** If no formula gives the mean wait of one server, Kingman's bound (1962) is
# an upper bound: the sum of the variances of interarrival time and service time, over
# twice the mean interarrival time and over 1 - utilisation. Write
# `bound(gap, gap_sd, work, work_sd)` from means and standard deviations.
# Check it: `cg.exercises.check(10.3, bound)`
#
# **10.4** Write `shortest_queue(env, desks, gaps, works)`. `desks` is a list of
# `simpy.Resource` with one server each. A customer joins the desk with the fewest
# customers, waiting or in service, and stays there. If several have the fewest, it is
# the first of them in the list. Return the mean wait.
# Check it: `cg.exercises.check(10.4, shortest_queue)`
