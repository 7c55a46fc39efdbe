"""A case: which jobs meet which policy on which machines. It is simulated, or followed by the recursion, once or many times."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from cgrsp_simpy.analysis.statistics import Mean, mean
from cgrsp_simpy.experiments.executors import as_they_come
from cgrsp_simpy.model.checks import InputError, check_one_of, check_whole, entries_of, require
from cgrsp_simpy.waiting.formulas import OBJECTIVES, waited_s
from cgrsp_simpy.waiting.jobs import CHUNK, Chunk, JobSource, ListedJobs
from cgrsp_simpy.waiting.machines import M5, PAPER_PRICES, Prices, Size, exact_gb, rent_per_h
from cgrsp_simpy.waiting.outcome import Columns, Tally
from cgrsp_simpy.waiting.policies import GOES, NO_ERRORS, POLICIES, Kinds, Mispredictions, WaitingPolicy, foreseen
from cgrsp_simpy.waiting.recursion import recursion
from cgrsp_simpy.waiting.resources import Machines, Plan, SharedMachines, SharedPlan, WholeMachines, WholePlan
from cgrsp_simpy.waiting.simulation import ORDERS, Row, WaitingRun, arrivals

__all__ = ["Case", "Outcome", "best_number", "estimate", "follow", "of_trials", "simulate"]


@dataclass(frozen=True)
class Case:
    """What a trial is about.

    machines: number of fixed machines that execute one job at a time, whatever it needs; or the sizes of fixed machines that
    jobs share by their cores and memory. 0, or no size: none is owned, and every job goes on demand at once; under ajw, where
    no job does, at least one must be owned. order: "fcfs", first come first served, or "sjf", shortest job first of those that
    find room; running times are known. sizes: those for rent, where machines are shared; a job rents the cheapest that it fits
    on, and a fixed machine costs prices.fixed / prices.on_demand of what renting it costs. work_conserving: a job that is to go
    on demand without waiting takes an idle fixed machine if there is one.

    Raises InputError for what is not allowed.
    """

    jobs: JobSource
    policy: WaitingPolicy
    machines: int | tuple[Size, ...]
    order: str = "fcfs"
    prices: Prices = PAPER_PRICES
    sizes: tuple[Size, ...] = M5
    errors: Mispredictions = NO_ERRORS
    work_conserving: bool = False

    def __post_init__(self) -> None:
        check_one_of("order", self.order, ORDERS)
        least = 0 if self.policy.rents else 1
        if isinstance(self.machines, int):
            check_whole("machines", self.machines, least=least)
            return
        machines = entries_of("machines", self.machines, "a number of machines, or a list of sizes")
        require(len(machines) >= least, "machines", machines, "at least one")
        object.__setattr__(self, "machines", machines)
        require(self.prices.on_demand > 0, "on-demand price", self.prices.on_demand, "above 0 where a table has the prices")
        require(math.isfinite(self.fixed_per_h), "machines", machines, "of sizes that the price table covers")

    @property
    def shared(self) -> bool:
        """Whether jobs share the machines."""
        return not isinstance(self.machines, int)

    @property
    def fixed_per_h(self) -> float:
        """What renting all fixed machines would cost per hour; whole machines count as 1 each."""
        if isinstance(self.machines, int):
            return float(self.machines)
        cores = np.array([size.cores for size in self.machines])
        memory_gb = np.array([size.memory_gb for size in self.machines])
        return float(rent_per_h(cores, memory_gb, self.sizes).sum())

    @property
    def recursive(self) -> bool:
        """Whether the recursion covers it: for whole machines, first come, first served."""
        return not self.shared and self.order == "fcfs"

    @property
    def steady(self) -> bool:
        """Whether the jobs are a part of a stream without end, and not all there are; see `Tally`."""
        return not isinstance(self.jobs, ListedJobs)

    def foreseen(self, seed: int) -> Iterator[tuple[Chunk, Kinds]]:
        """The jobs with what is foreseen for them; a job that no fixed machine could take goes on demand.

        Raises InputError, naming the job, if it may not, or if no machine for rent is large enough.
        """
        first = 0
        for chunk, kinds in foreseen(self.jobs, self.policy, self.errors, seed):
            if not isinstance(self.machines, int):
                chunk = chunk._replace(memory_gb=exact_gb(chunk.memory_gb))
                self._require_fit(first, chunk, self.sizes, "no machine that is for rent")
                unfit = ~_fits(chunk, self.machines)
                if not self.policy.rents:
                    self._require_fit(first, chunk, self.machines, "no fixed machine, and under ajw every job waits for one")
                kinds[unfit] = GOES
            elif self.machines == 0:
                kinds[:] = GOES
            yield chunk, kinds
            first += len(kinds)

    @staticmethod
    def _require_fit(first: int, chunk: Chunk, sizes: Sequence[Size], where: str) -> None:
        for row in np.flatnonzero(~_fits(chunk, sizes))[:1]:
            most = max(sizes, key=lambda size: (size.cores, size.memory_gb))
            raise InputError(
                f"job {first + row + 1} ({chunk.cores[row]} cores, {chunk.memory_gb[row]:g} GB) fits on {where}; the largest"
                f" has {most.cores} cores and {most.memory_gb:g} GB"
            )


def _fits(chunk: Chunk, sizes: Sequence[Size]) -> npt.NDArray[np.bool_]:
    return np.isfinite(rent_per_h(chunk.cores, chunk.memory_gb, sizes))


@dataclass(frozen=True)
class Outcome:
    """What one trial leaves. jobs: what became of each, in order of submission, if that was to be kept."""

    case: Case
    seed: int
    tally: Tally
    jobs: Columns | None = None

    @property
    def figures(self) -> dict[str, float]:
        """Those of `Tally.figures`: of a log's jobs all count, of generated ones the middle 80 %.

        cost_per_h of shared machines is in the money of the sizes. Raises InputError for jobs without any work.
        """
        return {name: values[0].item() for name, values in self._by_batch().items()}

    @property
    def means(self) -> dict[str, Mean]:
        """The same with 95 % intervals from batch means, for a single long run."""
        return {name: _batched(values) for name, values in self._by_batch().items()}

    def _by_batch(self) -> dict[str, npt.NDArray[np.float64]]:
        found = self.tally.figures(self.case.fixed_per_h, self.case.prices)
        unit = self.case.prices.on_demand if self.case.shared else 1.0
        return {**found, "cost_per_h": found["cost_per_h"] / unit}


def _batched(values: npt.NDArray[np.float64]) -> Mean:
    """The mean of a whole run, with the half width that its batches have."""
    found, centre = mean(values[1:]), values[0].item()
    return replace(found, mean=centre, low=centre - found.half_width, high=centre + found.half_width)


def simulate(case: Case, seed: int = 0, *, keep: bool = False) -> Outcome:
    """Simulate a case in SimPy until its last job has ended.

    keep: keep what became of each job; without it memory does not grow with the number of jobs. Raises InputError for a job
    that fits on no machine.
    """
    check_whole("seed", seed, least=0)
    plan: Plan | None = None
    machines: Machines = WholeMachines(case.machines) if isinstance(case.machines, int) else SharedMachines(case.machines)
    if case.policy.balks and case.order == "fcfs":
        plan = WholePlan(case.machines) if isinstance(case.machines, int) else SharedPlan(case.machines)
    ledger = _Ledger(case, keep)
    run = WaitingRun(machines, case.order, case.policy, plan, case.work_conserving, ledger.record)
    run.env.process(run.source(arrivals(case.foreseen(seed))))
    run.env.run()
    ledger.flush()
    return Outcome(case, seed, ledger.tally, _sorted(ledger.kept) if keep else None)


def follow(case: Case, seed: int = 0, *, keep: bool = False) -> Outcome:
    """The same without events, by the recursion: for whole machines, first come, first served; a job takes about a microsecond.

    Raises InputError for another order or shared machines.
    """
    check_whole("seed", seed, least=0)
    if not isinstance(case.machines, int) or not case.recursive:
        raise InputError("the recursion is for machines that a job takes as a whole, first come, first served; simulate instead")
    tally, kept = Tally(case.jobs.jobs, steady=case.steady), []
    for done in recursion(case.foreseen(seed), case.policy, case.machines, case.work_conserving):
        tally.add(done)
        if keep:
            kept.append(done)
    return Outcome(case, seed, tally, _sorted(kept) if keep else None)


class _Ledger:
    """Takes down what becomes of jobs, and counts them by the thousand."""

    def __init__(self, case: Case, keep: bool) -> None:
        self.tally = Tally(case.jobs.jobs, case.sizes if case.shared else None, case.steady)
        self.kept: list[Columns] = []
        self._keep, self._rows = keep, list[Row]()

    def record(self, row: Row) -> None:
        """Take down a job."""
        self._rows.append(row)
        if len(self._rows) == CHUNK:
            self.flush()

    def flush(self) -> None:
        """Count what has been taken down."""
        if not self._rows:
            return
        place, *job, start_s, on_demand = (np.array(column) for column in zip(*self._rows))
        done = Columns(place, Chunk(*job), start_s, on_demand)
        self.tally.add(done)
        self._rows.clear()
        if self._keep:
            self.kept.append(done)


def _sorted(kept: Sequence[Columns]) -> Columns:
    """All jobs in order of submission."""
    place = np.concatenate([done.place for done in kept])
    order = np.argsort(place)

    def joined(columns: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.concatenate(list(columns))[order]

    jobs = Chunk(*(joined(columns) for columns in zip(*(done.jobs for done in kept))))
    return Columns(place[order], jobs, joined(done.start_s for done in kept), joined(done.on_demand for done in kept))


# ---- several trials ----


def estimate(
    cases: Sequence[Case],
    trials: int = 5,
    seed: int = 0,
    executor: Executor | int | None = None,
    run: Callable[[Case, int], Outcome] = simulate,
) -> list[dict[str, Mean]]:
    """Means with 95 % intervals for each case: wait_s, price, on_demand_fraction, load, opportunity.

    trials: replications of seeds seed, seed + 1, ..., the same for all cases; with one the interval is from batch means.
    executor: None runs here, a number in as many processes, or any concurrent.futures.Executor. run: `simulate` or `follow`.
    """
    check_whole("trials", trials, least=1)
    tasks = dict(enumerate((case, seed + trial, run) for case in cases for trial in range(trials)))
    done: dict[int, Outcome] = {}
    with tqdm(total=len(tasks), unit=" runs", delay=1, disable=None, leave=False) as bar:
        for number, outcome in as_they_come(_carry_out, tasks, executor):
            done[number] = outcome
            bar.update()
    runs = [[done[first + trial] for trial in range(trials)] for first in range(0, len(tasks), trials)]
    return [of_trials(outcomes) for outcomes in runs]


def _carry_out(task: tuple[Case, int, Callable[[Case, int], Outcome]]) -> Outcome:
    case, seed, run = task
    return run(case, seed)


def of_trials(outcomes: Sequence[Outcome]) -> dict[str, Mean]:
    """Means with 95 % intervals over trials, or from the batches of a single one."""
    if len(outcomes) == 1:
        return outcomes[0].means
    figures = [outcome.figures for outcome in outcomes]
    return {name: mean([each[name] for each in figures]) for name in figures[0]}


# ---- the best number ----


def best_number(case: Case, by: str = "price", seed: int = 0) -> Outcome:
    """The outcome of the best number of fixed machines, 0 among them unless no job may go on demand (ajw).

    case: its machines name the kind. by: as of `formulas.optimum`. Numbers are tried up to that with which no job waits, or until
    the machines alone, paid only until all jobs can have ended, cost more than the best number. Raises InputError for a fixed
    price of 0, of which no number is the best, and for jobs without any work.
    """
    check_one_of("objective", by, OBJECTIVES)
    require(case.prices.fixed > 0, "fixed price", case.prices.fixed, "above 0 for an optimum: free machines are never too many")
    none = _try(replace(case, policy=POLICIES["njw"]), 0, by, seed, keep=True)
    tried = [none] if case.policy.rents else []
    machine = case.prices.fixed * _owning(case, 1).fixed_per_h / none.outcome.figures["load"]  # least share in the price
    for number in tqdm(range(1, _most_at_once(none.outcome.jobs) + 1), unit=" numbers", delay=1, disable=None, leave=False):
        if tried and number * machine > _limit(tried, by):
            break
        tried.append(_try(case, number, by, seed))
    return _best(tried, by).outcome


class _Tried(NamedTuple):
    """A number of machines, its outcome, the price, and the value of the objective; the least of these is the best."""

    value: float
    price: float
    number: int
    outcome: Outcome


def _try(case: Case, number: int, by: str, seed: int, *, keep: bool = False) -> _Tried:
    own = _owning(case, number)
    outcome = (follow if own.recursive else simulate)(own, seed, keep=keep)
    figures = outcome.figures
    value = figures["price"] * waited_s(by, figures["wait_s"], figures["service_s"])
    return _Tried(value, figures["price"], number, outcome)


def _owning(case: Case, number: int) -> Case:
    """The case with so many fixed machines of its kind."""
    return replace(case, machines=number if isinstance(case.machines, int) else case.machines[:1] * number)


def _most_at_once(done: Columns | None) -> int:
    """How many jobs there are at most at a time, the one that ends and the one that comes at the same moment both."""
    assert done is not None
    ended = np.searchsorted(np.sort(done.end_s), done.start_s)
    return int(np.max(np.arange(1, len(ended) + 1) - ended))


def _best(tried: Sequence[_Tried], by: str) -> _Tried:
    """By opportunity cost, the best that costs no more than renting for every job; if none does, the cheapest."""
    if by != "opportunity":
        return min(tried)
    rent = tried[0].outcome.case.prices.on_demand
    paying = [each for each in tried if each.number > 0 and each.price <= rent]
    return min(paying, default=min(tried, key=lambda each: each.price))


def _limit(tried: Sequence[_Tried], by: str) -> float:
    """The price above which no number is better than the best of those tried."""
    best = _best(tried, by)
    figures, prices = best.outcome.figures, best.outcome.case.prices
    if by == "opportunity":
        return max(prices.on_demand, best.price)
    return best.value / waited_s(by, 0.0, figures["service_s"])  # of jobs that do not wait
