"""The claim of a job to resources: it waits, is granted, starts and is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heappush
from operator import itemgetter
from types import TracebackType
from typing import Any, Self

import numpy as np
import simpy
from simpy.events import NORMAL, PENDING

from cgrsp_simpy.base.checks import InputError, Renamed
from cgrsp_simpy.base.timeline import CLAIM, PHASES
from cgrsp_simpy.engine.events import job_id
from cgrsp_simpy.engine.resources import grant_now

Interrupt = simpy.Interrupt
"""SimPy's: raised in the process of a job whose resources are taken away."""

Part = tuple[int, float]
"""Number of a resource among those of the run, and the amount of it that a job holds.
"""

WAITING, GRANTED, STARTED, LEFT = "waiting", "granted", "started", "left"
"""States of a claim: it waits for the policy's decision; it is granted resources and
has not requested them; it has requested them; it has released or never got them.
"""


NO_REQUEST = {
    WAITING: "is called before its grant: `yield claim` first",
    STARTED: (
        "is called, but they are requested already; to request them later than at the"
        " grant, use run.claim(job, request=False)"
    ),
    LEFT: "is called after the claim was released",
}
"""Why the resources of a claim cannot be requested, by its state."""


class JointRequest(simpy.Event):
    """The requests of a job on several resources, which begin together and at once."""

    def __init__(self, env: simpy.Environment, requests: Sequence[Any]) -> None:
        super().__init__(env)
        self.requests = requests
        grant_now(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        for request in self.requests:
            request.__exit__(*error)


Turn = Any  # SimPy's request of a resource, or a JointRequest


class Callbacks(list[Any]):
    """Callbacks of a claim; the first process that waits is noticed by its append."""

    __slots__ = ("claim",)
    claim: Claim

    def append(self, callback: Any) -> None:
        list.append(self, callback)
        claim = self.claim
        claim.awaited = True
        if claim.answer is not PENDING:
            claim.deliver()


class Claim(simpy.Event):
    """A job's claim to resources; the policy decides which, and when.

        with run.claim(job) as claim:
            yield claim                     # until the policy grants it
            yield run.timeout(work_s)

    Yielded, it returns itself once resources are granted, or None when the job's
    patience ends. At the end of the block they are released; a claim that was not
    granted is withdrawn. A process that loses its resources before (`run.down`, a
    policy that suspends) is interrupted inside the block.

    A process may do something else first (`yield run.timeout(5)` before `yield claim`)
    or wait for the first of several events (`yield claim | run.timeout(5)`). An answer
    that comes before any process has waited is kept, and delivered to the first that
    waits, or asks for `claim.triggered`. A block that ends without anybody having
    waited raises InputError.

    job: whose it is. state: WAITING, GRANTED, STARTED or LEFT. assignment: what the
    policy assigned; None until then. parts: number and amount of each resource that is
    granted. terms: what the model's view notes of the grant for the job's process, such
    as its GPU types. submit_s, granted_s, started_s: when the claim was made, resources
    were granted, and requested; seconds, NaN until then. turns: its requests of SimPy's
    resources. awaited: whether a process has ever waited for the claim. revoked:
    whether its resources have been taken away.
    """

    granted = Renamed("claim.assignment")
    start = Renamed("claim.request(), after run.claim(job, request=False)")

    state = WAITING
    assignment: Any = None
    parts: Sequence[Part] = ()
    terms: Any = None
    granted_s = started_s = math.nan
    phases: Sequence[tuple[str, float]] = ()
    turns: Sequence[Any] = ()
    awaited = revoked = False
    # an answer that is kept until a process waits
    answer: Any = PENDING
    # the event that ends the patience of its job, while one is scheduled
    patience: simpy.Event | None = None

    def __init__(
        self, run: Any, job: Any, patience_s: float, request_at_grant: bool
    ) -> None:
        self.env = run.env  # as simpy.Event sets them
        # requested before the process continues, so that a step shows what it does then
        self.callbacks = Callbacks(
            [Claim._request_at_grant] if request_at_grant else ()
        )
        self.callbacks.claim = self
        self.run, self.job, self.patience_s = run, job, patience_s
        self.submit_s = self.env._now
        self.request_at_grant = request_at_grant
        self.process = run.env._active_proc

    @property
    def triggered(self) -> bool:
        """Whether the claim has been answered; to ask counts as waiting for it."""
        self.awaited = True
        if self.answer is not PENDING:
            self.deliver()
        return self._value is not PENDING

    def reply(self, answer: Claim | None) -> None:
        """Answer the claim: itself if it is granted, None if it is given up."""
        if self.awaited:
            self._ok, self._value, env = True, answer, self.env
            heappush(env._queue, (env._now, NORMAL, next(env._eid), self))
        else:
            self.answer = answer
            if answer and self.request_at_grant:
                self.request()

    def deliver(self) -> None:
        """Deliver the answer that was kept, unless the claim has been released."""
        answer, self.answer = self.answer, PENDING
        if self._value is PENDING:
            self.succeed(answer)

    def request(self) -> Turn:
        """Request what was granted from SimPy's resources, for a `with` block.

            with claim.request() as turn:
                yield turn

        It is reserved since the grant, so that the request does not wait. Raises
        InputError before the grant, after the release, and the second time.
        """
        if self.state != GRANTED:
            raise InputError(
                f"claim.request() of job {job_id(self.job)} {NO_REQUEST[self.state]}"
            )
        self.state, self.started_s = STARTED, self.env._now
        resources = self.run.resources
        turns = self.turns = [
            resources[number].request(amount)
            for number, amount in self.parts
            if amount > 0
        ]
        if self.run.listener:
            self.run.emit("start", self, self.run.report.describe("start", self))
        return turns[0] if len(turns) == 1 else JointRequest(self.env, turns)

    def _request_at_grant(self) -> None:
        """Request, unless the process has left or requested before it continues."""
        if self.state == GRANTED:
            self.request()

    def phase(self, name: str, at_s: float | None = None) -> None:
        """Record the time at the resources as this phase, from now or a time on."""
        self.phases = [*self.phases, (name, self.env.now if at_s is None else at_s)]

    def release(self) -> None:
        """Release the resources, or withdraw the claim, without a `with` block: for a
        job that holds one resource until it gets the next.

            claim = run.claim(job)
            yield claim
            ...
            claim.release()

        Raises InputError if nobody has waited for the claim. A process that ends with a
        claim that is neither released nor left is an error.
        """
        self.run.leave(self)
        self._check_awaited()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        # not if a failed run discards its processes, or Ctrl-C ends it at any line
        if kind is None or issubclass(kind, Exception):
            self.run.leave(self)
        if kind is None:
            self._check_awaited()

    def _check_awaited(self) -> None:
        if not (self.awaited or self.revoked):
            raise InputError(
                f"job {job_id(self.job)} leaves the block of its claim without having"
                " waited for the grant: `with run.claim(job) as claim: yield claim`"
            )


ClaimRecord = tuple[
    Any, Sequence[Part], float, float, float, Sequence[tuple[str, float]]
]
"""A claim that has been released: job, its parts, when they were granted, requested and
released, seconds, and further phases with the time at which each began.
"""


def claims_table(log: Sequence[ClaimRecord]) -> np.ndarray[Any, np.dtype[Any]]:
    """Return one row per job, claim, resource and phase, in this order: an array of
    CLAIM.

    resource: its number. amount: what the job held of it. from_s, to_s: seconds; phases
    of no length are left out.
    """
    rows = []
    for job, parts, granted_s, started_s, released_s, phases in log:
        begins = [*zip(PHASES, (granted_s, started_s)), *phases]
        begins = [begin for begin in begins if not math.isnan(begin[1])]
        begins.sort(key=itemgetter(1))
        ends_s = [*[from_s for _, from_s in begins[1:]], released_s]
        for number, amount in parts:
            for (phase, from_s), end_s in zip(begins, ends_s):
                to_s = min(end_s, released_s)
                if to_s > from_s:
                    rows.append((job, number, amount, phase, from_s, to_s))
    return np.array(sorted(rows, key=itemgetter(0)), CLAIM)
