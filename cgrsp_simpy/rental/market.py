"""The market for rented GPUs: how scarce a type is over the day, and how long an instance takes to come."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise

from cgrsp_simpy.model.checks import check_number, entries_of, require
from cgrsp_simpy.rental.gpu import GpuType

__all__ = ["CLOCKS", "HIGH", "LOW", "MEDIUM", "Clock", "Market", "Status"]


class Status(IntEnum):
    """Stock status of a GPU type (thesis Section 3.2)."""

    HIGH = 0
    MEDIUM = 1
    LOW = 2


HIGH, MEDIUM, LOW = Status  # looked up once: Enum members are slow to reach


@dataclass(frozen=True)
class Clock:
    """The time-of-day stock multiplier m(t), a step function that repeats every 24 hours.

    bands: pairs (hour of day from which it holds, multiplier), from hour 0 on, hours rising.
    start_h: hour of day at simulated time 0.
    """

    bands: tuple[tuple[float, float], ...]
    start_h: float = 0.0
    _hours: list[float] = field(init=False, repr=False, compare=False)
    _multipliers: list[float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        pairs = "a list of pairs [hour, multiplier]"
        bands = tuple(entries_of("bands", band, pairs) for band in entries_of("bands", self.bands, pairs))
        for band in bands:
            require(len(band) == 2, "bands", list(band), pairs)
        hours = [hour for hour, _ in bands]
        for hour, multiplier in bands:
            check_number("hour of a clock band", hour, least=0)
            check_number("multiplier of a clock band", multiplier, least=0)
        rising = bool(hours) and hours[0] == 0 and hours[-1] < 24 and all(a < b for a, b in pairwise(hours))
        require(rising, "hours of the clock bands", hours, "rising from 0 to below 24")
        check_number("start_h", self.start_h, least=0)
        require(self.start_h < 24, "start_h", self.start_h, "an hour of day, from 0 to below 24")
        object.__setattr__(self, "bands", bands)
        object.__setattr__(self, "_hours", hours)
        object.__setattr__(self, "_multipliers", [multiplier for _, multiplier in bands])

    def band(self, time_s: float) -> int:
        """The index of the band that holds at a simulated time in seconds."""
        hour = (self.start_h + time_s / 3600.0) % 24.0
        return bisect_right(self._hours, hour) - 1

    def multiplier(self, time_s: float) -> float:
        """m(t) at simulated time t, in seconds."""
        return self._multipliers[self.band(time_s)]


CLOCKS: dict[str, Clock] = {
    # Off-peak 1.3, morning 0.9, peak 0.5, evening 1.0 at the hours that give the thesis's tables: a run starts at 08:00.
    "calibrated": Clock(((0, 1.3), (8, 0.9), (12, 0.5), (18, 1.0)), start_h=8),
    # The hours of thesis Figure 5.3. They do not give the thesis's tables at any hour of start.
    "printed": Clock(((0, 1.0), (6, 0.9), (9, 0.5), (18, 1.3)), start_h=0),
}


@dataclass(frozen=True)
class Market:
    """The law of the stock status and of the provisioning delay.

    clock: the multiplier m(t).
    delay_s: least and greatest provisioning delay in seconds at High, Medium and Low stock (thesis Eq. 3.2).
    high_cap, medium_factor, medium_cap: the constants of thesis Eq. 3.1.
    """

    clock: Clock = CLOCKS["calibrated"]
    delay_s: tuple[tuple[float, float], ...] = ((0.0, 10.0), (30.0, 120.0), (600.0, 7200.0))
    high_cap: float = 0.95
    medium_factor: float = 1.5
    medium_cap: float = 0.90

    def __post_init__(self) -> None:
        pairs = "three pairs [least, greatest], for High, Medium and Low"
        ranges = [entries_of("delay_s", bounds, pairs) for bounds in entries_of("delay_s", self.delay_s, pairs)]
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

    def probabilities(self, gpu: GpuType, time_s: float) -> tuple[float, float, float]:
        """Chances of High, Medium and Low stock of a type at a time in seconds (thesis Eq. 3.1)."""
        scaled = gpu.high_stock_probability * self.clock.multiplier(time_s)
        high = min(self.high_cap, scaled)
        medium = min(self.medium_cap, self.medium_factor * scaled, 1.0 - high)
        return high, medium, 1.0 - high - medium

    def status(self, gpu: GpuType, time_s: float, uniform: float) -> Status:
        """The stock status that a uniform variate r on [0, 1) stands for (thesis Eq. 3.1)."""
        scaled = gpu.high_stock_probability * self.clock.multiplier(time_s)
        high = scaled if scaled < self.high_cap else self.high_cap
        if uniform < high:
            return HIGH
        medium = self.medium_factor * scaled
        return MEDIUM if uniform < high + (medium if medium < self.medium_cap else self.medium_cap) else LOW

    def provisioning_s(self, status: Status, uniform: float) -> float:
        """Provisioning delay in seconds, uniform between the bounds of the status (thesis Eq. 3.2)."""
        least, greatest = self.delay_s[status]
        return least + (greatest - least) * uniform
