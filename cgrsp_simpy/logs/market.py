"""Snapshots of a market: the stock of a type, and its price, as recorded over weeks.

Three formats, plain or gzipped; which one it is, is seen from the content:

    SkyPilot's spot traces   one JSON object, {"metadata": {"gap_seconds": 600}, "data": [1, 0]}:
                             how many instances were to be had at each poll. The type is named
                             after the file.
    GPU price tracker        a JSON object a line: timestamp, gpu_type, socket_type, availability
                             {low, medium, high: numbers of offers}, price_stats {median: USD/h}.
    CSV                      columns time (seconds or timestamps) and status; type and price (USD/h)
                             if there are any. status: high, medium, low, "" (not fetched), how
                             many instances were to be had, or up and down for 1 and 0.

A number of instances means Low at 0, High at the greatest of the series, and Medium between. Of
offers by label the best counts: one instance is wanted. A snapshot without any labelled offer was
not fetched, and tells nothing. Timestamps have a zone all, and are put in UTC, or none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.logs.text import comma_rows, faults_of, opened, parted_by
from cgrsp_simpy.model.checks import InputError, check_number, check_one_of, check_whole, require
from cgrsp_simpy.model.reading import Zones, zoned

NOT_FETCHED = -1  # the status of a snapshot that tells nothing
STATUSES = {"high": 0, "medium": 1, "low": 2, "": NOT_FETCHED}
INSTANCES = {"up": 1, "down": 0}


@dataclass(frozen=True, eq=False)
class Snapshots:
    """What was recorded of a type.

    Parameters
    ----------
    gpu : str
        Name of the type.
    time_s : array of float
        Of each snapshot, seconds from the first of the series on, rising.
    status : array of int
        0 High, 1 Medium, 2 Low, -1 not fetched; one a snapshot.
    price_usd_per_h : array of float
        NaN where it is not known; one a snapshot.
    start : datetime, optional
        The moment of second 0 (UTC); None where the file knows no calendar.
    begins_s : float
        From the first snapshot of the file, of any type, to second 0; seconds.
    """

    gpu: str
    time_s: npt.NDArray[np.float64]
    status: npt.NDArray[np.int64]
    price_usd_per_h: npt.NDArray[np.float64]
    start: datetime | None = None
    begins_s: float = 0.0

    @property
    def start_h(self) -> float:
        """Hour of day at second 0; without a calendar, hours count from the file's first
        snapshot.
        """
        own = self.start
        if own is None:
            return self.begins_s / 3600 % 24
        return own.hour + own.minute / 60 + own.second / 3600


class Row(NamedTuple):
    """A snapshot as the file has it.

    moment: a date, or seconds. instances: their number, where the file tells one in place
    of a status. zoned: whether the date has a zone.
    """

    line: int
    gpu: str
    moment: datetime | float
    status: int
    price_usd_per_h: float
    instances: int | None = None
    zoned: bool = False


def read_market(path: str | Path) -> list[Snapshots]:
    """Read the snapshots of a file, a series a type.

    path: in one of the three formats, plain or gzipped. Result: in the order in which the types
    come. Raises InputError with the file's name, and the line where there is one, for what is not
    of the format, times that do not rise, unknown statuses and negative prices.
    """
    path = Path(path)
    with faults_of(path), opened(path) as file:
        rows = rows_of(path, file)
        require(bool(rows), "snapshots", 0, "at least one")
        by_type: dict[str, list[Row]] = {}
        for row in rows:
            by_type.setdefault(row.gpu, []).append(row)
        first = min(rows, key=lambda row: seconds_between(rows[0], row))
        return [_series(gpu, own, first) for gpu, own in by_type.items()]


def rows_of(path: Path, file: TextIO) -> list[Row]:
    """The snapshots of an open file, of all types, in its order; its format is told by what it
    begins with, { or anything else.

    Raises InputError for what is not of the format.
    """
    start = file.read(1)
    while start.isspace():
        start = file.read(1)
    file.seek(0)
    rows = list(_of_json(path, file) if start == "{" else _of_csv(path, file))
    zones = Zones()
    for row in rows:
        if isinstance(row.moment, datetime):
            zones.see(row.line, row.zoned)
    zones.check()
    return rows


def seconds_between(before: Row, after: Row) -> float:
    """From one snapshot to another; InputError where one has a date and the other has none."""
    if isinstance(before.moment, datetime) and isinstance(after.moment, datetime):
        return (after.moment - before.moment).total_seconds()
    if isinstance(before.moment, float) and isinstance(after.moment, float):
        return after.moment - before.moment
    raise InputError(f"line {after.line}: time must be all timestamps, or all seconds")


def _series(gpu: str, rows: Sequence[Row], of_all: Row) -> Snapshots:
    """The rows of a type. of_all: the first row of the file, by its time."""
    first = rows[0].moment
    for before, after in pairwise(rows):
        if not seconds_between(before, after) > 0:
            raise InputError(
                f"line {after.line}: the time of {gpu} must be after that of line {before.line}"
            )
    most = max((row.instances for row in rows if row.instances is not None), default=0)
    return Snapshots(
        gpu,
        np.array([seconds_between(rows[0], row) for row in rows]),
        np.array([_status(row, most) for row in rows], np.int64),
        np.array([row.price_usd_per_h for row in rows], float),
        first if isinstance(first, datetime) else None,
        seconds_between(of_all, rows[0]),
    )


def _status(row: Row, most: int) -> int:
    """The status of a snapshot; of a number of instances, by the greatest of the series."""
    if row.instances is None:
        return row.status
    return 2 if not row.instances else 0 if row.instances == most else 1


# ---- JSON ----


def _of_json(path: Path, file: TextIO) -> Iterable[Row]:
    text = file.read()
    try:
        whole = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        whole = None  # several objects, or none
    if isinstance(whole, dict) and "timestamp" not in whole:
        return _of_trace(path, whole)
    lines = [(line, each) for line, each in enumerate(text.splitlines(), 1) if each.strip()]
    return [_tracked(line, each) for line, each in lines]


def _of_trace(path: Path, found: dict[str, Any]) -> list[Row]:
    """The polls of a spot trace."""
    about, data = found.get("metadata"), found.get("data")
    require(isinstance(about, dict), "metadata", about, "an object with gap_seconds")
    gap_s = about.get("gap_seconds")  # type: ignore[union-attr]
    check_whole("metadata.gap_seconds", gap_s, least=1)
    require(isinstance(data, list), "data", data, "a list of numbers of instances")
    name = name_of(path)
    for place, count in enumerate(data):  # type: ignore[arg-type]
        check_whole(f"entry {place} of data", count, least=0)
    return [
        Row(1, name, place * float(gap_s), 0, math.nan, count)
        for place, count in enumerate(data)  # type: ignore[arg-type]
    ]


def name_of(path: Path) -> str:
    """What a series without a type is named after: the file."""
    return path.name.removesuffix(".gz").rpartition(".")[0] or path.name


def _tracked(line: int, text: str) -> Row:
    """A line of the GPU price tracker."""
    try:
        found = json.loads(text)
        offers, prices = found["availability"], found["price_stats"]
        gpu = f"{found['gpu_type']} {found['socket_type']}"
        numbers = [offers["high"], offers["medium"], offers["low"]]
        (moment, has), price = zoned(found["timestamp"]), prices["median"]
    except json.JSONDecodeError as error:
        raise InputError(f"line {line}: not JSON ({error.msg})") from None
    except KeyError as error:
        raise InputError(f"line {line}: {error.args[0]} is missing") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"line {line}: not of the format ({error})") from None
    for name, number in zip(("high", "medium", "low"), numbers):
        check_whole(f"line {line}: {name}", number, least=0)
    status = next((place for place, number in enumerate(numbers) if number), NOT_FETCHED)
    return Row(line, gpu, moment, status, _price(line, price), zoned=has)


def _price(line: int, value: object) -> float:
    if value is None:
        return math.nan
    check_number(f"line {line}: price", value, least=0)
    return float(value)  # type: ignore[arg-type]


# ---- CSV ----


def _of_csv(path: Path, file: TextIO) -> Iterable[Row]:
    table = comma_rows(file, {})
    _, header = next(table, (0, ""))
    names = [cell.strip() for cell in header] if isinstance(header, list) else []
    for name in ("time", "status"):
        allowed = f"time, status, type, price: no {name}{parted_by(names, [name])}"
        require(name in names, "columns", ",".join(names), allowed)
    for line, cells in table:
        if isinstance(cells, str) or len(cells) != len(names):
            told = cells if isinstance(cells, str) else f"{len(cells)} cells, not {len(names)}"
            raise InputError(f"line {line}: {told}")
        yield _listed(line, dict(zip(names, (cell.strip() for cell in cells))), name_of(path))


def _listed(line: int, cells: dict[str, str], name: str) -> Row:
    """A row of a CSV table."""
    text, price = cells["status"].lower(), cells.get("price", "")
    gpu = cells.get("type") or name
    moment, has = _moment(line, cells["time"])
    try:
        usd = float(price) if price else None
    except ValueError:
        raise InputError(f"line {line}: price(={price!r}) must be a number >= 0") from None
    if text in INSTANCES or (text.isascii() and text.isdigit()):
        instances = INSTANCES[text] if text in INSTANCES else int(text)
        return Row(line, gpu, moment, 0, _price(line, usd), instances, has)
    if text not in STATUSES:
        words = [*filter(None, STATUSES), *INSTANCES, "a whole number"]
        check_one_of(f"status in line {line}", text, words)
    return Row(line, gpu, moment, STATUSES[text], _price(line, usd), zoned=has)


def _moment(line: int, text: str) -> tuple[datetime | float, bool]:
    """A date, or seconds, and whether it has a zone."""
    try:
        seconds = float(text)
        check_number(f"line {line}: time", seconds, least=0)
        return seconds, False
    except InputError:
        raise
    except ValueError:
        pass
    try:
        return zoned(text)
    except ValueError:
        told = f"line {line}: time(={text!r}) must be seconds, or a timestamp"
        raise InputError(told) from None
