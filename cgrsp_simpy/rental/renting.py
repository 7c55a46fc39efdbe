"""The life of a job under other terms of renting than the thesis's: instances are refused,
kept warm and billed, and a day has a budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import simpy

from cgrsp_simpy.engine.claims import Claim
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.model.policy import Wake
from cgrsp_simpy.model.streams import stream
from cgrsp_simpy.rental.gpu import GpuType
from cgrsp_simpy.rental.job import Draws, Job
from cgrsp_simpy.rental.market import HIGH, LOW, Clock, Status
from cgrsp_simpy.rental.processes import Process, Setting, stock
from cgrsp_simpy.rental.terms import PARTS, Terms
from cgrsp_simpy.rental.view import DispatchState, SlotView, View

__all__ = ["Budget", "Renting", "renting_process"]

DAY_S = 86400.0
ROUNDING_S = 1e-3  # of midnight


def renting_process(run: Renting, job: Job, draws: Draws) -> Process:
    """A job: as `processes.job_process`, and from its dispatch on again when it is
    refused.
    """
    env, engine, tenant = run.env, run.engine, Tenant(run, job, draws)
    while not tenant.done:
        claim = yield engine.claim(job)
        delay_s = tenant.rent(claim)
        if delay_s is None:
            engine.release(claim)
            yield env.timeout(run.terms.retry_s or 0.0, ("retry", job.id))
            continue
        yield env.timeout(delay_s, ("start", job.id))
        claim.acquire()
        yield env.timeout(tenant.start(), ("finish", job.id))
        tenant.finish()
        engine.release(claim)


class Renting:
    """What the processes of one run share, and the instances that are up.

    setting: as of the thesis's process. budget: None if there is none.
    """

    def __init__(
        self,
        setting: Setting,
        state: DispatchState,
        seed: int,
        policy: Any,
        budget: Budget | None,
    ) -> None:
        self.env, self.engine, self.market = setting.env, setting.engine, setting.market
        self.recorder, self.gpu_index = setting.recorder, setting.gpu_index
        self.state, self.seed, self.budget = state, seed, budget
        self.terms: Terms = state.known.terms
        self._keep_s = getattr(policy, "keep_s", None)
        self.recorder.claims = []

    def is_warm(self, slot: int, gpu: GpuType) -> bool:
        """Whether an instance of a type is kept for a slot."""
        kept = self.state.warm.get(slot)
        return kept is not None and kept.gpu == gpu

    def instance(self, slot: int, gpu: GpuType, tenant: Tenant) -> Instance:
        """The warm instance of a slot, or a new one; a warm one of another type is
        given back.
        """
        kept: Instance | None = self.state.warm.pop(slot, None)
        if kept is not None:
            kept.end_idle()
            if kept.gpu == gpu:
                kept.tenant.closed()
                kept.tenant = tenant
                return kept
            kept.give_back()
        return Instance(self, slot, gpu, tenant)

    def keep_s(self, slot: int, gpu: GpuType) -> float:
        """For how long an instance is kept after its job, seconds."""
        if not self.terms.warm_s or self._keep_s is None:
            return self.terms.warm_s
        now_s, wrong = self.env.now, self.engine.dispatcher.answers.wrong
        try:
            kept_s = self._keep_s(self.state.view(now_s), SlotView(slot, gpu))
        except Exception as error:
            raise wrong(f"raised {type(error).__name__}: {error}") from error
        if not isinstance(kept_s, Real) or not float(kept_s) >= 0:
            raise wrong(f"keeps slot {slot} for {kept_s!r} s; that must be a number >= 0")
        return min(self.terms.warm_s, float(kept_s))

    def spend(self, cost_usd: float) -> None:
        """Take down a cost on its day."""
        if self.budget:
            self.budget.spend(self.env.now, cost_usd)


class Instance:
    """A GPU that is rented for a slot, from its order until it is given back.

    tenant: the job that holds it, or held it last, which pays. since_s: from when on it
    is billed; None: it has not come yet. idle_s: since when it is idle. timeout: the end
    of its being kept.
    """

    def __init__(self, run: Renting, slot: int, gpu: GpuType, tenant: Tenant) -> None:
        self.run, self.slot, self.gpu, self.tenant = run, slot, gpu, tenant
        ordered = run.terms.billed_from == "provisioning"
        self.since_s: float | None = run.env.now if ordered else None
        self.up = False
        self.idle_s = math.nan
        self._timeout: simpy.Event | None = None

    def come(self) -> None:
        """It is up."""
        if not self.up:
            self.up = True
            if self.since_s is None:
                self.since_s = self.run.env.now

    def leave(self) -> None:
        """Its job has left it: it is kept, or given back."""
        kept_s = self.run.keep_s(self.slot, self.gpu) if self.up else 0.0
        if not kept_s:
            self.give_back()
            return
        self.idle_s = self.run.env.now
        self.run.state.warm[self.slot] = self
        self._timeout = self.run.env.timeout(kept_s, ("expire", None))
        self._timeout.callbacks = [self._expire]

    def _expire(self, timeout: simpy.Event) -> None:
        """No job has come in time."""
        if timeout is self._timeout:
            del self.run.state.warm[self.slot]
            self.run.engine.tell("expire", None, f"slot {self.slot} is given back")
            self.end_idle()
            self.give_back()

    def end_idle(self) -> None:
        """The time for which it was kept has ended."""
        self._timeout = None
        tenant, now_s = self.tenant, self.run.env.now
        tenant.pay("idle", now_s - self.idle_s, self.gpu.price_usd_per_h)
        self.run.recorder.add_claim(tenant.job.id, self.slot, "idle-warm", self.idle_s, now_s)

    def give_back(self) -> None:
        """It is rented no longer."""
        used_s = 0.0 if self.since_s is None else self.run.env.now - self.since_s
        rounding_s = self.run.terms.rounding_s(used_s)
        self.tenant.pay("rounding", rounding_s, self.gpu.price_usd_per_h)
        self.tenant.closed()


class Tenant:
    """A job with what it has met and what it pays.

    done: whether it has ended. bill: by column of its record. open: number of instances
    that it pays for. draws: its luck at the first dispatch.
    """

    mean_s: float
    service_s: float

    def __init__(self, run: Renting, job: Job, draws: Draws) -> None:
        self.run, self.job, self.draws, self.done = run, job, draws, False
        self.bill = dict.fromkeys(("refusals", "warm_starts"), 0.0)
        self.bill |= dict.fromkeys([f"{part}_usd" for part in PARTS], 0.0)
        self.instances: list[Instance] = []
        self.open = 0
        self._luck: Callable[[], float] | None = None

    def rent(self, claim: Claim) -> float | None:
        """Rent the instances of the slots of a claim: the provisioning delay in seconds,
        or None if they are refused.
        """
        run, job, now_s = self.run, self.job, self.run.env.now
        self.claim, (self.gpus, self.mean_s) = claim, claim.terms
        slots = [(slot, gpu) for (slot, _), gpu in zip(claim.parts, self.gpus)]
        cold = [gpu for slot, gpu in slots if not run.is_warm(slot, gpu)]
        self.status, self.delay_s = self._stock(cold, now_s)
        names = "+".join(gpu.name for gpu in self.gpus)
        met = f"{self.status.name.title()} stock" if cold else "warm"
        if run.terms.retry_s is not None and self.status == LOW:
            self.bill["refusals"] += 1
            run.engine.tell("refuse", job, f"{names}, {met}")
            return None
        self.bill["warm_starts"] += not cold
        self.instances = [run.instance(slot, gpu, self) for slot, gpu in slots]
        self.open += len(slots)
        self.price_usd_per_h = sum(gpu.price_usd_per_h for gpu in self.gpus)
        self.dispatch_s = now_s
        run.engine.tell("dispatch", claim, f"{names}, {met}")
        return self.delay_s

    def _stock(self, cold: list[GpuType], now_s: float) -> tuple[Status, float]:
        """Status and delay of the instances that have to come; each time with luck of
        its own.
        """
        if not cold:
            return HIGH, 0.0
        if self._luck is None:
            self._luck = stream(self.run.seed, "attempts", self.job.id).random
            draws = self.draws
        else:
            draws = self.draws._replace(status=self._luck(), delay=self._luck())
        return stock(self.run.market, cold, now_s, draws)

    def start(self) -> float:
        """All instances have come; seconds of execution."""
        run, now_s = self.run, self.run.env.now
        for instance in self.instances:
            if instance.up:  # it has waited for the others
                usd_per_h = instance.gpu.price_usd_per_h
                self.pay("idle", self.delay_s, usd_per_h)
            elif run.terms.billed_from == "provisioning":
                self.pay("provisioning", self.delay_s, instance.gpu.price_usd_per_h)
            instance.come()
        self._phase("provisioning", self.dispatch_s, now_s)
        self.start_s = now_s
        self.service_s = self.mean_s * self.draws.service
        wait_s = now_s - self.job.submit_s
        detail = f"{self.delay_s:.2f} s of provisioning, {wait_s:.2f} s of wait in all"
        run.engine.tell("start", self.claim, detail)
        return self.service_s

    def finish(self) -> None:
        """The job has ended; so has its use of the instances."""
        now_s, late = self.run.env.now, "in time"
        if now_s > self.job.deadline_s:
            late = "late"
        detail = f"{self.service_s:.2f} s of execution, {late}"
        self.run.engine.tell("finish", self.claim, detail)
        self._phase("executing", self.start_s, now_s)
        self.pay("executing", self.service_s, self.price_usd_per_h)
        self.finish_s, self.done = now_s, True
        for instance in self.instances:
            instance.leave()

    # ---- the bill ----

    def pay(self, part: str, seconds: float, price_usd_per_h: float) -> None:
        """Pay for seconds of an instance, or of several together."""
        cost_usd = seconds * price_usd_per_h / 3600.0  # thesis Eq. 3.11
        self.bill[f"{part}_usd"] += cost_usd
        self.run.spend(cost_usd)

    def closed(self) -> None:
        """The job pays no longer for an instance; for the last, its record is taken."""
        self.open -= 1
        if self.open or not self.done:
            return
        recorder, slots = self.run.recorder, [slot for slot, _ in self.claim.parts]
        types = [self.run.gpu_index[gpu.name] for gpu in self.gpus]
        times_s = self.dispatch_s, self.start_s, self.finish_s
        cost_usd = math.fsum(self.bill[f"{part}_usd"] for part in PARTS)
        met = self.status, self.delay_s, self.service_s, cost_usd
        more = [self.bill[name] for name in self.run.terms.columns]
        recorder.add((*self.job, *times_s, slots[0], types[0], *met, *more))
        if len(slots) > 1:
            recorder.add_gang(self.job.id, list(zip(slots, types)))

    def _phase(self, phase: str, from_s: float, to_s: float) -> None:
        for instance in self.instances:
            self.run.recorder.add_claim(self.job.id, instance.slot, phase, from_s, to_s)


class Budget:
    """A policy that dispatches nothing from when the day's budget is spent until
    midnight.

    usd: a day. days: on which jobs had to wait for that.
    """

    def __init__(self, policy: Any, usd: float, clock: Clock) -> None:
        self.policy, self.usd, self.name = policy, usd, policy_name(policy)
        self.days: set[int] = set()
        self._start_s = clock.start_h * 3600.0
        self._day, self._spent_usd = 0, 0.0

    def __call__(self, view: View) -> Any:
        """What the policy answers, or that it is to be asked at midnight."""
        day = self._at(view.now_s)
        if self._spent_usd < self.usd:
            return self.policy(view)
        self.days.add(day)
        return [Wake((day + 1) * DAY_S - self._start_s)]

    def spend(self, now_s: float, cost_usd: float) -> None:
        """Take down a cost."""
        self._at(now_s)
        self._spent_usd += cost_usd

    def _at(self, now_s: float) -> int:
        """The day; with it the sum begins anew."""
        day = math.floor((self._start_s + now_s + ROUNDING_S) / DAY_S)
        if day > self._day:
            self._day, self._spent_usd = day, 0.0
        return day
