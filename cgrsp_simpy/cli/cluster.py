"""Multi-GPU clusters: compare schedulers, run one, the paper's table, figures."""

from __future__ import annotations

import argparse
import logging
import re
from pathlib import Path
from typing import Any

from cgrsp_simpy.base.checks import InputError, check_whole, read_as, require
from cgrsp_simpy.base.files import write_whole
from cgrsp_simpy.base.policy import READERS, pairs
from cgrsp_simpy.base.table import aligned
from cgrsp_simpy.cli.fields import add_fields, checked, fields_of, given_of
from cgrsp_simpy.cli.options import (
    FORMATTED,
    Answer,
    add_log,
    add_options,
    add_study,
    cells_of,
    check_work,
    executor_of,
    formatted,
    policies_of,
    reading_of,
    refuse,
    seeds_of,
    short_text,
)
from cgrsp_simpy.cli.pattern import Module, add_actions
from cgrsp_simpy.cluster.cluster import PAPER_CLUSTER, PLACEMENTS, Cluster
from cgrsp_simpy.cluster.jobs import Jobs, Mix, Offered
from cgrsp_simpy.cluster.logs import cluster_of, jobs_of, read_cluster, schedule_text
from cgrsp_simpy.cluster.metrics import by_class
from cgrsp_simpy.cluster.paper import table
from cgrsp_simpy.cluster.policies import COMPARED, SCHEDULERS, make_scheduler
from cgrsp_simpy.cluster.replay import Replay, replay
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.logs import read_log
from cgrsp_simpy.studies.subject import subject_of

log = logging.getLogger(__name__)
CENSORED = "their waits depend on where the jobs end"
OVERRUN = (
    "easy expects such a job to end at once, conservative to run as long again; the"
    " others look at waiting jobs only"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = add_actions(
        parser,
        MODULE,
        {
            "run": "one scheduler: figures, waits by class, or one row per job",
            "compare": "schedulers on the same jobs: means, intervals, paired tests",
            "sweep": (
                "schedulers at every point of a grid: load, jobs, warm_up, after,"
                " placement, kill_at_limit, or scheduler:parameter"
            ),
        },
    )
    swf = "write the schedule, in the Standard Workload Format"
    add_options(actions.choices["run"], ("--swf FILE", str, swf))
    told = (
        "Table II, published and reproduced, over offered loads, and the paper's claims"
    )
    printed = actions.add_parser("table", help=told)
    add_study(printed, 10, out=False)
    printed.set_defaults(carry_out=_table)
    loads = ",".join(f"{load:g}" for load in table.LOADS)
    add_options(printed, ("--loads R,R", str, "%(default)s", loads))
    told = "a log under schedulers: which one matches the records, and what-if changes"
    replayed = actions.add_parser("replay", help=told, description=told)
    _add_log(replayed, needed=True)
    change = (
        "also nodes=4 (so many more), scheduler=easy:depth=10, placement=pack or"
        " kill_at_limit=true"
    )
    names = (
        f"{', '.join(SCHEDULERS)}, or own.py:function (default: all that the log has"
        " columns for)"
    )
    add_options(replayed, ("--policies P,P", str, names))
    replayed.add_argument(
        "--what-if", metavar="A=X", action="append", default=[], help=change
    )
    replayed.set_defaults(carry_out=_replay, formats=FORMATTED)


def _add_source(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("scenario: jobs of the paper's mix, or of a log")
    add_fields(group, Offered, jobs="or the first of a log")
    _add_log(group)


def _add_log(group: argparse._ActionsContainer, *, needed: bool = False) -> None:
    add_log(group, own=fields_of(jobs_of, "skip_wide"), needed=needed)
    nodes = (
        "nodes x GPUs, as 4x8,2x4, or a CSV file of nodes: gpus, cores, memory_gb,"
        " gpu_type, partition (default: that of an SWF log, else 8x8)"
    )
    add_options(
        group,
        ("--cluster NxG", checked(_cluster), nodes),
        (
            "--qos A=N,B=N",
            checked(_ranks),
            "priorities of the log's qualities of service",
        ),
    )
    add_fields(group, Scenario, "placement", "kill_at_limit", placement=PLACEMENTS)


def _scenario(args: argparse.Namespace) -> Scenario:
    source, cluster = _offered(args)
    scenario = Scenario(source, cluster, **given_of(args, "placement", "kill_at_limit"))
    if args.action not in ("run", "replay") and args.policies is None:
        _warn_of_left_out(scenario)
    return scenario


def _warn_of_left_out(scenario: Scenario) -> None:
    """Warn of schedulers that need columns that the log does not have."""
    needs = [
        f"{name} (needs {' and '.join(columns)})"
        for name in COMPARED
        if (columns := scenario.shortage(make_scheduler(name)))
    ]
    if needs:
        said = "%s lacks columns that these schedulers need; they are left out: %s"
        log.warning(said, scenario.offered, ", ".join(needs))


def _more(run: Run, args: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Return waits by class and the effect of overruns; write a requested schedule."""
    if args.swf is not None:
        write_whole(Path(args.swf), schedule_text(run).encode())
    classes, lines, jobs = by_class(run), list[str](), run.jobs
    if not run.plan.settled:
        lines.append(f"{run.policy} is {run.report.infinite}")
    elif found := int(run.summary()["censored"]):
        lines.append(f"{found} jobs had not started when the last one came: {CENSORED}")
    longer = int((jobs["estimate_s"] < jobs["duration_s"]).sum())
    if longer and not jobs["killed"].any():
        lines.append(f"{longer} jobs run longer than their estimates: {OVERRUN}")
    return "\n".join([*lines, *_lined(classes)]), {"classes": classes}


MODULE = Module(
    Scenario,
    _add_source,
    _scenario,
    figures="cgrsp_simpy.cluster.paper.figures",
    more=_more,
)


def _cluster(text: str) -> Cluster:
    """Return nodes from "8x8" or "4x8,2x4", or of a CSV file."""
    if re.search(r"\.csv(\.gz)?$", text):
        return read_cluster(text)
    sizes: list[int] = []
    for part in text.split(","):
        number, _, gpus = part.partition("x")
        if not (number.isdecimal() and gpus.isdecimal()):
            raise InputError(
                f"cluster(={text!r}) must be nodes x GPUs, such as 8x8 or 4x8,2x4"
            )
        check_whole("number of nodes", int(number), least=1, most=100_000)
        sizes += [int(gpus)] * int(number)
    return Cluster(tuple(sizes))


def _offered(args: argparse.Namespace) -> tuple[Offered | Jobs, Cluster]:
    """Return the jobs and their cluster."""
    first = getattr(args, "jobs", None)
    if first is not None:
        check_whole("--jobs", first, least=1)
    cluster = args.cluster or PAPER_CLUSTER
    if args.trace is None:
        refuse(args, "given with --trace", "log", "qos")
        own = given_of(args, "load", "jobs", "warm_up", "after")
        # only these jobs by default
        if getattr(args, "show", None):
            own = {"warm_up": 0, "after": 0} | own
        return Offered(Mix(**args.mix or {}), **own), cluster
    refuse(args, "given without --trace", "load", "mix", "warm_up", "after")
    reading = reading_of(args, "skip_wide")
    skip_wide = reading.pop("skip_wide", False)
    found = read_log(args.trace, **reading)
    if args.cluster is None and (told := cluster_of(found)):
        said = "%s: its header has %d processors on %d nodes, which are taken as GPUs"
        log.info(said, args.trace, told.gpus, len(told.sizes))
        cluster = told
    jobs = jobs_of(found, cluster, skip_wide=skip_wide, qos=args.qos)
    if first is not None:
        jobs = jobs.chosen(range(min(first, jobs.jobs)), jobs.name)
    return jobs, cluster


def _ranks(text: str) -> dict[str, float]:
    """Parse numbers by name, as in "high=100,normal=10"."""
    return pairs(
        text.split(","), lambda _: READERS[float], "name=number, such as high=100"
    )


def _replay(args: argparse.Namespace) -> Answer:
    scenario = _scenario(args)
    policies = None if args.policies is None else policies_of(args.policies)
    # each is simulated, and called twice at each of two moments per job
    check_work(
        args, 5 * scenario.jobs * len(policies or SCHEDULERS), kept=scenario.jobs
    )
    found = replay(scenario, policies)
    rows, changes = found.rows, found.what_if(args.what_if)
    named = {
        "scenario": scenario.name,
        "placement": found.scenario.placement,
        "best": found.best,
    }
    tables = {"schedulers": rows, "what_if": changes}

    def text() -> str:
        judged = len(found.agreement[found.best]) if found.best else 0
        agrees = (
            f"{found.best} agrees most often with what was recorded, at {judged:,}"
            f" moments; simulated with placement {found.scenario.placement}"
        )
        none = f"{_unjudged(found)}: no scheduler agrees more than another"
        parts = [[scenario.name, agrees if found.best else none], _lined(rows)]
        return "\n".join(
            "\n".join(part)
            for part in [*parts, _lined(changes), [subject_of(scenario).report.note]]
            if any(part)
        )

    return formatted(args, {**named, **tables}, [*rows, *changes], text)


def _unjudged(found: Replay) -> str:
    """Explain why no moment of a replayed log is judged."""
    recorded_s = found.waits_s.get("recorded")
    if recorded_s is None:
        return "the log records no starts"
    if not (recorded_s > 0).any():
        return "no job waited"
    return (
        "no moment of the log can be judged, because jobs hardly waited or their"
        " recorded starts do not fit the cluster"
    )


def _lined(rows: list[dict[str, Any]]) -> list[str]:
    """Format rows as a table below an empty line."""
    return ["", *aligned(cells_of(rows, short_text))] if rows else []


def _table(args: argparse.Namespace) -> Answer:
    loads, seeds = _loads(args.loads), seeds_of(args)
    schedulers = len(table.STATIC + table.DYNAMIC)
    check_work(args, 3 * table.JOBS * schedulers * len(loads) * len(seeds))
    found = table.studies(loads, seeds, executor=executor_of(args))
    rows, tested = table.rows(found), table.claims(found)
    verdicts = {
        setting: {
            figure: {
                kind: table.verdict(tested, figure, kind, setting)
                for kind in ("mean", "best")
            }
            for figure in table.CLAIMS
        }
        for setting in table.SETTINGS
    }
    values = {"rows": rows, "claims": tested, "verdicts": verdicts}
    return formatted(args, values, rows, lambda: _table_text(rows, verdicts))


def _table_text(rows: list[dict[str, Any]], verdicts: dict[str, Any]) -> str:
    columns = [name for figure in table.FIGURES for name in (figure, "printed")]
    heading = ["scheduler", "load", "", "", *columns]
    lines = [
        *aligned([heading, *([*map(short_text, _shown(row))] for row in rows)]),
        "",
        (
            "cut: 1,000 jobs and none after them, as in the paper; uncut: jobs go on"
            " arriving"
        ),
        "*: the load whose utilisation, cut, is closest to the printed one",
        "",
        *table.implied(),
        "",
    ]
    lines += [
        f"{setting}: dynamic beats static on {figure}: {both['mean']} (means);"
        f" {both['best']} (worst dynamic, best static)"
        for setting, own in verdicts.items()
        for figure, both in own.items()
    ]
    return "\n".join(lines)


def _shown(row: dict[str, Any]) -> list[Any]:
    figures = [
        value
        for figure in table.FIGURES
        for value in (row[figure], row[f"published_{figure}"])
    ]
    near = "*" if row["closest"] else ""
    return [row["scheduler"], row["load"], row["setting"], near, *figures]


def _loads(text: str) -> list[float]:
    told = f"--loads(={text!r}) must be numbers > 0, such as 0.6,0.9"
    loads = [read_as(float, part, told) for part in text.split(",")]
    fit = len(set(loads)) == len(loads) and min(loads) > 0
    require(fit, "--loads", text, "numbers > 0 that differ")
    return loads
