"""The thesis's days where stock persists: rows of few seeds, drawn whole."""

import csv

import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.papers.thesis import persistence

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs():
    """Two seeds, and days of few jobs."""
    return persistence.Runs(2)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    def day(name, **parameters):
        return cg.day(name, jobs=25, **parameters)

    monkeypatch.setattr(persistence, "day", day)


@pytest.mark.parametrize("id", [id for id in persistence.FIGURES if id != "findings"])
def test_each_figure_is_drawn_and_told(id, runs, tmp_path):
    picture = persistence.FIGURES[id]
    rows = picture.rows(runs)
    paths = picture.write(tmp_path, rows)
    assert [path.suffix for path in paths] == [".csv", ".png", ".svg", ".pdf"]
    with paths[0].open() as file:
        assert len(list(csv.DictReader(file))) == len(rows)
    assert "watch" in picture.seen(rows)
    assert id != "days" or picture.table(rows).count("\n") >= len(rows)


def test_the_rows_are_those_of_comparisons(runs):
    rows = persistence.FIGURES["days"].rows(runs)
    assert len(rows) == 4 * 5 * 5
    [row] = [
        row
        for row in rows
        if (row["day"], row["market"], row["policy"])
        == ("hectic", "15 min, seen", "watch")
    ]
    day = cg.day("hectic", jobs=25, persistence_s=900, sight="now")
    study = cg.compare(day, ["fifo", "watch"], range(5000, 5002))
    assert row["wait_min"] == study.means()["watch"]["wait_min"].mean
    assert row["wait_min_from_fifo"] == study.differences()["watch"]["wait_min"].mean


def test_the_command_draws_one_figure(tmp_path, capsys):
    assert (
        main(
            [
                "papers",
                "figures",
                "market",
                "sight",
                "--out",
                str(tmp_path),
                "--workers",
                "1",
            ]
        )
        == 0
    )
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert main(["papers", "figures", "market", "night", "--out", str(tmp_path)]) == 2
