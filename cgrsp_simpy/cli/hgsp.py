"""Weighted tardiness on GPUs of different speed: generate, solve and compare instances; LLM
inference requests; figures.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterable
from typing import Any

from cgrsp_simpy.cli import llm, pattern
from cgrsp_simpy.cli.options import (
    Answer,
    add_also,
    add_format,
    add_options,
    add_yes,
    check_work,
    policies_of,
    refuse_idle,
    those_given,
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
from cgrsp_simpy.hgsp.reality import OWNERS
from cgrsp_simpy.hgsp.rules import RULES
from cgrsp_simpy.hgsp.scenario import Scenario, plan_of, schedule_of
from cgrsp_simpy.hgsp.schedulers import SCHEDULERS, SEEDED
from cgrsp_simpy.model.checks import InputError, check_number, check_one_of, require
from cgrsp_simpy.model.parameters import in_file
from cgrsp_simpy.model.table import aligned, csv_text, json_text
from cgrsp_simpy.studies.sweep import scenarios_of

log = logging.getLogger(__name__)

USUAL = "tasks1"
WAYS = (
    "A plan is frozen: it is made ahead with every arrival known, and its order is carried out."
    " With --replan, or name:replan_s=60, it is made anew of what has arrived and not started."
    " A rule (wspt, edd, atc) can be asked online, as tasks arrive (atc:online=true);"
    " so is one's own policy, a function of a view in a file (own.py:function). Service times"
    " are log-normal about the planned ones. Where reality is not as planned, each scheduler is"
    " compared in all ways open to it."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add_actions(
        actions,
        TASKS,
        {
            "run": "one scheduler's plan against reality, event by event if asked for",
            "compare": (
                "schedulers on the same tasks, as planned or not: means, intervals, paired tests"
            ),
            "sweep": (
                "schedulers at every point of a grid: noise, delay_s, tasks, load,"
                " or scheduler:parameter"
            ),
        },
    )
    for name in ("run", "compare", "sweep"):
        actions.choices[name].epilog = WAYS
    for name in ("compare", "sweep"):
        add_also(actions.choices[name], {"--instances": "seeds", "--seed": "first_seed"})
    make = actions.add_parser("generate", help="tasks of a load level, into a CSV file")
    make.add_argument("--out", required=True, metavar="FILE", help="the CSV file")
    one = actions.add_parser("solve", help="one instance by one scheduler")
    names = f"{', '.join(SCHEDULERS)}, or own.py:function"
    one.add_argument("--scheduler", required=True, metavar="NAME", help=names)
    for action in (make, one):
        _add_level(action)
        add_options(action, ("--seed N", int, "of the instance and the search (default: 0)", 0))
    _add_instance(one)
    _add_search(one)
    add_yes(one)
    told = "LLM inference requests: the printed workload, or a log; all schedulers, or one"
    llm.add_table(actions.add_parser("llm", help=told))
    add_format(one, "figures; csv: where and when each task runs")


def _add_tasks(parser: argparse.ArgumentParser) -> None:
    _add_level(parser)
    _add_instance(parser)
    _add_search(parser)
    group = parser.add_argument_group("reality")
    add_options(
        group,
        ("--noise CV", float, "coefficient of variation of service times (default: 0)"),
        ("--delay S", float, "provisioning delay before each task, seconds (default: 0)"),
        ("--unknown-arrivals", bool, "no frozen plans: tasks are known when they arrive"),
        ("--replan S", float, "plan anew every so many seconds what has not started"),
    )


def _add_level(parser: argparse.ArgumentParser) -> None:
    levels = f"{', '.join(LEVELS)} (default: {USUAL}); its parts can be replaced by these:"
    clusters = (
        f"{', '.join(CLUSTERS)}, or a CSV of name, memory_gb, speed, or TOML of [[gpu]]"
        " (default: the level's, else small)"
    )
    add_options(
        parser.add_argument_group("a generated instance"),
        ("--level NAME", str, levels),
        ("--tasks N", int, "number of tasks"),
        ("--load R", float, "offered work over the speed of all GPUs"),
        ("--slack A:B", str, "least and greatest time to the deadline, in times on an A30"),
        ("--cluster NAME", str, clusters),
    )


def _add_instance(parser: argparse.ArgumentParser) -> None:
    file = "CSV of workload, memory_gb, deadline_s, weight, arrival_s; task, if any, names them"
    size = "tasks of each instance in it (known of wt40.txt, wt50.txt, wt100.txt)"
    add_options(
        parser.add_argument_group("an instance from a file"),
        ("--instance FILE", str, file),
        ("--skip-unfit", bool, "leave out tasks that fit on no GPU instead of refusing them"),
        ("--orlib FILE", str, "a weighted tardiness file of the OR-Library"),
        ("--size N", int, size),
        ("--index N", int, "of the instance in it, from 1 (default: 1)"),
        ("--machines N", int, "identical; due dates are divided by it (default: 1)"),
    )


def _add_search(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("search")
    moves = "moves of the annealing; the same answer each time"
    add_options(group, ("--moves N", int, moves))
    group.add_argument(
        "--seconds",
        "--time-budget",
        dest="seconds",
        type=float,
        metavar="S",
        help="seconds of the annealing (default: 10) or the MILP (60)",
    )


def carry_out(given: argparse.Namespace) -> Answer:
    """What the action answers, in the format asked for."""
    own = ACTIONS.get(given.action)
    return own(given) if own else pattern.carry_out(given, TASKS)


# ---- options ----


def _level(given: argparse.Namespace) -> Level | str:
    name = USUAL if given.level is None else given.level
    check_one_of("load level", name, LEVELS)
    own = those_given(given, {"tasks": "tasks", "load": "load"})
    if given.cluster is not None:
        own["cluster"] = given.cluster if given.cluster in CLUSTERS else cluster(given.cluster)
    if given.slack is not None:
        own["slack"] = _slack(given.slack)
    return Level(**{**vars(LEVELS[name]), **own}) if own else str(name)


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
_OF_SCHEDULER = {
    "moves": OWNERS["moves"],
    "seconds": OWNERS["seconds"],
    "replan": OWNERS["replan_s"],
}


def _check_options(given: argparse.Namespace, schedulers: Iterable[str]) -> None:
    """Raise InputError for several sources, and for an option without effect beside the others."""
    every = {name: name for name in ("level", "instance", "orlib")}
    sources = list(those_given(given, every)) or ["level"]
    allowed = "one of --level, --instance and --orlib"
    require(len(sources) == 1, "sources of the instance", sources, allowed)
    refuse_idle(given, _OF_SOURCE, sources, f"--{sources[0]}", "--")
    open_to = {
        option: [name for name in schedulers if not _says(name, option)] for option in _OF_SCHEDULER
    }
    for option, names in open_to.items():
        bases = [name.partition(":")[0] for name in names]
        refuse_idle(given, {option: _OF_SCHEDULER[option]}, bases, ", ".join(schedulers))


def _says(scheduler: str, option: str) -> bool:
    """Whether a scheduler's text says itself what an option would."""
    words = ("replan_s=", "online=") if option == "replan" else ("moves=", "seconds=")
    return any(word in scheduler for word in words)


def _source(given: argparse.Namespace) -> str | Level | Instance:
    if given.orlib is not None:
        index, machines = (1 if value is None else value for value in (given.index, given.machines))
        return read_orlib(given.orlib, index, machines, given.size)
    if given.instance is not None:
        gpus = cluster("small" if given.cluster is None else given.cluster)
        return read_instance(given.instance, gpus, skip_unfit=given.skip_unfit)
    return _level(given)


def _scenario(given: argparse.Namespace) -> Scenario:
    """What the options name; the schedulers of a comparison are those of all ways that
    are open to them.
    """
    several = given.action != "run"
    if given.replan is not None:
        check_number("--replan", given.replan, above=0)
    named = policies_of(given.policies or "") if several else [given.policy]
    _check_options(
        given, named if named != [""] else [name.partition(":")[0] for name in Scenario.compared]
    )
    reality = (given.noise or 0.0, given.delay or 0.0, given.unknown_arrivals)
    scenario = Scenario(_source(given), *reality, moves=given.moves, seconds=given.seconds)
    _check_seeds(given, scenario)
    if several and (any(reality) or given.replan is not None):
        names = scenario.default_policies() if given.policies is None else named
        given.policies = ",".join(way for name in names for way in _ways(name, given))
    elif given.replan is not None:
        given.policy = _with(given.policy, f"replan_s={given.replan:.12g}")
    return scenario


def _check_seeds(given: argparse.Namespace, scenario: Scenario) -> None:
    """Raise InputError for seeds without effect."""
    drawn = (
        scenarios_of(scenario, pattern.grid_of(given.grid), pattern.policies_given(given, scenario))
        if given.action == "sweep"
        else [scenario]
    )
    if any(each.is_random for each in drawn):
        return
    if given.action == "run":
        _check_seed(given, given.policy)
        return
    once = given.seeds in (1, TASKS.seeds) and given.first_seed == 0
    allowed = "left out, unless --level generates tasks or --noise varies"
    require(once, "--seeds", (given.first_seed, given.seeds), allowed)


def _check_seed(given: argparse.Namespace, scheduler: str) -> None:
    """Raise InputError for a seed of a given instance that the scheduler does not use."""
    searched = scheduler.partition(":")[0] in SEEDED
    allowed = f"0 here; it goes with {' or '.join(SEEDED)}"
    require(given.seed == 0 or searched, "--seed", given.seed, allowed)


def _ways(scheduler: str, given: argparse.Namespace) -> list[str]:
    """The ways open to a scheduler: frozen, if arrivals are known; planned anew, if asked for;
    online, if it is a rule.
    """
    name = scheduler.partition(":")[0]
    if in_file(scheduler) or _says(scheduler, "replan"):
        return [scheduler]
    found = [] if given.unknown_arrivals else [scheduler]
    if given.replan is not None and name in OWNERS["replan_s"]:
        found.append(_with(scheduler, f"replan_s={given.replan:.12g}"))
    if name in RULES:
        found.append(_with(scheduler, "online=true"))
    return found or [scheduler]


def _with(scheduler: str, parameter: str) -> str:
    return f"{scheduler}{',' if ':' in scheduler else ':'}{parameter}"


# ---- answers ----


def _more(run: Run, _: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """The plan beside what was measured."""
    figures = {"planned": plan_of(run).metrics, "measured": schedule_of(run).metrics}
    if run.scenario.is_certain and not run.plan.way.replan_s:
        return "", figures
    names = figures["planned"]
    lines = [[name, *(_told(each[name]) for each in figures.values())] for name in names]
    return "\n".join(["", *aligned([["", *figures], *lines])]), figures


TASKS = Module(
    Scenario,
    _add_tasks,
    _scenario,
    figures="cgrsp_simpy.hgsp.figures",
    more=_more,
    options={"delay_s": "delay", "replan_s": "replan"},
)


def _generate(given: argparse.Namespace) -> Answer:
    require(given.level is not None, "--level", None, f"one of {', '.join(LEVELS)}")
    instance = generate(_level(given), given.seed)
    write_instance(instance, given.out)
    gpus = ", ".join(gpu.name for gpu in instance.gpus)
    log.info("%d tasks over %.1f h for %s", instance.tasks, instance.arrival_s[-1] / 3600, gpus)
    return Answer(given.out)


def _solve(given: argparse.Namespace) -> Answer:
    Scenario().make_policy(given.scheduler)
    _check_options(given, [given.scheduler])
    scenario = Scenario(_source(given), moves=given.moves, seconds=given.seconds)
    if not scenario.is_random:
        _check_seed(given, given.scheduler)
    check_work(given, scenario.work, kept=scenario.jobs)
    run = scenario.run(given.scheduler, given.seed)
    figures = {**run.summary(), "scheduler": given.scheduler, "seconds": run.plan.seconds}
    if given.format == "json":
        return Answer(json_text(figures))
    if given.format == "csv":
        return Answer(csv_text(schedule_of(run).rows()).rstrip("\n"))
    return Answer("\n".join(f"{name:18} {_told(value):>14}" for name, value in figures.items()))


def _told(value: Any) -> str:
    if value != value:
        return "no bound known"
    if not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


ACTIONS: dict[str, Callable[[argparse.Namespace], Answer]] = {
    "generate": _generate,
    "solve": _solve,
    "llm": llm.table,
}
