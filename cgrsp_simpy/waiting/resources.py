"""Fixed machines as places of the engine, and the plans by which a job's wait is foreseen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from typing import Any

import simpy

from cgrsp_simpy.engine.claims import Part, Place, Pool, Slot
from cgrsp_simpy.model.policy import PlaceError
from cgrsp_simpy.waiting.machines import Room, Size

__all__ = [
    "Arriving",
    "Machines",
    "Plan",
    "SharedMachines",
    "SharedPlan",
    "WholeMachines",
    "WholePlan",
]


@dataclass(slots=True, eq=False)
class Arriving:
    """A job.

    Attributes
    ----------
    id : int
        Its number in the order of submission, from 1.
    submit_s : float
        When it is submitted, seconds.
    run_s : float
        Its running time, seconds.
    cores, memory_gb
        What it needs; GB.
    """

    id: int
    submit_s: float
    run_s: float
    cores: int
    memory_gb: float


# ---- which machines are free ----


class WholeMachines:
    """Machines of which a job takes one as a whole: a slot each."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._idle = list(reversed(range(number)))  # in the order in which they fell idle

    def places(self, env: simpy.Environment) -> list[Place]:
        """The machines as places."""
        return [Slot(env, "machine", index) for index in range(self._number)]

    @property
    def full(self) -> bool:
        """Whether no machine is idle."""
        return not self._idle

    def room(self, job: Arriving) -> int | None:
        """The machine that fell idle last; None if all are busy."""
        return self._idle[-1] if self._idle else None

    def rooms(self, job: Arriving) -> list[int]:
        """The idle machines."""
        return sorted(self._idle)

    def take(self, job: Arriving, machine: int) -> Sequence[Part]:
        """A job is promised a machine; its parts of the places.

        Raises PlaceError for a machine that is none, or not idle.
        """
        if self._idle and machine == self._idle[-1]:
            self._idle.pop()
        else:
            _check_machine(machine, self._number)
            if machine not in self._idle:
                raise PlaceError(f"machine {machine}, which is busy or given away already")
            self._idle.remove(machine)
        return ((machine, 1),)

    def free(self, job: Arriving, machine: int) -> None:
        """A job has left a machine."""
        self._idle.append(machine)


class SharedMachines:
    """Machines that jobs share by best fit: a pool of cores and one of memory each."""

    def __init__(self, sizes: Sequence[Size]) -> None:
        self._sizes, self._room = sizes, Room(sizes)

    def places(self, env: simpy.Environment) -> list[Place]:
        """Cores and memory of the first machine, of the second, and so on."""
        pools = [
            (
                Pool(env, "machine", index, size.cores, "cores"),
                Pool(env, "machine", index, size.memory_gb, "GB"),
            )
            for index, size in enumerate(self._sizes)
        ]
        return [pool for pair in pools for pool in pair]

    @property
    def full(self) -> bool:
        """Whether no machine has a free core."""
        return self._room.most_cores == 0

    def room(self, job: Arriving) -> int | None:
        """The machine that fits best; None if none has room."""
        index = self._room.best(job.cores, job.memory_gb)
        return None if index < 0 else index

    def rooms(self, job: Arriving) -> list[int]:
        """The machines with room for a job."""
        free = enumerate(self._room.free)
        return [
            index
            for index, (cores, memory_gb) in free
            if cores >= job.cores and memory_gb >= job.memory_gb
        ]

    def take(self, job: Arriving, machine: int) -> Sequence[Part]:
        """A job is promised room on a machine; its parts of the places.

        Raises PlaceError for a machine that is none.
        """
        _check_machine(machine, len(self._sizes))
        self._room.change(machine, -job.cores, -job.memory_gb)
        return (2 * machine, job.cores), (2 * machine + 1, job.memory_gb)

    def free(self, job: Arriving, machine: int) -> None:
        """A job has left a machine."""
        self._room.change(machine, job.cores, job.memory_gb)


def _check_machine(machine: Any, number: int) -> None:
    if type(machine) is not int or not 0 <= machine < number:
        raise PlaceError(f"machine {machine!r}; there are 0 to {number - 1}")


# ---- when they will be free ----


class WholePlan:
    """When each whole machine falls free, with every job planned that has been admitted: exact,
    first come, first served.
    """

    def __init__(self, number: int) -> None:
        self._ends = [0.0] * number or [math.inf]  # a heap

    def admits(self, job: Arriving, patience_s: float) -> bool:
        """Whether a job that comes now will start within its patience; if so, it is planned."""
        start_s = max(job.submit_s, self._ends[0])
        if start_s > job.submit_s + patience_s:
            return False
        heapreplace(self._ends, start_s + job.run_s)
        return True

    def lingers(self, job: Arriving, patience_s: float) -> None:
        """A job that is not admitted waits all the same, in vain: whoever takes a whole
        machine passes it.
        """


class SharedPlan:
    """What is free on shared machines once the last job that has been admitted starts: exact, first
    come, first served.

    Nobody overtakes, so no job that comes later starts before that moment.
    """

    def __init__(self, sizes: Sequence[Size]) -> None:
        self._room = Room(sizes)
        # a heap of end, machine, cores, memory
        self._ends: list[tuple[float, int, int, float]] = []
        self._last_s = 0.0

    def admits(self, job: Arriving, patience_s: float) -> bool:
        """Whether a job that comes now will start within its patience; if so, it is planned."""
        latest_s, start_s = job.submit_s + patience_s, max(job.submit_s, self._last_s)
        room, ends = self._room, self._ends
        _pass(room, ends, start_s)
        index = room.best(job.cores, job.memory_gb)
        if index < 0 and start_s <= latest_s:
            # a look ahead, of no effect on others if the job is not admitted
            room, ends = room.copy(), ends.copy()
            while index < 0 and ends and ends[0][0] <= latest_s:
                start_s = ends[0][0]
                _pass(room, ends, start_s)
                index = room.best(job.cores, job.memory_gb)
        if index < 0 or start_s > latest_s:
            return False
        room.change(index, -job.cores, -job.memory_gb)
        heappush(ends, (start_s + job.run_s, index, job.cores, job.memory_gb))
        self._room, self._ends, self._last_s = room, ends, start_s
        return True

    def lingers(self, job: Arriving, patience_s: float) -> None:
        """A job that is not admitted waits all the same, in vain: until it gives up, nobody
        behind it starts.
        """
        self._last_s = max(self._last_s, job.submit_s + patience_s)


def _pass(room: Room, ends: list[tuple[float, int, int, float]], time_s: float) -> None:
    """Free what the jobs held that have ended by a time."""
    while ends and ends[0][0] <= time_s:
        _, index, cores, memory_gb = heappop(ends)
        room.change(index, cores, memory_gb)


Machines = WholeMachines | SharedMachines  # machines that a job takes whole, or shares
Plan = WholePlan | SharedPlan  # what is known of the machines when a job comes
