"""The formats of cluster logs: how the lines of a file become jobs."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import NamedTuple, TextIO

from cgrsp_simpy.cluster.jobs import KINDS
from cgrsp_simpy.model.checks import InputError, require

__all__ = ["STEPS_PER_S", "LeftOut", "Parse", "Row", "Rows", "openb", "philly", "swf"]

INFERENCE, TRAINING = KINDS.index("inference"), KINDS.index("training")
MOST = 1e15  # of any number: up to here whole numbers are exact
PHILLY_WIDTH = 7  # fields of a line; of these are used the job type 0, the steps 4, the arrival 5 and the GPUs 6
SWF_WIDTH = 18
SWF_FIELDS = {  # those of use, by place
    "submit time": 1,
    "run time": 3,
    "allocated processors": 4,
    "requested processors": 7,
    "requested time": 8,
    "status": 10,
    "user": 11,
    "application": 13,
}
POD_FIELDS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "qos", "creation_time", "deletion_time", "scheduled_time")

# Steps per second by job type, ours: the file tells none. The step counts of the four traces show how fast the types are
# relative to each other (geometric means over jobs with equal GPUs in the same trace); all were then scaled together so that
# jobs take from half an hour to 77 days, the traces being 52 to 94 days long. The shortest job of every type then takes between
# half an hour and an hour.
STEPS_PER_S = {
    "A3C": 4.4,
    "CycleGAN": 2.6,
    "LM (batch size 5)": 87.0,
    "LM (batch size 10)": 59.0,
    "LM (batch size 20)": 55.0,
    "LM (batch size 40)": 41.0,
    "LM (batch size 80)": 23.0,
    "Recommendation (batch size 512)": 0.15,
    "Recommendation (batch size 1024)": 0.21,
    "Recommendation (batch size 2048)": 0.29,
    "Recommendation (batch size 4096)": 0.34,
    "Recommendation (batch size 8192)": 0.24,
    "ResNet-18 (batch size 16)": 37.0,
    "ResNet-18 (batch size 32)": 34.0,
    "ResNet-18 (batch size 64)": 22.0,
    "ResNet-18 (batch size 128)": 20.0,
    "ResNet-18 (batch size 256)": 8.5,
    "ResNet-50 (batch size 16)": 8.6,
    "ResNet-50 (batch size 32)": 6.2,
    "ResNet-50 (batch size 64)": 2.8,
    "ResNet-50 (batch size 128)": 1.7,
    "Transformer (batch size 16)": 5.9,
    "Transformer (batch size 32)": 6.9,
    "Transformer (batch size 64)": 5.3,
    "Transformer (batch size 128)": 3.0,
    "Transformer (batch size 256)": 0.88,
}


class Row(NamedTuple):
    """A job: the columns of `Jobs`, but that family and user may be any marks that tell them apart. None: not told."""

    arrival_s: float
    gpus: int
    duration_s: float
    estimate_s: float
    iterations: float | None
    kind: int
    family: Hashable | None
    user: Hashable | None


Rows = Iterator[tuple[int, list[str]]]  # the numbers of lines, and their cells
Parse = Callable[[list[str]], Row]  # the cells of a line to its job; ValueError if there is none, LeftOut if it did not run


class LeftOut(Exception):  # noqa: N818, not an error
    """A line is of the format, but tells of no job that can be run; the message is the reason."""


def _number(name: str, text: str, least: float = 0.0) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{name}(={text[:20]!r}) must be a number") from None
    require(least <= value <= MOST, name, value, f"a number from {least:g} to {MOST:g}")
    return value


def _whole(name: str, text: str, least: int = 0) -> int:
    value = _number(name, text, least)
    require(value == math.floor(value), name, value, "a whole number")
    return int(value)


def _check_width(cells: list[str], width: int) -> None:
    if len(cells) != width:
        raise ValueError(f"{len(cells)} fields, not {width}")


def philly(file: TextIO, steps_per_s: Mapping[str, float]) -> tuple[Rows, Parse]:
    """Lines of seven fields with tabs between them, no header."""
    rows = ((number, line.rstrip("\r\n").split("\t")) for number, line in enumerate(file, 1) if line.strip())
    first = next(rows, None)
    if first is not None and len(first[1]) != PHILLY_WIDTH:
        raise InputError(
            f"line {first[0]}: not a job of a Gavel trace ({len(first[1])} fields with tabs between, not {PHILLY_WIDTH})"
        )
    return chain([first] if first else [], rows), partial(_philly, steps_per_s)


def _philly(steps_per_s: Mapping[str, float], cells: list[str]) -> Row:
    _check_width(cells, PHILLY_WIDTH)
    job_type, steps = cells[0], _number("steps", cells[4], least=1)
    if job_type not in steps_per_s:
        raise ValueError(f"no steps per second are given for job type {job_type[:50]!r}")
    duration_s = steps / steps_per_s[job_type]
    arrival_s, gpus = _number("arrival", cells[5]), _whole("GPUs", cells[6], least=1)
    return Row(arrival_s, gpus, duration_s, duration_s, steps, TRAINING, job_type.partition(" (")[0], None)


def openb(file: TextIO) -> tuple[Rows, Parse]:
    """A CSV table with a header line that names at least POD_FIELDS."""
    table = csv.reader(file, strict=True)
    names = next(table, [])
    missing = [name for name in POD_FIELDS if name not in names]
    if missing:
        raise InputError(f"line 1: no column {missing[0]} (columns: {', '.join(names)[:100]!r})")
    return ((table.line_num, cells) for cells in table if cells), partial(_openb, names)


def _openb(names: list[str], cells: list[str]) -> Row:
    _check_width(cells, len(names))
    pod = dict(zip(names, cells))
    gpus = _whole("num_gpu", pod["num_gpu"])
    if gpus == 0:
        raise LeftOut("no GPU")
    require(0 < _number("gpu_milli", pod["gpu_milli"]) <= 1000, "gpu_milli", pod["gpu_milli"], "a number > 0, at most 1000")
    created_s, deleted_s = _number("creation_time", pod["creation_time"]), _number("deletion_time", pod["deletion_time"])
    started_s = _number("scheduled_time", pod["scheduled_time"] or pod["creation_time"])
    if deleted_s <= started_s:
        raise LeftOut("no run time")
    duration_s = deleted_s - started_s
    family = tuple(pod[name] for name in ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli"))
    kind = INFERENCE if pod["qos"] == "LS" else TRAINING
    return Row(created_s, gpus, duration_s, duration_s, None, kind, family, None)


def swf(file: TextIO) -> tuple[Rows, Parse]:
    """Lines of 18 numbers, of which -1 is one that is missing; comments begin with a semicolon."""
    lines = ((number, line.split()) for number, line in enumerate(file, 1))
    rows = ((number, cells) for number, cells in lines if cells and cells[0][0] != ";")
    first = next(rows, None)
    if first is not None and len(first[1]) != SWF_WIDTH:
        raise InputError(f"line {first[0]}: not a job of the Standard Workload Format ({len(first[1])} fields, not {SWF_WIDTH})")
    return chain([first] if first else [], rows), _swf


def _swf(cells: list[str]) -> Row:
    _check_width(cells, SWF_WIDTH)
    submit, run, allocated, requested, limit, status, user, application = (
        _number(name, cells[place], least=-1) for name, place in SWF_FIELDS.items()
    )
    processors = allocated if allocated > 0 else requested
    for reason, holds in (
        ("part of a job", 2 <= status <= 4),
        ("cancelled before it ran", status == 5 and run <= 0),
        ("no run time", run <= 0),
        ("no submit time", submit < 0),
        ("no processors", processors <= 0),
    ):
        if holds:
            raise LeftOut(reason)
    require(processors == math.floor(processors), "processors", processors, "a whole number")
    estimate_s, family, by = limit if limit > 0 else run, *(mark if mark >= 0 else None for mark in (application, user))
    return Row(submit, int(processors), run, estimate_s, None, TRAINING, family, by)
