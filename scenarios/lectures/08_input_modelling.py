"""The usual Kolmogorov-Smirnov test rejects a fitted exponential distribution about
nine times too rarely, and a fitted lognormal distribution about 300 times too rarely.

(Lecture 8: input modelling)
"""

# %% [markdown]
# ## The data
# A model needs distributions of its inputs: interarrival times, service times, times
# between failures. **Input modelling** chooses them from data. The steps are: collect
# data, plot them, choose a family of distributions, estimate its parameters, and test
# the fit.
#
# The example is a hotline with three agents, open day and night. The data are a log of
# two weeks: when each call arrived, and how long the agent talked. We simulate this
# log ourselves, so that the true distributions are known: the talk times are
# lognormal, and more calls arrive by day than by night.

# %%
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from scipy import stats
from scipy.special import ndtr

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises import claim
from cgrsp_simpy.plots.style import MISSED

SEED = 80_000
DAYS, MEAN, SIGMA = 14, 12.0, 0.8  # times in minutes
TRUE_PER_H = np.array([2.0] * 8 + [10.0] * 12 + [2.0] * 4)


def poisson_calls(per_h, talk):
    """Return a source of calls: Poisson, with a rate per hour of the day."""

    def calls(draw):
        arrival, most = 0.0, max(per_h)
        while True:
            arrival += draw("gaps").exponential(60 / most)
            talk_time = talk(draw("talk"))
            if draw("kept").random() < per_h[int(arrival / 60) % 24] / most:
                yield arrival, talk_time

    return calls


def lognormal(mean, sigma):
    return lambda rng: rng.lognormal(np.log(mean) - sigma**2 / 2, sigma)


TRUE_CALLS = poisson_calls(TRUE_PER_H, lognormal(MEAN, SIGMA))
log = []
for call in TRUE_CALLS(cg.Draw(SEED)):
    if call[0] > DAYS * 1440:
        break
    log.append(call)
arrivals, talks = np.array(log).T
lag = np.corrcoef(talks[:-1], talks[1:])[0, 1]
print(f"{len(talks)} calls; talk times: mean {talks.mean():.1f} min", end=", ")
print(f"cv {talks.std(ddof=1) / talks.mean():.2f}, lag-1 correlation {lag:.3f}")
print(claim("Neighbours are uncorrelated", lag, above=-0.09, below=0.09))

# %% [markdown]
# First look at the data. The **coefficient of variation** (cv) is the standard
# deviation divided by the mean; it is 1 for an exponential distribution. The tests
# below assume independent values, so check the correlation of neighbours, too.
# Neighbours are uncorrelated here.
#
# A **Q-Q plot** (quantile-quantile plot) draws the sorted data against the quantiles
# of a fitted distribution. If the distribution is right, the points lie near the
# diagonal. The plot shows where a fit is bad: in the tail, or near zero. Part (a) of
# the figure shows three of them.
#
# ## Estimate, then test
# **Maximum likelihood** chooses the parameters under which the data are most likely.
# It finds parameters for any family, including a wrong one. A **goodness-of-fit test**
# asks whether the data could come from the fitted distribution. The Kolmogorov-Smirnov
# statistic D is the largest distance between the fitted and the empirical distribution
# function.
#
# The usual table of D holds for a distribution that was fixed before the data were
# seen. Fitted parameters bring the distribution closer to the data, so D is smaller,
# and the usual p-value is too large. How much too large? We draw 400,000 samples of
# 200 values from each of two families, and fit the right family to every sample. A
# correct 5 % test rejects 5 % of them.

# %%
N, BLOCKS = 200, 100  # values per sample; blocks of 4,000 samples
DRAW = {"exponential": "standard_exponential", "lognormal": "standard_normal"}


def distances(name, x):
    """Return D per row; of a lognormal distribution, x are the logarithms."""
    x = np.sort(x, axis=1)
    mean, sd = x.mean(axis=1, keepdims=True), x.std(axis=1, keepdims=True)
    fitted = -np.expm1(-x / mean) if name == "exponential" else ndtr((x - mean) / sd)
    n = x.shape[1]
    upper = np.arange(1, n + 1, dtype=x.dtype) / x.dtype.type(n)
    above, below = upper - fitted, fitted - (upper - x.dtype.type(1 / n))
    return np.maximum(above, below).max(axis=1)


def sample_distances(name, n, blocks):
    """Return D of samples of n values from a family, each fitted with that family."""
    return np.concatenate(
        [
            distances(
                name,
                getattr(stream(SEED, name, n, k), DRAW[name])((4000, n), np.float32),
            )
            for k in range(blocks)
        ]
    )


usual = stats.kstwo.ppf(0.95, N)
critical, times = {}, {}
print(f"usual 5 % point of D for n = {N}: {usual:.4f}")
for name in DRAW:
    d = sample_distances(name, N, BLOCKS)
    critical[name] = np.quantile(d, 0.95)
    count = int((d > usual).sum())
    low, high = stats.chi2.ppf((0.025, 0.975), (2 * count, 2 * count + 2)) / 2
    factors = [0.05 * len(d) / rejected for rejected in (count, high, low)]
    times[name] = cg.statistics.Mean(*factors, len(d))
    print(f"{name:11}: {count:4} of {len(d)} rejected", end=", ")
    print(f"{factors[0]:.4g} times too rarely [{factors[1]:.4g}, {factors[2]:.4g}]")
    print(f"             correct 5 % point: {critical[name]:.4f}")
print(claim("exponential: about nine times", times["exponential"], above=8, below=10))
print(
    claim("lognormal: about 300 times", times["lognormal"].mean, above=200, below=500)
)

# %% [markdown]
# The right family is rejected about nine times too rarely with one fitted parameter,
# and about 300 times too rarely with two. Does this matter if the family is wrong? Now
# the data come from a gamma distribution with shape 2, and a lognormal distribution is
# fitted. The **power** of a test is the probability that it rejects a wrong
# distribution.

# %%
wrong = np.log(stream(SEED, "gamma").gamma(2.0, 6.0, (4000, N)))
d = distances("lognormal", wrong)
power = {"usual": np.mean(d > usual), "correct": np.mean(d > critical["lognormal"])}
print("rejected, wrong distribution:", *(f"{k} {v:.1%}" for k, v in power.items()))
print(claim("five times the power", power["correct"] / power["usual"], above=5))

# %% [markdown]
# The correct critical value has more than five times the power of the usual one.
#
# ## The parametric bootstrap
# Correct critical values exist for few families. The **parametric bootstrap** works
# for all of them: draw samples from the fitted distribution, fit each sample again,
# and compare D of the data with D of the samples (`scipy.stats.goodness_of_fit`).
# The **chi-square test** counts the data in cells of equal probability instead. With
# k cells and m parameters that are fitted to the counts, it has k - 1 - m degrees of
# freedom. If the parameters are fitted to the single values, as here, the correct
# p-value lies between those of k - 1 - m and of k - 1 degrees of freedom (Chernoff and
# Lehmann, 1954); both are printed.

# %%
FAMILY = {"exponential": stats.expon, "gamma": stats.gamma, "lognormal": stats.lognorm}
fits, p = {}, {}
print("                        D  usual p  bootstrap p  chi-square p between")
for n in (N, len(talks)):
    for name, family in FAMILY.items():
        parameters = family.fit(talks[:n], floc=0)
        fits[name] = family(*parameters)
        plain = stats.kstest(talks[:n], fits[name].cdf)
        bootstrap = stats.goodness_of_fit(
            family,
            talks[:n],
            known_params={"loc": 0},
            statistic="ks",
            n_mc_samples=199 if n == N else 99,
            random_state=stream(SEED, f"bootstrap {name}"),
        )
        cells = np.histogram(fits[name].cdf(talks[:n]), 20, range=(0, 1))[0]
        fitted = len(parameters) - 1  # the lower end, 0, was not fitted
        both = [stats.chisquare(cells, ddof=m).pvalue for m in (fitted, 0)]
        p[n, name] = plain.pvalue, bootstrap.pvalue, *both
        print(f"{n:5} calls {name:11}{plain.statistic:6.3f}{plain.pvalue:9.3f}", end="")
        print(f"{bootstrap.pvalue:13.3f}{both[0]:14.3f}{both[1]:8.3f}")
worst = max(max(p[n, "exponential"]) for n in (N, len(talks)))
print(claim("All tests reject the exponential distribution", worst, below=0.05))
rejected = max(p[len(talks), "gamma"])
print(claim("all tests reject the gamma distribution", rejected, below=0.05))

# %% [markdown]
# All tests reject the exponential distribution, even with 200 calls. With all calls,
# all tests reject the gamma distribution. A test at the level 5 % rejects the right
# distribution for one log in twenty, and this may occur with another seed. With very
# many data every simple distribution is rejected. Then ask whether the difference
# matters for the answer.
#
# ## Arrivals
# If the arrival rate is constant, calls fall evenly into the hours of the day. A
# chi-square test compares the 24 counts with equal ones. If the rate depends on the
# hour, estimate one rate per hour: the count divided by the days. For Poisson
# arrivals the count per hour and day has a variance equal to its mean. Their ratio is
# the **index of dispersion**.

# %%
counts = np.histogram(arrivals / 60, np.arange(24 * DAYS + 1))[0].reshape(DAYS, 24)
came = counts.sum(axis=0)
per_h = came / DAYS
constant = stats.chisquare(came)
dispersion = np.mean(counts.var(axis=0, ddof=1) / per_h)
print(f"constant rate: chi-square {constant.statistic:.0f}, p = {constant.pvalue:.1g}")
print(claim("The rate is not constant", constant.pvalue, below=1e-6))
print(claim("index of dispersion near 1", dispersion, above=0.65, below=1.35))
low, high = stats.chi2.ppf([[0.025], [0.975]], [2 * came, 2 * came + 2]) / 2 / DAYS
covered = int(((low <= TRUE_PER_H) & (high >= TRUE_PER_H)).sum())
print(claim("95 % intervals that cover the true rate, of 24", covered, above=18))

# %% [markdown]
# The rate is not constant, and with an index of dispersion near 1, a Poisson process
# whose rate depends on the hour fits the counts. (How to generate it: lecture 7.)
#
# ## Does it matter?
# The simulation answers. It is driven first by the log itself (**trace-driven**), then
# by fitted models, with 20 replications each. The parameter `calls` is the source.


# %%
@cg.model
def hotline(env, draw, calls=TRUE_CALLS, agents=3):
    """Callers wait for an agent, for two weeks."""
    desk = cg.Resource(env, agents, name="desk")

    def caller(talk_time):
        with desk.request() as turn:
            yield turn
            yield env.timeout(talk_time)

    def source():
        for arrival, talk_time in calls(draw):
            yield env.timeout(arrival - env.now)
            env.process(caller(talk_time))

    env.process(source())
    env.run(DAYS * 1440)


sigma, mean = float(fits["lognormal"].args[0]), float(fits["lognormal"].mean())
fitted_talk = lognormal(mean, sigma)
even = [per_h.mean()] * 24
models = {
    "fitted rates, lognormal": {"calls": poisson_calls(per_h, fitted_talk)},
    "fitted rates, equal talks": {"calls": poisson_calls(per_h, lambda _: mean)},
    "constant rate, lognormal": {"calls": poisson_calls(even, fitted_talk)},
}
study = cg.compare(hotline, models, seeds=range(SEED, SEED + 20))
waits = {name: np.array(study.values(name, "desk_wait")) for name in models}
replay = cg.simulate(hotline, {"calls": lambda _: log}).summary()["desk_wait"]
print(f"trace-driven: mean wait {replay:.2f} min")
for name, values in waits.items():
    wait = cg.statistics.mean(values)
    print(f"{name:26}{wait.mean:5.2f} ± {wait.half_width:.2f} min", end="; ")
    print(f"standard deviation of a run {wait.sd:.2f} min")
off = [(replay - values.mean()) / values.std(ddof=1) for values in waits.values()]
print(claim("within three standard deviations of a run", abs(off[0]), below=3))
fitted_wait, equal_wait, even_wait = (values.mean() for values in waits.values())
print(claim("A constant rate: less than half", even_wait / fitted_wait, below=0.5))
equal = equal_wait / fitted_wait
print(claim("Equal talk times: about six tenths", equal, above=0.5, below=0.7))

# %% [markdown]
# The log is one run of the true system, so its mean wait lies within three standard
# deviations of a run of the fitted model. With a constant rate, the mean wait is less
# than half of that, because there are no rush hours. With equal talk times it is
# about six tenths.
#
# **Without data**, ask an expert for the smallest, most likely and largest value, use a
# triangular distribution, and vary it: if the answer changes much, data are needed.


# %%
def draw_figure():
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(17, 6.5), layout="constrained"
    )
    grid = (np.arange(len(talks)) + 0.5) / len(talks)
    styles = {"exponential": "0.6", "gamma": MISSED, "lognormal": "#0B4F9C"}
    for name, colour in styles.items():
        quantiles = fits[name].ppf(grid)
        left.plot(quantiles, np.sort(talks), ".", ms=5, color=colour, label=name)
    most = talks.max() * 1.03
    left.plot([0, most], [0, most], color="black", lw=1.2)
    left.set(xlabel="quantile of the fit (min)", ylabel="talk time (min)")
    left.set(xlim=(0, most), ylim=(0, most))
    left.legend(frameon=False, markerscale=2, loc="lower right")
    middle.stairs(TRUE_PER_H, np.arange(25), color="black", lw=1.6, label="truth")
    centre = np.arange(24) + 0.5
    middle.vlines(centre, low, high, color="#0B4F9C", label="95 % interval")
    middle.plot(centre, per_h, "o", ms=6, color="#0B4F9C", label="log")
    middle.set(xlabel="hour of the day", ylabel="calls per hour", xlim=(0, 24))
    middle.set(ylim=(0, 19), xticks=range(0, 25, 6), yticks=range(0, 16, 5))
    middle.legend(frameon=False, loc="upper left")
    for place, values in enumerate(waits.values()):
        at = np.full(len(values), place)
        right.plot(at, values, "o", ms=6, mfc="none", color="#0B4F9C")
    right.axhline(replay, color=MISSED, label="trace-driven")
    names = ["fitted rates,\nlognormal", "fitted rates,\nequal talks", "constant\nrate"]
    right.set(xticks=range(3), xlim=(-0.5, 2.5), ylim=(0, None))
    right.set_xticklabels(names, fontsize="small")
    right.set_ylabel("mean wait of a run (min)")
    right.legend(frameon=False, loc="upper right")
    for letter, ax in zip("abc", (left, middle, right)):
        ax.set_title(f"({letter})", loc="left", fontsize="medium")
    Path("pictures").mkdir(exist_ok=True)
    figure.savefig("pictures/lecture_8.png", dpi=150)


with cg.plots.styled("lecture"):
    draw_figure()

# %% [markdown]
# ## Three misconceptions
# **"A p-value above 0.05 shows that the distribution is right."** With 30 talk times,
# the correct test accepts an exponential distribution for more than half of the
# samples, although they are lognormal.
#
# **"The mean is enough."** With talk times that are all equal to the mean, callers wait
# less.
#
# **"Resampling the log is safe, because it assumes nothing."** The empirical
# distribution assumes that no talk is longer than the longest one in the log. For most
# logs of 100 calls, at least one of the next 1,000 calls is longer.

# %%
critical_30 = np.quantile(sample_distances("exponential", 30, 5), 0.95)
talks_30 = stream(SEED, "thirty").lognormal(0, SIGMA, (4000, 30))
accepted = np.mean(distances("exponential", talks_30) <= critical_30)
print(claim("accepted for more than half of the samples", accepted, above=0.5))
more = cg.statistics.paired_difference(*list(waits.values())[:2])
print(claim("equal talk times make callers wait less", more, above=0))
further = stream(SEED, "further").lognormal(0, SIGMA, (1000, 1100))
longer = np.mean(further[:, 100:].max(axis=1) > further[:, :100].max(axis=1))
print(claim("For most logs a later call is longer", longer, above=0.85))

# %% [markdown]
# ## Five questions
# 1. What does a Q-Q plot show that a p-value does not?
# 2. Why is the usual p-value of Kolmogorov and Smirnov too large for a fitted
#    distribution?
# 3. How does the parametric bootstrap find the correct p-value?
# 4. How do you check that arrivals are Poisson if the rate changes by the hour?
# 5. When is a trace-driven simulation useful, and what can it not do?
#
# <details><summary>Answers</summary>
#
# 1. Where the fit is bad, such as in the right tail, and how bad it is.
# 2. The parameters were chosen to bring the distribution close to these data, so D is
#    smaller than the usual table assumes.
# 3. It repeats both steps, drawing and fitting, many times under the fitted
#    distribution, and counts how often D is at least as large as for the data.
# 4. For each hour of the day, the counts of the days have an index of dispersion near
#    1, and the counts of different hours are uncorrelated.
# 5. For validation, because the input is real. It cannot simulate other loads, or
#    more than one sample.
#
# </details>
#
# ## You can now
# - estimate parameters by maximum likelihood, and read a Q-Q plot;
# - test the fit with the parametric bootstrap and with the chi-square test;
# - test whether an arrival rate is constant, and estimate one rate per hour;
# - drive one model by a trace or by distributions, and see which assumption matters.
#
# ## References
# - Law, *Simulation Modeling and Analysis* (5th ed.), Chapter 6.
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation* (5th ed.),
#   Chapter 9.
# - Chernoff and Lehmann (1954), Annals of Mathematical Statistics 25, 579-586.
#
# ## Exercises
# **8.1** The service times in s are `x = stream(n, "exercise").gamma(2.0, 300.0, 500)`,
# where n is your number (`cg.exercises.question(8.1, "your name")`). Fit an
# exponential distribution that begins at 0 by maximum likelihood. What is the
# Kolmogorov-Smirnov statistic D?
# Check it: `cg.exercises.check(8.1, answer, "your name")`
#
# **8.2** Fit a gamma distribution that begins at 0 to the same x, and count x in 20
# cells of equal probability. What is the p-value of the chi-square test, if each fitted
# parameter costs one degree of freedom?
# Check it: `cg.exercises.check(8.2, answer, "your name")`
#
# **8.3** Write a trace-driven model. `replay(env, desk, log, waits)` is a generator
# function for `env.process`: `log` is a list of pairs (arrival, talk time), sorted by
# arrival, `desk` is a `simpy.Resource`. Append the wait of each caller to `waits` when
# service begins. Check it: `cg.exercises.check(8.3, replay)`
