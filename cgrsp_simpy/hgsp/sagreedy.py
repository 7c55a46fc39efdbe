"""SAGreedy: annealing over orders of tasks, each evaluated by greedy assignment (hgsp.txt Section
III.C), in two readings.

The neighbour puts late tasks at the front of the order, before tasks that arrive long before them.
The text can be read in two ways as to what greedy assignment (Section III.B) makes of a task that
is put in front of the queue and has not arrived:

- "For each task i in order", with c_ij = max(a_i, avail_j) + L_i / v_j and avail_j the time at
  which GPU j finishes what it has been assigned: the task takes a GPU at once, and blocks it until
  the task arrives and has run (`greedy_assignment`).
- "At any scheduling decision point", "tasks arrive dynamically" (Section III): only tasks that have
  arrived are in the queue, and the order says which of them goes first; the task blocks nothing
  before it arrives (`greedy_as_they_arrive`).

In order of arrival both give Greedy's schedule, from which the search starts.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

import numpy as np

from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.schedule import Schedule, greedy_assignment
from cgrsp_simpy.model.streams import stream

INITIAL, COOLING, ITERATIONS = 1000.0, 0.95, 100  # T_initial, alpha, K; Section IV.A
LEAST = INITIAL * COOLING**ITERATIONS  # T_min is not printed: what the schedule ends at
LEAST_RATIO, MOST_RATIO = 0.1, 0.8

Assign = Callable[[Instance, Iterable[int]], Schedule]
"""From an instance and the order of its tasks to a schedule."""


@dataclass(frozen=True)
class Iteration:
    """One step of a search. objective: of the solution that it goes on from. best: least so far."""

    iteration: int
    temperature: float
    objective: float
    best: float


def greedy_as_they_arrive(instance: Instance, order: Iterable[int]) -> Schedule:
    """Decide whenever a task arrives or a GPU falls idle: greedy assignment of the tasks that have
    arrived, in a given order.

    A task whose earliest finish is on an idle GPU starts; one that would end sooner on a busy
    GPU waits for that, and those after it count with it. What waits is decided anew at the next
    decision. order: indices of all tasks.
    """
    rank = {task: place for place, task in enumerate(order)}
    n, arrivals, times = instance.tasks, instance.arrival_s.tolist(), instance.times_s.tolist()
    gpu, start, finish = [0] * n, [0.0] * n, [0.0] * n
    free_s, queue, coming, now_s = instance.free_s.tolist(), list[tuple[int, int]](), 0, 0.0
    while coming < n or queue:
        ends_s = [end_s for end_s in free_s if end_s > now_s] if queue else []
        # nothing starts before a GPU is idle
        now_s = max(min(ends_s + arrivals[coming : coming + 1]), min(free_s))
        while coming < n and arrivals[coming] <= now_s:
            insort(queue, (rank[coming], coming))
            coming += 1
        for task, j, finish_s in _start(queue, times, free_s, now_s):
            gpu[task], start[task], finish[task], free_s[j] = j, now_s, finish_s, finish_s
    return Schedule(instance, np.array(gpu), np.array(start), np.array(finish))


def _start(
    queue: list[tuple[int, int]], times: list[list[float]], free_s: list[float], now_s: float
) -> list[tuple[int, int, float]]:
    """Take out of a queue of (rank, task) what starts now: task, GPU and finish of each.

    free_s: when each GPU falls idle.
    """
    planned_s, place, started = [max(now_s, end_s) for end_s in free_s], 0, []
    while place < len(queue) and now_s in planned_s:
        task = queue[place][1]
        finish_s, j = min([(planned_s[j] + time_s, j) for j, time_s in enumerate(times[task])])
        if planned_s[j] == now_s:
            started.append((task, j, finish_s))
            del queue[place]
        else:
            place += 1
        planned_s[j] = finish_s
    return started


def sagreedy(
    instance: Instance,
    seed: int = 0,
    iterations: int = ITERATIONS,
    assign: Assign = greedy_assignment,
) -> tuple[Schedule, list[Iteration]]:
    """The best schedule of a run, and its course; never worse than Greedy, from which it starts.

    assign: what evaluates an order, `greedy_assignment` or `greedy_as_they_arrive`.
    """
    rng = Random(int.from_bytes(stream(seed, "sagreedy").bytes(16)))
    order, temperature = np.arange(instance.tasks), INITIAL
    current = best = assign(instance, order.tolist())
    value = least = current.weighted_tardiness
    course = [Iteration(0, temperature, value, least)]
    for iteration in range(1, iterations + 1):
        neighbour = _neighbour(order, current, temperature)
        found = assign(instance, neighbour.tolist())
        worse = found.weighted_tardiness - value
        if worse <= 0 or rng.random() < math.exp(-worse / temperature):
            order, current, value = neighbour, found, found.weighted_tardiness
        if value < least:
            best, least = current, value
        course.append(Iteration(iteration, temperature, value, least))
        temperature *= COOLING
    return best, course


def _neighbour(order: np.ndarray, schedule: Schedule, temperature: float) -> np.ndarray:
    """The worst of the tardy tasks to the front, by weighted tardiness; the others
    stay in order.
    """
    weighted = schedule.instance.weight * schedule.tardiness_s
    tardy = int((schedule.tardiness_s > 0).sum())
    ratio = min(MOST_RATIO, max(LEAST_RATIO, (temperature - LEAST) / (INITIAL - LEAST)))  # Eq. 15
    first = np.argsort(-weighted, kind="stable")[: math.floor(ratio * tardy)]
    return np.concatenate([first, order[~np.isin(order, first)]])
