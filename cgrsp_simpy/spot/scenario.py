"""One long job under a deadline on spot and on-demand instances."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Annotated, Any

import simpy

from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.base.parameters import (
    Count,
    Positive,
    declared,
    limits,
    parameter,
    rule,
)
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.engine.claim import Claim, Interrupt
from cgrsp_simpy.engine.events import delay_until
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, slots
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
from cgrsp_simpy.spot.report import Course, SpotReport
from cgrsp_simpy.spot.view import ROUNDING_S, View
from cgrsp_simpy.studies.subject import Subject

WORK = 500  # a run takes about as long as so many jobs of the thesis's model
MOST_ZONES = 50


class SpotSubject(Subject):
    """A run is one job; its cost grows with the zones."""

    @property
    def work(self) -> int:
        return WORK * int(self.model.number_of_zones)

    @property
    def parts(self) -> dict[str, Any]:
        return {"source": self.model.source, "checkpoints": self.model.checkpoints}


WholeSeconds = Annotated[
    float,
    limits(f"a number > 0, at most {MOST_HOURS:,}, ten years", gt=0, le=MOST_HOURS),
    rule(
        "a whole number of seconds, in hours",
        lambda hours: abs(hours * HOUR_S - round(hours * HOUR_S)) < 1e-6,
    ),
]


@declared()
class Scenario(Model):
    """A job and its market: everything that a run depends on, but the policy and the
    seed.

    References
    ----------
    Wu et al., "Can't Be Late: Optimizing Spot Instance Savings under Deadlines", NSDI
    2024.
    """

    source: Traces | TwoState = parameter(
        "Series of zones, in which the seed draws the start, the same for all policies;"
        " or a synthetic market, drawn by the seed.",
        default_factory=TwoState,
    )
    hours: WholeSeconds = parameter(
        "C(0) of the paper: computing that the job needs, hours.", default=48.0
    )
    deadline: WholeSeconds = parameter(
        "R(0): hours from the start of the job to its deadline; room for the work and"
        " one overhead.",
        default=52.0,
    )
    overhead: WholeSeconds = parameter(
        "d, the changeover delay: time of each start without progress, hours. Work,"
        " deadline and overhead are whole seconds.",
        default=0.1,
    )
    spot_usd_per_h: Positive = parameter(
        "Spot price if the source has none, USD per hour; by default that of a V100 in"
        " the paper.",
        default=0.97,
    )
    on_demand_usd_per_h: Positive = parameter(
        "On-demand price if the source has none, USD per hour, above the spot price; by"
        " default that of a V100 in the paper.",
        default=3.06,
    )
    zones: Count | None = parameter(
        "Use only this many zones of the source, its first; by default all.",
        default=None,
    )
    checkpoints: Checkpoints = parameter(
        "What is lost when an instance ends, and what it costs to keep the rest; by"
        " default nothing.",
        default=FREE,
    )

    policies = POLICIES
    compared = COMPARED
    report = SpotReport
    subject = SpotSubject
    jobs = 1

    def __post_init__(self) -> None:
        if self.deadline < self.hours + self.overhead - 1e-9:
            raise InputError(
                f"deadline(={self.deadline!r}) must be at least hours + overhead, here"
                f" {self.hours + self.overhead:g} h: it could not be met on demand"
            )
        price, spot_usd = self.on_demand_usd_per_h, self.spot_usd_per_h
        allowed = f"a number > {spot_usd:g}, the price of spot"
        require(price > spot_usd, "on_demand_usd_per_h", price, allowed)
        there = self.source.zones if isinstance(self.source, Traces) else MOST_ZONES
        number, most = self.number_of_zones, min(there, MOST_ZONES)
        require(number <= most, "zones", number, f"at most {most}")
        self.source.check(self.job.deadline_s)

    # ---- the model ----

    def resources(self) -> tuple[ResourceSpec, ...]:
        return slots([*["spot"] * self.number_of_zones, "on demand"], "place")

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, Job, Market]]:
        job, number = self.job, self.number_of_zones
        drawn = self.source.draw(number, job.deadline_s, draw.seed)
        yield 0.0, job, Market(job, drawn[:number], self.checkpoints, *drawn[number:])

    def job_process(self, run: Simulation, job: Job) -> Process:
        """Run the job where its policy sends it, until its work is done."""
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
        """Run the job on an instance until its work is done, or the instance is taken
        or left; return whether it is done. The changeover comes first.
        """
        (market, held), job, end = run.plan, stay.job, "done"
        spot = "spot in " * (stay.assignment < len(market.zones))
        run.emit("dispatch", stay, spot + market.places[stay.assignment].name)
        try:
            yield run.timeout(job.overhead_s)
            with stay.request() as turn:
                yield turn
                yield run.timeout(run.view.left_s)
        except Interrupt as gone:
            if run.view.left_s >= ROUNDING_S:
                end = "taken" if gone.cause == "taken" else "left"
            run.emit(
                "finish" if end == "done" else end, stay, run.report.describe(end, stay)
            )
        held.append(Stay(stay.assignment, stay.granted_s, run.now_s, end))
        stay.phase(
            "wasted" if held[-1].wasted(job.overhead_s) else "changeover",
            stay.granted_s,
        )
        return end == "done"

    def place(
        self, run: Simulation, number: int, changes: Sequence[Stretch | Price]
    ) -> Process:
        """Change whether a place has instances, and its price, over time."""
        kept = run.plan.market.places[number].kept
        for change in changes:
            yield run.timeout(delay_until(run.env.now, change.from_s))
            run.view.turned(number, change)
            if isinstance(change, Stretch) and not (change.up or kept):
                for claim in run.granted_claims:
                    if claim.assignment == number:
                        run.revoke(claim, "taken")
            run.request_decision()

    def view(self, run: Simulation) -> View:
        return View(run)

    @property
    def name(self) -> str:
        """The job and its market."""
        zones = "" if self.number_of_zones == 1 else f" in {self.number_of_zones} zones"
        return (
            f"{self.hours:g} h within {self.deadline:g} h, overhead {self.overhead:g}"
            f" h; {self.source}{zones}"
        )

    @property
    def number_of_zones(self) -> int:
        """Number of zones."""
        return self.source.zones if self.zones is None else self.zones

    @property
    def job(self) -> Job:
        """The job; times in seconds."""
        work_s, deadline_s, overhead_s = (
            float(round(hours * HOUR_S))
            for hours in (self.hours, self.deadline, self.overhead)
        )
        prices = self.spot_usd_per_h, self.on_demand_usd_per_h
        return Job(0, work_s, deadline_s, overhead_s, *prices)
