"""What no plan can be quicker than (ours)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cgrsp_simpy.dag.problem import Problem


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
