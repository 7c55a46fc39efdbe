"""Events of a run: those in listings, and SimPy events of the engine.

At one time, jobs and timeouts are processed first, then the decision, then ends of
patience.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from heapq import heapify, heappush
from math import inf, nextafter
from numbers import Real
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import simpy
from simpy.core import BoundClass
from simpy.events import NORMAL, EventPriority

from cgrsp_simpy.base.checks import (
    InputError,
    require,
    shown,
)


class Event(NamedTuple):
    """Something that happened in a run.

    Attributes
    ----------
    time_s : float
        Seconds.
    kind : str
        submit, decide, dispatch, start, finish, or a kind that the model defines.
    job : int or None
        The job's id, or None.
    slots : tuple of int
        The indices of the resources concerned.
    detail : str
        Further text, "" if there is none.
    label : str
        Noun of a resource in the listing.
    """

    time_s: float
    kind: str
    job: int | None
    slots: tuple[int, ...]
    detail: str
    label: str = "slot"

    def __str__(self) -> str:
        job = "" if self.job is None else f"job {self.job}"
        slots = f"{self.label} {','.join(map(str, self.slots))}" if self.slots else ""
        return (
            f"{self.time_s:10.2f}  {self.kind:<8}  {job:<8}  {slots:<7}  {self.detail}"
        ).rstrip()


def is_invalid_yield(error: BaseException | None) -> bool:
    """Return whether SimPy raised an error because a process yielded no event.

    SimPy quotes the line from its file, which code in a notebook does not have: then
    the error is an OSError.
    """
    no_file = isinstance(error, OSError) and isinstance(
        error.__context__, AttributeError
    )
    return no_file or (
        isinstance(error, RuntimeError) and "Invalid yield value" in str(error)
    )


Listener = Callable[[Event], object]  # called with each event of a run
LARGEST_ID = 2**63 - 1  # largest integer of a column


def claimant(key: Any) -> Any:
    """Return the job of a claim: the first of a pair such as (job, 2), else the key."""
    return key[0] if type(key) is tuple and len(key) == 2 else key


def job_id(key: Any) -> Any:
    """Return the number of a claim's job, for records, listings and messages."""
    job = key[0] if type(key) is tuple and len(key) == 2 else key
    return getattr(job, "id", job)


def check_id(owner: str, number: Any, whole: bool) -> None:
    """Raise InputError for a job's or claim's number that cannot be recorded.

    whole: whether fractions are errors; for a claim the integer part is recorded, such
    as 3 for 3.25, a part of job 3.
    """
    real = isinstance(number, Real)
    right = real and -LARGEST_ID <= number <= LARGEST_ID
    kind = "a whole number" if whole else "a number"
    allowed = (
        f"{kind} of at most 64 bits (a job is a number or has a number as its `id`)"
    )
    require(right and not (whole and number % 1), f"number of {owner}", number, allowed)


def value_text(value: Any) -> Any:
    """Return the label of a parameter's value: the name of a function (with arguments
    for a partial), "a+b" for a list of strings and numbers; others unchanged.
    """
    if isinstance(value, list | tuple) and all(
        isinstance(item, str | Real) for item in value
    ):
        return "+".join(map(str, value))
    if isinstance(value, partial) and not hasattr(value, "__name__"):
        fixed = [str(value_text(item)) for item in value.args]
        fixed += _assignments(value.keywords)
        return f"{policy_name(value.func)}({','.join(fixed)})"
    return getattr(value, "__name__", value)


def policy_name(policy: Any) -> str:
    """Return the name under which a policy is reported: its text, or the name of its
    function; for changed parameters of a function, their names and values.
    """
    if isinstance(policy, str):
        return policy
    if isinstance(policy, Mapping):
        return ",".join(_assignments(policy)) or "default"
    if isinstance(policy, partial):
        return str(value_text(policy))
    return str(
        getattr(policy, "name", None)
        or getattr(policy, "__name__", None)
        or type(policy).__name__
    )


def _assignments(values: Mapping[str, Any]) -> list[str]:
    # on one line, also for arrays; without addresses, which differ between processes
    address = " at 0x[0-9a-fA-F]+"
    return [
        re.sub(address, "", f"{name}={' '.join(str(value_text(value)).splitlines())}")
        for name, value in values.items()
    ]


# a larger number comes later within an instant; SimPy's NORMAL, of timeouts, is 1
DECISION_PRIORITY = EventPriority(2)
# after the decision: a job that is granted a resource now does not leave the queue
PATIENCE_PRIORITY = EventPriority(3)


class Timeout(simpy.Timeout):
    """A timeout whose delay is a finite number of seconds, at least 0."""

    def __init__(self, env: Environment, delay: float, value: Any = None) -> None:
        try:
            if not 0 <= delay < inf:
                raise TypeError
        except (TypeError, ValueError):  # the second of an array
            raise InputError(
                f"timeout({shown(delay)}) must be a finite number of seconds, at least"
                " 0; to wait without a time limit, yield an event such as env.event()"
            ) from None
        # inlined simpy.Timeout, for speed: there are three timeouts per job
        self.env, self.callbacks, self._delay = env, [], delay
        self._ok, self._value, at = True, value, env._now + delay
        if at == env._now:
            env.check_advance()
        heappush(env._queue, (at, NORMAL, next(env._eid), self))


class Environment(simpy.Environment):
    """SimPy's environment, with timeouts that are checked and can be cancelled.

    most_at_once: largest number of timeouts at one time that do not advance it; a study
    of a function limits it.
    keeps_records: whether monitors record every request and every change of a level.
    warm_up, window_end: bounds of the measured time, as set by `cg.warm_up`.
    """

    most_at_once = inf
    _at_once, _at = 0, -inf  # number of such timeouts, and their time
    keeps_records = False
    warm_up, window_end = 0.0, inf

    if TYPE_CHECKING:

        def timeout(self, delay: float = 0, value: Any = None) -> Timeout: ...

    else:
        timeout = BoundClass(Timeout)

    def __init__(self, initial_time: float = 0) -> None:
        super().__init__(initial_time)
        self._cancelled: set[simpy.Event] = set()

    def check_advance(self) -> None:
        """Raise InputError if a process loops without advancing the clock."""
        self._at_once = self._at_once + 1 if self._at == self._now else 1
        self._at = self._now
        if self._at_once > self.most_at_once:
            raise InputError(
                f"{self.most_at_once:,} timeouts at time {self._now:g} have not"
                " advanced it: a process loops with timeouts of 0 (or raise the limit,"
                " env.most_at_once)"
            )

    def cancel(self, event: simpy.Event) -> None:
        """Cancel a scheduled event, so that it has no effect.

        Its entry is removed at the latest when half of all entries are cancelled, so
        the length of the event list stays proportional to the number of pending events.
        """
        if event.callbacks is None:
            return
        event.callbacks.clear()
        cancelled, queue = self._cancelled, self._queue
        cancelled.add(event)
        if len(cancelled) > 64 and 2 * len(cancelled) > len(queue):
            # the order of the entries is total, so that rebuilding the heap keeps it
            queue[:] = [entry for entry in queue if entry[3] not in cancelled]
            heapify(queue)
            cancelled.clear()


ENVIRONMENT: ContextVar[Callable[[], Environment]] = ContextVar(
    "environment", default=Environment
)
"""Returns the environment of a run that is set up, such as one that records events."""


def event_list(env: simpy.Environment) -> list[tuple[float, int, int, simpy.Event]]:
    """Return the future event list in the order in which it is processed: time,
    priority, number and event.
    """
    return sorted(env._queue, key=itemgetter(0, 1, 2))


class ScheduledEvent(simpy.Event):
    """Base of triggered events that are scheduled with a special priority."""

    def __init__(self, env: simpy.Environment) -> None:
        super().__init__(env)
        self._ok, self._value = True, None


class DecisionEvent(ScheduledEvent):
    """Event that wakes the dispatcher after all other events of an instant."""


class Patience(simpy.Event):
    """The end of a claim's patience, after the decision of its instant."""

    def __init__(self, claim: Any, give_up: Callable[[Any], None]) -> None:
        env = self.env = claim.env
        self.claim, self.callbacks = claim, [give_up]
        self._ok, self._value = True, None
        env.schedule(self, PATIENCE_PRIORITY, claim.patience_s)


def delay_until(now_s: float, at_s: float) -> float:
    """Return the delay from now to a time, 0 if that is past; despite rounding, now +
    delay is never before that time.
    """
    if at_s <= now_s:
        return 0.0
    delay_s = at_s - now_s
    return delay_s if now_s + delay_s >= at_s else nextafter(delay_s, inf)
