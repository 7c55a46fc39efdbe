"""The day written by hand in SimPy gives the package's records to the bit."""

import numpy as np
import pytest
from benchmarks.floor import Floor

import cgrsp_simpy as cg


@pytest.mark.parametrize("day", ["hectic", "surge"])
@pytest.mark.parametrize("policy", ["fifo", "spt"])
def test_a_day_by_hand_has_the_packages_records(day, policy):
    scenario = cg.day(day, jobs=200)
    table, figures = Floor(scenario, policy, 3).run()
    run = cg.simulate(scenario, policy, 3)
    names = ("job", "submit_s", "deadline_s", "start_s", "finish_s", "cost_usd")
    for column, name in zip(table.T, names, strict=True):
        assert np.array_equal(column, run.jobs[name]), name
    assert figures[0] / 60 == pytest.approx(run.summary()["wait_min"], rel=1e-12)
