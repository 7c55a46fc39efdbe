"""The exercises of the lectures, two or three each, which check themselves.

    cg.exercises.check(3.1, 0.5)

A right answer is worked out when it is needed, by a run or a formula; none is written
down here. A wrong one is told from its usual mistakes, never whether it is too high or
too low. `claim` checks the lectures' own sentences.
"""

from __future__ import annotations

from typing import Any

from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.exercises import basics, generators, inputs, methods, programs, studies
from cgrsp_simpy.exercises.exercise import Exercise, Verdict, claim

__all__ = ["EXERCISES", "check", "claim"]

ROOMS = basics, studies, inputs, methods, generators, programs

# Number of lecture and exercise -> exercise, in the order of numbers.
EXERCISES: dict[str, Exercise] = dict(
    sorted(
        (item for room in ROOMS for item in room.EXERCISES.items()),
        key=lambda item: [*map(int, item[0].split("."))],
    )
)


def check(exercise: float | str, answer: Any) -> Verdict:
    """Whether an answer is right, and if not, what is off; the right one is not given
    away, nor on which side of it the answer lies.

    exercise: lecture and number, as 3.1. answer: what the exercise asks for. Result:
    true if right; its message says what is off. Raises InputError for an unknown
    exercise.
    """
    check_one_of("exercise", str(exercise), EXERCISES)
    fault = EXERCISES[str(exercise)].judge(answer)
    return Verdict(not fault, fault or "right")
