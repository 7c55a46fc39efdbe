"""One long job under a deadline on spot and on-demand instances."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import simpy

from cgrsp_simpy.base.checks import InputError, check_number, check_whole, require
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
from cgrsp_simpy.spot.subject import SpotSubject
from cgrsp_simpy.spot.view import ROUNDING_S, View

MOST_ZONES = 50


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

    policies = POLICIES
    compared = COMPARED
    report = SpotReport
    subject = SpotSubject
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
