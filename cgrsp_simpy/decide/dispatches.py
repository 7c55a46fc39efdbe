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
from collections.abc import Callable, Sequence
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
        steps_a_bin: int = 1,
        end_s: float | None = None,
    ) -> None:
        market, stock = scenario.market, Stock(scenario.market, seed)
        self.units, self.step_s = units, step_s
        gpus = scenario.types
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
        replayed = {series.gpu for series in market.series}
        lasting = {
            gpu
            for gpu in gpus
            if gpu.name in replayed or market.holding(gpu.name).persistence_s
        }

        def chances(gpu: GpuType, at_s: float) -> tuple[float, ...]:
            if gpu in lasting:
                return KNOWN[stock.status(gpu, at_s, 0.0)]
            return market.probabilities(gpu, at_s)

        hours_s = [
            3600 * (hour - market.clock.start_h) % DAY_S for hour in market.change_hours
        ]
        met = [
            KNOWN
            if gpu in lasting
            else [chances(gpu, at_s + AFTER_S) for at_s in hours_s]
            for gpu in gpus
        ]
        kinds = list(
            dict.fromkeys(
                combination for chances_of in met for combination in chances_of
            )
        )

        def kind_of(at_s: float) -> tuple[int, ...]:
            return tuple(kinds.index(chances(gpu, at_s)) for gpu in gpus)

        terms = scenario.terms
        none = terms.warm_s or terms.retry_s is not None
        delays_s = ((0.0, 0.0),) * 3 if none else market.delay_s
        self.holds = HoldTimes(gpus, self.levels, delays_s, step_s, kinds)
        if end_s is None:
            end_s = steps_a_bin * step_s * self._bins(steps_a_bin * step_s, kind_of)
        self.end = math.ceil(end_s / step_s - AFTER_S)
        begins_s = [step * step_s for step in range(self.end)]
        changes_s = {at_s for gpu in gpus for at_s in stock.changes_s(gpu, 0.0, end_s)}
        pieces = {(int(at_s / step_s), kind_of(at_s)) for at_s in changes_s}
        pieces |= {(step, kind_of(at_s)) for step, at_s in enumerate(begins_s)}
        pieces |= {
            (step, kind_of(at_s + AFTER_S)) for step, at_s in enumerate(begins_s)
        }
        for any_of in range(max(map(len, met))):
            kind = tuple(
                kinds.index(chances_of[any_of % len(chances_of)]) for chances_of in met
            )
            pieces.add((self.end, kind))
        self.steps, self.kind = map(np.array, zip(*sorted(pieces)))

        def by_clock(at_s: float) -> list[tuple[float, ...]]:
            return [market.probabilities(gpu, at_s) for gpu in gpus]

        self.changes = sorted(
            {
                int((day_s + at_s + AFTER_S) / step_s)
                for day_s in np.arange(0.0, end_s, DAY_S).tolist()
                for at_s in hours_s
                if AFTER_S < day_s + at_s < end_s
                and by_clock(at_s - AFTER_S) != by_clock(at_s + AFTER_S)
            }
        )

    def _bins(self, bin_s: float, kind_of: Callable[[float], tuple[int, ...]]) -> int:
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
            held_s = shares @ holds.mean_s[:, types, kind_of(bins * bin_s + AFTER_S)]
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
        missed, late_s = (
            holds.miss(c, g, v, slack),
            holds.late_s(c, g, v, slack),
        )
        usd = units.wait * wait_s + units.miss * missed + units.late * late_s
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
        holds, units, weight = (
            self.holds,
            self.units,
            self.levels[job.c].weight,
        )
        first = int(np.searchsorted(self.steps, int(job.submit_s / self.step_s)))
        cost: np.ndarray = least[job.c, first:] - units.wait * weight * job.submit_s
        v, types = self.kind[first:], np.arange(cost.shape[1])
        slack = math.ceil(job.deadline_s / self.step_s) - self.steps[first:, None]
        if units.miss:
            cost = cost + units.miss * weight * holds.miss(job.c, types, v, slack)
        if units.late:
            cost = cost + units.late * weight * holds.late_s(job.c, types, v, slack)
        return first, cost
