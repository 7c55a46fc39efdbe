"""Comparison of dispatching orders and placement rules in all combinations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import NamedTuple

from cgrsp_simpy.analysis.statistics import Mean, paired_difference
from cgrsp_simpy.base.checks import check_one_of, require
from cgrsp_simpy.base.table import aligned
from cgrsp_simpy.rental.policies.rules import ListPolicy, Order, PlacementRule
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.compare import Comparison, compare
from cgrsp_simpy.studies.study import failure_lines, interval


def order_by_place(
    scenario: Scenario,
    orders: Mapping[str, Order],
    places: Mapping[str, PlacementRule],
    seeds: Iterable[int],
    executor: Executor | int | None = None,
) -> Grid:
    """Run every order with every placement rule on the same seeds.

    orders, places: callables by name, such as those of `policies.rules`. executor: as
    in `compare`. Raises InputError for no order or placement, or what `compare`
    refuses.
    """
    for name, named in (("orders", orders), ("places", places)):
        valid = isinstance(named, Mapping) and all(map(callable, named.values()))
        require(valid and len(named) > 0, name, named, "one function or more, by name")
    policies = [
        ListPolicy(order, place, _pair(order_name, place_name))
        for order_name, order in orders.items()
        for place_name, place in places.items()
    ]
    return Grid(
        list(orders), list(places), compare(scenario, policies, seeds, executor)
    )


def _pair(order: str, place: str) -> str:
    return f"{order} x {place}"


class Shares(NamedTuple):
    """Difference of two policies, split into two steps.

    total, order, place: paired by seed. The order changes first, under the first
    placement, then the placement, under the second order; both sum to the total.
    """

    total: Mean
    order: Mean
    place: Mean


@dataclass(frozen=True)
class Grid:
    """All combinations of orders and placements.

    orders, places: their names. study: the comparison of all pairs.
    """

    orders: list[str]
    places: list[str]
    study: Comparison

    def values(self, order: str, place: str, figure: str) -> list[float]:
        """Return a figure of a pair by seed; InputError for an unknown name."""
        check_one_of("order", order, self.orders)
        check_one_of("placement", place, self.places)
        return self.study.values(_pair(order, place), figure)

    def shares(
        self, figure: str, first: tuple[str, str], second: tuple[str, str]
    ) -> Shares:
        """Split the difference of two pairs of order and placement into its steps."""
        middle = self.values(second[0], first[1], figure)
        begin, end = self.values(*first, figure), self.values(*second, figure)
        pairs = (end, begin), (middle, begin), (end, middle)
        known = (self.study.independent(*pair) for pair in pairs)
        in_order = bool(self.study.common)
        return Shares(*(paired_difference(a, b, in_order=in_order) for a, b in known))

    def table(self, figure: str) -> str:
        """Format a figure, one line per order: means with 95 % half widths."""
        count, over = self.study.n, self.study.mean_over
        rows = [
            [
                order,
                *(
                    interval(over(self.values(order, place, figure)), count)
                    for place in self.places
                ),
            ]
            for order in self.orders
        ]
        return "\n".join(
            [*failure_lines(self.study), *aligned([[figure, *self.places], *rows])]
        )
