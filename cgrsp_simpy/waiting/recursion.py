"""First come, first served without events: a start follows from when machines next fall free.

The same jobs start at the same times as in the simulation, to the last bit; this is its check, and
its fast path. A machine is taken as a whole by one job at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from heapq import heapreplace
from typing import TYPE_CHECKING

import numpy as np

from cgrsp_simpy.engine.run import Records, Run
from cgrsp_simpy.model.checks import InputError, check_whole
from cgrsp_simpy.waiting.jobs import Chunk, Floats
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
    return Run(scenario, scenario.told, seed, records)


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
