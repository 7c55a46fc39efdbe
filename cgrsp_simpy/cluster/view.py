"""What a scheduler of a cluster sees: the jobs that have arrived, the nodes, the clock."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from math import nan
from operator import attrgetter, index
from typing import Any, NamedTuple

import numpy as np

from cgrsp_simpy.cluster.jobs import COLUMNS, Floats, Ints, Row, gpus_told
from cgrsp_simpy.cluster.placement import Nodes, Place
from cgrsp_simpy.engine.claim import Claim, Part
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.model.policy import PlaceError
from cgrsp_simpy.model.sealed import SealedDict, SealedList

__all__ = ["Arrived", "Running", "Scheduler", "Starts", "View"]


class Arrived(NamedTuple):
    """The jobs that have arrived, as in `Jobs` and by the same index; read only.

    Attributes
    ----------
    arrival_s, gpus, estimate_s, iterations, kind, family, user : array or None
        As of `Jobs`.
    run_s : array
        For how long a job ran, seconds; NaN until it has ended.
    """

    arrival_s: Floats
    gpus: Ints
    estimate_s: Floats
    iterations: Floats | None
    kind: Ints
    family: Ints | None
    user: Ints | None
    run_s: Floats


class Columns:
    """Columns that grow. names: of the values of a row.

    rows, ended: the jobs that have arrived, or ended, since the columns were last read.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.rows: list[Row] = []
        self.ended: list[tuple[int, float]] = []
        self._names, self._read = names, 0
        kinds = {name: COLUMNS[name] for name in names if name != "duration_s"} | {"run_s": "f8"}
        self._values = {name: np.full(64, 0, kind) for name, kind in kinds.items()}
        self._shown: Arrived | None = None

    def arrived(self) -> Arrived:
        """The columns, as long as there are jobs that have arrived."""
        if self._shown is None or self.rows or self.ended:
            self._take()
            shown = {name: values[: self._read] for name, values in self._values.items()}
            for values in shown.values():
                values.flags.writeable = False
            self._shown = Arrived(*map(shown.get, Arrived._fields))  # type: ignore[arg-type]
        return self._shown

    def _take(self) -> None:
        start, self._read = self._read, self._read + len(self.rows)
        if self._read > len(self._values["run_s"]):
            self._values = {
                name: np.resize(values, 2 * self._read) for name, values in self._values.items()
            }
        for name, new in zip(self._names, zip(*self.rows)):
            if name != "duration_s":
                self._values[name][start : self._read] = new
        run_s = self._values["run_s"]
        run_s[start : self._read] = nan
        for job, time_s in self.ended:
            run_s[job] = time_s
        self.rows.clear()
        self.ended.clear()


class Running(NamedTuple):
    """A job that runs.

    Attributes
    ----------
    job : int
        Its index.
    place : Place
        Its nodes, and its GPUs on them.
    start_s, end_s : float
        Since when it runs, and when it ends by its estimate, seconds.
    """

    job: int
    place: Place
    start_s: float
    end_s: float


def _shown(name: str) -> Any:
    return property(attrgetter(name))


class View:
    """What a scheduler sees at a decision; read only. Jobs go by their index, in order of arrival.

    Attributes
    ----------
    now_s : float
        The clock, seconds.
    sizes : tuple of int
        GPUs of each node.
    gpus, estimate_s : list
        Of each job that has arrived, for loops over jobs; seconds.
    running : dict
        Job -> Running.
    ends : list
        When these end by their estimates, seconds, with the job, in order.
    nodes, free : Nodes, int
        What is free, as in `Nodes`.
    """

    __slots__ = (
        *("_by_width", "_columns", "_ends", "_estimate_s", "_first", "_free", "_gpus", "_left"),
        *("_luck", "_nodes", "_now_s", "_running", "_waiting"),
    )

    def __init__(self, run: Simulation, nodes: Nodes, columns: Sequence[str]) -> None:
        self._luck, self._waiting = run.luck, run.waiting
        self._left: Any = run.free  # what the engine counts, by node
        self._now_s, self._nodes, self._free = 0.0, nodes, nodes.all
        self._gpus, self._estimate_s, self._ends = SealedList(), SealedList(), SealedList()
        self._running: dict[int, Running] = SealedDict()
        self._first = 0  # no job before it waits
        self._by_width: dict[int, dict[int, None]] = {}  # the jobs that wait, by GPUs
        self._columns = Columns(columns)

    now_s: float = _shown("_now_s")
    nodes: Nodes = _shown("_nodes")
    sizes: tuple[int, ...] = _shown("_nodes.sizes")
    free: int = _shown("_free")
    gpus: list[int] = _shown("_gpus")
    estimate_s: list[float] = _shown("_estimate_s")
    running: dict[int, Running] = _shown("_running")
    ends: list[tuple[float, int]] = _shown("_ends")

    @property
    def jobs(self) -> Arrived:
        """The columns of the jobs that have arrived."""
        return self._columns.arrived()

    @property
    def queue(self) -> list[int]:
        """The jobs that wait, oldest first."""
        return sorted(chain.from_iterable(self._by_width.values()))

    @property
    def head(self) -> int | None:
        """The job that has waited longest."""
        gpus, by_width = self._gpus, self._by_width
        while self._first < len(gpus):
            if self._first in by_width[gpus[self._first]]:
                return self._first
            self._first += 1
        return None

    def room(self, gpus: int) -> Place | None:
        """Where a job of so many GPUs could go now: pairs of node and GPUs; None if it does not
        fit.
        """
        return self._nodes.room(self._free, gpus)

    def fitting(self) -> list[int]:
        """The jobs that wait and fit now, each by itself, oldest first."""
        fits, free = self._nodes.fits, self._free
        return sorted(
            job
            for gpus, jobs in self._by_width.items()
            if jobs and fits(free, gpus)
            for job in jobs
        )

    def idle(self) -> list[int]:
        """Idle GPUs of each node."""
        return self._nodes.counts(self._free)

    def without(self, job: int, free: int) -> int:
        """What is free when a job that runs has ended; free: what is before, as of `free`."""
        return self._nodes.give(free, self._nodes.held(self._running[job].place))

    # ---- what the engine asks and tells ----

    def summary(self) -> str:
        """What a listing says of a decision."""
        idle, every = self._free.bit_count(), self._nodes.all.bit_count()
        return f"{len(self._waiting)} waiting, {idle} of {every} GPUs idle"

    def decides(self, now_s: float) -> None:
        """A decision begins."""
        self._now_s = now_s

    def joined(self, job: int) -> None:
        """A job waits: one that arrives, or, where a life claims again, one that has waited."""
        if job == len(self._gpus):
            told = self._luck[job]
            self._columns.rows.append(told)
            list.append(self._gpus, told[1])
            list.append(self._estimate_s, told[3])
        self._by_width.setdefault(self._gpus[job], {})[job] = None
        self._first = min(self._first, job)

    def left(self, job: int) -> None:
        """A job waits no longer; if it has been granted a place, the engine has counted it."""
        del self._by_width[self._gpus[job]][job]
        if job in self._running:
            for node, _ in self._running[job].place:
                self.opened(node)

    def opened(self, node: int) -> None:
        """More of a node is free, or less."""
        self._free = self._nodes.put(self._free, node, self._left[node])

    closed = opened

    def granted(self, claim: Claim, chosen: Any) -> Sequence[Part]:
        """A job starts. Raises PlaceError for a place that is not its number of idle GPUs."""
        place, job, nodes = _checked(chosen), claim.job, len(self._left)
        for node, gpus in place:
            if not 0 <= node < nodes:
                raise PlaceError(f"node {node}, which is none of the {nodes} of the cluster")
            if gpus > self._left[node]:
                raise PlaceError(claim.run.places[node].lacks(self._left[node], gpus))
        if (total := sum(gpus for _, gpus in place)) != self._gpus[job]:
            raise PlaceError(f"{gpus_told(total)}; it needs {self._gpus[job]}")
        end_s = self._now_s + self._estimate_s[job]
        dict.__setitem__(self._running, job, Running(job, place, self._now_s, end_s))
        list.insert(self._ends, bisect_left(self._ends, (end_s, job)), (end_s, job))
        return place

    def freed(self, claim: Claim) -> None:
        """A job has left its nodes."""
        job, now_s = claim.job, claim.env.now
        end_s = dict.pop(self._running, job).end_s
        list.__delitem__(self._ends, bisect_left(self._ends, (end_s, job)))
        if not claim.revoked:
            self._columns.ended.append((job, now_s - claim.granted_s))


def _checked(chosen: Any) -> Place:
    """A place of whole numbers."""
    try:
        place = tuple([(index(node), index(gpus)) for node, gpus in chosen])
    except (TypeError, ValueError):
        raise PlaceError(f"{chosen!r}, which is not pairs (node, GPUs)") from None
    for node, gpus in place:
        if gpus < 1:
            raise PlaceError(f"node {node} for {gpus} GPUs; that must be at least one")
    return place


Starts = Iterator[tuple[int, Place]]
"""Jobs, and the places where they start."""

Scheduler = Callable[[View], Iterable[tuple[int, Place]] | None]
"""A function of a View that answers with pairs (job, place).

If it yields them one by one, the view shows what each has left. What a run has to know of it
before, such as the columns that it needs of those that jobs may lack, or that it is to hear of
every arrival, also while no GPU is idle, it says by `cg.policy`.
"""
