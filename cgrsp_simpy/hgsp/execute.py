"""Schedules carried out by the engine, process by process, and dispatch rules as its policies."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.engine.simulation import run_once
from cgrsp_simpy.hgsp.instance import Gpu, Instance
from cgrsp_simpy.hgsp.rules import Priority, decide
from cgrsp_simpy.hgsp.schedule import Schedule
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.model.decision import Assignment, Policy, PolicyError, View
from cgrsp_simpy.model.gpu import GpuType
from cgrsp_simpy.model.job import Job
from cgrsp_simpy.model.market import Market
from cgrsp_simpy.model.scenario import Scenario
from cgrsp_simpy.model.service import Service
from cgrsp_simpy.model.workload import JobList

__all__ = ["Follow", "Online", "carry_out", "execute", "scenario_of"]


def scenario_of(instance: Instance) -> Scenario:
    """The instance for the engine: a slot a GPU, a job a task, whose own complexity level gives its time on each type.

    GPUs are there at once (no provisioning delay), and times are as planned. The engine has no deadline before the arrival; such
    a task is late all the same.

    Raises InputError if a task does not fit on every GPU: the engine knows no memory, and policies for it would put the task
    anywhere. `carry_out` simulates such instances, under policies that look at the memory.
    """
    unfit = np.flatnonzero(~np.isfinite(instance.times_s).all(axis=1))
    if len(unfit):
        raise InputError(
            f"{instance.name}: {len(unfit)} of {instance.tasks} tasks do not fit on every GPU, the first of them task"
            f" {instance.task_names[unfit[0]]}; the engine's policies know no memory, so use cgrsp_simpy.hgsp.execute.carry_out"
        )
    return _scenario(instance)


def _scenario(instance: Instance) -> Scenario:
    jobs = tuple(
        Job(task, arrival_s, max(arrival_s, deadline_s), complexity=task + 1, weight=weight)
        for task, (arrival_s, deadline_s, weight) in enumerate(
            zip(instance.arrival_s.tolist(), instance.deadline_s.tolist(), instance.weight.tolist())
        )
    )
    types = {gpu: _type(gpu, instance) for gpu in dict.fromkeys(instance.gpus)}
    slots = tuple(types[gpu] for gpu in instance.gpus)
    at_once = Market(delay_s=((0.0, 0.0),) * 3)
    certain = Service(sigma=(0.0,) * instance.tasks)
    return Scenario(instance.name, JobList(jobs), slots, tuple(types.values()), market=at_once, service=certain)


def _type(gpu: Gpu, instance: Instance) -> GpuType:
    name = f"{gpu.name}, {gpu.memory_gb:g} GB, speed {gpu.speed:g}"
    return GpuType(name, 0.0, tuple((instance.workload / gpu.speed).tolist()), high_stock_probability=1.0)


class Follow:
    """The policy that carries out a schedule: each GPU runs its tasks in the planned order, each as early as it can."""

    name = "follow"

    def __init__(self, sequences: Iterable[Iterable[int]]) -> None:
        self._left = [list(reversed(list(sequence))) for sequence in sequences]

    def __call__(self, view: View) -> list[Assignment]:
        """The next task of each idle GPU, if it has arrived."""
        waiting = {job.id: job for job in view.queue}
        answer: list[Assignment] = []
        for slot in view.idle:
            left = self._left[slot.index]
            if left and left[-1] in waiting:
                answer.append((waiting[left.pop()], slot))
        return answer


class Online:
    """A dispatch rule as a policy."""

    def __init__(self, instance: Instance, priority: Priority) -> None:
        self._instance, self._priority, self.name = instance, priority, priority.__name__

    def __call__(self, view: View) -> list[Assignment]:
        """What the rule starts now."""
        waiting = {job.id: job for job in view.queue}
        idle = {slot.index: slot for slot in view.idle}
        pairs = decide(self._instance, self._priority, list(waiting), list(idle), view.now_s)
        return [(waiting[task], idle[j]) for task, j in pairs]


def carry_out(instance: Instance, policy: Policy) -> Schedule:
    """The schedule that the engine measures under a policy.

    Raises PolicyError if the policy puts a task on a GPU whose memory it exceeds.
    """
    done = run_once(_scenario(instance), policy).jobs
    found = Schedule(instance, done["slot"].astype(np.int64), done["start_s"].copy(), done["finish_s"].copy())
    for task in np.flatnonzero(~found.fits)[:1]:
        gpu = instance.gpus[found.gpu[task]]
        needs = f"task {instance.task_names[task]}, which needs {instance.memory_gb[task]:g} GB"
        raise PolicyError(f"policy {policy_name(policy)!r} put {needs}, on {gpu.name}, which has {gpu.memory_gb:g} GB")
    return found


def execute(schedule: Schedule) -> Schedule:
    """A schedule as the engine measures it."""
    return carry_out(schedule.instance, Follow(schedule.sequences()))
