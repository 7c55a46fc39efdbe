"""Figures: their meaning, how they add up, and which are the user's own."""

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
    """Description of a figure of a run.

    Parameters
    ----------
    label : str
        In words, as on an axis.
    unit : str
        Such as "min" or "%"; "" for numbers and ratios.
    better : str
        "less" or "more"; "" where neither is better.
    """

    label: str
    unit: str = ""
    better: str = "less"

    def __str__(self) -> str:
        return f"{self.label} ({self.unit})" if self.unit else self.label


def summed(values: Iterable[float]) -> float:
    """Their sum, rounded after each term: the same bits on every Python, which `sum` of
    floats does not give (from 3.12 on it makes up for the rounding).
    """
    start: float = 0
    return reduce(add, values, start)


def users_part(model: Any) -> object | None:
    """The first part of a model, itself included, that is a function or of a class of
    the user's own.
    """
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
    """Whether what is of a type is a value, or a name of an enumeration of the
    package.
    """
    own = issubclass(kind, Enum) and kind.__module__.partition(".")[0] in KNOWN
    return own or kind in PLAIN
