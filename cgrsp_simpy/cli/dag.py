"""DAGs on GPUs: place a training graph or a workflow, compare schedulers at equal
budgets, correlate plans, figures.
"""

from __future__ import annotations

import argparse
import logging
from typing import Any

from cgrsp_simpy.base.checks import InputError, check_whole, require
from cgrsp_simpy.base.table import aligned, progress
from cgrsp_simpy.cli.fields import add_fields, add_pairs, fields_of, given_of, pairs_of
from cgrsp_simpy.cli.options import (
    FORMATTED,
    Answer,
    add_options,
    check_work,
    formatted,
    policies_of,
)
from cgrsp_simpy.cli.pattern import Module, add_actions
from cgrsp_simpy.dag.paper.distance import correlate
from cgrsp_simpy.dag.paper.ranking import ranking_text
from cgrsp_simpy.dag.platform import Servers, read_platform
from cgrsp_simpy.dag.policies import COMPARED, SCHEDULERS, SEARCHES, is_search
from cgrsp_simpy.dag.scenario import Scenario
from cgrsp_simpy.dag.search import Budget
from cgrsp_simpy.studies.subject import subject_of

log = logging.getLogger(__name__)

GRAPHS = (
    "er:n=300,degree=3, training:stages=4, star:n=11, a WfFormat file (.json), or"
    " FILE.csv:JOB of Alibaba's batch tasks"
)
SERVERS = fields_of(Servers)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = add_actions(
        parser,
        MODULE,
        {
            "solve": (
                "one graph by one or several schedulers: makespans, or where and when"
                " each node runs"
            ),
            "correlate": (
                "distance of plans (SPD) and gap of finish times (FTG) of random plans"
            ),
            "run": (
                "one graph by one scheduler or policy: figures, or a row a node; event"
                " by event, or drawn"
            ),
            "compare": (
                "schedulers on the same graphs at equal budgets: means, intervals,"
                " tests, ranks"
            ),
            "sweep": (
                "schedulers at every point of a grid: gpus, state, budget, ...,"
                " or scheduler:parameter"
            ),
        },
    )
    one, pairs = actions.choices["solve"], actions.choices["correlate"]
    _add_scenario(one)
    _add_placed(pairs)
    names = (
        f"{', '.join(SCHEDULERS)}, with parameters as in worl-rtgs:b=1.5,order=rank;"
        " or own.py:function"
    )
    add_options(
        one, ("--policies P,P", str, f"{names} (default: {','.join(COMPARED)})")
    )
    for action, own in ((one, _solve), (pairs, _correlate)):
        add_options(action, ("--seed N", int, "default: %(default)s", 0))
        action.set_defaults(carry_out=own, formats=FORMATTED)
    add_options(
        pairs,
        ("--pairs N", int, "default: %(default)s", 1000),
        (
            "--concentration A",
            float,
            "uneven plans, by a Dirichlet law (default: even ones)",
        ),
    )


def _add_placed(parser: argparse.ArgumentParser) -> Any:
    group = parser.add_argument_group("scenario: what is placed, and on what")
    add_options(
        group,
        ("--graph G", str, f"{GRAPHS} (default: %(default)s)", "er:n=300,degree=3"),
    )
    file = "or a file of GPUs and links, in TOML or CSV"
    add_pairs(group, "platform", SERVERS, file, _platform)
    add_fields(group, Scenario, "state")
    return group


def _add_scenario(parser: argparse.ArgumentParser) -> None:
    add_fields(_add_placed(parser), Scenario, "budget")


def _placed(args: argparse.Namespace, **more: Any) -> Scenario:
    platform = args.platform or {}
    made = read_platform(platform) if isinstance(platform, str) else Servers(**platform)
    return Scenario(args.graph, made, **given_of(args, "state"), **more)


def _platform(text: str) -> dict[str, Any] | str:
    return pairs_of(SERVERS, text) if "=" in text else text


def _scenario(args: argparse.Namespace) -> Scenario:
    if args.budget is None:
        return _placed(args)
    budget = Budget(**args.budget)
    named = args.policy if args.action == "run" else args.policies
    if not any(map(is_search, COMPARED if named is None else policies_of(named))):
        raise InputError(f"--budget goes with a search: {', '.join(SEARCHES)}")
    return _placed(args, budget=budget)


MODULE = Module(
    Scenario,
    _add_scenario,
    _scenario,
    figures="cgrsp_simpy.dag.paper.figures",
    beside=ranking_text,
)


def _solve(args: argparse.Namespace) -> Answer:
    check_whole("--seed", args.seed, least=0)
    names = list(COMPARED) if args.policies is None else policies_of(args.policies)
    if args.format == "csv":
        allowed = "one, with --format csv: one row per node"
        require(len(names) == 1, "--policies", names, allowed)
    scenario = _scenario(args)
    made = {name: subject_of(scenario).make_policy(name) for name in names}
    problem = subject_of(scenario).draw(args.seed)
    check_work(
        args,
        subject_of(scenario).work_of(names),
        per_s=subject_of(scenario).pace_per_s,
        done="placed",
    )
    runs = {
        name: subject_of(scenario).run(policy, args.seed, drawn=problem)
        for name, policy in progress(made.items(), unit=" schedulers")
    }
    for name, run in runs.items():
        if solution := run.plan.solution:
            log.info("%s planned for %.3g s", name, solution.seconds)
    rows = [{"scheduler": name, **run.summary()} for name, run in runs.items()]
    values = {"setting": str(scenario), "seed": args.seed, "schedulers": rows}
    graph = problem.graph
    size = f"{graph.nodes} nodes, {len(graph.edges)} edges, {graph.units} units"
    title = f"{scenario}: {size}; no plan ends before {rows[0]['bound_s']:.4g} s"
    cells = [
        [
            str(row["scheduler"]),
            *(f"{row[name]:,.4g}" for name in subject_of(scenario).report.shown),
        ]
        for row in rows
    ]
    lines = [
        title,
        *aligned([["scheduler", *subject_of(scenario).report.shown], *cells]),
    ]
    return formatted(args, values, runs[names[0]].rows(), lambda: "\n".join(lines))


def _correlate(args: argparse.Namespace) -> Answer:
    check_whole("--seed", args.seed, least=0)
    scenario = _placed(args)
    found = correlate(
        subject_of(scenario).draw(args.seed),
        args.pairs,
        args.seed,
        args.concentration,
    )
    told = {
        name: {
            "coefficient": getattr(found, name),
            "ci95": getattr(found, f"{name}_ci95"),
        }
        for name in ("pearson", "spearman")
    }
    values = {
        "setting": str(scenario),
        "seed": args.seed,
        "pairs": args.pairs,
        **told,
    }
    pairs = zip(found.spd_s.tolist(), found.ftg_s.tolist())
    rows = [{"spd_s": spd, "ftg_s": ftg} for spd, ftg in pairs]
    printed = {"pearson": "0.16 to 0.57, mean 0.46", "spearman": "mean 0.51"}
    form = "{:10} {coefficient:6.3f}  [{ci95[0]:.3f}, {ci95[1]:.3f}]  {}"
    lines = [
        (
            f"{scenario}, {args.pairs} pairs of random plans: correlation of SPD and"
            " FTG, 95 % interval; published"
        ),
        *(form.format(name, printed[name], **value) for name, value in told.items()),
    ]
    return formatted(args, values, rows, lambda: "\n".join(lines))
