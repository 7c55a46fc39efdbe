"""Records of jobs, and the metrics of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from operator import add
from typing import NamedTuple

import numpy as np

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.metric import Metric, ratio
from cgrsp_simpy.market.model import Status
from cgrsp_simpy.rental.job import TWO, DeadlineClass

STATUS_NAMES = [status.name.title() for status in Status]


class JobRecord(NamedTuple):
    """Record of one job; times in seconds from the start of the run.

    job, submit_s, deadline_s, complexity, tight, gpus, weight, deadline_class: as in
    Job, whose id is `job`. slot: index of its first slot (`Run.claims` has all). gpu:
    index of the slot's type in the scenario's `gpus`. status: the stock status at
    dispatch: 0 High, 1 Medium, 2 Low. delay_s, service_s: realised provisioning delay
    and execution time (thesis Eq. 3.2 and 3.12). cost_usd: execution seconds x price
    per second (Eq. 3.11).

    If a job has been stopped, dispatch_s and start_s are those of its first dispatch;
    slot, gpu and status those of its last; delay_s and service_s are totals, including
    lost execution and checkpoints.
    """

    job: int
    submit_s: float
    deadline_s: float
    complexity: int
    tight: bool
    gpus: int
    weight: float
    deadline_class: int
    dispatch_s: float
    start_s: float
    finish_s: float
    slot: int
    gpu: int
    status: int
    delay_s: float
    service_s: float
    cost_usd: float


WHOLE = {
    "job": "i8",
    "complexity": "i4",
    "tight": "?",
    "gpus": "i4",
    "deadline_class": "i4",
    "slot": "i4",
    "gpu": "i4",
    "status": "i1",
}
RECORD = {name: WHOLE.get(name, "f8") for name in JobRecord._fields}
"""Columns of a run's jobs, those of JobRecord, and their types."""


def is_count(name: str) -> bool:
    """Return whether a column of the terms of renting is a count, without a unit."""
    return not name.endswith(("_s", "_h", "_usd"))


METRICS = {
    "jobs": Metric("jobs", better=""),
    "completed": Metric("completed jobs", better="more"),
    "wait_min": Metric("mean wait", "min"),
    "miss_pct": Metric("missed deadlines", "%"),
    "tight_miss_pct": Metric("missed tight deadlines", "%"),
    "loose_miss_pct": Metric("missed loose deadlines", "%"),
    "tardiness_min": Metric("mean tardiness", "min"),
    "cost_usd": Metric("cost", "USD"),
    "utilisation_pct": Metric("slot time held", "%", "more"),
    "makespan_h": Metric("last completion", "h"),
}
"""The figures of `Run.summary` with the thesis's two deadline classes."""
OF_CLASS = (  # per deadline class: figure, label, unit
    ("wait_min", "mean wait, {}", "min"),
    ("miss_pct", "missed {} deadlines", "%"),
    ("tardiness_min", "mean tardiness, {}", "min"),
)
GAPS = ("wait_gap_min", "miss_gap_pct")  # columns of a study with lower bounds


KINDS: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "complexity": ("complexity", 1, ("complexity 1", "complexity 2", "complexity 3")),
    "class": ("deadline_class", 0, ()),  # the scenario has the names
    "status": ("status", 0, tuple(f"{name} stock" for name in STATUS_NAMES)),
}
"""Kinds of jobs: a column of the records, its smallest value, and names of the values
in order; larger values have the last name.
"""


def slot_seconds(jobs: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the time that each job holds slots, summed over its slots, seconds."""
    stay_s = jobs["finish_s"] - jobs["dispatch_s"] - jobs.get("away_s", 0.0)
    return np.asarray(stay_s * jobs["gpus"])


class ClassTotals(NamedTuple):
    """Totals over the jobs of a deadline class; times in seconds."""

    name: str
    completed: int = 0
    missed: int = 0
    wait_s: float = 0.0
    tardiness_s: float = 0.0


@dataclass
class Totals:
    """Totals over records, from which a run's metrics follow; times in seconds.

    weight: sum of the jobs' weights. weighted: whether weights other than 1 are
    possible. by_class: totals per deadline class, in order of index. more: sums of the
    columns that terms of renting add, by name.
    """

    completed: int = 0
    tight: int = 0
    missed: int = 0
    tight_missed: int = 0
    wait_s: float = 0.0
    tardiness_s: float = 0.0
    cost_usd: float = 0.0
    held_s: float = 0.0
    end_s: float = 0.0
    weight: float = 0.0
    weighted_tardiness_s: float = 0.0
    weighted: bool = False
    by_class: tuple[ClassTotals, ...] = ()
    more: dict[str, float] = field(default_factory=dict)
    weighted_missed: float = 0.0
    weighted_wait_s: float = 0.0

    def __post_init__(self) -> None:
        # lists, from JSON
        self.by_class = tuple(ClassTotals(*row) for row in self.by_class)

    @classmethod
    def of(cls, classes: Iterable[DeadlineClass], more: Iterable[str] = ()) -> Totals:
        """Return empty totals for these deadline classes and additional columns."""
        listed = list(classes)
        return cls(
            weighted=_is_weighted(listed),
            by_class=tuple(ClassTotals(item.name) for item in listed),
            more=dict.fromkeys(more, 0),
        )

    def add(self, jobs: Mapping[str, np.ndarray]) -> None:
        """Add the records of jobs, given as columns with the names of JobRecord."""
        # tardiness, thesis Eq. 3.6
        late_s = np.maximum(0.0, jobs["finish_s"] - jobs["deadline_s"])
        missed = late_s > 0  # 1 - delta_j, thesis Eq. 3.9
        wait_s = jobs["start_s"] - jobs["submit_s"]  # thesis Eq. 3.7
        self.completed += len(missed)
        self.tight += int(np.count_nonzero(jobs["tight"]))
        self.missed += int(np.count_nonzero(missed))
        self.tight_missed += int(np.count_nonzero(jobs["tight"] & missed))
        self.wait_s += float(wait_s.sum())
        self.tardiness_s += float(late_s.sum())
        self.cost_usd += float(jobs["cost_usd"].sum())
        self.held_s += float(slot_seconds(jobs).sum())
        self.end_s = max(self.end_s, float(jobs["finish_s"].max()))
        self.weight += float(jobs["weight"].sum())
        self.weighted_tardiness_s += float(jobs["weight"] @ late_s)
        self.weighted_missed += float(jobs["weight"][missed].sum())
        self.weighted_wait_s += float(jobs["weight"] @ wait_s)
        if self.by_class:
            self._add_classes(
                jobs["deadline_class"].astype(int), missed, wait_s, late_s
            )
        for name in self.more.keys() & jobs.keys():
            self.more[name] += (int if is_count(name) else float)(jobs[name].sum())

    def _add_classes(self, index: np.ndarray, *values: np.ndarray) -> None:
        number = len(self.by_class)
        require(
            index.max() < number,
            "deadline_class of a job",
            int(index.max()),
            (
                f"an index up to {number - 1} of"
                f" {', '.join(sums.name for sums in self.by_class)}"
            ),
        )
        more = [
            np.bincount(index, column, number).tolist() for column in (None, *values)
        ]
        self.by_class = tuple(
            ClassTotals(
                sums.name,
                sums[1] + jobs,
                sums[2] + int(missed),
                sums[3] + wait,
                sums[4] + late,
            )
            for sums, jobs, missed, wait, late in zip(self.by_class, *more)
        )

    def __add__(self, later: Totals) -> Totals:
        """Return the sum of these and later totals; classes are merged by name."""
        sums = {
            item.name: getattr(self, item.name) + getattr(later, item.name)
            for item in fields(self)
            if item.name not in ("weighted", "by_class", "more")
        }
        more = {
            name: self.more.get(name, 0) + value for name, value in later.more.items()
        }
        by_name: dict[str, ClassTotals] = {}
        for totals in (*self.by_class, *later.by_class):
            before = by_name.get(totals.name, ClassTotals(totals.name))
            by_name[totals.name] = ClassTotals(
                totals.name, *map(add, before[1:], totals[1:])
            )
        return Totals(
            **sums,
            weighted=self.weighted or later.weighted,
            by_class=tuple(by_name.values()),
            more={**self.more, **more},
        )


def figures(sums: Totals, jobs: int, capacity_s: float) -> dict[str, float]:
    """Return metrics by name from totals over records; see `Run.summary`.

    jobs: number submitted. capacity_s: slot-seconds that were available.
    """
    weighted_min = ratio(sums.weighted_tardiness_s, sums.weight) / 60
    return {
        "jobs": jobs,
        "completed": sums.completed,
        "wait_min": ratio(sums.wait_s, sums.completed) / 60,
        "miss_pct": ratio(100.0 * sums.missed, sums.completed),
        **_class_figures(sums),
        "tardiness_min": ratio(sums.tardiness_s, sums.completed) / 60,
        **({"weighted_tardiness_min": weighted_min} if sums.weighted else {}),
        "cost_usd": sums.cost_usd,
        "utilisation_pct": ratio(100.0 * sums.held_s, capacity_s),
    }


def metrics_of(classes: Iterable[DeadlineClass]) -> dict[str, Metric]:
    """Return the metrics of `Run.summary` for deadline classes, in its order."""
    listed = list(classes)
    metrics: dict[str, Metric] = {}
    for name, metric in METRICS.items():
        if name == "tight_miss_pct" and not _is_thesis(listed):
            metrics |= {
                f"{item.name}_{figure}": Metric(title.format(item.name), unit)
                for item in listed
                for figure, title, unit in OF_CLASS
            }
        elif name != "loose_miss_pct" or _is_thesis(listed):
            metrics[name] = metric
        if name == "tardiness_min" and _is_weighted(listed):
            metrics["weighted_tardiness_min"] = Metric("weighted mean tardiness", "min")
    return metrics


def _is_thesis(classes: Iterable[DeadlineClass | ClassTotals]) -> bool:
    return tuple(item.name for item in classes) in ((), TWO)


def _is_weighted(classes: Iterable[DeadlineClass]) -> bool:
    """Return whether jobs can have weights other than 1."""
    return any(item.weight != 1 for item in classes)


def _class_figures(sums: Totals) -> dict[str, float]:
    """Return the misses of the thesis's two classes, or all metrics by class."""
    if _is_thesis(sums.by_class):
        loose = sums.completed - sums.tight
        return {
            "tight_miss_pct": ratio(100.0 * sums.tight_missed, sums.tight),
            "loose_miss_pct": ratio(100.0 * (sums.missed - sums.tight_missed), loose),
        }
    return {
        f"{name}_{figure}": values[figure]
        for name, values in by_class(sums).items()
        for figure, _, _ in OF_CLASS
    }


def by_class(sums: Totals) -> dict[str, dict[str, float]]:
    """Return per deadline class jobs (completed), wait_min, miss_pct and tardiness_min.

    They are means, except jobs; NaN for a class without jobs.
    """
    return {
        totals.name: {
            "jobs": totals.completed,
            "wait_min": ratio(totals.wait_s, totals.completed) / 60,
            "miss_pct": ratio(100.0 * totals.missed, totals.completed),
            "tardiness_min": ratio(totals.tardiness_s, totals.completed) / 60,
        }
        for totals in sums.by_class
    }
