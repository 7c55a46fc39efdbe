"""The figures of GPU clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from cgrsp_simpy.analysis.statistics import paired_difference
from cgrsp_simpy.cluster.jobs import Floats, Ints
from cgrsp_simpy.cluster.metrics import STARVED_S, measured
from cgrsp_simpy.cluster.paper import run_figures, table
from cgrsp_simpy.cluster.paper.run_figures import WIDTHS
from cgrsp_simpy.cluster.paper.table import (
    CLAIMS,
    CUT,
    LOAD,
    PUBLISHED,
    SETTINGS,
    UNCUT,
    Runs,
    implied,
    scenario,
    verdict,
)
from cgrsp_simpy.model.table import half
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import Figures, Gallery, Handles, Row, markdown, where
from cgrsp_simpy.plots.parts import decimals, dots, few_ticks, hollow
from cgrsp_simpy.plots.style import LOOKS
from cgrsp_simpy.studies.executors import as_they_come

WAITS = ("fifo-skip", "sjf", "hps", "pbs", "easy", "conservative")
CARRIED = ("fifo", "fifo-skip", "shortest", "hps", "easy", "conservative")
MEDIAN: dict[str, Any] = {  # an upright line
    **{"color": "black", "marker": "|", "linestyle": "none"},
    **{"markersize": 13, "markeredgewidth": 2.6},
}
QUANTILES = (5, 25, 50, 75, 95)
# Column -> label, factor to its unit, and whether its axis is logarithmic; UNITS of Table II.
METRICS = {
    "throughput_per_h": ("throughput (jobs/h)", 1.0, False),
    "utilisation_pct": ("utilisation (%)", 1.0, False),
    "starved": ("starved (jobs)", 1.0, False),
    "wait_s": ("mean wait (h)", 1 / 3600, True),
    "wait_variance_min2": ("wait variance (1000 min²)", 1e-3, True),
    "fragmentation_pct": ("fragmentation (%)", 1.0, False),
}
# Column -> unit, of those whose least is best.
LEAST = {"starved": "", "wait_s": " s", "wait_variance_min2": " min²"}
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
MEASURED = {CUT: "as in the paper, none after the 1,000th job", UNCUT: "without the cut"}
SHAPES, ASIDE = {CUT: "o", UNCUT: "s"}, {CUT: 0.0, UNCUT: 0.28}
KINDS = {"mean": "means", "best": "worst dynamic, best static"}
CLAIMED = {
    "throughput_per_h": "More jobs per hour",
    "starved": "Fewer starved jobs",
    "wait_variance_s2": "Less variance of waits",
}


FIGURES = Figures("cluster_", Runs, handlelength=2.6)


@FIGURES.add(
    "loads",
    "Which load a scheduler can carry",
    (6.3, 3.6),
    note=lambda runs: (
        f"{every(runs)}, 95 % intervals.\nA line ends at the highest load tried at which no run"
        " shows that the scheduler is not stable"
    ),
)
def loads(runs: Runs) -> list[Row]:
    """Each scheduler's mean wait by load, without the paper's cut; infinite where not stable."""
    return [
        {"scheduler": name, "load": load, "wait_s": of.mean, half("wait_s"): of.half_width}
        for (setting, load), study in runs.tabled.items()
        if setting == UNCUT
        for name, of in ((name, row["wait_s"]) for name, row in study.means().items())
    ]


@loads.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    """A line a scheduler, side by side so that intervals can be told apart."""
    ax, ends = canvas.subplots(), {}
    for place, name in enumerate(CARRIED):
        own = [row for row in where(rows, scheduler=name) if np.isfinite(row["wait_s"])]
        at = np.array([row["load"] for row in own]) + 0.008 * (place - 2.5)
        hours, halves = (
            np.array([row[column] for row in own]) / 3600 for column in ("wait_s", half("wait_s"))
        )
        ax.plot(at, hours, linestyle=LOOKS[name].line, **dots(LOOKS[name]))
        marks.intervals(ax, at, hours, y_half=halves, colour=LOOKS[name].colour, caps=False)
        ends[name] = (float(at[-1]), float(hours[-1]))
    ax.set(xlabel="offered load", ylabel="mean wait (h)", yscale="log", ylim=(0.03, 30))
    ax.yaxis.set_major_formatter("{x:g}")
    marks.labels_at_ends(ax, ends, [LOOKS[name].colour for name in ends])


@loads.says
def _(rows: list[Row]) -> str:
    names = dict.fromkeys(row["scheduler"] for row in rows)
    most = {
        name: max(row["load"] for row in where(rows, scheduler=name) if np.isfinite(row["wait_s"]))
        for name in names
    }
    parts = [
        f"up to {load:g} {', '.join(name for name in names if most[name] == load)}"
        for load in sorted(set(most.values()), reverse=True)
    ]
    return f"No run shows that a scheduler is not stable {'; '.join(parts)}."


@FIGURES.add(
    "metrics",
    "All schedulers at one load",
    (6.3, 5.6),
    note=lambda runs: (
        f"offered load {LOAD:g}, {every(runs)}, 95 % intervals.\n"
        "Throughput, utilisation, fragmentation: while the measured jobs arrive.\n"
        "Starved: waits of more than 30 min. Fragmentation: share of the free GPUs that\n"
        "the widest waiting job cannot use, mean over the time in which jobs wait"
    ),
)
def metrics(runs: Runs) -> list[Row]:
    """Each scheduler's figures, and what they differ by from the least, paired by seed; with 95 %
    half widths.
    """
    rows, study = [], runs.tabled[UNCUT, LOAD]
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
            column = f"{metric}_above_least"
            row |= {column: more.mean, half(column): more.half_width}
        rows.append(row)
    return rows


@metrics.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    """A panel a metric."""

    def mark(ax: Axes, metric: str, unit: float) -> None:
        for at, row in enumerate(rows):
            value(ax, row, metric, unit, at)

    panels(canvas, METRICS, [row["scheduler"] for row in rows], mark)


@metrics.says
def _(rows: list[Row]) -> str:
    fewest, soonest, evenest = (_least(rows, metric, unit) for metric, unit in LEAST.items())
    return (
        "Who keeps up completes and uses what arrives, whatever the scheduler. Fewest jobs starve"
        f" under {fewest}; the mean wait is shortest under {soonest}; waits vary least under"
        f" {evenest}."
    )


@metrics.tables
def _(rows: list[Row]) -> str:
    head = (
        "scheduler | jobs/h | utilisation, % | starved | mean wait, s | variance of waits, min²"
        " | fragmentation, %"
    )
    told = ([spread(row[name], row[half(name)]) for name in METRICS] for row in rows)
    return markdown(head, 1, [[row["scheduler"], *cells] for row, cells in zip(rows, told)])


def _least(rows: Sequence[Row], metric: str, unit: str) -> str:
    """The scheduler of the least mean, and which others are not shown to differ from it: those
    whose paired difference may be 0.
    """
    least, *others = sorted(rows, key=lambda row: float(row[metric]))
    more = f"{metric}_above_least"
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
        ax.axvline(STARVED_S / 60, color=HOLDS["no"][0], ls="--", lw=1.2, zorder=0)
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
        Line2D([], [], label="median", **MEDIAN),
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
    """Of each measured job its class of GPUs, as an index, and its wait."""
    jobs = measured(scenario(UNCUT, LOAD, task[1]).run(task[0], task[2]))
    return np.searchsorted(list(WIDTHS.values()), jobs["gpus"]), jobs["start_s"] - jobs["submit_s"]


def _box(ax: Axes, place: int, row: Row, colour: str) -> None:
    low, left, middle, right, high = (row[f"p{q}_s"] / 60 for q in (5, 25, 50, 75, 95))
    ax.plot([low, high], [place, place], color=colour, solid_capstyle="butt")
    ax.barh(place, right - left, 0.6, left, color=colour, alpha=0.55)
    ax.plot([middle], [place], zorder=3, **MEDIAN)


@FIGURES.add(
    "table2",
    "Table II: published, as the paper measures, and without its cut",
    (6.3, 5.4),
    note=lambda runs: (
        f"{every(runs)}, 95 % intervals.\n"
        "Beside a scheduler: the load at which its utilisation is as published.\n"
        "Hollow: published, at a load that is not printed; the variance, without a unit, as if in"
        " min².\n"
        "At the right edge, ∞: not stable at this load, without a cut there is no mean wait"
    ),
)
def table_two(runs: Runs) -> list[Row]:
    """Table II over loads, published beside reproduced."""
    return table.rows(runs.tabled)


@table_two.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """A panel a figure, a line a scheduler: published, as the paper measures, without its cut."""
    near = where(rows, closest=True)

    def mark(ax: Axes, figure: str, unit: float) -> None:
        for row in near:
            at = list(PUBLISHED).index(row["scheduler"]) + ASIDE[row["setting"]]
            value(ax, row, figure, unit, at, SHAPES[row["setting"]])
        for at, published in enumerate(PUBLISHED.values()):
            if figure in published:  # the variance as if it were in min²
                ax.plot([published[figure]], [at - 0.28], clip_on=False, **hollow())

    loads = {row["scheduler"]: row["load"] for row in near}
    panels(canvas, UNITS, [f"{name}, {load:g}" for name, load in loads.items()], mark)
    canvas.axes[-1].axis("off")
    black: dict[str, Any] = {"linestyle": "none", "color": "black"}
    ours = [Line2D([], [], **black, marker=SHAPES[each], label=MEASURED[each]) for each in SETTINGS]
    return [marks.published(), *ours]


def panels(
    canvas: Canvas,
    units: Mapping[str, tuple[str, float, bool]],
    names: Sequence[str],
    mark: Callable[[Axes, str, float], None],
) -> None:
    """A panel a figure, a line a name. mark: draws a figure, times its unit, on an Axes."""
    axes = canvas.subplots(2, 3, sharey=True)
    for ax, (figure, (label, unit, logarithmic)) in zip(axes.flat, units.items()):
        mark(ax, figure, unit)
        ax.set_xlabel(label)
        drawn = np.array([line.get_xdata()[0] for line in ax.lines], float)
        if logarithmic and len(known := np.log10(drawn[drawn > 0])):
            low, high = np.floor(known.min() - 0.3), np.ceil(known.max() + 0.3)
            ax.set(xscale="log", xlim=(10**low, 10**high))
            ax.xaxis.set_major_locator(LogLocator(numticks=5))
            ax.xaxis.set_minor_formatter(NullFormatter())
        else:
            few_ticks(ax.xaxis)
            ax.set_xlim(left=0)
        for at in range(1, len(names)):
            ax.axhline(at - 0.5, color="0.88", linewidth=0.6, zorder=0)
    axes[0, 0].set_yticks(range(len(names)), names)
    axes[0, 0].set_ylim(len(names) - 0.5, -0.5)


def value(ax: Axes, row: Row, figure: str, unit: float, at: float, shape: str = "o") -> None:
    """A scheduler's figure with its interval; an infinite one as a sign at the right edge."""
    x, spread, colour = row[figure] * unit, row[half(figure)] * unit, LOOKS[row["scheduler"]].colour
    if np.isfinite(x):
        marks.intervals(ax, [x], [at], x_half=[spread], colour=colour)
        ax.plot([x], [at], shape, color=colour, label=row["scheduler"])
    else:
        right: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "ha": "right"}
        ax.text(0.99, at, "∞", color=colour, va="center", **right)


@table_two.tables
def _(rows: list[Row]) -> str:
    names = [each[0] for each in UNITS.values()]
    lines = []
    for row in where(rows, closest=True):
        cells = [row["scheduler"], row["setting"], f"{row['load']:g}"]
        for figure, (_, unit, _) in UNITS.items():
            printed = row[f"published_{figure}"]
            cells += [spread(row[figure] * unit, row[half(figure)] * unit)]
            cells += ["" if printed is None else f"{printed:g}"]
        lines.append(cells)
    told = (
        f"Cut: {MEASURED[CUT]}. Of each scheduler the load at which its utilisation, so measured,"
        f" is closest to the published one; where none is published, {table.FULL:g}. The published"
        " variance has no unit. ∞: not stable at this load."
    )
    points = "\n".join(f"- {line}" for line in implied())
    head = " | ".join(["scheduler | measured | load", *(f"{name} | published" for name in names)])
    return "\n\n".join([markdown(head, 2, lines), told, points])


@FIGURES.add(
    "claims",
    "Do dynamic schedulers beat static ones?",
    (6.3, 3.2),
    note=lambda runs: (
        "dynamic (hps, pbs, sbs) minus static (fifo, sjf, shortest, shortest-gpu),"
        " paired by seed;\n"
        f"{every(runs)}, 95 % intervals; below 1 also without the paper's cut"
    ),
)
def claims(runs: Runs) -> list[Row]:
    """Dynamic minus static over loads, with 95 % half widths."""
    return table.claims(runs.tabled)


@claims.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """A panel a way of measuring: claims by load, each answered."""
    axes = canvas.subplots(1, 2, sharey=True)
    asked = [(figure, kind) for figure in CLAIMS for kind in KINDS]
    loads = sorted({row["load"] for row in rows})
    for ax, (setting, title) in zip(axes, MEASURED.items()):
        for row in where(rows, setting=setting):
            for kind in KINDS:
                colour, mark, _ = HOLDS[row[f"{kind}_holds"]]
                at = loads.index(row["load"]), asked.index((row["figure"], kind))
                ax.plot(*([each] for each in at), mark, color=colour, markersize=8)
        ax.set_title(title.partition(",")[0], loc="left", fontsize="medium")
        ax.set_xticks(range(len(loads)), [f"{load:g}" for load in loads])
        ax.set(xlabel="offered load", xlim=(-0.5, len(loads) - 0.5), ylim=(len(asked) - 0.5, -0.5))
        for edge in (1.5, 3.5):
            ax.axhline(edge, color="0.88", linewidth=0.6, zorder=0)
    axes[0].set_yticks(
        range(len(asked)), [f"{CLAIMED[figure]}:\n{KINDS[kind]}" for figure, kind in asked]
    )
    return [
        Line2D([], [], linestyle="none", color=colour, marker=mark, label=text)
        for colour, mark, text in HOLDS.values()
    ]


@claims.says
def _(rows: list[Row]) -> str:
    parts = []
    for setting in SETTINGS:
        said = [
            f"{CLAIMED[figure].lower()}: of the means of both groups it"
            f" {verdict(rows, figure, 'mean', setting)}; of the worst dynamic and the best static"
            f" scheduler it {verdict(rows, figure, 'best', setting)}"
            for figure in CLAIMS
        ]
        parts.append(f"{MEASURED[setting].capitalize()}: {'; '.join(said)}.")
    return f"The claim that dynamic schedulers do better. {' '.join(parts)}"


def every(runs: Runs) -> str:
    """Its jobs and seeds, for a note."""
    return f"{runs.jobs} jobs on 8 nodes of 8 GPUs, {runs.seeds} seeds"


def spread(value: float, half_width: float) -> str:
    """A mean and its half width to three digits or so; ∞ where it is infinite."""
    if not np.isfinite(value):
        return "∞"
    return " ± ".join(f"{each:,.{decimals(each)}f}" for each in (value, half_width))


FIGURES |= run_figures.FIGURES


def _intro(runs: Runs) -> list[str]:
    return [
        "# Figures of GPU clusters, drawn from this package's runs",
        "After “Reducing Fragmentation and Starvation in GPU Clusters through Dynamic"
        f" Multi-Objective Scheduling”: its mix of jobs on 8 nodes of 8 GPUs, {runs.jobs} jobs"
        f" measured, {runs.seeds} seeds. The paper prints neither how its jobs arrive nor the law"
        " of durations within its classes; both are ours, and what is published belongs to other"
        " jobs. Nor does it say over what time throughput and utilisation are measured; here it is"
        " while the measured jobs arrive. The paper submits its jobs to an empty cluster, and none"
        " after them: wide jobs that starve are served when arrivals end. Where that is not said,"
        " the measured jobs follow others, and jobs arrive until they have ended. What stands after"
        " ± is half of a 95 % interval. fifo, sjf, shortest and shortest-gpu are the paper's static"
        " schedulers, hps, pbs and sbs its dynamic ones, adaptive the one that it gave up;"
        " fifo-skip, easy, conservative and las are beside them for comparison. Each picture has"
        " the CSV of what is plotted beside it. All of them:"
        " `cgrsp cluster figures --out figures/cluster`.",
    ]


draw_figures = Gallery("cluster", Runs, FIGURES, _intro).draw
