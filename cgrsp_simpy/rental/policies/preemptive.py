"""Policies that suspend running jobs; the terms of renting have to allow it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cgrsp_simpy.model.policy import Suspend
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.policies.classic import COST_WEIGHT
from cgrsp_simpy.rental.policies.rules import (
    ListPolicy,
    by_deadline,
    reference_s,
    speed_cost_stock,
    stock_then_fastest,
)
from cgrsp_simpy.rental.view import Assignment, View

Key = Callable[[View, Job, float], Any]
"""What jobs are ranked by, the least first: from a view, a job, and the share of its
mean time that is left.
"""


def edf_p() -> Preemptive:
    """Preemptive earliest deadline first: a job of a later deadline gives way.

    On one slot, without delays and overheads, it meets all deadlines if any schedule
    does (Liu and Layland 1973; Dertouzos 1974).
    """
    listed = ListPolicy(by_deadline, stock_then_fastest, "edf-p")
    return Preemptive(lambda view, job, left: job.deadline_s, listed)


def srpt() -> Preemptive:
    """Shortest remaining processing time, by mean times on the reference type: a job
    with more left gives way.

    On one slot, with times that are known, no policy has a lower mean response time
    (Schrage 1968).
    """
    place = speed_cost_stock(COST_WEIGHT)
    return Preemptive(time_left, ListPolicy(by_time_left, place, "srpt"))


def time_left(view: View, job: Job, left: float) -> tuple[float, float]:
    """Mean seconds left on the reference type; equal ones by deadline."""
    return left * reference_s(view)[job.complexity - 1], job.deadline_s


def by_time_left(view: View) -> list[Job]:
    """Least time left first."""

    def key(job: Job) -> tuple[Any, int]:
        return time_left(view, job, view.share_left(job)), job.id

    return sorted(view.queue, key=key)


class Preemptive:
    """Runs the jobs of least key: those that run and are not among them give way to
    those that wait and are.

    A job of several GPUs that does not fit is not overtaken.

    key: from a view, a job, waiting or running, and the share of its mean time that is
    left, to what jobs are ranked by. listed: dispatches waiting jobs in the same order.
    """

    suspends = True

    def __init__(self, key: Key, listed: ListPolicy) -> None:
        self.key, self.listed, self.name = key, listed, listed.name

    def __call__(self, view: View) -> list[Suspend] | list[Assignment]:
        """The jobs that give way; if there are none, the assignments."""
        return self._give_way(view) or self.listed(view)

    def _give_way(self, view: View) -> list[Suspend]:
        """Those with the greatest keys, as many as the waiting jobs of less need."""
        running = {each.job: each for each in view.running}
        if not running:
            return []
        left = {job: each.left for job, each in running.items()}
        left |= {job: view.share_left(job) for job in view.queue}
        ranked = sorted(
            left,
            key=lambda job: (
                self.key(view, job, left[job]),
                job not in running,
                job.id,
            ),
        )
        first = chosen(ranked, len(view.known.fleet))
        need = sum(job.gpus for job in first if job not in running) - view.idle_count
        answer: list[Suspend] = []
        for job in reversed(ranked):
            if need <= 0:
                break
            if (
                job in running
                and job not in first
                and running[job].since_s < view.now_s
            ):
                answer.append(Suspend(job))
                need -= job.gpus
        return answer


def chosen(ranked: list[Job], slots: int) -> set[Job]:
    """The first jobs, as many as there are slots for."""
    first: set[Job] = set()
    for job in ranked:
        if job.gpus > slots:
            break
        slots -= job.gpus
        first.add(job)
    return first
