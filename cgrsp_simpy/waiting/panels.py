"""How the rows behind each figure of waiting-policies.txt are drawn on a canvas, and what is seen
there in a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps, rcParams
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cgrsp_simpy.model.table import half
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.parts import (
    beside_point,
    legend_outside,
    no_flat_axis,
    told,
    whole_numbers,
)
from cgrsp_simpy.plots.style import Look, looks
from cgrsp_simpy.waiting.figure_data import LONG_CV, TIGHT, Row
from cgrsp_simpy.waiting.machines import PAPER_PRICES
from cgrsp_simpy.waiting.policies import POLICIES

Draw = Callable[[Canvas, list[Row], str], None]
"""Draws rows on a canvas, with a note above."""

PRICE, SERVERS = "price P (on demand = 1)", "fixed machines s"
BUSY, RENTED = "#0B4F9C", "#E69F00"
FAINT: dict[str, Any] = {"color": "0.6", "linewidth": 0.8, "zorder": 0}
KINDS = {
    "over-predictions": Look("#C04A00", "o", "-"),
    "under-predictions": Look(BUSY, "^", (0, (6, 1.5, 1, 1.5))),
}
SHAPES = "osD^vP"
WIDE = 84  # letters on a line above the panels


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


def curves(x: str, label: str, *panels: Panel, title: str = "") -> Draw:
    """Panels side by side: formulas as lines and simulation as marks; simulation alone as marks
    joined by lines.

    title: of the legend, where its names do not speak for themselves.
    """

    def draw(canvas: Canvas, rows: list[Row], note: str) -> None:
        by_name = _looks(list(dict.fromkeys(row["line"] for row in rows)))
        axes = canvas.subplots(1, len(panels), squeeze=False)[0]
        for ax, panel in zip(axes, panels):
            for name, look in by_name.items():
                own = [row for row in rows if row["line"] == name and panel.metric in row]
                _curve(ax, own, x, panel, look)
            _finish(ax, panel, label)
        simulated = {row["line"] for row in rows if row["from"] == "simulation"}
        handles = [_handle(name, look, name in simulated) for name, look in by_name.items()]
        _legend(canvas, handles, note, title)

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
    own: dict[str, Any] = {"color": look.colour, "linestyle": look.line}
    return Line2D([], [], **own, marker=look.marker if simulated else "", label=name)


def _legend(canvas: Canvas, handles: Sequence[Line2D | Patch], note: str, title: str = "") -> None:
    """A legend above all panels; the note, and what its names mean, as its title."""
    lengths = [len(str(handle.get_label())) + 7 for handle in handles]
    columns = len(handles) if sum(lengths) <= WIDE else WIDE // max(lengths)
    both = "\n".join(text for text in (note, title) if text)
    legend_outside(canvas, handles, both, columns, handlelength=2.6)


# ---- Figures of their own kind ----


def price_table(canvas: Canvas, rows: list[Row], note: str) -> None:
    """Table 1 as bars."""
    ax = canvas.add_subplot()
    names = [f"{row['option']}, {row['utilisation_pct']} %" for row in rows]
    effective, printed = (
        [row[f"{which}effective_cents_per_h"] for row in rows] for which in ("", "printed_")
    )
    colours = [BUSY if row["option"] == "fixed" else RENTED for row in rows]
    marks.bars(ax, names, effective, [math.nan] * len(rows), printed, colours)
    ax.set(xlabel="effective price (US cents per hour of work)", ylabel="machine, utilisation")
    _legend(canvas, [Line2D([], [], label="as printed", **marks.hollow())], note)


def last_machine(canvas: Canvas, rows: list[Row], note: str) -> None:
    """Figure 3: the price, and the work of the last machine beside the break-even."""
    price = Panel("normalized_price", PRICE)
    work = Panel("last_utilisation", "utilisation of the last machine", low=0)
    curves("servers", SERVERS, price, work)(canvas, rows, note)
    formula = [row for row in rows if row["from"] == "formula"]
    best = min(formula, key=lambda row: float(row["normalized_price"]))["servers"]
    discount = PAPER_PRICES.fixed / PAPER_PRICES.on_demand
    for ax in canvas.axes:
        ax.axvline(best, **FAINT)
    canvas.axes[1].axhline(discount, **FAINT)
    beside_point(canvas.axes[1], f"d = {discount:g}, s = {best}", (best, discount), (4, 4))


def approximations(canvas: Canvas, rows: list[Row], note: str) -> None:
    """Errors of formulas, about 0."""
    curves("servers", SERVERS, Panel("error_pct", "wait by formula, error (%)"))(canvas, rows, note)
    canvas.axes[0].axhline(0, **FAINT)


def run_errors(x: str, label: str, *panels: Panel) -> Draw:
    """Over- and under-predictions beside perfect predictions, which are those of an error of 0."""

    def draw(canvas: Canvas, rows: list[Row], note: str) -> None:
        curves(x, label, *panels)(canvas, rows, note)
        perfect = next(row for row in rows if row[x] == 0)
        for ax, panel in zip(canvas.axes, panels):
            ax.axhline(perfect[panel.metric], color="0.4", linestyle=":", zorder=0)

    return draw


def features(canvas: Canvas, rows: list[Row], note: str) -> None:
    """Figure 15: two histograms, short jobs by t, and needs."""
    axes = canvas.subplots(2, 2)
    parts = [
        [row for row in rows if row["panel"] == panel]
        for panel in dict.fromkeys(row["panel"] for row in rows)
    ]
    for ax, part, name in zip(axes[0], parts, ("time between submissions", "running time")):
        _histogram(ax, part, name)
    _short(axes[1, 0], parts[2])
    _needs(axes[1, 1], parts[3])
    both = {"the jobs": BUSY, "exponential, the same mean": RENTED}
    _legend(canvas, [Patch(color=colour, label=name) for name, colour in both.items()], note)


def _histogram(ax: Axes, rows: Sequence[Row], name: str) -> None:
    """Shares of the jobs beside those of an exponential distribution, in bins that
    the ticks name.
    """
    places = np.arange(len(rows))
    for column, offset, colour in (("jobs_pct", -0.2, BUSY), ("exponential_pct", 0.2, RENTED)):
        ax.bar(places + offset, [row[column] for row in rows], 0.4, color=colour)
    ticks = [_duration(row["to_s"]) if math.isfinite(row["to_s"]) else "more" for row in rows]
    ax.set_xticks(places, ticks, fontsize="small")
    ax.set(xlabel=f"{name}, up to", ylabel="jobs (%)")


def _duration(seconds: float) -> str:
    unit, name = next(
        each for each in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")) if seconds >= each[0]
    )
    return f"{seconds / unit:g}\n{name}"


def _short(ax: Axes, rows: Sequence[Row]) -> None:
    minutes = [row["short_min"] for row in rows]
    for column, name, line in (
        ("jobs_pct", "of the jobs", "-"),
        ("core_hours_pct", "of the core-hours", "--"),
    ):
        values = [row[column] for row in rows]
        ax.plot(minutes, values, line, color=BUSY)
        beside_point(ax, name, (minutes[-1], values[-1]), (0, 4), ha="right")
    ax.set(xlabel="short are jobs below t (min)", ylabel="short jobs (%)", ylim=(0, 100))


def _needs(ax: Axes, rows: Sequence[Row]) -> None:
    """A dot for each kind of needs, its area as the share of the jobs."""
    cores, memory_gb, pct = (
        np.array([row[name] for row in rows]) for name in ("cores", "memory_gb", "jobs_pct")
    )
    largest = 3 * rcParams["lines.markersize"]  # points across
    areas = np.maximum(largest**2 * pct / pct.max(), 1)
    ax.scatter(cores, memory_gb, areas, color=BUSY, alpha=0.5, linewidths=0)
    ax.set(xlabel="cores (area of a dot: share of the jobs)", ylabel="memory (GB)")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter("{x:g}")
    if memory_gb.min() > 0:
        ax.set_yscale("log", base=2)
        ax.yaxis.set_major_formatter("{x:g}")
    ax.margins(0.12)
    no_flat_axis(ax, y=memory_gb)


# ---- What is seen ----


def _at(rows: Sequence[Row], line: str, metric: str, x: float, source: str = "simulation") -> float:
    """A value that is plotted."""
    found = (row for row in rows if (row["line"], row["from"]) == (line, source) and metric in row)
    return float(next(row[metric] for row in found if list(row.values())[2] == x))


def _least(
    rows: Sequence[Row], line: str, metric: str = "normalized_price", source: str = "formula"
) -> tuple[float, float]:
    """The least value of a line, and where."""
    found = (row for row in rows if (row["line"], row["from"]) == (line, source))
    return min((float(row[metric]), list(row.values())[2]) for row in found)


def _measured(rows: Sequence[Row], line: str, metric: str, x: float) -> str:
    return f"{told(_at(rows, line, metric, x))} ± {told(_at(rows, line, half(metric), x))}"


def _both(rows: Sequence[Row], line: str, ends: tuple[float, float]) -> list[float]:
    """By formula the waits at both ends, and then the prices."""
    metrics = ("wait_s", "normalized_price")
    return [_at(rows, line, metric, x, "formula") for metric in metrics for x in ends]


def _gain(before: float, after: float) -> str:
    return f"{told(100 * abs(after / before - 1))} %"


def seen_prices(rows: list[Row]) -> str:
    """Of Table 1."""
    fixed = next(row for row in rows if row["option"] == "fixed" and row["utilisation_pct"] == 100)
    return (
        "A fixed machine is the cheaper one if it works more than"
        f" {100 * fixed['normalized_price']:.0f} % of the time."
    )


def seen_ajw(rows: list[Row]) -> str:
    """Of Figure 2."""
    near, far, low, high = _both(rows, "ajw", (101, 120))
    return (
        f"From s = 101 to 120 the wait falls from {told(near)} s (simulation:"
        f" {_measured(rows, 'ajw', 'wait_s', 101)}) to {told(far)} s, and the price rises by"
        f" {_gain(low, high)}."
    )


def seen_njw(rows: list[Row]) -> str:
    """Of Figure 3."""
    price, s = _least(rows, "njw")
    work = _measured(rows, "njw", "last_utilisation", s)
    return (
        f"Cheapest are s = {s} machines, P = {price:.3f}, where the last one works {work} of the"
        " time by simulation."
    )


def seen_patience(rows: list[Row]) -> str:
    """Of Figure 4."""
    names = [name for name in dict.fromkeys(row["line"] for row in rows) if name != "ajw"]
    told_of = (
        f"{price:.3f} at s = {s} ({name})" for name in names for price, s in [_least(rows, name)]
    )
    return (
        "The longer jobs may wait, the fewer machines are best: the least price is"
        f" {', '.join(told_of)}."
    )


def seen_waits(rows: list[Row]) -> str:
    """Of Figure 5."""
    waits = (
        f"{told(_at(rows, name, 'wait_s', 101, 'formula'))} s ({name})"
        for name in dict.fromkeys(row["line"] for row in rows)
    )
    return f"At s = 101 the mean wait is {', '.join(waits)}."


def seen_balking(rows: list[Row]) -> str:
    """Of Figure 6."""
    formula = [row for row in rows if (row["line"], row["from"]) == ("sww", "formula")]
    low, s = max((row["wait_s"], row["servers"]) for row in formula)
    high = _at(rows, "ajw-t", "wait_s", s, "formula")
    return (
        f"The wait under sww is longest at s = {s}, {told(low)} s, where it is {told(high)} s"
        " under ajw-t."
    )


def seen_over_price(rows: list[Row]) -> str:
    """Of Figure 7."""
    (low, s), (high, other) = _least(rows, "0 %"), _least(rows, "5 %")
    return (
        f"Over-predicting 5 % of the waits raises the least price by {_gain(low, high)} and moves"
        f" it from s = {s} to {other}."
    )


def seen_over_wait(rows: list[Row]) -> str:
    """Of Figure 8."""
    none, some = (_measured(rows, line, "wait_s", 98) for line in ("0 %", "5 %"))
    return (
        f"At s = 98 over-predicting 5 % of the waits shortens the mean wait from {none} s to"
        f" {some} s (simulation)."
    )


def seen_under_wait(rows: list[Row]) -> str:
    """Of Figure 9."""
    few, many = (
        [_at(rows, line, "wait_s", s, "formula") for line in ("0 %", "50 %")] for s in (80, 104)
    )
    return (
        f"Under-predicting half of the waits lengthens the mean wait by {_gain(*few)} at s = 80,"
        f" where many jobs should not wait, and by {_gain(*many)} at s = 104."
    )


def seen_thresholds(rows: list[Row]) -> str:
    """Of Figure 10."""
    none, some, low, high = _both(rows, "ljw", (0, 180))
    simulated = _measured(rows, "ljw", "wait_s", 180)
    return (
        f"With t = 180 s the mean wait is {told(some)} s (simulation: {simulated}) in place of"
        f" {told(none)} s, at a price {_gain(low, high)} higher."
    )


def seen_run_errors(rows: list[Row]) -> str:
    """Of Figures 11 and 22."""
    wait, unit = ("wait_s", "s") if "wait_s" in rows[0] else ("wait_h", "h")
    over, under = "over-predictions", "under-predictions"
    return (
        "If half of the short jobs are taken for long, the mean wait goes from"
        f" {_measured(rows, over, wait, 0)} {unit} to {_measured(rows, over, wait, 50)}"
        f" {unit} and the price from {_at(rows, over, 'normalized_price', 0):.3f} to"
        f" {_at(rows, over, 'normalized_price', 50):.3f}; if half of the long ones are taken for"
        f" short, the wait goes to {_measured(rows, under, wait, 50)} {unit} and the price to"
        f" {_at(rows, under, 'normalized_price', 50):.3f}."
    )


def seen_compound(rows: list[Row]) -> str:
    """Of Figure 12."""
    return (
        f"At s = 98 the mean wait is {_measured(rows, 'compound', 'wait_s', 98)} s under the"
        f" compound policy and {_measured(rows, 'ljw', 'wait_s', 98)} s under ljw (simulation);"
        " below s = 95 ljw has no steady state."
    )


def seen_costs(rows: list[Row]) -> str:
    """Of Figures 13 and 14."""
    names = [row["line"] for row in rows if row["from"] == "simulation" and row["servers"] == 101]
    costs = sorted((_at(rows, name, "opportunity_cents", 101), name) for name in names)
    told_of = ", ".join(f"{told(cost)} ({name})" for cost, name in costs)
    return f"At s = 101 a job's wait costs, from the least to the most, in cents: {told_of}."


def seen_errors(rows: list[Row]) -> str:
    """Of our own figure."""
    small = [row["error_pct"] for row in rows if row["line"] == "compound" and row["servers"] <= 93]
    at_101 = {line: _measured(rows, line, "error_pct", TIGHT) for line in ("compound", "ljw")}
    return (
        "Up to s = 93, where the long jobs alone would keep more machines busy than there are, Eq."
        f" 26 errs by {told(min(small))} to {told(max(small))} %: there b bounds the wait whatever"
        f" the running times, yet Eq. 26 multiplies it by (CV² + 1)/2 = {(LONG_CV**2 + 1) / 2:.2f}."
        f" At s = {TIGHT} it errs by {at_101['compound']} %, Eq. 23 (ljw) by {at_101['ljw']} %."
    )


def seen_features(rows: list[Row]) -> str:
    """Of Figure 15."""
    gaps, runs = (
        next(row["jobs_pct"] for row in rows if row["panel"] == panel)
        for panel in ("gaps", "running times")
    )
    (work,) = (row["core_hours_pct"] for row in rows if row.get("short_min") == 3)
    return (
        f"{gaps:.0f} % of the jobs come within a second of the one before; {runs:.0f} % run for"
        f" less than 3 min, and bring {told(work)} % of the core-hours."
    )


def seen_workload(rows: list[Row]) -> str:
    """Of Figures 16 and 17."""
    _, number = _least(rows, "compound", source="simulation")
    price, wait = (
        _measured(rows, "compound", name, number) for name in ("normalized_price", "wait_h")
    )
    there = [row for row in rows if row["machines"] == number and row["line"] != "njw"]
    costs = ", ".join(
        f"{told(row['opportunity_cents'])} ({row['line']})"
        for row in sorted(there, key=lambda row: float(row["opportunity_cents"]))
    )
    return (
        f"The compound policy is cheapest with {number} machines, P = {price}, at a mean wait of"
        f" {wait} h; a job's wait costs there, from the least to the most, in cents: {costs}."
    )


def seen_workload_thresholds(rows: list[Row]) -> str:
    """Of Figure 18."""
    names = list(dict.fromkeys(row["line"] for row in rows))
    changes = (
        f"from {told(_at(rows, name, 'wait_h', 3))} to {told(_at(rows, name, 'wait_h', 30))} h"
        f" ({name})"
        for name in names
    )
    low, high = (_at(rows, "b = 24 h", "normalized_price", t) for t in (3, 30))
    return (
        f"From t = 3 to 30 min the mean wait goes {', '.join(changes)}; the price, with b = 24 h,"
        f" from {low:.3f} to {high:.3f}."
    )


def seen_workload_errors(rows: list[Row]) -> str:
    """Of Figure 19."""
    none, run, wait = (
        _at(rows, line, "normalized_price", x) for line, x in (("0 %", 0), ("0 %", 10), ("10 %", 0))
    )
    return (
        f"Mispredicting 10 % of the running times raises the price by {_gain(none, run)},"
        f" mispredicting 10 % of the waits by {_gain(none, wait)}."
    )


def seen_workload_over(rows: list[Row]) -> str:
    """Of Figure 20."""
    price, number = _least(rows, "0 %", source="simulation")
    five, twenty, njw = (
        _at(rows, line, "normalized_price", number) for line in ("5 %", "20 %", "njw")
    )
    return (
        f"With {number} machines the price goes from {price:.3f} to {five:.3f} with 5 %"
        f" and {twenty:.3f} with 20 % of the waits over-predicted, {njw:.3f} under njw;"
        f" the mean wait from {_measured(rows, '0 %', 'wait_h', number)} h"
        f" to {_measured(rows, '5 %', 'wait_h', number)} h and"
        f" {_measured(rows, '20 %', 'wait_h', number)} h."
    )


def seen_workload_under(rows: list[Row]) -> str:
    """Of Figure 21."""
    numbers = sorted({row["machines"] for row in rows})
    changes = (
        f"from {_measured(rows, '0 %', 'wait_h', number)} h to"
        f" {_measured(rows, '50 %', 'wait_h', number)} h with {number}"
        for number in (numbers[0], numbers[len(numbers) // 2])
    )
    return (
        f"Under-predicting half of the waits moves the mean wait {' machines, and '.join(changes)}."
    )
