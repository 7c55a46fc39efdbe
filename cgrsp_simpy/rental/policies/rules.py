"""Orders (which job is next) and placements (on which slot), which form policies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import exp, inf

from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.policies.rule import Tier, Tiers, index, score, tiers
from cgrsp_simpy.rental.view import Assignment, SlotView, View

Order = Callable[[View], Iterable[Job]]
"""From a view to waiting jobs in order, at least as many as idle slots if possible."""

PlacementRule = Callable[[View, Job, Sequence[SlotView]], SlotView]
"""From a view, a job and at least two offers to one of these."""

Reserve = Callable[[View], int]
"""From a view to the number of idle slots withheld from loose jobs."""

COST_WEIGHT = 0.3  # w_c of thesis Eq. 4.1
STOCK_PENALTY = (0.0, 0.2, 1.0)  # sp(s) at High, Medium, Low, thesis Eq. 4.1 and 4.2


class ListPolicy:
    """Take jobs in an order and place each one, while slots are idle.

    No job overtakes one of several GPUs that does not fit. order: function from a view
    to waiting jobs. place: from a view, a job and the slots on offer to one of these
    slots. name: for reports. reserve: from a view to a number of slots; a loose job
    starts only while more slots are idle, and is passed over otherwise.
    """

    def __init__(
        self,
        order: Order,
        place: PlacementRule,
        name: str = "list",
        reserve: Reserve | None = None,
    ) -> None:
        self.order, self.place, self.name, self.reserve = order, place, name, reserve
        self._ordered = order
        if reserve is not None and isinstance(order, Tiers):
            self._ordered = partial(order, skipped=True)

    def __call__(self, view: View) -> list[Assignment]:
        answer: list[Assignment] = []
        offers, idle = view.offers(), view.idle_count
        withheld = self.reserve(view) if self.reserve else 0
        taken: SlotView | None = None
        for job in self._ordered(view):
            if idle <= withheld and not job.tight:
                continue
            if job.gpus > idle:
                break
            slots = []
            for _ in range(job.gpus):
                if taken is not None:
                    offers = view.offers_after(offers, taken)
                one = len(offers) == 1
                taken = offers[0] if one else self.place(view, job, offers)
                slots.append(taken)
            answer.append(assign(job, slots))
            idle -= job.gpus
            if not idle:
                break
        return answer


def assign(job: Job, slots: Sequence[SlotView]) -> Assignment:
    """Return the pair that assigns a job its slot or slots."""
    return job, slots[0] if job.gpus == 1 else tuple(slots)


# ---- orders ----


def by_submission(view: View) -> Iterable[Job]:
    """First come, first served; as many jobs as slots are idle."""
    return view.first(view.idle_count)


@tiers
def by_deadline() -> tuple[Tier, ...]:
    """Earliest deadline first; ties by submission."""
    return ((inf, 0, 0.0),)


@tiers
def shortest_first(reference_s: float) -> tuple[Tier, ...]:
    """Shortest first by the estimate on the reference type; ties by deadline."""
    return ((inf, 0, reference_s),)


@index
def by_c_mu(
    now_s: float,
    deadline_s: float,
    fastest_idle_s: float,
    weight: float,
    late: float = 11.0,
) -> float:
    """Weight x cost of a second (1, or `late` for a late job) / estimate."""
    slack_s = deadline_s - now_s - fastest_idle_s
    return weight * ((late if slack_s < 0 else 1.0) / fastest_idle_s)


@index
def by_atc(
    now_s: float,
    deadline_s: float,
    fastest_idle_s: float,
    mean_fastest_idle_s: float,
    weight: float,
    look_ahead: float = 2.0,
) -> float:
    """Apparent tardiness cost, weight x exp(-slack / (K x mean time)) / estimate."""
    slack_s = max(0.0, deadline_s - now_s - fastest_idle_s)
    urgency = exp(-slack_s / (look_ahead * mean_fastest_idle_s))
    return weight * (urgency / fastest_idle_s)


@index
def by_covert(
    now_s: float,
    deadline_s: float,
    fastest_idle_s: float,
    mean_fastest_idle_s: float,
    weight: float,
    look_ahead: float = 2.0,
) -> float:
    """Cost over time, weight x (1 - slack / (K x mean time)) / estimate, at least 0."""
    slack_s = max(0.0, deadline_s - now_s - fastest_idle_s)
    urgency = max(0.0, 1.0 - slack_s / (look_ahead * mean_fastest_idle_s))
    return weight * (urgency / fastest_idle_s)


# ---- placements ----


def first_idle(view: View, job: Job, offers: Sequence[SlotView]) -> SlotView:
    """The slot that was registered first."""
    return offers[0]


@score
def fastest(mean_s: float) -> tuple[float]:
    """The least mean execution time."""
    return (mean_s,)


@score
def cheapest(price_usd_per_h: float, mean_s: float) -> tuple[float, float]:
    """The least price per second; ties go to the fastest."""
    return price_usd_per_h, mean_s


@score
def stock_then_fastest(status: int, mean_s: float) -> tuple[float, float]:
    """High before Medium before Low stock, then the fastest (thesis Section 4.5.3)."""
    return status, mean_s


@score
def speed_cost_stock(
    mean_s: float,
    fastest_offer_s: float,
    price_usd_per_h: float,
    cheapest_offer_usd_per_h: float,
    status: int,
    cost_weight: float = COST_WEIGHT,
) -> tuple[float]:
    """Least score of stock and of relative speed and cost (thesis Eq. 4.1)."""
    speed = mean_s / fastest_offer_s
    cost = price_usd_per_h / (cheapest_offer_usd_per_h or 1.0)  # all free
    penalty = STOCK_PENALTY[status]
    return ((1 - cost_weight) * speed + cost_weight * cost + penalty,)
