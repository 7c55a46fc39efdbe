"""DAGs on GPUs: place a training graph or a workflow, compare schedulers at equal budgets,
correlate plans, figures.
"""

from __future__ import annotations

import argparse
from typing import Any

from cgrsp_simpy.cli import pattern
from cgrsp_simpy.cli.options import (
    Answer,
    add_format,
    add_options,
    add_yes,
    check_work,
    flag,
    policies_of,
    those_given,
)
from cgrsp_simpy.cli.pattern import Module, add_actions
from cgrsp_simpy.dag.distance import correlate
from cgrsp_simpy.dag.platform import Platform, Servers
from cgrsp_simpy.dag.platform_files import read_platform
from cgrsp_simpy.dag.problem import READINGS
from cgrsp_simpy.dag.ranking import ranks_told
from cgrsp_simpy.dag.scenario import STATES, Scenario
from cgrsp_simpy.dag.schedulers import COMPARED, SCHEDULERS, SEARCHES
from cgrsp_simpy.dag.search import Budget
from cgrsp_simpy.model.checks import InputError, check_whole, require
from cgrsp_simpy.model.shown import progress
from cgrsp_simpy.model.table import aligned, csv_text, json_text

GRAPHS = (
    "er:n=300,degree=3, training:stages=4, star:n=11, a WfFormat file (.json), or FILE.csv:JOB of"
    " Alibaba's batch tasks"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    told = "one graph by one or several schedulers: makespans, or where and when each node runs"
    one = actions.add_parser("solve", help=told)
    told = "distance of plans (SPD) and gap of finish times (FTG) of random plans"
    pairs = actions.add_parser("correlate", help=told)
    add_actions(
        actions,
        MODULE,
        {
            "run": (
                "one graph by one scheduler or policy: figures, or a row a node; event by event,"
                " or drawn"
            ),
            "compare": (
                "schedulers on the same graphs at equal budgets: means, intervals, tests, ranks"
            ),
            "sweep": (
                "schedulers at every point of a grid: gpus, state, reading, budget, ...,"
                " or scheduler:parameter"
            ),
        },
    )
    _add_scenario(one)
    _add_placed(pairs)
    names = (
        f"{', '.join(SCHEDULERS)}, with parameters as in worl-rtgs:b=1.5,order=rank;"
        " or own.py:function"
    )
    one.add_argument(
        "--scheduler",
        "--policies",
        dest="policies",
        default=",".join(COMPARED),
        metavar="S,S",
        help=f"{names} (default: %(default)s)",
    )
    for action in (one, pairs):
        add_options(action, ("--seed N", int, "default: %(default)s", 0))
        add_format(action)
    add_yes(one)
    add_options(
        pairs,
        ("--pairs N", int, "default: %(default)s", 1000),
        ("--concentration A", float, "uneven plans, by a Dirichlet law (default: even ones)"),
    )


# Option -> the parameter of the servers that it gives, in place of the default.
_SERVERS = {
    "gpus": "gpus",
    "per_server": "per_server",
    "tflops": "tflops",
    "memory": "memory_gb",
    "intra": "intra_gb_per_s",
    "inter": "inter_gb_per_s",
}


def _add_placed(parser: argparse.ArgumentParser) -> None:
    own = Servers()
    group = parser.add_argument_group("what is placed, and on what")
    speeds = ",".join(f"{speed:g}" for speed in own.tflops)
    add_options(
        group,
        ("--graph G", str, f"{GRAPHS} (default: %(default)s)", "er:n=300,degree=3"),
        ("--platform FILE", str, "GPUs and links, in TOML or CSV, in place of the servers below"),
        ("--gpus N", int, f"default: {own.gpus}"),
        ("--per-server N", int, f"GPUs (default: {own.per_server})"),
        ("--tflops C,C", str, f"speeds, dealt in turn (default: {speeds})"),
        ("--memory GB", float, f"of a GPU (default: {own.memory_gb:g})"),
        ("--intra B", float, f"GB/s in a server (default: {own.intra_gb_per_s:g})"),
        ("--inter B", float, f"GB/s between (default: {own.inter_gb_per_s:g})"),
    )
    group.add_argument(
        "--state",
        choices=tuple(STATES),
        default="free",
        help="how much others use (default: %(default)s)",
    )
    group.add_argument(
        "--reading",
        choices=READINGS,
        default=READINGS[0],
        help="nodes of a GPU at once (default: %(default)s)",
    )


def _add_scenario(parser: argparse.ArgumentParser) -> None:
    _add_placed(parser)
    add_options(
        parser,
        ("--budget S", float, "seconds of each search"),
        ("--evaluations N", int, "plans that each search evaluates (default: 1000)"),
    )


def carry_out(given: argparse.Namespace) -> Answer:
    """What the action answers, in the format asked for."""
    own = {"solve": _solve, "correlate": _correlate}.get(given.action)
    return own(given) if own else pattern.carry_out(given, MODULE)


def _placed(given: argparse.Namespace, **more: Any) -> Scenario:
    return Scenario(given.graph, _platform(given), given.state, given.reading, **more)


def _platform(given: argparse.Namespace) -> Servers | Platform:
    own = those_given(given, _SERVERS)
    if given.platform is not None:
        for option, name in _SERVERS.items():
            if name in own:
                why = "the file tells of all GPUs and links"
                raise InputError(f"{flag(option)} goes without --platform: {why}")
        return read_platform(given.platform)
    if given.tflops is not None:
        try:
            own["tflops"] = tuple(float(part) for part in given.tflops.split(","))
        except ValueError:
            allowed = "numbers > 0, such as 19.5,66.9"
            raise InputError(f"--tflops(={given.tflops!r}) must be {allowed}") from None
    return Servers(**own)


def _scenario(given: argparse.Namespace) -> Scenario:
    limits = {"evaluations": given.evaluations, "seconds": given.budget}
    if limits == {"evaluations": None, "seconds": None}:
        return _placed(given)
    budget = Budget(**limits)
    texts = [given.policy] if given.action == "run" else COMPARED
    if given.action != "run" and given.policies is not None:
        texts = policies_of(given.policies)
    if not any(text.partition(":")[0] in SEARCHES for text in texts):
        option = "--budget" if given.evaluations is None else "--evaluations"
        raise InputError(f"{option} goes with a search: {', '.join(SEARCHES)}")
    return _placed(given, budget=budget)


MODULE = Module(
    Scenario,
    _add_scenario,
    _scenario,
    figures="cgrsp_simpy.dag.figures",
    beside=ranks_told,
    options={name: option for option, name in _SERVERS.items()},
)


def _solve(given: argparse.Namespace) -> Answer:
    check_whole("--seed", given.seed, least=0)
    names = policies_of(given.policies)
    if given.format == "csv":
        allowed = "one, with --format csv: a row a node"
        require(len(names) == 1, "--scheduler", given.policies, allowed)
    scenario = _scenario(given)
    made = {name: scenario.make_policy(name) for name in names}
    problem = scenario.draw(given.seed)
    check_work(given, scenario.work * len(names), per_s=scenario.pace_per_s, done="placed")
    runs = {
        name: scenario.run(policy, given.seed, drawn=problem)
        for name, policy in progress(made.items(), unit=" schedulers")
    }
    if given.format == "csv":
        return Answer(csv_text(runs[names[0]].rows()).rstrip("\n"))
    rows = [{"scheduler": name, **run.summary()} for name, run in runs.items()]
    if given.format == "json":
        return Answer(json_text({"setting": str(scenario), "seed": given.seed, "schedulers": rows}))
    graph = problem.graph
    size = f"{graph.nodes} nodes, {len(graph.edges)} edges, {graph.units} units"
    title = f"{scenario}: {size}; no plan ends before {rows[0]['bound_s']:.4g} s"
    cells = [
        [str(row["scheduler"]), *(f"{row[name]:,.4g}" for name in scenario.shown)] for row in rows
    ]
    return Answer("\n".join([title, *aligned([["scheduler", *scenario.shown], *cells])]))


def _correlate(given: argparse.Namespace) -> Answer:
    check_whole("--seed", given.seed, least=0)
    scenario = _placed(given)
    found = correlate(scenario.draw(given.seed), given.pairs, given.seed, given.concentration)
    if given.format == "csv":
        pairs = zip(found.spd_s.tolist(), found.ftg_s.tolist())
        return Answer(csv_text([{"spd_s": spd, "ftg_s": ftg} for spd, ftg in pairs]).rstrip("\n"))
    told = {
        name: {"coefficient": getattr(found, name), "ci95": getattr(found, f"{name}_ci95")}
        for name in ("pearson", "spearman")
    }
    if given.format == "json":
        return Answer(
            json_text({"setting": str(scenario), "seed": given.seed, "pairs": given.pairs, **told})
        )
    lines = [
        f"{scenario}, {given.pairs} pairs of random plans: correlation of SPD and FTG,"
        " 95 % interval; published"
    ]
    printed = {"pearson": "0.16 to 0.57, mean 0.46", "spearman": "mean 0.51"}
    for name, value in told.items():
        low, high = value["ci95"]
        lines.append(
            f"{name:10} {value['coefficient']:6.3f}  [{low:.3f}, {high:.3f}]  {printed[name]}"
        )
    return Answer("\n".join(lines))
