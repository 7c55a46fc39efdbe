"""Exercises of lectures 9 to 13: output analysis, queues, comparing, experiments,
variance reduction.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import simpy
from numpy.random import Generator
from scipy import stats

from cgrsp_simpy.analysis.statistics import mean, replications_needed
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises.exercise import Case, Exercise, Mistake, code, number, same


def _drawn(make: Callable[[Generator], Case]) -> Callable[[], list[Case]]:
    """Draw 20 cases at random, the same ones for each answer."""

    def cases() -> list[Case]:
        rng = stream(0, "exercise")
        return [make(rng) for _ in range(20)]

    return cases


def _customers(rng: Generator, number: int = 20, load: float = 0.9) -> dict[str, Any]:
    """Draw interarrival and service times."""
    gaps, works = rng.exponential(10, (2, number))
    return {"gaps": gaps.tolist(), "works": (load * works).tolist()}


def _system(servers: int = 1) -> tuple[simpy.Environment, simpy.Resource]:
    env = simpy.Environment()
    return env, simpy.Resource(env, servers)


def _waits(gaps: Any, works: Any, servers: int = 1) -> np.ndarray:
    """Return waits, first come, first served, by recursion."""
    free, waits = [0.0] * servers, []
    for arrival, work in zip(np.cumsum(gaps), works):
        waits.append(max(free[0] - arrival, 0.0))
        heapq.heapreplace(free, arrival + waits[-1] + work)
    return np.array(waits)


def _responses(gaps: Any, works: Any, servers: int = 1) -> np.ndarray:
    return np.asarray(_waits(gaps, works, servers) + works)


def _half(x: Any, times: float, ddof: int = 1) -> float:
    """Return so many standard errors of the mean."""
    return float(times * np.std(x, ddof=ddof) / math.sqrt(len(x)))


# ---- lecture 9: output analysis ----


def _late(gaps: Any, works: Any, warm_up: float, served: int = 0) -> float:
    """Average the waits of arrivals after the warm-up; served: of services."""
    waits = _waits(gaps, works)
    return float(waits[np.cumsum(gaps) + served * waits >= warm_up].mean())


def _closing(gaps: Any, works: Any, closes: float) -> tuple[int, float, float]:
    """Return the number of arrivals before closing, and last begin and end."""
    inside = int(np.sum(np.cumsum(gaps) <= closes))
    end = np.cumsum(gaps)[inside - 1] + _responses(gaps, works)[inside - 1]
    return inside, end - works[inside - 1], end


def _batches(waits: Any, batches: int, times: float = 0.0, ddof: int = 1) -> Any:
    """Return the interval from batch means; times: standard errors, not Student's."""
    means = np.reshape(waits, (batches, -1)).mean(axis=1)
    half = _half(means, times or stats.t.ppf(0.975, batches - 1), ddof)
    return means.mean() - half, means.mean() + half


EXERCISES: dict[str, Exercise] = {
    "9.1": Exercise(
        "A function `steady(env, desk, gaps, works, warm_up)`: the mean wait of the"
        " customers who arrive at the end of the warm-up or later.",
        code(
            "a function of env, desk, gaps, works and warm_up",
            _drawn(lambda rng: {**_customers(rng), "warm_up": rng.uniform(30, 90)}),
            same(
                _late,
                Mistake(
                    lambda gaps, works, _: _waits(gaps, works).mean(),
                    "that includes the customers of the warm-up",
                ),
                Mistake(
                    lambda *case: _late(*case, 1),
                    "a customer belongs to the warm-up by the time of arrival, not of"
                    " service",
                ),
                Mistake(
                    lambda gaps, works, warm_up: _responses(gaps, works)[
                        np.cumsum(gaps) >= warm_up
                    ].mean(),
                    "that is the time in the system; a wait ends when service begins",
                ),
                Mistake(
                    lambda gaps, works, warm_up: _late(
                        [0.0, *gaps[1:]], works, warm_up
                    ),
                    "the first customer arrives gaps[0] after time 0",
                ),
                tried=lambda given, *case: given(*_system(), *case),
            ),
        ),
    ),
    "9.2": Exercise(
        "A pilot study gave the mean waits {pilot} min of eight days. How many days"
        " are needed in all for a 95 % half width of {percent} % of the mean? (The least"
        " n with t s / √n small enough, t with n - 1 degrees of freedom.)",
        lambda pilot, percent: number(
            lambda: replications_needed(pilot, percent / 100),
            "days",
            0.0,
            Mistake(
                lambda: math.ceil(
                    (100 * 1.96 * np.std(pilot, ddof=1) / percent / np.mean(pilot)) ** 2
                ),
                "that is with the normal quantile; use Student's t",
            ),
            Mistake(
                lambda: math.ceil(
                    (
                        100
                        * stats.t.ppf(0.975, len(pilot) - 1)
                        * np.std(pilot, ddof=1)
                        / percent
                        / np.mean(pilot)
                    )
                    ** 2
                ),
                "that is with the degrees of freedom of the pilot; n days have n - 1",
            ),
            Mistake(
                lambda: replications_needed(pilot, percent / 200),
                "that is for the whole width; the question is for half",
            ),
            Mistake(
                lambda: replications_needed(pilot, percent / 100) - len(pilot),
                "in all, with the eight days of the pilot",
            ),
            way="`replications_needed` takes the pilot and the half width as a share",
        ),
        lambda rng: {
            "pilot": rng.gamma(25, 0.2, 8).round(1).tolist(),
            "percent": int(rng.integers(3, 6)),
        },
    ),
    "9.3": Exercise(
        "A function `closing(env, desk, gaps, works, closes)`: the number of customers"
        " served, and the time at which the last one leaves.",
        code(
            "a function of env, desk, gaps, works and closes",
            _drawn(lambda rng: {**_customers(rng), "closes": rng.uniform(60, 120)}),
            same(
                lambda *case: np.array(_closing(*case))[[0, 2]],
                Mistake(
                    lambda gaps, works, _: np.array(_closing(gaps, works, math.inf))[
                        [0, 2]
                    ],
                    "that serves the customers who come after closing as well",
                ),
                Mistake(
                    lambda gaps, works, closes: (
                        np.sum(np.cumsum(gaps) + _responses(gaps, works) <= closes),
                        closes,
                    ),
                    "those who are inside at closing are served, too",
                ),
                Mistake(
                    lambda *case: (_closing(*case)[0], case[-1]),
                    "the last customer leaves after the doors close",
                ),
                Mistake(
                    lambda *case: np.array(_closing(*case))[[0, 1]],
                    "that is when the last service begins; when does it end?",
                ),
                tried=lambda given, *case: given(*_system(), *case),
            ),
        ),
    ),
    "9.4": Exercise(
        "A function `batch_interval(waits, batches)`: the two ends of the 95 % interval"
        " from batch means.",
        code(
            "a function of a list and a number",
            _drawn(
                lambda rng: {
                    "waits": _waits(*_customers(rng, 60).values()).tolist(),
                    "batches": int(rng.choice([5, 6, 10])),
                }
            ),
            same(
                _batches,
                Mistake(
                    lambda waits, _: (mean(waits).low, mean(waits).high),
                    "that treats the waits as independent; use means of batches",
                ),
                Mistake(
                    lambda *case: _batches(*case, 1.96),
                    "that is with the normal quantile; few batches need Student's t",
                ),
                Mistake(
                    lambda waits, batches: _batches(
                        waits, batches, stats.t.ppf(0.975, batches - 1), 0
                    ),
                    "the standard deviation of a sample divides by n - 1",
                ),
                Mistake(
                    lambda waits, batches: _batches(
                        np.reshape(waits, (-1, batches)).T.ravel(), batches
                    ),
                    "a batch consists of successive waits",
                ),
                within=1e-4,
            ),
        ),
    ),
}
"""Exercises of the lectures on outputs, by number."""
