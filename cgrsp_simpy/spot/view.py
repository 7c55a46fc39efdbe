"""The view of a job and its market, and the rules that all policies share.

The rules are from "Can't Be Late", NSDI 2024. Thrifty: nothing is rented once the job
is done. Exploitation: a job on a spot instance stays until it is preempted. Safety net:
a job without a spot instance runs on demand to the end if R(t) <= C(t) + 2 d + m. R(t)
is the remaining time, C(t) the remaining computing, d the overhead of a start, m the
most work that an instance, and leaving one, can lose.

With the safety net, no deadline is missed while on demand is available. A spot instance
is started only if the slack R - C exceeds 2 d + m. Its changeover takes at most d of
that; so when it is preempted and m is lost, at least d is left, enough for the
changeover to on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, nan
from operator import attrgetter
from typing import Any, NamedTuple

from cgrsp_simpy.base.checks import shown
from cgrsp_simpy.base.policy import AssignmentError, Wake
from cgrsp_simpy.engine import view
from cgrsp_simpy.engine.claim import Claim, Part
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.market.series import Series
from cgrsp_simpy.market.zones import Price, Stretch
from cgrsp_simpy.spot.job import Checkpoints, Job
from cgrsp_simpy.spot.optimum import Market

# Times are sums of doubles: less remaining computing counts as none, and rules apply
# this much earlier.
ROUNDING_S = 1e-6


class ZoneView(NamedTuple):
    """State of a zone at the current time.

    number: its number, for policies. up: whether it has a spot instance. since_s: start
    of that state, seconds; below 0 before the run. history: its series before the run.
    turns: its changes since then. kept: whether no instance is preempted.
    """

    number: int
    up: bool
    since_s: float
    history: Series
    turns: tuple[Stretch, ...]
    usd_per_h: float
    kept: bool
    region: str


class View(view.View):
    """The job and its market at the current time, without the future; read-only.

    now_s: time since the start, seconds. job: the job; a pair (view.job, place) moves
    it to a zone's number, to `on_demand`, or to None (idle). on: where the job has an
    instance: a zone's number, `on_demand`, or None. ready_s: end of its changeover,
    seconds; NaN without an instance. on_demand: number of the on-demand resource, which
    is always available unless it has a series. moved_s: time of the policy's last move,
    seconds; below 0 if none. at: last zone of the job, in whose region its checkpoint
    is; None before the first.
    """

    __slots__ = (
        *("_at", "_claim", "_left_s", "_market", "_moved_s"),
        *("_on", "_on_demand", "_places", "_ready_s"),
    )
    _market: Market  # including the future

    def __init__(self, run: Simulation) -> None:
        super().__init__(run)
        self._places = list[ZoneView]()  # the zones, and on demand
        self._claim: Claim | None = None  # claim of the current instance
        self._on: int | None = None
        # left: at its last move
        self._left_s, self._ready_s, self._moved_s, self._on_demand = nan, nan, -1.0, 0
        self._at: int | None = None

    now_s: float = view.read_only("_run.env._now")  # zones ask, too
    job: Job = view.read_only("_market.job")
    on: int | None = view.read_only("_on")
    ready_s: float = view.read_only("_ready_s")
    on_demand: int = view.read_only("_on_demand")
    moved_s: float = view.read_only("_moved_s")
    at: int | None = view.read_only("_at")
    checkpoints: Checkpoints = view.read_only("_market.checkpoints")

    @property
    def zones(self) -> tuple[ZoneView, ...]:
        """All zones, in order of their numbers."""
        return tuple(self._places[:-1])

    @property
    def dear(self) -> ZoneView:
        """The on-demand instance, in the form of a zone."""
        return self._places[-1]

    @property
    def up(self) -> tuple[int, ...]:
        """The zones with instances cheaper than on demand, cheapest first."""
        there = [
            zone
            for zone in self.zones
            if zone.up and zone.usd_per_h < self.dear.usd_per_h
        ]
        return tuple(
            [
                zone.number
                for zone in sorted(there, key=attrgetter("usd_per_h", "since_s"))
            ]
        )

    def moving_usd(self, zone: int) -> float:
        """Return the cost of moving the checkpoint in order to start in a zone."""
        return self._market.moving_usd(self._market.regions[self._at or 0], zone)

    @property
    def on_spot(self) -> bool:
        """Whether the job has a spot instance."""
        return self._on is not None and self._on < self._on_demand

    @property
    def left_s(self) -> float:
        """C(t) of the paper: remaining computing time, seconds."""
        if self._on is None:
            return self._left_s
        return max(0.0, self._left_s - max(0.0, self.now_s - self._ready_s))

    @property
    def progress_s(self) -> float:
        """Completed computing time, seconds."""
        return self._market.job.work_s - self.left_s

    @property
    def leaving_s(self) -> float:
        """Greatest computing time lost by leaving the instance now, seconds."""
        return 0.0 if self._on is None else self._market.checkpoints.write_s

    @property
    def slack_s(self) -> float:
        """R(t) - C(t) of the paper: remaining time minus computing time, seconds."""
        return self._market.job.deadline_s - self.now_s - self.left_s

    # ---- hooks of the engine and of the market ----

    def summary(self) -> str:
        up = [
            zone.name for zone, now in zip(self._market.zones, self._places) if now.up
        ]
        return f"spot in {', '.join(up)}" if up else "no spot instance is available"

    def on_change(self, number: int, change: Stretch | Price) -> None:
        """Update the availability or the price of a zone, or of on demand."""
        zone = self._places[number]
        self._places[number] = (
            zone._replace(usd_per_h=change.usd_per_h)
            if isinstance(change, Price)
            else zone._replace(
                up=change.up, since_s=change.from_s, turns=(*zone.turns, change)
            )
        )

    def on_enqueue(self, job: Job) -> None:
        """Set up the market when the job first arrives."""
        super().on_enqueue(job)
        if not self._places:
            self._market, self._left_s = self._run.hidden[job], job.work_s
            self._places = [
                ZoneView(
                    number,
                    place.stretches[0].up,
                    place.stretches[0].from_s,
                    place.history,
                    place.stretches[:1],
                    place.prices[0].usd_per_h,
                    place.kept,
                    place.region,
                )
                for number, place in enumerate(self._market.places)
            ]
            self._on_demand = len(self._places) - 1

    def parse_assignment(self, claim: Claim, chosen: Any) -> Sequence[Part]:
        """Return the resource that the job moves to; empty for None.

        Raises AssignmentError for an unknown or unavailable resource, and for a second
        move in one instant.
        """
        zones = self._on_demand
        if chosen is not None and (type(chosen) is not int or not 0 <= chosen <= zones):
            raise AssignmentError(
                f"{shown(chosen)}, which is neither the number of a zone, nor that of"
                " on demand, nor None"
            )
        where = {None: "no instance", zones: "on demand"}.get(chosen, f"zone {chosen}")
        if chosen == self._on:
            raise AssignmentError(f"{where}; that would not move the job")
        if chosen is not None and not self._places[chosen].up:
            kind = "spot instance" if chosen < zones else "instance available"
            raise AssignmentError(f"{where}, where there is no {kind} now")
        if self._moved_s == claim.granted_s:
            raise AssignmentError(f"{where}, its second move at the same time")
        self._moved_s, self._left_s = claim.granted_s, self._kept(taken=False)
        self._claim, self._on = claim, chosen
        self._at = self._at if chosen in (None, zones) else chosen
        self._ready_s = (
            nan if chosen is None else claim.granted_s + claim.job.overhead_s
        )
        return () if chosen is None else ((chosen, 1),)

    def on_release(self, claim: Claim) -> None:
        """Update the state after a preemption; a move has already updated it."""
        if claim is self._claim:
            self._left_s, self._on, self._ready_s = self._kept(taken=True), None, nan

    def _kept(self, taken: bool) -> float:
        """Return the remaining computing time if the instance, if any, ends now."""
        left_s = self.left_s
        if self._on is None or left_s < ROUNDING_S:
            return left_s
        computed_s = max(0.0, self.now_s - self._ready_s)
        return left_s + self._market.checkpoints.lost_s(computed_s, taken)


Policy = Callable[[View], Any]
"""A policy: a function of a view that yields pairs (view.job, place) and Wakes."""


class Choice(NamedTuple):
    """Where the job should be, and until what time, seconds, if nothing changes.

    place: a zone's number, the view's `on_demand`, or None.
    """

    place: int | None
    until_s: float = inf


def least_slack_s(view: View) -> float:
    """Return the slack below which the safety net applies: two starts plus losses."""
    return 2 * view.job.overhead_s + view.checkpoints.most_lost_s + view.leaving_s


def is_late(view: View) -> bool:
    """Return whether the safety net applies."""
    return view.slack_s <= least_slack_s(view) + ROUNDING_S


@dataclass(frozen=True)
class Ruled:
    """A policy: the choice of a function, subject to exploitation and the safety net.

    choose: returns a Choice for a view without a spot instance, if the safety net does
    not apply.
    """

    name: str
    choose: Callable[[View], Choice]

    def __call__(self, view: View) -> Iterator[Any]:
        """Yield the job's next resource, or when to decide again."""
        if view.on_spot:
            return  # exploitation
        place, until_s = Choice(view.on_demand) if is_late(view) else self.choose(view)
        if place == view.on_demand != view.on and not view.dear.up:
            place = view.up[0] if view.up else None  # it has run out
        # it has just left, and lost something
        if place != view.on and view.moved_s == view.now_s:
            yield Wake(view.now_s + ROUNDING_S)
            return
        if place != view.on:
            yield view.job, place
        if place is None and not is_late(view):
            net_s = view.now_s + view.slack_s - least_slack_s(view)
            yield Wake(min(max(until_s, view.now_s + ROUNDING_S), net_s))
        elif place == view.on_demand and until_s < inf:
            yield Wake(max(until_s, view.now_s + ROUNDING_S))


class Oracle:
    """A policy that knows the future market. sees: returns the policy for a market."""

    def __init__(self, name: str, sees: Callable[[Market], Policy]) -> None:
        self.name, self.sees = name, sees
        self._told: Policy | None = None

    def __call__(self, view: View) -> Any:
        """Return the decision of the policy; each run calls its own copy."""
        if self._told is None:
            self._told = self.sees(view._market)
        return self._told(view)
