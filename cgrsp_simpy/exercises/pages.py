"""Conversion of lecture scripts to notebooks, slides and nbgrader assignments.

A heading in the text, or the title of a code cell, begins a slide. For a cell that
saves a figure, the slide shows the figure without the code.

The how-to on lectures lists the marks of assignments. Each exercise of a lecture
becomes a question, an answer and a test.
"""

from __future__ import annotations

import ast
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cgrsp_simpy.base.checks import InputError, needed
from cgrsp_simpy.exercises import EXERCISES

CELL_S = 600  # time limit per cell
PICTURE = "picture"  # tag of a cell that draws
TEMPLATE = Path(__file__).with_name("slides.html")
MOST_LINES = 22  # lines of code per slide; longer cells are split
HOW_TO_INSTALL = """\
# This needs the package cgrsp_simpy, which is not on a package index. If the import
# fails, uncomment one of the two lines, insert the path, and run the cell again: the
# folder of the project, or the wheel that `python -m build` writes to its folder dist.
# %pip install /where/it/lies/cgrsp_simpy
# %pip install /where/it/lies/dist/cgrsp_simpy-{version}-py3-none-any.whl
import cgrsp_simpy"""
# but not below the points of an answer
BEFORE_A_HEADING = re.compile(r"^(?<!-->\n)(?=#{1,3} )", re.MULTILINE)


def notebook(script: str) -> Any:
    """Convert a percent script to a notebook, not run; a heading begins a cell."""
    result = _needed("jupytext").reads(script, fmt="py:percent")
    result.cells = [new for cell in result.cells for new in _cells(cell)]
    for place, cell in enumerate(result.cells):
        cell["id"] = f"cell-{place}"  # random by default
    result.nbformat_minor = 5
    result.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    return result


def notebook_text(script: str) -> str:
    """Return the text of the notebook file of a script."""
    return file_text(notebook(script))


def file_text(written: Any) -> str:
    """Insert a first cell that imports the package; return the notebook file's text."""
    install = HOW_TO_INSTALL.format(version=version("cgrsp_simpy"))
    written.cells.insert(0, new_cell("code", install, "install"))
    return str(_needed("nbformat").writes(written))


def new_cell(kind: str, source: str, name: str) -> Any:
    """Return a new cell with a given id; kind: code or markdown."""
    return getattr(_needed("nbformat").v4, f"new_{kind}_cell")(source, id=name)


def run(written: Any, folder: str | Path) -> None:
    """Run a notebook in place, with the folder as the kernel's working directory.

    Raises InputError if its code fails, or does not end.
    """
    client = _needed("nbclient").NotebookClient
    settings: dict[str, Any] = {
        "kernel_name": "python3",
        "timeout": CELL_S,
        "resources": {"metadata": {"path": str(folder)}},
        # without the kernel's connection
        "extra_arguments": ["--log-level=ERROR"],
    }
    # with MPLBACKEND set, the kernel would not show pictures inline
    env = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    errors = _needed("nbclient.exceptions")
    try:
        client(written, **settings).execute(env=env)
    except errors.CellExecutionError as error:
        fault = f"{error.ename}: {error.evalue}"
        raise InputError(f"the code of the lecture fails: {fault}") from None
    except (errors.CellTimeoutError, errors.DeadKernelError) as error:
        fault = str(error).splitlines()[0]
        raise InputError(f"the code of the lecture does not end: {fault}") from None


def slides(script: str) -> str:
    """Run a script's notebook; return the HTML page of its slides, with all output."""
    written = notebook(script)
    hidden = {
        "TagRemovePreprocessor": {"enabled": True, "remove_input_tags": [PICTURE]}
    }
    config = _needed("traitlets.config").Config(hidden)
    exporter = _needed("nbconvert").HTMLExporter(config=config, template_name="basic")
    with tempfile.TemporaryDirectory() as folder:  # for pictures that the script saves
        run(written, folder)
    written.cells = [part for cell in written.cells for part in _parts(cell)]
    style = _needed("pygments.formatters").HtmlFormatter().get_style_defs(".highlight")
    page = TEMPLATE.read_text(encoding="utf-8").replace("{{STYLE}}", style)
    return page.replace("{{BODY}}", exporter.from_notebook_node(written)[0])


def _parts(cell: Any) -> Iterator[Any]:
    """Yield a cell, or long code in parts, split at empty lines, with output last."""
    shown = cell.cell_type == "code" and PICTURE not in cell.metadata.get("tags", ())
    lines: list[str] = []
    for number, part in enumerate(cell.source.split("\n\n") if shown else ()):
        if lines and "\n\n".join([*lines, part]).count("\n") >= MOST_LINES:
            yield new_cell("code", "\n\n".join(lines), f"{cell['id']}-{number}")
            lines = []
        lines.append(part)
    cell.source = "\n\n".join(lines) or cell.source
    yield cell


def _cells(cell: Any) -> Iterator[Any]:
    """Yield the notebook cells of a script's cell; a title becomes a text cell."""
    title = cell.metadata.pop("title", None)
    if title is not None:
        yield new_cell("markdown", f"## {title}", "title")
    text = _docstring(cell.source) if cell.cell_type == "code" else cell.source
    if text is None:
        if ".savefig(" in cell.source:
            cell.metadata["tags"] = [PICTURE]
        yield cell
        return
    for part in BEFORE_A_HEADING.split(text):
        if part.strip():
            yield new_cell("markdown", part.strip(), "text")


def _docstring(source: str) -> str | None:
    """Return title and findings of a lecture if a cell is the script's docstring."""
    tree = ast.parse(source)
    text = ast.get_docstring(tree)
    if text is None or len(tree.body) != 1:
        return None
    finds, _, name = text.rpartition("\n\n")
    return f"# {name.strip('()')}\n\n{finds}"


def _needed(package: str) -> Any:
    return needed(
        package,
        f'notebooks and slides need {package}: pip install ".[teach]" in a clone',
    )


# ---- assignments for nbgrader ----

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
