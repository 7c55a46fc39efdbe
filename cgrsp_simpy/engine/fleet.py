"""The fleet: slots as SimPy resources, and the book of which of them are idle."""

from __future__ import annotations

from typing import Any

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
    """All slots; `views` (of each when idle), `idle` and `busy` are what a policy sees of them.

    choices: types as which any idle slot may be provisioned.

    A slot counts as taken from its dispatch on, not from the request that follows the provisioning delay: `idle` is the
    truth for decisions, `Resource.count` is not.
    """

    def __init__(self, env: simpy.Environment, gpus: tuple[GpuType, ...], choices: tuple[GpuType, ...] = ()) -> None:
        self.choices = choices
        self.slots = [Slot(env, index, gpu) for index, gpu in enumerate(gpus)]
        self.views = [slot.idle for slot in self.slots]
        self.idle = self.views.copy()
        self.busy: dict[int, tuple[GpuType, float]] = {}  # type and expected end by index

    def idle_slot(self, view: Any) -> Slot | None:
        """The slot that a policy means, or None if that is none, is not idle, or cannot be of that type."""
        if type(view) is not SlotView or type(view.index) is not int or not 0 <= view.index < len(self.slots):
            return None
        slot = self.slots[view.index]
        if slot.index in self.busy or not (view is slot.idle or view.gpu in self.choices):
            return None
        return slot

    def take(self, slot: Slot, gpu: GpuType, now_s: float, mean_s: float) -> None:
        """Mark an idle slot as taken, as a type on which its job's mean execution time is `mean_s` seconds."""
        self.idle.remove(slot.idle)
        self.busy[slot.index] = (gpu, now_s + mean_s)
        slot.taken_s = now_s

    def free(self, slot: Slot, now_s: float) -> None:
        """Mark a slot as idle."""
        del self.busy[slot.index]
        place = len(self.idle)
        while place and self.idle[place - 1].index > slot.index:
            place -= 1
        self.idle.insert(place, slot.idle)
        slot.held_s += now_s - slot.taken_s
