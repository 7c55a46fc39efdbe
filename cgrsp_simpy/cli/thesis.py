"""Reproduce the thesis's experiments and print each table next to the published."""

from __future__ import annotations

import argparse
import logging

from cgrsp_simpy.base.checks import check_one_of, check_whole
from cgrsp_simpy.base.table import csv_text
from cgrsp_simpy.cli.fields import add_pairs, fields_of, given_of
from cgrsp_simpy.cli.options import (
    Answer,
    add_gallery,
    add_options,
    check_work,
    draw_gallery,
    executor_of,
    policies_of,
)
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.thesis.experiments import COUNTED, TABLES
from cgrsp_simpy.thesis.report import IDS, Report, make_report, wanted_of
from cgrsp_simpy.thesis.runs import work_of
from cgrsp_simpy.thesis.verdict import DIFFERS

log = logging.getLogger(__name__)

MOST_SEEDS = 10_000  # takes hours
VARIED = (
    "slots tight_fraction jobs rate_per_s free_types clock persistence_s sight".split()
)
LEAST_SHARE_PCT, MOST_RMS_Z = 93.0, 1.15


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    tables = actions.add_parser("tables", help="every table")
    table = actions.add_parser("table", help="one table")
    table.add_argument("id", metavar="N.M", help=", ".join(IDS))
    check = actions.add_parser(
        "check",
        help=(
            f"count the cells that agree; status 1 below {LEAST_SHARE_PCT:g} %%, above"
            f" an rms z of {MOST_RMS_Z:g}, or with fewer seeds than printed"
        ),
    )
    for action, usual in (
        (tables, "as printed"),
        (table, "as printed"),
        (check, "100"),
    ):
        seeds = (
            "replications of every table; with 300 there is little noise (default:"
            f" {usual})"
        )
        kept = "keep results and report in DIR; the same command resumes there"
        add_options(action, ("--seeds N", int, seeds), ("--out DIR", str, kept))
        action.set_defaults(carry_out=_tables, parallel=True, engines=True)
    for action in (tables, table):
        action.set_defaults(formats=("markdown", "html", "csv"))
    figures = actions.add_parser(
        "figures", help="every figure: PNG, SVG, and the CSV of what is plotted"
    )
    figure = actions.add_parser("figure", help="one figure")
    figure.add_argument(
        "id",
        metavar="N.M",
        help=(
            "a number of the thesis, or slots, thresholds, reservations, stock, queue,"
            " cells"
        ),
    )
    add_options(
        figure,
        ("--seeds N", int, "replications of every table (default: the thesis's)"),
        (
            "--policies P,P",
            str,
            "in place of the thesis's; of others nothing is published",
        ),
    )
    add_pairs(
        figure,
        "scenario",
        fields_of(day, *VARIED),
        "that each scenario has in place of its own",
    )
    for action in (figures, figure):
        add_gallery(action, "figures", only=False)
        action.set_defaults(carry_out=_figures)
        action.add_argument(
            "--from",
            dest="runs_from",
            metavar="DIR",
            help="the runs of cgrsp thesis tables --out DIR (default: run them)",
        )


def _tables(args: argparse.Namespace) -> Answer:
    """Return the report in the requested format, or its check."""
    executor, seeds = executor_of(args), args.seeds
    if seeds is not None:
        # a verdict needs an interval, which needs two seeds
        check_whole("--seeds", seeds, least=2, most=MOST_SEEDS)
    if args.action == "table":
        check_one_of("table", args.id, IDS)
    one = (getattr(args, "id", ""),)
    ids = {"tables": IDS, "table": one, "check": COUNTED}[args.action]
    seeds = seeds or (100 if args.action == "check" else None)
    check_work(args, work_of(wanted_of(ids, seeds)))
    report = make_report(ids, seeds, executor, args.out)
    if args.out is not None:
        log.info("report.html, report.md and cells.csv are in %s", args.out)
    if args.action == "check":
        return _checked(report)
    if args.format == "csv":
        return Answer(csv_text(report.rows()).rstrip("\n"))
    return Answer(
        (report.html() if args.format == "html" else report.markdown()).rstrip("\n")
    )


def _figures(args: argparse.Namespace) -> Answer:
    from cgrsp_simpy.thesis import figures  # loads matplotlib

    sizes = given_of(args, "seeds", "scenario", "runs_from")
    if getattr(args, "policies", None) is not None:
        sizes["policies"] = policies_of(args.policies)
    args.only = getattr(args, "id", None)
    return draw_gallery(args, figures, **sizes)


def _checked(report: Report) -> Answer:
    far = [cell for cell in report.cells if cell.counted and cell.verdict == DIFFERS]
    lines = [
        f"Table {cell.table}, {cell.row},"
        f" {cell.column}{', ' * bool(cell.part)}{cell.part}: published {cell.printed},"
        f" reproduced {cell.ours} (n {cell.n}), z {cell.z:+.2f}; {cell.note}"
        for cell in far
    ]
    tally, seeds = report.tally, report.replications or 0
    differing_pct = 100 * (tally.cells - tally.agreeing - tally.undecided) / tally.cells
    printed = max(TABLES[id].n for id in report.tables)
    if differing_pct > 100 - LEAST_SHARE_PCT:
        verdict = "not reproduced"
    elif seeds < printed:
        verdict = f"undecided: {seeds} seeds, fewer than the {printed} that are printed"
    else:
        verdict = "not reproduced" if tally.rms_z > MOST_RMS_Z else "reproduced"
    status = int(verdict != "reproduced")
    return Answer("\n".join([*lines, report.summary(), verdict]), status)
