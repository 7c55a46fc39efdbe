"""The policy that watches stock: what it holds, and when it looks again."""

import math
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import cgrsp_simpy as cg
from cgrsp_simpy.market.model import CLOCKS
from cgrsp_simpy.rental.policies.watch import expected_s

GPU, QUICK = cg.THESIS_GPUS[0], cg.THESIS_GPUS[3]

# ---- the policy that watches ----


def offered(low_s, tau_s, sight="now", chances=(0.5, 0.2, 0.3), seed=0):
    """A day of one slot whose type persists."""
    own = cg.HourlyStock(GPU.name, [chances] * 24)
    market = cg.Market(
        delay_s=((0, 0), (60, 60), (low_s, low_s)),
        stock=(own,),
        persistence_s=tau_s,
        sight=sight,
    )
    job = cg.Job(0, 0.0, 1e5)
    return cg.Scenario("one", cg.JobList([job]), (GPU,), (GPU,), market=market), job


@settings(max_examples=30)
@given(st.floats(100, 9000), st.floats(10, 20000), st.integers(0, 30))
@example(100.0, 10.0, 1)  # Medium
def test_a_slot_is_held_while_its_delay_is_longer_than_recovery(low_s, tau_s, seed):
    day, job = offered(low_s, tau_s)
    view = day.moment([job], seed=seed)
    answer = cg.make_policy("watch")(view)
    held_s = (tau_s + 0.2 * 60) / 0.7
    held = (0, 60, low_s)[view.status(view.idle[0])] > held_s
    assert [type(each) for each in answer] == [cg.Wake if held else tuple]


def test_the_expected_delay_converges_from_the_observed_status_to_the_model():
    day, job = offered(1000.0, 700.0, sight="poll:100000")
    for now_s in (0.0, 350.0, 5000.0):
        view = day.moment([job], now_s=now_s)
        own = {0: 0.0, 1: 60.0, 2: 1000.0}[int(view.status(view.idle[0]))]
        kept, law = math.exp(-now_s / 700), 0.2 * 60 + 0.3 * 1000
        assert expected_s(view, view.idle[0]) == pytest.approx(
            kept * own + (1 - kept) * law
        )


def test_a_change_of_hour_since_the_last_observation_is_considered():
    """Always High until 9 and always Low from then on: what was seen High is Low now,
    whether or not the variate is the same.
    """
    chances = [(1.0, 0.0, 0.0)] * 9 + [(0.0, 0.0, 1.0)] * 15
    stock = cg.HourlyStock(GPU.name, chances, 1e9)
    delay_s = ((0.0, 0.0), (60.0, 60.0), (1000.0, 1000.0))
    market = cg.Market(CLOCKS["calibrated"], delay_s, stock=(stock,), sight="poll:7200")
    jobs = cg.JobList([cg.Job(0, 0.0, 1e5)])
    scenario = cg.Scenario("one", jobs, (GPU,), (GPU,), market=market)
    for now_s, expected in ((0.0, 0.0), (3599.0, 0.0), (3601.0, 1000.0)):
        view = scenario.moment([], now_s=now_s)
        assert view.status(view.idle[0]) == cg.Status.HIGH
        assert expected_s(view, view.idle[0]) == pytest.approx(expected)


def expected_on(market):
    """Delay that watch expects on a slot of one idle type, shown Low at seed 0 or not
    at all.
    """
    jobs = cg.JobList([cg.Job(0, 0.0, 1e5)])
    view = cg.Scenario("one", jobs, (GPU,), (GPU,), market=market).moment(
        [], now_s=50.0
    )
    return expected_s(view, view.idle[0])


ALWAYS_LOW = cg.StockSeries(GPU.name, (0.0,), (2,), 3600.0)


@pytest.mark.parametrize(
    ("chances", "seen"),
    [
        ((0.5, 0.2, 0.3), {"persistence_s": 700.0}),  # nothing is shown
        # the law knows of no persistence
        ((0.5, 0.2, 0.3), {"series": (ALWAYS_LOW,), "sight": "now"}),
        # a slot of a type that never recovers is not held
        ((0.0, 0.0, 1.0), {"persistence_s": 1e9, "sight": "now"}),
    ],
)
def test_without_a_look_or_persistence_the_models_mean_delay_is_expected(chances, seen):
    law = cg.HourlyStock(GPU.name, [chances] * 24)
    market = cg.Market(
        delay_s=((0.0, 10.0), (30.0, 120.0), (600.0, 7200.0)), stock=(law,), **seen
    )
    mean_s = sum(chance * s for chance, s in zip(chances, (5, 75, 3900)))
    assert expected_on(market) == pytest.approx(mean_s)


@pytest.mark.parametrize(
    ("scales", "more_s", "held"),
    [
        ((750,), -1, False),
        ((750,), 0, False),
        ((750,), 1, True),
        # both levels are Low, or one
        ((7500, 60, 0.5, 30), -1, False),
        ((7500, 60, 0.5, 30), 1, True),
    ],
)
def test_a_slot_is_held_if_recovery_takes_less_than_low_stock(scales, more_s, held):
    law = cg.HourlyStock(GPU.name, [(0.5, 0.25, 0.25)] * 24, *scales)
    recovery_s = cg.Market(stock=(law,)).holding(GPU.name).recovery_s(0.25) / 0.75
    assert recovery_s == 1000 or (len(scales) > 1 and 60 < recovery_s < 10_000)
    low_s = recovery_s + more_s
    market = cg.Market(
        delay_s=((0, 0), (0, 0), (low_s, low_s)),
        stock=(law,),
        series=(ALWAYS_LOW,),
        sight="now",
    )
    assert expected_on(market) == (math.inf if held else low_s)


@pytest.mark.parametrize(
    ("policy", "sight", "now_s", "expected", "slots"),
    [
        ("watch", "poll:50", 130.0, [30], [GPU]),
        ("watch", "poll:50", 100.0, [50], [GPU]),
        ("watch:urgent_s=0", "now", 7.0, [30], [GPU]),
        ("watch:look_s=0.5", "now", 7.0, [0.5], [GPU]),
        ("watch", "now", 7.0, [], [GPU, QUICK]),  # nothing waits for the slot held
    ],
)
def test_watch_looks_again_when_the_stock_is_polled_again_but_not_too_soon(
    policy, sight, now_s, expected, slots
):
    day, job = offered(1000.0, 300.0, sight=sight)
    views = (
        replace(day, slots=slots, gpus=slots).moment([job], now_s, seed=seed)
        for seed in range(99)
    )
    low = next(view for view in views if view.status(view.idle[0]) == cg.Status.LOW)
    answer = cg.make_policy(policy)(low)
    wakes = [each.at_s - now_s for each in answer if isinstance(each, cg.Wake)]
    assert (wakes, len(answer)) == (expected, 1)
