"""Recorded stock, a model fitted to it, and the thesis on persistent stock."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.files import write_whole
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.table import aligned
from cgrsp_simpy.cli.options import (
    FORMATTED,
    Answer,
    add_gallery,
    draw_gallery,
    formatted,
)
from cgrsp_simpy.rental.measured import (
    LAGS_H,
    Polls,
    StockFit,
    fit_stock,
    measured_toml,
    snapshots_of,
)

log = logging.getLogger(__name__)

Row = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    report = actions.add_parser(
        "report",
        help="by type: shares, prices, runs, gaps, correlations, and shares by hour",
    )
    fit = actions.add_parser(
        "fit",
        help=(
            "by type chances by hour and persistence, on one time scale or two; how"
            " they fit the snapshots, and those of the first half the second; whether"
            " the halves differ"
        ),
    )
    for action, own in ((report, _report), (fit, _fit)):
        action.add_argument(
            "files",
            nargs="+",
            metavar="FILE",
            help=(
                "snapshots: JSON of spot traces, JSON lines of GPU offers, or CSV; or"
                " gzipped"
            ),
        )
        action.set_defaults(carry_out=own, formats=FORMATTED)
    report.add_argument(
        "--figure",
        metavar="STEM",
        help="draw STEM.png and STEM.svg, and write their data",
    )
    fit.add_argument("--out", metavar="FILE.toml", help="write the laws, for --market")
    figures = actions.add_parser(
        "figures", help="the thesis's days on persistent stock: PNG, SVG and CSV"
    )
    add_gallery(figures, "figures/market")
    figures.set_defaults(carry_out=_figures)
    recorded = (
        "snapshots or laws, on whose stock the findings are judged, too; may be given"
        " again"
    )
    figures.add_argument("--market", action="append", metavar="FILE", help=recorded)


def _report(args: argparse.Namespace) -> Answer:
    """Summarise the snapshots."""
    listed = snapshots_of(args.files)
    polls = [Polls(each) for each in listed]
    if args.figure is not None:
        from cgrsp_simpy.decide.figures import market  # loads matplotlib

        stem, fits = Path(args.figure), [fit_stock(each) for each in listed]
        figure = market(stem.name, len(fits))
        figure.write(stem.parent, figure.rows(fits))
    rows = [_told(each) for each in polls]
    hours = [_by_hour(each) for each in polls]
    merged = [row | hour for row, hour in zip(rows, hours)]
    found = [
        row | {"low_pct_by_hour": list(own.values())[1:]}
        for row, own in zip(rows, hours)
    ]
    head = "share of Low stock by hour of day, %"
    text = "\n\n".join([_table(rows), f"{head}\n{_table(hours, digits=0)}"])
    return formatted(args, {"types": found}, merged, lambda: text)


def _figures(args: argparse.Namespace) -> Answer:
    from cgrsp_simpy.thesis import persistence  # loads matplotlib

    return draw_gallery(args, persistence, market=args.market or ())


def _told(polls: Polls) -> Row:
    """Summarise the snapshots of a type."""
    own, gaps = polls.snapshots, polls.gaps_h
    shares = zip(("high_pct", "medium_pct", "low_pct"), polls.shares)
    row: Row = {
        "type": own.gpu,
        "snapshots": len(own.time_s),
        "from": "-" if own.start is None else f"{own.start:%Y-%m-%d}",
        "days": float(own.time_s[-1]) / 86400,
        "step_s": polls.step_s,
        "gaps": len(gaps),
        "gaps_h": summed(gaps),
        **{name: 100 * share for name, share in shares},
        "usd_per_h": polls.price_usd_per_h,
        "low_run_h": polls.run_h(low=True),
        "other_run_h": polls.run_h(low=False),
        "short_runs_pct": polls.short_pct,
    }
    for lag_h in LAGS_H:
        row[f"r_{lag_h:g}h"], row[f"r_{lag_h:g}h_half_width"] = polls.correlation(lag_h)
    return row


def _by_hour(polls: Polls) -> Row:
    found: Row = {"type": polls.snapshots.gpu}
    for hour in range(24):
        own = polls.status[polls.seen & (polls.hour == hour)]
        found[f"{hour:02}"] = (
            100 * float((own == 2).mean()) if len(own) else float("nan")
        )
    return found


def _fit(args: argparse.Namespace) -> Answer:
    """Fit stock models."""
    fits = [fit_stock(each) for each in snapshots_of(args.files)]
    if args.out is not None:
        require(
            args.out.endswith(".toml"), "--out", args.out, "a file that ends in .toml"
        )
        write_whole(Path(args.out), measured_toml(fits).encode())
        log.info("the laws are in %s: --market %s", args.out, args.out)
    for fit in fits:
        apart, width = fit.polls.drift_pct
        if abs(apart) > width:
            told = (
                "%s drifts: %+.0f ± %.0f points in its share of Low stock, from the"
                " days of the"
            )
            told += " first half to those of the second; one fit describes neither"
            log.warning(told, fit.stock.gpu, apart, width)
    rows = [_goodness(fit) for fit in fits]
    later = [_goodness(fit.later) for fit in fits if fit.later]
    heads = [
        "snapshots | law: mean runs, hours, shares, %, and correlations of the status"
    ]
    heads += ["the second half of the snapshots | the law of the first"] * bool(later)
    tables = zip(heads, (rows, later))
    text = "\n\n".join(
        f"{head}\n{_table([_beside(row) for row in own])}" for head, own in tables
    )
    return formatted(args, {"types": rows, "second_halves": later}, rows, lambda: text)


def _beside(row: Row) -> Row:
    """Format figures of the data next to those of the model."""
    return {
        name: (
            f"{_cell(row[name])}{_error(row, name)} | {_cell(row[f'{name}_law'])}"
            if f"{name}_law" in row
            else row[name]
        )
        for name in row
        if not name.endswith(("_law", "_half_width"))
    }


def _goodness(fit: StockFit) -> Row:
    """Compare the model of a type with its data."""
    polls, own = fit.polls, fit.stock
    row: Row = {
        "type": own.gpu,
        "persistence_s": own.persistence_s,
        "switch_s": own.switch_s,
        "first_share": own.first_share,
        "low_pct": 100 * polls.shares[2],
        "low_pct_law": fit.low_pct,
        "low_run_h": polls.run_h(low=True),
        "low_run_h_law": fit.run_h(low=True),
        "other_run_h": polls.run_h(low=False),
        "other_run_h_law": fit.run_h(low=False),
        "short_runs_pct": polls.short_pct,
        "short_runs_pct_law": fit.short_pct,
    }
    for lag_h in LAGS_H:
        name = f"r_{lag_h:g}h"
        row[name], row[f"{name}_half_width"] = polls.correlation(lag_h)
        row[f"{name}_law"] = fit.correlation(lag_h)
    return row


def _table(rows: Sequence[Row], digits: int = 2) -> str:
    shown = [name for name in rows[0] if not name.endswith("_half_width")]
    cells = [
        [_cell(row[name], digits) + _error(row, name) for name in shown] for row in rows
    ]
    return "\n".join(aligned([shown, *cells]))


def _cell(value: Any, digits: int = 2) -> str:
    if isinstance(value, float):
        return f"{value:,.{digits}f}" if isfinite(value) else "-"
    return str(value)


def _error(row: Row, name: str) -> str:
    own = row.get(f"{name}_half_width")
    return f" ± {own:.2f}" if own is not None and isfinite(own) else ""
