"""Lectures on discrete-event simulation and a lab with your own log: list, read, copy
with answers, or write as notebooks or slides.
"""

from __future__ import annotations

import argparse
import ast
import logging
from pathlib import Path

from cgrsp_simpy.base.checks import InputError, check_one_of, require
from cgrsp_simpy.base.files import write_whole
from cgrsp_simpy.cli.lecture_pages import notebook_text, slides
from cgrsp_simpy.cli.options import Answer, add_options, summary

log = logging.getLogger(__name__)
PACKAGE = Path(__file__).parents[1]
# in an installed package, in a checkout
PLACES = (PACKAGE / "lectures", PACKAGE.parent / "scenarios" / "lectures")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
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


def carry_out(args: argparse.Namespace) -> Answer:
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
    if args.number is None:
        require(not option, option, folder, "given with the number of a lecture")
        return Answer(
            "\n".join(f"{name:3}  {_finds(path)}" for name, path in scripts.items())
        )
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


def _finds(script: Path) -> str:
    """Return the summary of a script."""
    return summary(ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))))


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
