"""What a policy sees of a job and its market."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from operator import attrgetter
from typing import Any, NamedTuple

from cgrsp_simpy.engine.claim import Claim, Part
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.logs.series import Series
from cgrsp_simpy.model.policy import PlaceError
from cgrsp_simpy.spot.market import Job, Stretch
from cgrsp_simpy.spot.optimum import Market


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


def _shown(name: str) -> Any:
    return property(attrgetter(name))


class View:
    """The job and its market now, read only; nothing of what is to come.

    Attributes
    ----------
    now_s : float
        Since the start, seconds.
    job : Job
        Work, deadline, overhead and prices. Pairs (view.job, place) move it to a zone, by its
        number, to `on_demand`, or to None, where it is idle.
    on : int or None
        Where the job has an instance: a zone's number, `on_demand`, or None.
    ready_s : float
        When its changeover ends, or has ended, seconds; NaN without an instance.
    on_demand : int
        The place that is always to be had.
    """

    __slots__ = (
        *("_claim", "_env", "_left_s", "_luck", "_market", "_moved_s"),
        *("_on", "_on_demand", "_ready_s", "_zones"),
    )
    _market: Market  # with what is to come

    def __init__(self, run: Simulation) -> None:
        self._env, self._luck, self._zones = run.env, run.luck, list[ZoneView]()
        self._claim: Claim | None = None  # of the instance that it has
        self._on: int | None = None
        # left: at its last move
        self._left_s, self._ready_s, self._moved_s, self._on_demand = nan, nan, -1.0, 0

    now_s: float = _shown("_env._now")
    job: Job = _shown("_market.job")
    on: int | None = _shown("_on")
    ready_s: float = _shown("_ready_s")
    on_demand: int = _shown("_on_demand")

    @property
    def zones(self) -> tuple[ZoneView, ...]:
        """The zones."""
        return tuple(self._zones)

    @property
    def up(self) -> tuple[int, ...]:
        """The zones that have spot instances now, that which has had them for longest first."""
        there = [zone for zone in self._zones if zone.up]
        return tuple([zone.number for zone in sorted(there, key=attrgetter("since_s"))])

    @property
    def on_spot(self) -> bool:
        """Whether the job has a spot instance."""
        return self._on is not None and self._on < self._on_demand

    @property
    def left_s(self) -> float:
        """C(t) of the paper: computing that is left, seconds."""
        if self._on is None:
            return self._left_s
        return max(0.0, self._left_s - max(0.0, self.now_s - self._ready_s))

    @property
    def progress_s(self) -> float:
        """Computing that is done, seconds."""
        return self._market.job.work_s - self.left_s

    @property
    def slack_s(self) -> float:
        """R(t) - C(t) of the paper: time left beyond the computing that is left, seconds."""
        return self._market.job.deadline_s - self.now_s - self.left_s

    # ---- what the engine and the zones tell ----

    def summary(self) -> str:
        """What a listing says of a decision."""
        up = [zone.name for zone, now in zip(self._market.zones, self._zones) if now.up]
        return f"spot in {', '.join(up)}" if up else "no spot instance to be had"

    def turned(self, number: int, stretch: Stretch) -> None:
        """A zone has spot instances from now on, or none."""
        seen = self._market.zones[number].history
        self._zones[number] = ZoneView(number, stretch.up, stretch.from_s, seen)

    def joined(self, job: Job) -> None:
        """The job may be moved; at first it comes, and its market with it."""
        if not self._zones:
            self._market, self._left_s = self._luck[job], job.work_s
            for number, zone in enumerate(self._market.zones):
                since_s, up = zone.stretches[0]
                self._zones.append(ZoneView(number, up, since_s, zone.history))
            self._on_demand = len(self._zones)

    def granted(self, claim: Claim, chosen: Any) -> Sequence[Part]:
        """The place that the job is moved to; none for None.

        Raises PlaceError for what is no place, or not to be had, and for a move too many.
        """
        zones = self._on_demand
        if chosen is not None and (type(chosen) is not int or not 0 <= chosen <= zones):
            raise PlaceError(f"{chosen!r}, which is no zone, nor on demand, nor None")
        told = {None: "no place", zones: "on demand"}.get(chosen, f"zone {chosen}")
        if chosen == self._on:
            raise PlaceError(f"{told}, where it is")
        if chosen not in (None, zones) and not self._zones[chosen].up:
            raise PlaceError(f"{told}, where there is no spot instance now")
        if self._moved_s == claim.granted_s:
            raise PlaceError(f"{told}, its second move in one instant")
        self._moved_s, self._left_s = claim.granted_s, self.left_s
        self._claim, self._on = claim, chosen
        self._ready_s = nan if chosen is None else claim.granted_s + claim.job.overhead_s
        return () if chosen is None else ((chosen, 1),)

    def freed(self, claim: Claim) -> None:
        """The job has left an instance; that from which it has been moved is known."""
        if claim is self._claim:
            self._left_s, self._on, self._ready_s = self.left_s, None, nan

    def _nothing(self, _: Any) -> None:
        """What else the engine tells changes nothing that is shown."""

    decides = left = closed = opened = _nothing


Policy = Callable[[View], Any]
"""A policy: a function of a view that yields pairs (view.job, place) and Wakes."""
