"""Warm-up: where the transient of pilot runs ends."""

import functools

import numpy as np
import pytest
from studies.function_models import bank
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.studies import warm_up

long_bank = functools.partial(bank, until_s=40_000.0)


@cg.model
def settling(env, draw, lasts=100.0, until=1000.0):
    """A level that rises for `lasts`, then varies about 10."""
    level = cg.Monitor(env, "level")

    def observe():
        while True:
            drift = 10 * min(1.0, env.now / lasts)
            level.tally(drift + draw("noise").normal(0, 0.1))
            yield env.timeout(1)

    env.process(observe())
    env.run(until)


@pytest.mark.parametrize("lasts", [50, 100, 250])
def test_it_ends_where_the_model_settles(lasts):
    found = cg.warm_up_time(
        settling, {"lasts": float(lasts)}, what="value", seeds=range(5)
    )
    assert lasts - 25 <= found.time <= lasts + 75


def test_it_is_mser5_of_the_mean_per_span():
    pilots = [cg.simulate(long_bank, seed=seed) for seed in range(4)]
    edges = np.linspace(0, 40_000, 101)
    rows = []
    for run in pilots:
        times, waits = run.series("desk", "wait")
        spans = np.digitize(times, edges) - 1
        rows.append([waits[spans == n].mean() for n in range(100)])
    expected = edges[cg.statistics.mser5(np.mean(rows, axis=0))]
    found = cg.warm_up_time(
        long_bank, monitor="desk", what="wait", seeds=range(4), spans=100
    )
    assert found.time == expected
    assert found.means == pytest.approx(np.mean(rows, axis=0))
    assert found.figure == "desk wait"


@pytest.mark.parametrize(
    ("spans", "last"), [(15, 5), (20, 5), (24, 5), (25, 10), (29, 10), (30, 10)]
)
def test_it_is_rejected_if_it_is_the_last_allowed_result(spans, last, monkeypatch):
    """Of m batches of five, fewer than m / 2 may be deleted."""
    given = {"what": "value", "seeds": [1], "spans": spans}
    monkeypatch.setattr(warm_up, "mser5", lambda _: last)
    check_refused(lambda: cg.warm_up_time(settling, **given), "longer than half")
    monkeypatch.setattr(warm_up, "mser5", lambda _: last - 5)
    assert cg.warm_up_time(settling, **given).time == pytest.approx(
        1000 * (last - 5) / spans
    )


def ends_at_once(env):
    cg.Store(env)
    env.run()


test_wrong_use_is_rejected = refusals(
    ({"scenario": bank}, "monitor"),
    ({"monitor": "disk"}, "did you mean 'desk'"),
    ({"monitor": "desk", "what": "level"}, "unknown series of desk"),
    ({"monitor": "desk", "spans": 5000}, "few enough"),
    ({"monitor": "desk", "spans": 14}, "spans"),
    (
        {"scenario": settling, "policy": {"lasts": 900.0}, "what": "value"},
        "longer than half of the pilot runs",
    ),
    ({"scenario": cg.day("quiet"), "monitor": "desk"}, "omitted"),
    ({"scenario": cg.model(lambda env: {"profit": 1.0})}, "no monitor to observe"),
    ({"scenario": cg.model(ends_at_once), "what": "level"}, "ended at time 0"),
    call=lambda wrong: cg.warm_up_time(
        **{"scenario": long_bank, "seeds": range(2), **wrong}
    ),
)
