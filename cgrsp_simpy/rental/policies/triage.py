"""Triage: apparent tardiness cost in USD, with slots left idle if that costs less.

All costs are in USD: u per second of waiting, v per second of lateness, M per missed
deadline, and the rent. With D the provisioning delay expected now (`outlook`), W
the mean execution time, including work repeated after preemptions, and x = deadline -
now - W the laxity, a dispatch costs a job

    c = u E[D] + v E[(D - x)+] + M P(D > x),                                        (1)

and the rent of D if it is billed. A job's weight multiplies its u, v and M.

The slot. n is the total weight of the waiting jobs, m the number of slots. Each second
for which a slot is occupied delays these jobs, and those that arrive before the queue
is empty. With the load L, the ratio of the arrival rate to the rate of the busy fleet,
a second costs s = u n / (m max(1 - L, 1/2)); the limit of 1/2 is set because bursts are
temporary. The best of the idle slots for a job is that with the least

    rent x W + c + s (W + E[D])                                                     (2)

The job. The first of the jobs that are not held is the one with the greatest cost of
waiting per second of the slot, as in apparent tardiness cost (Vepsalainen and Morton
1987):

    [u + v P(D > x) + (1 - P(D > x)) M / h x exp(-S / h)] / (W + E[D])              (3)

S: the slack, measured as the number of jobs that the busy fleet completes until the
latest start, divided by its current rate; h = `ahead_s` + `spread` x the standard
deviation of the queue's service time, so that the index looks further ahead for a
longer queue. For a job that is already late, (3) is (u + v) / (W + E[D]).

Now or later. A job is held if one of these alternatives costs less:

- The same slot at a later time T with a better stock model. With r the sum over the
  waiting jobs of the numerators of (3), divided by m, and D' the delay at that time,
      c + r E[(D + W - T)+]
          >  u (T + E[D']) + v E[late] + M P(late) + r (W + E[D'])                  (4)
  P(late) is the greater of two probabilities: that the delay is too long, and that the
  queue is. The job is the kth by deadline, C is the number of jobs that the fleet
  completes from T to its latest start, and C - k is assumed normal, of variance 2 k.
- The same slot when its type, last observed Low, is no longer Low, after an exponential
  time T: as in (4), except that the slot costs r all the time, so that r E[D] is
  compared with r (T + E[D']). D' is for the stock expected at the next observation.
- A busy slot of a cheaper type. An additional job in its queue delays the others until
  the queue is empty, after B = n / max(rate - arrivals, rate / 2), where the rate is
  that of all types with no greater rent:
      rent x W + c  >  rent' x W' + u B + c' at laxity x' - B                       (5)

If Low stock is a refusal, its delay in D is the time until an attempt finds other stock
and that instance is provisioned. A refused job holds no slot: the E[D] added to W in
(2) and (3), and the billed one, exclude refusals, and no job waits for a better hour.

From each class of jobs the first late job and the first other job are compared. Warm
instances (D = 0), free types (all slots are offered as all types) and stock that is
never scarce are special cases. The equations are functions of numbers, lists and
tuples, which `rental.kernel` compiles for arrays, with bit-identical results.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import namedtuple
from collections.abc import Collection
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import erfc, exp, inf, sqrt
from typing import Any

from cgrsp_simpy.base.parameters import NotNegative, Positive, declared
from cgrsp_simpy.base.policy import Wake
from cgrsp_simpy.rental.policies.outlook import (
    Delay,
    Forecasts,
    Later,
    Outlook,
    band_at,
    beyond,
    completed,
    last_look_s,
    quick,
    until_s,
)
from cgrsp_simpy.rental.policies.rules import assign
from cgrsp_simpy.rental.view import Assignment, JobClass, View

SAMPLED = 3  # jobs per class whose rates are summed in Eq. 4


@dataclass(slots=True)
class Front:
    """The first job of a class that is already late (part 0), or that is not (1)."""

    job_class: int = 0
    part: int = 0
    # its place in the queue
    at: int = 0
    deadline_s: float = 0.0
    level: int = 0
    weight: float = 0.0
    id: int = 0
    gpus: int = 0
    # the slot on offer of least (2), the job's (1) and rent of D there, and (3)
    offer: int = 0
    usd: float = 0.0
    index: float = 0.0
    # position -> row in this position
    next: int = 0


class Queue(namedtuple("Queue", "due_s first last weight level turn")):
    """The waiting jobs by class; `turn` is the order of summation.

    due_s: increasing deadlines, from position `first` to `last`. level: complexity - 1.
    """

    __slots__ = ()


class Moment(
    namedtuple(
        "Moment",
        "forecasts queue delays later now_s band rate done wait_usd late_usd miss_usd"
        " ahead_s slot_usd",
    )
):
    """Values that are constant in a decision.

    delays, later: by type, the expected delay, and opportunities of shorter ones. rate:
    jobs per second that a busy fleet completes; done: jobs that it has completed.
    wait_usd, late_usd, miss_usd: u, v, M. ahead_s: h. slot_usd: s.
    """

    __slots__ = ()


def moment_of(
    forecasts: Forecasts,
    prices: Any,
    queue: Queue,
    delays: Any,
    later: Any,
    now_s: float,
) -> Moment:
    """Compute a decision's Moment. prices: the policy's parameters, in order."""
    band, waiting, weight = band_at(forecasts, now_s), 0, 0.0
    for job_class in queue.turn:
        number = queue.last[job_class] - queue.first[job_class]
        waiting += number
        weight += queue.weight[job_class] * number
    wait_usd, rate = prices[2] / 60, forecasts.rates[band]
    line_sd_s = forecasts.variations[band] * sqrt(waiting) / rate
    return Moment(
        forecasts,
        queue,
        delays,
        later,
        now_s,
        band,
        rate,
        completed(forecasts, now_s),
        wait_usd,
        prices[1] / 60,
        prices[0],
        prices[3] + prices[4] * line_sd_s,
        wait_usd * weight / forecasts.slots * rate / forecasts.spares[band],
    )


# ---- the job and its slot ----


def late_of(now: Moment, job_class: int) -> int:
    """Return the position of the first job of a class that is not yet late."""
    queue = now.queue
    ready_s = now.now_s + now.forecasts.fastest_s[queue.level[job_class]]
    first, last = queue.first[job_class], queue.last[job_class]
    return int(bisect_left(queue.due_s[job_class], ready_s, first, last))


def set_fronts(now: Moment, taken: Any, fronts: Any) -> int:
    """Set the fronts, except id and gpus; return their number."""
    number, queue = 0, now.queue
    for job_class in queue.turn:
        late = late_of(now, job_class)
        for part in range(2):
            at = (late if part else queue.first[job_class]) + taken[job_class][part]
            if at < (queue.last[job_class] if part else late):
                front = fronts[number]
                front.job_class, front.part, front.at = job_class, part, at
                front.deadline_s = queue.due_s[job_class][at]
                front.level = queue.level[job_class]
                front.weight = queue.weight[job_class]
                number += 1
    return number


def set_cheapest(now: Moment, front: Any, offers: Any) -> None:
    """Set the offer of a job with the least value (2), and its index. offers: types."""
    least_usd = inf
    for place in range(len(offers)):
        all_usd, usd = service_usd(now, front, offers[place])
        if all_usd < least_usd:
            least_usd = all_usd
            front.offer, front.usd = place, usd
    front.index = index_of(now, front, offers[front.offer])


def cost_usd(now: Moment, delay: Delay, left_s: float, after_s: float) -> float:
    """Return (1) at weight 1, for a delay that begins after after_s seconds."""
    chance, late_s = beyond(delay, left_s - after_s)
    usd = now.wait_usd * (after_s + delay.mean_s)
    return float(usd + now.late_usd * late_s + now.miss_usd * chance)


def service_usd(now: Moment, front: Any, kind: int) -> tuple[float, float]:
    """Return (2) for a job on a slot of a type, and the part of it that is neither rent
    of W nor delay of other jobs.
    """
    forecasts, level, delay = now.forecasts, front.level, now.delays[kind]
    work_s = forecasts.work_s[kind][level]
    left_s = front.deadline_s - now.now_s - work_s
    usd = front.weight * cost_usd(now, delay, left_s, 0.0)
    usd += delay.held_s * forecasts.billed_usd_per_h[kind] / 3600
    others_usd = now.slot_usd * (work_s + delay.held_s)
    return forecasts.rent_usd[kind][level] + usd + others_usd, usd


def soonest(now: Moment, offers: Any) -> int:
    """Return the place of the offer with the least mean delay; ties go to the first."""
    best = 0
    for place in range(1, len(offers)):
        if now.delays[offers[place]].mean_s < now.delays[offers[best]].mean_s:
            best = place
    return best


def index_of(now: Moment, front: Any, kind: int) -> float:
    """Return (3) for a job on a slot of a type, per GPU."""
    delay, work_s = now.delays[kind], now.forecasts.work_s[kind][front.level]
    chance, _ = beyond(delay, front.deadline_s - now.now_s - work_s)
    usd = front.weight * rate_usd(now, front.deadline_s - work_s, chance)
    return float(usd / ((work_s + delay.held_s) * front.gpus))


def rate_usd(now: Moment, start_s: float, chance: float) -> float:
    """Return the numerator of (3), the cost of a second of waiting at weight 1.

    start_s: latest start of the job. chance: the probability that it is late.
    """
    usd: float = now.wait_usd + chance * now.late_usd
    if chance < 1.0:
        slack_s = (completed(now.forecasts, start_s) - now.done) / now.rate
        urgency = exp(-slack_s / now.ahead_s) / now.ahead_s
        usd += (1.0 - chance) * now.miss_usd * urgency
    return usd


def choose(
    now: Moment, fronts: Any, offers: Any, line_usd: float, left: int
) -> tuple[int, float]:
    """Return the front with the greatest index (3) that is not held, or -1.

    Also return the seconds until it should decide again, possibly infinite. line_usd:
    r. left: number of jobs not yet chosen.
    """
    for number in range(len(fronts)):
        front, at = fronts[number], number
        set_cheapest(now, front, offers)
        while at:
            other = fronts[fronts[at - 1].next]
            before = -other.index, other.deadline_s, other.id
            if before < (-front.index, front.deadline_s, front.id):
                break
            fronts[at].next = fronts[at - 1].next
            at -= 1
        fronts[at].next = number
    again_s = inf
    for number in range(len(fronts)):
        place = fronts[number].next
        held_s = held(now, fronts[place], offers, line_usd, left)
        if held_s < 0.0:
            return place, again_s
        again_s = min(again_s, held_s)
    return -1, again_s


# ---- now or later ----


def held(now: Moment, front: Any, offers: Any, line_usd: float, left: int) -> float:
    """Return how long a job is held for a cheaper service, in seconds, or -1.

    The time is infinite if the job is held until a slot becomes free.
    """
    for later in now.later[offers[front.offer]]:
        after_s = after_of(later, now.now_s)
        if after_s == inf:  # padding of an array
            break
        if saves(now, front, offers, later, after_s, line_usd):
            return 0.0 if later.seen else after_s
    return inf if cheaper(now, front, offers, left) else -1.0


def after_of(later: Later, now_s: float) -> float:
    """Return the seconds until a Later; infinite for the padding of an array."""
    return later.after_s if later.seen else until_s(later.after_s, now_s)


def line_of(now: Moment) -> float:
    """Return r: the cost of a second of a slot to all waiting jobs."""
    usd, queue, now_s = 0.0, now.queue, now.now_s
    for job_class in queue.turn:
        number = queue.last[job_class] - queue.first[job_class]
        if number:
            due_s, step = queue.due_s[job_class], max(1, number // SAMPLED)
            work_s = now.forecasts.fastest_s[queue.level[job_class]]
            total, sampled = 0.0, 0
            for at in range(
                queue.first[job_class] + step // 2, queue.last[job_class], step
            ):
                start_s = due_s[at] - work_s
                total += rate_usd(now, start_s, 1.0 if start_s < now_s else 0.0)
                sampled += 1
            usd += queue.weight[job_class] * total / sampled * number
    return float(usd / now.forecasts.slots)


def saves(
    now: Moment, front: Any, offers: Any, later: Later, after_s: float, line_usd: float
) -> bool:
    """Return whether the left side of (4) is greater than the right. after_s: T."""
    kind, wait_s = offers[front.offer], after_s + later.delay.mean_s
    delay, work_s = now.delays[kind], now.forecasts.work_s[kind][front.level]
    if later.seen:
        slot_s = wait_s - delay.mean_s
    else:
        _, missing_s = beyond(delay, after_s - work_s)
        slot_s = work_s + later.delay.mean_s - missing_s
    usd = front.usd - front.weight * now.wait_usd * wait_s - line_usd * slot_s
    usd -= later.delay.held_s * now.forecasts.billed_usd_per_h[kind] / 3600
    if usd <= 0.0:  # not even if it is in time then
        return False
    chance, late_s = late_then(now, front.deadline_s, work_s, later, after_s)
    least_usd = front.weight * (now.late_usd * late_s + now.miss_usd * chance)
    return bool(usd > least_usd)


def late_then(
    now: Moment, due_s: float, work_s: float, later: Later, after_s: float
) -> tuple[float, float]:
    """Return the probability that a job is late if held, and its mean lateness in s."""
    left_s, queue = due_s - now.now_s - work_s, now.queue
    if left_s < 0.0:
        return 1.0, after_s + later.delay.mean_s - left_s
    if later.seen:
        spare_s = max(0.0, left_s - later.delay.mean_s)
        chance = exp(-spare_s / after_s) if after_s else 0.0
        return chance, chance * after_s
    chance, late_s = beyond(later.delay, left_s - after_s)
    jobs, begin_s = 1, now.now_s + after_s
    for job_class in queue.turn:
        first, last = queue.first[job_class], queue.last[job_class]
        jobs += bisect_left(queue.due_s[job_class], due_s, first, last) - first
    start_s = max(begin_s, due_s - work_s)
    room = completed(now.forecasts, start_s) - completed(now.forecasts, begin_s)
    return max(chance, erfc((room - jobs) / sqrt(jobs) / 2) / 2), late_s


def cheaper(now: Moment, front: Any, offers: Any, left: int) -> bool:
    """Return whether waiting for a busy slot of another type costs less, by (5)."""
    forecasts, level = now.forecasts, front.level
    types = len(forecasts.work_s) // 2  # cold and warm
    now_usd = forecasts.rent_usd[offers[front.offer]][level] + front.usd
    for line in forecasts.lines[now.band][level]:
        kind = line.kind
        if line.rent_usd >= now_usd:
            break
        if kind in offers or types + kind in offers:
            continue
        left_s = front.deadline_s - now.now_s - forecasts.work_s[kind][level]
        delay = forecasts.delays[now.band][kind]
        usd = line.rent_usd + delay.held_s * forecasts.billed_usd_per_h[kind] / 3600
        after_s = left / line.spare
        if usd + front.weight * cost_usd(now, delay, left_s, after_s) < now_usd:
            return True
    return False


COMPILED = (
    *(after_of, moment_of, late_of, set_fronts, set_cheapest, cost_usd, rate_usd),
    *(choose, service_usd, soonest, index_of, held, line_of, saves, late_then, cheaper),
)

# ---- in SimPy ----


@declared(eq=False)
class Triage:
    """Dispatch the job whose waiting costs most to the cheapest slot, now or later.

    The equations are in the module's docstring; (3) has the form of Vepsalainen and
    Morton's index.

    Parameters
    ----------
    price_miss_usd, price_late_usd_per_min, price_wait_usd_per_min : float
        Cost of a missed deadline, a minute of lateness and a minute of waiting, >= 0.
        By default a minute of mean wait costs as much as a tenth of a per cent missed,
        as in the thesis, and a tenth of a late minute.
    ahead_s : float
        Look-ahead time of the index with an empty queue, seconds, > 0.
    spread : float
        Standard deviations of the queue's service time added to it, >= 0.
    look_s : float
        Seconds between decisions while jobs are held because stock is Low, > 0.
    """

    price_miss_usd: NotNegative = 1.0
    price_late_usd_per_min: NotNegative = 0.01
    price_wait_usd_per_min: NotNegative = 0.001
    ahead_s: Positive = 300.0
    spread: NotNegative = 0.6
    look_s: Positive = 60.0
    name: str = field(default="triage", init=False)
    _outlook: Outlook | None = field(default=None, init=False, repr=False)

    def __call__(self, view: View) -> list[Assignment | Wake]:
        return self.explained(view, None)

    def explained(
        self, view: View, reasons: dict[int, str] | None
    ) -> list[Assignment | Wake]:
        """Return the decision; the reason of each assignment is added to `reasons`."""
        outlook, offers = self._outlook, view.offers()
        if outlook is None or outlook.known is not view.known:
            outlook = Outlook(view.known)
            object.__setattr__(self, "_outlook", outlook)
        classes = [members for members in view.classes if members.jobs]
        delays: dict[int, Delay] = {}
        later: dict[int, list[Later]] = {}

        def kinds() -> list[int]:
            """Look up the types on offer, and their delays once."""
            offered = outlook.kinds(view, offers)
            for kind, slot in zip(offered, offers):
                if kind not in delays:
                    delays[kind], later[kind] = outlook.moment(view, slot)
            return offered

        state = queue_of(classes), delays, later, view.now_s
        now = quick(moment_of(outlook.forecasts, self.prices, *state))
        taken = [[0, 0] for _ in classes]
        rows = [Front() for _ in range(2 * len(classes))]
        line_usd, left, again_s = line_of(now), view.waiting, inf
        answer: list[Assignment | Wake] = []
        while offers:
            on_offer, fronts = kinds(), rows[: set_fronts(now, taken, rows)]
            for front in fronts:
                job = classes[front.job_class].jobs[front.at]
                front.id, front.gpus = job.id, job.gpus
            place, again_s = choose(now, fronts, on_offer, line_usd, left)
            if place < 0:
                break
            front = fronts[place]
            job = classes[front.job_class].jobs[front.at]
            slots = [offers[front.offer]]
            offers = view.offers_after(offers, slots[0])
            while len(slots) < job.gpus and offers:
                slots.append(offers[soonest(now, kinds())])
                offers = view.offers_after(offers, slots[-1])
            if len(slots) == job.gpus:  # if not, no slot is left
                answer.append(assign(job, slots))
                if reasons is not None:
                    reasons[job.id] = (
                        f"its wait costs most: {60 * front.index:.2g} USD per minute"
                        f" of wait and second on a slot; {front.usd:.2g} USD if"
                        " dispatched now"
                    )
                taken[front.job_class][front.part] += 1
                left -= 1
        if again_s < inf:
            look_s = last_look_s(view.known.market, view.now_s, self.look_s)
            answer.append(Wake(view.now_s + max(look_s, again_s)))
        return answer

    @cached_property
    def prices(self) -> tuple[float, ...]:
        """The policy's parameters, in order."""
        return tuple([float(getattr(self, item.name)) for item in fields(self)[:6]])


def queue_of(classes: Collection[JobClass]) -> Queue:
    """Return the waiting jobs by class."""
    number = len(classes)
    return Queue(
        [members.deadlines_s for members in classes],
        [0] * number,
        [len(members.jobs) for members in classes],
        [members.weight for members in classes],
        [members.complexity - 1 for members in classes],
        range(number),
    )
