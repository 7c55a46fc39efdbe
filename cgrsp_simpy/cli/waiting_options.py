"""The options of `cgrsp waiting`, and what they say: policies, prices, jobs and cases."""

from __future__ import annotations

import argparse
import logging
import math
from dataclasses import replace
from typing import Any

import numpy as np

from cgrsp_simpy.cli.options import READING, add_gallery, add_reading, reading_of
from cgrsp_simpy.model.checks import InputError, check_number, check_whole, require
from cgrsp_simpy.waiting.case import Case
from cgrsp_simpy.waiting.formulas import closed_form, unsteady
from cgrsp_simpy.waiting.jobs import ExponentialJobs, JobSource, ListedJobs
from cgrsp_simpy.waiting.logs import describe, read_jobs
from cgrsp_simpy.waiting.machines import M5, PAPER_PRICES, Prices, Size, read_sizes
from cgrsp_simpy.waiting.policies import (
    BASELINE_SHORT_S,
    BASELINE_WAIT_S,
    Mispredictions,
    WaitingPolicy,
    waiting_policy,
)

log = logging.getLogger(__name__)

RATE, SERVICE = 0.2, 500.0  # the paper's baseline
TRIALS = 5
MACHINE_CORES, GB_PER_CORE = 64, 4.0  # of a fixed machine, an m5.16xlarge


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the options of the queueing model: load, policy, prices."""
    parser.add_argument("--rate", type=float, metavar="R", help=f"jobs per second (default: {RATE})")
    parser.add_argument("--service", type=float, metavar="S", help=f"mean running time, seconds (default: {SERVICE:g})")
    parser.add_argument("--wait", type=float, default=BASELINE_WAIT_S, metavar="B", help="longest wait, s (default: %(default)g)")
    parser.add_argument(
        "--short",
        type=float,
        default=BASELINE_SHORT_S,
        metavar="T",
        help="jobs shorter than T s do not wait (default: %(default)g)",
    )
    parser.add_argument(
        "--fixed-price", type=float, default=PAPER_PRICES.fixed, metavar="P", help="an hour (default: %(default)g)"
    )
    parser.add_argument(
        "--on-demand-price", type=float, default=PAPER_PRICES.on_demand, metavar="P", help="an hour (default: %(default)g)"
    )
    parser.add_argument("--duration", type=float, metavar="H", help="hours; adds the cost over them, in the prices' money")
    parser.add_argument(
        "--over", type=float, default=0.0, metavar="F", help="share of jobs that overrate their wait (sww, compound)"
    )
    parser.add_argument("--under", type=float, default=0.0, metavar="F", help="share of jobs that underrate it")
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table", help="default: %(default)s")


def add_trace(parser: argparse.ArgumentParser) -> None:
    """Add the options that put a log, and its machines, in the place of generated jobs."""
    group = parser.add_argument_group("a log of batch jobs in place of --rate and --service")
    group.add_argument("--trace", metavar="FILE", help="a log of jobs, plain or gzipped")
    add_reading(group)
    group.add_argument("--machine-cores", type=int, metavar="N", help=f"of a fixed machine (default: {MACHINE_CORES})")
    group.add_argument("--machine-memory", type=float, metavar="GB", help="of a fixed machine (default: 4 GB a core)")
    group.add_argument(
        "--prices", metavar="FILE", help="sizes for rent: CSV of name, cores, memory_gb, price_per_h (default: m5)"
    )
    group.add_argument("--whole", action="store_true", help="each job takes a machine as a whole, whatever it needs")
    group.add_argument(
        "--order", default="fcfs", metavar="NAME", help="fcfs, sjf or own.py:function of a WaitingView (default: %(default)s)"
    )


def add_simulation(parser: argparse.ArgumentParser, jobs: int) -> None:
    """Add the options of a simulation. jobs: their number, unless told."""
    group = parser.add_argument_group("simulation")
    group.add_argument("--jobs", type=int, metavar="N", help=f"generated jobs (default: {jobs})")
    parser.set_defaults(usual_jobs=jobs)
    group.add_argument("--seed", type=int, default=0, metavar="N", help="of the first trial (default: %(default)s)")
    group.add_argument("--run-over", type=float, default=0.0, metavar="F", help="share of short jobs taken for long")
    group.add_argument("--run-under", type=float, default=0.0, metavar="F", help="share of long jobs taken for short")
    group.add_argument(
        "--work-conserving", action="store_true", help="who need not wait takes an idle fixed machine all the same"
    )


def add_trials(parser: argparse.ArgumentParser) -> None:
    """Add the options of a simulation that is repeated."""
    group = parser.add_argument_group("replications")
    group.add_argument("--trials", type=int, metavar="N", help=f"replications (default: {TRIALS}; of a log 1)")
    group.add_argument("--recursion", action="store_true", help="by the recursion, without events: the same figures, sooner")
    group.add_argument("--workers", type=int, metavar="N", help="processes (default: this one)")


def add_figures(parser: argparse.ArgumentParser) -> None:
    """Add the options of the figures."""
    add_gallery(parser, "figures/waiting")
    parser.add_argument("--trace", metavar="FILE", help="a log for Figures 15 to 22 in place of generated jobs")
    add_reading(parser)


def policies_of(text: str, given: argparse.Namespace) -> list[WaitingPolicy]:
    """The policies of a list of names."""
    names = text.split(",")
    require(len(set(names)) == len(names), "--policies", text, "names that differ")
    return [waiting_policy(name, given.wait, given.short) for name in names]


def prices_of(given: argparse.Namespace) -> Prices:
    """The two prices."""
    return Prices(given.fixed_price, given.on_demand_price)


def check_duration(given: argparse.Namespace) -> None:
    """A duration is longer than nothing."""
    if given.duration is not None:
        check_number("--duration", given.duration, above=0)


def formula_of(given: argparse.Namespace) -> dict[str, Any]:
    """The arguments that `analyze` and `optimum` share."""
    return {
        "rate_per_s": RATE if given.rate is None else given.rate,
        "service_s": SERVICE if given.service is None else given.service,
        "wait_s": given.wait,
        "short_s": given.short,
        "prices": prices_of(given),
        "errors": Mispredictions(given.over, given.under),
        "duration_h": given.duration,
    }


def source_of(given: argparse.Namespace) -> JobSource:
    """The jobs: generated ones, or those of a log."""
    if given.trace is None:
        check_without_trace(given)
        own = formula_of(given)
        return ExponentialJobs(given.usual_jobs if given.jobs is None else given.jobs, own["rate_per_s"], own["service_s"])
    for option in ("rate", "service", "jobs"):
        value = getattr(given, option, None)
        require(value is None, f"--{option}", value, "left out where --trace has the jobs")
    return log_of(given)


def check_without_trace(given: argparse.Namespace) -> None:
    """The options that are for a log alone are left out."""
    for option in (*READING, "prices", "whole", "machine_cores", "machine_memory"):
        value = getattr(given, option)
        require(value is None or value is False, f"--{option.replace('_', '-')}", value, "given with --trace")


def log_of(given: argparse.Namespace) -> ListedJobs:
    """The jobs of a log, which is summed up on stderr."""
    jobs = read_jobs(given.trace, given.trace_format, **reading_of(given)).jobs
    log.info("%s: %s", given.trace, describe(jobs))
    return jobs


def case_of(given: argparse.Namespace, jobs: JobSource, policy: WaitingPolicy, servers: int = 1) -> Case:
    """What the options say, on a number of fixed machines; jobs of a log share them unless --whole is given."""
    machines: int | tuple[Size, ...] = servers
    sizes = M5 if given.prices is None else read_sizes(given.prices)
    check_whole("--servers", servers, least=1)
    if given.trace is not None and not given.whole:
        cores = MACHINE_CORES if given.machine_cores is None else given.machine_cores
        memory_gb = GB_PER_CORE * cores if given.machine_memory is None else given.machine_memory
        machines = (Size("fixed machine", cores, memory_gb, 0.0),) * servers
    return Case(jobs, policy, machines, given.order, prices_of(given), sizes)


def simulated(given: argparse.Namespace, jobs: JobSource, policy: WaitingPolicy) -> Case:
    """The case to be simulated; one that has a steady state, unless its jobs are all that there are."""
    errors = Mispredictions(given.over, given.under, given.run_over, given.run_under)
    case = replace(case_of(given, jobs, policy, given.servers), errors=errors, work_conserving=given.work_conserving)
    if case.steady and (why := why_unsteady(given, policy)):
        raise InputError(why)
    return case


def listed(source: JobSource, seed: int) -> ListedJobs:
    """The jobs of a seed as all that there are."""
    if isinstance(source, ListedJobs):
        return source
    submit_s, run_s, cores, memory_gb = (np.concatenate(column) for column in zip(*source.chunks(seed)))
    return ListedJobs(submit_s, run_s, cores, memory_gb)


def why_unsteady(given: argparse.Namespace, policy: WaitingPolicy) -> str:
    """Why generated jobs have no steady state under a policy; "" if they have one."""
    own = formula_of(given)
    form = closed_form(policy, own["rate_per_s"], own["service_s"], given.servers)
    return "" if math.isfinite(form.wait_s) else unsteady(policy, own["rate_per_s"], own["service_s"], given.servers)


def trials_of(given: argparse.Namespace) -> int:
    """The number of trials."""
    if given.trials is not None:
        check_whole("--trials", given.trials, least=1)
        return int(given.trials)
    return TRIALS if given.trace is None else 1
