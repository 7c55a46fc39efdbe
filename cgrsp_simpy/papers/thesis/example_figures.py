"""Figures of the thesis's worked examples, of generated data, and of single days."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count, pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Patch

from cgrsp_simpy.analysis.metrics import queue_length
from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.base.table import many
from cgrsp_simpy.market.gpu import THESIS_GPUS
from cgrsp_simpy.market.model import CLOCKS, Status
from cgrsp_simpy.papers.thesis.examples import QOS_FIRST, SEVEN_JOBS, THREE_JOBS
from cgrsp_simpy.papers.thesis.experiments import Results
from cgrsp_simpy.papers.thesis.published import JOBS_OF_TYPES
from cgrsp_simpy.papers.thesis.table_figures import log_ticks
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import (
    OTHER,
    Canvas,
    Gallery,
    Handles,
    Row,
    distinct,
    numbers,
    where,
)
from cgrsp_simpy.plots.parts import beside_point, key, titled
from cgrsp_simpy.plots.style import COMPLEXITY, MISSED, STATUS, ink_on, looks
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.policies import make_policy
from cgrsp_simpy.rental.policies.rules import fastest
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.view import View
from cgrsp_simpy.rental.workload import JobList
from cgrsp_simpy.studies.replicate import simulate

# jobs per instant in `scenes`, so that there is something to decide
TOGETHER = 3


FIGURES = Gallery("figure")


def _seen(view: View, answer: list[Any]) -> list[Row]:
    """Return a view and its answer: one row per pending job and one per slot.

    slot: slot to which the job is sent, or -1. first_s: mean execution time of the
    first pending job on the slot.
    """
    chosen = {job.id: slot.index for job, slot in answer}
    common = {"time_s": view.now_s, "policy": QOS_FIRST.name}
    jobs: list[Row] = [
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
    return jobs + [
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
        for slot in view.slots
        for end_s in [slot.expected_end_s]
    ]


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
        text = (
            f"J{job['id']}  {job['kind']}  {job['state']}, due in"
            f" {job['minutes']:.0f} min"
        )
        colour = COMPLEXITY[int(job["kind"][-1]) - 1]
        edge = MISSED if job["state"] == "tight" else "white"
        _box(ax, (0, place, width), text, colour, edge)
        if job["slot"] >= 0:
            ends = ((right - 0.05, job["slot"]), (width + 0.05, place))
            ax.annotate(
                "", *ends, arrowprops={"arrowstyle": "-|>", "lw": 1.8, "color": "black"}
            )
    for place, slot in enumerate(slots):
        offer, colour = _offer(slot)
        text = f"{slot['id']}  {slot['kind']}  {offer}"
        _box(ax, (right, place, width), text, colour, "white")
    for x, text in (
        (0, f"waiting jobs at {rows[0]['time_s'] / 60:.0f} min"),
        (right, f"slots: stock shown, J{jobs[0]['id']}'s time, price"),
    ):
        ax.text(x, -0.75, text, fontweight="bold")
    ax.text(
        (right + width) / 2,
        height - 0.3,
        f"{rows[0]['policy']}: tight jobs go to the fastest idle slot, loose ones to"
        " the cheapest",
        ha="center",
        fontsize="small",
        style="italic",
    )
    ax.set(xlim=(-0.1, right + width + 0.1), ylim=(height - 0.1, -1.2))
    ax.axis("off")


@decision.describes
def _(rows: Sequence[Row]) -> str:
    slots = {row["slot"]: row for row in where(rows, what="slot")}
    dispatches = [
        f"J{row['id']} ({row['state']}) to slot {slot['id']} ({slot['kind']},"
        f" ${slot['price_usd_per_h']}/h)"
        for row in where(rows, what="job")
        for slot in [slots[row["slot"]]]
    ]
    return (
        f"{', '.join(dispatches)}. On the thesis's days jobs arrive one at a time, so"
        " that several waiting jobs never meet several idle slots. Here the"
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
    prices = sorted(slot.gpu.price_usd_per_h for slot in idle)
    return (
        [job.tight for job in queue] == [True, False, False]
        and TOGETHER <= len(idle) < len(view.slots)
        and fastest(view, queue[0], idle).gpu.price_usd_per_h > prices[0] == prices[1]
    )


def _offer(slot: Row) -> tuple[str, str]:
    """Return the state of a slot in words, and its colour."""
    price, minutes = f"{slot['price_usd_per_h']:.2f} USD/h", slot["minutes"]
    if slot["state"] != "busy":
        return f"{slot['state']}, {slot['first_s']:.1f} s, {price}", "#d9f0d3"
    when = f"in {minutes:.1f} min" if minutes > 0 else f"{-minutes:.1f} min ago"
    return f"busy, end expected {when}", "#e8e8e8"


def _box(
    ax: Axes, place: tuple[float, float, float], text: str, colour: str, edge: str
) -> None:
    x, y, width = place
    ax.add_patch(
        FancyBboxPatch(
            (x, y - 0.36),
            width,
            0.72,
            boxstyle="round,pad=0.02,rounding_size=0.08",
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
        left.text(
            row["finish_s"] + 1,
            row["slot"],
            f"{row['cost_usd']:.4f} USD",
            va="center",
            fontsize="small",
        )
        right.barh(row["slot"], row["deadline_s"] / 3600, height=0.35, color="0.9")
        colour = COMPLEXITY[row["complexity"] - 1]
        right.barh(row["slot"], row["finish_s"] / 3600, height=0.7, color=colour)
        right.text(
            row["deadline_s"] / 3600 + 0.1,
            row["slot"],
            "tight" if row["tight"] else "loose",
            va="center",
            fontsize="small",
        )
    titled(left, "(a) execution", xlim=(0, 95))
    titled(right, "(b) up to the deadline", xlabel="time (h)", xlim=(0, 10))
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
        ax.text(
            row["start_s"] + row["service_s"] / 2,
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
    return [
        Patch(color=COMPLEXITY[level - 1], label=f"complexity {level}")
        for level in sorted({row["complexity"] for row in rows})
    ]


@FIGURES.add(
    "4.1",
    ("Seven jobs on three nodes: FIFO, and SPT+Rescue, which completes J6 in time"),
    (6.3, 4.2),
)
def seven_jobs(_results: Results | None) -> list[Row]:
    """Simulate the worked example of Section 4.5.9 under both policies."""
    return [
        {"policy": name, **row}
        for name in ("fifo", "spt-rescue")
        for row in simulate(SEVEN_JOBS, make_policy(name)).rows()
    ]


@seven_jobs.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    axes = canvas.subplots(2, 1, sharex=True)
    for ax, policy in zip(axes, distinct(rows, "policy")):
        chosen = where(rows, policy=policy)
        _gantt(ax, chosen, 3)
        ax.set_yticks(range(3), ["N0", "N1", "N2"])
        (tight,) = (row for row in chosen if row["tight"])
        ax.axvline(tight["deadline_s"], color=MISSED, linestyle="--")
        late = tight["finish_s"] - tight["deadline_s"]
        outcome = f"J6 ends {abs(late):.0f} s {'late' if late > 0 else 'early'}"
        titled(ax, f"{policy}: {outcome}")
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


# ---- generated data, and single days ----

SEEDS = 10  # default of the last two figures
# Table 4.1
AVERAGES_S = {"RTX 3090": 78.1, "RTX A5000": 74.0, "RTX A4000": 97.9, "RTX A4500": 86.0}
RANGE_S = (30.0, 352.0)  # Section 5.1.1
SIGMA = (0.04, 0.11, 0.23)  # in log space, by complexity
RARE = 0.008  # share of jobs from the whole printed range, for the tails
MORNING = range(6, 9)  # hours of the printed peak
PEAK = 3.0  # arrivals in a peak hour over those in another
GENERATED = "generated data with the printed counts, means and range; not measured"
# bands of the printed clock by multiplier: name and colour, as in the thesis's figure
BANDS = {
    1.0: ("evening", "#a9cbe8"),
    0.9: ("morning", "#f6c667"),
    0.5: ("peak", "#e79a86"),
    1.3: ("off-peak", "#b5dcae"),
}


@FIGURES.add(
    "5.1",
    "Jobs by hour, and execution times by GPU type (generated data)",
    (6.3, 3.0),
    note=GENERATED,
)
def generated_jobs(_results: Results | None) -> list[Row]:
    """Return 6,627 generated jobs with the printed counts, means and dispersion."""
    rng = stream(0, "generated")
    weights = np.array([PEAK if hour in MORNING else 1.0 for hour in range(24)])
    rows = []
    for gpu in THESIS_GPUS:
        number, average = JOBS_OF_TYPES[gpu.name], AVERAGES_S[gpu.name]
        low, middle, high = gpu.mean_execution_s
        below = middle if gpu.name in ("RTX A4500", "RTX A4000") else (low + middle) / 2
        # number of jobs of complexity 3 that gives the mean
        share = min(1.0, (average - below) / (high - below))
        rest = (0.0, 1 - share) if below == middle else [(1 - share) / 2] * 2
        level = rng.choice(3, size=number, p=[*rest, share])
        sigma = np.array(SIGMA)[level]
        seconds = np.array([low, middle, high])[level] * np.exp(
            sigma * rng.standard_normal(number) - sigma**2 / 2
        )
        rare = rng.random(number) < RARE
        seconds[rare] = np.exp(
            rng.uniform(math.log(RANGE_S[0]), math.log(RANGE_S[1]), int(rare.sum()))
        )
        left_s = average * number - seconds[rare].sum()
        seconds[~rare] *= left_s / seconds[~rare].sum()
        seconds = np.clip(seconds, *RANGE_S)
        hours = rng.choice(24, size=number, p=weights / weights.sum())
        rows += [
            {"gpu": gpu.name, "hour": int(hour), "execution_s": float(second)}
            for hour, second in zip(hours, seconds)
        ]
    return rows


@generated_jobs.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    left, right = canvas.subplots(1, 2)
    hours = np.bincount([row["hour"] for row in rows], minlength=24)
    red = "#b03a2e"
    colours = [red if hour in MORNING else "0.65" for hour in range(24)]
    left.bar(np.arange(24) + 0.5, hours, 0.9, color=colours)
    left.set(
        xlabel="hour of day (UTC)", ylabel="jobs", xlim=(0, 24), xticks=range(0, 25, 6)
    )
    left.text(
        *(9.3, hours.max(), "peak from 6 to 9,\nas in the text"),
        color=red,
        fontsize="small",
        va="top",
    )
    gpus = distinct(rows, "gpu")
    boxes = [numbers(where(rows, gpu=gpu), "execution_s") for gpu in gpus]
    names = [
        f"{gpu.removeprefix('RTX ')}\n{many(len(box), 'job')}"
        for gpu, box in zip(gpus, boxes)
    ]
    right.boxplot(
        boxes,
        patch_artist=True,
        widths=0.6,
        boxprops={"facecolor": COMPLEXITY[0]},
        medianprops={"color": "black"},
        flierprops={"markersize": 1.5, "markeredgewidth": 0.3},
    )
    right.set_xticks(range(1, len(gpus) + 1), names, fontsize="small")
    right.set_ylabel("execution time (s)")
    log_ticks(right, (30, 60, 120, 240))


@FIGURES.add(
    "5.3",
    (
        "The stock multiplier over the day, calibrated and printed, the snapshots, and"
        " arrivals (generated data)"
    ),
    (6.3, 4.6),
    note=f"(b): {GENERATED}",
)
def multiplier(_results: Results | None) -> list[Row]:
    """Return the stock multiplier per hour of day, calibrated and printed.

    Also the two windows with most of the snapshots of prices and stock, and the
    arrivals per hour of the generated data.
    """
    spans: list[tuple[Any, ...]] = [
        (name, begin, end, value, clock.start_h)
        for name, clock in CLOCKS.items()
        for (begin, value), (end, _) in pairwise([*clock.bands, (24.0, 0.0)])
    ]
    # the 77 snapshots: Section 5.1.1, Figure 5.3
    spans += [("snapshots", hour, hour + 1, 77, 0) for hour in (1, 18)]
    hours = np.bincount(
        [row["hour"] for row in generated_jobs.rows(None)], minlength=24
    ).tolist()
    spans += [("arrivals", hour, hour + 1, jobs, 0) for hour, jobs in enumerate(hours)]
    names = ("what", "from_h", "to_h", "value", "run_starts_h")
    return [dict(zip(names, span)) for span in spans]


@multiplier.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    above, below = canvas.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    printed, calibrated = where(rows, what="printed"), where(rows, what="calibrated")
    for row in printed:
        name, colour = BANDS[row["value"]]
        above.bar(
            height=row["value"],
            color=colour,
            x=row["from_h"],
            width=row["to_h"] - row["from_h"],
            align="edge",
        )
        above.text(
            (row["from_h"] + row["to_h"]) / 2,
            0.27,
            f"{name}\n× {row['value']:g}",
            ha="center",
            va="center",
            fontsize="small",
        )
    edges = [*numbers(calibrated, "from_h"), 24.0]
    style: dict[str, Any] = {
        "color": "black",
        "lw": 1.6,
        "label": "calibrated: as in the runs",
    }
    above.stairs(numbers(calibrated, "value"), edges, baseline=None, **style)
    snapshots = where(rows, what="snapshots")
    rug: dict[str, Any] = {"color": "black", "linewidth": 4, "solid_capstyle": "butt"}
    for row in snapshots:
        above.plot([row["from_h"], row["to_h"]], [0.02, 0.02], clip_on=False, **rug)
    start = calibrated[0]["run_starts_h"]
    above.axvline(start, ymin=0.6, color="0.4", lw=0.8)
    beside_point(above, "runs start here", (start, 1.42), (4, 0), va="center")
    above.set(ylabel="stock multiplier m(t)", ylim=(0, 1.5))
    for row in where(rows, what="arrivals"):
        (band,) = (
            printed_band
            for printed_band in printed
            if printed_band["from_h"] <= row["from_h"] < printed_band["to_h"]
        )
        below.bar(row["from_h"] + 0.5, row["value"], 0.9, color=BANDS[band["value"]][1])
    below.set(
        xlabel="hour of day (UTC)", ylabel="jobs", xlim=(0, 24), xticks=range(0, 25, 3)
    )
    return [
        Patch(color=BANDS[0.5][1], label="bands as printed"),
        key(**style),
        key(
            label=f"{snapshots[0]['value']} snapshots, most here; times not printed",
            **rug,
        ),
    ]


@FIGURES.add("stock", "Stock status at dispatch, by hour of the run", (6.3, 3.4))
def stock_over_the_day(
    results: Results, days: Iterable[str] = ("normal", "surge")
) -> list[Row]:
    """Return shares of dispatches per stock status and hour of the run, under FIFO."""
    rows = []
    for name in days:
        seeds, scenario = results.replications or SEEDS, results.market(day(name))
        jobs = np.concatenate(
            [simulate(scenario, "fifo", seed).jobs for seed in range(seeds)]
        )
        hours = (jobs["dispatch_s"] // 3600).astype(int)
        for hour in range(int(hours.max()) + 1):
            met = jobs["status"][hours == hour]
            shares = {
                f"{status.name.lower()}_pct": 100 * float(np.mean(met == status))
                if len(met)
                else 0.0
                for status in Status
            }
            rows.append(
                {
                    "day": name,
                    "hour": hour,
                    "dispatches": len(met),
                    "seeds": seeds,
                    **shares,
                }
            )
    return rows


@stock_over_the_day.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    days = distinct(rows, "day")
    axes = canvas.subplots(1, len(days), sharey=True)
    for ax, name in zip(axes, days):
        chosen = where(rows, day=name)
        hours, bottom = np.array(numbers(chosen, "hour")), np.zeros(len(chosen))
        for status, colour in zip(("high", "medium", "low"), STATUS):
            share = np.array(numbers(chosen, f"{status}_pct"))
            ax.bar(
                hours + 0.5,
                share,
                1.0,
                bottom=bottom,
                color=colour,
                edgecolor="white",
                linewidth=0.4,
            )
            bottom += share
        titled(ax, f"{name} day")
        ax.set(
            xlabel="time (h)",
            xlim=(0, hours.max() + 1),
            ylim=(0, 100),
            xticks=range(0, int(hours.max()) + 2, 3),
        )
    axes[0].set_ylabel(f"dispatches (%), FIFO, {many(int(rows[0]['seeds']), 'seed')}")
    return [
        Patch(color=colour, label=f"{name} stock")
        for name, colour in zip(("High", "Medium", "Low"), STATUS)
    ]


@FIGURES.add("queue", "Waiting jobs over the hectic day", (6.3, 3.6))
def queues(
    results: Results, policies: Iterable[str] = ("fifo", "spt", "edf", "rh", "cadr")
) -> list[Row]:
    """Return queue lengths over the hectic day, means over seeds every 5 minutes."""
    times_s = np.arange(0, 12 * 3600 + 300.0, 300.0)
    rows: list[Row] = []
    scenario, seeds = results.market(day("hectic")), results.replications or SEEDS
    for policy, value in (results.policies or dict(zip(policies, policies))).items():
        lengths = []
        for seed in range(seeds):
            at_s, jobs = queue_length(simulate(scenario, value, seed))
            place = np.searchsorted(at_s, times_s, "right") - 1
            lengths.append(np.where(place >= 0, jobs[place], 0))
        rows += [
            {
                "policy": policy,
                "time_h": float(hour),
                "waiting": average.mean,
                "half_width_95": average.half_width,
                "seeds": seeds,
            }
            for hour, average in zip(times_s / 3600, map(mean, np.array(lengths).T))
        ]
    return rows


@queues.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    ax = canvas.add_subplot()
    ends = {}
    names = distinct(rows, "policy")
    colours = [look.colour for look in looks(names)]
    for policy, colour in zip(names, colours):
        chosen = where(rows, policy=policy)
        hours, waiting, half = (
            np.array(numbers(chosen, column))
            for column in ("time_h", "waiting", "half_width_95")
        )
        ax.fill_between(
            hours, waiting - half, waiting + half, color=colour, alpha=0.12, linewidth=0
        )
        ax.plot(hours, waiting, color=colour)
        at = int(np.searchsorted(hours, 9.5))
        ends[policy] = (float(hours[at]), float(waiting[at]))
    ax.set(xlim=(0, 12), ylim=(0, None))
    marks.labels_at_ends(ax, ends, colours)
    arrive = ""
    if not rows[0].get(OTHER):
        arrive = " 950 jobs arrive in the first 2.6 h;"
        ax.axvspan(4, 10, color="#fff3cd", zorder=0)
        place = ax.get_xaxis_transform()
        ax.text(4.1, 0.97, "scarce stock", fontsize="small", transform=place, va="top")
    ax.set(
        xlabel=f"time (h);{arrive} mean of {many(int(rows[0]['seeds']), 'seed')}, 95 %"
        " interval",
        ylabel="waiting jobs",
    )
