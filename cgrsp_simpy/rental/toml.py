"""Write and read the TOML file of a scenario of rented slots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, cast

from cgrsp_simpy.base.checks import (
    InputError,
    require,
)
from cgrsp_simpy.base.files import (
    check_keys,
    entries,
    make,
    mapping,
)
from cgrsp_simpy.base.parts import check_own, part_of, schema, tables_of
from cgrsp_simpy.logs import Reading
from cgrsp_simpy.market.gpu import THESIS_GPUS, GpuType, round_robin
from cgrsp_simpy.market.model import CLOCKS, Clock, Market, clock_of
from cgrsp_simpy.rental.job import (
    DeadlineClass,
    DeadlineClasses,
    Deadlines,
    Job,
    Service,
)
from cgrsp_simpy.rental.terms import Opening, Terms
from cgrsp_simpy.rental.workload import (
    HourlyWorkload,
    JobList,
    LoggedWorkload,
    PoissonWorkload,
    Workload,
    read_log,
)

Part = TypeVar("Part")
Described = TypeVar("Described")


def tables(scenario: Any) -> dict[str, Any]:
    """Return all parameters of a scenario, as the tables of its TOML file."""
    check_own(scenario)
    return {
        "name": scenario.name,
        "fleet": {
            "slots": [gpu.name for gpu in scenario.slots],
            "free_types": scenario.free_types,
        },
        "workload": _workload_table(scenario.workload),
        "service": tables_of(scenario.service, whole=True),
        "market": tables_of(scenario.market, whole=True),
        "terms": tables_of(scenario.terms, whole=True),
        "opening": tables_of(scenario.opening, whole=True),
        "gpu": [tables_of(gpu, whole=True) for gpu in scenario.gpus],
    }


def tables_schema() -> dict[str, Any]:
    """Return the JSON schema of the TOML tables, for editors."""
    text = {"type": "string"}
    slots = {"anyOf": [{"type": "integer"}, {"type": "array", "items": text}]}
    fleet = {"slots": slots, "free_types": {"type": "boolean"}}
    workload = {
        name: entry
        for kind in (PoissonWorkload, HourlyWorkload, DeadlineClasses)
        for name, entry in schema(kind)["properties"].items()
    }
    workload["class"] = {"type": "array", "items": schema(DeadlineClass)}
    market = schema(Market)
    market["properties"]["clock"] = {"anyOf": [{"enum": [*CLOCKS]}, schema(Clock)]}
    properties = {
        "name": text,
        "fleet": {"type": "object", "properties": fleet},
        "workload": {"type": "object", "properties": workload},
        "service": schema(Service),
        "market": market,
        "terms": schema(Terms),
        "opening": schema(Opening),
        "gpu": {"type": "array", "items": schema(GpuType)},
    }
    return {"type": "object", "properties": properties, "required": ["workload"]}


def _workload_table(workload: Workload) -> dict[str, Any]:
    if isinstance(workload, JobList):
        jobs = [job._asdict() for job in workload.listed]
        return {"class_names": workload.class_names, "job": jobs}
    assert isinstance(workload, (PoissonWorkload, HourlyWorkload, LoggedWorkload))
    table = (
        {**workload.origin}
        if isinstance(workload, LoggedWorkload)
        else tables_of(workload, whole=True)
    )
    require(
        bool(table),
        "workload",
        workload,
        "a log read from a file; only these can be written to TOML",
    )
    table.pop("deadlines", None)
    if isinstance(workload.deadlines, DeadlineClasses):
        return table | tables_of(workload.deadlines, whole=True)
    classes = [tables_of(part, whole=True) for part in workload.deadlines]
    return table | {"class": classes}


def described(
    kind: Callable[..., Described], file: dict[str, Any], path: Path
) -> Described:
    """Return the scenario described by the tables of a TOML file."""
    tables = ("fleet", "workload", "service", "market", "terms", "opening", "gpu")
    check_keys("the file", file, ("name", *tables))
    fleet = file.get("fleet", {})
    check_keys("[fleet]", fleet, ("slots", "free_types"))
    gpus = _parts(GpuType, file, "gpu") or THESIS_GPUS
    workload = _workload(file.get("workload"), path)
    market = dict(mapping("[market]", file.get("market", {})))
    clock = market.get("clock", "calibrated")
    if isinstance(clock, str):
        market["clock"] = clock_of(clock, workload)
    return kind(
        name=str(file.get("name", path.stem)),
        workload=workload,
        slots=round_robin(fleet.get("slots", 5), gpus),
        gpus=gpus,
        free_types=fleet.get("free_types", False),
        market=part_of(Market, market, "market"),
        service=part_of(Service, file.get("service", {}), "service"),
        terms=part_of(Terms, file.get("terms", {}), "terms"),
        opening=part_of(Opening, file.get("opening", {}), "opening"),
    )


def _workload(table: Any, path: Path) -> Workload:
    if table is None:
        raise InputError(
            "the table [workload] is missing: it needs jobs and rate_per_s, or jobs and"
            " [workload.rates], or trace, or [[workload.job]]"
        )
    table = dict(mapping("[workload]", table))
    if "job" in table:
        check_keys("[workload]", table, ("job", "class_names"))
        table["listed"] = _parts(Job, table, "job", "workload.")
        del table["job"]
        return make(JobList, table, "[workload]")
    names = [item.name for item in fields(DeadlineClasses)]
    deadlines = _deadlines(table, names)
    if "trace" in table:
        words = ("format", "window", *Reading.__annotations__, "class_column")
        check_keys("[workload]", table, ("trace", *words, *names, "class"))
        log = path.parent / str(table.pop("trace"))
        table["columns"] = mapping("[workload.columns]", table.get("columns", {}))
        return read_log(log, **table, deadlines=deadlines)
    kind: type[HourlyWorkload | PoissonWorkload] = (
        HourlyWorkload if "rates" in table else PoissonWorkload
    )
    keys = [item.name for item in fields(kind) if item.name != "deadlines"]
    check_keys("[workload]", table, (*keys, "rates", "trace", "job", "class", *names))
    return cast(Workload, part_of(kind, {**table, "deadlines": deadlines}, "workload"))


def _deadlines(table: dict[str, Any], names: list[str]) -> Deadlines:
    """Remove the deadline classes from a workload's table and return them."""
    two = {key: table.pop(key) for key in names if key in table}
    if "class" not in table:
        return make(DeadlineClasses, two, "[workload]")
    if two:
        raise InputError(
            f"[workload] has {min(two)} and [[workload.class]]; give one of them"
        )
    listed = _parts(DeadlineClass, table, "class", "workload.")
    del table["class"]
    return listed


def _parts(
    kind: type[Part], table: dict[str, Any], key: str, where: str = ""
) -> tuple[Part, ...]:
    return tuple(make(kind, item, f"[[{where}{key}]]") for item in entries(table, key))
