"""Descriptions of figures, reproducible sums, and detection of user-defined parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import reduce
from operator import add
from types import FunctionType
from typing import Any, NamedTuple

PLAIN = (int, float, bool, str, type(None))
# where the classes of parts are from
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


def users_part(model: Any) -> object | None:
    """Return a model's first part that is a function or a user's object, or None."""
    if type(model) in PLAIN:
        return None
    if type(model) is tuple:
        if all(map(_is_plain, {type(each) for each in model})):
            return None
        return next(
            (found for each in model if (found := users_part(each)) is not None), None
        )
    if (
        isinstance(model, FunctionType)
        or type(model).__module__.partition(".")[0] not in KNOWN
    ):
        return model  # type: ignore[no-any-return]
    inner = (
        [getattr(model, item.name) for item in fields(model)]
        if is_dataclass(model)
        else []
    )
    return next(
        (found for each in inner if (found := users_part(each)) is not None), None
    )


def _is_plain(kind: type) -> bool:
    """Return whether a type is one of plain values or an enumeration of the package."""
    own = issubclass(kind, Enum) and kind.__module__.partition(".")[0] in KNOWN
    return own or kind in PLAIN
