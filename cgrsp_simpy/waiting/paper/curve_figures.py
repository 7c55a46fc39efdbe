"""What the figures of waiting-policies.txt share: curves, and what is read from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from cgrsp_simpy.model.table import half
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import Draw, Figure, Figures, Handles, Row, where
from cgrsp_simpy.plots.parts import told, whole_numbers
from cgrsp_simpy.plots.style import Look, looks
from cgrsp_simpy.waiting.policies import (
    POLICIES,
)

PRICE, SERVERS = "price P (on demand = 1)", "fixed machines s"
BUSY, RENTED = "#0B4F9C", "#E69F00"
FAINT: dict[str, Any] = {"color": "0.6", "linewidth": 0.8, "zorder": 0}
KINDS = {
    "over-predictions": Look("#C04A00", "o", "-"),
    "under-predictions": Look(BUSY, "^", (0, (6, 1.5, 1, 1.5))),
}
SHAPES = "osD^vP"


BOTH = "line: formula; marks: simulation with 95 % intervals"
SIMULATED = "simulation with 95 % intervals"
SIZE = (6.3, 3.2)  # inches


class Panel(NamedTuple):
    """What stands on a y axis: the column, its label, and limits where they are not
    those of the data.
    """

    metric: str
    label: str
    low: float | None = None
    high: float | None = None


def _looks(names: Sequence[str]) -> dict[str, Look]:
    """The looks of policies; other lines are in order, from dark to light."""
    others = [name for name in names if name not in POLICIES and name not in KINDS]
    colours = map(to_hex, colormaps["viridis"](np.linspace(0.0, 0.85, max(2, len(others)))))
    own = zip(others, colours, SHAPES)
    ordered = {name: Look(colour, shape, "-") for name, colour, shape in own}
    return {name: ordered.get(name) or KINDS.get(name) or looks([name])[0] for name in names}


PRICED = Panel("normalized_price", PRICE)
WAITED, HOURLY = (
    Panel("wait_s", "mean wait w (s)", low=0),
    Panel("wait_h", "mean wait w (h)", low=0),
)
COSTLY = Panel("opportunity_cents", "opportunity cost P w (cents)", low=0)
TRIPLE = (PRICED, HOURLY, COSTLY)
WRONG = "mispredicted (%)"


def numbered(figures: Figures, number: int, title: str, note: Any, **more: Any) -> Figure:
    """Declare a figure with the number that it has in the paper."""
    own = {"size": SIZE, "stem": f"waiting_figure_{number}", "head": f"Figure {number}", **more}
    return figures.add(str(number), title, note=note, **own)


def curves(x: str, label: str, *panels: Panel) -> Draw:
    """Panels side by side: formulas as lines and simulation as marks; simulation alone as marks
    joined by lines.
    """

    def draw(canvas: Canvas, rows: list[Row]) -> Handles:
        by_name = _looks(list(dict.fromkeys(row["line"] for row in rows)))
        axes = canvas.subplots(1, len(panels), squeeze=False)[0]
        for ax, panel in zip(axes, panels):
            for name, look in by_name.items():
                own = [row for row in rows if row["line"] == name and panel.metric in row]
                _curve(ax, own, x, panel, look)
            _finish(ax, panel, label)
        simulated = {row["line"] for row in rows if row["from"] == "simulation"}
        return [_handle(name, look, name in simulated) for name, look in by_name.items()]

    return draw


def _curve(ax: Axes, rows: Sequence[Row], x: str, panel: Panel, look: Look) -> None:
    metric, highest = panel.metric, math.inf if panel.high is None else panel.high
    formula, simulated = (
        [row for row in rows if row["from"] == source] for source in ("formula", "simulation")
    )
    line: dict[str, Any] = {"color": look.colour, "linestyle": look.line}
    ax.plot([row[x] for row in formula], [row[metric] for row in formula], **line)
    if not simulated:
        return
    columns = (x, metric, half(metric))
    places, values, halves = ([row[name] for row in simulated] for name in columns)
    own = {**line, "marker": look.marker, **({"linestyle": "none"} if formula else {})}
    # marks at 0 are seen as a whole
    ax.plot(places, values, **own, clip_on=any(value > highest for value in values))
    colour = look.colour if formula else f"{look.colour}80"
    marks.intervals(ax, places, values, y_half=halves, colour=colour)


def _finish(ax: Axes, panel: Panel, label: str) -> None:
    ax.set(xlabel=label, ylabel=panel.label)
    whole_numbers(ax.xaxis)
    ax.set_ylim(panel.low, panel.high)


def _handle(name: str, look: Look, simulated: bool) -> Line2D:
    return Line2D(
        [],
        [],
        color=look.colour,
        linestyle=cast(Any, look.line),
        marker=look.marker if simulated else "",
        label=name,
    )


def mispredicted(x: str, label: str, *panels: Panel) -> Draw:
    """Over- and under-predictions beside perfect predictions, which are those of an error of 0."""

    def draw(canvas: Canvas, rows: list[Row]) -> Handles | None:
        handles = curves(x, label, *panels)(canvas, rows)
        perfect = next(row for row in rows if row[x] == 0)
        for ax, panel in zip(canvas.axes, panels):
            ax.axhline(perfect[panel.metric], color="0.4", linestyle=":", zorder=0)
        return handles

    return draw


def at(
    rows: Sequence[Row], line: str, metric: str, source: str = "simulation", **x: float
) -> float:
    """A value that is plotted. x: the column of the x axis, and the place there."""
    own = where(rows, line=line, **{"from": source}, **x)
    return next(float(row[metric]) for row in own if metric in row)


def least(
    rows: Sequence[Row],
    line: str,
    metric: str = "normalized_price",
    source: str = "formula",
    x: str = "servers",
) -> tuple[float, float]:
    """The least value of a line, and where."""
    return min((float(row[metric]), row[x]) for row in where(rows, line=line, **{"from": source}))


def measured(rows: Sequence[Row], line: str, metric: str, **x: float) -> str:
    """A simulated value with half of its interval."""
    value, spread = (at(rows, line, name, "simulation", **x) for name in (metric, half(metric)))
    return f"{told(value)} ± {told(spread)}"


def gain(before: float, after: float) -> str:
    """By how much one value differs from another."""
    return f"{told(100 * abs(after / before - 1))} %"


def seen_run_errors(rows: list[Row]) -> str:
    """Of ljw with mispredicted running times."""
    wait, unit = ("wait_s", "s") if "wait_s" in rows[0] else ("wait_h", "h")
    over, under, price = "over-predictions", "under-predictions", "normalized_price"
    none, some = (measured(rows, over, wait, error_pct=pct) for pct in (0, 50))
    low, high, other = (
        at(rows, line, price, error_pct=pct) for line, pct in ((over, 0), (over, 50), (under, 50))
    )
    return (
        "If half of the short jobs are taken for long, the mean wait goes from"
        f" {none} {unit} to {some} {unit} and the price from {low:.3f} to {high:.3f}; if half of"
        f" the long ones are taken for short, the wait goes to"
        f" {measured(rows, under, wait, error_pct=50)} {unit} and the price to {other:.3f}."
    )
