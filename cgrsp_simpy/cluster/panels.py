"""How the rows behind each figure of GPU clusters are drawn on a canvas."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import nan
from typing import Any, cast

import numpy as np
from matplotlib import colormaps, rcParams
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import LogLocator, MultipleLocator, NullFormatter

from cgrsp_simpy.cluster.figure_data import (
    AGED,
    COURSE,
    FORMS,
    GANTT,
    GANTT_H,
    HPS,
    METRICS,
    UNITS,
    WAITS,
    WIDTHS,
    Row,
)
from cgrsp_simpy.cluster.jobs import PAPER_CLUSTER
from cgrsp_simpy.cluster.metrics import STARVED_S
from cgrsp_simpy.cluster.table import PUBLISHED
from cgrsp_simpy.model.table import half
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.parts import (
    FAINT,
    beside_point,
    dots,
    few_ticks,
    hollow,
    legend_outside,
    told,
)
from cgrsp_simpy.plots.style import LOOKS

WIDTH_COLOURS = [
    to_hex(colour) for colour in colormaps["viridis"](np.linspace(0.93, 0.0, len(WIDTHS)))
]
HOLDS = {
    "yes": ("#0B4F9C", "o", "dynamic is better"),
    "open": ("#7F7F7F", "s", "no difference shown"),
    "no": ("#D55E00", "X", "dynamic is worse"),
}
LOAD_TICKS = (0.4, 0.8, 1.2)
AGING_LINES: dict[str, Any] = dict(zip(FORMS, ("-", (0, (4, 1.5)))))
AGED_COLOURS = dict(zip(AGED, ("#009E73", "#C04A00", "#0B4F9C")))


_legend = partial(legend_outside, handlelength=2.6)


def _own(rows: Sequence[Row], name: str) -> list[Row]:
    return [row for row in rows if row["scheduler"] == name]


# ---- one load ----


def metrics(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A panel a metric: bars, or points where the axis is logarithmic."""
    for ax, (metric, (label, unit, logarithmic)) in zip(
        canvas.subplots(2, 3, sharey=True).flat, METRICS.items()
    ):
        names = [row["scheduler"] for row in rows]
        values, halves = (
            np.array([row[column] for row in rows]) * unit for column in (metric, half(metric))
        )
        if logarithmic:
            _points(ax, names, values, halves)
        else:
            marks.bars(ax, names, values, halves, None, [LOOKS[name].colour for name in names])
            ax.set_xlim(left=0)
        ax.set_xlabel(label.format(jobs=rows[0]["jobs"]))
    _legend(canvas, [], note)


def _points(ax: Axes, names: Sequence[str], values: np.ndarray, halves: np.ndarray) -> None:
    for place, (name, value, spread) in enumerate(zip(names, values, np.nan_to_num(halves))):
        ax.plot([value], [place], "o", color=LOOKS[name].colour)
        marks.intervals(ax, [value], [place], x_half=[spread], colour=LOOKS[name].colour)
        beside_point(ax, told(value), (value + spread, place), (7, 0), va="center")
    if len(known := values[values > 0]):
        low, high = np.floor(np.log10(known.min() / 2)), np.ceil(np.log10(known.max() * 6))
        ax.set(xscale="log", xlim=(10**low, 10**high))
        ax.xaxis.set_major_locator(LogLocator(numticks=6))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_axisbelow(True)
    ax.grid(axis="x", color="0.9")


def waits(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A panel a scheduler: of each class of GPUs the middle half, the middle nine tenths
    and the median.
    """
    axes = canvas.subplots(2, 3, sharex=True, sharey=True)
    for ax, name in zip(axes.flat, WAITS):
        for row in _own(rows, name):
            _box(ax, list(WIDTHS).index(row["gpus"]), row, LOOKS[name].colour)
        thin = 0.8 * rcParams["lines.linewidth"]
        ax.axvline(STARVED_S / 60, color=HOLDS["no"][0], ls="--", lw=thin, zorder=0)
        ax.set_title(name, loc="left", fontsize="medium")
        ax.set_xscale("symlog", linthresh=1, linscale=0.5)
        ax.set_xticks([0, 1, 10, 100, 1e3, 1e4], ["0", "1", "10", "100", "$10^3$", "$10^4$"])
        ax.set_axisbelow(True)
        ax.grid(axis="x", color="0.9")
    axes[0, 0].set_yticks(range(len(WIDTHS)), list(WIDTHS))
    axes[0, 0].set(ylim=(len(WIDTHS) - 0.5, -0.5), xlim=(-0.3, 4e4))
    canvas.supxlabel("wait (min), logarithmic from 1 min on", fontsize="medium")
    canvas.supylabel("GPUs of the job", fontsize="medium")
    first = LOOKS[WAITS[0]].colour
    handles: list[Line2D | Patch] = [
        Patch(color=first, alpha=0.55, label="middle half"),
        Line2D([], [], color=first, label="5 to 95 %"),
        Line2D([], [], label="median", **_median()),
        Line2D([], [], color=HOLDS["no"][0], linestyle="--", label="starved from here on"),
    ]
    _legend(canvas, handles, note)


def _box(ax: Axes, place: int, row: Row, colour: str) -> None:
    low, left, middle, right, high = (row[f"p{q}_s"] / 60 for q in (5, 25, 50, 75, 95))
    ax.plot([low, high], [place, place], color=colour, solid_capstyle="butt")
    ax.barh(place, right - left, 0.6, left, color=colour, alpha=0.55)
    ax.plot([middle], [place], zorder=3, **_median())


def _median() -> dict[str, Any]:
    """Style of a median: an upright line."""
    thick, size = 1.6 * rcParams["lines.linewidth"], 2.4 * rcParams["lines.markersize"]
    own: dict[str, Any] = {"color": "black", "marker": "|", "linestyle": "none"}
    return own | {"markersize": size, "markeredgewidth": thick}


def course(canvas: Canvas, rows: list[Row], note: str) -> None:
    """Utilisation, queue and fragmentation, one below the other."""
    labels = {
        "utilisation_pct": "utilisation\n(%)",
        "waiting": "waiting\n(jobs)",
        "fragmentation_pct": "fragmentation\n(%)",
    }
    axes = canvas.subplots(len(labels), 1, sharex=True)
    for ax, (column, label) in zip(axes, labels.items()):
        for name in COURSE:
            own, look = _own(rows, name), LOOKS[name]
            edges_h = [own[0]["from_h"], *(row["to_h"] for row in own)]
            values = [row[column] for row in own]
            style: dict[str, Any] = {"color": look.colour, "linestyle": look.line}
            ax.step(edges_h, [*values, values[-1]], where="post", label=name, **style)
        ax.axvline(rows[0]["last_arrival_h"], **FAINT)
        ax.set_ylabel(label)
        ax.set_ylim(0, 103 if column.endswith("pct") else None)
        few_ticks(ax.yaxis)
    axes[0].set_xlim(0, max(row["to_h"] for row in rows))
    axes[-1].set_xlabel("time (h)")
    _legend(canvas, axes[0].lines[: len(COURSE)], note)


def gantt(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A panel a scheduler: each GPU a line, each job blocks in the colour of its GPUs;
    idle is white.
    """
    edges, most = np.cumsum([0, *PAPER_CLUSTER.sizes]), list(WIDTHS.values())
    span_h = (rows[0]["begin_h"], rows[0]["begin_h"] + GANTT_H)
    axes = canvas.subplots(1, len(GANTT), sharex=True, sharey=True)
    for ax, name in zip(axes, GANTT):
        for row in _own(rows, name):
            corner, length_h = (row["start_h"], row["gpu"]), row["finish_h"] - row["start_h"]
            colour = WIDTH_COLOURS[np.searchsorted(most, row["job_gpus"])]
            block: dict[str, Any] = {"fc": colour, "ec": "white", "lw": 0.3}
            ax.add_patch(Rectangle(corner, length_h, row["gpus"], **block))
        ax.hlines(edges[1:-1], *span_h, color="black", linewidth=0.5)
        ax.set_title(name, loc="left", fontsize="medium")
        ax.xaxis.set_major_locator(MultipleLocator(6))
        ax.tick_params(axis="y", length=0)
    axes[0].set(xlim=span_h, ylim=(edges[-1], 0))
    nodes = [f"node {node}" for node in range(1, len(edges))]
    axes[0].set_yticks((edges[:-1] + edges[1:]) / 2, nodes)
    axes[len(axes) // 2].set_xlabel("time (h)")
    there = {int(np.searchsorted(most, row["job_gpus"])) for row in rows}
    handles = [
        Patch(facecolor=WIDTH_COLOURS[number], label=name)
        for number, name in enumerate(WIDTHS)
        if number in there
    ]
    _legend(canvas, handles, note, len(WIDTHS))


def aging(canvas: Canvas, rows: list[Row], note: str) -> None:
    """The aging factor, and the scores of some jobs, in both forms."""
    left, right = canvas.subplots(1, 2, sharex=True)
    for form, line in AGING_LINES.items():
        for job, colour in AGED_COLOURS.items():
            own = [row for row in rows if (row["form"], row["gpus"], row["time_s"]) == (form, *job)]
            minutes = [row["wait_s"] / 60 for row in own]
            right.plot(minutes, [row["score"] for row in own], color=colour, linestyle=line)
        left.plot(minutes, [row["aging"] for row in own], color="black", linestyle=line)
    left.set(ylabel="aging factor", ylim=(0, None), xlim=(0, minutes[-1]))
    right.set(ylabel="score (the largest starts first)", ylim=(0, None))
    for ax in (left, right):
        ax.set_xlabel("waited (min)")
        ax.set_xticks([*range(0, 41, 10), 5])
        for at_s in (HPS[0], HPS[2]):
            ax.axvline(at_s / 60, **FAINT)
    handles = [
        Line2D([], [], color="black", linestyle=line, label=FORMS[form])
        for form, line in AGING_LINES.items()
    ]
    names = [f"{gpus} GPU{'s' * (gpus > 1)}, {time_s / 60:g} min" for gpus, time_s in AGED]
    handles += [
        Line2D([], [], color=colour, label=name)
        for name, colour in zip(names, AGED_COLOURS.values())
    ]
    _legend(canvas, handles, note, 3)


# ---- Table II ----


def table_two(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A panel a figure: reproduced over loads, and in a band of their own the published values,
    whose load is not printed.
    """
    axes = canvas.subplots(2, 3, sharex=True)
    loads = sorted({row["load"] for row in rows})
    band = loads[-1] + np.array([0.07, 0.43])
    places = band[0] + np.ptp(band) * np.arange(1, len(PUBLISHED) + 1) / (len(PUBLISHED) + 1)
    for ax, (figure, (label, unit, logarithmic)) in zip(axes.flat, UNITS.items()):
        for at, name in zip(places, PUBLISHED):
            own, look = _own(rows, name), LOOKS[name]
            values, halves = (
                np.array([row[column] for row in own]) * unit for column in (figure, half(figure))
            )
            ax.plot(loads, values, linestyle=cast(Any, look.line), label=name, **dots(look))
            marks.intervals(ax, loads, values, y_half=halves, colour=f"{look.colour}80", caps=False)
            published = PUBLISHED[name].get(figure, nan)  # the variance as if it were in min²
            ax.plot([at], [published], clip_on=False, **hollow(look))
        ax.axvspan(*band, color="0.93", zorder=0)
        ax.set(ylabel=label, xlim=(loads[0] - 0.05, band[1]))
        ax.set_xticks([*LOAD_TICKS, band.mean()], [*map(str, LOAD_TICKS), "publ."])
        if logarithmic:
            ax.set_yscale("log")
        else:
            ax.set_ylim(bottom=0)
    axes[-1, -1].axis("off")
    place: dict[str, Any] = {"loc": "center", "frameon": False, "handlelength": 3}
    axes[-1, -1].legend(handles=[line for line in ax.lines if line.get_label() in LOOKS], **place)
    canvas.supxlabel("offered load", fontsize="medium")
    _legend(canvas, [marks.published(list(PUBLISHED))], note)


def claims(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A column a figure: dynamic minus static over loads, of the means above, of the worst dynamic
    and the best static below.
    """
    figures = list(dict.fromkeys(row["figure"] for row in rows))
    axes = canvas.subplots(2, len(figures), sharex=True)
    for column, figure in zip(axes.T, figures):
        for ax, kind in zip(column, ("mean", "best")):
            _differences(ax, [row for row in rows if row["figure"] == figure], kind)
        label, _, unit = UNITS[figure][0].partition(" (")
        column[0].set_title(f"{label}\n({unit}", loc="left", fontsize="small")
    axes[0, 0].set_ylabel("mean dynamic −\nmean static")
    axes[1, 0].set_ylabel("worst dynamic −\nbest static")
    canvas.supxlabel("offered load", fontsize="medium")
    handles = [
        Line2D([], [], linestyle="none", color=colour, marker=mark, label=text)
        for colour, mark, text in HOLDS.values()
    ]
    _legend(canvas, handles, note)


def _differences(ax: Axes, rows: Sequence[Row], kind: str) -> None:
    unit = UNITS[rows[0]["figure"]][1]
    for row in rows:
        colour, mark, _ = HOLDS[row[f"{kind}_holds"]]
        at, value, spread = [row["load"]], [row[kind] * unit], [row[half(kind)] * unit]
        marks.intervals(ax, at, value, y_half=spread, colour=colour)
        ax.plot(at, value, mark, color=colour)
    ax.axhline(0, **FAINT)
    ax.set_xticks(LOAD_TICKS)
    ax.margins(x=0.08)
    ax.yaxis.set_major_formatter("{x:,g}")
