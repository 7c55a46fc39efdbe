"""Run a sample of the tasks of a results directory again, and compare them to the bit."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable
from pathlib import Path

from cgrsp_simpy.cli.options import Answer, add_options
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.studies.store import verifying


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "directory",
        metavar="DIR",
        help="made by a command with --out, whose files still lie where they were",
    )
    add_options(
        parser,
        ("--sample N", int, "tasks to run again (default: %(default)s)", 5),
        ("--seed N", int, "of the sample (default: %(default)s)", 0),
    )


def carry_out(given: argparse.Namespace) -> Answer:
    """How many tasks came out as they are kept; status 1 where one did not."""
    words, out = _command(Path(given.directory)), str(given.directory)
    again: argparse.Namespace = given.parsed(words)
    if again.verb == given.verb or getattr(again, "out", None) is None:
        raise InputError(f"{out} was made by another command than its manifest.json tells")
    again.out = out
    command: Callable[[argparse.Namespace], Answer] = again.carry_out
    with verifying(given.sample, given.seed) as found:
        command(again)
    if not found.tasks:
        raise InputError(f"{out} was made by another command than its manifest.json tells")
    if found.differing:
        number = f"{len(found.differing)} of {len(found.tasks)}"
        return Answer(f"{out}: task {found.differing[0]} came out otherwise ({number})", 1)
    return Answer(f"{out}: {len(found.tasks)} tasks run again, all as they are kept, to the bit")


def _command(directory: Path) -> list[str]:
    """The words of the command that made a directory."""
    try:
        found = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
        words = shlex.split(str(found["command"]))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        raise InputError(f"{directory} is no results directory of a command") from None
    if not words or Path(words[0]).name not in ("cgrsp", "cgrsp.exe", "__main__.py"):
        raise InputError(
            f"{directory} was made by a script: there, run the study within"
            " cgrsp_simpy.studies.store.verifying"
        )
    return words[1:]
