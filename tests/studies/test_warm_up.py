"""Warm-up: where the transient of pilot runs ends."""

import functools
from itertools import pairwise

import numpy as np
import pytest
from studies.function_models import bank
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.studies import warm_up

long_bank = functools.partial(bank, until_s=40_000.0)
CALM = cg.day("quiet", 9, jobs=300)


@cg.model(unit_s=60)
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
def test_the_warm_up_ends_when_the_model_settles(lasts):
    result = cg.warm_up_time(
        settling, {"lasts": float(lasts)}, what="value", seeds=range(5)
    )
    assert lasts - 25 <= result.time <= lasts + 75


def times_of(run, column):
    """When jobs started or ended, and the seconds from their submission."""
    return run.jobs[column], run.jobs[column] - run.jobs["submit_s"]


@pytest.mark.parametrize(
    ("scenario", "monitor", "what", "observed"),
    [
        (long_bank, "desk", "wait", lambda run: run.series("desk", "wait")),
        (CALM, None, "wait", lambda run: times_of(run, "start_s")),
        (CALM, None, "response", lambda run: times_of(run, "finish_s")),
    ],
)
def test_it_is_mser5_of_the_mean_per_span(scenario, monitor, what, observed):
    result = cg.warm_up_time(
        scenario, monitor=monitor, what=what, seeds=range(4), spans=60
    )
    pilots = [observed(cg.simulate(scenario, seed=seed)) for seed in range(4)]
    ends = [40_000.0] if monitor else [times.max() for times, _ in pilots]
    edges = np.linspace(0, min(ends), 61)
    rows = [
        [
            waits[(low <= times) & (times < high)].mean()
            for low, high in pairwise([*edges[:-1], np.nextafter(edges[-1], np.inf)])
        ]
        for times, waits in pilots
    ]
    means = np.nanmean(rows, axis=0)
    assert (result.time, result.figure) == (
        edges[cg.statistics.mser5(means)],
        " ".join(filter(None, [monitor, what])),
    )
    assert result.means == pytest.approx(means)


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


NO_JOBS = {"resources": lambda _: cg.slots(1, "bench"), "arrivals": lambda *_: []}
test_invalid_calls_are_rejected = refusals(
    ({"scenario": bank}, "monitor"),
    ({"monitor": "disk"}, "did you mean 'desk'"),
    ({"monitor": "desk", "what": "level"}, "unknown series of desk"),
    ({"monitor": "desk", "spans": 5000}, "few enough"),
    ({"monitor": "desk", "spans": 14}, "spans"),
    (
        {"scenario": settling, "policy": {"lasts": 900.0}, "what": "value"},
        "longer than half of the pilot runs",
    ),
    (
        {"scenario": settling, "policy": {"until": 0.5}, "what": "value"},
        "few enough",
    ),
    ({"scenario": cg.day("quiet"), "monitor": "desk"}, "omitted"),
    ({"scenario": cg.day("quiet"), "what": "level"}, "series of a cg.Model 'level'"),
    ({"scenario": cg.model(lambda env: {"profit": 1.0})}, "no monitor to observe"),
    ({"scenario": cg.model(ends_at_once), "what": "level"}, "ended at time 0"),
    ({"scenario": type("Empty", (cg.Model,), NO_JOBS)()}, "ended at time 0"),
    call=lambda wrong: cg.warm_up_time(
        **{"scenario": long_bank, "seeds": range(2), **wrong}
    ),
)
