"""What happens within one instant, and in which order: jobs and timeouts, then
decisions, then the end of patience.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import simpy
from simpy.events import EventPriority

__all__ = ["Alarm", "Bell", "Patience", "delay_until"]


# SimPy's NORMAL is 1; larger comes later within an instant
AFTER_ALL_ELSE = EventPriority(2)
# patience ends after the decision: who gets a place now does not leave
AT_LAST = EventPriority(3)


class Bell(simpy.Event):
    """Wakes the dispatcher, after everything else of the instant, as often as rung."""

    def __init__(self, env: simpy.Environment) -> None:
        super().__init__(env)
        self._ok, self._value = True, None

    def ring(self) -> None:
        """Trigger the bell."""
        self._ok, self._value = True, None
        self.env.schedule(self, AFTER_ALL_ELSE)


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
    """

    most = 100_000

    def __init__(self, env: simpy.Environment, ring: Callable[[], None]) -> None:
        self.env, self._ring, self.in_a_row = env, ring, 0
        self._timeout: simpy.Event | None = None

    @property
    def is_set(self) -> bool:
        """Whether it is to wake."""
        return self._timeout is not None

    def set(self, at_s: float) -> None:
        """Wake at a time, seconds."""
        delay_s = delay_until(self.env.now, at_s)
        self._timeout = self.env.timeout(delay_s, ("wake", None))
        self._timeout.callbacks = [self._end]

    def stop(self) -> None:
        """A decision is made, or nobody waits: the alarm that was set is none."""
        if self._timeout is not None:
            self._timeout.callbacks, self._timeout = [], None

    def _end(self, _: simpy.Event) -> None:
        self._timeout = None
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
