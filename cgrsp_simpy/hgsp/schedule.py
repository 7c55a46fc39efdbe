"""Schedules and their metrics (equations 1 to 12 of hgsp.txt), and dispatch rules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cgrsp_simpy.base.arrays import Floats, Ints
from cgrsp_simpy.base.checks import InputError, entries_of, numbers, require
from cgrsp_simpy.base.table import many
from cgrsp_simpy.base.timeline import VISIT, Timeline
from cgrsp_simpy.engine.claim import claims_table
from cgrsp_simpy.engine.report import rows_of
from cgrsp_simpy.hgsp.instance import Instance


@dataclass(frozen=True)
class Iteration:
    """One step of a search. objective: current value. best: least value so far."""

    iteration: int
    objective: float
    best: float


@dataclass(frozen=True, eq=False)
class Schedule:
    """GPU and times of each task; arrays of shape (tasks,), times in seconds.

    gpu: index, the j with x_ij = 1. start_s: s_i. finish_s: c_i. granted_s: if
    measured, time when the GPU was granted, one provisioning delay before start_s.
    policy: if measured, name of the policy.
    """

    instance: Instance
    gpu: Ints = field(repr=False)
    start_s: Floats = field(repr=False)
    finish_s: Floats = field(repr=False)
    granted_s: Floats | None = field(repr=False, default=None)
    policy: str = ""

    @property
    def tardiness_s(self) -> Floats:
        """max(0, c_i - d_i), seconds."""
        return np.maximum(0.0, self.finish_s - self.instance.deadline_s)

    @property
    def weighted_tardiness(self) -> float:
        """Eq. 1, the objective."""
        return float(self.instance.weight @ self.tardiness_s)

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics of Eq. 1 and 7 to 12."""
        jobs, makespan_s = self.instance, float(self.finish_s.max())
        busy_s = float((self.finish_s - self.start_s).sum())
        return {
            **self.of_tasks(slice(None)),
            "makespan_s": makespan_s,
            "utilisation_pct": (
                100
                * busy_s
                / (len(jobs.gpus) * (makespan_s - float(jobs.arrival_s.min())))
            ),
        }

    def of_tasks(self, chosen: Any) -> dict[str, float]:
        """Return the per-task metrics for some tasks."""
        jobs, finish_s = self.instance, self.finish_s[chosen]
        weight, flow_s = jobs.weight[chosen], finish_s - jobs.arrival_s[chosen]
        late = int((finish_s > jobs.deadline_s[chosen]).sum())
        return {
            "weighted_tardiness": float(weight @ self.tardiness_s[chosen]),
            "act_s": float(flow_s.mean()),
            "twct": float(weight @ flow_s),
            "dmc": late,
            "dmr_pct": 100 * late / len(flow_s),
        }

    def sequences(self) -> list[list[int]]:
        """Return the tasks of each GPU in the order in which they run."""
        order = np.lexsort((self.finish_s, self.start_s))
        return [
            [int(task) for task in order if self.gpu[task] == j]
            for j in range(len(self.instance.gpus))
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per task in order of arrival; GPUs are numbered from 1."""
        jobs = self.instance
        columns = {
            "task": jobs.task_names,
            "gpu_number": self.gpu + 1,
            "gpu": [jobs.gpus[j].name for j in self.gpu.tolist()],
            "arrival_s": jobs.arrival_s,
            "start_s": self.start_s,
            "finish_s": self.finish_s,
            "deadline_s": jobs.deadline_s,
            "weight": jobs.weight,
        }
        return rows_of(columns, jobs.tags)

    @property
    def claims(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Array of CLAIM: one row per task and phase, in order of grant.

        job: the task's number, from 1. place: the GPU's index. from_s, to_s: seconds.
        """
        granted_s = self.start_s if self.granted_s is None else self.granted_s
        columns = (self.gpu, granted_s, self.start_s, self.finish_s)
        rows = enumerate(zip(*(column.tolist() for column in columns)), start=1)
        return claims_table(
            [(id, ((j, 1),), *times_s, ()) for id, (j, *times_s) in rows]
        )

    @property
    def timeline(self) -> Timeline:
        """The schedule for plots: tasks by name, coloured by memory."""
        jobs = self.instance
        granted_s = self.start_s if self.granted_s is None else self.granted_s
        ids = range(1, jobs.tasks + 1)
        visits = np.array(
            list(zip(ids, jobs.arrival_s, granted_s, self.finish_s, jobs.deadline_s)),
            VISIT,
        )
        sizes_gb = np.unique([gpu.memory_gb for gpu in jobs.gpus])
        kinds = [
            f"up to {size:g} GB"
            for size in sizes_gb[np.searchsorted(sizes_gb, jobs.memory_gb)]
        ]
        places = tuple(
            f"{number} {gpu.name}" for number, gpu in enumerate(jobs.gpus, start=1)
        )
        return Timeline(
            "GPU",
            places,
            (1.0,) * len(places),
            self.claims,
            visits,
            dict(zip(ids, jobs.task_names)),
            dict(zip(ids, kinds)),
            self.policy,
        )

    def fault(self) -> str:
        """Return which of Eq. 2 to 6 the schedule breaks, and where; "" if none."""
        jobs = self.instance
        times_s = jobs.times_s[np.arange(jobs.tasks), self.gpu]
        for broken, what in (
            (times_s == np.inf, "runs on a GPU whose memory it exceeds (Eq. 3)"),
            (
                np.abs(self.finish_s - self.start_s - times_s)
                > 1e-9 * np.maximum(1, self.finish_s),
                "runs too long or short (Eq. 4)",
            ),
            (self.start_s < jobs.arrival_s, "starts before it arrives (Eq. 5)"),
        ):
            for task in np.flatnonzero(broken):
                return f"task {jobs.task_names[task]} {what}"
        for sequence in self.sequences():
            for one, other in pairwise(sequence):
                if self.start_s[other] < self.finish_s[one]:
                    return (
                        f"tasks {jobs.task_names[one]} and {jobs.task_names[other]}"
                        " overlap (Eq. 6)"
                    )
        return ""


@dataclass(frozen=True)
class Solution:
    """Result of a scheduler.

    course: search steps. bound: a proven lower bound. optimal: whether proven optimal.
    """

    schedule: Schedule
    course: Sequence[Any] = ()
    bound: float = 0.0
    optimal: bool = False


def greedy_assignment(
    instance: Instance, order: Iterable[int], least_start: bool = False
) -> Schedule:
    """Assign tasks one by one to the GPU that finishes (EFT) or starts each first.

    A GPU runs its tasks in the order of assignment; ties go to the first GPU. order:
    all task indices. least_start: choose by start, not finish. hgsp.txt Section III.A
    (FIFO: least start) and III.B (Greedy: least finish).
    """
    tasks = numbers("order", entries_of("order", order, "a list of tasks"), "f8")
    if not np.array_equal(np.sort(tasks, axis=None), np.arange(instance.tasks)):
        raise InputError(
            f"order must contain each of {many(instance.tasks, 'task')} once"
        )
    gpu, free_s = np.zeros(instance.tasks, np.int64), instance.free_s.copy()
    start_s, finish_s = np.zeros((2, instance.tasks))
    for task in tasks.astype(int).tolist():
        begin_s = np.maximum(free_s, instance.arrival_s[task])
        end_s = begin_s + instance.times_s[task]
        j = np.argmin(
            np.where(end_s < np.inf, begin_s, np.inf) if least_start else end_s
        )
        gpu[task], start_s[task], finish_s[task] = j, begin_s[j], end_s[j]
        free_s[j] = end_s[j]
    return Schedule(instance, gpu, start_s, finish_s)


def from_sequences(instance: Instance, sequences: Sequence[Sequence[int]]) -> Schedule:
    """Return the schedule that runs each GPU's task sequence as early as possible."""
    gpu = np.zeros(instance.tasks, np.int64)
    (start_s, finish_s) = np.zeros((2, instance.tasks))
    for j, sequence in enumerate(sequences):
        now_s = instance.free_s[j]
        for task in sequence:
            gpu[task], start_s[task] = j, max(now_s, instance.arrival_s[task])
            now_s = finish_s[task] = start_s[task] + instance.times_s[task, j]
    return Schedule(instance, gpu, start_s, finish_s)


LOOK_AHEAD = 2.0  # K of ATC; 1.5 to 4.5 are usual


class Columns(NamedTuple):
    """Waiting tasks in order of arrival; arrays of shape (tasks,), times in seconds.

    least_time_s: p on the fastest GPU that fits. times_s: p_ij, of shape (tasks, GPUs);
    infinite if a task does not fit.
    """

    weight: Floats
    deadline_s: Floats
    least_time_s: Floats
    times_s: Floats


def columns_of(instance: Instance, tasks: Sequence[int]) -> Columns:
    """Select tasks of an instance by their indices."""
    rows = np.asarray(tasks, np.int64)  # once, which takes most of the time
    return Columns(*(getattr(instance, name)[rows] for name in Columns._fields))


Priority = Callable[[Columns, float], Floats]
"""(waiting tasks, time in seconds) -> priorities; the largest goes first."""


# now_s: one signature for all rules
def wspt(waiting: Columns, now_s: float) -> Floats:  # noqa: ARG001
    """Weighted shortest processing time: w / p, on the fastest GPU that a task fits on.

    Source: Smith (1956), Naval Research Logistics Quarterly 3, 59-66.
    """
    return waiting.weight / waiting.least_time_s


def edd(waiting: Columns, now_s: float) -> Floats:  # noqa: ARG001
    """Earliest due date.

    Source: Jackson (1955), Management Science Research Project 43, UCLA.
    """
    return -waiting.deadline_s


def atc(waiting: Columns, now_s: float) -> Floats:
    """Apparent tardiness cost: w / p x exp(-max(0, d - p - t) / (K mean p)).

    p is the time on the fastest GPU that a task fits on. Source: Vepsalainen and Morton
    (1987), Management Science 33, 1035-1047.
    """
    time_s = waiting.least_time_s
    slack_s = np.maximum(0.0, waiting.deadline_s - time_s - now_s)
    return np.asarray(
        waiting.weight / time_s * np.exp(-slack_s / (LOOK_AHEAD * time_s.mean()))
    )


# dispatching rules by name
RULES: dict[str, Priority] = {"wspt": wspt, "edd": edd, "atc": atc}


def check_rule(priority: object) -> None:
    """Check that a dispatching rule is a function; a name is not."""
    require(
        callable(priority), "priority", priority, "a function, such as RULES['atc']"
    )


def decide(
    waiting: Columns, priority: Priority, idle: Sequence[int], now_s: float
) -> list[tuple[int, int]]:
    """Return (position among the waiting tasks, GPU) pairs to start now.

    Tasks go by priority to the fastest idle GPU that fits; ties to earlier tasks.
    """
    free = sorted(idle)
    answer: list[tuple[int, int]] = []
    for place in map(int, np.argsort(-priority(waiting, now_s), kind="stable")):
        if not free:
            break
        times_s = waiting.times_s[place, free]
        best = int(np.argmin(times_s))
        if np.isfinite(times_s[best]):
            answer.append((place, free.pop(best)))
    return answer


def dispatch(instance: Instance, priority: Priority) -> Schedule:
    """Return the schedule of a rule that knows tasks only once they have arrived.

    priority: an entry of RULES or your own function. Raises InputError for a name.
    """
    check_rule(priority)
    sequences = [list[int]() for _ in instance.gpus]
    free_s = instance.free_s.tolist()
    arrivals = instance.arrival_s.tolist()
    waiting = list[int]()
    moments = sorted({*free_s, *arrivals})  # a heap
    come = 0
    while moments:
        now_s = heappop(moments)
        arrived = bisect_right(arrivals, now_s)
        waiting += range(come, arrived)
        come = arrived
        idle = [j for j, end_s in enumerate(free_s) if end_s <= now_s]
        if waiting and idle:
            pairs = decide(columns_of(instance, waiting), priority, idle, now_s)
            for task, j in [(waiting[place], j) for place, j in pairs]:
                waiting.remove(task)
                sequences[j].append(task)
                free_s[j] = now_s + instance.times_s.item(task, j)
                heappush(moments, free_s[j])
    return from_sequences(instance, sequences)


def best_listed(instance: Instance) -> Schedule:
    """Return the best of the schedules by Greedy and by each rule."""
    schedules = (
        greedy_assignment(instance, range(instance.tasks)),
        *(dispatch(instance, rule) for rule in RULES.values()),
    )
    return min(schedules, key=lambda schedule: schedule.weighted_tardiness)
