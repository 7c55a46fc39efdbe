"""Schedulers that build one plan, node by node: random, round robin, min-min and list
scheduling by work.

All know the whole graph. Where data cannot go, a node would end never, so that any other GPU is
better; but they do not look ahead, and on a platform in parts, what comes later may have nowhere to
go: then the plan's makespan is infinite.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from cgrsp_simpy.dag.graph import Floats, Graph, Ints
from cgrsp_simpy.dag.problem import Plan, Problem
from cgrsp_simpy.dag.search import random_units
from cgrsp_simpy.model.streams import stream


class Draft:
    """A plan being made: nodes are placed one after the other, each after its predecessors, and
    start as early as they can.

    In the reading "exclusive", after what is on the GPU already; with insertion, also in the first
    gap that is long enough. In "shared" as soon as the data are there: that nodes may then have to
    wait for memory is not foreseen, and where it is scarce, too much goes to the fastest GPUs. A
    unit goes where its first node goes. Ours but for the insertion (Topcuoglu, Hariri and Wu 2002).
    """

    def __init__(self, problem: Problem, insertion: bool = False) -> None:
        self.problem, self.insertion = problem, insertion
        # where a unit may go: once a node of it is placed, there alone
        self.allowed = problem.fits.copy()
        self.gpu = np.zeros(problem.graph.nodes, dtype=np.int64)
        self.start_s, self.finish_s = np.zeros((2, problem.graph.nodes))
        # (start, finish), by time
        self.runs: list[list[tuple[float, float]]] = [[] for _ in range(problem.platform.gpus)]
        self.free_s = np.zeros(problem.platform.gpus)  # when the last of them ends

    def ready_s(self, node: int) -> Floats:
        """When the data of a node, whose predecessors are placed, would be on each GPU (Equation
        1), shape (gpus,).
        """
        graph, every = self.problem.graph, np.arange(self.problem.platform.gpus)
        before = graph.predecessors[node]
        moved_s = self.problem.transfer_s(
            graph.data_in_gb[node][:, None], self.gpu[before, None], every
        )
        return np.asarray((self.finish_s[before, None] + moved_s).max(axis=0, initial=0.0))

    def starts_s(self, node: int) -> Floats:
        """When a node would start on each GPU, shape (gpus,)."""
        ready_s = self.ready_s(node)
        if self.problem.reading == "shared":
            return ready_s
        if not self.insertion:
            return np.maximum(ready_s, self.free_s)
        return np.array(
            list(map(_first_gap, self.runs, ready_s.tolist(), self.problem.time_s[node].tolist()))
        )

    def place(self, node: int, wish: int | None = None) -> None:
        """Place a node on the GPU that is wished for if it may and can run there; else where
        it ends earliest.
        """
        starts_s, allowed = self.starts_s(node), self.allowed[self.problem.graph.unit[node]]
        ends_s = starts_s + self.problem.time_s[node]
        if wish is None or not (allowed[wish] and np.isfinite(ends_s[wish])):
            wish = int(np.lexsort((ends_s, ~allowed))[0])
        self.gpu[node], self.start_s[node], self.finish_s[node] = wish, starts_s[wish], ends_s[wish]
        allowed[:] = False
        allowed[wish] = True
        insort(self.runs[wish], (float(starts_s[wish]), float(ends_s[wish])))
        self.free_s[wish] = max(self.free_s[wish], ends_s[wish])

    def plan(self, scheduler: str) -> Plan:
        """The plan, in order of start: carried out in the reading "exclusive", no node starts
        later than here.
        """
        place = np.argsort(self.problem.graph.order)
        # what takes no time, first
        return Plan(self.gpu, np.lexsort((place, self.finish_s, self.start_s)), scheduler)


def _first_gap(runs: Sequence[tuple[float, float]], ready_s: float, time_s: float) -> float:
    """From when on, not before it is ready, a GPU has nothing else to do for so long."""
    for start_s, finish_s in runs[bisect_right(runs, ready_s, key=lambda run: run[1]) :]:
        if ready_s + time_s <= start_s:
            break
        ready_s = finish_s
    return ready_s


def by_priority(graph: Graph, priority: Floats) -> list[int]:
    """The nodes in topological order; of those that are ready, the one of highest priority, of
    equals the first.
    """
    place = np.argsort(graph.order).tolist()
    missing = [len(before) for before in graph.predecessors]
    ready = [
        (-priority[node], place[node], node) for node in range(graph.nodes) if not missing[node]
    ]
    heapify(ready)
    answer: list[int] = []
    while ready:
        answer.append(node := heappop(ready)[2])
        for after in graph.successors[node].tolist():
            missing[after] -= 1
            if not missing[after]:
                heappush(ready, (-priority[after], place[after], after))
    return answer


def random_plan(problem: Problem, seed: int = 0) -> Plan:
    """Each unit on one of the GPUs that have the memory, all equally likely, by the stream "random
    plan".

    problem: a graph and its GPUs. seed: of the draws. Result: in the graph's order.
    """
    units = random_units(problem, 1, stream(seed, "random plan"))[0]
    return Plan(units[problem.graph.unit], scheduler="random")


def round_robin(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001, one signature for all schedulers
    """Each unit, in order of its first node, on the next GPU that has the memory.

    problem: a graph and its GPUs. seed: not used. Result: in the graph's order.
    """
    graph, gpus = problem.graph, problem.platform.gpus
    of_unit: Ints = np.zeros(graph.units, dtype=np.int64)
    turn = 0
    for unit in dict.fromkeys(graph.unit[graph.order].tolist()):
        of_unit[unit] = (turn + np.argmax(np.roll(problem.fits[unit], -turn))) % gpus
        turn = int(of_unit[unit]) + 1
    return Plan(of_unit[graph.unit], scheduler="round-robin")


def by_work(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001
    """List scheduling: of the nodes that are ready, the one of most work next, where it ends
    earliest.

    problem: a graph and its GPUs. seed: not used. Result: with its order.
    """
    draft = Draft(problem)
    for node in by_priority(problem.graph, problem.graph.work_tflop):
        draft.place(node)
    return draft.plan("work")


def min_min(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001
    """Of the nodes that are ready, the one that can end earliest next, where it does.

    problem: a graph and its GPUs. seed: not used. Result: with its order. Ibarra and Kim (1977),
    Journal of the ACM 24, 280-289, for independent tasks; here, over those that are ready.
    """
    graph, draft = problem.graph, Draft(problem)
    missing = [len(before) for before in graph.predecessors]
    ready = [node for node in graph.order.tolist() if not missing[node]]
    ready_s = np.zeros((graph.nodes, problem.platform.gpus))
    while ready:
        starts_s = (
            ready_s[ready]
            if problem.reading == "shared"
            else np.maximum(ready_s[ready], draft.free_s)
        )
        ends_s = np.where(
            draft.allowed[graph.unit[ready]], starts_s + problem.time_s[ready], np.inf
        )
        draft.place(node := ready.pop(int(ends_s.min(axis=1).argmin())))
        for after in graph.successors[node].tolist():
            missing[after] -= 1
            if not missing[after]:
                ready.append(after)
                ready_s[after] = draft.ready_s(after)
    return draft.plan("min-min")
