"""Figures of the thesis's worked examples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import FancyBboxPatch, Patch

from cgrsp_simpy.papers.thesis.examples import QOS_FIRST, SEVEN_JOBS, THREE_JOBS
from cgrsp_simpy.papers.thesis.runs import Results
from cgrsp_simpy.plots.figure import (
    Figures,
    Handles,
    Row,
    where,
)
from cgrsp_simpy.plots.style import COMPLEXITY, MISSED, ink_on
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.policies import make_policy
from cgrsp_simpy.rental.policies.rules import fastest
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.view import View
from cgrsp_simpy.rental.workload import JobList
from cgrsp_simpy.studies.replicate import simulate

# jobs per instant in `scenes`, so that there is something to decide
TOGETHER = 3


FIGURES = Figures("figure_")


def _seen(view: View, answer: list[Any]) -> list[Row]:
    """Return a view and its answer: one row per pending job and one per slot.

    slot: slot to which the job is sent, or -1. first_s: mean execution time of the
    first pending job on the slot.
    """
    chosen = {job.id: slot.index for job, slot in answer}
    common = {"time_s": view.now_s, "policy": QOS_FIRST.name}
    rows: list[Row] = [
        {
            **common,
            "what": "job",
            "id": job.id,
            "slot": chosen.get(job.id, -1),
            "kind": f"complexity {job.complexity}",
            "state": "tight" if job.tight else "loose",
            "minutes": (job.deadline_s - view.now_s) / 60,
            "first_s": math.nan,
            "price_usd_per_h": math.nan,
        }
        for job in view.queue
    ]
    for slot in view.slots:
        end_s = slot.expected_end_s
        rows.append(
            {
                **common,
                "what": "slot",
                "id": slot.index,
                "slot": slot.index,
                "kind": slot.gpu.name,
                "state": view.status(slot).name.title() if end_s is None else "busy",
                "minutes": math.nan if end_s is None else (end_s - view.now_s) / 60,
                "first_s": view.mean_s(view.queue[0], slot),
                "price_usd_per_h": slot.gpu.price_usd_per_h,
            }
        )
    return rows


@FIGURES.add(
    "3.1",
    "The decision at one event: a tight job and two loose ones, simulated by the rule"
    " of Section 3.7",
    (6.3, 3.2),
)
def decision(_results: Results | None) -> list[Row]:
    """Return the first decision that matches the caption, on days of `scenes` by seed.

    A tight job and two loose ones wait, in this order; at least three slots are idle,
    but not all; two idle slots are the cheapest, and a third is the fastest for the
    tight job.
    """
    return next(filter(None, map(_decision, count())))


def _decision(seed: int) -> list[Row]:
    rows: list[Row] = []

    def policy(view: View) -> Any:
        answer = QOS_FIRST(view)
        if not rows and _as_captioned(view):
            rows.extend({"seed": seed, **row} for row in _seen(view, answer))
        return answer

    simulate(scenes(seed), policy, seed)
    return rows


@decision.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    ax = canvas.add_subplot()
    jobs, slots = where(rows, what="job"), where(rows, what="slot")
    height, width, right = max(len(jobs), len(slots)), 5.2, 6.6
    for place, job in enumerate(jobs):
        colour = COMPLEXITY[int(job["kind"][-1]) - 1]
        text = (
            f"J{job['id']}  {job['kind']}  {job['state']}, due in"
            f" {job['minutes']:.0f} min"
        )
        _box(
            ax,
            0,
            place,
            width,
            text,
            colour,
            edge=MISSED if job["state"] == "tight" else "white",
        )
    for place, slot in enumerate(slots):
        busy = slot["state"] == "busy"
        told = _until(slot["minutes"]) if busy else _offer(slot)
        text = f"{slot['id']}  {slot['kind']}  {told}"
        colour = "#e8e8e8" if busy else "#d9f0d3"
        _box(ax, right, place, width, text, colour)
    for place, job in enumerate(jobs):
        if job["slot"] >= 0:
            ends = ((right - 0.05, job["slot"]), (width + 0.05, place))
            ax.annotate(
                "", *ends, arrowprops={"arrowstyle": "-|>", "lw": 1.8, "color": "black"}
            )
    ax.text(
        0, -0.75, f"waiting jobs at {rows[0]['time_s'] / 60:.0f} min", fontweight="bold"
    )
    ax.text(
        right,
        -0.75,
        f"slots: stock shown, J{jobs[0]['id']}'s time, price",
        fontweight="bold",
    )
    rule = "tight jobs go to the fastest idle slot, loose ones to the cheapest"
    ax.text(
        (right + width) / 2,
        height - 0.3,
        f"{rows[0]['policy']}: {rule}",
        ha="center",
        fontsize="small",
        style="italic",
    )
    ax.set(xlim=(-0.1, right + width + 0.1), ylim=(height - 0.1, -1.2))
    ax.axis("off")


@decision.says
def _(rows: Sequence[Row]) -> str:
    slots = {row["slot"]: row for row in where(rows, what="slot")}
    told = [
        f"J{row['id']} ({row['state']}) to slot {slot['id']} ({slot['kind']},"
        f" ${slot['price_usd_per_h']}/h)"
        for row in where(rows, what="job")
        for slot in [slots[row["slot"]]]
    ]
    return (
        f"{', '.join(told)}. On the thesis's days jobs arrive one at a time, so that"
        " several waiting jobs never meet several idle slots. Here the"
        f" jobs of a surge day (seed {rows[0]['seed']}) arrive three at a time."
    )


def scenes(seed: int) -> Scenario:
    """Return a surge day whose jobs arrive in threes, at the time of the third job."""
    usual = day("surge")
    jobs = [job for job, _ in usual.workload.generate(seed, usual.service)]
    late_s = [
        jobs[min(job.id - job.id % TOGETHER + TOGETHER, len(jobs)) - 1].submit_s
        - job.submit_s
        for job in jobs
    ]
    moved = (
        job._replace(submit_s=job.submit_s + s, deadline_s=job.deadline_s + s)
        for job, s in zip(jobs, late_s)
    )
    return replace(
        usual, name="surge, three jobs at a time", workload=JobList(tuple(moved))
    )


def _as_captioned(view: View) -> bool:
    queue, idle = view.queue, view.idle
    if [job.tight for job in queue] != [True, False, False] or not TOGETHER <= len(
        idle
    ) < len(view.slots):
        return False
    prices = [slot.gpu.price_usd_per_h for slot in idle]
    return (
        fastest(view, queue[0], idle).gpu.price_usd_per_h
        > min(prices)
        == sorted(prices)[1]
    )


def _offer(slot: Row) -> str:
    return (
        f"{slot['state']}, {slot['first_s']:.1f} s, {slot['price_usd_per_h']:.2f} USD/h"
    )


def _until(minutes: float) -> str:
    when = f"in {minutes:.1f} min" if minutes > 0 else f"{-minutes:.1f} min ago"
    return f"busy, end expected {when}"


def _box(
    ax: Axes,
    x: float,
    y: float,
    width: float,
    text: str,
    colour: str,
    edge: str = "white",
) -> None:
    style = "round,pad=0.02,rounding_size=0.08"
    ax.add_patch(
        FancyBboxPatch(
            (x, y - 0.36),
            width,
            0.72,
            boxstyle=style,
            facecolor=colour,
            edgecolor=edge,
            linewidth=1.8,
        )
    )
    ax.text(x + 0.12, y, text, va="center", fontsize="small", color=ink_on(colour))


@FIGURES.add("3.2", "Three jobs: execution, deadlines and costs", (6.3, 3.4))
def three_jobs(_results: Results | None) -> list[Row]:
    """Simulate the worked example of Section 3.7."""
    return simulate(THREE_JOBS, QOS_FIRST).rows()


@three_jobs.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    left, right = canvas.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    _gantt(left, rows, 5)
    left.set_yticks(
        range(5), [f"{slot}  {'3090' if slot == 0 else 'A4000'}" for slot in range(5)]
    )
    for row in rows:
        cost = f"{row['cost_usd']:.4f} USD"
        left.text(row["finish_s"] + 1, row["slot"], cost, va="center", fontsize="small")
        right.barh(row["slot"], row["deadline_s"] / 3600, height=0.35, color="0.9")
        colour = COMPLEXITY[row["complexity"] - 1]
        right.barh(row["slot"], row["finish_s"] / 3600, height=0.7, color=colour)
        word = "tight" if row["tight"] else "loose"
        right.text(
            row["deadline_s"] / 3600 + 0.1,
            row["slot"],
            word,
            va="center",
            fontsize="small",
        )
    left.set_xlim(0, 95)
    left.set_title("(a) execution", loc="left", fontsize="medium")
    right.set(xlabel="time (h)", xlim=(0, 10))
    right.set_title("(b) up to the deadline", loc="left", fontsize="medium")
    return _complexities(rows)


def _gantt(ax: Axes, rows: Sequence[Row], slots: int) -> None:
    for row in rows:
        colour = COMPLEXITY[row["complexity"] - 1]
        ax.barh(
            row["slot"],
            row["service_s"],
            left=row["start_s"],
            height=0.7,
            color=colour,
            edgecolor="white",
        )
        middle = row["start_s"] + row["service_s"] / 2
        ax.text(
            middle,
            row["slot"],
            f"J{row['job']}",
            ha="center",
            va="center",
            color=ink_on(colour),
            fontsize="small",
        )
    ax.set(
        xlabel="time (s)", ylim=(slots - 0.5, -0.5), yticks=range(slots), xlim=(0, None)
    )


def _complexities(rows: Sequence[Row]) -> Handles:
    there = sorted({row["complexity"] for row in rows})
    return [
        Patch(color=COMPLEXITY[level - 1], label=f"complexity {level}")
        for level in there
    ]


@FIGURES.add(
    "4.1",
    ("Seven jobs on three nodes: FIFO, and SPT+Rescue, which completes J6 in time"),
    (6.3, 4.2),
)
def seven_jobs(_results: Results | None) -> list[Row]:
    """Simulate the worked example of Section 4.5.9 under both policies."""
    runs = {
        name: simulate(SEVEN_JOBS, make_policy(name)) for name in ("fifo", "spt-rescue")
    }
    return [{"policy": name, **row} for name, run in runs.items() for row in run.rows()]


@seven_jobs.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    axes = canvas.subplots(2, 1, sharex=True)
    for ax, policy in zip(axes, dict.fromkeys(row["policy"] for row in rows)):
        chosen = where(rows, policy=policy)
        _gantt(ax, chosen, 3)
        ax.set_yticks(range(3), ["N0", "N1", "N2"])
        (tight,) = (row for row in chosen if row["tight"])
        ax.axvline(tight["deadline_s"], color=MISSED, linestyle="--")
        late = tight["finish_s"] - tight["deadline_s"]
        told = f"J6 ends {abs(late):.0f} s {'late' if late > 0 else 'early'}"
        ax.set_title(f"{policy}: {told}", loc="left", fontsize="medium")
    axes[0].text(
        tight["deadline_s"] + 2,
        1,
        "J6's deadline",
        color=MISSED,
        fontsize="small",
        va="center",
    )
    axes[0].set(xlim=(0, 1.03 * max(row["finish_s"] for row in rows)), xlabel="")
    return _complexities(rows)
