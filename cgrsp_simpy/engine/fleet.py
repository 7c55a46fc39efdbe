"""The fleet: slots as SimPy resources, and the book of which of them are idle."""

from __future__ import annotations

from bisect import insort
from operator import attrgetter

import simpy

from cgrsp_simpy.model.decision import SlotView
from cgrsp_simpy.model.gpu import GpuType

__all__ = ["Fleet", "Slot"]


class Slot(simpy.Resource):
    """A slot of the fleet: a resource that one job holds at a time.

    idle: how a policy sees it when idle. taken_s: when it was last dispatched to. held_s: seconds held so far, from
    dispatch to completion.
    """

    def __init__(self, env: simpy.Environment, index: int, gpu: GpuType) -> None:
        super().__init__(env, capacity=1)
        self.index = index
        self.idle = SlotView(index, gpu)
        self.taken_s = 0.0
        self.held_s = 0.0


class Fleet:
    """All slots; `views` and `idle` are what a policy sees of them.

    A slot counts as taken from its dispatch on, not from the request that follows the provisioning delay: `idle` is the
    truth for decisions, `Resource.count` is not.
    """

    def __init__(self, env: simpy.Environment, gpus: tuple[GpuType, ...]) -> None:
        self.slots = [Slot(env, index, gpu) for index, gpu in enumerate(gpus)]
        self.views = [slot.idle for slot in self.slots]
        self.idle = self.views.copy()

    def take(self, slot: Slot, gpu: GpuType, now_s: float, mean_s: float) -> None:
        """Mark an idle slot as taken, as a type on which its job's mean execution time is `mean_s` seconds."""
        self.idle.remove(slot.idle)
        self.views[slot.index] = SlotView(slot.index, gpu, now_s + mean_s)
        slot.taken_s = now_s

    def free(self, slot: Slot, now_s: float) -> None:
        """Mark a slot as idle."""
        self.views[slot.index] = slot.idle
        if self.idle:
            insort(self.idle, slot.idle, key=attrgetter("index"))
        else:
            self.idle.append(slot.idle)
        slot.held_s += now_s - slot.taken_s
