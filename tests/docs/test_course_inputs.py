"""Exercises of lectures 5 to 8 and 14: right answers, and typical wrong answers."""

import math

import numpy as np
import pytest
import simpy
from scipy import stats
from support import number_tests

from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises import check, exercise
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
    (half_hourly_batches, "any time of an hour"),
    (one_at_the_start, "at time 0"),
    (own_generator(None), "from `rng`"),
    (own_generator(5), "from `rng`"),
    (all_before_nine, "o'clock"),
    (without_time, "about 144 per day"),
    (one_rate_for_a_day, "do not vary as Poisson"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "message"), SOURCES, ids=lambda each: getattr(each, "__name__", "")
)
def test_arrival_processes_are_judged_by_their_counts(source, message):
    verdict = check(7.2, source)
    assert bool(verdict) == (not message)
    assert message in verdict.message


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
            if source is not without_time:  # an error, which the judge reports
                fault = room.arrivals_fault(source, seed)
                assert bool(fault) == bool(message), (source, seed, fault)
                assert message in fault


# ---- code ----


def machine(env, uniforms, scale, shape, repair, failures, lifetime=None, after=False):
    for u in uniforms:
        usual = scale * (-math.log(1 - u)) ** (1 / shape)
        yield env.timeout(lifetime(u, scale, shape) if lifetime else usual)
        if not after:
            failures.append(env.now)
        yield env.timeout(repair)
        if after:
            failures.append(env.now)


def machine_with(lifetime=None, **change):
    def process(*case):
        return machine(*case, lifetime=lifetime, **change)

    return process


def machine_without_repair(env, uniforms, scale, shape, repair, failures):
    return machine(env, uniforms, scale, shape, 0, failures)


def priority_desk(at_service=False, sign=1, one_by_one=False):
    def source(env, desk, gaps, priorities, works, served):
        def customer(priority, work):
            arrival = env.now
            with desk.request(sign * priority) as turn:
                yield turn
                yield env.timeout(next(works) if work is None else work)
            served.append((arrival, env.now))

        for gap in gaps:
            yield env.timeout(gap)
            work = None if at_service else next(works)
            process = env.process(customer(next(priorities), work))
            if one_by_one:
                yield process

    return source


def hotline(gaps=False, one_by_one=False, hold=True, wait_at_end=False):
    def replay(env, desk, log, waits):
        def caller(arrival, talk):
            with desk.request() as turn:
                yield turn
                if not wait_at_end:
                    waits.append(env.now - arrival)
                if hold:
                    yield env.timeout(talk)
                if wait_at_end:
                    waits.append(env.now - arrival)

        for arrival, talk in log:
            yield env.timeout(arrival if gaps else max(0, arrival - env.now))
            process = env.process(caller(env.now if gaps else arrival, talk))
            if one_by_one:
                yield process

    return replay


def pairs(u, step=2, least=100, ddof=0):
    cells = 10 * (10 * u[:-1:step]).astype(int) + (10 * u[1::step]).astype(int)
    return stats.chisquare(np.bincount(cells, minlength=least), ddof=ddof)


def occupied(u):
    cells = 10 * (10 * u[::2]).astype(int) + (10 * u[1::2]).astype(int)
    return stats.chisquare(np.unique(cells, return_counts=True)[1]).pvalue


def lcg_source(first=False, ln_u=False, rate=False):
    def source(env, a, c, m, x, mean, n, arrivals):
        for _ in range(n):
            after = (a * x + c) % m
            u = (x if first else after) / m
            gap = -math.log(u if ln_u else 1 - u)
            yield env.timeout(gap / mean if rate else gap * mean)
            arrivals.append(env.now)
            x = after

    return source


def shop(hold_while_fetching=True, wait_from_bay=False, fetch_first=False, chain=False):
    def replay(env, bays, log, waits):
        def job(arrival, fetch, repair):
            if fetch_first:
                yield env.timeout(fetch)
            with bays.request() as turn:
                yield turn
                if wait_from_bay:
                    waits.append((arrival, env.now - arrival))
                if hold_while_fetching and not fetch_first:
                    yield env.timeout(fetch)
                if not wait_from_bay:
                    waits.append((arrival, env.now - arrival))
                yield env.timeout(repair)

        for arrival, fetch, repair in log:
            yield env.timeout(max(0, arrival - env.now))
            process = env.process(job(arrival, fetch, repair))
            if chain:
                yield process

    return replay


def order_ends(x, p=None, lower=-1, upper=0):
    low, high = stats.binom.ppf([0.025, 0.975], len(x), p).astype(int)
    return sorted(x)[low + lower], sorted(x)[high + upper]


def swapped_cycle(per_arrival=lambda load: load, first=1, weighted=True):
    def cycle(env, gaps, works, level, load, weights):
        present, arrivals = 1, iter(gaps)
        next_gap, services = next(arrivals), iter(works)
        next_work = next(services)
        while 0 < present < level:
            if next_gap < next_work:
                yield env.timeout(next_gap)
                next_work -= next_gap
                next_gap, present = next(arrivals), present + 1
            else:
                yield env.timeout(next_work)
                next_gap -= next_work
                next_work, present = next(services), present - 1
        weight = per_arrival(load) ** (level - first) if weighted else 1.0
        weights.append(weight * (present == level))

    return cycle


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


CODE = [
    ("5.3", shop(), "right"),
    ("5.3", shop(wait_from_bay=True), "after fetching"),
    ("5.3", shop(hold_while_fetching=False), "not fetched"),
    ("5.3", shop(fetch_first=True), "comes out"),
    ("5.3", shop(chain=True), "start a process per job"),
    ("14.2", order_ends, "right"),
    ("14.2", lambda x, p: order_ends(x, p, lower=0), "lower end"),
    ("14.2", lambda x, p: order_ends(x, p, upper=-1), "upper end"),
    ("14.2", lambda x, p: np.quantile(x, [0.025, 0.975]), "of the values"),
    ("14.2", lambda x, p: np.quantile(x, p), "comes out"),
    ("14.3", swapped_cycle(), "right"),
    ("14.3", swapped_cycle(first=0), "one arrival"),
    ("14.3", swapped_cycle(weighted=False), "without its weight"),
    ("14.3", swapped_cycle(lambda load: 1 / load), "original likelihood"),
    ("6.2", lambda u: pairs(u).pvalue, "right"),
    ("6.2", lambda u: pairs(u, step=1).pvalue, "overlap"),
    ("6.2", lambda u: pairs(u).statistic, "that is the statistic"),
    ("6.2", lambda u: pairs(u, ddof=-1).pvalue, "degree of freedom"),
    ("6.2", lambda u: 1 - pairs(u).pvalue, "smaller statistic"),
    ("6.2", occupied, "empty cells"),
    ("6.2", lambda u: 0.5, "comes out"),
    ("6.3", lcg_source(), "right"),
    ("6.3", lcg_source(first=True), "after x"),
    ("6.3", lcg_source(ln_u=True), "use 1 - U"),
    ("6.3", lcg_source(rate=True), "not the rate"),
    ("6.3", ahead(lcg_source()), "comes out"),
    ("7.3", machine_with(), "right"),
    ("7.3", machine_with(lambda u, m, k: m * (-math.log(1 - u)) ** k), "one over"),
    ("7.3", machine_with(lambda u, m, k: m * -math.log(1 - u)), "exponential"),
    ("7.3", machine_with(lambda u, m, k: m * (-math.log(u)) ** (1 / k)), "use 1 - U"),
    ("7.3", machine_with(after=True), "not of the end of the repair"),
    ("7.3", machine_without_repair, "cannot fail"),
    ("7.3", ahead(machine_with()), "comes out"),
    ("7.3", lambda *case: None, "is not a process"),
    ("7.4", priority_desk(), "right"),
    ("7.4", priority_desk(at_service=True), "draw them at arrival"),
    ("7.4", priority_desk(sign=0), "same priority"),
    ("7.4", priority_desk(sign=-1), "lowest number"),
    ("7.4", priority_desk(one_by_one=True), "comes out"),
    ("8.3", hotline(), "right"),
    ("8.3", hotline(gaps=True), "not interarrival times"),
    ("8.3", hotline(one_by_one=True), "start a process per caller"),
    ("8.3", hotline(hold=False), "nobody waits"),
    ("8.3", hotline(wait_at_end=True), "comes out"),
    ("8.3", without_an_end, "the time is 0: a loop"),
    ("14.3", without_an_end, "the time is 0: a loop"),
]


@pytest.mark.parametrize(("number", "answer", "message"), CODE)
def test_functions_are_run_on_drawn_cases(number, answer, message, monkeypatch):
    monkeypatch.setattr(exercise, "EVENTS", 3000)
    verdict = check(number, answer)
    assert message in verdict.message
    assert bool(verdict) == (message == "right")


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
    ],
    "14.1": [
        (unseen, "right"),
        (lambda probability, confidence: 1 / probability, "more than a third"),
        (
            lambda probability, confidence: unseen(probability, 50 + confidence / 2),
            "one side",
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
    ],
}


test_numbers_of_a_hundred_students = number_tests(room.EXERCISES, OF_STUDENTS)
