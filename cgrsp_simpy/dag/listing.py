"""Schedulers that build one plan: simple ones and list scheduling (HEFT and CPOP).

All know the whole graph. A GPU that data cannot reach has an infinite finish time and
is chosen last, but there is no look-ahead: if the platform is not connected, a plan's
makespan may be infinite.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice

import numpy as np

from cgrsp_simpy.base.arrays import Bools, Floats, Ints
from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.dag.problem import Plan, Problem, makespans
from cgrsp_simpy.dag.search import random_units


class Room:
    """GPUs with enough free memory for each unit, and the remaining work of each GPU.

    A unit for which no memory is left may go to any GPU on which it fits alone. A GPU
    that receives a unit is then excluded until all these GPUs have received one. Such a
    plan is later rejected with an error that lists what fills the GPU.
    """

    def __init__(self, problem: Problem) -> None:
        self.unit_s = problem.unit_s
        # an assigned unit fits on its GPU alone, and needs no more memory there
        self.fits = problem.fits.copy()
        self.free_mb = problem.platform.memory_mb.astype(float)
        self.need_mb = np.where(problem.lasts, problem.unit_mb, 0.0)
        self.left_s = np.zeros(problem.platform.gpus)
        # the GPU of each unit, once it has one
        self.on = np.full(problem.graph.units, -1)
        # units that fit alone on the same GPUs share a memory
        patterns, pattern = np.unique(self.fits, axis=0, return_inverse=True)
        self._pattern = pattern.ravel()  # NumPy 2.0 returns shape (units, 1)
        self._memories = [Memory(pattern, self.free_mb) for pattern in patterns]

    def take(self, unit: int, gpu: int) -> None:
        """Assign a unit to a GPU."""
        self.on[unit] = gpu
        self.left_s[gpu] += self.unit_s[unit, gpu]
        if self.need_mb[unit]:
            self.free_mb[gpu] -= self.need_mb[unit]
            for memory in self._memories:
                memory.take(gpu)
        self.fits[unit], self.need_mb[unit] = (
            np.arange(len(self.left_s)) == gpu,
            -np.inf,
        )

    def allowed(self, unit: int) -> Bools:
        """Return the GPUs to which a unit may go, shape (gpus,)."""
        row = self._with_room(unit)
        if row.any():
            return row
        memory: Memory = self._memories[self._pattern[unit]]
        return memory.without_room(self.need_mb[unit])

    def allowed_each(self, units: Ints) -> Bools:
        """Return `allowed` for each unit, shape (units, gpus)."""
        rows = self._with_room(units)
        for place in np.flatnonzero(~rows.any(axis=1)).tolist():
            rows[place] = self.allowed(units[place])
        return rows

    def _with_room(self, units: int | Ints) -> Bools:
        rows: Bools = self.fits[units] & (self.need_mb[units, None] <= self.free_mb)
        return rows


class Memory:
    """Free memory of the GPUs on which certain units fit alone, after each assignment.

    A unit for which no memory is left may go to each of these GPUs except those that
    have received a unit in the current round. The first round begins when the last GPU
    with room for the unit fills up, the next when each GPU has received a unit.
    """

    def __init__(self, gpus: Bools, free_mb: Floats) -> None:
        self.gpus, self._free_mb = gpus, free_mb
        # after each unit: minus the most memory left, which rises
        self._full_mb: list[float] = []
        self._last = np.zeros(len(gpus), dtype=np.int64)  # the last unit on each GPU
        # per assigned unit: the one after which each GPU has received a unit again
        self._again: list[int] = []

    def take(self, gpu: int) -> None:
        """Record that a GPU has received a unit."""
        self._full_mb.append(-self._free_mb[self.gpus].max())
        number = len(self._full_mb)
        self._last[gpu] = number
        complete = int(self._last[self.gpus].min()) - len(self._again)
        self._again += [number] * complete

    def without_room(self, need_mb: float) -> Bools:
        """Return the GPUs to which a unit may go if none has enough memory left."""
        since = bisect_right(self._full_mb, -need_mb) + 1
        again = self._again
        while since < len(again):
            later = again[since]
            again[since] = again[later] if later < len(again) else later  # shortcut
            since = later
        return self.gpus & (self._last <= since)


class Draft:
    """A partial plan: nodes are placed one by one at their earliest start.

    A node starts after its predecessors and the nodes already on its GPU or, with
    insertion, in the first gap that is long enough. Waits for links are ignored. The
    first node of a unit places the whole unit, by its projected end on each GPU after
    the remaining work of the units there. Only the insertion is from the literature
    (Topcuoglu, Hariri and Wu 2002).
    """

    def __init__(self, problem: Problem, insertion: bool = False) -> None:
        self.problem, self.insertion, self.room = problem, insertion, Room(problem)
        self.gpu = np.zeros(problem.graph.nodes, dtype=np.int64)
        self.start_s, self.finish_s = np.zeros((2, problem.graph.nodes))
        self.runs = [Runs() for _ in range(problem.platform.gpus)]
        self.free_s = np.zeros(problem.platform.gpus)  # when the last of them ends

    def ready_s(self, node: int) -> Floats:
        """Return when a node's data would arrive on each GPU (Equation 1), (gpus,).

        Its predecessors must already be placed.
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
        """Place a node on GPU `wish` if possible, else where it ends earliest."""
        room, unit = self.room, self.problem.graph.unit.item(node)
        ready_s, takes_s = self.ready_s(node), self.problem.time_s[node]
        starts_s = np.maximum(ready_s, self.free_s)
        if self.insertion:
            gaps_s = map(Runs.gap_s, self.runs, ready_s.tolist(), takes_s.tolist())
            starts_s = np.array(list(gaps_s))
        # then the whole unit follows, after the remaining nodes of the others
        is_first = room.on[unit] < 0
        ends_s = starts_s + (room.unit_s[unit] + room.left_s if is_first else takes_s)
        allowed = room.allowed(unit)
        if wish is None or not (allowed[wish] and np.isfinite(ends_s[wish])):
            wish = int(np.lexsort((ends_s, ~allowed))[0])
        if is_first:
            room.take(unit, wish)
        start_s, time_s = starts_s.item(wish), takes_s.item(wish)
        self.gpu[node] = wish
        self.start_s[node] = start_s
        self.finish_s[node] = start_s + time_s
        room.left_s[wish] -= time_s
        if self.insertion:
            self.runs[wish].add(start_s, start_s + time_s)
        self.free_s[wish] = max(self.free_s[wish], start_s + time_s)

    def plan(self, scheduler: str) -> Plan:
        """Return the plan, with the nodes in order of start time."""
        place = np.argsort(self.problem.graph.order)
        # events without duration first
        return Plan(
            self.gpu, np.lexsort((place, self.finish_s, self.start_s)), scheduler
        )


class Runs:
    """Execution intervals of the nodes on a GPU and the gaps between them, by time."""

    def __init__(self) -> None:
        self._runs: list[tuple[float, float]] = []  # start, finish
        # end, start of the gaps of some length; the last one has no end
        self._gaps = [(np.inf, 0.0)]

    def gap_s(self, ready_s: float, time_s: float) -> float:
        """Return the earliest time >= ready_s that starts a free span of time_s."""
        last_s = self._gaps[-1][1]
        if last_s + time_s / 2 == last_s:
            return self._moment_s(ready_s, time_s)
        first = bisect_left(self._gaps, (ready_s,))
        return next(
            start_s
            for end_s, begin_s in islice(self._gaps, first, None)
            if (start_s := max(ready_s, begin_s)) + time_s <= end_s
        )

    def _moment_s(self, ready_s: float, time_s: float) -> float:
        """As `gap_s` for a run of 0 s, which fits between any two runs."""
        first = bisect_right(self._runs, ready_s, key=lambda run: run[1])
        for place in range(first, len(self._runs)):
            start_s, finish_s = self._runs[place]
            if ready_s + time_s <= start_s:
                break
            ready_s = finish_s
        return ready_s

    def add(self, start_s: float, finish_s: float) -> None:
        """Add a run; a run of zero length splits the gap that contains it."""
        insort(self._runs, (start_s, finish_s))
        place = bisect_left(self._gaps, (finish_s,))
        end_s, begin_s = self._gaps[place]
        if begin_s > start_s:  # no time between two runs
            return
        parts = (start_s, begin_s), (end_s, finish_s)
        self._gaps[place : place + 1] = [part for part in parts if part[1] < part[0]]


def by_priority(graph: Graph, priority: Floats) -> list[int]:
    """Return the nodes in topological order, by highest priority, ties by `order`."""
    return graph.ordered(
        list(zip((-priority).tolist(), np.argsort(graph.order).tolist()))
    )


def random_plan(problem: Problem, seed: int = 0) -> Plan:
    """Place units on random GPUs with enough memory (random stream "random plan")."""
    units = random_units(problem, 1, stream(seed, "random plan"))[0]
    return Plan(units[problem.graph.unit], scheduler="random")


def _dealt(problem: Problem, units: Iterable[int], scheduler: str) -> Plan:
    room, every, last = Room(problem), np.arange(problem.platform.gpus), -1
    for unit in units:
        cost = room.left_s + problem.unit_s[unit]
        if scheduler == "round-robin":
            cost = (every - last - 1) % len(every)
        last = int(np.where(room.allowed(unit), cost, np.inf).argmin())
        room.take(unit, last)
    return Plan(room.on[problem.graph.unit], scheduler=scheduler)


# seed: one signature for all schedulers
def round_robin(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001
    """Place units, ordered by first node, on the next GPU with enough memory."""
    units = dict.fromkeys(problem.graph.unit[problem.graph.order].tolist())
    return _dealt(problem, units, "round-robin")


def longest_first(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001
    """Place units by decreasing work on the least loaded GPU with enough memory.

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
    draft = Draft(problem, insertion)
    for node in by_priority(problem.graph, priority):
        draft.place(node, (wishes or {}).get(node))
    return draft.plan(scheduler)


def by_work(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001
    """Place next the ready node with the most work, where it ends earliest."""
    return _listed(problem, "work", problem.graph.work_tflop)


def min_min(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001
    """Place next the ready node with the earliest possible end, on the GPU of that end.

    The running time grows with the square of the number of ready nodes. Ibarra and Kim
    (1977), Journal of the ACM 24, 280-289, for independent tasks.
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
        ends_s = np.where(room.allowed_each(unit), ends_s, np.inf)
        node = ready.pop(int(ends_s.min(axis=1).argmin()))
        draft.place(node)
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
    """Heterogeneous earliest finish time: place nodes by decreasing upward rank.

    Each node goes where it ends earliest, gaps included. Topcuoglu, Hariri and Wu
    (2002), IEEE TPDS 13, 260-274.
    """
    return _listed(problem, "heft", upward_rank_s(problem), insertion=True)


def run_order(problem: Problem, order: str) -> Ints | None:
    """Return the node order that a search uses, or None for that of the graph.

    order: "graph": topological, with ready nodes by number, as in the authors' program;
    "rank": by upward rank, as in HEFT. Raises InputError for any other value.
    """
    check_one_of("order", order, ORDERS)
    if order == "graph":
        return None
    return np.array(by_priority(problem.graph, upward_rank_s(problem)))


def cpop(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001
    """Critical path on a processor (CPOP): place all critical nodes on one GPU.

    The priority of a node is the sum of its upward and downward rank. That GPU has the
    memory for most critical nodes, ties by their total time; other nodes go where they
    end earliest. A node is critical if all nodes of its unit are on the path. Except
    units and memory: Topcuoglu, Hariri and Wu (2002), IEEE TPDS 13, 260-274.
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
    """Return the best of round-robin, longest-first, work, min-min, HEFT and CPOP."""
    plans = [make(problem) for make in SIMPLE]
    ends_s = [makespans(problem, plan.gpu[None], plan.order)[0] for plan in plans]
    return replace(plans[int(np.argmin(ends_s))], scheduler="best-simple")


def upward_rank_s(problem: Problem) -> Floats:
    """Return the longest path to an exit by mean costs, node included; (nodes,)."""
    time_s, moved_s = _mean_costs_s(problem)
    return time_s + problem.graph.longest_s(time_s, moved_s, back=True)


def downward_rank_s(problem: Problem) -> Floats:
    """Return the longest path from an entry by mean costs, node excluded; (nodes,)."""
    return problem.graph.longest_s(*_mean_costs_s(problem))


def critical_path(problem: Problem) -> list[int]:
    """Return the nodes of the longest path by mean costs, in path order."""
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
    """Return the mean times of nodes, over GPUs with enough memory, and of edges' data.

    Transfers take the mean latency plus their size over the mean bandwidth (Equations 3
    and 4 of HEFT's source). Not in the source: missing connections do not count, and
    data within a unit and edges without data take no time.
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
