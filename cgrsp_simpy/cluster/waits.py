"""Forecasts of the waits of a log's jobs, from what was known at each submission.

They are for logs that no scheduler reproduces (see `replay`). Quantiles of the wait are
predicted from the work ahead in the queue, the job's size, estimate, queue and user,
the hour, and the waits known by then. Boosted trees (scikit-learn, the extra
"forecast") are fitted repeatedly on the log's past; their quantiles are scaled to cover
their shares of the latest known waits. The control is the quantiles of the last known
waits of the same size class, the integer part of log2 of the size. The size is the
number of GPUs, or of cores if no job of the log has a GPU.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import InputError, check_whole, require
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.cluster.jobs import Jobs

LEVELS = (0.05, 0.5, 0.95)
LAST = 200  # known waits of a size class, for the control
FEW = 20  # with fewer known waits of a class, those of all classes are used
EVERY = 6000  # jobs between two fits
LEARNED = 40_000  # jobs, the latest, that a fit learns from
CALIBRATED = 2000  # latest known waits that stretch the quantiles
TOGETHER = 100  # jobs that are stretched alike
LEARNED_FROM = 0.3  # first part of a log, which is not forecast
HOUR_S = 3600.0
NEEDED = 'forecasts of waits need scikit-learn: pip install ".[forecast]" in a clone'


@dataclass(frozen=True, eq=False)
class KnownWaits:
    """Information known at the submission of each job of a log, in order of submission.

    features: shape (jobs, features). control: shape (jobs, levels), quantiles of the
    last known waits of the same size class. submit_s, wait_s: submission and wait per
    job. All times in seconds.
    """

    features: Floats
    control: Floats
    submit_s: Floats
    wait_s: Floats


class _Line:
    """Sums over the waiting jobs of a size class, or over the running jobs."""

    def __init__(self) -> None:
        self.jobs = self.gpus = 0
        self.work_s = self.ends_s = 0.0
        self.ids = deque[int]()  # in order of submission; some have started

    def add(self, gpus: int, estimate_s: float, start_s: float, sign: int = 1) -> None:
        """Add a job, or remove it, if sign is -1."""
        self.jobs += sign
        self.gpus += sign * gpus
        self.work_s += sign * gpus * estimate_s
        self.ends_s += sign * gpus * (start_s + estimate_s)


class _LastWaits:
    """The last known waits of a group of jobs."""

    def __init__(self) -> None:
        self.waits_s = deque[float](maxlen=LAST)
        self._quantiles: list[float] | None = None

    def add(self, wait_s: float) -> None:
        """Add a wait that has become known."""
        self.waits_s.append(wait_s)
        self._quantiles = None

    @property
    def quantiles(self) -> list[float]:
        """Quantiles at LEVELS, as numpy.quantile computes them; 0 without waits."""
        if self._quantiles is None:
            ordered = sorted(self.waits_s) or [0.0]
            self._quantiles = []
            for level in LEVELS:
                place, part = divmod(level * (len(ordered) - 1), 1.0)
                low = ordered[int(place)]
                high = ordered[min(int(place) + 1, len(ordered) - 1)]
                self._quantiles.append(low + part * (high - low))
        return self._quantiles

    def recent(self, number: int) -> list[float]:
        """Return the latest waits, at most `number`; [0.0] if there are none."""
        return [*self.waits_s][-number:] or [0.0]


class _Queue:
    """Known state of a cluster and its queue while a log with starts is replayed."""

    def __init__(self, jobs: Jobs, starts_s: Floats, start_h: float) -> None:
        self.start_h = start_h
        self.submits_s, self.begins_s = jobs.arrival_s.tolist(), starts_s.tolist()
        self.ends_s = (starts_s + jobs.duration_s).tolist()
        self.estimates_s = jobs.estimate_s.tolist()
        only_cores = jobs.cores is not None and not jobs.gpus.any()
        self.gpus = getattr(jobs, "cores" if only_cores else "gpus").tolist()
        self.sizes = [number.bit_length() for number in self.gpus]  # 0: no GPU
        nobody = [0] * jobs.jobs
        self.users = nobody if jobs.user is None else jobs.user.tolist()
        self.queues = [*jobs.tags["queue"]] if "queue" in jobs.tags else nobody
        names = sorted({*self.queues})
        self.numbers = {queue: number for number, queue in enumerate(names)}
        self.lines = [_Line() for _ in range(max(self.sizes) + 1)]
        self.running, self.started = _Line(), [False] * jobs.jobs
        self.of_kind = Counter[Hashable]()  # waiting jobs by queue and by user
        self.last: dict[Hashable, _LastWaits] = {}
        self.starts_s = deque[float]()  # starts within the last hour
        # time, whether it is a start, job
        self.events: list[tuple[float, bool, int]] = []

    def kinds(self, job: int) -> tuple[Hashable, Hashable]:
        """Return the queue and the user of a job, as keys."""
        return ("queue", self.queues[job]), ("user", self.users[job])

    def submit(self, job: int) -> None:
        """Add a job to the queue until its recorded start."""
        line = self.lines[self.sizes[job]]
        line.add(self.gpus[job], self.estimates_s[job], 0.0)
        line.ids.append(job)
        self.of_kind.update(self.kinds(job))
        heappush(self.events, (self.begins_s[job], True, job))

    def advance(self, now_s: float) -> None:
        """Carry out all starts and ends up to a time."""
        while self.events and self.events[0][0] <= now_s:
            at_s, is_start, job = heappop(self.events)
            if is_start:
                self._start(job, at_s)
            else:
                estimate_s, begin_s = self.estimates_s[job], self.begins_s[job]
                self.running.add(self.gpus[job], estimate_s, begin_s, -1)
        while self.starts_s and self.starts_s[0] < now_s - HOUR_S:
            self.starts_s.popleft()
        for line in self.lines:
            while line.ids and self.started[line.ids[0]]:
                line.ids.popleft()

    def _start(self, job: int, at_s: float) -> None:
        size, estimate_s = self.gpus[job], self.estimates_s[job]
        self.lines[self.sizes[job]].add(size, estimate_s, 0.0, -1)
        self.running.add(size, estimate_s, at_s)
        heappush(self.events, (self.ends_s[job], False, job))
        self.started[job] = True
        self.starts_s.append(at_s)
        kinds = self.kinds(job)
        self.of_kind.subtract(kinds)
        for key in ("all", self.sizes[job], *kinds):
            self.last.setdefault(key, _LastWaits()).add(at_s - self.submits_s[job])

    def last_waits(self, key: Hashable) -> _LastWaits:
        """Return the last known waits of a size class, queue or user, or of all."""
        return self.last.get(key, _LastWaits())

    def quantiles(self, job: int) -> list[float]:
        """Return the last known waits of a job's size class, if there are enough."""
        same_size = self.last_waits(self.sizes[job])
        few = len(same_size.waits_s) < FEW
        return (self.last.get("all", same_size) if few else same_size).quantiles

    def features(self, job: int, now_s: float) -> list[float]:
        """Return what is known at the submission of a job."""
        size, (queue, user) = self.sizes[job], self.kinds(job)
        line, larger, running = self.lines[size], self.lines[size:], self.running
        oldest_s = [
            now_s - self.submits_s[line.ids[0]] if line.ids else 0.0
            for line in self.lines
        ]
        recent_s = self.last_waits(size).recent(9)
        of_queue_s = self.last_waits(queue).recent(LAST)
        hour = self.start_h + now_s / HOUR_S
        return [
            size - 1,
            self.estimates_s[job],
            self.numbers[self.queues[job]],
            hour % 24,
            hour // 24 % 7,
            sum(group.jobs for group in self.lines),
            sum(group.gpus for group in self.lines),
            summed(group.work_s for group in self.lines),
            line.jobs,
            line.work_s,
            sum(group.jobs for group in larger),
            summed(group.work_s for group in larger),
            self.of_kind[queue],
            self.of_kind[user],
            running.jobs,
            running.gpus,
            max(0.0, running.ends_s - now_s * running.gpus),
            max(oldest_s),
            oldest_s[size],
            *self.quantiles(job),
            sorted(recent_s)[len(recent_s) // 2],
            recent_s[-1],
            summed(of_queue_s) / len(of_queue_s),
            of_queue_s[-1],
            self.last_waits(user).recent(1)[0],
            len(self.starts_s),
            now_s - self.starts_s[-1] if self.starts_s else HOUR_S,
        ]


def known_waits(jobs: Jobs, start_h: float = 0.0) -> KnownWaits:
    """Return what was known at the submission of each job with a recorded start.

    start_h: hour of day at time 0. Raises InputError for a log without starts.
    """
    starts = np.full(jobs.jobs, np.nan) if jobs.start_s is None else jobs.start_s
    recorded = np.flatnonzero(~np.isnan(starts))
    require(
        len(recorded) > 0,
        "jobs with a start",
        len(recorded),
        "at least 1, but the log records no waits",
    )
    jobs, starts_s = jobs.chosen(recorded, jobs.name), starts[recorded]
    queue, features, control = _Queue(jobs, starts_s, start_h), [], []
    for job, now_s in enumerate(queue.submits_s):
        queue.advance(now_s)
        features.append(queue.features(job, now_s))
        control.append(queue.quantiles(job))
        queue.submit(job)
    waits_s = starts_s - jobs.arrival_s
    return KnownWaits(np.array(features), np.array(control), jobs.arrival_s, waits_s)


def rolling_forecast(known: KnownWaits, first: int) -> Floats:
    """Return predicted quantiles of the wait at LEVELS, seconds, for jobs from `first`
    on.

    Shape (jobs - first, levels); a row uses what was known at the submission. first:
    number of jobs, at least 1, only used for fitting. Raises InputError without
    scikit-learn, and for a log of fewer jobs.
    """
    jobs = len(known.wait_s)
    check_whole("first", first, least=1, most=jobs - 1)
    starts_s = known.submit_s + known.wait_s
    raw = np.zeros((jobs, len(LEVELS)))
    for begin in range(first, jobs, EVERY):
        before = np.flatnonzero(starts_s[:begin] <= known.submit_s[begin])[-LEARNED:]
        require(
            len(before) > 0,
            "first",
            first,
            "the number of a job before whose submission other jobs have started",
        )
        end = min(begin + EVERY, jobs)
        for place, level in enumerate(LEVELS):
            model = _model(level)
            model.fit(known.features[before], known.wait_s[before])
            raw[begin:end, place] = model.predict(known.features[begin:end])
    return _stretched(known, np.sort(np.maximum(raw, 0.0), axis=1), first)[first:]


def _model(level: float) -> Any:
    """Return an unfitted model of a quantile."""
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor
    except ImportError:
        raise InputError(NEEDED) from None
    return HistGradientBoostingRegressor(
        loss="quantile",
        quantile=level,
        max_iter=150,
        learning_rate=0.08,
        min_samples_leaf=50,
        early_stopping=False,
        random_state=0,
    )


def _stretched(known: KnownWaits, raw: Floats, first: int) -> Floats:
    """Return the quantiles with a scaled lowest and highest quantile.

    The factors are those with which these quantiles would have had their nominal
    coverage of the latest known waits.
    """
    starts_s, wait_s = known.submit_s + known.wait_s, known.wait_s
    by_start = first + np.argsort(starts_s[first:], kind="stable")
    ordered_s, stretched = starts_s[by_start], raw.copy()
    for begin in range(first, len(raw), TOGETHER):
        number = int(np.searchsorted(ordered_s, known.submit_s[begin], "right"))
        latest = by_start[max(0, number - CALIBRATED) : number]
        if len(latest) < CALIBRATED / 4:
            continue
        for place in (0, -1):
            # plus 1 s, because most waits are 0 s or a few seconds
            ratios = (1.0 + wait_s[latest]) / (1.0 + raw[latest, place])
            factor = float(np.quantile(ratios, LEVELS[place]))
            part = raw[begin : begin + TOGETHER, place]
            stretched[begin : begin + TOGETHER, place] = (1.0 + part) * factor - 1.0
    return np.sort(np.maximum(stretched, 0.0), axis=1)


def pinball_s(wait_s: Floats, quantiles_s: Floats) -> float:
    """Return the mean pinball loss of quantiles at LEVELS, seconds."""
    over_s, levels = wait_s[:, None] - quantiles_s, np.array(LEVELS)
    return float(np.maximum(levels * over_s, (levels - 1.0) * over_s).mean())


def coverage(wait_s: Floats, quantiles_s: Floats) -> float:
    """Return the share of waits between the lowest and the highest quantile."""
    inside = (quantiles_s[:, 0] <= wait_s) & (wait_s <= quantiles_s[:, -1])
    return float(inside.mean())
