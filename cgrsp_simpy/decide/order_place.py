"""Orders and placements compared apart: whose merit is a policy's, what it runs next or
where it puts it?
"""

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
from cgrsp_simpy.studies.study import failures_told, interval


def order_by_place(
    scenario: Scenario,
    orders: Mapping[str, Order],
    places: Mapping[str, PlacementRule],
    seeds: Iterable[int],
    executor: Executor | int | None = None,
) -> Grid:
    """Run every order with every placement, all on the same seeds.

    scenario: of rented slots. orders, places: callables of `policies.rules`, or own
    ones, by name. seeds: of the runs. executor: as in `compare`. Result: the study, and
    each policy's merit by order and placement. Raises InputError for no order or
    placement, or what `compare` refuses.
    """
    for name, named in (("orders", orders), ("places", places)):
        made = isinstance(named, Mapping) and all(map(callable, named.values()))
        require(made and len(named) > 0, name, named, "one function or more, by name")
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
    """The difference of two policies, in two steps.

    total, order, place: paired by seed. The order is changed first, under the first
    placement, and then the placement, under the second order; the two sum to the total.
    """

    total: Mean
    order: Mean
    place: Mean


@dataclass(frozen=True)
class Grid:
    """Orders by placements.

    orders, places: their names. study: of all pairs.
    """

    orders: list[str]
    places: list[str]
    study: Comparison

    def values(self, order: str, place: str, figure: str) -> list[float]:
        """A figure of a pair by seed; InputError for an unknown name."""
        check_one_of("order", order, self.orders)
        check_one_of("placement", place, self.places)
        return self.study.values(_pair(order, place), figure)

    def shares(
        self, figure: str, first: tuple[str, str], second: tuple[str, str]
    ) -> Shares:
        """How far the second policy's difference from the first is its order's; both
        are an order and a placement.
        """
        middle = self.values(second[0], first[1], figure)
        begin, end = self.values(*first, figure), self.values(*second, figure)
        pairs = (end, begin), (middle, begin), (end, middle)
        known = (self.study.independent(*pair) for pair in pairs)
        in_order = bool(self.study.common)
        return Shares(*(paired_difference(a, b, in_order=in_order) for a, b in known))

    def table(self, figure: str) -> str:
        """A line an order, a column a placement: means with 95 % half widths."""
        count, over = self.study.n, self.study.mean_over
        rows = [
            [
                order,
                *(
                    interval(over(self.values(order, each, figure)), count)
                    for each in self.places
                ),
            ]
            for order in self.orders
        ]
        return "\n".join(
            [*failures_told(self.study), *aligned([[figure, *self.places], *rows])]
        )
