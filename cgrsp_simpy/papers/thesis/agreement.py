"""Plot of the thesis's printed figures against the reproduced ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cgrsp_simpy.base.table import grouped
from cgrsp_simpy.plots.beside import Mark, label_marks
from cgrsp_simpy.plots.figure import Row, numbers, where
from cgrsp_simpy.plots.parts import Several, intervals, legend_above
from cgrsp_simpy.plots.style import MISSED

# what a cell measures, and its marker
KINDS = {"wait": "o", "miss": "s", "tardiness": "^", "cost": "D"}
UNITS = {
    "wait": "wait (min)",
    "miss": "misses (%)",
    "tardiness": "tardiness (min)",
    "cost": "cost (USD)",
}
# tables whose columns are policies and whose caption names the figure
BY_CAPTION = {"5.6": "miss"}
VERDICTS = {"agrees": "#7d9bb8", "differs": MISSED, "undecided": "#c4c4c4"}
PLAIN: dict[str, Any] = {"linestyle": "none", "markeredgewidth": 0, "markersize": 4.0}
LINEAR = 0.1  # below it the scales are linear, to show zeros


def draw(ax: Axes, rows: Sequence[Row]) -> None:
    """Plot each counted cell: published on x, reproduced with its 95 % interval on y.

    Those that differ are named by table, row and column.
    """
    for verdict, colour in VERDICTS.items():
        for kind, marker in KINDS.items():
            x, y, half_widths = _numbers(
                [row for row in where(rows, verdict=verdict) if _kind(row) == kind]
            )
            zorder = 4 if verdict == "differs" else 3
            intervals(ax, x, y, y_half=half_widths, colour=colour, caps=False)
            ax.plot(x, y, **PLAIN, marker=marker, color=colour, zorder=zorder)
    _scale(ax, rows)
    _name(ax, rows)
    ax.set(xlabel="published in the thesis", ylabel="reproduced, with 95 % interval")
    _explain(ax, rows)


def _kind(row: Row) -> str:
    """Return what a cell measures: the first of KINDS in its part, else its column."""
    text = BY_CAPTION.get(row["table"]) or row["part"] or row["column"]
    return next(kind for kind in KINDS if kind in text)


def _numbers(rows: Sequence[Row]) -> list[np.ndarray]:
    """Return published figures, reproduced ones and half widths."""
    columns = ("published", "reproduced", "half_width_95")
    return [np.array(numbers(rows, column)) for column in columns]


def _scale(ax: Axes, rows: Sequence[Row]) -> None:
    """Scale both axes alike, log but linear near zero, and draw the diagonal."""
    x, y, _ = _numbers(rows)
    most = 1.5 * max([1.0, *x, *y])
    ticks = [0, *(10.0**power for power in range(-1, 1 + int(np.log10(most))))]
    for name in ("x", "y"):
        getattr(ax, f"set_{name}scale")("symlog", linthresh=LINEAR, linscale=0.5)
        getattr(ax, f"set_{name}lim")(-0.4 * LINEAR, most)
        getattr(ax, f"set_{name}ticks")(ticks, [f"{tick:g}" for tick in ticks])
    ax.plot([0, most], [0, most], color="0.6", lw=0.8, zorder=1)
    ax.set_aspect("equal")


def _name(ax: Axes, rows: Sequence[Row]) -> None:
    """Name cells that differ by table, row, column and part, away from other cells.

    Cells of one row that lie together share a name.
    """
    places = grouped(
        where(rows, verdict="differs"),
        lambda row: (
            *(row[key] for key in ("table", "row", "part", "published")),
            f"{row['reproduced']:.2g}",
        ),
    )
    marks = {}
    for (table, row, part, *_), there in places.items():
        (at_x, *_), (at_y, *_), halves = _numbers(there)
        half = np.nan_to_num(halves).max()
        columns = ("\n" if len(there) > 1 else "") + ", ".join(
            cell["column"] for cell in there
        )
        name = f"{table} {row}, {columns}" + (f": {part}" if part else "")
        marks[name] = Mark(
            np.array([(at_x, at_y)]),
            np.array([(at_x, at_y - half), (at_x, at_y + half)]),
        )
    others = [row for row in rows if row["verdict"] != "differs"]
    x, y, half_widths = map(np.nan_to_num, _numbers(others))
    gap = np.full_like(x, np.nan)
    bars = np.stack([x, y - half_widths, x, y + half_widths, gap, gap], axis=1).reshape(
        -1, 2
    )
    label_marks(ax, marks, [VERDICTS["differs"]] * len(marks), bars)


def _explain(ax: Axes, rows: Sequence[Row]) -> None:
    """Add a legend of markers and colours, and the number of cells by verdict."""
    handles: list[Line2D | Patch] = [
        Line2D(
            [],
            [],
            marker=KINDS[kind],
            label=UNITS[kind],
            color=VERDICTS["agrees"],
            **PLAIN,
        )
        for kind in _kinds(rows)
    ]
    for verdict in ("differs", "undecided"):
        if kinds := _kinds(where(rows, verdict=verdict)):
            colour = VERDICTS[verdict]
            lines = [
                Line2D([], [], marker=KINDS[kind], color=colour, **PLAIN)
                for kind in kinds
            ]
            handles.append(Several(verdict, lines))
    agreeing, undecided = (
        len(where(rows, verdict=name)) for name in ("agrees", "undecided")
    )
    title = f"{agreeing} of {len(rows)} cells agree, "
    title += f"{undecided} are undecided, " if undecided else ""
    legend_above(ax, handles, f"{title}the others are named")


def _kinds(rows: Sequence[Row]) -> list[str]:
    """Return what cells measure, in the order of KINDS."""
    there = {_kind(row) for row in rows}
    return [kind for kind in KINDS if kind in there]
