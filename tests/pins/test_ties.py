"""Recorded values, not proven ones: sums over small cases on a grid, in which times
coincide, capacities are just enough and deadlines are just met; `python
tests/pins/test_ties.py` rewrites them.
"""

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from pins.test_sums import columns, tasks
from random_scenarios import WHOLE_TIMES

import cgrsp_simpy as cg
from cgrsp_simpy.market.series import Series
from cgrsp_simpy.spot.job import Checkpoints
from cgrsp_simpy.studies.subject import subject_of

PINS = Path(__file__).with_name("ties.json")
SEEDS = 6
TYPES = (*WHOLE_TIMES[:2], replace(WHOLE_TIMES[2], high_stock_probability=0.5))
SURE = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.5, 0.5, 0.0)]
TERMS = (
    cg.Terms(),
    cg.Terms(warm_s=60, billed_from="provisioning", increment_s=60, minimum_s=120),
    cg.Terms(retry_s=60, budget_usd_per_day=0.02),
    cg.Terms(taken_when_low=True, checkpoint_s=30, checkpoint_cost_s=6, restart_s=30),
    cg.Terms(preemption_per_h=6),
    cg.Terms(warm_s=600, retry_s=30, preemption_per_h=2, checkpoint_s=60),
)


def steps(rng, number, unit=60.0):
    """Times of arrival, two in three of them equal to the one before."""
    return unit * np.cumsum(rng.choice([0, 0, 1, 2, 5], number))


def rental(seed):
    rng = np.random.default_rng(seed)
    windows = rng.choice([0, 60, 120, 180, 600, 3600], 20)
    jobs = [
        cg.Job(id, at_s, at_s + window, level, bool(window < 200), 1, weight)
        for id, (at_s, window, level, weight) in enumerate(
            zip(
                steps(rng, 20).tolist(),
                windows.tolist(),
                rng.integers(1, 4, 20).tolist(),
                rng.choice([0.0, 1.0, 2.5], 20).tolist(),
            )
        )
    ]
    chances = [SURE[number] for number in rng.integers(0, 4, 24)]
    market = cg.Market(
        delay_s=((0, 0), (60, 60), (300, 300)),
        stock=[cg.HourlyStock("A", chances)],
        persistence_s=[0.0, 600.0][seed % 2],
        sight=["none", "now", "none", "poll:60", "none", "none"][seed],
    )
    return cg.Scenario(
        "ties",
        cg.JobList(jobs),
        cg.round_robin(3, TYPES),
        TYPES,
        free_types=seed % 2 == 1,
        market=market,
        service=cg.Service(sigma=(0, 0, 0)),
        terms=replace(TERMS[seed], suspension=True),
    )


@cache
def resumed(seed):
    """A state with jobs that run, whose stock is held, and may have been seen."""
    day = cg.day(
        "hectic",
        ["RTX 3090"] * 6 + ["RTX A4000"],
        jobs=40,
        persistence_s=900,
        sight=["none", "now", "poll:120"][seed % 3],
    )
    market = replace(day.market, delay_s=((0, 60), (30, 120), (60, 2000)))
    whole = subject_of(day := replace(day, market=market)).run("fifo", seed)
    at_s = float(np.sort(whole.jobs["dispatch_s"])[9 + seed]) + 100
    return replace(whole.state(at_s), wake_s=None).resumed(day)


def cluster(seed):
    rng = np.random.default_rng(seed)
    duration_s = rng.choice([60.0, 120.0, 300.0], 30)
    jobs = cg.cluster.Jobs(
        steps(rng, 30),
        rng.integers(1, 9, 30),
        duration_s,
        duration_s * rng.integers(1, 3, 30),
        60 * rng.integers(1, 5, 30).astype(float),
        rng.integers(0, 3, 30),
        rng.integers(0, 2, 30),
        rng.integers(0, 3, 30),
    )
    placement = ["best", "first", "spread"][seed % 3]
    return cg.cluster.Scenario(
        jobs, cg.cluster.Cluster((4, 4, 2)), placement, kill_at_limit=seed > 2
    )


def hgsp(seed):
    return cg.hgsp.Scenario(
        tasks(seed),
        delay_s=seed % 2,
        unknown_arrivals=seed == 5,
        replan_s=10 if seed == 5 else None,
        moves=20,
    )


def waiting(seed):
    rng = np.random.default_rng(seed)
    cores = rng.choice([1, 2, 4, 8], 40)
    jobs = cg.waiting.ListedJobs(
        steps(rng, 40), rng.choice([0.0, 60.0, 180.0, 3600.0], 40), cores, 4.0 * cores
    )
    order, conserving = ("sjf", False) if seed % 2 else ("fcfs", seed % 4 == 0)
    return cg.waiting.Scenario(
        jobs, machines=[2, 3, 4][seed % 3], order=order, work_conserving=conserving
    )


def dag(seed):
    rng = np.random.default_rng(seed)
    edges = [(k, n) for n in range(1, 12) for k in range(n) if rng.random() < 0.25]
    graph = cg.dag.Graph(
        rng.integers(0, 4, 12).astype(float),
        rng.choice([1000, 2000, 4000], 12),
        np.array(edges).reshape(-1, 2),
        rng.integers(0, 3, len(edges)).astype(float),
        unit=np.arange(12) // (1 + seed % 2),
    )
    platform = cg.dag.Platform(
        np.array([1.0, 1.0, 2.0, 2.0]),
        np.array([4000, 8000, 8000, 4000]),
        np.array([0, 0, 1, 1]),
        np.where(np.add.outer([0, 0, 1, 1], [0, 0, 1, 1]) == 1, 1.0, 2.0),
        contention=seed % 3 == 0,
    )
    return cg.dag.Scenario(graph, platform, ["free", "busy", "idle"][seed % 3], 20)


def spot(seed):
    rng = np.random.default_rng(seed)
    zones = [
        Series.of(name, 600, rng.integers(0, 2, 60).repeat(4), price.repeat(4))
        for name in ("us-east-1a", "us-east-1b")
        for price in [rng.choice([0.5, 1.0, 2.0], 60)]
    ]
    notes = Checkpoints(1800, 60, [0, 120][seed % 2], 10.0, 0.02, 1.0)
    return cg.spot.Scenario(
        cg.spot.Traces(zones, 0.5),
        2.0,
        [2.5, 3.0, 4.0][seed % 3],
        [1 / 6, 1 / 3][seed % 2],
        1.0,
        2.0,
        checkpoints=notes if seed > 2 else Checkpoints(),
    )


def llm(seed):
    rng = np.random.default_rng(seed)
    requests = cg.llm.RequestList(
        steps(rng, 30, 1.0),
        rng.choice([128, 512, 2048], 30),
        rng.choice([1, 64, 256], 30),
        rng.choice([1.0, 2.0], 30),
    )
    service = cg.llm.Service(
        gpus=4, max_batch=[2, 8][seed % 2], chunk_tokens=512, whole=seed % 3 == 2
    )
    return cg.llm.Scenario(requests, service)


MADE = (rental, resumed, cluster, hgsp, waiting, dag, spot, llm)
LEFT_OUT = ("milp", "ddqn", "expected-cost", "sagreedy")  # slow
CASES = [
    (make, policy)
    for make in MADE
    for policy in make(0).policies
    if policy not in LEFT_OUT
    and (make is not resumed or policy not in ("edf-p", "srpt"))  # they suspend
]


def sums(make, policy):
    """Return the sums over the cases of the figures and of each column of the jobs."""
    total = Counter()
    for seed in range(SEEDS):
        run = subject_of(make(seed)).run(policy, seed)
        jobs = {
            f"sum of {name}": float(np.nansum(run.jobs[name]))
            for name in run.jobs.dtype.names
            if run.jobs[name].dtype.kind in "biuf"
        }
        total.update(columns(run.summary() | jobs | {"decisions": run.decisions}))
    return dict(total)


@pytest.fixture(scope="module")
def pinned():
    return json.loads(PINS.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("make", "policy"), CASES)
def test_sums_equal_the_pins(make, policy, pinned):
    expected = pinned[f"{policy} of {make.__name__}"]
    assert sums(make, policy) == pytest.approx(expected, rel=1e-7)


def test_every_policy_is_pinned_and_nothing_else(pinned):
    assert set(pinned) == {f"{policy} of {make.__name__}" for make, policy in CASES}


if __name__ == "__main__":
    pins = {
        f"{policy} of {make.__name__}": sums(make, policy) for make, policy in CASES
    }
    lines = (f"{json.dumps(key)}: {json.dumps(pin)}" for key, pin in pins.items())
    PINS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
