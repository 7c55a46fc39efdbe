"""Arrivals at rates by hour: counts against the rates, and rates measured in a log of
them.
"""

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.rental.job import WEEK
from cgrsp_simpy.rental.workload import arrivals_after

HOUR_S, WEEK_H = 3600.0, 168
SEEDS = range(10)
WEEKS = 20
DAY = [
    0,
    0,
    0.5,
    1,
    2,
    4,
    9,
    16,
    25,
    36,
    30,
    24,
    20,
    22,
    28,
    33,
    29,
    21,
    14,
    10,
    7,
    4,
    2,
    0,
]
WEEKLY = [
    [rate * (1.0, 1.2, 0.9, 1.1, 1.5, 0.3, 0.2)[day] for rate in DAY]
    for day in range(7)
]


def submissions(rates, jobs, seed):
    load = cg.HourlyWorkload(jobs, rates)
    return np.array([job.submit_s for job, _ in load.generate(seed, cg.Service())])


def hours_of_week(rates, submit_s):
    start = ["Monday", "Thursday"].index(rates.start_day) * 72 + rates.start_h
    return (start + submit_s / HOUR_S).astype(int) % WEEK_H


def chi_square(rates, expected):
    """Standard score of the chi-square statistic of arrivals by hour of the week,
    over all seeds.
    """
    jobs = int(WEEKS * expected.sum() * 1.1)
    total, cells = 0.0, 0
    for seed in SEEDS:
        submit_s = submissions(rates, jobs, seed)
        assert submit_s[-1] > WEEKS * WEEK_H * HOUR_S  # so that the weeks are whole
        own = submit_s[submit_s < WEEKS * WEEK_H * HOUR_S]
        counts = np.bincount(hours_of_week(rates, own), minlength=WEEK_H)
        there = expected > 0
        assert not counts[~there].any()
        means = WEEKS * expected[there]
        total += ((counts[there] - means) ** 2 / means).sum()
        cells += there.sum()
    return (total - cells) / np.sqrt(2 * cells)  # mean and variance of chi-square


@pytest.mark.slow
@pytest.mark.parametrize(
    "rates",
    [
        cg.ArrivalRates(WEEKLY, 8),
        cg.ArrivalRates(WEEKLY, 17.25, "Thursday"),
        cg.ArrivalRates(DAY, 8),
    ],
    ids=["from Monday, 8:00", "from Thursday, 17:15", "every day"],
)
def test_arrivals_by_hour_of_the_week_match_the_rates(rates):
    expected = np.resize(np.array(rates.per_h).ravel(), WEEK_H)
    assert abs(chi_square(rates, expected)) < 4
    later = np.where(expected > 0, np.roll(expected, 1) + 0.1, 0)
    assert chi_square(rates, later * expected.sum() / later.sum()) > 4  # an hour late


@pytest.mark.parametrize("per_h", [[72.0] * 24, [[72.0] * 24] * 7])
def test_the_same_rate_in_every_hour_is_the_constant_rate(per_h):
    plain = cg.PoissonWorkload(900, 0.02)
    hourly = cg.HourlyWorkload(900, cg.ArrivalRates(per_h))
    assert hourly.rate_per_s == pytest.approx(plain.rate_per_s, rel=1e-15)
    for (one, draws), (other, same) in zip(
        plain.generate(1, cg.Service()), hourly.generate(1, cg.Service())
    ):
        assert other.submit_s == pytest.approx(one.submit_s, rel=1e-12)
        assert other.deadline_s == pytest.approx(one.deadline_s, rel=1e-12)
        assert (one.complexity, one.tight, one.deadline_class, draws) == (
            other.complexity,
            other.tight,
            other.deadline_class,
            same,
        )


def test_expected_arrivals_are_converted_to_expected_arrival_times():
    """By hand: 2 per hour from 8:00, none from 9:00 to 23:00, 1 in the last hour; from
    8:30 on.
    """
    rates = cg.ArrivalRates([0] * 8 + [2] + [0] * 14 + [1], 8.5)
    hours = rates.times_s(np.array([0.5, 0.999999, 1.25, 2.0, 2.5, 5.0])) / HOUR_S
    assert hours == pytest.approx([0.25, 0.4999995, 14.75, 23.5, 23.75, 47.5])


# ---- measured in a log ----


def log_of(submit_s, start_h=8.0, start_day="Monday"):
    ones = (1.0,) * len(submit_s)
    nothing = (np.nan,) * len(submit_s)
    return cg.LoggedWorkload(
        tuple(submit_s),
        ones,
        nothing,
        (1,) * len(submit_s),
        ones,
        start_h=start_h,
        start_day=start_day,
    )


def test_rates_of_a_log_by_hand():
    """25.5 hours from 22:30 on: the hour from 22:00 is watched for 1.5 h, that from
    23:00 for 2.
    """
    hours = [0.0, 0.25, 0.5, 1.0, 5.5, 24.25, 25.0, 25.5]
    measured = cg.arrival_rates(log_of([hour * HOUR_S for hour in hours], 22.5, None))
    expected = [0.0] * 24
    expected[22], expected[23], expected[4], expected[0] = 3 / 1.5, 3 / 2, 1.0, 1 / 1.0
    day = cg.arrival_rates(log_of([0.0, 24 * HOUR_S]))  # no less than a day
    assert (measured.start_h, measured.start_day, day.start_h) == (22.5, "Monday", 8)
    week = cg.arrival_rates(log_of([0.0, 168 * HOUR_S], 8, "Tuesday"), weekly=True)
    assert (measured.per_h, np.argwhere(week.per_h).tolist()) == (
        (pytest.approx(expected),),
        [[1, 8]],
    )


def test_the_rates_of_a_view_equal_those_of_the_workload():
    rates = cg.ArrivalRates(WEEKLY, 8, "Sunday")
    scenario = cg.Scenario("open", cg.HourlyWorkload(5, rates))
    known = scenario.moment([]).known
    assert known.arrival_rates == rates
    assert known.arrival_rate_per_s == pytest.approx(np.mean(WEEKLY) / HOUR_S)
    for day, hour, time_h in [
        (6, 8, 0.0),
        (6, 23, 15.99),
        (0, 0, 16.0),
        (6, 7, 167.5),
        (6, 8, 168.0),
    ]:
        assert known.arrival_rates.at(time_h * HOUR_S) == WEEKLY[day][hour] / HOUR_S
    assert cg.day("quiet").moment([]).known.arrival_rates is None


@pytest.mark.parametrize("now_h", [0, 3, 40, 400.25])
def test_jobs_after_a_state_arrive_at_the_rates_of_that_hour(now_h):
    """Jobs come on Thursdays from 10 to 11 only; time 0 is Saturday, 20:30."""
    per_h = np.zeros((7, 24))
    per_h[3, 10] = 9.0
    rates = cg.ArrivalRates(per_h.tolist(), 20.5, WEEK[5])
    workload, now_s = cg.HourlyWorkload(20, rates), 3600 * now_h
    after = [*arrivals_after(workload, cg.Service(), 1, now_s, 30, first=7)]
    assert [job.id for _, job, _ in after] == list(range(7, 37))
    for submit_s, job, _ in after:
        assert now_s <= submit_s == job.submit_s < job.deadline_s
        assert rates.at(submit_s) == 9 / 3600
        hour = 5 * 24 + 20.5 + submit_s / 3600
        assert 3 * 24 + 10 <= hour % 168 < 3 * 24 + 11
