"""Plots of decisions: daily cost by part and by number of slots; the frontier of wait
and misses.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cgrsp_simpy.base.files import write_files
from cgrsp_simpy.base.table import csv_text, grouped, page
from cgrsp_simpy.decide.advice import PRINT, Advice
from cgrsp_simpy.decide.recommend import PARTS
from cgrsp_simpy.plots.figure import Canvas, Figure, Row, numbers, where
from cgrsp_simpy.plots.parts import (
    dots,
    hollow,
    intervals,
    legend_above,
    three_digits,
    whole_numbers,
)
from cgrsp_simpy.plots.style import (
    DEADLINE,
    EXECUTING,
    MISSED,
    PROVISIONING,
    Look,
    looks,
)

COLOURS = dict(zip(PARTS, (EXECUTING, PROVISIONING, MISSED, DEADLINE[1], DEADLINE[0])))
# By line, not by policy: lines of one policy must differ in hue, too.
SLOT_LOOKS = (
    Look("#0072B2", "o", "-"),
    Look("#D55E00", "s", (0, (5, 1.5))),
    Look("#009E73", "^", (0, (6, 1.5, 1, 1.5))),
    Look("#AA4499", "D", (0, (2, 1))),
    Look("#000000", "v", (0, (1, 1))),
)
DEAREST = 1.6  # greatest cost inside the axes, over the least
UNDER: dict[str, Any] = {  # alignment of a text below its point
    **{"textcoords": "offset points", "ha": "center", "va": "center"},
    "fontsize": "small",
}
BESIDE: dict[str, Any] = {  # alignment of a text to the right of its point
    **{"textcoords": "offset points", "va": "center", "fontsize": "small"},
}


def draw_bars(canvas: Canvas, rows: list[Row]) -> None:
    """Draw one bar per option: daily cost by part, and an interval of the total."""
    ax = canvas.add_subplot()
    places, left = np.arange(len(rows)), np.zeros(len(rows))
    for name, colour in COLOURS.items():
        values = np.array([row[name] for row in rows])
        ax.barh(places, values, 0.7, left, color=colour, edgecolor="0.4", linewidth=0.4)
        left += values
    halves = [row["total_usd_half"] for row in rows]
    intervals(ax, left, places, x_half=halves)
    ends = np.fmax(left, left + halves)
    for place, end, total in zip(places, ends, left):
        ax.annotate(three_digits(total), (end, place), (4, 0), **BESIDE)
    names = [
        f"{row['policy']}, {row['types']}\n{row['hours']}"
        if row["hours"]
        else f"{row['change']}: {row['policy']}, {row['slots']}, {row['types']}"
        for row in rows
    ]
    ax.set_yticks(places, names)
    ax.set(xlabel="cost per day (USD)", ylim=(len(rows) - 0.5, -0.5))
    ax.set_xlim(0, 1.1 * ends.max())
    handles = [
        Patch(facecolor=colour, edgecolor="0.4", label=PARTS[name])
        for name, colour in COLOURS.items()
    ]
    legend_above(ax, handles)


def searched(advice: Advice) -> list[Row]:
    """Return the rows of options that differ only in the number of slots.

    They are of the cheapest combinations of policy and types with at least three
    numbers of slots, at most as many as SLOT_LOOKS. advised: whether an option is the
    advised one.
    """
    by_slots = sorted(
        where(advice.rows, compared=False, hours=""),
        key=lambda row: float(row["slots"]),
    )
    lines = grouped(by_slots, lambda row: (row["policy"], row["types"]))
    long = [rows for rows in lines.values() if len(rows) > 2]
    long.sort(key=lambda rows: min(float(row["total_usd"]) for row in rows))
    option = advice.advised.as_row()
    return [
        {**row, "advised": option.items() <= row.items()}
        for rows in long[: len(SLOT_LOOKS)]
        for row in rows
    ]


def draw_slots(canvas: Canvas, rows: list[Row]) -> None:
    """Draw the daily cost against the number of slots, one line per policy and types.

    The cost axis ends at DEAREST times the least cost.
    """
    ax = canvas.add_subplot()
    lines = list(dict.fromkeys((row["policy"], row["types"]) for row in rows))
    handles: list[Line2D] = []
    for (policy, types), look in zip(lines, SLOT_LOOKS):
        line = where(rows, policy=policy, types=types)
        slots, usd, halves = (
            numbers(line, name) for name in ("slots", "total_usd", "total_usd_half")
        )
        label = f"{policy}, {types}"
        handles += ax.plot(slots, usd, label=label, linestyle=look.line, **dots(look))
        intervals(ax, slots, usd, y_half=halves, colour=look.colour)
    least = min(numbers(rows, "total_usd"))
    near = [row["slots"] for row in rows if row["total_usd"] <= DEAREST * least]
    ax.set(xlabel="slots", xlim=(min(near) - 0.8, max(near) + 0.8))
    ax.set(ylabel="cost per day (USD)", ylim=(0.9 * least, DEAREST * least))
    for row in where(rows, advised=True):
        at = row["slots"], row["total_usd"]
        ax.annotate(f"advised: {at[0]}", at, (0, -16), **UNDER)
        ax.plot(*at, **hollow(Look("0.2", "o", "")))
    whole_numbers(ax.xaxis)
    legend_above(ax, handles)


ADVICE = (
    Figure(
        "advice_cost",
        (
            "Cost per day by component: today, the compared options, and"
            " the best option of each other kind of change in the search;"
            " 95 % intervals."
        ),
        (6.3, 3.4),
        rows=lambda advice: advice.shown,
        draw=draw_bars,
        texts=("change", "types"),
    ),
    Figure(
        "advice_slots",
        (
            "Cost per day by the number of slots, over the seeds of the"
            " search, with 95 % intervals for options with enough seeds."
            f" Options that cost more than {DEAREST:g} times the lowest cost are"
            " outside the axes."
        ),
        (6.3, 3.4),
        rows=searched,
        draw=draw_slots,
        texts=("change", "types"),
    ),
)


def write_report(advice: Advice, folder: Path) -> None:
    """Write advice as a printable HTML page with figures, and its rows as CSV."""
    contents, pictures = dict[Path, bytes](), ""
    for figure in ADVICE:
        contents |= figure.contents(folder, figure.rows(advice))
        data = b64encode(contents[folder / f"{figure.stem}.png"]).decode()
        title = escape(figure.title)
        pictures += f'<figure><img src="data:image/png;base64,{data}" alt="{title}">'
        pictures += f"<figcaption>{title}</figcaption></figure>"
    text = page(advice.title, [advice.html(pictures)], PRINT)
    contents[folder / "advice.html"] = text.encode()
    contents[folder / "advice.csv"] = csv_text(advice.rows).encode()
    write_files(contents)


LINE: dict[str, Any] = {"color": "0.25", "lw": 1.2, "zorder": 2}
NONE_HERE: dict[str, Any] = {"color": "0.92", "linewidth": 0, "zorder": 0}
INTERVAL: dict[str, Any] = {"color": "0.78", "linewidth": 0, "zorder": 1}
KINDS = ("low", "bound", "high")  # kinds of corners, from the lowest line up
ROOM = 0.12  # share of the Axes beyond the points


def draw_frontier(canvas: Canvas, rows: list[Row]) -> None:
    """Draw one point per policy, and the lower bound on misses at every mean wait.

    rows: mappings with kind, name, wait_min, miss_pct and their half widths. Kind
    "policy" is a point; "bound", "low" and "high" are corners of the frontier and of
    its 95 % interval, shortest wait first. A single seed has no interval.
    """
    ax = canvas.add_subplot()
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
        at = [row["wait_min"]], [row["miss_pct"]]
        halves = [row["wait_min_half"]], [row["miss_pct_half"]]
        handles += ax.plot(
            *at, label=row["name"], ls="", zorder=3, clip_on=False, **dots(look)
        )
        intervals(ax, *at, *halves, colour=look.colour)
    handles.append(Line2D([], [], label="lower bound", **LINE))
    if "low" in paths:
        handles.append(Patch(label="its 95 % interval", **INTERVAL))
    handles.append(Patch(label="below the bound", **NONE_HERE))
    legend_above(ax, handles, rows[0].get("title") or "")


def _ends(rows: Sequence[Mapping[str, Any]], name: str) -> Iterator[float]:
    """Yield both ends of each row's interval; without one, the value twice."""
    for row in rows:
        half = np.nan_to_num(row[f"{name}_half"])
        yield from (row[name] - half, row[name] + half)


def _corners(
    rows: Sequence[Mapping[str, Any]], kind: str
) -> tuple[np.ndarray, np.ndarray]:
    wait_min, miss_pct = np.array(
        [(row["wait_min"], row["miss_pct"]) for row in where(rows, kind=kind)], float
    ).T
    return wait_min, miss_pct


def _to_the_edges(
    ax: Axes, wait_min: np.ndarray, miss_pct: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Extend the line through corners to the upper and right edges of the Axes."""
    (_, right), (_, top) = ax.get_xlim(), ax.get_ylim()
    wait = np.array([wait_min[0], *wait_min, max(right, wait_min[-1])])
    return wait, np.array([max(top, miss_pct[0]), *miss_pct, miss_pct[-1]])


FRONTIER = Figure(
    "frontier",
    "Misses against wait, and what no policy can reach",
    (6.3, 4.0),
    draw=draw_frontier,
    texts=("title",),
)
FIGURES = {figure.stem: figure for figure in (*ADVICE, FRONTIER)}
