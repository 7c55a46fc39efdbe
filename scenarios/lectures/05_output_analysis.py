"""Of 200 intervals that treat waits in a row as independent, about half miss
the true mean.

(Lecture 5: output analysis)
"""

# %% [markdown]
# ## An answer needs an interval
# A simulation's answer is a random number: another seed, another answer. So an answer
# needs an interval, and the interval makes a promise: of many 95 % intervals, 95 in
# a hundred contain the truth. As a rule nobody can check that. Here we can: for one
# server with exponential gaps and exponential service, theory knows the mean wait.

# %%
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from scipy.stats import skew

import cgrsp_simpy as cg
from cgrsp_simpy.analysis import statistics
from cgrsp_simpy.exercises import claim
from cgrsp_simpy.plots.style import MISSED

MEAN_S, LOAD, STUDIES, CUSTOMERS = 10.0, 0.5, 200, 400


def waits_s(customers, seed):
    server = cg.GpuType("server", 1.0, (MEAN_S,), 1.0)
    work = cg.PoissonWorkload(customers, LOAD / MEAN_S, complexity_mix=(1.0,))
    law = {
        "market": cg.Market(delay_s=((0, 0),) * 3),
        "service": cg.Service("exponential"),
    }
    jobs = cg.simulate(
        cg.Scenario("queue", work, (server,), (server,), **law), "fifo", seed
    ).jobs
    return jobs["start_s"] - jobs["submit_s"]


def covered(intervals):
    return [each.low <= truth_s <= each.high for each in intervals]


truth_s = float(cg.queueing.mmc(LOAD / MEAN_S, 1 / MEAN_S, 1).wait_s)
print(f"utilisation {LOAD}: the mean wait is {truth_s:.2f} s, by theory")

# %% [markdown]
# ## The mistake
# One long run is cut into 200 studies, each of 400 customers in a row.
# Each study computes its interval as if its 400 waits were independent. They are not:
# whoever comes behind a long wait waits long, too.

# %%
studies_s = waits_s(100 + STUDIES * CUSTOMERS, seed=0)[100:].reshape(STUDIES, CUSTOMERS)
print(
    "correlation of a wait with the next one:"
    f" {np.corrcoef(studies_s.flat[:-1], studies_s.flat[1:])[0, 1]:.2f}"
)
naive = [statistics.mean(study_s) for study_s in studies_s]
print(f"a promise kept: the truth in about {0.95 * STUDIES:.0f} of {STUDIES} intervals")
print(f"waits taken as independent:      {sum(covered(naive))}")
missed = STUDIES - sum(covered(naive))
print(claim("about half miss the true mean", missed, above=80, below=120))

# %% [markdown]
# ## Batch means
# The first remedy keeps the run. Cut it into a few long batches,
# and take the mean of each. Neighbouring waits are alike; the means of long
# batches less so. The longer the batches, the more intervals keep the promise.

# %%
kept = []
for batches in (100, 50, 20, 10):
    found = [statistics.batch_means(study_s, batches) for study_s in studies_s]
    print(
        f"{batches:3} batches of {CUSTOMERS // batches:2} customers:"
        f"     {sum(covered(found))}"
    )
    kept.append(sum(covered(found)))
more = kept == sorted(kept)
said = "The longer the batches, the more intervals keep the promise"
print(claim(said, more, equal=True))

# %% [markdown]
# ## Replications, and the warm-up
# The second remedy runs again with other seeds. Each
# study now has five runs of 100 customers, and a run gives one number, its mean. The
# five are independent. But each run starts empty: its first customers wait too little.
# In the mean over all 1000 runs, customer by customer, this warm-up can be seen, and
# the rule MSER-5 says how much of it to leave out.

# %%
runs_s = np.array([waits_s(100, seed) for seed in range(5 * STUDIES)])
curve_s = runs_s.mean(axis=0)
warm_up = statistics.mser5(curve_s)
print(
    "wait of customers 1 to 5, 6 to 10, ...:",
    *(f"{wait:.1f}" for wait in curve_s.reshape(-1, 5).mean(axis=1)[:6]),
    "s",
)
first_s = statistics.mean(runs_s[:, :5].mean(axis=1))
print(claim("its first customers wait too little", first_s, below=truth_s))
for cut in (0, warm_up):
    means_s = runs_s[:, cut:].mean(axis=1)
    replicated = [statistics.mean(study_s) for study_s in means_s.reshape(STUDIES, 5)]
    print(
        f"{cut:2} customers left out: mean of all runs {means_s.mean():5.2f} s,"
        f" the truth in {sum(covered(replicated))}"
    )
print(f"skewness of the {len(means_s)} means: {skew(means_s):.1f}")
print(claim("Nearly the promised 190", sum(covered(replicated)), above=175, below=198))

# %% [markdown]
# Nearly the promised 190. Student's t asks for normal values, and the means of short
# runs have a long tail to the right, so that a few may be missing. Longer runs cure
# that. A simulated *day* that begins empty and ends has no warm-up: there the first
# jobs are part of the question.
#
# ## How many replications?
# We want the mean wait to ± 10 %. A pilot estimates the
# standard deviation; the number follows.

# %%
for pilot in (5, 10, 20, 50, len(means_s)):
    needed = statistics.replications_needed(means_s[:pilot], 0.1)
    reached = statistics.mean(means_s[:needed])
    print(
        f"a pilot of {pilot:4} asks for {needed:3}; these give"
        f" ± {100 * reached.half_width / reached.mean:4.1f} %"
    )

# %% [markdown]
# A small pilot knows the standard deviation badly; it may ask for too few. So look
# again when the runs are done, and add some. `cg.compare(..., precision=0.1)` does so
# until every interval is narrow enough.

# %% The figure
with cg.plots.styled("lecture"):
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(16, 7), layout="constrained", width_ratios=(3, 3, 4)
    )
    for ax, found, name in (
        (left, naive, "waits taken as independent"),
        (middle, replicated, "five runs, warm-up left out"),
    ):
        found = sorted(found, key=lambda interval: interval.mean)
        colours = ["0.65" if holds else MISSED for holds in covered(found)]
        ax.vlines(
            range(STUDIES),
            [each.low for each in found],
            [each.high for each in found],
            colours,
            lw=1.4,
        )
        ax.axhline(truth_s, color="black", lw=1.6)
        ax.set(xticks=[], xlabel=f"{STUDIES} studies, by mean", ylim=(0, 25))
        ax.set_title(
            f"{name}:\n{sum(covered(found))} contain the truth", fontsize="medium"
        )
    left.set_ylabel("95 % interval of the mean wait (s)")
    right.plot(range(1, 101), curve_s, color="0.65", label="each customer")
    right.plot(
        range(3, 101, 5),
        curve_s.reshape(-1, 5).mean(axis=1),
        "o-",
        color="#0B4F9C",
        label="five at a time",
    )
    right.axhline(truth_s, color="black", lw=1.6, label="truth")
    right.axvspan(0, warm_up, color="#fff3cd", zorder=0, label="left out")
    right.set(xlabel="customer", ylabel="wait (s)", xlim=(0, 100), ylim=(0, None))
    right.set_title(
        f"the warm-up:\nmean of {len(runs_s)} runs that start empty", fontsize="medium"
    )
    right.legend(frameon=False, loc="lower right")
    Path("pictures").mkdir(exist_ok=True)
    figure.savefig("pictures/lecture_5.png", dpi=150)

# %% [markdown]
# ## Key points
# - Waits in a row are correlated. Treated as independent, they give intervals that
#   are far too narrow.
# - Independent numbers come from replications, or nearly so from long batches
#   of one run.
# - A run that starts empty is biased. Leave out its warm-up if the question is
#   about the long run.
# - A pilot says roughly how many replications are needed. Look again when
#   they are done.
#
# ## Exercises
# **5.1** Raise the utilisation to 0.8. Take one run of 30 000 customers, seed 1, and
# leave out the first 1000. How many times as wide is the interval from 20 batches as
# the interval that treats the waits as independent?
# Check it: `cg.exercises.check(5.1, answer)`
#
# **5.2** How many hectic days must be simulated under FIFO until the 95 % half
# width of the mean wait is 2 % of it? Estimate it from a pilot of 20 days,
# `cg.compare(cg.day("hectic"), ["fifo"], range(20))`.
# Check it: `cg.exercises.check(5.2, answer)`
#
# **5.3** MSER leaves out the d first values for which the sum of squares of the others
# around their own mean, over the square of their number, is least; d is at most half of
# all. Write `warm_up(y)`, which returns d. (MSER-5 does it with means of five.)
# Check it: `cg.exercises.check(5.3, warm_up)`
