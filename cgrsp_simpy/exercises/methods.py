"""Exercises of lectures 12 to 14: validation, experiments, variance reduction."""

from __future__ import annotations

import math
from functools import cache, partial
from itertools import product

import numpy as np
from scipy import stats

from cgrsp_simpy.analysis.selection import Selection
from cgrsp_simpy.analysis.statistics import mean, paired_difference
from cgrsp_simpy.exercises.exercise import Exercise, Mistake, number
from cgrsp_simpy.exercises.programs import controlled
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.studies.compare import compare, select

# ---- lecture 12: validation ----

LOG_MIN = np.array([12, 9, 14, 8, 11, 10, 13, 9, 12, 12.0])
MODEL_MIN = np.array([11, 8, 14, 6, 10, 10, 11, 8, 11, 11.0])


def _paired_min(deviations: float | None = None) -> float:
    """Return the half width by days; deviations: instead of Student's t."""
    difference = paired_difference(MODEL_MIN, LOG_MIN)
    if deviations is None:
        return difference.half_width
    return deviations * difference.sd / math.sqrt(difference.n)


def _apart_min(freedom: int = 18) -> float:
    """Return the half width of the difference of two independent means."""
    error = math.sqrt((LOG_MIN.var(ddof=1) + MODEL_MIN.var(ddof=1)) / len(LOG_MIN))
    return float(stats.t.ppf(0.975, freedom)) * error


# ---- lecture 13: experiments ----


@cache
def _wait_min() -> dict[tuple[int, float], float]:
    """Return mean waits over five hectic days by slots and persistence."""
    return {
        (slots, persistence_s): (
            mean(
                compare(
                    day("hectic", slots=slots, persistence_s=persistence_s),
                    ["fifo"],
                    range(5),
                ).values("fifo", "wait_min")
            ).mean
        )
        for slots, persistence_s in product((5, 6), (0.0, 7200.0))
    }


def _difference_of_differences_min() -> float:
    wait = _wait_min()
    return (wait[6, 7200.0] - wait[5, 7200.0]) - (wait[6, 0.0] - wait[5, 0.0])


def _main_effect_min(first: tuple[int, float], other: tuple[int, float]) -> float:
    """Return the mean of the two points at the high level, less the other two's."""
    wait = _wait_min()
    high = wait[6, 7200.0] + wait[first]
    return (high - wait[5, 0.0] - wait[other]) / 2


@cache
def _selected() -> Selection:
    return select(day("normal", slots=4), ["fifo", "spt", "lcf"], indifference=0.1)


# ---- lecture 14: variance reduction ----

VARIANCE = (math.e**2 - 1) / 2 - (math.e - 1) ** 2  # of e^U
COVARIANCE = math.e - (math.e - 1) ** 2  # of e^U and e^(1 - U)
WAIT_S = np.array([12, 15, 9, 20, 14.0])
CONTROL_S = np.array([11, 12, 8, 15, 10.0])
KNOWN_S = 10.0


_controlled_s = partial(controlled, WAIT_S, CONTROL_S, KNOWN_S)


def _slope() -> float:
    return float(np.polyfit(CONTROL_S, WAIT_S, 1)[0])


EXERCISES: dict[str, Exercise] = {
    "12.1": Exercise(
        "What is the half width of the 95 % interval of the difference between model"
        " and log, day by day?",
        number(
            _paired_min,
            "min",
            5e-3,
            Mistake(
                _apart_min,
                "that treats the days as different ones; take differences by day",
            ),
            Mistake(
                lambda: 2 * _paired_min(),
                "that is the whole width; the question is for half",
            ),
            Mistake(
                lambda: _paired_min(1.96),
                "that is with the normal quantile; ten days ask for Student's t",
            ),
            Mistake(lambda: _paired_min(1.0), "that is the standard error"),
            Mistake(
                lambda: math.sqrt(0.9) * _paired_min(),
                "the standard deviation of a sample divides by n - 1",
            ),
            Mistake(
                lambda: -paired_difference(MODEL_MIN, LOG_MIN).mean,
                "that is the difference itself; how sure is it?",
            ),
            way=(
                "ten differences, one a day: their mean, their standard deviation,"
                " Student's t"
            ),
        ),
    ),
    "12.2": Exercise(
        "And if the twenty daily means are treated as independent?",
        number(
            _apart_min,
            "min",
            5e-3,
            Mistake(
                _paired_min, "that is by days; here forget that the days are the same"
            ),
            Mistake(
                lambda: _apart_min(9),
                "that is with 9 degrees of freedom; the question says 18",
            ),
            Mistake(
                lambda: 2 * _apart_min(),
                "that is the whole width; the question is for half",
            ),
            Mistake(
                lambda: math.sqrt(0.9) * _apart_min(),
                "the standard deviation of a sample divides by n - 1",
            ),
            Mistake(
                lambda: _apart_min(10**9),
                "that is with the normal quantile; the question says 18 degrees of"
                " freedom",
            ),
            way="the variances of two independent means add up",
        ),
    ),
    "13.1": Exercise(
        "Hectic day, FIFO, seeds 0 to 4: what is the interaction effect of a sixth slot"
        " and persistence on the mean wait, in min?",
        number(
            lambda: _difference_of_differences_min() / 2,
            "min",
            5e-3,
            Mistake(
                _difference_of_differences_min,
                "that is the difference of the differences; the effect is half of it",
            ),
            Mistake(
                lambda: -_difference_of_differences_min() / 2,
                "the sign: the effect of a slot with persistence minus that without",
            ),
            Mistake(
                lambda: _main_effect_min((6, 0.0), (5, 7200.0)),
                "that is the effect of the slot",
            ),
            Mistake(
                lambda: _main_effect_min((5, 7200.0), (6, 0.0)),
                "that is the effect of persistence",
            ),
            Mistake(
                lambda: _difference_of_differences_min() / 4,
                "that is a coefficient of the regression; an effect is twice as much",
            ),
            way="what does a slot change with persistence, and what without it?",
        ),
    ),
    "13.2": Exercise(
        "How many runs does it take to select among FIFO, SPT and LCF, with delta a"
        " tenth of a minute?",
        number(
            lambda: sum(_selected().observations.values()),
            "runs",
            0.0,
            Mistake(
                lambda: max(_selected().observations.values()),
                "so many runs has the selected policy; the others ran, too",
            ),
            Mistake(
                lambda: 3 * max(_selected().observations.values()),
                "policies that have been left out run no more",
            ),
            way="add up the observations of what `cg.select` gives",
        ),
    ),
    "14.1": Exercise(
        "The mean of e^U by antithetic pairs: how many times the runs does the plain"
        " method need?",
        number(
            lambda: VARIANCE / (VARIANCE + COVARIANCE),
            "times",
            5e-3,
            Mistake(
                lambda: 2 * VARIANCE / (VARIANCE + COVARIANCE),
                "a pair costs two runs; compare it with two independent ones",
            ),
            Mistake(
                lambda: (VARIANCE / (VARIANCE + COVARIANCE)) ** 0.5,
                "that is the ratio of the widths; the runs go with its square",
            ),
            Mistake(
                lambda: 1 + COVARIANCE / VARIANCE,
                "that is the variance that is left; turn it round",
            ),
            Mistake(
                lambda: 1 / (1 - (COVARIANCE / VARIANCE) ** 2),
                "that is the ratio of a control variate of this correlation",
            ),
            way="the variance of a pair's mean, beside that of two independent runs",
        ),
    ),
    "14.2": Exercise(
        "What is the controlled mean wait of the five runs, in s?",
        number(
            _controlled_s,
            "s",
            1e-3,
            Mistake(
                lambda: _controlled_s(0.0), "that is the plain mean; use the control"
            ),
            Mistake(
                lambda: _controlled_s(1.0),
                "that takes off the control's whole excess; what is the slope of wait"
                " on control?",
            ),
            Mistake(
                lambda: _controlled_s(-_slope()),
                "the sign: the control was too high, so the wait was, too",
            ),
            Mistake(
                lambda: _controlled_s(_slope() * 5 / 4),
                "covariance and variance with the same divisor, n - 1",
            ),
            Mistake(
                lambda: _controlled_s(1 / float(np.polyfit(WAIT_S, CONTROL_S, 1)[0])),
                "that is by the regression of control on wait; take that of wait on"
                " control",
            ),
            way="the slope of wait on control, times by how much the control was off",
        ),
    ),
}
"""Exercises of the lectures on methods, by number."""
