"""Arrivals in bursts make customers wait more than four times as long, although each
single interarrival time has the same distribution.

(Lecture 14: quantiles, correlated input and rare events)
"""

# %% [markdown]
# ## Quantiles
# Customers often ask for a **quantile**, not for the mean: which wait do 95 % of them
# not exceed? This is the 95th percentile, p95. The example is M/M/1 with a mean
# interarrival time of 12.5 s and a mean service time of 10 s, so the utilisation is
# 0.8. Theory gives P(W > t) = 0.8 e^(-0.02 t), so that we can judge the methods.
#
# Of n independent waits, the number below the true p95 has a binomial distribution.
# Therefore two of the sorted waits are the ends of a confidence interval: the one whose
# rank is the quantile 0.025 of this distribution, and the next one after the rank that
# is its quantile 0.975. No normal distribution is needed. We try three ways to collect
# 10,000 waits: independent ones, ten replications of 1,000 successive customers pooled,
# and one p95 per replication with Student's t. All start in the steady state. There are
# 200 studies.

# %%
from math import log
from pathlib import Path

import numpy as np
import simpy
from matplotlib import pyplot as plt
from scipy.special import log_ndtr
from scipy.stats import binom, norm

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises import claim
from cgrsp_simpy.plots.style import MISSED

SEED = 140_000
GAP, WORK = 12.5, 10.0  # mean interarrival and service time, in s
LOAD, DECAY = WORK / GAP, 1 / WORK - 1 / GAP  # P(W > t) = LOAD e^(-DECAY t)
STUDIES, RUNS, CUSTOMERS = 200, 10, 1000


def steady_waits(rng, shape):
    return rng.exponential(1 / DECAY, shape) * (rng.random(shape) < LOAD)


def successive_waits(gaps, works, first):
    """Lindley's recursion, W' = max(0, W + work - gap), along the last axis."""
    steps = works - gaps
    walk = first + steps.cumsum(axis=-1) - steps
    return walk - np.minimum(np.minimum.accumulate(walk, axis=-1), 0)


def quantile_interval(x, p=0.95):
    low, high = binom.ppf([0.025, 0.975], len(x), p).astype(int)
    return np.sort(x)[[low - 1, high]]


true_p95 = log(LOAD / 0.05) / DECAY
rng, shape = stream(SEED, "studies"), (STUDIES, RUNS, CUSTOMERS)
gaps, works = rng.exponential(GAP, shape), rng.exponential(WORK, shape)
successive = successive_waits(gaps, works, steady_waits(rng, (STUDIES, RUNS, 1)))
independent = steady_waits(rng, (STUDIES, RUNS * CUSTOMERS))
by_t = map(cg.statistics.mean, np.quantile(successive, 0.95, axis=2))
intervals = {
    "independent waits": [quantile_interval(waits) for waits in independent],
    "successive waits": [quantile_interval(waits.ravel()) for waits in successive],
    "a p95 per replication": [(study.low, study.high) for study in by_t],
}
covered = {}
print(f"true p95: {true_p95:.1f} s; 95 % intervals of {STUDIES} studies:")
for name, ends in intervals.items():
    low, high = np.transpose(ends)
    covered[name] = int(((low <= true_p95) & (true_p95 <= high)).sum())
    print(f"{name:23}± {(high - low).mean() / 2:4.1f} s, {covered[name]:4} cover it")
apart, in_row, per_run = covered.values()
print(claim("independent waits: about 190 cover it", apart, above=175))
print(claim("successive waits: less than half", in_row, below=100))
print(claim("a p95 per replication: most", per_run, above=155))

# %% [markdown]
# With independent waits, about 190 intervals cover the true p95. With successive waits,
# less than half do, because the waits are correlated (lecture 9). With one p95 per
# replication, most do. The replications are independent, but the p95 of a short one is
# skewed, so fewer than 190 intervals cover it.
#
# For many independent values, the standard error of a quantile q is
# √(p (1 - p) / n) / f(q), where f is the density. The density is small in the tail, so
# the more extreme the quantile, the more data are needed.
#
# ## Correlated input
# Lecture 8 fitted distributions to single values. But arrivals often occur in bursts: a
# short interarrival time follows a short one. A Gaussian **copula** generates such
# times. z is autoregressive, z' = r z + √(1 - r^2) e with standard normal e, and the
# time is the exponential quantile of Phi(z), the normal distribution function. Each
# single time is exponential as before, but times are correlated: neighbours most, and
# others less the further apart they are (z with r^k at distance k).


# %%
def correlated(rng, r, mean):
    z = rng.normal()
    while True:
        yield -mean * log_ndtr(-z)
        z = r * z + (1 - r * r) ** 0.5 * rng.normal()


@cg.model
def office(env, draw, r_gaps=0.0, r_works=0.0, end=100_000.0):
    """Customers at one desk; times in s."""
    desk = cg.Resource(env, name="desk")
    cg.warm_up(env, 25_000)
    works = correlated(draw("works"), r_works, WORK)
    drawn = []

    def customer(work):
        with desk.request() as turn:
            yield turn
            yield env.timeout(work)

    def source():
        for gap in correlated(draw("gaps"), r_gaps, GAP):
            drawn.append(gap)
            yield env.timeout(gap)
            env.process(customer(next(works)))

    env.process(source())
    env.run(end)
    return {"mean gap": np.mean(drawn), "cv of gaps": np.std(drawn) / np.mean(drawn)}


INPUTS = {
    "independent": {},
    "gaps, r = 0.5": {"r_gaps": 0.5},
    "gaps, r = 0.9": {"r_gaps": 0.9},
    "works, r = 0.9": {"r_works": 0.9},
}
study = cg.compare(office, INPUTS, seeds=range(SEED, SEED + 8))
formula = float(cg.queueing.mmc(1 / GAP, 1 / WORK, 1).wait_s)
ratio = {}
print(f"by formula: mean wait {formula:.0f} s, p95 {true_p95:.0f} s")
print(f"{'':17}gap, s    cv        mean wait, s       p95, s")
for name, means in study.means().items():
    wait, p95 = means["desk_wait"], means["desk_wait_p95"]
    gap, cv = means["mean gap"].mean, means["cv of gaps"].mean
    print(f"{name:15}{gap:8.2f}{cv:6.2f}", end="")
    print(f"{wait.mean:12.0f} ± {wait.half_width:<8.0f}{p95.mean:10.0f}")
    ratio[name] = wait.mean / formula
print(claim("more than four times as long", ratio["gaps, r = 0.9"], above=4))
print(
    claim("correlated service times: several times", ratio["works, r = 0.9"], above=3)
)
print(claim("r = 0.5 does far less", ratio["gaps, r = 0.5"], above=1.2, below=3))
print(claim("independent: by formula", ratio["independent"], above=0.75, below=1.25))

# %% [markdown]
# With r = 0.9, customers wait more than four times as long; with correlated service
# times, too, they wait several times as long. With r = 0.5 the effect is far smaller.
# Mean and cv of the interarrival times are those of an exponential distribution in all
# cases, and a Q-Q plot, which ignores the order of the values, does not show the
# difference. So compute the autocorrelation of your data. A trace-driven simulation
# keeps it.
#
# ## Rare events
# How often does a buffer of 25 places, including the one in service, become full? We
# call this an overflow, and count the cycles that begin with an arrival at an empty
# desk and end when the desk is empty again, or when 25 customers are present. With
# arrival rate a and service rate s, and q = s / a, theory gives the probability of an
# overflow per cycle, (q - 1) / (q^25 - 1).
#
# A **crude** simulation counts overflows. **Importance sampling** generates the cycles
# with other rates, for which overflows are common, and counts each overflow with a
# **weight**, the likelihood ratio of its cycle: a factor a / a' per arrival and s / s'
# per departure, if a + s = a' + s'. The estimate stays unbiased. For this queue the
# best rates are the *swapped* ones, a' = s and s' = a.

# %%
ARRIVAL, SERVICE = 0.5, 1.0  # rates per minute
CYCLES = 1000


def cycle(rng, level, arrival=ARRIVAL, service=SERVICE):
    """Return the weight of a cycle that reaches the level, 0 for another."""
    env = simpy.Environment()
    present, weight, end = 1, 1.0, env.event()

    def arrivals():
        nonlocal present, weight
        while present < level:
            yield env.timeout(rng.exponential(1 / arrival))
            present, weight = present + 1, weight * ARRIVAL / arrival
        end.succeed(weight)

    def departures():
        nonlocal present, weight
        while present > 0:
            yield env.timeout(rng.exponential(1 / service))
            present, weight = present - 1, weight * SERVICE / service
        end.succeed(0.0)

    env.process(arrivals())
    env.process(departures())
    return env.run(until=end)


def truth(level):
    return (SERVICE / ARRIVAL - 1) / ((SERVICE / ARRIVAL) ** level - 1)


LEVELS = (8, 15, 25, 31)
crude, swapped = {}, {}
print("level   probability   crude, 10,000 cycles   swapped rates, 1,000 cycles")
for level in LEVELS:
    rng = stream(SEED, "cycles", level)
    crude[level] = np.mean([cycle(rng, level) for _ in range(10 * CYCLES)])
    weights = [cycle(rng, level, SERVICE, ARRIVAL) for _ in range(CYCLES)]
    swapped[level] = cg.statistics.mean(weights)
    print(f"{level:5}{truth(level):14.2e}{crude[level]:23.2e}", end="")
    print(f"{swapped[level].mean:20.2e} ± {swapped[level].half_width:.0e}")
print(claim("crude simulation sees no overflow of 25 places", crude[25], equal=0))
errors = [abs(swapped[level].mean / truth(level) - 1) for level in LEVELS]
print(claim("swapped rates: an error below 15 %", max(errors), below=0.15))
widths = [swapped[level].half_width / swapped[level].mean for level in LEVELS]
width = widths[3] / widths[0]
print(claim("about the same relative half width", width, above=0.75, below=1.33))
times = truth(25) / swapped[25].sd ** 2  # the ratio of the variances
print(claim("ten million times as many cycles, or more", times, above=1e7))

# %% [markdown]
# Crude simulation observes no overflow of 25 places. With swapped rates, 1,000 cycles
# give an error below 15 % at each level, and the relative half width is about the same
# for a probability of one in two billion as for one in 255. Crude simulation would need
# ten million times as many cycles, or more. Another method is **splitting**: when a
# cycle reaches an intermediate level, continue it in k copies, each of which counts 1 /
# k.
#
# If no event occurs in n independent replications, the probability is below 3 / n with
# 95 % confidence (the **rule of three**).


# %%
def draw_figure():
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(18, 6.5), layout="constrained"
    )
    ends = sorted(map(tuple, intervals["successive waits"]), key=sum)
    colours = ["0.65" if a <= true_p95 <= b else MISSED for a, b in ends]
    left.vlines(range(STUDIES), *np.transpose(ends), colours, lw=1.4)
    left.axhline(true_p95, color="black", lw=1.6)
    left.set(xticks=[], ylim=(80, 240), xlabel="200 studies, successive waits")
    left.set_ylabel("95 % interval of the p95 (s)")
    runs = [study.values(name, "desk_wait") for name in INPUTS]
    middle.plot(range(4), np.transpose(runs).T, "o", ms=7, mfc="none", color="#0B4F9C")
    middle.axhline(formula, color="black", lw=1.6, label="formula")
    middle.set(yscale="log", ylabel="mean wait of a run (s)", xlim=(-0.5, 3.5))
    middle.set_xticks(range(4), [name.replace(", ", ",\n") for name in INPUTS])
    middle.set_yticks([30, 100, 300], ["30", "100", "300"])
    middle.minorticks_off()
    middle.legend(frameon=False, loc="upper left")
    levels = np.arange(2, 33)
    right.plot(levels, [*map(truth, levels)], color="black", lw=1.2, label="theory")
    points = [swapped[level].mean for level in LEVELS]
    right.plot(LEVELS, points, "o", color="#0B4F9C", label="swapped rates")
    right.set(yscale="log", xlabel="places", ylabel="probability of an overflow")
    right.legend(frameon=False, loc="upper right")
    for letter, ax in zip("abc", (left, middle, right)):
        ax.set_title(f"({letter})", loc="left", fontsize="medium")
    Path("pictures").mkdir(exist_ok=True)
    figure.savefig("pictures/lecture_14.png", dpi=150)


with cg.plots.styled("lecture"):
    draw_figure()

# %% [markdown]
# ## Three misconceptions
# **"p95 = mean + 1.645 standard deviations."** This holds for a normal distribution.
# Here it is more than 10 % too small, because waits have a long right tail.
#
# **"No overflow in 10,000 cycles, so there are none."** The rule of three only shows
# that the probability is below 0.0003. The true value is one ten-thousandth of this.
#
# **"Any rates under which the event is common will do."** With 1.499 arrivals and 0.001
# departures per minute, nearly every cycle overflows, but the whole confidence interval
# is below a tenth of the truth. The weights of the rare cycles with many departures are
# huge, but none of these cycles occurs in the sample.

# %%
normal_p95 = independent.mean() + norm.ppf(0.95) * independent.std()
print(claim("mean + 1.645 standard deviations", normal_p95 / true_p95, below=0.9))
print(claim("one ten-thousandth of 0.0003", truth(25), above=2.9e-8, below=3.1e-8))
rng = stream(SEED, "wrong rates")
wrong = cg.statistics.mean([cycle(rng, 25, 1.499, 0.001) for _ in range(CYCLES)])
print(f"wrong rates: {wrong.mean:.1e} ± {wrong.half_width:.0e}, not {truth(25):.1e}")
print(claim("wrong rates: below a tenth", wrong.high / truth(25), below=0.1))

# %% [markdown]
# ## Five questions
# 1. Why may the binomial interval not be used for successive waits?
# 2. Why does a p99 need more data than a p95?
# 3. Which statistic of a log shows bursts of arrivals?
# 4. What is the weight in importance sampling, and why is it needed?
# 5. How do you check importance sampling if the probability is unknown?
#
# <details><summary>Answers</summary>
#
# 1. They are correlated, so the count below the quantile varies more than a binomial
#    number.
# 2. The density is smaller there: fewer values are near the quantile.
# 3. The autocorrelation of the interarrival times, or the index of dispersion of the
#    counts.
# 4. The likelihood ratio of the two distributions. It removes the bias of the changed
#    rates.
# 5. At a level at which crude simulation still observes the event, and with other
#    rates.
#
# </details>
#
# ## You can now
# - compute a confidence interval for a quantile, and the data that it needs;
# - generate and detect correlated input;
# - estimate a rare event by importance sampling, and check it;
# - state what follows if an event was never seen.
#
# ## References
# - Law, *Simulation Modeling and Analysis* (5th ed.), Chapters 6 and 9.
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation* (5th ed.),
#   Chapters 9 and 11.
# - Rubino and Tuffin (eds.), *Rare Event Simulation using Monte Carlo Methods*, Wiley,
#   2009.
#
# ## Exercises
# **14.1** No event occurs in n independent replications. How large must n be so that a
# certain probability is ruled out, with a certain confidence
# (`cg.exercises.question(14.1, "your name")` gives both)?
# Check it: `cg.exercises.check(14.1, answer, "your name")`
#
# **14.2** Write `interval(x, p)`: the two ends of the 95 % confidence interval for the
# p-quantile of independent values x, in any order, by the binomial distribution as in
# the lecture. Check it: `cg.exercises.check(14.2, interval)`
#
# **14.3** A cycle was generated with swapped rates. Write the process
# `cycle(env, gaps, works, level, load, weights)`. At time 0 one customer is present;
# the lists give the times between arrivals (the first is the time to the next arrival)
# and the service times, and the load is a / s with the original rates. When `level`
# customers are present or none is, append the weight of the cycle to `weights` once.
# Check it: `cg.exercises.check(14.3, cycle)`
