"""Dispatch rules: whenever a GPU is idle and tasks wait, which goes first; WSPT, EDD and ATC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush

import numpy as np

from cgrsp_simpy.hgsp.instance import Floats, Instance
from cgrsp_simpy.hgsp.schedule import Ints, Schedule

__all__ = ["RULES", "Priority", "atc", "decide", "dispatch", "edd", "wspt"]

LOOK_AHEAD = 2.0  # K of ATC; 1.5 to 4.5 are usual

Priority = Callable[[Instance, Ints, float], Floats]
"""From an instance, indices of the waiting tasks, and the time in seconds to their priorities; the largest goes first."""


def wspt(instance: Instance, waiting: Ints, now_s: float) -> Floats:  # noqa: ARG001, one signature for all rules
    """Weighted shortest processing time: w / p. Source: Smith (1956), Naval Research Logistics Quarterly 3, 59-66."""
    return instance.weight[waiting] / instance.least_time_s[waiting]


def edd(instance: Instance, waiting: Ints, now_s: float) -> Floats:  # noqa: ARG001
    """Earliest due date. Source: Jackson (1955), Management Science Research Project 43, UCLA."""
    return -instance.deadline_s[waiting]


def atc(instance: Instance, waiting: Ints, now_s: float) -> Floats:
    """Apparent tardiness cost: w / p x exp(-slack / (K mean p)), slack = max(0, d - p - t).

    p is the time on the fastest GPU that a task fits on. Source: Vepsalainen and Morton (1987), Management Science 33,
    1035-1047.
    """
    time_s = instance.least_time_s[waiting]
    slack_s = np.maximum(0.0, instance.deadline_s[waiting] - time_s - now_s)
    return np.asarray(instance.weight[waiting] / time_s * np.exp(-slack_s / (LOOK_AHEAD * time_s.mean())))


RULES: dict[str, Priority] = {"wspt": wspt, "edd": edd, "atc": atc}


def decide(
    instance: Instance, priority: Priority, waiting: Sequence[int], idle: Sequence[int], now_s: float
) -> list[tuple[int, int]]:
    """Pairs of task and GPU that start now: by priority, each on the fastest idle GPU that it fits on, if there is one.

    Equal priorities go by arrival, equal GPUs by index.
    """
    tasks, free = np.sort(np.asarray(waiting, dtype=np.int64)), sorted(idle)
    answer: list[tuple[int, int]] = []
    for place in np.argsort(-priority(instance, tasks, now_s), kind="stable"):
        if not free:
            break
        task = int(tasks[place])
        times_s = instance.times_s[task, free]
        best = int(np.argmin(times_s))
        if np.isfinite(times_s[best]):
            answer.append((task, free.pop(best)))
    return answer


def dispatch(instance: Instance, priority: Priority) -> Schedule:
    """The schedule that a rule makes when tasks are revealed as they arrive."""
    gpu, start_s, finish_s = np.zeros(instance.tasks, np.int64), np.zeros(instance.tasks), np.zeros(instance.tasks)
    idle, waiting, ends = set(range(len(instance.gpus))), set[int](), list[tuple[float, int]]()
    arrivals, coming = instance.arrival_s.tolist(), 0
    while coming < instance.tasks or waiting:
        now_s = min(arrivals[coming] if coming < instance.tasks else np.inf, ends[0][0] if ends else np.inf)
        while coming < instance.tasks and arrivals[coming] <= now_s:
            waiting.add(coming)
            coming += 1
        while ends and ends[0][0] <= now_s:
            idle.add(heappop(ends)[1])
        if not (waiting and idle):
            continue
        for task, j in decide(instance, priority, list(waiting), list(idle), now_s):
            waiting.remove(task)
            idle.remove(j)
            gpu[task], start_s[task], finish_s[task] = j, now_s, now_s + instance.times_s[task, j]
            heappush(ends, (float(finish_s[task]), j))
    return Schedule(instance, gpu, start_s, finish_s)
