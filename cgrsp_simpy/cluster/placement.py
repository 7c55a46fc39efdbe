"""Where a job's GPUs are: on one node, or, if it is wider than any node, on whole nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

__all__ = ["PLACEMENTS", "Place", "best_fit", "first_fit", "pack", "spread"]

Place = Sequence[tuple[int, int]]
"""Nodes, and how many GPUs are taken of each."""

Placement = Callable[[Sequence[int], Sequence[int], int], Place | None]
"""(free GPUs by node, sizes of the nodes, GPUs of the job) -> where it goes, or None if it does not fit now."""


def first_fit(free: Sequence[int], sizes: Sequence[int], gpus: int) -> Place | None:
    """The first node with room."""
    return _placed(free, sizes, gpus, lambda node: node)


def best_fit(free: Sequence[int], sizes: Sequence[int], gpus: int) -> Place | None:
    """The node on which least is left free."""
    return _placed(free, sizes, gpus, lambda node: free[node])


def pack(free: Sequence[int], sizes: Sequence[int], gpus: int) -> Place | None:
    """The node that is busiest, by share of its GPUs in use: empty nodes are kept for wide jobs."""
    return _placed(free, sizes, gpus, lambda node: free[node] / sizes[node])


def spread(free: Sequence[int], sizes: Sequence[int], gpus: int) -> Place | None:
    """The node that is least busy."""
    return _placed(free, sizes, gpus, lambda node: -free[node] / sizes[node])


PLACEMENTS: dict[str, Placement] = {"first": first_fit, "best": best_fit, "pack": pack, "spread": spread}


def _placed(free: Sequence[int], sizes: Sequence[int], gpus: int, key: Callable[[int], float]) -> Place | None:
    """On the node of least key among those with room; of a job wider than the largest node, all but the rest on empty nodes."""
    if gpus > max(sizes):
        return _wide(free, sizes, gpus, key)
    left = [node for node, room in enumerate(free) if room >= gpus]
    return ((min(left, key=key), gpus),) if left else None


def _wide(free: Sequence[int], sizes: Sequence[int], gpus: int, key: Callable[[int], float]) -> Place | None:
    empty = [node for node, room in enumerate(free) if room == sizes[node]]
    if gpus > (len(empty) + 1) * max(sizes):
        return None
    whole: dict[int, int] = {}
    for node in sorted(empty, key=lambda node: -sizes[node]):
        if sizes[node] <= gpus:
            whole[node] = sizes[node]
            gpus -= sizes[node]
    if not gpus:
        return tuple(whole.items())
    if gpus > max(sizes):
        return None
    rest = _placed([0 if node in whole else room for node, room in enumerate(free)], sizes, gpus, key)
    return (*whole.items(), *rest) if rest else None
