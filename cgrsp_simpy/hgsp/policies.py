"""The view of a policy, HGSP schedulers that make plans, and policies that use them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cgrsp_simpy.base.checks import InputError, check_number, require
from cgrsp_simpy.base.parameters import NotNegative, Whole, declared, parameter
from cgrsp_simpy.base.policy import AssignmentError, Wake, offered
from cgrsp_simpy.engine import view as engine
from cgrsp_simpy.engine.claim import Claim, Part
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.engine.resources import ResourceSpec
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.hgsp.exact import solve_exact
from cgrsp_simpy.hgsp.instance import COLUMNS, Instance
from cgrsp_simpy.hgsp.schedule import (
    RULES,
    Columns,
    Priority,
    Schedule,
    Solution,
    check_rule,
    columns_of,
    decide,
    dispatch,
    greedy_assignment,
)
from cgrsp_simpy.hgsp.search import search


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


class View(engine.View):
    """The state at a decision, read-only; the `kind` of each resource is its Gpu.

    A policy returns pairs (task, resource), and optionally a `Wake`.
    """

    __slots__ = ("_by_id", "_delay_s", "_ends_s")

    def __init__(self, run: Simulation, delay_s: float) -> None:
        super().__init__(run)
        self._delay_s = delay_s
        self._by_id: dict[int, Task] = {}  # those that wait
        # None: the GPU is idle
        self._ends_s: list[float | None] = run.plan.instance.free_s.tolist()

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
            if self.time_s(task, place) == math.inf:
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


Answer = Iterator[tuple[Task, ResourceSpec] | Wake]
"""Pairs of a task and the GPU that it gets, and Wakes."""
TaskPolicy = Callable[[View], object]
"""A function of a View that returns or yields pairs (task, resource) and Wakes."""


class Follow:
    """Carry out a schedule: each GPU runs its tasks in order, with planned idling."""

    def __init__(self, schedule: Schedule, name: str = "follow") -> None:
        self.name = name
        self._left = [_turns(schedule, sequence) for sequence in schedule.sequences()]

    def __call__(self, view: View) -> Answer:
        for gpu in view.free:
            left = self._left[gpu.index - 1]
            task = view.task(left[-1][0]) if left else None
            if task is not None and left[-1][1] > view.now_s:
                yield Wake(left[-1][1])
            elif task is not None:
                left.pop()
                yield task, gpu


def _turns(schedule: Schedule, sequence: list[int]) -> list[tuple[int, float]]:
    """Return a GPU's (task id, earliest start or 0 if not idling) pairs, last first."""
    start_s, could_s = schedule.start_s[sequence], schedule.instance.arrival_s[sequence]
    could_s[1:] = np.maximum(could_s[1:], schedule.finish_s[sequence[:-1]])
    held_s = np.where(start_s > could_s, start_s, 0.0)
    turns = [(index + 1, hold_s) for index, hold_s in zip(sequence, held_s.tolist())]
    return turns[::-1]


class Online:
    """A dispatch rule, applied whenever a GPU is idle and tasks wait."""

    def __init__(self, priority: Priority, name: str = "") -> None:
        check_rule(priority)
        self._priority, self.name = priority, name or policy_name(priority)

    def __call__(self, view: View) -> list[tuple[Task, ResourceSpec]]:
        queue, gpus = view.queue, view.resources
        idle = [gpu.index - 1 for gpu in view.free]
        pairs = decide(view.columns, self._priority, idle, view.now_s)
        return [(queue[place], gpus[j]) for place, j in pairs]


class Replan:
    """Every `every_s` seconds, plan the tasks that have arrived and not started.

    plan: function of an instance, with `free_s` when GPUs become free, that returns a
    schedule. name: name in reports.
    """

    asks_on_arrival = True  # plans are due even if every GPU is busy

    def __init__(
        self, plan: Callable[[Instance], Schedule], every_s: float, name: str = "replan"
    ) -> None:
        check_number("replan_s", every_s, above=0)
        self.name, self._plan, self._every_s = name, plan, every_s
        # time of the next plan; None: no task waits for it
        self._due_s: float | None = None
        self._left: list[list[Task]] = []  # per GPU, the last first

    def __call__(self, view: View) -> Answer:
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
        rows = np.array(
            [[getattr(task, column) for column in COLUMNS] for task in queue]
        )
        instance = Instance(
            **dict(zip(COLUMNS, rows.T)),
            gpus=tuple(gpu.kind for gpu in view.resources),
            name="waiting tasks",
            task_names=tuple(task.name for task in queue),
            free_s=np.array(view.free_s),
            times_s=view.columns.times_s,
        )
        return [
            [queue[index] for index in reversed(sequence)]
            for sequence in self._plan(instance).sequences()
        ]


SEARCH_S, MILP_S = 10.0, 60.0


Scheduler = Callable[[Instance, int, int | None, float | None], Solution]
"""(instance, seed, moves, seconds) -> schedule; None: the search's default budget.

With moves and no seconds, a search is reproducible.
"""


SEEDED = ("search", *offered("hgsp"))  # whose answer depends on the seed

# Name -> scheduler, in the order of hgsp.txt Section III, then the others.
SCHEDULERS: dict[str, Scheduler] = {
    "fifo": lambda instance, *_: Solution(
        greedy_assignment(instance, range(instance.tasks), least_start=True)
    ),
    "greedy": lambda instance, *_: Solution(
        greedy_assignment(instance, range(instance.tasks))
    ),
    **{
        name: lambda *arguments, entry=entry: entry.load()(*arguments)
        for name, entry in offered("hgsp").items()
    },
    "search": lambda instance, seed, moves, seconds: Solution(
        *search(
            instance,
            seed,
            moves=moves,
            time_budget_s=seconds if moves or seconds else SEARCH_S,
        )
    ),
    **{
        name: lambda instance, *_, rule=rule: Solution(dispatch(instance, rule))
        for name, rule in RULES.items()
    },
    "milp": lambda instance, _, __, seconds: solve_exact(instance, seconds or MILP_S),
}


MOST_PLANS = 100_000  # within the makespan of the first

OWNERS = {
    "online": tuple(RULES),
    # the MILP takes too long
    "replan_s": tuple(name for name in SCHEDULERS if name != "milp"),
    "moves": ("search",),
    "seconds": ("search", "milp"),
}
"""Parameter -> the schedulers that have it."""


@dataclass(frozen=True)
class Plan:
    """The result of planning ahead of a run.

    solution: None for your own policy, which plans nothing.
    """

    planner: Planner
    instance: Instance
    solution: Solution | None


@declared()
class Planner:
    """A scheduler, and the settings of when it plans.

    Unless it decides online or replans, its plan is frozen: made before the run with
    all arrivals known, and carried out in its order.
    """

    scheduler: str | TaskPolicy = parameter(
        "A name of SCHEDULERS, or your own policy, which is called when tasks arrive."
    )
    online: bool = parameter(
        "Whether a rule (wspt, edd, atc) decides whenever a GPU is idle and tasks"
        " wait.",
        default=False,
    )
    replan_s: NotNegative = parameter(
        "Interval at which it plans the waiting tasks again, seconds; 0: it does not.",
        default=0.0,
    )
    moves: Whole = parameter(
        "Number of moves of the search; 0: as the scenario specifies.", default=0
    )
    seconds: NotNegative = parameter(
        "Time limit of the search or the MILP, seconds; 0: as the scenario specifies.",
        default=0.0,
    )

    def __post_init__(self) -> None:
        require(
            not (self.online and self.replan_s),
            "replan_s",
            self.replan_s,
            "0 if a rule decides online",
        )
        for name, owners in OWNERS.items():
            if getattr(self, name) and self.scheduler not in owners:
                raise InputError(
                    f"{self.scheduler} does not use {name} (used by:"
                    f" {', '.join(owners)})"
                )

    @property
    def name(self) -> str:
        """A string such as "atc:online=true", or the name of the function."""
        if not isinstance(self.scheduler, str):
            return policy_name(self.scheduler)
        values = {name: getattr(self, name) for name in OWNERS if getattr(self, name)}
        text = ",".join(
            f"{name}={'true' if value is True else f'{value:.12g}'}"
            for name, value in values.items()
        )
        return f"{self.scheduler}:{text}" if text else self.scheduler

    @property
    def is_frozen(self) -> bool:
        """Whether the plan is made before the run and carried out in its order."""
        return isinstance(self.scheduler, str) and not (self.online or self.replan_s)

    def within(self, moves: int | None, seconds: float | None) -> Planner:
        """Return the planner with these limits (None or 0: none) if it has none."""
        if self.moves or self.seconds:
            return self
        limits: dict[str, Any] = {"moves": moves or 0, "seconds": seconds or 0}
        return replace(
            self,
            **{
                name: limit
                for name, limit in limits.items()
                if self.scheduler in OWNERS[name]
            },
        )

    def plan(self, instance: Instance, seed: int) -> Plan:
        """Return the plan made before a run; seed: seed of the search."""
        has_plan = isinstance(self.scheduler, str)
        return Plan(
            self, instance, self._solution(instance, seed) if has_plan else None
        )

    def _solution(self, instance: Instance, seed: int) -> Solution:
        return SCHEDULERS[str(self.scheduler)](
            instance, seed, self.moves or None, self.seconds or None
        )

    def policy(self, plan: Plan, seed: int) -> TaskPolicy:
        """Return the policy that carries out a plan.

        Raises InputError if replan_s is so short that the run would take forever.
        """
        if plan.solution is None or not isinstance(self.scheduler, str):
            assert callable(self.scheduler)
            return self.scheduler
        if self.online:
            return Online(RULES[self.scheduler], self.name)
        if not self.replan_s:
            return Follow(plan.solution.schedule, self.name)
        end_s = float(plan.solution.schedule.finish_s.max())
        least_s = end_s / MOST_PLANS
        require(
            self.replan_s >= least_s,
            "replan_s",
            self.replan_s,
            f"at least {least_s:g} for a plan of {end_s:g} s",
        )
        return Replan(
            lambda instance: self._solution(instance, seed).schedule,
            self.replan_s,
            self.name,
        )


MEANINGS = {
    "fifo": "Tasks in order of arrival, each on the GPU that can start it first.",
    "greedy": "Tasks in order of arrival, each on the GPU that finishes it first.",
    "search": "Local search, within a number of moves or seconds.",
    **{name: rule.__doc__ for name, rule in RULES.items()},
    "milp": "An integer program, for about ten tasks, within a number of seconds.",
}


class Factory(partial[Planner]):
    """Factory of a scheduler's planner."""

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        (name,) = self.args
        return MEANINGS.get(name) or offered("hgsp")[name].load().__doc__

    @property
    def lacks(self) -> list[str]:
        """Parameters of `Planner` that the scheduler does not accept."""
        return [name for name, owners in OWNERS.items() if self.args[0] not in owners]


POLICIES = {name: Factory(Planner, name) for name in SCHEDULERS}
"""Name -> its planner, with the parameters of `Planner`."""
