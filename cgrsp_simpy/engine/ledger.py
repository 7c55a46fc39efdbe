"""The ledger: how much of each resource is free, closed and used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import simpy

from cgrsp_simpy.base.policy import AssignmentError
from cgrsp_simpy.engine.resources import Resource, snapped

ALL_TIME = (0.0, math.inf)


class Ledger:
    """Free capacity of each resource.

    A grant reserves an amount before the job requests it; the end of the claim releases
    it. A closed resource has no free capacity until it has been opened as often as
    closed. A resource's number is its position in `run.resources`, from 0.

    Attributes
    ----------
    free : list of float
        Per resource, the amount that can be granted.
    mask : int
        Bit n is set while resource n has free capacity.
    held_s : list of float
        Per resource, amount times seconds of its claims, from grant to release; claims
        that have not ended are not included.
    closed : dict of int to int
        The closed resources by number, and how often each has been closed.
    closed_s : list of float
        Per resource, amount times seconds for which it was closed and not held, up to
        the last call of `measure_closed`.
    window : pair of float
        Start and end of the time in which both are measured, seconds.
    view : View
        Its hooks are called when a resource becomes full, or available again.
    """

    __slots__ = (
        "_closed_since",
        "_env",
        "_resources",
        "_withheld",
        "closed",
        "closed_s",
        "free",
        "held_s",
        "mask",
        "view",
        "window",
    )

    def __init__(self, env: simpy.Environment, resources: Sequence[Resource]) -> None:
        self._env, self._resources = env, resources
        self.window = ALL_TIME
        self.view: Any = None  # set once it exists: it reads the ledger
        self.free = [resource.size for resource in resources]
        self.mask = sum(1 << n for n, left in enumerate(self.free) if left > 0)
        self.held_s = [0.0] * len(resources)
        self.closed_s = [0.0] * len(resources)
        self.closed: dict[int, int] = {}
        # per closed resource: the unused amount, and the time up to which it was added
        # to `closed_s`
        self._withheld: dict[int, float] = {}
        self._closed_since: dict[int, float] = {}

    def take(self, number: int, amount: float, claim: Any) -> None:
        """Reserve an amount for a claim; AssignmentError if less is free."""
        left = self.free[number] - amount
        if left % 1:  # only fractions have rounding errors
            left = snapped(left, self._resources[number].size)
        if left < 0:
            raise AssignmentError(
                self._resources[number].shortage(self.free[number], amount)
            )
        self.free[number] = left
        if not left:
            self.mask &= ~(1 << number)
            self._resources[number].filled_by = claim
            self.view.on_full(number)

    def release(self, number: int, amount: float, since_s: float) -> None:
        """Release an amount that was reserved at the time since_s, seconds."""
        self.held_s[number] += amount * self._measured_s(since_s)
        if number in self.closed:
            self.measure_closed()  # with the amount that was withheld until now
            left = self._withheld[number] + amount
            self._withheld[number] = snapped(left, self._resources[number].size)
        elif amount:
            left = self.free[number] + amount
            if left % 1:
                left = snapped(left, self._resources[number].size)
            self._make_available(number, left)

    def _make_available(self, number: int, amount: float) -> None:
        """Set a resource's positive free amount and call the view's hook."""
        self.free[number] = amount
        self.mask |= 1 << number
        self._resources[number].filled_by = None
        self.view.on_available(number)

    def close(self, number: int) -> bool:
        """Close a resource, so that it is not granted; return whether it was open."""
        times = self.closed[number] = self.closed.get(number, 0) + 1
        if times > 1:
            return False
        left = self._withheld[number] = self.free[number]
        self._closed_since[number] = self._env.now
        self.free[number] = 0.0
        self.mask &= ~(1 << number)
        if left:
            self.view.on_full(number)
        return True

    def open(self, number: int) -> bool:
        """Undo a `close`; return whether the resource is open again."""
        self.closed[number] -= 1
        if self.closed[number]:
            return False
        self.measure_closed()
        del self.closed[number], self._closed_since[number]
        left = self._withheld.pop(number)
        if left:
            self._make_available(number, left)
        return True

    def _measured_s(self, since_s: float) -> float:
        """Return the time between since_s and now within the window, seconds."""
        begin_s, end_s = self.window
        return max(0.0, min(self._env.now, end_s) - max(since_s, begin_s))

    def measure_closed(self) -> None:
        """Update `closed_s` to the current time."""
        for number, amount in self._withheld.items():
            since_s = self._closed_since[number]
            self.closed_s[number] += amount * self._measured_s(since_s)
            self._closed_since[number] = self._env.now
