"""Readers of real job logs: a CSV file to a workload."""

from __future__ import annotations

import csv
import io
import logging
import math
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from cgrsp_simpy.model.checks import InputError, check_bool, check_number, check_one_of, require
from cgrsp_simpy.model.reading import listed, note, timestamp
from cgrsp_simpy.rental.arrivals import WEEK
from cgrsp_simpy.rental.deadlines import DeadlineClasses, Deadlines, checked_deadlines, classes_of
from cgrsp_simpy.rental.workload import LoggedWorkload

__all__ = ["FORMATS", "read_log"]

log = logging.getLogger(__name__)
EXTRA = "\n"  # under which cells beyond the header are put; no column can have this name


class _Row(NamedTuple):
    """One request of a log; submit and deadline are datetimes, or seconds on the log's own axis."""

    line: int
    submit: datetime | float
    service_s: float
    deadline: datetime | float | None = None
    gpus: int = 1
    weight: float = 1.0
    deadline_class: int = -1


class _LeftOut(Exception):  # noqa: N818, not an error
    """A row that is well formed but not a job that ran to its end."""


def _gentd26(line: int, row: dict[str, str]) -> _Row:
    """The image-generation log of Alibaba's cluster-trace-v2026-GenAI."""
    if row["predict_status"] != "SUCCEED":
        raise _LeftOut(f"predict_status {row['predict_status']}")
    return _Row(line, timestamp(row["gmt_create"]), _number("exec_time_seconds", row["exec_time_seconds"], above=0))


def _any_csv(line: int, row: dict[str, str]) -> _Row:
    """Columns submit_s or timestamp, service_s, and optionally deadline_s, gpus, weight, job_id."""
    read: Callable[[str], datetime | float] = timestamp if "timestamp" in row else _seconds
    submit = read(row["timestamp" if "timestamp" in row else "submit_s"])
    deadline = read(row["deadline_s"]) if row.get("deadline_s") else None
    if deadline is not None and deadline < submit:  # type: ignore[operator]
        raise ValueError(f"deadline_s(={row['deadline_s']!r}) must not lie before the submission")
    gpus = _number("gpus", row.get("gpus") or "1", least=1)
    if gpus != int(gpus):
        raise ValueError(f"gpus(={row['gpus']!r}) must be a whole number")
    weight = _number("weight", row.get("weight") or "1", least=0)
    return _Row(line, submit, _number("service_s", row["service_s"], above=0), deadline, int(gpus), weight)


# Name of a format -> its reader of rows, and the columns that it needs, each one of several names.
FORMATS: dict[str, tuple[Callable[[int, dict[str, str]], _Row], tuple[tuple[str, ...], ...]]] = {
    "csv": (_any_csv, (("submit_s", "timestamp"), ("service_s",))),
    "gentd26": (_gentd26, (("gmt_create",), ("predict_status",), ("exec_time_seconds",))),
}


def _number(name: str, text: str, *, above: float | None = None, least: float | None = None) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{name}(={text!r}) must be a number") from None
    check_number(name, value, above=above, least=least)
    return value


def _seconds(text: str) -> float:
    return _number("submission, deadline or window in seconds", text, least=0)


def read_log(
    path: str | Path,
    format: str = "csv",
    window: str | None = None,
    deadlines: Deadlines | None = None,
    *,
    strict: bool = False,
    class_column: str | None = None,
) -> LoggedWorkload:
    """Read a log of real jobs: submissions and measured seconds are the log's, deadlines follow the classes.

    format: "csv", any table with the columns submit_s (seconds from the start of the run) or timestamp, service_s (seconds
    on a GPU of speed 1), and optionally deadline_s (on the axis of the submission), gpus, weight, job_id; or "gentd26",
    Alibaba's image-generation requests, of which those that succeeded are read.
    window: "FROM:TO", two dates, timestamps or numbers of seconds; from FROM on and before TO. Time 0 is FROM, without a
    window the first timestamp (for submit_s, its own 0).
    strict: refuse bad rows and a log that is out of order, which are otherwise left out, or sorted, with a logged note.
    deadlines: the deadline classes, the thesis's two unless given. class_column: a column with
    the name of each job's class; where it is empty, the class follows from the job's deadline,
    or is drawn.

    Raises InputError with the file's name, and the line where there is one.
    """
    check_one_of("trace format", format, FORMATS)
    check_bool("strict", strict)
    require(window is None or isinstance(window, str), "window", window, "a text FROM:TO")
    path, deadlines = Path(path), checked_deadlines(deadlines or DeadlineClasses())
    origin: dict[str, str | bool] = {"trace": str(path.resolve())}
    origin |= {"format": format, "strict": strict}
    named = None if class_column is None else _ClassColumn(class_column, deadlines)
    given = {"window": window, "class_column": class_column}
    origin |= {name: text for name, text in given.items() if text is not None}
    try:
        rows, bad = _rows(path, format, named)
        if bad:
            note(log, path, strict, f"{len(bad)} bad row{'s' * (len(bad) > 1)}: {listed(bad)}", "left out")
        rows = _in_order(path, rows, strict)
        start, stop = _bounds(rows, window)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    rows = [row for row in rows if start <= row.submit < stop]
    if not rows:
        raise InputError(f"{path}: no usable job" + (f" in the window {window}" if window else ""))
    stamped = isinstance(start, datetime)
    return LoggedWorkload(
        submit_s=tuple(_since(start, row.submit) for row in rows),
        service_s=tuple(row.service_s for row in rows),
        deadline_s=tuple(math.nan if row.deadline is None else _since(start, row.deadline) for row in rows),
        gpus=tuple(row.gpus for row in rows),
        weight=tuple(row.weight for row in rows),
        deadlines=deadlines,
        start_h=start.hour + start.minute / 60 + start.second / 3600 if stamped else None,
        origin=origin,
        deadline_class=tuple(row.deadline_class for row in rows),
        start_day=WEEK[start.weekday()] if stamped else None,
    )


class _ClassColumn:
    """A column of class names."""

    def __init__(self, column: str, deadlines: Deadlines) -> None:
        self.column = column
        self._names = [each.name for each in classes_of(deadlines)]

    def index(self, cells: dict[str, str]) -> int:
        """The index of a row's class, -1 where the cell is empty."""
        name = cells[self.column]
        if name and name not in self._names:
            raise ValueError(f"{self.column}(={name!r}) must be one of {', '.join(self._names)}")
        return self._names.index(name) if name else -1


def _rows(path: Path, format: str, named: _ClassColumn | None) -> tuple[list[_Row], list[str]]:
    """The usable rows, and what is wrong with each of the others."""
    reader, columns = FORMATS[format]
    rows: list[_Row] = []
    bad: list[str] = []
    left_out: Counter[str] = Counter()
    with _open(path) as file:
        table = csv.DictReader(file, strict=True, restkey=EXTRA)
        _check_columns(table.fieldnames, (*columns, *([(named.column,)] if named else ())))
        try:
            for cells in table:
                if None in cells.values() or EXTRA in cells:
                    bad.append(f"line {table.line_num}: {_filled(cells)} fields, not {len(table.fieldnames or ())}")
                    continue
                try:
                    row = reader(table.line_num, cells)
                    rows.append(row._replace(deadline_class=named.index(cells)) if named else row)
                except _LeftOut as reason:
                    left_out[str(reason)] += 1
                except ValueError as error:
                    bad.append(f"line {table.line_num}: {error}")
        except csv.Error as error:
            raise InputError(f"line {table.line_num + 1}: not CSV ({error})") from None
    if left_out:
        reasons = ", ".join(f"{number} of {what}" for what, number in left_out.most_common())
        log.info("%s: rows left out: %s", path, reasons)
    return rows, bad


def _open(path: Path) -> io.StringIO:
    """The text of a file, checked to be text."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(error.strerror or str(error)) from None
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InputError("not a text file; a CSV file with a header line is needed")
    if not text.strip():
        raise InputError("the file is empty")
    return io.StringIO(text, newline="")


def _check_columns(found: Sequence[str] | None, needed: tuple[tuple[str, ...], ...]) -> None:
    for choices in needed:
        if not set(choices) & set(found or ()):
            raise InputError(f"line 1: no column {' or '.join(choices)} (columns: {', '.join(found or ())})")


def _filled(cells: dict[str, Any]) -> int:
    return sum(value is not None for key, value in cells.items() if key != EXTRA) + len(cells.get(EXTRA, ()))


def _in_order(path: Path, rows: list[_Row], strict: bool) -> list[_Row]:
    times = [row.submit for row in rows]
    ordered = sorted(rows, key=lambda row: row.submit)
    if [row.submit for row in ordered] != times:
        late = next(b.line for a, b in pairwise(rows) if b.submit < a.submit)  # type: ignore[operator]
        note(log, path, strict, f"submissions out of order, first at line {late}", "sorted")
    return ordered


def _bounds(rows: list[_Row], window: str | None) -> tuple[Any, Any]:
    """From where on and before where rows are taken; both datetimes, or both seconds."""
    if not rows:
        raise InputError("no usable job")
    stamped = isinstance(rows[0].submit, datetime)
    if window is None:
        return (rows[0].submit, datetime.max) if stamped else (0.0, math.inf)
    read = timestamp if stamped else _seconds
    for place in (i for i, char in enumerate(window) if char == ":"):  # a timestamp may hold colons of its own
        try:
            start, stop = read(window[:place]), read(window[place + 1 :])
        except ValueError:
            continue
        if start < stop:  # type: ignore[operator]
            return start, stop
    kind = "two dates or timestamps" if stamped else "two numbers of seconds"
    raise InputError(f"window(={window!r}) must be FROM:TO, {kind}, FROM before TO")


def _since(start: Any, moment: Any) -> float:
    return (moment - start).total_seconds() if isinstance(start, datetime) else float(moment - start)
