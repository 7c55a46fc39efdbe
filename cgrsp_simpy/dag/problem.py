"""A graph to be placed on GPUs, plans that place it, and when its nodes then run (worl-rtgs.txt
Equations 1 to 17).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

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
