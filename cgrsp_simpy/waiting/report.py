"""Figures, rows and descriptions of runs of the waiting policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from cgrsp_simpy.base.arrays import Bools
from cgrsp_simpy.base.metric import Metric
from cgrsp_simpy.base.timeline import CLAIM, PHASES, Timeline
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.report import Report, rows_of
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.waiting.jobs import Chunk
from cgrsp_simpy.waiting.tally import Tally, most_at_once


class WaitingReport(Report):
    """The paper's figures, of a whole run and per batch."""

    claim_columns: ClassVar[Mapping[str, str]] = {}
    metrics: Mapping[str, Metric] = {  # money is in the unit of the prices
        "wait_s": Metric("mean wait", "s"),
        "price": Metric("price per hour of work"),
        "on_demand_fraction": Metric("share of jobs on demand", better=""),
        "opportunity": Metric("price of the mean wait"),
        "service_s": Metric("mean running time", "s", ""),
        "load": Metric(
            "offered load in machines, or rent per hour if all jobs are rented",
            better="",
        ),
        "cost_per_h": Metric("cost per hour"),
    }
    shown = ("wait_s", "price", "on_demand_fraction", "opportunity")
    tested = shown
    precise: ClassVar[str] = "wait_s"

    def tally(self) -> Tally:
        return Tally(
            self.model.jobs,
            self.model.sizes if self.model.shared else None,
            self.model.steady,
        )

    def summary(self, run: Run) -> dict[str, float]:
        """Return the figures of a log's jobs, or of the middle 80 % of generated jobs.

        Raises InputError if the jobs have no work; see `Tally.figures`.
        """
        return first_of(self.batches(run))

    def batches(self, run: Run) -> dict[str, list[float]]:
        """Return name -> the figure of the whole run, then those of its batches."""
        figures = run.tally.figures(self.model.fixed_per_h, self.model.prices)
        return {name: values.tolist() for name, values in figures.items()}

    def summary_of(self, run: Run, chosen: Bools) -> dict[str, float]:
        """Return the figures of selected jobs.

        jobs: their number. wait_s, service_s: means. on_demand_fraction: share on
        demand. core_hours, on_demand_core_hours: cores times running time.
        """
        jobs = run.jobs[chosen]
        core_h = jobs["cores"] * jobs["run_s"] / 3600
        return {
            "jobs": len(jobs),
            "wait_s": float((jobs["start_s"] - jobs["submit_s"]).mean()),
            "service_s": float(jobs["run_s"].mean()),
            "on_demand_fraction": float(jobs["on_demand"].mean()),
            "core_hours": float(core_h.sum()),
            "on_demand_core_hours": float(core_h[jobs["on_demand"]].sum()),
        }

    def rows(self, run: Run) -> list[dict[str, Any]]:
        jobs = run.jobs
        own = {
            "wait_s": jobs["start_s"] - jobs["submit_s"],
            "on_demand": jobs["on_demand"] + 0,
        }
        names = ("job", *Chunk._fields, "start_s")
        return rows_of({name: jobs[name] for name in names} | own, self.tags)

    def timeline(self, run: Run, **parts: Any) -> Timeline:
        """Return the timeline; jobs on demand are shown on an additional resource."""
        # places: a machine's cores, then its memory
        jobs, step = run.jobs, 1 + self.model.shared
        names = (
            [str(index) for index in range(self.model.machines)]
            if isinstance(self.model.machines, int)
            else [
                f"{index}  {size.name}"
                for index, size in enumerate(self.model.machines)
            ]
        )
        sizes = [float(place.size) for place in tuple(self.model.resources())[::step]]
        claims = run.claims[run.claims["resource"] % step == 0]
        claims["resource"] //= step
        needs = jobs["cores"] if self.model.shared else np.ones(len(jobs))
        place, phase = (np.full(len(jobs), each) for each in (len(names), PHASES[-1]))
        columns = (jobs["job"], place, needs, phase, jobs["start_s"], jobs["finish_s"])
        rented = np.rec.fromarrays(columns, CLAIM)[jobs["on_demand"]]
        rented = rented[rented["to_s"] > rented["from_s"]]
        if jobs["on_demand"].any():
            names.append("on demand")
            sizes.append(most_at_once(rented))
        claims = np.concatenate([claims, rented])
        kinds = np.where(jobs["on_demand"], "on demand", "fixed machine")
        own = {
            "label": "machine",
            "resources": tuple(names),
            "sizes": tuple(sizes),
            "claims": claims[np.argsort(claims["from_s"], kind="stable")],
            "kinds": dict(zip(jobs["job"].tolist(), kinds.tolist())),
        }
        made = super().timeline(run, **own | parts)
        made.visits["granted_s"] = jobs["start_s"]
        return made

    def describe(self, kind: str, claim: Claim) -> str:
        job, wait_s = claim.job, claim.started_s - claim.job.submit_s
        told = {"start": f"waited {wait_s:.2f} s", "finish": f"ran {job.run_s:.2f} s"}
        return told.get(kind, str(job))


def first_of(batches: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return name -> the figure of the whole run."""
    return {name: values[0] for name, values in batches.items()}
