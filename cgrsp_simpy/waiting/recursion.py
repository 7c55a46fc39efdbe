"""First come, first served without events: a recursion for the start times of jobs.

The start times are bit-identical to those of the simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from heapq import heapreplace
from typing import Any

import numpy as np

from cgrsp_simpy.base.arrays import Bools, Floats
from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.base.parameters import Whole, checked
from cgrsp_simpy.engine.run import Records, Run
from cgrsp_simpy.waiting.jobs import Chunk
from cgrsp_simpy.waiting.machines import Size
from cgrsp_simpy.waiting.policies import (
    MISLED,
    RENTS_AT_ONCE,
    Predictions,
    WaitingPolicy,
)

COMPILED_FROM = 200_000  # number of jobs from which compilation pays
Machines = int | Sequence[Size]  # taken as a whole, or shared by cores and memory


@checked
def follow(scenario: Any, seed: Whole = 0, *, keep: bool = False) -> Run:
    """Run a scenario under its policy without events.

    The figures are bit-identical to those of the simulation. keep: record each job, but
    no claims. Raises InputError for a queue order other than first come, first served.
    """
    if not scenario.recursive:
        raise InputError(
            "the recursion applies only to first come, first served; simulate instead"
        )
    records = Records(scenario.report(scenario), keep)
    records.claims = None  # nor does the recursion know which machine a job is on
    policy, first = scenario.policy, 1
    for chunk, predictions, starts in started(
        scenario.foreseen(seed),
        policy,
        scenario.machines,
        scenario.work_conserving,
        fast=scenario.jobs >= COMPILED_FROM,
    ):
        on_demand = np.isnan(starts)
        waited_s = np.where(_in_vain(predictions, policy), policy.wait_s, 0.0)
        start_s = np.where(on_demand, chunk.submit_s + waited_s, starts)
        records.take(
            {
                "job": np.arange(first, first + len(starts)),
                **chunk._asdict(),
                "dispatch_s": starts,
                "start_s": start_s,
                "finish_s": start_s + chunk.run_s,
                "on_demand": on_demand,
            }
        )
        first += len(starts)
    return Run(scenario, scenario.label, seed, records)


def started(
    foreseen: Iterable[tuple[Chunk, Predictions]],
    policy: WaitingPolicy,
    machines: Machines,
    work_conserving: bool = False,
    fast: bool = False,
) -> Iterator[tuple[Chunk, Predictions, Floats]]:
    """Yield each job's start time on a fixed machine, NaN if none, in chunks.

    Job n takes the machine that is free first, at time F: it starts at S(n) = max(A(n),
    F), and F becomes S(n) + run time. It does not if S(n) > A(n) + b or it goes on
    demand (Kiefer and Wolfowitz's recursion, with patience). On shared machines, F is
    when one of them first has room, and jobs start in order of arrival; one that waits
    and gives up blocks all later ones until then. fast: use compiled code; needs numba.
    """
    if isinstance(machines, int):
        needs, (rows, loop) = 0, _either(_whole, fast)
        state: list[Any] = [np.zeros(machines) if machines else np.array([math.inf])]
    else:
        needs, (rows, loop) = 2, _either(_shared, fast)
        free = [
            [size.cores for size in machines],
            [size.memory_gb for size in machines],
        ]
        state = [np.array(column, float) for column in ([], *free, [0.0, -math.inf])]
    state = list(map(rows, state))
    for chunk, predictions in foreseen:
        limits = (
            chunk.submit_s
            + np.where(
                predictions == RENTS_AT_ONCE,
                0.0 if work_conserving else -math.inf,
                policy.wait_s,
            ),
            _in_vain(predictions, policy),
            np.full(len(predictions), math.nan),
        )
        columns = list(map(rows, (*chunk[: 2 + needs], *limits)))
        state[0] = rows(np.ravel(loop(*columns, *state)))
        yield chunk, predictions, np.asarray(columns[-1])


def _in_vain(predictions: Predictions, policy: WaitingPolicy) -> Bools:
    """Return whether each job, if it gets no fixed machine, waits until it gives up."""
    return np.asarray(
        (predictions != RENTS_AT_ONCE) & ((predictions == MISLED) | (not policy.balks))
    )


@cache
def _either(
    loop: Callable[..., Any], fast: bool
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a converter for the arrays of a loop, and the loop, compiled if `fast`."""
    if not fast:
        return np.ndarray.tolist, loop
    from cgrsp_simpy.base.compiled import compiled, rows_of

    return rows_of, compiled(loop)


def _whole(
    submit_s: Any, run_s: Any, latest_s: Any, _: Any, starts: Any, ends: Any
) -> list[float]:
    """Return a heap of when machines become free; a job that gives up delays none."""
    heap = [end for end in ends]  # noqa: C416, an array if compiled
    for n in range(len(submit_s)):
        start = heap[0]
        if start < submit_s[n]:
            start = submit_s[n]
        if start <= latest_s[n]:
            heapreplace(heap, start + run_s[n])
            starts[n] = start
    return heap


def _shared(
    submit_s: Any,
    run_s: Any,
    cores: Any,
    memory_gb: Any,
    latest_s: Any,
    in_vain: Any,
    starts: Any,
    before: Any,
    free: Any,
    free_gb: Any,
    last: Any,
) -> list[tuple[float, float, float, float]]:
    """Return the running jobs, last end first: end, machine, cores and GB of each.

    before: the previous result as a flat list. free, free_gb: free cores and memory per
    machine. last: time before which no job starts, and the last start.
    """
    held = [
        (before[k], before[k + 1], before[k + 2], before[k + 3])
        for k in range(0, len(before), 4)
    ]
    last_s, began = last
    for n in range(len(submit_s)):
        latest = latest_s[n]
        start = max(submit_s[n], last_s)
        best = -1
        # jobs without running time leave at the time at which the next finds no room
        turns = 1 if start > began else 2
        for turn in range(turns):
            while turn == turns - 1 and len(held) > 0 and held[-1][0] <= start:
                _, at, job_cores, job_gb = held.pop()
                free[int(at)] += job_cores
                free_gb[int(at)] += job_gb
            if start > latest:
                break
            for i in range(len(free)):
                if free[i] >= cores[n] and free_gb[i] >= memory_gb[n]:  # noqa: SIM102
                    if best < 0 or (free[i], free_gb[i]) < (free[best], free_gb[best]):
                        best = i
            if best >= 0:
                break
        ahead = len(held)  # looking ahead, jobs from here on are assumed to have ended
        while (
            start <= latest and best < 0 and ahead > 0 and held[ahead - 1][0] <= latest
        ):
            start, count = held[ahead - 1][0], ahead
            while ahead > 0 and held[ahead - 1][0] <= start:
                ahead -= 1
                free[int(held[ahead][1])] += held[ahead][2]
                free_gb[int(held[ahead][1])] += held[ahead][3]
            for k in range(ahead, count):
                i = int(held[k][1])
                if free[i] >= cores[n] and free_gb[i] >= memory_gb[n]:  # noqa: SIM102
                    if best < 0 or (free[i], free_gb[i], i) < (
                        free[best],
                        free_gb[best],
                        best,
                    ):
                        best = i
        if best < 0:
            for k in range(ahead, len(held)):
                free[int(held[k][1])] -= held[k][2]
                free_gb[int(held[k][1])] -= held[k][3]
            if in_vain[n]:
                last_s = max(last_s, latest)
            if start <= latest:
                began = -math.inf
            continue
        while len(held) > ahead:
            held.pop()
        free[best] -= cores[n]
        free_gb[best] -= memory_gb[n]
        starts[n] = last_s = began = start
        end, low, high = start + run_s[n], 0, len(held)
        while low < high:
            middle = (low + high) // 2
            if held[middle][0] > end:
                low = middle + 1
            else:
                high = middle
        held.insert(low, (end, float(best), float(cores[n]), float(memory_gb[n])))
    last[0], last[1] = last_s, began
    return held
