"""Reports of runs of graphs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cgrsp_simpy.base.metric import Metric
from cgrsp_simpy.base.timeline import Timeline
from cgrsp_simpy.dag.problem import lower_bound_s
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.report import NO_COLUMNS, Report, rows_of
from cgrsp_simpy.engine.run import Run

METRICS = {
    "makespan_s": Metric("makespan", "s"),
    "bound_s": Metric("lower bound on the makespan", "s", ""),
    "over_bound": Metric("makespan over lower bound"),
    "evaluations": Metric("evaluated plans", better=""),
}
"""Figures of a run."""


class DagReport(Report):
    """Report of the makespan and its ratio to the lower bound."""

    claim_columns = NO_COLUMNS
    metrics = METRICS
    shown = ("makespan_s", "over_bound", "evaluations")
    tested = ("makespan_s",)
    precise = "makespan_s"
    groups = ("node", "unit", "gpu")

    def summary(self, run: Run) -> dict[str, float]:
        """Return the metrics of METRICS by name."""
        (problem, solution), makespan_s = run.plan, run.tally.end_s
        bound_s = lower_bound_s(problem)
        # a graph without work ends when its data have arrived
        unbounded = math.inf if makespan_s else 1.0
        return {
            "makespan_s": makespan_s,
            "bound_s": bound_s,
            "over_bound": makespan_s / bound_s if bound_s else unbounded,
            "evaluations": float(solution.evaluations) if solution else 0.0,
        }

    def summary_of(self, run: Run, chosen: np.ndarray[Any, Any]) -> dict[str, Any]:
        jobs = run.jobs[chosen]
        return {
            "jobs": len(jobs),
            "gpu_hours": float(((jobs["finish_s"] - jobs["start_s"]) / 3600).sum()),
            "wait_s": float((jobs["dispatch_s"] - jobs["ready_s"]).mean()),
            "first_start_s": float(jobs["start_s"].min()),
            "last_finish_s": float(jobs["finish_s"].max()),
        }

    @property
    def tags(self) -> Any:
        return getattr(self.model.graph, "tags", {})

    def rows(self, run: Run) -> list[dict[str, Any]]:
        names = ("unit", "gpu", "start_s", "finish_s")
        columns = {name: run.jobs[name] for name in names}
        return rows_of({"node": run.jobs["name"], **columns}, self.tags)

    def timeline(self, run: Run, **parts: Any) -> Timeline:
        graph, platform = run.plan.problem.graph, run.plan.problem.platform
        called = platform.names or [
            f"{tflops:g} TFLOP/s" for tflops in platform.tflops.tolist()
        ]
        places = tuple([f"{gpu}  {name}" for gpu, name in enumerate(called)])
        chart = super().timeline(
            run, **{"resources": places, "labels": dict(enumerate(graph.names))} | parts
        )
        chart.visits["ready_s"] = run.jobs["ready_s"]
        return chart

    def describe(self, kind: str, claim: Claim) -> str:
        node = claim.job
        if kind == "submit":
            return f"node {node.name} is ready, {node.memory_mb} MB"
        if kind == "finish":
            return f"node {node.name}"
        time_s = claim.run.plan.problem.time_s[node.id, claim.parts[0][0]]
        return f"node {node.name}, {time_s:.4g} s"
