"""Defragmentation by consolidation: what moving running jobs together would free (counted; nothing
is moved in a simulation).
"""

from __future__ import annotations

from collections.abc import Sequence

from cgrsp_simpy.cluster.placement import Nodes


def moves(
    free: Sequence[int], nodes: Nodes, held: Sequence[Sequence[int]], gpus: int
) -> int | None:
    """How many running jobs are moved to other nodes until a job of so many GPUs fits; None if that
    does not make it fit.

    free: GPUs by node. held: GPUs of each job that runs on one node, by node; jobs on several nodes
    stay where they are. Greedy, ours: nodes are emptied in turn, that with most free GPUs first,
    widest jobs first, each job once and to the node on which least is left free, but to none that
    is empty. It is what a simple consolidation does, not the fewest moves there are.
    """
    left, moved = list(free), 0
    for node in sorted(range(len(left)), key=lambda node: -left[node]):
        for width in sorted(held[node], reverse=True):
            room = [
                other
                for other, idle in enumerate(left)
                if width <= idle < nodes.sizes[other] and other != node
            ]
            if not room:
                continue
            left[min(room, key=left.__getitem__)] -= width
            left[node] += width
            moved += 1
            if nodes.fits(nodes.packed(left), gpus):
                return moved
    return None
