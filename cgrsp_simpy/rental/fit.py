"""A law of the stock from recorded snapshots, and how well it fits them.

The law is that of `Market`: chances of the statuses by hour of day, and a variate U that is held
and drawn anew at the epochs of a Poisson process. With x the status as a number, m(h) its mean in
hour h of the day, and o(h, h') the mean of the product that one and the same U gives in two hours,

    E x(t) x(t + lag) = w o(h, h') + (1 - w) m(h) m(h'),     w = exp(-lag / tau)

so each lag tells its w: the sum of (x - m)(x' - m') over all pairs observed, over that of o - m m'.
tau is that of least squares between these and exp(-lag / tau), each weighed by its pairs, over all
lags up to two hours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import exp, inf, log, nan

import numpy as np
import numpy.typing as npt
import scipy

from cgrsp_simpy.logs.market import NOT_FETCHED, Snapshots
from cgrsp_simpy.model.checks import require
from cgrsp_simpy.model.streams import stream
from cgrsp_simpy.rental.market import LOW, HourlyStock

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
