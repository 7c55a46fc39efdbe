"""Own or rent machines: how many fixed ones, and which jobs wait for them; by formula, by simulation, on one's own log."""

from __future__ import annotations

import argparse
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.cli.options import Answer, add_by, by_answer, gallery_of, workers_of
from cgrsp_simpy.cli.waiting_options import (
    add_figures,
    add_model,
    add_simulation,
    add_trace,
    add_trials,
    case_of,
    check_duration,
    check_without_trace,
    formula_of,
    listed,
    log_of,
    policies_of,
    prices_of,
    simulated,
    source_of,
    trials_of,
    why_unsteady,
)
from cgrsp_simpy.cli.watch import add_watching, check_watching, draw, watch
from cgrsp_simpy.model.checks import InputError, check_whole, require
from cgrsp_simpy.model.files import write_whole
from cgrsp_simpy.model.table import aligned, csv_text, json_text
from cgrsp_simpy.waiting.case import Case, Outcome
from cgrsp_simpy.waiting.formulas import OBJECTIVES, analyze, closed_form, optimum
from cgrsp_simpy.waiting.policies import NO_ERRORS, POLICIES, Mispredictions, WaitingPolicy
from cgrsp_simpy.waiting.simulation import Simulation, simulate
from cgrsp_simpy.waiting.trials import best_number, estimate, follow, of_trials

log = logging.getLogger(__name__)

SHOWN = ("wait_s", "price", "on_demand_fraction", "cost", "servers")
FEW = 100  # jobs of a run that is watched
COMPARED = ("wait_s", "price", "on_demand_fraction", "opportunity")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    one = actions.add_parser("analyze", help="one policy by formula; without --servers at its cheapest number of machines")
    best = actions.add_parser(
        "optimize", help="the best number of machines, or none (ajw: at least one): by formula, or on a log by simulation"
    )
    run = actions.add_parser("simulate", help="one policy by simulation")
    seen = actions.add_parser("run", help="one policy on a few jobs, to be watched: event by event, or drawn")
    every = actions.add_parser("compare", help="policies on the same jobs, formula beside simulation")
    figures = actions.add_parser(
        "figures",
        help="the paper's figures: PNG, SVG, and the CSV of what is plotted",
        epilog="figures: table1, 2 to 22, errors",
    )
    for action in (one, run, seen):
        action.add_argument("--policy", required=True, metavar="P", help=", ".join(POLICIES))
    best.add_argument("--policies", "--policy", default=",".join(POLICIES), metavar="P,P", help="default: %(default)s")
    every.add_argument("--policies", default=",".join(POLICIES), metavar="P,P", help="default: %(default)s")
    for action in (one, best, run, seen, every):
        add_model(action)
    one.add_argument("--servers", type=int, metavar="N", help="fixed machines")
    best.add_argument("--by", default="price", metavar="WHAT", help=f"{', '.join(OBJECTIVES)} (default: %(default)s)")
    for action in (run, seen, every):
        action.add_argument("--servers", type=int, required=True, metavar="N", help="fixed machines")
    for action in (best, run, seen, every):
        add_trace(action)
    for action in (run, every):
        add_simulation(action, jobs=100_000)
        add_trials(action)
    add_simulation(seen, jobs=FEW)
    add_watching(seen)
    add_by(seen)
    run.add_argument(
        "--keep", default="none", metavar="FILE", help="write a row a job into FILE (CSV); none: keep none (default)"
    )
    add_figures(figures)


def carry_out(given: argparse.Namespace) -> Answer:
    """What the action answers, in the format asked for."""
    if given.action != "figures":
        check_duration(given)
        for note in prices_of(given).notes:
            log.warning("%s", note)
    return ACTIONS[given.action](given)


# ---- answers ----


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
    policies, own = policies_of(given.policies, given), formula_of(given)
    if given.trace is None:
        check_without_trace(given)
        require(given.order == "fcfs", "--order", given.order, "fcfs without --trace: of another order there is no formula")
        rows = {policy.name: optimum(policy.name, by=given.by, **own) for policy in policies}
    else:
        jobs = source_of(given)
        rows = {policy.name: _best(given, case_of(given, jobs, policy)) for policy in policies}
    if len(rows) == 1:
        return _row(given, rows[policies[0].name])
    return _table(given, rows)


def _best(given: argparse.Namespace, case: Case) -> dict[str, float]:
    outcome = best_number(replace(case, errors=Mispredictions(given.over, given.under)), given.by)
    machines = outcome.case.machines
    figures = outcome.figures
    if given.duration is not None:
        figures["cost"] = figures["cost_per_h"] * given.duration
    return {**figures, "servers": machines if isinstance(machines, int) else len(machines)}


def _table(given: argparse.Namespace, rows: Mapping[str, Mapping[str, float]]) -> Answer:
    """A row a policy, with the opportunity cost beside the figures."""
    shown = {
        name: {**{key: row[key] for key in SHOWN if key in row}, "opportunity": row["price"] * row["wait_s"] / 3600}
        for name, row in rows.items()
    }
    if given.format == "json":
        return Answer(json_text({"policies": shown}))
    if given.format == "csv":
        return Answer(csv_text([{"policy": name, **row} for name, row in shown.items()]).rstrip("\n"))
    names = list(next(iter(shown.values())))
    lines = [[name, *(f"{row[key]:.6g}" for key in names)] for name, row in shown.items()]
    return Answer("\n".join(aligned([["policy", *names], *lines])))


def _simulate(given: argparse.Namespace) -> Answer:
    (policy,) = policies_of(given.policy, given)
    case = simulated(given, source_of(given), policy)
    if given.keep == "none":
        (found,) = estimate([case], trials_of(given), given.seed, workers_of(given), _run(given))
    else:
        run = follow if given.recursion else simulate
        outcomes = [run(case, given.seed + trial, keep=True) for trial in range(trials_of(given))]
        found = of_trials(outcomes)
        write_whole(Path(given.keep), csv_text(_records(outcomes)).encode())
    shown = _shown(given, found)
    if given.format == "json":
        return Answer(json_text({name: _json(value) for name, value in shown.items()}))
    if given.format == "csv":
        return Answer(csv_text([{"figure": name, **_bounds(value)} for name, value in shown.items()]).rstrip("\n"))
    return Answer("\n".join(f"{name:18} {_told(value)}" for name, value in shown.items()))


def _watched(given: argparse.Namespace) -> Answer:
    """One run; its jobs are all that there are, so that each counts."""
    check_whole("--seed", given.seed, least=0)
    check_watching(given)
    (policy,) = policies_of(given.policy, given)
    case = simulated(given, listed(source_of(given), given.seed), policy)
    outcome = watch(given, lambda listener: Simulation(case, given.seed, listener, keep=True))
    draw(given, outcome)
    if given.by is not None:
        return by_answer(outcome.by(given.by), given)
    if given.format == "csv":
        return Answer(csv_text(_records([outcome])).rstrip("\n"))
    figures = {**outcome.figures, "servers": float(given.servers)}
    if given.duration is not None:
        figures["cost"] = figures["cost_per_h"] * given.duration
    shown = {name: figures[name] for name in SHOWN if name in figures}
    if given.format == "json":
        return Answer(json_text(shown))
    return Answer("\n".join(f"{name:18} {value:12.6g}" for name, value in shown.items()))


def _shown(given: argparse.Namespace, found: Mapping[str, Mean]) -> dict[str, Mean]:
    servers = float(given.servers)
    every = {**found, "servers": Mean(servers, servers, servers, 1)}
    if given.duration is not None:
        hour = found["cost_per_h"]
        every["cost"] = Mean(hour.mean * given.duration, hour.low * given.duration, hour.high * given.duration, hour.n)
    return {name: every[name] for name in SHOWN if name in every}


def _json(value: Mean) -> dict[str, Any]:
    return {"mean": value.mean, "ci95": [value.low, value.high]}


def _records(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    rows = []
    for outcome in outcomes:
        done = outcome.jobs
        assert done is not None
        columns = (done.place + 1, *done.jobs, done.start_s, done.wait_s, done.on_demand.astype(int))
        names = ("job", *done.jobs._fields, "start_s", "wait_s", "on_demand")
        for place, row in enumerate(zip(*(column.tolist() for column in columns))):
            told = {"seed": outcome.seed, **dict(zip(names, row))}
            rows.append({**told, **outcome.tags.of(place, told)})
    return rows


def _compare(given: argparse.Namespace) -> Answer:
    policies, jobs = policies_of(given.policies, given), source_of(given)
    steady = []
    for policy in policies:
        if given.trace is None and (why := why_unsteady(given, policy)):
            log.warning("%s is left out: %s", policy.name, why)
        else:
            steady.append(policy)
    if not steady:
        raise InputError(f"none of {given.policies} has a steady state with {given.servers} servers")
    cases = [simulated(given, jobs, policy) for policy in steady]
    found = estimate(cases, trials_of(given), given.seed, workers_of(given), _run(given))
    rows = {policy.name: (each, _beside(given, policy)) for policy, each in zip(steady, found)}
    return _compared(given, rows)


def _run(given: argparse.Namespace) -> Callable[[Case, int], Outcome]:
    return follow if given.recursion else simulate


def _beside(given: argparse.Namespace, policy: WaitingPolicy) -> dict[str, float]:
    """The formula's figures; none for a log, another order, or idle machines lent, nor where mispredictions have no formula."""
    own = formula_of(given)
    if given.trace is not None or given.order != "fcfs" or given.work_conserving:
        return {}
    errors = Mispredictions(given.over, given.under, given.run_over, given.run_under)
    if (errors != NO_ERRORS and policy.name != "sww") or errors.run_over or errors.run_under:
        return {}
    form = closed_form(policy, own["rate_per_s"], own["service_s"], given.servers, own["prices"], errors)
    price, wait_s = float(form.price), float(form.wait_s)
    return {
        "wait_s": wait_s,
        "price": price,
        "on_demand_fraction": float(form.on_demand_fraction),
        "opportunity": price * wait_s / 3600,
    }


def _compared(given: argparse.Namespace, rows: Mapping[str, tuple[Mapping[str, Mean], Mapping[str, float]]]) -> Answer:
    if given.format == "json":
        policies = {
            name: {**{key: _json(found[key]) for key in COMPARED}, "formula": dict(formula) or None}
            for name, (found, formula) in rows.items()
        }
        return Answer(json_text({"servers": given.servers, "policies": policies}))
    if given.format == "csv":
        flat = [
            {"policy": name, "figure": key, **_bounds(found[key]), "formula": formula.get(key, "")}
            for name, (found, formula) in rows.items()
            for key in COMPARED
        ]
        return Answer(csv_text(flat).rstrip("\n"))
    beside = any(formula for _, formula in rows.values())
    lines = [["policy", *(cell for key in COMPARED for cell in ((key, "formula") if beside else (key,)))]]
    for name, (found, formula) in rows.items():
        lines.append([name])
        for key in COMPARED:
            lines[-1].append(_told(found[key]))
            if beside:
                lines[-1].append(f"{formula[key]:.4g}" if formula else "-")
    return Answer("\n".join(aligned(lines)))


def _told(value: Mean) -> str:
    """A mean with the digits that its interval leaves it."""
    if not value.half_width > 0:
        return f"{value.mean:.4g}"
    digits = max(0, 1 - math.floor(math.log10(value.half_width)))
    return f"{value.mean:.{digits}f} ± {value.half_width:.{digits}f}"


def _bounds(value: Mean) -> dict[str, float]:
    return {"mean": value.mean, "low": value.low, "high": value.high}


def _figures(given: argparse.Namespace) -> Answer:
    from cgrsp_simpy.waiting.figures import FIGURES, draw_figures  # matplotlib, for this command alone

    ids, executor = gallery_of(given, FIGURES)
    trace = None if given.trace is None else log_of(given)
    return Answer("\n".join(map(str, draw_figures(given.out, ids, trace=trace, style=given.style, executor=executor))))


ACTIONS: dict[str, Callable[[argparse.Namespace], Answer]] = {
    "analyze": _analyze,
    "optimize": _optimize,
    "simulate": _simulate,
    "run": _watched,
    "compare": _compare,
    "figures": _figures,
}
