"""Selection of the best of several systems by Kim and Nelson's procedure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from cgrsp_simpy.base.checks import (
    check_number,
    check_one_of,
    require,
)
from cgrsp_simpy.base.parameters import Positive, TwoOrMore, checked, rule
from cgrsp_simpy.base.table import aligned

Observe = Callable[[str, int], float]
"""System and index of a replication -> observation."""


@dataclass(frozen=True)
class Selection:
    """Selected system and its cost.

    best: the system. means: system -> mean of its observations, in their unit.
    observations: system -> number of observations before its elimination or selection.
    """

    best: str
    means: Mapping[str, float]
    observations: Mapping[str, int]

    def __str__(self) -> str:
        rows = [["", "mean", "observations", ""]]
        for name, value in self.means.items():
            chosen = "selected" if name == self.best else ""
            rows.append([name, f"{value:.4g}", str(self.observations[name]), chosen])
        return "\n".join(line.rstrip() for line in aligned(rows))


@checked
def kim_nelson(
    observe: Observe,
    systems: Annotated[
        Sequence[str],
        rule(
            "at least two different names",
            lambda names: len(set(names)) == len(names) >= 2,
        ),
    ],
    indifference: Positive,
    confidence: float = 0.95,
    first: TwoOrMore = 20,
    better: str = "less",
) -> Selection:
    """Select the system with the best mean, by Kim and Nelson's procedure with c = 1.

    If the best is better than all others by at least `indifference`, it is selected
    with probability `confidence` or more, provided that observations are normal and
    different replications are independent. Systems may share the random numbers of a
    replication. The variances of pairwise differences are estimated from `first`
    observations. Then a system is eliminated as soon as its mean of n is worse than
    another's by more than max(0, (delta / 2 n) (h^2 S^2 / delta^2 - n)), with S^2 of
    the pair, h^2 = 2 eta (first - 1) and eta = ((2 (1 - confidence) / (systems -
    1))^(-2 / (first - 1)) - 1) / 2; the others get another observation.

    observe: function of a system's name and the index of a replication, from 0, that
    returns the observation. indifference: delta, the least relevant difference, in the
    unit of the observations. confidence: above 1 / systems and below 1. better: "less"
    or "more". Raises InputError for an invalid argument, or an observation that is not
    finite. Source: Kim and Nelson (2001), ACM Transactions on Modeling and Computer
    Simulation 11, 251-273.
    """
    check_number("confidence", confidence, above=1 / len(systems))
    require(confidence < 1, "confidence", confidence, "a number below 1")
    check_one_of("better", better, ("less", "more"))
    sign = 1.0 if better == "more" else -1.0

    def seen(system: int, replication: int) -> float:
        value = observe(systems[system], replication)
        check_number(f"observation {replication} of {systems[system]}", value)
        return sign * value

    start = np.array(
        [[seen(system, n) for n in range(first)] for system in range(len(systems))]
    )
    reach = _reach(start, indifference, confidence)
    sums, taken = start.sum(axis=1), np.full(len(systems), first)
    left, n = np.arange(len(systems)), first
    while len(left) > 1 and n <= math.floor(reach.max()):
        means = sums[left] / n
        allowed = (
            indifference / (2 * n) * np.maximum(0.0, reach[np.ix_(left, left)] - n)
        )
        left = left[np.all(means[:, None] >= means - allowed, axis=1)]
        if len(left) > 1:
            sums[left] += [seen(int(system), n) for system in left]
            n += 1
            taken[left] = n
    best = int(left[np.argmax(sums[left])])
    means = dict(zip(systems, (sign * sums / taken + 0.0).tolist()))
    return Selection(systems[best], means, dict(zip(systems, taken.tolist())))


def _reach(start: np.ndarray, indifference: float, confidence: float) -> np.ndarray:
    """Return h^2 S^2 / delta^2 per pair, the number n at which the bound becomes 0."""
    systems, first = start.shape
    eta = ((2 * (1 - confidence) / (systems - 1)) ** (-2 / (first - 1)) - 1) / 2
    variances = (start[:, None] - start).var(axis=2, ddof=1)
    return np.asarray(2 * eta * (first - 1) * variances / indifference**2)
