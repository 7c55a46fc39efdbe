"""Where spot instances come from: series of zones, or a made-up market of two states; and what a
run meets of them.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.logs.market import Series, read_series
from cgrsp_simpy.model.checks import InputError, check_number, check_whole, entries_of, require
from cgrsp_simpy.model.streams import stream

log = logging.getLogger(__name__)
HOUR_S = 3600.0
MOST_HOURS = 87_600  # ten years


class Job(NamedTuple):
    """What is to be done, by when, and at which prices.

    Attributes
    ----------
    id : int
        What listings call it.
    work_s : float
        Computing that the job needs, seconds.
    deadline_s : float
        By when it must be done, seconds from its start.
    overhead_s : float
        Of each start, seconds without progress.
    spot_usd_per_h, on_demand_usd_per_h : float
        Prices, USD an hour.
    """

    id: int
    work_s: float
    deadline_s: float
    overhead_s: float
    spot_usd_per_h: float
    on_demand_usd_per_h: float


class Stay(NamedTuple):
    """The job on one instance.

    Attributes
    ----------
    place : int
        The zone's number, or that of on demand.
    from_s, to_s : float
        From its start, with the changeover, until it ended; seconds.
    end : str
        done, taken (by the market) or left (by the policy); "" of one that is planned.
    """

    place: int
    from_s: float
    to_s: float
    end: str = ""

    def wasted(self, overhead_s: float) -> bool:
        """Whether it ended before its changeover did."""
        return self.end != "done" and self.to_s <= self.from_s + overhead_s


class Stretch(NamedTuple):
    """A time in which a zone has spot instances, or has none.

    Attributes
    ----------
    from_s : float
        When it begins, seconds.
    up : bool
        Whether there are any.
    """

    from_s: float
    up: bool


@dataclass(frozen=True)
class Zone:
    """A zone as a run meets it.

    Parameters
    ----------
    name : str
        Of the zone.
    stretches : sequence of Stretch
        What happens to it, in order, up and down in turn, on the clock of the run; the first began
        at its start or before.
    history : Series
        What was seen of it before any run began.
    """

    name: str
    stretches: tuple[Stretch, ...]
    history: Series


@dataclass(frozen=True)
class Traces:
    """Zones whose series are known: a run begins at a poll drawn from the later part of these.

    Parameters
    ----------
    series : sequence of Series
        One a zone, polled at the same times; the shortest tells how long all are.
    history : float
        The share of the series, from their start, that lies before every run and that policies may
        learn from; above 0 and below 1.

    Raises
    ------
    InputError
        For what is not allowed, such as series of different steps.
    """

    series: tuple[Series, ...]
    history: float = 0.5

    def __post_init__(self) -> None:
        series = entries_of("series", self.series, "at least one Series")
        require(
            len(series) > 0 and all(isinstance(each, Series) for each in series),
            "series",
            series,
            "at least one Series",
        )
        object.__setattr__(self, "series", series)
        first, *others = series
        for other in others:
            if other.step_s != first.step_s:
                raise InputError(
                    f"series of zones must have one step: {first.name} has {first.step_s} s,"
                    f" {other.name} {other.step_s} s"
                )
        check_number("history", self.history, above=0)
        require(
            1 <= self.before < self.steps,
            "history",
            self.history,
            f"a share that leaves polls on both sides, here of {self.steps}",
        )

    def __str__(self) -> str:
        return ", ".join(each.name for each in self.series)

    @property
    def zones(self) -> int:
        """How many zones there are."""
        return len(self.series)

    @property
    def steps(self) -> int:
        """Polls of all."""
        return min(each.steps for each in self.series)

    @property
    def before(self) -> int:
        """Polls that lie before every run."""
        return int(self.history * self.steps)

    @property
    def step_s(self) -> int:
        """Between polls, seconds."""
        return self.series[0].step_s

    @property
    def most_zones(self) -> int:
        """How many zones a run can have."""
        return self.zones

    def check(self, length_s: float) -> None:
        """Warn where series are shorter than a run of so many seconds, or not of one length."""
        later_s = (self.steps - self.before) * self.step_s
        if later_s < length_s:
            log.warning(
                "%s: %.1f h after its history are shorter than a run of %.1f h: the series begins"
                " anew there",
                self,
                later_s / HOUR_S,
                length_s / HOUR_S,
            )
        if len({each.steps for each in self.series}) > 1:
            log.warning("%s: series of different length, cut to the shortest", self)

    def draw(self, zones: int, length_s: float, seed: int) -> tuple[Zone, ...]:
        """What a run of so many seconds meets in the first so many zones: from a poll on that the
        seed draws, the same in all zones.
        """
        later, wanted = self.steps - self.before, int(-(-length_s // self.step_s))
        starts = later - wanted + 1 if wanted <= later else later
        start = int(stream(seed, "spot start").integers(starts))
        polls = self.before + (start + np.arange(wanted)) % later
        first = self.before + start
        return tuple(
            _zone(each, polls, first, each.first(self.before)) for each in self.series[:zones]
        )


def read_traces(paths: Sequence[str | Path], needed: int = 1, history: float = 0.5) -> Traces:
    """The zones of files, one a file; see `logs.series.read_series`.

    needed: how many instances at once the job needs. history: as of `Traces`. Raises InputError for
    what is wrong with a file, or with files together.
    """
    return Traces(tuple(read_series(path, needed) for path in paths), history)


@dataclass(frozen=True)
class TwoState:
    """A made-up market: each zone is up and down in turn, for times that are geometric in polls,
    zones independent of each other.

    Parameters
    ----------
    up_h, down_h : float
        Mean time up and down, hours; at least a step.
    step_s : int
        Between polls, seconds.
    history_h : float
        How long the market has been watched before a run, hours.
    """

    up_h: float = 3.0
    down_h: float = 3.0
    step_s: int = 300
    history_h: float = 336.0

    def __post_init__(self) -> None:
        check_whole("step_s", self.step_s, least=1)
        for name in ("up_h", "down_h", "history_h"):
            hours = getattr(self, name)
            check_number(name, hours, least=self.step_s / HOUR_S)
            require(hours <= MOST_HOURS, name, hours, f"at most {MOST_HOURS:,}, ten years")

    def __str__(self) -> str:
        return f"made-up market, {self.up_h:g} h up and {self.down_h:g} h down on average"

    zones = 1
    """How many zones a run has unless told."""
    most_zones = 1_000_000
    """There are as many as are asked for."""

    def check(self, length_s: float) -> None:
        """There is nothing to say: the market is as long as a run."""

    def draw(self, zones: int, length_s: float, seed: int) -> tuple[Zone, ...]:
        """What a run of so many seconds meets in so many zones, each of its own stream, and what
        was seen before.
        """
        before = int(self.history_h * HOUR_S // self.step_s)
        wanted = int(-(-length_s // self.step_s))
        found = []
        for zone in range(zones):
            series = self._series(zone, before + wanted, seed)
            found.append(_zone(series, before + np.arange(wanted), before, series.first(before)))
        return tuple(found)

    def _series(self, zone: int, steps: int, seed: int) -> Series:
        """A zone's series, of its own stream."""
        random = stream(seed, f"spot zone {zone}")
        up = bool(random.random() < self.up_h / (self.up_h + self.down_h))
        end, changes = 0, list[int]()
        while end < steps:
            mean_h = self.up_h if up != (len(changes) % 2 == 1) else self.down_h
            end += int(random.geometric(self.step_s / HOUR_S / mean_h))
            changes.append(end)
        return Series(f"zone {zone + 1}", self.step_s, steps, up, tuple(changes[:-1]))


def _zone(series: Series, polls: npt.NDArray[np.int64], first: int, history: Series) -> Zone:
    """A zone from the polls of its series that a run meets, the first of which is `first`."""
    status = series.status[polls]
    changes = (np.flatnonzero(status[1:] != status[:-1]) + 1).tolist()
    earlier: Sequence[int] = [change for change in series.changes if change <= first]
    since = (earlier[-1] if earlier else 0) - first
    return Zone(
        series.name,
        tuple(
            Stretch(float(step * series.step_s), bool(status[max(step, 0)]))
            for step in (since, *changes)
        ),
        history,
    )
