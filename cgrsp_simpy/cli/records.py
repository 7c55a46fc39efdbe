"""Records: logs of clusters, stock of markets, results directories, small files."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any

import cgrsp_simpy as cg
from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.files import is_there, write_whole
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.table import Table, cells_of, document, many, short_text
from cgrsp_simpy.cli.options import (
    SEED,
    check_policies_of,
    check_work,
    number_of,
    policies_option,
    to_stem,
    words_argument,
)
from cgrsp_simpy.cli.parsing import Answer, Command, argument, formatted
from cgrsp_simpy.cli.scenarios import Worded
from cgrsp_simpy.cluster.policies import SCHEDULERS
from cgrsp_simpy.cluster.replay import FLOOR, ORDERED, Replay, changed, replay
from cgrsp_simpy.cluster.scenario import Scenario as ClusterScenario
from cgrsp_simpy.decide.verify import Again, verify
from cgrsp_simpy.hgsp.instance import write_instance
from cgrsp_simpy.hgsp.scenario import Scenario
from cgrsp_simpy.market.measured import (
    LAGS_H,
    Polls,
    StockFit,
    fit_stock,
    measured_toml,
    snapshots_of,
)
from cgrsp_simpy.papers.thesis.printed import run_tables
from cgrsp_simpy.rental.policies import later
from cgrsp_simpy.studies.subject import subject_of

log = logging.getLogger(__name__)

Row = dict[str, Any]


def _market(args: argparse.Namespace) -> Answer:
    return ACTIONS[args.action](args)


def _report(args: argparse.Namespace) -> Answer:
    listed = snapshots_of(args.files)
    polls = [Polls(snapshots) for snapshots in listed]
    if args.out is not None:
        from cgrsp_simpy.market.figures import market  # loads matplotlib

        stem, fits = Path(args.out), [fit_stock(snapshots) for snapshots in listed]
        figure = market(stem.name, len(fits))
        figure.write(stem.parent, figure.rows(fits))
    rows = [_summary(poll) for poll in polls]
    hours = [_by_hour(poll) for poll in polls]
    merged = [row | hour for row, hour in zip(rows, hours)]
    figures = [
        row | {"low_pct_by_hour": list(hour.values())[1:]}
        for row, hour in zip(rows, hours)
    ]
    by_hour = _table("share of Low stock by hour of day, %", hours, digits=0)
    return formatted(
        args,
        document(", ".join(map(str, args.files)), figures),
        merged,
        lambda: [_table("", rows), by_hour],
    )


def _summary(polls: Polls) -> Row:
    snapshots, gaps = polls.snapshots, polls.gaps_h
    shares = zip(("high_pct", "medium_pct", "low_pct"), polls.shares)
    row: Row = {
        "type": snapshots.gpu,
        "snapshots": len(snapshots.time_s),
        "from": "-" if snapshots.start is None else f"{snapshots.start:%Y-%m-%d}",
        "days": float(snapshots.time_s[-1]) / 86400,
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
    row: Row = {"type": polls.snapshots.gpu}
    for hour in range(24):
        status = polls.status[polls.seen & (polls.hour == hour)]
        row[f"{hour:02}"] = (
            100 * float((status == 2).mean()) if len(status) else float("nan")
        )
    return row


def _fit(args: argparse.Namespace) -> Answer:
    is_toml = args.out is None or args.out.endswith(".toml")
    require(is_toml, "--out", args.out, "a file that ends in .toml")
    fits = [fit_stock(snapshots) for snapshots in snapshots_of(args.files)]
    if args.out is not None:
        write_whole(Path(args.out), measured_toml(fits).encode())
        log.info("the models are in %s: market=%s", args.out, args.out)
    for fit in fits:
        apart, width = fit.polls.drift_pct
        if abs(apart) > width:
            log.warning(
                "%s drifts: %+.0f ± %.0f points in its share of Low stock, from the"
                " days of the first half to those of the second; one fit describes"
                " neither",
                *(fit.stock.gpu, apart, width),
            )
    rows = [_goodness(fit) for fit in fits]
    later = [_goodness(fit.later) for fit in fits if fit.later]
    heads = [
        "snapshots | model: mean runs, hours, shares, %, and correlations of the status"
    ]
    heads += ["the second half of the snapshots | the model of the first"] * bool(later)
    shown = [
        _table(head, [_beside(row) for row in half])
        for head, half in zip(heads, (rows, later))
    ]
    return formatted(
        args,
        document(", ".join(map(str, args.files)), rows, second_halves=later),
        rows,
        lambda: shown,
    )


def _beside(row: Row) -> Row:
    """Return a row with figures of the data and of the model in one cell."""
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
    """Return a row that compares the stock model of a GPU type with the data."""
    polls, stock = fit.polls, fit.stock
    row: Row = {
        "type": stock.gpu,
        "persistence_s": stock.persistence_s,
        "switch_s": stock.switch_s,
        "first_share": stock.first_share,
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


def _table(title: str, rows: Sequence[Row], digits: int = 2) -> Table:
    shown = [name for name in rows[0] if not name.endswith("_half_width")]
    cells = [
        [_cell(row[name], digits) + _error(row, name) for name in shown] for row in rows
    ]
    return Table(title, [shown, *cells])


def _cell(value: Any, digits: int = 2) -> str:
    if isinstance(value, float):
        return f"{value:,.{digits}f}" if isfinite(value) else "-"
    return str(value)


def _error(row: Row, name: str) -> str:
    half = row.get(f"{name}_half_width")
    return f" ± {half:.2f}" if half is not None and isfinite(half) else ""


ACTIONS = {"report": _report, "fit": _fit}
MARKET_ARGUMENTS = [
    argument(
        "action ACTION",
        "report: shares, prices, runs, gaps, correlations, and shares by hour, per"
        " type; fit: probabilities by hour and persistence per type, goodness of fit,"
        " and whether the halves of the file differ",
        choices=[*ACTIONS],
    ),
    argument(
        "files FILE",
        "snapshots: JSON of spot traces, JSON lines of GPU offers, or CSV; also"
        " gzipped",
        nargs="+",
    ),
    argument(
        "--out FILE",
        "report: draw FILE.png and FILE.svg, and write their data; fit: write the"
        " models to FILE.toml, for market=FILE.toml",
        type=to_stem,
    ),
]


# ---- replay of a log ----

REPLAY_ARGUMENTS = [
    argument("trace LOG", "a log of jobs, plain or gzipped"),
    words_argument(
        "parameters of cluster, as in cluster=4x8 or log.window=2020-01-01:2020-02-01;"
        " cgrsp parameters cluster lists them"
    ),
    policies_option("all whose columns the log has"),
    argument(
        "--what-if NAME=VALUE",
        "also simulate a change: nodes=4 (four more nodes),"
        " scheduler=easy:depth=10, placement=pack or kill_at_limit=true;"
        " may be repeated",
        action="append",
        default=[],
    ),
]


def replayed(args: argparse.Namespace, path: str) -> tuple[Worded, Replay]:
    """Replay the log of a path under the policies of the options."""
    changes = vars(args).get("what_if", ())
    # before the log is read
    check_policies_of(args, ClusterScenario)
    for change in changes:
        changed(ClusterScenario(), "", change)
    worded = Worded("cluster", [f"trace={path}", *args.words])
    scenario = worded.single(args.verb)
    # each is simulated, and called twice at each of two moments per job
    calls = 5 * scenario.jobs * len(args.policies or (*SCHEDULERS, *ORDERED))
    check_work(args, calls, kept=scenario.jobs)
    for change in changes:
        changed(scenario, "", change)  # raises InputError before the replay
    return worded, replay(scenario, args.policies)


def _replay(args: argparse.Namespace) -> Answer:
    worded, result = replayed(args, args.trace)
    rows, names = result.rows, result.explained_by
    changes = result.what_if(args.what_if)
    content = document(
        result.scenario.name,
        rows,
        parameters={**worded.parameters, "placement": result.scenario.placement},
        alternatives=[row["scheduler"] for row in rows],
        best=names[0] if len(names) == 1 else None,
        explained_by=names,
        unexplained_pct=100 * result.unexplained if result.agreement else None,
        what_if=changes,
    )
    evaluated = {row["what_if"] for row in changes}
    present = [
        f"what-if {text} is the present value"
        for text in args.what_if
        if (names or "recorded" not in result.waits_s) and text not in evaluated
    ]
    lines = (result.scenario.name, result.moved, verdict(result), result.left_out)
    tables = [
        Table(
            "\n".join(filter(None, (*lines, *present))),
            cells_of(rows, short_text),
            subject_of(result.scenario).report.note,
        )
    ]
    tables += [Table("what if", cells_of(changes, short_text))] if changes else []
    return formatted(args, content, [*rows, *changes], lambda: tables)


def verdict(replay: Replay) -> str:
    """Describe which scheduler explains a log, or why none does."""
    recorded_s, names = replay.waits_s.get("recorded"), replay.explained_by
    if not replay.agreement:
        reason = "no job waited"
        if recorded_s is None:
            reason = "the log records no starts"
        elif (recorded_s > 0).any():
            reason = (
                "no moment of the log can be judged, because jobs hardly waited or"
                " their recorded starts do not fit the cluster"
            )
        return f"{reason}: no scheduler agrees more than another"
    judged = len(next(iter(replay.agreement.values())))
    if not names:
        return (
            f"no scheduler explains this log: none agrees with at least"
            f" {100 * FLOOR:.0f} % of {many(judged, 'moment', ',')} and gives the"
            f" recorded waits; {100 * replay.unexplained:.0f} % of these remain"
            " unexplained"
        )
    return (
        f"{'tie: ' * (len(names) > 1)}{', '.join(names)} explain"
        f"{'s' * (len(names) == 1)} this log, judged at {many(judged, 'moment', ',')};"
        f" simulated with placement {replay.scenario.placement}"
    )


# ---- results directories, and small files to try out commands ----

# modules with classes of a configuration, each imported when its name is looked up
CLASSES = (cg.Scenario, cg.cluster, cg.dag, cg.hgsp, cg.spot, cg.waiting, later)


VERIFY_ARGUMENTS = [
    argument("directory DIR", "results directory of a command with --out"),
    argument(
        "--sample N",
        "number of tasks to run again (default: %(default)s)",
        type=number_of("--sample", int, least=1),
        default=5,
    ),
    argument(
        "--seed N", "seed of the sample (default: %(default)s)", type=SEED, default=0
    ),
    argument(
        "--run-code", "import the policy files listed in DIR, which runs their code"
    ),
]


def _verify(args: argparse.Namespace) -> Answer:
    """Report the number of tasks reproduced; status 1 if one was not."""
    out = Path(args.directory)
    thesis: dict[str, Again] = {
        "thesis": lambda entries, _, out: run_tables(
            entries["tables"], entries["replications"], None, out
        )
    }
    check = verify(out, args.sample, args.seed, args.run_code, thesis)
    if check.differing:
        number = f"{len(check.differing)} of {len(check.tasks)}"
        return Answer(
            f"{out}: task {check.differing[0]} gave another result ({number})", 1
        )
    tasks = many(len(check.tasks), "task")
    return Answer(f"{out}: {tasks} run again, with identical results")


SAMPLE_ARGUMENTS = [
    argument("file FILE.csv", "file to write; an existing file is not overwritten"),
    argument(
        "scenario SCENARIO",
        "hgsp or hgsp:LEVEL, to write its tasks instead of a log (default: a log"
        " of 600 jobs over two days)",
        nargs="?",
    ),
    words_argument("parameters of the level, such as source.tasks=50"),
    argument("--seed N", "seed of the tasks (default: 0)", type=SEED),
]


def _sample(args: argparse.Namespace) -> Answer:
    file = Path(args.file)
    require(file.suffix == ".csv", "FILE.csv", args.file, "a file that ends in .csv")
    if args.scenario is not None:
        return _tasks(args, file)
    require(
        args.seed is None,
        "--seed",
        args.seed,
        "omitted: it applies only to the scenario hgsp",
    )
    text = (files("cgrsp_simpy") / "data" / "studio.csv").read_bytes()
    if not (file.is_file() and file.read_bytes() == text):
        require(
            not is_there(file),
            "FILE.csv",
            args.file,
            "a file that does not exist yet, or this log",
        )
        write_whole(file, text)
    columns, *jobs = text.decode().splitlines()
    return Answer(f"{file}: {len(jobs)} generated jobs; columns {columns}")


def _tasks(args: argparse.Namespace, file: Path) -> Answer:
    scenario = Worded(args.scenario, args.words).single("sample")
    is_hgsp = isinstance(scenario, Scenario)
    require(is_hgsp, "scenario", args.scenario, "hgsp or hgsp:LEVEL")
    require(not is_there(file), "FILE.csv", args.file, "a file that does not exist yet")
    instance = subject_of(scenario).draw(args.seed or 0)
    write_instance(instance, file)
    hours = instance.arrival_s[-1] / 3600
    gpus = ", ".join(gpu.name for gpu in instance.gpus)
    return Answer(
        f"{file}: {many(instance.tasks, 'task')} over {hours:.1f} h for {gpus}"
    )


COMMANDS = {
    "replay": Command(REPLAY_ARGUMENTS, _replay),
    "market": Command(MARKET_ARGUMENTS, _market),
    "verify": Command(VERIFY_ARGUMENTS, _verify, formats=()),
    "sample": Command(SAMPLE_ARGUMENTS, _sample, formats=()),
}
