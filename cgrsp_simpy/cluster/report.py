"""Figures, rows and descriptions of runs of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from cgrsp_simpy.base.metric import Metric
from cgrsp_simpy.base.timeline import Timeline
from cgrsp_simpy.cluster.cluster import gpus_text
from cgrsp_simpy.cluster.jobs import KINDS, Jobs
from cgrsp_simpy.cluster.metrics import METRICS, figures_of, measured, metrics
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.report import Report
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.logs import Tags


class ClusterReport(Report):
    """Report of the paper's metrics for the measured jobs."""

    claim_columns: ClassVar[Mapping[str, str]] = {}
    metrics: Mapping[str, Metric] = METRICS
    shown = (
        "throughput_per_h",
        "utilisation_pct",
        "wait_s",
        "wait_variance_min2",
        "starved",
        "censored",
        "fragmentation_pct",
    )
    tested = ("throughput_per_h", "wait_s", "wait_variance_min2", "starved")
    infinite = "unstable at this load, or more jobs (after) are needed to decide"
    keeps_jobs = True

    @property
    def note(self) -> str:  # type: ignore[override]
        """Message about jobs that have no limit, or still run when the log ends."""
        source, jobs = self.model.source, self.model.jobs
        if not isinstance(source, Jobs):
            return ""
        none = 0 if source.limited is None else int((~source.limited).sum())
        still = 0 if source.running is None else int(source.running.sum())
        whose, see = (
            ("s", "the") if none == jobs else (f" of {none} of {jobs} jobs", "their")
        )
        no_limit = (
            f"{self.model.offered} records no limit{whose}: schedulers that use"
            f" limits use {see} run times instead"
        )
        running = (
            f"{still} of {jobs} jobs of {self.model.offered} were still running"
            " at its end: their waits are known, and their end is estimated by"
            " their limit"
        )
        return "; ".join([no_limit] * (none > 0) + [running] * (still > 0))

    def state_class(self) -> Any:
        from cgrsp_simpy.cluster.state import State  # it needs the scenario

        return State

    def summary(self, run: Run) -> dict[str, float]:
        return metrics(run)

    def summary_of(self, run: Run, chosen: np.ndarray[Any, Any]) -> dict[str, Any]:
        return figures_of(measured(run)[chosen])

    def rows(self, run: Run) -> list[dict[str, Any]]:
        """Return one dict per measured job, with the columns of `Run.jobs` and of a
        log.

        nodes: a string of "node:GPUs" pairs. A log's families and users replace
        numbers.
        """
        names = run.jobs.dtype.names or ()
        parts = run.parts()
        tags = self.tags or Tags()
        taken = {"nodes", *names}.difference(("family", "user"))
        sizes = self.model.cluster.sizes
        nodes = {
            job: " ".join(
                f"{node}:{gpus:g}" for node, gpus in place if node < len(sizes)
            )
            for job, place in parts.items()
        }
        return [
            dict(zip(names, values))
            | {"nodes": nodes[values[0]]}
            | tags.of(values[0], taken)
            for values in measured(run).tolist()
        ]

    def timeline(self, run: Run, **parts: Any) -> Timeline:
        """Return a timeline of nodes and jobs, with the paper's kinds of jobs."""
        sizes, claims = enumerate(self.model.cluster.sizes), run.claims
        claims = claims[claims["resource"] < len(self.model.cluster.sizes)]
        told = {
            "claims": claims[np.lexsort((claims["job"], claims["from_s"]))],
            "resources": tuple(f"{node}  {gpus_text(size)}" for node, size in sizes),
            "kinds": {
                job: KINDS[kind]
                for job, kind in zip(
                    run.jobs["job"].tolist(), run.jobs["kind"].tolist()
                )
            },
        }
        return super().timeline(run, **told | parts)

    def describe(self, kind: str, claim: Claim) -> str:
        row = claim.run.hidden[claim.job]
        arrival_s, gpus, duration_s, estimate_s, *_ = row
        time_s = self.model.time_s(row)
        killed = ", killed at its limit" if time_s < duration_s else ""
        return {
            "submit": f"{gpus_text(gpus)}, limit {estimate_s:.2f} s",
            "start": f"{gpus_text(gpus)}, {claim.env.now - arrival_s:.2f} s of wait",
            "finish": f"{time_s:.2f} s of execution{killed}",
        }[kind]
