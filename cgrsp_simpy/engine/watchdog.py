"""Detection of runs that would never end."""

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
    """Counts events without progress.

    A run hangs if more than MANY events occur at one time, or if more than a limit of
    events occur without progress: the clock advances, but no claim is made, granted or
    withdrawn, and no job ends. There is no limit while progress is certain: the policy
    has asked to be woken, jobs still arrive, a claim's patience will end, or a job
    waits for a scheduled event. Otherwise the limit is MANY, or 100 times as many while
    a process other than the jobs may still cause progress: a closed resource may open,
    or an event for which a job waits may occur.
    """

    def __init__(self, run: Any) -> None:
        self.run = run
        # events since the clock has moved, and since the last progress
        self._at_one_time = self._without_progress = 0
        # the time that the clock shows, and the state after the last progress
        self._now_s: float | None = None
        self._state: tuple[int, int, int] | None = None

    def count(self, events: int) -> None:
        """Count further events.

        Raises InputError if too many occur at one time; PolicyError or InputError if
        jobs wait for an event that will not occur.
        """
        run = self.run
        state = run.dispatcher.grants, len(run.pending_claims), run.records.number
        self._without_progress += events
        self._without_progress *= state == self._state
        self._at_one_time += events
        self._at_one_time *= run.now_s == self._now_s
        self._state, self._now_s = state, run.now_s
        if self._at_one_time > MANY:
            raise InputError(
                f"{MANY:,} events at t = {run.now_s:g} s without progress: a"
                f" process of {run.model.name} loops without advancing time"
            )
        if self._without_progress > MANY and self._without_progress > self._limit():
            self.check_deadlock()

    def _limit(self) -> float:
        """Return the number of events without progress after which the run hangs."""
        run = self.run
        processes = [
            *run.job_processes.values(),
            *filter(None, [claim.process for claim in run.granted_claims]),
        ]
        if (
            run.dispatcher.wake
            or run._source_process.is_alive
            or any(claim.patience_s < math.inf for claim in run.pending_claims.values())
            or any(map(_is_scheduled, processes))
        ):
            return math.inf
        uncertain = run.granted_claims or not run.pending_claims
        return MANY * 100 if uncertain or run.ledger.closed else MANY

    def check_deadlock(self) -> None:
        """Raise PolicyError if jobs wait and no future event can start them; InputError
        if a process is the cause.
        """
        run, pending = self.run, self.run.pending_claims
        for claim in (*run.granted_claims, *pending.values()):
            if not (claim.process and claim.process.is_alive):
                raise ended_without(claim)
        # a process other than the jobs may wait for ever: the run ends with the jobs
        if pending and (run.job_processes or run._counted_processes):
            raise run.dispatcher.caller.deadlock_error()
        run.check_calls()
        for process in run.job_processes.values():
            raise InputError(
                f"the process of job {job_id(process.job)} has not ended, but no"
                " event that it waits for can occur"
            )


def ended_without(claim: Claim) -> InputError:
    """Return the error for a process that has ended without leaving its claim."""
    return InputError(
        f"the process of job {job_id(claim.job)} has ended without releasing its"
        " claim: use `with run.claim(job) as claim:`, or claim.release() at its"
        " end"
    )


def _is_scheduled(event: Any) -> bool:
    """Return whether an event is scheduled, or will be by scheduled events."""
    if event._value is not PENDING:
        return True
    if isinstance(event, simpy.events.Condition):
        return any(map(_is_scheduled, event._events))
    return isinstance(event, simpy.Process) and _is_scheduled(event._target)
