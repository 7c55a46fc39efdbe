"""Exercises of lectures 5 to 8 and 14: validation, random numbers, inputs, rare events."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import simpy
from numpy.random import Generator
from scipy import stats

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises.exercise import (
    Case,
    Exercise,
    Judge,
    Mistake,
    code,
    number,
    same,
)


def _drawn(
    draw: Callable[[Generator], Case], cases: int = 100
) -> Callable[[], Iterator[Case]]:
    """Return a function that draws the cases, the same ones at each call."""
    return lambda: (draw(stream(n, "exercise")) for n in range(cases))


def _waits(arrivals: Any, works: Any, servers: int = 1) -> np.ndarray:
    """Return the waits in order of arrival, first come, first served."""
    free, waits = [0.0] * servers, []
    for arrival, work in zip(arrivals, works):
        start = max(arrival, heapq.heappop(free))
        heapq.heappush(free, start + work)
        waits.append(start - arrival)
    return np.array(waits)


def _listed(given: Any, *case: Any) -> list[float]:
    """Run a process whose last argument is a list; return the list."""
    env, values = simpy.Environment(), []
    env.process(given(env, *case, values))
    env.run()
    return values


# ---- lecture 6: random numbers ----


def _judge_rejection(tests: int, level: float) -> Judge:
    return number(
        lambda: 1 - (1 - level) ** tests,
        "a probability",
        2e-3,
        Mistake(lambda: (1 - level) ** tests, "that is the probability of none"),
        Mistake(
            lambda: tests * level,
            "that is the mean number of rejections; what is the probability of none?",
        ),
        Mistake(lambda: level, "that is the probability for one test"),
        way="what is the probability that all tests accept it?",
    )


def _pairs_p(
    u: Any, step: int = 2, freedom: int = 99, used: Callable[[Any], Any] = np.asarray
) -> float:
    """Test pairs in 10 x 10 cells; used: selects among the counts."""
    cells = 10 * (10 * u[:-1:step]).astype(int) + (10 * u[1::step]).astype(int)
    counts = used(np.bincount(cells, minlength=100))
    statistic = np.sum((counts - counts.mean()) ** 2) / counts.mean()
    return float(stats.chi2.sf(statistic, freedom - 100 + len(counts)))


def _lcg_arrivals(
    a: int, c: int, m: int, x: int, mean: float, n: int, skip: int = 1, ln_u: bool = False
) -> np.ndarray:
    states = [x]
    while len(states) < n + skip:
        states.append((a * states[-1] + c) % m)
    u = np.array(states[skip:]) / m
    return np.cumsum(-mean * np.log(u if ln_u else 1 - u))


# ---- lecture 7: variates ----

# of |Z| under an exponential density with mean 1
SMALLEST_C = math.sqrt(2 * math.e / math.pi)
PER_H = np.repeat([2.0, 10.0, 2.0], [8, 12, 4])
DAYS, MOST_Z = 1000, 4.5


def _arrivals_fault(given: Any, seed: int) -> str:
    """Test the counts per half hour and their variance between days."""
    env, arrivals = simpy.Environment(), []

    def arrive() -> None:
        arrivals.append(env.now)
        few = len(arrivals) < 3 * DAYS * PER_H.sum()
        require(few, "arrivals", len(arrivals), "about 144 per day")

    env.process(given(env, stream(seed, "exercise"), arrive))
    env.run(24 * DAYS)
    cells = np.histogram(arrivals, np.arange(0, 24 * DAYS + 0.5, 0.5))[0]
    counts, means = cells.reshape(DAYS, 48), np.repeat(PER_H / 2, 2)
    z = (counts.sum(axis=0) - DAYS * means) / np.sqrt(DAYS * means)
    if np.all(np.abs(z) < MOST_Z):
        dispersion = np.mean((counts - means) ** 2 / means)
        sd = math.sqrt(np.mean(2 + 1 / means) / counts.size)
        if abs(dispersion - 1) < MOST_Z * sd:
            return ""
        return "the means are right, but the counts do not vary as Poisson counts"
    if np.ptp(cells.reshape(DAYS, 48).mean(axis=0)) < 0.5:
        return "the rate is the same in all hours"
    if np.all(np.abs(z[22:38]) < MOST_Z) and np.all(np.abs(z[:14]) < MOST_Z):
        return (
            "the counts are wrong around 8 or 20 o'clock: the rate changes while the"
            " process waits"
        )
    worst = int(np.argmax(np.abs(z)))
    return (
        f"the mean count between {worst / 2:g} and {worst / 2 + 0.5:g} o'clock is"
        f" {counts[:, worst].mean():.2f} per day, it should be {means[worst]:g}"
    )


def _lifetimes(uniforms: Any, scale: float, shape: float) -> np.ndarray:
    return scale * (-np.log1p(-np.array(uniforms))) ** (1 / shape)


def _failures(lifetimes: Any, repair: float) -> np.ndarray:
    return np.cumsum(lifetimes) + repair * np.arange(len(lifetimes))


def _served(
    gaps: Any, priorities: Any, works: Any, at_service: bool = False
) -> np.ndarray:
    """Return arrivals and departures at one desk with priorities."""
    arrivals, now, drawn = np.cumsum(gaps), 0.0, iter(works)
    departures = np.zeros(len(gaps))
    waiting = set(range(len(gaps)))
    while waiting:
        now = max(now, min(arrivals[n] for n in waiting))
        present = [n for n in waiting if arrivals[n] <= now]
        n = min(present, key=lambda n: (priorities[n], n))
        waiting.remove(n)
        departures[n] = now = now + (next(drawn) if at_service else works[n])
    return np.array([arrivals, departures])


def _source(given: Any, *case: Any) -> np.ndarray:
    env, served = simpy.Environment(), []
    desk = simpy.PriorityResource(env)
    env.process(given(env, desk, *map(iter, case), served))
    env.run()
    return np.array(sorted(served)).T


# ---- lecture 8: input modelling ----


def _service_s(n: int) -> np.ndarray:
    return stream(n, "exercise").gamma(2.0, 300.0, 500)


def _numbered(distinct: Callable[[int], bool]) -> Callable[[Generator], Case]:
    """Draw n for which usual mistakes differ from the right answer."""
    return lambda rng: {
        "n": next(n for n in map(int, rng.integers(10, 10_000, 99)) if distinct(n))
    }


def _d(n: int, family: Any, *parameters: float) -> float:
    return float(stats.kstest(_service_s(n), family(*parameters).cdf).statistic)


def _judge_d(n: int) -> Judge:
    x = np.sort(_service_s(n))
    below = -np.expm1(-x / x.mean())
    return number(
        lambda: _d(n, stats.expon, 0, x.mean()),
        "a distance",
        2e-3,
        Mistake(
            lambda: _d(n, stats.expon, 0, 600.0),
            "that is with the mean from which x was drawn; estimate it from x",
        ),
        Mistake(
            lambda: _d(n, stats.expon, *stats.expon.fit(x)),
            "that estimates the lower end as well; here the distribution begins at 0",
        ),
        Mistake(
            lambda: _d(n, stats.gamma, *stats.gamma.fit(x, floc=0)),
            "that is the distance of a gamma distribution",
        ),
        Mistake(
            lambda: np.max(np.arange(1, 501) / 500 - below),
            "that is the largest distance on one side; consider both sides",
        ),
        way="estimate the mean, and consider both ends of each step of the data",
    )


def _p(n: int, fitted: int, family: Any = stats.gamma) -> float:
    """Test 20 cells of equal probability."""
    cdf = family(*family.fit(_service_s(n), floc=0)).cdf(_service_s(n))
    cells = np.histogram(cdf, 20, range=(0, 1))[0]
    return float(stats.chisquare(cells, ddof=fitted).pvalue)


def _judge_p(n: int) -> Judge:
    return number(
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
            lambda: 1 - _p(n, 2),
            "that is the probability of a smaller statistic, not of a larger one",
        ),
        Mistake(lambda: _p(n, 1, stats.expon), "that is an exponential distribution"),
        way="how many degrees of freedom remain of 20 cells?",
    )


def _replay(given: Any, arrivals: Any, talks: Any, agents: int) -> list[float]:
    env, waits = simpy.Environment(), []
    desk = simpy.Resource(env, agents)
    env.process(given(env, desk, [*zip(arrivals, talks)], waits))
    env.run()
    return waits


EXERCISES: dict[str, Exercise] = {
    "6.1": Exercise(
        "A good generator takes {tests} independent tests at the level {level}. What is"
        " the probability that at least one of them rejects it?",
        _judge_rejection,
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
            _drawn(lambda rng: {"u": rng.random(2 * int(rng.integers(150, 1000)))}),
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
            _drawn(
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
                tried=_listed,
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
            _arrivals_fault,
        ),
    ),
    "7.3": Exercise(
        "A process `machine(env, uniforms, scale, shape, repair, failures)`: Weibull"
        " lifetimes by inversion, and repairs.",
        code(
            "a generator function",
            _drawn(
                lambda rng: {
                    "uniforms": rng.random(8).tolist(),
                    "scale": rng.uniform(50, 200),
                    "shape": rng.uniform(1.5, 3),
                    "repair": rng.uniform(1, 9),
                }
            ),
            same(
                lambda u, scale, shape, repair: _failures(
                    _lifetimes(u, scale, shape), repair
                ),
                Mistake(
                    lambda u, scale, shape, repair: _failures(
                        _lifetimes(u, scale, 1 / shape), repair
                    ),
                    "the power is one over the shape",
                ),
                Mistake(
                    lambda u, scale, shape, repair: _failures(
                        _lifetimes(u, scale, 1), repair
                    ),
                    "that is an exponential distribution; where is the shape?",
                ),
                Mistake(
                    lambda u, scale, shape, repair: _failures(
                        _lifetimes(np.subtract(1, u), scale, shape), repair
                    ),
                    "that is -ln(U), which has the right distribution; use 1 - U here",
                ),
                Mistake(
                    lambda u, scale, shape, repair: _failures(
                        _lifetimes(u, scale, shape), 0
                    ),
                    "during the repair the machine does not work, and cannot fail",
                ),
                Mistake(
                    lambda u, scale, shape, repair: _failures(
                        _lifetimes(u, scale, shape), repair
                    )
                    + repair,
                    "append the time of the failure, not of the end of the repair",
                ),
                tried=_listed,
            ),
        ),
    ),
    "7.4": Exercise(
        "A process `source(env, desk, gaps, priorities, works, served)`: customers with"
        " priorities at one desk, drawn at arrival.",
        code(
            "a generator function",
            _drawn(
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
                        gaps, [-each for each in priorities], works
                    ),
                    "the lowest number is served first",
                ),
                tried=_source,
            ),
        ),
    ),
    "8.1": Exercise(
        "The service times are `x = stream({n}, 'exercise').gamma(2.0, 300.0, 500)`. An"
        " exponential distribution that begins at 0 is fitted to x by maximum"
        " likelihood. What is the Kolmogorov-Smirnov statistic D?",
        _judge_d,
        numbers=_numbered(lambda n: abs(_service_s(n).mean() - 600) > 12),
    ),
    "8.2": Exercise(
        "A gamma distribution that begins at 0 is fitted to"
        " `x = stream({n}, 'exercise').gamma(2.0, 300.0, 500)`. What is the p-value of"
        " the chi-square test with 20 cells of equal probability, if each fitted"
        " parameter costs one degree of freedom?",
        _judge_p,
        numbers=_numbered(lambda n: 0.1 < _p(n, 2) < 0.8),
    ),
    "8.3": Exercise(
        "A process `replay(env, desk, log, waits)`: a trace-driven model of a hotline.",
        code(
            "a generator function of env, desk, log and waits",
            _drawn(
                lambda rng: {
                    "arrivals": rng.exponential(4, 30).cumsum().tolist(),
                    "talks": rng.exponential(9, 30).tolist(),
                    "agents": int(rng.integers(2, 4)),
                }
            ),
            same(
                _waits,
                Mistake(
                    lambda arrivals, *case: _waits(np.cumsum(arrivals), *case),
                    "the log has times of arrival, not interarrival times",
                ),
                Mistake(
                    lambda arrivals, talks, _: _waits(arrivals, talks),
                    "the next caller arrives only when the one before has left: start a"
                    " process per caller",
                ),
                Mistake(
                    lambda arrivals, *_: np.zeros(len(arrivals)),
                    "nobody waits: who holds the desk, and from when is the wait"
                    " counted?",
                ),
                tried=_replay,
            ),
        ),
    ),
}
"""Exercises of the lectures on inputs, by number."""
