"""Exercises that ask for a function, and those of lectures 17 and 18."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import simpy
from numpy.random import Generator
from scipy import stats

from cgrsp_simpy.analysis.statistics import holm, mean, paired_difference
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises.exercise import Case, Exercise, Mistake, code, number, same


def _drawn(
    make: Callable[[Generator], Case], cases: int = 20
) -> Callable[[], list[Case]]:
    """Draw cases at random, the same ones each time."""

    def cases_made() -> list[Case]:
        rng = stream(0, "exercise")
        return [make(rng) for _ in range(cases)]

    return cases_made


# ---- 1.3, 2.3: events and processes ----


def _ends_s(ready_s: Any, held_s: Any) -> np.ndarray:
    """Return ends of jobs that hold one slot in the order in which they are ready."""
    ends_s, free_s = np.zeros(len(ready_s)), 0.0
    for job in np.argsort(ready_s, kind="stable"):
        ends_s[job] = free_s = max(free_s, ready_s[job]) + held_s[job]
    return ends_s


def _lived_s(life: Any, submit_s: Any, delay_s: Any, work_s: Any) -> np.ndarray:
    """Return the ends of an answer's processes on one slot; NaN for never."""
    env, ends_s = simpy.Environment(), np.full(len(submit_s), math.nan)
    slot = simpy.Resource(env)

    def submitted(job: int) -> Any:
        yield env.timeout(submit_s[job])
        yield env.process(life(env, slot, delay_s[job], work_s[job]))
        ends_s[job] = env.now

    for job in range(len(submit_s)):
        env.process(submitted(job))
    env.run()
    return ends_s


# ---- 4.3, 5.3, 8.3: output analysis ----


def _pairs(rng: Generator) -> Case:
    day = rng.exponential(30, 8)
    return {
        "x": (day + rng.normal(0, 3, 8)).round(1),
        "y": (day + rng.normal(4, 3, 8)).round(1),
    }


def _unpaired(x: Any, y: Any) -> tuple[float, float]:
    found = stats.ttest_ind(x, y).confidence_interval(0.95)
    return found.low, found.high


def _around(x: Any, y: Any, times: float, ddof: int = 1) -> Any:
    off = np.subtract(x, y)
    return np.add(off.mean(), np.array([-times, times]) * off.std(ddof=ddof))


def _left_out(y: Any, power: int = 2, share: float = 0.5) -> int:
    """Apply MSER: minimise the remaining squares over a power of their number."""
    spread = [
        np.var(y[d:]) * (len(y) - d) ** (1 - power)
        for d in range(int(share * len(y)) + 1)
    ]
    return int(np.argmin(spread))


def _curve(rng: Generator) -> Case:
    rising = 10 - 10 * np.exp(-np.arange(60) / rng.uniform(2, 10))
    return {"y": (rising + rng.normal(0, 1, 60)).round(2)}


# ---- 9.3, 10.3, 11.3: inputs ----

_U = (np.arange(50) + 0.5) / 50
SECTIONS_H, EXPECTED = (0, 8, 20, 24), np.array([16.0, 120.0, 8.0])


def _shares(arrivals: Any, days: int) -> list[float]:
    """Return jobs per section of the day, and a day's variance, over expectations."""
    rng = stream(0, "exercise")
    counts = np.array([np.histogram(arrivals(rng), SECTIONS_H)[0] for _ in range(days)])
    return [*counts.mean(axis=0) / EXPECTED, counts.sum(axis=1).var() / EXPECTED.sum()]


def _done_h(work_h: float, every_h: float, failures_h: Any) -> float:
    """Keep only whole pieces if the machine fails."""
    at_h = kept_h = 0.0
    for failure_h in failures_h:
        if at_h + work_h - kept_h <= failure_h:
            break
        kept_h += (failure_h - at_h) // every_h * every_h
        at_h = failure_h
    return at_h + work_h - kept_h


# ---- 14.3: variance reduction ----


def controlled(y: Any, x: Any, known: float, slope: float | None = None) -> float:
    """Return the mean of y with control x, by a slope, or the slope of y on x."""
    slope = np.polyfit(x, y, 1)[0] if slope is None else slope
    return float(np.mean(y) - slope * (np.mean(x) - known))


def _control(rng: Generator) -> Case:
    x = rng.normal(10, 2, 8).round(1)
    return {"y": (2.5 * x + rng.normal(0, 2, 8)).round(1), "x": x, "known": 10.0}


# ---- 17, 18 ----

NEVER_SEEN, TILT = 1e-4, 0.02


def _median_interval(x: Any, low: int = 0, high: int = 0) -> np.ndarray:
    """low, high: error in ranks."""
    first, last = map(int, stats.binom(len(x), 0.5).interval(0.95))
    return np.sort(x)[[first - 1 + low, last + high]]


def _over(gaps_s: Any, works_s: Any, level_s: float) -> float:
    """Return the position of the walk when it exceeds the level."""
    walk_s = np.cumsum(np.subtract(works_s, gaps_s))
    return float(walk_s[walk_s > level_s][0])


def _lowest(x: Any, y: Any) -> float:
    fit, ends = np.polyfit(x, y, 2), (min(x), max(x))
    return float(
        min((*ends, np.clip(_vertex(x, y), *ends)), key=lambda at: np.polyval(fit, at))
    )


def _vertex(x: Any, y: Any) -> float:
    bent, slope, _ = np.polyfit(x, y, 2)
    return float(-slope / bent / 2)


def _least_of_six() -> float:
    """Return by how many sd the least of six normal values is below the mean."""
    at = np.arange(-9, 9, 0.001)
    return -0.006 * float(np.sum(at * stats.norm.pdf(at) * stats.norm.sf(at) ** 5))


EXERCISES: dict[str, Exercise] = {
    "1.3": Exercise(
        "A function `in_order(events)`: the numbers of the events in the order in which"
        " they happen.",
        code(
            "a function of a list of events",
            _drawn(
                lambda rng: {
                    "events": [
                        (*rng.integers((4, 2)).tolist(), event) for event in range(12)
                    ]
                }
            ),
            same(
                lambda events: [
                    each[2] for each in sorted(events, key=lambda each: each[:2])
                ],
                Mistake(
                    lambda events: [
                        each[2] for each in sorted(events, key=lambda each: each[0])
                    ],
                    "events of the same time go by priority before the order of"
                    " scheduling",
                ),
                Mistake(
                    lambda events: [
                        each[2] for each in sorted(events, key=lambda each: each[1])
                    ],
                    "the time counts before the priority",
                ),
                Mistake(
                    lambda events: [
                        each[2]
                        for each in sorted(
                            events, key=lambda each: (*each[:2], -each[2])
                        )
                    ],
                    "of the same time and priority, what was scheduled first happens"
                    " first",
                ),
            ),
        ),
    ),
    "2.3": Exercise(
        "A process `job_process(env, slot, delay_s, work_s)`: a job whose GPU comes"
        " before it asks for the slot.",
        code(
            "a generator function of env, slot, delay_s and work_s",
            _drawn(
                lambda rng: {
                    # all ends differ
                    name: (rng.permutation(1000)[:6] / 10 + k / 7)
                    for k, name in enumerate(("submissions at", "delays", "work"))
                }
            ),
            same(
                lambda submit_s, delay_s, work_s: _ends_s(submit_s + delay_s, work_s),
                Mistake(
                    lambda submit_s, delay_s, work_s: _ends_s(
                        submit_s, delay_s + work_s
                    ),
                    "the slot is held while the GPU is on its way; request it later",
                ),
                Mistake(
                    lambda submit_s, delay_s, work_s: submit_s + delay_s + work_s,
                    "jobs compute at the same time; who holds the slot?",
                ),
                Mistake(
                    lambda submit_s, _, work_s: _ends_s(submit_s, work_s),
                    "a GPU takes its delay to come; the job asks for the slot too"
                    " early",
                ),
                tried=_lived_s,
            ),
        ),
    ),
    "3.3": Exercise(
        "A function `bound_s(gap_s, gap_sd_s, work_s, work_sd_s)`: Kingman's upper"
        " bound of the mean wait.",
        code(
            "a function of two means and two standard deviations",
            _drawn(
                lambda rng: {
                    "mean gap": rng.uniform(10, 20),
                    "its sd": rng.uniform(2, 30),
                    "mean service": rng.uniform(2, 9),
                    "its sd ": rng.uniform(2, 30),
                }
            ),
            same(
                lambda a, sd_a, s, sd_s: (sd_a**2 + sd_s**2) / 2 / (a - s),
                Mistake(
                    lambda a, sd_a, s, sd_s: (sd_a**2 + sd_s**2) / (a - s),
                    "that is twice the bound",
                ),
                Mistake(
                    lambda a, sd_a, s, sd_s: (sd_a + sd_s) / 2 / (a - s),
                    "variances, not standard deviations",
                ),
                Mistake(
                    lambda a, sd_a, s, sd_s: (
                        s * s / (a - s) * (sd_a**2 / a**2 + sd_s**2 / s**2) / 2
                    ),
                    "that is Kingman's approximation in heavy traffic, not the bound",
                ),
            ),
        ),
    ),
    "4.3": Exercise(
        "A function `interval(x, y)`: the 95 % interval of the mean of x - y, from"
        " common seeds.",
        code(
            "a function of two lists",
            _drawn(_pairs),
            same(
                lambda x, y: (
                    paired_difference(x, y).low,
                    paired_difference(x, y).high,
                ),
                Mistake(
                    _unpaired,
                    "that treats the runs as independent; the seeds are common",
                ),
                Mistake(
                    lambda x, y: (
                        paired_difference(y, x).low,
                        paired_difference(y, x).high,
                    ),
                    "the sign: x - y",
                ),
                Mistake(
                    lambda x, y: _around(x, y, 1.96 / len(x) ** 0.5),
                    "that is with the normal quantile; eight pairs ask for Student's t",
                ),
                Mistake(
                    lambda x, y: _around(
                        x, y, stats.t.ppf(0.975, len(x) - 1) / len(x) ** 0.5, ddof=0
                    ),
                    "the standard deviation of a sample divides by n - 1",
                ),
                Mistake(
                    lambda x, y: _around(x, y, stats.t.ppf(0.975, len(x) - 1)),
                    "a mean varies less than its values: by the root of n",
                ),
                within=1e-4,
            ),
        ),
    ),
    "5.3": Exercise(
        "A function `warm_up(y)`: how many values MSER leaves out.",
        code(
            "a function of a list",
            _drawn(_curve),
            same(
                _left_out,
                Mistake(
                    lambda y: _left_out(y, power=1),
                    "that is where the variance is least; MSER divides by the number"
                    " once more",
                ),
                Mistake(
                    lambda y: _left_out(y, power=0),
                    "that is where the sum of squares is least; divide by the number"
                    " squared",
                ),
                Mistake(
                    lambda y: _left_out(y, share=1 - 1 / len(y)),
                    "leave out half at most; of a few values the spread is small by"
                    " chance",
                ),
                Mistake(
                    lambda y: _left_out(y) + 1, "off by one: how many, not which one"
                ),
            ),
        ),
    ),
    "8.3": Exercise(
        "A function `adjusted(p)`: the p-values after Holm's correction, in the order"
        " given.",
        code(
            "a function of a list",
            _drawn(lambda rng: {"p": (rng.random(6) ** 3).round(4).tolist()}),
            same(
                holm,
                Mistake(
                    lambda p: np.minimum(1, len(p) * np.array(p)),
                    "that is Bonferroni's",
                ),
                Mistake(
                    # loads SciPy on use
                    lambda p: stats.false_discovery_control(p),
                    "that is Benjamini and Hochberg's, which bounds another error",
                ),
                Mistake(lambda p: np.sort(holm(p)), "in the order given, not sorted"),
                Mistake(
                    lambda p: np.minimum(
                        1, (len(p) + 1 - stats.rankdata(p)) * np.array(p)
                    ),
                    "a greater p must not become the smaller one: take the running"
                    " maximum",
                ),
            ),
        ),
    ),
    "9.3": Exercise(
        "A function `arrivals(rng)`: the hours at which a day's jobs come, 2 an hour by"
        " night and 10 from 8 to 20 o'clock.",
        code(
            "a function of a random generator",
            lambda: [{"days": 2000}],
            same(
                lambda _: [1.0, 1.0, 1.0, 1.0],
                Mistake(
                    lambda _: [3.0, 0.6, 3.0, 1.0], "that is the mean rate all along"
                ),
                Mistake(
                    lambda _: [5.0, 1.0, 5.0, 240 / 144],
                    "that is the rate by day all along",
                ),
                Mistake(
                    lambda _: [1.0, 1.0, 1.0, 0.0],
                    "every day has the same number of jobs; a Poisson number varies",
                ),
                tried=_shares,
                within=0.15,
            ),
        ),
    ),
    "10.3": Exercise(
        "A function `life_h(u, scale_h, shape)`: a Weibull variate by inversion.",
        code(
            "a function of u, scale_h and shape",
            _drawn(
                lambda rng: {"scale": rng.uniform(1, 9), "shape": rng.uniform(0.5, 3)}
            ),
            same(
                lambda scale, shape: scale * (-np.log(1 - _U)) ** (1 / shape),
                Mistake(
                    lambda scale, shape: scale * (-np.log(1 - _U)) ** shape,
                    "the power is one over the shape",
                ),
                Mistake(
                    lambda scale, _: -scale * np.log(1 - _U), "that is exponential"
                ),
                Mistake(
                    lambda scale, shape: (-np.log(1 - _U)) ** (1 / shape) / scale,
                    "that takes the scale for a rate",
                ),
                tried=lambda given, *law: np.sort(
                    [float(given(u, *law)) for u in _U.tolist()]
                ),
            ),
        ),
    ),
    "11.3": Exercise(
        "A function `done_h(work_h, every_h, failures_h)`: when a job with checkpoints"
        " is done.",
        code(
            "a function of work_h, every_h and failures_h",
            _drawn(
                lambda rng: {
                    "work": 5.7,
                    "a checkpoint every": rng.uniform(0.2, 1.5),
                    "failures at": np.cumsum(rng.exponential(3, 40)).round(2),
                }
            ),
            same(
                _done_h,
                Mistake(
                    lambda work_h, _, failures_h: _done_h(work_h, 1e9, failures_h),
                    "that begins anew after each failure; what the last checkpoint"
                    " holds is kept",
                ),
                Mistake(
                    lambda work_h, *_: work_h,
                    "that loses nothing; the work since the last checkpoint is lost",
                ),
            ),
        ),
    ),
    "14.3": Exercise(
        "A function `controlled(y, x, known)`: the mean of y with the control x.",
        code(
            "a function of two lists and a number",
            _drawn(_control),
            same(
                controlled,
                Mistake(lambda y, *_: np.mean(y), "that is the plain mean"),
                Mistake(
                    lambda y, x, known: controlled(y, x, known, 1.0),
                    "that takes off the control's whole excess; what is the slope of y"
                    " on x?",
                ),
                Mistake(
                    lambda y, x, known: 2 * np.mean(y) - controlled(y, x, known),
                    "the sign: take off what the control's excess explains",
                ),
                Mistake(
                    lambda y, x, known: controlled(
                        y, x, known, np.cov(x, y)[0, 1] / np.var(x)
                    ),
                    "covariance and variance with the same divisor, n - 1",
                ),
                Mistake(
                    lambda y, x, known: controlled(
                        y, x, known, 1 / np.polyfit(y, x, 1)[0]
                    ),
                    "that is by the regression of x on y; take that of y on x",
                ),
            ),
        ),
    ),
    "17.1": Exercise(
        "A function `interval(x)`: the binomial 95 % interval of the median.",
        code(
            "a function of a list",
            _drawn(
                lambda rng: {"x": rng.exponential(40, rng.integers(20, 60)).round(1)}
            ),
            same(
                _median_interval,
                Mistake(
                    lambda x: (mean(x).low, mean(x).high),
                    "that is the interval of the mean",
                ),
                Mistake(
                    lambda x: np.quantile(x, [0.025, 0.975]),
                    "between these lie 95 % of the values; where does the median lie?",
                ),
                *(
                    Mistake(
                        lambda x, off=off: _median_interval(x, *off),
                        "off by one rank: the first is at the 2.5 % point of the"
                        " binomial law, the other one after its 97.5 % point, counted"
                        " from 1",
                    )
                    for off in ((0, -1), (1, 0), (1, 1), (1, -1), (0, 1), (-1, 0))
                ),
            ),
        ),
    ),
    "17.2": Exercise(
        "How many independent runs without a miss rule out a probability of 1 in 10,000"
        " or more, with 95 % confidence?",
        number(
            lambda: math.log(0.05) / math.log1p(-NEVER_SEEN),
            "runs",
            2e-3,
            Mistake(
                lambda: 1 / NEVER_SEEN, "of so many runs, a third or more see none"
            ),
            Mistake(
                lambda: math.log(0.025) / math.log1p(-NEVER_SEEN),
                "that is for 97.5 %; only one side is asked for",
            ),
            Mistake(lambda: 3 / NEVER_SEEN / 60, "runs, not hours"),
            Mistake(
                lambda: math.log(0.95) / math.log1p(-NEVER_SEEN),
                "so many runs see none with a chance of 95 %; it should be 5 %",
            ),
            way="at this probability, what is the chance that n runs see none?",
        ),
    ),
    "17.3": Exercise(
        "A function `weight(gaps_s, works_s, level_s)`: what a tilted walk"
        " contributes.",
        code(
            "a function of two lists and a level",
            _drawn(
                lambda rng: {
                    "gaps": rng.exponential(10, 2000),
                    "services": rng.exponential(12.5, 2000),
                    "level": rng.uniform(20, 80),
                }
            ),
            same(
                lambda *case: math.exp(-TILT * _over(*case)),
                Mistake(
                    lambda *case: math.exp(-TILT * case[-1]),
                    "the weight is taken where the walk is, above the level",
                ),
                Mistake(
                    lambda *case: math.exp(TILT * _over(*case)),
                    "the other way round: the tilted law makes such walks too often",
                ),
                Mistake(lambda *_: 1.0, "that counts the walk, without its weight"),
                Mistake(
                    lambda gaps_s, works_s, _: math.exp(
                        -TILT * (summed(works_s) - summed(gaps_s))
                    ),
                    "stop where the walk gets over the level for the first time",
                ),
            ),
        ),
    ),
    "18.1": Exercise(
        "Six equally good choices, a standard error of half a minute: how much too low"
        " is the least mean on average, in min?",
        number(
            lambda: _least_of_six() / 2,
            "min",
            5e-3,
            Mistake(_least_of_six, "that is in standard errors"),
            Mistake(
                lambda: 0.5, "that is the error of one choice; this is the least of six"
            ),
            Mistake(
                lambda: 0.5 / 6**0.5,
                "that is the error of the mean of all six; take the least",
            ),
            Mistake(lambda: 30 * _least_of_six(), "in minutes, not in seconds"),
            Mistake(lambda: -_least_of_six() / 2, "the sign: how much too low"),
            way=(
                "the expected least of six standard normal values, by a formula or by"
                " drawing them"
            ),
        ),
    ),
    "18.2": Exercise(
        "A function `lowest(x, y)`: where the fitted parabola is lowest.",
        code(
            "a function of two lists",
            _drawn(
                lambda rng: {
                    "x": rng.random(5).round(2),
                    "y": rng.normal(0, 1, 5).round(2),
                }
            ),
            same(
                _lowest,
                Mistake(
                    _vertex,
                    "look between the least and the greatest x, at the ends as well",
                ),
                Mistake(
                    lambda x, y: np.clip(_vertex(x, y), min(x), max(x)),
                    "a parabola that opens downwards is lowest at one of the ends",
                ),
                Mistake(
                    lambda x, y: x[np.argmin(y)],
                    "that is the lowest point, not where the parabola is lowest",
                ),
                within=1e-4,
            ),
        ),
    ),
}
"""Exercises that ask for a function, and those of lectures 17 and 18, by number."""
