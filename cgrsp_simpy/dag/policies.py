"""Schedulers by name, such as "worl-rtgs:b=1.5"; annealing and random search."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Signature, signature
from typing import Any

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.base.arrays import Ints
from cgrsp_simpy.base.checks import (
    check_one_of,
)
from cgrsp_simpy.base.parameters import Fraction, Positive, checked
from cgrsp_simpy.base.policy import made, offered
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.dag.listing import (
    ORDERS,
    best_simple,
    by_work,
    cpop,
    heft,
    longest_first,
    min_min,
    random_plan,
    round_robin,
    run_order,
)
from cgrsp_simpy.dag.problem import Plan, Problem, carried_out, latest
from cgrsp_simpy.dag.search import Budget, Search, Solution, random_units

STARTS = ("best-simple", "random")  # plans that annealing starts from; see `anneal`
SWAP = 0.5  # share of the moves of units in which two change places


@checked
def anneal(
    problem: Problem,
    budget: Budget,
    seed: int = 0,
    order: str = "best-simple",
    hot: Positive = 0.001,
    cold: Positive = 0.0001,
    start: str = "best-simple",
    reorders: Fraction = 0.2,
) -> Solution:
    """Simulated annealing over order and placement.

    A move reorders two nodes of a GPU, moves a unit to another GPU, or swaps the GPUs
    of two units; only moves on the critical path of the run are tried. order: initial
    order of the nodes: "best-simple", that of this plan, or an order of `run_order`.
    hot, cold: first and last temperature, as multiples of the best makespan so far; the
    temperature falls geometrically with the share of the budget spent. start: initial
    placement: "best-simple", that of this plan, so that the result is never worse; or
    "random", each unit on a random GPU with enough memory, as in the whale searches.
    reorders: share of the moves that change the order.

    Partly from Kirkpatrick, Gelatt and Vecchi (1983), Science 220, 671-680; turns on
    the critical path: van Laarhoven, Aarts and Lenstra (1992), Oper. Res. 40, 113-125.
    """
    check_one_of("order", order, ("best-simple", *ORDERS))
    check_one_of("start", start, STARTS)
    graph, plan = problem.graph, best_simple(problem)
    generator = stream(seed, "dag annealing")
    first = plan.order if order == "best-simple" else run_order(problem, order)
    search = Search(problem, budget, "annealing", first)
    now = random_units(problem, 1, generator)[0]
    turns = graph.order if first is None else first
    if start == "best-simple":
        now[graph.unit] = plan.gpu
    now_s, late = float(search.evaluate(now[None])[0]), None
    hosts = [np.flatnonzero(fits) for fits in problem.fits]
    movable = np.flatnonzero(problem.fits.sum(axis=1) > 1)
    while problem.platform.gpus > 1 and search.best_s > 0 and not search.over:
        nodes, waits = late = late or latest(problem, now[graph.unit], turns)
        new, new_turns = now, turns
        if (
            waits
            and len(graph.edges)
            and (not len(movable) or generator.random() < reorders)
        ):
            new_turns = _sooner(graph, turns, *waits[generator.integers(len(waits))])
        elif len(movable):
            units = np.intersect1d(graph.unit[nodes], movable)
            one = generator.choice(units if len(units) else movable)
            new = _neighbour(now, one, generator.choice(movable), hosts, generator)
        else:
            break
        new_s = float(search.evaluate(new[None], new_turns)[0])
        temperature_s = search.best_s * hot * (cold / hot) ** search.spent
        if new_s <= now_s or generator.random() < math.exp(
            (now_s - new_s) / temperature_s
        ):
            now, now_s, turns, late = new, new_s, new_turns, None
    return search.found()


def _sooner(graph: Graph, order: Ints, before: int, node: int) -> Ints:
    """Return the order with a node, and its predecessors, moved before another."""
    first, last = np.flatnonzero((order == before) | (order == node))
    between, needed = order[first : last + 1].tolist(), {node}
    for other in reversed(between[:-1]):
        if not needed.isdisjoint(graph.successors[other].tolist()):
            needed.add(other)
    new = order.copy()
    new[first : last + 1] = sorted(between, key=lambda other: other not in needed)
    return new


def _neighbour(
    now: Ints, one: int, other: int, hosts: Sequence[Ints], generator: Generator
) -> Ints:
    """Return a plan in which two units have swapped GPUs, or the first has moved."""
    new = now.copy()
    if (
        generator.random() < SWAP
        and now[one] != now[other]
        and now[other] in hosts[one]
        and now[one] in hosts[other]
    ):
        new[one], new[other] = now[other], now[one]
    else:
        drawn = hosts[one][generator.integers(len(hosts[one]) - 1)]
        # each of the others is equally likely
        new[one] = drawn if drawn != now[one] else hosts[one][-1]
    return new


def random_search(
    problem: Problem, budget: Budget, seed: int = 0, order: str = "graph"
) -> Solution:
    """Return the best of random plans, uniform over the GPUs with enough memory.

    order: order in which the nodes run; see `run_order`.
    """
    search = Search(problem, budget, "random-search", run_order(problem, order))
    generator = stream(seed, "random search")
    while not search.over:
        search.evaluate(random_units(problem, 1, generator))
    return search.found()


CONSTRUCTIVE: dict[str, Callable[..., Plan]] = {
    "random": random_plan,
    "round-robin": round_robin,
    "longest-first": longest_first,
    "min-min": min_min,
    "heft": heft,
    "cpop": cpop,
    "work": by_work,
    "best-simple": best_simple,
}
"""By name, the schedulers that make one plan."""
OWN_SEARCHES: dict[str, Callable[..., Solution]] = {
    "annealing": anneal,
    "random-search": random_search,
}
SEARCHES = (*OWN_SEARCHES, *offered("dag"))
"""Names of the schedulers that try many plans within a budget."""
SCHEDULERS = (*CONSTRUCTIVE, *SEARCHES)
"""All schedulers by name."""
COMPARED = (
    "best-simple",
    "heft",
    "round-robin",
    "annealing",
    "random-search",
    "rtgs",
    "worl-rtgs",
)
"""Names of those that are compared by default."""


def is_search(policy: Any) -> bool:
    """Whether a policy is a string that names a search, which evaluates many plans."""
    return isinstance(policy, str) and policy.partition(":")[0] in SEARCHES


GIVEN = ("problem", "budget", "seed")  # parameters that a text cannot set


def function_of(name: str) -> Callable[..., Any]:
    """Return the function of a scheduler, imported if another package offers it."""
    functions: dict[str, Callable[..., Any]] = {**CONSTRUCTIVE, **OWN_SEARCHES}
    function: Callable[..., Any] = functions.get(name) or offered("dag")[name].load()
    return function


@dataclass(frozen=True)
class Planner:
    """A scheduler that knows the whole graph.

    name: a key of SCHEDULERS. given: the parameters that differ from their defaults.
    """

    name: str
    given: Mapping[str, Any]

    def __call__(self, problem: Problem, budget: Budget, seed: int = 0) -> Solution:
        """Run the scheduler; one that constructs a plan takes a single evaluation."""
        function = function_of(self.name)
        if self.name in SEARCHES:
            solution: Solution = function(problem, budget, seed, **self.given)
            return solution
        begin = time.perf_counter()
        plan = function(problem, seed, **self.given)
        makespan_s = carried_out(problem, plan).makespan_s
        seconds = time.perf_counter() - begin
        return Solution(plan, makespan_s, 1, seconds, ((1, seconds, makespan_s),))


class Factory:
    """Factory of a scheduler's planner; takes the parameters of its function."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, **values: Any) -> Planner:
        return Planner(self._name, values)

    @property
    def __signature__(self) -> Signature:
        full = signature(function_of(self._name))
        taken = [item for item in full.parameters.values() if item.name not in GIVEN]
        return full.replace(parameters=taken)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return function_of(self._name).__doc__


POLICIES = {name: Factory(name) for name in SCHEDULERS}
"""Name -> what makes its planner, with the parameters of the scheduler."""


def find(problem: Problem, scheduler: str, budget: Budget, seed: int = 0) -> Solution:
    """Find a plan with a scheduler such as "heft" or "worl-rtgs:b=1.5,order=rank".

    A scheduler that constructs a plan takes one evaluation, whatever the budget. Raises
    InputError for an unknown scheduler or parameter, or an invalid value.
    """
    planner: Planner = made("scheduler", scheduler, POLICIES)
    return planner(problem, budget, seed)
