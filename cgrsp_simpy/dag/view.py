"""What a policy sees when nodes are to be put on GPUs, and a plan as such a policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cgrsp_simpy.dag.problem import Plan, Problem
from cgrsp_simpy.engine.claims import Claim, Part
from cgrsp_simpy.model.policy import PlaceError, Wake

__all__ = ["Answer", "InTurn", "Node", "Nodes", "OwnPolicy", "Ready"]


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node that is ready: all its predecessors have ended.

    Attributes
    ----------
    id : int
        Its number.
    name : str
        For people.
    memory_mb : int
        What it needs, megabytes.
    unit : int
        Nodes of a unit share a GPU.
    time_s : tuple of float
        Execution time on each GPU, seconds.
    data : tuple of tuple of (int, float)
        Of each predecessor, the GPU on which it ran and the gigabytes that it sends.
    """

    id: int
    name: str
    memory_mb: int
    unit: int
    time_s: tuple[float, ...]
    data: tuple[tuple[int, float], ...]


class Ready:
    """What a policy sees at a decision; read only. Nothing of nodes that are not ready yet.

    GPUs go by their index, from 0. On a GPU there is room for one node at a time in the reading
    "exclusive", for as many as its memory holds in "shared".

    Parameters
    ----------
    state : Nodes
        What it shows.
    """

    __slots__ = ("_state", "now_s")

    def __init__(self, state: Nodes) -> None:
        self._state = state
        self.now_s = 0.0

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that are ready and on no GPU yet, in the order in which they became so."""
        return tuple(self._state.waiting)

    @property
    def free(self) -> tuple[float, ...]:
        """Room on each GPU: 1 or 0, or megabytes of memory."""
        return tuple(self._state.free)

    def node(self, number: int) -> Node | None:
        """The node of a number.

        Parameters
        ----------
        number : int
            Of the node.

        Returns
        -------
        Node or None
            None if it is not ready, or on a GPU already.
        """
        return self._state.ready.get(number)

    def needs(self, node: Node) -> float:
        """How much room a node takes.

        Parameters
        ----------
        node : Node
            That is ready.

        Returns
        -------
        float
            In the unit of `free`.
        """
        return self._state.needs(node)

    def fits(self, node: Node, gpu: int) -> bool:
        """Whether a GPU has room for a node now.

        Parameters
        ----------
        node : Node
            That is ready.
        gpu : int
            Its index.

        Returns
        -------
        bool
            By its room alone; see `rooms`.
        """
        return self._state.needs(node) <= self._state.free[gpu]

    def rooms(self, node: Node) -> list[int]:
        """The GPUs to which a node may go now: with room, with memory for its unit, and where that
        is, if some of it has run.

        Parameters
        ----------
        node : Node
            That is ready.

        Returns
        -------
        list of int
            Indices, ascending.
        """
        return [
            gpu
            for gpu in range(len(self._state.free))
            if self.fits(node, gpu) and not self._state.bars(node, gpu)
        ]

    def data_s(self, node: Node, gpu: int) -> float:
        """How long the data of a node are on their way to a GPU.

        Parameters
        ----------
        node : Node
            That is ready.
        gpu : int
            Its index.

        Returns
        -------
        float
            Seconds; infinite where they cannot get there.
        """
        return self._state.data_s(node, gpu)


Answer = Iterable["tuple[Node, int] | Wake"]  # pairs of a node and the GPU that it gets, and Wakes
OwnPolicy = Callable[[Ready], Answer | None]
"""Answers with pairs of a node and the GPU that it gets."""


class InTurn:
    """A plan as a policy: on each GPU the next node once it is ready; in "shared", each that is
    ready and finds room.
    """

    def __init__(self, problem: Problem, plan: Plan) -> None:
        order = problem.graph.order if plan.order is None else plan.order
        self.name, self.exclusive = plan.scheduler, problem.reading == "exclusive"
        self.turn = [order[plan.gpu[order] == gpu].tolist() for gpu in range(problem.platform.gpus)]

    def __call__(self, view: Ready) -> Iterator[tuple[Node, int]]:
        """Put the nodes whose turn it is."""
        for gpu, turn in enumerate(self.turn):
            for number in list(turn):
                node = view.node(number)
                if node is not None and view.fits(node, gpu):
                    turn.remove(number)
                    yield node, gpu
                elif self.exclusive:
                    break


class Nodes:
    """What is behind the view.

    waiting, ready: the nodes that are ready, by number in `ready`. free: room by GPU.

    gpu: of each node that has been put on one. A GPU is a slot, of one node at a time (the reading
    "exclusive"), or a pool of its memory (the reading "shared").
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.exclusive = problem, problem.reading == "exclusive"
        self.waiting: dict[Node, Claim] = {}
        self.ready: dict[int, Node] = {}
        self.free = [1 if self.exclusive else mb for mb in problem.platform.memory_mb.tolist()]
        self.gpu: dict[int, int] = {}
        self._s_per_gb: list[list[float]] = problem.s_per_gb.tolist()
        self._latency_s: list[list[float]] = problem.latency_s.tolist()
        self._unit: dict[int, int] = {}  # the GPU of each unit of which a node has been put on one
        self._view = Ready(self)

    def node(self, number: int) -> Node:
        """A node whose predecessors have ended."""
        graph = self.problem.graph
        before, data_gb = graph.predecessors[number].tolist(), graph.data_in_gb[number].tolist()
        data = tuple((self.gpu[one], gb) for one, gb in zip(before, data_gb))
        memory_mb, unit = int(graph.memory_mb[number]), int(graph.unit[number])
        return Node(
            number,
            graph.names[number],
            memory_mb,
            unit,
            tuple(self.problem.time_s[number].tolist()),
            data,
        )

    def needs(self, node: Node) -> float:
        """How much of its GPU a node holds."""
        return 1 if self.exclusive else node.memory_mb

    def bars(self, node: Node, gpu: int) -> str:
        """Why a node may not go to a GPU, however free; "" if it may."""
        at = self._unit.get(node.unit, gpu)
        if at != gpu:
            return f"GPU {gpu}; its unit is on GPU {at}"
        if not self.problem.fits[node.unit, gpu]:
            return (
                f"GPU {gpu}, whose memory of {self.problem.platform.memory_mb[gpu]} MB is too small"
                " for it or its unit"
            )
        if self.data_s(node, gpu) == math.inf:
            return f"GPU {gpu}, to which its data have no connection"
        return ""

    def data_s(self, node: Node, gpu: int) -> float:
        """How long the last of its data are on their way."""
        return max((self.transfer_s(gb, source, gpu) for source, gb in node.data), default=0.0)

    def transfer_s(self, data_gb: float, source: int, target: int) -> float:
        """How long data are on their way; infinite without connection.

        As `Problem.transfer_s`, for one edge.
        """
        return (
            self._latency_s[source][target] + data_gb * self._s_per_gb[source][target]
            if data_gb
            else 0.0
        )

    def view(self, now_s: float) -> Ready:
        """What a policy sees now."""
        self._view.now_s = now_s
        return self._view

    def summary(self) -> str:
        """What a listing says of a decision."""
        return f"{len(self.waiting)} ready"

    def describe(self, node: Node) -> str:
        """What a listing says of a node that is ready."""
        return f"node {node.name} is ready, {node.memory_mb} MB"

    def add(self, node: Node) -> None:
        """A node is ready."""
        self.ready[node.id] = node

    def gave_up(self, node: Node) -> None:
        """No node does."""

    def granted(self, claim: Claim, gpu: Any) -> Sequence[Part]:
        """A node has a GPU.

        Raises PlaceError for one that is none, has not the memory, or where its unit is not.
        """
        node = claim.job
        if type(gpu) is not int or not 0 <= gpu < len(self.free):
            raise PlaceError(f"GPU {gpu!r}; there are 0 to {len(self.free) - 1}")
        if why := self.bars(node, gpu):
            raise PlaceError(why)
        del self.ready[node.id]
        self._unit[node.unit] = self.gpu[node.id] = claim.terms = gpu
        needs = self.needs(node)
        self.free[gpu] -= needs
        return ((gpu, needs),)

    def released(self, claim: Claim, now_s: float) -> None:
        """A node has ended."""
        for gpu, amount in claim.parts:
            self.free[gpu] += amount
