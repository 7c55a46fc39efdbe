"""EASY and conservative backfilling, and the profile of free GPUs that the latter uses.

Lifka (1995), "The ANL/IBM SP scheduling system", LNCS 949; Mu'alem and Feitelson
(2001), IEEE Transactions on Parallel and Distributed Systems 12, 529-543. Reserving
GPUs of particular nodes is our extension. A job that exceeds its estimate continues.
EASY then assumes that it ends at once, and conservative backfilling that it runs for as
long again (both are our rules), so a reservation may move to a later time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from cgrsp_simpy.base.parameters import Whole, checked
from cgrsp_simpy.cluster.cluster import Allocation, Nodes
from cgrsp_simpy.cluster.view import Scheduler, Starts, View, named


class Reservation(NamedTuple):
    """GPUs reserved for a job. start_s, end_s: seconds. place: (node, GPUs) pairs."""

    start_s: float
    end_s: float
    place: Allocation


class Profile:
    """Free GPUs over time, initially those of an empty cluster.

    starts_s: start of each step. free: free GPUs per step (`Nodes`); the last step
    never ends.
    """

    def __init__(self, now_s: float, nodes: Nodes) -> None:
        self.nodes, self.starts_s, self.free = nodes, [now_s], [nodes.all]

    def forget(self, now_s: float) -> None:
        """Drop past steps."""
        past = bisect_right(self.starts_s, now_s) - 1
        del self.starts_s[:past], self.free[:past]
        self.starts_s[0] = now_s

    def take(self, kept: Reservation) -> None:
        """Reserve GPUs for a job."""
        columns = self.nodes.columns(kept.place)
        for step in self._steps(kept):
            self.free[step] = self.nodes.taken(self.free[step], columns)

    def give(self, kept: Reservation) -> None:
        """Release a reservation, and merge equal steps."""
        steps, columns = self._steps(kept), self.nodes.columns(kept.place)
        for step in steps:
            self.free[step] = self.nodes.given(self.free[step], columns)
        for step in (steps.stop, steps.start):
            if step and self.free[step] == self.free[step - 1]:
                del self.starts_s[step], self.free[step]

    def _steps(self, kept: Reservation) -> range:
        return range(self._step(kept.start_s), self._step(kept.end_s))

    def _step(self, at_s: float) -> int:
        """Return the step that begins at a time; insert it if necessary."""
        step = bisect_left(self.starts_s, at_s)
        if step == len(self.starts_s) or self.starts_s[step] != at_s:
            self.starts_s.insert(step, at_s)
            self.free.insert(step, self.free[step - 1])
        return step

    def earliest(
        self, gpus: int, time_s: float, before_s: float = inf, from_s: float = -inf
    ) -> Reservation | None:
        """Return the first reservation that starts before before_s, or None.

        Only the starts of steps are tried. from_s: a lower bound of the start.
        """
        starts_s, steps, fits = self.starts_s, self.free, self.nodes.fits
        first = over = bisect_left(starts_s, from_s)
        last, free = bisect_left(starts_s, before_s), self.nodes.all
        while first < last:
            end_s = starts_s[first] + time_s
            # until the end of the job, or a step without room
            for over in range(over, bisect_left(starts_s, end_s, over)):  # noqa: B020
                left = free & steps[over]
                if not fits(left, gpus):
                    break
                free = left
            else:
                place = self.nodes.room(free, gpus)
                assert place is not None, "a job that the cluster cannot run"
                return Reservation(starts_s[first], end_s, place)
            # later starts reach this step, too
            over += 1
            first, free = self._back(over, gpus)
        return None

    def _back(self, over: int, gpus: int) -> tuple[int, int]:
        """Return the first step from which a job fits up to `over`, and free GPUs."""
        fits, first, free = self.nodes.fits, over, self.nodes.all
        for step in reversed(self.free[:over]):
            left = free & step
            if not fits(left, gpus):
                break
            first, free = first - 1, left
        return first, free


@checked
def easy(depth: Whole = 0) -> Scheduler:
    """By arrival; if the first job does not fit, others that do not delay it may start.

    According to the estimates, they end before the first job can start, or leave room
    for it. depth: number of jobs behind the first that are considered; 0: all.
    """

    @named("easy")
    def schedule(view: View) -> Starts:
        if view.fitting():
            yield from easy_in_order(view, view.queue, depth)

    return schedule


def easy_in_order(view: View, jobs: Sequence[int], depth: int = 0) -> Starts:
    """Schedule as `easy` does, in the order of `jobs`, which are all that wait."""
    for behind, job in enumerate(jobs, 1):
        if (place := view.room(view.needs[job])) is None:
            yield from _backfill(
                view, job, jobs[behind : behind + (depth or len(jobs))]
            )
            return
        yield job, place


def _backfill(view: View, head: int, jobs: Sequence[int]) -> Starts:
    """Start the jobs that fit now and do not delay the first job, `head`."""
    start_s, free_then = shadow(view, head)
    now_s, needs, estimate_s = view.now_s, view.needs, view.estimate_s
    # needs that do not fit now, and needs that would delay the first waiting job
    full, refused = set[Any](), set[Any]()
    for job in jobs:
        need, in_time = needs[job], now_s + estimate_s[job] <= start_s
        if need in full or (need in refused and not in_time):
            continue
        if (place := view.room(need)) is None:
            full.add(need)
            continue
        left = free_then if in_time else view.nodes.take(free_then, place)
        if in_time or view.nodes.fits(left, needs[head]):
            free_then = left
            refused.clear()  # such a job may now get another place
            yield job, place
        else:
            refused.add(need)


def shadow(view: View, job: int) -> tuple[float, int]:
    """Return when a waiting job could start if no other did, and the GPUs free then.

    Jobs end by their estimates; a job past its estimate ends now. Free: see `Nodes`.
    """
    fits, free, start_s = view.nodes.fits, view.free, view.now_s
    for end_s, running in view.ends:
        if end_s > start_s and fits(free, view.needs[job]):
            break
        start_s = max(end_s, start_s)
        free = view.without(running, free)
    return start_s, free


class Conservative:
    """Each job gets, on arrival, the earliest reservation that delays no earlier one.

    If a job ends before its estimate, reservations are compressed: in the order of
    their starts, each is replaced by the earliest one that the others allow, never
    later. If a job exceeds its estimate, all reservations are made again in order of
    arrival. reserved: the Reservation of each waiting job after the last decision.
    """

    __name__ = "conservative"
    asks_on_arrival = True

    def __init__(self) -> None:
        self.reserved, self._kept = dict[int, Reservation](), dict[int, Reservation]()
        self._coming = list[tuple[float, int]]()  # reserved starts, in order of time
        # need -> run times in order, and the earliest starts of jobs with these times
        self._earliest = dict[Any, tuple[list[float], list[float]]]()
        self._profile: Profile
        self._steps: Any = None  # steps of the profile, after `restore`

    def save(self) -> dict[str, Any]:
        """Return the reservations of waiting and running jobs, and the profile."""
        if not self.reserved and not self._kept:
            return {}
        profile = self._profile
        kinds = {"reserved": self.reserved, "kept": self._kept}
        rows = {
            name: [
                [job, kept.start_s, kept.end_s, [list(part) for part in kept.place]]
                for job, kept in reservations.items()
            ]
            for name, reservations in kinds.items()
        }
        return rows | {"steps": [[*profile.starts_s], [*profile.free]]}

    def restore(self, memory: dict[str, Any]) -> None:
        """Continue from a state that `save` returned."""
        for name, kept in (("reserved", self.reserved), ("kept", self._kept)):
            for job, start_s, end_s, place in memory.get(name, ()):
                kept[job] = Reservation(start_s, end_s, tuple(map(tuple, place)))
        self._coming = sorted(
            (kept.start_s, job) for job, kept in self.reserved.items()
        )
        self._steps = memory.get("steps")

    def __call__(self, view: View) -> Starts:
        now_s = view.now_s
        if self._steps or not (self.reserved or self._kept):
            self._profile = Profile(now_s, view.nodes)
        if self._steps:
            self._profile.starts_s, self._profile.free = map(list, self._steps)
            self._steps = None
        self._profile.forget(now_s)
        self._earliest = {}
        ended_early = self._take_back(view)
        others = self._kept.keys() != view.running.keys()  # have started jobs
        if others:
            for job, one in view.running.items():
                self._kept[job] = Reservation(one.start_s, one.end_s, one.place)
        if others or self._late(view):
            self._begin_anew(view)
        elif ended_early:
            coming, self._coming = self._coming, []
            for start_s, job in coming:
                self._profile.give(self.reserved[job])
                self._reserve(view, job, start_s)
        for job in view.queue if len(self.reserved) < view.waiting else ():
            if job not in self.reserved:
                self._reserve(view, job)
        due = bisect_right(self._coming, (now_s, inf))
        coming, self._coming = self._coming[:due], self._coming[due:]
        for job in sorted(job for _, job in coming):
            self._kept[job] = self.reserved.pop(job)
            yield job, self._kept[job].place

    def _take_back(self, view: View) -> bool:
        """Release the GPUs of ended jobs; return whether one ended early."""
        early, running = False, view.running
        for job in [job for job in self._kept if job not in running]:
            kept = self._kept.pop(job)
            if kept.end_s > view.now_s:
                self._profile.give(kept._replace(start_s=view.now_s))
                early = True
        return early

    def _late(self, view: View) -> bool:
        """Return whether a job is past its estimated end or its reserved start."""
        now_s = view.now_s
        return any(start_s < now_s for start_s, _ in self._coming[:1]) or (
            any(end_s <= now_s for end_s, _ in view.ends[:1])  # by its first estimate
            and any(kept.end_s <= now_s for kept in self._kept.values())
        )

    def _begin_anew(self, view: View) -> None:
        """Drop all reservations, and extend the estimates of late jobs."""
        self.reserved.clear()
        self._coming.clear()
        self._profile = Profile(view.now_s, view.nodes)
        for job, kept in self._kept.items():
            if kept.end_s <= view.now_s:
                self._kept[job] = kept._replace(end_s=2 * view.now_s - kept.start_s)
            self._profile.take(self._kept[job]._replace(start_s=view.now_s))

    def _reserve(self, view: View, job: int, before_s: float = inf) -> None:
        """Reserve the earliest start before a time, or else keep the reserved one.

        No job starts earlier than another of equal need and at most equal time could,
        unless GPUs have been released since, or it overlaps its own reservation.
        """
        need, time_s = view.needs[job], view.estimate_s[job]
        times_s, starts_s = self._earliest.setdefault(need, ([], []))
        from_s = -inf
        if place := bisect_right(times_s, time_s):
            from_s = min(starts_s[place - 1], before_s - times_s[place - 1])
        earliest = self._profile.earliest(need, time_s, before_s, from_s)
        if earliest and before_s < inf:
            times_s, starts_s = [], []
            self._earliest = {need: (times_s, starts_s)}
        self.reserved[job] = earliest or self.reserved[job]
        self._profile.take(self.reserved[job])
        start_s = self.reserved[job].start_s
        insort(self._coming, (start_s, job))
        worse = slice(bisect_left(times_s, time_s), bisect_right(starts_s, start_s))
        times_s[worse], starts_s[worse] = [time_s], [start_s]
