"""Random classes, rates and stock models: every policy completes them, figures and
files agree.
"""

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_scenarios import open_scenarios, scenarios

import cgrsp_simpy as cg
from cgrsp_simpy.rental.record import by_class

seeds = st.integers(0, 2**32)


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize("policy", cg.POLICIES)
@settings(max_examples=30)
@given(scenario=open_scenarios(), seed=seeds)
def test_every_policy_completes_open_scenarios_with_figures_of_their_classes(
    policy, scenario, seed
):
    run = cg.simulate(scenario, policy, seed)
    jobs, classes = run.jobs, scenario.workload.classes
    assert jobs["job"].tolist() == list(range(scenario.workload.jobs))
    assert (jobs["dispatch_s"] >= jobs["submit_s"]).all()
    assert jobs["tight"].tolist() == [
        classes[index].tight for index in jobs["deadline_class"]
    ]
    late_s = np.maximum(0, jobs["finish_s"] - jobs["deadline_s"])
    summary, names = run.summary(), [each.name for each in classes]
    expected = {}
    for index, name in enumerate(names):
        own = jobs["deadline_class"] == index
        expected[name] = {
            "jobs": own.sum(),
            "wait_min": _mean((jobs["start_s"] - jobs["submit_s"])[own]) / 60,
            "miss_pct": 100 * _mean(late_s[own] > 0),
            "tardiness_min": _mean(late_s[own]) / 60,
        }
    assert by_class(run.tally) == {
        name: pytest.approx(own, rel=1e-9, nan_ok=True)
        for name, own in expected.items()
    }
    if names == ["tight", "loose"]:
        assert not any(f"{name}_wait_min" in summary for name in names)
    else:
        for name, own in expected.items():
            for figure in ("wait_min", "miss_pct", "tardiness_min"):
                result = summary[f"{name}_{figure}"]
                assert result == pytest.approx(own[figure], rel=1e-9, nan_ok=True)
    weighted = any(each.weight != 1 for each in classes)
    assert ("weighted_tardiness_min" in summary) == weighted
    if weighted and jobs["weight"].sum():
        mean_s = (jobs["weight"] * late_s).sum() / jobs["weight"].sum()
        assert summary["weighted_tardiness_min"] == pytest.approx(mean_s / 60, rel=1e-9)


def _mean(values):
    return values.mean() if len(values) else math.nan


@settings(max_examples=100)
@given(scenario=open_scenarios() | scenarios() | scenarios(gangs=True), seed=seeds)
def test_a_scenario_survives_a_file_and_gives_the_same_jobs(scenario, seed):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.toml"
        scenario.to_toml(path)
        read = cg.Scenario.from_toml(path)
    assert (read, hash(read)) == (scenario, hash(scenario))
    jobs, again = (
        [*made.workload.generate(seed, made.service)] for made in (scenario, read)
    )
    assert [(tuple(job), draws) for job, draws in jobs] == [
        (tuple(job), draws) for job, draws in again
    ]


@settings(max_examples=50)
@given(
    scenario=open_scenarios(), times=st.lists(st.floats(0, 1e6), min_size=1, max_size=5)
)
def test_stock_of_a_type_follows_its_table_or_else_the_thesis(scenario, times):
    market = scenario.market
    tables = {each.gpu: each.chances for each in market.stock}
    plain = cg.Market(market.clock, market.delay_s)
    for time_s in times:
        hour = int((market.clock.start_h + time_s / 3600) % 24)
        for gpu in scenario.gpus:
            chances = market.probabilities(gpu, time_s)
            if gpu.name not in tables:
                assert chances == plain.probabilities(gpu, time_s)
            else:
                assert chances == tables[gpu.name][hour]
            # The middles of 1000 equal parts: a status has as many as
            # chances.
            drawn = [
                market.status(gpu, time_s, (part + 0.5) / 1000) for part in range(1000)
            ]
            result = np.bincount(drawn, minlength=3) / 1000
            assert result == pytest.approx(chances, abs=1e-3)
            for uniform in (0.0, 1 - 2**-53):
                assert chances[market.status(gpu, time_s, uniform)] > 0


@settings(max_examples=50)
@given(scenario=open_scenarios())
def test_a_view_shows_the_classes_and_the_stock_model(scenario):
    known = scenario.moment([]).known
    assert known.classes == scenario.workload.classes
    assert known.tight_fraction == pytest.approx(
        sum(each.share for each in known.classes if each.tight)
    )
    assert sum(each.share for each in known.classes) == pytest.approx(1)
    assert known.market is scenario.market
