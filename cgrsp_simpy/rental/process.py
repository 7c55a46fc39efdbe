"""Processes of jobs on rented GPUs, under the thesis's terms and under others."""

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
from cgrsp_simpy.rental.gpu import GpuType
from cgrsp_simpy.rental.instances import Instance, Renting
from cgrsp_simpy.rental.job import Draws, Job
from cgrsp_simpy.rental.market import HIGH, LOW, Status
from cgrsp_simpy.rental.stock import Stock
from cgrsp_simpy.rental.terms import PARTS
from cgrsp_simpy.rental.view import SlotView


def job_process(run: Simulation, job: Job) -> Process:
    """A job: wait for dispatch, provisioning, request, execution, release.

    A job on several slots starts when the last of them is provisioned, and runs at the
    pace of its slowest type.
    """
    draws: Draws = run.hidden[job]
    with run.claim(job, request=False) as claim:
        yield claim
        gpus, mean_s = claim.terms
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
    for gpu in gpus[1:]:
        price_usd_per_h += gpu.price_usd_per_h
    cost_usd = service_s * price_usd_per_h / 3600.0  # thesis Eq. 3.11
    slot, gpu = claim.parts[0][0], run.gpu_index[gpus[0].name]
    run.record(job, slot, gpu, status, delay_s, service_s, cost_usd)


def provisioning(
    stock: Stock, gpus: Sequence[GpuType], time_s: float, draws: Draws
) -> tuple[Status, float]:
    """Return the scarcest stock status of a dispatch, and the delay in seconds."""
    status = stock.status(gpus[0], time_s, draws.status)  # thesis Eq. 3.1
    for gpu in gpus[1:]:
        status = max(status, stock.status(gpu, time_s, draws.status))
    return status, stock.market.provisioning_s(status, draws.delay)  # thesis Eq. 3.2


def renting_job_process(run: Simulation, job: Job) -> Process:
    """A job that may be refused, suspended or preempted, and then waits again.

    It ends when the last bill is paid.
    """
    tenant = RentedJob(run.renting, job, run.hidden[job])
    while not tenant.done:
        with run.claim(job, request=False) as claim:
            yield claim
            delay_s = tenant.rent(claim)
            if delay_s is not None:
                try:
                    yield run.timeout(delay_s, ("start", job.id))
                    with claim.request() as turn:
                        yield turn
                        yield run.timeout(tenant.start(), ("finish", job.id))
                except simpy.Interrupt as interrupt:
                    tenant.stop(interrupt.cause)
                else:
                    tenant.finish()
        if delay_s is None:
            yield run.timeout(tenant.run.terms.retry_s or 0.0, ("retry", job.id))
    run.mark_finished(job)
    yield tenant.paid


class RentedJob:
    """A job with its remaining work, its history and its payments.

    kept: seconds of saved work, by the mean execution time where they were done. done:
    whether it has ended. begun: whether it has ever started. bill: by column of its
    record. open: number of instances that it pays for. delay_s, service_s: provisioning
    and execution so far. first_s: of its dispatch. draws: at the first dispatch. paid:
    last bill.
    """

    claim: Claim
    gpus: list[GpuType]
    mean_s: float

    def __init__(self, run: Renting, job: Job, draws: Draws) -> None:
        self.run, self.job, self.draws = run, job, draws
        self.kept: dict[float, float] = {}
        self.done, self.begun = False, False
        self.bill = defaultdict[str, float](float)
        self.instances: list[Instance] = []
        self.open, self.paid = 0, run.env.event()
        self.delay_s, self.service_s = 0.0, 0.0
        self.first_s = math.nan
        self._lucks = self._draws()

    # ---- from dispatch to start ----

    def rent(self, claim: Claim) -> float | None:
        """Rent the instances of a claim; return the delay, s, or None if refused."""
        run, now_s = self.run, self.run.env.now
        self.claim, (self.gpus, self.mean_s) = claim, claim.terms
        slots = [(slot, gpu) for (slot, _), gpu in zip(claim.parts, self.gpus)]
        cold = [gpu for slot, gpu in slots if not run.view.warm(SlotView(slot, gpu))]
        status, self.planned_s = self._stock(cold, now_s)
        names = "+".join(gpu.name for gpu in self.gpus)
        met = f"{status.name.title()} stock" if cold else "warm"
        if run.terms.retry_s is not None and status == LOW:
            self.bill["refusals"] += 1
            run.emit("refuse", self.job, f"{names}, {met}")
            return None
        self.status = status
        self.bill["warm_starts"] += not cold
        self.instances = [run.instance(slot, gpu, self) for slot, gpu in slots]
        self.open += len(slots)
        self.price_usd_per_h = summed(gpu.price_usd_per_h for gpu in self.gpus)
        self.dispatch_s, self.start_s = now_s, math.nan
        self.first_s = now_s if math.isnan(self.first_s) else self.first_s
        run.emit("dispatch", claim, f"{names}, {met}")
        return self.planned_s

    def _stock(self, cold: list[GpuType], now_s: float) -> tuple[Status, float]:
        """Status and delay of the cold instances."""
        if not cold:
            return HIGH, 0.0
        return provisioning(self.run.stock, cold, now_s, next(self._lucks))

    def _draws(self) -> Iterator[Draws]:
        """Hidden draws of each attempt."""
        yield self.draws
        luck = stream(self.run.seed, "attempts", self.job.id)
        while True:
            status, delay = luck.random(2).tolist()
            yield self.draws._replace(status=status, delay=delay)

    def start(self) -> float:
        """Start execution; return the seconds until the job ends, unless stopped."""
        now_s, terms = self.run.env.now, self.run.terms
        self._provisioned(self.planned_s)
        for instance in self.instances:
            if not instance.up:
                instance.come()
        self.start_s = now_s
        self.restart_s = terms.restart_s if self.begun else 0.0
        self.begun = True
        self.work_s = self._work_left_s()
        self.writes = 0
        if terms.checkpoint_s is not None:  # none at the end
            self.writes = max(0, math.ceil(self.work_s / terms.checkpoint_s) - 1)
        return self.restart_s + self.work_s + self.writes * terms.checkpoint_cost_s

    def _work_left_s(self) -> float:
        """Seconds of work left, on the types of the present slots."""
        service, elsewhere = self.draws.service, 0.0
        for mean_s, kept_s in self.kept.items():
            if mean_s != self.mean_s:
                elsewhere += kept_s / (mean_s * service)
        whole_s = self.mean_s * service * (1.0 - elsewhere)  # thesis Eq. 3.12
        return max(0.0, whole_s - self.kept.get(self.mean_s, 0.0))

    def _provisioned(self, delay_s: float) -> None:
        """Pay for provisioning, complete or not; warm instances have been idle."""
        self.delay_s += delay_s
        for instance in self.instances:
            usd_per_h = instance.gpu.price_usd_per_h
            if instance.up:
                self.pay("idle", delay_s, usd_per_h)
            elif self.run.terms.billed_from == "provisioning":
                self.pay("provisioning", delay_s, usd_per_h)

    # ---- the end of a stay ----

    def finish(self) -> None:
        """End the job and its use of the instances."""
        writing_s = self.writes * self.run.terms.checkpoint_cost_s
        self._executed(self.restart_s, self.work_s, writing_s, 0.0)
        self.finish_s, self.done = self.run.env.now, True
        for instance in self.instances:
            instance.leave()

    def stop(self, cause: Any) -> None:
        """Take the job's slots; it keeps its work, or if preempted a checkpoint's."""
        now_s, suspended = self.run.env.now, isinstance(cause, Suspend)
        kind, column = (
            ("suspend", "suspensions") if suspended else ("preempt", "preemptions")
        )
        self.bill[column] += 1
        kept_s = 0.0
        if math.isnan(self.start_s):
            self._provisioned(now_s - self.dispatch_s)
        else:
            restarting_s = min(self.restart_s, now_s - self.start_s)
            ran_s = max(0.0, now_s - self.start_s - self.restart_s)
            kept_s, writing_s = self._kept(ran_s, suspended)
            self._executed(restarting_s, kept_s, writing_s, ran_s - kept_s - writing_s)
            self.kept[self.mean_s] = self.kept.get(self.mean_s, 0.0) + kept_s
            shares = [kept_s / mean_s for mean_s, kept_s in self.kept.items()]
            self.run.view._done[self.job] = summed(shares)
        self.run.emit(kind, self.claim, f"{kept_s:.2f} s of execution are kept")
        for instance in self.instances:
            if suspended or (isinstance(cause, Instance) and instance is not cause):
                instance.leave()
            else:
                instance.release()

    def _kept(self, ran_s: float, suspended: bool) -> tuple[float, float]:
        """Seconds of saved work, and of writing checkpoints, within a run time."""
        every_s, cost_s = self.run.terms.checkpoint_s, self.run.terms.checkpoint_cost_s
        if every_s is None:
            return (ran_s, 0.0) if suspended else (0.0, 0.0)
        written = min(self.writes, math.floor(ran_s / (every_s + cost_s)))
        kept_s = written * every_s
        if not suspended:
            return kept_s, written * cost_s
        kept_s += min(ran_s - written * (every_s + cost_s), every_s)
        return kept_s, ran_s - kept_s

    def _executed(
        self, restarting_s: float, work_s: float, writing_s: float, lost_s: float
    ) -> None:
        """Pay for a stay by the use of its seconds."""
        self.service_s += work_s + writing_s + lost_s
        self.bill["restarting_s"] += restarting_s
        self.bill["checkpoints_s"] += writing_s
        self.bill["lost_s"] += lost_s
        if restarting_s:
            self.claim.phase("restarting", self.start_s)
            self.claim.phase("executing", self.start_s + restarting_s)
        self.pay("executing", work_s, self.price_usd_per_h)
        self.pay("checkpoints", writing_s, self.price_usd_per_h)
        self.pay("wasted", restarting_s + lost_s, self.price_usd_per_h)

    # ---- the bill ----

    def pay(self, part: str, seconds: float, price_usd_per_h: float) -> None:
        """Pay for seconds of an instance, or of several together."""
        cost_usd = seconds * price_usd_per_h / 3600.0  # thesis Eq. 3.11
        self.bill[f"{part}_usd"] += cost_usd
        if self.run.budget:
            self.run.budget.spend(self.run.env.now, cost_usd)

    def closed(self) -> None:
        """End the payments for an instance; after the last, record the job."""
        self.open -= 1
        if self.open or not self.done:
            return
        slot, gpu = self.claim.parts[0][0], self.run.gpu_index[self.gpus[0].name]
        if self.bill["preemptions"] or self.bill["suspensions"]:
            held_s = self.delay_s + self.service_s + self.bill["restarting_s"]
            self.bill["away_s"] = max(0.0, self.finish_s - self.first_s - held_s)
        cost_usd = math.fsum(self.bill[f"{part}_usd"] for part in PARTS)
        met = self.status, self.delay_s, self.service_s, cost_usd
        more = [self.bill[name] for name in self.run.terms.columns]
        self.run.live.record(self.job, slot, gpu, *met, *more)
        self.paid.succeed()
