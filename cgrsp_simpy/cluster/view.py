"""What a scheduler of a cluster sees: the jobs that have arrived, the nodes, the clock; and how
the engine keeps it true.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from math import nan
from operator import index
from typing import Any, NamedTuple

import numpy as np

from cgrsp_simpy.cluster.jobs import Cluster, Floats, Ints, Jobs
from cgrsp_simpy.cluster.placement import Held, Nodes, Place, Placement
from cgrsp_simpy.engine.claims import Claim, Part
from cgrsp_simpy.model.policy import PlaceError

__all__ = [
    "Arrived",
    "ClusterState",
    "ClusterView",
    "Running",
    "Scheduler",
    "Starts",
    "gpus_told",
    "rows",
]


Row = tuple[float, int, float, float, int, int, int]
"""What is known of a job when it arrives: the columns of `Arrived` up to user; of those that
are lacking 0.
"""


class Arrived(NamedTuple):
    """The jobs that have arrived, as in `Jobs` and by the same index.

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
    """Columns that grow. names: those that are there.

    rows, ended: the jobs that have arrived, or ended, since the columns were last read.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.rows: list[Row] = []
        self.ended: list[tuple[int, float]] = []
        self._there = [name in names or name == "run_s" for name in Arrived._fields]
        self._values = [
            np.zeros(64, kind) for kind in ("f8", "i8", "f8", "f8", "i8", "i8", "i8", "f8")
        ]
        self._read = 0

    def arrived(self) -> Arrived:
        """The columns, as long as there are jobs that have arrived."""
        start, self._read = self._read, self._read + len(self.rows)
        while self._read > len(self._values[0]):
            self._values = [
                np.concatenate((values, np.zeros_like(values))) for values in self._values
            ]
        for values, new in zip(self._values, zip(*self.rows)):
            values[start : self._read] = new
        self._values[-1][start : self._read] = nan
        for job, run_s in self.ended:
            self._values[-1][job] = run_s
        self.rows.clear()
        self.ended.clear()
        columns: list[Any] = [
            values[: self._read] if there else None
            for values, there in zip(self._values, self._there)
        ]
        return Arrived(*columns)


def rows(jobs: Jobs) -> Iterator[Row]:
    """What is known of each job when it arrives."""
    columns = (getattr(jobs, name) for name in Arrived._fields[:-1])
    return zip(*(repeat(0) if column is None else column.tolist() for column in columns))


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


class ClusterView:
    """What a scheduler sees at a decision; read only. Jobs go by their index, in order of arrival.

    Parameters
    ----------
    cluster, placement
        The nodes, and on which a job is put.
    columns : sequence of str
        Names of those that the jobs have.

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

    def __init__(self, cluster: Cluster, placement: Placement, columns: Sequence[str]) -> None:
        self.now_s = 0.0
        self.sizes, self.nodes = cluster.sizes, Nodes(cluster.sizes, placement)
        self.free = self.nodes.all
        self.gpus: list[int] = []
        self.estimate_s: list[float] = []
        self.running: dict[int, Running] = {}
        self.ends: list[tuple[float, int]] = []
        self._first = 0  # no job before it waits
        self._by_width: dict[int, dict[int, None]] = {}  # the jobs that wait, by GPUs
        self._held: dict[int, Held] = {}
        self._columns = Columns(columns)

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
        while self._first < len(self.gpus):
            if self._first in self._by_width[self.gpus[self._first]]:
                return self._first
            self._first += 1
        return None

    def room(self, gpus: int) -> Place | None:
        """Where a job could go now.

        Parameters
        ----------
        gpus : int
            Of the job.

        Returns
        -------
        Place or None
            Pairs of node and GPUs; None if it does not fit.
        """
        return self.nodes.room(self.free, gpus)

    def fitting(self) -> list[int]:
        """The jobs that wait and fit now, each by itself, oldest first."""
        return sorted(
            job
            for gpus, jobs in self._by_width.items()
            if jobs and self.nodes.fits(self.free, gpus)
            for job in jobs
        )

    def idle(self) -> list[int]:
        """Idle GPUs of each node."""
        return self.nodes.counts(self.free)

    def without(self, job: int, free: int) -> int:
        """What is free when a job that runs has ended.

        Parameters
        ----------
        job : int
            Its index.
        free : int
            What is free before, as of `free`.

        Returns
        -------
        int
            As of `free`.
        """
        return self.nodes.give(free, self._held[job])

    # ---- what the state tells ----

    def _arrive(self, row: Row) -> None:
        job, gpus = len(self.gpus), row[1]
        self._columns.rows.append(row)
        self.gpus.append(gpus)
        self.estimate_s.append(row[2])
        self._by_width.setdefault(gpus, {})[job] = None

    def _start(self, job: int, place: Place) -> None:
        del self._by_width[self.gpus[job]][job]
        self._held[job] = held = self.nodes.held(place)
        self.free = self.nodes.take(self.free, held)
        end_s = self.now_s + self.estimate_s[job]
        self.running[job] = Running(job, place, self.now_s, end_s)
        insort(self.ends, (end_s, job))

    def _end(self, job: int, run_s: float) -> None:
        self.free = self.nodes.give(self.free, self._held.pop(job))
        del self.ends[bisect_left(self.ends, (self.running.pop(job).end_s, job))]
        self._columns.ended.append((job, run_s))


class ClusterState:
    """What the engine tells of its claims, for the view of a scheduler."""

    def __init__(self, cluster: Cluster, placement: Placement, columns: Sequence[str]) -> None:
        self.seen = ClusterView(cluster, placement, columns)
        self.waiting: dict[int, Claim] = {}
        self._gpus = cluster.gpus

    def arrives(self, row: Row) -> None:
        """What may be known of the job that comes next."""
        self.seen._arrive(row)

    # ---- what the engine tells ----

    def view(self, now_s: float) -> ClusterView:
        """What a scheduler sees now."""
        self.seen.now_s = now_s
        return self.seen

    def summary(self) -> str:
        """What a listing says of a decision."""
        return (
            f"{len(self.waiting)} waiting, {self.seen.free.bit_count()} of {self._gpus} GPUs idle"
        )

    def describe(self, job: int) -> str:
        """What a listing says of a job when it arrives."""
        return f"{gpus_told(self.seen.gpus[job])}, limit {self.seen.estimate_s[job]:.2f} s"

    def add(self, job: int) -> None:
        """A job waits: so does every job that arrives."""

    def gave_up(self, job: int) -> None:
        """None does that."""

    def granted(self, claim: Claim, chosen: Place) -> Sequence[Part]:
        """A job starts. Raises PlaceError for a place that is not its number of idle GPUs."""
        place, view = _checked(chosen), self.seen
        for node, gpus in place:
            if not 0 <= node < len(view.sizes):
                raise PlaceError(
                    f"node {node}, which is none of the {len(view.sizes)} of the cluster"
                )
            if gpus > (idle := view.nodes.count(view.free, node)):
                raise PlaceError(claim.places[node].lacks(idle, gpus))
        if (total := sum(gpus for _, gpus in place)) != view.gpus[claim.job]:
            raise PlaceError(f"{gpus_told(total)}; it needs {view.gpus[claim.job]}")
        view._start(claim.job, place)
        return place

    def released(self, claim: Claim, now_s: float) -> None:
        """A job has left its nodes."""
        self.seen._end(claim.job, now_s - claim.granted_s)


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


def gpus_told(gpus: int) -> str:
    """A number of GPUs in words."""
    return "1 GPU" if gpus == 1 else f"{gpus} GPUs"


Starts = Iterator[tuple[int, Place]]
"""Jobs, and the places where they start."""

Scheduler = Callable[[ClusterView], Iterable[tuple[int, Place]] | None]
"""A function of a ClusterView that answers with pairs (job, place).

If it yields them one by one, the view shows what each has left. One that looks at columns that jobs
may lack names them in its attribute `needs`; one that keeps a book of reservations, and so is to
hear of every arrival also while no GPU is idle, has the attribute `hears_all = True`.
"""
