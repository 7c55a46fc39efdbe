"""Series of spot instances: at each poll whether they were to be had, from files.

A file is JSON in the layout of SkyPilot's spot traces, {"metadata": {"gap_seconds": 600}, "data":
[1, 0, ...]}, with the number of instances to be had at each poll; or a CSV table with a header line
and the columns time (seconds, or timestamps) and status (up, down, or a number of instances), a row
a poll, in even steps. Either may be gzipped. 1 means: to be had.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.logs.text import comma_rows, faults_of, opened
from cgrsp_simpy.model.checks import InputError, check_whole, entries_of, require
from cgrsp_simpy.model.reading import timestamp

__all__ = ["SERIES", "Series", "read_series"]

STATUS = {"up": 1, "down": 0}  # beside numbers, in CSV
Counts = tuple[int, list[int]]
"""Seconds between polls, and how many instances were to be had at each."""


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

    Raises
    ------
    InputError
        For what is not allowed.
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

        Parameters
        ----------
        name : str
            As of the class.
        step_s : int
            As of the class.
        status : sequence of bool
            Whether an instance was to be had, poll by poll.

        Returns
        -------
        Series
            With the polls at which that changes.
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

        Parameters
        ----------
        steps : int
            How many.

        Returns
        -------
        Series
            A part of this one.
        """
        kept = tuple(change for change in self.changes if change < steps)
        return Series(self.name, self.step_s, steps, self.up, kept)

    def runs_s(self, up: bool) -> npt.NDArray[np.float64]:
        """The lengths of all runs up or down; the last run of the series may go on.

        Parameters
        ----------
        up : bool
            Or down.

        Returns
        -------
        array
            Seconds, shape (runs,).
        """
        edges = np.array((0, *self.changes, self.steps)) * float(self.step_s)
        return np.diff(edges)[0 if up == self.up else 1 :: 2]

    def ended(self, up: bool) -> npt.NDArray[np.bool_]:
        """Which of the runs up or down are seen to end.

        Parameters
        ----------
        up : bool
            Or down.

        Returns
        -------
        array of bool
            Shape (runs,), as of `runs_s`.
        """
        found = np.ones(len(self.runs_s(up)), bool)
        if up == (self.up != (len(self.changes) % 2 == 1)):
            found[-1] = False
        return found


def read_series(path: str | Path, needed: int = 1) -> Series:
    """The series of a file; its format is told by what it begins with, { or anything else.

    Parameters
    ----------
    path : str or Path
        JSON or CSV, plain or gzipped; see the head of this module.
    needed : int
        How many instances at once count as "to be had".

    Returns
    -------
    Series
        Of the name of the file.

    Raises
    ------
    InputError
        For a file that is missing, empty or damaged; for polls that are missing, out of order or
        not at even steps; for what is no number of instances.
    """
    check_whole("needed", needed, least=1)
    path = Path(path)
    with faults_of(path), opened(path) as file:
        start = file.read(1)
        while start.isspace():
            start = file.read(1)
        file.seek(0)
        step_s, counts = SERIES["json" if start == "{" else "csv"](file)
        if len(counts) == 0:
            raise InputError("no polls")
        return Series.of(_name(path), step_s, np.array(counts) >= needed)


def _name(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[0] or path.name


def _json(file: TextIO) -> Counts:
    try:
        found = json.load(file)
    except json.JSONDecodeError as error:
        raise InputError(
            f"line {error.lineno}, column {error.colno}: not JSON ({error.msg})"
        ) from None
    except (RecursionError, ValueError):
        raise InputError("not JSON") from None
    about = found.get("metadata")
    if not isinstance(about, dict):
        raise InputError(f"metadata(={_short(about)}) must be an object with gap_seconds")
    step_s: Any = about.get("gap_seconds")
    data = found.get("data")
    check_whole("metadata.gap_seconds", step_s, least=1)
    if not isinstance(data, list):
        raise InputError(f"data(={_short(data)}) must be a list of numbers of instances")
    for place, count in enumerate(data):
        if type(count) is not int or count < 0:
            raise InputError(
                f"entry {place} of data(={_short(count)}) must be a whole number >= 0 (a poll that"
                " is missing is no status)"
            )
    return step_s, data


def _csv(file: TextIO) -> Counts:
    try:
        table = comma_rows(file, {})
        rows = [(line, _cells(line, cells)) for line, cells in table]
    except csv.Error as error:
        raise InputError(f"not CSV ({error})") from None
    if not rows:
        raise InputError("no header line")
    (_, header), *rows = rows
    names = [cell.strip() for cell in header]
    for name in ("time", "status"):
        require(name in names, "columns", ",".join(names), f"time,status: there is no {name}")
    time, status = names.index("time"), names.index("status")
    for line, cells in rows:
        if len(cells) != len(names):
            raise InputError(f"line {line}: {len(cells)} cells, where the header has {len(names)}")
    require(len(rows) != 1, "rows", 1, "at least two polls: one tells no step")
    times_s = [(line, _time_s(line, cells[time].strip())) for line, cells in rows]
    return _step_s(times_s), [_count(line, cells[status].strip()) for line, cells in rows]


def _cells(line: int, cells: list[str] | str) -> list[str]:
    if isinstance(cells, str):
        raise InputError(f"line {line}: {cells}")
    return cells


def _time_s(line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return (timestamp(text) - datetime(1970, 1, 1)).total_seconds()
    except ValueError:
        raise InputError(
            f"line {line}: time(={_short(text)}) must be seconds, or a timestamp"
        ) from None


def _step_s(times_s: Sequence[tuple[int, float]]) -> int:
    """The step between polls; InputError where it is not the same throughout."""
    steps = [(line, after - before) for (_, before), (line, after) in pairwise(times_s)]
    step_s = steps[0][1] if steps else 1.0
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


def _count(line: int, text: str) -> int:
    if text.lower() in STATUS:
        return STATUS[text.lower()]
    if not (text.isascii() and text.isdigit()):
        raise InputError(
            f"line {line}: status(={_short(text)}) must be up, down, or a whole number >= 0"
        )
    return int(text)


def _short(value: Any) -> str:
    return repr(value)[:50]


SERIES: dict[str, Callable[[TextIO], Counts]] = {"json": _json, "csv": _csv}
"""The readers of series by the name of their format."""
