"""Rented instances, the jobs that use and pay for them, and the daily budget."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import Any

import numpy as np
import simpy

from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.policy import Suspend, Wake, WrapsPolicy
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.events import delay_until, policy_name
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.market.gpu import GpuType
from cgrsp_simpy.market.model import HIGH, LOW, Clock, Status
from cgrsp_simpy.market.stock import DAY_S, Stock
from cgrsp_simpy.rental.job import ArrivalRates, Draws, Job, Met
from cgrsp_simpy.rental.record import Totals
from cgrsp_simpy.rental.terms import PARTS, rounding_s
from cgrsp_simpy.rental.view import SlotView, View

ROUNDING_S = 1e-3  # rounding error of midnight


class Budget(WrapsPolicy):
    """Policy wrapper that dispatches nothing after the day's budget is spent.

    Dispatching resumes at midnight. usd: budget per day. totals: totals of the run, in
    which the days on which jobs waited for the budget are counted.
    """

    totals: Totals

    def __init__(self, policy: Any, usd: float, clock: Clock) -> None:
        self.policy, self.usd, self.name = policy, usd, policy_name(policy)
        self._days: set[int] = set()
        self._start_s = clock.start_h * 3600.0
        self._day, self._spent_usd = 0, 0.0

    def __call__(self, view: View) -> Any:
        day = self._at(view.now_s)
        if self._spent_usd < self.usd:
            return self.policy(view)
        self._days.add(day)
        self.totals.more["budget_days"] = len(self._days)
        return [Wake((day + 1) * DAY_S - self._start_s)]

    def spend(self, now_s: float, cost_usd: float) -> None:
        """Add a cost to the amount spent today."""
        self._at(now_s)
        self._spent_usd += cost_usd

    def _at(self, now_s: float) -> int:
        """Return the number of the day; a new day resets the amount spent."""
        day = math.floor((self._start_s + now_s + ROUNDING_S) / DAY_S)
        if day > self._day:
            self._day, self._spent_usd = day, 0.0
        return day


class Renting:
    """Shared state of the job processes of a run with terms other than the thesis's.

    live: the simulation. budget: the Budget of the terms, or None.
    """

    def __init__(self, live: Simulation, view: View) -> None:
        self.env, self.live, self.view, self.stock = live.env, live, view, live.stock
        self.gpu_index, self.seed, self.emit = live.gpu_index, live.seed, live.emit
        self.terms, self.market = view.known.terms, view.known.market
        self.preemption_times, policy = PreemptionTimes(self), live.policy
        self.budget = policy if isinstance(policy, Budget) else None
        self._keep_s = getattr(policy, "keep_s", None)

    def instance(self, slot: int, gpu: GpuType, tenant: RentedJob) -> Instance:
        """Return a slot's warm instance if it has this type, otherwise a new one.

        A warm instance of another type is returned to the market.
        """
        kept: Instance | None = self.view._warm.pop(slot, None)
        if kept is not None:
            kept.end_idle()
            if kept.gpu == gpu:
                kept.tenant.close_bill()
                kept.tenant = tenant
                return kept
            kept.release()
        return Instance(self, slot, gpu, tenant)

    def keep_s(self, slot: int, gpu: GpuType) -> float:
        """Return how long an instance is kept after its job, in seconds."""
        if slot in self.view._closed:
            return 0.0
        if not self.terms.warm_s or self._keep_s is None:
            return self.terms.warm_s
        answers = self.live.dispatcher.caller
        self.view.on_decision(self.env.now)
        kept_s = answers.ask(self._keep_s, self.view, SlotView(slot, gpu))
        if not isinstance(kept_s, Real) or not float(kept_s) >= 0:
            raise answers.wrong(
                f"keeps slot {slot} for {kept_s!r} s; that must be a number >= 0"
            )
        return min(self.terms.warm_s, float(kept_s))


class PreemptionTimes:
    """Preemption times of instances: one Poisson process per slot and type."""

    def __init__(self, run: Renting) -> None:
        self.run = run
        self._times: dict[tuple[int, str], Iterator[float]] = {}
        self._next: dict[tuple[int, str], float] = {}

    def after(self, slot: int, gpu: GpuType, now_s: float) -> float:
        """Return the first preemption time after now, in seconds, or inf."""
        key = slot, gpu.name
        times = self._times.setdefault(key, self._drawn(slot, gpu.name))
        while self._next.get(key, -math.inf) <= now_s:
            self._next[key] = next(times)
        return self._next[key]

    def _drawn(self, slot: int, gpu: str) -> Iterator[float]:
        per_h = self.run.terms.preemptions_per_h(gpu)
        if not any(per_h):
            yield math.inf
            return
        rates = ArrivalRates((per_h,), self.run.market.clock.start_h)
        drawn = stream(self.run.seed, "preemptions", slot, self.run.gpu_index[gpu])
        expected = 0.0
        while True:
            expected_by = expected + np.cumsum(drawn.standard_exponential(64))
            expected = float(expected_by[-1])
            yield from rates.times_s(expected_by).tolist()


class Instance:
    """A GPU rented for a slot, from its order until it is returned or preempted.

    tenant: the job that uses the instance, or used it last, and pays for it. since_s:
    start of billing; None until it is up. ordered_s: time of its order. idle_s: start
    of idling.
    """

    def __init__(
        self, run: Renting, slot: int, gpu: GpuType, tenant: RentedJob
    ) -> None:
        self.run, self.slot, self.gpu, self.tenant = run, slot, gpu, tenant
        ordered = run.terms.billed_from == "provisioning"
        self.since_s: float | None = run.env.now if ordered else None
        self.ordered_s, self.up, self.idle_s = run.env.now, False, math.nan
        self._timeouts: dict[str, simpy.Event] = {}

    def come(self) -> None:
        """Mark the instance as up; from now on it can be preempted."""
        now_s, self.up = self.run.env.now, True
        self.since_s = now_s if self.since_s is None else self.since_s
        delay_s = self.run.preemption_times.after(self.slot, self.gpu, now_s) - now_s
        if self.run.terms.taken_when_low:
            out_s = self.run.stock.runs_out_s(self.gpu, self.ordered_s)
            delay_s = min(delay_s, delay_until(now_s, out_s))
        if delay_s < math.inf:
            self._at("taken", delay_s, self._taken)

    def leave(self) -> None:
        """Keep or return the instance after its job."""
        kept_s = self.run.keep_s(self.slot, self.gpu) if self.up else 0.0
        if not kept_s:
            self.release()
            return
        self.idle_s = self.run.env.now
        self.run.view._warm[self.slot] = self
        self._at("expire", kept_s, self._expire)

    def end_idle(self) -> None:
        """End the warm time and bill it."""
        self._forget("expire")
        tenant, now_s = self.tenant, self.run.env.now
        tenant.pay("idle", now_s - self.idle_s, self.gpu.price_usd_per_h)
        self.run.live.record_usage(
            tenant.job, self.slot, "idle-warm", self.idle_s, now_s
        )

    def release(self) -> None:
        """Return the instance to the market, and bill the rounding."""
        self._forget("taken")
        used_s = 0.0 if self.since_s is None else self.run.env.now - self.since_s
        more_s = rounding_s(
            used_s, self.run.terms.minimum_s, self.run.terms.increment_s
        )
        self.tenant.pay("rounding", more_s, self.gpu.price_usd_per_h)
        self.tenant.close_bill()

    def _expire(self, _: simpy.Event) -> None:
        """Return a warm instance because no job arrived in time."""
        self.run.emit("expire", None, f"slot {self.slot} is released")
        self.end_warm()

    def _taken(self, _: simpy.Event) -> None:
        """Preempt the instance, whether it is in use or idle."""
        self._forget("taken")
        if self.run.view._warm.get(self.slot) is self:
            self.run.emit("preempt", None, f"slot {self.slot}, idle")
            self.end_warm()
        else:
            self.run.live.revoke(self.tenant.claim, self)

    def end_warm(self) -> None:
        """End the warm time and return the instance."""
        del self.run.view._warm[self.slot]
        self.end_idle()
        self.release()

    def _at(self, kind: str, delay_s: float, call: Callable[[Any], None]) -> None:
        timeout = self._timeouts[kind] = self.run.env.timeout(delay_s, (kind, None))
        timeout.callbacks = [call]

    def _forget(self, kind: str) -> None:
        timeout = self._timeouts.pop(kind, None)
        if timeout is not None:
            self.run.env.cancel(timeout)


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
        # and the work since the last checkpoint; the rest was spent on writing
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
        self.run.live.record(
            self.job,
            slot,
            gpu,
            self.status,
            self.delay_s,
            self.service_s,
            math.fsum(totals[f"{part}_usd"] for part in PARTS),
            *[totals[name] for name in self.run.terms.columns],
        )
        self.all_paid.succeed()
