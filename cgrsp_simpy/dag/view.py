"""View for policies that assign nodes to GPUs, and a policy that follows a plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from cgrsp_simpy.base.checks import refuse
from cgrsp_simpy.base.policy import AssignmentError, Wake
from cgrsp_simpy.dag.graph import Node
from cgrsp_simpy.dag.problem import Plan, Problem, turns_of
from cgrsp_simpy.engine import view
from cgrsp_simpy.engine.claim import Claim, Part
from cgrsp_simpy.engine.resources import ResourceSpec, ResourceSubset
from cgrsp_simpy.engine.simulation import Simulation


class View(view.View):
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
        incoming = graph.incoming[node.id]
        return [
            (at[graph.unit.item(each)], graph.data_gb.item(edge))
            for each, edge in incoming
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
"""A function of a view that answers where nodes go."""


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
        own = sorted({self._gpu[node.id] for node in view.queue})
        return [gpu for gpu in map(view.resources.__getitem__, own) if view.room(gpu)]
