"""A scheduling decision: what a policy sees, and what it may answer."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from operator import attrgetter
from random import Random
from typing import Any, NamedTuple, Protocol

from cgrsp_simpy.model.policy import PlaceError, Suspend, Wake
from cgrsp_simpy.rental.arrivals import ArrivalRates
from cgrsp_simpy.rental.deadlines import DeadlineClass
from cgrsp_simpy.rental.gpu import GpuType
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.market import Market, Status
from cgrsp_simpy.rental.stock import Stock
from cgrsp_simpy.rental.terms import Terms

__all__ = [
    "Assignment",
    "DispatchState",
    "JobClass",
    "Known",
    "Policy",
    "Running",
    "SlotView",
    "View",
]


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
        None when idle; else dispatch time + mean execution time, seconds (the provisioning delay is
        not known).
    """

    index: int
    gpu: GpuType
    expected_end_s: float | None = None


class Running(NamedTuple):
    """A job that holds slots, as a policy that may suspend it sees it.

    Attributes
    ----------
    job : Job
        The job.
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


class JobClass:
    """Waiting jobs that differ only in submission and deadline.

    Parameters
    ----------
    complexity, tight
        What they have in common.

    Attributes
    ----------
    jobs : list of Job
        By deadline, equal ones by submission, so that an order needs to look only at the fronts of
        its tiers. Live; a policy reads only.
    deadlines_s : list of float
        Theirs, seconds. Live; a policy reads only.
    """

    __slots__ = ("complexity", "deadlines_s", "jobs", "tight")

    def __init__(self, complexity: int, tight: bool) -> None:
        self.complexity, self.tight = complexity, tight
        self.jobs: list[Job] = []
        self.deadlines_s: list[float] = []

    def add(self, job: Job) -> None:
        """Put a job at its place.

        Parameters
        ----------
        job : Job
            Of this class.
        """
        place = bisect_right(self.deadlines_s, job.deadline_s)
        while place and self.jobs[place - 1].id > job.id:  # it has waited before
            if self.deadlines_s[place - 1] < job.deadline_s:
                break
            place -= 1
        self.deadlines_s.insert(place, job.deadline_s)
        self.jobs.insert(place, job)

    def remove(self, job: Job) -> None:
        """Take a job out.

        Parameters
        ----------
        job : Job
            One that waits.
        """
        place = self.jobs.index(job, bisect_left(self.deadlines_s, job.deadline_s))
        del self.jobs[place], self.deadlines_s[place]


class JobClasses(dict[tuple[int, bool], JobClass]):
    """Classes by complexity and deadline class; one is made when first asked for."""

    def __missing__(self, key: tuple[int, bool]) -> JobClass:
        made = self[key] = JobClass(*key)
        return made

    def of(self, job: Job) -> JobClass:
        """The class of a job."""
        return self[job.complexity, job.tight]


def _least_by_level(gpus: Iterable[GpuType]) -> tuple[float, ...]:
    return tuple(map(min, zip(*[gpu.mean_execution_s for gpu in gpus])))


@dataclass(frozen=True)
class Known:
    """What an operator knows by experience; the same for a whole run.

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
        What renting means.
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
        return sum(each.share for each in self.classes if each.tight)

    @cached_property
    def types(self) -> Mapping[GpuType, int]:
        """The types of slots, and how many have each; free types: once each."""
        return Counter(self.gpus if self.free_types else self.fleet)

    @cached_property
    def fastest_s(self) -> tuple[float, ...]:
        """Least mean execution time over all slots, seconds, by complexity - 1."""
        return _least_by_level(self.types)

    @cached_property
    def offered_load(self) -> float:
        """Load lambda x mean W / C_max, execution time only (thesis Section 4.5.10)."""
        slots, work_s = len(self.fleet), 0.0
        for gpu in self.fleet:
            for share, mean_s in zip(self.complexity_mix, gpu.mean_execution_s):
                work_s += share * mean_s
        return self.arrival_rate_per_s * self.gpus_per_job * (work_s / slots) / slots


class DispatchState:
    """What the views of a run show, kept by the engine: the queue, and the idle slots.

    From the first time that they are asked for: `classes`, the waiting jobs by class, and `ends_s`,
    the expected ends, ascending.

    Parameters
    ----------
    known : Known
        What is known of the scenario before the run.
    rng : Random
        The policy's own stream.
    seen : iterator of float
        Uniform variates for the statuses shown.
    stock : Stock
        What dispatches meet.

    Attributes
    ----------
    slots : list of SlotView
        Each as it is when idle.
    idle : list of int
        Indices of those that are idle, ascending.
    idle_by_type : list of list of int
        The same, a list a type of the fleet.
    busy : dict
        Type and expected end, seconds, of the others, by index.
    held_s : list of float
        By slot, the seconds in which it was held so far, from dispatch to completion.
    queue : list of Job
        The waiting jobs in order of submission, with rising ids.
    waiting : dict
        Their claims, kept by the engine.
    warm : dict
        By index of an idle slot the instance that is kept for it.
    done : dict
        By job that has been stopped, what it has kept, as a share of its mean time.
    running : dict, optional
        Claims of the jobs that hold slots, kept by the engine, where policies may suspend them.
    """

    def __init__(self, known: Known, rng: Random, seen: Iterator[float], stock: Stock) -> None:
        self.known, self.rng, self.seen, self.stock = known, rng, seen, stock
        self.slots = [SlotView(index, gpu) for index, gpu in enumerate(known.fleet)]
        self.idle = list(range(len(self.slots)))
        by_type: dict[GpuType, list[int]] = {}
        self._alike = [by_type.setdefault(gpu, []) for gpu in known.fleet]
        for index, alike in enumerate(self._alike):
            alike.append(index)
        self.idle_by_type = list(by_type.values())
        self.busy: dict[int, tuple[GpuType, float]] = {}
        self.ends_s: list[float] | None = None
        self.held_s = [0.0] * len(self.slots)
        self.queue: list[Job] = []
        self.waiting: dict[Job, Any] = {}
        self.classes: JobClasses | None = None
        self.warm: dict[int, Any] = {}
        self.done: dict[Job, float] = {}
        self.running: dict[Job, Any] | None = {} if known.terms.suspension else None
        self._choices = known.gpus if known.free_types else ()

    def view(self, now_s: float) -> View:
        """What a policy sees now.

        Parameters
        ----------
        now_s : float
            Seconds.

        Returns
        -------
        View
            Of this moment.
        """
        return View(now_s, self)

    def summary(self) -> str:
        """What a listing says of a decision."""
        return f"{len(self.queue)} waiting, {len(self.idle)} idle"

    def describe(self, job: Job) -> str:
        """What a listing says of a job when it arrives.

        Parameters
        ----------
        job : Job
            The job.

        Returns
        -------
        str
            Such as "complexity 2, tight, due 3600.00".
        """
        kind = self.known.classes[job.deadline_class].name
        gpus = f", {job.gpus} GPUs" if job.gpus > 1 else ""
        return f"complexity {job.complexity}, {kind}, due {job.deadline_s:.2f}{gpus}"

    # ---- jobs ----

    def add(self, job: Job) -> None:
        """A job waits.

        Parameters
        ----------
        job : Job
            Younger than all that wait, or one that has waited before.
        """
        queue = self.queue
        if queue and queue[-1].id > job.id:  # it has waited before
            insort(queue, job, key=attrgetter("id"))
        else:
            queue.append(job)
        if self.classes is not None:
            self.classes.of(job).add(job)

    def gave_up(self, job: Job) -> None:
        """A job waits no longer. None does that here.

        Parameters
        ----------
        job : Job
            The job.
        """

    def left(self, job: Job) -> float:
        """The share of a waiting job's mean time that is left, as far as is known.

        Parameters
        ----------
        job : Job
            The job.

        Returns
        -------
        float
            From 0 to 1.
        """
        return max(0.0, 1.0 - self.done.get(job, 0.0))

    def left_of(self, claim: Any, now_s: float) -> float:
        """The same of a running one.

        Parameters
        ----------
        claim : Claim
            The job's.
        now_s : float
            The clock.

        Returns
        -------
        float
            From 0 to 1.
        """
        job, left = claim.job, self.left(claim.job)
        if claim.started_s != claim.started_s:  # it is being provisioned
            return left
        restart_s = self.known.terms.restart_s if job in self.done else 0.0
        ran_s: float = max(0.0, now_s - claim.started_s - restart_s)
        share: float = ran_s / claim.terms[1]
        return max(0.0, left - share)

    def _leave(self, job: Job) -> None:
        """A job is dispatched."""
        queue = self.queue
        first = queue[0] is job
        del queue[0 if first else bisect_left(queue, job.id, key=attrgetter("id"))]
        if self.classes is not None:
            self.classes.of(job).remove(job)

    def by_class(self) -> Collection[JobClass]:
        """The waiting jobs by class."""
        if self.classes is None:
            self.classes = JobClasses()
            for job in self.queue:
                self.classes.of(job).add(job)
        return self.classes.values()

    # ---- slots ----

    def granted(self, claim: Any, chosen: Any) -> Sequence[tuple[int, float]]:
        """Slots are a job's from its dispatch on, each as a whole.

        Notes the terms of the claim: the type of each slot, and the mean execution time in seconds.

        Parameters
        ----------
        claim : Any
            Of the job.
        chosen : Any
            A SlotView of the offers, or a list or tuple of one a GPU of the job.

        Returns
        -------
        sequence of tuple of (int, float)
            Index and amount (1) of each slot.

        Raises
        ------
        PlaceError
            If the slots are not what the view offers.
        """
        job, kind = claim.job, type(chosen)
        views = chosen if kind is tuple or kind is list else (chosen,)
        if len(views) != job.gpus:
            raise PlaceError(f"{len(views)} slots; it needs {job.gpus}")
        self._leave(job)
        parts, gpus, level, mean_s = [], [], job.complexity - 1, 0.0
        for view in views:
            self._take(view)
            parts.append((view.index, 1))
            gpus.append(view.gpu)
            own_s = view.gpu.mean_execution_s[level]
            if own_s > mean_s:  # the pace is that of the slowest type
                mean_s = own_s
        left_s = mean_s * self.left(job) if self.done else mean_s
        for view in views:
            self._expect(view.index, view.gpu, claim.granted_s + left_s)
        claim.terms = gpus, mean_s
        return parts

    def _take(self, view: Any) -> None:
        """Take a slot off the idle ones."""
        index = view.index if type(view) is SlotView else None
        if type(index) is not int or not 0 <= index < len(self.slots):
            raise PlaceError(f"{view!r}, which is no slot of the fleet")
        if index in self.busy:
            raise PlaceError(f"slot {index}, which is busy or given away already")
        if view is not self.slots[index] and view.gpu not in self._choices:
            name = getattr(view.gpu, "name", view.gpu)
            raise PlaceError(f"slot {index} as {name}, which the view did not offer")
        self.busy[index] = view.gpu, inf  # a job may be slower on the next of its slots
        idle, alike = self.idle, self._alike[index]
        del idle[bisect_left(idle, index)], alike[bisect_left(alike, index)]

    def _expect(self, index: int, gpu: GpuType, end_s: float) -> None:
        """A slot is busy up to a time, as far as is known."""
        self.busy[index] = gpu, end_s
        if self.ends_s is not None:
            insort(self.ends_s, end_s)

    def hold(self, index: int, end_s: float) -> None:
        """A slot is busy.

        Parameters
        ----------
        index : int
            Of the slot.
        end_s : float
            When it is expected to end, seconds.
        """
        self._take(self.slots[index])
        self._expect(index, self.slots[index].gpu, end_s)

    def released(self, claim: Any, now_s: float) -> None:
        """Slots are idle again.

        Parameters
        ----------
        claim : Any
            Of the job that has completed.
        now_s : float
            Seconds.
        """
        for index, _ in claim.parts:
            _, end_s = self.busy.pop(index)
            if self.ends_s is not None:
                del self.ends_s[bisect_left(self.ends_s, end_s)]
            insort(self.idle, index)
            insort(self._alike[index], index)
            self.held_s[index] += now_s - claim.granted_s

    def next_end_s(self) -> float | None:
        """When the first busy slot is expected to end; None if there is none."""
        if self.ends_s is None:
            self.ends_s = sorted([end_s for _, end_s in self.busy.values()])
        return self.ends_s[0] if self.ends_s else None

    def offers(self) -> list[SlotView]:
        """The first idle slot of each type; with free types, the first as each type.

        Slots with a warm instance come first.
        """
        if self.warm:
            rows = [self.idle] if self.known.free_types else self.idle_by_type
            return self._offered([self._warm_first(own)[0] for own in rows if own])
        if self.known.free_types:
            return self._as_each_type(self.idle[:1])
        if len(self.idle) == 1:
            return [self.slots[self.idle[0]]]
        return self._views([own[0] for own in self.idle_by_type if own])

    def offers_after(self, offers: Sequence[SlotView], taken: int) -> list[SlotView]:
        """Offers once a slot of them is taken: the next idle one takes its place.

        Parameters
        ----------
        offers : sequence of SlotView
            Before.
        taken : int
            Index of the slot that is taken.

        Returns
        -------
        list of SlotView
            The offers that are left.
        """
        if len(self.idle) == 1:
            return []
        alike = self.idle if self.known.free_types else self._alike[taken]
        if self.warm:
            alike = self._warm_first(alike)
            place = alike.index(taken) + 1 if taken in alike else 0
        else:
            place = bisect_right(alike, taken)
        next_one = alike[place : place + 1]
        if self.known.free_types:
            return self._as_each_type(next_one)
        return self._views([o.index for o in offers if o.index != taken] + next_one)

    def _warm_first(self, indices: list[int]) -> list[int]:
        return sorted(indices, key=lambda index: index not in self.warm)

    def _offered(self, indices: list[int]) -> list[SlotView]:
        free = self.known.free_types
        return self._as_each_type(indices) if free else self._views(indices)

    def _views(self, indices: list[int]) -> list[SlotView]:
        return [self.slots[index] for index in sorted(indices)]

    def _as_each_type(self, indices: Iterable[int]) -> list[SlotView]:
        return [SlotView(index, gpu) for index in indices for gpu in self.known.gpus]


class View:
    """What a policy sees at a decision; read only. Never a draw or a job to come.

    It is of its moment: what is looked up after the decision may be of a later one.

    Parameters
    ----------
    now_s : float
        Seconds from the start of the run.
    state : DispatchState
        What it shows.
    """

    __slots__ = ("_now_s", "_queue", "_state", "_statuses")

    def __init__(self, now_s: float, state: DispatchState) -> None:
        self._now_s, self._state = now_s, state
        self._queue: tuple[Job, ...] | None = None
        self._statuses: dict[str, Status] = {}

    @property
    def now_s(self) -> float:
        """The clock, seconds from the start of the run."""
        return self._now_s

    @property
    def known(self) -> Known:
        """What the operator knows by experience."""
        return self._state.known

    @property
    def rng(self) -> Random:
        """The policy's own stream of random numbers."""
        return self._state.rng

    # ---- jobs ----

    @property
    def queue(self) -> tuple[Job, ...]:
        """Waiting jobs in order of submission."""
        if self._queue is None:
            self._queue = tuple(self._state.queue)
        return self._queue

    def only(self, shown: Callable[[Job], bool]) -> View:
        """What a policy would see if only some of the jobs waited.

        Parameters
        ----------
        shown : callable
            Whether a waiting job is one of them.

        Returns
        -------
        View
            Of the same moment; its answers can be this one's.
        """
        state = copy(self._state)
        state.queue, state.classes = list(filter(shown, state.queue)), None
        return View(self._now_s, state)

    @property
    def waiting(self) -> int:
        """Number of waiting jobs."""
        return len(self._state.queue)

    def first(self, number: int) -> list[Job]:
        """The first waiting jobs in order of submission.

        Parameters
        ----------
        number : int
            How many, >= 0.

        Returns
        -------
        list of Job
            All, where fewer wait.
        """
        return self._state.queue[:number]

    def waiting_job(self, place: int) -> Job:
        """The waiting job at a place in order of submission.

        Parameters
        ----------
        place : int
            0, 1, 2, ..., below `waiting`.

        Returns
        -------
        Job
            The job.
        """
        return self._state.queue[place]

    @property
    def classes(self) -> Collection[JobClass]:
        """The waiting jobs by class, for orders by tier; live, for this decision."""
        return self._state.by_class()

    def left(self, job: Job) -> float:
        """The share of a waiting job's mean time that is left, as far as is known.

        Parameters
        ----------
        job : Job
            A waiting job.

        Returns
        -------
        float
            From 0 to 1; 1 if it has not been stopped yet.
        """
        return self._state.left(job)

    @property
    def running(self) -> tuple[Running, ...]:
        """The jobs that hold slots, in order of dispatch; none where none may be
        suspended.
        """
        state, now_s = self._state, self._now_s
        return tuple(
            Running(
                job,
                tuple([index for index, _ in claim.parts]),
                claim.granted_s,
                state.left_of(claim, now_s),
            )
            for job, claim in (state.running or {}).items()
        )

    # ---- slots ----

    @property
    def slots(self) -> tuple[SlotView, ...]:
        """All slots."""
        slots = self._state.slots.copy()
        for index, (gpu, end_s) in self._state.busy.items():
            slots[index] = SlotView(index, gpu, end_s)
        return tuple(slots)

    @property
    def idle(self) -> tuple[SlotView, ...]:
        """The idle slots, in order of registration."""
        return tuple([self._state.slots[index] for index in self._state.idle])

    @property
    def idle_count(self) -> int:
        """Number of idle slots."""
        return len(self._state.idle)

    def idle_slot(self, place: int) -> SlotView:
        """The idle slot at a place in order of registration.

        Parameters
        ----------
        place : int
            0, 1, 2, ..., below `idle_count`.

        Returns
        -------
        SlotView
            The slot.
        """
        return self._state.slots[self._state.idle[place]]

    @property
    def next_end_s(self) -> float | None:
        """When the first busy slot is expected to end, seconds; None if there is none."""
        return self._state.next_end_s()

    def offers(self) -> list[SlotView]:
        """What can be provisioned now: the first idle slot of each type.

        With free choice of type: the first idle slot, as each type.
        """
        return self._state.offers()

    def offers_after(
        self,
        offers: Sequence[SlotView],
        taken: SlotView,
    ) -> list[SlotView]:
        """Offers once one of them is taken: the next idle slot takes its place.

        Parameters
        ----------
        offers : sequence of SlotView
            Before.
        taken : SlotView
            The one that is taken.

        Returns
        -------
        list of SlotView
            The offers that are left.
        """
        return self._state.offers_after(offers, taken.index)

    def status(self, slot: SlotView) -> Status:
        """The stock status shown for a slot's type.

        Where the stock can be seen, that of the market as of `seen_s`. Else one draw a type and
        decision, whatever status a dispatch will meet.

        Parameters
        ----------
        slot : SlotView
            The slot.

        Returns
        -------
        Status
            The same for all slots of a type at one decision.

        References
        ----------
        Thesis Eq. 3.1.
        """
        name, state = slot.gpu.name, self._state
        if name not in self._statuses:
            seen_s = state.stock.seen_s(slot.gpu, self._now_s)
            if seen_s is None:
                uniform, market = next(state.seen), state.known.market
                status = market.status(slot.gpu, self._now_s, uniform)
            else:
                status = state.stock.status(slot.gpu, seen_s, 0.0)
            self._statuses[name] = status
        return self._statuses[name]

    def seen_s(self, slot: SlotView) -> float | None:
        """When the status of a slot's type was last looked at.

        Parameters
        ----------
        slot : SlotView
            The slot.

        Returns
        -------
        float or None
            Seconds; None where the status shown says nothing of the market, as in the thesis.
        """
        return self._state.stock.seen_s(slot.gpu, self._now_s)

    def since_s(self, slot: SlotView) -> float | None:
        """Since when the status shown has been seen without a break.

        Parameters
        ----------
        slot : SlotView
            The slot.

        Returns
        -------
        float or None
            Seconds; None where the status shown says nothing of the market, as in the thesis.
        """
        seen_s = self.seen_s(slot)
        if seen_s is None:
            return None
        return self._state.stock.since_s(slot.gpu, seen_s)

    def warm(self, slot: SlotView) -> bool:
        """Whether an idle slot has a warm instance of its type.

        Parameters
        ----------
        slot : SlotView
            An idle slot.

        Returns
        -------
        bool
            If so, a job that is sent there starts at once.
        """
        kept = self._state.warm.get(slot.index)
        return kept is not None and kept.gpu == slot.gpu

    def mean_s(self, job: Job, slot: SlotView) -> float:
        """Mean execution time on a slot's type.

        Parameters
        ----------
        job : Job
            The job.
        slot : SlotView
            The slot.

        Returns
        -------
        float
            Seconds (W-bar of thesis Eq. 3.12).
        """
        return slot.gpu.mean_execution_s[job.complexity - 1]

    def fastest_s(self) -> tuple[float, ...]:
        """Least mean time of all that is offered now, seconds, by complexity - 1."""
        if self._state.known.free_types:
            return self._state.known.fastest_s
        return _least_by_level([offer.gpu for offer in self.offers()])


class Policy(Protocol):
    """A scheduling policy: a function of a view.

    It answers with pairs (job, slot) and, if it likes, a Wake; with Suspends where the
    terms of renting allow that. It is asked when a slot is idle; one with an attribute
    `suspends` that is true, at each arrival. A job with several GPUs
    is paired with a tuple of as many slots. Slots may stay idle on purpose.
    """

    def __call__(self, view: View) -> Iterable[Assignment | Wake | Suspend] | None:
        """Decide."""
