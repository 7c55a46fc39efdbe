"""Plans by which a job's wait is foreseen, first come, first served."""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heappop, heappush, heapreplace

from cgrsp_simpy.waiting.jobs import Job
from cgrsp_simpy.waiting.machines import Room, Size


class WholePlan:
    """When each whole machine falls free, with every job planned that has been admitted: exact,
    first come, first served.
    """

    def __init__(self, number: int) -> None:
        self._ends = [0.0] * number or [math.inf]  # a heap

    def admits(self, job: Job, patience_s: float) -> bool:
        """Whether a job that comes now will start within its patience; if so, it is planned."""
        start_s = max(job.submit_s, self._ends[0])
        if start_s > job.submit_s + patience_s:
            return False
        heapreplace(self._ends, start_s + job.run_s)
        return True

    def lingers(self, job: Job, patience_s: float) -> None:
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

    def admits(self, job: Job, patience_s: float) -> bool:
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

    def lingers(self, job: Job, patience_s: float) -> None:
        """A job that is not admitted waits all the same, in vain: until it gives up, nobody
        behind it starts.
        """
        self._last_s = max(self._last_s, job.submit_s + patience_s)


def _pass(room: Room, ends: list[tuple[float, int, int, float]], time_s: float) -> None:
    """Free what the jobs held that have ended by a time."""
    while ends and ends[0][0] <= time_s:
        _, index, cores, memory_gb = heappop(ends)
        room.change(index, cores, memory_gb)


Plan = WholePlan | SharedPlan  # what is known of the machines when a job comes


def plan_of(machines: int | Sequence[Size]) -> Plan:
    """The plan of whole machines, or of shared ones."""
    return WholePlan(machines) if isinstance(machines, int) else SharedPlan(machines)
