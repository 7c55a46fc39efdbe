"""Classic policies (thesis Sections 4.5.1 to 4.5.6), and preemptive ones."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import Any

from cgrsp_simpy.base.parameters import AtLeastOne, Fraction, Positive, checked
from cgrsp_simpy.base.policy import Suspend
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.policies.rules import (
    COST_WEIGHT,
    STOCK_PENALTY,
    ListPolicy,
    assign,
    by_atc,
    by_c_mu,
    by_covert,
    by_deadline,
    by_submission,
    first_idle,
    score,
    shortest_first,
    speed_cost_stock,
    stock_then_fastest,
)
from cgrsp_simpy.rental.view import Assignment, SlotView, View

STOCK_FACTOR = (1.0, 1.05, 1.15)  # sigma(s) at High, Medium, Low, thesis Section 4.5.4


def fifo() -> ListPolicy:
    """First in, first out, on the slot registered first."""
    return ListPolicy(by_submission, first_idle, "fifo")


@checked
def spt(cost_weight: Fraction = COST_WEIGHT) -> ListPolicy:
    """Shortest processing time first, on the slot with the best speed, cost and stock.

    cost_weight: weight of cost relative to speed. Thesis Section 4.5.2, Eq. 4.1.
    """
    return ListPolicy(
        shortest_first, speed_cost_stock.with_parameters(cost_weight=cost_weight), "spt"
    )


def edf() -> ListPolicy:
    """Earliest deadline first, on the fastest slot of those with the best stock."""
    return ListPolicy(by_deadline, stock_then_fastest, "edf")


def lcf() -> ListPolicy:
    """Lowest cost first: by submission, on the slot with the least effective cost."""
    return ListPolicy(by_submission, least_effective_cost, "lcf")


@score
def least_effective_cost(
    price_usd_per_h: float, mean_s: float, status: int
) -> tuple[float]:
    """Price x mean execution time x stock factor (thesis Section 4.5.4)."""
    return (price_usd_per_h * mean_s * STOCK_FACTOR[status],)


@checked
def balanced(alpha: Fraction = 0.8) -> ListPolicy:
    """By submission, on the slot with the best composite of time, price and stock.

    alpha: weight of time relative to price. Thesis Section 4.5.5, Eq. 4.2.
    """
    return ListPolicy(by_submission, composite.with_parameters(alpha=alpha), "balanced")


@score
def composite(
    mean_s: float,
    slowest_s: float,
    price_usd_per_h: float,
    dearest_usd_per_h: float,
    status: int,
    alpha: float = 0.8,
) -> tuple[float]:
    """Time and price relative to the greatest of all, and stock (thesis Eq. 4.2)."""
    time = mean_s / slowest_s
    price = price_usd_per_h / (dearest_usd_per_h or 1.0)  # all free
    return (alpha * time + (1 - alpha) * price + STOCK_PENALTY[status],)


@checked
def c_mu(late: AtLeastOne = 11.0) -> ListPolicy:
    """The c mu rule: greatest cost of a second divided by the estimate e first.

    late: cost of a second for a job that is already late (otherwise 1), multiplied by
    the job's weight; the default is that of `triage`. Cox and Smith 1961.
    """
    return ListPolicy(by_c_mu.with_parameters(late=late), stock_then_fastest, "c-mu")


@checked
def atc(look_ahead: Positive = 2.0) -> ListPolicy:
    """Apparent tardiness cost: weight x exp(-slack / (K x mean time)) / e.

    look_ahead: K, > 0. e: estimated execution time. Vepsalainen and Morton 1987.
    """
    return ListPolicy(
        by_atc.with_parameters(look_ahead=look_ahead), stock_then_fastest, "atc"
    )


@checked
def covert(look_ahead: Positive = 2.0) -> ListPolicy:
    """Cost over time: weight x (1 - slack / (K x mean time)) / e, from 0 to weight / e.

    look_ahead: K, > 0, the expected wait in mean execution times. e: estimated
    execution time. Carroll 1965.
    """
    return ListPolicy(
        by_covert.with_parameters(look_ahead=look_ahead), stock_then_fastest, "covert"
    )


class AtRandom:
    """A random waiting job on a random idle slot (and type), until none remains."""

    name = "random"

    def __call__(self, view: View) -> list[Assignment]:
        answer: list[Assignment] = []
        taken: list[int] = []  # positions among the idle slots, ascending
        most = min(view.waiting, view.idle_count)
        places = view.rng.sample(range(view.waiting), most)
        for job in map(view.waiting_job, places):
            if job.gpus > view.idle_count - len(taken):
                break
            answer.append(assign(job, [anywhere(view, taken) for _ in range(job.gpus)]))
        return answer


def anywhere(view: View, taken: list[int]) -> SlotView:
    """Draw a slot that is not yet taken, and one of its possible types."""
    known = view.known
    types = len(known.gpus) if known.free_types else 1
    choices = (view.idle_count - len(taken)) * types
    drawn = view.rng.choice(range(choices)) if choices > 1 else 0
    place, gpu = divmod(drawn, types)
    for other in taken:
        place += other <= place
    insort(taken, place)
    slot = view.idle[place]
    return SlotView(slot.index, known.gpus[gpu]) if known.free_types else slot


Key = Callable[[View, Job, float], Any]
"""(view, job, share of its mean time that is left) -> rank, the least first."""


def edf_p() -> Preemptive:
    """Preemptive earliest deadline first: jobs of later deadlines are suspended.

    On one slot, without delays and overheads, it meets all deadlines if possible (Liu
    and Layland 1973; Dertouzos 1974).
    """
    listed = ListPolicy(by_deadline, stock_then_fastest, "edf-p")
    return Preemptive(lambda view, job, left: job.deadline_s, listed)


def srpt() -> Preemptive:
    """Preemptive shortest remaining processing time, by mean times on the reference.

    Optimal in mean response time on one slot with known times (Schrage 1968).
    """
    return Preemptive(time_left, ListPolicy(by_time_left, speed_cost_stock, "srpt"))


def time_left(view: View, job: Job, left: float) -> tuple[float, float]:
    """Return the mean seconds left on the reference type, and the deadline for ties."""
    reference_s = view.known.gpus[0].mean_execution_s
    return left * reference_s[job.complexity - 1], job.deadline_s


def by_time_left(view: View) -> list[Job]:
    """Return the waiting jobs, least remaining time first."""
    return sorted(
        view.queue, key=lambda job: (time_left(view, job, view.share_left(job)), job.id)
    )


class Preemptive:
    """Run the jobs with the least keys; suspend all other running jobs.

    No job overtakes a job of several GPUs that does not fit. key: function of a view, a
    waiting or running job, and the remaining share of its mean time. listed: policy
    that dispatches waiting jobs in the same order.
    """

    suspends = True

    def __init__(self, key: Key, listed: ListPolicy) -> None:
        self.key, self.listed, self.name = key, listed, listed.name

    def __call__(self, view: View) -> list[Suspend] | list[Assignment]:
        return self._give_way(view) or self.listed(view)

    def _give_way(self, view: View) -> list[Suspend]:
        """Suspend running jobs with greater keys than waiting jobs that need slots."""
        running = {usage.job: usage for usage in view.running}
        left = {job: usage.left for job, usage in running.items()}
        left |= {job: view.share_left(job) for job in view.queue}
        ranked = sorted(
            left,
            key=lambda job: (
                self.key(view, job, left[job]),
                job not in running,
                job.id,
            ),
        )
        first = fitting(ranked, len(view.known.fleet))
        need = sum(job.gpus for job in first if job not in running) - view.idle_count
        answer: list[Suspend] = []
        for job in reversed(ranked):
            if (
                need > 0
                and job in running
                and job not in first
                and running[job].since_s < view.now_s
            ):
                answer.append(Suspend(job))
                need -= job.gpus
        return answer


def fitting(ranked: list[Job], slots: int) -> set[Job]:
    """Return the first jobs, as many as fit on the slots."""
    first: set[Job] = set()
    for job in ranked:
        if job.gpus > slots:
            break
        slots -= job.gpus
        first.add(job)
    return first
