"""Logs of real jobs as workloads of the thesis's scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cgrsp_simpy.logs import NO_TIME, Log
from cgrsp_simpy.logs import read_log as read_table
from cgrsp_simpy.rental.workload import DeadlineClasses, LoggedWorkload

__all__ = ["read_log"]


def read_log(
    path: str | Path,
    format: str | None = None,
    window: str | None = None,
    deadlines: DeadlineClasses | None = None,
    *,
    strict: bool = False,
    columns: Mapping[str, str] | None = None,
) -> LoggedWorkload:
    """Read a log of real jobs: submissions and measured seconds are the log's, deadlines follow the classes.

    path, format, window, strict, columns: as of `cgrsp_simpy.logs.read_log`. Needed are submit_s and service_s (seconds on a GPU
    of speed 1); deadline_s, gpus and weight are taken where they are told. A job without a GPU and one of 0 s are left out.

    Raises InputError with the file's name, and the line where there is one.
    """
    log = read_table(path, format, window=window, strict=strict, columns=columns)
    log = log.usable("jobs on rented GPUs", ("submit_s", "service_s"), {"no GPU": _without_gpu, **NO_TIME})
    given = {"window": window, "columns": dict(columns or {})}
    origin = {"trace": str(log.path.resolve()), "format": log.format, "strict": strict}
    return LoggedWorkload(
        submit_s=tuple(log["submit_s"].tolist()),
        service_s=tuple(log["service_s"].tolist()),
        deadline_s=tuple(log.get("deadline_s", np.nan).tolist()),
        gpus=tuple(log.get("gpus", 1).astype(int).tolist()),
        weight=tuple(log.get("weight", 1).tolist()),
        deadlines=deadlines or DeadlineClasses(),
        start_h=None if log.start is None else log.start.hour + log.start.minute / 60 + log.start.second / 3600,
        origin={**origin, **{name: value for name, value in given.items() if value}},
        tags=log.tags,
    )


def _without_gpu(log: Log) -> np.ndarray:
    return np.asarray(log.get("gpus", 1) == 0)
