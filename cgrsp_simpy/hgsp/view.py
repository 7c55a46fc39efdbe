"""The view of a scheduler of HGSP tasks: waiting tasks and GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple

from cgrsp_simpy.base.policy import AssignmentError
from cgrsp_simpy.engine import view
from cgrsp_simpy.engine.claim import Claim, Part
from cgrsp_simpy.engine.resources import ResourceSpec
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.hgsp.rules import Columns, columns_of


class Task(NamedTuple):
    """A task that has arrived.

    id: its number in order of arrival, from 1. name: name in the file, if any, else the
    id. arrival_s, deadline_s: seconds. weight: importance. workload: L_i; divided by a
    GPU's speed, seconds. memory_gb: memory needed (hgsp.txt Section I.B).
    """

    id: int
    name: str
    arrival_s: float
    deadline_s: float
    weight: float
    workload: float
    memory_gb: float


# two are equal only if they are the same object, which is found at once
Task.__eq__ = object.__eq__  # type: ignore[method-assign]
Task.__hash__ = object.__hash__  # type: ignore[method-assign]


def planned_s(run: Simulation, task: Task, gpu: Any) -> float:
    """Return p_ij, the planned seconds of a task on a GPU (hgsp.txt Eq. 3 and 4)."""
    return float(run.plan.instance.times_s[task.id - 1, gpu.index - 1])


class View(view.View):
    """The state at a decision, read-only; the `kind` of each resource is its Gpu.

    A policy returns pairs (task, resource), and optionally a `Wake`.
    """

    __slots__ = ("_by_id", "_delay_s", "_ends_s")

    def __init__(self, run: Simulation, delay_s: float) -> None:
        super().__init__(run)
        self._delay_s = delay_s
        self._by_id: dict[int, Task] = {}  # those that wait
        # None: the GPU is idle
        self._ends_s: list[float | None] = [None] * len(run.declared)

    @property
    def waiting(self) -> int:
        """Number of waiting tasks."""
        return len(self._by_id)

    def task(self, id: int) -> Task | None:
        """Return the waiting task with this id, or None."""
        return self._by_id.get(id)

    @property
    def columns(self) -> Columns:
        """Waiting tasks as columns, in the order of `queue`."""
        return columns_of(self._run.plan.instance, [task.id - 1 for task in self.queue])

    def time_s(self, task: Task, gpu: ResourceSpec) -> float:
        """Return the planned seconds of a task on a GPU; inf if it does not fit."""
        return planned_s(self._run, task, gpu)

    @property
    def free_s(self) -> tuple[float, ...]:
        """Planned time at which each GPU is free, seconds; now if that is past."""
        now_s = self._now_s
        return tuple(
            [now_s if end_s is None else max(now_s, end_s) for end_s in self._ends_s]
        )

    # ---- hooks of the engine ----

    def summary(self) -> str:
        idle = f"{len(self.free)} of {len(self.resources)} GPUs idle"
        return f"{self.waiting} waiting, {idle}"

    def on_enqueue(self, job: Task) -> None:
        super().on_enqueue(job)
        self._by_id[job.id] = job

    def on_dequeue(self, job: Task) -> None:
        super().on_dequeue(job)
        del self._by_id[job.id]

    def parse_assignment(self, claim: Claim, chosen: object) -> Sequence[Part]:
        parts, task = super().parse_assignment(claim, chosen), claim.job
        for number, _ in parts:
            place = self.resources[number]
            if self.time_s(task, place) == inf:
                lacks = task.memory_gb > place.kind.memory_gb
                why = f"needs {task.memory_gb:g} GB" if lacks else "cannot run on it"
                raise AssignmentError(
                    f"GPU {place.index} ({place.kind.name}), which has"
                    f" {place.kind.memory_gb:g} GB; task {task.name} {why}"
                )
            self._ends_s[number] = (
                claim.granted_s + self._delay_s + self.time_s(task, place)
            )
        return parts

    def on_release(self, claim: Claim) -> None:
        for number, _ in claim.parts:
            self._ends_s[number] = None
