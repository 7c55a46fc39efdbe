"""Text in figures is drawn as it is: names may come from files, where a `$` is no mathtext, and
control characters are escaped.
"""

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

from cgrsp_simpy.model.files import within
from cgrsp_simpy.model.table import visible

P = ParamSpec("P")
T = TypeVar("T")
NAMES = (FixedFormatter, FuncFormatter, StrCategoryFormatter)  # of ticks that bear texts
MATH: WeakSet[Text] = WeakSet()
_INSIDE = ContextVar("inside", default=False)  # of a plot that makes its texts literal at its end


def math(text: Text) -> None:
    """Let a text, one of the package's own, be mathtext."""
    MATH.add(text)


def literal(plot: Callable[P, T]) -> Callable[P, T]:
    """Decorate a plot so that its texts are drawn as they are; those of others on its Axes stay."""

    @wraps(plot)
    def drawn(*given: P.args, **named: P.kwargs) -> T:
        if _INSIDE.get():
            return plot(*given, **named)
        axes = [each for each in (*given, *named.values()) if isinstance(each, Axes)]
        before = [_texts(ax.figure) for ax in axes]
        with within(_INSIDE, True):
            result = plot(*given, **named)
        if axes:
            make_literal(axes[0].figure, before[0])
        elif isinstance(result, Axes):
            make_literal(result.figure)
        return result

    return drawn


def literally(draw: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """What a function draws on a figure whose texts are made literal afterwards."""
    with within(_INSIDE, True):
        return draw(*given, **named)


def _texts(figure: Artist) -> dict[Hashable, str]:
    """The texts of a figure, and the formatters of its ticks."""
    texts: dict[Hashable, str] = {text: text.get_text() for text in figure.findobj(Text)}
    return texts | {axis.get_major_formatter(): "" for axis in figure.findobj(Axis)}


def make_literal(figure: Artist, before: Mapping[Hashable, str] = {}) -> None:
    """Draw the texts of a figure as they are, except mathtext of the package's own, ticks of
    numbers, and what has not changed.

    before: what there was.
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
