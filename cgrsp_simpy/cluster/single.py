"""Schedulers of one objective, and how an order of the waiting jobs is carried out
(cluster-schedulers.txt Section III.B).

A job's time t is its estimate, g its GPUs. Equal jobs go by arrival.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from math import exp, expm1, inf, log
from typing import Any, TypeVar

import numpy as np

from cgrsp_simpy.cluster.jobs import Floats, Ints, known
from cgrsp_simpy.cluster.view import Scheduler, Starts, View
from cgrsp_simpy.model.policy import policy

Named = TypeVar("Named", bound=Scheduler)


def named(name: str, *needs: str) -> Callable[[Named], Named]:
    """Give a scheduler the name under which it is reported, and the columns that it needs of those
    that jobs may lack.
    """

    def give(scheduler: Named) -> Named:
        scheduler.__name__ = name
        return policy(needs=needs)(scheduler)

    return give


def start_in_order(view: View, jobs: Iterable[int]) -> Starts:
    """Start the jobs that fit, one after the other, and skip the others."""
    needs, full = view.needs, set[Any]()
    for job in jobs:
        if needs[job] in full:
            continue
        place = view.room(needs[job])
        if place is None:
            full.add(needs[job])  # what does not fit now will not fit when still more is taken
        else:
            yield job, place


def start_by(view: View, key: Callable[[Ints], Floats | Ints]) -> Starts:
    """Start the waiting jobs that fit, those of least key first.

    key: of jobs (their indices), an array of their shape.
    """
    jobs = fitting(view)
    if len(jobs) > 1:
        jobs = jobs[key(jobs).argsort(kind="stable")]
    return start_in_order(view, jobs.tolist())


def fitting(view: View) -> Ints:
    """The waiting jobs that fit now, each by itself, oldest first."""
    return np.array(view.fitting(), dtype=np.int64)


def start_chosen(view: View, choose: Callable[[Ints], int]) -> Starts:
    """Start the job that `choose` picks of those that fit, again and again until none fits."""
    while len(jobs := fitting(view)):
        yield from start_in_order(view, [choose(jobs)])


@named("fifo")
def fifo(view: View) -> Starts:
    """By arrival; the first that does not fit holds up all others."""
    while (job := view.head) is not None and (place := view.room(view.needs[job])) is not None:
        yield job, place


@named("fifo-skip")
def fifo_skip(view: View) -> Starts:
    """By arrival; what does not fit is skipped. Ours, to part the order from the blocking."""
    return start_in_order(view, view.fitting())


@named("sjf")
def sjf(view: View) -> Starts:
    """Fewest GPUs first, by g; Table I of the source swaps the words for SJF and Shortest."""
    return start_by(view, lambda jobs: view.jobs.gpus[jobs])


@named("shortest")
def shortest(view: View) -> Starts:
    """Least time first, by t: nothing is preempted, so that the remaining time of a waiting
    job is all of it.
    """
    return start_by(view, lambda jobs: view.jobs.estimate_s[jobs])


@named("shortest-gpu")
def shortest_gpu(view: View) -> Starts:
    """Least GPU-time first, by t g."""
    return start_by(view, lambda jobs: view.jobs.estimate_s[jobs] * view.jobs.gpus[jobs])


class Received:
    """GPU-seconds that users have received, those of t seconds ago counted as 2^(-t / half_life_s):
    of jobs that run, up to now, and of jobs that have ended, whose duration is known by then.
    """

    def __init__(self, half_life_s: float = inf) -> None:
        self.half_life_s, self._now_s = half_life_s, -inf
        self._ended = defaultdict[int, float](float)  # of jobs that have ended, by user

    def by_user(self, view: View, user: Ints) -> defaultdict[int, float]:
        """What each has received; user: of each job."""
        jobs, now_s, since_s = view.jobs, view.now_s, self._now_s
        for own in self._ended:
            self._ended[own] *= 0.5 ** ((now_s - since_s) / self.half_life_s)
        for job in np.flatnonzero(jobs.end_s > since_s).tolist():
            self._add(self._ended, view, user[job], job, jobs.run_s[job], now_s - jobs.end_s[job])
        self._now_s, received = now_s, self._ended.copy()
        for job, running in view.running.items():
            if job >= 0:  # no GPUs that are supposed to be taken
                self._add(received, view, user[job], job, now_s - running.start_s, 0.0)
        return received

    def _add(
        self, to: dict[int, float], view: View, user: int, job: int, run_s: float, ago_s: float
    ) -> None:
        """Count a run that ended so long ago."""
        if self.half_life_s < inf:
            rate = log(2) / self.half_life_s
            run_s = exp(-rate * ago_s) * -expm1(-rate * run_s) / rate
        to[int(user)] += view.gpus[job] * float(run_s)


class LeastAttained:
    """Least attained service without preemption: first the jobs of the user who has received fewest
    GPU-seconds so far.

    Tiresias, which the paper cites, for jobs; by user, and without preemption, is ours.
    """

    __name__ = "las"
    needs = ("user",)

    def __init__(self) -> None:
        self._received = Received()

    def __call__(self, view: View) -> Starts:
        """Decide."""
        user = known(view.jobs.user)
        by_user = self._received.by_user(view, user)
        return start_by(view, lambda jobs: np.array([by_user[of] for of in user[jobs].tolist()]))
