"""Jobs: arrival rates, deadline classes, hidden draws, and service times."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from statistics import NormalDist
from typing import Annotated, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.base.parameters import (
    Count,
    Entries,
    Fraction,
    Hour,
    NotNegative,
    Positive,
    Shares,
    Whole,
    as_tuple,
    declared,
    parameter,
    prepared,
    rule,
    validated,
)
from cgrsp_simpy.market.model import CLOCKS

TWO = ("tight", "loose")  # the classes of the thesis


ClassName = Annotated[
    str,
    rule(
        "letters, digits, '_' and '-', and not 'weighted'",
        re.compile(r"(?!weighted$)[\w-]+").fullmatch,
    ),
]


@declared("{} of class {name}")
class DeadlineClass:
    """Jobs with the same time from submission to deadline."""

    name: ClassName = parameter(
        "Name of the class, with which the names of its figures begin"
        ' ("rush_miss_pct"): letters, digits, "_" and'
        ' "-".'
    )
    share: Fraction = parameter("Share of the jobs, from 0 to 1.")
    window_s: Positive | None = parameter(
        "Seconds from submission to deadline. None: the jobs have their own"
        " deadlines (only in classes that a workload itself creates)."
    )
    tight: bool = parameter(
        "Whether policies that distinguish two kinds of jobs treat the jobs of"
        " this class as urgent (their attribute `tight`). Any number of classes"
        " may be"
        ' tight; of the default classes, "tight" is and "loose" is not.',
        default=False,
    )
    weight: NotNegative | None = parameter(
        "Importance of each job, >= 0; in a log, it multiplies the job's own"
        " weight. None: the jobs have their own weights.",
        default=1.0,
    )
    complexity_mix: Shares | None = parameter(
        "Shares of complexity 1, 2, ... among the jobs of the class. None: the"
        " shares of the workload. The jobs of a log have their own complexity.",
        default=None,
    )

    def __post_init__(self) -> None:
        if self.name in TWO:
            expected = self.name == "tight"
            require(
                self.tight == expected,
                f"tight of class {self.name}",
                self.tight,
                f"{expected}",
            )


@declared()
class DeadlineClasses:
    """The thesis's classes, tight (rush) and loose (standard), Sections 3.4, 5.1.1."""

    tight_fraction: Fraction = parameter(
        "Share of tight jobs, from 0 to 1.", default=0.2
    )
    tight_window_s: Positive = parameter(
        "Seconds from submission to deadline of a tight job.", default=3600.0
    )
    loose_window_s: Positive = parameter(
        "Seconds from submission to deadline of a loose job.", default=28800.0
    )

    @cached_property
    def classes(self) -> tuple[DeadlineClass, ...]:
        """The two classes: tight, then loose."""
        return (
            DeadlineClass(
                "tight", self.tight_fraction, self.tight_window_s, tight=True
            ),
            DeadlineClass("loose", 1.0 - self.tight_fraction, self.loose_window_s),
        )


Deadlines = DeadlineClasses | Sequence[DeadlineClass]
"""The thesis's two classes, or a list of any number."""


CheckedDeadlines = (
    DeadlineClasses
    | Annotated[
        Sequence[DeadlineClass],
        rule("a list of at least one class", bool),
        rule(
            "classes with a window and a weight",
            lambda classes: all(
                None not in (part.window_s, part.weight) for part in classes
            ),
            lambda classes: " and ".join(
                f"{name} of class {part.name} is None"
                for part in classes
                for name in ("window_s", "weight")
                if getattr(part, name) is None
            ),
        ),
        rule(
            "classes of different names",
            lambda classes: len({part.name for part in classes}) == len(classes),
            lambda classes: ", ".join(part.name for part in classes),
        ),
        rule(
            "classes whose shares sum to 1",
            lambda classes: abs(math.fsum(part.share for part in classes) - 1) < 1e-9,
            lambda classes: f"{math.fsum(part.share for part in classes):g}",
        ),
    ]
)
"""Deadline classes that jobs can be drawn from."""


def classes_of(deadlines: Deadlines) -> tuple[DeadlineClass, ...]:
    """Return the classes in the order of the index `Job.deadline_class`."""
    return (
        deadlines.classes
        if isinstance(deadlines, DeadlineClasses)
        else tuple(deadlines)
    )


class ClassColumns:
    """The classes from which jobs are drawn, as columns by index."""

    def __init__(self, deadlines: Deadlines) -> None:
        classes = classes_of(deadlines)
        self.window_s = np.array([part.window_s for part in classes], float)
        self.tight = np.array([part.tight for part in classes], bool)
        self.weight = np.array([part.weight for part in classes], float)
        self._thresholds = np.cumsum([part.share for part in classes])[:-1]

    def drawn(self, uniforms: np.ndarray) -> np.ndarray:
        """Return the class indices that correspond to uniform variates on [0, 1)."""
        return np.asarray(np.searchsorted(self._thresholds, uniforms, side="right"))

    def of_windows(self, window_s: np.ndarray) -> np.ndarray:
        """Return the class per window: the first with such a window, or the last."""
        fits = window_s[:, None] <= self.window_s
        fits[:, -1] = True
        return np.asarray(fits.argmax(axis=1))


class _Described(NamedTuple):
    id: int
    submit_s: NotNegative
    deadline_s: NotNegative
    complexity: Count
    tight: bool
    gpus: Count
    weight: NotNegative
    deadline_class: Whole


class Job(_Described):
    """A job as its submitter describes it; equal only to itself.

    id: 0, 1, 2, ... in order of submission. submit_s, deadline_s: seconds from the
    start of the run; deadline_s >= submit_s >= 0. complexity: from 1 on; it selects the
    mean execution time on a GPU type (thesis Section 4.4). tight: whether its deadline
    class is marked tight, a rush order (thesis Section 3.4). gpus: number of slots that
    it holds simultaneously. weight: importance, >= 0. deadline_class: index among the
    workload's deadline classes; by default that of the thesis's two: 0 for a tight job,
    1 for a loose one.
    """

    __slots__ = ()
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__

    def __new__(
        cls,
        id: int,
        submit_s: float,
        deadline_s: float,
        complexity: int = 1,
        tight: bool = False,
        gpus: int = 1,
        weight: float = 1.0,
        deadline_class: int | None = None,
    ) -> Job:
        """Create a single job; workloads create theirs from columns."""
        index = int(not tight) if deadline_class is None else deadline_class
        return super().__new__(
            cls, id, submit_s, deadline_s, complexity, tight, gpus, weight, index
        )


def check_job(job: Job, names: Sequence[str]) -> None:
    """Raise InputError for an invalid job, or a class index without a name in names."""
    validated(_Described, job._asdict(), "job {id}: {}")
    if not 0 <= job.submit_s <= job.deadline_s < math.inf:
        times = f"submit_s(={job.submit_s!r}) and deadline_s(={job.deadline_s!r})"
        raise InputError(
            f"job {job.id}: {times} must be finite, with 0 <= submit_s <= deadline_s"
        )
    index = job.deadline_class
    require(
        index < len(names),
        f"job {job.id}: deadline_class",
        index,
        f"an index up to {len(names) - 1} ({', '.join(names)})",
    )


class Draws(NamedTuple):
    """Hidden random values of a job, which are the same under all schedulers.

    status, delay: uniform on [0, 1); at dispatch they determine the stock status
    (thesis Eq. 3.1) and the provisioning delay (Eq. 3.2). service: realised execution
    time divided by its mean (Eq. 3.12).
    """

    status: float
    delay: float
    service: float


class Met(NamedTuple):
    """Known outcomes at the dispatch of a job, in place of draws.

    delay: provisioning delay, seconds. service: realised over mean execution time.
    """

    status: int
    delay: float
    service: float


@declared()
class Service:
    """Distribution of the ratio of realised to mean execution time, with mean 1.

    The default is the calibrated reading of thesis Remark 1, which prints the range
    0.04 to 0.23 and the pooled value 0.11.
    """

    distribution: Literal["lognormal", "exponential"] = parameter(
        '"lognormal" (thesis Eq. 3.12) or "exponential".', default="lognormal"
    )
    sigma: Annotated[
        Entries[NotNegative], rule("a list of one number per complexity level", bool)
    ] = parameter(
        "Standard deviation of the logarithm per complexity 1, 2, ..., >= 0; 0 gives"
        ' deterministic times. Unused by "exponential".',
        default=(0.04, 0.11, 0.23),
    )

    def factors(self, generator: Generator, complexity: np.ndarray) -> list[float]:
        """Draw ratios of realised to mean execution time, by job (thesis Eq. 3.12)."""
        if self.distribution == "exponential":
            drawn: list[float] = generator.standard_exponential(
                len(complexity)
            ).tolist()
            return drawn
        sigma = np.asarray(self.sigma)[complexity - 1]
        # mean preserved, thesis Eq. 3.12
        logs = generator.standard_normal(len(complexity)) * sigma - 0.5 * sigma**2
        # math.exp: np.exp differs in the last bit between processors
        return list(map(math.exp, logs.tolist()))

    def factor_above(self, complexity: int, uniform: float, least: float) -> float:
        """Return a factor above `least`, from a uniform variate on [0, 1).

        If the distribution has no such factor, return a value slightly above `least`.
        """
        surely = least * (1.0 + 1e-12)
        if self.distribution == "exponential":
            return least - math.log1p(-uniform)
        sigma = self.sigma[complexity - 1]
        if not sigma:
            return max(1.0, surely)
        normal, beyond = NormalDist(), 1.0
        if least > 0.0:
            beyond = normal.cdf(-(math.log(least) / sigma + 0.5 * sigma))
        chance = beyond * (1.0 - uniform)  # probability of a greater one
        if not 0.0 < chance < 1.0:
            return surely
        z = -normal.inv_cdf(chance)
        return max(surely, math.exp(sigma * z - 0.5 * sigma**2))


Day = Literal[
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"
]
WEEK = get_args(Day)
"""Days of the week, in order."""
HOURS = 24


def _days(per_h: Any) -> Any:
    rates = as_tuple(per_h)
    one_day = isinstance(rates, tuple) and all(
        isinstance(rate, (int, float)) for rate in rates
    )
    return (rates,) if one_day else rates


Rates = Annotated[
    Entries[Entries[NotNegative]],
    rule(
        "24 numbers, one per hour, or 7 lists of 24, one per day of the week",
        lambda days: [len(day) for day in days] in ([HOURS], [HOURS] * len(WEEK)),
        lambda days: [len(day) for day in days],
    ),
    rule("above 0 in at least one hour", lambda days: any(map(any, days))),
    prepared(_days),
]


@declared()
class ArrivalRates:
    """Hourly rates of a Poisson process, which repeat every day or week."""

    per_h: Rates = parameter(
        "Jobs per hour, each >= 0 and at least one above 0: 24 numbers from"
        " midnight, for every day; or 7 lists of 24, from Monday. Stored as a"
        " tuple of 1 or 7 tuples."
    )
    start_h: Hour = parameter(
        "Hour of day at simulated time 0, from 0 to below 24. It must equal that"
        " of the market's clock; the calibrated clock starts at 8.",
        default=CLOCKS["calibrated"].start_h,
    )
    start_day: Day = parameter("Day of the week at simulated time 0.", default=WEEK[0])

    @property
    def mean_per_s(self) -> float:
        """Mean rate over a whole day or week, in jobs per second."""
        rates = [rate for day in self.per_h for rate in day]
        return math.fsum(rates) / len(rates) / 3600.0

    def at(self, time_s: float) -> float:
        """Return the arrival rate at a simulated time, in jobs per second."""
        day, hour = divmod(int(self._start() + time_s / 3600.0), HOURS)
        return self.per_h[day % len(self.per_h)][hour] / 3600.0

    def times_s(self, expected: np.ndarray) -> np.ndarray:
        """Return the times at which the expected number of arrivals reaches each value.

        expected: increasing numbers of jobs. The inverse of the cumulative rate
        transforms a Poisson process of rate 1 into one with these rates (E. Çinlar,
        Introduction to Stochastic Processes, 1975, Section 4.7).
        """
        rates = np.array(self.per_h).ravel()
        # jobs since the start of the period
        until = np.concatenate([[0.0], np.cumsum(rates)])
        start = self._start() % len(rates)
        first = until[int(start)] + rates[int(start)] * (start % 1)
        periods, rest = np.divmod(first + expected, until[-1])
        hour = np.searchsorted(until, rest, side="right") - 1  # an hour with arrivals
        hours = periods * len(rates) + hour + (rest - until[hour]) / rates[hour] - start
        return np.asarray(np.maximum.accumulate(np.maximum(hours, 0.0)) * 3600.0)

    def later(self, time_s: float) -> ArrivalRates:
        """Return the same rates with time 0 moved to a later simulated time."""
        day, hour = divmod(self._start() + time_s / 3600.0, HOURS)
        return replace(self, start_h=hour, start_day=WEEK[int(day) % len(WEEK)])

    def _start(self) -> float:
        """Return the hours from Monday 0:00 to simulated time 0."""
        return WEEK.index(self.start_day) * HOURS + self.start_h
