"""Tasks on heterogeneous GPUs (HGSP), on which schedulers are simulated."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import Renamed, check_one_of
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
from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.policies import POLICIES, TaskPolicy
from cgrsp_simpy.hgsp.report import HgspReport
from cgrsp_simpy.hgsp.subject import HgspSubject
from cgrsp_simpy.hgsp.view import Task, View, planned_s


@declared()
class Scenario(Model):
    """Tasks on GPUs: all parameters of a run except the scheduler and the seed."""

    source: str | Level | Instance = parameter(
        "The tasks: a name of LEVELS or a Level, from which they are drawn for each"
        " seed, or an Instance, such as one read from a file, the same for every seed.",
        default="tasks1",
    )
    noise: Annotated[float, limits("a number from 0 to 100", ge=0, le=100)] = parameter(
        "Coefficient of variation of service times, 0 to 100. A service time is the"
        " planned one times a log-normal draw of mean 1, one per task. The draws"
        " are unknown to plans, and the same under every scheduler.",
        default=0.0,
    )
    delay_s: NotNegative = parameter(
        "Provisioning delay before each task, seconds, >= 0, during which the task"
        " holds its GPU.",
        default=0.0,
    )
    unknown_arrivals: bool = parameter(
        "Whether tasks become known only on arrival; schedulers then decide"
        " online instead of following a plan made in advance.",
        default=False,
    )
    replan_s: Positive | None = parameter(
        "Interval at which schedulers plan again, seconds, unless the scheduler's"
        " name includes its own.",
        default=None,
    )
    moves: Count | None = parameter(
        "Default limit of the number of moves of a search.", default=None
    )
    seconds: Positive | None = parameter(
        "Default limit of the wall time of a search or MILP, seconds.",
        default=None,
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
        """Description of the tasks and of deviations from plans."""
        texts = (
            self.source if isinstance(self.source, str) else self.source.name,
            f"noise {self.noise:g}" if self.noise else "",
            f"delay {self.delay_s:g} s" if self.delay_s else "",
            "unknown arrivals" if self.unknown_arrivals else "",
            f"plans every {self.replan_s:g} s" if self.replan_s else "",
        )
        return ", ".join(filter(None, texts))

    @property
    def is_certain(self) -> bool:
        """Whether everything happens as planned."""
        return self.noise == 0 and self.delay_s == 0

    level = Renamed("scenario.resolved_source")

    @property
    def resolved_source(self) -> Level | Instance:
        """The source; for the name of a level, that Level."""
        return LEVELS[self.source] if isinstance(self.source, str) else self.source

    @property
    def jobs(self) -> int:
        """Number of tasks per run."""
        return self.resolved_source.tasks

    # ---- as a model ----

    def resources(self) -> tuple[ResourceSpec, ...]:
        return slots(self.resolved_source.gpus, "GPU", first=1)

    def instance(self, seed: int) -> Instance:
        """Return the tasks for a seed; a given instance is the same for every seed."""
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
        """Yield (arrival, task, actual over planned service time) per task."""
        factors = noise_factors(self.noise, seed, instance.tasks).tolist()
        columns = [getattr(instance, column).tolist() for column in Task._fields[2:]]
        rows = zip(instance.task_names, *columns)
        for id, (row, factor) in enumerate(zip(rows, factors), start=1):
            task = Task(id, *row)
            yield task.arrival_s, task, factor

    def job_process(self, run: Simulation, task: Task) -> Process:
        """Wait for a GPU and its provisioning, then run the task on it."""
        with run.claim(task, request=False) as claim:
            yield claim
            number, _ = claim.parts[0]
            gpu = run.resources[number]
            if run.listener:
                kind = f"{gpu.kind.name} of {gpu.kind.memory_gb:g} GB"
                run.emit("dispatch", claim, f"task {task.name}, {kind}")
            yield run.timeout(self.delay_s, ("start", task.id))

            with claim.request() as turn:
                yield turn
                # Equation 4, times the noise
                service_s = planned_s(run, task, gpu) * run.hidden[task]
                yield run.timeout(service_s, ("finish", task.id))
        run.record(task, gpu.index)

    def view(self, run: Simulation) -> View:
        return View(run, self.delay_s)


def noise_factors(noise: float, seed: int, tasks: int) -> Floats:
    """Return log-normal factors per task: mean 1, coefficient of variation `noise`."""
    # standard deviation of the logarithm
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
    """Schedule an instance, and simulate the schedule.

    `schedule_of(run)` returns the measured schedule, `run.plan` is the planned one, and
    `run.summary()` bounds its distance from the optimum. scheduler: as for
    `HgspSubject.make_policy`. moves, seconds: limits of a search, as in `Scenario`.
    """
    scenario = Scenario(instance, moves=moves, seconds=seconds)
    return HgspSubject(scenario).run(scheduler, seed)
