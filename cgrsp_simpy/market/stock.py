"""Stock during a run: actual statuses, and those that schedulers see."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import ceil, inf

from numpy.random import Generator

from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.market.gpu import GpuType
from cgrsp_simpy.market.model import LOW, Market, Status, StockSeries

DAY_S = 86400.0  # seconds of a day
DRAWN = 256  # epochs that are drawn together
MOST_COURSES = 2_000  # attempts to draw a stock path that agrees


def last_poll_s(now_s: float, poll_s: float) -> float:
    """Return the time of the last of regular polls; now, if poll_s is 0."""
    if not poll_s:
        return now_s
    poll = round(now_s / poll_s)  # or the next one
    return (poll - (poll * poll_s > now_s)) * poll_s


class Stock:
    """The stock of each type over a run; it depends only on the seed.

    seed: seed of the streams "market TYPE", and of "market start", which determines the
    start of a replay: any second, or, if the series have hours of day, the clock's hour
    on one of their days.
    """

    def __init__(self, market: Market, seed: int) -> None:
        self.market, self._seed = market, seed
        self._paths: dict[str, _Held | _Replayed | None] = {}
        self._shortages: dict[str, tuple[Iterator[float], list[float]]] = {}
        self._start_s = start_s(market, seed)
        if not market.persists:
            # each job's own draw
            self.status = market.status  # type: ignore[method-assign]

    def status(self, gpu: GpuType, time_s: float, uniform: float) -> Status:
        """Return the status at a dispatch, the same for all slots of a type.

        time_s: seconds. uniform: the job's variate, used for a type whose stock does
        not persist (thesis Eq. 3.1).
        """
        path = self._path(gpu)
        return (
            self.market.status(gpu, time_s, uniform)
            if path is None
            else path.status(time_s)
        )

    def persists(self, gpu: GpuType) -> bool:
        """Return whether the stock of a type persists, or is replayed."""
        return self._path(gpu) is not None

    def seen_s(self, gpu: GpuType, now_s: float) -> float | None:
        """Return when a type was last polled, seconds; None if it is never polled."""
        if (poll_s := self.market.poll_s) is None or self._path(gpu) is None:
            return None
        return last_poll_s(now_s, poll_s)

    def redraw(
        self, gpu: GpuType, misses: Callable[[Callable[[float], Status]], int]
    ) -> None:
        """Draw a type's persistent stock again until it agrees with observations.

        If none of MOST_COURSES agrees, that with the fewest mismatches is used. misses:
        number of mismatches of a course (time in seconds -> status).
        """
        least = inf
        for number in range(MOST_COURSES if self.persists(gpu) else 0):
            path = _Held(self.market, gpu, self._seed, number)
            missed = misses(path.status)
            if missed < least:
                least, self._paths[gpu.name] = missed, path
            if not missed:
                return

    def changes_s(self, gpu: GpuType, after_s: float, before_s: float) -> list[float]:
        """Return possible times of a status change between two times, seconds."""
        path = self._path(gpu)
        if isinstance(path, _Replayed):
            return path.changes_s(after_s, before_s)
        epochs_s = path.changes_s(after_s, before_s) if path else []
        return sorted({*epochs_s, *law_changes_s(self.market, after_s, before_s)})

    def runs_out_s(self, gpu: GpuType, after_s: float) -> float:
        """Return when a persistent type next becomes Low, seconds; inf if never."""
        if gpu.name not in self._shortages:
            self._shortages[gpu.name] = self._drawn_shortages_s(gpu), []
        later, times_s = self._shortages[gpu.name]
        while not times_s or times_s[-1] <= after_s:
            times_s.append(next(later))
        return times_s[bisect_right(times_s, after_s)]

    def _drawn_shortages_s(self, gpu: GpuType) -> Iterator[float]:
        """Yield the times at which a type's stock becomes Low, day by day; then inf."""
        path, begin_s, was_low = self._path(gpu), 0.0, True
        assert path is not None
        while path.runs_out:
            days_end_s = begin_s + DAY_S
            edges = [begin_s, *self.changes_s(gpu, begin_s, days_end_s), days_end_s]
            for from_s, to_s in pairwise(edges):
                is_low = path.status((from_s + to_s) / 2) == LOW
                if is_low and not was_low:
                    yield from_s
                was_low = is_low
            begin_s = days_end_s
        while True:
            yield inf

    def _path(self, gpu: GpuType) -> _Held | _Replayed | None:
        """Return the course of a type's stock; None if it is drawn per dispatch."""
        if gpu.name not in self._paths:
            self._paths[gpu.name] = self._made(gpu)
        return self._paths[gpu.name]

    def _made(self, gpu: GpuType) -> _Held | _Replayed | None:
        for series in self.market.series:
            if series.gpu == gpu.name:
                return _Replayed(series, self._start_s)
        persists = self.market.holding(gpu.name).persistence_s > 0
        return _Held(self.market, gpu, self._seed) if persists else None


class _Held:
    """The persistent variate U(t) of a type; see the module `model`."""

    def __init__(self, market: Market, gpu: GpuType, seed: int, *numbers: int) -> None:
        self._market, self._gpu = market, gpu
        self._own, name = market.holding(gpu.name), f"market {gpu.name}"

        def level(kind: str, mean_s: float) -> _Level:
            return _Level(stream(seed, f"{name}{kind}", *numbers), mean_s)

        self._levels = [level("", self._own.persistence_s)]
        if self._own.switch_s:  # second level, and which of the two is shown
            self._levels.append(level(" second", self._own.persistence_s))
            self._levels.append(level(" shown", self._own.switch_s))
        times_s = (0.0, *law_changes_s(market, 0.0, DAY_S))
        low = [market.probabilities(gpu, at_s)[LOW] for at_s in times_s]
        # whether it becomes Low again and again
        self.runs_out = any(low) and min(low) < 1

    def status(self, time_s: float) -> Status:
        """Return the status by thesis Eq. 3.1 at the clock's hour and U(t)."""
        two, at_s = len(self._levels) > 1, self._own.polled_s(time_s)
        shown = two and self._levels[2].at(at_s) >= self._own.first_share
        return self._market.status(self._gpu, time_s, self._levels[shown].at(at_s))

    def changes_s(self, after_s: float, before_s: float) -> list[float]:
        """Return the redraws between two times; if polled, the next poll of each."""
        every_s, from_s = self._own.every_s, self._own.polled_s(after_s)
        times_s = [
            at_s for level in self._levels for at_s in level.epochs_s(from_s, before_s)
        ]
        if every_s:
            times_s = [float(ceil(at_s / every_s) * every_s) for at_s in times_s]
        return [at_s for at_s in times_s if after_s < at_s < before_s]


class _Level:
    """A uniform variate that is drawn again at the events of a Poisson process."""

    def __init__(self, generator: Generator, mean_s: float) -> None:
        self._mean_s, self._rng = mean_s, generator
        self._epochs_s, self._uniforms = [0.0], [float(self._rng.random())]

    def at(self, time_s: float) -> float:
        self._draw_until(time_s)
        return self._uniforms[bisect_right(self._epochs_s, time_s) - 1]

    def epochs_s(self, after_s: float, before_s: float) -> list[float]:
        self._draw_until(before_s)
        epochs_s = self._epochs_s
        return epochs_s[
            bisect_right(epochs_s, after_s) : bisect_left(epochs_s, before_s)
        ]

    def _draw_until(self, time_s: float) -> None:
        while self._epochs_s[-1] <= time_s:
            gaps_s = self._rng.exponential(self._mean_s, DRAWN)
            self._epochs_s += (self._epochs_s[-1] + gaps_s.cumsum()).tolist()
            self._uniforms += self._rng.random(DRAWN).tolist()


class _Replayed:
    """A recorded series, replayed from `start_s` on."""

    def __init__(self, series: StockSeries, start_s: float) -> None:
        self._series, self._start_s = series, start_s
        self.runs_out = 0 < series.longest_s < inf

    def status(self, time_s: float) -> Status:
        return self._series.status(self._start_s + time_s)

    def changes_s(self, after_s: float, before_s: float) -> list[float]:
        start_s = self._start_s
        times_s = self._series.changes_s(start_s + after_s, start_s + before_s)
        return [time_s - start_s for time_s in times_s]


def start_s(market: Market, seed: int) -> float:
    """Return the second of the recorded series at which a seed's run begins."""
    if not market.series:
        return 0.0
    longest = max(market.series, key=lambda series: series.length_s)
    uniform = float(stream(seed, "market start").random())
    if longest.start_h is None:
        return uniform * longest.length_s
    to_hour_s = (market.clock.start_h - longest.start_h) % 24 * 3600
    days = max(1, int((longest.length_s - to_hour_s) // DAY_S))
    return to_hour_s + int(uniform * days) * DAY_S


def law_changes_s(market: Market, after_s: float, before_s: float) -> list[float]:
    """Return when the model's distribution changes between two times, in order of
    time, never early.
    """
    changes_s = []
    for day in range(int(after_s // DAY_S), int(before_s // DAY_S) + 1):
        for hour in market.change_hours:
            change_s = (hour - market.clock.start_h) % 24 * 3600 + day * DAY_S
            same = market.band(change_s) == market.band(change_s + 1e-9)
            changes_s.append(change_s if same else change_s + 1e-9)
    return sorted(at_s for at_s in changes_s if after_s < at_s < before_s)
