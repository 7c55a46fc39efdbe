"""Spot instances by zone: recorded series with prices, or a synthetic market."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from cgrsp_simpy.base.arrays import Ints
from cgrsp_simpy.base.checks import (
    check_number,
    check_whole,
    require,
)
from cgrsp_simpy.base.files import Zones, faults_in, faults_of, opened, zoned
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.parameters import (
    Count,
    Entries,
    Positive,
    checked,
    declared,
    limits,
    parameter,
    rule,
)
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.market.series import Series, read_series

HOUR_S = 3600.0
MOST_HOURS = 87_600  # ten years
MOST_POLLS = 10_000_000
OFFERS = "an object with timestamp, and count and min of each entry of by_provider"


class Stretch(NamedTuple):
    """Time from which on a zone has instances (up) or none, seconds of the run."""

    from_s: float
    up: bool


class Price(NamedTuple):
    """Price from a time on; from_s: seconds of the run."""

    from_s: float
    usd_per_h: float


@dataclass(frozen=True)
class Zone:
    """A zone, or another source of instances, during a run.

    stretches: alternately up and down, in seconds of the run; the first began at or
    before the start. history: the series before the run. prices: prices of an instance
    from the start on; empty: the job's price. kept: as in `Series`.
    """

    name: str
    stretches: tuple[Stretch, ...]
    history: Series
    prices: tuple[Price, ...] = ()
    kept: bool = False

    @property
    def region(self) -> str:
        """Region of a zone such as us-east-1f or us-central1-a, or the zone's name."""
        matched = re.match(r"([a-z]+-[a-z]+-?\d+)-?[a-z](_|$)", self.name)
        return matched[1] if matched else self.name

    def usd(self, from_s: float, to_s: float) -> float:
        """Return the cost of an instance between two times, USD."""
        ends_s = [*(price.from_s for price in self.prices[1:]), math.inf]
        return summed(
            max(0.0, min(to_s, end_s) - max(from_s, price.from_s))
            / HOUR_S
            * price.usd_per_h
            for price, end_s in zip(self.prices, ends_s)
        )


@declared()
class Traces:
    """Zones with recorded series; a run starts at a random poll of their later part."""

    series: Annotated[Entries[Series], rule("a list of at least one Series", bool)] = (
        parameter(
            "Series per zone, all with the same start; all are cut to the shortest."
        )
    )
    history: Positive = parameter(
        "Initial share of each series that precedes every run, above 0 and below 1."
        " Policies may learn from everything before their run.",
        default=0.5,
    )
    on_demand: Series | None = parameter(
        "Availability of on-demand instances; None: always available.", default=None
    )

    def __post_init__(self) -> None:
        require(
            1 <= self.before < self.steps,
            "history",
            self.history,
            f"a share that leaves some of the {self.steps} polls before and after it",
        )

    def __str__(self) -> str:
        return ", ".join(series.name for series in self.series)

    @property
    def zones(self) -> int:
        """The number of zones."""
        return len(self.series)

    @property
    def all_series(self) -> tuple[Series, ...]:
        """Series of the zones, then that of on demand, if there is one."""
        return self.series if self.on_demand is None else (*self.series, self.on_demand)

    @property
    def step_s(self) -> int:
        """Time between polls, seconds: greatest common divisor of the series' steps."""
        return math.gcd(*(series.step_s for series in self.all_series))

    @property
    def steps(self) -> int:
        """Number of polls of the shortest series."""
        return min(series.length_s for series in self.all_series) // self.step_s

    @property
    def before(self) -> int:
        """Number of polls before every run."""
        return int(self.history * self.steps)

    def note(self, length_s: float) -> str:
        """Describe series that are shorter than a run, or of different lengths."""
        later_s, notes = (self.steps - self.before) * self.step_s, []
        if later_s < length_s:
            notes.append(
                f"{self}: the {later_s / HOUR_S:.1f} h after the history are shorter"
                f" than the run of {length_s / HOUR_S:.1f} h and are repeated"
            )
        if len({series.length_s for series in self.all_series}) > 1:
            notes.append(f"{self}: series of different length, cut to the shortest")
        return "\n".join(notes)

    def draw(self, zones: int, length_s: float, seed: int) -> tuple[Zone, ...]:
        """Return the first zones of a run of `length_s` from a poll drawn by the seed.

        The poll is the same in all zones. On demand comes last, if it has a series.
        """
        later, wanted = self.steps - self.before, int(-(-length_s // self.step_s))
        fits = wanted <= later
        starts = later - wanted + 1 if fits else later
        start = int(stream(seed, "spot start").integers(starts))
        polls = self.before + (start + np.arange(wanted)) % later
        seen = self.before + start if fits else self.before
        chosen = *self.series[:zones], *self.all_series[self.zones :]
        return tuple(_zone(series, polls, self.step_s, seen) for series in chosen)


def read_traces(
    paths: Sequence[str | Path],
    needed: int = 1,
    history: float = 0.5,
    on_demand: str = "",
) -> Traces:
    """Read zones from files, with prices if they are recorded.

    paths: one file per zone, JSON or CSV (see `market.series.read_series`); or offers,
    JSON lines as for `cgrsp market`: one zone per provider, whose instances are kept
    once rented. needed: instances that the job needs at once. history: share of the
    series before every run. on_demand: file with one series, the availability on
    demand. Raises InputError for an invalid file, or files that do not match.
    """
    zones = [series for path in paths for series in read_zones(path, needed)]
    dear = read_zones(on_demand, needed) if on_demand else [None]
    require(
        len(dear) == 1, "on_demand", on_demand, f"a file of one series, not {len(dear)}"
    )
    return Traces(tuple(zones), history, dear[0])


@checked
def read_zones(path: str | Path, needed: Count = 1) -> list[Series]:
    """Return the zones of a file as in `read_traces`: one, or one per provider."""
    path = Path(path)
    with faults_of(path), opened(path) as file:
        start = file.readline()
        if '"by_provider"' in start:
            return _providers([start, *file], needed)
    return [read_series(path, needed)]


def _providers(lines: Sequence[str], needed: int) -> list[Series]:
    """Return one series per provider, from snapshots of offers.

    Polls are at the median step. Up: enough offers are listed; price: the lowest.
    """
    times_s, polls_of_offers = list[float](), list[dict[str, Any]]()
    zones = Zones()
    for line, text in enumerate(lines, 1):
        with faults_in(line, text, OFFERS):
            content = json.loads(text)
            moment, has_zone = zoned(content["timestamp"])
            times_s.append(moment.replace(tzinfo=UTC).timestamp())
            polls_of_offers.append(
                {
                    name: (offer["count"], offer["min"])
                    for name, offer in content["by_provider"].items()
                }
            )
        zones.see(line, has_zone)
        for count, price in polls_of_offers[-1].values():
            check_whole(f"line {line}: count", count, least=0)
            check_number(f"line {line}: min", price, least=0)
    zones.check()
    steps_s = np.diff(times_s)
    require(
        bool(min(steps_s, default=0) > 0),
        "times",
        len(times_s),
        "at least two, increasing",
    )
    step_s = max(60, 60 * round(float(np.median(steps_s)) / 60))
    span_s = times_s[-1] - times_s[0]
    allowed = f"at most {MOST_POLLS * step_s:,}, {MOST_POLLS:,} times the median step"
    require(
        span_s <= MOST_POLLS * step_s, "seconds that the offers span", span_s, allowed
    )
    polls = np.arange(times_s[0], times_s[-1] + step_s / 2, step_s)
    last = np.searchsorted(times_s, polls, "right") - 1
    series = list[Series]()
    for name in sorted({name for offers in polls_of_offers for name in offers}):
        usd = next(offers[name][1] for offers in polls_of_offers if name in offers)
        prices = [
            usd := offers[name][1] if name in offers else usd
            for offers in polls_of_offers
        ]
        up = np.array(
            [name in offers and offers[name][0] >= needed for offers in polls_of_offers]
        )
        series.append(
            Series.of(name, step_s, up[last], np.array(prices)[last], kept=True)
        )
    return series


Hours = Annotated[
    float,
    limits(f"a number > 0, at most {MOST_HOURS:,}, ten years", gt=0, le=MOST_HOURS),
]


@declared()
class TwoState:
    """A synthetic market: each zone is alternately up and down for geometric times."""

    up_h: Hours = parameter("Mean time up, hours; at least one step.", default=3.0)
    down_h: Hours = parameter("Mean time down, hours; at least one step.", default=3.0)
    step_s: Count = parameter("Time between polls, seconds.", default=300)
    history_h: Hours = parameter(
        "Length of the recorded history before a run, hours.", default=336.0
    )

    def __post_init__(self) -> None:
        for name in ("up_h", "down_h", "history_h"):
            check_number(name, getattr(self, name), least=self.step_s / HOUR_S)

    def __str__(self) -> str:
        return (
            f"generated market, {self.up_h:g} h up, {self.down_h:g} h down on average"
        )

    zones = 1
    """Number of zones of a run by default."""

    def note(self, length_s: float) -> str:
        """Return "": the market is as long as a run."""
        return ""

    def draw(self, zones: int, length_s: float, seed: int) -> tuple[Zone, ...]:
        """Return the zones of a run of `length_s`, each from its own random stream."""
        before = int(self.history_h * HOUR_S // self.step_s)
        wanted = int(-(-length_s // self.step_s))
        polls = before + np.arange(wanted)
        every = (self._series(zone, before + wanted, seed) for zone in range(zones))
        return tuple(_zone(series, polls, self.step_s, before) for series in every)

    def _series(self, zone: int, steps: int, seed: int) -> Series:
        random = stream(seed, f"spot zone {zone}")
        up = bool(random.random() < self.up_h / (self.up_h + self.down_h))
        end, changes = 0, list[int]()
        while end < steps:
            mean_h = self.up_h if up != (len(changes) % 2 == 1) else self.down_h
            end += int(random.geometric(self.step_s / HOUR_S / mean_h))
            changes.append(end)
        return Series(f"zone {zone + 1}", self.step_s, steps, up, tuple(changes[:-1]))


def _zone(series: Series, polls: Ints, step_s: int, seen: int) -> Zone:
    """Return a zone from a run's polls, `step_s` apart, and the polls before `seen`."""
    finer, first = series.step_s // step_s, int(polls[0])
    numbers = polls // finer
    status = series.status[numbers]
    changes = (np.flatnonzero(status[1:] != status[:-1]) + 1).tolist()
    earlier: Sequence[int] = [
        change for change in series.changes if change * finer <= first
    ]
    since = (earlier[-1] if earlier else 0) * finer - first
    prices: list[Price] = []
    if series.prices:
        at, usd_per_h = np.array(series.prices).T
        now = usd_per_h[np.searchsorted(at, numbers, "right") - 1]
        moves = [0, *(np.flatnonzero(np.diff(now)) + 1).tolist()]
        prices = [Price(float(poll * step_s), float(now[poll])) for poll in moves]
    return Zone(
        series.name,
        tuple(
            Stretch(float(step * step_s), bool(status[max(step, 0)]))
            for step in (since, *changes)
        ),
        series.first(max(seen // finer, 1)),
        tuple(prices),
        series.kept,
    )
