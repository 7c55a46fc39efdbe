"""Figures of waiting jobs: prices, which jobs count, intervals."""

import math

import numpy as np
import pytest
from support import simulated
from waiting.cases import jobs_of

import cgrsp_simpy as cg
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.waiting.machines import Prices
from cgrsp_simpy.waiting.policies import Mispredictions, waiting_policy
from cgrsp_simpy.waiting.recursion import follow
from cgrsp_simpy.waiting.report import COUNTED, Tally, of_trials

HOUR = 3600.0


def test_shares_of_mistaken_jobs():
    """Of the short jobs a share is taken for long, of the long ones a share for short;
    draws are the jobs' own.
    """
    source, policy = cg.waiting.ExponentialJobs(100_000), waiting_policy("ljw")
    ((chunk, exact), (_, mistaken)) = (
        next(cg.waiting.Scenario(source, policy, errors=errors).foreseen(0))
        for errors in (Mispredictions(), Mispredictions(run_over=0.3, run_under=0.1))
    )
    short = chunk.run_s < 180
    np.testing.assert_array_equal(exact == 1, short)
    assert (mistaken[short] == 0).mean() == pytest.approx(
        0.3, abs=4 * math.sqrt(0.21 / short.sum())
    )
    assert (mistaken[~short] == 1).mean() == pytest.approx(
        0.1, abs=4 * math.sqrt(0.09 / (~short).sum())
    )


# ---- costs ----


def test_price_of_jobs_on_whole_machines():
    """Ten jobs of an hour, an hour apart, one machine, which is paid for the 10 h from
    the first submission to the last end.
    """
    jobs = jobs_of(*((hour * HOUR, HOUR, 1, 0) for hour in range(10)))
    figures = simulated(
        cg.waiting.Scenario(jobs, waiting_policy("njw"), 1, prices=Prices(2, 5))
    ).summary()
    assert figures == pytest.approx(
        {
            "wait_s": 0,
            "price": 2,
            "on_demand_fraction": 0,
            "opportunity": 0,
            "service_s": HOUR,
            "load": 1,
            "cost_per_h": 2,
        }
    )


class Generated:
    """Jobs that represent a stream without end."""

    def __init__(self, listed):
        self.jobs, self.chunks = listed.jobs, listed.chunks


def test_the_first_and_last_tenth_of_generated_jobs_do_not_count():
    """Section 3.1: nine jobs at once wait 0, 1, ...

    8 s, a tenth none; the mean of the middle eight is 4.5 s, like that of 1 to 8.
    """
    jobs = Generated(jobs_of(*((0, 1, 1, 0) for _ in range(9)), (50, 1, 1, 0)))
    assert simulated(cg.waiting.Scenario(jobs, waiting_policy("ajw"), 1)).summary()[
        "wait_s"
    ] == np.mean(range(1, 9))


@pytest.mark.parametrize("run", [simulated, follow])
def test_simultaneous_jobs_have_a_price(run):
    """Runs of 100, 50 and 30 s on two machines take 100 s: 2 x 100 s are paid for 180 s
    of work.
    """
    jobs = jobs_of((7, 100, 1, 0), (7, 50, 1, 0), (7, 30, 1, 0))
    outcome = run(cg.waiting.Scenario(jobs, waiting_policy("ajw"), 2))
    assert outcome.summary()["price"] == pytest.approx(3.84 * 200 / 180)
    assert outcome.summary()["load"] == pytest.approx(1.8)
    trial = subject_of(outcome.scenario).outcome(outcome)
    means = {of_trials([trial] * n)["price"].mean for n in (1, 2)}
    assert means == {outcome.summary()["price"]}


@pytest.mark.parametrize("steady", [True, False])
def test_sums_do_not_depend_on_the_order_in_which_jobs_end_nor_on_the_parts(
    steady, monkeypatch
):
    """To the bit."""
    monkeypatch.setattr("cgrsp_simpy.waiting.report.CHUNK", 500)
    source = cg.waiting.ExponentialJobs(5_000)
    jobs = follow(
        cg.waiting.Scenario(source, waiting_policy("ajw-t"), 98), 1, keep=True
    ).jobs
    columns = {name: jobs[name] for name in COUNTED}
    whole, parts = Tally(5_000, steady=steady), Tally(5_000, steady=steady)
    whole.add(columns)
    ended = np.argsort(jobs["start_s"] + jobs["run_s"])
    for rows in np.array_split(ended, 77):
        parts.add({name: column[rows] for name, column in columns.items()})
    result, expected = (each.figures(98.0, Prices()) for each in (parts, whole))
    for name, values in expected.items():
        np.testing.assert_array_equal(result[name], values)
