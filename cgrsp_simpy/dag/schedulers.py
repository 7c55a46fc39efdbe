"""The schedulers by name, from text such as "worl-rtgs:b=1.5", and what each finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

from cgrsp_simpy.dag.annealing import anneal
from cgrsp_simpy.dag.heft import cpop, heft
from cgrsp_simpy.dag.learning import ddqn
from cgrsp_simpy.dag.listing import by_work, min_min, random_plan, round_robin
from cgrsp_simpy.dag.problem import Plan, Problem
from cgrsp_simpy.dag.random_search import random_search
from cgrsp_simpy.dag.recursion import carried_out
from cgrsp_simpy.dag.search import Budget, Found
from cgrsp_simpy.dag.whales import rtgs, woa, worl_rtgs
from cgrsp_simpy.model.parameters import made

CONSTRUCTIVE: dict[str, Callable[..., Plan]] = {
    "random": random_plan,
    "round-robin": round_robin,
    "min-min": min_min,
    "heft": heft,
    "cpop": cpop,
    "work": by_work,
}
"""By name, the schedulers that make one plan."""
SEARCHES: dict[str, Callable[..., Found]] = {
    "annealing": anneal,
    "random-search": random_search,
    "woa": woa,
    "rtgs": rtgs,
    "ddqn": ddqn,
    "worl-rtgs": worl_rtgs,
}
"""By name, the schedulers that try many plans within a budget."""
SCHEDULERS: dict[str, Callable[..., Plan | Found]] = {**CONSTRUCTIVE, **SEARCHES}
"""All schedulers by name."""
COMPARED = ("heft", "round-robin", "annealing", "random-search", "rtgs", "worl-rtgs")
"""Names of those that are compared unless told."""
GIVEN = ("problem", "budget", "seed")  # what a text does not give


@dataclass(frozen=True)
class Planner:
    """A scheduler that knows the whole graph, with its parameters.

    name: of SCHEDULERS. given: its parameters, but for those that keep their defaults.
    """

    name: str
    given: Mapping[str, Any]

    def __call__(self, problem: Problem, budget: Budget, seed: int = 0) -> Found:
        """What it finds; one that constructs a plan takes a single evaluation,
        whatever the budget.
        """
        if self.name in SEARCHES:
            return SEARCHES[self.name](problem, budget, seed, **self.given)
        begin = time.perf_counter()
        plan = CONSTRUCTIVE[self.name](problem, seed, **self.given)
        makespan_s, seconds = carried_out(problem, plan).makespan_s, time.perf_counter() - begin
        return Found(plan, makespan_s, 1, seconds, ((1, seconds, makespan_s),))


def _factory(name: str) -> Callable[..., Planner]:
    def planner(**given: Any) -> Planner:
        return Planner(name, given)

    own = signature(SCHEDULERS[name])
    taken = [each for each in own.parameters.values() if each.name not in GIVEN]
    planner.__signature__ = own.replace(parameters=taken)  # type: ignore[attr-defined]
    return planner


POLICIES = {name: _factory(name) for name in SCHEDULERS}
"""Name -> its planner, with the parameters of the scheduler."""


def find(problem: Problem, scheduler: str, budget: Budget, seed: int = 0) -> Found:
    """What a scheduler finds, such as "heft" or "worl-rtgs:b=1.5,order=rank"; one that constructs a
    plan takes a single evaluation, whatever the budget.

    seed: of its random numbers. Raises InputError for an unknown scheduler or parameter, or a value
    that a parameter cannot have.
    """
    planner: Planner = made("scheduler", scheduler, POLICIES)
    return planner(problem, budget, seed)
