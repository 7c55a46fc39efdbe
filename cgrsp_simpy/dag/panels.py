"""How the rows behind each figure of DAGs are drawn on a canvas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from matplotlib import colormaps, rcParams
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from cgrsp_simpy.analysis.ranks import cliques
from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.dag.figure_data import CONCENTRATIONS, DRAWN, SENSITIVITY, Row
from cgrsp_simpy.dag.heft import ORDERS
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.parts import FAINT, Several, beside_point, dots, legend_outside, told
from cgrsp_simpy.plots.style import LOOKS, Look

ORDER_NAMES = {"heft": "HEFT's placement", "annealing": "annealing,\nrandom start"}
# of the nodes of a training step
KINDS = {"forward": "#9ecae1", "backward": "#4292c6", "other": "#a1d99b"}
GPUS = [to_hex(colour) for colour in colormaps["viridis"](np.linspace(0.95, 0.25, 4))]
# edges on one GPU, and between two
WITHIN: dict[str, Any] = {"color": "0.4", "linestyle": "-"}
TRANSFER: dict[str, Any] = {"color": "#D55E00", "linestyle": (0, (3, 2))}
SIZE_MARKS = {"small": "o", "medium": "s", "large": "^"}
DEGREE_COLOURS = {1: "#E69F00", 3: "#0B4F9C"}
BAND: dict[str, Any] = {"color": "0.8", "linewidth": 8, "solid_capstyle": "butt"}
# Least, greatest and mean coefficient: worl-rtgs.txt Section 4.2.
PRINTED = {"pearson": (0.16, 0.57, 0.4603), "spearman": (0.42, 0.59, 0.508)}


def _kind(name: str) -> str:
    return next((kind for kind in KINDS if kind in name), "other")


def gantt(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A panel a scheduler: a line a GPU, idle ones too; nodes as boxes, transfers as lines
    from GPU to GPU.
    """
    axes = canvas.subplots(len(DRAWN), 1, sharex=True)
    # round-robin, which is drawn, uses all of them
    gpus = range(1 + max(row["gpu"] for row in rows))
    for ax, name in zip(axes, DRAWN):
        own = [row for row in rows if row["scheduler"] == name]
        for row in own:
            if row["what"] == "node":
                length_s, colour = row["end_s"] - row["start_s"], KINDS[_kind(row["name"])]
                box: dict[str, Any] = {"color": colour, "edgecolor": "white", "linewidth": 0.4}
                ax.barh(row["gpu"], length_s, 0.62, row["start_s"], **box)
            else:
                times_s, ends = [row["start_s"], row["end_s"]], [row["gpu"], row["to_gpu"]]
                ax.plot(times_s, ends, color="0.35", linewidth=0.5, zorder=3)
        end_s = max(row["end_s"] for row in own)
        used = {row["gpu"] for row in own}
        names = [f"GPU {gpu}" if gpu in used else f"GPU {gpu}, idle" for gpu in gpus]
        ax.set(ylim=(len(gpus) - 0.5, -0.5), yticks=gpus, yticklabels=names)
        ax.set_title(f"{name}, {told(end_s)} s", loc="left", fontsize="medium")
    axes[-1].set(xlabel="time (s)", xlim=(0, None))
    seen_s = 1e-3 * max(row["end_s"] for row in rows)
    there = {
        _kind(row["name"])
        for row in rows
        if row["what"] == "node" and row["end_s"] - row["start_s"] > seen_s
    }
    handles: list[Line2D | Patch] = [
        Patch(color=colour, label=kind) for kind, colour in KINDS.items() if kind in there
    ]
    legend_outside(
        canvas, [*handles, Line2D([], [], color="0.35", linewidth=0.8, label="transfer")], note
    )


def placement(canvas: Canvas, rows: list[Row], note: str) -> None:
    """Nodes by level, coloured by their GPU; edges that change the GPU are dashed."""
    ax = canvas.add_subplot()
    nodes = {row["name"]: row for row in rows if row["what"] == "node"}
    for row in rows:
        if row["what"] == "edge":
            one, other = nodes[row["name"]], nodes[row["to"]]
            style = WITHIN if one["gpu"] == other["gpu"] else TRANSFER
            x, y = [one["x"], other["x"]], [one["y"], other["y"]]
            ax.plot(x, y, linewidth=0.9, zorder=1, **style)
    for row in nodes.values():
        place, colour = (row["x"], row["y"]), GPUS[row["gpu"]]
        ax.plot(*place, markersize=3.4 * rcParams["lines.markersize"], **_node(colour))
        middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "small"}
        ax.annotate(row["name"], place, color=_on(colour), **middle)
    ax.axis("off")
    ax.margins(0.08)
    used = sorted({row["gpu"] for row in nodes.values()})
    handles: list[Line2D | Patch] = [
        Line2D([], [], label=f"GPU {gpu}", **_node(GPUS[gpu])) for gpu in used
    ]
    handles += [Line2D([], [], label="on one GPU", **WITHIN)]
    handles += [Line2D([], [], label="transfer", **TRANSFER)]
    legend_outside(canvas, handles, note, 6)


def _node(colour: str) -> dict[str, Any]:
    return {"color": colour, "marker": "o", "linestyle": "none", "markeredgecolor": "0.3"}


def _on(colour: str) -> str:
    """Black or white, whichever is seen on a colour."""
    return "white" if sum(to_rgb(colour)) < 1.2 else "black"


def convergence(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A line a search: the median over the graphs, and the middle half."""
    ax = canvas.add_subplot()
    names = list(dict.fromkeys(row["scheduler"] for row in rows))
    for name in names:
        columns = ("evaluations", "over_heft", "p25", "p75")
        at, middle, low, high = zip(
            *([row[column] for column in columns] for row in rows if row["scheduler"] == name)
        )
        look = LOOKS[name]
        ax.plot(at, middle, color=look.colour, linestyle=look.line, marker=look.marker, markevery=6)
        ax.fill_between(at, low, high, color=look.colour, alpha=0.15, linewidth=0)
    ax.axhline(1.0, **FAINT)
    beside_point(ax, "HEFT", (1, 1.0), (2, 2), color="0.35")
    ax.set(xscale="log", yscale="log", xlabel="plans evaluated", ylabel="best makespan over HEFT's")
    ax.yaxis.set_major_locator(LogLocator(2))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())
    legend_outside(canvas, [_line(name) for name in names], note, 6)


def _line(name: str) -> Line2D:
    look = LOOKS[name]
    return Line2D([], [], label=name, linestyle=cast(Any, look.line), **dots(look))


def sensitivity(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A panel a parameter: a box a value, of makespans relative to the mean on the same graph."""
    axes = canvas.subplots(2, 2, sharey=True)
    for ax, parameter in zip(axes.flat, SENSITIVITY):
        own = [row for row in rows if row["parameter"] == parameter]
        values = list(dict.fromkeys(row["value"] for row in own))
        boxes = [[row["relative"] for row in own if row["value"] == value] for value in values]
        style: dict[str, Any] = {
            "boxprops": {"facecolor": "#cfe3d8", "linewidth": 0.7},
            "medianprops": {"color": "black"},
            "flierprops": {"markersize": 2.5},
        }
        ax.boxplot(boxes, tick_labels=values, widths=0.6, patch_artist=True, **style)
        ax.set_xlabel(parameter)
        ax.set_title(f"Friedman p {_p(own[0]['p'])}", loc="right", fontsize="small", color="0.3")
    canvas.supylabel("makespan over the mean on the same graph", fontsize="medium")
    legend_outside(canvas, [], note)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def ranks(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A critical-difference diagram: mean ranks on an axis, the best at the left; bars join what
    does not differ.
    """
    ax = canvas.add_subplot()
    ordered = sorted(rows, key=lambda row: float(row["rank"]))
    difference, half = rows[0]["critical_difference"], (len(rows) + 1) // 2
    low, high = 1.0, float(len(rows))
    for place, row in enumerate(ordered):
        left = place < half
        height = -1.0 - 0.9 * (place if left else len(rows) - 1 - place)
        end = low - 0.3 if left else high + 0.3
        colour = LOOKS[row["scheduler"]].colour
        ax.plot([row["rank"], row["rank"], end], [0, height, height], color=colour, linewidth=0.9)
        both = (row["scheduler"], f"{row['rank']:.2f}")
        text = "  ".join(both if left else both[::-1])
        ax.text(end, height, f" {text} ", ha="right" if left else "left", va="center")
    bars = cliques(np.array([row["rank"] for row in rows]), difference)
    for number, (begin, end) in enumerate(bars):
        height = -0.25 - 0.16 * number
        bar: dict[str, Any] = {"color": "black", "linewidth": 2.2, "solid_capstyle": "butt"}
        ax.plot([begin - 0.05, end + 0.05], [height, height], **bar)
    ax.plot([low, low + difference], [1.1, 1.1], color="black", marker="|")
    text = f"critical difference {difference:.2f}"
    ax.text(low + difference / 2, 1.25, text, ha="center", fontsize="small")
    ax.plot([low, high], [0, 0], color="black", linewidth=0.8)
    for rank in range(1, len(rows) + 1):
        ax.plot([rank, rank], [0, 0.14], color="black", linewidth=0.8)
        ax.text(rank, 0.22, str(rank), ha="center", fontsize="small")
    ax.set(xlim=(low - 3.4, high + 3.4), ylim=(-1.4 - 0.9 * half, 2.0))
    ax.axis("off")
    legend_outside(canvas, [], note)


def order(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A line a scheduler: mean and interval when plans run in the graph's order, pale, and in
    rank order, in full colour.
    """
    ax = canvas.add_subplot()
    names = list(dict.fromkeys(row["scheduler"] for row in rows))
    for place, name in enumerate(names):
        look, own = LOOKS[name], [row for row in rows if row["scheduler"] == name]
        found = [mean([row["over_heft"] for row in own if row["order"] == way]) for way in ORDERS]
        ax.plot([each.mean for each in found], [place, place], **{**FAINT, "color": look.colour})
        for each, style in zip(found, (dots(_pale(look)), dots(look))):
            spread = [each.half_width]
            marks.intervals(ax, [each.mean], [place], x_half=spread, colour=look.colour)
            ax.plot([each.mean], [place], **{"linestyle": "none", **style})
            beside_point(ax, f"{each.mean:.2f}", (each.mean, place), (0, 6), ha="center")
    ax.axvline(1.0, **FAINT)
    ax.set_yticks(range(len(names)), [ORDER_NAMES.get(name, name) for name in names])
    ax.set(xlabel="makespan over HEFT's", ylim=(len(names) - 0.4, -0.8))
    drawn = [LOOKS[name] for name in names]
    pale = [Line2D([], [], linestyle="none", **dots(_pale(look))) for look in drawn]
    dark = [Line2D([], [], linestyle="none", **dots(look)) for look in drawn]
    handles = [
        Several("pale: run in the graph's order", pale),
        Several("dark: in HEFT's rank order", dark),
    ]
    legend_outside(canvas, handles, note)


def _pale(look: Look) -> Look:
    """The look, its colour mixed with white."""
    red, green, blue = (0.4 * part + 0.6 for part in to_rgb(look.colour))
    return look._replace(colour=to_hex((red, green, blue)))


def ablation(canvas: Canvas, rows: list[Row], note: str) -> None:
    """By how much the makespan changes without a part: a point with its interval, and the published
    range as a band.
    """
    ax = canvas.add_subplot()
    without = [row for row in rows if row["scheduler"] != "worl-rtgs"]
    for place, row in enumerate(without):
        low, high, value = row["published_low_pct"], row["published_high_pct"], row["increase_pct"]
        if low != "":
            ax.plot([low, high], [place, place], zorder=1, **BAND)
        look, spread = LOOKS[row["scheduler"]], [row["half_width_pct"]]
        ax.plot([value], [place], linestyle="", **dots(look))
        marks.intervals(ax, [value], [place], x_half=spread, colour=look.colour)
        beside_point(ax, f"{value:+.1f}", (value, place), (0, 7), ha="center")
    ax.axvline(0, **FAINT)
    names = [f"{row['variant']}\n({row['scheduler']})" for row in without]
    ax.set_yticks(range(len(without)), names)
    ax.set(xlabel="change of the makespan of WORL-RTGS (%)", ylim=(len(without) - 0.4, -0.6))
    band = Line2D([], [], label="published, three sizes of graphs", **BAND)
    legend_outside(canvas, [band], note)


def scatter(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A panel for even and for uneven plans: a point a pair, with both coefficients."""
    for ax, kind in zip(canvas.subplots(1, 2), CONCENTRATIONS):
        own = [row for row in rows if row["plans"] == kind]
        spd_s, ftg_s = ([row[column] for row in own] for column in ("spd_s", "ftg_s"))
        ax.plot(spd_s, ftg_s, ".", color="#0B4F9C", alpha=0.4, markersize=3)
        both = f"Pearson {own[0]['pearson']:.2f}, Spearman {own[0]['spearman']:.2f}"
        ax.set_title(f"{kind} plans: {both}", loc="left", fontsize="small")
        ax.set(xlabel="SPD (s)", ylabel="FTG (s)", xlim=(0, None), ylim=(0, None))
    legend_outside(canvas, [], note)


def coefficients(canvas: Canvas, rows: list[Row], note: str) -> None:
    """A panel for Pearson's and for Spearman's, a row for even and for uneven plans: a mark a
    configuration, by GPUs.
    """
    axes = canvas.subplots(2, 2, sharex=True, sharey=True)
    gpus = sorted({row["gpus"] for row in rows})
    for line, kind in zip(axes, CONCENTRATIONS):
        for ax, name in zip(line, ("pearson", "spearman")):
            _coefficients(ax, [row for row in rows if row["plans"] == kind], name, gpus)
            ax.set_title(f"{name.title()}, {kind} plans", loc="left", fontsize="small")
            low, high, middle = PRINTED[name]
            ax.axhspan(low, high, color="0.92", zorder=0)
            ax.axhline(middle, color="0.6", linewidth=0.8, zorder=0)
    for ax in axes[-1]:
        ax.set(xlabel="GPUs", xticks=range(len(gpus)), xticklabels=[str(number) for number in gpus])
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=colour, marker=mark, linestyle="", markersize=4, label=label)
        for size, mark in SIZE_MARKS.items()
        for degree, colour in DEGREE_COLOURS.items()
        for label in [f"{size}, degree {degree}"]
    ]
    legend_outside(
        canvas, [*handles, Patch(color="0.92", label="published range, and mean")], note, 4
    )


def _coefficients(ax: Axes, rows: Sequence[Row], name: str, gpus: Sequence[int]) -> None:
    for row in rows:
        aside = (list(SIZE_MARKS).index(row["size"]) - 1) * 0.2
        aside += 0.05 if row["state"] == "busy" else -0.05
        at, mark, fill = gpus.index(row["gpus"]), SIZE_MARKS[row["size"]], row["degree"]
        ax.plot(at + aside, row[name], mark, color=DEGREE_COLOURS[fill], markersize=4)
    ax.axhline(0, **FAINT)
