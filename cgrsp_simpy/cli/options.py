"""Options that several commands share, and formats of their answers."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from cgrsp_simpy.base.checks import (
    InputError,
    check_one_of,
    check_whole,
    read_as,
    require,
)
from cgrsp_simpy.base.table import aligned, csv_text, figure_text, json_text
from cgrsp_simpy.cli.fields import Field, add_pairs, checked, fields_of, flag, pairs_of
from cgrsp_simpy.logs import COLUMNS, FORMATS, read_log
from cgrsp_simpy.studies.study import Results, failure_lines
from cgrsp_simpy.studies.subject import Subject

log = logging.getLogger(__name__)
BYTES_A_JOB = 1000  # of a run with records, roughly
MOST_S, MOST_HELD = 3600, 8e9  # limits without --yes
LONG_FIGURES = (
    "all figures are to be drawn, and their runs carried out, which may take minutes"
)
FORMATTED = ("table", "csv", "json")


class Answer(NamedTuple):
    """Text for stdout, and the exit status."""

    text: str
    status: int = 0


def formatted(
    args: argparse.Namespace,
    values: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    text: Callable[[], str],
) -> Answer:
    """Return an answer in the requested format.

    values: for JSON. rows: for CSV. text: returns the table.
    """
    if args.format == "json":
        return Answer(json_text(values))
    return Answer(csv_text(rows).rstrip("\n") if args.format == "csv" else text())


def cells_of(
    rows: Sequence[Mapping[str, Any]], told: Callable[[Any], str] = figure_text
) -> list[list[str]]:
    """Return rows as table cells, below the column names. told: formats a value."""
    return [list(rows[0]), *([told(value) for value in row.values()] for row in rows)]


def short_text(value: Any) -> str:
    """Format a number in four digits or as a whole one; a dash for None."""
    if isinstance(value, int | float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return "-" if value is None else str(value)


def summary(docstring: str | None) -> str:
    """Return the first paragraph of a docstring, in one line."""
    return " ".join((docstring or "").split("\n\n")[0].split())


def add_options(parser: argparse._ActionsContainer, *rows: tuple[Any, ...]) -> None:
    """Add options.

    rows: the name with its metavar, as in "--seed N", the type, the help and, if any,
    the default; a flag has the type bool and no metavar.
    """
    for usage, kind, told, *default in rows:
        name, _, metavar = usage.partition(" ")
        if kind is bool:
            parser.add_argument(name, action="store_true", help=told)
        else:
            own = {"default": default[0]} if default else {}
            parser.add_argument(name, type=kind, metavar=metavar, help=told, **own)


# ---- studies ----


def add_study(
    parser: argparse.ArgumentParser, number: int = 30, out: bool = True
) -> None:
    """Add the options of a study: the number of replications and their directory."""
    seeds = (
        f"replications: their number, or FROM:TO, such as 100:130 (default: {number})"
    )
    add_options(parser, ("--seeds N", checked(_seeds), seeds))
    if out:
        kept = "keep results in DIR as they come; the same command resumes there"
        add_options(parser, ("--out DIR", str, kept))
    parser.set_defaults(usual=number, formats=FORMATTED, parallel=True)


def _seeds(text: str) -> range:
    first, span, end = text.rpartition(":")
    allowed = "a number of seeds, or FROM:TO, such as 100:130"
    bounds = (
        read_as(int, each, f"invalid seeds {text!r}: must be {allowed}")
        for each in (first or "0", end)
    )
    seeds = range(*bounds)
    if not span:
        check_whole("--seeds", seeds.stop, least=1)
    require(
        len(seeds) > 0 and seeds.start >= 0,
        "--seeds",
        text,
        f"{allowed}, TO above FROM",
    )
    return seeds


def seeds_of(args: argparse.Namespace, random: bool = True) -> range:
    """Return the seeds of the options; only one is allowed if nothing is random."""
    if random:
        return args.seeds or range(args.usual)
    allowed = "left out: nothing is random here, so that one run is enough"
    seeds = args.seeds or range(1)
    require(seeds == range(1), "--seeds", f"{seeds.start}:{seeds.stop}", allowed)
    return seeds


def check_work(
    args: argparse.Namespace,
    jobs: int,
    kept: int = 0,
    per_s: float = Subject.pace_per_s,
    done: str = "simulated",
) -> None:
    """Announce work of over a minute, and raise InputError for much more without --yes.

    jobs: to simulate, of which `kept` are in memory at a time. per_s: jobs per second,
    roughly. done: the verb of the message.
    """
    seconds = jobs / per_s / (args.workers or 1)
    held = BYTES_A_JOB * kept
    minutes = "a minute" if seconds < 90 else f"{seconds / 60:.0f} minutes"
    took = f"{seconds / 3600:,.1f} hours" if seconds > 5400 else minutes
    memory = f", {held / 1e9:,.1f} GB" if held > 1e8 else ""
    told = f"{jobs:,} jobs are to be {done}, {took}{memory} or so"
    if (jobs / per_s > MOST_S or held > MOST_HELD) and not args.yes:
        raise InputError(f"{told}; --yes starts it all the same")
    if seconds > 60:
        log.info("%s", told)


def policies_of(text: str) -> list[str]:
    """Split "a,b:x=1,y=2,c"; a part like y=2 belongs to the policy before it."""
    policies: list[str] = []
    for part in text.split(","):
        if policies and "=" in part and ":" not in part:
            policies[-1] += f",{part}"
        else:
            policies.append(part)
    return policies


def answer(study: Results, args: argparse.Namespace) -> Answer:
    """Return a study in the requested format; status 1 if runs failed."""
    if args.out is not None:
        log.info("results are in %s", args.out)
    if study.failures and args.format != "table":
        log.warning("%s", failure_lines(study)[-1])
    made = {
        "json": study.json,
        "csv": lambda: csv_text(study.rows),
        "table": study.__str__,
    }
    return Answer(made[args.format]().rstrip("\n"), 1 if study.failures else 0)


# ---- figures ----


STYLES = ("print", "lecture", "single", "double")
# in addition to matplotlib's settings
LOOK = {"width": Field("width", float), "pgf": Field("pgf", bool)}


def add_gallery(
    parser: argparse.ArgumentParser, folder: str, only: bool = True
) -> None:
    """Add the options of an action that draws. only: whether to allow a selection."""
    if only:
        add_options(parser, ("--only ID,ID", str, "some of the figures (default: all)"))
    add_options(
        parser, ("--out DIR", str, "where to draw (default: %(default)s)", folder)
    )
    add_style(parser)
    parser.set_defaults(parallel=True)


def add_style(parser: argparse.ArgumentParser) -> None:
    """Add the option for the style of figures."""
    told = (
        f"{', '.join(STYLES)}, or settings of matplotlib, such as font.size=10,"
        " width=MM and pgf=yes: a PGF, too, for LaTeX, which has to be there; single,"
        " double: columns of a journal, 88 and 180 mm, in 8 pt (wide figures take"
        " both) (default: print)"
    )
    add_options(
        parser, ("--style NAME|A=X,B=Y", checked(_look), told, {"style": "print"})
    )


def _look(text: str) -> dict[str, Any]:
    """Parse a style, as in "single" or "font.size=10,width=120,pgf=yes"."""
    if "=" not in text:
        check_one_of("style", text, STYLES)
        return {"style": text}
    settings = dict(part.partition("=")[::2] for part in text.split(","))
    own = [f"{name}={settings.pop(name)}" for name in LOOK if name in settings]
    return {"style": settings, **(pairs_of(LOOK, ",".join(own)) if own else {})}


def draw_gallery(args: argparse.Namespace, module: Any, **sizes: Any) -> Answer:
    """Draw the requested figures of a module; list the files. sizes: of the runs."""
    if args.only is None:
        log.info("%s", LONG_FIGURES)
    ids = tuple(module.FIGURES if args.only is None else args.only.split(","))
    drawn = module.draw_figures(
        args.out, ids, executor=executor_of(args), **args.style, **sizes
    )
    return Answer("\n".join(map(str, drawn)))


def executor_of(args: argparse.Namespace) -> int | None:
    """Return the number of processes, by default one per core; None for this one."""
    workers = args.workers or os.cpu_count() or 1
    return workers if workers > 1 else None


# ---- logs ----

READING = fields_of(read_log, "format", "window", "strict")
READING["format"] = Field(
    "format", str, f"{', '.join(FORMATS)} (default: by the file's name)"
)


def add_log(
    parser: argparse._ActionsContainer,
    told: str = "a log of jobs, plain or gzipped",
    own: Mapping[str, Field] = MappingProxyType({}),
    *,
    needed: bool = False,
) -> None:
    """Add the options for a log and how to read it.

    own: further options of a module's reader. needed: whether the log is an argument.
    """
    known = {**READING, **own}
    names = [
        *COLUMNS,
        *(each.name for format in FORMATS.values() for each in format.fields),
    ]
    short = [name.removesuffix("_s").removesuffix("_gb") for name in names]
    columns = {name: Field(name, str) for name in [*names, *short]}
    if needed:
        parser.add_argument("trace", metavar="LOG", help=told)
    else:
        add_options(parser, ("--trace FILE", str, told))
    how = "how it is read, and its columns by our names (submit=created)"
    add_pairs(parser, "log", known, how, partial(pairs_of, columns | known))


def reading_of(args: argparse.Namespace, *own: str) -> dict[str, Any]:
    """Return arguments for a reader of logs from --log. own: beyond `read_log`'s."""
    told = dict(args.log or {})
    found = {name: told.pop(name) for name in (*READING, *own) if name in told}
    return {**found, "columns": told}


def refuse(args: argparse.Namespace, allowed: str, *options: str) -> None:
    """Raise InputError for any of the options that is set. allowed: instead."""
    for name in options:
        value = getattr(args, name, None)
        if isinstance(value, dict):  # as on the command line
            value = ",".join(
                key if one is True else f"{key}={one}" for key, one in value.items()
            )
        require(value is None, flag(name), value, allowed)


# ---- columns of a log ----


BY = ("--by COLUMN", str, "figures by the values of a column of the log, such as user")


def by_answer(rows: Sequence[Mapping[str, Any]], args: argparse.Namespace) -> Answer:
    """Return rows by values of a column of a log, in the requested format."""
    if args.by in rows[0]:  # for a single run
        names = [name for name in rows[0] if name != args.by]
        rows = [
            {
                "by": args.by,
                "value": row[args.by],
                **{name: row[name] for name in names},
            }
            for row in rows
        ]
    own = [{name: row[name] for name in list(row)[1:]} for row in rows]
    lines = [[args.by, *list(rows[0])[2:]]]
    lines += [[str(row["value"]), *map(_shown, list(row.values())[2:])] for row in rows]
    return formatted(
        args, {"by": args.by, "rows": own}, rows, lambda: "\n".join(aligned(lines))
    )


def _shown(value: Any) -> str:
    return (
        value if isinstance(value, str) else "-" if value != value else f"{value:,.6g}"
    )
