"""Model of jobs with deadlines on rented GPU slots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from cgrsp_simpy.base.checks import InputError, check_one_of, require
from cgrsp_simpy.base.files import faults_of, read_toml, toml_text, write_whole
from cgrsp_simpy.base.parameters import Entries, declared, parameter, rule
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.base.table import many
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, slots
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.engine.view import first_come
from cgrsp_simpy.market.gpu import THESIS_GPUS, GpuType, catalogue, round_robin
from cgrsp_simpy.market.model import Market, clock_of
from cgrsp_simpy.market.stock import DAY_S, Stock, start_s
from cgrsp_simpy.rental.instances import Budget, Renting
from cgrsp_simpy.rental.job import Draws, Job, Service, check_job
from cgrsp_simpy.rental.policies import POLICIES, PREEMPTIVE
from cgrsp_simpy.rental.process import job_process, renting_job_process, slot_process
from cgrsp_simpy.rental.record import RECORD, Totals, is_count
from cgrsp_simpy.rental.report import RentalReport, figures_of
from cgrsp_simpy.rental.terms import Opening, Terms, slot_hours
from cgrsp_simpy.rental.toml import described, tables
from cgrsp_simpy.rental.view import OperatorKnowledge, View
from cgrsp_simpy.rental.workload import (
    Drawn,
    HourlyWorkload,
    LoggedWorkload,
    Workload,
    widths,
)
from cgrsp_simpy.studies.subject import Subject

# Term of renting -> terms of which it needs one to have an effect.
NEEDS = {
    "checkpoint_s": ("preemption_per_h", "taken_when_low"),
    "checkpoint_cost_s": ("checkpoint_s",),
    "restart_s": ("preemption_per_h", "taken_when_low", "suspension"),
}


class RentalSubject(Subject):
    """Runs in the compiled loop if possible; a study stores the totals of a run."""

    @property
    def common(self) -> str:  # type: ignore[override]
        """The name "starting day" if the market is replayed, otherwise ""."""
        return "starting day" if self.model.market.series else ""

    def in_common(self, seed: int) -> int:
        market = self.model.market
        return int(start_s(market, seed) // DAY_S) if market.series else seed

    def draw(self, seed: int) -> Drawn:
        return Drawn(self.model.workload, self.model.service, seed)

    def make_policy(self, policy: Any) -> Any:
        """As `Subject.make_policy`; InputError if the terms forbid its suspensions."""
        policy = super().make_policy(policy)
        require(
            self.model.terms.suspension or not getattr(policy, "suspends", False),
            "policy",
            policy_name(policy),
            "a policy without suspension, unless the terms of the scenario allow it",
        )
        return policy

    def simulation(self, policy: Any, seed: int, **how: Any) -> Simulation:
        usd = self.model.terms.budget_usd_per_day
        if usd is not None:
            policy = Budget(policy, usd, self.model.market.clock)
        return super().simulation(policy, seed, **how)

    def not_compiled(self, policy: Any) -> str:
        from cgrsp_simpy.rental.bulk import why_not_compiled  # numba loads for a second

        return why_not_compiled(self.model, policy)

    def compiled(self, policy: Any, seed: int, drawn: Any, records: bool) -> Run | None:
        from cgrsp_simpy.rental.bulk import bulk

        plain = isinstance(drawn, Drawn | None) and not self.not_compiled(policy)
        return bulk(self.model, policy, seed, drawn, records) if plain else None

    def outcome(self, run: Run) -> list[Any]:
        """Return the totals of a run, in the order of the fields of Totals."""
        return [*vars(run.tally).values()]

    def figures(self, outcome: Sequence[Any]) -> dict[str, Any]:
        return figures_of(self.model, Totals(*outcome))

    def completed(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """As `Subject.completed`.

        slots: number of slots, a list of type names, or pairs of an hour and a number.
        gpus: a catalogue ("thesis", "2025" or a CSV file). market.clock: "calibrated"
        or "printed", started at the hour of day of a log or of hourly rates.
        """
        gpus, clock = parameters.get("gpus"), parameters.get("market.clock")
        if "slots" in parameters:
            parameters["slots"], hours = slot_hours(parameters["slots"])
            parameters.setdefault("opening.hours", hours)
        if isinstance(gpus, int | str):
            parameters["gpus"] = catalogue(gpus)
            parameters.setdefault("slots", len(self.model.slots))
        slots = parameters.get("slots")
        are_types = isinstance(slots, tuple) and all(
            isinstance(slot, GpuType) for slot in slots
        )
        if slots is not None and not are_types:
            types = parameters.get("gpus", self.model.gpus)
            if slots in [gpu.name for gpu in types]:  # one slot
                slots = [slots]
            parameters["slots"] = round_robin(slots, types)
        if isinstance(clock, str):
            workload = parameters.get("workload", self.model.workload)
            parameters["market.clock"] = clock_of(clock, workload)
        return parameters

    def check_effective(self, names: Sequence[str], policies: Sequence[Any]) -> None:
        terms = self.model.terms
        for name, owners in NEEDS.items():
            if f"terms.{name}" in names and not any(
                getattr(terms, owner) or f"terms.{owner}" in names for owner in owners
            ):
                raise InputError(f"terms.{name} is used only by {' and '.join(owners)}")


THESIS_TERMS = Terms()
OUTCOME = ("slot", "gpu", "status", "delay_s", "service_s", "cost_usd")
"""Columns of JobRecord that the process of a job records, in this order."""
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
    """Jobs with deadlines on rented GPU slots: all inputs except policy and seed.

    The jobs of a log determine the execution times in `slots` and `gpus`. Raises
    InputError for parts that do not fit each other, such as a slot of an unknown GPU
    type.
    """

    name: str = parameter("Name in tables and messages.")
    workload: AnyWorkload = parameter(
        "The jobs. Hourly arrival rates must start at the hour of day at which the"
        " market's clock starts."
    )
    slots: Annotated[Entries[GpuType], rule("at least one slot", bool)] = parameter(
        "GPU type of each slot; the number of slots is C_max of the thesis. In"
        " sweeps and on the command line, a number is also allowed; the types are"
        " then assigned in turn.",
        default=round_robin(5),
    )
    gpus: RentableTypes = parameter(
        "GPU types that can be rented; the first is the reference of estimates."
        " In sweeps and on the command line also thesis, 2025 or a price list"
        " FILE.csv.",
        default=THESIS_GPUS,
    )
    free_types: bool = parameter(
        "Whether the policy chooses the type of an idle slot at each dispatch, as"
        " described in thesis Section 4.3; the interpretation calibrated to the"
        " thesis's results is False.",
        default=False,
    )
    market: Market = parameter(
        "Distributions of stock and provisioning delays.", default_factory=Market
    )
    service: Service = parameter(
        "Distribution of actual over mean execution time.", default_factory=Service
    )
    terms: Terms = parameter("Terms of renting.", default_factory=Terms)
    opening: Opening = parameter(
        "Number of open slots per hour of day.", default_factory=Opening
    )

    policies = POLICIES | PREEMPTIVE
    compared = ("fifo", "spt", "edf", "rh", "cadr")
    report = RentalReport
    subject = RentalSubject

    def __post_init__(self) -> None:
        if isinstance(self.workload, LoggedWorkload):
            self._take_times_from(self.workload)
        self._check_types()
        self._check_workload()
        self._check_terms()

    def _take_times_from(self, log: LoggedWorkload) -> None:
        """Set the mean execution times of all types: a log's means over the speed."""
        means_s = log.mean_service_s()
        for field in ("slots", "gpus"):
            with_times = tuple(
                replace(gpu, mean_execution_s=tuple(s / gpu.speed for s in means_s))
                for gpu in getattr(self, field)
            )
            object.__setattr__(self, field, with_times)

    def _check_types(self) -> None:
        """Check that all GPU types can be rented and have a time per complexity."""
        names = [gpu.name for gpu in self.gpus]
        for what, referred in (
            ("GPU type", [gpu.name for gpu in self.slots]),
            ("GPU type of hourly stock", [part.gpu for part in self.market.stock]),
            ("GPU type of a stock series", [part.gpu for part in self.market.series]),
            ("GPU type of a preemption", [part.gpu for part in self.terms.preemption]),
        ):
            for name in referred:
                check_one_of(what, name, names)
        levels = len(self.workload.mix)
        allowed = f"one time for each of {many(levels, 'level')}"
        for gpu in dict.fromkeys((*self.slots, *self.gpus)):
            times = gpu.mean_execution_s
            require(
                len(times) >= levels, f"mean_execution_s of {gpu.name}", times, allowed
            )

    def _check_workload(self) -> None:
        slots, hours = len(self.slots), self.opening.hours
        most = max((number for _, number in hours), default=slots)
        require(
            most == slots,
            "opening.hours",
            hours,
            f"pairs whose largest number is the number of slots, {slots}",
        )
        allowed = f"at most {most}, the number of slots"
        wide = 1
        for job, gpus in enumerate(widths(self.workload)):
            require(gpus <= most, f"GPUs of job {job}", gpus, allowed)
            wide = max(wide, gpus)
        spans_s = islice(self.opening.spans_s(wide - 1, 0.0), len(hours) + 1)
        longest_s = max(close_s - open_s for open_s, close_s in spans_s)
        allowed = f"less than the {longest_s:g} s for which enough slots are open"
        boot_s = self.opening.boot_s
        require(boot_s < longest_s, "opening.boot_s", boot_s, allowed)
        if isinstance(self.workload, HourlyWorkload):
            start_h, clock_h = self.workload.rates.start_h, self.market.clock.start_h
            require(
                start_h == clock_h,
                "start_h of the arrival rates",
                start_h,
                f"that of the market's clock, {clock_h:g}",
            )
        # the jobs of a log bring their actual times
        logged = isinstance(self.workload, LoggedWorkload)
        if self.service.distribution == "lognormal" and not logged:
            levels, sigma = len(self.workload.mix), self.service.sigma
            require(
                len(sigma) >= levels,
                "sigma",
                sigma,
                f"one number for each of {many(levels, 'level')}",
            )

    def _check_terms(self) -> None:
        terms, market = self.terms, self.market
        levels = len(self.workload.mix)
        longest_s = max(max(gpu.mean_execution_s[:levels]) for gpu in self.types)
        terms.check_against(market, [gpu.name for gpu in self.types], longest_s)
        if terms.retry_s is None:
            return
        # Low stock refuses a job: each type must be better stocked at some time
        changes_s = [
            3600 * (hour - market.clock.start_h) % DAY_S for hour in market.change_hours
        ]
        never = {series.gpu for series in market.series if not series.longest_s}
        for gpu in self.types:
            chances = [market.probabilities(gpu, at_s) for at_s in changes_s]
            require(
                gpu.name not in never and min(low for _, _, low in chances) < 1,
                "retry_s",
                terms.retry_s,
                f"omitted if {gpu.name} is out of stock at every hour",
            )

    @property
    def types(self) -> tuple[GpuType, ...]:
        """GPU types that a slot can have."""
        return tuple(dict.fromkeys(self.gpus if self.free_types else self.slots))

    # ---- as a model ----

    @property
    def jobs(self) -> int:
        """Number of jobs in a run."""
        return self.workload.jobs

    @property
    def columns(self) -> dict[str, str]:  # type: ignore[override]
        """The columns OUTCOME, and those that the terms of renting add."""
        return {name: RECORD[name] for name in OUTCOME} | {
            name: "i4" if is_count(name) else "f8" for name in self.terms.columns
        }

    def resources(self) -> tuple[ResourceSpec, ...]:
        return slots(self.slots)

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, Job, Draws]]:
        for job, draws in self.workload.generate(draw.seed, self.service):
            yield job.submit_s, job, draws

    def processes(self, run: Simulation) -> Iterator[Process]:
        if self.opening.hours:
            yield from (slot_process(run, slot) for slot in range(len(self.slots)))

    def job_process(self, run: Simulation, job: Job) -> Process:
        if run.renting is None:
            return job_process(run, job)
        return renting_job_process(run, job)

    def view(self, run: Any) -> View:
        # Set here and not in `set_up`: the view shows the stock, and a scenario that
        # derives from this one keeps `set_up` to itself.
        run.stock = self.stock_of(run.seed)
        run.gpu_index = {gpu.name: index for index, gpu in enumerate(self.gpus)}
        view = View(self.known(), run.stock, run.seed, run)
        # shared by rented instances; under the thesis's terms there are none
        run.renting = None if self.terms == THESIS_TERMS else Renting(run, view)
        if isinstance(run.policy, Budget):
            run.policy.totals = run.records.tally
        return view

    def stock_of(self, seed: int) -> Stock:
        """Return the stock in a run with the given seed."""
        return Stock(self.market, seed)

    @cached_property
    def compiled_setup(self) -> Any:
        """Data that all compiled runs of the scenario share: a `bulk.Fixed`."""
        from cgrsp_simpy.rental.bulk import Fixed  # numba takes a second to load

        return Fixed(self)

    # ---- what policies see ----

    def known(self) -> OperatorKnowledge:
        """Return what an operator of this scenario knows from experience."""
        load = self.workload
        return OperatorKnowledge(
            gpus=self.gpus,
            fleet=self.slots,
            free_types=self.free_types,
            arrival_rate_per_s=load.rate_per_s,
            complexity_mix=load.mix,
            classes=load.classes,
            gpus_per_job=load.gpus_per_job,
            market=self.market.known,
            arrival_rates=load.rates if isinstance(load, HourlyWorkload) else None,
            terms=self.terms,
        )

    def moment(
        self,
        queue: Iterable[Job],
        now_s: float = 0.0,
        busy: dict[int, float] | None = None,
        seed: int = 0,
    ) -> View:
        """Return a view for testing a policy without a simulation.

        queue: the waiting jobs. now_s: seconds from the start of the run. busy: maps
        the index of each busy slot to its expected end, seconds; the others are idle.
        seed: seed of the policy's random numbers and of the statuses shown. Raises
        InputError for an invalid job.
        """
        # view of a run never started
        view: View = Simulation(self, first_come, seed).view
        names = [deadline_class.name for deadline_class in self.workload.classes]
        for index, end_s in (busy or {}).items():
            view.mark_busy(index, end_s)
        for job in sorted(queue, key=lambda job: (job.submit_s, job.id)):
            check_job(job, names)
            view.on_enqueue(job)
        view.on_decision(now_s)
        return view

    def to_toml(self, path: str | Path) -> None:
        """Write the scenario to a TOML file, from which `from_toml` reads an equal one.

        An existing file is overwritten. Raises InputError for a workload that no file
        can represent, and for a part of a class of your own, which TOML cannot name.
        """
        write_whole(Path(path), toml_text(tables(self)).encode())

    @classmethod
    def from_toml(cls, path: str | Path) -> Scenario:
        """Read a scenario from a TOML file; only [workload] is required.

        Raises InputError with the file's name if it is not TOML, or has an unknown key
        or an invalid value.
        """
        path = Path(path)
        with faults_of(path):
            return described(Scenario, read_toml(path), path)
