"""The exercises of lectures 15 and 16: tests of generators, and of programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import stats

from cgrsp_simpy.analysis.queueing import erlang_b, erlang_c
from cgrsp_simpy.exercises.exercise import Exercise, Judge, Mistake, number
from cgrsp_simpy.model.streams import stream

Numbers = np.ndarray[Any, Any]


def function_of(
    right: Callable[[Numbers], float], cases: Iterable[tuple[Numbers, str]], *mistakes: Mistake
) -> Judge:
    """A judge of functions, who runs them on cases, each with what is said of one that fails it.

    mistakes: what a usual one gives for the first case.
    """

    def judge(given: Any) -> str:
        if not callable(given):
            return f"the answer is a function of an array, without calling it, not {given!r}"
        usual = mistakes
        for case, hint in cases:
            try:
                found = float(given(case.copy()))
            except Exception as error:
                return f"the function raises {type(error).__name__}: {error}"
            if not math.isclose(found, right(case), rel_tol=1e-6):
                for mistake in usual:
                    if math.isclose(found, mistake.answer(), rel_tol=1e-6):
                        return mistake.hint
                return hint
            usual = ()
        return ""

    return judge


# ---- lecture 15: random numbers and their tests ----

LEVEL, TESTS = 0.01, 30
SAMPLE = stream(15, "exercise").random(1000)


def _counts(u: Numbers) -> Numbers:
    """Of pairs, in 10 x 10 cells."""
    cells = (10 * u.reshape(-1, 2)).astype(int) @ (10, 1)
    return np.bincount(cells, minlength=100)


def _pairs_p(u: Numbers, ddof: int = 0) -> float:
    return float(stats.chisquare(_counts(u), ddof=ddof).pvalue)


def _overlapping() -> Numbers:
    """The pairs of neighbours, also those that share a number."""
    return np.column_stack([SAMPLE[:-1], SAMPLE[1:]]).ravel()


# ---- lecture 16: from system to verified program ----

BEDS, LOAD, MOST = np.arange(1, 100), 12.0, 0.01


def _beds(share: Numbers) -> float:
    """The fewest with at most so large a share; share: by number of beds."""
    return float(BEDS[share <= MOST][0])


def _stays(*from_to: tuple[float, float]) -> Numbers:
    return np.array(list(from_to), [("start_s", float), ("finish_s", float)])


def _most_in_bed(jobs: Numbers) -> float:
    stays = jobs[~np.isnan(jobs["start_s"])]
    starts, ends = np.sort(stays["start_s"]), np.sort(stays["finish_s"])
    present = np.searchsorted(starts, starts, "right") - np.searchsorted(ends, starts, "right")
    return float(max(present, default=0))


EXERCISES: dict[str, Exercise] = {
    "15.1": Exercise(
        "Thirty independent tests of a right generator at the level 0.01: with what chance does"
        " at least one reject it?",
        number(
            lambda: 1 - (1 - LEVEL) ** TESTS,
            "chance",
            5e-3,
            Mistake(lambda: TESTS * LEVEL, "that adds up chances of tests that may both reject"),
            Mistake(lambda: (1 - LEVEL) ** TESTS, "that is the chance that none rejects"),
            Mistake(
                lambda: TESTS * LEVEL * (1 - LEVEL) ** (TESTS - 1), "that is exactly one, not more"
            ),
            Mistake(lambda: LEVEL, "that is one test's; how many are there?"),
            way="with what chance does one test not reject, and with what chance do all not?",
        ),
    ),
    "15.2": Exercise(
        "A function of 2 n numbers: the p-value of the chi-square test of their pairs in 10 x 10"
        " cells.",
        function_of(
            _pairs_p,
            (
                (
                    SAMPLE,
                    "not yet (p of 1,000 numbers): pairs to cells, cells to counts, chi-square",
                ),
                (0.9 * SAMPLE[:200], "where cells are empty it is off: these are cells, too"),
            ),
            Mistake(
                lambda: _pairs_p(_overlapping()),
                "these pairs overlap, so they are not independent; take each number once",
            ),
            Mistake(lambda: 1 - _pairs_p(SAMPLE), "that is the chance of less, not of more"),
            Mistake(
                lambda: _pairs_p(SAMPLE, -1), "one degree of freedom too many: the counts add up"
            ),
            Mistake(
                lambda: float(stats.chisquare(_counts(SAMPLE)).statistic),
                "that is the statistic; the question is for its p-value",
            ),
        ),
    ),
    "16.1": Exercise(
        "Three patients a day stay for 4 days on average, and none can wait: how many beds, so"
        " that at most one in a hundred is sent on?",
        number(
            lambda: _beds(erlang_b(BEDS, LOAD)),
            "beds",
            0.0,
            Mistake(lambda: LOAD, "so many beds are taken on average if nobody is sent on"),
            Mistake(
                lambda: _beds(erlang_c(BEDS, LOAD)),
                "that is for patients who wait; here they are sent on",
            ),
            Mistake(
                lambda: _beds(erlang_b(BEDS, 3 / 4)), "the load is the rate times the mean stay"
            ),
            way="Erlang's formula B for several numbers of beds: `cg.queueing.erlang_b`",
        ),
    ),
    "16.2": Exercise(
        "A function of a run's rows: how many are in bed at the instant at which it is most?",
        function_of(
            _most_in_bed,
            (
                (_stays((0, 5), (1, 9), (2, 3), (6, 8)), "wrong for stays 0-5, 1-9, 2-3, 6-8 s"),
                (
                    _stays((0, 5), (5, 7)),
                    "one leaves in the instant in which another comes: they were never both there",
                ),
                (
                    _stays((0, 5), (math.nan, 3), (2, 4)),
                    "who never started was never in bed, yet has a time of leaving",
                ),
                (
                    _stays((4, 9), (4, 6), (4, 5)),
                    "several come in the same instant: count them all",
                ),
                (_stays((8, 9), (0, 3), (1, 2)), "the rows need not stand in the order of starts"),
            ),
            Mistake(lambda: 4.0, "that is how many there were at all"),
        ),
    ),
}
"""Exercises of the lectures on generators and on verification, by number."""
