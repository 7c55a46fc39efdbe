"""Theory: the engine as a queue, conservation laws, and the distributions of draws,
each against its formula.
"""

from functools import cache
from math import exp, factorial, sqrt
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats
from support import z

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.metrics import littles_law, queue_length, time_average
from cgrsp_simpy.rental.workload import DAYS

MOST = 4  # standard errors
# replications, jobs in each, jobs dropped from its start
RUNS, JOBS, WARM_UP = 20, 4000, 800
MEAN_S = 10.0


def z_of_share(count, number, share):
    """The same for a count among `number` independent draws; a share of 0 or 1 must
    be met exactly.
    """
    variance = number * share * (1 - share)
    if variance < 1e-9:
        return 0.0 if count == round(number * share) else np.inf
    return (count - number * share) / sqrt(variance)


# ---- queues ----


class Measured(NamedTuple):
    """One value per replication."""

    wait_s: list[float]
    share_waiting: list[float]
    queue: list[float]


@cache
def measured(servers, load, service):
    """FIFO without provisioning delays, at a load of each of `servers` equal slots."""
    gpu = cg.GpuType("server", 1.0, (MEAN_S,), 1.0)
    work = cg.PoissonWorkload(JOBS, load * servers / MEAN_S, complexity_mix=(1.0,))
    at_once = cg.Market(delay_s=((0, 0),) * 3)
    scenario = cg.Scenario(
        "queue", work, (gpu,) * servers, (gpu,), market=at_once, service=service
    )
    return Measured(
        *zip(*[_one(cg.simulate(scenario, "fifo", seed)) for seed in range(RUNS)])
    )


def _one(run):
    jobs = run.jobs[WARM_UP:]
    wait_s = jobs["start_s"] - jobs["submit_s"]
    first_s, last_s = jobs["submit_s"][[0, -1]]
    times_s, lengths = queue_length(run)
    # steps outside the window get no width
    inside_s = np.clip(times_s, first_s, last_s)
    return (
        wait_s.mean(),
        (wait_s > 1e-6).mean(),
        np.sum(lengths[:-1] * np.diff(inside_s)) / (last_s - first_s),
    )


def erlang_c(servers, offered):
    """Probability that an arrival at M/M/c waits.

    offered: arrival rate over the service rate of one server.
    """
    busy = offered**servers / factorial(servers) * servers / (servers - offered)
    return busy / (sum(offered**k / factorial(k) for k in range(servers)) + busy)


EXPONENTIAL = cg.Service("exponential")


@pytest.mark.slow
@pytest.mark.parametrize(("servers", "load"), [(1, 0.5), (3, 0.7), (8, 0.85)])
def test_exponential_service_on_c_slots_is_erlangs_m_m_c(servers, load):
    result = measured(servers, load, EXPONENTIAL)
    offered = load * servers

    assert abs(z(result.share_waiting, erlang_c(servers, offered))) < MOST
    assert (
        abs(z(result.wait_s, erlang_c(servers, offered) * MEAN_S / (servers - offered)))
        < MOST
    )
    assert (
        abs(z(result.queue, erlang_c(servers, offered) * offered / (servers - offered)))
        < MOST
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "sigma", "wrong_scv"),
    [
        (0.7, 0.0, 1.0),  # M/D/1, rejected as M/M/1
        (0.5, 0.8, 0.0),  # M/G/1, rejected as M/D/1
        # and with the variance of the logarithm for that of the time
        (0.5, 0.8, 0.8**2),
    ],
)
def test_one_slot_waits_by_pollaczek_and_khinchine(load, sigma, wrong_scv):
    result = measured(1, load, cg.Service("lognormal", (sigma,)))
    scv = exp(sigma**2) - 1  # variance of the service time over its squared mean

    assert abs(z(result.wait_s, load / (1 - load) * (1 + scv) / 2 * MEAN_S)) < MOST
    assert abs(z(result.queue, load**2 / (1 - load) * (1 + scv) / 2)) < MOST
    assert abs(z(result.share_waiting, load)) < MOST

    assert (
        abs(z(result.wait_s, load / (1 - load) * (1 + wrong_scv) / 2 * MEAN_S)) > MOST
    )
    assert abs(z(result.queue, load**2 / (1 - load) * (1 + wrong_scv) / 2)) > MOST
    assert abs(z(result.share_waiting, load + 0.05)) > MOST


# ---- conservation laws, exact on every run ----


@pytest.fixture(
    scope="module",
    params=[
        (day, policy)
        for day in ("normal", "hectic")
        for policy in ("fifo", "rh", "triage")
    ],
    ids=":".join,
)
def run(request):
    day, policy = request.param
    return cg.simulate(
        cg.day(day, jobs=200 if day == "hectic" else None), policy, seed=3
    )


def test_littles_law_holds_for_every_policy(run):
    over_time, over_jobs = littles_law(run)
    waiting = time_average(*queue_length(run), run.tally.end_s)
    rate_per_s = len(run.jobs) / run.tally.end_s
    wait_s = (run.jobs["dispatch_s"] - run.jobs["submit_s"]).mean()

    assert over_time == pytest.approx(over_jobs, rel=1e-9)  # L = lambda W
    # L_q = lambda W_q
    assert waiting == pytest.approx(rate_per_s * wait_s, rel=1e-9, abs=1e-12)
    assert over_time != pytest.approx(rate_per_s * wait_s, rel=1e-3)


# ---- the distributions of the draws ----

DELAY_S = ((0, 10), (30, 120), (600, 7200))  # High, Medium, Low; thesis Eq. 3.2
MANY = 9_000


@cache
def many_jobs(clock):
    """Ten weeks of normal days; the random policy uses every type at every hour."""
    return cg.simulate(
        cg.day("normal", slots=8, jobs=MANY, clock=clock), "random", seed=5
    ).jobs


@pytest.mark.parametrize("status", cg.Status, ids=lambda status: status.name)
def test_provisioning_delays_are_uniform_in_the_range_of_the_status(status):
    jobs = many_jobs("calibrated")
    delay_s = jobs["delay_s"][jobs["status"] == status]
    least, greatest = DELAY_S[status]
    width = greatest - least

    assert len(delay_s) > 200
    assert least <= delay_s.min() and delay_s.max() < greatest
    assert abs(z(delay_s, (least + greatest) / 2)) < MOST
    assert abs(z((delay_s - delay_s.mean()) ** 2, width**2 / 12)) < MOST
    assert stats.kstest(delay_s, stats.uniform(least, width).cdf).pvalue > 1e-4
    # same mean, same range
    assert stats.kstest(delay_s, stats.triang(0.5, least, width).cdf).pvalue < 1e-4


@pytest.mark.parametrize(("complexity", "sigma"), [(1, 0.04), (2, 0.11), (3, 0.23)])
def test_service_times_are_log_normal_about_the_mean_of_type_and_complexity(
    complexity, sigma
):
    jobs = many_jobs("calibrated")
    jobs = jobs[jobs["complexity"] == complexity]
    mean_s = np.array([gpu.mean_execution_s[complexity - 1] for gpu in cg.THESIS_GPUS])[
        jobs["gpu"]
    ]
    # mu = ln W - sigma^2 / 2, thesis Eq. 3.12
    centred = np.log(jobs["service_s"] / mean_s) + sigma**2 / 2

    assert abs(z(centred, 0)) < MOST
    assert abs(z(centred**2, sigma**2)) < MOST
    assert stats.kstest(centred, stats.norm(scale=sigma).cdf).pvalue > 1e-4
    assert abs(z(centred**2, (1.1 * sigma) ** 2)) > MOST
    # same mean and variance
    assert (
        stats.kstest(
            centred, stats.uniform(-sigma * sqrt(3), 2 * sigma * sqrt(3)).cdf
        ).pvalue
        < 1e-4
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("day", "rate_per_s"),
    [("quiet", 0.0008), ("normal", 0.002), ("hectic", 0.100), ("surge", 0.020)],
)
def test_gaps_between_submissions_are_exponential(day, rate_per_s):
    assert DAYS[day][0] == rate_per_s
    jobs = cg.day(day, jobs=MANY).workload.generate(seed=2, service=cg.Service())
    # the first job comes after one gap
    gaps_s = np.diff([job.submit_s for job, _ in jobs], prepend=0.0)

    assert abs(z(gaps_s, 1 / rate_per_s)) < MOST
    assert abs(z((gaps_s - 1 / rate_per_s) ** 2, 1 / rate_per_s**2)) < MOST
    assert stats.kstest(gaps_s, stats.expon(scale=1 / rate_per_s).cdf).pvalue > 1e-4
    assert stats.kstest(gaps_s, stats.uniform(0, 2 / rate_per_s).cdf).pvalue < 1e-4
    assert abs(np.corrcoef(gaps_s[:-1], gaps_s[1:])[0, 1]) < MOST / sqrt(MANY)


def classes_against(jobs, shares, tight_share):
    """How far the six pairs of complexity and deadline class lie from independence, in
    standard errors.
    """
    results = []
    for k, share in enumerate(shares, start=1):
        for tight, part in ((True, tight_share), (False, 1 - tight_share)):
            count = ((jobs["complexity"] == k) & (jobs["tight"] == tight)).sum()
            results.append(z_of_share(count, len(jobs), share * part))
    return np.abs(results)


def test_complexities_are_40_40_20_and_a_fifth_of_the_jobs_tight_independently():
    jobs = many_jobs("calibrated")
    assert classes_against(jobs, (0.4, 0.4, 0.2), 0.2).max() < MOST
    assert classes_against(jobs, (1 / 3, 1 / 3, 1 / 3), 0.2).max() > MOST
    assert classes_against(jobs, (0.4, 0.4, 0.2), 0.25).max() > MOST
    dependent = np.where(jobs["complexity"] == 3, True, jobs["tight"])
    assert abs(np.corrcoef(jobs["complexity"], jobs["tight"])[0, 1]) < MOST / sqrt(MANY)
    assert abs(np.corrcoef(jobs["complexity"], dependent)[0, 1]) > MOST / sqrt(MANY)


def test_tight_jobs_have_an_hour_and_loose_ones_eight():
    jobs = many_jobs("calibrated")
    window_s = np.where(jobs["tight"], 3600, 28800)  # thesis Section 5.1.1
    np.testing.assert_allclose(
        jobs["deadline_s"] - jobs["submit_s"], window_s, rtol=1e-9
    )
