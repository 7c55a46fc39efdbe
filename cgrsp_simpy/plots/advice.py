"""Plots for advice: what a day costs by its parts and by the number of slots, misses against wait
with the limits and the Pareto set, and where the slots' hours go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cgrsp_simpy.analysis.statistics import Mean
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
