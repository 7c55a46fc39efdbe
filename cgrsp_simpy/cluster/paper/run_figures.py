"""The figures of single runs of a cluster, and of how HPS ages jobs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MultipleLocator

from cgrsp_simpy.cluster.cluster import PAPER_CLUSTER
from cgrsp_simpy.cluster.jobs import Floats
from cgrsp_simpy.cluster.paper.table import FULL, Runs
from cgrsp_simpy.cluster.policies import hps_aging
from cgrsp_simpy.plots.figure import Figures, Handles, Row, where
from cgrsp_simpy.plots.lanes import bars
from cgrsp_simpy.plots.parts import (
    FAINT,
    few_ticks,
)
from cgrsp_simpy.plots.style import LOOKS

COURSE = ("fifo", "hps", "easy")
GANTT = ("fifo", "hps", "easy")
GANTT_H = 24.0
BLOCK = ["job", "place", "low", "high", "from_s", "to_s"]  # of a bar
# the paper's classes of GPUs, and the most of each
WIDTHS = {"1": 1.0, "2": 2.0, "4": 4.0, "8": 8.0, "16+": np.inf}
SPAN_S = 12 * 3600.0  # over which a time course is averaged
HPS = (300.0, 2.0, 1800.0)  # aging threshold, boost and longest wait, as by default
AGED = ((1, 600.0), (2, 3600.0), (8, 14_400.0))  # jobs whose scores are drawn: GPUs, seconds
FORMS = {"program": "authors' program", "monotone": "monotone, ours"}
WIDTH_COLOURS = [
    to_hex(colour) for colour in colormaps["viridis"](np.linspace(0.93, 0.0, len(WIDTHS)))
]
AGING_LINES: dict[str, Any] = dict(zip(FORMS, ("-", (0, (4, 1.5)))))
AGED_COLOURS = dict(zip(AGED, ("#009E73", "#C04A00", "#0B4F9C")))


FIGURES = Figures("cluster_", Runs, handlelength=2.6)


def _one(runs: Runs) -> str:
    return f"offered load {FULL:g}, {3 * runs.jobs} jobs on 8 nodes of 8 GPUs, one seed"


@FIGURES.add(
    "course",
    "Which schedulers keep up with what arrives",
    (6.3, 3.6),
    note=lambda runs: (
        f"{_one(runs)}, means over 12 h.\n"
        "Grey line: last arrival. Waiting: work, in hours of all GPUs"
    ),
)
def course(runs: Runs) -> list[Row]:
    """Means over spans of twelve hours of what is busy and what waits, by scheduler."""
    rows = []
    for name in COURSE:
        jobs = runs.run(name).jobs
        submit_s, start_s, finish_s = (jobs[each] for each in ("submit_s", "start_s", "finish_s"))
        share = jobs["gpus"] / PAPER_CLUSTER.gpus
        edges_s = np.append(np.arange(0, finish_s.max(), SPAN_S), finish_s.max())
        for span in pairwise(edges_s.tolist()):
            times = {"from_h": span[0] / 3600, "to_h": span[1] / 3600}
            row = {"scheduler": name, **times, "last_arrival_h": float(submit_s[-1]) / 3600}
            row["utilisation_pct"] = 100 * _mean(start_s, finish_s, share, *span)
            row["waiting_h"] = _mean(submit_s, start_s, share * jobs["duration_s"] / 3600, *span)
            rows.append(row)
    return rows


def _mean(begin_s: Floats, end_s: Floats, weight: Floats, from_s: float, to_s: float) -> float:
    """Mean over a span of a sum of weights, each of which is there from one time to another."""
    until_s, since_s = np.clip((end_s, begin_s), from_s, to_s)
    return float(weight @ (until_s - since_s)) / (to_s - from_s)


@course.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """Utilisation above what waits."""
    axes = canvas.subplots(2, 1, sharex=True)
    for ax, column in zip(axes, ("utilisation_pct", "waiting_h")):
        for name in COURSE:
            own, look = where(rows, scheduler=name), LOOKS[name]
            style: dict[str, Any] = {"color": look.colour, "linestyle": look.line, "label": name}
            edges_h = [own[0]["from_h"], *(row["to_h"] for row in own)]
            ax.step(edges_h, [row[column] for row in (*own, own[-1])], where="post", **style)
        ax.axvline(rows[0]["last_arrival_h"], **FAINT)
        few_ticks(ax.yaxis)
    axes[0].set(
        ylabel="utilisation\n(%)", ylim=(0, 103), xlim=(0, rows[-1]["last_arrival_h"] * 1.3)
    )
    axes[1].set(ylabel="waiting\n(h of all GPUs)", ylim=(0, None), xlabel="time (h)")
    return list(axes[0].lines[: len(COURSE)])


@course.says
def _(rows: list[Row]) -> str:
    last_h = rows[0]["last_arrival_h"]
    parts = []
    for name in COURSE:
        own = where(rows, scheduler=name)
        then_h = next(row["waiting_h"] for row in own if row["to_h"] > last_h)
        parts.append(
            f"{then_h:.0f} h of work wait under {name}, whose last job ends"
            f" {own[-1]['to_h'] - last_h:.0f} h later"
        )
    return f"When the last job comes {'; '.join(parts)}. (Hours of all GPUs.)"


@FIGURES.add(
    "gantt",
    "A day of the cluster, GPU by GPU",
    (6.3, 5.0),
    note=lambda runs: (
        f"{_one(runs)}.\n"
        "A day of it, a line a GPU; white is idle. The colour tells how many GPUs"
        " the job has:"
    ),
    legend={"columns": len(WIDTHS)},
)
def gantt(runs: Runs) -> list[Row]:
    """Where jobs run in the day that begins halfway through the arrivals; a row a block of
    neighbouring GPUs on a node.
    """
    rows = []
    for name in GANTT:
        run, sizes = runs.run(name), PAPER_CLUSTER.sizes
        begin_h = float(np.floor(run.jobs["submit_s"][-1] / 7200))
        first = np.cumsum([0, *sizes]).tolist()
        for job, node, low, high, from_s, to_s in bars(run.timeline)[BLOCK].tolist():
            if from_s < 3600 * (begin_h + GANTT_H) and to_s > 3600 * begin_h:
                row = {
                    "scheduler": name,
                    "begin_h": begin_h,
                    "job": job,
                    "job_gpus": int(run.jobs["gpus"][job]),
                }
                row |= {
                    "gpu": first[node] + round(low * sizes[node]),
                    "gpus": round((high - low) * sizes[node]),
                }
                rows.append({**row, "start_h": from_s / 3600, "finish_h": to_s / 3600})
    return rows


@gantt.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """A panel a scheduler: each GPU a line, each job blocks in the colour of its GPUs;
    idle is white.
    """
    edges, most = np.cumsum([0, *PAPER_CLUSTER.sizes]), list(WIDTHS.values())
    span_h = (rows[0]["begin_h"], rows[0]["begin_h"] + GANTT_H)
    axes = canvas.subplots(1, len(GANTT), sharex=True, sharey=True)
    for ax, name in zip(axes, GANTT):
        for row in where(rows, scheduler=name):
            corner, length_h = (row["start_h"], row["gpu"]), row["finish_h"] - row["start_h"]
            colour = WIDTH_COLOURS[np.searchsorted(most, row["job_gpus"])]
            ax.add_patch(Rectangle(corner, length_h, row["gpus"], fc=colour, ec="white", lw=0.3))
        ax.hlines(edges[1:-1], *span_h, color="black", linewidth=0.5)
        ax.set_title(name, loc="left", fontsize="medium")
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


@gantt.says
def _(rows: list[Row]) -> str:
    begin_h = rows[0]["begin_h"]
    idle, wide = [], []
    for name in GANTT:
        own = where(rows, scheduler=name)
        starts, ends = (
            np.clip([row[end] for row in own], begin_h, begin_h + GANTT_H)
            for end in ("start_h", "finish_h")
        )
        gpu_h = (ends - starts) * [row["gpus"] for row in own]
        idle.append(
            f"{100 - 100 * gpu_h.sum() / (PAPER_CLUSTER.gpus * GANTT_H):.0f} % under {name}"
        )
        wide.append(
            f"{100 * gpu_h[[row['job_gpus'] >= 16 for row in own]].sum() / gpu_h.sum():.0f} %"
        )
    return (
        f"Idle are {', '.join(idle)}; of the work of this day jobs of 16 and more GPUs have"
        f" {', '.join(wide)}."
    )


@FIGURES.add(
    "aging",
    "HPS: how waiting changes the score of a job",
    (6.3, 3.2),
    note="HPS by default; aging begins at 5 min and ends at 30 min (grey lines)",
    legend={"columns": 3},
)
def aging(runs: Runs) -> list[Row]:  # noqa: ARG001, as of every figure
    """Aging and score of jobs by what they have waited, in the authors' form and in the
    monotone one, ours.
    """
    wait_s = np.sort(np.append(np.arange(0.0, 2401.0, 30.0), np.nextafter(HPS[0], np.inf)))
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
    """The aging factor, and the scores of some jobs, in both forms."""
    left, right = canvas.subplots(1, 2, sharex=True)
    for form, line in AGING_LINES.items():
        for job, colour in AGED_COLOURS.items():
            own = [row for row in rows if (row["form"], row["gpus"], row["time_s"]) == (form, *job)]
            minutes = [row["wait_s"] / 60 for row in own]
            right.plot(minutes, [row["score"] for row in own], color=colour, linestyle=line)
        left.plot(minutes, [row["aging"] for row in own], color="black", linestyle=line)
    left.set(ylabel="aging factor", ylim=(0, None), xlim=(0, minutes[-1]))
    right.set(ylabel="score (the largest starts first)", ylim=(0, None))
    for ax in (left, right):
        ax.set_xlabel("waited (min)")
        ax.set_xticks([*range(0, 41, 10), 5])
        for at_s in (HPS[0], HPS[2]):
            ax.axvline(at_s / 60, **FAINT)
    handles = [
        Line2D([], [], color="black", linestyle=line, label=FORMS[form])
        for form, line in AGING_LINES.items()
    ]
    names = [f"{gpus} GPU{'s' * (gpus > 1)}, {time_s / 60:g} min" for gpus, time_s in AGED]
    handles += [
        Line2D([], [], color=colour, label=name)
        for name, colour in zip(names, AGED_COLOURS.values())
    ]
    return handles


@aging.says
def _(rows: list[Row]) -> str:
    own = [row for row in rows if row["form"] == "program" and row["gpus"] == 1]
    low = min(own, key=lambda row: float(row["aging"]))
    back = next(row for row in own if row["wait_s"] > HPS[0] and row["aging"] >= 1)
    return (
        f"In the authors' program a job that has waited just over {HPS[0]:g} s falls to"
        f" {low['aging']:.2f} of its score, behind jobs that have just come, and is back at all of"
        f" it after {back['wait_s']:g} s; a monotone form, ours, never falls."
    )
