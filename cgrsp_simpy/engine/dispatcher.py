"""The dispatcher: the process that calls the policy and carries out its answers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from heapq import heappush
from typing import Any

import simpy

from cgrsp_simpy.base.policy import AssignmentError, Suspend, Wake
from cgrsp_simpy.base.table import many
from cgrsp_simpy.engine.claim import ENDED, GRANTED, WAITING, Claim
from cgrsp_simpy.engine.events import (
    DECISION_PRIORITY,
    DecisionEvent,
    Patience,
    delay_until,
    job_id,
)
from cgrsp_simpy.engine.policy_caller import PolicyCaller


class Dispatcher:
    """Asks the policy for a decision after all other events of an instant.

    There is one decision for all jobs that arrive or end at the same time. If its
    grants cause further arrivals or completions at that time, such as the completion of
    a job without work, another decision follows.

    Attributes
    ----------
    caller : PolicyCaller
        Calls the policy.
    decisions, grants : int
        Number of calls of the policy, and number of claims that it granted.
    due : bool
        Whether a decision is scheduled and has not begun.
    wake : simpy.Event or None
        The timeout after which the policy has asked to be called again.
    most_wakes : int
        Number of consecutive wake-ups without a grant that are allowed.
    """

    most_wakes = 100_000

    def __init__(self, run: Any) -> None:
        self.run, self.env, self.ledger, self.view = run, run.env, run.ledger, run.view
        self.pending_claims: dict[Any, Claim] = run.pending_claims
        self.caller = PolicyCaller(run)
        self.decisions = self.grants = 0
        self.due = False
        # without a free resource, only these policies have something to decide
        reasons = ("asks_on_arrival", "suspends")
        self._asks_when_full = any(getattr(run.policy, name, False) for name in reasons)
        self._event = DecisionEvent(run.env)
        self.wake: simpy.Event | None = None
        self._wakes = 0  # since the last grant
        run.env.process(self._dispatcher())

    def request_decision(self) -> None:
        """Schedule a decision for the end of this instant, if one is needed."""
        if not self.due and self.may_decide:
            self.due = True
            env = self.env
            heappush(
                env._queue, (env._now, DECISION_PRIORITY, next(env._eid), self._event)
            )

    @property
    def may_decide(self) -> bool:
        """Whether a job waits and the policy decides on the present resources."""
        return bool(self.pending_claims and (self.ledger.mask or self._asks_when_full))

    def enqueue(self, claim: Claim) -> None:
        """Add a claim to the queue until it is granted or its patience ends."""
        self.view.on_enqueue(claim.job)
        self.request_decision()
        if claim.patience_s != math.inf:
            claim.patience = Patience(claim, self._give_up)

    def withdraw(self, claim: Claim) -> None:
        """Remove a waiting claim from the queue."""
        if claim.patience is not None:
            self.env.cancel(claim.patience)
        claim.state = ENDED
        del self.pending_claims[claim.job]
        self.view.on_dequeue(claim.job)
        if not self.pending_claims:
            self._cancel_wake()
        # the policy may have left resources idle for this job alone
        self.request_decision()

    def _give_up(self, end_of_patience: Patience) -> None:
        """Answer a claim with None if it still waits at the end of its patience."""
        claim: Claim = end_of_patience.claim
        if claim.state == WAITING:
            claim.reply(None)
            self.withdraw(claim)

    def _dispatcher(self) -> Any:
        """Repeatedly wait for a decision, call the policy and carry out its answer."""
        event = self._event
        while True:
            yield event
            # first, since a grant may request the next decision by the same event
            event.callbacks, self.due = [], False
            if not self.pending_claims:  # all have been withdrawn
                continue
            self.decisions += 1
            self._cancel_wake()
            self.view.on_decision(self.env._now)
            if self.run.listener:
                self.run.emit("decide", None, self.view.summary())
            self.carry_out(self.caller.answers())

    def carry_out(self, items: Iterable[Any]) -> None:
        """Carry out the items of a policy's answer, in the instant of its decision."""
        wake_s, now_s = math.inf, self.env._now
        for item in items:
            item_type = type(item)
            if item_type is Wake:
                wake_s = min(wake_s, self.caller.wake_s(item))
            elif item_type is Suspend:
                self.run.revoke(self.caller.suspended(item), item)
            else:
                self._grant(item, now_s)
        if wake_s < math.inf:
            # a stepped run lists its value: an event "wake" without a job
            self.wake = self.env.timeout(delay_until(now_s, wake_s), ("wake", None))
            self.wake.callbacks = [self._woken]

    def _grant(self, item: Any, now_s: float) -> None:
        """Grant a job what the policy assigns to it; item: a pair (job, assignment)."""
        try:
            job, assignment = item
            claim = self.pending_claims.pop(job)
        except Exception:  # the hash of a user's class may fail, too
            raise self.caller.no_such_job(item) from None
        claim.state, claim.granted_s, claim.assignment = GRANTED, now_s, assignment
        try:
            claim.parts = self.view.parse_assignment(claim, assignment)
            for number, amount in claim.parts:
                self.ledger.take(number, amount, claim)
        except AssignmentError as error:
            raise self.caller.wrong(f"assigned job {job_id(job)} to {error}") from None
        self.view.on_dequeue(job)
        self._wakes = 0
        self.grants += 1
        self.run.granted_claims[claim] = None
        if claim.patience is not None:
            self.env.cancel(claim.patience)
        claim.reply(claim)

    def _cancel_wake(self) -> None:
        """Cancel the policy's wake-up, which is no longer needed."""
        if self.wake is not None:
            self.env.cancel(self.wake)
            self.wake = None

    def _woken(self, _: simpy.Event) -> None:
        """Request a decision at the wake-up time that the policy set."""
        self.wake = None
        self._wakes += 1
        if self._wakes > self.most_wakes:
            raise self.caller.wrong(
                f"left {many(len(self.pending_claims), 'job')} waiting for"
                f" {self.most_wakes} consecutive wake-ups"
            )
        self.request_decision()
