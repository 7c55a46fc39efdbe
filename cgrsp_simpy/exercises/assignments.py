"""Conversion of lectures and modelling tasks (percent scripts) to nbgrader assignments.

A code cell with a solution region is an answer. A code cell whose first line is "# 2
points" is a test, which may contain hidden tests. A text cell whose first line is "<!--
2 points -->" is an answer that is graded by hand. All other text is locked. In a
lecture, each exercise becomes a question, an answer and a test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.exercises import EXERCISES
from cgrsp_simpy.exercises.pages import file_text, new_cell, notebook

POINTS = re.compile(r"(?:# |<!-- )(\d+) points?\b.*")
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
REGION = re.compile(rf"^([ \t]*){BEGIN}\n.*?^[ \t]*{END}", re.MULTILINE | re.DOTALL)
EXERCISE = re.compile(r"^(?=\*\*\d+\.\d\*\* )", re.MULTILINE)
CHECK = re.compile(r"(?:Check it:\s)?`cg\.exercises\.check\(([\d.]+),\s(\w+)[^`]*`")
ANSWER = re.compile(r"^# %% \[markdown\]\n# \*\*(\d+\.\d)\*\* ", re.MULTILINE)
INTRODUCTION = """
Assign your name, as in the list of the course, to `student`: your numbers depend on it.
Each exercise has a cell for the answer: replace the line that raises an error. Assign a
number to `answer`, or define the function that the exercise asks for. Run the test
below it before you submit; its message names usual mistakes."""
SOLUTION = f"{BEGIN}\n{{}}\n{END}"
TEST = """\
# 2 points
import cgrsp_simpy as cg

verdict = cg.exercises.check({number}, answer_{key}, student=student)
assert verdict, verdict.message
print(verdict)"""


def assignment_text(script: str, answers: str | None = None) -> str:
    """Convert a script to the text of an nbgrader source notebook.

    answers: script with the answers to a lecture; "" if the script contains them. With
    None, all solutions are replaced by stubs. Raises InputError if no cell has points.
    """
    written, solutions = notebook(script), _solutions(answers or "")
    written.cells = [
        part for cell in written.cells for part in _exercises(cell, solutions)
    ]
    for cell in written.cells:
        _mark(cell, solved=answers is not None)
    if not any("points" in cell.metadata.get("nbgrader", ()) for cell in written.cells):
        raise InputError(
            "nothing to grade: there is no exercise and no cell with points"
        )
    return file_text(written)


def _solutions(answers: str) -> dict[str, str]:
    """Return exercise -> code of its answer; "" -> code before the first exercise."""
    first, *others = ANSWER.split(answers)
    parts = {"": first, **dict(zip(others[::2], others[1::2]))}
    return {
        number: "\n".join(
            line
            for line in part.partition("\n# %%\n")[2].strip().splitlines()
            if f"check({number}, " not in line
        )
        for number, part in parts.items()
    }


def _exercises(cell: Any, solutions: Mapping[str, str]) -> Iterator[Any]:
    """Yield question, answer and test per exercise; else the cell itself."""
    heading, *exercises = EXERCISE.split(cell.source)
    if not exercises:
        yield cell
        return
    yield new_cell("markdown", heading + INTRODUCTION, cell["id"])
    yield new_cell(
        "code",
        f'# student = "your name"\n{SOLUTION.format(solutions[""])}',
        "student",
    )
    for exercise in exercises:
        number, name = CHECK.findall(exercise)[-1]
        key = number.replace(".", "_")
        asked = CHECK.sub("", exercise).replace('"your name"', "student").strip()
        yield new_cell("markdown", asked, f"exercise_{key}")
        if EXERCISES[number].numbers is not None:
            yield new_cell(
                "code",
                f"print(cg.exercises.question({number}, student))",
                f"question_{key}",
            )
        yield new_cell(
            "code",
            f"{SOLUTION.format(solutions.get(number, ''))}\nanswer_{key} = {name}",
            f"answer_{key}",
        )
        yield new_cell("code", TEST.format(number=number, key=key), f"test_{key}")


def _mark(cell: Any, solved: bool) -> None:
    """Add nbgrader's metadata according to a cell's marks, and remove a solution."""
    points, code = POINTS.match(cell.source), cell.cell_type == "code"
    region = REGION.search(cell.source)
    solution = bool(region if code else points)
    if code and not solution and not points:
        return
    if solution and not solved:
        stub = "raise NotImplementedError" if code else "Your answer."
        if points and not region:
            cell.source = f"{points[0]}\n\n{stub}"
        cell.source = REGION.sub(rf"\1{BEGIN}\n\1{stub}\n\1{END}", cell.source)
    cell.metadata["nbgrader"] = {
        "schema_version": 3,
        "grade_id": cell["id"],
        "grade": points is not None,
        "solution": solution,
        "locked": not solution,
        "task": False,
        **({"points": int(points[1])} if points else {}),
    }
