"""What a format of logs is: the text, plain or gzipped, and its lines as cells; the
fields, their names, units and what is allowed; and how texts become numbers and times,
and these the columns of a log.
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

# the numbers of lines, and their cells, or what is wrong with them
Rows = Iterator[tuple[int, list[str] | str]]
log = logging.getLogger(__name__)
# a line of the header of an SWF file
HEADER = re.compile(r";\s*([^:;]*?)\s*:\s*(\S.*)")


def _latin1(error: UnicodeError) -> tuple[str, int]:
    """Decode the bytes of an error as Latin-1."""
    fault = cast(UnicodeDecodeError, error)
    return fault.object[fault.start : fault.end].decode("latin-1"), fault.end


# Old files are of any encoding: bytes that are not UTF-8 are taken for Latin-1, so that
# names stay apart.
codecs.register_error("cgrsp_simpy.latin1", _latin1)


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """The text of a file; whether it is gzipped is seen from its content."""
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
    """Rows of a CSV file; a quoted cell may hold commas and line breaks."""
    table = csv.reader(file, strict=True)
    while True:
        line = table.line_num + 1
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error as error:
            # cut off within quotes: nobody knows where the row should have ended
            if "end of data" in str(error):
                raise InputError(f"line {line}: not CSV ({error})") from None
            yield line, f"not CSV ({error})"
        else:
            if len(cells) > 1 or "".join(cells).strip():
                yield line, cells


def parted_by(names: list[str], wanted: Collection[str]) -> str:
    """What is wrong with the header of a table whose cells are parted by another sign
    than a comma, where that is in the one name that there is, or would give one that is
    wanted; else "".
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
    """Lines with a separator between the fields."""
    return (
        (line, text.rstrip("\r\n").split(separator))
        for line, text in enumerate(file, 1)
        if text.strip()
    )


def swf_rows(file: TextIO, header: dict[str, str]) -> Rows:
    """Lines with white space between the fields; what the comments, which begin with a
    semicolon, tell goes into `header`.
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
Faults = dict[int, str]  # by row, what is wrong
MOST = 1e15  # of any quantity: up to here products are finite and whole numbers exact
TIME: Literal["time"] = "time"  # kind of a field: a timestamp, or seconds
TEXT: Literal["text"] = "text"  # kind of a field: a text
# seconds in this range are a Unix time (2001 to 5138): no log lasts for thirty years
EPOCH_S = (1e9, 1e11)
FORM = "a time of the form YYYY-MM-DD HH:MM:SS"


@dataclass(frozen=True)
class Field:
    """A field of the rows of a format.

    name: its column in a `Log`, or what the format makes others of. of: its names in
    the file; the first that is there is taken. kind: a number, a time (a timestamp, or
    seconds, as the first one is written) or a text. least: of a number; above: more
    than that. whole: whether the number is. read: what a cell is in the unit of the
    file, or a ValueError; form: what it takes. unit: what one of the file is in the
    unit of the column. missing: texts that stand for none, in whatever case, and minus:
    whether -1 does. needed: whether the file must have it.
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
        """What a number of it may be."""
        kind = "a whole number" if self.whole else self.form
        than = ">" if self.above else ">="
        return (
            f"{kind} {than} {self.least:g} and at most"
            f" {MOST:g}{', or -1 if missing' if self.minus else ''}"
        )

    def is_none(self, text: str) -> bool:
        """Whether a cell stands for no value."""
        return text.strip().lower() in {each.lower() for each in self.missing}

    def numbers(self, column: str, texts: Sequence[str]) -> tuple[Floats, Faults]:
        """The values of cells in the unit of the column, NaN where there is none, and
        what is wrong with the others.
        """
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
    """Reads the times of a file: all of them are timestamps, or all are seconds, as the
    first that can be read is.

    zones: which lines have timestamps with a zone, and without one.
    """

    def __init__(self) -> None:
        self.stamped: bool | None = None
        self.zones = Zones()

    def times(
        self, field: Field, column: str, texts: Sequence[str], lines: Sequence[int]
    ) -> tuple[Array, Faults]:
        """Times, of the kind datetime64 with NaT for none, or seconds with NaN, and
        what is wrong with the others.
        """
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

    20241120 is a day in a column of that name alone.
    """
    ways: tuple[Callable[[str], object], ...] = (float, timestamp)
    tried_ways = ways if column != "timestamp" else reversed(ways)
    return next(
        (way is timestamp for way in tried_ways if tried(way, text) is not None), None
    )


def seconds_between(start: Any, times: Array) -> Floats:
    """Seconds from one time, or one a row, to others; exact to the microsecond for
    timestamps.
    """
    passed = times - start
    if passed.dtype.kind == "m":
        passed = passed / np.timedelta64(1, "s")
    return np.asarray(passed, dtype=np.float64)


def of_unix(times: Array, submit: Array) -> Array:
    """Seconds as timestamps (UTC) where the earliest submission shows that they are
    Unix times; else as they are.

    Raises InputError for an earliest submission that is neither, such as one in
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
    """The fields of some rows that could be read: numbers and times as arrays, texts as
    lists ("" where the file has none).
    """

    numbers: Mapping[str, Array]
    texts: Mapping[str, Sequence[str]]
    rows: int

    def get(self, name: str, otherwise: float = np.nan) -> Array:
        """A number of each row; the other where the file has no such field."""
        return self.numbers.get(name, np.full(self.rows, otherwise))


class Made(NamedTuple):
    """The columns of a log from the fields of its rows.

    columns: by their names in COLUMNS, seconds as numbers, moments as the file tells
    them. left_out: reasons, each with the rows that tell of no job that can be run, as
    a mask. bad: masks of rows that cannot be, each with the field that is wrong and
    what it must be.
    """

    columns: Mapping[str, Array]
    left_out: tuple[tuple[str, Array], ...] = ()
    bad: tuple[tuple[Array, str, str], ...] = ()


def as_they_are(raw: Raw) -> Made:
    """The fields are the columns."""
    return Made(raw.numbers)


@dataclass(frozen=True)
class Format:
    """A format of logs.

    name: as in FORMATS. about: what it is, in a line. fields: those that are looked at;
    of several of one name, the first that the file has. rows: how lines become cells.
    names: of all fields of a line, where the file has no header line. made: how fields
    become columns. skip: a field, and what tells from its text why a row is left out
    unread, None for one that is read. group: a field by which rows belong together, ""
    for none. start: from the header to the calendar's time at time 0. none: a text that
    stands for none in any column. whole: reads a file that is no table, to columns,
    tags and edges.
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
