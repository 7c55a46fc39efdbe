"""Logs of real jobs as workloads of the thesis's scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cgrsp_simpy.logs import NO_TIME, Log
from cgrsp_simpy.logs import read_log as read_table
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.rental.arrivals import WEEK
from cgrsp_simpy.rental.deadlines import DeadlineClasses, Deadlines, checked_deadlines, classes_of
from cgrsp_simpy.rental.workload import LoggedWorkload


def read_log(
    path: str | Path,
    format: str | None = None,
    window: str | None = None,
    deadlines: Deadlines | None = None,
    *,
    strict: bool = False,
    columns: Mapping[str, str] | None = None,
    class_column: str | None = None,
) -> LoggedWorkload:
    """Read a log of real jobs: submissions and measured seconds are the log's, deadlines
    follow the classes.

    Parameters
    ----------
    path, format, window, strict, columns
        As of `cgrsp_simpy.logs.read_log`. Needed are submit_s and service_s (seconds on a GPU of
        speed 1); deadline_s, gpus and weight are taken where they are told. A job without a GPU and
        one of 0 s are left out.
    deadlines : DeadlineClasses or sequence of DeadlineClass, optional
        The deadline classes, the thesis's two unless given.
    class_column : str, optional
        A column with the name of each job's class; where it is empty, the class follows from the
        job's deadline, or is drawn.

    Raises
    ------
    InputError
        With the file's name, and the line where there is one.
    """
    deadlines = checked_deadlines(deadlines or DeadlineClasses())
    log = read_table(path, format, window=window, strict=strict, columns=columns)
    log = log.usable(
        "jobs on rented GPUs", ("submit_s", "service_s"), {"no GPU": _without_gpu, **NO_TIME}
    )
    given = {"window": window, "columns": dict(columns or {}), "class_column": class_column}
    origin = {"trace": str(log.path.resolve()), "format": log.format, "strict": strict}
    start = log.start
    return LoggedWorkload(
        submit_s=tuple(log["submit_s"].tolist()),
        service_s=tuple(log["service_s"].tolist()),
        deadline_s=tuple(log.get("deadline_s", np.nan).tolist()),
        gpus=tuple(log.get("gpus", 1).astype(int).tolist()),
        weight=tuple(log.get("weight", 1).tolist()),
        deadlines=deadlines,
        start_h=None if start is None else start.hour + start.minute / 60 + start.second / 3600,
        origin={**origin, **{name: value for name, value in given.items() if value}},
        tags=log.tags,
        deadline_class=() if class_column is None else _classes(log, class_column, deadlines),
        start_day=None if start is None else WEEK[start.weekday()],
    )


def _without_gpu(log: Log) -> np.ndarray:
    return np.asarray(log.get("gpus", 1) == 0)


def _classes(log: Log, column: str, deadlines: Deadlines) -> tuple[int, ...]:
    """The index of each job's class, -1 where the cell is empty."""
    names = [each.name for each in classes_of(deadlines)]
    if column not in log.tags:
        raise InputError(
            f"{log.path}: line 1: there is no column {column}; there are {', '.join(log.tags)}"
        )
    for name, line in zip(log.tags[column], log.line.tolist()):
        if name and name not in names:
            raise InputError(
                f"{log.path}: line {line}: {column}(={name!r}) must be one of {', '.join(names)}"
            )
    return tuple(names.index(name) if name else -1 for name in log.tags[column])
