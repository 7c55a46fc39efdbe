"""Deadline classes: their names, their shares of the jobs, and how long each job
has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cgrsp_simpy.base.checks import (
    InputError,
    check_bool,
    check_fields,
    check_fraction,
    check_number,
    check_shares,
    entries_of,
    python_numbers,
    require,
)

TWO = ("tight", "loose")  # the classes of the thesis


@dataclass(frozen=True)
class DeadlineClass:
    """Jobs that have the same time from submission to deadline.

    Parameters
    ----------
    name : str
        Letters, digits, "_" and "-"; figures of the class begin with it
        ("rush_miss_pct").
    share : float
        Share of the jobs, from 0 to 1.
    window_s : float or None
        Seconds from submission to deadline. None: the jobs bring deadlines of their
        own; only what a workload says of itself has it.
    tight : bool
        Whether a policy that knows two kinds of jobs takes these for rush orders: it is
        `tight` of the jobs. Any number of classes may be tight, or none; "tight" is,
        "loose" is not.
    weight : float or None
        Importance of each job, >= 0; of a log, times the job's own. None: the jobs
        bring their own, as with `window_s`.
    complexity_mix : sequence of float or None
        Shares of complexity 1, 2, ... among its jobs: of small rush jobs, or big
        batches. None: those of the workload. The jobs of a log bring their complexity.
    """

    name: str
    share: float
    window_s: float | None
    tight: bool = False
    weight: float | None = 1.0
    complexity_mix: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        python_numbers(self)
        word = (
            isinstance(self.name, str)
            and re.fullmatch(r"[\w-]+", self.name) is not None
        )
        require(
            word, "name of a deadline class", self.name, "letters, digits, '_' and '-'"
        )
        require(
            self.name != "weighted",
            "name of a deadline class",
            self.name,
            "another word",
        )
        check_fraction(f"share of class {self.name}", self.share)
        if self.window_s is not None:
            check_number(f"window_s of class {self.name}", self.window_s, above=0)
        check_bool(f"tight of class {self.name}", self.tight)
        if self.name in TWO:
            meant = self.name == "tight"
            require(
                self.tight == meant,
                f"tight of class {self.name}",
                self.tight,
                f"{meant}",
            )
        if self.weight is not None:
            check_number(f"weight of class {self.name}", self.weight, least=0)
        if self.complexity_mix is not None:
            what = f"complexity_mix of class {self.name}"
            mix = entries_of(what, self.complexity_mix, "a list of shares")
            check_shares(what, mix)
            object.__setattr__(self, "complexity_mix", mix)


@dataclass(frozen=True)
class DeadlineClasses:
    """The two classes of the thesis: tight (rush) and loose (standard) jobs.

    Parameters
    ----------
    tight_fraction : float
        Share of tight jobs, from 0 to 1.
    tight_window_s, loose_window_s : float
        Seconds from submission to deadline.

    References
    ----------
    Thesis Sections 3.4 and 5.1.1.
    """

    tight_fraction: float = 0.2
    tight_window_s: float = 3600.0
    loose_window_s: float = 28800.0

    def __post_init__(self) -> None:
        python_numbers(self)
        check_fraction("tight_fraction", self.tight_fraction)
        check_fields(self, check_number, "tight_window_s", "loose_window_s", above=0)

    @cached_property
    def classes(self) -> tuple[DeadlineClass, ...]:
        """Tight, then loose."""
        return (
            DeadlineClass(
                "tight", self.tight_fraction, self.tight_window_s, tight=True
            ),
            DeadlineClass("loose", 1.0 - self.tight_fraction, self.loose_window_s),
        )


Deadlines = DeadlineClasses | Sequence[DeadlineClass]
"""The thesis's two classes, or a list of any number."""


def checked_deadlines(deadlines: Deadlines) -> Deadlines:
    """Deadline classes that jobs can be drawn from; a list becomes a tuple.

    Raises InputError for no class, names that are equal, shares that do not sum to 1,
    or a class without window or weight.
    """
    if isinstance(deadlines, DeadlineClasses):
        return deadlines
    classes: tuple[DeadlineClass, ...] = entries_of(
        "deadlines", deadlines, "a list of classes"
    )
    for each in classes:
        what = "a DeadlineClass, or the two of DeadlineClasses"
        require(isinstance(each, DeadlineClass), "deadlines", each, what)
        for name in ("window_s", "weight"):
            if getattr(each, name) is None:
                raise InputError(f"{name} of class {each.name}(=None) must be a number")
    names = [each.name for each in classes]
    require(len(names) > 0, "deadlines", names, "at least one class")
    require(
        len(set(names)) == len(names), "names of deadline classes", names, "different"
    )
    check_shares("shares of the deadline classes", [each.share for each in classes])
    return classes


def classes_of(deadlines: Deadlines) -> tuple[DeadlineClass, ...]:
    """The classes by index, as in `Job.deadline_class`."""
    return (
        deadlines.classes
        if isinstance(deadlines, DeadlineClasses)
        else tuple(deadlines)
    )


class ClassColumns:
    """The classes that jobs are drawn from, as columns by index.

    deadlines: checked by `checked_deadlines`.
    """

    def __init__(self, deadlines: Deadlines) -> None:
        classes = classes_of(deadlines)
        self.window_s = np.array([each.window_s for each in classes], float)
        self.tight = np.array([each.tight for each in classes], bool)
        self.weight = np.array([each.weight for each in classes], float)
        self._thresholds = np.cumsum([each.share for each in classes])[:-1]

    def drawn(self, uniforms: np.ndarray) -> np.ndarray:
        """Indices of the classes that uniform variates on [0, 1) stand for."""
        return np.asarray(np.searchsorted(self._thresholds, uniforms, side="right"))

    def of_windows(self, window_s: np.ndarray) -> np.ndarray:
        """Indices for jobs with deadlines of their own, from their windows in seconds.

        The first class whose window is at least as long, or the last.
        """
        fits = window_s[:, None] <= self.window_s
        fits[:, -1] = True
        return np.asarray(fits.argmax(axis=1))
