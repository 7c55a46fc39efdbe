"""Orders and placements apart, and every pair of them."""

from pathlib import Path
from runpy import run_path

import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.decide.order_place import order_by_place
from cgrsp_simpy.rental.policies import rules

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.mark.parametrize(
    ("orders", "places"), [([1], {}), ({"a": 5}, {"b": 6}), (None, None)]
)
def test_orders_and_placements_are_functions_by_name(orders, places):
    with pytest.raises(cg.InputError, match="one function or more, by name"):
        order_by_place(cg.day("quiet"), orders, places, [0])


# ---- orders and placements ----

ORDERS = {"submission": rules.by_submission, "deadline": rules.by_deadline}
PLACES = {"first idle": rules.first_idle, "stock": rules.stock_then_fastest}


def test_the_corners_of_the_grid_are_the_policies_and_the_steps_sum_to_the_difference():
    grid = order_by_place(cg.day("normal"), ORDERS, PLACES, range(5))
    study = cg.compare(cg.day("normal"), ["fifo", "edf"], range(5))
    fifo, edf = ("submission", "first idle"), ("deadline", "stock")
    assert grid.values(*fifo, "wait_min") == study.values("fifo", "wait_min")
    assert grid.values(*edf, "wait_min") == study.values("edf", "wait_min")
    shares = grid.shares("wait_min", fifo, edf)
    assert shares.total.mean == pytest.approx(shares.order.mean + shares.place.mean)
    assert grid.table("wait_min").splitlines()[0].split() == [
        "wait_min",
        "first",
        "idle",
        "stock",
    ]
    with pytest.raises(cg.InputError, match="placement"):
        grid.values("deadline", "stocks", "wait_min")
    with pytest.raises(cg.InputError, match="orders"):
        order_by_place(cg.day("normal"), {}, PLACES, range(5))


@pytest.mark.slow
def test_order_or_place_edf_waits_less_than_fifo_for_its_placement_alone():
    own = run_path(str(SCENARIOS / "order_or_place.py"))
    shares = own["grid"]("normal", range(6100, 6160)).shares(
        "wait_min", own["FIFO"], own["EDF"]
    )
    assert shares.place.high < 0
    assert abs(shares.order.mean) < 0.05 * abs(shares.total.mean)
    hectic = own["grid"]("hectic", range(6100, 6105))
    shortest = ("shortest", "first idle")
    assert hectic.shares("wait_min", own["FIFO"], shortest).order.high < 0
