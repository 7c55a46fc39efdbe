"""Options of the commands on rented slots, and the scenario from them."""

from __future__ import annotations

import argparse
import logging
from dataclasses import replace
from typing import Any

import numpy as np

from cgrsp_simpy.base.checks import InputError, check_one_of, require
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.base.table import progress
from cgrsp_simpy.cli.fields import (
    add_fields,
    checked,
    fields_of,
    fields_text,
    given_of,
    pairs_of,
)
from cgrsp_simpy.cli.options import add_log, add_options, reading_of, refuse
from cgrsp_simpy.cli.pattern import Module
from cgrsp_simpy.rental.days import day, trace
from cgrsp_simpy.rental.market import Market
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.workload import DAYS, LoggedWorkload
from cgrsp_simpy.studies.subject import subject_of

log = logging.getLogger(__name__)
OF_DAY = ("slots", "tight_fraction", "jobs", "rate_per_s", "free_types", "gpus")
OF_MARKET = fields_of(day, "clock") | fields_of(Market, "persistence_s", "sight")
# Term of renting -> terms of which it needs one to have an effect.
NEEDS = {
    "checkpoint_s": ("preemption_per_h", "taken_when_low"),
    "checkpoint_cost_s": ("checkpoint_s",),
    "restart_s": ("preemption_per_h", "taken_when_low", "suspension"),
}


def add_scenario(parser: argparse.ArgumentParser, own: bool = True) -> None:
    """Add the options for a day, a log or a file. own: with its parameters."""
    group = parser.add_argument_group(
        "scenario: a file, a day of the thesis, or a log of jobs"
    )
    file = "a scenario file, as Scenario.to_toml writes"
    group.add_argument("scenario", nargs="?", metavar="FILE.toml", help=file)
    add_options(group, ("--day NAME", str, f"{', '.join(DAYS)} (default: hectic)"))
    add_log(group)
    if own:
        add_fields(group, day, *OF_DAY, "terms")
    told = (
        f"{', '.join(OF_MARKET)}; or a file of stock and prices; may be given again\n"
        "The file: laws (cgrsp market fit --out), or snapshots, which are replayed. A"
        " type that it calls otherwise: RTX 3090=H100_80GB SXM5.\n"
        f"{fields_text(OF_MARKET)}"
    )
    how: dict[str, Any] = {
        "action": "append",
        "type": checked(_market),
        "metavar": "A=X|FILE",
    }
    group.add_argument("--market", help=told, **how)


def scenario_of(args: argparse.Namespace) -> Scenario:
    """Return the scenario of the options; a log is summarised on stderr."""
    sources = list(given_of(args, "scenario", "day", "trace"))
    if len(sources) > 1:
        raise InputError("give one of a scenario file, --day and --trace, not several")
    source = sources[0] if sources else "day"
    if source != "trace":
        refuse(args, "given with --trace", "log")
    own = given_of(args, *OF_DAY)
    if source == "scenario":
        refuse(args, "left out with a scenario file, which names its types", "gpus")
        scenario = subject_of(Scenario.from_toml(args.scenario)).varied(**own)
    elif source == "trace":
        refuse(args, "left out with --trace, which has the jobs", "jobs", "rate_per_s")
        scenario = trace(args.trace, **reading_of(args), **own)
    else:
        scenario = day("hectic" if args.day is None else args.day, **own)
    scenario = _on_market(args, scenario)
    scenario = _on_terms(args, scenario)
    if isinstance(scenario.workload, LoggedWorkload):
        log.info("%s", _summary(scenario, scenario.workload))
    return scenario


def _market(text: str) -> str | dict[str, Any]:
    """Parse one --market: a file, or pairs, whose unknown names are types."""
    if "=" not in text:
        return text
    own: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        require(
            bool(name and value) and name not in own,
            "pairs",
            text,
            "name=value, each once",
        )
        own[name] = pairs_of(OF_MARKET, part)[name] if name in OF_MARKET else value
    return own


def _on_market(args: argparse.Namespace, scenario: Scenario) -> Scenario:
    """Set the clock and the stock from the options."""
    parts = args.market or []
    files = [part for part in parts if isinstance(part, str)]
    types = {
        name: part[name] for part in parts if isinstance(part, dict) for name in part
    }
    for name in types:
        names = [*OF_MARKET, *(gpu.name for gpu in scenario.gpus)]
        check_one_of("name in --market", name, names)
    own = {name: types.pop(name) for name in OF_MARKET if name in types}
    if not files:
        require(not types, "--market", types, "given with a file that has these types")
        return subject_of(scenario).varied(**own) if own else scenario
    # loads SciPy's solvers
    from cgrsp_simpy.rental.measured import measured, on_market

    told = "left out with a file, which has its own"
    sight = own.pop("sight", "none")
    require("persistence_s" not in own, "persistence_s", own.get("persistence_s"), told)
    found = on_market(
        subject_of(scenario).varied(**own), measured(*files), types or None, sight
    )
    span_s = scenario.jobs / scenario.workload.rate_per_s
    for each in found.market.series:
        if each.length_s < span_s:
            told = "%s: the series of %.1f h is shorter than the run, and starts again"
            log.info(told, each.gpu, each.length_s / 3600)
    return found


def _on_terms(args: argparse.Namespace, scenario: Scenario) -> Scenario:
    """Set the terms of renting from the options; some need persistent stock."""
    own = getattr(args, "terms", None) or {}
    terms = replace(scenario.terms, **own)
    varied = [text.partition("=")[0] for text in getattr(args, "grid", ())]
    for name, owners in NEEDS.items():
        effective = any(getattr(terms, each) or each in varied for each in owners)
        if not effective and (name in own or name in varied):
            raise InputError(f"{name} goes with {' or '.join(owners)}")
    return replace(scenario, terms=terms) if own else scenario


def _summary(scenario: Scenario, jobs: LoggedWorkload) -> str:
    """Summarise a log: jobs, span, rate, service quantiles, offered load."""
    span_h = (jobs.submit_s[-1] - jobs.submit_s[0]) / 3600
    span = f"{span_h:.1f} h" if span_h >= 0.1 else f"{3600 * span_h:.3g} s"
    pace = f", {jobs.rate_per_s * 3600:.1f} an hour" if span_h else ""
    median, ninety, most = np.quantile(jobs.service_s, [0.5, 0.9, 0.99])
    load, slots = scenario.known().offered_load, f"on {len(scenario.slots)} slots"
    told = (
        f"offered load {load:.3f} {slots} (execution time only)"
        if span_h
        else f"all at once, {slots}"
    )
    lead_h = jobs.submit_s[0] / 3600
    begun = f", the first {lead_h:,.1f} h after time 0" if lead_h > span_h > 0 else ""
    return (
        f"{scenario.name}: {jobs.jobs} job{'s' * (jobs.jobs > 1)} over"
        f" {span}{pace}{begun}; service median {median:.0f} s, 90 % {ninety:.0f} s, 99"
        f" % {most:.0f} s; {told}"
    )


def _drawn(scenario: Scenario, args: argparse.Namespace) -> Any:
    """Return the arrivals, with a progress bar unless events are listed."""
    return progress(
        scenario.arrivals(Draw(args.seed)),
        total=scenario.jobs,
        unit="job",
        # None: off if stderr is not a terminal
        disable=None if {"events", "step"}.isdisjoint(args.show or ()) else True,
    )


RENTAL = Module(Scenario, add_scenario, scenario_of, seeds=30, drawn=_drawn)
