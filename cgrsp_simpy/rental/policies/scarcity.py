"""What the law of the stock says beforehand: when a type is scarce, how long a job will
hold a slot, and how late it may be.

A market that shows its stock would be read here: all that `triage` knows of the stock
is a `Law` a type, made for a band of the day.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from cgrsp_simpy.rental.gpu import GpuType
from cgrsp_simpy.rental.market import LOW, Market
from cgrsp_simpy.rental.view import Known

__all__ = ["Law", "Laws", "all_scarce_h", "late", "law_of", "next_band_s", "overrun_s"]

ROUNDING = 1e-9  # in sums of chances


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
    """

    scarce: bool
    chances: tuple[float, float, float]
    delay_s: float
    longest_s: float
    work_s: float
    enough: float
    end_h: float | None
    later_s: float

    @property
    def held_s(self) -> float:
        """Mean time for which a job holds a slot."""
        return self.delay_s + self.work_s

    def left_s(self, hour: float) -> float:
        """For how long the type stays scarce: 0, up to the end, or for ever.

        Parameters
        ----------
        hour : float
            Of the day, now.

        Returns
        -------
        float
            Seconds.
        """
        if not self.scarce:
            return 0.0
        return inf if self.end_h is None else (self.end_h - hour) % 24 * 3600


Laws = dict[str, Law]
"""Laws by the name of the type."""


def law_of(known: Known, gpu: GpuType, time_s: float, harmless_s: float = 0.0) -> Law:
    """The law of a type in the band of a time.

    Parameters
    ----------
    known : Known
        What is known of the scenario.
    gpu : GpuType
        The type.
    time_s : float
        Seconds from the start of the run.
    harmless_s : float
        Low stock whose longest delay is no longer is not called scarce.

    Returns
    -------
    Law
        Of the type, up to the next change of the law.
    """
    market, work_s = known.market, mean_work_s(known, gpu)
    held_s = {each: occupation_s(known, each, time_s) for each in known.types}
    own_s = occupation_s(known, gpu, time_s)
    better = [(s, known.types[each]) for each, s in held_s.items() if s < own_s]
    rate_per_s = sum(slots / each_s for each_s, slots in better)
    enough = (own_s - min(better)[0]) * rate_per_s if better else 0.0
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

    Parameters
    ----------
    market : Market
        Of which the law is.
    now_s : float
        Seconds from the start of the run.

    Returns
    -------
    float
        A second after it, in the next band.
    """
    return bands_to_come(market, now_s)[0][1]


def all_scarce_h(
    known: Known,
    time_s: float,
    harmless_s: float = 0.0,
) -> tuple[float, float] | None:
    """When next all types become scarce, and until when.

    Parameters
    ----------
    known : Known
        What is known of the scenario.
    time_s : float
        Seconds from the start of the run.
    harmless_s : float
        As of `law_of`.

    Returns
    -------
    tuple of (float, float) or None
        Hours of day; None where they are all scarce now, or never within a day.
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


def excess_s(least: float, most: float, bound: float) -> float:
    """E[(D - bound)+] of D uniform from `least` to `most`."""
    if bound <= least:
        return (least + most) / 2 - bound
    return (most - bound) ** 2 / 2 / (most - least) if bound < most else 0.0


def late(market: Market, law: Law, laxity_s: float) -> tuple[float, float]:
    """How likely a delay makes a job late, and by how much on average.

    Parameters
    ----------
    market : Market
        Of which the delays are, uniform as in thesis Eq. 3.2.
    law : Law
        Of the type on which the job would run.
    laxity_s : float
        Deadline - now - mean execution time, seconds.

    Returns
    -------
    tuple of (float, float)
        P(D > x), and E[(D - x)+] in seconds.
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

    Parameters
    ----------
    market : Market
        Of which the delays are.
    low : float
        Chance of Low stock.
    work_s : float
        W, mean execution time.
    left_s : float
        h, seconds.

    Returns
    -------
    float
        P(Low) E[(D + W - h)+], D uniform as in thesis Eq. 3.2.
    """
    return low * excess_s(*market.delay_s[LOW], left_s - work_s)
