"""Exercises of lectures 5 to 8 and 14: right answers, and typical wrong answers."""

import math
import re

import numpy as np
import pytest
import simpy
from scipy import stats
from support import answer_of, code_tests, edited, number_tests

from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises import check
from cgrsp_simpy.exercises import inputs as room

# ---- 7.2: arrivals ----

HOURLY = [2.0] * 8 + [10.0] * 12 + [2.0] * 4


def thinning(env, rng, arrive):
    while True:
        yield env.timeout(rng.exponential(1 / 10))
        if rng.random() < HOURLY[int(env.now % 24)] / 10:
            arrive()


def inversion(env, rng, arrive):
    expected, cumulated = 0.0, np.append(0, np.cumsum(HOURLY))
    while True:
        expected += rng.exponential()
        day, rest = divmod(expected, cumulated[-1])
        arrival = 24 * day + np.interp(rest, cumulated, np.arange(25))
        yield env.timeout(max(0.0, arrival - env.now))
        arrive()


def present_rate(env, rng, arrive):
    while True:
        yield env.timeout(rng.exponential(1 / HOURLY[int(env.now % 24)]))
        arrive()


def mean_rate(env, rng, arrive):
    while True:
        yield env.timeout(rng.exponential(24 / sum(HOURLY)))
        arrive()


def all_before_nine(env, rng, arrive):
    for day in range(10_000):
        for hour in np.sort(rng.uniform(0, 9, rng.poisson(sum(HOURLY)))):
            yield env.timeout(24 * day + hour - env.now)
            arrive()


def half_hourly_batches(env, rng, arrive):
    while True:
        yield env.timeout(0.5)
        for _ in range(rng.poisson(HOURLY[int(env.now - 0.25) % 24] / 2)):
            arrive()


def one_at_the_start(env, rng, arrive):
    arrive()
    yield from thinning(env, rng, arrive)


def own_generator(seed):
    def own_stream(env, _, arrive):
        yield from thinning(env, np.random.default_rng(seed), arrive)

    return own_stream


def without_time(env, rng, arrive):
    while True:
        arrive()
    yield env.timeout(1)


def one_rate_for_a_day(env, rng, arrive):
    """Each day is busy or quiet as a whole; the means are right."""
    factor, day = 1.0, 0
    while True:
        yield env.timeout(rng.exponential(1 / 20))
        if env.now >= 24 * day:
            factor, day = rng.uniform(0.5, 1.5), day + 1
        if rng.random() < factor * HOURLY[int(env.now % 24)] / 20:
            arrive()


AROUND = "around 8 or 20 o'clock"
SOURCES = [
    (thinning, ""),
    (inversion, ""),
    (present_rate, AROUND),
    (mean_rate, "the same in all hours"),
    (  # 6.8 per hour at night
        edited(
            thinning,
            "HOURLY[int(env.now % 24)] / 10",
            "0.6 + HOURLY[int(env.now % 24)] / 25",
        ),
        "the same in all hours",
    ),
    (edited(thinning, "1 / 10", "10"), "any time of an hour"),
    (edited(thinning, "env.now %", "(env.now + 1) %"), AROUND),
    (
        edited(thinning, "[int(", "[(env.now % 24 >= 11.1) * int("),
        "any time of an hour",
    ),
    (
        edited(  # at regular times after the first, half as often at night
            thinning,
            "rng.exponential(1 / 10)",
            "1 / 10 if env.now else 0.01 + rng.random() / 50",
            "rng.random() < HOURLY[int(env.now % 24)] / 10",
            "HOURLY[int(env.now % 24)] == 10 or int(10 * env.now) % 2",
        ),
        "any time of an hour",
    ),
    (half_hourly_batches, "any time of an hour"),
    (one_at_the_start, "at time 0"),
    (own_generator(None), "from `rng`"),
    (own_generator(5), "from `rng`"),
    (all_before_nine, "o'clock"),
    # on 1 of 100 seeds the mean rate is wrong, too
    (one_rate_for_a_day, "do not vary as Poisson|any time of an hour"),
]


@pytest.mark.parametrize(
    ("seeds", "days"),
    [
        (range(1), 100),
        pytest.param(range(1, 5), 200, marks=pytest.mark.slow),
        pytest.param(range(5, 100), 200, marks=pytest.mark.long),
    ],
)
def test_arrival_processes_are_judged_alike_with_100_seeds(seeds, days, monkeypatch):
    monkeypatch.setattr(room, "DAYS", days)
    for seed in seeds:
        for source, message in SOURCES:
            fault = room.arrivals_fault(source, seed)
            assert bool(fault) == bool(message), (source, seed, fault)
            assert re.search(message, fault)


def test_a_source_that_never_waits_is_stopped(monkeypatch):
    monkeypatch.setattr(room, "DAYS", 20)
    assert "about 144 per day" in check(7.2, without_time).message


# ---- code ----


def ahead(process):
    """Record all times at time 0, before they are reached."""

    def listed(env, *case):
        *arguments, times = case
        copy = simpy.Environment()
        copy.process(process(copy, *arguments, times))
        copy.run()
        yield env.timeout(copy.now)

    return listed


def without_an_end(env, *_):
    while True:
        yield env.timeout(0)


RIGHT = {
    "5.3": answer_of("05_validation", "replay"),
    "6.2": answer_of("06_random_numbers", "pairs"),
    "6.3": answer_of("06_random_numbers", "source"),
    "7.3": answer_of("07_variates", "machine"),
    "7.4": answer_of("07_variates", "source", 1),
    "8.3": answer_of("08_input_modelling", "replay"),
    "14.2": answer_of("14_rare_events", "interval"),
    "14.3": answer_of("14_rare_events", "cycle"),
}
FETCH = "            yield env.timeout(fetch)\n"
WAITS = "            waits.append((arrival, env.now - arrival))\n"
TALK = "            yield env.timeout(talk)\n"
ONE_BY_ONE = (
    *("arrival - env.now", "max(0, arrival - env.now)"),
    *("arrival = env.now", "pass"),
    *("env.process", "yield env.process"),
)
STATE = "        x = (a * x + c) % m\n"
# number, hint, and an answer, or what is changed in the right one
WRONG = [
    ("5.3", "after fetching", WAITS, "", FETCH, WAITS + FETCH),
    ("5.3", "not fetched", FETCH, ""),
    (
        "5.3",
        "comes out",
        *(FETCH, ""),
        *("        with", "        yield env.timeout(fetch)\n        with"),
    ),
    ("5.3", "a process per job", "job(fetch", "job(arrival, fetch", *ONE_BY_ONE),
    ("5.3", "it should be [[", "(arrival, env.now", "(env.now, env.now"),
    ("5.3", "it should be [[", "(arrival, env.now - arrival)", "env.now - arrival"),
    ("14.2", "lower end", "low - 1", "low"),
    ("14.2", "upper end", "high]", "high - 1]"),
    ("14.2", "of the values", lambda x, p: np.quantile(x, [0.025, 0.975])),
    ("14.2", "comes out", lambda x, p: np.quantile(x, p)),
    ("14.3", "one arrival", "1.0, env", "load, env"),
    ("14.3", "without its weight", "weight * factor", "weight"),
    ("14.3", "without customers", " if present == level else 0.0", ""),
    ("14.3", "nothing is appended", "weights.append", "abs"),
    (
        "14.3",
        "original likelihood",
        *("gaps, 1, load", "gaps, 1, 1 / load"),
        *("-1, 1 / load", "-1, load"),
    ),
    ("14.3", "the time is 0: a loop", without_an_end),
    (
        "6.2",
        "overlap",
        *("(10 * u.reshape(-1, 2))", "(10 * np.array([u[:-1], u[1:]]).T)"),
    ),
    ("6.2", "that is the statistic", ".pvalue", ".statistic"),
    ("6.2", "degree of freedom", "100)", "100), ddof=-1"),
    ("6.2", "smaller statistic", "return", "return 1 -"),
    (
        "6.2",
        "empty cells",
        *("np.bincount", "np.unique"),
        *("minlength=100)", "return_counts=True)[1]"),
    ),
    ("6.2", "comes out", lambda u: 0.5),
    ("6.2", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1] comes out", lambda u: [1] * 10),
    ("6.2", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ..., 11 in all] ", lambda u: [1] * 11),
    ("6.3", "after x", STATE, "", "(env.now)\n", f"(env.now)\n{STATE}"),
    ("6.3", "use 1 - U", "1 - x", "x"),
    ("6.3", "not the rate", "-mean * log(1 - x / m)", "-log(1 - x / m) / mean"),
    ("6.3", "comes out", ahead(RIGHT["6.3"])),
    ("6.3", "in all] comes out", "range(n)", "iter(int, 1)"),
    ("7.2", "is not a process", lambda *case: None),
    ("7.3", "one over", "1 / shape", "shape"),
    ("7.3", "exponential", "** (1 / shape)", ""),
    ("7.3", "use 1 - U", "1 - u", "u"),
    (
        "7.3",
        "not of the end of the repair",
        *("        failures.append(env.now)\n", ""),
        *("(repair)\n", "(repair)\n        failures.append(env.now)\n"),
    ),
    ("7.3", "cannot fail", "timeout(repair)", "timeout(0)"),
    ("7.3", "comes out", ahead(RIGHT["7.3"])),
    ("7.3", "is not a process", lambda *case: None),
    (
        "7.4",
        "draw them at arrival",
        *("next(works)", "None"),
        *("timeout(work)", "timeout(next(works))"),
    ),
    ("7.4", "same priority", "request(priority)", "request(0)"),
    ("7.4", "lowest number", "request(priority)", "request(-priority)"),
    ("7.4", "comes out", "env.process", "yield env.process"),
    ("8.3", "not interarrival times", "arrival - env.now", "arrival"),
    (
        "8.3",
        "a process per caller",
        *("caller(talk", "caller(arrival, talk"),
        *ONE_BY_ONE,
    ),
    ("8.3", "nobody waits", TALK, ""),
    ("8.3", "comes out", TALK, "", "            waits", f"{TALK}            waits"),
    ("8.3", "the time is 0: a loop", without_an_end),
]


test_right_code_is_accepted, test_wrong_code_is_refused_with_a_hint = code_tests(
    RIGHT, WRONG
)


# ---- numbers ----


def d(n, mean=None):
    x = stream(n, "exercise").gamma(2.0, 300.0, 500)
    return stats.kstest(x, stats.expon(0, mean or x.mean()).cdf).statistic


def p(n, fitted=2):
    x = stream(n, "exercise").gamma(2.0, 300.0, 500)
    shape, _, scale = stats.gamma.fit(x, floc=0)
    cells = np.histogram(stats.gamma.cdf(x, shape, 0, scale), 20, range=(0, 1))[0]
    return stats.chi2.sf(np.sum((cells - 25) ** 2 / 25), 19 - fitted)


C = math.sqrt(2 * math.e / math.pi)


def half_width(log, model, quantile=None):
    error = np.subtract(log, model).std(ddof=1) / math.sqrt(len(log))
    return (quantile or stats.t.ppf(0.975, len(log) - 1)) * error


def unseen(probability, confidence):
    return math.log(1 - confidence / 100) / math.log(1 - probability)


OF_STUDENTS = {
    "5.1": [
        (half_width, "right"),
        (lambda log, model: 2 * half_width(log, model), "whole width"),
        (lambda log, model: half_width(log, model, 1.96), "normal quantile"),
        (lambda log, model: np.mean(log) - np.mean(model), "the difference itself"),
        (
            lambda log, model: (
                stats.t.ppf(0.975, 18)
                * math.sqrt(np.var(log, ddof=1) / 10 + np.var(model, ddof=1) / 10)
            ),
            "per day",
        ),
    ],
    "5.2": [
        (lambda count, days: stats.binom.sf(count - 1, days, 0.1), "right"),
        (lambda count, days: stats.binom.sf(count, days, 0.1), "more than the count"),
        (lambda count, days: stats.binom.pmf(count, days, 0.1), "exactly"),
        (lambda count, days: stats.binom.sf(count - 1, days, 0.05), "both count"),
        (lambda count, days: 100 * stats.binom.sf(count - 1, days, 0.1), "in percent"),
    ],
    "14.1": [
        (unseen, "right"),
        (lambda probability, confidence: 1 / probability, "more than a third"),
        (
            lambda probability, confidence: unseen(probability, 50 + confidence / 2),
            "one side",
        ),
        (
            lambda probability, confidence: (
                unseen(probability, 97.5) if confidence == 95 else 3 / probability
            ),
            "rule of three",
        ),
    ],
    "6.1": [
        (lambda tests, level: 1 - (1 - level) ** tests, "right"),
        (lambda tests, level: (1 - level) ** tests, "of none"),
        (lambda tests, level: tests * level, "mean number"),
        (lambda tests, level: level, "one test"),
    ],
    "7.1": [
        (lambda: C, "right"),
        (lambda: 1 / C, "fraction"),
        (lambda: C / 2, "twice"),
    ],
    "8.1": [(d, "right"), (lambda n: d(n, 600.0), "estimate it from x")],
    "8.2": [
        (p, "right"),
        (lambda n: p(n, 0), "19"),
        (lambda n: p(n, 1), "18"),
        (lambda n: 1 - p(n), "smaller statistic"),
        (lambda n: stats.chi2.isf(p(n), 17), "that is the statistic"),
    ],
}


test_numbers_of_a_hundred_students = number_tests(room.EXERCISES, OF_STUDENTS)


def test_every_exercise_is_tested():
    assert {*RIGHT, *OF_STUDENTS, "7.2"} == {*room.EXERCISES}
