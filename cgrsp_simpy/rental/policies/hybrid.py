"""Policies that combine shortest-first and deadlines (thesis 4.5.8 to 4.5.12).

SPT+Rescue, Adaptive, CADR and its ablation sort the waiting jobs into tiers by the
deadline d_j, the time t and e_j, the least mean execution time over the slots idle at
the start of the decision. A tier is (upper limit of deadlines, rank, e for
shortest-first or 0 for earliest deadline), in increasing order of deadline. Rolling
Horizon does so with e_j over all slots, and reserves slots for tight jobs.
"""

from __future__ import annotations

from math import inf, nextafter

from cgrsp_simpy.base.parameters import (
    AtLeastOne,
    Finite,
    Fraction,
    NotNegative,
    Whole,
    checked,
)
from cgrsp_simpy.rental.policies.rules import (
    COST_WEIGHT,
    STOCK_PENALTY,
    ListPolicy,
    Tier,
    fastest,
    score,
    speed_cost_stock,
    tiers,
    withheld,
)

LOW = 2  # stock


@checked
def spt_rescue(
    threshold_s: Finite = 600.0,
    cost_weight: Fraction = COST_WEIGHT,
) -> ListPolicy:
    """Shortest first, but jobs of little laxity before all others, by deadline.

    threshold_s: laxity below which a job goes first. cost_weight: weight of cost
    relative to speed. Thesis Section 4.5.8, Eq. 4.3.
    """
    place = speed_cost_stock.with_parameters(cost_weight=cost_weight)
    return ListPolicy(
        by_rescue.with_parameters(threshold_s=threshold_s), place, "spt-rescue"
    )


@tiers
def by_rescue(
    now_s: float, fastest_idle_s: float, threshold_s: float = 600.0
) -> tuple[Tier, ...]:
    """Jobs of little laxity by deadline, then the others by time."""
    urgent_s = now_s + threshold_s  # d_j - t - e_j < theta, thesis Eq. 4.3
    return (urgent_s + fastest_idle_s, 0, 0.0), (inf, 1, fastest_idle_s)


@checked
def adaptive(
    threshold_s: Finite = 600.0,
    pressure: Whole = 10,
    wide_s: Finite = 28800.0,
) -> ListPolicy:
    """SPT+Rescue with doomed jobs last, and by deadline if many jobs wait.

    threshold_s: laxity below which a job is critical. pressure: number of waiting jobs
    above which wide_s replaces threshold_s. Thesis Section 4.5.12.
    """
    values = {"threshold_s": threshold_s, "pressure": pressure, "wide_s": wide_s}
    order = by_pressure.with_parameters(**values)
    return ListPolicy(order, by_laxity.with_parameters(**values), "adaptive")


@tiers
def by_pressure(
    now_s: float,
    waiting: int,
    fastest_idle_s: float,
    threshold_s: float = 600.0,
    pressure: int = 10,
    wide_s: float = 28800.0,
) -> tuple[Tier, ...]:
    """Critical jobs by deadline, then others by time, then hopeless ones."""
    e, soon_s = fastest_idle_s, now_s + (wide_s if waiting > pressure else threshold_s)
    # hopeless if L_j < 0, critical if L_j < theta_eff
    return (now_s + e, 2, 0.0), (soon_s + e, 0, 0.0), (inf, 1, e)


@score
def by_laxity(
    now_s: float,
    waiting: int,
    deadline_s: float,
    fastest_idle_s: float,
    mean_s: float,
    fastest_offer_s: float,
    price_usd_per_h: float,
    cheapest_offer_usd_per_h: float,
    status: int,
    threshold_s: float = 600.0,
    pressure: int = 10,
    wide_s: float = 28800.0,
) -> tuple[float]:
    """Score of SPT, without the cost for a critical job."""
    laxity_s = deadline_s - now_s - fastest_idle_s
    critical = 0 <= laxity_s < (wide_s if waiting > pressure else threshold_s)
    cost_weight = 0.0 if critical else COST_WEIGHT
    speed = mean_s / fastest_offer_s
    cost = price_usd_per_h / (cheapest_offer_usd_per_h or 1.0)  # all free
    return ((1 - cost_weight) * speed + cost_weight * cost + STOCK_PENALTY[status],)


@tiers
def by_risk(
    now_s: float, fastest_idle_s: float, critical_ratio: float = 3.0
) -> tuple[Tier, ...]:
    """At-risk jobs by deadline, then safe ones by time, then doomed ones.

    The groups depend on the critical ratio CR_j = (d_j - t) / e_j.
    """
    e = fastest_idle_s
    # CR_j <= 1 and CR_j <= CR*, thesis Eq. 4.5; the bounds belong to the tiers
    doomed = nextafter(now_s + e, inf)
    at_risk = nextafter(now_s + critical_ratio * e, inf)
    return (doomed, 2, 0.0), (at_risk, 0, 0.0), (inf, 1, e)


@checked
def cadr(critical_ratio: AtLeastOne = 3.0) -> ListPolicy:
    """Cost-aware deadline risk: order by critical ratio, on the cheapest slot in time.

    critical_ratio: CR*, up to which a job that is not doomed is at risk. Thesis Section
    4.5.11, Eq. 4.5.
    """
    return ListPolicy(
        by_risk.with_parameters(critical_ratio=critical_ratio), cheapest_in_time, "cadr"
    )


@score
def cheapest_in_time(
    now_s: float,
    deadline_s: float,
    mean_s: float,
    price_usd_per_h: float,
    status: int,
    best_status: int,
) -> tuple[float, float, float]:
    """The cheapest slot in time, not Low unless all are Low; otherwise the fastest."""
    stocked = status != LOW or best_status == LOW
    if stocked and now_s + mean_s <= deadline_s:
        return 0.0, price_usd_per_h, mean_s
    return 1.0, mean_s, 0.0


@checked
def cadr_order_only(critical_ratio: AtLeastOne = 3.0) -> ListPolicy:
    """CADR's order on the fastest idle slot, to measure the effect of the order alone.

    critical_ratio: as in `cadr`. Thesis Section 4.5.11, "the fastest-available-node
    rule"; the text attributes this rule to SPT, whose score is Eq. 4.1.
    """
    return ListPolicy(
        by_risk.with_parameters(critical_ratio=critical_ratio), fastest, "cadr-oo"
    )


# ---- Rolling Horizon, Section 4.5.10, Algorithm 4 ----


RH_QOS_WEIGHT, RH_COST_WEIGHT = 0.5, 0.5  # w_qos, w_cost
WAIT_WEIGHT, MISS_WEIGHT = 1.0, 10.0  # alpha_1, alpha_2


@checked
def rolling_horizon(reserve: Whole = 1, gate: NotNegative = 0.95) -> ListPolicy:
    """Jobs that cannot wait first; below saturation, slots are reserved for tight jobs.

    reserve: idle slots withheld from loose jobs, at most all slots but one. gate:
    offered load from which no slots are reserved. Thesis Section 4.5.10.
    """
    values = {"reserve": reserve, "gate": gate}
    order, kept = (rule.with_parameters(**values) for rule in (by_urgency, reserved))
    return ListPolicy(order, least_surrogate, "rh", kept)


@withheld
def reserved(
    offered_load: float, slots: int, reserve: int = 1, gate: float = 0.95
) -> float:
    """R, the number of reserved slots: 0 if the offered load reaches the gate."""
    return min(reserve, slots - 1) if offered_load < gate else 0


@tiers
def by_urgency(
    now_s: float,
    next_free_s: float,
    tight: bool,
    fastest_s: float,
    offered_load: float,
    slots: int,
    reserve: int = 1,
    gate: float = 0.95,
) -> tuple[Tier, ...]:
    """Tight jobs by deadline while there is a reserve, urgent ones by deadline, normal
    ones by time, then hopeless ones.
    """
    e, eager = fastest_s, offered_load < gate and min(reserve, slots - 1) > 0
    # t + e_j > d_j; urgent if t_free + e_j > d_j, else normal
    if eager and tight:
        return (now_s + e, 3, 0.0), (inf, 0, 0.0), (inf, 2, e)
    return (now_s + e, 3, 0.0), (next_free_s + e, 1, 0.0), (inf, 2, e)


@score
def least_surrogate(
    now_s: float,
    submit_s: float,
    deadline_s: float,
    mean_s: float,
    price_usd_per_h: float,
    status: int,
) -> tuple[float]:
    """Least w_qos (alpha_1 w_j + alpha_2 (1 - delta_j)) + w_cost c_j + sp(s), now."""
    missed = MISS_WEIGHT if mean_s > deadline_s - now_s else 0.0
    qos = WAIT_WEIGHT * (now_s - submit_s) + missed
    cost_usd = mean_s * price_usd_per_h / 3600
    return (RH_QOS_WEIGHT * qos + RH_COST_WEIGHT * cost_usd + STOCK_PENALTY[status],)
