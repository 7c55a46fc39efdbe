"""A scheduling decision: what a policy sees, and what it may answer."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from random import Random
from typing import Any, NamedTuple, Protocol

from cgrsp_simpy.model.gpu import GpuType
from cgrsp_simpy.model.job import Job
from cgrsp_simpy.model.market import Market, Status

__all__ = ["Assignment", "DispatchState", "Known", "Lane", "PlaceError", "Policy", "PolicyError", "SlotView", "View", "Wake"]


class PolicyError(RuntimeError):
    """A policy answered what cannot be carried out, or let the simulation stand still."""


class PlaceError(ValueError):
    """Why an assignment cannot be carried out, in words that follow "sent job 7 to": "slot 9, which is no slot of the fleet"."""


class Wake(NamedTuple):
    """An answer beside the assignments: decide again at this time at the latest. at_s: seconds, later than now."""

    at_s: float


@dataclass(frozen=True, slots=True, eq=False)
class SlotView:
    """A slot as a policy sees it; two are equal only if they are the same object.

    index: 0, 1, 2, ... in order of registration. gpu: the type that it has, or would be provisioned as.
    expected_end_s: None when idle; else dispatch time + mean execution time (the provisioning delay is not known).
    """

    index: int
    gpu: GpuType
    expected_end_s: float | None = None


# A job on a slot, or on as many slots as it has GPUs.
Assignment = tuple[Job, "SlotView | tuple[SlotView, ...]"]


class Lane:
    """Waiting jobs that differ only in submission and deadline: one complexity, one deadline class.

    jobs: by deadline, equal ones by submission, so that an order needs to look only at the fronts of its tiers.
    deadlines_s: theirs. Both are live; a policy reads them only.
    """

    __slots__ = ("complexity", "deadlines_s", "jobs", "tight")

    def __init__(self, complexity: int, tight: bool) -> None:
        self.complexity, self.tight = complexity, tight
        self.jobs: list[Job] = []
        self.deadlines_s: list[float] = []

    def add(self, job: Job) -> None:
        """Put a job at its place."""
        deadline_s = job.deadline_s
        if not self.jobs or deadline_s >= self.deadlines_s[-1]:  # as a rule: the window of a class is fixed
            self.deadlines_s.append(deadline_s)
            self.jobs.append(job)
        else:
            place = bisect_right(self.deadlines_s, deadline_s)
            self.deadlines_s.insert(place, deadline_s)
            self.jobs.insert(place, job)

    def remove(self, job: Job) -> None:
        """Take a job out."""
        place = self.jobs.index(job, bisect_left(self.deadlines_s, job.deadline_s))
        del self.jobs[place], self.deadlines_s[place]


class Lanes(dict[tuple[int, bool], Lane]):
    """Lanes by complexity and deadline class; one is made when it is first asked for."""

    def __missing__(self, key: tuple[int, bool]) -> Lane:
        lane = self[key] = Lane(*key)
        return lane


def _least_by_level(gpus: Sequence[GpuType]) -> tuple[float, ...]:
    return tuple(map(min, zip(*[gpu.mean_execution_s for gpu in gpus])))


@dataclass(frozen=True)
class Known:
    """What an operator knows by experience; the same for a whole run.

    gpus: the types that can be rented; the first is the reference of estimates (the RTX 3090 in the thesis).
    fleet: the types of the C_max slots. free_types: whether an idle slot may be provisioned as any type.
    arrival_rate_per_s, complexity_mix, tight_fraction, gpus_per_job (mean): of the workload. market: the law of the stock.
    """

    gpus: tuple[GpuType, ...]
    fleet: tuple[GpuType, ...]
    free_types: bool
    arrival_rate_per_s: float
    complexity_mix: tuple[float, ...]
    tight_fraction: float
    gpus_per_job: float
    market: Market

    @cached_property
    def fastest_s(self) -> tuple[float, ...]:
        """Least mean execution time over all slots, seconds, by complexity - 1."""
        return _least_by_level(self.gpus if self.free_types else self.fleet)

    @cached_property
    def offered_load(self) -> float:
        """The load lambda x mean W / C_max, execution time only (thesis Section 4.5.10)."""
        slots = len(self.fleet)
        work_s = sum(share * time for gpu in self.fleet for share, time in zip(self.complexity_mix, gpu.mean_execution_s))
        return self.arrival_rate_per_s * self.gpus_per_job * (work_s / slots) / slots


class DispatchState:
    """What the views of a run show, kept by the engine: the queue, and which slots are idle.

    slots: each as it is when idle. idle: those that are idle, in order of registration. busy: type and expected end of the
    others, by index. rng: the policy's own stream. seen: uniform variates for the statuses shown. waiting: the engine's claims by
    job, in order of submission. held_s: by slot, the seconds in which it was held so far, from dispatch to completion.
    """

    def __init__(self, known: Known, rng: Random, seen: Iterator[float]) -> None:
        self.known, self.rng, self.seen = known, rng, seen
        self.slots = [SlotView(index, gpu) for index, gpu in enumerate(known.fleet)]
        self.idle = self.slots.copy()
        self.busy: dict[int, tuple[GpuType, float]] = {}
        self.held_s = [0.0] * len(self.slots)
        self.waiting: dict[Job, Any] = {}
        self.lanes: Lanes | None = None  # the waiting jobs by complexity and class, from the first time that they are asked for
        self._choices = known.gpus if known.free_types else ()

    def view(self, now_s: float) -> View:
        """What a policy sees now."""
        return View(now_s, self)

    def summary(self) -> str:
        """What a listing says of a decision."""
        return f"{len(self.waiting)} waiting, {len(self.idle)} idle"

    def describe(self, job: Job) -> str:
        """What a listing says of a job when it arrives."""
        kind = "tight" if job.tight else "loose"
        gpus = f", {job.gpus} GPUs" if job.gpus > 1 else ""
        return f"complexity {job.complexity}, {kind}, due {job.deadline_s:.2f}{gpus}"

    def add(self, job: Job) -> None:
        """A job waits."""
        if self.lanes is not None:
            self.lanes[job.complexity, job.tight].add(job)

    def gave_up(self, job: Job) -> None:
        """A job waits no longer. None does that here."""

    def in_lanes(self) -> Collection[Lane]:
        """The waiting jobs in lanes."""
        if self.lanes is None:
            self.lanes = Lanes()
            for job in self.waiting:
                self.lanes[job.complexity, job.tight].add(job)
        return self.lanes.values()

    # ---- slots ----

    def granted(self, claim: Any, chosen: Any) -> Sequence[tuple[int, float]]:
        """Slots are a job's from its dispatch on, each as a whole. Raises PlaceError if they are not what the view offers.

        Notes the terms of the claim: the type of each slot, and the mean execution time in seconds.
        """
        job, views = claim.job, chosen if type(chosen) is tuple or type(chosen) is list else (chosen,)
        if len(views) != job.gpus:
            raise PlaceError(f"{len(views)} slots; it needs {job.gpus}")
        if self.lanes is not None:
            self.lanes[job.complexity, job.tight].remove(job)
        gpus, mean_s = [], 0.0
        for view in views:
            self._take(view)
            gpus.append(view.gpu)
            mean_s = max(mean_s, view.gpu.mean_execution_s[job.complexity - 1])  # the pace of the slowest type
        for view in views:
            self.busy[view.index] = view.gpu, claim.granted_s + mean_s
        claim.terms = gpus, mean_s
        return [(view.index, 1) for view in views]

    def _take(self, view: Any) -> None:
        """Take a slot off the idle ones."""
        if type(view) is not SlotView or type(view.index) is not int or not 0 <= view.index < len(self.slots):
            raise PlaceError(f"{view!r}, which is no slot of the fleet")
        slot = self.slots[view.index]
        if slot not in self.idle:
            raise PlaceError(f"slot {view.index}, which is busy or given away already")
        if view is not slot and view.gpu not in self._choices:
            raise PlaceError(f"slot {view.index} as {getattr(view.gpu, 'name', view.gpu)}, which the view did not offer")
        self.idle.remove(slot)

    def released(self, claim: Any, now_s: float) -> None:
        """Slots are idle again."""
        for index, _ in claim.parts:
            del self.busy[index]
            place = len(self.idle)
            while place and self.idle[place - 1].index > index:
                place -= 1
            self.idle.insert(place, self.slots[index])
            self.held_s[index] += now_s - claim.granted_s


class View:
    """What a policy sees at a decision; read only. Never a draw, never a job that has not arrived.

    It is of its moment: what is looked up after the decision may be of a later one.
    """

    __slots__ = ("_now_s", "_queue", "_state", "_statuses")

    def __init__(self, now_s: float, state: DispatchState) -> None:
        self._now_s, self._state = now_s, state
        self._queue: tuple[Job, ...] | None = None
        self._statuses: dict[SlotView, Status] | None = None

    @property
    def now_s(self) -> float:
        """The clock, seconds from the start of the run."""
        return self._now_s

    @property
    def queue(self) -> tuple[Job, ...]:
        """Waiting jobs in order of submission."""
        if self._queue is None:
            self._queue = tuple(self._state.waiting)
        return self._queue

    @property
    def slots(self) -> tuple[SlotView, ...]:
        """All slots."""
        slots, busy = self._state.slots, self._state.busy
        return tuple([SlotView(slot.index, *busy[slot.index]) if slot.index in busy else slot for slot in slots])

    @property
    def expected_ends_s(self) -> list[float]:
        """When the busy slots are expected to end, seconds, in no order."""
        return [end_s for _, end_s in self._state.busy.values()]

    @property
    def idle(self) -> tuple[SlotView, ...]:
        """The idle slots, in order of registration."""
        return tuple(self._state.idle)

    @property
    def known(self) -> Known:
        """What the operator knows by experience."""
        return self._state.known

    @property
    def rng(self) -> Random:
        """The policy's own stream of random numbers."""
        return self._state.rng

    @property
    def lanes(self) -> Collection[Lane]:
        """The waiting jobs once more, for orders by tier; live, to be read during the decision only."""
        return self._state.in_lanes()

    @property
    def waiting(self) -> int:
        """Number of waiting jobs."""
        return len(self._state.waiting)

    def first(self, number: int) -> list[Job]:
        """The first waiting jobs in order of submission."""
        return list(islice(self._state.waiting, number))

    def mean_s(self, job: Job, slot: SlotView) -> float:
        """Mean execution time of a job on a slot's type, seconds (W-bar of thesis Eq. 3.12)."""
        return slot.gpu.mean_execution_s[job.complexity - 1]

    def status(self, slot: SlotView) -> Status:
        """The stock status shown for a slot: a draw by Eq. 3.1, independent of the one that a dispatch will meet."""
        if self._statuses is None:
            self._statuses = {}
        status = self._statuses.get(slot)
        if status is None:
            status = self.known.market.status(slot.gpu, self._now_s, next(self._state.seen))
            self._statuses[slot] = status
        return status

    def offers(self) -> list[SlotView]:
        """What can be provisioned now: the idle slots; with free choice of type, each as every type."""
        state = self._state
        if not state.known.free_types:
            return state.idle.copy()
        return [SlotView(slot.index, gpu) for slot in state.idle for gpu in state.known.gpus]

    def fastest_s(self) -> tuple[float, ...]:
        """Least mean execution time over what can be provisioned now, seconds, by complexity - 1."""
        state = self._state
        if state.known.free_types:
            return state.known.fastest_s
        if len(state.idle) == 1:
            return state.idle[0].gpu.mean_execution_s
        return _least_by_level([slot.gpu for slot in state.idle])


class Policy(Protocol):
    """A scheduling policy: a function of a view. It answers with pairs (job, slot) and, if it likes, a Wake.

    A job with several GPUs is paired with a tuple of as many slots. Slots may stay idle on purpose.
    """

    def __call__(self, view: View) -> Iterable[Assignment | Wake] | None:
        """Decide."""
