"""At utilisation 0.95 a job waits nineteen times its work; at 0.8, one queue in place
of four leaves a fifth of the wait.

(Lecture 3: queues and theory)
"""

# %% [markdown]
# ## A model that must give what is known
# Before a model is believed it should give what is known. Take away delays and
# deadlines, and the engine is a textbook queue: Poisson arrivals, exponential work, c
# slots: M/M/c. Its mean wait is known exactly (`cg.queueing`). So is M/D/1's, where all
# jobs are equally long.

# %%
from math import ceil, sqrt
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from scipy.stats import t

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.metrics import littles_law
from cgrsp_simpy.exercises import claim

MEAN_S = 10.0
RUNS, WITHIN = 10, 0.2
RANDOM, EQUAL = cg.Service("exponential"), cg.Service("lognormal", sigma=(0.0,) * 4)
SERVER = cg.GpuType(
    "server",
    price_usd_per_h=1.0,
    mean_execution_s=(MEAN_S,) * 4,
    high_stock_probability=1.0,
)


def queue(load, slots=1, service=RANDOM):
    """Jobs of four kinds, equally frequent and equally long, at a load of each slot."""
    work = cg.PoissonWorkload(
        jobs_a_run(load), rate_per_s=load * slots / MEAN_S, complexity_mix=(0.25,) * 4
    )
    at_once = cg.Market(delay_s=((0, 0),) * 3)
    return cg.Scenario(
        "queue", work, (SERVER,) * slots, (SERVER,), market=at_once, service=service
    )


def waits_s(scenario, policy="fifo"):
    """Mean wait of each run; its first fifth, which starts empty, is left out."""
    means = []
    for seed in range(RUNS):
        jobs = cg.simulate(scenario, policy, seed).jobs[scenario.workload.jobs // 5 :]
        means.append((jobs["start_s"] - jobs["submit_s"]).mean())
    return means


def formula_s(kind, load):
    if kind == "M/D/1":
        return float(cg.queueing.mg1(load / MEAN_S, 1 / MEAN_S, service_cv=0).wait_s)
    slots = int(kind[-1])
    return float(cg.queueing.mmc(load * slots / MEAN_S, 1 / MEAN_S, slots).wait_s)


# %% [markdown]
# ## How long must a run be?
# Fix it before you look: whoever lengthens runs until
# the interval holds the formula's value will find in the end that it does. Waits in
# a row are alike, so the mean of n of them varies by more than their variance over n.
# For M/M/1 it is known by how much (D. J. Daley, J. Austral. Math. Soc. 8, 1968):
# for large n by
#
#     mean^2 (2 + 5 rho - 4 rho^2 + rho^3) / (rho (1 - rho)^2 n)
#
# We want ten runs to give the mean wait of M/M/1 to ± 20 %; that is the length. A queue
# of another kind gets the length of M/M/1 at the same utilisation, and its interval is
# as wide as it comes.


# %%
def jobs_a_run(load):
    """So many that RUNS runs, without the first fifth of each, give M/M/1's mean wait
    to ± WITHIN of it.
    """
    variance = (2 + 5 * load - 4 * load**2 + load**3) / (load * (1 - load) ** 2)
    return ceil(variance * (t.ppf(0.975, RUNS - 1) / WITHIN) ** 2 / RUNS / 0.8)


# %% Simulation against formula
CASES = {  # kind and utilisation -> what differs from M/M/1
    ("M/M/1", 0.5): {},
    ("M/M/1", 0.8): {},
    ("M/M/1", 0.95): {},
    ("M/D/1", 0.8): {"service": EQUAL},
    ("M/M/4", 0.8): {"slots": 4},
}
runs_s = {
    (kind, load): waits_s(queue(load, **how)) for (kind, load), how in CASES.items()
}
found = {case: cg.statistics.mean(means_s) for case, means_s in runs_s.items()}
print(f"{RUNS} runs; mean wait in s, jobs of 10 s     simulated     formula")
for (kind, load), measured in found.items():
    measured_s = (
        f"{measured.mean:8.1f} ± {measured.half_width:<5.1f}"
        f" {formula_s(kind, load):9.1f}"
    )
    print(f"  {kind} at {load:<4}, {jobs_a_run(load):6,} jobs a run   {measured_s}")
inside = sum(
    measured.low <= formula_s(*key) <= measured.high for key, measured in found.items()
)
print(f"{inside} of {len(found)} intervals hold the formula's value")
shares = [
    each.half_width / each.mean for (kind, _), each in found.items() if kind == "M/M/1"
]
print(
    f"half widths of M/M/1, wanted {100 * WITHIN:.0f} % of the wait:",
    *(f"{100 * each:.0f}" for each in shares),
)
print(f"ten runs know their own spread to about {100 / sqrt(2 * (RUNS - 1)):.0f} %")
halved = formula_s("M/D/1", 0.8) / formula_s("M/M/1", 0.8)
print(claim("Work of equal length halves the wait", round(halved, 9), equal=0.5))
more_jobs = jobs_a_run(0.95) / jobs_a_run(0.8)
print(claim("only to about a quarter", 1 / sqrt(2 * (RUNS - 1)), above=0.2, below=0.3))
print(claim("takes fourteen times the jobs", more_jobs, above=13.5, below=14.5))

# %% [markdown]
# The wait of M/M/1 is rho / (1 - rho) times the mean work: it is the idle share,
# 1 - rho, that matters, and it shrinks to nothing. Work of equal length halves the
# wait, at every utilisation. And the nearer to 1, the harder it is to measure: for the
# same relative width 0.95 takes fourteen times the jobs that 0.8 takes.
#
# We asked for 20 % of M/M/1's wait, and got 17, 34 and 19 %: ten runs know their own
# spread only to about a quarter, and one run with a very long queue widens it. That is
# no reason to run on. (Of a perfect model's
# intervals one in twenty misses, and of short runs of a queue a few more, as lecture 5
# shows. A miss among five would be no alarm; five hits are no proof.)

# %% What the last points of utilisation cost
for load in (0.8, 0.9, 0.95, 0.99):
    print(
        f"  utilisation {load:.2f}: a job waits"
        f" {formula_s('M/M/1', load) / MEAN_S:3.0f} times its own work"
    )
times = formula_s("M/M/1", 0.95) / MEAN_S
print(claim("a job waits nineteen times its work", round(times, 9), equal=19))

# %% [markdown]
# ## Little's law
# The mean number in the system is the arrival rate times the mean
# time in the system, L = lambda W. It knows no distribution and no policy. From an
# empty start to an empty end it holds exactly, for the hectic day as well.

# %%
for policy in ("fifo", "spt", "cadr"):
    over_time, over_jobs = littles_law(cg.simulate(cg.day("hectic"), policy, seed=1))
    print(
        f"  hectic day, {policy:<4}: L over time {over_time:.6f}, lambda W over jobs"
        f" {over_jobs:.6f}"
    )
    exact = bool(np.isclose(over_time, over_jobs, rtol=1e-12))
    print(
        claim("From an empty start to an empty end it holds exactly", exact, equal=True)
    )

# %% [markdown]
# ## Pooled or separate?
# Four kinds of jobs, four slots. Either each kind has
# a slot of its own, or all share one queue. The same jobs, the same work; only the
# policy differs.


# %%
def own_slot(view):
    """Jobs of complexity k run on slot k - 1 alone, first come, first served."""
    oldest = {}
    for job in view.queue:
        oldest.setdefault(job.complexity, job)
    return [
        (oldest[slot.index + 1], slot) for slot in view.idle if slot.index + 1 in oldest
    ]


four = queue(0.8, **CASES["M/M/4", 0.8])
own_s, common_s = waits_s(four, own_slot), runs_s["M/M/4", 0.8]
separate, pooled = cg.statistics.mean(own_s), found["M/M/4", 0.8]
print(
    f"  separate queues {separate.mean:5.1f} ± {separate.half_width:.1f} s (formula of"
    f" M/M/1 {formula_s('M/M/1', 0.8):.1f})"
)
print(
    f"  one queue       {pooled.mean:5.1f} ± {pooled.half_width:.1f} s (formula of"
    f" M/M/4 {formula_s('M/M/4', 0.8):.1f})"
)

print(
    f"  left of the wait: {pooled.mean / separate.mean:.2f} (formula"
    f" {formula_s('M/M/4', 0.8) / formula_s('M/M/1', 0.8):.2f})"
)
left = formula_s("M/M/4", 0.8) / formula_s("M/M/1", 0.8)
said = "one queue in place of four leaves a fifth of the wait"
print(claim(said, left, above=1 / 5.5, below=1 / 4.5))
less_s = cg.statistics.paired_difference(common_s, own_s)
print(claim("The one queue waits less", less_s, below=0))

# %% [markdown]
# The one queue waits less, and not by chance: a slot of its own stands idle while jobs
# of another kind wait.

# %% The figure
with cg.plots.styled("lecture"):
    figure = plt.figure(figsize=(10, 5.6), layout="constrained")
    ax = figure.add_subplot()
    rho = np.linspace(0.01, 0.96, 200)
    for kind, colour, marker in (
        ("M/M/1", "#000000", "o"),
        ("M/D/1", "#C04A00", "s"),
        ("M/M/4", "#0B4F9C", "^"),
    ):
        ax.plot(rho, [formula_s(kind, load) / MEAN_S for load in rho], color=colour)
        ax.annotate(
            kind, (0.97, formula_s(kind, 0.96) / MEAN_S), color=colour, va="center"
        )
        for load, measured in (
            (load, found[kind, load]) for kind_, load in CASES if kind_ == kind
        ):
            mean, half = measured.mean / MEAN_S, measured.half_width / MEAN_S
            ax.errorbar(load, mean, half, fmt=marker, color=colour, capsize=6)
    ax.set(
        xlabel="utilisation",
        ylabel="mean wait, in units of the mean work",
        xlim=(0, 1.05),
        ylim=(0, None),
    )
    ax.set_xticks((0, 0.2, 0.4, 0.6, 0.8, 0.95))
    ax.set_title(
        "lines: formula; marks: simulated, with 95 % intervals",
        fontsize="medium",
        loc="left",
    )
    Path("pictures").mkdir(exist_ok=True)
    figure.savefig("pictures/lecture_3.png", dpi=150)

# %% [markdown]
# ## Key points
# - A formula tests the model where it applies; the model goes on where no formula does.
# - The wait grows with 1 / (1 - utilisation): "95 % busy" is no compliment.
# - L = lambda W, always. A pooled queue never leaves a slot idle while a job waits.
#
# ## Exercises
# **3.1** Jobs come at random, 6 a minute, and take 60 s each on average, exponentially
# distributed. How many slots with one common queue are needed at least for a mean wait
# of at most 5 s? `cg.exercises.check(3.1, answer)`
#
# **3.2** On the day `cg.day("surge")`, under FIFO with seed 3, how many jobs
# are waiting for their dispatch on average, from 0 s to the end of the last job?
# `cg.exercises.check(3.2, answer)`
#
# **3.3** Where no formula gives the mean wait of one server, Kingman's bound (1962) is
# an upper one: the sum of the variances of gap and service, over twice the mean gap and
# 1 - utilisation. Write `bound_s(gap_s, gap_sd_s, work_s, work_sd_s)` from means and
# standard deviations. `cg.exercises.check(3.3, bound_s)`
