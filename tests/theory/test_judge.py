"""Costs of policies on drawn scenarios: regret, and what an interval can show."""

import numpy as np
import pytest
from benchmarks.judge import Judgement, judge
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
def test_cost_and_regret_are_those_of_the_runs():
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


def rows(**usd):
    """A judgement of made figures: policy -> by scenario -> by seed."""
    made = [
        {
            "scenario": f"s{place}",
            "policy": policy,
            "seed": seed,
            "usd_per_job": value,
            "miss_pct": 100 * value,
            "tardiness_min": 0.0,
            "wait_min": 0.0,
        }
        for policy, scenarios in usd.items()
        for place, values in enumerate(scenarios)
        for seed, value in enumerate(values)
    ]
    first_days = {
        row["scenario"]: list(dict.fromkeys(each["seed"] for each in made))
        for row in made
    }
    return Judgement(made, first_days)


def test_regret_is_against_the_best_of_the_others_scenario_by_scenario():
    study = rows(
        a=[(1.0, 1.2, 1.1), (5.0, 5.2, 5.1)],
        b=[(2.0, 2.2, 2.1), (4.0, 4.2, 4.1)],
        c=[(3.0, 3.0, 3.0), (1.0, 1.0, 1.0)],
    )
    assert [each.other for each in study.against_best("a")] == ["b", "c"]
    assert study.regret("a").mean == pytest.approx((-1 + 4.1) / 2)
    assert study.regret("c").mean == pytest.approx((1.9 - 3.1) / 2)
    assert [each.scenario for each in study.worst("a")] == ["s1", "s0"]
    [row, *_] = study.table()
    assert (row["worst"], row["behind"]) == ("s1", 1)


def test_only_what_the_interval_can_tell_is_behind():
    study = rows(
        a=[(0.03, 0.03, 0.031), (0.0, 0.1, 0.0), (0.015, 0.005, 0.005)],
        b=[(0.0,) * 3] * 3,
    )
    assert [each.scenario for each in study.behind("a")] == ["s0"]
    row = study.table()[0]
    assert (row["behind"], row["behind_by_interval"]) == (2, 1)
