"""Forecasts from the stock model: provisioning delays, their changes, throughput.

A `Delay` is the distribution of a provisioning delay (thesis Eq. 3.1 and 3.2). An
`Outlook` has those of all types and hours of a run and, if stock persists and is
observed, of the present. The functions of `Forecasts` also run compiled
(`rental.kernel`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import namedtuple
from collections.abc import Sequence
from dataclasses import make_dataclass
from functools import cache
from itertools import accumulate
from math import ceil, exp, expm1, sqrt
from typing import Any, NamedTuple, TypeVar, cast

from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.market.gpu import GpuType
from cgrsp_simpy.market.model import HIGH, LOW, MEDIUM, Market, Status
from cgrsp_simpy.market.stock import DAY_S
from cgrsp_simpy.rental.job import HOURS
from cgrsp_simpy.rental.view import OperatorKnowledge, SlotView, View

ROUNDING = 1e-9  # rounding error of probabilities and seconds
BURST = 0.5  # least rate at which a line empties, as a share of its rate

Numbers = TypeVar("Numbers", bound=NamedTuple)
Chances = tuple[float, ...]
"""Probabilities of High, Medium and Low stock."""


class Part(NamedTuple):
    """The probability of a status, and its minimum and maximum delay in seconds."""

    chance: float
    least_s: float
    most_s: float


class Delay(NamedTuple):
    """Distribution of a provisioning delay: a mixture of uniform distributions.

    parts: one Part per possible status. mean_s: E[D]. longest_s: greatest possible
    delay. held_s: mean time for which a job holds a slot before it starts; less than
    E[D] if Low stock is a refusal.
    """

    parts: tuple[Part, ...]
    mean_s: float
    longest_s: float
    held_s: float


def beyond(delay: Delay, left_s: float) -> tuple[float, float]:
    """Return P(D > x), and E[(D - x)+] in seconds, for x seconds of either sign."""
    if left_s >= delay.longest_s:
        return 0.0, 0.0
    if left_s < 0.0:
        return 1.0, delay.mean_s - left_s
    chance = mean_s = 0.0
    for part in delay.parts:
        if left_s < part.least_s:
            chance += part.chance
            mean_s += part.chance * ((part.least_s + part.most_s) / 2 - left_s)
        elif left_s < part.most_s:
            over = part.chance * (part.most_s - left_s) / (part.most_s - part.least_s)
            chance += over
            mean_s += over * (part.most_s - left_s) / 2
    return chance, mean_s


NO_DELAY = Delay((), 0.0, 0.0, 0.0)
"""Delay of a warm instance."""


def delay_of(
    bounds_s: Sequence[tuple[float, float]], chances: Sequence[float]
) -> Delay:
    """Return the Delay for probabilities of High, Medium and Low stock, with bounds."""
    parts = [
        Part(chance, least_s, most_s)
        for chance, (least_s, most_s) in zip(chances, bounds_s)
        if chance > ROUNDING
    ]
    mean_s = summed([chance * (least + most) / 2 for chance, least, most in parts])
    return Delay(tuple(parts), mean_s, max([most for _, _, most in parts]), mean_s)


class Later(NamedTuple):
    """An opportunity to be served later on the same slot.

    after_s: time of the day at which it begins, seconds. delay: delay expected then.
    seen: if true, after_s is the mean of an exponential time from now until the stock
    recovers (with two time scales only the mean is exact).
    """

    after_s: float
    delay: Delay
    seen: bool = False


class Line(NamedTuple):
    """The queue that forms for the slots of a type.

    kind: index of the type. rent_usd: rent for a job's mean execution time on it.
    spare: jobs per second completed by its slots, and by all with no greater rent, in
    excess of the arrivals, > 0; an overload is assumed to be a temporary burst.
    """

    kind: int
    rent_usd: float
    spare: float


class Band:
    """Forecasts for hours of the day with a constant stock model.

    start_s: seconds of the run's first day. chances, delays, busy_s: by type name,
    status probabilities, delays, and mean times for which a job occupies a slot. rate:
    jobs per second that the busy fleet completes. spare: its excess, as in `Line`.
    variation: coefficient of variation of the time per job. lines: by complexity - 1,
    then rent.
    """

    def __init__(self, known: OperatorKnowledge, start_s: float) -> None:
        self.known, self.market, self.start_s = known, known.market, start_s
        inside_s = start_s + 1  # the start itself is rounded
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
        """Return the delay of a type, given that its stock is not Low."""
        high, medium, low = self.chances[gpu.name]
        chances = high / (1 - low), medium / (1 - low), 0.0
        return delay_of(self.market.delay_s, chances)

    def delay(self, gpu: GpuType, chances: Chances) -> Delay:
        """Return a job's delay for probabilities of High, Medium and Low stock.

        If Low stock is a refusal, the job retries until the stock is not Low, for at
        most a day; only the mean of that time is exact.
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
        """Return the rate at which Low stock recovers; 0 if stock does not persist."""
        holding, low = self.market.holding(gpu.name), self.chances[gpu.name][LOW]
        if not holding.persistence_s or 1 - low <= ROUNDING:
            return 0.0
        return (1 - low) / holding.recovery_s(low)

    def _busy_of(self, gpu: GpuType) -> float:
        """Return the mean time for which a job occupies a slot.

        No job holds a slot in Low stock if it is refused, or sees and waits out Low
        stock; if stock persists, the slot then works only the rest of the time.
        """
        work_s, low = mean_work_s(self.known, gpu), self.chances[gpu.name][LOW]
        per_s = self.recovers_per_s(gpu)
        avoided = self.known.terms.retry_s is not None and low < 1 - ROUNDING
        if avoided or per_s:
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
        """Return the lines in order of rent; none with free types, which share one."""
        if self.known.free_types:
            return []
        lines, rate, types = list[Line](), 0.0, list(self.known.types)
        rents_usd = [rent_usd(self.known, gpu, level) for gpu in types]
        for place in sorted(range(len(types)), key=rents_usd.__getitem__):
            rate += self.known.types[types[place]] / self.busy_s[types[place].name]
            lines.append(Line(place, rents_usd[place], self._spare(rate)))
        return lines

    def _spare(self, rate: float) -> float:
        """Return the jobs per second that slots complete in excess of the arrivals."""
        arrivals = self.known.arrival_rate_per_s * self.known.gpus_per_job
        return max(rate - arrivals, BURST * rate)


class Forecasts(
    namedtuple(
        "Forecasts",
        "starts_s rates spares variations done delays later lines work_s rent_usd"
        " billed_usd_per_h fastest_s slots",
    )
):
    """Forecasts of an Outlook as numbers, by band, type and level.

    starts_s, rates, spares, variations: per band. done: jobs completed by the busy
    fleet up to each band, and in a day. delays: by band and type. later: by band and
    type, later bands whose mean delay is below that of all earlier ones, as Later.
    lines: by band and level. work_s, rent_usd: by type and level. billed_usd_per_h:
    cost of a delay, by type. fastest_s: by level. slots: number of slots. Types are
    ordered as in `OperatorKnowledge.types`.
    """

    __slots__ = ()


def band_at(forecasts: Forecasts, time_s: float) -> int:
    """Return the index of the band at a time."""
    return (
        bisect_right(forecasts.starts_s, time_s % DAY_S, 0, len(forecasts.starts_s)) - 1
    )


def completed(forecasts: Forecasts, time_s: float) -> float:
    """Return the number of jobs completed until a time by a fleet always busy."""
    band, since_s = band_at(forecasts, time_s), time_s % DAY_S
    until_band = time_s // DAY_S * forecasts.done[-1] + forecasts.done[band]
    return float(
        until_band + forecasts.rates[band] * (since_s - forecasts.starts_s[band])
    )


def until_s(start_s: float, time_s: float) -> float:
    """Return the seconds from a time to the next start of a band."""
    return (start_s - time_s % DAY_S) % DAY_S


def quick(values: Numbers) -> Numbers:
    """Convert a named tuple to an object with faster attribute access."""
    return cast(Numbers, _plain(type(values))(*values))


@cache
def _plain(kind: Any) -> Any:
    return make_dataclass(kind.__name__, kind._fields, slots=True)


class Outlook:
    """Forecasts of a run's stock, in advance and at a decision."""

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
        self.forecasts = quick(
            Forecasts(
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
        """Return better hours; none if Low stock is a refusal, which holds no slot."""
        if self.known.terms.retry_s is not None:
            return []
        least_s, better = self.bands[place].delays[gpu.name].mean_s, []
        for band in [*self.bands[place + 1 :], *self.bands[:place]]:
            delay = band.delays[gpu.name]
            if delay.mean_s < least_s - ROUNDING:
                least_s = delay.mean_s
                better.append(Later(band.start_s, delay))
        return better

    def band(self, time_s: float) -> Band:
        """Return the band at a time."""
        return self.bands[band_at(self.forecasts, time_s)]

    def kinds(self, view: View, offers: Sequence[SlotView]) -> list[int]:
        """Return the types on offer by index, plus the number of types if warm."""
        kinds, types = self._offered, len(self.types)
        if not self.known.free_types:
            kinds = [kinds[slot.index] for slot in offers]
        return [kind + types * view.warm(slot) for kind, slot in zip(kinds, offers)]

    def moment(self, view: View, slot: SlotView) -> tuple[Delay, list[Later]]:
        """Return the expected delay of a dispatch now, and later opportunities."""
        gpu, now_s, market = slot.gpu, view.now_s, self.market
        if view.warm(slot):
            return NO_DELAY, []
        place = band_at(self.forecasts, now_s)
        band, better = self.bands[place], self.forecasts.later[place][self.types[gpu]]
        seen_s = view.seen_s(slot)
        if seen_s is None or not market.holding(gpu.name).persistence_s:
            return band.delays[gpu.name], better
        chances = seen_chances(market, gpu, now_s, seen_s, view.status(slot))
        delay, per_s = band.delay(gpu, chances), band.recovers_per_s(gpu)
        if chances[LOW] <= ROUNDING:
            return delay, []
        if not per_s:
            return delay, better
        look_s, stock = next_look_s(market, now_s), band.chances[gpu.name]
        kept = market.holding(gpu.name).kept(now_s, now_s + look_s, seen_s)
        high, medium, low = (p + (q - p) * kept for p, q in zip(stock, chances))
        back_s = 1 / per_s  # from Low stock at that look
        if market.poll_s:  # until the first poll with another status
            back_s = market.poll_s / -expm1(-per_s * market.poll_s)
        if better:
            back_s *= 1 - exp(-per_s * until_s(better[-1].after_s, now_s))
        regained = low / (1 - stock[LOW])  # Low stock is replaced by the stock model
        good = high + regained * stock[HIGH], medium + regained * stock[MEDIUM], 0.0
        later = Later(look_s + low * back_s, delay_of(market.delay_s, good), True)
        return delay, [*better, later]


def expected_work_s(known: OperatorKnowledge, gpu: GpuType) -> tuple[float, ...]:
    """Return mean execution times on a type, with work lost to preemptions, by level.

    A part of a seconds, up to a checkpoint or the job's end, takes (exp(rate a) - 1) (1
    / rate + restart) on average at the day's mean rate, exact without restarts.
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
    """Return the rent for a job's mean execution time. level: complexity - 1."""
    return expected_work_s(known, gpu)[level] * gpu.price_usd_per_h / 3600


def mean_work_s(known: OperatorKnowledge, gpu: GpuType) -> float:
    """Return the mean execution time of arriving jobs on a type, in seconds."""
    shares = zip(known.complexity_mix, expected_work_s(known, gpu))
    return summed(share * mean_s for share, mean_s in shares)


# ---- stock that persists, and is seen ----


def next_look_s(market: Market, now_s: float) -> float:
    """Return the seconds until the next poll of the stock; 0 if always observed."""
    poll_s = market.poll_s or 0.0
    return poll_s - now_s % poll_s if poll_s else 0.0


def last_look_s(market: Market, now_s: float, within_s: float) -> float:
    """Return the seconds until the last poll within a time; all of it without polls."""
    look_s = next_look_s(market, now_s)
    if not look_s or look_s > within_s:
        return within_s
    poll_s = market.poll_s or within_s
    return look_s + (within_s - look_s) // poll_s * poll_s


def seen_chances(
    market: Market, gpu: GpuType, now_s: float, seen_s: float, status: Status
) -> Chances:
    """Return the probabilities of High, Medium and Low stock, given the last status.

        q_k = w |I_s(then) and I_k(now)| / |I_s(then)| + (1 - w) p_k

    I_k: the variates in [0, 1) with status k (thesis Eq. 3.1); p_k: its length now. w:
    probability that the variate of the status is unchanged, `Holding.kept`.
    """
    certain = tuple(float(other == status) for other in range(3))
    if seen_s == now_s:
        return certain
    chances = market.probabilities(gpu, now_s)
    kept = market.holding(gpu.name).kept(seen_s, now_s)
    least, most = bounds_of(market.probabilities(gpu, seen_s))[status]
    overlap = certain
    if most - least > ROUNDING:  # else replayed, contrary to the stock model
        overlap = tuple(
            max(0.0, min(most, upper) - max(least, lower)) / (most - least)
            for lower, upper in bounds_of(chances)
        )
    shares = zip(overlap, chances)
    return tuple(kept * same + (1 - kept) * chance for same, chance in shares)


def bounds_of(chances: Sequence[float]) -> list[tuple[float, float]]:
    """Return the bounds of the variates of each status."""
    ends = list(accumulate(chances))
    return list(zip([0.0, *ends], ends))
