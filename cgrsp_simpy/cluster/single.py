"""Schedulers of one objective, and how an order of the waiting jobs is carried out
(cluster-schedulers.txt Section III.B).

A job's time t is its estimate, g its GPUs. Equal jobs go by arrival.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TypeVar

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
    gpus, full = view.gpus, set[int]()
    for job in jobs:
        if gpus[job] in full:
            continue
        place = view.room(gpus[job])
        if place is None:
            full.add(gpus[job])  # what does not fit now will not fit when still more is taken
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
    while (job := view.head) is not None and (place := view.room(view.gpus[job])) is not None:
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


class LeastAttained:
    """Least attained service without preemption: first the jobs of the user who has received fewest
    GPU-seconds so far.

    What has been received is that of jobs that run, up to now, and of jobs that have ended, whose
    duration is known by then.

    Tiresias, which the paper cites, for jobs; by user, and without preemption, is ours.
    """

    __name__ = "las"
    needs = ("user",)

    def __init__(self) -> None:
        self._ended = defaultdict[int, float](float)  # GPU-seconds of jobs that have ended, by user
        self._since_s: dict[int, float] = {}  # of jobs that had not when this was last asked

    def __call__(self, view: View) -> Starts:
        """Decide."""
        user = known(view.jobs.user)
        by_user = self._received(view, user)
        for job, place in start_by(
            view, lambda jobs: np.array([by_user[of] for of in user[jobs].tolist()])
        ):
            self._since_s[job] = view.now_s
            yield job, place

    def _received(self, view: View, user: Ints) -> defaultdict[int, float]:
        """GPU-seconds by user."""
        gpus = view.gpus
        for job in self._since_s.keys() - view.running.keys():
            del self._since_s[job]
            self._ended[int(user[job])] += gpus[job] * float(view.jobs.run_s[job])
        received = self._ended.copy()
        for job, since_s in self._since_s.items():
            received[int(user[job])] += gpus[job] * (view.now_s - since_s)
        return received
