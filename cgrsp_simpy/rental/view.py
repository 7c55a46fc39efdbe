"""A policy's view of the state, and the policy's decision."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from random import Random
from typing import Any, NamedTuple, Protocol

from cgrsp_simpy.base.checks import shown
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.policy import AssignmentError, Suspend, Wake
from cgrsp_simpy.base.streams import stream, uniforms
from cgrsp_simpy.base.table import many
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.resources import ResourceSubset, lowest_bit
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.engine.view import SealedDict, SealedList, read_only
from cgrsp_simpy.market.gpu import GpuType
from cgrsp_simpy.market.model import Market, Status
from cgrsp_simpy.market.stock import Stock
from cgrsp_simpy.rental.job import ArrivalRates, DeadlineClass, Job
from cgrsp_simpy.rental.terms import Terms

_ID = attrgetter("id")


@dataclass(frozen=True, slots=True, eq=False)
class SlotView:
    """A slot as a policy sees it; equal only to itself.

    index: 0, 1, 2, ... in order of registration. gpu: the type that it has, or as which
    it would be provisioned. expected_end_s: None if idle; otherwise dispatch time +
    mean execution time, seconds, without the provisioning delay.
    """

    index: int
    gpu: GpuType
    expected_end_s: float | None = None


class Running(NamedTuple):
    """A job that holds slots, as seen by a policy that may suspend it.

    slots: indices of the slots. since_s: time of the dispatch. left: known remaining
    share of the job's mean execution time.
    """

    job: Job
    slots: tuple[int, ...]
    since_s: float
    left: float


# A job on a slot, or on as many slots as it has GPUs.
Assignment = tuple[Job, "SlotView | tuple[SlotView, ...]"]


@dataclass(frozen=True, eq=False)
class JobClass:
    """Waiting jobs that differ only in submission and deadline; live and read-only.

    jobs: in order of deadline, then submission. deadlines_s: deadlines of the jobs.
    """

    complexity: int
    tight: bool
    weight: float
    jobs: list[Job]
    deadlines_s: list[float]

    def _add(self, job: Job) -> None:
        """Insert a job in order of deadline, then of id."""
        jobs, deadlines_s, due_s = self.jobs, self.deadlines_s, job.deadline_s
        place = bisect_right(deadlines_s, due_s)
        while place and deadlines_s[place - 1] == due_s and jobs[place - 1].id > job.id:
            place -= 1  # it has waited before
        list.insert(deadlines_s, place, due_s)
        list.insert(jobs, place, job)

    def _remove(self, job: Job) -> None:
        """Remove a job; usually it is the first."""
        place = 0
        if self.jobs[0] is not job:
            place = self.jobs.index(job, bisect_left(self.deadlines_s, job.deadline_s))
        list.__delitem__(self.deadlines_s, place)
        list.__delitem__(self.jobs, place)


class JobClasses(dict[tuple[int, bool, float], JobClass]):
    """Job classes by (complexity, tight, weight); each is created on first access."""

    def __missing__(self, key: tuple[int, bool, float]) -> JobClass:
        job_class = self[key] = JobClass(*key, SealedList(), SealedList())
        return job_class


def _least_by_level(gpus: Iterable[GpuType]) -> tuple[float, ...]:
    return tuple(map(min, zip(*[gpu.mean_execution_s for gpu in gpus])))


@dataclass(frozen=True)
class OperatorKnowledge:
    """Knowledge of an operator from experience, constant during a run.

    gpus: the types that can be rented; the first is the reference of estimates (the RTX
    3090 in the thesis). fleet: the types of the C_max slots. free_types: whether an
    idle slot may be provisioned as any type. arrival_rate_per_s: jobs per second.
    complexity_mix: share of jobs by complexity 1, 2, ... classes: deadline classes, by
    `Job.deadline_class`. gpus_per_job: mean number of slots. market: distribution of
    the stock; if stock is replayed, what is known in advance. arrival_rates: hourly
    rates; None if the rate is constant.
    """

    gpus: tuple[GpuType, ...]
    fleet: tuple[GpuType, ...]
    free_types: bool
    arrival_rate_per_s: float
    complexity_mix: tuple[float, ...]
    classes: tuple[DeadlineClass, ...]
    gpus_per_job: float
    market: Market
    arrival_rates: ArrivalRates | None = None
    terms: Terms = field(default_factory=Terms)

    @property
    def tight_fraction(self) -> float:
        """Share of jobs whose class is marked tight."""
        return summed(part.share for part in self.classes if part.tight)

    @cached_property
    def types(self) -> Mapping[GpuType, int]:
        """Maps each type to its number of slots; to 1 if types are free."""
        return SealedDict(Counter(self.gpus if self.free_types else self.fleet))

    @cached_property
    def fastest_s(self) -> tuple[float, ...]:
        """Least mean execution time per complexity over all slots, in seconds."""
        return _least_by_level(self.types)

    @cached_property
    def slowest_s(self) -> tuple[float, ...]:
        """Greatest mean execution time per complexity over all slots, in seconds."""
        return tuple(map(max, zip(*[gpu.mean_execution_s for gpu in self.types])))

    @cached_property
    def dearest_usd_per_h(self) -> float:
        """Greatest price over all slots."""
        return max(gpu.price_usd_per_h for gpu in self.types)

    @cached_property
    def offered_load(self) -> float:
        """Load lambda x mean W / C_max, execution time only (thesis Section 4.5.10)."""
        slots = len(self.fleet)
        work_s = summed(
            share * mean_s
            for gpu in self.fleet
            for share, mean_s in zip(self.complexity_mix, gpu.mean_execution_s)
        )
        return self.arrival_rate_per_s * self.gpus_per_job * (work_s / slots) / slots


class View:
    """Read-only view of the state at a decision, without draws and future jobs.

    One view serves the whole run and always shows the current state. known: what is
    known of the scenario before the run. stock: stock of the market at dispatches.
    seed: seed of the policy's random numbers, and of the statuses shown.
    """

    __slots__ = (
        "_busy",
        "_choices",
        "_classes",
        "_closed",
        "_done",
        "_kinds",
        "_known",
        "_now_s",
        "_queue",
        "_rng",
        "_run",
        "_seen",
        "_slots",
        "_statuses",
        "_stock",
        "_waiting",
        "_warm",
    )

    def __init__(
        self, known: OperatorKnowledge, stock: Stock, seed: int, run: Simulation
    ) -> None:
        self._known, self._stock, self._run, self._now_s = known, stock, run, 0.0
        # Python's Random is fast for single draws
        self._rng = Random(int.from_bytes(stream(seed, "policy").bytes(16)))
        self._seen = uniforms(stream(seed, "seen"))
        self._slots = [SlotView(index, gpu) for index, gpu in enumerate(known.fleet)]
        self._choices = known.gpus if known.free_types else ()
        # bit n is set if the nth slot is of the type
        self._kinds: dict[GpuType, int] = {}
        for index, gpu in enumerate(known.fleet):
            self._kinds[gpu] = self._kinds.get(gpu, 0) | 1 << index
        # type and expected end by index
        self._busy: dict[int, tuple[GpuType, float]] = {}
        self._waiting: list[Job] = []  # in order of submission, with rising ids
        self._queue: tuple[Job, ...] | None = None
        self._classes: JobClasses | None = None  # once they are asked for
        # index of an idle slot -> the instance that is kept in it
        self._warm: dict[int, Any] = {}
        # index of a closed slot -> time until which it is billed, seconds
        self._closed: dict[int, float] = {}
        # saved work of stopped jobs, as a share of their mean
        self._done: dict[Job, float] = {}
        self._statuses: dict[str, Status] = {}

    now_s: float = read_only("_now_s", "The clock, seconds from the start of the run.")
    known: OperatorKnowledge = read_only(
        "_known", "Knowledge of the operator from experience."
    )
    rng: Random = read_only("_rng", "The policy's own stream of random numbers.")

    # ---- jobs ----

    @property
    def queue(self) -> tuple[Job, ...]:
        """Waiting jobs in order of submission."""
        if self._queue is None:
            self._queue = tuple(self._waiting)
        return self._queue

    def filtered(self, shown: Callable[[Job], bool]) -> View:
        """Return the view with only those waiting jobs for which `shown` is true."""
        other = copy(self)
        other._waiting = list(filter(shown, self._waiting))
        other._queue = other._classes = None
        other._statuses = {}
        return other

    @property
    def waiting(self) -> int:
        """Number of waiting jobs."""
        return len(self._waiting)

    def first(self, number: int) -> list[Job]:
        """Return the first waiting jobs in order of submission; all if fewer wait."""
        return self._waiting[:number]

    def waiting_job(self, place: int) -> Job:
        """Return the waiting job at a position in order of submission, from 0 on."""
        return self._waiting[place]

    @property
    def classes(self) -> Collection[JobClass]:
        """The waiting jobs by class, for orders by tiers; valid for this decision."""
        if self._classes is None:
            self._classes = JobClasses()
            for job in self._waiting:
                self._classes[job.complexity, job.tight, job.weight]._add(job)
        return self._classes.values()

    def share_left(self, job: Job) -> float:
        """Return the remaining share of a waiting job's mean execution time."""
        return max(0.0, 1.0 - self._done.get(job, 0.0))

    @property
    def running(self) -> tuple[Running, ...]:
        """The jobs that hold slots, in order of dispatch."""
        return tuple(
            Running(
                claim.job,
                tuple([index for index, _ in claim.parts]),
                claim.granted_s,
                self._left_of(claim),
            )
            for claim in self._run.granted_claims
        )

    def _left_of(self, claim: Claim) -> float:
        """Return the remaining share of a running job's mean execution time."""
        job, left = claim.job, self.share_left(claim.job)
        if claim.started_s != claim.started_s:  # it is being provisioned
            return left
        restart_s = self._known.terms.restart_s if job in self._done else 0.0
        ran_s = max(0.0, self._now_s - claim.started_s - restart_s)
        return max(0.0, left - float(ran_s / claim.terms[1]))

    # ---- slots ----

    @property
    def slots(self) -> tuple[SlotView, ...]:
        """All slots of the fleet."""
        slots = self._slots.copy()
        for index, (gpu, end_s) in self._busy.items():
            slots[index] = SlotView(index, gpu, end_s)
        return tuple(slots)

    @property
    def idle(self) -> ResourceSubset[SlotView]:
        """The idle slots, in order of registration."""
        return ResourceSubset(self._slots, self._run.ledger.mask)

    @property
    def idle_count(self) -> int:
        """Number of idle slots."""
        return self._run.ledger.mask.bit_count()

    @property
    def next_end_s(self) -> float | None:
        """Earliest expected end of a busy slot, in seconds; None if none is busy."""
        return min([end_s for _, end_s in self._busy.values()], default=None)

    def offers(self) -> list[SlotView]:
        """Return the first idle slot of each type; with free types, one as each type.

        Slots with a warm instance come first.
        """
        mask = self._run.ledger.mask
        if self._choices:
            return self._as_each_type(self._first(mask)) if mask else []
        if not mask & (mask - 1):  # at most one is idle
            return [self._slots[mask.bit_length() - 1]] if mask else []
        alike = filter(None, map(mask.__and__, self._kinds.values()))
        return [self._slots[index] for index in sorted(map(self._first, alike))]

    def offers_after(
        self, offers: Sequence[SlotView], taken: SlotView
    ) -> list[SlotView]:
        """Return the offers with a taken slot replaced by the next idle one, if any."""
        index = taken.index
        later = self._run.ledger.mask & self._after(index)
        if self._choices:
            return self._as_each_type(self._first(later)) if later else []
        left = [offer.index for offer in offers if offer.index != index]
        alike = later & self._kinds[self._slots[index].gpu]
        if alike:
            left.append(self._first(alike))
        return [self._slots[index] for index in sorted(left)]

    def _first(self, mask: int) -> int:
        """Return the first idle slot of a mask, of those with warm instances if any."""
        warm = sum(1 << index for index in self._warm) & mask if self._warm else 0
        return lowest_bit(warm or mask)

    def _after(self, index: int) -> int:
        """Return a mask of the slots that follow one; warm slots precede the others."""
        later = -1 << index + 1
        if not self._warm:
            return later
        warm = sum(1 << index for index in self._warm)
        return later & warm | ~warm if index in self._warm else later & ~warm

    def _as_each_type(self, index: int) -> list[SlotView]:
        return [SlotView(index, gpu) for gpu in self._choices]

    def status(self, slot: SlotView) -> Status:
        """Return the stock status shown for a slot's type (thesis Eq. 3.1).

        If the stock can be observed, it is the market's status at `seen_s`; otherwise
        it is one draw per type and decision, independent of the status at a dispatch.
        """
        name = slot.gpu.name
        if name not in self._statuses:
            seen_s = self._stock.seen_s(slot.gpu, self._now_s)
            if seen_s is None:
                uniform, market = next(self._seen), self._known.market
                status = market.status(slot.gpu, self._now_s, uniform)
            else:
                status = self._stock.status(slot.gpu, seen_s, 0.0)
            self._statuses[name] = status
        return self._statuses[name]

    def seen_s(self, slot: SlotView) -> float | None:
        """Return the time of the last observation of a type's stock, or None."""
        return self._stock.seen_s(slot.gpu, self._now_s)

    def warm(self, slot: SlotView) -> bool:
        """Return whether an idle slot has a warm instance of its type."""
        kept = self._warm.get(slot.index)
        return kept is not None and kept.gpu == slot.gpu

    def mean_s(self, job: Job, slot: SlotView) -> float:
        """Return the mean execution time on a slot, in seconds (W-bar of Eq. 3.12)."""
        return slot.gpu.mean_execution_s[job.complexity - 1]

    def fastest_s(self) -> tuple[float, ...]:
        """Return the least mean time per complexity over the offers, in seconds."""
        if self._choices:
            return self._known.fastest_s
        gpus = [offer.gpu for offer in self.offers()]
        return gpus[0].mean_execution_s if len(gpus) == 1 else _least_by_level(gpus)

    # ---- hooks of the engine ----

    def summary(self) -> str:
        """Return a description of the decision for listings."""
        return f"{len(self._waiting)} waiting, {self.idle_count} idle"

    def on_decision(self, now_s: float) -> None:
        """Start a decision."""
        self._now_s = now_s
        if self._statuses:
            self._statuses = {}

    def on_enqueue(self, job: Job) -> None:
        """Add a waiting job; its id is the greatest unless it has waited before."""
        self._queue = None
        insort(self._waiting, job, key=_ID)
        if self._classes is not None:
            self._classes[job.complexity, job.tight, job.weight]._add(job)

    def on_dequeue(self, job: Job) -> None:
        """Remove a job that no longer waits."""
        waiting, self._queue = self._waiting, None
        del waiting[0 if waiting[0] is job else bisect_left(waiting, job.id, key=_ID)]
        if self._classes is not None:
            self._classes[job.complexity, job.tight, job.weight]._remove(job)

    def parse_assignment(
        self, claim: Claim, chosen: Any
    ) -> Sequence[tuple[int, float]]:
        """Return the index and amount (1) of each slot of an assignment.

        Sets the terms of the claim: the type of each slot, and the mean execution time
        in seconds. chosen: a SlotView from the offers, or a list or tuple of one per
        GPU of the job. Raises AssignmentError for anything else.
        """
        job = claim.job
        views = chosen if type(chosen) in (tuple, list, ResourceSubset) else (chosen,)
        if len(views) != job.gpus:
            raise AssignmentError(
                f"{many(len(views), 'slot')}; the job needs {job.gpus}"
            )
        level, mean_s, gpus = job.complexity - 1, 0.0, []
        for view in views:
            self._check(view)
            gpus.append(view.gpu)
            type_s = view.gpu.mean_execution_s[level]
            if type_s > mean_s:  # the pace is that of the slowest type
                mean_s = type_s
        end_s = claim.granted_s + (
            mean_s * self.share_left(job) if self._done else mean_s
        )
        for view in views:
            self._busy[view.index] = view.gpu, end_s
        claim.terms = gpus, mean_s
        return tuple([(view.index, 1) for view in views])

    def _check(self, view: Any) -> None:
        """Raise AssignmentError for a slot that is not offered; the ledger does for a
        busy one.
        """
        index = view.index if type(view) is SlotView else None
        if type(index) is not int or not 0 <= index < len(self._slots):
            raise AssignmentError(f"{shown(view)}, which is not a slot of the fleet")
        idle = self._run.ledger.mask >> index & 1
        if idle and view is not self._slots[index] and view.gpu not in self._choices:
            name = getattr(view.gpu, "name", view.gpu)
            raise AssignmentError(
                f"slot {index} as {name}, which the view does not offer"
            )

    def mark_busy(self, index: int, end_s: float) -> None:
        """Mark a slot without a job as busy until an expected time, in seconds."""
        self._busy[index] = self._slots[index].gpu, end_s
        self._run.ledger.mask &= ~(1 << index)

    def on_full(self, number: int) -> None:
        """Do nothing, since the run's mask marks idle slots."""

    on_available = on_full

    def on_release(self, claim: Claim) -> None:
        """Make the slots of a claim idle."""
        for index, _ in claim.parts:
            del self._busy[index]
            if index in self._closed:
                self.bill_overtime(index)

    def bill_overtime(self, index: int) -> None:
        """Bill a closed slot for the time during which a job still held it."""
        more_s = max(0.0, self._run.now_s - self._closed[index])
        self._run.records.tally.more["overtime_h"] += more_s / 3600.0


class Policy(Protocol):
    """A scheduling policy: a function of a view.

    It returns pairs (job, slot) and, optionally, a Wake; and Suspends if the terms of
    renting allow them. It is called when a slot is idle; if its attribute `suspends` is
    true, also at each arrival. A job with several GPUs is paired with a tuple of as
    many slots. Slots may be left idle intentionally.
    """

    def __call__(self, view: View) -> Iterable[Assignment | Wake | Suspend] | None:
        """Return the decision."""
