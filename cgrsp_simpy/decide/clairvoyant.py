"""Best schedule of a small instance if all random draws are known in advance.

Compared with a policy it shows the cost of not knowing the draws. With the draws known,
a job's delay on a type changes only when the multiplier of the clock or persistent
stock changes. Between two such instants an earlier dispatch gives an earlier start; so
a job starts earliest if it is dispatched as soon as it is submitted and the slot is
free, or at a later change that shortens its delay. An earlier start is never worse, for
the job or for those after it. So an order of jobs on a slot has one best schedule, and
time is not discretised.

For each set of jobs on a slot of each type, all orders are searched by dynamic
programming over sets of jobs: of two orders of the same jobs, one that ends later and
costs more is dropped. Then the jobs are divided among the slots. The thesis has no such
method.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from cgrsp_simpy.base.checks import check_one_of, require
from cgrsp_simpy.base.parameters import Whole, checked
from cgrsp_simpy.decide.bounds import OBJECTIVES, Weights, check_proved
from cgrsp_simpy.market.gpu import GpuType
from cgrsp_simpy.market.model import Status
from cgrsp_simpy.market.stock import Stock
from cgrsp_simpy.rental.job import Draws, Job
from cgrsp_simpy.rental.record import JobRecord, Totals, figures
from cgrsp_simpy.rental.scenario import Scenario

MOST_JOBS = 12  # limit of the search


@dataclass(frozen=True)
class Optimum:
    """Best result for the draws of a seed.

    value: least value of the objective, in minutes, per cent, or their sum. wait_min,
    miss_pct, tardiness_min: as in `Run.summary`. schedule: one record per job.
    """

    value: float
    wait_min: float
    miss_pct: float
    tardiness_min: float
    schedule: tuple[JobRecord, ...]


class _Order(NamedTuple):
    """Jobs on a slot in order: cost, end, last step, and the order before it."""

    cost: float
    end_s: float
    last: _Step | None = None
    before: _Order | None = None


class _Step(NamedTuple):
    """Dispatch of a job on a type; times in seconds."""

    job: Job
    draws: Draws
    gpu: GpuType
    dispatch_s: float
    status: Status
    delay_s: float

    @property
    def start_s(self) -> float:
        return self.dispatch_s + self.delay_s

    @property
    def service_s(self) -> float:
        # thesis Eq. 3.12
        return self.gpu.mean_execution_s[self.job.complexity - 1] * self.draws.service


Table = list[list[_Order]]
"""Set of jobs, as a bit mask -> its undominated orders in cost and end, cheapest
first.
"""

Division = list[tuple[float, tuple[_Order, ...]]]
"""Set of jobs, as a bit mask -> the least cost on the slots so far, and the order on
each.
"""


@checked
def optimum(scenario: Scenario, seed: Whole = 0, objective: str = "mix") -> Optimum:
    """Return the least value of an objective, with all draws of a seed known.

    It is found by a search over sets of jobs (see the module's docstring). The schedule
    may keep a slot idle for a job that arrives later.

    scenario: at most MOST_JOBS jobs, of one GPU each. seed: seed of the draws, >= 0.
    objective: "wait" (min), "miss" (%), "tardiness" (min), or "mix", their sum. Raises
    InputError for an unknown objective, an invalid seed, more than MOST_JOBS jobs, a
    job of several GPUs, or terms of renting other than the thesis's.
    """
    check_one_of("objective", objective, OBJECTIVES)
    check_proved(scenario, "optimum", but=("terms",))
    number = scenario.workload.jobs
    require(
        number <= MOST_JOBS, "jobs", number, f"at most {MOST_JOBS} for an exact optimum"
    )
    jobs = list(scenario.workload.generate(seed, scenario.service))
    widest = max((job for job, _ in jobs), key=lambda job: job.gpus)
    require(
        widest.gpus == 1,
        f"gpus of job {widest.id}",
        widest.gpus,
        "1 if an exact optimum is computed",
    )
    weights, stock = OBJECTIVES[objective], Stock(scenario.market, seed)
    tables: dict[tuple[GpuType, ...], Table] = {}
    division: Division = [(inf if mask else 0.0, ()) for mask in range(2**number)]
    for gpu in scenario.slots:
        choices = scenario.gpus if scenario.free_types else (gpu,)
        if choices not in tables:
            tables[choices] = _table(stock, jobs, choices, weights)
        division = _divided(
            division,
            tables[choices],
            only_all=len(division[0][1]) == len(scenario.slots) - 1,
        )
    return _optimum(scenario, division[-1][1], weights)


def _divided(division: Division, table: Table, only_all: bool) -> Division:
    """Return a division with one more slot; only_all: only for the set of all jobs."""
    best: Division = [(inf, ())] * len(division)
    for mask in [len(division) - 1] if only_all else range(len(division)):
        part = min(
            _subsets(mask),
            key=lambda part: division[mask ^ part][0] + table[part][0].cost,
        )
        cost, orders = division[mask ^ part]
        best[mask] = (cost + table[part][0].cost, (*orders, table[part][0]))
    return best


def _subsets(mask: int) -> Iterator[int]:
    """Yield all subsets of a bit mask, including the mask itself and 0."""
    subset = mask
    while subset:
        yield subset
        subset = (subset - 1) & mask
    yield 0


def _table(
    stock: Stock,
    jobs: Sequence[tuple[Job, Draws]],
    choices: Sequence[GpuType],
    weights: Weights,
) -> Table:
    """Return the undominated orders of every set of jobs on a slot of these types."""
    table: Table = [[_Order(0.0, 0.0)]]
    for mask in range(1, 2 ** len(jobs)):
        table.append(
            _undominated(
                _followed(stock, order, job, draws, gpu, weights)
                for index, (job, draws) in enumerate(jobs)
                if mask >> index & 1
                for order in table[mask ^ (1 << index)]
                for gpu in choices
            )
        )
    return table


def _followed(
    stock: Stock, order: _Order, job: Job, draws: Draws, gpu: GpuType, weights: Weights
) -> _Order:
    """Return the order with a job appended that starts as early as possible."""
    step = _earliest(stock, max(order.end_s, job.submit_s), job, draws, gpu)
    end_s = step.start_s + step.service_s
    late_s = max(0.0, end_s - job.deadline_s)
    cost = (
        weights.wait * (step.start_s - job.submit_s) / 60
        + weights.miss * 100 * (late_s > 0)
        + weights.tardiness * late_s / 60
    )
    return _Order(order.cost + cost, end_s, step, order)


def _earliest(
    stock: Stock, ready_s: float, job: Job, draws: Draws, gpu: GpuType
) -> _Step:
    """Return the dispatch with the earliest start, at ready_s or a change of stock."""

    def dispatched(at_s: float) -> _Step:
        status = stock.status(gpu, at_s, draws.status)  # thesis Eq. 3.1
        # thesis Eq. 3.2
        delay_s = stock.market.provisioning_s(status, draws.delay)
        return _Step(job, draws, gpu, at_s, status, delay_s)

    now = dispatched(ready_s)
    later = map(dispatched, stock.changes_s(gpu, ready_s, now.start_s))
    return min([now, *later], key=lambda step: step.start_s)


def _undominated(orders: Iterable[_Order]) -> list[_Order]:
    """Return the orders that no other dominates in cost and end, cheapest first."""
    kept: list[_Order] = []
    for order in sorted(orders, key=lambda order: order[:2]):
        if not kept or order.end_s < kept[-1].end_s:
            kept.append(order)
    return kept


def _optimum(scenario: Scenario, orders: Sequence[_Order], weights: Weights) -> Optimum:
    """Return the schedule and the metrics of the given orders, one per slot."""
    records: list[JobRecord] = []
    names = [gpu.name for gpu in scenario.gpus]
    for slot, order in enumerate(orders):
        while order.last and order.before:
            records.append(_record(order.last, slot, names))
            order = order.before
    records.sort()
    columns = {
        name: np.array(column) for name, column in zip(JobRecord._fields, zip(*records))
    }
    totals = Totals()
    totals.add(columns)
    means = figures(totals, len(records), 1.0)
    wait_min, miss_pct, tardiness_min = (
        means[name] for name in ("wait_min", "miss_pct", "tardiness_min")
    )
    value = (
        weights.wait * wait_min
        + weights.miss * miss_pct
        + weights.tardiness * tardiness_min
    )
    return Optimum(value, wait_min, miss_pct, tardiness_min, tuple(records))


def _record(step: _Step, slot: int, names: Sequence[str]) -> JobRecord:
    cost_usd = step.service_s * step.gpu.price_usd_per_h / 3600  # thesis Eq. 3.11
    times = (step.dispatch_s, step.start_s, step.start_s + step.service_s)
    return JobRecord(
        *step.job,
        *times,
        slot,
        names.index(step.gpu.name),
        int(step.status),
        step.delay_s,
        step.service_s,
        cost_usd,
    )
