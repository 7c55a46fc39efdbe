"""In what order the jobs that wait get fixed machines, and what an order may see."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from cgrsp_simpy.engine.claims import Claim, Part
from cgrsp_simpy.model.parameters import chosen
from cgrsp_simpy.model.policy import Wake
from cgrsp_simpy.waiting.resources import Arriving, Machines

__all__ = ["ORDERS", "Line", "Order", "WaitingView", "first_come", "order_of", "shortest_first"]


class WaitingView:
    """What an order sees at a decision; read only: the jobs that wait, their running times, and
    where there is room.

    A job has id, submit_s, run_s, cores and memory_gb. A machine goes by its index, from 0. Nothing
    is seen of jobs that have not come, nor of how long a job is willing to wait.

    Parameters
    ----------
    line : Line
        The jobs that wait.
    machines : Machines
        The fixed machines.

    Attributes
    ----------
    now_s : float
        The clock, seconds.
    """

    __slots__ = ("_line", "_machines", "now_s")

    def __init__(self, line: Line, machines: Machines) -> None:
        self._line, self._machines = line, machines
        self.now_s = 0.0

    @property
    def queue(self) -> tuple[Arriving, ...]:
        """The jobs that wait, oldest first."""
        return tuple(self._line.waiting)

    @property
    def by_time(self) -> Sequence[Arriving]:
        """The same by running time, of equals the first to come; live, a job that gets a machine
        is off it at once.
        """
        return self._line.by_time()

    @property
    def full(self) -> bool:
        """Whether no machine has room for anybody."""
        return self._machines.full

    def first(self) -> Arriving | None:
        """The job that has waited longest."""
        waiting, arrived = self._line.waiting, self._line.arrived
        while arrived and arrived[0] not in waiting:
            arrived.popleft()
        return arrived[0] if arrived else None

    def room(self, job: Arriving) -> int | None:
        """Of the machines with room for a job the one that fits best, or fell idle last.

        Parameters
        ----------
        job : Arriving
            That waits.

        Returns
        -------
        int or None
            Its index; None if none has room.
        """
        return self._machines.room(job)

    def rooms(self, job: Arriving) -> list[int]:
        """All machines with room for a job.

        Parameters
        ----------
        job : Arriving
            That waits.

        Returns
        -------
        list of int
            Indices.
        """
        return self._machines.rooms(job)


# ---- orders ----

Order = Callable[[WaitingView], Iterable["tuple[Arriving, int] | Wake"] | None]
"""Answers with pairs of a job and the machine that it gets; a generator is asked for the next pair
when the last has its own.
"""


def first_come(view: WaitingView) -> Iterator[tuple[Arriving, int]]:
    """First come, first served: while the first finds no room, those behind it wait."""
    while (job := view.first()) is not None and (machine := view.room(job)) is not None:
        yield job, machine


def shortest_first(view: WaitingView) -> Iterator[tuple[Arriving, int]]:
    """The job of the shortest running time first of those that find room; of equals the
    first to come.
    """
    place, line, refused = 0, view.by_time, set[tuple[int, float]]()  # needs that find no room now
    while place < len(line) and not view.full:
        job = line[place]
        needs = (job.cores, job.memory_gb)
        if needs not in refused and (machine := view.room(job)) is not None:
            yield job, machine
        else:
            refused.add(needs)
            place += 1


ORDERS: dict[str, Callable[[], Order]] = {"fcfs": lambda: first_come, "sjf": lambda: shortest_first}
"""Orders of the waiting jobs by name."""


def order_of(order: str | Order) -> Order:
    """An order from its text, fcfs, sjf or "own.py:function"; a function of a WaitingView is
    passed through.

    Raises InputError for an unknown name or file, or what is neither text nor function.
    """
    return chosen("order", order, ORDERS)


# ---- what is behind the view ----


class Line:
    """The line for fixed machines, kept by the engine.

    waiting: jobs, oldest first. arrived: the same, and before and among them some that
    wait no longer.
    """

    def __init__(self, machines: Machines) -> None:
        self.machines, self._view = machines, WaitingView(self, machines)
        self.waiting: dict[Arriving, Claim] = {}
        self.arrived: deque[Arriving] = deque()
        self._by_time: list[Arriving] | None = None  # kept from the first time that it is asked for

    def by_time(self) -> Sequence[Arriving]:
        """Jobs by running time, of equals the first to come."""
        if self._by_time is None:
            self._by_time = sorted(self.waiting, key=_time)
        return self._by_time

    def view(self, now_s: float) -> WaitingView:
        """What an order sees now."""
        self._view.now_s = now_s
        return self._view

    def summary(self) -> str:
        """What a listing says of a decision."""
        return f"{len(self.waiting)} waiting"

    def describe(self, job: Arriving) -> str:
        """What a listing says of a job."""
        memory = f", {job.memory_gb:g} GB" if job.memory_gb else ""
        return f"{job.run_s:.2f} s on {job.cores} core{'s' if job.cores > 1 else ''}{memory}"

    def add(self, job: Arriving) -> None:
        """A job waits."""
        self.arrived.append(job)
        if self._by_time is not None:
            insort(self._by_time, job, key=_time)

    def gave_up(self, job: Arriving) -> None:
        """A job waits no longer; in the order of arrival it is passed over when its turn comes."""
        if self._by_time is not None:
            del self._by_time[bisect_left(self._by_time, _time(job), key=_time)]

    def granted(self, claim: Claim, machine: int) -> Sequence[Part]:
        """A job waits no longer: it has room on a machine."""
        claim.terms = machine
        parts = self.machines.take(claim.job, machine)
        if self._by_time is not None:
            self.gave_up(claim.job)
        return parts

    def released(self, claim: Claim, now_s: float) -> None:
        """A job has left its machine."""
        self.machines.free(claim.job, claim.terms)


def _time(job: Arriving) -> tuple[float, int]:
    return job.run_s, job.id
