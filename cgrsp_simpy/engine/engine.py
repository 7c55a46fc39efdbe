"""The engine that all models share: jobs claim places, one dispatcher asks a policy who gets which, listeners hear of it.

The life of a job is the model's own process; with the engine it reads

    claim = yield engine.claim(job)       # until the policy grants it, or its patience ends
    yield env.timeout(provisioning_s)
    claim.acquire()                       # requests the places that are kept for it
    yield env.timeout(service_s)
    engine.release(claim)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from itertools import islice
from numbers import Real
from typing import Any

import simpy

from cgrsp_simpy.engine.claims import Claim, Held, Place, State
from cgrsp_simpy.engine.events import Event, Listener, job_id, policy_name
from cgrsp_simpy.engine.instant import Bell, Patience, delay_until
from cgrsp_simpy.model.policy import PlaceError, PolicyError, Wake

__all__ = ["Engine"]

MOST_WAKES = 100_000  # decisions asked for by a Wake with no grant in between


class Engine:
    """Keeps the claims that wait, asks the policy at the end of each instant in which that can matter, and grants places.

    state: the model's, from which views are made. policy: a function of a view; its answer is an iterable of pairs (job,
    places), in the model's words, and of Wakes; a generator is asked for the next pair when the last has been granted.
    listener: is called with each Event. log: takes down each claim that is released, for `claims_table`.
    hears_all: whether the policy is asked even when nothing is free.
    Raises PolicyError, while the simulation runs, for an answer that cannot be carried out.
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
    ) -> None:
        self.env, self.places, self.state, self.policy = env, places, state, policy
        self.listener, self.log, self.hears_all = listener, log, hears_all
        self.holding: dict[Claim, None] = {}  # those that have been told of and hold places
        self.free = [place.size for place in places]  # what is promised to nobody
        self.open = len(places)  # places with something free
        self.noun = places[0].noun if places else "place"
        self.waiting = state.waiting
        self.decisions = 0
        self._impatient: list[Claim] = []  # that wait for the decision of this instant before their patience begins to count
        self._bell, self._rung = Bell(env), False
        self._alarm: simpy.Event | None = None
        self._wakes = 0
        env.process(self._dispatcher())

    def claim(self, job: Hashable, patience_s: float = math.inf) -> Claim:
        """Queue a job; the event returned is triggered when its places are granted, or its patience ends."""
        claim = self.waiting[job] = Claim(self.env, job, patience_s, self.places)
        self.state.add(job)
        if self.listener:
            self.tell("submit", job, self.state.describe(job))
        self._ring()
        if patience_s < math.inf:
            if self._rung:
                self._impatient.append(claim)
            else:
                Patience(claim, self._give_up)
        return claim

    def release(self, claim: Claim) -> None:
        """Take back the places of a job that has ended, or gives them up."""
        claim.give_back()
        free = self.free
        for place, amount in claim.parts:
            if not free[place] and amount:
                self.open += 1
            free[place] += amount
        self.state.released(claim, self.env.now)
        if self.log is not None:
            self.log.append((job_id(claim.job), claim.parts, claim.granted_s, claim.acquired_s, self.env.now))
        if self.listener:
            self.holding.pop(claim, None)
        claim._value = None  # it names itself, and is forgotten at once without that circle
        self._ring()

    def revoke(self, claim: Claim, cause: Any = None) -> None:
        """Take a job's places away: its process is interrupted, and releases them."""
        assert claim.process is not None, "a claim that no process has made"
        claim.process.interrupt(cause)

    def tell(self, kind: str, who: Any, detail: str) -> None:
        """Report something to the listener, if there is one. who: a claim that holds places, a job that holds none, or None."""
        if self.listener is None:
            return
        indices = dict[int, None]()
        if isinstance(who, Claim):
            indices = dict.fromkeys(self.places[place].index for place, _ in who.parts)
            self.holding[who] = None
            who = who.job
        self.listener(Event(self.env.now, kind, job_id(who), tuple(indices), detail, self.noun))

    # ---- the dispatcher ----

    def _ring(self) -> None:
        """Have a decision made at the end of this instant, if it could grant anything."""
        if not self._rung and self.waiting and (self.open or self.hears_all):
            self._rung = True
            self._bell.ring()

    def _dispatcher(self) -> Generator[simpy.Event, Any, None]:
        while True:
            yield self._bell
            self._bell, self._rung = Bell(self.env), False  # re-armed first: what the decision sets off may ring again
            self._decide(self.env.now)
            for claim in self._impatient:
                if not claim.triggered:
                    Patience(claim, self._give_up)
            self._impatient.clear()

    def _decide(self, now_s: float) -> None:
        """Ask the policy, carry out its answer."""
        self._alarm = None
        self.decisions += 1
        wake_s = math.inf
        if self.listener:
            self.tell("decide", None, self.state.summary())
        for item in self._answer(now_s):
            if type(item) is Wake:
                wake_s = min(wake_s, self._checked_wake(item.at_s))
            else:
                self._grant(item, now_s)
        if wake_s < math.inf:
            self._set_alarm(wake_s)

    def _answer(self, now_s: float) -> Iterable[Any]:
        """The items of the policy's answer."""
        try:
            answer = self.policy(self.state.view(now_s))
        except (Exception, SystemExit) as error:
            raise self._raised(error) from error
        if type(answer) is list:  # most are
            return answer
        if answer is None:
            return ()
        return self._one_by_one(answer)

    def _one_by_one(self, answer: Any) -> Iterator[Any]:
        try:
            if hasattr(answer, "__iter__"):
                yield from answer
            else:
                yield answer
        except (Exception, SystemExit) as error:
            raise self._raised(error) from error

    def _grant(self, item: Any, now_s: float) -> None:
        """Promise a job its places."""
        try:
            job, chosen = item
            claim = self.waiting.pop(job)
        except (TypeError, ValueError, KeyError):
            raise self._wrong(self._fault(item)) from None
        claim.granted_s = now_s
        free = self.free
        try:
            claim.parts = self.state.granted(claim, chosen)
            for place, amount in claim.parts:
                left = free[place] = free[place] - amount
                if left <= 0:
                    self._fill(place, left, amount)
        except PlaceError as error:
            raise self._wrong(f"sent job {job_id(job)} to {error}") from None
        self._wakes = 0
        claim.succeed(claim)

    def _fill(self, place: int, left: float, amount: float) -> None:
        """Nothing is left of a place."""
        if left < 0:
            raise PlaceError(self.places[place].lacks(left + amount, amount))
        self.open -= amount > 0

    # ---- patience and wakes ----

    def _give_up(self, end: Patience) -> None:
        """Patience has ended: a job that still waits leaves."""
        claim = end.claim
        if not claim.triggered:
            del self.waiting[claim.job]
            self.state.gave_up(claim.job)
            claim.succeed(None)
            self._ring()  # who was behind it may find room

    def _set_alarm(self, at_s: float) -> None:
        self._alarm = self.env.timeout(delay_until(self.env.now, at_s), ("wake", None))
        self._alarm.callbacks = [self._wake_up]

    def _wake_up(self, alarm: simpy.Event) -> None:
        if alarm is not self._alarm:
            return  # a decision has been made since
        self._wakes += 1
        if self._wakes > MOST_WAKES:
            raise self._wrong(f"has held {len(self.waiting)} waiting jobs through {MOST_WAKES} wake-ups in a row")
        self._ring()

    # ---- checks ----

    def _fault(self, item: Any) -> str:
        """What is wrong with an answer that names no waiting job."""
        try:
            job, _ = item
            hash(job)
        except (TypeError, ValueError):
            return f"answered {item!r}, which is neither a pair (job, places) nor a Wake"
        if self.waiting and not any(isinstance(job, type(other)) for other in self.waiting):
            return f"assigned {job!r}, which is not a job"
        return f"assigned job {job_id(job)}, which is not waiting (it runs, has ended, or was assigned twice)"

    def _checked_wake(self, at_s: Any) -> float:
        if not isinstance(at_s, Real) or not self.env.now < float(at_s) < math.inf:
            raise self._wrong(f"asked to be woken at {at_s!r}; that must be a finite time after {self.env.now:g} s")
        return float(at_s)

    def check_done(self) -> None:
        """Raise PolicyError if jobs wait and nothing is left that could wake the policy."""
        if self.waiting:
            named = ", ".join(f"job {job_id(job)} ({self.state.describe(job)})" for job in islice(self.waiting, 3))
            more = ", ..." if len(self.waiting) > 3 else ""
            every = {place.index for place in self.places}
            full = {place.index for place, free in zip(self.places, self.free) if place.size and not free}
            raise self._wrong(
                f"left {len(self.waiting)} jobs waiting, {named}{more}, with {len(every - full)} of"
                f" {len(every)} {self.noun}s idle and nothing else to come: the simulation cannot go on"
            )

    def _raised(self, error: BaseException) -> PolicyError:
        return self._wrong(f"raised {type(error).__name__}: {error}")

    def _wrong(self, what: str) -> PolicyError:
        return PolicyError(f"policy {policy_name(self.policy)!r} at t = {self.env.now:g} s {what}")
