"""Lectures on discrete-event simulation: list them, read one, or copy one out
with its answers.
"""

from __future__ import annotations

import argparse
import ast
from pathlib import Path

from cgrsp_simpy.cli.options import Answer, add_options, summary
from cgrsp_simpy.model.checks import InputError, require
from cgrsp_simpy.model.files import write_whole

PACKAGE = Path(__file__).parents[1]
# in an installed package, in a checkout
PLACES = (PACKAGE / "lectures", PACKAGE.parent / "scenarios" / "lectures")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "number",
        nargs="?",
        type=int,
        metavar="N",
        help="of the lecture to read or to copy (default: list them)",
    )
    told = "copy script, output and figure into DIR, the answers into DIR/answers"
    add_options(parser, ("--copy DIR", str, told))


def carry_out(given: argparse.Namespace) -> Answer:
    """The list, the script, or the files that were written."""
    scripts = _scripts()
    if given.number is None:
        require(given.copy is None, "--copy", given.copy, "given with the number of a lecture")
        return Answer("\n".join(f"{number:2}  {_finds(path)}" for number, path in scripts.items()))
    require(given.number in scripts, "lecture", given.number, f"a number from 1 to {len(scripts)}")
    script = scripts[given.number]
    if given.copy is None:
        return Answer(script.read_text(encoding="utf-8").rstrip("\n"))
    return Answer("\n".join(map(str, _copy(script, given.number, Path(given.copy)))))


def _scripts() -> dict[int, Path]:
    """Number of each lecture -> its script."""
    folder = next((place for place in PLACES if place.is_dir()), None)
    if folder is None:
        raise InputError("the lectures are not installed with this package")
    return {int(path.name[:2]): path for path in sorted(folder.glob("[0-9][0-9]_*.py"))}


def _finds(script: Path) -> str:
    """The summary of a script: what it finds."""
    return summary(ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))))


def _copy(script: Path, number: int, folder: Path) -> list[Path]:
    """Copy a lecture; nothing if one of its files is there already."""
    names = [
        script.name,
        f"{script.stem}.out",
        f"lecture_{number}.png",
        f"answers/{script.name}",
        f"answers/{script.stem}.out",
    ]
    for name in names:
        require(not (folder / name).exists(), "--copy", str(folder), f"a folder without {name}")
    for name in names:
        write_whole(folder / name, (script.parent / name).read_bytes())
    return [folder / name for name in names]
