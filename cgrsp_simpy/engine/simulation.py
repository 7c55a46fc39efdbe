"""A run of a model: jobs arrive, live and claim places; one dispatcher asks the policy.

A job is a SimPy process, written by the model (`Model.job_process`). What it may use
of the run has no underscore and comes before the line "the engine's own".
"""

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
    Set,
)
from contextlib import AbstractContextManager, contextmanager
from heapq import heappush
from typing import TYPE_CHECKING, Any

import simpy
from simpy.events import NORMAL, PENDING

from cgrsp_simpy.base.checks import InputError, check_number, require
from cgrsp_simpy.base.policy import AssignmentError, Suspend, Wake
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.engine.claim import Claim, ClaimRecord
from cgrsp_simpy.engine.events import (
    AFTER_ALL_ELSE,
    LARGEST_ID,
    DecisionEvent,
    Environment,
    Event,
    Listener,
    Patience,
    WakeTimer,
    check_id,
    claimant,
    delay_until,
    job_id,
    policy_name,
)
from cgrsp_simpy.engine.ledger import Ledger
from cgrsp_simpy.engine.policy_caller import PolicyCaller
from cgrsp_simpy.engine.resources import ResourceSpec
from cgrsp_simpy.engine.run import Records, Run

if TYPE_CHECKING:
    from cgrsp_simpy.engine.model import Model

Process = Generator[simpy.Event, Any, Any]  # what SimPy runs


def declared_by(model: Model) -> tuple[ResourceSpec, ...]:
    """The places of a model; raises InputError for what is none."""
    given = model.resources()
    places = tuple(given) if isinstance(given, Iterable) else ()
    right = isinstance(given, Iterable) and all(
        type(each) is ResourceSpec for each in places
    )
    allowed = "places, as of cg.slots(...) or cg.pools(...)"
    require(right, f"resources() of {model.name}", given, allowed)
    return places


class JobProcess(simpy.Process):
    """The process of a job, and what is taken down of it; seconds, NaN until it
    happens.

    notes: the model's own columns.
    """

    job: Any
    submit_s: float
    dispatch_s = start_s = math.nan
    finish_s: float | None = None
    notes: Sequence[Any] = ()


INVALID = "Invalid yield value"  # so begins SimPy's message


def _copied(policy: Any) -> Any:
    """A copy of a policy, so that its memory is fresh; InputError if it has none."""
    try:
        return copy.deepcopy(policy)
    except Exception as error:
        raise InputError(
            f"policy {policy_name(policy)!r} cannot be copied for a run"
            f" ({type(error).__name__}: {error}); keep files, locks and generators out"
            " of its attributes, or pass a function"
        ) from None


SETTABLE = {"stop_arrivals", "name", "plan"}  # attributes of a run that models may set
MANY = 100_000  # events in which jobs wait, and nothing changes


def _is_scheduled(event: Any) -> bool:
    """Whether an event is in the event list, or will be after events that are."""
    if event is None:
        return False
    if event._value is not PENDING:
        return True
    if isinstance(event, simpy.events.Condition):
        return any(map(_is_scheduled, event._events))
    return isinstance(event, simpy.Process) and _is_scheduled(event._target)


class State:
    """What changes at almost every event of a run: apart from its attributes, whose
    names are checked when they are set.

    alive: number of the processes that keep the run going: the source, the lives and
    those that count.
    rung: whether a decision is due in this instant.
    """

    __slots__ = ("alive", "decisions", "grants", "rung")

    def __init__(self) -> None:
        self.alive, self.rung = 1, False
        self.decisions = self.grants = 0


class Simulation:
    """A run that has been set up and not let go; a job's life and a model's processes
    see it.

    Parameters
    ----------
    model : Model
        What is run.
    policy : callable
        A function of the model's view. The run works on a copy, so that one with memory
        is fresh for every run.
    seed : int
        Of all random numbers.
    drawn : iterable, optional
        The arrivals, as of `Model.arrivals`, where they have been drawn already.
    records : bool
        Whether the run keeps what became of each job, and who held what; without,
        memory does not grow with the number of jobs.
    listener : callable, optional
        Called with each Event.
    plan : Any
        What a model that plans ahead has planned, or what else its figures need, for
        its view, its lives and `Run.plan`.

    Attributes
    ----------
    env : simpy.Environment
        The run's.
    places : list of simpy.Resource or simpy.Container
        Each with index, noun, size, unit and kind.
    luck : dict
        By job, what arrived with it that no policy sees.
    draw : callable
        draw("name", number): the continuing stream of random numbers of that name, a
        NumPy Generator; another one than `arrivals` has under the name.
    timeout : callable
        As of the environment.
    name : str
        What the policy is called in the run that is left; the policy's own, unless set.
    enough : bool
        Set by a life or process once no more jobs are to arrive.
    """

    _reserved: Set[str] = frozenset()

    if TYPE_CHECKING:  # what a model or its user adds

        def __getattr__(self, name: str) -> Any: ...

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; InputError for one that the engine uses."""
        if name in self._reserved:
            raise InputError(
                f"run.{name} is the engine's own and cannot be set; choose another name"
                f" (taken: {', '.join(sorted(self._reserved))})"
            )
        object.__setattr__(self, name, value)

    def __init__(
        self,
        model: Model,
        policy: Callable[[Any], Any],
        seed: int = 0,
        *,
        drawn: Iterable[Any] | None = None,
        records: bool = True,
        listener: Listener | None = None,
        plan: Any = None,
    ) -> None:
        env = self.env = Environment()
        self.timeout, self.plan = env.timeout, plan
        self.model, self.seed, self.listener = model, seed, listener
        self.hidden: dict[Any, Any] = {}
        self.stop_arrivals = False
        self.draw = Draw(seed, "run ")
        self.declared = declared_by(model)
        self.resources = [place.resource(env) for place in self.declared]
        # ---- the engine's own ----
        self.state, self.ledger = State(), Ledger(self.resources)
        # claims that wait, oldest first, and those that are granted, in that order
        self.pending_claims: dict[Any, Claim] = {}
        self.granted_claims: dict[Claim, None] = {}
        keep = records or model.keeps_jobs
        self.log: list[ClaimRecord] | None = [] if keep else None
        self.records = Records(model, keep)
        self._noted = len(self.records.blank)
        self._jobs: dict[Any, JobProcess] = {}  # that live
        # calls of `resumed` and `down` that have not begun: the calling process, and
        # the error if it ends before
        self._unstarted: dict[object, tuple[Any, str]] = {}
        self._rule = policy
        self.policy, self.name = _copied(policy), policy_name(policy)
        self.hears_all = any(
            getattr(policy, name, False) for name in ("asks_on_arrival", "suspends")
        )
        self._still, self._moved = 0, (0, 0, 0)  # events since anything has changed
        self._at_once, self._then_s = 0, -1.0  # events since the clock has moved
        attributes = {name for name in vars(self) if not name.startswith("_")}
        reserved = attributes | METHODS | {"answers", "view"}
        self.view = self.ledger.view = model.view(self)
        says = lambda job: model.says("submit", self.pending_claims[job])  # noqa: E731
        self.answers = PolicyCaller(
            env, self.policy, self.view, self.pending_claims, says
        )
        self._decision_event = DecisionEvent(env)
        self._wake_timer = WakeTimer(env, self._wake)
        self._impatient: list[Claim] = []
        env.process(self._dispatcher())
        self._reserved = reserved - SETTABLE
        model.set_up(self)
        for process in model.processes(self):
            self.process(process)
        arrivals = model.arrivals(Draw(seed)) if drawn is None else drawn
        self._arriving = env.process(self._source(arrivals))

    # ---- for lives and processes ----

    @property
    def mask(self) -> int:
        """Bit n is set while something of the nth place is free."""
        return self.ledger.mask

    @property
    def free(self) -> list[float]:
        """How much of each place can be granted."""
        return self.ledger.free

    @property
    def held_s(self) -> list[float]:
        """Amount times seconds for which each place was held, by claims that ended."""
        return self.ledger.held_s

    @property
    def decisions(self) -> int:
        """How often the policy has been asked."""
        return self.state.decisions

    @property
    def now_s(self) -> float:
        """The clock, seconds."""
        return self.env._now

    def claim(
        self,
        job: Hashable,
        patience_s: float = math.inf,
        request: bool = True,
        instead_of: Claim | None = None,
    ) -> Claim:
        """A claim of a job to places, to be used in a `with` block; the policy decides
        which.

        job: the job, or a pair such as (job, 2) for a further claim of it at the same
        time; of a process beside the jobs a number that no job has, such as -1. Claims
        are recorded by that number.
        patience_s: after so many seconds without a grant the job leaves the queue.
        request: whether the resources are requested at the grant; else by the job's
        own `claim.request()`, such as after provisioning.
        instead_of: a claim that the job holds; the grant of this one revokes it, and is
        the cause of the interrupt.
        """
        number = getattr(job, "id", job)
        if type(number) is not int or not -LARGEST_ID <= number <= LARGEST_ID:
            check_id("a claim", job_id(job), whole=False)
        claim = Claim(self, job, patience_s, request)
        if self.pending_claims.setdefault(job, claim) is not claim:
            raise InputError(
                f"job {job_id(job)} claims while a claim of its own waits:"
                " one at a time, or of a pair such as (job, 2)"
            )
        if instead_of is not None:
            claim.callbacks.append(lambda granted: self._replace(instead_of, granted))
        self.view.on_enqueue(job)
        if self.listener:
            self.emit("submit", job, self.model.says("submit", claim))
        self.request_decision()
        if patience_s != math.inf:
            check_number("patience_s", patience_s, least=0)
            if self.state.rung:
                self._impatient.append(claim)
            else:
                claim.patience = Patience(claim, self._give_up)
        return claim

    def resumed(self, job: Hashable, work_s: float) -> Process:
        """Claim until so many seconds of work are done, however often interrupted;
        `yield from` it.
        """
        call = object()
        message = (
            f"run.resumed({job_id(job)}, ...) was called and not carried out:"
            " `yield from run.resumed(job, work_s)`"
        )
        self._unstarted[call] = self.env.active_process, message
        return self._resumed(call, job, work_s)

    def _resumed(self, call: object, job: Hashable, work_s: float) -> Process:
        del self._unstarted[call]
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
            if left_s <= 0:
                return

    def down(self, place: Any) -> AbstractContextManager[None]:
        """Take a resource of `resources` down while in the block.

        It is granted to nobody, and processes that hold it are interrupted, except the
        caller. Downtimes of one resource may overlap.
        """
        if place not in self.resources:
            raise InputError(f"down(={place!r}) must be one of run.resources")
        call = object()
        message = (
            f"run.down({place.label} {place.index}) was called and not entered:"
            " `with run.down(place):`"
        )
        self._unstarted[call] = self.env.active_process, message
        return self._down(call, place)

    @contextmanager
    def _down(self, call: object, place: Any) -> Iterator[None]:
        del self._unstarted[call]
        number = self.resources.index(place)
        if self.ledger.close(number):
            self.emit("down", None, f"{place.label} {place.index}")
            for claim in tuple(self.granted_claims):
                others = claim.process is not self.env.active_process
                if others and any(part == number for part, _ in claim.parts):
                    self.revoke(claim, place)
        try:
            yield
        except Exception:  # not where the run is over
            self._up(number)
            raise
        self._up(number)

    def process(self, generator: Process, counts: bool = False) -> simpy.Process:
        """Start a process beside the jobs'. counts: whether the run goes on until it
        has ended.
        """
        process = self.env.process(generator)
        if counts:
            self.state.alive += 1
            process.callbacks.append(self._gone)
        return process

    def completion(self, job: Hashable) -> simpy.Event:
        """Happens when a job that lives has ended, with what its life returns. KeyError
        if it has ended before, or has not arrived.
        """
        return self._jobs[job]

    def record(self, job: Hashable, *values: Any) -> None:
        """What the model's own columns say of a job, in their order."""
        if len(values) != self._noted:
            names = ", ".join(self.model.columns) or "none"
            raise InputError(
                f"note of job {job_id(job)} has {len(values)} values;"
                f" the columns of {self.model.name} are {names}"
            )
        life = self.env._active_proc
        if type(life) is not JobProcess or life.job is not job:
            life = self._jobs[job]
        life.notes = values

    def started(self, job: Hashable, at_s: float) -> None:
        """A job has started elsewhere than at a place; seconds on the clock."""
        self._jobs[job].start_s = at_s

    def finished(self, job: Hashable, at_s: float | None = None) -> None:
        """A job ends now, or at a time, though its life goes on, as until its last
        bill.
        """
        self._jobs[job].finish_s = self.env._now if at_s is None else at_s

    def record_usage(
        self, job: Hashable, number: int, phase: str, from_s: float, to_s: float
    ) -> None:
        """Take down that a place was a job's without a claim, as after its end."""
        if self.log is not None:
            parts, own = ((number, 1.0),), ((phase, from_s),)
            self.log.append((job_id(job), parts, from_s, math.nan, to_s, own))

    def emit(self, kind: str, who: Any, detail: str) -> None:
        """Report to the listener. who: a claim that holds places, a job, or None."""
        if self.listener is None:
            return
        indices = dict[int, None]()
        if isinstance(who, Claim):
            indices = dict.fromkeys(
                self.resources[number].index for number, _ in who.parts
            )
            who = who.job
        noun = self.resources[0].label if self.resources else "resource"
        self.listener(
            Event(self.env.now, kind, job_id(who), tuple(indices), detail, noun)
        )

    # ---- the engine's own: jobs ----

    def _source(self, arrivals: Iterable[Any]) -> Process:
        """Start the life of each job when it arrives."""
        env, model, jobs, end = self.env, self.model, self._jobs, self._end
        before_s, kind = 0.0, None
        for arrival in arrivals:
            try:
                at_s, job = arrival[0], arrival[1]
                right = before_s <= at_s < math.inf
            except (TypeError, IndexError, KeyError):
                right = False
            if not right:
                raise self._no_arrival(arrival, before_s)
            number = getattr(job, "id", job)
            if type(number) is not int or not -LARGEST_ID <= number <= LARGEST_ID:
                if not isinstance(job, Hashable):
                    raise self._no_arrival(arrival, before_s)
                check_id(f"a job of {model.name}", number, whole=True)
            if type(job) is not kind:
                kind = type(job)
                self.records.check(job)
            if at_s > env._now:
                delay_s = delay_until(env._now, at_s)
                yield env.timeout(delay_s, ("submit", number))
            if self.stop_arrivals:
                break
            process = model.job_process(self, job)
            try:
                life = JobProcess(env, process)
            except ValueError:
                raise InputError(
                    f"job_process() of {model.name} must be a generator, which yields;"
                    f" it gave {process!r}"
                ) from None
            try:
                equal = jobs.setdefault(job, life)
            except TypeError:
                raise self._no_arrival(arrival, before_s) from None
            if equal is not life:
                raise InputError(
                    f"job {job_id(job)!r} arrives while one that is equal to it lives"
                )
            if len(arrival) > 2:
                self.hidden[job] = arrival[2]
            before_s = life.submit_s = at_s
            life.job = job
            life.callbacks.append(end)
            self.state.alive += 1
        self._gone()

    def _no_arrival(self, arrival: Any, before_s: float) -> InputError:
        """The error of what is no arrival."""
        return InputError(
            f"arrivals() of {self.model.name} gave {arrival!r}, which is no pair of"
            f" a second, from {before_s:g} on, and a job that can be hashed"
        )

    def _end(self, life: Any) -> None:
        """A job's life has ended."""
        if self._unstarted:
            self._check_begun()
        if life._ok:  # else by an error, which SimPy raises
            del self._jobs[life.job]
            self.hidden.pop(life.job, None)
            if life.finish_s is None:
                life.finish_s = self.env._now
            self.records.add(
                (
                    life.job,
                    life.submit_s,
                    life.dispatch_s,
                    life.start_s,
                    life.finish_s,
                    *(life.notes or self.records.blank),
                )
            )
            self._gone()

    def _gone(self, _: Any = None) -> None:
        """The source, a life or a counted process has ended; with the last the run."""
        self.state.alive -= 1
        if not self.state.alive:
            raise simpy.core.StopSimulation(None)

    # ---- the engine's own: claims ----

    def leave(self, claim: Claim) -> None:
        """A life leaves a claim: its places are released, or it waits no longer."""
        if claim not in self.granted_claims:
            if claim.granted is None and self.pending_claims.get(claim.job) is claim:
                self._withdraw(claim)
            return
        now_s, parts, life = self.env._now, claim.parts, claim.process
        if type(life) is not JobProcess or life.job is not claim.job:
            # claimed for another job, or by a process beside the jobs
            life = self._jobs.get(claim.job) or self._jobs.get(claimant(claim.job))
        if self.listener and claim.requests is not None and not claim.revoked:
            self.emit("finish", claim, self.model.says("finish", claim))
        del self.granted_claims[claim]
        if life is not None and (
            claim.requests is not None or claim.revoked
        ):  # else not taken up
            if not life.dispatch_s <= claim.granted_s:
                life.dispatch_s = claim.granted_s
            if life.start_s != life.start_s or claim.started_s < life.start_s:
                life.start_s = claim.started_s
        for request in claim.requests or ():
            # without effect if the job has released it already
            request.resource.release(request)
        held_s = now_s - claim.granted_s
        for number, amount in parts:
            self.ledger.release(number, amount, held_s)
        self.view.on_release(claim)
        if self.log is not None:
            self.log.append(
                (
                    job_id(claim.job),
                    parts,
                    claim.granted_s,
                    claim.started_s,
                    now_s,
                    claim.phases,
                )
            )
        # it names itself: without that circle it is forgotten at once
        claim._value = None
        self.request_decision()

    def revoke(self, claim: Claim, cause: Any = None) -> None:
        """Take a job's places away: its life is interrupted, at once or as soon as it
        has heard of the grant, and leaves them.
        """
        if claim.revoked:
            return
        if not (claim.process and claim.process.is_alive):
            raise self._ended_without(claim)
        claim.revoked, process = True, claim.process

        def interrupt(_: Any) -> None:
            if (
                claim in self.granted_claims
            ):  # else it has left before it heard of the grant
                process.interrupt(cause)

        if claim.callbacks is None or not claim.heard:
            process.interrupt(cause)
        else:
            claim.callbacks.append(interrupt)

    def _replace(self, old: Claim, claim: Any) -> None:
        """A claim has been granted, or given up, in place of one that may be held."""
        if claim.value is not None and old in self.granted_claims:
            if old.granted_s == self.env.now:
                raise self.answers.wrong(
                    f"moved job {job_id(old.job)} in the instant of its dispatch"
                )
            self.revoke(old, claim)

    def _up(self, number: int) -> None:
        """A place is down once less; after the last it is granted again."""
        if self.ledger.open(number):
            place = self.resources[number]
            self.emit("up", None, f"{place.label} {place.index}")
            self.request_decision()

    def _withdraw(self, claim: Claim) -> None:
        if claim.patience is not None:
            self.env.cancel(claim.patience)
        del self.pending_claims[claim.job]
        self.view.on_dequeue(claim.job)
        if not self.pending_claims:
            self._wake_timer.stop()
        self.request_decision()  # who was behind it may find room

    def _give_up(self, end: Patience) -> None:
        """Patience has ended: a job that still waits leaves."""
        claim: Claim = end.claim
        if self.pending_claims.get(claim.job) is claim:
            if claim.heard:
                claim.succeed(None)
            else:
                claim.answer = None
            self._withdraw(claim)

    # ---- the engine's own: decisions ----

    def request_decision(self) -> None:
        """Have a decision made at the end of this instant, if it can grant anything."""
        state = self.state
        if (
            not state.rung
            and self.pending_claims
            and (self.ledger.mask or self.hears_all)
        ):
            state.rung, env = True, self.env
            ringing = env._now, AFTER_ALL_ELSE, next(env._eid), self._decision_event
            heappush(env._queue, ringing)

    def _dispatcher(self) -> Process:
        """The one process that asks the policy, woken by arrivals and completions."""
        bell, state = self._decision_event, self.state
        while True:
            yield bell
            bell.callbacks, state.rung = [], False  # first: a grant may ring it again
            if self.pending_claims:  # else all have been withdrawn
                self._decide(self.env._now)
            for claim in self._impatient:
                if self.pending_claims.get(claim.job) is claim:
                    claim.patience = Patience(claim, self._give_up)
            self._impatient.clear()

    def _decide(self, now_s: float) -> None:
        """Ask the policy, carry out its answer."""
        self.state.decisions += 1
        self._wake_timer.stop()
        self.view.on_decision(now_s)
        if self.listener:
            self.emit("decide", None, self.view.summary())
        self.carry_out(self.answers.now())

    def carry_out(self, items: Iterable[Any]) -> None:
        """What a policy answers, in the instant of its decision."""
        wake_s, now_s = math.inf, self.env._now
        for item in items:
            kind = type(item)
            if kind is Wake:
                wake_s = min(wake_s, self.answers.wake_s(item))
            elif kind is Suspend:
                self.revoke(self.answers.suspended(item, self.granted_claims), item)
            else:
                self._grant(item, now_s)
        if wake_s < math.inf:
            self._wake_timer.set(wake_s)

    def _grant(self, item: Any, now_s: float) -> None:
        """Promise a job its places."""
        try:
            job, chosen = item
            claim = self.pending_claims.pop(job)
        except (TypeError, ValueError, KeyError):
            raise self.answers.no_such_job(item) from None
        claim.granted_s, claim.granted = now_s, chosen
        try:
            claim.parts = self.view.parse_assignment(claim, chosen)
            for number, amount in claim.parts:
                self.ledger.take(number, amount, claim)
        except AssignmentError as error:
            raise self.answers.wrong(f"sent job {job_id(job)} to {error}") from None
        self.view.on_dequeue(job)
        self._wake_timer.in_a_row = 0
        self.state.grants += 1
        self.granted_claims[claim] = None
        if claim.patience is not None:
            self.env.cancel(claim.patience)
        if claim.heard:
            claim._value, claim._ok, env = claim, True, self.env
            heappush(env._queue, (now_s, NORMAL, next(env._eid), claim))
            if not claim.requests_itself:
                # as the life hears of it, so that a step shows what it does then
                claim.callbacks.insert(0, Claim.begin)
        else:
            claim.answer = claim
            if not claim.requests_itself:
                claim.request()

    def _wake(self) -> None:
        """The time has come at which the policy asked to be asked again."""
        if self._wake_timer.in_a_row > self._wake_timer.most:
            raise self.answers.wrong(
                f"has held {len(self.pending_claims)} waiting jobs through"
                f" {self._wake_timer.most} wake-ups in a row"
            )
        self.request_decision()

    # ---- the engine's own: to the end ----

    def advance(self, events: int = MANY) -> bool:
        """Carry out the next events; whether there are more.

        Raises PolicyError at the event at which the policy goes wrong, and if jobs wait
        for ever.
        """
        step = self.env.step
        try:
            for _ in range(events):
                step()
        except simpy.Interrupt as error:
            raise self._unexpected(error) from None
        except RuntimeError as error:
            if INVALID not in str(error):
                raise
            raise InputError(
                f"{' '.join(str(error).split())}: a process yields events, such as"
                " run.timeout(5); another generator, such as run.resumed(job, 5), is"
                " carried out with `yield from`"
            ) from None
        except (simpy.core.EmptySchedule, simpy.core.StopSimulation):
            self._check_ended()
            return False
        moved = self.state.grants, len(self.pending_claims), self.records.number
        still, at_once = self._still + events, self._at_once + events
        self._still, self._moved = still * (moved == self._moved), moved
        self._at_once, self._then_s = at_once * (self._then_s == self.now_s), self.now_s
        if self._still > MANY:
            if self._at_once > MANY:
                raise InputError(
                    f"{MANY:,} events at t = {self.now_s:g} s and no end: a process"
                    f" of {self.model.name} goes on without time"
                )
            if self._still > self._still_allowed():
                self._check_ended()
        return True

    def _still_allowed(self) -> float:
        """Number of events without a change after which the jobs wait for ever.

        No limit while it is certain that a change will come. Where a process beside the
        jobs may still cause one, the limit is a hundred times as high: a resource that
        is down may come up again, and an event that a job waits for may happen.
        """
        processes = [
            *self._jobs.values(),
            *[claim.process for claim in self.granted_claims],
        ]
        if (
            self._wake_timer.timeout
            or self._arriving.is_alive
            or any(
                claim.patience_s < math.inf for claim in self.pending_claims.values()
            )
            or any(_is_scheduled(process) for process in processes)
        ):
            return math.inf
        uncertain = (
            self.granted_claims or not self.pending_claims or self.ledger.any_closed()
        )
        return MANY * 100 if uncertain else MANY

    def _unexpected(self, error: simpy.Interrupt) -> Exception:
        """The error of a process that was interrupted and does not handle it."""
        cause = error.cause
        if isinstance(cause, Suspend):
            return self.answers.wrong(
                f"suspended job {job_id(cause.job)}; this scenario allows no suspension"
            )
        # SimPy raises a copy of the process's own error
        jobs = [
            life.job for life in self._jobs.values() if life._value is error.__cause__
        ]
        who = f"job {job_id(jobs[0])}" if jobs else "a process beside the jobs"
        by = "" if cause is None else f" ({cause!r})"
        for place in self.resources:
            if cause is place:
                by = f", since {place.label} {place.index} was taken down,"
        return InputError(
            f"{who} of {self.model.name} was interrupted{by} and does not handle it:"
            " `try: yield ...` and `except cg.Interrupt: ...`"
        )

    def _check_served(self) -> None:
        """Raise PolicyError if jobs wait, as nothing is to come that helps them;
        InputError if that is a life's fault.
        """
        for claim in (*self.granted_claims, *self.pending_claims.values()):
            if not (claim.process and claim.process.is_alive):
                raise self._ended_without(claim)
        # a process beside the jobs may wait for ever: the run ends with the jobs
        if self.pending_claims and self.state.alive:
            raise self.answers.deadlock_error(self.declared, self.free)

    def _ended_without(self, claim: Claim) -> InputError:
        """The error of a process that has ended and left its claim."""
        return InputError(
            f"the process of job {job_id(claim.job)} has ended, and its claim"
            " has not: `with run.claim(job) as claim:`"
        )

    def _check_begun(self) -> None:
        """Raise InputError if a process has ended and forgotten what it called."""
        for process, message in self._unstarted.values():
            if process is None or not process.is_alive:
                raise InputError(message)

    def _check_ended(self) -> None:
        """Raise InputError if a life waits for what never comes."""
        self._check_served()
        self._check_begun()
        for job in self._jobs:
            raise InputError(
                f"the process of job {job_id(job)} has not ended,"
                " and nothing is left to happen that it waits for"
            )

    def finish(self) -> Run:
        """Carry the run out to its end; what it leaves."""
        while self.advance():
            pass
        return self.close()

    def close(self) -> Run:
        """What the run leaves, once nothing is left to happen; PolicyError if jobs
        wait.
        """
        self._check_ended()
        return Run(
            self.model,
            self.name,
            self.seed,
            self.records,
            self.log,
            self.decisions,
            self.ledger.held_s,
            self.plan,
            self._rule,
        )


METHODS = {name for name in vars(Simulation) if not name.startswith("_")}
