"""Table I: every printed cell next to the reproduced value."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support import DATA, check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.hgsp.generate import LEVELS, generate
from cgrsp_simpy.hgsp.instance import CLUSTERS, read_instance
from cgrsp_simpy.papers.hgsp import table
from cgrsp_simpy.papers.hgsp.table import METRICS, PRINTED, SIZES, table_one
from cgrsp_simpy.papers.ledger import DIFFERENT, REPRODUCED, UNDECIDED

PAPER = Path(__file__).parents[4] / "shared" / "papers" / "hgsp.txt"
AUTHORS = DATA / "hgsp_authors"
has_files = pytest.mark.skipif(
    not AUTHORS.is_dir(), reason="the authors' files are not here"
)
# FIFO's and Greedy's weighted tardiness by the authors' program
PROGRAM = {
    "tasks1": (523.97, 502.99),
    "tasks2": (139.55, 0.347),
    "tasks3": (4_400_151, 4_399_363),
    "tasks4": (2_258_057, 2_256_179),
}


@pytest.mark.skipif(not PAPER.is_file(), reason="the paper is not here")
def test_the_cells_match_the_paper():
    result = {}
    for line in PAPER.read_text(encoding="utf-8").splitlines():
        if match := re.match(r"(tasks\d) \(.*?\)\s+(.*)", line):
            cells = [cell.rstrip("%") for cell in match[2].split()[:6]]
            for n, name in enumerate(("fifo", "greedy", "sagreedy")):
                result[match[1], name] = (cells[2 * n], cells[2 * n + 1])
    assert result == PRINTED


@has_files
@pytest.mark.parametrize("dataset", LEVELS)
def test_fifo_and_greedy_equal_the_published_program_to_the_digit(dataset):
    instance = read_instance(AUTHORS / f"{dataset}.csv", LEVELS[dataset].gpus)
    for least_start, value in zip((True, False), PROGRAM[dataset]):
        schedule = cg.hgsp.greedy_assignment(
            instance, range(instance.tasks), least_start
        )
        assert schedule.weighted_tardiness == pytest.approx(
            value, abs=10 ** -(3 * (value < 1)) / 2
        )
        if dataset in ("tasks3", "tasks4"):
            own = cg.hgsp.greedy_assignment(
                generate(dataset), range(instance.tasks), least_start
            )
            assert (own.finish_s == schedule.finish_s).all()


LISTS = ("fifo", "greedy")


def printed_rows(*arguments, **options):
    """Return the rows of the settings that the paper prints."""
    return [row for row in table_one(*arguments, **options) if row["printed"]]


@pytest.mark.slow
@has_files
def test_all_twelve_settings_are_rows_of_which_the_paper_prints_four():
    rows = table_one(AUTHORS, range(3), LISTS)
    settings = {(row["dataset"], row["cluster"]) for row in rows}
    assert settings == {(dataset, size) for dataset in LEVELS for size in SIZES}
    printed = {(row["dataset"], row["cluster"]) for row in rows if row["verdict"]}
    assert printed == {(name, level.cluster) for name, level in LEVELS.items()}
    (row,) = (
        row
        for row in rows
        if (row["dataset"], row["cluster"], row["scheduler"], row["metric"])
        == ("tasks4", "small", "fifo", METRICS[0])
    )
    instance = read_instance(AUTHORS / "tasks4.csv", CLUSTERS["small"])
    schedule = cg.hgsp.greedy_assignment(instance, range(instance.tasks), True)
    assert row["least"] == row["greatest"] == schedule.weighted_tardiness


@pytest.mark.slow
def test_without_the_authors_files_printed_values_are_in_the_range_of_seeds():
    rows = printed_rows(seeds=range(20), policies=LISTS)
    assert [row["verdict"] for row in rows] == [REPRODUCED] * 16
    assert [row["least"] == row["greatest"] for row in rows] == [False] * 8 + [True] * 8


def test_a_value_that_is_not_printed_differs(monkeypatch):
    monkeypatch.setattr(table, "PRINTED", {("tasks3", "fifo"): ("4.41M", "99.5")})
    assert [row["verdict"] for row in printed_rows()] == [DIFFERENT, REPRODUCED]


def give(monkeypatch, printed, of_seed):
    """Let SAGreedy give values by seed, of which one is printed."""
    monkeypatch.setattr(table, "PRINTED", {("tasks3", "sagreedy"): printed})
    metrics = METRICS[:2]

    def sagreedy(instance, seed, *_):
        values = dict(zip(metrics, of_seed(seed)))
        return SimpleNamespace(schedule=SimpleNamespace(metrics=values))

    monkeypatch.setattr(table, "SCHEDULERS", {"sagreedy": sagreedy})
    monkeypatch.setattr(table, "generate", lambda *_: None)


@pytest.mark.parametrize(
    ("value", "of_twenty", "of_forty"),
    [("1.0", REPRODUCED, REPRODUCED), ("3.0", UNDECIDED, DIFFERENT)],
)
def test_a_value_outside_of_all_seeds_differs_only_if_there_are_enough(
    value, of_twenty, of_forty, monkeypatch
):
    """The seeds give 0.05, 0.1, ... 2."""
    give(monkeypatch, (value, "0.1"), lambda seed: (0.05 * (seed + 1), 0.1))
    few, many = (printed_rows(seeds=range(number)) for number in (20, 40))
    assert [few[0]["verdict"], many[0]["verdict"]] == [of_twenty, of_forty]
    # rounds to what is printed
    assert few[1]["verdict"] == many[1]["verdict"] == REPRODUCED


def test_the_range_does_not_grow_with_the_seeds(monkeypatch):
    """A value near the end of the range differs, also if one seed gives a much greater
    value.
    """
    values = np.random.default_rng(1).permutation(np.linspace(0, 1, 200))
    values[100] = 5.0
    give(monkeypatch, ("0.999", "0.5"), lambda seed: (values[seed], values[seed]))
    far, near = printed_rows(seeds=range(200))
    assert (far["verdict"], near["verdict"]) == (DIFFERENT, REPRODUCED)
    assert far["greatest"] == 5.0


def test_a_folder_without_the_files_is_rejected(tmp_path):
    check_refused(lambda: table_one(tmp_path, range(1)), r"tasks1\.csv: no such file")


@has_files
@pytest.mark.long
def test_every_printed_cell_agrees_over_forty_seeds_of_the_annealing():
    rows = printed_rows(AUTHORS, executor=2)
    assert len(rows) == len(PRINTED) * len(METRICS)
    assert {row["verdict"] for row in rows} == {REPRODUCED}
