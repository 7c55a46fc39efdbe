"""Orders and placements: the grid of scenarios/research/order_or_place.py."""

import numpy as np
import pytest
from support import script

import cgrsp_simpy as cg

order_or_place = script("research/order_or_place")
FIFO, EDF = order_or_place.FIFO, order_or_place.EDF


@pytest.mark.slow
def test_the_corners_of_the_grid_are_the_policies_and_the_steps_sum_to_the_difference():
    grid = order_or_place.grid("normal", range(5))
    study = cg.compare(cg.day("normal"), ["fifo", "edf"], range(5))
    for pair, policy in ((FIFO, "fifo"), (EDF, "edf")):
        waits = order_or_place.values(grid, pair)
        assert waits == study.values(policy, "wait_min")
    total, order, place = order_or_place.shares(grid, FIFO, EDF)
    assert total.mean == pytest.approx(order.mean + place.mean)
    assert total.mean == pytest.approx(
        np.mean(study.values("edf", "wait_min"))
        - np.mean(study.values("fifo", "wait_min"))
    )


@pytest.mark.slow
def test_edf_waits_less_than_fifo_for_its_placement_alone():
    grid = order_or_place.grid("normal", range(6100, 6160))
    total, order, place = order_or_place.shares(grid, FIFO, EDF)
    assert place.high < 0
    assert abs(order.mean) < 0.05 * abs(total.mean)
    hectic = order_or_place.grid("hectic", range(6100, 6105))
    shortest = ("shortest", "first idle")
    assert order_or_place.shares(hectic, FIFO, shortest)[1].high < 0
