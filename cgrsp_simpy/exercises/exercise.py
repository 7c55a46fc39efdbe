"""An exercise: a question, and a judge of answers that knows the usual mistakes; and
sentences of a text that stand or fall with what the code beside them finds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.base.checks import InputError, require

ROUNDING = 1e-6  # a tolerance below it is for rounding alone: a count
# how far three significant figures may lie from the number, as a share
THREE_FIGURES = 5e-3

Judge = Callable[[Any], str]
"""What is off in an answer, without the answer; "" if it is right."""


@dataclass(frozen=True)
class Exercise:
    """A question as it stands in the lecture, and who judges the answers.

    question: its text. judge: takes an answer and says what is wrong with it, "" if it
    is right.
    """

    question: str
    judge: Judge


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and what is said of it; true if it is right.

    right: whether the answer is right. message: "right", or what is off.
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

    answer: Callable[..., Any]
    hint: str


def number(
    answer: Callable[[], float],
    unit: str,
    tolerance: float,
    *mistakes: Mistake,
    way: str = "go through the lecture's own example again",
) -> Judge:
    """A judge of numbers, who never says on which side of the right one an answer lies.

    answer, mistakes: work out the right one, and wrong ones, when asked. tolerance: as
    a share; 0 for a count. All other answers are right to three significant figures as
    well. way: how to come by the answer, said to any wrong one that is no usual
    mistake.
    """
    within = f"to {100 * tolerance:g} %" if tolerance > ROUNDING else "exactly"
    if ROUNDING < tolerance < THREE_FIGURES:
        within = "to three significant figures"

    def judge(given: Any) -> str:
        value = _as_float(given)
        try:
            require(math.isfinite(value), "answer", given, f"a number ({unit})")
        except InputError as not_a_number:
            return str(not_a_number)
        if _near(value, answer(), tolerance):
            return ""
        for mistake in mistakes:
            if _near(value, mistake.answer(), tolerance):
                return mistake.hint
        return f"not yet ({unit}, {within}): {way}"

    return judge


def _near(value: float, exact: float, tolerance: float) -> bool:
    if tolerance > ROUNDING and f"{value:.3g}" == f"{exact:.3g}":
        return True
    return abs(value - exact) <= tolerance * abs(exact)


def _as_float(given: Any) -> float:
    """A real number as a float; NaN for what is none, or too large."""
    if isinstance(given, bool) or not isinstance(given, Real):
        return math.nan
    try:
        return float(given)
    except OverflowError:
        return math.nan


Case = Mapping[str, Any]
"""What an answer that is a function is called with, by the name of what it is."""


def code(
    what: str, cases: Callable[[], Iterable[Case]], fault: Callable[..., str]
) -> Judge:
    """A judge of functions, who runs them on cases and says on which one they are
    wrong.

    what: the answer, such as "a function of a view". cases: made anew for each answer.
    fault: takes the answer and what the case holds; what is off, "" if nothing.
    """

    def judge(given: Any) -> str:
        if not callable(given):
            return f"the answer is {what}, without calling it, not {given!r}"
        for case in cases():
            try:
                off = fault(given, *case.values())
            except Exception as error:
                off = f"{type(error).__name__}: {error}"
            if off:
                told = ", ".join(
                    f"{name} {_told(value)}" for name, value in case.items()
                )
                return f"{off} (with {told})" if told else off
        return ""

    return judge


def same(
    right: Callable[..., Any],
    *mistakes: Mistake,
    tried: Callable[..., Any] = lambda given, *case: given(*case),
    within: float = ROUNDING,
) -> Callable[..., str]:
    """What `code` takes as fault: something else comes out than of the right function.

    right, mistakes: functions of what a case holds, which give numbers of any shape.
    tried: what comes of the answer. within: as a share of the largest right number.
    """

    def fault(given: Any, *case: Any) -> str:
        wanted = np.asarray(right(*deepcopy(case)), float)
        found = np.asarray(tried(given, *deepcopy(case)), float)
        if _alike(found, wanted, within):
            return ""
        for mistake in mistakes:
            if _alike(
                found, np.asarray(mistake.answer(*deepcopy(case)), float), within
            ):
                return mistake.hint
        return f"{_told(found)} comes out, it should be {_told(wanted)}"

    return fault


def _alike(found: np.ndarray, wanted: np.ndarray, within: float) -> bool:
    most = within * np.abs(wanted).max(initial=within)
    return found.shape == wanted.shape and bool(np.all(np.abs(found - wanted) <= most))


def _told(value: Any) -> str:
    """Numbers to four figures, ten at most."""
    if np.ndim(value) == 0:
        return f"{value:.4g}" if isinstance(value, Real | np.ndarray) else str(value)
    listed = [_told(each) for each in value]
    return f"[{', '.join(listed[:10])}{', ...' * (len(listed) > 10)}]"


class ClaimError(AssertionError):
    """A sentence says what was not found."""


def claim(
    sentence: str,
    found: Mean | float,
    *,
    above: float | None = None,
    below: float | None = None,
    equal: float | None = None,
) -> str:
    """Check a sentence against what was found, so that a text cannot say what its code
    denies.

    Of a mean the whole interval must lie within the bounds: an interval that reaches 0
    is above nothing. "No difference" is a claim with two bounds, the least difference
    that would matter.

    sentence: as it stands in the text. found: with its interval, or a number that has
    none, such as a count, or True and False. above, below: what is claimed, both
    excluded; in the unit of `found`. equal: the number itself, in place of bounds.
    Result: a line to print: the sentence, what was found and what was claimed of it.
    Raises ClaimError where it is not so; NaN is never so; InputError for a sentence
    without a claim.
    """
    claimed = {"above": above, "below": below, "equal": equal}
    said = [f"{word} {bound:g}" for word, bound in claimed.items() if bound is not None]
    require(bool(said), "claim", sentence, "given with above, below or equal")
    low, high = (found.low, found.high) if isinstance(found, Mean) else (found, found)
    whole = isinstance(found, bool)  # yes or no: no number to show
    line = sentence if whole else f"{sentence} ({_shown(found)}: {', '.join(said)})"
    if not (
        (above is None or low > above)
        and (below is None or high < below)
        and (equal is None or low == equal == high)
    ):
        raise ClaimError(f"not so: {line}")
    return f"so: {line}"


def _shown(found: Mean | float) -> str:
    if isinstance(found, Mean):
        return f"{found.mean:.3g} ± {found.half_width:.2g}"
    return f"{found:.4g}"
