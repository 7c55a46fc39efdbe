"""The figures of HGSP: what is plotted is what `solve` and the rows say, and the files are the
same each time.
"""

import csv
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

import matplotlib.colors
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from support import check_index, check_same_files, outcome

from cgrsp_simpy.analysis.statistics import paired_difference
from cgrsp_simpy.hgsp.generate import LEVELS, generate
from cgrsp_simpy.hgsp.paper.figures import (
    COMPARED,
    FIFTY,
    FIGURES,
    GANTT,
    HIGH,
    LATE,
    ON_TIME,
    PUBLISHED,
    WINDOW_S,
    draw_figures,
)
from cgrsp_simpy.hgsp.scenario import schedule_of, solve
from cgrsp_simpy.model.checks import InputError

SMALL = {"instances": 2, "moves": 2000}
TASKS = {"tasks1": 400, "tasks2": 150, "tasks3": 80, "tasks4": 80}


def rows_of(path):
    return list(csv.DictReader(Path(path).read_text(encoding="utf-8").splitlines()))


def numbers(rows, name):
    return np.array([float(row[name]) for row in rows])


def plotted(folder, id):
    """The rows of a figure as they were before they were written."""
    return [
        {name: number(text) for name, text in row.items() if text}
        for row in rows_of(folder / f"hgsp_{id}.csv")
    ]


def number(text):
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


@cache
def solved(level, name, seed=0):
    return solve(generate(level, seed), name, seed=seed, moves=SMALL["moves"])


def drawn(id, rows):
    """A figure on a canvas, laid out."""
    canvas = Canvas(figsize=(6.3, 5), layout="constrained")
    FigureCanvasAgg(canvas).draw()
    FIGURES[id].draw(canvas, rows)
    canvas.canvas.draw()
    return canvas


@pytest.fixture(scope="module", autouse=True)
def fewer_tasks():
    """Levels of the same load, sooner done."""
    with pytest.MonkeyPatch.context() as patch:
        for level, tasks in TASKS.items():
            patch.setitem(LEVELS, level, replace(LEVELS[level], tasks=tasks))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("figures")
    draw_figures(place, **SMALL)
    return place


@pytest.mark.slow
def test_every_figure_is_drawn_with_an_index(folder):
    check_index(folder, "hgsp", FIGURES)


@pytest.mark.slow
def test_the_index_holds_table_one(folder):
    index = (folder / "README.md").read_text(encoding="utf-8")
    lines = [line for line in index.splitlines() if line.startswith("| tasks")]
    assert len(lines) == len(LEVELS) * len(COMPARED)
    mean = (
        sum(solved("tasks3", "fifo", seed).summary()["weighted_tardiness"] for seed in range(2)) / 2
    )
    assert any(
        line.startswith(f"| tasks3 | fifo | {mean:,.0f} ± ") and "| 4.40 M |" in line
        for line in lines
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("level", "name"),
    [("tasks1", "edd"), ("tasks2", "greedy"), ("tasks3", "sagreedy"), ("tasks3", "search")],
)
def test_table_one_is_the_mean_of_what_solve_gives(folder, level, name):
    (row,) = (
        row
        for row in rows_of(folder / "hgsp_table1.csv")
        if (row["level"], row["scheduler"]) == (level, name)
    )
    found = [solved(level, name, seed).summary() for seed in range(SMALL["instances"])]
    assert (
        (row["gap_pct"] == "")
        == any(np.isnan(each["gap_pct"]) for each in found)
        == (level in ("tasks1", "tasks2"))
    )
    gaps = () if row["gap_pct"] == "" else ("gap_pct",)
    for metric in ("weighted_tardiness", "dmr_pct", "utilisation_pct", "lower_bound", *gaps):
        values = np.array([each[metric] for each in found])
        assert float(row[metric]) == pytest.approx(values.mean())
        student_t = 12.7062  # of two instances, 95 %
        assert float(row[f"{metric}_half_width_95"]) == pytest.approx(
            student_t * values.std(ddof=1) / 2**0.5, rel=1e-4, abs=1e-9
        )


@pytest.mark.slow
def test_the_claim_at_medium_load_is_judged_beside_its_print(folder):
    """By the paired difference from Greedy on the same instances, which decides what is said."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    (line,) = (each for each in text.splitlines() if "SAGreedy is better than Greedy" in each)
    assert "printed are 393 for 503" in line
    pairs = [
        [
            solved("tasks1", name, seed).summary()["weighted_tardiness"]
            for name in ("sagreedy", "greedy")
        ]
        for seed in (0, 1)
    ]
    difference = paired_difference(*zip(*pairs))
    better, worse = difference.high < 0, difference.low >= 0
    verdict = "holds" if better else "fails" if worse else "is not shown"
    assert f"it {verdict} (" in line
    assert f"difference {difference.mean:,.0f} ± {difference.half_width:,.0f} s)" in line


@pytest.mark.slow
def test_the_comparison_is_by_instance(folder):
    (row,) = (
        row
        for row in rows_of(folder / "hgsp_comparison.csv")
        if (row["level"], row["scheduler"]) == ("tasks1", "wspt")
    )
    pairs = [
        [solved("tasks1", name, seed).summary()["weighted_tardiness"] for name in ("wspt", "fifo")]
        for seed in range(2)
    ]
    assert float(row["of_fifo"]) == pytest.approx(np.mean([wspt / fifo for wspt, fifo in pairs]))
    assert {
        float(row["of_fifo"])
        for row in rows_of(folder / "hgsp_comparison.csv")
        if row["scheduler"] == "fifo"
    } == {1.0}


@pytest.mark.slow
def test_bars_are_as_long_as_the_rows_say(folder):
    rows = plotted(folder, "comparison")
    for ax, level in zip(drawn("comparison", rows).axes, LEVELS):
        own = [row for row in rows if row["level"] == level]
        assert [bar.get_width() for bar in ax.patches] == [row["of_fifo"] for row in own]
        (hollow,) = (line for line in ax.lines if line.get_label() == "published")
        printed = [PUBLISHED.get((level, name), (np.nan,)) for name in COMPARED]
        published = [values[0] / PUBLISHED[level, "fifo"][0] for values in printed]
        np.testing.assert_array_equal(hollow.get_xdata(), published)


@pytest.mark.slow
@pytest.mark.parametrize(("id", "level"), [("gantt", FIFTY), ("gantt_window", "tasks1")])
def test_the_gantt_chart_is_the_schedule(folder, id, level):
    rows = rows_of(folder / f"hgsp_{id}.csv")
    for name in GANTT:
        schedule, own = (
            schedule_of(solved(level, name)),
            [row for row in rows if row["scheduler"] == name],
        )
        tasks = numbers(own, "task").astype(int) - 1
        np.testing.assert_array_equal(numbers(own, "start_s"), schedule.start_s[tasks])
        np.testing.assert_array_equal(numbers(own, "finish_s"), schedule.finish_s[tasks])
        np.testing.assert_array_equal(
            numbers(own, "late"), schedule.finish_s[tasks] > schedule.instance.deadline_s[tasks]
        )
        assert [row["gpu"] for row in own] == [
            schedule.instance.gpus[j].name for j in schedule.gpu[tasks]
        ]
        assert {int(row["late_of_all"]) for row in own} == {schedule.metrics["dmc"]}
        assert len(own) == 50 if id == "gantt" else 100 < len(own) < 300


@pytest.mark.slow
def test_the_window_is_the_ten_minutes_in_which_fifo_starts_most_late_tasks(folder):
    schedule = schedule_of(solved("tasks1", "fifo"))
    late_s = schedule.start_s[schedule.tardiness_s > 0]
    most = max(int(((late_s >= begin) & (late_s < begin + WINDOW_S)).sum()) for begin in late_s)
    rows = rows_of(folder / "hgsp_gantt_window.csv")
    assert sum(int(row["late"]) for row in rows if row["scheduler"] == "fifo") == most
    assert numbers(rows, "start_s").max() - numbers(rows, "start_s").min() < WINDOW_S


@pytest.mark.slow
def test_tasks_are_green_if_they_end_in_time_and_red_if_late(folder):
    rows = plotted(folder, "gantt")
    for ax, name in zip(drawn("gantt", rows).axes, GANTT):
        late = sum(row["late"] for row in rows if row["scheduler"] == name)
        colours = [
            matplotlib.colors.to_hex(colour).upper()
            for bars in ax.collections
            for colour in bars.get_facecolor()
        ]
        assert (colours.count(LATE), colours.count(ON_TIME)) == (late, 50 - late)
        assert f"{name}: {late} of 50 late" in ax.get_title(loc="left")


@pytest.mark.slow
def test_busy_shares_are_the_metrics_utilisation_by_model(folder):
    """Three GPUs of three models: the mean over the models is Eq. 12."""
    rows, table = rows_of(folder / "hgsp_utilisation.csv"), rows_of(folder / "hgsp_table1.csv")
    checked = 0
    for row in table:
        own = [
            each
            for each in rows
            if (each["level"], each["scheduler"]) == (row["level"], row["scheduler"])
        ]
        if own:
            assert numbers(own, "busy_pct").mean() == pytest.approx(float(row["utilisation_pct"]))
            checked += 1
    assert checked == 2 * len(COMPARED)


@pytest.mark.slow
def test_the_course_of_a_search_is_the_solutions(folder):
    rows = rows_of(folder / "hgsp_searches.csv")
    fifo = solved(HIGH, "fifo").summary()["weighted_tardiness"]
    for name in ("sagreedy", "search"):
        solution = solved(HIGH, name)
        own = [row for row in rows if (row["search"], row["on"]) == (name, "80 tasks")]
        course = solution.plan.solution.course
        np.testing.assert_array_equal(numbers(own, "move"), [step.iteration for step in course])
        assert float(own[-1]["best_of_fifo"]) == pytest.approx(
            solution.summary()["weighted_tardiness"] / fifo
        )
        assert float(own[-1]["bound_of_fifo"]) == pytest.approx(
            solution.summary()["lower_bound"] / fifo
        )
        assert (np.diff(numbers(own, "best_of_fifo")) <= 0).all()


@pytest.mark.slow
def test_the_same_runs_give_the_same_files_to_the_byte_wherever_they_run(folder, tmp_path):
    with ThreadPoolExecutor(2) as two:
        paths = draw_figures(tmp_path, ("comparison",), **SMALL, executor=two)
    check_same_files(paths, folder)


def test_what_is_not_allowed_is_refused_before_anything_is_written(tmp_path):
    for ids, options, words in (
        (("gantt", "table3"), {}, "unknown figure 'table3'"),
        (("gantt",), {"style": "poster"}, "unknown style 'poster'"),
        (("gantt",), {"moves": 0}, "moves"),
        (("table1",), {"instances": 0}, "instances"),
    ):
        with pytest.raises(InputError, match=words):
            draw_figures(tmp_path, ids, **options)
    assert list(tmp_path.iterdir()) == []


# ---- the command ----


def told(capsys, *words):
    return outcome(capsys, "hgsp", "figures", *words)


def test_a_figure_that_has_moved_is_answered_with_its_command(capsys, tmp_path):
    status, out, err = told(capsys, "--out", str(tmp_path), "--only", "table2")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "cgrsp llm figures --only table2" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "told_words"),
    [
        (["--only", "gantt,22"], ["unknown figure '22'", "gantt_window"]),
        (["--style", "poster"], ["poster", "lecture"]),
        (["--workers", "0"], ["--workers(=0)"]),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, tmp_path, words, told_words):
    status, out, err = told(capsys, "--out", str(tmp_path), *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert all(word in err for word in told_words), err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_folder_that_cannot_be_is_one_line_and_status_2(capsys, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    status, _, err = told(capsys, "--out", str(tmp_path / "file"), "--only", "gantt")
    assert (status, err.count("\n")) == (2, 1)


def test_the_command_names_every_figure(capsys):
    status, _, err = told(capsys, "--only", "none")
    assert status == 2
    assert all(id in err for id in FIGURES)
