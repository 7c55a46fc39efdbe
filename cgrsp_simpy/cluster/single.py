"""Schedulers of one objective, and how an order of the waiting jobs is carried out (cluster-schedulers.txt Section III.B).

A job's time t is its estimate, g its GPUs. Equal jobs go by arrival.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

import numpy as np

from cgrsp_simpy.cluster.jobs import Floats, Ints, known
from cgrsp_simpy.cluster.simulation import Moment, Scheduler

__all__ = [
    "LeastAttained",
    "fifo",
    "fifo_skip",
    "fitting",
    "named",
    "shortest",
    "shortest_gpu",
    "sjf",
    "start_by",
    "start_chosen",
]


def named(name: str, *needs: str) -> Callable[[Scheduler], Scheduler]:
    """Give a scheduler the name under which it is reported, and the columns that it needs of those that jobs may lack."""

    def give(scheduler: Scheduler) -> Scheduler:
        scheduler.__name__, scheduler.needs = name, needs  # type: ignore[attr-defined]
        return scheduler

    return give


def start_in_order(moment: Moment, jobs: Iterable[int]) -> None:
    """Start the jobs that fit, one after the other, and skip the others."""
    gpus, full = moment.gpus, set[int]()
    for job in jobs:
        if gpus[job] not in full and not moment.start(job):
            full.add(gpus[job])  # what does not fit now will not fit when still more is taken


def start_by(moment: Moment, key: Callable[[Ints], Floats | Ints]) -> None:
    """Start the waiting jobs that fit, those of least key first. key: of jobs (their indices), an array of their shape."""
    jobs = fitting(moment)
    if len(jobs) > 1:
        jobs = jobs[key(jobs).argsort(kind="stable")]
    start_in_order(moment, jobs.tolist())


def fitting(moment: Moment) -> Ints:
    """The waiting jobs that fit now, each by itself, oldest first."""
    gpus, room, widest = moment.gpus, max(moment.free), max(moment.sizes)
    widths = {gpus[job] for job in moment.waiting}
    fits = {width for width in widths if width <= room or (width > widest and moment.room(width))}
    return np.array([job for job in moment.waiting if gpus[job] in fits], dtype=np.int64)


def start_chosen(moment: Moment, choose: Callable[[Ints], int]) -> None:
    """Start the job that `choose` picks of those that fit, again and again until none fits."""
    while len(jobs := fitting(moment)):
        moment.start(choose(jobs))


@named("fifo")
def fifo(moment: Moment) -> None:
    """By arrival; the first that does not fit holds up all others."""
    for job in list(moment.waiting):
        if not moment.start(job):
            break


@named("fifo-skip")
def fifo_skip(moment: Moment) -> None:
    """By arrival; what does not fit is skipped. Ours, to part the order from the blocking."""
    start_in_order(moment, list(moment.waiting))


@named("sjf")
def sjf(moment: Moment) -> None:
    """Fewest GPUs first, by g; Table I of the source swaps the words for SJF and Shortest."""
    start_by(moment, lambda jobs: moment.jobs.gpus[jobs])


@named("shortest")
def shortest(moment: Moment) -> None:
    """Least time first, by t: nothing is preempted, so that the remaining time of a waiting job is all of it."""
    start_by(moment, lambda jobs: moment.jobs.estimate_s[jobs])


@named("shortest-gpu")
def shortest_gpu(moment: Moment) -> None:
    """Least GPU-time first, by t g."""
    start_by(moment, lambda jobs: moment.jobs.estimate_s[jobs] * moment.jobs.gpus[jobs])


class LeastAttained:
    """Least attained service without preemption: first the jobs of the user who has received fewest GPU-seconds so far.

    What has been received is that of jobs that run, up to now, and of jobs that have ended, whose duration is known by then.
    Source: Tiresias, which the paper cites, for jobs; by user, and without preemption, is ours.
    """

    __name__ = "las"
    needs = ("user",)

    def __init__(self) -> None:
        self._moment: Moment | None = None

    def __call__(self, moment: Moment) -> None:
        """Decide."""
        if moment is not self._moment:  # of another run
            self._moment, self._ended, self._since_s = moment, defaultdict[int, float](float), dict[int, float]()
            self._user: list[int] = known(moment.jobs.user).tolist()

        def received(jobs: Ints) -> Floats:
            by_user = self._received(moment)
            return np.array([by_user[user] for user in map(self._user.__getitem__, jobs)])

        start_by(moment, received)
        self._since_s |= {job: moment.now_s for job, _ in moment.started}

    def _received(self, moment: Moment) -> defaultdict[int, float]:
        """GPU-seconds by user."""
        gpus, user = moment.gpus, self._user
        for job in self._since_s.keys() - moment.running.keys():
            del self._since_s[job]
            self._ended[user[job]] += gpus[job] * moment.jobs.duration_s[job]
        received = self._ended.copy()
        for job, since_s in self._since_s.items():
            received[user[job]] += gpus[job] * (moment.now_s - since_s)
        return received
