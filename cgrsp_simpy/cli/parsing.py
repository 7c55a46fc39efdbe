"""Parsers of commands, with complete help and one-line errors, and their answers."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

from cgrsp_simpy.base.checks import cut, nearest, shown, tried
from cgrsp_simpy.base.files import MOST_BYTES, MOST_LINES
from cgrsp_simpy.base.table import Table, csv_text, json_text, visible
from cgrsp_simpy.rental.workload import DAYS

FORMATS = ("table", "csv", "json", "markdown", "latex")


class Answer(NamedTuple):
    """Text for stdout, and the exit status."""

    text: str
    status: int = 0


def formatted(
    args: argparse.Namespace,
    content: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    tables: Callable[[], Sequence[Table]],
    status: int = 0,
) -> Answer:
    """Return a command's output in the requested format.

    content: from `document`, for JSON. rows: for CSV. tables: returns those for other
    formats.
    """
    if args.format == "json":
        return Answer(json_text(content), status)
    if args.format == "csv":
        return Answer(csv_text(rows).rstrip("\n"), status)
    writers = {
        "table": Table.text,
        "markdown": Table.markdown,
        "latex": Table.latex,
        "html": Table.html,
    }
    return Answer("\n\n".join(map(writers[args.format], tables())), status)


# ---- parsers ----

WIDTH = 80  # columns of the help
MODULES = ("waiting", "cluster", "hgsp", "llm", "dag", "spot")
SCENARIOS = (*DAYS, "month", "rental", *MODULES)
NUMBERS: dict[Any, str] = {int: "a whole number", float: "a number"}


class Argument(NamedTuple):
    """An argument of a command, as returned by `argument`.

    settings: arguments of argparse's `add_argument`. group: its heading in the help; ""
    for argparse's own headings.
    """

    name: str
    settings: Mapping[str, Any]
    group: str


def argument(usage: str, text: str, group: str = "", **settings: Any) -> Argument:
    """Return an argument of a command.

    usage: its name and placeholder, such as "--seed N" or, by position, "files FILE";
    an option without a placeholder is a flag. text: its help. group: as in `Argument`,
    or EXCLUSIVE. settings: further arguments of argparse's `add_argument`.
    """
    name, _, placeholder = usage.partition(" ")
    kind = {"metavar": placeholder} if placeholder else {"action": "store_true"}
    return Argument(name, {"help": text, **kind, **settings}, group)


EXCLUSIVE = "exclusive"
"""Group of options of which a command accepts at most one."""


class Command(NamedTuple):
    """A verb of the command line.

    arguments: in the order of the help. carry_out: runs it. formats: of its output, the
    default first. parallel, engines: whether --workers and --engine have an effect.
    usage: text for the help instead of argparse's.
    """

    arguments: Sequence[Argument]
    carry_out: Callable[[argparse.Namespace], Answer]
    formats: Sequence[str] = FORMATS
    parallel: bool = False
    engines: bool = False
    usage: str | None = None


class Help(argparse.HelpFormatter):
    """Help formatter that does not truncate lines."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=24, width=WIDTH)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return [
            line
            for paragraph in text.split("\n")
            for line in textwrap.wrap(paragraph, width)
        ]


class Parser(argparse.ArgumentParser):
    """Argument parser with one-line errors that begin with the command's name."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            add_help=False, allow_abbrev=False, formatter_class=Help, **settings
        )
        self.add_argument("-h", "--help", action="help", help="print this help")

    def parse_words(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse words and options in any order; exit with an error for unknown ones."""
        for word in words:
            # argparse would drop such a value
            if word.startswith("-") and word.endswith("=--"):
                self.error(f"argument {word[:-3]}: expected one argument")
        args, others = self.parse_known_intermixed_args(words)
        options = [word for word in others if word.startswith("--")]
        close = [
            get_close_matches(option, self._option_string_actions, cutoff=0.75)
            for option in options
        ]
        meant = "; parameters are written as NAME=VALUE, as in slots=7" * bool(options)
        if any(close):
            meant = f"; did you mean {next(filter(None, close))[0]!r}?"
        if others:
            self.error(f"unrecognized arguments: {' '.join(options or others)}{meant}")
        return args

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Convert the value of an option; an empty path or no number is an error."""
        if not arg_string and str(action.metavar).startswith(("DIR", "FILE", "LOG")):
            raise argparse.ArgumentError(
                action, "must not be empty; . is the current folder"
            )
        kind: Any = action.type
        if kind in NUMBERS and tried(kind, arg_string) is None:
            fault = f"{shown(arg_string)} must be {NUMBERS[kind]}"
            raise argparse.ArgumentError(action, fault)
        return super()._get_value(action, arg_string)

    def print_help(self, file: Any = None) -> None:
        """Print the help; OSError if that fails, which argparse ignores."""
        print(self.format_help(), end="", file=file, flush=True)

    def error(self, message: str) -> NoReturn:
        """Print the message, with a suggested name, and exit with status 2."""
        meant = ""
        if match := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)$", message):
            meant = nearest(match[1], re.findall(r"[^\s',]+", match[2]))
        line = one_line(f"{self.prog}: {message}{meant} (see {self.prog} -h)")
        self.exit(2, f"{line}\n")


def one_line(message: str) -> str:
    """Format an error message for a terminal; long words, such as paths, are cut."""
    return visible(" ".join(map(cut, message.split())))


def fill(parser: argparse.ArgumentParser, command: Command) -> None:
    """Add a command's arguments to its parser, then the general ones."""
    parser.usage = command.usage
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for name, settings, title in command.arguments:
        if title not in groups:
            groups[title] = (
                parser.add_mutually_exclusive_group()
                if title == EXCLUSIVE
                else parser.add_argument_group(title)
            )
        groups[title].add_argument(name, **settings)
    group = parser.add_argument_group("general options")
    if command.formats:
        default = command.formats[0]
        group.add_argument(
            "--format",
            choices=command.formats,
            default=default,
            metavar="NAME",
            help=f"output format: {', '.join(command.formats)} (default: {default})",
        )
    if command.parallel:
        group.add_argument(
            "--workers", type=int, metavar="N", help="number of processes"
        )
    if command.engines:
        group.add_argument(
            "--engine",
            choices=("auto", "simpy", "compiled"),
            default="auto",
            metavar="NAME",
            help=(
                "engine for runs of rented slots: auto, simpy or compiled; the"
                " results are equal"
                " (default: auto)"
            ),
        )
    group.add_argument(
        "--yes",
        action="store_true",
        help="start even if the work may take more than an hour or 8 GB",
    )
    group.add_argument(
        "--large-files",
        action="store_true",
        help=(
            f"read files even if they have more than {MOST_LINES:,} lines or"
            f" {MOST_BYTES >> 20} MiB"
        ),
    )
    parser.set_defaults(carry_out=command.carry_out)
    if not command.parallel:
        parser.set_defaults(workers=None)


def wrapped(text: str, indent: str = "") -> Iterator[str]:
    """Wrap a text to the width of the help and yield the lines."""
    yield from textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent
    )
