"""Metrics, rows and descriptions of runs on rented slots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.base.metric import Metric
from cgrsp_simpy.base.timeline import Bands, Reasons, Timeline
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.report import Report, columns_of, rows_of
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.logs import Tags
from cgrsp_simpy.rental.record import (
    GAPS,
    KINDS,
    METRICS,
    RECORD,
    STATUS_NAMES,
    Totals,
    figures,
    metrics_of,
)
from cgrsp_simpy.rental.why import bands, reasons


class RentalReport(Report):
    """Metrics for the scenario's deadline classes and terms of renting."""

    claim_columns: ClassVar[Mapping[str, str]] = {}
    metrics: Mapping[str, Metric] = METRICS
    shown = (
        "wait_min",
        "miss_pct",
        "tight_miss_pct",
        "tardiness_min",
        "cost_usd",
        "utilisation_pct",
        "wait_gap_min",
        "miss_gap_pct",
    )
    tested = ("wait_min", "miss_pct", "tardiness_min", "cost_usd")
    precise: ClassVar[str] = "wait_min"

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        more = model.terms.metrics | model.opening.metrics
        metrics = metrics_of(model.workload.classes) | more
        if list(metrics) == list(METRICS):
            return
        further = [name for name in metrics if name not in METRICS]
        after = {
            "miss_pct": [name for name in further if name.endswith("_miss_pct")],
            "tardiness_min": ["weighted_tardiness_min"],
            "utilisation_pct": more,
        }
        shown = [name for old in self.shown for name in (old, *after.get(old, ()))]
        self.metrics = metrics
        self.shown = tuple(name for name in shown if name in (*metrics, *GAPS))

    @property
    def tags(self) -> Tags:
        return getattr(self.model.workload, "tags", Tags())

    @property
    def dtypes(self) -> dict[str, str]:
        columns: dict[str, str] = self.model.columns
        return RECORD | columns

    def tally(self) -> Totals:
        more = self.model.terms.metrics | self.model.opening.metrics
        return Totals.of(self.model.workload.classes, more)

    def state_class(self) -> Any:
        from cgrsp_simpy.rental.state import State  # it needs the scenario

        return State

    def summary(self, run: Run) -> dict[str, Any]:
        """Return the metrics of a run by name, with units in the names.

        jobs, completed: numbers. wait_min: mean wait (thesis Eq. 3.7). miss_pct,
        tight_miss_pct, loose_miss_pct: share of all, tight and loose jobs that end
        after their deadline (NaN if there are none). tardiness_min: mean over all jobs
        (Eq. 3.6). cost_usd: sum (Eq. 3.11). utilisation_pct: time average of used
        slots, with provisioning, from time 0 to the last completion. makespan_h: time
        of the last completion. Time 0 is the scenario's, not the first arrival.

        Other deadline classes have NAME_wait_min, NAME_miss_pct and NAME_tardiness_min
        instead of the metrics of tight and loose jobs. If jobs or classes have weights
        other than 1: weighted_tardiness_min, sum of weight x tardiness over sum of
        weights. `Terms.metrics` contains the metrics that terms of renting add.
        """
        return figures_of(self.model, run.tally)

    def summary_of(self, run: Run, chosen: np.ndarray[Any, Any]) -> dict[str, Any]:
        sums = Totals.of(self.model.workload.classes, self.model.terms.columns)
        if (records := run.jobs[chosen]).size:
            sums.add({name: records[name] for name in records.dtype.names})
        capacity_s = len(self.model.slots) * run.tally.end_s
        return {**figures(sums, int(chosen.sum()), capacity_s), **sums.more}

    def rows(self, run: Run) -> list[dict[str, Any]]:
        """Return one dict per job: the columns of JobRecord, with names for indices.

        slots: indices of all slots of the job, as a string separated by spaces.
        """
        columns, names = columns_of(run), {"status": STATUS_NAMES}
        names["deadline_class"] = [each.name for each in self.model.workload.classes]
        names["gpu"] = [gpu.name for gpu in self.model.gpus]
        for name, texts in names.items():
            columns[name] = [texts[index] for index in columns[name].tolist()]
        columns["slots"] = columns.pop("resources")
        return rows_of(columns, self.tags)

    def kinds(self, run: Run, by: str) -> dict[int, str]:
        """Return the kind of each job by its id.

        by: "complexity", "class" (deadline class) or "status" (stock at dispatch).
        """
        check_one_of("colour_by", by, KINDS)
        column, first, names = KINDS[by]
        if by == "class":
            classes = self.model.workload.classes
            names = tuple(f"{each.name} deadline" for each in classes)
        values, last = run.jobs[column].astype(int) - first, len(names) - 1
        if values.max(initial=0) > last:
            names = (*names[:-1], f"{names[-1]} and more")
        kinds = np.array(names)[np.minimum(values, last)].tolist()
        return dict(zip(run.jobs["job"].tolist(), kinds))

    def timeline(self, run: Run, **parts: Any) -> Timeline:
        names = tuple(f"{n}  {gpu.name}" for n, gpu in enumerate(self.model.slots))
        return super().timeline(
            run, resources=names, kinds=self.kinds(run, "complexity"), **parts
        )

    def describe(self, kind: str, claim: Claim) -> str:
        job, now_s = claim.job, claim.env.now
        if kind == "submit":
            name = self.model.workload.classes[job.deadline_class].name
            gpus = f", {job.gpus} GPUs" if job.gpus > 1 else ""
            return (
                f"complexity {job.complexity}, {name}, due {job.deadline_s:.2f}{gpus}"
            )
        if kind == "start":
            delay_s, wait_s = now_s - claim.granted_s, now_s - job.submit_s
            return f"{delay_s:.2f} s of provisioning, {wait_s:.2f} s of wait in all"
        late = "late" if now_s > job.deadline_s else "in time"
        return f"{now_s - claim.started_s:.2f} s of execution, {late}"

    def bands(self, run: Run) -> Bands:
        """Return the periods of Low stock of each type, for the player."""
        market, slots = self.model.market, self.model.slots
        return bands(market, slots, run.seed, run.timeline.end_s)

    def reasons(self, run: Run) -> Reasons | None:
        """Return the reasons for the policy's decisions; None if it gives none."""
        return reasons(self.model, run.rule, run.seed)


def figures_of(scenario: Any, sums: Totals) -> dict[str, Any]:
    """Return the metrics of a whole run from its totals."""
    slots, start_h = len(scenario.slots), scenario.market.clock.start_h
    capacity_s = scenario.opening.open_s(slots, start_h, sums.end_s)
    capacity_s += 3600.0 * sums.more.get("overtime_h", 0.0)
    return {
        **figures(sums, scenario.jobs, capacity_s),
        "makespan_h": sums.end_s / 3600,
        **sums.more,
    }
