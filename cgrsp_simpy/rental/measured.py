"""A market that was measured: laws and prices, from a file of them or fitted to snapshots, which
are then replayed; and a scenario on it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cgrsp_simpy.logs.market import NOT_FETCHED, Snapshots, read_market
from cgrsp_simpy.logs.text import faults_of
from cgrsp_simpy.model.checks import InputError, check_number, check_one_of, require
from cgrsp_simpy.model.toml import check_keys, entries, make, mapping, table_of, toml_text
from cgrsp_simpy.rental.fit import Polls, StockFit, fit_stock
from cgrsp_simpy.rental.market import HourlyStock, StockSeries
from cgrsp_simpy.rental.scenario import Scenario


class Measured(NamedTuple):
    """A market by the names of its own types.

    stock: the law of each. prices: USD per hour by type, where known. series: what is replayed.
    """

    stock: tuple[HourlyStock, ...]
    prices: Mapping[str, float]
    series: tuple[StockSeries, ...] = ()


def measured(*paths: str | Path) -> Measured:
    """A market from files.

    paths: one file of laws (.toml, as `cgrsp market fit --out` writes it), or snapshots of types in
    any format of `read_market`, which are replayed, and whose fitted law is what schedulers know.
    Result: laws, prices and series. Raises InputError with the file's name, for what is not of its
    format, and types that come twice.
    """
    require(len(paths) > 0, "market", paths, "at least one file")
    if any(Path(path).suffix == ".toml" for path in paths):
        require(len(paths) == 1, "market", [str(path) for path in paths], "one file of laws")
        return _of_toml(Path(paths[0]))
    listed = snapshots_of(paths)
    fits = [fit_stock(each) for each in listed]
    return Measured(tuple(fit.stock for fit in fits), _prices(fits), series_of(listed))


def snapshots_of(paths: Iterable[str | Path]) -> list[Snapshots]:
    """The series of some files; InputError if a type comes twice."""
    listed = [each for path in paths for each in read_market(path)]
    names = [each.gpu for each in listed]
    require(len(set(names)) == len(names), "types of the market", names, "different")
    return listed


def _prices(fits: Iterable[StockFit]) -> dict[str, float]:
    found = {fit.stock.gpu: fit.polls.price_usd_per_h for fit in fits}
    return {name: price for name, price in found.items() if not isnan(price)}


def measured_toml(fits: Sequence[StockFit]) -> str:
    """The fitted laws and median prices as TOML text, for `measured`."""
    stock = [table_of(fit.stock) for fit in fits]
    prices = [{"gpu": name, "usd_per_h": price} for name, price in _prices(fits).items()]
    return toml_text({"stock": stock, "price": prices} if prices else {"stock": stock})


def _of_toml(path: Path) -> Measured:
    with faults_of(path):
        try:
            found = tomllib.loads(path.read_bytes().decode("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(str(error)) from None
        check_keys("the file", found, ("stock", "price"))
        stock = tuple(make(HourlyStock, each, "[[stock]]") for each in entries(found, "stock"))
        require(len(stock) > 0, "[[stock]]", 0, "at least one table")
        prices = dict(_price(each) for each in entries(found, "price"))
        return Measured(stock, prices)


def _price(table: Any) -> tuple[str, float]:
    check_keys("[[price]]", mapping("[[price]]", table), ("gpu", "usd_per_h"))
    name, price = table.get("gpu"), table.get("usd_per_h")
    require(isinstance(name, str), "gpu of [[price]]", name, "a GPU type's name")
    check_number(f"usd_per_h of {name}", price, least=0)
    return str(name), float(price)


# ---- replay ----


def series_of(listed: Iterable[Snapshots]) -> tuple[StockSeries, ...]:
    """What was recorded, to be replayed: second 0 is the first snapshot of all, and all begin again
    after the last of all. A status holds until the next that was fetched, the first also before,
    and the last to the end. Series without dates count the hours of the day from the beginning of
    their file, as their law does.
    """
    listed = list(listed)
    starts = [each.start for each in listed if each.start is not None]
    dated = len(starts) == len(listed)
    require(dated or not starts, "series", len(listed), "all with dates, or all without")
    later_s = [each.begins_s for each in listed]
    start_h = 0.0
    if dated:
        later_s = [(start - min(starts)).total_seconds() for start in starts]
        start_h = listed[later_s.index(0.0)].start_h
    ends_s = [own.time_s[-1] + s + Polls(own).step_s for own, s in zip(listed, later_s)]
    length_s = float(max(ends_s))
    return tuple(_replayed(own, s, length_s, start_h) for own, s in zip(listed, later_s))


def _replayed(own: Snapshots, later_s: float, length_s: float, start_h: float) -> StockSeries:
    fetched = own.status != NOT_FETCHED
    require(bool(fetched.any()), f"series of {own.gpu}", "nothing fetched", "a status at least")
    time_s, status = own.time_s[fetched] + later_s, own.status[fetched]
    changed = np.concatenate([[True], status[1:] != status[:-1]])
    times = (0.0, *time_s[changed].tolist()[1:])
    return StockSeries(own.gpu, times, tuple(status[changed].tolist()), length_s, start_h)


# ---- a scenario on it ----


def on_market(
    scenario: Scenario,
    market: Measured,
    types: Mapping[str, str] | None = None,
    sight: str = "none",
) -> Scenario:
    """The scenario on a market that was measured.

    scenario: its jobs, types, delays and clock remain; prices become the market's where they are
    known. market: laws, prices and series. types: the scenario's types -> the market's; unless
    given, each that the market has by its name. Others keep their law. sight: what is seen of the
    stock; see `Market`. Result: a copy; the scenario itself stays as it is. Raises InputError for
    names that the scenario or the market does not have.
    """
    ours, theirs = [gpu.name for gpu in scenario.gpus], [each.gpu for each in market.stock]
    if types is None:
        types = {name: name for name in ours if name in theirs}
    if not types:
        raise InputError(
            f"the market has {', '.join(theirs)}, and the scenario {', '.join(ours)}: tell which is"
            f" which, such as {ours[0]}={theirs[0]}"
        )
    for name, own in types.items():
        check_one_of("GPU type of the scenario", name, ours)
        check_one_of("type of the market", own, theirs)
    laws = {each.gpu: each for each in market.stock}
    replays = {each.gpu: each for each in market.series}
    made = replace(
        scenario.market,
        stock=tuple(replace(laws[own], gpu=name) for name, own in types.items()),
        series=tuple(replace(replays[own], gpu=name) for name, own in types.items() if replays),
        sight=sight,
    )
    dear = {name: market.prices[own] for name, own in types.items() if own in market.prices}
    gpus, slots = (
        tuple(replace(gpu, price_usd_per_h=dear.get(gpu.name, gpu.price_usd_per_h)) for gpu in own)
        for own in (scenario.gpus, scenario.slots)
    )
    return replace(scenario, market=made, gpus=gpus, slots=slots)
