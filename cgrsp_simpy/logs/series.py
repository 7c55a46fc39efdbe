"""Series of spot instances: at each poll whether they were to be had, from files.

A file is one of `logs.market` that tells numbers of instances, of one type, in even steps: a spot
trace in JSON, or CSV with the columns time and status (up, down, or a number).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.logs.market import Row, name_of, rows_of, seconds_between
from cgrsp_simpy.logs.text import faults_of, opened
from cgrsp_simpy.model.checks import InputError, check_whole, entries_of, require


@dataclass(frozen=True)
class Series:
    """Whether a spot instance was to be had, poll by poll; between polls as at the last one.

    Parameters
    ----------
    name : str
        Of the zone, or the file.
    step_s : int
        Between polls, seconds.
    steps : int
        Number of polls.
    up : bool
        Whether it was to be had at the first.
    changes : sequence of int
        The polls at which that changes, in order.
    """

    name: str
    step_s: int
    steps: int
    up: bool
    changes: tuple[int, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        check_whole("step_s", self.step_s, least=1)
        check_whole("steps", self.steps, least=1)
        changes = entries_of("changes", self.changes, "polls, in order")
        edges = (0, *changes, self.steps)
        require(all(one < other for one, other in pairwise(edges)), "changes", changes, "in order")
        object.__setattr__(self, "changes", changes)

    @classmethod
    def of(cls, name: str, step_s: int, status: Sequence[bool] | npt.NDArray[np.bool_]) -> Series:
        """The series of a status at each poll.

        name: as of the class. step_s: as of the class. status: whether an instance was to be had,
        poll by poll. Result: with the polls at which that changes.
        """
        polled = np.asarray(status, bool)
        require(len(polled) > 0, "status", status, "that of at least one poll")
        changes = np.flatnonzero(polled[1:] != polled[:-1]) + 1
        return cls(name, step_s, len(polled), bool(polled[0]), tuple(changes.tolist()))

    @property
    def length_s(self) -> int:
        """Of all polls, seconds."""
        return self.steps * self.step_s

    @property
    def status(self) -> npt.NDArray[np.bool_]:
        """The status at each poll, shape (steps,)."""
        turned = np.zeros(self.steps, int)
        turned[list(self.changes)] = 1
        return np.asarray((np.cumsum(turned) % 2 == 1) != self.up)

    @property
    def availability(self) -> float:
        """Share of the time in which an instance is to be had."""
        return float(self.status.mean())

    def first(self, steps: int) -> Series:
        """The first polls alone.

        steps: how many. Result: a part of this one.
        """
        kept = tuple(change for change in self.changes if change < steps)
        return Series(self.name, self.step_s, steps, self.up, kept)

    def runs_s(self, up: bool) -> npt.NDArray[np.float64]:
        """The lengths of all runs up or down; the last run of the series may go on.

        up: or down. Result: seconds, shape (runs,).
        """
        edges = np.array((0, *self.changes, self.steps)) * float(self.step_s)
        return np.diff(edges)[0 if up == self.up else 1 :: 2]

    def ended(self, up: bool) -> npt.NDArray[np.bool_]:
        """Which of the runs up or down are seen to end.

        up: or down. Result: shape (runs,), as of `runs_s`.
        """
        found = np.ones(len(self.runs_s(up)), bool)
        if up == (self.up != (len(self.changes) % 2 == 1)):
            found[-1] = False
        return found


def read_series(path: str | Path, needed: int = 1) -> Series:
    """The series of a file.

    path: JSON or CSV, plain or gzipped; see the head of this module. needed: how many instances at
    once count as "to be had". Result: of the name of the file. Raises InputError for a file that is
    missing, empty or damaged; for polls that are missing, out of order or not at even steps; for
    what is no number of instances, and for several types.
    """
    check_whole("needed", needed, least=1)
    path = Path(path)
    with faults_of(path), opened(path) as file:
        rows = rows_of(path, file)
        require(len(rows) > 1, "polls", len(rows), "at least two: one tells no step")
        types = list(dict.fromkeys(row.gpu for row in rows))
        require(len(types) == 1, "types", types, "one, for a series")
        return Series.of(name_of(path), _step_s(rows), np.array(_counts(rows)) >= needed)


def _counts(rows: Sequence[Row]) -> list[int]:
    for row in rows:
        if row.instances is None:
            raise InputError(f"line {row.line}: status must be up, down, or a whole number >= 0")
    return [row.instances or 0 for row in rows]


def _step_s(rows: Sequence[Row]) -> int:
    """The step between polls; InputError where it is not the same throughout."""
    steps = [(after.line, seconds_between(before, after)) for before, after in pairwise(rows)]
    step_s = steps[0][1]
    for line, step in steps:
        if not step > 0:
            raise InputError(f"line {line}: its time must be after that of the row before")
        if step != step_s:
            raise InputError(
                f"line {line}: {step:g} s after the row before, where the first step is"
                f" {step_s:g} s: polls must be at even steps, without gaps"
            )
    require(step_s == int(step_s), "the step between polls", step_s, "whole seconds")
    return int(step_s)
