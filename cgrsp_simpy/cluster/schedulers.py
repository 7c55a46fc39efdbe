"""The schedulers: who starts next (cluster-schedulers.txt Sections III and V), as functions of a moment."""

from __future__ import annotations

from cgrsp_simpy.cluster.simulation import Moment

__all__ = ["fifo"]


def fifo(moment: Moment) -> None:
    """By arrival; the first that does not fit holds up all others."""
    for job in list(moment.waiting):
        if not moment.start(job):
            break
