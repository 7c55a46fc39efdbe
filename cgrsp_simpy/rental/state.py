"""The state of a queue for rented slots, and runs that start from it.

Unknown values are drawn conditionally on the state: the execution time of a job that
has run for x seconds, given that it is longer than x; a provisioning delay in progress,
given its elapsed time; and persistent stock, given the statuses observed, by rejection.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from operator import itemgetter
from typing import Annotated, Any, Literal

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.base.checks import check_one_of, require
from cgrsp_simpy.base.files import table_of
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.parameters import (
    Count,
    Entries,
    NotNegative,
    Positive,
    Whole,
    declared,
    parameter,
    rule,
)
from cgrsp_simpy.base.streams import Draw, stream
from cgrsp_simpy.engine import state
from cgrsp_simpy.engine.events import delay_until
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.market.gpu import GpuType, round_robin
from cgrsp_simpy.market.model import HIGH, LOW, Status
from cgrsp_simpy.market.stock import Stock
from cgrsp_simpy.rental.job import Draws, Job, Met, check_job
from cgrsp_simpy.rental.report import explained
from cgrsp_simpy.rental.scenario import RentalSubject, Scenario
from cgrsp_simpy.rental.terms import Terms
from cgrsp_simpy.rental.view import OperatorKnowledge, SlotView, View
from cgrsp_simpy.rental.workload import (
    HourlyWorkload,
    JobList,
    LoggedWorkload,
    PoissonWorkload,
    arrivals_after,
    submissions_s,
    widths,
)

few_slots = rule("at most 10,000 slots", lambda slots: len(slots) <= 10_000, len)
NAMES = tuple(status.name.title() for status in Status)
BILLING = ("billed_from", "minimum_s", "increment_s")
"""The terms of renting under which a state has all that a run needs."""


@declared("{} of job {id}")
class WaitingJob(state.WaitingJob):
    """A job that waits for a slot."""

    deadline_s: NotNegative = parameter("Deadline, seconds.")
    complexity: Count = parameter(
        "Estimated complexity, from 1: number of the mean execution time of a GPU"
        " type that applies to the job.",
        default=1,
    )
    deadline_class: str | None = parameter(
        "Name of the job's deadline class; default: the last class of the scenario.",
        default=None,
    )
    gpus: Count = parameter("Number of slots that the job needs.", default=1)
    weight: NotNegative | None = parameter(
        "Importance of the job; default: that of its class, or 1.", default=None
    )
    estimate_s: Positive | None = parameter(
        "Estimated mean execution time on the scenario's first GPU type, seconds;"
        " an alternative to complexity.",
        default=None,
    )


@declared("{} of job {id}")
class RunningJob(WaitingJob):
    """A job that holds slots."""

    slots: Annotated[Entries[Whole], rule("at least one slot", bool)] = parameter(
        "Indices of the job's slots, from 0.", kw_only=True
    )
    dispatch_s: NotNegative = parameter(
        "Dispatch time of the job, seconds.", kw_only=True
    )
    start_s: NotNegative | None = parameter(
        "Start time of the execution, seconds; null: the instance is being"
        " provisioned.",
        default=None,
    )
    gpu: str | None = parameter(
        "Name of the GPU type of the job; default: that of its slots.",
        default=None,
    )

    @property
    def since_s(self) -> float:
        """The time of the dispatch, in seconds."""
        return self.dispatch_s


@declared("{} of {gpu}")
class SeenStock:
    """The stock status of a GPU type when it was last observed."""

    gpu: str = parameter("Name of the type.")
    status: Literal["High", "Medium", "Low"] = parameter("Status.")
    seen_s: NotNegative = parameter("Time of the observation, seconds.")


@declared()
class State(state.State):
    """Known state of a queue and its slots at one time.

        state = cg.simulate(cg.day("hectic"), "triage").state(3600)
        cg.compare(state.resumed(cg.day("hectic")), ["triage", "fifo"], range(30))

    Raises
    ------
    InputError
        For an impossible state, such as two jobs on one slot.
    """

    waiting: Entries[WaitingJob] = parameter("Jobs in the queue.", default=())
    running: Entries[RunningJob] = parameter(
        "Jobs that hold slots; those with equal dispatch times are listed in"
        " order of dispatch.",
        default=(),
    )
    slots: Annotated[
        Entries[str],
        rule("at least one slot", bool),
        few_slots,
    ] = parameter("Name of the GPU type of each slot.", kw_only=True)
    stock: Entries[SeenStock] = parameter(
        "Last observed stock, at most once per type.", default=(), kw_only=True
    )

    usual = "triage"

    def __post_init__(self) -> None:
        super().__post_init__()
        holders: dict[int, int] = {}
        for job in self.running:
            self._check_running(job)
            for slot in job.slots:
                other = holders.setdefault(slot, job.id)
                allowed = f"free, but job {other} holds it"
                require(other == job.id, f"slot of job {job.id}", slot, allowed)
        types = [seen.gpu for seen in self.stock]
        require(len({*types}) == len(types), "stock", types, "of different GPU types")
        for seen in self.stock:
            name, allowed = f"seen_s of {seen.gpu}", f"at most now_s, {self.now_s:g}"
            require(seen.seen_s <= self.now_s, name, seen.seen_s, allowed)

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
        require(
            times == sorted(times),
            f"times {name}",
            times,
            "in the order submission, dispatch, start, now",
        )

    def resumed(self, scenario: Scenario) -> Resumed:
        require(
            type(scenario) is Scenario,
            "scenario",
            scenario,
            "a Scenario of rented slots",
        )
        slots = round_robin(list(self.slots), scenario.gpus)
        return Resumed(**table_of(scenario) | {"slots": slots}, state=self)

    @classmethod
    def parts_of(cls, live: Simulation) -> dict[str, Any]:
        scenario: Scenario = live.model
        view, names = live.view, [part.name for part in scenario.workload.classes]

        def entry(job: Job) -> dict[str, Any]:
            row = job._asdict() | {"deadline_class": names[job.deadline_class]}
            del row["tight"]
            if job.complexity > len(scenario.workload.mix):
                mean_s = scenario.gpus[0].mean_execution_s[job.complexity - 1]
                row |= {"complexity": 1, "estimate_s": mean_s}
            return row

        running = [
            RunningJob(
                **entry(claim.job),
                slots=tuple(slot for slot, _ in claim.parts),
                dispatch_s=claim.granted_s,
                start_s=None if np.isnan(claim.started_s) else claim.started_s,
                gpu=claim.terms[0][0].name,
            )
            for claim in live.granted_claims
        ]
        seen = [
            SeenStock(slot.gpu.name, NAMES[view.status(slot)], seen_s)
            for slot in (SlotView(-1, gpu) for gpu in scenario.types)
            if (seen_s := view.seen_s(slot)) is not None
        ]
        return {
            "slots": tuple(gpu.name for gpu in scenario.slots),
            "waiting": tuple(WaitingJob(**entry(job)) for job in live.pending_claims),
            "running": tuple(running),
            "stock": tuple(seen),
            "to_come": scenario.jobs - live.records.number - len(live.job_processes),
        }


# ---- a run that starts from a state ----


@declared()
class Resumed(Scenario, state.FromState):
    """A scenario of rented slots that starts from a state; see `State.resumed`."""

    state: State = parameter("State in which runs start.", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        allowed = "of PoissonWorkload, HourlyWorkload, JobList or LoggedWorkload"
        kinds = (PoissonWorkload, HourlyWorkload, JobList, LoggedWorkload)
        require(isinstance(self.workload, kinds), "workload", self.workload, allowed)
        series = [part.gpu for part in self.market.series]
        require(
            not series,
            "market.series",
            series,
            "omitted: a state does not record the day of a series",
        )
        for item in fields(Terms):
            value = getattr(self.terms, item.name)
            if item.name not in BILLING and value != item.default:
                allowed = f"{item.default}: a state cannot represent its effects"
                require(False, f"terms.{item.name}", value, allowed)
        types = [gpu.name for gpu in self.types]
        for seen in self.state.stock:
            check_one_of("GPU type of stock", seen.gpu, types)
            gpu = self.types[types.index(seen.gpu)]
            chances = self.market.probabilities(gpu, seen.seen_s)
            possible = [name for name, chance in zip(NAMES, chances) if chance > 0]
            if self.market.persists:  # else it has no effect
                check_one_of(f"status of {seen.gpu}", seen.status, possible)
        for entry in self.state.jobs:
            self._check_entry(entry, types)
        self._add_levels()

    def _check_entry(self, entry: WaitingJob, types: Sequence[str]) -> None:
        """Check that a job of the state fits the scenario."""
        levels, number = len(self.workload.mix), len(self.slots)
        name = f"of job {entry.id}"
        allowed = f"at most {levels}, the levels of the workload"
        within = entry.complexity <= levels
        require(within, f"complexity {name}", entry.complexity, allowed)
        twice = entry.estimate_s is not None and entry.complexity > 1
        require(
            not twice,
            f"complexity {name}",
            entry.complexity,
            "omitted if estimate_s is given",
        )
        allowed = f"at most {number}, the number of slots"
        require(entry.gpus <= number, f"gpus {name}", entry.gpus, allowed)
        names = [part.name for part in self.workload.classes]
        if entry.deadline_class is not None:
            check_one_of(f"deadline_class {name}", entry.deadline_class, names)
        check_job(self._job(entry), names)
        gpu = getattr(entry, "gpu", None)
        if gpu is not None:
            check_one_of(f"gpu {name}", gpu, types)

    @cached_property
    def _levels(self) -> list[int]:
        """The workload's levels, then the nearest level of each estimate in seconds."""
        levels = range(len(self.workload.mix))
        times_s = self.gpus[0].mean_execution_s
        return [level + 1 for level in levels] + [
            1 + min(levels, key=lambda level: abs(math.log(times_s[level] / mean_s)))
            for mean_s in self._estimates_s
        ]

    @cached_property
    def _estimates_s(self) -> list[float]:
        """The state's estimates in seconds, in increasing order."""
        return sorted({entry.estimate_s for entry in self.state.jobs} - {None})

    def _add_levels(self) -> None:
        """Add a level per estimate in seconds: its time on the first type is the
        estimate, on the others in proportion to the nearest level.
        """
        levels, first = len(self.workload.mix), self.gpus[0].mean_execution_s

        def with_levels(gpu: GpuType) -> GpuType:
            times_s = gpu.mean_execution_s
            further_s = [
                mean_s * (times_s[near - 1] / first[near - 1])
                for mean_s, near in zip(self._estimates_s, self._levels[levels:])
            ]
            return replace(gpu, mean_execution_s=(*times_s[:levels], *further_s))

        for field in ("slots", "gpus") if self._estimates_s else ():
            types = tuple(map(with_levels, getattr(self, field)))
            object.__setattr__(self, field, types)

    def known(self) -> OperatorKnowledge:
        known = super().known()
        further = [0.0] * len(self._estimates_s)
        return replace(known, complexity_mix=(*known.complexity_mix, *further))

    def _job(self, entry: WaitingJob) -> Job:
        """Return the Job of an entry of the state."""
        classes = self.workload.classes
        index = len(classes) - 1
        if entry.deadline_class is not None:
            index = [part.name for part in classes].index(entry.deadline_class)
        weight = classes[index].weight if entry.weight is None else entry.weight
        level = entry.complexity
        if entry.estimate_s is not None:
            place = self._estimates_s.index(entry.estimate_s)
            level = len(self.workload.mix) + 1 + place
        return Job(
            entry.id,
            entry.submit_s,
            entry.deadline_s,
            level,
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
        """Number of jobs that arrive after the time of the state."""
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
        for number, job in self.known_jobs.items():
            draws: Draws = self._draws(job, self.running.get(number), seed, stock)
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
        """Return the hidden draws of a job, given what is known from the state."""
        status, delay, service = stream(seed, "state", job.id).random(3).tolist()
        level = job.complexity
        if running is None:
            return Draws(status, delay, self._factor(level, service, 0.0))
        state = self.state
        mean_s = max(gpu.mean_execution_s[level - 1] for gpu in self.gpus_of(running))
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
        """Return the relative likelihood of each status at the dispatch of a job.

        held_s: the delay of the job, or the time elapsed since its dispatch.
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
        """Return the density of a delay at a status, or P(D > held_s) if it goes on."""
        least, greatest = self.market.delay_s[status]
        if ended:
            inside = least - 1e-6 <= held_s <= greatest + 1e-6
            return inside / max(greatest - least, 1e-6)
        if greatest <= least:
            return float(held_s < least)
        return min(1.0, max(0.0, (greatest - held_s) / (greatest - least)))

    def _factor(self, level: int, uniform: float, above: float) -> float:
        """Return a random ratio of realised to mean execution time above a value."""
        level = self._levels[level - 1]
        if isinstance(self.workload, LoggedWorkload):
            factors = self._logged_factors[level]
            later = factors[np.searchsorted(factors, above, "right") :]
            return float(later[int(uniform * len(later))]) if len(later) else above
        return self.service.factor_above(level, uniform, above)

    @cached_property
    def _logged_factors(self) -> dict[int, Any]:
        """Ratios of a log's measured to mean execution times, sorted, by level."""
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
            stock.redraw(gpu, partial(_misses, seen, stream(seed, f"state {gpu.name}")))
        return stock

    def _observed(self, gpu: Any) -> list[tuple[float, list[float]]]:
        """Return observations of a type's stock: times, with a likelihood per status.

        Of completed delays and observed statuses, only the latest that determines the
        status is used, and later ones, since the stock's earlier path no longer
        matters.
        """
        open_delays: list[tuple[float, list[float]]] = []
        ended: list[tuple[float, list[float]]] = []
        for entry in self.state.running:
            if all(other == gpu for other in self.gpus_of(entry)):
                has_ended = entry.start_s is not None
                until_s = self.state.now_s if entry.start_s is None else entry.start_s
                held_s = until_s - entry.dispatch_s
                likely = [
                    self._likelihood(candidate, held_s, has_ended)
                    for candidate in Status
                ]
                if any(likely):
                    rows = ended if has_ended else open_delays
                    rows.append((entry.dispatch_s, likely))
        ended += [
            (seen.seen_s, [float(name == seen.status) for name in NAMES])
            for seen in self.state.stock
            if seen.gpu == gpu.name
        ]
        ended.sort(key=itemgetter(0))
        showing = [n for n, (_, likely) in enumerate(ended) if likely.count(0.0) == 2]
        return open_delays + ended[max(showing, default=0) :]

    # ---- answers ----

    def assignment(self, view: View, entry: RunningJob) -> Any:
        slots = [view._slots[index] for index in entry.slots]
        if self.free_types and entry.gpu is not None:
            gpu = self.gpus_of(entry)[0]
            slots = [SlotView(index, gpu) for index in entry.slots]
        job = next(job for job in view.queue if job.id == entry.id)
        return job, slots[0] if job.gpus == 1 else tuple(slots)

    def on_resume(self, view: View) -> None:
        for seen in self.state.stock:
            view._statuses[seen.gpu] = Status(NAMES.index(seen.status))

    def explained(self, policy: Any, view: View) -> tuple[Any, dict[int, str]]:
        return explained(policy, view)

    def described(
        self, job: Job, chosen: Any, reasons: Mapping[int, str]
    ) -> dict[str, Any]:
        slots = chosen if isinstance(chosen, Sequence) else (chosen,)
        return {
            "job": job.id,
            "slots": [slot.index for slot in slots],
            "gpu": "+".join(dict.fromkeys(slot.gpu.name for slot in slots)),
            "reason": reasons.get(job.id, ""),
        }

    def one_more(self, text: str) -> Resumed:
        types = {gpu.name: gpu for gpu in self.gpus}
        check_one_of("GPU type", text, types)
        return replace(self, slots=(*self.slots, types[text]))


def _misses(
    observed: Sequence[tuple[float, Sequence[float]]],
    generator: Generator,
    status: Callable[[float], Status],
) -> int:
    """Return the number of observations with which a stock path disagrees.

    It agrees with an observation with a probability proportional to the likelihood.
    """
    return sum(
        generator.random() * max(likely) >= likely[status(time_s)]
        for time_s, likely in observed
    )


class ResumedSubject(state.FromStateSubject, RentalSubject):
    """Runs that start from a state."""

    def not_compiled(self, policy: Any) -> str:
        model = self.model
        if model.state.stock or model.wait_s or model._estimates_s:
            return "its state has stock that was seen or estimates, or it starts later"
        widest, classes = max(widths(model.workload), default=1), model.workload.classes
        for entry in model.state.jobs:
            job = model._job(entry)
            weight = classes[job.deadline_class].weight
            if job.gpus > widest or weight not in (None, job.weight):
                return "a job of its state has more slots or another weight than others"
        return super().not_compiled(policy)

    def compiled(self, policy: Any, seed: int, drawn: Any, records: bool) -> Run | None:
        if self.not_compiled(policy):
            return None
        from cgrsp_simpy.rental.resume import resumed_bulk  # numba loads for a second

        return resumed_bulk(self.model, policy, seed, records)


Resumed.subject = ResumedSubject
