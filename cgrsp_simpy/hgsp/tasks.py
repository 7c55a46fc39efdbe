"""What a scheduler of HGSP tasks sees: those that wait, and the GPUs.

Never a task to come, never a real run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cgrsp_simpy.engine.claims import Claim, Part
from cgrsp_simpy.hgsp.instance import Gpu
from cgrsp_simpy.hgsp.rules import Columns
from cgrsp_simpy.model.policy import PlaceError

__all__ = ["GpuSlot", "Task", "TaskState", "TaskView"]


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A task that has arrived.

    Attributes
    ----------
    id : int
        Its number in order of arrival, from 1.
    name : str
        The id, unless a file gives names.
    arrival_s, deadline_s : float
        Seconds.
    weight : float
        Importance, without a unit.
    workload : float
        L_i; over a GPU's speed it gives seconds.
    memory_gb : float
        That it needs (hgsp.txt Section I.B), GB.
    times_s : tuple of float
        Planned seconds, by GPU; infinite where it does not fit.
    """

    id: int
    name: str
    arrival_s: float
    deadline_s: float
    weight: float
    workload: float
    memory_gb: float
    times_s: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class GpuSlot:
    """A GPU of the cluster.

    Attributes
    ----------
    index : int
        Its place among the GPUs.
    gpu : Gpu
        Its name, memory and speed.
    """

    index: int
    gpu: Gpu

    @property
    def number(self) -> int:
        """What tables and listings call it, from 1."""
        return self.index + 1

    def __repr__(self) -> str:
        return f"GPU {self.number} ({self.gpu.name})"


class TaskState:
    """What is kept for the views.

    delay_s: provisioning delay of each task, seconds. waiting: claims, by task.
    """

    def __init__(self, gpus: Sequence[Gpu], delay_s: float) -> None:
        self.gpus = tuple(GpuSlot(index, gpu) for index, gpu in enumerate(gpus))
        self.delay_s = delay_s
        self.waiting: dict[Task, Claim] = {}
        self.by_id: dict[int, Task] = {}  # those that wait
        self.ends_s: list[float | None] = [None] * len(gpus)  # expected; None: the GPU is idle
        # of all that have arrived, in order of their ids
        self._columns = np.empty((3 + len(gpus), 64))

    def columns(self) -> Columns:
        """The waiting tasks as columns, oldest first."""
        weight, deadline_s, least_time_s, *times_s = self._columns[
            :, [task.id - 1 for task in self.waiting]
        ]
        return Columns(weight, deadline_s, least_time_s, np.array(times_s).T)

    # ---- what the engine tells ----

    def view(self, now_s: float) -> TaskView:
        """What a policy sees now."""
        return TaskView(now_s, self)

    def summary(self) -> str:
        """What a listing says of a decision."""
        return (
            f"{len(self.waiting)} waiting, {self.ends_s.count(None)} of {len(self.gpus)} GPUs idle"
        )

    def describe(self, task: Task) -> str:
        """What a listing says of a task that arrives."""
        return (
            f"task {task.name}, {task.memory_gb:g} GB, weight {task.weight:g}, due"
            f" {task.deadline_s:.2f}"
        )

    def add(self, task: Task) -> None:
        """A task waits."""
        self.by_id[task.id] = task
        if task.id > self._columns.shape[1]:
            self._columns = np.hstack([self._columns, np.empty_like(self._columns)])
        self._columns[:, task.id - 1] = (
            task.weight,
            task.deadline_s,
            min(task.times_s),
            *task.times_s,
        )

    def gave_up(self, task: Task) -> None:
        """No task does."""

    def granted(self, claim: Claim, chosen: GpuSlot) -> Sequence[Part]:
        """A GPU is a task's, for whose memory there is room (hgsp.txt Eq. 3); the claim's
        terms are the GPU.
        """
        task: Task = claim.job
        if not any(chosen is slot for slot in self.gpus):
            raise PlaceError(f"{chosen!r}, which is no GPU of the view")
        if task.memory_gb > chosen.gpu.memory_gb:
            raise PlaceError(
                f"{chosen}, which has {chosen.gpu.memory_gb:g} GB; task {task.name} needs"
                f" {task.memory_gb:g} GB"
            )
        del self.by_id[task.id]
        self.ends_s[chosen.index] = claim.granted_s + self.delay_s + task.times_s[chosen.index]
        claim.terms = chosen
        return ((chosen.index, 1),)

    def released(self, claim: Claim, now_s: float) -> None:
        """A GPU is idle again."""
        self.ends_s[claim.terms.index] = None


class TaskView:
    """What a policy sees at a decision; to be read during the decision only.

    A policy answers with pairs (task, GPU), and if it likes with a `Wake`.

    Parameters
    ----------
    now_s : float
        The clock, seconds.
    state : TaskState
        What it shows.
    """

    __slots__ = ("_state", "now_s")

    def __init__(self, now_s: float, state: TaskState) -> None:
        self.now_s, self._state = now_s, state

    @property
    def queue(self) -> tuple[Task, ...]:
        """The tasks that wait, in order of arrival."""
        return tuple(self._state.waiting)

    @property
    def waiting(self) -> int:
        """Number of tasks that wait."""
        return len(self._state.waiting)

    def task(self, id: int) -> Task | None:
        """The task of an id.

        Parameters
        ----------
        id : int
            In order of arrival, from 1.

        Returns
        -------
        Task or None
            None where it does not wait.
        """
        return self._state.by_id.get(id)

    @property
    def columns(self) -> Columns:
        """The tasks that wait, as columns in the order of `queue`."""
        return self._state.columns()

    @property
    def gpus(self) -> tuple[GpuSlot, ...]:
        """All GPUs."""
        return self._state.gpus

    @property
    def idle(self) -> list[GpuSlot]:
        """The idle GPUs."""
        return [slot for slot, end_s in zip(self._state.gpus, self._state.ends_s) if end_s is None]

    @property
    def free_s(self) -> list[float]:
        """When each GPU is expected to be free, by plan: now if it is idle or late; seconds."""
        return [
            self.now_s if end_s is None else max(self.now_s, end_s) for end_s in self._state.ends_s
        ]
