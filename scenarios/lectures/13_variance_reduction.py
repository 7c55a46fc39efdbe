"""Antithetic variates save runs if the response rises or falls in every random number,
and cost runs if it is U-shaped.

(Lecture 13: variance reduction)
"""

# %% [markdown]
# ## What a narrower interval costs
# The half width is proportional to 1 / √n for n runs: a tenth of it takes a hundred
# times the runs. **Variance reduction** gets a narrower interval from the same number
# of runs, by random numbers that correlate runs on purpose, or by what is known exactly
# about the inputs. The measure is the **variance ratio**: the variance of the plain
# estimator over that of the other one, for equally many runs. It is the factor by which
# the plain method needs more runs.
#
# The example is a workshop with two servers at utilisation 0.8, and the mean wait of
# the first 50 orders of a day, which starts empty. A run takes its random numbers as
# uniform numbers, and **inversion** turns each into one interarrival or service time:
# X = -mean ln(1 - U) is exponential and rises with U.

# %%
from pathlib import Path

import numpy as np
import simpy
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim
from cgrsp_simpy.plots.style import MISSED

SEED = 13_000  # of all random numbers
RUNS, ORDERS, MEAN_S, LOAD, SERVERS = 400, 50, 10.0, 0.8, 2
GAP_S = MEAN_S / (SERVERS * LOAD)


def wait_s(gaps_s, works_s, servers=SERVERS, first_s=0.0):
    """Mean wait of the orders. first_s: work that is present at time 0."""
    env, waits = simpy.Environment(), []
    server = simpy.Resource(env, servers)

    def order(work_s):
        arrival = env.now
        with server.request() as turn:
            yield turn
            waits.append(env.now - arrival)
            yield env.timeout(work_s)

    def source():
        if first_s:
            env.process(order(first_s))
        for gap_s, work_s in zip(gaps_s, works_s):
            yield env.timeout(gap_s)
            env.process(order(work_s))

    env.process(source())
    env.run()
    return np.mean(waits[-len(works_s) :])


def uniforms(name):
    """Shape (runs, 2, orders): for interarrival times and for service times."""
    return cg.Draw(SEED)(name).random((RUNS, 2, ORDERS))


def times_s(u, faster=1.0):
    """Interarrival and service times by inversion."""
    return -GAP_S * np.log1p(-u[:, 0]), -MEAN_S / faster * np.log1p(-u[:, 1])


def waits_s(u, servers=SERVERS, faster=1.0):
    """Mean wait of each run."""
    return np.array([wait_s(*run, servers) for run in zip(*times_s(u, faster))])


def variance_ratio(plain, reduced):
    """Return the ratio with its 95 % interval, by 1,000 bootstrap resamples of runs."""
    rows = cg.Draw(SEED)("bootstrap").integers(RUNS, size=(1000, RUNS))
    ratios = plain[rows].var(axis=1) / reduced[rows].var(axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return cg.statistics.Mean(plain.var() / reduced.var(), low, high, RUNS)


ratios = {}


def report(name, plain, reduced):
    ratios[name] = ratio = variance_ratio(plain, reduced)
    means = (cg.statistics.mean(plain), cg.statistics.mean(reduced))
    cells = (f"{mean.mean:7.2f} ± {mean.half_width:.2f}" for mean in means)
    interval = f"{ratio.mean:9.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"
    print(f"{name:30}", *cells, interval)


u, second = uniforms("first"), uniforms("second")
plain, independent = waits_s(u), waits_s(second)
wait = cg.statistics.mean(plain)
print(f"{RUNS} runs: mean wait {wait.mean:.2f} ± {wait.half_width:.2f} s")

# %% [markdown]
# ## Antithetic variates
# For each run make another one with 1 - U in place of every U: if one has long service
# times, the other has short ones. The mean of such a pair is compared with the mean of
# two independent runs, which costs the same. With the correlation r in the pair the
# variance ratio is 1 / (1 + r). So we need a negative correlation. It is guaranteed if
# the response only rises or only falls in every U. A wait does: it rises with service
# times and falls with interarrival times. Another response does neither: the work of
# the day can differ from the planned work in both directions, and |work - plan| is
# large at both ends. It is U-shaped.


# %%
def off_plan_s(u):
    """Distance of the work of a day from the planned work."""
    return np.abs(times_s(u)[1].sum(axis=1) - MEAN_S * ORDERS)


print(f"{'estimator, in s':30} {'plain':>14} {'reduced':>14}   variance ratio")
r = {}
for name, response, one, two in (
    ("wait", waits_s, plain, independent),
    ("off the plan", off_plan_s, off_plan_s(u), off_plan_s(second)),
):
    opposite = response(1 - u)
    report(f"antithetic, {name}", (one + two) / 2, (one + opposite) / 2)
    r[name] = np.corrcoef(one, opposite)[0, 1]
    print(f"  correlation in the pair {r[name]:+.2f}")
print(claim("The waits of a pair are negatively correlated", r["wait"], below=-0.1))
print(claim("U-shaped responses positively", r["off the plan"], above=0.1))

# %% [markdown]
# ## Control variates
# In a run with more work than expected the wait is long, too. The expected work is
# known, so we know by how much this run was off, and can correct its wait: Y - b (X -
# E X), with b from a regression of Y on X. X is a **control variate**. With the
# correlation r of X and Y, 1 - r² of the variance is left. An estimated b causes a
# small bias, which vanishes with many runs. There can be several controls.
#
# *Internal* controls are averages of the run's inputs: the mean interarrival time and
# the mean service time. An *external* control is another system that meets the same
# random numbers and whose mean is known by a formula: here M/M/1 with a server of twice
# the speed. The formula is for the steady state, so this system starts in it: with
# probability rho there is work at time 0, exponential with mean service / (1 - rho).


# %%
def controlled(y, *controls):
    """Responses without the part that pairs (values, known mean) explain."""
    x = np.column_stack([values - known for values, known in controls])
    b = np.linalg.lstsq(x - x.mean(axis=0), y - y.mean(), rcond=None)[0]
    return y - x @ b


gaps_s, works_s = times_s(u)
busy, size = cg.Draw(SEED)("start").random((2, RUNS))
first_s = np.where(busy < LOAD, -MEAN_S / 2 / (1 - LOAD) * np.log1p(-size), 0.0)
runs = zip(gaps_s, works_s / 2, first_s)
fast_s = np.array([wait_s(gaps, works, 1, first) for gaps, works, first in runs])
formula_s = float(cg.queueing.mmc(1 / GAP_S, 2 / MEAN_S, 1).wait_s)
control = cg.statistics.mean(fast_s)
print(f"M/M/1: {control.mean:.2f} ± {control.half_width:.2f} s", end=", ")
print(f"formula {formula_s:.2f} s")
inputs = (gaps_s.mean(axis=1), GAP_S), (works_s.mean(axis=1), MEAN_S)
external = (fast_s, formula_s)
for name, controls in {
    "control: inputs": inputs,
    "control: M/M/1": (external,),
    "control: all three": (*inputs, external),
}.items():
    report(name, plain, controlled(plain, *controls))
print(claim("The input controls save runs", ratios["control: inputs"], above=1.2))
three = ratios["control: all three"].mean
print(claim("All three controls need less than half of the runs", three, above=2))

# %% [markdown]
# ## Common random numbers
# Common random numbers are used for differences (lecture 11). How much do 5 % faster
# servers and a third server reduce the wait?

# %%
faster, third = waits_s(u, faster=1.05), waits_s(u, servers=3)
other_faster = waits_s(second, faster=1.05)
other_third = waits_s(second, servers=3)
report("common numbers, 5 % faster", other_faster - plain, faster - plain)
report("common numbers, third server", other_third - plain, third - plain)
similar = ratios["common numbers, 5 % faster"]
print(claim("Similar systems: more than ten times the runs", similar, above=10))
different = ratios["common numbers, third server"].mean
print(claim("Different systems: little", different, below=3))

# %% [markdown]
# For the difference between similar systems, common random numbers replace more than
# ten times the runs. A third server removes most of the waiting. Then its wait hardly
# varies, and no correlation can remove the variance of the other system. So measure the
# variance ratio in a pilot study before you rely on it.


# %%
def draw_figure():
    with cg.plots.styled("lecture"):
        figure, (left, middle, right) = plt.subplots(
            1, 3, figsize=(18, 6.5), layout="constrained"
        )
        blue = "#0B4F9C"
        left.plot(off_plan_s(u), off_plan_s(1 - u), "o", ms=5, color=MISSED)
        left.set(xlabel="off the plan with U (s)", ylabel="off the plan with 1 - U (s)")
        left.set(xlim=(0, None), ylim=(0, None))
        middle.plot(fast_s, plain, "o", ms=5, color=blue)
        b, start = np.polyfit(fast_s, plain, 1)
        middle.axline((formula_s, start + b * formula_s), slope=b, color="black")
        middle.axvline(formula_s, color="0.4", ls="--")
        middle.set(xlabel="wait in M/M/1, X (s)", ylabel="wait in the workshop, Y (s)")
        middle.set(xlim=(0, None), ylim=(0, None))
        middle.set_title("dashed: E X, by the formula", fontsize="medium")
        for at, ratio in enumerate(ratios.values()):
            colour = MISSED if ratio.mean < 1 else blue
            right.plot([ratio.low, ratio.high], [at, at], color=colour)
            right.plot(ratio.mean, at, "o", color=colour)
        right.axvline(1, color="black", lw=1.2)
        names = [name.replace(": ", ":\n").replace(", ", ",\n") for name in ratios]
        right.set(yticks=range(len(names)), ylim=(len(names) - 0.5, -0.5))
        right.set_yticklabels(names, fontsize="small")
        right.set(xscale="log", xlabel="variance ratio, 95 % interval")
        right.set_xticks((0.5, 1, 2, 5, 10, 20, 50), ("0.5", *"125", "10", "20", "50"))
        right.minorticks_off()
        Path("pictures").mkdir(exist_ok=True)
        figure.savefig("pictures/lecture_13.png", dpi=150)


draw_figure()

# %% [markdown]
# ## Three misconceptions
# 1. *"Antithetic variates never increase the variance."* For the U-shaped response they
#    need more runs than the plain method.
# 2. *"A control variate works with a guessed mean, too."* The estimate is shifted by b
#    times the error of the guess. If the mean of M/M/1 is guessed 20 % too high, the
#    shift exceeds the half width.
# 3. *"Common random numbers make the interval of each system narrower."* Only the
#    interval of the difference. With other numbers, the interval for the faster system
#    alone is about equally wide.

# %%
harm = ratios["antithetic, off the plan"].mean
print(claim("1. The variance ratio is below 1", harm, below=1))
right_s = cg.statistics.mean(controlled(plain, external))
wrong_s = cg.statistics.mean(controlled(plain, (fast_s, 1.2 * formula_s)))
shift = (wrong_s.mean - right_s.mean) / right_s.half_width
print(claim("2. The shift is more than the half width", shift, above=1))
halves = [cg.statistics.mean(x).half_width for x in (faster, other_faster)]
widths = halves[0] / halves[1]
print(claim("3. Both intervals are about equally wide", widths, above=0.7, below=1.4))

# %% [markdown]
# ## You can now
# - state the variance ratio of a method, with an interval;
# - make antithetic pairs by inversion, and explain when they do harm;
# - use inputs and a queueing formula as control variates;
# - explain for which differences common random numbers gain much.
#
# ## Five questions
# 1. The correlation in antithetic pairs is -0.5. What is the variance ratio?
#    <details><summary>Answer</summary>1 / (1 - 0.5) = 2.</details>
# 2. The correlation of control and response is 0.9. What variance is left?
#    <details><summary>Answer</summary>1 - 0.81 = 19 %.</details>
# 3. Why inversion and not acceptance-rejection for antithetic variates?
#    <details><summary>Answer</summary>Inversion uses one U per variate and is
#    monotone. Acceptance-rejection uses a random number of uniform numbers, so the two
#    runs of a pair lose their synchronisation.</details>
# 4. Why is the mean service time of the run a valid control?
#    <details><summary>Answer</summary>Its expectation is known: it is an input of the
#    model.</details>
# 5. Why must the two runs of an antithetic pair be averaged before an interval is
#    computed?
#    <details><summary>Answer</summary>They are correlated. The pairs are the
#    independent observations.</details>
#
# ## References
# - Law, *Simulation Modeling and Analysis* (5th ed.), Chapter 11.
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation* (5th ed.),
#   Chapter 12, for common random numbers.
#
# ## Exercises
# **13.1** The mean of e^(aU), U uniform on 0 to 1, is estimated from antithetic pairs.
# By theory: what is the variance ratio? Your a:
# `print(cg.exercises.question(13.1, "your name"))`
# Check it: `cg.exercises.check(13.1, answer, "your name")`
#
# **13.2** Write `pair(one, two, u, v, gap, work)`. `one` and `two` are two systems,
# each a pair of a SimPy environment and its desk, a `simpy.Resource`. In the first one
# interarrival time k is -gap ln(1 - u[k]) and service time k is -work ln(1 - v[k]); the
# second one is its antithetic run. Return the mean of the two mean waits.
# Check it: `cg.exercises.check(13.2, pair)`
#
# **13.3** Write `controlled(y, x, known)`: the mean of the responses y with the
# control variate x, whose mean is known, by the slope of the sample.
# Check it: `cg.exercises.check(13.3, controlled)`
#
# **13.4** Write `external(two, one, gaps, works, b, known)`. `two` and `one` are
# systems as in 13.2 whose desks have two servers and one. Both meet the same customers
# (customer k arrives gaps[k] after the customer before), but the single server is twice
# as fast: it needs works[k] / 2. Return the mean wait in `two`, with the mean wait in
# `one` as control, slope b and known mean.
# Check it: `cg.exercises.check(13.4, external)`
