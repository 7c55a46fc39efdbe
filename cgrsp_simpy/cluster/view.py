"""What a scheduler of a cluster sees: the jobs that have arrived, the nodes, the clock."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from math import nan
from operator import index, itemgetter, sub
from typing import Any, NamedTuple

import numpy as np

from cgrsp_simpy.cluster.cluster import gpus_text
from cgrsp_simpy.cluster.jobs import COLUMNS, Floats, Ints, Row
from cgrsp_simpy.cluster.placement import HeldBits, Nodes, Place, Pools
from cgrsp_simpy.engine import view
from cgrsp_simpy.engine.claim import Claim, Part
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.engine.view import SealedDict, SealedList, shown
from cgrsp_simpy.model.policy import PlaceError


def _column(name: str) -> Any:
    return property(lambda self: self._column(name))


class Arrived:
    """The jobs that have arrived, as in `Jobs` and by the same index; read only.

    Attributes
    ----------
    arrival_s, gpus, estimate_s, iterations, kind, family, user, qos : array or None
        As of `Jobs`.
    run_s, end_s : array
        For how long a job ran, and when it ended, seconds; NaN until it has ended.
    """

    __slots__ = ("_ended", "_places", "_read", "_rows", "_values")

    def __init__(self, columns: Sequence[str]) -> None:
        self._rows: list[Row] = []
        self._ended: list[tuple[int, float, float]] = []  # since run_s was last read
        there = [name for name in columns if name != "duration_s"]
        self._places = {name: place for place, name in enumerate(there)}
        kinds = {name: COLUMNS[name] for name in there} | {"run_s": "f8", "end_s": "f8"}
        self._values = {name: np.zeros(64, kind) for name, kind in kinds.items()}
        self._read = dict.fromkeys(kinds, 0)

    arrival_s: Floats = _column("arrival_s")
    gpus: Ints = _column("gpus")
    estimate_s: Floats = _column("estimate_s")
    iterations: Floats | None = _column("iterations")
    kind: Ints = _column("kind")
    family: Ints | None = _column("family")
    user: Ints | None = _column("user")
    qos: Floats | None = _column("qos")

    @property
    def run_s(self) -> Floats:
        """For how long each job ran, seconds; NaN until it has ended."""
        return self._of_ended()[0]

    @property
    def end_s(self) -> Floats:
        """When each job ended, seconds; NaN until it has."""
        return self._of_ended()[1]

    def _of_ended(self) -> tuple[Floats, Floats]:
        run_s, end_s = (self._grown(name, lambda _: nan) for name in ("run_s", "end_s"))
        for job, *ended in self._ended:
            run_s[job], end_s[job] = ended
        self._ended.clear()
        return self._sealed(run_s), self._sealed(end_s)

    def _column(self, name: str) -> Any:
        place = self._places.get(name)
        return None if place is None else self._sealed(self._grown(name, itemgetter(place)))

    def _grown(self, name: str, value: Callable[[Row], Any]) -> np.ndarray[Any, Any]:
        """A column, with the values of the jobs that have come since it was last read."""
        values, read, number = self._values[name], self._read[name], len(self._rows)
        if read < number:
            if number > len(values):
                values = self._values[name] = np.resize(values, 2 * number)
            values[read:number] = list(map(value, self._rows[read:]))
            self._read[name] = number
        return values

    def _sealed(self, values: np.ndarray[Any, Any]) -> Any:
        shown = values[: len(self._rows)]
        shown.flags.writeable = False
        return shown


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


class View(view.View):
    """What a scheduler sees at a decision; read only. Jobs go by their index, in order of arrival.

    Attributes
    ----------
    now_s : float
        The clock, seconds.
    sizes : tuple of int
        GPUs of each node.
    gpus, estimate_s : list
        Of each job that has arrived, for loops over jobs; seconds.
    needs : list
        What each takes, for `room`: its GPUs, or a `Need` where jobs are bound to more.
    running : dict
        Job -> Running.
    ends : list
        When these end by their estimates, seconds, with the job, in order.
    nodes, free : Nodes, int
        What is free, as in `Nodes`.
    jobs : Arrived
        The columns of the jobs that have arrived.
    """

    __slots__ = (
        *(
            "_by_width",
            "_arrived",
            "_ends",
            "_estimate_s",
            "_first",
            "_free",
            "_gpus",
            "_held",
            "_left",
        ),
        *("_needs", "_nodes", "_running", "_supposed", "_told"),
    )

    def __init__(
        self, run: Simulation, nodes: Nodes, columns: Sequence[str], needs: Sequence[Any] = ()
    ) -> None:
        super().__init__(run)
        self._told, self._supposed = needs, 0  # needs of all jobs; none: their GPUs
        self._needs: list[Any] = SealedList()
        self._left: Any = run.free  # what the engine counts, by node
        self._nodes, self._free = nodes, nodes.all
        self._gpus, self._estimate_s, self._ends = SealedList(), SealedList(), SealedList()
        self._running: dict[int, Running] = SealedDict()
        self._held: dict[int, HeldBits] = {}
        self._first = 0  # no job before it waits
        self._by_width: dict[Any, dict[int, None]] = {}  # the jobs that wait, by need
        self._arrived = Arrived(columns)

    nodes: Nodes = shown("_nodes")
    sizes: tuple[int, ...] = shown("_run.model.cluster.sizes")
    free: int = shown("_free")  # type: ignore[assignment]
    gpus: list[int] = shown("_gpus")
    needs: list[Any] = shown("_needs")
    estimate_s: list[float] = shown("_estimate_s")
    running: dict[int, Running] = shown("_running")  # type: ignore[assignment]
    ends: list[tuple[float, int]] = shown("_ends")
    jobs: Arrived = shown("_arrived")

    @property
    def queue(self) -> list[int]:  # type: ignore[override]
        """The jobs that wait, oldest first."""
        return sorted(chain.from_iterable(self._by_width.values()))

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return len(self._run.waiting)

    @property
    def head(self) -> int | None:
        """The job that has waited longest."""
        needs, first = self._needs, self._first
        while first < len(needs):
            if first in self._by_width[needs[first]]:
                self._first = first
                return first
            first += 1
        self._first = first
        return None

    def room(self, need: int) -> Place | None:  # type: ignore[override]
        """Where a job of a need, as in `needs`, could go now: pairs of node and GPUs; None if it
        does not fit.
        """
        return self._nodes.room(self._free, need)

    def fitting(self) -> list[int]:
        """The jobs that wait and fit now, each by itself, oldest first."""
        fits, free = self._nodes.fits, self._free
        return sorted(
            job
            for need, jobs in self._by_width.items()
            if jobs and fits(free, need)
            for job in jobs
        )

    def idle(self) -> list[int]:
        """Idle GPUs of each node."""
        return self._nodes.counts(self._free)[: len(self.sizes)]

    def without(self, job: int, free: int) -> int:
        """What is free when a job that runs has ended; free: what is before, as of `free`."""
        return self._nodes.give(free, self._held[job])

    @contextmanager
    def supposing(self, counts: Sequence[int]) -> Iterator[None]:
        """As if only so many GPUs of each node were free, and the others came free at the next end,
        in a second at least: to ask what would be started.
        """
        free, ends, running = self._free, self._ends, self._running
        self._supposed = job = self._supposed - 1  # another one each time
        place = tuple((node, n) for node, n in enumerate(map(sub, self.idle(), counts)) if n > 0)
        self._free, self._held[job] = self._nodes.packed(counts), self._nodes.held(place)
        first_s = max([self._now_s + 1, *(end_s for end_s, _ in ends[:1])])
        dict.__setitem__(running, job, Running(job, place, self._now_s, first_s))
        list.insert(ends, 0, (first_s, job))
        try:
            yield
        finally:
            self._free = free
            del self._held[job]
            dict.__delitem__(running, job)
            list.__delitem__(ends, 0)

    # ---- what the engine asks and tells ----

    def summary(self) -> str:
        idle, every = sum(self.idle()), sum(self.sizes)
        return f"{len(self._run.waiting)} waiting, {idle} of {every} GPUs idle"

    def joined(self, job: int) -> None:
        """A job waits: one that arrives, or, where a life claims again, one that has waited."""
        if job == len(self._gpus):
            told = self._run.luck[job]
            self._arrived._rows.append((*told[:2], *told[3:]))  # without its duration
            list.append(self._gpus, told[1])
            list.append(self._needs, self._told[job] if self._told else told[1])
            list.append(self._estimate_s, told[3])
        elif job < self._first:
            self._first = job
        self._by_width.setdefault(self._needs[job], {})[job] = None

    def left(self, job: int) -> None:
        """A job waits no longer; if it has been granted a place, the engine has counted it."""
        del self._by_width[self._needs[job]][job]
        if job in self._running:
            self._count(self._running[job].place)

    def opened(self, number: int) -> None:
        """A node is up, or down."""
        self._count(((number, 0),))

    closed = opened

    def _count(self, place: Place) -> None:
        """Take over what the engine has counted of some nodes."""
        free, put, left = self._free, self._nodes.put, self._left
        for node, _ in place:
            free = put(free, node, int(left[node]))
        self._free = free

    def granted(self, claim: Claim, chosen: Any) -> Sequence[Part]:
        """A job starts. Raises PlaceError for a place that is not its number of idle GPUs."""
        place, job, nodes = _checked(chosen), claim.job, len(self._left)
        for node, gpus in place:
            if not 0 <= node < nodes:
                raise PlaceError(f"node {node}, which is none of the {nodes} of the cluster")
            if gpus > self._left[node]:
                raise PlaceError(claim.run.places[node].lacks(self._left[node], gpus))
        need = self._needs[job]
        if isinstance(self._nodes, Pools):
            if not self._nodes.serves(place, need):
                raise PlaceError(f"{place}, which does not serve its {need}")
        elif (total := sum(gpus for _, gpus in place)) != need:
            raise PlaceError(f"{gpus_text(total)}; it needs {need}")
        end_s = self._now_s + self._estimate_s[job]
        self._held[job] = self._nodes.held(place)
        dict.__setitem__(self._running, job, Running(job, place, self._now_s, end_s))
        list.insert(self._ends, bisect_left(self._ends, (end_s, job)), (end_s, job))
        return place

    def freed(self, claim: Claim) -> None:
        """A job has left its nodes."""
        job, now_s = claim.job, claim.env.now
        end_s = dict.pop(self._running, job).end_s
        del self._held[job]
        self._count(claim.parts)  # type: ignore[arg-type]
        list.__delitem__(self._ends, bisect_left(self._ends, (end_s, job)))
        if not claim.revoked:
            self._arrived._ended.append((job, now_s - claim.granted_s, now_s))


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
