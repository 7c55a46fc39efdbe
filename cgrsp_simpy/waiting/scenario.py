"""The waiting policies: jobs wait for fixed machines or rent one on demand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.base.arrays import Bools, Floats
from cgrsp_simpy.base.checks import BILLION, InputError, require
from cgrsp_simpy.base.parameters import (
    Entries,
    declared,
    from_text,
    limits,
    parameter,
    rule,
)
from cgrsp_simpy.base.policy import Named, chosen
from cgrsp_simpy.base.streams import Draw, stream
from cgrsp_simpy.base.table import Table, many, rounded
from cgrsp_simpy.engine.events import Listener, delay_until, policy_name
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, pools, slots
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.studies.subject import Subject
from cgrsp_simpy.waiting.formulas import closed_form, unsteady
from cgrsp_simpy.waiting.jobs import Chunk, ExponentialJobs, Job, JobSource, ListedJobs
from cgrsp_simpy.waiting.machines import (
    M5,
    PAPER_PRICES,
    Prices,
    Size,
    exact_gb,
    fits,
    read_sizes,
    rent_per_h,
    shared_machines,
)
from cgrsp_simpy.waiting.policies import (
    MISLED,
    NO_ERRORS,
    ORDERS,
    POLICIES,
    RENTS_AT_ONCE,
    WAITS,
    Mispredictions,
    Order,
    Predictions,
    SharedView,
    View,
    WaitingPolicy,
    ajw,
)
from cgrsp_simpy.waiting.recursion import follow, started
from cgrsp_simpy.waiting.report import WaitingReport, first_of


class WaitingSubject(Subject):
    """Subject of a study; each of its policies replaces that of the scenario."""

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether jobs are generated or predictions may be wrong."""
        return bool(self.model.steady or self.model.errors != NO_ERRORS)

    def left_out(self) -> dict[str, str]:
        """Return the policies without a steady state, each with the reason."""
        reasons = {
            name: self.model.under(self.make_policy(name)).unsteady
            for name in self.model.compared
        }
        return {name: reason for name, reason in reasons.items() if reason}

    def draw(self, seed: int) -> None:
        """Do nothing: jobs are drawn as they arrive."""

    def make_policy(self, policy: Any) -> WaitingPolicy | Order:
        """Return a policy from its name, or an order, which is a function of a View.

        Raises InputError for an unknown name, parameter or file, and if a listed job
        would wait but fits on no fixed machine.
        """
        plain = policy.policy if isinstance(policy, Named) else policy
        waiting_or_order = (
            plain if isinstance(plain, WaitingPolicy) else super().make_policy(plain)
        )
        scenario = self.model.under(waiting_or_order)
        if scenario.shared and isinstance(self.model.source, ListedJobs):
            list(scenario.foreseen(0))
        return waiting_or_order

    def simulation(
        self,
        policy: WaitingPolicy | Order,
        seed: int,
        *,
        drawn: None = None,
        records: bool = True,
        listener: Listener | None = None,
    ) -> Simulation:
        scenario = self.model.under(policy)
        order = chosen("order", scenario.order, ORDERS)
        run = Simulation(scenario, order, seed, records=records, listener=listener)
        run.name = scenario.label
        return run

    def run(
        self,
        policy: Any,
        seed: int = 0,
        *,
        drawn: None = None,
        records: bool = True,
        listener: Listener | None = None,
        engine: str = "simpy",
    ) -> Run:
        """Run a policy; without records by the recursion, bit-identical."""
        scenario = self.model.under(self.make_policy(policy))
        if scenario.recursive and not records and listener is None:
            return follow(scenario, seed)
        return super().run(
            policy, seed, drawn=drawn, records=records, listener=listener
        )

    def completed(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """As `Subject.completed`; a number keeps the size of shared machines."""
        machines, present = parameters.get("machines"), self.model.machines
        if isinstance(machines, int) and not isinstance(present, int):
            parameters["machines"] = present[:1] * machines
        return parameters

    def outcome(self, run: Run) -> dict[str, list[float]]:
        """Return name -> the figure of the whole run, then those of its batches."""
        batches: dict[str, list[float]] = self.report.batches(run)  # type: ignore[attr-defined]
        return batches

    def figures(self, outcome: Mapping[str, Sequence[float]]) -> dict[str, float]:
        return first_of(outcome)

    @property
    def pace_per_s(self) -> float:  # type: ignore[override]
        """Jobs per second of the recursion, if it covers the scenario."""
        if not self.model.recursive:
            return Subject.pace_per_s
        return 1e5 if self.model.shared else 1e6

    def study_details(self, study: Any) -> tuple[Sequence[Table], Mapping[str, Any]]:
        """Return a table of simulation and formula, if there is a formula."""
        formulas = {
            name: self._formula(policy_of_name)
            for name, policy_of_name in study.named.items()
        }
        if not any(formulas.values()):
            return [], {"formula": formulas}
        names = self.report.shown
        cells = [["policy", *(cell for name in names for cell in (name, "formula"))]]
        for policy, row in study.means().items():
            closed_form = formulas[policy]
            cells.append([policy])
            for name in names:
                known = f"{closed_form[name]:.4g}" if closed_form else "-"
                cells[-1] += [rounded(row[name].mean, row[name].half_width), known]
        return [Table("simulation and formula", cells)], {"formula": formulas}

    def _formula(self, policy: Any) -> dict[str, float] | None:
        chosen_policy = self.make_policy(policy)
        if not isinstance(chosen_policy, WaitingPolicy):
            return None
        formula: dict[str, float] | None = self.model.under(chosen_policy).formula()
        return formula


Machines = Annotated[
    Annotated[int, limits("a whole number of at most 1,000,000,000", ge=0, le=BILLION)]
    | Entries[Size],
    from_text(shared_machines),
]


class Patience(NamedTuple):
    """Decision made for a job at its arrival, hidden from the queue orders.

    seconds: longest time in the queue; None: the job does not join the queue.
    from_arrival: whether a job that gets no fixed machine counts as on demand from its
    arrival on; otherwise, from when it left the queue.
    """

    seconds: float | None
    from_arrival: bool


@declared()
class Scenario(Model):
    """Jobs, and owned or rented machines: all parameters of a run except the seed.

    A study replaces `policy` by each of its policies: a name of POLICIES, optionally
    with parameters, as in "sww:wait_s=60", or a WaitingPolicy. A policy that is a
    function of a `View` (or a string "own.py:function") replaces `order` instead: it
    chooses the waiting job that starts next.

    Under a policy that balks, a job that would wait longer than wait_s rents a machine
    on arrival. In orders other than first come, first served, the wait depends on later
    jobs. The job then joins the queue; if it has not started after wait_s, its rental
    is recorded as if it had begun on arrival.
    """

    source: Annotated[
        JobSource,
        rule(
            "a source of jobs, such as ExponentialJobs",
            lambda source: hasattr(source, "jobs") and hasattr(source, "chunks"),
        ),
    ] = parameter(
        "The jobs: generated for each seed, or those of a log.",
        default=ExponentialJobs(100_000),
    )
    policy: WaitingPolicy = parameter(
        "Policy that determines which jobs wait, and for how long at most;"
        " default: ajw, every job waits without limit.",
        default=ajw(),
    )
    machines: Machines = parameter(
        "Number of fixed machines, each of which executes one job at a time,"
        " whatever its demand; or sizes of fixed machines that jobs share by"
        ' cores and memory, also written as "3x64" (number x cores) or "3x64x256"'
        " (and GB). With 0 or no size, every job goes on demand at once;"
        " ajw, under which no job goes on demand, needs at least one.",
        default=1,
    )
    order: str | Order = parameter(
        'Order of waiting jobs: "fcfs", first come, first served; "sjf", the shortest'
        ' job that fits; "own.py:function", or a function of a `View`. Running times'
        " are known.",
        default="fcfs",
        metadata={"policy": True},
    )
    prices: Prices = parameter(
        "Prices per hour, fixed and on demand.", default=PAPER_PRICES
    )
    sizes: Annotated[Entries[Size], from_text(read_sizes)] = parameter(
        "Sizes for rent, or a CSV file of them, if machines are shared. A job rents"
        " the cheapest size on which it fits, or several machines of one size if it"
        " fits on none, and is billed by the terms of that size. A fixed machine"
        " costs prices.fixed / prices.on_demand times its rent.",
        default=M5,
    )
    errors: Mispredictions = parameter(
        "Shares of waits and running times that are mispredicted.", default=NO_ERRORS
    )
    work_conserving: bool = parameter(
        "Whether a job that would go on demand without waiting uses a fixed"
        " machine instead if one is idle.",
        default=False,
    )

    policies = POLICIES
    compared = tuple(POLICIES)
    report = WaitingReport
    subject = WaitingSubject
    columns: ClassVar[Mapping[str, str]] = {"on_demand": "?"}

    def __post_init__(self) -> None:
        chosen("order", self.order, ORDERS)
        require(
            self.number > 0 or self.policy.rents,
            "machines",
            self.machines,
            "at least one",
        )
        if self.shared:
            price, covered = self.prices.on_demand, math.isfinite(self.fixed_per_h)
            require(
                price > 0, "on-demand price", price, "above 0 if a table has the prices"
            )
            require(
                covered,
                "machines",
                self.machines,
                "machines of sizes that the price table covers",
            )

    # ---- resources, arrivals and the process of a job ----

    def resources(self) -> Sequence[ResourceSpec]:
        if isinstance(self.machines, int):
            return slots(self.machines, "machine") if self.machines else ()
        cores = pools([size.cores for size in self.machines], "machine", "cores")
        memory = pools([size.memory_gb for size in self.machines], "machine", "GB")
        return tuple(chain.from_iterable(zip(cores, memory)))

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, Job, Patience]]:
        ids, balks = count(1), self.policy.balks
        for chunk, predictions, patience in self._patience_s(draw.seed):
            columns = (column.tolist() for column in (*chunk, predictions, patience))
            for *fields, prediction, patience_s in zip(*columns):
                job = Job(next(ids), *fields)
                joins = prediction != RENTS_AT_ONCE or self.work_conserving
                from_arrival = balks and prediction != MISLED
                yield (
                    job.submit_s,
                    job,
                    Patience(patience_s if joins else None, from_arrival),
                )

    def foreseen(self, seed: int) -> Iterator[tuple[Chunk, Predictions]]:
        """Yield the jobs in order of submission, with a prediction for each.

        A prediction is WAITS, RENTS_AT_ONCE (also if the job fits on no fixed machine)
        or MISLED. Which jobs are mispredicted depends only on the seed and the shares
        of errors, and a larger share adds jobs. Raises InputError with the job's number
        if a job can run on no machine.
        """
        first_id = 1
        waits, runs = stream(seed, "wait predictions"), stream(seed, "run predictions")
        for chunk in self.source.chunks(seed):
            predictions = self._predictions(chunk.run_s, waits, runs)
            fits_fixed = np.full(len(predictions), self.number > 0)
            if not isinstance(self.machines, int):
                chunk = chunk._replace(memory_gb=exact_gb(chunk.memory_gb))
                fits_fixed = fits(chunk.cores, chunk.memory_gb, self.machines)
                self._check_fit(chunk, fits_fixed, first_id)
            predictions[~fits_fixed] = RENTS_AT_ONCE
            yield chunk, predictions
            first_id += len(predictions)

    def _predictions(
        self, run_s: Floats, waits: Generator, runs: Generator
    ) -> Predictions:
        """Predict per job whether its wait is too long, and whether it is short."""
        policy, errors = self.policy, self.errors
        predictions = np.full(len(run_s), WAITS, np.int8)
        if policy.balks and (errors.wait_over or errors.wait_under):
            draws = waits.random(len(run_s))
            predictions[draws >= 1 - errors.wait_under] = MISLED
            predictions[draws < errors.wait_over] = RENTS_AT_ONCE
        short = run_s < policy.short_s
        if policy.short_s > 0 and (errors.run_over or errors.run_under):
            draws = runs.random(len(run_s))
            short = np.where(short, draws >= errors.run_over, draws < errors.run_under)
        predictions[short] = RENTS_AT_ONCE
        return predictions

    def _check_fit(self, chunk: Chunk, fits_fixed: Bools, first_id: int) -> None:
        """Raise InputError for a job that can run on no machine under the policy."""
        rentable = np.isfinite(rent_per_h(chunk.cores, chunk.memory_gb, self.sizes))
        for allowed, nowhere in (
            (rentable, "no machines that are for rent"),
            (
                fits_fixed | self.policy.rents,
                "no fixed machine, and under ajw every job waits for one",
            ),
        ):
            for row in np.flatnonzero(~allowed):
                raise InputError(
                    f"job {first_id + row} ({many(chunk.cores[row], 'core')},"
                    f" {chunk.memory_gb[row]:g} GB) fits on {nowhere}"
                )

    def _patience_s(self, seed: int) -> Iterator[tuple[Chunk, Predictions, Floats]]:
        """Yield jobs, predictions, and the longest time of each in the queue, seconds.

        If the policy balks and the order is first come, first served, jobs know on
        arrival whether they start in time: they wait without limit, or not at all.
        """
        if not (self.policy.balks and self.recursive):
            for chunk, predictions in self.foreseen(seed):
                patience = np.where(
                    predictions == RENTS_AT_ONCE, 0.0, self.policy.wait_s
                )
                yield chunk, predictions, patience
            return
        for chunk, predictions, starts in started(
            self.foreseen(seed), self.policy, self.machines, self.work_conserving
        ):
            in_vain = np.where(predictions == MISLED, self.policy.wait_s, 0.0)
            yield chunk, predictions, np.where(np.isnan(starts), in_vain, math.inf)

    def job_process(self, run: Simulation, job: Job) -> Process:
        """Wait if the policy requires it, then run on a fixed machine or on demand."""
        patience_s, from_arrival = run.hidden[job]
        on_demand = True
        if patience_s is not None:
            with run.claim(job, patience_s) as claim:
                on_demand = (yield claim) is None
                if not on_demand:
                    yield run.timeout(job.run_s, ("finish", job.id))
        elif run.listener:
            run.emit("submit", job, str(job))
        if on_demand:
            yield from self.rental(run, job, from_arrival)
        run.record(job, on_demand)

    def rental(self, run: Simulation, job: Job, from_arrival: bool) -> Process:
        """Run a job on demand, from now on or as if begun at the job's arrival."""
        start_s, left_s = run.now_s, job.run_s
        if from_arrival and job.submit_s < start_s:
            left_s = delay_until(start_s, job.submit_s + job.run_s)
            start_s = job.submit_s
        if run.listener:
            self._emit_rental(run, job, start_s)
        run.mark_started(job, start_s)
        yield run.timeout(left_s, ("finish", job.id))
        run.mark_finished(job, start_s + job.run_s)
        run.emit("finish", job, "on demand")

    def _emit_rental(self, run: Simulation, job: Job, start_s: float) -> None:
        detail = f"on demand, for {job.run_s:.2f} s"
        if start_s < run.now_s:
            detail = (
                f"since {start_s:.2f} s: it foresaw a wait of more than"
                f" {self.policy.wait_s:g} s"
            )
        elif start_s > job.submit_s:
            run.emit("gives up", job, f"after {start_s - job.submit_s:.2f} s")
        run.emit("rents", job, detail)

    def view(self, run: Simulation) -> View:
        return (
            View(run)
            if isinstance(self.machines, int)
            else SharedView(run, self.machines)
        )

    def need(self, job: Job) -> float:
        """Return 1 for a whole machine, or the job's cores on a shared machine."""
        return job.cores if self.shared else 1

    # ---- studies ----

    @property
    def name(self) -> str:
        """Description of the jobs, the number of machines and the order."""
        order = policy_name(self.order)
        return f"{self.source}, {many(self.number, 'machine')}, {order}"

    @property
    def label(self) -> str:
        """Name of the policy, and of the order unless first come, first served."""
        order = policy_name(self.order)
        return self.policy.name if order == "fcfs" else f"{self.policy.name}, {order}"

    @property
    def jobs(self) -> int:
        """Number of jobs of a run."""
        return self.source.jobs

    def under(self, policy: WaitingPolicy | Order) -> Scenario:
        """Return the scenario with another policy; a function replaces the order."""
        if isinstance(policy, WaitingPolicy):
            return replace(self, policy=policy)
        return replace(self, order=policy)

    # ---- properties and formulas ----

    @property
    def shared(self) -> bool:
        """Whether jobs share the machines."""
        return not isinstance(self.machines, int)

    @property
    def number(self) -> int:
        """Number of fixed machines, whole or shared."""
        return self.machines if isinstance(self.machines, int) else len(self.machines)

    @property
    def fixed_per_h(self) -> float:
        """Rent of all fixed machines per hour, by `sizes`; 1 per whole machine."""
        if isinstance(self.machines, int):
            return float(self.machines)
        cores, memory_gb = (
            np.array([getattr(size, name) for size in self.machines])
            for name in ("cores", "memory_gb")
        )
        return float(rent_per_h(cores, memory_gb, self.sizes).sum())

    @property
    def recursive(self) -> bool:
        """Whether `recursion.follow` applies: the order is first come, first served."""
        return self.order == "fcfs"

    @property
    def steady(self) -> bool:
        """Whether the jobs are part of an endless stream; False for a log."""
        return not isinstance(self.source, ListedJobs)

    def _closed_form_arguments(
        self,
    ) -> tuple[WaitingPolicy, float, float, int] | None:
        """Return the arguments of `closed_form`, or None without a closed form."""
        source, machines = self.source, self.machines
        if not (isinstance(source, ExponentialJobs) and isinstance(machines, int)):
            return None
        return self.policy, source.rate_per_s, source.service_s, machines

    @property
    def unsteady(self) -> str:
        """Why generated jobs on whole machines have no steady state, or ""."""
        arguments = self._closed_form_arguments()
        if arguments is None or self.machines == 0:
            return ""
        steady = math.isfinite(closed_form(*arguments).wait_s)
        return "" if steady else unsteady(*arguments)

    def formula(self) -> dict[str, float] | None:
        """Return wait_s, price, on_demand_fraction and opportunity from the closed
        form.

        None unless exponential jobs are served first come, first served on whole
        machines, without mispredictions other than of waits under sww.
        """
        arguments, errors = self._closed_form_arguments(), self.errors
        runs_right = errors.run_over == errors.run_under == 0
        covered = errors == NO_ERRORS or (runs_right and self.policy.name == "sww")
        plain = self.recursive and not self.work_conserving
        if arguments is None or self.machines == 0 or not (covered and plain):
            return None
        state = closed_form(*arguments, self.prices, errors)
        row = {name: float(getattr(state, name)) for name in WaitingReport.shown[:3]}
        return row | {"opportunity": row["price"] * row["wait_s"] / 3600}
