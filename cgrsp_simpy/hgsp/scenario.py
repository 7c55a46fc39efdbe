"""Tasks on GPUs: what schedulers are simulated, compared and swept on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import (
    InputError,
    check_bool,
    check_given,
    check_number,
    check_one_of,
    check_whole,
    require,
)
from cgrsp_simpy.base.metric import Metric
from cgrsp_simpy.base.streams import Draw, stream
from cgrsp_simpy.base.timeline import Timeline
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.events import Listener
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, slots
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.hgsp.bounds import lower_bound
from cgrsp_simpy.hgsp.generate import LEVELS, Level, generate
from cgrsp_simpy.hgsp.instance import COLUMNS, Instance
from cgrsp_simpy.hgsp.policies import POLICIES, Plan, Planner, TaskPolicy
from cgrsp_simpy.hgsp.rules import RULES
from cgrsp_simpy.hgsp.schedule import Schedule
from cgrsp_simpy.hgsp.view import Task, View, planned_s

MOST_NOISE = 100  # a hundred times the mean
ROUNDING = 1e-12  # of times that a plan and a simulation add up
PLANNED = ("gpu_number", "start_s", "finish_s")

# what the figures of a run are
METRICS = {
    "weighted_tardiness": Metric("weighted tardiness", "s"),  # hgsp.txt Eq. 1
    "act_s": Metric("mean time from arrival to completion", "s"),  # Eq. 8
    "twct": Metric("weighted time from arrival to completion", "s"),  # Eq. 7
    "dmc": Metric("missed deadlines"),  # Eq. 9
    "dmr_pct": Metric("missed deadlines", "%"),  # Eq. 10
    "makespan_s": Metric("last completion", "s"),  # Eq. 11
    "utilisation_pct": Metric("GPUs in use", "%", "more"),  # Eq. 12
    "planned_weighted_tardiness": Metric("weighted tardiness of the plan", "s"),
    "lower_bound": Metric("least weighted tardiness there can be", "s", ""),
    "gap_pct": Metric("by how much the optimum can be below", "%"),
}


@dataclass(frozen=True)
class Scenario(Model):
    """Tasks on GPUs, and in what reality differs from the plans: all but the scheduler
    and the seed.

    Parameters
    ----------
    source : str, Level or Instance
        A name of LEVELS or a Level, whose tasks are drawn anew for each seed, or tasks
        that are there (a file), the same for every seed.
    noise : float
        Coefficient of variation of service times, 0 to 100. They are the planned ones
        times log-normal draws of mean 1, one a task, whoever schedules, which no plan
        knows.
    delay_s : float
        Provisioning delay before each task, seconds, >= 0; the task holds its GPU
        already.
    unknown_arrivals : bool
        Tasks are known when they arrive: no plan is frozen, a rule is asked online.
    replan_s : float, optional
        Plan anew every so many seconds, unless a scheduler's text says when it plans.
    moves : int, optional
        Of a search whose text gives no limit.
    seconds : float, optional
        Of a search or a MILP whose text gives no limit.
    """

    source: str | Level | Instance = "tasks1"
    noise: float = 0.0
    delay_s: float = 0.0
    unknown_arrivals: bool = False
    replan_s: float | None = None
    moves: int | None = None
    seconds: float | None = None

    metrics = METRICS
    shown = (
        "weighted_tardiness",
        "planned_weighted_tardiness",
        "dmr_pct",
        "act_s",
        "makespan_s",
        "utilisation_pct",
        "gap_pct",
    )
    tested = ("weighted_tardiness", "dmr_pct", "act_s")
    precise = "weighted_tardiness"
    policies = POLICIES
    compared = ("fifo", "greedy", "sagreedy", "search:moves=20000", "atc")
    policy_label = "scheduler"
    keeps_jobs = True
    columns: ClassVar = {"gpu_number": "i8"}

    def __post_init__(self) -> None:
        if isinstance(self.source, str):
            check_one_of("load level", self.source, LEVELS)
        known = isinstance(self.source, (str, Level, Instance))
        require(known, "source", self.source, "a Level or its name, or an Instance")
        check_number("noise", self.noise, least=0, most=MOST_NOISE)
        check_number("delay_s", self.delay_s, least=0)
        check_bool("unknown_arrivals", self.unknown_arrivals)
        check_given(self, check_number, "replan_s", above=0)
        check_given(self, check_whole, "moves", least=1)
        check_given(self, check_number, "seconds", above=0)

    @property
    def name(self) -> str:
        """The tasks, and in what reality differs from a plan."""
        told = {
            f"noise {self.noise:g}": self.noise,
            f"delay {self.delay_s:g} s": self.delay_s,
            "unknown arrivals": self.unknown_arrivals,
            f"plans every {self.replan_s or 0:g} s": self.replan_s,
        }
        source = self.source if isinstance(self.source, str) else self.source.name
        return ", ".join([source, *(text for text, holds in told.items() if holds)])

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether tasks or their times are drawn; on tasks that are there only a
        search has luck.
        """
        return self.noise > 0 or not isinstance(self.source, Instance)

    @property
    def is_certain(self) -> bool:
        """Whether all comes as planned."""
        return self.noise == 0 and self.delay_s == 0

    @property
    def _level(self) -> Level | Instance:
        return LEVELS[self.source] if isinstance(self.source, str) else self.source

    @property
    def jobs(self) -> int:
        """Number of tasks of a run."""
        return self._level.tasks

    # ---- as a model ----

    def resources(self) -> tuple[ResourceSpec, ...]:
        return slots(self._level.gpus, "GPU", first=1)

    def draw(self, seed: int) -> Instance:
        """The tasks of a seed; an instance is the same for all."""
        return (
            self.source
            if isinstance(self.source, Instance)
            else generate(self.source, seed)
        )

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, Task, float]]:
        return self._arriving(self.draw(draw.seed), draw.seed)

    def _arriving(
        self, instance: Instance, seed: int
    ) -> Iterator[tuple[float, Task, float]]:
        """The tasks with what no plan knows: service time over planned time."""
        columns = [getattr(instance, column).tolist() for column in COLUMNS]
        rows = zip(
            instance.task_names,
            *columns,
            luck(self.noise, seed, instance.tasks).tolist(),
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

    def says(self, kind: str, claim: Claim) -> str:
        task, run, now_s = claim.job, claim.run, claim.env.now
        told = f"task {task.name}, "
        if kind == "submit":
            return (
                f"{told}{task.memory_gb:g} GB, weight {task.weight:g}, due"
                f" {task.deadline_s:.2f}"
            )
        if kind == "start":
            return f"{told}{now_s - task.arrival_s:.2f} s after its arrival"
        factor = run.hidden[task]
        mean_s = planned_s(run, task, run.resources[claim.parts[0][0]])
        planned = f", {mean_s:.2f} s planned" if factor != 1 else ""
        late = "late" if now_s > task.deadline_s else "in time"
        return f"{told}{mean_s * factor:.2f} s of execution{planned}, {late}"

    # ---- figures, rows and pictures ----

    def summary(self, run: Run) -> dict[str, float]:
        """The metrics (hgsp.txt equations 1, 7 to 12), the plan's where reality
        differs, lower_bound and gap_pct.

        Where service times vary there is no bound. The gap is by how much the optimum
        can be below, in % of the weighted tardiness found: NaN if no bound is known but
        that nothing is below 0; what reaches 0 is optimal all the same, and its gap is
        0.
        """
        figures, plan = schedule_of(run).metrics, run.plan
        if not self.is_certain or plan.planner.replan_s:
            figures["planned_weighted_tardiness"] = plan_of(run).weighted_tardiness
        if self.noise:
            return figures
        proven = 0.0 if plan.solution is None else plan.solution.bound
        bound = max(proven, lower_bound(plan.instance))
        value, gap = figures["weighted_tardiness"], math.nan
        if value == 0 or bound > 0:
            gap = 100 * max(0.0, value - bound) / value if value else 0.0
        return {**figures, "lower_bound": bound, "gap_pct": gap}

    def summary_of(self, run: Run, chosen: np.ndarray[Any, Any]) -> dict[str, Any]:
        found, jobs = schedule_of(run), int(chosen.sum())
        hours = float(((found.finish_s - found.start_s)[chosen] / 3600).sum())
        return {"jobs": jobs, "gpu_hours": hours, **found.of_tasks(chosen)}

    def rows(self, run: Run) -> list[dict[str, Any]]:
        """One dict a task, as of `Schedule.rows`, and what was planned under
        planned_ and its name.
        """
        times = zip(schedule_of(run).rows(), plan_of(run).rows())
        return [
            {**row, **{f"planned_{key}": own[key] for key in PLANNED}}
            for row, own in times
        ]

    def timeline(self, run: Run, **parts: Any) -> Timeline:
        return replace(schedule_of(run).timeline, **parts)

    # ---- studies ----

    def default_policies(self) -> tuple[str, ...]:
        """Rules alone where no plan is possible, the search within the scenario's
        limits.
        """
        if self.unknown_arrivals and self.replan_s is None:
            return tuple(RULES)
        limited = self.moves is not None or self.seconds is not None
        return tuple(
            name.partition(":")[0] if limited else name for name in self.compared
        )

    def make_policy(self, policy: Any) -> Planner:
        """A scheduler from its text, or a policy, and when it plans.

        Raises InputError also for a scheduler to which no such plan is open.
        """
        if isinstance(policy, str) and policy.partition(":")[0] == "annealing":
            raise InputError("annealing is now search, with the same parameters")
        made: Any = super().make_policy(policy)
        own = made if isinstance(made, Planner) else Planner(made)
        planner = own.within(self.moves, self.seconds)
        if planner.is_frozen and self.replan_s is not None:
            planner = replace(planner, replan_s=self.replan_s)
        elif planner.is_frozen and self.unknown_arrivals:
            if planner.scheduler not in RULES:
                raise InputError(
                    f"{planner.name} plans ahead, which unknown arrivals do not allow;"
                    f" have it plan anew (replan_s), or use a rule ({', '.join(RULES)})"
                )
            planner = replace(planner, online=True)
        if (
            planner.scheduler == "search"
            and planner.replan_s
            and not (planner.moves or planner.seconds)
        ):
            raise InputError(
                "search plans anew (replan_s) with few moves; give their number (moves)"
                " or seconds"
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
        plan, tasks = policy.plan(instance, seed), self._arriving(instance, seed)
        run = Simulation(
            self,
            policy.policy(plan, seed),
            seed,
            drawn=tasks,
            records=records,
            listener=listener,
        )
        run.plan = plan
        return run

    @property
    def parts(self) -> dict[str, Level]:
        return {"source": self._level} if isinstance(self._level, Level) else {}


def luck(noise: float, seed: int, tasks: int) -> Floats:
    """Service time over planned time of each task, in order of arrival."""
    variance = math.log1p(noise**2)
    return stream(seed, "service noise").lognormal(
        -variance / 2, math.sqrt(variance), tasks
    )


def schedule_of(run: Run) -> Schedule:
    """The schedule that was measured in a run of a `Scenario`.

    Raises RuntimeError if a plan did not come out as planned although all is certain.
    """
    plan, jobs = run.plan, run.jobs
    start_s, finish_s, granted_s = (
        jobs[name] for name in ("start_s", "finish_s", "dispatch_s")
    )
    gpu = jobs["gpu_number"] - 1
    measured = Schedule(plan.instance, gpu, start_s, finish_s, granted_s, run.policy)
    if run.scenario.is_certain and plan.planner.is_frozen:
        own = plan.solution.schedule
        same = np.array_equal(measured.gpu, own.gpu)
        if not (
            same and np.allclose(measured.finish_s, own.finish_s, rtol=ROUNDING, atol=0)
        ):
            raise RuntimeError(
                f"{plan.instance.name}: the run did not come out as planned"
            )
    return measured


def plan_of(run: Run) -> Schedule:
    """The schedule that was planned ahead of a run of a `Scenario`, with all known; of
    a policy of one's own, what it does where all is certain.
    """
    plan: Plan = run.plan
    if plan.solution is not None:
        return replace(plan.solution.schedule, policy=plan.planner.name)
    if run.scenario.is_certain:
        return schedule_of(run)
    return schedule_of(Scenario(plan.instance).run(plan.planner.scheduler, run.seed))


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

    scheduler: as of `Scenario.make_policy`. seed: of the searches, SEEDED. moves,
    seconds: what a search may spend, as of `Scenario`.
    """
    return Scenario(instance, moves=moves, seconds=seconds).run(scheduler, seed)
