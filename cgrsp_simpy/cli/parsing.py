"""Parser of every command, with help that fits a screen and one-line errors."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Sequence
from itertools import islice
from typing import Any, NoReturn

from cgrsp_simpy.base.checks import nearest
from cgrsp_simpy.base.table import visible

WIDTH = 100  # columns of the help
# Options of every command -> whether they have a value.
COMMON = {"--format": True, "--workers": True, "--engine": True}
COMMON |= {"--yes": False, "--large-files": False}
# Option of the last release, by command -> its replacement.
OLD = {"llm --cluster": "--service gpus=N,memory_gb=GB"}


def _common_first(words: Sequence[str]) -> list[str]:
    """Move the options of every command before the verb."""
    common, others, left = list[str](), list[str](), iter(words)
    for word in left:
        name, equals, _ = word.partition("=")
        if name not in COMMON:
            others.append(word)
            continue
        common.append(word)
        if not equals and COMMON[name]:
            common += islice(left, 1)
    return [*common, *others]


class Full(argparse.HelpFormatter):
    """Help with the full text of each option."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=WIDTH)

    def _split_lines(self, text: str, width: int) -> list[str]:
        wrap = textwrap.TextWrapper(width, subsequent_indent="  ")
        return [line for each in text.split("\n") for line in wrap.wrap(each)]


class Brief(Full):
    """Help with one line per option, and its default."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        line = text.split("\n")[0]
        matched = re.fullmatch(r"(.*?)( \(default: [^()]*\))?", line)
        meaning, default = matched.groups()  # type: ignore[union-attr]
        default = default if default and len(default) < width // 2 else ""
        room = width - len(default)
        return [textwrap.shorten(meaning, room, placeholder=" ...") + default]


class Help(argparse.Action):
    """Print the help, and exit."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: Any = None
    ) -> None:
        parser.formatter_class = Full if values == "all" else Brief
        parser.print_help()
        parser.exit()


class Parser(argparse.ArgumentParser):
    """Argument parser whose errors are one line, with the command's name."""

    def __init__(self, **named: Any) -> None:
        super().__init__(
            add_help=False, allow_abbrev=False, formatter_class=Brief, **named
        )
        told = "this help; all: with the full text of each option"
        self.add_argument(
            "-h", "--help", action=Help, nargs="?", metavar="all", help=told
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse options and arguments; unknown ones are an error here."""
        if " " not in self.prog:
            args = _common_first(args)
        parsed, others = super().parse_known_args(args, namespace)
        if others:
            self.error(f"unrecognized arguments: {' '.join(others)}")
        return parsed, others

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Return the value of an option; paths must not be empty."""
        if not arg_string and str(action.metavar).startswith(
            ("DIR", "FILE", "FOLDER", "LOG", "STEM")
        ):
            raise argparse.ArgumentError(
                action, "must not be empty; . is the current folder"
            )
        return super()._get_value(action, arg_string)

    def format_help(self) -> str:
        """Return the help: positional arguments and groups first, --help last."""
        self._action_groups.sort(key=lambda group: group is self._optionals)
        if self._subparsers is None:
            names = [
                (
                    " ".join([*each.option_strings, str(each.metavar)])
                    if each.required
                    else f"[{each.metavar}]"
                )
                for each in self._actions
                if each.required or not each.option_strings
            ]
            self.usage = " ".join([self.prog, *names, "[options]"])
            own = self.epilog if self.formatter_class is Full else None
            formats = "|".join(self.get_default("formats") or ())
            taken = [f"--format {formats}"] * bool(formats)
            taken += ["--workers N"] * bool(self.get_default("parallel"))
            taken += ["--engine NAME"] * bool(self.get_default("engines"))
            common = (
                f"Also {', '.join([*taken, '--yes, --large-files'])}: see cgrsp --help."
            )
            self.epilog = f"{own} {common}" if own else common
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Print the line, with the name that may be meant, and exit with status 2."""
        meant = ""
        if found := re.match(r"unrecognized arguments: .*?(--[^\s=]+)", message):
            now = OLD.get(" ".join([*self.prog.split()[1:2], found[1]]))
            meant = (
                f"; it is {now} now"
                if now
                else nearest(found[1], self._option_string_actions)
            )
        elif found := re.search(
            r"invalid choice: '(.*)' \(choose from (.*)\)$", message
        ):
            meant = nearest(found[1], re.findall(r"[^\s',]+", found[2]))
        line = " ".join(
            f"{self.prog}: {message}{meant} (see {self.prog} --help)".split()
        )
        self.exit(2, f"{visible(line)}\n")
