"""Policies for HGSP tasks: a plan made ahead and carried out, a plan made anew from time to time,
and rules asked online.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from cgrsp_simpy.engine.places import Place
from cgrsp_simpy.hgsp.instance import COLUMNS, Instance
from cgrsp_simpy.hgsp.rules import Priority, decide
from cgrsp_simpy.hgsp.schedule import Schedule
from cgrsp_simpy.hgsp.view import Task, View
from cgrsp_simpy.model.checks import check_number
from cgrsp_simpy.model.policy import Wake

Answer = Iterator[tuple[Task, Place] | Wake]
"""Pairs of a task and the GPU that it gets, and Wakes."""
TaskPolicy = Callable[[View], object]
"""A function of a View that answers with pairs (task, place) and Wakes, as a list or one by one."""


class Follow:
    """Carries out a schedule: each GPU runs its tasks in the planned order, each as early as it
    can.

    Where the plan has a GPU idle although its next task is there, it idles until that task's
    planned start. name: for reports.
    """

    def __init__(self, schedule: Schedule, name: str = "follow") -> None:
        self.name = name
        self._left = [_turns(schedule, sequence) for sequence in schedule.sequences()]

    def __call__(self, view: View) -> Answer:
        """The next task of each idle GPU, if it has arrived and is not held back."""
        for gpu in view.free:
            left = self._left[gpu.index - 1]
            task = view.task(left[-1][0]) if left else None
            if task is not None and left[-1][1] > view.now_s:
                yield Wake(left[-1][1])
            elif task is not None:
                left.pop()
                yield task, gpu


def _turns(schedule: Schedule, sequence: list[int]) -> list[tuple[int, float]]:
    """A GPU's tasks, the last first: id, and until when the plan holds each back, seconds
    (0: it does not).
    """
    start_s, could_s = schedule.start_s[sequence], schedule.instance.arrival_s[sequence]
    could_s[1:] = np.maximum(could_s[1:], schedule.finish_s[sequence[:-1]])
    held_s = np.where(start_s > could_s, start_s, 0.0)
    return [(index + 1, hold_s) for index, hold_s in zip(sequence, held_s.tolist())][::-1]


class Online:
    """A dispatch rule, asked whenever a GPU is idle and tasks wait.

    name: for reports; the rule's own unless given.
    """

    def __init__(self, priority: Priority, name: str = "") -> None:
        self._priority, self.name = priority, name or priority.__name__

    def __call__(self, view: View) -> list[tuple[Task, Place]]:
        """What the rule starts now."""
        queue, gpus = view.queue, view.places
        idle = [gpu.index - 1 for gpu in view.free]
        pairs = decide(view.columns, self._priority, idle, view.now_s)
        return [(queue[place], gpus[j]) for place, j in pairs]


class Replan:
    """Every `every_s` seconds, > 0, plans anew what has arrived and not started, and carries that
    out until the next plan; what arrives between two plans waits for the second.

    plan: from an instance, whose GPUs are free from its `free_s` on, to a schedule. name: for
    reports.
    """

    asks_on_arrival = True  # plans are due also when every GPU is busy

    def __init__(
        self, plan: Callable[[Instance], Schedule], every_s: float, name: str = "replan"
    ) -> None:
        check_number("replan_s", every_s, above=0)
        self.name, self._plan, self._every_s = name, plan, every_s
        self._due_s: float | None = None  # of the next plan; None: nothing waits for it
        self._left: list[list[Task]] = []  # of each GPU, the last first

    def __call__(self, view: View) -> Answer:
        """The next task of each idle GPU by the last plan."""
        if self._due_s is None:
            self._due_s = math.ceil(view.now_s / self._every_s) * self._every_s
        if view.now_s >= self._due_s:
            self._left = self._planned(view)
            self._due_s = math.floor(view.now_s / self._every_s) * self._every_s
            while self._due_s <= view.now_s:
                self._due_s += self._every_s
        for gpu in view.free if self._left else ():
            if self._left[gpu.index - 1]:
                yield self._left[gpu.index - 1].pop(), gpu
        if view.waiting:
            yield Wake(self._due_s)
        else:
            self._due_s = None

    def _planned(self, view: View) -> list[list[Task]]:
        queue = view.queue
        rows = [[getattr(task, column) for column in COLUMNS] for task in queue]
        gpus, names = tuple(gpu.kind for gpu in view.places), tuple(task.name for task in queue)
        columns = dict(zip(COLUMNS, np.array(rows).T))
        instance = Instance(
            **columns, gpus=gpus, name="what waits", task_names=names, free_s=np.array(view.free_s)
        )
        return [
            [queue[index] for index in reversed(sequence)]
            for sequence in self._plan(instance).sequences()
        ]
