"""The figures of GPU clusters from runs of our own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from cgrsp_simpy.analysis.statistics import paired_difference
from cgrsp_simpy.cluster.jobs import Floats, Ints
from cgrsp_simpy.cluster.metrics import STARVED_S
from cgrsp_simpy.cluster.paper import run_figures, table_figures
from cgrsp_simpy.cluster.paper.run_figures import WIDTHS
from cgrsp_simpy.cluster.paper.runs import LOAD, Runs, one_run
from cgrsp_simpy.cluster.paper.table_figures import HOLDS, every, with_commas
from cgrsp_simpy.model.table import half
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import Figures, Gallery, Handles, Row, markdown, where
from cgrsp_simpy.plots.parts import (
    beside_point,
    told,
)
from cgrsp_simpy.plots.style import LOOKS
from cgrsp_simpy.studies.executors import as_they_come

WAITS = ("fifo", "sjf", "hps", "pbs", "easy", "conservative")
QUANTILES = (5, 25, 50, 75, 95)
# Column -> label, factor to its unit, and whether its axis is logarithmic; UNITS of Table II.
METRICS = {
    "throughput_per_h": ("throughput (jobs/h)", 1.0, False),
    "utilisation_pct": ("utilisation (%)", 1.0, False),
    "starved": ("starved (jobs of {jobs})", 1.0, False),
    "wait_s": ("mean wait (h)", 1 / 3600, True),
    "wait_variance_min2": ("wait variance (1000 min²)", 1e-3, True),
    "fragmentation_pct": ("fragmentation (%)", 1.0, False),
}
# Column -> unit, of those whose least is best.
LEAST = {"starved": "", "wait_s": " s", "wait_variance_min2": " min²"}


FIGURES = Figures("cluster_", Runs, handlelength=2.6)


@FIGURES.add(
    "metrics",
    "All schedulers at one load",
    (6.3, 5.6),
    note=lambda runs: (
        f"offered load {LOAD:g}, {every(runs)}, 95 % intervals.\n"
        "Throughput and utilisation: from the first submission to the last.\n"
        "Starved: waits of more than 30 min. Fragmentation: share of the free GPUs that\n"
        "the widest waiting job cannot use, mean over the time in which jobs wait"
    ),
)
def metrics(runs: Runs) -> list[Row]:
    """Each scheduler's figures, and what they differ by from the least, paired by seed; with 95 %
    half widths.
    """
    rows, study = [], runs.compared
    means = study.means()
    least = {
        metric: study.values(min(means, key=lambda name: means[name][metric].mean), metric)
        for metric in LEAST
    }
    for name, known in means.items():
        row: Row = {"scheduler": name, "load": LOAD, "jobs": runs.jobs, "seeds": runs.seeds}
        for metric in METRICS:
            row |= {metric: known[metric].mean, half(metric): known[metric].half_width}
        for metric in LEAST:
            more = paired_difference(study.values(name, metric), least[metric])
            row |= {above_least(metric): more.mean, half(above_least(metric)): more.half_width}
        rows.append(row)
    return rows


@metrics.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    """A panel a metric: bars, or points where the axis is logarithmic."""
    for ax, (metric, (label, unit, logarithmic)) in zip(
        canvas.subplots(2, 3, sharey=True).flat, METRICS.items()
    ):
        names = [row["scheduler"] for row in rows]
        values, halves = (
            np.array([row[column] for row in rows]) * unit for column in (metric, half(metric))
        )
        if logarithmic:
            _points(ax, names, values, halves)
        else:
            marks.bars(ax, names, values, halves, None, [LOOKS[name].colour for name in names])
            ax.set_xlim(left=0)
        ax.set_xlabel(label.format(jobs=rows[0]["jobs"]))


@metrics.says
def _(rows: list[Row]) -> str:
    found = {row["scheduler"]: row for row in rows}
    fewest, soonest, evenest = (_least(rows, metric, unit) for metric, unit in LEAST.items())
    fifo, *others = sorted(
        rows, key=lambda row: (row["scheduler"] != "fifo", row["throughput_per_h"])
    )
    least, most = (
        f"{row['throughput_per_h']:.2f} ({row['scheduler']})" for row in (others[0], others[-1])
    )
    return (
        f"While jobs arrive, {fifo['throughput_per_h']:.2f} an hour are completed under fifo,"
        f" {least} to {most} under the others. Fewest jobs starve under {fewest};"
        f" the mean wait is shortest under {soonest}; waits vary least under {evenest}, in place of"
        f" {found['hps']['wait_variance_min2']:,.0f} min² under hps."
    )


@metrics.tables
def _(rows: list[Row]) -> str:
    head = (
        "scheduler | jobs/h | utilisation, % | starved | mean wait, s | variance of waits, min²"
        " | fragmentation, %"
    )
    lines = [
        [
            row["scheduler"],
            *(f"{with_commas(row[name])} ± {with_commas(row[half(name)])}" for name in METRICS),
        ]
        for row in rows
    ]
    return markdown(head, 1, lines)


def above_least(metric: str) -> str:
    """The column of what a figure is more than the least of all schedulers."""
    return f"{metric}_above_least"


def _points(ax: Axes, names: Sequence[str], values: np.ndarray, halves: np.ndarray) -> None:
    for place, (name, value, spread) in enumerate(zip(names, values, np.nan_to_num(halves))):
        ax.plot([value], [place], "o", color=LOOKS[name].colour)
        marks.intervals(ax, [value], [place], x_half=[spread], colour=LOOKS[name].colour)
        beside_point(ax, told(value), (value + spread, place), (7, 0), va="center")
    if len(known := values[values > 0]):
        low, high = np.floor(np.log10(known.min() / 2)), np.ceil(np.log10(known.max() * 6))
        ax.set(xscale="log", xlim=(10**low, 10**high))
        ax.xaxis.set_major_locator(LogLocator(numticks=6))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_axisbelow(True)
    ax.grid(axis="x", color="0.9")


def _least(rows: Sequence[Row], metric: str, unit: str) -> str:
    """The scheduler of the least mean, and which others are not shown to differ from it: those
    whose paired difference may be 0.
    """
    least, *others = sorted(rows, key=lambda row: float(row[metric]))
    more = above_least(metric)
    near = [row["scheduler"] for row in others if not row[more] > row[half(more)]]
    also = f" (not shown to differ, paired by seed: {', '.join(near)})" if near else ""
    return f"{least['scheduler']}, {least[metric]:,.0f} ± {least[half(metric)]:,.0f}{unit}{also}"


@FIGURES.add(
    "waits",
    "Who waits how long: waits by the GPUs of a job",
    (6.3, 4.2),
    note=lambda runs: f"offered load {LOAD:g}, {every(runs)} taken together",
    texts=("gpus",),
)
def waits(runs: Runs) -> list[Row]:
    """Quantiles of the waits by scheduler and class of GPUs, over the jobs of all seeds."""
    tasks = [(name, runs.jobs, seed) for name in WAITS for seed in range(runs.seeds)]
    found = dict(as_they_come(_waits, dict(enumerate(tasks)), runs.executor))
    rows = []
    for place, name in enumerate(WAITS):
        own = [found[place * runs.seeds + seed] for seed in range(runs.seeds)]
        width, wait_s = (np.concatenate(columns) for columns in zip(*own))
        for number, gpus in enumerate(WIDTHS):
            if len(chosen := wait_s[width == number]):
                quantiles = dict(
                    zip((f"p{q}_s" for q in QUANTILES), np.percentile(chosen, QUANTILES).tolist())
                )
                rows.append(
                    {
                        "scheduler": name,
                        "gpus": gpus,
                        "jobs": len(chosen),
                        **quantiles,
                        "longest_s": float(chosen.max()),
                    }
                )
    return rows


@waits.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """A panel a scheduler: of each class of GPUs the middle half, the middle nine tenths
    and the median.
    """
    axes = canvas.subplots(2, 3, sharex=True, sharey=True)
    for ax, name in zip(axes.flat, WAITS):
        for row in where(rows, scheduler=name):
            _box(ax, list(WIDTHS).index(row["gpus"]), row, LOOKS[name].colour)
        thin = 0.8 * rcParams["lines.linewidth"]
        ax.axvline(STARVED_S / 60, color=HOLDS["no"][0], ls="--", lw=thin, zorder=0)
        ax.set_title(name, loc="left", fontsize="medium")
        ax.set_xscale("symlog", linthresh=1, linscale=0.5)
        ax.set_xticks([0, 1, 10, 100, 1e3, 1e4], ["0", "1", "10", "100", "$10^3$", "$10^4$"])
        ax.set_axisbelow(True)
        ax.grid(axis="x", color="0.9")
    axes[0, 0].set_yticks(range(len(WIDTHS)), list(WIDTHS))
    axes[0, 0].set(ylim=(len(WIDTHS) - 0.5, -0.5), xlim=(-0.3, 4e4))
    canvas.supxlabel("wait (min), logarithmic from 1 min on", fontsize="medium")
    canvas.supylabel("GPUs of the job", fontsize="medium")
    first = LOOKS[WAITS[0]].colour
    return [
        Patch(color=first, alpha=0.55, label="middle half"),
        Line2D([], [], color=first, label="5 to 95 %"),
        Line2D([], [], label="median", **_median()),
        Line2D([], [], color=HOLDS["no"][0], linestyle="--", label="starved from here on"),
    ]


@waits.says
def _(rows: list[Row]) -> str:
    found = {(row["scheduler"], row["gpus"]): row["p50_s"] / 60 for row in rows}
    narrow, wide = next(iter(WIDTHS)), list(WIDTHS)[-1]
    medians = ", ".join(
        f"{found[name, narrow]:,.0f} and {found[name, wide]:,.0f} min under {name}"
        for name in dict.fromkeys(row["scheduler"] for row in rows)
        if (name, narrow) in found and (name, wide) in found
    )
    return f"The median waits of jobs of {narrow} GPU, and of {wide} GPUs, are {medians}."


def _waits(task: tuple[str, int, int]) -> tuple[Ints, Floats]:
    """Of each job its class of GPUs, as an index, and its wait."""
    jobs = one_run(*task).jobs
    return np.searchsorted(list(WIDTHS.values()), jobs["gpus"]), jobs["start_s"] - jobs["submit_s"]


def _box(ax: Axes, place: int, row: Row, colour: str) -> None:
    low, left, middle, right, high = (row[f"p{q}_s"] / 60 for q in (5, 25, 50, 75, 95))
    ax.plot([low, high], [place, place], color=colour, solid_capstyle="butt")
    ax.barh(place, right - left, 0.6, left, color=colour, alpha=0.55)
    ax.plot([middle], [place], zorder=3, **_median())


def _median() -> dict[str, Any]:
    """Style of a median: an upright line."""
    thick, size = 1.6 * rcParams["lines.linewidth"], 2.4 * rcParams["lines.markersize"]
    own: dict[str, Any] = {"color": "black", "marker": "|", "linestyle": "none"}
    return own | {"markersize": size, "markeredgewidth": thick}


FIGURES |= run_figures.FIGURES | table_figures.FIGURES


def _intro(runs: Runs) -> list[str]:
    return [
        "# Figures of GPU clusters, drawn from this package's runs",
        "After “Reducing Fragmentation and Starvation in GPU Clusters through Dynamic"
        f" Multi-Objective Scheduling”: its mix of jobs on 8 nodes of 8 GPUs, {runs.jobs} jobs a"
        f" run, {runs.seeds} seeds. The paper prints neither how its jobs arrive nor the law of"
        " durations within its classes; both are ours, and what is published belongs to other jobs."
        " Nor does it say over what time throughput and utilisation are measured; here it is from"
        " the first submission to the last, while jobs arrive. What stands after ± is half of"
        " a 95 % interval. fifo, sjf, shortest and shortest-gpu are the paper's static schedulers,"
        " hps, pbs and sbs its dynamic ones, adaptive the one that it gave up; fifo-skip, easy,"
        " conservative and las are beside them for comparison. Each picture has the CSV of what is"
        " plotted beside it. All of them: `cgrsp cluster figures --out figures/cluster`.",
    ]


draw_figures = Gallery("cluster", Runs, FIGURES, _intro).draw
