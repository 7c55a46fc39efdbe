"""The omniscient optimum: the exact minimum cost with full knowledge of the market.

Time is divided into cells at every change of a resource, and work into units: the
greatest common divisor of work, deadline, overhead, writing time and cell lengths, all
whole seconds. A backward dynamic program finds the least cost for each resource, each
region of the checkpoint and each amount of work left. An instance that ends before the
work is done costs the time of one checkpoint, as preemptions are known in advance.

Cells do not change the optimum: for a given sequence of resources, the best times solve
a linear program whose constraints are differences of times, except that on the work. So
at an optimal vertex, all times except one (or two that coincide) are changes of the
market. A time that ends one instance and starts the next can be moved to an edge of its
cell, as the cost is linear. While prices are constant, a whole instance can start
earlier at no cost, so the one time is an end; if prices change, it may be a start.
Hence in a cell an instance is held throughout or not at all, ends (with the work done
or the rest left for later cells), or begins and lasts. All amounts of work are then
whole units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import gcd, isinf
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import scipy

from cgrsp_simpy.base.arrays import Floats, Ints
from cgrsp_simpy.base.checks import require
from cgrsp_simpy.market.series import Series
from cgrsp_simpy.market.zones import HOUR_S, Price, Stretch, Zone
from cgrsp_simpy.spot.job import FREE, Checkpoints, Job, Stay

ON_DEMAND = Zone(
    "on demand", (Stretch(0.0, True),), Series("on demand", 1, 1, True), kept=True
)


# Choices in a cell: an instance is held throughout, ends within, is held until the work
# is done, or is left at once; or there is none.
ON, ENDS, DONE, LEAVES, IDLE = -1, -2, -3, -4, -5


class Optimum(NamedTuple):
    """Minimum cost, and a plan with that cost; inf and () if no plan is in time."""

    cost_usd: float
    plan: tuple[Stay, ...]


class Cell(NamedTuple):
    """A period without a change of the market. from_s: seconds; length: units.

    up, usd: availability and cost per unit of each resource.
    """

    from_s: float
    length: int
    up: tuple[bool, ...]
    usd: tuple[float, ...]


def optimum(
    job: Job,
    zones: Sequence[Zone],
    checkpoints: Checkpoints = FREE,
    on_demand: Zone = ON_DEMAND,
) -> Optimum:
    """Return the minimum cost of the job with full knowledge of the market.

    Raises InputError if there is no zone, or if a time is not in whole seconds.
    """
    require(len(zones) > 0, "zones", zones, "at least one Zone")
    market = Market(job, tuple(zones), checkpoints, on_demand)
    moves_s = (
        move.from_s for place in range(len(zones) + 1) for move in market.changes(place)
    )
    for time_s in (job.work_s, job.deadline_s, job.overhead_s, *moves_s):
        require(float(time_s).is_integer(), "time", time_s, "whole seconds")
    return market.optimum


@dataclass(frozen=True, eq=False)
class Market:
    """The job and the course of its zones, the same for all policies with one seed."""

    job: Job
    zones: tuple[Zone, ...]
    checkpoints: Checkpoints = FREE
    on_demand: Zone = ON_DEMAND

    @cached_property
    def places(self) -> tuple[Zone, ...]:
        """The zones, then on demand, each with a price."""
        dear = replace(self.on_demand, name="on demand", kept=True)
        prices = [self.job.spot_usd_per_h] * len(self.zones) + [
            self.job.on_demand_usd_per_h
        ]
        return tuple(
            zone if zone.prices else replace(zone, prices=(Price(0.0, usd_per_h),))
            for zone, usd_per_h in zip((*self.zones, dear), prices)
        )

    @cached_property
    def regions(self) -> tuple[int, ...]:
        """Region number of each zone, from 0; all are equal if moving is free."""
        names = [
            zone.region if self.checkpoints.moving_usd else "" for zone in self.zones
        ]
        return tuple(list(dict.fromkeys(names)).index(name) for name in names)

    def moving_usd(self, region: int, place: int) -> float:
        """Return the cost of moving the checkpoint from a region to a resource, USD."""
        away = place < len(self.zones) and self.regions[place] != region
        return self.checkpoints.moving_usd if away else 0.0

    def changes(self, place: int) -> list[Stretch | Price]:
        """Return a resource's changes after the start; spot ends at the deadline."""
        zone, last = self.places[place], place == len(self.zones)
        end = (
            []
            if last and zone.stretches[-1].up
            else [Stretch(self.job.deadline_s, last)]
        )
        changes: list[Stretch | Price] = [*zone.stretches[1:], *zone.prices[1:], *end]
        return sorted(changes, key=lambda change: change.from_s)

    @cached_property
    def optimum(self) -> Optimum:
        """The omniscient optimum, computed on first use."""
        return _Program(self).solved()


class _Program:
    """The dynamic program: least cost per row (state) and column (work left, in units).

    Rows: a zone with an instance, or on demand with the checkpoint in a region; then no
    instance, per region. Columns begin at the least possible work.
    """

    def __init__(self, market: Market) -> None:
        job, places = market.job, market.places
        self.market = market
        edges_s = sorted(
            {0, job.deadline_s}
            | {
                change.from_s
                for place in range(len(places))
                for change in market.changes(place)
                if 0 < change.from_s < job.deadline_s
            }
        )
        terms = job.work_s, job.overhead_s, market.checkpoints.write_s
        whole = [int(length) for length in (*terms, *edges_s)]
        self.unit = gcd(*whole)
        self.work, self.overhead, self.write = (
            length // self.unit for length in whole[:3]
        )
        self.edges = [length // self.unit for length in whole[3:]]
        self.cells = [
            Cell(
                one,
                int(other - one) // self.unit,
                tuple(at(place.stretches, one).up for place in places),
                tuple(
                    at(place.prices, one).usd_per_h * self.unit / HOUR_S
                    for place in places
                ),
            )
            for one, other in pairwise(edges_s)
        ]
        self.storing = market.checkpoints.storing_usd_per_h * self.unit / HOUR_S
        self.late_starts = any(len(place.prices) > 1 for place in places)
        zones, regions = len(market.zones), max(market.regions) + 1
        # place and region of each row with an instance; the checkpoint is in region 0
        # at first
        self.rows = [
            *enumerate(market.regions),
            *((zones, region) for region in range(regions)),
        ]
        self.idle = len(self.rows)  # the first row without

    def solved(self) -> Optimum:
        """Return the minimum cost and a plan."""
        left = self.left(len(self.cells))
        value = np.full((self.idle + max(self.market.regions) + 1, len(left)), np.inf)
        values, choices = [value], list[npt.NDArray[np.int16]]()
        for number in reversed(range(len(self.cells))):
            value, choice = self.before(number, values[-1])
            values.append(value)
            choices.append(choice)
        least = float(value[self.idle, 0])
        return Optimum(
            least, () if isinf(least) else tuple(self.plan(values[::-1], choices[::-1]))
        )

    def left(self, number: int) -> Ints:
        """Return the possible work left at an edge, including the overhead left."""
        least = max(1, self.work - self.edges[number])
        return np.arange(least, self.work + self.overhead + 1)

    def before(
        self, number: int, after: Floats
    ) -> tuple[Floats, npt.NDArray[np.int16]]:
        """Return least costs at the start of a cell from those at its end, and choices.

        Choices: with an instance ON, ENDS, DONE or LEAVES; without one IDLE, or the row
        of an instance that begins, plus `idle` if late in the cell.
        """
        cell, left, places = self.cells[number], self.left(number), self.market.places
        size, gone = len(left), int(left[0] - self.left(number + 1)[0])
        value, stored = np.full((len(after), size), np.inf), cell.length * self.storing
        choice = np.full(value.shape, IDLE, np.int16)

        def offer(row: int, usd: Floats, what: int) -> None:
            better = usd < value[row]
            np.copyto(value[row], usd, where=better)
            np.copyto(choice[row], what, where=better)

        for row, (place, region) in enumerate(self.rows):
            if cell.up[place] or places[place].kept:
                usd = cell.usd[place]
                offer(
                    row,
                    _part(after[row], gone - cell.length, size)
                    + cell.length * usd
                    + stored,
                    ON,
                )
                finished = left * (usd + self.storing)
                offer(row, np.where(left <= cell.length, finished, np.inf), DONE)
                offer(
                    row,
                    self.parted(number, after[self.idle + region], usd, self.write)
                    + stored,
                    ENDS,
                )
        for home in range(self.idle, len(after)):
            region = home - self.idle
            offer(home, _part(after[home], gone, size) + stored, IDLE)
            for row, (place, own_region) in enumerate(self.rows):
                closes = places[place].kept and self.cells[max(0, number - 1)].up[place]
                # an instance that will be kept begins as late as possible
                there = cell.up[place] or closes
                if there and (place < len(self.market.zones) or own_region == region):
                    moving = self.market.moving_usd(region, place)
                    offer(home, _part(value[row], self.overhead, size) + moving, row)
                    if self.late_starts and cell.up[place]:
                        late = self.parted(
                            number, after[row], cell.usd[place], self.overhead
                        )
                        offer(home, late + (stored + moving), self.idle + row)
        value[self.idle :, left > self.work] = np.inf
        if not self.write:  # leaving costs nothing
            for row, (_, region) in enumerate(self.rows):
                offer(row, value[self.idle + region], LEAVES)
        return value, choice

    def parted(self, number: int, after: Floats, usd: float, more: int) -> Floats:
        """Return the cost if an instance is held for the best part of a cell.

        It is a minimum over a window, less the price of the work. more: added work.
        """
        left, then = self.left(number), self.left(number + 1)
        least = np.full(int(left[-1] + more - then[0]) + 1, np.inf)
        least[: len(then)] = after - usd * then
        window = min(self.cells[number].length, len(least)) + 1
        least = scipy.ndimage.minimum_filter1d(
            least, window, mode="constant", cval=np.inf, origin=(window - 1) // 2
        )
        return np.asarray(least[-len(left) :] + usd * (left + more))

    # ---- a plan ----

    def plan(
        self, values: Sequence[Floats], choices: Sequence[npt.NDArray[np.int16]]
    ) -> Iterator[Stay]:
        """Yield the stays of a least-cost plan, from the values at cell starts."""
        row, left, from_s = self.idle, self.work, 0.0
        for number, (cell, choice) in enumerate(zip(self.cells, choices)):
            after = values[number + 1]
            least = self.left(number)[0]
            then = self.left(number + 1)[0]
            what, now_s = int(choice[row, left - least]), cell.from_s
            if what == LEAVES:
                yield Stay(self.rows[row][0], from_s, now_s)
                row = self.idle + self.rows[row][1]
                what = int(choice[row, left - least])
            late = what >= self.idle
            if what >= 0:
                row, left, from_s = what % self.idle, left + self.overhead, now_s
                what = ON if late else int(choice[row, left - least])
            if row >= self.idle:
                continue
            place, region = self.rows[row]
            length = left if what == DONE else cell.length
            if late or what == ENDS:  # for the best part of the cell
                to, more = (row, 0) if late else (self.idle + region, self.write)
                most = min(cell.length, left)
                later = _part(after[to], left + more - then - most, most + 1)[::-1]
                costs = np.arange(most + 1) * cell.usd[place] + later
                length = int(costs.argmin())
            if late:
                from_s = now_s = now_s + (cell.length - length) * self.unit
            left -= length
            if what == ENDS or not left:
                yield Stay(place, from_s, now_s + length * self.unit)
                if not left:
                    return
                row, left = self.idle + region, left + self.write


def _part(values: Floats, start: int, size: int) -> Floats:
    part = np.full(size, np.inf)
    first, end = max(start, 0), min(start + size, len(values))
    if first < end:
        part[first - start : end - start] = values[first:end]
    return part


Moment = TypeVar("Moment", Stretch, Price)


def at(course: Sequence[Moment], at_s: float) -> Moment:
    """Return the entry that applies at a time."""
    return max(
        (entry for entry in course if entry.from_s <= at_s),
        key=lambda entry: entry.from_s,
    )
