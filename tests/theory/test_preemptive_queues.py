"""Theory: preemptive policies and preemptions on one machine, against formulas and
against what any schedule could do.
"""

from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from support import refusals, z

import cgrsp_simpy as cg
from cgrsp_simpy.rental.job import DeadlineClasses
from cgrsp_simpy.rental.policies.classic import Preemptive

AT_ONCE = cg.Market(delay_s=((0, 0),) * 3)
SUSPENSION = cg.Terms(suspension=True)
MOST = 4  # standard errors
WARM_UP = 300  # jobs dropped from the start
MEAN_S = 10.0
RUNS, JOBS = 20, 2500


def machine(times_s, shares, load, service, jobs, terms=SUSPENSION, tight=0.0):
    """Poisson arrivals at one machine, without delays."""
    gpu = cg.GpuType("machine", 1.0, times_s, 1.0)
    rate = load / float(np.dot(times_s, shares))
    work = cg.PoissonWorkload(jobs, rate, shares, DeadlineClasses(tight, 1e4, 1e4))
    return cg.Scenario("machine", work, (gpu,), (gpu,), False, AT_ONCE, service, terms)


def responses(run):
    jobs = run.jobs[WARM_UP:]
    return jobs["finish_s"] - jobs["submit_s"]


# ---- earliest deadline first ----


@st.composite
def one_machine(draw):
    """Jobs at whole times, of 1 to 6 s."""
    jobs, now = [], 0
    for id in range(draw(st.integers(1, 12))):
        now += draw(st.integers(0, 5))
        time_s, slack_s = draw(st.integers(1, 6)), draw(st.integers(0, 20))
        jobs.append(cg.Job(id, float(now), float(now + time_s + slack_s), time_s))
    return jobs


def feasible(jobs):
    """Return whether some schedule with preemption meets all deadlines: no interval has
    more work than time (Dertouzos 1974; Baruah, Mok and Rosier 1990).
    """
    return all(
        sum(
            job.complexity
            for job in jobs
            if job.submit_s >= from_s and job.deadline_s <= to_s
        )
        <= to_s - from_s
        for from_s in {job.submit_s for job in jobs}
        for to_s in {job.deadline_s for job in jobs}
        if to_s > from_s
    )


def on_one_machine(jobs, policy):
    gpu = cg.GpuType("machine", 1.0, (1, 2, 3, 4, 5, 6), 1.0)
    law = cg.Service(sigma=(0,) * 6)
    work = cg.JobList(jobs)
    scenario = cg.Scenario("edf", work, (gpu,), (gpu,), False, AT_ONCE, law, SUSPENSION)
    return cg.simulate(scenario, policy)


@settings(max_examples=150)
@given(jobs=one_machine())
def test_preemptive_edf_meets_all_deadlines_if_any_schedule_does(jobs):
    run = on_one_machine(jobs, "edf-p")
    assert (run.summary()["miss_pct"] == 0) == feasible(jobs)
    assert run.jobs["service_s"].tolist() == [job.complexity for job in jobs]


# ---- priorities ----


def tight_first(view, job, left):
    return not job.tight


@pytest.mark.slow
def test_preemptive_resume_priorities_in_mm1():
    first = cg.ListPolicy(
        lambda view: sorted(view.queue, key=rank), cg.rules.first_idle, "tight"
    )
    policy = Preemptive(tight_first, first)
    scenario = machine(
        (MEAN_S,), (1.0,), 0.75, cg.Service("exponential"), JOBS, tight=0.4
    )
    results = []
    for seed in range(RUNS):
        run = cg.simulate(scenario, policy, seed)
        tight = run.jobs[WARM_UP:]["tight"]
        results.append([responses(run)[tight].mean(), responses(run)[~tight].mean()])
    rate, square = 0.75 / MEAN_S, 2 * MEAN_S**2
    expected = cg.queueing.mg1_preemptive(
        [0.4 * rate, 0.6 * rate], [MEAN_S] * 2, [square] * 2
    )
    assert expected[0] == pytest.approx(MEAN_S / (1 - 0.3))  # as if it were alone
    for own, mean_s in zip(np.transpose(results), expected):
        assert abs(z(own, mean_s)) < MOST
    not_preemptive = MEAN_S + 0.75 * MEAN_S / (1 - 0.3)
    assert abs(z(np.transpose(results)[0], not_preemptive)) > MOST


def rank(job):
    return not job.tight, job.id


# ---- shortest remaining time ----

TIMES_S, SHARES = (2.0, 8.0, 15.0, 40.0), (0.4, 0.3, 0.2, 0.1)


@pytest.mark.slow
def test_srpt_in_mg1_and_processor_sharing_above_it():
    scenario = machine(TIMES_S, SHARES, 0.8, cg.Service(sigma=(0,) * 4), JOBS)
    results = []
    for seed in range(RUNS):
        run = cg.simulate(scenario, "srpt", seed)
        own = [run.jobs["complexity"][WARM_UP:] == level for level in (1, 2, 3, 4)]
        results.append([responses(run)[each].mean() for each in own])
    mean_s = float(np.dot(TIMES_S, SHARES))
    rate = 0.8 / mean_s
    expected, sharing = (
        cg.queueing.mg1_srpt(rate, TIMES_S, SHARES),
        cg.queueing.mg1_ps(rate, mean_s, TIMES_S),
    )
    for own, value in zip(np.transpose(results), expected):
        assert abs(z(own, value)) < MOST
    overall = np.dot(results, SHARES)
    assert z(overall, np.dot(sharing, SHARES)) < -MOST
    assert abs(z(overall, np.dot(expected, SHARES))) < MOST


def test_formulas_agree_in_common_special_cases():
    one = cg.queueing.mg1_srpt(0.08, [10.0], [1.0])[
        0
    ]  # all jobs alike: first come, first served
    assert one == pytest.approx(10 + cg.queueing.mg1(0.08, 0.1, 0.0).wait_s)
    # M/M/1
    assert cg.queueing.mg1_preemptive([0.08], [10.0], [200.0])[0] == pytest.approx(
        10 / (1 - 0.8)
    )
    # two classes of M/M/1 with one mean: the second's is 10 / ((1 - .3) (1 - .8))
    both = cg.queueing.mg1_preemptive([0.03, 0.05], [10.0] * 2, [200.0] * 2)
    assert both == pytest.approx([10 / 0.7, 10 / (0.7 * 0.2)])
    times_s = cg.queueing.mg1_ps(0.08, 10.0, [0.0, 10.0])
    assert times_s.tolist() == pytest.approx([0, 50])
    assert np.isinf(cg.queueing.mg1_srpt(0.2, [10.0], [1.0])).all()
    assert np.isinf(cg.queueing.mg1_ps(0.2, 10.0, 10.0))
    assert cg.queueing.mg1_preemptive([0.05, 0.1], [10.0] * 2, [200.0] * 2)[1] == np.inf


@pytest.mark.parametrize("load", [0.3, 0.8])
def test_srpt_of_a_continuous_distribution_is_the_limit_of_many_times(load):
    """Schrage and Miller's integral for exponential times of mean 1, by quadrature."""

    def below(x):  # load of the jobs up to x
        return load * (1 - exp(-x) * (1 + x))

    def response(x):
        square = 2 - exp(-x) * (x**2 + 2 * x + 2)
        wait = load * (square + x**2 * exp(-x)) / 2 / (1 - below(x)) ** 2
        return wait + quad(lambda t: 1 / (1 - below(t)), 0, x)[0]

    mean, _ = quad(lambda x: exp(-x) * response(x), 0, 40)
    edges = np.linspace(0, 40, 8001)
    shares = np.exp(-edges[:-1]) - np.exp(-edges[1:])
    result = cg.queueing.mg1_srpt(
        load, (edges[1:] + edges[:-1]) / 2, shares / shares.sum()
    )
    assert np.dot(result, shares) == pytest.approx(mean, rel=2e-3)
    # of processor sharing, and of first come, first served
    assert mean < 1 / (1 - load)


test_input_unsuitable_for_the_formulas_gives_a_one_line_error = refusals(
    (lambda: cg.queueing.mg1_srpt(0.1, [2, 1], [0.5, 0.5]), "increasing"),
    (lambda: cg.queueing.mg1_srpt(0.1, [1, 1], [0.5, 0.5]), "increasing"),
    (
        lambda: cg.queueing.mg1_srpt(0.1, [1, 2], [1.0]),
        "numbers >= 0, as many as times_s has",
    ),
    (lambda: cg.queueing.mg1_srpt(0.1, [1, 2], [0.5, 0.6]), "shares that sum to 1"),
    (
        lambda: cg.queueing.mg1_preemptive([0.1], [-1], [1]),
        "numbers >= 0, as many as arrival_rates has",
    ),
    (lambda: cg.queueing.mg1_ps(0.1, 0, [1]), "a number > 0"),
)


# ---- preemptions ----


@pytest.mark.slow
@pytest.mark.parametrize(("every_s", "cost_s"), [(None, 0.0), (25.0, 0.0), (25.0, 3.0)])
def test_the_time_that_a_job_takes_under_preemptions(every_s, cost_s):
    """Each segment between checkpoints, of w seconds, takes (e^(r w) - 1) / r on
    average at r preemptions per second, as it begins again after each.
    """
    per_h, rate = 72.0, 72.0 / 3600
    terms = cg.Terms(
        preemption_per_h=per_h, checkpoint_s=every_s, checkpoint_cost_s=cost_s
    )
    scenario = machine((60.0,), (1.0,), 0.1, cg.Service(sigma=(0,)), 200, terms)
    results = [
        cg.simulate(scenario, "fifo", seed).jobs["service_s"].mean()
        for seed in range(12)
    ]
    segments = [60.0] if every_s is None else [25 + cost_s, 25 + cost_s, 10]
    expected = sum((exp(rate * own_s) - 1) / rate for own_s in segments)
    assert abs(z(results, expected)) < MOST
    assert abs(z(results, 60.0)) > MOST
