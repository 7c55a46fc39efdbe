"""The figures of the paper's Table II and of its claims."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from cgrsp_simpy.cluster.paper import table
from cgrsp_simpy.cluster.paper.runs import LOAD, Runs
from cgrsp_simpy.cluster.paper.table import CLAIMS, DYNAMIC, PUBLISHED, implied, verdict
from cgrsp_simpy.model.table import half
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import Figures, Handles, Row, markdown, where
from cgrsp_simpy.plots.parts import (
    FAINT,
    decimals,
    dots,
    hollow,
)
from cgrsp_simpy.plots.style import LOOKS

UNITS = {
    "throughput_per_h": ("throughput (jobs/h)", 1.0, False),
    "utilisation_pct": ("utilisation (%)", 1.0, False),
    "starved": ("starved (jobs)", 1.0, True),
    "wait_s": ("mean wait (s)", 1.0, True),
    "wait_variance_s2": ("wait variance (min²)", 1 / 3600, True),
}
HOLDS = {
    "yes": ("#0B4F9C", "o", "dynamic is better"),
    "open": ("#7F7F7F", "s", "no difference shown"),
    "no": ("#D55E00", "X", "dynamic is worse"),
}
LOAD_TICKS = (0.4, 0.8, 1.2)
CLAIMED = {
    "throughput_per_h": "More jobs per hour",
    "starved": "Fewer starved jobs",
    "wait_variance_s2": "Less variance of waits",
}


FIGURES = Figures("cluster_", Runs, handlelength=2.6)


def every(runs: Runs) -> str:
    """Its jobs and seeds, for a note."""
    return f"{runs.jobs} jobs on 8 nodes of 8 GPUs, {runs.seeds} seeds"


@FIGURES.add(
    "table2",
    "Table II over offered loads",
    (6.3, 4.6),
    note=lambda runs: (
        f"{every(runs)}, 95 % intervals.\n"
        "Throughput and utilisation: from the first submission to the last. Hollow, on grey:"
        " published,\n"
        "at a load that is not printed; the variance, printed without a unit, as if in min²"
    ),
)
def table_two(runs: Runs) -> list[Row]:
    """Table II over loads, published beside reproduced."""
    return table.rows(runs.tabled)


@table_two.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """A panel a figure: reproduced over loads, and in a band of their own the published values,
    whose load is not printed.
    """
    axes = canvas.subplots(2, 3, sharex=True)
    loads = sorted({row["load"] for row in rows})
    band = loads[-1] + np.array([0.07, 0.43])
    places = band[0] + np.ptp(band) * np.arange(1, len(PUBLISHED) + 1) / (len(PUBLISHED) + 1)
    for ax, (figure, (label, unit, logarithmic)) in zip(axes.flat, UNITS.items()):
        for at, name in zip(places, PUBLISHED):
            own, look = where(rows, scheduler=name), LOOKS[name]
            values, halves = (
                np.array([row[column] for row in own]) * unit for column in (figure, half(figure))
            )
            ax.plot(loads, values, linestyle=cast(Any, look.line), label=name, **dots(look))
            marks.intervals(ax, loads, values, y_half=halves, colour=f"{look.colour}80", caps=False)
            published = PUBLISHED[name].get(figure, nan)  # the variance as if it were in min²
            ax.plot([at], [published], clip_on=False, **hollow(look))
        ax.axvspan(*band, color="0.93", zorder=0)
        ax.set(ylabel=label, xlim=(loads[0] - 0.05, band[1]))
        ax.set_xticks([*LOAD_TICKS, band.mean()], [*map(str, LOAD_TICKS), "publ."])
        if logarithmic:
            ax.set_yscale("log")
        else:
            ax.set_ylim(bottom=0)
    axes[-1, -1].axis("off")
    axes[-1, -1].legend(
        handles=[line for line in ax.lines if line.get_label() in LOOKS],
        loc="center",
        frameon=False,
        handlelength=3,
    )
    canvas.supxlabel("offered load", fontsize="medium")
    return [marks.published(list(PUBLISHED))]


@table_two.says
def _(rows: list[Row]) -> str:
    parts = []
    for name in DYNAMIC:
        own = where(rows, scheduler=name)
        most, printed = (
            max(own, key=lambda row: float(row["throughput_per_h"])),
            own[0]["published_throughput_per_h"],
        )
        near = next(row for row in own if row["closest"])
        parts.append(
            f"{name} is closest to its printed utilisation at load {near['load']:g}"
            f" ({near['utilisation_pct']:.1f} %, printed {near['published_utilisation_pct']} %),"
            f" with {near['throughput_per_h']:.1f} jobs per hour where {printed} are printed,"
            f" and {most['throughput_per_h']:.1f} at most, at load {most['load']:g}"
        )
    return f"{'; '.join(parts)}."


@table_two.tables
def _(rows: list[Row]) -> str:
    head = " | ".join(["scheduler | load", *(f"{each[0]} | published" for each in UNITS.values())])
    lines = []
    for row in rows:
        if row["closest"] or (row["published_utilisation_pct"] is None and row["load"] == LOAD):
            cells = [row["scheduler"], f"{row['load']:g}"]
            for figure, (_, unit, _) in UNITS.items():
                printed = row[f"published_{figure}"]
                cells += [
                    f"{with_commas(row[figure] * unit)} ± {with_commas(row[half(figure)] * unit)}"
                ]
                cells += ["" if printed is None else f"{printed:g}"]
            lines.append(cells)
    told = (
        "Of each scheduler the load at which its utilisation is closest to the published one;"
        f" where none is published, {LOAD:g}. The published variance has no unit."
    )
    points = "\n".join(f"- {line}" for line in implied())
    return "\n\n".join([markdown(head, 1, lines), told, points])


@FIGURES.add(
    "claims",
    "Do dynamic schedulers beat static ones?",
    (6.3, 4.2),
    note=lambda runs: (
        "dynamic (hps, pbs, sbs) minus static (fifo, sjf, shortest, shortest-gpu),"
        " paired by seed;\n"
        f"{runs.jobs} jobs, {runs.seeds} seeds, 95 % intervals; throughput from the first"
        " submission to the last"
    ),
)
def claims(runs: Runs) -> list[Row]:
    """Dynamic minus static over loads, with 95 % half widths."""
    return table.claims(runs.tabled)


@claims.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """A column a figure: dynamic minus static over loads, of the means above, of the worst dynamic
    and the best static below.
    """
    figures = list(dict.fromkeys(row["figure"] for row in rows))
    axes = canvas.subplots(2, len(figures), sharex=True)
    for column, figure in zip(axes.T, figures):
        for ax, kind in zip(column, ("mean", "best")):
            _differences(ax, where(rows, figure=figure), kind)
        label, _, unit = UNITS[figure][0].partition(" (")
        column[0].set_title(f"{label}\n({unit}", loc="left", fontsize="small")
    axes[0, 0].set_ylabel("mean dynamic −\nmean static")
    axes[1, 0].set_ylabel("worst dynamic −\nbest static")
    canvas.supxlabel("offered load", fontsize="medium")
    return [
        Line2D([], [], linestyle="none", color=colour, marker=mark, label=text)
        for colour, mark, text in HOLDS.values()
    ]


@claims.says
def _(rows: list[Row]) -> str:
    parts = [
        f"{CLAIMED[figure]}: of the means of both groups it {verdict(rows, figure, 'mean')};"
        f" of the worst dynamic and the best static scheduler it {verdict(rows, figure, 'best')}"
        for figure in CLAIMS
    ]
    return f"The claim that dynamic schedulers do better. {'. '.join(parts)}."


def _differences(ax: Axes, rows: Sequence[Row], kind: str) -> None:
    unit = UNITS[rows[0]["figure"]][1]
    for row in rows:
        colour, mark, _ = HOLDS[row[f"{kind}_holds"]]
        at, value, spread = [row["load"]], [row[kind] * unit], [row[half(kind)] * unit]
        marks.intervals(ax, at, value, y_half=spread, colour=colour)
        ax.plot(at, value, mark, color=colour)
    ax.axhline(0, **FAINT)
    ax.set_xticks(LOAD_TICKS)
    ax.margins(x=0.08)
    ax.yaxis.set_major_formatter("{x:,g}")


def with_commas(value: float) -> str:
    """To three digits or so, with commas."""
    return f"{value:,.{decimals(value)}f}"
