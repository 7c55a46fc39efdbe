"""The nodes of a multi-GPU cluster (cluster-schedulers.txt Section IV.A).

A job runs on one node; if it is wider than any node, on whole nodes and the rest on
one. If a log records nodes, the job runs on as many, with its cores and memory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, reduce
from itertools import accumulate, chain
from operator import and_
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.parameters import (
    Count,
    Entries,
    Whole,
    declared,
    limits,
    parameter,
    rule,
)
from cgrsp_simpy.engine.resources import lowest_bit

if TYPE_CHECKING:
    from cgrsp_simpy.cluster.jobs import Jobs

Allocation = Sequence[tuple[int, int]]
"""Pairs of a node and a number of its GPUs. In a cluster of n nodes whose jobs use
cores and memory, n + i and 2n + i are the cores and the memory of node i.
"""

Columns = tuple[int, int, int]
"""Bits of nodes with the same number of claimed GPUs: the shift by this number of GPUs,
all bits of the nodes, and the bits of their first GPUs, as many as this number.
"""

WIDE = 8  # number of nodes from which it is faster to treat them together

Placement = Callable[[int, int], float]
"""Function (size of a node, its free GPUs) -> key. A job gets the node with the least
key among those with room; if several are equal, the first.
"""


def first_fit(size: int, free: int) -> float:  # noqa: ARG001
    """Choose the first node with room."""
    return 0


def best_fit(size: int, free: int) -> float:  # noqa: ARG001
    """Choose the node that has the fewest free GPUs left."""
    return free


def pack(size: int, free: int) -> float:
    """Choose the node with the greatest share of GPUs in use; others stay empty."""
    return free / size


def spread(size: int, free: int) -> float:
    """Choose the least busy node."""
    return -free / size


PLACEMENTS: dict[str, Placement] = {
    "first": first_fit,
    "best": best_fit,
    "pack": pack,
    "spread": spread,
}
"""Placement rules by name."""


class Need(NamedTuple):
    """Demand of a job if it consists of more than a number of GPUs.

    amounts: total amount of each pool (GPUs, cores, memory) over all its nodes. nodes:
    number of nodes. where: the allowed nodes, one bit per node.
    """

    amounts: tuple[int, ...]
    nodes: int
    where: int


class Nodes:
    """Nodes of a cluster; the free GPUs are an integer with one bit per GPU.

    With n nodes, bit (k - 1) n + i is set if node i has at least k free GPUs. So `one &
    other` gives the GPUs that are free in both, and nodes with k free GPUs are found in
    a few operations.

    all: the free GPUs if nothing runs. widest: GPUs of the largest node.
    """

    def __init__(self, sizes: Sequence[int], placement: Placement = best_fit) -> None:
        self.sizes, self.widest = tuple(sizes), max(sizes)
        self._placement, self._nodes = placement, len(self.sizes)
        # bits of the first k GPUs of node 0, by k; times a set of nodes: theirs
        self._first = (
            0,
            *accumulate(1 << gpus * self._nodes for gpus in range(self.widest)),
        )
        self._kinds = [
            (
                size,
                sum(
                    1 << node for node, other in enumerate(self.sizes) if other == size
                ),
            )
            for size in sorted({*self.sizes} - {0}, reverse=True)
        ]
        self.all = self.packed(self.sizes)

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(self, "all"):  # a view shows it
            raise AttributeError(f"nodes are read-only: {name}")
        super().__setattr__(name, value)

    def packed(self, counts: Sequence[int]) -> int:
        """Return the free GPUs as an integer, from the free GPUs of each node."""
        return sum(self._first[gpus] << node for node, gpus in enumerate(counts))

    def count(self, free: int, node: int) -> int:
        """Return the number of free GPUs of a node."""
        return (free >> node & self._first[-1]).bit_count()

    def counts(self, free: int) -> list[int]:
        """Return the number of free GPUs of each node."""
        return [self.count(free, node) for node in range(self._nodes)]

    def put(self, free: int, node: int, gpus: int) -> int:
        """Return the free GPUs after setting those of one node to `gpus`."""
        return free & ~(self._first[-1] << node) | self._first[gpus] << node

    # ---- claims and releases ----

    def columns(self, place: Allocation) -> Sequence[Columns]:
        """Return a placement as bits for `taken` and `given`, by number of GPUs."""
        every, first, number = self._first[-1], self._first, self._nodes
        return [
            (gpus * number, nodes * every, nodes * first[gpus])
            for gpus, nodes in _by_gpus(tuple(place))
        ]

    def taken(self, free: int, columns: Sequence[Columns]) -> int:
        """Return the free GPUs after a placement on free GPUs."""
        for shift, every, _ in columns:
            before = free & every
            free ^= before ^ before >> shift
        return free

    def given(self, free: int, columns: Sequence[Columns]) -> int:
        """Return the free GPUs after a placement is released."""
        for shift, every, lowest in columns:
            free |= (free & every) << shift | lowest
        return free

    def take(self, free: int, place: Allocation) -> int:
        """Return the free GPUs after a placement on free GPUs."""
        if len(place) >= WIDE:
            return self.taken(free, self.columns(place))
        for node, gpus in place:
            free ^= (
                self._first[gpus]
                << (self.count(free, node) - gpus) * self._nodes + node
            )
        return free

    def give(self, free: int, place: Allocation) -> int:
        """Return the free GPUs after a placement is released."""
        if len(place) >= WIDE:
            return self.given(free, self.columns(place))
        for node, gpus in place:
            free |= self._first[gpus] << self.count(free, node) * self._nodes + node
        return free

    # ---- room ----

    def fits(self, free: int, gpus: int) -> bool:
        """Return whether there is room for a job of this number of GPUs."""
        if gpus <= self.widest:
            return free >> (gpus - 1) * self._nodes > 0
        if free.bit_count() < gpus or self.widest == 1:
            return free.bit_count() >= gpus
        # like `room`, but without a list of the nodes
        taken = list[tuple[int, int]]()
        for size, empty in self._empty(free):
            whole = min(empty.bit_count(), gpus // size)
            taken.append((size, whole))
            gpus -= whole * size
        if not 0 < gpus <= self.widest:
            return not gpus
        with_room = free >> (gpus - 1) * self._nodes & (1 << self._nodes) - 1
        return with_room.bit_count() > sum(n for size, n in taken if size >= gpus)

    def usable(self, free: int, gpus: int) -> int:
        """Return the free GPUs of nodes with room; of empty nodes for a wide job."""
        if gpus <= self.widest:
            room = free >> (gpus - 1) * self._nodes & (1 << self._nodes) - 1
            return (free & room * self._first[-1]).bit_count()
        return sum(size * empty.bit_count() for size, empty in self._empty(free))

    def room(self, free: int, gpus: int) -> Allocation | None:
        """Return a placement for a job as (node, GPUs) pairs; None if it does not fit.

        A wide job gets empty nodes, largest first, that it fills completely; the rest
        is placed like a separate job.
        """
        if free.bit_count() < gpus:
            return None
        place, taken = list[tuple[int, int]](), 0
        for size, empty in self._empty(free) if gpus > self.widest else ():
            while empty and size <= gpus:
                node = lowest_bit(empty)
                place.append((node, size))
                empty ^= 1 << node
                taken |= 1 << node
                gpus -= size
        if gpus:
            left = free & ~(taken * self._first[-1])
            last = self._node(left, gpus) if gpus <= self.widest else None
            if last is None:
                return None
            place.append((last, gpus))
        return tuple(place)

    def _empty(self, free: int) -> list[tuple[int, int]]:
        """Return pairs of a node size, largest first, and its empty nodes."""
        return [
            (size, free >> (size - 1) * self._nodes & nodes)
            for size, nodes in self._kinds
        ]

    def _node(self, free: int, gpus: int) -> int | None:
        """Return the node with the least key for a job that is not wide."""
        if self._nodes == 1:  # however many GPUs it has
            return 0 if free.bit_count() >= gpus else None
        free >>= (gpus - 1) * self._nodes
        left, nodes_by_key = free & (1 << self._nodes) - 1, list[tuple[float, int]]()
        while left:
            free >>= self._nodes
            more = left & free
            if least := left ^ more:  # those with no more free than that
                for size, nodes in self._kinds:
                    if of_size := least & nodes:
                        nodes_by_key.append(
                            (self._placement(size, gpus), lowest_bit(of_size))
                        )
            left, gpus = more, gpus + 1
        return min(nodes_by_key)[1] if nodes_by_key else None


@lru_cache(maxsize=1 << 10)
def _by_gpus(place: Allocation) -> Sequence[tuple[int, int]]:
    """Return numbers of GPUs, each with a mask of the nodes on which so many are taken.

    A placement may list a node more than once.
    """
    of_node, by_gpus = Counter[int](), Counter[int]()
    for node, gpus in place:
        of_node[node] += gpus
    for node, gpus in of_node.items():
        by_gpus[gpus] |= 1 << node
    return list(by_gpus.items())


class Pools(Nodes):
    """Nodes for jobs with a `Need`, which is spread evenly over its number of nodes.

    Each pool of a node is treated as a node of `Nodes`, so that the free amounts are
    one integer, too.
    """

    def __init__(
        self, pools: Sequence[Sequence[int]], placement: Placement = best_fit
    ) -> None:
        self.number, self._most = len(pools[0]), [max(pool) for pool in pools]
        super().__init__([*chain(*pools)], placement)

    def fits(self, free: int, need: Need) -> bool:  # type: ignore[override]
        return self._with_room(free, need).bit_count() >= need.nodes

    def room(self, free: int, need: Need) -> Allocation | None:  # type: ignore[override]
        if not self.fits(free, need):
            return None
        pool, amount = next(entry for entry in enumerate(need.amounts) if entry[1])
        whole = self._first[self._most[pool]]
        left = free & (self._with_room(free, need) << pool * self.number) * whole
        chosen = list[int]()
        while len(chosen) < need.nodes:
            node = self._node(left, -(-amount // need.nodes))
            assert node is not None, "there is room"
            chosen.append(node % self.number)
            left &= ~(whole << node)
        return tuple(
            (pool * self.number + node, part)
            for pool, amount in enumerate(need.amounts)
            for place, node in enumerate(chosen)
            if (part := (amount + need.nodes - 1 - place) // need.nodes)
        )

    def serves(self, place: Allocation, need: Need) -> bool:
        """Return whether a placement satisfies the need of a job."""
        totals = [0] * len(need.amounts)
        nodes = {number % self.number for number, _ in place}
        for number, part in place:
            totals[number // self.number] += part
        allowed = all(need.where >> node & 1 for node in nodes)
        return allowed and len(nodes) == need.nodes and tuple(totals) == need.amounts

    def _with_room(self, free: int, need: Need) -> int:
        """Return the nodes that have room for an equal part of each amount."""
        room = need.where
        for pool, amount in enumerate(need.amounts):
            if amount:
                part = -(-amount // need.nodes)
                room &= free >> (part - 1) * self._nodes + pool * self.number
        return room


# units of memory per largest node, if it has more GB than this
MEMORY_STEPS = 256

Gpus = Annotated[int, limits("a whole number >= 0, at most 10,000", ge=0, le=10_000)]


@declared()
class Cluster:
    """Nodes with GPUs; nodes may differ in size.

    Raises InputError if there is no node or no GPU, if a node has no GPU (or no core,
    if cores are known), or if a list does not have one entry per node.
    """

    sizes: Annotated[Entries[Gpus], rule("a list of at least one node", bool)] = (
        parameter("GPUs of each node.")
    )
    cores: Entries[Count] = parameter(
        "Cores of each node; empty: jobs do not use cores.", default=()
    )
    memory_gb: Entries[Whole] = parameter(
        "Memory of each node, GB; empty: jobs do not use memory.", default=()
    )
    types: Entries[str] = parameter(
        "Type of the GPUs of each node; empty: jobs may use any node.", default=()
    )
    partitions: Entries[str] = parameter(
        "Partitions of each node, separated by commas; empty: jobs may use any node.",
        default=(),
    )

    def __post_init__(self) -> None:
        nodes = len(self.sizes)
        for name in ("cores", "memory_gb", "types", "partitions"):
            entries = len(getattr(self, name))
            require(
                entries in (0, nodes),
                f"entries of {name}",
                entries,
                f"{nodes}, one per node",
            )
        if not self.cores:
            for node, gpus in enumerate(self.sizes):
                require(gpus > 0, f"GPUs of node {node}", gpus, "a whole number >= 1")
        require(self.gpus > 0, "sizes", self.sizes, "at least one node with GPUs")

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return sum(self.sizes)

    @property
    def step_gb(self) -> int:
        """Unit of memory, GB; a node's memory is rounded down to it, a job's up."""
        return -(-max(self.memory_gb, default=1) // MEMORY_STEPS)

    @property
    def pools(self) -> list[tuple[int, ...]]:
        """Amounts per node that jobs can take: GPUs, cores, units of memory."""
        memory = tuple(size // self.step_gb for size in self.memory_gb)
        return [pool for pool in (self.sizes, self.cores, memory) if pool]

    def nodes(self, needs: Sequence[Any], placement: Placement = best_fit) -> Nodes:
        """Return the `Nodes` for jobs with these needs."""
        rich = isinstance(needs[0], Need)
        return Pools(self.pools, placement) if rich else Nodes(self.sizes, placement)

    def marks(self, jobs: Jobs) -> dict[str, tuple[str, ...]]:
        """Return node attributes that jobs can request, by tag of the request."""
        marks = {"gpu_type": self.types, "partition": self.partitions}
        return {
            name: values
            for name, values in marks.items()
            if values and name in jobs.tags
        }

    def needs(self, jobs: Jobs) -> Sequence[int] | Sequence[Need]:
        """Return the demand per job: its GPUs, or a `Need` if other columns matter.

        A job without a number of nodes takes the fewest on which it fits. A job without
        a partition or GPU type may use any; "a|b" allows either.
        """
        marks, none = self.marks(jobs), np.zeros(jobs.jobs, np.int64)
        on_one = (
            jobs.nodes is None
            or ((jobs.nodes == 1) & (jobs.gpus <= max(self.sizes))).all()
        )
        if on_one and len(self.pools) == 1 and not marks:
            return list(map(int, jobs.gpus))
        cores = none if jobs.cores is None else jobs.cores
        memory = (
            none if jobs.memory_gb is None else np.ceil(jobs.memory_gb / self.step_gb)
        )
        demands = [
            jobs.gpus,
            *[cores] * bool(self.cores),
            *[memory] * bool(self.memory_gb),
        ]
        nodes = Pools(self.pools)

        @cache
        def where(name: str, text: str) -> int:
            wanted = {*re.split("[|,]", text)}
            fit = (
                not text or wanted & {*text_of_node.split(",")}
                for text_of_node in marks[name]
            )
            return sum(1 << node for node, holds in enumerate(fit) if holds)

        @cache
        def need(amounts: tuple[int, ...], number: int, *texts: str) -> Need:
            allowed = reduce(and_, map(where, marks, texts), (1 << len(self.sizes)) - 1)
            least = (
                Need(amounts, one, allowed) for one in range(1, len(self.sizes) + 1)
            )
            fewest = (one for one in least if nodes.fits(nodes.all, one))
            parts = min(number, max(amounts))  # no node without a part
            return (
                Need(amounts, parts, allowed)
                if number
                else next(fewest, Need(amounts, 1, 0))
            )

        amounts = zip(*(column.astype(np.int64).tolist() for column in demands))
        numbers = (none if jobs.nodes is None else jobs.nodes).tolist()
        return [
            need(*row)
            for row in zip(amounts, numbers, *map(jobs.tags.__getitem__, marks))
        ]


PAPER_CLUSTER = Cluster((8,) * 8)  # 64 GPUs, cluster-schedulers.txt Section IV.A
