"""Measured markets: models and prices, read from a file or fitted, and replays.

The model is that of `Market`: probabilities of the statuses by hour of day, and a
variate U, whose values at two times are equal with probability w, otherwise
independent. With x the status as a number, m(h) its mean in hour h of the day, and o(h,
h') the mean product of the statuses in two hours for the same U,

    E x(t) x(t + lag) = w(lag) o(h, h') + (1 - w(lag)) m(h) m(h')

so w(lag) is the sum of (x - m)(x' - m') over all observed pairs, divided by the sum of
o - m m'.

One scale: w = exp(-lag / tau); tau is fitted by least squares over all lags up to two
hours, weighted by the number of pairs.

Two scales: w = exp(-lag / tau) (p^2 + q^2 + 2 p q exp(-lag / s)). s matches the
observed w between consecutive polls, and so the mean runs; p and tau minimise the mean
squared error of w at lags from ten minutes to twelve hours, evenly spaced on a
logarithmic scale, plus the squared error of the share of short runs. In the model, this
share is, over the eight states of the chain (`Holding.chain`),

    1 - f M^n 1 / f 1,      summed over Low and other runs

with M: matrix of transitions from one poll to the next within the states of the run; f:
flow into these states per poll, in equilibrium; n: number of polls in fifteen minutes.

Two scales are chosen if they predict better by more than one standard error: the models
are fitted to every other day and compared on the days between, by the mean over the
lags of the logarithm of the probability of the status observed one lag after each poll.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import exp, inf, isnan, log, nan
from pathlib import Path

import numpy as np
import scipy

from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.base.arrays import Bools, Floats, Ints
from cgrsp_simpy.base.checks import check_number, require
from cgrsp_simpy.base.files import (
    check_keys,
    entries,
    faults_of,
    make,
    read_toml,
    table_of,
    toml_text,
)
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.market.model import (
    LOW,
    Holding,
    HourlyStock,
    Market,
    Measured,
    StockSeries,
)
from cgrsp_simpy.market.series import NOT_FETCHED, Snapshots, read_market
from cgrsp_simpy.market.stock import DAY_S

HOUR_S = 3600.0
FITTED_S = 2 * HOUR_S  # maximum lag for tau of one scale
SCALES_S = 600.0, 12 * HOUR_S  # range of lags for two scales
LAGS = 10  # number of them
SHORT_S = 900.0  # a short run
ONE_ERROR = 0.683  # confidence of an interval of one standard error
LEAST_S = 2 * DAY_S
LAGS_H = (0.5, 1.0, 2.0, 6.0, 24.0)  # lags at which correlations are reported, hours
RESAMPLED = 400
MOST_STEPS = 10_000_000


@dataclass(frozen=True, eq=False)
class Polls:
    """Snapshots at even steps: last fetched status, unless older than 1.5 steps."""

    snapshots: Snapshots

    @cached_property
    def step_s(self) -> float:
        """Step, seconds: the median time between snapshots."""
        time_s, gpu = self.snapshots.time_s, self.snapshots.gpu
        require(len(time_s) > 1, f"snapshots of {gpu}", len(time_s), "at least two")
        step_s, span_s = float(np.median(np.diff(time_s))), float(time_s[-1])
        most_s = MOST_STEPS * step_s
        limit = f"{MOST_STEPS:,} times the time between its snapshots"
        require(
            span_s <= most_s,
            f"seconds that the series of {gpu} spans",
            span_s,
            f"at most {most_s:g}, {limit}",
        )
        return step_s

    @cached_property
    def time_s(self) -> Floats:
        """The times of the steps, seconds."""
        return np.arange(0, self.snapshots.time_s[-1] + self.step_s / 2, self.step_s)

    @cached_property
    def status(self) -> Ints:
        """The status at each step, -1 in a gap."""
        series = self.snapshots
        last = np.searchsorted(series.time_s, self.time_s + 1e-6, "right") - 1
        fresh = self.time_s - series.time_s[last] <= 1.5 * self.step_s
        return np.where(fresh, series.status[last], NOT_FETCHED)

    @cached_property
    def hour(self) -> Ints:
        """Hour of day at each step; without dates, counted from the beginning."""
        start_s = self.snapshots.start_h * HOUR_S
        return np.asarray((start_s + self.time_s) // HOUR_S % 24, np.int64)

    @cached_property
    def seen(self) -> Bools:
        """Whether the status at each step is known."""
        return np.asarray(self.status != NOT_FETCHED)

    def among(self, place: Bools) -> Polls:
        """Return only the selected snapshots; the others count as not fetched."""
        series = self.snapshots
        return Polls(
            replace(series, status=np.where(place, series.status, NOT_FETCHED))
        )

    @property
    def short_pct(self) -> float:
        """Share of runs of up to 15 minutes among runs whose ends are both observed, %.

        NaN if polls are further apart.
        """
        state = np.where(self.seen, self.status == LOW, 2)
        edges = np.flatnonzero(np.diff(state)) + 1
        known = state < 2
        whole = known[edges[:-1]] & known[edges[1:]] & known[edges[:-1] - 1]
        short = np.diff(edges)[whole] * self.step_s <= SHORT_S
        return (
            100 * float(short.mean()) if len(short) and self.step_s <= SHORT_S else nan
        )

    @property
    def gaps_h(self) -> list[float]:
        """Lengths of the gaps, hours."""
        edges = np.flatnonzero(
            np.diff(np.concatenate([[1], self.seen.astype(int), [1]]))
        )
        gaps_h: list[float] = (
            (edges[1::2] - edges[::2]) * self.step_s / HOUR_S
        ).tolist()
        return gaps_h

    @property
    def shares(self) -> list[float]:
        """Shares of High, Medium and Low; NaN if nothing was fetched."""
        if not self.seen.any():
            return [nan] * 3
        return [float(np.mean(self.status[self.seen] == status)) for status in range(3)]

    @property
    def drift_pct(self) -> tuple[float, float]:
        """Increase of Low stock from the first half of the days to the second, %
        points.

        Then its 95 % half width, which allows for correlation between days; NaN for
        fewer than 10 days, which are too few for an interval.
        """
        day, low = self.time_s[self.seen] // DAY_S, self.status[self.seen] == LOW
        halves = np.array_split(
            [100 * float(low[day == number].mean()) for number in np.unique(day)], 2
        )
        first, second = (half.mean() for half in halves)
        apart = mean(
            np.concatenate([halves[0] - first, halves[1] - second]), in_order=True
        )
        width = apart.high - apart.low if apart.n >= 10 else nan  # difference of halves
        return float(second - first), width

    @property
    def price_usd_per_h(self) -> float:
        """The median price, USD per hour; NaN if unknown."""
        prices = self.snapshots.price_usd_per_h
        known = prices[~np.isnan(prices)]
        return float(np.median(known)) if len(known) else nan

    def run_h(self, low: bool) -> float:
        """Return the mean length of a run of Low (or other) stock, hours.

        The time in such runs divided by the number of their ends; infinite if 0.
        """
        both = self.seen[:-1] & self.seen[1:]
        inside = (self.status[:-1] == LOW) == low
        ends = np.sum(both & inside & ((self.status[1:] == LOW) != low))
        return (
            float(np.sum(both & inside) / ends * self.step_s / HOUR_S) if ends else inf
        )

    def correlation(self, lag_h: float) -> tuple[float, float]:
        """Return the correlation at a lag in hours, and its 95 % half width.

        The half width is from 400 resamples of whole days. NaN if there are no pairs.
        """
        lag = round(lag_h * HOUR_S / self.step_s)
        if not lag or not self.seen.any():
            return nan, nan
        x = np.where(self.seen, self.status, 0) - np.mean(self.status[self.seen])
        both = self.seen[:-lag] & self.seen[lag:]
        day = (self.time_s // DAY_S).astype(int)
        days = day[-1] + 1
        sums = [
            np.bincount(part, values, days)
            for part, values in (
                (day[:-lag], np.where(both, x[:-lag] * x[lag:], 0.0)),
                (day[:-lag], both.astype(float)),
                (day, np.where(self.seen, x * x, 0.0)),
                (day, self.seen.astype(float)),
            )
        ]
        if not sums[1].sum() or not sums[2].sum():
            return nan, nan
        drawn = stream(0, "bootstrap").multinomial(
            days, np.full(days, 1 / days), RESAMPLED
        )
        whole = [float(part.sum()) for part in sums]
        product, pairs, square, polls = (drawn @ part for part in sums)
        with np.errstate(invalid="ignore", divide="ignore"):
            resampled = product / pairs / (square / polls)
        low, high = np.nanpercentile(resampled, [2.5, 97.5])
        return whole[0] / whole[1] / (whole[2] / whole[3]), float(high - low) / 2


@dataclass(frozen=True, eq=False)
class StockFit:
    """A stock model of a type, with the snapshots to compare it with.

    stock: probabilities by hour, and persistence. later: the model fitted to the first
    half, compared with the second half, if each half lasts two days.
    """

    polls: Polls
    stock: HourlyStock = field(repr=False)
    later: StockFit | None = field(default=None, repr=False)

    @cached_property
    def _model(self) -> PolledModel:
        return PolledModel(self.polls, np.array(self.stock.chances))

    @cached_property
    def _holding(self) -> Holding:
        return Market(stock=(self.stock,)).holding(self.stock.gpu)

    @property
    def low_pct(self) -> float:
        """Share of Low stock at the polls according to the model, %."""
        low = np.array(self.stock.chances)[:, 2]
        return 100 * float(np.mean(low[self.polls.hour[self.polls.seen]]))

    @property
    def short_pct(self) -> float:
        """Model's share of runs of up to 15 minutes at its mean share of Low, %."""
        return 100 * _short_share(self._holding, self.low_pct / 100, self.polls.step_s)

    def correlation(self, lag_h: float) -> float:
        """Return the model's correlation at a lag in hours, over the observed pairs."""
        lag = round(lag_h * HOUR_S / self.polls.step_s)
        if not lag:
            return nan
        return self._model.correlation(
            lag, self._holding.kept(0, lag * self.polls.step_s)
        )

    def run_h(self, low: bool) -> float:
        """Return the model's mean length of a run of Low (or other) stock, hours."""
        stays, leaves = self._model.runs(low, self._holding.kept(0, self.polls.step_s))
        return (stays + leaves) / leaves * self.polls.step_s / HOUR_S if leaves else inf


class PolledModel:
    """A stock model with probabilities, shape (24, 3), evaluated at a series' polls."""

    def __init__(self, polls: Polls, chances: Floats) -> None:
        self._polls, self.chances = polls, chances
        # bounds of U for each status
        self._ends = np.hstack([np.zeros((24, 1)), np.cumsum(chances, axis=1)])
        self._from = self._ends[:, 1:3]
        self._mean = (1 - self._from).sum(axis=1)
        ends = self._from[:, None, :, None], self._from[None, :, None, :]
        # E x x' under one and the same U, by the two hours
        self._one = (1 - np.maximum(*ends)).sum(axis=(2, 3))

    def _pairs(self, lag: int) -> list[Ints]:
        """Return first polls, both hours and both statuses of the observed pairs."""
        polls = self._polls
        first = np.flatnonzero(polls.seen[:-lag] & polls.seen[lag:])
        then = first + lag
        return [
            first,
            polls.hour[first],
            polls.hour[then],
            polls.status[first],
            polls.status[then],
        ]

    def kept(self, lag: int) -> tuple[float, int]:
        """Return the data's share of variates kept over a lag, and the pairs."""
        _, h, later, status, then = self._pairs(lag)
        products = (status - self._mean[h]) * (then - self._mean[later])
        held = float(np.sum(self._one[h, later] - self._mean[h] * self._mean[later]))
        return (float(np.sum(products)) / held if held > 1e-9 else nan), len(h)

    def correlation(self, lag: int, kept: float) -> float:
        """Return the model's correlation of the status at a lag."""
        _, h, later, _, _ = self._pairs(lag)
        if not len(h):
            return nan
        hours = self._polls.hour[self._polls.seen]
        mean = np.mean(self._mean[hours])
        variance = np.mean(self._one[hours, hours]) - mean**2
        held, fresh = self._one[h, later], self._mean[h] * self._mean[later]
        covariance = np.mean(kept * held + (1 - kept) * fresh) - mean**2
        return float(covariance / variance) if variance > 1e-12 else nan

    def runs(self, low: bool, kept: float) -> tuple[float, float]:
        """Return the expected numbers of polls after which runs continue, and end."""
        _, h, later, _, _ = self._pairs(1)
        one, other = self._from[h, 1], self._from[later, 1]  # P(stock is not Low)
        if low:
            one, other = 1 - one, 1 - other
        stays = kept * np.minimum(one, other) + (1 - kept) * one * other
        return float(stays.sum()), float((one - stays).sum())

    def one_scale(self) -> Holding:
        """Fit tau by least squares; 0 if the status is certain in every hour."""
        step_s = self._polls.step_s
        lags = np.arange(1, int(FITTED_S / step_s) + 1)
        y, pairs = np.array([self.kept(lag) for lag in lags.tolist()]).T
        known = np.isfinite(y)
        if not known.any():
            return Holding(0.0)

        def squares(log_tau: float) -> float:
            apart = y[known] - np.exp(-lags[known] * step_s / np.exp(log_tau))
            return float(np.sum(pairs[known] * apart**2))

        bounds = log(step_s / 10), log(30 * DAY_S)
        best = scipy.optimize.minimize_scalar(squares, bounds=bounds, method="bounded")
        return Holding(round(float(np.exp(best.x)), 1))

    @cached_property
    def _lags(self) -> list[int]:
        step_s, (least_s, most_s) = self._polls.step_s, SCALES_S
        steps = np.geomspace(max(least_s, step_s), most_s, LAGS) / step_s
        lags: list[int] = np.unique(np.round(steps).astype(int)).tolist()
        return lags

    def two_scales(self) -> Holding:
        """Fit both scales (see module), or one if a lag is undefined or both agree."""
        polls, step_s = self._polls, self._polls.step_s
        next_, *kept = [self.kept(lag)[0] for lag in (1, *self._lags)]
        if not np.isfinite([next_, *kept]).all():
            return self.one_scale()
        low, short = polls.shares[LOW], polls.short_pct / 100

        def holding(p: float, log_tau: float) -> Holding:
            tau_s, apart = exp(log_tau), 2 * p * (1 - p)
            same = 1 - (1 - next_ * exp(step_s / tau_s)) / apart  # exp(-step / s)
            switch_s = -step_s / log(min(max(same, 1e-9), exp(-step_s / tau_s)))
            return Holding(
                round(tau_s, 1),
                max(1.0, round(switch_s, 1)),
                round(p, 4),
                round(step_s),
            )

        def missed(x: Floats) -> float:
            trial = holding(*x)
            curve = [
                trial.kept(0, lag * step_s) - value
                for lag, value in zip(self._lags, kept)
            ]
            apart = np.nan_to_num(_short_share(trial, low, step_s) - short)
            return float(np.mean(np.square(curve)) + apart**2)

        bounds = ((0.5, 0.999), (log(step_s), log(30 * DAY_S)))
        fits = [
            scipy.optimize.minimize(missed, start, method="Nelder-Mead", bounds=bounds)
            for start in product((0.6, 0.85), (log(6 * HOUR_S), log(30 * HOUR_S)))
        ]
        best = holding(*min(fits, key=lambda value: float(value.fun)).x)
        return best if best.switch_s < best.persistence_s else self.one_scale()

    def tells_more(self, one: Holding, other: Holding) -> list[float]:
        """Return, per day, how much better model `one` predicts than model `other`.

        This is the mean log-likelihood ratio, over lags, of the statuses after each
        poll.
        """
        gains, ends, step_s = [], self._ends, self._polls.step_s
        for lag in self._lags:
            first, h, later, status, then = self._pairs(lag)
            least = np.maximum(ends[h, status], ends[later, then])
            most = np.minimum(ends[h, status + 1], ends[later, then + 1])
            held = np.maximum(most - least, 0) / (ends[h, status + 1] - ends[h, status])
            fresh = ends[later, then + 1] - ends[later, then]
            more, less = (
                np.maximum(w * held + (1 - w) * fresh, 1e-9)
                for w in (holding.kept(0, lag * step_s) for holding in (one, other))
            )
            day = self._polls.time_s // DAY_S
            days = int(self._polls.time_s[-1] // DAY_S) + 1
            sums, pairs = (
                np.bincount(day[first].astype(int), weights, days)
                for weights in (np.log(more / less), None)
            )
            gains.append(np.where(pairs > 0, sums / np.maximum(pairs, 1), nan))
        by_day = np.mean(gains, axis=0)
        return by_day[np.isfinite(by_day)].tolist()  # type: ignore[no-any-return]


def _short_share(holding: Holding, low: float, step_s: float) -> float:
    """Return the model's share of runs of up to 15 minutes, or NaN."""
    state, there, is_low = holding.chain(low, step_s)
    ends = longer = 0.0
    for inside in (is_low, ~is_low):
        enters = state[~inside] @ there[np.ix_(~inside, inside)]
        goes_on = np.linalg.matrix_power(
            there[np.ix_(inside, inside)], int(SHORT_S / step_s)
        )
        ends, longer = ends + enters.sum(), longer + (enters @ goes_on).sum()
    return float(1 - longer / ends) if ends > 1e-12 and step_s <= SHORT_S else nan


def fit_stock(snapshots: Snapshots) -> StockFit:
    """Fit the stock model to at least two days of snapshots of a type.

    Raises InputError for shorter series, or if snapshots are more than one hour apart,
    as lags of up to two hours determine the persistence.
    """
    polls, name = Polls(snapshots), snapshots.gpu
    known, last_s = int(polls.seen.sum()), float(polls.time_s[-1])
    require(known > 0, f"snapshots of {name} that were fetched", known, "at least one")
    length, allowed = f"{last_s / HOUR_S:.1f} h", "at least 48 h for a fit"
    require(
        last_s + polls.step_s >= LEAST_S,
        f"length of the series of {name}",
        length,
        allowed,
    )
    step, allowed = f"{polls.step_s:.0f} s", "at most 3600 s for a fit"
    enough = polls.step_s <= FITTED_S / 2
    require(enough, f"time between snapshots of {name}", step, allowed)
    two, later = _two_scales_tell_more(polls), None
    early = snapshots.time_s < snapshots.time_s[-1] / 2
    first, second = polls.among(early), polls.among(~early)
    if last_s >= 2 * LEAST_S and first.seen.any() and second.seen.any():
        later = StockFit(second, _fitted(first, two))
    return StockFit(polls, _fitted(polls, two), later)


def _fitted(polls: Polls, two: bool) -> HourlyStock:
    model = PolledModel(polls, _chances(polls))
    holding = model.two_scales() if two else model.one_scale()
    chances = tuple((high, medium, low) for high, medium, low in model.chances.tolist())
    return HourlyStock(polls.snapshots.gpu, chances, **holding._asdict())


def _two_scales_tell_more(polls: Polls) -> bool:
    """Return whether two scales, fitted to every other day, predict others better."""
    even = polls.snapshots.time_s // DAY_S % 2 == 0
    days = [polls.among(even), polls.among(~even)]
    if not all(half.seen.any() for half in days):
        return False
    one, other = (PolledModel(half, _chances(half)) for half in days)
    more = [
        *other.tells_more(one.two_scales(), one.one_scale()),
        *one.tells_more(other.two_scales(), other.one_scale()),
    ]
    return mean(more, ONE_ERROR).low > 0


def _chances(polls: Polls) -> Floats:
    """Return the statuses' shares per hour, 24 x 3; overall shares for unseen hours."""
    rows = []
    for hour in range(24):
        statuses = polls.status[polls.seen & (polls.hour == hour)]
        shares = (
            [float(np.mean(statuses == status)) for status in (0, 1)]
            if len(statuses)
            else polls.shares
        )
        high = round(shares[0], 4)
        # both shares may be rounded up
        medium = min(round(shares[1], 4), round(1 - high, 4))
        rows.append((high, medium, max(0.0, round(1 - high - medium, 4))))
    return np.array(rows)


def measured(*paths: str | Path) -> Measured:
    """Read a market from files.

    paths: one file of models (.toml, as written by `cgrsp market fit --out`), or files
    of snapshots in any format of `read_market`. Snapshots are replayed, and schedulers
    know the model fitted to them. Raises InputError with the file's name for a wrong
    format or repeated types.
    """
    require(len(paths) > 0, "market", paths, "at least one file")
    if any(Path(path).suffix == ".toml" for path in paths):
        require(
            len(paths) == 1,
            "market",
            [str(path) for path in paths],
            "one file of models",
        )
        return _of_toml(Path(paths[0]))
    listed = snapshots_of(paths)
    fits = [fit_stock(series) for series in listed]
    return Measured(tuple(fit.stock for fit in fits), _prices(fits), series_of(listed))


def snapshots_of(paths: Iterable[str | Path]) -> list[Snapshots]:
    """Read the series of several files; InputError for a repeated type."""
    listed = [series for path in paths for series in read_market(path)]
    names = [series.gpu for series in listed]
    require(len(set(names)) == len(names), "types of the market", names, "different")
    return listed


def _prices(fits: Iterable[StockFit]) -> dict[str, float]:
    prices = {fit.stock.gpu: fit.polls.price_usd_per_h for fit in fits}
    return {name: price for name, price in prices.items() if not isnan(price)}


def measured_toml(fits: Sequence[StockFit]) -> str:
    """Return fitted models and median prices as TOML text, for `measured`."""
    stock = [table_of(fit.stock) for fit in fits]
    prices = [
        {"gpu": name, "usd_per_h": price} for name, price in _prices(fits).items()
    ]
    return toml_text({"stock": stock, "price": prices} if prices else {"stock": stock})


def _of_toml(path: Path) -> Measured:
    with faults_of(path):
        content = read_toml(path)
        check_keys("the file", content, ("stock", "price"))
        stock = tuple(
            make(HourlyStock, entry, "[[stock]]") for entry in entries(content, "stock")
        )
        require(len(stock) > 0, "[[stock]]", 0, "at least one table")
        prices = {}
        for table in entries(content, "price"):
            check_keys("[[price]]", table, ("gpu", "usd_per_h"))
            name, price = table.get("gpu"), table.get("usd_per_h")
            require(
                isinstance(name, str), "gpu of [[price]]", name, "a GPU type's name"
            )
            check_number(f"usd_per_h of {name}", price, least=0)
            prices[str(name)] = float(price)  # type: ignore[arg-type]  # checked
        return Measured(stock, prices)


# ---- replay ----


def series_of(listed: Iterable[Snapshots]) -> tuple[StockSeries, ...]:
    """Return recorded series for a replay; time 0 is the first snapshot of any series.

    All series repeat after the latest snapshot. A status applies until the
    next fetched one; the first also applies before its time, the last until the end.
    Without dates, hours of the day count from the beginning of the file.
    """
    listed = list(listed)
    starts = [series.start for series in listed if series.start is not None]
    dated = len(starts) == len(listed)
    require(
        dated or not starts,
        "series",
        len(listed),
        "all with dates or all without dates",
    )
    later_s = [series.begins_s for series in listed]
    start_h = 0.0
    if dated:
        later_s = [(start - min(starts)).total_seconds() for start in starts]
        start_h = listed[later_s.index(0.0)].start_h
    length_s = max(
        float(snapshots.time_s[-1] + s + Polls(snapshots).step_s)
        for snapshots, s in zip(listed, later_s)
    )
    return tuple(
        _replayed(snapshots, s, length_s, start_h)
        for snapshots, s in zip(listed, later_s)
    )


def _replayed(
    series: Snapshots, later_s: float, length_s: float, start_h: float
) -> StockSeries:
    fetched = series.status != NOT_FETCHED
    require(
        bool(fetched.any()),
        f"series of {series.gpu}",
        "no status",
        "at least one status that was fetched",
    )
    time_s, status = series.time_s[fetched] + later_s, series.status[fetched]
    changed = np.concatenate([[True], status[1:] != status[:-1]])
    times = (0.0, *time_s[changed].tolist()[1:])
    return StockSeries(
        series.gpu, times, tuple(status[changed].tolist()), length_s, start_h
    )
