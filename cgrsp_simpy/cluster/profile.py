"""The GPUs of each node that are free from now on, as running jobs and reservations leave them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cgrsp_simpy.cluster.jobs import Floats
from cgrsp_simpy.cluster.placement import Place, Placement

__all__ = ["Profile", "Reservation"]


class Reservation(NamedTuple):
    """GPUs that are kept for a job. start_s, end_s: seconds. place: its nodes."""

    start_s: float
    end_s: float
    place: Place


class Profile:
    """Free GPUs by node and time; a new profile is that of an empty cluster.

    starts_s: when each step begins, shape (steps,). free: GPUs, shape (nodes, steps). The last step lasts for ever.
    """

    def __init__(self, now_s: float, sizes: Sequence[int], placement: Placement) -> None:
        self.starts_s = np.array([now_s])
        self.free = np.array(sizes)[:, None]
        self._sizes, self._placement = sizes, placement

    def forget(self, now_s: float) -> None:
        """Drop what is past, and steps that change nothing."""
        first = int(np.searchsorted(self.starts_s, now_s, side="right")) - 1
        starts_s, free = self.starts_s[first:], self.free[:, first:]
        changes = np.append(True, (free[:, 1:] != free[:, :-1]).any(axis=0))
        self.starts_s, self.free = starts_s[changes], free[:, changes]
        self.starts_s[0] = now_s

    def take(self, kept: Reservation) -> None:
        """Keep GPUs for a job."""
        self._add(kept, -1)

    def give(self, kept: Reservation) -> None:
        """Free what was kept."""
        self._add(kept, 1)

    def _add(self, kept: Reservation, sign: int) -> None:
        start, end = self._step(kept.start_s), self._step(kept.end_s)
        for node, gpus in kept.place:
            self.free[node, start:end] += sign * gpus

    def _step(self, at_s: float) -> int:
        """The step that begins at a time; made if there is none."""
        step = int(np.searchsorted(self.starts_s, at_s))
        if step == len(self.starts_s) or self.starts_s[step] != at_s:
            self.starts_s = np.concatenate((self.starts_s[:step], [at_s], self.starts_s[step:]))
            self.free = np.concatenate((self.free[:, :step], self.free[:, step - 1 : step], self.free[:, step:]), axis=1)
        return step

    def earliest(self, gpus: int, time_s: float, before_s: float = np.inf) -> Reservation | None:
        """The earliest start before a time from which so many GPUs are free for so long; None if there is none.

        A job can only become able to start where a step begins.
        """
        last = int(np.searchsorted(self.starts_s, before_s))
        ends_s = self.starts_s[:last] + time_s
        for step in np.flatnonzero(self._may_hold(gpus, ends_s)):
            over = int(np.searchsorted(self.starts_s, ends_s[step]))
            place = self._placement(self.free[:, step:over].min(axis=1).tolist(), self._sizes, gpus)
            if place is not None:
                return Reservation(float(self.starts_s[step]), float(ends_s[step]), place)
        return None

    def _may_hold(self, gpus: int, ends_s: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Of the first steps, whether a job that starts with the step and then ends may fit; False only if it cannot.

        One node must have room up to the end; of a wide job, the nodes that stay empty must suffice but for a rest.
        """
        steps, seen = len(ends_s), int(np.searchsorted(self.starts_s, ends_s.max(initial=-np.inf)))
        sizes, free = np.array(self._sizes), self.free[:, :seen]
        wide = gpus > sizes.max()
        full_s = np.where(free < (sizes[:, None] if wide else gpus), self.starts_s[:seen], np.inf)
        next_full_s = np.minimum.accumulate(full_s[:, ::-1], axis=1)[:, ::-1][:, :steps]
        stays = next_full_s >= ends_s
        if wide:
            return np.asarray(sizes @ stays + np.where(stays, 0, free[:, :steps]).max(axis=0, initial=0) >= gpus)
        return np.asarray(stays.any(axis=0))
