"""The figures of GPU clusters."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, MultipleLocator, NullFormatter

from cgrsp_simpy.analysis.statistics import paired_difference
from cgrsp_simpy.base.arrays import Floats, Ints
from cgrsp_simpy.base.table import half, many, with_halves
from cgrsp_simpy.cluster.cluster import PAPER_CLUSTER
from cgrsp_simpy.cluster.policies import hps_aging
from cgrsp_simpy.cluster.report import STARVED_S, measured
from cgrsp_simpy.papers import ledger
from cgrsp_simpy.papers.cluster import table
from cgrsp_simpy.papers.cluster.printed import impossible
from cgrsp_simpy.papers.cluster.table import (
    CLAIMS,
    CUT,
    FULL,
    LOAD,
    PUBLISHED,
    SETTINGS,
    UNCUT,
    Runs,
    scenario,
    verdict,
)
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import (
    Canvas,
    Gallery,
    Handles,
    Row,
    distinct,
    markdown,
    numbers,
    where,
)
from cgrsp_simpy.plots.lanes import bars
from cgrsp_simpy.plots.parts import (
    FAINT,
    as_mathtext,
    decimals,
    dots,
    few_ticks,
    hollow,
    key,
    name_rows,
    plus_minus,
    titled,
)
from cgrsp_simpy.plots.style import LOOKS, kind_colours
from cgrsp_simpy.studies.executors import as_they_come
from cgrsp_simpy.studies.subject import subject_of

COURSE = GANTT = ("fifo", "hps", "easy")
GANTT_H = 24.0
BLOCK = ["job", "resource", "low", "high", "from_s", "to_s"]  # columns of a bar
# the paper's classes of GPUs, and the largest number of each
WIDTHS = {"1": 1.0, "2": 2.0, "4": 4.0, "8": 8.0, "16+": np.inf}
SPAN_S = 12 * 3600.0  # a time course is averaged over such spans
HPS = (300.0, 2.0, 1800.0)  # default aging threshold, boost and longest wait
# jobs whose scores are drawn, GPUs and seconds, and their colours
AGED = {(1, 600.0): "#009E73", (2, 3600.0): "#C04A00", (8, 14_400.0): "#0B4F9C"}
FORMS: dict[str, tuple[str, Any]] = {
    "program": ("authors' program", "-"),
    "monotone": ("monotone, ours", (0, (4, 1.5))),
}
WIDTH_COLOURS = list(kind_colours(WIDTHS).values())
WAITS = ("fifo-skip", "sjf", "hps", "pbs", "easy", "conservative")
CARRIED = ("fifo", "fifo-skip", "shortest", "hps", "easy", "conservative")
MEDIAN: dict[str, Any] = {  # an upright line
    **{"color": "black", "marker": "|", "linestyle": "none"},
    **{"markersize": 13, "markeredgewidth": 2.6},
}
QUANTILES = (5, 25, 50, 75, 95)
# the scheduler that the others are compared with; the one that may be outside the axes,
# as it can hardly carry the load, and would hide the differences of the others
REFERENCE, OUTSIDE = "hps", "fifo"
# column -> label of the difference, and factor to its unit
METRICS = {
    "starved": ("starved (jobs)", 1.0),
    "wait_s": ("mean wait (h)", 1 / 3600),
    "fragmentation_pct": ("fragmentation (points)", 1.0),
}
# column -> label, factor to its unit, and whether its axis is logarithmic
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
MEASURED = {
    CUT: "as in the paper, none after the 1,000th job",
    UNCUT: "without the cut",
}
SHAPES = {CUT: ("o", 0.0), UNCUT: ("s", 0.28)}  # mark, and its distance from the line
KINDS = {"mean": "means", "best": "worst dynamic, best static"}
CLAIMED = {
    "throughput_per_h": "More jobs per hour",
    "starved": "Fewer starved jobs",
    "wait_variance_s2": "Less variance of waits",
}


def _intro(runs: Runs) -> list[str]:
    return [
        "# Figures of GPU clusters, drawn from this package's runs",
        (
            "After “Reducing Fragmentation and Starvation in GPU Clusters"
            " through Dynamic Multi-Objective Scheduling”: its mix of jobs"
            f" on 8 nodes of 8 GPUs, {many(runs.jobs, 'job')} measured,"
            f" {many(runs.seeds, 'seed')}."
            " The paper"
            " prints neither the arrivals nor the distribution of durations"
            " within its classes; we chose both, so the published values"
            " belong to other jobs. It does not state the period over which"
            " throughput and utilisation are measured; here it is the time"
            " in which the measured jobs arrive. The paper submits its jobs"
            " to an empty cluster, and none after them, so that starving"
            " wide jobs are served when arrivals end. Unless a figure says"
            " so, our measured jobs follow others, and jobs arrive until"
            " the measured ones have ended. The number after ± is the half"
            " width of a 95 % interval. fifo, sjf, shortest and"
            " shortest-gpu are the paper's static schedulers, hps, pbs and"
            " sbs its dynamic ones, adaptive the one that it gave up;"
            " fifo-skip, easy, conservative and las are added for"
            " comparison. Next to each picture is the CSV of its data. All"
            " of them: `cgrsp papers figures cluster --out figures/cluster`."
        ),
    ]


FIGURES = Gallery("cluster", Runs, _intro, handlelength=2.6)


@FIGURES.add(
    "loads",
    "Loads at which the schedulers are stable",
    (6.3, 3.6),
    note=lambda runs: (
        f"{every(runs)}, 95 % intervals.\n"
        "A line ends at the highest load tried at which no run shows that the"
        " scheduler is not stable"
    ),
)
def loads(runs: Runs) -> list[Row]:
    """Mean wait per scheduler and load, uncut; infinite if the queue grows."""
    return [
        {"scheduler": name, "load": load, **with_halves({"wait_s": row["wait_s"]})}
        for (setting, load), study in runs.tabled.items()
        if setting == UNCUT
        for name, row in study.means().items()
    ]


@loads.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    ax, ends = canvas.subplots(), {}
    for place, name in enumerate(CARRIED):
        selected = [
            row for row in where(rows, scheduler=name) if np.isfinite(row["wait_s"])
        ]
        at = np.array(numbers(selected, "load")) + 0.008 * (place - 2.5)
        hours, halves = (
            np.array(numbers(selected, name)) / 3600
            for name in ("wait_s", half("wait_s"))
        )
        look = LOOKS[name]
        ax.plot(at, hours, linestyle=look.line, **dots(look))
        marks.intervals(ax, at, hours, y_half=halves, colour=look.colour, caps=False)
        ends[name] = (float(at[-1]), float(hours[-1]))
    ax.set(xlabel="offered load", ylabel="mean wait (h)", yscale="log", ylim=(0.03, 30))
    ax.yaxis.set_major_formatter("{x:g}")
    marks.labels_at_ends(ax, ends, [LOOKS[name].colour for name in ends])


@loads.describes
def _(rows: list[Row]) -> str:
    most = {  # the rows of a scheduler are in the order of the loads
        row["scheduler"]: row["load"] for row in rows if np.isfinite(row["wait_s"])
    }
    parts = [
        f"{load:g} for {', '.join(name for name in most if most[name] == load)}"
        for load in sorted(set(most.values()), reverse=True)
    ]
    return f"Highest load at which no run shows instability: {'; '.join(parts)}."


@FIGURES.add(
    "metrics",
    f"All schedulers at one load: differences from {REFERENCE}",
    (6.3, 3.7),
    note=lambda runs: (
        f"offered load {LOAD:g}, {every(runs)}.\n"
        f"Differences from {REFERENCE}, paired by seed, 95 % intervals; at the edge:"
        f" {OUTSIDE}, outside the axes.\n"
        "Starved: waits of more than 30 min. Fragmentation: share of the free GPUs"
        " that\n"
        "the widest waiting job cannot use, mean over the time in which jobs wait"
    ),
)
def metrics(runs: Runs) -> list[Row]:
    """Means per scheduler, and paired differences from REFERENCE, with half widths."""
    study = runs.tabled[UNCUT, LOAD]
    return [
        {
            **{"scheduler": name, "load": LOAD, "jobs": runs.jobs, "seeds": runs.seeds},
            **{metric: row[metric].mean for metric in METRICS},
            **with_halves(
                {
                    _more(metric): paired_difference(
                        study.values(name, metric), study.values(REFERENCE, metric)
                    )
                    for metric in METRICS
                }
            ),
        }
        for name, row in study.means().items()
    ]


def _more(metric: str) -> str:
    return f"{metric}_more_than_{REFERENCE}"


@metrics.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    names = [row["scheduler"] for row in rows]
    axes = canvas.subplots(1, len(METRICS), sharey=True)
    for ax, (metric, (label, unit)) in zip(axes, METRICS.items()):
        values, halves = (
            unit * np.array(numbers(rows, column))
            for column in (_more(metric), half(_more(metric)))
        )
        inside = np.isfinite(values) & (np.array(names) != OUTSIDE)
        ends = np.abs(values[inside]) + np.nan_to_num(halves[inside])
        inside |= np.abs(values) <= ends.max(initial=0.0)
        for at, (name, value, spread) in enumerate(zip(names, values, halves)):
            if inside[at]:
                marks.point(ax, value, at, spread, color=LOOKS[name].colour, label=name)
            else:
                text = f"{plus_minus(value, spread)} \N{RIGHTWARDS ARROW}"
                _at_edge(ax, at, text, name).set_fontsize("small")
        ax.axvline(0, **FAINT)
        ax.set_xlabel(label)
        few_ticks(ax.xaxis)
        name_rows(ax, names)


def _at_edge(ax: Axes, y: float, text: str, name: str) -> Text:
    """Write a text at the right edge, for a value outside the axes."""
    return ax.text(
        *(0.99, y, text),
        transform=ax.get_yaxis_transform(),
        ha="right",
        va="center",
        color=LOOKS[name].colour,
    )


@metrics.describes
def _(rows: list[Row]) -> str:
    parts = []
    for metric, (label, _) in METRICS.items():
        value, width = _more(metric), half(_more(metric))
        less = [row["scheduler"] for row in rows if row[value] < -row[width]]
        more = [row["scheduler"] for row in rows if row[value] > row[width]]
        parts.append(
            f"{label.partition(' (')[0]}: less under {', '.join(less) or 'none'}, more"
            f" under {', '.join(more) or 'none'}"
        )
    return (
        f"Compared with {REFERENCE}, by single intervals: {'; '.join(parts)}. For the"
        " others"
        " no difference is shown. Throughput and utilisation are left"
        " out: if a scheduler is stable, they are determined by the"
        " arrivals."
    )


@metrics.tables
def _(rows: list[Row]) -> str:
    head = (
        "scheduler | starved | difference | mean wait, s | difference |"
        " fragmentation, % | difference"
    )
    lines = [
        [
            row["scheduler"],
            *chain.from_iterable(
                (
                    f"{row[metric]:,.{decimals(row[metric])}f}",
                    plus_minus(row[_more(metric)], row[half(_more(metric))]),
                )
                for metric in METRICS
            ),
        ]
        for row in rows
    ]
    return markdown(head, 1, lines)


@FIGURES.add(
    "waits",
    "Waits by the number of GPUs of a job",
    (6.3, 4.2),
    note=lambda runs: f"offered load {LOAD:g}, {every(runs)} taken together",
    texts=("gpus",),
)
def waits(runs: Runs) -> list[Row]:
    """Quantiles of the waits by scheduler and class of GPUs, over all seeds."""
    tasks = {
        (name, seed): (name, runs.jobs, seed)
        for name in WAITS
        for seed in range(runs.seeds)
    }
    waits_by_run = dict(as_they_come(_waits, tasks, runs.executor))
    return [
        {
            "scheduler": name,
            "gpus": gpus,
            "jobs": len(chosen),
            **{f"p{q}_s": float(np.percentile(chosen, q)) for q in QUANTILES},
            "longest_s": float(chosen.max()),
        }
        for name in WAITS
        for per_seed in [[waits_by_run[name, seed] for seed in range(runs.seeds)]]
        for width, wait_s in [map(np.concatenate, zip(*per_seed))]
        for number, gpus in enumerate(WIDTHS)
        for chosen in [wait_s[width == number]]
        if len(chosen)
    ]


@waits.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    axes = canvas.subplots(2, 3, sharex=True, sharey=True)
    for ax, name in zip(axes.flat, WAITS):
        for row in where(rows, scheduler=name):
            at, colour = list(WIDTHS).index(row["gpus"]), LOOKS[name].colour
            low, left, middle, right, high = (row[f"p{q}_s"] / 60 for q in QUANTILES)
            ax.plot([low, high], [at, at], color=colour, solid_capstyle="butt")
            ax.barh(at, right - left, 0.6, left, color=colour, alpha=0.55)
            ax.plot([middle], [at], zorder=3, **MEDIAN)
        ax.axvline(STARVED_S / 60, color=HOLDS["no"][0], ls="--", lw=1.2, zorder=0)
        titled(ax, name)
        ax.set_xscale("symlog", linthresh=1, linscale=0.5)
        texts = ["0", "1", "10", "100", "$10^3$", "$10^4$"]
        for tick in ax.set_xticks([0, 1, 10, 100, 1e3, 1e4], texts):
            as_mathtext(tick.label1)
        ax.set_axisbelow(True)
        ax.grid(axis="x", color="0.9")
    axes[0, 0].set_yticks(range(len(WIDTHS)), list(WIDTHS))
    axes[0, 0].set(ylim=(len(WIDTHS) - 0.5, -0.5), xlim=(-0.3, 4e4))
    canvas.supxlabel("wait (min), logarithmic from 1 min on", fontsize="medium")
    canvas.supylabel("GPUs of the job", fontsize="medium")
    first = LOOKS[WAITS[0]].colour
    return [
        Patch(color=first, alpha=0.55, label="middle half"),
        key(color=first, label="5 to 95 %"),
        key(label="median", **MEDIAN),
        key(color=HOLDS["no"][0], linestyle="--", label="starved from here on"),
    ]


@waits.describes
def _(rows: list[Row]) -> str:
    by_key = {(row["scheduler"], row["gpus"]): row["p50_s"] / 60 for row in rows}
    narrow, *_, wide = WIDTHS
    medians = ", ".join(
        f"{by_key[name, narrow]:,.0f} and {by_key[name, wide]:,.0f} min under {name}"
        for name in distinct(rows, "scheduler")
        if (name, narrow) in by_key and (name, wide) in by_key
    )
    return (
        f"The median waits of jobs of {narrow} GPU, and of {wide} GPUs, are {medians}."
    )


def _waits(task: tuple[str, int, int]) -> tuple[Ints, Floats]:
    """Class of GPUs, as an index, and wait of each measured job."""
    jobs = measured(subject_of(scenario(UNCUT, LOAD, task[1])).run(task[0], task[2]))
    return (
        np.searchsorted(list(WIDTHS.values()), jobs["gpus"]),
        jobs["start_s"] - jobs["submit_s"],
    )


@FIGURES.add(
    "table2",
    ("Table II: published, measured as in the paper, and without its cut"),
    (6.3, 5.4),
    note=lambda runs: (
        f"{every(runs)}, 95 % intervals.\n"
        "Next to a scheduler: the load at which its utilisation is as published.\n"
        "Hollow: published, at a load that is not printed; the variance, without a"
        " unit, as if in min².\n"
        "At the right edge, ∞: not stable at this load, without a cut there is no"
        " mean wait"
    ),
)
def table_two(runs: Runs) -> list[Row]:
    """Table II over loads, published next to reproduced."""
    return table.rows(runs.tabled)


@table_two.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    near = where(rows, closest=True)
    loads = {row["scheduler"]: row["load"] for row in near}
    axes = canvas.subplots(2, 3, sharey=True).flat
    for ax, (figure, (label, unit, logarithmic)) in zip(axes, UNITS.items()):
        for row in near:
            x, name = row[figure] * unit, row["scheduler"]
            shape, aside = SHAPES[row["setting"]]
            at = [*PUBLISHED].index(name) + aside
            if np.isfinite(x):
                x_half, colour = row[half(figure)] * unit, LOOKS[name].colour
                marks.point(ax, x, at, x_half, shape, color=colour, label=name)
            else:
                as_mathtext(_at_edge(ax, at, r"$\infty$", name))
        for place, printed in enumerate(PUBLISHED.values()):
            if figure in printed:
                ax.plot([printed[figure]], [place - 0.28], clip_on=False, **hollow())
        ax.set_xlabel(label)
        drawn = np.array([line.get_xdata()[0] for line in ax.lines], float)
        decades = np.log10(drawn[drawn > 0])
        if logarithmic and len(decades):
            low, high = np.floor(decades.min() - 0.3), np.ceil(decades.max() + 0.3)
            ax.set(xscale="log", xlim=(10**low, 10**high))
            ax.xaxis.set_major_locator(LogLocator(numticks=5))
            ax.xaxis.set_minor_formatter(NullFormatter())
        else:
            few_ticks(ax.xaxis)
            ax.set_xlim(left=0)
        name_rows(ax, [f"{name}, {load:g}" for name, load in loads.items()])
    canvas.axes[-1].axis("off")
    return [
        marks.published(),
        *(
            key(ls="none", color="black", marker=shape, label=MEASURED[name])
            for name, (shape, _) in SHAPES.items()
        ),
    ]


@table_two.tables
def _(rows: list[Row]) -> str:
    lines = [
        [
            *(row["scheduler"], row["setting"], f"{row['load']:g}"),
            *chain.from_iterable(
                (
                    plus_minus(row[name] * unit, row[half(name)] * unit),
                    "" if printed is None else f"{printed:g}",
                )
                for name, (_, unit, _) in UNITS.items()
                for printed in [row[f"published_{name}"]]
            ),
        ]
        for row in where(rows, closest=True)
    ]
    note = (
        f"Cut: {MEASURED[CUT]}. Each scheduler is shown at the load at which its"
        " utilisation is closest to the published one; if none is"
        f" published, at load {FULL:g}. The published variance has no unit."
        " ∞: not stable at this load."
    )
    points = "\n".join(f"- {ledger.line(entry)}" for entry in impossible())
    head = ["scheduler | measured | load"]
    head += [f"{label} | published" for label, *_ in UNITS.values()]
    return "\n\n".join([markdown(" | ".join(head), 2, lines), note, points])


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
    asked = [(figure, kind) for figure in CLAIMS for kind in KINDS]
    names = [f"{CLAIMED[figure]}:\n{KINDS[kind]}" for figure, kind in asked]
    loads = sorted({row["load"] for row in rows})
    for ax, (setting, title) in zip(
        canvas.subplots(1, 2, sharey=True), MEASURED.items()
    ):
        for row in where(rows, setting=setting):
            for kind in KINDS:
                colour, mark, _ = HOLDS[row[f"{kind}_holds"]]
                place = asked.index((row["figure"], kind))
                ax.plot(
                    loads.index(row["load"]), place, mark, color=colour, markersize=8
                )
        titled(ax, title.partition(",")[0])
        ax.set_xticks(range(len(loads)), [f"{load:g}" for load in loads])
        ax.set(xlabel="offered load", xlim=(-0.5, len(loads) - 0.5))
        name_rows(ax, names, together=len(KINDS))
    return [
        key(linestyle="none", color=colour, marker=mark, label=text)
        for colour, mark, text in HOLDS.values()
    ]


@claims.describes
def _(rows: list[Row]) -> str:
    sentences = ["The claim that dynamic schedulers are better than static ones."]
    for setting in SETTINGS:
        parts = [
            f"{text.lower()}: {of_means} for the group means, and {of_each} for the"
            " worst dynamic and the best static scheduler"
            for figure, text in CLAIMED.items()
            for of_means, of_each in [
                [verdict(rows, figure, kind, setting)[1] for kind in KINDS]
            ]
        ]
        sentences.append(f"{MEASURED[setting].capitalize()}: {'; '.join(parts)}.")
    return " ".join(sentences)


def every(runs: Runs) -> str:
    """Return the numbers of jobs and seeds as text."""
    return f"{many(runs.jobs, 'job')} on 8 nodes of 8 GPUs, {many(runs.seeds, 'seed')}"


def _one(runs: Runs) -> str:
    return f"offered load {FULL:g}, {3 * runs.jobs} jobs on 8 nodes of 8 GPUs, one seed"


@FIGURES.add(
    "course",
    "Work that waits under each scheduler",
    (6.3, 3.6),
    note=lambda runs: (
        f"{_one(runs)}, means over 12 h.\n"
        "Grey line: last arrival. Waiting: work, in hours of all GPUs"
    ),
)
def course(runs: Runs) -> list[Row]:
    """Means over spans of twelve hours of busy GPUs and waiting work, by scheduler."""
    rows = []
    for name in COURSE:
        jobs = runs.run(name).jobs
        submit_s, start_s, finish_s = (
            jobs["submit_s"],
            jobs["start_s"],
            jobs["finish_s"],
        )
        share = jobs["gpus"] / PAPER_CLUSTER.gpus
        work_h = share * jobs["duration_s"] / 3600
        edges_s = np.append(np.arange(0, finish_s.max(), SPAN_S), finish_s.max())
        rows += [
            {
                "scheduler": name,
                "from_h": span[0] / 3600,
                "to_h": span[1] / 3600,
                "last_arrival_h": float(submit_s[-1]) / 3600,
                "utilisation_pct": 100 * _mean(start_s, finish_s, share, *span),
                "waiting_h": _mean(submit_s, start_s, work_h, *span),
            }
            for span in pairwise(edges_s.tolist())
        ]
    return rows


def _mean(
    begin_s: Floats, end_s: Floats, weight: Floats, from_s: float, to_s: float
) -> float:
    """Mean over a span of the sum of weights, each present from begin to end."""
    until_s, since_s = np.clip((end_s, begin_s), from_s, to_s)
    return float(weight @ (until_s - since_s)) / (to_s - from_s)


@course.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    axes = canvas.subplots(2, 1, sharex=True)
    for ax, column in zip(axes, ("utilisation_pct", "waiting_h")):
        for name in COURSE:
            selected, look = where(rows, scheduler=name), LOOKS[name]
            style: Row = {"color": look.colour, "linestyle": look.line, "label": name}
            edges_h = [selected[0]["from_h"], *numbers(selected, "to_h")]
            ax.step(
                edges_h,
                numbers([*selected, selected[-1]], column),
                where="post",
                **style,
            )
        ax.axvline(rows[0]["last_arrival_h"], **FAINT)
        few_ticks(ax.yaxis)
    axes[0].set(
        ylabel="utilisation\n(%)",
        ylim=(0, 103),
        xlim=(0, rows[-1]["last_arrival_h"] * 1.3),
    )
    axes[1].set(ylabel="waiting\n(h of all GPUs)", ylim=(0, None), xlabel="time (h)")
    return list(axes[0].lines[: len(COURSE)])


@course.describes
def _(rows: list[Row]) -> str:
    last_h = rows[0]["last_arrival_h"]
    after = {
        name: [row for row in where(rows, scheduler=name) if row["to_h"] > last_h]
        for name in COURSE
    }
    parts = [
        f"{later[0]['waiting_h']:.0f} h of work wait under {name}, whose last job ends"
        f" {later[-1]['to_h'] - last_h:.0f} h later"
        for name, later in after.items()
    ]
    return f"At the last arrival, {'; '.join(parts)}. (Hours of all GPUs.)"


@FIGURES.add(
    "gantt",
    "A day of the cluster, GPU by GPU",
    (6.3, 5.0),
    note=lambda runs: (
        f"{_one(runs)}.\n"
        "One day, one line per GPU; white is idle. The colour is the number of GPUs"
        " of the job:"
    ),
    legend={"columns": len(WIDTHS)},
)
def gantt(runs: Runs) -> list[Row]:
    """Jobs that run within a day during the arrivals; one row per block of GPUs."""
    sizes = PAPER_CLUSTER.sizes
    first = np.cumsum([0, *sizes]).tolist()
    return [
        {
            "scheduler": name,
            "begin_h": begin_h,
            "job": job,
            "job_gpus": int(run.jobs["gpus"][job]),
            "gpu": first[node] + round(low * sizes[node]),
            "gpus": round((high - low) * sizes[node]),
            "start_h": from_s / 3600,
            "finish_h": to_s / 3600,
        }
        for name in GANTT
        for run in [runs.run(name)]
        for begin_h in [float(np.floor(run.jobs["submit_s"][-1] / 7200))]
        for job, node, low, high, from_s, to_s in bars(run.timeline)[BLOCK].tolist()
        if from_s < 3600 * (begin_h + GANTT_H) and to_s > 3600 * begin_h
    ]


@gantt.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    edges, most = np.cumsum([0, *PAPER_CLUSTER.sizes]), list(WIDTHS.values())
    span_h = (rows[0]["begin_h"], rows[0]["begin_h"] + GANTT_H)
    axes = canvas.subplots(1, len(GANTT), sharex=True, sharey=True)
    for ax, name in zip(axes, GANTT):
        for row in where(rows, scheduler=name):
            corner = (row["start_h"], row["gpu"])
            length_h = row["finish_h"] - row["start_h"]
            colour = WIDTH_COLOURS[np.searchsorted(most, row["job_gpus"])]
            ax.add_patch(
                Rectangle(corner, length_h, row["gpus"], fc=colour, ec="white", lw=0.3)
            )
        ax.hlines(edges[1:-1], *span_h, color="black", linewidth=0.5)
        titled(ax, name)
        ax.xaxis.set_major_locator(MultipleLocator(6))
        ax.tick_params(axis="y", length=0)
    axes[0].set(xlim=span_h, ylim=(edges[-1], 0))
    nodes = [f"node {node}" for node in range(1, len(edges))]
    axes[0].set_yticks((edges[:-1] + edges[1:]) / 2, nodes)
    axes[len(axes) // 2].set_xlabel("time (h)")
    there = {int(np.searchsorted(most, row["job_gpus"])) for row in rows}
    return [
        Patch(facecolor=WIDTH_COLOURS[number], label=name)
        for number, name in enumerate(WIDTHS)
        if number in there
    ]


@gantt.describes
def _(rows: list[Row]) -> str:
    idle, wide = [], []
    for name in GANTT:
        start_h, finish_h, gpus, job_gpus, begin_h = (
            np.array(numbers(where(rows, scheduler=name), column))
            for column in ("start_h", "finish_h", "gpus", "job_gpus", "begin_h")
        )
        end_h = begin_h + GANTT_H
        gpu_h = gpus * (np.minimum(finish_h, end_h) - np.maximum(start_h, begin_h))
        idle_pct = 100 - 100 * gpu_h.sum() / (PAPER_CLUSTER.gpus * GANTT_H)
        idle.append(f"{idle_pct:.0f} % under {name}")
        wide.append(f"{100 * gpu_h[job_gpus >= 16].sum() / gpu_h.sum():.0f} %")
    return (
        f"Idle capacity: {', '.join(idle)}. Jobs of 16 or more GPUs account for"
        f" {', '.join(wide)}"
        " of the work of this day."
    )


@FIGURES.add(
    "aging",
    "HPS: how waiting changes the score of a job",
    (6.3, 3.2),
    note="HPS by default; aging begins at 5 min and ends at 30 min (grey lines)",
    legend={"columns": 3},
)
def aging(runs: Runs) -> list[Row]:  # noqa: ARG001, one signature for all figures
    """Aging and score of jobs by wait, in the authors' form and in our monotone one."""
    wait_s = np.sort(
        np.append(np.arange(0.0, 2401.0, 30.0), np.nextafter(HPS[0], np.inf))
    )
    return [
        {
            "form": form,
            "gpus": gpus,
            "time_s": time_s,
            "wait_s": wait,
            "aging": factor,
            "score": factor * fresh,
        }
        for form in FORMS
        for gpus, time_s in AGED
        for fresh in [1 / (1 + time_s / 3600) / (1 + gpus / 4)]
        for wait, factor in zip(
            wait_s.tolist(), hps_aging(wait_s, *HPS, form == "monotone").tolist()
        )
    ]


@aging.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    left, right = canvas.subplots(1, 2, sharex=True)
    for form, (_, line) in FORMS.items():
        for (gpus, time_s), colour in AGED.items():
            selected = where(rows, form=form, gpus=gpus, time_s=time_s)
            minutes = [wait_s / 60 for wait_s in numbers(selected, "wait_s")]
            right.plot(
                minutes, numbers(selected, "score"), color=colour, linestyle=line
            )
        left.plot(minutes, numbers(selected, "aging"), color="black", linestyle=line)
    left.set(ylabel="aging factor", ylim=(0, None), xlim=(0, minutes[-1]))
    right.set(ylabel="score (the largest starts first)", ylim=(0, None))
    for ax in (left, right):
        ax.set_xlabel("waited (min)")
        ax.set_xticks([*range(0, 41, 10), 5])
        for at_s in (HPS[0], HPS[2]):
            ax.axvline(at_s / 60, **FAINT)
    forms = [
        key(color="black", linestyle=line, label=label)
        for label, line in FORMS.values()
    ]
    return forms + [
        key(color=colour, label=label)
        for (gpus, time_s), colour in AGED.items()
        for label in [f"{many(gpus, 'GPU')}, {time_s / 60:g} min"]
    ]


@aging.describes
def _(rows: list[Row]) -> str:
    selected = where(rows, form="program", gpus=1)
    low = min(selected, key=lambda row: float(row["aging"]))
    back = next(row for row in selected if row["wait_s"] > HPS[0] and row["aging"] >= 1)
    return (
        f"In the authors' program the score of a job falls to {low['aging']:.2f} of"
        f" its value after {HPS[0]:g} s of waiting, below jobs that have just"
        f" arrived, and is back at this value after {back['wait_s']:g} s. Our monotone"
        " form never falls."
    )
