"""Scenario of tasks on heterogeneous GPUs (HGSP)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Annotated, Any, ClassVar

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import InputError, check_one_of, require
from cgrsp_simpy.base.parameters import (
    Count,
    Positive,
    declared,
    limits,
    parameter,
)
from cgrsp_simpy.base.streams import Draw, stream
from cgrsp_simpy.base.table import Table, figure_text
from cgrsp_simpy.engine.events import Listener
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, slots
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.hgsp.generate import LEVELS, Level, generate
from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.policies import (
    OWNERS,
    POLICIES,
    Planner,
    Task,
    TaskPolicy,
    View,
    planned_s,
)
from cgrsp_simpy.hgsp.report import HgspReport, plan_of, schedule_of
from cgrsp_simpy.hgsp.schedule import RULES
from cgrsp_simpy.studies.subject import Subject

Delay = Annotated[float, limits("a number >= 0, at most 1e+09", ge=0, le=1e9)]


class HgspSubject(Subject):
    """HGSP subject: plans are made before a run, rules decide during it."""

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether tasks or service times are random; if not, only searches are."""
        return self.model.noise > 0 or not isinstance(self.model.source, Instance)

    def draw(self, seed: int) -> Instance:
        """Return the tasks for a seed."""
        instance: Instance = self.model.instance(seed)
        return instance

    def default_policies(self) -> tuple[str, ...]:
        """Return only rules if no plan is possible; else all, with scenario limits."""
        if self.model.unknown_arrivals and self.model.replan_s is None:
            return tuple(RULES)
        limited = self.model.moves is not None or self.model.seconds is not None
        return tuple(
            name.partition(":")[0] if limited else name for name in self.model.compared
        )

    def make_policy(self, policy: Any) -> Planner:
        """Return the planner of a scheduler or policy, with its planning times.

        Also raises InputError for a scheduler that cannot plan at these times.
        """
        choice: Any = super().make_policy(policy)
        planner = choice if isinstance(choice, Planner) else Planner(choice)
        planner = planner.within(self.model.moves, self.model.seconds)
        if planner.is_frozen and self.model.replan_s is not None:
            planner = replace(planner, replan_s=self.model.replan_s)
        elif planner.is_frozen and self.model.unknown_arrivals:
            if planner.scheduler not in RULES:
                raise InputError(
                    f"{planner.name} plans in advance, which is impossible with"
                    " unknown arrivals; set replan_s to plan again at intervals,"
                    f" or use a rule ({', '.join(RULES)})"
                )
            planner = replace(planner, online=True)
        if (
            planner.scheduler == "search"
            and planner.replan_s
            and not (planner.moves or planner.seconds)
        ):
            raise InputError(
                "search with replan_s needs a limit per plan: set moves (a number"
                " of moves) or seconds"
            )
        return planner

    def simulation(
        self,
        policy: Planner,
        seed: int,
        *,
        drawn: Instance | None = None,
        records: bool = True,
        listener: Listener | None = None,
    ) -> Simulation:
        instance = self.draw(seed) if drawn is None else drawn
        plan, tasks = policy.plan(instance, seed), self.model.arriving(instance, seed)
        return Simulation(
            self.model,
            policy.policy(plan, seed),
            seed,
            drawn=tasks,
            records=records,
            listener=listener,
            plan=plan,
        )

    @property
    def parts(self) -> dict[str, Any]:
        """As `Subject.parts`, with a named load level as its Level."""
        source = self.model.resolved_source
        return super().parts | ({"source": source} if is_dataclass(source) else {})

    def check_effective(self, names: Sequence[str], policies: Sequence[Any]) -> None:
        schedulers = {str(policy).partition(":")[0] for policy in policies}
        for name in ("replan_s", "moves", "seconds"):
            allowed = f"omitted unless {' or '.join(OWNERS[name])} runs"
            effective = not schedulers.isdisjoint(OWNERS[name])
            require(
                effective or name not in names, name, getattr(self.model, name), allowed
            )

    def details(self, run: Any) -> tuple[Sequence[Table], Mapping[str, Any]]:
        """Return the planned and the measured metrics, if they can differ."""
        planned, measured = plan_of(run).metrics, schedule_of(run).metrics
        content = {"planned": planned, "measured": measured}
        if self.model.is_certain and not run.plan.planner.replan_s:
            return [], content
        cells = [
            [name, figure_text(planned[name]), figure_text(measured[name])]
            for name in planned
        ]
        return [Table("plan and run", [["", "planned", "measured"], *cells])], content


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
    delay_s: Delay = parameter(
        "Provisioning delay before each task, seconds, during which the task holds"
        " its GPU.",
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

    def processes(self, run: Simulation) -> Iterator[Process]:
        for gpu, free_s in zip(run.resources, run.plan.instance.free_s.tolist()):
            if free_s:
                yield self._unavailable(run, gpu, free_s)

    def _unavailable(self, run: Simulation, gpu: Any, free_s: float) -> Process:
        with run.down(gpu):
            yield run.timeout(free_s)

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
