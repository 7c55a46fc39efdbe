"""Formats of logs: fields with names, units and limits; conversion of strings to
numbers and times, and of these to columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TextIO
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import require, tried
from cgrsp_simpy.base.files import Zones, in_zone, zoned
from cgrsp_simpy.base.rows import Rows, comma_rows, json_rows, split_rows

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
        return text.strip().lower() in {each.lower() for each in self.missing}

    def numbers(self, column: str, texts: Sequence[str]) -> tuple[Floats, Faults]:
        """Parse cells to the column's unit, NaN if missing; return faults, too."""
        faults: Faults = {}
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
        for row in np.flatnonzero(~ok & ~none).tolist():
            faults[row] = f"{column}(={texts[row][:50]!r}) must be {self.allowed}"
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
        told = {row: text for row, text in enumerate(texts) if not field.is_none(text)}
        if self.stamped is None:
            kinds = (self._is_stamp(text, column) for text in told.values())
            self.stamped = next((kind for kind in kinds if kind is not None), None)
        if self.stamped is False:
            return field.numbers(column, texts)
        stamps = {row: tried(self.read, text.strip()) for row, text in told.items()}
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


class Made(NamedTuple):
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

    name: name in FORMATS. about: description in one line. fields: the fields to read;
    of several with one name, the first in the file is used. delimiter: delimiter of
    cells; None: white space. quoted: whether cells may be quoted, as in CSV. names:
    names of all fields of a line, if the file has no header line; one tuple per number
    of fields. made: computes columns from fields. skip: a field, and a function of its
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
    made: Callable[[Raw], Made] = lambda raw: Made(raw.numbers)
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
