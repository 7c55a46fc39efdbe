"""Interarrival times drawn with the current rate lose more than half of the arrivals of
a short rush hour, and no error is raised.

(Lecture 7: variates and streams)
"""

# %% [markdown]
# ## Inversion
# A generator gives uniform numbers U between 0 and 1. A **random variate** is a number
# with another distribution, computed from them. **Inversion**: if F is the
# distribution function, then F^-1(U) has this distribution. It uses one uniform number
# per variate, and the variate increases with U. For an exponential distribution with
# mean m it gives -m ln(1 - U). For a discrete distribution it gives the first value
# whose cumulated probability exceeds U.
#
# ## Acceptance-rejection
# If F^-1 is unknown, choose a simple density g with f <= c g. Draw X from g, and accept
# it with probability f(X) / (c g(X)); else draw again. The accepted X have the density
# f, and a fraction 1 / c of the draws is accepted. For the beta(2, 5) distribution and
# a uniform g, the smallest c is the maximum of f, at 1/5.

# %%
from math import ceil
from pathlib import Path

import numpy as np
import simpy
from matplotlib import pyplot as plt
from scipy import stats

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises import claim
from cgrsp_simpy.plots.style import MISSED

SEED = 70_000
beta, c = stats.beta(2, 5), stats.beta(2, 5).pdf(0.2)
# number of draws for a half width of 0.01 of the accepted fraction
N = ceil(1 / c * (1 - 1 / c) * (1.96 / 0.01) ** 2)
inverted = -np.log(1 - stream(SEED, "inversion").random(N))
proposed, height = stream(SEED, "rejection").random((2, N))
accepted = height * c <= beta.pdf(proposed)
fraction = cg.statistics.mean(accepted.astype(float))
p_inverted = stats.kstest(inverted, stats.expon.cdf).pvalue
p_accepted = stats.kstest(proposed[accepted], beta.cdf).pvalue
print(f"inversion: KS p = {p_inverted:.2f}; rejection: KS p = {p_accepted:.2f}")
print(f"accepted: {fraction.mean:.3f} ± {fraction.half_width:.3f}; 1/c = {1 / c:.3f}")
print(claim("both pass the test of fit", min(p_inverted, p_accepted), above=0.001))
more = cg.statistics.mean(accepted - 1 / c)
print(claim("a fraction 1 / c is accepted", more, above=-0.03, below=0.03))

# %% [markdown]
# In a Kolmogorov-Smirnov test (KS, lecture 6), both pass the test of fit.
#
# ## Composition and convolution
# **Composition** first draws which of several distributions applies: one customer in
# ten needs 50 minutes on average, the others 5. Their mixture, a hyperexponential
# distribution, has a coefficient of variation (cv) above 1. **Convolution** adds
# variates: the sum of four exponential stages is an Erlang distribution with cv 1/2.

# %%
rng = stream(SEED, "composition")
mixed = rng.exponential(np.where(rng.random(N) < 0.1, 50.0, 5.0))
erlang = rng.exponential(2.5, (N, 4)).sum(axis=1)
cv = {"composition": stats.variation(mixed), "convolution": stats.variation(erlang)}
print("cv:", *(f"{name} {value:.2f}" for name, value in cv.items()))
print(claim("above 1", cv["composition"], above=1.5))
print(claim("cv 1/2", cv["convolution"], above=0.47, below=0.53))

# %% [markdown]
# ## Arrivals whose rate changes
# A canteen has a rush from 8 to 10 o'clock: ten customers per hour, and one every two
# hours at other times. This is a **nonstationary Poisson process**. Two methods are
# right. **Inversion** generates arrivals with rate 1 and converts their times by the
# inverse of the cumulated rate. **Thinning** (Lewis and Shedler, 1979) generates
# arrivals at the highest rate, and accepts each with probability rate(t) / highest
# rate. A third method seems right, but is wrong: draw the next interarrival time with
# the current rate. Each is a SimPy process; the unit of time is the hour.

# %%
PER_H = [0.5] * 8 + [10.0] * 2 + [0.5] * 14
HIGHEST, DAYS = max(PER_H), 1000
CUMULATED = np.append(0, np.cumsum(PER_H))


def rate(at):
    return PER_H[int(at % 24)]


def inversion(env, rng, arrive):
    expected = 0.0
    while True:
        expected += rng.exponential()
        day, rest = divmod(expected, CUMULATED[-1])
        arrival = 24 * day + np.interp(rest, CUMULATED, np.arange(25))
        yield env.timeout(max(0.0, arrival - env.now))
        arrive()


def thinning(env, rng, arrive):
    while True:
        yield env.timeout(rng.exponential(1 / HIGHEST))
        if rng.random() < rate(env.now) / HIGHEST:
            arrive()


def present_rate(env, rng, arrive):
    while True:
        yield env.timeout(rng.exponential(1 / rate(env.now)))
        arrive()


def hourly_counts(source):
    env, arrivals = simpy.Environment(), []
    rng = stream(SEED, source.__name__)
    env.process(source(env, rng, lambda: arrivals.append(env.now)))
    env.run(24 * DAYS)
    return np.bincount(np.array(arrivals).astype(int) % 24, minlength=24)


per_h, p = {}, {}
expected = DAYS * np.array(PER_H)
print(f"customers per hour, {DAYS} days   hour 7     8     9    10    chi-square, p")
for source in (inversion, thinning, present_rate):
    counts = hourly_counts(source)
    per_h[source.__name__] = counts / DAYS
    chi2 = np.sum((counts - expected) ** 2 / expected)
    p[source.__name__] = stats.chi2.sf(chi2, 24)
    cells = "".join(f"{mean:6.2f}" for mean in counts[7:11] / DAYS)
    print(f"{source.__name__:33}{cells}{chi2:11.0f}{p[source.__name__]:8.3f}")
right = min(p["inversion"], p["thinning"])
print(claim("inversion and thinning pass the test", right, above=0.001))
rush = per_h["present_rate"][8:10].mean()
print(claim("loses more than half of the rush hour", rush, above=3, below=5))

# %% [markdown]
# Inversion and thinning pass the test. The current rate loses more than half of the
# customers of the rush hour: in a quiet hour it draws a long time, which ends in the
# middle of the rush or after it. No error is raised.
#
# ## Streams
# A **stream** is a sequence of random numbers with its own start. `draw("gaps")` in a
# `@cg.model` is a stream that depends on the seed and on its name only. Use one stream
# per purpose, and draw what belongs to an entity when the entity is created. Then two
# alternatives with the same seed serve the same entities (**common random numbers**,
# lecture 11), and their difference is precise.
#
# A workshop has two mechanics and 400 jobs; one in five is urgent and takes four times
# as long on average. Is it better to work 5 % faster, or to serve urgent jobs first?
# Work is drawn in three ways: when the job arrives, when its service begins, or from
# one stream for everything.


# %%
WAYS = ("at arrival", "at service", "one stream")


@cg.model
def workshop(env, draw, way=WAYS[0], speed=1.0, urgent_first=False, jobs=400):
    """Jobs wait for one of two mechanics; times in hours."""
    mechanics = cg.PriorityResource(env, 2, name="mechanics")
    works = []

    def rng(name):
        return draw("everything" if way == "one stream" else name)

    def draw_work(urgent):
        works.append(rng("work").exponential(2.0 if urgent else 0.5))
        return works[-1]

    def job(urgent, work):
        with mechanics.request(0 if urgent and urgent_first else 1) as turn:
            yield turn
            yield env.timeout((work or draw_work(urgent)) / speed)

    def source():
        for _ in range(jobs):
            yield env.timeout(rng("gaps").exponential(0.5))
            urgent = rng("urgent").random() < 0.2
            env.process(job(urgent, draw_work(urgent) if way == WAYS[0] else None))

    env.process(source())
    env.run()
    return {"work": sum(works)}


SEEDS = range(SEED, SEED + 30)
faster, work_changes = {}, {}
print(f"\n{'':22}{'5 % faster, change':25}urgent first, largest")
print(f"{'work is drawn':22}{'of the mean wait':25}change of the work")
for way in WAYS:
    alternatives = {
        "usual": {"way": way},
        "faster": {"way": way, "speed": 1.05},
        "urgent first": {"way": way, "urgent_first": True},
    }
    study = cg.compare(workshop, alternatives, seeds=SEEDS)
    wait, work = (
        {name: np.array(study.values(name, figure)) for name in alternatives}
        for figure in ("mechanics_wait", "work")
    )
    faster[way] = wait["faster"] - wait["usual"]
    work_changes[way] = (work["urgent first"] / work["usual"] - 1).round(9)
    change = cg.statistics.mean(faster[way])
    print(f"{way:22}{change.mean:6.3f} ± {change.half_width:.3f} h", end="")
    print(f"{np.abs(work_changes[way]).max():12.0%}")
print(claim("the same work", np.abs(work_changes["at arrival"]).max(), equal=0))
differs = bool(np.all(work_changes["at service"] != 0))
print(claim("the work differs for every seed", differs, equal=True))
wider = faster["one stream"].std() / faster["at arrival"].std()
print(f"one stream: the interval of 'faster' is {wider:.1f} times as wide")
print(claim("at least one and a half times as wide", wider, above=1.5))

# %% [markdown]
# If work is drawn at arrival, both rules do the same work. If it is drawn when service
# begins, another order gives a job the draw of another job, and the work differs for
# every seed. With one stream, the first job that begins earlier shifts all later draws:
# the interval is at least one and a half times as wide. None of the three is biased,
# and no error is raised.
#
# Some methods use an unknown number of uniform numbers, such as rejection. Give each
# entity a stream of its own: `stream(seed, name, n)` for entity n.


# %%
def beta_by_rejection(rng):
    while True:
        x, height = rng.random(2)
        if height * c <= beta.pdf(x):
            return x


def twenty_draws(one_stream, repeated):
    """Return the variates of twenty jobs; job 2 draws a second time if repeated."""
    common, values = stream(SEED, "all jobs"), []
    for n in range(20):
        rng = common if one_stream else stream(SEED, "job", n)
        values.append(beta_by_rejection(rng))
        if n == 2 and repeated:
            values[n] = beta_by_rejection(rng)
    return np.array(values)


moved = {}
for one_stream in (True, False):
    before, after = (twenty_draws(one_stream, repeated) for repeated in (False, True))
    moved[one_stream] = int(np.sum(before != after))
print(f"job 2 draws again; one stream: {moved[True]} of 20 jobs change", end=", ")
print(f"a stream per job: {moved[False]}")
print(claim("one stream: job 2 and all later jobs change", moved[True], equal=18))
print(claim("a stream per job: only job 2 changes", moved[False], equal=1))


# %%
def draw_figure():
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(17, 6.5), layout="constrained"
    )
    for mask, colour, label in (
        (accepted, "#0B4F9C", "accepted"),
        (~accepted, "0.7", "rejected"),
    ):
        x, y = proposed[:600][mask[:600]], c * height[:600][mask[:600]]
        left.plot(x, y, "o", ms=4, color=colour, label=label)
    grid = np.linspace(0, 1, 200)
    left.plot(grid, beta.pdf(grid), color="black", lw=1.6, label="density")
    left.set(xlabel="draw", ylabel="height", xlim=(0, 1), ylim=(0, 3.4))
    left.legend(frameon=False, loc="upper right", markerscale=2)
    middle.stairs(PER_H, np.arange(25), color="black", lw=1.6, label="rate")
    styles = zip(per_h.items(), ("#0B4F9C", "0.55", MISSED), "o^s")
    for (name, counts), colour, marker in styles:
        label = name.replace("_", " ")
        middle.plot(np.arange(24) + 0.5, counts, marker, ms=7, c=colour, label=label)
    middle.set(xlabel="hour of the day", ylabel="customers per hour")
    middle.set(xlim=(4, 16), ylim=(0, 14), xticks=range(4, 17, 4))
    middle.legend(frameon=False, loc="upper right")
    for place, (way, values) in enumerate(faster.items()):
        colour = MISSED if way == "one stream" else "#0B4F9C"
        at = np.full(len(values), place)
        right.plot(at, values, "o", ms=6, mfc="none", color=colour)
    right.axhline(0, color="black", lw=1.2)
    right.set(xticks=range(3), xlim=(-0.5, 2.5))
    right.set_xticklabels(WAYS, fontsize="small")
    right.set_ylabel("change of the mean wait, 5 % faster (h)")
    for letter, ax in zip("abc", (left, middle, right)):
        ax.set_title(f"({letter})", loc="left", fontsize="medium")
    Path("pictures").mkdir(exist_ok=True)
    figure.savefig("pictures/lecture_7.png", dpi=150)


with cg.plots.styled("lecture"):
    draw_figure()

# %% [markdown]
# ## Three misconceptions
# **"It is enough to look up the rate at each arrival."** See the table above: the rush
# hour loses more than half of its customers. The rate must be allowed to change while
# the process waits.
#
# **"Negative service times of a normal distribution can be set to 0."** With mean 5 and
# standard deviation 5, the mean of max(0, X) is 5.42, so the utilisation is 8 % too
# high. Use a distribution of positive values.
#
# **"-m ln(U) and -m ln(1 - U) are the same."** Their distributions are the same, but
# the variates are not: from the same U they have a correlation of about -0.64. Lecture
# 13 uses this (**antithetic variates**).

# %%
truncated = np.maximum(0, stream(SEED, "normal").normal(5, 5, 100_000))
print(claim("the mean of max(0, X)", truncated.mean(), above=5.37, below=5.47))
exact = 5 * stats.norm.cdf(1) + 5 * stats.norm.pdf(1)
print(claim("exactly 5.42", round(exact, 2), equal=5.42))
u = stream(SEED, "antithetic").random(100_000)
correlation = np.corrcoef(np.log(1 - u), np.log(1 - (1 - u)))[0, 1]
print(claim("a correlation of", correlation, above=-0.67, below=-0.62))

# %% [markdown]
# ## Five questions
# 1. Give the inverse of F(x) = x^2 for 0 <= x <= 1.
# 2. In acceptance-rejection, why should c be small?
# 3. Why is thinning a case of acceptance-rejection?
# 4. Why is the current rate wrong, and when does it hardly matter?
# 5. Two queueing rules have the same seed. When do they serve the same jobs?
#
# <details><summary>Answers</summary>
#
# 1. F^-1(U) is the square root of U.
# 2. One accepted variate needs c draws on average.
# 3. It proposes arrivals at the highest rate and accepts each with the ratio of the two
#    rates.
# 4. The rate may change before the next arrival. It hardly matters if the rate changes
#    little during an interarrival time.
# 5. If everything that belongs to a job is drawn when the job arrives, from a stream
#    per purpose or per job.
#
# </details>
#
# ## You can now
# - generate variates by inversion, acceptance-rejection, composition and convolution;
# - generate a nonstationary Poisson process by thinning or inversion, and check it;
# - assign streams so that alternatives serve the same entities.
#
# ## References
# - Law, *Simulation Modeling and Analysis* (5th ed.), Chapter 8.
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation* (5th ed.),
#   Chapter 8.
# - Lewis and Shedler (1979), Naval Research Logistics Quarterly 26, 403-413.
#
# ## Exercises
# **7.1** The density of |Z|, Z standard normal, is drawn by acceptance-rejection from
# an exponential distribution with mean 1, with the smallest c. How many exponential
# variates does one accepted variate need on average?
# Check it: `cg.exercises.check(7.1, answer)`
#
# **7.2** Write an arrival process, `source(env, rng, arrive)`, for `env.process`. It
# calls `arrive()` at each arrival: Poisson, 2 per hour, and 10 per hour from 8 to 20
# o'clock. The unit of time is the hour, and all random numbers are drawn from `rng`, a
# NumPy Generator. The check runs 1,000 days from midnight.
# Check it: `cg.exercises.check(7.2, source)`
#
# **7.3** A machine has a Weibull lifetime, P(X > x) = e^(-(x / scale)^shape), and then
# is repaired for `repair` hours, and so on. Write the process
# `machine(env, uniforms, scale, shape, repair, failures)`: make one lifetime from each
# number of the list `uniforms` by inversion, with 1 - U as in the lecture, and append
# the time of each failure to `failures`. Check it: `cg.exercises.check(7.3, machine)`
#
# **7.4** One desk serves customers by priority, lowest number first (a
# `simpy.PriorityResource`). Write `source(env, desk, gaps, priorities, works, served)`.
# The iterators give the next interarrival time, priority and service time, so call
# `next(works)` where it belongs. It creates one customer per interarrival time. When a
# customer leaves, append the pair (arrival time, departure time) to `served`.
# Check it: `cg.exercises.check(7.4, source)`
