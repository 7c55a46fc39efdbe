"""DAGs on GPUs: place a training graph or a workflow, compare schedulers at equal budgets, correlate plans, figures."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from cgrsp_simpy.cli.options import Answer, add_gallery, add_study, answer, gallery_of, policies_of, seeds_of, workers_of
from cgrsp_simpy.cli.watch import add_watching, check_watching, draw, watch
from cgrsp_simpy.dag.bounds import lower_bound_s
from cgrsp_simpy.dag.distance import correlate
from cgrsp_simpy.dag.problem import READINGS, Schedule
from cgrsp_simpy.dag.schedulers import SCHEDULERS, check_scheduler, find
from cgrsp_simpy.dag.search import Budget
from cgrsp_simpy.dag.setting import STATES, Setting, read_graph
from cgrsp_simpy.dag.simulation import Simulation, simulate
from cgrsp_simpy.dag.study import compare, figures_of
from cgrsp_simpy.model.checks import InputError, check_whole, require
from cgrsp_simpy.model.parameters import from_file, in_file
from cgrsp_simpy.model.table import aligned, csv_text, json_text

DEFAULT = "round-robin,heft,annealing,random-search,rtgs,worl-rtgs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    one = actions.add_parser("solve", help="one graph by one or several schedulers: makespans, or where and when each node runs")
    seen = actions.add_parser("run", help="one graph by one scheduler or policy, to be watched: event by event, or drawn")
    every = actions.add_parser("compare", help="schedulers on the same graphs at equal budgets: means, intervals, tests, ranks")
    pairs = actions.add_parser("correlate", help="distance of plans (SPD) and gap of finish times (FTG) of random plans")
    drawn = actions.add_parser("figures", help="the figures: PNG, SVG, and the CSV of what is plotted")
    for action in (one, seen, every, pairs):
        _add_setting(action)
    names = f"{', '.join(SCHEDULERS)}, with parameters as in worl-rtgs:b=1.5,order=rank"
    for action, option in ((one, "--scheduler"), (every, "--schedulers")):
        action.add_argument(option, default=DEFAULT, metavar="S,S", help=f"{names} (default: %(default)s)")
    seen.add_argument("--scheduler", default="heft", metavar="S", help=f"{names}; or own.py:function (default: %(default)s)")
    for action in (one, seen, every):
        action.add_argument("--budget", type=float, metavar="S", help="seconds of each search")
        action.add_argument("--evaluations", type=int, metavar="N", help="plans that each search evaluates (default: 1000)")
    for action in (one, seen, pairs):
        action.add_argument("--seed", type=int, default=0, metavar="N", help="default: %(default)s")
        action.add_argument("--format", choices=("table", "csv", "json"), default="table", help="default: %(default)s")
    add_watching(seen)
    pairs.add_argument("--pairs", type=int, default=1000, metavar="N", help="default: %(default)s")
    pairs.add_argument("--concentration", type=float, metavar="A", help="uneven plans, by a Dirichlet law (default: even ones)")
    add_study(every, number=10)
    add_gallery(drawn, "figures/dag")


def _add_setting(parser: argparse.ArgumentParser) -> None:
    own = Setting()
    group = parser.add_argument_group("what is placed, and on what")
    graphs = "er:n=300,degree=3, training:stages=4, star:n=11, a WfFormat file (.json), or FILE.csv:JOB of Alibaba's batch tasks"
    group.add_argument("--graph", default="er:n=300,degree=3", metavar="G", help=f"{graphs} (default: %(default)s)")
    group.add_argument("--gpus", type=int, default=own.gpus, metavar="N", help="default: %(default)s")
    group.add_argument("--per-server", type=int, default=own.per_server, metavar="N", help="GPUs (default: %(default)s)")
    speeds = ",".join(f"{speed:g}" for speed in own.tflops)
    group.add_argument("--tflops", default=speeds, metavar="C,C", help="speeds, dealt in turn (default: %(default)s)")
    group.add_argument("--memory", type=float, default=own.memory_gb, metavar="GB", help="of a GPU (default: %(default)s)")
    group.add_argument(
        "--intra", type=float, default=own.intra_gb_per_s, metavar="B", help="GB/s in a server (default: %(default)s)"
    )
    group.add_argument("--inter", type=float, default=own.inter_gb_per_s, metavar="B", help="GB/s between (default: %(default)s)")
    group.add_argument("--state", choices=tuple(STATES), default=own.state, help="how much others use (default: %(default)s)")
    group.add_argument("--reading", choices=READINGS, default=own.reading, help="nodes of a GPU at once (default: %(default)s)")


def carry_out(given: argparse.Namespace) -> Answer:
    """What the action answers, in the format asked for."""
    return ACTIONS[given.action](given)


def _setting(given: argparse.Namespace) -> Setting:
    try:
        tflops = tuple(float(part) for part in given.tflops.split(","))
    except ValueError:
        raise InputError(f"--tflops(={given.tflops!r}) must be numbers > 0, such as 19.5,66.9") from None
    sizes = (given.gpus, given.per_server, tflops, given.memory, given.intra, given.inter)
    return Setting(read_graph(given.graph), *sizes, given.state, given.reading)


def _budget(given: argparse.Namespace) -> Budget:
    if given.budget is None and given.evaluations is None:
        return Budget(evaluations=1000)
    return Budget(given.evaluations, given.budget)


def _solve(given: argparse.Namespace) -> Answer:
    check_whole("--seed", given.seed, least=0)
    names, budget = policies_of(given.scheduler), _budget(given)
    for name in names:
        check_scheduler(name)
    if given.format == "csv":
        require(len(names) == 1, "--scheduler", given.scheduler, "one, with --format csv: a row a node")
    setting = _setting(given)
    problem = setting.problem(given.seed)
    found = {name: find(problem, name, budget, given.seed) for name in names}
    schedules = {name: simulate(problem, each.plan) for name, each in found.items()}
    if given.format == "csv":
        return Answer(csv_text(_rows(schedules[names[0]])).rstrip("\n"))
    rows = [{"scheduler": name, **figures_of(found[name], schedules[name])} for name in names]
    if given.format == "json":
        return Answer(json_text({"setting": str(setting), "seed": given.seed, "schedulers": rows}))
    graph = problem.graph
    size = f"{graph.nodes} nodes, {len(graph.edges)} edges, {graph.units} units"
    title = f"{setting}: {size}; no plan ends before {rows[0]['bound_s']:.4g} s"
    shown = ("makespan_s", "over_bound", "evaluations", "seconds")
    cells = [[str(row["scheduler"]), *(f"{row[name]:,.4g}" for name in shown)] for row in rows]
    return Answer("\n".join([title, *aligned([["scheduler", *shown], *cells])]))


def _run(given: argparse.Namespace) -> Answer:
    check_whole("--seed", given.seed, least=0)
    check_watching(given)
    problem = _setting(given).problem(given.seed)
    if in_file(given.scheduler):
        scheduler: Any = from_file("scheduler", given.scheduler)
    else:
        scheduler = find(problem, given.scheduler, _budget(given), given.seed).plan
    schedule = watch(given, lambda listener: Simulation(problem, scheduler, listener))
    draw(given, schedule)
    if given.format == "csv":
        return Answer(csv_text(_rows(schedule)).rstrip("\n"))
    figures = {"makespan_s": schedule.makespan_s, "bound_s": lower_bound_s(problem)}
    if given.format == "json":
        return Answer(json_text({"scheduler": given.scheduler, "seed": given.seed, **figures}))
    return Answer("\n".join(f"{name:12} {value:12.6g}" for name, value in figures.items()))


def _rows(schedule: Schedule) -> list[dict[str, Any]]:
    graph, plan = schedule.problem.graph, schedule.plan
    columns = (graph.names, graph.unit.tolist(), plan.gpu.tolist(), schedule.start_s.tolist(), schedule.finish_s.tolist())
    rows = [dict(zip(("node", "unit", "gpu", "start_s", "finish_s"), row)) for row in zip(*columns)]
    return [{**row, **graph.tags.of(node, row)} for node, row in enumerate(rows)]


def _compare(given: argparse.Namespace) -> Answer:
    names, seeds = policies_of(given.schedulers), seeds_of(given)
    study = compare(_setting(given), names, seeds, _budget(given), workers_of(given), out=given.out)
    found = answer(study, given)
    ranked = given.format == "table" and len(names) > 2 and len(seeds) > 1 and not study.failures
    return Answer(f"{found.text}\n\n{study.ranks_shown()}") if ranked else found


def _correlate(given: argparse.Namespace) -> Answer:
    check_whole("--seed", given.seed, least=0)
    setting = _setting(given)
    found = correlate(setting.problem(given.seed), given.pairs, given.seed, given.concentration)
    if given.format == "csv":
        pairs = zip(found.spd_s.tolist(), found.ftg_s.tolist())
        return Answer(csv_text([{"spd_s": spd, "ftg_s": ftg} for spd, ftg in pairs]).rstrip("\n"))
    told = {
        name: {"coefficient": getattr(found, name), "ci95": getattr(found, f"{name}_ci95")} for name in ("pearson", "spearman")
    }
    if given.format == "json":
        return Answer(json_text({"setting": str(setting), "seed": given.seed, "pairs": given.pairs, **told}))
    lines = [f"{setting}, {given.pairs} pairs of random plans: correlation of SPD and FTG, 95 % interval; published"]
    printed = {"pearson": "0.16 to 0.57, mean 0.46", "spearman": "mean 0.51"}
    for name, value in told.items():
        low, high = value["ci95"]
        lines.append(f"{name:10} {value['coefficient']:6.3f}  [{low:.3f}, {high:.3f}]  {printed[name]}")
    return Answer("\n".join(lines))


def _figures(given: argparse.Namespace) -> Answer:
    from cgrsp_simpy.dag.figures import FIGURES, draw_figures  # matplotlib, for this command alone

    ids, executor = gallery_of(given, FIGURES)
    return Answer("\n".join(map(str, draw_figures(given.out, ids, style=given.style, executor=executor))))


ACTIONS: dict[str, Callable[[argparse.Namespace], Answer]] = {
    "solve": _solve,
    "run": _run,
    "compare": _compare,
    "correlate": _correlate,
    "figures": _figures,
}
