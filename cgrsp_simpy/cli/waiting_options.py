"""The options of `cgrsp waiting`, and what they say: policies, prices, jobs and cases."""

from __future__ import annotations

import argparse
import logging
from dataclasses import replace
from typing import Any

import numpy as np

from cgrsp_simpy.cli.options import (
    READING,
    add_also,
    add_format,
    add_options,
    add_reading,
    check_work,
    flag,
    policies_of,
    reading_of,
)
from cgrsp_simpy.model.checks import InputError, check_number, check_whole, require
from cgrsp_simpy.waiting.jobs import ExponentialJobs, JobSource, ListedJobs
from cgrsp_simpy.waiting.logs import describe, read_jobs
from cgrsp_simpy.waiting.machines import M5, PAPER_PRICES, Prices, Size, read_sizes
from cgrsp_simpy.waiting.policies import (
    BASELINE_SHORT_S,
    BASELINE_WAIT_S,
    Mispredictions,
    WaitingPolicy,
    limits_of,
    waiting_policy,
)
from cgrsp_simpy.waiting.scenario import Scenario

log = logging.getLogger(__name__)

RATE, SERVICE = 0.2, 500.0  # the paper's baseline
# replications; generated jobs, and those of a run that is watched
TRIALS, JOBS, FEW = 5, 100_000, 100
MACHINE_CORES, GB_PER_CORE = 64, 4.0  # of a fixed machine, an m5.16xlarge


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the options of the queueing model: load, limits of the policies, prices."""
    short, price = "jobs below T s do not wait", "an hour (default: %(default)g)"
    add_options(
        parser,
        ("--rate R", float, f"jobs per second (default: {RATE:g})"),
        ("--service S", float, f"mean running time, s (default: {SERVICE:g})"),
        ("--wait B", float, f"longest wait, s; as policy:wait_s=B (default: {BASELINE_WAIT_S:g})"),
        ("--short T", float, f"{short}; as policy:short_s=T (default: {BASELINE_SHORT_S:g})"),
        ("--fixed-price F", float, price, PAPER_PRICES.fixed),
        ("--on-demand-price F", float, price, PAPER_PRICES.on_demand),
        ("--over F", float, "share of jobs that overrate their wait (sww, compound)", 0.0),
        ("--under F", float, "share of jobs that underrate it", 0.0),
    )


def add_duration(parser: argparse.ArgumentParser) -> None:
    """Add the options of the module's own verbs: over how many hours, and in which form."""
    told = "hours; adds the cost over them, in the prices' money"
    add_options(parser, ("--duration H", float, told))
    add_format(parser)


def add_trace(parser: argparse.ArgumentParser) -> None:
    """Add the options that put a log, and its machines, in the place of generated jobs."""
    group = parser.add_argument_group("a log of batch jobs in place of --rate and --service")
    add_options(group, ("--trace FILE", str, "a log of jobs, plain or gzipped"))
    add_reading(group)
    sizes = "sizes for rent: CSV of name, cores, memory_gb, price_per_h (default: m5)"
    orders = "fcfs, sjf or own.py:function of a View (default: %(default)s)"
    add_options(
        group,
        ("--machine-cores N", int, f"of a fixed machine (default: {MACHINE_CORES})"),
        ("--machine-memory GB", float, "of a fixed machine (default: 4 GB a core)"),
        ("--prices FILE", str, sizes),
        ("--whole", bool, "each job takes a machine as a whole, whatever it needs"),
        ("--order NAME", str, orders, "fcfs"),
    )


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a scenario to be simulated."""
    add_model(parser)
    add_options(parser, ("--servers N", int, "fixed machines"))
    add_trace(parser)
    conserving = "who need not wait takes an idle fixed machine all the same"
    add_options(
        parser.add_argument_group("simulation"),
        ("--jobs N", int, f"generated jobs (default: {JOBS}; of `run` {FEW})"),
        ("--run-over F", float, "share of short jobs taken for long", 0.0),
        ("--run-under F", float, "share of long jobs taken for short", 0.0),
        ("--work-conserving", bool, conserving),
    )


def add_trials(parser: argparse.ArgumentParser) -> None:
    """Add the module's own words for a study's options."""
    told = "the same as --seeds and --first-seed"
    add_also(parser, {"--trials": "seeds", "--seed": "first_seed"}, told)
    add_options(parser, ("--recursion", bool, "refuse a scenario that needs events"))


def policies_told(text: str, given: argparse.Namespace) -> list[WaitingPolicy]:
    """The policies of a list of names, with the limits that the options give."""
    texts = policies_of(text)
    require(len(set(texts)) == len(texts), "--policies", text, "names that differ")
    return [waiting_policy(each, **limits_given(given)) for each in texts]


def limits_given(given: argparse.Namespace) -> dict[str, float]:
    """The limits of waiting policies."""
    limits = {"wait_s": given.wait, "short_s": given.short}
    return {name: value for name, value in limits.items() if value is not None}


def with_limits(text: str, given: argparse.Namespace) -> str:
    """A policy's text with the limits that the options give, where it has such and does not say."""
    name, _, told = text.partition(":")
    own = [
        f"{limit}={value:.15g}"
        for limit, value in limits_given(given).items()
        if limit in limits_of(name) and f"{limit}=" not in told
    ]
    return ":".join([name, ",".join([*filter(None, [told]), *own])]) if own else text


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
        **load_of(given),
        **limits_given(given),
        "prices": prices_of(given),
        "errors": Mispredictions(given.over, given.under),
        "duration_h": given.duration,
    }


def load_of(given: argparse.Namespace) -> dict[str, float]:
    """What comes, on average."""
    rate, service = given.rate, given.service
    return {
        "rate_per_s": RATE if rate is None else rate,
        "service_s": SERVICE if service is None else service,
    }


def source_of(given: argparse.Namespace) -> JobSource:
    """The jobs: generated ones, or those of a log."""
    if given.trace is None:
        check_without_trace(given)
        usual = FEW if given.action == "run" else JOBS
        return ExponentialJobs(usual if given.jobs is None else given.jobs, **load_of(given))
    for option in ("rate", "service", "jobs"):
        value = getattr(given, option, None)
        require(value is None, f"--{option}", value, "left out where --trace has the jobs")
    return log_of(given)


def check_without_trace(given: argparse.Namespace) -> None:
    """The options that are for a log alone are left out."""
    for option in (*READING, "prices", "whole", "machine_cores", "machine_memory"):
        value = getattr(given, option)
        require(value is None or value is False, flag(option), value, "given with --trace")


def log_of(given: argparse.Namespace) -> ListedJobs:
    """The jobs of a log, which is summed up on stderr."""
    whole = getattr(given, "whole", False)
    jobs = read_jobs(given.trace, given.trace_format, whole=whole, **reading_of(given)).jobs
    log.info("%s: %s", given.trace, describe(jobs))
    if not jobs.run_s.any():
        raise InputError(
            f"{jobs.name}: an hour of work has no price: its {jobs.jobs:,} jobs run for 0 s"
        )
    return jobs


def scenario_of(given: argparse.Namespace, source: JobSource, servers: int) -> Scenario:
    """The jobs on a number of fixed machines; those of a log share them unless --whole is given."""
    check_whole("--servers", servers, least=1)
    machines: int | tuple[Size, ...] = servers
    sizes = M5 if given.prices is None else read_sizes(given.prices)
    if given.trace is not None and not given.whole:
        cores = MACHINE_CORES if given.machine_cores is None else given.machine_cores
        memory_gb = GB_PER_CORE * cores if given.machine_memory is None else given.machine_memory
        machines = (Size("fixed machine", cores, memory_gb, 0.0),) * servers
    errors = Mispredictions(given.over, given.under)
    own = {"order": given.order, "prices": prices_of(given), "sizes": sizes, "errors": errors}
    return Scenario(source, machines=machines, **own)


def simulated(given: argparse.Namespace) -> Scenario:
    """The scenario to be simulated; of `run` the jobs are all there are, so that each counts."""
    given_servers = 1 if given.servers is None and given.action == "sweep" else given.servers
    if given_servers is None:
        raise InputError("--servers, the number of fixed machines, is missing")
    source = source_of(given)
    if given.action == "run" and given.trace is None:
        check_work(given, source.jobs, kept=source.jobs)
        source = listed(source, given.seed)
    errors = Mispredictions(given.over, given.under, given.run_over, given.run_under)
    scenario = scenario_of(given, source, given_servers)
    return replace(scenario, errors=errors, work_conserving=given.work_conserving)


def listed(source: JobSource, seed: int) -> ListedJobs:
    """The jobs of a seed as all that there are."""
    submit_s, run_s, cores, memory_gb = map(np.concatenate, zip(*source.chunks(seed)))
    return ListedJobs(submit_s, run_s, cores, memory_gb)
