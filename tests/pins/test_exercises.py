"""Recorded values, not proven ones: the numbers and cases that students get in each
exercise, and the results with which their answers are compared; `python
tests/pins/test_exercises.py` rewrites them.
"""

import json
import re
from collections.abc import Iterable
from copy import deepcopy
from inspect import getclosurevars
from pathlib import Path

import numpy as np
import pytest

from cgrsp_simpy.exercises import EXERCISES

PINS = Path(__file__).with_name("exercises.json")


def flat(value):
    """Return all numbers of nested sequences."""
    if isinstance(value, Iterable):
        return [number for part in value for number in flat(part)]
    return [float(value)]


def digest(value):
    """Return how many numbers there are, and two weighted sums of them."""
    numbers = np.array([0.0, *flat(value)])
    return [numbers.size - 1, numbers.sum(), numbers @ np.arange(numbers.size)]


def compared(fault, cases):
    """Return tolerance, right results and those of common mistakes, of all cases."""
    parts = getclosurevars(fault).nonlocals
    if "faults" in parts:
        return [compared(each, cases) for each in parts["faults"]]
    functions = [parts["right"], *(wrong for wrong, _ in parts["mistakes"])]
    return [
        parts["within"],
        *(digest([f(*deepcopy(case)) for case in cases]) for f in functions),
    ]


def pin(number):
    """Return the numbers in the questions of three students, and what is compared."""
    (question, judge), *others = map(EXERCISES[number].of, "abc")
    asked = re.findall(
        r"\d+\.?\d*", " ".join([question, *(text for text, _ in others)])
    )
    parts = getclosurevars(judge).nonlocals
    if "tolerance" in parts:
        answers = [parts["answer"], *(wrong for wrong, _ in parts["mistakes"])]
        return flat(
            [map(float, asked), parts["tolerance"], [each() for each in answers]]
        )
    cases = [tuple(case.values()) for case in parts["cases"]()]
    return flat([digest(cases), compared(parts["fault"], cases)])


# their judges are functions that compare no results
OTHERS = {"7.2", "18.2"}


def test_the_numbers_and_results_of_exercises_equal_the_pins():
    pinned = json.loads(PINS.read_text(encoding="utf-8"))
    assert pinned.keys() == EXERCISES.keys() - OTHERS
    for number, expected in pinned.items():
        assert pin(number) == pytest.approx(expected, rel=1e-7, abs=1e-12), number


if __name__ == "__main__":
    lines = (
        f'"{number}": {[float(f"{value:.9g}") for value in pin(number)]}'
        for number in EXERCISES
        if number not in OTHERS
    )
    PINS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
