"""Exercises of lectures 15 and 16: tests of generators, and of programs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from cgrsp_simpy.analysis.queueing import erlang_b, erlang_c
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises.exercise import Case, Exercise, Mistake, code, number, same

Numbers = np.ndarray[Any, Any]

# ---- lecture 15: random numbers and their tests ----

LEVEL, TESTS = 0.01, 30


def _samples() -> list[Case]:
    """Return numbers that fill all cells, and some that leave cells empty."""
    drawn = stream(15, "exercise").random(1000)
    return [{"u": drawn}, {"u": 0.9 * drawn[:200]}]


def _counts(u: Numbers) -> Numbers:
    """Count pairs in 10 x 10 cells."""
    cells = (10 * u.reshape(-1, 2)).astype(int) @ (10, 1)
    return np.bincount(cells, minlength=100)


def _pairs_p(u: Numbers, ddof: int = 0) -> float:
    return float(stats.chisquare(_counts(u), ddof=ddof).pvalue)


def _overlapping(u: Numbers) -> Numbers:
    """Return the pairs of neighbours, also those that share a number."""
    return np.column_stack([u[:-1], u[1:]]).ravel()


# ---- lecture 16: from system to verified program ----

BEDS, LOAD, MOST = np.arange(1, 100), 12.0, 0.01


def _beds(share: Numbers) -> float:
    """Return the fewest beds with a small enough share; share: by number of beds."""
    return float(BEDS[share <= MOST][0])


def _stays() -> list[Case]:
    """Return rows of runs with special cases.

    One within another's stay; at the instant of a departure; never started; together;
    not in order of starts.
    """
    each = (
        [(0, 5), (1, 9), (2, 3), (6, 8)],
        [(0, 5), (5, 7)],
        [(0, 5), (math.nan, 3), (2, 4)],
        [(4, 9), (4, 6), (4, 5)],
        [(8, 9), (0, 3), (1, 2)],
    )
    return [
        {"stays": np.array(own, [("start_s", float), ("finish_s", float)])}
        for own in each
    ]


def _as_if_started(jobs: Numbers) -> Numbers:
    """Treat those that never started as in bed from the beginning."""
    rows = jobs.copy()
    rows["start_s"] = np.nan_to_num(rows["start_s"])
    return rows


def _most_in_bed(jobs: Numbers, side: Any = "right") -> float:
    """side: "left" counts departures at the instant of a start."""
    stays = jobs[~np.isnan(jobs["start_s"])]
    starts, ends = np.sort(stays["start_s"]), np.sort(stays["finish_s"])
    present = np.searchsorted(starts, starts, "right") - np.searchsorted(
        ends, starts, side
    )
    return float(max(present, default=0))


EXERCISES: dict[str, Exercise] = {
    "15.1": Exercise(
        "Thirty independent tests of a right generator at the level 0.01: with what"
        " chance does at least one reject it?",
        number(
            lambda: 1 - (1 - LEVEL) ** TESTS,
            "chance",
            5e-3,
            Mistake(
                lambda: TESTS * LEVEL,
                "that adds up chances of tests that may both reject",
            ),
            Mistake(
                lambda: (1 - LEVEL) ** TESTS, "that is the chance that none rejects"
            ),
            Mistake(
                lambda: TESTS * LEVEL * (1 - LEVEL) ** (TESTS - 1),
                "that is exactly one, not more",
            ),
            Mistake(lambda: LEVEL, "that is one test's; how many are there?"),
            way=(
                "with what chance does one test not reject, and with what chance do all"
                " not?"
            ),
        ),
    ),
    "15.2": Exercise(
        "A function of 2 n numbers: the p-value of the chi-square test of their pairs"
        " in 10 x 10 cells.",
        code(
            "a function of an array",
            _samples,
            same(
                _pairs_p,
                Mistake(
                    lambda u: _pairs_p(_overlapping(u)),
                    "these pairs overlap, so they are not independent; take each number"
                    " once",
                ),
                Mistake(
                    lambda u: 1 - _pairs_p(u), "that is the chance of less, not of more"
                ),
                Mistake(
                    lambda u: _pairs_p(u, -1),
                    "one degree of freedom too many: the counts add up",
                ),
                Mistake(
                    lambda u: stats.chisquare(_counts(u)).statistic,
                    "that is the statistic; the question is for its p-value",
                ),
                *(
                    Mistake(
                        lambda u, left=left: stats.chisquare(left(_counts(u))).pvalue,
                        "cells that are empty are cells, too",
                    )
                    for left in (
                        lambda c: c[c > 0],
                        np.trim_zeros,
                        lambda c: np.trim_zeros(c, "b"),
                    )
                ),
            ),
        ),
    ),
    "16.1": Exercise(
        "Three patients a day stay for 4 days on average, and none can wait: how many"
        " beds, so that at most one in a hundred is sent on?",
        number(
            lambda: _beds(erlang_b(BEDS, LOAD)),
            "beds",
            0.0,
            Mistake(
                lambda: LOAD, "so many beds are taken on average if nobody is sent on"
            ),
            Mistake(
                lambda: _beds(erlang_c(BEDS, LOAD)),
                "that is for patients who wait; here they are sent on",
            ),
            Mistake(
                lambda: _beds(erlang_b(BEDS, 3 / 4)),
                "the load is the rate times the mean stay",
            ),
            way=(
                "Erlang's formula B for several numbers of beds: `cg.queueing.erlang_b`"
            ),
        ),
    ),
    "16.2": Exercise(
        "A function of a run's rows: how many are in bed at the instant at which it is"
        " most?",
        code(
            "a function of a run's rows",
            _stays,
            same(
                _most_in_bed,
                Mistake(
                    lambda jobs: _most_in_bed(jobs, "left"),
                    "one leaves in the instant in which another comes: they were never"
                    " both there",
                ),
                Mistake(
                    lambda jobs: _most_in_bed(_as_if_started(jobs)),
                    "who never started was never in bed, yet has a time of leaving",
                ),
                Mistake(lambda jobs: len(jobs), "that is how many there were at all"),
            ),
        ),
    ),
}
"""Exercises of the lectures on generators and on programs, by number."""
