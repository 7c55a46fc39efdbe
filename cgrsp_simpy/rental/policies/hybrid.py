"""Policies that mix shortest-first with deadlines (thesis Sections 4.5.8 to 4.5.12).

SPT+Rescue, Adaptive, CADR and its ablation. Each sorts the waiting jobs into tiers by
deadline d_j, the clock t and e_j, the least mean execution time over the slots that are
idle at the start of the decision. The tiers are written by rising deadline: (deadline
before which the tier lies, rank, e for shortest-first or 0 for earliest deadline).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nextafter

from cgrsp_simpy.model.checks import check_fraction, check_number, check_whole
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.market import Status
from cgrsp_simpy.rental.policies.classic import COST_WEIGHT
from cgrsp_simpy.rental.policies.rules import (
    ListPolicy,
    Tier,
    Tiers,
    TiersOfClass,
    cheapest,
    fastest,
    fastest_idle_s,
    speed_cost_stock,
)
from cgrsp_simpy.rental.view import SlotView, View


def spt_rescue(
    threshold_s: float = 600.0,
    cost_weight: float = COST_WEIGHT,
) -> ListPolicy:
    """Shortest first, but jobs of little laxity before all others, by deadline.

    threshold_s: laxity below which a job goes first, seconds. cost_weight: weight of
    cost against speed, 0 to 1. Thesis Section 4.5.8, Eq. 4.3.
    """
    check_number("threshold_s", threshold_s)
    check_fraction("cost_weight", cost_weight)

    def tiers(view: View) -> TiersOfClass:
        urgent_s = view.now_s + threshold_s  # d_j - t - e_j < theta, thesis Eq. 4.3
        return lambda tight, e: ((urgent_s + e, 0, 0.0), (inf, 1, e))

    order, place = Tiers(tiers, fastest_idle_s), speed_cost_stock(cost_weight)
    return ListPolicy(order, place, "spt-rescue")


def adaptive(
    threshold_s: float = 600.0,
    pressure: int = 10,
    wide_s: float = 28800.0,
) -> ListPolicy:
    """SPT+Rescue with doomed jobs last, and by deadline throughout while more than
    `pressure` jobs wait.

    threshold_s: laxity below which a job is critical, seconds. pressure: number of
    waiting jobs above which `wide_s` takes its place, >= 0. wide_s: laxity below which
    a job is critical then, seconds. Thesis Section 4.5.12.
    """
    check_number("threshold_s", threshold_s)
    check_number("wide_s", wide_s)
    check_whole("pressure", pressure, least=0)

    def threshold(view: View) -> float:
        return wide_s if view.waiting > pressure else threshold_s

    def tiers(view: View) -> TiersOfClass:
        now, soon = view.now_s, view.now_s + threshold(view)
        # hopeless if L_j < 0, critical if L_j < theta_eff
        return lambda tight, e: ((now + e, 2, 0.0), (soon + e, 0, 0.0), (inf, 1, e))

    by_speed, by_speed_and_cost = speed_cost_stock(0.0), speed_cost_stock(COST_WEIGHT)

    def place(view: View, job: Job, offers: Sequence[SlotView]) -> SlotView:
        laxity_s = job.deadline_s - view.now_s - view.fastest_s()[job.complexity - 1]
        critical = 0 <= laxity_s < threshold(view)
        return (by_speed if critical else by_speed_and_cost)(view, job, offers)

    return ListPolicy(Tiers(tiers, fastest_idle_s), place, "adaptive")


def critical_ratio_tiers(critical_ratio: float) -> Tiers:
    """At-risk jobs by deadline, then safe ones by time, then doomed ones.

    By CR_j = (d_j - t) / e_j.
    """
    check_number("critical_ratio", critical_ratio, least=1)

    def tiers(view: View) -> TiersOfClass:
        now = view.now_s

        def of_class(tight: bool, e: float) -> Sequence[Tier]:
            # CR_j <= 1 and CR_j <= CR*, thesis Eq. 4.5; the bounds belong to the tiers
            doomed = nextafter(now + e, inf)
            at_risk = nextafter(now + critical_ratio * e, inf)
            return (doomed, 2, 0.0), (at_risk, 0, 0.0), (inf, 1, e)

        return of_class

    return Tiers(tiers, fastest_idle_s)


def cadr(critical_ratio: float = 3.0) -> ListPolicy:
    """Cost-aware deadline risk: triage by critical ratio, on the cheapest slot that
    meets the deadline.

    critical_ratio: CR*, up to which a job that is not doomed is at risk, >= 1. Thesis
    Section 4.5.11, Eq. 4.5.
    """
    return ListPolicy(critical_ratio_tiers(critical_ratio), cheapest_in_time, "cadr")


def cheapest_in_time(view: View, job: Job, offers: Sequence[SlotView]) -> SlotView:
    """The cheapest slot that meets the deadline; else the fastest.

    Of those that are not shown as Low; of all, if all are.
    """
    stocked = [slot for slot in offers if view.status(slot) != Status.LOW] or offers
    now, due_s = view.now_s, job.deadline_s
    in_time = [slot for slot in stocked if now + view.mean_s(job, slot) <= due_s]
    return cheapest(view, job, in_time) if in_time else fastest(view, job, offers)


def cadr_order_only(critical_ratio: float = 3.0) -> ListPolicy:
    """CADR's triage on the fastest idle slot, whatever its price and stock: what the
    order alone is worth.

    critical_ratio: as of `cadr`. Thesis Section 4.5.11, "the fastest-available-node
    rule"; the text ascribes it to SPT, whose own score is Eq. 4.1.
    """
    return ListPolicy(critical_ratio_tiers(critical_ratio), fastest, "cadr-oo")
