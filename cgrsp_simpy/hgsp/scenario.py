"""Tasks on GPUs (HGSP), on which schedulers are simulated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.base.parameters import (
    Count,
    NotNegative,
    Positive,
    declared,
    limits,
    parameter,
)
from cgrsp_simpy.base.streams import Draw, stream
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, slots
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.hgsp.generate import LEVELS, Level, generate
from cgrsp_simpy.hgsp.instance import COLUMNS, Instance
from cgrsp_simpy.hgsp.policies import POLICIES, TaskPolicy
from cgrsp_simpy.hgsp.report import HgspReport
from cgrsp_simpy.hgsp.subject import HgspSubject
from cgrsp_simpy.hgsp.view import Task, View, planned_s


@declared()
class Scenario(Model):
    """Tasks on GPUs, and in what reality differs from the plans: all but the scheduler
    and the seed.
    """

    source: str | Level | Instance = parameter(
        "A name of LEVELS or a Level, whose tasks are drawn for each seed, or an"
        " Instance, such as that of a file, the same for every seed.",
        default="tasks1",
    )
    noise: Annotated[float, limits("a number from 0 to 100", ge=0, le=100)] = parameter(
        "Coefficient of variation of service times, 0 to 100. They are the planned ones"
        " times log-normal draws of mean 1, one per task. No plan knows the draws, and"
        " they are the same under every scheduler.",
        default=0.0,
    )
    delay_s: NotNegative = parameter(
        "Provisioning delay before each task, seconds, >= 0; the task holds its GPU"
        " already.",
        default=0.0,
    )
    unknown_arrivals: bool = parameter(
        "Tasks are known when they arrive: no plan is frozen, a rule is asked online.",
        default=False,
    )
    replan_s: Positive | None = parameter(
        "Plan again every so many seconds, unless a scheduler's text says when it"
        " plans.",
        default=None,
    )
    moves: Count | None = parameter(
        "Limit of a search whose text has none.", default=None
    )
    seconds: Positive | None = parameter(
        "Limit of a search or a MILP whose text has none.", default=None
    )

    policies = POLICIES
    compared = ("fifo", "greedy", "sagreedy", "search:moves=20000", "atc")
    policy_label = "scheduler"
    report = HgspReport
    subject = HgspSubject
    columns: ClassVar = {"gpu_number": "i8"}

    def __post_init__(self) -> None:
        if isinstance(self.source, str):
            check_one_of("load level", self.source, LEVELS)

    @property
    def name(self) -> str:
        """The tasks, and how reality differs from the plans."""
        told = {
            f"noise {self.noise:g}": self.noise,
            f"delay {self.delay_s:g} s": self.delay_s,
            "unknown arrivals": self.unknown_arrivals,
            f"plans every {self.replan_s or 0:g} s": self.replan_s,
        }
        source = self.source if isinstance(self.source, str) else self.source.name
        return ", ".join([source, *(text for text, holds in told.items() if holds)])

    @property
    def is_certain(self) -> bool:
        """Whether everything happens as planned."""
        return self.noise == 0 and self.delay_s == 0

    @property
    def level(self) -> Level | Instance:
        """The load level, or the instance."""
        return LEVELS[self.source] if isinstance(self.source, str) else self.source

    @property
    def jobs(self) -> int:
        """Number of tasks of a run."""
        return self.level.tasks

    # ---- as a model ----

    def resources(self) -> tuple[ResourceSpec, ...]:
        return slots(self.level.gpus, "GPU", first=1)

    def instance(self, seed: int) -> Instance:
        """Return the tasks of a seed; an instance is the same for every seed."""
        return (
            self.source
            if isinstance(self.source, Instance)
            else generate(self.source, seed)
        )

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, Task, float]]:
        return self.arriving(self.instance(draw.seed), draw.seed)

    def arriving(
        self, instance: Instance, seed: int
    ) -> Iterator[tuple[float, Task, float]]:
        """Yield the tasks, with service time over planned time, which no plan knows."""
        columns = [getattr(instance, column).tolist() for column in COLUMNS]
        rows = zip(
            instance.task_names,
            *columns,
            noise_factors(self.noise, seed, instance.tasks).tolist(),
        )
        for id, (
            name,
            workload,
            memory_gb,
            due_s,
            weight,
            arrival_s,
            factor,
        ) in enumerate(rows, 1):
            yield (
                arrival_s,
                Task(id, name, arrival_s, due_s, weight, workload, memory_gb),
                factor,
            )

    def job_process(self, run: Simulation, task: Task) -> Process:
        with run.claim(task, request=False) as claim:
            yield claim
            gpu = run.resources[claim.parts[0][0]]
            if run.listener:
                told = f"task {task.name}, {gpu.kind.name} of {gpu.kind.memory_gb:g} GB"
                run.emit("dispatch", claim, told)
            yield run.timeout(self.delay_s, ("start", task.id))

            with claim.request() as turn:
                yield turn
                service_s = (
                    planned_s(run, task, gpu) * run.hidden[task]
                )  # hgsp.txt Eq. 4
                yield run.timeout(service_s, ("finish", task.id))
        run.record(task, gpu.index)

    def view(self, run: Simulation) -> View:
        return View(run, self.delay_s)


def noise_factors(noise: float, seed: int, tasks: int) -> Floats:
    """Return service time over planned time per task, in order of arrival."""
    variance = math.log1p(noise**2)
    return stream(seed, "service noise").lognormal(
        -variance / 2, math.sqrt(variance), tasks
    )


def solve(
    instance: Instance,
    scheduler: str | TaskPolicy,
    *,
    seed: int = 0,
    moves: int | None = None,
    seconds: float | None = None,
) -> Run:
    """Schedule an instance, and carry the schedule out: `schedule_of(run)` is what was
    measured, `run.plan` what was planned, and `run.summary()` says how far from the
    best it can be.

    scheduler: as of `HgspSubject.make_policy`. seed: of the searches, SEEDED. moves,
    seconds: what a search may spend, as of `Scenario`.
    """
    scenario = Scenario(instance, moves=moves, seconds=seconds)
    return HgspSubject(scenario).run(scheduler, seed)
