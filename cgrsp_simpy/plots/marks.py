"""Bars, lines and points with intervals from plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.text import Annotation

from cgrsp_simpy.plots.labels import AtDrawing, Mark, label_marks, labels_at_ends
from cgrsp_simpy.plots.parts import (
    Several,
    Values,
    as_mathtext,
    dots,
    few_ticks,
    hollow,
    intervals,
    legend_above,
    literal,
    merged,
    name_rows,
    no_flat_axis,
    on_dark_bars,
    three_digits,
    whole_numbers,
    width,
)
from cgrsp_simpy.plots.style import Look, ink, looks

__all__ = [
    "bars",
    "hollow",
    "intervals",
    "label_marks",
    "labels_at_ends",
    "legend_above",
    "lines",
    "points",
    "published",
]

NOWHERE = (np.nan, np.nan)  # breaks a line of a plot
# a band behind intervals and marks
FRONT: dict[str, Any] = {"color": "0.82", "lw": 5.0, "zorder": 1}
# text style of published values in figures
PUBLISHED: dict[str, Any] = {"style": "italic", "color": "0.35"}


@literal
def bars(
    ax: Axes,
    names: Sequence[str],
    values: Values,
    half_widths: Values,
    published: Values | None = None,
    colours: Sequence[str] | None = None,
    **style: Any,
) -> list[Rectangle]:
    """Draw one horizontal bar per name, with interval and, if it fits, value.

    values, half_widths: per name; NaN if missing; infinite values have no bar.
    published: per name, drawn as hollow marks below the bars, with values in italics;
    NaN if missing. colours: per name; default: those of policies. style: style of the
    bars.
    """
    values, half_widths = np.asarray(values, float), np.asarray(half_widths, float)
    endless = np.isinf(values)  # no bar, only its sign
    values, half_widths = (
        np.where(endless, np.nan, array) for array in (values, half_widths)
    )
    theirs = (
        np.full(len(names), np.nan)
        if published is None
        else np.asarray(published, float)
    )
    known = np.flatnonzero(np.isfinite(theirs))
    # of a row's height, for ours; as much below it for published values, and room
    # between rows
    lane = 0.42 if len(known) else 1.0
    rows = np.arange(len(names))
    ours, below = (rows - lane / 2, rows + lane / 2) if len(known) else (rows, rows)
    usual = {
        "height": 0.32 if len(known) else 0.7,
        "color": colours or [look.colour for look in looks(names)],
    }
    drawn = list(ax.barh(ours, np.nan_to_num(values), **merged(usual, style, Patch)))
    intervals(ax, values, ours, x_half=half_widths)
    on_dark_bars(ax, drawn, half_widths)
    ends = np.fmax(np.fmax(values, values + half_widths), 0.0)
    texts = [
        r"$\infty$" if no_end else three_digits(value)
        for no_end, value in zip(endless, values)
    ]
    # an interval below 0 ends in an arrowhead if the axis begins at 0
    heads_pt = np.where(half_widths > values, rcParams["lines.markersize"], 0.0)
    shown = _values_beside(ax, texts, ends, ours, heads_pt)
    for text, bar, no_end in zip(shown, drawn, endless):
        text.set_color(ink(to_hex(bar.get_facecolor())))
        if no_end:
            as_mathtext(text)
    if len(known):
        ax.plot(theirs, below, label="published", clip_on=False, **hollow())
        shown += _values_beside(
            ax,
            [_printed(value) for value in theirs[known]],
            theirs[known],
            below[known],
            aside=0.8 * rcParams["lines.markersize"],
            **PUBLISHED,
        )
    _only_if_as_high(ax, shown, lane / len(names))
    name_rows(ax, names, together=1 if len(known) else len(names))
    ax.margins(x=0)
    few_ticks(ax.xaxis)
    if not np.any(np.nan_to_num(values)) and ax.dataLim.x1 <= 0:
        ax.set_xlim(0, 1)
    return drawn


def _printed(value: float) -> str:
    """Format a published value with about three digits, or fewer if printed so."""
    return (
        f"{value:.2g}"
        if abs(value) < 0.01
        else min(three_digits(value), f"{value:g}", key=len)
    )


def _values_beside(
    ax: Axes,
    texts: Sequence[str],
    ends: np.ndarray,
    places: np.ndarray,
    heads_pt: Values | float = 0.0,
    aside: float = 0.0,
    **style: Any,
) -> list[Annotation]:
    """Write values to the right of the ends of marks (data coordinates), and make room.

    heads_pt: length of arrowheads at 0, points. aside: additional points between marks
    and values.
    """
    place: dict[str, Any] = {
        "textcoords": "offset points",
        "va": "center",
        "fontsize": "small",
    }
    # a later layout takes a part for labels
    room = 0.8 * ax.get_window_extent().width / ax.figure.dpi * 72
    taken = max(width(text, "small", mathtext=True) for text in texts) + aside + 6
    low = min(0.0, ax.dataLim.x0)
    right = low + (float(ends.max()) - low) / max(1 - taken / room, 0.2)
    ax.update_datalim([(right, places[0])], updatey=False)
    ends_pt = room * ends / (right - low or 1.0)
    offsets = aside + 2.5 + np.maximum(heads_pt - ends_pt, 0.0)
    return [
        ax.annotate(text, (end, row), (offset, 0), **place, **style)
        for text, end, row, offset in zip(texts, ends, places, offsets)
    ]


def _only_if_as_high(ax: Axes, texts: Sequence[Annotation], lane: float) -> None:
    """Hide texts that are higher than a lane, a share of the Axes' height."""

    def arrange(renderer: RendererBase) -> None:
        height = ax.get_window_extent(renderer).height * lane
        for text in texts:
            text.set_visible(True)  # hidden texts have no extent
            text.set_visible(text.get_window_extent(renderer).height <= height)

    AtDrawing(ax, arrange)


def point(
    ax: Axes, x: float, y: float, x_half: float, marker: str = "o", **style: Any
) -> None:
    """Draw a mark with a horizontal interval of its colour; style: as in `plot`."""
    intervals(ax, [x], [y], x_half=[x_half], colour=style["color"])
    ax.plot([x], [y], marker=marker, linestyle="none", **style)


def published(policies: Sequence[str] = ()) -> Line2D:
    """Return the legend handle of published values.

    policies: those with published values; leave empty for marks below bars.
    """
    if not policies:
        return Line2D([], [], label="published", **hollow())
    return Several(
        "hollow: published",
        [Line2D([], [], **hollow(look)) for look in looks(policies)],
    )


@literal
def lines(
    ax: Axes,
    x: Sequence[Any],
    series: Mapping[str, tuple[Values, Values]],
    published: Mapping[str, Values] | None = None,
    styles: Sequence[Look] | None = None,
    **style: Any,
) -> list[Line2D]:
    """Draw one line per name, with intervals and the name at its end.

    x: numbers, or strings at equal distances. series: name -> values and half widths of
    their intervals, per x; NaN if missing. published: name -> values, drawn as hollow
    marks. styles: looks of the lines; default: those of policies. style: style of the
    lines.
    """
    places = _places(ax, x)
    styles = styles or looks(series)
    drawn, ends, colours = [], {}, []
    for (name, (values, half_widths)), look in zip(series.items(), styles):
        values = np.asarray(values, float)
        usual = {**dots(look), "linestyle": look.line, "label": name}
        drawn += ax.plot(places, values, **merged(usual, style, Line2D))
        intervals(
            ax, places, values, y_half=half_widths, colour=str(drawn[-1].get_color())
        )
        if published and name in published:
            ax.plot(places, published[name], **hollow(look))
        known = np.flatnonzero(np.isfinite(values))
        if len(known):
            ends[name] = (float(places[known[-1]]), float(values[known[-1]]))
            colours.append(str(drawn[-1].get_color()))
    no_flat_axis(
        ax, y=np.array([y for line in drawn for y in np.asarray(line.get_ydata())])
    )
    labels_at_ends(ax, ends, colours)
    return drawn


def _places(ax: Axes, x: Sequence[Any]) -> np.ndarray:
    if all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in x
    ):
        if all(float(value).is_integer() for value in x):
            whole_numbers(ax.xaxis)
        return np.array(x, float)
    ax.set_xticks(range(len(x)), [str(value) for value in x])
    return np.arange(len(x), dtype=float)


@literal
def points(
    ax: Axes,
    names: Sequence[str],
    x: tuple[Values, Values],
    y: tuple[Values, Values],
    published: tuple[Values, Values] | None = None,
    front: Sequence[bool] = (),
    **style: Any,
) -> list[Line2D]:
    """Draw one point per name, with both intervals as a thin cross, and its name.

    x, y: values by name, and half widths of their intervals (NaN: no interval).
    published: x and y by name, drawn as hollow marks and connected with their points.
    front: whether smaller values of x and of y are better; draws the Pareto front.
    style: style of the points. Returns one point per name.
    """
    columns = [np.asarray(column, float) for column in (*x, *y, *(published or ()))]
    drawn, marks, colours = [], {}, []
    for name, look, (at_x, half_x, at_y, half_y, *theirs) in zip(
        names, looks(names), zip(*columns)
    ):
        usual = {**dots(look), "linestyle": "none", "label": name, "zorder": 3}
        drawn += ax.plot([at_x], [at_y], **merged(usual, style, Line2D))
        intervals(ax, [at_x], [at_y], [half_x], [half_y], look.colour, caps=False)
        covers = [(at_x - half_x, at_y), (at_x + half_x, at_y), NOWHERE]
        covers += [(at_x, at_y - half_y), (at_x, at_y + half_y)]
        if theirs:
            covers += [NOWHERE, (at_x, at_y), (theirs[0], theirs[1])]
            ax.plot(*zip(*covers[-2:]), color=look.colour, lw=0.6)
            ax.plot(*zip(covers[-1]), **hollow(look))
        if np.isfinite(at_x + at_y):
            here = (at_x, at_y)
            rings = covers[-1:] if theirs and np.isfinite(theirs).all() else []
            places = ([here], [here, here, NOWHERE, *covers], rings)
            marks[name] = Mark(
                *(np.reshape(coordinates, (-1, 2)) for coordinates in places)
            )
            colours.append(str(drawn[-1].get_color()))
    no_flat_axis(ax, x=columns[0], y=columns[2])
    corners = _draw_front(ax, columns[0], columns[2], front) if front else None
    label_marks(ax, marks, colours, corners)
    return drawn


def _draw_front(
    ax: Axes, x: np.ndarray, y: np.ndarray, less: Sequence[bool]
) -> np.ndarray:
    """Draw the Pareto front to the edges; return its corners. less: as `front`."""
    signs = np.where(less, 1.0, -1.0)
    edges = [
        ends[1] if is_less else ends[0]
        for ends, is_less in zip((ax.get_xlim(), ax.get_ylim()), less)
    ]
    order = np.lexsort((y * signs[1], x * signs[0]))
    order = order[np.isfinite(x[order] + y[order])]
    corners = [NOWHERE]
    for rank, at in enumerate(order):
        if not rank or y[at] * signs[1] < corners[-1][1] * signs[1]:
            corners += [(x[at], corners[-1][1] if rank else edges[1]), (x[at], y[at])]
    path = np.array([*corners[1:], (edges[0], corners[-1][1])])
    ax.plot(*path.T, scalex=False, scaley=False, **FRONT)
    return path
