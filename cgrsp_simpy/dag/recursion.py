"""When the nodes of a plan run, computed node by node: equal to the simulation to the last digit,
and many times faster.
"""

from __future__ import annotations

from bisect import insort
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.dag.graph import Floats, Ints
from cgrsp_simpy.dag.problem import Plan, Problem, Schedule

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
