"""Policies by name: functions of a view that choose the job's resource.

Sources: Wu et al., "Can't Be Late: Optimizing Spot Instance Savings under Deadlines",
NSDI 2024; for several regions, Li et al., "SkyNomad: On Using Multi-Region Spot
Instances to Minimize AI Batch Job Cost", arXiv:2601.06520, and its program,
github.com/andylizf/skynomad-artifact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from math import floor, inf
from typing import Any

from cgrsp_simpy.base.parameters import Count, checked
from cgrsp_simpy.base.policy import Wake
from cgrsp_simpy.market.zones import Stretch
from cgrsp_simpy.spot.expected import ExpectedCost
from cgrsp_simpy.spot.job import Stay
from cgrsp_simpy.spot.optimum import Market, at
from cgrsp_simpy.spot.view import ROUNDING_S, Choice, Oracle, Policy, Ruled, View


def on_demand_only(view: View) -> Choice:
    """On demand from start to end."""
    return Choice(view.on_demand)


def greedy(view: View) -> Choice:
    """A spot instance if one is available, else idle until the safety net applies."""
    return Choice(view.up[0] if view.up else None)


def uniform_progress(view: View) -> Choice:
    """Spot if available; otherwise keep up with uniform progress, ep(t) = t C(0) /
    R(0).

    Behind ep(t), run on demand, and idle only after progress reaches ep(t + 2 d).
    """
    return Choice(view.up[0]) if view.up else _uniformly(view)


def uniform_failover(view: View) -> Choice:
    """Uniform progress in several regions, UP(S) of SkyNomad: cheapest available zone.

    Zones in the job's last region are tried last. From on demand, the job moves to
    spot, too, only when its progress reaches ep(t + 2 d).
    """
    choice = _uniformly(view)
    if not view.up or choice.place == view.on_demand == view.on:
        return choice
    last = None if view.at is None else view.zones[view.at].region
    return Choice(min(view.up, key=lambda zone: view.zones[zone].region == last))


def _uniformly(view: View) -> Choice:
    """Return the choice of uniform progress without spot instances, with hysteresis."""
    job = view.job
    pace = job.work_s / job.deadline_s  # slope of ep
    ahead_s = 2 * job.overhead_s if view.on == view.on_demand else 0.0
    # ahead of ep(t + ahead) by so much
    lead_s = view.progress_s - view.leaving_s - pace * (view.now_s + ahead_s)
    if view.on is None:
        if lead_s <= ROUNDING_S:
            return Choice(view.on_demand)
        return Choice(None, view.now_s + lead_s / pace)
    if lead_s >= -ROUNDING_S:
        return Choice(None)
    begins_s = max(view.ready_s, view.now_s)
    behind_s = pace * (begins_s - view.now_s) - lead_s  # once its changeover is over
    return Choice(view.on_demand, begins_s + behind_s / (1 - pace))


@checked
def time_sliced(slices: Count = 10) -> Policy:
    """Equal slices of the time until the deadline, each with its share of the work.

    Within a slice it acts like greedy, with a safety net for the slice's work.
    """

    def choose(view: View) -> Choice:
        if view.up:
            return Choice(view.up[0])
        job = view.job
        length_s = job.deadline_s / slices
        number = min(floor(view.now_s / length_s) + 1, slices)
        end_s, share_s = number * length_s, number / slices * job.work_s
        left_s = share_s - view.progress_s + view.leaving_s
        if left_s <= ROUNDING_S:
            return Choice(None, end_s)
        if view.on == view.on_demand:
            return Choice(view.on_demand, max(view.ready_s, view.now_s) + left_s)
        net_s = end_s - left_s - 2 * job.overhead_s
        if view.now_s >= net_s - ROUNDING_S:
            return Choice(view.on_demand, view.now_s + job.overhead_s + left_s)
        return Choice(None, net_s)

    return Ruled("time-sliced", choose)


def next_spot(market: Market) -> Policy:
    """Uniform progress that knows the next preemptions and the next spot instance.

    A heuristic for constant prices. It uses the instance that lasts longest, but none
    that lasts at most d k / (k - 1), with k the ratio of the prices, as the same
    progress is then no dearer on demand. If progress is behind, it still waits if the
    next usable instance comes before it is 2 d behind.
    """
    job = market.job
    k = job.on_demand_usd_per_h / job.spot_usd_per_h
    worth_s, pace = job.overhead_s * k / (k - 1), job.work_s / job.deadline_s
    ups = [
        (one.from_s, other.from_s, number)
        for number, zone in enumerate(market.zones)
        for one, other in pairwise((*zone.stretches, Stretch(job.deadline_s, False)))
        if one.up
    ]

    def choose(view: View) -> Choice:
        spells = [
            spell for spell in ups if spell[1] - max(spell[0], view.now_s) > worth_s
        ]
        if here := [
            (to_s, zone) for from_s, to_s, zone in spells if from_s <= view.now_s
        ]:
            return Choice(max(here)[1])
        next_s = min((from_s for from_s, _, _ in spells), default=inf)
        behind_s = pace * (next_s - 2 * job.overhead_s) - view.progress_s
        if view.on is None and behind_s <= ROUNDING_S:
            return Choice(None, next_s)
        return _uniformly(view)

    return Ruled("next-spot", choose)


def omniscient(market: Market) -> Policy:
    """Execute the omniscient optimum's plan, without the rules of other policies."""
    plan = tuple(_in_time(market, market.optimum.plan))
    if not plan:  # on demand runs out
        return Ruled("optimum", on_demand_only)

    def carry_out(view: View) -> Iterator[Any]:
        place = next(
            (held.place for held in plan if held.from_s <= view.now_s < held.to_s), None
        )
        if place != view.on:
            yield view.job, place
        times_s = [time_s for held in plan for time_s in (held.from_s, held.to_s)]
        if later := [time_s for time_s in times_s if view.now_s < time_s < inf]:
            yield Wake(min(later))

    return carry_out


def _in_time(market: Market, plan: Sequence[Stay]) -> Iterator[Stay]:
    """Make a plan start and leave just before instances disappear, and finish."""
    moment_s = ROUNDING_S / 100
    from_s = [
        stay.from_s
        - moment_s * (not at(market.places[stay.place].stretches, stay.from_s).up)
        for stay in plan
    ]
    for stay, own_s, next_s in zip(plan, from_s, [*from_s[1:], None]):
        if next_s is None:
            to_s = inf  # until the job is completed
        else:
            to_s = min(stay.to_s - moment_s * market.checkpoints.abrupt, next_s)
        yield stay._replace(from_s=own_s, to_s=to_s)


def _factory(
    kind: type[Ruled | Oracle], name: str, rule: Callable[..., Any]
) -> Callable[..., Policy | Oracle]:
    factory = partial(kind, name, rule)
    factory.__doc__ = rule.__doc__
    return factory


POLICIES: dict[str, Callable[..., Policy | Oracle]] = {
    "on-demand": _factory(Ruled, "on-demand", on_demand_only),
    "greedy": _factory(Ruled, "greedy", greedy),
    "time-sliced": time_sliced,
    "uniform-progress": _factory(Ruled, "uniform-progress", uniform_progress),
    "uniform-failover": _factory(Ruled, "uniform-failover", uniform_failover),
    "expected-cost": _factory(Ruled, "expected-cost", ExpectedCost()),
    "next-spot": _factory(Oracle, "next-spot", next_spot),
    "optimum": _factory(Oracle, "optimum", omniscient),
}
"""Factories by name; next-spot and optimum know the future; optimum is the bound."""

COMPARED = tuple(name for name in POLICIES if name != "uniform-failover")
"""Names of the policies that are compared by default."""
