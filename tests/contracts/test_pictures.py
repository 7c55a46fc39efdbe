"""Pictures are correct: values at their own marks, whole intervals, visible fronts, and
legends of what is drawn.
"""

import itertools
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib import rcParams
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

import cgrsp_simpy as cg
from cgrsp_simpy import plots
from cgrsp_simpy.papers.dag import figures as dag
from cgrsp_simpy.papers.thesis import example_figures as data
from cgrsp_simpy.papers.thesis.figures import FIGURES

PICTURES = Path(__file__).parents[2] / "figures"


def canvas_of(width, height):
    canvas = Figure(figsize=(width, height), layout="constrained", dpi=200)
    FigureCanvasAgg(canvas)
    return canvas


@cache
def thesis(id):
    """Return a figure of the thesis in its size, from the committed rows."""
    return redrawn(FIGURES[id], PICTURES)


def rows_of(figure, folder):
    """The committed rows of a figure."""
    return figure.read((folder / f"{figure.stem}.csv").read_text(encoding="utf-8"))


def redrawn(figure, folder):
    with plots.styled("print"):
        canvas = figure.redraw(folder / f"{figure.stem}.csv")
        canvas.set_dpi(200)
        canvas.canvas.draw()
    return canvas


# ---- Values ----


def marks_of(ax):
    """Boxes in pixels of each bar with its interval, and of each published mark; the
    latter may be none.
    """
    bars = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    segments = [
        segment
        for each in ax.collections
        for segment in each.get_segments()
        if len(segment)
    ]
    ours = []
    for bar in bars:
        box = bar.get_window_extent()
        own = [
            ax.transData.transform(line)
            for line in segments
            if np.allclose(line[:, 1], bar.get_y() + bar.get_height() / 2)
        ]
        ours.append(
            Bbox.union(
                [
                    box,
                    *(
                        Bbox([[line[0, 0], box.y0], [line[-1, 0], box.y1]])
                        for line in own
                    ),
                ]
            )
        )
    radius = rcParams["lines.markersize"] / 2**0.5 / 72 * ax.figure.dpi
    hollow = [line for line in ax.lines if line.get_label() == "published"]
    centres = [
        ax.transData.transform(place)
        for line in hollow
        for place in line.get_xydata()
        if np.isfinite(place).all()
    ]
    return ours, [Bbox([centre - radius, centre + radius]) for centre in centres]


def distance(box, point):
    away = np.maximum(
        0,
        np.maximum(
            np.array([box.x0, box.y0]) - point, point - np.array([box.x1, box.y1])
        ),
    )
    return float(np.hypot(*away))


def check_values(ax):
    """Every value begins nearer to its own mark than to any other, level with it, and
    lies on nothing; how many are shown.
    """
    ours, published = marks_of(ax)
    texts = [
        text for text in ax.texts if isinstance(text, Annotation) and text.get_visible()
    ]
    assert len(texts) in (0, len(ours) + len(published))
    everything = [*ours, *published]
    extents = [text.get_window_extent() for text in texts]
    for text, box, own in zip(texts, extents, everything):
        begin = np.array([box.x0, (box.y0 + box.y1) / 2])
        assert min(everything, key=lambda mark: distance(mark, begin)) is own, text
        assert distance(own, begin) < 4 / 72 * ax.figure.dpi, text
        assert begin[1] == pytest.approx((own.y0 + own.y1) / 2, abs=2)
        assert not any(box.overlaps(mark) for mark in everything), text
        assert box.x1 <= ax.get_window_extent().x1 + 2, text
    assert not any(
        one.overlaps(other) for one, other in itertools.combinations(extents, 2)
    )
    return len(texts)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_each_value_label_is_at_its_own_mark(seed):
    rng = np.random.default_rng(seed)
    number, scale = int(rng.integers(2, 11)), 10.0 ** rng.integers(-1, 4)
    ours = scale * rng.random(number)
    published = ours * rng.uniform(0.5, 1.6, number)
    published[rng.random(number) < 0.2] = np.nan
    with plots.styled("print"):
        _, ax, _ = canvas_of(6.3, 0.8 + 0.3 * number).subplots(1, 3)
        cg.plots.marks.bars(
            ax,
            list(cg.POLICIES)[:number],
            ours,
            scale * rng.random(number) * 0.4,
            published,
        )
        ax.figure.canvas.draw()
        assert check_values(ax) == number + np.isfinite(published).sum()


def test_a_published_value_has_no_more_digits_than_are_printed():
    ax = canvas_of(6.3, 2).add_subplot()
    cg.plots.marks.bars(
        ax, ["fifo", "spt", "edf"], [5.0, 6.0, 7.0], [0.5] * 3, [5.2, 0.0025, 107.125]
    )
    assert [text.get_text() for text in ax.texts] == [
        "5.00",
        "6.00",
        "7.00",
        "5.2",
        "0.0025",
        "107",
    ]


# ---- Intervals ----


def pixels(canvas):
    """Colours by row from below, column."""
    canvas.canvas.draw()
    return np.asarray(canvas.canvas.buffer_rgba())[::-1, :, :3].astype(int)


def coloured(image, colour, within=40):
    return np.abs(image - 255 * np.array(to_rgb(colour))).sum(axis=-1) < within


def height_at(ax, image, x_px, place, colour):
    """The number of pixels of a colour in a column, around a place on the y axis."""
    _, y_px = ax.transData.transform((1, place))
    return int(coloured(image[round(y_px) - 20 : round(y_px) + 21, x_px], colour).sum())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_an_interval_that_reaches_zero_goes_on_to_the_edge_of_a_logarithmic_axis(seed):
    rng = np.random.default_rng(seed)
    values = 10.0 ** rng.uniform(1, 3, 4)
    halves = values * np.array([0.5, 1.0, 1.7, 3.0])
    with plots.styled("print"):
        ax = canvas_of(4, 2).add_subplot()
        cg.plots.marks.intervals(ax, values, [0, 1, 2, 3], x_half=halves, colour="blue")
        ax.set(xscale="log", xlim=(1, 1e4), ylim=(-1, 4))
        image = pixels(ax.figure)
    edge = round(ax.get_window_extent().x0)
    line_px = 0.8 * 1.2 / 72 * 200
    for place, value, half in zip(range(4), values, halves):
        beside = height_at(ax, image, edge + 8, place, "blue")
        # the arrowhead is higher than the line
        assert (beside > 2 * line_px) == (half >= value), (value, half)
        if half >= value:
            middle = round(ax.transData.transform((1, place))[1])
            columns = slice(edge + 4, round(ax.transData.transform((value, place))[0]))
            # and the line is whole
            assert (
                coloured(image[middle - 3 : middle + 4, columns], "blue")
                .any(axis=0)
                .all()
            )


def test_an_interval_ends_in_an_arrowhead_at_each_edge_that_it_leaves():
    with plots.styled("print"):
        ax = canvas_of(4, 2).add_subplot()
        cg.plots.marks.intervals(
            ax, [5.0], [5.0], x_half=[9.0], y_half=[9.0], colour="blue"
        )
        ax.set(xlim=(10, 0), ylim=(0, 10))
        image = coloured(pixels(ax.figure), "blue")
    box = ax.get_window_extent()
    middle_x, middle_y = round((box.x0 + box.x1) / 2), round((box.y0 + box.y1) / 2)
    for column in (round(box.x0) + 8, round(box.x1) - 8):
        assert image[middle_y - 20 : middle_y + 21, column].sum() > 6
    for row in (round(box.y0) + 8, round(box.y1) - 8):
        assert image[row, middle_x - 20 : middle_x + 21].sum() > 6


def test_a_value_near_0_is_written_next_to_the_arrowhead_at_0():
    with plots.styled("print"):
        ax = canvas_of(4, 1.5).add_subplot()
        cg.plots.marks.bars(ax, ["fifo", "search"], [1.0, 0.001], [0.1, 0.01])
        ax.set_xlim(left=0)
        (text,) = (text for text in ax.texts if text.get_text() == "0.00")
        text.set_alpha(0)
        image = coloured(pixels(ax.figure), "0.2", within=60)
    left, y = ax.transData.transform((0, 1)).round().astype(int)
    head = np.flatnonzero(image[y - 5 : y + 6, left + 2 : left + 60].any(axis=0))
    assert text.get_window_extent().x0 - (left + 2 + head.max()) > 2 * 200 / 72


def test_the_line_of_an_interval_on_a_bar_is_whole():
    value, half = 10.0, 3.0
    with plots.styled("print"):
        ax = canvas_of(3, 1.5).add_subplot()
        cg.plots.marks.bars(ax, ["balanced"], [value], [half])
        image = pixels(ax.figure)
    (left, y), (right, _) = ax.transData.transform(
        [(value - half, 0), (value + half, 0)]
    )
    dark = coloured(
        image[round(y) - 1 : round(y) + 2, round(left) : round(right)],
        "0.2",
        within=120,
    )
    assert dark.any(axis=0).all()


# ---- Fronts and legends ----


def test_the_front_is_visible_below_an_interval():
    with plots.styled("print"):
        ax = canvas_of(4, 3).add_subplot()
        cg.plots.marks.points(
            ax,
            ["rh", "cadr"],
            ([5, 7], [1, 1]),
            ([20.0, 5.0], [4.0, 2.0]),
            front=(True, True),
        )
        image = pixels(ax.figure)
    # above the first point, on its interval and on the front
    x, y = ax.transData.transform((5, 22))
    around = image[round(y), round(x) - 8 : round(x) + 9]
    assert coloured(around, cg.plots.marks.FRONT["color"]).sum() >= 6
    assert coloured(around, plots.style.POLICY["rh"]).any()


def test_a_legend_names_only_the_complexities_in_the_data():
    canvas = thesis("3.2")
    there = sorted({row["complexity"] for row in data.three_jobs.rows(None)})
    assert [text.get_text() for text in canvas.legends[0].texts] == [
        f"complexity {level}" for level in there
    ]


# ---- Content of figures ----


@pytest.fixture(scope="module")
def decision():
    return data.decision.rows(None)


def test_the_decision_equals_that_of_the_caption(decision):
    """Thesis Figure 3.1: j1 is tight and goes to the fastest idle slot; j2 and j3 are
    loose and go to the cheapest.
    """
    jobs, slots = (
        [row for row in decision if row["what"] == what] for what in ("job", "slot")
    )
    assert [job["state"] for job in jobs] == ["tight", "loose", "loose"]
    idle = {slot["id"]: slot for slot in slots if slot["state"] != "busy"}
    assert 3 <= len(idle) < len(slots)
    first, *others = (idle[job["slot"]] for job in jobs)
    assert first["first_s"] == min(slot["first_s"] for slot in idle.values())
    least = min(slot["price_usd_per_h"] for slot in idle.values())
    assert [slot["price_usd_per_h"] for slot in others] == [least, least]
    assert first["price_usd_per_h"] > least


def test_the_decision_is_one_of_a_simulated_day(decision):
    seed = decision[0]["seed"]
    run = cg.simulate(data.scenes(seed), data.QOS_FIRST, seed)
    for row in decision:
        if row["what"] == "job":
            assert run.jobs[row["id"]]["dispatch_s"] == row["time_s"]
            assert run.jobs[row["id"]]["slot"] == row["slot"]
            assert bool(run.jobs[row["id"]]["tight"]) == (row["state"] == "tight")


def front_rows(differences, halves):
    """Rows of two policies and their paired differences, as in figure_5_8.csv."""
    return [
        {
            "row": row,
            "column": column,
            "part": part,
            "published": 1.0,
            "reproduced": value,
            "half_width_95": half,
            "n": 10,
            "verdict": "",
        }
        for column, difference, half in zip(
            ("miss, %", "tardiness, min"), differences, halves
        )
        for row, part, value in (
            ("Adaptive", "", 5 + difference),
            ("CADR", "", 5.0),
            ("Adaptive - CADR", "paired difference", difference),
        )
    ]


@pytest.mark.parametrize("seed", range(4))
def test_the_statement_on_adaptive_is_no_stronger_than_its_interval(seed):
    rng = np.random.default_rng(seed)
    differences, halves = rng.uniform(-4, 4, 2), rng.uniform(0, 4, 2)
    said = FIGURES["5.8"].sentence(front_rows(differences, halves))
    misses, late = said.split("Here Adaptive ")[1].split(", and is ")
    assert misses.startswith("misses fewer" if differences[0] < 0 else "misses more")
    assert late.startswith("less late" if differences[1] < 0 else "more late")
    for part, difference, half in zip((misses, late), differences, halves):
        assert ("not significant" in part) == (abs(difference) <= half)
        assert f"{difference:+.2f} ± {half:.2f}" in part
    assert ("Our Pareto front consists of Adaptive, that of" in said) == (
        differences.max() < 0
    )


# ---- Idle GPUs ----


@pytest.mark.slow
def test_a_gantt_chart_shows_the_gpus_that_no_node_uses():
    rows = rows_of(dag.FIGURES["gantt"], PICTURES / "dag")
    canvas = redrawn(dag.FIGURES["gantt"], PICTURES / "dag")
    for ax, name in zip(canvas.axes, ("gpipe", "1f1b")):
        used = {row["gpu"] for row in rows if row["schedule"] == name}
        messages = [text.get_text() for text in ax.get_yticklabels()]
        assert messages == [
            f"GPU {gpu}" if gpu in used else f"GPU {gpu}, idle" for gpu in range(4)
        ]
    (legend,) = canvas.legends
    # updates take microseconds
    assert [text.get_text() for text in legend.texts] == [
        "forward",
        "backward",
        "transfer",
    ]
    assert plt.get_fignums() == []
