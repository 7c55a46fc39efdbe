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
from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

from cgrsp_simpy.model.checks import check_bool, check_number
from cgrsp_simpy.model.policy import Wake
from cgrsp_simpy.rental.gpu import GpuType
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.market import LOW, Market
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
    """While Low stock is possible, earliest deadline first and slots held that would do
    harm; else shortest first, just in time.

    Parameters
    ----------
    urgent_s : float
        Seconds before its latest start from which a job goes first; 0: never.
    margin : bool
        A job is safe only if the longest delay without Low stock would not make it
        late; else every job is that is not doomed.
    gate : float
        Share of `Law.enough` that must wait, >= 0; 0: one job will do.
    recovery : bool
        Hold tight jobs that can be served when the scarcity has ended.
    closing : bool
        Close slots that would cost the waiting jobs more than they give.
    scarce_edf : bool
        In scarce hours earliest deadline first, else shortest first.

    Returns
    -------
    Triage
        A function of a View.

    Raises
    ------
    InputError
        For a value that is not allowed.
    """
    check_number("urgent_s", urgent_s, least=0)
    check_number("gate", gate, least=0)
    switches = {"margin": margin, "recovery": recovery, "closing": closing}
    for name, value in (switches | {"scarce_edf": scarce_edf}).items():
        check_bool(name, value)
    return Triage(urgent_s, margin, gate, recovery, closing, scarce_edf)


# ---- what is known of a type ----


class Law(NamedTuple):
    """A type in a band of the day, in which the law of the stock stays the same.

    low: chance of Low stock. delay_s: mean provisioning delay. work_s: mean execution
    time of the jobs that come. enough: number of waiting jobs from which a slot of it
    shortens the wait, as long as the better slots of the fleet are busy. end_h: hour of
    day at which the next band without Low stock begins; None: there is no such band.
    later_s: mean time for which a job sent from then on holds a slot.
    """

    low: float
    delay_s: float
    work_s: float
    enough: float
    end_h: float | None
    later_s: float

    def left_s(self, hour: float) -> float:
        """For how long Low stock stays possible: 0, up to the end, or for ever."""
        if self.low <= ROUNDING:
            return 0.0
        return inf if self.end_h is None else (self.end_h - hour) % 24 * 3600


Laws = dict[str, Law]
"""Laws by the name of the type."""


def law_of(known: Known, gpu: GpuType, time_s: float) -> Law:
    """The law of a type in the band of a time."""
    own_s, work_s = occupation_s(known, gpu, time_s), mean_work_s(known, gpu)
    held_s = {each: occupation_s(known, each, time_s) for each in known.types}
    better = [(s, known.types[each]) for each, s in held_s.items() if s < own_s]
    rate_per_s = sum(slots / each_s for each_s, slots in better)
    enough = (own_s - min(better)[0]) * rate_per_s if better else 0.0
    low, end_h, later_s = known.market.probabilities(gpu, time_s)[LOW], None, own_s
    for start_h, after_s in bands_to_come(known.market, time_s):
        if known.market.probabilities(gpu, after_s)[LOW] <= ROUNDING:
            end_h, later_s = start_h, occupation_s(known, gpu, after_s)
            break
    return Law(low, own_s - work_s, work_s, enough, end_h, later_s)


def bands_to_come(market: Market, now_s: float) -> list[tuple[float, float]]:
    """The start of each band of the law, hour of day; and a time in it, seconds."""
    hour = market.clock.start_h + now_s / 3600
    left_h = sorted(((start_h - hour) % 24, start_h) for start_h in market.change_hours)
    # a second later: the start itself is rounded
    return [(start_h, now_s + left * 3600 + 1) for left, start_h in left_h]


def shut(known, time_s):
    """Hours of day: when next all types become scarce, and until when; None: never."""
    def all_scarce(t):
        return all(known.market.probabilities(g, t)[LOW] > ROUNDING for g in known.types)
    if all_scarce(time_s):
        return None
    start = None
    for start_h, after_s in bands_to_come(known.market, time_s):
        now = all_scarce(after_s)
        if now and start is None:
            start = start_h
        elif start is not None and not now:
            return start, start_h
    return None


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
        self.classes = [own for own in view.classes if own.jobs]
        self.number = view.waiting
        self.tight = sum([len(own.jobs) for own in self.classes if own.tight])
        self.last_s = max([own.deadlines_s[-1] for own in self.classes], default=-inf)
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
    """An offer at a decision.

    left_s: for how long its type stays scarce. passing: whether a waiting job is due
    after that. for_tight, for_all: whether it is open to tight jobs that are not
    doomed, and to the others; where its type is not scarce, it is.
    """

    slot: SlotView
    law: Law
    left_s: float
    passing: bool
    for_tight: bool
    for_all: bool


Pair = tuple[int, float, float, int, Job, SlotView]
"""Rank, key, deadline, id; job, and the slot that it would take."""


class Triage:
    """The policy that `triage` makes.

    Parameters
    ----------
    urgent_s, margin, gate, recovery, closing, scarce_edf
        As of `triage`.
    """

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
        self.price_wait = .001
        self.recovery, self.closing, self.scarce_edf = recovery, closing, scarce_edf
        self._known: Known | None = None  # of the run whose laws are kept
        self._laws: dict[int, Laws] = {}  # by band of the day
        self._shut: dict[int, tuple[float, float] | None] = {}
        self._cut_s = -inf
        self._safe_s = 0.0  # the laxity that makes a job safe

    def __call__(self, view: View) -> list[Assignment | Wake]:
        """The assignments at a view, and a Wake if jobs are held for better stock."""
        answer: list[Assignment | Wake] = []
        offers, left, laws = view.offers(), Left(view), self._laws_at(view)
        self._pressed = self._pressed_classes(view, laws)
        while offers and left.number:
            prospects = self._prospects(view, offers, laws, left)
            job, slots = self._next(view, prospects, left)
            if job is not None and job.gpus > 1:
                slots = together(view, job, slots[0], offers, laws)
            if job is None or len(slots) < job.gpus:  # all held, or no room for it
                if any(0 < prospect.left_s < inf for prospect in prospects):
                    answer.append(Wake(view.now_s + WAKE_S))
                break
            answer.append((job, slots))
            left.take(job)
            for slot in slots:
                offers = view.offers_after(offers, slot)
        return answer

    def _laws_at(self, view: View) -> Laws:
        known, now_s = view.known, view.now_s
        if known is not self._known:
            self._known, self._laws = known, {}
            high, medium, _ = known.market.delay_s
            self._safe_s = max(high[1], medium[1]) if self.margin else 0.0
        band = known.market.band(now_s)
        if band not in self._laws:
            laws = {gpu.name: law_of(known, gpu, now_s) for gpu in known.types}
            self._laws[band] = laws
        return self._laws[band]

    def _pressed_classes(self, view, laws):
        """Tight classes that must go now, as the jobs before them in line hold slots."""
        known, now_s = view.known, view.now_s
        tights = [own for own in view.classes if own.jobs and own.tight]
        total = sum(len(own.jobs) for own in tights)
        self._feasible = True
        if not total:
            return {}
        band = known.market.band(now_s)
        gap_s = 1.0 / sum(n / (laws[g.name].delay_s + laws[g.name].work_s) for g, n in known.types.items())
        if known.free_types:
            gap_s = min(laws[g.name].delay_s + laws[g.name].work_s for g in known.types) / len(known.fleet)
        if band not in self._shut:
            self._shut[band] = shut(known, now_s)
        found = self._shut[band]
        hour = known.market.clock.start_h + now_s / 3600
        if found is None:
            shut_s = end_s = inf
        else:
            shut_s = now_s + (found[0] - hour) % 24 * 3600
            end_s = shut_s + (found[1] - found[0]) % 24 * 3600
        pressed = {}
        self._feasible = True
        for own in tights:
            e = known.fastest_s[own.complexity - 1]
            n, k = len(own.jobs), 1
            each_s = gap_s * total / n
            least = inf; over = False
            first = bisect_left(own.deadlines_s, now_s + e)
            n -= first
            while n > 0:
                k = min(k, n)
                due = own.deadlines_s[first + k - 1]
                if now_s < shut_s < due < end_s + self.urgent_s + e:
                    due = shut_s
                least = min(least, due - now_s - e - k * each_s); over = over or due - now_s - e < .75 * k * each_s
                if k == n: break
                k *= 2
            if least < 0 and over:
                self._feasible = False
            if least < max(self._safe_s, self.urgent_s):
                pressed[own] = True
        return pressed if self._feasible else {}

    def _prospects(
        self,
        view: View,
        offers: Sequence[SlotView],
        laws: Laws,
        left: Left,
    ) -> list[Prospect]:
        """Of each offer, for the jobs that are left."""
        known, now_s, prospects = view.known, view.now_s, []
        hour = known.market.clock.start_h + now_s / 3600
        for offer in offers:
            law = laws[offer.gpu.name]
            left_s, passing, for_tight, for_all = law.left_s(hour), False, True, True
            if left_s:
                few, passing = self.gate * law.enough, now_s + left_s < left.last_s
                for_tight, for_all = left.tight >= few, left.number >= few
                if for_all and self.closing:
                    for_all = not costly(known, law, left_s, left.number)
            prospects.append(Prospect(offer, law, left_s, passing, for_tight, for_all))
        return prospects

    def _next(
        self,
        view: View,
        prospects: list[Prospect],
        left: Left,
    ) -> tuple[Job | None, tuple[SlotView, ...]]:
        """The job that goes next, with its slot; None if all are held."""
        pairs = self._pairs(view, prospects, left)
        if not pairs:  # what a scarce slot would hold may go to another
            plentiful = [prospect for prospect in prospects if not prospect.left_s]
            pairs = self._pairs(view, plentiful, left)
        if not pairs:
            return None, ()
        *_, job, slot = min(pairs)
        return job, (slot,)

    def _pairs(
        self,
        view: View,
        prospects: list[Prospect],
        left: Left,
    ) -> list[Pair]:
        """The first job of each tier of each class, on the best slot for the class."""
        known, now_s = view.known, view.now_s
        for_all = [each for each in prospects if each.for_all]
        for_tight = [each for each in prospects if each.for_tight or each.for_all]
        scarce = [each for each in for_tight if each.left_s and each.for_tight]
        contested = bool(scarce) and not known.free_types
        pairs: list[Pair] = []
        for own in left.classes:
            served = for_tight if own.tight else for_all
            if not served:
                continue
            level = own.complexity - 1
            mu = left.number * self.price_wait / 60 / len(known.fleet)
            best = least_held(served, level, self._safe_s if own.tight else 0.0, mu)
            ready_s = now_s + best.slot.gpu.mean_execution_s[level]
            e = known.fastest_s[level]
            tiers = self._tiers(own.tight, e, ready_s, best, contested)
            if own in self._pressed and not best.left_s:
                tiers = ((ready_s, 3, e), (inf, 0, 0.0))
            for rank, key, job in fronts(own, tiers, left):
                pairs.append((rank, key, job.deadline_s, job.id, job, best.slot))
        return pairs

    def _tiers(
        self,
        tight: bool,
        e: float,
        ready_s: float,
        prospect: Prospect,
        contested: bool,
    ) -> Sequence[Tier]:
        """The tiers of a class on a slot, by rising deadline.

        e: its least mean time, seconds. ready_s: when a job would end without delay.
        contested: whether a scarce slot would serve tight jobs, too.
        """
        doomed, safe_s = (ready_s, 3, e), ready_s + self._safe_s
        if not prospect.left_s:
            if tight and contested:
                return doomed, (inf, 0, 0.0)
            urgent_s = ready_s + max(self._safe_s, self.urgent_s)
            return doomed, (safe_s, 2, e), (urgent_s, 0, 0.0), (inf, 1, e)
        key = 0.0 if self.scarce_edf and (prospect.passing or self._feasible) else e
        if tight:
            later_s = inf
            if self.recovery:
                later_s = ready_s + prospect.left_s + self.urgent_s
            lost = (1 if prospect.passing else 3) if prospect.for_all else HELD
            served = 0 if prospect.for_tight else HELD
            return (ready_s, lost, key), (later_s, served, key), (inf, HELD, key)
        return (ready_s, 3, key), (safe_s, 2, key), (inf, 1, key)


def costly(known: Known, law: Law, left_s: float, waiting: int) -> bool:
    """Whether a dispatch on a scarce type costs the others more than it spares its job.

    It goes h earlier than after the scarcity. Each of the others is delayed, over all
    slots, by the time for which the slot is then expected to be missing, less the time
    that the job would have taken then.
    """
    if left_s == inf:
        return False
    missing_s = overrun_s(known.market, law.low, law.work_s, left_s)
    return waiting * (missing_s - law.later_s) / len(known.fleet) > left_s


def least_held(
    prospects: Sequence[Prospect],
    level: int,
    margin_s: float,
    mu: float,
) -> Prospect:
    """Whose slot a job of complexity `level` + 1 will hold for the least mean time.

    A scarce one counts margin_s more.
    """

    def held_s(prospect: Prospect) -> float:
        mean_s = prospect.slot.gpu.mean_execution_s[level]
        own_s = prospect.law.delay_s + mean_s
        held_s = own_s + (margin_s if prospect.left_s else 0.0)
        return held_s * mu + mean_s * prospect.slot.gpu.price_usd_per_h / 3600

    return min(prospects, key=held_s) if len(prospects) > 1 else prospects[0]


def fronts(
    own: JobClass,
    tiers: Sequence[Tier],
    left: Left,
) -> Iterator[tuple[int, float, Job]]:
    """Rank and key of each tier of a class that is served, and its first job left."""
    first, deadlines_s = 0, own.deadlines_s
    for before_s, rank, key in tiers:
        if deadlines_s[first] >= before_s:
            continue
        last = deadlines_s[-1] < before_s
        stop = len(deadlines_s) if last else bisect_left(deadlines_s, before_s, first)
        job = left.front(own, first, stop) if rank != HELD else None
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
    laws: Laws,
) -> tuple[SlotView, ...]:
    """The chosen slot, and for a job of several GPUs others of least delay, if idle."""
    slots = [chosen]
    while len(slots) < job.gpus:
        offers = view.offers_after(offers, slots[-1])
        if not offers:
            break
        slots.append(min(offers, key=lambda slot: laws[slot.gpu.name].delay_s))
    return tuple(slots)
