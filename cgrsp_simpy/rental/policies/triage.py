"""Triage by scarcity (ours): what may wait for better stock waits, the rest is served.

Nearly all lateness comes from Low stock, which blocks a slot for hours and is possible
in some hours of the day only. The law of the stock is known, so a policy can tell those
hours, and what a dispatch in them may cost the jobs behind it. Everything is weighed in
USD: the rent, a price a missed deadline, and one a minute of lateness and of waiting.

The slot. With n jobs waiting for m slots, a second of a slot costs the others

    s = n x price of a second of waiting / m

and of the idle slots open to a class its first job that is not doomed takes the one of
least

    W x rent + (E[D] + W) x s + P(D > x) x miss + E[(D - x)+] x price of lateness

D: provisioning delay by the law of the hour (thesis Eq. 3.1 and 3.2); W: mean execution
time; x = deadline - now - W, the laxity.

The job. A type is scarce while Low stock is possible that does harm: whose longest
delay is above `harmless` of the shortest deadline window. On its slot a job is doomed
if x < 0, safe if x is no less than the longest delay without Low stock, and urgent if
it is safe and x < `urgent_s`. Ranks, and within them keys: the deadline, or the time e
on the fastest type (shortest first), over eleven for a job that is late, since each
minute costs price of lateness and of waiting, not of waiting alone:

    type not scarce      rank 0, by deadline: urgent; all not doomed of a class that
                                              is pressed
                         rank 1, shortest:    safe, not urgent; doomed, if all is calm
                         rank 2, shortest:    neither safe nor doomed
                         rank 3, shortest:    doomed
    type scarce, tight   rank 0, by deadline: not doomed
                                              held if served after the scarcity
                         rank 1, by deadline: doomed; held where the slot is closed;
                                              rank 3 if a loose line is infeasible
    type scarce, loose   all held where the slot is closed; else
                         rank 1, by deadline: safe
                         rank 2, by deadline: neither safe nor doomed
                         rank 3, by deadline: doomed

The line. Slots of the fleet complete a job every `pace` seconds by the law of the hour.
A tight class is pressed if for some k = 1, 2, 4, ... of its jobs by deadline

    deadline of the k-th - now - e - k x pace x tight jobs / jobs of the class

is below `urgent_s` plus a standard deviation of that line, by the law of the delays and
the mix of complexities: then just in time is too late. A deadline in the next hours in
which all types are scarce counts as their start (foresight). If the time left is below
0.75 of a line, the line is infeasible, no class is pressed, and those are saved that
take least time. A loose class is pressed likewise, by a line of all jobs and its own
deadlines, as long as all loose classes have time for their whole lines. All is calm if
there is time for 0.75 of the lines of all jobs, and none is due after the next scarce
hours begin. In scarcity that outlasts all deadlines the order is shortest first where a
line is infeasible, and the doomed go last; in other scarcity, where there is time for
less than 0.25 of a line.

Slots. A slot of a scarce type is closed if a dispatch would delay the jobs behind it by
more than it spares the job (both are waiting: its price cancels), or if fewer wait than
so slow a type is worth; the second holds for tight jobs by their own number. Where idle
slots of fixed type of both kinds are open to tight jobs, these go first, by deadline. A
slot of a type that is not scarce is not left idle; one with a warm instance never is.

Sight. Where stock persists and is seen, the law of a type is that of the moment, given
what was seen of it; it is scarce, and its slots are held, as `scarcity.seen_law` says.
No hours to come are scarce then: what is seen Low is waited for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, sqrt
from typing import NamedTuple

from cgrsp_simpy.model.checks import check_bool, check_number
from cgrsp_simpy.model.policy import Wake
from cgrsp_simpy.rental.gpu import GpuType
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.market import HIGH, LOW, MEDIUM
from cgrsp_simpy.rental.policies.rules import Tier, sent
from cgrsp_simpy.rental.policies.scarcity import (
    Law,
    Laws,
    Sight,
    all_scarce_h,
    late,
    law_of,
    next_band_s,
    next_look_s,
    overrun_s,
    seen_law,
    sight_of,
    variation,
)
from cgrsp_simpy.rental.view import Assignment, JobClass, Known, SlotView, View

HELD = -1  # the rank of a tier that is not served now
# shares of a line for which there must be time: to press, and for deadlines to count
FEASIBLE, HOPELESS = 0.75, 0.25


def triage(
    urgent_s: float = 300.0,
    gate: float = 0.3,
    harmless: float = 0.1,
    price_miss_usd: float = 1.0,
    price_late_usd_per_min: float = 0.01,
    price_wait_usd_per_min: float = 0.001,
    margin: bool = True,
    recovery: bool = True,
    closing: bool = True,
    scarce_edf: bool = True,
    line: bool = True,
    spread: bool = True,
    foresight: bool = True,
    late_first: bool = True,
    yielding: bool = True,
    score: bool = True,
    sight: bool = True,
    warm: bool = True,
    look_s: float = 30.0,
) -> Triage:
    """While Low stock is possible, earliest deadline first and slots held that would do
    harm; else shortest first, just in time; all weighed in USD.

    The default prices give the thesis's trade-off, in which a minute of mean wait
    weighs as much as a tenth of a per cent missed: 1 USD a miss at .001 USD a waiting
    minute; a late minute counts as ten waiting ones.

    Parameters
    ----------
    urgent_s : float
        Seconds before its latest start from which a job goes first; 0: never.
    gate : float
        Share of `Law.enough` that must wait, >= 0; 0: one job will do.
    harmless : float
        Low stock is no scarcity if its longest delay is at most this share of the
        shortest deadline window; 0: always is.
    price_miss_usd, price_late_usd_per_min, price_wait_usd_per_min : float
        What a missed deadline, and a minute of lateness and of waiting cost, >= 0.
    margin : bool
        A job is safe only if the longest delay without Low stock would not make it
        late; else every job is that is not doomed.
    recovery : bool
        Hold tight jobs that can be served when the scarcity has ended.
    closing : bool
        Close slots that would cost the waiting jobs more than they give.
    scarce_edf : bool
        In scarce hours earliest deadline first, else shortest first.
    line : bool
        Press classes whose line leaves no time.
    spread : bool
        A line leaves time for `urgent_s` and a standard deviation of its own; else for
        `urgent_s` alone.
    foresight : bool
        Deadlines in the scarce hours to come count as their start.
    late_first : bool
        Where all is calm, doomed jobs go by what their minutes cost; else last.
    yielding : bool
        In scarce hours doomed tight jobs go last where a loose line leaves no time.
    score : bool
        A slot is chosen by expected cost; else by expected occupation.
    sight : bool
        Where stock persists and is seen, its law is that given what was seen.
    warm : bool
        On a slot with a warm instance no delay is expected, and none is scarce.
    look_s : float
        Seconds between two looks at a slot that is held for what was seen, > 0.

    Returns
    -------
    Triage
        A function of a View.

    Notes
    -----
    The rules were chosen on the thesis's days and on scenarios 0 to 299 of
    `studies.suite`, of which the first hundred are those for training.

    What each rule is worth: cost a job in US cents at the default prices, rent
    included, on the training scenarios of `studies.suite`, four seeds each; and in how
    many of the 100 more than a point more is missed than under the best of the others:

    ================ ===== ==     ================ ===== ==
    all rules        14.24  2     line=false       14.51 11
    urgent_s=0       15.04 15     spread=false     14.46  4
    gate=0           14.14  2     foresight=false  14.19  2
    harmless=0       14.25  2     late_first=false 14.64  2
    margin=false     14.83  8     yielding=false   14.11  2
    recovery=false   14.23  3     score=false      14.21  4
    closing=false    14.55  3     sight=false      19.56  5
    scarce_edf=false 14.55  4     warm=false       14.30  3
    ================ ===== ==     ================ ===== ==

    By the 95 % interval of the difference over scenarios, each taken by itself,
    `urgent_s`, `margin` and `late_first` save; of the others that is not shown.
    `score` saves rent where prices lie far apart: with free types at .30 and 10 USD/h,
    the latter four times faster, 8.4 USD on the surge day against 36.4 without it, at
    equal misses.
    """
    return Triage(Rules(**locals()))


@dataclass(frozen=True)
class Rules:
    """The parameters of `triage`.

    miss_usd, late_usd_per_s, wait_usd_per_s: its prices, by the second. late_weight:
    share of the time of a job that is late in its key.
    """

    urgent_s: float
    gate: float
    harmless: float
    price_miss_usd: float
    price_late_usd_per_min: float
    price_wait_usd_per_min: float
    margin: bool
    recovery: bool
    closing: bool
    scarce_edf: bool
    line: bool
    spread: bool
    foresight: bool
    late_first: bool
    yielding: bool
    score: bool
    sight: bool
    warm: bool
    look_s: float
    late_usd_per_s: float = field(init=False)
    wait_usd_per_s: float = field(init=False)
    late_weight: float = field(init=False)

    def __post_init__(self) -> None:
        for name, kind in self.__annotations__.items():
            if kind == "bool":
                check_bool(name, getattr(self, name))
            elif not name.endswith(("_per_s", "_weight")):
                check_number(name, getattr(self, name), least=0)
        check_number("look_s", self.look_s, above=0)
        late_usd, wait_usd = self.price_late_usd_per_min, self.price_wait_usd_per_min
        weight = wait_usd / (wait_usd + late_usd) if late_usd else 1.0
        object.__setattr__(self, "late_usd_per_s", late_usd / 60)
        object.__setattr__(self, "wait_usd_per_s", wait_usd / 60)
        object.__setattr__(self, "late_weight", weight)


class Triage:
    """The policy that `triage` makes.

    rules: its parameters.
    """

    name = "triage"

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._known: Known | None = None  # of the run whose bands are kept
        self._bands: dict[int, Band] = {}

    def __call__(self, view: View) -> list[Assignment | Wake]:
        """The assignments at a view, and a Wake if jobs are held for better stock."""
        answer: list[Assignment | Wake] = []
        offers, left = view.offers(), Left(view)
        if not left.number:
            return answer
        decision = Decision(self.rules, self._band(view), view, left)
        while offers and left.number:
            prospects = decision.prospects(offers)
            job, slots = decision.next(prospects)
            if job is not None and job.gpus > 1:
                slots = decision.together(job, slots[0], offers)
            if job is None or len(slots) < job.gpus:  # all held, or no room for it
                answer += decision.wake(prospects)
                break
            answer.append(sent(job, slots))
            left.take(job)
            for slot in slots:
                offers = view.offers_after(offers, slot)
        return answer

    def _band(self, view: View) -> Band:
        known, now_s = view.known, view.now_s
        if known is not self._known:
            self._known, self._bands = known, {}
        number = known.market.band(now_s)
        if number not in self._bands:
            self._bands[number] = band_of(self.rules, known, now_s)
        return self._bands[number]


# ---- what is known beforehand ----


class Band(NamedTuple):
    """What is known of a band of the day, in which the law of the stock stays the same.

    Attributes
    ----------
    laws : dict
        By the name of the type.
    pace_s : float
        Mean time between two completions while all slots are busy.
    spread_s : float
        Standard deviation of the time that a line of one job takes; of n, times the
        root of n.
    scarce_h : tuple of (float, float) or None
        When next all types become scarce, and until when, hours of day; not where types
        are seen: these can be waited for.
    safe_s : float
        The laxity that makes a job safe.
    urgent_s : float
        That from which on it is not urgent.
    sights : dict
        By the name of the type what a look at it tells; None: nothing.
    """

    laws: Laws
    pace_s: float
    spread_s: float
    scarce_h: tuple[float, float] | None
    safe_s: float
    urgent_s: float
    sights: dict[str, Sight | None]


def band_of(rules: Rules, known: Known, time_s: float) -> Band:
    """The band of a time."""
    longest = [most for _, most in known.market.delay_s]
    windows_s = [each.window_s for each in known.classes if each.window_s is not None]
    harmless_s = rules.harmless * min(windows_s, default=0.0)
    laws = {gpu.name: law_of(known, gpu, time_s, harmless_s) for gpu in known.types}
    urgent_s = rules.urgent_s
    if urgent_s and longest[LOW] <= harmless_s:
        urgent_s = max(urgent_s, longest[LOW])
    safe_s = max(longest[HIGH], longest[MEDIUM]) if rules.margin else 0.0
    scarce_h = all_scarce_h(known, time_s, harmless_s)
    sights: dict[str, Sight | None] = {gpu.name: None for gpu in known.types}
    if rules.sight:
        sights = {g.name: sight_of(known, g, time_s, laws[g.name]) for g in known.types}
    if any(sights.values()):
        scarce_h = None
    seen = {gpu: sights[gpu.name] or laws[gpu.name] for gpu in known.types}
    pace = pace_s(known, {gpu: each.busy_s for gpu, each in seen.items()})
    met = {gpu: each.met for gpu, each in seen.items()}
    spread_s = pace * variation(known, met) if rules.spread else 0.0
    return Band(laws, pace, spread_s, scarce_h, safe_s, max(safe_s, urgent_s), sights)


def pace_s(known: Known, busy_s: Mapping[GpuType, float]) -> float:
    """Mean time between completions of a busy fleet; free types: of the best one."""
    if known.free_types:
        return min(busy_s.values()) / len(known.fleet)
    return 1.0 / sum(slots / busy_s[gpu] for gpu, slots in known.types.items())


# ---- a decision ----


class Left:
    """The waiting jobs that a decision has not sent yet.

    view: of the decision. classes: those of which jobs wait. number, tight: how many
    jobs, and how many of them are tight. last_s: the latest deadline of all that wait,
    seconds.
    """

    def __init__(self, view: View) -> None:
        self.classes = [own for own in view.classes if own.jobs]
        self.number = view.waiting
        self.tight = sum([len(own.jobs) for own in self.classes if own.tight])
        self.last_s = max([own.deadlines_s[-1] for own in self.classes], default=-inf)
        self._taken: set[Job] = set()
        self._passed: dict[tuple[JobClass, int], int] = {}

    def take(self, job: Job) -> None:
        """A job is sent.

        job: one that is left.
        """
        self.number -= 1
        self.tight -= job.tight
        self._taken.add(job)

    def front(self, own: JobClass, first: int, stop: int) -> Job | None:
        """The first job of a class that is left, from one place up to a later one.

        first, stop: places in it. Result: none if all are taken.
        """
        if not self._taken:
            return own.jobs[first]
        place = self._passed.get((own, first), first)  # those up to there are taken
        while place < stop and own.jobs[place] in self._taken:
            place += 1
        self._passed[own, first] = place
        return own.jobs[place] if place < stop else None


class Prospect(NamedTuple):
    """An offer at a decision.

    slot: the offer. law: of its type. left_s: for how long its type stays scarce.
    passing: whether a waiting job is due after that. for_tight, for_all: whether it is
    open to tight jobs that are not doomed, and to the others; where its type is not
    scarce, it is.
    """

    slot: SlotView
    law: Law
    left_s: float
    passing: bool
    for_tight: bool
    for_all: bool


Pair = tuple[int, float, float, int, Job, SlotView]
"""Rank, key, deadline, id; job, and the slot that it would take."""


class Decision:
    """What is worked out once at a view, and the choices made of it.

    rules: of the policy. band: in which the view lies. view: what is seen. left: the
    jobs that are not sent yet. share: the least share of the lines of tight jobs for
    which there is time. pressed: classes that must go now; none if that is in vain.
    """

    def __init__(self, rules: Rules, band: Band, view: View, left: Left) -> None:
        self.rules, self.band, self.view, self.left = rules, band, view, left
        self.known, self.now_s = view.known, view.now_s
        self._hour = self.known.market.clock.start_h + self.now_s / 3600
        self._second_usd = rules.wait_usd_per_s / len(self.known.fleet)
        self._laws: dict[str, Law] = {}
        self.pressed: list[JobClass] = []
        self.share = inf
        if rules.line:
            self._press()

    # ---- the line before a job ----

    @cached_property
    def _scarce_s(self) -> tuple[float, float]:
        """From when on all types are scarce next, and until when, seconds."""
        if self.band.scarce_h is None:
            return inf, inf
        start_h, end_h = self.band.scarce_h
        start_s = self.now_s + (start_h - self._hour) % 24 * 3600
        return start_s, start_s + (end_h - start_h) % 24 * 3600

    def _press(self) -> None:
        """Find the pressed classes."""
        left, all_fit = self.left, True
        for own in left.classes:
            if own.tight:
                spare_s, share = self._line(own, left.tight)
                self.share = min(self.share, share)
            else:
                spare_s, share = self._line(own, left.number, foresight=False)
                all_fit = all_fit and share >= 1
            if spare_s < self.band.urgent_s:
                self.pressed.append(own)
        if not (self.feasible and all_fit):
            self.pressed = [own for own in self.pressed if own.tight and self.feasible]

    @property
    def feasible(self) -> bool:
        """Whether there is time for the lines of tight jobs."""
        return self.share >= FEASIBLE

    @cached_property
    def calm(self) -> bool:
        """Whether late jobs may go first: there is time for the lines of all jobs, and
        none is due after the next scarce hours begin.
        """
        if not (self.rules.late_first and self.feasible):
            return False
        if self.left.last_s >= self._scarce_s[0]:
            return False
        number = self.left.number
        lines = [self._line(own, number) for own in self.left.classes]
        return all(share >= FEASIBLE for _, share in lines)

    @cached_property
    def room(self) -> bool:
        """Whether doomed tight jobs may go before loose ones: there is time for the
        lines of these if they wait for all jobs.
        """
        number, classes = self.left.number, self.left.classes
        loose = [own for own in classes if self.rules.yielding and not own.tight]
        return all(self._line(own, number)[1] >= FEASIBLE for own in loose)

    def _line(
        self,
        own: JobClass,
        jobs: int,
        foresight: bool = True,
    ) -> tuple[float, float]:
        """The least time to spare of a class's jobs that are not doomed, at 1, 2, 4,
        ... of them, less a standard deviation of their lines; and the least share of
        these for which there is time.

        jobs: how many share the slots, those of the class among them. foresight:
        whether deadlines in the scarce hours to come count as their start.
        """
        e, deadlines_s = self.known.fastest_s[own.complexity - 1], own.deadlines_s
        ready_s = self.now_s + e
        first = bisect_left(deadlines_s, ready_s)
        each_s = self.band.pace_s * jobs / len(deadlines_s)
        spread_s = self.band.spread_s * sqrt(jobs / len(deadlines_s))
        last, number, least_s, share = len(deadlines_s) - first, 1, inf, inf
        while number < 2 * last:
            number = min(number, last)
            due_s = deadlines_s[first + number - 1]
            if foresight:
                due_s = self._due_s(due_s, e)
            line_s = number * each_s
            spare_s = due_s - ready_s - line_s
            least_s = min(least_s, spare_s - spread_s * sqrt(number))
            share = min(share, 1 + spare_s / line_s)
            number *= 2
        return least_s, share

    def _due_s(self, deadline_s: float, e: float) -> float:
        """By when a job must be sent on its way: no later than the scarce hours begin,
        if they end too late for it.
        """
        start_s, end_s = self._scarce_s
        if not self.rules.foresight or deadline_s <= start_s:
            return deadline_s
        return start_s if deadline_s < end_s + self.band.urgent_s + e else deadline_s

    # ---- the slots ----

    def prospects(self, offers: Sequence[SlotView]) -> list[Prospect]:
        """Of each offer, for the jobs that are left.

        offers: what can be provisioned. Result: in the same order.
        """
        return [self._prospect(offer) for offer in offers]

    def law(self, slot: SlotView) -> Law:
        """The law of a slot's type: of the band, or where it is seen, of the moment;
        without delay if the slot has a warm instance.
        """
        gpu = slot.gpu
        if self.rules.warm and self.known.terms.warm_s and self.view.warm(slot):
            return self.band.laws[gpu.name].warm
        sight = self.band.sights[gpu.name]
        if sight is None:
            return self.band.laws[gpu.name]
        if gpu.name not in self._laws:
            market, seen_s = self.known.market, self.view.seen_s(slot)
            assert seen_s is not None
            status = self.view.status(slot)
            law = seen_law(market, gpu, sight, self.now_s, seen_s, status)
            self._laws[gpu.name] = law
        return self._laws[gpu.name]

    def wake(self, prospects: Sequence[Prospect]) -> list[Wake]:
        """When to look again at what is held; none where that has no end."""
        market, at_s = self.known.market, []
        for prospect in prospects:
            if prospect.law.held:
                look_s = next_look_s(market, self.now_s)
                at_s.append(self.now_s + max(self.rules.look_s, look_s))
            elif 0 < prospect.left_s < inf:
                at_s.append(next_band_s(market, self.now_s))
        return [Wake(min(at_s))] if at_s else []

    def _prospect(self, offer: SlotView) -> Prospect:
        law, left = self.law(offer), self.left
        if law.held:
            left_s = law.left_s(self._hour)
            return Prospect(offer, law, left_s, False, False, False)
        if not law.scarce:
            return Prospect(offer, law, 0.0, False, True, True)
        left_s = law.left_s(self._hour)
        few, passing = self.rules.gate * law.enough, self.now_s + left_s < left.last_s
        for_all = left.number >= few
        if for_all and self.rules.closing:
            for_all = not costly(self.known, law, left_s, left.number)
        return Prospect(offer, law, left_s, passing, left.tight >= few, for_all)

    def _best(self, own: JobClass, served: Sequence[Prospect]) -> Prospect:
        """The slot on which a class costs least, by its first job not doomed."""
        if len(served) == 1:
            return served[0]
        deadlines_s, level = own.deadlines_s, own.complexity - 1
        first = bisect_left(deadlines_s, self.now_s + self.known.fastest_s[level])
        due_s = deadlines_s[first] if first < len(deadlines_s) else inf
        usd = [self.usd(each, level, due_s - self.now_s) for each in served]
        return served[usd.index(min(usd))]

    def usd(self, prospect: Prospect, level: int, left_s: float) -> float:
        """Expected cost of a job on a slot.

        prospect: the slot. level: complexity - 1. left_s: seconds to the deadline;
        infinite: it is late anyway. Result: rent, slot time, and the chance of being
        late; where `score` is off, the slot time alone, seconds.
        """
        rules, gpu, law = self.rules, prospect.slot.gpu, prospect.law
        mean_s = gpu.mean_execution_s[level]
        if not rules.score:
            return mean_s + law.delay_s
        usd = (mean_s + law.delay_s) * self.left.number * self._second_usd
        usd += mean_s * gpu.price_usd_per_h / 3600
        if left_s - mean_s < law.longest_s:
            chance, late_s = late(self.known.market, law, left_s - mean_s)
            usd += chance * rules.price_miss_usd + late_s * rules.late_usd_per_s
        return usd

    def together(
        self,
        job: Job,
        chosen: SlotView,
        offers: Sequence[SlotView],
    ) -> tuple[SlotView, ...]:
        """The chosen slot, and for a job of several GPUs others of least delay.

        chosen: its first slot. offers: among which that is. Result: as many as the job
        has GPUs, or all that are idle.
        """
        slots = [chosen]
        while len(slots) < job.gpus:
            offers = self.view.offers_after(offers, slots[-1])
            if not offers:
                break
            slots.append(min(offers, key=lambda slot: self.law(slot).delay_s))
        return tuple(slots)

    # ---- the job ----

    def next(
        self,
        prospects: list[Prospect],
    ) -> tuple[Job | None, tuple[SlotView, ...]]:
        """The job that goes next, with its slot.

        prospects: what is idle. Result: job and slot; None and no slot if all jobs are
        held.
        """
        pairs = self._pairs(prospects)
        if not pairs:  # what a scarce slot would hold may go to another
            plentiful = [each for each in prospects if not each.left_s]
            pairs = self._pairs(plentiful) if plentiful else []
        if not pairs:
            return None, ()
        *_, job, slot = min(pairs)
        return job, (slot,)

    def _pairs(self, prospects: list[Prospect]) -> list[Pair]:
        """The first job of each tier of each class, on the best slot for the class."""
        for_all = [each for each in prospects if each.for_all]
        for_tight = [each for each in prospects if each.for_tight or each.for_all]
        scarce = [each for each in prospects if each.left_s and each.for_tight]
        contested = bool(scarce) and not self.known.free_types
        pairs: list[Pair] = []
        for own in self.left.classes:
            served = for_tight if own.tight else for_all
            if not served:
                continue
            best = self._best(own, served)
            for rank, key, job in fronts(
                own, self._tiers(own, best, contested), self.left
            ):
                pairs.append((rank, key, job.deadline_s, job.id, job, best.slot))
        return pairs

    def _tiers(
        self,
        own: JobClass,
        best: Prospect,
        contested: bool,
    ) -> Sequence[Tier]:
        """The tiers of a class on a slot, by rising deadline.

        contested: whether a scarce slot would serve tight jobs, too.
        """
        level = own.complexity - 1
        e = self.known.fastest_s[level]
        ready_s = self.now_s + best.slot.gpu.mean_execution_s[level]
        if best.left_s:
            return self._scarce_tiers(own.tight, e, ready_s, best)
        doomed = (ready_s, 3, e)
        if own in self.pressed:
            return doomed, (inf, 0, 0.0)
        if own.deadlines_s[0] < ready_s and self.calm:
            doomed = ready_s, 1, e * self.rules.late_weight
        if own.tight and contested:
            return doomed, (inf, 0, 0.0)
        safe_s, urgent_s = ready_s + self.band.safe_s, ready_s + self.band.urgent_s
        return doomed, (safe_s, 2, e), (urgent_s, 0, 0.0), (inf, 1, e)

    def _scarce_tiers(
        self,
        tight: bool,
        e: float,
        ready_s: float,
        best: Prospect,
    ) -> Sequence[Tier]:
        """The same where its type is scarce.

        e: the least mean time of the class, seconds. ready_s: when a job would end
        without delay.
        """
        rules = self.rules
        least = HOPELESS if best.passing else FEASIBLE
        by_deadline = rules.scarce_edf and self.share >= least
        key = 0.0 if by_deadline else e
        if not tight:
            return (
                (ready_s, 3, key),
                (ready_s + self.band.safe_s, 2, key),
                (inf, 1, key),
            )
        later_s = inf
        if rules.recovery:
            later_s = ready_s + best.left_s + rules.urgent_s
        lost = (1 if best.passing and self.room else 3) if best.for_all else HELD
        served = 0 if best.for_tight else HELD
        return (ready_s, lost, key), (later_s, served, key), (inf, HELD, key)


def costly(known: Known, law: Law, left_s: float, waiting: int) -> bool:
    """Whether a dispatch on a scarce type costs the others more than it spares its job.

    It goes h earlier than after the scarcity. Each of the others is delayed, over all
    slots, by the time for which the slot is then expected to be missing, less the time
    that the job would have taken then.
    """
    if left_s == inf:
        return False
    missing_s = overrun_s(known.market, law.chances[LOW], law.work_s, left_s)
    return waiting * (missing_s - law.later_s) / len(known.fleet) > left_s


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
