"""The dispatcher: the one process that asks the policy and grants what it answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import simpy

from cgrsp_simpy.engine.answers import Answers
from cgrsp_simpy.engine.claims import Claim
from cgrsp_simpy.engine.events import job_id
from cgrsp_simpy.engine.instant import Alarm, Bell, Patience
from cgrsp_simpy.model.policy import PlaceError, Suspend, Wake

if TYPE_CHECKING:
    from cgrsp_simpy.engine.engine import Engine

__all__ = ["Dispatcher"]


class Dispatcher:
    """Decides at the end of each instant in which that can matter.

    engine: whose claims wait, and whose policy is asked. decisions: how often it was.
    """

    def __init__(self, engine: Engine) -> None:
        env = self.env = engine.env
        self.engine, self.waiting, self.decisions = engine, engine.waiting, 0
        state = engine.state
        self.answers = Answers(env, engine.policy, None, engine.waiting, state.describe)
        self._bell, self._rung = Bell(env), False
        self._alarm = Alarm(env, self._wake)
        self._impatient: list[tuple[Claim, Callable[[Patience], None]]] = []
        env.process(self._process())

    def ring(self) -> None:
        """Have a decision made at the end of this instant, if it could
        grant anything.
        """
        if (
            not self._rung
            and self.waiting
            and (self.engine.open or self.engine.hears_all)
        ):
            self._rung = True
            self._bell.ring()

    def rest(self) -> None:
        """Nobody waits: forget when the policy asked to be woken."""
        self._alarm.stop()

    def after_decision(self, claim: Claim, give_up: Callable[[Patience], None]) -> None:
        """Let a claim's patience count once this instant's decision has
        not granted it.
        """
        if self._rung:
            self._impatient.append((claim, give_up))
        else:
            Patience(claim, give_up)

    def _process(self) -> Generator[simpy.Event, Any, None]:
        while True:
            yield self._bell
            self._bell, self._rung = Bell(self.env), False  # first: a grant may ring it
            if self.waiting:  # else all have been withdrawn
                self._decide(self.env.now)
            for claim, give_up in self._impatient:
                if not claim.triggered:
                    Patience(claim, give_up)
            self._impatient.clear()

    def _decide(self, now_s: float) -> None:
        """Ask the policy, carry out its answer."""
        self.decisions += 1
        self._alarm.stop()
        self.answers.view = self.engine.state.view(now_s)
        wake_s = math.inf
        if self.engine.listener:
            self.engine.tell("decide", None, self.engine.state.summary())
        for item in self.answers.now():
            kind = type(item)
            if kind is Wake:
                wake_s = min(wake_s, self.answers.wake_s(item))
            elif kind is Suspend:
                if self.engine.running is None:
                    raise self.answers.wrong(
                        f"answered {item!r}; this scenario allows no suspension"
                    )
                claim = self.answers.suspended(item, self.engine.running.values())
                self.engine.revoke(claim, item)
            else:
                self._grant(item, now_s)
        if wake_s < math.inf:
            self._alarm.set(wake_s)

    def _grant(self, item: Any, now_s: float) -> None:
        """Promise a job its places."""
        try:
            job, chosen = item
            claim = self.waiting.pop(job)
        except (TypeError, ValueError, KeyError):
            raise self.answers.no_such_job(item) from None
        claim.granted_s = now_s
        free = self.engine.free
        try:
            claim.parts = self.engine.state.granted(claim, chosen)
            for place, amount in claim.parts:
                left = free[place] = free[place] - amount
                if left <= 0:
                    self._fill(place, left, amount)
        except PlaceError as error:
            raise self.answers.wrong(f"sent job {job_id(job)} to {error}") from None
        self._alarm.in_a_row = 0
        if self.engine.running is not None:
            self.engine.running[job] = claim
        claim.succeed(claim)

    def _fill(self, place: int, left: float, amount: float) -> None:
        """Nothing is left of a place."""
        if left < 0:
            raise PlaceError(self.engine.places[place].lacks(left + amount, amount))
        self.engine.open -= amount > 0

    def _wake(self) -> None:
        """The time has come at which the policy asked to be asked again."""
        if self._alarm.in_a_row > self._alarm.most:
            held = f"has held {len(self.waiting)} waiting jobs through"
            raise self.answers.wrong(f"{held} {self._alarm.most} wake-ups in a row")
        self.ring()
