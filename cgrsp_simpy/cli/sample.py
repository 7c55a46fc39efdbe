"""Write a small log to try out commands: 600 generated jobs of two days."""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.files import is_there, write_whole
from cgrsp_simpy.cli.options import Answer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    told = "to write; another existing file is kept"
    parser.add_argument("file", metavar="FILE.csv", help=told)


def carry_out(args: argparse.Namespace) -> Answer:
    """Report what was written."""
    file = Path(args.file)
    log = (files("cgrsp_simpy") / "data" / "studio.csv").read_bytes()
    if not (file.is_file() and file.read_bytes() == log):
        allowed = "a file that is not there yet, or this log"
        require(not is_there(file), "FILE.csv", args.file, allowed)
        write_whole(file, log)
    columns, *jobs = log.decode().splitlines()
    return Answer(f"{file}: {len(jobs)} generated jobs; columns {columns}")
