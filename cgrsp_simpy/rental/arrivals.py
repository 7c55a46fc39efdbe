"""Arrival rates by hour of day and day of week: given, or measured in a log."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cgrsp_simpy.base.checks import (
    check_number,
    check_one_of,
    entries_of,
    python_numbers,
    require,
)
from cgrsp_simpy.rental.market import CLOCKS, check_hour

if TYPE_CHECKING:
    from cgrsp_simpy.rental.workload import LoggedWorkload

WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""Days of the week, in order."""
HOURS = 24


@dataclass(frozen=True)
class ArrivalRates:
    """Rates of a Poisson process, constant within each hour; they repeat every day or
    week.

    Parameters
    ----------
    per_h : sequence of float, or of sequences of float
        Jobs per hour, each >= 0 and one at least above: 24 numbers, from midnight on,
        for every day; or 7 lists of 24, from Monday on. Kept as a tuple of 1 or 7
        tuples.
    start_h : float
        Hour of day at simulated time 0, from 0 to below 24. It must be that of the
        market's clock, whose calibrated one starts at 8.
    start_day : str
        Day of the week at simulated time 0.
    """

    per_h: tuple[tuple[float, ...], ...]
    start_h: float = CLOCKS["calibrated"].start_h
    start_day: str = WEEK[0]

    def __post_init__(self) -> None:
        python_numbers(self)
        object.__setattr__(self, "per_h", _days(self.per_h))
        check_hour("start_h", self.start_h)
        check_one_of("start_day", self.start_day, WEEK)

    @property
    def mean_per_s(self) -> float:
        """Mean rate over a whole day or week, jobs per second."""
        rates = [rate for day in self.per_h for rate in day]
        return math.fsum(rates) / len(rates) / 3600.0

    def at(self, time_s: float) -> float:
        """The rate at a simulated time, jobs per second."""
        day, hour = divmod(int(self._start() + time_s / 3600.0), HOURS)
        return self.per_h[day % len(self.per_h)][hour] / 3600.0

    def times_s(self, expected: np.ndarray) -> np.ndarray:
        """When so many jobs are expected to have come since time 0; both not falling.

        The inverse of the cumulated rate: it turns a Poisson process of rate 1 into one
        of these rates (E. Çinlar, Introduction to Stochastic Processes, 1975, Section
        4.7).
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

    def _start(self) -> float:
        """Hours since midnight on Monday at simulated time 0."""
        return WEEK.index(self.start_day) * HOURS + self.start_h


def _days(per_h: Any) -> tuple[tuple[float, ...], ...]:
    """One list of 24 rates, or seven."""
    what = "24 numbers, one an hour, or 7 lists of 24, one a day of the week"
    days = entries_of("per_h", per_h, what)
    if days and isinstance(days[0], (int, float)):
        days = (days,)
    days = tuple(entries_of("per_h", day, what) for day in days)
    sizes = [len(day) for day in days]
    require(sizes in ([HOURS], [HOURS] * len(WEEK)), "numbers in per_h", sizes, what)
    for day in days:
        for rate in day:
            check_number("arrivals per hour", rate, least=0)
    require(
        any(map(any, days)), "per_h", "0 in every hour", "above 0 in one hour at least"
    )
    return days


def arrival_rates(log: LoggedWorkload, weekly: bool = False) -> ArrivalRates:
    """Rates by hour measured in a log: jobs over the hours that the log covers.

    The maximum-likelihood estimate for rates that are constant within each hour. The
    log counts as watched from simulated time 0 up to its last submission.

    log: a log that knows the hour of day of its time 0, as one with timestamps does.
    weekly: whether days of the week differ; else every day has the same 24 rates.
    Result: they start at the log's hour of day and day of week. Raises InputError for a
    log without timestamps, or one that is shorter than a day, or a week.
    """
    need = "known: the log needs timestamps"
    require(
        log.start_h is not None, "hour of day at the log's start", log.start_h, need
    )
    assert log.start_h is not None
    day = log.start_day or WEEK[0]
    if weekly:
        require(
            log.start_day is not None,
            "day of week at the log's start",
            log.start_day,
            need,
        )
    period = HOURS * len(WEEK) if weekly else HOURS
    span_h = log.submit_s[-1] / 3600.0
    require(
        span_h >= period,
        "hours that the log covers",
        round(span_h, 2),
        f"at least {period}",
    )
    start = WEEK.index(day) * HOURS + log.start_h
    end = start + span_h
    hours = np.arange(math.floor(start), math.floor(end) + 1)
    watched_h = np.minimum(end, hours + 1) - np.maximum(start, hours)
    came = (start + np.array(log.submit_s) / 3600.0).astype(int)
    watched_by_hour = np.bincount(hours % period, watched_h, period)
    rates = np.bincount(came % period, minlength=period) / watched_by_hour
    return ArrivalRates(
        tuple(map(tuple, rates.reshape(-1, HOURS).tolist())), log.start_h, day
    )
