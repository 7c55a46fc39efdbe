"""View of the waiting jobs and machines that a queue order gets at a decision."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from typing import Any

from cgrsp_simpy.base.policy import AssignmentError
from cgrsp_simpy.engine import view
from cgrsp_simpy.engine.claim import Claim, Part
from cgrsp_simpy.engine.resources import ResourceSpec
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.engine.view import SealedList
from cgrsp_simpy.waiting.jobs import Job
from cgrsp_simpy.waiting.machines import Room, Size


class View(view.View):
    """The waiting jobs, their running times, and the machines with room; read-only.

    A job has id, submit_s, run_s, cores and memory_gb. A machine is identified by its
    index, from 0; a job takes a whole machine, unless machines are shared.
    """

    __slots__ = ("_arrived", "_by_time", "_idle", "_machines")

    def __init__(self, run: Simulation) -> None:
        super().__init__(run)
        self._machines = len({place.index for place in run.declared})
        # in the order in which they became idle
        self._idle = list(reversed(range(self._machines)))
        # both from the first time that they are asked for
        self._arrived: deque[Job] | None = None  # in this order; some wait no longer
        self._by_time: SealedList | None = None

    @property
    def by_time(self) -> Sequence[Job]:
        """Waiting jobs by increasing running time; ties in order of arrival."""
        if self._by_time is None:
            self._by_time = SealedList(sorted(self._run.pending_claims, key=_time))
        return self._by_time

    @property
    def full(self) -> bool:
        """Whether no machine has room for any job."""
        return not self._idle

    def first(self) -> Job | None:
        """Return the job that has waited longest, or None."""
        waiting, arrived = self._run.pending_claims, self._arrived
        if arrived is None:
            arrived = self._arrived = deque(waiting)
        while arrived and arrived[0] not in waiting:
            arrived.popleft()
        return arrived[0] if arrived else None

    def room(self, job: Any) -> Any:
        """Return a machine for a job (best fit, or last idle), or a resource's room."""
        return super().room(job) if type(job) is ResourceSpec else self._best(job)

    def rooms(self, job: Job) -> list[int]:
        """Return the indices of all machines with room for a job."""
        return sorted(self._idle)

    # ---- hooks of the engine ----

    def summary(self) -> str:
        return f"{len(self._run.pending_claims)} waiting"

    def parse_assignment(self, claim: Claim, chosen: Any) -> Sequence[Part]:
        machine = chosen.index if type(chosen) is ResourceSpec else chosen
        number = self._machines
        if type(machine) is not int or not 0 <= machine < number:
            raise AssignmentError(
                f"machine {machine!r}; the machines are 0 to {number - 1}"
            )
        return self._parts(claim.job, machine)

    def on_enqueue(self, job: Job) -> None:
        self._queue = None
        if self._arrived is not None:
            self._arrived.append(job)
        if (line := self._by_time) is not None:
            list.insert(line, bisect_left(line, _time(job), key=_time), job)

    def on_dequeue(self, job: Job) -> None:
        self._queue = None
        if (line := self._by_time) is not None:
            list.__delitem__(line, bisect_left(line, _time(job), key=_time))

    def on_full(self, number: int) -> None:
        if self._idle and self._idle[-1] == number:
            self._idle.pop()
        elif number in self._idle:
            self._idle.remove(number)

    def on_available(self, number: int) -> None:
        self._idle.append(number)

    # ---- what depends on whether machines are shared ----

    def _best(self, job: Job) -> int | None:
        return self._idle[-1] if self._idle else None

    def _parts(self, job: Job, machine: int) -> Sequence[Part]:
        return ((machine, 1),)


class SharedView(View):
    """View of machines whose cores and memory jobs share; placement is best fit."""

    __slots__ = ("_room", "_stale")

    def __init__(self, run: Simulation, sizes: Sequence[Size]) -> None:
        super().__init__(run)
        # machines that have changed since
        self._room, self._stale = Room(sizes), set[int]()

    @property
    def full(self) -> bool:
        return self._book.most_cores == 0

    def rooms(self, job: Job) -> list[int]:
        return [
            index
            for index, (cores, memory_gb) in enumerate(self._book.free)
            if cores >= job.cores and memory_gb >= job.memory_gb
        ]

    def on_full(self, number: int) -> None:
        self._stale.add(number // 2)

    on_available = on_full

    def _best(self, job: Job) -> int | None:
        return self._book.best(job.cores, job.memory_gb)

    def _parts(self, job: Job, machine: int) -> Sequence[Part]:
        self._stale.add(machine)
        return (2 * machine, job.cores), (2 * machine + 1, job.memory_gb)

    @property
    def _book(self) -> Room:
        """The free cores and memory, updated for the machines that have changed."""
        free = self._run.free
        for index in self._stale:
            self._room.put(index, free[2 * index], free[2 * index + 1])
        self._stale.clear()
        return self._room


def _time(job: Job) -> tuple[float, int]:
    return job.run_s, job.id
