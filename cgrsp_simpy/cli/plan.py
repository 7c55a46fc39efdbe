"""Plan how many machines to own and which jobs wait for them."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from cgrsp_simpy.base.checks import (
    InputError,
    check_number,
    read_as,
    require,
    shown,
)
from cgrsp_simpy.base.table import Table, document, many
from cgrsp_simpy.cli.options import (
    SEED,
    check_omitted,
    checked,
    number_of,
    policies_option,
    to_folder,
    words_argument,
)
from cgrsp_simpy.cli.parsing import Answer, Command, argument, formatted
from cgrsp_simpy.cli.scenarios import Worded
from cgrsp_simpy.waiting.formulas import OBJECTIVES, analyze, optimum
from cgrsp_simpy.waiting.machines import Size, rent_per_h, shared_machines
from cgrsp_simpy.waiting.plan import Limit, bounds, plan, policy_text
from cgrsp_simpy.waiting.policies import POLICIES, waiting_policy

log = logging.getLogger(__name__)
SHOWN = (
    "wait_s",
    "wait_s_as_printed",
    "price",
    "on_demand_fraction",
    "cost",
    "servers",
)
FORMULA = ("source.rate_per_s", "source.service_s", "machines", "prices", "errors")
OF_LOG = ("prices", "sizes")


def _share(text: str) -> float:
    number = read_as(
        float,
        text.removesuffix("%"),
        f"{shown(text)} must be a share, such as 0.2 or 20%",
    )
    share = number / (100 if text.endswith("%") else 1)
    check_number("--growth", share, above=-1)
    return share


def _plan(args: argparse.Namespace) -> Answer:
    if args.scenario == "waiting":
        of_log = ("limit", "budget", "growth", "seed", "out")
        check_omitted(args, of_log, "omitted: plans by formula do not use it")
        return _by_formula(args)
    check_omitted(args, ("objective", "duration"), "omitted if a log is given")
    return _of_log(args)


def _check_words(worded: Worded, known: tuple[str, ...]) -> None:
    """Raise InputError for a parameter without effect; warn about unusual prices."""
    for note in worded.scenario.prices.notes:
        log.warning("%s", note)
    for name in worded.names:
        allowed = f"one of {', '.join(known)}"
        effective = name in known or name.partition(".")[0] in known
        require(effective, "parameter of a plan", name, allowed)


def _policies(args: argparse.Namespace) -> list[str]:
    """Return the policies of the options; InputError for an invalid or repeated one."""
    policies = args.policies or [*POLICIES]
    for text in policies:
        waiting_policy(text)
    differ = len({*policies}) == len(policies)
    require(differ, "--policies", ",".join(policies), "different names")
    return policies


# ---- by formula ----


def _by_formula(args: argparse.Namespace) -> Answer:
    for word in args.words:
        require(
            not word.startswith("trace="),
            "parameter",
            word,
            "omitted: plans by formula do not use a log; use cgrsp plan LOG",
        )
    worded = Worded("waiting", args.words)
    scenario = worded.single("plan")
    _check_words(worded, FORMULA)
    source, policies = scenario.source, _policies(args)
    arguments: dict[str, Any] = {
        "rate_per_s": source.rate_per_s,
        "service_s": source.service_s,
        "prices": scenario.prices,
        "errors": scenario.errors,
        "duration_h": args.duration,
    }
    if "machines" in worded.names:
        check_omitted(args, ["objective"], "omitted if machines is given")
        number = scenario.machines
        allowed = "a number: by formula, each job uses a whole machine"
        shared = ", ".join(map(str, worded.grid["machines"]))
        require(isinstance(number, int), "machines", shared, allowed)
        rows = {text: analyze(text, servers=number, **arguments) for text in policies}
    else:
        objective = args.objective or "price"
        rows = {text: optimum(text, by=objective, **arguments) for text in policies}
        for name, row in rows.items():
            if row["wait_s"] > source.service_s:
                log.warning(
                    "%s: best by %s: %s; but on average jobs wait longer (%.3g h)"
                    " than they run",
                    *(name, objective, many(int(row["servers"]), "fixed machine")),
                    row["wait_s"] / 3600,
                )
    return _formula_answer(args, worded, rows)


def _formula_answer(
    args: argparse.Namespace, worded: Worded, results: Mapping[str, Mapping[str, float]]
) -> Answer:
    """Return one row per policy, with the opportunity cost and the figures."""
    figures = {
        name: {
            **{key: row[key] for key in SHOWN if key in row},
            "opportunity": row["price"] * row["wait_s"] / 3600,
        }
        for name, row in results.items()
    }
    names = [
        key
        for key in (*SHOWN, "opportunity")
        if all(key in row for row in figures.values())
    ]
    cells = [
        [name, *(f"{row[key]:.6g}" for key in names)] for name, row in figures.items()
    ]
    rows = [{"policy": name, **row} for name, row in figures.items()]
    table = Table("steady state by formula", [["policy", *names], *cells])
    return formatted(
        args,
        document(
            "waiting, by formula",
            [{"alternative": name, **row} for name, row in figures.items()],
            parameters=worded.parameters,
            alternatives=[*figures],
        ),
        rows,
        lambda: [table],
    )


# ---- of a log ----


def _worded(log: str, words: list[str]) -> Worded:
    """Return the scenario of a log; the words are checked before the log is read."""
    quick = [word for word in words if not word.startswith(("log.", "trace="))]
    without_log = Worded("waiting", quick)
    without_log.single("plan")
    machines = ["machines"] * any(word.startswith("machines=") for word in words)
    _check_words(without_log, (*OF_LOG, *machines))
    return Worded("waiting", [f"trace={log}", *words])


def _of_log(args: argparse.Namespace) -> Answer:
    words = [word for word in args.words if not word.startswith("machine=")]
    machines = [word.partition("=")[2] for word in args.words if word not in words]
    require(len(machines) <= 1, "machine", " and ".join(machines), "given only once")
    machine = "".join(machines)
    for word in words:
        require(
            not word.startswith("machines="),
            "parameter",
            word,
            "machine=CORES or machine=CORESxGB; their number is planned",
        )
    if (args.limit is None) == (args.budget is None):
        raise InputError("give one of --limit NAME=TIME and --budget AMOUNT")
    whole = machine == "whole"
    # otherwise jobs share machines by their cores
    shared = [] if whole else [f"machines=1x{machine or 64}"]
    policies = _policies(args)
    worded = _worded(args.scenario, [*words, *shared])
    scenario = worded.single("plan")
    jobs, sizes = scenario.source, scenario.sizes
    if whole:
        usual = Size("machine", 1, 0.0, scenario.prices.on_demand)
        size = sizes[0] if "sizes" in worded.names else usual
        allowed = "of one size: each job uses a whole machine"
        alone = "sizes" not in worded.names or len(sizes) == 1
        require(alone, "sizes", ", ".join(size.name for size in sizes), allowed)
        sizes = (replace(size, cores=1, memory_gb=0.0),)
        ones = np.ones(jobs.jobs, np.int64)
        jobs = replace(jobs, cores=ones, memory_gb=np.zeros(jobs.jobs))
    elif machine:
        (size,) = shared_machines(f"1x{machine}")
        needs = np.array([size.cores]), np.array([size.memory_gb])
        rent = float(rent_per_h(*needs, sizes)[0])
        reserved = scenario.prices.share * rent
        sizes += (replace(size, price_per_h=rent, reserved_1y_per_h=reserved),)
    options = {
        name: getattr(args, name)
        for name in ("limit", "budget", "growth", "seed")
        if getattr(args, name) is not None
    }
    planned = plan(
        jobs, sizes=sizes, prices=scenario.prices, policies=policies, **options
    )
    if args.out is not None:
        # loads matplotlib
        from cgrsp_simpy.papers.waiting.figures import PLANNED

        for path in PLANNED.write(args.out, PLANNED.rows(planned)):
            log.info("%s", path)
    parameters = {
        word: value for word, value in worded.parameters.items() if word != "machines"
    } | ({"machine": machine} if machine else {})
    return _planned_answer(args, scenario.name, parameters, planned)


def _planned_answer(
    args: argparse.Namespace, name: str, parameters: Mapping[str, Any], planned: Any
) -> Answer:
    names = ("p95_wait_s", "wait_s", "price", "bill", "machines", "policy")
    cells = [
        [*(f"{row[name]:,.6g}" for name in names[:-1]), str(row["policy"])]
        for row in planned.frontier
    ]
    load = f"load: {planned.load.mean:.3g} ({bounds(planned.load, '.3g')})"
    if planned.range is not None:
        few, most = planned.range
        load += (
            f"; in 95 % of resampled logs {few:,} to {most:,} machines are best, and"
            f" this plan is at most {planned.regret:.1%} dearer than the best"
        )
    title = f"{planned}\n\n{load}\n\nleast money for a wait"
    table = Table(title, [list(names), *cells])
    status = int(bool(planned.reason))
    return formatted(
        args,
        document(
            name,
            [{**row, "policy": str(row["policy"])} for row in planned.frontier],
            parameters=parameters,
            alternatives=args.policies or [*POLICIES],
            seeds=[args.seed or 0],
            plan={**asdict(planned), "policy": policy_text(planned.policy)},
        ),
        planned.frontier,
        lambda: [table],
        status,
    )


GOAL = "goal: for a log, --limit or --budget"
ARGUMENTS = [
    argument(
        "scenario LOG",
        "log of jobs to plan for (status 1 if it is too short for a conclusion);"
        " or waiting, to plan for generated jobs by formula",
    ),
    words_argument(
        "parameters of waiting (cgrsp parameters waiting lists them): for a log,"
        " sizes, prices, log.NAME and machine=CORESxGB, or machine=whole if each"
        " job uses a whole machine; by formula, rate_per_s, service_s, prices,"
        " errors and machines (default: the best number)"
    ),
    policies_option("all"),
    argument(
        "--limit NAME=TIME",
        "limit of the waits, such as p95=30min, mean=600 or p99=2h",
        GOAL,
        type=checked(Limit.read),
    ),
    argument(
        "--budget AMOUNT",
        "upper limit of the interval of the bill per year",
        GOAL,
        type=number_of("--budget", above=0),
    ),
    argument(
        "--objective NAME",
        f"by formula: {', '.join(OBJECTIVES)} (default: price)",
        GOAL,
    ),
    argument(
        "--duration H",
        "by formula: add the cost over H hours",
        type=number_of("--duration", above=0),
    ),
    argument(
        "--growth SHARE",
        "for a log: yearly growth of the load, such as 20%%",
        type=checked(_share),
    ),
    argument("--seed N", "for a log: seed of the resampling (default: 0)", type=SEED),
    argument(
        "--out DIR",
        "for a log: write a plot of cost against wait into DIR",
        type=to_folder,
    ),
]
COMMANDS = {"plan": Command(ARGUMENTS, _plan)}
