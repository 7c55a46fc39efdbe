"""Formats of logs, each declared once: fields with their units, and derived columns.
They include Slurm's accounting (`sacct -P`) and the Standard Workload Format, version
2.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import check_number
from cgrsp_simpy.base.files import timestamp, zone_of
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.logs.log import (
    MOST,
    TEXT,
    TIME,
    Array,
    Field,
    Format,
    Parsed,
    Raw,
    seconds_between,
)
from cgrsp_simpy.logs.wfformat import WFFORMAT

NONE = ("", "Unknown", "None", "1970-01-01T00:00:00")  # the last is time 0
# Slurm's number without a unit is in MB
GB_PER = {
    "": 2.0**-10,
    "K": 2.0**-20,
    "M": 2.0**-10,
    "G": 1.0,
    "T": 2.0**10,
    "P": 2.0**20,
}
COUNT = {"": 1.0, "K": 1e3, "M": 1e6}  # Slurm abbreviates counts, too
# column -> its name in a text, and its unit
ASKED = (
    ("cores", "cpu", COUNT),
    ("memory_gb", "mem", GB_PER),
    ("nodes", "node", COUNT),
)
AMOUNT = re.compile(r"(\d+(?:\.\d*)?)([KMGTP]?)")
TRES = "in the form cpu=8,mem=64G,node=1,gres/gpu=2"
WHOLE = "a number of whole GPUs, not MIG slices"
LIMIT = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", re.ASCII)
# a job without a limit is planned as one of a year (Slurm, backfill.c: YEAR_MINUTES)
YEAR_MINUTES = 365.0 * 24 * 60
SHARED = "with a share of a GPU, which counts as a whole GPU"
ELAPSED = (
    "whose elapsed time is not End - Start (suspended, or the clock changed); the"
    " elapsed time counts"
)
SLICE = re.compile(r"gres/[^=,]*\dg\.\d+gb[^=,]*=[1-9]")  # slice of a GPU: a100_1g.5gb
ENTRY = re.compile(r"[^=,]+=[^=,]*")


def _step(job_id: str) -> str | None:
    """Return the reason to leave out a job step, such as 123.batch.

    Ids of array jobs and heterogeneous jobs have no dot.
    """
    return "step of a job" if "." in job_id else None


def _minutes(text: str) -> float:
    """Parse a limit, in minutes: a number, or one of the forms of Slurm's --time.

    The forms are MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS and UNLIMITED.
    """
    text = text.strip()
    if text.upper() == "UNLIMITED":
        return YEAR_MINUTES
    if not LIMIT.fullmatch(text):
        return float(text)
    days, dash, clock = text.rpartition("-")
    first = [] if dash or clock.count(":") == 2 else ["0"]
    hours, minutes, seconds = map(float, [*first, *clock.split(":"), "0", "0"][:3])
    return (float(days or 0) * 24 + hours) * 60 + minutes + seconds / 60


def _amount(text: str, unit: dict[str, float]) -> float:
    match = AMOUNT.fullmatch(text)
    return float(match[1]) * unit.get(match[2], np.nan) if match else np.nan


def _gpus(tres: dict[str, str]) -> float:
    """Return the GPUs of all types; Slurm may report their sum, types, or both."""
    if "gres/gpu" in tres:
        return _amount(tres["gres/gpu"], COUNT)
    return summed(
        _amount(count, COUNT)
        for name, count in tres.items()
        if name.startswith("gres/gpu:")
    )


def _asked(texts: list[str]) -> tuple[dict[str, Floats], np.ndarray]:
    """Return GPUs, cores, memory and nodes per job, and which strings are invalid."""
    names = ("gpus", *(name for name, *_ in ASKED))
    columns = {name: np.full(len(texts), np.nan) for name in names}
    bad = np.zeros(len(texts), dtype=bool)
    for row, text in enumerate(texts):
        if text and not all(map(ENTRY.fullmatch, text.split(","))):
            bad[row] = True
            continue
        tres = dict(entry.split("=") for entry in text.split(",") if entry)
        amounts = {
            name: _amount(tres[key], unit) for name, key, unit in ASKED if key in tres
        }
        resources = {"gpus": _gpus(tres), **amounts}
        bad[row] = (
            any(not value <= MOST for value in resources.values())
            or resources["gpus"] % 1 != 0
        )
        for name, value in resources.items():
            columns[name][row] = value
    return columns, bad


def _parsed(raw: Raw) -> Parsed:
    """Compute the columns from the allocated resources, or else the requested ones.

    The run time is the elapsed time, or else the time from start to end without
    suspensions; it is 0 if the job is still running.
    """
    had = np.array([text != "" for text in raw.texts["AllocTRES"]], dtype=bool)
    texts = [
        allocated or wanted
        for allocated, wanted in zip(raw.texts["AllocTRES"], raw.texts["ReqTRES"])
    ]
    resources, odd = _asked(texts)
    sliced = np.array([SLICE.search(text) is not None for text in texts], dtype=bool)
    nodes = resources["nodes"]
    resources["nodes"] = np.where(np.isnan(nodes), raw.get("nodes"), nodes)
    start, end = raw.numbers["start_s"], raw.numbers["end_s"]
    running = np.isnan(end) & ~np.isnan(start)
    between_s, elapsed_s = seconds_between(start, end), raw.get("elapsed_s")
    suspended_s = np.nan_to_num(raw.get("suspended_s"))
    elapsed_s = np.where(np.isnan(elapsed_s), between_s - suspended_s, elapsed_s)
    service_s = np.where(np.isnan(between_s), between_s, elapsed_s)
    differ = np.abs(service_s - between_s) > 1
    service_s[running] = 0.0
    cancelled = np.array(
        [state.startswith("CANCELLED") for state in raw.texts["state"]], dtype=bool
    )
    return Parsed(
        {
            "submit_s": raw.numbers["submit_s"],
            "service_s": service_s,
            "limit_s": np.where(raw.get("limit_s") > 0, raw.get("limit_s"), np.nan),
            "start_s": start,
            "end_s": end,
            "running": running.astype(np.float64),
            **({"ready_s": raw.numbers["ready_s"]} if "ready_s" in raw.numbers else {}),
            **resources,
        },
        left_out=(("cancelled before it ran", cancelled & ~(service_s > 0)),),
        bad=(
            (service_s < 0, "end_s", "at or after Start"),
            (sliced & had, "AllocTRES", WHOLE),
            (sliced & ~had, "ReqTRES", WHOLE),
            (odd & had, "AllocTRES", TRES),
            (odd & ~had, "ReqTRES", TRES),
        ),
        remarks=((ELAPSED, differ),),
    )


SACCT = Format(
    "sacct",
    "Slurm's accounting, `sacct -P -o"
    " JobID,Submit,Eligible,Start,End,ElapsedRaw,Suspended,TimelimitRaw,ReqTRES,"
    "AllocTRES,Partition,Account,User,QOS,State`",
    (
        *(
            Field(name, (of,), TIME, missing=NONE, blank=0, needed=name != "ready_s")
            for name, of in (
                ("submit_s", "Submit"),
                ("start_s", "Start"),
                ("end_s", "End"),
                ("ready_s", "Eligible"),
            )
        ),
        Field("elapsed_s", ("ElapsedRaw",), missing=NONE, needed=False),
        *(
            Field(
                name,
                (of,),
                read=_minutes,
                form="[days-]hours:minutes:seconds,",
                unit=60,
                missing=NONE,
                needed=False,
            )
            for name, of in (("elapsed_s", "Elapsed"), ("suspended_s", "Suspended"))
        ),
        Field(
            "limit_s",
            ("TimelimitRaw", "Timelimit"),
            read=_minutes,
            form="minutes, or [days-]hours:minutes:seconds,",
            unit=60,
            missing=(*NONE, "Partition_Limit"),
            needed=False,
        ),
        Field(
            "nodes", ("AllocNodes", "NNodes"), whole=True, missing=NONE, needed=False
        ),
        Field("job_id", ("JobID", "JobIDRaw"), TEXT),
        Field("after", ("Dependency", "SubmitLine"), TEXT, needed=False),
        Field("ReqTRES", ("ReqTRES",), TEXT, needed=False),
        Field("AllocTRES", ("AllocTRES",), TEXT, needed=False),
        Field("partition", ("Partition",), TEXT, needed=False),
        Field("account", ("Account",), TEXT, needed=False),
        Field("user", ("User",), TEXT, needed=False),
        Field("qos", ("QOS",), TEXT, needed=False),
        Field("state", ("State",), TEXT, needed=False),
    ),
    delimiter="|",
    quoted=False,
    parse=_parsed,
    skip=("job_id", _step),
    part=re.compile(r"\+\d+$"),
    row=re.compile(r"\d+(_\d+|_\[.*\]|\+\d+|\.\w+)?\|(.*\|)?\d{4}-\d\d-\d\dT"),
)
"""Format of Slurm's accounting."""


KB_PER_GB, MB_PER_GB = 1 << 20, 1 << 10
NO_VALUE = (
    "",
    "nan",
    "nat",
    "none",
    "null",
    "na",
    "n/a",
)  # missing values as programs write them
GIVEN = ()  # no text means a missing value


# ---- csv ----


def _csv(raw: Raw) -> Parsed:
    submit_s = raw.numbers["submit_s"]
    early = seconds_between(submit_s, raw.numbers.get("deadline_s", submit_s)) < 0
    return Parsed(
        raw.numbers, bad=((early, "deadline_s", "at or after the submission"),)
    )


CSV = Format(
    "csv",
    "a CSV table with a header line; other names of columns, such as those of the"
    " waiting policies' authors, are known as well",
    (
        Field("submit_s", ("submit_s", "timestamp"), TIME),
        Field("submit_s", ("time",), TIME, blank=-1),
        Field("service_s", ("service_s",)),
        Field("service_s", ("wallclock_runtime_sec",), blank=-1),
        Field("deadline_s", ("deadline_s",), TIME, missing=NO_VALUE, needed=False),
        Field(
            "limit_s",
            ("limit_s", "wallclock_limit_sec"),
            blank=-1,
            missing=NO_VALUE,
            needed=False,
        ),
        Field("known_work", ("known_work",), needed=False),
        Field("gpus", ("gpus",), whole=True, needed=False),
        Field("cores", ("cores", "num_cores"), whole=True, blank=-1, needed=False),
        Field("memory_gb", ("memory_gb",), needed=False),
        Field(
            "memory_gb", ("total_MB_req",), unit=1 / MB_PER_GB, blank=-1, needed=False
        ),
        Field("nodes", ("nodes",), whole=True, needed=False),
        Field("weight", ("weight",), needed=False),
        Field("priority", ("priority",), needed=False),
        *(
            Field(name, (name,), TIME, missing=NO_VALUE, needed=False)
            for name in ("start_s", "ready_s")
        ),
        Field("think_s", ("think_s",), missing=NO_VALUE, needed=False),
        Field("after", ("after",), TEXT, needed=False),
        Field("job_id", ("job_id",), TEXT, needed=False),
        Field("partition", ("partition",), TEXT, needed=False),
        Field("user", ("user", "userid"), TEXT, needed=False),
    ),
    parse=_csv,
)

# ---- gentd26: Alibaba's image-generation requests (cluster-trace-v2026-GenAI) ----


GENTD26 = Format(
    "gentd26",
    "image-generation requests of Alibaba's cluster-trace-v2026-GenAI; those that"
    " succeeded are jobs",
    (
        Field("submit_s", ("gmt_create",), TIME),
        Field("service_s", ("exec_time_seconds",)),
    ),
    skip=(
        "predict_status",
        lambda status: (
            None
            if status == "SUCCEED"
            else f"predict_status {' '.join(status.split())[:50]}"
        ),
    ),
)

# ---- azure: LLM requests (Azure LLM inference trace of 2023) ----


def _azure(raw: Raw) -> Parsed:
    none = raw.numbers["prompt_tokens"] + raw.numbers["output_tokens"] == 0
    return Parsed(
        raw.numbers,
        bad=((none, "output_tokens", "at least 1 if the prompt has no token"),),
    )


AZURE = Format(
    "azure",
    "LLM requests in the columns of the Azure LLM inference trace of 2023",
    (
        Field("submit_s", ("TIMESTAMP",), TIME),
        Field("prompt_tokens", ("ContextTokens",), whole=True, missing=GIVEN),
        Field("output_tokens", ("GeneratedTokens",), whole=True, missing=GIVEN),
    ),
    parse=_azure,
)

# ---- openb: pods of Alibaba's cluster-trace-gpu-v2023 (Weng et al. (2023), USENIX
# ATC) ----


def _openb(raw: Raw) -> Parsed:
    """Compute the columns; pods that were never scheduled are left out."""
    columns = dict(raw.numbers)
    deleted_s, shared = columns.pop("deleted_s"), columns.pop("share")
    start_s = columns["start_s"]
    odd = (columns["gpus"] > 0) & ~((shared > 0) & (shared <= 1000))
    return Parsed(
        {**columns, "service_s": deleted_s - start_s},
        left_out=(
            ("never scheduled", np.isnan(start_s)),
            ("no run time", deleted_s < start_s),
        ),
        bad=((odd, "share", "a number > 0, at most 1000"),),
        remarks=((SHARED, (columns["gpus"] > 0) & (shared < 1000)),),
    )


OPENB = Format(
    "openb",
    "pods of Alibaba's cluster-trace-gpu-v2023",
    (
        Field("submit_s", ("creation_time",)),
        Field("deleted_s", ("deletion_time",), missing=GIVEN),
        Field("start_s", ("scheduled_time",)),
        Field("gpus", ("num_gpu",), whole=True, missing=GIVEN),
        Field("share", ("gpu_milli",), missing=GIVEN),
        Field("cores", ("cpu_milli",), unit=0.001),
        Field("memory_gb", ("memory_mib",), unit=1 / MB_PER_GB),
        Field("job_id", ("name",), TEXT, needed=False),
        Field("gpu_milli", ("gpu_milli",), TEXT),
        Field("qos", ("qos",), TEXT),
    ),
    parse=_openb,
)

# ---- philly: Microsoft's traces in the format of Gavel (Narayanan et al. (2020),
# OSDI) ----

# Steps per second by job type, ours: the file has none. The step counts of the four
# traces show how fast the types are relative to each other (geometric means over jobs
# with equal GPUs in the same trace); all were then scaled together so that jobs take
# from half an hour to 77 days, the traces being 52 to 94 days long. The shortest job of
# every type then takes between half an hour and an hour.
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


# seven or ten fields
GAVEL_ROW = re.compile(
    r"([^\t]+\t){2}([^\t]+\t)?[^\t]*\t\d\t\d+\t([^\t]+\t){1,3}[^\t]+$"
)


def philly(steps_per_s: Mapping[str, float] = STEPS_PER_S) -> Format:
    """Return the format of Gavel's traces; run times are steps over a rate per job
    type.

    Lines have seven or ten fields. steps_per_s: steps per second by job type, > 0,
    independent of the number of GPUs; the defaults are ours, not measured. Rows with a
    job type without a rate are bad. Raises InputError for a rate that is not above 0.
    """
    for job_type, rate in steps_per_s.items():
        check_number(f"steps_per_s of {job_type}", rate, above=0)

    def parse(raw: Raw) -> Parsed:
        rates = np.array(
            [steps_per_s.get(job_type, np.nan) for job_type in raw.texts["job_type"]]
        )
        seconds = raw.numbers["known_work"] / np.where(np.isnan(rates), 1.0, rates)
        unknown = (np.isnan(rates), "job_type", "one whose steps per second are given")
        return Parsed({**raw.numbers, "service_s": seconds}, bad=(unknown,))

    start, steps = ("job_type", "command"), ("step_argument", "needs_data", "steps")
    return Format(
        "philly",
        "Microsoft's Philly traces in the format of Gavel; run times are steps over"
        " rates that are ours",
        (
            Field("job_type", ("job_type",), TEXT),
            Field("known_work", ("steps",), least=1, missing=GIVEN),
            Field("submit_s", ("arrival",), missing=GIVEN),
            Field("gpus", ("gpus",), least=1, whole=True, missing=GIVEN),
        ),
        "\t",
        quoted=False,
        names=(
            (*start, *steps, "arrival", "gpus"),
            (*start, "directory", *steps, "gpus", "weight", "deadline", "arrival"),
        ),
        parse=parse,
        row=GAVEL_ROW,
    )


# ---- swf: the Standard Workload Format, version 2.2 (Parallel Workloads Archive) ----

SWF_FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "cpu time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "application",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
"""Fields of a row, in order."""


def _swf(raw: Raw) -> Parsed:
    """Compute the columns; processors are the allocated, or else the requested ones.

    They also count as GPUs. Memory is the requested memory per processor, or else the
    used one, times the processors. Parts of checkpointed jobs (status 2, 3, 4; the
    format also lists these jobs as a whole) and jobs that were cancelled before they
    ran (status 5) are not counted as jobs; all others used their processors, whatever
    their status.
    """
    numbers = raw.numbers
    allocated = np.nan_to_num(numbers["allocated"])
    processors = np.where(allocated > 0, allocated, np.nan_to_num(numbers["requested"]))
    asked_kb = numbers["requested_kb"]
    run_s = numbers["service_s"]
    status = numbers["ended"]
    memory_kb = np.where(
        np.isnan(asked_kb), np.nan_to_num(numbers["used_kb"]), asked_kb
    )
    return Parsed(
        {
            "submit_s": numbers["submit_s"],
            "start_s": numbers["submit_s"] + numbers["wait_s"],
            "service_s": run_s,
            "think_s": numbers["think_s"],
            "limit_s": np.where(numbers["limit_s"] > 0, numbers["limit_s"], np.nan),
            "gpus": processors,
            "cores": processors,
            "memory_gb": memory_kb * processors / KB_PER_GB,
        },
        left_out=(
            ("part of a job", (status >= 2) & (status <= 4)),
            ("cancelled before it ran", (status == 5) & ~(run_s > 0)),
            ("no run time", np.isnan(run_s)),
            ("no submit time", np.isnan(numbers["submit_s"])),
            ("no processors", processors == 0),
        ),
    )


MONTHS = (
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
)
# Fri Oct 01 00:00:03 PDT 1993, as printed by `date`
DATE = re.compile(r"\w+ +(\w{3}) +(\d+) +(\d\d:\d\d:\d\d) .*?(\d{4})")


def started(header: Mapping[str, str], zone: ZoneInfo | None = None) -> datetime | None:
    """Return the local time at time 0 from the header of an SWF file.

    It is StartTime, or else UnixStartTime converted to `zone`, TimeZoneString or
    TimeZone (seconds).
    """
    date = DATE.match(header.get("StartTime", ""))
    if date and date[1] in MONTHS:
        with suppress(ValueError):  # not a date of the calendar
            return timestamp(
                f"{date[4]}-{MONTHS.index(date[1]) + 1:02}-{int(date[2]):02} {date[3]}"
            )
    unix, shift = (
        re.match(r"-?\d+", header.get(name, ""))
        for name in ("UnixStartTime", "TimeZone")
    )
    if unix is None:
        return None
    zone = zone or zone_of(header.get("TimeZoneString", "").strip())
    with suppress(OverflowError, ValueError):
        utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(unix[0]))
        fixed = timezone(timedelta(seconds=int(shift[0]) if shift else 0))
        return utc.astimezone(zone or fixed).replace(tzinfo=None)
    return None


SWF = Format(
    "swf",
    "the Standard Workload Format, version 2.2, of the Parallel Workloads Archive",
    (
        *(
            Field(name, (of,), blank=-1, whole=whole, missing=GIVEN)
            for name, of, whole in (
                ("submit_s", "submit time", False),
                ("wait_s", "wait time", False),
                ("service_s", "run time", False),
                ("allocated", "allocated processors", True),
                ("used_kb", "used memory", False),
                ("requested", "requested processors", True),
                ("limit_s", "requested time", False),
                ("requested_kb", "requested memory", False),
                ("ended", "status", True),
                ("think_s", "think time", False),
            )
        ),
        Field("job_id", ("job number",), TEXT),
        Field("after", ("preceding job",), TEXT),
        *(
            Field(name, (name,), TEXT)
            for name in (
                "wait time,user,group,application,queue,partition,status,think time"
            ).split(",")
        ),
    ),
    None,
    names=(SWF_FIELDS,),
    parse=_swf,
    start=started,
    none="-1",
    row=re.compile(r"\s*(-?\d+(\.\d+)?\s+){17}-?\d+(\.\d+)?\s*$"),
)

# ---- alibaba: batch_task.csv of Alibaba's cluster-trace-v2018 ----


# the name M5_3_4 is task 5, after 3 and 4
TASK = re.compile(r"[A-Za-z]+(\d+)((?:_\d+)*)")


def _alibaba(raw: Raw) -> Parsed:
    start_s, end_s = raw.numbers["start_s"], raw.numbers["end_s"]
    early = (end_s < start_s, "end_s", "at least start_time")
    unnamed = np.array([job == "" for job in raw.texts["job_name"]], dtype=bool)
    odd = np.array(
        [
            re.match(r"[A-Za-z]+\d", task) and not TASK.fullmatch(task)
            for task in raw.texts["job_id"]
        ],
        dtype=bool,
    )
    named = (odd, "job_id", "like M5_3_4, or without a number after its letters")
    columns = {"start_s": start_s, "service_s": end_s - start_s}
    return Parsed(columns, bad=((unnamed, "job_name", "given"), named, early))


ALIBABA = Format(
    "alibaba",
    "batch tasks of Alibaba's cluster-trace-v2018, whose names list their predecessors;"
    " a row is a task of a job",
    (
        # 0 is a time outside the trace
        Field("start_s", ("start_time",), above=True, missing=GIVEN),
        Field("end_s", ("end_time",), above=True, missing=GIVEN),
        Field("job_id", ("task_name",), TEXT),
        Field("job_name", ("job_name",), TEXT),
    ),
    names=(
        (
            "task_name",
            "instance_num",
            "job_name",
            "task_type",
            "status",
            "start_time",
            "end_time",
            "plan_cpu",
            "plan_mem",
        ),
    ),
    parse=_alibaba,
    group="job_name",
    row=re.compile(r"\w[^,]*,\d[\d.]*,[^,]+,\w+,\w+,\d*,\d*,[\d.]*,[\d.]*$"),
)

# ---- pai: pai_task_table of Alibaba's cluster-trace-gpu-v2020 (Weng et al. (2022),
# NSDI) ----


def _pai(raw: Raw) -> Parsed:
    """Compute the columns, which are those of an instance times their number."""
    numbers = raw.numbers
    run_s, needs = (
        numbers["end_s"] - numbers["submit_s"],
        ("gpus", "cores", "memory_gb"),
    )
    one = {name: np.nan_to_num(numbers[name]) for name in needs}
    shared = one["gpus"] % 1 > 0
    one["gpus"] = np.ceil(one["gpus"])
    every = {name: values * numbers["instances"] for name, values in one.items()}
    return Parsed(
        {"submit_s": numbers["submit_s"], "service_s": run_s, **every},
        bad=((run_s < 0, "end_s", "at least start_time"),),
        remarks=((SHARED, shared),),
    )


PAI = Format(
    "pai",
    "tasks of Alibaba's cluster-trace-gpu-v2020 (pai_task_table), submitted at their"
    " start, as it records no submissions",
    (
        Field("submit_s", ("start_time",)),
        Field("end_s", ("end_time",)),
        Field("instances", ("inst_num",), least=1, whole=True, missing=GIVEN),
        Field("gpus", ("plan_gpu",), unit=0.01),
        Field("cores", ("plan_cpu",), unit=0.01),
        Field("memory_gb", ("plan_mem",)),
        Field("job_id", ("job_name",), TEXT),
        Field("gpu_type", ("gpu_type",), TEXT),
    ),
    names=(
        (
            *("job_name", "task_name", "inst_num", "status", "start_time", "end_time"),
            *("plan_cpu", "plan_mem", "plan_gpu", "gpu_type"),
        ),
    ),
    parse=_pai,
    row=re.compile(r"[^,]+,[^,]+,[\d.]+,\w+(,[\d.]*){5},\w*$"),
)

# ---- philly_json: cluster_job_log of Microsoft's philly-traces (Jeon et al. (2019),
# USENIX ATC) ----


def _philly_job(job: dict[str, Any]) -> dict[str, Any]:
    """Return a job as a row: its attempts count as one run, from the first start on."""
    tried = [
        attempt
        for attempt in job["attempts"]
        if (attempt.get("start_time") or "") not in NONE
    ]
    runs = [
        (timestamp(attempt["start_time"]), timestamp(attempt["end_time"]))
        for attempt in tried
        if (attempt.get("end_time") or "") not in NONE
    ]
    gpus = [sum(len(node["gpus"]) for node in attempt["detail"]) for attempt in tried]
    return {
        **{name: value for name, value in job.items() if name != "attempts"},
        "attempts": len(job["attempts"]),
        "start_time": tried[0]["start_time"] if tried else None,
        "run_s": summed((end - start).total_seconds() for start, end in runs)
        if runs
        else None,
        "gpus": max(gpus, default=None),
        "nodes": max((len(attempt["detail"]) for attempt in tried), default=None),
    }


PHILLY_JSON = Format(
    "philly_json",
    "Microsoft's Philly traces as published, cluster_job_log in JSON",
    (
        Field("submit_s", ("submitted_time",), TIME, missing=NONE),
        Field("start_s", ("start_time",), TIME, missing=NONE),
        Field("service_s", ("run_s",)),
        Field("gpus", ("gpus",), whole=True),
        Field("nodes", ("nodes",), whole=True),
        Field("job_id", ("jobid",), TEXT),
        Field("user", ("user",), TEXT),
        Field("partition", ("vc",), TEXT),
    ),
    flat=_philly_job,
    keys=("jobid", "submitted_time", "attempts"),
)

# ---- LLM requests, in JSON lines or CSV ----

MOONCAKE = Format(
    "mooncake",
    "LLM requests of Mooncake's traces, JSON lines; timestamps in milliseconds",
    (
        Field("submit_s", ("timestamp",), unit=0.001),
        Field("prompt_tokens", ("input_length",), whole=True, missing=GIVEN),
        Field("output_tokens", ("output_length",), whole=True, missing=GIVEN),
    ),
    keys=("timestamp", "input_length", "output_length"),
    parse=_azure,
)
LLM = Format(
    "llm",
    "LLM requests, JSON lines or CSV, in the names of vLLM, BurstGPT, Vidur or"
    " Splitwise",
    (
        Field(
            "submit_s",
            ("arrival_time", "Timestamp", "arrived_at", "arrival_timestamp"),
            TIME,
        ),
        Field(
            "prompt_tokens",
            (
                *("num_prompt_tokens", "prompt_tokens", "prompt_len"),
                *("Request tokens", "num_prefill_tokens", "prompt_size"),
            ),
            whole=True,
            missing=GIVEN,
        ),
        Field(
            "output_tokens",
            (
                *("num_generation_tokens", "completion_tokens", "output_len"),
                *("Response tokens", "num_decode_tokens", "token_size"),
            ),
            whole=True,
            missing=GIVEN,
        ),
        Field("job_id", ("request_id",), TEXT, needed=False),
    ),
    parse=_azure,
)

FORMATS = {
    each.name: each
    for each in (
        *(CSV, GENTD26, SWF, philly(), OPENB, AZURE, WFFORMAT, ALIBABA, SACCT),
        *(PAI, PHILLY_JSON, MOONCAKE, LLM),
    )
}
"""Formats of logs by name."""


# endings of file names, before .gz; all others are csv
ENDINGS = {".swf": "swf", ".trace": "philly", ".json": "wfformat"}


def format_of(path: str | Path) -> str:
    """Return the name in FORMATS of the format that a file name suggests.

    It depends on the extension, with or without .gz: .swf, .trace (philly), .json
    (wfformat), else csv.
    """
    return ENDINGS.get(Path(str(path).lower().removesuffix(".gz")).suffix, "csv")


def swf_text(
    columns: Mapping[str, Array], ids: Sequence[str], comments: Mapping[str, object]
) -> str:
    """Return a log in the Standard Workload Format: comments, then one line per job.

    columns: name of a field of the format -> numbers, of shape (jobs,); other fields
    are written as -1. ids: ids of the jobs, used as job numbers if they are distinct
    whole numbers of at most 18 digits; otherwise jobs are numbered from 1, with a
    comment for each id. comments: name -> value of comments in the header.
    """
    jobs = len(columns["submit time"])
    are_numbers = (
        len(ids) == jobs
        and all(re.fullmatch("[0-9]{1,18}", text) for text in ids)
        and len(set(map(int, ids))) == jobs
    )
    numbers = [int(text) for text in ids] if are_numbers else list(range(1, jobs + 1))
    notes = (
        []
        if are_numbers
        else [
            f"; Note: job {number} is {' '.join(text.split())}"
            for number, text in zip(numbers, ids)
        ]
    )
    header = {"Version": "2.2", **comments, "MaxJobs": jobs, "MaxRecords": jobs}
    missing = np.full(jobs, -1)
    cells = [numbers, *(columns.get(name, missing).tolist() for name in SWF_FIELDS[1:])]
    lines = [" ".join(map(_text, row)) for row in zip(*cells)]
    return "\n".join(
        [*(f"; {name}: {value}" for name, value in header.items()), *notes, *lines, ""]
    )


def _text(value: float) -> str:
    """Format a number in full; a whole number has no decimal point."""
    return str(int(value)) if value == int(value) else repr(value)
