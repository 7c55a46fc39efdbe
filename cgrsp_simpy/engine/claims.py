"""What jobs claim: places, which are SimPy resources with a capacity, and the claims to them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import simpy

__all__ = ["Claim", "Part", "Place", "Pool", "Refused", "Slot", "State"]

Part = tuple[int, float]
"""A place, by its index, and the amount of it that a job holds."""


class Slot(simpy.Resource):
    """A place that one job holds at a time: a GPU slot, a machine taken as a whole. name: for messages."""

    size = 1.0

    def __init__(self, env: simpy.Environment, name: str) -> None:
        super().__init__(env, capacity=1)
        self.name = name

    def acquire(self, amount: float) -> Any:  # noqa: ARG002, a job takes the whole
        """Request the slot, which has been promised; what `give_back` takes."""
        request = self.request()
        assert request.triggered, "a slot was promised to two jobs"
        return request

    def give_back(self, held: Any, amount: float) -> None:  # noqa: ARG002
        """Release what `acquire` requested."""
        self.release(held)


class Pool(simpy.Container):
    """A place that jobs share by amounts: the GPUs of a node, the cores or the memory of a machine. name: for messages."""

    def __init__(self, env: simpy.Environment, name: str, size: float) -> None:
        super().__init__(env, capacity=size or 1.0, init=size)  # SimPy knows no container of nothing
        self.name, self.size = name, size

    def acquire(self, amount: float) -> None:
        """Take an amount, which has been promised."""
        if amount:
            got = self.get(amount)
            assert got.triggered, "room was promised to two jobs"

    def give_back(self, held: None, amount: float) -> None:  # noqa: ARG002, as of a slot
        """Put an amount back."""
        if amount:
            self.put(amount)


Place = Slot | Pool


class Claim(simpy.Event):
    """A job's wish for places: triggered with itself once they are granted, or with None when its patience ends.

    process: the job's. places, parts: all places, and what is granted of them. chosen: the policy's words for that.
    """

    def __init__(self, env: simpy.Environment, job: Hashable, patience_s: float, places: Sequence[Place]) -> None:
        super().__init__(env)
        self.job, self.patience_s, self.places = job, patience_s, places
        self.process = env.active_process
        self.parts: Sequence[Part] = ()
        self.chosen: Any = None
        self._held: list[Any] = []

    def acquire(self) -> None:
        """Request the places; they are the job's own since the grant, so that there is no wait."""
        self._held = [self.places[place].acquire(amount) for place, amount in self.parts]

    def give_back(self) -> None:
        """Release what `acquire` requested."""
        for (place, amount), held in zip(self.parts, self._held):
            self.places[place].give_back(held, amount)
        self._held = []


class Refused(ValueError):
    """Why a policy's words for places cannot be carried out, as in "sent job 7 to slot 9, which is no slot of the fleet"."""


class State(Protocol):
    """What a model keeps for the views of its policies; the engine tells it of every change.

    waiting: the claims of the jobs that wait, oldest first; the engine keeps them.
    """

    waiting: dict[Any, Claim]

    def view(self, now_s: float) -> Any:
        """What a policy sees now."""

    def add(self, job: Any) -> None:
        """A job waits."""

    def remove(self, job: Any) -> None:
        """A job waits no longer."""

    def parts(self, job: Any, chosen: Any) -> Sequence[Part]:
        """The places that a policy means, in what amounts. Raises Refused if it means none."""

    def granted(self, claim: Claim, now_s: float) -> None:
        """A job has been promised its places."""

    def released(self, claim: Claim, now_s: float) -> None:
        """A job has left its places."""
