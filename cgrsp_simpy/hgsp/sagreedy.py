"""SAGreedy (hgsp.txt Section III.C): an annealing over orders of tasks, as the authors' public
program has it.

The program differs from the text: an order is carried out by insertion into gaps, the neighbour
draws anew in which order the chosen late tasks go first, and it runs with K = 1000 and alpha = .99
(the text: 100 and .95). With the text's own rules, a task that is put in front blocks its GPU until
it has arrived and run, and nothing is gained at medium load.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

import numpy as np

from cgrsp_simpy.hgsp.instance import Floats, Instance
from cgrsp_simpy.hgsp.schedule import Schedule
from cgrsp_simpy.model.streams import stream

INITIAL, COOLING, ITERATIONS = 1000.0, 0.99, 1000  # T_initial, alpha, K of the program
LEAST_RATIO, MOST_RATIO = 0.1, 0.8  # of Eq. 15, whose clip is a straight line here


@dataclass(frozen=True)
class Iteration:
    """One step of a search. objective: of the solution that it goes on from. best: least so far."""

    iteration: int
    temperature: float
    objective: float
    best: float


def insertion(instance: Instance, order: Iterable[int]) -> Schedule:
    """Each task in turn goes into the earliest gap after its arrival that holds it, on the GPU
    where it then ends first; of equal GPUs it is the first. In order of arrival this is Greedy.

    order: indices of all tasks.
    """
    n, arrivals, times = instance.tasks, instance.arrival_s.tolist(), instance.times_s.tolist()
    gpu, start, finish = [0] * n, [0.0] * n, [0.0] * n
    shortest_s = instance.times_s.min(axis=0).tolist()  # a gap below it holds nothing
    opens = [[free_s] for free_s in instance.free_s.tolist()]  # gaps of each GPU, the last without
    closes = [[math.inf] for _ in opens]  # an end
    for task in order:
        arrival, best, chosen, where = arrivals[task], math.inf, 0, 0
        for j, time in enumerate(times[task]):
            if time == math.inf:
                continue
            gap = bisect_left(closes[j], arrival + time)
            while (begin := max(arrival, opens[j][gap])) + time > closes[j][gap]:
                gap += 1
            if begin + time < best:
                best, chosen, where = begin + time, j, gap
        begin = max(arrival, opens[chosen][where])
        gpu[task], start[task], finish[task] = chosen, begin, best
        ends = ((opens[chosen][where], begin), (best, closes[chosen][where]))
        left = [(since, until) for since, until in ends if until - since >= shortest_s[chosen]]
        opens[chosen][where : where + 1] = [since for since, _ in left]
        closes[chosen][where : where + 1] = [until for _, until in left]
    return Schedule(instance, np.array(gpu), np.array(start), np.array(finish))


def sagreedy(
    instance: Instance, seed: int = 0, iterations: int = ITERATIONS
) -> tuple[Schedule, list[Iteration]]:
    """The best schedule of a run, and its course; never worse than Greedy, from which it starts.

    It ends early where no task is late.
    """
    rng = Random(int.from_bytes(stream(seed, "sagreedy").bytes(16)))
    temperature = INITIAL
    current = best = insertion(instance, range(instance.tasks))
    value = least = current.weighted_tardiness
    course = [Iteration(0, temperature, value, least)]
    for iteration in range(1, iterations + 1):
        if least == 0:
            break
        found = insertion(instance, _neighbour(current.tardiness_s, instance, temperature, rng))
        worse = found.weighted_tardiness - value
        if worse <= 0 or rng.random() < math.exp(-worse / temperature):
            current, value = found, found.weighted_tardiness
        if value < least:
            best, least = current, value
        course.append(Iteration(iteration, temperature, value, least))
        temperature *= COOLING
    return best, course


def _neighbour(
    tardiness_s: Floats, instance: Instance, temperature: float, rng: Random
) -> list[int]:
    """The latest of the late tasks first, by lateness, arrival, deadline or chance; the others
    behind them by arrival, or shuffled, which is the rarer the colder it is.
    """
    coldest = INITIAL * COOLING**ITERATIONS
    share = (temperature - coldest) / (INITIAL - coldest)
    ratio = LEAST_RATIO + (MOST_RATIO - LEAST_RATIO) * share
    tardy = int((tardiness_s > 0).sum())
    latest = np.argsort(-tardiness_s, kind="stable")[: max(1, math.floor(ratio * tardy))]
    first: list[int] = latest.tolist()
    chosen, way = set(first), rng.random()
    others = [task for task in range(instance.tasks) if task not in chosen]
    if 0.25 <= way < 0.5:
        first.sort()
    elif 0.5 <= way < 0.75:
        first.sort(key=instance.deadline_s.__getitem__)
    elif way >= 0.75:
        rng.shuffle(first)
    if rng.random() < temperature / INITIAL:
        rng.shuffle(others)
    return first + others
