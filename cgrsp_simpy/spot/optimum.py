"""The omniscient optimum: the least cost of who knows the market to come, exactly.

Time is cut into cells at every change of a zone, and work into units: the greatest common divisor
of work, deadline, overhead and cell lengths, all whole seconds. A dynamic program over cells from
the last to the first finds, for each place of the job and each amount of work left, the least cost.

Why the cells do not cost anything. With the places and their order given, the best times solve a
linear program: its constraints are differences of times, but for one, that of the work. So at an
optimal corner all times but one lie at changes of the market, and, the shift of a whole instance to
the left being free, that one is the end of an instance. In a cell an instance is therefore held
throughout, or not at all, or it ends there: with the work done, or with the rest left for later
cells. All amounts of work are then whole numbers of units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import gcd
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from cgrsp_simpy.spot.market import HOUR_S, Job, Stay, Stretch, Zone

Floats = npt.NDArray[np.float64]


class Optimum(NamedTuple):
    """The least cost, and how it is reached.

    Attributes
    ----------
    cost_usd : float
        Of all instances of the plan.
    plan : tuple of Stay
        Instances that cost that.
    """

    cost_usd: float
    plan: tuple[Stay, ...]


class Cell(NamedTuple):
    """A time without a change of the market. from_s, length: seconds, units. up: by place."""

    from_s: float
    length: int
    up: tuple[bool, ...]


def optimum(job: Job, zones: Sequence[Zone]) -> Optimum:
    """The least cost of the job, with all that is to come known.

    All times are whole seconds; the deadline leaves room for work and one overhead.
    """
    return _Program(job, zones).solved()


@dataclass(frozen=True, eq=False)
class Market:
    """What a run meets: the job, and what its zones do; the same for all policies of a seed."""

    job: Job
    zones: tuple[Zone, ...]

    @property
    def end(self) -> Stretch:
        """After the deadline there is no spot instance."""
        return Stretch(self.job.deadline_s, False)

    @cached_property
    def optimum(self) -> Optimum:
        """The least cost of who knows all that is to come, found when first asked for."""
        return optimum(self.job, self.zones)

    def place_name(self, place: int) -> str:
        """What a listing calls a place."""
        return f"spot in {self.zones[place].name}" if place < len(self.zones) else "on demand"


class _Program:
    """The dynamic program. In its arrays a row is a place where the job has an instance, the last
    of them for none; a column the work left, in units.
    """

    def __init__(self, job: Job, zones: Sequence[Zone]) -> None:
        edges_s = sorted(
            {0, job.deadline_s}
            | {s.from_s for zone in zones for s in zone.stretches if 0 < s.from_s < job.deadline_s}
        )
        whole = [int(each) for each in (job.work_s, job.overhead_s, *edges_s)]
        self.unit = gcd(*whole)
        self.work, self.overhead = (each // self.unit for each in whole[:2])
        self.cells = [
            Cell(one, int(other - one) // self.unit, (*(_up(zone, one) for zone in zones), True))
            for one, other in pairwise(edges_s)
        ]
        self.idle = len(zones) + 1
        prices = [job.spot_usd_per_h] * len(zones) + [job.on_demand_usd_per_h]
        self.usd = [price * self.unit / HOUR_S for price in prices]  # a unit
        self.left = np.arange(self.work + self.overhead + 1)

    def solved(self) -> Optimum:
        """The least cost, and a plan."""
        values = [self.last()]
        for cell in reversed(self.cells):
            values.append(self.before(cell, values[-1]))
        values.reverse()
        return Optimum(float(values[0][self.idle, self.work]), tuple(self.plan(values)))

    def last(self) -> Floats:
        """At the deadline: nothing, if no work is left."""
        value = np.full((self.idle + 1, len(self.left)), np.inf)
        value[:, 0] = 0.0
        return value

    def before(self, cell: Cell, after: Floats) -> Floats:
        """The least cost from the start of a cell on, from that from its end on."""
        value = np.empty_like(after)
        value[self.idle] = after[self.idle]
        for place in range(self.idle):
            value[place] = (
                np.minimum(self.held(cell, after, place), self.ended(cell, after, place))
                if cell.up[place]
                else np.inf
            )
        begun = np.full(len(self.left), np.inf)
        for place in range(self.idle):
            begun[: self.work + 1] = np.minimum(
                begun[: self.work + 1], value[place][self.overhead :]
            )
        begun[0] = 0.0
        return np.asarray(np.minimum(value, np.minimum(begun, value[self.idle])))

    def held(self, cell: Cell, after: Floats, place: int) -> Floats:
        """The cost where an instance is held throughout the cell."""
        value = np.full(len(self.left), np.inf)
        if cell.length < len(value):
            value[cell.length :] = after[place][: len(value) - cell.length]
        value += cell.length * self.usd[place]
        return value

    def ended(self, cell: Cell, after: Floats, place: int) -> Floats:
        """The cost where an instance ends in the cell, after the best length: a minimum over a
        window, once the price of the work is taken out.
        """
        price = self.usd[place] * self.left
        window = min(cell.length, len(self.left) - 1) + 1
        least = scipy.ndimage.minimum_filter1d(
            after[self.idle] - price, window, mode="constant", cval=np.inf, origin=(window - 1) // 2
        )
        return np.asarray(least + price)

    # ---- a plan ----

    def plan(self, values: Sequence[Floats]) -> Iterator[Stay]:
        """Instances that cost the least, from the values at the start of each cell."""
        place, left, held = self.idle, self.work, None
        for cell, after in zip(self.cells, values[1:]):
            if left == 0:
                break
            step = min(self.steps(cell, after, place, left), key=lambda step: step.usd)
            if held is not None and (step.begins or step.place != place):
                yield held
                held = None
            if step.length:
                from_s = held.from_s if held else cell.from_s
                held = Stay(step.place, from_s, cell.from_s + step.length * self.unit)
            place, left = (step.place if step.goes_on else self.idle), step.left
            if held is not None and not step.goes_on:
                yield held
                held = None
        if held is not None:
            yield held

    def steps(self, cell: Cell, after: Floats, place: int, left: int) -> Iterator[_Step]:
        """What can be done in a cell, from a place with an amount of work left."""
        yield _Step(float(after[self.idle, left]), self.idle, 0, left, False, False)
        for other in range(self.idle):
            if not cell.up[other]:
                continue
            for begins in (False, True) if other == place else (True,):
                work = left + begins * self.overhead
                if work > self.work + self.overhead:
                    continue
                if work >= cell.length:
                    usd = cell.length * self.usd[other] + after[other, work - cell.length]
                    yield _Step(float(usd), other, cell.length, work - cell.length, begins, True)
                lengths = np.arange(min(cell.length, work) + 1)
                costs = lengths * self.usd[other] + after[self.idle, work - lengths]
                best = int(costs.argmin())
                yield _Step(float(costs[best]), other, best, work - best, begins, False)


class _Step(NamedTuple):
    """What is done in a cell: its cost and all that comes after, USD; the place, and for how long;
    the work left; whether an instance begins, and whether it goes on at the end of the cell.
    """

    usd: float
    place: int
    length: int
    left: int
    begins: bool
    goes_on: bool


def _up(zone: Zone, at_s: float) -> bool:
    """Whether a zone has spot instances from a time on."""
    stretch: Stretch = max(
        (stretch for stretch in zone.stretches if stretch.from_s <= at_s),
        key=lambda stretch: stretch.from_s,
    )
    return stretch.up
