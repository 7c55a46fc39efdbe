"""Scenarios of the thesis's days, of logs of real jobs, and of measured markets."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Unpack

from cgrsp_simpy.base.checks import (
    InputError,
    check_one_of,
    require,
)
from cgrsp_simpy.logs import Reading
from cgrsp_simpy.market.gpu import GpuType, catalogue, round_robin
from cgrsp_simpy.market.model import Market, Measured, clock_of
from cgrsp_simpy.rental.job import DeadlineClass, DeadlineClasses
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.terms import Opening, Terms, slot_hours
from cgrsp_simpy.rental.workload import (
    DAYS,
    PoissonWorkload,
    read_log,
)

Slots = int | Sequence[str] | Sequence[tuple[float, int]]


def day(
    name: str,
    slots: Slots = 5,
    tight_fraction: float = 0.2,
    jobs: int | None = None,
    rate_per_s: float | None = None,
    free_types: bool = False,
    clock: str = "calibrated",
    persistence_s: float = 0.0,
    sight: str = "none",
    gpus: str | Sequence[GpuType] = "thesis",
    terms: Terms | None = None,
    kind: type[Scenario] = Scenario,
    **more: Any,
) -> Scenario:
    """Return the scenario of a day of the thesis (Section 5.1.1).

    name: "quiet", "normal", "hectic" or "surge". slots: number of slots (types in turn,
    Section 4.3), a list of type names, or pairs of an hour of day and the number of
    slots open from then on, such as [(0, 2), (10, 5)]. tight_fraction: share of jobs
    due after 1 hour; the others have 8 hours. jobs, rate_per_s: number of jobs, and
    arrivals per second; by default the day's. free_types: whether the policy chooses
    the type of an idle slot. clock: "calibrated" or "printed", the hours of the stock
    multiplier. persistence_s, sight: how long stock persists, and what policies
    observe; see `Market`. gpus: rentable types: "thesis", "2025" or a CSV file; see
    `read_gpus`. terms: terms of renting, by default the thesis's. kind: a subclass of
    Scenario with your own job process. more: the parameters that the subclass adds.
    """
    check_one_of("day", name, DAYS)
    usual_rate, usual_jobs = DAYS[name]
    workload = PoissonWorkload(
        jobs=usual_jobs if jobs is None else jobs,
        rate_per_s=usual_rate if rate_per_s is None else rate_per_s,
        deadlines=DeadlineClasses(tight_fraction),
    )
    market = Market(clock_of(clock, workload), persistence_s=persistence_s, sight=sight)
    usual = {item.name for item in fields(Scenario)}
    added = [item.name for item in fields(kind) if item.name not in usual]
    known = [name for name in inspect.signature(day).parameters if name != "more"]
    for parameter in more:
        check_one_of("parameter of a day", parameter, [*known, *sorted(added)])
    fleet = _fleet(slots, gpus, free_types)
    return kind(name, workload, market=market, terms=terms or Terms(), **fleet, **more)


def trace(
    path: str | Path,
    format: str | None = None,
    window: str | None = None,
    slots: Slots = 5,
    tight_fraction: float | None = None,
    free_types: bool = False,
    clock: str = "calibrated",
    classes: Sequence[DeadlineClass] | None = None,
    class_column: str | None = None,
    persistence_s: float = 0.0,
    sight: str = "none",
    gpus: str | Sequence[GpuType] = "thesis",
    terms: Terms | None = None,
    **reading: Unpack[Reading],
) -> Scenario:
    """Return a scenario from a log of real jobs.

    If the log has timestamps, the run starts at their hour of day. path, format,
    window, reading: as in `cgrsp_simpy.logs.read_log`. tight_fraction: share of jobs
    with a deadline after 1 hour, by default 0.2. classes: deadline classes that replace
    the thesis's two; then `tight_fraction` must be omitted. class_column: column of the
    log with the names of the jobs' classes. All other parameters are as in `day`.
    Raises InputError for an invalid value or log.
    """
    require(
        classes is None or tight_fraction is None,
        "tight_fraction",
        tight_fraction,
        "omitted if classes is given",
    )
    fraction = 0.2 if tight_fraction is None else tight_fraction
    log = read_log(
        path,
        format,
        window,
        DeadlineClasses(fraction) if classes is None else classes,
        class_column=class_column,
        **reading,
    )
    market = Market(clock_of(clock, log), persistence_s=persistence_s, sight=sight)
    fleet = _fleet(slots, gpus, free_types)
    name = Path(path).name
    return Scenario(name, log, market=market, terms=terms or Terms(), **fleet)


def _fleet(
    slots: Slots, gpus: str | Sequence[GpuType], free_types: bool
) -> dict[str, Any]:
    types = catalogue(gpus)
    number, hours = slot_hours(slots)
    return {
        "slots": round_robin(number, types),
        "gpus": types,
        "free_types": free_types,
        "opening": Opening(hours),
    }


def on_market(
    scenario: Scenario,
    market: Measured,
    types: Mapping[str, str] | None = None,
    sight: str = "none",
) -> Scenario:
    """Return a copy of the scenario on a measured market.

    Jobs, types, delays and clock remain unchanged; prices become the market's where
    they are known. types: maps the scenario's types to the market's; by default types
    of the same name are matched. Other types keep their stock model. sight: what the
    policy can observe of the stock; see `Market`. Raises InputError for unknown names.
    """
    names = [gpu.name for gpu in scenario.gpus]
    market_names = [model.gpu for model in market.stock]
    if types is None:
        types = {name: name for name in names if name in market_names}
    if not types:
        raise InputError(
            f"the market has {', '.join(market_names)}, and the scenario"
            f" {', '.join(names)}:"
            f" map the types, such as {names[0]}={market_names[0]}"
        )
    for name, market_name in types.items():
        check_one_of("GPU type of the scenario", name, names)
        check_one_of("type of the market", market_name, market_names)
    models = {model.gpu: model for model in market.stock}
    replays = {model.gpu: model for model in market.series}
    measured_market = replace(
        scenario.market,
        stock=tuple(
            replace(models[market_name], gpu=name)
            for name, market_name in types.items()
        ),
        series=tuple(
            replace(replays[market_name], gpu=name)
            for name, market_name in types.items()
            if replays
        ),
        sight=sight,
    )
    prices = {
        name: market.prices[market_name]
        for name, market_name in types.items()
        if market_name in market.prices
    }
    gpus, slots = (
        tuple(
            replace(gpu, price_usd_per_h=prices.get(gpu.name, gpu.price_usd_per_h))
            for gpu in fleet
        )
        for fleet in (scenario.gpus, scenario.slots)
    )
    return replace(scenario, market=measured_market, gpus=gpus, slots=slots)
