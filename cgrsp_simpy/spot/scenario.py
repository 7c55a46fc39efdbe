"""One long job under a deadline, and a market: what policies are simulated, compared
and swept on, and the figures of a run.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import Any, NamedTuple

import simpy

from cgrsp_simpy.base.checks import InputError, check_number, check_whole, require
from cgrsp_simpy.base.metric import Metric, summed
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.base.timeline import Timeline
from cgrsp_simpy.engine.claim import Claim, Interrupt
from cgrsp_simpy.engine.events import delay_until
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, slots
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.spot.market import (
    FREE,
    HOUR_S,
    MOST_HOURS,
    Checkpoints,
    Job,
    Price,
    Stay,
    Stretch,
    Traces,
    TwoState,
)
from cgrsp_simpy.spot.optimum import Market
from cgrsp_simpy.spot.policies import COMPARED, POLICIES
from cgrsp_simpy.spot.view import ROUNDING_S, View

MOST_ZONES = 50
WORK = 500  # a run takes about as long as so many jobs of the thesis's model
LATE_S = 1e-3  # who ends later than the deadline by less is in time: sums of doubles

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
    "lost_h": Metric("computing lost", "h"),
    "spot_usd": Metric("rent in zones", "USD", ""),
    "on_demand_usd": Metric("rent on demand", "USD", ""),
    "transfer_usd": Metric("moving the checkpoint", "USD", ""),
    "storage_usd": Metric("keeping the checkpoint", "USD", ""),
    "executing_usd": Metric("cost while executing", "USD", ""),
    "changeover_usd": Metric("cost of changeovers", "USD"),
    "wasted_usd": Metric("cost of changeovers cut short", "USD"),
}
"""What the figures of a run are."""


class Course(NamedTuple):
    """What became of the job on its market: the instances that it had, in order."""

    market: Market
    stays: list[Stay]


@dataclass(frozen=True)
class Scenario(Model):
    """A job and its market: everything that a run depends on, but the policy and the
    seed.

    Parameters
    ----------
    source : Traces or TwoState
        Series of zones, in which the seed draws the start, the same for all policies;
        or a made-up market, drawn by the seed.
    hours : float
        C(0) of the paper: computing that the job needs, hours.
    deadline : float
        R(0): by when it must be done, hours from its start; room for the work and one
        overhead.
    overhead : float
        d, the changeover delay: time of each start without progress, hours. Work,
        deadline and overhead are whole seconds.
    spot_usd_per_h, on_demand_usd_per_h : float
        Prices where the source tells none, USD an hour; spot is cheaper. Unless told,
        those of a V100 in the paper.
    zones : int, optional
        The first so many of the source; all that it has unless told.
    checkpoints : Checkpoints
        What is lost when an instance ends, and what it costs to keep the rest; nothing
        unless told.

    References
    ----------
    Wu et al., "Can't Be Late: Optimizing Spot Instance Savings under Deadlines", NSDI
    2024.
    """

    source: Traces | TwoState = field(default_factory=TwoState)
    hours: float = 48.0
    deadline: float = 52.0
    overhead: float = 0.1
    spot_usd_per_h: float = 0.97
    on_demand_usd_per_h: float = 3.06
    zones: int | None = None
    checkpoints: Checkpoints = FREE

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
    policies = POLICIES
    compared = COMPARED
    jobs = 1

    def __post_init__(self) -> None:
        require(
            isinstance(self.source, (Traces, TwoState)),
            "source",
            self.source,
            "Traces or TwoState",
        )
        for name in ("hours", "overhead", "deadline"):
            hours, whole = getattr(self, name), "a whole number of seconds, in hours"
            check_number(name, hours, above=0)
            require(
                hours <= MOST_HOURS, name, hours, f"at most {MOST_HOURS:,}, ten years"
            )
            require(
                abs(hours * HOUR_S - round(hours * HOUR_S)) < 1e-6, name, hours, whole
            )
        if self.deadline < self.hours + self.overhead - 1e-9:
            raise InputError(
                f"deadline(={self.deadline!r}) must be at least hours + overhead, here"
                f" {self.hours + self.overhead:g} h: it could not be met on demand"
            )
        check_number("spot_usd_per_h", self.spot_usd_per_h, above=0)
        check_number(
            "on_demand_usd_per_h", self.on_demand_usd_per_h, above=self.spot_usd_per_h
        )
        there = self.source.zones if isinstance(self.source, Traces) else MOST_ZONES
        check_whole("zones", self.number_of_zones, least=1, most=min(there, MOST_ZONES))
        known = isinstance(self.checkpoints, Checkpoints)
        require(known, "checkpoints", self.checkpoints, "Checkpoints")
        self.source.check(self.job.deadline_s)

    # ---- the model ----

    def resources(self) -> tuple[ResourceSpec, ...]:
        return slots([*["spot"] * self.number_of_zones, "on demand"], "place")

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, Job, Market]]:
        job, number = self.job, self.number_of_zones
        drawn = self.source.draw(number, job.deadline_s, draw.seed)
        yield 0.0, job, Market(job, drawn[:number], self.checkpoints, *drawn[number:])

    def job_process(self, run: Simulation, job: Job) -> Process:
        """The job goes where its policy sends it, until its work is done."""
        market, done = run.hidden[job], False
        run.plan = Course(market, [])
        for number in range(len(market.places)):
            if changes := market.changes(number):
                run.process(self.place(run, number, changes))
        stay = run.claim(job, request=False)
        while not done:
            yield stay
            with stay:
                # it may be moved at any time
                move = run.claim(job, request=False, instead_of=stay)
                if stay.parts:  # else it is idle
                    done = yield from self.instance(run, stay)
                if done:
                    run.leave(move)
            stay = move

    def instance(
        self, run: Simulation, stay: Claim
    ) -> Generator[simpy.Event, Any, bool]:
        """The job on an instance: the changeover, then its work, until that is done, or
        the instance is taken, or left. Whether it is done.
        """
        (market, held), job, end = run.plan, stay.job, "done"
        spot = "spot in " * (stay.granted < len(market.zones))
        run.emit("dispatch", stay, spot + market.places[stay.granted].name)
        try:
            yield run.timeout(job.overhead_s)
            with stay.request() as turn:
                yield turn
                yield run.timeout(run.view.left_s)
        except Interrupt as gone:
            if run.view.left_s >= ROUNDING_S:
                end = "taken" if gone.cause == "taken" else "left"
            run.emit("finish" if end == "done" else end, stay, self.says(end, stay))
        held.append(Stay(stay.granted, stay.granted_s, run.now_s, end))
        stay.phase(
            "wasted" if held[-1].wasted(job.overhead_s) else "changeover",
            stay.granted_s,
        )
        return end == "done"

    def place(
        self, run: Simulation, number: int, changes: Sequence[Stretch | Price]
    ) -> Process:
        """A place: it has instances, and has none, in turn, and prices."""
        kept = run.plan.market.places[number].kept
        for change in changes:
            yield run.timeout(delay_until(run.env.now, change.from_s))
            run.view.turned(number, change)
            if isinstance(change, Stretch) and not (change.up or kept):
                for claim in run.granted_claims:
                    if claim.granted == number:
                        run.revoke(claim, "taken")
            run.request_decision()

    def view(self, run: Simulation) -> View:
        return View(run)

    def says(self, kind: str, claim: Claim) -> str:
        return f"{claim.run.view.left_s / HOUR_S:.2f} h of computing left"

    # ---- figures, rows and pictures ----

    def summary(self, run: Run) -> dict[str, float]:
        return figures(run.plan)

    def summary_of(self, run: Run, chosen: Any) -> dict[str, Any]:
        return {"jobs": int(chosen.sum()), **figures(run.plan)}  # there is one

    def rows(self, run: Run) -> list[dict[str, Any]]:
        """One dict, since there is one job: its terms and the figures."""
        names = ("job", *Job._fields[1:])
        return [dict(zip(names, row)) | figures(run.plan) for row in run.jobs.tolist()]

    def timeline(self, run: Run, **parts: Any) -> Timeline:
        names = (*(f"spot {zone.name}" for zone in run.plan.market.zones), "on demand")
        return super().timeline(run, resources=names, **parts)

    # ---- studies ----

    @property
    def name(self) -> str:
        """What is to be done, and where."""
        zones = "" if self.number_of_zones == 1 else f" in {self.number_of_zones} zones"
        return (
            f"{self.hours:g} h within {self.deadline:g} h, overhead {self.overhead:g}"
            f" h; {self.source}{zones}"
        )

    @property
    def work(self) -> int:
        return WORK * self.number_of_zones

    @property
    def number_of_zones(self) -> int:
        """How many zones a run has."""
        return self.source.zones if self.zones is None else self.zones

    @property
    def job(self) -> Job:
        """The job, in seconds."""
        work_s, deadline_s, overhead_s = (
            float(round(hours * HOUR_S))
            for hours in (self.hours, self.deadline, self.overhead)
        )
        prices = self.spot_usd_per_h, self.on_demand_usd_per_h
        return Job(0, work_s, deadline_s, overhead_s, *prices)

    @property
    def parts(self) -> dict[str, Any]:
        return {"source": self.source, "checkpoints": self.checkpoints}


def figures(course: Course) -> dict[str, float]:
    """The figures of a run, by name; labels and units stand in METRICS.

    An instance costs from its start until it ends, by the second, the changeover
    included; a job without an instance pays for its checkpoint only. On demand only
    costs its price for the work and one changeover. A changeover cut short, since the
    instance was taken or left, has brought nothing: that is what is wasted.
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
