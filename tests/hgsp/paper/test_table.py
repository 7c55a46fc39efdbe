"""Table I: every printed cell beside what comes out."""

import re
from pathlib import Path

import pytest
from support import DATA

from cgrsp_simpy.hgsp.generate import LEVELS, generate
from cgrsp_simpy.hgsp.instance import read_instance
from cgrsp_simpy.hgsp.paper import table
from cgrsp_simpy.hgsp.paper.table import AGREES, INSIDE, METRICS, PRINTED, table_one
from cgrsp_simpy.hgsp.schedule import greedy_assignment
from cgrsp_simpy.model.checks import InputError

PAPER = Path(__file__).parents[4] / "shared" / "papers" / "hgsp.txt"
AUTHORS = DATA / "hgsp_authors"
has_files = pytest.mark.skipif(not AUTHORS.is_dir(), reason="the authors' files are not here")
# FIFO's and Greedy's weighted tardiness by the authors' program
PROGRAM = {
    "tasks1": (523.97, 502.99),
    "tasks2": (139.55, 0.347),
    "tasks3": (4_400_151, 4_399_363),
    "tasks4": (2_258_057, 2_256_179),
}


@pytest.mark.skipif(not PAPER.is_file(), reason="the paper is not here")
def test_the_cells_are_those_of_the_paper():
    found = {}
    for line in PAPER.read_text(encoding="utf-8").splitlines():
        if match := re.match(r"(tasks\d) \(.*?\)\s+(.*)", line):
            cells = [cell.rstrip("%") for cell in match[2].split()[:6]]
            for n, name in enumerate(("fifo", "greedy", "sagreedy")):
                found[match[1], name] = (cells[2 * n], cells[2 * n + 1])
    assert found == PRINTED


@has_files
@pytest.mark.parametrize("dataset", LEVELS)
def test_fifo_and_greedy_are_the_programs_to_the_digit(dataset):
    instance = read_instance(AUTHORS / f"{dataset}.csv", LEVELS[dataset].gpus)
    for least_start, value in zip((True, False), PROGRAM[dataset]):
        schedule = greedy_assignment(instance, range(instance.tasks), least_start)
        assert schedule.weighted_tardiness == pytest.approx(value, abs=10 ** -(3 * (value < 1)) / 2)
        if dataset in ("tasks3", "tasks4"):
            own = greedy_assignment(generate(dataset), range(instance.tasks), least_start)
            assert (own.finish_s == schedule.finish_s).all()


LISTS = ("fifo", "greedy")


@has_files
def test_every_cell_of_fifo_and_greedy_agrees_on_the_authors_files():
    rows = table_one(AUTHORS, range(3), LISTS)
    assert [row["verdict"] for row in rows] == [AGREES] * 16
    assert all(row["least"] == row["greatest"] for row in rows)


def test_without_them_the_printed_values_lie_within_the_range_of_the_law():
    rows = table_one(seeds=range(20), policies=LISTS)
    assert [row["verdict"] for row in rows] == [INSIDE] * 8 + [AGREES] * 8


def test_a_value_that_is_not_printed_is_told(monkeypatch):
    monkeypatch.setattr(table, "PRINTED", {("tasks3", "fifo"): ("4.41M", "99.5")})
    assert [row["verdict"] for row in table_one()] == ["differs", AGREES]


def test_a_folder_without_the_files_is_told(tmp_path):
    with pytest.raises(InputError, match=r"tasks1\.csv: no such file"):
        table_one(tmp_path, range(1))


@has_files
@pytest.mark.long
def test_every_printed_cell_agrees_over_twenty_seeds_of_the_annealing():
    rows = table_one(AUTHORS, executor=2)
    assert len(rows) == len(PRINTED) * len(METRICS)
    assert {row["verdict"] for row in rows} == {AGREES}
