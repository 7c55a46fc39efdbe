"""Plots of runs: Gantt charts, the queue, resources, waits, monitors, a warm-up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.cbook import pts_to_poststep
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cgrsp_simpy.analysis import metrics
from cgrsp_simpy.base.checks import InputError, entries_of, require
from cgrsp_simpy.base.parameters import Positive, checked
from cgrsp_simpy.base.table import many
from cgrsp_simpy.base.timeline import (
    PHASES,
    Timeline,
    averages,
    summed_steps,
    timeline_of,
)
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.plots.data import Drawn, named, runs_of, time_unit
from cgrsp_simpy.plots.labels import AtDrawing, Mark, label_marks
from cgrsp_simpy.plots.lanes import bars, stays
from cgrsp_simpy.plots.parts import (
    dots,
    legend_above,
    literal,
    merged,
    say_no_jobs,
    three_digits,
    whole_numbers,
)
from cgrsp_simpy.plots.style import (
    EXECUTING,
    IDLE,
    MISSED,
    axes,
    ink_on,
    kind_colours,
    looks,
    phase_greys,
)

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
        usual = {
            "drawstyle": "steps-post",
            "color": look.colour,
            "linestyle": look.line,
            "label": name,
        }
        times, lengths = [0, *times_s / unit, timeline.end_s / unit], [0, *waiting, 0]
        drawn += ax.plot(times, lengths, **merged(usual, style, Line2D))
    any_jobs = any(len(timeline.visits) for timeline in timelines)
    ax.set(
        xlabel=f"time ({unit_name})",
        ylabel="waiting jobs",
        xlim=(0, None if any_jobs else 1),
        ylim=(0, max(1.0, ax.get_ylim()[1])),
    )
    whole_numbers(ax.yaxis)
    if not any_jobs:
        say_no_jobs(ax)
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
        usual = {"step": "post", "facecolor": colour, "linewidth": 0}
        bottom, top = (np.append(edge, edge[-1:]) for edge in (low, high))
        ax.fill_between(
            edges / unit, bottom, top, **merged(usual, style, PolyCollection)
        )
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
        say_no_jobs(ax)
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
        scale for scale in ((3600, "h"), (60, "min"), (1, "s")) if seconds >= scale[0]
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
    longest = max(waits_min.max(initial=0) for waits_min in waits)
    width = _width(longest)
    edges = width * np.arange(1 + math.ceil(longest / width + 1e-9))
    drawn = []
    policies = [run.policy for run in runs]
    for waits_min, name, look in zip(waits, named(runs, policies), looks(policies)):
        if not len(waits_min):
            continue
        shares = 100 * np.histogram(waits_min, edges)[0] / len(waits_min)
        usual = {
            "color": look.colour,
            "linestyle": look.line,
            "label": f"{name}, mean {three_digits(waits_min.mean())} min",
        }
        drawn += ax.plot(
            np.repeat(edges, 2),
            [0, *np.repeat(shares, 2), 0],
            **merged(usual, style, Line2D),
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
        say_no_jobs(ax)
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
    ax.set(xlabel=f"time ({unit_name})", ylabel=name, xlim=(0, end or 1))
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
    mean_label = f"mean of {many(warm_up.seeds, 'run')}"
    for values, usual in (
        (warm_up.means, {"color": "0.75", "label": mean_label}),
        (means, {"color": looks(["mean"])[0].colour, "label": "moving average"}),
    ):
        ax.plot(warm_up.times, values, **merged(usual, style, Line2D))
    ax.axvline(
        warm_up.time,
        color="0.2",
        linestyle="--",
        label=f"suggested warm-up: {warm_up.time:g}",
    )
    ax.set(xlabel="time", ylabel=warm_up.figure, xlim=(0, warm_up.times[-1]))
    legend_above(ax, ax.get_lines())
    return ax


# ---- Gantt charts ----

NAMED = 25  # most resources with names
ROWS = 100  # most resources drawn
MOST_KINDS = 9  # most kinds in the legend: of more, every second, third, ...
NUMBERED = 60  # most jobs with numbers, if these fit
EDGED = 400  # most jobs with edges
WIDE = 0.005  # bars from this share of the axis on have white edges
HEIGHT = 0.78  # height of bars, in rows
BELOW = 0.05  # distance from a bar to the line below it, in rows
THICK = 0.25  # maximum thickness of that line, in bar heights
INK = 0.75  # visible share of a text's height
EXECUTION = PHASES[1]


@literal
def gantt(
    run: Drawn,
    ax: Axes | None = None,
    jobs: Iterable[int] | None = None,
    colour_by: str | None = None,
    until_s: float | None = None,
    **style: Any,
) -> Axes:
    """Plot resources over time: execution coloured by kind, other phases grey.

    A line below a job marks a missed deadline. The row of a shared resource is as high
    as its size, each job's bar as high as its amount. If there are over 100 resources,
    only every second, third, ... is drawn; the axis label states both numbers.

    run: run of any model with records, or a timeline. jobs: ids to draw, with only the
    resources that they held; default: all. colour_by: a column of the run's jobs; for
    rented GPUs complexity, class (of the deadline) or status (the stock at dispatch);
    default: the kinds of the timeline. until_s: last time drawn; default: the end of
    the run. style: style of the bars. Raises InputError for an invalid run, an unknown
    job or another colour_by.
    """
    ax, timeline = axes(ax), _until(_chosen(_coloured(run, colour_by), jobs), until_s)
    unit, unit_name = time_unit(timeline.claims["to_s"].max(initial=0))
    drawn = bars(timeline)
    shown = _rows(ax, timeline, drawn if jobs is not None else None)
    drawn = drawn[np.isin(drawn["resource"], shown)]
    drawn["resource"] = np.searchsorted(shown, drawn["resource"])
    handles = _draw(ax, timeline, drawn, unit, style)
    visits = timeline.visits
    late = stays(
        drawn[np.isin(drawn["job"], visits["job"][visits["end_s"] > visits["due_s"]])]
    )
    if len(late):
        _underline(ax, late, unit)
        handles.append(Patch(color=MISSED, label="missed its deadline"))
    ax.set_xlabel(f"time ({unit_name})")
    if jobs is None:
        ax.set_xlim(left=0)
    if not len(visits):
        say_no_jobs(ax)
    legend_above(ax, handles)
    return ax


def _coloured(run: Drawn, colour_by: str | None) -> Timeline:
    timeline = timeline_of(run)
    if colour_by is None:
        return timeline
    if isinstance(run, Run):
        return replace(timeline, kinds=run.report.kinds(run, colour_by))
    raise InputError(f"colour_by(={colour_by!r}) must be omitted unless a run is drawn")


@checked
def _until(timeline: Timeline, until_s: Positive | None) -> Timeline:
    if until_s is None:
        return timeline
    claims, visits = (
        table[table[column] < until_s]
        for table, column in ((timeline.claims, "from_s"), (timeline.visits, "ready_s"))
    )
    claims["to_s"] = np.minimum(claims["to_s"], until_s)
    return replace(timeline, claims=claims, visits=visits)


def _chosen(timeline: Timeline, jobs: Iterable[int] | None) -> Timeline:
    if jobs is None:
        return timeline
    known = timeline.visits["job"]
    allowed = f"ids of the run's {many(len(known), 'job')}"
    wanted = entries_of("jobs", jobs, allowed)
    for job in wanted:
        require(job in known, "jobs", job, allowed)
    claims, visits = (
        table[np.isin(table["job"], wanted)]
        for table in (timeline.claims, timeline.visits)
    )
    return replace(timeline, claims=claims, visits=visits)


def _rows(ax: Axes, timeline: Timeline, among: np.ndarray | None) -> np.ndarray:
    """Label rows of resources from the top. among: bars whose resources are shown."""
    places = np.arange(len(timeline.resources))
    if among is not None and len(places) > ROWS:
        places = np.unique(among["resource"])
    shown = places[:: math.ceil(len(places) / ROWS) or 1]
    every = math.ceil(len(shown) / NAMED) or 1
    ax.set_yticks(
        range(0, len(shown), every),
        [timeline.resources[place] for place in shown[::every]],
    )
    ax.set_ylim(len(shown) - 0.45, -0.55)
    number = len(timeline.resources)
    ax.set_ylabel(
        timeline.label
        if len(shown) == number
        else f"{len(shown)} of {number:,} {timeline.label}s"
    )
    return shown


def _draw(
    ax: Axes, timeline: Timeline, drawn: np.ndarray, unit: float, style: dict[str, Any]
) -> list[Patch]:
    usual, handles = _rims(timeline, drawn), list[Patch]()
    executing = drawn[drawn["phase"] == EXECUTION]
    kinds = np.array(
        [timeline.kinds.get(job, EXECUTION) for job in executing["job"].tolist()]
    )
    colours = kind_colours(kinds.tolist())
    shown_kinds = list(colours)[:: math.ceil(len(colours) / MOST_KINDS) or 1]
    for kind, colour in colours.items():
        part = executing[kinds == kind]
        handles += [Patch(color=colour, label=kind)] if kind in shown_kinds else []
        _boxes(ax, part, unit, {**usual, "facecolor": colour}, style)
        if len(timeline.visits) <= NUMBERED:
            _label(ax, part, timeline.labels, unit, colour)
    for phase, colour in phase_greys(drawn["phase"].tolist()).items():
        part = drawn[drawn["phase"] == phase]
        if len(part):
            handles.append(Patch(color=colour, label=phase))
            _boxes(ax, part, unit, {**usual, "facecolor": colour}, style)
    return handles


def _rims(timeline: Timeline, drawn: np.ndarray) -> dict[str, Any]:
    """Edges of bars: white if wide, the bar's colour if thin, none if too many."""
    executing = drawn[drawn["phase"] == EXECUTION]
    if not len(executing) or len(timeline.visits) > EDGED:
        return {"linewidth": 0}
    width = np.median(executing["to_s"] - executing["from_s"]) / (
        drawn["to_s"].max() - drawn["from_s"].min()
    )
    return (
        {"edgecolor": "white", "linewidth": 0.7}
        if width > WIDE
        else {"edgecolor": "face", "linewidth": 0.4}
    )


def _edges(drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the upper and lower edges of bars on the axis, which points down."""
    top = drawn["resource"] - HEIGHT / 2
    return top + HEIGHT * drawn["low"], top + HEIGHT * drawn["high"]


def _boxes(
    ax: Axes,
    drawn: np.ndarray,
    unit: float,
    usual: dict[str, Any],
    style: dict[str, Any],
) -> None:
    left, right = drawn["from_s"] / unit, drawn["to_s"] / unit
    low, high = _edges(drawn)
    corners = np.stack(
        [left, low, left, high, right, high, right, low], axis=1
    ).reshape(-1, 4, 2)
    ax.add_collection(
        PolyCollection(list(corners), **merged(usual, style, PolyCollection))
    )


def _underline(ax: Axes, late: np.ndarray, unit: float) -> None:
    """Draw lines below late jobs, thinner below thin bars."""
    share = late["high"] - late["low"]
    # points
    row = (
        ax.get_window_extent().height
        / ax.figure.dpi
        * 72
        / abs(np.subtract(*ax.get_ylim()))
    )
    thick = np.minimum(2 * rcParams["lines.linewidth"], THICK * row * HEIGHT * share)
    at = _edges(late)[1] + BELOW * share
    ax.hlines(at, late["from_s"] / unit, late["to_s"] / unit, MISSED, lw=thick)


def _label(
    ax: Axes, drawn: np.ndarray, labels: Mapping[int, str], unit: float, colour: str
) -> None:
    """Write labels on jobs if they fit: once per resource, on the highest bar."""
    drawn = drawn[np.argsort(drawn["low"] - drawn["high"], kind="stable")]
    drawn = drawn[np.sort(np.unique(drawn[["stay", "from_s"]], return_index=True)[1])]
    usual: dict[str, Any] = {
        "ha": "center",
        "va": "center",
        "color": ink_on(colour),
        "fontsize": "small",
        "clip_on": True,
    }
    middles = np.stack(
        [(drawn["from_s"] + drawn["to_s"]) / 2 / unit, np.mean(_edges(drawn), axis=0)],
        axis=1,
    )
    texts = [
        ax.text(x, y, labels.get(job, f"J{job}"), **usual)
        for (x, y), job in zip(middles, drawn["job"].tolist())
    ]
    corners = [
        np.stack([drawn[end] / unit, edge], axis=1)
        for end, edge in zip(("from_s", "to_s"), _edges(drawn))
    ]

    def arrange(renderer: RendererBase) -> None:
        starts, ends = map(ax.transData.transform, corners)
        for text, (width, height) in zip(texts, np.abs(ends - starts)):
            text.set_visible(True)  # hidden texts have no extent
            box = text.get_window_extent(renderer)
            text.set_visible(box.width < width and box.height < height / INK)

    if texts:
        AtDrawing(ax, arrange)
