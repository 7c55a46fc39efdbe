"""Branch and bound for a few tasks, and the lower bound that it gives."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count
from operator import le

import numpy as np

from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.rules import best_listed

MOST_NODES = 2000
FEW = 10  # tasks whose optimum usually needs no more nodes


def by_few(instance: Instance) -> float:
    """Return a lower bound: the sum of the optima of small groups of tasks.

    Groups are disjoint, and each has the GPUs to itself. A group is a late task of the
    best list schedule and the last ones to start before it, or all of few tasks.
    """
    best = best_listed(instance)
    order = np.argsort(best.start_s, kind="stable").tolist()
    late, bound = best.tardiness_s > 0, 0.0
    if instance.tasks <= FEW:
        return least_of_few(instance, order) if late.any() else 0.0
    while order:
        size = FEW if late[order[-1]] else 1
        group, order = order[-size:], order[:-size]
        bound += least_of_few(instance, group) if size > 1 else 0.0
    return bound


def least_of_few(
    instance: Instance, tasks: Sequence[int], nodes: int = MOST_NODES
) -> float:
    """Return the least cost of some tasks alone on the GPUs, or a lower bound.

    The search is best first, up to `nodes` nodes: the partial schedule of least bound
    is extended by one task on one GPU. The bound is the cost of its tasks plus the
    least cost of each other task if it came next. No extension leaves a GPU idle for as
    long as another task would take there, as in some optimal schedule (Giffler and
    Thompson, Operations Research 8 (1960) 487-503). Dominated partial schedules of the
    same tasks are dropped.
    """
    columns = (
        instance.arrival_s,
        instance.deadline_s,
        instance.weight,
        instance.times_s,
    )
    jobs = list(zip(*(column[list(tasks)].tolist() for column in columns)))

    def bound(cost: float, free_s: tuple[float, ...], left: frozenset[int]) -> float:
        for k in left:
            arrival_s, deadline_s, weight, times_s = jobs[k]
            end_s = min(
                max(now_s, arrival_s) + time for now_s, time in zip(free_s, times_s)
            )
            cost += weight * max(0.0, end_s - deadline_s)
        return cost

    ties, everyone = count(), frozenset(range(len(jobs)))
    free_s = tuple(instance.free_s.tolist())
    heap = [
        (bound(0.0, free_s, everyone), len(jobs), next(ties), 0.0, free_s, everyone)
    ]
    seen: dict[frozenset[int], list[tuple[float, ...]]] = {}
    while True:
        least, many, _, cost, free_s, left = heappop(heap)
        if not many or not nodes:
            return float(least)
        nodes -= 1
        for j, now_s in enumerate(free_s):
            ends_s = {k: max(now_s, jobs[k][0]) + jobs[k][3][j] for k in left}
            first_end_s = min(ends_s.values())
            for k, end_s in ends_s.items():
                start_s = max(now_s, jobs[k][0])
                if end_s == np.inf or start_s >= first_end_s:
                    continue
                then = (*free_s[:j], end_s, *free_s[j + 1 :])
                others = left - {k}
                late = cost + jobs[k][2] * max(0.0, end_s - jobs[k][1])
                known = seen.setdefault(others, [])
                if not any(all(map(le, one, (*then, late))) for one in known):
                    known.append((*then, late))
                    entry = (bound(late, then, others), many - 1, next(ties))
                    heappush(heap, (*entry, late, then, others))
