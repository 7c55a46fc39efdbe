"""Least expected cost of few jobs on one or two slots, by dynamic programming.

The state is the set of jobs not yet dispatched and the time when each slot becomes
free. Let V(left, free) be the least expected remaining cost. The slot that is free
first takes a job j at its time t, for cost_j(t, g) + E V(left without j, free with t +
L in place of t), or idles to a later time; no other order of decisions is needed. So
every job is dispatched once in every realisation.

The result is a lower bound. In the recursion a dispatch reveals at once how long it
will hold its slot: with one slot this changes nothing, with two it can only help. Times
are rounded down to steps: a policy that runs one step ahead of the clock, and draws the
omitted parts of steps, has slots that are free no later. On one slot, with times that
are whole steps, the result is the optimum. The thesis has no such method.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cgrsp_simpy.decide.dispatches import Dispatches, Units
from cgrsp_simpy.decide.occupation import levels_of, longest_execution_s
from cgrsp_simpy.rental.job import Draws, Job
from cgrsp_simpy.rental.scenario import Scenario

STEPS_S = (1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0)
MOST_SLOTS, MOST_JOBS = 2, 12
MOST_STEPS, MOST_WORK = 1500, 1e10  # steps of the horizon; multiplications


def grid(
    scenario: Scenario, seed: int, drawn: Sequence[tuple[Job, Draws]], units: Units
) -> Dispatches | None:
    """Return the finest time grid that can be solved in seconds, or None.

    It lasts until all jobs are done if they are executed one after the other.
    """
    slots, jobs = len(scenario.slots), len(drawn)
    if slots > MOST_SLOTS or jobs > MOST_JOBS:
        return None
    longest_s = longest_execution_s(scenario.types, levels_of(scenario, drawn)[0])
    longest_s += max(most for _, most in scenario.market.delay_s)
    end_s = drawn[-1][0].submit_s + jobs * longest_s
    choices = len(scenario.types) if scenario.free_types else 1
    for step_s in STEPS_S:
        steps = math.ceil(end_s / step_s) + 1
        work = jobs * 2 ** (jobs - 1) * slots * choices * steps ** (slots + 1)
        if steps <= MOST_STEPS and work <= MOST_WORK:
            return Dispatches(scenario, seed, drawn, units, step_s, end_s=end_s)
    return None


def least_cost(problem: Dispatches, scenario: Scenario) -> float:
    """Return the least expected cost of all jobs on all slots."""
    shape, jobs = (problem.end + 1,) * len(scenario.slots), problem.jobs
    choices = scenario.types
    types = [
        range(len(choices)) if scenario.free_types else (choices.index(gpu),)
        for gpu in scenario.slots
    ]
    free = np.indices(shape)
    first_free = free == free.min(axis=0)
    unpaid = problem.least(np.zeros((len(problem.slots), problem.end)))
    ends = {
        (c, g): _ends(problem, c, g)
        for c, g in np.ndindex(problem.holds.rent_usd.shape)
    }
    value = {0: np.zeros(shape)}
    for left in range(1, 2 ** len(jobs)):
        best = np.full(shape, math.inf)
        for j, job in enumerate(jobs):
            if not left >> j & 1:
                continue
            first, cost = problem.costs(unpaid, job)
            steps, begins = np.unique(problem.steps[first:], return_index=True)
            for slot, indices in enumerate(types):
                after = np.moveaxis(value[left ^ (1 << j)], slot, 0)
                candidate = np.full(shape, math.inf)
                for g in indices:
                    later = np.tensordot(ends[job.c, g][first:], after, 1)
                    later += cost[:, g].reshape(len(cost), *[1] * (len(shape) - 1))
                    candidate[steps] = np.minimum(
                        candidate[steps], np.minimum.reduceat(later, begins)
                    )
                candidate = np.moveaxis(candidate, 0, slot)
                np.minimum(best, candidate, out=best, where=first_free[slot])
        for axis in range(len(shape)):  # a slot may idle
            best = np.flip(np.minimum.accumulate(np.flip(best, axis), axis), axis)
        value[left] = best
    return float(best[(0,) * len(shape)])


def _ends(problem: Dispatches, c: int, g: int) -> np.ndarray:
    """Return the probability that a slot becomes free at each step, per row."""
    result = np.zeros((len(problem.steps), problem.end + 1))
    for row, step, v in zip(
        result, problem.steps.tolist(), problem.kind[:, g].tolist()
    ):
        chance = problem.holds.ends[c, g, v, : problem.end + 1 - step]
        row[step : step + len(chance)] = chance
        row[-1] += 1 - row.sum()
    return result
