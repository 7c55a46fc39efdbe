"""One long job under a deadline on spot and on-demand instances."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Annotated, Any

import simpy

from cgrsp_simpy.base.checks import (
    InputError,
    require,
    shown,
)
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
from cgrsp_simpy.market.zones import HOUR_S, MOST_HOURS, Stretch, Traces, TwoState
from cgrsp_simpy.spot.job import FREE, Checkpoints, Job, Stay
from cgrsp_simpy.spot.optimum import Market
from cgrsp_simpy.spot.policies import COMPARED, POLICIES
from cgrsp_simpy.spot.report import Course, SpotReport
from cgrsp_simpy.spot.view import ROUNDING_S, View
from cgrsp_simpy.studies.subject import Subject

# computing time of a run per zone, in jobs of the thesis's model
WORK_PER_ZONE = 500
MOST_ZONES = 50


class SpotSubject(Subject):
    """Subject of runs of one job; their duration grows with the number of zones."""

    @property
    def work(self) -> int:
        return WORK_PER_ZONE * int(self.model.number_of_zones)

    @property
    def parts(self) -> dict[str, Any]:
        return {"source": self.model.source, "checkpoints": self.model.checkpoints}


WholeSeconds = Annotated[
    float,
    limits(f"a number > 0, at most {MOST_HOURS:,}, ten years", gt=0, le=MOST_HOURS),
    rule(
        "a whole number of seconds, at least one, in hours",
        lambda hours: abs(hours * HOUR_S - max(1, round(hours * HOUR_S))) < 1e-6,
    ),
]
IN_HOURS = {"unit": "h"}


@declared()
class Scenario(Model):
    """A job and its market: all parameters of a run except the policy and the seed.

    Work, deadline and overhead are in hours, rounded to seconds. Source: Wu et al.,
    "Can't Be Late: Optimizing Spot Instance Savings under Deadlines", NSDI 2024.
    """

    source: Traces | TwoState = parameter(
        "Recorded series of zones, a part of which each run replays from a random"
        " start; or a synthetic market. The draws depend on the seed and are the same"
        " for all policies.",
        default_factory=TwoState,
    )
    hours: WholeSeconds = parameter(
        "C(0) of the paper: computing time that the job needs, hours.",
        default=48.0,
        metadata=IN_HOURS,
    )
    deadline: WholeSeconds = parameter(
        "R(0) of the paper: time from the start of the job to its deadline, hours; at"
        " least hours + overhead.",
        default=52.0,
        metadata=IN_HOURS,
    )
    overhead: WholeSeconds = parameter(
        "d of the paper, the changeover delay: time without progress at the start of"
        " each instance, hours.",
        default=0.1,
        metadata=IN_HOURS,
    )
    spot_usd_per_h: Positive = parameter(
        "Spot price if the source has no prices, USD per hour; by default that of a"
        " V100 in the paper.",
        default=0.97,
    )
    on_demand_usd_per_h: Positive = parameter(
        "On-demand price if the source has no prices, USD per hour, above the spot"
        " price; by default that of a V100 in the paper.",
        default=3.06,
    )
    zones: Count | None = parameter(
        "Number of zones of the source that are used, from the first; default: all.",
        default=None,
    )
    checkpoints: Checkpoints = parameter(
        "Checkpoints: they determine the work lost when an instance ends, and the"
        " cost of storage. Default: nothing is lost and checkpoints are free.",
        default=FREE,
    )

    policies = POLICIES
    compared = COMPARED
    report = SpotReport
    subject = SpotSubject
    jobs = 1

    def __post_init__(self) -> None:
        least_h = self.hours + self.overhead
        if self.deadline < least_h - 1e-9:
            raise InputError(
                f"deadline(={shown(self.deadline)}) must be at least hours + overhead,"
                f" {least_h:g} h: otherwise it cannot be met even on demand"
            )
        price, spot_usd = self.on_demand_usd_per_h, self.spot_usd_per_h
        require(
            price > spot_usd,
            "on_demand_usd_per_h",
            price,
            f"a number > {spot_usd:g}, the spot price",
        )
        most = MOST_ZONES
        if isinstance(self.source, Traces):
            most = min(most, self.source.zones)
        number = self.number_of_zones
        require(number <= most, "zones", number, f"at most {most}")

    # ---- the model ----

    def resources(self) -> tuple[ResourceSpec, ...]:
        return slots([*["spot"] * self.number_of_zones, "on demand"], "place")

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, Job, Market]]:
        job, number = self.job, self.number_of_zones
        drawn = self.source.draw(number, job.deadline_s, draw.seed)
        # the zones, then on demand if the source has a series of it
        yield 0.0, job, Market(job, drawn[:number], self.checkpoints, *drawn[number:])

    def job_process(self, run: Simulation, job: Job) -> Process:
        """Run the job on the resources that its policy chooses, until it is done."""
        run.plan = Course(run.hidden[job], [])
        claim, done = run.claim(job, request=False), False
        while not done:
            yield claim
            # from now on the policy may move the job: the grant of the next claim
            # interrupts it where it is
            next_claim = run.claim(job, request=False, instead_of=claim)
            if claim.parts:  # else the policy leaves the job without an instance
                done = yield from self.use_instance(run, claim)
            if done:
                next_claim.release()
            claim.release()
            claim = next_claim

    def use_instance(
        self, run: Simulation, claim: Claim
    ) -> Generator[simpy.Event, Any, bool]:
        """Run the job on one instance, after the changeover; return whether it is done.

        If not, the market has preempted the instance, or the policy moves the job.
        """
        market, stays = run.plan
        job, resource = claim.job, claim.assignment
        kind = "spot in " if resource < len(market.zones) else ""
        run.emit("dispatch", claim, f"{kind}{market.places[resource].name}")
        try:
            yield run.timeout(job.overhead_s)
            with claim.request() as turn:
                yield turn
                yield run.timeout(run.view.left_s)
            end = "done"
        except Interrupt as interrupt:
            if run.view.left_s < ROUNDING_S:  # the job completes at this instant
                end, event = "done", "finish"
            else:
                end = event = "taken" if interrupt.cause == "taken" else "left"
            run.emit(event, claim, run.report.describe(event, claim))
        stay = Stay(resource, claim.granted_s, run.now_s, end)
        stays.append(stay)
        phase = "wasted" if stay.wasted(job.overhead_s) else "changeover"
        claim.phase(phase, claim.granted_s)
        return end == "done"

    def processes(self, run: Simulation) -> list[Process]:
        return [self.change(run, number) for number in range(len(run.resources))]

    def change(self, run: Simulation, number: int) -> Process:
        """Apply the changes of availability and price of a zone, or of on demand."""
        yield run.timeout(0.0)  # until the job has arrived, and its market with it
        market: Market = run.plan.market
        for change in market.changes(number):
            yield run.timeout(delay_until(run.env.now, change.from_s))
            run.view.on_change(number, change)
            kept = market.places[number].kept
            if isinstance(change, Stretch) and not (change.up or kept):
                for claim in run.granted_claims:
                    if claim.assignment == number:
                        run.revoke(claim, "taken")
            run.request_decision()

    def view(self, run: Simulation) -> View:
        return View(run)

    @property
    def name(self) -> str:
        """Description of the job and its market."""
        zones = "" if self.number_of_zones == 1 else f" in {self.number_of_zones} zones"
        return (
            f"{self.hours:g} h within {self.deadline:g} h, overhead {self.overhead:g}"
            f" h; {self.source}{zones}"
        )

    @property
    def number_of_zones(self) -> int:
        """Number of zones in use."""
        return self.source.zones if self.zones is None else self.zones

    @property
    def job(self) -> Job:
        """The job, with times in seconds."""
        work_s, deadline_s, overhead_s = (
            float(round(hours * HOUR_S))
            for hours in (self.hours, self.deadline, self.overhead)
        )
        prices = self.spot_usd_per_h, self.on_demand_usd_per_h
        return Job(0, work_s, deadline_s, overhead_s, *prices)
