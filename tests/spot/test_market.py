"""Markets of spot instances: traces, and made-up ones of a known law."""

import math
from itertools import pairwise

import numpy as np

from cgrsp_simpy.logs.market import Series
from cgrsp_simpy.spot.market import Traces, TwoState
from cgrsp_simpy.spot.scenario import Scenario

# ---- markets ----


def test_one_poll_on_each_side_of_the_history_is_enough():
    assert Traces((Series.of("a", 600, [True, False]),), history=0.5).before == 1


def test_a_run_meets_the_poll_in_which_it_ends():
    market = TwoState(0.5, 0.5, step_s=600, history_h=1.0)
    runs = [[market.draw(1, length_s, seed) for seed in range(20)] for length_s in (1200, 900)]
    assert runs[0] == runs[1]
    assert {len(own.stretches) for [own] in runs[0]} == {1, 2}


def test_a_run_begins_after_the_history_and_sees_the_trace():
    status = np.arange(400) % 7 < 3
    trace = Traces((Series.of("a", 900, status),), history=0.25)
    for seed in range(20):
        [found] = trace.draw(1, 20 * 3600.0, seed)
        assert found.history.status.tolist() == status[:100].tolist()
        assert found.stretches[0].from_s <= 0
        polls = [
            [stretch for stretch in found.stretches if stretch.from_s <= 900 * k][-1].up
            for k in range(80)
        ]
        starts = [k for k in range(100, 321) if status[k : k + 80].tolist() == polls]
        assert starts
        since = {k - int(-found.stretches[0].from_s / 900) for k in starts}
        assert all(status[k - 1] != status[k] for k in since)


def test_a_short_series_begins_anew_and_that_is_said(caplog):
    trace = Traces((Series.of("a", 3600, [True] * 10 + [False, True, True, False]),), 0.7)
    Scenario(trace, 8.0, 10.0)
    assert "a: 5.0 h after its history are shorter than a run of 10.0 h" in caplog.text
    [found] = trace.draw(1, 36000.0, 1)
    assert all(one.up != other.up for one, other in pairwise(found.stretches))
    assert len(found.stretches) > 3


def test_zones_of_a_made_up_market_do_not_depend_on_their_number():
    market = TwoState(2.0, 1.0)
    one, three = market.draw(1, 50 * 3600.0, 4), market.draw(3, 50 * 3600.0, 4)
    assert one[0] == three[0]
    assert len({found.stretches for found in three}) == 3


def test_the_made_up_market_has_the_mean_times_asked_for():
    series = TwoState(2.0, 1.0)._series(0, 400_000, 1)
    for up, mean_h in ((True, 2.0), (False, 1.0)):
        runs_h = series.runs_s(up) / 3600
        error = runs_h.std(ddof=1) / math.sqrt(len(runs_h))
        assert abs(runs_h.mean() - mean_h) < 4 * error
