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


class Requests(simpy.Event):
    """The requests of a job on several resources, granted together and at once."""

    def __init__(self, env: simpy.Environment, requests: Sequence[Any]) -> None:
        super().__init__(env)
        self.requests = requests
        grant_now(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        for request in self.requests:
            request.__exit__(*error)


Turn = Any  # SimPy's request of a resource, or several: an event and a context manager


class Listeners(list[Any]):
    """Callbacks of a claim; some may have been removed, by an interrupt or a race."""

    removed = False

    def remove(self, callback: Any) -> None:
        list.remove(self, callback)
        self.removed = True


class LateListeners(Listeners):
    """Callbacks of a claim that was answered while no process waited for it, as with
    `yield timeout(5)` before `yield claim`: the answer is delivered to the first.
    """

    claim: Claim

    def append(self, callback: Any) -> None:
        list.append(self, callback)
        self.claim.deliver()


class Claim(simpy.Event):
    """A job's claim to resources; the policy decides which, and when.

        with run.claim(job) as claim:
            yield claim                     # until the policy grants it
            yield run.timeout(work_s)

    Yielded, it returns itself once resources are granted, or None when the job's
    patience ends. At the end of the block they are released; a claim that was not
    granted is withdrawn. A process that loses its resources before (`run.down`, a
    policy that suspends) is interrupted inside the block. A block that ends without
    anybody having waited for the claim raises InputError.

    job: whose it is. state: WAITING, GRANTED, STARTED or LEFT. assignment: what the
    policy assigned; None until then. parts: number and amount of each resource that is
    granted. granted_s, started_s: when resources were granted, and requested; seconds,
    NaN until then.
    """

    granted = Renamed("claim.assignment")
    start = Renamed("claim.request(), after run.claim(job, request=False)")

    state = WAITING
    assignment: Any = None
    parts: Sequence[Part] = ()
    terms: Any = None
    granted_s = started_s = math.nan
    phases: Sequence[tuple[str, float]] = ()
    requests: Sequence[Any] = ()
    revoked = polled = False
    # for a process that first waits after the decision
    answer: Any = PENDING
    # the event that ends the patience of its job, while one is scheduled
    patience: simpy.Event | None = None

    def __init__(self, run: Any, job: Any, patience_s: float, requests: bool) -> None:
        self.env = run.env  # as simpy.Event sets them
        # requested before the process continues, so that a step shows what it does then
        self.callbacks = Listeners([Claim.begin] if requests else ())
        self.run, self.job, self.patience_s = run, job, patience_s
        self.requests_at_grant = requests
        self.process = run.env._active_proc

    @property
    def triggered(self) -> bool:
        """Whether the claim has been answered. To ask counts as waiting for it: the
        answer is delivered, so that a process may look every few seconds.
        """
        self.polled = True
        self.deliver()
        return self._value is not PENDING

    @property
    def heard(self) -> bool:
        """Whether a process has waited for the claim."""
        callbacks: Any = self.callbacks
        return (
            callbacks is None
            or len(callbacks) > self.requests_at_grant
            or callbacks.removed
            or self.polled
        )

    def reply(self, answer: Claim | None) -> None:
        """Answer the claim: itself if it is granted, None if it is given up."""
        if self.heard:
            self._ok, self._value, env = True, answer, self.env
            heappush(env._queue, (env._now, NORMAL, next(env._eid), self))
        else:
            self.answer = answer
            self.callbacks = LateListeners(self.callbacks)
            self.callbacks.claim = self
            if answer and self.requests_at_grant:
                self.request()

    def deliver(self) -> None:
        """Let a process hear an answer that was given before it waited."""
        if self.answer is not PENDING and self._value is PENDING:
            self.succeed(self.answer)

    def request(self) -> Turn:
        """Request what was granted from SimPy's resources, for a `with` block.

            with claim.request() as turn:
                yield turn

        It is reserved since the grant, so that the request does not wait. Raises
        InputError before the grant, after the release, and the second time.
        """
        if self.state != GRANTED:
            raise InputError(f"claim.request() of job {job_id(self.job)} {self._why()}")
        self.state, self.started_s = STARTED, self.env._now
        resources = self.run.resources
        requests = self.requests = [
            resources[number].request(amount)
            for number, amount in self.parts
            if amount > 0
        ]
        if self.run.listener:
            self.run.emit("start", self, self.run.report.describe("start", self))
        return requests[0] if len(requests) == 1 else Requests(self.env, requests)

    def _why(self) -> str:
        """Why the resources cannot be requested now."""
        if self.state == STARTED:
            return (
                "is called, but they are requested already; to request them later than"
                " at the grant, use run.claim(job, request=False)"
            )
        if self.state == WAITING:
            return "is called before its grant: `yield claim` first"
        return "is called after the claim was released"

    def begin(self) -> None:
        """Request, unless the job has left before it heard of the grant."""
        if self.state == GRANTED:
            self.request()

    def phase(self, name: str, at_s: float | None = None) -> None:
        """Record the time at the resources as this phase, from now or a time on."""
        self.phases = [*self.phases, (name, self.env.now if at_s is None else at_s)]

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
        if kind is None and not (self.heard or self.revoked):
            raise InputError(
                f"job {job_id(self.job)} leaves the block of its claim without having"
                " waited for the grant: `with run.claim(job) as claim: yield claim`"
            )


ClaimRecord = tuple[
    Any, Sequence[Part], float, float, float, Sequence[tuple[str, float]]
]
"""A claim that has been released: job, its parts, when they were granted, requested and
released, seconds, and phases of its own with when each began.
"""


def claims_table(log: Sequence[ClaimRecord]) -> np.ndarray[Any, np.dtype[Any]]:
    """One row a job, claim, place and phase, in order of these; an array of CLAIM.

    place: its number. amount: what the job held of it. from_s, to_s: seconds; phases of
    no length are left out.
    """
    rows = []
    for job, parts, granted_s, started_s, released_s, own in log:
        times = [*zip(PHASES, (granted_s, started_s)), *own]
        begun = sorted(
            [each for each in times if each[1] == each[1]], key=itemgetter(1)
        )
        ends_s = [*[from_s for _, from_s in begun[1:]], released_s]
        spans = [(*each, min(end_s, released_s)) for each, end_s in zip(begun, ends_s)]
        rows += [
            (job, number, amount, *span)
            for number, amount in parts
            for span in spans
            if span[2] > span[1]
        ]
    return np.array(sorted(rows, key=itemgetter(0)), CLAIM)
