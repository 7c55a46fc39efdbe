"""Multi-GPU clusters: gang scheduling on nodes; compare schedulers, run one, the paper's table, figures."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any

from cgrsp_simpy.cli.options import (
    READING,
    Answer,
    add_by,
    add_gallery,
    add_reading,
    add_study,
    answer,
    by_answer,
    gallery_of,
    policies_of,
    reading_of,
    seeds_of,
    workers_of,
)
from cgrsp_simpy.cli.watch import add_watching, check_watching, draw, watch
from cgrsp_simpy.cluster import table
from cgrsp_simpy.cluster.jobs import PAPER_CLUSTER, Cluster, Jobs
from cgrsp_simpy.cluster.logs import cluster_of, jobs_of, schedule_text
from cgrsp_simpy.cluster.metrics import by, by_class, metrics
from cgrsp_simpy.cluster.mix import Mix, generate
from cgrsp_simpy.cluster.placement import PLACEMENTS
from cgrsp_simpy.cluster.schedulers import SCHEDULERS, make_scheduler
from cgrsp_simpy.cluster.simulation import Outcome, Simulation, lacking
from cgrsp_simpy.cluster.study import Offered, Source, compare
from cgrsp_simpy.logs import read_log
from cgrsp_simpy.model.checks import InputError, check_one_of, check_whole, require
from cgrsp_simpy.model.files import write_whole
from cgrsp_simpy.model.table import aligned, csv_text, json_text

log = logging.getLogger(__name__)
COMPARED = ("fifo", "sjf", "shortest", "shortest-gpu", "hps", "pbs", "sbs", "easy")
OVERRUN = "easy expects such a job to end at once, conservative to run as long again; the others look at waiting jobs only"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    every = actions.add_parser("compare", help="schedulers on the same jobs: means, intervals, paired tests")
    one = actions.add_parser("run", help="one scheduler: figures, waits by class, or a row a job")
    printed = actions.add_parser("table", help="Table II published beside reproduced, over offered loads, and the paper's claims")
    drawn = actions.add_parser("figures", help="the figures: PNG, SVG, and the CSV of what is plotted")
    every.add_argument(
        "--schedulers",
        metavar="S,S",
        help=f"{', '.join(SCHEDULERS)}, with parameters as in hps:monotone=true"
        f" (default: {','.join(COMPARED)}; of a log those whose columns it has), or functions of a view (own.py:widest_first)",
    )
    one.add_argument("--scheduler", default="fifo", metavar="S", help="as in compare (default: %(default)s)")
    one.add_argument("--seed", type=int, default=0, metavar="N", help="default: %(default)s")
    one.add_argument("--format", choices=("table", "csv", "json"), default="table", help="figures; csv: a row a job")
    one.add_argument("--swf", metavar="FILE", help="write the schedule into FILE, in the Standard Workload Format")
    add_by(one)
    for action in (every, one):
        _add_source(action)
    add_watching(one)
    add_study(every, number=10)
    add_study(printed, number=10)
    printed.add_argument("--loads", default=",".join(f"{load:g}" for load in table.LOADS), metavar="R,R", help="%(default)s")
    add_gallery(drawn, "figures/cluster")


def _add_source(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("jobs: of the paper's mix, or of a log")
    group.add_argument("--load", type=float, metavar="R", help="offered load of the mix (default: 0.9)")
    group.add_argument("--jobs", type=int, metavar="N", help="of the mix (default: 1000), or the first of a log")
    group.add_argument("--overestimate", type=float, metavar="F", help="users say up to 1 + F times the duration (default: 0)")
    group.add_argument("--trace", metavar="FILE", help="a log of jobs")
    group.add_argument("--skip-wide", action="store_true", help="leave out jobs wider than the cluster instead of refusing them")
    add_reading(group)
    nodes = "nodes x GPUs, several kinds as 4x8,2x4 (default: as the header of an SWF log tells, else 8x8)"
    group.add_argument("--nodes", metavar="NxG", help=nodes)
    group.add_argument("--placement", default="best", metavar="NAME", help=f"{', '.join(PLACEMENTS)} (default: %(default)s)")
    group.add_argument("--kill-at-limit", action="store_true", help="end a job that has run for its estimate, as Slurm does")


def carry_out(given: argparse.Namespace) -> Answer:
    """What the action answers, in the format asked for."""
    return ACTIONS[given.action](given)


def _cluster(text: str) -> Cluster:
    """Nodes from "8x8" or "4x8,2x4"."""
    sizes: list[int] = []
    for part in text.split(","):
        number, _, gpus = part.partition("x")
        if not (number.isdecimal() and gpus.isdecimal()):
            raise InputError(f"--nodes(={text!r}) must be nodes x GPUs, such as 8x8 or 4x8,2x4")
        sizes += [int(gpus)] * int(number)
    return Cluster(tuple(sizes))


def _offered(given: argparse.Namespace) -> tuple[Source, Cluster]:
    """The jobs, and the cluster that they are to run on."""
    if given.jobs is not None:
        check_whole("--jobs", given.jobs, least=1)
    cluster = PAPER_CLUSTER if given.nodes is None else _cluster(given.nodes)
    if given.trace is None:
        for name in (*READING, "skip_wide"):
            require(not getattr(given, name), f"--{name.replace('_', '-')}", getattr(given, name), "given with --trace")
        own = {"load": given.load, "jobs": given.jobs}
        mix = Mix() if given.overestimate is None else Mix(overestimate=given.overestimate)
        return Offered(mix, **{name: value for name, value in own.items() if value is not None}), cluster
    for name in ("load", "overestimate"):
        require(getattr(given, name) is None, f"--{name}", getattr(given, name), "given without --trace")
    found = read_log(given.trace, given.trace_format, **reading_of(given))
    if given.nodes is None and (told := cluster_of(found)):
        log.info(
            "%s: its header tells %d processors on %d nodes, which are taken for GPUs", given.trace, told.gpus, len(told.sizes)
        )
        cluster = told
    jobs = jobs_of(found, cluster, skip_wide=given.skip_wide)
    return jobs if given.jobs is None else jobs.chosen(range(min(given.jobs, jobs.jobs)), jobs.name), cluster


def _compare(given: argparse.Namespace) -> Answer:
    seeds = seeds_of(given)
    source, cluster = _offered(given)
    if isinstance(source, Jobs):
        seeds = range(1)  # a log has no luck
    schedulers = _compared(source) if given.schedulers is None else policies_of(given.schedulers)
    killed = given.kill_at_limit
    study = compare(source, schedulers, seeds, cluster, given.placement, workers_of(given), kill_at_limit=killed, out=given.out)
    return answer(study, given)


def _compared(source: Source) -> list[str]:
    """The schedulers by default; those that look at what a log does not tell are left out, with a warning."""
    if not isinstance(source, Jobs):
        return list(COMPARED)
    lacks = {name: columns for name in COMPARED if (columns := lacking(source, make_scheduler(name)))}
    if lacks:
        told = ", ".join(f"{name} (needs {' and '.join(columns)})" for name, columns in lacks.items())
        log.warning("%s does not tell what these schedulers look at; they are left out: %s", source.name, told)
    return [name for name in COMPARED if name not in lacks]


def _run(given: argparse.Namespace) -> Answer:
    scheduler = make_scheduler(given.scheduler)
    check_one_of("placement", given.placement, PLACEMENTS)
    check_whole("--seed", given.seed, least=0)
    check_watching(given)
    source, cluster = _offered(given)
    jobs = source if isinstance(source, Jobs) else generate(source.mix, source.jobs, source.load, cluster, given.seed)
    placement, killed = PLACEMENTS[given.placement], given.kill_at_limit
    outcome = watch(given, lambda listener: Simulation(jobs, cluster, scheduler, placement, killed, listener))
    draw(given, outcome)
    rows = None if given.by is None else by(outcome, given.by)
    if given.swf is not None:
        write_whole(Path(given.swf), schedule_text(outcome).encode())
    if rows is not None:
        return by_answer(rows, given)
    if given.format == "csv":
        return Answer(csv_text(_rows(outcome)).rstrip("\n"))
    figures = metrics(outcome)
    if given.format == "json":
        named = {"jobs": jobs.name, "scheduler": given.scheduler, "seed": given.seed}
        return Answer(json_text({**named, "summary": figures, "classes": by_class(outcome)}))
    lines = [f"{jobs.name}, {cluster.gpus} GPUs on {len(cluster.sizes)} nodes, {given.scheduler}"]
    lines += [f"{name:24} {'-' if isnan(value) else f'{value:,.2f}':>16}" for name, value in figures.items()]
    if jobs.underestimated and not given.kill_at_limit:
        lines.append(f"{jobs.underestimated} jobs run longer than their estimates: {OVERRUN}")
    classes = by_class(outcome)
    return Answer("\n".join([*lines, "", *aligned([list(classes[0]), *(list(map(_told, row.values())) for row in classes)])]))


def _rows(outcome: Outcome) -> list[dict[str, Any]]:
    jobs = outcome.jobs
    columns = (jobs.arrival_s, jobs.gpus, jobs.duration_s, jobs.estimate_s, outcome.start_s, outcome.finish_s)
    names = ("arrival_s", "gpus", "duration_s", "estimate_s", "start_s", "finish_s")
    rows = zip(zip(*(column.tolist() for column in columns)), outcome.places)
    told = [
        {"job": number, **dict(zip(names, row)), "nodes": " ".join(f"{node}:{gpus}" for node, gpus in place)}
        for number, (row, place) in enumerate(rows)
    ]
    return [{**row, **jobs.tags.of(number, row)} for number, row in enumerate(told)]


def _table(given: argparse.Namespace) -> Answer:
    require(given.out is None, "--out", given.out, "left out: `compare --out` keeps results")
    found = table.studies(_loads(given.loads), seeds_of(given), executor=workers_of(given))
    rows, tested = table.rows(found), table.claims(found)
    if given.format == "csv":
        return Answer(csv_text(rows).rstrip("\n"))
    verdicts = {figure: {kind: table.verdict(tested, figure, kind) for kind in ("mean", "best")} for figure in table.CLAIMS}
    if given.format == "json":
        return Answer(json_text({"rows": rows, "claims": tested, "verdicts": verdicts}))
    heading = ["scheduler", "load", "", *(name for figure in table.FIGURES for name in (figure, "printed"))]
    lines = aligned([heading, *([*map(_told, _shown(row))] for row in rows)])
    lines += ["", "*: the load whose utilisation is closest to the printed one", "", *table.implied(), ""]
    for figure, both in verdicts.items():
        lines.append(f"dynamic beats static on {figure}: {both['mean']} (means); {both['best']} (worst dynamic, best static)")
    return Answer("\n".join(lines))


def _shown(row: dict[str, Any]) -> list[Any]:
    figures = [value for figure in table.FIGURES for value in (row[figure], row[f"published_{figure}"])]
    return [row["scheduler"], row["load"], "*" if row["closest"] else "", *figures]


def _loads(text: str) -> list[float]:
    try:
        loads = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--loads(={text!r}) must be numbers > 0, such as 0.6,0.9") from None
    require(len(set(loads)) == len(loads) and min(loads) > 0, "--loads", text, "numbers > 0 that differ")
    return loads


def _figures(given: argparse.Namespace) -> Answer:
    from cgrsp_simpy.cluster.figures import FIGURES, draw_figures  # matplotlib, for this command alone

    ids, executor = gallery_of(given, FIGURES)
    return Answer("\n".join(map(str, draw_figures(given.out, ids, style=given.style, executor=executor))))


def _told(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


ACTIONS: dict[str, Callable[[argparse.Namespace], Answer]] = {
    "compare": _compare,
    "run": _run,
    "table": _table,
    "figures": _figures,
}
