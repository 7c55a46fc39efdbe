"""How the rows behind each figure of the thesis are drawn on a canvas.

A hollow mark is a published value throughout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch

from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.agreement import published_vs_reproduced
from cgrsp_simpy.plots.month import daily as daily_lines
from cgrsp_simpy.plots.parts import beside_point, legend_outside
from cgrsp_simpy.plots.style import COMPLEXITY, MISSED, POLICY, STATUS, ink_on
from cgrsp_simpy.thesis.experiments import NAMES

Row = dict[str, Any]
GENERATED = "generated data: follows the printed counts, means and range; not measured"


def _values(rows: Sequence[Row], name: str) -> list[float]:
    return [float(row[name]) for row in rows]


def _bars(ax: Axes, rows: Sequence[Row], names: Sequence[str], label: str) -> None:
    """Bars with intervals and published marks, a policy a row."""
    columns = ("reproduced", "half_width_95", "published")
    ours, halves, published = (_values(rows, column) for column in columns)
    marks.bars(ax, names, ours, halves, published)
    ax.set_xlabel(label)
    ax.xaxis.set_major_formatter("{x:g}")


def _where(rows: Sequence[Row], **equal: Any) -> list[Row]:
    return [row for row in rows if all(row[name] == value for name, value in equal.items())]


def _no_names(ax: Axes) -> None:
    ax.tick_params(labelleft=False)


def _published_legend(canvas: Canvas, *more: Line2D, names: Sequence[str] = ()) -> None:
    """What a hollow mark means.

    names: those whose published values are drawn; none for marks below bars.
    """
    _legend(canvas, [marks.published(names), *more])


def _legend(canvas: Canvas, handles: Sequence[Line2D | Patch], note: str = "") -> None:
    """A legend above all panels, in one line if it fits."""
    side = "left" if note else "right"
    legend_outside(canvas, handles, note, len(handles), loc=f"outside upper {side}")


# ---- Figures of tables ----


def benchmark(canvas: Canvas, rows: list[Row]) -> None:
    """Figure 5.4."""
    axes = canvas.subplots(2, 2)
    for line, name in zip(axes, ("normal", "hectic")):
        for ax, part, label in zip(
            line, ("wait, min", "miss, %"), ("mean wait (min)", "missed deadlines (%)")
        ):
            chosen = _where(rows, row=name, part=part)
            _bars(ax, chosen, [row["column"] for row in chosen], label)
        line[0].set_title(f"{name} day", loc="left", fontsize="medium")
        seeds = "published: one seed" if name == "hectic" else "published: 30 seeds"
        line[1].set_title(seeds, loc="right", fontsize="small")
        _no_names(line[1])
    _published_legend(canvas)


def day_types(canvas: Canvas, rows: list[Row]) -> None:
    """Figure 5.5."""
    kinds = ("quiet", "normal", "surge", "hectic")
    axes = canvas.subplots(2, len(kinds))
    parts = (("(a)", "wait, min", "mean wait (min)"), ("(b)", "miss, %", "missed (%)"))
    for line, (letter, part, label) in zip(axes, parts):
        for ax, kind in zip(line, kinds):
            own = _where(rows, row=kind, part=part)
            chosen = sorted(own, key=lambda row: list(NAMES).index(row["column"]))
            _bars(ax, chosen, [NAMES[row["column"]] for row in chosen], label)
            title = f"{letter} {kind} day" if ax is line[0] else f"{kind} day"
            ax.set_title(title, loc="left", fontsize="medium")
            if ax is not line[0]:
                _no_names(ax)
    _published_legend(canvas)


def _lines(ax: Axes, rows: Sequence[Row], by: str, x: Mapping[str, float]) -> None:
    """A line a value of the column `by`, over the rows of the table; published marks hollow."""
    names = list(dict.fromkeys(row[by] for row in rows))
    series, published = {}, {}
    for name in names:
        chosen = [row for row in rows if row[by] == name]
        label = NAMES.get(name, name)
        series[label] = (_values(chosen, "reproduced"), _values(chosen, "half_width_95"))
        published[label] = _values(chosen, "published")
    marks.lines(ax, list(x.values()), series, published)


def _numbers(rows: Sequence[Row]) -> dict[str, float]:
    """The number in each row's name, in the order of the rows."""
    names = list(dict.fromkeys(row["row"] for row in rows))
    return {
        name: float("".join(part for part in name if part.isdigit() or part == "."))
        for name in names
    }


def tightness(canvas: Canvas, rows: list[Row]) -> None:
    """Figure 5.6."""
    ax = canvas.add_subplot()
    _lines(ax, rows, "column", _numbers(rows))
    ax.set(xlabel="share of tight deadlines (%)", ylabel="missed deadlines (%)")
    _published_legend(canvas, names=_names(rows))


def _names(rows: Sequence[Row]) -> list[str]:
    """The policies of the columns."""
    return [NAMES[name] for name in dict.fromkeys(row["column"] for row in rows)]


def slots(canvas: Canvas, rows: list[Row]) -> None:
    """Table 5.7 drawn."""
    axes = canvas.subplots(1, 2)
    for ax, part, label in zip(
        axes, ("wait, min", "miss, %"), ("mean wait (min)", "missed deadlines (%)")
    ):
        chosen = _where(rows, part=part)
        _lines(ax, chosen, "column", _numbers(chosen))
        ax.set(xlabel="slots (C_max)", ylabel=label, xticks=(3, 5, 7, 10))
    _log_ticks(axes[0], (5, 10, 20, 50, 100, 200, 400))
    _published_legend(canvas, names=_names(rows))


def _log_ticks(ax: Axes, ticks: Sequence[int]) -> None:
    """A logarithmic y axis with these ticks alone."""
    ax.set(yscale="log", yticks=ticks, yticklabels=list(map(str, ticks)))
    ax.minorticks_off()


def thresholds(canvas: Canvas, rows: list[Row]) -> None:
    """Tables 5.8 and 5.9 drawn."""
    axes = canvas.subplots(2, 2)
    places = (("5.8", "SPT+Rescue", "rescue threshold (s)"), ("5.9", "CADR", "critical ratio"))
    for line, (table, name, label) in zip(axes, places):
        for ax, column, metric in zip(
            line, ("wait, min", "miss, %"), ("mean wait (min)", "missed deadlines (%)")
        ):
            chosen = [{**row, "column": name} for row in _where(rows, table=table, column=column)]
            _lines(ax, chosen, "column", _numbers(chosen))
            ax.set(xlabel=label, ylabel=metric)
            ax.set_xlim(left=0)
            ax.set_ylim(bottom=0)
    _published_legend(canvas, names=[NAMES[name] for _, name, _ in places])


def reservations(canvas: Canvas, rows: list[Row]) -> None:
    """Table 5.10 drawn, the surge day."""
    left, right = canvas.subplots(1, 2)
    reserved = _numbers(rows)
    waits = [{**row, "column": "all jobs"} for row in _where(rows, column="wait, min")]
    _lines(left, waits, "column", reserved)
    left.set(xlabel="slots reserved by RH", ylabel="mean wait (min)")
    left.set_ylim(bottom=0)
    missed = {"miss, %": "all jobs", "tight miss, %": "tight", "loose miss, %": "loose"}
    named = [{**row, "column": missed[row["column"]]} for row in rows if row["column"] in missed]
    _lines(right, named, "column", reserved)
    right.set(xlabel="slots reserved by RH", ylabel="missed deadlines (%)")
    _published_legend(canvas, names=list(missed.values()))


def month(canvas: Canvas, rows: list[Row]) -> None:
    """Figure 5.7."""
    above, below = list(canvas.subfigures(2, 1, height_ratios=(4, 5)))  # type: ignore[arg-type]
    kinds = ("quiet", "normal", "surge", "hectic")
    axes = above.subplots(1, len(kinds))
    for ax, kind in zip(axes, kinds):
        chosen = _where(rows, kind=kind)
        _bars(ax, chosen, [row["policy"] for row in chosen], "mean wait (min)")
        title = f"(a) {kind} days" if ax is axes[0] else f"{kind} days"
        ax.set_title(title, loc="left", fontsize="medium")
        if ax is not axes[0]:
            _no_names(ax)
    axes = below.subplots(1, 2)
    parts = (("(b)", "miss, %", "missed deadlines (%)"), ("(c)", "wait, min", "mean wait (min)"))
    for ax, (letter, column, label) in zip(axes, parts):
        chosen = _where(rows, kind="month", column=column)
        _bars(ax, chosen, [row["policy"] for row in chosen], label)
        ax.set_title(f"{letter} the whole month", loc="left", fontsize="medium")
    _no_names(axes[1])
    _published_legend(canvas)


def front(canvas: Canvas, rows: list[Row]) -> None:
    """Figure 5.8."""
    ax = canvas.add_subplot()
    miss, late = (_where(rows, column=column, part="") for column in ("miss, %", "tardiness, min"))
    names = [NAMES[row["row"]] for row in miss]
    x, y = ((_values(each, "reproduced"), _values(each, "half_width_95")) for each in (miss, late))
    published = (_values(miss, "published"), _values(late, "published"))
    marks.points(ax, names, x, y, published, front=(True, True))
    ax.set(xlabel="missed deadlines (%)", ylabel="mean tardiness (min)")
    bound = Line2D([], [], label="Pareto front of ours", **marks.FRONT)
    _published_legend(canvas, bound, names=names)


class _Days:
    """What `daily` asks of a month."""

    def __init__(self, days: list[Row]) -> None:
        self.days = days


def daily(canvas: Canvas, rows: list[Row]) -> None:
    """Figure 5.9."""
    daily_lines(_Days(rows), ax=canvas.add_subplot())


class _Cell:
    """What `published_vs_reproduced` asks of a cell."""

    def __init__(self, row: Row) -> None:
        self.table, self.row = row["table"], row["row"]
        self.column, self.part = row["column"], row["part"]
        self.printed, self.ours = f"{row['published']!r}", f"{row['reproduced']!r}"
        self.half_width, self.verdict = row["half_width_95"], row["verdict"]
        self.counted = row["counted"]


class _Report:
    def __init__(self, rows: list[Row]) -> None:
        self.cells = [_Cell(row) for row in rows]


def cells(canvas: Canvas, rows: list[Row]) -> None:
    """Every counted cell."""
    published_vs_reproduced(_Report(rows), ax=canvas.add_subplot())


# ---- Figures of single runs ----


def queues(canvas: Canvas, rows: list[Row]) -> None:
    """Waiting jobs over the hectic day."""
    ax = canvas.add_subplot()
    ax.axvspan(4, 10, color="#fff3cd", zorder=0)
    ends, colours = {}, []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        chosen = _where(rows, policy=policy)
        hours, waiting = np.array(_values(chosen, "time_h")), np.array(_values(chosen, "waiting"))
        half = np.array(_values(chosen, "half_width_95"))
        area: dict[str, Any] = {"color": POLICY[policy], "alpha": 0.12, "linewidth": 0}
        ax.fill_between(hours, waiting - half, waiting + half, **area)
        ax.plot(hours, waiting, color=POLICY[policy])
        at = int(np.searchsorted(hours, 9.5))
        ends[policy] = (float(hours[at]), float(waiting[at]))
        colours.append(POLICY[policy])
    ax.set_xlim(0, 12)
    ax.set_ylim(bottom=0)
    marks.labels_at_ends(ax, ends, colours)
    at_top: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "va": "top"}
    ax.text(4.1, 0.97, "scarce stock", fontsize="small", **at_top)
    ax.set_xlabel("time (h); 950 jobs arrive in the first 2.6 h; mean of 10 seeds, 95 % interval")
    ax.set_ylabel("waiting jobs")


def stock(canvas: Canvas, rows: list[Row]) -> None:
    """Shares of dispatches by status."""
    days = list(dict.fromkeys(row["day"] for row in rows))
    axes = canvas.subplots(1, len(days), sharey=True)
    for ax, name in zip(axes, days):
        chosen = _where(rows, day=name)
        hours, bottom = np.array(_values(chosen, "hour")), np.zeros(len(chosen))
        for status, colour in zip(("high", "medium", "low"), STATUS):
            share = np.array(_values(chosen, f"{status}_pct"))
            box: dict[str, Any] = {"color": colour, "edgecolor": "white", "linewidth": 0.4}
            ax.bar(hours + 0.5, share, 1.0, bottom=bottom, **box)
            bottom += share
        ax.set_title(f"{name} day", loc="left", fontsize="medium")
        ax.set_xlabel("time (h)")
        ax.set(xlim=(0, hours.max() + 1), ylim=(0, 100), xticks=range(0, int(hours.max()) + 2, 3))
    axes[0].set_ylabel("dispatches (%), FIFO, 10 seeds")
    handles = [
        Patch(color=colour, label=f"{name} stock")
        for name, colour in zip(("High", "Medium", "Low"), STATUS)
    ]
    _legend(canvas, handles)


def multiplier(canvas: Canvas, rows: list[Row]) -> None:
    """Figure 5.3."""
    above, below = canvas.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    printed, calibrated = _where(rows, what="printed"), _where(rows, what="calibrated")
    for row in printed:
        name, colour = BANDS[row["value"]]
        span = {"x": row["from_h"], "width": row["to_h"] - row["from_h"], "align": "edge"}
        above.bar(height=row["value"], color=colour, **span)
        middle = (row["from_h"] + row["to_h"]) / 2
        told: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "small"}
        above.text(middle, 0.27, f"{name}\n× {row['value']:g}", **told)
    edges = [*_values(calibrated, "from_h"), 24.0]
    own: dict[str, Any] = {"color": "black", "lw": 1.6, "label": "calibrated: as in the runs"}
    above.stairs(_values(calibrated, "value"), edges, baseline=None, **own)
    snapshots = _where(rows, what="snapshots")
    rug: dict[str, Any] = {"color": "black", "linewidth": 4, "solid_capstyle": "butt"}
    for row in snapshots:
        above.plot([row["from_h"], row["to_h"]], [0.02, 0.02], clip_on=False, **rug)
    start = calibrated[0]["run_starts_h"]
    above.axvline(start, ymin=0.6, color="0.4", lw=0.8)
    beside_point(above, "runs start here", (start, 1.42), (4, 0), va="center")
    above.set(ylabel="stock multiplier m(t)", ylim=(0, 1.5))
    above.set_title("(a)", loc="left", fontsize="medium")
    arrivals = _where(rows, what="arrivals")
    for row in arrivals:
        (band,) = (each for each in printed if each["from_h"] <= row["from_h"] < each["to_h"])
        below.bar(row["from_h"] + 0.5, row["value"], 0.9, color=BANDS[band["value"]][1])
    below.set(xlabel="hour of day (UTC)", ylabel="jobs", xlim=(0, 24), xticks=range(0, 25, 3))
    below.set_title("(b)", loc="left", fontsize="medium")
    seen = f"{snapshots[0]['value']} snapshots, most here; times not printed"
    _legend(
        canvas,
        [
            Patch(color=BANDS[0.5][1], label="bands as printed"),
            Line2D([], [], **own),
            Line2D([], [], label=seen, **rug),
        ],
        f"(b): {GENERATED}",
    )


# of the printed clock, by multiplier: name and colour, as in the thesis's figure
BANDS = {
    1.0: ("evening", "#a9cbe8"),
    0.9: ("morning", "#f6c667"),
    0.5: ("peak", "#e79a86"),
    1.3: ("off-peak", "#b5dcae"),
}


def data_set(canvas: Canvas, rows: list[Row]) -> None:
    """Figure 5.1."""
    left, right = canvas.subplots(1, 2)
    hours = np.bincount([row["hour"] for row in rows], minlength=24)
    red, peak = "#b03a2e", "peak from 6 to 9,\nas in the text"
    colours = [red if 6 <= hour < 9 else "0.65" for hour in range(24)]
    left.bar(np.arange(24) + 0.5, hours, 0.9, color=colours)
    left.set(xlabel="hour of day (UTC)", ylabel="jobs", xlim=(0, 24), xticks=range(0, 25, 6))
    left.text(9.3, hours.max(), peak, color=red, fontsize="small", va="top")
    gpus = list(dict.fromkeys(row["gpu"] for row in rows))
    boxes = [[row["execution_s"] for row in rows if row["gpu"] == gpu] for gpu in gpus]
    names = [f"{gpu.removeprefix('RTX ')}\n{len(box)} jobs" for gpu, box in zip(gpus, boxes)]
    small = {"markersize": 1.5, "markeredgewidth": 0.3}
    drawn = right.boxplot(boxes, patch_artist=True, flierprops=small, widths=0.6)
    for box in drawn["boxes"]:
        box.set_facecolor(COMPLEXITY[0])
    for line in drawn["medians"]:
        line.set_color("black")
    right.set_xticks(range(1, len(gpus) + 1), names, fontsize="small")
    right.set_ylabel("execution time (s)")
    _log_ticks(right, (30, 60, 120, 240))
    for ax, letter in ((left, "(a)"), (right, "(b)")):
        ax.set_title(letter, loc="left", fontsize="medium")
    legend_outside(canvas, [], GENERATED)


# ---- Worked examples and drawings ----


def _gantt(ax: Axes, rows: Sequence[Row], slots: int) -> None:
    """Jobs on their slots, with number and complexity."""
    for row in rows:
        colour = COMPLEXITY[row["complexity"] - 1]
        box: dict[str, Any] = {"color": colour, "edgecolor": "white"}
        ax.barh(row["slot"], row["service_s"], left=row["start_s"], height=0.7, **box)
        middle = row["start_s"] + row["service_s"] / 2
        ink: dict[str, Any] = {"color": ink_on(colour), "fontsize": "small"}
        ax.text(middle, row["slot"], f"J{row['job']}", ha="center", va="center", **ink)
    ax.set(xlabel="time (s)", ylim=(slots - 0.5, -0.5), yticks=range(slots))
    ax.set_xlim(left=0)


def _complexities(canvas: Canvas, rows: Sequence[Row]) -> None:
    there = sorted({row["complexity"] for row in rows})
    handles = [Patch(color=COMPLEXITY[level - 1], label=f"complexity {level}") for level in there]
    _legend(canvas, handles)


def seven_jobs(canvas: Canvas, rows: list[Row]) -> None:
    """Figure 4.1."""
    axes = canvas.subplots(2, 1, sharex=True)
    for ax, policy in zip(axes, dict.fromkeys(row["policy"] for row in rows)):
        chosen = _where(rows, policy=policy)
        _gantt(ax, chosen, 3)
        ax.set_yticks(range(3), ["N0", "N1", "N2"])
        (tight,) = (row for row in chosen if row["tight"])
        ax.axvline(tight["deadline_s"], color=MISSED, linestyle="--")
        late = tight["finish_s"] - tight["deadline_s"]
        told = f"J6 ends {abs(late):.0f} s {'late' if late > 0 else 'early'}"
        ax.set_title(f"{policy}: {told}", loc="left", fontsize="medium")
    red: dict[str, Any] = {"color": MISSED, "fontsize": "small", "va": "center"}
    axes[0].text(tight["deadline_s"] + 2, 1, "J6's deadline", **red)
    axes[0].set_xlim(0, 1.03 * max(row["finish_s"] for row in rows))
    axes[0].set_xlabel("")
    _complexities(canvas, rows)


def three_jobs(canvas: Canvas, rows: list[Row]) -> None:
    """Figure 3.2."""
    left, right = canvas.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    _gantt(left, rows, 5)
    left.set_yticks(range(5), [f"{slot}  {'3090' if slot == 0 else 'A4000'}" for slot in range(5)])
    for row in rows:
        cost = f"${row['cost_usd']:.4f}"
        left.text(row["finish_s"] + 1, row["slot"], cost, va="center", fontsize="small")
    left.set_xlim(0, 95)
    left.set_title("(a) execution", loc="left", fontsize="medium")
    for row in rows:
        right.barh(row["slot"], row["deadline_s"] / 3600, height=0.35, color="0.9")
        colour = COMPLEXITY[row["complexity"] - 1]
        right.barh(row["slot"], row["finish_s"] / 3600, height=0.7, color=colour)
        word = "tight" if row["tight"] else "loose"
        right.text(row["deadline_s"] / 3600 + 0.1, row["slot"], word, va="center", fontsize="small")
    right.set(xlabel="time (h)", xlim=(0, 10))
    right.set_title("(b) up to the deadline", loc="left", fontsize="medium")
    _complexities(canvas, rows)


def decision(canvas: Canvas, rows: list[Row]) -> None:
    """Figure 3.1."""
    ax = canvas.add_subplot()
    jobs, slots = _where(rows, what="job"), _where(rows, what="slot")
    height, width, right = max(len(jobs), len(slots)), 5.2, 6.6
    for place, job in enumerate(jobs):
        colour = COMPLEXITY[int(job["kind"][-1]) - 1]
        text = f"J{job['id']}  {job['kind']}  {job['state']}, due in {job['minutes']:.0f} min"
        _box(ax, 0, place, width, text, colour, edge=MISSED if job["state"] == "tight" else "white")
    for place, slot in enumerate(slots):
        busy = slot["state"] == "busy"
        told = _until(slot["minutes"]) if busy else _offer(slot)
        text, colour = f"{slot['id']}  {slot['kind']}  {told}", "#e8e8e8" if busy else "#d9f0d3"
        _box(ax, right, place, width, text, colour)
    for place, job in enumerate(jobs):
        if job["slot"] >= 0:
            ends = ((right - 0.05, job["slot"]), (width + 0.05, place))
            ax.annotate("", *ends, arrowprops={"arrowstyle": "-|>", "lw": 1.8, "color": "black"})
    ax.text(0, -0.75, f"waiting jobs at {rows[0]['time_s'] / 60:.0f} min", fontweight="bold")
    ax.text(right, -0.75, f"slots: stock shown, J{jobs[0]['id']}'s time, price", fontweight="bold")
    rule = "tight jobs go to the fastest idle slot, loose ones to the cheapest"
    below: dict[str, Any] = {"ha": "center", "fontsize": "small", "style": "italic"}
    ax.text((right + width) / 2, height - 0.3, f"{rows[0]['policy']}: {rule}", **below)
    ax.set(xlim=(-0.1, right + width + 0.1), ylim=(height - 0.1, -1.2))
    ax.axis("off")


def _offer(slot: Row) -> str:
    return f"{slot['state']}, {slot['first_s']:.1f} s, ${slot['price_usd_per_h']:.2f}/h"


def _until(minutes: float) -> str:
    when = f"in {minutes:.1f} min" if minutes > 0 else f"{-minutes:.1f} min ago"
    return f"busy, end expected {when}"


def _box(
    ax: Axes, x: float, y: float, width: float, text: str, colour: str, edge: str = "white"
) -> None:
    style = "round,pad=0.02,rounding_size=0.08"
    fill: dict[str, Any] = {"facecolor": colour, "edgecolor": edge, "linewidth": 1.8}
    ax.add_patch(FancyBboxPatch((x, y - 0.36), width, 0.72, boxstyle=style, **fill))
    ax.text(x + 0.12, y, text, va="center", fontsize="small", color=ink_on(colour))


PLACES = {  # of Figure 5.2: left, low, width, height
    "event queue": (0.0, 6.6, 12.0, 1.15),
    "Job Generator": (0.0, 3.9, 3.3, 1.6),
    "DES Core": (4.1, 3.9, 3.7, 1.6),
    "Metrics Collector": (8.9, 3.9, 3.1, 1.6),
    "Scheduler": (1.6, 1.0, 3.5, 1.6),
    "Fleet Manager": (7.6, 1.0, 3.5, 1.6),
}
COMPONENTS = ("Job Generator", "DES Core", "Scheduler", "Fleet Manager")  # of Section 4.1
# from and to in Figure 5.2, and where its label begins; by the order of the messages
ARROWS = (
    ((1.65, 5.5), (1.65, 6.6), (1.8, 6.05)),
    ((5.3, 6.6), (5.3, 5.5), (5.15, 6.05)),
    ((6.6, 5.5), (6.6, 6.6), (6.75, 6.05)),
    ((4.4, 3.9), (4.4, 2.6), (4.25, 3.25)),
    ((4.9, 2.6), (4.9, 3.9), (5.05, 3.25)),
    ((5.1, 1.8), (7.6, 1.8), (6.35, 2.05)),
    ((7.5, 3.9), (8.4, 2.6), (8.15, 3.3)),
    ((7.8, 4.7), (8.9, 4.7), (8.35, 4.92)),
)


def architecture(canvas: Canvas, rows: list[Row]) -> None:
    """Figure 5.2."""
    ax = canvas.add_subplot()
    for row in _where(rows, what="part"):
        ours = row["name"] in COMPONENTS
        _part(ax, row, PLACES[row["name"]], "#dbe9f6" if ours else "#f4f4f4")
    for row, (begin, end, at) in zip(_where(rows, what="message"), ARROWS):
        ax.annotate("", end, begin, arrowprops={"arrowstyle": "-|>", "lw": 1.0, "color": "0.25"})
        level = begin[1] == end[1]
        side = "center" if level else "right" if at[0] < begin[0] else "left"
        ax.text(*at, row["text"], ha=side, va="center", fontsize="x-small", style="italic")
    left, low, width, _ = PLACES["Fleet Manager"]
    dashed: dict[str, Any] = {"facecolor": "none", "edgecolor": "0.4", "linestyle": "--"}
    ax.add_patch(FancyBboxPatch((left - 0.9, -0.85), width + 1.8, 1.15, boxstyle=ROUND, **dashed))
    types = [row["name"].removeprefix("RTX ") for row in _where(rows, what="type")]
    text = f"GPU fleet: GpuType\n{', '.join(types)}"
    ax.text(left + width / 2, -0.28, text, ha="center", va="center", fontsize="small")
    ax.plot([left + width / 2] * 2, [0.3, low], color="0.4", lw=1.0, ls="--")
    ax.text(-0.05, -0.3, "blue: the four components\nof Section 4.1", fontsize="small", va="center")
    ax.set(xlim=(-0.15, 12.15), ylim=(-0.95, 7.85))
    ax.axis("off")


ROUND = "round,pad=0.02,rounding_size=0.12"


def _part(ax: Axes, row: Row, place: tuple[float, float, float, float], colour: str) -> None:
    """A box: what it is, the names that carry it out, and what it does."""
    left, low, width, height = place
    fill: dict[str, Any] = {"facecolor": colour, "edgecolor": "0.3", "linewidth": 0.8}
    ax.add_patch(FancyBboxPatch((left, low), width, height, boxstyle=ROUND, **fill))
    names = row["names"].replace(" ", ", ")
    middle, lines = (
        left + width / 2,
        (("bold", "medium"), ("normal", "small"), ("normal", "x-small")),
    )
    for text, (weight, size), share in zip(
        (row["name"], names, row["text"]), lines, (0.8, 0.48, 0.18)
    ):
        family = "monospace" if text == names else None
        own: dict[str, Any] = {"fontweight": weight, "fontsize": size, "family": family}
        ax.text(middle, low + share * height, text, ha="center", va="center", **own)
