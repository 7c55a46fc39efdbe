"""Jobs for the waiting policies: random ones, bursty as real ones, or from a log."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol, Unpack

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.base.arrays import Floats, Ints
from cgrsp_simpy.base.checks import (
    InputError,
    check_entries,
    check_one_of,
    refuse,
    require,
    set_columns,
)
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.parameters import (
    Count,
    Positive,
    declared,
    limits,
    parameter,
)
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.base.table import many
from cgrsp_simpy.logs import Log, Reading, Tags, read_log

CHUNK = 65_536  # jobs made at a time; the numbers do not depend on it


class Chunk(NamedTuple):
    """Consecutive jobs in order of submission; each column has shape (jobs,).

    submit_s: seconds from the start, not decreasing. run_s: running time, seconds, >=
    0. cores, memory_gb: demand per job, >= 1 and >= 0.
    """

    submit_s: Floats
    run_s: Floats
    cores: Ints
    memory_gb: Floats


class Job(NamedTuple):
    """A job as shown to a queue order.

    id: its number in order of submission, from 1. submit_s, run_s: submission and
    running time, seconds. cores, memory_gb: its demand.
    """

    id: int
    submit_s: float
    run_s: float
    cores: int
    memory_gb: float

    def __str__(self) -> str:
        memory = f", {self.memory_gb:g} GB" if self.memory_gb else ""
        return f"{self.run_s:.2f} s on {many(self.cores, 'core')}{memory}"


# two are equal only if they are the same object, which is found at once
Job.__eq__, Job.__hash__ = object.__eq__, object.__hash__  # type: ignore[method-assign]


class JobSource(Protocol):
    """Interface of a workload for the simulation and the recursion."""

    @property
    def jobs(self) -> int:
        """Number of jobs."""

    def chunks(self, seed: int) -> Iterator[Chunk]:
        """Yield the jobs generated for a seed, in chunks."""


@declared()
class ExponentialJobs:
    """The paper's baseline: exponential gaps and running times, each job on one core.

    waiting-policies.txt Section 3.
    """

    jobs: Count = parameter("Number of jobs, >= 1.")
    rate_per_s: Positive = parameter("lambda, jobs per second, > 0.", default=0.2)
    service_s: Positive = parameter("1 / mu, seconds, > 0.", default=500.0)

    def __str__(self) -> str:
        jobs = many(self.jobs, "job")
        return f"{jobs} ({self.rate_per_s:g}/s, mean {self.service_s:g} s)"

    def chunks(self, seed: int) -> Iterator[Chunk]:
        """Yield the jobs of a seed in chunks; the first job arrives after one gap."""
        arrivals, services = stream(seed, "arrivals"), stream(seed, "service")
        now = 0.0
        for first in range(0, self.jobs, CHUNK):
            number = min(CHUNK, self.jobs - first)
            gaps = arrivals.exponential(1.0 / self.rate_per_s, number)
            gaps[0] += now
            submit = np.cumsum(gaps)
            now = submit[-1]
            yield Chunk(
                submit,
                services.exponential(self.service_s, number),
                np.ones(number, np.int64),
                np.zeros(number),
            )


@dataclass(frozen=True, eq=False)
class ListedJobs:
    """A list of jobs, such as those of a log, the same for every seed.

    submit_s, run_s, cores, memory_gb: see `Chunk`. tags: for jobs from a log, its ids
    and all other columns, as strings. Raises InputError, naming the first invalid job
    (numbered from 1), for columns of unequal length, negative or infinite times,
    submissions out of order, or needs below one core or 0 GB.
    """

    submit_s: Floats = field(repr=False)
    run_s: Floats = field(repr=False)
    cores: Ints = field(repr=False)
    memory_gb: Floats = field(repr=False)
    name: str = "jobs"
    tags: Tags = field(default_factory=Tags, repr=False)

    def __post_init__(self) -> None:
        set_columns(
            self, {name: "i8" if name == "cores" else "f8" for name in Chunk._fields}
        )
        if self.jobs == 0:
            raise InputError(f"{self.name}: no usable job")
        for column in Chunk._fields:
            check_entries(column, getattr(self, column), least=column == "cores")
        refuse(
            np.diff(self.submit_s) < 0,
            lambda before: (
                f"submit_s of job {before + 2}(={self.submit_s[before + 1].item()})"
                " must not be before that of the previous job"
            ),
        )

    def __str__(self) -> str:
        jobs = many(self.jobs, "job")
        return jobs if self.name == "jobs" else f"{self.name}, {jobs}"

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.submit_s)

    def chunks(self, seed: int) -> Iterator[Chunk]:
        """Yield the jobs in chunks."""
        for first in range(0, self.jobs, CHUNK):
            part = slice(first, first + CHUNK)
            yield Chunk(*(getattr(self, name)[part] for name in Chunk._fields))


def scenario_jobs(scenario: Any, gpu: str, seed: int = 0) -> ListedJobs:
    """Return the jobs of a thesis scenario, run on one GPU type without provisioning.

    scenario: a `cgrsp_simpy.Scenario`. gpu: name of one of its types; any other raises
    InputError. The column cores holds the jobs' GPUs.
    """
    types = {kind.name: kind for kind in scenario.gpus}
    require(gpu in types, "gpu", gpu, f"one of {', '.join(types)}")
    means = types[gpu].mean_execution_s
    rows = [
        (job.submit_s, means[job.complexity - 1] * draws.service, job.gpus)
        for job, draws in scenario.workload.generate(seed, scenario.service)
    ]
    submit, run, cores = (np.array(column) for column in zip(*rows))
    return ListedJobs(submit, run, cores, np.zeros(len(rows)), scenario.name)


DAY_S = 86_400.0
PAUSE_S = 180.0, 180_000.0  # least and most: 3 minutes and 50 hours
# array jobs: mean size, and mean gap within an array, seconds
ARRAY_JOBS, WITHIN_S = 8.0, 0.1
# 92 jobs per day; with much fewer, gaps between arrays would exceed the longest
LEAST_PER_S = 0.001
# arrays of jobs 0.1 s apart follow one another: there is no room for more than 11 per
# second
MOST_PER_S = 5.0
# jobs with exponential times: their share and mean running time, seconds
SHORT_SHARE, SHORT_MEAN_S = 0.55, 45.0
CORES = 2 ** np.arange(5)
CORES_SHARES = np.array([0.6**k for k in range(5)]) / summed(0.6**k for k in range(5))
GB_PER_CORE, GB_SHARES = 2.0 ** np.arange(4), (0.35, 0.35, 0.25, 0.05)


@declared()
class BurstyJobs:
    """Jobs with the published features of a real year-long trace, which is not
    available.

    Numbers in parentheses are from the paper (waiting-policies.txt Section 6.1);
    distributions and other numbers are our choices.

    Arrivals. Jobs arrive in periods of 24 h (days), each after a pause (a few gaps
    between 3 minutes and 50 h, none longer). Pauses follow a Pareto distribution of
    index 1/2 between these bounds; their mean, 1.6 h, is the bounds' geometric mean.
    The number of jobs per day is geometric. Jobs arrive in arrays of geometric size
    with mean 8; gaps within an array are exponential with mean 0.1 s (nearly 90 % of
    the gaps are below 1 s). The gaps between the arrays of a day are exponential.

    Running times. 55 % of the jobs are short, with an exponential distribution of mean
    45 s. The others have a Weibull distribution of shape 1/2, with the mean that gives
    mean_run_s overall. (Over 60 % of the jobs run below 3 minutes; fewer than under an
    exponential distribution from there to 6 h, more above; the mean is 6225 s.) They
    depend neither on needs nor on arrays.

    Needs. All jobs of an array have the same needs. Cores are a power of two up to 16,
    each 0.6 times as frequent as the next smaller. Memory is 1, 2, 4 or 8 GB per core
    for 35, 35, 25 and 5 % of the arrays.

    A lower rate gives fewer arrays per day; their sizes, the days and the pauses do not
    change. Near 0.001 jobs per second it is up to 5 % too high, as gaps are cut at 50
    h.
    """

    jobs: Count = parameter("Number of jobs, >= 1.")
    rate_per_s: Annotated[
        float,
        limits(
            f"a number from {LEAST_PER_S:g} to {MOST_PER_S:g}",
            ge=LEAST_PER_S,
            le=MOST_PER_S,
        ),
    ] = parameter("Mean rate, jobs per second, from 0.001 to 5.", default=0.4527)
    mean_run_s: Annotated[
        float, limits(f"a number > {SHORT_MEAN_S:g}", gt=SHORT_MEAN_S)
    ] = parameter("Mean running time, seconds, above 45.", default=6225.0)

    def __str__(self) -> str:
        return (
            f"{many(self.jobs, 'bursty job')} ({self.rate_per_s:g}/s, mean"
            f" {self.mean_run_s:g} s)"
        )

    def chunks(self, seed: int) -> Iterator[Chunk]:
        """Yield the jobs of a seed per day; the nth job does not depend on `jobs`."""
        arrivals, services, needs = (
            stream(seed, name) for name in ("arrivals", "service", "needs")
        )
        left, now = self.jobs, 0.0
        while left > 0:
            submit, array = self._day(arrivals, now)
            run = self._run_times(services, len(submit))
            (cores, memory) = _needs(needs, array)
            yield Chunk(submit[:left], run[:left], cores[:left], memory[:left])
            left, now = left - len(submit), submit[-1]

    def _day(self, draws: Generator, now: float) -> tuple[Floats, Ints]:
        """Return the submission times of a day after a pause, and array numbers."""
        least, most = PAUSE_S
        days_s = math.sqrt(least * most) + DAY_S  # a day's, with the mean of its pause
        within_s = (1 - 1 / ARRAY_JOBS) * WITHIN_S  # per job
        mean_jobs = self.rate_per_s * days_s / (1 - self.rate_per_s * within_s)
        number = draws.geometric(1 / mean_jobs)
        first = draws.random(number) < 1 / ARRAY_JOBS
        gaps = draws.standard_exponential(number) * np.where(
            first, DAY_S * ARRAY_JOBS / number, WITHIN_S
        )
        # a bounded Pareto variate of index 1/2
        gaps[0] += least / (1 - draws.random() * (1 - math.sqrt(least / most))) ** 2
        gaps = np.minimum(gaps, most)
        gaps[0] += now
        return np.cumsum(gaps), np.cumsum(first)

    def _run_times(self, draws: Generator, number: int) -> Floats:
        short = draws.random(number) < SHORT_SHARE
        unit = draws.standard_exponential(number)
        long_mean_s = (self.mean_run_s - SHORT_SHARE * SHORT_MEAN_S) / (1 - SHORT_SHARE)
        # the square's mean is 2: Weibull with shape 1/2
        return np.where(short, SHORT_MEAN_S * unit, long_mean_s / 2 * unit**2)


def _needs(draws: Generator, array: Ints) -> tuple[Ints, Floats]:
    """Draw cores and memory per job; array: the jobs' array numbers, not decreasing."""
    arrays = int(array[-1]) + 1
    cores = draws.choice(CORES, arrays, p=CORES_SHARES)[array]
    return cores, cores * draws.choice(GB_PER_CORE, arrays, p=GB_SHARES)[array]


# the paper's short jobs, waiting-policies.txt Section 6.1: below 3 minutes
SHORT_S = 180


class ReadJobs(NamedTuple):
    """Jobs in order of submission, the first at time 0, and the log with its report."""

    jobs: ListedJobs
    log: Log


def read_jobs(
    path: str | Path,
    format: str | None = None,
    *,
    window: str | None = None,
    whole: bool = False,
    unit: str = "cores",
    **reading: Unpack[Reading],
) -> ReadJobs:
    """Read a log of batch jobs.

    Required columns: submit_s (when a job is ready) and service_s; optional: cores
    (default 1, rounded up) and memory_gb (default 0). A job of 0 s is kept; a job with
    0 processors is left out. path, format, window, reading: see
    `cgrsp_simpy.logs.read_log`. whole: whether each job takes a whole machine, so that
    its GPUs are ignored. unit: unit by which machines are priced, "cores" or "gpus";
    for "gpus", the column cores holds the GPUs, and jobs without a GPU are left out.
    Raises InputError with the file's name and, if known, the line; also for jobs that
    use GPUs if machines are priced by cores, unless `whole`.
    """
    nouns = {"cores": "processors", "gpus": "GPUs"}
    check_one_of("unit", unit, nouns)
    log = read_log(path, format, window=window, **reading)
    # SWF has processors, which other modules take for GPUs
    gpus = log.get("gpus", 0)
    if not whole and unit == "cores" and log.format != "swf" and (gpus > 0).any():
        raise InputError(
            f"{log.path}: {np.count_nonzero(gpus):,} of {len(log):,} jobs use"
            f" GPUs (mean {gpus[gpus > 0].mean():.3g}), but shared machines are"
            " priced by"
            " processor cores and memory; use a table of machines with a column"
            " gpus (sizes=FILE), or one machine per job (machines=3, or"
            " machine=whole in a plan); to compare GPU schedulers, use cgrsp"
            " compare cluster"
        )
    log = log.usable(
        "jobs for waiting policies",
        ("submit_s", "service_s"),
        {f"no {nouns[unit]}": lambda rows: np.asarray(rows.get(unit, 1) == 0)},
    )
    jobs = ListedJobs(
        log["ready_s"] - log["ready_s"][0],
        log["service_s"],
        np.ceil(log.get(unit, 1)),
        log.get("memory_gb", 0),
        log.path.name,
        log.tags,
    )
    return ReadJobs(jobs, log)


def describe(jobs: ListedJobs, unit: str = "cores") -> str:
    """Describe a log on one line. unit: unit of its column cores."""
    span_s = float(jobs.submit_s[-1] - jobs.submit_s[0])
    rates = (
        f"{jobs.jobs / span_s * DAY_S:,.1f} per day, load"
        f" {jobs.run_s @ jobs.cores / span_s:,.1f} {unit}"
        if span_s
        else "all at once"
    )
    return (
        f"{many(jobs.jobs, 'job', ',')} in {span_s / DAY_S:,.2f} days, {rates}; run"
        f" time mean {jobs.run_s.mean():,.1f} s, median {np.median(jobs.run_s):,.1f} s,"
        f" {np.mean(jobs.run_s < SHORT_S):.1%} below {SHORT_S // 60} minutes; mean"
        f" {unit} {jobs.cores.mean():,.2f}"
    )
