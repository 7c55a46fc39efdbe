"""The GPUs that are free from now on, as running jobs and reservations leave them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from math import inf
from typing import NamedTuple

from cgrsp_simpy.cluster.placement import Nodes, Place


class Reservation(NamedTuple):
    """GPUs that are kept for a job. start_s, end_s: seconds. place: its nodes."""

    start_s: float
    end_s: float
    place: Place


class Profile:
    """Free GPUs by time; a new profile is that of an empty cluster.

    starts_s: when each step begins. free: what is free in each, as in `Nodes`. The last step
    lasts for ever.
    """

    def __init__(self, now_s: float, nodes: Nodes) -> None:
        self.nodes, self.starts_s, self.free = nodes, [now_s], [nodes.all]

    def forget(self, now_s: float) -> None:
        """Drop what is past, and steps that change nothing."""
        first = bisect_right(self.starts_s, now_s) - 1
        steps = list(zip(self.starts_s, self.free))[first:]
        steps = steps[:1] + [step for before, step in pairwise(steps) if step[1] != before[1]]
        self.starts_s, self.free = [start_s for start_s, _ in steps], [free for _, free in steps]
        self.starts_s[0] = now_s

    def take(self, kept: Reservation) -> None:
        """Keep GPUs for a job."""
        held = self.nodes.held(kept.place)
        for step in self._steps(kept):
            self.free[step] = self.nodes.take(self.free[step], held)

    def give(self, kept: Reservation) -> None:
        """Free what was kept."""
        held = self.nodes.held(kept.place)
        for step in self._steps(kept):
            self.free[step] = self.nodes.give(self.free[step], held)

    def _steps(self, kept: Reservation) -> range:
        return range(self._step(kept.start_s), self._step(kept.end_s))

    def _step(self, at_s: float) -> int:
        """The step that begins at a time; made if there is none."""
        step = bisect_left(self.starts_s, at_s)
        if step == len(self.starts_s) or self.starts_s[step] != at_s:
            self.starts_s.insert(step, at_s)
            self.free.insert(step, self.free[step - 1])
        return step

    def earliest(self, gpus: int, time_s: float, before_s: float = inf) -> Reservation | None:
        """The earliest start before a time from which so many GPUs are free for so long; None
        if there is none.

        A job can only become able to start where a step begins. free: in all of the steps from
        `first` up to `over`.
        """
        first, over, free = 0, 0, self.nodes.all
        while first < len(self.starts_s) and self.starts_s[first] < before_s:
            end_s = self.starts_s[first] + time_s
            if over == len(self.starts_s) or self.starts_s[over] >= end_s:
                place = self.nodes.room(free, gpus)
                assert place is not None, "a job that the cluster cannot run"
                return Reservation(self.starts_s[first], end_s, place)
            over += 1
            if self.nodes.fits(left := free & self.free[over - 1], gpus):
                free = left
            else:  # later starts come to this step, too
                first, free = self._back(over, gpus)
        return None

    def _back(self, over: int, gpus: int) -> tuple[int, int]:
        """The first of the steps before `over` from which there is room in all of them, and what
        is free in all.
        """
        first, free = over, self.nodes.all
        while first and self.nodes.fits(left := free & self.free[first - 1], gpus):
            first, free = first - 1, left
        return first, free
