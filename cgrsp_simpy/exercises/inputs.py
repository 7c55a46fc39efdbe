"""Exercises of lectures 5 to 8 and 14: validation, inputs and rare events."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import simpy
from numpy.random import Generator
from scipy import stats

from cgrsp_simpy.analysis.statistics import paired_difference
from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises.exercise import (
    Case,
    Environment,
    Exercise,
    Mistake,
    code,
    drawn,
    ends,
    filled,
    number,
    recorded,
    same,
    system,
    waits,
)


def _replay(process: Any, servers: int, *log: Any) -> list[Any]:
    """Run a trace-driven process; return the list that it fills."""
    return filled(process, *system(servers), [*zip(*log)])


# ---- lecture 5: validation ----


def _repairs(bays: int, arrivals: Any, fetches: Any, repairs: Any) -> Any:
    return arrivals, waits(arrivals, np.add(fetches, repairs), bays) + fetches


# ---- lecture 6: random numbers ----


def _pairs_p(
    u: Any, step: int = 2, freedom: int = 99, used: Callable[[Any], Any] = np.asarray
) -> float:
    """Return a chi-square test's p for pairs in 10 x 10 cells; used: selects counts."""
    cells = 10 * (10 * u[:-1:step]).astype(int) + (10 * u[1::step]).astype(int)
    counts = used(np.bincount(cells, minlength=100))
    statistic = np.sum((counts - counts.mean()) ** 2) / counts.mean()
    return float(stats.chi2.sf(statistic, freedom - 100 + len(counts)))


def _lcg_arrivals(
    a: int,
    c: int,
    m: int,
    x: int,
    mean: float,
    n: int,
    *,
    skip: int = 1,
    ln_u: bool = False,
) -> np.ndarray:
    states = [x]
    while len(states) < n + skip:
        states.append((a * states[-1] + c) % m)
    u = np.array(states[skip:]) / m
    return np.cumsum(-mean * np.log(u if ln_u else 1 - u))


# ---- lecture 7: variates ----

# constant c for |Z| under an exponential density with mean 1
SMALLEST_C = math.sqrt(2 * math.e / math.pi)
DAYS, MOST_Z = 1000, 5.0
# expected counts per six minutes
MEAN_COUNTS = np.repeat([0.2, 1.0, 0.2], [80, 120, 40])


def _arrivals(submitted: Any, seed: int, days: int) -> list[float]:
    """Return the arrival times that an answer's process produces in `days` days."""
    env, arrivals = Environment(), list[float]()
    env.events = -math.inf  # days have many; `arrive` limits the arrivals

    def arrive() -> None:
        require(
            len(arrivals) < 500 * days, "arrivals", len(arrivals), "about 144 per day"
        )
        arrivals.append(env.now)

    env.start(submitted(env, stream(seed, "exercise"), arrive))
    env.run(24 * days)
    return arrivals


def arrivals_fault(submitted: Any, seed: int) -> str:
    """Test the counts per tenth of an hour, their variance between days, and whether
    they depend only on the stream.
    """
    arrivals, day = _arrivals(submitted, seed, DAYS), _arrivals(submitted, seed, 1)
    counts = np.histogram(arrivals, np.arange(240 * DAYS + 1) / 10)[0]
    means = counts.reshape(DAYS, 240).mean(axis=0)
    wrong = np.abs(means - MEAN_COUNTS) >= MOST_Z * np.sqrt(MEAN_COUNTS / DAYS)
    halves, expected = (x.reshape(-1, 48, 5).sum(axis=2) for x in (counts, MEAN_COUNTS))
    dispersion = np.mean((halves - expected) ** 2 / expected) - 1
    sd = math.sqrt(np.mean(2 + 1 / expected) / halves.size)
    hourly = means.reshape(24, 10).sum(axis=1)
    faults = {
        "draw all random numbers from `rng`": (
            day != arrivals[: len(day)]
            or (bool(day) and day == _arrivals(submitted, seed + 1, 1))
        ),
        "nobody arrives at time 0": arrivals[:1] == [0.0],
        "": not wrong.any() and abs(dispersion) < MOST_Z * sd,
        "the means are right, but the counts do not vary as Poisson counts": (
            not wrong.any()
        ),
        "the rate is the same in all hours": (np.ptp(hourly) < hourly.max() / 2),
        "the counts are wrong around 8 or 20 o'clock: the rate changes while the"
        " process waits": not (wrong[:70].any() or wrong[110:190].any()),
        "there should be 10 arrivals per hour from 8 to 20 o'clock, else 2, at any"
        " time of an hour": True,
    }
    return next(fault for fault, applies in faults.items() if applies)


def _failures(u: Any, scale: float, shape: float, repair: float) -> Any:
    lifetimes = scale * (-np.log1p(-np.array(u))) ** (1 / shape)
    return np.cumsum(lifetimes) + repair * np.arange(len(lifetimes))


def _served(
    gaps: Any, priorities: Any, works: Any, *, at_service: bool = False
) -> np.ndarray:
    """Return arrivals and departures at one desk with priorities."""
    arrivals = np.cumsum(gaps)
    times = ends(arrivals, works, lambda n, _: priorities[n], at_service=at_service)
    return np.array([arrivals, times])


# ---- lecture 8: input modelling ----


def _service_s(n: int) -> np.ndarray:
    return stream(n, "exercise").gamma(2.0, 300.0, 500)


def _numbered(distinct: Callable[[int], bool]) -> Callable[[Generator], Case]:
    """Return a function that draws n for which common mistakes differ in result."""
    return lambda rng: {
        "n": next(n for n in map(int, rng.integers(10, 10_000, 99)) if distinct(n))
    }


def _d(n: int, family: Any, *parameters: float, side: Any = "two-sided") -> float:
    test = stats.kstest(_service_s(n), family(*parameters).cdf, alternative=side)
    return float(test.statistic)


def _p(n: int, fitted: int, family: Any = stats.gamma) -> float:
    """Return the p of a chi-square test with 20 equiprobable cells; fitted: ddof."""
    x = _service_s(n)
    cdf = family(*family.fit(x, floc=0)).cdf
    cells = np.histogram(cdf(x), 20, range=(0, 1))[0]
    return float(stats.chisquare(cells, ddof=fitted).pvalue)


# ---- lecture 14: rare events ----


def _unseen(probability: float, error: float) -> float:
    """Return the number of replications that miss an event with probability `error`."""
    return math.log(error) / math.log1p(-probability)


def _ends(x: Any, p: float, lower: int = -1, upper: int = 0) -> Any:
    low, high = stats.binom(len(x), p).ppf([0.025, 0.975])
    return np.sort(x)[[int(low) + lower, int(high) + upper]]


def _weight(gaps: Any, works: Any, level: int, load: float, *, first: int = 1) -> float:
    """Return a cycle's importance-sampling weight; first: customers at its start."""
    by_time = np.argsort(np.cumsum([gaps, works], axis=1), axis=None)
    present = 1 + np.where(by_time < len(gaps), 1, -1).cumsum()
    last = present[np.argmax((present == level) | (present == 0))]
    return load ** (level - first) if last == level else 0.0


EXERCISES: dict[str, Exercise] = {
    "5.1": Exercise(
        "The mean waits of ten days are {log} min in the log, and {model} min in a"
        " trace-driven model. What is the half width of the 95 % confidence interval"
        " for the difference?",
        lambda log, model: number(
            lambda: paired_difference(log, model).half_width,
            "min",
            5e-3,
            Mistake(
                lambda: (
                    stats.t.ppf(0.975, 18)
                    * math.hypot(stats.sem(log), stats.sem(model))
                ),
                "that treats the days as different ones; take differences per day",
            ),
            Mistake(
                lambda: 2 * paired_difference(log, model).half_width,
                "that is the whole width; the question is for half",
            ),
            Mistake(
                lambda: 1.96 * stats.sem(np.subtract(log, model)),
                "that is with the normal quantile; ten days need Student's t",
            ),
            Mistake(
                lambda: stats.sem(np.subtract(log, model)), "that is the standard error"
            ),
            Mistake(
                lambda: abs(np.mean(log) - np.mean(model)),
                "that is the difference itself; how precise is it?",
            ),
            way="ten differences: their mean, their standard deviation, Student's t",
        ),
        numbers=lambda rng: {
            "log": (log := rng.uniform(6, 16, 10)).round(1).tolist(),
            "model": (log - rng.uniform(2, 5, 10)).round(1).tolist(),
        },
    ),
    "5.2": Exercise(
        "If the model is right, the rank of the log is 1 or 20 on one day in ten. What"
        " is the probability that this happens on at least {count} of {days} days?",
        lambda count, days: number(
            lambda: stats.binom.sf(count - 1, days, 0.1),
            "a probability",
            2e-3,
            Mistake(
                lambda: stats.binom.sf(count, days, 0.1),
                "that is more than the count; at least includes the count itself",
            ),
            Mistake(
                lambda: stats.binom.pmf(count, days, 0.1),
                "that is exactly the count; the question is for at least the count",
            ),
            Mistake(
                lambda: stats.binom.cdf(count - 1, days, 0.1),
                "that is less than the count",
            ),
            Mistake(
                lambda: stats.binom.sf(count - 1, days, 0.05),
                "that is one of the two ranks; both count",
            ),
            Mistake(
                lambda: 100 * stats.binom.sf(count - 1, days, 0.1),
                "that is in percent",
            ),
            way="which distribution has the number of such days?",
        ),
        numbers=lambda rng: {
            "count": int(rng.integers(3, 6)),
            "days": int(rng.integers(15, 31)),
        },
    ),
    "5.3": Exercise(
        "A process `replay(env, bays, log, waits)`: a trace-driven model of a repair"
        " shop.",
        code(
            "a generator function of env, bays, log and waits",
            drawn(
                lambda rng: {
                    "bays": int(rng.integers(2, 4)),
                    "arrivals": rng.exponential(5, 30).cumsum().tolist(),
                    "fetches": rng.uniform(0, 4, 30).tolist(),
                    "repairs": rng.exponential(8, 30).tolist(),
                }
            ),
            same(
                _repairs,
                Mistake(
                    lambda bays, arrivals, fetches, repairs: (
                        arrivals,
                        waits(arrivals, np.add(fetches, repairs), bays),
                    ),
                    "the wait ends when the repair begins, after fetching",
                ),
                Mistake(
                    lambda bays, arrivals, _, repairs: (
                        arrivals,
                        waits(arrivals, repairs, bays),
                    ),
                    "the part is not fetched",
                ),
                Mistake(
                    lambda _, *case: _repairs(1, *case),
                    "the next job arrives only when the one before has left: start a"
                    " process per job",
                ),
                Mistake(lambda *case: case[1:3], "no job waits for a bay"),
                tried=lambda *case: np.transpose(sorted(_replay(*case))),
            ),
        ),
    ),
    "6.1": Exercise(
        "A good generator takes {tests} independent tests at the level {level}. What is"
        " the probability that at least one of them rejects it?",
        lambda tests, level: number(
            lambda: 1 - (1 - level) ** tests,
            "a probability",
            2e-3,
            Mistake(lambda: (1 - level) ** tests, "that is the probability of none"),
            Mistake(
                lambda: tests * level,
                "that is the mean number of rejections; how likely is none?",
            ),
            Mistake(lambda: level, "that is the probability for one test"),
            Mistake(lambda: 100 - 100 * (1 - level) ** tests, "that is in percent"),
            way="what is the probability that all tests accept it?",
        ),
        numbers=lambda rng: {
            "tests": int(rng.integers(20, 61)),
            "level": float(rng.choice([0.01, 0.015, 0.02])),
        },
    ),
    "6.2": Exercise(
        "A function `pairs(u)` of 2 n numbers: the p-value of the chi-square test of"
        " their pairs in 10 x 10 cells.",
        code(
            "a function of an array",
            drawn(lambda rng: {"u": rng.random(2 * int(rng.integers(150, 1000)))}),
            same(
                _pairs_p,
                Mistake(
                    lambda u: _pairs_p(u, step=1),
                    "these pairs overlap, so they are not independent; use each number"
                    " once",
                ),
                Mistake(
                    lambda u: 1 - _pairs_p(u),
                    "that is the probability of a smaller statistic",
                ),
                Mistake(
                    lambda u: _pairs_p(u, freedom=100),
                    "one degree of freedom too many: the counts add up to n",
                ),
                Mistake(
                    lambda u: stats.chi2.isf(_pairs_p(u), 99),
                    "that is the statistic; the question is for its p-value",
                ),
                Mistake(
                    lambda u: _pairs_p(u, used=lambda counts: counts[counts > 0]),
                    "empty cells count, too",
                ),
                Mistake(
                    lambda u: _pairs_p(u, used=np.trim_zeros), "empty cells count, too"
                ),
            ),
        ),
    ),
    "6.3": Exercise(
        "A process `source(env, a, c, m, x, mean, n, arrivals)`: arrivals with the"
        " numbers of an LCG.",
        code(
            "a generator function",
            drawn(
                lambda rng: {
                    "a": 4 * int(rng.integers(100, 1000)) + 1,
                    "c": 2 * int(rng.integers(100, 1000)) + 1,
                    "m": 2**20,
                    "x": int(rng.integers(1, 2**20)),
                    "mean": rng.uniform(2, 9),
                    "n": int(rng.integers(5, 15)),
                }
            ),
            same(
                _lcg_arrivals,
                Mistake(
                    lambda *case: _lcg_arrivals(*case, skip=0),
                    "the first U comes from the state after x",
                ),
                Mistake(
                    lambda *case: _lcg_arrivals(*case, ln_u=True),
                    "that is -ln(U), which has the right distribution; use 1 - U here",
                ),
                Mistake(
                    lambda *case: _lcg_arrivals(*case) / case[4] ** 2,
                    "the mean is not the rate",
                ),
                tried=lambda submitted, *case: recorded(
                    submitted, Environment(), *case
                ),
            ),
        ),
    ),
    "7.1": Exercise(
        "|Z| by acceptance-rejection from an exponential distribution with mean 1: how"
        " many exponential variates does one accepted variate need on average?",
        number(
            lambda: SMALLEST_C,
            "variates",
            2e-3,
            Mistake(lambda: 1 / SMALLEST_C, "that is the fraction that is accepted"),
            Mistake(
                lambda: 2 * SMALLEST_C,
                "that is the number of uniform numbers; how many exponential variates?",
            ),
            Mistake(
                lambda: math.sqrt(2 / math.pi),
                "that is the ratio of the densities at 0; where is it largest?",
            ),
            Mistake(
                lambda: SMALLEST_C / 2, "the density of |Z| is twice the density of Z"
            ),
            way="where is the ratio of the two densities largest?",
        ),
    ),
    "7.2": Exercise(
        "A process `source(env, rng, arrive)`: Poisson arrivals, 2 per hour, and 10 per"
        " hour from 8 to 20 o'clock.",
        code(
            "a generator function of env, rng and arrive",
            lambda: [{"seed": 7}],
            arrivals_fault,
        ),
    ),
    "7.3": Exercise(
        "A process `machine(env, uniforms, scale, shape, repair, failures)`: Weibull"
        " lifetimes by inversion, and repairs.",
        code(
            "a generator function",
            drawn(
                lambda rng: {
                    "uniforms": rng.random(8).tolist(),
                    "scale": rng.uniform(50, 200),
                    "shape": rng.uniform(1.5, 3),
                    "repair": rng.uniform(1, 9),
                }
            ),
            same(
                _failures,
                Mistake(
                    lambda u, scale, shape, repair: _failures(
                        u, scale, 1 / shape, repair
                    ),
                    "the power is one over the shape",
                ),
                Mistake(
                    lambda u, scale, _, repair: _failures(u, scale, 1, repair),
                    "that is an exponential distribution; where is the shape?",
                ),
                Mistake(
                    lambda u, *case: _failures(np.subtract(1, u), *case),
                    "that is -ln(U), which has the right distribution; use 1 - U here",
                ),
                Mistake(
                    lambda u, scale, shape, _: _failures(u, scale, shape, 0),
                    "during the repair the machine does not work, and cannot fail",
                ),
                Mistake(
                    lambda *case: _failures(*case) + case[3],
                    "append the time of the failure, not of the end of the repair",
                ),
                tried=lambda submitted, *case: recorded(
                    submitted, Environment(), *case
                ),
            ),
        ),
    ),
    "7.4": Exercise(
        "A process `source(env, desk, gaps, priorities, works, served)`: customers with"
        " priorities at one desk, drawn at arrival.",
        code(
            "a generator function",
            drawn(
                lambda rng: {
                    "gaps": rng.exponential(1, 30).tolist(),
                    "priorities": rng.integers(0, 3, 30).tolist(),
                    "works": rng.exponential(0.95, 30).tolist(),
                }
            ),
            same(
                _served,
                Mistake(
                    lambda *case: _served(*case, at_service=True),
                    "the service times are drawn when service begins; draw them at"
                    " arrival",
                ),
                Mistake(
                    lambda gaps, _, works: _served(gaps, [0] * len(gaps), works),
                    "all customers have the same priority",
                ),
                Mistake(
                    lambda gaps, priorities, works: _served(
                        gaps, np.negative(priorities), works
                    ),
                    "the lowest number is served first",
                ),
                tried=lambda source, *case: np.transpose(
                    sorted(
                        filled(
                            source,
                            *system(1, simpy.PriorityResource),
                            *map(iter, case),
                        )
                    )
                ),
            ),
        ),
    ),
    "8.1": Exercise(
        "The service times are `x = stream({n}, 'exercise').gamma(2.0, 300.0, 500)`. An"
        " exponential distribution that begins at 0 is fitted to x by maximum"
        " likelihood. What is the Kolmogorov-Smirnov statistic D?",
        lambda n: number(
            lambda: _d(n, stats.expon, 0, _service_s(n).mean()),
            "a distance",
            2e-3,
            Mistake(
                lambda: _d(n, stats.expon, 0, 600.0),
                "that is with the mean from which x was drawn; estimate it from x",
            ),
            Mistake(
                lambda: _d(n, stats.expon, *stats.expon.fit(_service_s(n))),
                "that estimates the lower end, too; here the distribution begins at 0",
            ),
            Mistake(
                lambda: _d(n, stats.gamma, *stats.gamma.fit(_service_s(n), floc=0)),
                "that is the distance of a gamma distribution",
            ),
            Mistake(
                lambda: _d(n, stats.expon, 0, _service_s(n).mean(), side="greater"),
                "that is the largest distance on one side; consider both sides",
            ),
            way="estimate the mean, and consider both ends of each step of the data",
        ),
        numbers=_numbered(lambda n: abs(_service_s(n).mean() - 600) > 12),
    ),
    "8.2": Exercise(
        "A gamma distribution that begins at 0 is fitted to"
        " `x = stream({n}, 'exercise').gamma(2.0, 300.0, 500)`. What is the p-value of"
        " the chi-square test with 20 cells of equal probability, if each fitted"
        " parameter costs one degree of freedom?",
        lambda n: number(
            lambda: _p(n, 2),
            "a probability",
            5e-3,
            Mistake(
                lambda: _p(n, 0),
                "that has 19 degrees of freedom; each fitted parameter costs one",
            ),
            Mistake(
                lambda: _p(n, 1),
                "that has 18 degrees of freedom; how many parameters were fitted?",
            ),
            Mistake(
                lambda: _p(n, 3),
                "that has 16 degrees of freedom; the lower end was not fitted",
            ),
            Mistake(
                lambda: stats.chi2.isf(_p(n, 2), 17),
                "that is the statistic; the question is for its p-value",
            ),
            Mistake(lambda: 100 * _p(n, 2), "that is in percent"),
            Mistake(
                lambda: 1 - _p(n, 2),
                "that is the probability of a smaller statistic, not of a larger one",
            ),
            Mistake(
                lambda: _p(n, 1, stats.expon), "that is an exponential distribution"
            ),
            way="how many degrees of freedom remain of 20 cells?",
        ),
        numbers=_numbered(lambda n: 0.1 < _p(n, 2) < 0.8),
    ),
    "8.3": Exercise(
        "A process `replay(env, desk, log, waits)`: a trace-driven model of a hotline.",
        code(
            "a generator function of env, desk, log and waits",
            drawn(
                lambda rng: {
                    "agents": int(rng.integers(2, 4)),
                    "arrivals": rng.exponential(4, 30).cumsum().tolist(),
                    "talks": rng.exponential(9, 30).tolist(),
                }
            ),
            same(
                lambda agents, arrivals, talks: waits(arrivals, talks, agents),
                Mistake(
                    lambda _, *log: waits(*log),
                    "the next caller arrives only when the one before has left: start a"
                    " process per caller",
                ),
                Mistake(
                    lambda *case: np.zeros(len(case[1])),
                    "nobody waits: the log has arrival times, not interarrival times;"
                    " and who holds the desk, for how long?",
                ),
                tried=_replay,
            ),
        ),
    ),
    "14.1": Exercise(
        "No event occurs in n independent replications. How large must n be so that a"
        " probability of {probability} or more is ruled out, with {confidence} %"
        " confidence?",
        lambda probability, confidence: number(
            lambda: _unseen(probability, 1 - confidence / 100),
            "replications",
            2e-3,
            Mistake(
                lambda: 1 / probability,
                "with so many, the probability of seeing none is more than a third",
            ),
            *(
                Mistake(
                    lambda chance=chance: _unseen(probability, chance),
                    "that is for another confidence: the rule of three is for 95 %, and"
                    " only one side of an interval is asked for",
                )
                for chance in (0.05, (1 - confidence / 100) / 2)
            ),
            Mistake(
                lambda: _unseen(probability, confidence / 100),
                "so many replications see none with the probability that should be the"
                " confidence",
            ),
            way="with this probability, how likely is it that n replications see none?",
        ),
        numbers=lambda rng: {
            "probability": float(rng.choice([0.002, 0.001, 0.0004, 0.0002, 0.0001])),
            "confidence": int(rng.choice([90, 95, 98, 99])),
        },
    ),
    "14.2": Exercise(
        "A function `interval(x, p)`: the 95 % confidence interval for a quantile.",
        code(
            "a function of an array and a probability",
            drawn(
                lambda rng: {
                    "x": rng.exponential(9, int(rng.integers(100, 500))),
                    "p": float(rng.choice([0.5, 0.75, 0.9])),
                }
            ),
            same(
                _ends,
                Mistake(
                    lambda x, p: _ends(x, p, lower=0),
                    "the lower end: ranks count from 1, indices from 0",
                ),
                Mistake(
                    lambda x, p: _ends(x, p, upper=-1),
                    "the upper end is the value after the rank of 0.975",
                ),
                Mistake(
                    lambda x, _: np.quantile(x, [0.025, 0.975]),
                    "that contains 95 % of the values; how well is the quantile known?",
                ),
                Mistake(
                    lambda x, _: x.mean() + np.array([-1.96, 1.96]) * stats.sem(x),
                    "that is an interval for the mean",
                ),
            ),
        ),
    ),
    "14.3": Exercise(
        "A process `cycle(env, gaps, works, level, load, weights)`: the weight of a"
        " cycle with swapped rates.",
        code(
            "a generator function",
            drawn(
                lambda rng: {
                    "gaps": rng.exponential(1, 300).tolist(),
                    "works": rng.exponential(2, 300).tolist(),
                    "level": int(rng.integers(3, 9)),
                    "load": 0.5,
                }
            ),
            same(
                lambda *case: [_weight(*case)],
                Mistake(
                    lambda *case: [_weight(*case, first=0)],
                    "one customer is present at the start, so that there is one arrival"
                    " fewer",
                ),
                Mistake(lambda *_: [], "nothing is appended to the list `weights`"),
                Mistake(
                    lambda *case: [_weight(*case) or 1 / case[3]],
                    "a cycle that ends without customers has the weight 0",
                ),
                Mistake(
                    lambda *case: [float(_weight(*case) > 0)],
                    "that counts the cycle without its weight",
                ),
                Mistake(
                    lambda gaps, works, level, load: [
                        _weight(gaps, works, level, 1 / load)
                    ],
                    "the weight is the original likelihood over the one with swapped"
                    " rates",
                ),
                tried=lambda cycle, *case: filled(cycle, Environment(), *case),
            ),
        ),
    ),
}
"""Exercises of the lectures on inputs, by number."""
