"""Parts of plots: literal text, marks, intervals, ticks, legends, panel letters.

In literal text `$` does not start mathtext, and control characters are escaped.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextvars import ContextVar
from functools import wraps
from string import ascii_lowercase
from typing import Any, ParamSpec, TypeVar
from weakref import WeakSet

import numpy as np
from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.category import StrCategoryFormatter
from matplotlib.cbook import normalize_kwargs
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN, CARETLEFT, CARETRIGHT, CARETUP, MarkerStyle
from matplotlib.patches import Patch, Rectangle
from matplotlib.text import Text
from matplotlib.textpath import TextPath
from matplotlib.ticker import FixedFormatter, FuncFormatter, MaxNLocator
from matplotlib.transforms import IdentityTransform

from cgrsp_simpy.base.files import within
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.table import visible
from cgrsp_simpy.plots.style import Look, ink_on

P = ParamSpec("P")
T = TypeVar("T")
# formatters of ticks with texts
NAMES = (FixedFormatter, FuncFormatter, StrCategoryFormatter)
MATH: WeakSet[Text] = WeakSet()
# whether an enclosing plot will make its texts literal
_INSIDE = ContextVar("inside", default=False)


def as_mathtext(text: Text) -> None:
    """Mark a text as mathtext."""
    MATH.add(text)


def literal(plot: Callable[P, T]) -> Callable[P, T]:
    """Decorate a plot so that its texts are literal; other texts do not change."""

    @wraps(plot)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> T:
        if _INSIDE.get():
            return plot(*args, **kwargs)
        axes = next(
            (arg for arg in (*args, *kwargs.values()) if isinstance(arg, Axes)), None
        )
        before = _texts(axes.figure) if axes else {}
        result = literally(plot, *args, **kwargs)
        if axes is None and isinstance(result, Axes):
            axes = result
        if axes:
            make_literal(axes.figure, before)
        return result

    return drawn


def literally(draw: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that draws on a figure whose texts are made literal later."""
    with within(_INSIDE, True):
        return draw(*args, **kwargs)


def _texts(figure: Artist) -> dict[Hashable, str]:
    """Return the texts of a figure, and the formatters of its ticks."""
    texts: dict[Hashable, str] = {
        text: text.get_text() for text in figure.findobj(Text)
    }
    return texts | {axis.get_major_formatter(): "" for axis in figure.findobj(Axis)}


def make_literal(figure: Artist, before: Mapping[Hashable, str] = {}) -> None:
    """Make a figure's texts literal, except `as_mathtext` ones and numeric ticks.

    before: texts of the figure and formatters of its ticks that are left unchanged.
    """
    kept = set[Text](MATH)
    for axis in figure.findobj(Axis):
        assert isinstance(axis, Axis)
        formatter, ticks = axis.get_major_formatter(), axis.get_major_ticks()
        if isinstance(formatter, NAMES) and formatter not in before:
            names = [tick.label1.get_text() for tick in ticks]
            shown = [visible(name, "\n") for name in names]
            if shown != names:
                axis.set_ticklabels(shown)
        else:
            kept.update(label for tick in ticks for label in (tick.label1, tick.label2))
        for tick in axis.get_minor_ticks():
            kept.update((tick.label1, tick.label2))
        kept.add(axis.offsetText)
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if text not in kept and before.get(text) != text.get_text():
            text.set_parse_math(False)
            text.set_text(visible(text.get_text(), "\n"))


# ---- marks and intervals ----

Values = Sequence[float] | np.ndarray  # numbers to draw
# markers of x and y, to lower and to higher pixels
CARETS = tuple(
    tuple(map(MarkerStyle, pair))
    for pair in ((CARETLEFT, CARETRIGHT), (CARETDOWN, CARETUP))
)
RING = 1.6  # size of a hollow mark relative to ours
# reference lines
FAINT: dict[str, Any] = {"color": "0.55", "linewidth": 0.8, "zorder": 0}


def merged(
    usual: Mapping[str, Any], style: Mapping[str, Any], kind: type[Artist]
) -> dict[str, Any]:
    """Merge a caller's style keywords, short or long names, into the defaults."""
    return {**usual, **normalize_kwargs(dict(style), kind)}


def three_digits(value: float) -> str:
    """Format a value to about three digits."""
    if value == 0 or math.isnan(value):
        return "no value" if value else "0"
    return f"{value:.{decimals(value)}f}"


def decimals(value: float) -> int:
    """Return the number of decimals to show: 2, 1 from 10 on, 0 from 100 on."""
    return sum(abs(value) < limit for limit in (10, 100))


def plus_minus(value: float, half_width: float) -> str:
    """Format a mean and its half width to about three digits; ∞ if infinite."""
    if not math.isfinite(value):
        return "∞"
    digits = decimals(max(abs(value), half_width))
    return f"{value:,.{digits}f} ± {half_width:,.{digits}f}"


def dots(look: Look) -> dict[str, Any]:
    """Return the style of a policy's marks; stars are larger, to look equally large."""
    size = rcParams["lines.markersize"] * (1.6 if look.marker == "*" else 1.0)
    return {"color": look.colour, "marker": look.marker, "markersize": size}


def hollow(look: Look | None = None) -> dict[str, Any]:
    """Return the style of a hollow mark for `plot`, for a published value.

    look: the policy's look, for a ring around our mark; default: a black diamond.
    """
    usual = dots(look or Look("black", "D", ""))
    return {
        **usual,
        "markersize": usual["markersize"] * (RING if look else 1.0),
        "linestyle": "none",
        "markerfacecolor": "none",
        "zorder": 4,
    }


def key(**style: Any) -> Line2D:
    """Return a legend handle for a line or mark with a style of `plot`."""
    return Line2D([], [], **style)


def titled(ax: Axes, title: str, size: str = "medium", **settings: Any) -> None:
    """Put a title at the left of the Axes; settings: others, as in `Axes.set`."""
    ax.set_title(title, loc="left", fontsize=size)
    ax.set(**settings)


def intervals(
    ax: Axes,
    x: Values,
    y: Values,
    x_half: Values | None = None,
    y_half: Values | None = None,
    colour: str = "0.2",
    caps: bool = True,
) -> None:
    """Draw intervals around points; at the edge of the Axes they end in an arrowhead.

    x, y: the points, in data coordinates. x_half, y_half: half widths along each axis;
    NaN or None for no interval.
    """
    thin = 0.8 * rcParams["lines.linewidth"]
    caps_pt = 0.5 * rcParams["lines.markersize"] if caps else 0.0
    # above bars, below lines
    ax.errorbar(
        x,
        y,
        y_half,
        x_half,
        ecolor=colour,
        elinewidth=thin,
        capthick=thin,
        fmt="none",
        capsize=caps_pt,
        zorder=1.9,
    )
    halves = (
        np.nan_to_num(np.zeros(len(x)) if half is None else np.asarray(half, float))
        for half in (x_half, y_half)
    )
    ax.add_artist(
        _Arrowheads(np.column_stack([x, y]), np.column_stack(list(halves)), colour)
    )


def on_dark_bars(
    ax: Axes, bars: Sequence[Rectangle], halves: Values, upright: bool = False
) -> None:
    """Redraw in white the inner part of intervals on dark bars.

    bars: bars that start at 0. halves: half width per bar; NaN for no interval.
    upright: whether the bars are vertical.
    """
    for bar, half in zip(bars, np.asarray(halves, float)):
        value = bar.get_height() if upright else bar.get_width()
        if ink_on(to_hex(bar.get_facecolor())) == "black" or not (value and half > 0):
            continue
        place = (
            bar.get_x() + bar.get_width() / 2
            if upright
            else bar.get_y() + bar.get_height() / 2
        )
        ends = [value - math.copysign(min(half, abs(value)), value), value]
        level = [place, place]
        thin = 0.8 * rcParams["lines.linewidth"]
        line: dict[str, Any] = {"color": "white", "lw": thin, "solid_capstyle": "butt"}
        if half < abs(value):
            size = rcParams["lines.markersize"]
            line |= {"markevery": [0], "markersize": size, "markeredgewidth": thin}
            line["marker"] = "_" if upright else "|"
        ax.plot(*((level, ends) if upright else (ends, level)), **line, zorder=1.92)


class _Arrowheads(Artist):
    """Arrowheads of intervals that leave the Axes, or reach 0 on log axes.

    points, halves: x and y, shape (n, 2).
    """

    def __init__(self, points: np.ndarray, halves: np.ndarray, colour: str) -> None:
        super().__init__()
        self.points, self.halves, self.colour = points.astype(float), halves, colour
        self.set_zorder(1.95)
        self.set_in_layout(False)

    def draw(self, renderer: RendererBase) -> None:
        for place, marker in self.places():
            head = Line2D(
                *place[:, None],
                marker=marker,
                transform=IdentityTransform(),
                color=self.colour,
                markeredgewidth=0,
                markersize=rcParams["lines.markersize"],
            )
            assert self.axes is not None
            head.set_figure(self.axes.figure)
            head.draw(renderer)

    def places(self) -> list[tuple[np.ndarray, MarkerStyle]]:
        """Return the positions of the tips, in pixels, and the markers."""
        ax, tips = self.axes, []
        assert ax is not None
        limits = np.sort(np.array([ax.get_xlim(), ax.get_ylim()]), axis=1)
        seen = np.all(
            (limits[:, 0] <= self.points) & (self.points <= limits[:, 1]), axis=1
        )
        for point, halves in zip(self.points[seen], self.halves[seen]):
            for axis, end in np.ndindex(2, 2):
                if abs(point[axis] - limits[axis, end]) < halves[axis]:
                    tip = np.where(np.arange(2) == axis, limits[axis, end], point)
                    start_px, tip_px = ax.transData.transform([point, tip])
                    tips.append(
                        (tip_px, CARETS[axis][int(tip_px[axis] > start_px[axis])])
                    )
        return tips


def whole_numbers(axis: Axis) -> None:
    """Use ticks at whole numbers only."""
    axis.set_major_locator(
        MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10], min_n_ticks=3)
    )


def few_ticks(axis: Axis) -> None:
    """Use three to five ticks at round numbers."""
    axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3))


def name_rows(ax: Axes, names: Sequence[str], together: int = 1) -> None:
    """Put names at the left, from the top, with a line after every `together` rows."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    for row in range(together, len(names), together):
        ax.axhline(row - 0.5, color="0.88", linewidth=0.6, zorder=0)


def letters(canvas: Figure) -> None:
    """Put (a), (b), ... before the titles of panels or of their legends.

    A single panel, or panels that already have letters, are left unchanged.
    """
    panels = [ax for ax in canvas.axes if ax.axison]
    titles = [ax.get_title(loc="left") for ax in panels]
    if len(panels) < 2 or any(title.startswith("(") for title in titles):
        return
    for letter, ax, title in zip(ascii_lowercase, panels, titles):
        legend = ax.get_legend()
        head = legend.get_title() if legend is not None else None
        if not title and head is not None and head.get_text():
            head.set_text(f"({letter}) {head.get_text()}")
        elif not title:
            ax.set_title(f"({letter})", loc="left", fontsize="medium")
        for text in ax.get_children() if title else ():
            if isinstance(text, Text) and text.get_text() == title:
                text.set_text(f"({letter}) {title}")


class Several(Line2D):
    """Legend entry for marks with the same meaning but different looks.

    marks: the marks as drawn; only the first few are shown.
    """

    def __init__(self, label: str, marks: Sequence[Line2D]) -> None:
        super().__init__([], [], label=label)
        self.marks = list(marks)[:3]


class _SideBySide(HandlerTuple):
    """Legend handler that draws the marks of `Several`."""

    def create_artists(self, legend: Legend, several: Any, *place: Any) -> Any:
        return super().create_artists(legend, several.marks, *place)


def _explained(
    handles: Sequence[Line2D | Patch],
    title: str,
    room: float,
    most: int,
    handlelength: float,
) -> dict[str, Any]:
    """Return legend keywords with up to `most` columns that fit in `room` points."""
    several = max(
        (len(handle.marks) for handle in handles if isinstance(handle, Several)),
        default=0,
    )
    size = FontProperties(size="small").get_size_in_points()
    widths = [
        width(str(handle.get_label()), "small") + size * (handlelength + 2.2)
        for handle in handles
    ]
    fitting = (
        columns
        for columns in range(min(most, len(handles)), 1, -1)
        if summed(max(group) for group in np.array_split(widths, columns)) <= room
    )
    return {
        "handles": list(handles),
        "handlelength": max(handlelength, 1.4 * several),
        "handler_map": {
            **Legend.get_default_handler_map(),
            Several: _SideBySide(None, pad=0),
        },
        "ncols": next(fitting, 1),
        "title": title,
        "alignment": "left",
        "frameon": False,
        "fontsize": "small",
        "title_fontsize": "small",
        "columnspacing": 1.4,
    }


def say_no_jobs(ax: Axes) -> None:
    """Write in the middle of empty Axes that there are no jobs."""
    ax.text(0.5, 0.5, "no jobs", transform=ax.transAxes, ha="center", va="center")


def no_flat_axis(ax: Axes, **limits: np.ndarray) -> None:
    """Set the limits of the x or y axis to about 0 to 1 if all its values are 0."""
    for name, values in limits.items():
        if not np.any(np.nan_to_num(values)):
            getattr(ax, f"set_{name}lim")(-0.05, 1)


@literal
def legend_above(ax: Axes, handles: Sequence[Patch | Line2D], title: str = "") -> None:
    """Draw a legend above the Axes, in columns that fit, or only a title."""
    room = ax.get_window_extent().width / ax.figure.dpi * 72
    title = _wrapped(title, room, "medium")
    if not handles:
        ax.set_title(title, loc="left", fontsize="medium")
        return
    place: dict[str, Any] = {
        "loc": "lower left",
        "bbox_to_anchor": (0, 1.0),
        "borderaxespad": 0.2,
    }
    keywords = _explained(handles, title, room, len(handles), 1.6)
    ax.legend(**{**keywords, **place, "title_fontsize": "medium"})


def legend_outside(
    canvas: Figure,
    handles: Sequence[Patch | Line2D],
    note: str = "",
    columns: int = 4,
    handlelength: float = 2.0,
    **style: Any,
) -> None:
    """Draw a legend above all panels, titled with a note. columns: maximum number."""
    room = 72 * canvas.get_size_inches()[0] - 12
    note = "\n".join(_wrapped(line, room, "small") for line in note.splitlines())
    keywords = _explained(handles, note, room, columns, handlelength)
    canvas.legend(**{**keywords, "loc": "outside upper left", **style})


def beside_point(
    ax: Axes, text: str, at: Sequence[float], by: Sequence[float], **style: Any
) -> None:
    """Write a text next to a point. by: offset to the right and up, in points."""
    place: dict[str, Any] = {
        "textcoords": "offset points",
        "fontsize": "small",
        **style,
    }
    ax.annotate(text, (at[0], at[1]), (by[0], by[1]), **place)


def _wrapped(text: str, room: float, size: str) -> str:
    lines = math.ceil(width(text, size) / room)
    return (
        text if lines < 2 else textwrap.fill(text, math.ceil(1.1 * len(text) / lines))
    )


def width(text: str, size: str, *, mathtext: bool = False) -> float:
    """Return the width of a text in points; `$` is literal unless mathtext is set."""
    font = FontProperties(size=size)
    text = text if mathtext else visible(text, "\n").replace("$", r"\$")
    return (
        float(
            TextPath((0, 0), text, size=font.get_size_in_points(), prop=font)
            .get_extents()
            .width
        )
        if text
        else 0.0
    )
