"""Options that several commands share: which scenario."""

from __future__ import annotations

import argparse
import logging

import numpy as np

from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.model.market import CLOCKS
from cgrsp_simpy.model.scenario import Scenario, day, trace
from cgrsp_simpy.model.traces import FORMATS
from cgrsp_simpy.model.workload import DAYS, LoggedWorkload

__all__ = ["add_scenario", "scenario_of"]

log = logging.getLogger(__name__)


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a scenario: a day, a log, or a file."""
    group = parser.add_argument_group("scenario: a file, a day of the thesis, or a log of real jobs")
    group.add_argument("scenario", nargs="?", metavar="FILE.toml", help="a scenario file")
    group.add_argument("--day", metavar="NAME", help=f"{', '.join(DAYS)} (default: hectic)")
    group.add_argument("--trace", metavar="FILE", help="a log of jobs")
    group.add_argument("--trace-format", metavar="NAME", help=f"{' or '.join(FORMATS)} (default: csv)")
    group.add_argument("--window", metavar="FROM:TO", help="part of the log, up to but without TO, e.g. 2024-11-20:2024-11-22")
    group.add_argument("--strict", action="store_true", help="refuse a log with bad rows or out of order")
    group.add_argument("--slots", type=int, metavar="N", help="GPU slots, types in turn (default: 5)")
    group.add_argument("--tight-fraction", type=float, metavar="F", help="share of 1-hour deadlines (default: 0.2)")
    group.add_argument("--jobs-per-day", type=int, metavar="N", help="number of jobs in place of the day's")
    group.add_argument("--rate", type=float, metavar="R", help="arrivals per second in place of the day's")
    group.add_argument("--free-types", action="store_true", help="let the policy choose the type of an idle slot")
    group.add_argument("--clock", metavar="NAME", help=f"{' or '.join(CLOCKS)}: hours of scarce stock (default: calibrated)")


# Option -> what it belongs to.
_ONLY_DAY = {"jobs_per_day": "--jobs-per-day", "rate": "--rate"}
_ONLY_TRACE = {"trace_format": "--trace-format", "window": "--window", "strict": "--strict"}
_NOT_FILE = {"slots": "--slots", "tight_fraction": "--tight-fraction", "free_types": "--free-types", "clock": "--clock"}


def scenario_of(given: argparse.Namespace) -> Scenario:
    """The scenario that the options name; a log is summed up on stderr."""
    sources = [name for name in ("scenario", "day", "trace") if getattr(given, name) is not None]
    if len(sources) > 1:
        raise InputError("give one of a scenario file, --day and --trace, not several")
    source = sources[0] if sources else "day"
    if source != "trace":
        _refuse(given, _ONLY_TRACE, "--trace")
    if source != "day":
        _refuse(given, _ONLY_DAY, "--day")
    if source == "scenario":
        _refuse(given, _NOT_FILE, "--day or --trace; change the file instead")
        scenario = Scenario.from_toml(given.scenario)
    else:
        own = {name: getattr(given, name) for name in _NOT_FILE if getattr(given, name) is not None}
        if source == "trace":
            scenario = trace(given.trace, given.trace_format or "csv", given.window, strict=given.strict, **own)
        else:
            scenario = day(given.day or "hectic", jobs=given.jobs_per_day, rate_per_s=given.rate, **own)
    if isinstance(scenario.workload, LoggedWorkload):
        log.info("%s", _summary(scenario, scenario.workload))
    return scenario


def _refuse(given: argparse.Namespace, options: dict[str, str], owner: str) -> None:
    for name, option in options.items():
        if getattr(given, name) not in (None, False):
            raise InputError(f"{option} goes with {owner}")


def _summary(scenario: Scenario, jobs: LoggedWorkload) -> str:
    """What was loaded: jobs, span, rate, service quantiles, offered load."""
    span_h = (jobs.submit_s[-1] - jobs.submit_s[0]) / 3600
    rate = jobs.rate_per_s * 3600
    median, ninety, most = np.quantile(jobs.service_s, [0.5, 0.9, 0.99])
    return (
        f"{scenario.name}: {jobs.jobs} jobs over {span_h:.1f} h, {rate:.1f} an hour; service median {median:.0f} s,"
        f" 90 % {ninety:.0f} s, 99 % {most:.0f} s; offered load {scenario.known().offered_load:.3f} on"
        f" {len(scenario.slots)} slots (execution time only)"
    )
