"""Random search, the control of all other searches."""

from __future__ import annotations

from cgrsp_simpy.dag.heft import run_order
from cgrsp_simpy.dag.problem import Problem
from cgrsp_simpy.dag.search import Budget, Found, Search, random_units
from cgrsp_simpy.model.streams import stream


def random_search(problem: Problem, budget: Budget, seed: int = 0, order: str = "graph") -> Found:
    """The best of as many random plans as the budget has: each unit on one of the GPUs that have
    the memory, all equally likely.

    problem: a graph and its GPUs. budget: when the search ends. seed: of its random numbers. order:
    in which the nodes run, as of `run_order`. Result: the best plan.
    """
    search, generator = (
        Search(problem, budget, "random-search", run_order(problem, order)),
        stream(seed, "random search"),
    )
    while not search.over:
        search.evaluate(random_units(problem, 1, generator))
    return search.found()
