"""Labels right of the Axes, and placement of labels when a figure is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox, ScaledTranslation
from scipy.optimize import isotonic_regression

from cgrsp_simpy.plots.literal import literal
from cgrsp_simpy.plots.style import ink

ASIDE = 8 / 72  # inches between the Axes and the labels


class AtDrawing(Artist):
    """Invisible artist that calls a function before the Axes are drawn.

    arrange: function of the renderer. room: function of the renderer that returns the
    space that a layout keeps free.
    """

    def __init__(
        self,
        ax: Axes,
        arrange: Callable[[RendererBase], None],
        room: Callable[[RendererBase], Bbox] | None = None,
    ) -> None:
        super().__init__()
        self._arrange, self._room = arrange, room
        self.set_zorder(-1000)
        self.set_in_layout(room is not None)
        ax.add_artist(self)
        self.set_clip_on(False)  # a layout ignores artists that are clipped to the Axes

    def draw(self, renderer: RendererBase) -> None:
        self._arrange(renderer)

    def get_tightbbox(self, renderer: RendererBase | None = None) -> Bbox | None:
        return self._room(renderer) if self._room and renderer else None


def spread(wanted: np.ndarray, gap: float, low: float, high: float) -> np.ndarray:
    """Return positions at least `gap` apart, closest by least squares to those wanted.

    The positions are between low and high if they fit.
    """
    # among equal ones, the first is the highest
    order = np.lexsort((-np.arange(len(wanted)), wanted))
    steps = gap * np.arange(len(wanted))
    moved = isotonic_regression(wanted[order] - steps).x
    placed = np.empty(len(wanted))
    placed[order] = np.clip(moved, low, max(low, high - steps[-1])) + steps
    return placed


@literal
def labels_at_ends(
    ax: Axes, ends: Mapping[str, tuple[float, float]], colours: Sequence[str]
) -> list[Annotation]:
    """Put names to the right of the Axes, level with the ends of lines if possible.

    ends: name -> last point of its line, in data coordinates. colours, result: in the
    order of the names.
    """
    right = ax.get_yaxis_transform() + ScaledTranslation(
        ASIDE, 0, ax.figure.dpi_scale_trans
    )
    leader = {"shrinkB": 3, "relpos": (0, 0.5)}
    labels = [
        label(
            ax,
            name,
            end,
            colour,
            leader,
            xytext=(1.0, end[1]),
            textcoords=right,
            annotation_clip=False,
        )
        for (name, end), colour in zip(ends.items(), colours)
    ]

    def arrange(renderer: RendererBase) -> None:
        height = max(extent(text, renderer)[1] for text in labels)
        box = ax.get_window_extent(renderer)
        wanted = ax.transData.transform([text.xy for text in labels])[:, 1]
        placed = spread(wanted, 1.05 * height, box.y0 + height / 2, box.y1 - height / 2)
        for text, y in zip(
            labels, ax.transData.inverted().transform([(0.0, y) for y in placed])[:, 1]
        ):
            text.set_position((1.0, y))

    def room(renderer: RendererBase) -> Bbox:
        box = ax.get_window_extent(renderer)
        width = max(extent(text, renderer)[0] for text in labels)
        return Bbox.from_extents(
            box.x1, box.y0, box.x1 + ASIDE * ax.figure.dpi + width, box.y1
        )

    if labels:
        AtDrawing(ax, arrange, room)
    return labels


def label(
    ax: Axes,
    name: str,
    at: tuple[float, float],
    colour: str,
    leader: Mapping[str, Any],
    **place: Any,
) -> Annotation:
    """Add a name in a readable colour, with a thin line to its mark.

    leader, place: keywords of the line and of the name, as in `annotate`.
    """
    joined = {"arrowstyle": "-", "lw": 0.6, "shrinkA": 0, "color": colour, **leader}
    own: dict[str, Any] = {"va": "center", "color": ink(colour), "fontsize": "small"}
    made = ax.annotate(name, at, arrowprops=joined, **own, **place)
    made.set_in_layout(False)
    return made


def extent(label: Annotation, renderer: RendererBase) -> tuple[float, float]:
    """Return width and height of a label's text in pixels, without its line."""
    box = Text.get_window_extent(label, renderer)
    return box.width, box.height
