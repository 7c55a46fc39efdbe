"""Costs of policies on drawn scenarios: regret, and what an interval can show."""

import numpy as np
import pytest
from benchmarks.judge import judge
from benchmarks.suite import scenario

import cgrsp_simpy as cg

SMALL = [4, 6, 11, 64, 79]  # those of TRAIN with fewest jobs


def judged(**more):
    return judge(
        [scenario(seed) for seed in SMALL[:2]],
        ["fifo", "edf", "triage"],
        range(3),
        **more,
    )


@pytest.mark.slow
def test_cost_and_regret_follow_from_the_runs():
    study, each = judged(), scenario(SMALL[1])
    usd = {}
    for policy in ("fifo", "edf", "triage"):
        runs = [cg.simulate(each, policy, seed) for seed in range(3)]
        jobs = [run.jobs for run in runs]
        usd[policy] = [
            (
                own["cost_usd"].sum()
                + (own["finish_s"] > own["deadline_s"]).sum()
                + 0.01 * np.maximum(own["finish_s"] - own["deadline_s"], 0).sum() / 60
                + 0.001 * (own["start_s"] - own["submit_s"]).sum() / 60
            )
            / len(own)
            for own in jobs
        ]
        assert study.values(each.name, policy) == pytest.approx(usd[policy])
    best = min(("fifo", "edf"), key=lambda policy: np.mean(usd[policy]))
    beside = study.against_best("triage")[1]
    assert (beside.scenario, beside.other) == (each.name, best)
    less = cg.statistics.paired_difference(usd["triage"], usd[best])
    assert beside.difference.mean == pytest.approx(less.mean)
    assert beside.difference.half_width == pytest.approx(less.half_width)
