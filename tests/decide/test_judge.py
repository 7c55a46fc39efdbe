"""Judging policies on a suite of scenarios: regret, what an interval can tell, the
command.
"""

from dataclasses import replace

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.statistics import paired_difference
from cgrsp_simpy.decide.judge import Judgement, judge
from cgrsp_simpy.decide.recommend import Prices
from cgrsp_simpy.decide.suite import scenario
from cgrsp_simpy.rental.workload import LoggedWorkload

SMALL = [4, 6, 11, 64, 79]  # those of TRAIN with fewest jobs

# ---- judging ----


def judged(**more):
    return judge(
        [scenario(seed) for seed in SMALL[:2]],
        ["fifo", "edf", "triage"],
        range(3),
        **more,
    )


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
    less = paired_difference(usd["triage"], usd[best])
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
    alone = {
        row["scenario"]: list(dict.fromkeys(each["seed"] for each in made))
        for row in made
    }
    return Judgement("made", made, alone)


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


def test_one_seed_has_no_interval_that_could_tell():
    study = rows(a=[(0.5,)], b=[(0.0,)])
    [row, _] = study.table()
    assert (row["behind"], row["behind_by_interval"]) == (1, 0)


def test_prices_are_the_users():
    free = judged(prices=Prices(0, 0, 0))
    day = scenario(SMALL[0])
    rent = cg.simulate(day, "edf", 0).summary()["cost_usd"] / day.jobs
    assert free.values(day.name, "edf")[0] == pytest.approx(rent)
    with pytest.raises(cg.InputError, match="price_miss"):
        judged(prices=Prices(-1))


@pytest.mark.parametrize(
    ("scenarios", "policies", "message"),
    [
        ([], ["fifo", "edf"], "scenarios"),
        ([scenario(1), scenario(1)], ["fifo", "edf"], "differ"),
        ([scenario(1)], ["fifo"], "two or more"),
        ([scenario(1)], ["fifo", "none"], "none"),
        ([cg.hgsp.Scenario()], ["fifo", "edf"], "rented"),
        (scenario(1), ["fifo", "edf"], "a list of scenarios"),
    ],
)
def test_what_cannot_be_judged_is_named(scenarios, policies, message):
    with pytest.raises(cg.InputError, match=message):
        judge(scenarios, policies)


def test_what_cannot_be_asked_of_a_judgement_is_named():
    small = cg.day("quiet", jobs=3)
    with pytest.raises(cg.InputError, match="a Prices"):
        judge([small], ["fifo", "edf"], [0], prices=5)
    study = judge([small], ["fifo", "edf"], [0])
    for ask, message in (
        (lambda: study.values("quiet", "fifo", "cost"), "unknown figure 'cost'"),
        (lambda: study.against_best("fifo", "scenario"), "unknown figure 'scenario'"),
        (lambda: study.worst("fifo", number=-1), "number"),
    ):
        with pytest.raises(cg.InputError, match=message):
            ask()


def test_a_run_that_fails_is_told(tmp_path):
    def broken(view):
        raise RuntimeError("no")

    study = judge([replace(scenario(36), name="one")], ["fifo", broken], [0])
    assert "1 of 2 runs failed" in str(study)
    assert study.as_dict()["failures"]


def test_a_judgement_resumes_from_its_directory(tmp_path):
    # one without a log, and one with
    scenarios = [scenario(SMALL[0]), scenario(SMALL[3])]
    kinds = [isinstance(each.workload, LoggedWorkload) for each in scenarios]
    assert kinds == [False, True]
    first, again = (
        judge(scenarios, ["fifo", "edf"], range(2), out=tmp_path / "kept")
        for _ in range(2)
    )
    assert first.rows == again.rows
    assert (tmp_path / "kept" / "rows.csv").exists()


# ---- the command ----
