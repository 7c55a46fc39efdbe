"""Readers of logs of clusters into `Jobs`: Gavel's Philly traces, pods of Alibaba's openb cluster, the Standard Workload Format.

All readers: a gzipped file is told by its content. Time 0 is the first arrival. `cluster` is what the jobs are to run on; a job
that is too wide for it is refused, or left out with skip_wide. strict: refuse bad lines and a file that is out of order, which
are otherwise left out, or sorted, with a logged warning. What was read, what was left out and the load on the cluster are logged
as information, in one line. What a log does not tell of its jobs (work, family, user) is not made up from what happened to
them: the column is None, and the schedulers that look at it refuse the log. The user is None unless the log tells two users apart
at least. Raises InputError with the file's name, and the line where there is one.
"""

from __future__ import annotations

import csv
import gzip
import io
import logging
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TextIO

import numpy as np

from cgrsp_simpy.cluster.jobs import MAY_LACK, PAPER_CLUSTER, Cluster, Ints, Jobs
from cgrsp_simpy.cluster.log_formats import STEPS_PER_S, LeftOut, Parse, Row, Rows, openb, philly, swf
from cgrsp_simpy.model.checks import InputError, check_bool, check_number
from cgrsp_simpy.model.reading import listed, note

__all__ = ["STEPS_PER_S", "read_openb", "read_philly", "read_swf"]

log = logging.getLogger(__name__)
Open = Callable[[TextIO], tuple[Rows, Parse]]


def read_philly(
    path: str | Path,
    cluster: Cluster = PAPER_CLUSTER,
    *,
    steps_per_s: Mapping[str, float] = STEPS_PER_S,
    skip_wide: bool = False,
    strict: bool = False,
) -> Jobs:
    """Read a Philly trace in the format of Gavel (Narayanan et al. (2020), OSDI): lines of seven fields, with tabs between them.

    Used are the job type, the number of steps, the arrival in seconds and the GPUs. The trace holds steps, not seconds: a job's
    duration is its steps over steps_per_s of its type, whatever its GPUs. The defaults are ours, not measured; that jobs of
    different types take equally long on average is assumed, and how long is a choice (see STEPS_PER_S). Iterations are the
    steps, the family is the model without its batch size, all jobs are training, no user is told, and estimates are exact.
    """
    for job_type, rate in steps_per_s.items():
        check_number(f"steps_per_s of {job_type}", rate, above=0)
    return _read(path, partial(philly, steps_per_s=steps_per_s), cluster, skip_wide, strict)


def read_openb(path: str | Path, cluster: Cluster = PAPER_CLUSTER, *, skip_wide: bool = False, strict: bool = False) -> Jobs:
    """Read a list of pods of Alibaba's trace of 2023 (cluster-trace-gpu-v2023; Weng et al. (2023), USENIX ATC), a CSV file.

    A pod arrives at creation_time and runs from scheduled_time to deletion_time; one that was never scheduled asked for GPUs all
    the same, and is taken to run from creation_time. A pod that asks for a share of a GPU (gpu_milli below 1000) takes the whole
    GPU, for GPUs are not shared here. Left out, and counted: pods without GPU, and those of no time. Ours, for the trace tells no
    more: latency-sensitive pods (qos LS) are inference, all others training; pods with equal demands (CPU, memory, GPUs) are one
    family; estimates are exact. Neither work nor user is told.
    """
    return _read(path, openb, cluster, skip_wide, strict)


def read_swf(path: str | Path, cluster: Cluster = PAPER_CLUSTER, *, skip_wide: bool = False, strict: bool = False) -> Jobs:
    """Read a log in the Standard Workload Format, version 2.2 (Parallel Workloads Archive); a processor is taken for a GPU.

    GPUs are the allocated processors, else the requested ones; the estimate is the requested time, else the run time; family is
    the application. Left out, and counted: parts of checkpointed jobs (status 2 to 4; the format lists these jobs whole as well),
    jobs cancelled before they ran, and jobs without run time (or of 0 s), submit time or processors. All others held their
    processors, whatever their status. Ours: all jobs are training. Work is not told, and the run time does not stand in for it,
    for no scheduler knows it beforehand.
    """
    return _read(path, swf, cluster, skip_wide, strict)


def _read(path: str | Path, format: Open, cluster: Cluster, skip_wide: bool, strict: bool) -> Jobs:
    check_bool("skip_wide", skip_wide)
    check_bool("strict", strict)
    path = Path(path)
    left_out: Counter[str] = Counter()
    bad: list[str] = []
    try:
        with _opened(path) as file:
            found = list(_found(*format(file), cluster, skip_wide, left_out, bad))
        if bad:
            note(log, path, strict, f"{len(bad)} bad line{'s' * (len(bad) > 1)}: {listed(bad)}", "left out")
        reasons = ", ".join(f"{number} of {reason!r}" for reason, number in left_out.items()) or "none"
        if not found:
            raise InputError(f"no usable job (bad lines: {len(bad)}; left out: {reasons})")
        _check_order(path, found, strict)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    jobs = _jobs([row for _, row in found], path.name)
    _report(path, jobs, cluster, len(bad), reasons)
    return jobs


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """The text of a file, unzipped; what goes wrong while it is read is an InputError."""
    try:
        with path.open("rb") as raw:
            file = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == b"\x1f\x8b" else raw
            if not file.peek(1):
                raise InputError("the file is empty")
            yield io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")  # old headers are of any encoding
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"damaged gzip file ({error})") from None
    except csv.Error as error:
        raise InputError(f"not a CSV file ({error})") from None
    except OSError as error:
        raise InputError(error.strerror or str(error)) from None


def _found(
    rows: Rows, parse: Parse, cluster: Cluster, skip_wide: bool, left_out: Counter[str], bad: list[str]
) -> Iterator[tuple[int, Row]]:
    """The usable jobs with their lines; the others are put with those left out, or with the bad."""
    for line, cells in rows:
        try:
            row = parse(cells)
        except LeftOut as reason:
            left_out[str(reason)] += 1
        except ValueError as error:
            bad.append(f"line {line}: {error}")
        else:
            if cluster.holds(row.gpus):
                yield line, row
            elif skip_wide:
                left_out["wider than the cluster"] += 1
            else:
                raise InputError(
                    f"line {line}: the job needs {row.gpus} GPUs; the cluster has {cluster.gpus} (skip_wide leaves such jobs out)"
                )


def _check_order(path: Path, found: list[tuple[int, Row]], strict: bool) -> None:
    late = [line for (_, earlier), (line, later) in pairwise(found) if later.arrival_s < earlier.arrival_s]
    if late:
        note(log, path, strict, f"arrivals out of order, first at line {late[0]}", "sorted")


def _jobs(rows: list[Row], name: str) -> Jobs:
    arrival_s, gpus, duration_s, estimate_s, iterations, kind, family, user = zip(*rows)
    return Jobs(
        np.array(arrival_s) - min(arrival_s),
        np.array(gpus),
        np.array(duration_s),
        np.array(estimate_s),
        None if None in iterations else np.array(iterations),
        np.array(kind),
        _numbered(family, least=1),
        _numbered(user, least=2),
        name,
    )


def _numbered(marks: tuple[Hashable | None, ...], least: int) -> Ints | None:
    """Whole numbers for marks, in the order in which they first occur; None if fewer than `least` are told."""
    numbers = {mark: number for number, mark in enumerate(dict.fromkeys(marks))}
    return np.array([numbers[mark] for mark in marks]) if len(numbers.keys() - {None}) >= least else None


def _report(path: Path, jobs: Jobs, cluster: Cluster, bad: int, reasons: str) -> None:
    log.info(
        "%s: %d jobs read; bad lines: %d; left out: %s; GPUs of a job %.2f on average, at most %d;"
        " estimates shorter than the run: %d, equal to it: %d; not told: %s; offered load %.3g of %d GPUs",
        path,
        jobs.jobs,
        bad,
        reasons,
        jobs.gpus.mean(),
        jobs.gpus.max(),
        jobs.underestimated,
        (jobs.estimate_s == jobs.duration_s).sum(),
        ", ".join(column for column in MAY_LACK if column not in jobs.columns) or "none",
        jobs.load(cluster),
        cluster.gpus,
    )
