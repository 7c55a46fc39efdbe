"""Dispatch rules WSPT, EDD and ATC: which task starts when a GPU is idle."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.schedule import Schedule, from_sequences, greedy_assignment

LOOK_AHEAD = 2.0  # K of ATC; 1.5 to 4.5 are usual


class Columns(NamedTuple):
    """Waiting tasks in order of arrival; arrays of shape (tasks,), times in seconds.

    least_time_s: p on the fastest GPU that fits. times_s: p_ij, of shape (tasks, GPUs);
    infinite if a task does not fit.
    """

    weight: Floats
    deadline_s: Floats
    least_time_s: Floats
    times_s: Floats


def columns_of(instance: Instance, tasks: Sequence[int]) -> Columns:
    """Select tasks of an instance by their indices."""
    columns = (
        instance.weight,
        instance.deadline_s,
        instance.least_time_s,
        instance.times_s,
    )
    rows = np.asarray(tasks, np.int64)  # once, which takes most of the time
    return Columns(*(column[rows] for column in columns))


Priority = Callable[[Columns, float], Floats]
"""(waiting tasks, time in seconds) -> priorities; the largest goes first."""


# now_s: one signature for all rules
def wspt(waiting: Columns, now_s: float) -> Floats:  # noqa: ARG001
    """Weighted shortest processing time: w / p, on the fastest GPU that a task fits on.

    Source: Smith (1956), Naval Research Logistics Quarterly 3, 59-66.
    """
    return waiting.weight / waiting.least_time_s


def edd(waiting: Columns, now_s: float) -> Floats:  # noqa: ARG001
    """Earliest due date.

    Source: Jackson (1955), Management Science Research Project 43, UCLA.
    """
    return -waiting.deadline_s


def atc(waiting: Columns, now_s: float) -> Floats:
    """Apparent tardiness cost: w / p x exp(-max(0, d - p - t) / (K mean p)).

    p is the time on the fastest GPU that a task fits on. Source: Vepsalainen and Morton
    (1987), Management Science 33, 1035-1047.
    """
    time_s = waiting.least_time_s
    slack_s = np.maximum(0.0, waiting.deadline_s - time_s - now_s)
    return np.asarray(
        waiting.weight / time_s * np.exp(-slack_s / (LOOK_AHEAD * time_s.mean()))
    )


# dispatching rules by name
RULES: dict[str, Priority] = {"wspt": wspt, "edd": edd, "atc": atc}


def decide(
    waiting: Columns, priority: Priority, idle: Sequence[int], now_s: float
) -> list[tuple[int, int]]:
    """Return (position among the waiting tasks, GPU) pairs to start now.

    Tasks go by priority to the fastest idle GPU that fits; ties to earlier tasks.
    """
    free = sorted(idle)
    answer: list[tuple[int, int]] = []
    for place in map(int, np.argsort(-priority(waiting, now_s), kind="stable")):
        if not free:
            break
        times_s = waiting.times_s[place, free]
        best = int(np.argmin(times_s))
        if np.isfinite(times_s[best]):
            answer.append((place, free.pop(best)))
    return answer


def dispatch(instance: Instance, priority: Priority) -> Schedule:
    """Return the schedule of a rule that knows tasks only once they have arrived."""
    sequences = [list[int]() for _ in instance.gpus]
    free_s = instance.free_s.tolist()
    arrivals = instance.arrival_s.tolist()
    waiting = list[int]()
    moments = sorted({*free_s, *arrivals})  # a heap
    come = 0
    while moments:
        now_s = heappop(moments)
        arrived = bisect_right(arrivals, now_s)
        waiting += range(come, arrived)
        come = arrived
        idle = [j for j, end_s in enumerate(free_s) if end_s <= now_s]
        if waiting and idle:
            pairs = decide(columns_of(instance, waiting), priority, idle, now_s)
            for task, j in [(waiting[place], j) for place, j in pairs]:
                waiting.remove(task)
                sequences[j].append(task)
                free_s[j] = now_s + instance.times_s.item(task, j)
                heappush(moments, free_s[j])
    return from_sequences(instance, sequences)


def best_listed(instance: Instance) -> Schedule:
    """Return the best of the schedules by Greedy and by each rule."""
    schedules = (
        greedy_assignment(instance, range(instance.tasks)),
        *(dispatch(instance, rule) for rule in RULES.values()),
    )
    return min(schedules, key=lambda schedule: schedule.weighted_tardiness)
