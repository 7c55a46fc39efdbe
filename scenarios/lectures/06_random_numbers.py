"""In the same queue, customers wait little more than half as long or at least a quarter
longer if each random number depends on the one before; a good generator gives the wait
of the formula.

(Lecture 6: random numbers and their tests)
"""

# %% [markdown]
# ## Generators
# A **random number generator** computes the next state from the state, and a number
# between 0 and 1 from each state. Nothing in it is random: the same **seed**, the first
# state, gives the same numbers. The oldest method that is still in use is the **linear
# congruential generator** (LCG): x' = (a x + c) mod m, and u = x / m. The number of
# values after which a generator repeats itself is its **period**; that of an LCG is at
# most m. We compare two LCGs with two generators in use: Python's Mersenne Twister and
# NumPy's PCG64.

# %%
import random
from itertools import islice
from math import log
from pathlib import Path

import numpy as np
import simpy
from matplotlib import pyplot as plt
from scipy import stats

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim
from cgrsp_simpy.plots.style import MISSED

SEED = 60_000
M = 2**31


def lcg(a, c, x):
    while True:
        x = (a * x + c) % M
        yield x / M


def randu(seed):
    """IBM's generator of the 1960s; its state has to be odd."""
    return lcg(65539, 0, 2 * seed + 1)


SOURCES = {
    "RANDU": randu,
    "a = 5": lambda seed: lcg(5, 1, seed),
    "Mersenne Twister": lambda seed: iter(random.Random(seed).random, None),
    "PCG64": lambda seed: iter(np.random.default_rng(seed).random, None),
}


def numbers(source, n):
    return np.fromiter(islice(source, n), float, n)


repeats = pow(65539, 2**29, M) == 1 != pow(65539, 2**28, M)
print(claim("RANDU repeats itself after 2^29 numbers", repeats, equal=True))

# %% [markdown]
# RANDU repeats itself after 2^29 numbers, which is too few for a large study. The
# periods of the Mersenne Twister and of PCG64 are 2^19937 - 1 and 2^128. With a = 5 and
# c = 1 the LCG has the full period m: for a power of 2, it is enough that c is odd and
# that 4 divides a - 1 (Hull and Dobell, 1962). A long period is necessary, but not
# sufficient.
#
# ## Planes
# RANDU has a = 65539 = 2^16 + 3. Then a^2 = 6 a - 9 modulo 2^31, so that three
# successive numbers satisfy x'' = 6 x' - 9 x. Therefore 9 u - 6 u' + u'' is an integer,
# and all triples lie on fifteen planes in the unit cube. Every LCG has such a
# **lattice structure**; good multipliers have many planes close together.

# %%
N, TIMES = 9000, 100  # numbers per test, and tests
by_source = {
    name: numbers(generator(SEED), N * TIMES) for name, generator in SOURCES.items()
}
u = by_source["RANDU"]
planes = np.unique(9 * u[:-2] - 6 * u[1:-1] + u[2:])
print("9 u - 6 u' + u'' of RANDU:", *planes.astype(int))
print(claim("all triples lie on fifteen planes", len(planes), equal=15))

# %% [markdown]
# ## Tests
# A test computes a statistic, and the probability of a value at least as extreme if the
# numbers are independent and uniform: the **p-value**. Two tests use single numbers:
# the **chi-square test** (here with 20 cells; the sum of (count - expected)^2 /
# expected over the cells), and the **Kolmogorov-Smirnov test** (the largest distance
# between the empirical and the uniform distribution function). Three use the order: the
# **autocorrelation** of neighbours; the number of **runs up and down** (mean (2 n - 1)
# / 3, variance (16 n - 29) / 90); and the **gap test**, the distances between numbers
# below 1/2. The **serial test** counts triples in 20 x 20 x 20 cells. The usual rule,
# at least five expected numbers per cell, is not met there; with many equally likely
# cells the p-values are accurate even so, as the table below shows for the good
# generators.


# %%
def chi_square(u):
    return stats.chisquare(np.bincount((20 * u).astype(int), minlength=20)).pvalue


def kolmogorov(u):
    return stats.kstest(u, "uniform", method="asymp").pvalue


def correlation(u):
    z = np.corrcoef(u[:-1], u[1:])[0, 1] * np.sqrt(len(u) - 1)
    return 2 * stats.norm.sf(abs(z))


def runs(u):
    rises = np.diff(u) > 0
    count = 1 + np.count_nonzero(rises[1:] != rises[:-1])
    z = (count - (2 * len(u) - 1) / 3) / np.sqrt((16 * len(u) - 29) / 90)
    return 2 * stats.norm.sf(abs(z))


def gaps(u):
    lengths = np.minimum(np.diff(np.flatnonzero(u < 0.5)), 6)  # 6 or more
    expected = 0.5 ** np.array([1, 2, 3, 4, 5, 5]) * len(lengths)
    return stats.chisquare(np.bincount(lengths)[1:], expected).pvalue


def triples(u):
    cells = (20 * u.reshape(-1, 3)).astype(int) @ (400, 20, 1)
    return stats.chisquare(np.bincount(cells, minlength=20**3)).pvalue


TESTS = (chi_square, kolmogorov, correlation, runs, gaps, triples)
print(f"\nof {TIMES} tests, p < 0.05; 5 are expected of a good generator")
print(f"{'':17}", *(f"{test.__name__:>11}" for test in TESTS))
rejected = {}
for name, values in by_source.items():
    p = np.array([[test(u) for test in TESTS] for u in values.reshape(TIMES, N)])
    rejected[name] = p < 0.05
    print(f"{name:17}", *(f"{count:11}" for count in rejected[name].sum(axis=0)))
counts = {name: below.sum(axis=0) for name, below in rejected.items()}
good = max(max(counts["Mersenne Twister"]), max(counts["PCG64"]))
print(claim("Both generators in use stay near 5", good, below=17))
others = max(counts["RANDU"][:5])
print(claim("RANDU passes all tests except the serial one", others, below=17))
print(claim("which always rejects it", counts["RANDU"][5], equal=TIMES))
order = min(counts["a = 5"][2:5])
print(claim("the three tests of order always reject a = 5", order, equal=TIMES))
lag = np.corrcoef(by_source["a = 5"][:-1], by_source["a = 5"][1:])[0, 1]
print(claim("the autocorrelation is 1/5", lag, above=0.19, below=0.21))

# %% [markdown]
# Both generators in use stay near 5. RANDU passes all tests except the serial one,
# which always rejects it. With a = 5 the autocorrelation is 1/5, and the three tests of
# order always reject a = 5. Each test detects one kind of fault. If a test rejects a
# generator once, repeat the test with other numbers: a test at the level 5 % rejects a
# good generator one time in twenty.
#
# ## Seeds and streams
# A study needs many streams: one per purpose and replication. A common mistake is to
# use the seed of the replication for the interarrival times, and seed + 1 for the
# service times: the service times of one replication are then made from the same
# numbers as the interarrival times of the next. With RANDU, even the first numbers of
# neighbouring seeds are alike. In this package, `cg.Draw(seed)("gaps")` computes the
# start of a stream from a hash of seed and name; it is the `draw` of every `@cg.model`.

# %%
first, second = (numbers(randu(seed), 3) for seed in (SEED, SEED + 1))
print("RANDU with two seeds:", first.round(4), second.round(4))
difference = np.abs(second - first) % 1
difference = np.minimum(difference, 1 - difference).max()
print(claim("RANDU: neighbouring seeds begin alike", difference, below=0.002))
TWO_STREAMS = {
    "seed + 1": lambda seed: map(np.random.default_rng, (seed, seed + 1)),
    "by name": lambda seed: (cg.Draw(seed)("gaps"), cg.Draw(seed)("work")),
}
linked = {}
for name, streams in TWO_STREAMS.items():
    (_, work), (next_gaps, _) = streams(SEED), streams(SEED + 1)
    linked[name] = np.corrcoef(work.random(1000), next_gaps.random(1000))[0, 1]
    print(f"{name:8}: correlation with the next replication {linked[name]:.2f}")
print(claim("seed + 1: the same numbers", round(linked["seed + 1"], 9), equal=1))
print(claim("by name: uncorrelated", abs(linked["by name"]), below=0.15))

# %% [markdown]
# ## Does it matter?
# One desk with exponential interarrival and service times (M/M/1) at utilisation 0.8,
# whose mean wait in the queue is known by a formula. First each customer takes two
# successive numbers of one stream; then interarrival and service times have a stream
# each. There are 12 replications of 5,000 customers. The first 1,000 of each are not
# counted, because the queue starts empty (**warm-up**, lecture 9).

# %%
LOAD, RUNS, CUSTOMERS = 0.8, 12, 5000
formula = float(cg.queueing.mmc(LOAD, 1, 1).wait_s)  # the mean service time is 1


def bank(gap, work):
    """Return the mean wait; gap and work are iterators of uniform numbers."""
    env, waits = simpy.Environment(), []
    desk = simpy.Resource(env)

    def customer(service_time):
        arrival = env.now
        with desk.request() as turn:
            yield turn
            waits.append(env.now - arrival)
            yield env.timeout(service_time)

    def source():
        for _ in range(CUSTOMERS):
            yield env.timeout(-log(1 - next(gap)) / LOAD)
            env.process(customer(-log(1 - next(work))))

    env.process(source())
    env.run()
    return np.mean(waits[CUSTOMERS // 5 :])


ratios = {}
print(f"\nmean wait / formula {'one stream':>25}{'two streams':>18}")
for name in ("RANDU", "a = 5", "PCG64"):
    one, other = (SOURCES[name](seed) for seed in (SEED, SEED + 800_000))
    ratios[name] = [
        cg.statistics.mean([bank(gap, work) / formula for _ in range(RUNS)])
        for gap, work in ((one, one), (one, other))
    ]
    cells = (f"{ratio.mean:8.2f} ± {ratio.half_width:.2f}" for ratio in ratios[name])
    print(f"{name:29}", *cells)
one, two = ratios["a = 5"]
print(claim("a = 5, one stream: little more than half", one, above=0.5, below=0.65))
print(claim("a = 5, two streams: at least a quarter longer", two, above=1.25))
for ratio in (*ratios["RANDU"], *ratios["PCG64"]):
    print(claim("the wait of the formula", ratio.mean, above=0.72, below=1.28))

# %% [markdown]
# With a = 5 and one stream, a long service time is followed by a long interarrival
# time, in which the queue becomes shorter: the wait is little more than half as long.
# With two streams, long service times follow each other, and so do short interarrival
# times: the wait is at least a quarter longer. PCG64 gives the wait of the formula, and
# so does RANDU, because this model never uses three successive numbers for one
# customer. (One of its intervals just misses 1, as one 95 % interval in twenty does.) A
# bad generator distorts the results if the model depends on its fault, and no error is
# raised.


# %%
def draw_figure():
    figure = plt.figure(figsize=(18, 6), layout="constrained")
    for place, name in enumerate(("RANDU", "PCG64"), 1):
        ax = figure.add_subplot(1, 3, place, projection="3d", proj_type="ortho")
        ax.plot(*by_source[name][:6000].reshape(-1, 3).T, "o", ms=2.5, color="#0B4F9C")
        ax.view_init(elev=17.6, azim=58)  # along the planes
        ax.set_box_aspect(None, zoom=0.9)
        ax.set(xticks=(0, 1), yticks=(0, 1), zticks=(0, 1))
        ax.set(xlabel="u", ylabel="u'", zlabel="u''")
        ax.set_title(f"({'ab'[place - 1]}) {name}", loc="left", fontsize="medium")
    ax = figure.add_subplot(1, 3, 3)
    styles = (("one stream", MISSED, "o"), ("two streams", "#0B4F9C", "s"))
    for k, (label, colour, marker) in enumerate(styles):
        at = np.arange(len(ratios)) + 0.2 * k - 0.1
        means, widths, *_ = zip(
            *((r[k].mean, r[k].half_width) for r in ratios.values())
        )
        style = {"fmt": marker, "color": colour, "capsize": 6, "label": label}
        ax.errorbar(means, at, xerr=widths, **style)
    ax.axvline(1, color="black", lw=1.2)
    ax.set(yticks=range(len(ratios)), yticklabels=ratios, ylim=(2.5, -0.5))
    ax.set(xlim=(0, 2.4), xlabel="mean wait / formula")
    ax.legend(frameon=False, loc="lower right")
    ax.set_title("(c)", loc="left", fontsize="medium")
    Path("pictures").mkdir(exist_ok=True)
    figure.savefig("pictures/lecture_6.png", dpi=150)


with cg.plots.styled("lecture"):
    draw_figure()

# %% [markdown]
# ## Three misconceptions
# **"A long period makes a good generator."** x' = (x + 1) mod 2^31 has the full period,
# and each number is hardly larger than the one before: the autocorrelation is almost 1.
#
# **"A generator that fails a test at the level 5 % is bad."** Of 100 samples of PCG64,
# about a quarter fail at least one of the six tests.
#
# **"If the generator is good, any seeds give independent streams."** As shown above,
# with seed + 1 two replications share the same numbers, even with PCG64.

# %%
steps = numbers(lcg(1, 1, SEED), 1000)
adding = np.corrcoef(steps[:-1], steps[1:])[0, 1]
print(claim("x' = x + 1: autocorrelation", adding, above=0.999))
failed = int(rejected["PCG64"].any(axis=1).sum())
print(claim("samples that fail at least one test", failed, above=15, below=35))

# %% [markdown]
# ## Five questions
# 1. Which numbers does the LCG with a = 5, c = 1, m = 8 and x = 0 give first?
# 2. Why is a long period not sufficient?
# 3. What does a p-value of 0.03 mean for a generator?
# 4. RANDU passes five of six tests. What follows for your study?
# 5. How do you choose the seeds of ten replications with three streams each?
#
# <details><summary>Answers</summary>
#
# 1. x = 1, 6, 7, 4, so u = 1/8, 6/8, 7/8, 4/8.
# 2. The order of the numbers may be regular, such as in x' = x + 1.
# 3. A good generator gives such a value or a smaller one in 3 % of tests. Repeat the
#    test with other numbers.
# 4. Its numbers are not independent, and your model may depend on just this fault. Use
#    another generator.
# 5. By seed and name: seeds 0 to 9, and a name per stream. Not by seed, seed + 1,
#    seed + 2.
#
# </details>
#
# ## You can now
# - explain linear congruential generators, periods and lattice structure;
# - test numbers for uniformity and independence, and read many p-values at once;
# - choose seeds and streams for replications;
# - judge when a fault of a generator changes the answer of a model.
#
# ## References
# - Law, *Simulation Modeling and Analysis* (5th ed.), Chapter 7.
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation* (5th ed.),
#   Chapter 7.
# - Hull and Dobell (1962), SIAM Review 4, 230-254.
#
# ## Exercises
# **6.1** A good generator takes several independent tests, all at the same level
# (`cg.exercises.question(6.1, "your name")` gives their number and level). What is the
# probability that at least one of them rejects it?
# Check it: `cg.exercises.check(6.1, answer, "your name")`
#
# **6.2** Write a function `pairs(u)` of an array of 2 n numbers, which returns the
# p-value of the chi-square test of the pairs (u[0], u[1]), (u[2], u[3]), ... in 10 x 10
# cells. Check it: `cg.exercises.check(6.2, pairs)`
#
# **6.3** Write an arrival process with an LCG, `source(env, a, c, m, x, mean, n,
# arrivals)`: n arrivals with exponential interarrival times of the given mean, by
# inversion with 1 - U. The first U is computed from the state after x. Append the time
# of each arrival to `arrivals`. Check it: `cg.exercises.check(6.3, source)`
