"""Exercises of the lectures, two or three per lecture, with automatic checks.

    cg.exercises.check(3.1, 0.5)

Feedback names common mistakes, but not whether an answer is too high or too low.
`claim` checks a sentence of a lecture against a result.
"""

from __future__ import annotations

from typing import Any

from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.exercises import inputs, outputs, processes, scheduling
from cgrsp_simpy.exercises.exercise import Exercise, Verdict, claim

__all__ = ["EXERCISES", "check", "claim", "question"]

ROOMS = processes, inputs, outputs, scheduling

# Number of lecture and exercise -> exercise, in the order of numbers.
EXERCISES: dict[str, Exercise] = dict(
    sorted(
        (item for room in ROOMS for item in room.EXERCISES.items()),
        key=lambda item: [*map(int, item[0].split("."))],
    )
)


def _exercise(number: float | str) -> Exercise:
    check_one_of("exercise", str(number), EXERCISES)
    return EXERCISES[str(number)]


def question(exercise: float | str, student: str = "") -> str:
    """Return the text of an exercise; student: name that selects individual numbers."""
    return _exercise(exercise).of(student)[0]


def check(exercise: float | str, answer: Any, student: str = "") -> Verdict:
    """Check an answer without revealing the right one or the direction of an error.

    exercise: lecture and number, such as 3.1. student: name that selects individual
    numbers. The verdict is true if the answer is right; else its message describes the
    error. Raises InputError for an unknown exercise.
    """
    fault = _exercise(exercise).of(student)[1](answer)
    if fault and not student and _exercise(exercise).numbers:
        fault += " (no name: these are not your own numbers)"
    return Verdict(not fault, fault or "right")
