"""The market for rented GPUs: how scarce a type is over the day, and how long an instance
takes to come.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import pairwise
from math import inf

from cgrsp_simpy.model.checks import (
    InputError,
    check_number,
    check_shares,
    check_whole,
    entries_of,
    python_numbers,
    require,
)
from cgrsp_simpy.rental.gpu import GpuType


class Status(IntEnum):
    """Stock status of a GPU type (thesis Section 3.2)."""

    HIGH = 0
    MEDIUM = 1
    LOW = 2


HIGH, MEDIUM, LOW = Status  # looked up once: Enum members are slow to reach


@dataclass(frozen=True)
class Clock:
    """The time-of-day stock multiplier m(t), a step function that repeats every 24 hours.

    Parameters
    ----------
    bands : sequence of pairs of float
        Hour of day from which it holds, and the multiplier; from hour 0 on, hours rising.
    start_h : float
        Hour of day at simulated time 0, from 0 to below 24.
    """

    bands: tuple[tuple[float, float], ...]
    start_h: float = 0.0
    _hours: list[float] = field(init=False, repr=False, compare=False)
    _multipliers: list[float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        python_numbers(self)
        pairs = "a list of pairs [hour, multiplier]"
        bands = tuple(
            entries_of("bands", band, pairs) for band in entries_of("bands", self.bands, pairs)
        )
        for band in bands:
            require(len(band) == 2, "bands", list(band), pairs)
        hours = [hour for hour, _ in bands]
        for hour, multiplier in bands:
            check_number("hour of a clock band", hour, least=0)
            check_number("multiplier of a clock band", multiplier, least=0)
        rising = (
            bool(hours)
            and hours[0] == 0
            and hours[-1] < 24
            and all(a < b for a, b in pairwise(hours))
        )
        require(rising, "hours of the clock bands", hours, "rising from 0 to below 24")
        check_number("start_h", self.start_h, least=0)
        require(self.start_h < 24, "start_h", self.start_h, "an hour of day, from 0 to below 24")
        object.__setattr__(self, "bands", bands)
        object.__setattr__(self, "_hours", hours)
        object.__setattr__(self, "_multipliers", [multiplier for _, multiplier in bands])

    def hour(self, time_s: float) -> float:
        """Hour of day at a simulated time.

        time_s: seconds from the start of the run. Result: from 0 to below 24.
        """
        return (self.start_h + time_s / 3600.0) % 24.0

    def band(self, time_s: float) -> int:
        """The band that holds at a simulated time.

        time_s: seconds from the start of the run. Result: its index.
        """
        return bisect_right(self._hours, self.hour(time_s)) - 1

    def multiplier(self, time_s: float) -> float:
        """m(t), the stock multiplier at a simulated time.

        time_s: seconds from the start of the run. Result: of the band that holds.
        """
        return self._multipliers[bisect_right(self._hours, self.hour(time_s)) - 1]


def _poll_s(sight: object) -> float | None:
    """Seconds between two looks at the stock, from "none", "now" or "poll:SECONDS"."""
    allowed = "'none', 'now' or 'poll:SECONDS', such as 'poll:300'"
    require(isinstance(sight, str), "sight", sight, allowed)
    name, colon, seconds = str(sight).partition(":")
    if not colon and name in ("none", "now"):
        return 0.0 if name == "now" else None
    try:
        poll_s = float(seconds)
        check_number("sight", poll_s, above=0)
    except ValueError:  # an InputError among them
        raise InputError(f"sight(={sight!r}) must be {allowed}") from None
    require(name == "poll", "sight", sight, allowed)
    return poll_s


CLOCKS: dict[str, Clock] = {
    # Off-peak 1.3, morning 0.9, peak 0.5, evening 1.0 at the hours that give the thesis's tables:
    # a run starts at 08:00.
    "calibrated": Clock(((0, 1.3), (8, 0.9), (12, 0.5), (18, 1.0)), start_h=8),
    # The hours of thesis Figure 5.3. They do not give the thesis's tables at any hour of start.
    "printed": Clock(((0, 1.0), (6, 0.9), (9, 0.5), (18, 1.3)), start_h=0),
}
"""The clocks by name: the thesis's as calibrated to its tables, and as printed."""


def _check_persistence(name: str, given: float) -> None:
    check_number(name, given, least=0)
    # a variate that is drawn many times a second takes for ever, and differs from 0 by nothing
    require(given == 0 or given >= 1, name, given, "0, or at least 1 s")


@dataclass(frozen=True)
class HourlyStock:
    """Chances of the stock statuses of a GPU type by hour of day, in place of thesis Eq. 3.1.

    Parameters
    ----------
    gpu : str
        Name of the type.
    chances : sequence of 24 triples of float
        Chances of High, Medium and Low stock in each hour of the day, from midnight on, each
        from 0 to 1; the three sum to 1.
    persistence_s : float, optional
        How long its stock persists, seconds, in place of the market's.
    """

    gpu: str
    chances: tuple[tuple[float, float, float], ...]
    persistence_s: float | None = None
    _below: list[tuple[float, float]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        python_numbers(self)
        require(isinstance(self.gpu, str), "gpu of hourly stock", self.gpu, "a GPU type's name")
        what, name = "24 triples [High, Medium, Low], one an hour", f"chances of {self.gpu}"
        hours = entries_of(name, self.chances, what)
        chances = tuple(entries_of(name, each, what) for each in hours)
        sizes = [len(each) for each in chances]
        require(sizes == [3] * 24, f"numbers in {name}", sizes, what)
        for hour, each in enumerate(chances):
            check_shares(f"{name} in hour {hour}", each)
        object.__setattr__(self, "chances", chances)
        if self.persistence_s is not None:
            _check_persistence(f"persistence_s of {self.gpu}", self.persistence_s)
        # Up to where a uniform variate means High, and up to where Medium.
        below = [(high, high + medium if low else 1.0) for high, medium, low in chances]
        object.__setattr__(self, "_below", below)

    def status(self, hour: int, uniform: float) -> Status:
        """The status that a uniform variate stands for in an hour of the day.

        uniform: on [0, 1). Result: High, Medium or Low.
        """
        high, medium = self._below[hour]
        return HIGH if uniform < high else MEDIUM if uniform < medium else LOW


@dataclass(frozen=True)
class StockSeries:
    """Recorded stock statuses of a GPU type, which a run meets again.

    Parameters
    ----------
    gpu : str
        Name of the type.
    times_s : sequence of float
        When the status became another, seconds, from 0 on, rising.
    statuses : sequence of int
        The status from each of these times on: 0 High, 1 Medium, 2 Low.
    length_s : float
        Length of the series in seconds, above the last time; then it begins anew.
    start_h : float, optional
        Hour of day at second 0, from 0 to below 24; None where it is not known.
    """

    gpu: str
    times_s: tuple[float, ...] = field(repr=False)
    statuses: tuple[int, ...] = field(repr=False)
    length_s: float
    start_h: float | None = None

    def __post_init__(self) -> None:
        python_numbers(self)
        require(isinstance(self.gpu, str), "gpu of a stock series", self.gpu, "a GPU type's name")
        times = entries_of("times_s", self.times_s, "a list of seconds")
        statuses = entries_of("statuses", self.statuses, "a list of 0, 1 and 2")
        for time_s in times:
            check_number(f"time in the series of {self.gpu}", time_s, least=0)
        for status in statuses:
            check_whole(f"status in the series of {self.gpu}", status, least=0, most=2)
        number = len(times)
        require(number > 0 and times[0] == 0, f"times_s of {self.gpu}", times[:1], "from 0 on")
        require(len(statuses) == number, f"statuses of {self.gpu}", len(statuses), f"{number}")
        rising = all(a < b for a, b in pairwise(times))
        require(rising, f"times_s of {self.gpu}", times[:5], "rising")
        check_number(f"length_s of {self.gpu}", self.length_s, above=times[-1])
        if self.start_h is not None:
            check_number("start_h", self.start_h, least=0)
            require(self.start_h < 24, "start_h", self.start_h, "from 0 to below 24")
        object.__setattr__(self, "times_s", times)
        object.__setattr__(self, "statuses", tuple(map(Status, statuses)))

    def status(self, time_s: float) -> Status:
        """The status at a time of the series; after its end it begins anew.

        time_s: seconds from its beginning. Result: the one recorded last.
        """
        return Status(self.statuses[bisect_right(self.times_s, time_s % self.length_s) - 1])

    @property
    def longest_s(self) -> float:
        """The longest time for which it is not Low at a stretch, seconds; infinite if it never
        becomes Low, 0 if it is never anything else.
        """
        low = [status == LOW for status in self.statuses]
        if all(low) or not any(low):
            return 0.0 if low[0] else inf
        found, begun_s = 0.0, None
        twice = [*self.times_s, *(self.length_s + time_s for time_s in self.times_s)]
        for time_s, is_low in zip(twice, low * 2):
            if is_low and begun_s is not None:
                found, begun_s = max(found, time_s - begun_s), None
            elif not is_low and begun_s is None:
                begun_s = time_s
        return found

    def changes_s(self, after_s: float, before_s: float) -> list[float]:
        """When it changes between two times of the series.

        after_s, before_s: seconds from its beginning. Result: seconds, rising.
        """
        found, first = [], int(after_s // self.length_s)
        for turn in range(first, int(before_s // self.length_s) + 1):
            found += [turn * self.length_s + time_s for time_s in self.times_s]
        return [time_s for time_s in found if after_s < time_s < before_s]


@dataclass(frozen=True)
class Market:
    """The law of the stock status and of the provisioning delay.

    Parameters
    ----------
    clock : Clock
        The multiplier m(t), and the hour of day at simulated time 0.
    delay_s : three pairs of float
        Least and greatest provisioning delay in seconds at High, Medium and Low stock (thesis
        Eq. 3.2).
    high_cap, medium_factor, medium_cap : float
        The constants of thesis Eq. 3.1.
    stock : sequence of HourlyStock
        Types whose chances are given by hour of day. The others follow Eq. 3.1.
    persistence_s : float
        Mean time in seconds for which a type keeps the uniform variate of its status: the variate
        is drawn anew at the epochs of a Poisson process of rate 1 / persistence_s, so that its
        correlation is exp(-lag / persistence_s). 0: every dispatch draws its own, as in the thesis.
    sight : str
        What the scheduler sees of stock that persists: "none" (statuses drawn for show, as in the
        thesis), "now", or "poll:SECONDS", the status as of the last of the looks at 0, SECONDS,
        2 SECONDS, ...
    series : sequence of StockSeries
        Types whose statuses are replayed. Their law, which a scheduler knows, remains that of
        `stock`, or else Eq. 3.1.

    Attributes
    ----------
    poll_s : float or None
        Seconds between two looks at the stock; 0: it is seen at any time; None: never.
    change_hours : tuple of float
        Hours of day at which the chances of a type may change, rising.
    """

    clock: Clock = CLOCKS["calibrated"]
    delay_s: tuple[tuple[float, float], ...] = ((0.0, 10.0), (30.0, 120.0), (600.0, 7200.0))
    high_cap: float = 0.95
    medium_factor: float = 1.5
    medium_cap: float = 0.90
    stock: tuple[HourlyStock, ...] = ()
    persistence_s: float = 0.0
    sight: str = "none"
    series: tuple[StockSeries, ...] = ()
    poll_s: float | None = field(init=False, repr=False, compare=False)
    change_hours: tuple[float, ...] = field(init=False, repr=False, compare=False)
    _by_gpu: dict[str, HourlyStock] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        python_numbers(self)
        pairs = "three pairs [least, greatest], for High, Medium and Low"
        listed = entries_of("delay_s", self.delay_s, pairs)
        ranges = [entries_of("delay_s", bounds, pairs) for bounds in listed]
        require([len(bounds) for bounds in ranges] == [2, 2, 2], "delay_s", self.delay_s, pairs)
        for status, (least, greatest) in zip(Status, ranges):
            check_number(f"least delay at {status.name.title()} stock", least, least=0)
            check_number(f"greatest delay at {status.name.title()} stock", greatest, least=least)
        for name in ("high_cap", "medium_cap"):
            value = getattr(self, name)
            check_number(name, value, least=0)
            require(value <= 1, name, value, "a number from 0 to 1")
        check_number("medium_factor", self.medium_factor, least=0)
        object.__setattr__(self, "delay_s", tuple((least, greatest) for least, greatest in ranges))
        stock = entries_of("stock", self.stock, "a list of HourlyStock")
        for each in stock:
            require(isinstance(each, HourlyStock), "stock", each, "an HourlyStock")
        names = [each.gpu for each in stock]
        require(len(set(names)) == len(names), "types of hourly stock", names, "different")
        object.__setattr__(self, "stock", stock)
        object.__setattr__(self, "_by_gpu", {each.gpu: each for each in stock})
        hours = {hour for hour, _ in self.clock.bands} | set(range(24) if stock else ())
        object.__setattr__(self, "change_hours", tuple(sorted(hours)))
        self._check_stock_that_persists()

    def _check_stock_that_persists(self) -> None:
        _check_persistence("persistence_s", self.persistence_s)
        series = entries_of("series", self.series, "a list of StockSeries")
        for each in series:
            require(isinstance(each, StockSeries), "series", each, "a StockSeries")
        names = [each.gpu for each in series]
        require(len(set(names)) == len(names), "types of stock series", names, "different")
        object.__setattr__(self, "series", series)
        object.__setattr__(self, "poll_s", _poll_s(self.sight))
        allowed = "'none' where no stock persists (persistence_s 0): there is nothing to see"
        require(self.persists or self.sight == "none", "sight", self.sight, allowed)

    @property
    def persists(self) -> bool:
        """Whether the stock of any type persists, or is replayed."""
        own = [each.persistence_s for each in self.stock]
        return bool(self.persistence_s or any(own) or self.series)

    def persistence_of(self, gpu: str) -> float:
        """How long the stock of a type persists.

        gpu: name of the type. Result: seconds; 0 where every dispatch draws its own.
        """
        own = self._by_gpu[gpu].persistence_s if gpu in self._by_gpu else None
        return self.persistence_s if own is None else own

    @property
    def law(self) -> Market:
        """The market without what it replays: what a scheduler may know of it."""
        if not self.series:
            return self
        blind = replace(self, series=(), sight="none")
        return replace(blind, sight=self.sight) if blind.persists else blind

    def probabilities(self, gpu: GpuType, time_s: float) -> tuple[float, float, float]:
        """Chances of High, Medium and Low stock of a type, those of `stock`, or else by Eq. 3.1.

        time_s: seconds from the start of the run. Result: they sum to 1. Thesis Eq. 3.1.
        """
        if gpu.name in self._by_gpu:
            return self._by_gpu[gpu.name].chances[int(self.clock.hour(time_s))]
        scaled = gpu.high_stock_probability * self.clock.multiplier(time_s)
        high = min(self.high_cap, scaled)
        medium = min(self.medium_cap, self.medium_factor * scaled, 1.0 - high)
        return high, medium, 1.0 - high - medium

    def status(self, gpu: GpuType, time_s: float, uniform: float) -> Status:
        """The stock status that a uniform variate stands for.

        time_s: seconds from the start of the run. uniform: r, on [0, 1). Result: High, Medium or
        Low. Thesis Eq. 3.1.
        """
        if gpu.name in self._by_gpu:
            return self._by_gpu[gpu.name].status(int(self.clock.hour(time_s)), uniform)
        scaled = gpu.high_stock_probability * self.clock.multiplier(time_s)
        high = scaled if scaled < self.high_cap else self.high_cap
        if uniform < high:
            return HIGH
        medium = self.medium_factor * scaled
        cap = self.medium_cap
        return MEDIUM if uniform < high + (medium if medium < cap else cap) else LOW

    def band(self, time_s: float) -> int:
        """The law that holds at a simulated time.

        time_s: seconds from the start of the run. Result: its index in `change_hours`.
        """
        return bisect_right(self.change_hours, self.clock.hour(time_s)) - 1

    def provisioning_s(self, status: Status, uniform: float) -> float:
        """Provisioning delay, uniform between the bounds of the status.

        status: as met at dispatch. uniform: on [0, 1). Result: seconds. Thesis Eq. 3.2.
        """
        least, greatest = self.delay_s[status]
        return least + (greatest - least) * uniform
