"""Rented instances: start, warm time, return, preemption; and the daily budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import simpy

from cgrsp_simpy.base.policy import Wake
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.engine.events import delay_until, policy_name
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.market.gpu import GpuType
from cgrsp_simpy.market.law import Clock
from cgrsp_simpy.market.stock import DAY_S
from cgrsp_simpy.rental.arrivals import ArrivalRates
from cgrsp_simpy.rental.record import Totals
from cgrsp_simpy.rental.terms import rounding_s
from cgrsp_simpy.rental.view import SlotView, View

ROUNDING_S = 1e-3  # of midnight


class Budget:
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

    def __getattr__(self, name: str) -> Any:
        if name in ("policy", "totals"):  # not set yet, while copying
            raise AttributeError(name)
        return getattr(self.policy, name)  # what the policy declares

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


if TYPE_CHECKING:
    from cgrsp_simpy.rental.process import RentedJob


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
        if slot in self.live.closed:
            return 0.0
        if not self.terms.warm_s or self._keep_s is None:
            return self.terms.warm_s
        answers = self.live.dispatcher.caller
        self.view.on_decision(self.env.now)
        kept_s = answers.ask(self._keep_s, self.view, SlotView(slot, gpu))
        if not isinstance(kept_s, Real) or not float(kept_s) >= 0:
            allowed = "that must be a number >= 0"
            raise answers.wrong(f"keeps slot {slot} for {kept_s!r} s; {allowed}")
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
