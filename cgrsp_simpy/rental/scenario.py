"""A scenario of rented slots: workload, fleet, market and service times, as a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from cgrsp_simpy.base.checks import check_one_of, require
from cgrsp_simpy.base.files import (
    faults_of,
    read_toml,
    toml_text,
)
from cgrsp_simpy.base.parameters import Entries, declared, parameter, rule
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, slots
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.engine.view import first_come
from cgrsp_simpy.rental.gpu import THESIS_GPUS, GpuType, round_robin
from cgrsp_simpy.rental.instances import Budget, Renting
from cgrsp_simpy.rental.job import Draws, Job, Service, check_job
from cgrsp_simpy.rental.market import LOW, Market
from cgrsp_simpy.rental.policies import POLICIES, PREEMPTIVE
from cgrsp_simpy.rental.process import job_process, renting_job_process
from cgrsp_simpy.rental.record import RECORD, is_count
from cgrsp_simpy.rental.report import RentalReport
from cgrsp_simpy.rental.stock import DAY_S, Stock
from cgrsp_simpy.rental.subject import RentalSubject
from cgrsp_simpy.rental.terms import Terms
from cgrsp_simpy.rental.toml import described, tables
from cgrsp_simpy.rental.view import OperatorKnowledge, View
from cgrsp_simpy.rental.workload import (
    HourlyWorkload,
    LoggedWorkload,
    Workload,
    widths,
)

THESIS_TERMS = Terms()
AnyWorkload = Annotated[
    Workload,
    rule(
        "a workload, such as a PoissonWorkload",
        lambda load: all(
            hasattr(load, name) for name in ("jobs", "classes", "generate")
        ),
    ),
]
RentableTypes = Annotated[
    Entries[GpuType],
    rule("at least one GPU type", bool),
    rule(
        "types of different names",
        lambda gpus: len({gpu.name for gpu in gpus}) == len(gpus),
    ),
]


@declared()
class Scenario(Model):
    """Jobs with deadlines on rented GPU slots: everything that a run depends on, but
    the policy and the seed.

    Raises
    ------
    InputError
        For parts that do not fit each other.
    """

    name: str = parameter("Name for tables and messages.")
    workload: AnyWorkload = parameter(
        "The jobs. Rates by hour must start at the hour of day of the market's clock."
    )
    slots: Annotated[Entries[GpuType], rule("at least one slot", bool)] = parameter(
        "The type of each slot; C_max is their number.", default=round_robin(5)
    )
    gpus: RentableTypes = parameter(
        "The types that can be rented; the first is the reference of estimates.",
        default=THESIS_GPUS,
    )
    free_types: bool = parameter(
        "Whether the policy chooses the type of an idle slot at each dispatch (thesis"
        " Section 4.3 in words; the calibrated reading is False).",
        default=False,
    )
    market: Market = parameter(
        "Distributions of stock and provisioning delays.", default_factory=Market
    )
    service: Service = parameter(
        "Distribution of actual over mean execution time.", default_factory=Service
    )
    terms: Terms = parameter("Terms of renting.", default_factory=Terms)

    policies = POLICIES | PREEMPTIVE
    compared = ("fifo", "spt", "edf", "rh", "cadr")
    report = RentalReport
    subject = RentalSubject

    def __post_init__(self) -> None:
        allowed = f"at most {len(self.slots)}, the number of slots"
        for job, gpus in enumerate(widths(self.workload)):
            require(gpus <= len(self.slots), f"GPUs of job {job}", gpus, allowed)
        names = [gpu.name for gpu in self.gpus]
        for what, listed in (
            ("hourly stock", self.market.stock),
            ("a stock series", self.market.series),
            ("a preemption", self.terms.preemption),
        ):
            for each in listed:
                check_one_of(f"GPU type of {what}", each.gpu, names)
        if isinstance(self.workload, HourlyWorkload):
            own, start_h = self.workload.rates.start_h, self.market.clock.start_h
            same = f"that of the market's clock, {start_h:g}"
            require(own == start_h, "start_h of the arrival rates", own, same)
        if isinstance(self.workload, LoggedWorkload):
            self._take_times_from(self.workload)
        for gpu in self.slots:
            check_one_of("GPU type", gpu.name, names)
        levels = len(self.workload.mix)
        for gpu in dict.fromkeys((*self.slots, *self.gpus)):
            times = gpu.mean_execution_s
            allowed = f"one time for each of {levels} levels"
            require(
                len(times) >= levels, f"mean_execution_s of {gpu.name}", times, allowed
            )
        self._check_terms()
        logged = isinstance(self.workload, LoggedWorkload)
        if self.service.distribution == "lognormal" and not logged:
            sigma = self.service.sigma
            allowed = f"one number for each of {levels} levels"
            require(len(sigma) >= levels, "sigma", sigma, allowed)

    def _check_terms(self) -> None:
        """Check that every job can end under the terms."""
        levels = len(self.workload.mix)
        longest_s = max(max(gpu.mean_execution_s[:levels]) for gpu in self.types)
        self.terms.check_against(
            self.market, [gpu.name for gpu in self.types], longest_s
        )
        hours = [
            3600 * (hour - self.market.clock.start_h)
            for hour in self.market.change_hours
        ]
        never = {each.gpu for each in self.market.series if not each.longest_s}
        for gpu in self.types:
            some = gpu.name not in never and any(
                self.market.probabilities(gpu, at_s % DAY_S)[LOW] < 1 for at_s in hours
            )
            allowed = f"left out where {gpu.name} is out of stock at every hour"
            require(
                self.terms.retry_s is None or some,
                "retry_s",
                self.terms.retry_s,
                allowed,
            )

    def _take_times_from(self, log: LoggedWorkload) -> None:
        """Take mean execution times from a log: by size class, over the speed."""
        means = log.mean_service_s()

        def measured(gpu: GpuType) -> GpuType:
            return replace(
                gpu, mean_execution_s=tuple(mean / gpu.speed for mean in means)
            )

        object.__setattr__(self, "slots", tuple(map(measured, self.slots)))
        object.__setattr__(self, "gpus", tuple(map(measured, self.gpus)))

    @property
    def types(self) -> tuple[GpuType, ...]:
        """GPU types that a slot may have."""
        return tuple(dict.fromkeys(self.gpus if self.free_types else self.slots))

    # ---- as a model ----

    @property
    def jobs(self) -> int:
        """Number of jobs of a run."""
        return self.workload.jobs

    @property
    def columns(self) -> dict[str, str]:  # type: ignore[override]
        """Columns that `run.record` sets: the last ones of JobRecord, and those that
        the terms of renting add.
        """
        own = dict(list(RECORD.items())[-6:])
        return own | {
            name: "i4" if is_count(name) else "f8" for name in self.terms.columns
        }

    def resources(self) -> tuple[ResourceSpec, ...]:
        return slots(self.slots)

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, Job, Draws]]:
        for job, draws in self.workload.generate(draw.seed, self.service):
            yield job.submit_s, job, draws

    def job_process(self, run: Simulation, job: Job) -> Process:
        return (
            job_process(run, job)
            if run.renting is None
            else renting_job_process(run, job)
        )

    def view(self, run: Any) -> View:
        # what dispatches meet, and the view may show
        run.stock = Stock(self.market, run.seed)
        run.gpu_index = {gpu.name: index for index, gpu in enumerate(self.gpus)}
        view = View(self.known(), run.stock, run.seed, run)
        run.renting = None if self.terms == THESIS_TERMS else Renting(run, view)
        if isinstance(run.policy, Budget):
            run.policy.totals = run.records.tally
        return view

    @cached_property
    def compiled_setup(self) -> Any:
        """What the compiled loop needs in every run, as `bulk.Fixed`."""
        from cgrsp_simpy.rental.bulk import Fixed  # numba takes a second to load

        return Fixed(self)

    # ---- what policies see ----

    def known(self) -> OperatorKnowledge:
        """Return what an operator of this scenario knows by experience."""
        load = self.workload
        jobs = (load.rate_per_s, load.mix, load.classes, load.gpus_per_job)
        rates = load.rates if isinstance(load, HourlyWorkload) else None
        more = (self.market.law, rates, self.terms)
        return OperatorKnowledge(self.gpus, self.slots, self.free_types, *jobs, *more)

    def moment(
        self,
        queue: Iterable[Job],
        now_s: float = 0.0,
        busy: dict[int, float] | None = None,
        seed: int = 0,
    ) -> View:
        """A view to try a policy on without a simulation.

        queue: the waiting jobs. now_s: seconds from the start of the run. busy:
        expected end in seconds by index of the busy slots; the others are idle. seed:
        of the policy's own random numbers, and of the statuses shown. Raises InputError
        for a job that is not allowed.
        """
        # of a run that is not let go
        view: View = Simulation(self, first_come, seed).view
        names = [each.name for each in self.workload.classes]
        for index, end_s in (busy or {}).items():
            view.mark_busy(index, end_s)
        for job in sorted(queue, key=lambda job: (job.submit_s, job.id)):
            check_job(job, names)
            view.on_enqueue(job)
        view.on_decision(now_s)
        return view

    def to_toml(self, path: str | Path) -> None:
        """Write the scenario to a TOML file, from which `from_toml` makes an equal one.

        path: the file; one that is there is overwritten. Raises InputError for a
        workload that no file holds, and for a part of a class of one's own, which TOML
        cannot name.
        """
        Path(path).write_text(toml_text(tables(self)), encoding="utf-8")

    @classmethod
    def from_toml(cls, path: str | Path) -> Scenario:
        """Read a scenario from a TOML file.

        What the file leaves out is as in the thesis; only [workload] is needed.

        Result: the scenario that it describes. Raises InputError with the file's name
        for a file that is not TOML, an unknown key or a value that is not allowed.
        """
        path = Path(path)
        with faults_of(path):
            return described(Scenario, read_toml(path), path)
