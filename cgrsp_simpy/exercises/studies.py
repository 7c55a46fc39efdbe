"""Exercises of lectures 5 to 8: output analysis, policies, honest comparison."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import (
    Mean,
    batch_means,
    holm,
    mean,
    replications_needed,
)
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.exercises.basics import plain
from cgrsp_simpy.exercises.exercise import Exercise, Mistake, code, number
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.job import Service
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.workload import PoissonWorkload
from cgrsp_simpy.studies.compare import compare
from cgrsp_simpy.studies.replicate import simulate

# ---- 5.1: correlated waits ----


@cache
def _waits_s(load: float) -> np.ndarray:
    """Simulate waits of an M/M/1 queue, seed 1, without the first 1000."""
    work = PoissonWorkload(30_000, load / 10, complexity_mix=(1.0,))
    queue = plain(work, (10.0,), service=Service("exponential"))
    jobs = simulate(queue, "fifo", seed=1).jobs
    return np.asarray(jobs["start_s"] - jobs["submit_s"])[1000:]


def _times_as_wide(load: float, batches: int = 20) -> float:
    waits_s = _waits_s(load)
    return batch_means(waits_s, batches).half_width / mean(waits_s).half_width


# ---- 5.2: how many replications ----


@cache
def _fifo_waits_min(days: int) -> tuple[float, ...]:
    return tuple(
        compare(day("hectic"), ["fifo"], range(days)).values("fifo", "wait_min")
    )


def _needed(share: float) -> float:
    return replications_needed(_fifo_waits_min(20), share)


def _pilot() -> Mean:
    return mean(_fifo_waits_min(20))


# ---- 6.1: who starves ----


def _longer_min(complexity: int | None, until: str = "start_s") -> float:
    """Return how much longer jobs of a complexity wait under SPT than under FIFO."""
    waits_s = []
    for policy in ("spt", "fifo"):
        jobs = simulate(day("hectic"), policy, seed=0).jobs
        chosen = jobs if complexity is None else jobs[jobs["complexity"] == complexity]
        waits_s.append(float((chosen[until] - chosen["submit_s"]).mean()))
    return (waits_s[0] - waits_s[1]) / 60


# ---- 6.2: your own policy ----

LESS_PCT, LATE_PCT = 10.0, 1.0  # least saving of wait, most rush orders missed


def _judge_policy(given: Any) -> str:
    """Return the error of a policy."""
    study = compare(day("hectic"), [given], range(3))
    if study.failures:
        return f"the policy fails: {study.failures[0]['error']}"
    (own,) = study.means().values()
    late_pct, wait_min = own["tight_miss_pct"].mean, own["wait_min"].mean
    fifo_min = mean(_fifo_waits_min(3)).mean
    if late_pct > LATE_PCT:
        return (
            f"{late_pct:.1f} % of the rush orders are late: which job must not be"
            " overtaken any longer, and how do you see it?"
        )
    if wait_min > (1 - LESS_PCT / 100) * fifo_min:
        return (
            f"the mean wait is {wait_min:.0f} min, FIFO's {fifo_min:.0f}: what should"
            " decide among jobs that are in no hurry?"
        )
    return ""


# ---- 7.1: slots that keep pace ----


def _held_s(scenario: Scenario, slot: int, hour: float) -> float:
    gpu, market = scenario.slots[slot], scenario.market
    chances = market.probabilities(gpu, 3600 * hour)
    delay_s = summed(
        chance * sum(bounds) / 2 for chance, bounds in zip(chances, market.delay_s)
    )
    return delay_s + summed(
        share * each for share, each in zip(scenario.workload.mix, gpu.mean_execution_s)
    )


def _pace_at(hour: float) -> Callable[[Scenario], float]:
    """Return the greatest number of jobs per second, slot by slot."""
    return lambda scenario: summed(
        1 / _held_s(scenario, slot, hour) for slot in range(len(scenario.slots))
    )


def _pace_of_mean(scenario: Scenario) -> float:
    slots = range(len(scenario.slots))
    return len(slots) ** 2 / summed(_held_s(scenario, slot, 5) for slot in slots)


def _slots(pace: Callable[[Scenario], float]) -> float:
    """Return the fewest slots that keep pace with the surge day's arrivals."""
    scenarios = (day("surge", slots=slots) for slots in count(1))
    return next(
        len(each.slots) for each in scenarios if pace(each) >= each.workload.rate_per_s
    )


# ---- 7.2: whose provisioning ----


@cache
def _surge_s() -> tuple[float, float, float]:
    """Sum waits, the jobs' provisioning and execution over ten surge days, FIFO."""
    jobs = np.concatenate(
        [simulate(day("surge"), "fifo", seed).jobs for seed in range(10)]
    )
    return (
        float((jobs["start_s"] - jobs["submit_s"]).sum()),
        float(jobs["delay_s"].sum()),
        float(jobs["service_s"].sum()),
    )


def _own_pct() -> float:
    waiting, own, _ = _surge_s()
    return 100 * own / waiting


def _held_pct() -> float:
    _, own, execution = _surge_s()
    return 100 * own / (own + execution)


# ---- 8.1: Holm ----

P_VALUES = (0.004, 0.011, 0.020, 0.045, 0.300)


def _significant(adjusted: list[float]) -> float:
    return sum(p < 0.05 for p in adjusted)


# ---- 8.2: printed against reproduced ----

PRINTED_MIN = 158.77  # mean wait of FIFO on the hectic day, thesis Table 5.2


def _z(printed_days: float, own_days: float) -> float:
    """Return by how many standard errors the printed mean exceeds ours."""
    pilot = _pilot()
    return (PRINTED_MIN - pilot.mean) / (
        pilot.sd * math.sqrt(1 / printed_days + 1 / own_days)
    )


EXERCISES: dict[str, Exercise] = {
    "5.1": Exercise(
        "How many times as wide is the interval of the mean wait from 20 batches as the"
        " one that treats the waits as independent, at utilisation 0.8, over 30,000"
        " customers of seed 1 without the first 1000?",
        number(
            lambda: _times_as_wide(0.8),
            "a ratio",
            0.01,
            Mistake(
                lambda: 1 / _times_as_wide(0.8),
                "the other way round: which interval is the wider one?",
            ),
            Mistake(
                lambda: _times_as_wide(0.8) ** 2,
                "that is the ratio of the variances; the question is about widths",
            ),
            Mistake(
                lambda: _times_as_wide(0.5),
                "that is the ratio at utilisation 0.5; the question raises it",
            ),
            Mistake(
                lambda: _times_as_wide(0.8, 1450),
                "batches of 20 customers are not 20 batches",
            ),
            Mistake(
                lambda: batch_means(_waits_s(0.8)).half_width,
                "that is the half width of one of the intervals; compare the two",
            ),
            way=(
                "both intervals come from the same waits: `mean` of them, and"
                " `batch_means`"
            ),
        ),
    ),
    "5.2": Exercise(
        "How many hectic days until the 95 % half width of FIFO's mean wait is 2 % of"
        " it, judged by a pilot of 20 days?",
        number(
            lambda: _needed(0.02),
            "days",
            0.03,
            Mistake(
                lambda: _needed(2 / _pilot().mean),
                "that is for a half width of 2 minutes; 2 % of the mean wait is more",
            ),
            Mistake(
                lambda: _needed(0.01),
                "that is for 1 %: the half width is half of the interval, not all"
                " of it",
            ),
            Mistake(  # the standard error, not the half width
                lambda: math.ceil((_pilot().sd / (0.02 * _pilot().mean)) ** 2),
                "that makes the standard error 2 %; a half width is t times as wide",
            ),
            Mistake(
                lambda: math.ceil(20 * _pilot().half_width / (0.02 * _pilot().mean)),
                "half widths fall with the root of the number of days",
            ),
            way=(
                "`replications_needed` takes the waits of the pilot and the half width"
                " as a share"
            ),
        ),
    ),
    "6.1": Exercise(
        "How many minutes longer do jobs of complexity 3 wait under SPT than under"
        " FIFO, on the hectic day with seed 0?",
        number(
            lambda: _longer_min(3),
            "minutes",
            0.005,
            Mistake(lambda: -_longer_min(3), "the sign: SPT's wait minus FIFO's"),
            Mistake(lambda: 60 * _longer_min(3), "that is in seconds"),
            Mistake(lambda: _longer_min(3) / 60, "that is in hours"),
            Mistake(
                lambda: _longer_min(None),
                "that is for all jobs; look at complexity 3 alone",
            ),
            Mistake(
                lambda: _longer_min(1), "that is for complexity 1, the small frames"
            ),
            Mistake(
                lambda: _longer_min(3, until="dispatch_s"),
                "a wait lasts until the execution starts, not the dispatch",
            ),
            way=(
                "two runs of the same seed: start minus submission, mean over the large"
                " frames"
            ),
        ),
    ),
    "6.2": Exercise(
        "Which policy waits at least 10 % less than FIFO and misses at most 1 % of the"
        " rush orders, over hectic days 0, 1 and 2?",
        code("a policy, a function of a view", lambda: [{}], _judge_policy),
    ),
    "7.1": Exercise(
        "What is the least number of slots at which the pace in the peak keeps up with"
        " the surge day's arrivals?",
        number(
            lambda: _slots(_pace_at(5)),
            "slots",
            0.0,
            Mistake(
                lambda: _slots(
                    lambda own: own.workload.rate_per_s / own.known().offered_load
                ),
                "that counts execution alone; what else holds a slot?",
            ),
            Mistake(
                lambda: _slots(_pace_at(0)),
                "that is enough in the morning; the question is about the peak",
            ),
            Mistake(
                lambda: _slots(_pace_of_mean),
                "that divides by the mean time a slot is held; but types of better"
                " stock serve more jobs: add up their paces",
            ),
            way=(
                "add up the slots' paces, `pace` of the lecture, for several numbers of"
                " slots"
            ),
        ),
    ),
    "7.2": Exercise(
        "How much of all the waiting on the surge day under FIFO, seeds 0 to 9, is a"
        " job's own provisioning?",
        number(
            _own_pct,
            "per cent",
            0.02,
            Mistake(
                lambda: 100 - _own_pct(),
                "that is the share of the queue; the question asks for the rest",
            ),
            Mistake(
                lambda: _own_pct() / 100,
                "that is a fraction; the answer is in per cent",
            ),
            Mistake(
                lambda: 100 * _own_pct() / (100 - _own_pct()),
                "that is its ratio to the rest of the waiting; divide by all of it",
            ),
            Mistake(
                _held_pct,
                "that is the share of the slots' held time; divide by the jobs' waits",
            ),
            way="two sums over the jobs of all ten runs, and their ratio",
        ),
    ),
    "8.1": Exercise(
        "How many of p = 0.004, 0.011, 0.020, 0.045 and 0.300 are significant at the 5"
        " % level after Holm's correction?",
        number(
            lambda: _significant(holm(P_VALUES)),
            "tests",
            0.0,
            Mistake(
                lambda: _significant(list(P_VALUES)), "that is without any correction"
            ),
            Mistake(
                lambda: _significant([len(P_VALUES) * p for p in P_VALUES]),
                "that is Bonferroni's: Holm multiplies by fewer after each test that"
                " passes",
            ),
            Mistake(
                lambda: _significant(
                    [
                        len(P_VALUES) / rank * p
                        for rank, p in enumerate(P_VALUES, start=1)
                    ]
                ),
                "that is Benjamini and Hochberg's correction, which bounds another"
                " error and lets more pass",
            ),
            way="by hand: from the least p-value on, by what is each multiplied?",
        ),
    ),
    "8.2": Exercise(
        "What is z of Table 5.2's mean wait of FIFO, 158.77 min over 30 seeds, against"
        " 20 days of our own?",
        number(
            lambda: _z(30, 20),
            "standard errors",
            0.02,
            Mistake(lambda: -_z(30, 20), "the sign: printed minus ours"),
            Mistake(
                lambda: _z(30, 20) * math.sqrt(20 / 19),
                "the standard deviation of a sample divides by n - 1",
            ),
            Mistake(
                lambda: _z(math.inf, 20),
                "that counts our noise alone; the printed mean has its own",
            ),
            Mistake(
                lambda: _z(30, math.inf),
                "that counts the noise of the print alone; our mean has its own",
            ),
            Mistake(
                lambda: _z(1, math.inf),
                "that divides by the standard deviation between days; a mean varies"
                " less",
            ),
            way="the variances of two independent means add up; what are they here?",
        ),
    ),
}
"""Exercises of the lectures on studies, by number."""
