"""First come, first served without events: a start follows from when machines next fall free.

The same jobs start at the same times as in the simulation, to the last bit: this is its check, its
fast path (`follow`, where a job takes a machine as a whole), and how a job foresees its wait.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush, heapreplace
from typing import TYPE_CHECKING

import numpy as np

from cgrsp_simpy.engine.run import Records, Run
from cgrsp_simpy.model.checks import InputError, check_whole
from cgrsp_simpy.waiting.jobs import Chunk, Floats, Job
from cgrsp_simpy.waiting.machines import Room, Size
from cgrsp_simpy.waiting.policies import GOES, MISLED, Kinds, WaitingPolicy
from cgrsp_simpy.waiting.tally import Columns

if TYPE_CHECKING:
    from cgrsp_simpy.waiting.scenario import Scenario


def follow(scenario: Scenario, seed: int = 0, *, keep: bool = False) -> Run:
    """The run of a scenario under its own policy, without events; a job takes about a microsecond.

    keep: what became of each job; there are no claims. Its figures are those of the simulation, to
    the bit. Raises InputError for another order, shared machines, or a seed that is not allowed.
    """
    check_whole("seed", seed, least=0)
    if not isinstance(scenario.machines, int) or not scenario.recursive:
        raise InputError(
            "the recursion is for machines that a job takes as a whole, first come, first served;"
            " simulate instead"
        )
    records, rules = Records(scenario, keep), (scenario.policy, scenario.machines)
    for jobs in recursion(scenario.foreseen(seed), *rules, scenario.work_conserving):
        records.take(jobs)
    return Run(scenario, scenario.label, seed, records)


def recursion(
    foreseen: Iterable[tuple[Chunk, Kinds]],
    policy: WaitingPolicy,
    servers: int,
    work_conserving: bool = False,
) -> Iterator[Columns]:
    """What becomes of the jobs, chunk by chunk; memory does not grow with their number.

    The start of job n on the machine that falls free first, at F: S(n) = max(A(n), F), and F
    becomes S(n) + run time; unless S(n) > A(n) + b, or the job is one to go on demand. (Kiefer and
    Wolfowitz's recursion, with patience.)
    """
    ends = [0.0] * servers or [math.inf]  # a heap: when each machine falls free
    first = 0
    for chunk, kinds in foreseen:
        starts = _starts(chunk, kinds, ends, policy.wait_s, work_conserving)
        yield _columns(first, chunk, kinds, starts, policy)
        first += len(starts)


def _starts(
    chunk: Chunk, kinds: Kinds, ends: list[float], wait_s: float, work_conserving: bool
) -> Floats:
    """When each job starts on a fixed machine; NaN if it does not."""
    patience = np.where(kinds == GOES, 0.0 if work_conserving else -math.inf, wait_s)
    starts: list[float] = []
    add = starts.append
    for submit, run, latest in zip(
        chunk.submit_s.tolist(), chunk.run_s.tolist(), (chunk.submit_s + patience).tolist()
    ):
        start = ends[0]
        if start < submit:
            start = submit
        if start <= latest:
            heapreplace(ends, start + run)
            add(start)
        else:
            add(math.nan)
    return np.array(starts)


def _columns(
    first: int, chunk: Chunk, kinds: Kinds, starts: Floats, policy: WaitingPolicy
) -> Columns:
    on_demand = np.isnan(starts)
    in_vain = on_demand & (kinds != GOES) & ((kinds == MISLED) | (not policy.balks))
    gone = chunk.submit_s + np.where(in_vain, policy.wait_s, 0.0)
    start_s = np.where(on_demand, gone, starts)
    return {
        "job": np.arange(first, first + len(starts)) + 1,
        **chunk._asdict(),
        "dispatch_s": starts,
        "start_s": start_s,
        "finish_s": start_s + chunk.run_s,
        "on_demand": on_demand,
    }


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
