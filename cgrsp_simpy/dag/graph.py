"""Directed acyclic graphs: nodes with work, edges with data (worl-rtgs.txt 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from cgrsp_simpy.base.arrays import Floats, Ints
from cgrsp_simpy.base.checks import (
    InputError,
    check_entries,
    entries_of,
    numbers,
    refuse,
    require,
    set_columns,
)
from cgrsp_simpy.logs import Tags


class Node(NamedTuple):
    """A node of a graph, as policies see it.

    work_tflop: 10^12 floating-point operations. memory_mb: needed while it runs. unit:
    nodes of a unit share a GPU.
    """

    id: int
    name: str
    work_tflop: float
    memory_mb: int
    unit: int


# identity is faster than comparing fields
Node.__eq__ = object.__eq__  # type: ignore[method-assign]
Node.__hash__ = object.__hash__  # type: ignore[method-assign]


@dataclass(frozen=True, eq=False)
class Graph:
    """A training graph, or another workflow.

    work_tflop, memory_mb: per node, 10^12 floating-point operations >= 0, and whole
    megabytes >= 0 that it needs only while it runs; shape (nodes,). edges:
    (predecessor, successor) by node number from 0, shape (edges, 2). data_gb: sent
    along each edge, gigabytes >= 0, shape (edges,). unit: computational unit per node,
    shape (nodes,); nodes of a unit share a GPU; by default every node is its own unit.
    names: names of the nodes; default: their numbers. tags: per node of a log, its ids
    and all other columns, as strings. resident_mb: GPU memory that a node occupies for
    the whole run, such as weights and optimizer state, whole megabytes >= 0, shape
    (nodes,); default 0. held_mb: memory occupied from the start of an edge's first node
    to the end of its second, such as activations, whole megabytes >= 0, shape (edges,);
    default 0; both nodes must share a unit.

    Raises InputError for an empty graph, a value that is negative or not a number, an
    unknown node, a repeated edge, held memory between units, or a cycle (listed).
    """

    work_tflop: Floats = field(repr=False)
    memory_mb: Ints = field(repr=False)
    edges: Ints = field(repr=False)
    data_gb: Floats = field(repr=False)
    unit: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    names: tuple[str, ...] = field(default=(), repr=False)
    name: str = "graph"
    tags: Tags = field(default_factory=Tags, repr=False)
    resident_mb: Ints = field(
        default_factory=lambda: np.empty(0, dtype=np.int64), repr=False
    )
    held_mb: Ints = field(
        default_factory=lambda: np.empty(0, dtype=np.int64), repr=False
    )

    def __post_init__(self) -> None:
        nodes = np.size(self.work_tflop)
        require(nodes > 0, "nodes of the graph", nodes, "at least one")
        names = entries_of("names", self.names, "a list") or tuple(
            map(str, range(nodes))
        )
        require(
            len(names) == nodes, "number of names", len(names), f"{nodes}, one per node"
        )
        object.__setattr__(self, "names", names)
        for column, otherwise in (
            ("unit", np.arange(nodes)),
            ("resident_mb", np.zeros(nodes)),
        ):
            if not len(getattr(self, column)):
                object.__setattr__(self, column, otherwise)
        numbers = dict.fromkeys(
            ("work_tflop", "memory_mb", "unit", "resident_mb"), "f8"
        )
        set_columns(self, numbers, "node")
        for column in numbers:
            check_entries(
                column,
                getattr(self, column),
                lambda n: f"node {names[n - 1]}",
                whole=column != "work_tflop",
            )
        set_columns(self, {"memory_mb": "i8", "resident_mb": "i8"}, "node")
        object.__setattr__(self, "unit", np.unique(self.unit, return_inverse=True)[1])
        self.tags.check(nodes)
        self._check_edges()
        _ = self.order  # names a cycle

    def _check_edges(self) -> None:
        pairs = np.atleast_1d(numbers("edges", self.edges, None, "pairs of nodes"))
        require(
            pairs.shape in ((0,), (len(pairs), 2)),
            "shape of edges",
            pairs.shape,
            "(edges, 2)",
        )
        pairs = pairs.reshape(-1, 2)
        refuse(
            ~np.isin(pairs, np.arange(self.nodes)),
            lambda edge, end: (
                f"edge {edge} ({pairs[edge, 0]} to {pairs[edge, 1]}): there is no node"
                f" {pairs[edge, end]} (allowed: 0 to {self.nodes - 1})"
            ),
        )
        object.__setattr__(self, "edges", pairs.astype(np.intp))
        for column, whole in (("data_gb", False), ("held_mb", True)):
            values = np.atleast_1d(numbers(column, getattr(self, column), "f8"))
            if whole and not len(values):
                values = np.zeros(len(pairs))
            shape, allowed = values.shape, f"({len(pairs)},), one per edge"
            require(shape == (len(pairs),), f"shape of {column}", shape, allowed)
            check_entries(column, values, lambda n: f"edge {n - 1}", whole=whole)
            object.__setattr__(self, column, values)
        apart = self.unit[self.edges[:, 0]] != self.unit[self.edges[:, 1]]
        refuse(
            (self.held_mb > 0) & apart,
            lambda edge: (
                f"held_mb of edge {edge}(={self.held_mb[edge]}) must be 0 between units"
            ),
        )
        _, first, times = np.unique(
            self.edges @ [self.nodes, 1], return_index=True, return_counts=True
        )
        refuse(
            times > 1,
            lambda pair: (
                "the edge"
                f" {' to '.join(self.names[node] for node in self.edges[first[pair]])}"
                f" occurs {times[pair]} times (first as edge {first[pair]})"
            ),
        )

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.work_tflop)

    @cached_property
    def jobs(self) -> tuple[Node, ...]:
        """The nodes, one object per node."""
        columns = (self.work_tflop, self.memory_mb, self.unit)
        rows = zip(self.names, *(column.tolist() for column in columns))
        return tuple([Node(number, *row) for number, row in enumerate(rows)])

    @property
    def units(self) -> int:
        """Number of computational units."""
        return int(self.unit.max()) + 1

    @cached_property
    def edges_in(self) -> tuple[Ints, ...]:
        """The edges that lead to each node."""
        return self._edges_of(1)

    @cached_property
    def edges_out(self) -> tuple[Ints, ...]:
        """The edges that lead away from each node."""
        return self._edges_of(0)

    @cached_property
    def predecessors(self) -> tuple[Ints, ...]:
        """Per node, the nodes whose data it needs, in the order of its `edges_in`."""
        return tuple(self.edges[of_node, 0] for of_node in self.edges_in)

    @cached_property
    def successors(self) -> tuple[Ints, ...]:
        """Per node, the nodes that need its data, in the order of its `edges_out`."""
        return tuple(self.edges[of_node, 1] for of_node in self.edges_out)

    @cached_property
    def incoming(self) -> list[list[tuple[int, int]]]:
        """Per node, the (predecessor, edge) pairs of the data that it receives."""
        return [
            list(zip(nodes.tolist(), edges.tolist()))
            for nodes, edges in zip(self.predecessors, self.edges_in)
        ]

    @cached_property
    def lasting_mb(self) -> Floats:
        """Memory that each node adds and releases, megabytes, shape (2, nodes)."""
        return np.array(
            [np.bincount(end, self.held_mb, self.nodes) for end in self.edges.T]
        )

    def in_use_mb(self, group: Ints, order: Ints) -> Floats:
        """Return the memory in use while each node runs, megabytes, shape (nodes,).

        group: per node, the number of its unit or GPU; a unit is never in two groups.
        order: order of all nodes, in which those of a group run one at a time.
        """
        turn = order[np.argsort(group[order], kind="stable")]
        added, taken = self.lasting_mb
        answer = np.bincount(group.astype(np.intp), self.resident_mb)[group]
        answer[turn] += (
            np.cumsum((added - taken)[turn]) + (taken + self.memory_mb)[turn]
        )
        return np.asarray(answer)

    def _edges_of(self, end: int) -> tuple[Ints, ...]:
        by_node = np.argsort(self.edges[:, end], kind="stable")
        return tuple(
            np.split(
                by_node,
                np.searchsorted(self.edges[by_node, end], np.arange(1, self.nodes)),
            )
        )

    def ordered(self, key: Sequence[Any]) -> list[int]:
        """Return the nodes in topological order: lowest key first, ties by number."""
        missing = np.bincount(self.edges[:, 1], minlength=self.nodes).tolist()
        ready = [
            (key[node], node) for node, number in enumerate(missing) if number == 0
        ]
        heapify(ready)
        answer: list[int] = []
        while ready:
            _, node = heappop(ready)
            answer.append(node)
            for after in self.successors[node].tolist():
                missing[after] -= 1
                if missing[after] == 0:
                    heappush(ready, (key[after], after))
        return answer

    def longest_s(self, time_s: Floats, moved_s: Floats, back: bool = False) -> Floats:
        """Return the length of the longest path from an entry to each node, excluding
        the node, shape (nodes,).

        back: from each node to an exit instead. time_s, moved_s: per node and per edge.
        """
        ways = (self.order, self.edges_in, 0), (self.order[::-1], self.edges_out, 1)
        order, edges, side = ways[back]
        answer = np.zeros(self.nodes)
        for node in order.tolist():
            others = self.edges[edges[node], side]
            ends_s = answer[others] + time_s[others] + moved_s[edges[node]]
            answer[node] = ends_s.max(initial=0.0)
        return answer

    @cached_property
    def order(self) -> Ints:
        """The nodes in topological order, ready nodes by number; shape (nodes,)."""
        answer = self.ordered(range(self.nodes))
        if len(answer) < self.nodes:
            before = {
                node: nodes.tolist() for node, nodes in enumerate(self.predecessors)
            }
            try:
                TopologicalSorter(before).prepare()
            except CycleError as error:
                cycle = " to ".join(self.names[node] for node in error.args[1])
                raise InputError(f"the graph has a cycle: {cycle}") from None
        return np.array(answer)
