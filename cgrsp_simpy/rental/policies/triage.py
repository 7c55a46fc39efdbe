"""Triage by scarcity (ours): what may wait for better stock waits, the rest is served.

Nearly all lateness comes from Low stock, which blocks a slot for hours and is possible
in some hours of the day only. The law of the stock is known, so a policy can tell those
hours, and what a dispatch in them may cost the jobs behind it. A type is scarce while
Low stock of it is possible. With x = deadline - now - mean execution time, a job on a
slot is doomed if x < 0, safe if x is no less than the longest delay without Low stock,
and urgent if it is safe and x < `urgent_s`:

    type not scarce      rank 0, by deadline: urgent
                         rank 1, shortest:    safe, not urgent
                         rank 2, shortest:    neither safe nor doomed
                         rank 3, shortest:    doomed
    type scarce, tight   rank 0, by deadline: not doomed
                                              held if served after the scarcity
                         rank 1, by deadline: doomed; held where the slot is closed
    type scarce, loose   all held where the slot is closed; else
                         rank 1, by deadline: safe
                         rank 2, by deadline: neither safe nor doomed
                         rank 3, by deadline: doomed

A job's rank is that on one slot: of the idle ones that are open to jobs of its class,
the one of least expected occupation. A tight job takes a scarce type only if it is
expected to be held shorter by more than the longest delay without Low stock; and where
idle slots of fixed type of both kinds are open to tight jobs, these go first, by
deadline, so that plentiful slots are not spent on what a scarce one may as well serve.
The job of least rank, then key, is dispatched, and so on. A slot is closed if a
dispatch would delay the jobs behind it by more than it spares the job, or if fewer wait
than so slow a type is worth; the second holds for tight jobs by their own number. A
slot of a type that is not scarce is not left idle. If the scarcity ends after the last
deadline, saving jobs for the recovery is vain: then shortest first, and the doomed
last.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple

from cgrsp_simpy.model.checks import check_bool, check_number
from cgrsp_simpy.model.policy import Wake
from cgrsp_simpy.rental.gpu import GpuType
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.market import HIGH, LOW, MEDIUM, Market
from cgrsp_simpy.rental.policies.rules import Tier
from cgrsp_simpy.rental.view import Assignment, JobClass, Known, SlotView, View

__all__ = ["triage"]

HELD = -1  # the rank of a tier that is not served now
WAKE_S = 60.0  # how long a slot is held before the policy looks again
ROUNDING = 1e-9  # in sums of chances


def triage(
    urgent_s: float = 300.0,
    margin: bool = True,
    gate: float = 0.3,
    recovery: bool = True,
    closing: bool = True,
    scarce_edf: bool = True,
) -> Triage:
    """While Low stock is possible, earliest deadline first and slots held that would do harm; else shortest first, just in time.

    urgent_s: seconds before its latest start from
    which a job goes first; 0: never. margin: a job is safe only if the longest delay
    without Low stock would not make it late; else every job is that is not doomed.
    gate: share of `Law.enough` that must wait; 0: one job will do. recovery: hold tight
    jobs that can be served when the scarcity has ended. closing: close slots that would
    cost the waiting jobs more than they give. scarce_edf: in scarce hours earliest
    deadline first, else shortest first.
    """
    check_number("urgent_s", urgent_s, least=0)
    check_number("gate", gate, least=0)
    switches = {"margin": margin, "recovery": recovery, "closing": closing}
    for name, value in (switches | {"scarce_edf": scarce_edf}).items():
        check_bool(name, value)
    return Triage(urgent_s, margin, gate, recovery, closing, scarce_edf)


# ---- what is known of a type ----


class Law(NamedTuple):
    """A type while the law of the stock stays the same.

    low: chance of Low stock. delay_s: mean provisioning delay. enough: number of
    waiting jobs from which a slot of it shortens the wait, as long as the better slots
    of the fleet are busy.
    """

    low: float
    delay_s: float
    enough: float


def law_of(known: Known, gpu: GpuType, time_s: float) -> Law:
    """The law of a type at a time."""
    own_s = occupation_s(known, gpu, time_s)
    held_s = {each: occupation_s(known, each, time_s) for each in known.types}
    better = [(s, known.types[each]) for each, s in held_s.items() if s < own_s]
    rate_per_s = sum(slots / each_s for each_s, slots in better)
    enough = (own_s - min(better)[0]) * rate_per_s if better else 0.0
    low = known.market.probabilities(gpu, time_s)[LOW]
    return Law(low, own_s - mean_work_s(known, gpu), enough)


def mean_work_s(known: Known, gpu: GpuType) -> float:
    """Mean execution time of the jobs that come."""
    shares = zip(known.complexity_mix, gpu.mean_execution_s)
    return sum(share * mean_s for share, mean_s in shares)


def occupation_s(known: Known, gpu: GpuType, time_s: float) -> float:
    """Mean time for which a job sent at a time holds a slot: delay and execution."""
    chances, ranges = known.market.probabilities(gpu, time_s), known.market.delay_s
    delays = zip(chances, ranges)
    delay_s = sum(chance * (least + most) / 2 for chance, (least, most) in delays)
    return mean_work_s(known, gpu) + delay_s


def scarcity_left_s(market: Market, gpu: GpuType, now_s: float) -> float:
    """For how long Low stock of a type stays possible.

    0, up to an hour at which the law changes, or for ever.
    """
    if market.probabilities(gpu, now_s)[LOW] <= ROUNDING:
        return 0.0
    hour, changes = market.clock.start_h + now_s / 3600, market.change_hours
    for left_s in sorted((start_h - hour) % 24 * 3600 for start_h in changes):
        after_s = now_s + left_s + 1  # a second later: the start itself is rounded
        if market.probabilities(gpu, after_s)[LOW] <= ROUNDING:
            return left_s
    return inf


def overrun_s(market: Market, low: float, work_s: float, left_s: float) -> float:
    """Mean time by which Low stock holds a slot beyond the time left.

    P(Low) E[(D + W - h)+], D uniform as in thesis Eq. 3.2.
    """
    least, most = market.delay_s[LOW]
    first, last = least + work_s - left_s, most + work_s - left_s
    if first >= 0 or last <= 0:
        return low * max(0.0, (first + last) / 2)
    return low * last**2 / 2 / (last - first)


# ---- a decision ----


class Left:
    """The waiting jobs that a decision has not sent yet.

    number, tight: how many, and how many of them are tight. last_s: the latest deadline
    of all that wait, seconds.
    """

    def __init__(self, view: View) -> None:
        self.number, self.tight, self.last_s = view.waiting, 0, -inf
        self.classes = [own for own in view.classes if own.jobs]
        for own in self.classes:
            self.tight += len(own.jobs) * own.tight
            self.last_s = max(self.last_s, own.deadlines_s[-1])
        self._taken: set[Job] = set()
        self._passed: dict[tuple[JobClass, int], int] = {}

    def take(self, job: Job) -> None:
        """A job is sent."""
        self.number -= 1
        self.tight -= job.tight
        self._taken.add(job)

    def front(self, own: JobClass, first: int, stop: int) -> Job | None:
        """The first job of a class that is left, from one place up to a later one."""
        if not self._taken:
            return own.jobs[first]
        place = self._passed.get((own, first), first)  # those up to there are taken
        while place < stop and own.jobs[place] in self._taken:
            place += 1
        self._passed[own, first] = place
        return own.jobs[place] if place < stop else None


class Prospect(NamedTuple):
    """A type at a decision.

    left_s: for how long it stays scarce. passing: whether a waiting job is due after
    that. for_tight, for_all: whether its slots are open to tight jobs that are not
    doomed, and to the others.
    """

    law: Law
    left_s: float
    passing: bool
    for_tight: bool
    for_all: bool

    def open_to(self, tight: bool) -> bool:
        """Whether its slots serve any job of a class."""
        return not self.left_s or self.for_all or (tight and self.for_tight)

    @property
    def takes_tight(self) -> bool:
        """Whether its type is scarce and its slots are open to tight jobs."""
        return self.left_s > 0 and self.for_tight


Prospects = dict[str, Prospect]
"""Prospects by the name of the type."""

Pair = tuple[int, float, float, int, Job, SlotView]
"""Rank, key, deadline, id; job, and the slot that it would take."""


class Triage:
    """The policy; for its parameters see `triage`."""

    name = "triage"

    def __init__(
        self,
        urgent_s: float,
        margin: bool,
        gate: float,
        recovery: bool,
        closing: bool,
        scarce_edf: bool,
    ) -> None:
        self.urgent_s, self.margin, self.gate = urgent_s, margin, gate
        self.recovery, self.closing, self.scarce_edf = recovery, closing, scarce_edf
        self._known: Known | None = None  # of the run whose laws are kept
        self._laws: dict[tuple[str, Hashable], Law] = {}

    def __call__(self, view: View) -> list[Assignment | Wake]:
        """The assignments at a view, and a Wake if jobs are held for better stock."""
        answer: list[Assignment | Wake] = []
        offers, left = view.offers(), Left(view)
        while offers and left.number:
            prospects = self._prospects(view, offers, left)
            job, slots = self._next(view, offers, prospects, left)
            if job is None or len(slots) < job.gpus:  # all held, or no room for it
                if any(0 < prospect.left_s < inf for prospect in prospects.values()):
                    answer.append(Wake(view.now_s + WAKE_S))
                break
            answer.append((job, slots))
            left.take(job)
            for slot in slots:
                offers = view.offers_after(offers, slot)
        return answer

    def _law(self, known: Known, gpu: GpuType, time_s: float) -> Law:
        if known is not self._known:
            self._known, self._laws = known, {}
        key = gpu.name, known.market.moment(time_s)
        if key not in self._laws:
            self._laws[key] = law_of(known, gpu, time_s)
        return self._laws[key]

    def _prospects(
        self,
        view: View,
        offers: Iterable[SlotView],
        left: Left,
    ) -> Prospects:
        """For the jobs that are left."""
        types = {offer.gpu.name: offer.gpu for offer in offers}
        return {name: self._prospect(view, gpu, left) for name, gpu in types.items()}

    def _prospect(self, view: View, gpu: GpuType, left: Left) -> Prospect:
        law = self._law(view.known, gpu, view.now_s)
        left_s = scarcity_left_s(view.known.market, gpu, view.now_s)
        few, passing = self.gate * law.enough, view.now_s + left_s < left.last_s
        for_all = left.number >= few
        if for_all and self.closing:
            for_all = not costly(view, gpu, law.low, left_s, left.number)
        return Prospect(law, left_s, passing, left.tight >= few, for_all)

    def _next(
        self,
        view: View,
        offers: Sequence[SlotView],
        prospects: Prospects,
        left: Left,
    ) -> tuple[Job | None, tuple[SlotView, ...]]:
        """The job that goes next, with its slots; None if all are held."""
        plentiful = [one for one in offers if not prospects[one.gpu.name].left_s]
        for choice in (offers, plentiful):  # what a scarce slot would hold may go there
            best = min(self._pairs(view, choice, prospects, left), default=None)
            if best is not None:
                job, slot = best[-2:]
                return job, together(view, job, slot, offers, prospects)
        return None, ()

    def _pairs(
        self,
        view: View,
        offers: Sequence[SlotView],
        prospects: Prospects,
        left: Left,
    ) -> Iterator[Pair]:
        """The first job of each tier of each class, on the best slot for the class."""
        known, served, contested = view.known, {}, False
        delays_s = known.market.delay_s
        margin_s = max(delays_s[HIGH][1], delays_s[MEDIUM][1]) if self.margin else 0.0
        for tight in (True, False):
            served[tight] = [o for o in offers if prospects[o.gpu.name].open_to(tight)]
        if not known.free_types:
            contested = any(prospects[offer.gpu.name].takes_tight for offer in offers)
        for own in left.classes:
            if not served[own.tight]:
                continue
            level, margin = own.complexity - 1, margin_s if own.tight else 0.0
            offer = least_held(served[own.tight], level, prospects, margin)
            ready_s = view.now_s + offer.gpu.mean_execution_s[level]
            prospect, e = prospects[offer.gpu.name], known.fastest_s[level]
            tiers = self._tiers(own.tight, e, ready_s, margin_s, prospect, contested)
            for rank, key, job in fronts(own, tiers, left):
                yield rank, key, job.deadline_s, job.id, job, offer

    def _tiers(
        self,
        tight: bool,
        e: float,
        ready_s: float,
        margin_s: float,
        prospect: Prospect,
        contested: bool,
    ) -> Sequence[Tier]:
        """The tiers of a class on a slot, by rising deadline.

        e: its least mean time, seconds. ready_s: when a job would end without delay.
        contested: whether a scarce slot would serve tight jobs, too.
        """
        doomed, safe_s = (ready_s, 3, e), ready_s + margin_s
        if not prospect.left_s:
            if tight and contested:
                return doomed, (inf, 0, 0.0)
            urgent_s = ready_s + max(margin_s, self.urgent_s)
            return doomed, (safe_s, 2, e), (urgent_s, 0, 0.0), (inf, 1, e)
        key = 0.0 if self.scarce_edf and prospect.passing else e
        if tight:
            later_s = inf
            if self.recovery:
                later_s = ready_s + prospect.left_s + self.urgent_s
            lost = (1 if prospect.passing else 3) if prospect.for_all else HELD
            served = 0 if prospect.for_tight else HELD
            return (ready_s, lost, key), (later_s, served, key), (inf, HELD, key)
        if not prospect.for_all:
            return ()
        return (ready_s, 3, key), (safe_s, 2, key), (inf, 1, key)


def costly(view: View, gpu: GpuType, low: float, left_s: float, waiting: int) -> bool:
    """Whether a dispatch on a scarce type costs the others more than it spares its job.

    It goes h earlier than after the scarcity. Each of the others is delayed, over all
    slots, by the time for which the slot is then expected to be missing, less the time
    that the job would have taken then.
    """
    known = view.known
    if not 0 < left_s < inf:
        return False
    missing_s = overrun_s(known.market, low, mean_work_s(known, gpu), left_s)
    later_s = occupation_s(known, gpu, view.now_s + left_s + 1)
    return waiting * (missing_s - later_s) / len(known.fleet) > left_s


def least_held(
    offers: Sequence[SlotView],
    level: int,
    prospects: Prospects,
    margin_s: float,
) -> SlotView:
    """The slot that a job of complexity `level` + 1 will hold for the least mean time.

    A scarce one counts margin_s more.
    """

    def held_s(offer: SlotView) -> float:
        prospect = prospects[offer.gpu.name]
        own_s = prospect.law.delay_s + offer.gpu.mean_execution_s[level]
        return own_s + (margin_s if prospect.left_s else 0.0)

    return min(offers, key=held_s) if len(offers) > 1 else offers[0]


def fronts(
    own: JobClass,
    tiers: Sequence[Tier],
    left: Left,
) -> Iterator[tuple[int, float, Job]]:
    """Rank and key of each tier of a class that is served, and its first job left."""
    first, most = 0, len(own.jobs)
    for before_s, rank, key in tiers:
        last = before_s > own.deadlines_s[-1]
        stop = most if last else bisect_left(own.deadlines_s, before_s, first)
        if rank != HELD and first < stop:
            job = left.front(own, first, stop)
            if job is not None:
                yield rank, key, job
        if last:
            break
        first = stop


def together(
    view: View,
    job: Job,
    chosen: SlotView,
    offers: Sequence[SlotView],
    prospects: Prospects,
) -> tuple[SlotView, ...]:
    """The chosen slot, and for a job of several GPUs others of least delay, if idle."""
    slots = [chosen]
    while len(slots) < job.gpus:
        offers = view.offers_after(offers, slots[-1])
        if not offers:
            break
        slots.append(min(offers, key=lambda slot: prospects[slot.gpu.name].law.delay_s))
    return tuple(slots)
