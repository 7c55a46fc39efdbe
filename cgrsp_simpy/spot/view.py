"""What a policy sees of a job and its market, and what the model keeps for that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from cgrsp_simpy.engine.claims import Claim, Part
from cgrsp_simpy.logs.series import Series
from cgrsp_simpy.model.policy import PlaceError
from cgrsp_simpy.spot.market import Zone

__all__ = ["JOB", "Policy", "SpotView", "State", "Terms", "ZoneView"]

JOB = 0
"""The id of the one job."""


class Terms(NamedTuple):
    """What is to be done, by when, and at which prices.

    Attributes
    ----------
    work_s : float
        Computing that the job needs, seconds.
    deadline_s : float
        By when it must be done, seconds from its start.
    overhead_s : float
        Of each start, seconds without progress.
    spot_usd_per_h, on_demand_usd_per_h : float
        Prices, USD an hour.
    """

    work_s: float
    deadline_s: float
    overhead_s: float
    spot_usd_per_h: float
    on_demand_usd_per_h: float


class ZoneView(NamedTuple):
    """A zone now.

    Attributes
    ----------
    number : int
        By which it is chosen.
    up : bool
        Whether a spot instance is to be had.
    since_s : float
        Since when that has been so, on the clock of the run; below 0 before its start.
    history : Series
        Of the zone, until the first run could begin.
    """

    number: int
    up: bool
    since_s: float
    history: Series


@dataclass(frozen=True, slots=True)
class SpotView:
    """The job and its market at one moment; nothing of what is to come.

    Attributes
    ----------
    job : int
        What an answer names: pairs (view.job, place) move the job to a zone, by its index, to
        `on_demand`, or to None, where it is idle.
    terms : Terms
        Work, deadline, overhead and prices.
    now_s : float
        Since the start, seconds.
    left_s : float
        C(t) of the paper: computing that is left, seconds.
    on : int or None
        Where the job has an instance: a zone's index, `on_demand`, or None.
    ready_s : float
        When its changeover ends, or has ended, seconds; NaN without an instance.
    zones : tuple of ZoneView
        The zones.
    """

    job: int
    terms: Terms
    now_s: float
    left_s: float
    on: int | None
    ready_s: float
    zones: tuple[ZoneView, ...]

    @property
    def on_demand(self) -> int:
        """The place that is always to be had."""
        return len(self.zones)

    @property
    def on_spot(self) -> bool:
        """Whether the job has a spot instance."""
        return self.on is not None and self.on < len(self.zones)

    @property
    def up(self) -> list[int]:
        """The zones that have spot instances now, that which has had them for longest first."""
        there = [zone for zone in self.zones if zone.up]
        return [zone.number for zone in sorted(there, key=lambda zone: zone.since_s)]

    @property
    def progress_s(self) -> float:
        """Computing that is done, seconds."""
        return self.terms.work_s - self.left_s

    @property
    def slack_s(self) -> float:
        """R(t) - C(t) of the paper: time left beyond the computing that is left, seconds."""
        return self.terms.deadline_s - self.now_s - self.left_s


Policy = Callable[[SpotView], Any]
"""A policy: a function of a view that yields pairs (view.job, place) and Wakes."""


class State:
    """The job and its zones as they are.

    waiting: the job's wish to be asked about; it always has one until it is done.
    """

    def __init__(self, terms: Terms, zones: Sequence[Zone]) -> None:
        self.terms, self.zones = terms, zones
        self.waiting: dict[Any, Claim] = {}
        self.now_in = [zone.stretches[0] for zone in zones]
        self.left_s = terms.work_s  # when the job had the last of its instances
        self.claim: Claim | None = None  # of the instance that it has
        self.moved_s = -1.0

    @property
    def on(self) -> int | None:
        """Where the job has an instance."""
        return None if self.claim is None else self.claim.parts[0][0]

    def ready_s(self) -> float:
        """When the changeover of its instance ends, seconds."""
        assert self.claim is not None
        return self.claim.granted_s + self.terms.overhead_s

    def left_at(self, now_s: float) -> float:
        """Computing that is left, seconds."""
        if self.claim is None:
            return self.left_s
        return max(0.0, self.left_s - max(0.0, now_s - self.ready_s()))

    def view(self, now_s: float) -> SpotView:
        """What a policy sees now."""
        zones = tuple(
            ZoneView(index, stretch.up, stretch.from_s, zone.history)
            for index, (stretch, zone) in enumerate(zip(self.now_in, self.zones))
        )
        ready_s = float("nan") if self.claim is None else self.ready_s()
        return SpotView(JOB, self.terms, now_s, self.left_at(now_s), self.on, ready_s, zones)

    def summary(self) -> str:
        """What a listing says of a decision."""
        up = [zone.name for zone, stretch in zip(self.zones, self.now_in) if stretch.up]
        return f"spot in {', '.join(up)}" if up else "no spot instance to be had"

    def describe(self, job: Any) -> str:
        """What a listing says of the job when it may be moved."""
        return f"{self.left_s / 3600:.2f} h of computing left"

    def add(self, job: Any) -> None:
        """The job may be moved."""

    def gave_up(self, job: Any) -> None:
        """The job is done."""

    def granted(self, claim: Claim, chosen: Any) -> Sequence[Part]:
        """The place that the job is moved to; none for None.

        Raises PlaceError for what is no place, or not to be had, and for a move too many.
        """
        if chosen is not None and (type(chosen) is not int or not 0 <= chosen <= len(self.zones)):
            raise PlaceError(f"{chosen!r}, which is no zone, nor on demand, nor None")
        if chosen == self.on:
            raise PlaceError(f"{self._told(chosen)}, where it is")
        if chosen is not None and chosen < len(self.zones) and not self.now_in[chosen].up:
            raise PlaceError(f"{self._told(chosen)}, where there is no spot instance now")
        if self.moved_s == claim.granted_s:
            raise PlaceError(f"{self._told(chosen)}, its second move in one instant")
        self.moved_s = claim.granted_s
        return () if chosen is None else ((chosen, 1),)

    def released(self, claim: Claim, now_s: float) -> None:
        """The job has left its instance."""
        self.left_s, self.claim = self.left_at(now_s), None

    def _told(self, place: int | None) -> str:
        if place is None:
            return "no place"
        return f"zone {place}" if place < len(self.zones) else "on demand"
