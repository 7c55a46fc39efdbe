"""Directed acyclic graphs: nodes with work and memory, edges with data
(worl-rtgs.txt Section 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.logs import Tags
from cgrsp_simpy.model.checks import InputError, check_entries, require, set_columns

Floats = npt.NDArray[np.float64]  # an array of floats
Ints = npt.NDArray[np.int64]  # an array of whole numbers


class Node(NamedTuple):
    """A node of a graph, as policies see it.

    Attributes
    ----------
    id : int
        Its number.
    name : str
        For people.
    work_tflop : float
        10^12 floating-point operations.
    memory_mb : int
        What it needs, megabytes.
    unit : int
        Nodes of a unit share a GPU.
    """

    id: int
    name: str
    work_tflop: float
    memory_mb: int
    unit: int


# two are equal only if they are the same object, which is found at once
Node.__eq__, Node.__hash__ = object.__eq__, object.__hash__  # type: ignore[method-assign]


@dataclass(frozen=True, eq=False)
class Graph:
    """A training graph, or another workflow.

    Parameters
    ----------
    work_tflop : array
        Of each node, 10^12 floating-point operations, >= 0, shape (nodes,).
    memory_mb : array of int
        What a node holds of its GPU while it runs, whole megabytes >= 0, shape (nodes,).
    edges : array of int
        (predecessor, successor) by node number from 0, shape (edges, 2).
    data_gb : array
        Sent along each edge, gigabytes >= 0, shape (edges,).
    unit : array of int
        Computational unit of each node, whole numbers, shape (nodes,); nodes of a unit share a GPU.
        Every node is a unit of its own unless given.
    names : tuple of str
        Of the nodes, for people; their numbers unless given.
    name : str
        Of the graph.
    tags : Tags
        Of nodes of a log, its own ids and all other columns, as texts.

    Raises
    ------
    InputError
        For an empty graph, a number that is none or negative, an edge to a node that is not there,
        an edge that is there twice, and a cycle, which is named.
    """

    work_tflop: Floats = field(repr=False)
    memory_mb: Ints = field(repr=False)
    edges: Ints = field(repr=False)
    data_gb: Floats = field(repr=False)
    unit: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    names: tuple[str, ...] = field(default=(), repr=False)
    name: str = "graph"
    tags: Tags = field(default_factory=Tags, repr=False)

    def __post_init__(self) -> None:
        nodes = np.size(self.work_tflop)
        require(nodes > 0, "nodes of the graph", nodes, "at least one")
        names = tuple(self.names) or tuple(map(str, range(nodes)))
        require(len(names) == nodes, "number of names", len(names), f"{nodes}, one a node")
        object.__setattr__(self, "names", names)
        if not len(self.unit):
            object.__setattr__(self, "unit", np.arange(nodes))
        numbers = dict.fromkeys(("work_tflop", "memory_mb", "unit"), "f8")
        set_columns(self, numbers, "node")
        for column in numbers:
            whole = column != "work_tflop"
            check_entries(
                column, getattr(self, column), lambda n: f"node {names[n - 1]}", whole=whole
            )
        set_columns(self, {"memory_mb": "i8"}, "node")
        object.__setattr__(self, "unit", np.unique(self.unit, return_inverse=True)[1])
        self.tags.check(nodes)
        self._check_edges()
        _ = self.order  # names a cycle

    def _check_edges(self) -> None:
        """Make edges and their data arrays of pairs of nodes that are there, each once."""
        given = np.array(self.edges)
        require(given.shape in ((0,), (len(given), 2)), "shape of edges", given.shape, "(edges, 2)")
        given = given.reshape(-1, 2)
        known = np.isin(given, np.arange(self.nodes))
        for edge, end in np.argwhere(~known)[:1].tolist():
            node, (one, other) = given[edge, end].item(), given[edge].tolist()
            raise InputError(
                f"edge {edge} ({one} to {other}): there is no node {node} (allowed:"
                f" 0 to {self.nodes - 1})"
            )
        object.__setattr__(self, "edges", given.astype(np.int64))
        object.__setattr__(self, "data_gb", np.array(self.data_gb, np.float64))
        shape, edges = self.data_gb.shape, len(self.edges)
        require(shape == (edges,), "shape of data_gb", shape, f"({edges},), one an edge")
        check_entries("data_gb", self.data_gb, lambda n: f"edge {n - 1}")
        pairs, first, times = np.unique(
            self.edges @ [self.nodes, 1], return_index=True, return_counts=True
        )
        for place in np.flatnonzero(times > 1)[:1]:
            start, end = (self.names[node] for node in divmod(int(pairs[place]), self.nodes))
            raise InputError(
                f"the edge {start} to {end} is there {times[place]} times (first as edge"
                f" {first[place]})"
            )

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.work_tflop)

    @cached_property
    def jobs(self) -> tuple[Node, ...]:
        """The nodes one by one."""
        columns = (self.work_tflop, self.memory_mb, self.unit)
        rows = zip(self.names, *(column.tolist() for column in columns))
        return tuple([Node(number, *row) for number, row in enumerate(rows)])

    @property
    def units(self) -> int:
        """Number of computational units."""
        return int(self.unit.max()) + 1

    @cached_property
    def predecessors(self) -> tuple[Ints, ...]:
        """Of each node, those whose data it needs."""
        return self._ends(0)

    @cached_property
    def successors(self) -> tuple[Ints, ...]:
        """Of each node, those that need its data."""
        return self._ends(1)

    @cached_property
    def data_in_gb(self) -> tuple[Floats, ...]:
        """What each node receives, in the order of its `predecessors`."""
        return tuple(self.data_gb[edges] for edges in self.edges_in)

    @cached_property
    def edges_in(self) -> tuple[Ints, ...]:
        """The edges that lead to each node, in the order of its `predecessors`."""
        return self._edges_of(1)

    @cached_property
    def edges_out(self) -> tuple[Ints, ...]:
        """The edges that lead away from each node, in the order of its `successors`."""
        return self._edges_of(0)

    @cached_property
    def sent(self) -> list[list[tuple[Node, float]]]:
        """Predecessor and gigabytes of all data that each node receives."""
        nodes, data_gb = self.jobs, self.data_gb.tolist()
        return [[(nodes[before], data_gb[edge]) for before, edge in each] for each in self.incoming]

    @cached_property
    def incoming(self) -> list[list[tuple[int, int]]]:
        """Predecessor and edge of all data that each node receives, as lists, for loops."""
        return [
            list(zip(nodes.tolist(), edges.tolist()))
            for nodes, edges in zip(self.predecessors, self.edges_in)
        ]

    def _edges_of(self, end: int) -> tuple[Ints, ...]:
        by_node = np.argsort(self.edges[:, end], kind="stable")
        return tuple(
            np.split(by_node, np.searchsorted(self.edges[by_node, end], np.arange(1, self.nodes)))
        )

    def _ends(self, end: int) -> tuple[Ints, ...]:
        edges = self.edges_in if end == 0 else self.edges_out
        return tuple(self.edges[of_node, end] for of_node in edges)

    @cached_property
    def order(self) -> Ints:
        """The nodes in topological order; of those that are ready, the first by number.

        Shape (nodes,).
        """
        missing = np.bincount(self.edges[:, 1], minlength=self.nodes).tolist()
        ready = [node for node, number in enumerate(missing) if number == 0]
        heapify(ready)
        answer: list[int] = []
        while ready:
            answer.append(node := heappop(ready))
            for after in self.successors[node].tolist():
                missing[after] -= 1
                if missing[after] == 0:
                    heappush(ready, after)
        if len(answer) < self.nodes:
            raise InputError(
                f"the graph has a cycle: {' to '.join(self.names[node] for node in self._cycle())}"
            )
        return np.array(answer)

    def _cycle(self) -> list[int]:
        try:
            TopologicalSorter(
                {node: before.tolist() for node, before in enumerate(self.predecessors)}
            ).prepare()
        except CycleError as error:
            return list(error.args[1])
        raise AssertionError("no cycle")
