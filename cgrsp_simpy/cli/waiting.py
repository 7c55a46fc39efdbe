"""Own or rent machines: how many fixed ones, and which jobs wait for them.

By formula, by simulation, on one's own log.
"""

from __future__ import annotations

import argparse
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.cli import pattern
from cgrsp_simpy.cli.options import (
    WORKERS,
    Answer,
    add_options,
    add_reading,
    add_yes,
    check_work,
    gallery_of,
    workers_of,
)
from cgrsp_simpy.cli.pattern import Module, add_actions, policies_given
from cgrsp_simpy.cli.waiting_options import (
    TRIALS,
    add_duration,
    add_model,
    add_scenario,
    add_trace,
    add_trials,
    check_duration,
    check_without_trace,
    formula_of,
    limits_given,
    log_of,
    policies_told,
    prices_of,
    scenario_of,
    simulated,
    source_of,
    with_limits,
)
from cgrsp_simpy.model.checks import InputError, check_whole, require
from cgrsp_simpy.model.files import write_whole
from cgrsp_simpy.model.table import aligned, csv_text, json_text
from cgrsp_simpy.studies.compare import Comparison
from cgrsp_simpy.studies.executors import as_they_come
from cgrsp_simpy.studies.study import many
from cgrsp_simpy.waiting.best import best_number, strain, strained
from cgrsp_simpy.waiting.formulas import OBJECTIVES, analyze, optimum
from cgrsp_simpy.waiting.policies import POLICIES, WaitingPolicy, waiting_policy
from cgrsp_simpy.waiting.recursion import follow
from cgrsp_simpy.waiting.scenario import Scenario
from cgrsp_simpy.waiting.tally import of_trials

log = logging.getLogger(__name__)

SHOWN = ("wait_s", "p95_wait_s", "backlog", "price", "on_demand_fraction", "cost", "servers")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    helps = {
        "run": "one policy on a few jobs, to be watched: event by event, or drawn",
        "compare": "policies on the same jobs, formula beside simulation",
        "sweep": "policies at every point of a grid: machines, order, rate_per_s, service_s, fixed,"
        " on_demand, wait_over, ..., or policy:parameter",
    }
    add_actions(actions, MODULE, helps)
    for name in ("compare", "sweep"):
        add_trials(actions.choices[name])
    figures = actions.choices["figures"]
    add_options(figures, ("--trace FILE", str, "a log for Figures 15 to 22"))
    add_reading(figures)
    _add_own(actions)


def _add_own(actions: Any) -> None:
    """Add the module's own verbs."""
    one = actions.add_parser(
        "analyze",
        help="one policy by formula; without --servers at its cheapest number of machines",
    )
    told = (
        "the best number of machines, or none (ajw: at least one): by formula, or on a log"
        " by simulation"
    )
    best = actions.add_parser("optimize", help=told)
    run = actions.add_parser("simulate", help="one policy by simulation")
    for action in (one, run):
        action.add_argument("--policy", required=True, metavar="P", help=", ".join(POLICIES))
    names = ",".join(POLICIES)
    best.add_argument(
        "--policies", "--policy", default=names, metavar="P,P", help="default: %(default)s"
    )
    objectives = f"{', '.join(OBJECTIVES)} (default: %(default)s)"
    add_options(best, ("--by WHAT", str, objectives, "price"))
    for action in (one, best):
        add_model(action)
    add_options(one, ("--servers N", int, "fixed machines"))
    add_trace(best)
    add_scenario(run)
    add_options(
        run,
        ("--seed N", int, "of the first trial (default: 0)", 0),
        ("--trials N", int, f"replications (default: {TRIALS}; of a log 1)"),
        ("--recursion", bool, "without events: the same figures, sooner"),
        WORKERS,
        ("--keep FILE", str, "write a row a job into FILE (CSV)", "none"),
    )
    add_yes(run)
    for action in (one, best, run):
        add_duration(action)


def carry_out(given: argparse.Namespace) -> Answer:
    """What the action answers, in the format asked for."""
    if given.action == "figures":
        return _figures(given)
    if given.action in OWN:
        check_duration(given)
    for note in prices_of(given).notes:
        log.warning("%s", note)
    if given.action == "compare":
        return pattern.compared(given, MODULE, lambda study, _: _beside(study))
    return OWN[given.action](given) if given.action in OWN else pattern.carry_out(given, MODULE)


# ---- the one pattern ----


def _scenario(given: argparse.Namespace) -> Scenario:
    """The scenario that the options say; the policies that they name take --wait and --short."""
    scenario = simulated(given)
    if given.action == "run":
        given.policy = with_limits(given.policy, given)
        return scenario
    if given.recursion and not scenario.recursive:
        raise InputError("--recursion is for whole machines, first come, first served")
    policies = [with_limits(text, given) for text in policies_given(given, scenario)]
    given.policies = ",".join(
        _steady(scenario, policies) if given.action == "compare" else policies
    )
    return scenario


MODULE = Module(
    Scenario,
    add_scenario,
    _scenario,
    seeds=TRIALS,
    figures="cgrsp_simpy.waiting.figures",
    options={"machines": "servers"},
)


def _steady(scenario: Scenario, policies: list[str]) -> list[str]:
    """The policies that have a steady state, or of which none is asked; the others are named."""
    steady = []
    for text in policies:
        if why := scenario.under(scenario.make_policy(text)).unsteady:
            log.warning("%s is left out: %s", text, why)
        else:
            steady.append(text)
    if not steady:
        raise InputError(f"none of {', '.join(policies)} has a steady state on {scenario.name}")
    return steady


class _Beside(Comparison):
    """A comparison with the formula beside the simulation."""

    def formulas(self) -> dict[str, dict[str, float] | None]:
        """The formula's figures by policy; None where there is no formula."""
        scenario = self.scenario
        assert isinstance(scenario, Scenario)
        made = {name: scenario.make_policy(policy) for name, policy in self._named.items()}
        own = {name: policy for name, policy in made.items() if isinstance(policy, WaitingPolicy)}
        return {name: scenario.under(own[name]).formula() if name in own else None for name in made}

    def as_dict(self) -> dict[str, Any]:
        """With a key "formula" of each policy."""
        found, formulas = super().as_dict(), self.formulas()
        rows = found["policies"].items()
        return {
            **found,
            "policies": {name: {**row, "formula": formulas[name]} for name, row in rows},
        }

    def __str__(self) -> str:
        """With a table of both below, where there is a formula."""
        formulas = self.formulas()
        if not any(formulas.values()):
            return super().__str__()
        names = self.scenario.shown
        lines = [["policy", *(cell for name in names for cell in (name, "formula"))]]
        for policy, row in self.means().items():
            lines.append([policy])
            for name in names:
                form = formulas[policy]
                lines[-1] += [_told(row[name]), f"{form[name]:.4g}" if form else "-"]
        return "\n".join([super().__str__(), "", "simulation beside formula", *aligned(lines)])


def _beside(study: Comparison) -> Comparison:
    return _Beside(**{item.name: getattr(study, item.name) for item in fields(study)})


# ---- the module's own verbs ----


def _analyze(given: argparse.Namespace) -> Answer:
    own = formula_of(given)
    if given.servers is None:
        return _row(given, optimum(given.policy, **own))
    return _row(given, analyze(given.policy, servers=given.servers, **own))


def _row(given: argparse.Namespace, found: Mapping[str, float]) -> Answer:
    shown = {name: found[name] for name in SHOWN if name in found}
    if given.format == "json":
        return Answer(json_text(shown))
    if given.format == "csv":
        return Answer(csv_text([shown]).rstrip("\n"))
    return Answer("\n".join(f"{name:18} {value:12.6g}" for name, value in shown.items()))


def _optimize(given: argparse.Namespace) -> Answer:
    policies, own = policies_told(given.policies, given), formula_of(given)
    if given.trace is None:
        check_without_trace(given)
        allowed = "fcfs without --trace: of another order there is no formula"
        require(given.order == "fcfs", "--order", given.order, allowed)
        rows = {policy.name: optimum(policy.name, by=given.by, **own) for policy in policies}
    else:
        scenario = scenario_of(given, source_of(given), 1)
        rows = {policy.name: _best(given, replace(scenario, policy=policy)) for policy in policies}
    for name, row in rows.items():
        if why := strained({**own, **row}):
            best = many(int(row["servers"]), "fixed machine")
            log.warning("%s: best by %s: %s; but %s", name, given.by, best, why)
    if len(rows) == 1:
        return _row(given, rows[policies[0].name])
    return _table(given, rows)


def _best(given: argparse.Namespace, scenario: Scenario) -> dict[str, float]:
    run = best_number(scenario, given.by)
    machines, figures = run.scenario.machines, dict(run.summary()) | strain(run)
    if given.duration is not None:
        figures["cost"] = figures["cost_per_h"] * given.duration
    return {**figures, "servers": machines if isinstance(machines, int) else len(machines)}


def _table(given: argparse.Namespace, rows: Mapping[str, Mapping[str, float]]) -> Answer:
    """A row a policy, with the opportunity cost beside the figures."""
    shown = {
        name: {
            **{key: row[key] for key in SHOWN if key in row},
            "opportunity": row["price"] * row["wait_s"] / 3600,
        }
        for name, row in rows.items()
    }
    if given.format == "json":
        return Answer(json_text({"policies": shown}))
    if given.format == "csv":
        own = [{"policy": name, **row} for name, row in shown.items()]
        return Answer(csv_text(own).rstrip("\n"))
    names = list(next(iter(shown.values())))
    lines = [[name, *(f"{row[key]:.6g}" for key in names)] for name, row in shown.items()]
    return Answer("\n".join(aligned([["policy", *names], *lines])))


def _simulate(given: argparse.Namespace) -> Answer:
    policy = waiting_policy(given.policy, **limits_given(given))
    scenario = replace(simulated(given), policy=policy)
    if scenario.unsteady:
        raise InputError(scenario.unsteady)
    trials = _number_of_trials(given)
    keeps = given.keep != "none"
    check_work(given, scenario.work * trials, kept=scenario.work * trials if keeps else 0)
    done = _trials(given, scenario, trials)
    shown = _shown(given, of_trials([outcome for outcome, _ in done]))
    if keeps:
        write_whole(Path(given.keep), csv_text([row for _, rows in done for row in rows]).encode())
    if given.format == "json":
        plain = {
            name: {"mean": each.mean, "ci95": [each.low, each.high]} for name, each in shown.items()
        }
        return Answer(json_text(plain))
    if given.format == "csv":
        rows = [
            {"figure": name, "mean": each.mean, "low": each.low, "high": each.high}
            for name, each in shown.items()
        ]
        return Answer(csv_text(rows).rstrip("\n"))
    return Answer("\n".join(f"{name:18} {_told(value)}" for name, value in shown.items()))


def _number_of_trials(given: argparse.Namespace) -> int:
    if given.trials is None:
        return TRIALS if given.trace is None else 1
    check_whole("--trials", given.trials, least=1)
    return int(given.trials)


Trial = tuple[dict[str, list[float]], list[dict[str, Any]]]  # its outcome, and rows if kept


def _trials(given: argparse.Namespace, scenario: Scenario, trials: int) -> list[Trial]:
    """The trials by seed, in SimPy unless --recursion is given."""
    one = partial(_trial, scenario, given.keep != "none", given.recursion)
    seeds = {seed: seed for seed in range(given.seed, given.seed + trials)}
    done = dict(as_they_come(one, seeds, workers_of(given)))
    return [done[seed] for seed in seeds]


def _trial(scenario: Scenario, keep: bool, recursion: bool, seed: int) -> Trial:
    if recursion:
        run = follow(scenario, seed, keep=keep)
    else:
        run = scenario.simulation(scenario.policy, seed, records=keep).finish()
    rows = [{"seed": seed, **row} for row in run.rows()] if keep else []
    return scenario.outcome(run), rows


def _shown(given: argparse.Namespace, found: Mapping[str, Mean]) -> dict[str, Mean]:
    servers = float(given.servers)
    every = {**found, "servers": Mean(servers, servers, servers, 1)}
    if given.duration is not None:
        hour, hours = found["cost_per_h"], given.duration
        every["cost"] = Mean(hour.mean * hours, hour.low * hours, hour.high * hours, hour.n)
    return {name: every[name] for name in SHOWN if name in every}


def _told(value: Mean) -> str:
    """A mean with the digits that its interval leaves it."""
    if not value.half_width > 0:
        return f"{value.mean:.4g}"
    digits = max(0, 1 - math.floor(math.log10(value.half_width)))
    return f"{value.mean:.{digits}f} ± {value.half_width:.{digits}f}"


def _figures(given: argparse.Namespace) -> Answer:
    """The figures; those of a workload of a log, where one is given."""
    from cgrsp_simpy.waiting.figures import FIGURES, draw_figures  # matplotlib, for this alone

    ids, executor = gallery_of(given, FIGURES)
    trace = None if given.trace is None else log_of(given)
    drawn = draw_figures(given.out, ids, trace=trace, style=given.style, executor=executor)
    return Answer("\n".join(map(str, drawn)))


OWN: dict[str, Callable[[argparse.Namespace], Answer]] = {
    "analyze": _analyze,
    "optimize": _optimize,
    "simulate": _simulate,
}
