"""The classic policies (thesis Sections 4.5.1 to 4.5.6), each an order and a placement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cgrsp_simpy.model.checks import check_fraction
from cgrsp_simpy.model.decision import SlotView, View
from cgrsp_simpy.model.job import Job
from cgrsp_simpy.policies.rules import (
    STOCK_PENALTY,
    ListPolicy,
    by_deadline,
    by_submission,
    first_idle,
    shortest_first,
    speed_cost_stock,
    stock_then_fastest,
)

__all__ = ["balanced", "edf", "fifo", "lcf", "random", "spt"]

COST_WEIGHT = 0.3  # w_c of thesis Eq. 4.1
STOCK_FACTOR = (1.0, 1.05, 1.15)  # sigma(s) at High, Medium, Low stock, thesis Section 4.5.4


def fifo() -> ListPolicy:
    """First in, first out, on the slot registered first."""
    return ListPolicy(by_submission, first_idle, "fifo")


def spt(cost_weight: float = COST_WEIGHT) -> ListPolicy:
    """Shortest processing time first, on the slot of best speed, cost and stock."""
    check_fraction("cost_weight", cost_weight)
    return ListPolicy(shortest_first, speed_cost_stock(cost_weight), "spt")


def edf() -> ListPolicy:
    """Earliest deadline first, on the best stocked, then fastest slot."""
    return ListPolicy(by_deadline, stock_then_fastest, "edf")


def lcf() -> ListPolicy:
    """Lowest cost first: in order of submission, on the slot of least effective cost."""
    return ListPolicy(by_submission, least_effective_cost, "lcf")


def least_effective_cost(view: View, job: Job, offers: Sequence[SlotView]) -> SlotView:
    """Price x mean execution time x stock factor (thesis Section 4.5.4)."""
    return min(offers, key=lambda slot: slot.gpu.price_usd_per_h * view.mean_s(job, slot) * STOCK_FACTOR[view.status(slot)])


def balanced(alpha: float = 0.8) -> ListPolicy:
    """In order of submission, on the slot of best speed-biased composite of time, price and stock."""
    check_fraction("alpha", alpha)

    def place(view: View, job: Job, offers: Sequence[SlotView]) -> SlotView:
        types = view.known.gpus if view.known.free_types else view.known.fleet
        slowest_s = max([gpu.mean_execution_s[job.complexity - 1] for gpu in types])
        dearest_usd = max([gpu.price_usd_per_h for gpu in types]) or 1.0  # all free: any divisor will do

        def score(slot: SlotView) -> float:  # thesis Eq. 4.2
            time, price = view.mean_s(job, slot) / slowest_s, slot.gpu.price_usd_per_h / dearest_usd
            return alpha * time + (1 - alpha) * price + STOCK_PENALTY[view.status(slot)]

        return min(offers, key=score)

    return ListPolicy(by_submission, place, "balanced")


def random() -> ListPolicy:
    """A random waiting job on a random idle slot, until one runs out."""
    return ListPolicy(in_random_order, anywhere, "random")


def in_random_order(view: View) -> Iterable[Job]:
    """As many waiting jobs as slots are idle, drawn without replacement."""
    return view.rng.sample(view.queue, min(view.waiting, len(view.idle)))


def anywhere(view: View, job: Job, offers: Sequence[SlotView]) -> SlotView:
    """A random slot."""
    return view.rng.choice(offers)
