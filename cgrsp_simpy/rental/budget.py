"""A budget a day."""

from __future__ import annotations

import math
from typing import Any

from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.model.policy import Wake
from cgrsp_simpy.rental.market import Clock
from cgrsp_simpy.rental.record import Totals
from cgrsp_simpy.rental.view import View

DAY_S = 86400.0
ROUNDING_S = 1e-3  # of midnight


class Budget:
    """A policy that dispatches nothing from when the day's budget is spent until
    midnight.

    usd: a day. totals: of the run, which count the days on which jobs had to wait for
    that.
    """

    totals: Totals

    def __init__(self, policy: Any, usd: float, clock: Clock) -> None:
        self.policy, self.usd, self.name = policy, usd, policy_name(policy)
        self._days: set[int] = set()
        self._start_s = clock.start_h * 3600.0
        self._day, self._spent_usd = 0, 0.0

    def __call__(self, view: View) -> Any:
        """What the policy answers, or that it is to be asked at midnight."""
        day = self._at(view.now_s)
        if self._spent_usd < self.usd:
            return self.policy(view)
        self._days.add(day)
        self.totals.more["budget_days"] = len(self._days)
        return [Wake((day + 1) * DAY_S - self._start_s)]

    def __getattr__(self, name: str) -> Any:
        if name in ("policy", "totals"):  # not set yet: a copy is being made
            raise AttributeError(name)
        return getattr(self.policy, name)  # what the policy declares

    def spend(self, now_s: float, cost_usd: float) -> None:
        """Take down a cost."""
        self._at(now_s)
        self._spent_usd += cost_usd

    def _at(self, now_s: float) -> int:
        """The day; with it the sum begins anew."""
        day = math.floor((self._start_s + now_s + ROUNDING_S) / DAY_S)
        if day > self._day:
            self._day, self._spent_usd = day, 0.0
        return day
