"""SAGreedy (hgsp.txt Section III.C): simulated annealing over orders of tasks.

It follows the authors' public program, which differs from the text: an order is carried
out by insertion into gaps, the neighbour draws a new order of the chosen late tasks,
and K = 1000 and alpha = .99 (text: 100 and .95).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.base.arrays import Floats, Ints
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.schedule import Iteration, Schedule, Solution

INITIAL, COOLING, ITERATIONS = 1000.0, 0.99, 1000  # T_initial, alpha, K of the program
LEAST_RATIO, MOST_RATIO = 0.1, 0.8  # ends in Eq. 15, linear instead of clipped


def inserter(instance: Instance) -> Callable[[Ints], Schedule]:
    """Return a function that schedules an order of all tasks.

    Each task in turn goes into the earliest gap of the GPU on which it then ends first.
    With the order of arrival, the schedule is Greedy's.
    """
    from cgrsp_simpy.base.compiled import rows_of
    from cgrsp_simpy.hgsp import descent  # numba takes a second to load

    n, m = instance.times_s.shape
    arrivals_s, times_s = map(rows_of, (instance.arrival_s, instance.times_s))
    shortest_s = instance.times_s.min(axis=0)

    def carry_out(order: Ints) -> Schedule:
        opens, closes = np.zeros((m, n + 1)), np.full((m, n + 1), math.inf)
        opens[:, 0] = instance.free_s
        arrays = (opens, closes, np.ones(m, np.int64), shortest_s)
        gaps = descent.Gaps(*map(rows_of, arrays))
        gpu, start_s = rows_of(np.zeros(n, np.int64)), rows_of(np.zeros(n))
        descent.insert(rows_of(order), arrivals_s, times_s, gaps, gpu, start_s)
        run_s = instance.times_s[np.arange(n), gpu]
        return Schedule(instance, np.array(gpu), np.array(start_s), start_s + run_s)

    return carry_out


def sagreedy(
    instance: Instance, seed: int = 0, iterations: int = ITERATIONS
) -> tuple[Schedule, list[Iteration]]:
    """Return the best schedule, never worse than Greedy's, and the search steps."""
    rng, temperature, carry_out = stream(seed, "sagreedy"), INITIAL, inserter(instance)
    current = best = carry_out(np.arange(instance.tasks))
    value = least = current.weighted_tardiness
    course = [Iteration(0, value, least)]
    for iteration in range(1, iterations + 1):
        if least == 0:
            break
        candidate = carry_out(
            neighbour(current.tardiness_s, instance, temperature, rng)
        )
        worse = candidate.weighted_tardiness - value
        if worse <= 0 or rng.random() < math.exp(-worse / temperature):
            current, value = candidate, candidate.weighted_tardiness
        if value < least:
            best, least = current, value
        course.append(Iteration(iteration, value, least))
        temperature *= COOLING
    return best, course


def scheduler(instance: Instance, seed: int, *_: Any) -> Solution:
    """Simulated annealing over orders of tasks, starting from Greedy's."""
    return Solution(*sagreedy(instance, seed))


def neighbour(
    tardiness_s: Floats, instance: Instance, temperature: float, rng: Generator
) -> Ints:
    """Draw an order: the latest tasks first, the others by arrival or shuffled."""
    coldest = INITIAL * COOLING**ITERATIONS
    share = (temperature - coldest) / (INITIAL - coldest)
    ratio = LEAST_RATIO + (MOST_RATIO - LEAST_RATIO) * share
    chosen = max(1, math.floor(ratio * (tardiness_s > 0).sum()))
    first = np.argsort(-tardiness_s, kind="stable")[:chosen]
    others = np.setdiff1d(np.arange(instance.tasks), first)
    way = rng.random()
    if 0.25 <= way < 0.5:
        first = np.sort(first)
    elif 0.5 <= way < 0.75:
        first = first[np.argsort(instance.deadline_s[first], kind="stable")]
    elif way >= 0.75:
        first = rng.permutation(first)
    if rng.random() < temperature / INITIAL:
        others = rng.permutation(others)
    return np.concatenate([first, others])
