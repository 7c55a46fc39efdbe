"""HGSP tasks carried out by the engine, process by process: as planned, or with service times and
delays that no plan knows.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from cgrsp_simpy.engine.claims import Slot
from cgrsp_simpy.engine.engine import Engine
from cgrsp_simpy.engine.events import Listener, policy_name
from cgrsp_simpy.engine.instant import delay_until
from cgrsp_simpy.hgsp.instance import COLUMNS, Floats, Instance
from cgrsp_simpy.hgsp.policies import Follow, TaskPolicy
from cgrsp_simpy.hgsp.schedule import Schedule
from cgrsp_simpy.hgsp.tasks import Task, TaskState
from cgrsp_simpy.model.checks import check_number, check_whole, require
from cgrsp_simpy.model.streams import stream

__all__ = ["CERTAIN", "Simulation", "Uncertainty", "execute", "simulate"]

MOST_NOISE = 100  # a hundred times the mean
Process = Generator[simpy.Event, Any, None]


@dataclass(frozen=True)
class Uncertainty:
    """In what reality differs from a plan, which knows nothing of it.

    Parameters
    ----------
    noise : float
        Coefficient of variation of service times, 0 to 100. They are the planned ones times
        log-normal draws of mean 1, one a task, whoever schedules.
    delay_s : float
        Provisioning delay before each task, seconds, >= 0; the task holds its GPU already.
    seed : int
        Of the draws, >= 0.

    Raises
    ------
    InputError
        For a value that is not allowed.
    """

    noise: float = 0.0
    delay_s: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_number("noise", self.noise, least=0)
        require(self.noise <= MOST_NOISE, "noise", self.noise, f"at most {MOST_NOISE}")
        check_number("delay_s", self.delay_s, least=0)
        check_whole("seed", self.seed, least=0)

    @property
    def is_certain(self) -> bool:
        """Whether all comes as planned."""
        return self.noise == 0 and self.delay_s == 0

    def factors(self, tasks: int) -> Floats:
        """Service time over planned time of each task.

        Parameters
        ----------
        tasks : int
            Their number.

        Returns
        -------
        array
            In order of arrival, of shape (tasks,).
        """
        variance = math.log1p(self.noise**2)
        return stream(self.seed, "service noise").lognormal(
            -variance / 2, math.sqrt(variance), tasks
        )


CERTAIN = Uncertainty()  # durations as they are told, and no delay


def simulate(
    instance: Instance,
    policy: TaskPolicy,
    uncertainty: Uncertainty = CERTAIN,
    listener: Listener | None = None,
) -> Schedule:
    """What comes of an instance under a policy; the run works on a copy of it, so that one with
    memory is fresh for every run.

    Parameters
    ----------
    instance : Instance
        Tasks and GPUs.
    policy : callable
        A function of a TaskView, such as `Follow(schedule)` or `Online(atc)`; with an attribute
        hears_all = True it is asked also while every GPU is busy.
    uncertainty : Uncertainty
        In what reality differs from the planned times.
    listener : callable, optional
        Called with each Event.

    Returns
    -------
    Schedule
        As it was measured.

    Raises
    ------
    PolicyError
        If the policy answers what cannot be carried out, such as a GPU without the memory that a
        task needs.
    """
    run = Simulation(instance, policy, uncertainty, listener)
    run.env.run()
    return run.close()


def execute(schedule: Schedule, uncertainty: Uncertainty = CERTAIN) -> Schedule:
    """A schedule carried out: each GPU runs its tasks in the planned order.

    Parameters
    ----------
    schedule : Schedule
        The plan.
    uncertainty : Uncertainty
        In what reality differs from it.

    Returns
    -------
    Schedule
        Without uncertainty it comes out as planned.
    """
    return simulate(schedule.instance, Follow(schedule), uncertainty)


class Simulation:
    """A run that has been set up and not let go."""

    def __init__(
        self,
        instance: Instance,
        policy: TaskPolicy,
        uncertainty: Uncertainty = CERTAIN,
        listener: Listener | None = None,
    ) -> None:
        self.instance, self.delay_s = instance, uncertainty.delay_s
        env = self.env = simpy.Environment()
        slots = [Slot(env, "GPU", number) for number in range(1, len(instance.gpus) + 1)]
        state, hears_all = (
            TaskState(instance.gpus, uncertainty.delay_s),
            getattr(policy, "hears_all", False),
        )
        self.engine = Engine(
            env, slots, state, copy.deepcopy(policy), listener, hears_all=hears_all
        )
        self.gpu = np.zeros(instance.tasks, np.int64)
        self.granted_s, self.start_s, self.finish_s = np.zeros((3, instance.tasks))
        env.process(self.source(uncertainty.factors(instance.tasks)))

    def close(self) -> Schedule:
        """Where and when each task ran, once nothing is left to happen."""
        self.engine.check_done()
        return Schedule(
            self.instance,
            self.gpu,
            self.start_s,
            self.finish_s,
            self.granted_s,
            policy_name(self.engine.policy),
        )

    def source(self, factors: Floats) -> Process:
        """Start the process of each task when it arrives."""
        env, jobs = self.env, self.instance
        columns = (getattr(jobs, column).tolist() for column in COLUMNS)
        rows = zip(jobs.task_names, *columns, jobs.times_s.tolist(), factors.tolist())
        for id, (
            name,
            workload,
            memory_gb,
            deadline_s,
            weight,
            arrival_s,
            times_s,
            factor,
        ) in enumerate(rows, start=1):
            yield env.timeout(delay_until(env.now, arrival_s), ("submit", id))
            task = Task(
                id, name, arrival_s, deadline_s, weight, workload, memory_gb, tuple(times_s)
            )
            env.process(self.task_process(task, factor))

    def task_process(self, task: Task, factor: float) -> Process:
        """A task: wait for a GPU, provisioning delay, request of the GPU, execution, release.

        factor: of the planned time.
        """
        env, engine, index = self.env, self.engine, task.id - 1
        claim = yield engine.claim(task)
        slot, self.granted_s[index] = claim.terms, env.now
        if engine.listener:
            engine.tell(
                "dispatch", claim, f"task {task.name}, {slot.gpu.name} of {slot.gpu.memory_gb:g} GB"
            )
        yield env.timeout(self.delay_s, ("start", task.id))

        claim.acquire()
        self.gpu[index], self.start_s[index] = slot.index, env.now
        if engine.listener:
            engine.tell(
                "start",
                claim,
                f"task {task.name}, {env.now - task.arrival_s:.2f} s after its arrival",
            )
        service_s = task.times_s[slot.index] * factor  # hgsp.txt Eq. 4, times what no plan knows
        yield env.timeout(service_s, ("finish", task.id))

        self.finish_s[index] = env.now
        if engine.listener:
            late = "late" if env.now > task.deadline_s else "in time"
            planned = f", {task.times_s[slot.index]:.2f} s planned" if factor != 1 else ""
            engine.tell(
                "finish",
                claim,
                f"task {task.name}, {service_s:.2f} s of execution{planned}, {late}",
            )
        engine.release(claim)
