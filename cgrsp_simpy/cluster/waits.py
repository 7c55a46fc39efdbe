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
FEW = 20  # below so many known waits of a class, those of all classes are taken
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
    jobs = jobs.chosen(recorded, jobs.name)
    assert jobs.start_s is not None
    submits_s, begins_s = jobs.arrival_s.tolist(), jobs.start_s.tolist()
    ends_s = (jobs.start_s + jobs.duration_s).tolist()
    only_cores = jobs.cores is not None and not jobs.gpus.any()
    gpus = getattr(jobs, "cores" if only_cores else "gpus").tolist()
    estimates_s = jobs.estimate_s.tolist()
    nobody = [0] * len(gpus)
    users = nobody if jobs.user is None else jobs.user.tolist()
    queues = [*jobs.tags["queue"]] if "queue" in jobs.tags else nobody
    numbers = {queue: number for number, queue in enumerate(sorted({*queues}))}
    sizes = [number.bit_length() for number in gpus]  # 0: no GPU
    lines = [_Line() for _ in range(max(sizes) + 1)]
    running, started = _Line(), [False] * len(gpus)
    of_kind = Counter[Hashable]()  # waiting jobs by queue and by user
    last: dict[Hashable, _LastWaits] = {}
    starts_s = deque[float]()
    events: list[tuple[float, bool, int]] = []  # time, whether it is a start, job
    rows, control = [], []
    for job, now_s in enumerate(submits_s):
        queue, user = ("queue", queues[job]), ("user", users[job])
        while events and events[0][0] <= now_s:
            at_s, is_start, other = heappop(events)
            size, estimate_s = gpus[other], estimates_s[other]
            if not is_start:
                running.add(size, estimate_s, begins_s[other], -1)
                continue
            lines[sizes[other]].add(size, estimate_s, 0.0, -1)
            running.add(size, estimate_s, at_s)
            heappush(events, (ends_s[other], False, other))
            started[other] = True
            starts_s.append(at_s)
            kinds = ("queue", queues[other]), ("user", users[other])
            of_kind.subtract(kinds)
            for key in ("all", sizes[other], *kinds):
                last.setdefault(key, _LastWaits()).add(at_s - submits_s[other])
        while starts_s and starts_s[0] < now_s - HOUR_S:
            starts_s.popleft()
        ages_s = []
        for line in lines:
            while line.ids and started[line.ids[0]]:
                line.ids.popleft()
            ages_s.append(now_s - submits_s[line.ids[0]] if line.ids else 0.0)
        same_size = last.get(sizes[job], _LastWaits())
        few = len(same_size.waits_s) < FEW
        of_class = last.get("all", same_size) if few else same_size
        line, larger = lines[sizes[job]], lines[sizes[job] :]
        of_queue = last.get(queue, _LastWaits()).recent(LAST)
        hour = start_h + now_s / HOUR_S
        rows.append(
            (
                *(sizes[job] - 1, estimates_s[job], numbers[queues[job]]),
                *(hour % 24, hour // 24 % 7),
                *(
                    sum(group.jobs for group in lines),
                    sum(group.gpus for group in lines),
                ),
                *(summed(group.work_s for group in lines), line.jobs, line.work_s),
                *(sum(group.jobs for group in larger),),
                *(summed(group.work_s for group in larger),),
                *(of_kind[queue], of_kind[user], running.jobs, running.gpus),
                *(max(0.0, running.ends_s - now_s * running.gpus),),
                *(max(ages_s), ages_s[sizes[job]], *of_class.quantiles),
                *(
                    sorted(same_size.recent(9))[len(same_size.recent(9)) // 2],
                    same_size.recent(1)[0],
                ),
                *(summed(of_queue) / len(of_queue), of_queue[-1]),
                *(last.get(user, _LastWaits()).recent(1)[0], len(starts_s)),
                *(now_s - starts_s[-1] if starts_s else HOUR_S,),
            )
        )
        control.append(of_class.quantiles)
        line.add(gpus[job], estimates_s[job], 0.0)
        line.ids.append(job)
        of_kind.update((queue, user))
        heappush(events, (begins_s[job], True, job))
    return KnownWaits(
        np.array(rows, float),
        np.array(control),
        jobs.arrival_s,
        jobs.start_s - jobs.arrival_s,
    )


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
    raw = np.sort(np.maximum(raw, 0.0), axis=1)
    return _stretched(known, raw, first)[first:]


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
    """Return the quantiles with the lowest and highest multiplied by the factors that
    would have made them cover their shares of the latest known waits.
    """
    starts_s, wait_s = known.submit_s + known.wait_s, known.wait_s
    by_start = first + np.argsort(starts_s[first:], kind="stable")
    ordered_s, stretched = starts_s[by_start], raw.copy()
    for begin in range(first, len(raw), TOGETHER):
        number = int(np.searchsorted(ordered_s, known.submit_s[begin], "right"))
        latest = by_start[max(0, number - CALIBRATED) : number]
        if len(latest) < CALIBRATED // 4:
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
