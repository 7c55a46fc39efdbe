"""The recorded stock of a market: day by day, and how long it lasts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from cgrsp_simpy.plots.style import STATUS
from cgrsp_simpy.rental.fit import StockFit

Row = dict[str, Any]
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


def draw_market(canvas: Figure, rows: list[Row]) -> None:
    """A line of two panels a type: its days, and the correlation of its status."""
    types = list(dict.fromkeys(row["type"] for row in rows))
    grid = canvas.subplots(len(types), 2, squeeze=False, width_ratios=(3, 2))
    for name, (days, lags) in zip(types, grid):
        own = [row for row in rows if row["type"] == name]
        _draw_days(days, [row for row in own if "day" in row], name)
        _draw_lags(lags, [row for row in own if "lag_h" in row])
    for axes in grid[:-1].flat:
        axes.set_xlabel("")
    names, there = ("High stock", "Medium", "Low"), {row.get("status") for row in rows}
    patches = [
        Patch(color=colour, label=label)
        for status, (colour, label) in enumerate(zip(STATUS, names))
        if status in there
    ]
    blank = Patch(facecolor="white", edgecolor="grey", label="no data")
    lines, _ = grid[0][1].get_legend_handles_labels()
    canvas.legend(handles=[*patches, blank, *lines], ncols=3, loc="outside upper left")


def _draw_days(axes: Axes, rows: list[Row], name: str) -> None:
    axes.barh(
        [row["day"] for row in rows],
        [row["to_h"] - row["from_h"] for row in rows],
        left=[row["from_h"] for row in rows],
        height=1.0,
        color=[STATUS[row["status"]] for row in rows],
        linewidth=0,
    )
    axes.set(xlim=(0, 24), xticks=range(0, 25, 6), xlabel="hour of day", ylabel="day")
    axes.set_title(name, loc="left", fontsize="medium")
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.invert_yaxis()


def _draw_lags(axes: Axes, rows: list[Row]) -> None:
    lags = [row["lag_h"] for row in rows]
    axes.errorbar(
        lags,
        [row["correlation"] for row in rows],
        [row["half_width"] for row in rows],
        fmt="o",
        color="black",
        markersize=3,
        label="snapshots, 95 %",
    )
    axes.plot(lags, [row["law"] for row in rows], color="#D55E00", label="fitted law")
    axes.axhline(0, color="grey", linewidth=0.5)
    axes.set(xlabel="lag (h)", ylabel="correlation", ylim=(-0.35, 1.05), xticks=range(0, 25, 6))
