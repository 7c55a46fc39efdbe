"""Graphs on GPUs, plans, and the resulting schedules (worl-rtgs.txt Equations 1 to 17).

Times are computed node by node and are exactly equal to those of the simulation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np

from cgrsp_simpy.base.arrays import Bools, Floats, Ints
from cgrsp_simpy.base.checks import (
    MOST_WHOLE,
    InputError,
    check_entries,
    refuse,
    require,
    set_columns,
)
from cgrsp_simpy.base.parameters import declared, parameter
from cgrsp_simpy.base.table import many
from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.dag.platform import Platform


@declared()
class Problem:
    """A graph and its GPUs; each GPU runs one node at a time, in the plan's order.

    Raises InputError for a unit that fits in no GPU's memory.
    """

    graph: Graph = parameter("Nodes and the data transfers between them.")
    platform: Platform = parameter("The GPUs.")

    def __post_init__(self) -> None:
        for unit in np.flatnonzero(~self.fits.any(axis=1)):
            within = self.graph.unit == unit
            node = np.flatnonzero(within)[self.unit_in_use_mb[within].argmax()]
            nodes = within.sum()
            of_unit = f", of a unit of {nodes} nodes," if nodes > 1 else ""
            in_use_mb = self.unit_in_use_mb[node]
            raise InputError(
                f"{self.needs(node, in_use_mb, of_unit, self.graph.unit)};"
                f" the largest GPU has {self.platform.memory_mb.max()} MB"
            )

    def needs(self, node: int, in_use_mb: float, suffix: str, group: Ints) -> str:
        """Return the text of an error about the memory in use while a node runs.

        in_use_mb: the memory. suffix: text after the name. group: see
        `Graph.in_use_mb`.
        """
        graph = self.graph
        text = f"node {graph.names[node]}{suffix} needs {in_use_mb:.0f} MB"
        resident_mb = graph.resident_mb[group == group[node]].sum()
        held_mb = in_use_mb - resident_mb - graph.memory_mb[node]
        if resident_mb or held_mb:
            units = len(np.unique(graph.unit[group == group[node]]))
            text += (
                f": {resident_mb} resident, of {many(units, 'unit')},"
                f" {held_mb:.0f} held between nodes, as activations,"
                f" {graph.memory_mb[node]} of its own"
            )
        return text

    @cached_property
    def unit_in_use_mb(self) -> Floats:
        """Memory in use by each node's unit while it runs, MB, shape (nodes,)."""
        return self.graph.in_use_mb(self.graph.unit, self.graph.order)

    @cached_property
    def unit_mb(self) -> Floats:
        """Largest memory in use per unit, megabytes, shape (units,)."""
        answer = np.zeros(self.graph.units)
        np.maximum.at(answer, self.graph.unit, self.unit_in_use_mb)
        return answer

    @cached_property
    def fits(self) -> Bools:
        """Whether each unit fits alone in each GPU's memory, shape (units, gpus)."""
        return self.unit_mb[:, None] <= self.platform.memory_mb

    @cached_property
    def lasts(self) -> Bools:
        """Whether a unit keeps memory for longer than one node runs, shape (units,)."""
        nodes = (self.graph.resident_mb > 0) | self.graph.lasting_mb.any(axis=0)
        return np.bincount(self.graph.unit, nodes, self.graph.units) > 0

    @cached_property
    def contention(self) -> bool:
        """Whether transfers over a link wait for each other; see `Platform`."""
        if self.platform.contention is None:
            return self.graph.units < self.graph.nodes
        return self.platform.contention

    @cached_property
    def unit_s(self) -> Floats:
        """Execution time of each whole unit per GPU, seconds, shape (units, gpus)."""
        unit, columns = self.graph.unit, self.time_s.T
        return np.stack([np.bincount(unit, time_s) for time_s in columns], axis=1)

    @cached_property
    def time_s(self) -> Floats:
        """Execution time, seconds, shape (nodes, gpus) (Equation 14)."""
        return self.graph.work_tflop[:, None] / self.platform.tflops

    @cached_property
    def s_per_gb(self) -> Floats:
        """Seconds per GB, (gpus, gpus): 0 within a GPU, infinite if not connected."""
        with np.errstate(divide="ignore"):
            apart_s = 1 / self.platform.bandwidth_gb_per_s
        return np.where(np.eye(len(apart_s), dtype=bool), 0.0, apart_s)

    @cached_property
    def latency_s(self) -> Floats:
        """Latency between GPUs, seconds, shape (gpus, gpus): 0 within a GPU."""
        return np.where(
            np.eye(self.platform.gpus, dtype=bool), 0.0, self.platform.latency_s
        )

    @cached_property
    def _plain(self) -> bool:
        """Whether all GPUs are connected, with no latency."""
        return bool(np.isfinite(self.s_per_gb).all() and not self.latency_s.any())

    def transfer_s(self, data_gb: Any, source: Any, target: Any) -> Floats:
        """Return transfer times between GPUs, seconds; infinite without a connection.

        An edge without data takes no time. data_gb, source, target are broadcast.
        worl-rtgs.txt Equation 3, plus latency.
        """
        delay_s: Floats = self.s_per_gb[source, target]
        if self._plain:
            return np.asarray(data_gb * delay_s)
        with np.errstate(invalid="ignore"):  # no data, no connection: 0 x infinity
            return np.where(
                data_gb > 0, self.latency_s[source, target] + data_gb * delay_s, 0.0
            )


@dataclass(frozen=True, eq=False)
class Plan:
    """A placement of the nodes, and their order.

    gpu: index of each node's GPU, shape (nodes,). order: all nodes in a topological
    order, in which the GPUs run them, shape (nodes,); default: that of the graph.
    """

    gpu: Ints = field(repr=False)
    order: Ints | None = field(default=None, repr=False)
    scheduler: str = "plan"

    def __post_init__(self) -> None:
        for name in ("gpu", "order")[: 1 + (self.order is not None)]:
            set_columns(self, {name: "f8"}, "node")
            check_entries(
                name,
                getattr(self, name),
                lambda n: f"node {n - 1}",
                least=-MOST_WHOLE,
                whole=True,
            )
            set_columns(self, {name: "i8"}, "node")

    def check(self, problem: Problem) -> None:
        """Raise InputError, with the node's name, if a problem rules out the plan."""
        graph = problem.graph
        require(
            self.gpu.shape == (graph.nodes,),
            "shape of gpu",
            self.gpu.shape,
            f"({graph.nodes},), one per node",
        )
        names, last = graph.names, problem.platform.gpus - 1
        refuse(
            (self.gpu < 0) | (self.gpu > last),
            lambda node: (
                f"GPU of node {names[node]}(={self.gpu[node]}) must be 0 to {last}"
            ),
        )
        of_unit = np.full(graph.units, -1)
        of_unit[graph.unit] = self.gpu
        refuse(
            of_unit[graph.unit] != self.gpu,  # Equation 16
            lambda node: f"node {names[node]} is not on the GPU of its unit",
        )
        # the first node of each unit
        first = np.unique(graph.unit, return_index=True)[1]
        refuse(
            ~problem.fits[np.arange(graph.units), of_unit],
            lambda unit: (
                f"node {names[first[unit]]} or its unit does not fit on GPU"
                f" {of_unit[unit]}"
            ),
        )
        if self.order is not None:
            if not np.array_equal(np.sort(self.order), np.arange(graph.nodes)):
                raise InputError(
                    f"order must contain each of {many(graph.nodes, 'node')} once"
                )
            before, after = graph.edges.T
            place = np.argsort(self.order)
            refuse(
                place[before] > place[after],
                lambda edge: (
                    f"order: node {names[after[edge]]} comes before"
                    f" {names[before[edge]]}, whose data it needs"
                ),
            )
        order = graph.order if self.order is None else self.order
        in_use_mb = graph.in_use_mb(self.gpu, order)
        has_mb = problem.platform.memory_mb[self.gpu]
        for node in order[(in_use_mb > has_mb)[order]]:
            raise InputError(
                f"GPU {self.gpu[node]} of {has_mb[node]} MB is out of memory:"
                f" {problem.needs(node, in_use_mb[node], '', self.gpu)}"
            )


@dataclass(frozen=True, eq=False)
class Schedule:
    """A plan and the times at which its nodes run.

    start_s, finish_s: per node, seconds, shape (nodes,) (AST and AFT).
    """

    problem: Problem
    plan: Plan
    start_s: Floats
    finish_s: Floats

    @property
    def makespan_s(self) -> float:
        """End of the last node, seconds (FFT, Equation 17)."""
        return float(self.finish_s.max())

    def arrivals_s(self) -> Floats:
        """Return each edge's arrival if links are free, shape (edges,) (Equation 2)."""
        start, end = self.problem.graph.edges.T
        gpu = self.plan.gpu
        return np.asarray(
            self.finish_s[start]
            + self.problem.transfer_s(self.problem.graph.data_gb, gpu[start], gpu[end])
        )


def lower_bound_s(problem: Problem) -> float:
    """Return a lower bound on every makespan, s, up to rounding; not in the paper."""
    return max(critical_path_s(problem), capacity_s(problem))


def critical_path_s(problem: Problem) -> float:
    """Return the longest path by shortest node times, without transfers; seconds."""
    graph = problem.graph
    time_s = problem.time_s.min(axis=1, where=problem.fits[graph.unit], initial=np.inf)
    return float((graph.longest_s(time_s, np.zeros(len(graph.edges))) + time_s).max())


def capacity_s(problem: Problem) -> float:
    """Return the larger of work over total speed and the longest unit; seconds."""
    work, tflops = problem.graph.work_tflop.sum(), problem.platform.tflops.sum()
    longest_s = problem.unit_s.min(axis=1, where=problem.fits, initial=np.inf).max()
    return float(max(longest_s, work / tflops))


# up to so many plans, plain Python is faster than NumPy
FEW = 16


def makespans(problem: Problem, gpu: Ints, order: Ints | None = None) -> Floats:
    """Return the makespans of many plans, seconds, shape (plans,).

    Infinite if a plan's data need a missing connection, or nodes more memory than their
    GPU has. gpu: shape (plans, nodes). order: of all plans, see `Plan`.
    """
    order = problem.graph.order if order is None else np.asarray(order)
    gpu = np.asarray(gpu)
    answer: Floats = _times(problem, np.ascontiguousarray(gpu.T), order)[1].max(axis=0)
    if problem.lasts.any():
        for number, plan in enumerate(gpu):
            if (
                problem.graph.in_use_mb(plan, order) > problem.platform.memory_mb[plan]
            ).any():
                answer[number] = np.inf
    return answer


def carried_out(problem: Problem, plan: Plan) -> Schedule:
    """Return the schedule of a plan; raise InputError if the plan is not allowed."""
    plan.check(problem)
    order = problem.graph.order if plan.order is None else plan.order
    return Schedule(problem, plan, *_times_of(problem, plan.gpu, order))


def turns_of(gpu: Ints, order: Ints, gpus: int) -> list[list[int]]:
    """Return the nodes of each GPU, last node first; gpu, order: as in `Plan`."""
    return [order[gpu[order] == host][::-1].tolist() for host in range(gpus)]


def latest(
    problem: Problem, gpu: Ints, order: Ints
) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the critical path of a plan's run, last node first, and its GPU waits.

    The waits are pairs of nodes on a GPU; the second waits only for the first to end.
    gpu, order: shape (nodes,), see `Plan`. If data wait for a link, the path continues
    with the node whose data would arrive last without that wait.
    """
    graph = problem.graph
    start_s, finish_s = _times_of(problem, gpu, order).tolist()
    moved_s = problem.transfer_s(graph.data_gb, *gpu[graph.edges.T]).tolist()
    turns = turns_of(gpu, order, problem.platform.gpus)
    before_it = dict(pair for nodes in turns for pair in pairwise(nodes))
    nodes, waits = [int(np.argmax(finish_s))], list[tuple[int, int]]()
    while start_s[node := nodes[-1]]:
        sent = {
            start: finish_s[start] + moved_s[edge]
            for start, edge in graph.incoming[node]
        }
        before = before_it.get(node, -1)
        if before >= 0 and before not in sent and finish_s[before] == start_s[node]:
            waits.append((before, node))
        else:
            before = max(sent, key=sent.__getitem__)
        nodes.append(before)
    return nodes, waits


def _times(problem: Problem, gpu: Ints, order: Ints) -> tuple[Floats, Floats]:
    """Return starts and finishes, shape (nodes, plans); gpu: shape (nodes, plans)."""
    if gpu.shape[1] and (problem.contention or gpu.shape[1] <= FEW):
        start_s, finish_s = np.stack(
            [_times_of(problem, plan, order) for plan in gpu.T], axis=-1
        )
        return start_s, finish_s
    graph = problem.graph
    plans = np.arange(gpu.shape[1])
    start_s, finish_s = np.empty((2, *gpu.shape))
    free_s = np.zeros((problem.platform.gpus, len(plans)))
    for node in order.tolist():
        before, on = graph.predecessors[node], gpu[node]
        ready_s = free_s[on, plans]
        if len(before):
            data_gb = graph.data_gb[graph.edges_in[node]]
            moved_s = problem.transfer_s(data_gb[:, None], gpu[before], on)
            # Equation 1
            ready_s = np.maximum((finish_s[before] + moved_s).max(axis=0), ready_s)
        start_s[node] = ready_s
        # Equation 15
        finish_s[node] = free_s[on, plans] = ready_s + problem.time_s[node, on]
    return start_s, finish_s


def _times_of(problem: Problem, gpu: Ints, order: Ints) -> Floats:
    """Return starts and finishes of one plan, shape (2, nodes), exactly as `_times`."""
    if problem.contention:
        return _times_on_links(problem, gpu, order)
    graph = problem.graph
    incoming = graph.incoming
    moved_s = problem.transfer_s(graph.data_gb, *gpu[graph.edges.T]).tolist()
    time_s, on = problem.time_s[np.arange(graph.nodes), gpu].tolist(), gpu.tolist()
    start_s, finish_s = [0.0] * graph.nodes, [0.0] * graph.nodes
    free_s = [0.0] * problem.platform.gpus
    for node in order.tolist():
        now_s = free_s[on[node]]
        for before, edge in incoming[node]:
            arrives_s = finish_s[before] + moved_s[edge]
            if arrives_s > now_s:  # several times faster than max()
                now_s = arrives_s
        start_s[node] = now_s
        finish_s[node] = free_s[on[node]] = now_s + time_s[node]
    return np.array((start_s, finish_s))


def _times_on_links(problem: Problem, gpu: Ints, order: Ints) -> Floats:
    """As `_times_of`, with one transfer per link at a time, in order of request."""
    graph = problem.graph
    source, target = gpu[graph.edges.T]
    moved_s = problem.transfer_s(graph.data_gb, source, target).tolist()
    link = problem.platform.link(source, target).tolist()
    time_s, on = problem.time_s[np.arange(graph.nodes), gpu].tolist(), gpu.tolist()
    ends = graph.edges[:, 1].tolist()
    edges_out = [edges.tolist() for edges in graph.edges_out]
    missing = [len(edges) for edges in graph.edges_in]
    start_s, finish_s = [0.0] * graph.nodes, [0.0] * graph.nodes
    turns = turns_of(gpu, order, problem.platform.gpus)
    runs, free_s = [False] * len(turns), dict.fromkeys(link, 0.0)
    # (time, edge whose data arrive, or -1 - node that ends)
    coming: list[tuple[float, int]] = []

    def start(host: int, now_s: float) -> None:
        if turns[host] and not runs[host] and not missing[turns[host][-1]]:
            node, runs[host] = turns[host].pop(), True
            start_s[node], finish_s[node] = now_s, now_s + time_s[node]
            heappush(coming, (finish_s[node], -1 - node))

    for host in range(len(turns)):
        start(host, 0.0)
    while coming:
        now_s, asked = coming[0][0], list[int]()
        while coming and coming[0][0] == now_s:
            what = heappop(coming)[1]
            arrived = [what]
            if what < 0:
                host, out = on[-1 - what], edges_out[-1 - what]
                runs[host], arrived = False, [edge for edge in out if not moved_s[edge]]
                asked += [edge for edge in out if moved_s[edge]]
                start(host, now_s)
            for edge in arrived:
                missing[ends[edge]] -= 1
                start(on[ends[edge]], now_s)
        for edge in sorted(asked):
            free_s[link[edge]] = max(now_s, free_s[link[edge]]) + moved_s[edge]
            heappush(coming, (free_s[link[edge]], edge))
    return np.array((start_s, finish_s))
