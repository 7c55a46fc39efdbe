"""HEFT and CPOP: list scheduling by ranks.

Source: Topcuoglu, Hariri and Wu (2002), IEEE TPDS 13, 260-274.
"""

from __future__ import annotations

import numpy as np

from cgrsp_simpy.dag.graph import Floats, Ints
from cgrsp_simpy.dag.listing import Draft, by_priority
from cgrsp_simpy.dag.problem import Plan, Problem
from cgrsp_simpy.model.checks import check_one_of

ORDERS = ("graph", "rank")  # orders of a plan: topological, or by upward rank; see `run_order`


def heft(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001, one signature for all schedulers
    """Heterogeneous earliest finish time: by upward rank, each node where it ends earliest, also in
    gaps.

    problem: a graph and its GPUs. seed: not used. Result: with its order. Topcuoglu, Hariri and Wu
    (2002), IEEE TPDS 13, 260-274.
    """
    draft = Draft(problem, insertion=True)
    for node in _by_rank(problem):
        draft.place(node)
    return draft.plan("heft")


def run_order(problem: Problem, order: str) -> Ints | None:
    """The order in which a search runs its plans.

    problem: a graph and its GPUs. order: "graph", the topological order of the graph, of nodes that
    are ready the first by number, as in the authors' program; or "rank", by upward rank, the order
    in which HEFT places the nodes. Result: as of `Plan`: None for the graph's. Raises InputError
    for another order.
    """
    check_one_of("order", order, ORDERS)
    return np.array(_by_rank(problem)) if order == "rank" else None


def _by_rank(problem: Problem) -> list[int]:
    """The nodes in topological order; of those that are ready, the one of highest upward rank."""
    return by_priority(problem.graph, upward_rank_s(problem))


def cpop(problem: Problem, seed: int = 0) -> Plan:  # noqa: ARG001
    """Critical path on a processor: by the sum of both ranks, critical nodes on one GPU, others
    where they end earliest.

    The GPU is the one with the memory for most of the critical nodes (ours), and of these the one
    that runs them all soonest.

    problem: a graph and its GPUs. seed: not used. Result: with its order. Topcuoglu, Hariri and Wu
    (2002), IEEE TPDS 13, 260-274.
    """
    path = critical_path(problem)
    lacking = np.sum(~problem.fits[problem.graph.unit[path]], axis=0)
    best = int(np.lexsort((problem.time_s[path].sum(axis=0), lacking))[0])
    draft, critical = Draft(problem, insertion=True), set(path)
    for node in by_priority(problem.graph, upward_rank_s(problem) + downward_rank_s(problem)):
        draft.place(node, best if node in critical else None)
    return draft.plan("cpop")


def upward_rank_s(problem: Problem) -> Floats:
    """Mean length of the longest path from each node to the end, itself included, seconds,
    shape (nodes,).
    """
    graph, (time_s, moved_s) = problem.graph, _mean_costs_s(problem)
    rank_s = np.zeros(graph.nodes)
    for node in graph.order[::-1].tolist():
        after, edges = graph.successors[node], graph.edges_out[node]
        rank_s[node] = time_s[node] + np.max(moved_s[edges] + rank_s[after], initial=0.0)
    return rank_s


def downward_rank_s(problem: Problem) -> Floats:
    """Mean length of the longest path from an entry to each node, itself excluded, seconds,
    shape (nodes,).
    """
    graph, (time_s, moved_s) = problem.graph, _mean_costs_s(problem)
    rank_s = np.zeros(graph.nodes)
    for node in graph.order.tolist():
        before, edges = graph.predecessors[node], graph.edges_in[node]
        rank_s[node] = np.max(rank_s[before] + time_s[before] + moved_s[edges], initial=0.0)
    return rank_s


def critical_path(problem: Problem) -> list[int]:
    """The nodes of the longest path by mean costs, in its order."""
    graph, rank_s, moved_s = problem.graph, upward_rank_s(problem), _mean_costs_s(problem)[1]
    # no node has a higher rank than what comes before it, so this is an entry
    path = [int(np.argmax(rank_s))]
    while len(after := graph.successors[path[-1]]):
        path.append(int(after[np.argmax(moved_s[graph.edges_out[path[-1]]] + rank_s[after])]))
    return path


def _mean_costs_s(problem: Problem) -> tuple[Floats, Floats]:
    """Mean time of each node, over the GPUs with the memory, and of each edge's data.

    Data take the mean latency between two GPUs, and what they take at the mean bandwidth (Equations
    3 and 4 of HEFT's source). The source has all processors connected, memory enough and no units:
    missing connections do not count, in a unit data do not move, and an edge without data has no
    transfer (ours).
    """
    graph, bandwidth = problem.graph, problem.platform.bandwidth_gb_per_s
    linked = (bandwidth > 0) & ~np.eye(len(bandwidth), dtype=bool)
    apart = graph.unit[graph.edges[:, 0]] != graph.unit[graph.edges[:, 1]]
    moved_s = graph.data_gb * apart / (bandwidth[linked].mean() if linked.any() else np.inf)
    if linked.any():
        moved_s = moved_s + problem.latency_s[linked].mean() * (apart & (graph.data_gb > 0))
    return problem.time_s.mean(axis=1, where=problem.fits[graph.unit]), moved_s
