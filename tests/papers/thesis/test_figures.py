"""The thesis's figures: the plotted data are those of the tables, and the files are the
same each time.
"""

import csv
import math
import re
import shutil
import statistics
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from matplotlib.text import Text
from PIL import Image
from support import check_bad_input, check_refused, outcome

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.papers.thesis import example_figures as days
from cgrsp_simpy.papers.thesis.experiments import known_directory
from cgrsp_simpy.papers.thesis.figures import (
    FIGURES,
    architecture,
)
from cgrsp_simpy.papers.thesis.printed import IDS, run_tables
from cgrsp_simpy.papers.thesis.published import JOBS_OF_TYPES, PRINTED
from cgrsp_simpy.papers.thesis.table_figures import (
    compared,
)
from cgrsp_simpy.studies.subject import Subject, subject_of

SEEDS = 3


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Every table on a few seeds, in a results directory."""
    folder = tmp_path_factory.mktemp("runs") / "all"
    with pytest.MonkeyPatch.context() as patch:
        # Table 5.1's seed is 42
        patch.setattr("cgrsp_simpy.papers.thesis.experiments.SPREAD_SEEDS", 43)
        run_tables(IDS, SEEDS, 2, folder)
        yield folder


@pytest.fixture(scope="module")
def results(runs):
    return run_tables(*known_directory(runs, IDS), out=runs)[0]


def size_of(path):
    with Image.open(path) as image:
        return image.size


def rows_of(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@pytest.mark.slow
def test_all_figures_are_drawn_from_existing_runs_with_an_index(
    runs, tmp_path, monkeypatch
):
    def nothing_to_do(carry_out, tasks, executor):
        assert not tasks  # no study is simulated again
        return iter(())

    monkeypatch.setattr("cgrsp_simpy.studies.replicate.as_they_come", nothing_to_do)
    before = set(plt.get_fignums())
    paths = FIGURES.draw(tmp_path, runs_from=runs)
    assert set(plt.get_fignums()) == before
    assert {path.name for path in paths} == {path.name for path in tmp_path.iterdir()}
    assert len(paths) == 4 * len(FIGURES) + 1
    index = (tmp_path / "README.md").read_text(encoding="utf-8")
    for id, figure in FIGURES.items():
        assert f"({figure.stem}.png)" in index
        assert (
            f"cgrsp papers figures thesis {id}`" in index
            or f"cgrsp papers figures thesis {id} " in index
        )
        width, height = size_of(tmp_path / f"{figure.stem}.png")
        assert (width, height) == pytest.approx(
            (200 * figure.size[0], 200 * figure.size[1]), abs=1
        )


@pytest.mark.parametrize("id", ["5.4", "5.5", "slots", "cells"])
def test_a_caption_names_the_published_values_that_do_not_agree_and_no_other(id):
    path = Path(__file__).parents[3] / "figures" / f"{FIGURES[id].stem}.csv"
    rows = rows_of(path)
    text = compared(FIGURES[id].read(path.read_text(encoding="utf-8")))
    differing = [row for row in rows if row["verdict"] == "different"]
    judged = [row for row in rows if row["verdict"]]
    assert text.startswith(
        f"{len(judged) - len(differing)} of {len(judged)} published values"
    )
    assert text.count("(published") == len(differing) == text.count("±")
    for row in differing:
        name = f"{row['row']}, {row['column']}, {row['part']}"
        assert f"{name} (published {row['published']}, ours " in text


# ---- Rows of single runs ----


def test_generated_jobs_follow_the_printed_statistics():
    rows = days.generated_jobs.rows(None)
    assert len(rows) == 6627
    for gpu, number in JOBS_OF_TYPES.items():
        seconds = [row["execution_s"] for row in rows if row["gpu"] == gpu]
        assert len(seconds) == number
        assert sum(seconds) / number == pytest.approx(days.AVERAGES_S[gpu], abs=0.05)
    seconds = [row["execution_s"] for row in rows]
    variation = statistics.pstdev(seconds) / statistics.fmean(seconds)
    assert variation == pytest.approx(0.28, abs=0.02)  # printed
    assert 30 <= min(seconds) < 35 and 300 < max(seconds) <= 352
    assert sum(row["hour"] in days.MORNING for row in rows) / len(
        rows
    ) == pytest.approx(9 / 30, abs=0.03)


@pytest.mark.slow
def test_generated_data_is_marked_in_the_picture(tmp_path):
    for id in ("5.1", "5.3"):
        (path, *_) = FIGURES[id].write(tmp_path, FIGURES[id].rows(None))
        canvas = FIGURES[id].redraw(path)
        texts = [
            text.get_text()
            for text in canvas.findobj(lambda artist: hasattr(artist, "get_text"))
        ]
        assert any(
            "generated data" in text and "not measured" in text for text in texts
        )


def test_shares_of_stock_sum_to_all_and_are_low_in_the_scarce_hours_alone():
    rows = days.stock_over_the_day.rows(run_tables([])[0], ["normal"])
    for row in rows:
        assert row["high_pct"] + row["medium_pct"] + row["low_pct"] == pytest.approx(
            100
        )
        assert (row["low_pct"] > 0) == (4 <= row["hour"] < 10)


def test_the_names_in_the_architecture_figure_exist_in_a_run():
    """Thesis Section 4.1: four components, an event queue and the metrics collector."""
    names = {
        row["name"]: row["names"].split()
        for row in architecture.rows(None)
        if row["names"]
    }
    seen = []
    scenario = cg.day("quiet", jobs=5)

    def watched(view):
        seen.append(view)
        return [(view.queue[0], view.idle[0])] if view.queue and view.idle else []

    run = subject_of(scenario).simulation(watched, 0)
    assert [type(run).__name__] == names["DES Core"]
    assert f"simpy.{type(run.env).__name__}" == names["event queue"][0]
    assert [type(scenario.workload).__name__] == names["Job Generator"]
    fleet = [type(run.resources[0]).__name__, type(scenario.market).__name__]
    assert fleet == names["Fleet Manager"]
    run.env.run()
    kept = run.close()
    assert type(seen[0]).__name__ == names["Scheduler"][1]
    assert [type(run.records).__name__, type(kept).__name__] == names[
        "Metrics Collector"
    ]
    assert len(kept.jobs) == 5


def test_the_snapshots_lie_in_the_windows_that_are_printed():
    rows = [row for row in days.multiplier.rows(None) if row["what"] == "snapshots"]
    assert [(row["from_h"], row["to_h"], row["value"]) for row in rows] == [
        (1, 2, 77),
        (18, 19, 77),
    ]


# ---- With parameters changed ----


def drawn_rows(tmp_path, id, **changed):
    """The rows of a figure as its command writes them."""
    (path, *_) = FIGURES.draw(tmp_path, (id,), **changed)
    return FIGURES[id].read(path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_a_figure_of_other_seeds_policies_and_scenarios_uses_their_runs(tmp_path):
    """Policies that are printed keep their published values; others have none."""
    changed = {
        "seeds": 2,
        "policies": ["fifo", "atc"],
        "scenario": {"slots": 7, "jobs": 60},
    }
    rows = drawn_rows(tmp_path, "5.6", **changed)
    assert {row["column"] for row in rows} == {"FIFO", "atc"}
    printed = PRINTED["5.6"]
    for row in rows:
        share = float(row["row"].rstrip("%")) / 100
        day = cg.day("surge", tight_fraction=share, slots=7, jobs=60)
        runs = cg.compare(day, [row["column"].lower()], seeds=range(2))
        missed = [each["miss_pct"] for each in runs.rows]
        assert row["reproduced"] == pytest.approx(sum(missed) / 2)
        assert (row["n"], row["verdict"]) == (2, None)
        assert row["other"] == "here slots = 7, jobs = 60, other than in the thesis"
        if row["column"] == "FIFO":
            place = printed.columns.index("FIFO")
            assert row["published"] == float(printed.rows[row["row"]][place].split()[0])
        else:
            assert math.isnan(row["published"])
    assert compared(rows) == ""  # published values are of other scenarios


@pytest.mark.slow
@pytest.mark.parametrize("id", ["5.4", "5.5", "5.6", "5.7", "5.8", "5.9", "queue"])
def test_figures_accept_a_user_policy(id):
    def mine(view):
        return list(zip(view.queue, view.idle))

    canvas = cg.thesis.figure(
        id, seeds=2, policies=["cadr", mine], scenario={"jobs": 30}
    )
    said = {text.get_text() for text in canvas.findobj(Text)}
    assert {"mine", "here jobs = 30, other than in the thesis"} <= said


@pytest.mark.slow
def test_a_figure_is_drawn_from_its_csv_without_a_run(monkeypatch, tmp_path):
    # no run is made
    monkeypatch.setattr(Subject, "run", None)
    own = Path(__file__).parents[3] / "figures" / "figure_5_6.csv"
    settings = {"font.family": "serif", "font.size": 11}
    canvas = cg.thesis.figure("5.6", csv=own, style=settings, width=120)
    assert 25.4 * canvas.get_size_inches()[0] == pytest.approx(120)
    label = canvas.axes[0].xaxis.label
    assert (label.get_fontsize(), label.get_fontfamily()) == (11, ["serif"])
    shutil.copy(own, tmp_path)
    assert main(["redraw", str(tmp_path / own.name), "--style", "double"]) == 0
    names = [f"figure_5_6.{ending}" for ending in ("csv", "pdf", "png", "svg")]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert (tmp_path / own.name).read_bytes() == own.read_bytes()


@pytest.mark.parametrize(
    ("id", "given", "words"),
    [
        (
            "5.6",
            {"scenario": {"tight_fraction": 0.5}},
            "the figure itself does not vary",
        ),
        ("slots", {"scenario": {"slots": 6}}, "the figure itself does not vary"),
        (
            "5.2",
            {"seeds": 3},
            "figure 5.2 does not depend on seeds; figures that do: 5.4",
        ),
        (
            "thresholds",
            {"policies": ["fifo"]},
            "Table 5.8 has no choice of them",
        ),
        ("5.6", {"scenario": {"slots": 5}}, "other values"),  # as many as there are
        (
            "stock",
            {"policies": ["edf"]},
            "figure stock does not depend on policies; figures that do: 5.4",
        ),
        ("5.6", {"seeds": 1}, "a whole number >= 2"),
        ("5.6", {"csv": "none.csv"}, "none.csv: No such file"),
        ("5.6", {"csv": "none.csv", "seeds": 3}, "omitted if seeds is given"),
        ("5.6", {"style": {"fnt": 3}}, "unknown setting of style 'fnt'"),
        ("5.6", {"style": {"font.size": "big "}}, "font.size"),
        ("5.6", {"style": "big"}, "unknown style 'big'"),
        ("5.6", {"width": 0}, "a number > 0"),
        ("5.6", {"scenario": {"jbs": 5}}, "did you mean 'jobs'"),
        (
            "5.6",
            {"scenario": ["jobs"]},
            "scenario(=['jobs']) must be values by the names",
        ),
    ],
)
def test_impossible_drawings_are_reported(id, given, words):
    quoted = re.escape(words).replace("'", "'?")  # by Matplotlib from 3.9 on
    check_refused(lambda: cg.thesis.figure(id, **given), quoted)


# ---- Commands ----


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no rows"),
        ("row,column,reproduced\n", "has no rows"),
        # a column is missing
        ("row,reproduced\nfifo,1\n", "must be unchanged since its command wrote it"),
        # a cell too many
        (
            "row,column\nfifo,wait_min,2\n",
            "must be unchanged since its command wrote it",
        ),
    ],
)
@pytest.mark.parametrize("style", ["print", "font.size=9"])
def test_a_damaged_figure_file_gives_a_one_line_error(
    text, told, style, capsys, tmp_path
):
    """An existing picture is not overwritten."""
    (tmp_path / "figure_5_6.csv").write_text(text)
    (tmp_path / "figure_5_6.png").write_text("whole")
    check_bad_input(
        outcome(capsys, "redraw", str(tmp_path / "figure_5_6.csv"), "--style", style),
        [told],
    )
    assert (tmp_path / "figure_5_6.png").read_text() == "whole"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("mine.csv", "whose name begins with figure, waiting"),
        ("figure_9_9.csv", "unknown figure 'figure_9_9'"),
        ("figure_5_6.csv", "No such file"),
    ],
)
def test_a_file_that_cannot_be_redrawn_gives_a_one_line_error(
    file, words, capsys, tmp_path
):
    check_bad_input(outcome(capsys, "redraw", tmp_path / file), [words])
    assert not list(tmp_path.iterdir())


def test_a_pgf_without_latex_is_rejected_before_the_work(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(Subject, "run", None)
    check_bad_input(
        outcome(
            capsys,
            "papers",
            "figures",
            "thesis",
            "5.6",
            "--style",
            "pgf=yes",
            "--out",
            str(tmp_path),
        ),
        ["an installed LaTeX program"],
    )
    assert not list(tmp_path.iterdir())


def command(line, capsys):
    status = main(["papers", *line.split()])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.slow
def test_a_directory_without_tables_is_rejected(capsys, tmp_path):
    run_tables(("5.9",), 2, None, tmp_path / "one")
    status, _, err = command(f"figures thesis 5.9 --from {tmp_path / 'one'}", capsys)
    assert status == 2
    assert "lacks the runs of Table 4.1" in err
