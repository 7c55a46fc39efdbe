"""A run of a model: the source of jobs, and the methods that processes use."""

from __future__ import annotations

import copy
import math
from collections.abc import (
    Callable,
    Generator,
    Hashable,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import simpy

from cgrsp_simpy.base.checks import (
    InputError,
    Renamed,
    check_number,
    error_text,
    require,
    shown,
)
from cgrsp_simpy.base.policy import Suspend
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.base.table import many
from cgrsp_simpy.base.timeline import check_name
from cgrsp_simpy.engine.claim import ENDED, REQUESTED, WAITING, Claim
from cgrsp_simpy.engine.dispatcher import Dispatcher
from cgrsp_simpy.engine.events import (
    ENVIRONMENT,
    LARGEST_ID,
    Event,
    Listener,
    check_id,
    claimant,
    delay_until,
    is_invalid_yield,
    job_id,
    policy_name,
)
from cgrsp_simpy.engine.ledger import ALL_TIME, Ledger
from cgrsp_simpy.engine.monitors import check_window, figures_of
from cgrsp_simpy.engine.resources import ResourceSpec
from cgrsp_simpy.engine.run import Records, Run
from cgrsp_simpy.engine.watchdog import MANY, Watchdog, ended_without

Process = Generator[simpy.Event, Any, Any]  # generator of a SimPy process


def declared_by(model: Any) -> tuple[ResourceSpec, ...]:
    """Return the resources of a model; InputError if it returns anything else."""
    specs = model.resources()
    listed = tuple(specs) if isinstance(specs, Iterable) else ()
    valid = isinstance(specs, Iterable) and all(
        type(spec) is ResourceSpec for spec in listed
    )
    require(
        valid,
        f"resources() of {model.name}",
        specs,
        "resources, such as those of cg.slots(...) or cg.pools(...)",
    )
    return listed


class JobProcess(simpy.Process):
    """The process of a job, with the record of the job so far.

    Attributes
    ----------
    job : hashable
        Whose arrival started the process.
    submit_s, dispatch_s, start_s : float
        Times of its arrival, first grant and first start, seconds; NaN until then.
    finish_s : float or None
        Time at which it ended, seconds; None until then.
    wait_s, claims : float, int
        Total wait of its granted claims, seconds, and their number.
    values : sequence
        Values of the model's columns.
    """

    job: Any
    submit_s: float
    dispatch_s = start_s = math.nan
    finish_s: float | None
    wait_s, claims = 0.0, 0
    values: Sequence[Any] = ()


def _copied(policy: Any) -> Any:
    """Copy a policy, so that it has no memory of other runs; InputError if it cannot be
    copied.
    """
    try:
        return copy.deepcopy(policy)
    except Exception as error:
        raise InputError(
            f"policy {policy_name(policy)!r} cannot be copied for a run"
            f" ({error_text(error)}); keep files, locks and generators out"
            " of its attributes, or pass a function"
        ) from None


class Simulation:
    """A run from its set-up to its end, as used by the processes of a model.

    Parameters
    ----------
    model : Model
        The model to simulate.
    policy : callable
        A function of the model's view. The run uses a copy, so that a policy with
        memory starts every run without it.
    seed : int
        Seed of all random numbers.
    drawn : iterable, optional
        The arrivals, as from `Model.arrivals`, if they have been drawn already.
    records : bool
        Whether the run keeps a record of each job and claim; if not, memory does not
        grow with the number of jobs.
    listener : callable, optional
        Called with each Event.
    plan : Any
        Data prepared for the run, such as a schedule to carry out, for the model's view
        and processes, and for the figures as `Run.plan`.

    Attributes
    ----------
    env : simpy.Environment
        The environment of all its processes.
    resources : list of simpy.Resource or simpy.Container
        Each has index, label, size, unit and kind, as in `ResourceSpec`. A resource's
        number is its position in this list, from 0.
    hidden : dict
        By job, the draws that arrived with it and are hidden from policies.
    draw : callable
        draw("name", number): the run's random stream of that name, a NumPy Generator;
        it differs from the stream of that name in `arrivals`.
    timeout : callable
        As in SimPy's environment: `timeout(delay_s, value)`. A stepped run lists a
        value such as ("finish", job.id) as kind and job of the future event. Without
        it, the timeout of a job's process is listed as the job's "start" until it has
        requested resources, and then as its "finish"; the timeout of another process is
        not listed.
    name : str
        The name of the policy in the finished run; by default the policy's name.
    stop_arrivals : bool
        Set to True by a process to stop further arrivals.
    """

    _is_guarded = False

    if TYPE_CHECKING:  # attributes added by models and users

        def __getattr__(self, name: str) -> Any: ...

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; InputError for one that the engine uses."""
        if self._is_guarded and name in RESERVED:
            raise InputError(
                f"run.{name} is used by the engine and cannot be set; choose"
                " another name"
                f" (taken: {', '.join(sorted(RESERVED))})"
            )
        object.__setattr__(self, name, value)

    def __init__(
        self,
        model: Any,
        policy: Callable[[Any], Any],
        seed: int = 0,
        *,
        drawn: Iterable[Any] | None = None,
        records: bool = True,
        listener: Listener | None = None,
        plan: Any = None,
    ) -> None:
        # the model and its parts
        self.model, self.plan, self.listener = model, plan, listener
        self.policy, self.name = _copied(policy), policy_name(policy)
        self._policy_as_passed = policy
        # SimPy's environment, and the resources in it
        self.env = ENVIRONMENT.get()()
        self.timeout = self.env.timeout
        self.declared = declared_by(model)
        self.resources = [spec.resource(self.env) for spec in self.declared]
        self.ledger = Ledger(self.env, self.resources)
        # random numbers
        self.draw = Draw(seed, "run ")
        self.hidden: dict[Any, Any] = {}
        # claims that wait, oldest first, and those that hold resources, as granted
        self.pending_claims: dict[Any, Claim] = {}
        self.granted_claims: dict[Claim, None] = {}
        # the run goes on until these have ended: the processes of jobs, and the source
        # and others that were started with `counts=True`
        self.job_processes: dict[Any, JobProcess] = {}
        self._counted_processes: set[simpy.Event] = set()
        self.stop_arrivals = False
        # calls of `resumed` and `down` whose result is not used yet: the calling
        # process, and the message of the error if it ends before
        self._unused_calls: dict[object, tuple[Any, str]] = {}
        # records of the run
        self.report = model.report(model)
        self.records = Records(self.report, records or self.report.keeps_jobs)
        # objects that use the attributes above
        self.view = self.ledger.view = model.view(self)
        self.dispatcher = Dispatcher(self)
        self._watchdog = Watchdog(self)
        self._is_guarded = True
        model.set_up(self)
        self._set_window()
        processes = model.processes(self)
        for process in processes if isinstance(processes, Iterable) else [processes]:
            self.process(process)
        arrivals = model.arrivals(Draw(seed)) if drawn is None else drawn
        self._source_process = self.process(self._source(arrivals), counts=True)

    # ---- for processes ----

    @property
    def mask(self) -> int:
        """Bit n is set while something of resource n is free."""
        return self.ledger.mask

    @property
    def free(self) -> list[float]:
        """Per resource, the amount that can be granted."""
        return self.ledger.free

    @property
    def decisions(self) -> int:
        """Number of calls of the policy."""
        return self.dispatcher.decisions

    @property
    def seed(self) -> int:
        """The seed of the run's random streams."""
        return self.draw.seed

    @property
    def now_s(self) -> float:
        """The current simulation time, seconds."""
        return self.env._now

    def claim(
        self,
        job: Hashable,
        patience_s: float = math.inf,
        request: bool = True,
        instead_of: Claim | None = None,
    ) -> Claim:
        """Claim resources for a job, in a `with` block; the policy decides which.

        job: the job, or a pair such as (job, 2) for a further claim of the job at the
        same time; for other processes, a number that no job has, such as -1, by which
        the claims are recorded. patience_s: seconds without a grant after which the job
        leaves the queue, and `yield claim` returns None. request: whether the resources
        are requested at the grant; if not, the process calls `claim.request()`, for
        example after provisioning. instead_of: a claim that the job holds; the grant of
        the new claim revokes it, and the new claim is the cause of the interrupt.
        """
        number = getattr(job, "id", job)
        if type(number) is not int or not -LARGEST_ID <= number <= LARGEST_ID:
            check_id("a claim", job_id(job), whole=False)
        claim = Claim(self, job, patience_s, request)
        if self.pending_claims.setdefault(job, claim) is not claim:
            raise InputError(
                f"job {job_id(job)} makes a claim while another of its claims is"
                " pending: make one claim at a time, or use a pair such as (job,"
                " 2) for the second"
            )
        if patience_s != math.inf:
            check_number("patience_s", patience_s, least=0)
        if instead_of is not None:
            # appended, it counts as waiting for the claim, so that it is called at the
            # grant, even if the process waits for something else, such as its work
            claim.callbacks.append(partial(self._replace, instead_of))
        if self.listener:
            self.emit("submit", job, self.report.describe("submit", claim))
        self.dispatcher.enqueue(claim)
        return claim

    def resumed(self, job: Hashable, work_s: float) -> Process:
        """Claim resources for work_s seconds of work; after an interruption, claim
        again for the rest. Use it as `yield from run.resumed(job, work_s)`.
        """
        call = self._expect_use(
            f"run.resumed({job_id(job)}, ...) was called and not carried out:"
            " `yield from run.resumed(job, work_s)`"
        )
        return self._resumed(call, job, work_s)

    def _expect_use(self, message: str) -> object:
        """Return a key for a call of `resumed` or `down`. Using the call's result
        removes the key; ending the process before that is an error with this message.
        """
        call = object()
        self._unused_calls[call] = self.env.active_process, message
        return call

    def _resumed(self, call: object, job: Hashable, work_s: float) -> Process:
        """Carry out `resumed`, as a generator that starts when it is used."""
        del self._unused_calls[call]
        left_s = work_s
        while True:
            with self.claim(job) as claim:
                yield claim
                began_s = self.env.now
                try:
                    yield self.timeout(left_s)
                    return
                except simpy.Interrupt:
                    left_s -= self.env.now - began_s
            if left_s <= 0:  # interrupted in the instant in which it ended
                return

    def down(
        self, resource: Any, interrupt: bool = True
    ) -> AbstractContextManager[None]:
        """Take a resource of `resources` down during a `with` block.

            with run.down(machine):
                yield run.timeout(repair_s)

        Meanwhile it is not granted. Downtimes of one resource may overlap. interrupt:
        whether processes that hold it, except the caller, are interrupted; otherwise
        they finish, as with maintenance or the end of a shift.
        """
        if resource not in self.resources:
            raise InputError(f"down(={shown(resource)}) must be one of run.resources")
        call = self._expect_use(
            f"run.down({resource.label} {resource.index}) was called and not entered:"
            " `with run.down(resource):`"
        )
        return self._down(call, resource, interrupt)

    @contextmanager
    def _down(self, call: object, resource: Any, interrupt: bool) -> Iterator[None]:
        """Carry out `down`, from the start of the `with` block on."""
        del self._unused_calls[call]
        number = self.resources.index(resource)
        if self.ledger.close(number):
            self.emit("down", None, f"{resource.label} {resource.index}")
        if interrupt:
            for claim in tuple(self.granted_claims):
                of_caller = claim.process is self.env.active_process
                if not of_caller and any(part == number for part, _ in claim.parts):
                    self.revoke(claim, resource)
        try:
            yield
        except Exception:  # not GeneratorExit, by which a run that is over discards it
            self._up(number)
            raise
        self._up(number)

    def _up(self, number: int) -> None:
        """End one downtime of a resource, which can be granted again after the last."""
        if self.ledger.open(number):
            resource = self.resources[number]
            self.emit("up", None, f"{resource.label} {resource.index}")
            self.request_decision()

    def process(self, generator: Process, counts: bool = False) -> simpy.Process:
        """Start a process other than a job's. counts: whether the run continues until
        the process has ended.
        """
        allowed = (
            "a generator; processes() returns a list of them, as [self.health(run)]"
        )
        is_process = hasattr(generator, "throw")
        require(is_process, f"a process of {self.model.name}", generator, allowed)
        process = self.env.process(generator)
        if counts:
            self._counted_processes.add(process)
            process.callbacks.append(self._counted_ended)
        return process

    def completion(self, job: Hashable) -> simpy.Event:
        """Return the event of a job's completion; its value is what the job's process
        returns. KeyError if the job has ended or has not arrived.
        """
        return self.job_processes[job]

    def record(self, job: Hashable, *values: Any) -> None:
        """Record the values of the model's columns for a job, in their order."""
        if len(values) != len(self.records.missing_row):
            names = ", ".join(self.model.columns) or "none"
            raise InputError(
                f"record of job {job_id(job)} has {many(len(values), 'value')};"
                f" the columns of {self.model.name} are {names}"
            )
        self.job_processes[job].values = values

    def mark_started(self, job: Hashable, at_s: float) -> None:
        """Record the start time, seconds, of a job that starts without a resource."""
        self.job_processes[job].start_s = at_s

    def mark_finished(self, job: Hashable, at_s: float | None = None) -> None:
        """Record the end of a job whose process continues.

        at_s: time of the end, seconds; now if None.
        """
        self.job_processes[job].finish_s = self.env._now if at_s is None else at_s

    def record_usage(
        self, job: Hashable, number: int, phase: str, from_s: float, to_s: float
    ) -> None:
        """Record that a job used a resource without a claim.

        An example is an instance that is kept warm after the job has released it.
        number: the resource's. phase: name of this usage.
        """
        check_name("phase", phase)
        if self.records.claims is not None:
            parts, phases = ((number, 1.0),), ((phase, from_s),)
            self.records.claims.recent.append(
                (job_id(job), parts, from_s, math.nan, to_s, phases)
            )

    def emit(self, kind: str, source: Any, detail: str) -> None:
        """Report an Event to the listener.

        kind, detail: as in Event. source: a claim, whose job and resources are
        reported; a job; or None.
        """
        if self.listener is None:
            return
        job, indices = source, dict[int, None]()
        if isinstance(source, Claim):
            job = source.job
            # each once: the cores and the memory of a machine have the same index
            indices = dict.fromkeys(self.resources[n].index for n, _ in source.parts)
        label = self.resources[0].label if self.resources else "resource"
        self.listener(
            Event(self.env.now, kind, job_id(job), tuple(indices), detail, label)
        )

    def request_decision(self) -> None:
        """Let the dispatcher decide at the end of this instant."""
        self.dispatcher.request_decision()

    # ---- for the engine: arrivals and ends of jobs ----

    def _source(self, arrivals: Iterable[Any]) -> Process:
        """Start the process of each job when it arrives."""
        env = self.env
        for at_s, job, number, arrival in self._checked(arrivals):
            if at_s > env._now:
                yield env.timeout(delay_until(env._now, at_s), ("submit", number))
            if self.stop_arrivals:
                break
            if len(arrival) > 2:  # with draws
                self.hidden[job] = arrival[2]
            self._start(job, at_s)

    def _checked(
        self, arrivals: Iterable[Any]
    ) -> Iterator[tuple[float, Any, Any, Any]]:
        """Yield each arrival's time, job, number, and the arrival itself; InputError if
        it is invalid.
        """
        before_s, job_type = 0.0, None
        for arrival in arrivals if isinstance(arrivals, Iterable) else [arrivals]:
            try:
                at_s, job = arrival[0], arrival[1]
                valid = before_s <= at_s < math.inf
                number = getattr(job, "id", job)
                hash(job)
            except (TypeError, IndexError, KeyError):
                valid = False
            if not valid:
                raise InputError(
                    f"arrivals() of {self.model.name} yielded {shown(arrival)}, which"
                    f" is not a pair of a time in seconds, at least {before_s:g}"
                    " (times ascend), and a hashable job"
                )
            if type(number) is not int or not -LARGEST_ID <= number <= LARGEST_ID:
                check_id(f"a job of {self.model.name}", number, whole=True)
            if type(job) is not job_type:
                job_type = type(job)
                self.records.check(job)
            yield at_s, job, number, arrival
            before_s = at_s

    def _start(self, job: Any, at_s: float) -> None:
        """Start the process of a job."""
        generator = self.model.job_process(self, job)
        try:
            process = JobProcess(self.env, generator)
        except ValueError:
            raise InputError(
                f"job_process() of {self.model.name} must be a generator"
                f" function, which yields; it returned {shown(generator)}"
            ) from None
        if self.job_processes.setdefault(job, process) is not process:
            raise InputError(
                f"job {shown(job_id(job))} arrives before an equal job has ended"
            )
        process.job, process.submit_s, process.finish_s = job, at_s, None
        process.callbacks.append(self._job_ended)

    def _job_ended(self, process: Any) -> None:
        """Record a job whose process has ended."""
        if self._unused_calls:
            self.check_calls()
        if process._ok:  # else SimPy raises its error
            job = process.job
            del self.job_processes[job]
            self.hidden.pop(job, None)
            if process.finish_s is None:
                process.finish_s = self.env._now
            times = process.submit_s, process.dispatch_s, process.start_s
            values = process.values or self.records.missing_row
            if self.report.claim_columns:
                values = (process.wait_s, process.claims, *values)
            self.records.add((job, *times, process.finish_s, *values))
            self._check_over()

    def _counted_ended(self, process: simpy.Event) -> None:
        """Remove the source or another counted process that has ended."""
        self._counted_processes.discard(process)
        if process._ok:  # else SimPy raises its error
            self._check_over()

    def _check_over(self) -> None:
        """End the run if no job process or counted process is left."""
        if not (self.job_processes or self._counted_processes):
            raise simpy.core.StopSimulation(None)

    # ---- for the engine: the end of claims ----

    def leave(self, claim: Claim) -> None:
        """Release the resources of a claim, or withdraw a waiting claim."""
        state, claim.state = claim.state, ENDED
        if state == WAITING:
            self.dispatcher.withdraw(claim)
        elif state != ENDED:
            self._release(claim, state == REQUESTED)

    def _release(self, claim: Claim, started: bool) -> None:
        """Release the resources of a claim, report and record it, and request a
        decision.
        """
        del self.granted_claims[claim]
        if self.listener and started and not claim.revoked:
            self.emit("finish", claim, self.report.describe("finish", claim))
        # else the grant has not been delivered, or was declined at once
        if started or claim.revoked or claim.granted_s < self.env._now:
            self._update_job(claim)
        for request in claim.turns:
            # without effect if the job has released it already
            request.resource.release(request)
        for number, amount in claim.parts:
            self.ledger.release(number, amount, claim.granted_s)
        self.view.on_release(claim)
        if self.records.claims is not None:
            times_s = claim.granted_s, claim.started_s, self.env._now
            self.records.claims.recent.append(
                (job_id(claim.job), claim.parts, *times_s, claim.phases)
            )
        # a claim is its own value: without that reference it is freed at once
        claim._value = None
        self.dispatcher.request_decision()

    def _update_job(self, claim: Claim) -> None:
        """Add a claim to the record of its job: its wait, and the times of the job's
        first dispatch and start.
        """
        jobs = self.job_processes
        process = jobs.get(claim.job) or jobs.get(claimant(claim.job))
        if process is not None:
            if self.report.claim_columns:
                process.wait_s += claim.granted_s - claim.submit_s
                process.claims += 1
            # NaN, until a claim has been granted, is not <= anything
            if not process.dispatch_s <= claim.granted_s:
                process.dispatch_s = claim.granted_s
            if math.isnan(process.start_s) or claim.started_s < process.start_s:
                process.start_s = claim.started_s

    def revoke(self, claim: Claim, cause: Any = None) -> None:
        """Revoke the resources of a claim by interrupting its process.

        The process leaves the block of the claim and so releases the resources. If the
        claim was granted in this instant, the process is interrupted after it has
        received the grant. cause: of the interrupt, such as the resource that is down.
        """
        if claim.revoked:
            return
        if not (claim.process and claim.process.is_alive):
            raise ended_without(claim)
        claim.revoked, process = True, claim.process

        def interrupt(_: Any) -> None:
            if claim.state != ENDED:  # else it left before the grant was delivered
                process.interrupt(cause)

        # SimPy sets the callbacks of an event that has happened to None
        if claim.callbacks is None or not claim.awaited:
            process.interrupt(cause)
        else:
            claim.callbacks.append(interrupt)

    def _replace(self, old: Claim, claim: Any) -> None:
        """Revoke a claim when its replacement is granted."""
        # the value of a claim whose patience has ended is None
        if claim.value is not None and old in self.granted_claims:
            if old.granted_s == self.env.now:
                raise self.dispatcher.caller.wrong(
                    f"moved job {job_id(old.job)} in the instant of its dispatch"
                )
            self.revoke(old, claim)

    # ---- for the engine: the course of the run ----

    def advance(self, events: int = MANY) -> bool:
        """Process up to `events` events; return whether the run has more.

        Raises PolicyError at the event at which the policy makes a mistake, and if jobs
        would wait forever.
        """
        step = self.env.step
        try:
            for _ in range(events):
                step()
        except (simpy.core.EmptySchedule, simpy.core.StopSimulation):
            self._watchdog.check_deadlock()
            return False
        except (simpy.Interrupt, RuntimeError, OSError) as error:
            explained = self._explained(error)
            if explained is None:
                raise
            raise explained from None
        self._watchdog.count(events)
        return True

    def _explained(self, error: Exception) -> Exception | None:
        """Return a one-line error if a process does not handle an interrupt, or yields
        something other than an event. None for other errors.
        """
        if not isinstance(error, simpy.Interrupt):
            if not is_invalid_yield(error):
                return None
            text = " ".join(str(error).split())
            if isinstance(error, OSError):
                text = "Invalid yield value"
            return InputError(
                f"{text}: a process yields events, such as run.timeout(5); to run"
                " another generator, such as run.resumed(job, 5), use `yield"
                " from`"
            )
        cause: Any = error.cause
        if isinstance(cause, Suspend):
            return self.dispatcher.caller.wrong(
                f"suspended job {job_id(cause.job)}; this scenario does not allow"
                " suspension"
            )
        # SimPy raises a copy of the process's own error
        jobs = [
            process.job
            for process in self.job_processes.values()
            if process._value is error.__cause__
        ]
        interrupted = f"job {job_id(jobs[0])}" if jobs else "a process other than a job"
        reason = "" if cause is None else f" ({shown(cause)})"
        if any(cause is resource for resource in self.resources):
            reason = f", since {cause.label} {cause.index} went down,"
        return InputError(
            f"{interrupted} of {self.model.name} was interrupted{reason} and does not"
            " handle it:"
            " `try: yield ...` and `except cg.Interrupt: ...`"
        )

    def check_calls(self) -> None:
        """Raise InputError if a process has ended without using the result of its call
        of `resumed` or `down`.
        """
        for process, message in self._unused_calls.values():
            if process is None or not process.is_alive:
                raise InputError(message)

    def finish(self) -> Run:
        """Run the simulation to its end and return its records."""
        while self.advance():
            pass
        return self.close()

    def close(self) -> Run:
        """Return the records of a finished run; PolicyError if jobs still wait."""
        self._watchdog.check_deadlock()
        check_window(self.model.name, self.env)
        self.ledger.measure_closed()
        return Run(
            self.model,
            self.name,
            self.seed,
            self.records,
            decisions=self.decisions,
            held_s=self.ledger.held_s,
            closed_s=self.ledger.closed_s,
            measured=figures_of(self.env),
            plan=self.plan,
            rule=self._policy_as_passed,
        )

    def _set_window(self) -> None:
        """Apply the measured window of `cg.warm_up`, if `set_up` has called it."""
        window = self.env.warm_up, self.env.window_end
        if window != ALL_TIME:
            if not self.report.claim_columns:
                raise InputError(
                    f"the figures of {self.model.name} cannot exclude a warm-up"
                )
            self.records.tally.window = self.ledger.window = window

    places = Renamed("run.resources")
    luck = Renamed("run.hidden")
    note = Renamed("run.record(job, ...)")
    tell = Renamed("run.emit(kind, source, detail)")
    ended = Renamed("run.completion(job)")
    enough = Renamed("run.stop_arrivals")
    started = Renamed("run.mark_started(job, at_s)")
    finished = Renamed("run.mark_finished(job, at_s)")


ATTRIBUTES = (
    "declared dispatcher draw env granted_claims hidden job_processes ledger listener"
    " model pending_claims policy records report resources seed timeout view"
)
RESERVED = {*ATTRIBUTES.split()} | {
    name
    for name, value in vars(Simulation).items()
    if not (name.startswith("_") or isinstance(value, Renamed))
}
"""Names that models cannot set; they can set name, plan and stop_arrivals."""
