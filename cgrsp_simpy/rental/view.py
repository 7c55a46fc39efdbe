"""A scheduling decision: what a policy sees, and what it may answer."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.policy import AssignmentError, Suspend, Wake
from cgrsp_simpy.base.streams import stream, uniforms
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.resources import ResourceSubset, lowest_bit
from cgrsp_simpy.engine.view import SealedDict, SealedList, read_only
from cgrsp_simpy.market.gpu import GpuType
from cgrsp_simpy.market.law import Market, Status
from cgrsp_simpy.market.stock import Stock
from cgrsp_simpy.rental.arrivals import ArrivalRates
from cgrsp_simpy.rental.deadlines import DeadlineClass
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.terms import Terms

if TYPE_CHECKING:
    from cgrsp_simpy.engine.simulation import Simulation

_ID = attrgetter("id")


@dataclass(frozen=True, slots=True, eq=False)
class SlotView:
    """A slot as a policy sees it; two are equal only if they are the same object.

    Attributes
    ----------
    index : int
        0, 1, 2, ... in order of registration.
    gpu : GpuType
        The type that it has, or would be provisioned as.
    expected_end_s : float, optional
        None when idle; else dispatch time + mean execution time, seconds (the
        provisioning delay is not known).
    """

    index: int
    gpu: GpuType
    expected_end_s: float | None = None


class Running(NamedTuple):
    """A job that holds slots, as a policy that may suspend it sees it.

    Attributes
    ----------
    job : Job
        Which has been dispatched, and has not ended.
    slots : tuple of int
        Indices of its slots.
    since_s : float
        When it was dispatched.
    left : float
        The share of its mean time that is left, as far as is known.
    """

    job: Job
    slots: tuple[int, ...]
    since_s: float
    left: float


# A job on a slot, or on as many slots as it has GPUs.
Assignment = tuple[Job, "SlotView | tuple[SlotView, ...]"]


@dataclass(frozen=True, eq=False)
class JobClass:
    """Waiting jobs that differ only in submission and deadline.

    complexity, tight, weight: what they have in common. jobs: by deadline, equal ones
    by submission, so that an order needs to look only at the fronts of its tiers. Live,
    and read only. deadlines_s: theirs, seconds. Live, and read only.
    """

    complexity: int
    tight: bool
    weight: float
    jobs: list[Job]
    deadlines_s: list[float]

    def _add(self, job: Job) -> None:
        """Put a job at its place; most are younger, and due later, than all others."""
        jobs, deadlines_s, due_s = self.jobs, self.deadlines_s, job.deadline_s
        place = len(jobs)
        if place and deadlines_s[-1] > due_s:
            place = bisect_right(deadlines_s, due_s)
        while place and deadlines_s[place - 1] == due_s and jobs[place - 1].id > job.id:
            place -= 1  # it has waited before
        list.insert(deadlines_s, place, due_s)
        list.insert(jobs, place, job)

    def _remove(self, job: Job) -> None:
        """Take a job out; most are the first."""
        jobs, place = self.jobs, 0
        if jobs[0] is not job:
            place = jobs.index(job, bisect_left(self.deadlines_s, job.deadline_s))
        list.__delitem__(self.deadlines_s, place)
        list.__delitem__(jobs, place)


class JobClasses(dict[tuple[int, bool, float], JobClass]):
    """Classes by what their jobs have in common; one is made when first asked for."""

    def __missing__(self, key: tuple[int, bool, float]) -> JobClass:
        made = self[key] = JobClass(*key, SealedList(), SealedList())
        return made


def _least_by_level(gpus: Iterable[GpuType]) -> tuple[float, ...]:
    return tuple(map(min, zip(*[gpu.mean_execution_s for gpu in gpus])))


@dataclass(frozen=True)
class OperatorKnowledge:
    """Knowledge of an operator by experience; the same for a whole run.

    Parameters
    ----------
    gpus : tuple of GpuType
        The types that can be rented; the first is the reference of estimates (the RTX
        3090 in the thesis).
    fleet : tuple of GpuType
        The types of the C_max slots.
    free_types : bool
        Whether an idle slot may be provisioned as any type.
    arrival_rate_per_s : float
        Mean number of jobs per second.
    complexity_mix : tuple of float
        Share of jobs by complexity 1, 2, ...
    classes : tuple of DeadlineClass
        The deadline classes by `Job.deadline_class`: names, shares, windows.
    gpus_per_job : float
        Mean number of slots that a job holds.
    market : Market
        The law of the stock; of a replayed one, what is known beforehand.
    arrival_rates : ArrivalRates, optional
        The rates by hour; None for a constant one.
    terms : Terms
        Terms of renting.
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
        return summed(each.share for each in self.classes if each.tight)

    @cached_property
    def types(self) -> Mapping[GpuType, int]:
        """The types of slots, and how many have each; free types: once each."""
        return SealedDict(Counter(self.gpus if self.free_types else self.fleet))

    @cached_property
    def fastest_s(self) -> tuple[float, ...]:
        """Least mean execution time over all slots, seconds, by complexity - 1."""
        return _least_by_level(self.types)

    @cached_property
    def slowest_s(self) -> tuple[float, ...]:
        """Greatest mean execution time over all slots, seconds, by complexity - 1."""
        return tuple(map(max, zip(*[gpu.mean_execution_s for gpu in self.types])))

    @cached_property
    def dearest_usd_per_h(self) -> float:
        """Greatest price over all slots."""
        return max(gpu.price_usd_per_h for gpu in self.types)

    @cached_property
    def offered_load(self) -> float:
        """Load lambda x mean W / C_max, execution time only (thesis Section 4.5.10)."""
        slots, work_s = len(self.fleet), 0.0
        for gpu in self.fleet:
            for share, mean_s in zip(self.complexity_mix, gpu.mean_execution_s):
                work_s += share * mean_s
        return self.arrival_rate_per_s * self.gpus_per_job * (work_s / slots) / slots


def own_stream(seed: int) -> Random:
    """The policy's own stream: Python's generator, the faster one for draws one by
    one.
    """
    return Random(int.from_bytes(stream(seed, "policy").bytes(16)))


class View:
    """The state at a decision, read-only; without draws and future jobs.

    There is one per run, which shows the present: values that are read after the
    decision may be those of a later one.

    known: what is known of the scenario before the run. stock: what dispatches meet.
    seed: of the policy's own random numbers, and of the statuses shown.
    """

    __slots__ = (
        "_busy",
        "_choices",
        "_classes",
        "_done",
        "_ends_s",
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
        "_whole",
    )

    def __init__(
        self, known: OperatorKnowledge, stock: Stock, seed: int, run: Simulation
    ) -> None:
        self._known, self._stock, self._run, self._now_s = known, stock, run, 0.0
        self._rng = own_stream(seed)
        self._seen = uniforms(stream(seed, "seen"))
        self._slots = [SlotView(index, gpu) for index, gpu in enumerate(known.fleet)]
        # parts of claims
        self._whole = [((index, 1),) for index in range(len(self._slots))]
        self._choices = known.gpus if known.free_types else ()
        # bit n is set if the nth slot is of the type
        self._kinds: dict[GpuType, int] = {}
        for index, gpu in enumerate(known.fleet):
            self._kinds[gpu] = self._kinds.get(gpu, 0) | 1 << index
        # type and expected end by index
        self._busy: dict[int, tuple[GpuType, float]] = {}
        # expected ends, once they are asked for
        self._ends_s: list[float] | None = None
        self._waiting: list[Job] = []  # in order of submission, with rising ids
        self._queue: tuple[Job, ...] | None = None
        self._classes: JobClasses | None = None  # once they are asked for
        # by index of an idle slot the instance kept for it
        self._warm: dict[int, Any] = {}
        # what stopped jobs have kept, as a share of their mean
        self._done: dict[Job, float] = {}
        self._statuses: dict[str, Status] = {}

    now_s: float = read_only("_now_s", "The clock, seconds from the start of the run.")
    known: OperatorKnowledge = read_only(
        "_known", "What the operator knows by experience."
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
        """The view with only those waiting jobs for which `shown` is true. Of the same
        moment; its answers can be this one's.
        """
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
        """The first waiting jobs in order of submission; all, where fewer wait."""
        return self._waiting[:number]

    def waiting_job(self, place: int) -> Job:
        """The waiting job at a place in order of submission: 0, 1, 2, ..."""
        return self._waiting[place]

    @property
    def classes(self) -> Collection[JobClass]:
        """The waiting jobs by class, for orders by tier; live, for this decision."""
        if self._classes is None:
            self._classes = JobClasses()
            for job in self._waiting:
                self._classes[job.complexity, job.tight, job.weight]._add(job)
        return self._classes.values()

    def share_left(self, job: Job) -> float:
        """The share of a waiting job's mean time that is left, as far as is known: 1 if
        it has not been stopped yet.
        """
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
        """The share of a running job's mean time that is left."""
        job, left = claim.job, self.share_left(claim.job)
        if claim.started_s != claim.started_s:  # it is being provisioned
            return left
        restart_s = self._known.terms.restart_s if job in self._done else 0.0
        ran_s = max(0.0, self._now_s - claim.started_s - restart_s)
        return max(0.0, left - float(ran_s / claim.terms[1]))

    # ---- slots ----

    @property
    def slots(self) -> tuple[SlotView, ...]:
        """All slots."""
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
        """When the first busy slot is expected to end, seconds; None if there is
        none.
        """
        if self._ends_s is None:
            self._ends_s = sorted([end_s for _, end_s in self._busy.values()])
        return self._ends_s[0] if self._ends_s else None

    def offers(self) -> list[SlotView]:
        """What can be provisioned now: the first idle slot of each type; with free
        choice of type the first idle slot, as each type. Slots with a warm instance
        come first.
        """
        mask, slots = self._run.ledger.mask, self._slots
        if self._choices:
            return self._as_each_type(self._first(mask)) if mask else []
        if not mask & (mask - 1):  # at most one is idle
            return [slots[mask.bit_length() - 1]] if mask else []
        alike = [own for kind in self._kinds.values() if (own := mask & kind)]
        return [slots[index] for index in sorted(map(self._first, alike))]

    def offers_after(
        self, offers: Sequence[SlotView], taken: SlotView
    ) -> list[SlotView]:
        """Offers once one of them is taken: the next idle slot takes its place."""
        index = taken.index
        later = self._run.ledger.mask & self._after(index)
        if self._choices:
            return self._as_each_type(self._first(later)) if later else []
        left = [each.index for each in offers if each.index != index]
        if alike := later & self._kinds[self._slots[index].gpu]:
            left.append(self._first(alike))
        return [self._slots[index] for index in sorted(left)]

    def _first(self, mask: int) -> int:
        """The first of some idle slots; those with a warm instance come first."""
        warm = sum(1 << index for index in self._warm) & mask if self._warm else 0
        return lowest_bit(warm or mask)

    def _after(self, index: int) -> int:
        """The slots that come after one, of those that are warm and of the others."""
        later = -1 << index + 1
        if not self._warm:
            return later
        warm = sum(1 << index for index in self._warm)
        return later & warm | ~warm if index in self._warm else later & ~warm

    def _as_each_type(self, index: int) -> list[SlotView]:
        return [SlotView(index, gpu) for gpu in self._choices]

    def status(self, slot: SlotView) -> Status:
        """The stock status shown for a slot's type, the same for all its slots at one
        decision (thesis Eq. 3.1).

        Where the stock can be seen, that of the market at `seen_s`. Otherwise one draw
        per type and decision, whatever status a dispatch will meet.
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
        """When the status of a slot's type was last looked at, seconds; None where the
        status shown says nothing of the market, as in the thesis.
        """
        return self._stock.seen_s(slot.gpu, self._now_s)

    def warm(self, slot: SlotView) -> bool:
        """Whether an idle slot has a warm instance of its type: a job sent there starts
        at once.
        """
        kept = self._warm.get(slot.index)
        return kept is not None and kept.gpu == slot.gpu

    def mean_s(self, job: Job, slot: SlotView) -> float:
        """Mean execution time on a slot's type, seconds (W-bar of thesis Eq. 3.12)."""
        return slot.gpu.mean_execution_s[job.complexity - 1]

    def fastest_s(self) -> tuple[float, ...]:
        """Least mean time of all that is offered now, seconds, by complexity - 1."""
        if self._choices:
            return self._known.fastest_s
        gpus = [offer.gpu for offer in self.offers()]
        return gpus[0].mean_execution_s if len(gpus) == 1 else _least_by_level(gpus)

    # ---- hooks of the engine ----

    def summary(self) -> str:
        """Text of a decision in a listing."""
        return f"{len(self._waiting)} waiting, {self.idle_count} idle"

    def on_decision(self, now_s: float) -> None:
        """A decision begins."""
        self._now_s = now_s
        if self._statuses:
            self._statuses = {}

    def on_enqueue(self, job: Job) -> None:
        """A job waits: it is younger than all others, or has waited before."""
        waiting, self._queue = self._waiting, None
        if waiting and waiting[-1].id > job.id:  # it has waited before
            insort(waiting, job, key=_ID)
        else:
            waiting.append(job)
        if self._classes is not None:
            self._classes[job.complexity, job.tight, job.weight]._add(job)

    def on_dequeue(self, job: Job) -> None:
        """A job waits no longer."""
        waiting, self._queue = self._waiting, None
        del waiting[0 if waiting[0] is job else bisect_left(waiting, job.id, key=_ID)]
        if self._classes is not None:
            self._classes[job.complexity, job.tight, job.weight]._remove(job)

    def parse_assignment(
        self, claim: Claim, chosen: Any
    ) -> Sequence[tuple[int, float]]:
        """Slots are a job's from its dispatch on, each as a whole: index and amount (1)
        of each.

        Notes the terms of the claim: the type of each slot, and the mean execution time
        in seconds. chosen: a SlotView of the offers, or a list or tuple of one per GPU
        of the job; AssignmentError if it is none.
        """
        job, parts, ends_s = claim.job, (), self._ends_s
        views = (
            chosen if isinstance(chosen, (tuple, list, ResourceSubset)) else (chosen,)
        )
        if len(views) != job.gpus:
            raise AssignmentError(f"{len(views)} slots; it needs {job.gpus}")
        level, mean_s, gpus = job.complexity - 1, 0.0, []
        for view in views:
            gpu = self._checked(view)
            gpus.append(gpu)
            own_s = gpu.mean_execution_s[level]
            if own_s > mean_s:  # the pace is that of the slowest type
                mean_s = own_s
        end_s = claim.granted_s + (
            mean_s * self.share_left(job) if self._done else mean_s
        )
        for view in views:
            parts += self._whole[view.index]
            self._busy[view.index] = view.gpu, end_s
            if ends_s is not None:
                insort(ends_s, end_s)
        claim.terms = gpus, mean_s
        return parts

    def _checked(self, view: Any) -> GpuType:
        """The type of a slot that is idle, and may have it."""
        index = view.index if type(view) is SlotView else None
        if type(index) is not int or not 0 <= index < len(self._slots):
            raise AssignmentError(f"{view!r}, which is not a slot of the fleet")
        if not self._run.ledger.mask >> index & 1:
            raise AssignmentError(f"slot {index}, which is busy or given away already")
        if view is not self._slots[index] and view.gpu not in self._choices:
            name = getattr(view.gpu, "name", view.gpu)
            raise AssignmentError(
                f"slot {index} as {name}, which the view did not offer"
            )
        gpu: GpuType = view.gpu
        return gpu

    def mark_busy(self, index: int, end_s: float) -> None:
        """A slot is busy, up to an expected second, with nobody's job."""
        self._busy[index] = self._slots[index].gpu, end_s
        self._run.ledger.mask &= ~(1 << index)

    def on_full(self, number: int) -> None:
        """The run's mask says which slots are idle."""

    on_available = on_full

    def on_release(self, claim: Claim) -> None:
        """A job has left its slots."""
        for index, _ in claim.parts:
            _, end_s = self._busy.pop(index)
            if self._ends_s is not None:
                del self._ends_s[bisect_left(self._ends_s, end_s)]
            if index in self._run.closed:
                self.bill_overtime(index)

    def bill_overtime(self, index: int) -> None:
        """A closed slot is billed until now, since a job has held it."""
        more_s = max(0.0, self._run.now_s - self._run.closed[index])
        self._run.records.tally.more["overtime_h"] += more_s / 3600.0


class Policy(Protocol):
    """A scheduling policy: a function of a view.

    It answers with pairs (job, slot) and, if it likes, a Wake; with Suspends where the
    terms of renting allow that. It is asked when a slot is idle; one with an attribute
    `suspends` that is true, at each arrival. A job with several GPUs
    is paired with a tuple of as many slots. Slots may stay idle on purpose.
    """

    def __call__(self, view: View) -> Iterable[Assignment | Wake | Suspend] | None:
        """Decide."""
