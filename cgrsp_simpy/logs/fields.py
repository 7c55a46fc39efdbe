"""Formats of logs: fields with names, units and limits; conversion of texts to numbers
and times, and of these to columns.
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
    """Field of the rows of a format.

    name: its column in a `Log`, or a name that the format derives others from. of: its
    names in the file, of which the first present is used. kind: a number, a time (a
    timestamp, or seconds, as the first one is written) or a text. least: of a number;
    above: exclusive limit. whole: whether the number is. read: parses a cell in the
    unit of the file, or raises ValueError; form: what it accepts. unit: the file's unit
    in that of the column. missing: texts for no value, ignoring case, and blank: a
    number for none, such as -1. needed: whether the file must have it.
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
        """Allowed numbers."""
        kind = "a whole number" if self.whole else self.form
        than = ">" if self.above else ">="
        blank = "" if np.isnan(self.blank) else f", or {self.blank:g} if missing"
        return f"{kind} {than} {self.least:g} and at most {MOST:g}{blank}"

    def is_none(self, text: str) -> bool:
        """Whether a cell has no value."""
        return text.strip().lower() in {each.lower() for each in self.missing}

    def numbers(self, column: str, texts: Sequence[str]) -> tuple[Floats, Faults]:
        """Parse cells in the unit of the column, NaN for none; return faults, too."""
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
    """Parser of the times of a file: all timestamps, or all seconds, as the first one.

    zone: of timestamps without one, if known; then all are converted to UTC. zones: the
    lines of timestamps with and without a zone. unsure: number of times that a change
    of the zone's clock leaves open; the first of both is taken.
    """

    def __init__(self, zone: ZoneInfo | None = None) -> None:
        self.stamped: bool | None = None
        self.zone, self.zones, self.unsure = zone, Zones(), 0

    def read(self, text: str) -> tuple[datetime, bool]:
        """Parse a timestamp, and return whether it has a zone; ValueError if it is
        none.

        With a zone of the file, all times have one.
        """
        if self.zone is None:
            return zoned(text)
        stamp, certain = in_zone(text, self.zone)
        self.unsure += not certain
        return stamp, True

    def local(self, start: datetime) -> datetime:
        """Convert a time in UTC to the zone, if there is one."""
        return (
            start.replace(tzinfo=UTC).astimezone(self.zone or UTC).replace(tzinfo=None)
        )

    def times(
        self, field: Field, column: str, texts: Sequence[str], lines: Sequence[int]
    ) -> tuple[Array, Faults]:
        """Return times as datetime64 (NaT) or seconds (NaN for none), and faults."""
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
        """Whether a text is a timestamp, not a number; None for neither.

        20241120 is a day only in a column with that name.
        """
        ways: tuple[Callable[[str], object], ...] = (float, self.read)
        tried_ways = ways if column != "timestamp" else reversed(ways)
        return next(
            (way is not float for way in tried_ways if tried(way, text) is not None),
            None,
        )


def seconds_between(start: Any, times: Array) -> Floats:
    """Return seconds between times or arrays; timestamps to the microsecond."""
    passed = times - start
    if passed.dtype.kind == "m":
        passed = passed / np.timedelta64(1, "s")
    return np.asarray(passed, dtype=np.float64)


def of_unix(times: Array, submit: Array) -> Array:
    """Convert seconds to timestamps (UTC) if the earliest submission is a Unix time.

    Raises InputError for an earliest submission that fits neither, such as in
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
    """Parsed fields of some rows: numbers, times and texts, which are "" for none."""

    numbers: Mapping[str, Array]
    texts: Mapping[str, Sequence[str]]
    rows: int

    def get(self, name: str, otherwise: float = np.nan) -> Array:
        """Return a number per row; the other one if the file has no such field."""
        return self.numbers.get(name, np.full(self.rows, otherwise))


class Made(NamedTuple):
    """Columns of a log, computed from the fields of its rows.

    columns: by their names in COLUMNS, seconds as numbers, moments as in the file.
    left_out: reasons, each with a mask of rows that are no job that can be run. bad:
    masks of invalid rows, each with the field and its allowed values. remarks: what is
    reported of rows that are read, each with a mask.
    """

    columns: Mapping[str, Array]
    left_out: tuple[tuple[str, Array], ...] = ()
    bad: tuple[tuple[Array, str, str], ...] = ()
    remarks: tuple[tuple[str, Array], ...] = ()


@dataclass(frozen=True)
class Format:
    """Format of logs.

    name: as in FORMATS. about: description in a line. fields: those that are read; of
    several with one name, the first that the file has. delimiter: between cells; None:
    white space. quoted: whether cells may be quoted, as in CSV. names: of all fields of
    a line, if the file has no header line; one tuple per width of lines. made: computes
    columns from fields. skip: a field, and a function of its text that returns the
    reason to leave a row out unread, or None. group: a field that groups rows, or "".
    part: what the id of a row has beyond that of its job; rows of a job that start
    together are its parts. start: from the header and the zone to the calendar's time
    at time 0. none: a text for no value in any column. flat: converts a JSON object to
    a row; a table with a header line may also be JSON. keys: of the objects, if the
    file is always JSON. whole: reads a file that is no table into columns, tags and
    edges. row: begins a row of a file without a header line.
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
        """Yield the rows of a file, those of a header line included.

        head: the beginning of the file. delimiter: of the file; None: that of the
        format. header: gets the entries of comments.
        """
        if not self.names and head.lstrip()[:1] in ("{", "["):
            return json_rows(file, self.flat)
        sign = delimiter or self.delimiter
        if self.quoted and sign and len(sign) == 1:
            return comma_rows(file, sign)
        return split_rows(file, sign, header)
