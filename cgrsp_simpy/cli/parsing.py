"""Parsers of commands, with complete help and one-line errors, and their answers."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple, NoReturn

from cgrsp_simpy.base.checks import nearest
from cgrsp_simpy.base.table import Table, csv_text, json_text, visible

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
    made = {
        "table": Table.text,
        "markdown": Table.markdown,
        "latex": Table.latex,
        "html": Table.html,
    }
    return Answer("\n\n".join(map(made[args.format], tables())), status)


# ---- parsers ----

WIDTH = 80  # columns of the help
MODULES = ("waiting", "cluster", "hgsp", "llm", "dag", "spot")
ACTIONS = {"solve": "run", "analyze": "plan", "optimize": "plan"}
# Options of earlier releases that are no parameters -> how their value is written now.
OLD = {
    "day": "{}",
    "level": "hgsp:{}",
    "graph": "dag:{}",
    "suite": "tests/benchmarks/suite.py",
    "swf": "--show {}",
    "market": "market={}, or persistence_s=...",
    "requests": "source.{}",
    "mix": "mix.{}",
    "only": "{}",
}


class Command(NamedTuple):
    """A verb of the command line.

    add_arguments: adds arguments to the parser. carry_out: runs it. formats: of its
    output, the default first. parallel, engines: whether --workers and --engine have an
    effect.
    """

    add_arguments: Callable[[argparse.ArgumentParser], None]
    carry_out: Callable[[argparse.Namespace], Answer]
    formats: Sequence[str] = FORMATS
    parallel: bool = False
    engines: bool = False


class Help(argparse.HelpFormatter):
    """Help formatter that does not truncate lines."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=24, width=WIDTH)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return [
            line for each in text.split("\n") for line in textwrap.wrap(each, width)
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
        if others:
            self._refuse(others, words)
        return args

    def _refuse(self, others: Sequence[str], words: Sequence[str]) -> NoReturn:
        """Report an unknown argument as error, with the new form of an old option."""
        meant = ""
        options = [word for word in others if word.startswith("--")]
        known = self._option_string_actions
        close = [get_close_matches(option, known, 1, 0.75) for option in options]
        if any(close):
            meant = f"; did you mean {next(filter(None, close))[0]!r}?"
        elif options:
            now = [in_words(*_with_value(each, words)) for each in options]
            meant = f"; parameters are now written as NAME=VALUE: {' '.join(now)}"
        self.error(f"unrecognized arguments: {' '.join(options or others)}{meant}")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Convert the value of an option; an empty path is an error."""
        if not arg_string and str(action.metavar).startswith(("DIR", "FILE", "LOG")):
            raise argparse.ArgumentError(
                action, "must not be empty; . is the current folder"
            )
        return super()._get_value(action, arg_string)

    def error(self, message: str) -> NoReturn:
        """Print the message, with a suggested name, and exit with status 2."""
        meant = ""
        if found := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)$", message):
            meant = nearest(found[1], re.findall(r"[^\s',]+", found[2]))
        line = " ".join(f"{self.prog}: {message}{meant} (see {self.prog} -h)".split())
        self.exit(2, f"{visible(line)}\n")


def _with_value(option: str, words: Sequence[str]) -> tuple[str, str]:
    """Return the name of an option among words, and its value."""
    name, _, value = option[2:].partition("=")
    following = words[words.index(option) + 1 :][:1]
    if not value and following and not following[0].startswith("-"):
        value = following[0]
    return name, value


def in_words(name: str, value: str) -> str:
    """Convert an option of earlier releases to words of this one."""
    name, form = name.replace("-", "_"), OLD.get(name)
    if form is not None:
        return form.format(value or "...")
    if "=" not in value:
        return f"{name}={(value or 'true').replace(',', '+')}"
    file, _, pairs = value.rpartition(":")
    first = [f"{name}={file}"] if file else []
    return " ".join([*first, *(f"{name}.{pair}" for pair in pairs.split(","))])


def renamed(words: Sequence[str]) -> str:
    """Return the new name of a command of earlier releases, or ""."""
    verb, action = [*words, "", ""][:2]
    if verb in MODULES:
        now = {
            "figures": f"papers figures {verb}",
            "table": f"papers tables {verb}",
            "correlate": f"papers tables {verb}",
            "replay": "replay LOG",
            "plan": "plan LOG",
            "generate": "sample FILE.csv hgsp",
        }
        return f"cgrsp {now.get(action) or f'{ACTIONS.get(action, action)} {verb}'}"
    others = {
        "thesis": "cgrsp papers tables|figures thesis, or cgrsp papers check",
        "month": "cgrsp compare month",
        "tune": "the script scenarios/research/tune.py",
    }
    return others.get(verb, "")


def fill(parser: argparse.ArgumentParser, command: Command) -> None:
    """Add a command's arguments to its parser, then the general ones."""
    command.add_arguments(parser)
    group = parser.add_argument_group("general options")
    if command.formats:
        names = ", ".join(command.formats)
        default = command.formats[0]
        group.add_argument(
            "--format",
            choices=command.formats,
            default=default,
            metavar="NAME",
            help=f"output format: {names} (default: {default})",
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
        help="start even if the work may take more than an hour",
    )
    group.add_argument(
        "--large-files",
        action="store_true",
        help="read files even if they have more than 2 million lines or 500 MiB",
    )
    parser.set_defaults(carry_out=command.carry_out)
    if not command.parallel:
        parser.set_defaults(workers=None)


def wrapped(text: str, indent: str = "") -> Iterator[str]:
    """Wrap a text to the width of the help and yield the lines."""
    yield from textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent
    )
