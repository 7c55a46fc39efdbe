"""Commands for lectures and for a live page in the browser."""

from __future__ import annotations

import argparse
import ast
import logging
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from cgrsp_simpy.app import SCRIPT
from cgrsp_simpy.base.checks import InputError, check_one_of, check_whole, require
from cgrsp_simpy.base.files import write_files
from cgrsp_simpy.cli.options import to_folder
from cgrsp_simpy.cli.parameters import summary
from cgrsp_simpy.cli.parsing import EXCLUSIVE, Answer, Command, argument
from cgrsp_simpy.exercises import browser
from cgrsp_simpy.exercises.pages import assignment_text, notebook_text, slides

log = logging.getLogger(__name__)
PACKAGE = Path(__file__).parents[1]
SCENARIOS = PACKAGE.parent / "scenarios"  # in a checkout
PLACES = (PACKAGE / "lectures", SCENARIOS / "lectures")
SOURCES = "the repository and the source distribution"  # not part of a wheel


FORMS = {
    "copy": "copy script, output and figure of the lecture into DIR",
    "notebook": "write the lecture as a notebook into DIR (needs the extra teach)",
    "slides": "run the lecture, and write its slides into DIR (needs the extra teach)",
    "assignment": "write the lecture as an nbgrader assignment into DIR/source (needs"
    " the extra teach)",
}
"""Option for the form in which a lecture is written -> its help."""
LECTURES_ARGUMENTS = [
    argument(
        "number N",
        "number of the lecture to print, copy or write; lab; or the name of an"
        " assignment (default: list them)",
        nargs="?",
    ),
    *(
        argument(f"--{form} DIR", text, EXCLUSIVE, type=to_folder)
        for form, text in FORMS.items()
    ),
    argument(
        "--with-answers",
        "include the answers, with --copy (into DIR/answers) or --assignment",
    ),
    argument(
        "--browser DIR",
        "write all lectures into DIR as a website on which they run in the"
        " browser, without a network (needs the extra teach)",
        type=to_folder,
    ),
    argument(
        "--pyodide PATH",
        f"for --browser: pyodide-{browser.PYODIDE}.tar.bz2, or its folder",
    ),
]


def _lectures(args: argparse.Namespace) -> Answer:
    lectures, name = _scripts(), args.number
    assignments = sorted(_sources().glob("assignments/*.py"))  # none without sources
    scripts = lectures | {path.stem: path for path in assignments}
    option, target = next(
        (
            (f"--{form}", getattr(args, form))
            for form in FORMS
            if getattr(args, form) is not None
        ),
        ("", ""),
    )
    if args.with_answers and option not in ("--copy", "--assignment"):
        raise InputError("--with-answers requires --copy or --assignment")
    if args.browser is not None or args.pyodide is not None:
        if None in (args.browser, args.pyodide) or name is not None or option:
            raise InputError(
                "give --browser and --pyodide together, without other options"
            )
        log.info("building JupyterLite, which takes up to a minute")
        browser.write(Path(args.browser), [*lectures.values()], Path(args.pyodide))
        return Answer(str(Path(args.browser) / "index.html"))
    if name is None:
        require(
            not option, option, target, "given together with the number of a lecture"
        )
        return Answer(_listed(scripts))
    require(
        name in lectures or _sources().is_dir(),
        "lecture",
        name,
        f"one of {', '.join(lectures)}; assignments are only in {SOURCES}: run"
        " the command in that folder",
    )
    check_one_of("lecture", name, scripts)
    require(
        name in lectures or option == "--assignment",
        "assignment",
        name,
        "given only together with --assignment, because its script contains the"
        " answers",
    )
    answers = _answers(scripts[name]) if args.with_answers else None
    if not option:
        return Answer(scripts[name].read_text(encoding="utf-8").rstrip("\n"))
    return _written(name, option, target, _files(option, name, scripts[name], answers))


def _listed(scripts: dict[str, Path]) -> str:
    """Return a line per script: its name and the summary of its docstring."""
    wide = max(map(len, scripts))
    return "\n".join(
        f"{name:{wide}}  {summary(ast.get_docstring(ast.parse(path.read_bytes())))}"
        for name, path in scripts.items()
    )


def _written(
    name: str, option: str, target: str, files: dict[str, Callable[[], bytes]]
) -> Answer:
    """Write a lecture's files into a folder; copies that a student changed are kept."""
    folder, kept = Path(target), set[str]()
    for file, content in files.items():
        path = folder / file
        if option == "--copy" and path.is_file():
            if path.read_bytes() != content():  # a student's changes
                kept.add(file)
        else:
            require(not path.exists(), option, target, f"a folder without {file}")
    if option == "--slides":
        log.info("running lecture %s, which takes up to a minute", name)
    write_files({folder / file: files[file]() for file in files if file not in kept})
    return Answer(
        "\n".join(
            f"{folder / file}{' (changed since it was copied: kept)' * (file in kept)}"
            for file in files
        )
    )


def _files(
    option: str, name: str, script: Path, answers: Path | None
) -> dict[str, Callable[[], bytes]]:
    """Return the name of each file to write -> a function that returns its content."""
    if option == "--copy":
        picture = script.with_name(f"lecture_{name}.png")
        paths = (script, *map(script.with_suffix, (".out", ".png")), picture)
        solutions = (answers, answers.with_suffix(".out")) if answers else ()
        return {path.name: path.read_bytes for path in paths if path.is_file()} | {
            f"answers/{path.name}": path.read_bytes for path in solutions
        }
    text = script.read_text(encoding="utf-8")
    if option == "--notebook":
        return {f"{script.stem}.ipynb": lambda: notebook_text(text).encode()}
    if option == "--slides":
        return {f"{script.stem}.slides.html": lambda: slides(text).encode()}
    graded = f"lecture_{int(name):02}" if name.isdigit() else script.stem
    solved = answers.read_text(encoding="utf-8") if answers else None
    return {
        f"source/{graded}/{graded}.ipynb": lambda: assignment_text(
            text, solved
        ).encode()
    }


def _scripts() -> dict[str, Path]:
    """Return a mapping from the number of each lecture, or "lab", to its script."""
    folder = next((place for place in PLACES if place.is_dir()), None)
    if folder is None:
        raise InputError("the lectures are not installed with this package")
    numbered = {
        str(int(path.name[:2])): path for path in sorted(folder.glob("[0-9]*.py"))
    }
    return {**numbered, "lab": folder / "lab_own_log.py"}


def _sources() -> Path:
    """Return the scenarios of this checkout, or those in the current folder."""
    return SCENARIOS if SCENARIOS.is_dir() else Path("scenarios")


def _answers(script: Path) -> Path:
    """Return the script with a lecture's answers; an assignment contains its own."""
    if script.parent.name == "assignments":
        return script
    answers = _sources() / "answers" / script.name
    reason = (
        f"{script.stem} has none"
        if _sources().is_dir()
        else f"the answers are only in {SOURCES}: run the command in that folder"
    )
    if not answers.is_file():
        raise InputError(f"--with-answers must be omitted: {reason}")
    return answers


OPTIONS = {  # Streamlit's settings
    "server.address": "localhost",  # not reachable from other computers
    "server.showEmailPrompt": "false",
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": "false",  # it works offline and sends nothing
    "client.toolbarMode": "minimal",
    "theme.base": "light",
}


def _app(args: argparse.Namespace) -> Answer:
    check_whole("--port", args.port, least=1, most=65535)
    if find_spec("streamlit") is None:
        raise InputError('Streamlit is missing: pip install ".[app]" in a clone')
    options = OPTIONS | {
        "server.port": str(args.port),
        "server.headless": str(args.headless).lower(),
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    status = subprocess.call(
        [sys.executable, "-m", "streamlit", "run", str(SCRIPT), *words]
    )
    return Answer("", min(status, 1))


COMMANDS = {
    "lectures": Command(
        LECTURES_ARGUMENTS,
        _lectures,
        formats=(),
        # with all options, argparse prints a line of more than 80 columns
        usage="%(prog)s [options] [N]",
    ),
    "app": Command(
        [
            argument(
                "--port N",
                "port on this computer (default: %(default)s)",
                type=int,
                default=8501,
            ),
            argument("--headless", "do not open a browser"),
        ],
        _app,
        formats=(),
    ),
}
