"""The schedulers: from an instance, and what a search may spend, to a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from cgrsp_simpy.hgsp.annealing import anneal
from cgrsp_simpy.hgsp.exact import solve_exact
from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.rules import RULES, Priority, dispatch
from cgrsp_simpy.hgsp.sagreedy import Assign, greedy_as_they_arrive, sagreedy
from cgrsp_simpy.hgsp.schedule import Schedule, greedy_assignment
from cgrsp_simpy.model.checks import check_number, check_whole

ANNEALING_S, MILP_S = 10.0, 60.0


@dataclass(frozen=True)
class Limits:
    """What a search may spend.

    seed: of its random numbers. moves: that the annealing makes; with them its answer is the same
    each time. seconds: that the annealing (10 unless it has moves) or the MILP (60) may take.
    """

    seed: int = 0
    moves: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        check_whole("seed", self.seed, least=0)
        if self.moves is not None:
            check_whole("moves", self.moves, least=1)
        if self.seconds is not None:
            check_number("seconds", self.seconds, above=0)


@dataclass(frozen=True)
class Found:
    """What a scheduler answers.

    bound: a lower bound that it has proven, if any. course: of a search, step by step.
    """

    schedule: Schedule
    bound: float = 0.0
    course: Sequence[Any] = ()


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
