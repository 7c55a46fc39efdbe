"""What the law of the stock says of a moment: the delay to expect of a type, when a
better one is to be had, and how many jobs the fleet completes until then.

A `Delay` is the law of a provisioning delay (thesis Eq. 3.1 and 3.2). An `Outlook` has
those of all types and hours of a run; where stock persists and is seen, that of the
moment. The functions of a `Law` run compiled, too (`rental.kernel`), over arrays.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import make_dataclass
from functools import cache
from itertools import accumulate
from math import ceil, exp, expm1, sqrt
from typing import Any, NamedTuple, TypeVar, cast

from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.rental.arrivals import HOURS
from cgrsp_simpy.rental.gpu import GpuType
from cgrsp_simpy.rental.market import HIGH, LOW, MEDIUM, Market, Status
from cgrsp_simpy.rental.stock import DAY_S
from cgrsp_simpy.rental.view import OperatorKnowledge, SlotView, View

ROUNDING = 1e-9  # of chances, and of seconds
BURST = 0.5  # share of its rate at which a line empties at least

Numbers = TypeVar("Numbers", bound=NamedTuple)
Chances = tuple[float, float, float]
"""Of High, Medium and Low stock."""


class Delay(NamedTuple):
    """The law of a provisioning delay: uniform between bounds, each with its chance.

    parts: chance, least and greatest delay in seconds, of each status that is possible.
    mean_s: E[D]. longest_s: the longest that is possible. held_s: mean time for which
    the job holds a slot before it starts; less than E[D] if Low stock is a refusal.
    """

    parts: tuple[tuple[float, float, float], ...]
    mean_s: float
    longest_s: float
    held_s: float


def beyond(delay: Delay, left_s: float) -> tuple[float, float]:
    """P(D > x), and E[(D - x)+] in seconds, of x seconds of either sign."""
    if left_s >= delay.longest_s:
        return 0.0, 0.0
    if left_s < 0.0:
        return 1.0, delay.mean_s - left_s
    chance = mean_s = 0.0
    for own, least, most in delay.parts:
        if left_s < least:
            chance += own
            mean_s += own * ((least + most) / 2 - left_s)
        elif left_s < most:
            over = own * (most - left_s) / (most - least)
            chance += over
            mean_s += over * (most - left_s) / 2
    return chance, mean_s


NO_DELAY = Delay((), 0.0, 0.0, 0.0)
"""That of a warm instance."""


def delay_of(
    bounds_s: Sequence[tuple[float, float]], chances: Sequence[float]
) -> Delay:
    """The delay at chances of High, Medium and Low stock, each with its bounds."""
    parts = [
        (chance, least, most)
        for chance, (least, most) in zip(chances, bounds_s)
        if chance > ROUNDING
    ]
    mean_s = summed([chance * (least + most) / 2 for chance, least, most in parts])
    return Delay(tuple(parts), mean_s, max([most for _, _, most in parts]), mean_s)


class Later(NamedTuple):
    """A chance to be served later on the same slot.

    after_s: seconds from now. delay: to expect then. seen: whether the time is the mean
    of an exponential law, that of stock that recovers (on two scales the mean is
    exact, the law taken for exponential); else it is an hour of the day.
    """

    after_s: float
    delay: Delay
    seen: bool = False


Line = tuple[int, float, float]
"""A type by its place, the rent of a job's mean execution time there, USD, and `spare`:
jobs a second that its slots, and all on which the rent is no more, complete beyond what
comes, > 0; where more comes than they can do, it is taken for a burst.
"""


class Band:
    """What is known of the hours of a day in which the law stays the same.

    start_s: from when on, seconds of the first day of the run. chances, delays, busy_s:
    of each type by name; the last is the mean time for which a job takes a slot. rate:
    jobs per second that the busy fleet completes. spare: the part of it beyond the
    arrivals, as in `Line`. variation: coefficient of variation of the time per job.
    lines: by complexity - 1, the cheapest first.
    """

    def __init__(self, known: OperatorKnowledge, start_s: float) -> None:
        self.known, self.market, self.start_s = known, known.market, start_s
        inside_s = start_s + 1  # a second later: the start itself is rounded
        self.chances = {
            gpu.name: self.market.probabilities(gpu, inside_s) for gpu in known.types
        }
        self.delays = {
            gpu.name: self.delay(gpu, self.chances[gpu.name]) for gpu in known.types
        }
        self.busy_s = {gpu.name: self._busy_of(gpu) for gpu in known.types}
        self.rate = self._rate()
        self.spare = self._spare(self.rate)
        self.variation = self._variation()
        self.lines = [self._lines(level) for level in range(len(known.complexity_mix))]

    def good(self, gpu: GpuType) -> Delay:
        """The delay of a type whose stock is not Low."""
        high, medium, low = self.chances[gpu.name]
        chances = high / (1 - low), medium / (1 - low), 0.0
        return delay_of(self.market.delay_s, chances)

    def delay(self, gpu: GpuType, chances: Chances) -> Delay:
        """The delay of a job at chances of High, Medium and Low stock.

        If Low stock is a refusal, the job tries again until the stock is not Low, for
        a day at most. Only the mean of that time is exact.
        """
        retry_s, low = self.known.terms.retry_s, self.chances[gpu.name][LOW]
        if retry_s is None:
            return delay_of(self.market.delay_s, chances)
        per_s = self.recovers_per_s(gpu)
        accepted = -expm1(-per_s * retry_s) if per_s else 1 - low  # at the next attempt
        mean_s = max(retry_s, DAY_S)
        good_s = self.good(gpu).mean_s if low < 1 - ROUNDING else 0.0
        if accepted > retry_s / DAY_S:
            mean_s = retry_s / accepted + good_s
        bounds_s = *self.market.delay_s[:LOW], (retry_s, 2 * mean_s - retry_s)
        delay = delay_of(bounds_s, chances)
        refused_s = chances[LOW] * (mean_s - good_s)
        return delay._replace(held_s=max(0.0, delay.mean_s - refused_s))

    def recovers_per_s(self, gpu: GpuType) -> float:
        """The rate at which Low stock becomes another; 0 where it does not persist."""
        holding, low = self.market.holding(gpu.name), self.chances[gpu.name][LOW]
        if not holding.persistence_s or 1 - low <= ROUNDING:
            return 0.0
        return (1 - low) / holding.recovery_s(low)

    def _busy_of(self, gpu: GpuType) -> float:
        """Mean time for which a job takes a slot.

        No job holds a slot during Low stock if that is a refusal, or seen and waited
        out. If the stock persists, the slot then works only the rest of the time.
        """
        work_s, low = mean_work_s(self.known, gpu), self.chances[gpu.name][LOW]
        per_s, good_s = self.recovers_per_s(gpu), 0.0
        avoided = self.known.terms.retry_s is not None and low < 1 - ROUNDING
        if low and (avoided or per_s):
            good_s, low_s = self.good(gpu).mean_s, sum(self.market.delay_s[LOW]) / 2
            seen = self.market.poll_s is not None and per_s
            avoided = avoided or bool(seen and low_s > 1 / per_s + good_s)
        if not avoided:
            return work_s + self.delays[gpu.name].mean_s
        return (work_s + good_s) / (1 - low if per_s else 1.0)

    def _rate(self) -> float:
        if self.known.free_types:
            return len(self.known.fleet) / min(self.busy_s.values())
        types = self.known.types.items()
        return summed(slots / self.busy_s[gpu.name] for gpu, slots in types)

    def _variation(self) -> float:
        slots = mean_s = square_s2 = 0.0
        for gpu, number in self.known.types.items():
            shares = zip(self.known.complexity_mix, expected_work_s(self.known, gpu))
            work_s2 = summed(share * s * s for share, s in shares)
            work_s, delay = mean_work_s(self.known, gpu), self.delays[gpu.name]
            delay_s2 = summed(
                p * (a * a + a * b + b * b) / 3 for p, a, b in delay.parts
            )
            slots += number
            mean_s += number * (work_s + delay.mean_s)
            square_s2 += number * (work_s2 + 2 * work_s * delay.mean_s + delay_s2)
        mean_s, square_s2 = mean_s / slots, square_s2 / slots
        return sqrt(max(0.0, square_s2 - mean_s * mean_s)) / mean_s

    def _lines(self, level: int) -> list[Line]:
        """None with free types: there is one line."""
        if self.known.free_types:
            return []
        lines, rate, types = list[Line](), 0.0, list(self.known.types)
        rents_usd = [rent_usd(self.known, gpu, level) for gpu in types]
        for place in sorted(range(len(types)), key=rents_usd.__getitem__):
            rate += self.known.types[types[place]] / self.busy_s[types[place].name]
            lines.append((place, rents_usd[place], self._spare(rate)))
        return lines

    def _spare(self, rate: float) -> float:
        """Jobs a second that slots of a rate complete beyond what comes."""
        arrivals = self.known.arrival_rate_per_s * self.known.gpus_per_job
        return max(rate - arrivals, BURST * rate)


class Law(NamedTuple):
    """An outlook in numbers, by band, by type in the order of
    `OperatorKnowledge.types`, and by complexity - 1.

    starts_s, rates, spares, variations: of bands. done: jobs that the busy fleet
    completes up to each, and in a day. delays: [band][type]. later: [band][type], the
    hours to come of less mean delay than all before, with their starts as `after_s`.
    lines: [band][level], triples of type, rent and `spare`. work_s, rent_usd:
    [type][level]. billed_usd_per_h: by type, what a delay costs. fastest_s: by level.
    slots: how many.
    """

    starts_s: Any
    rates: Any
    spares: Any
    variations: Any
    done: Any
    delays: Any
    later: Any
    lines: Any
    work_s: Any
    rent_usd: Any
    billed_usd_per_h: Any
    fastest_s: Any
    slots: int


def band_at(law: Law, time_s: float) -> int:
    """The band that holds at a time."""
    return bisect_right(law.starts_s, time_s % DAY_S, 0, len(law.starts_s)) - 1


def completed(law: Law, time_s: float) -> float:
    """Jobs that a fleet completes that is busy from the start of the run on."""
    days, since_s = time_s // DAY_S, time_s % DAY_S
    starts_s, done = law.starts_s, law.done
    place = bisect_right(starts_s, since_s, 0, len(starts_s)) - 1
    begun: float = days * done[-1] + done[place]
    begun += law.rates[place] * (since_s - starts_s[place])
    return begun


def until_s(start_s: float, time_s: float) -> float:
    """Seconds from a time to the next start of a band."""
    return (start_s - time_s % DAY_S) % DAY_S


def quick(values: Numbers) -> Numbers:
    """A named tuple as an object of which Python reads the fields faster."""
    return cast(Numbers, _plain(type(values))(*values))


@cache
def _plain(kind: Any) -> Any:
    return make_dataclass(kind.__name__, kind._fields, slots=True)


class Outlook:
    """What is known of a run's stock beforehand, and at a moment.

    known: of the scenario. bands: by their start. law: the same in numbers.
    """

    def __init__(self, known: OperatorKnowledge) -> None:
        self.known, self.market = known, known.market
        start_h = self.market.clock.start_h
        hours = {(hour - start_h) % 24 for hour in self.market.change_hours}
        starts_s = [hour * 3600 for hour in sorted({0.0, *hours})]
        self.bands = [Band(known, start_s) for start_s in starts_s]
        self.types = {gpu: place for place, gpu in enumerate(known.types)}
        either = [*known.types] * 2  # cold, and warm
        offered = known.gpus if known.free_types else known.fleet
        self._offered = [self.types[gpu] for gpu in offered]
        done = [0.0]
        for band, end_s in zip(self.bands, [*starts_s[1:], DAY_S]):
            done.append(done[-1] + band.rate * (end_s - band.start_s))
        billed = known.terms.billed_from == "provisioning"
        self.law = quick(
            Law(
                starts_s,
                [band.rate for band in self.bands],
                [band.spare for band in self.bands],
                [band.variation for band in self.bands],
                done,
                [[band.delays[gpu.name] for gpu in known.types] for band in self.bands],
                [
                    [self._later(place, gpu) for gpu in known.types]
                    for place in range(len(self.bands))
                ],
                [band.lines for band in self.bands],
                [expected_work_s(known, gpu) for gpu in either],
                [
                    [
                        rent_usd(known, gpu, level)
                        for level in range(len(gpu.mean_execution_s))
                    ]
                    for gpu in either
                ],
                [gpu.price_usd_per_h * billed for gpu in either],
                known.fastest_s,
                len(known.fleet),
            )
        )

    def _later(self, place: int, gpu: GpuType) -> list[Later]:
        """The better hours; none if Low stock is a refusal, as that holds no slot."""
        if self.known.terms.retry_s is not None:
            return []
        least_s, found = self.bands[place].delays[gpu.name].mean_s, []
        for band in [*self.bands[place + 1 :], *self.bands[:place]]:
            delay = band.delays[gpu.name]
            if delay.mean_s < least_s - ROUNDING:
                least_s = delay.mean_s
                found.append(Later(band.start_s, delay))
        return found

    def band(self, time_s: float) -> Band:
        """The one that holds at a time."""
        return self.bands[band_at(self.law, time_s)]

    def kinds(self, view: View, offers: Sequence[SlotView]) -> list[int]:
        """The types on offer, by place; of warm slots behind all others."""
        found, types = self._offered, len(self.types)
        if not self.known.free_types:
            found = [found[slot.index] for slot in offers]
        return [kind + types * view.warm(slot) for kind, slot in zip(found, offers)]

    def moment(self, view: View, slot: SlotView) -> tuple[Delay, list[Later]]:
        """The delay of a dispatch now, as far as is known, and chances of less."""
        gpu, now_s, market = slot.gpu, view.now_s, self.market
        if view.warm(slot):
            return NO_DELAY, []
        band, better = self.band(now_s), self._better(gpu, now_s)
        seen_s = view.seen_s(slot)
        if seen_s is None or not market.holding(gpu.name).persistence_s:
            return band.delays[gpu.name], better
        chances = seen_chances(market, gpu, now_s, seen_s, view.status(slot))
        delay, per_s = band.delay(gpu, chances), band.recovers_per_s(gpu)
        if chances[LOW] <= ROUNDING:
            return delay, []
        if not per_s:
            return delay, better
        look_s, law = next_look_s(market, now_s), band.chances[gpu.name]
        kept = market.holding(gpu.name).kept(now_s, now_s + look_s, seen_s)
        high, medium, low = (p + (q - p) * kept for p, q in zip(law, chances))
        back_s = 1 / per_s  # from Low stock at that look on
        if market.poll_s:  # until the first poll at which it is seen to be another
            back_s = market.poll_s / -expm1(-per_s * market.poll_s)
        if better:
            back_s *= 1 - exp(-per_s * better[-1].after_s)
        regained = low / (1 - law[LOW])  # Low stock becomes another by the law
        good = high + regained * law[HIGH], medium + regained * law[MEDIUM], 0.0
        later = Later(look_s + low * back_s, delay_of(market.delay_s, good), True)
        return delay, [*better, later]

    def _better(self, gpu: GpuType, time_s: float) -> list[Later]:
        """The hours to come, within a day, of less mean delay than all before."""
        hours = self.law.later[band_at(self.law, time_s)][self.types[gpu]]
        return [Later(until_s(start_s, time_s), delay) for start_s, delay, _ in hours]


def expected_work_s(known: OperatorKnowledge, gpu: GpuType) -> tuple[float, ...]:
    """Mean seconds that jobs execute on a type, with the work that preemptions at its
    mean rate over the day make them do again, by complexity - 1.

    A part of a seconds, up to a checkpoint or the job's end, takes on average
    (exp(rate a) - 1) (1 / rate + restart), which is exact without restarts.
    """
    terms, means_s = known.terms, gpu.mean_execution_s
    rate_per_s = summed(terms.preemptions_per_h(gpu.name)) / HOURS / 3600
    if not rate_per_s:
        return means_s

    def part_s(seconds: float) -> float:
        return expm1(rate_per_s * seconds) * (1 / rate_per_s + terms.restart_s)

    def whole_s(mean_s: float) -> float:
        if terms.checkpoint_s is None:
            return part_s(mean_s)
        writes = max(0, ceil(mean_s / terms.checkpoint_s) - 1)
        written_s = part_s(terms.checkpoint_s + terms.checkpoint_cost_s)
        return writes * written_s + part_s(mean_s - writes * terms.checkpoint_s)

    return tuple(map(whole_s, means_s))


def rent_usd(known: OperatorKnowledge, gpu: GpuType, level: int) -> float:
    """The rent of the mean execution time of a job, by complexity - 1."""
    return expected_work_s(known, gpu)[level] * gpu.price_usd_per_h / 3600


def mean_work_s(known: OperatorKnowledge, gpu: GpuType) -> float:
    """Mean execution time of the jobs that come."""
    shares = zip(known.complexity_mix, expected_work_s(known, gpu))
    return summed(share * mean_s for share, mean_s in shares)


# ---- stock that persists, and is seen ----


def next_look_s(market: Market, now_s: float) -> float:
    """Seconds until the stock is looked at again; 0 if it is seen at any time."""
    poll_s = market.poll_s or 0.0
    return poll_s - now_s % poll_s if poll_s else 0.0


def last_look_s(market: Market, now_s: float, within_s: float) -> float:
    """Seconds until the last poll within a time; all of it if there is no poll."""
    look_s = next_look_s(market, now_s)
    if not look_s or look_s > within_s:
        return within_s
    poll_s = market.poll_s or 0.0
    return look_s + (within_s - look_s) // poll_s * poll_s


def seen_chances(
    market: Market, gpu: GpuType, now_s: float, seen_s: float, status: Status
) -> Chances:
    """Chances of High, Medium and Low stock of a type, given what was seen of it.

    q_k = w |I_s(then) and I_k(now)| / |I_s(then)| + (1 - w) p_k

    I_k: the variates of [0, 1) that mean status k (thesis Eq. 3.1), p_k its length now.
    w: the chance that the variate of the status is still the same, `Holding.kept`.
    """
    certain = tuple(float(each == status) for each in range(3))
    if seen_s == now_s:
        high, medium, low = certain
        return high, medium, low
    chances = market.probabilities(gpu, now_s)
    kept = market.holding(gpu.name).kept(seen_s, now_s)
    least, most = bounds_of(market.probabilities(gpu, seen_s))[status]
    overlap = certain
    if most - least > ROUNDING:  # else it is replayed, against the law
        overlap = tuple(
            max(0.0, min(most, upper) - max(least, lower)) / (most - least)
            for lower, upper in bounds_of(chances)
        )
    high, medium, low = [
        kept * own + (1 - kept) * chance for own, chance in zip(overlap, chances)
    ]
    return high, medium, low


def bounds_of(chances: Sequence[float]) -> list[tuple[float, float]]:
    """The variates from and up to which each status is meant."""
    ends = list(accumulate(chances))
    return list(zip([0.0, *ends], ends))
