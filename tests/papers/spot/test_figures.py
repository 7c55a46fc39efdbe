"""Figures of jobs on spot instances: the plotted data come from runs."""

import pytest
from support import check_refused, rows_of

import cgrsp_simpy as cg
from cgrsp_simpy.papers.spot.figures import FIGURES, Runs
from cgrsp_simpy.papers.spot.table import deadline_study
from cgrsp_simpy.plots.figure import where
from cgrsp_simpy.spot import expected


@pytest.fixture
def fewer_steps(monkeypatch):
    monkeypatch.setattr(expected, "STEPS", 60)


@pytest.mark.usefixtures("fewer_steps")
def test_the_job_runs_only_on_available_spot_instances():
    rows = rows_of(FIGURES["course"], Runs(2))
    up = [(row["from_h"], row["to_h"]) for row in where(rows, policy="market")]
    held = [r for r in rows if r["place"] == "spot" and r["policy"] != "market"]
    assert held
    for row in held:
        assert any(
            low <= row["from_h"] and row["to_h"] <= high + 1e-9 for low, high in up
        )


def test_a_study_has_a_row_a_market_and_one_of_all():
    markets = {
        "often": cg.spot.TwoState(4.0, 1.0),
        "seldom": cg.spot.TwoState(1.0, 9.0),
    }
    study = deadline_study(
        markets, [10.0], [0.1], ["greedy", "optimum"], range(3), hours=8.0
    )
    rows = study.rows()
    assert [(row["market"], row["policy"]) for row in rows] == [
        (market, policy)
        for market in (*markets, "all")
        for policy in ("greedy", "optimum")
    ]
    often, seldom, both = (
        study.mean_values((10.0, 0.1), "greedy", "cost_pct", market)
        for market in (*markets, "all")
    )
    assert both == pytest.approx((often + seldom) / 2)
    assert str(study).splitlines() == [
        "deadline 10 h, overhead 0.1 h: cost, % of on demand only, ± 95 % half width",
        "market                           greedy      optimum",
        "often                       90.5 ± 22.2  45.0 ± 38.6",
        "seldom                       99.9 ± 0.2   99.9 ± 0.2",
        "all                         95.2 ± 11.0  72.5 ± 19.4",
        "saving, % of the optimum's  18.8 ± 40.0  100.0 ± 0.0",
        "deadlines missed: 0",
    ]
    check_refused(
        lambda: deadline_study({"all": cg.spot.TwoState()}),
        "different from all, the name of their mean",
    )
    check_refused(lambda: deadline_study({}), "at least one")
