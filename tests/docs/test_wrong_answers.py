"""A hundred invented wrong answers and more: what a student is told of them, beyond
that they are wrong.

`python tests/docs/test_wrong_answers.py` prints those of which nothing is said.
"""

import math
import re
import sys
from functools import partial

import numpy as np
import pytest
from scipy import stats

from cgrsp_simpy.base.policy import Wake
from cgrsp_simpy.exercises import EXERCISES, check

# forgotten factors, other units, the other policy, sums, off by one, n for n - 1
NUMBERS = {
    "1.1": (22.5, 80, 45, 30),
    "1.2": (0.875, 3, 22.5),
    "2.1": (150, 240),
    "3.1": (6, 10, 8),
    "3.2": (90.04, 106.9),
    "4.1": (3.014, 86.8, 100),
    "4.2": (40, 0.2304, 10),
    "5.1": (0.1293, 59.8),
    "5.2": (124, 34, 33),
    "6.1": (-263.4, 4.39),
    "7.1": (18, 2, 13),
    "7.2": (96.99, 0.03006, 3.0996),
    "8.1": (3, 4),
    "8.2": (-0.7405, 0.956, 0.7597),
    "9.1": (0.1378, 3.259),
    "9.2": (0.2843, 0.3694),
    "10.1": (0.7602, 0.6577),
    "10.2": (84.69, 4697),
    "11.1": (40.18, 2437),
    "11.2": (12, 14),
    "12.1": (1.956, 0.4524, 0.9538),
    "12.2": (1.8555, 1.8246),
    "13.1": (42.91, -21.45),
    "13.2": (60, 55.3),
    "14.1": (5.562, 15.47),
    "14.2": (14, 11.76),
    "15.1": (0.3, 0.7397, 0.01),
    "16.1": (12, 3),
    "17.2": (10_000, 36_889, 29_000),
    "18.1": (1.267, 0.5),
}


def in_pairs(view):
    oldest_s = view.queue[0].submit_s
    if view.waiting >= 2 or view.now_s >= oldest_s + 600:
        return zip(view.queue, view.idle)
    return [Wake(oldest_s + 600)]


def oldest(view):
    return zip(view.queue, view.idle)


def asleep(view):
    return zip(view.queue, view.idle) if view.waiting >= 3 else []


def holding(env, slot, delay_s, work_s):
    with slot.request() as turn:
        yield turn
        yield env.timeout(delay_s + work_s)


def keeping(env, slot, delay_s, work_s):
    yield env.timeout(delay_s)
    yield slot.request()
    yield env.timeout(work_s)


def alone(env, slot, delay_s, work_s):
    yield env.timeout(delay_s + work_s)


def around(x, y, quantile=2.3646, ddof=1):
    off = np.subtract(x, y)
    half = quantile * off.std(ddof=ddof) / math.sqrt(len(off))
    return off.mean() - half, off.mean() + half


def spread(y, power, d):
    return np.sum((y[d:] - np.mean(y[d:])) ** 2) / (len(y) - d) ** power


def left_out(y, power, most):
    return min(range(most), key=partial(spread, y, power))


def by_rate(per_h, hours=24, factor=1):
    return lambda rng: rng.uniform(0, hours, rng.poisson(per_h * hours)) * factor


def controlled(y, x, known, slope):
    return np.mean(y) - slope * (np.mean(x) - known)


def done_anew_h(work_h, every_h, failures_h):
    starts_h = [0.0, *failures_h]
    ends_h = [start_h + work_h for start_h in starts_h]
    return next(
        end_h
        for end_h, failure_h in zip(ends_h, [*failures_h, math.inf])
        if end_h <= failure_h
    )


def parabola(x, y):
    bent, slope, _ = np.polyfit(x, y, 2)
    return -slope / (2 * bent)


CODE = {
    "1.3": (
        lambda events: [n for _, _, n in sorted(events, key=lambda event: event[0])],
        sorted,
    ),
    "2.2": (in_pairs, oldest, asleep),
    "2.3": (holding, keeping, alone),
    "3.3": (
        lambda a, sd_a, s, sd_s: (sd_a + sd_s) / (2 * (a - s)),
        lambda a, sd_a, s, sd_s: (sd_a**2 + sd_s**2) / (2 * (1 - s / a)),
    ),
    "4.3": (
        lambda x, y: stats.ttest_ind(x, y).confidence_interval(),
        partial(around, quantile=1.96),
        lambda x, y: around(y, x),
    ),
    "5.3": (lambda y: left_out(y, 1, 31), lambda y: left_out(y, 2, 59)),
    "6.2": (oldest,),
    "8.3": (
        lambda p: np.minimum(1, 6 * np.array(p)),
        lambda p: (6 - np.argsort(np.argsort(p))) * np.array(p),
    ),
    "9.3": (by_rate(6), by_rate(10), by_rate(6, factor=60)),
    "10.3": (
        lambda u, scale, shape: scale * (-math.log(1 - u)) ** shape,
        lambda u, scale, shape: scale * math.log(1 - u) ** (1 / shape),
    ),
    "11.3": (lambda work_h, every_h, failures_h: work_h + failures_h[0],),
    "14.3": (
        partial(controlled, slope=1.0),
        lambda y, x, known: controlled(y, x, known, -np.polyfit(x, y, 1)[0]),
    ),
    "15.2": (lambda u: stats.chisquare(np.histogram(u, 100)[0]).pvalue,),
    "16.2": (len, lambda jobs: len(jobs) / 2),
    "17.1": (
        lambda x: np.quantile(x, [0.025, 0.975]),
        lambda x: np.array(x)[[len(x) // 3, 2 * len(x) // 3]],
    ),
    "17.3": (
        lambda gaps_s, works_s, level_s: math.exp(-0.02 * level_s),
        lambda gaps_s, works_s, level_s: 0.8 * math.exp(-0.02 * level_s),
    ),
    "18.2": (parabola, lambda x, y: x[int(np.argmin(y))]),
}
WRONG = [
    (number, each)
    for table in (NUMBERS, CODE)
    for number in table
    for each in table[number]
]


def told(number, answer):
    """Whether more is said than that the answer is wrong, and a word on how to come by
    it.
    """
    verdict = check(number, answer)
    assert not verdict, (number, answer)
    return not verdict.message.startswith("not yet")


def test_there_are_a_hundred_and_more_over_all_exercises():
    assert len(WRONG) >= 100
    assert {number for number, _ in WRONG} == set(EXERCISES)


@pytest.mark.slow
def test_of_most_wrong_answers_it_is_said_what_is_wrong():
    assert sum(told(*each) for each in WRONG) >= 0.6 * len(WRONG)


def test_code_is_told_on_which_case_it_is_wrong_and_what_should_come_out():
    told = check(3.3, lambda *of: 0.0).message
    assert re.fullmatch(
        r"0 comes out, it should be [\d.]+ \(with mean gap [\d.]+, its sd [\d.]+, .*\)",
        told,
    )
    assert check(3.3, lambda *of: 1 / 0).message.startswith("ZeroDivisionError: ")
    assert check(3.3, lambda *of: None).message.startswith("nan comes out")
    assert "without calling it, not 3.0" in check(3.3, 3.0).message
    assert check(11.3, done_anew_h).message.startswith(
        "that begins anew after each failure"
    )


if __name__ == "__main__":
    known = [each for each in WRONG if each[0] in EXERCISES]
    silent = [each for each in known if not told(*each)]
    sys.stdout.write(
        f"{len(known) - len(silent)} of {len(known)}; nothing of {silent}\n"
    )
