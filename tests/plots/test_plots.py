"""Plots draw what the data hold, on the Axes given, and neither save nor show, nor
change a setting.

`PYTHONPATH=tests python tests/plots/test_plots.py` draws the pictures in
tests/plots/baseline again.
"""

import itertools
import math
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.testing.compare import compare_images
from matplotlib.text import Text
from plots.test_lanes import mixed
from studies.function_models import bank
from support import drawn_with, frame_at, refusals

import cgrsp_simpy as cg
from cgrsp_simpy import plots
from cgrsp_simpy.plots import marks, parts
from cgrsp_simpy.plots.labels import spread
from cgrsp_simpy.plots.style import (
    COLUMNS_MM,
    COMPLEXITY,
    LOOKS,
    POLICY,
    STYLE,
    colour_of,
    looks,
)
from cgrsp_simpy.rental.record import METRICS
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.studies.warm_up import WarmUp

# thesis Table 5.2
TEN = [
    "rh",
    "cadr",
    "spt-rescue",
    "adaptive",
    "spt",
    "edf",
    "lcf",
    "balanced",
    "fifo",
    "random",
]
BASELINE = Path(__file__).parent / "baseline"
AT_ONCE = cg.Market(delay_s=((0, 0), (0, 0), (0, 0)))


def new_axes(width=6.3, height=3.9):
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


@pytest.fixture
def ax():
    return new_axes()


def three_jobs():
    """Only the first of three one-minute jobs on one slot meets its deadline."""
    listed = [
        cg.Job(0, 0.0, 100.0),
        cg.Job(1, 0.0, 100.0, complexity=2, tight=True),
        cg.Job(2, 0.0, 100.0, complexity=3),
    ]
    return cg.simulate(
        cg.Scenario("three", cg.JobList(listed), cg.round_robin(1), market=AT_ONCE),
        "fifo",
    )


def broken(view):
    """Fails where more than two jobs wait."""
    if len(view.queue) > 2:
        raise RuntimeError("too many")
    return zip(view.queue, view.idle)


def study_of(values, half=0.5, seeds=30):
    """A study by structure. values: policy -> figure -> mean."""
    means = {
        policy: {
            name: cg.statistics.Mean(value, value - half, value + half, seeds)
            for name, value in row.items()
        }
        for policy, row in values.items()
    }
    return SimpleNamespace(
        metrics=METRICS,
        title="made up",
        policies=list(values),
        seeds=list(range(seeds)),
        means=lambda: means,
    )


MADE_UP = {
    "fifo": {"miss_pct": 22.0, "tardiness_min": 24.0},
    "spt": {"miss_pct": 14.0, "tardiness_min": 14.0},
    "rh": {"miss_pct": 7.0, "tardiness_min": 20.0},
    "cadr": {"miss_pct": 7.5, "tardiness_min": 5.0},
}


def sweep_of(names, values=(3, 5, 7)):
    return [
        (
            {"slots": x},
            study_of(
                {name: {"miss_pct": 40.0 / x + i} for i, name in enumerate(names)}
            ),
        )
        for x in values
    ]


@pytest.fixture(scope="module")
def run():
    return cg.simulate(cg.day("hectic", jobs=60, tight_fraction=1.0), "fifo")


@pytest.fixture(scope="module")
def month():
    return cg.compare(
        cg.month({"quiet": 0.5, "normal": 0.5}, days=6), ["fifo", "rh"], range(2)
    )


# ---- What the marks show ----


def boxes(ax, colour):
    """Left edge, width and slot of the bars of a colour."""
    results = [
        (corners[:, 0].min(), np.ptp(corners[:4, 0]), round(corners[:, 1].mean()))
        for each in ax.collections
        if to_hex(each.get_facecolor()[0] if len(each.get_facecolor()) else "none")
        == colour.lower()
        for corners in (path.vertices[:4] for path in each.get_paths())
    ]
    return sorted(results)


@pytest.mark.parametrize(
    ("colour_by", "told"),
    [
        ("complexity", ["complexity 1", "complexity 2", "complexity 3"]),
        ("class", ["loose deadline", "tight deadline"]),
        ("status", ["High stock"]),
    ],
)
def test_gantt_explains_its_colours(colour_by, told, ax):
    run = three_jobs()
    run.jobs["status"] = 0
    plots.gantt(run, ax=ax, colour_by=colour_by)
    assert [text.get_text() for text in ax.get_legend().texts] == [
        *told,
        "missed its deadline",
    ]


def test_gantt_draws_the_requested_jobs(run, ax):
    plots.gantt(run, ax=ax, jobs=[3, 5])
    assert sorted(text.get_text() for text in ax.texts) == ["J3", "J5"]


def test_gantt_draws_a_complexity_beyond_the_third(ax):
    run = three_jobs()
    run.jobs["complexity"] = (1, 3, 5)
    plots.gantt(run, ax=ax)
    assert len(boxes(ax, COMPLEXITY[-1])) == 2
    assert "complexity 3 and more" in [t.get_text() for t in ax.get_legend().texts]


def test_queue_length_draws_one_line_per_run_in_the_style_of_its_policy(run, ax):
    plots.queue_length([run, cg.simulate(cg.day("normal"), "cadr")], ax=ax)
    assert [line.get_label() for line in ax.lines] == ["fifo", "cadr"]
    assert [line.get_color() for line in ax.lines] == [POLICY["fifo"], POLICY["cadr"]]
    assert ax.lines[0].get_ydata()[-1] == 0
    assert ax.lines[0].get_ydata().max() > 10
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (h)", "waiting jobs")


@pytest.mark.slow
def test_runs_of_one_policy_have_different_labels(ax):
    runs = [
        cg.simulate(cg.day("quiet"), policy, seed)
        for policy, seed in (("fifo", 1), ("fifo", 2), ("rh", 1))
    ]
    plots.queue_length(runs, ax=ax)
    assert [line.get_label() for line in ax.lines] == [
        "fifo, seed 1",
        "fifo, seed 2",
        "rh",
    ]
    assert len({line.get_color() for line in ax.lines}) == 3


@pytest.mark.slow
def test_wait_histogram_holds_all_jobs_in_shared_bins(run, ax):
    other = cg.simulate(cg.day("hectic", jobs=45), "spt")
    plots.wait_histogram([run, other], ax=ax)
    for each, line in zip((run, other), ax.lines[::2], strict=True):
        edges, shares = line.get_xdata()[::2], line.get_ydata()[1:-1:2]
        assert shares.sum() == pytest.approx(100)
        waits = (each.jobs["start_s"] - each.jobs["submit_s"]) / 60
        assert np.allclose(100 * np.histogram(waits, edges)[0] / len(waits), shares)
        assert (
            f"mean {waits.mean():.2f} min" in line.get_label()
            or f"mean {waits.mean():.1f} min" in line.get_label()
        )
    assert ax.lines[1].get_xdata()[0] == pytest.approx(run.summary()["wait_min"])
    assert np.array_equal(ax.lines[0].get_xdata(), ax.lines[2].get_xdata())


@pytest.mark.parametrize(
    ("longest_min", "width", "bins"),
    [(0, 1, 1), (0.5, 0.02, 26), (40, 1, 41), (80, 2, 41), (82, 5, 17), (240, 10, 25)],
)
def test_a_job_that_never_started_has_no_wait_in_the_histogram(
    longest_min, width, bins, ax
):
    run = three_jobs()
    run.jobs["start_s"] = run.jobs["submit_s"] + [0, 60 * longest_min, np.nan]
    plots.wait_histogram(run, ax=ax)
    line, mean_min = ax.lines
    ends = [50.0, 50.0, *[0.0] * (2 * bins - 4), 50.0, 50.0]
    assert list(line.get_ydata()) == [0, *(ends if longest_min else [100.0] * 2), 0]
    assert line.get_xdata()[-1] == pytest.approx(width * bins)
    assert ax.get_ylabel() == f"jobs (%) in each {width} min"
    assert mean_min.get_xdata()[0] == pytest.approx(longest_min / 2)


def paired_study():
    """Of three policies on four seeds, with noise that the seeds share."""
    shared = np.array([0.0, 10.0, 20.0, 30.0])
    values = {
        "fifo": 50 + shared,
        "rh": 45 + shared + [0, 1, 0, 1],
        "cadr": 55 + shared,
    }
    differences = {
        name: {"miss_pct": cg.statistics.paired_difference(row, values["fifo"])}
        for name, row in values.items()
    }
    means = {
        name: {"miss_pct": cg.statistics.mean(row)} for name, row in values.items()
    }
    del differences["fifo"]
    return SimpleNamespace(
        metrics=METRICS,
        title="made up",
        policies=list(values),
        seeds=range(4),
        means=lambda: means,
        differences=lambda: differences,
    )


def test_policy_bars_of_differences_have_the_intervals_of_the_differences():
    """Shared noise of 13 points makes the means' intervals overlap; the differences' do
    not.
    """
    study = paired_study()
    ax = plots.policy_bars(study, "miss_pct", differences=True)
    assert ax.figure.get_size_inches() == pytest.approx((6.3, 1.89))
    assert [bar.get_width() for bar in ax.patches] == [-4.5, 5.0]
    assert [to_hex(bar.get_facecolor()) for bar in ax.patches] == [
        POLICY[name].lower() for name in ("rh", "cadr")
    ]
    (segments,) = [each.get_segments() for each in ax.collections]
    # Student's t of four pairs, 95 %
    half = 3.182446 * np.std([-5, -4, -5, -4], ddof=1) / 2
    assert segments[0][:, 0] == pytest.approx([-4.5 - half, -4.5 + half], abs=1e-5)
    assert study.means()["rh"]["miss_pct"].half_width > 15
    assert ax.get_xlabel() == "missed deadlines (%): difference from fifo"
    assert "paired by seed" in ax.get_title(loc="left")
    ax.figure.canvas.draw()
    shown = [text.get_window_extent().x1 for text in ax.texts if text.get_text()]
    assert len(shown) == 2 and max(shown) <= ax.get_window_extent().x1 + 2


def two_parameters():
    return [
        (
            {"slots": slots, "clock": clock},
            study_of({"fifo": {"miss_pct": slots + len(clock)}}),
        )
        for slots in (3, 5)
        for clock in ("printed", "calibrated")
    ]


def test_a_sweep_over_several_parameters_has_a_line_per_other_value(ax):
    plots.sweep_lines(two_parameters(), "miss_pct", ax=ax, over="slots")
    lines = {
        line.get_label(): (list(line.get_ydata()), line.get_linestyle())
        for line in ax.lines
        if not line.get_label().startswith("_")
    }
    assert {label: y for label, (y, _) in lines.items()} == {
        "fifo, clock printed": [10, 12],
        "fifo, clock calibrated": [13, 15],
    }
    assert len({style for _, style in lines.values()}) == 2


def test_the_line_of_a_sweep_goes_through_its_points_in_ascending_order(ax):
    plots.sweep_lines(sweep_of(["fifo"], (7, 3, 5)), "miss_pct", ax=ax)
    assert list(ax.lines[0].get_xdata()) == [3, 5, 7]
    assert list(ax.lines[0].get_ydata()) == [40 / 3, 8, 40 / 7]


def test_a_sweep_over_names_has_one_tick_per_name(ax):
    points = [
        ({"name": day}, study_of({"fifo": {"miss_pct": 1.0}}))
        for day in ("quiet", "hectic")
    ]
    plots.sweep_lines(points, "miss_pct", ax=ax)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["quiet", "hectic"]
    assert ax.get_xlabel() == "day"


def test_pareto_draws_the_front_of_undominated_policies(ax):
    plots.pareto(study_of(MADE_UP), ax=ax)
    *points, front = ax.lines
    assert [(*line.get_xdata(), *line.get_ydata()) for line in points] == [
        tuple(row.values()) for row in MADE_UP.values()
    ]
    corners = list(zip(*front.get_data()))
    # rh, and cadr; spt is beaten by cadr, fifo by all
    assert corners[1:4] == [(7.0, 20.0), (7.5, 20.0), (7.5, 5.0)]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("replication", [0, 1])
def test_daily_draws_the_days_of_one_month_and_their_kinds(replication, month, ax):
    runs = [month.run(policy, replication) for policy in ("fifo", "rh")]
    plots.daily(runs, "wait_min", ax=ax)
    for run in runs:
        (line,) = [line for line in ax.lines if line.get_label() == run.policy]
        assert list(line.get_xdata()) == [row["day"] for row in run.rows()]
        assert list(line.get_ydata()) == [row["wait_min"] for row in run.rows()]
    kinds = {row["kind"] for row in runs[0].rows()}
    assert {text.get_text() for text in ax.get_legend().texts} == kinds
    assert len(ax.patches) == 6


# ---- Common rules of all functions ----

DRAW = {
    "gantt": lambda **more: plots.gantt(three_jobs(), **more),
    "policy_bars": lambda **more: plots.policy_bars(
        study_of(MADE_UP), "miss_pct", **more
    ),
    "queue_length": lambda **more: plots.queue_length(three_jobs(), **more),
    "slot_timeline": lambda **more: plots.slot_timeline(three_jobs(), **more),
    "wait_histogram": lambda **more: plots.wait_histogram(three_jobs(), **more),
    "sweep_lines": lambda **more: plots.sweep_lines(sweep_of(TEN), "miss_pct", **more),
    "pareto": lambda **more: plots.pareto(study_of(MADE_UP), **more),
    "daily": lambda **more: plots.daily(MONTH, "miss_pct", **more),
    "monitor": lambda **more: plots.monitor(cg.simulate(bank, seed=1), "desk", **more),
    "welch": lambda **more: plots.welch(
        WarmUp(9.0, "desk queue", 2, np.arange(1.0, 41.0), np.arange(40.0) % 2), **more
    ),
}
MONTH = [
    SimpleNamespace(
        policy=policy,
        seed=7,
        day=None,
        scenario=SimpleNamespace(report=SimpleNamespace(metrics={})),
        rows=lambda: [
            {
                "day": day,
                "kind": ("quiet", "hectic", "mine")[day % 3],
                "seed": day,
                "miss_pct": 3.0 * day,
            }
            for day in range(1, 8)
        ],
    )
    for policy in ("fifo", "my_rules.py:youngest_first")
]
every_function = pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)


def test_every_function_is_among_them():
    drawing = {name for name in plots.__all__ if callable(getattr(plots, name))}
    assert {*DRAW, "animate", "styled"} == drawing


@pytest.mark.quick_cases(3)
@every_function
def test_draws_on_the_axes_given_with_style_keywords(draw, ax):
    assert draw(ax=ax, alpha=0.25) is ax
    assert ax.has_data()
    assert 0.25 in {
        artist.get_alpha() for artist in (*ax.lines, *ax.patches, *ax.collections)
    }


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("name", DRAW)
def test_without_axes_draws_on_a_figure_that_pyplot_does_not_know(name):
    drawn = DRAW[name]()
    assert plt.get_fignums() == []
    assert drawn.figure.get_size_inches() == pytest.approx(
        (6.3, 2.52 if name == "policy_bars" else 3.9)
    )


@pytest.mark.slow
@every_function
@pytest.mark.parametrize("style", STYLE)
def test_changes_no_setting(draw, style):
    before = dict(matplotlib.rcParams)
    with plots.styled(style):
        draw().figure.canvas.draw()
    draw().figure.canvas.draw()
    assert dict(matplotlib.rcParams) == before


@pytest.mark.slow
@every_function
@pytest.mark.parametrize("style", STYLE)
def test_texts_are_not_cut_off_too_small_or_overlapping(draw, style):
    with plots.styled(style):
        figure = draw().figure
        figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    shown = [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text.axes is not None
    ]
    assert min(text.get_fontsize() for text in shown) >= (
        6.5 if style in COLUMNS_MM else 7
    )
    extents = {
        text: Text.get_window_extent(text, renderer) for text in shown if in_view(text)
    }
    for text, box in extents.items():
        assert (
            box.x0 >= -1
            and box.y0 >= -1
            and box.x1 <= figure.bbox.x1 + 1
            and box.y1 <= figure.bbox.y1 + 1
        ), text
    for (one, first), (other, second) in itertools.combinations(extents.items(), 2):
        assert not first.padded(-1).overlaps(second.padded(-1)), (one, other)


def in_view(text):
    """Return whether a text is not a tick beyond the limits of its axis."""
    for axis, limits, at in (
        (text.axes.xaxis, text.axes.get_xlim(), 0),
        (text.axes.yaxis, text.axes.get_ylim(), 1),
    ):
        ticks = [
            label
            for tick in axis.get_major_ticks()
            for label in (tick.label1, tick.label2)
        ]
        if text in ticks:
            return min(limits) <= text.get_position()[at] <= max(limits)
    return True


def test_style_keywords_have_their_short_names_as_well(ax):
    plots.queue_length(three_jobs(), ax=ax, lw=7, c="red")
    plots.gantt(three_jobs(), ax=ax, lw=7)
    assert ax.lines[0].get_linewidth() == 7
    assert ax.lines[0].get_color() == "red"
    assert ax.collections[0].get_linewidth() == [7]


@pytest.mark.slow
def test_draws_and_saves_without_a_display(tmp_path):
    code = """
import cgrsp_simpy as cg
import sys
cg.plots.gantt(cg.simulate(cg.day("quiet"), "fifo")).figure.savefig("gantt.png")
print("matplotlib.pyplot" in sys.modules)
"""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MPLBACKEND", "DISPLAY", "WAYLAND_DISPLAY")
    }
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == "False\n"
    assert (tmp_path / "gantt.png").stat().st_size > 5000


test_wrong_arguments_are_rejected = refusals(
    (
        lambda: plots.policy_bars(study_of(MADE_UP), "mis_pct"),
        "unknown metric 'mis_pct'; did you mean 'miss_pct'?",
    ),
    (
        lambda: plots.policy_bars(
            study_of({"fifo": {"miss_pct": 1.0}}), "miss_pct", differences=True
        ),
        "at least two",
    ),
    (
        lambda: plots.policy_bars(
            SimpleNamespace(
                **vars(paired_study())
                | {"policies": ["fifo", "rh"], "differences": lambda: {"rh": {}}}
            ),
            "miss_pct",
            differences=True,
        ),
        "unknown metric 'miss_pct'",
    ),
    (lambda: plots.gantt(three_jobs(), jobs=[99]), "jobs(=99) must be ids of the"),
    (
        lambda: plots.gantt(cg.simulate(cg.dag.Scenario("er:n=9")), colour_by="jobs"),
        "unknown colour_by 'jobs'; did you mean 'job'?",
    ),
    (
        lambda: plots.sweep_lines(two_parameters(), "miss_pct"),
        "over(=None) must be one of the parameters that vary: slots, clock",
    ),
    (lambda: plots.pareto(study_of(MADE_UP), x="wait"), "unknown metric 'wait'"),
    (
        lambda: plots.sweep_lines(sweep_of(["fifo"]), "wait"),
        "unknown metric 'wait'",
    ),
    (
        lambda: plots.sweep_lines(sweep_of(["fifo"]), "miss_pct", over="slot"),
        "unknown parameter 'slot'; did you mean 'slots'",
    ),
    (
        lambda: plots.sweep_lines([({}, study_of(MADE_UP))], "miss_pct"),
        "sweep(=[]) must be a sweep over at least one parameter",
    ),
    (
        lambda: plots.sweep_lines([], "miss_pct"),
        "sweep(=[]) must be a sweep over at least one",
    ),
    (
        lambda: plots.sweep_lines(three_jobs(), "miss_pct"),
        "must be a sweep, such as cg.sweep",
    ),
    (lambda: plots.daily(study_of(MADE_UP)), "must be runs of a month, such as"),
    (lambda: plots.daily(MONTH, "kind"), "unknown metric 'kind'"),
    (lambda: plots.daily([*MONTH, MONTH[0]]), "each with a different policy"),
    (
        lambda: plots.gantt(three_jobs(), colour_by="colour"),
        "unknown colour_by 'colour'",
    ),
    (
        lambda: plots.gantt(three_jobs(), jobs=1),
        "jobs(=1) must be ids of the run's 3 jobs",
    ),
    (lambda: plots.queue_length([]), "runs(=[]) must be at least one run"),
    (lambda: plots.wait_histogram([]), "runs(=[]) must be at least one run"),
    *(
        (
            partial(draw, study_of(MADE_UP)),
            "must be a run, such as study.run(policy, seed)",
        )
        for draw in (
            plots.gantt,
            partial(plots.gantt, colour_by="class"),
            plots.queue_length,
            plots.slot_timeline,
            plots.wait_histogram,
            plots.animate,
        )
    ),
    *(
        (
            lambda draw=draw: draw(three_jobs(), "miss_pct"),
            "must be a study, such as",
        )
        for draw in (plots.pareto, plots.policy_bars)
    ),
    (lambda: plots.styled("poster"), "unknown style 'poster'"),
    (
        lambda: plots.styled(9),
        "style(=9) must be a name or a mapping of matplotlib settings",
    ),
)


# ---- Rare data that must be drawn as well ----


def drawn(ax):
    """Draw it with warnings as errors; return the visible texts."""
    ax.figure.canvas.draw()
    return [text.get_text() for text in ax.texts if text.get_visible()]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    "draw", [plots.gantt, plots.queue_length, plots.slot_timeline, plots.wait_histogram]
)
def test_a_run_of_zero_or_one_job(draw):
    texts = drawn(draw(subject_of(cg.day("quiet")).run("fifo", drawn=[])))
    assert "no jobs" in texts
    assert "fifo" in texts or draw is not plots.queue_length
    one = cg.JobList([cg.Job(0, 0.0, 0.0)])  # and it misses its deadline
    drawn(draw(cg.simulate(cg.Scenario("one", one, market=AT_ONCE), "fifo")))


@pytest.mark.slow
def test_two_thousand_jobs_in_a_gantt_have_no_edges_and_no_numbers():
    ax = plots.gantt(cg.simulate(cg.day("hectic", jobs=2000), "fifo"))
    assert drawn(ax) == []
    assert {each.get_linewidth()[0] for each in ax.collections[:-1]} == {0}


@pytest.mark.slow
def test_numbers_of_jobs_are_shown_if_they_fit(ax):
    run = cg.simulate(cg.day("quiet", jobs=50), "fifo")
    assert drawn(plots.gantt(three_jobs())) == ["J0", "J1", "J2"]
    assert drawn(plots.gantt(run, ax=ax)) == []  # 50 jobs of a minute over a day


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.0, 100.0])
def test_no_misses_and_all_jobs_missed(value):
    both = {
        name: {"miss_pct": value, "tardiness_min": value} for name in ("fifo", "rh")
    }
    ax = plots.policy_bars(study_of(both, half=0.0), "miss_pct")
    assert drawn(ax) == ["0" if value == 0 else "100"] * 2
    assert ax.get_xlim()[1] > value
    for ax in (
        plots.pareto(study_of(both, half=0.0)),
        plots.sweep_lines([({"slots": 3}, study_of(both))], "miss_pct"),
    ):
        assert sorted(drawn(ax)) == ["fifo", "rh"]


@pytest.mark.slow
def test_one_seed_has_no_intervals():
    study = cg.compare(cg.day("quiet"), ["fifo", "rh"], [0])
    for ax in (
        plots.policy_bars(study, "wait_min"),
        plots.pareto(study, "wait_min", "cost_usd"),
    ):
        drawn(ax)
        title = ax.get_title(loc="left") or ax.get_legend().get_title().get_text()
        assert title == "quiet: 1 seed"


@pytest.mark.slow
def test_failed_runs_leave_gaps():
    study = cg.compare(cg.day("hectic", jobs=40), ["fifo", broken], range(2))
    assert len(study.failures) == 2
    assert "no value" in drawn(plots.policy_bars(study, "wait_min"))
    assert drawn(plots.pareto(study)) == ["fifo"]
    sweep = cg.sweep(
        cg.day, {"name": ["quiet", "hectic"], "jobs": 20}, ["fifo", broken], range(2)
    )
    ax = plots.sweep_lines(sweep, "wait_min")
    assert sorted(drawn(ax)) == ["broken", "fifo"]


# ---- Labels ----


def test_labels_move_as_little_as_possible():
    wanted = np.array([5.0, 1.0, 9.0])
    assert np.array_equal(spread(wanted, 1.0, 0.0, 10.0), wanted)
    # of equals the first is the highest
    assert np.allclose(spread(np.array([4.0, 4.0]), 1.0, 0.0, 10.0), [4.5, 3.5])


@pytest.mark.parametrize("seed", range(5))
def test_labels_are_spread_apart_and_keep_their_order(seed):
    rng = np.random.default_rng(seed)
    wanted = rng.choice([0.0, 0.3, 4.0, 9.9, 10.0], size=7)
    placed = spread(wanted, 1.0, 0.0, 10.0)
    order = np.argsort(placed)
    assert np.diff(placed[order]).min() >= 1.0 - 1e-9
    assert np.all(np.diff(wanted[order]) >= 0)
    assert ((placed >= -1e-9) & (placed <= 10.0 + 1e-9)).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("share", [1.0, 0.02])
def test_names_of_points_do_not_overlap(seed, share, ax):
    """Points all over the Axes; and all but two in one place."""
    x, y = 0.5 + share * (np.random.default_rng(seed).random((2, 11)) - 0.5)
    x[:2] = y[:2] = 0, 1
    none = np.full(11, np.nan)
    marks.points(ax, list(cg.POLICIES), (x, none), (y, none))
    drawn(ax)
    extents = [Text.get_window_extent(text) for text in ax.texts]
    assert len(extents) == 11
    assert not any(
        one.overlaps(other) for one, other in itertools.combinations(extents, 2)
    )
    assert all(
        ax.bbox.x0 <= box.x0
        and box.x1 <= ax.bbox.x1
        and ax.bbox.y0 <= box.y0
        and box.y1 <= ax.bbox.y1
        for box in extents
    )


@pytest.mark.slow
def test_a_title_is_no_wider_than_a_narrow_panel():
    ax = plots.pareto(study_of(MADE_UP), ax=new_axes(2.6, 2.2))
    drawn(ax)
    assert "\n" in ax.get_legend().get_title().get_text()
    assert ax.get_legend().get_title().get_window_extent().x1 <= ax.figure.bbox.x1


@pytest.mark.slow
@pytest.mark.parametrize(("height", "shown"), [(8.0, 30), (1.5, 0)])
def test_value_labels_are_omitted_if_rows_are_lower_than_text(height, shown):
    ax = new_axes(3.0, height)
    marks.bars(ax, list(map(str, range(30))), range(30), [1.0] * 30)
    assert len(drawn(ax)) == shown


def test_panels_have_letters_before_their_titles_or_the_titles_of_their_legends():
    figure = Figure()
    one, two, three = figure.subplots(1, 3)
    parts.titled(one, "one", xlabel="a label")
    marks.legend_above(two, [Patch()], "two")
    parts.letters(figure)
    titles = [ax.get_title(loc="left") for ax in (one, three)]
    assert [*titles, one.get_xlabel()] == ["(a) one", "(c)", "a label"]
    assert two.get_legend().get_title().get_text() == "(b) two"


# ---- Looks ----


def test_a_policy_keeps_its_look_with_parameters_and_one_of_the_user_s_has_no_colour():
    assert list(POLICY) == list(cg.POLICIES)
    assert colour_of("rh:reserve=2") == colour_of("rh")
    assert looks(["rh:reserve=2"]) == [LOOKS["rh"]]
    assert colour_of("mine") is None


def test_policies_of_one_name_in_one_figure_differ():
    result = looks(
        [
            "rh",
            "rh:reserve=2",
            "rh:reserve=3",
            "fifo",
            "fifo:x=1",
            "mine.py:one",
            "mine.py:two",
            "three",
        ]
    )
    assert result[0].colour == POLICY["rh"]
    assert len({look.colour for look in result}) == len(result)
    assert len({look.line for look in result[:3]}) == 3


# ---- Pictures ----

RNG = np.random.default_rng(3)
OURS = RNG.random((2, 9)).round(2)
THEIRS = (OURS + RNG.normal(0, 0.1, (2, 9))).round(2)
PICTURES = DRAW | {
    "bars": lambda ax: marks.bars(
        ax,
        [*MADE_UP],
        [row["miss_pct"] for row in MADE_UP.values()],
        [0.5] * 4,
        [23.0, np.nan, np.nan, 7.9],
    )[0],
    "bars_with_long_intervals": lambda ax: marks.bars(
        ax, ["fifo", "spt", "mine", "atc"], [3.0, -2.0, math.inf, 0.004], [4, 1, 1, 0]
    )[0],
    "daily_of_one_run": lambda ax: plots.daily(MONTH[0], ax=ax),
    "differences": lambda ax: plots.policy_bars(
        paired_study(), "miss_pct", ax, differences=True
    ),
    "frame": lambda ax: frame_at(mixed(), 20)[0],
    "lines_over_names": lambda ax: marks.lines(
        ax,
        ["one", "two"],
        {"fifo": ([1.0, 3.0], [0.5, np.nan]), "mine": ([2.0, 2.5], [0.2, 4.0])},
        {"mine": (2.5, 2.0)},
    )[0],
    "many_points": lambda ax: marks.points(
        ax,
        list(cg.POLICIES)[:9],
        (OURS[0], [0.05] * 9),
        (OURS[1], [0.05] * 9),
        tuple(THEIRS),
        front=(True, False),
    )[0],
    "phases": lambda ax: plots.slot_timeline(mixed(), ax=ax),
    "published": lambda ax: (
        marks.legend_above(
            ax, [marks.published(TEN), Patch(label="a patch")], "a title, " * 9
        )
        or ax
    ),
    "queues": lambda ax: plots.queue_length([three_jobs(), mixed()], ax=ax),
    "shared": lambda ax: plots.gantt(mixed(), ax=ax),
    "tradeoff": lambda ax: plots.pareto(
        study_of(
            {
                "fifo": {"utilisation_pct": 50.0, "mine": 3.0},
                "spt": {"utilisation_pct": 60.0, "mine": 4.0},
                "mine": {"utilisation_pct": 55.0, "mine": 4.0},
            }
        ),
        "utilisation_pct",
        "mine",
        ax,
    ),
    "waits": lambda ax: plots.wait_histogram(
        [three_jobs(), cg.simulate(bank, seed=1)], ax=ax
    ),
    "sweep_over_two": lambda ax: plots.sweep_lines(
        two_parameters(), "miss_pct", ax=ax, over="slots"
    ),
}


def save(name, path):
    with plots.styled("print"):
        PICTURES[name](ax=new_axes(4.2, 2.6)).figure.savefig(path, dpi=60)


@pytest.mark.parametrize("name", PICTURES)
def test_picture_is_unchanged(name, tmp_path):
    version, same = drawn_with(BASELINE / f"{name}.png")
    if not same:
        pytest.skip(f"drawn with matplotlib {version}, whose letters differ a little")
    save(name, tmp_path / f"{name}.png")
    assert (
        compare_images(
            str(BASELINE / f"{name}.png"), str(tmp_path / f"{name}.png"), tol=1
        )
        is None
    )


def test_an_infinite_value_has_its_sign_in_place_of_a_bar(ax):
    """The mean wait of a scheduler that cannot keep up."""
    bars = marks.bars(ax, ["fifo", "easy"], [math.inf, 5.0], [math.nan, 1.0])
    assert [bar.get_width() for bar in bars] == [0, 5]
    assert drawn(ax) == [r"$\infty$", "5.00"]


if __name__ == "__main__":
    BASELINE.mkdir(exist_ok=True)
    for each in PICTURES:
        save(each, BASELINE / f"{each}.png")
