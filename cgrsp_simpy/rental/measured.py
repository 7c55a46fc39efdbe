"""A market that was measured: laws and prices, from a file of them or fitted to snapshots, which
are then replayed; a scenario on it; and how well a law fits.

The law is that of `Market`: chances of the statuses by hour of day, and a variate U that is held
and drawn anew at the epochs of a Poisson process. With x the status as a number, m(h) its mean in
hour h of the day, and o(h, h') the mean of the product that one and the same U gives in two hours,

    E x(t) x(t + lag) = w o(h, h') + (1 - w) m(h) m(h'),     w = exp(-lag / tau)

so each lag tells its w: the sum of (x - m)(x' - m') over all pairs observed, over that of o - m m'.
tau is that of least squares between these and exp(-lag / tau), each weighed by its pairs, over all
lags up to two hours.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, inf, isnan, log, nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from cgrsp_simpy.logs.fields import faults_of
from cgrsp_simpy.logs.market import NOT_FETCHED, Snapshots, read_market
from cgrsp_simpy.model.checks import InputError, check_number, check_one_of, require
from cgrsp_simpy.model.files import check_keys, entries, make, mapping, table_of, toml_text
from cgrsp_simpy.model.streams import stream
from cgrsp_simpy.rental.market import LOW, HourlyStock, StockSeries
from cgrsp_simpy.rental.scenario import Scenario

HOUR_S, DAY_S = 3600.0, 86400.0
FITTED_S = 2 * HOUR_S  # lags up to there tell tau
LEAST_S = 2 * DAY_S
LAGS_H = (0.5, 1.0, 2.0, 6.0, 24.0)  # lags at which a correlation is told, hours
RESAMPLED = 400
MOST_STEPS = 10_000_000

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Polls:
    """Snapshots in even steps: at each the last status that was fetched, unless that is older
    than a step and a half.

    snapshots: the series.
    """

    snapshots: Snapshots

    @cached_property
    def step_s(self) -> float:
        """The step, seconds: the median of the times between snapshots."""
        time_s = self.snapshots.time_s
        name, known = f"snapshots of {self.snapshots.gpu}", len(time_s)
        require(known > 1, name, known, "at least two")
        step_s, span_s = float(np.median(np.diff(time_s))), float(time_s[-1])
        name, most_s = f"seconds that the series of {self.snapshots.gpu} spans", MOST_STEPS * step_s
        allowed = f"at most {most_s:g}, {MOST_STEPS:,} times those between its snapshots"
        require(span_s <= most_s, name, span_s, allowed)
        return step_s

    @cached_property
    def time_s(self) -> Floats:
        """The times of the steps, seconds."""
        return np.arange(0, self.snapshots.time_s[-1] + self.step_s / 2, self.step_s)

    @cached_property
    def status(self) -> npt.NDArray[np.int64]:
        """The status at each step, -1 in a gap."""
        own = self.snapshots
        last = np.searchsorted(own.time_s, self.time_s + 1e-6, "right") - 1
        fresh = self.time_s - own.time_s[last] <= 1.5 * self.step_s
        return np.where(fresh, own.status[last], NOT_FETCHED)

    @cached_property
    def hour(self) -> npt.NDArray[np.int64]:
        """The hour of day at each step; of a series without dates, hours from its beginning on."""
        start_s = self.snapshots.start_h * HOUR_S
        return np.asarray((start_s + self.time_s) // HOUR_S % 24, np.int64)

    @cached_property
    def seen(self) -> npt.NDArray[np.bool_]:
        """Whether a step has a status."""
        return np.asarray(self.status != NOT_FETCHED)

    @property
    def gaps_h(self) -> list[float]:
        """Lengths of the gaps, hours."""
        edges = np.flatnonzero(np.diff(np.concatenate([[1], self.seen.astype(int), [1]])))
        return ((edges[1::2] - edges[::2]) * self.step_s / HOUR_S).tolist()  # type: ignore[no-any-return]

    @property
    def shares(self) -> list[float]:
        """Shares of High, Medium and Low; NaN where nothing was fetched."""
        if not self.seen.any():
            return [nan] * 3
        return [float(np.mean(self.status[self.seen] == status)) for status in range(3)]

    @property
    def price_usd_per_h(self) -> float:
        """The median price."""
        prices = self.snapshots.price_usd_per_h
        known = prices[~np.isnan(prices)]
        return float(np.median(known)) if len(known) else nan

    def run_h(self, low: bool) -> float:
        """Mean length of a run: the time spent in such runs over the number of their ends.

        low: of Low stock, or of other stock. Result: hours; infinite where none is seen to end.
        """
        both = self.seen[:-1] & self.seen[1:]
        inside = (self.status[:-1] == LOW) == low
        ends = np.sum(both & inside & ((self.status[1:] == LOW) != low))
        return float(np.sum(both & inside) / ends * self.step_s / HOUR_S) if ends else inf

    def correlation(self, lag_h: float) -> tuple[float, float]:
        """Correlation of the status after some hours, and its interval.

        lag_h: hours. Result: the correlation, and its 95 % half width by 400 resamples of whole
        days; NaN where there are no such pairs.
        """
        lag = round(lag_h * HOUR_S / self.step_s)
        if not 0 < lag < len(self.status) or not self.seen.any():
            return nan, nan
        x = np.where(self.seen, self.status, 0) - np.mean(self.status[self.seen])
        both = self.seen[:-lag] & self.seen[lag:]
        day = (self.time_s // DAY_S).astype(int)
        sums = [
            np.bincount(own, values, day[-1] + 1)
            for own, values in (
                (day[:-lag], np.where(both, x[:-lag] * x[lag:], 0.0)),
                (day[:-lag], both.astype(float)),
                (day, np.where(self.seen, x * x, 0.0)),
                (day, self.seen.astype(float)),
            )
        ]
        if not sums[1].sum() or not sums[2].sum():
            return nan, nan
        drawn = stream(0, "bootstrap").multinomial(
            day[-1] + 1, np.full(day[-1] + 1, 1 / (day[-1] + 1)), RESAMPLED
        )
        whole = [float(own.sum()) for own in sums]
        product, pairs, square, polls = (drawn @ own for own in sums)
        with np.errstate(invalid="ignore", divide="ignore"):
            resampled = product / pairs / (square / polls)
        low, high = np.nanpercentile(resampled, [2.5, 97.5])
        return whole[0] / whole[1] / (whole[2] / whole[3]), float(high - low) / 2


@dataclass(frozen=True, eq=False)
class StockFit:
    """The law of a type's stock, fitted to its snapshots.

    polls: the data. stock: the law: chances by hour, and the persistence.
    """

    polls: Polls
    stock: HourlyStock = field(repr=False)

    @cached_property
    def _law(self) -> _Law:
        return _Law(self.polls, np.array(self.stock.chances))

    def correlation(self, lag_h: float) -> float:
        """The correlation of the status after some hours, by the law, on the pairs observed.

        lag_h: hours. Result: NaN where there are no such pairs.
        """
        lag = round(lag_h * HOUR_S / self.polls.step_s)
        if not 0 < lag < len(self.polls.status):
            return nan
        return self._law.correlation(lag, self._kept(lag))

    def run_h(self, low: bool) -> float:
        """Mean length of a run, by the law.

        low: of Low stock, or of other stock. Result: hours.
        """
        stays, leaves = self._law.runs(low, self._kept(1))
        return (stays + leaves) / leaves * self.polls.step_s / HOUR_S if leaves else inf

    def _kept(self, lag: int) -> float:
        tau_s = self.stock.persistence_s
        return exp(-lag * self.polls.step_s / tau_s) if tau_s else 0.0


class _Law:
    """Moments of the law at the polls of a series. chances: 24 x 3."""

    def __init__(self, polls: Polls, chances: Floats) -> None:
        self._polls = polls
        self._from = np.cumsum(chances, axis=1)[:, :2]  # U from which it is Medium, and Low
        self._mean = (1 - self._from).sum(axis=1)
        ends = self._from[:, None, :, None], self._from[None, :, None, :]
        # E x x' under one and the same U, by the two hours
        self._one = (1 - np.maximum(*ends)).sum(axis=(2, 3))

    def _pairs(self, lag: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Floats]:
        """The hours of the pairs observed, and their products about the law's means."""
        own = self._polls
        first = np.flatnonzero(own.seen[:-lag] & own.seen[lag:])
        h, later = own.hour[first], own.hour[first + lag]
        x, then = own.status[first] - self._mean[h], own.status[first + lag] - self._mean[later]
        return h, later, x * then

    def kept(self, lag: int) -> tuple[float, int]:
        """The chance, by the data, that a variate is held over a lag; and the number of pairs."""
        h, later, products = self._pairs(lag)
        held = float(np.sum(self._one[h, later] - self._mean[h] * self._mean[later]))
        return (float(np.sum(products)) / held if held > 1e-9 else nan), len(h)

    def correlation(self, lag: int, kept: float) -> float:
        """The correlation of the status, by the law."""
        h, later, _ = self._pairs(lag)
        own = self._polls.hour[self._polls.seen]
        mean = np.mean(self._mean[own])
        variance = np.mean(self._one[own, own]) - mean**2
        held, fresh = self._one[h, later], self._mean[h] * self._mean[later]
        covariance = np.mean(kept * held + (1 - kept) * fresh) - mean**2
        return float(covariance / variance) if variance > 1e-12 and len(h) else nan

    def runs(self, low: bool, kept: float) -> tuple[float, float]:
        """Expected numbers of polls in runs of Low (or other) stock that go on, and that end."""
        h, later, _ = self._pairs(1)
        one, other = self._from[h, 1], self._from[later, 1]  # chances of no Low stock
        if low:
            one, other = 1 - one, 1 - other
        stays = kept * np.minimum(one, other) + (1 - kept) * one * other
        return float(stays.sum()), float((one - stays).sum())


def fit_stock(snapshots: Snapshots) -> StockFit:
    """Fit the law of the stock to the snapshots of a type.

    snapshots: two days of them or more. Result: the law beside its data. Raises InputError for less
    than two days of snapshots, or fewer than two snapshots in the two hours whose lags tell the
    persistence.
    """
    polls, name = Polls(snapshots), snapshots.gpu
    hours = float(polls.time_s[-1] / HOUR_S)
    known = int(polls.seen.sum())
    require(known > 0, f"snapshots of {name} that were fetched", known, "at least one")
    enough = polls.time_s[-1] + polls.step_s >= LEAST_S
    require(enough, f"length of the series of {name}", f"{hours:.1f} h", "at least 48 h for a fit")
    lags = int(FITTED_S / polls.step_s + 1e-9)
    told = "at most 3600 s for a fit"
    require(lags >= 2, f"time between snapshots of {name}", f"{polls.step_s:.0f} s", told)
    chances = _chances(polls)
    law = _Law(polls, np.array(chances))
    found = [law.kept(lag) for lag in range(1, lags + 1)]
    tau_s = _persistence_s(polls.step_s, [kept for kept, _ in found], [n for _, n in found])
    return StockFit(polls, HourlyStock(name, chances, tau_s))


def _chances(polls: Polls) -> tuple[tuple[float, float, float], ...]:
    """Shares of the statuses by hour of day; of an hour never seen, those of all."""
    found = []
    for hour in range(24):
        own = polls.status[polls.seen & (polls.hour == hour)]
        high, medium = (
            [float(np.mean(own == status)) for status in (0, 1)] if len(own) else polls.shares[:2]
        )
        high, medium = round(high, 4), round(medium, 4)
        found.append((high, medium, max(0.0, round(1 - high - medium, 4))))
    return tuple(found)


def _persistence_s(step_s: float, kept: Sequence[float], pairs: Sequence[int]) -> float:
    """Tau of least squares; 0 where the status is certain in every hour."""
    lags_s = np.arange(1, len(kept) + 1) * step_s
    known = np.isfinite(kept) & (np.array(pairs) > 0)
    if not known.any():
        return 0.0
    y, w, lags_s = np.array(kept)[known], np.array(pairs)[known], lags_s[known]

    def squares(log_tau: float) -> float:
        return float(np.sum(w * (y - np.exp(-lags_s / np.exp(log_tau))) ** 2))

    best = scipy.optimize.minimize_scalar(
        squares, bounds=(log(step_s / 10), log(30 * DAY_S)), method="bounded"
    )
    return round(float(np.exp(best.x)), 1)


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
