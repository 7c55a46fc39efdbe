"""Workloads: from a seed to jobs in order of submission, each with its own hidden draws."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Protocol, TypeVar

import numpy as np

from cgrsp_simpy.logs import Tags
from cgrsp_simpy.model.checks import InputError, check_fraction, check_number, check_shares, check_whole, entries_of, require
from cgrsp_simpy.model.streams import stream
from cgrsp_simpy.rental.job import Draws, Job, check_job
from cgrsp_simpy.rental.service import Service

__all__ = ["DAYS", "DeadlineClasses", "JobList", "LoggedWorkload", "PoissonWorkload", "Workload"]

T = TypeVar("T")
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
    """What the engine and the schedulers ask of a workload."""

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
    def tight_share(self) -> float:
        """Share of jobs with a tight deadline."""

    @property
    def gpus_per_job(self) -> float:
        """Mean number of slots that a job holds."""

    def generate(self, seed: int, service: Service) -> Iterator[tuple[Job, Draws]]:
        """The jobs in order of submission, each with its draws."""


@dataclass(frozen=True)
class DeadlineClasses:
    """Tight (rush) and loose (standard) jobs: deadline = submission + the window of the class (thesis Section 5.1.1)."""

    tight_fraction: float = 0.2
    tight_window_s: float = 3600.0
    loose_window_s: float = 28800.0

    def __post_init__(self) -> None:
        check_fraction("tight_fraction", self.tight_fraction)
        check_number("tight_window_s", self.tight_window_s, above=0)
        check_number("loose_window_s", self.loose_window_s, above=0)

    def window_s(self, tight: np.ndarray) -> np.ndarray:
        """Window in seconds by job. tight: shape (jobs,), bool."""
        return np.where(tight, self.tight_window_s, self.loose_window_s)


class _Luck:
    """The draws of a seed's jobs, taken in order of submission."""

    def __init__(self, seed: int, service: Service) -> None:
        self._service = service
        self._status, self._delay, self._factor = (stream(seed, name) for name in ("status", "delay", "service"))

    def take(self, complexity: np.ndarray, factors: Sequence[float] | None = None) -> Iterator[Draws]:
        """The draws of the next jobs; measured service factors replace drawn ones."""
        number = len(complexity)
        if factors is None:
            factors = self._service.factors(self._factor, complexity)
        return _made(Draws, self._status.random(number).tolist(), self._delay.random(number).tolist(), factors)


def _made(kind: type[T], *columns: Iterable[Any]) -> Iterator[T]:
    """Named tuples from columns of all their fields, without a Python call for each."""
    return map(tuple.__new__, repeat(kind), zip(*columns))  # type: ignore[arg-type]


@dataclass(frozen=True)
class PoissonWorkload:
    """A fixed number of jobs with exponential gaps (thesis Sections 4.4 and 5.1.1); the first comes after one gap.

    jobs: number of jobs. rate_per_s: arrivals per second. complexity_mix: shares of complexity 1, 2, ...; independent of
    the deadline class.
    """

    jobs: int
    rate_per_s: float
    complexity_mix: tuple[float, ...] = COMPLEXITY_MIX
    deadlines: DeadlineClasses = field(default_factory=DeadlineClasses)

    def __post_init__(self) -> None:
        object.__setattr__(self, "complexity_mix", entries_of("complexity_mix", self.complexity_mix, "a list of shares"))
        check_whole("jobs", self.jobs, least=1)
        check_number("rate_per_s", self.rate_per_s, above=0)
        check_number(f"jobs / rate_per_s(={self.rate_per_s!r})", self.jobs / self.rate_per_s)
        check_shares("complexity_mix", self.complexity_mix)

    @property
    def mix(self) -> tuple[float, ...]:
        """Share of jobs by complexity."""
        return self.complexity_mix

    @property
    def tight_share(self) -> float:
        """Share of jobs with a tight deadline."""
        return self.deadlines.tight_fraction

    @property
    def gpus_per_job(self) -> float:
        """Mean number of slots that a job holds."""
        return 1.0

    def generate(self, seed: int, service: Service) -> Iterator[tuple[Job, Draws]]:
        """The jobs in order of submission, each with its draws."""
        arrivals, complexities, classes = (stream(seed, name) for name in ("arrivals", "complexity", "deadlines"))
        thresholds = np.cumsum(self.complexity_mix)[:-1]
        luck = _Luck(seed, service)
        now = 0.0
        for first in range(0, self.jobs, CHUNK):
            number = min(CHUNK, self.jobs - first)
            gaps = arrivals.exponential(1.0 / self.rate_per_s, number)
            gaps[0] += now
            submit = np.cumsum(gaps)
            now = submit[-1]
            complexity = np.searchsorted(thresholds, complexities.random(number), side="right") + 1
            tight = classes.random(number) < self.deadlines.tight_fraction
            deadline = submit + self.deadlines.window_s(tight)
            columns = (submit.tolist(), deadline.tolist(), complexity.tolist(), tight.tolist(), repeat(1), repeat(1.0))
            yield from zip(_made(Job, range(first, first + number), *columns), luck.take(complexity))


def _shares(complexity: Sequence[int]) -> tuple[float, ...]:
    counts = np.bincount(np.asarray(complexity))[1:]
    return tuple((counts / counts.sum()).tolist())


def _rate_per_s(jobs: int, last_submit_s: float) -> float:
    return jobs / last_submit_s if last_submit_s > 0 else float("inf")


@dataclass(frozen=True)
class JobList:
    """Jobs that are written down one by one, as in a worked example; service times are drawn by the scenario's law.

    listed: the jobs with ids 0, 1, 2, ... and submissions that do not fall.
    """

    listed: tuple[Job, ...] = field(compare=False)  # a job equals only itself; lists are equal by what is on their jobs
    _values: tuple[tuple[object, ...], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "listed", tuple(self.listed))
        object.__setattr__(self, "_values", tuple(tuple(job) for job in self.listed))
        require(len(self.listed) > 0, "jobs", (), "a list of at least one job")
        for job in self.listed:
            check_job(job)
        ids = [job.id for job in self.listed]
        require(ids == list(range(len(ids))), "ids of the jobs", ids, "0, 1, 2, ... in the order of the list")
        submits = [job.submit_s for job in self.listed]
        require(submits == sorted(submits), "submissions of the jobs", submits, "in order of time")

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.listed)

    @property
    def rate_per_s(self) -> float:
        """Jobs per second up to the last submission; infinite if all come at 0."""
        return _rate_per_s(self.jobs, self.listed[-1].submit_s)

    @property
    def mix(self) -> tuple[float, ...]:
        """Share of jobs by complexity."""
        return _shares([job.complexity for job in self.listed])

    @property
    def tight_share(self) -> float:
        """Share of jobs with a tight deadline."""
        return sum(job.tight for job in self.listed) / self.jobs

    @property
    def gpus_per_job(self) -> float:
        """Mean number of slots that a job holds."""
        return sum(job.gpus for job in self.listed) / self.jobs

    def generate(self, seed: int, service: Service) -> Iterator[tuple[Job, Draws]]:
        """The jobs in order of submission, each with its draws."""
        return zip(self.listed, _Luck(seed, service).take(np.array([job.complexity for job in self.listed])))


@dataclass(frozen=True)
class LoggedWorkload:
    """Jobs from a log: submissions and measured seconds are the log's, the rest of the luck is drawn.

    All columns have one entry a job, in order of submission. submit_s: seconds from the start, not falling. service_s:
    measured on a GPU of speed 1. deadline_s: seconds from the start, NaN where the log names none and the class is drawn;
    a given deadline counts as tight when it lies within the tight window.

    A scheduler does not see the seconds. It sees a size class (complexity 1, 2, 3), as if the submitter had declared the
    job small, medium or large: the shortest 40 %, the next 40 %, the rest (the shares of thesis Section 4.4).

    origin: the arguments of `read_log`, from which a TOML file restores the workload. tags: of each job the log's own id and all
    other columns, as texts.
    """

    submit_s: tuple[float, ...] = field(repr=False)
    service_s: tuple[float, ...] = field(repr=False)
    deadline_s: tuple[float, ...] = field(repr=False, compare=False)  # NaN differs from NaN
    gpus: tuple[int, ...] = field(repr=False)
    weight: tuple[float, ...] = field(repr=False)
    deadlines: DeadlineClasses = field(default_factory=DeadlineClasses)
    start_h: float | None = None
    origin: dict[str, Any] = field(default_factory=dict)
    tags: Tags = field(default_factory=Tags, repr=False, compare=False)
    complexity: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.submit_s:
            raise InputError("the log holds no usable job")
        for name in ("service_s", "deadline_s", "gpus", "weight"):
            column = getattr(self, name)
            require(len(column) == self.jobs, f"entries of {name}", len(column), f"{self.jobs}, one a job")
        for name, least in (("submit_s", 0), ("gpus", 1), ("weight", 0)):
            check_number(f"least {name}", min(getattr(self, name)), least=least)
        for seconds in self.service_s:
            check_number("service_s", seconds, above=0)
        for submit, due in zip(self.submit_s, self.deadline_s):
            require(
                math.isnan(due) or submit <= due < math.inf, "deadline_s", due, f"NaN or a time from submit_s(={submit!r}) on"
            )
        require(list(self.submit_s) == sorted(self.submit_s), "submit_s", "...", "in order of time")
        limits = np.quantile(self.service_s, np.cumsum(COMPLEXITY_MIX)[:-1])
        classes = np.searchsorted(limits, self.service_s, side="left") + 1
        # Equal measured times can leave a class empty: number those that are there.
        present = {level: rank for rank, level in enumerate(sorted(set(classes.tolist())), start=1)}
        object.__setattr__(self, "complexity", tuple(present[level] for level in classes.tolist()))

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.submit_s)

    @property
    def rate_per_s(self) -> float:
        """Jobs per second up to the last submission."""
        return _rate_per_s(self.jobs, self.submit_s[-1])

    @property
    def mix(self) -> tuple[float, ...]:
        """Share of jobs by size class."""
        return _shares(self.complexity)

    @property
    def tight_share(self) -> float:
        """Share of jobs with a tight deadline, expected over the draws."""
        given = np.asarray(self.deadline_s)
        shares = np.where(np.isnan(given), self.deadlines.tight_fraction, self._within_tight(slice(None)))
        return float(shares.mean())

    @property
    def gpus_per_job(self) -> float:
        """Mean number of slots that a job holds."""
        return sum(self.gpus) / self.jobs

    def mean_service_s(self) -> tuple[float, ...]:
        """Mean measured seconds by size class."""
        service, level = np.asarray(self.service_s), np.asarray(self.complexity)
        return tuple(float(service[level == k].mean()) for k in range(1, level.max() + 1))

    def _within_tight(self, part: slice) -> np.ndarray:
        window_s = np.asarray(self.deadline_s[part]) - np.asarray(self.submit_s[part])
        return np.asarray(window_s <= self.deadlines.tight_window_s)

    def generate(self, seed: int, service: Service) -> Iterator[tuple[Job, Draws]]:
        """The jobs in order of submission, each with its draws; `service` is not used."""
        classes, luck, means = stream(seed, "deadlines"), _Luck(seed, service), np.asarray(self.mean_service_s())
        for first in range(0, self.jobs, CHUNK):
            part = slice(first, min(first + CHUNK, self.jobs))
            submit, given = np.asarray(self.submit_s[part]), np.asarray(self.deadline_s[part])
            complexity = np.asarray(self.complexity[part])
            drawn = classes.random(len(submit)) < self.deadlines.tight_fraction
            tight = np.where(np.isnan(given), drawn, self._within_tight(part))
            deadline = np.where(np.isnan(given), submit + self.deadlines.window_s(drawn), given)
            factors = (np.asarray(self.service_s[part]) / means[complexity - 1]).tolist()
            columns = (submit.tolist(), deadline.tolist(), complexity.tolist(), tight.tolist())
            jobs = _made(Job, range(part.start, part.stop), *columns, self.gpus[part], self.weight[part])
            yield from zip(jobs, luck.take(complexity, factors))
