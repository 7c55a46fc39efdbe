"""Figures of the thesis's tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial

from matplotlib.axes import Axes

from cgrsp_simpy.analysis.statistics import mean, paired_difference
from cgrsp_simpy.base.table import grouped
from cgrsp_simpy.papers.ledger import DIFFERENT, REPRODUCED, UNDECIDED
from cgrsp_simpy.papers.thesis.experiments import (
    COLUMNS,
    COUNTED,
    MONTH,
    NAMES,
    PRINTED_AS,
    Results,
    Source,
    number_in,
)
from cgrsp_simpy.papers.thesis.published import PRINTED
from cgrsp_simpy.papers.thesis.verdict import judged
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import (
    Canvas,
    Gallery,
    Handles,
    Row,
    distinct,
    numbers,
    where,
)
from cgrsp_simpy.plots.parts import intervals, key, titled
from cgrsp_simpy.plots.studies import draw_days
from cgrsp_simpy.plots.style import MISSED
from cgrsp_simpy.rental.record import METRICS

MISS, LATE = "miss, %", "tardiness, min"
LABELS = {"wait, min": "mean wait (min)", "miss, %": "missed deadlines (%)"}
KINDS = ("quiet", "normal", "surge", "hectic")  # kinds of days, in drawing order
COLOURS = {REPRODUCED: "#7d9bb8", UNDECIDED: "#c4c4c4", DIFFERENT: MISSED}


FIGURES = Gallery("figure")


def compared(rows: Sequence[Row]) -> str:
    """Summarise published values against ours in a sentence, if there are any."""
    judged = [row for row in rows if row.get("verdict")]
    if not judged:
        return ""
    agreeing, differing, undecided = (
        where(judged, verdict=verdict) for verdict in (REPRODUCED, DIFFERENT, UNDECIDED)
    )
    open_ = f", {len(undecided)} are undecided with so few seeds" if undecided else ""
    but = f", all but {'; '.join(map(_differing, differing))}" if differing else ""
    return (
        f"{len(agreeing)} of {len(judged)} published values agree with ours within"
        f" sampling noise{open_}{but}."
    )


def _differing(row: Row) -> str:
    name = ", ".join(row[key] for key in ("row", "column", "part") if row[key])
    ours = f"{row['reproduced']:.2f} ± {row['half_width_95']:.2f}"
    return f"{name} (published {row['published']}, ours {ours})"


def table_rows(id: str, results: Results) -> list[Row]:
    """Return a table's figures per row and column: published, reproduced, half width.

    Scenarios other than the thesis's have no verdict.
    """
    return [
        {
            "row": cell.row,
            "column": cell.column,
            "part": cell.part,
            "published": float(cell.printed.split()[0]),
            "reproduced": cell.value,
            "half_width_95": cell.half_width,
            "n": cell.n,
            "verdict": "" if results.other else cell.verdict,
            "counted": cell.counted,
        }
        for cell in judged(results.tables[id], results)
    ]


@FIGURES.add(
    "5.4",
    "Seven policies on a normal and on a hectic day",
    (6.3, 5.6),
    needs=("5.2", "5.5"),
    sentence=compared,
)
def benchmark(results: Results) -> list[Row]:
    """Return seven policies on the normal and the hectic day.

    Published values are means of 30 seeds; those of the hectic day are of one seed.
    """
    rows, seed = [], PRINTED["5.1"]
    types, hectic = table_rows("5.5", results), table_rows("5.2", results)
    for policy in results.policies or [
        NAMES[name] for name in NAMES if name in seed.rows
    ]:
        name = PRINTED_AS.get(policy, policy)
        single = dict(zip(seed.columns, seed.rows.get(name, ())))
        for figure in LABELS:
            names = {"column": policy, "part": figure}
            [one] = where(types, row="normal", column=name, part=figure)
            [other] = where(hectic, row=name, column=figure)
            alone = {"row": "hectic", "published": float(single.get(figure, "nan"))}
            rows += [{**one, **names}, {**other, **names, **alone}]
    return rows


@benchmark.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    _shorten(canvas, rows, "column", 7)
    for line, name in zip(canvas.subplots(2, 2), ("normal", "hectic")):
        for ax, (part, label), title in zip(line, LABELS.items(), (f"{name} day", "")):
            _bars(
                ax,
                where(rows, row=name, part=part),
                "column",
                label,
                title,
                ax is line[0],
            )
        seeds = "one seed" if name == "hectic" else "30 seeds"
        line[1].set_title(f"published: {seeds}", loc="right", fontsize="small")
    return [marks.published()]


def _shorten(canvas: Canvas, rows: Sequence[Row], by: str, usual: int) -> None:
    """Reduce the height of a figure that has fewer bars than usual."""
    number = len({row[by] for row in rows})
    if number < usual:
        canvas.set_figheight(canvas.get_figheight() * (0.3 + 0.7 * number / usual))


def _bars(
    ax: Axes, rows: Sequence[Row], by: str, label: str, title: str, first: bool
) -> None:
    """Draw one bar per policy with its interval and published mark.

    by: the column of policies. first: whether to show their names.
    """
    columns = ("reproduced", "half_width_95", "published")
    ours, halves, published = (numbers(rows, column) for column in columns)
    marks.bars(ax, [_ours(row[by]) for row in rows], ours, halves, published)
    titled(ax, title, xlabel=label)
    ax.tick_params(labelleft=first)
    ax.xaxis.set_major_formatter("{x:g}")


day_types = FIGURES.add(
    "5.5",
    "Day types: wait and miss of ten policies",
    (6.3, 7.8),
    needs=("5.5",),
    sentence=compared,
    rows=partial(table_rows, "5.5"),
)


@day_types.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    _shorten(canvas, rows, "column", 10)
    axes = canvas.subplots(2, len(KINDS))
    parts = (("(a)", "wait, min", "mean wait (min)"), ("(b)", "miss, %", "missed (%)"))
    for line, (letter, part, label) in zip(axes, parts):
        for ax, kind in zip(line, KINDS):
            selected = where(rows, row=kind, part=part)
            selected.sort(key=lambda row: [*NAMES, row["column"]].index(row["column"]))
            first = ax is line[0]
            _bars(
                ax,
                selected,
                "column",
                label,
                f"{letter} " * first + f"{kind} day",
                first,
            )
    return [marks.published()]


tightness = FIGURES.add(
    "5.6",
    "Missed deadlines by share of tight deadlines, surge day",
    (6.3, 4.0),
    needs=("5.6",),
    sentence=compared,
    rows=partial(table_rows, "5.6"),
)


@tightness.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    ax = canvas.add_subplot()
    _lines(ax, rows)
    ax.set(xlabel="share of tight deadlines (%)", ylabel="missed deadlines (%)")
    return [marks.published(_names(rows))]


def _lines(ax: Axes, rows: Sequence[Row]) -> None:
    """Draw one line per policy over the numbers in the names of the rows."""
    x = [number_in(name) for name in distinct(rows, "row")]
    lines = grouped(rows, lambda row: _ours(row["column"]))
    series = {
        name: (numbers(line, "reproduced"), numbers(line, "half_width_95"))
        for name, line in lines.items()
    }
    published = {name: numbers(line, "published") for name, line in lines.items()}
    marks.lines(ax, x, series, published)


def _ours(name: str) -> str:
    """Return this package's name of a policy of the thesis; others are unchanged."""
    return NAMES.get(name, name)


def _names(rows: Sequence[Row]) -> list[str]:
    published = (row["column"] for row in rows if not math.isnan(row["published"]))
    return [_ours(name) for name in dict.fromkeys(published)]


@FIGURES.add(
    "5.7",
    "The month: wait by day type, miss and wait by policy",
    (6.3, 7.4),
    needs=("5.13",),
)
def month(results: Results) -> list[Row]:
    """Return waits per kind of day, and monthly waits and misses, also as published."""
    whole = [
        {"kind": "month", "policy": _ours(row["row"]), **row}
        for row in table_rows("5.13", results)
        if row["column"] in LABELS
    ]
    rows = [*kinds_of_days(results), *whole]
    keys = ("kind", "policy", "column", "published", "reproduced", "half_width_95", "n")
    return [{key: row.get(key, math.nan) for key in keys} for row in rows]


@month.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    _shorten(canvas, rows, "policy", 5)
    halves = canvas.subfigures(2, 1, height_ratios=(4, 5))
    above, below = list(halves)  # type: ignore[arg-type]
    axes = above.subplots(1, len(KINDS))
    wait = LABELS["wait, min"]
    for ax, kind in zip(axes, KINDS):
        title = "(a) " * (ax is axes[0]) + f"{kind} days"
        _bars(ax, where(rows, kind=kind), "policy", wait, title, ax is axes[0])
    axes = below.subplots(1, 2)
    for ax, letter, column in zip(axes, "bc", ("miss, %", "wait, min")):
        selected = where(rows, kind="month", column=column)
        title = f"({letter}) the whole month"
        _bars(ax, selected, "policy", LABELS[column], title, ax is axes[0])
    return [marks.published()]


def kinds_of_days(results: Results) -> list[Row]:
    """Return mean waits per kind of day and policy, intervals over replications."""
    months = max(row["replication"] for row in results.days) + 1
    return [
        {
            "kind": kind,
            "policy": policy,
            "column": "wait, min",
            "reproduced": wait.mean,
            "half_width_95": wait.half_width,
            "n": wait.n,
        }
        for kind in KINDS
        for policy in distinct(results.days, "policy")
        for source in [Source(f"{MONTH} {kind}", policy, "wait_min")]
        for wait in [mean(results.values(source, months))]
    ]


@FIGURES.add(
    "5.8",
    "The month: missed deadlines against tardiness, with the Pareto front",
    (6.3, 4.2),
    needs=("5.13",),
)
def lateness(results: Results) -> list[Row]:
    """Return misses and tardiness of the month, and Adaptive's difference from CADR."""
    table = [
        row for row in table_rows("5.13", results) if row["column"] in (MISS, LATE)
    ]
    if results.policies and not {"adaptive", "cadr"} <= {*results.policies}:
        return table
    for figure in (MISS, LATE):
        one, other = (
            where(table, row=name, column=figure)[0] for name in ("Adaptive", "CADR")
        )
        mine, its = (
            results.values(Source(MONTH, policy, COLUMNS[figure]), one["n"])
            for policy in ("adaptive", "cadr")
        )
        ours = paired_difference(mine, its)
        table.append(
            {
                **one,
                "row": "Adaptive - CADR",
                "part": "paired difference",
                "published": one["published"] - other["published"],
                "reproduced": ours.mean,
                "half_width_95": ours.half_width,
                "verdict": "",
                "counted": False,
            }
        )
    return table


@lateness.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    ax = canvas.add_subplot()
    miss, late = (where(rows, column=column, part="") for column in (MISS, LATE))
    names = [_ours(row["row"]) for row in miss]
    x, y = (
        (numbers(selected, "reproduced"), numbers(selected, "half_width_95"))
        for selected in (miss, late)
    )
    published = (numbers(miss, "published"), numbers(late, "published"))
    marks.points(ax, names, x, y, published, front=(True, True))
    ax.set(xlabel="missed deadlines (%)", ylabel="mean tardiness (min)")
    return [
        marks.published(names),
        key(label="our Pareto front", **marks.FRONT),
    ]


@lateness.describes
def _(rows: Sequence[Row]) -> str:
    ours, theirs = (
        ", ".join(_front(rows, column)) for column in ("reproduced", "published")
    )
    misses = _beside(
        rows, MISS, "misses", ("fewer", "more"), "deadlines than CADR", "%", "points"
    )
    late = _beside(rows, LATE, "is", ("less", "more"), "late than CADR", "min", "min")
    return (
        f"{compared(rows)} Our Pareto front consists of {ours}, that of the published"
        f" values of {theirs}. Here Adaptive {misses}, and {late}."
    ).lstrip()


def _front(rows: Sequence[Row], column: str) -> list[str]:
    """Return the policies that no other policy dominates (misses and tardiness)."""
    miss, late = (where(rows, column=name, part="") for name in (MISS, LATE))
    names = [row["row"] for row in miss]
    points = dict(zip(names, zip(numbers(miss, column), numbers(late, column))))
    return [
        name
        for name, (x, y) in points.items()
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in points.values())
    ]


def _beside(
    rows: Sequence[Row],
    column: str,
    verb: str,
    words: tuple[str, str],
    what: str,
    unit: str,
    unit_of_difference: str,
) -> str:
    names = ("Adaptive", "CADR", "Adaptive - CADR")
    one, other, paired = (where(rows, row=name, column=column)[0] for name in names)
    difference, half = float(paired["reproduced"]), float(paired["half_width_95"])
    doubt = (
        "" if abs(difference) > half else f", not significant over {paired['n']} months"
    )
    return (
        f"{verb} {words[difference > 0]} {what}: {float(one['reproduced']):.2f}"
        f" against {float(other['reproduced']):.2f} {unit}, paired difference"
        f" {difference:+.2f} ± {half:.2f} {unit_of_difference}{doubt}"
    )


@FIGURES.add(
    "5.9", "Missed deadlines day by day over one month", (6.3, 3.6), needs=("5.13",)
)
def daily_rows(
    results: Results, policies: Iterable[str] = ("fifo", "spt", "edf", "rh", "cadr")
) -> list[Row]:
    """Return the share of missed deadlines per day of the first replication."""
    keys = ("policy", "replication", "day", "kind", "seed", "miss_pct")
    chosen = results.policies or list(policies)
    return [
        {key: row[key] for key in keys}
        for row in results.days
        if row["policy"] in chosen and row["replication"] == 0
    ]


@daily_rows.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    by_policy = grouped(rows, lambda row: str(row["policy"]))
    draw_days(canvas.add_subplot(), by_policy, "miss_pct", 0, METRICS)


slots = FIGURES.add(
    "slots",
    "Wait and miss by number of slots, hectic day (Table 5.7)",
    (6.3, 3.6),
    needs=("5.7",),
    sentence=compared,
    rows=partial(table_rows, "5.7"),
)


@slots.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    axes = canvas.subplots(1, 2)
    for ax, (part, label) in zip(axes, LABELS.items()):
        _lines(ax, where(rows, part=part))
        ax.set(xlabel="slots (C_max)", ylabel=label, xticks=(3, 5, 7, 10))
    log_ticks(axes[0], (5, 10, 20, 50, 100, 200, 400))
    return [marks.published(_names(rows))]


@FIGURES.add(
    "thresholds",
    "Wait and miss by rescue threshold and by critical ratio, hectic day (Tables 5.8"
    " and 5.9)",
    (6.3, 4.4),
    needs=("5.8", "5.9"),
    sentence=compared,
)
def thresholds(results: Results) -> list[Row]:
    """Return Tables 5.8 and 5.9."""
    return [
        {"table": id, **row} for id in ("5.8", "5.9") for row in table_rows(id, results)
    ]


@thresholds.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    axes = canvas.subplots(2, 2)
    places = (
        ("5.8", "SPT+Rescue", "rescue threshold (s)"),
        ("5.9", "CADR", "critical ratio"),
    )
    for line, (table, name, label) in zip(axes, places):
        for ax, (column, metric) in zip(line, LABELS.items()):
            chosen = [
                {**row, "column": name}
                for row in where(rows, table=table, column=column)
            ]
            _lines(ax, chosen)
            ax.set(xlabel=label, ylabel=metric, xlim=(0, None), ylim=(0, None))
    return [marks.published([NAMES[name] for _, name, _ in places])]


@FIGURES.add(
    "reservations",
    "Slots reserved by RH, surge day (Table 5.10)",
    (6.3, 3.2),
    needs=("5.10",),
    sentence=compared,
)
def reservations(results: Results) -> list[Row]:
    """Return the surge day of Table 5.10."""
    return [
        row for row in table_rows("5.10", results) if row["row"].startswith("surge")
    ]


@reservations.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    left, right = canvas.subplots(1, 2)
    waits = [{**row, "column": "all jobs"} for row in where(rows, column="wait, min")]
    _lines(left, waits)
    left.set(xlabel="slots reserved by RH", ylabel="mean wait (min)", ylim=(0, None))
    missed = {"miss, %": "all jobs", "tight miss, %": "tight", "loose miss, %": "loose"}
    named = [
        {**row, "column": missed[row["column"]]}
        for row in rows
        if row["column"] in missed
    ]
    _lines(right, named)
    right.set(xlabel="slots reserved by RH", ylabel="missed deadlines (%)")
    return [marks.published(list(missed.values()))]


@FIGURES.add(
    "cells",
    "Every compared cell: published against reproduced",
    (6.3, 5.0),
    needs=COUNTED,
    sentence=compared,
)
def cells(results: Results) -> list[Row]:
    """Return every counted cell."""
    return [
        {"table": id, **row}
        for id in COUNTED
        for row in table_rows(id, results)
        if row["counted"]
    ]


@cells.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    ax = canvas.add_subplot()
    for verdict, colour in COLOURS.items():
        x, y, half_widths = (
            numbers(where(rows, verdict=verdict), column)
            for column in ("published", "reproduced", "half_width_95")
        )
        if x:
            intervals(ax, x, y, y_half=half_widths, colour=colour, caps=False)
            ax.plot(x, y, ".", color=colour, label=verdict)
    most = 1.5 * max(numbers(rows, "published"))
    ax.plot([0, most], [0, most], color="0.6", lw=0.8, zorder=1)
    # below the threshold the scales are linear, to show zeros
    scale = {"linthresh": 0.1, "linscale": 0.5}
    ax.set_xscale("symlog", **scale)
    ax.set_yscale("symlog", **scale)
    ax.set(
        xlabel="published in the thesis",
        ylabel="reproduced, with 95 % interval",
        aspect="equal",
        xlim=(-0.04, most),
        ylim=(-0.04, most),
    )
    ax.legend()


def log_ticks(ax: Axes, ticks: Sequence[int]) -> None:
    """Set a logarithmic y axis with only these ticks."""
    ax.set(yscale="log", yticks=ticks, yticklabels=list(map(str, ticks)))
    ax.minorticks_off()
