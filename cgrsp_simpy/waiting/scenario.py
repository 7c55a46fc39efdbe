"""The waiting policies: jobs wait for fixed machines or rent one on demand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import Annotated, ClassVar

import numpy as np

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import BILLION, InputError, require
from cgrsp_simpy.base.parameters import (
    Entries,
    declared,
    limits,
    parameter,
    rule,
)
from cgrsp_simpy.base.policy import chosen
from cgrsp_simpy.base.streams import Draw, stream
from cgrsp_simpy.engine.events import delay_until, policy_name
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, pools, slots
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.waiting.formulas import closed_form, unsteady
from cgrsp_simpy.waiting.jobs import Chunk, ExponentialJobs, Job, JobSource, ListedJobs
from cgrsp_simpy.waiting.machines import (
    M5,
    PAPER_PRICES,
    Prices,
    Size,
    exact_gb,
    fits,
    rent_per_h,
)
from cgrsp_simpy.waiting.policies import (
    GOES,
    MISLED,
    NO_ERRORS,
    ORDERS,
    POLICIES,
    Kinds,
    Mispredictions,
    Order,
    WaitingPolicy,
    ajw,
)
from cgrsp_simpy.waiting.recursion import started
from cgrsp_simpy.waiting.report import WaitingReport
from cgrsp_simpy.waiting.subject import WaitingSubject
from cgrsp_simpy.waiting.view import SharedView, View

RENTED = "no machines that are for rent"
FIXED = "no fixed machine, and under ajw every job waits for one"
Machines = Annotated[
    int,
    limits("a whole number of at most 1,000,000,000", ge=0, le=BILLION),
]


@declared()
class Scenario(Model):
    """Jobs, and machines that are owned or rented: everything that a run depends on,
    but the seed.

    A study puts its own policies in the place of the scenario's: a name of POLICIES
    with parameters, as in "sww:wait_s=60", or a WaitingPolicy. A function of a `View`
    ("own.py:function" in a text) says in which order waiting jobs get machines: it
    takes the place of the order, and who waits, and how long, is as the scenario's own
    policy says.

    A balking job that is served in another order than first come first served, where
    that takes knowledge of the jobs to come, stays in the queue unseen, and if it has
    not started after the longest wait it has never been there. With sjf that is exact,
    as waiting jobs hold up nobody there who would start.
    """

    source: Annotated[
        JobSource,
        rule(
            "a source of jobs, such as ExponentialJobs",
            lambda source: hasattr(source, "jobs") and hasattr(source, "chunks"),
        ),
    ] = parameter("The jobs: generated for each seed, or those of a log.")
    policy: WaitingPolicy = parameter(
        "Who waits, and how long, unless a study says otherwise; ajw: every job, as"
        " long as it takes.",
        default=ajw(),
    )
    machines: Machines | Entries[Size] = parameter(
        "Number of fixed machines that execute one job at a time, whatever it needs; or"
        " the sizes of fixed machines that jobs share by their cores and memory. 0, or"
        " no size: none is owned, and every job goes on demand at once; under ajw,"
        " where no job does, at least one must be owned.",
        default=1,
    )
    order: str | Order = parameter(
        'Order of waiting jobs: "fcfs", first come first served; "sjf", shortest job'
        ' first of those that fit; "own.py:function", or a function of a `View`.'
        " Running times are known.",
        default="fcfs",
        metadata={"policy": True},
    )
    prices: Prices = parameter(
        "Prices per hour, fixed and on demand.", default=PAPER_PRICES
    )
    sizes: Entries[Size] = parameter(
        "Machines for rent, if machines are shared; a job rents the cheapest that it"
        " fits on, several of a size if it fits on none, and pays as the size is"
        " billed; a fixed machine costs prices.fixed / prices.on_demand of what renting"
        " it costs.",
        default=M5,
    )
    errors: Mispredictions = parameter(
        "How often waits and running times are mispredicted.", default=NO_ERRORS
    )
    work_conserving: bool = parameter(
        "Whether a job that is to go on demand without waiting takes an idle fixed"
        " machine if there is one.",
        default=False,
    )

    policies = POLICIES
    compared = tuple(POLICIES)
    report = WaitingReport
    subject = WaitingSubject
    columns: ClassVar[Mapping[str, str]] = {"on_demand": "?"}

    def __post_init__(self) -> None:
        chosen("order", self.order, ORDERS)
        least = 0 if self.policy.rents else 1
        require(self.number >= least, "machines", self.machines, "at least one")
        if self.shared:
            price, covered = self.prices.on_demand, math.isfinite(self.fixed_per_h)
            require(
                price > 0,
                "on-demand price",
                price,
                "above 0 where a table has the prices",
            )
            require(
                covered,
                "machines",
                self.machines,
                "of sizes that the price table covers",
            )

    # ---- resources, arrivals and the process of a job ----

    def resources(self) -> Sequence[ResourceSpec]:
        if isinstance(self.machines, int):
            return slots(self.machines, "machine") if self.machines else ()
        cores = pools([size.cores for size in self.machines], "machine", "cores")
        memory = pools([size.memory_gb for size in self.machines], "machine", "GB")
        return tuple(chain.from_iterable(zip(cores, memory)))

    def arrivals(
        self, draw: Draw
    ) -> Iterator[tuple[float, Job, tuple[float | None, bool]]]:
        """Return the jobs, each with the seconds that it waits at most (None: it does
        not wait), and whether it balks, that is, has rented a machine since its arrival
        if it finds none free.
        """
        numbers, balks = count(1), self.policy.balks
        for chunk, kinds, patience in self._patience_s(draw.seed):
            columns = (column.tolist() for column in (*chunk, kinds, patience))
            for submit_s, run_s, cores, memory_gb, kind, patience_s in zip(*columns):
                job = Job(next(numbers), submit_s, run_s, cores, memory_gb)
                waits = kind != GOES or self.work_conserving
                yield (
                    submit_s,
                    job,
                    (patience_s if waits else None, balks and kind != MISLED),
                )

    def job_process(self, run: Simulation, job: Job) -> Process:
        """Wait if the policy says so, then run on a fixed machine or on demand."""
        patience_s, balks = run.hidden[job]
        on_demand = True
        if patience_s is not None:
            with run.claim(job, patience_s) as claim:
                on_demand = (yield claim) is None
                if not on_demand:
                    yield run.timeout(job.run_s, ("finish", job.id))
        elif run.listener:
            run.emit("submit", job, str(job))
        if on_demand:
            yield from self.rented(run, job, balks)
        run.record(job, on_demand)

    def rented(self, run: Simulation, job: Job, balks: bool) -> Process:
        """Run on demand, from now on or (if the wait was foreseen) since arrival."""
        start_s, ends_in_s = run.now_s, job.run_s
        if balks and job.submit_s < start_s:
            ends_in_s = delay_until(start_s, job.submit_s + job.run_s)
            start_s = job.submit_s
        if run.listener:
            self._tell_of_rent(run, job, start_s)
        run.mark_started(job, start_s)
        yield run.timeout(ends_in_s, ("finish", job.id))
        run.mark_finished(job, start_s + job.run_s)
        run.emit("finish", job, "on demand")

    def _tell_of_rent(self, run: Simulation, job: Job, start_s: float) -> None:
        told = f"on demand, for {job.run_s:.2f} s"
        if start_s < run.now_s:
            told = (
                f"since {start_s:.2f} s: it foresaw a wait of more than"
                f" {self.policy.wait_s:g} s"
            )
        elif start_s > job.submit_s:
            run.emit("gives up", job, f"after {start_s - job.submit_s:.2f} s")
        run.emit("rents", job, told)

    def view(self, run: Simulation) -> View:
        return (
            View(run)
            if isinstance(self.machines, int)
            else SharedView(run, self.machines)
        )

    def need(self, job: Job) -> float:
        """Return 1 machine, or the cores that a job needs of a shared one."""
        return job.cores if self.shared else 1

    # ---- studies ----

    @property
    def name(self) -> str:
        """The jobs, the number of machines and the order."""
        order = self.order if isinstance(self.order, str) else policy_name(self.order)
        return (
            f"{self.source}, {self.number} machine{'s' * (self.number != 1)}, {order}"
        )

    @property
    def label(self) -> str:
        """Name of the waiting policy, and of the order unless it is first come, first
        served.
        """
        order = self.order if isinstance(self.order, str) else policy_name(self.order)
        return self.policy.name if order == "fcfs" else f"{self.policy.name}, {order}"

    @property
    def jobs(self) -> int:
        """Number of jobs of a run."""
        return self.source.jobs

    def under(self, policy: WaitingPolicy | Order) -> Scenario:
        """Return the scenario under another policy, or with an order given as a
        function.
        """
        if isinstance(policy, WaitingPolicy):
            return replace(self, policy=policy)
        return replace(self, order=policy)

    # ---- what it is ----

    @property
    def shared(self) -> bool:
        """Whether jobs share the machines."""
        return not isinstance(self.machines, int)

    @property
    def number(self) -> int:
        """Number of fixed machines."""
        return self.machines if isinstance(self.machines, int) else len(self.machines)

    @property
    def fixed_per_h(self) -> float:
        """Hourly rent of all fixed machines; whole machines count as 1 each."""
        if isinstance(self.machines, int):
            return float(self.machines)
        cores, memory_gb = (
            np.array([getattr(size, name) for size in self.machines])
            for name in ("cores", "memory_gb")
        )
        return float(rent_per_h(cores, memory_gb, self.sizes).sum())

    @property
    def recursive(self) -> bool:
        """Whether the recursion applies: first come, first served."""
        return self.order == "fcfs"

    @property
    def steady(self) -> bool:
        """Whether the jobs are part of an endless stream, see `Tally`."""
        return not isinstance(self.source, ListedJobs)

    @property
    def unsteady(self) -> str:
        """Why generated jobs have no steady state on whole machines; "" if they have
        one.
        """
        if not isinstance(self.source, ExponentialJobs) or not isinstance(
            self.machines, int
        ):
            return ""
        own = (
            self.policy,
            self.source.rate_per_s,
            self.source.service_s,
            self.machines,
        )
        steady = self.machines == 0 or math.isfinite(closed_form(*own).wait_s)
        return "" if steady else unsteady(*own)

    def formula(self) -> dict[str, float] | None:
        """What the closed form says: wait_s, price, on_demand_fraction, opportunity.

        None of jobs or machines of which there is no formula, of another order, or of
        mispredictions other than those of waits under sww.
        """
        if not isinstance(self.source, ExponentialJobs) or not isinstance(
            self.machines, int
        ):
            return None
        waits_alone = self.errors.run_over == self.errors.run_under == 0
        wrong = self.errors != NO_ERRORS and not (
            waits_alone and self.policy.name == "sww"
        )
        if wrong or not self.recursive or self.work_conserving or self.machines == 0:
            return None
        own = (
            self.policy,
            self.source.rate_per_s,
            self.source.service_s,
            self.machines,
        )
        found = closed_form(*own, self.prices, self.errors)
        row = {name: float(getattr(found, name)) for name in WaitingReport.shown[:3]}
        return row | {"opportunity": row["price"] * row["wait_s"] / 3600}

    def foreseen(self, seed: int) -> Iterator[tuple[Chunk, Kinds]]:
        """The jobs in order of submission, with what is foreseen for each: WAITS, GOES
        or MISLED; one that no fixed machine could take goes on demand.

        The draws of mistaken jobs are the jobs' own: they are the same under every
        policy and with every share of errors. Raises InputError, which names the job,
        if it may not go on demand, or if no machine for rent is large enough.
        """
        first, errors = 0, self.errors
        waits, runs = stream(seed, "wait predictions"), stream(seed, "run predictions")
        for chunk in self.source.chunks(seed):
            kinds = np.zeros(len(chunk.run_s), np.int8)
            if self.policy.balks and (errors.wait_over or errors.wait_under):
                draws = waits.random(len(kinds))
                kinds[draws >= 1 - errors.wait_under] = MISLED
                kinds[draws < errors.wait_over] = GOES
            short = chunk.run_s < self.policy.short_s
            if self.policy.short_s > 0 and (errors.run_over or errors.run_under):
                draws = runs.random(len(kinds))
                short = np.where(
                    short, draws >= errors.run_over, draws < errors.run_under
                )
            kinds[short] = GOES
            stays = np.full(len(kinds), self.number > 0)
            if not isinstance(self.machines, int):
                chunk = chunk._replace(memory_gb=exact_gb(chunk.memory_gb))
                needs = chunk.cores, chunk.memory_gb
                stays = fits(*needs, self.machines)
                for where, right in (
                    (RENTED, np.isfinite(rent_per_h(*needs, self.sizes))),
                    (FIXED, stays | self.policy.rents),
                ):
                    for row in np.flatnonzero(~right)[:1]:
                        raise InputError(
                            f"job {first + row + 1} ({chunk.cores[row]} cores,"
                            f" {chunk.memory_gb[row]:g} GB) fits on {where}"
                        )
            kinds[~stays] = GOES
            yield chunk, kinds
            first += len(kinds)

    def _patience_s(self, seed: int) -> Iterator[tuple[Chunk, Kinds, Floats]]:
        """The jobs, and how long each stays in the queue, at most; for ever if it knows
        when it comes that it will get a machine in time, and not at all if it knows the
        contrary.
        """
        if not (self.policy.balks and self.recursive):
            for chunk, kinds in self.foreseen(seed):
                yield chunk, kinds, np.where(kinds == GOES, 0.0, self.policy.wait_s)
            return
        rules = (self.policy, self.machines, self.work_conserving)
        for chunk, kinds, starts in started(self.foreseen(seed), *rules):
            in_vain = np.where(kinds == MISLED, self.policy.wait_s, 0.0)
            yield chunk, kinds, np.where(np.isnan(starts), in_vain, math.inf)
