"""The schedulers by name, from text such as "worl-rtgs:b=1.5", and what each finds."""

from __future__ import annotations

import time
from collections.abc import Callable
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
from cgrsp_simpy.model.checks import check_one_of
from cgrsp_simpy.model.parameters import parameters

__all__ = ["CONSTRUCTIVE", "SCHEDULERS", "SEARCHES", "check_scheduler", "find"]

CONSTRUCTIVE: dict[str, Callable[..., Plan]] = {
    "random": random_plan,
    "round-robin": round_robin,
    "min-min": min_min,
    "heft": heft,
    "cpop": cpop,
    "work": by_work,
}
SEARCHES: dict[str, Callable[..., Found]] = {
    "annealing": anneal,
    "random-search": random_search,
    "woa": woa,
    "rtgs": rtgs,
    "ddqn": ddqn,
    "worl-rtgs": worl_rtgs,
}
SCHEDULERS = (*CONSTRUCTIVE, *SEARCHES)
GIVEN = ("problem", "budget", "seed")  # what a text does not give


def check_scheduler(text: str) -> dict[str, Any]:
    """The parameters in a scheduler's text. Raises InputError for an unknown name or parameter."""
    name = text.partition(":")[0]
    check_one_of("scheduler", name, SCHEDULERS)
    return parameters("scheduler", text, {**CONSTRUCTIVE, **SEARCHES}[name], GIVEN)


def find(problem: Problem, scheduler: str, budget: Budget, seed: int = 0) -> Found:
    """What a scheduler finds; one that constructs a plan takes a single evaluation, whatever the budget."""
    given, name = check_scheduler(scheduler), scheduler.partition(":")[0]
    if name in SEARCHES:
        return SEARCHES[name](problem, budget, seed, **given)
    begin = time.perf_counter()
    plan = CONSTRUCTIVE[name](problem, seed, **given)
    makespan_s, seconds = carried_out(problem, plan).makespan_s, time.perf_counter() - begin
    return Found(plan, makespan_s, 1, seconds, ((1, seconds, makespan_s),))
