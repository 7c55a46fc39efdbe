"""The TOML file of a scenario of rented slots, written and read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from cgrsp_simpy.base.checks import (
    InputError,
    require,
)
from cgrsp_simpy.base.files import (
    check_keys,
    entries,
    make,
    mapping,
    table_of,
)
from cgrsp_simpy.base.metric import users_part
from cgrsp_simpy.rental.arrivals import ArrivalRates
from cgrsp_simpy.rental.deadlines import DeadlineClass, DeadlineClasses, Deadlines
from cgrsp_simpy.rental.gpu import THESIS_GPUS, GpuType, round_robin
from cgrsp_simpy.rental.job import Job, Service
from cgrsp_simpy.rental.market import (
    Clock,
    HourlyStock,
    Market,
    StockSeries,
    clock_of,
)
from cgrsp_simpy.rental.terms import Preemption, Terms
from cgrsp_simpy.rental.workload import (
    HourlyWorkload,
    JobList,
    LoggedWorkload,
    PoissonWorkload,
    Workload,
    read_log,
)

Part = TypeVar("Part")
Made = TypeVar("Made")


def tables(scenario: Any) -> dict[str, Any]:
    """Every parameter of a scenario, as the tables of its TOML file."""
    foreign = users_part(scenario)
    if foreign is not None:
        raise InputError(
            f"{type(foreign).__qualname__} cannot be written to TOML: it is not a class"
            " of this package"
        )
    return {
        "name": scenario.name,
        "fleet": {
            "slots": [gpu.name for gpu in scenario.slots],
            "free_types": scenario.free_types,
        },
        "workload": _workload_table(scenario.workload),
        "service": _plain(scenario.service),
        "market": _plain(scenario.market),
        "terms": _plain(scenario.terms),
        "gpu": _plain(scenario.gpus),
    }


def _plain(part: Any) -> Any:
    """A part as a table of the fields that are given, as TOML knows no None; parts as a
    list.
    """
    if isinstance(part, tuple) and part and is_dataclass(part[0]):
        return [_plain(each) for each in part]
    if not is_dataclass(part):
        return part
    return {
        name: _plain(value)
        for name, value in table_of(part).items()
        if value is not None
    }


def _workload_table(workload: Workload) -> dict[str, Any]:
    if isinstance(workload, JobList):
        jobs = [job._asdict() for job in workload.listed]
        return {"class_names": workload.class_names, "job": jobs}
    assert isinstance(workload, (PoissonWorkload, HourlyWorkload, LoggedWorkload))
    own = (
        {**workload.origin}
        if isinstance(workload, LoggedWorkload)
        else _plain(workload)
    )
    allowed = "a log read from a file, to be written to TOML"
    require(bool(own), "workload", workload, allowed)
    own.pop("deadlines", None)
    deadlines = _plain(workload.deadlines)
    return own | (deadlines if isinstance(deadlines, dict) else {"class": deadlines})


def described(kind: Callable[..., Made], file: dict[str, Any], path: Path) -> Made:
    """The scenario that the tables of a TOML file describe."""
    tables = ("fleet", "workload", "service", "market", "terms", "gpu")
    check_keys("the file", file, ("name", *tables))
    fleet = file.get("fleet", {})
    check_keys("[fleet]", fleet, ("slots", "free_types"))
    gpus = _made(GpuType, file, "gpu") or THESIS_GPUS
    workload = _workload(file.get("workload"), path)
    market = dict(mapping("[market]", file.get("market", {})))
    clock = market.pop("clock", "calibrated")
    by_name = isinstance(clock, str)
    market["clock"] = (
        clock_of(clock, workload) if by_name else make(Clock, clock, "[market.clock]")
    )
    market["stock"] = _made(HourlyStock, market, "stock", "market.")
    market["series"] = _made(StockSeries, market, "series", "market.")
    terms = dict(mapping("[terms]", file.get("terms", {})))
    terms["preemption"] = _made(Preemption, terms, "preemption", "terms.")
    return kind(
        name=str(file.get("name", path.stem)),
        workload=workload,
        slots=round_robin(fleet.get("slots", 5), gpus),
        gpus=gpus,
        free_types=fleet.get("free_types", False),
        market=make(Market, market, "[market]"),
        service=make(Service, file.get("service", {}), "[service]"),
        terms=make(Terms, terms, "[terms]"),
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
        table["listed"] = _made(Job, table, "job", "workload.")
        del table["job"]
        return make(JobList, table, "[workload]")
    names = [item.name for item in fields(DeadlineClasses)]
    deadlines = _deadlines(table, names)
    if "trace" in table:
        known = ("trace", "format", "window", "strict", "columns", "class_column")
        check_keys("[workload]", table, (*known, *names, "class"))
        log = path.parent / str(table.pop("trace"))
        table["columns"] = mapping("[workload.columns]", table.get("columns", {}))
        return read_log(log, **table, deadlines=deadlines)
    kind: type[HourlyWorkload | PoissonWorkload]
    kind = HourlyWorkload if "rates" in table else PoissonWorkload
    if "rates" in table:
        table["rates"] = make(ArrivalRates, table["rates"], "[workload.rates]")
    own = [item.name for item in fields(kind) if item.name != "deadlines"]
    check_keys("[workload]", table, (*own, "rates", "trace", "job", "class", *names))
    return make(kind, {**table, "deadlines": deadlines}, "[workload]")


def _deadlines(table: dict[str, Any], names: list[str]) -> Deadlines:
    """The deadline classes that a workload's table tells of, taken out of it."""
    two = {key: table.pop(key) for key in names if key in table}
    if "class" not in table:
        return make(DeadlineClasses, two, "[workload]")
    if two:
        raise InputError(
            f"[workload] has {min(two)} and [[workload.class]]; give one of them"
        )
    listed = _made(DeadlineClass, table, "class", "workload.")
    del table["class"]
    return listed


def _made(
    kind: type[Part], table: dict[str, Any], key: str, where: str = ""
) -> tuple[Part, ...]:
    """What the tables of a list of tables describe."""
    return tuple(make(kind, each, f"[[{where}{key}]]") for each in entries(table, key))
