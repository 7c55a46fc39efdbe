"""Figures of jobs on spot instances: what is plotted comes from runs, and every picture is drawn
from it.
"""

import csv

import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.spot import expected
from cgrsp_simpy.spot.market import TwoState
from cgrsp_simpy.spot.paper.figures import FIGURES, MARKET, draw_figures
from cgrsp_simpy.spot.study import deadline_study


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """All figures, small."""
    folder = tmp_path_factory.mktemp("figures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expected, "STEPS", 60)
        paths = draw_figures(folder, seeds=2)
    return folder, paths


def rows_of(folder, id):
    with (folder / f"spot_{id}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_every_figure_has_its_files_and_a_place_in_the_index(drawn):
    folder, paths = drawn
    assert len(paths) == 4 * len(FIGURES) + 1
    assert all(path.stat().st_size > 0 for path in paths)
    index = (folder / "README.md").read_text(encoding="utf-8")
    assert all(f"({picture.stem}.png)" in index for picture in FIGURES.values())


@pytest.mark.slow
def test_the_course_lies_where_there_are_spot_instances(drawn):
    rows = rows_of(drawn[0], "course")
    up = [(float(r["from_h"]), float(r["to_h"])) for r in rows if r["policy"] == "market"]
    held = [r for r in rows if r["place"] == "spot" and r["policy"] != "market"]
    assert held
    for row in held:
        assert any(
            low <= float(row["from_h"]) and float(row["to_h"]) <= high + 1e-9 for low, high in up
        )


@pytest.mark.slow
def test_costs_are_those_of_a_comparison(drawn):
    rows = rows_of(drawn[0], "costs")
    scenario = cg.spot.Scenario(MARKET, deadline=62.0, overhead=0.2)
    study = cg.compare(scenario, ["greedy"], range(2))
    [own] = [
        row
        for row in rows
        if (row["policy"], row["deadline_h"], row["overhead_h"]) == ("greedy", "62.0", "0.2")
    ]
    assert float(own["cost_pct"]) == pytest.approx(study.means()["greedy"]["cost_pct"].mean)


def test_a_study_has_a_row_a_market_and_one_of_all():
    markets = {"often": TwoState(4.0, 1.0), "seldom": TwoState(1.0, 9.0)}
    study = deadline_study(markets, [10.0], [0.1], ["greedy", "optimum"], range(3), hours=8.0)
    rows = study.rows()
    assert [(row["market"], row["policy"]) for row in rows] == [
        (market, policy) for market in (*markets, "all") for policy in ("greedy", "optimum")
    ]
    cost = {(row["market"], row["policy"]): row["cost_pct"] for row in rows}
    assert cost["all", "greedy"] == pytest.approx(
        (cost["often", "greedy"] + cost["seldom", "greedy"]) / 2
    )
    assert rows[-1]["saving_pct"] == pytest.approx(100)
    assert "deadlines missed: 0" in str(study)
    with pytest.raises(cg.InputError, match="other than that of their mean"):
        deadline_study({"all": TwoState()})
    with pytest.raises(cg.InputError, match="at least one"):
        deadline_study({})
