"""The generated workload has the printed features of the real one (waiting-policies.txt
Section 6.1); exponential jobs do not.
"""

import math

import numpy as np
import pytest
from support import refusals

from cgrsp_simpy.waiting.jobs import BurstyJobs, Chunk, ExponentialJobs
from cgrsp_simpy.waiting.machines import M5, rent_per_h
from cgrsp_simpy.waiting.policies import waiting_policy
from cgrsp_simpy.waiting.recursion import follow
from cgrsp_simpy.waiting.scenario import Scenario

RATE, MEAN_S = 0.4527, 6225.0
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
MILLION = 1_000_000


def columns(source, seed=0):
    return Chunk(*(np.concatenate(column) for column in zip(*source.chunks(seed))))


@pytest.fixture(scope="module")
def bursty():
    return columns(BurstyJobs(MILLION))


@pytest.fixture(scope="module")
def exponential():
    return columns(ExponentialJobs(MILLION, RATE, MEAN_S))


def share(values, low, high=math.inf):
    return np.mean((values >= low) & (values < high)).item()


# ---- arrivals ----


def span(source):
    for chunk in source.chunks(0):
        last_s = chunk.submit_s[-1]
    return last_s


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "jobs"), [(RATE, 12 * MILLION), (RATE / 100, 6 * MILLION)]
)
def test_jobs_arrive_at_the_rate(rate, jobs):
    """Section 6.1: 0.4527 jobs/s.

    To 4 standard errors: days have independent numbers of jobs, as spread as
    exponential ones.

    That is 23 % and 3 %; without regard to pauses, the rate would be 6 % too low.
    """
    span_s = span(BurstyJobs(jobs, rate))
    assert jobs / span_s == pytest.approx(rate, rel=4 / math.sqrt(span_s / DAY))


def test_the_rate_allows_for_the_time_within_arrays(monkeypatch):
    """To 4 standard errors, 20 %, with days of 10 minutes, so that there are many;
    without regard to it, 44 % too low.
    """
    monkeypatch.setattr("cgrsp_simpy.waiting.jobs.DAY_S", 600.0)
    monkeypatch.setattr("cgrsp_simpy.waiting.jobs.PAUSE_S", (1.0, 100.0))
    source = BurstyJobs(2 * MILLION, rate_per_s=5.0)
    span_s = span(source)
    assert source.jobs / span_s == pytest.approx(
        source.rate_per_s, rel=4 / math.sqrt(span_s / 610)
    )


def test_nearly_nine_gaps_in_ten_are_below_a_second(bursty, exponential):
    """Section 6.1, Figure 15(a): nearly 90 %, against less than 40 % of exponential
    gaps, which are rather between 1 and 15 s.
    """
    gaps, smooth = np.diff(bursty.submit_s), np.diff(exponential.submit_s)
    assert 0.87 < share(gaps, 0, 1) < 0.9
    assert share(smooth, 0, 1) < 0.4
    assert share(gaps, 1, 15) < 0.2 < 0.5 < share(smooth, 1, 15)


def test_no_gap_is_above_fifty_hours():
    """Figure 15(a); to the rounding of sums of 10^8 s.

    At a rate at which some gaps between arrays would exceed that, uncut.
    """
    gaps = np.diff(columns(BurstyJobs(100_000, 0.001)).submit_s)
    assert gaps.max() == pytest.approx(50 * HOUR, abs=1e-6)


# ---- running times ----


def test_the_mean_running_time_is_as_requested(bursty):
    """Section 6.1: 6225 s. To 4 standard errors; running times are independent."""
    for runs, mean_s in (
        (bursty.run_s, MEAN_S),
        (columns(BurstyJobs(100_000, mean_run_s=300.0)).run_s, 300.0),
    ):
        assert runs.mean() == pytest.approx(
            mean_s, abs=4 * runs.std() / math.sqrt(len(runs))
        )


def test_over_sixty_percent_run_below_three_minutes(bursty, exponential):
    """Section 6.1, Figure 15(b): over 60 %, against 3 %; "60 %" in Section 6.2, so
    not much more.
    """
    assert 0.6 < share(bursty.run_s, 0, 3 * MINUTE) < 0.62
    assert share(exponential.run_s, 0, 3 * MINUTE) == pytest.approx(0.03, abs=0.005)


def test_short_jobs_are_many_and_use_little(bursty, exponential):
    """Section 6.1, Figure 15(c): even those of up to 30 minutes; usage is memory
    times core-hours.
    """
    short = bursty.run_s <= 30 * MINUTE
    usage = bursty.run_s * bursty.cores * bursty.memory_gb
    assert short.mean() > 0.7
    assert usage[short].sum() < 0.05 * usage.sum()
    assert share(exponential.run_s, 0, 30 * MINUTE) < 0.3


# ---- needs ----


def test_needs_vary_and_four_jobs_share_a_machine(bursty):
    """Figure 15(d), and ours: up to 16 cores and 128 GB; some need more than the
    machines' 4 GB per core.
    """
    per_core = bursty.memory_gb / bursty.cores
    assert set(bursty.cores.tolist()) == {1, 2, 4, 8, 16}
    assert bursty.memory_gb.max() <= 256 / 2
    assert 0 < np.mean(per_core > 4) < 0.1


def test_225_machines_cost_three_fifths_of_renting(bursty):
    """Section 6.2: a price of 0.6, with a discount of 0.4.

    To 4 standard errors, mostly that of mean needs: 0.5 %.
    """
    rented = (
        RATE
        * np.mean(rent_per_h(bursty.cores, bursty.memory_gb) * bursty.run_s)
        / M5[-1].price_per_h
    )
    assert 0.4 * 225 / rented == pytest.approx(0.6, rel=0.02)


def test_jobs_of_an_array_share_their_needs(bursty):
    """Ours: across gaps below 1 s needs rarely change, across longer ones they mostly
    do.
    """
    same = (np.diff(bursty.cores) == 0) & (np.diff(bursty.memory_gb) == 0)
    close = np.diff(bursty.submit_s) < 1
    assert same[close].mean() > 0.98
    assert same[~close].mean() < 0.2


# ---- resulting costs ----


@pytest.mark.parametrize(
    ("exponential", "low_h", "high_h"), [(False, 3, 40), (True, 0, 0.1)]
)
def test_all_jobs_wait_for_hours(exponential, low_h, high_h):
    """Section 6.1: 13.3 h in the mean with 225 machines of 64 cores; here a fortieth of
    it, to a factor of 3 or 4.

    Machines are as many as there are jobs of mean needs, 3.23 cores, that 225 / 40
    take; each takes one job.
    """
    machines, jobs = round(225 / 40 * 64 / 3.23), 300_000
    source = (
        ExponentialJobs(jobs, RATE / 40, MEAN_S)
        if exponential
        else BurstyJobs(jobs, RATE / 40)
    )
    wait_s = follow(Scenario(source, waiting_policy("ajw"), machines)).summary()[
        "wait_s"
    ]
    assert low_h <= wait_s / HOUR <= high_h


# ---- as every source of jobs ----


@pytest.mark.parametrize("jobs", [1, 40_000])
def test_fewer_jobs_are_the_first_of_more(bursty, jobs):
    """Jobs depend on the seed alone, not on how many are asked for."""
    for few, many in zip(columns(BurstyJobs(jobs)), bursty):
        assert np.array_equal(few, many[:jobs])


def test_jobs_do_not_depend_on_the_chunk_size(monkeypatch, bursty):
    """Chunks are days, whatever the usual size."""
    monkeypatch.setattr("cgrsp_simpy.waiting.jobs.CHUNK", 7)
    for again, before in zip(columns(BurstyJobs(MILLION)), bursty):
        assert np.array_equal(again, before)


test_invalid_values_are_named = refusals(
    ({"jobs": 0}, r"jobs\(=0\) must be a whole number >= 1"),
    ({"jobs": 1.5}, r"jobs\(=1.5\) must be a whole number >= 1"),
    # gaps would exceed 50 h
    ({"rate_per_s": 0.0}, r"rate_per_s\(=0.0\) must be a number from 0.001 to 5"),
    (
        {"rate_per_s": math.inf},
        r"rate_per_s\(=inf\) must be a number from 0.001 to 5",
    ),
    # arrays would overlap
    ({"rate_per_s": 5.1}, r"rate_per_s\(=5.1\) must be a number from 0.001 to 5"),
    # the mean of the short ones
    ({"mean_run_s": 45.0}, r"mean_run_s\(=45.0\) must be a number > 45"),
    ({"mean_run_s": math.nan}, r"mean_run_s\(=nan\) must be a number > 45"),
    call=lambda wrong: BurstyJobs(**{"jobs": 10, **wrong}),
)
