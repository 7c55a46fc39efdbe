"""Ends runs that would go on for ever without getting anywhere."""

from __future__ import annotations

import math
from typing import Any

import simpy
from simpy.events import PENDING

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.events import job_id

MANY = 100_000  # events without progress


class Watchdog:
    """Counts the events of a run since the clock has moved, and since a claim was
    made, granted or withdrawn, or a job has ended.
    """

    def __init__(self, run: Any) -> None:
        self.run = run
        self._at_once, self._now_s = 0, -1.0
        self._idle, self._progress = 0, (0, 0, 0)

    def after(self, events: int) -> None:
        """Take further events into account.

        Raises InputError if there are many at one time; PolicyError or InputError if
        jobs wait for what will not happen.
        """
        run, dispatcher = self.run, self.run.dispatcher
        progress = dispatcher.grants, len(dispatcher.pending), run.records.number
        self._idle = (self._idle + events) * (progress == self._progress)
        self._at_once = (self._at_once + events) * (run.now_s == self._now_s)
        self._progress, self._now_s = progress, run.now_s
        if self._at_once > MANY:
            raise InputError(
                f"{MANY:,} events at t = {run.now_s:g} s and no end: a process"
                f" of {run.model.name} goes on without time"
            )
        if self._idle > MANY and self._idle > self._allowed():
            self.check_ended()

    def _allowed(self) -> float:
        """Return the number of events without progress after which jobs wait for ever.

        No limit while it is certain that there will be progress. The limit is a hundred
        times as high if a process other than the jobs may still cause it: a resource
        that is down may come up again, an event that a job waits for may happen.
        """
        run, dispatcher = self.run, self.run.dispatcher
        processes = [
            *run.job_processes.values(),
            *[claim.process for claim in dispatcher.granted],
        ]
        if (
            dispatcher.wake_timer.timeout
            or run._arriving.is_alive
            or any(each.patience_s < math.inf for each in dispatcher.pending.values())
            or any(map(_is_scheduled, processes))
        ):
            return math.inf
        uncertain = dispatcher.granted or not dispatcher.pending
        return MANY * 100 if uncertain or run.ledger.any_closed() else MANY

    def check_ended(self) -> None:
        """Raise PolicyError if jobs wait and nothing is to come that helps them;
        InputError if that is the fault of a process.
        """
        run, dispatcher = self.run, self.run.dispatcher
        for claim in (*dispatcher.granted, *dispatcher.pending.values()):
            if not (claim.process and claim.process.is_alive):
                raise ended_without(claim)
        # a process other than the jobs may wait for ever: the run ends with the jobs
        if dispatcher.pending and (run.job_processes or run._others):
            raise dispatcher.caller.deadlock_error(run.declared, run.free)
        run.check_begun()
        for process in run.job_processes.values():
            raise InputError(
                f"the process of job {job_id(process.job)} has not ended,"
                " and nothing is left to happen that it waits for"
            )


def ended_without(claim: Claim) -> InputError:
    """Return the error of a process that has ended and not left its claim."""
    return InputError(
        f"the process of job {job_id(claim.job)} has ended, and its claim"
        " has not: `with run.claim(job) as claim:`"
    )


def _is_scheduled(event: Any) -> bool:
    """Whether an event is in the event list, or will be after events that are."""
    if event is None:
        return False
    if event._value is not PENDING:
        return True
    if isinstance(event, simpy.events.Condition):
        return any(map(_is_scheduled, event._events))
    return isinstance(event, simpy.Process) and _is_scheduled(event._target)
