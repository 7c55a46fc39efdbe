"""The formats of batch-job logs: how lines become numbers, and these the columns of jobs. A number that is missing is -1."""

from __future__ import annotations

import csv
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from operator import itemgetter
from typing import NamedTuple, TextIO

import numpy as np

from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.model.reading import timestamp
from cgrsp_simpy.waiting.jobs import Floats

__all__ = ["LOG_FORMATS", "WHOLE", "Format", "Read", "Rows"]

log = logging.getLogger(__name__)
KB_PER_GB, MB_PER_GB = 1 << 20, 1 << 10
UNIX = datetime(1970, 1, 1)
KNOWN = re.compile(r";\s*(Computer|MaxNodes|MaxProcs):\s*(\S.*)")  # what is of use in the header of an SWF file
SWF_WIDTH = 18  # fields of a line, of which these are used, by place:
SWF_FIELDS = {
    "submit time": 1,  # seconds
    "run time": 3,  # seconds
    "allocated processors": 4,
    "used memory": 6,  # KB per processor
    "requested processors": 7,
    "requested memory": 9,  # KB per processor
    "status": 10,
}
SWF_USED = itemgetter(*SWF_FIELDS.values())
CSV_FIELDS = ("time", "wallclock_runtime_sec", "num_cores", "total_MB_req")
CSV_NEEDED = CSV_FIELDS[:2]
WHOLE = {"allocated processors", "requested processors", "num_cores"}

Rows = Iterator[tuple[int, list[str]]]  # the numbers of lines, and their cells
Read = Callable[[list[str]], list[float]]  # the cells of a row to the values of the fields; ValueError if they are none


class Format(NamedTuple):
    """How a format is read.

    fields: their names. rows: the rows of a file and what reads them; what the file's header tells is put into the dict. jobs:
    values of shape (rows, fields) to submit_s, run_s, cores, memory_gb and the status as of SWF, each of shape (rows,).
    """

    fields: tuple[str, ...]
    rows: Callable[[TextIO, dict[str, str]], tuple[Rows, Read]]
    jobs: Callable[[Floats], tuple[Floats, ...]]


def _check_width(cells: list[str], width: int) -> None:
    if len(cells) != width:
        raise ValueError(f"{len(cells)} fields, not {width}")


def _value(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name}(={text!r}) must be a number") from None


def _values(names: Iterable[str], texts: Iterable[str]) -> list[float]:
    try:
        return list(map(float, texts))
    except ValueError:
        return [_value(name, text) for name, text in zip(names, texts)]  # tells which


def _swf(file: TextIO, header: dict[str, str]) -> tuple[Rows, Read]:
    return _swf_rows(file, header), _swf_values


def _swf_rows(file: TextIO, header: dict[str, str]) -> Rows:
    """The lines that are not comments. The first of them shows whether the file is SWF."""
    commented = begun = False
    for number, line in enumerate(file, 1):
        text = line.strip()
        if text[:1] == ";":
            commented = True
            if match := KNOWN.match(text):
                header.setdefault(match[1], match[2])
        elif text:
            if not begun:
                _check_first(number, text)
            begun = True
            yield number, text.split()
    if begun and not commented:
        log.warning("%s: no header: nothing is known of the machine", file.name)


def _check_first(number: int, text: str) -> None:
    try:
        _swf_values(text.split())
    except ValueError as error:
        raise InputError(f"line {number}: not a job of the Standard Workload Format ({error})") from None


def _swf_values(cells: list[str]) -> list[float]:
    _check_width(cells, SWF_WIDTH)
    return _values(SWF_FIELDS, SWF_USED(cells))


def _swf_jobs(values: Floats) -> tuple[Floats, ...]:
    submit, run, allocated, used_kb, requested, requested_kb, status = values.T
    cores = np.where(allocated > 0, allocated, requested)
    memory_kb = np.where(requested_kb >= 0, requested_kb, np.maximum(used_kb, 0))
    return submit, run, cores, memory_kb * cores / KB_PER_GB, status


def _csv(file: TextIO, header: dict[str, str]) -> tuple[Rows, Read]:  # noqa: ARG001, as of every format
    rows = _csv_rows(file)
    line, names = next(rows, (1, []))
    for name in CSV_NEEDED:
        if name not in names:
            raise InputError(f"line {line}: no column {name} (columns: {', '.join(names)[:100]!r})")
    return rows, _csv_reader(names)


def _csv_rows(file: TextIO) -> Rows:
    table = csv.reader(file, strict=True)
    try:
        for cells in table:
            if cells:
                yield table.line_num, cells
    except csv.Error as error:
        raise InputError(f"line {table.line_num + 1}: not CSV ({error})") from None


def _csv_reader(names: list[str]) -> Read:
    """A reader of rows below these names, the first of which tells if times are seconds or timestamps."""
    used = itemgetter(*(names.index(name) if name in names else -1 for name in CSV_FIELDS))
    clock: Callable[[str], float] | None = None

    def read(cells: list[str]) -> list[float]:
        nonlocal clock
        _check_width(cells, len(names))
        cells.append("")  # at -1: the cell of every column that is not there
        time, *others = used(cells)
        clock = clock or _clock(time)
        return [clock(time), *_values(CSV_FIELDS[1:], [text or "-1" for text in others])]

    return read


def _clock(first: str) -> Callable[[str], float]:
    """What reads times that are written as the first one is."""
    try:
        float(first)
    except ValueError:
        _unix_s(first)
        return _unix_s
    return partial(_value, "time")


def _unix_s(text: str) -> float:
    return (timestamp(text) - UNIX).total_seconds()


def _csv_jobs(values: Floats) -> tuple[Floats, ...]:
    submit, run, cores, memory_mb = values.T
    unknown = np.full(len(values), -1.0)  # a job held its cores, whatever its status
    return submit, run, np.where(cores == -1, 1, cores), np.maximum(memory_mb, 0) / MB_PER_GB, unknown


LOG_FORMATS = {"swf": Format(tuple(SWF_FIELDS), _swf, _swf_jobs), "csv": Format(CSV_FIELDS, _csv, _csv_jobs)}
