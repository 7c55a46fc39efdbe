"""A scenario of rented slots: workload, fleet, market and service times, as a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from cgrsp_simpy.base.checks import (
    check_bool,
    check_one_of,
    entries_of,
    require,
)
from cgrsp_simpy.base.files import (
    faults_of,
    read_toml,
    toml_text,
)
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.base.timeline import Bands, Reasons, Timeline
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, slots
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.engine.view import first_come
from cgrsp_simpy.logs import Tags
from cgrsp_simpy.rental.deadlines import DeadlineClasses
from cgrsp_simpy.rental.gpu import THESIS_GPUS, GpuType, round_robin
from cgrsp_simpy.rental.instances import Budget, Renting
from cgrsp_simpy.rental.job import Draws, Job, Service, check_job
from cgrsp_simpy.rental.market import LOW, Market, clock_of
from cgrsp_simpy.rental.policies import POLICIES, PREEMPTIVE
from cgrsp_simpy.rental.process import job_process, renting_job_process
from cgrsp_simpy.rental.record import (
    GAPS,
    KINDS,
    METRICS,
    RECORD,
    STATUS_NAMES,
    Totals,
    figures,
    is_count,
    metrics_of,
)
from cgrsp_simpy.rental.stock import DAY_S, Stock, start_s
from cgrsp_simpy.rental.terms import Terms
from cgrsp_simpy.rental.toml import described, tables
from cgrsp_simpy.rental.view import OperatorKnowledge, View
from cgrsp_simpy.rental.why import bands, reasons
from cgrsp_simpy.rental.workload import (
    Drawn,
    HourlyWorkload,
    JobList,
    LoggedWorkload,
    Workload,
)

THESIS_TERMS = Terms()
MARKET = ("persistence_s", "sight")  # parameters of the market that a sweep may vary


@dataclass(frozen=True)
class Scenario(Model):
    """Jobs with deadlines on rented GPU slots: everything that a run depends on, but
    the policy and the seed.

    Parameters
    ----------
    name : str
        For tables and messages.
    workload : Workload
        The jobs. Rates by hour must start at the hour of day of the market's clock.
    slots : sequence of GpuType
        The type of each slot; C_max is their number.
    gpus : sequence of GpuType
        The types that can be rented; the first is the reference of estimates.
    free_types : bool
        Whether the policy chooses the type of an idle slot at each dispatch (thesis
        Section 4.3 in words; the calibrated reading is False).
    market : Market
        The law of stock and provisioning.
    service : Service
        The law of realised over mean execution time.
    terms : Terms
        What renting means.

    Raises
    ------
    InputError
        For parts that do not fit each other.
    """

    name: str
    workload: Workload
    slots: tuple[GpuType, ...] = round_robin(5)
    gpus: tuple[GpuType, ...] = THESIS_GPUS
    free_types: bool = False
    market: Market = field(default_factory=Market)
    service: Service = field(default_factory=Service)
    terms: Terms = field(default_factory=Terms)

    metrics = METRICS
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
    precise = "wait_min"
    policies = POLICIES | PREEMPTIVE
    compared = ("fifo", "spt", "edf", "rh", "cadr")

    def __post_init__(self) -> None:
        for name, one in (("slots", "slot"), ("gpus", "GPU type")):
            types = entries_of(name, getattr(self, name), "a list of GpuType")
            require(len(types) > 0, name, types, f"at least one {one}")
            for each in types:
                require(isinstance(each, GpuType), name, each, "a list of GpuType")
            object.__setattr__(self, name, types)
        for name, kind in (("market", Market), ("service", Service), ("terms", Terms)):
            part = getattr(self, name)
            require(isinstance(part, kind), name, part, f"a {kind.__name__}")
        made = all(
            hasattr(self.workload, name) for name in ("jobs", "classes", "generate")
        )
        require(
            made, "workload", self.workload, "a workload, such as a PoissonWorkload"
        )
        check_bool("free_types", self.free_types)
        allowed = f"at most {len(self.slots)}, the number of slots"
        for job, gpus in enumerate(widths(self.workload)):
            require(gpus <= len(self.slots), f"GPUs of job {job}", gpus, allowed)
        names = [gpu.name for gpu in self.gpus]
        require(len(set(names)) == len(names), "names of gpus", names, "different")
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
        self._tell_of_figures()
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
        """Terms under which every job can end."""
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

    def _tell_of_figures(self) -> None:
        """Figures of the workload's deadline classes, in place of those of the thesis's
        two, and of other terms of renting.
        """
        metrics = metrics_of(self.workload.classes) | self.terms.metrics
        if list(metrics) == list(METRICS):
            return
        own = [name for name in metrics if name not in METRICS]
        after = {
            "miss_pct": [name for name in own if name.endswith("_miss_pct")],
            "tardiness_min": ["weighted_tardiness_min"],
            "utilisation_pct": self.terms.metrics,
        }
        shown = [
            figure for name in self.shown for figure in (name, *after.get(name, ()))
        ]
        object.__setattr__(self, "metrics", metrics)
        object.__setattr__(
            self, "shown", tuple(n for n in shown if n in (*metrics, *GAPS))
        )

    def _take_times_from(self, log: LoggedWorkload) -> None:
        """Mean execution times are the log's, by size class, over each type's speed."""
        means = log.mean_service_s()

        def measured(gpu: GpuType) -> GpuType:
            return replace(
                gpu, mean_execution_s=tuple(mean / gpu.speed for mean in means)
            )

        object.__setattr__(self, "slots", tuple(map(measured, self.slots)))
        object.__setattr__(self, "gpus", tuple(map(measured, self.gpus)))

    @property
    def types(self) -> tuple[GpuType, ...]:
        """Those that a slot may have."""
        return tuple(dict.fromkeys(self.gpus if self.free_types else self.slots))

    # ---- as a model ----

    @property
    def jobs(self) -> int:
        """Number of jobs of a run."""
        return self.workload.jobs

    @property
    def common(self) -> str:  # type: ignore[override]
        """The day of the record on which a run begins, where the market is replayed."""
        return "starting day" if self.market.series else ""

    def in_common(self, seed: int) -> int:
        return int(start_s(self.market, seed) // DAY_S) if self.market.series else seed

    @property
    def columns(self) -> dict[str, str]:  # type: ignore[override]
        """What a life notes beside the job's own fields: the last of JobRecord's, and
        what the terms of renting add.
        """
        own = dict(list(RECORD.items())[-6:])
        return own | {
            name: "i4" if is_count(name) else "f8" for name in self.terms.columns
        }

    def kinds_of_columns(self) -> dict[str, str]:
        return RECORD | self.columns

    def resources(self) -> tuple[ResourceSpec, ...]:
        return slots(self.slots)

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, Job, Draws]]:
        for job, draws in self.workload.generate(draw.seed, self.service):
            yield job.submit_s, job, draws

    def draw(self, seed: int) -> Drawn:
        return Drawn(self.workload, self.service, seed)

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

    def says(self, kind: str, claim: Claim) -> str:
        job, now_s = claim.job, claim.env.now
        if kind == "submit":
            name = self.workload.classes[job.deadline_class].name
            gpus = f", {job.gpus} GPUs" if job.gpus > 1 else ""
            return (
                f"complexity {job.complexity}, {name}, due {job.deadline_s:.2f}{gpus}"
            )
        if kind == "start":
            delay_s, wait_s = now_s - claim.granted_s, now_s - job.submit_s
            return f"{delay_s:.2f} s of provisioning, {wait_s:.2f} s of wait in all"
        late = "late" if now_s > job.deadline_s else "in time"
        return f"{now_s - claim.started_s:.2f} s of execution, {late}"

    # ---- figures, rows and pictures ----

    def tally(self) -> Totals:
        return Totals.of(self.workload.classes, self.terms.metrics)

    def summary(self, run: Run) -> dict[str, Any]:
        """The figures of a run by name, units in the names.

        jobs, completed: numbers. wait_min: mean wait (thesis Eq. 3.7). miss_pct,
        tight_miss_pct, loose_miss_pct: share of all, tight and loose jobs that end
        after their deadline (NaN where there are none). tardiness_min: mean over all
        jobs (Eq. 3.6). cost_usd: sum (Eq. 3.11). utilisation_pct: time average of held
        slots, provisioning included, from time 0 to the last completion. makespan_h:
        time of the last completion.

        Both count from the scenario's time 0, as the thesis's day does, not from the
        first job. A log whose clock has run for long when its first job comes leaves
        its slots idle until then; `window` moves time 0 (`trace`).

        With other deadline classes than tight and loose, instead of those two figures
        for each class NAME: NAME_wait_min, NAME_miss_pct and NAME_tardiness_min. Where
        jobs or classes have weights other than 1: weighted_tardiness_min, sum of weight
        x tardiness over sum of weights. What terms of renting add, `Terms.metrics`
        names; the parts of the cost add up to cost_usd.
        """
        return self.figures(self.outcome(run))

    def summary_of(self, run: Run, chosen: np.ndarray[Any, Any]) -> dict[str, Any]:
        sums = Totals.of(self.workload.classes, self.terms.columns)
        if (records := run.jobs[chosen]).size:
            sums.add({name: records[name] for name in records.dtype.names})
        capacity_s = len(self.slots) * run.tally.end_s
        return {**figures(sums, int(chosen.sum()), capacity_s), **sums.more}

    @property
    def tags(self) -> Tags:
        return getattr(self.workload, "tags", Tags())

    def row_columns(self, run: Run) -> dict[str, Any]:
        """Those of JobRecord, with names in place of the numbers of class, GPU type and
        status; slots: the indices of all slots of the job, as text with spaces between.
        """
        columns, names = dict(super().row_columns(run)), {"status": STATUS_NAMES}
        names["deadline_class"] = [each.name for each in self.workload.classes]
        names["gpu"] = [gpu.name for gpu in self.gpus]
        for name, own in names.items():
            columns[name] = [own[index] for index in columns[name].tolist()]
        columns["slots"] = columns.pop("resources")
        return columns

    def kinds(self, run: Run, by: str) -> dict[int, str]:
        """The kinds of the jobs, by their ids; by: "complexity", "class" (of the
        deadline) or "status" (the stock met at dispatch).
        """
        check_one_of("colour_by", by, KINDS)
        column, first, names = KINDS[by]
        if by == "class":
            names = tuple(f"{each.name} deadline" for each in self.workload.classes)
        values, last = run.jobs[column].astype(int) - first, len(names) - 1
        if values.max(initial=0) > last:
            names = (*names[:-1], f"{names[-1]} and more")
        told = np.array(names)[np.minimum(values, last)].tolist()
        return dict(zip(run.jobs["job"].tolist(), told))

    def timeline(self, run: Run, **parts: Any) -> Timeline:
        names = tuple(f"{index}  {gpu.name}" for index, gpu in enumerate(self.slots))
        return super().timeline(
            run, resources=names, kinds=self.kinds(run, "complexity"), **parts
        )

    def bands(self, run: Run) -> Bands:
        return bands(self.market, self.slots, run.seed, run.timeline.end_s)

    def reasons(self, run: Run) -> Reasons | None:
        return reasons(self, run.rule, run.seed)

    def outcome(self, run: Run) -> list[Any]:
        """What a study keeps of a run: its sums, in the order of the fields of
        Totals.
        """
        return [getattr(run.tally, item.name) for item in fields(Totals)]

    def figures(self, outcome: Sequence[Any]) -> dict[str, Any]:
        sums = Totals(*outcome)
        return {
            **figures(sums, self.jobs, len(self.slots) * sums.end_s),
            "makespan_h": sums.end_s / 3600,
            **sums.more,
        }

    def varied(self, **parameters: Any) -> Scenario:
        """The scenario with other parameters.

        Parameters
        ----------
        **parameters
            Of the scenario (slots: a number or a list of types; free_types), of its
            workload (jobs, rate_per_s or rates, deadlines), of the thesis's two
            deadline classes (tight_fraction, tight_window_s, loose_window_s), of the
            market (persistence_s, sight), of its terms (retry_s, warm_s, ...), or
            clock: "calibrated" or "printed", started at the hour of day of a log or of
            rates by hour.

        Returns
        -------
        Scenario
            A copy; the scenario itself stays as it is.

        Raises
        ------
        InputError
            For a name that is no parameter, or a value that is not allowed.
        """
        own, two = dict(parameters), getattr(self.workload, "deadlines", None)
        held: dict[str, Any] = {"market": self.market}
        held |= {"deadlines": two} if isinstance(two, DeadlineClasses) else {}
        held |= {"workload": self.workload, "": self, "terms": self.terms}
        names = {
            part: [item.name for item in fields(each) if item.init]
            for part, each in held.items()
            if is_dataclass(each)  # a workload of one's own may be any class
        }
        names["market"] = ["clock", *MARKET]
        for name in own:
            check_one_of("parameter of the scenario", name, chain(*names.values()))
        if "slots" in own:
            own["slots"] = round_robin(own["slots"], self.gpus)
        if "clock" in own:
            own["clock"] = clock_of(own["clock"], self.workload)
        outer = names.pop("")
        # the deadlines before the workload, which has them
        for part, inner in names.items():
            mine = {
                name: own.pop(name)
                for name in inner
                if name in own and name not in outer
            }
            if mine:
                own[part] = replace(own.get(part, held[part]), **mine)
        return replace(self, **own)

    def make_policy(self, policy: Any) -> Any:
        """As of `Model`; InputError also for a policy that suspends jobs, where the
        terms do not allow that.
        """
        made = super().make_policy(policy)
        allowed = "of a scenario whose terms allow suspension"
        suspends = getattr(made, "suspends", False) and not self.terms.suspension
        require(not suspends, "policy", policy_name(made), allowed)
        return made

    def simulation(self, policy: Any, seed: int, **how: Any) -> Simulation:
        usd = self.terms.budget_usd_per_day
        own = policy if usd is None else Budget(policy, usd, self.market.clock)
        made: Simulation = super().simulation(own, seed, **how)
        return made

    @cached_property
    def fixed(self) -> Any:
        """What the compiled loop needs of every run, as of `bulk.Fixed`."""
        from cgrsp_simpy.rental.bulk import Fixed  # numba takes a second to load

        return Fixed(self)

    def not_compiled(self, policy: Any) -> str:
        from cgrsp_simpy.rental.bulk import refused

        return refused(self, policy)

    def in_bulk(self, policy: Any, seed: int, drawn: Any, records: bool) -> Run | None:
        from cgrsp_simpy.rental.bulk import bulk

        plain = isinstance(drawn, Drawn | None) and not self.not_compiled(policy)
        return bulk(self, policy, seed, drawn, records) if plain else None

    # ---- what policies see ----

    def known(self) -> OperatorKnowledge:
        """What an operator of this scenario knows by experience."""
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
        view: View = self.simulation(first_come, seed).view
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


def widths(workload: Workload) -> Iterable[int]:
    """The numbers of slots that the jobs need; none where all jobs need one."""
    if isinstance(workload, JobList):
        return [job.gpus for job in workload.listed]
    return workload.gpus if isinstance(workload, LoggedWorkload) else ()
