"""Lectures, and a live page in the browser."""

from __future__ import annotations

import argparse
import ast
import logging
import subprocess
import sys
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
from cgrsp_simpy.exercises.pages import notebook_text, slides

log = logging.getLogger(__name__)
PACKAGE = Path(__file__).parents[1]
# in an installed package, in a checkout
PLACES = (PACKAGE / "lectures", PACKAGE.parent / "scenarios" / "lectures")


def _add_lectures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "number",
        nargs="?",
        metavar="N",
        help="of the lecture to read, copy or write, or lab (default: list them)",
    )
    one = parser.add_mutually_exclusive_group()
    add_options(
        one,
        (
            "--copy DIR",
            str,
            "copy script, output and figure into DIR, answers into DIR/answers",
        ),
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
    """Return the list, the script, or the files written."""
    scripts = _scripts()
    asked = {
        "--copy": args.copy,
        "--notebook": args.notebook,
        "--slides": args.slides,
    }
    option, folder = next(
        (each for each in asked.items() if each[1] is not None), ("", "")
    )
    if args.browser is not None or args.pyodide is not None:
        alone = args.number is None and not option
        alone = alone and None not in (args.browser, args.pyodide)
        require(
            alone, "--browser", args.browser, "given with --pyodide and nothing else"
        )
        log.info("JupyterLite is built, which takes up to a minute")
        browser.write(Path(args.browser), [*scripts.values()], Path(args.pyodide))
        return Answer(str(Path(args.browser) / "index.html"))
    if args.number is None:
        require(not option, option, folder, "given with the number of a lecture")
        trees = {name: ast.parse(path.read_bytes()) for name, path in scripts.items()}
        lines = (
            f"{name:3}  {summary(ast.get_docstring(trees[name]))}" for name in trees
        )
        return Answer("\n".join(lines))
    check_one_of("lecture", args.number, scripts)
    script = scripts[args.number]
    text = script.read_text(encoding="utf-8")
    if not option:
        return Answer(text.rstrip("\n"))
    if option == "--copy":
        return Answer("\n".join(map(str, _copy(script, Path(folder)))))
    ending, made = {
        "--notebook": ("ipynb", notebook_text),
        "--slides": ("slides.html", slides),
    }[option]
    path = _free(option, Path(folder), f"{script.stem}.{ending}")
    if option == "--slides":
        log.info("lecture %s is run, which takes up to a minute", args.number)
    write_whole(path, made(text).encode())
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


def _copy(script: Path, folder: Path) -> list[Path]:
    """Copy a lecture, unless one of its files already exists."""
    number = script.name[:2]
    picture = f"lecture_{int(number)}.png" if number.isdigit() else f"{script.stem}.png"
    own = (script.name, f"{script.stem}.out")
    every = (*own, picture, *(f"answers/{name}" for name in own))
    names = [name for name in every if (script.parent / name).is_file()]
    for name in names:
        _free("--copy", folder, name)
    for name in names:
        write_whole(folder / name, (script.parent / name).read_bytes())
    return [folder / name for name in names]


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
    """Serve the page until it is interrupted."""
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
