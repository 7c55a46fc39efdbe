"""Conversion of logs to jobs and clusters, and of schedules to logs."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Unpack

import numpy as np

from cgrsp_simpy.base.arrays import Ints
from cgrsp_simpy.base.checks import (
    InputError,
    check_number,
    check_whole,
    refuse,
    shown,
)
from cgrsp_simpy.base.parameters import checked, prepared
from cgrsp_simpy.base.table import many
from cgrsp_simpy.cluster.cluster import PAPER_CLUSTER, Cluster
from cgrsp_simpy.cluster.jobs import HIDDEN, KINDS, MAY_LACK, Jobs
from cgrsp_simpy.cluster.report import run_s
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.logs import NO_TIME, Log, Reading, Tags, read_log, swf_text
from cgrsp_simpy.logs.log import TEXT, Field, Format

log = logging.getLogger(__name__)
# a job that is ready so soon after the end of its predecessor was waiting for it
LAG_S = 60.0
ROUNDING_S = 1.0  # logs are in whole seconds
INFERENCE, TRAINING = KINDS.index("inference"), KINDS.index("training")
NEEDED = ("submit_s", "service_s", "gpus")
TYPE = re.compile(r"gres/gpu:([^=,]+)=")  # Slurm's syntax


@checked
def read_jobs(
    path: str | Path,
    format: str | Format | None = None,
    cluster: Cluster = PAPER_CLUSTER,
    *,
    skip_wide: bool = False,
    qos: Mapping[str, float] | None = None,
    window: str | None = None,
    **reading: Unpack[Reading],
) -> Jobs:
    """Read the jobs of a log, in order of submission; InputError with file and line.

    cluster, skip_wide, qos: see `jobs_of`; others: see `cgrsp_simpy.logs.read_log`.
    """
    return jobs_of(
        read_log(path, format, window=window, **reading),
        cluster,
        skip_wide=skip_wide,
        qos=qos,
    )


def jobs_of(
    table: Log,
    cluster: Cluster = PAPER_CLUSTER,
    *,
    skip_wide: bool = False,
    qos: Mapping[str, float] | None = None,
) -> Jobs:
    """Return the jobs of a log on a cluster; time 0 is when the first job is ready.

    Required columns: submit_s, service_s and gpus. Jobs without a GPU and jobs of 0 s
    are left out. If the cluster has cores, jobs on cores alone are kept; else, in a log
    without any GPU, cores count as GPUs. The estimate is the job's limit; without one,
    it is the longest limit of its partition (sacct), or else the run time. A job that
    is still running uses its GPUs up to its limit, at least to the end of the log. Our
    rules: latency-sensitive pods (qos LS of openb) are inference, all others training;
    the family is the application (swf), the model without its batch size (philly), or
    all pods of equal demands (openb). The user is None unless the log has two or more.

    skip_wide: leave out jobs that are too wide for the cluster instead of raising. qos:
    priorities >= 0 of the log's qualities of service, by name; default 0. Raises
    InputError with the file's name and, if known, the line.
    """
    table = _to_the_end(table if cluster.cores else _of_cores(table))

    def too_wide(rows: Log) -> np.ndarray:
        return _jobs(rows, cluster, qos).too_wide(cluster)

    def idle(rows: Log) -> np.ndarray:
        return np.asarray(
            rows.get("gpus", 0) + (rows.get("cores", 0) if cluster.cores else 0) == 0
        )

    table = table.usable(
        "jobs of a cluster", NEEDED, {"no GPU": idle, **NO_TIME}, running=True
    )
    if skip_wide:
        table = table.usable(
            "jobs of a cluster", NEEDED, {"wider than the cluster": too_wide}
        )
    jobs = _jobs(table, cluster, qos)
    refuse(
        jobs.too_wide(cluster),
        lambda job: (
            f"{table.path}: line {table.line[job]}: the job"
            f" {jobs.shortage(job, cluster)} (skip_wide=True omits such jobs)"
        ),
    )
    load = jobs.load(cluster)
    log.info(
        "%s: %s read; GPUs per job %.2f on average, at most %d; estimates shorter"
        " than the run: %d, equal to it: %d; unknown: %s; %s %s",
        table.path,
        many(jobs.jobs, "job"),
        jobs.gpus.mean(),
        jobs.gpus.max(),
        (jobs.estimate_s < jobs.duration_s).sum(),
        (jobs.estimate_s == jobs.duration_s).sum(),
        ", ".join(
            name for name in MAY_LACK if name not in (*jobs.columns, "qos", *HIDDEN)
        )
        or "none",
        f"offered load {load:.3g} of" if np.isfinite(load) else "all at once, on",
        many(cluster.gpus, "GPU"),
    )
    return jobs


def _of_cores(table: Log) -> Log:
    """Count cores as GPUs if no job of the log has a GPU."""
    if "cores" not in table or table.get("gpus", 0).any():
        return table
    log.info("%s: no job has a GPU: cores count as GPUs", table.path)
    return replace(table, columns={**table.columns, "gpus": table.get("cores", 0)})


def _to_the_end(table: Log) -> Log:
    """Extend running jobs to their limits, at least to the end of the log."""
    running = table.get("running", 0) > 0
    if not running.any():
        return table
    start_s, service_s = table["start_s"], table["service_s"]
    end_s = max((start_s + service_s).max(), table["submit_s"].max())
    held_s = np.maximum(end_s - start_s, np.maximum(table.get("limit_s", 0), 1.0))
    return replace(
        table,
        columns={**table.columns, "service_s": np.where(running, held_s, service_s)},
    )


def _jobs(table: Log, cluster: Cluster, qos: Mapping[str, float] | None) -> Jobs:
    """Convert the rows of a log to jobs, including those that are too wide."""
    none, tags, limit_s = ("",) * len(table), dict(table.tags), table.get("limit_s", 0)
    start_s, running = table.get("start_s", np.nan), table.get("running", 0) > 0
    partitions = np.array(
        tags.get("partition", none) if table.format == "sacct" else none
    )
    for partition in {*partitions.tolist()} - {""}:
        in_it = partitions == partition
        limit_s = np.where(in_it & (limit_s == 0), limit_s[in_it].max(), limit_s)
    if types := _types(tags):
        tags["gpu_type"] = types
    ranks, zero_s, work = qos or {}, table["ready_s"].min(), table.get("known_work", 0)
    nodes = table.get("nodes", 0).astype(np.int64)
    return Jobs(
        table["ready_s"] - zero_s,
        np.ceil(table.get("gpus", 0)).astype(np.int64),
        table["service_s"],
        np.where(limit_s > 0, limit_s, table["service_s"]),
        work if (work > 0).all() else None,
        np.array(
            [
                INFERENCE if label == "LS" and table.format == "openb" else TRAINING
                for label in tags.get("qos", none)
            ]
        ),
        _numbered(_families(table), least=1),
        _numbered(tags.get("user", none), least=2),
        table.path.name,
        Tags(tags),
        limit_s > 0,
        qos=_shares([ranks.get(label, 0.0) for label in tags.get("qos", none)]),
        running=running if running.any() else None,
        start_s=None if np.isnan(start_s).all() else start_s - zero_s,
        nodes=nodes if nodes.any() else None,
        cores=np.ceil(table.get("cores", 0)) if cluster.cores else None,
        memory_gb=table.get("memory_gb", 0) if cluster.memory_gb else None,
        submit_s=table["submit_s"] - zero_s,
        **_dependency(table, zero_s),
    )


def _dependency(table: Log, zero_s: float) -> dict[str, Any]:
    """Return the columns that define when dependent jobs become ready, if there are
    any.

    Our rule: a job that became ready at its predecessor's recorded end plus think time
    does so in a simulation. One that became ready later, such as at its begin time, is
    not ready before that time. No job is ready before its submission, unless it was
    submitted when it became ready, as in a chain of feedback.
    """
    ready_s, submit_s = table["ready_s"], table["submit_s"]
    before, finish_s = table.preceding, table.finish_s
    think_s = table.get("think_s", np.nan)
    # without a recorded think time: the time since the end of the predecessor
    passed_s = np.nan_to_num(ready_s - finish_s[before])
    think_s = np.where(np.isnan(think_s), np.clip(passed_s, 0, LAG_S), think_s)
    # the record contradicts a dependency on a job that ended later, or is not above
    late = finish_s[before] + think_s > ready_s + LAG_S
    before = np.where(late | (before >= np.arange(len(table))), -1, before)
    if (before < 0).all():
        return {}
    bound = (before >= 0) & (np.abs(passed_s - think_s) <= LAG_S)
    bound |= (before >= 0) & np.isnan(finish_s[before])
    earliest_s = np.where(bound, submit_s, ready_s)
    feedback = np.abs(passed_s - think_s) <= ROUNDING_S
    earliest_s[bound & feedback & (submit_s >= ready_s - ROUNDING_S)] = zero_s
    earliest_s = np.maximum(earliest_s - zero_s, 0.0)
    return {"predecessor": before, "think_s": think_s, "earliest_s": earliest_s}


def _shares(ranks: Sequence[float]) -> np.ndarray | None:
    """Return the priorities divided by the highest; None if none is above 0."""
    for rank in ranks:
        check_number("priority of a quality of service", rank, least=0)
    return np.array(ranks) / max(ranks) if max(ranks) else None


def _types(tags: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the requested GPU type per job; "a|b" is a choice and "" any type."""
    asked = tags.get("ReqTRES", tags.get("AllocTRES", ()))
    requested = tuple("|".join(TYPE.findall(text)[:1]) for text in asked)
    return tags.get("gpu_type", tags.get("gpu_spec", requested))  # the second of openb


def _families(table: Log) -> Sequence[str]:
    """Return the model family of each job; "" if the log has none."""
    tags = table.tags
    if table.format == "philly":
        return [job_type.partition(" (")[0] for job_type in tags["job_type"]]
    if table.format == "openb":
        return [
            repr(demands)
            for demands in zip(
                table["cores"], table["memory_gb"], table["gpus"], tags["gpu_milli"]
            )
        ]
    return tags.get("application", tags.get("family", ("",) * len(table)))


def _numbered(marks: Sequence[str], least: int) -> Ints | None:
    """Number strings by first occurrence; None if fewer than `least` are non-empty."""
    numbers = {mark: number for number, mark in enumerate(dict.fromkeys(marks))}
    return (
        np.array([numbers[mark] for mark in marks])
        if len(numbers.keys() - {""}) >= least
        else None
    )


# ---- the cluster of a log, and a schedule as a log ----


def nodes_of(text: str) -> Cluster:
    """Return a cluster: "4x8+2x4" is four nodes of 8 GPUs and two of 4.

    A string that ends in .csv or .csv.gz is a file name; see `read_cluster`. Raises
    InputError for any other string.
    """
    if re.search(r"\.csv(\.gz)?$", text):
        return read_cluster(text)
    sizes: list[int] = []
    for part in text.split("+"):
        number, _, gpus = part.partition("x")
        if not (number.isdecimal() and gpus.isdecimal()):
            raise InputError(
                f"cluster(={shown(text)}) must be numbers of nodes and of GPUs per"
                " node, such as 8x8 or 4x8+2x4, or a CSV file of nodes"
            )
        check_whole("number of nodes", int(number), least=1, most=100_000)
        sizes += [int(gpus)] * int(number)
    return Cluster(tuple(sizes))


NodesOfCluster = Annotated[
    Cluster,
    prepared(
        lambda value: nodes_of(str(value)) if isinstance(value, int | str) else value
    ),
]
"""A cluster, or a string for `nodes_of`."""


def cluster_of(table: Log) -> Cluster | None:
    """Return the cluster that the header of an SWF file describes, or None.

    MaxProcs processors (None without them), evenly over MaxNodes nodes (default one).
    """
    processors, nodes = (
        int(re.match(r"\d*", table.header.get(name, ""))[0] or 0)  # type: ignore[index]
        for name in ("MaxProcs", "MaxNodes")
    )
    if processors == 0:
        return None
    number = min(nodes or 1, processors)
    return Cluster(
        tuple(processors // number + (k < processors % number) for k in range(number))
    )


NODES = Format(
    "nodes",
    "a CSV table of a cluster's nodes",
    (
        Field("gpus", ("gpus", "gpu"), whole=True),
        *(Field(name, (name,), needed=False) for name in ("cores", "memory_gb")),
        Field("cores", ("cpu_milli",), unit=0.001, needed=False),
        Field("memory_gb", ("memory_mib",), unit=2.0**-10, needed=False),
        Field("gpu_type", ("gpu_type", "model"), TEXT, needed=False),
        Field("partition", ("partition",), TEXT, needed=False),
    ),
)
"""One row per node, as in Alibaba's cluster-trace-gpu-v2023; partitions by commas."""


def read_cluster(path: str | Path) -> Cluster:
    """Read a cluster from a CSV table (see `NODES`); InputError with file and line."""
    table = _of_cores(read_log(path, NODES, strict=True))
    columns: dict[str, Any] = {
        name: table.get(name, 0).astype(np.int64).tolist() for name in table.columns
    }
    names = {"gpu_type": "types", "partition": "partitions"}
    columns |= {
        column: table.tags[name] for name, column in names.items() if name in table.tags
    }
    sizes = columns.pop("gpus")
    if sizes == columns.get("cores"):
        del columns["cores"]
    return Cluster(sizes, **columns)


def schedule_text(run: Run) -> str:
    """Return a run in the Standard Workload Format; times in seconds, GPUs as
    processors.

    Job numbers are the log's job_id if all ids are distinct whole numbers; else they
    count from 1, and comments list the ids. The status is 1 (completed), or 0 (ended at
    its limit).
    """
    jobs, tags, cluster = run.jobs, run.report.tags, run.scenario.cluster
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
            columns[name] = _log_numbers(tags.get(name, ()), jobs[column])
    comments = {
        "Computer": f"simulated, {run.policy}",
        "MaxNodes": len(cluster.sizes),
        "MaxProcs": cluster.gpus,
    }
    return swf_text(columns, tags.get("job_id", ()), comments)


def _log_numbers(texts: Sequence[str], numbers: Ints) -> Ints:
    """Return the numbers in the log, or if its texts are none, `numbers` from 1."""
    return (
        np.array([int(text or -1) for text in texts])
        if texts and all((t or "0").isdecimal() for t in texts)
        else numbers + 1
    )
