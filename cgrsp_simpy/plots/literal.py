"""Literal text in figures: `$` is not mathtext, control characters are escaped."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar
from weakref import WeakSet

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.category import StrCategoryFormatter
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FuncFormatter

from cgrsp_simpy.base.files import within
from cgrsp_simpy.base.table import visible

P = ParamSpec("P")
T = TypeVar("T")
# of ticks that bear texts
NAMES = (FixedFormatter, FuncFormatter, StrCategoryFormatter)
MATH: WeakSet[Text] = WeakSet()
# of a plot that makes its texts literal at its end
_INSIDE = ContextVar("inside", default=False)


def math(text: Text) -> None:
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
    """Make a figure's texts literal, except texts marked by `math` and numeric ticks.

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
