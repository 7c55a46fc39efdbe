"""Figures of generated data like the thesis's, and of single days."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cgrsp_simpy.analysis.metrics import queue_length
from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.market.gpu import THESIS_GPUS
from cgrsp_simpy.market.law import CLOCKS, Status
from cgrsp_simpy.papers.thesis.runs import Results
from cgrsp_simpy.papers.thesis.table_figures import log_ticks
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import (
    OTHER,
    Figures,
    Handles,
    Row,
    numbers,
    where,
)
from cgrsp_simpy.plots.parts import beside_point
from cgrsp_simpy.plots.style import COMPLEXITY, STATUS, looks
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.policies import make_policy
from cgrsp_simpy.studies.replicate import simulate

SEEDS = 10  # default of the two figures below
SNAPSHOTS, WINDOWS_H = 77, ((1, 2), (18, 19))  # Section 5.1.1, Figure 5.3
# jobs, Section 5.1.1
COUNTS = {"RTX 3090": 1119, "RTX A5000": 4916, "RTX A4000": 257, "RTX A4500": 335}
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


FIGURES = Figures("figure_")


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
    found = []
    for gpu in THESIS_GPUS:
        number, average = COUNTS[gpu.name], AVERAGES_S[gpu.name]
        low, middle, high = gpu.mean_execution_s
        below = middle if gpu.name in ("RTX A4500", "RTX A4000") else (low + middle) / 2
        # number of jobs of complexity 3 that gives the mean
        share = min(1.0, (average - below) / (high - below))
        mix = (
            (0.0, 1 - share, share)
            if below == middle
            else ((1 - share) / 2, (1 - share) / 2, share)
        )
        level = rng.choice(3, size=number, p=mix)
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
        found += [
            {"gpu": gpu.name, "hour": int(hour), "execution_s": float(each)}
            for hour, each in zip(hours, seconds)
        ]
    return found


@generated_jobs.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    left, right = canvas.subplots(1, 2)
    hours = np.bincount([row["hour"] for row in rows], minlength=24)
    red, peak = "#b03a2e", "peak from 6 to 9,\nas in the text"
    colours = [red if hour in MORNING else "0.65" for hour in range(24)]
    left.bar(np.arange(24) + 0.5, hours, 0.9, color=colours)
    left.set(
        xlabel="hour of day (UTC)", ylabel="jobs", xlim=(0, 24), xticks=range(0, 25, 6)
    )
    left.text(9.3, hours.max(), peak, color=red, fontsize="small", va="top")
    gpus = list(dict.fromkeys(row["gpu"] for row in rows))
    boxes = [[row["execution_s"] for row in rows if row["gpu"] == gpu] for gpu in gpus]
    names = [
        f"{gpu.removeprefix('RTX ')}\n{len(box)} jobs" for gpu, box in zip(gpus, boxes)
    ]
    small = {"markersize": 1.5, "markeredgewidth": 0.3}
    filled, black = {"facecolor": COMPLEXITY[0]}, {"color": "black"}
    looks_of: dict[str, Any] = {
        "boxprops": filled,
        "medianprops": black,
        "flierprops": small,
    }
    right.boxplot(boxes, patch_artist=True, widths=0.6, **looks_of)
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
    spans += [("snapshots", begin, end, SNAPSHOTS, 0) for begin, end in WINDOWS_H]
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
        middle = (row["from_h"] + row["to_h"]) / 2
        above.text(
            middle,
            0.27,
            f"{name}\n× {row['value']:g}",
            ha="center",
            va="center",
            fontsize="small",
        )
    edges = [*numbers(calibrated, "from_h"), 24.0]
    own: dict[str, Any] = {
        "color": "black",
        "lw": 1.6,
        "label": "calibrated: as in the runs",
    }
    above.stairs(numbers(calibrated, "value"), edges, baseline=None, **own)
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
            each for each in printed if each["from_h"] <= row["from_h"] < each["to_h"]
        )
        below.bar(row["from_h"] + 0.5, row["value"], 0.9, color=BANDS[band["value"]][1])
    below.set(
        xlabel="hour of day (UTC)", ylabel="jobs", xlim=(0, 24), xticks=range(0, 25, 3)
    )
    seen = f"{snapshots[0]['value']} snapshots, most here; times not printed"
    return [
        Patch(color=BANDS[0.5][1], label="bands as printed"),
        Line2D([], [], **own),
        Line2D([], [], label=seen, **rug),
    ]


@FIGURES.add("stock", "Stock status at dispatch, by hour of the run", (6.3, 3.4))
def stock_over_the_day(
    results: Results, days: Iterable[str] = ("normal", "surge")
) -> list[Row]:
    """Return shares of dispatches per stock status and hour of the run, under FIFO."""
    rows = []
    for name in days:
        seeds, scenario = results.replications or SEEDS, results.market(day(name))
        runs = [
            simulate(scenario, make_policy("fifo"), seed).jobs for seed in range(seeds)
        ]
        jobs = np.concatenate(runs)
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
    days = list(dict.fromkeys(row["day"] for row in rows))
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
        ax.set_title(f"{name} day", loc="left", fontsize="medium")
        ax.set(
            xlabel="time (h)",
            xlim=(0, hours.max() + 1),
            ylim=(0, 100),
            xticks=range(0, int(hours.max()) + 2, 3),
        )
    axes[0].set_ylabel(f"dispatches (%), FIFO, {rows[0]['seeds']} seeds")
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
    found: list[Row] = []
    scenario, seeds = results.market(day("hectic")), results.replications or SEEDS
    for policy, own in (results.policies or dict(zip(policies, policies))).items():
        lengths = []
        for seed in range(seeds):
            at_s, jobs = queue_length(simulate(scenario, own, seed))
            place = np.searchsorted(at_s, times_s, "right") - 1
            lengths.append(np.where(place >= 0, jobs[place], 0))
        found += [
            {
                "policy": policy,
                "time_h": float(hour),
                "waiting": average.mean,
                "half_width_95": average.half_width,
                "seeds": seeds,
            }
            for hour, average in zip(times_s / 3600, map(mean, np.array(lengths).T))
        ]
    return found


@queues.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    ax = canvas.add_subplot()
    ends, colours = {}, []
    names = list(dict.fromkeys(row["policy"] for row in rows))
    for policy, look in zip(names, looks(names)):
        chosen = where(rows, policy=policy)
        hours = np.array(numbers(chosen, "time_h"))
        waiting = np.array(numbers(chosen, "waiting"))
        half = np.array(numbers(chosen, "half_width_95"))
        ax.fill_between(
            hours,
            waiting - half,
            waiting + half,
            color=look.colour,
            alpha=0.12,
            linewidth=0,
        )
        ax.plot(hours, waiting, color=look.colour)
        at = int(np.searchsorted(hours, 9.5))
        ends[policy] = (float(hours[at]), float(waiting[at]))
        colours.append(look.colour)
    ax.set(xlim=(0, 12), ylim=(0, None))
    marks.labels_at_ends(ax, ends, colours)
    arrive = ""
    if not rows[0].get(OTHER):
        arrive = " 950 jobs arrive in the first 2.6 h;"
        ax.axvspan(4, 10, color="#fff3cd", zorder=0)
        place = ax.get_xaxis_transform()
        ax.text(4.1, 0.97, "scarce stock", fontsize="small", transform=place, va="top")
    seeds = f"mean of {rows[0]['seeds']} seeds, 95 % interval"
    ax.set(xlabel=f"time (h);{arrive} {seeds}", ylabel="waiting jobs")
