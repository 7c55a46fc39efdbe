"""The view of a policy, and schedulers by name; annealing and random search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import Signature, signature
from typing import Any

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.base.arrays import Ints
from cgrsp_simpy.base.checks import check_one_of, refuse
from cgrsp_simpy.base.parameters import Fraction, Positive, checked
from cgrsp_simpy.base.policy import AssignmentError, Wake, create, offered
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.dag.graph import Graph, Node
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
from cgrsp_simpy.dag.problem import Plan, Problem, carried_out, latest, turns_of
from cgrsp_simpy.dag.search import Budget, Search, Solution, random_units
from cgrsp_simpy.engine import view as engine
from cgrsp_simpy.engine.claim import Claim, Part
from cgrsp_simpy.engine.resources import ResourceSpec, ResourceSubset
from cgrsp_simpy.engine.simulation import Simulation


class View(engine.View):
    """The state at a decision, read-only; its `queue` holds the ready nodes.

    A GPU runs one node at a time, within its memory. A policy returns pairs (node,
    resource), and optionally a `Wake`.
    """

    __slots__ = (
        "_at",
        "_free_mb",
        "_may",
        "_nodes",
        "_problem",
        "_unit_mb",
        "_waiting",
    )

    def __init__(self, run: Simulation) -> None:
        super().__init__(run)
        self._problem: Problem = run.plan.problem
        self._nodes, self._waiting = self._problem.graph.jobs, run.pending_claims
        # the number of the GPU of each unit that is on one
        self._at: dict[int, int] = {}
        self._may: dict[int, int] = {}  # by node, as in `_reached`
        graph = self._problem.graph
        # fixed properties of the units
        self._unit_mb = np.bincount(graph.unit, graph.resident_mb)
        self._free_mb = self._problem.platform.memory_mb.astype(float)

    def node(self, number: int) -> Node | None:
        """Return the ready node with this number, or None."""
        nodes = self._nodes
        node = nodes[number] if 0 <= number < len(nodes) else None
        return node if node in self._waiting else None

    def rooms(self, node: Node) -> list[ResourceSpec]:
        """Return the GPUs that a node may start on now, with memory for its unit.

        If a node of the unit has started, only the GPU of that node is possible.
        """
        run, need_mb, may = self._run, self._need_mb(node), self._may.get(node.id)
        if may is None:
            may = self._may[node.id] = self._reached(node)
        may &= run.mask
        if (at := self._at.get(node.unit)) is not None:
            may &= 1 << at
        return [
            gpu
            for gpu in ResourceSubset(run.declared, may)
            if need_mb <= self._free_mb[gpu.index]
        ]

    def _need_mb(self, node: Node) -> float:
        """Return the memory that a node takes when it starts, megabytes.

        This is its own memory, the memory that it holds for later nodes and, for the
        first node of a unit, the unit's resident memory.
        """
        unit_mb = 0.0 if node.unit in self._at else self._unit_mb.item(node.unit)
        added_mb = self._problem.graph.lasting_mb.item(0, node.id)
        return unit_mb + added_mb + node.memory_mb

    def time_s(self, node: Node, gpu: ResourceSpec) -> float:
        """Return the execution time of a node on a GPU, seconds."""
        return self._problem.time_s.item(node.id, gpu.index)

    def data(self, node: Node) -> tuple[tuple[ResourceSpec, float], ...]:
        """Return each predecessor's GPU, and the gigabytes that it sends to a node."""
        return tuple(
            [(self.resources[at], data_gb) for at, data_gb in self._sent(node)]
        )

    def _sent(self, node: Node) -> list[tuple[int, float]]:
        graph, at = self._problem.graph, self._at
        return [
            (at[graph.unit.item(node_before)], graph.data_gb.item(edge))
            for node_before, edge in graph.incoming[node.id]
        ]

    def data_s(self, node: Node, gpu: ResourceSpec) -> float:
        """Return the time to move a node's data to a GPU on free links, s, or inf."""
        at, data_gb = np.array(self._sent(node)).reshape(-1, 2).T
        moved_s = self._problem.transfer_s(data_gb, at.astype(int), gpu.index)
        return float(moved_s.max(initial=0.0))

    def _reached(self, node: Node) -> int:
        """Return a bit mask of GPUs with enough memory that a node's data can reach."""
        problem = self._problem
        sources = np.array([at for at, data_gb in self._sent(node) if data_gb], int)
        may = problem.fits[node.unit] & np.isfinite(problem.s_per_gb[sources]).all(
            axis=0
        )
        return int.from_bytes(np.packbits(may, bitorder="little").tobytes(), "little")

    # ---- hooks of the engine ----

    def summary(self) -> str:
        return f"{len(self._waiting)} ready"

    def parse_assignment(self, claim: Claim, chosen: Any) -> Sequence[Part]:
        problem, node, gpu = self._problem, claim.job, self._number(chosen)
        need_mb = self._need_mb(node)
        at = self._at.setdefault(node.unit, gpu)
        if at != gpu:
            raise AssignmentError(f"GPU {gpu}; its unit is on GPU {at}")
        if not problem.fits[node.unit, gpu]:
            has = f"whose memory of {problem.platform.memory_mb[gpu]} MB"
            raise AssignmentError(
                f"GPU {gpu}, {has} is too small for the node or its unit"
            )
        if self.data_s(node, chosen) == math.inf:
            raise AssignmentError(
                f"GPU {gpu}, which has no connection to the GPUs with its data"
            )
        if need_mb > self._free_mb[gpu]:
            left = f"of whose memory {self._free_mb[gpu]:.0f} MB are left"
            raise AssignmentError(f"GPU {gpu}, {left}; it takes {need_mb:.0f} MB")
        self._free_mb[gpu] -= need_mb - node.memory_mb  # which alone is on the GPU
        return ((gpu, 1.0),)

    def on_release(self, claim: Claim) -> None:
        node: Node = claim.job
        self._free_mb[self._at[node.unit]] += self._problem.graph.lasting_mb[1, node.id]


Answer = Iterable["tuple[Node, ResourceSpec] | Wake"]
"""Pairs of a node and the GPU that it gets, and Wakes."""
OwnPolicy = Callable[[View], Answer | None]
"""A function of a view that returns or yields pairs (node, resource) and Wakes."""


class InTurn:
    """Policy that follows a plan: each GPU starts its next node once that is ready.

    Raises InputError for a plan that the problem does not allow, or that needs a
    missing connection.
    """

    def __init__(self, problem: Problem, plan: Plan) -> None:
        plan.check(problem)
        graph, ends = problem.graph, plan.gpu[problem.graph.edges]
        names, edges = graph.names, graph.edges
        refuse(
            np.isinf(problem.transfer_s(graph.data_gb, *ends.T)),
            lambda edge: (
                f"node {names[edges[edge, 0]]} on GPU {ends[edge, 0]} sends data to"
                f" {names[edges[edge, 1]]} on GPU {ends[edge, 1]}, but they are"
                " not connected"
            ),
        )
        order = graph.order if plan.order is None else plan.order
        self.name, self._gpu = plan.scheduler, plan.gpu.tolist()
        self._turns = turns_of(plan.gpu, order, problem.platform.gpus)

    def __call__(self, view: View) -> Iterator[tuple[Node, ResourceSpec]]:
        """Place the nodes whose turn it is."""
        for gpu in self._gpus(view):
            turn = self._turns[gpu.index]
            if turn and (node := view.node(turn[-1])) is not None:
                turn.pop()
                yield node, gpu

    def _gpus(self, view: View) -> Iterable[ResourceSpec]:
        """Return the free GPUs or the GPUs of the ready nodes, whichever are fewer."""
        if len(view.free) <= len(view.queue):
            return view.free
        planned = sorted({self._gpu[node.id] for node in view.queue})
        return [
            gpu for gpu in map(view.resources.__getitem__, planned) if view.room(gpu)
        ]


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
    return search.solution()


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
    return search.solution()


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
    """Return whether a policy is a string that names a search, which evaluates many
    plans.
    """
    return isinstance(policy, str) and policy.partition(":")[0] in SEARCHES


UNSETTABLE = ("problem", "budget", "seed")  # parameters that a text cannot set


def function_of(name: str) -> Callable[..., Any]:
    """Return the function of a scheduler, imported if another package offers it."""
    functions: dict[str, Callable[..., Any]] = {**CONSTRUCTIVE, **OWN_SEARCHES}
    return functions.get(name) or offered("dag")[name].load()


@dataclass(frozen=True)
class Planner:
    """A scheduler that knows the whole graph.

    name: a key of SCHEDULERS. values: the parameters that differ from their defaults.
    """

    name: str
    values: Mapping[str, Any]

    def __call__(self, problem: Problem, budget: Budget, seed: int = 0) -> Solution:
        """Run the scheduler; one that constructs a plan takes a single evaluation."""
        function = function_of(self.name)
        if self.name in SEARCHES:
            solution: Solution = function(problem, budget, seed, **self.values)
            return solution
        plan = function(problem, seed, **self.values)
        makespan_s = carried_out(problem, plan).makespan_s
        return Solution(plan, makespan_s, 1, ((1, makespan_s),))


class Factory:
    """Factory of a scheduler's planner; takes the parameters of its function."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, **values: Any) -> Planner:
        return Planner(self._name, values)

    @property
    def __signature__(self) -> Signature:
        full = signature(function_of(self._name))
        taken = [
            item for item in full.parameters.values() if item.name not in UNSETTABLE
        ]
        return full.replace(parameters=taken)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return function_of(self._name).__doc__


POLICIES = {name: Factory(name) for name in SCHEDULERS}
"""Name -> factory of its planner, with the parameters of the scheduler."""


def find(problem: Problem, scheduler: str, budget: Budget, seed: int = 0) -> Solution:
    """Find a plan with a scheduler such as "heft" or "worl-rtgs:b=1.5,order=rank".

    A scheduler that constructs a plan takes one evaluation, whatever the budget. Raises
    InputError for an unknown scheduler or parameter, or an invalid value.
    """
    planner: Planner = create("scheduler", scheduler, POLICIES)
    return planner(problem, budget, seed)
