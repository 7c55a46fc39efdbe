"""How the rows behind each figure of HGSP are drawn on a canvas."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import nan

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from cgrsp_simpy.hgsp.figure_data import COMPARED, GANTT, UTILISED, Row
from cgrsp_simpy.hgsp.generate import LEVELS
from cgrsp_simpy.model.table import half
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.parts import few_ticks, legend_outside, on_dark_bars
from cgrsp_simpy.plots.style import LOOKS, MISSED

ON_TIME, LATE = "#009E73", MISSED
COLOURS = {name: LOOKS[name].colour for name in COMPARED}
MODELS = {"A30": "#9ecae1", "L40": "#4292c6", "A100": "#084594"}  # from slow to fast, light to dark
SHORT = {"work-conserving": "at once", "waves": "waves"}
LEVEL_NAMES = dict(zip(LEVELS, ("medium", "medium", "high", "extreme")))


_legend = partial(legend_outside, handlelength=1.6)


def _published() -> Line2D:
    return Line2D([], [], label="published, of other instances", **marks.hollow())


def amount(value: float, beside: float = 0.0) -> str:
    """A weighted tardiness in few digits; in millions if it, or what it stands
    beside, has so many.
    """
    if max(value, beside) >= 1e6:
        return f"{value / 1e6:.2f} M"
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


# ---- Gantt charts ----


def gantt(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A panel a scheduler: bars in green for tasks that end in time, in red for those
    that end late.
    """
    axes = canvas.subplots(len(GANTT), 1, sharex=True)
    for ax, name in zip(axes, GANTT):
        own = [row for row in rows if row["scheduler"] == name]
        for place, gpu in enumerate(MODELS):
            _tasks(ax, [row for row in own if row["gpu"] == gpu], place)
        ax.set_yticks(range(len(MODELS)), list(MODELS))
        ax.set_ylim(-0.5, len(MODELS) - 0.5)
        ax.set_title(_headed(name, own), loc="left", fontsize="small")
    axes[-1].set_xlabel("time (min)")
    last_s = max(row["finish_s"] for row in rows)
    axes[-1].set_xlim(min(row["start_s"] for row in rows) // 60, last_s / 60)
    handles = [Patch(color=ON_TIME, label="ends in time"), Patch(color=LATE, label="ends late")]
    _legend(canvas, handles, note)


def _headed(name: str, rows: Sequence[Row]) -> str:
    one, there = rows[0], sum(row["late"] for row in rows)
    here = "" if len(rows) == one["tasks"] else f", {there} of them here"
    late = f"{one['late_of_all']} of {one['tasks']} late{here}"
    return f"{name}: {late}; weighted tardiness {amount(one['weighted_tardiness'])} s"


def _tasks(ax: Axes, rows: Sequence[Row], place: int) -> None:
    bars = [(row["start_s"] / 60, (row["finish_s"] - row["start_s"]) / 60) for row in rows]
    colours = [LATE if row["late"] else ON_TIME for row in rows]
    ax.broken_barh(bars, (place - 0.4, 0.8), facecolors=colours, edgecolors="white", linewidth=0.5)


# ---- schedulers compared by level ----


def comparison(canvas: Canvas, rows: list[Row], note: str) -> None:
    """Bars of weighted tardiness over FIFO's, the published ratios as hollow marks."""
    axes = canvas.subplots(1, len(LEVELS), sharex=True, sharey=True)
    for ax, level in zip(axes, LEVELS):
        _bars(ax, [row for row in rows if row["level"] == level], "of_fifo")
    _heads(axes)
    canvas.supxlabel("weighted tardiness (FIFO = 1)", fontsize="medium")
    _legend(canvas, [_published()], note)


def _heads(axes: Sequence[Axes]) -> None:
    for ax, (level, load) in zip(axes, LEVEL_NAMES.items()):
        ax.set_title(f"{level}\n{load} load", loc="left", fontsize="small")


def _below(axes: Sequence[Axes], label: str) -> None:
    """A label below a row of four Axes."""
    axes[1].set_xlabel(label, x=1.1)


def _bars(ax: Axes, rows: Sequence[Row], metric: str) -> None:
    names = [row["scheduler"] for row in rows]
    columns = (metric, half(metric), f"published_{metric}")
    values, halves, published = ([row.get(column, nan) for row in rows] for column in columns)
    marks.bars(ax, names, values, halves, published, [COLOURS[name] for name in names])
    ax.set_xlim(left=0)
    if metric.endswith("_pct"):  # the room for the values in figures has no percentages
        ax.set_xticks([tick for tick in ax.get_xticks() if tick <= min(100, ax.get_xlim()[1])])


def table_one(canvas: Canvas, rows: list[Row], note: str) -> None:
    """Weighted tardiness as points on a logarithmic axis, and missed deadlines as bars below."""
    axes = canvas.subplots(2, len(LEVELS), sharey=True)
    for (upper, lower), level in zip(axes.T, LEVELS):
        own = [row for row in rows if row["level"] == level]
        _points(upper, own)
        _bars(lower, own, "dmr_pct")
    _heads(axes[0])
    _below(axes[0], "weighted tardiness (s)")
    _below(axes[1], "missed deadlines (%)")
    _legend(canvas, [_published()], note)


def _points(ax: Axes, rows: Sequence[Row]) -> None:
    for place, row in enumerate(rows):
        value, colour = row["weighted_tardiness"], COLOURS[row["scheduler"]]
        ax.plot([value], [place], "o", color=colour)
        spread = [row[half("weighted_tardiness")]]
        marks.intervals(ax, [value], [place], x_half=spread, colour=colour)
    published = [row.get("published_weighted_tardiness", nan) for row in rows]
    ax.plot(published, range(len(rows)), **marks.hollow())
    ax.set_xscale("log")
    ours = [row["weighted_tardiness"] for row in rows]
    decades = np.log10(ours + [value for value in published if value > 0])
    ax.set_xlim(10 ** np.floor(decades.min()), 10 ** np.ceil(decades.max()))
    ax.xaxis.set_major_locator(LogLocator(numticks=4))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_axisbelow(True)
    ax.grid(axis="x", color="0.9")


# ---- GPUs ----


def utilisation(canvas: Canvas, rows: list[Row], note: str) -> None:
    """Bars of each model of GPU, by scheduler, a panel a level."""
    axes = canvas.subplots(len(UTILISED), 1, sharex=True, sharey=True)
    for ax, level in zip(axes, UTILISED):
        for place, (model, colour) in enumerate(MODELS.items()):
            own = [row for row in rows if (row["level"], row["gpu"]) == (level, model)]
            at, values = np.arange(len(own)) + 0.27 * (place - 1), [row["busy_pct"] for row in own]
            halves = [row[half("busy_pct")] for row in own]
            bars = list(ax.bar(at, values, 0.25, color=colour))
            marks.intervals(ax, at, values, y_half=halves)
            on_dark_bars(ax, bars, halves, upright=True)
        ax.set_title(f"{level}, {LEVEL_NAMES[level]} load", loc="left", fontsize="small")
        ax.set_ylim(0, 100)
    axes[-1].set_xticks(range(len(COMPARED)), [name.replace("-", "-\n") for name in COMPARED])
    canvas.supylabel("busy (% of the makespan)", fontsize="medium")
    _legend(canvas, [Patch(color=colour, label=model) for model, colour in MODELS.items()], note)


# ---- searches ----


def searches(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A column a search: tardiness over FIFO's above, the temperature below."""
    kinds = list(dict.fromkeys((row["search"], row["on"]) for row in rows))
    axes = canvas.subplots(2, len(kinds), sharex="col", sharey="row", height_ratios=(2, 1))
    for (upper, lower), (name, on) in zip(axes.T, kinds):
        own = [row for row in rows if (row["search"], row["on"]) == (name, on)]
        upper.set_title(f"{name}\n{on}", loc="left", fontsize="small")
        _course(upper, lower, own)
    axes[0, 0].set_ylabel("weighted tardiness\n(FIFO = 1)")
    axes[1, 0].set_ylabel("temperature")
    _legend(canvas, axes[0, 0].lines, note)


def _course(upper: Axes, lower: Axes, rows: Sequence[Row]) -> None:
    thousands = rows[-1]["move"] >= 10_000
    moves = [row["move"] / (1000 if thousands else 1) for row in rows]
    best, thin = [row["best_of_fifo"] for row in rows], 0.7 * rcParams["lines.linewidth"]
    upper.plot(moves, [row["of_fifo"] for row in rows], color="0.65", lw=thin, label="current")
    upper.plot(moves, best, color="black", label="best so far")
    upper.axhline(rows[0]["bound_of_fifo"], color="0.3", lw=thin, ls=":", label="lower bound")
    upper.set_ylim(0, 1.05)
    lower.plot(moves, [row["temperature"] for row in rows], color="0.3")
    lower.set_yscale("log")
    lower.set_ylim(0.3, 3000)
    lower.yaxis.set_major_locator(LogLocator(numticks=5))
    lower.set_xlabel("moves (thousand)" if thousands else "moves")
    few_ticks(lower.xaxis)


# ---- Table II ----


def table_two(canvas: Canvas, rows: list[Row], note: str) -> None:
    """Bars of both measures in each mode, the printed values as hollow marks."""
    names = [
        ", ".join([row["scheduler"], SHORT[row["mode"]], *(["steps"] if row["step_s"] else [])])
        for row in rows
    ]
    colours = [LOOKS[row["scheduler"]].colour for row in rows]
    labels = {"weighted_response": "weighted response (s)", "mean_response_s": "mean response (s)"}
    for ax, (metric, label) in zip(canvas.subplots(1, 2, sharey=True), labels.items()):
        printed = [row.get(f"printed_{metric}", nan) for row in rows]
        marks.bars(ax, names, [row[metric] for row in rows], [nan] * len(rows), printed, colours)
        ax.set_xlabel(label)
    _legend(canvas, [Line2D([], [], label="as printed", **marks.hollow())], note)
