"""Where a job's GPUs are: on one node, or, if it is wider than any node, on whole nodes and
the rest on one; or on as many nodes as a log tells, with its cores and memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

Place = Sequence[tuple[int, int]]
"""Nodes, and how many GPUs are taken of each; of n nodes, n + i and 2n + i are the cores and the
memory of node i, where jobs take these.
"""

Placement = Callable[[int, int], float]
"""(size of a node, GPUs free on it) -> its key; of the nodes with room the first of those of
least key is taken.
"""


def first_fit(size: int, free: int) -> float:  # noqa: ARG001
    """The first node with room.

    size: GPUs of the node. free: GPUs free on it. Result: a key: of the nodes with room the first
    of least key is taken.
    """
    return 0


def best_fit(size: int, free: int) -> float:  # noqa: ARG001
    """The node on which least is left free.

    size: GPUs of the node. free: GPUs free on it. Result: a key: of the nodes with room the first
    of least key is taken.
    """
    return free


def pack(size: int, free: int) -> float:
    """The node that is busiest, by share of its GPUs in use: empty nodes are kept for wide jobs.

    size: GPUs of the node. free: GPUs free on it. Result: a key: of the nodes with room the first
    of least key is taken.
    """
    return free / size


def spread(size: int, free: int) -> float:
    """The node that is least busy.

    size: GPUs of the node. free: GPUs free on it. Result: a key: of the nodes with room the first
    of least key is taken.
    """
    return -free / size


PLACEMENTS: dict[str, Placement] = {
    "first": first_fit,
    "best": best_fit,
    "pack": pack,
    "spread": spread,
}
"""By name, the rules of where a job goes."""


class Need(NamedTuple):
    """What a job takes of a cluster where GPUs alone do not tell.

    amounts: of each pool (GPUs, cores, memory), over all of its nodes. nodes: their number.
    where: those that it may have, a bit a node.
    """

    amounts: tuple[int, ...]
    nodes: int
    where: int


class HeldBits(NamedTuple):
    """A place as `Nodes` adds and takes it away.

    whole: the bits of nodes held as a whole. rest: the others.
    """

    whole: int
    rest: Place


class Nodes:
    """The nodes of a cluster, and what is free on them: one whole number, with a bit a GPU.

    Of n nodes, bit (k - 1) n + i says whether node i has k GPUs free, or more. So `one & other` is
    what is free in both; where nodes with k GPUs free are takes a few operations on such numbers,
    however the GPUs are shared out among nodes.

    all: when nothing runs. widest: GPUs of the largest node.
    """

    def __init__(self, sizes: Sequence[int], placement: Placement = best_fit) -> None:
        self.sizes, self.widest = tuple(sizes), max(sizes)
        self._placement, self._nodes = placement, len(self.sizes)
        first = [0]  # by k: the bits of the first k GPUs of node 0
        for gpus in range(self.widest):
            first.append(first[-1] | 1 << gpus * self._nodes)
        self._first = tuple(first)
        self._kinds = [
            (size, sum(1 << node for node, other in enumerate(self.sizes) if other == size))
            for size in sorted({*self.sizes} - {0}, reverse=True)
        ]
        self.all = self.packed(self.sizes)
        # a place, as it is taken and given; reservations are moved often
        self.held = lru_cache(maxsize=1024)(self._held)

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(self, "held"):  # a view shows it
            raise AttributeError(f"nodes are read only: {name}")
        super().__setattr__(name, value)

    def packed(self, counts: Sequence[int]) -> int:
        """What is free, by the GPUs that are free on each node."""
        return sum(self._first[gpus] << node for node, gpus in enumerate(counts))

    def count(self, free: int, node: int) -> int:
        """GPUs that are free on a node."""
        return (free >> node & self._first[-1]).bit_count()

    def counts(self, free: int) -> list[int]:
        """GPUs that are free on each node."""
        return [self.count(free, node) for node in range(self._nodes)]

    def put(self, free: int, node: int, gpus: int) -> int:
        """What is free when so many GPUs of a node are."""
        return free & ~(self._first[-1] << node) | self._first[gpus] << node

    # ---- taking and giving ----

    def _held(self, place: Place) -> HeldBits:
        whole, rest = 0, []
        for node, gpus in place:
            if gpus == self.sizes[node]:
                whole |= self._first[gpus] << node
            else:
                rest.append((node, gpus))
        return HeldBits(whole, rest)

    def take(self, free: int, held: HeldBits) -> int:
        """What is left when a place, which is free, is taken."""
        free ^= held.whole
        for node, gpus in held.rest:
            free ^= self._first[gpus] << (self.count(free, node) - gpus) * self._nodes + node
        return free

    def give(self, free: int, held: HeldBits) -> int:
        """What is free when a place is given back."""
        free |= held.whole
        for node, gpus in held.rest:
            free |= self._first[gpus] << self.count(free, node) * self._nodes + node
        return free

    # ---- finding room ----

    def fits(self, free: int, gpus: int) -> bool:
        """Whether a job of so many GPUs has room."""
        if gpus <= self.widest:
            return free >> (gpus - 1) * self._nodes > 0
        return free.bit_count() >= gpus and self._wide_fits(free, gpus)

    def _wide_fits(self, free: int, gpus: int) -> bool:
        taken = 0
        for size, empty in self._empty(free):
            if gpus < size * empty.bit_count():
                return True  # whole nodes, and one more for the rest
            gpus -= size * empty.bit_count()
            taken |= empty
        return not gpus or (gpus <= self.widest and self.fits(self._but(free, taken), gpus))

    def usable(self, free: int, gpus: int) -> int:
        """GPUs of the nodes that have room for a job of so many; of one wider than any node, of
        those that are all free.
        """
        if gpus <= self.widest:
            room = free >> (gpus - 1) * self._nodes & (1 << self._nodes) - 1
            return (free & self._columns(room)).bit_count()
        return sum(size * empty.bit_count() for size, empty in self._empty(free))

    def room(self, free: int, gpus: int) -> Place | None:
        """Where a job of so many GPUs goes; None if it does not fit."""
        if gpus <= self.widest:
            node = self._node(free, gpus)
            return None if node is None else ((node, gpus),)
        return self._wide(free, gpus) if self.fits(free, gpus) else None

    def _wide(self, free: int, gpus: int) -> Place:
        """Empty nodes, the largest first, while they are not too large; the rest as a
        job of its own.
        """
        place, taken = [], 0
        for size, empty in self._empty(free):
            while empty and size <= gpus:
                lowest = empty & -empty
                place.append((lowest.bit_length() - 1, size))
                empty ^= lowest
                taken |= lowest
                gpus -= size
        if gpus:
            place += self.room(self._but(free, taken), gpus) or ()
        return tuple(place)

    def _empty(self, free: int) -> list[tuple[int, int]]:
        """Sizes, the largest first, and the nodes of each that are all free."""
        return [(size, free >> (size - 1) * self._nodes & nodes) for size, nodes in self._kinds]

    def _but(self, free: int, nodes: int) -> int:
        """What is free on all but some nodes."""
        return free & ~self._columns(nodes) if nodes else free

    def _columns(self, nodes: int) -> int:
        """All bits of some nodes, and those of one GPU more, which none has."""
        done = 1
        while done <= self.widest:
            nodes |= nodes << done * self._nodes
            done *= 2
        return nodes

    def _node(self, free: int, gpus: int) -> int | None:
        """The node of least key for a job that is not wide."""
        at_least = free >> (gpus - 1) * self._nodes
        found: list[tuple[float, int]] = []
        for size, nodes in self._kinds:
            left = at_least & nodes
            while left:
                exactly, node = self._least(free, left, gpus)
                found.append((self._placement(size, exactly), node))
                left &= free >> exactly * self._nodes  # those with more
        return min(found)[1] if found else None

    def _least(self, free: int, nodes: int, gpus: int) -> tuple[int, int]:
        """Of nodes with so many GPUs free or more, the number that is least, and the
        first node with it.
        """
        lacking = ~(free >> gpus * self._nodes) & self._columns(nodes)
        more, node = divmod((lacking & -lacking).bit_length() - 1, self._nodes)
        return gpus + more, node


class Pools(Nodes):
    """Nodes whose jobs take a `Need`: it is spread evenly over its nodes, and fits if as many have
    room for the greatest part of each of its amounts.

    Each pool of a node is a node of `Nodes`, so that what is free is one number as there.
    """

    def __init__(self, pools: Sequence[Sequence[int]], placement: Placement = best_fit) -> None:
        self.number = len(pools[0])
        super().__init__([*chain(*pools)], placement)

    def fits(self, free: int, need: Need) -> bool:  # type: ignore[override]
        return self._with_room(free, need).bit_count() >= need.nodes

    def room(self, free: int, need: Need) -> Place | None:  # type: ignore[override]
        if not self.fits(free, need):
            return None
        pool, amount = next(each for each in enumerate(need.amounts) if each[1])
        left = free & self._columns(self._with_room(free, need) << pool * self.number)
        chosen = list[int]()
        while len(chosen) < need.nodes:
            node = self._node(left, -(-amount // need.nodes))
            assert node is not None, "there is room"
            chosen.append(node % self.number)
            left = self._but(left, 1 << node)
        return tuple(
            (pool * self.number + node, part)
            for pool, amount in enumerate(need.amounts)
            for place, node in enumerate(chosen)
            if (part := (amount + need.nodes - 1 - place) // need.nodes)
        )

    def serves(self, place: Place, need: Need) -> bool:
        """Whether a place is what a job needs."""
        totals, nodes = [0] * len(need.amounts), {number % self.number for number, _ in place}
        for number, part in place:
            totals[number // self.number] += part
        allowed = all(need.where >> node & 1 for node in nodes)
        return allowed and len(nodes) == need.nodes and tuple(totals) == need.amounts

    def _with_room(self, free: int, need: Need) -> int:
        """The nodes with room for a part of each amount."""
        room = need.where
        for pool, amount in enumerate(need.amounts):
            if amount:
                part = -(-amount // need.nodes)
                room &= free >> (part - 1) * self._nodes + pool * self.number
        return room
