"""A case: which jobs meet which policy on which machines; and its outcome."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.analysis.statistics import Mean, mean
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.logs import Tags
from cgrsp_simpy.model.checks import InputError, check_whole, entries_of, require
from cgrsp_simpy.model.timeline import Timeline
from cgrsp_simpy.waiting.claims import timeline_of
from cgrsp_simpy.waiting.jobs import Chunk, JobSource, ListedJobs
from cgrsp_simpy.waiting.machines import M5, PAPER_PRICES, Prices, Size, exact_gb, rent_per_h
from cgrsp_simpy.waiting.orders import Order, order_of
from cgrsp_simpy.waiting.outcome import Columns, Tally
from cgrsp_simpy.waiting.policies import GOES, NO_ERRORS, Kinds, Mispredictions, WaitingPolicy, foreseen

__all__ = ["Case", "Outcome"]


@dataclass(frozen=True)
class Case:
    """What a trial is about.

    machines: number of fixed machines that execute one job at a time, whatever it needs; or the sizes of fixed machines that
    jobs share by their cores and memory. 0, or no size: none is owned, and every job goes on demand at once; under ajw, where
    no job does, at least one must be owned. order: "fcfs", first come first served, "sjf", shortest job first of those that
    find room, "own.py:function", or a function of a `WaitingView`; running times are known. sizes: those for rent, where
    machines are shared; a job rents the cheapest that it fits on, and a fixed machine costs prices.fixed / prices.on_demand of
    what renting it costs. work_conserving: a job that is to go on demand without waiting takes an idle fixed machine if there
    is one.

    Raises InputError for what is not allowed.
    """

    jobs: JobSource
    policy: WaitingPolicy
    machines: int | tuple[Size, ...]
    order: str | Order = "fcfs"
    prices: Prices = PAPER_PRICES
    sizes: tuple[Size, ...] = M5
    errors: Mispredictions = NO_ERRORS
    work_conserving: bool = False

    def __post_init__(self) -> None:
        order_of(self.order)
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
    """What one trial leaves.

    jobs: what became of each, in order of submission, if that was to be kept. claims: then, of a simulation, who held which
    machine, an array of CLAIM as of `claims_of`; jobs are numbered from 1.
    """

    case: Case
    seed: int
    tally: Tally
    jobs: Columns | None = None
    claims: np.ndarray[Any, np.dtype[Any]] | None = field(default=None, repr=False)

    @property
    def timeline(self) -> Timeline:
        """The run as machines and jobs. Raises InputError where it has not been simulated, or nothing was kept."""
        if self.jobs is None or self.claims is None:
            raise InputError("only a simulation whose jobs are kept has a timeline: simulate(case, keep=True)")
        order = self.case.order if isinstance(self.case.order, str) else policy_name(self.case.order)
        name = self.case.policy.name if order == "fcfs" else f"{self.case.policy.name}, {order}"
        return timeline_of(self.case.machines, self.jobs, self.claims, name)

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

    def by(self, tag: str) -> list[dict[str, Any]]:
        """What became of the jobs of each value of a log's column: a row for each, in the order of the alphabet.

        by, value: the column and its value. jobs: their number. wait_s, service_s: means. on_demand_fraction: share of the jobs.
        core_hours, on_demand_core_hours: cores times running time, of all and of those on demand.

        Raises InputError for a column that the log does not have, or where the jobs were not kept.
        """
        require(self.jobs is not None, "jobs", None, "kept: simulate(case, keep=True)")
        assert self.jobs is not None
        done = self.jobs
        core_h = done.jobs.cores * done.jobs.run_s / 3600
        return [
            {
                "by": tag,
                "value": value,
                "jobs": int(chosen.sum()),
                "wait_s": float(done.wait_s[chosen].mean()),
                "service_s": float(done.jobs.run_s[chosen].mean()),
                "on_demand_fraction": float(done.on_demand[chosen].mean()),
                "core_hours": float(core_h[chosen].sum()),
                "on_demand_core_hours": float(core_h[chosen & done.on_demand].sum()),
            }
            for value, chosen in self.tags.groups(tag).items()
        ]

    @property
    def tags(self) -> Tags:
        """The log's own columns of the jobs, job_id among them; none for jobs that are not from a log."""
        return self.case.jobs.tags if isinstance(self.case.jobs, ListedJobs) else Tags()

    def _by_batch(self) -> dict[str, npt.NDArray[np.float64]]:
        found = self.tally.figures(self.case.fixed_per_h, self.case.prices)
        unit = self.case.prices.on_demand if self.case.shared else 1.0
        return {**found, "cost_per_h": found["cost_per_h"] / unit}


def _batched(values: npt.NDArray[np.float64]) -> Mean:
    """The mean of a whole run, with the half width that its batches have."""
    found, centre = mean(values[1:]), values[0].item()
    return replace(found, mean=centre, low=centre - found.half_width, high=centre + found.half_width)
