"""The engine that all models share: jobs claim places, one dispatcher asks a policy.

The life of a job is the model's own process; with the engine it reads

    claim = yield engine.claim(job)       # until the policy grants it
    yield env.timeout(provisioning_s)
    claim.acquire()                       # requests the places that are kept for it
    yield env.timeout(service_s)
    engine.release(claim)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import simpy

from cgrsp_simpy.engine.claims import Claim, Held, Place, State
from cgrsp_simpy.engine.dispatcher import Dispatcher
from cgrsp_simpy.engine.events import Event, Listener, job_id
from cgrsp_simpy.engine.instant import Patience

__all__ = ["Engine"]


class Engine:
    """Keeps the claims that wait, and grants them places as a policy says.

    state: the model's, from which views are made. policy: a function of a view; its
    answer is an iterable of pairs (job, places), in the model's words, and of Wakes.
    listener: is called with each Event. log: takes down each claim that is released,
    for `claims_table`. hears_all: whether the policy is asked even when nothing is
    free. running: takes the claims that hold places, where the policy may suspend their
    jobs. PolicyError is raised, as the simulation runs, for what cannot be carried out.
    """

    def __init__(
        self,
        env: simpy.Environment,
        places: Sequence[Place],
        state: State,
        policy: Callable[[Any], Any],
        listener: Listener | None = None,
        log: list[Held] | None = None,
        hears_all: bool = False,
        running: dict[Any, Claim] | None = None,
    ) -> None:
        self.env, self.places, self.state, self.waiting = (
            env,
            places,
            state,
            state.waiting,
        )
        self.listener, self.log, self.hears_all = listener, log, hears_all
        self.free = [place.size for place in places]  # what is promised to nobody
        self.open = len(places)  # number of places with something free
        self.holding: dict[Claim, None] = {}  # claims told of that hold places
        self.policy, self.running = policy, running
        self.dispatcher = Dispatcher(self)

    def claim(self, job: Hashable, patience_s: float = math.inf) -> Claim:
        """Queue a job; the claim is triggered when granted, or its patience ends."""
        claim = self.waiting[job] = Claim(self.env, job, patience_s, self.places)
        self.state.add(job)
        if self.listener:
            self.tell("submit", job, self.state.describe(job))
        self.dispatcher.ring()
        if patience_s < math.inf:
            self.dispatcher.after_decision(claim, self._give_up)
        return claim

    def release(self, claim: Claim) -> None:
        """Take back the places of a job that has ended, or gives them up."""
        claim.give_back()
        free = self.free
        for place, amount in claim.parts:
            self.open += not free[place] and amount > 0
            free[place] += amount
        now_s = self.env.now
        self.state.released(claim, now_s)
        if self.running is not None:
            self.running.pop(claim.job, None)
        if self.log is not None:
            times_s = claim.granted_s, claim.started_s, now_s
            self.log.append((job_id(claim.job), claim.parts, *times_s))
        if self.listener:
            self.holding.pop(claim, None)
        # it names itself: without that circle it is forgotten at once
        claim._value = None
        self.dispatcher.ring()

    def withdraw(self, job: Hashable) -> None:
        """A job waits no longer; its claim will not be triggered."""
        del self.waiting[job]
        self.state.gave_up(job)
        if not self.waiting:
            self.dispatcher.rest()
        self.dispatcher.ring()  # who was behind it may find room

    def revoke(self, claim: Claim, cause: Any = None) -> None:
        """Take a job's places away: its process is interrupted, and releases them."""
        if self.running is not None:
            self.running.pop(claim.job, None)
        assert claim.process is not None, "a claim that no process has made"
        claim.process.interrupt(cause)

    def tell(self, kind: str, who: Any, detail: str) -> None:
        """Report to the listener. who: a claim that holds places, a job, or None."""
        if self.listener is None:
            return
        indices, noun = (
            dict[int, None](),
            self.places[0].noun if self.places else "place",
        )
        if isinstance(who, Claim):
            indices = dict.fromkeys(self.places[place].index for place, _ in who.parts)
            self.holding[who] = None
            who = who.job
        event = Event(self.env.now, kind, job_id(who), tuple(indices), detail, noun)
        self.listener(event)

    def check_done(self) -> None:
        """Raise PolicyError if jobs wait when nothing is left that could happen."""
        if self.waiting:
            raise self.dispatcher.answers.stuck(self.places, self.free)

    def _give_up(self, end: Patience) -> None:
        """Patience has ended: a job that still waits leaves."""
        if not end.claim.triggered:
            end.claim.succeed(None)
            self.withdraw(end.claim.job)
