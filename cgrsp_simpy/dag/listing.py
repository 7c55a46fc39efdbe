"""Schedulers that build one plan, node by node: random, round robin, min-min, list
scheduling by work, and by ranks: HEFT and CPOP (Topcuoglu, Hariri and Wu 2002, IEEE
TPDS 13, 260-274).

All know the whole graph. Where data cannot go, a node would end never, so that any
other GPU is better; but they do not look ahead, and on a platform in parts, what comes
later may have nowhere to go: then the plan's makespan is infinite. Who deals units, by
chance, in turn or the longest first, leaves the order to the graph.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cgrsp_simpy.base.arrays import Floats, Ints
from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.dag.problem import Plan, Problem, makespans
from cgrsp_simpy.dag.search import random_units


class Room:
    """Where units may go, as the memory lasts, and what is left to do of those that
    have a GPU.

    A unit for which no memory is left may go where it fits by itself: such a plan is
    then refused with what fills the GPU.
    """

    def __init__(self, problem: Problem) -> None:
        self.unit_s = problem.unit_s
        self.fits = problem.fits
        self.may = problem.fits.copy()
        self.free_mb = problem.platform.memory_mb.astype(float)
        self.need_mb = np.where(problem.lasts, problem.unit_mb, 0.0)
        self.left_s = np.zeros(problem.platform.gpus)
        # the GPU of each unit, once it has one
        self.on = np.full(problem.graph.units, -1)

    def take(self, unit: int, gpu: int) -> None:
        """A unit goes to a GPU."""
        self.on[unit] = gpu
        self.left_s[gpu] += self.unit_s[unit, gpu]
        self.may[unit] = np.arange(len(self.left_s)) == gpu
        if self.need_mb[unit]:
            self.free_mb[gpu] -= self.need_mb[unit]
            self.may[(self.on < 0) & (self.need_mb > self.free_mb[gpu]), gpu] = False
            self.may |= ~self.may.any(axis=1, keepdims=True) & self.fits


class Draft:
    """A plan being made: nodes are placed one after the other, each after its
    predecessors, and start as early as they can, after what is on the GPU already; with
    insertion, also in the first gap that is long enough. That transfers may wait for
    their links is not foreseen.

    With its first node a whole unit is placed, by its projected end on each GPU: after
    all that is left of the units that are there. Ours but for the insertion (Topcuoglu,
    Hariri and Wu 2002).
    """

    def __init__(self, problem: Problem, insertion: bool = False) -> None:
        self.problem, self.insertion, self.room = problem, insertion, Room(problem)
        self.gpu = np.zeros(problem.graph.nodes, dtype=np.int64)
        self.start_s, self.finish_s = np.zeros((2, problem.graph.nodes))
        # (start, finish), by time
        self.runs: list[list[tuple[float, float]]] = [
            [] for _ in range(problem.platform.gpus)
        ]
        self.free_s = np.zeros(problem.platform.gpus)  # when the last of them ends

    def ready_s(self, node: int) -> Floats:
        """When the data of a node, whose predecessors are placed, would be on each GPU
        (Equation 1), shape (gpus,).
        """
        graph, every = self.problem.graph, np.arange(self.problem.platform.gpus)
        before, data_gb = graph.predecessors[node], graph.data_gb[graph.edges_in[node]]
        moved_s = self.problem.transfer_s(
            data_gb[:, None], self.gpu[before, None], every
        )
        return np.asarray(
            (self.finish_s[before, None] + moved_s).max(axis=0, initial=0.0)
        )

    def place(self, node: int, wish: int | None = None) -> None:
        """Place a node on the GPU that is wished for if it may and can run there; else
        where its projected end is earliest.
        """
        room, unit = self.room, self.problem.graph.unit.item(node)
        ready_s, takes_s = self.ready_s(node), self.problem.time_s[node]
        starts_s = np.maximum(ready_s, self.free_s)
        if self.insertion:
            gaps_s = map(_first_gap, self.runs, ready_s.tolist(), takes_s.tolist())
            starts_s = np.array(list(gaps_s))
        # then the whole unit comes, after what is left of the others
        is_first = room.on[unit] < 0
        ends_s = starts_s + (room.unit_s[unit] + room.left_s if is_first else takes_s)
        if wish is None or not (room.may[unit, wish] and np.isfinite(ends_s[wish])):
            wish = int(np.lexsort((ends_s, ~room.may[unit]))[0])
        if is_first:
            room.take(unit, wish)
        start_s, time_s = starts_s.item(wish), takes_s.item(wish)
        self.gpu[node] = wish
        self.start_s[node] = start_s
        self.finish_s[node] = start_s + time_s
        room.left_s[wish] -= time_s
        insort(self.runs[wish], (start_s, start_s + time_s))
        self.free_s[wish] = max(self.free_s[wish], start_s + time_s)

    def plan(self, scheduler: str) -> Plan:
        """The plan, in order of start: carried out without contention, no node starts
        later than here.
        """
        place = np.argsort(self.problem.graph.order)
        # what takes no time, first
        return Plan(
            self.gpu, np.lexsort((place, self.finish_s, self.start_s)), scheduler
        )


def _first_gap(
    runs: Sequence[tuple[float, float]], ready_s: float, time_s: float
) -> float:
    """From when on, not before it is ready, a GPU has nothing else to do for so
    long.
    """
    first = bisect_right(runs, ready_s, key=lambda run: run[1])
    for start_s, finish_s in runs[first:]:
        if ready_s + time_s <= start_s:
            break
        ready_s = finish_s
    return ready_s


def by_priority(graph: Graph, priority: Floats) -> list[int]:
    """The nodes in topological order; of those that are ready, the one of highest
    priority, of equals the first.
    """
    return graph.ordered(
        list(zip((-priority).tolist(), np.argsort(graph.order).tolist()))
    )


def random_plan(problem: Problem, seed: int = 0) -> Plan:
    """Each unit on one of the GPUs that have the memory, all equally likely, by the
    stream "random plan".
    """
    units = random_units(problem, 1, stream(seed, "random plan"))[0]
    return Plan(units[problem.graph.unit], scheduler="random")


def _dealt(problem: Problem, units: Iterable[int], scheduler: str) -> Plan:
    """Units one by one, each on the next GPU that has room, or where what is there and
    it take the shortest time; in the graph's order.
    """
    room, every, last = Room(problem), np.arange(problem.platform.gpus), -1
    for unit in units:
        cost = room.left_s + problem.unit_s[unit]
        if scheduler == "round-robin":
            cost = (every - last - 1) % len(every)
        last = int(np.where(room.may[unit], cost, np.inf).argmin())
        room.take(unit, last)
    return Plan(room.on[problem.graph.unit], scheduler=scheduler)


# seed: one signature for all schedulers
def round_robin(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001
    """Each unit, in order of its first node, on the next GPU that has the memory."""
    units = dict.fromkeys(problem.graph.unit[problem.graph.order].tolist())
    return _dealt(problem, units, "round-robin")


def longest_first(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001
    """The unit of most work first, each on the GPU with the memory where the units take
    the shortest time.

    Graham (1969), SIAM J. Appl. Math. 17, 416-429, for independent tasks.
    """
    work_tflop = np.bincount(problem.graph.unit, problem.graph.work_tflop)
    units = np.argsort(-work_tflop, kind="stable").tolist()
    return _dealt(problem, units, "longest-first")


def _listed(
    problem: Problem,
    scheduler: str,
    priority: Floats,
    insertion: bool = False,
    wishes: Mapping[int, int] | None = None,
) -> Plan:
    """Of the nodes that are ready, that of highest priority next; wishes: GPUs of
    nodes.
    """
    draft = Draft(problem, insertion)
    for node in by_priority(problem.graph, priority):
        draft.place(node, (wishes or {}).get(node))
    return draft.plan(scheduler)


def by_work(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001
    """List scheduling: of the nodes that are ready, the one of most work next, where it
    ends earliest.
    """
    return _listed(problem, "work", problem.graph.work_tflop)


def min_min(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001
    """Of the nodes that are ready, the one that can end earliest next, where it does.

    Ibarra and Kim (1977), Journal of the ACM 24, 280-289, for independent tasks; here,
    over those that are ready.
    """
    graph, draft = problem.graph, Draft(problem)
    missing = [len(before) for before in graph.predecessors]
    ready = [node for node in graph.order.tolist() if not missing[node]]
    ready_s, room = np.zeros((graph.nodes, problem.platform.gpus)), draft.room
    while ready:
        unit = graph.unit[ready]
        whole_s = room.unit_s[unit] + room.left_s
        takes_s = np.where(room.on[unit, None] < 0, whole_s, problem.time_s[ready])
        ends_s = np.maximum(ready_s[ready], draft.free_s) + takes_s
        ends_s = np.where(room.may[unit], ends_s, np.inf)
        draft.place(node := ready.pop(int(ends_s.min(axis=1).argmin())))
        for after in graph.successors[node].tolist():
            missing[after] -= 1
            if not missing[after]:
                ready.append(after)
                ready_s[after] = draft.ready_s(after)
    return draft.plan("min-min")


# orders of a plan: topological, or by upward rank; see `run_order`
ORDERS = ("graph", "rank")


# seed: one signature for all schedulers
def heft(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001
    """Heterogeneous earliest finish time: by upward rank, each node where it ends
    earliest, also in gaps; a unit where it is projected to.

    Topcuoglu, Hariri and Wu (2002), IEEE TPDS 13, 260-274.
    """
    return _listed(problem, "heft", upward_rank_s(problem), insertion=True)


def run_order(problem: Problem, order: str) -> Ints | None:
    """The order in which a search runs its plans.

    order: "graph", the topological order of the graph, of nodes that are ready the
    first by number, as in the authors' program; or "rank", by upward rank, the order in
    which HEFT places the nodes. Result: as of `Plan`: None for the graph's. Raises
    InputError for another order.
    """
    check_one_of("order", order, ORDERS)
    if order == "graph":
        return None
    return np.array(by_priority(problem.graph, upward_rank_s(problem)))


def cpop(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001
    """Critical path on a processor: by the sum of both ranks, critical nodes on one
    GPU, others where they end earliest.

    The GPU is the one with the memory for most of the critical nodes (ours), and of
    these the one that runs them all soonest. A node is critical if all of its unit are
    on the path (ours): the stages of a pipeline are all met by it.

    Topcuoglu, Hariri and Wu (2002), IEEE TPDS 13, 260-274.
    """
    path = critical_path(problem)
    lacking = np.sum(~problem.fits[problem.graph.unit[path]], axis=0)
    best = int(np.lexsort((problem.time_s[path].sum(axis=0), lacking))[0])
    unit = problem.graph.unit
    priority = upward_rank_s(problem) + downward_rank_s(problem)
    critical = np.bincount(unit[path], minlength=problem.graph.units) == np.bincount(
        unit
    )
    wishes = dict.fromkeys(np.flatnonzero(critical[unit]).tolist(), best)
    return _listed(problem, "cpop", priority, insertion=True, wishes=wishes)


SIMPLE = (round_robin, longest_first, by_work, min_min, heft, cpop)


def best_simple(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001
    """Of the plans of round-robin, longest-first, work, min-min, HEFT and CPOP the one
    that ends first when it is carried out.
    """
    plans = [make(problem) for make in SIMPLE]
    ends_s = [makespans(problem, plan.gpu[None], plan.order)[0] for plan in plans]
    return replace(plans[int(np.argmin(ends_s))], scheduler="best-simple")


def upward_rank_s(problem: Problem) -> Floats:
    """Mean length of the longest path from each node to the end, itself included,
    seconds, shape (nodes,).
    """
    time_s, moved_s = _mean_costs_s(problem)
    return time_s + problem.graph.longest_s(time_s, moved_s, back=True)


def downward_rank_s(problem: Problem) -> Floats:
    """Mean length of the longest path from an entry to each node, itself excluded,
    seconds, shape (nodes,).
    """
    return problem.graph.longest_s(*_mean_costs_s(problem))


def critical_path(problem: Problem) -> list[int]:
    """The nodes of the longest path by mean costs, in its order."""
    graph = problem.graph
    rank_s = upward_rank_s(problem)
    moved_s = _mean_costs_s(problem)[1]
    # no node has a higher rank than what comes before it, so this is an entry
    path = [int(np.argmax(rank_s))]
    while len(after := graph.successors[path[-1]]):
        path.append(
            int(after[np.argmax(moved_s[graph.edges_out[path[-1]]] + rank_s[after])])
        )
    return path


def _mean_costs_s(problem: Problem) -> tuple[Floats, Floats]:
    """Mean time of each node, over the GPUs with the memory, and of each edge's data.

    Data take the mean latency between two GPUs, and what they take at the mean
    bandwidth (Equations 3 and 4 of HEFT's source). The source has all processors
    connected, memory enough and no units: missing connections do not count, in a unit
    data do not move, and an edge without data has no transfer (ours).
    """
    graph, bandwidth = problem.graph, problem.platform.bandwidth_gb_per_s
    linked = (bandwidth > 0) & ~np.eye(len(bandwidth), dtype=bool)
    apart = graph.unit[graph.edges[:, 0]] != graph.unit[graph.edges[:, 1]]
    gb_per_s, latency_s = np.inf, 0.0
    if linked.any():
        gb_per_s, latency_s = bandwidth[linked].mean(), problem.latency_s[linked].mean()
    moved_s = graph.data_gb * apart / gb_per_s + latency_s * (
        apart & (graph.data_gb > 0)
    )
    return problem.time_s.mean(axis=1, where=problem.fits[graph.unit]), moved_s
