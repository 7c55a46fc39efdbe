"""What is seen in each figure of GPU clusters, in a sentence on its rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cgrsp_simpy.cluster.figure_data import (
    COURSE,
    GANTT,
    GANTT_H,
    HPS,
    LEAST,
    WIDTHS,
    Row,
    above_least,
)
from cgrsp_simpy.cluster.jobs import PAPER_CLUSTER
from cgrsp_simpy.cluster.table import CLAIMS, DYNAMIC, verdict
from cgrsp_simpy.model.table import half

CLAIMED = {
    "throughput_per_h": "More jobs per hour",
    "starved": "Fewer starved jobs",
    "wait_variance_s2": "Less variance of waits",
}


def metrics(rows: list[Row]) -> str:
    """Who is best at what, and how near the others are."""
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


def _least(rows: Sequence[Row], metric: str, unit: str) -> str:
    """The scheduler of the least mean, and which others are not shown to differ from it: those
    whose paired difference may be 0.
    """
    least, *others = sorted(rows, key=lambda row: float(row[metric]))
    more = above_least(metric)
    near = [row["scheduler"] for row in others if not row[more] > row[half(more)]]
    also = f" (not shown to differ, paired by seed: {', '.join(near)})" if near else ""
    return f"{least['scheduler']}, {least[metric]:,.0f} ± {least[half(metric)]:,.0f}{unit}{also}"


def waits(rows: list[Row]) -> str:
    """What the widest jobs wait beside the narrowest."""
    found = {(row["scheduler"], row["gpus"]): row["p50_s"] / 60 for row in rows}
    narrow, wide = next(iter(WIDTHS)), list(WIDTHS)[-1]
    medians = ", ".join(
        f"{found[name, narrow]:,.0f} and {found[name, wide]:,.0f} min under {name}"
        for name in dict.fromkeys(row["scheduler"] for row in rows)
        if (name, narrow) in found and (name, wide) in found
    )
    return f"The median waits of jobs of {narrow} GPU, and of {wide} GPUs, are {medians}."


def course(rows: list[Row]) -> str:
    """How long the queue gets, and when the last job ends."""
    last_h = rows[0]["last_arrival_h"]
    parts = []
    for name in COURSE:
        own = [row for row in rows if row["scheduler"] == name]
        longest, later_h = max(row["waiting"] for row in own), own[-1]["to_h"] - last_h
        parts.append(
            f"{name} lets up to {longest:.0f} jobs wait and ends {later_h:.0f} h after"
            " the last arrival"
        )
    return f"{'; '.join(parts)}. (Means over four hours.)"


def gantt(rows: list[Row]) -> str:
    """How much of the day is idle, and how much wide jobs have of it."""
    begin_h = rows[0]["begin_h"]
    idle, wide = [], []
    for name in GANTT:
        own = [row for row in rows if row["scheduler"] == name]
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


def aging(rows: list[Row]) -> str:
    """Where the authors' form falls, and where it is back."""
    own = [row for row in rows if row["form"] == "program" and row["gpus"] == 1]
    low = min(own, key=lambda row: float(row["aging"]))
    back = next(row for row in own if row["wait_s"] > HPS[0] and row["aging"] >= 1)
    return (
        f"In the authors' program a job that has waited just over {HPS[0]:g} s falls to"
        f" {low['aging']:.2f} of its score, behind jobs that have just come, and is back at all of"
        f" it after {back['wait_s']:g} s; a monotone form, ours, never falls."
    )


def table_two(rows: list[Row]) -> str:
    """What can be had at any load, beside the print."""
    parts = []
    for name in DYNAMIC:
        own = [row for row in rows if row["scheduler"] == name]
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


def claims(rows: list[Row]) -> str:
    """Whether “dynamic beats static” holds."""
    parts = [
        f"{CLAIMED[figure]}: of the means of both groups it {verdict(rows, figure, 'mean')};"
        f" of the worst dynamic and the best static scheduler it {verdict(rows, figure, 'best')}"
        for figure in CLAIMS
    ]
    return f"The claim that dynamic schedulers do better. {'. '.join(parts)}."
