"""Figures of recorded stock."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from cgrsp_simpy.market.measured import StockFit
from cgrsp_simpy.plots.figure import Canvas, Figure, Row, numbers, where
from cgrsp_simpy.plots.style import STATUS


def market(stem: str, types: int) -> Figure:
    """Return a figure of a market's GPU types, from `market_rows`."""
    size = (6.3, 0.6 + 2.2 * types)
    return Figure(
        stem, "The stock of each type", size, rows=market_rows, draw=draw_market
    )


LAGS_H = (0.5, 1, 2, 3, 4, 6, 8, 12, 16, 20, 24)


def market_rows(fits: Sequence[StockFit]) -> list[Row]:
    """Return one row per run of a status within a day, and one per lag."""
    return [row for fit in fits for row in (*_runs(fit), *_lags(fit))]


def _runs(fit: StockFit) -> list[Row]:
    polls, step_h = fit.polls, fit.polls.step_s / 3600
    at_h = polls.time_s / 3600 + polls.snapshots.start_h
    keyed = zip(
        polls.status.tolist(), (at_h // 24).astype(int).tolist(), (at_h % 24).tolist()
    )
    return [
        {"type": fit.stock.gpu, "day": day, "from_h": hours[0]}
        | {"to_h": min(24.0, hours[-1] + step_h), "status": status}
        for (status, day), polls_of_run in groupby(keyed, key=lambda poll: poll[:2])
        for hours in [[hour for _, _, hour in polls_of_run]]
        if status >= 0
    ]


def _lags(fit: StockFit) -> list[Row]:
    lags = ((lag_h, *fit.polls.correlation(lag_h)) for lag_h in LAGS_H)
    return [
        {"type": fit.stock.gpu, "lag_h": lag_h, "correlation": value}
        | {"half_width": half_width, "model": fit.correlation(lag_h)}
        for lag_h, value, half_width in lags
        if np.isfinite(value)
    ]


def draw_market(canvas: Canvas, rows: list[Row]) -> None:
    """Draw two panels per type: its days, and the correlation of its status."""
    types = list(dict.fromkeys(row["type"] for row in rows))
    grid = canvas.subplots(len(types), 2, squeeze=False, width_ratios=(3, 2))
    for name, (days, lags) in zip(types, grid):
        of_type = where(rows, type=name)
        _draw_days(days, [row for row in of_type if "day" in row], name)
        _draw_lags(lags, [row for row in of_type if "lag_h" in row])
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
        numbers(rows, "correlation"),
        numbers(rows, "half_width"),
        fmt="o",
        color="black",
        markersize=3,
        label="snapshots, 95 %",
    )
    ax.plot(lags, numbers(rows, "model"), color="#D55E00", label="fitted model")
    ax.axhline(0, color="grey", linewidth=0.5)
    ax.set(
        xlabel="lag (h)",
        ylabel="correlation",
        ylim=(-0.35, 1.05),
        xticks=range(0, 25, 6),
    )
