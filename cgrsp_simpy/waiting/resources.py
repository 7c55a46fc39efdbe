"""Fixed machines as SimPy resources, and the books by which the dispatcher promises them and foresees when they fall free."""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heappop, heappush, heapreplace
from typing import Any, NamedTuple

import simpy

from cgrsp_simpy.waiting.machines import Room, Size

__all__ = ["Arriving", "Machines", "Plan", "SharedMachines", "SharedPlan", "WholeMachines", "WholePlan"]


class Arriving(NamedTuple):
    """A job and what is foreseen for it (of WAITS, GOES, MISLED). place: in the order of submission."""

    place: int
    submit_s: float
    run_s: float
    cores: int
    memory_gb: float
    kind: int


# ---- machines of which a job takes one as a whole ----


class WholeMachine(simpy.Resource):
    """A machine that executes one job at a time."""

    def __init__(self, env: simpy.Environment, index: int) -> None:
        super().__init__(env, capacity=1)
        self.index = index

    def take(self, job: Arriving) -> Any:  # noqa: ARG002, a job takes the whole
        """Request the machine, which has been promised."""
        request = self.request()
        assert request.triggered, "a machine was promised to two jobs"
        return request

    def give_back(self, job: Arriving, request: Any) -> None:  # noqa: ARG002
        """Return what `take` gave."""
        self.release(request)


class WholeMachines:
    """A number of whole machines."""

    def __init__(self, env: simpy.Environment, number: int) -> None:
        self.idle = [WholeMachine(env, index) for index in reversed(range(number))]

    @property
    def full(self) -> bool:
        """Whether no machine is idle."""
        return not self.idle

    def place(self, job: Arriving) -> WholeMachine | None:  # noqa: ARG002, any will do
        """Promise a job an idle machine; None if there is none."""
        return self.idle.pop() if self.idle else None

    def free(self, machine: WholeMachine, job: Arriving) -> None:  # noqa: ARG002
        """Note that a job has left a machine."""
        self.idle.append(machine)


class WholePlan:
    """When each whole machine falls free, with every job planned that has been admitted: exact, first come, first served."""

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
        """A job that is not admitted waits all the same, in vain: whoever takes a whole machine passes it."""


# ---- machines that jobs share ----


class SharedMachine:
    """A machine that executes several jobs at a time, within its cores and memory."""

    def __init__(self, env: simpy.Environment, index: int, size: Size) -> None:
        self.index = index
        self.cores = simpy.Container(env, size.cores, init=size.cores)
        self.memory_gb = simpy.Container(env, size.memory_gb or 1.0, init=size.memory_gb)

    def take(self, job: Arriving) -> None:
        """Claim a job's cores and memory, which have been promised."""
        got = [self.cores.get(job.cores)]
        if job.memory_gb:
            got.append(self.memory_gb.get(job.memory_gb))
        assert all(each.triggered for each in got), "room was promised to two jobs"

    def give_back(self, job: Arriving, held: None) -> None:  # noqa: ARG002, as of a whole machine
        """Return a job's cores and memory."""
        self.cores.put(job.cores)
        if job.memory_gb:
            self.memory_gb.put(job.memory_gb)


class SharedMachines:
    """Machines of given sizes, which jobs share by best fit."""

    def __init__(self, env: simpy.Environment, sizes: Sequence[Size]) -> None:
        self._machines = [SharedMachine(env, index, size) for index, size in enumerate(sizes)]
        self._room = Room(sizes)

    @property
    def full(self) -> bool:
        """Whether no machine has a free core."""
        return self._room.most_cores == 0

    def place(self, job: Arriving) -> SharedMachine | None:
        """Promise a job room on the machine that fits best; None if no machine has room."""
        index = self._room.best(job.cores, job.memory_gb)
        if index < 0:
            return None
        self._room.change(index, -job.cores, -job.memory_gb)
        return self._machines[index]

    def free(self, machine: SharedMachine, job: Arriving) -> None:
        """Note that a job has left a machine."""
        self._room.change(machine.index, job.cores, job.memory_gb)


class SharedPlan:
    """What is free on shared machines once the last job that has been admitted starts: exact, first come, first served.

    Nobody overtakes, so no job that comes later starts before that moment.
    """

    def __init__(self, sizes: Sequence[Size]) -> None:
        self._room = Room(sizes)
        self._ends: list[tuple[float, int, int, float]] = []  # a heap of end, machine, cores, memory
        self._last_s = 0.0

    def admits(self, job: Arriving, patience_s: float) -> bool:
        """Whether a job that comes now will start within its patience; if so, it is planned."""
        latest_s, start_s = job.submit_s + patience_s, max(job.submit_s, self._last_s)
        room, ends = self._room, self._ends
        _pass(room, ends, start_s)
        index = room.best(job.cores, job.memory_gb)
        if index < 0 and start_s <= latest_s:
            room, ends = room.copy(), ends.copy()  # a look ahead, of no effect on others if the job is not admitted
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
        """A job that is not admitted waits all the same, in vain: until it gives up, nobody behind it starts."""
        self._last_s = max(self._last_s, job.submit_s + patience_s)


def _pass(room: Room, ends: list[tuple[float, int, int, float]], time_s: float) -> None:
    """Free what the jobs held that have ended by a time."""
    while ends and ends[0][0] <= time_s:
        _, index, cores, memory_gb = heappop(ends)
        room.change(index, cores, memory_gb)


Machines = WholeMachines | SharedMachines
Plan = WholePlan | SharedPlan
