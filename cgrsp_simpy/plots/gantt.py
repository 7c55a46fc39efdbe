"""Gantt charts of jobs on resources."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from cgrsp_simpy.base.checks import InputError, entries_of, require
from cgrsp_simpy.base.parameters import Positive, checked
from cgrsp_simpy.base.timeline import PHASES, Timeline, timeline_of
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.plots.data import Drawn, time_unit
from cgrsp_simpy.plots.labels import AtDrawing
from cgrsp_simpy.plots.lanes import bars, stays
from cgrsp_simpy.plots.parts import legend_above, literal, merged, say
from cgrsp_simpy.plots.style import MISSED, axes, ink_on, kind_colours, phase_greys

NAMED = 25  # most resources with names
ROWS = 100  # most resources drawn
TOLD = 9  # most kinds in the legend: of more, every second, third, ...
NUMBERED = 60  # most jobs with numbers, if these fit
EDGED = 400  # most jobs with edges
WIDE = 0.005  # bars from this share of the axis on have white edges
HEIGHT = 0.78  # height of bars, in rows
BELOW = 0.05  # from a bar to the line below it, in rows
THICK = 0.25  # of that line at most, in bar heights
INK = 0.75  # of a text's height
EXECUTING = PHASES[1]


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
        say(ax, "no jobs")
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
    allowed = f"ids of the run's {len(known)} jobs"
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
    own, handles = _rims(timeline, drawn), list[Patch]()
    executing = drawn[drawn["phase"] == EXECUTING]
    kinds = np.array(
        [timeline.kinds.get(job, EXECUTING) for job in executing["job"].tolist()]
    )
    colours = kind_colours(kinds.tolist())
    told = list(colours)[:: math.ceil(len(colours) / TOLD) or 1]
    for kind, colour in colours.items():
        part = executing[kinds == kind]
        handles += [Patch(color=colour, label=kind)] if kind in told else []
        _boxes(ax, part, unit, {**own, "facecolor": colour}, style)
        if len(timeline.visits) <= NUMBERED:
            _label(ax, part, timeline.labels, unit, colour)
    for phase, colour in phase_greys(drawn["phase"].tolist()).items():
        part = drawn[drawn["phase"] == phase]
        if len(part):
            handles.append(Patch(color=colour, label=phase))
            _boxes(ax, part, unit, {**own, "facecolor": colour}, style)
    return handles


def _rims(timeline: Timeline, drawn: np.ndarray) -> dict[str, Any]:
    """Edges of bars: white if wide, the bar's colour if thin, none if too many."""
    executing = drawn[drawn["phase"] == EXECUTING]
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
    ax: Axes, drawn: np.ndarray, unit: float, own: dict[str, Any], style: dict[str, Any]
) -> None:
    left, right = drawn["from_s"] / unit, drawn["to_s"] / unit
    low, high = _edges(drawn)
    corners = np.stack(
        [left, low, left, high, right, high, right, low], axis=1
    ).reshape(-1, 4, 2)
    ax.add_collection(
        PolyCollection(list(corners), **merged(own, style, PolyCollection))
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
    own: dict[str, Any] = {
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
        ax.text(x, y, labels.get(job, f"J{job}"), **own)
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
