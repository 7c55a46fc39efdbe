"""Job processes on rented GPUs, under the thesis's terms of renting and others."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import simpy

from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.policy import Suspend
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.market.gpu import GpuType
from cgrsp_simpy.market.law import HIGH, LOW, Status
from cgrsp_simpy.market.stock import Stock
from cgrsp_simpy.rental.instances import Instance, Renting
from cgrsp_simpy.rental.job import Draws, Job, Met
from cgrsp_simpy.rental.terms import PARTS
from cgrsp_simpy.rental.view import SlotView


def job_process(run: Simulation, job: Job) -> Process:
    """Wait for dispatch and provisioning, execute the job, and record it.

    A job on several slots starts when the last of them is provisioned, and runs at the
    speed of its slowest type.
    """
    draws: Draws = run.hidden[job]
    with run.claim(job, request=False) as claim:
        yield claim
        gpus, mean_s = claim.terms  # by View.parse_assignment
        status, delay_s = provisioning(run.stock, gpus, run.env.now, draws)
        if run.listener:
            names = "+".join(gpu.name for gpu in gpus)
            run.emit("dispatch", claim, f"{names}, {status.name.title()} stock")
        yield run.timeout(delay_s)

        with claim.request() as turn:
            yield turn
            service_s = mean_s * draws.service  # thesis Eq. 3.12
            yield run.timeout(service_s)

    price_usd_per_h = gpus[0].price_usd_per_h
    for gpu in gpus[1:]:  # mostly none
        price_usd_per_h += gpu.price_usd_per_h
    cost_usd = service_s * price_usd_per_h / 3600.0  # thesis Eq. 3.11
    slot, gpu = claim.parts[0][0], run.gpu_index[gpus[0].name]
    run.record(job, slot, gpu, status, delay_s, service_s, cost_usd)


def provisioning(
    stock: Stock, gpus: Sequence[GpuType], time_s: float, draws: Draws | Met
) -> tuple[Status, float]:
    """Return the scarcest stock status of the types, and the delay in seconds."""
    if type(draws) is Met:
        return Status(draws.status), draws.delay
    status = stock.status(gpus[0], time_s, draws.status)  # thesis Eq. 3.1
    for gpu in gpus[1:]:  # mostly none
        status = max(status, stock.status(gpu, time_s, draws.status))
    return status, stock.market.provisioning_s(status, draws.delay)  # thesis Eq. 3.2


def renting_job_process(run: Simulation, job: Job) -> Process:
    """Run a job that may be refused, suspended or preempted, and then waits again.

    It ends when the job's last instance is paid, which may stay warm after the job.
    """
    rented = RentedJob(run.renting, job, run.hidden[job])
    while not rented.done:
        with run.claim(job, request=False) as claim:
            yield claim
            delay_s = rented.rent(claim)
            if delay_s is not None:
                try:
                    yield run.timeout(delay_s, ("start", job.id))
                    with claim.request() as turn:
                        yield turn
                        yield run.timeout(rented.start(), ("finish", job.id))
                except simpy.Interrupt as interrupt:
                    rented.stop(interrupt.cause)
                else:
                    rented.finish()
        if delay_s is None:  # refused
            yield run.timeout(run.renting.terms.retry_s, ("retry", job.id))
    run.mark_finished(job)
    yield rented.all_paid


def slot_process(run: Simulation, number: int) -> Process:
    """Close a slot outside its hours, and order it again when they begin.

    `run.closed` maps a closed slot to the time until which it is billed, seconds.
    """
    slot, opening = run.resources[number], run.model.opening
    draw = run.draw("opening", number)
    for open_s, close_s in opening.spans_s(number, run.model.market.clock.start_h):
        ordered_s = open_s
        if open_s > 0:
            run.closed.setdefault(number, 0.0)
            with run.down(slot, interrupt=False):
                yield run.timeout(open_s - run.now_s)
                if number in run.view._busy:  # with a job of its last hours
                    run.view.bill_overtime(number)
                else:
                    ordered_s = yield from _order(run, slot, draw, close_s)
            del run.closed[number]
        if close_s == math.inf:
            return
        yield run.timeout(close_s - run.now_s)
        least_s = opening.minimum_s if ordered_s < close_s else 0.0
        billed_s = max(close_s, ordered_s + least_s)
        run.records.tally.more["overtime_h"] += (
            open_s - ordered_s + billed_s - close_s
        ) / 3600.0
        run.closed[number] = billed_s
        if number in run.view._warm:
            run.view._warm[number].end_warm()


def _order(run: Simulation, slot: Any, draw: Any, close_s: float) -> Process:
    """Order and boot a slot; return the time of the order, or close_s if refused."""
    terms, boot_s = run.model.terms, run.model.opening.boot_s
    while run.now_s < close_s:
        status_draw, delay_draw = draw.random(2).tolist()
        draws = Draws(status_draw, delay_draw, 1.0)
        status, delay_s = provisioning(run.stock, [slot.kind], run.now_s, draws)
        ordered_s = run.now_s
        is_refused = terms.retry_s is not None and status == LOW
        wait_s = terms.retry_s if is_refused else boot_s + delay_s
        yield run.timeout(min(wait_s, close_s - ordered_s))
        if not is_refused:
            return ordered_s
    return close_s


class RentedJob:
    """A job with its saved work, its instances and its payments.

    An instance is cold until it has been provisioned, then up, and warm if it is kept
    after a job, so that the next one starts at once. saved_work_s: seconds of saved
    execution, by the mean execution time of the types. totals: by name, the columns
    that the terms add to its record, and its costs. open_bills: number of instances for
    which it still pays. all_paid: event triggered when none is left. delay_s,
    service_s: total provisioning and execution. draws: draws of the first dispatch.
    """

    claim: Claim
    gpus: list[GpuType]
    mean_s: float

    def __init__(self, run: Renting, job: Job, draws: Draws) -> None:
        self.run, self.job, self.draws = run, job, draws
        self.saved_work_s: dict[float, float] = {}
        self.done, self.has_started = False, False
        self.totals = defaultdict[str, float](float)
        self.instances: list[Instance] = []
        self.open_bills, self.all_paid = 0, run.env.event()
        self.delay_s, self.service_s = 0.0, 0.0
        self.first_dispatch_s = math.nan
        self._dispatch_draws = self._draws_per_dispatch()

    # ---- from dispatch to start ----

    def rent(self, claim: Claim) -> float | None:
        """Rent an instance for each slot of a claim; return the delay in seconds.

        Return None if the market refuses.
        """
        run, now_s = self.run, self.run.env.now
        self.claim, (self.gpus, self.mean_s) = claim, claim.terms
        slots = [(slot, gpu) for (slot, _), gpu in zip(claim.parts, self.gpus)]
        cold = [gpu for slot, gpu in slots if not run.view.warm(SlotView(slot, gpu))]
        self.status, self.planned_delay_s = self._provisioning(cold)
        names = "+".join(gpu.name for gpu in self.gpus)
        stock = f"{self.status.name.title()} stock" if cold else "warm"
        if run.terms.retry_s is not None and self.status == LOW:
            self.totals["refusals"] += 1
            run.emit("refuse", self.job, f"{names}, {stock}")
            return None
        self.totals["warm_starts"] += not cold
        self.instances = [run.instance(slot, gpu, self) for slot, gpu in slots]
        self.open_bills += len(slots)
        self.price_usd_per_h = summed(gpu.price_usd_per_h for gpu in self.gpus)
        self.dispatch_s, self.start_s = now_s, math.nan
        if math.isnan(self.first_dispatch_s):
            self.first_dispatch_s = now_s
        run.emit("dispatch", claim, f"{names}, {stock}")
        return self.planned_delay_s

    def _provisioning(self, cold: list[GpuType]) -> tuple[Status, float]:
        """Return the status and delay of the cold instances; warm ones have none."""
        if not cold:
            return HIGH, 0.0
        draws = next(self._dispatch_draws)
        return provisioning(self.run.stock, cold, self.run.env.now, draws)

    def _draws_per_dispatch(self) -> Iterator[Draws]:
        """Yield the job's draws, then per dispatch new draws of status and delay."""
        yield self.draws
        attempts = stream(self.run.seed, "attempts", self.job.id)
        while True:
            status, delay = attempts.random(2).tolist()
            yield self.draws._replace(status=status, delay=delay)

    def start(self) -> float:
        """Start execution; return its duration in seconds if it is not interrupted."""
        now_s, terms = self.run.env.now, self.run.terms
        self._provisioned(self.planned_delay_s)
        for instance in self.instances:
            if not instance.up:
                instance.come()
        self.start_s = now_s
        self.restart_s = terms.restart_s if self.has_started else 0.0
        self.has_started = True
        self.work_s = self._work_left_s()
        self.writes = 0  # checkpoints until the job ends, of which the end needs none
        if terms.checkpoint_s is not None:
            self.writes = max(0, math.ceil(self.work_s / terms.checkpoint_s) - 1)
        return self.restart_s + self.work_s + self.writes * terms.checkpoint_cost_s

    def _work_left_s(self) -> float:
        """Return the remaining execution time on the current types, in seconds.

        Work done on other types counts as a share of the job.
        """
        service, share_elsewhere = self.draws.service, 0.0
        for mean_s, saved_s in self.saved_work_s.items():
            if mean_s != self.mean_s:
                share_elsewhere += saved_s / (mean_s * service)
        whole_s = self.mean_s * service * (1.0 - share_elsewhere)  # thesis Eq. 3.12
        return max(0.0, whole_s - self.saved_work_s.get(self.mean_s, 0.0))

    def _provisioned(self, delay_s: float) -> None:
        """Pay for provisioning, even if incomplete, and for idle instances."""
        self.delay_s += delay_s
        for instance in self.instances:
            usd_per_h = instance.gpu.price_usd_per_h
            if instance.up:
                self.pay("idle", delay_s, usd_per_h)
            elif self.run.terms.billed_from == "provisioning":
                self.pay("provisioning", delay_s, usd_per_h)

    # ---- the end of an execution ----

    def finish(self) -> None:
        """Complete the job and its use of the instances."""
        writing_s = self.writes * self.run.terms.checkpoint_cost_s
        self._executed(self.restart_s, self.work_s, writing_s, 0.0)
        self.finish_s, self.done = self.run.env.now, True
        for instance in self.instances:
            instance.leave()

    def stop(self, cause: Any) -> None:
        """End the use of the slots before the job is complete.

        cause: a Suspend, which saves all work; otherwise a preemption, after which the
        job restarts from its last checkpoint. If the market preempts, cause is the
        Instance.
        """
        now_s, suspended = self.run.env.now, isinstance(cause, Suspend)
        kind, column = (
            ("suspend", "suspensions") if suspended else ("preempt", "preemptions")
        )
        self.totals[column] += 1
        saved_s = 0.0
        if math.isnan(self.start_s):
            self._provisioned(now_s - self.dispatch_s)
        else:
            restarting_s = min(self.restart_s, now_s - self.start_s)
            ran_s = max(0.0, now_s - self.start_s - self.restart_s)
            saved_s, writing_s = self._saved(ran_s, suspended)
            lost_s = ran_s - saved_s - writing_s
            self._executed(restarting_s, saved_s, writing_s, lost_s)
            saved = self.saved_work_s
            saved[self.mean_s] = saved.get(self.mean_s, 0.0) + saved_s
            shares = [work_s / mean_s for mean_s, work_s in saved.items()]
            self.run.view._done[self.job] = summed(shares)
        self.run.emit(kind, self.claim, f"{saved_s:.2f} s of execution are kept")
        for instance in self.instances:
            if suspended or (isinstance(cause, Instance) and instance is not cause):
                instance.leave()
            else:
                instance.release()

    def _saved(self, ran_s: float, suspended: bool) -> tuple[float, float]:
        """Return the work saved in a run time, and its checkpoint time, in seconds."""
        every_s, cost_s = self.run.terms.checkpoint_s, self.run.terms.checkpoint_cost_s
        if every_s is None:
            return (ran_s, 0.0) if suspended else (0.0, 0.0)
        written = min(self.writes, math.floor(ran_s / (every_s + cost_s)))
        saved_s = written * every_s
        if not suspended:
            return saved_s, written * cost_s
        # and the work since the last checkpoint; what is left was spent on writing
        saved_s += min(ran_s - written * (every_s + cost_s), every_s)
        return saved_s, ran_s - saved_s

    def _executed(
        self, restarting_s: float, work_s: float, writing_s: float, lost_s: float
    ) -> None:
        """Pay for an execution, by the purpose of its seconds."""
        self.service_s += work_s + writing_s + lost_s
        self.totals["restarting_s"] += restarting_s
        self.totals["checkpoints_s"] += writing_s
        self.totals["lost_s"] += lost_s
        if restarting_s:
            self.claim.phase("restarting", self.start_s)
            self.claim.phase("executing", self.start_s + restarting_s)
        self.pay("executing", work_s, self.price_usd_per_h)
        self.pay("checkpoints", writing_s, self.price_usd_per_h)
        self.pay("wasted", restarting_s + lost_s, self.price_usd_per_h)

    # ---- payments ----

    def pay(self, part: str, seconds: float, price_usd_per_h: float) -> None:
        """Pay for some seconds of one or more instances. part: one of PARTS."""
        cost_usd = seconds * price_usd_per_h / 3600.0  # thesis Eq. 3.11
        self.totals[f"{part}_usd"] += cost_usd
        if self.run.budget:
            self.run.budget.spend(self.run.env.now, cost_usd)

    def close_bill(self) -> None:
        """End the payments for an instance; after the last, record the finished job."""
        self.open_bills -= 1
        if self.open_bills or not self.done:
            return
        slot, gpu = self.claim.parts[0][0], self.run.gpu_index[self.gpus[0].name]
        totals = self.totals
        if totals["preemptions"] or totals["suspensions"]:
            with_slots_s = self.delay_s + self.service_s + totals["restarting_s"]
            since_first_s = self.finish_s - self.first_dispatch_s
            totals["away_s"] = max(0.0, since_first_s - with_slots_s)
        cost_usd = math.fsum(totals[f"{part}_usd"] for part in PARTS)
        self.run.live.record(
            self.job,
            slot,
            gpu,
            self.status,
            self.delay_s,
            self.service_s,
            cost_usd,
            *[totals[name] for name in self.run.terms.columns],
        )
        self.all_paid.succeed()
