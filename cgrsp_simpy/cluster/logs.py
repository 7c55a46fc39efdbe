"""Logs of clusters as jobs of a multi-GPU cluster, the cluster that a log tells of, and
schedules as a log.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cgrsp_simpy.cluster.jobs import KINDS, MAY_LACK, PAPER_CLUSTER, Cluster, Ints, Jobs
from cgrsp_simpy.cluster.metrics import run_s
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.logs import NO_TIME, Log, read_log, swf_text
from cgrsp_simpy.logs.fields import Format
from cgrsp_simpy.model.checks import InputError, check_bool

log = logging.getLogger(__name__)
INFERENCE, TRAINING = KINDS.index("inference"), KINDS.index("training")
NEEDED = ("submit_s", "service_s", "gpus")


def read_jobs(
    path: str | Path,
    format: str | Format | None = None,
    cluster: Cluster = PAPER_CLUSTER,
    *,
    skip_wide: bool = False,
    window: str | None = None,
    strict: bool = False,
    columns: Mapping[str, str] | None = None,
) -> Jobs:
    """The jobs of a log that is read, as of `jobs_of`.

    path, format: as of `cgrsp_simpy.logs.read_log`. cluster, skip_wide: as of `jobs_of`. window,
    strict, columns: as of `cgrsp_simpy.logs.read_log`. Result: in order of submission, with the
    log's tags. Raises InputError with the file's name, and the line where there is one.
    """
    check_bool("skip_wide", skip_wide)
    return jobs_of(
        read_log(path, format, window=window, strict=strict, columns=columns),
        cluster,
        skip_wide=skip_wide,
    )


def jobs_of(found: Log, cluster: Cluster = PAPER_CLUSTER, *, skip_wide: bool = False) -> Jobs:
    """The jobs of a log on a cluster; time 0 is the first arrival.

    Needed are submit_s, service_s and gpus. A job without a GPU and one of 0 s are left out. The
    estimate is the limit that was given, else the run time, which tables say. Ours, for logs tell
    no more: latency-sensitive pods (qos LS of openb) are inference, all others training. The family
    is the application (swf), the model without its batch size (philly), or all pods of equal
    demands (openb). What a log does not tell of its jobs (work, family, user) is not made up from
    what happened to them: the column is None, and schedulers that look at it refuse the log. The
    user is None unless the log tells two users apart at least.

    cluster: that they are to run on. skip_wide: leave out a job that is too wide for the cluster,
    instead of refusing it. Result: in order of submission, with the log's tags. Raises InputError
    with the file's name, and the line where there is one.
    """

    def too_wide(rows: Log) -> np.ndarray:
        return np.array([not cluster.holds(int(gpus)) for gpus in rows["gpus"]], dtype=bool)

    reasons = {
        "no GPU": lambda rows: np.asarray(np.nan_to_num(rows["gpus"]) == 0),
        **NO_TIME,
        **({"wider than the cluster": too_wide} if skip_wide else {}),
    }
    found = found.usable("jobs of a cluster", NEEDED, reasons)
    if (wide := too_wide(found)).any():
        first = np.flatnonzero(wide)[np.argmin(found.line[wide])]
        raise InputError(
            f"{found.path}: line {found.line[first]}: the job needs"
            f" {found['gpus'][first]:.0f} GPUs; the cluster has {cluster.gpus} (skip_wide leaves"
            " such jobs out)"
        )
    duration_s, none = found["service_s"], ("",) * len(found)
    limit_s = found.get("limit_s", 0)
    jobs = Jobs(
        found["submit_s"] - found["submit_s"].min(),
        found["gpus"].astype(np.int64),
        duration_s,
        np.where(limit_s > 0, limit_s, duration_s),
        _known(found, "known_work"),
        np.array(
            [
                INFERENCE if qos == "LS" and found.format == "openb" else TRAINING
                for qos in found.tags.get("qos", none)
            ]
        ),
        _numbered(_families(found), least=1),
        _numbered(found.tags.get("user", none), least=2),
        found.path.name,
        found.tags,
        limit_s > 0,
    )
    _report(found, jobs, cluster)
    return jobs


def _known(found: Log, column: str) -> np.ndarray | None:
    """A column, if it tells a number > 0 of each job."""
    return found[column] if column in found and np.all(found[column] > 0) else None


def _families(found: Log) -> Sequence[str]:
    """What tells the families of models apart; "" where nothing does."""
    tags = found.tags
    if found.format == "philly":
        return [job_type.partition(" (")[0] for job_type in tags["job_type"]]
    if found.format == "openb":
        return [
            repr(demands)
            for demands in zip(found["cores"], found["memory_gb"], found["gpus"], tags["gpu_milli"])
        ]
    return tags.get("application", tags.get("family", ("",) * len(found)))


def _numbered(marks: Sequence[str], least: int) -> Ints | None:
    """Whole numbers for marks, in the order in which they first occur; None if fewer than
    `least` are told.
    """
    numbers = {mark: number for number, mark in enumerate(dict.fromkeys(marks))}
    return (
        np.array([numbers[mark] for mark in marks]) if len(numbers.keys() - {""}) >= least else None
    )


def _report(found: Log, jobs: Jobs, cluster: Cluster) -> None:
    load = jobs.load(cluster)
    log.info(
        "%s: %d jobs read; GPUs of a job %.2f on average, at most %d; estimates shorter than the"
        " run: %d, equal to it: %d; not told: %s; %s %d GPUs",
        found.path,
        jobs.jobs,
        jobs.gpus.mean(),
        jobs.gpus.max(),
        (jobs.estimate_s < jobs.duration_s).sum(),
        (jobs.estimate_s == jobs.duration_s).sum(),
        ", ".join(column for column in MAY_LACK if column not in jobs.columns) or "none",
        f"offered load {load:.3g} of" if np.isfinite(load) else "all at once, on",
        cluster.gpus,
    )


# ---- the cluster of a log, and a schedule as a log ----


def cluster_of(found: Log) -> Cluster | None:
    """The cluster that the header of an SWF file tells.

    Result: MaxProcs processors, spread evenly over MaxNodes nodes (else on one); None if it tells
    no processors.
    """
    processors, nodes = (
        re.match(r"\d+", found.header.get(name, "")) for name in ("MaxProcs", "MaxNodes")
    )
    total = int(processors[0]) if processors else 0
    if total == 0:
        return None
    number = min(int(nodes[0]), total) if nodes and int(nodes[0]) else 1
    return Cluster(tuple(total // number + (node < total % number) for node in range(number)))


def schedule_text(run: Run) -> str:
    """A schedule in the Standard Workload Format: submissions, waits and run times in seconds, GPUs
    as processors.

    The job number is the log's job_id where all are whole numbers that differ; else jobs are
    numbered from 1, and the comments say which ids these are of. The status is 1 (completed), or 0
    for a job that was ended at its limit.

    Result: the comments, then a line a job.
    """
    jobs, tags, cluster = run.jobs, run.scenario.tags, run.scenario.cluster
    columns = {
        "submit time": jobs["submit_s"],
        "wait time": jobs["start_s"] - jobs["submit_s"],
        "run time": run_s(jobs),
        "allocated processors": jobs["gpus"],
        "requested processors": jobs["gpus"],
        "requested time": jobs["estimate_s"],
        "status": (~jobs["killed"]).astype(np.int64),
    }
    for name, column in (("user", "user"), ("application", "family")):
        if column in (jobs.dtype.names or ()):
            columns[name] = _own_numbers(tags.get(name, ()), jobs[column])
    told = {
        "Computer": f"simulated, {run.policy}",
        "MaxNodes": len(cluster.sizes),
        "MaxProcs": cluster.gpus,
    }
    return swf_text(columns, tags.get("job_id", ()), told)


def _own_numbers(texts: Sequence[str], numbers: Ints) -> Ints:
    """The numbers that the log has, if it has such; else ours, from 1."""
    return (
        np.array([int(text or -1) for text in texts])
        if texts and all((t or "0").isdecimal() for t in texts)
        else numbers + 1
    )
