"""Arrival rates by hour of day and day of week."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Annotated, Any, Literal, get_args

import numpy as np

from cgrsp_simpy.base.parameters import (
    Entries,
    Hour,
    NotNegative,
    as_tuple,
    declared,
    parameter,
    prepared,
    rule,
)
from cgrsp_simpy.market.law import CLOCKS

Day = Literal[
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"
]
WEEK = get_args(Day)
"""Days of the week, in order."""
HOURS = 24


def _days(per_h: Any) -> Any:
    rates = as_tuple(per_h)
    one_day = isinstance(rates, tuple) and all(
        isinstance(rate, (int, float)) for rate in rates
    )
    return (rates,) if one_day else rates


Rates = Annotated[
    Entries[Entries[NotNegative]],
    rule(
        "24 numbers, one per hour, or 7 lists of 24, one per day of the week",
        lambda days: [len(day) for day in days] in ([HOURS], [HOURS] * len(WEEK)),
        lambda days: [len(day) for day in days],
    ),
    rule("above 0 in at least one hour", lambda days: any(map(any, days))),
    prepared(_days),
]


@declared()
class ArrivalRates:
    """Hourly rates of a Poisson process, which repeat every day or week."""

    per_h: Rates = parameter(
        "Jobs per hour, each >= 0 and at least one above 0: 24 numbers from"
        " midnight, for every day; or 7 lists of 24, from Monday. Stored as a"
        " tuple of 1 or 7 tuples."
    )
    start_h: Hour = parameter(
        "Hour of day at simulated time 0, from 0 to below 24. It must equal that"
        " of the market's clock; the calibrated clock starts at 8.",
        default=CLOCKS["calibrated"].start_h,
    )
    start_day: Day = parameter("Day of the week at simulated time 0.", default=WEEK[0])

    @property
    def mean_per_s(self) -> float:
        """Mean rate over a whole day or week, in jobs per second."""
        rates = [rate for day in self.per_h for rate in day]
        return math.fsum(rates) / len(rates) / 3600.0

    def at(self, time_s: float) -> float:
        """Return the arrival rate at a simulated time, in jobs per second."""
        day, hour = divmod(int(self._start() + time_s / 3600.0), HOURS)
        return self.per_h[day % len(self.per_h)][hour] / 3600.0

    def times_s(self, expected: np.ndarray) -> np.ndarray:
        """Return the times at which the expected number of arrivals reaches each value.

        expected: increasing numbers of jobs. The inverse of the cumulative rate
        transforms a Poisson process of rate 1 into one with these rates (E. Çinlar,
        Introduction to Stochastic Processes, 1975, Section 4.7).
        """
        rates = np.array(self.per_h).ravel()
        # jobs since the start of the period
        until = np.concatenate([[0.0], np.cumsum(rates)])
        start = self._start() % len(rates)
        first = until[int(start)] + rates[int(start)] * (start % 1)
        periods, rest = np.divmod(first + expected, until[-1])
        hour = np.searchsorted(until, rest, side="right") - 1  # one in which jobs come
        hours = periods * len(rates) + hour + (rest - until[hour]) / rates[hour] - start
        return np.asarray(np.maximum.accumulate(np.maximum(hours, 0.0)) * 3600.0)

    def later(self, time_s: float) -> ArrivalRates:
        """Return the same rates with time 0 moved to a later simulated time."""
        day, hour = divmod(self._start() + time_s / 3600.0, HOURS)
        return replace(self, start_h=hour, start_day=WEEK[int(day) % len(WEEK)])

    def _start(self) -> float:
        """Return the hours from Monday 0:00 to simulated time 0."""
        return WEEK.index(self.start_day) * HOURS + self.start_h
