"""The policies by name: functions of a view that say where the job goes.

Source: Wu et al., "Can't Be Late: Optimizing Spot Instance Savings under Deadlines", NSDI 2024.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import floor
from typing import Any

from cgrsp_simpy.model.checks import check_whole
from cgrsp_simpy.model.policy import Wake, chosen
from cgrsp_simpy.spot.expected import expected_cost
from cgrsp_simpy.spot.market import Stretch, Zone
from cgrsp_simpy.spot.optimum import Market
from cgrsp_simpy.spot.view import ROUNDING_S, Choice, Oracle, Policy, Ruled, View


def on_demand_only(view: View) -> Choice:
    """On demand from start to end."""
    return Choice(view.on_demand)


def greedy(view: View) -> Choice:
    """A spot instance whenever there is one, else idle, until the safety net holds."""
    return Choice(view.up[0] if view.up else None)


def uniform_progress(view: View) -> Choice:
    """As much progress as if it were uniform, ep(t) = t C(0) / R(0): behind it on demand, and back
    to idle only when progress reaches ep(t + 2 d); a spot instance whenever there is one.
    """
    return Choice(view.up[0]) if view.up else _uniformly(view)


def _uniformly(view: View) -> Choice:
    """Uniform progress without spot instances: the rules of falling behind and of hysteresis."""
    job = view.job
    pace = job.work_s / job.deadline_s  # of ep
    ahead_s = 2 * job.overhead_s if view.on == view.on_demand else 0.0
    # ahead of ep(t + ahead) by so much
    lead_s = view.progress_s - pace * (view.now_s + ahead_s)
    if view.on is None:
        if lead_s <= ROUNDING_S:
            return Choice(view.on_demand)
        return Choice(None, view.now_s + lead_s / pace)
    if lead_s >= -ROUNDING_S:
        return Choice(None, view.now_s + (lead_s + 2 * pace * job.overhead_s) / pace)
    begins_s = max(view.ready_s, view.now_s)
    behind_s = pace * (begins_s - view.now_s) - lead_s  # once its changeover is over
    return Choice(view.on_demand, begins_s + behind_s / (1 - pace) if pace < 1 else float("inf"))


@dataclass(frozen=True)
class TimeSliced:
    """The time until the deadline in equal slices, each with its share of the work: within a slice
    as greedy, with a safety net for the work that should be done by its end.

    slices: how many.
    """

    slices: int

    def __call__(self, view: View) -> Choice:
        """Where the job goes now."""
        if view.up:
            return Choice(view.up[0])
        job = view.job
        length_s = job.deadline_s / self.slices
        number = min(floor((view.now_s + ROUNDING_S) / length_s) + 1, self.slices)
        end_s, share_s = number * length_s, number / self.slices * job.work_s
        left_s = share_s - view.progress_s
        if left_s <= ROUNDING_S:
            return Choice(None, end_s)
        if view.on == view.on_demand:
            return Choice(view.on_demand, max(view.ready_s, view.now_s) + left_s)
        net_s = end_s - left_s - 2 * job.overhead_s
        if view.now_s >= net_s - ROUNDING_S:
            return Choice(view.on_demand, view.now_s + job.overhead_s + left_s)
        return Choice(None, net_s)


class NextSpot(Oracle):
    """Uniform progress that sees one step ahead: for how long each spot instance will last, and
    when the next one comes.

    It takes the instance that lasts longest, and none that lasts for less than d k / (k - 1), with
    k the ratio of the prices: the same progress is cheaper on demand. Behind uniform progress it
    waits all the same where the next instance worth a start comes before it is 2 d behind.
    """

    name = "next-spot"

    def sees(self, market: Market) -> Policy:
        job = market.job
        k = job.on_demand_usd_per_h / job.spot_usd_per_h
        worth_s, pace = job.overhead_s * k / (k - 1), job.work_s / job.deadline_s
        ahead = [_ups(zone, market.end) for zone in market.zones]

        def choose(view: View) -> Choice:
            """Where the job goes now."""
            spells = [
                (from_s, to_s, zone)
                for zone, ups in enumerate(ahead)
                for from_s, to_s in ups
                if to_s > view.now_s and to_s - max(from_s, view.now_s) > worth_s
            ]
            here = [(to_s, zone) for from_s, to_s, zone in spells if from_s <= view.now_s]
            if here:
                return Choice(max(here)[1])
            next_s = min((from_s for from_s, _, _ in spells), default=float("inf"))
            behind_s = pace * (next_s - 2 * job.overhead_s) - view.progress_s
            if view.on is None and behind_s <= ROUNDING_S:
                return Choice(None, next_s)
            return _uniformly(view)

        return Ruled(self.name, choose)


def _ups(zone: Zone, end: Stretch) -> list[tuple[float, float]]:
    """When a zone has spot instances, from and to, seconds."""
    after = (*zone.stretches[1:], end)
    return [(one.from_s, next.from_s) for one, next in zip(zone.stretches, after) if one.up]


class Omniscient(Oracle):
    """The omniscient optimum: carries out its plan, free of the rules of the others."""

    name = "optimum"

    def sees(self, market: Market) -> Policy:
        plan = market.optimum.plan

        def carry_out(view: View) -> Iterator[Any]:
            """Where the plan has the job now."""
            now = [held for held in plan if held.from_s <= view.now_s < held.to_s]
            place = now[0].place if now else None
            if place != view.on:
                yield view.job, place
            later = [
                time_s
                for held in plan
                for time_s in (held.from_s, held.to_s)
                if time_s > view.now_s
            ]
            if later:
                yield Wake(min(later))

        return carry_out


def _time_sliced(slices: int = 10) -> Policy:
    check_whole("slices", slices, least=1)
    return Ruled("time-sliced", TimeSliced(slices))


POLICIES: dict[str, Callable[..., Policy | Oracle]] = {
    "on-demand": lambda: Ruled("on-demand", on_demand_only),
    "greedy": lambda: Ruled("greedy", greedy),
    "time-sliced": _time_sliced,
    "uniform-progress": lambda: Ruled("uniform-progress", uniform_progress),
    "expected-cost": lambda: Ruled("expected-cost", expected_cost),
    "next-spot": NextSpot,
    "optimum": Omniscient,
}
"""Factories by name; next-spot and optimum see what is to come."""

COMPARED = tuple(POLICIES)  # names of the policies that are compared unless told


def make_policy(policy: str | Policy | Oracle) -> Policy | Oracle:
    """A policy from its text: "greedy", "time-sliced:slices=5", "own.py:patient"; a callable is
    passed through. Raises InputError for an unknown name, parameter or file, or a value that is not
    allowed.
    """
    return chosen("policy", policy, POLICIES)
