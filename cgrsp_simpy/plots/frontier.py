"""A plot of misses against wait: policies as points, and the frontier that none can be below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cgrsp_simpy.plots.gallery import Picture
from cgrsp_simpy.plots.parts import dots, intervals, legend_above
from cgrsp_simpy.plots.style import axes, looks

LINE: dict[str, Any] = {"color": "0.25", "lw": 1.2, "zorder": 2}
NONE_HERE: dict[str, Any] = {"color": "0.92", "linewidth": 0, "zorder": 0}
BAND: dict[str, Any] = {"color": "0.78", "linewidth": 0, "zorder": 1}
KINDS = ("low", "bound", "high")  # of corners, from the lowest line up
ROOM = 0.12  # of the Axes beyond the points


def policies_and_frontier(
    rows: Sequence[Mapping[str, Any]], ax: Axes | None = None, title: str = ""
) -> Axes:
    """A point a policy, and the least misses at every mean wait.

    rows: with kind, name, wait_min, miss_pct and their half widths. Kind "policy" is a point;
    "bound", "low" and "high" are corners of the frontier and of its 95 % interval, shortest wait
    first; one seed has no interval. ax: to draw on. title: above it.
    """
    ax = axes(ax)
    policies = [row for row in rows if row["kind"] == "policy"]
    kinds = [kind for kind in KINDS if any(row["kind"] == kind for row in rows)]
    lines = {kind: _corners(rows, kind) for kind in kinds}
    waits = [*lines[kinds[0]][0], *_ends(policies, "wait_min")]
    misses = [*lines["bound"][1], *_ends(policies, "miss_pct")]
    room = ROOM * (max(waits) - min(waits) or 1.0)
    ax.set(
        xlabel="mean wait (min)",
        ylabel="missed deadlines (%)",
        xlim=(max(0.0, min(waits) - room), max(waits) + room),
        ylim=(0, (1 + ROOM) * max(*misses, 0.1)),
    )
    paths = {kind: _to_the_edges(ax, *corners) for kind, corners in lines.items()}
    wait, miss = paths["bound"]
    ax.fill_between([ax.get_xlim()[0], *wait], [miss[0], *miss], **NONE_HERE)
    if "low" in paths:
        pairs = zip(paths["low"], paths["high"])
        ax.fill(*[np.concatenate([low, high[::-1]]) for low, high in pairs], **BAND)
    ax.plot(*paths["bound"], **LINE)
    handles: list[Line2D | Patch] = []
    for row, look in zip(policies, looks([row["name"] for row in policies])):
        at, halves = (
            ([row["wait_min"]], [row["miss_pct"]]),
            ([row["wait_min_half"]], [row["miss_pct_half"]]),
        )
        style = {**dots(look), "linestyle": "", "zorder": 3}
        handles += ax.plot(*at, label=row["name"], **style)
        intervals(ax, *at, *halves, colour=look.colour)
    handles.append(Line2D([], [], label="lower bound", **LINE))
    if "low" in paths:
        handles.append(Patch(label="its 95 % interval", **BAND))
    handles.append(Patch(label="no policy", **NONE_HERE))
    legend_above(ax, handles, title)
    return ax


def _ends(rows: Sequence[Mapping[str, Any]], name: str) -> Iterator[float]:
    """Both ends of the intervals of a figure; the figure itself where there is none."""
    for row in rows:
        half = np.nan_to_num(row[f"{name}_half"])
        yield from (row[name] - half, row[name] + half)


def _corners(rows: Sequence[Mapping[str, Any]], kind: str) -> tuple[np.ndarray, np.ndarray]:
    own = [(row["wait_min"], row["miss_pct"]) for row in rows if row["kind"] == kind]
    wait_min, miss_pct = np.array(own, float).T
    return wait_min, miss_pct


def _to_the_edges(
    ax: Axes, wait_min: np.ndarray, miss_pct: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The line through corners, from the upper edge of the Axes to the right one."""
    (_, right), (_, top) = ax.get_xlim(), ax.get_ylim()
    wait = np.array([wait_min[0], *wait_min, max(right, wait_min[-1])])
    return wait, np.array([max(top, miss_pct[0]), *miss_pct, miss_pct[-1]])


def frontier_picture(title: str, note: str, rows: list[dict[str, Any]]) -> Picture:
    """The picture of a frontier, of rows as `policies_and_frontier` takes them.

    title: for the index. note: above the Axes. rows: what is plotted. Result: of the stem
    "frontier".
    """

    def draw(canvas: Figure, rows: list[dict[str, Any]], note: str) -> None:
        policies_and_frontier(rows, canvas.add_subplot(), note)

    return Picture("frontier", title, lambda _: rows, draw, _seen, note, (6.3, 4.0))


def _seen(rows: list[dict[str, Any]]) -> str:
    first, *_, last = [row for row in rows if row["kind"] == "bound"] * 2
    return (
        f"No policy waits less than {first['wait_min']:.1f} min, or misses less than"
        f" {last['miss_pct']:.2f} %; at the shortest wait it misses {first['miss_pct']:.2f} %."
    )
