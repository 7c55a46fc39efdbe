"""Lectures, and a live page in the browser."""

from __future__ import annotations

import argparse
import ast
import logging
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from cgrsp_simpy.app import SCRIPT
from cgrsp_simpy.base.checks import InputError, check_one_of, check_whole, require
from cgrsp_simpy.base.files import write_whole
from cgrsp_simpy.cli.answers import Answer
from cgrsp_simpy.cli.options import add_options
from cgrsp_simpy.cli.parameters import summary
from cgrsp_simpy.cli.parsing import Command
from cgrsp_simpy.exercises import browser
from cgrsp_simpy.exercises.assignments import assignment_text
from cgrsp_simpy.exercises.pages import notebook_text, slides

log = logging.getLogger(__name__)
PACKAGE = Path(__file__).parents[1]
SCENARIOS = PACKAGE.parent / "scenarios"  # in a checkout
PLACES = (PACKAGE / "lectures", SCENARIOS / "lectures")
SOURCES = "the repository and the source distribution"  # what a wheel does not hold


def _add_lectures(parser: argparse.ArgumentParser) -> None:
    # with all options, argparse prints a line of more than 80 columns
    parser.usage = "%(prog)s [options] [N]"
    parser.add_argument(
        "number",
        nargs="?",
        metavar="N",
        help="number of the lecture to read, copy or write, lab, or the name of an"
        " assignment (default: list them)",
    )
    one = parser.add_mutually_exclusive_group()
    add_options(
        one,
        ("--copy DIR", str, "copy script, output and figure into DIR"),
        (
            "--notebook DIR",
            str,
            "write it as a notebook into DIR (needs the extra teach)",
        ),
        (
            "--slides DIR",
            str,
            "run it, and write its slides into DIR (needs the extra teach)",
        ),
        (
            "--assignment DIR",
            str,
            "write it for nbgrader, into DIR/source (needs the extra teach)",
        ),
    )
    add_options(
        parser,
        (
            "--with-answers",
            bool,
            "include the answers, with --copy (into DIR/answers) or --assignment",
        ),
    )
    add_options(
        parser,
        (
            "--browser DIR",
            str,
            "write all lectures into DIR, as a site on which they run in the browser"
            " without a network (needs the extra teach)",
        ),
        (
            "--pyodide PATH",
            str,
            f"for --browser: pyodide-{browser.PYODIDE}.tar.bz2, or its folder",
        ),
    )


def _lectures(args: argparse.Namespace) -> Answer:
    lectures, assignments = _scripts(), _assignments()
    scripts = lectures | assignments
    option, folder = next(
        (
            (f"--{form}", getattr(args, form))
            for form in ("copy", "notebook", "slides", "assignment")
            if getattr(args, form) is not None
        ),
        ("", ""),
    )
    require(
        not args.with_answers or option in ("--copy", "--assignment"),
        "--with-answers",
        args.with_answers,
        "given with --copy or --assignment",
    )
    if args.browser is not None or args.pyodide is not None:
        alone = args.number is None and not option
        alone = alone and None not in (args.browser, args.pyodide)
        require(
            alone, "--browser", args.browser, "given with --pyodide and nothing else"
        )
        log.info("JupyterLite is built, which takes up to a minute")
        browser.write(Path(args.browser), [*lectures.values()], Path(args.pyodide))
        return Answer(str(Path(args.browser) / "index.html"))
    name = args.number
    if name is None:
        require(not option, option, folder, "given with the number of a lecture")
        wide = max(map(len, scripts))
        lines = (
            f"{name:{wide}}  {summary(ast.get_docstring(ast.parse(path.read_bytes())))}"
            for name, path in scripts.items()
        )
        return Answer("\n".join(lines))
    if not _sources().is_dir():
        require(
            name in lectures,
            "lecture",
            name,
            f"one of {', '.join(lectures)}; only {SOURCES} hold assignments: call it in"
            " their folder",
        )
    check_one_of("lecture", name, scripts)
    if name in assignments:
        require(
            option == "--assignment",
            "assignment",
            name,
            "given with --assignment: its script has the answers",
        )
    script = scripts[name]
    answers = _answers(script) if args.with_answers else None
    text = script.read_text(encoding="utf-8")
    if not option:
        return Answer(text.rstrip("\n"))
    if option == "--copy":
        return Answer("\n".join(map(str, _copy(script, answers, Path(folder)))))
    graded = f"lecture_{int(name):02}" if name.isdigit() else script.stem
    forms: dict[str, tuple[str, Callable[[str], str]]] = {
        "--notebook": (f"{script.stem}.ipynb", notebook_text),
        "--slides": (f"{script.stem}.slides.html", slides),
        "--assignment": (
            f"source/{graded}/{graded}.ipynb",
            partial(
                assignment_text, answers=answers.read_text("utf-8") if answers else None
            ),
        ),
    }
    file, make_text = forms[option]
    path = _free(option, Path(folder), file)
    if option == "--slides":
        log.info("lecture %s is run, which takes up to a minute", name)
    write_whole(path, make_text(text).encode())
    return Answer(str(path))


def _free(option: str, folder: Path, name: str) -> Path:
    require(
        not (folder / name).exists(), option, str(folder), f"a folder without {name}"
    )
    return folder / name


def _scripts() -> dict[str, Path]:
    """Return number of each lecture, and lab -> its script."""
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


def _assignments() -> dict[str, Path]:
    """Return name of each assignment -> its script; none without the sources."""
    return {path.stem: path for path in sorted(_sources().glob("assignments/*.py"))}


def _answers(script: Path) -> Path:
    """Return the script with the answers to a lecture; an assignment has its own."""
    if not _sources().is_dir():
        raise InputError(
            f"--with-answers: only {SOURCES} hold the answers: call it in their folder"
        )
    if script.parent.name == "assignments":
        return script
    answers = _sources() / "answers" / script.name
    require(
        answers.is_file(), "--with-answers", True, f"left out: {script.stem} has none"
    )
    return answers


def _copy(script: Path, answers: Path | None, folder: Path) -> list[Path]:
    """Copy a lecture, unless one of its files already exists."""
    number = script.name[:2]
    picture = f"lecture_{int(number)}.png" if number.isdigit() else f"{script.stem}.png"
    files = script, script.with_suffix(".out"), script.with_name(picture)
    sources = {path.name: path for path in files if path.is_file()}
    if answers is not None:
        sources |= {
            f"answers/{path.name}": path
            for path in (answers, answers.with_suffix(".out"))
        }
    for name in sources:
        _free("--copy", folder, name)
    for name, path in sources.items():
        write_whole(folder / name, path.read_bytes())
    return [folder / name for name in sources]


OPTIONS = {  # Streamlit's settings
    "server.address": "localhost",  # not reachable from other computers
    "server.showEmailPrompt": "false",
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": "false",  # it works offline and sends nothing
    "client.toolbarMode": "minimal",
    "theme.base": "light",
}


def _add_app(parser: argparse.ArgumentParser) -> None:
    add_options(
        parser,
        ("--port N", int, "of this computer (default: %(default)s)", 8501),
        ("--headless", bool, "open no browser"),
    )


def _app(args: argparse.Namespace) -> Answer:
    check_whole("--port", args.port, least=1, most=65535)
    if find_spec("streamlit") is None:
        raise InputError('Streamlit is missing: pip install ".[app]" in a clone')
    told = OPTIONS | {
        "server.port": str(args.port),
        "server.headless": str(args.headless).lower(),
    }
    words = [f"--{name}={value}" for name, value in told.items()]
    status = subprocess.call(
        [sys.executable, "-m", "streamlit", "run", str(SCRIPT), *words]
    )
    return Answer("", min(status, 1))


COMMANDS = {
    "lectures": Command(_add_lectures, _lectures, formats=()),
    "app": Command(_add_app, _app, formats=()),
}
