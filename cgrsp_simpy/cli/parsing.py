"""The parser of every command: help that fits a screen, errors of one line, and what words of the
last release are now.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Sequence
from itertools import islice
from typing import Any, NoReturn

from cgrsp_simpy.cli.fields import flag
from cgrsp_simpy.model.checks import nearest

WIDTH = 100  # columns of a help
# Options of every command, and whether they have a value.
COMMON = {"--format": True, "--workers": True, "--engine": True}
COMMON |= {"--yes": False, "--large-files": False}
TERMS = (
    *("retry_s", "warm_s", "billed_from", "minimum_s", "increment_s", "preemption_per_h"),
    *("taken_when_low", "checkpoint_s", "checkpoint_cost_s", "restart_s", "suspension"),
    "budget_usd_per_day",
)
# Option, or verb, of the last release -> what to write now; with the verb before it where others
# have that option still.
OLD = {
    "hgsp llm": "cgrsp llm table, or llm run",
    "waiting simulate": "cgrsp waiting compare, or waiting run",
    "--animate": "--show FILE.html",
    "--clock": "--market clock=NAME",
    "--columns": "--log submit=COLUMN,service=COLUMN",
    "--decode": "--steps FILE, or --steps roofline",
    "--delay": "--delay-s",
    "--down": "--market down_h=H",
    "--evaluations": "--budget evaluations=N",
    "--events": "--show events",
    "--first-seed": "--seeds FROM:TO",
    "--fixed-price": "--prices fixed=F",
    "--gantt": "--show FILE.png",
    "--history": "--log history=F",
    "--index": "--orlib FILE:index=N",
    "--instances": "--seeds",
    "--inter": "--platform inter_gb_per_s=B",
    "--intra": "--platform intra_gb_per_s=B",
    "--jobs-per-day": "--jobs",
    "--keep": "cgrsp waiting run --format csv",
    "--long": "--seeds 300",
    "--machine-cores": "--machine cores=N",
    "--machine-memory": "--machine memory_gb=GB",
    "--market-types": "--market 'TYPE=TYPE OF THE MARKET'",
    "--memory": "memory_gb=GB of --service or --platform",
    "--model-memory": "--service weights_gb=GB",
    "--needed": "--log needed=N",
    "--nodes": "--cluster",
    "--on-demand-price": "--prices on_demand=F",
    "--overestimate": "--mix overestimate=F",
    "--per-server": "--platform per_server=N",
    "--persistence": "--market persistence_s=S",
    "--prefill": "--steps FILE, or --steps roofline",
    "--rate": "--rate-per-s",
    "--recursion": "left out: it is used wherever it covers the scenario",
    "--replan": "--replan-s",
    "--replications": "--seeds",
    "--run-over": "--errors run_over=F",
    "--run-under": "--errors run_under=F",
    "--scheduler": "--policy, or --policies where there are several",
    "--schedulers": "--policies",
    "--servers": "--machines",
    "--service": "--service-s",
    "--short": "a parameter of the policy, ljw:short_s=S",
    "--sight": "--market sight=HOW",
    "--size": "--orlib FILE:tasks=N",
    "--skip-unfit": "--instance FILE:skip_unfit=yes",
    "--skip-wide": "--log skip_wide=yes",
    "--slack": "--level NAME:slack=A:B",
    "--step": "--show step",
    "--strict": "--log strict=yes",
    "--tasks": "--level NAME:tasks=N",
    "--tensor": "--service tensor_parallel=N",
    "--tflops": "--platform tflops=X:X",
    "--time-budget": "--seconds",
    "--trace-format": "--log format=NAME",
    "--trials": "--seeds",
    "--up": "--market up_h=H",
    "--wait": "a parameter of the policy, sww:wait_s=S",
    "--weight": "--log weight=LAW",
    "--whole": "--machine whole",
    "--window": "--log window=FROM:TO",
    **{
        f"--price-{name}": f"--prices price_{name}=USD" for name in ("miss", "late", "wait", "slot")
    },
    **{flag(name): f"--terms {name}=..." for name in TERMS},
    "dag --gpus": "--platform gpus=N",
    "dag --nodes": "--graph NAME:n=N",
    "hgsp --cluster": "--level NAME:cluster=NAME, or --instance FILE:cluster=NAME",
    "hgsp --load": "--level NAME:load=R",
    "hgsp --machines": "--orlib FILE:machines=N",
    "llm --cluster": "--service gpus=N,memory_gb=GB",
    "llm --gpus": "--service gpus=N",
    "waiting --by": "--objective",
    "spot --prices": "--spot-usd-per-h and --on-demand-usd-per-h",
    "waiting --over": "--errors wait_over=F",
    "waiting --under": "--errors wait_under=F",
}


def _common_first(words: Sequence[str]) -> list[str]:
    """The words with the options of every command before the verb, wherever they stand."""
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
    """A help with all that is told of each option."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=WIDTH)

    def _split_lines(self, text: str, width: int) -> list[str]:
        wrap = textwrap.TextWrapper(width, subsequent_indent="  ")
        return [line for each in text.split("\n") for line in wrap.wrap(each)]


class Brief(Full):
    """A help with one line an option, and its default."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        told, default = re.fullmatch(r"(.*?)( \(default: [^()]*\))?", text.split("\n")[0]).groups()  # type: ignore[union-attr]
        default = default if default and len(default) < width // 2 else ""
        return [f"{textwrap.shorten(told, width - len(default), placeholder=' ...')}{default}"]


class Help(argparse.Action):
    """Prints the help, and ends."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        parser.formatter_class = Full if values == "all" else Brief
        parser.print_help()
        parser.exit()


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, that of the command they are about."""

    def __init__(self, **named: Any) -> None:
        super().__init__(add_help=False, allow_abbrev=False, formatter_class=Brief, **named)
        told = "this help; all: with all that there is to say of each option"
        self.add_argument("-h", "--help", action=Help, nargs="?", metavar="all", help=told)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Those of its options and arguments; another is an error, here and not further up."""
        if self._subparsers is None:
            self._check_old(args)
        elif " " not in self.prog:
            args = _common_first(args)
        given, others = super().parse_known_args(args, namespace)
        if others:
            self.error(f"unrecognized arguments: {' '.join(others)}")
        return given, others

    def _check_old(self, words: Any) -> None:
        for word in words:
            name = word.partition("=")[0]
            if name.startswith("--") and name not in self._option_string_actions:
                self._tell_old(name)

    def _tell_old(self, word: str) -> None:
        """Leave with what to write in place of a word of the last release, if it is one."""
        verb = self.prog.split()[1:2]
        if now := OLD.get(" ".join([*verb, word]), OLD.get(word)):
            self.exit(2, f"{self.prog}: {word} is now {now} (see {self.prog} --help)\n")

    def format_help(self) -> str:
        """The help: positional arguments and groups first, --help and the like last."""
        self._action_groups.sort(key=lambda group: group is self._optionals)
        if self._subparsers is None:
            names = [
                " ".join([*each.option_strings, str(each.metavar)])
                if each.required
                else f"[{each.metavar}]"
                for each in self._actions
                if each.required or not each.option_strings
            ]
            self.usage = " ".join([self.prog, *names, "[options]"])
            own = self.epilog if self.formatter_class is Full else None
            formats = "|".join(self.get_default("formats") or ())
            taken = [f"--format {formats}"] * bool(formats)
            taken += ["--workers N"] * bool(self.get_default("parallel"))
            taken += ["--engine NAME"] * bool(self.get_default("engines"))
            common = f"Also {', '.join([*taken, '--yes, --large-files'])}: see cgrsp --help."
            self.epilog = f"{own} {common}" if own else common
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Print the line, with the name that may have been meant, and leave with status 2."""
        meant = ""
        if found := re.match(r"unrecognized arguments: .*?(--[^\s=]+)", message):
            meant = nearest(found[1], self._option_string_actions)
        elif found := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)$", message):
            self._tell_old(found[1])
            meant = nearest(found[1], re.findall(r"[^\s',]+", found[2]))
        line = " ".join(f"{self.prog}: {message}{meant} (see {self.prog} --help)".split())
        self.exit(2, f"{line}\n")
