"""Readers of batch-job logs for the waiting policies: the Standard Workload Format, and a CSV file; either may be gzipped."""

from __future__ import annotations

import gzip
import io
import logging
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.model.checks import InputError, check_bool, check_one_of
from cgrsp_simpy.model.reading import listed, note
from cgrsp_simpy.waiting.jobs import Floats, ListedJobs
from cgrsp_simpy.waiting.log_formats import LOG_FORMATS, WHOLE, Format, Read

__all__ = ["Log", "describe", "read_jobs"]

log = logging.getLogger(__name__)
ROWS = 1 << 13  # that are read before they are checked together
DAY_S, SHORT_S = 86_400, 180  # the paper's short jobs, waiting-policies.txt Section 6.1: below 3 minutes
MOST = 1e15  # of any quantity: up to here products are finite and whole numbers exact


@dataclass(frozen=True, eq=False)
class Log:
    """What a log holds.

    jobs: the usable ones in order of submission; time 0 is the first. bad_lines: how many lines are not of the format.
    left_out: how many lines tell of no job that can be run, by reason. header: of an SWF file's header, what it says of
    Computer, MaxNodes and MaxProcs, as written.
    """

    jobs: ListedJobs
    bad_lines: int
    left_out: dict[str, int]
    header: dict[str, str]


@dataclass
class _Found:
    """What has been read so far; columns: submit_s, run_s, cores, memory_gb and the line of every usable job."""

    columns: tuple[array[float], ...] = field(default_factory=lambda: tuple(array("d") for _ in range(5)))
    bad: list[tuple[int, str]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    header: dict[str, str] = field(default_factory=dict)


def read_jobs(path: str | Path, format: str | None = None, *, strict: bool = False) -> Log:
    """Read a log of batch jobs line by line; its text is never in memory as a whole.

    format: "swf" or "csv"; None takes it from the end of the file's name, .swf or .csv, with or without .gz. Whether a file
    is gzipped is seen from its content.

    swf: the Standard Workload Format, version 2.2 (Parallel Workloads Archive); of a line's 18 fields, those are looked at
    that are used. Cores are the allocated processors, where none are given the requested ones; memory is what was requested,
    else what was used, per processor and times the cores. A job that ran is kept whatever its status, for it held its
    processors, and so is one that ran 0 s (less than half a second). Left out, and counted: parts of checkpointed jobs
    (status 2, 3, 4; the format lists these jobs whole as well), jobs cancelled before they ran (status 5, no run time or 0),
    and jobs without run time, submit time or processors.

    csv: a table with a header line, in the layout of the waiting policies' authors: time (when queued, an ISO timestamp or
    seconds) and wallclock_runtime_sec are needed, num_cores (else 1) and total_MB_req (else 0) are not; all other columns
    are ignored, status too: a job that was not DONE held its cores nevertheless.

    strict: refuse bad lines and a log that is out of order, which are otherwise left out, or sorted, with a logged note.

    Raises InputError with the file's name, and the line where there is one.
    """
    check_bool("strict", strict)
    path, found = Path(path), _Found()
    try:
        with _opened(path) as file:
            chosen = LOG_FORMATS[_format(path, format)]
            rows, read = chosen.rows(file, found.header)
            for row in rows:
                _take(chain([row], islice(rows, ROWS - 1)), read, chosen, found)
        return _log(path, found, strict)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def describe(jobs: ListedJobs) -> str:
    """A log in one line; its days end with the last submission, and load is the core-seconds submitted a second."""
    span_s = float(jobs.submit_s[-1] - jobs.submit_s[0])
    rates = "all at once"
    if span_s:
        rates = f"{jobs.jobs / span_s * DAY_S:,.1f} a day, load {jobs.run_s @ jobs.cores / span_s:,.1f} cores"
    return (
        f"{jobs.jobs:,} jobs in {span_s / DAY_S:,.2f} days, {rates}; run time mean {jobs.run_s.mean():,.1f} s, "
        f"median {np.median(jobs.run_s):,.1f} s, {np.mean(jobs.run_s < SHORT_S):.1%} below {SHORT_S // 60} minutes; "
        f"mean cores {jobs.cores.mean():,.2f}"
    )


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """The text of a file, unzipped; what goes wrong while it is read is an InputError."""
    try:
        with path.open("rb") as raw:
            file = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == b"\x1f\x8b" else raw
            start = file.peek(1)
            if not start:
                raise InputError("the file is empty")
            if b"\0" in start:
                raise InputError("not a text file")
            yield io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace")  # old headers are of any encoding
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"damaged gzip file ({error})") from None
    except OSError as error:
        raise InputError(error.strerror or str(error)) from None


def _format(path: Path, format: str | None) -> str:
    if format is not None:
        check_one_of("format of a job log", format, LOG_FORMATS)
        return format
    ending = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if ending not in LOG_FORMATS:
        raise InputError(f"the name ends in none of .swf, .csv, .swf.gz, .csv.gz; give the format ({', '.join(LOG_FORMATS)})")
    return ending


def _take(rows: Iterable[tuple[int, list[str]]], read: Read, format: Format, found: _Found) -> None:
    """Put the usable jobs of some rows with those found before."""
    lines, values = array("d"), array("d")
    for line, cells in rows:
        try:
            values.extend(read(cells))
            lines.append(line)
        except ValueError as error:
            found.bad.append((line, str(error)))
    table = np.array(values).reshape(-1, len(format.fields))
    good = np.ones(len(table), dtype=bool)
    for row, fault in _faults(table, format.fields).items():
        found.bad.append((int(lines[row]), fault))
        good[row] = False
    submit, run, cores, memory, status = format.jobs(table[good])
    kept = _kept(submit, run, cores, status, found.left_out)
    for column, part in zip(found.columns, (submit, run, cores, memory, np.array(lines)[good])):
        column.frombytes(part[kept].tobytes())


def _faults(table: Floats, fields: Iterable[str]) -> dict[int, str]:
    """The rows where a field holds what it may not, and the first such field of each."""
    faults: dict[int, str] = {}
    for values, name in zip(table.T, fields):
        ok = (values == -1) | ((values >= 0) & (values <= MOST))
        if name in WHOLE:
            ok &= values == np.floor(values)
        kind = "a whole number" if name in WHOLE else "a number"
        for row in np.flatnonzero(~ok).tolist():
            faults.setdefault(row, f"{name}(={values[row]}) must be {kind} from 0 to {MOST:g}, or -1 if missing")
    return faults


def _kept(submit: Floats, run: Floats, cores: Floats, status: Floats, left_out: Counter[str]) -> npt.NDArray[np.bool_]:
    """Which jobs can be run; the others are counted under the first reason that holds."""
    kept = np.ones(len(run), dtype=bool)
    for reason, holds in (
        ("part of a job", (status >= 2) & (status <= 4)),
        ("cancelled before it ran", (status == 5) & (run <= 0)),
        ("no run time", run == -1),
        ("no submit time", submit == -1),
        ("no processors", cores <= 0),
    ):
        left_out[reason] += int(np.count_nonzero(holds & kept))
        kept &= ~holds
    return kept


def _log(path: Path, found: _Found, strict: bool) -> Log:
    """Tell what is amiss, and put the jobs in order."""
    if found.bad:
        bad = [f"line {line}: {fault}" for line, fault in sorted(found.bad)]
        note(log, path, strict, f"{len(bad)} bad line{'s' * (len(bad) > 1)}: {listed(bad)}", "left out")
    left_out = dict(+found.left_out)
    reasons = ", ".join(f"{number} of {reason!r}" for reason, number in left_out.items())
    if left_out:
        log.info("%s: jobs left out: %s", path, reasons)
    if not found.columns[0]:
        raise InputError(f"no usable job (bad lines: {len(found.bad)}; left out: {reasons or 'none'})")
    submit, run, cores, memory, line = (np.frombuffer(column) for column in found.columns)
    late = np.flatnonzero(np.diff(submit) < 0)
    if len(late):
        note(log, path, strict, f"submissions out of order, first at line {line[late[0] + 1]:.0f}", "sorted")
        order = np.argsort(submit, kind="stable")
        submit, run, cores, memory = (column[order] for column in (submit, run, cores, memory))
    return Log(
        ListedJobs(submit - submit[0], run, cores.astype(np.int64), memory, path.name), len(found.bad), left_out, found.header
    )
