"""Selection of the best of several systems, with a promised chance of being right: Kim
and Nelson's sequential procedure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cgrsp_simpy.base.checks import (
    check_number,
    check_one_of,
    check_whole,
    entries_of,
    require,
)
from cgrsp_simpy.base.table import aligned

Observe = Callable[[str, int], float]
"""From a system and the index of a replication to what it gave."""


@dataclass(frozen=True)
class Selection:
    """Which system was selected, and what it took.

    best: the system. means: system -> mean of its observations, in their unit.
    observations: system -> how many were taken before it was left out, or selected.
    """

    best: str
    means: Mapping[str, float]
    observations: Mapping[str, int]

    def __str__(self) -> str:
        """A line a system: its mean and its observations."""
        rows = [["", "mean", "observations", ""]]
        for name, value in self.means.items():
            chosen = "selected" if name == self.best else ""
            rows.append([name, f"{value:.4g}", str(self.observations[name]), chosen])
        return "\n".join(line.rstrip() for line in aligned(rows))


def kim_nelson(
    observe: Observe,
    systems: Sequence[str],
    indifference: float,
    confidence: float = 0.95,
    first: int = 20,
    better: str = "less",
) -> Selection:
    """Select the system of the best mean, by the procedure of Kim and Nelson with c =
    1.

    Where the best is better than each other by the indifference at least, it is
    selected with the chance `confidence` or more, if observations are normal and those
    of different replications independent. Systems may share the random numbers of a
    replication (common random numbers).

    All systems have `first` observations, of which the variances of the differences of
    pairs are estimated. Then a system is left out as soon as its mean of n is worse
    than another's by more than max(0, (delta / 2 n) (h^2 S^2 / delta^2 - n)), with S^2
    of the pair, h^2 = 2 eta (first - 1) and eta = ((2 (1 - confidence) / (systems -
    1))^(-2 / (first - 1)) - 1) / 2; the others have one observation more.

    Parameters
    ----------
    observe : callable
        Takes the name of a system and the index of a replication, from 0 on, and
        returns the observation.
    systems : sequence of str
        Two or more names.
    indifference : float
        delta, the least difference worth detecting, > 0, in the unit of the
        observations.
    confidence : float
        Promised chance of correct selection, above 1 / systems and below 1.
    first : int
        n0, observations of each system before any is left out, >= 2.
    better : str
        "less" or "more": which mean is best.

    Returns
    -------
    Selection
        The system, and how many observations each took.

    Raises
    ------
    InputError
        For an argument that is not allowed, or an observation that is not finite.

    References
    ----------
    S.-H. Kim and B. L. Nelson, A fully sequential procedure for indifference-zone
    selection in simulation, ACM Transactions on Modeling and Computer Simulation 11
    (2001), 251-273.
    """
    names = entries_of("systems", systems, "a list of names")
    require(
        len(set(names)) == len(names) >= 2,
        "systems",
        names,
        "two or more names that differ",
    )
    check_number("indifference", indifference, above=0)
    check_number("confidence", confidence, above=1 / len(names))
    require(confidence < 1, "confidence", confidence, "a number below 1")
    check_whole("first", first, least=2)
    check_one_of("better", better, ("less", "more"))
    sign = 1.0 if better == "more" else -1.0

    def seen(system: int, replication: int) -> float:
        value = observe(names[system], replication)
        check_number(f"observation {replication} of {names[system]}", value)
        return sign * value

    start = np.array(
        [[seen(system, n) for n in range(first)] for system in range(len(names))]
    )
    reach = _reach(start, indifference, confidence)
    sums, taken = start.sum(axis=1), np.full(len(names), first)
    left, n = np.arange(len(names)), first
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
    means = dict(zip(names, (sign * sums / taken + 0.0).tolist()))
    return Selection(names[best], means, dict(zip(names, taken.tolist())))


def _reach(start: np.ndarray, indifference: float, confidence: float) -> np.ndarray:
    """h^2 S^2 / delta^2 of each pair, in observations: beyond it no distance is
    allowed.
    """
    systems, first = start.shape
    eta = ((2 * (1 - confidence) / (systems - 1)) ** (-2 / (first - 1)) - 1) / 2
    variances = (start[:, None] - start).var(axis=2, ddof=1)
    return np.asarray(2 * eta * (first - 1) * variances / indifference**2)
