"""Own or rent machines: the number of fixed ones, and which jobs wait for them.

By formula, by simulation, on your own log.
"""

from __future__ import annotations

import argparse
import logging
import math
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.base.checks import (
    InputError,
    check_number,
    check_whole,
    read_as,
    require,
)
from cgrsp_simpy.base.table import aligned
from cgrsp_simpy.cli import pattern
from cgrsp_simpy.cli.fields import (
    add_fields,
    add_pairs,
    checked,
    fields_of,
    given_of,
    pairs_of,
)
from cgrsp_simpy.cli.options import (
    FORMATTED,
    Answer,
    add_log,
    add_options,
    check_work,
    formatted,
    policies_of,
    reading_of,
    refuse,
)
from cgrsp_simpy.cli.pattern import Module, add_actions, policies_given
from cgrsp_simpy.studies.compare import Comparison
from cgrsp_simpy.studies.study import many
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.waiting.formulas import OBJECTIVES, analyze, optimum
from cgrsp_simpy.waiting.jobs import (
    ExponentialJobs,
    JobSource,
    ListedJobs,
    describe,
    read_jobs,
)
from cgrsp_simpy.waiting.machines import (
    BILLED,
    M5,
    Prices,
    Size,
    read_sizes,
    rent_per_h,
)
from cgrsp_simpy.waiting.plan import Limit, bounds, plan, policy_text
from cgrsp_simpy.waiting.policies import POLICIES, Mispredictions, WaitingPolicy
from cgrsp_simpy.waiting.scenario import Scenario

log = logging.getLogger(__name__)

SHOWN = (
    "wait_s",
    "wait_s_as_printed",
    "price",
    "on_demand_fraction",
    "cost",
    "servers",
)
# replications; generated jobs; jobs of a single run
SEEDS, JOBS, FEW = 5, 100_000, 100
MACHINE_CORES, GB_PER_CORE = 64, 4.0  # of a fixed machine, an m5.16xlarge
OF_LOAD = ("rate_per_s", "service_s")
OF_MACHINE = fields_of(Size, "cores", "memory_gb")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    helps = {
        "run": "one policy on a few jobs, to be watched: event by event, or drawn",
        "compare": "policies on the same jobs, formula and simulation",
        "sweep": (
            "policies at every point of a grid: machines, order, rate_per_s, service_s,"
            " fixed, on_demand, wait_over, ..., or policy:parameter"
        ),
    }
    actions = add_actions(parser, MODULE, helps)
    actions.choices["compare"].set_defaults(carry_out=_compare)
    add_log(actions.choices["figures"], "a log for Figures 15 to 22")
    one = actions.add_parser(
        "analyze",
        help=(
            "one policy by formula; without --machines at its cheapest number of"
            " machines"
        ),
    )
    best = actions.add_parser(
        "optimize",
        help="the best number of machines, or none (ajw: at least one), by formula",
    )
    _add_plan(actions)
    names = ", ".join(POLICIES)
    one.add_argument(
        "--policy", required=True, metavar="P", help=f"{names}, as sww:wait_s=60"
    )
    add_options(
        best,
        (
            "--policies P,P",
            str,
            f"as sww:wait_s=60 (default: {names})",
            ",".join(POLICIES),
        ),
        (
            "--objective NAME",
            str,
            f"{', '.join(OBJECTIVES)} (default: %(default)s)",
            "price",
        ),
    )
    waits = fields_of(Mispredictions, "wait_over", "wait_under")
    for action, own in ((one, _analyze), (best, _optimize)):
        add_fields(action, ExponentialJobs, *OF_LOAD)
        _add_prices(action)
        add_pairs(action, "errors", waits, "how often waits are mispredicted")
        told = "hours; adds the cost over them, in the prices' money"
        add_options(action, ("--duration H", float, told))
        action.set_defaults(carry_out=own, formats=FORMATTED)
    add_fields(one, Scenario, "machines")


def _add_plan(actions: Any) -> None:
    """Add the action that plans for a log."""
    told = (
        "what to own, which jobs wait, what it costs a year and how sure that is; of"
        " a log"
    )
    parser = actions.add_parser("plan", help=told)
    add_log(parser)
    add_options(
        parser.add_mutually_exclusive_group(required=True),
        (
            "--limit NAME=TIME",
            checked(Limit.read),
            "of the waits: p95=30min, mean=600, p99=2h",
        ),
        (
            "--budget AMOUNT",
            float,
            "money a year, > 0, below which the bill's interval is to lie",
        ),
    )
    add_options(
        parser,
        (
            "--policies P,P",
            str,
            "among them (default: all), as sww:wait_s=60",
            ",".join(POLICIES),
        ),
        ("--growth SHARE", checked(_share), "of jobs from year to year, such as 20%%"),
        ("--seed N", int, "default: %(default)s", 0),
        ("--out DIR", str, "draw money against wait there"),
    )
    _add_prices(parser)
    _add_machines(parser, order=False)
    parser.set_defaults(carry_out=_plan, formats=FORMATTED)


def _share(text: str) -> float:
    """Parse 20% or 0.2."""
    message = f"{text!r} must be a share, such as 0.2 or 20%"
    return read_as(float, text.removesuffix("%"), message) / (
        100 if text.endswith("%") else 1
    )


def _add_scenario(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "scenario: jobs, generated or of a log, and machines"
    )
    add_fields(group, ExponentialJobs, jobs=f"(default: {JOBS}; of run {FEW})")
    add_log(group)
    add_fields(group, Scenario, "machines", "errors", "work_conserving")
    _add_prices(group)
    _add_machines(group)


def _add_prices(parser: argparse._ActionsContainer) -> None:
    item = fields_of(Scenario, "prices")["prices"]
    add_pairs(parser, "prices", fields_of(Prices), item.told, _priced)


def _priced(text: str) -> dict[str, Any]:
    """Parse pairs; a table of prices has another option."""
    hint = (
        "pairs, such as fixed=3.84,on_demand=9.6; a table of machines is --sizes FILE"
    )
    require("=" in text, "--prices", text, hint)
    return pairs_of(fields_of(Prices), text)


def _add_machines(parser: argparse._ActionsContainer, order: bool = True) -> None:
    machine = (
        "of a fixed machine; or whole: each job of a log takes one, whatever it needs"
        f" (default: {MACHINE_CORES}, {GB_PER_CORE:g} GB a core)"
    )
    sizes = (
        "of a log, sizes for rent: CSV of name, cores (or gpus), memory_gb,"
        f" price_per_h, and perhaps {', '.join(BILLED)} (default: m5)"
    )
    add_pairs(parser, "machine", OF_MACHINE, machine, _machine)
    add_options(parser, ("--sizes FILE", str, sizes))
    if order:
        add_fields(parser, Scenario, "order")


def _machine(text: str) -> dict[str, Any] | str:
    return text if text == "whole" else pairs_of(OF_MACHINE, text)


# ---- the one pattern ----


def _scenario(args: argparse.Namespace) -> Scenario:
    """Return the scenario of the options.

    For `run`, the jobs are all there are, so that each counts.
    """
    prices = _prices(args)
    if args.machines is None and args.action != "sweep":
        raise InputError("--machines, the number of fixed machines, is missing")
    source = _source(args)
    if args.action == "run" and args.trace is None:
        check_work(args, source.jobs, kept=source.jobs)
        columns: list[Any] = list(map(np.concatenate, zip(*source.chunks(args.seed))))
        source = ListedJobs(*columns)  # no others exist
    own = given_of(args, "work_conserving", "order")
    own |= {"errors": Mispredictions(**args.errors or {}), "sizes": _sizes(args)}
    scenario = Scenario(source, machines=_machines(args), prices=prices, **own)
    if args.action == "compare":
        args.policies = ",".join(_steady(scenario, policies_given(args, scenario)))
    return scenario


def _source(args: argparse.Namespace) -> JobSource:
    """Return generated jobs, or those of a log, which is summarised on stderr."""
    if args.trace is None:
        refuse(args, "given with --trace", "log", "sizes", "machine")
        usual = FEW if args.action == "run" else JOBS
        return ExponentialJobs(**{"jobs": usual, **given_of(args, "jobs", *OF_LOAD)})
    refuse(args, "left out with --trace, which has the jobs", "jobs", *OF_LOAD)
    return _log_of(args, whole=args.machine == "whole", unit=_sizes(args)[0].unit)


def _sizes(args: argparse.Namespace) -> tuple[Size, ...]:
    return M5 if args.sizes is None else read_sizes(args.sizes)


def _log_of(args: argparse.Namespace, **how: Any) -> ListedJobs:
    jobs = read_jobs(args.trace, **how, **reading_of(args)).jobs
    log.info("%s: %s", args.trace, describe(jobs, how.get("unit", "cores")))
    if not jobs.run_s.any():
        raise InputError(
            f"{jobs.name}: an hour of work has no price: its {jobs.jobs:,} jobs run"
            " for 0 s"
        )
    return jobs


def _machines(args: argparse.Namespace) -> int | tuple[Size, ...]:
    """Return the fixed machines, which jobs of a log share or take as a whole."""
    number = 1 if args.machines is None else args.machines
    check_whole("--machines", number, least=1)
    if args.trace is None or args.machine == "whole":
        return int(number)
    machine = {"cores": MACHINE_CORES, **(args.machine or {})}
    machine = {"memory_gb": GB_PER_CORE * machine["cores"], **machine}
    return (Size("fixed machine", **machine, price_per_h=0.0),) * number


def _prices(args: argparse.Namespace) -> Prices:
    """Return the prices; warn of unusual ones."""
    prices = Prices(**args.prices or {})
    for note in prices.notes:
        log.warning("%s", note)
    return prices


def _drawn_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return the log whose workload is drawn, if any."""
    refuse(args, "given with --trace", *(["log"] if args.trace is None else []))
    return {"trace": None if args.trace is None else _log_of(args)}


MODULE = Module(
    Scenario,
    _add_scenario,
    _scenario,
    seeds=SEEDS,
    figures="cgrsp_simpy.waiting.paper.figures",
    sizes=_drawn_of,
)


def _steady(scenario: Scenario, policies: list[str]) -> list[str]:
    """Return the policies with a steady state, or that need none; name the others."""
    steady = []
    for text in policies:
        if why := scenario.under(subject_of(scenario).make_policy(text)).unsteady:
            log.warning("%s is left out: %s", text, why)
        else:
            steady.append(text)
    if not steady:
        raise InputError(
            f"none of {', '.join(policies)} has a steady state on {scenario.name}"
        )
    return steady


class _Beside(Comparison):
    """Comparison of the formula with the simulation."""

    def formulas(self) -> dict[str, dict[str, float] | None]:
        """The formula's figures by policy; None without a formula."""
        scenario = self.scenario
        assert isinstance(scenario, Scenario)
        made = {
            name: subject_of(scenario).make_policy(policy)
            for name, policy in self._named.items()
        }
        own = {
            name: policy
            for name, policy in made.items()
            if isinstance(policy, WaitingPolicy)
        }
        return {
            name: scenario.under(own[name]).formula() if name in own else None
            for name in made
        }

    def as_dict(self) -> dict[str, Any]:
        """Add a key "formula" to each policy."""
        found, formulas = super().as_dict(), self.formulas()
        rows = found["policies"].items()
        return {
            **found,
            "policies": {
                name: {**row, "formula": formulas[name]} for name, row in rows
            },
        }

    def __str__(self) -> str:
        """Add a table of both, if there is a formula."""
        formulas = self.formulas()
        if not any(formulas.values()):
            return super().__str__()
        names = subject_of(self.scenario).report.shown
        lines = [["policy", *(cell for name in names for cell in (name, "formula"))]]
        for policy, row in self.means().items():
            lines.append([policy])
            for name in names:
                form = formulas[policy]
                lines[-1] += [_told(row[name]), f"{form[name]:.4g}" if form else "-"]
        return "\n".join(
            [super().__str__(), "", "simulation and formula", *aligned(lines)]
        )


def _compare(args: argparse.Namespace) -> Answer:
    def beside(study: Comparison, _: int | None) -> Comparison:
        return _Beside(
            **{item.name: getattr(study, item.name) for item in fields(study)}
        )

    return pattern.compared(MODULE, args, beside)


# ---- the module's own verbs ----


def _formula(args: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments that `analyze` and `optimum` share."""
    if args.duration is not None:
        check_number("--duration", args.duration, above=0)
    own = ExponentialJobs(1, **given_of(args, *OF_LOAD))
    return {
        **{name: getattr(own, name) for name in OF_LOAD},
        "prices": _prices(args),
        "errors": Mispredictions(**args.errors or {}),
        "duration_h": args.duration,
    }


def _analyze(args: argparse.Namespace) -> Answer:
    own = _formula(args)
    if args.machines is None:
        return _row(args, optimum(args.policy, **own))
    return _row(args, analyze(args.policy, servers=args.machines, **own))


def _row(args: argparse.Namespace, found: Mapping[str, float]) -> Answer:
    shown = {name: found[name] for name in SHOWN if name in found}
    text = "\n".join(f"{name:18} {value:12.6g}" for name, value in shown.items())
    return formatted(args, shown, [shown], lambda: text)


def _optimize(args: argparse.Namespace) -> Answer:
    texts, own = policies_of(args.policies), _formula(args)
    require(
        len(set(texts)) == len(texts), "--policies", args.policies, "names that differ"
    )
    rows = {text: optimum(text, by=args.objective, **own) for text in texts}
    for name, row in rows.items():
        if row["wait_s"] > own["service_s"]:
            log.warning(
                "%s: best by %s: %s; but jobs wait longer in the mean (%.3g h) than"
                " they run",
                *(name, args.objective, many(int(row["servers"]), "fixed machine")),
                row["wait_s"] / 3600,
            )
    if len(rows) == 1:
        return _row(args, rows[texts[0]])
    return _table(args, rows)


def _plan(args: argparse.Namespace) -> Answer:
    prices = _prices(args)
    require(args.trace is not None, "--trace", None, "a log of jobs")
    sizes, whole = _sizes(args), args.machine == "whole"
    jobs = _log_of(args, whole=whole, unit=sizes[0].unit)
    if whole:
        size = (
            Size("machine", 1, 0.0, prices.on_demand)
            if args.sizes is None
            else sizes[0]
        )
        allowed = "of one size, which each job takes as a whole"
        require(args.sizes is None or len(sizes) == 1, "--sizes", args.sizes, allowed)
        sizes = (replace(size, cores=1, memory_gb=0.0),)
        jobs = replace(
            jobs, cores=np.ones(jobs.jobs, np.int64), memory_gb=np.zeros(jobs.jobs)
        )
    elif args.machine:
        size = Size(
            "fixed machine", **{"memory_gb": 0.0, **args.machine}, price_per_h=0.0
        )
        needs = np.array([size.cores]), np.array([size.memory_gb])
        rent = float(rent_per_h(*needs, sizes)[0])
        sizes += (
            replace(size, price_per_h=rent, reserved_1y_per_h=prices.share * rent),
        )
    options = given_of(args, "limit", "budget", "growth", "seed")
    planned = plan(
        jobs,
        sizes=sizes,
        prices=prices,
        policies=policies_of(args.policies),
        **options,
    )
    if args.out is not None:
        # loads matplotlib
        from cgrsp_simpy.waiting.paper.figures import PLANNED

        for path in PLANNED.write(args.out, PLANNED.rows(planned)):
            log.info("%s", path)
    names = ("p95_wait_s", "wait_s", "price", "bill", "machines", "policy")
    lines = [
        [*(f"{row[name]:,.6g}" for name in names[:-1]), str(row["policy"])]
        for row in planned.frontier
    ]
    load = f"load: {planned.load.mean:.3g} ({bounds(planned.load, '.3g')})"
    if planned.range is not None:
        few, many_ = planned.range
        load += (
            f"; in 95 % of resampled logs {few:,} to {many_:,} machines are best, and"
            f" this plan is at most {planned.regret:.1%} dearer than the best"
        )
    texts = [str(planned), "", load, "", "least money for a wait"]
    table = "\n".join([*texts, *aligned([list(names), *lines])])
    values = {**asdict(planned), "policy": policy_text(planned.policy)}
    answer = formatted(args, values, planned.frontier, lambda: table)
    return answer._replace(status=int(bool(planned.reason)))


def _table(args: argparse.Namespace, rows: Mapping[str, Mapping[str, float]]) -> Answer:
    """Return one row per policy, with the opportunity cost and the figures."""
    shown = {
        name: {
            **{key: row[key] for key in SHOWN if key in row},
            "opportunity": row["price"] * row["wait_s"] / 3600,
        }
        for name, row in rows.items()
    }
    own = [{"policy": name, **row} for name, row in shown.items()]
    names = [
        key
        for key in (*SHOWN, "opportunity")
        if all(key in row for row in shown.values())
    ]
    lines = [
        [name, *(f"{row[key]:.6g}" for key in names)] for name, row in shown.items()
    ]
    text = "\n".join(aligned([["policy", *names], *lines]))
    return formatted(args, {"policies": shown}, own, lambda: text)


def _told(value: Mean) -> str:
    """Format a mean with the digits that its interval allows."""
    if not value.half_width > 0:
        return f"{value.mean:.4g}"
    digits = max(0, 1 - math.floor(math.log10(value.half_width)))
    return f"{value.mean:.{digits}f} ± {value.half_width:.{digits}f}"
