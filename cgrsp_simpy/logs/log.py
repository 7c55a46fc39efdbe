"""Logs as tables: numeric columns with common names, all other columns as tags, and a
report on the reading. Formats of logs: fields with names, units and limits; conversion
of strings to numbers and times, and of these to columns.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO, TypedDict
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.base.arrays import Bools, Floats, Ints
from cgrsp_simpy.base.checks import InputError, require, tried
from cgrsp_simpy.base.files import (
    Rows,
    Zones,
    comma_rows,
    in_zone,
    json_rows,
    split_rows,
    zoned,
)

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
        """Return the rows that a module can run; log the others by reason on one line.

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
        if np.array_equal(rows, np.arange(len(self))):
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
    "run time 0": lambda columns: columns["service_s"] == 0
}

# ---- formats: fields, and columns computed from them ----

Array = npt.NDArray[Any]  # an array of any kind
Faults = dict[int, str]  # row -> fault
MOST = 1e15  # greatest quantity: products stay finite and whole numbers exact
TIME: Literal["time"] = "time"  # kind of a field: a timestamp, or seconds
TEXT: Literal["text"] = "text"  # kind of a field: a text
# seconds in this range are a Unix time (2001 to 5138): no log lasts for thirty years
EPOCH_S = (1e9, 1e11)
FORM = "a time of the form YYYY-MM-DD HH:MM:SS"


@dataclass(frozen=True)
class Field:
    """Field in the rows of a format.

    name: its column in a `Log`, or a name from which the format derives other columns.
    of: its possible names in the file; the first present is used. kind: a number, a
    time (all timestamps or all seconds, like the first one) or a string. least: lower
    limit of a number; above: whether this limit is exclusive. whole: whether numbers
    must be whole. read: parses a cell in the unit of the file, or raises ValueError;
    form: what it accepts. unit: factor from the file's unit to the column's. missing:
    strings that mean no value, ignoring case; blank: a number that does, such as -1.
    needed: whether the file must have it.
    """

    name: str
    of: tuple[str, ...]
    kind: Literal["number", "time", "text"] = "number"
    unit: float = 1.0
    least: float = 0.0
    above: bool = False
    whole: bool = False
    read: Callable[[str], float] = float
    form: str = "a number"
    missing: tuple[str, ...] = ("",)
    blank: float = np.nan
    needed: bool = True

    @property
    def allowed(self) -> str:
        """Description of the allowed numbers."""
        kind = "a whole number" if self.whole else self.form
        than = ">" if self.above else ">="
        blank = "" if np.isnan(self.blank) else f", or {self.blank:g} if missing"
        return f"{kind} {than} {self.least:g} and at most {MOST:g}{blank}"

    def is_none(self, text: str) -> bool:
        """Return whether a cell has no value."""
        return text.strip().lower() in {word.lower() for word in self.missing}

    def numbers(self, column: str, texts: Sequence[str]) -> tuple[Floats, Faults]:
        """Parse cells to the column's unit, NaN if missing; return faults, too."""
        values = np.array([tried(self.read, text) for text in texts], dtype=np.float64)
        none = np.isnan(values)
        for row in np.flatnonzero(none).tolist():
            none[row] = self.is_none(texts[row])
        none |= values == self.blank
        ok = (values > self.least if self.above else values >= self.least) & (
            values <= MOST
        )
        if self.whole:
            ok &= values == np.floor(values)
        faults = {
            row: f"{column}(={texts[row][:50]!r}) must be {self.allowed}"
            for row in np.flatnonzero(~ok & ~none).tolist()
        }
        values[none | ~ok] = np.nan
        return values * self.unit, faults


class Clock:
    """Parser of the times of a file: all timestamps or all seconds, like the first one.

    zone: zone of timestamps without one, if known; then all are converted to UTC.
    zones: the lines of timestamps with and without a zone. unsure: number of times that
    are ambiguous due to a clock change in the zone; the earlier time is used.
    """

    def __init__(self, zone: ZoneInfo | None = None) -> None:
        self.stamped: bool | None = None
        self.zone, self.zones, self.unsure = zone, Zones(), 0

    def read(self, text: str) -> tuple[datetime, bool]:
        """Parse a timestamp; also return whether it has a zone; ValueError if invalid.

        If the file's zone is known, all times have one.
        """
        if self.zone is None:
            return zoned(text)
        stamp, certain = in_zone(text, self.zone)
        self.unsure += not certain
        return stamp, True

    def local(self, start: datetime) -> datetime:
        """Convert a time in UTC to the file's zone, if it is known."""
        return (
            start.replace(tzinfo=UTC).astimezone(self.zone or UTC).replace(tzinfo=None)
        )

    def times(
        self, field: Field, column: str, texts: Sequence[str], lines: Sequence[int]
    ) -> tuple[Array, Faults]:
        """Return times as datetime64 (NaT) or seconds (NaN if missing), and faults."""
        present = {
            row: text for row, text in enumerate(texts) if not field.is_none(text)
        }
        if self.stamped is None:
            kinds = (self._is_stamp(text, column) for text in present.values())
            self.stamped = next((kind for kind in kinds if kind is not None), None)
            self.unsure = 0  # the first time is read again below
        if self.stamped is False:
            return field.numbers(column, texts)
        stamps = {row: tried(self.read, text.strip()) for row, text in present.items()}
        times = np.full(len(texts), np.datetime64("NaT", "us"))
        for row, stamp in stamps.items():
            if stamp is not None:
                times[row] = stamp[0]
                self.zones.see(lines[row], stamp[1])
        form = FORM if self.stamped else f"{FORM}, or a number of seconds"
        faults = {
            row: f"{column}(={texts[row][:50]!r}) must be {form}"
            for row, stamp in stamps.items()
            if stamp is None
        }
        return (times if self.stamped else np.full(len(texts), np.nan)), faults

    def _is_stamp(self, text: str, column: str) -> bool | None:
        """Return whether a string is a timestamp, not a number; None if neither.

        A value such as 20241120 is a date only in a column named timestamp.
        """
        ways: tuple[Callable[[str], object], ...] = (float, self.read)
        tried_ways = ways if column != "timestamp" else reversed(ways)
        return next(
            (way is not float for way in tried_ways if tried(way, text) is not None),
            None,
        )


def seconds_between(start: Any, times: Array) -> Floats:
    """Return the seconds between times or arrays; timestamps to the microsecond."""
    if np.ndim(start) and start.dtype.kind != times.dtype.kind:
        return np.full(len(times), np.nan)  # one of them has no valid time
    passed = times - start
    if passed.dtype.kind == "m":
        passed = passed / np.timedelta64(1, "s")
    return np.asarray(passed, dtype=np.float64)


def of_unix(times: Array, submit: Array) -> Array:
    """Convert seconds to timestamps (UTC) if the earliest submission is a Unix time.

    Raises InputError if the earliest submission is too large for either, such as one in
    milliseconds.
    """
    if "M" in (submit.dtype.kind, times.dtype.kind) or np.isnan(submit).all():
        return times
    first_s = float(np.nanmin(submit))
    # not in milliseconds
    require(
        first_s < EPOCH_S[1],
        "earliest submission",
        first_s,
        "seconds, or a Unix time in seconds",
    )
    if first_s < EPOCH_S[0]:
        return times
    micro = (
        np.round(np.nan_to_num(times) * 1e6).astype(np.int64).astype("datetime64[us]")
    )
    return np.where(np.isnan(times), np.datetime64("NaT", "us"), micro)


@dataclass(frozen=True)
class Raw:
    """Parsed fields of some rows: numbers, times and strings ("" if missing)."""

    numbers: Mapping[str, Array]
    texts: Mapping[str, Sequence[str]]
    rows: int

    def get(self, name: str, otherwise: float = np.nan) -> Array:
        """Return a number per row; `otherwise` if the file has no such field."""
        return self.numbers.get(name, np.full(self.rows, otherwise))


class Parsed(NamedTuple):
    """Columns of a log, computed from the fields of its rows.

    columns: columns by their names in COLUMNS; durations in seconds, times as in the
    file. left_out: reasons, each with a mask of rows that are not runnable jobs. bad:
    masks of invalid rows, each with the field and its allowed values. remarks: messages
    to log, each with a mask of the rows that it refers to.
    """

    columns: Mapping[str, Array]
    left_out: tuple[tuple[str, Array], ...] = ()
    bad: tuple[tuple[Array, str, str], ...] = ()
    remarks: tuple[tuple[str, Array], ...] = ()


@dataclass(frozen=True)
class Format:
    """Format of a log.

    name: name in FORMATS. about: description on one line. fields: the fields to read;
    of several with one name, the first in the file is used. delimiter: delimiter of
    cells; None: white space. quoted: whether cells may be quoted, as in CSV. names:
    names of all fields of a line, if the file has no header line; one tuple per number
    of fields. parse: computes columns from fields. skip: a field, and a function of its
    string that returns the reason to leave out a row unread, or None. group: a field
    that groups rows, or "". part: pattern of the suffix that the id of a part of a job
    has; parts of a job start together. start: function of header and zone that returns
    the calendar time at time 0. none: string that means no value in any column. flat:
    converts a JSON object to a row; a table with a header line may also be JSON. keys:
    keys of the objects, if the file is always JSON. whole: reads a file that is not a
    table into columns, tags and edges. row: pattern of the start of a row, to recognise
    files without a header line.
    """

    name: str
    about: str
    fields: tuple[Field, ...]
    delimiter: str | None = ","
    quoted: bool = True
    names: tuple[tuple[str, ...], ...] = ()
    parse: Callable[[Raw], Parsed] = lambda raw: Parsed(raw.numbers)
    skip: tuple[str, Callable[[str], str | None]] | None = None
    group: str = ""
    part: re.Pattern[str] | None = None
    start: Callable[[Mapping[str, str], ZoneInfo | None], datetime | None] | None = None
    none: str = ""
    flat: Callable[[Any], dict[str, Any]] = dict
    keys: tuple[str, ...] = ()
    whole: Callable[[TextIO], Any] | None = None
    row: re.Pattern[str] | None = None

    def rows(
        self, file: TextIO, head: str, delimiter: str | None, header: dict[str, str]
    ) -> Rows:
        """Yield the rows of a file, including the header line.

        head: the beginning of the file. delimiter: delimiter in the file; None: that of
        the format. header: dict to which the entries in comments are added.
        """
        if not self.names and head.lstrip()[:1] in ("{", "["):
            return json_rows(file, self.flat)
        sign = delimiter or self.delimiter
        if self.quoted and sign and len(sign) == 1:
            return comma_rows(file, sign)
        return split_rows(file, sign, header)
