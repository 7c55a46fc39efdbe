"""The event listing of a run, for lectures, and what happens within one instant, and in
which order: jobs and timeouts, then decisions, then the end of patience.

A run without a listener pays one comparison an event.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import simpy
from simpy.events import EventPriority


class Event(NamedTuple):
    """Something that happened in a run.

    Attributes
    ----------
    time_s : float
        Seconds.
    kind : str
        submit, decide, dispatch, start, finish, or one of the model's own.
    job : int or None
        The job's id, or None.
    slots : tuple of int
        The indices of the places concerned.
    detail : str
        What more there is to say, "" for nothing.
    noun : str
        What the listing calls a place.
    """

    time_s: float
    kind: str
    job: int | None
    slots: tuple[int, ...]
    detail: str
    noun: str = "slot"

    def __str__(self) -> str:
        job = "" if self.job is None else f"job {self.job}"
        slots = f"{self.noun} {','.join(map(str, self.slots))}" if self.slots else ""
        return (
            f"{self.time_s:10.2f}  {self.kind:<8}  {job:<8}  {slots:<7}  {self.detail}"
        ).rstrip()


Listener = Callable[[Event], object]  # called with each event of a run


def job_id(job: Any) -> Any:
    """What listings and messages call a job."""
    return getattr(job, "id", job)


def policy_name(policy: Any) -> str:
    """The name under which a policy is reported."""
    return str(
        getattr(policy, "name", None)
        or getattr(policy, "__name__", None)
        or type(policy).__name__
    )


# SimPy's NORMAL is 1; larger comes later within an instant
AFTER_ALL_ELSE = EventPriority(2)
# patience ends after the decision: who gets a place now does not leave
AT_LAST = EventPriority(3)


class Bell(simpy.Event):
    """Wakes the dispatcher, after everything else of the instant, as often as rung."""

    def __init__(self, env: simpy.Environment) -> None:
        super().__init__(env)
        self._ok, self._value = True, None


class Patience(simpy.Event):
    """The end of a claim's patience, after the decision of its instant."""

    def __init__(self, claim: Any, give_up: Callable[[Any], None]) -> None:
        env = self.env = claim.env
        self.claim, self.callbacks = claim, [give_up]
        self._ok, self._value = True, None
        env.schedule(self, AT_LAST, claim.patience_s)


class Alarm:
    """Wakes the dispatcher at the time that a policy asks for, unless it
    decides before.

    most: wakes with no grant in between, at the most. in_a_row: how many there were.
    timeout: the one that it waits for; None while it is not set.
    """

    most = 100_000

    def __init__(self, env: simpy.Environment, ring: Callable[[], None]) -> None:
        self.env, self._ring, self.in_a_row = env, ring, 0
        self.timeout: simpy.Event | None = None

    def set(self, at_s: float) -> None:
        """Wake at a time, seconds."""
        delay_s = delay_until(self.env.now, at_s)
        self.timeout = self.env.timeout(delay_s, ("wake", None))
        self.timeout.callbacks = [self._end]

    def stop(self) -> None:
        """A decision is made, or nobody waits: the alarm that was set is none."""
        if self.timeout is not None:
            self.timeout.callbacks, self.timeout = [], None

    def _end(self, _: simpy.Event) -> None:
        self.timeout = None
        self.in_a_row += 1
        self._ring()


def delay_until(now_s: float, at_s: float) -> float:
    """The delay that leads from now to a time, or, if a time is past, to now; never to
    before it by rounding.
    """
    if at_s <= now_s:
        return 0.0
    delay_s = at_s - now_s
    return delay_s if now_s + delay_s >= at_s else math.nextafter(delay_s, math.inf)
