"""Deadline classes: names, shares of the jobs, and times to the deadline."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated

import numpy as np

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.parameters import (
    Fraction,
    NotNegative,
    Positive,
    Shares,
    declared,
    parameter,
    rule,
)

TWO = ("tight", "loose")  # the classes of the thesis


ClassName = Annotated[
    str,
    rule(
        "letters, digits, '_' and '-', and not 'weighted'",
        re.compile(r"(?!weighted$)[\w-]+").fullmatch,
    ),
]


@declared("{} of class {name}")
class DeadlineClass:
    """Jobs with the same time from submission to deadline."""

    name: ClassName = parameter(
        "Name of the class, with which the names of its figures begin"
        ' ("rush_miss_pct"): letters, digits, "_" and'
        ' "-".'
    )
    share: Fraction = parameter("Share of the jobs, from 0 to 1.")
    window_s: Positive | None = parameter(
        "Seconds from submission to deadline. None: the jobs have their own"
        " deadlines (only in classes that a workload itself creates)."
    )
    tight: bool = parameter(
        "Whether policies that distinguish two kinds of jobs treat the jobs of"
        " this class as urgent (their attribute `tight`). Any number of classes"
        " may be"
        ' tight; of the default classes, "tight" is and "loose" is not.',
        default=False,
    )
    weight: NotNegative | None = parameter(
        "Importance of each job, >= 0; in a log, it multiplies the job's own"
        " weight. None: the jobs have their own weights.",
        default=1.0,
    )
    complexity_mix: Shares | None = parameter(
        "Shares of complexity 1, 2, ... among the jobs of the class. None: the"
        " shares of the workload. The jobs of a log have their own complexity.",
        default=None,
    )

    def __post_init__(self) -> None:
        if self.name in TWO:
            expected = self.name == "tight"
            name = f"tight of class {self.name}"
            require(self.tight == expected, name, self.tight, f"{expected}")


@declared()
class DeadlineClasses:
    """The thesis's classes, tight (rush) and loose (standard), Sections 3.4, 5.1.1."""

    tight_fraction: Fraction = parameter(
        "Share of tight jobs, from 0 to 1.", default=0.2
    )
    tight_window_s: Positive = parameter(
        "Seconds from submission to deadline of a tight job.", default=3600.0
    )
    loose_window_s: Positive = parameter(
        "Seconds from submission to deadline of a loose job.", default=28800.0
    )

    @cached_property
    def classes(self) -> tuple[DeadlineClass, ...]:
        """The two classes: tight, then loose."""
        return (
            DeadlineClass(
                "tight", self.tight_fraction, self.tight_window_s, tight=True
            ),
            DeadlineClass("loose", 1.0 - self.tight_fraction, self.loose_window_s),
        )


Deadlines = DeadlineClasses | Sequence[DeadlineClass]
"""The thesis's two classes, or a list of any number."""


CheckedDeadlines = (
    DeadlineClasses
    | Annotated[
        Sequence[DeadlineClass],
        rule("a list of at least one class", bool),
        rule(
            "classes with a window and a weight",
            lambda classes: all(
                None not in (part.window_s, part.weight) for part in classes
            ),
            lambda classes: " and ".join(
                f"{name} of class {part.name} is None"
                for part in classes
                for name in ("window_s", "weight")
                if getattr(part, name) is None
            ),
        ),
        rule(
            "classes of different names",
            lambda classes: len({part.name for part in classes}) == len(classes),
            lambda classes: ", ".join(part.name for part in classes),
        ),
        rule(
            "classes whose shares sum to 1",
            lambda classes: abs(math.fsum(part.share for part in classes) - 1) < 1e-9,
            lambda classes: f"{math.fsum(part.share for part in classes):g}",
        ),
    ]
)
"""Deadline classes that jobs can be drawn from."""


def classes_of(deadlines: Deadlines) -> tuple[DeadlineClass, ...]:
    """Return the classes in the order of the index `Job.deadline_class`."""
    return (
        deadlines.classes
        if isinstance(deadlines, DeadlineClasses)
        else tuple(deadlines)
    )


class ClassColumns:
    """The classes from which jobs are drawn, as columns by index."""

    def __init__(self, deadlines: Deadlines) -> None:
        classes = classes_of(deadlines)
        self.window_s = np.array([each.window_s for each in classes], float)
        self.tight = np.array([each.tight for each in classes], bool)
        self.weight = np.array([each.weight for each in classes], float)
        self._thresholds = np.cumsum([each.share for each in classes])[:-1]

    def drawn(self, uniforms: np.ndarray) -> np.ndarray:
        """Return the class indices that correspond to uniform variates on [0, 1)."""
        return np.asarray(np.searchsorted(self._thresholds, uniforms, side="right"))

    def of_windows(self, window_s: np.ndarray) -> np.ndarray:
        """Return the class per window: the first at least as long, or the last."""
        fits = window_s[:, None] <= self.window_s
        fits[:, -1] = True
        return np.asarray(fits.argmax(axis=1))
