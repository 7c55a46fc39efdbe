"""Rolling Horizon (thesis Section 4.5.10, Algorithm 4)."""

from __future__ import annotations

from math import inf

from cgrsp_simpy.base.parameters import NotNegative, Whole, checked
from cgrsp_simpy.rental.policies.rule import Tier, score, tiers, withheld
from cgrsp_simpy.rental.policies.rules import STOCK_PENALTY, ListPolicy

QOS_WEIGHT, COST_WEIGHT = 0.5, 0.5  # w_qos, w_cost
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
    return (QOS_WEIGHT * qos + COST_WEIGHT * cost_usd + STOCK_PENALTY[status],)
