"""Backfilling by estimates: EASY, which protects the head of the queue, and conservative, which protects every job.

Sources: Lifka (1995), "The ANL/IBM SP scheduling system", LNCS 949; Mu'alem and Feitelson (2001), IEEE Transactions on Parallel
and Distributed Systems 12, 529-543. Both are for GPUs of one pool; that reservations look at nodes is ours.

Estimates may be shorter than the runs, which then go on: nothing is stopped. EASY expects a job that has exceeded its estimate to
end at once, conservative backfilling expects it to run for as long again (both ours), and what they promise can come later.
"""

from __future__ import annotations

import math
from itertools import groupby

from cgrsp_simpy.cluster.placement import Place
from cgrsp_simpy.cluster.profile import Profile, Reservation
from cgrsp_simpy.cluster.simulation import Moment, Running
from cgrsp_simpy.cluster.single import fifo, named

__all__ = ["Conservative", "easy", "shadow"]


@named("easy")
def easy(moment: Moment) -> None:
    """By arrival; while the head does not fit, others may start if by their estimates they do not delay it.

    These end by the time at which the head can start, or leave it a place at that time.
    """
    fifo(moment)
    if moment.waiting:
        _backfill(moment, moment.waiting[0])


def _backfill(moment: Moment, head: int) -> None:
    start_s, free_then = shadow(moment, head)
    gpus, estimate_s = moment.jobs.gpus, moment.jobs.estimate_s
    refused = set[tuple[int, bool]]()
    for job in moment.waiting[1:]:
        in_time = bool(moment.now_s + estimate_s[job] <= start_s)
        if (kind := (int(gpus[job]), in_time)) in refused:
            continue
        left = free_then if in_time else _less(free_then, moment.room(moment.gpus[job]) or ())
        if moment.placement(left, moment.sizes, int(gpus[head])) is not None and moment.start(job):
            free_then = left
            refused.clear()  # a job like one refused may now have another place
        else:
            refused.add(kind)


def shadow(moment: Moment, job: int) -> tuple[float, list[int]]:
    """When a waiting job could start if nothing else did, by the estimates, and the GPUs of each node that are free then.

    A running job that has exceeded its estimate counts as if it ended now.
    """
    free, gpus = list(moment.free), int(moment.jobs.gpus[job])
    start_s = moment.now_s

    def end_s(running: Running) -> float:
        return max(running.end_s, moment.now_s)

    for start_s, ended in groupby(sorted(moment.running.values(), key=end_s), key=end_s):  # noqa: B007, it is returned
        for running in ended:
            for node, taken in running.place:
                free[node] += taken
        if moment.placement(free, moment.sizes, gpus) is not None:
            break
    return start_s, free


def _less(free: list[int], place: Place) -> list[int]:
    left = list(free)
    for node, gpus in place:
        left[node] -= gpus
    return left


class Conservative:
    """Every job has a reservation from its arrival on, the earliest that delays none before it; it starts when its time has come.

    When a job ends before its estimate, the reservations are compressed: in the order of their starts, each is given up and made
    anew, at the earliest start that the others leave, which is never later. So no job starts later than by its first reservation
    unless one exceeds its estimate; then all are made anew by arrival, and what was promised may come later. At one instant jobs
    end before others arrive.

    reserved: of each waiting job, as by the last decision. Decisions come while GPUs are idle: jobs that have arrived since the
    last, while none was, are given their reservations first, in order of arrival. That is what they would have had on arrival,
    for nothing has ended in between, and until now there was nothing to be had.
    """

    __name__ = "conservative"

    def __init__(self) -> None:
        self._moment: Moment | None = None

    def __call__(self, moment: Moment) -> None:
        """Decide."""
        now_s = moment.now_s
        if moment is not self._moment:  # of another run
            self._moment = moment
            self.reserved, self._kept = dict[int, Reservation](), dict[int, Reservation]()
            self._profile = Profile(now_s, moment.sizes, moment.placement)
        self._profile.forget(now_s)
        self._reserve_new(moment, before_s=now_s)
        ended_early = self._take_back(moment)
        if self._late(now_s):
            self._begin_anew(moment)
        elif ended_early:
            self._compress(moment)
        self._reserve_new(moment)
        for job in [job for job, kept in self.reserved.items() if kept.start_s <= now_s]:
            self._kept[job] = kept = self.reserved.pop(job)
            moment.start(job, kept.place)

    def _take_back(self, moment: Moment) -> bool:
        """Free what is kept for jobs that have ended; whether one has before its estimate."""
        early = False
        for job in self._kept.keys() - moment.running.keys():
            kept = self._kept.pop(job)
            if kept.end_s > moment.now_s:
                self._profile.give(kept._replace(start_s=moment.now_s))
                early = True
        return early

    def _late(self, now_s: float) -> bool:
        """Whether a job runs that should have ended, or one waits that should have started."""
        overrun = any(kept.end_s <= now_s for kept in self._kept.values())
        return overrun or any(kept.start_s < now_s for kept in self.reserved.values())

    def _compress(self, moment: Moment) -> None:
        """Move each reservation to an earlier time if there is one.

        By start, equal ones by arrival: what a reservation was waiting for has moved before it, so that each starts when a job
        ends, which is when there is a decision.
        """
        jobs = moment.jobs
        for job, kept in sorted(self.reserved.items(), key=lambda item: (item[1].start_s, item[0])):
            self._profile.give(kept)
            earlier = self._profile.earliest(int(jobs.gpus[job]), float(jobs.estimate_s[job]), kept.start_s)
            self.reserved[job] = earlier or kept
            self._profile.take(self.reserved[job])

    def _begin_anew(self, moment: Moment) -> None:
        """Forget all reservations, and expect more of the jobs that should have ended."""
        self.reserved.clear()
        self._profile = Profile(moment.now_s, moment.sizes, moment.placement)
        for job, kept in self._kept.items():
            if kept.end_s <= moment.now_s:
                self._kept[job] = kept._replace(end_s=2 * moment.now_s - kept.start_s)
            self._profile.take(self._kept[job]._replace(start_s=moment.now_s))

    def _reserve_new(self, moment: Moment, before_s: float = math.inf) -> None:
        """Reservations for the jobs without one that arrived before a time, in order of arrival."""
        jobs = moment.jobs
        for job in moment.waiting:
            if job not in self.reserved and jobs.arrival_s[job] < before_s:
                kept = self._profile.earliest(int(jobs.gpus[job]), float(jobs.estimate_s[job]))
                assert kept is not None, "a job that the cluster cannot run"
                self.reserved[job] = kept
                self._profile.take(kept)
