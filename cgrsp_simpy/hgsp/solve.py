"""One instance, one scheduler: the schedule, what it is worth, and how far from the best it can be."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.hgsp.annealing import anneal
from cgrsp_simpy.hgsp.bounds import lower_bound
from cgrsp_simpy.hgsp.exact import solve_exact
from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.policies import TaskPolicy
from cgrsp_simpy.hgsp.rules import RULES, Priority, dispatch
from cgrsp_simpy.hgsp.sagreedy import Assign, greedy_as_they_arrive, sagreedy
from cgrsp_simpy.hgsp.schedule import Schedule, greedy_assignment
from cgrsp_simpy.hgsp.simulation import execute, simulate
from cgrsp_simpy.model.checks import check_number, check_one_of, check_whole
from cgrsp_simpy.model.parameters import from_file, in_file

__all__ = ["SCHEDULERS", "SEEDED", "Limits", "Solution", "own_policy", "scheduler_of", "solve"]

ANNEALING_S, MILP_S = 10.0, 60.0
ROUNDING = 1e-12  # of times that a plan and a simulation add up


@dataclass(frozen=True)
class Limits:
    """What a search may spend. moves: of the annealing. seconds: of the annealing and of the MILP.

    Raises InputError for what is not allowed.
    """

    seed: int = 0
    moves: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        check_whole("seed", self.seed, least=0)
        if self.moves is not None:
            check_whole("moves", self.moves, least=1)
        if self.seconds is not None:
            check_number("time_budget_s", self.seconds, above=0)


@dataclass(frozen=True)
class Found:
    """What a scheduler answers. bound: a lower bound that it has proven, if any. course: of a search, step by step."""

    schedule: Schedule
    bound: float = 0.0
    course: Sequence[Any] = ()


@dataclass(frozen=True)
class Solution:
    """A scheduler's answer. schedule: as it was measured when the engine carried it out.

    seconds: that the scheduler took. lower_bound: on the weighted tardiness of any schedule.
    """

    scheduler: str
    schedule: Schedule
    seconds: float
    lower_bound: float
    course: Sequence[Any] = field(repr=False, default=())

    @property
    def gap_pct(self) -> float | None:
        """By how much the optimum can be below, in % of the weighted tardiness found.

        None if no bound is known but that nothing is below 0; what reaches 0 is optimal all the same, and its gap is 0.
        """
        value = self.schedule.weighted_tardiness
        if value == 0:
            return 0.0
        return 100 * max(0.0, value - self.lower_bound) / value if self.lower_bound > 0 else None

    @property
    def figures(self) -> dict[str, Any]:
        """The metrics (hgsp.txt equations 1, 7 to 12) with lower_bound, gap_pct, scheduler and seconds."""
        bounds = {"lower_bound": self.lower_bound, "gap_pct": self.gap_pct}
        return {**self.schedule.metrics, **bounds, "scheduler": self.scheduler, "seconds": self.seconds}


Scheduler = Callable[[Instance, Limits], Found]


def _in_order(instance: Instance, limits: Limits, least_start: bool) -> Found:  # noqa: ARG001, one signature for all
    return Found(greedy_assignment(instance, range(instance.tasks), least_start))


def _by_rule(instance: Instance, limits: Limits, priority: Priority) -> Found:  # noqa: ARG001
    return Found(dispatch(instance, priority))


def _sagreedy(instance: Instance, limits: Limits, assign: Assign) -> Found:
    schedule, course = sagreedy(instance, limits.seed, assign=assign)
    return Found(schedule, course=course)


def _annealing(instance: Instance, limits: Limits) -> Found:
    budget_s = ANNEALING_S if limits.moves is None and limits.seconds is None else limits.seconds
    schedule, course = anneal(instance, limits.seed, moves=limits.moves, time_budget_s=budget_s)
    return Found(schedule, course=course)


def _milp(instance: Instance, limits: Limits) -> Found:
    found = solve_exact(instance, MILP_S if limits.seconds is None else limits.seconds)
    return Found(found.schedule, found.lower_bound)


SEEDED = ("sagreedy", "sagreedy-arrived", "annealing")  # whose answer depends on the seed

# Name -> scheduler, in the order of hgsp.txt Section III, then the others.
SCHEDULERS: dict[str, Scheduler] = {
    "fifo": partial(_in_order, least_start=True),
    "greedy": partial(_in_order, least_start=False),
    "sagreedy": partial(_sagreedy, assign=greedy_assignment),
    "sagreedy-arrived": partial(_sagreedy, assign=greedy_as_they_arrive),
    "annealing": _annealing,
    **{name: partial(_by_rule, priority=priority) for name, priority in RULES.items()},
    "milp": _milp,
}


def own_policy(scheduler: str | TaskPolicy) -> TaskPolicy | None:
    """The policy that a function, or a text such as "own.py:function", stands for; None for another name."""
    if callable(scheduler):
        return scheduler
    return from_file("scheduler", scheduler) if isinstance(scheduler, str) and in_file(scheduler) else None


def scheduler_of(scheduler: str | TaskPolicy) -> Scheduler:
    """The scheduler of a name. A policy of one's own is asked as tasks arrive. Raises InputError for a name that is none."""
    policy = own_policy(scheduler)
    if policy is not None:
        return lambda instance, limits: Found(simulate(instance, policy))  # noqa: ARG005, one signature for all
    check_one_of("scheduler", scheduler, SCHEDULERS)
    return SCHEDULERS[str(scheduler)]


def solve(
    instance: Instance,
    scheduler: str | TaskPolicy,
    *,
    seed: int = 0,
    moves: int | None = None,
    time_budget_s: float | None = None,
) -> Solution:
    """Schedule an instance, and carry the schedule out.

    scheduler: a name of SCHEDULERS, or a policy of one's own: "own.py:function", or a function of a TaskView. seed: of the
    searches, SEEDED. moves: those that the annealing makes; with them its answer is the same each time. time_budget_s: seconds
    that the annealing (10 unless it has moves) or the MILP (60) may take. Raises InputError for what is not allowed.
    """
    made, limits = scheduler_of(scheduler), Limits(seed, moves, time_budget_s)
    begin = time.perf_counter()
    found = made(instance, limits)
    seconds = time.perf_counter() - begin
    name = scheduler if isinstance(scheduler, str) else policy_name(scheduler)
    return Solution(name, _measured(found.schedule), seconds, max(found.bound, lower_bound(instance)), found.course)


def _measured(plan: Schedule) -> Schedule:
    """A plan carried out by the engine, where nothing is uncertain: it must come out as planned."""
    found = execute(plan)
    same = np.array_equal(found.gpu, plan.gpu) and np.allclose(found.finish_s, plan.finish_s, rtol=ROUNDING, atol=0)
    if not same:
        raise RuntimeError(f"{plan.instance.name}: the simulation did not come out as planned")
    return found
