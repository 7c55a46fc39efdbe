"""SAGreedy as printed: annealing over orders of tasks, each evaluated by greedy assignment (hgsp.txt Section III.C)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

import numpy as np

from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.schedule import Schedule, greedy_assignment
from cgrsp_simpy.model.streams import stream

__all__ = ["Iteration", "sagreedy"]

INITIAL, COOLING, ITERATIONS = 1000.0, 0.95, 100  # T_initial, alpha, K; Section IV.A
LEAST = INITIAL * COOLING**ITERATIONS  # T_min is not printed: what the schedule ends at
LEAST_RATIO, MOST_RATIO = 0.1, 0.8


@dataclass(frozen=True)
class Iteration:
    """One step of a search. objective: of the solution that it goes on from. best: least so far."""

    iteration: int
    temperature: float
    objective: float
    best: float


def sagreedy(instance: Instance, seed: int = 0, iterations: int = ITERATIONS) -> tuple[Schedule, list[Iteration]]:
    """The best schedule of a run, and its course; never worse than Greedy, from which it starts."""
    rng = Random(int.from_bytes(stream(seed, "sagreedy").bytes(16)))
    order, temperature = np.arange(instance.tasks), INITIAL
    current = best = greedy_assignment(instance, order.tolist())
    value = least = current.weighted_tardiness
    course = [Iteration(0, temperature, value, least)]
    for iteration in range(1, iterations + 1):
        neighbour = _neighbour(order, current, temperature)
        found = greedy_assignment(instance, neighbour.tolist())
        worse = found.weighted_tardiness - value
        if worse <= 0 or rng.random() < math.exp(-worse / temperature):
            order, current, value = neighbour, found, found.weighted_tardiness
        if value < least:
            best, least = current, value
        course.append(Iteration(iteration, temperature, value, least))
        temperature *= COOLING
    return best, course


def _neighbour(order: np.ndarray, schedule: Schedule, temperature: float) -> np.ndarray:
    """The worst of the tardy tasks to the front, by weighted tardiness; the others stay in order."""
    weighted = schedule.instance.weight * schedule.tardiness_s
    tardy = int((schedule.tardiness_s > 0).sum())
    ratio = min(MOST_RATIO, max(LEAST_RATIO, (temperature - LEAST) / (INITIAL - LEAST)))  # Eq. 15
    first = np.argsort(-weighted, kind="stable")[: math.floor(ratio * tardy)]
    return np.concatenate([first, order[~np.isin(order, first)]])
