"""Reports of runs of tasks on GPUs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from cgrsp_simpy.base.metric import Metric
from cgrsp_simpy.base.timeline import Timeline
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.report import NO_COLUMNS, Report
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.hgsp.bounds import lower_bound
from cgrsp_simpy.hgsp.policies import Plan, planned_s
from cgrsp_simpy.hgsp.schedule import Schedule

ROUNDING = 1e-12  # rounding error of times summed by plan and simulation
PLANNED = ("gpu_number", "start_s", "finish_s")

METRICS = {
    "weighted_tardiness": Metric("weighted tardiness", "s"),  # hgsp.txt Eq. 1
    "act_s": Metric("mean time from arrival to completion", "s"),  # Eq. 8
    "twct": Metric("weighted time from arrival to completion", "s"),  # Eq. 7
    "dmc": Metric("missed deadlines"),  # Eq. 9
    "dmr_pct": Metric("missed deadlines", "%"),  # Eq. 10
    "makespan_s": Metric("last completion", "s"),  # Eq. 11
    "utilisation_pct": Metric("GPUs in use", "%", "more"),  # Eq. 12
    "planned_weighted_tardiness": Metric("weighted tardiness of the plan", "s"),
    "lower_bound": Metric("lower bound on the weighted tardiness", "s", ""),
    "gap_pct": Metric("greatest possible distance to the optimum", "%"),
}


class HgspReport(Report):
    """The paper's metrics of the measured schedule and of the plan."""

    claim_columns = NO_COLUMNS
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
    keeps_jobs = True
    groups = ("task", "gpu_number", "gpu", "planned_gpu_number")

    def summary(self, run: Run) -> dict[str, float]:
        """Return the metrics (hgsp.txt equations 1, 7 to 12), lower_bound and gap_pct.

        The plan's weighted tardiness is included if the run can deviate from the plan.
        The gap is the largest possible distance to the optimum, in % of the weighted
        tardiness: NaN if no bound above 0 is known, 0 if the weighted tardiness is 0.
        There is no bound for random service times.
        """
        figures, plan = schedule_of(run).metrics, run.plan
        if not self.model.is_certain or plan.planner.replan_s:
            figures["planned_weighted_tardiness"] = plan_of(run).weighted_tardiness
        if self.model.noise:
            return figures
        bound = lower_bound(plan.instance)
        if plan.solution is not None:
            bound = max(plan.solution.bound, bound)
        value, gap = figures["weighted_tardiness"], math.nan
        if value == 0 or bound > 0:
            gap = 100 * max(0.0, value - bound) / value if value else 0.0
        return {**figures, "lower_bound": bound, "gap_pct": gap}

    def summary_of(self, run: Run, chosen: np.ndarray[Any, Any]) -> dict[str, Any]:
        schedule, jobs = schedule_of(run), int(chosen.sum())
        hours = float(((schedule.finish_s - schedule.start_s)[chosen] / 3600).sum())
        return {"jobs": jobs, "gpu_hours": hours, **schedule.of_tasks(chosen)}

    def rows(self, run: Run) -> list[dict[str, Any]]:
        """Return rows as `Schedule.rows`, with planned values as planned_NAME."""
        return [
            {**row, **{f"planned_{key}": planned[key] for key in PLANNED}}
            for row, planned in zip(schedule_of(run).rows(), plan_of(run).rows())
        ]

    def timeline(self, run: Run, **parts: Any) -> Timeline:
        return replace(schedule_of(run).timeline, **parts)

    def describe(self, kind: str, claim: Claim) -> str:
        task, run, now_s = claim.job, claim.run, claim.env.now
        name = f"task {task.name}, "
        if kind == "submit":
            return (
                f"{name}{task.memory_gb:g} GB, weight {task.weight:g}, due"
                f" {task.deadline_s:.2f}"
            )
        if kind == "start":
            return f"{name}{now_s - task.arrival_s:.2f} s after its arrival"
        factor = run.hidden[task]
        mean_s = planned_s(run, task, run.resources[claim.parts[0][0]])
        planned = f", {mean_s:.2f} s planned" if factor != 1 else ""
        late = "late" if now_s > task.deadline_s else "in time"
        return f"{name}{mean_s * factor:.2f} s of execution{planned}, {late}"


def schedule_of(run: Run) -> Schedule:
    """Return the schedule that was measured in a run of a `Scenario`.

    Raises RuntimeError if a run without uncertainty deviates from its plan.
    """
    plan, jobs = run.plan, run.jobs
    start_s, finish_s, granted_s = (
        jobs[name] for name in ("start_s", "finish_s", "dispatch_s")
    )
    gpu = jobs["gpu_number"] - 1
    measured = Schedule(plan.instance, gpu, start_s, finish_s, granted_s, run.policy)
    if run.scenario.is_certain and plan.planner.is_frozen:
        planned = plan.solution.schedule
        if not (
            np.array_equal(measured.gpu, planned.gpu)
            and np.allclose(measured.finish_s, planned.finish_s, rtol=ROUNDING, atol=0)
        ):
            raise RuntimeError(f"{plan.instance.name}: the run differs from the plan")
    return measured


def plan_of(run: Run) -> Schedule:
    """Return the schedule planned before a run, as if everything were known.

    For your own policy, this is its schedule in a run without uncertainty.
    """
    plan: Plan = run.plan
    if plan.solution is not None:
        return replace(plan.solution.schedule, policy=plan.planner.name)
    if run.scenario.is_certain:
        return schedule_of(run)
    subject = run.scenario.subject(type(run.scenario)(plan.instance))
    return schedule_of(subject.run(plan.planner.scheduler, run.seed))
