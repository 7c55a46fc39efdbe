"""Weighted tardiness on GPUs: generate, solve and compare instances; figures."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from cgrsp_simpy.base.checks import InputError, check_one_of, require
from cgrsp_simpy.base.policy import in_file
from cgrsp_simpy.base.table import aligned
from cgrsp_simpy.cli.fields import (
    Field,
    add_fields,
    checked,
    fields_of,
    fields_text,
    flag,
    given_of,
    named_pairs,
)
from cgrsp_simpy.cli.options import (
    FORMATTED,
    Answer,
    add_options,
    add_study,
    cells_of,
    check_work,
    executor_of,
    formatted,
    policies_of,
    seeds_of,
    short_text,
)
from cgrsp_simpy.cli.pattern import Module, add_actions
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.hgsp.generate import LEVELS, Level, generate
from cgrsp_simpy.hgsp.instance import (
    CLUSTERS,
    Instance,
    cluster,
    read_instance,
    read_orlib,
    write_instance,
)
from cgrsp_simpy.hgsp.paper.table import PRINTED, table_one
from cgrsp_simpy.hgsp.policies import OWNERS, SCHEDULERS, SEEDED
from cgrsp_simpy.hgsp.report import plan_of, schedule_of
from cgrsp_simpy.hgsp.rules import RULES
from cgrsp_simpy.hgsp.scenario import Scenario
from cgrsp_simpy.studies.subject import subject_of

log = logging.getLogger(__name__)

USUAL = "tasks1"
WAYS = (
    "A frozen plan is made in advance with all arrivals known, and its order is kept."
    " With --replan-s, or name:replan_s=60, tasks that have arrived and not started are"
    " replanned. A rule (wspt, edd, atc) can decide online, as tasks arrive"
    " (atc:online=true), as does your own policy, a function of a view in a file"
    " (own.py:function). Service times are log-normal with the planned means. If the"
    " simulation can differ from the plan, each scheduler is compared in all its ways."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = add_actions(
        parser,
        TASKS,
        {
            "run": "one scheduler's plan against reality, event by event if asked for",
            "compare": (
                "schedulers on the same tasks, as planned or not: means, intervals,"
                " paired tests"
            ),
            "sweep": (
                "schedulers at every point of a grid: noise, delay_s, tasks, load,"
                " or scheduler:parameter"
            ),
        },
    )
    for name in ("run", "compare", "sweep"):
        actions.choices[name].epilog = WAYS
    make = actions.add_parser("generate", help="tasks of a load level, into a CSV file")
    make.add_argument("--out", required=True, metavar="FILE", help="the CSV file")
    _add_level(make)
    make.set_defaults(carry_out=_generate)
    told = "the paper's Table I by cell: printed, computed, and whether they agree"
    table = actions.add_parser("table", help=told, description=f"{told}.")
    folder = (
        "with the authors' tasks1.csv to tasks4.csv; else tasks1 and tasks2 are of"
        " their laws"
    )
    add_options(table, ("--tasks FOLDER", str, folder))
    add_study(table, 40, out=False)
    table.set_defaults(carry_out=_table)
    printed = (
        "some of fifo,greedy,sagreedy (default: all; sagreedy takes minutes without the"
        " extra fast)"
    )
    add_options(table, ("--policies P,P", str, printed))
    one = actions.add_parser("solve", help="one instance by one scheduler")
    names = f"{', '.join(SCHEDULERS)}, or own.py:function"
    one.add_argument("--policy", required=True, metavar="P", help=names)
    _add_source(one)
    add_fields(one, Scenario, "moves", "seconds")
    # csv: where and when each task runs
    one.set_defaults(carry_out=_solve, formats=FORMATTED)
    for action in (make, one):
        add_options(
            action, ("--seed N", int, "of the instance and the search (default: 0)", 0)
        )


OF_LEVEL = fields_of(Level)
OF_INSTANCE = {
    "cluster": OF_LEVEL["cluster"]._replace(default="small"),
    "skip_unfit": Field("skip_unfit", bool, "leave out tasks that fit on no GPU"),
}
OF_ORLIB = {
    "index": Field("index", int, "of the instance in it, from 1", 1),
    "machines": Field("machines", int, "identical; due dates are divided by it", 1),
    "tasks": Field(
        "tasks", int, "of each instance in it (known of wt40.txt, wt50.txt, wt100.txt)"
    ),
}
OF_SCHEDULER = ("moves", "seconds", "replan_s")
REALITY = ("noise", "delay_s", "unknown_arrivals", *OF_SCHEDULER)


def _add_tasks(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "scenario: tasks, and in what reality differs from the plans"
    )
    _add_source(group)
    add_fields(group, Scenario, *REALITY)


def _add_source(parser: argparse._ActionsContainer) -> None:
    _add_level(parser)
    file = (
        "CSV of workload, or time_s:GPU for each GPU, memory_gb, deadline_s, weight,"
        " arrival_s; task, if any, names them"
    )
    _add_named(parser, "--instance FILE:A=X", file, OF_INSTANCE)
    orlib = "a weighted tardiness file of the OR-Library"
    _add_named(parser, "--orlib FILE:A=X", orlib, OF_ORLIB)


def _add_level(parser: argparse._ActionsContainer) -> None:
    told = f"{', '.join(LEVELS)} (default: {USUAL}), and what is otherwise"
    _add_named(parser, "--level NAME:A=X", told, OF_LEVEL)


def _add_named(
    parser: argparse._ActionsContainer,
    usage: str,
    told: str,
    known: Mapping[str, Field],
) -> None:
    text = f"{told}; with {', '.join(known)}\n{fields_text(known)}"
    add_options(parser, (usage, checked(partial(named_pairs, known)), text))


# ---- options ----


def _level(args: argparse.Namespace) -> Level | str:
    name, own = (USUAL, {}) if args.level is None else args.level
    check_one_of("load level", name, LEVELS)
    if "cluster" in own and own["cluster"] not in CLUSTERS:
        own = {**own, "cluster": cluster(own["cluster"])}
    return Level(**{**vars(LEVELS[name]), **own}) if own else str(name)


def _check_options(args: argparse.Namespace, schedulers: Sequence[str]) -> None:
    """Raise InputError for several sources, or an option that no scheduler uses."""
    sources = list(given_of(args, "level", "instance", "orlib"))
    allowed = "one of --level, --instance and --orlib"
    require(len(sources) < 2, "sources of the instance", sources, allowed)
    for option in given_of(args, *OF_SCHEDULER):
        open_to = {
            name.partition(":")[0] for name in schedulers if not _says(name, option)
        }
        if open_to.isdisjoint(OWNERS[option]):
            raise InputError(
                f"{flag(option)} has no effect with {', '.join(schedulers)}; it goes"
                f" with {' or '.join(OWNERS[option])}"
            )


def _says(scheduler: str, option: str) -> bool:
    """Whether a scheduler's text already sets an option."""
    words = ("replan_s=", "online=") if option == "replan_s" else ("moves=", "seconds=")
    return any(word in scheduler for word in words)


def _source(args: argparse.Namespace) -> str | Level | Instance:
    if args.orlib is not None:
        path, own = args.orlib
        return read_orlib(path, **own)
    if args.instance is not None:
        path, own = args.instance
        gpus = cluster(own.get("cluster", "small"))
        return read_instance(path, gpus, skip_unfit=own.get("skip_unfit", False))
    return _level(args)


def _scenario(args: argparse.Namespace) -> Scenario:
    """Return the scenario of the options.

    The schedulers of a comparison are tried in all ways open to them.
    """
    several = args.action != "run"
    named = policies_of(args.policies or "") if several else [args.policy]
    usual = [name.partition(":")[0] for name in Scenario.compared]
    _check_options(args, usual if named == [""] else named)
    # several are replanned in addition to the frozen plans
    own = REALITY[:-1] if several else REALITY
    scenario = Scenario(_source(args), **given_of(args, *own))
    reality = (scenario.noise, scenario.delay_s, scenario.unknown_arrivals)
    if not several and not subject_of(scenario).is_random:
        _check_seed(args, args.policy)
    if several and (any(reality) or args.replan_s is not None):
        names = (
            subject_of(scenario).default_policies() if args.policies is None else named
        )
        args.policies = ",".join(way for name in names for way in _ways(name, args))
    return scenario


def _check_seed(args: argparse.Namespace, scheduler: str) -> None:
    """Raise InputError for a seed of an instance that the scheduler does not use."""
    searched = scheduler.partition(":")[0] in SEEDED
    allowed = f"0 here; it goes with {' or '.join(SEEDED)}"
    require(args.seed == 0 or searched, "--seed", args.seed, allowed)


def _ways(scheduler: str, args: argparse.Namespace) -> list[str]:
    """Return the ways of a scheduler: frozen plan, replanned, or online for a rule."""
    name, sign = scheduler.partition(":")[0], "," if ":" in scheduler else ":"
    if in_file(scheduler) or _says(scheduler, "replan_s"):
        return [scheduler]
    ways = [] if args.unknown_arrivals else [scheduler]
    if args.replan_s is not None and name in OWNERS["replan_s"]:
        ways.append(f"{scheduler}{sign}replan_s={args.replan_s:.12g}")
    if name in RULES:
        ways.append(f"{scheduler}{sign}online=true")
    return ways or [scheduler]


# ---- answers ----


def _more(run: Run, _: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """Compare the plan with the simulated run."""
    figures = {"planned": plan_of(run).metrics, "measured": schedule_of(run).metrics}
    if run.scenario.is_certain and not run.plan.planner.replan_s:
        return "", figures
    names = figures["planned"]
    lines = [
        [name, *(_told(each[name]) for each in figures.values())] for name in names
    ]
    return "\n".join(["", *aligned([["", *figures], *lines])]), figures


TASKS = Module(
    Scenario,
    _add_tasks,
    _scenario,
    figures="cgrsp_simpy.hgsp.paper.figures",
    more=_more,
)


def _generate(args: argparse.Namespace) -> Answer:
    require(args.level is not None, "--level", None, f"one of {', '.join(LEVELS)}")
    instance = generate(_level(args), args.seed)
    write_instance(instance, args.out)
    gpus = ", ".join(gpu.name for gpu in instance.gpus)
    log.info(
        "%d tasks over %.1f h for %s",
        instance.tasks,
        instance.arrival_s[-1] / 3600,
        gpus,
    )
    return Answer(args.out)


def _solve(args: argparse.Namespace) -> Answer:
    subject_of(Scenario()).make_policy(args.policy)
    _check_options(args, [args.policy])
    scenario = Scenario(_source(args), **given_of(args, "moves", "seconds"))
    if not subject_of(scenario).is_random:
        _check_seed(args, args.policy)
    check_work(args, subject_of(scenario).work, kept=scenario.jobs)
    run = subject_of(scenario).run(args.policy, args.seed)
    log.info("%s planned for %.3g s", args.policy, run.plan.seconds)
    figures = {**run.summary(), "scheduler": args.policy}
    text = "\n".join(f"{name:18} {_told(value):>14}" for name, value in figures.items())
    return formatted(args, figures, schedule_of(run).rows(), lambda: text)


def _told(value: Any) -> str:
    return short_text(value) if value == value else "no bound known"


def _table(args: argparse.Namespace) -> Answer:
    names = list(dict.fromkeys(scheduler for _, scheduler in PRINTED))
    policies = names if args.policies is None else args.policies.split(",")
    for name in policies:
        check_one_of("policy", name, names)
    rows = table_one(args.tasks, seeds_of(args), policies, executor_of(args))
    lines = aligned(cells_of(rows, _told))
    return formatted(args, {"rows": rows}, rows, lambda: "\n".join(lines))
