"""Expected cost: the fitted law, and what the policy does in a market that lasts."""

import math

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.logs.market import Series
from cgrsp_simpy.spot.expected import classes_of, hazards, transitions
from cgrsp_simpy.spot.market import TwoState
from cgrsp_simpy.spot.scenario import Scenario

# ---- the fitted law ----


def test_hazards_are_ends_over_time_at_risk():
    series = Series.of("a", 3600, [1, 1, 0, 1, 1, 1, 0, 0])  # up 2 h, 3 h; down 1 h, 2 h (goes on)
    assert hazards(series, True, (0.0,)) == pytest.approx([2.5 / 5])
    assert hazards(series, False, (0.0,)) == pytest.approx([1.5 / 3])
    assert hazards(series, True, (0.0, 2.0)) == pytest.approx([1.5 / 4, 1.5 / 1])


def test_a_known_law_is_found_again():
    series = TwoState(4.0, 1.0, history_h=20_000)._series(0, 240_000, 3)
    for up, mean_h in ((True, 4.0), (False, 1.0)):
        for ages in ((0.0,), (0.0, 1.0)):
            assert hazards(series, up, ages) == pytest.approx([1 / mean_h] * len(ages), rel=0.1)
    chance = transitions(series, (0.0,), 0.5)
    decay = math.exp(-0.5 * (1 / 4 + 1))
    expected = [[0.2 + 0.8 * decay, 0.8 - 0.8 * decay], [0.2 - 0.2 * decay, 0.8 + 0.2 * decay]]
    assert chance == pytest.approx(np.array(expected), abs=0.02)
    assert transitions(series, (0.0, 0.25, 1.0), 0.1).sum(axis=1) == pytest.approx(1)


def test_ages_count_where_they_tell_something():
    """Of a memoryless market one class is enough; where times are short or long, several."""
    assert classes_of([TwoState(4.0, 1.0)._series(0, 40_000, 3)]) == (0.0,)
    mixed = np.concatenate([[True] * (1 if k % 2 else 100) + [False] * 9 for k in range(200)])
    assert len(classes_of([Series.of("a", 600, mixed)])) > 1
    assert len(classes_of([Series.of("a", 600, mixed)] * 4)) == 1  # else too many states


def test_in_a_market_that_lasts_expected_cost_waits_where_it_pays():
    """Spot returns within minutes: with slack the job waits; without spot for days it does not."""
    quick, slow = TwoState(10.0, 0.1, 60), TwoState(1.0, 400.0, 60)
    cheap = cg.simulate(Scenario(quick, 8.0, 12.0), "expected-cost", 1).summary()
    dear = cg.simulate(Scenario(slow, 8.0, 12.0), "expected-cost", 2).summary()
    assert cheap["on_demand_h"] == 0
    assert dear["spot_h"] == 0
    assert dear["cost_pct"] == pytest.approx(100)
