"""A graph to be placed on GPUs, plans that place it, and when its nodes then run (worl-rtgs.txt
Equations 1 to 17): computed node by node, equal to the simulation to the last digit, and many times
faster.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.dag.graph import Floats, Graph, Ints
from cgrsp_simpy.dag.platform import Platform
from cgrsp_simpy.model.checks import InputError, check_one_of, require

READINGS = ("exclusive", "shared")  # how a GPU runs nodes; see `Problem`


@dataclass(frozen=True, eq=False)
class Problem:
    """A graph, the GPUs it may run on, and how a GPU runs nodes.

    Parameters
    ----------
    graph : Graph
        The nodes.
    platform : Platform
        The GPUs and their connections.
    reading : str
        "exclusive", one node at a time in the plan's order, as in the authors' program; or
        "shared", several at once, each at full speed, as long as memory lasts, as in Equations
        4 to 7.

    Raises
    ------
    InputError
        For another reading, or a unit that no GPU has the memory for.

    References
    ----------
    worl-rtgs.txt.
    """

    graph: Graph
    platform: Platform
    reading: str = "exclusive"

    def __post_init__(self) -> None:
        check_one_of("reading", self.reading, READINGS)
        for unit in np.flatnonzero(~self.fits.any(axis=1))[:1]:
            node = max(
                np.flatnonzero(self.graph.unit == unit), key=lambda node: self.graph.memory_mb[node]
            )
            of_unit = (
                f", of a unit of {np.sum(self.graph.unit == unit)} nodes,"
                if np.sum(self.graph.unit == unit) > 1
                else ""
            )
            raise InputError(
                f"node {self.graph.names[node]}{of_unit} needs {self.graph.memory_mb[node]} MB;"
                f" the largest GPU has {self.platform.memory_mb.max()} MB"
            )

    @cached_property
    def fits(self) -> npt.NDArray[np.bool_]:
        """Whether a GPU has the memory for a unit: for each of its nodes by itself, for they
        may run in turn.

        (units, gpus).
        """
        most_mb = np.zeros(self.graph.units, dtype=np.int64)
        np.maximum.at(most_mb, self.graph.unit, self.graph.memory_mb)
        return most_mb[:, None] <= self.platform.memory_mb

    @cached_property
    def time_s(self) -> Floats:
        """Execution time of each node on each GPU, seconds, shape (nodes, gpus) (Equation 14)."""
        return self.graph.work_tflop[:, None] / self.platform.tflops

    @cached_property
    def s_per_gb(self) -> Floats:
        """Seconds to move a gigabyte between GPUs, shape (gpus, gpus): 0 on one GPU, infinite
        without connection.
        """
        with np.errstate(divide="ignore"):
            answer = 1 / self.platform.bandwidth_gb_per_s
        np.fill_diagonal(answer, 0.0)
        return answer

    @cached_property
    def latency_s(self) -> Floats:
        """What a transfer takes beside its data over the bandwidth, seconds, shape (gpus,
        gpus): 0 on one GPU.
        """
        answer = self.platform.latency_s.copy()
        np.fill_diagonal(answer, 0.0)
        return answer

    @cached_property
    def _plain(self) -> bool:
        """Whether data can go from every GPU to every other, with no latency."""
        return bool(np.isfinite(self.s_per_gb).all() and not self.latency_s.any())

    def transfer_s(self, data_gb: Floats, source: Ints, target: Ints) -> Floats:
        """What data take from GPU to GPU.

        An edge without data needs no transfer: neither time nor connection.

        data_gb: gigabytes. source, target: indices of GPUs; all three broadcast. Result: seconds;
        infinite without a connection. worl-rtgs.txt Equation 3, and the latency.
        """
        delay_s: Floats = self.s_per_gb[source, target]
        if self._plain:
            return data_gb * delay_s
        with np.errstate(invalid="ignore"):  # no data, no connection: 0 x infinity
            return np.where(data_gb > 0, self.latency_s[source, target] + data_gb * delay_s, 0.0)

    def moved_s(self, data_gb: float, source: int, target: int) -> float:
        """As `transfer_s`, for one edge."""
        if not data_gb:
            return 0.0
        return self.latency_s.item(source, target) + data_gb * self.s_per_gb.item(source, target)


@dataclass(frozen=True, eq=False)
class Plan:
    """Where the nodes go.

    Parameters
    ----------
    gpu : array of int
        Index of each node's GPU, shape (nodes,).
    order : array of int, optional
        In which a GPU runs its nodes (exclusive), or lets in those that wait for memory (shared):
        all nodes in a topological order, shape (nodes,); the graph's unless given.
    scheduler : str
        Who made it.
    """

    gpu: Ints = field(repr=False)
    order: Ints | None = field(default=None, repr=False)
    scheduler: str = "plan"

    def check(self, problem: Problem) -> None:
        """Refuse a plan that a problem does not allow.

        problem: a graph and its GPUs. Raises InputError names the node.
        """
        graph = problem.graph
        require(
            self.gpu.shape == (graph.nodes,),
            "shape of gpu",
            self.gpu.shape,
            f"({graph.nodes},), one a node",
        )
        for node in np.flatnonzero((self.gpu < 0) | (self.gpu >= problem.platform.gpus))[:1]:
            require(
                False,
                f"GPU of node {graph.names[node]}",
                self.gpu[node].item(),
                f"0 to {problem.platform.gpus - 1}",
            )
        of_unit = np.full(graph.units, -1)
        of_unit[graph.unit] = self.gpu
        for node in np.flatnonzero(of_unit[graph.unit] != self.gpu)[:1]:
            # Equation 16
            raise InputError(f"node {graph.names[node]} is not on the GPU of its unit")
        for unit in np.flatnonzero(~problem.fits[np.arange(graph.units), of_unit])[:1]:
            node = int(np.flatnonzero(graph.unit == unit)[0])
            raise InputError(
                f"node {graph.names[node]} or its unit does not fit on GPU {of_unit[unit]}"
            )
        if self.order is not None:
            if not np.array_equal(np.sort(self.order), np.arange(graph.nodes)):
                raise InputError(f"order must hold each of the {graph.nodes} nodes once")
            place = np.argsort(self.order)
            for before, after in graph.edges[place[graph.edges[:, 0]] > place[graph.edges[:, 1]]][
                :1
            ]:
                raise InputError(
                    f"order: node {graph.names[after]} comes before {graph.names[before]},"
                    " whose data it needs"
                )


@dataclass(frozen=True, eq=False)
class Schedule:
    """A plan, and when its nodes run.

    Attributes
    ----------
    problem : Problem
        The graph and its GPUs.
    plan : Plan
        Where the nodes go.
    start_s, finish_s : array of float
        Of each node, seconds, shape (nodes,) (AST and AFT).
    evaluations : int
        How many plans were evaluated to find this one; 0 where a policy decided as it went.
    seconds : float
        Wall time that took, seconds.
    """

    problem: Problem
    plan: Plan
    start_s: Floats
    finish_s: Floats
    evaluations: int = 0
    seconds: float = 0.0

    @property
    def makespan_s(self) -> float:
        """When the last node ends, seconds (FFT, Equation 17)."""
        return float(self.finish_s.max())

    def arrivals_s(self) -> Floats:
        """When the data of each edge arrive, seconds, shape (edges,) (Equation 2)."""
        start, end = self.problem.graph.edges.T
        gpu = self.plan.gpu
        moved_s = self.problem.transfer_s(self.problem.graph.data_gb, gpu[start], gpu[end])
        return np.asarray(self.finish_s[start] + moved_s)


def lower_bound_s(problem: Problem) -> float:
    """A makespan that no plan is below but by rounding (ours).

    problem: a graph and its GPUs. Result: seconds.
    """
    return max(critical_path_s(problem), capacity_s(problem))


def critical_path_s(problem: Problem) -> float:
    """Length of the longest path with each node on the fastest GPU that has the memory, and no
    transfers; seconds.
    """
    graph = problem.graph
    time_s = problem.time_s.min(axis=1, where=problem.fits[graph.unit], initial=np.inf)
    finish_s = np.zeros(graph.nodes)
    for node in graph.order.tolist():
        finish_s[node] = finish_s[graph.predecessors[node]].max(initial=0.0) + time_s[node]
    return float(finish_s.max())


def capacity_s(problem: Problem) -> float:
    """What the GPUs need if they are never idle, seconds.

    In the reading "exclusive" all work over the speed of all GPUs, or the longest unit on its
    fastest GPU. In "shared", where nodes run side by side at full speed, memory x time of all nodes
    over the memory of all GPUs.
    """
    graph, platform = problem.graph, problem.platform
    if problem.reading == "shared":
        time_s = problem.time_s.min(axis=1, where=problem.fits[graph.unit], initial=np.inf)
        return float(graph.memory_mb @ time_s / platform.memory_mb.sum())
    unit_s = np.zeros(problem.fits.shape)
    np.add.at(unit_s, graph.unit, problem.time_s)
    longest_s = unit_s.min(axis=1, where=problem.fits, initial=np.inf).max()
    return float(max(longest_s, graph.work_tflop.sum() / platform.tflops.sum()))


FEW = 16  # plans: up to so many are quicker one by one, in plain Python, than all at once, in NumPy


def makespans(problem: Problem, gpu: Ints, order: Ints | None = None) -> Floats:
    """Makespans of many plans.

    problem: a graph and its GPUs. gpu: of each node, one row a plan, shape (plans, nodes). order:
    of all plans, as of `Plan`. Result: seconds, shape (plans,); infinite where data would need a
    connection that is not there.
    """
    order = problem.graph.order if order is None else order
    start_s, finish_s = _times(problem, np.ascontiguousarray(gpu.T), order)
    answer: Floats = finish_s.max(axis=0)
    if problem.reading == "shared":
        for plan in np.flatnonzero(
            _blocked(problem, gpu, start_s.T, finish_s.T) & np.isfinite(answer)
        ):
            answer[plan] = _with_memory(problem, gpu[plan], order)[1].max()
    return answer


def carried_out(problem: Problem, plan: Plan) -> Schedule:
    """Start and finish of all nodes of a plan.

    Raises InputError for a plan that the problem does not allow.
    """
    plan.check(problem)
    order = problem.graph.order if plan.order is None else plan.order
    start_s, finish_s = (times[:, 0] for times in _times(problem, plan.gpu[:, None], order))
    if problem.reading == "shared" and np.isfinite(finish_s).all():
        blocked = _blocked(problem, plan.gpu[None], start_s[None], finish_s[None])
        if blocked[0]:
            start_s, finish_s = _with_memory(problem, plan.gpu, order)
    return Schedule(problem, plan, start_s, finish_s)


def _times(problem: Problem, gpu: Ints, order: Ints) -> tuple[Floats, Floats]:
    """Starts and finishes, shape (nodes, plans), as if memory never lacked; gpu: shape
    (nodes, plans).
    """
    if 0 < gpu.shape[1] <= FEW:
        start_s, finish_s = np.stack(
            [_times_of_one(problem, plan, order) for plan in gpu.T], axis=-1
        )
        return start_s, finish_s
    graph = problem.graph
    plans = np.arange(gpu.shape[1])
    start_s, finish_s = np.empty((2, *gpu.shape))
    # when each GPU is free, if it runs one node at a time
    free_s = np.zeros((problem.platform.gpus, len(plans)))
    for node in order.tolist():
        before, on = graph.predecessors[node], gpu[node]
        ready_s = np.zeros(len(plans))  # Equation 1
        if len(before):
            moved_s = problem.transfer_s(graph.data_in_gb[node][:, None], gpu[before], on)
            ready_s = (finish_s[before] + moved_s).max(axis=0)
        if problem.reading == "exclusive":
            ready_s = np.maximum(ready_s, free_s[on, plans])
        start_s[node] = ready_s
        finish_s[node] = free_s[on, plans] = ready_s + problem.time_s[node, on]  # Equation 15
    return start_s, finish_s


def _times_of_one(problem: Problem, gpu: Ints, order: Ints) -> Floats:
    """Starts and finishes, shape (2, nodes), of one plan, to the last digit those of many; gpu:
    shape (nodes,).
    """
    graph, exclusive = problem.graph, problem.reading == "exclusive"
    incoming = graph.incoming
    moved_s = problem.transfer_s(graph.data_gb, *gpu[graph.edges.T]).tolist()
    time_s, on = problem.time_s[np.arange(graph.nodes), gpu].tolist(), gpu.tolist()
    start_s, finish_s = [0.0] * graph.nodes, [0.0] * graph.nodes
    free_s = [0.0] * problem.platform.gpus
    for node in order.tolist():
        now_s = free_s[on[node]] if exclusive else 0.0
        for before, edge in incoming[node]:
            arrives_s = finish_s[before] + moved_s[edge]
            if arrives_s > now_s:  # several times as quick as max()
                now_s = arrives_s
        start_s[node] = now_s
        finish_s[node] = free_s[on[node]] = now_s + time_s[node]
    return np.array((start_s, finish_s))


def _blocked(
    problem: Problem, gpu: Ints, start_s: Floats, finish_s: Floats
) -> npt.NDArray[np.bool_]:
    """Whether the nodes of each plan together ever hold more of a GPU than its memory (Equations 5
    and 6); rows are plans.

    A node that takes no time, but memory, may have to wait for it: then it is not told, and
    taken to be so.
    """
    plans, nodes = gpu.shape
    row = np.repeat(np.arange(plans), nodes)
    held = np.broadcast_to(problem.graph.memory_mb, gpu.shape).ravel()
    on, started, ended = gpu.ravel(), start_s.ravel(), finish_s.ravel()
    runs = started < ended
    row, on, held = (np.tile(values[runs], 2) for values in (row, on, held))
    change = np.where(np.arange(len(row)) < runs.sum(), held, -held)
    time_s = np.concatenate((started[runs], ended[runs]))
    by_time = np.lexsort((change, time_s, on, row))  # of one instant, first what ends
    gpus = problem.platform.gpus
    group = (row * gpus + on)[by_time]
    # a group ends with nothing held, so that the next begins at 0
    running = np.cumsum(change[by_time])
    answer: npt.NDArray[np.bool_] = np.any(
        ~runs.reshape(gpu.shape) & (problem.graph.memory_mb > 0), axis=1
    )
    np.logical_or.at(answer, group // gpus, running > problem.platform.memory_mb[group % gpus])
    return answer


def _with_memory(problem: Problem, gpu: Ints, order: Ints) -> tuple[Floats, Floats]:
    """Starts and finishes of a plan where nodes wait for memory (Equations 4 to 7), by events
    in order of time.

    Those that wait start in the plan's order as memory allows; one that does not fit yet
    lets others pass.
    """
    graph, on = problem.graph, gpu.tolist()
    place, memory_mb = np.argsort(order).tolist(), graph.memory_mb.tolist()
    time_s = problem.time_s[np.arange(graph.nodes), gpu].tolist()
    moved_s = problem.transfer_s(graph.data_gb, *gpu[graph.edges.T]).tolist()
    missing = [len(before) for before in graph.predecessors]
    ready_s, start_s, finish_s = np.zeros((3, graph.nodes)).tolist()
    free_mb = problem.platform.memory_mb.tolist()
    waiting: list[list[int]] = [[] for _ in free_mb]  # in the plan's order
    # (time, 0 ready or 1 ended, node)
    coming = [(0.0, 0, node) for node in range(graph.nodes) if not missing[node]]
    while coming:
        now_s, changed = coming[0][0], set[int]()
        while coming and coming[0][0] == now_s:
            _, ended, node = heappop(coming)
            changed.add(on[node])
            if not ended:
                insort(waiting[on[node]], node, key=place.__getitem__)
                continue
            free_mb[on[node]] += memory_mb[node]
            for after, edge in zip(graph.successors[node].tolist(), graph.edges_out[node].tolist()):
                ready_s[after] = max(ready_s[after], now_s + moved_s[edge])
                missing[after] -= 1
                if not missing[after]:
                    heappush(coming, (ready_s[after], 0, after))
        for host in changed:
            for node in list(waiting[host]):
                if memory_mb[node] <= free_mb[host]:
                    waiting[host].remove(node)
                    free_mb[host] -= memory_mb[node]
                    start_s[node], finish_s[node] = now_s, now_s + time_s[node]
                    heappush(coming, (finish_s[node], 1, node))
    return np.array(start_s), np.array(finish_s)
