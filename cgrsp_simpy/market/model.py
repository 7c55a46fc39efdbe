"""The market for rented GPUs: stock status over the day, and provisioning delays.

Persistent stock. The uniform variate U(t) of a type is constant between the events of a
Poisson process of rate 1/tau, at which it is drawn again. The status at t follows from
thesis Eq. 3.1 at the clock's hour and U(t). Values of U at two times are equal with
probability w(lag) = exp(-lag/tau), otherwise independent.

With two time scales, a type has two such variates, its levels. The market shows the
first with probability p, else the second; the choice is drawn again at the events of a
third process, of rate 1/s. The three are independent, so U(t), the level shown, is
uniform at all times, and

    w(lag) = exp(-lag/tau) (p^2 + q^2 + 2 p q exp(-lag/s)),   q = 1 - p

If both levels are Low, or neither is, runs of a status last for hours; if only one is,
they end when the market shows the other. A model fitted to polls at multiples of d
seconds changes only at these times. With probability l of Low stock, a run of Low stock
lasts d / ((1 - l) (1 - w(d))) on average, and a run of other stock d / (l (1 - w(d))).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise, product
from math import exp, floor, inf
from typing import Annotated, Any, NamedTuple

import numpy as np

from cgrsp_simpy.base.arrays import Bools, Floats
from cgrsp_simpy.base.checks import check_number, check_one_of, require, tried
from cgrsp_simpy.base.parameters import (
    Entries,
    Fraction,
    Hour,
    NotNegative,
    Positive,
    Whole,
    declared,
    limits,
    listed,
    parameter,
    rule,
    sums_to_one,
)
from cgrsp_simpy.market.gpu import GpuType


class Status(IntEnum):
    """Stock status of a GPU type (thesis Section 3.2)."""

    HIGH = 0
    MEDIUM = 1
    LOW = 2


HIGH, MEDIUM, LOW = Status  # looked up once: Enum members are slow to reach


StatusNumber = Annotated[int, limits("0, 1 or 2", ge=0, le=2)]
Pair = Annotated[tuple[NotNegative, NotNegative], listed("a pair of numbers >= 0", 2)]


def _hours(bands: Sequence[Sequence[float]]) -> list[float]:
    return [hour for hour, _ in bands]


Bands = Annotated[
    Entries[Pair],
    rule(
        "pairs [hour, multiplier], hours increasing from 0 to below 24",
        lambda bands: (
            _hours(bands)[:1] == [0]
            and all(a < b for a, b in pairwise([*_hours(bands), 24]))
        ),
        _hours,
    ),
]


@declared()
class Clock:
    """The stock multiplier m(t), a step function of the time of day."""

    bands: Bands = parameter(
        "Pairs of an hour of day and the multiplier from that hour on; hours"
        " increase from 0."
    )
    start_h: Hour = parameter(
        "Hour of day at simulated time 0, from 0 to below 24.", default=0.0
    )
    _hours: list[float] = field(init=False, repr=False, compare=False)
    _multipliers: list[float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        hours, multipliers = map(list, zip(*self.bands))
        object.__setattr__(self, "_hours", hours)
        object.__setattr__(self, "_multipliers", multipliers)

    def hour(self, time_s: float) -> float:
        """Return the hour of day at a simulated time, from 0 to below 24."""
        return (self.start_h + time_s / 3600.0) % 24.0

    def multiplier(self, time_s: float) -> float:
        """Return m(t), the stock multiplier at a simulated time."""
        return self.multiplier_at(self.hour(time_s))

    def multiplier_at(self, hour: float) -> float:
        """Return the stock multiplier at an hour of day."""
        return self._multipliers[bisect_right(self._hours, hour) - 1]


def _poll_s(sight: object) -> float | None:
    """Return the seconds between polls for "none", "now" or "poll:SECONDS"."""
    if str(sight) in ("none", "now"):
        return 0.0 if sight == "now" else None
    name, _, seconds = str(sight).partition(":")
    poll_s = tried(float, seconds) or 0.0
    require(
        name == "poll" and 0 < poll_s < inf,
        "sight",
        sight,
        "'none', 'now' or 'poll:SECONDS', such as 'poll:300'",
    )
    return poll_s


CLOCKS: dict[str, Clock] = {
    # Off-peak 1.3, morning 0.9, peak 0.5, evening 1.0 at the hours that give the
    # thesis's tables: a run starts at 08:00.
    "calibrated": Clock(((0, 1.3), (8, 0.9), (12, 0.5), (18, 1.0)), start_h=8),
    # The hours of thesis Figure 5.3. They do not give the thesis's tables at any hour
    # of start.
    "printed": Clock(((0, 1.0), (6, 0.9), (9, 0.5), (18, 1.3)), start_h=0),
}
"""The clocks by name: the thesis's as calibrated to its tables, and as printed."""


class Holding(NamedTuple):
    """How long the uniform variate of a type's status stays constant; see the module.

    persistence_s: tau; 0: it is drawn for every dispatch. switch_s: s; 0: one time
    scale. first_share: p. every_s: d; 0: it can change at any time.
    """

    persistence_s: float
    switch_s: float = 0.0
    first_share: float = 1.0
    every_s: int = 0

    def polled_s(self, time_s: float) -> float:
        """Return the time whose status is shown at a time, seconds."""
        return floor(time_s / self.every_s) * self.every_s if self.every_s else time_s

    def kept(self, from_s: float, to_s: float, seen_s: float | None = None) -> float:
        """Return the probability that the variate is the same at two times.

        seen_s: time of an earlier observation; then the result is the factor by which
        the probabilities of a status, given this observation, approach the model's
        between the two times. 0 if the variate does not persist.
        """
        if not self.persistence_s:
            return 0.0
        if not self.switch_s:
            return exp(-(to_s - from_s) / self.persistence_s)
        if seen_s is not None:
            return self.kept(seen_s, to_s) / self.kept(seen_s, from_s)
        lag_s = self.polled_s(to_s) - self.polled_s(from_s)
        p = self.first_share
        q = 1 - self.first_share
        same = p * p + q * q + 2 * p * q * exp(-lag_s / self.switch_s)
        return exp(-lag_s / self.persistence_s) * same

    def chain(self, low: float, step_s: float) -> tuple[Floats, Floats, Bools]:
        """Return the Markov chain of the variate's states for a probability of Low
        stock.

        A state: whether the second level is shown, and whether each level is Low.
        Result: probabilities of the eight states, transition matrix of a step, and
        whether each state has Low stock.
        """
        means_s = self.switch_s, self.persistence_s, self.persistence_s
        held = [exp(-step_s / mean_s) if mean_s else 0.0 for mean_s in means_s]
        state: Any = np.ones(1)
        there: Any = np.ones((1, 1))
        for share, w in zip((1 - self.first_share, low, low), held):
            chances = np.array([1 - share, share])
            state = np.kron(state, chances)
            there = np.kron(there, w * np.eye(2) + (1 - w) * chances)
        is_low = [levels[shown] for shown, *levels in product((False, True), repeat=3)]
        return state, there, np.array(is_low)

    @lru_cache(maxsize=256)  # noqa: B019
    def recovery_s(self, low: float) -> float:
        """Return the mean time until Low stock ends, times the probability of other
        stock.

        low: probability of Low stock, below 1. In seconds; with two scales, from a
        multiple of d on; with one scale, tau.
        """
        if not self.switch_s or not low:
            return self.persistence_s
        state, there, is_low = self.chain(low, self.every_s)
        stays = there[np.ix_(is_low, is_low)]
        steps = np.linalg.solve(np.eye(4) - stays, np.ones(4)) @ state[is_low] / low
        return float(self.every_s * steps * (1 - low))


# A variate that is drawn many times per second takes very long, and differs from 0 by
# nothing.
Persistence = Annotated[
    NotNegative, rule("0, or at least 1 s", lambda value: value == 0 or value >= 1)
]
Chances = Annotated[
    tuple[Fraction, Fraction, Fraction],
    listed("a triple [High, Medium, Low]", 3),
    sums_to_one,
]


@declared("{} of {gpu}")
class HourlyStock:
    """Stock probabilities of a GPU type by hour of day, in place of Eq. 3.1.

    below: per hour, the limits below which a uniform variate means High or Medium.
    """

    gpu: str = parameter("Name of the type.")
    chances: Annotated[
        tuple[Chances, ...],
        listed("24 triples [High, Medium, Low], one per hour", 24),
    ] = parameter(
        "Probabilities of High, Medium and Low stock in each hour of the day, from"
        " midnight: 24 triples of numbers from 0 to 1 that sum to 1."
    )
    persistence_s: Persistence | None = parameter(
        "Mean time for which the stock of the type persists, seconds; default:"
        " that of the market.",
        default=None,
    )
    switch_s: Persistence = parameter(
        "With two time scales: mean time s between draws of the level, seconds.",
        default=0.0,
    )
    first_share: Positive = parameter(
        "With two time scales: probability p of the first level, from 0 to 1.",
        default=1.0,
    )
    every_s: Whole = parameter(
        "With two time scales: time d between polls, seconds, a whole number.",
        default=0,
    )
    below: list[tuple[float, float]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.switch_s or self.first_share != 1 or self.every_s:
            scales = self.persistence_s, self.switch_s, self.every_s
            require(
                all(scales) and self.first_share < 1,
                f"persistence_s, switch_s and every_s of {self.gpu}",
                list(scales),
                "all three > 0 with first_share < 1, or none of them set",
            )
        below = [
            (high, high + medium if low else 1.0) for high, medium, low in self.chances
        ]
        object.__setattr__(self, "below", below)


Times = Annotated[
    Entries[NotNegative],
    rule(
        "an increasing list of seconds, starting at 0",
        lambda times: times[:1] == (0,) and all(a < b for a, b in pairwise(times)),
    ),
]


@declared("{} of {gpu}")
class StockSeries:
    """Recorded stock statuses of a GPU type, which are replayed in a run."""

    gpu: str = parameter("Name of the type.")
    times_s: Times = parameter(
        "Times at which the status changed, seconds, increasing from 0.", repr=False
    )
    statuses: Entries[StatusNumber] = parameter(
        "The status from each of these times on: 0 High, 1 Medium, 2 Low.", repr=False
    )
    length_s: Positive = parameter(
        "Length of the series, seconds, greater than the last time; then the"
        " series repeats."
    )
    start_h: Hour | None = parameter(
        "Hour of day at second 0, from 0 to below 24; None if it is unknown.",
        default=None,
    )

    def __post_init__(self) -> None:
        number = len(self.times_s)
        entries = len(self.statuses)
        require(entries == number, f"statuses of {self.gpu}", entries, f"{number}")
        check_number(f"length_s of {self.gpu}", self.length_s, above=self.times_s[-1])
        object.__setattr__(self, "statuses", tuple(map(Status, self.statuses)))

    def status(self, time_s: float) -> Status:
        """Return the last recorded status at a time; the series repeats at its end."""
        return Status(
            self.statuses[bisect_right(self.times_s, time_s % self.length_s) - 1]
        )

    @property
    def longest_s(self) -> float:
        """The longest time without Low stock, seconds; infinite if it is never Low."""
        low = [status == LOW for status in self.statuses]
        turns = [place for place, is_low in enumerate(low) if is_low != low[place - 1]]
        if not turns:
            return 0.0 if low[0] else inf
        ends = zip(turns, [*turns[1:], turns[0]])
        spans_s = [self.times_s[j] - self.times_s[i] for i, j in ends if not low[i]]
        return max(span_s % self.length_s for span_s in spans_s)

    def changes_s(self, after_s: float, before_s: float) -> list[float]:
        """Return the times of changes between two times of the series, increasing."""
        times_s, first = [], int(after_s // self.length_s)
        for turn in range(first, int(before_s // self.length_s) + 1):
            times_s += [turn * self.length_s + time_s for time_s in self.times_s]
        return [time_s for time_s in times_s if after_s < time_s < before_s]


one_per_type = rule(
    "of different GPU types",
    lambda parts: len({part.gpu for part in parts}) == len(parts),
)
Delays = Annotated[
    Pair,
    rule(
        "a pair [least, greatest] with least <= greatest",
        lambda pair: pair[0] <= pair[1],
    ),
]


@declared()
class Market:
    """Distribution of the stock status and of the provisioning delay.

    poll_s: seconds between observations of the stock; 0: continuous; None: never.
    change_hours: hours of day at which the probabilities of a type may change,
    increasing.
    """

    clock: Clock = parameter(
        "The multiplier m(t), and the hour of day at simulated time 0.",
        default=CLOCKS["calibrated"],
    )
    delay_s: Annotated[
        tuple[Delays, Delays, Delays],
        listed("three pairs [least, greatest], for High, Medium and Low", 3),
    ] = parameter(
        "Minimum and maximum provisioning delay at High, Medium and Low stock, seconds"
        " (thesis Eq. 3.2): three pairs.",
        default=((0.0, 10.0), (30.0, 120.0), (600.0, 7200.0)),
    )
    high_cap: Fraction = parameter(
        "Maximum probability of High stock (thesis Eq. 3.1).", default=0.95
    )
    medium_factor: NotNegative = parameter(
        "Factor of the probability of Medium stock (thesis Eq. 3.1).", default=1.5
    )
    medium_cap: Fraction = parameter(
        "Maximum probability of Medium stock (thesis Eq. 3.1).", default=0.90
    )
    stock: Annotated[Entries[HourlyStock], one_per_type] = parameter(
        "Types with probabilities by hour of day. The others follow Eq. 3.1.",
        default=(),
    )
    persistence_s: Persistence = parameter(
        "Mean time in seconds for which a type keeps the uniform variate of its status,"
        " on one scale: its correlation is exp(-lag / persistence_s). 0: every dispatch"
        " draws its own, as in the thesis.",
        default=0.0,
    )
    sight: str = parameter(
        'Observation of persistent stock by the scheduler: "none" (displayed statuses'
        ' are drawn independently, as in the thesis), "now", or "poll:SECONDS", the'
        " status at the last poll at time 0, SECONDS, 2 SECONDS, ...",
        default="none",
    )
    series: Annotated[Entries[StockSeries], one_per_type] = parameter(
        "Types whose statuses are replayed. Their distribution, which a scheduler"
        " knows, remains that of `stock`, or else Eq. 3.1.",
        default=(),
    )
    poll_s: float | None = field(init=False, repr=False, compare=False)
    change_hours: tuple[float, ...] = field(init=False, repr=False, compare=False)
    _by_gpu: dict[str, HourlyStock] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_gpu", {part.gpu: part for part in self.stock})
        hours = {hour for hour, _ in self.clock.bands} | set(
            range(24) if self.stock else ()
        )
        object.__setattr__(self, "change_hours", tuple(sorted(hours)))
        object.__setattr__(self, "poll_s", _poll_s(self.sight))
        require(
            self.persists or self.sight == "none",
            "sight",
            self.sight,
            "'none' if no stock persists (persistence_s 0): no status can be observed",
        )

    @property
    def persists(self) -> bool:
        """Whether the stock of any type persists, or is replayed."""
        times_s = [model.persistence_s for model in self.stock]
        return bool(self.persistence_s or any(times_s) or self.series)

    def holding(self, gpu: str) -> Holding:
        """Return how the stock of a type, specified by its name, persists."""
        model = self._by_gpu.get(gpu)
        if model is None or model.persistence_s is None:
            return Holding(self.persistence_s)
        return Holding(
            model.persistence_s, model.switch_s, model.first_share, model.every_s
        )

    @property
    def known(self) -> Market:
        """The market without its recorded series, as schedulers may know it."""
        if not self.series:
            return self
        blind = replace(self, series=(), sight="none")
        return replace(blind, sight=self.sight) if blind.persists else blind

    def probabilities(self, gpu: GpuType, time_s: float) -> tuple[float, float, float]:
        """Return the probabilities of High, Medium and Low stock at a simulated time.

        They are those of `stock`, or else of thesis Eq. 3.1.
        """
        if gpu.name in self._by_gpu:
            return self._by_gpu[gpu.name].chances[int(self.clock.hour(time_s))]
        scaled = gpu.high_stock_probability * self.clock.multiplier(time_s)
        high = min(self.high_cap, scaled)
        medium = min(self.medium_cap, self.medium_factor * scaled, 1.0 - high)
        return high, medium, 1.0 - high - medium

    def status(self, gpu: GpuType, time_s: float, uniform: float) -> Status:
        """Return the stock status for a uniform variate on [0, 1) (thesis Eq. 3.1)."""
        high, medium = self.below(gpu, self.clock.hour(time_s))
        return HIGH if uniform < high else MEDIUM if uniform < medium else LOW

    def below(self, gpu: GpuType, hour: float) -> tuple[float, float]:
        """Return the limits of a uniform variate below which stock is High or Medium.

        hour: hour of day (thesis Eq. 3.1).
        """
        if gpu.name in self._by_gpu:
            return self._by_gpu[gpu.name].below[int(hour)]
        scaled = gpu.high_stock_probability * self.clock.multiplier_at(hour)
        high = scaled if scaled < self.high_cap else self.high_cap
        medium = self.medium_factor * scaled
        return high, high + (medium if medium < self.medium_cap else self.medium_cap)

    def band(self, time_s: float) -> int:
        """Return the number of `change_hours` of its day up to a simulated time."""
        return bisect_right(self.change_hours, self.clock.hour(time_s))

    def provisioning_s(self, status: Status, uniform: float) -> float:
        """Return the provisioning delay for a uniform variate (thesis Eq. 3.2)."""
        least, greatest = self.delay_s[status]
        return least + (greatest - least) * uniform


class Measured(NamedTuple):
    """A market, by the names of its types.

    stock: models. prices: USD per hour by type, if known. series: series to replay.
    """

    stock: tuple[HourlyStock, ...]
    prices: Mapping[str, float]
    series: tuple[StockSeries, ...] = ()


def clock_of(name: str, workload: Any) -> Clock:
    """Return a clock by name, starting at the workload's hour of day, if it has one."""
    check_one_of("clock", name, CLOCKS)
    start_h = getattr(getattr(workload, "rates", workload), "start_h", None)
    return CLOCKS[name] if start_h is None else replace(CLOCKS[name], start_h=start_h)
