"""View that a scheduler of a cluster gets: arrived jobs, nodes and time."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import chain
from math import nan
from operator import index, sub
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cgrsp_simpy.base.checks import shown
from cgrsp_simpy.base.policy import AssignmentError, policy
from cgrsp_simpy.base.table import many
from cgrsp_simpy.cluster.cluster import Allocation, Nodes, Pools
from cgrsp_simpy.cluster.jobs import COLUMNS, HIDDEN, Row
from cgrsp_simpy.engine import view
from cgrsp_simpy.engine.claim import Claim, Part
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.engine.view import SealedDict, SealedList, read_only

# columns of the jobs that have arrived
ARRIVED = ({*COLUMNS} | {"run_s", "end_s"}) - {"duration_s", *HIDDEN}


class Arrived:
    """The jobs that have arrived, with the columns and indices of `Jobs`; read-only.

    run_s, end_s: run time and end of a job, seconds; NaN until it has ended.
    """

    __slots__ = ("_columns", "_number")

    def __init__(self, columns: Sequence[str]) -> None:
        kinds = {name: COLUMNS[name] for name in columns if name != "duration_s"}
        kinds |= {"run_s": "f8", "end_s": "f8"}
        self._columns = {name: np.zeros(64, kind) for name, kind in kinds.items()}
        self._number = 0

    def __getattr__(self, name: str) -> Any:
        if name not in ARRIVED:
            raise AttributeError(f"the arrived jobs have no column {name!r}")
        if name not in self._columns:
            return None
        shown = self._columns[name][: self._number]
        shown.flags.writeable = False
        return shown

    def __dir__(self) -> Iterable[str]:
        return {*super().__dir__(), *ARRIVED}

    def _extend(self, number: int, arrival_s: float) -> None:
        """Add rows up to a number, for jobs that arrive at a time, later, or never."""
        first, self._number = self._number, number
        if number > len(self._columns["run_s"]):
            for name, values in self._columns.items():
                # zeros take no memory until they are written
                self._columns[name] = np.zeros(2 * number, values.dtype)
                self._columns[name][:first] = values[:first]
        self._columns["arrival_s"][first:number] = arrival_s

    def _set(self, job: int, row: Row) -> None:
        """Set the values of a job's columns."""
        for values, value in zip(self._columns.values(), (*row, nan, nan)):
            values[job] = value


class Running(NamedTuple):
    """A running job.

    place: its (node, GPUs) pairs. start_s, end_s: its start, and its end according to
    its estimate, seconds.
    """

    job: int
    place: Allocation
    start_s: float
    end_s: float


class View(view.View):
    """The state of a cluster at a decision, read-only.

    Jobs are identified by their index, in order of arrival. sizes: GPUs of each node.
    gpus, estimate_s: GPUs and estimate (seconds) of each arrived job, as lists. needs:
    argument of `room` for each job: its GPUs, or a `Need` if jobs request more.
    running: job -> Running. ends: (estimated end in seconds, job) of the running jobs,
    in order. nodes, free: the `Nodes`, and the free GPUs as an integer, as described
    there. jobs: columns of the arrived jobs.
    """

    __slots__ = (
        *("_arrived", "_by_need", "_ended", "_ends", "_estimate_s", "_free", "_gpus"),
        *("_key", "_left", "_needs", "_nodes", "_needs_by_job", "_ranks", "_running"),
    )

    def __init__(
        self,
        run: Simulation,
        nodes: Nodes,
        columns: Sequence[str],
        needs: Sequence[Any] | Mapping[int, Any] = (),
        in_order: bool = True,
    ) -> None:
        super().__init__(run)
        # rank (arrival, index) of jobs that may arrive in another order than their
        # indices
        self._ranks: dict[int, tuple[float, int]] = {}
        self._key = None if in_order else self._ranks.__getitem__
        # needs of all jobs; empty: their GPUs
        self._needs_by_job = needs
        self._needs: list[Any] = SealedList()
        self._left: Any = run.free  # free capacity by node, updated by the engine
        self._nodes, self._free = nodes, nodes.all
        self._gpus = SealedList()
        self._estimate_s = SealedList()
        self._ends = SealedList()
        self._ended: list[int] = []
        self._running: dict[int, Running] = SealedDict()
        self._by_need: dict[Any, list[int]] = {}  # the jobs that wait, in order
        self._arrived = Arrived(columns)

    nodes: Nodes = read_only("_nodes")
    sizes: tuple[int, ...] = read_only("_run.model.cluster.sizes")
    free: int = read_only("_free")  # type: ignore[assignment]
    gpus: list[int] = read_only("_gpus")
    needs: list[Any] = read_only("_needs")
    estimate_s: list[float] = read_only("_estimate_s")
    running: dict[int, Running] = read_only("_running")  # type: ignore[assignment]
    ends: list[tuple[float, int]] = read_only("_ends")
    jobs: Arrived = read_only("_arrived")

    @property
    def queue(self) -> list[int]:  # type: ignore[override]
        """Waiting jobs, oldest first."""
        return sorted(chain.from_iterable(self._by_need.values()), key=self._key)

    @property
    def waiting(self) -> int:
        """Number of waiting jobs."""
        return len(self._run.pending_claims)

    @property
    def head(self) -> int | None:
        """The job that has waited longest."""
        heads = (jobs[0] for jobs in self._by_need.values() if jobs)
        return min(heads, key=self._key, default=None)

    def room(self, need: int) -> Allocation | None:  # type: ignore[override]
        """Return a placement for a need now, as (node, GPUs) pairs, or None."""
        return self._nodes.room(self._free, need)

    def fitting(self) -> list[int]:
        """Return the waiting jobs that would fit now, each alone, oldest first."""
        fits, free, waiting = self._nodes.fits, self._free, self._by_need.items()
        return sorted(
            chain(*(jobs for need, jobs in waiting if jobs and fits(free, need))),
            key=self._key,
        )

    def idle(self) -> list[int]:
        """Return the idle GPUs of each node."""
        return self._nodes.counts(self._free)[: len(self.sizes)]

    def ended(self, known: int = 0) -> list[int]:
        """Return the jobs that have ended, in order, without the first `known`."""
        return self._ended[known:]

    def without(self, job: int, free: int) -> int:
        """Return the free GPUs after a running job ends, given those before.

        GPUs of a closed node do not become free.
        """
        place = self._running[job].place
        if closed := self._run.ledger.closed:
            place = [part for part in place if part[0] not in closed]
        return self._nodes.give(free, place)

    def supposing(self, counts: Sequence[int]) -> View:
        """Return a view with only `counts` free GPUs per node until the next end.

        The next end is taken to be at least one second away.
        """
        # a negative number identifies a hypothetical job, another one per decision
        other, job, now_s = copy(self), -self._run.decisions, self._now_s
        place = tuple(
            (node, n) for node, n in enumerate(map(sub, self.idle(), counts)) if n > 0
        )
        first_s = max([now_s + 1, *(end_s for end_s, _ in self._ends[:1])])
        other._free = self._nodes.packed(counts)
        taken = Running(job, place, now_s, first_s)
        other._running = SealedDict({**self._running, job: taken})
        other._ends = SealedList([(first_s, job), *self._ends])
        return other

    # ---- hooks of the engine ----

    def summary(self) -> str:
        idle, every = sum(self.idle()), sum(self.sizes)
        return f"{len(self._run.pending_claims)} waiting, {idle} of {every} GPUs idle"

    def on_enqueue(self, job: int) -> None:
        """Add a waiting job, which is new or has waited before."""
        arrived = range(len(self._gpus)) if self._key is None else self._ranks
        if job not in arrived:
            self._arrive(job)
        insort(self._by_need.setdefault(self._needs[job], []), job, key=self._key)

    def _arrive(self, job: int) -> None:
        """Add a new job, and empty rows for skipped numbers, which may arrive later."""
        arrival_s, gpus, _, estimate_s, *_ = row = self._run.hidden[job]
        need = self._needs_by_job[job] if self._needs_by_job else gpus
        if self._key is not None:
            self._ranks[job] = arrival_s, job
        missing = job + 1 - len(self._gpus)
        if missing > 0:
            self._arrived._extend(job + 1, arrival_s)
        self._arrived._set(job, (*row[:2], *row[3:]))  # without its duration
        for column, value in (
            (self._gpus, gpus),
            (self._needs, need),
            (self._estimate_s, estimate_s),
        ):
            list.extend(column, [0] * missing)
            list.__setitem__(column, job, value)

    def on_dequeue(self, job: int) -> None:
        """Remove a job that no longer waits; update the free GPUs if it starts."""
        waiting = self._by_need[self._needs[job]]
        del waiting[
            waiting.index(job) if self._key is not None else bisect_left(waiting, job)
        ]
        if job in self._running:
            self._count(self._running[job].place)

    def on_available(self, number: int) -> None:
        """Update a node that becomes available or unavailable."""
        self._count(((number, 0),))

    on_full = on_available

    def _count(self, place: Allocation) -> None:
        """Copy the free GPUs of some nodes from the engine."""
        for node, _ in place:
            self._free = self._nodes.put(self._free, node, int(self._left[node]))

    def parse_assignment(self, claim: Claim, chosen: Any) -> Sequence[Part]:
        """Start a job. Raises AssignmentError unless it gets what it needs."""
        job, need, nodes = claim.job, self._needs[claim.job], len(self._left)
        try:
            place = tuple([(index(node), index(gpus)) for node, gpus in chosen])
        except (TypeError, ValueError):
            raise AssignmentError(
                f"{shown(chosen)}, which is not a list of pairs (node, GPUs)"
            ) from None
        for node, gpus in place:
            if gpus < 1:
                raise AssignmentError(
                    f"node {node} with {gpus} GPUs; the number must be at least 1"
                )
        for node, gpus in place:
            if not 0 <= node < nodes:
                raise AssignmentError(
                    f"node {node}, but the cluster has the nodes 0 to {nodes - 1}"
                )
            if gpus > self._left[node]:
                raise AssignmentError(
                    claim.run.resources[node].shortage(self._left[node], gpus)
                )
        if isinstance(self._nodes, Pools):
            if not self._nodes.serves(place, need):
                raise AssignmentError(
                    f"{place}, which does not satisfy its demand, {need}"
                )
        elif (total := sum(gpus for _, gpus in place)) != need:
            raise AssignmentError(f"{many(total, 'GPU')}; the job needs {need}")
        self._start(job, place)
        return place

    def _start(self, job: int, place: Allocation) -> None:
        end_s = self._now_s + self._estimate_s[job]
        dict.__setitem__(self._running, job, Running(job, place, self._now_s, end_s))
        list.insert(self._ends, bisect_left(self._ends, (end_s, job)), (end_s, job))

    def on_release(self, claim: Claim) -> None:
        """Release the nodes of a job."""
        job, now_s = claim.job, claim.env.now
        end_s = dict.pop(self._running, job).end_s
        self._count(claim.parts)  # type: ignore[arg-type]
        list.__delitem__(self._ends, bisect_left(self._ends, (end_s, job)))
        if not claim.revoked:
            columns = self._arrived._columns
            columns["run_s"][job] = now_s - claim.granted_s
            columns["end_s"][job] = now_s
            self._ended.append(job)


class PooledView(View):
    """The view of a run whose engine counts the GPUs of all nodes in one pool.

    A job on many nodes then costs the engine no more time than a job on one node.
    Starts are not checked, so it is only for schedulers of this package.
    """

    def _count(self, place: Allocation) -> None:
        """Do nothing, since the engine does not count free GPUs per node."""

    def parse_assignment(self, claim: Claim, chosen: Any) -> Sequence[Part]:
        self._start(claim.job, chosen)
        self._free = self._nodes.take(self._free, chosen)
        return ((0, self._gpus[claim.job]),)

    def on_release(self, claim: Claim) -> None:
        self._free = self.without(claim.job, self._free)
        super().on_release(claim)


Starts = Iterator[tuple[int, Allocation]]
"""Pairs of a job and its allocation."""

Scheduler = Callable[[View], Iterable[tuple[int, Allocation]] | None]
"""A function of a View that answers with pairs (job, place).

If it yields them one by one, the view shows what each has left. By `cg.policy` it
states requirements on the run, such as optional columns of jobs, or a call at every
arrival, also while no GPU is idle.
"""

Named = TypeVar("Named", bound=Scheduler)


def named(name: str, *needs: str) -> Callable[[Named], Named]:
    """Set a scheduler's name, and the columns that it needs and jobs may lack."""

    def give(scheduler: Named) -> Named:
        scheduler.__name__ = name
        return policy(needs=needs)(scheduler)

    return give
