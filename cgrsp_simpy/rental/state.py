"""The state of a queue for rented slots at one moment, and runs that start from it.

A run from a state repeats the recorded past: its jobs arrive and are
dispatched when they were. What is not known is drawn from its distribution, given what
has passed: the service of a job that has run for x seconds given that it takes longer,
a provisioning delay that has not ended given that it lasts longer, and stock that
persists given the statuses that were seen, by rejection. The policy takes over from
there.
"""

from __future__ import annotations

import copy
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, fields
from functools import cached_property, partial
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Literal

import cloudpickle
import numpy as np
from numpy.random import Generator

from cgrsp_simpy.base.checks import InputError, check_number, check_one_of, require
from cgrsp_simpy.base.files import check_size, faults_of, json_of, write_whole
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.parameters import (
    Count,
    Entries,
    NotNegative,
    UpToInfinity,
    Whole,
    declared,
    limits,
    parameter,
    rule,
)
from cgrsp_simpy.base.parts import part_of
from cgrsp_simpy.base.policy import Wake
from cgrsp_simpy.base.streams import Draw, stream
from cgrsp_simpy.base.table import json_text
from cgrsp_simpy.engine.events import delay_until, policy_name
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.market.gpu import round_robin
from cgrsp_simpy.market.law import HIGH, LOW, Status
from cgrsp_simpy.market.stock import Stock
from cgrsp_simpy.rental.job import Draws, Job, Met, check_job
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.subject import RentalSubject
from cgrsp_simpy.rental.terms import Terms
from cgrsp_simpy.rental.view import SlotView, View
from cgrsp_simpy.rental.workload import (
    HourlyWorkload,
    JobList,
    LoggedWorkload,
    PoissonWorkload,
    arrivals_after,
    submissions_s,
)

MOST_JOBS = 10_000  # of a state
NAMES = tuple(status.name.title() for status in Status)
BILLING = ("billed_from", "minimum_s", "increment_s")
"""The terms of renting under which a state has all that a run needs."""


@declared("{} of job {id}")
class WaitingJob:
    """A job that waits for a slot."""

    id: Whole = parameter("Number; numbers rise with the submission.")
    submit_s: NotNegative = parameter("Time of submission, seconds.")
    deadline_s: NotNegative = parameter("Deadline, seconds.")
    complexity: Count = parameter(
        "Estimate: which of the mean execution times of a GPU type is the job's, from"
        " 1 on.",
        default=1,
    )
    deadline_class: str | None = parameter(
        "Name of its deadline class; the scenario's last, unless given.", default=None
    )
    gpus: Count = parameter("Slots that it holds at once.", default=1)
    weight: NotNegative | None = parameter(
        "Importance; that of its class, or 1, unless given.", default=None
    )


@declared("{} of job {id}")
class RunningJob(WaitingJob):
    """A job that holds slots."""

    slots: Annotated[Entries[Whole], rule("at least one slot", bool)] = parameter(
        "Indices of its slots, from 0 on.", kw_only=True
    )
    dispatch_s: NotNegative = parameter("Time of its dispatch, seconds.", kw_only=True)
    start_s: NotNegative | None = parameter(
        "Time from which it executes, seconds; null: it is being provisioned.",
        default=None,
    )
    gpu: str | None = parameter(
        "Name of the GPU type of its slots; that of the slots, unless given.",
        default=None,
    )


@declared("{} of {gpu}")
class SeenStock:
    """The stock of a GPU type as it was last seen."""

    gpu: str = parameter("Name of the type.")
    status: Literal["High", "Medium", "Low"] = parameter("Status.")
    seen_s: NotNegative = parameter("Time of the look, seconds.")


@declared()
class State:
    """What is known of a queue and its slots at one moment.

        state = cg.simulate(cg.day("hectic"), "triage").state(3600)
        cg.compare(state.resumed(cg.day("hectic")), ["triage", "fifo"], range(30))

    Raises
    ------
    InputError
        For a state that cannot be, such as two jobs on one slot.
    """

    now_s: Annotated[
        float, limits("a number from 0 to 10,000,000, 115 days", ge=0, le=1e7)
    ] = parameter("Current time, in seconds from the scenario's time 0.")
    slots: Annotated[Entries[str], rule("at least one slot", bool)] = parameter(
        "Name of the GPU type of each slot."
    )
    waiting: Entries[WaitingJob] = parameter("The jobs that wait.", default=())
    running: Entries[RunningJob] = parameter(
        "The jobs that hold slots, in order of dispatch.", default=()
    )
    stock: Entries[SeenStock] = parameter(
        "The stock as last seen, at most once per type.", default=()
    )
    to_come: Whole | None = parameter(
        "How many jobs are still to arrive; all of the workload, unless given, or those"
        " of a list or log that are submitted later.",
        default=None,
    )
    wake_s: UpToInfinity | None = parameter(
        "When the policy decides next, seconds, unless a job arrives or ends before;"
        " now, unless given; infinity, or null in JSON: at the next such event.",
        default=None,
    )
    policy: str = parameter("Name of the policy that wrote the memory.", default="")
    memory: Any = parameter(
        "Memory of the policy, as returned by its `save`.", default=None
    )
    scenario: str = parameter(
        "Name and words of the scenario, as on the command line: hectic slots=5.",
        default="",
    )

    def __post_init__(self) -> None:
        now_s, known = self.now_s, sorted(self.jobs, key=lambda job: job.id)
        most = f"at most {MOST_JOBS:,}"
        require(len(known) <= MOST_JOBS, "number of jobs", len(known), most)
        for before, job in pairwise(known):
            require(before.id != job.id, "id", job.id, "that of one job, not of two")
            in_order = before.submit_s <= job.submit_s
            allowed = f"at least that of job {before.id}, {before.submit_s:g}"
            require(in_order, f"submit_s of job {job.id}", job.submit_s, allowed)
        for job in known:
            allowed = f"at most now_s, {now_s:g}"
            name = f"submit_s of job {job.id}"
            require(job.submit_s <= now_s, name, job.submit_s, allowed)
        holders: dict[int, int] = {}
        for job in self.running:
            self._check_running(job)
            for slot in job.slots:
                other = holders.setdefault(slot, job.id)
                allowed = f"free, and job {other} holds it"
                require(other == job.id, f"slot of job {job.id}", slot, allowed)
        at_s = [job.dispatch_s for job in self.running]
        require(at_s == sorted(at_s), "dispatch_s of running jobs", at_s, "rising")
        types = [seen.gpu for seen in self.stock]
        require(len({*types}) == len(types), "stock", types, "of different GPU types")
        for seen in self.stock:
            name, allowed = f"seen_s of {seen.gpu}", f"at most now_s, {now_s:g}"
            require(seen.seen_s <= now_s, name, seen.seen_s, allowed)
        if self.wake_s is not None:
            allowed = f"at least now_s, {now_s:g}"
            require(self.wake_s >= now_s, "wake_s", self.wake_s, allowed)

    def _check_running(self, job: RunningJob) -> None:
        """Check the times and the slots of a running job."""
        name, number = f"of job {job.id}", len(self.slots)
        allowed = f"{job.gpus}, one per GPU, all different"
        different = len({*job.slots}) == len(job.slots) == job.gpus
        require(different, f"slots {name}", job.slots, allowed)
        allowed = f"below {number}, the number of slots"
        require(max(job.slots) < number, f"slots {name}", job.slots, allowed)
        start_s = self.now_s if job.start_s is None else job.start_s
        times = [job.submit_s, job.dispatch_s, start_s, self.now_s]
        allowed = "in order: submission, dispatch, start, now"
        require(times == sorted(times), f"times {name}", times, allowed)

    @property
    def jobs(self) -> tuple[WaitingJob, ...]:
        """All jobs, those that run first."""
        return (*self.running, *self.waiting)

    @classmethod
    def from_json(cls, path: str | Path) -> State:
        """Read a state from a JSON file, of the form of data/state.schema.json.

        Raises InputError with the file's name for any other file.
        """
        path = Path(path)
        with faults_of(path):
            try:
                check_size(path.stat().st_size)
                text = path.read_bytes().decode()
            except UnicodeDecodeError:
                raise InputError("not JSON") from None
            return cls.from_table(json_of(text, parse_constant=_refuse_constant))

    @classmethod
    def from_table(cls, table: Any) -> State:
        """Return the state that a table, as from JSON, describes."""
        if isinstance(table, dict):
            for name in ("waiting", "running"):
                rows, most = table.get(name), f"at most {MOST_JOBS:,}"
                number = len(rows) if isinstance(rows, list) else 0
                require(number <= MOST_JOBS, f"jobs {name}", number, most)
            if table.get("wake_s", 0.0) is None:
                table = table | {"wake_s": math.inf}
        state: State = part_of(cls, table, "")
        return state

    def table(self) -> dict[str, Any]:
        """Return the state as a table, for JSON; infinity is null there."""
        table = {
            item.name: getattr(self, item.name)
            for item in fields(self)
            if getattr(self, item.name) != item.default
        }
        for name in ("waiting", "running", "stock"):
            rows = [_known(row) for row in table.get(name, ())]
            table |= {name: rows} if rows else {}
        return table

    def to_json(self, path: str | Path) -> None:
        """Write the state to a JSON file; an existing one is overwritten."""
        write_whole(Path(path), f"{json_text(self.table())}\n".encode())

    def resumed(self, scenario: Scenario) -> Resumed:
        """Return the scenario from this state on, a model like any other.

        Its slots are the state's. Raises InputError for a state that the scenario
        cannot have, and for a scenario of which a state does not have everything.
        """
        parts = {
            item.name: getattr(scenario, item.name)
            for item in fields(Scenario)
            if item.init
        }
        require(
            type(scenario) is Scenario,
            "scenario",
            scenario,
            "of rented slots, a Scenario",
        )
        slots = round_robin(list(self.slots), scenario.gpus)
        return Resumed(**parts | {"slots": slots}, state=self)


def _refuse_constant(name: str) -> None:
    raise InputError(f"{name} must be a finite number")


def _known(row: Any) -> dict[str, Any]:
    """Return a job or status as a table without what is not known."""
    return {name: value for name, value in asdict(row).items() if value is not None}


def state_of(run: Any, at_s: float) -> State:
    """Return the state of a simulated run after all events up to a time, seconds.

    The run is repeated up to then. Raises InputError for a policy with a memory that it
    does not save.
    """
    check_number("at_s", at_s, least=0)
    scenario: Scenario = run.scenario
    require(run.rule is not None, "run", run, "one of `simulate`, to be repeated")
    live: Simulation = scenario.subject(scenario).simulation(run.rule, run.seed)
    while live.env.peek() <= at_s and live.advance(1):
        pass
    view, names = live.view, [part.name for part in scenario.workload.classes]
    view.on_decision(at_s)  # for the statuses seen

    def entry(job: Job) -> dict[str, Any]:
        classes = {"deadline_class": names[job.deadline_class]}
        table = job._asdict() | classes
        del table["tight"]
        return table

    running = [
        RunningJob(
            **entry(claim.job),
            slots=tuple(slot for slot, _ in claim.parts),
            dispatch_s=claim.granted_s,
            start_s=None if math.isnan(claim.started_s) else claim.started_s,
            gpu=claim.terms[0][0].name,
        )
        for claim in live.granted_claims
    ]
    seen = [
        SeenStock(slot.gpu.name, NAMES[view.status(slot)], seen_s)
        for slot in (SlotView(-1, gpu) for gpu in scenario.types)
        if (seen_s := view.seen_s(slot)) is not None
    ]
    wake = live.dispatcher.wake
    wakes_s = [time_s for time_s, *_, event in live.env._queue if event is wake]
    policy, before = live.policy, run.rule
    if isinstance(policy, Replay):
        policy = policy.policy
    if isinstance(before, Replay):
        before = before.policy
    return State(
        now_s=at_s,
        slots=tuple(gpu.name for gpu in scenario.slots),
        waiting=tuple(WaitingJob(**entry(job)) for job in live.pending_claims),
        running=tuple(running),
        stock=tuple(seen),
        to_come=scenario.jobs - live.records.number - len(live.job_processes),
        wake_s=math.inf if wake is None else wakes_s[0],
        policy=policy_name(policy),
        memory=_memory_of(policy, before),
    )


def _memory_of(policy: Any, before: Any) -> Any:
    """Return what a policy saves of its memory, None if it has none.

    before: the policy as it was passed to the run. The package's own have no memory.
    """
    if hasattr(policy, "save"):
        return policy.save()
    own = type(policy).__module__.startswith("cgrsp_simpy.")
    if not own and hasattr(policy, "__dict__"):
        memories = [cloudpickle.dumps(vars(each)) for each in (policy, before)]
        name = policy_name(policy)
        if memories[0] != memories[1]:
            raise InputError(
                f"policy {name!r} has a memory that a state does not have; give it"
                " save(), which returns the memory, and restore(memory)"
            )
    return None


# ---- a run that starts from a state ----


@declared()
class Resumed(Scenario):
    """A scenario of rented slots from a state on; `State.resumed` makes it."""

    wait_s: UpToInfinity = parameter(
        "Seconds after the state in which nothing is dispatched.", default=0.0
    )
    state: State = parameter("Where runs start.", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        allowed = "of PoissonWorkload, HourlyWorkload, JobList or LoggedWorkload"
        kinds = (PoissonWorkload, HourlyWorkload, JobList, LoggedWorkload)
        require(isinstance(self.workload, kinds), "workload", self.workload, allowed)
        series = [part.gpu for part in self.market.series]
        allowed = "left out: a state does not record the day of a series"
        require(not series, "market.series", series, allowed)
        for item in fields(Terms):
            value = getattr(self.terms, item.name)
            if item.name not in BILLING and value != item.default:
                allowed = f"{item.default}: a state does not have what it leads to"
                require(False, f"terms.{item.name}", value, allowed)
        types = [gpu.name for gpu in self.types]
        for seen in self.state.stock:
            check_one_of("GPU type of stock", seen.gpu, types)
            gpu = self.types[types.index(seen.gpu)]
            chances = self.market.probabilities(gpu, seen.seen_s)
            possible = [name for name, chance in zip(NAMES, chances) if chance > 0]
            if self.market.persists:  # else nothing follows from it
                check_one_of(f"status of {seen.gpu}", seen.status, possible)
        for entry in self.state.jobs:
            self._check_entry(entry, types)

    def _check_entry(self, entry: WaitingJob, types: Sequence[str]) -> None:
        """Check that a job of the state fits the scenario."""
        levels, number = len(self.workload.mix), len(self.slots)
        name = f"of job {entry.id}"
        allowed = f"at most {levels}, the levels of the workload"
        within = entry.complexity <= levels
        require(within, f"complexity {name}", entry.complexity, allowed)
        allowed = f"at most {number}, the number of slots"
        require(entry.gpus <= number, f"gpus {name}", entry.gpus, allowed)
        names = [part.name for part in self.workload.classes]
        if entry.deadline_class is not None:
            check_one_of(f"deadline_class {name}", entry.deadline_class, names)
        check_job(self._job(entry), names)
        gpu = getattr(entry, "gpu", None)
        if gpu is not None:
            check_one_of(f"gpu {name}", gpu, types)

    def _job(self, entry: WaitingJob) -> Job:
        """Return the job of an entry of the state."""
        classes = self.workload.classes
        index = len(classes) - 1
        if entry.deadline_class is not None:
            names = [part.name for part in classes]
            index = names.index(entry.deadline_class)
        weight = classes[index].weight if entry.weight is None else entry.weight
        return Job(
            entry.id,
            entry.submit_s,
            entry.deadline_s,
            entry.complexity,
            classes[index].tight,
            entry.gpus,
            1.0 if weight is None else weight,
            index,
        )

    @cached_property
    def known_jobs(self) -> dict[int, Job]:
        """The jobs of the state by number, in order of submission."""
        entries = sorted(self.state.jobs, key=lambda entry: entry.id)
        return {entry.id: self._job(entry) for entry in entries}

    @cached_property
    def to_come(self) -> int:
        """Number of jobs that arrive after the state."""
        load, number = self.workload, self.state.to_come
        if isinstance(load, JobList | LoggedWorkload):
            times_s = submissions_s(load)
            later = len(times_s) - bisect_right(times_s, self.state.now_s)
            return later if number is None else min(number, load.jobs)
        return load.jobs if number is None else number

    @property
    def jobs(self) -> int:
        return len(self.known_jobs) + self.to_come

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, Job, Draws]]:
        seed, stock = draw.seed, self.stock_of(draw.seed)
        running = {entry.id: entry for entry in self.state.running}
        for number, job in self.known_jobs.items():
            draws: Draws = self._draws(job, running.get(number), seed, stock)
            yield job.submit_s, job, draws
        first = max(
            self.workload.jobs - self.to_come, max(self.known_jobs, default=-1) + 1
        )
        yield from arrivals_after(
            *(self.workload, self.service, seed),
            *(self.state.now_s, self.to_come, first),
        )

    def _draws(
        self, job: Job, running: RunningJob | None, seed: int, stock: Stock
    ) -> Any:
        """Return the hidden draws of a job of the state, given what has passed."""
        generator = stream(seed, "state", job.id)
        status, delay, service = generator.random(3).tolist()
        level = job.complexity
        if running is None:
            return Draws(status, delay, self._factor(level, service, 0.0))
        state = self.state
        gpus = self.gpus_of(running)
        mean_s = max(gpu.mean_execution_s[level - 1] for gpu in gpus)
        dispatch_s, start_s = running.dispatch_s, running.start_s
        held_s = (state.now_s if start_s is None else start_s) - dispatch_s
        weights = self._weights(running, held_s, stock)
        met = int(
            np.searchsorted(np.cumsum(weights), status * summed(weights), "right")
        )
        met = min(met, LOW)
        if start_s is not None:
            ran = (state.now_s - start_s) / mean_s
            delay_s = delay_until(dispatch_s, start_s)
            return Met(Status(met), delay_s, self._factor(level, service, ran))
        least, greatest = self.market.delay_s[met]
        least = max(least, held_s)
        delay_s = least + (max(greatest, least) - least) * delay
        return Met(Status(met), delay_s, self._factor(level, service, 0.0))

    def gpus_of(self, running: RunningJob) -> list[Any]:
        """Return the GPU types of the slots of a running job."""
        if running.gpu is None or not self.free_types:
            return [self.slots[slot] for slot in running.slots]
        return [gpu for gpu in self.gpus if gpu.name == running.gpu] * running.gpus

    def _weights(self, running: RunningJob, held_s: float, stock: Stock) -> list[float]:
        """Return how likely each status at the dispatch of a job is, up to a factor.

        held_s: its delay, or what has passed of it.
        """
        gpus, at_s = self.gpus_of(running), running.dispatch_s
        hour = self.market.clock.hour(at_s)
        # one variate for all types whose stock does not persist
        below = [
            self.market.below(gpu, hour) for gpu in gpus if not stock.persists(gpu)
        ]
        high, medium = (min(1.0, *column) for column in zip(*below, (1.0, 1.0)))
        chances = [high, medium - high, 1.0 - medium]
        held = [stock.status(gpu, at_s, 0.0) for gpu in gpus if stock.persists(gpu)]
        met = max(held, default=HIGH)  # the scarcest status counts
        chances = [0.0] * met + [summed(chances[: met + 1]), *chances[met + 1 :]]
        ended = running.start_s is not None
        weights = [
            chance * self._likelihood(status, held_s, ended)
            for status, chance in zip(Status, chances)
        ]
        if not any(weights):  # its type has forgotten that status, or none is as long
            weights = [self._likelihood(status, held_s, ended) for status in Status]
        return weights if any(weights) else [0.0, 0.0, 1.0]

    def _likelihood(self, status: Status, held_s: float, ended: bool) -> float:
        """Return the density of a delay at a status, or that it is longer."""
        least, greatest = self.market.delay_s[status]
        if ended:
            inside = least - 1e-6 <= held_s <= greatest + 1e-6
            return inside / max(greatest - least, 1e-6)
        if greatest <= least:
            return float(held_s < least)
        return min(1.0, max(0.0, (greatest - held_s) / (greatest - least)))

    def _factor(self, level: int, uniform: float, above: float) -> float:
        """Return a realised over mean execution time, given that it is above a
        number.
        """
        if isinstance(self.workload, LoggedWorkload):
            factors = self._logged_factors[level]
            later = factors[np.searchsorted(factors, above, "right") :]
            return float(later[int(uniform * len(later))]) if len(later) else above
        return self.service.factor_above(level, uniform, above)

    @cached_property
    def _logged_factors(self) -> dict[int, Any]:
        """By level, the realised over mean execution times of a log, rising."""
        load: Any = self.workload
        means, levels = load.mean_service_s(), np.asarray(load.complexity)
        seconds = np.asarray(load.service_s)
        return {
            level + 1: np.sort(seconds[levels == level + 1] / mean_s)
            for level, mean_s in enumerate(means)
        }

    def stock_of(self, seed: int) -> Stock:
        stock = Stock(self.market, seed)
        for gpu in self.types if self.market.persists else ():
            seen = self._observed(gpu)
            generator = stream(seed, f"state {gpu.name}")
            stock.redraw(gpu, partial(_misses, seen, generator))
        return stock

    def _observed(self, gpu: Any) -> list[tuple[float, list[float]]]:
        """Return what is known of the stock of a type: times, and how likely what was
        observed is at each status.

        Of delays that have ended only the latest that shows its status counts, and what
        comes after it: the stock has forgotten the others.
        """
        open_delays: list[tuple[float, list[float]]] = []
        ended: list[tuple[float, list[float]]] = []
        for entry in self.state.running:
            if all(other == gpu for other in self.gpus_of(entry)):
                has_ended = entry.start_s is not None
                until_s = self.state.now_s if entry.start_s is None else entry.start_s
                held_s = until_s - entry.dispatch_s
                likely = [self._likelihood(each, held_s, has_ended) for each in Status]
                if any(likely):
                    rows = ended if has_ended else open_delays
                    rows.append((entry.dispatch_s, likely))
        for seen in self.state.stock:
            if seen.gpu == gpu.name:
                likely = [float(name == seen.status) for name in NAMES]
                ended.append((seen.seen_s, likely))
        ended.sort(key=itemgetter(0))
        showing = [n for n, (_, likely) in enumerate(ended) if likely.count(0.0) == 2]
        return open_delays + ended[showing[-1] if showing else 0 :]


def _misses(
    observed: Sequence[tuple[float, Sequence[float]]],
    generator: Generator,
    status: Callable[[float], Status],
) -> int:
    """Return with how many observations a course of the stock does not agree; it agrees
    with one as often as that is likely.
    """
    missed = 0
    for time_s, likely in observed:
        missed += generator.random() * max(likely) >= likely[status(time_s)]
    return missed


class Replay:
    """A policy that dispatches the running jobs of a state when they were, and then
    decides as another policy.
    """

    def __init__(self, policy: Any, resumed: Resumed) -> None:
        self.policy, self.name = copy.deepcopy(policy), policy_name(policy)
        state = resumed.state
        self._past = [*state.running]
        self._types = {gpu.name: gpu for gpu in resumed.gpus}
        self._free_types = resumed.free_types
        # before it, nothing is decided
        self._from_s = state.now_s + resumed.wait_s
        self._wake_s = self._from_s
        if state.wake_s is not None and not resumed.wait_s:
            self._wake_s = state.wake_s
        self._seen = {
            seen.gpu: Status(NAMES.index(seen.status)) for seen in state.stock
        }
        self._now_s = state.now_s
        if state.memory is not None and state.policy == self.name:
            restores = hasattr(self.policy, "restore")
            allowed = "one with a method restore(memory), as the state has a memory"
            require(restores, "policy", self.name, allowed)
            self.policy.restore(state.memory)

    def __getattr__(self, name: str) -> Any:
        if name == "policy":  # not set yet, while copying
            raise AttributeError(name)
        return getattr(self.policy, name)  # what the policy declares

    def __call__(self, view: View) -> Iterator[Any]:
        now_s, asked = view.now_s, False
        while self._past and self._past[0].dispatch_s <= now_s:
            entry = self._past.pop(0)
            slots = [self._slot(view, entry, index) for index in entry.slots]
            job = next(job for job in view.queue if job.id == entry.id)
            yield job, slots[0] if job.gpus == 1 else tuple(slots)
        if self._past:
            yield Wake(self._past[0].dispatch_s)
        elif now_s < self._from_s or now_s == self._now_s < self._wake_s:
            if self._wake_s < math.inf:
                yield Wake(self._wake_s)
        elif view.waiting:
            asked = True
            if now_s == self._now_s:
                view._statuses.update(self._seen)
            answer = self.policy(view)
            if answer is not None:
                yield from answer if hasattr(answer, "__iter__") else (answer,)
        view._run.dispatcher.decisions -= not asked

    def _slot(self, view: View, entry: RunningJob, index: int) -> SlotView:
        if self._free_types and entry.gpu is not None:
            return SlotView(index, self._types[entry.gpu])
        return view._slots[index]


class ResumedSubject(RentalSubject):
    """Runs from a state."""

    def draw(self, seed: int) -> Any:
        return list(self.model.arrivals(Draw(seed)))

    def simulation(self, policy: Any, seed: int, **how: Any) -> Simulation:
        if isinstance(policy, Replay):  # of a run that is repeated
            policy = policy.policy
        return super().simulation(Replay(policy, self.model), seed, **how)

    def not_compiled(self, policy: Any) -> str:
        if self.model.state.stock or self.model.wait_s:
            return "it starts from a state with stock that was seen, or later"
        return super().not_compiled(policy)

    def compiled(self, policy: Any, seed: int, drawn: Any, records: bool) -> Run | None:
        if self.not_compiled(policy):
            return None
        from cgrsp_simpy.rental.resume import resumed_bulk  # numba loads for a second

        return resumed_bulk(self.model, policy, seed, records)


Resumed.subject = ResumedSubject
