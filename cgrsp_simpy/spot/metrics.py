"""What became of the job: its instances, and the figures of a run."""

from __future__ import annotations

from math import nan
from typing import NamedTuple

from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.model.model import Metric
from cgrsp_simpy.spot.market import HOUR_S
from cgrsp_simpy.spot.optimum import Market

ROUNDING_S = 1e-3  # who ends later than the deadline by less is in time: sums of doubles

METRICS = {
    "cost_usd": Metric("cost", "USD"),
    "cost_pct": Metric("cost, of on demand only", "%"),
    "saving_pct": Metric("saving, of the omniscient optimum's", "%", "more"),
    "missed": Metric("deadlines missed"),
    "finish_h": Metric("end of the job", "h", ""),
    "restarts": Metric("restarts"),
    "taken": Metric("instances taken away"),
    "spot_h": Metric("time on spot", "h", ""),
    "on_demand_h": Metric("time on demand", "h", ""),
    "idle_h": Metric("time without an instance", "h", ""),
    "executing_usd": Metric("cost while executing", "USD", ""),
    "changeover_usd": Metric("cost of changeovers", "USD"),
    "wasted_usd": Metric("cost of changeovers cut short", "USD"),
}
"""What the figures of a run are."""


class Stay(NamedTuple):
    """The job on one instance.

    Attributes
    ----------
    place : int
        The zone's number, or that of on demand.
    from_s, to_s : float
        From its start, with the changeover, until it ended; seconds.
    end : str
        done, taken (by the market) or left (by the policy).
    """

    place: int
    from_s: float
    to_s: float
    end: str

    def wasted(self, overhead_s: float) -> bool:
        """Whether it ended before its changeover did."""
        return self.end != "done" and self.to_s <= self.from_s + overhead_s


class Course(NamedTuple):
    """What became of the job on its market: the instances that it had, in order."""

    market: Market
    stays: list[Stay]


def stays(run: Run) -> tuple[Stay, ...]:
    """The instances that the job of a run had, in order."""
    return tuple(run.plan.stays)


def figures(course: Course) -> dict[str, float]:
    """The figures of a run, by name; labels and units stand in METRICS.

    An instance costs from its start until it ends, by the second, the changeover included; a job
    without an instance costs nothing. On demand only costs its price for the work and one
    changeover. A changeover cut short, since the instance was taken or left, has brought nothing:
    that is what is wasted, since the job keeps all its progress.
    """
    (market, held), finish_s = course, course.stays[-1].to_s
    job, zones = market.job, len(market.zones)
    split: dict[str, float] = dict.fromkeys(("executing", "changeover", "wasted"), 0)

    def usd(place: int, length_s: float) -> float:
        per_h = job.spot_usd_per_h if place < zones else job.on_demand_usd_per_h
        return length_s / HOUR_S * per_h

    for stay in held:
        place, from_s, to_s, _ = stay
        if stay.wasted(job.overhead_s):
            split["wasted"] += usd(place, to_s - from_s)
        else:
            ready_s = from_s + job.overhead_s
            split["changeover"] += usd(place, ready_s - from_s)
            split["executing"] += usd(place, to_s - ready_s)
    only_usd = usd(zones, job.work_s + job.overhead_s)
    cost_usd = sum(usd(stay.place, stay.to_s - stay.from_s) for stay in held)
    most_usd = only_usd - market.optimum.cost_usd
    held_h = [
        sum(stay.to_s - stay.from_s for stay in held if (stay.place < zones) == spot) / HOUR_S
        for spot in (True, False)
    ]
    return {
        "cost_usd": cost_usd,
        "cost_pct": 100 * cost_usd / only_usd,
        "saving_pct": 100 * (only_usd - cost_usd) / most_usd if most_usd > 1e-9 else nan,
        "missed": float(finish_s > job.deadline_s + ROUNDING_S),
        "finish_h": finish_s / HOUR_S,
        "restarts": len(held) - 1,
        "taken": sum(stay.end == "taken" for stay in held),
        "spot_h": held_h[0],
        "on_demand_h": held_h[1],
        "idle_h": finish_s / HOUR_S - sum(held_h),
        **{f"{phase}_usd": amount for phase, amount in split.items()},
    }
