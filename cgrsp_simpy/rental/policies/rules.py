"""Orders (what runs next) and placements (where): a pair of them is a policy."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from math import inf
from operator import mul

from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.view import Assignment, SlotView, View

Order = Callable[[View], Iterable[Job]]
"""From a view to waiting jobs, the next to run first.

At least as many as there are idle slots, where as many wait.
"""

Place = Callable[[View, Job, Sequence[SlotView]], SlotView]
"""From a view, a job and what can be provisioned to one of these two offers or more."""

Reserve = Callable[[View], int]
"""From a view to the number of idle slots that are withheld from loose jobs."""

STOCK_PENALTY = (0.0, 0.2, 1.0)  # sp(s) at High, Medium, Low, thesis Eq. 4.1 and 4.2


class ListPolicy:
    """Takes jobs in an order, puts each where a placement says, while slots are idle.

    A job of several GPUs that does not fit is not overtaken.

    Parameters
    ----------
    order : callable
        From a view to waiting jobs, in the order in which they are taken.
    place : callable
        From a view, a job and the slots on offer to the slot that it gets.
    name : str
        For reports.
    reserve : callable, optional
        From a view to a number of slots: a loose job starts only while more than these
        are idle; else it is passed over.
    """

    def __init__(
        self,
        order: Order,
        place: Place,
        name: str = "list",
        reserve: Reserve | None = None,
    ) -> None:
        self.order, self.place, self.name, self.reserve = order, place, name, reserve

    def __call__(self, view: View) -> list[Assignment]:
        """The assignments at a view."""
        answer: list[Assignment] = []
        offers, idle = view.offers(), view.idle_count
        withheld = self.reserve(view) if self.reserve else 0
        taken: SlotView | None = None
        for job in self.order(view):
            if job.gpus > idle:
                break
            if idle <= withheld and not job.tight:
                continue
            slots = []
            for _ in range(job.gpus):
                if taken is not None:
                    offers = view.offers_after(offers, taken)
                one = len(offers) == 1
                taken = offers[0] if one else self.place(view, job, offers)
                slots.append(taken)
            answer.append(sent(job, slots))
            idle -= job.gpus
            if not idle:
                break
        return answer


def sent(job: Job, slots: Sequence[SlotView]) -> Assignment:
    """The answer that sends a job to a slot, or to several."""
    return job, slots[0] if job.gpus == 1 else tuple(slots)


# ---- orders ----


def by_submission(view: View) -> Iterable[Job]:
    """First come, first served; as many jobs as slots are idle.

    view: of the decision. Result: in order of submission.
    """
    return view.first(view.idle_count)


Index = Callable[[float, float, float], float]
"""The claim of a job on a slot, from its slack (deadline - now - e), its estimate e and
the mean estimate of all jobs, in seconds; it never rises with the slack.
"""


def by_index(index: Index) -> Order:
    """The greatest index first; equal ones by deadline, then by submission.

    index: of a job. Its estimate is the least mean time over the slots idle as the
    decision starts. Result: as many jobs as slots are idle.
    """

    def order(view: View) -> list[Job]:
        most, estimates = view.idle_count, view.fastest_s()
        mean_s = sum(map(mul, view.known.complexity_mix, estimates))
        ranked: list[tuple[float, float, int, Job]] = []
        for own in view.classes:
            e = estimates[own.complexity - 1]
            for job in own.jobs[:most]:
                slack_s = job.deadline_s - view.now_s - e
                ranked.append((-index(slack_s, e, mean_s), job.deadline_s, job.id, job))
        return [each[-1] for each in sorted(ranked)]

    return order


Tier = tuple[float, int, float]
"""Deadline before which the tier lies, rank, seconds.

Jobs run by rank, then seconds, then deadline, then submission.
"""

TiersOfClass = Callable[[bool, float], Sequence[Tier]]
"""The tiers of a class of jobs by rising deadline, the last without end.

From whether its jobs are tight, and their estimate e in seconds. A tier's seconds are e
for shortest-first, 0 for earliest deadline.
"""


class Tiers:
    """An order by tiers of deadline, worked out from the fronts of the classes alone.

    tiers: the tiers at a view. estimates: from a view to e, seconds, by complexity - 1.
    skipped: whether the policy may pass jobs over, and so needs more of them than slots
    are idle.
    """

    def __init__(
        self,
        tiers: Callable[[View], TiersOfClass],
        estimates: Callable[[View], Sequence[float]],
        skipped: bool = False,
    ) -> None:
        self.tiers, self.estimates, self.skipped = tiers, estimates, skipped

    def __call__(self, view: View) -> list[Job]:
        """The first jobs of each tier of each class, as many as slots are idle."""
        if view.waiting <= 1:
            return view.first(1)
        most, estimates = view.idle_count, self.estimates(view)
        tiers_of_class = self.tiers(view)
        fronts: list[tuple[int, float, float, int, Job]] = []
        for own in view.classes:
            jobs, deadlines_s, first = own.jobs, own.deadlines_s, 0
            if not jobs:
                continue
            last_s = deadlines_s[-1]
            tiers = tiers_of_class(own.tight, estimates[own.complexity - 1])
            for before_s, rank, seconds in tiers:
                due_s = deadlines_s[first]
                if due_s >= before_s:
                    continue
                last = last_s < before_s
                stop = len(jobs) if last else bisect_left(deadlines_s, before_s, first)
                if most == 1:
                    job = jobs[first]
                    fronts.append((rank, seconds, due_s, job.id, job))
                else:
                    front = jobs[first : min(first + most, stop)]
                    fronts += [(rank, seconds, j.deadline_s, j.id, j) for j in front]
                if last:
                    break
                first = stop
        if most == 1 and not self.skipped:
            return [min(fronts)[4]]
        fronts.sort()
        return [key[4] for key in fronts]

    def whole_queue(self, view: View) -> list[Job]:
        """The order by its definition: all waiting jobs, each by its own tier.

        view: of the decision. Result: in that order.
        """
        estimates, tiers_of_class = self.estimates(view), self.tiers(view)

        def key(job: Job) -> tuple[int, float, float, int]:
            tiers = tiers_of_class(job.tight, estimates[job.complexity - 1])
            own = next(tier for tier in tiers if job.deadline_s < tier[0])
            return own[1], own[2], job.deadline_s, job.id

        return sorted(view.queue, key=key)


def fastest_idle_s(view: View) -> Sequence[float]:
    """e_j, the least mean execution time over the slots idle as the decision starts."""
    return view.fastest_s()


def fastest_of_all_s(view: View) -> Sequence[float]:
    """e_j over all slots, idle or not."""
    return view.known.fastest_s


def reference_s(view: View) -> Sequence[float]:
    """The mean execution time on the reference type (the RTX 3090 in the thesis)."""
    return view.known.gpus[0].mean_execution_s


def _all_by_deadline(view: View) -> TiersOfClass:
    return _no_time


def _no_time(tight: bool, e: float) -> Sequence[Tier]:
    return ((inf, 0, 0.0),)


def _all_by_time(view: View) -> TiersOfClass:
    return _own_time


def _own_time(tight: bool, e: float) -> Sequence[Tier]:
    return ((inf, 0, e),)


by_deadline = Tiers(_all_by_deadline, reference_s)
"""Earliest deadline first; equal ones by submission."""

shortest_first = Tiers(_all_by_time, reference_s)
"""Shortest estimated time first, on the reference type; equal ones by deadline."""


# ---- placements ----


def first_idle(view: View, job: Job, offers: Sequence[SlotView]) -> SlotView:
    """The slot that was registered first.

    view: of the decision. job: the job to place. offers: idle slots, at least one.
    Result: one of the offers.
    """
    return offers[0]


def fastest(view: View, job: Job, offers: Sequence[SlotView]) -> SlotView:
    """The least mean execution time.

    view: of the decision. job: the job to place. offers: idle slots, at least one.
    Result: one of the offers.
    """
    return min(offers, key=lambda slot: view.mean_s(job, slot))


def cheapest(view: View, job: Job, offers: Sequence[SlotView]) -> SlotView:
    """The least price per second; of equal ones the fastest.

    view: of the decision. job: the job to place. offers: idle slots, at least one.
    Result: one of the offers.
    """

    def price_and_time(slot: SlotView) -> tuple[float, float]:
        return slot.gpu.price_usd_per_h, view.mean_s(job, slot)

    return min(offers, key=price_and_time)


def stock_then_fastest(view: View, job: Job, offers: Sequence[SlotView]) -> SlotView:
    """High before Medium before Low stock, then the fastest.

    view: of the decision. job: the job to place. offers: idle slots, at least one.
    Result: one of the offers. Thesis Section 4.5.3.
    """
    return min(offers, key=lambda slot: (view.status(slot), view.mean_s(job, slot)))


def speed_cost_stock(cost_weight: float) -> Place:
    """Least score of stock, speed and cost over the best idle's.

    cost_weight: weight of cost against speed, 0 to 1. Result: a placement for
    `ListPolicy`. Thesis Eq. 4.1.
    """

    def place(view: View, job: Job, offers: Sequence[SlotView]) -> SlotView:
        level = job.complexity - 1
        fastest_s = min([slot.gpu.mean_execution_s[level] for slot in offers])
        cheapest_usd = min([slot.gpu.price_usd_per_h for slot in offers]) or 1.0  # free

        def score(slot: SlotView) -> float:
            speed = slot.gpu.mean_execution_s[level] / fastest_s
            cost = slot.gpu.price_usd_per_h / cheapest_usd
            penalty = STOCK_PENALTY[view.status(slot)]
            return (1 - cost_weight) * speed + cost_weight * cost + penalty

        return min(offers, key=score)

    return place
