"""Figures 15 to 22 of waiting-policies.txt: jobs of a log, or generated ones, on large machines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch

from cgrsp_simpy.plots.figure import Figure, Figures, Handles, Row, Rows
from cgrsp_simpy.plots.parts import beside_point, no_flat_axis, told
from cgrsp_simpy.waiting.jobs import Floats
from cgrsp_simpy.waiting.paper.curve_figures import (
    BUSY,
    HOURLY,
    PRICED,
    RENTED,
    SERVERS,
    SIMULATED,
    TRIPLE,
    WRONG,
    at,
    curves,
    gain,
    least,
    measured,
    mispredicted,
    numbered,
    seen_run_errors,
)
from cgrsp_simpy.waiting.paper.runs import (
    HOURS,
    WAIT_OVER,
    WAIT_UNDER,
    Runs,
    mistaken,
    run_errors,
)
from cgrsp_simpy.waiting.policies import (
    Mispredictions,
    waiting_policy,
)

GAPS_S = (0, 1, 15, 60, 180, 900, 3600, 6 * 3600, math.inf)
RUN_TIMES_S = (0, 180, 1800, 3600, 3 * 3600, 6 * 3600, 86_400, 7 * 86_400, math.inf)
SHOWN = 1500  # needs in the scatter, the most frequent ones


FIGURES = Figures("waiting_", Runs, columns=99, handlelength=2.6)


def _figure(number: int, head: str, title: str = "", **more: Any) -> Figure:
    """Declare a figure. title: of its legend, where the names there do not speak for themselves."""

    def note(runs: Runs) -> str:
        return "\n".join(filter(None, (f"{runs.told}; {SIMULATED}", title)))

    def options(runs: Runs) -> str:
        return " --trace FILE" if runs.trace else ""

    return numbered(FIGURES, number, head, **{"note": note, "options": options, **more})


def workload_policies(order: str) -> Rows:
    """The policies over the number of machines."""

    def rows(runs: Runs) -> list[Row]:
        chosen = runs.workload.policies.values()
        points = [
            point
            for policy in chosen
            for point in runs.workload.points(policy.name, policy, order=order)
        ]
        return runs.rows(points, "machines", HOURS)

    return rows


def workload_wait_errors(kind: str, beside: str, metrics: Sequence[str]) -> Rows:
    """The policy sww over the number of machines with mispredicted waits; over-predicted
    ones work-conserving.
    """

    def rows(runs: Runs) -> list[Row]:
        work, points = runs.workload, []
        for share in WAIT_OVER if kind == "over" else WAIT_UNDER:
            name, policy, errors = mistaken(work.policies["sww"], kind, share)
            points += work.points(name, policy, errors=errors, work_conserving=errors.wait_over > 0)
        return runs.rows(
            [*points, *work.points(beside, work.policies[beside])], "machines", metrics
        )

    return rows


@_figure(15, "The workload", note=lambda runs: runs.told, size=(6.3, 5.0))
def features(runs: Runs) -> list[Row]:
    """Gaps and running times beside exponential ones, the share of short jobs, and
    what jobs need.
    """
    submit_s, run_s, cores, memory_gb = runs.workload.columns
    rows: list[Row] = [
        *_shares("gaps", np.diff(submit_s), GAPS_S),
        *_shares("running times", run_s, RUN_TIMES_S),
    ]
    for minutes in range(31):
        short = run_s < 60 * minutes
        work = 100 * float((run_s * cores)[short].sum() / (run_s * cores).sum())
        rows.append(
            {
                "panel": "short jobs",
                "short_min": minutes,
                "jobs_pct": 100 * short.mean().item(),
                "core_hours_pct": work,
            }
        )
    needs, counts = np.unique(np.column_stack([cores, memory_gb]), axis=0, return_counts=True)
    common = np.argsort(-counts, kind="stable")[:SHOWN]
    shares = (100 * counts[common] / len(cores)).tolist()
    return rows + [
        {"panel": "needs", "cores": int(number), "memory_gb": memory, "jobs_pct": share}
        for (number, memory), share in zip(needs[common].tolist(), shares)
    ]


@features.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """Two histograms, short jobs by t, and needs."""
    axes = canvas.subplots(2, 2)
    parts = [
        [row for row in rows if row["panel"] == panel]
        for panel in dict.fromkeys(row["panel"] for row in rows)
    ]
    for ax, part, name in zip(axes[0], parts, ("time between submissions", "running time")):
        _histogram(ax, part, name)
    _short(axes[1, 0], parts[2])
    _needs(axes[1, 1], parts[3])
    both = {"the jobs": BUSY, "exponential, the same mean": RENTED}
    return [Patch(color=colour, label=name) for name, colour in both.items()]


@features.says
def _(rows: list[Row]) -> str:
    gaps, runs = (
        next(row["jobs_pct"] for row in rows if row["panel"] == panel)
        for panel in ("gaps", "running times")
    )
    (work,) = (row["core_hours_pct"] for row in rows if row.get("short_min") == 3)
    return (
        f"{gaps:.0f} % of the jobs come within a second of the one before; {runs:.0f} % run for"
        f" less than 3 min, and bring {told(work)} % of the core-hours."
    )


def _shares(panel: str, values: Floats, edges: Sequence[float]) -> list[Row]:
    counts = np.histogram(values, edges)[0]
    beyond = np.exp(-np.array(edges) / max(values.mean(), 1e-9))
    return [
        {
            "panel": panel,
            "from_s": low,
            "to_s": high,
            "jobs_pct": 100 * count / len(values),
            "exponential_pct": 100 * share,
        }
        for low, high, count, share in zip(
            edges, edges[1:], counts.tolist(), (-np.diff(beyond)).tolist()
        )
    ]


def _histogram(ax: Axes, rows: Sequence[Row], name: str) -> None:
    """Shares of the jobs beside those of an exponential distribution, in bins that
    the ticks name.
    """
    places = np.arange(len(rows))
    for column, offset, colour in (("jobs_pct", -0.2, BUSY), ("exponential_pct", 0.2, RENTED)):
        ax.bar(places + offset, [row[column] for row in rows], 0.4, color=colour)
    ticks = [_duration(row["to_s"]) if math.isfinite(row["to_s"]) else "more" for row in rows]
    ax.set_xticks(places, ticks, fontsize="small")
    ax.set(xlabel=f"{name}, up to", ylabel="jobs (%)")


def _duration(seconds: float) -> str:
    unit, name = next(
        each for each in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")) if seconds >= each[0]
    )
    return f"{seconds / unit:g}\n{name}"


def _short(ax: Axes, rows: Sequence[Row]) -> None:
    minutes = [row["short_min"] for row in rows]
    for column, name, line in (
        ("jobs_pct", "of the jobs", "-"),
        ("core_hours_pct", "of the core-hours", "--"),
    ):
        values = [row[column] for row in rows]
        ax.plot(minutes, values, line, color=BUSY)
        beside_point(ax, name, (minutes[-1], values[-1]), (0, 4), ha="right")
    ax.set(xlabel="short are jobs below t (min)", ylabel="short jobs (%)", ylim=(0, 100))


def _needs(ax: Axes, rows: Sequence[Row]) -> None:
    """A dot for each kind of needs, its area as the share of the jobs."""
    cores, memory_gb, pct = (
        np.array([row[name] for row in rows]) for name in ("cores", "memory_gb", "jobs_pct")
    )
    largest = 3 * rcParams["lines.markersize"]  # points across
    areas = np.maximum(largest**2 * pct / pct.max(), 1)
    ax.scatter(cores, memory_gb, areas, color=BUSY, alpha=0.5, linewidths=0)
    ax.set(xlabel="cores (area of a dot: share of the jobs)", ylabel="memory (GB)")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter("{x:g}")
    if memory_gb.min() > 0:
        ax.set_yscale("log", base=2)
        ax.yaxis.set_major_formatter("{x:g}")
    ax.margins(0.12)
    no_flat_axis(ax, y=memory_gb)


@_figure(
    16,
    "The policies on the workload, first come, first served",
    rows=workload_policies("fcfs"),
    draw=curves("machines", SERVERS, *TRIPLE),
).says
def seen_workload(rows: list[Row]) -> str:
    """Of the policies over the machines."""
    _, number = least(rows, "compound", source="simulation", x="machines")
    price, wait = (
        measured(rows, "compound", name, machines=number) for name in ("normalized_price", "wait_h")
    )
    there = [row for row in rows if row["machines"] == number and row["line"] != "njw"]
    costs = ", ".join(
        f"{told(row['opportunity_cents'])} ({row['line']})"
        for row in sorted(there, key=lambda row: float(row["opportunity_cents"]))
    )
    return (
        f"The compound policy is cheapest with {number} machines, P = {price}, at a mean wait of"
        f" {wait} h; a job's wait costs there, from the least to the most, in cents: {costs}."
    )


_figure(
    17,
    "The policies on the workload, shortest job first",
    rows=workload_policies("sjf"),
    draw=curves("machines", SERVERS, *TRIPLE),
    seen=seen_workload,
)


@_figure(
    18,
    "The compound policy on the workload, by t and b",
    title="compound with longest wait b",
    draw=curves("short_min", "short: below t (min)", *TRIPLE),
)
def workload_thresholds(runs: Runs) -> list[Row]:
    """The compound policy by t, for several b, at the cheapest number of machines."""
    machines = runs.workload.cheapest(runs)
    points = [
        (
            f"b = {hours} h",
            minutes,
            runs.workload.scenario(
                waiting_policy("compound", 3600 * hours, 60 * minutes), machines
            ),
        )
        for hours in (6, 12, 24, 48)
        for minutes in (3, 6, 10, 15, 20, 30)
    ]
    return runs.rows(points, "short_min", HOURS)


@workload_thresholds.says
def _(rows: list[Row]) -> str:
    names = list(dict.fromkeys(row["line"] for row in rows))
    changes = (
        f"from {told(at(rows, name, 'wait_h', short_min=3))} to"
        f" {told(at(rows, name, 'wait_h', short_min=30))} h ({name})"
        for name in names
    )
    low, high = (at(rows, "b = 24 h", "normalized_price", short_min=t) for t in (3, 30))
    return (
        f"From t = 3 to 30 min the mean wait goes {', '.join(changes)}; the price, with b = 24 h,"
        f" from {low:.3f} to {high:.3f}."
    )


@_figure(
    19,
    "The compound policy on the workload, with mispredictions",
    title="compound by share of waits mispredicted",
    draw=curves("error_pct", "running times wrong (%)", *TRIPLE),
)
def workload_errors(runs: Runs) -> list[Row]:
    """The compound policy by errors of predicted running times, for several of waits,
    over and under alike.
    """
    machines = runs.workload.cheapest(runs)
    compound, shares = runs.workload.policies["compound"], (0.0, 0.1, 0.2, 0.3, 0.4)
    points = [
        (
            f"{100 * wait:g} %",
            100 * run,
            runs.workload.scenario(compound, machines, errors=Mispredictions(wait, wait, run, run)),
        )
        for wait in shares
        for run in (*shares, 0.5)
    ]
    return runs.rows(points, "error_pct", HOURS)


@workload_errors.says
def _(rows: list[Row]) -> str:
    none, run, wait = (
        at(rows, line, "normalized_price", error_pct=x)
        for line, x in (("0 %", 0), ("0 %", 10), ("10 %", 0))
    )
    return (
        f"Mispredicting 10 % of the running times raises the price by {gain(none, run)},"
        f" mispredicting 10 % of the waits by {gain(none, wait)}."
    )


@_figure(
    20,
    "Short waits wait on the workload, waits over-predicted",
    title="sww, work-conserving, by share of waits over-predicted, and njw",
    rows=workload_wait_errors("over", "njw", ("normalized_price", "wait_h")),
    draw=curves("machines", SERVERS, PRICED, HOURLY),
).says
def _(rows: list[Row]) -> str:
    price, number = least(rows, "0 %", source="simulation", x="machines")
    five, twenty, njw = (
        at(rows, line, "normalized_price", machines=number) for line in ("5 %", "20 %", "njw")
    )
    return (
        f"With {number} machines the price goes from {price:.3f} to {five:.3f} with 5 %"
        f" and {twenty:.3f} with 20 % of the waits over-predicted, {njw:.3f} under njw;"
        f" the mean wait from {measured(rows, '0 %', 'wait_h', machines=number)} h"
        f" to {measured(rows, '5 %', 'wait_h', machines=number)} h and"
        f" {measured(rows, '20 %', 'wait_h', machines=number)} h."
    )


@_figure(
    21,
    "Short waits wait on the workload, waits under-predicted",
    title="sww by share of long waits that are under-predicted, and ajw-t",
    rows=workload_wait_errors("under", "ajw-t", ("wait_h",)),
    draw=curves("machines", SERVERS, HOURLY),
).says
def _(rows: list[Row]) -> str:
    numbers = sorted({row["machines"] for row in rows})
    changes = (
        f"from {measured(rows, '0 %', 'wait_h', machines=number)} h to"
        f" {measured(rows, '50 %', 'wait_h', machines=number)} h with {number}"
        for number in (numbers[0], numbers[len(numbers) // 2])
    )
    return (
        f"Under-predicting half of the waits moves the mean wait {' machines, and '.join(changes)}."
    )


@_figure(
    22,
    "Long jobs wait on the workload, running times mispredicted",
    draw=mispredicted("error_pct", WRONG, *TRIPLE),
    seen=seen_run_errors,
)
def workload_run_errors(runs: Runs) -> list[Row]:
    """The policy ljw with mispredicted running times, on as ample machines as the paper's 200."""
    work = runs.workload
    points = run_errors(
        lambda errors: work.scenario(work.policies["ljw"], work.ample, errors=errors)
    )
    return runs.rows(points, "error_pct", HOURS)
