"""Logs of batch jobs as jobs for the waiting policies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cgrsp_simpy.logs import Log, read_log
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.waiting.jobs import ListedJobs

# the paper's short jobs, waiting-policies.txt Section 6.1: below 3 minutes
DAY_S, SHORT_S = 86_400, 180


class ReadJobs(NamedTuple):
    """Jobs in order of submission, time 0 being the first, and the log that they are from.

    log: with its report.
    """

    jobs: ListedJobs
    log: Log


def read_jobs(
    path: str | Path,
    format: str | None = None,
    *,
    window: str | None = None,
    strict: bool = False,
    columns: Mapping[str, str] | None = None,
    whole: bool = False,
) -> ReadJobs:
    """Read a log of batch jobs.

    Needed are submit_s and service_s; cores (else 1, a part of one counts as one) and memory_gb
    (else 0) are taken where they are told. A job of 0 s takes no time, and is kept; one without a
    processor is left out.

    path, format, window, strict, columns: as of `cgrsp_simpy.logs.read_log`. whole: whether each
    job is to take a machine as a whole: then its GPUs do not matter. Result: the jobs and their
    log. Raises InputError with the file's name, and the line where there is one; also for jobs that
    hold GPUs, unless `whole`: machines are priced by processor cores and memory.
    """
    log = read_log(path, format, window=window, strict=strict, columns=columns)
    if not whole:
        _check_no_gpus(log)
    log = log.usable(
        "jobs for waiting policies", ("submit_s", "service_s"), {"no processors": _without_cores}
    )
    submit_s, cores = log["submit_s"], np.ceil(log.get("cores", 1)).astype(np.int64)
    jobs = ListedJobs(
        submit_s - submit_s[0],
        log["service_s"],
        cores,
        log.get("memory_gb", 0),
        log.path.name,
        log.tags,
    )
    return ReadJobs(jobs, log)


def _check_no_gpus(log: Log) -> None:
    """Jobs hold cores alone; SWF tells processors, which other modules take for GPUs."""
    gpus = log.get("gpus", 0)
    if log.format == "swf" or not (gpus > 0).any():
        return
    raise InputError(
        f"{log.path}: {np.count_nonzero(gpus):,} of {len(log):,} jobs hold GPUs (mean"
        f" {gpus[gpus > 0].mean():.3g}), but shared machines are priced by processor cores and"
        " memory; what fits: each job on a machine of its own (--whole); for schedulers"
        " of GPUs: cgrsp cluster; for rented GPUs: cgrsp advise"
    )


def _without_cores(log: Log) -> np.ndarray:
    return np.asarray(log.get("cores", 1) == 0)


def describe(jobs: ListedJobs) -> str:
    """A log in one line.

    jobs: of a log. Result: number of jobs, days up to the last submission, jobs a day, load in
    core-seconds submitted a second, run times in seconds, and cores.
    """
    span_s = float(jobs.submit_s[-1] - jobs.submit_s[0])
    rates = "all at once"
    if span_s:
        rates = (
            f"{jobs.jobs / span_s * DAY_S:,.1f} a day, load {jobs.run_s @ jobs.cores / span_s:,.1f}"
            " cores"
        )
    return (
        f"{jobs.jobs:,} jobs in {span_s / DAY_S:,.2f} days, {rates}; run time"
        f" mean {jobs.run_s.mean():,.1f} s, median {np.median(jobs.run_s):,.1f} s,"
        f" {np.mean(jobs.run_s < SHORT_S):.1%} below {SHORT_S // 60} minutes; mean cores"
        f" {jobs.cores.mean():,.2f}"
    )
