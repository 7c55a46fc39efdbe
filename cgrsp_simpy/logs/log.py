"""A log as a table: columns of numbers under common names, every other column as a tag,
and a report of what was read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cgrsp_simpy.base.arrays import Bools, Floats, Ints
from cgrsp_simpy.base.checks import InputError, require

log = logging.getLogger(__name__)

# The common columns and their units.
COLUMNS = {
    "submit_s": "submission, seconds from time 0",
    "service_s": "run time, seconds",
    "start_s": "start, seconds from time 0",
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


@dataclass(frozen=True, eq=False, repr=False)
class Tags(Mapping[str, tuple[str, ...]]):
    """Texts of jobs by the name of their column: one text a job, "" where there is
    none.

    columns: name -> one text a job.
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
        """The texts of one job.

        job: its index. taken: names that mean something else to the caller; a tag so
        called is put behind log_. Result: text by name of column.
        """
        taken = set(taken)
        return {
            f"log_{name}" if name in taken else name: texts[job]
            for name, texts in self._columns.items()
        }

    def check(self, jobs: int) -> None:
        """See that each column has a text for each job.

        jobs: their number. Raises InputError naming the column that has more or fewer.
        """
        for name, texts in self._columns.items():
            require(
                len(texts) == jobs,
                f"texts of tag {name}",
                len(texts),
                f"{jobs}, one a job",
            )

    def chosen(self, index: Sequence[int] | Ints) -> Tags:
        """The texts of some jobs.

        index: of the jobs, in the order wanted. Result: in that order.
        """
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
    """A bad row: its line, what is wrong, and the text of the column by which the
    format groups its rows.
    """

    line: int
    what: str
    group: str = ""


@dataclass(frozen=True)
class Report:
    """What was read.

    rows: all, but comments and blank lines. bad: rows that are not of the format.
    left_out: lines of rows that tell of no job that can be run, by reason.
    """

    rows: int = 0
    bad: tuple[Fault, ...] = ()
    left_out: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """How many rows were left out, by reason."""
        return {reason: len(lines) for reason, lines in self.left_out.items()}

    def __str__(self) -> str:
        return ", ".join(
            f"{number} of {reason}" for reason, number in self.counts.items()
        )


@dataclass(frozen=True, eq=False)
class Log:
    """The rows of a log that tell of jobs, in order of submission (those of one moment
    in the order of the file).

    path, format: where it is from. columns: by their names in COLUMNS, each of shape
    (rows,), NaN where a row tells none; those that the format does not tell are not
    there. tags: job_id (the number of the line where the file has none), every other
    column of the file, and line, the number of the line. line: of the file, for each
    row, counted from 1; 0 where the file is no table. report: what was read, was bad
    and was left out. header: what the comments of an SWF file tell. start: the
    calendar's time at time 0, where it is known. edges: in a log of workflows, (row,
    row after it, gigabytes of 10^9 sent).
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
        """A column, with a number where a row, or the whole log, tells none.

        column: a name of COLUMNS. otherwise: the number for what is not told, in the
        column's unit. Result: of shape (rows,).
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
        """The rows that a module can run; the others are counted under the first reason
        that holds, and all is told in one line.

        who: what needs them, as the message calls it. needs: names of columns that must
        be there. reasons: reason -> function of the log that gives the rows to leave
        out, of shape (rows,). running: whether jobs that still run can be. Result: the
        rows left. Raises InputError for a column that is not there, or if no row is
        left.
        """
        for column in needs:
            if column not in self.columns:
                raise InputError(
                    f"{self.path}: the format {self.format} tells no {column}"
                    f" ({COLUMNS[column]}), which {who} need (told:"
                    f" {', '.join(self.columns)})"
                )
        found = (
            self
            if running
            else self.without("still running", self.get("running", 0) > 0)
        )
        for reason, holds in reasons.items():
            found = found.without(reason, holds(found))
        if found.report.left_out and len(found):
            log.info("%s: rows left out: %s", self.path, found.report)
        if not len(found):
            bad = len(found.report.bad)
            raise InputError(
                f"{self.path}: no usable job (bad rows: {bad}; left out:"
                f" {found.report})"
            )
        return found

    def without(self, reason: str, out: Bools) -> Log:
        """The log without some rows, which are counted.

        reason: under which they are counted in the report. out: rows to leave out, of
        shape (rows,). Result: the log itself where there are none.
        """
        if not out.any():
            return self
        kept = np.flatnonzero(~out)
        lines = (*self.report.left_out.get(reason, ()), *self.line[out].tolist())
        report = replace(self.report, left_out={**self.report.left_out, reason: lines})
        columns = {name: values[kept] for name, values in self.columns.items()}
        return replace(
            self,
            columns=columns,
            tags=self.tags.chosen(kept),
            line=self.line[kept],
            report=report,
        )


# for modules whose jobs take time
NO_TIME: dict[str, Callable[[Log], Bools]] = {
    "run time 0": lambda found: found["service_s"] == 0
}
