"""Plots of runs: the queue, the resources, waits, monitors, and a warm-up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cbook import pts_to_poststep
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cgrsp_simpy.analysis import metrics
from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.timeline import (
    PHASES,
    Timeline,
    averages,
    summed_steps,
    timeline_of,
)
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.plots.data import Drawn, named, runs_of, time_unit
from cgrsp_simpy.plots.labels import Mark, label_marks
from cgrsp_simpy.plots.parts import (
    dots,
    legend_above,
    literal,
    merged,
    say,
    three_digits,
    whole_numbers,
)
from cgrsp_simpy.plots.style import EXECUTING, IDLE, axes, looks, phase_greys

LABELLED = 5  # most lines with names; more have a legend
ANCHORS = 40  # positions along a line where its name is tried
# most changes of the slots; beyond, about as many averages over spans are drawn
STEPS = 200
SPANS_S = (
    1,
    2,
    5,
    10,
    20,
    30,
    *(60 * span for span in (1, 2, 5, 10, 20, 30, 60, 120, 180, 360, 720)),
)


@literal
def queue_length(
    runs: Drawn | Iterable[Drawn], ax: Axes | None = None, **style: Any
) -> Axes:
    """Plot the number of jobs in the queue over time: one line per run.

    Jobs count from submission until they get resources or renege. runs: one or several
    runs of any model, with records. style: line style. Raises InputError without runs.
    """
    runs, ax = runs_of(runs), axes(ax)
    timelines = list(map(timeline_of, runs))
    unit, unit_name = time_unit(max(timeline.end_s for timeline in timelines))
    policies, drawn = [timeline.policy for timeline in timelines], []
    for timeline, name, look in zip(timelines, named(runs, policies), looks(policies)):
        times_s, waiting = metrics.queue_length(timeline)
        own = {
            "drawstyle": "steps-post",
            "color": look.colour,
            "linestyle": look.line,
            "label": name,
        }
        times, lengths = [0, *times_s / unit, timeline.end_s / unit], [0, *waiting, 0]
        drawn += ax.plot(times, lengths, **merged(own, style, Line2D))
    any_jobs = any(len(timeline.visits) for timeline in timelines)
    ax.set(
        xlabel=f"time ({unit_name})",
        ylabel="waiting jobs",
        xlim=(0, None if any_jobs else 1),
        ylim=(0, max(1.0, ax.get_ylim()[1])),
    )
    whole_numbers(ax.yaxis)
    if not any_jobs:
        say(ax, "no jobs")
    name_lines(ax, drawn)
    return ax


def name_lines(ax: Axes, drawn: list[Line2D]) -> None:
    """Put names at the peaks of lines if there is room, or else in a legend."""
    if len(drawn) > LABELLED:
        legend_above(ax, drawn)
        return
    marks = {}
    for line in drawn:
        path = np.asarray(line.get_xydata())
        if line.get_drawstyle() == "steps-post":
            path = np.asarray(pts_to_poststep(*path.T)).T
        places = np.linspace(0, len(path) - 1, min(ANCHORS, len(path))).astype(int)
        places = np.append(places, np.argmax(path[:, 1]))
        highest_first = np.argsort(-path[places, 1], kind="stable")
        marks[str(line.get_label())] = Mark(path[places][highest_first], path)
    label_marks(ax, marks, [str(line.get_color()) for line in drawn])


@literal
def slot_timeline(run: Drawn, ax: Axes | None = None, **style: Any) -> Axes:
    """Plot the number of resources per phase, and idle, over time as stacked areas.

    A job that holds part of a resource counts as that part. If there are too many
    changes to see, averages over equal spans are drawn, and the axis label states the
    span. run: run of any model, with records. style: style of the areas.
    """
    ax, timeline = axes(ax), timeline_of(run)
    unit, unit_name = time_unit(timeline.end_s)
    claims, places = timeline.claims, len(timeline.resources)
    edges = np.unique(np.concatenate([[0.0], claims["from_s"], claims["to_s"]]))
    averaged = len(edges) > STEPS
    if averaged:
        edges = np.append(np.arange(0, edges[-1], _span_s(edges[-1])), edges[-1])
    low, handles = np.zeros(len(edges) - 1), []
    for phase, colour in {
        PHASES[1]: EXECUTING,
        **phase_greys(claims["phase"].tolist()),
        "idle": IDLE,
    }.items():
        high = (
            np.full_like(low, places)
            if phase == "idle"
            else low + _held(timeline, phase, edges)
        )
        own = {"step": "post", "facecolor": colour, "linewidth": 0}
        bottom, top = (np.append(each, each[-1:]) for each in (low, high))
        ax.fill_between(edges / unit, bottom, top, **merged(own, style, PolyCollection))
        handles.append(
            Patch(facecolor=colour, edgecolor="0.6", linewidth=0.5, label=phase)
        )
        low = high
    ax.set(
        xlabel=f"time ({unit_name})",
        ylabel=f"{timeline.label}s, mean over {_text(edges[1])}"
        if averaged
        else f"{timeline.label}s",
        xlim=(0, edges[-1] / unit or 1),
        ylim=(0, places),
    )
    whole_numbers(ax.yaxis)
    if not len(timeline.visits):
        say(ax, "no jobs")
    legend_above(ax, handles)
    return ax


def _held(timeline: Timeline, phase: str, edges: np.ndarray) -> np.ndarray:
    """Return the time-average number of resources held in a phase, between edges."""
    claims = timeline.claims[timeline.claims["phase"] == phase]
    share = claims["amount"] / np.maximum(
        np.array(timeline.sizes)[claims["resource"]], claims["amount"]
    )
    times_s, level = summed_steps(claims["from_s"], claims["to_s"], share)
    return averages(times_s, level, edges)


def _span_s(end_s: float) -> float:
    return next(
        (span for span in SPANS_S if span * STEPS >= end_s),
        86400 * math.ceil(end_s / STEPS / 86400),
    )


def _text(seconds: float) -> str:
    unit, name = next(
        each for each in ((3600, "h"), (60, "min"), (1, "s")) if seconds >= each[0]
    )
    return f"{seconds / unit:g} {name}"


# ---- waits ----

BINS = 40  # approximate number


@literal
def wait_histogram(
    runs: Run | Iterable[Run], ax: Axes | None = None, **style: Any
) -> Axes:
    """Plot the distribution of waits: one step line per run, with the mean marked.

    A wait is the time from submission to execution or, if the run records it (wait_s),
    the total of all waits of a job. A job that never started has no wait.

    runs: one or several runs with records. style: style of the lines. Raises InputError
    if there is no run. Source: thesis Eq. 3.7.
    """
    runs, ax = runs_of(runs), axes(ax)
    waits = [_waits_s(run.jobs) / 60 for run in runs]
    width = _width(max(waits_min.max(initial=0) for waits_min in waits))
    edges = width * np.arange(
        1
        + max(
            1,
            *(
                math.ceil(waits_min.max(initial=0) / width + 1e-9)
                for waits_min in waits
            ),
        )
    )
    drawn = []
    policies = [run.policy for run in runs]
    for waits_min, name, look in zip(waits, named(runs, policies), looks(policies)):
        if not len(waits_min):
            continue
        shares = 100 * np.histogram(waits_min, edges)[0] / len(waits_min)
        own = {
            "color": look.colour,
            "linestyle": look.line,
            "label": f"{name}, mean {three_digits(waits_min.mean())} min",
        }
        drawn += ax.plot(
            np.repeat(edges, 2),
            [0, *np.repeat(shares, 2), 0],
            **merged(own, style, Line2D),
        )
        ax.plot(
            [waits_min.mean()],
            [0],
            **{**dots(look), "color": drawn[-1].get_color()},
            clip_on=False,
            zorder=4,
        )
    ax.set(
        xlabel="wait (min), means marked",
        ylabel=f"jobs (%) in each {width:g} min",
        xlim=(0, edges[-1]),
        ylim=(0, None),
    )
    if not drawn:
        say(ax, "no jobs")
    name_lines(ax, drawn)
    return ax


def _waits_s(jobs: np.ndarray) -> np.ndarray:
    """Return the waits of the jobs that have started, seconds."""
    recorded = "wait_s" in (jobs.dtype.names or ())
    waits_s = jobs["wait_s"] if recorded else jobs["start_s"] - jobs["submit_s"]
    return np.asarray(waits_s[~np.isnan(jobs["start_s"]) & ~np.isnan(waits_s)])


def _width(longest: float) -> float:
    wanted = longest / BINS or 1.0
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(
        step * power
        for step in (1.0, 2.0, 5.0, 10.0)
        if step * power >= wanted * (1 - 1e-9)
    )


# ---- runs of model functions ----


@literal
def monitor(run: Any, name: str, ax: Axes | None = None, **style: Any) -> Axes:
    """Plot the records of a monitor over time.

    For a resource: queue, servers in use and capacity; for a container or store: level;
    for a `cg.Monitor`: values and their running mean.

    run: run of a function with `@cg.model`, with records. style: style of the lines.
    Raises InputError for any other run or an unknown monitor.
    """
    require(hasattr(run, "recorded"), "run", run, "a run of a function with @cg.model")
    ax = axes(ax)
    series = {what: run.series(name, what) for what in run.recorded(name)}
    unit, unit_name = time_unit(run.plan.end_s)
    unit /= run.scenario.declaration.unit_s  # series are in the model's unit
    end = run.plan.end_s / run.scenario.declaration.unit_s / unit
    observed = "value" in series
    if observed:
        times, values = series["value"]
        ax.plot(times / unit, values, ".", color="0.7", label="value")
        number = np.arange(1, len(values) + 1)
        series = {"running mean": (times, np.cumsum(values) / number)}
    series.pop("wait", None)
    for (what, (times, values)), look in zip(series.items(), looks(list(series))):
        last = [end] if len(values) else []
        usual = {
            "drawstyle": "default" if observed else "steps-post",
            "color": look.colour,
            "linestyle": look.line,
            "label": what,
        }
        ax.plot(
            [*times / unit, *last],
            [*values, *values[-1:]],
            **merged(usual, style, Line2D),
        )
    ax.set(xlabel=f"time ({unit_name})", ylabel=name, xlim=(0, end))
    if not observed:
        ax.set_ylim(bottom=0)
        whole_numbers(ax.yaxis)
    legend_above(ax, ax.get_lines())
    return ax


@literal
def welch(warm_up: Any, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw Welch's plot: mean of pilot runs, moving average, suggested warm-up.

    warm_up: result of `cg.warm_up_time`. style: style of the lines. Source: Law,
    Simulation Modeling and Analysis, Section 9.5.1.
    """
    require(
        hasattr(warm_up, "means"), "warm_up", warm_up, "what cg.warm_up_time returns"
    )
    ax = axes(ax)
    window = max(1, len(warm_up.means) // 20)
    means = np.array(
        [
            warm_up.means[max(0, n - window) : n + window + 1].mean()
            for n in range(len(warm_up.means))
        ]
    )
    times = warm_up.times
    mean_label = f"mean of {warm_up.seeds} runs"
    for values, usual in (
        (warm_up.means, {"color": "0.75", "label": mean_label}),
        (means, {"color": looks(["mean"])[0].colour, "label": "moving average"}),
    ):
        ax.plot(times, values, **merged(usual, style, Line2D))
    ax.axvline(
        warm_up.time,
        color="0.2",
        linestyle="--",
        label=f"suggested warm-up: {warm_up.time:g}",
    )
    ax.set(xlabel="time", ylabel=warm_up.figure, xlim=(0, times[-1]))
    legend_above(ax, ax.get_lines())
    return ax
