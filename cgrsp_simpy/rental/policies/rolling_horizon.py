"""Rolling Horizon (thesis Section 4.5.10, Algorithm 4)."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from cgrsp_simpy.model.checks import check_number, check_whole
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.policies.rules import (
    STOCK_PENALTY,
    ListPolicy,
    Tier,
    Tiers,
    TiersOfClass,
    fastest_of_all_s,
)
from cgrsp_simpy.rental.view import SlotView, View

QOS_WEIGHT, COST_WEIGHT = 0.5, 0.5  # w_qos, w_cost
WAIT_WEIGHT, MISS_WEIGHT = 1.0, 10.0  # alpha_1, alpha_2


def rolling_horizon(reserve: int = 1, gate: float = 0.95) -> ListPolicy:
    """Jobs that cannot wait for the next slot first; below saturation a reserve of idle
    slots is kept for tight jobs.

    reserve: idle slots withheld from loose jobs, >= 0; one slot at least is always left
    to them. gate: offered load from which nothing is reserved, >= 0. Thesis
    Section 4.5.10.
    """
    check_whole("reserve", reserve, least=0)
    check_number("gate", gate, least=0)

    def reserved(view: View) -> int:
        """R: the reservation, if the load gate is open."""
        known = view.known
        return min(reserve, len(known.fleet) - 1) if known.offered_load < gate else 0

    def tiers(view: View) -> TiersOfClass:
        now, free, eager = view.now_s, next_free_s(view), reserved(view) > 0

        def of_class(tight: bool, e: float) -> Sequence[Tier]:
            hopeless = (now + e, 3, 0.0)  # t + e_j > d_j
            if eager and tight:
                return hopeless, (inf, 0, 0.0)
            # urgent if t_free + e_j > d_j, else normal
            return hopeless, (free + e, 1, 0.0), (inf, 2, e)

        return of_class

    order = Tiers(tiers, fastest_of_all_s, skipped=True)
    return ListPolicy(order, least_surrogate, "rh", reserved)


def next_free_s(view: View) -> float:
    """t_free: when the next busy slot is expected to end; now if none
    is, or overdue.
    """
    return max(view.now_s, view.next_end_s or 0.0)


def least_surrogate(view: View, job: Job, offers: Sequence[SlotView]) -> SlotView:
    """Least w_qos (alpha_1 w_j + alpha_2 (1 - delta_j)) + w_cost c_j + sp(s), now."""
    now, level = view.now_s, job.complexity - 1
    wait_s, left_s = now - job.submit_s, job.deadline_s - now

    def score(slot: SlotView) -> float:
        mean_s = slot.gpu.mean_execution_s[level]
        missed = mean_s > left_s
        cost_usd = mean_s * slot.gpu.price_usd_per_h / 3600
        qos = WAIT_WEIGHT * wait_s + MISS_WEIGHT * missed
        penalty = STOCK_PENALTY[view.status(slot)]
        return QOS_WEIGHT * qos + COST_WEIGHT * cost_usd + penalty

    return min(offers, key=score)
