"""What the law of the stock says: when a type is scarce, how long a job will hold a
slot, and how late it may be.

All that `triage` knows of the stock is a `Law` a type, made for a band of the day; or
where stock persists and is seen, for the moment, given what was seen (`seen_law`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from math import exp, inf, sqrt
from typing import NamedTuple

from cgrsp_simpy.rental.gpu import GpuType
from cgrsp_simpy.rental.market import LOW, Market, Status
from cgrsp_simpy.rental.view import Known

ROUNDING = 1e-9  # in sums of chances
UNITS = (
    (1.0, 0.0, 0.0),
    (0.0, 1.0, 0.0),
    (0.0, 0.0, 1.0),
)  # chances of what is certain


class Law(NamedTuple):
    """A type in a band of the day, in which the law of the stock stays the same.

    Attributes
    ----------
    scarce : bool
        Whether Low stock is possible that does harm.
    chances : tuple of float
        Of High, Medium and Low stock.
    delay_s, longest_s : float
        Mean provisioning delay, and the longest that is possible.
    work_s : float
        Mean execution time of the jobs that come.
    enough : float
        Number of waiting jobs from which a slot of it shortens the wait, as long as the
        better slots of the fleet are busy.
    end_h : float or None
        Hour of day at which the next band begins in which it is not scarce; None: there
        is no such band.
    later_s : float
        Mean time for which a job sent from then on holds a slot.
    recovery_s : float or None
        Of a type that is seen: expected time until it is not Low, where it is now.
    held : bool
        Of a type that is seen: whether it pays to wait for the next look, or that.
    """

    scarce: bool
    chances: tuple[float, float, float]
    delay_s: float
    longest_s: float
    work_s: float
    enough: float
    end_h: float | None
    later_s: float
    recovery_s: float | None = None
    held: bool = False

    @property
    def busy_s(self) -> float:
        """Mean time for which a job holds a slot."""
        return self.delay_s + self.work_s

    @property
    def met(self) -> tuple[float, float, float]:
        """Chances of High, Medium and Low stock that a dispatch meets."""
        return self.chances

    @property
    def warm(self) -> Law:
        """That of a slot with a warm instance of the type: a job starts at once."""
        return self._replace(
            scarce=False, chances=UNITS[0], delay_s=0.0, longest_s=0.0, held=False
        )

    def left_s(self, hour: float) -> float:
        """For how long the type stays scarce: 0, up to the end, or for ever.

        hour: of the day, now. Result: seconds.
        """
        if not self.scarce:
            return 0.0
        return self.law_left_s(hour) if self.recovery_s is None else self.recovery_s

    def law_left_s(self, hour: float) -> float:
        """The same without a look at the stock."""
        return inf if self.end_h is None else (self.end_h - hour) % 24 * 3600


Laws = dict[str, Law]
"""Laws by the name of the type."""


def law_of(known: Known, gpu: GpuType, time_s: float, harmless_s: float = 0.0) -> Law:
    """The law of a type in the band of a time.

    known: what is known of the scenario. time_s: seconds from the start of the run.
    harmless_s: Low stock whose longest delay is no longer is not called scarce. Result:
    of the type, up to the next change of the law.
    """
    market, work_s = known.market, mean_work_s(known, gpu)
    held_s = {each: occupation_s(known, each, time_s) for each in known.types}
    own_s = occupation_s(known, gpu, time_s)
    enough = enough_of(known, own_s, held_s)
    chances, end_h, later_s = market.probabilities(gpu, time_s), None, own_s
    for start_h, after_s in bands_to_come(market, time_s):
        if not is_scarce(market, gpu, after_s, harmless_s):
            end_h, later_s = start_h, occupation_s(known, gpu, after_s)
            break
    longest_s = max(
        most for chance, (_, most) in zip(chances, market.delay_s) if chance > ROUNDING
    )
    scarce = is_scarce(market, gpu, time_s, harmless_s)
    return Law(
        scarce, chances, own_s - work_s, longest_s, work_s, enough, end_h, later_s
    )


def enough_of(known: Known, own_s: float, held_s: dict[GpuType, float]) -> float:
    """`Law.enough` of a type, by the occupations of all."""
    better = [(s, known.types[each]) for each, s in held_s.items() if s < own_s]
    rate_per_s = sum(slots / each_s for each_s, slots in better)
    return (own_s - min(better)[0]) * rate_per_s if better else 0.0


def is_scarce(market: Market, gpu: GpuType, time_s: float, harmless_s: float) -> bool:
    """Whether Low stock is possible that does harm."""
    possible = market.probabilities(gpu, time_s)[LOW] > ROUNDING
    return possible and market.delay_s[LOW][1] > harmless_s


def bands_to_come(market: Market, now_s: float) -> list[tuple[float, float]]:
    """The start of each band of the law, hour of day; and a time in it, seconds.

    That of the band that holds now comes last.
    """
    hour, found = market.clock.start_h + now_s / 3600, []
    for start_h in market.change_hours:
        left_h = (start_h - hour) % 24
        # a second later: the start itself is rounded
        found.append(
            (now_s + (left_h if left_h > ROUNDING else 24) * 3600 + 1, start_h)
        )
    return [(start_h, after_s) for after_s, start_h in sorted(found)]


def next_band_s(market: Market, now_s: float) -> float:
    """When the law of the stock changes next, seconds from the start of the run.

    market: of which the law is. now_s: seconds from the start of the run. Result: a
    second after it, in the next band.
    """
    return bands_to_come(market, now_s)[0][1]


def all_scarce_h(
    known: Known,
    time_s: float,
    harmless_s: float = 0.0,
) -> tuple[float, float] | None:
    """When next all types become scarce, and until when.

    known: what is known of the scenario. time_s: seconds from the start of the run.
    harmless_s: as of `law_of`. Result: hours of day; None where they are all scarce
    now, or never within a day.
    """

    def all_scarce(at_s: float) -> bool:
        return all(is_scarce(known.market, g, at_s, harmless_s) for g in known.types)

    if all_scarce(time_s):
        return None
    start_h = None
    for band_h, after_s in bands_to_come(known.market, time_s):
        if start_h is None and all_scarce(after_s):
            start_h = band_h
        elif start_h is not None and not all_scarce(after_s):
            return start_h, band_h
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


def variation(known: Known, met: Mapping[GpuType, tuple[float, float, float]]) -> float:
    """Coefficient of variation of the time for which a job holds a slot.

    known: what is known of the scenario. met: by type the chances of High, Medium and
    Low stock that a dispatch meets. Result: sd(D + W) / E[D + W] over all slots, D the
    delay and W by complexity the mean execution time; 0 where both are certain.
    """
    slots = mean_s = square_s2 = 0.0
    for gpu, number in known.types.items():
        shares = zip(known.complexity_mix, gpu.mean_execution_s)
        work_s, work_s2 = mean_work_s(known, gpu), sum(p * s**2 for p, s in shares)
        delays = list(zip(met[gpu], known.market.delay_s))
        delay_s = sum(p * (a + b) / 2 for p, (a, b) in delays)
        delay_s2 = sum(p * (a * a + a * b + b * b) / 3 for p, (a, b) in delays)
        slots += number
        mean_s += number * (work_s + delay_s)
        square_s2 += number * (work_s2 + 2 * work_s * delay_s + delay_s2)
    mean_s, square_s2 = mean_s / slots, square_s2 / slots
    return sqrt(max(0.0, square_s2 - mean_s**2)) / mean_s


def excess_s(least: float, most: float, bound: float) -> float:
    """E[(D - bound)+] of D uniform from `least` to `most`."""
    if bound <= least:
        return (least + most) / 2 - bound
    return (most - bound) ** 2 / 2 / (most - least) if bound < most else 0.0


def late(market: Market, law: Law, laxity_s: float) -> tuple[float, float]:
    """How likely a delay makes a job late, and by how much on average.

    market: of which the delays are, uniform as in thesis Eq. 3.2. law: of the type on
    which the job would run. laxity_s: deadline - now - mean execution time, seconds.
    Result: P(D > x), and E[(D - x)+] in seconds.
    """
    chance = mean_s = 0.0
    for own, (least, most) in zip(law.chances, market.delay_s):
        if laxity_s < most:
            inside = laxity_s > least
            chance += own * ((most - laxity_s) / (most - least) if inside else 1.0)
            mean_s += own * excess_s(least, most, laxity_s)
    return chance, mean_s


def overrun_s(market: Market, low: float, work_s: float, left_s: float) -> float:
    """Mean time by which Low stock holds a slot beyond the time left.

    market: of which the delays are. low: chance of Low stock. work_s: W, mean execution
    time. left_s: h, seconds. Result: P(Low) E[(D + W - h)+], D uniform as in thesis
    Eq. 3.2.
    """
    return low * excess_s(*market.delay_s[LOW], left_s - work_s)


# ---- stock that persists, and is seen ----


def next_look_s(market: Market, now_s: float) -> float:
    """Seconds until the stock is looked at again; 0 if it is seen at any time.

    market: of which the stock is. now_s: seconds from the start of the run. Result:
    above 0, where there is some time between two looks.
    """
    poll_s = market.poll_s or 0.0
    return poll_s - now_s % poll_s if poll_s else 0.0


def seen_chances(
    market: Market,
    gpu: GpuType,
    now_s: float,
    seen_s: float,
    status: Status,
) -> tuple[float, float, float]:
    """Chances of High, Medium and Low stock of a type, given what was seen of it.

    q_k = f |I_s(then) and I_k(now)| / |I_s(then)| + (1 - f) p_k, f = exp(-age / tau)

    I_k: the variates of [0, 1) that mean status k (thesis Eq. 3.1), p_k its length now.
    The variate of the status is held, and drawn anew at the epochs of a Poisson process
    of rate 1 / tau.
    """
    if seen_s == now_s:
        return UNITS[status]
    chances = market.probabilities(gpu, now_s)
    kept = exp(-(now_s - seen_s) / market.persistence_of(gpu.name))
    least, most = bounds_of(market.probabilities(gpu, seen_s))[status]
    overlap = UNITS[status]
    if most - least > ROUNDING:  # else it is replayed, against the law
        high, medium, low = [
            max(0.0, min(most, upper) - max(least, lower)) / (most - least)
            for lower, upper in bounds_of(chances)
        ]
        overlap = high, medium, low
    high, medium, low = [
        kept * own + (1 - kept) * chance for own, chance in zip(overlap, chances)
    ]
    return high, medium, low


def bounds_of(chances: tuple[float, ...]) -> list[tuple[float, float]]:
    """The variates from and up to which each status is meant."""
    ends = list(accumulate(chances))
    return list(zip([0.0, *ends], ends))


class Sight(NamedTuple):
    """What a look at a type tells in a band of the day, with what is known beforehand.

    law: of the band. persistence_s: tau. recovers_per_s: r, the rate at which a type
    that is Low becomes another, (1 - p_Low) / tau; with free types the sum of all,
    since any of them will do. low_s, good_s: mean delay at Low stock, and by the law
    where stock is not Low.
    """

    law: Law
    persistence_s: float
    recovers_per_s: float
    low_s: float
    good_s: float

    @property
    def waits(self) -> bool:
        """Whether Low stock is waited out: it is expected to end before its delay."""
        per_s = self.recovers_per_s
        always = self.law.chances[LOW] >= 1.0
        return not always and per_s > 0 and self.low_s > 1 / per_s + self.good_s

    @property
    def busy_s(self) -> float:
        """Mean time a job of a slot with jobs at hand; if Low stock is waited out, the
        slot works in 1 - p_Low of the time.
        """
        if not self.waits:
            return self.law.busy_s
        return (self.law.work_s + self.good_s) / (1 - self.law.chances[LOW])

    @property
    def met(self) -> tuple[float, float, float]:
        """Chances of High, Medium and Low stock that a dispatch meets: none of Low, if
        that is waited out.
        """
        high, medium, low = self.law.chances
        return (
            (high / (1 - low), medium / (1 - low), 0.0)
            if self.waits
            else self.law.chances
        )


def sight_of(known: Known, gpu: GpuType, time_s: float, law: Law) -> Sight | None:
    """What a look at a type tells.

    known: what is known of the scenario. time_s: of the band, seconds from the start of
    the run. law: of the type in the band. Result: none where its stock does not
    persist, or is not looked at: what is shown tells nothing of what a dispatch will
    meet.
    """
    market = known.market
    if market.poll_s is None or not market.persistence_of(gpu.name):
        return None
    per_s = 0.0
    for each in known.types if known.free_types else [gpu]:
        if market.persistence_of(each.name):
            recovers = 1 - market.probabilities(each, time_s)[LOW]
            per_s += recovers / market.persistence_of(each.name)
    low, low_s = law.chances[LOW], sum(market.delay_s[LOW]) / 2
    good_s = (law.delay_s - low * low_s) / (1 - low) if low < 1 else 0.0
    return Sight(law, market.persistence_of(gpu.name), per_s, low_s, good_s)


def seen_law(
    market: Market,
    gpu: GpuType,
    sight: Sight,
    now_s: float,
    seen_s: float,
    status: Status,
) -> Law:
    """The law of a type, given what was seen of it.

    With q the chances (`seen_chances`), d_Low and G the delays of `Sight`, h what is
    left of the hours in which Low stock is possible, and b the time to the next look,
    q'_Low the chance then,

        R = (1 - exp(-r h)) / r                    expected time to recover
        now = q_Low d_Low                          what Low stock costs a dispatch now
        later = b + q'_Low (R + G)                 and one after the next look

    The type is held while now > later. Besides, it is scarce while now > W, the mean
    execution time; then for R, if it was seen Low.

    market: of which the law is. sight: of the type in the band. now_s, seen_s: the
    time, and that of the last look, seconds from the start of the run. status: what was
    seen. Result: of the moment. As in `watch`, where looks are free (b = 0) and no
    hours end.
    """
    law, per_s = sight.law, sight.recovers_per_s
    chances = seen_chances(market, gpu, now_s, seen_s, status)
    low, delay_s, longest_s = chances[LOW], 0.0, 0.0
    for chance, (least, most) in zip(chances, market.delay_s):
        if chance > ROUNDING:
            delay_s += chance * (least + most) / 2
            longest_s = max(longest_s, most)
    scarce = held = False
    back_s = None
    if law.scarce and low > ROUNDING:
        back_s = law.law_left_s(market.clock.hour(now_s))
        if per_s > 0:
            back_s = (1 - exp(-per_s * back_s)) / per_s
        look_s, low_law = next_look_s(market, now_s), law.chances[LOW]
        then = low_law + (low - low_law) * exp(-look_s / sight.persistence_s)
        held = low * sight.low_s > look_s + then * (back_s + sight.good_s)
        scarce = held or low * sight.low_s > law.work_s
    recovery_s = back_s if status == LOW else None
    return law._replace(
        scarce=scarce,
        chances=chances,
        delay_s=delay_s,
        longest_s=longest_s,
        recovery_s=recovery_s,
        held=held,
    )
