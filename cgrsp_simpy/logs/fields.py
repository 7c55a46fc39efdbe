"""The fields of a log: their names in the file, in which unit, what is allowed; and how texts
become numbers and times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.model.checks import require
from cgrsp_simpy.model.reading import Zones, timestamp, zoned

Array = npt.NDArray[Any]  # an array of any kind
Floats = npt.NDArray[np.float64]  # an array of floats
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

    name: its column in a `Log`, or what the format makes others of. of: its names in the file;
    the first that is there is taken. kind: a number, a time (a timestamp, or seconds, as the first
    one is written) or a text. least: of a number; above: more than that. whole: whether the number
    is. read: what a cell is in the unit of the file, or a ValueError; form: what it takes. unit:
    what one of the file is in the unit of the column. missing: texts that stand for none, in
    whatever case, and minus: whether -1 does. needed: whether the file must have it.
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
        kind, than = ("a whole number" if self.whole else self.form), (">" if self.above else ">=")
        return (
            f"{kind} {than} {self.least:g} and at most"
            f" {MOST:g}{', or -1 if missing' if self.minus else ''}"
        )

    def is_none(self, text: str) -> bool:
        """Whether a cell stands for no value."""
        return text.strip().lower() in {each.lower() for each in self.missing}

    def numbers(self, column: str, texts: Sequence[str]) -> tuple[Floats, Faults]:
        """The values of cells in the unit of the column, NaN where there is none, and what is wrong
        with the others.
        """
        faults: Faults = {}
        try:
            values, none = np.array(list(map(self.read, texts))), np.zeros(len(texts), dtype=bool)
        except ValueError:
            values, none = self._one_by_one(column, texts, faults)
        for row in np.flatnonzero(np.isnan(values) & ~none).tolist():
            none[row] = self.is_none(texts[row])
        if self.minus:
            none |= values == -1
        ok = (values > self.least if self.above else values >= self.least) & (values <= MOST)
        if self.whole:
            ok &= values == np.floor(values)
        for row in np.flatnonzero(~ok & ~none).tolist():
            faults.setdefault(row, f"{column}(={texts[row][:50]!r}) must be {self.allowed}")
        values[none | ~ok] = np.nan
        return values * self.unit, faults

    def _one_by_one(
        self, column: str, texts: Sequence[str], faults: Faults
    ) -> tuple[Floats, npt.NDArray[np.bool_]]:
        values, none = np.full(len(texts), np.nan), np.zeros(len(texts), dtype=bool)
        for row, text in enumerate(texts):
            try:
                values[row] = self.read(text)
            except ValueError:
                none[row] = self.is_none(text)
                if not none[row]:
                    faults[row] = f"{column}(={text[:50]!r}) must be {self.allowed}"
        return values, none


class Clock:
    """Reads the times of a file: all of them are timestamps, or all are seconds, as the first that
    can be read is.

    zones: which lines have timestamps with a zone, and without one.
    """

    def __init__(self) -> None:
        self.stamped: bool | None = None
        self.zones = Zones()

    def times(
        self, field: Field, column: str, texts: Sequence[str], lines: Sequence[int]
    ) -> tuple[Array, Faults]:
        """Times, of the kind datetime64 with NaT for none, or seconds with NaN, and what is wrong
        with the others.
        """
        if self.stamped is None:
            kinds = (_is_stamp(text, column) for text in texts if not field.is_none(text))
            self.stamped = next((kind for kind in kinds if kind is not None), None)
        if self.stamped is None:
            told = {row: text for row, text in enumerate(texts) if not field.is_none(text)}
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
        found: list[datetime | None] = []
        for row, text in enumerate(texts):
            try:
                stamp, has = zoned(text.strip())
            except ValueError:
                found.append(None)
                if not field.is_none(text):
                    faults[row] = f"{column}(={text[:50]!r}) must be {FORM}"
            else:
                found.append(stamp)
                self.zones.see(lines[row], has)
        return np.array(found, dtype="datetime64[us]"), faults


def _is_stamp(text: str, column: str) -> bool | None:
    """Whether a text is a timestamp, not a number; None for neither.

    20241120 is a day in a column of that name alone.
    """
    ways = (_number, timestamp) if column != "timestamp" else (timestamp, _number)
    for way in ways:
        try:
            way(text)
        except ValueError:
            continue
        return way is timestamp
    return None


def _number(text: str) -> None:
    float(text)


def seconds_between(start: Any, times: Array) -> Floats:
    """Seconds from one time, or one a row, to others; exact to the microsecond for timestamps."""
    passed = times - start
    if passed.dtype.kind == "m":
        passed = passed / np.timedelta64(1, "s")
    return np.asarray(passed, dtype=np.float64)


def of_unix(times: Array, submit: Array) -> Array:
    """Seconds as timestamps (UTC) where the earliest submission shows that they are Unix times;
    else as they are.

    Raises InputError for an earliest submission that is neither, such as one in milliseconds.
    """
    if (
        submit.dtype.kind == "M"
        or not len(submit)
        or np.isnan(submit).all()
        or times.dtype.kind == "M"
    ):
        return times
    first_s = float(np.nanmin(submit))
    # not in milliseconds
    require(
        first_s < EPOCH_S[1], "earliest submission", first_s, "seconds, or a Unix time in seconds"
    )
    if first_s < EPOCH_S[0]:
        return times
    micro = np.round(np.nan_to_num(times) * 1e6).astype(np.int64).astype("datetime64[us]")
    return np.where(np.isnan(times), np.datetime64("NaT", "us"), micro)
