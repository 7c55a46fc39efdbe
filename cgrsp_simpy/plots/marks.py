"""Bars, lines and points with intervals from plain data: what the figures of studies, and of the thesis, are built from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from cgrsp_simpy.plots.beside import Mark, label_marks
from cgrsp_simpy.plots.labels import AtDrawing, labels_at_ends
from cgrsp_simpy.plots.parts import Values, dots, hollow, intervals, legend_above, merged, no_flat_axis, told, whole_numbers
from cgrsp_simpy.plots.style import Look, looks

__all__ = ["bars", "hollow", "intervals", "label_marks", "labels_at_ends", "legend_above", "lines", "points"]

NOWHERE = (np.nan, np.nan)  # breaks a line
FRONT: dict[str, Any] = {"color": "0.55", "lw": 1.0, "zorder": 1}


def bars(
    ax: Axes,
    names: Sequence[str],
    values: Values,
    half_widths: Values,
    published: Values | None = None,
    colours: Sequence[str] | None = None,
    **style: Any,
) -> list[Rectangle]:
    """A horizontal bar a name, the first at the top, with its interval and, where there is room, its value in figures.

    half_widths: of the intervals; NaN for none. published: in the order of the names, drawn as hollow marks; NaN for none.
    colours: those of policies unless told. style: of the bars.
    """
    values, half_widths = np.asarray(values, float), np.asarray(half_widths, float)
    rows = np.arange(len(names))
    own = {"height": 0.7, "color": colours or [look.colour for look in looks(names)]}
    drawn = ax.barh(rows, np.nan_to_num(values), **merged(own, style, Patch))
    intervals(ax, values, rows, x_half=half_widths)
    ends = np.fmax(values, values + half_widths)
    if published is not None:
        ax.plot(published, rows, label="published", clip_on=False, **hollow())
        ends = np.fmax(ends, published)
    ax.set_yticks(rows, names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.margins(x=0.14)
    if not np.any(ends > 0):
        ax.set_xlim(0, 1)
    _values_beside(ax, values, np.nan_to_num(ends))
    return list(drawn)


def _values_beside(ax: Axes, values: np.ndarray, ends: np.ndarray) -> None:
    """Values in figures to the right of their bars, if the rows are as high as the text."""
    aside = 3 + 0.8 * rcParams["lines.markersize"]
    place: dict[str, Any] = {"xytext": (aside, 0), "textcoords": "offset points", "va": "center", "fontsize": "small"}
    texts = [ax.annotate(told(value), (max(end, 0.0), row), **place) for row, (value, end) in enumerate(zip(values, ends))]

    def arrange(renderer: RendererBase) -> None:
        height = ax.get_window_extent(renderer).height / len(texts)
        for text in texts:
            text.set_visible(True)  # what is hidden has no extent
            text.set_visible(text.get_window_extent(renderer).height <= height)

    AtDrawing(ax, arrange)


def lines(
    ax: Axes,
    x: Sequence[Any],
    series: Mapping[str, tuple[Values, Values]],
    published: Mapping[str, Values] | None = None,
    styles: Sequence[Look] | None = None,
    **style: Any,
) -> list[Line2D]:
    """A line a name with intervals, and the name at its end.

    x: numbers, or texts that are put side by side. series: name -> values and half widths of their intervals, by x; NaN for
    none. published: name -> values, drawn as hollow marks. styles: looks of the lines, those of policies unless told.
    style: of the lines.
    """
    places = _places(ax, x)
    styles = styles or looks(series)
    drawn, ends, colours = [], {}, []
    for (name, (values, half_widths)), look in zip(series.items(), styles):
        values = np.asarray(values, float)
        own = {**dots(look), "linestyle": look.line, "label": name}
        drawn += ax.plot(places, values, **merged(own, style, Line2D))
        intervals(ax, places, values, y_half=half_widths, colour=str(drawn[-1].get_color()))
        if published and name in published:
            ax.plot(places, published[name], **hollow(look))
        known = np.flatnonzero(np.isfinite(values))
        if len(known):
            ends[name] = (float(places[known[-1]]), float(values[known[-1]]))
            colours.append(str(drawn[-1].get_color()))
    no_flat_axis(ax, y=np.array([y for line in drawn for y in np.asarray(line.get_ydata())]))
    labels_at_ends(ax, ends, colours)
    return drawn


def _places(ax: Axes, x: Sequence[Any]) -> np.ndarray:
    """Where the values of x lie on the axis; texts get a tick each."""
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in x):
        if all(float(value).is_integer() for value in x):
            whole_numbers(ax.xaxis)
        return np.array(x, float)
    ax.set_xticks(range(len(x)), [str(value) for value in x])
    return np.arange(len(x), dtype=float)


def points(
    ax: Axes,
    names: Sequence[str],
    x: tuple[Values, Values],
    y: tuple[Values, Values],
    published: tuple[Values, Values] | None = None,
    front: bool = False,
    **style: Any,
) -> list[Line2D]:
    """A point a name with both intervals as a thin cross, and the name beside it.

    x, y: values and half widths of their intervals; NaN for none. published: x and y, drawn as hollow marks that a thin line
    joins to their points. front: whether to bound what some point is as good as, where less is better. style: of the points.
    """
    columns = [np.asarray(column, float) for column in (*x, *y, *(published or ()))]
    drawn, marks, colours = [], {}, []
    for name, look, (at_x, half_x, at_y, half_y, *theirs) in zip(names, looks(names), zip(*columns)):
        own = {**dots(look), "linestyle": "none", "label": name, "zorder": 3}
        drawn += ax.plot([at_x], [at_y], **merged(own, style, Line2D))
        intervals(ax, [at_x], [at_y], [half_x], [half_y], look.colour, caps=False)
        covers = [(at_x - half_x, at_y), (at_x + half_x, at_y), NOWHERE, (at_x, at_y - half_y), (at_x, at_y + half_y)]
        if theirs:
            covers += [NOWHERE, (at_x, at_y), (theirs[0], theirs[1])]
            ax.plot(*zip(*covers[-2:]), color=look.colour, lw=0.6)
            ax.plot(*zip(covers[-1]), **hollow(look))
        if np.isfinite(at_x + at_y):
            marks[name] = Mark(np.array([(at_x, at_y)]), np.array([(at_x, at_y), (at_x, at_y), NOWHERE, *covers]))
            colours.append(str(drawn[-1].get_color()))
    no_flat_axis(ax, x=columns[0], y=columns[2])
    corners = _draw_front(ax, columns[0], columns[2]) if front else None
    label_marks(ax, marks, colours, corners)
    return drawn


def _draw_front(ax: Axes, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The step line that bounds what some point is as good as, on to the edges of the Axes; its corners."""
    order = np.lexsort((y, x))
    order = order[np.isfinite(x[order] + y[order])]
    corners = [NOWHERE]
    for rank, at in enumerate(order):
        if not rank or y[at] < corners[-1][1]:
            corners += [(x[at], corners[-1][1] if rank else ax.get_ylim()[1]), (x[at], y[at])]
    path = np.array([*corners[1:], (ax.get_xlim()[1], corners[-1][1])])
    ax.plot(*path.T, scalex=False, scaley=False, **FRONT)
    return path
