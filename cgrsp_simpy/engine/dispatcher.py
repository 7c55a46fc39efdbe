"""The scheduler's process: bell -> view -> policy -> checked assignments."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable
from typing import Any

import simpy
from simpy.events import EventPriority

from cgrsp_simpy.engine.fleet import Fleet, Slot
from cgrsp_simpy.engine.tracing import Event, Listener, describe_job
from cgrsp_simpy.model.decision import Policy, PolicyError, SlotView, View, Wake
from cgrsp_simpy.model.gpu import GpuType
from cgrsp_simpy.model.job import Job
from cgrsp_simpy.model.scenario import Scenario

__all__ = ["Dispatcher", "Grant"]

AFTER_ALL_ELSE = EventPriority(2)  # SimPy's NORMAL is 1; larger comes later within an instant
MOST_HOLDS = 100_000  # decisions in a row, each asked for by a Wake, that assign nothing


class Bell(simpy.Event):
    """Wakes the dispatcher once, after everything else of the instant."""

    def ring(self) -> None:
        """Trigger the bell."""
        self._ok, self._value = True, None
        self.env.schedule(self, AFTER_ALL_ELSE)


Grant = tuple[list[Slot], list[GpuType]]
"""What a dispatched job receives: its slots, and the type as which each is provisioned."""


class Dispatcher:
    """Keeps the queue, asks the policy, hands out slots.

    A job may become ready by any event: whoever calls `submit` receives an event that is triggered with a Grant.
    """

    def __init__(
        self, env: simpy.Environment, fleet: Fleet, scenario: Scenario, policy: Policy, seed: int, listener: Listener | None
    ) -> None:
        self.env, self.fleet, self.policy, self.listener = env, fleet, policy, listener
        self.desk = scenario.desk(seed, fleet.views, fleet.idle)
        self.waiting: dict[Job, simpy.Event] = self.desk.waiting
        self.decisions = 0
        self._gpus, self._free_types = frozenset(scenario.gpus), scenario.free_types
        self._holds = 0
        self._bell = Bell(env)
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

    def complete(self, slots: Iterable[Slot]) -> None:
        """Take back the slots of a job that has ended."""
        for slot in slots:
            self.fleet.free(slot, self.env.now)
        self._ring()

    def _ring(self) -> None:
        if self.waiting and self.fleet.idle and not self._bell.triggered:
            self._bell.ring()

    def _run(self) -> Generator[simpy.Event, Any, None]:
        while True:
            yield self._bell
            self._bell = Bell(self.env)  # re-armed first: what the decision sets off may ring again
            self._decide()

    def _decide(self) -> None:
        """One decision: ask the policy, carry out its answer."""
        self._alarm = None
        self.decisions += 1
        view = View(self.env.now, self.desk)
        try:
            answer = list(self.policy(view) or ())
        except Exception as error:
            raise self._wrong(f"raised {type(error).__name__}: {error}") from error
        if self.listener:
            detail = f"{view.waiting} waiting, {len(view.idle)} idle"
            self.listener(Event(view.now_s, "decide", None, (), detail))
        self._holds += 1
        wake_s = math.inf
        for item in answer:
            if type(item) is Wake:
                wake_s = min(wake_s, self._checked_wake(item.at_s))
            else:
                self._dispatch(item)
        if wake_s < math.inf:
            self._set_alarm(wake_s)

    def _dispatch(self, assignment: Any) -> None:
        """Hand slots to a job, if the assignment is one that can be carried out."""
        try:
            job, views = assignment
            waits = job in self.waiting
        except (TypeError, ValueError):
            raise self._wrong(f"answered {assignment!r}, which is neither a pair (job, slot) nor a Wake") from None
        if type(views) is not tuple:
            views = (views,)
        if not waits or len(views) != job.gpus:
            raise self._wrong(self._fault_of_job(job, views))
        now, level = self.env.now, job.complexity - 1
        slots, gpus, mean_s = [], [], 0.0
        for view in views:
            slot = self._idle_slot(job, view)
            mean_s = max(mean_s, view.gpu.mean_execution_s[level])
            self.fleet.take(slot, view.gpu, now, mean_s)
            slots.append(slot)
            gpus.append(view.gpu)
        self._holds = 0
        self.desk.remove(job).succeed((slots, gpus))

    def _set_alarm(self, at_s: float) -> None:
        if self._holds > MOST_HOLDS:
            raise self._wrong(f"has held {len(self.waiting)} waiting jobs through {MOST_HOLDS} wake-ups in a row")
        alarm = self._alarm = self.env.timeout(at_s - self.env.now)
        alarm.callbacks.append(lambda event: self._ring() if event is self._alarm else None)

    # ---- checks of an answer ----

    def _idle_slot(self, job: Job, view: Any) -> Slot:
        """The slot that a view stands for, if the job may have it."""
        if type(view) is not SlotView or not 0 <= view.index < len(self.fleet.slots):
            raise self._wrong(f"sent job {job.id} to {view!r}, which is no slot of the fleet")
        slot = self.fleet.slots[view.index]
        if self.fleet.views[view.index] is not slot.idle:
            raise self._wrong(f"sent job {job.id} to slot {view.index}, which is busy or given away already")
        if view is not slot.idle and not (self._free_types and view.gpu in self._gpus):
            raise self._wrong(f"sent job {job.id} to slot {view.index} as {view.gpu.name}, which it cannot be")
        return slot

    def _fault_of_job(self, job: Any, views: tuple[Any, ...]) -> str:
        if not isinstance(job, Job):
            return f"assigned {job!r}, which is not a job"
        if job not in self.waiting:
            return f"assigned job {job.id}, which is not waiting (it runs, has ended, or was assigned twice)"
        return f"gave job {job.id} {len(views)} slots; it needs {job.gpus}"

    def _checked_wake(self, at_s: Any) -> float:
        if not isinstance(at_s, (int, float)) or not self.env.now < at_s < math.inf:
            raise self._wrong(f"asked to be woken at {at_s!r}; that must be a finite time after {self.env.now:g} s")
        return float(at_s)

    def check_done(self) -> None:
        """Raise PolicyError if jobs wait and nothing is left that could wake the policy."""
        if self.waiting:
            first = next(iter(self.waiting))
            raise self._wrong(
                f"left {len(self.waiting)} jobs waiting, the first of them job {first.id}, with {len(self.fleet.idle)} of"
                f" {len(self.fleet.slots)} slots idle and nothing else to come: the simulation cannot go on"
            )

    def _wrong(self, what: str) -> PolicyError:
        return PolicyError(f"policy {policy_name(self.policy)!r} at t = {self.env.now:g} s {what}")


def policy_name(policy: Any) -> str:
    """The name under which a policy is reported."""
    return str(getattr(policy, "name", None) or getattr(policy, "__name__", None) or type(policy).__name__)
