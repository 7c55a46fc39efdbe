"""An exercise: a question, and a judge of answers that knows the usual mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

__all__ = ["Exercise", "Mistake", "Verdict", "number"]

Judge = Callable[[Any], str]
"""What is off in an answer, without the answer; "" if it is right."""


@dataclass(frozen=True)
class Exercise:
    """A question as it stands in the lecture, and who judges the answers.

    Attributes
    ----------
    question : str
        Its text.
    judge : callable
        Takes an answer and says what is wrong with it, "" if it is right.
    """

    question: str
    judge: Judge


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and what is said of it; true if it is right.

    Attributes
    ----------
    right : bool
        Whether the answer is right.
    message : str
        "right", or what is off.
    """

    right: bool
    message: str

    def __bool__(self) -> bool:
        return self.right

    def __str__(self) -> str:
        return self.message

    __repr__ = __str__


class Mistake(NamedTuple):
    """What a usual mistake leads to, and what is said then."""

    answer: Callable[[], float]
    hint: str


def number(answer: Callable[[], float], unit: str, tolerance: float, *mistakes: Mistake) -> Judge:
    """A judge of numbers.

    answer, mistakes: work out the right one, and wrong ones, when asked. tolerance: as a share.
    """

    def judge(given: Any) -> str:
        if isinstance(given, bool) or not isinstance(given, Real) or math.isnan(_as_float(given)):
            return f"the answer is a number ({unit}), not {given!r}"
        value = _as_float(given)
        right = answer()
        if abs(value - right) <= tolerance * abs(right):
            return ""
        for mistake in mistakes:
            wrong = mistake.answer()
            if abs(value - wrong) <= tolerance * abs(wrong):
                return mistake.hint
        return f"too {'low' if value < right else 'high'} ({unit})"

    return judge


def _as_float(given: Any) -> float:
    """A number as a float; infinite if it is too large for one."""
    try:
        return float(given)
    except OverflowError:
        return math.inf if given > 0 else -math.inf
