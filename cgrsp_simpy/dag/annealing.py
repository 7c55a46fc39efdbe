"""Simulated annealing over the GPUs of the units, for comparison (ours)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.dag.graph import Ints
from cgrsp_simpy.dag.heft import ORDERS, heft, run_order
from cgrsp_simpy.dag.problem import Problem
from cgrsp_simpy.dag.search import Budget, Found, Search, random_units
from cgrsp_simpy.model.checks import check_number, check_one_of
from cgrsp_simpy.model.streams import stream

STARTS = ("heft", "random")  # plans that annealing starts from; see `anneal`
SWAP = 0.5  # share of the moves in which two units change places


def anneal(
    problem: Problem,
    budget: Budget,
    seed: int = 0,
    order: str = "heft",
    hot: float = 0.001,
    cold: float = 0.0001,
    start: str = "heft",
) -> Found:
    """Simulated annealing, unless told otherwise from HEFT's plan: a unit moves to another GPU, or
    two units change places.

    Parameters
    ----------
    problem : Problem
        A graph and its GPUs.
    budget : Budget
        When the search ends.
    seed : int
        Of its random numbers.
    order : str
        In which the nodes run: "heft", that of HEFT's plan, or one of `run_order`.
    hot, cold : float
        First and last temperature, > 0, as multiples of the best makespan so far; geometric in
        between, by the share of the budget that is spent.
    start : str
        "heft", its placement, which in the order "heft" no answer is worse than; or "random", each
        unit on one of the GPUs that have the memory, as whales start.

    Returns
    -------
    Found
        The best plan.

    Raises
    ------
    InputError
        For another order or start, or a temperature that is not above 0.

    References
    ----------
    Kirkpatrick, Gelatt and Vecchi (1983), Science 220, 671-680; moves, order, start and
    temperatures are ours.
    """
    check_one_of("order", order, ("heft", *ORDERS))
    check_one_of("start", start, STARTS)
    check_number("hot", hot, above=0)
    check_number("cold", cold, above=0)
    plan, generator = heft(problem), stream(seed, "dag annealing")
    search = Search(
        problem, budget, "annealing", plan.order if order == "heft" else run_order(problem, order)
    )
    now = (
        _of_units(problem, plan.gpu) if start == "heft" else random_units(problem, 1, generator)[0]
    )
    now_s = float(search.evaluate(now[None])[0])
    hosts = [np.flatnonzero(fits) for fits in problem.fits]
    movable = np.flatnonzero(problem.fits.sum(axis=1) > 1)
    while len(movable) and search.best_s > 0 and not search.over:
        new = _neighbour(now, movable, hosts, generator)
        new_s = float(search.evaluate(new[None])[0])
        temperature_s = search.best_s * hot * (cold / hot) ** search.spent
        if new_s <= now_s or generator.random() < math.exp((now_s - new_s) / temperature_s):
            now, now_s = new, new_s
    return search.found()


def _of_units(problem: Problem, gpu: Ints) -> Ints:
    """The GPU of each unit, shape (units,), from those of the nodes."""
    answer = np.zeros(problem.graph.units, dtype=np.int64)
    answer[problem.graph.unit] = gpu
    return answer


def _neighbour(now: Ints, movable: Ints, hosts: Sequence[Ints], generator: Generator) -> Ints:
    """A plan in which two units have changed places, or one, drawn from those that
    can, has moved.
    """
    new = now.copy()
    one, other = movable[generator.integers(len(movable), size=2)]
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
