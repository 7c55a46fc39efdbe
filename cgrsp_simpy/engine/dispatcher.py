"""The scheduler's process: bell -> view -> policy -> checked assignments."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from numbers import Real
from typing import Any

import simpy
from simpy.events import EventPriority

from cgrsp_simpy.engine.fleet import Fleet, Slot
from cgrsp_simpy.engine.tracing import Event, Listener, describe_job
from cgrsp_simpy.model.decision import Policy, PolicyError, SlotView, View, Wake
from cgrsp_simpy.model.gpu import GpuType
from cgrsp_simpy.model.job import Job
from cgrsp_simpy.model.scenario import Scenario

__all__ = ["Bell", "Dispatcher", "Grant", "delay_until", "policy_name"]

AFTER_ALL_ELSE = EventPriority(2)  # SimPy's NORMAL is 1; larger comes later within an instant
MOST_WAKES = 100_000  # decisions asked for by a Wake with no assignment in between


class Bell(simpy.Event):
    """Wakes the dispatcher once, after everything else of the instant."""

    def ring(self) -> None:
        """Trigger the bell."""
        self._ok, self._value = True, None
        self.env.schedule(self, AFTER_ALL_ELSE)


Grant = tuple[list[Slot], list[GpuType], float]
"""What a dispatched job receives: its slots, the type as which each is provisioned, and its mean execution time, seconds."""


class Dispatcher:
    """Keeps the queue, asks the policy, hands out slots.

    A job may become ready by any event: whoever calls `submit` receives an event that is triggered with a Grant.
    """

    def __init__(
        self, env: simpy.Environment, fleet: Fleet, scenario: Scenario, policy: Policy, seed: int, listener: Listener | None
    ) -> None:
        self.env, self.fleet, self.policy, self.listener = env, fleet, policy, listener
        self.desk = scenario.desk(seed, fleet.views, fleet.idle, fleet.busy)
        self.waiting: dict[Job, simpy.Event] = self.desk.waiting
        self.decisions = 0
        self._wakes = 0
        self._bell, self._rung = Bell(env), False
        self._alarm: simpy.Event | None = None
        env.process(self._run())

    def submit(self, job: Job) -> simpy.Event:
        """Queue a job; the event returned is triggered when it is dispatched."""
        granted = simpy.Event(self.env)
        self.desk.add(job, granted)
        if self.listener:
            self.listener(Event(self.env.now, "submit", job.id, (), describe_job(job)))
        self._ring()
        return granted

    def complete(self, slots: Iterable[Slot], now_s: float) -> None:
        """Take back the slots of a job that has ended now."""
        for slot in slots:
            self.fleet.free(slot, now_s)
        self._ring()

    def _ring(self) -> None:
        if self.fleet.idle and self.waiting and not self._rung:
            self._rung = True
            self._bell.ring()

    def _run(self) -> Generator[simpy.Event, Any, None]:
        while True:
            yield self._bell
            self._bell, self._rung = Bell(self.env), False  # re-armed first: what the decision sets off may ring again
            self._decide(self.env.now)

    def _decide(self, now_s: float) -> None:
        """One decision: ask the policy, carry out its answer."""
        self._alarm = None
        self.decisions += 1
        view = View(now_s, self.desk)
        try:
            answer = self.policy(view)
            if not isinstance(answer, list):  # most are
                answer = list(answer) if isinstance(answer, Iterable) else [] if answer is None else [answer]
        except (Exception, SystemExit) as error:
            raise self._wrong(f"raised {type(error).__name__}: {error}") from error
        if self.listener:
            detail = f"{view.waiting} waiting, {len(view.idle)} idle"
            self.listener(Event(now_s, "decide", None, (), detail))
        wake_s = math.inf
        for item in answer:
            if type(item) is Wake:
                wake_s = min(wake_s, self._checked_wake(item.at_s))
            else:
                self._dispatch(item, now_s)
        if wake_s < math.inf:
            self._set_alarm(wake_s)

    def _dispatch(self, assignment: Any, now_s: float) -> None:
        """Hand slots to a job, if the assignment is one that can be carried out."""
        job, views = self._pair(assignment)
        slots: list[Slot] = []
        gpus, mean_s = [], 0.0
        for view in views:
            slot = self.fleet.idle_slot(view)
            if slot is None or slot in slots:
                raise self._wrong(self._fault_of_slot(job, view))
            slots.append(slot)
            gpus.append(view.gpu)
            on_this_s = view.gpu.mean_execution_s[job.complexity - 1]
            if on_this_s > mean_s:
                mean_s = on_this_s  # the pace of the slowest type
        for slot, gpu in zip(slots, gpus):
            self.fleet.take(slot, gpu, now_s, mean_s)
        self._wakes = 0
        self.desk.remove(job).succeed((slots, gpus, mean_s))

    def _set_alarm(self, at_s: float) -> None:
        alarm = self._alarm = self.env.timeout(delay_until(self.env.now, at_s), ("wake", None))
        alarm.callbacks.append(self._wake_up)

    def _wake_up(self, alarm: simpy.Event) -> None:
        if alarm is not self._alarm:
            return  # a decision has been made since
        self._wakes += 1
        if self._wakes > MOST_WAKES:
            raise self._wrong(f"has held {len(self.waiting)} waiting jobs through {MOST_WAKES} wake-ups in a row")
        self._ring()

    # ---- checks of an answer ----

    def _pair(self, assignment: Any) -> tuple[Job, tuple[Any, ...]]:
        """The job and the slots of an assignment, if the job waits and the slots are as many as it needs."""
        try:
            job, slots = assignment
            waits = job in self.waiting
        except (TypeError, ValueError):
            raise self._wrong(f"answered {assignment!r}, which is neither a pair (job, slot) nor a Wake") from None
        if type(slots) is not tuple:
            slots = tuple(slots) if type(slots) is list else (slots,)
        if waits and len(slots) == job.gpus:
            return job, slots
        if not isinstance(job, Job):
            raise self._wrong(f"assigned {job!r}, which is not a job")
        if not waits:
            raise self._wrong(f"assigned job {job.id}, which is not waiting (it runs, has ended, or was assigned twice)")
        raise self._wrong(f"gave job {job.id} {len(slots)} slots; it needs {job.gpus}")

    def _fault_of_slot(self, job: Job, view: Any) -> str:
        sent = f"sent job {job.id} to"
        if not isinstance(view, SlotView) or view.index not in range(len(self.fleet.slots)):
            return f"{sent} {view!r}, which is no slot of the fleet"
        if view.index in self.fleet.busy:
            return f"{sent} slot {view.index}, which is busy or given away already"
        if view is self.fleet.slots[view.index].idle:
            return f"{sent} slot {view.index} twice"
        return f"{sent} slot {view.index} as {getattr(view.gpu, 'name', view.gpu)}, which the view did not offer"

    def _checked_wake(self, at_s: Any) -> float:
        if not isinstance(at_s, Real) or not self.env.now < float(at_s) < math.inf:
            raise self._wrong(f"asked to be woken at {at_s!r}; that must be a finite time after {self.env.now:g} s")
        return float(at_s)

    def check_done(self) -> None:
        """Raise PolicyError if jobs wait and nothing is left that could wake the policy."""
        if self.waiting:
            first, slots = next(iter(self.waiting)), len(self.fleet.slots)
            wide = next((f" (job {job.id} needs {job.gpus} slots)" for job in self.waiting if job.gpus > slots), "")
            raise self._wrong(
                f"left {len(self.waiting)} jobs waiting, the first of them job {first.id}, with {len(self.fleet.idle)} of"
                f" {slots} slots idle and nothing else to come: the simulation cannot go on{wide}"
            )

    def _wrong(self, what: str) -> PolicyError:
        return PolicyError(f"policy {policy_name(self.policy)!r} at t = {self.env.now:g} s {what}")


def delay_until(now_s: float, at_s: float) -> float:
    """The delay that leads from now to a time, or, if a time is past, to now; never to before it by rounding."""
    if at_s <= now_s:
        return 0.0
    delay_s = at_s - now_s
    return delay_s if now_s + delay_s >= at_s else math.nextafter(delay_s, math.inf)


def policy_name(policy: Any) -> str:
    """The name under which a policy is reported."""
    return str(getattr(policy, "name", None) or getattr(policy, "__name__", None) or type(policy).__name__)
