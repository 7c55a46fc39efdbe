"""Figures of decisions: what a day costs by its parts and by the number of slots, misses against
wait with the limits, and where the slots' hours go; the frontier that no policy can be below; and
the recorded stock of a market.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.plots.figure import Figure, Row, where
from cgrsp_simpy.plots.parts import dots, intervals, legend_above, whole_numbers
from cgrsp_simpy.plots.style import (
    DEADLINE,
    EXECUTING,
    IDLE,
    MISSED,
    PROVISIONING,
    STATUS,
    axes,
    looks,
)
from cgrsp_simpy.rental.measured import StockFit

HOURS = {  # of `rental.metrics.slot_hours`: label and colour
    "service": ("service", EXECUTING),
    "provisioning_high": ("provisioning, High stock", STATUS[0]),
    "provisioning_medium": ("Medium", STATUS[1]),
    "provisioning_low": ("Low", STATUS[2]),
    "idle_held": ("idle, jobs wait", MISSED),
    "idle_empty": ("idle, none waits", IDLE),
}
PARTS = {  # of the cost of a day: label and colour
    "rent_usd": ("rent", EXECUTING),
    "slots_usd": ("slots", PROVISIONING),
    "misses_usd": ("misses", MISSED),
    "late_usd": ("lateness", DEADLINE[1]),
    "waits_usd": ("waiting", DEADLINE[0]),
}
FRONT: dict[str, Any] = {"color": "0.55", "lw": 1.0, "zorder": 1}
LIMIT: dict[str, Any] = {"color": "0.55", "lw": 1.0, "linestyle": (0, (4, 2)), "zorder": 0}
BAND: dict[str, Any] = {"color": "0.9", "linewidth": 0, "zorder": -1}


def trade_off(
    rows: Sequence[Mapping[str, Any]],
    bounds: Mapping[str, Mean] | None = None,
    ax: Axes | None = None,
    title: str = "",
) -> Axes:
    """A point an option: missed deadlines against mean wait, with 95 % intervals; lines and bands
    of what no policy is below.

    rows: of one number of slots, with policy, wait_min, wait_min_half, miss_pct and miss_pct_half;
    a line joins those that no other beats in both. bounds: of wait_min and miss_pct; their
    intervals are the bands, cut off at 0.
    """
    ax = axes(ax)
    handles: list[Line2D] = []
    for row, look in zip(rows, looks([row["policy"] for row in rows])):
        handles += ax.plot(
            row["wait_min"],
            row["miss_pct"],
            label=row["policy"],
            linestyle="",
            clip_on=False,
            **dots(look),
        )
        point, halves = (
            ([row["wait_min"]], [row["miss_pct"]]),
            ([row["wait_min_half"]], [row["miss_pct_half"]]),
        )
        intervals(ax, *point, *halves, colour=look.colour)
    points = sorted((row["wait_min"], row["miss_pct"]) for row in rows)
    front = [
        (wait, miss)
        for place, (wait, miss) in enumerate(points)
        if all(miss < other for _, other in points[:place])
    ]
    ax.plot([wait for wait, _ in front], [miss for _, miss in front], **FRONT)
    if bounds:
        wait, miss = bounds["wait_min"], bounds["miss_pct"]
        ax.axvline(wait.mean, **LIMIT)
        ax.axhline(miss.mean, **LIMIT)
        ax.axvspan(max(wait.low, 0.0), wait.high, **BAND)
        ax.axhspan(max(miss.low, 0.0), miss.high, **BAND)
    ax.set(xlabel="mean wait (min)", ylabel="missed deadlines (%)", ylim=(0, None))
    handles.append(Line2D([], [], label="Pareto set", **FRONT))
    if bounds:
        handles.append(Line2D([], [], label="lower bound, 95 % interval", **LIMIT))
    legend_above(ax, handles, title)
    return ax


def cost_bars(rows: Sequence[Mapping[str, Any]], ax: Axes | None = None, title: str = "") -> Axes:
    """A bar an option: the cost of a day by what it is for, with the 95 % interval of the whole.

    rows: with policy, slots, types, today (whether it is what is now), those of PARTS in USD,
    total_usd and total_usd_half.
    """
    ax = axes(ax)
    places, left = np.arange(len(rows)), np.zeros(len(rows))
    for name, (_, colour) in PARTS.items():
        values = np.array([row[name] for row in rows])
        ax.barh(places, values, 0.7, left, color=colour, edgecolor="0.4", linewidth=0.4)
        left += values
    intervals(ax, left, places, x_half=[row["total_usd_half"] for row in rows])
    names = [
        f"{'today: ' if row['today'] else ''}{row['policy']}, {row['slots']}"
        f" slot{'s' * (row['slots'] != 1)}, {row['types']}"
        for row in rows
    ]
    ax.set_yticks(places, names)
    ax.set(xlabel="cost of a day (USD)", ylim=(len(rows) - 0.5, -0.5), xlim=(0, None))
    handles = [
        Patch(facecolor=colour, edgecolor="0.4", label=label) for label, colour in PARTS.values()
    ]
    legend_above(ax, handles, title)
    return ax


def cost_by_slots(
    rows: Sequence[Mapping[str, Any]], ax: Axes | None = None, title: str = ""
) -> Axes:
    """A line a policy: the cost of a day against the number of slots, with 95 % intervals.

    rows: with policy, slots, total_usd and total_usd_half, in USD.
    """
    ax = axes(ax)
    policies = sorted(dict.fromkeys(row["policy"] for row in rows))
    handles: list[Line2D] = []
    for policy, look in zip(policies, looks(policies)):
        own = sorted((row for row in rows if row["policy"] == policy), key=lambda row: row["slots"])
        slots, costs, halves = (
            [row[name] for row in own] for name in ("slots", "total_usd", "total_usd_half")
        )
        handles += ax.plot(slots, costs, label=policy, linestyle=look.line, **dots(look))
        intervals(ax, slots, costs, y_half=halves, colour=look.colour)
    ax.set(xlabel="slots", ylabel="cost of a day (USD)")
    whole_numbers(ax.xaxis)
    legend_above(ax, handles, title)
    return ax


def slot_hours(
    hours: Mapping[str, Mapping[str, float]], ax: Axes | None = None, title: str = ""
) -> Axes:
    """A bar a policy: the slots' hours by what they are spent on.

    hours: policy -> name of HOURS -> hours.
    """
    ax = axes(ax)
    left = np.zeros(len(hours))
    for name, (label, colour) in HOURS.items():
        values = np.array([own[name] for own in hours.values()])
        ax.barh(
            range(len(hours)),
            values,
            0.7,
            left,
            color=colour,
            edgecolor="0.4",
            linewidth=0.4,
            label=label,
        )
        left += values
    ax.set_yticks(range(len(hours)), list(hours))
    ax.set(xlabel="hours of all slots", ylim=(len(hours) - 0.5, -0.5))
    legend_above(
        ax,
        [Patch(facecolor=colour, edgecolor="0.4", label=label) for label, colour in HOURS.values()],
        title,
    )
    return ax


LINE: dict[str, Any] = {"color": "0.25", "lw": 1.2, "zorder": 2}
NONE_HERE: dict[str, Any] = {"color": "0.92", "linewidth": 0, "zorder": 0}
INTERVAL: dict[str, Any] = {"color": "0.78", "linewidth": 0, "zorder": 1}
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
    policies = where(rows, kind="policy")
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
        ax.fill(*[np.concatenate([low, high[::-1]]) for low, high in pairs], **INTERVAL)
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
        handles.append(Patch(label="its 95 % interval", **INTERVAL))
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


def frontier(note: str) -> Figure:
    """The figure of a frontier, of rows as `policies_and_frontier` takes them. note: above it."""

    def draw(canvas: Canvas, rows: list[Row]) -> None:
        policies_and_frontier(rows, canvas.add_subplot(), note)

    title = "Misses against wait, and what no policy can reach"
    return Figure("frontier", title, (6.3, 4.0), draw=draw)


def market(stem: str, types: int) -> Figure:
    """The figure of so many types of a market, of `market_rows`."""
    size = (6.3, 0.6 + 2.2 * types)
    return Figure(stem, "The stock of each type", size, rows=market_rows, draw=draw_market)


LAGS_H = (0.5, 1, 2, 3, 4, 6, 8, 12, 16, 20, 24)


def market_rows(fits: Sequence[StockFit]) -> list[Row]:
    """What is plotted: a row a run of a status within a day, and a row a lag.

    fits: a law a type, with its snapshots.
    """
    return [row for fit in fits for row in (*_runs(fit), *_lags(fit))]


def _runs(fit: StockFit) -> list[Row]:
    polls, gpu = fit.polls, fit.stock.gpu
    at_h = polls.time_s / 3600 + polls.snapshots.start_h
    step_h, found = polls.step_s / 3600, []
    keyed = zip(polls.status.tolist(), (at_h // 24).astype(int).tolist(), (at_h % 24).tolist())
    for (status, day), own in groupby(keyed, key=lambda each: each[:2]):
        hours = [hour for _, _, hour in own]
        if status >= 0:
            to_h = min(24.0, hours[-1] + step_h)
            found.append(
                {"type": gpu, "day": day, "from_h": hours[0], "to_h": to_h, "status": status}
            )
    return found


def _lags(fit: StockFit) -> list[Row]:
    found = []
    for lag_h in LAGS_H:
        value, half_width = fit.polls.correlation(lag_h)
        if np.isfinite(value):
            law = fit.correlation(lag_h)
            own = {"correlation": value, "half_width": half_width, "law": law}
            found.append({"type": fit.stock.gpu, "lag_h": lag_h, **own})
    return found


def draw_market(canvas: Canvas, rows: list[Row]) -> None:
    """A line of two panels a type: its days, and the correlation of its status."""
    types = list(dict.fromkeys(row["type"] for row in rows))
    grid = canvas.subplots(len(types), 2, squeeze=False, width_ratios=(3, 2))
    for name, (days, lags) in zip(types, grid):
        own = where(rows, type=name)
        _draw_days(days, [row for row in own if "day" in row], name)
        _draw_lags(lags, [row for row in own if "lag_h" in row])
    for ax in grid[:-1].flat:
        ax.set_xlabel("")
    names, there = ("High stock", "Medium", "Low"), {row.get("status") for row in rows}
    patches = [
        Patch(color=colour, label=label)
        for status, (colour, label) in enumerate(zip(STATUS, names))
        if status in there
    ]
    blank = Patch(facecolor="white", edgecolor="grey", label="no data")
    lines, _ = grid[0][1].get_legend_handles_labels()
    canvas.legend(handles=[*patches, blank, *lines], ncols=3, loc="outside upper left")


def _draw_days(ax: Axes, rows: list[Row], name: str) -> None:
    ax.barh(
        [row["day"] for row in rows],
        [row["to_h"] - row["from_h"] for row in rows],
        left=[row["from_h"] for row in rows],
        height=1.0,
        color=[STATUS[row["status"]] for row in rows],
        linewidth=0,
    )
    ax.set(xlim=(0, 24), xticks=range(0, 25, 6), xlabel="hour of day", ylabel="day")
    ax.set_title(name, loc="left", fontsize="medium")
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.invert_yaxis()


def _draw_lags(ax: Axes, rows: list[Row]) -> None:
    lags = [row["lag_h"] for row in rows]
    ax.errorbar(
        lags,
        [row["correlation"] for row in rows],
        [row["half_width"] for row in rows],
        fmt="o",
        color="black",
        markersize=3,
        label="snapshots, 95 %",
    )
    ax.plot(lags, [row["law"] for row in rows], color="#D55E00", label="fitted law")
    ax.axhline(0, color="grey", linewidth=0.5)
    ax.set(xlabel="lag (h)", ylabel="correlation", ylim=(-0.35, 1.05), xticks=range(0, 25, 6))
