"""Of 200 intervals that treat the waits of one run as independent, about half miss
the true mean.

(Lecture 9: output analysis)
"""

# %% [markdown]
# ## The result of a run is a random number
# Another seed gives another result. So a result needs a **confidence interval**: of
# many 95 % intervals, about 95 in 100 contain the true mean. The **half width** is half
# of the length of the interval. How the interval is computed depends on the question:
#
# - A **terminating simulation** has a natural end, such as a day of a post office that
#   opens empty at 9 o'clock and closes at 17 o'clock. Its initial state is part of
#   the question.
# - A **steady-state simulation** has no natural end. The question is about the long
#   run, in which the initial state is forgotten. The time before that is the
#   **transient**.
#
# The first example is a post office with two clerks. The doors close after 480
# minutes; the customers who are inside are served.

# %%
from pathlib import Path

import numpy as np
import simpy
from matplotlib import pyplot as plt
from scipy.stats import t

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim
from cgrsp_simpy.plots.style import MISSED

SEED = 9_000  # the first seed of all runs


@cg.model(figures={"desk_wait": cg.Metric("mean wait", "min")})
def post_office(env, draw, clerks=2, gap=2.0, work=3.2, closes=480.0):
    """A day. gap, work: mean interarrival and service time in minutes."""
    desk = cg.Resource(env, clerks, name="desk")

    def customer(work_min):
        with desk.request() as turn:
            yield turn
            yield env.timeout(work_min)

    def source():
        while True:
            yield env.timeout(draw("gaps").exponential(gap))
            if env.now >= closes:
                return
            env.process(customer(draw("work").exponential(work)))

    env.process(source())
    env.run()  # until all customers have left


# %% [markdown]
# ## Terminating simulation: independent replications
# A **replication** is a run with its own random numbers. Each day gives one number,
# the mean wait of the day. Days are independent and have the same distribution. So the
# interval of Student's t applies: mean ± t s / √n, with n - 1 degrees of freedom.

# %%
days = cg.compare(post_office, seeds=range(SEED, SEED + 120))
waits_min = np.array(days.values(days.policies[0], "desk_wait"))
for n in (7, 30, 120):
    x = waits_min[:n]
    half = t.ppf(0.975, n - 1) * x.std(ddof=1) / np.sqrt(n)
    print(f"{n:3} days: mean wait {x.mean():.2f} ± {half:.2f} min")
# the same interval in one call, for four months
months = [cg.statistics.mean(x) for x in waits_min.reshape(4, 30)]
for month in months:
    print(f" 30 days: mean wait {month.mean:.2f} ± {month.half_width:.2f} min")
ratio = np.mean([month.half_width for month in months]) / half
said = "A quarter of the days: on average about twice as wide"
print(claim(said, ratio, above=1.6, below=2.4))

# %% [markdown]
# ## How many replications?
# We want the mean wait to ± 10 %. Ten days serve as a **pilot study**. From their mean
# and standard deviation follows the least n for which t s / √n is at most 10 % of the
# mean. A small pilot estimates the standard deviation roughly, so check the half width
# after the runs and add some if necessary. `cg.compare(..., precision=0.1)` does that.

# %%
for pilot in (10, 30, 120):
    needed = cg.statistics.replications_needed(waits_min[:pilot], 0.1)
    print(f"a pilot study of {pilot:3} days asks for {needed} days")

# %% [markdown]
# ## Steady state: successive waits are correlated
# The second example has a known answer. M/M/1 is a queue with exponential
# interarrival times, exponential service times and one server. With a mean service
# time of 10 s and a utilisation of 0.5 the mean wait is 10 s in steady state. One long
# run is cut into 200 studies of 400 customers. Each study computes its interval as if
# its 400 waits were independent.

# %%
MEAN_S, LOAD, STUDIES, CUSTOMERS = 10.0, 0.5, 200, 400


def waits_s(customers, seed):
    """Waits of an M/M/1 queue that starts empty, in order of arrival."""
    env, draw = simpy.Environment(), cg.Draw(seed)
    server, waits = simpy.Resource(env), []

    def customer(work_s):
        arrival = env.now
        with server.request() as turn:
            yield turn
            waits.append(env.now - arrival)
            yield env.timeout(work_s)

    def source():
        for _ in range(customers):
            yield env.timeout(draw("gaps").exponential(MEAN_S / LOAD))
            env.process(customer(draw("work").exponential(MEAN_S)))

    env.process(source())
    env.run()
    return np.array(waits)


def coverage(intervals):
    """Number of intervals that contain the true mean."""
    return sum(interval.low <= truth_s <= interval.high for interval in intervals)


truth_s = float(cg.queueing.mmc(LOAD / MEAN_S, 1 / MEAN_S, 1).wait_s)
long_run = waits_s(100 + STUDIES * CUSTOMERS, SEED)[100:]
studies = long_run.reshape(STUDIES, CUSTOMERS)
lag1 = np.corrcoef(long_run[:-1], long_run[1:])[0, 1]
print(f"correlation of a wait with the next one: {lag1:.2f}")
naive = [cg.statistics.mean(study) for study in studies]
print(f"{coverage(naive)} of {STUDIES} intervals contain the true mean {truth_s:g} s")
missed = STUDIES - coverage(naive)
print(claim("About half miss the true mean", missed, above=75, below=125))

# %% [markdown]
# A customer who arrives after one with a long wait usually waits long, too. The
# correlation is positive, and so 400 waits contain less information than 400
# independent values. The intervals are far too narrow.
#
# ## Batch means
# Cut the run into a few long batches and use the mean of each batch as one
# observation. Successive waits are correlated, but means of long batches hardly are.

# %%
covered = {}
for batches in (100, 50, 20, 10):
    intervals = [cg.statistics.batch_means(study, batches) for study in studies]
    covered[batches] = coverage(intervals)
    size = CUSTOMERS // batches
    print(f"{batches:3} batches of {size:2} customers: {covered[batches]} of {STUDIES}")
more = covered[10] - covered[100]
print(claim("With longer batches more intervals contain the true mean", more, above=10))
print(claim("400 customers are too few for ten batches", covered[10], below=188))

# %% [markdown]
# With longer batches more intervals contain the true mean. But 400 customers are too
# few for ten batches: of 200 intervals 190 should contain it, and fewer than 188 do.
#
# ## Replications and the warm-up
# The other method replicates the run. Each study has five runs of 100 customers, and
# each run gives its mean wait. These means are independent, but every run starts empty,
# so the first customers wait less than in steady state. **Welch's method** shows this:
# average the n-th wait over all runs, smooth the curve by a moving average, and look
# for the point from which it is level. The rule **MSER** (marginal standard error rule)
# finds the point by computation: it deletes the number of initial values that minimises
# the standard error of the mean of the others. MSER-5 does this with means of five
# values. Delete the **warm-up** and use the rest of each run.

# %%
runs = np.array([waits_s(100, SEED + 1 + k) for k in range(5 * STUDIES)])
curve_s = runs.mean(axis=0)
welch_s = np.convolve(curve_s, np.ones(9) / 9, "valid")  # customers 5 to 96
warm_up = cg.statistics.mser5(curve_s)
first_s = cg.statistics.mean(runs[:, :5].mean(axis=1))
print(f"mean wait of customers 1 to 5: {first_s.mean:.1f} s; MSER-5 deletes {warm_up}")
print(claim("The first customers wait less", first_s, below=truth_s))
replicated = {}
for deleted in (0, warm_up):
    means = runs[:, deleted:].mean(axis=1)
    replicated[deleted] = [cg.statistics.mean(x) for x in means.reshape(STUDIES, 5)]
    print(f"{deleted:2} customers deleted: mean {means.mean():5.2f} s,", end=" ")
    print(f"{coverage(replicated[deleted])} of {STUDIES} contain the true mean")
kept = coverage(replicated[warm_up])
print(
    claim("With the warm-up deleted about nine in ten do", kept, above=168, below=196)
)

# %% [markdown]
# Of 200 intervals, 190 should contain the true mean. Slightly fewer do, because the
# means of short runs are skewed, and Student's t assumes normal values. Longer runs
# help. A post office's day has no warm-up to delete: its first customers are part of
# the question.


# %%
def draw_figure():
    with cg.plots.styled("lecture"):
        figure, axes = plt.subplots(1, 3, figsize=(16, 7), layout="constrained")
        for ax, intervals, title in (
            (axes[0], naive, "waits treated as independent"),
            (axes[1], replicated[warm_up], "five runs, warm-up deleted"),
        ):
            ordered = sorted(intervals, key=lambda interval: interval.mean)
            colours = ["0.65" if coverage([x]) else MISSED for x in ordered]
            low, high = [x.low for x in ordered], [x.high for x in ordered]
            ax.vlines(range(STUDIES), low, high, colours, lw=1.4)
            ax.axhline(truth_s, color="black", lw=1.6)
            ax.set(xticks=[], xlabel=f"{STUDIES} studies, by mean", ylim=(0, 25))
            title += f":\n{coverage(intervals)} contain the true mean"
            ax.set_title(title, fontsize="medium")
        axes[0].set_ylabel("95 % interval of the mean wait (s)")
        ax, blue = axes[2], "#0B4F9C"
        ax.plot(range(1, 101), curve_s, color="0.65", label="mean of 1,000 runs")
        ax.plot(range(5, 97), welch_s, color=blue, label="moving average of 9")
        ax.axhline(truth_s, color="black", lw=1.6, label="true mean")
        ax.axvspan(0, warm_up, color="#fff3cd", zorder=0, label="deleted by MSER-5")
        ax.set(xlabel="customer", ylabel="wait (s)", xlim=(0, 100), ylim=(0, None))
        ax.set_title("Welch's method", fontsize="medium")
        ax.legend(frameon=False, loc="lower right")
        Path("pictures").mkdir(exist_ok=True)
        figure.savefig("pictures/lecture_9.png", dpi=150)


draw_figure()

# %% [markdown]
# ## Three misconceptions
# 1. *"A run with many customers has a narrow interval, so it is precise."* The
#    intervals above are narrow, because they treat correlated waits as independent.
#    The standard error of the mean of 400 waits is about three times the one that
#    they assume.
# 2. *"With enough replications the warm-up does not matter."* More replications make
#    the interval narrower, but around the wrong value: with 1,000 runs of 20 customers
#    and no deletion it excludes the true mean.
# 3. *"95 % of the days have a mean wait in the 95 % interval."* The interval is about
#    the mean of all days. A single day varies much more; a prediction interval, about
#    √n times as wide, is about a single day.

# %%
assumed_s = np.mean([study.std(ddof=1) / np.sqrt(CUSTOMERS) for study in studies])
ratio = studies.mean(axis=1).std(ddof=1) / assumed_s
print(
    claim("1. About three times the standard error assumed", ratio, above=2.5, below=4)
)
short_s = cg.statistics.mean(runs[:, :20].mean(axis=1))
print(claim("2. 1,000 short runs exclude the true mean", short_s, below=truth_s))
inside = np.mean([(x.low <= waits_min) & (waits_min <= x.high) for x in months])
print(claim("3. Fewer than half of the days are in the interval", inside, below=0.5))

# %% [markdown]
# ## You can now
# - decide whether a question asks for a terminating or a steady-state simulation;
# - compute a confidence interval from replications, and the number of replications
#   for a half width;
# - compute an interval from batch means of one long run;
# - choose a warm-up by Welch's method or MSER-5 and delete it.
#
# ## Five questions
# 1. A bakery opens empty at 6 o'clock and is sold out at noon. Terminating or steady
#    state?
#    <details><summary>Answer</summary>Terminating: the day has a natural end, and its
#    empty start is part of the question.</details>
# 2. By what factor must the number of replications grow for a tenth of the half width?
#    <details><summary>Answer</summary>By about 100: the half width is proportional to
#    1 / √n.</details>
# 3. Why are 400 waits of one run not 400 observations for Student's t?
#    <details><summary>Answer</summary>They are positively correlated, and their mean
#    varies more than that of independent values.</details>
# 4. A run has 400 customers. Batches of 4 or of 40 customers?
#    <details><summary>Answer</summary>Of 40: means of short batches are still
#    correlated. Longer ones would leave fewer than ten batches, and few degrees of
#    freedom make the interval wide.</details>
# 5. A plot shows one run's waits, which seem to be level from the start. Is there no
#    transient?
#    <details><summary>Answer</summary>One run is too noisy to see it. Average several
#    runs, as Welch's method does.</details>
#
# ## References
# - Law, *Simulation Modeling and Analysis* (5th ed.), Chapter 9.
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation* (5th ed.),
#   Chapter 11.
#
# ## Exercises
# **9.1** Write `steady(env, desk, gaps, works, warm_up)`. Customer k arrives gaps[k]
# after the customer before (the first one gaps[0] after time 0) and holds `desk`, a
# `simpy.Resource`, for works[k]. Start the processes, call `env.run()`, and return the
# mean wait of the customers who arrive at `warm_up` or later.
# Check it: `cg.exercises.check(9.1, steady)`
#
# **9.2** A pilot study gave the mean waits of eight days. How many days are needed
# for a 95 % half width of a given percentage of the mean? Your numbers:
# `print(cg.exercises.question(9.2, "your name"))`
# Check it: `cg.exercises.check(9.2, answer, "your name")`
#
# **9.3** Write `closing(env, desk, gaps, works, closes)` for a terminating simulation.
# Customers arrive as in 9.1, but those who would arrive after `closes` do not enter;
# those who are inside are served. Return the number of customers served and the time
# at which the last one leaves. Check it: `cg.exercises.check(9.3, closing)`
#
# **9.4** Write `batch_interval(waits, batches)`: the two ends of the 95 % confidence
# interval from batch means. The number of waits is a multiple of the number of
# batches. Check it: `cg.exercises.check(9.4, batch_interval)`
