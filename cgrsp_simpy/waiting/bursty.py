"""A generated workload as bursty, and with as many short and very long jobs, as the real one of
waiting-policies.txt.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.model.checks import check_number, check_whole, require
from cgrsp_simpy.model.streams import stream
from cgrsp_simpy.waiting.jobs import Chunk, Floats, Ints

DAY_S = 86_400.0
PAUSE_S = 180.0, 180_000.0  # least and most: 3 minutes and 50 hours
ARRAY_JOBS, WITHIN_S = 8.0, 0.1  # of an array: mean size, and mean gap between its jobs, seconds
LEAST_PER_S = 0.001  # 92 jobs a day; with much fewer, gaps between arrays would exceed the longest
# arrays of jobs 0.1 s apart follow one another: there is no room for more than 11 per second
MOST_PER_S = 5.0
# of the jobs that are exponential: their share and their mean running time, seconds
SHORT_SHARE, SHORT_S = 0.55, 45.0
CORES = 2 ** np.arange(5)
CORES_SHARES = 0.6 ** np.arange(5) / np.sum(0.6 ** np.arange(5))
GB_PER_CORE, GB_SHARES = 2.0 ** np.arange(4), (0.35, 0.35, 0.25, 0.05)


@dataclass(frozen=True)
class BurstyJobs:
    """Jobs with the printed features of a real year-long trace, which is not at hand.

    What stands in brackets is printed there; all laws, and the other numbers, are ours.

    Arrivals. Days of work of 24 h, each after a pause (a few gaps between 3 minutes and 50 h, none
    longer). Pauses follow a Pareto law of index 1/2 between these bounds; their mean, 1.6 h, is the
    bounds' geometric mean. The number of jobs of a day is geometric, so that days differ as
    exponential variates do: hence the waits of hours. Jobs come in arrays, of geometric size with
    mean 8, and exponential gaps of 0.1 s (nearly 90 % of the gaps are below 1 s). The gaps between
    the arrays of a day are exponential.

    Running times. 55 % of the jobs are short, exponential with a mean of 45 s; the others have the
    mean that is left, and a Weibull law of shape 1/2 (over 60 % of the jobs run below 3 minutes,
    fewer than an exponential law has from there to 6 h, more above; the mean is 6225 s). They
    depend neither on needs nor on arrays.

    Needs. The jobs of an array share them. Cores are a power of two up to 16, each 0.6 times as
    frequent as the one before. Memory is 1, 2, 4 or 8 GB a core, for 35, 35, 25 and 5 % of the
    arrays. Renting for all jobs then costs what 149 machines of 64 cores and 256 GB do (225 fixed
    ones, at a discount of 0.4, make a price of 0.6 of that).

    A lower rate is a smaller cluster of the same kind: fewer arrays a day, of the same sizes, on
    the same days with the same pauses. So the share of gaps below 1 s stays, and so do the swings
    of the load; but gaps of minutes become common. (Towards 0.001 jobs come up to 5 % faster than
    asked, as gaps are cut at 50 h.)

    Years of it, simulated first come, first served on 225 such machines with best fit, have mean
    waits of 9 to 19 h (13.3 h).

    Parameters
    ----------
    jobs : int
        Number of jobs, >= 1.
    rate_per_s : float
        Mean rate, jobs per second, from 0.001 to 5.
    mean_run_s : float
        Mean running time, seconds, above 45.

    References
    ----------
    waiting-policies.txt Section 6.1.
    """

    jobs: int
    rate_per_s: float = 0.4527
    mean_run_s: float = 6225.0

    def __post_init__(self) -> None:
        check_whole("jobs", self.jobs, least=1)
        check_number("rate_per_s", self.rate_per_s, least=LEAST_PER_S)
        require(
            self.rate_per_s <= MOST_PER_S, "rate_per_s", self.rate_per_s, f"at most {MOST_PER_S:g}"
        )
        check_number("mean_run_s", self.mean_run_s, above=SHORT_S)

    def __str__(self) -> str:
        return f"{self.jobs} bursty jobs ({self.rate_per_s:g}/s, mean {self.mean_run_s:g} s)"

    def chunks(self, seed: int) -> Iterator[Chunk]:
        """The jobs of a seed, a day a chunk; fewer jobs are the first of more.

        seed: of the draws. Each: in order of submission.
        """
        arrivals, services, needs = (
            stream(seed, "arrivals"),
            stream(seed, "service"),
            stream(seed, "needs"),
        )
        left, now = self.jobs, 0.0
        while left > 0:
            submit, array = self._day(arrivals, now)
            run, (cores, memory) = self._run_times(services, len(submit)), _needs(needs, array)
            yield Chunk(submit[:left], run[:left], cores[:left], memory[:left])
            left, now = left - len(submit), submit[-1]

    def _day(self, draws: Generator, now: float) -> tuple[Floats, Ints]:
        """When the jobs of the day come that begins with a pause now, and the number of
        each one's array.
        """
        number = draws.geometric(1 / self._jobs_a_day)
        first = draws.random(number) < 1 / ARRAY_JOBS
        gaps = draws.standard_exponential(number) * np.where(
            first, DAY_S * ARRAY_JOBS / number, WITHIN_S
        )
        gaps[0] += _pause(draws)
        gaps = np.minimum(gaps, PAUSE_S[1])
        gaps[0] += now
        return np.cumsum(gaps), np.cumsum(first)

    @property
    def _jobs_a_day(self) -> float:
        """Mean number of jobs of a day, such that they, its pause and the gaps within arrays
        make the rate.
        """
        within_s = (1 - 1 / ARRAY_JOBS) * WITHIN_S  # per job
        return (
            self.rate_per_s
            * (math.sqrt(PAUSE_S[0] * PAUSE_S[1]) + DAY_S)
            / (1 - self.rate_per_s * within_s)
        )

    def _run_times(self, draws: Generator, number: int) -> Floats:
        short = draws.random(number) < SHORT_SHARE
        unit = draws.standard_exponential(number)
        long_mean_s = (self.mean_run_s - SHORT_SHARE * SHORT_S) / (1 - SHORT_SHARE)
        # the square's mean is 2: Weibull with shape 1/2
        return np.where(short, SHORT_S * unit, long_mean_s / 2 * unit**2)


def _pause(draws: Generator) -> float:
    """A bounded Pareto variate of index 1/2, seconds."""
    least, most = PAUSE_S
    return float(least / (1 - draws.random() * (1 - math.sqrt(least / most))) ** 2)


def _needs(draws: Generator, array: Ints) -> tuple[Ints, Floats]:
    """Cores and memory of jobs, given the number of each one's array: 0 or 1, then
    rising by 0 or 1.
    """
    arrays = int(array[-1]) + 1
    cores = draws.choice(CORES, arrays, p=CORES_SHARES)[array]
    return cores, cores * draws.choice(GB_PER_CORE, arrays, p=GB_SHARES)[array]
