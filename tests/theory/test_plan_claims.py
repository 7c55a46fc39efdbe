"""Intervals and limits of plans, on years that were not used for planning: three weeks
of each year are known, drawn by its seed, and the plan is priced on the rest of it.
Seeds were fixed before the first result.

Ten years are drawn (bursty jobs, 127,528 a year in the mean); ten are made of the weeks
of NASA's log, of which there are 13: 52 of these, drawn with replacement.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support import DATA

from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.waiting.jobs import DAY_S, BurstyJobs, ListedJobs, read_jobs
from cgrsp_simpy.waiting.machines import Prices, Size
from cgrsp_simpy.waiting.plan import Limit, Search, plan

NASA = DATA / "swf" / "NASA-iPSC-1993-3.1-cln.swf.gz"
HOWTO = " ".join(
    (Path(__file__).parents[2] / "docs" / "howto" / "waiting.md")
    .read_text("utf-8")
    .split()
)
WEEK_S, DAYS, KNOWN_D = 7 * DAY_S, 365, 21
LIMIT, ONE = Limit.read("p95=30min"), (Size("machine", 1, 0.0, 9.6),)
here = pytest.mark.skipif(not NASA.is_file(), reason="the log is not here")


def whole(submit_s, run_s):
    return ListedJobs(submit_s, run_s, np.ones(len(run_s)), np.zeros(len(run_s)))


def drawn(seed):
    source = BurstyJobs(260_000, 127_528 / DAYS / DAY_S)
    submit_s, run_s, *_ = map(np.concatenate, zip(*source.chunks(seed)))
    year = submit_s < DAYS * DAY_S
    return whole(submit_s[year], run_s[year])


@cache
def nasa():
    return read_jobs(NASA).jobs


def resampled(seed):
    log, submit_s, run_s = nasa(), [], []
    for place, week in enumerate(stream(seed, "weeks").integers(0, 13, 52)):
        own = (log.submit_s >= week * WEEK_S) & (log.submit_s < (week + 1) * WEEK_S)
        submit_s.append(log.submit_s[own] + (place - week) * WEEK_S)
        run_s.append(log.run_s[own])
    return whole(np.concatenate(submit_s), np.concatenate(run_s))


def realised(year, seed):
    """The plan of three weeks; what an hour of work costs under it in the rest of the
    year, and the wait that 95 % of its jobs do not exceed, seconds.
    """
    first_s = float(stream(seed, "window").integers(0, DAYS - KNOWN_D - 1)) * DAY_S
    known = (year.submit_s >= first_s) & (year.submit_s < first_s + KNOWN_D * DAY_S)
    result = plan(
        whole(year.submit_s[known] - first_s, year.run_s[known]),
        "p95=30min",
        sizes=ONE,
        seed=seed,
    )
    search = Search(year, ONE, Prices(), LIMIT, None, 0.0, 0)
    number = result.own.get("machine", 0)
    wait_s, money, _ = search.rows((number,), result.policy, result.spot)
    rest = ~known
    hours = (year.submit_s[-1] - KNOWN_D * DAY_S) / 3600
    price = (3.84 * number * hours + money[rest].sum()) / (
        year.run_s[rest].sum() / 3600
    )
    return result, price, float(np.quantile(wait_s[rest], 0.95))


def check_years(years, least):
    """The intervals of at least so many plans cover what the year costs, or the tool
    declines; no plan breaks its limit. Return the numbers of both.
    """
    results = [realised(make(seed), seed) for make, seed in years]
    right = [
        bool(own.reason) or own.price.low <= price <= own.price.high
        for own, price, _ in results
    ]
    assert sum(right) >= least
    assert all(p95_s <= LIMIT.wait_s for *_, p95_s in results)
    declined = sum(bool(own.reason) for own, *_ in results)
    assert declined <= len(results) / 4  # it does say something
    return sum(right), declined


@here
@pytest.mark.long
def test_most_of_twenty_years_are_within_the_interval_and_no_limit_is_broken():
    years = [(make, seed) for make in (drawn, resampled) for seed in range(10)]
    right, declined = check_years(years, 18)
    assert (
        f"was inside the plan's interval for {right - declined} years and outside for"
        f" {20 - right}; for {declined}, the three weeks were reported as too short"
        in HOWTO
    )


@here
@pytest.mark.slow
def test_most_of_four_years_are_within_the_interval_and_no_limit_is_broken():
    check_years([(make, seed) for make in (drawn, resampled) for seed in range(2)], 3)


@pytest.mark.slow
@here
@pytest.mark.parametrize(
    ("terms", "best"),
    [({}, 1), ({"minimum_s": 60.0, "boot_s": 120.0}, 2), ({"increment_s": 3600.0}, 6)],
)
def test_billing_decides_how_many_machines_are_best_when_no_job_waits(terms, best):
    """NASA's jobs, each on a machine: 1 by the second, 2 with a minimum and boot, 6 by
    hours.
    """
    log = nasa()
    sizes = (Size("machine", 1, 0.0, 9.6, **terms),)
    search = Search(
        whole(log.submit_s, log.run_s), sizes, Prices(), LIMIT, None, 0.0, 0
    )
    policy = search.first("njw")
    tried = [search.attempt((number,), policy) for number in range(12)]
    assert int(np.argmin([each.cost[1].sum() for each in tried])) == best
    message = (
        "1 machine is best by the second, 2 with a minimum of 60 s and a boot of 120 s,"
        " and 6 by full hours"
    )
    assert message in HOWTO
