"""Weighted tardiness on GPUs of different speed: generate, solve and compare instances; LLM
inference requests; figures.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cgrsp_simpy.cli import pattern
from cgrsp_simpy.cli.options import Answer, add_yes, check_work, policies_of
from cgrsp_simpy.cli.pattern import Module, add_actions
from cgrsp_simpy.cli.watch import add_watching
from cgrsp_simpy.hgsp.generate import LEVELS, Level, generate
from cgrsp_simpy.hgsp.instance import (
    CLUSTERS,
    Instance,
    cluster,
    read_instance,
    read_orlib,
    write_instance,
)
from cgrsp_simpy.hgsp.llm import OWNED, table_two
from cgrsp_simpy.hgsp.llm_policies import SCHEDULERS as LLM_SCHEDULERS
from cgrsp_simpy.hgsp.llm_requests import QWEN3, WEIGHTS, LlmCluster, LlmModel, read_requests
from cgrsp_simpy.hgsp.reality import OWNERS
from cgrsp_simpy.hgsp.rules import RULES
from cgrsp_simpy.hgsp.schedulers import SCHEDULERS, SEEDED
from cgrsp_simpy.hgsp.serving import Requests
from cgrsp_simpy.hgsp.study import Setting, Solution
from cgrsp_simpy.model.checks import InputError, check_number, check_one_of, require
from cgrsp_simpy.model.parameters import in_file
from cgrsp_simpy.model.table import aligned, csv_text, json_text

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
RESPONSE = (
    "wait: from arrival to start. response: from arrival to completion, which the paper"
    " calls waiting."
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
        actions.choices[name].add_argument(
            "--instances",
            dest="seeds",
            type=int,
            metavar="N",
            default=argparse.SUPPRESS,
            help="as --seeds",
        )
        actions.choices[name].add_argument(
            "--seed",
            dest="first_seed",
            type=int,
            metavar="N",
            default=argparse.SUPPRESS,
            help="as --first-seed",
        )
    make = actions.add_parser("generate", help="tasks of a load level, into a CSV file")
    make.add_argument("--out", required=True, metavar="FILE", help="the CSV file")
    one = actions.add_parser("solve", help="one instance by one scheduler")
    one.add_argument(
        "--scheduler",
        required=True,
        metavar="NAME",
        help=f"{', '.join(SCHEDULERS)}, or own.py:function",
    )
    for action in (make, one):
        _add_level(action)
        action.add_argument(
            "--seed",
            type=int,
            default=0,
            metavar="N",
            help="of the instance and the search (default: 0)",
        )
    _add_instance(one)
    _add_search(one)
    add_yes(one)
    _add_llm(
        actions.add_parser(
            "llm",
            help="LLM inference requests: the printed workload, or a log; all schedulers, or one",
            epilog=f"{RESPONSE} {OWNED}",
        )
    )
    for action, table in (
        (one, "where and when each task runs"),
        (actions.choices["llm"], "the rows, or a row a request"),
    ):
        choices = ("table", "csv", "json")
        action.add_argument(
            "--format", choices=choices, default="table", help=f"figures; csv: {table}"
        )


def _add_tasks(parser: argparse.ArgumentParser) -> None:
    _add_level(parser)
    _add_instance(parser)
    _add_search(parser)
    group = parser.add_argument_group("reality")
    group.add_argument(
        "--noise",
        type=float,
        metavar="CV",
        help="coefficient of variation of service times (default: 0)",
    )
    group.add_argument(
        "--delay",
        type=float,
        metavar="S",
        help="provisioning delay before each task, seconds (default: 0)",
    )
    group.add_argument(
        "--unknown-arrivals",
        action="store_true",
        help="no frozen plans: tasks are known when they arrive",
    )
    group.add_argument(
        "--replan",
        type=float,
        metavar="S",
        help="plan anew every so many seconds what has not started",
    )


def _add_llm(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trace", metavar="FILE", help="a CSV of TIMESTAMP, ContextTokens, GeneratedTokens"
    )
    parser.add_argument(
        "--weight",
        metavar="LAW",
        help=f"of a log's requests: {' or '.join(WEIGHTS)} (default: equal)",
    )
    parser.add_argument(
        "--tensor",
        type=int,
        metavar="N",
        help="GPUs that a log's request claims at once (default: 2)",
    )
    parser.add_argument(
        "--model-memory",
        type=float,
        metavar="GB",
        help="of the model, on these GPUs together (default: 30)",
    )
    parser.add_argument("--strict", action="store_true", help="refuse a log with bad rows")
    group = parser.add_argument_group("the cluster, of a log or of one scheduler")
    group.add_argument("--gpus", type=int, metavar="N", help="default: 16")
    group.add_argument("--memory", type=float, metavar="GB", help="of each GPU (default: 80)")
    group.add_argument(
        "--prefill",
        type=float,
        metavar="R",
        help="prompt tokens per second of a request (default: 1000)",
    )
    group.add_argument(
        "--decode",
        type=float,
        metavar="R",
        help="output tokens per second of a request (default: 5000)",
    )
    group = parser.add_argument_group("one scheduler, in one mode")
    group.add_argument(
        "--scheduler",
        dest="policy",
        metavar="NAME",
        help=f"{', '.join(LLM_SCHEDULERS)}, or own.py:function of a RequestState",
    )
    group.add_argument(
        "--waves", action="store_true", help="start nothing until all that runs has ended"
    )
    add_watching(parser)


def _add_level(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("a generated instance")
    group.add_argument(
        "--level",
        metavar="NAME",
        help=f"{', '.join(LEVELS)} (default: {USUAL}); its parts can be replaced by these:",
    )
    group.add_argument("--tasks", type=int, metavar="N", help="number of tasks")
    group.add_argument(
        "--load", type=float, metavar="R", help="offered work over the speed of all GPUs"
    )
    group.add_argument(
        "--slack", metavar="A:B", help="least and greatest time to the deadline, in times on an A30"
    )
    group.add_argument(
        "--cluster",
        metavar="NAME",
        help=(
            f"{', '.join(CLUSTERS)}, or a CSV of name, memory_gb, speed, or TOML of [[gpu]]"
            " (default: the level's, else small)"
        ),
    )


def _add_instance(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("an instance from a file")
    group.add_argument(
        "--instance",
        metavar="FILE",
        help="CSV of workload, memory_gb, deadline_s, weight, arrival_s; task, if any, names them",
    )
    group.add_argument(
        "--skip-unfit",
        action="store_true",
        help="leave out tasks that fit on no GPU instead of refusing them",
    )
    group.add_argument(
        "--orlib", metavar="FILE", help="a weighted tardiness file of the OR-Library"
    )
    group.add_argument(
        "--size",
        type=int,
        metavar="N",
        help="tasks of each instance in it (known of wt40.txt, wt50.txt, wt100.txt)",
    )
    group.add_argument(
        "--index", type=int, metavar="N", help="of the instance in it, from 1 (default: 1)"
    )
    group.add_argument(
        "--machines",
        type=int,
        metavar="N",
        help="identical; due dates are divided by it (default: 1)",
    )


def _add_search(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("search")
    group.add_argument(
        "--moves", type=int, metavar="N", help="moves of the annealing; the same answer each time"
    )
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
    return (
        ACTIONS[given.action](given) if given.action in ACTIONS else pattern.carry_out(given, TASKS)
    )


# ---- options ----


def _level(given: argparse.Namespace) -> Level | str:
    name = given.level or USUAL
    check_one_of("load level", name, LEVELS)
    own = {
        option: getattr(given, option)
        for option in ("tasks", "load")
        if getattr(given, option) is not None
    }
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
    sources = [
        name for name in ("level", "instance", "orlib") if getattr(given, name) is not None
    ] or ["level"]
    require(
        len(sources) == 1,
        "sources of the instance",
        sources,
        "one of --level, --instance and --orlib",
    )
    _refuse(given, _OF_SOURCE, sources, f"--{sources[0]}", "--")
    open_to = {
        option: [name for name in schedulers if not _says(name, option)] for option in _OF_SCHEDULER
    }
    for option, names in open_to.items():
        bases = [name.partition(":")[0] for name in names]
        _refuse(given, {option: _OF_SCHEDULER[option]}, bases, ", ".join(schedulers))


def _says(scheduler: str, option: str) -> bool:
    """Whether a scheduler's text says itself what an option would."""
    words = ("replan_s=", "online=") if option == "replan" else ("moves=", "seconds=")
    return any(word in scheduler for word in words)


def _refuse(
    given: argparse.Namespace,
    owned: Mapping[str, Sequence[str]],
    there: Sequence[str],
    beside: str,
    dashes: str = "",
) -> None:
    """Raise InputError for an option none of whose owners is there."""
    for option, owners in owned.items():
        if _is_given(given, option) and not set(there) & set(owners):
            goes_with = " or ".join(f"{dashes}{name}" for name in owners)
            raise InputError(
                f"--{option.replace('_', '-')} has no effect beside {beside}; it goes"
                f" with {goes_with}"
            )


def _is_given(given: argparse.Namespace, option: str) -> bool:
    value = getattr(given, option, None)
    return value is not None and value is not False  # 0 is a value


def _source(given: argparse.Namespace) -> str | Level | Instance:
    if given.orlib is not None:
        index, machines = (1 if value is None else value for value in (given.index, given.machines))
        return read_orlib(given.orlib, index, machines, given.size)
    if given.instance is not None:
        return read_instance(
            given.instance, cluster(given.cluster or "small"), skip_unfit=given.skip_unfit
        )
    return _level(given)


def _setting(given: argparse.Namespace) -> Setting:
    """What the options name; the schedulers of a comparison are those of all ways that
    are open to them.
    """
    several = given.action != "run"
    if given.replan is not None:
        check_number("--replan", given.replan, above=0)
    named = policies_of(given.policies or "") if several else [given.policy]
    _check_options(
        given, named if named != [""] else [name.partition(":")[0] for name in Setting.compared]
    )
    reality = (given.noise or 0.0, given.delay or 0.0, given.unknown_arrivals)
    setting = Setting(_source(given), *reality, moves=given.moves, seconds=given.seconds)
    _check_seeds(given, setting)
    if several and (any(reality) or given.replan is not None):
        names = setting.default_policies() if given.policies is None else named
        given.policies = ",".join(way for name in names for way in _ways(name, given))
    elif given.replan is not None:
        given.policy = _with(given.policy, f"replan_s={given.replan:.12g}")
    return setting


def _check_seeds(given: argparse.Namespace, setting: Setting) -> None:
    """Raise InputError for seeds without effect."""
    if setting.is_random:
        return
    if given.action == "run":
        searched = given.policy.partition(":")[0] in SEEDED
        require(
            given.seed == 0 or searched,
            "--seed",
            given.seed,
            f"0 here; it goes with {' or '.join(SEEDED)}",
        )
        return
    once = given.seeds in (1, TASKS.seeds) and given.first_seed == 0
    require(
        once,
        "--seeds",
        (given.first_seed, given.seeds),
        "left out, unless --level generates tasks or --noise varies",
    )


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


def _more(solution: Solution, _: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """The plan beside what was measured."""
    figures = {"planned": solution.planned.metrics, "measured": solution.schedule.metrics}
    lines = [
        [name, *(_told(each[name]) for each in figures.values())] for name in figures["planned"]
    ]
    return "" if solution.is_as_planned else "\n".join(
        ["", *aligned([["", *figures], *lines])]
    ), figures


TASKS = Module(Setting, _add_tasks, _setting, figures="cgrsp_simpy.hgsp.figures", more=_more)


def _generate(given: argparse.Namespace) -> Answer:
    require(given.level is not None, "--level", None, f"one of {', '.join(LEVELS)}")
    instance = generate(_level(given), given.seed)
    write_instance(instance, given.out)
    gpus = ", ".join(gpu.name for gpu in instance.gpus)
    log.info("%d tasks over %.1f h for %s", instance.tasks, instance.arrival_s[-1] / 3600, gpus)
    return Answer(given.out)


def _solve(given: argparse.Namespace) -> Answer:
    Setting().make_policy(given.scheduler)
    _check_options(given, [given.scheduler])
    setting = Setting(_source(given), moves=given.moves, seconds=given.seconds)
    searched = given.scheduler.partition(":")[0] in SEEDED
    require(
        setting.is_random or searched or given.seed == 0,
        "--seed",
        given.seed,
        f"0 here; it goes with {' or '.join(SEEDED)}",
    )
    check_work(given, setting.work, kept=setting.jobs)
    solution = setting.run(given.scheduler, given.seed)
    figures = {**solution.summary(), "scheduler": given.scheduler, "seconds": solution.seconds}
    if given.format == "json":
        return Answer(json_text(figures))
    if given.format == "csv":
        return Answer(csv_text(solution.schedule.rows()).rstrip("\n"))
    return Answer("\n".join(f"{name:18} {_told(value):>14}" for name, value in figures.items()))


# ---- LLM requests ----

_OF_LLM = {
    **dict.fromkeys(("weight", "tensor", "model_memory", "strict"), ("trace",)),
    **dict.fromkeys(("gpus", "memory", "prefill", "decode"), ("trace", "scheduler")),
    **dict.fromkeys(("waves", "events", "step", "gantt", "animate"), ("scheduler",)),
}
_OF_CLUSTER = {
    "gpus": "gpus",
    "memory": "memory_gb",
    "prefill": "prefill_tokens_per_s",
    "decode": "decode_tokens_per_s",
}


def _llm(given: argparse.Namespace) -> Answer:
    there = [
        name
        for name, value in (("trace", given.trace), ("scheduler", given.policy))
        if value is not None
    ]
    _refuse(given, _OF_LLM, there, "a log" if given.trace else "the printed workload", "--")
    if given.policy is not None:
        return pattern.carry_out(
            argparse.Namespace(**{**vars(given), "action": "run", "seed": 0, "by": None}), LLM
        )
    rows = table_two() if given.trace is None else _served(given)
    if given.format == "json":
        return Answer(json_text({"rows": rows}))
    if given.format == "csv":
        return Answer(csv_text(rows).rstrip("\n"))
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [
        [_told(row[key]) if row.get(key) is not None else "-" for key in columns] for row in rows
    ]
    return Answer("\n".join([*aligned([columns, *lines]), "", RESPONSE, OWNED]))


def _requests(given: argparse.Namespace) -> Requests:
    own = {
        name: getattr(given, option)
        for option, name in _OF_CLUSTER.items()
        if getattr(given, option) is not None
    }
    cluster = LlmCluster(**own)
    if given.trace is None:
        return Requests(cluster=cluster, waves=given.waves)
    model = QWEN3 if given.model_memory is None else LlmModel("the model", given.model_memory)
    gpus = 2 if given.tensor is None else given.tensor
    requests = read_requests(
        given.trace, weight=given.weight or "equal", gpus=gpus, model=model, strict=given.strict
    )
    return Requests(requests, cluster, given.waves)


LLM = Module(Requests, _add_llm, _requests)


def _served(given: argparse.Namespace) -> list[dict[str, Any]]:
    """A row a scheduler and mode."""
    requests = _requests(given)
    return [
        {"scheduler": name, "mode": mode, **requests.varied(waves=waves).run(name).summary()}
        for mode, waves in (("work-conserving", False), ("waves", True))
        for name in LLM_SCHEDULERS
    ]


def _told(value: Any) -> str:
    if value != value:
        return "no bound known"
    if not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


ACTIONS: dict[str, Callable[[argparse.Namespace], Answer]] = {
    "generate": _generate,
    "solve": _solve,
    "llm": _llm,
}
