"""Figures, rows and descriptions of runs of a job on spot and on-demand instances."""

from __future__ import annotations

from math import isnan, nan
from typing import Any, NamedTuple

from cgrsp_simpy.base.metric import Metric, summed
from cgrsp_simpy.base.timeline import Timeline
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.report import NO_COLUMNS, Report
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.market.zones import HOUR_S
from cgrsp_simpy.spot.job import Job, Stay
from cgrsp_simpy.spot.optimum import Market

LATE_S = 1e-3  # a smaller lateness counts as none, since times are sums of doubles

METRICS = {
    "cost_usd": Metric("cost", "USD"),
    "cost_pct": Metric("cost, relative to on demand only", "%"),
    "saving_pct": Metric(
        "saving, relative to that of the omniscient optimum", "%", "more"
    ),
    "missed": Metric("deadlines missed"),
    "finish_h": Metric("end of the job", "h", ""),
    "restarts": Metric("restarts"),
    "taken": Metric("preempted instances"),
    "spot_h": Metric("time on spot", "h", ""),
    "on_demand_h": Metric("time on demand", "h", ""),
    "idle_h": Metric("time without an instance", "h", ""),
    "lost_h": Metric("lost computing time", "h"),
    "spot_usd": Metric("rent of spot instances", "USD", ""),
    "on_demand_usd": Metric("rent of on-demand instances", "USD", ""),
    "transfer_usd": Metric("transfers of the checkpoint", "USD", ""),
    "storage_usd": Metric("storage of the checkpoint", "USD", ""),
    "executing_usd": Metric("cost while executing", "USD", ""),
    "changeover_usd": Metric("cost of changeovers", "USD"),
    "wasted_usd": Metric("cost of changeovers cut short", "USD"),
}


class Course(NamedTuple):
    """The instances that the job had on its market, in order."""

    market: Market
    stays: list[Stay]


class SpotReport(Report):
    """Cost, time and losses of the one job."""

    claim_columns = NO_COLUMNS
    metrics = METRICS
    shown = (
        "cost_usd",
        "cost_pct",
        "saving_pct",
        "missed",
        "restarts",
        "spot_h",
        "on_demand_h",
    )
    tested = ("cost_usd",)
    precise = "cost_usd"
    groups = ("job", "restarts", "taken")

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.note = model.source.note(model.job.deadline_s)

    def summary(self, run: Run) -> dict[str, float]:
        return figures(run.plan)

    def summary_of(self, run: Run, chosen: Any) -> dict[str, Any]:
        return {"jobs": int(chosen.sum()), **figures(run.plan)}  # there is one

    def rows(self, run: Run) -> list[dict[str, Any]]:
        """Return one dict with the parameters of the one job and its figures."""
        names = ("job", *Job._fields[1:])
        return [dict(zip(names, row)) | figures(run.plan) for row in run.jobs.tolist()]

    def timeline(self, run: Run, **parts: Any) -> Timeline:
        names = (*(f"spot {zone.name}" for zone in run.plan.market.zones), "on demand")
        return super().timeline(run, resources=names, **parts)

    def describe(self, kind: str, claim: Claim) -> str:
        left_s = claim.run.view.left_s
        # the view does not know the job before its first claim
        left_h = (claim.job.work_s if isnan(left_s) else left_s) / HOUR_S
        return f"{left_h:.2f} h of computing left"


def figures(course: Course) -> dict[str, float]:
    """Return the figures of a run, by name; labels and units are in METRICS.

    An instance is paid per second from its start to its end, including the changeover;
    without an instance, only the checkpoint is paid. The reference, on demand only,
    costs the work and one changeover. An interrupted changeover is wasted.
    """
    (market, held), finish_s = course, course.stays[-1].to_s
    job, zones, kept = market.job, len(market.zones), market.checkpoints
    split: dict[str, float] = dict.fromkeys(("executing", "changeover", "wasted"), 0)
    computed_s, at, moves = 0.0, 0, 0.0
    for stay in held:
        usd, ready_s = market.places[stay.place].usd, stay.from_s + job.overhead_s
        moves += market.moving_usd(market.regions[at], stay.place)
        at = stay.place if stay.place < zones else at
        if stay.wasted(job.overhead_s):
            split["wasted"] += usd(stay.from_s, stay.to_s)
        else:
            split["changeover"] += usd(stay.from_s, ready_s)
            split["executing"] += usd(ready_s, stay.to_s)
            computed_s += stay.to_s - ready_s
    rents = [
        (place < zones, market.places[place].usd(*times_s))
        for place, *times_s, _ in held
    ]
    only_s, storing = job.work_s + job.overhead_s, kept.storing_usd_per_h / HOUR_S
    only_usd = market.places[zones].usd(0.0, only_s) + storing * only_s
    cost_usd = summed(usd for _, usd in rents) + moves + storing * finish_s
    most_usd = only_usd - market.optimum.cost_usd
    held_h = [
        summed(stay.to_s - stay.from_s for stay in held if (stay.place < zones) == spot)
        / HOUR_S
        for spot in (True, False)
    ]
    return {
        "cost_usd": cost_usd,
        "cost_pct": 100 * cost_usd / only_usd,
        "saving_pct": (
            100 * (only_usd - cost_usd) / most_usd if most_usd > 1e-9 else nan
        ),
        "missed": float(finish_s > job.deadline_s + LATE_S),
        "finish_h": finish_s / HOUR_S,
        "restarts": len(held) - 1,
        "taken": sum(stay.end == "taken" for stay in held),
        "spot_h": held_h[0],
        "on_demand_h": held_h[1],
        "idle_h": finish_s / HOUR_S - sum(held_h),
        "lost_h": max(0.0, round((computed_s - job.work_s) / HOUR_S, 9)),
        "spot_usd": summed(usd for spot, usd in rents if spot),
        "on_demand_usd": summed(usd for spot, usd in rents if not spot),
        "transfer_usd": moves,
        "storage_usd": storing * finish_s,
        **{f"{phase}_usd": amount for phase, amount in split.items()},
    }
