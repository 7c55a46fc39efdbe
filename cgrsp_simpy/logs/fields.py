"""Formats of logs: text, plain or gzipped, and rows; fields with names, units and
limits; conversion of texts to numbers and times, and of these to columns.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TextIO, cast

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import InputError, require, tried
from cgrsp_simpy.base.files import Text, Zones, check_named, timestamp, zoned

# line numbers, and their cells or faults
Rows = Iterator[tuple[int, list[str] | str]]
log = logging.getLogger(__name__)
# a line of the header of an SWF file
HEADER = re.compile(r";\s*([^:;]*?)\s*:\s*(\S.*)")


def _latin1(error: UnicodeError) -> tuple[str, int]:
    """Decode the bytes of an error as Latin-1."""
    fault = cast(UnicodeDecodeError, error)
    return fault.object[fault.start : fault.end].decode("latin-1"), fault.end


# Old files have any encoding: bytes that are not UTF-8 are decoded as Latin-1, so that
# names stay distinct.
codecs.register_error("cgrsp_simpy.latin1", _latin1)


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """Open a text file, gzipped or not by its content."""
    check_named(path)
    with path.open("rb") as raw:
        file = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == b"\x1f\x8b" else raw
        start = file.peek(1)
        if not start:
            raise InputError("the file is empty")
        if b"\0" in start or start.startswith(
            (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        ):
            raise InputError("not a text file in UTF-8")
        yield Text(
            cast(BinaryIO, file), encoding="utf-8-sig", errors="cgrsp_simpy.latin1"
        )


# header: one signature for all formats
def comma_rows(file: TextIO, header: dict[str, str]) -> Rows:  # noqa: ARG001
    """Yield rows of a CSV file; a quoted cell may hold commas and line breaks."""
    table = csv.reader(file, strict=True)
    while True:
        line = table.line_num + 1
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error as error:
            # truncated within quotes: the end of the row is unknown
            if "end of data" in str(error):
                raise InputError(f"line {line}: not CSV ({error})") from None
            yield line, f"not CSV ({error})"
        else:
            if len(cells) > 1 or "".join(cells).strip():
                yield line, cells


def parted_by(names: list[str], wanted: Collection[str]) -> str:
    """Describe a header with another separator than commas, or return "".

    It is in the only name, or would give one of the wanted names.
    """
    for sign, told in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        parts = [part.strip() for part in ",".join(names).split(sign)]
        if {*parts} & {*wanted} or (len(names) == 1 and len(parts) > 1):
            return f"; its cells are parted by {told}, where commas are needed"
    return ""


def split_rows(
    file: TextIO,
    header: dict[str, str],  # noqa: ARG001
    separator: str,
) -> Rows:
    """Yield lines with a separator between the fields."""
    return (
        (line, text.rstrip("\r\n").split(separator))
        for line, text in enumerate(file, 1)
        if text.strip()
    )


def swf_rows(file: TextIO, header: dict[str, str]) -> Rows:
    """Yield lines with white space between the fields.

    The entries of the comments, which begin with a semicolon, go into `header`.
    """
    for line, text in enumerate(file, 1):
        cells = text.split()
        if cells and cells[0][0] != ";":
            if line == 1:
                log.info("%s: no header: nothing is known of the machine", file.name)
            yield line, cells
        elif match := HEADER.match(text.strip()):
            header.setdefault(match[1], match[2])


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
    in that of the column. missing: texts for no value, ignoring case, and minus:
    whether -1 is one. needed: whether the file must have it.
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
    minus: bool = False
    needed: bool = True

    @property
    def allowed(self) -> str:
        """Allowed numbers."""
        kind = "a whole number" if self.whole else self.form
        than = ">" if self.above else ">="
        return (
            f"{kind} {than} {self.least:g} and at most"
            f" {MOST:g}{', or -1 if missing' if self.minus else ''}"
        )

    def is_none(self, text: str) -> bool:
        """Whether a cell has no value."""
        return text.strip().lower() in {each.lower() for each in self.missing}

    def numbers(self, column: str, texts: Sequence[str]) -> tuple[Floats, Faults]:
        """Parse cells in the unit of the column, NaN for none; return faults, too."""
        faults: Faults = {}
        try:
            values = np.array(list(map(self.read, texts)))
        except ValueError:
            values = np.array(
                [tried(self.read, text) for text in texts], dtype=np.float64
            )
        none = np.isnan(values)
        for row in np.flatnonzero(none).tolist():
            none[row] = self.is_none(texts[row])
        if self.minus:
            none |= values == -1
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

    zones: the lines of timestamps with and without a zone.
    """

    def __init__(self) -> None:
        self.stamped: bool | None = None
        self.zones = Zones()

    def times(
        self, field: Field, column: str, texts: Sequence[str], lines: Sequence[int]
    ) -> tuple[Array, Faults]:
        """Return times as datetime64 (NaT) or seconds (NaN for none), and faults."""
        if self.stamped is None:
            kinds = (
                _is_stamp(text, column) for text in texts if not field.is_none(text)
            )
            self.stamped = next((kind for kind in kinds if kind is not None), None)
        if self.stamped is None:
            told = {
                row: text for row, text in enumerate(texts) if not field.is_none(text)
            }
            faults = {
                row: f"{column}(={text[:50]!r}) must be {FORM}, or a number of seconds"
                for row, text in told.items()
            }
            return np.full(len(texts), np.nan), faults
        if self.stamped:
            return self._stamps(field, column, texts, lines)
        return field.numbers(column, texts)

    def _stamps(
        self, field: Field, column: str, texts: Sequence[str], lines: Sequence[int]
    ) -> tuple[Array, Faults]:
        faults: Faults = {}
        found = [tried(zoned, text.strip()) for text in texts]
        for row, stamp in enumerate(found):
            if stamp is not None:
                self.zones.see(lines[row], stamp[1])
            elif not field.is_none(texts[row]):
                faults[row] = f"{column}(={texts[row][:50]!r}) must be {FORM}"
        return (
            np.array([stamp and stamp[0] for stamp in found], dtype="datetime64[us]"),
            faults,
        )


def _is_stamp(text: str, column: str) -> bool | None:
    """Whether a text is a timestamp, not a number; None for neither.

    20241120 is a day only in a column with that name.
    """
    ways: tuple[Callable[[str], object], ...] = (float, timestamp)
    tried_ways = ways if column != "timestamp" else reversed(ways)
    return next(
        (way is timestamp for way in tried_ways if tried(way, text) is not None), None
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
    masks of invalid rows, each with the field and its allowed values.
    """

    columns: Mapping[str, Array]
    left_out: tuple[tuple[str, Array], ...] = ()
    bad: tuple[tuple[Array, str, str], ...] = ()


def as_they_are(raw: Raw) -> Made:
    """Use the fields as columns."""
    return Made(raw.numbers)


@dataclass(frozen=True)
class Format:
    """Format of logs.

    name: as in FORMATS. about: description in a line. fields: those that are read; of
    several with one name, the first that the file has. rows: splits lines into cells.
    names: of all fields of a line, if the file has no header line. made: computes
    columns from fields. skip: a field, and a function of its text that returns the
    reason to leave a row out unread, or None. group: a field that groups rows, or "".
    start: from the header to the calendar's time at time 0. none: a text for no value
    in any column. whole: reads a file that is no table into columns, tags and edges.
    """

    name: str
    about: str
    fields: tuple[Field, ...]
    rows: Callable[[TextIO, dict[str, str]], Rows] = comma_rows
    names: tuple[str, ...] = ()
    made: Callable[[Raw], Made] = as_they_are
    skip: tuple[str, Callable[[str], str | None]] | None = None
    group: str = ""
    start: Callable[[Mapping[str, str]], datetime | None] | None = None
    none: str = ""
    whole: Callable[[TextIO], Any] | None = None


def name_of(path: Path) -> str:
    """Return the name of a series without a type, from the file's."""
    return path.name.removesuffix(".gz").rpartition(".")[0] or path.name
