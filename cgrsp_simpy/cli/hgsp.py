"""Weighted tardiness on GPUs of different speed: generate, solve and compare instances; LLM inference requests; figures."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cgrsp_simpy.analysis.statistics import mean, paired_difference
from cgrsp_simpy.cli.options import Answer, add_gallery, gallery_of
from cgrsp_simpy.cli.watch import add_watching, check_watching, draw, watch
from cgrsp_simpy.hgsp.generate import LEVELS, Level, generate
from cgrsp_simpy.hgsp.instance import CLUSTERS, Instance, cluster, read_instance, read_orlib, write_instance
from cgrsp_simpy.hgsp.llm import OWNED, table_two
from cgrsp_simpy.hgsp.llm import SCHEDULERS as LLM_SCHEDULERS
from cgrsp_simpy.hgsp.llm import simulate as simulate_llm
from cgrsp_simpy.hgsp.llm_requests import WEIGHTS, LlmCluster, read_requests
from cgrsp_simpy.hgsp.reality import Way, trials, ways
from cgrsp_simpy.hgsp.simulation import Simulation, Uncertainty
from cgrsp_simpy.hgsp.solve import SCHEDULERS, SEEDED, Limits, Solution, scheduler_of, solve
from cgrsp_simpy.model.checks import InputError, check_one_of, check_whole, require
from cgrsp_simpy.model.table import aligned, csv_text, json_text

log = logging.getLogger(__name__)

PLANNED = ("gpu_number", "start_s", "finish_s")
COMPARED = ("weighted_tardiness", "dmr_pct", "act_s", "makespan_s", "utilisation_pct", "gap_pct", "seconds")
MEASURED = ("weighted_tardiness", "act_s", "dmr_pct", "makespan_s", "utilisation_pct")
WAYS = (
    "A plan is frozen: it is made ahead with every arrival known, and its order is carried out. With --replan it is made anew of"
    " what has arrived and not started. A rule (wspt, edd, atc) can be asked online, as tasks arrive; so is one's own policy, a"
    " function of a view in a file (own.py:function). Service times are log-normal about the planned ones."
)
RESPONSE = "wait: from arrival to start. response: from arrival to completion, which the paper calls waiting."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    make = actions.add_parser("generate", help="tasks of a load level, into a CSV file")
    one = actions.add_parser("solve", help="one instance by one scheduler")
    every = actions.add_parser("compare", help="schedulers on the same instances, as planned or not", epilog=WAYS)
    watched = actions.add_parser("run", help="one scheduler's plan against reality, event by event if asked for", epilog=WAYS)
    requests = actions.add_parser(
        "llm", help="LLM inference requests under FIFO and WSRPT: the printed workload, or a log", epilog=f"{RESPONSE} {OWNED}"
    )
    drawn = actions.add_parser(
        "figures",
        help="the paper's figures and tables: PNG, SVG, and the CSV of what is plotted",
        epilog="figures: gantt, gantt_window, comparison, table1, utilisation, annealing, table2",
    )
    make.add_argument("--out", required=True, metavar="FILE", help="the CSV file")
    for action in (one, watched):
        action.add_argument("--scheduler", required=True, metavar="NAME", help=f"{', '.join(SCHEDULERS)}, or own.py:function")
    every.add_argument(
        "--schedulers", default="fifo,greedy,sagreedy,annealing,atc", metavar="NAME,NAME", help="default: %(default)s"
    )
    every.add_argument("--instances", type=int, default=1, metavar="N", help="generated ones, of seeds --seed on (default: 1)")
    for action in (make, one, every, watched):
        _add_level(action)
    for action in (one, every, watched):
        _add_instance(action)
        _add_search(action)
    for action in (every, watched):
        _add_reality(action)
    add_watching(watched)
    for action in (one, watched):
        action.add_argument(
            "--format", choices=("table", "csv", "json"), default="table", help="figures; csv: where and when each task runs"
        )
    for action in (every, requests):
        action.add_argument("--format", choices=("table", "csv", "json"), default="table", help="default: %(default)s")
    _add_llm(requests)
    add_gallery(drawn, "figures/hgsp")


def _add_llm(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--trace", metavar="FILE", help="a CSV of TIMESTAMP, ContextTokens, GeneratedTokens")
    parser.add_argument("--weight", metavar="LAW", help=f"of a log's requests: {' or '.join(WEIGHTS)} (default: equal)")
    parser.add_argument("--gpus", type=int, metavar="N", help="of a log's cluster (default: 16)")
    parser.add_argument("--tensor", type=int, metavar="N", help="GPUs that a log's request claims at once (default: 2)")
    parser.add_argument("--strict", action="store_true", help="refuse a log with bad rows")


def _add_level(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("a generated instance")
    group.add_argument("--level", metavar="NAME", help=f"{', '.join(LEVELS)}; its parts can be replaced by these:")
    group.add_argument("--tasks", type=int, metavar="N", help="number of tasks")
    group.add_argument("--load", type=float, metavar="R", help="offered work over the speed of all GPUs")
    group.add_argument("--slack", metavar="A:B", help="least and greatest time to the deadline, in times on an A30")
    group.add_argument("--seed", type=int, metavar="N", help="of the instance and of the search (default: 0)")
    parser.add_argument("--cluster", metavar="NAME", help=f"{', '.join(CLUSTERS)} (default: the level's, else small)")


def _add_instance(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("an instance from a file")
    group.add_argument(
        "--instance", metavar="FILE", help="CSV of workload, memory_gb, deadline_s, weight, arrival_s; task, if any, names them"
    )
    group.add_argument("--skip-unfit", action="store_true", help="leave out tasks that fit on no GPU instead of refusing them")
    group.add_argument("--orlib", metavar="FILE", help="a weighted tardiness file of the OR-Library")
    group.add_argument(
        "--size", type=int, metavar="N", help="tasks of each instance in it (known of wt40.txt, wt50.txt, wt100.txt)"
    )
    group.add_argument("--index", type=int, metavar="N", help="of the instance in it, from 1 (default: 1)")
    group.add_argument("--machines", type=int, metavar="N", help="identical; due dates are divided by it (default: 1)")


def _add_search(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("search")
    group.add_argument("--moves", type=int, metavar="N", help="moves of the annealing; the same answer each time")
    group.add_argument("--time-budget", type=float, metavar="S", help="seconds of the annealing (default: 10) or the MILP (60)")


def _add_reality(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reality")
    group.add_argument("--noise", type=float, metavar="CV", help="coefficient of variation of service times (default: 0)")
    group.add_argument("--delay", type=float, metavar="S", help="provisioning delay before each task, seconds (default: 0)")
    group.add_argument("--unknown-arrivals", action="store_true", help="no frozen plans: tasks are known when they arrive")
    group.add_argument("--replan", type=float, metavar="S", help="plan anew every so many seconds what has not started")


def carry_out(given: argparse.Namespace) -> Answer:
    """What the action answers, in the format asked for."""
    return ACTIONS[given.action](given)


# ---- instances ----


def _level(given: argparse.Namespace) -> Level | str:
    check_one_of("load level", given.level, LEVELS)
    usual = LEVELS[given.level]
    own = {name: getattr(given, name) for name in ("tasks", "load", "cluster") if getattr(given, name) is not None}
    if given.slack is not None:
        own["slack"] = _slack(given.slack)
    return Level(**{**vars(usual), **own}) if own else str(given.level)


def _slack(text: str) -> tuple[float, float]:
    try:
        least, greatest = map(float, text.split(":"))
    except ValueError:
        raise InputError(f"--slack(={text!r}) must be two numbers, such as 1:2") from None
    return least, greatest


# Option -> the sources of an instance on which it acts; the same for schedulers.
_OF_SOURCE = {
    **dict.fromkeys(("tasks", "load", "slack"), ("level",)),
    "cluster": ("level", "instance"),
    "skip_unfit": ("instance",),
    **dict.fromkeys(("size", "index", "machines"), ("orlib",)),
}
_OF_SCHEDULER = {"moves": ("annealing",), "time_budget": ("annealing", "milp"), "replan": tuple(SCHEDULERS)}


def _check_options(given: argparse.Namespace, schedulers: Sequence[str]) -> None:
    """Raise InputError for several sources or none, and for an option without effect beside the others."""
    sources = [name for name in ("level", "instance", "orlib") if getattr(given, name) is not None]
    require(len(sources) == 1, "sources of the instance", sources, "one of --level, --instance and --orlib")
    for option, owners in _OF_SOURCE.items():
        if _is_given(given, option) and sources[0] not in owners:
            raise _without_effect(option, f"--{sources[0]}", [f"--{name}" for name in owners])
    owned = _OF_SCHEDULER if given.level is not None or _is_given(given, "noise") else {**_OF_SCHEDULER, "seed": SEEDED}
    for option, owners in owned.items():
        if _is_given(given, option) and not set(schedulers) & set(owners):
            raise _without_effect(option, ", ".join(schedulers), owners)


def _is_given(given: argparse.Namespace, option: str) -> bool:
    value = getattr(given, option, None)
    return value is not None and value is not False  # 0 is a value


def _without_effect(option: str, beside: str, owners: Sequence[str]) -> InputError:
    return InputError(f"--{option.replace('_', '-')} has no effect beside {beside}; it goes with {' or '.join(owners)}")


def _instance(given: argparse.Namespace, seed: int) -> Instance:
    if given.orlib is not None:
        index, machines = (1 if value is None else value for value in (given.index, given.machines))
        return read_orlib(given.orlib, index, machines, given.size)
    if given.instance is not None:
        return read_instance(given.instance, cluster(given.cluster or "small"), skip_unfit=given.skip_unfit)
    return generate(_level(given), seed)


def _seed(given: argparse.Namespace) -> int:
    return 0 if given.seed is None else int(given.seed)


# ---- answers ----


def _generate(given: argparse.Namespace) -> Answer:
    require(given.level is not None, "--level", None, f"one of {', '.join(LEVELS)}")
    instance = generate(_level(given), _seed(given))
    write_instance(instance, given.out)
    gpus = ", ".join(gpu.name for gpu in instance.gpus)
    log.info("%d tasks over %.1f h for %s", instance.tasks, instance.arrival_s[-1] / 3600, gpus)
    return Answer(given.out)


def _solve(given: argparse.Namespace) -> Answer:
    scheduler_of(given.scheduler)
    _check_options(given, [given.scheduler])
    solution = _solved(given, given.scheduler, _instance(given, _seed(given)), _seed(given))
    if given.format == "json":
        return Answer(json_text(solution.figures))
    if given.format == "csv":
        return Answer(csv_text(solution.schedule.rows()).rstrip("\n"))
    return Answer("\n".join(f"{name:18} {_told(value):>14}" for name, value in solution.figures.items()))


def _solved(given: argparse.Namespace, scheduler: str, instance: Instance, seed: int) -> Solution:
    return solve(instance, scheduler, seed=seed, moves=given.moves, time_budget_s=given.time_budget)


def _compare(given: argparse.Namespace) -> Answer:
    names = given.schedulers.split(",")
    for name in names:
        scheduler_of(name)
    require(len(set(names)) == len(names), "--schedulers", given.schedulers, "names that differ")
    check_whole("--instances", given.instances, least=1)
    several = given.level is not None or given.noise
    require(given.instances == 1 or several, "--instances", given.instances, "1, unless --level generates them or --noise varies")
    _check_options(given, names)
    seeds = range(_seed(given), _seed(given) + given.instances)
    if _is_uncertain(given):
        return _compared_in_reality(given, names, seeds)
    rows = []
    for seed in seeds:
        instance = _instance(given, seed)
        rows += [{"seed": seed, **_solved(given, name, instance, seed).figures} for name in names]
    if given.format == "csv":
        return Answer(csv_text(rows).rstrip("\n"))
    return _compared(given, rows, COMPARED)


def _compared(given: argparse.Namespace, rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> Answer:
    """Rows of schedulers and seeds: the means of some columns, and of several instances paired differences."""
    names = list(dict.fromkeys(row["scheduler"] for row in rows))
    columns = {name: {key: [row[key] for row in rows if row["scheduler"] == name] for key in keys} for name in names}
    means = {name: {key: _mean(values) for key, values in each.items()} for name, each in columns.items()}
    if given.format == "json":
        return Answer(json_text({"instances": given.instances, "schedulers": means}))
    text = aligned([["scheduler", *keys], *([name, *map(_told, each.values())] for name, each in means.items())])
    if given.instances > 1:
        first, *others = columns
        width = max(10, *map(len, columns))
        text += ["", f"weighted tardiness, difference from {first}, paired by instance (95 %)"]
        for name in others:
            found = paired_difference(columns[name]["weighted_tardiness"], columns[first]["weighted_tardiness"])
            text.append(f"{name:{width}} {_told(found.mean)} ± {_told(found.half_width)}, p = {found.p:.2g}")
    return Answer("\n".join(text))


def _mean(values: Sequence[float | None]) -> float | None:
    """Of the gap: None if an instance has no bound; a mean of the others would be of other instances for each scheduler."""
    known = [value for value in values if value is not None]
    return mean(known).mean if len(known) == len(values) else None


# ---- reality ----


def _is_uncertain(given: argparse.Namespace) -> bool:
    return any(_is_given(given, option) for option in ("noise", "delay", "unknown_arrivals", "replan"))


def _limits(given: argparse.Namespace, seed: int) -> Limits:
    return Limits(seed, given.moves, given.time_budget)


def _uncertainty(given: argparse.Namespace, seed: int) -> Uncertainty:
    return Uncertainty(given.noise or 0.0, given.delay or 0.0, seed)


def _ways(given: argparse.Namespace, scheduler: str) -> list[Way]:
    limits = _limits(given, _seed(given))
    return ways(scheduler, limits, unknown_arrivals=given.unknown_arrivals, replan_s=given.replan)


def _compared_in_reality(given: argparse.Namespace, names: Sequence[str], seeds: Sequence[int]) -> Answer:
    """Every scheduler in each way that is open to it, on the same instances with the same draws."""
    found, rows = [_ways(given, name) for name in names], []
    for seed in seeds:
        instance = _instance(given, seed)
        for each in found:
            for trial in trials(instance, each, _uncertainty(given, seed), _limits(given, seed)):
                figures = {"planned_weighted_tardiness": trial.planned.weighted_tardiness, **trial.measured.metrics}
                rows.append({"seed": seed, "scheduler": str(trial.way), **figures})
    if given.format == "csv":
        return Answer(csv_text(rows).rstrip("\n"))
    return _compared(given, rows, ("planned_weighted_tardiness", *MEASURED))


def _run(given: argparse.Namespace) -> Answer:
    check_watching(given)
    found = _ways(given, given.scheduler)
    way = next((way for way in found if way.replan_s), found[-1 if given.unknown_arrivals else 0])
    _check_options(given, [given.scheduler])
    seed = _seed(given)
    instance, limits, uncertainty = _instance(given, seed), _limits(given, seed), _uncertainty(given, seed)
    plan = scheduler_of(given.scheduler)(instance, limits).schedule
    policy = way.policy(plan, limits)
    measured = watch(given, lambda listener: Simulation(instance, policy, uncertainty, listener))
    draw(given, measured)
    if given.format == "csv":
        times = zip(measured.rows(), plan.rows())
        return Answer(csv_text([{**row, **{f"planned_{key}": own[key] for key in PLANNED}} for row, own in times]).rstrip("\n"))
    figures = {"planned": plan.metrics, "measured": measured.metrics}
    if given.format == "json":
        return Answer(json_text({"instance": instance.name, "scheduler": str(way), **figures}))
    title = f"{instance.name}, {way}, noise {uncertainty.noise:g}, delay {uncertainty.delay_s:g} s"
    lines = [[name, *(_told(each[name]) for each in figures.values())] for name in plan.metrics]
    return Answer("\n".join([title, *aligned([["", *figures], *lines])]))


def _llm(given: argparse.Namespace) -> Answer:
    for option in ("weight", "gpus", "tensor", "strict"):
        if given.trace is None and _is_given(given, option):
            raise _without_effect(option, "the printed workload", ["--trace"])
    rows = table_two() if given.trace is None else _served(given)
    if given.format == "json":
        return Answer(json_text({"rows": rows}))
    if given.format == "csv":
        return Answer(csv_text(rows).rstrip("\n"))
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [[_told(row[key]) if row.get(key) is not None else "-" for key in columns] for row in rows]
    return Answer("\n".join([*aligned([columns, *lines]), "", RESPONSE, OWNED]))


def _served(given: argparse.Namespace) -> list[dict[str, Any]]:
    gpus = 2 if given.tensor is None else given.tensor
    requests = read_requests(given.trace, weight=given.weight or "equal", gpus=gpus, strict=given.strict)
    cluster = LlmCluster(16 if given.gpus is None else given.gpus)
    modes = [(name, waves) for waves in (False, True) for name in LLM_SCHEDULERS]
    return [
        {
            "scheduler": name,
            "mode": "waves" if waves else "work-conserving",
            **simulate_llm(requests, cluster, name, waves=waves).metrics,
        }
        for name, waves in modes
    ]


def _figures(given: argparse.Namespace) -> Answer:
    from cgrsp_simpy.hgsp.figures import FIGURES, draw_figures  # matplotlib, for this command alone

    ids, executor = gallery_of(given, FIGURES)
    return Answer("\n".join(map(str, draw_figures(given.out, ids, style=given.style, executor=executor))))


def _told(value: Any) -> str:
    if value is None:
        return "no bound known"
    if not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


ACTIONS: dict[str, Callable[[argparse.Namespace], Answer]] = {
    "generate": _generate,
    "solve": _solve,
    "compare": _compare,
    "run": _run,
    "llm": _llm,
    "figures": _figures,
}
