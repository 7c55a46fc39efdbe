"""A job's claim to resources, from its creation to its grant and release."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappush
from operator import itemgetter
from types import TracebackType
from typing import Any, Self

import numpy as np
import simpy
from simpy.events import NORMAL, PENDING

from cgrsp_simpy.base.checks import InputError, Renamed
from cgrsp_simpy.base.timeline import CLAIM, PHASES, check_name
from cgrsp_simpy.engine.events import job_id
from cgrsp_simpy.engine.resources import grant_now

Interrupt = simpy.Interrupt
"""SimPy's: raised in the process of a job whose resources are taken away."""

Part = tuple[int, float]
"""One of the resources that a claim is granted: its number, which is its position in
`run.resources`, and the amount that the job holds of it. A plain pair, since views of
models return such pairs.
"""

WAITING, GRANTED, REQUESTED, ENDED = "waiting", "granted", "requested", "ended"
"""States of a claim: it waits for the policy's decision; it is granted resources and
has not requested them; it has requested them; it has released them, or was withdrawn.
"""


NO_REQUEST = {
    WAITING: "is called before its grant: `yield claim` first",
    REQUESTED: (
        "is called, but they are requested already; to request them later than at the"
        " grant, use run.claim(job, request=False)"
    ),
    ENDED: "is called after the claim was released",
}
"""State of a claim -> why its resources cannot be requested: the end of a message."""


class JointRequest(simpy.Event):
    """The requests of one claim for several resources; all are granted at once."""

    def __init__(self, env: simpy.Environment, requests: Sequence[Any]) -> None:
        super().__init__(env)
        self.requests = requests
        grant_now(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        for request in self.requests:
            request.__exit__(*error)


Turn = Any  # yielded by a process: SimPy's request of a resource, or a JointRequest


class Callbacks(list[Any]):
    """Callbacks of a claim; `append` informs the claim that a process waits for it.

    SimPy appends to the callbacks of an event when a process yields it, alone or within
    a condition such as `claim | timeout`.
    """

    __slots__ = ("claim",)
    claim: Claim

    def append(self, callback: Any) -> None:
        list.append(self, callback)
        self.claim.on_awaited()


class Claim(simpy.Event):
    """A job's claim to resources; the policy decides which ones are granted, and when.

    It is an event, created by `run.claim`:

        with run.claim(job, patience_s=60) as claim:
            if (yield claim) is None:       # its patience has ended
                return
            yield run.timeout(work_s)       # granted: it holds resources

    `yield claim` waits for the policy, and returns the claim itself once resources are
    granted, or None when the job's patience ends; without `patience_s`, it waits until
    a grant. At the end of the block the resources are released; a claim that was not
    granted is withdrawn. If the resources are revoked earlier (`run.down`, a policy
    that suspends), the process is interrupted inside the block.

    A process may do something else first (`yield run.timeout(5)` before `yield claim`)
    or wait for the first of several events (`yield claim | run.timeout(5)`). An answer
    that arrives before any process waits is stored, and delivered to the first process
    that waits or reads `claim.triggered`. If a block ends before any process has
    waited, InputError is raised.

    Attributes
    ----------
    job : hashable
        The claiming job, or a pair such as (job, 2).
    process : simpy.Process or None
        The process that made the claim; it is interrupted if the claim is revoked.
    patience_s : float
        Seconds without a grant after which the claim is answered with None; may be inf.
    request_at_grant : bool
        Whether the resources are requested at the grant; otherwise by `request()`.
    state : str
        WAITING, GRANTED, REQUESTED or ENDED.
    assignment : Any
        The policy's assignment; None until then.
    parts : sequence of (int, float)
        Number and amount of each granted resource.
    terms : Any
        Values that the model's view passes to the job's process at the grant, such as
        the GPU types; None unless the view sets it.
    submit_s, granted_s, started_s : float
        Times at which the claim was made, granted, and its resources requested;
        seconds, NaN until then.
    phases : sequence of (str, float)
        Further phases of its usage, each with its start time, seconds.
    turns : sequence of simpy.Event
        Its requests to the SimPy resources.
    awaited : bool
        Whether a process has ever waited for the claim.
    revoked : bool
        Whether its resources have been revoked.
    answer : Any
        An answer that is stored until a process waits.
    patience : simpy.Event or None
        The event at which its patience ends, if it is limited.
    """

    state = WAITING
    assignment: Any = None
    parts: Sequence[Part] = ()
    terms: Any = None
    granted_s = started_s = math.nan
    awaited = False
    phases: Sequence[tuple[str, float]]
    turns: Sequence[Any] = ()
    revoked = False
    answer: Any
    patience: simpy.Event | None

    def __init__(
        self, run: Any, job: Any, patience_s: float, request_at_grant: bool
    ) -> None:
        # set the attributes of simpy.Event without its call
        self.env = run.env
        # the request comes first, so that the job has started when its process goes on
        self.callbacks = Callbacks(
            [Claim._request_at_grant] if request_at_grant else ()
        )
        self.callbacks.claim = self
        self.run, self.job, self.patience_s = run, job, patience_s
        self.submit_s = self.env._now
        self.request_at_grant = request_at_grant
        self.process = run.env._active_proc
        # here and not in the class, where Python would find them more slowly
        self.answer, self.patience, self.phases = PENDING, None, ()

    @property
    def triggered(self) -> bool:
        """Whether the claim has been answered. Reading this counts as waiting."""
        self.on_awaited()
        return self._value is not PENDING

    def reply(self, answer: Claim | None) -> None:
        """Answer the claim: with itself if granted, with None if its patience ended."""
        if self.awaited:
            self._ok, self._value, env = True, answer, self.env
            heappush(env._queue, (env._now, NORMAL, next(env._eid), self))
        else:
            self.answer = answer
            if answer and self.request_at_grant:
                self.request()

    def on_awaited(self) -> None:
        """Deliver a stored answer to the process that now waits."""
        self.awaited = True
        if self.answer is not PENDING:
            answer, self.answer = self.answer, PENDING
            if self._value is PENDING:  # else the claim has been released
                self.succeed(answer)

    def request(self) -> Turn:
        """Request the granted SimPy resources, for a `with` block.

            with run.claim(job, request=False) as claim:
                yield claim
                yield run.timeout(provisioning_s)
                with claim.request() as turn:
                    yield turn
                    yield run.timeout(work_s)

        The resources are reserved from the grant on, so the request does not wait.
        Raises InputError before the grant, after the release, and at a second call.
        """
        if self.state != GRANTED:
            raise InputError(
                f"claim.request() of job {job_id(self.job)} {NO_REQUEST[self.state]}"
            )
        self.state, self.started_s = REQUESTED, self.env._now
        resources = self.run.resources
        turns = self.turns = []
        for number, amount in self.parts:
            if amount > 0:
                turn = resources[number].request(amount)
                # SimPy sets it to the active process; a grant has none
                turn.proc = self.process
                turns.append(turn)
        if self.run.listener:
            self.run.emit("start", self, self.run.report.describe("start", self))
        return turns[0] if len(turns) == 1 else JointRequest(self.env, turns)

    def _request_at_grant(self) -> None:
        """Request the resources, unless this was done or the claim was released."""
        if self.state == GRANTED:
            self.request()

    def phase(self, name: str, at_s: float | None = None) -> None:
        """Record that a phase of the resource usage begins.

        name: value of the column "phase" of `Run.claims`; the phase lasts until the
        next one, or the release. at_s: start time, seconds; now if None.
        """
        check_name("phase", name)
        self.phases = [*self.phases, (name, self.env.now if at_s is None else at_s)]

    def release(self) -> None:
        """Release the resources, or withdraw the claim, without a `with` block: for a
        job that holds one resource until it gets the next.

            machine = run.claim(job)
            yield machine
            yield run.timeout(work_s)
            with run.claim((job, 2)) as next_machine:
                yield next_machine          # it blocks the first machine until here
                machine.release()
                yield run.timeout(work_s)

        Raises InputError if no process has waited for the claim. It is an error if a
        process ends without having released its claim, by this method or by the block.
        """
        self.run.leave(self)
        self._check_awaited()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # skipped if a failed run or Ctrl-C discards the process
        if error_type is None or issubclass(error_type, Exception):
            self.run.leave(self)
        if error_type is None:
            self._check_awaited()

    def _check_awaited(self) -> None:
        """Raise InputError if no process has waited, unless the claim was revoked."""
        if not (self.awaited or self.revoked):
            raise InputError(
                f"job {job_id(self.job)} leaves the block of its claim before the"
                " grant: `with run.claim(job) as claim: yield claim`"
            )

    granted = Renamed("claim.assignment")
    start = Renamed("claim.request(), after run.claim(job, request=False)")


ClaimRecord = tuple[
    Any, Sequence[Part], float, float, float, Sequence[tuple[str, float]]
]
"""A claim that has been released: the number of its job; its parts; when they were
granted, requested and released, seconds, NaN for what has not happened; and further
phases, each with its begin. A plain tuple, since one per claim has to be fast to make.
"""


class ClaimRecords:
    """The claims of a run that have been released, in this order.

    recent: those since the last call of `pack`, as tuples; earlier ones are stored as
    columns, which need less memory and no garbage collection.
    """

    def __init__(self) -> None:
        self._blocks: list[tuple[Any, ...]] = []
        self.recent: list[ClaimRecord] = []

    def pack(self) -> None:
        """Store the recent claims as columns."""
        if self.recent:
            jobs, parts, *times_s, phases = zip(*self.recent)
            columns = [array("d", column) for column in times_s]
            self._blocks.append((jobs, parts, *columns, phases))
            self.recent = []

    def __iter__(self) -> Iterator[ClaimRecord]:
        for columns in self._blocks:
            yield from zip(*columns)
        yield from self.recent


def claims_table(records: Iterable[ClaimRecord]) -> np.ndarray[Any, np.dtype[Any]]:
    """Return an array of CLAIM, sorted, with one row per job, claim, resource and
    phase.

    resource: its number. amount: the amount that the job held. from_s, to_s: seconds;
    phases of length 0 are omitted.
    """
    rows = []
    for job, parts, granted_s, started_s, released_s, further_phases in records:
        all_phases = [*zip(PHASES, (granted_s, started_s)), *further_phases]
        phases = sorted(
            (phase for phase in all_phases if not math.isnan(phase[1])),
            key=itemgetter(1),
        )
        ends_s = [*[from_s for _, from_s in phases[1:]], released_s]
        for number, amount in parts:
            for (phase, from_s), end_s in zip(phases, ends_s):
                to_s = min(end_s, released_s)
                if to_s > from_s:
                    rows.append((job, number, amount, phase, from_s, to_s))
    # stable, so that the claims of one job stay in the order of their release
    return np.array(sorted(rows, key=itemgetter(0)), CLAIM)
