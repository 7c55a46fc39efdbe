"""Descriptions of figures, reproducible sums, and detection of user-defined parts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import reduce
from numbers import Real
from operator import add
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from cgrsp_simpy.base.checks import require

# columns of a study's rows next to figures, and the key of a policy in JSON
COLUMNS = ("policy", "seed", "error", "alternative")
PLAIN = (int, float, bool, str, type(None))
# packages whose classes may be parts
KNOWN = ("cgrsp_simpy", "builtins", "numpy", "pathlib")


class Metric(NamedTuple):
    """Description of a figure (metric) of a run.

    label: text for an axis. unit: such as "min" or "%"; "" for counts and ratios.
    better: "less" or "more"; "" if neither is better.
    """

    label: str
    unit: str = ""
    better: str = "less"

    def __str__(self) -> str:
        return f"{self.label} ({self.unit})" if self.unit else self.label


def summed(values: Iterable[float]) -> float:
    """Return the sum, rounded after each term, so that all Python versions agree."""
    start: float = 0
    return reduce(add, values, start)


def ratio(part: float, whole: float) -> float:
    """Return part / whole; NaN if the whole is 0."""
    return part / whole if whole else math.nan


def check_figures(owner: str, figures: Any, columns: Sequence[str] = COLUMNS) -> None:
    """Raise InputError unless figures are numbers by name, different from columns."""
    require(isinstance(figures, Mapping), owner, figures, "a dict of figures by name")
    allowed = f"different from the names of the columns {', '.join(columns)}"
    for name, value in figures.items():
        require(isinstance(name, str), f"figure of {owner}", name, "a string")
        # a comparison of NumPy numbers is a np.bool_, which is not a Real
        is_number = isinstance(value, Real | np.bool_)
        require(is_number, f"figure {name!r}", value, "a number")
        require(name not in columns, "figure", name, allowed)


def users_part(model: Any) -> object | None:
    """Return a model's first part that is a function or a user's object, or None."""
    if type(model) in PLAIN:
        return None
    in_package = type(model).__module__.partition(".")[0] in KNOWN
    if isinstance(model, FunctionType) or not in_package:
        return model  # type: ignore[no-any-return]
    parts: Sequence[Any] = ()
    if type(model) is tuple and not all(map(_is_plain, {*map(type, model)})):
        parts = model
    elif is_dataclass(model):
        parts = [getattr(model, item.name) for item in fields(model)]
    of_user = (users_part(part) for part in parts)
    return next((part for part in of_user if part is not None), None)


def _is_plain(kind: type) -> bool:
    """Return whether a type is a built-in type or an enumeration of the package."""
    in_package = kind.__module__.partition(".")[0] in KNOWN
    return kind in PLAIN or (issubclass(kind, Enum) and in_package)
