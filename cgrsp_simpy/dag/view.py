"""What a policy sees when nodes are to be put on GPUs, and a plan as such a policy.

Nothing of nodes that are not ready yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from cgrsp_simpy.dag.graph import Node
from cgrsp_simpy.dag.problem import Plan, Problem
from cgrsp_simpy.engine import view
from cgrsp_simpy.engine.claim import Claim, Part
from cgrsp_simpy.engine.places import Place, Places
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.model.policy import PlaceError, Wake


class View(view.View):
    """What a policy sees at a decision, read only; its `queue` are the nodes that are ready.

    There is room on a GPU for one node at a time in the reading "exclusive", for as many as its
    memory holds in "shared". A policy answers with pairs (node, place), and if it likes with a
    `Wake`.
    """

    __slots__ = ("_at", "_may", "_nodes", "_problem", "_waiting")

    def __init__(self, run: Simulation) -> None:
        super().__init__(run)
        self._problem: Problem = run.plan.problem
        self._nodes, self._waiting = self._problem.graph.jobs, run.waiting
        self._at: dict[int, int] = {}  # the number of the GPU of each unit that is on one
        self._may: dict[int, int] = {}  # by node, as of `_reached`

    def node(self, number: int) -> Node | None:
        """The node of a number; None if it is not ready, or on a GPU already."""
        nodes = self._nodes
        node = nodes[number] if 0 <= number < len(nodes) else None
        return node if node in self._waiting else None

    def rooms(self, node: Node) -> list[Place]:
        """The GPUs to which a node may go now: with room, with memory for its unit, and where that
        is, if some of it has run.
        """
        run, need, may = self._run, self.need(node), self._may.get(node.id)
        if may is None:
            may = self._may[node.id] = self._reached(node)
        if need:
            may &= run.mask
        if (at := self._at.get(node.unit)) is not None:
            may &= 1 << at
        return [gpu for gpu in Places(run.declared, may) if need <= run.free[gpu.index]]

    def time_s(self, node: Node, gpu: Place) -> float:
        """Execution time of a node on a GPU, seconds."""
        return self._problem.time_s.item(node.id, gpu.index)

    def data(self, node: Node) -> tuple[tuple[Place, float], ...]:
        """Of each predecessor of a node, the GPU on which it ran and the gigabytes that it
        sends.
        """
        sent = self._problem.graph.sent[node.id]
        return tuple([(self.places[self._at[before.unit]], data_gb) for before, data_gb in sent])

    def data_s(self, node: Node, gpu: Place) -> float:
        """How long the data of a node are on their way to a GPU, seconds; infinite where they
        cannot get there.
        """
        problem, at, to = self._problem, self._at, gpu.index
        sent = problem.graph.sent[node.id]
        return max([problem.moved_s(gb, at[before.unit], to) for before, gb in sent], default=0.0)

    def _reached(self, node: Node) -> int:
        """Bit n is set if the nth GPU has memory for the unit of a node, and its data can get
        there.
        """
        problem = self._problem
        sent = problem.graph.sent[node.id]
        sources = np.array([self._at[before.unit] for before, data_gb in sent if data_gb], int)
        may = problem.fits[node.unit] & np.isfinite(problem.s_per_gb[sources]).all(axis=0)
        return int.from_bytes(np.packbits(may, bitorder="little").tobytes(), "little")

    # ---- what the engine asks and tells ----

    def summary(self) -> str:
        return f"{len(self._waiting)} ready"

    def granted(self, claim: Claim, chosen: Any) -> Sequence[Part]:
        problem, node, gpu = self._problem, claim.job, self._number(chosen)
        at = self._at.setdefault(node.unit, gpu)
        if at != gpu:
            raise PlaceError(f"GPU {gpu}; its unit is on GPU {at}")
        if not problem.fits[node.unit, gpu]:
            has = f"whose memory of {problem.platform.memory_mb[gpu]} MB"
            raise PlaceError(f"GPU {gpu}, {has} is too small for it or its unit")
        if self.data_s(node, chosen) == math.inf:
            raise PlaceError(f"GPU {gpu}, to which its data have no connection")
        return ((gpu, self.need(node)),)


Answer = Iterable["tuple[Node, Place] | Wake"]
"""Pairs of a node and the GPU that it gets, and Wakes."""
OwnPolicy = Callable[[View], Answer | None]
"""A function of a view that answers where nodes go."""


class InTurn:
    """A plan as a policy: on each GPU the next node once it is ready; in "shared", each that is
    ready and finds room.

    Raises InputError for a plan that the problem does not allow, or that needs a missing
    connection.
    """

    def __init__(self, problem: Problem, plan: Plan) -> None:
        plan.check(problem)
        _check_connections(problem, plan)
        graph, gpus = problem.graph, problem.platform.gpus
        order = graph.order if plan.order is None else plan.order
        place = np.lexsort((np.argsort(order), plan.gpu))  # by GPU, and there in turn
        self.name, self._gpu = plan.scheduler, plan.gpu.tolist()
        self._rank = np.argsort(place).tolist()
        turns = np.split(place, np.searchsorted(plan.gpu[place], np.arange(1, gpus)))
        # the last first
        self._turns = (
            [turn[::-1].tolist() for turn in turns] if problem.reading == "exclusive" else []
        )

    def __call__(self, view: View) -> Iterator[tuple[Node, Place]]:
        """Put the nodes whose turn it is."""
        if not self._turns:
            for node in sorted(view.queue, key=lambda node: self._rank[node.id]):
                gpu = view.places[self._gpu[node.id]]
                if view.need(node) <= view.room(gpu):
                    yield node, gpu
            return
        for gpu in self._gpus(view):
            turn = self._turns[gpu.index]
            if turn and (node := view.node(turn[-1])) is not None:
                turn.pop()
                yield node, gpu

    def _gpus(self, view: View) -> Iterable[Place]:
        """The GPUs that are free, or those of the nodes that are ready: whichever are fewer."""
        if len(view.free) <= len(view.queue):
            return view.free
        own = sorted({self._gpu[node.id] for node in view.queue})
        return [gpu for gpu in map(view.places.__getitem__, own) if view.room(gpu)]


def _check_connections(problem: Problem, plan: Plan) -> None:
    """Raise InputError where a plan has data go between GPUs that are not connected."""
    graph = problem.graph
    ends = plan.gpu[graph.edges]
    for edge in np.flatnonzero(np.isinf(problem.transfer_s(graph.data_gb, *ends.T)))[:1]:
        one, other = (graph.names[node] for node in graph.edges[edge])
        source, target = ends[edge]
        raise InputError(
            f"node {one} on GPU {source} sends data to {other} on GPU {target}, between which there"
            " is no bandwidth"
        )
