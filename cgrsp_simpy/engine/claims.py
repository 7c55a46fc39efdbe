"""What jobs claim: places, which are SimPy resources with a capacity, and the
claims to them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import simpy

from cgrsp_simpy.model.timeline import CLAIM, PHASES

__all__ = ["Claim", "Held", "Part", "Place", "Pool", "Slot", "State", "claims_table"]

Part = tuple[int, float]
"""A place, by its index, and the amount of it that a job holds."""


class Slot(simpy.Resource):
    """A place that one job holds at a time: a GPU slot, a machine taken as a whole.

    noun, index: what listings call it.
    """

    size: float = 1

    def __init__(self, env: simpy.Environment, noun: str, index: int) -> None:
        super().__init__(env, capacity=1)
        self.noun, self.index = noun, index

    def lacks(self, free: float, amount: float) -> str:
        """Why an amount cannot be promised."""
        return f"{self.noun} {self.index}, which is busy or given away already"

    def acquire(self, amount: float) -> Any:
        """Request the slot, which has been promised; what `give_back` takes."""
        request = self.request()
        assert request.triggered, "a slot was promised to two jobs"
        return request

    def give_back(self, held: Any, amount: float) -> None:
        """Release what `acquire` requested, as `simpy.Release` does, but for its event:
        nobody waits for it.
        """
        self.users.remove(held)


class Pool(simpy.Container):
    """A place that jobs share by amounts: the GPUs of a node, the cores or the memory
    of a machine.

    noun, index: what listings call it. unit: of what it has `size`.
    """

    def __init__(
        self, env: simpy.Environment, noun: str, index: int, size: float, unit: str
    ) -> None:
        # SimPy knows no container of nothing
        super().__init__(env, capacity=size or 1.0, init=size)
        self.noun, self.index, self.size, self.unit = noun, index, size, unit

    def lacks(self, free: float, amount: float) -> str:
        """Why an amount cannot be promised."""
        return (
            f"{self.noun} {self.index}, which has {free:g} {self.unit} free;"
            f" it needs {amount:g}"
        )

    def acquire(self, amount: float) -> None:
        """Take an amount, which has been promised."""
        if amount:
            got = self.get(amount)
            assert got.triggered, "room was promised to two jobs"

    def give_back(self, held: None, amount: float) -> None:
        """Put an amount back, as `simpy.resources.container.ContainerPut` does, but for
        its event: nobody waits for it.
        """
        self._level += amount


Place = Slot | Pool  # what a job can hold: a slot, or a part of a pool


class Claim(simpy.Event):
    """A job's wish for places: triggered with itself once they are granted, or with
    None when its patience ends.

    places, parts: all places, and what is granted of them. terms: what the model notes
    of the grant. requests: what was requested, a part each. granted_s, started_s:
    when; seconds. process: the job's.
    """

    parts: Sequence[Part] = ()
    terms: Any = None
    requests: Sequence[Any] = ()
    granted_s = started_s = math.nan

    def __init__(
        self,
        env: simpy.Environment,
        job: Any,
        patience_s: float,
        places: Sequence[Place],
    ) -> None:
        self.env, self.callbacks = env, []  # as simpy.Event sets them
        self.job, self.patience_s, self.places = job, patience_s, places
        self.process = env.active_process

    def acquire(self) -> None:
        """Request the places; they are the job's own since the grant, so that
        there is no wait.
        """
        self.started_s = self.env.now
        places = self.places
        self.requests = [places[place].acquire(amount) for place, amount in self.parts]

    def give_back(self) -> None:
        """Release what has been requested."""
        places = self.places
        for (place, amount), request in zip(self.parts, self.requests):
            places[place].give_back(request, amount)


Held = tuple[Any, Sequence[Part], float, float, float]
"""A claim that has been released: job, its parts, and when they were granted,
requested, and released; seconds.
"""


def claims_table(log: Sequence[Held]) -> np.ndarray[Any, np.dtype[Any]]:
    """One row a job, place and phase (provisioning, executing), by time of grant;
    a structured array of CLAIM.

    place: the index of the place. amount: what the job held of it. from_s, to_s:
    seconds; phases of no length are left out.
    """
    rows = []
    for job, parts, granted_s, started_s, released_s in sorted(
        log, key=lambda held: held[2]
    ):
        for phase, from_s, to_s in zip(
            PHASES, (granted_s, started_s), (started_s, released_s)
        ):
            if to_s > from_s:
                rows += [
                    (job, place, amount, phase, from_s, to_s) for place, amount in parts
                ]
    return np.array(rows, CLAIM)


class State(Protocol):
    """What a model keeps for the views of its policies; the engine tells it
    of every change.

    waiting: the claims of the jobs that wait, oldest first; the engine keeps them.
    """

    waiting: dict[Any, Claim]

    def view(self, now_s: float) -> Any:
        """What a policy sees now."""

    def summary(self) -> str:
        """What a listing says of a decision."""

    def describe(self, job: Any) -> str:
        """What a listing says of a job when it claims places."""

    def add(self, job: Any) -> None:
        """A job waits."""

    def gave_up(self, job: Any) -> None:
        """A job waits no longer: its patience has ended."""

    def granted(self, claim: Claim, chosen: Any) -> Sequence[Part]:
        """A job waits no longer: the places that the policy means by `chosen`
        are its own.

        Raises PlaceError if it means none.
        """

    def released(self, claim: Claim, now_s: float) -> None:
        """A job has left its places."""
