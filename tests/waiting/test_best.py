"""The best number of machines, on cases whose answer is known."""

from dataclasses import replace

import numpy as np
import pytest
from support import simulated
from waiting.cases import jobs_of

from cgrsp_simpy.waiting.best import best_number
from cgrsp_simpy.waiting.jobs import ExponentialJobs, ListedJobs
from cgrsp_simpy.waiting.machines import M5, Prices
from cgrsp_simpy.waiting.policies import waiting_policy
from cgrsp_simpy.waiting.scenario import Scenario


@pytest.mark.slow
def test_the_best_number_on_jobs_of_ones_own_is_the_best_of_all():
    jobs = ListedJobs(*next(ExponentialJobs(2_000, rate_per_s=0.01).chunks(0)))
    best = best_number(Scenario(jobs, waiting_policy("njw"), 1))
    prices = [
        simulated(Scenario(jobs, waiting_policy("njw"), n)).summary()["price"] for n in range(1, 16)
    ]
    assert best.scenario.machines == 1 + int(np.argmin(prices))
    patient = Scenario(jobs, waiting_policy("ajw-t", wait_s=300), 1)
    figures = [simulated(replace(patient, machines=n)).summary() for n in range(1, 16)]
    totals = [each["price"] * (each["wait_s"] + each["service_s"]) for each in figures]
    assert best_number(patient, "total").scenario.machines == 1 + int(np.argmin(totals))


def test_the_best_number_is_none_for_a_log_that_hardly_uses_a_machine_unless_all_jobs_must_wait_for_one():
    """Two jobs of 10 s a year apart; and for machines that jobs share, of which ajw
    must own one, too.
    """
    jobs = jobs_of((0, 200, 1, 0), (365 * 86_400, 200, 1, 0))
    for name in ("njw", "ajw-t", "sww", "ljw", "compound"):
        for by in ("price", "opportunity", "total"):
            for kind in (1, (M5[-1],)):
                best = best_number(Scenario(jobs, waiting_policy(name), kind), by)
                assert best.scenario.machines in (0, ())
                assert best.summary()["price"] == pytest.approx(9.6)
    assert best_number(Scenario(jobs, waiting_policy("ajw"), 1)).scenario.machines == 1
    assert best_number(Scenario(jobs, waiting_policy("ajw"), (M5[-1],))).scenario.machines == (
        M5[-1],
    )


def test_more_machines_than_ever_have_a_job_are_not_tried_however_cheap():
    """Three jobs, two of them at a time: two machines, at a price of next to nothing; short
    jobs use none.
    """
    jobs = jobs_of((0, 100, 1, 0), (50, 100, 1, 0), (150.5, 100, 1, 0))
    for by in ("price", "opportunity", "total"):
        cheap = Scenario(jobs, waiting_policy("ajw"), 1, prices=Prices(1e-12, 9.6))
        assert best_number(cheap, by).scenario.machines == (2 if by == "opportunity" else 1)
        assert best_number(replace(cheap, policy=waiting_policy("ljw")), by).summary()[
            "price"
        ] == pytest.approx(9.6)


def test_of_equal_opportunity_costs_the_cheapest_is_the_best():
    """Under njw no job waits, whatever is owned."""
    jobs = jobs_of((0, 100, 1, 0), (0, 100, 1, 0))
    assert (
        best_number(Scenario(jobs, waiting_policy("njw"), 1), "opportunity").scenario.machines == 2
    )
