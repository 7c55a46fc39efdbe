"""Workloads: jobs in order of submission with hidden draws, from a seed or a log."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import islice, repeat
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar, Unpack

import numpy as np

from cgrsp_simpy import logs
from cgrsp_simpy.base.checks import (
    InputError,
    check_number,
    require,
    shown,
)
from cgrsp_simpy.base.parameters import (
    Count,
    Entries,
    Hour,
    NotNegative,
    Positive,
    Shares,
    checked,
    declared,
    limits,
    parameter,
    rule,
)
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.base.table import many
from cgrsp_simpy.logs import NO_TIME, Log, Reading, Tags
from cgrsp_simpy.rental.job import (
    HOURS,
    TWO,
    WEEK,
    ArrivalRates,
    CheckedDeadlines,
    ClassColumns,
    Day,
    DeadlineClass,
    DeadlineClasses,
    Deadlines,
    Draws,
    Job,
    Service,
    check_job,
    classes_of,
)

T = TypeVar("T")
Columns = tuple[np.ndarray, ...]
CHUNK = 4096  # jobs generated at a time; the draws do not depend on it
COMPLEXITY_MIX = (0.4, 0.4, 0.2)  # thesis Section 4.4

# Arrival rate in jobs per second and number of jobs, thesis Section 5.1.1.
DAYS: dict[str, tuple[float, int]] = {
    "quiet": (0.0008, 6),
    "normal": (0.002, 100),
    "hectic": (0.100, 950),
    "surge": (0.020, 730),
}


class Workload(Protocol):
    """Interface of a workload for the engine and the schedulers."""

    @property
    def jobs(self) -> int:
        """Number of jobs."""

    @property
    def rate_per_s(self) -> float:
        """Mean arrival rate, jobs per second."""

    @property
    def mix(self) -> tuple[float, ...]:
        """Share of jobs by complexity 1, 2, ..."""

    @property
    def classes(self) -> tuple[DeadlineClass, ...]:
        """Deadline classes by index, as in `Job.deadline_class`, with their shares."""

    @property
    def gpus_per_job(self) -> float:
        """Mean number of slots that a job holds."""

    def generate(self, seed: int, service: Service) -> Iterator[tuple[Job, Draws]]:
        """Yield the jobs in order of submission, each with its draws."""


class _HiddenDraws:
    """The hidden draws of the jobs of a seed, in order of submission."""

    def __init__(self, seed: int, service: Service) -> None:
        self._service = service
        self._status, self._delay, self._factor = (
            stream(seed, name) for name in ("status", "delay", "service")
        )

    def take(self, complexity: np.ndarray, factors: Any = None) -> Columns:
        """Return draws for the next jobs; measured factors replace random ones."""
        number = len(complexity)
        if factors is None:
            factors = self._service.factors(self._factor, complexity)
        return (
            self._status.random(number),
            self._delay.random(number),
            np.asarray(factors),
        )


class Drawn:
    """The jobs of a seed, as pairs with their draws or as columns."""

    def __init__(self, workload: Workload, service: Service, seed: int) -> None:
        self._what = workload, service, seed

    def __iter__(self) -> Iterator[tuple[float, Job, Draws]]:
        return iter(self._jobs)

    @cached_property
    def _jobs(self) -> list[tuple[float, Job, Draws]]:
        workload, service, seed = self._what
        return [
            (job.submit_s, job, draws)
            for job, draws in workload.generate(seed, service)
        ]

    @cached_property
    def columns(self) -> list[Columns]:
        """Blocks of jobs, as yielded by a workload's `columns`."""
        workload, service, seed = self._what
        return list(workload.columns(seed, service))  # type: ignore[attr-defined]

    def redrawn(self, seed: int) -> Drawn:
        """Return the same jobs with another seed's draws, except measured factors."""
        workload, service, _ = self._what
        submit_s, jobs, draws = zip(*self._jobs)
        columns = [np.array(column) for column in zip(*jobs)]
        measured = isinstance(workload, LoggedWorkload)
        factors = [values.service for values in draws] if measured else None
        drawn = _HiddenDraws(seed, service).take(columns[3], factors)
        copy = Drawn(*self._what)
        copy.columns = [(*columns, *drawn)]
        copy._jobs = list(zip(submit_s, jobs, _named_tuples(Draws, drawn)))
        return copy


def _named_tuples(kind: type[T], columns: Columns) -> Iterator[T]:
    """Yield named tuples from columns of all their fields, in C for speed."""
    rows = zip(*[column.tolist() for column in columns])
    return map(tuple.__new__, repeat(kind), rows)  # type: ignore[arg-type]


class _OfColumns:
    """Base class of workloads whose jobs are created from columns."""

    def columns(self, seed: int, service: Service) -> Iterator[Columns]:
        """Yield blocks of jobs: the columns of Job, then those of Draws."""
        raise NotImplementedError

    def generate(self, seed: int, service: Service) -> Iterator[tuple[Job, Draws]]:
        """Yield the jobs in order of submission, each with its draws."""
        fields_of_job = len(Job._fields)
        for columns in self.columns(seed, service):
            yield from zip(
                _named_tuples(Job, columns[:fields_of_job]),
                _named_tuples(Draws, columns[fields_of_job:]),
            )


Submissions = Callable[[int], np.ndarray]
"""Function from a number of further jobs to their submission times, in seconds."""


def _summed_gaps(seed: int, mean: float) -> Submissions:
    """Return a source of Poisson arrival times with a mean interarrival time."""
    arrivals, last = stream(seed, "arrivals"), 0.0

    def more(number: int) -> np.ndarray:
        nonlocal last
        gaps = arrivals.exponential(mean, number)
        gaps[0] += last
        epochs: np.ndarray = np.cumsum(gaps)
        last = epochs[-1]
        return epochs

    return more


MIX = "Shares of complexity 1, 2, ..., unless the deadline class has its own."
CLASSES = (
    "The thesis's two classes, or a list of any number of classes; their order is the"
    " index."
)


class _DrawnJobs(_OfColumns):
    """Random jobs, whose complexity may depend on the deadline class only."""

    jobs: int
    complexity_mix: tuple[float, ...]
    deadlines: Deadlines
    gpus_per_job = 1.0

    def __post_init__(self) -> None:
        levels = len(self.complexity_mix)
        allowed = f"{many(levels, 'share')}, as many as the workload has"
        for part in self.classes:
            mix = part.complexity_mix
            require(
                mix is None or len(mix) == levels,
                f"complexity_mix of class {part.name}",
                mix,
                allowed,
            )
        rate = self.rate_per_s  # type: ignore[attr-defined]  # of either class
        check_number("mean of the arrival rates per second", rate, above=0)
        check_number(f"jobs / rate_per_s(={rate!r})", self.jobs / rate)

    @property
    def mix(self) -> tuple[float, ...]:
        """Share of jobs by complexity."""
        if all(part.complexity_mix is None for part in self.classes):
            return self.complexity_mix
        return tuple(
            np.dot([part.share for part in self.classes], self._mixes()).tolist()
        )

    def _mixes(self) -> np.ndarray:
        """Return the complexity mixes of the classes, shape (classes, levels)."""
        return np.array(
            [part.complexity_mix or self.complexity_mix for part in self.classes]
        )

    @property
    def classes(self) -> tuple[DeadlineClass, ...]:
        """Deadline classes by index."""
        return classes_of(self.deadlines)

    def _submissions(self, seed: int) -> Submissions:
        raise NotImplementedError

    def columns(self, seed: int, service: Service) -> Iterator[Columns]:
        submissions, classes = self._submissions(seed), ClassColumns(self.deadlines)
        complexities, deadlines = stream(seed, "complexity"), stream(seed, "deadlines")
        thresholds = np.cumsum(self._mixes(), axis=1)[:, :-1]
        drawn = _HiddenDraws(seed, service)
        for first in range(0, self.jobs, CHUNK):
            number = min(CHUNK, self.jobs - first)
            submit = submissions(number)
            kind = classes.drawn(deadlines.random(number))
            variates, complexity = complexities.random(number), np.ones(number, int)
            for threshold in thresholds.T:
                complexity += threshold[kind] <= variates
            ids, gpus = np.arange(first, first + number), np.ones(number, int)
            due = submit + classes.window_s[kind]
            tight = classes.tight[kind]
            jobs = ids, submit, due, complexity, tight, gpus, classes.weight[kind], kind
            yield *jobs, *drawn.take(complexity)


@declared()
class PoissonWorkload(_DrawnJobs):
    """A fixed number of jobs with exponential interarrival times.

    The first job arrives after one interarrival time. Thesis Sections 4.4 and 5.1.1.
    """

    jobs: Count = parameter("Number of jobs, >= 1.")
    rate_per_s: Positive = parameter("Arrivals per second, > 0.")
    complexity_mix: Shares = parameter(MIX, default=COMPLEXITY_MIX)
    deadlines: CheckedDeadlines = parameter(CLASSES, default_factory=DeadlineClasses)

    def _submissions(self, seed: int) -> Submissions:
        return _summed_gaps(seed, 1.0 / self.rate_per_s)


@declared()
class HourlyWorkload(_DrawnJobs):
    """As PoissonWorkload, with arrival rates by hour of day and day of week.

    The arrivals are a nonhomogeneous Poisson process: a process of rate 1 whose time is
    transformed by the inverse of the cumulative rate. With equal rates the submissions
    are those of PoissonWorkload, except for rounding.
    """

    jobs: Count = parameter(
        "Number of jobs, >= 1; arrivals continue for as many days as needed."
    )
    rates: ArrivalRates = parameter("Arrival rates, jobs per hour, per hour of day.")
    complexity_mix: Shares = parameter(MIX, default=COMPLEXITY_MIX)
    deadlines: CheckedDeadlines = parameter(CLASSES, default_factory=DeadlineClasses)

    @property
    def rate_per_s(self) -> float:
        """Mean rate over a whole day or week, jobs per second."""
        return self.rates.mean_per_s

    def _submissions(self, seed: int) -> Submissions:
        expected = _summed_gaps(seed, 1.0)
        return lambda number: self.rates.times_s(expected(number))


def _shares(complexity: Sequence[int]) -> tuple[float, ...]:
    counts = np.bincount(np.asarray(complexity))[1:]
    return tuple((counts / counts.sum()).tolist())


def _rate_per_s(jobs: int, span_s: float) -> float:
    return jobs / span_s if span_s > 0 else float("inf")


@declared()
class JobList:
    """A list of jobs with random service times.

    Raises InputError for a job that is invalid or inconsistent with the others.
    """

    # A job equals only itself; lists are equal by what is on their jobs.
    listed: Annotated[Entries[Job], rule("a list of at least one job", bool)] = (
        parameter(
            "Jobs with ids 0, 1, 2, ... in order of submission.",
            compare=False,
        )
    )
    class_names: Annotated[
        Entries[str], rule("different", lambda names: len(set(names)) == len(names))
    ] = parameter(
        "Names of the deadline classes by index. Either all jobs of a class are"
        " tight or none is.",
        default=TWO,
    )
    classes: tuple[DeadlineClass, ...] = field(init=False, repr=False, compare=False)
    _values: tuple[tuple[object, ...], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = self.class_names
        object.__setattr__(self, "_values", tuple(tuple(job) for job in self.listed))
        for job in self.listed:
            check_job(job, names)
        ids = [job.id for job in self.listed]
        require(
            ids == list(range(len(ids))),
            "ids of the jobs",
            ids,
            "0, 1, 2, ... in the order of the list",
        )
        submits = [job.submit_s for job in self.listed]
        require(
            submits == sorted(submits),
            "submissions of the jobs",
            submits,
            "in order of time",
        )
        tight = {
            index: name == "tight" for index, name in enumerate(names) if name in TWO
        }
        for job in self.listed:
            common = tight.setdefault(job.deadline_class, job.tight)
            require(
                job.tight == common,
                f"job {job.id}: tight",
                job.tight,
                f"{common}, as for all jobs of class {names[job.deadline_class]!r}",
            )
        object.__setattr__(self, "classes", self._classes(tight))

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.listed)

    @property
    def rate_per_s(self) -> float:
        """Jobs per second until the last submission; inf if all are submitted at 0."""
        return _rate_per_s(self.jobs, self.listed[-1].submit_s)

    @property
    def mix(self) -> tuple[float, ...]:
        """Share of jobs by complexity."""
        return _shares([job.complexity for job in self.listed])

    def _classes(self, tight: Mapping[int, bool]) -> tuple[DeadlineClass, ...]:
        """Return the classes by index without windows; weight None unless all are 1."""
        weight = 1.0 if all(job.weight == 1 for job in self.listed) else None
        counts = Counter(job.deadline_class for job in self.listed)
        shares = [counts[index] / self.jobs for index in range(len(self.class_names))]
        return tuple(
            DeadlineClass(name, share, None, tight.get(index, False), weight)
            for index, (name, share) in enumerate(zip(self.class_names, shares))
        )

    @property
    def gpus_per_job(self) -> float:
        """Mean number of slots that a job holds."""
        return sum(job.gpus for job in self.listed) / self.jobs

    def generate(self, seed: int, service: Service) -> Iterator[tuple[Job, Draws]]:
        """Yield the jobs, which are the same for all seeds, each with its draws."""
        [columns] = self.columns(seed, service)
        return zip(self.listed, _named_tuples(Draws, columns[len(Job._fields) :]))

    def columns(self, seed: int, service: Service) -> Iterator[Columns]:
        """Yield one block: the columns of Job, then those of Draws."""
        jobs = [np.array(column) for column in zip(*self.listed)]
        yield *jobs, *_HiddenDraws(seed, service).take(jobs[3])


ClassIndex = Annotated[int, limits("a whole number >= -1", ge=-1)]
in_order = rule("in order of time", lambda times_s: list(times_s) == sorted(times_s))


@declared()
class LoggedWorkload(_OfColumns):
    """Jobs from a log: submissions and measured times are recorded, the rest drawn.

    A scheduler does not know the times, but a size class (complexity 1, 2, 3): the
    shortest 40 %, the next 40 %, the rest (the shares of thesis Section 4.4).
    """

    submit_s: Annotated[Entries[NotNegative], in_order] = parameter(
        "Submission times, seconds since the start, non-decreasing. Like all"
        " columns, one entry per job, in order of submission.",
        repr=False,
    )
    service_s: Entries[Positive] = parameter(
        "Measured execution times on a GPU of speed 1, seconds.", repr=False
    )
    # NaN differs from NaN
    deadline_s: Entries[float] = parameter(
        "Deadlines, seconds since the start; NaN: the log has none, and that of"
        " the class applies.",
        repr=False,
        compare=False,
    )
    gpus: Entries[Count] = parameter("Number of slots per job.", repr=False)
    weight: Entries[NotNegative] = parameter(
        "Importance, >= 0; multiplied by the weight of the class.", repr=False
    )
    deadlines: CheckedDeadlines = parameter(
        "The deadline classes, as in PoissonWorkload.", default_factory=DeadlineClasses
    )
    start_h: Hour | None = parameter(
        "Hour of day at time 0; None if the log does not contain it.", default=None
    )
    origin: dict[str, Any] = parameter(
        "Arguments of `read_log`, with which a TOML file restores the workload.",
        default_factory=dict,
        hash=False,
    )
    tags: Tags = parameter(
        "Per job, the id in the log and all other columns, as strings.",
        default_factory=Tags,
        repr=False,
        compare=False,
    )
    deadline_class: Entries[ClassIndex] = parameter(
        "Index of the class per job, or -1 if the log has none; empty: -1 for all"
        " jobs. A job with -1 and its own deadline belongs to the first class"
        " whose window is at least as long, or else to the last class; for other"
        " jobs with -1, the class is drawn.",
        default=(),
        repr=False,
    )
    start_day: Day | None = parameter(
        'Day of the week at time 0, such as "Monday"; None if the log does not contain'
        " it.",
        default=None,
    )
    complexity: tuple[int, ...] = field(init=False, repr=False, compare=False)
    # deadline_s as it is compared: None for NaN
    _compared_s: tuple[float | None, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.submit_s:
            raise InputError("the log contains no usable job")
        for part in classes_of(self.deadlines):
            mix = part.complexity_mix
            require(
                mix is None,
                f"complexity_mix of class {part.name}",
                mix,
                "omitted: the jobs of a log have their own complexity",
            )
        classes = self.deadline_class or (-1,) * self.jobs
        object.__setattr__(self, "deadline_class", classes)
        last = len(classes_of(self.deadlines)) - 1
        require(
            max(classes) <= last,
            "deadline_class",
            max(classes),
            f"an index up to {last}, or -1",
        )
        for name in ("service_s", "deadline_s", "gpus", "weight", "deadline_class"):
            entries = len(getattr(self, name))
            require(
                entries == self.jobs,
                f"entries of {name}",
                entries,
                f"{self.jobs}, one per job",
            )
        for submit, due in zip(self.submit_s, self.deadline_s):
            require(
                math.isnan(due) or submit <= due < math.inf,
                "deadline_s",
                due,
                f"NaN or a time from submit_s(={submit!r}) on",
            )
        limits = np.quantile(self.service_s, np.cumsum(COMPLEXITY_MIX)[:-1])
        # Equal measured times can leave a class empty: number those that are there.
        _, ranks = np.unique(
            np.searchsorted(limits, self.service_s), return_inverse=True
        )
        object.__setattr__(self, "complexity", tuple((ranks + 1).tolist()))
        compared_s = tuple(None if math.isnan(due) else due for due in self.deadline_s)
        object.__setattr__(self, "_compared_s", compared_s)

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.submit_s)

    @property
    def rate_per_s(self) -> float:
        """Jobs per second from first to last submission; inf if all are equal."""
        return _rate_per_s(self.jobs, self.submit_s[-1] - self.submit_s[0])

    @property
    def mix(self) -> tuple[float, ...]:
        """Share of jobs by size class."""
        return _shares(self.complexity)

    @property
    def classes(self) -> tuple[DeadlineClass, ...]:
        """Deadline classes by index, with their expected shares.

        They have no window if any job has its own deadline, and no weight if any job
        has a weight other than 1.
        """
        known = self._known_class(slice(None))
        own_deadlines = not np.isnan(self.deadline_s).all()
        weighted = any(weight != 1 for weight in self.weight)
        return tuple(
            replace(
                part,
                share=float(np.where(known < 0, part.share, known == index).mean()),
                window_s=None if own_deadlines else part.window_s,
                weight=None if weighted else part.weight,
            )
            for index, part in enumerate(classes_of(self.deadlines))
        )

    @property
    def gpus_per_job(self) -> float:
        """Mean number of slots that a job holds."""
        return sum(self.gpus) / self.jobs

    def mean_service_s(self) -> tuple[float, ...]:
        """Return the mean measured seconds by size class."""
        service, level = np.asarray(self.service_s), np.asarray(self.complexity)
        return tuple(
            float(service[level == k].mean()) for k in range(1, level.max() + 1)
        )

    def _known_class(self, part: slice) -> np.ndarray:
        """Return the class index per job, -1 if the class is drawn."""
        named = np.asarray(self.deadline_class[part])
        window_s = np.asarray(self.deadline_s[part]) - np.asarray(self.submit_s[part])
        by_window = ClassColumns(self.deadlines).of_windows(window_s)
        return np.where((named < 0) & ~np.isnan(window_s), by_window, named)

    def columns(self, seed: int, service: Service) -> Iterator[Columns]:
        classes, means = ClassColumns(self.deadlines), np.asarray(self.mean_service_s())
        deadlines, drawn = stream(seed, "deadlines"), _HiddenDraws(seed, service)
        for first in range(0, self.jobs, CHUNK):
            part = slice(first, min(first + CHUNK, self.jobs))
            submit = np.asarray(self.submit_s[part])
            deadline_s = np.asarray(self.deadline_s[part])
            complexity = np.asarray(self.complexity[part])
            known = self._known_class(part)
            kind = np.where(
                known < 0, classes.drawn(deadlines.random(len(submit))), known
            )
            due = np.where(
                np.isnan(deadline_s), submit + classes.window_s[kind], deadline_s
            )
            weight = np.asarray(self.weight[part], float) * classes.weight[kind]
            factors = np.asarray(self.service_s[part]) / means[complexity - 1]
            ids, gpus = np.arange(part.start, part.stop), np.asarray(self.gpus[part])
            jobs = ids, submit, due, complexity, classes.tight[kind], gpus, weight, kind
            yield *jobs, *drawn.take(complexity, factors)


@checked
def read_log(
    path: str | Path,
    format: str | None = None,
    window: str | None = None,
    deadlines: CheckedDeadlines | None = None,
    *,
    class_column: str | None = None,
    **reading: Unpack[Reading],
) -> LoggedWorkload:
    """Read a log of real jobs, with deadlines by class.

    path, format, window, reading: as in `cgrsp_simpy.logs.read_log`. Required columns:
    submit_s (time at which a job is ready) and service_s (seconds on a GPU of speed 1);
    optional: deadline_s, gpus and weight. Jobs without a GPU or of 0 s are skipped.
    deadlines: the deadline classes, by default the thesis's two. class_column: a column
    with the name of each job's class; if a cell is empty, the class follows from the
    job's deadline, or is drawn. Raises InputError with the file's name and, if
    possible, the line.
    """
    deadlines = deadlines or DeadlineClasses()
    log = logs.read_log(path, format, window=window, **reading)
    log = log.usable(
        "jobs on rented GPUs",
        ("submit_s", "service_s"),
        {"no GPU": lambda rows: np.asarray(rows.get("gpus", 1) == 0), **NO_TIME},
    )
    arguments = {"window": window, **reading, "class_column": class_column}
    origin = {"trace": str(log.path.resolve()), "format": log.format, "strict": False}
    start = log.start
    return LoggedWorkload(
        submit_s=tuple(log["ready_s"].tolist()),
        service_s=tuple(log["service_s"].tolist()),
        deadline_s=tuple(log.get("deadline_s", np.nan).tolist()),
        gpus=tuple(log.get("gpus", 1).astype(int).tolist()),
        weight=tuple(log.get("weight", 1).tolist()),
        deadlines=deadlines,
        start_h=(
            None
            if start is None
            else start.hour + start.minute / 60 + start.second / 3600
        ),
        origin={
            **origin,
            **{name: value for name, value in arguments.items() if value},
        },
        tags=log.tags,
        deadline_class=(
            () if class_column is None else _classes(log, class_column, deadlines)
        ),
        start_day=None if start is None else WEEK[start.weekday()],
    )


def _classes(log: Log, column: str, deadlines: Deadlines) -> tuple[int, ...]:
    """Return the index of each job's class, -1 if the cell is empty."""
    names = [part.name for part in classes_of(deadlines)]
    if column not in log.tags:
        raise InputError(
            f"{log.path}: line 1: there is no column {column} (columns:"
            f" {', '.join(log.tags)})"
        )
    for name, line in zip(log.tags[column], log.line.tolist()):
        if name and name not in names:
            raise InputError(
                f"{log.path}: line {line}: {column}(={shown(name)}) must be one of"
                f" {', '.join(names)}"
            )
    return tuple(names.index(name) if name else -1 for name in log.tags[column])


def arrival_rates(log: LoggedWorkload, weekly: bool = False) -> ArrivalRates:
    """Estimate arrival rates per hour from a log, as jobs per hour that it covers.

    This is the maximum-likelihood estimate for rates that are constant within each
    hour. The log covers simulated time 0 to its last submission. weekly: whether rates
    differ by day of the week. Raises InputError for a log without timestamps, or one
    that is shorter than a day, or than a week if weekly.
    """
    day = log.start_day or WEEK[0]
    if log.start_h is None or (weekly and log.start_day is None):
        raise InputError(
            "arrival rates need a log with timestamps: the hour of day at its start"
            f" is {log.start_h}, and the day {log.start_day}"
        )
    period = HOURS * len(WEEK) if weekly else HOURS
    span_h = log.submit_s[-1] / 3600.0
    require(
        span_h >= period,
        "hours that the log covers",
        round(span_h, 2),
        f"at least {period}",
    )
    start = WEEK.index(day) * HOURS + log.start_h
    end = start + span_h
    hours = np.arange(math.floor(start), math.floor(end) + 1)
    watched_h = np.minimum(end, hours + 1) - np.maximum(start, hours)
    arrivals = (start + np.array(log.submit_s) / 3600.0).astype(int)
    watched_by_hour = np.bincount(hours % period, watched_h, period)
    rates = np.bincount(arrivals % period, minlength=period) / watched_by_hour
    by_day = rates.reshape(period // HOURS, HOURS).tolist()
    return ArrivalRates(tuple(map(tuple, by_day)), log.start_h, day)


def submissions_s(workload: JobList | LoggedWorkload) -> Sequence[float]:
    """Return the submission times of a list or log of jobs, in seconds, in order."""
    if isinstance(workload, JobList):
        return [job.submit_s for job in workload.listed]
    return workload.submit_s


def arrivals_after(
    workload: Any, service: Service, seed: int, now_s: float, number: int, first: int
) -> Iterator[tuple[float, Job, Draws]]:
    """Yield the jobs that arrive after now_s, each with its submission and draws.

    They are the last `number` jobs of a list or log, or as many new jobs; first: id of
    the first. Raises InputError if a job of a list or log arrives before now_s.
    """
    if not number:
        return
    shift_s, skipped = 0.0, 0
    if isinstance(workload, JobList | LoggedWorkload):
        skipped = workload.jobs - number
        from_s = submissions_s(workload)[skipped]
        require(from_s >= now_s, "submission of a future job", from_s, f">= {now_s:g}")
    else:
        shift_s, more = now_s, {}
        if isinstance(workload, HourlyWorkload):
            more["rates"] = workload.rates.later(now_s)
        workload = replace(workload, jobs=number, **more)
    jobs = islice(workload.generate(seed, service), skipped, None)
    for number_of, (job, draws) in enumerate(jobs, first):
        submit_s, deadline_s = job.submit_s + shift_s, job.deadline_s + shift_s
        moved = job._replace(id=number_of, submit_s=submit_s, deadline_s=deadline_s)
        yield submit_s, moved, draws


def widths(workload: Workload) -> Sequence[int]:
    """Return the number of slots that each job needs; empty if all need one."""
    if isinstance(workload, JobList):
        return [job.gpus for job in workload.listed]
    return workload.gpus if isinstance(workload, LoggedWorkload) else ()
