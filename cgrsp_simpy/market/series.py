"""Snapshots of a market: stock and price of a type, recorded over weeks, or the
availability of spot instances at each poll.

Four formats, plain or gzipped, distinguished by their content:

    SkyPilot's spot traces   one JSON object, {"metadata": {"gap_seconds": 600},
                             "data": [1, 0]}: the number of available instances at
                             each poll; and optionally "prices", USD/h each. The type
                             is named after the file.
    GPU price tracker        one JSON object per line: timestamp, gpu_type,
                             socket_type, availability {low, medium, high: numbers of
                             offers}, price_stats {median: USD/h}.
    AWS spot price history   JSON {"SpotPriceHistory": [...]}, or CSV: Timestamp,
                             InstanceType, AvailabilityZone, SpotPrice, as from `aws
                             ec2 describe-spot-price-history`. It has prices only:
                             instances count as available. A type per zone and product.
    CSV                      columns time (seconds or timestamps) and status; optional
                             type and price (USD/h). status: high, medium, low, ""
                             (not fetched), the number of available instances, or up
                             and down for 1 and 0.

A number of instances means Low at 0, High at the maximum of the series, and Medium in
between. Of labelled offers, the best label counts, since one instance is needed. A
snapshot without labelled offers counts as not fetched. Either all timestamps have a
zone, and are converted to UTC, or none has one.

A series of spot instances is a file with the numbers of instances of one type, at even
steps.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.base.arrays import Bools, Floats, Ints
from cgrsp_simpy.base.checks import (
    InputError,
    check_number,
    check_one_of,
    check_whole,
    read_as,
    require,
    shown,
    tried,
)
from cgrsp_simpy.base.files import (
    TOO_LARGE,
    Zones,
    check_different,
    check_lines,
    comma_rows,
    faults_in,
    faults_of,
    name_of,
    opened,
    separated,
    zoned,
)
from cgrsp_simpy.base.files import Rows as LogRows
from cgrsp_simpy.base.parameters import Count, Entries, checked, declared
from cgrsp_simpy.base.table import grouped, many

log = logging.getLogger(__name__)
NOT_FETCHED = -1  # status of a snapshot without data
STATUSES = {"high": 0, "medium": 1, "low": 2, "": NOT_FETCHED}
INSTANCES = {"up": 1, "down": 0}
PRICE = "a price of AWS: Timestamp, SpotPrice, a number, and InstanceType, a string"
SNAPSHOT = (
    "an object with gpu_type, socket_type, timestamp, availability (high, medium, low)"
    " and price_stats (median)"
)


@dataclass(frozen=True, eq=False)
class Snapshots:
    """Recorded snapshots of a type.

    time_s: time of each snapshot, seconds from the first of the series, increasing.
    status: 0 High, 1 Medium, 2 Low, -1 not fetched. price_usd_per_h: NaN if unknown.
    start: date and time of second 0 (UTC); None if unknown. begins_s: seconds from the
    first snapshot of the file, of any type, to second 0.
    """

    gpu: str
    time_s: Floats
    status: Ints
    price_usd_per_h: Floats
    start: datetime | None = None
    begins_s: float = 0.0

    @property
    def start_h(self) -> float:
        """Hour of day at second 0; without dates, counted from the first snapshot."""
        start = self.start
        if start is None:
            return self.begins_s / 3600 % 24
        return start.hour + start.minute / 60 + start.second / 3600


class Row(NamedTuple):
    """A snapshot as recorded in the file.

    moment: a date, or seconds. instances: number of instances, if the file has this
    instead of a status. zoned: whether the date has a zone.
    """

    line: int
    gpu: str
    moment: datetime | float
    status: int
    price_usd_per_h: float
    instances: int | None = None
    zoned: bool = False


def read_market(path: str | Path) -> list[Snapshots]:
    """Read the snapshots of a file, one series per type in order of appearance.

    path: a file in a format of the module's docstring. Raises InputError with the
    file's name and, if known, the line, for an invalid format, times that do not
    increase, unknown statuses and negative prices.
    """
    path = Path(path)
    with faults_of(path), opened(path) as file:
        rows = rows_of(path, file)
        require(bool(rows), "snapshots", 0, "at least one")
        first = min(rows, key=lambda row: seconds_between(rows[0], row))
        return [
            _series(gpu, rows_of_type, first)
            for gpu, rows_of_type in grouped(rows, attrgetter("gpu")).items()
        ]


def rows_of(path: Path, file: TextIO) -> list[Row]:
    """Return the snapshots of an open file in file order; InputError if invalid."""
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
    """Return the seconds between two snapshots; InputError if only one has a date."""
    if isinstance(before.moment, datetime) and isinstance(after.moment, datetime):
        return (after.moment - before.moment).total_seconds()
    if isinstance(before.moment, float) and isinstance(after.moment, float):
        return after.moment - before.moment
    raise InputError(f"line {after.line}: times must be all timestamps or all seconds")


def _series(gpu: str, rows: Sequence[Row], of_all: Row) -> Snapshots:
    """Return the series of one type. of_all: the earliest row of the file."""
    first = rows[0].moment
    for before, after in pairwise(rows):
        if not seconds_between(before, after) > 0:
            raise InputError(
                f"line {after.line}: the time of {gpu} must be after that of line"
                f" {before.line}"
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
    """Return a snapshot's status; most: greatest number of instances in the series."""
    if row.instances is None:
        return row.status
    return 0 if row.instances == most else 1 if row.instances else 2


# ---- JSON ----


def _of_json(path: Path, file: TextIO) -> Iterable[Row]:
    text = file.read()
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        whole = None  # several objects, or none
    except (RecursionError, ValueError):
        raise InputError(TOO_LARGE) from None
    if isinstance(whole, dict) and isinstance(whole.get("SpotPriceHistory"), list):
        check_lines(len(whole["SpotPriceHistory"]))
        return _of_prices(path, enumerate(whole["SpotPriceHistory"], 1))
    if isinstance(whole, dict) and "timestamp" not in whole:
        return _of_trace(path, whole)
    lines = [
        (line, text_of_line)
        for line, text_of_line in enumerate(text.splitlines(), 1)
        if text_of_line.strip()
    ]
    check_lines(len(lines))
    return [_tracked(line, text_of_line) for line, text_of_line in lines]


def _of_trace(path: Path, trace: dict[str, Any]) -> list[Row]:
    """Return the polls of a spot trace."""
    about: Any = trace.get("metadata")
    data: Any = trace.get("data")
    require(isinstance(about, dict), "metadata", about, "an object with gap_seconds")
    gap_s = about.get("gap_seconds")
    check_whole("metadata.gap_seconds", gap_s, least=1)
    require(isinstance(data, list), "data", data, "a list of numbers of instances")
    check_lines(len(data))
    prices = trace.get("prices", [None] * len(data))
    require(
        isinstance(prices, list) and len(prices) == len(data),
        "prices",
        prices,
        f"a list of {many(len(data), 'price')}, one per poll",
    )
    rows = []
    for place, (count, usd) in enumerate(zip(data, prices)):
        check_whole(f"entry {place} of data", count, least=0)
        price = _price(f"entry {place} of prices", usd)
        rows.append(Row(1, name_of(path), place * float(gap_s), 0, price, count))
    return rows


def _of_prices(path: Path, entries: Iterable[tuple[int, Any]]) -> list[Row]:
    """Return the changes of AWS's spot prices, which are listed newest first."""
    log.info("%s: prices only: instances count as available", path)
    rows = []
    for line, entry in entries:
        with faults_in(line, entry, PRICE):
            moment, has = zoned(entry["Timestamp"])
            price = float(entry["SpotPrice"])
            names = ("InstanceType", "AvailabilityZone", "ProductDescription")
            # products other than Linux, such as Windows, have other prices
            parts = [entry.get(name, "") for name in names]
            gpu = " ".join(part for part in parts if part not in ("", "Linux/UNIX"))
        check_number(f"line {line}: SpotPrice", price, least=0)
        rows.append(Row(line, gpu, moment, 0, price, zoned=has))
    return sorted(rows, key=attrgetter("moment"))


def _tracked(line: int, text: str) -> Row:
    """Parse a line of the GPU price tracker."""
    with faults_in(line, text, SNAPSHOT):
        snapshot = json.loads(text)
        offers, prices = snapshot["availability"], snapshot["price_stats"]
        gpu = f"{snapshot['gpu_type']} {snapshot['socket_type']}"
        numbers = [offers["high"], offers["medium"], offers["low"]]
        (moment, has), price = zoned(snapshot["timestamp"]), prices["median"]
    for name, number in zip(("high", "medium", "low"), numbers):
        check_whole(f"line {line}: {name}", number, least=0)
    status = next(
        (place for place, number in enumerate(numbers) if number), NOT_FETCHED
    )
    return Row(
        line, gpu, moment, status, _price(f"line {line}: price", price), zoned=has
    )


def _price(name: str, value: object) -> float:
    if value is None:
        return math.nan
    check_number(name, value, least=0)
    return float(value)  # type: ignore[arg-type]


# ---- CSV ----


def _of_csv(path: Path, file: TextIO) -> Iterable[Row]:
    table = comma_rows(file)
    _, header = next(table, (0, ""))
    names = [cell.strip() for cell in header] if isinstance(header, list) else []
    check_different(names)
    rows = _cells(names, table)
    if {"Timestamp", "SpotPrice"} <= {*names}:
        return _of_prices(path, rows)
    for name in ("time", "status"):
        require(
            name in names,
            "columns",
            ",".join(names),
            (
                f"time, status, type and price, but {name} is"
                f" missing{separated(','.join(names))}"
            ),
        )
    return [_listed(line, cells, name_of(path)) for line, cells in rows]


def _cells(names: list[str], table: LogRows) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and cells by column; InputError for a row of other length."""
    for line, cells in table:
        if isinstance(cells, str) or len(cells) != len(names):
            fault = (
                cells
                if isinstance(cells, str)
                else f"{many(len(cells), 'cell')}, not {len(names)}"
            )
            raise InputError(f"line {line}: {fault}")
        yield line, dict(zip(names, (cell.strip() for cell in cells)))


def _listed(line: int, cells: dict[str, str], name: str) -> Row:
    """Parse a row of a CSV table."""
    text, price = cells["status"].lower(), cells.get("price", "")
    gpu = cells.get("type") or name
    moment, has = _moment(line, cells["time"])
    allowed = f"line {line}: price(={shown(price)}) must be a number >= 0"
    paid = _price(
        f"line {line}: price", read_as(float, price, allowed) if price else None
    )
    if text in INSTANCES or (text.isascii() and text.isdigit()):
        allowed = f"line {line}: status(={shown(text)}) has too many digits"
        instances = (
            INSTANCES[text] if text in INSTANCES else read_as(int, text, allowed)
        )
        return Row(line, gpu, moment, 0, paid, instances, has)
    if text not in STATUSES:
        check_one_of(
            f"status in line {line}",
            text,
            [*filter(None, STATUSES), *INSTANCES, "a whole number"],
        )
    return Row(line, gpu, moment, STATUSES[text], paid, zoned=has)


def _moment(line: int, text: str) -> tuple[datetime | float, bool]:
    """Parse a date, or seconds; also return whether the date has a zone."""
    seconds = tried(float, text)
    if seconds is None:
        message = f"line {line}: time(={shown(text)}) must be seconds, or a timestamp"
        return read_as(zoned, text, message)
    check_number(f"line {line}: time", seconds, least=0)
    return seconds, False


@declared()
class Series:
    """Availability of a spot instance at each poll, constant between polls.

    name: name of the zone, or of the file. steps: number of polls. up: whether it was
    available at the first poll. changes: the polls at which availability changes, in
    order. prices: pairs of a poll at which the price changes, beginning with 0, and the
    price in USD per hour; empty if unknown. kept: whether running instances survive
    times without availability, which then only prevent new ones.
    """

    name: str
    step_s: Count
    steps: Count
    up: bool
    changes: Entries[int] = field(default=(), repr=False)
    prices: tuple[tuple[int, float], ...] = field(default=(), repr=False)
    kept: bool = False

    def __post_init__(self) -> None:
        require(
            all(one < other for one, other in pairwise((0, *self.changes, self.steps))),
            "changes",
            self.changes,
            "in order",
        )

    @classmethod
    def of(
        cls,
        name: str,
        step_s: int,
        status: Sequence[bool] | Bools,
        usd_per_h: npt.ArrayLike = (),
        kept: bool = False,
    ) -> Series:
        """Build a series from the status at each poll.

        status: whether an instance was available. usd_per_h: price per poll; empty if
        unknown.
        """
        polled, prices = np.asarray(status, bool), np.asarray(usd_per_h, float)
        steps = len(polled)
        require(steps > 0, "status", status, "not empty")
        require(
            len(prices) in (0, steps),
            "number of prices",
            len(prices),
            f"{steps}, one per poll",
        )
        for poll in np.flatnonzero(~(np.isfinite(prices) & (prices >= 0))):
            check_number(f"price of poll {poll}", float(prices[poll]), least=0)
        turns, moves = (
            np.flatnonzero(np.diff(column)) + 1 for column in (polled, prices)
        )
        listed = (
            (poll, float(prices[poll])) for poll in [0, *moves.tolist()] if len(prices)
        )
        shape = steps, bool(polled[0]), tuple(turns.tolist())
        return cls(name, step_s, *shape, tuple(listed), kept)

    @property
    def length_s(self) -> int:
        """Length of all polls, seconds."""
        return self.steps * self.step_s

    @property
    def status(self) -> Bools:
        """Status at each poll, shape (steps,)."""
        turned = np.zeros(self.steps, int)
        turned[list(self.changes)] = 1
        return np.asarray((np.cumsum(turned) % 2 == 1) != self.up)

    @property
    def availability(self) -> float:
        """Share of the time in which an instance is available."""
        return float(self.status.mean())

    def first(self, steps: int) -> Series:
        """Return the series of the first polls only."""
        changes = tuple(change for change in self.changes if change < steps)
        prices = tuple(pair for pair in self.prices if pair[0] < steps)
        return replace(self, steps=steps, changes=changes, prices=prices)

    def runs_s(self, up: bool) -> Floats:
        """Return the lengths of runs up or down, shape (runs,); the last may be cut."""
        edges = np.array((0, *self.changes, self.steps)) * float(self.step_s)
        return np.diff(edges)[0 if up == self.up else 1 :: 2]

    def ended(self, up: bool) -> Bools:
        """Return which runs of `runs_s` end within the series, shape (runs,)."""
        answer = np.ones(len(self.runs_s(up)), bool)
        if up == (self.up != (len(self.changes) % 2 == 1)):
            answer[-1] = False
        return answer


@checked
def read_series(path: str | Path, needed: Count = 1) -> Series:
    """Read a series of spot instances, named after the file.

    path: JSON or CSV, plain or gzipped; see the module's docstring. needed: instances
    that must be available at once. Raises InputError for a file that is missing, empty
    or damaged; for polls that are missing, out of order or at uneven steps; for invalid
    numbers of instances, prices at only some polls, or several types.
    """
    path = Path(path)
    with faults_of(path), opened(path) as file:
        rows = rows_of(path, file)
        require(
            len(rows) > 1, "polls", len(rows), "at least two, which determine the step"
        )
        types = list(dict.fromkeys(row.gpu for row in rows))
        require(len(types) == 1, "types", types, "one per series")
        prices = [row.price_usd_per_h for row in rows]
        unknown = [row.line for row in rows if math.isnan(row.price_usd_per_h)]
        if 0 < len(unknown) < len(rows):
            raise InputError(
                f"line {unknown[0]}: its price is missing, but other lines have one"
            )
        for row in rows:
            if row.instances is None:
                raise InputError(
                    f"line {row.line}: status must be up, down, or a whole number >= 0"
                )
        there = np.array([row.instances or 0 for row in rows]) >= needed
        return Series.of(name_of(path), _step_s(rows), there, () if unknown else prices)


def _step_s(rows: Sequence[Row]) -> int:
    """Return the step between polls; InputError if it varies."""
    steps = [
        (after.line, seconds_between(before, after)) for before, after in pairwise(rows)
    ]
    step_s = steps[0][1]
    for line, step in steps:
        if not step > 0:
            raise InputError(
                f"line {line}: its time must be after that of the previous row"
            )
        if step != step_s:
            raise InputError(
                f"line {line}: {step:g} s after the previous row, but the first"
                f" step is {step_s:g} s: polls must be equally spaced, without"
                " gaps"
            )
    require(step_s == int(step_s), "the step between polls", step_s, "whole seconds")
    return int(step_s)
