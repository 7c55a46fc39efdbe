"""Triage (ours): apparent tardiness cost in money, and a slot left idle where that is
cheaper.

All is weighed in USD: u a second of waiting, v a second of lateness, M a missed
deadline, and the rent. With D the provisioning delay that a moment lets expect (`law`),
W the mean execution time, and x = deadline - now - W the laxity, a dispatch costs a job

    c = u E[D] + v E[(D - x)+] + M P(D > x),                                        (1)

and the rent of D where it is billed. A job's weight multiplies its u, v and M.

The slot. n jobs, counted by weight, wait for m slots, so that a second of a slot costs
the others s = u n / m; of those on offer a job would take the one of least

    rent x W + c + s (W + E[D])                                                     (2)

The job. Of those that are not held the one goes first whose waiting costs most a second
of the slot, as in apparent tardiness cost (Vepsalainen and Morton 1987):

    [u + v P(D > x) + (1 - P(D > x)) M / h x exp(-S / h)] / (W + E[D])              (3)

S: the slack, as the time that the busy fleet takes at the pace of the hour for what it
completes until the latest start; h = `ahead_s` + `spread` x the standard deviation of
the time that the line takes at that pace: the more wait, the further one has to look
ahead. For a job that is late already this is (u + v) / (W + E[D]).

Now or later. It is held if one of these costs less:

- The same slot at a later hour T, whose law of the stock is better. With r the sum of
  the waiting jobs' rates, the numerators of (3), over m, and D' the delay then,

      c + r E[(D + W - T)+]
          >  u (T + E[D']) + v E[late] + M P(late) + r (W + E[D'])                  (4)

  P(late) is that of the delay, or of its place in the line, whichever is greater: the
  job is the kth by deadline, C is what the fleet completes from T to its latest start,
  and C - k is taken as normal, of variance 2 k.
- The same slot when its type, seen Low, has recovered, T exponential: the same, but
  that the slot is worth r all the time, so that r E[D] stands against r (T + E[D']).
- A busy slot of a type that is cheaper. One job more in its line delays the others
  until that is empty, after B = n / max(rate - arrivals, rate / 2), by the rate of all
  types that are no dearer; the half, since a burst passes:

      rent x W + c  >  rent' x W' + u B + c' at laxity x' - B                       (5)

Of each class of jobs the first that is late and the first that is not are weighed.
Warm instances (D = 0), free types (all slots are offered as all types) and stock that
is never scarce are cases of these.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import erfc, exp, inf, sqrt
from typing import NamedTuple

from cgrsp_simpy.model.checks import check_number
from cgrsp_simpy.model.policy import Wake
from cgrsp_simpy.rental.gpu import GpuType
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.policies.law import Delay, Later, Outlook, rent_usd
from cgrsp_simpy.rental.policies.rules import sent
from cgrsp_simpy.rental.view import Assignment, JobClass, SlotView, View

SAMPLED = 3  # jobs of a class of which the rates are summed up in Eq. 4


@dataclass(eq=False)
class Triage:
    """The job whose waiting costs most goes to the slot on which it costs least, unless
    it costs less later.

    Its equations are in the module's text; all of them ours but for the form of (3).

    Parameters
    ----------
    price_miss_usd, price_late_usd_per_min, price_wait_usd_per_min : float
        What a missed deadline, and a minute of lateness and of waiting cost, >= 0. By
        default a minute of mean wait weighs as much as a tenth of a per cent missed, as
        in the thesis; a late minute counts as ten waiting ones.
    ahead_s : float
        How far the index looks ahead where nothing waits, seconds, > 0.
    spread : float
        Standard deviations of the line's time by which it looks further, >= 0.
    look_s : float
        Seconds, > 0, after which it looks again at what is held as it is seen Low.
    """

    price_miss_usd: float = 1.0
    price_late_usd_per_min: float = 0.01
    price_wait_usd_per_min: float = 0.001
    ahead_s: float = 300.0
    spread: float = 0.6
    look_s: float = 60.0
    name: str = field(default="triage", init=False)
    _outlook: Outlook | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for each in fields(self)[:6]:
            check_number(each.name, getattr(self, each.name), least=0)
        check_number("ahead_s", self.ahead_s, above=0)
        check_number("look_s", self.look_s, above=0)

    def __call__(self, view: View) -> list[Assignment | Wake]:
        """The assignments at a view, and a Wake if jobs are held for better stock."""
        if self._outlook is None or self._outlook.known is not view.known:
            self._outlook = Outlook(view.known)
        decision, offers = Decision(self, self._outlook, view), view.offers()
        answer: list[Assignment | Wake] = []
        while offers and (first := decision.first(offers)):
            slots = [first.slot]
            offers = view.offers_after(offers, first.slot)
            while len(slots) < first.job.gpus and offers:
                slots.append(min(offers, key=decision.mean_delay_s))
                offers = view.offers_after(offers, slots[-1])
            if len(slots) < first.job.gpus:  # no room for it, and it is not overtaken
                break
            answer.append(sent(first.job, slots))
            decision.sent.add(first.job)
        if decision.again_s < inf:
            answer.append(Wake(view.now_s + max(self.look_s, decision.again_s)))
        return answer


class Dispatch(NamedTuple):
    """A job on a slot, now.

    work_s: W. left_s: x. delay: D. later: when better ones are to be had. usd: (1).
    """

    job: Job
    slot: SlotView
    work_s: float
    left_s: float
    delay: Delay
    later: Sequence[Later]
    usd: float


class Decision:
    """What is worked out at a view, and the choices made of it.

    again_s: until the first of the times for which a job is held; infinite: none is.
    sent: the jobs that it has chosen.
    """

    def __init__(self, policy: Triage, outlook: Outlook, view: View) -> None:
        self.outlook, self.view, self.known = outlook, view, view.known
        self.now_s, self.again_s = view.now_s, inf
        self.sent: set[Job] = set()
        self._miss_usd = policy.price_miss_usd
        self._late_usd = policy.price_late_usd_per_min / 60
        self._wait_usd = policy.price_wait_usd_per_min / 60
        self._band = outlook.band(self.now_s)
        self._completed = outlook.completed(self.now_s)
        line_sd_s = self._band.variation * sqrt(view.waiting) / self._band.rate
        self._ahead_s = policy.ahead_s + policy.spread * line_sd_s
        waiting = sum(own.weight * len(own.jobs) for own in view.classes)
        self._slot_usd = self._wait_usd * waiting / len(self.known.fleet)
        self._moments: dict[str | int, tuple[Delay, list[Later]]] = {}

    def first(self, offers: Sequence[SlotView]) -> Dispatch | None:
        """The dispatch of greatest index (3) that is not held; None if all are."""
        self.again_s = inf
        ranked: list[tuple[float, float, int, Dispatch]] = []
        for own in self.view.classes:
            for job in self._fronts(own):
                now = self._cheapest(job, offers)
                chance, _ = now.delay.beyond(now.left_s)
                index = job.weight * self._rate_usd(job.deadline_s - now.work_s, chance)
                index /= (now.work_s + now.delay.mean_s) * job.gpus
                ranked.append((-index, job.deadline_s, job.id, now))
        ranked.sort()
        return next(
            (each[-1] for each in ranked if not self._held(each[-1], offers)), None
        )

    def mean_delay_s(self, slot: SlotView) -> float:
        """E[D] of a slot."""
        return self._moment(slot)[0].mean_s

    def _moment(self, slot: SlotView) -> tuple[Delay, list[Later]]:
        key = slot.index if self.view.warm(slot) else slot.gpu.name
        if key not in self._moments:
            self._moments[key] = self.outlook.moment(self.view, slot)
        return self._moments[key]

    # ---- the job and its slot ----

    def _fronts(self, own: JobClass) -> Iterator[Job]:
        """Of a class the first job that is late already, and the first that is not."""
        if not own.jobs:
            return
        ready_s = self.now_s + self.known.fastest_s[own.complexity - 1]
        late = bisect_left(own.deadlines_s, ready_s)
        for first, stop in ((0, late), (late, len(own.jobs))):
            while first < stop and own.jobs[first] in self.sent:
                first += 1
            if first < stop:
                yield own.jobs[first]

    def _cheapest(self, job: Job, offers: Sequence[SlotView]) -> Dispatch:
        """The slot of a job, by (2)."""
        level = job.complexity - 1
        best, least_usd = None, inf
        for slot in offers:
            work_s = slot.gpu.mean_execution_s[level]
            left_s = job.deadline_s - self.now_s - work_s
            delay, later = self._moment(slot)
            usd = job.weight * self._usd(left_s, delay)
            usd += self._billed_usd(slot.gpu, delay)
            others_usd = self._slot_usd * (work_s + delay.mean_s)
            all_usd = rent_usd(slot.gpu, level) + usd + others_usd
            if all_usd < least_usd:
                least_usd = all_usd
                best = Dispatch(job, slot, work_s, left_s, delay, later, usd)
        assert best is not None
        return best

    def _usd(self, left_s: float, delay: Delay, after_s: float = 0.0) -> float:
        """(1), of weight 1 and a delay that begins after some seconds."""
        chance, late_s = delay.beyond(left_s - after_s)
        usd = self._wait_usd * (after_s + delay.mean_s)
        return usd + self._late_usd * late_s + self._miss_usd * chance

    def _billed_usd(self, gpu: GpuType, delay: Delay) -> float:
        """The rent of a delay, where that is billed."""
        billed = self.known.terms.billed_from == "provisioning"
        return delay.mean_s * gpu.price_usd_per_h / 3600 if billed else 0.0

    def _rate_usd(self, start_s: float, chance: float) -> float:
        """The numerator of (3): what a second of waiting costs a job of weight 1.

        start_s: its latest start. chance: that it is late.
        """
        usd = self._wait_usd + chance * self._late_usd
        if chance < 1.0:
            slack_s = (
                self.outlook.completed(start_s) - self._completed
            ) / self._band.rate
            urgency = exp(-slack_s / self._ahead_s) / self._ahead_s
            usd += (1.0 - chance) * self._miss_usd * urgency
        return usd

    # ---- now or later ----

    def _held(self, now: Dispatch, offers: Sequence[SlotView]) -> bool:
        """Whether it costs less to be served later."""
        for later in now.later:
            if self._saves(now, later):
                self.again_s = min(self.again_s, 0.0 if later.seen else later.after_s)
                return True
        return self._cheaper(now, offers)

    @cached_property
    def _line_usd(self) -> float:
        """r: what a second of a slot costs all that wait."""
        usd = 0.0
        for own in self.view.classes:
            number = len(own.jobs)
            if number:
                work_s = self.known.fastest_s[own.complexity - 1]
                step = max(1, number // SAMPLED)
                sample = own.deadlines_s[step // 2 :: step]
                starts_s = [due_s - work_s for due_s in sample]
                rates = [self._rate_usd(s, float(s < self.now_s)) for s in starts_s]
                usd += own.weight * sum(rates) / len(rates) * number
        return usd / len(self.known.fleet)

    def _saves(self, now: Dispatch, later: Later) -> bool:
        """Whether the left side of (4) is the greater one."""
        wait_s = later.after_s + later.delay.mean_s
        if later.seen:
            slot_s = wait_s - now.delay.mean_s
        else:
            _, missing_s = now.delay.beyond(later.after_s - now.work_s)
            slot_s = now.work_s + later.delay.mean_s - missing_s
        weight = now.job.weight
        usd = now.usd - weight * self._wait_usd * wait_s - self._line_usd * slot_s
        usd -= self._billed_usd(now.slot.gpu, later.delay)
        if usd <= 0.0:  # not even if it is in time then
            return False
        chance, late_s = self._late(now, later)
        return usd > weight * (self._late_usd * late_s + self._miss_usd * chance)

    def _late(self, now: Dispatch, later: Later) -> tuple[float, float]:
        """How likely it is late then, and by how much on average, seconds."""
        after_s, left_s = later.after_s, now.left_s
        if left_s < 0.0:
            return 1.0, after_s + later.delay.mean_s - left_s
        if later.seen:
            spare_s = max(0.0, left_s - later.delay.mean_s)
            chance = exp(-spare_s / after_s) if after_s else 0.0
            return chance, chance * after_s
        chance, late_s = later.delay.beyond(left_s - after_s)
        due_s, begin_s = now.job.deadline_s, self.now_s + after_s
        before = [bisect_left(own.deadlines_s, due_s) for own in self.view.classes]
        jobs, start_s = 1 + sum(before), max(begin_s, due_s - now.work_s)
        room = self.outlook.completed(start_s) - self.outlook.completed(begin_s)
        return max(chance, erfc((room - jobs) / sqrt(jobs) / 2) / 2), late_s

    def _cheaper(self, now: Dispatch, offers: Sequence[SlotView]) -> bool:
        """Whether it costs less on a type that is busy, by (5)."""
        level = now.job.complexity - 1
        now_usd = rent_usd(now.slot.gpu, level) + now.usd
        for line in self._band.lines[level]:
            if line.rent_usd >= now_usd:
                break
            if any(slot.gpu == line.gpu for slot in offers):
                continue
            line_s = (self.view.waiting - len(self.sent)) / line.spare
            left_s = now.job.deadline_s - self.now_s - line.gpu.mean_execution_s[level]
            delay = self._band.delays[line.gpu.name]
            usd = line.rent_usd + self._billed_usd(line.gpu, delay)
            if usd + now.job.weight * self._usd(left_s, delay, line_s) < now_usd:
                return True
        return False
