"""Logs as tables: numeric columns with common names, all other columns as tags, and a
report on the reading.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np

from cgrsp_simpy.base.arrays import Bools, Floats, Ints
from cgrsp_simpy.base.checks import InputError, require

log = logging.getLogger(__name__)
# dependencies of Slurm on the end of jobs
AFTER = re.compile(r"\bafter(?:any|ok|notok|corr):(\d\w*(?::\d\w*)*)")

# Common columns and their units.
COLUMNS = {
    "submit_s": "submission, seconds from time 0",
    "ready_s": (
        "time from which the job waits, seconds from time 0: the latest of submission,"
        " eligibility, and end of the preceding job plus think time"
    ),
    "service_s": "run time, seconds",
    "start_s": "start, seconds from time 0",
    "end_s": "end, seconds from time 0",
    "think_s": "time from the end of the preceding job to readiness, seconds",
    "running": "1 of a job that still ran when the log was written, else 0",
    "limit_s": (
        "limit or estimate of the run time that was given at submission, seconds"
    ),
    "known_work": "work that is known before the job runs (iterations)",
    "gpus": "GPUs held at once",
    "cores": "processor cores held at once",
    "memory_gb": "memory, gigabytes of 2^30 bytes",
    "nodes": "nodes held at once",
    "deadline_s": "deadline, seconds from time 0",
    "weight": "weight of the job",
    "priority": "priority of the job",
    "prompt_tokens": "tokens of the prompt",
    "output_tokens": "tokens of the output",
}


class Reading(TypedDict, total=False):
    """Arguments of `read_log` that every reader of logs passes on."""

    strict: bool
    columns: Mapping[str, str] | None
    tz: str | None
    delimiter: str | None
    decimal: str
    header: str | None


@dataclass(frozen=True, eq=False, repr=False)
class Tags(Mapping[str, tuple[str, ...]]):
    """Strings of jobs by the name of their column; "" if missing.

    columns: name -> one string per job.
    """

    columns: Mapping[str, Iterable[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = {name: tuple(texts) for name, texts in self.columns.items()}
        object.__setattr__(self, "columns", columns)

    @property
    def _columns(self) -> dict[str, tuple[str, ...]]:
        return self.columns  # type: ignore[return-value]  # since it was made

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def of(self, job: int, taken: Iterable[str] = ()) -> dict[str, str]:
        """Return the strings of one job by column name.

        job: its index. taken: names that the caller uses otherwise; such a tag gets the
        prefix log_.
        """
        taken = set(taken)
        return {
            f"log_{name}" if name in taken else name: texts[job]
            for name, texts in self._columns.items()
        }

    def check(self, jobs: int) -> None:
        """Raise InputError, naming the column, unless each has one string per job."""
        for name, texts in self._columns.items():
            require(
                len(texts) == jobs,
                f"texts of tag {name}",
                len(texts),
                f"{jobs}, one per job",
            )

    def chosen(self, index: Sequence[int] | Ints) -> Tags:
        """Return the tags of the jobs with these indices, in the given order."""
        places = [int(place) for place in index]
        jobs = {len(texts) for texts in self._columns.values()}
        if jobs <= {len(places)} and places == list(range(len(places))):
            return self
        return Tags(
            {
                name: [texts[place] for place in places]
                for name, texts in self._columns.items()
            }
        )


class Fault(NamedTuple):
    """A bad row: its line, the fault, and its value of the format's grouping column."""

    line: int
    what: str
    group: str = ""


@dataclass(frozen=True)
class Report:
    """Summary of what was read.

    rows: number of rows, without comments and blank lines. bad: rows that do not match
    the format. left_out: lines of rows that are not runnable jobs, by reason.
    """

    rows: int = 0
    bad: tuple[Fault, ...] = ()
    left_out: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows left out, by reason."""
        return {reason: len(lines) for reason, lines in self.left_out.items()}

    def __str__(self) -> str:
        return ", ".join(
            f"{number} of {reason}" for reason, number in self.counts.items()
        )


@dataclass(frozen=True, eq=False)
class Log:
    """Jobs of a log, ordered by ready time, then submission, then position in the file.

    path, format: its source. columns: columns by their names in COLUMNS, each of shape
    (rows,), NaN for a missing value; only those of the format. tags: job_id (by default
    the line number), after (the id of the preceding job, or Slurm's dependency), every
    other column of the file, and line, the line number. line: line number of each row,
    from 1; 0 if the file is not a table. report: report on rows read, bad and left out.
    header: entries of an SWF file's comments. start: calendar time at time 0, if known.
    edges: in a log of workflows, (row, next row, data sent in gigabytes of 10^9 bytes).
    """

    path: Path
    format: str
    columns: Mapping[str, Floats]
    tags: Tags
    line: Ints
    report: Report
    header: Mapping[str, str] = field(default_factory=dict)
    start: datetime | None = None
    edges: tuple[tuple[int, int, float], ...] = ()

    def __len__(self) -> int:
        return len(self.line)

    def __getitem__(self, column: str) -> Floats:
        return self.columns[column]

    def __contains__(self, column: str) -> bool:
        return column in self.columns

    def get(self, column: str, otherwise: float) -> Floats:
        """Return a column of shape (rows,), with a default for missing values.

        column: a name of COLUMNS. otherwise: the default, in the column's unit.
        """
        values = self.columns.get(column, np.full(len(self), np.nan))
        return np.where(np.isnan(values), otherwise, values)

    def usable(
        self,
        who: str,
        needs: Sequence[str],
        reasons: Mapping[str, Callable[[Log], Bools]],
        *,
        running: bool = False,
    ) -> Log:
        """Return the rows that a module can run; log the others by reason in one line.

        who: name of the module's jobs, for messages. needs: names of required columns.
        reasons: reason -> function of the log that returns the rows to leave out, of
        shape (rows,); the first matching reason counts. running: whether jobs that are
        still running are usable. Raises InputError for a missing column, or if no row
        is left.
        """
        for column in needs:
            if column not in self.columns:
                raise InputError(
                    f"{self.path}: the format {self.format} has no {column}"
                    f" ({COLUMNS[column]}), which {who} need (it has:"
                    f" {', '.join(self.columns)})"
                )
        kept = (
            self
            if running
            else self.without("still running", self.get("running", 0) > 0)
        )
        for reason, holds in reasons.items():
            kept = kept.without(reason, holds(kept))
        if kept.report.left_out and len(kept):
            log.info("%s: rows left out: %s", self.path, kept.report)
        if not len(kept):
            bad = len(kept.report.bad)
            raise InputError(
                f"{self.path}: no usable job (bad rows: {bad}; left out: {kept.report})"
            )
        return kept

    def without(self, reason: str, out: Bools) -> Log:
        """Return the log without some rows, which the report counts; itself if there
        are none.

        reason: reason for the report. out: mask of the rows to leave out, of shape
        (rows,).
        """
        if not out.any():
            return self
        lines = (*self.report.left_out.get(reason, ()), *self.line[out].tolist())
        report = replace(self.report, left_out={**self.report.left_out, reason: lines})
        return replace(self.chosen(np.flatnonzero(~out)), report=report)

    def chosen(self, rows: Ints) -> Log:
        """Return the log of some rows, in the given order; itself if these are all."""
        if len(rows) == len(self) and (np.diff(rows) > 0).all():
            return self
        return replace(
            self,
            columns={name: values[rows] for name, values in self.columns.items()},
            tags=self.tags.chosen(rows),
            line=self.line[rows],
        )

    @property
    def finish_s(self) -> Floats:
        """End of each job, of shape (rows,); NaN if unknown."""
        ran_s = self.get("start_s", np.nan) + self.get("service_s", np.nan)
        return self.columns.get("end_s", ran_s)

    @property
    def preceding(self) -> Ints:
        """Row of the job after which each job becomes ready, of shape (rows,); -1 for
        none. If there are several, the one that ends last.
        """
        texts, finish_s = self.tags.get("after", ("",) * len(self)), self.finish_s
        if not any(texts):
            return np.full(len(self), -1)
        rows = {job: row for row, job in enumerate(self.tags["job_id"])}
        named = ((":".join(AFTER.findall(text)) or text).split(":") for text in texts)
        return np.array(
            [
                max(
                    (rows[job] for job in ids if job in rows),
                    key=finish_s.__getitem__,
                    default=-1,
                )
                for ids in named
            ]
        )


# for modules whose jobs take time
NO_TIME: dict[str, Callable[[Log], Bools]] = {
    "run time 0": lambda found: found["service_s"] == 0
}
