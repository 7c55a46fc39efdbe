"""What one run leaves: a record a job, and the figures of a run."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cgrsp_simpy.logs import Tags
from cgrsp_simpy.model.checks import InputError, check_one_of, require
from cgrsp_simpy.model.model import Metric
from cgrsp_simpy.model.shown import ShownRun
from cgrsp_simpy.model.table import to_pandas, write_csv
from cgrsp_simpy.model.timeline import CLAIM, PHASES, VISIT, Timeline
from cgrsp_simpy.rental.deadlines import TWO, DeadlineClass
from cgrsp_simpy.rental.market import Status

if TYPE_CHECKING:
    import pandas

    from cgrsp_simpy.rental.scenario import Scenario

__all__ = [
    "GAPS",
    "KINDS",
    "METRICS",
    "RECORD",
    "ClassTotals",
    "JobRecord",
    "Kinds",
    "Recorder",
    "Run",
    "Totals",
    "by_class",
    "figures",
    "metrics_of",
]

STATUS_NAMES = [status.name.title() for status in Status]


class JobRecord(NamedTuple):
    """A job, and what happened to it; times in seconds from the start of the run.

    Of a job that has been stopped, dispatch_s and start_s are the first, slot, gpu and status the
    last, delay_s and service_s (lost execution and checkpoints included) those of all its stays.

    Attributes
    ----------
    job, submit_s, deadline_s, complexity, tight, gpus, weight, deadline_class
        As in Job (its id is `job`).
    dispatch_s, start_s, finish_s : float
        When it was given slots, began to execute, and completed.
    slot : int
        Index of the slot (of a job on several, the first; `Run.claims` has all).
    gpu : int
        Index of the slot's type among the scenario's `gpus`.
    status : int
        The stock status met at dispatch: 0 High, 1 Medium, 2 Low.
    delay_s : float
        Realised provisioning delay (thesis Eq. 3.2).
    service_s : float
        Realised execution time (thesis Eq. 3.12).
    cost_usd : float
        Execution seconds x price per second (thesis Eq. 3.11), USD.
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


_WHOLE = {"job": "i8", "complexity": "i4", "tight": "?", "gpus": "i4", "deadline_class": "i4"}
_WHOLE |= {"slot": "i4", "gpu": "i4", "status": "i1"}
BLOCK = 8192  # records that are summed at a time
RECORD = np.dtype([(name, _WHOLE.get(name, "f8")) for name in JobRecord._fields])
"""Columns of the records, those of JobRecord."""


def _is_count(name: str) -> bool:
    """Whether a column that the terms of renting add has no unit."""
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
GAPS = ("wait_gap_min", "miss_gap_pct")  # of a study that knows its lower bounds


class Kinds(NamedTuple):
    """Names for the values of a column of the records, from the first value on; greater ones
    take the last.
    """

    column: str
    first: int
    names: tuple[str, ...]


KINDS = {
    "complexity": Kinds("complexity", 1, ("complexity 1", "complexity 2", "complexity 3")),
    "class": Kinds("deadline_class", 0, ()),  # the scenario has the names
    "status": Kinds("status", 0, tuple(f"{name} stock" for name in STATUS_NAMES)),
}
"""Kinds of jobs by what they are told apart by."""


class ClassTotals(NamedTuple):
    """Sums over the records of a deadline class. Times in seconds."""

    name: str
    completed: int = 0
    missed: int = 0
    wait_s: float = 0.0
    tardiness_s: float = 0.0


@dataclass
class Totals:
    """Sums over records, from which the figures of a run follow. Times in seconds.

    weight: sum of the weights; weighted_tardiness_s: of weight x tardiness. weighted: whether
    there can be jobs of another weight than 1. by_class: by deadline class, in order of index.
    more: by name, what the terms of renting add.
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

    def __post_init__(self) -> None:
        self.by_class = tuple(ClassTotals(*each) for each in self.by_class)  # lists, from JSON

    @classmethod
    def of(cls, classes: Iterable[DeadlineClass], more: Iterable[str] = ()) -> Totals:
        """Nothing yet, of jobs of these classes, with more columns."""
        listed = list(classes)
        by_class = tuple(ClassTotals(each.name) for each in listed)
        return cls(weighted=_is_weighted(listed), by_class=by_class, more=dict.fromkeys(more, 0))

    def add(self, jobs: Mapping[str, np.ndarray]) -> None:
        """Add records, given as columns by the names of JobRecord."""
        late_s = np.maximum(0.0, jobs["finish_s"] - jobs["deadline_s"])  # tardiness, thesis Eq. 3.6
        missed = late_s > 0  # 1 - delta_j, thesis Eq. 3.9
        wait_s = jobs["start_s"] - jobs["submit_s"]  # thesis Eq. 3.7
        self.completed += len(missed)
        self.tight += int(jobs["tight"].sum())
        self.missed += int(missed.sum())
        self.tight_missed += int(jobs["tight"][missed].sum())
        self.wait_s += float(wait_s.sum())
        self.tardiness_s += float(late_s.sum())
        self.cost_usd += float(jobs["cost_usd"].sum())
        stay_s = jobs["finish_s"] - jobs["dispatch_s"] - jobs.get("away_s", 0.0)
        self.held_s += float((stay_s * jobs["gpus"]).sum())
        self.end_s = max(self.end_s, float(jobs["finish_s"].max()))
        self.weight += float(jobs["weight"].sum())
        self.weighted_tardiness_s += float(jobs["weight"] @ late_s)
        if self.by_class:
            self._add_classes(jobs["deadline_class"].astype(int), missed, wait_s, late_s)
        for name in self.more:
            self.more[name] += (int if _is_count(name) else float)(jobs[name].sum())

    def _add_classes(self, index: np.ndarray, *values: np.ndarray) -> None:
        number = len(self.by_class)
        allowed = f"an index up to {number - 1}, of {', '.join(own.name for own in self.by_class)}"
        require(index.max() < number, "deadline_class of a job", int(index.max()), allowed)
        more = [np.bincount(index, each, number).tolist() for each in (None, *values)]
        self.by_class = tuple(
            ClassTotals(own.name, own[1] + jobs, own[2] + int(missed), own[3] + wait, own[4] + late)
            for own, jobs, missed, wait, late in zip(self.by_class, *more)
        )

    def __add__(self, later: Totals) -> Totals:
        """The sums of two runs, one after the other; classes of the same name are one."""
        sums = {
            item.name: getattr(self, item.name) + getattr(later, item.name)
            for item in fields(self)
            if item.name not in ("weighted", "by_class", "more")
        }
        more = {name: self.more.get(name, 0) + value for name, value in later.more.items()}
        by_name: dict[str, ClassTotals] = {}
        for own in (*self.by_class, *later.by_class):
            before = by_name.get(own.name, ClassTotals(own.name))
            by_name[own.name] = ClassTotals(own.name, *map(add, before[1:], own[1:]))
        weighted = self.weighted or later.weighted
        classes = tuple(by_name.values())
        return Totals(**sums, weighted=weighted, by_class=classes, more={**self.more, **more})


def figures(sums: Totals, jobs: int, capacity_s: float) -> dict[str, float]:
    """Figures by name, units in the names, from sums over records; `Run.summary` explains them.

    jobs: number submitted. capacity_s: slots x seconds in which they could be held.
    """
    number = sums.completed or math.nan  # of no jobs there is no mean
    weighted_min = sums.weighted_tardiness_s / (sums.weight or math.nan) / 60
    return {
        "jobs": jobs,
        "completed": sums.completed,
        "wait_min": sums.wait_s / number / 60,
        "miss_pct": _percent(sums.missed, sums.completed),
        **_class_figures(sums),
        "tardiness_min": sums.tardiness_s / number / 60,
        **({"weighted_tardiness_min": weighted_min} if sums.weighted else {}),
        "cost_usd": sums.cost_usd,
        "utilisation_pct": _percent(sums.held_s, capacity_s),
    }


def metrics_of(classes: Iterable[DeadlineClass]) -> dict[str, Metric]:
    """The figures of `Run.summary` with these deadline classes.

    Returns
    -------
    dict
        Name of a figure -> Metric, in the order of the summary.
    """
    listed = list(classes)
    metrics: dict[str, Metric] = {}
    for name, metric in METRICS.items():
        if name == "tight_miss_pct" and not _is_thesis(listed):
            metrics |= _class_metrics(listed)
        elif name != "loose_miss_pct" or _is_thesis(listed):
            metrics[name] = metric
        if name == "tardiness_min" and _is_weighted(listed):
            metrics["weighted_tardiness_min"] = Metric("weighted mean tardiness", "min")
    return metrics


def _class_metrics(classes: Iterable[DeadlineClass]) -> dict[str, Metric]:
    metrics: dict[str, Metric] = {}
    for each in classes:
        metrics[f"{each.name}_wait_min"] = Metric(f"mean wait, {each.name}", "min")
        metrics[f"{each.name}_miss_pct"] = Metric(f"missed {each.name} deadlines", "%")
        metrics[f"{each.name}_tardiness_min"] = Metric(f"mean tardiness, {each.name}", "min")
    return metrics


def _is_thesis(classes: Iterable[DeadlineClass | ClassTotals]) -> bool:
    return tuple(each.name for each in classes) in ((), TWO)


def _is_weighted(classes: Iterable[DeadlineClass]) -> bool:
    """Whether there can be jobs of another weight than 1."""
    return any(each.weight != 1 for each in classes)


def _class_figures(sums: Totals) -> dict[str, float]:
    """Of the thesis's two classes the share of misses; of others what `by_class` has, by name."""
    if _is_thesis(sums.by_class):
        loose, loose_missed = sums.completed - sums.tight, sums.missed - sums.tight_missed
        return {
            "tight_miss_pct": _percent(sums.tight_missed, sums.tight),
            "loose_miss_pct": _percent(loose_missed, loose),
        }
    found: dict[str, float] = {}
    for name, own in by_class(sums).items():
        del own["jobs"]
        found |= {f"{name}_{figure}": value for figure, value in own.items()}
    return found


def by_class(sums: Totals) -> dict[str, dict[str, float]]:
    """Figures by deadline class and name, units in the names; NaN for a class without jobs.

    Returns
    -------
    dict
        Name of the class -> jobs (completed), wait_min, miss_pct and tardiness_min (means).
    """
    found = {}
    for own in sums.by_class:
        number = own.completed or math.nan
        found[own.name] = {
            "jobs": own.completed,
            "wait_min": own.wait_s / number / 60,
            "miss_pct": _percent(own.missed, own.completed),
            "tardiness_min": own.tardiness_s / number / 60,
        }
    return found


class Recorder:
    """Takes the records of a run as they come; sums them block by block, and keeps
    them if asked to.

    more: columns that the terms of renting add.
    """

    def __init__(
        self, keep: bool, classes: Iterable[DeadlineClass], more: Iterable[str] = ()
    ) -> None:
        self._names = (*JobRecord._fields, *more)
        self.totals = Totals.of(classes, self._names[len(JobRecord._fields) :])
        self._doubles = struct.Struct(f"={len(self._names)}d")
        self._block = BLOCK * self._doubles.size  # bytes
        self._numbers = bytearray()  # record after record
        self._kept: list[np.ndarray] | None = [] if keep else None
        # slot and type of each place of a job on several, by its id
        self.gangs: dict[int, list[tuple[int, int]]] = {}
        # rows of CLAIM, where they do not follow from the records
        self.claims: list[tuple[int, int, float, str, float, float]] | None = None

    def add_claim(self, job: int, slot: int, phase: str, from_s: float, to_s: float) -> None:
        """Take a phase of a job on a slot, if records are kept and it takes time."""
        if self._kept is not None and to_s > from_s:
            self.claims = self.claims or []
            self.claims.append((job, slot, 1.0, phase, from_s, to_s))

    def add_gang(self, job: int, places: list[tuple[int, int]]) -> None:
        """Take the slots of a job on several, each with the index of the type that it had, if
        records are kept.
        """
        if self._kept is not None:
            self.gangs[job] = places

    def add(self, record: tuple[float, ...]) -> None:
        """Take one record, its values in the order of JobRecord and of the columns that
        the terms add.
        """
        self._numbers += self._doubles.pack(*record)
        if len(self._numbers) >= self._block:
            self._sum_block()

    def _sum_block(self) -> None:
        columns = np.frombuffer(self._numbers).reshape(-1, len(self._names)).T
        self._numbers = bytearray()
        self.totals.add(dict(zip(self._names, columns)))
        if self._kept is not None:
            self._kept.append(columns)

    def close(self) -> list[np.ndarray] | None:
        """Sum what is left; the records block by block, columns first, if they were kept."""
        if self._numbers:
            self._sum_block()
        return self._kept


@dataclass(frozen=True, eq=False, repr=False)
class Run(ShownRun):
    """One simulated run.

    Attributes
    ----------
    scenario : Scenario
        What was run.
    policy : str
        Its name.
    seed : int
        Of all random numbers.
    totals : Totals
        Sums over all jobs.
    slot_held_s : tuple of float
        By slot, the seconds in which it was held, for provisioning or execution.
    decisions : int
        How often the policy was asked.
    """

    scenario: Scenario
    policy: str
    seed: int
    totals: Totals
    slot_held_s: tuple[float, ...]
    decisions: int
    _blocks: list[np.ndarray] | None
    _gangs: Mapping[int, list[tuple[int, int]]] = field(default_factory=dict)
    _claims: list[tuple[int, int, float, str, float, float]] | None = None

    @property
    def title(self) -> str:
        """The scenario, the policy and the seed."""
        return f"{self.scenario.name}: {self.policy}, seed {self.seed}"

    @cached_property
    def jobs(self) -> np.ndarray:
        """One row a job, in order of submission; a structured array whose fields
        JobRecord explains, and those that the scenario's terms of renting add.
        """
        if self._blocks is None:
            raise InputError("this run kept no records; simulate with records=True")
        more = [(name, "i4" if _is_count(name) else "f8") for name in self.scenario.terms.columns]
        record = np.dtype([*RECORD.descr, *more])
        if not self._blocks:
            return np.empty(0, record)
        columns = np.concatenate(self._blocks, axis=1)
        columns = columns[:, np.argsort(columns[0], kind="stable")]
        jobs = np.empty(columns.shape[1], record)
        for name, column in zip(record.names or (), columns):
            jobs[name] = column
        return jobs

    @cached_property
    def claims(self) -> np.ndarray:
        """What held the slots: one row a job, slot and phase that takes time, in order of these;
        a structured array of CLAIM.

        place: index of the slot. amount: 1. phase: provisioning or executing; where the terms of
        renting have them restarting and idle-warm, an instance that is kept after its job. from_s,
        to_s: seconds from the start of the run.
        """
        jobs = self.jobs
        if self._claims is not None:
            return np.array(sorted(self._claims, key=lambda row: (row[0], row[4], row[1])), CLAIM)
        each = np.repeat(np.arange(len(jobs)), jobs["gpus"])
        slots = jobs["slot"][each]
        slots[jobs["gpus"][each] > 1] = [
            slot for job in jobs["job"][jobs["gpus"] > 1].tolist() for slot, _ in self._gangs[job]
        ]
        claims = np.empty((len(each), len(PHASES)), CLAIM)
        claims["job"], claims["place"], claims["amount"], claims["phase"] = (
            jobs["job"][each, None],
            slots[:, None],
            1.0,
            PHASES,
        )
        times_s = np.stack(
            [jobs[name][each] for name in ("dispatch_s", "start_s", "finish_s")], axis=1
        )
        claims["from_s"], claims["to_s"] = times_s[:, :-1], times_s[:, 1:]
        return np.asarray(claims[claims["to_s"] > claims["from_s"]])

    @cached_property
    def timeline(self) -> Timeline:
        """The run as slots and jobs, which it is drawn from; the kinds of the jobs are
        their complexities.
        """
        jobs, slots = self.jobs, self.scenario.slots
        visits = np.empty(len(jobs), VISIT)
        for name, column in zip(
            VISIT.names or (), ("job", "submit_s", "dispatch_s", "finish_s", "deadline_s")
        ):
            visits[name] = jobs[column]
        places = tuple(f"{index}  {gpu.name}" for index, gpu in enumerate(slots))
        sizes = (1.0,) * len(slots)
        return Timeline(
            "slot",
            places,
            sizes,
            self.claims,
            visits,
            kinds=self.kinds("complexity"),
            policy=self.policy,
        )

    def kinds(self, by: str) -> dict[int, str]:
        """The kinds of the jobs, by their ids.

        Parameters
        ----------
        by : str
            "complexity", "class" (of the deadline) or "status" (the stock met at dispatch).

        Returns
        -------
        dict
            Job -> kind in words.

        Raises
        ------
        InputError
            For another name.
        """
        check_one_of("colour_by", by, KINDS)
        column, first, names = KINDS[by]
        if by == "class":
            names = tuple(f"{each.name} deadline" for each in self.scenario.workload.classes)
        values, last = self.jobs[column].astype(int) - first, len(names) - 1
        if values.max(initial=0) > last:
            names = (*names[:-1], f"{names[-1]} and more")
        return dict(
            zip(self.jobs["job"].tolist(), np.array(names)[np.minimum(values, last)].tolist())
        )

    def summary(self) -> dict[str, float]:
        """The figures of the run by name, units in the names.

        Returns
        -------
        dict
            jobs, completed: numbers. wait_min: mean wait (thesis Eq. 3.7). miss_pct,
            tight_miss_pct, loose_miss_pct: share of all, tight and loose jobs that end after
            their deadline (NaN where there are none). tardiness_min: mean over all jobs
            (Eq. 3.6). cost_usd: sum (Eq. 3.11). utilisation_pct: time average of held slots,
            provisioning included, from time 0 to the last completion. makespan_h: time of the
            last completion.

            Both count from the scenario's time 0, as the thesis's day does, not from the first
            job. A log whose clock has run for long when its first job comes leaves its slots idle
            until then; `window` moves time 0 (`trace`).

            With other deadline classes than tight and loose, instead of those two figures for
            each class NAME: NAME_wait_min, NAME_miss_pct and NAME_tardiness_min. Where jobs or
            classes have weights other than 1: weighted_tardiness_min, sum of weight x tardiness
            over sum of weights. What terms of renting add, `Terms.metrics` names; the parts of
            the cost add up to cost_usd.
        """
        end_s = self.totals.end_s
        capacity_s = len(self.slot_held_s) * end_s
        return {
            **figures(self.totals, self.scenario.workload.jobs, capacity_s),
            "makespan_h": end_s / 3600,
            **self.totals.more,
        }

    @property
    def tags(self) -> Tags:
        """The log's own columns of the jobs, job_id among them; none for jobs that are
        not from a log.
        """
        return getattr(self.scenario.workload, "tags", Tags())

    def by(self, tag: str) -> list[dict[str, Any]]:
        """The figures of the jobs of each value of a log's column.

        The columns jobs, completed, cost_usd and utilisation_pct (of all slots, from time 0 to the
        last completion of the run) add up to those of the run.

        Parameters
        ----------
        tag : str
            The column's name.

        Returns
        -------
        list of dict
            A row for each value, in the order of the alphabet: by, value (the column and its
            value), and the figures of `summary`, but for makespan_h.

        Raises
        ------
        InputError
            For a column that the log does not have.
        """
        capacity_s = len(self.slot_held_s) * self.totals.end_s

        def of_jobs(chosen: np.ndarray) -> dict[str, float]:
            sums = Totals.of(self.scenario.workload.classes, self.scenario.terms.columns)
            if (records := self.jobs[chosen[self.jobs["job"]]]).size:
                sums.add({name: records[name] for name in records.dtype.names})
            return {**figures(sums, int(chosen.sum()), capacity_s), **sums.more}

        return self.tags.report(tag, of_jobs)

    def by_class(self) -> dict[str, dict[str, float]]:
        """Figures by deadline class: name -> jobs, wait_min, miss_pct, tardiness_min."""
        return by_class(self.totals)

    def rows(self) -> list[dict[str, Any]]:
        """The records as dicts, with names in place of the numbers of class, GPU type and status.

        slots: the indices of all slots of the job, as text with spaces between. Jobs of a log have
        its own columns beside, job_id first; one whose name is taken is put behind log_.
        """
        tags = self.tags
        gpus = [gpu.name for gpu in self.scenario.gpus]
        classes = [each.name for each in self.scenario.workload.classes]
        rows = []
        for values in self.jobs.tolist():
            row = dict(zip(self.jobs.dtype.names or (), values))
            slots = [slot for slot, _ in self._gangs.get(row["job"], [(row["slot"], row["gpu"])])]
            names = {
                "deadline_class": classes[row["deadline_class"]],
                "gpu": gpus[row["gpu"]],
                "status": STATUS_NAMES[row["status"]],
                "slots": " ".join(map(str, slots)),
            }
            rows.append({**row, **names, **(tags.of(row["job"], (*row, *names)) if tags else {})})
        return rows

    def to_csv(self, path: str | Path) -> None:
        """Write the records to a CSV file, one row a job.

        Parameters
        ----------
        path : str or Path
            The file; one that is there is overwritten.
        """
        write_csv(path, self.rows())

    def to_pandas(self) -> pandas.DataFrame:
        """The records as a pandas DataFrame, one row a job; needs the extra "pandas"."""
        return to_pandas(self.rows())


def _percent(part: float, whole: float) -> float:
    return 100.0 * part / whole if whole else math.nan
