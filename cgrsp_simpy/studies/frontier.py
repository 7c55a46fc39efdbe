"""What wait and misses can be had together: a lower bound on every mix of the two at once (ours).

For each price w of a per cent missed, in minutes of mean wait, the linear program gives b(w): no
policy has less of wait + w misses. So for a policy of mean wait x, misses are at least the
greatest (b(w) - x) / w over the prices. Each b is a mean over the same seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import combinations
from math import inf

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean, mean
from cgrsp_simpy.model.checks import check_number, entries_of, require
from cgrsp_simpy.rental.bounds import Weights
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.gaps import BIN_S, lower_bounds
from cgrsp_simpy.studies.replicate import check_seeds

PRICES = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, inf)
"""Of a per cent missed, minutes of mean wait; infinity: misses alone."""


@dataclass(frozen=True)
class Frontier:
    """Half planes of wait and misses that every policy lies in.

    scenario: of which it is. seeds: of the arrivals. bin_s: seconds between knots of the prices.
    least: price of a per cent missed, in minutes -> the least wait + price x misses, minutes, one a
    seed; at price infinity the least misses, per cent.
    """

    scenario: Scenario
    seeds: tuple[int, ...]
    bin_s: float
    least: dict[float, list[float]]

    @property
    def means(self) -> dict[float, Mean]:
        """The means over the seeds, with their intervals."""
        return {price: mean(values) for price, values in self.least.items()}

    @property
    def corners(self) -> dict[str, list[tuple[float, float]]]:
        """Wait in minutes and misses in per cent at which the bound turns, shortest wait first: of
        the means, and of the low and the high ends of their 95 % intervals.
        """
        means = self.means
        return {
            "bound": _corners({price: own.mean for price, own in means.items()}),
            "low": _corners({price: max(0.0, own.low) for price, own in means.items()}),
            "high": _corners({price: own.high for price, own in means.items()}),
        }

    def miss_pct(self, wait_min: float) -> float:
        """The least misses of a policy of such a mean wait.

        wait_min: minutes. Result: per cent; infinite where no policy waits so little.
        """
        found = 0.0
        for price, value in ((price, mean(own).mean) for price, own in self.least.items()):
            if price == 0:
                found = inf if wait_min < value else found
            else:
                found = max(found, value if price == inf else (value - wait_min) / price)
        return found


def _corners(least: dict[float, float]) -> list[tuple[float, float]]:
    lines = [_line(price, value) for price, value in least.items()] + [(0.0, 1.0, 0.0)]
    meets = [_meet(one, other) for one, other in combinations(lines, 2)]
    found: list[tuple[float, float]] = []
    for corner in sorted(each for each in meets if each is not None and _allowed(each, lines)):
        if not found or not np.allclose(corner, found[-1], rtol=1e-9, atol=1e-9):
            found.append(corner)  # where three lines meet, one corner
    return found


Line = tuple[float, float, float]
"""a, b and c of a half plane, a wait + b misses >= c."""


def _line(price: float, least: float) -> Line:
    return (0.0, 1.0, least) if price == inf else (1.0, price, least)


def _meet(one: Line, other: Line) -> tuple[float, float] | None:
    (a, b, c), (d, e, f) = one, other
    steep = a * e - b * d
    return None if steep == 0 else ((c * e - b * f) / steep, (a * f - c * d) / steep)


def _allowed(point: tuple[float, float], lines: Sequence[Line]) -> bool:
    return all(a * point[0] + b * point[1] >= c - 1e-9 * max(1.0, c) for a, b, c in lines)


def frontier(
    scenario: Scenario,
    seeds: Iterable[int],
    executor: Executor | int | None = None,
    *,
    prices: Sequence[float] = PRICES,
    bin_s: float = BIN_S,
) -> Frontier:
    """The least misses at every mean wait, that no policy can be below.

    scenario: as of `lower_bound`. seeds, executor: as of `compare`. prices: of a per cent missed,
    in minutes of mean wait, >= 0, each once; infinity for misses alone. bin_s: as of `lower_bound`.
    Result: from a bound a price and seed, of which each takes seconds to minutes. Raises InputError
    for what is not allowed, or a scenario that has no bound.
    """
    numbers = entries_of("prices", prices, "a list of numbers")
    for price in numbers:
        if price != inf:
            check_number("price", price, least=0)
    require(len(numbers) == len(set(numbers)) > 0, "prices", numbers, "several, each once")
    chosen = check_seeds(seeds)
    objectives = [Weights(miss=1) if price == inf else Weights(1, price) for price in numbers]
    found = lower_bounds(scenario, objectives, chosen, executor, bin_s)
    values = [[bound.value for bound in own] for own in found]
    return Frontier(scenario, tuple(chosen), bin_s, dict(zip(numbers, values)))
