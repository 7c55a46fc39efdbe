"""Costs and slot occupation of dispatches in discrete time steps.

Each value of a step is a lower bound for every time in the step: a job may be
dispatched from the start of the step of its submission; misses and tardiness are those
of a dispatch at the start of the step, with the deadline rounded up to a whole step;
wait and price are the smaller of the values at both ends, minus a margin. The price of
a dispatch at t is the sum over step edges b of (p before b - p after b) K(b - t), where
K(u) = E min(L, u) is concave in u >= 0. If prices fall, the minimum within a step is at
one of its ends; if they rise by r, it is below both ends by at most r h / 4 (P(L > b -
t - h) - P(L > b - t)), where t is the start of the step and h its length. After the
horizon prices are 0, and each job gets the stock with the least cost. L is truncated at
a value that S exceeds with a probability of 1 in 1000, which lowers P(L > u), as does
rounding measured times down to levels (`occupation`). If the probabilities of the stock
change within a step, the step is listed with both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.decide.occupation import HoldTimes, levels_of, longest_execution_s
from cgrsp_simpy.market.gpu import GpuType
from cgrsp_simpy.market.stock import DAY_S, Stock
from cgrsp_simpy.rental.job import Draws, Job
from cgrsp_simpy.rental.scenario import Scenario

STEP_S = 10.0
MOST_STEPS = 30_000  # steps per horizon: three and a half days of STEP_S
AFTER_S = 1e-6  # after which a change of the clock is certain despite rounding
# probabilities of a known status
KNOWN = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class Units(NamedTuple):
    """Cost of a second of wait, a miss, a second of tardiness and a USD of rent.

    weighed: whether a job's weight multiplies the costs of its wait, miss and
    tardiness. constant: constant cost that does not depend on the jobs.
    """

    wait: float
    miss: float
    late: float
    rent: float = 0.0
    weighed: bool = False
    constant: float = 0.0


class Group(NamedTuple):
    """Jobs of one level with similar submission times and deadlines.

    submit_s, deadline_s: means over the jobs, seconds. c: index of the level.
    """

    submit_s: float
    deadline_s: float
    c: int
    jobs: int = 1


class StockChances:
    """Probabilities of High, Medium and Low stock of each type, over time.

    The stock of some types persists or is replayed: its path, and so its status at any
    time, is known. kinds: all probabilities that a type can have. possible: those of
    each type. hours_s: times of day at which the clock changes them, seconds after
    time 0.
    """

    def __init__(self, scenario: Scenario, seed: int) -> None:
        market, self.gpus = scenario.market, scenario.types
        self._market, self._stock = market, Stock(market, seed)
        replayed = {series.gpu for series in market.series}
        self._known = {
            gpu
            for gpu in self.gpus
            if gpu.name in replayed or market.holding(gpu.name).persistence_s > 0
        }
        self.hours_s = [
            3600 * (hour - market.clock.start_h) % DAY_S for hour in market.change_hours
        ]
        self.possible = [
            KNOWN
            if gpu in self._known
            else [self.of(gpu, at_s + AFTER_S) for at_s in self.hours_s]
            for gpu in self.gpus
        ]
        self.kinds = list(dict.fromkeys(chain.from_iterable(self.possible)))

    def of(self, gpu: GpuType, at_s: float) -> tuple[float, ...]:
        """Return the probabilities of a type at a time."""
        if gpu in self._known:
            return KNOWN[self._stock.status(gpu, at_s, 0.0)]
        return self._market.probabilities(gpu, at_s)

    def kinds_at(self, at_s: float) -> tuple[int, ...]:
        """Return the index in `kinds` of each type's probabilities at a time."""
        return tuple(self.kinds.index(self.of(gpu, at_s)) for gpu in self.gpus)

    def changes_s(self, end_s: float) -> set[float]:
        """Return the times up to end_s at which the stock of a type changes."""
        return {
            at_s for gpu in self.gpus for at_s in self._stock.changes_s(gpu, 0.0, end_s)
        }

    def clock_changes(self, end_s: float, step_s: float) -> list[int]:
        """Return the steps up to end_s in which the clock changes any probability."""

        def by_clock(at_s: float) -> list[tuple[float, ...]]:
            return [self._market.probabilities(gpu, at_s) for gpu in self.gpus]

        return sorted(
            {
                int((day_s + at_s + AFTER_S) / step_s)
                for day_s in np.arange(0.0, end_s, DAY_S).tolist()
                for at_s in self.hours_s
                if AFTER_S < day_s + at_s < end_s
                and by_clock(at_s - AFTER_S) != by_clock(at_s + AFTER_S)
            }
        )


class Dispatches:
    """Dispatches on a grid of time steps, up to step `end`.

    A step in which the stock's probabilities change appears once per version: `steps`
    contains the step, `kind` an index of the probabilities per type. Step `end`
    represents all later times: any probabilities may hold, and no slot is used.

    jobs: one Group per job. slots: number of slots per pool. pool: per type, the pool
    of its slots. changes: steps in which the clock changes the stock's probabilities.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        drawn: Sequence[tuple[Job, Draws]],
        units: Units,
        step_s: float,
        steps_per_bin: int = 1,
        end_s: float | None = None,
    ) -> None:
        self.units, self.step_s = units, step_s
        gpus, terms = scenario.types, scenario.terms
        self.pool = [0] * len(gpus) if scenario.free_types else list(range(len(gpus)))
        sizes = (
            [len(scenario.slots)]
            if scenario.free_types
            else map(scenario.slots.count, gpus)
        )
        self.slots = np.array(list(sizes), float)
        self.levels, levels = levels_of(scenario, drawn, units.weighed)
        self.jobs = [
            Group(job.submit_s, job.deadline_s, c) for (job, _), c in zip(drawn, levels)
        ]
        longest_s, most_s = longest_execution_s(gpus, self.levels), MOST_STEPS * STEP_S
        last_s = self.jobs[-1].submit_s
        allowed = f"at most {most_s / 3600:.0f} h for a bound"
        for name, value_s in (
            ("last submission", last_s),
            ("longest execution", longest_s),
        ):
            require(value_s <= most_s, name, f"{value_s / 3600:.1f} h", allowed)
        chances = StockChances(scenario, seed)
        none = terms.warm_s > 0 or terms.retry_s is not None
        delays_s = ((0.0, 0.0),) * 3 if none else scenario.market.delay_s
        self.holds = HoldTimes(gpus, self.levels, delays_s, step_s, chances.kinds)
        if end_s is None:
            bin_s = steps_per_bin * step_s
            end_s = bin_s * self._bins(bin_s, chances)
        self.end = math.ceil(end_s / step_s - AFTER_S)
        self.changes = chances.clock_changes(end_s, step_s)
        pieces = sorted(self._pieces(chances, end_s))
        self.steps, self.kind = map(np.array, zip(*pieces))

    def _pieces(
        self, chances: StockChances, end_s: float
    ) -> set[tuple[int, tuple[int, ...]]]:
        """Return each step with the kinds of probabilities of the types in it."""
        begins = [(step, step * self.step_s) for step in range(self.end)]
        moments = [
            *((int(at_s / self.step_s), at_s) for at_s in chances.changes_s(end_s)),
            *begins,
            *((step, at_s + AFTER_S) for step, at_s in begins),
        ]
        # after the horizon, any probabilities may hold
        last = [
            [possible[number % len(possible)] for possible in chances.possible]
            for number in range(max(map(len, chances.possible)))
        ]
        return {(step, chances.kinds_at(at_s)) for step, at_s in moments} | {
            (self.end, tuple(map(chances.kinds.index, of_types))) for of_types in last
        }

    def _bins(self, bin_s: float, chances: StockChances) -> int:
        """Return the number of bins in which half of the slots would serve all jobs.

        No slot idles while jobs wait. The limit is 2 MOST_STEPS, or the last arrival if
        that is later.
        """
        holds, types = self.holds, list(range(len(self.pool)))
        shares = np.bincount([job.c for job in self.jobs]) / len(self.jobs)
        arrived = np.bincount([int(job.submit_s / bin_s) for job in self.jobs]).tolist()
        left, bins = 0.0, 0
        most = 2 * MOST_STEPS * STEP_S / bin_s
        while bins < len(arrived) or (left > 0 and bins < most):
            kinds = chances.kinds_at(bins * bin_s + AFTER_S)
            held_s = shares @ holds.mean_s[:, types, kinds]
            least_s = [
                held_s[np.array(self.pool) == pool].min()
                for pool in range(len(self.slots))
            ]
            served = bin_s * float(np.sum(self.slots / least_s)) / 2
            left = max(0.0, left + sum(arrived[bins : bins + 1]) - served)
            bins += 1
        return bins

    def at(self, job: Group, g: int, v: int, steps: np.ndarray) -> np.ndarray:
        """Return the costs of dispatches at the start of steps, without slot prices."""
        holds, units, c = self.holds, self.units, job.c
        slack = math.ceil(job.deadline_s / self.step_s) - steps
        wait_s = np.maximum(0.0, steps * self.step_s - job.submit_s) + holds.delay_s[v]
        usd = units.wait * wait_s + units.miss * holds.miss(c, g, v, slack)
        usd += units.late * holds.late_s(c, g, v, slack)
        return np.asarray(
            self.levels[c].weight * usd + units.rent * holds.rent_usd[c, g]
        )

    def least(self, price: np.ndarray) -> np.ndarray:
        """Return lower bounds on the cost of wait since time 0, rent and slot price.

        They hold for dispatches within a step; shape (levels, entries of `steps`,
        types). price: per slot-second, by pool and step before `end`.
        """
        holds, units = self.holds, self.units
        least = np.empty((len(self.levels), *self.kind.shape))
        start_s = np.arange(self.end + 2) * self.step_s
        for c, g in np.ndindex(holds.rent_usd.shape):
            paid_per_s = np.concatenate([price[self.pool[g]], np.zeros(holds.last + 1)])
            rise = np.maximum(0.0, np.diff(paid_per_s))
            weight = self.levels[c].weight
            for v in set(self.kind[:, g].tolist()):
                paid = np.convolve(
                    paid_per_s, np.diff(holds.held_s[c, g, v])[::-1], "valid"
                )
                paid += units.wait * weight * (start_s + holds.delay_s[v])
                lost = np.convolve(rise, -np.diff(holds.beyond[c, g, v])[::-1], "valid")
                lesser = np.minimum(paid[:-1], paid[1:]) - self.step_s / 4 * lost
                there = self.kind[:, g] == v
                cost = lesser + units.rent * holds.rent_usd[c, g]
                least[c, there, g] = cost[self.steps[there]]
        return least

    def costs(self, least: np.ndarray, job: Group) -> tuple[int, np.ndarray]:
        """Return a job's first index in `steps`, and bounds on its costs from there.

        The lower bounds have shape (remaining entries of `steps`, types). least: result
        of `least`.
        """
        holds, units, weight = self.holds, self.units, self.levels[job.c].weight
        first = int(np.searchsorted(self.steps, int(job.submit_s / self.step_s)))
        cost: np.ndarray = least[job.c, first:] - units.wait * weight * job.submit_s
        v, types = self.kind[first:], np.arange(cost.shape[1])
        slack = math.ceil(job.deadline_s / self.step_s) - self.steps[first:, None]
        if units.miss:
            cost = cost + units.miss * weight * holds.miss(job.c, types, v, slack)
        if units.late:
            cost = cost + units.late * weight * holds.late_s(job.c, types, v, slack)
        return first, cost
