"""The accounting of Slurm: the output of `sacct -P`, fields with bars between them below
a header line.
"""

from __future__ import annotations

import re

import numpy as np

from cgrsp_simpy.logs.fields import MOST, TEXT, TIME, Field, Floats, seconds_between
from cgrsp_simpy.logs.format import Format, Made, Raw
from cgrsp_simpy.logs.text import pipe_rows

NONE = ("", "Unknown", "None")
# Slurm's plain number is MB
GB_PER = {"": 2.0**-10, "K": 2.0**-20, "M": 2.0**-10, "G": 1.0, "T": 2.0**10, "P": 2.0**20}
COUNT = {"": 1.0, "K": 1e3, "M": 1e6}  # Slurm shortens counts, too
AMOUNT = re.compile(r"(\d+(?:\.\d*)?)([KMGTP]?)")
TRES = "like cpu=8,mem=64G,node=1,gres/gpu=2"
LIMIT = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", re.ASCII)
ENTRY = re.compile(r"[^=,]+=[^=,]*")


def _step(job_id: str) -> str | None:
    """Steps of a job, such as 123.batch, are no jobs; a job that stands for an array or a
    heterogeneous job has no dot.
    """
    return "step of a job" if "." in job_id else None


def _minutes(text: str) -> float:
    """A limit in minutes, from a number of them or one of the forms of Slurm's --time:
    MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS.
    """
    found = LIMIT.fullmatch(text.strip())
    if found is None:
        return float(text)
    days, *parts = (None if part is None else float(part) for part in found.groups())
    told = [part for part in parts if part is not None]
    hours_first = days is not None or len(told) == 3
    hours, minutes, seconds = [*([] if hours_first else [0.0]), *told, 0.0, 0.0][:3]
    return ((days or 0.0) * 24 + hours) * 60 + minutes + seconds / 60


def _resources(text: str) -> dict[str, str]:
    """The entries of a text like cpu=8,mem=64G,node=1,gres/gpu=2."""
    return dict(entry.split("=") for entry in text.split(",")) if text else {}


def _amount(text: str, unit: dict[str, float]) -> float:
    match = AMOUNT.fullmatch(text)
    return float(match[1]) * unit.get(match[2], np.nan) if match else np.nan


def _gpus(tres: dict[str, str]) -> float:
    """GPUs of all types; Slurm may tell their sum, their types, or both."""
    if "gres/gpu" in tres:
        return _amount(tres["gres/gpu"], COUNT)
    return sum(
        _amount(count, COUNT) for name, count in tres.items() if name.startswith("gres/gpu:")
    )


def _asked(texts: list[str]) -> tuple[dict[str, Floats], np.ndarray]:
    """GPUs, cores, memory and nodes of each job, and whether a text is none of the kind."""
    columns = {
        name: np.full(len(texts), np.nan) for name in ("gpus", "cores", "memory_gb", "nodes")
    }
    bad = np.zeros(len(texts), dtype=bool)
    for row, text in enumerate(texts):
        if text and not all(map(ENTRY.fullmatch, text.split(","))):
            bad[row] = True
            continue
        tres = _resources(text)
        found = {"gpus": _gpus(tres)}
        found |= {
            name: _amount(tres[key], COUNT)
            for name, key in (("cores", "cpu"), ("nodes", "node"))
            if key in tres
        }
        if "mem" in tres:
            found["memory_gb"] = _amount(tres["mem"], GB_PER)
        bad[row] = any(not value <= MOST for value in found.values()) or found["gpus"] % 1 != 0
        for name, value in found.items():
            columns[name][row] = value
    return columns, bad


def _made(raw: Raw) -> Made:
    """A job takes what was allocated, where nothing was what it asked for; it ran from its
    start to its end.
    """
    had = np.array([text != "" for text in raw.texts["AllocTRES"]], dtype=bool)
    resources, odd = _asked(
        [
            allocated or wanted
            for allocated, wanted in zip(raw.texts["AllocTRES"], raw.texts["ReqTRES"])
        ]
    )
    start, end = raw.numbers["start"], raw.numbers["end"]
    service_s = seconds_between(start, end)
    cancelled = np.array(
        [state.startswith("CANCELLED") for state in raw.texts["state"]], dtype=bool
    )
    limit_s = np.where(raw.get("limit_s") > 0, raw.get("limit_s"), np.nan)
    return Made(
        {
            "submit_s": raw.numbers["submit_s"],
            "service_s": service_s,
            "limit_s": limit_s,
            "start_s": start,
            **resources,
        },
        left_out=(("cancelled before it ran", cancelled & ~(service_s > 0)),),
        bad=(
            (service_s < 0, "end", "at or after Start"),
            (odd & had, "AllocTRES", TRES),
            (odd & ~had, "ReqTRES", TRES),
        ),
    )


SACCT = Format(
    "sacct",
    (
        "Slurm's accounting, `sacct -P -o"
        " JobID,Submit,Start,End,TimelimitRaw,ReqTRES,AllocTRES,Partition,Account,User,QOS,State`"
    ),
    (
        Field("submit_s", ("Submit",), TIME, missing=NONE),
        Field("start", ("Start",), TIME, missing=NONE),
        Field("end", ("End",), TIME, missing=NONE),
        Field(
            "limit_s",
            ("TimelimitRaw", "Timelimit"),
            read=_minutes,
            form="minutes, or [days-]hours:minutes:seconds,",
            unit=60,
            missing=(*NONE, "UNLIMITED", "Partition_Limit"),
            needed=False,
        ),
        Field("job_id", ("JobID",), TEXT),
        Field("ReqTRES", ("ReqTRES",), TEXT, needed=False),
        Field("AllocTRES", ("AllocTRES",), TEXT, needed=False),
        Field("partition", ("Partition",), TEXT, needed=False),
        Field("account", ("Account",), TEXT, needed=False),
        Field("user", ("User",), TEXT, needed=False),
        Field("qos", ("QOS",), TEXT, needed=False),
        Field("state", ("State",), TEXT, needed=False),
    ),
    pipe_rows,
    made=_made,
    skip=("JobID", _step),
)
"""The format of Slurm's accounting."""
