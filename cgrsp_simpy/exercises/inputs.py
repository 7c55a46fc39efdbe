"""Exercises of lectures 9 to 11: input modelling, variates, interrupts."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy import stats

from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises.exercise import Exercise, Mistake, number
from cgrsp_simpy.rental.arrivals import ArrivalRates

# ---- lecture 9: input modelling ----


@cache
def _service_s() -> np.ndarray:
    return stream(9, "exercise").gamma(2.0, 300.0, 500)


def _distance(law: stats.rv_continuous, *parameters: float) -> float:
    """Return the Kolmogorov-Smirnov distance."""
    return float(stats.kstest(_service_s(), law(*parameters).cdf).statistic)


def _one_sided() -> float:
    """Return the greatest excess of the empirical distribution function."""
    x = np.sort(_service_s())
    return float(np.max(np.arange(1, 501) / 500 - stats.expon(0, x.mean()).cdf(x)))


def _chi_square_p(fitted: int, law: stats.rv_continuous = stats.gamma) -> float:
    """Test 20 equally likely cells; fitted: parameters, a degree of freedom each."""
    fit = law(*law.fit(_service_s(), floc=0))
    cells = np.histogram(fit.cdf(_service_s()), 20, range=(0, 1))[0]
    return float(stats.chisquare(cells, ddof=fitted).pvalue)


# ---- lecture 10: variates and streams ----

# of |Z| under an exponential density of mean 1
LEAST_C = math.sqrt(2 * math.e / math.pi)
RATES_PER_H = ((2.0,) * 8 + (10.0,) * 12 + (2.0,) * 4,)  # rates of one day


def _last_h(start_h: float) -> float:
    """Return the arrival of the 500th job, if the run starts at an hour of the day."""
    expected = stream(10, "exercise").standard_exponential(500).cumsum()
    return float(ArrivalRates(RATES_PER_H, start_h).times_s(expected)[-1] / 3600)


def _last_at_one_rate_h(per_h: float) -> float:
    return float(stream(10, "exercise").standard_exponential(500).sum() / per_h)


# ---- lecture 11: interrupts ----

PER_H, RESTART_H, WRITING_H = 1 / 3, 2 / 60, 1 / 60


def _piece_h(length_h: float, restart_h: float = RESTART_H) -> float:
    """Return the expected hours of a piece of work that is lost as a whole.

    The first attempt needs the length, each later one a restart as well.
    """
    again_h = math.expm1(PER_H * (length_h + restart_h)) / PER_H
    return -math.expm1(-PER_H * length_h) * (1 / PER_H + again_h)


def _by_pieces(pieces: int, work_h: float = 4.0, writing_h: float = WRITING_H) -> float:
    """Return the expected hours with a checkpoint after each piece but the last."""
    length_h = work_h / pieces
    return (pieces - 1) * _piece_h(length_h + writing_h) + _piece_h(length_h)


def _best_pieces(work_h: float = 4.0, writing_h: float = WRITING_H) -> float:
    return min(range(1, 200), key=lambda pieces: _by_pieces(pieces, work_h, writing_h))


EXERCISES: dict[str, Exercise] = {
    "9.1": Exercise(
        "An exponential law is fitted to 500 service times. What is the"
        " Kolmogorov-Smirnov distance D?",
        number(
            lambda: _distance(stats.expon, 0, _service_s().mean()),
            "a distance",
            2e-3,
            Mistake(
                lambda: _distance(stats.expon, 0, 600.0),
                "that is with the mean from which x was drawn; fit it to x",
            ),
            Mistake(
                lambda: _distance(stats.expon, *stats.expon.fit(_service_s())),
                "that fits where the law begins as well; here it begins at 0",
            ),
            Mistake(
                lambda: _distance(stats.gamma, *stats.gamma.fit(_service_s(), floc=0)),
                "that is the distance of the gamma law",
            ),
            Mistake(_one_sided, "that is the largest gap on one side; look at both"),
            way=(
                "fit the mean, and compare the law with both ends of each step of the"
                " data"
            ),
        ),
    ),
    "9.2": Exercise(
        "A gamma law is fitted to the same times. What is the p-value of the chi-square"
        " test with 20 equally likely cells, if each fitted parameter takes a degree of"
        " freedom?",
        number(
            lambda: _chi_square_p(2),
            "a probability",
            5e-3,
            Mistake(
                lambda: _chi_square_p(0),
                "that has 19 degrees of freedom; here each fitted parameter takes one",
            ),
            Mistake(
                lambda: _chi_square_p(1),
                "that has 18 degrees of freedom; how many parameters were fitted?",
            ),
            Mistake(
                lambda: _chi_square_p(3),
                "that has 16 degrees of freedom; the place where the law begins was not"
                " fitted",
            ),
            Mistake(
                lambda: 1 - _chi_square_p(2),
                "that is the chance of a smaller statistic; p is that of one as large",
            ),
            Mistake(
                lambda: _chi_square_p(1, stats.expon), "that is the exponential law"
            ),
            Mistake(
                lambda: 2 * _chi_square_p(2),
                "that is doubled; the chi-square test looks at one side alone",
            ),
            way=(
                "how many are expected in each cell, and how many degrees of freedom"
                " are left?"
            ),
        ),
    ),
    "10.1": Exercise(
        "|Z| by rejection from an exponential law of mean 1: how many draws does a kept"
        " one take on average?",
        number(
            lambda: LEAST_C,
            "draws",
            2e-3,
            Mistake(
                lambda: 1 / LEAST_C, "that is the share that is kept; turn it round"
            ),
            Mistake(
                lambda: 2 * LEAST_C,
                "a kept one takes so many uniform numbers; how many exponential draws?",
            ),
            Mistake(
                lambda: math.sqrt(2 / math.pi),
                "that is the ratio of the densities at 0; where is it largest?",
            ),
            Mistake(
                lambda: LEAST_C / 2,
                "the density of |Z| is twice that of Z",
            ),
            way=(
                "where is the ratio of the two densities largest, and how large is it"
                " there?"
            ),
        ),
    ),
    "10.2": Exercise(
        "Two jobs an hour by night, ten by day, from 8:00 on: how many hours after the"
        " start does the 500th job come?",
        number(
            lambda: _last_h(8.0),
            "hours",
            5e-4,
            Mistake(
                lambda: _last_h(0.0), "that starts at midnight; the run starts at 8:00"
            ),
            Mistake(
                lambda: _last_at_one_rate_h(6.0),
                "that is at the mean rate all along; how many jobs are expected until a"
                " time?",
            ),
            Mistake(
                lambda: _last_at_one_rate_h(10.0),
                "that is at the highest rate all along",
            ),
            Mistake(
                lambda: _last_h(8.0) + 8.0,
                "that counts from midnight; the question counts from the start at 8:00",
            ),
            Mistake(lambda: 3600 * _last_h(8.0), "that is in seconds"),
            Mistake(lambda: 60 * _last_h(8.0), "that is in minutes"),
            way="how many jobs are expected from 8:00 until each hour?",
        ),
    ),
    "11.1": Exercise(
        "How many hours does a job of 8 h take without checkpoints, with restarts?",
        number(
            lambda: _piece_h(8.0),
            "hours",
            5e-4,
            Mistake(
                lambda: _piece_h(8.0, 0.0),
                "that is without the time of a restart; each attempt but the first"
                " needs it",
            ),
            Mistake(
                lambda: math.expm1(PER_H * (8.0 + RESTART_H)) / PER_H,
                "the first attempt needs no restart",
            ),
            Mistake(lambda: _piece_h(4.0), "that is for 4 h of work"),
            Mistake(lambda: 60 * _piece_h(8.0), "that is in minutes"),
            Mistake(
                lambda: 2 * _piece_h(4.0),
                "that is twice the time of 4 h, as with a checkpoint in the middle that"
                " is free",
            ),
            way=(
                "E(L) for one piece: what does the first attempt need, what each later"
                " one?"
            ),
        ),
    ),
    "11.2": Exercise(
        "Into how many equal pieces is a job of 4 h cut for the least expected time?",
        number(
            _best_pieces,
            "pieces",
            0.0,
            Mistake(
                lambda: _best_pieces() - 1,
                "so many checkpoints are written; how many pieces are that?",
            ),
            Mistake(
                lambda: _best_pieces(8.0),
                "that is for a job of 8 h",
            ),
            Mistake(
                lambda: _best_pieces(4.0, RESTART_H),
                "that takes the time of a restart for the time of a checkpoint",
            ),
            way="add up E(L) of all pieces, for 1, 2, 3, ... of them",
        ),
    ),
}
"""Exercises of the lectures on inputs, by number."""
