"""Reproduce the tables and figures of the papers."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cgrsp_simpy.base.checks import InputError, check_one_of, check_whole, require
from cgrsp_simpy.base.files import write_files
from cgrsp_simpy.base.parameters import hints
from cgrsp_simpy.base.table import Table, cells_of, document, many
from cgrsp_simpy.cli.options import (
    STYLES_HELP,
    check_omitted,
    check_work,
    checked,
    executor_of,
    policies_option,
    style_of,
    to_folder,
)
from cgrsp_simpy.cli.parameters import shortened
from cgrsp_simpy.cli.parsing import FORMATS, Answer, Command, argument, formatted
from cgrsp_simpy.cli.scenarios import Worded, split, value_of
from cgrsp_simpy.papers import ledger
from cgrsp_simpy.papers.catalogue import PAPERS, Paper, make_all, with_seeds
from cgrsp_simpy.papers.thesis.experiments import work_of
from cgrsp_simpy.papers.thesis.printed import IDS, wanted_of

log = logging.getLogger(__name__)

MOST_SEEDS = 10_000  # takes hours
EFFECTIVE = {  # option -> actions on which it has an effect
    "seeds": ("tables", "figures", "check", "all"),
    "out": ("tables", "figures", "all"),
    "all": ("check",),
    "policies": ("tables", "figures"),
    "style": ("figures", "all"),
    "runs_from": ("figures",),
}
OF_OPTIONS = {"seeds", "policies", "out", "executor", "ids", "drawn", "runs_from"}
OF_OPTIONS |= {"instances", "graphs"}  # numbers of seeds, --seeds
LOGS = {"waiting": "trace", "llm": "source"}
"""Paper -> the parameter of its figures that is a log, trace=LOG."""
OTHERS = {"advice": "decide.figures", "frontier": "decide.figures"}
"""Prefix of further files that can be redrawn -> module of their figures."""


def _papers(args: argparse.Namespace) -> Answer:
    names = [word for word in args.words if "=" not in word]
    args.words = [word for word in args.words if "=" in word]
    for name in names[:1]:
        check_one_of("paper", name, PAPERS)
    useless = [name for name, on in EFFECTIVE.items() if args.action not in on]
    check_omitted(args, useless, f"omitted with {args.action}")
    if args.seeds is not None:
        check_whole("--seeds", args.seeds, least=1, most=MOST_SEEDS)
    if args.action in ("check", "all", "list"):
        most = len(names) if args.action == "check" else 1
        surplus = [*names[most:], *args.words]
        require(
            not surplus, "arguments", " ".join(surplus), f"omitted with {args.action}"
        )
    if args.action in ("tables", "figures") and not names:
        raise InputError(f"{args.action} requires a paper: {', '.join(PAPERS)}")
    if args.action in ("figures", "all"):
        require(
            args.format == "table",
            "--format",
            args.format,
            f"omitted with {args.action}",
        )
    return ACTIONS[args.action](args, names)


def _list(args: argparse.Namespace, names: Sequence[str]) -> Answer:
    rows = [
        {
            "paper": name,
            "title": paper.title,
            "tables": ", ".join(paper.ids) or "none",
            "figures": ", ".join(paper.module.FIGURES),
            "table_parameters": _listed(_known(paper.table_parameters, name)),
            "figure_parameters": _listed(_known(paper.figure_parameters, name)),
        }
        for name, paper in PAPERS.items()
        if name in names or not names
    ]
    if args.format == "table":
        lines = (
            f"    {key.replace('_', ' ')}: {row[key]}"
            if key != "paper"
            else f"{row['paper']}: {row['title']}"
            for row in rows
            for key in row
            if key != "title"
        )
        return Answer("\n".join(lines))
    tables = [Table("papers", cells_of(rows))]
    return formatted(args, document("papers", rows), rows, lambda: tables)


def _known(parameters: Mapping[str, Any], paper: str) -> dict[str, Any]:
    """Return the parameters that NAME=VALUE sets, with their defaults."""
    known = {
        name: item.default
        for name, item in parameters.items()
        if name not in OF_OPTIONS
    }
    if LOGS.get(paper) in known:
        del known[LOGS[paper]]
        known["trace"] = "LOG"
    return known


def _values(
    words: Sequence[str], known: Mapping[str, Any], types: Mapping[str, Any], whose: str
) -> dict[str, Any]:
    """Return the parameters that NAME=VALUE words set. whose: for messages."""
    values = dict[str, Any]()
    for word, texts in split(words).items():
        allowed = " or ".join(sorted(known)) or f"omitted: {whose} no parameters"
        require(word in known, "parameter", word, allowed)
        several = "tuple" in str(types[word])
        require(several or len(texts) == 1, word, ",".join(texts), "one value")
        values[word] = value_of("+".join(texts), types[word])
    return values


def _listed(known: Mapping[str, Any]) -> str:
    if "scenario" in known:
        return "those of cgrsp parameters hectic"
    return ", ".join(f"{word}={shortened(known[word])}" for word in known) or "none"


# ---- tables ----


def _tables(args: argparse.Namespace, names: Sequence[str]) -> Answer:
    name, *ids = names
    paper = PAPERS[name]
    if paper.table is None:
        others = ", ".join(
            other for other, other_paper in PAPERS.items() if other_paper.table
        )
        raise InputError(f"{name} has no tables; papers with tables: {others}")
    for id in ids:
        check_one_of("table", id, paper.ids)
    options = ("seeds", "policies", "out")
    useless = [option for option in options if option not in paper.table_parameters]
    check_omitted(args, useless, f"omitted: the tables of {name} do not use it")
    how: dict[str, Any] = {
        option: getattr(args, option)
        for option in ("policies", "out")
        if getattr(args, option) is not None
    }
    known = _known(paper.table_parameters, name)
    how |= _values(args.words, known, hints(paper.table), f"{name} has")
    if name == "thesis":
        how["ids"] = ids or IDS
        check_work(args, work_of(wanted_of(how["ids"], args.seeds)))
    output = paper.tables(args.seeds, executor_of(args), **how)
    return formatted(args, output.content, output.rows, lambda: output.tables)


def _check(args: argparse.Namespace, names: Sequence[str]) -> Answer:
    """Return the ledger of agreement; status 1 if one is lost at the recorded seeds."""
    for name in names:
        check_one_of("paper", name, ledger.PAPERS)
    if args.seeds is not None:
        check_whole("--seeds", args.seeds, least=2, most=MOST_SEEDS)
    papers = names or ledger.PAPERS
    if args.seeds is None:
        minutes = round(ledger.recorded_s(papers) / 60)
        longer = "" if find_spec("numba") else ", many times as long without numba"
        if minutes:
            log.info("this takes about %s%s", many(minutes, "minute"), longer)
    elif "thesis" in papers:
        check_work(args, work_of(wanted_of(IDS, args.seeds)))
    entries = [*ledger.entries(papers, args.seeds, executor_of(args))]
    lost = ledger.lost(entries) if args.seeds is None else []
    for entry in lost:
        log.warning(
            "no longer reproduced: %s, %s, %s: %s",
            *(entry.paper, entry.where, entry.statement, entry.ours),
        )
    rows = ledger.rows(entries)
    tables = ledger.tables(entries, args.all)
    return formatted(
        args,
        document("papers", rows, summary=ledger.summary(entries)),
        rows,
        lambda: tables,
        int(bool(lost)),
    )


# ---- figures ----


def _figures(args: argparse.Namespace, names: Sequence[str]) -> Answer:
    name, *ids = names
    paper = PAPERS[name]
    sizes = _sizes(args, name, paper)
    if not ids:
        log.info("drawing all figures, which may take minutes")
    folder = args.out or ("figures" if name == "thesis" else f"figures/{name}")
    module = paper.module
    drawn = module.FIGURES.draw(
        folder,
        tuple(ids or module.FIGURES),
        executor=executor_of(args),
        **(args.style or {"style": "print"}),
        **sizes,
    )
    return Answer("\n".join(map(str, drawn)))


def _sizes(args: argparse.Namespace, name: str, paper: Paper) -> dict[str, Any]:
    """Return the parameters of the runs behind figures, from words and options."""
    parameters = paper.figure_parameters
    sizes: dict[str, Any] = with_seeds(parameters, args.seeds)
    allowed = f"omitted: the figures of {name} do not use it"
    require(args.seeds is None or bool(sizes), "--seeds", args.seeds, allowed)
    for option in ("policies", "runs_from"):
        if option not in parameters:
            check_omitted(args, [option], allowed)
        elif getattr(args, option):
            sizes[option] = getattr(args, option)
    words = list(args.words)
    if "scenario" in parameters and words:  # thesis figures
        worded = Worded("hectic", words)
        worded.single("papers figures")
        return {**sizes, "scenario": worded.parameters}
    of_log = [word for word in words if word.startswith(("trace=", "log."))]
    if name in LOGS and of_log:
        sizes[LOGS[name]] = Worded(name, of_log).single("papers figures").source
        words = [word for word in words if word not in of_log]
    known = _known(paper.figure_parameters, name)
    types = dict.fromkeys(known, int)
    return sizes | _values(words, known, types, "these figures have")


def _all(args: argparse.Namespace, names: Sequence[str]) -> Answer:
    if args.out is None:
        raise InputError("all requires --out DIR, the directory to write to")
    items = make_all(
        args.out, names or (*PAPERS,), args.seeds, executor_of(args), args.style
    )["items"]
    failed = [item for item in items if item["error"]]
    lines = [
        f"{item['paper']}, {item['kind']} {item['id']}: {item['error']}"
        for item in failed
    ]
    lines.append(
        f"{Path(args.out) / 'manifest.md'}: {many(len(items), 'item')},"
        f" {many(sum(len(item['files']) for item in items), 'file')}"
    )
    return Answer("\n".join(lines), int(bool(failed)))


ACTIONS: dict[str, Callable[[argparse.Namespace, Sequence[str]], Answer]] = {
    "list": _list,
    "tables": _tables,
    "figures": _figures,
    "check": _check,
    "all": _all,
}


# ---- redraw ----


def _redraw(args: argparse.Namespace) -> Answer:
    from cgrsp_simpy.plots.figure import Figure, check_look  # loads matplotlib

    style = args.style or {"style": "print"}
    check_look(**{"style": "print", "width": None, **style})
    galleries = {paper.prefix: paper.gallery for paper in PAPERS.values()} | OTHERS
    contents = dict[Path, bytes]()
    for path in map(Path, args.files):
        prefix = path.stem.partition("_")[0]
        require(
            prefix in galleries,
            "FILE.csv",
            str(path),
            f"a CSV file whose name begins with {', '.join(galleries)}",
        )
        module = import_module(f"cgrsp_simpy.{galleries[prefix]}")
        single = [value for value in vars(module).values() if isinstance(value, Figure)]
        known = {figure.stem: figure for figure in (*module.FIGURES.values(), *single)}
        check_one_of("figure", path.stem, known)
        contents |= known[path.stem].contents(path.parent, None, **style)
    write_files(contents)
    return Answer("\n".join(map(str, contents)))


STYLE = argument("--style NAME|A=X,B=Y", STYLES_HELP, type=checked(style_of))
PAPERS_ARGUMENTS = [
    argument(
        "action ACTION",
        "list: papers with their tables and figures; tables, figures: those of a"
        " PAPER, or one by its ID; check: ledger of all printed numbers and"
        " claims of the given or all five PAPERs, with a verdict on each (status"
        " 1 if a recorded agreement is lost); all: every table and figure of the"
        " given or all PAPERs, with a manifest of printed and reproduced values",
        choices=[*ACTIONS],
    ),
    argument(
        "words PAPER [ID] [NAME=VALUE]",
        f"PAPER is {', '.join(PAPERS)}; NAME=VALUE sets a parameter of tables or"
        " figures, such as slots=6 for the thesis; list shows every ID and parameter",
        nargs="*",
        default=[],
    ),
    argument(
        "--seeds N",
        "number of replications (default: as in the paper, or as many as needed)",
        type=int,
    ),
    argument("--all", "for check: also print reproduced entries"),
    policies_option("the paper's"),
    argument(
        "--out DIR",
        "output directory of figures and all; for tables of the thesis, directory"
        " that stores the runs, from which the same command continues",
        type=to_folder,
    ),
    STYLE,
    argument(
        "--from DIR",
        "for figures of the thesis: use the runs that tables thesis --out DIR stored",
        dest="runs_from",
    ),
]
REDRAW_ARGUMENTS = [
    argument(
        "files FILE.csv", "CSV files of figures, with their original names", nargs="+"
    ),
    STYLE,
]
COMMANDS = {
    "papers": Command(
        PAPERS_ARGUMENTS, _papers, (*FORMATS, "html"), parallel=True, engines=True
    ),
    "redraw": Command(REDRAW_ARGUMENTS, _redraw, formats=()),
}
