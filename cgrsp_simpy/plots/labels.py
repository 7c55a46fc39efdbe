"""Labels right of the Axes or next to marks, placed when a figure is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox, ScaledTranslation
from scipy.optimize import isotonic_regression

from cgrsp_simpy.plots.parts import literal
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
    usual: dict[str, Any] = {"va": "center", "color": ink(colour), "fontsize": "small"}
    annotation = ax.annotate(name, at, arrowprops=joined, **usual, **place)
    annotation.set_in_layout(False)
    return annotation


def extent(label: Annotation, renderer: RendererBase) -> tuple[float, float]:
    """Return width and height of a label's text in pixels, without its line."""
    box = Text.get_window_extent(label, renderer)
    return box.width, box.height


# ---- labels next to marks ----

CORNERS = np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)], float)
SIDES = np.array([(1, 0), (-1, 0), (0, 1), (0, -1)], float)
DIRECTIONS = np.concatenate([CORNERS, SIDES, CORNERS * (1, 0.5), CORNERS * (0.5, 1)])
# from an anchor to its label, in label heights
DISTANCES = (0.35, 0.7, 1.2, 2.0, 3.0, 4.5, 6.5)
JOINED = 1.0  # least distance with a line that joins the two
STEP = 0.3  # label heights between the sample points of a line
# Costs of a position: per height of distance to the anchor; per covered point of its
# own mark, of another mark, or near to it; for lying on a label, or outside the Axes;
# per height by which another mark is nearer than CLEAR; per rank of the anchor.
DISTANT = 1.5
ON_OWN = 8.0
ON_OTHER = 10.0
BY_OTHER = 0.3
ON_LABEL = 300.0
OUTSIDE = 500.0
CROWDED = 15.0
RANK = 0.1
CLEAR = 1.2
RADIUS = 0.8  # radius of a hollow mark, in sizes of a mark
ANGLES = np.linspace(0, 2 * np.pi, 16)
CIRCLE = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
RIM = np.array([-0.3, -0.1, 0.3, 0.1])  # margins around a label, in heights
# shares of the way from an anchor to the centre of its label
LEADER_AT = np.linspace(0.1, 0.6, 6)


class Mark(NamedTuple):
    """A mark to label; arrays of shape (n, 2) in data coordinates.

    anchors: possible positions of the label, best first. covers: path of the mark,
    interrupted at NaN. rings: centres of marks as large as hollow marks.
    """

    anchors: np.ndarray
    covers: np.ndarray
    rings: np.ndarray = np.empty((0, 2))


@literal
def label_marks(
    ax: Axes,
    marks: Mapping[str, Mark],
    colours: Sequence[str],
    obstacles: np.ndarray | None = None,
) -> list[Annotation]:
    """Put a name next to each mark, away from marks and other names.

    A thin line joins a distant name to its mark. marks: name -> mark. colours, result:
    in the order of the marks. obstacles: a further path to avoid, as in Mark.covers.
    """
    place: dict[str, Any] = {
        "xytext": (0, 0),
        "textcoords": "offset pixels",
        "ha": "center",
    }
    labels = [
        label(ax, name, tuple(mark.anchors[0]), colour, {"shrinkB": 2}, **place)
        for (name, mark), colour in zip(marks.items(), colours)
    ]
    paths = [mark.covers for mark in marks.values()] + (
        [] if obstacles is None else [obstacles]
    )

    def arrange(renderer: RendererBase) -> None:
        step = STEP * extent(labels[0], renderer)[1]
        covered = [_dense(ax.transData.transform(path), step) for path in paths]
        radius = renderer.points_to_pixels(RADIUS * rcParams["lines.markersize"])
        for number, mark in enumerate(marks.values()):
            around = ax.transData.transform(mark.rings)[:, None] + radius * CIRCLE
            covered[number] = np.concatenate([covered[number], around.reshape(-1, 2)])
        taken = np.empty((0, 4))
        for number, (text, mark) in enumerate(zip(labels, marks.values())):
            others = np.concatenate(
                [points for at, points in enumerate(covered) if at != number]
                or [np.empty((0, 2))]
            )
            anchors = ax.transData.transform(mark.anchors)
            places = _Places(anchors, *extent(text, renderer))
            cost = places.cost + CROWDED * places.crowding(anchors, others)
            cost += ON_OWN * places.inside(covered[number], 0.2)
            cost += ON_OTHER * places.inside(others, 0.3) + BY_OTHER * places.inside(
                others, 1.0
            )
            cost += ON_LABEL * (
                places.overlapping(taken) + places.struck(anchors, taken)
            )
            cost += OUTSIDE * places.sticking_out(ax.get_window_extent(renderer))
            best = int(np.argmin(cost))
            text.xy = tuple(mark.anchors[places.anchor[best]])
            text.set_position(tuple(places.offset[best]))
            assert text.arrow_patch is not None
            text.arrow_patch.set_visible(bool(places.distance[best] >= JOINED))
            covered[number] = np.concatenate(
                [covered[number], places.leaders(anchors)[best]]
            )
            taken = np.vstack([taken, places.boxes[best] + places.height * RIM])

    if labels:
        AtDrawing(ax, arrange)
    return labels


class _Places:
    """Candidate positions of a label around anchors, with costs; arrays by position.

    anchor: index of the anchor. distance: distance from it, in text heights. offset:
    from it to the label's centre, pixels. boxes: left, low, right and high edge. cost:
    cost of the distance and of the anchor's rank.
    """

    def __init__(self, anchors: np.ndarray, width: float, height: float) -> None:
        size, steps = np.array([width, height]), len(DISTANCES) * len(DIRECTIONS)
        self.height = height
        self.anchor = np.repeat(np.arange(len(anchors)), steps)
        self.distance = np.tile(np.repeat(DISTANCES, len(DIRECTIONS)), len(anchors))
        directions = np.tile(DIRECTIONS, (len(anchors) * len(DISTANCES), 1))
        self.offset = directions * (size / 2 + height * self.distance[:, None])
        centre = anchors[self.anchor] + self.offset
        self.boxes = np.hstack([centre - size / 2, centre + size / 2])
        self.cost = DISTANT * self.distance + RANK * self.anchor

    def crowding(self, anchors: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return by how much other marks are closer than CLEAR, in text heights."""
        if not len(others) or len(anchors) == 1:
            return np.zeros(len(self.anchor))
        nearest = np.array([np.hypot(*(others - anchor).T).min() for anchor in anchors])
        return np.asarray(np.clip(CLEAR - nearest / self.height, 0, None)[self.anchor])

    def inside(self, points: np.ndarray, pad: float) -> np.ndarray:
        """Count the points in each box, enlarged by `pad` text heights."""
        x, y = points.T
        low_x, low_y, high_x, high_y = (edge[:, None] for edge in self.boxes.T)
        pad *= self.height
        return np.asarray(
            (
                (x > low_x - pad)
                & (x < high_x + pad)
                & (y > low_y - pad)
                & (y < high_y + pad)
            ).sum(axis=1)
        )

    def overlapping(self, taken: np.ndarray) -> np.ndarray:
        """Count the placed boxes that each box overlaps."""
        low, high = self.boxes[:, None, :2], self.boxes[:, None, 2:]
        return np.asarray(
            ((low < taken[:, 2:]) & (taken[:, :2] < high)).all(axis=2).sum(axis=1)
        )

    def leaders(self, anchors: np.ndarray) -> np.ndarray:
        """Return points along the lines from labels to anchors."""
        return np.asarray(
            anchors[self.anchor][:, None] + self.offset[:, None] * LEADER_AT[:, None]
        )

    def struck(self, anchors: np.ndarray, taken: np.ndarray) -> np.ndarray:
        """Count the placed boxes that each line from label to anchor crosses."""
        points = self.leaders(anchors)[:, :, None]
        within = np.all((taken[:, :2] < points) & (points < taken[:, 2:]), axis=3)
        return np.asarray(np.any(within, axis=1).sum(axis=1))

    def sticking_out(self, frame: Bbox) -> np.ndarray:
        """Return whether each box extends beyond the frame, less a margin."""
        rim = 0.2 * self.height
        low, high = (frame.x0 + rim, frame.y0 + rim), (frame.x1 - rim, frame.y1 - rim)
        return np.asarray(
            ((self.boxes[:, :2] < low) | (self.boxes[:, 2:] > high)).any(axis=1)
        )


def _dense(path: np.ndarray, step: float) -> np.ndarray:
    start, move = path[:-1], np.diff(path, axis=0)
    whole = np.isfinite(move).all(axis=1)
    start, move = start[whole], move[whole]
    counts = np.maximum(1, np.ceil(np.hypot(*move.T) / step)).astype(int)
    which = np.repeat(np.arange(len(counts)), counts)
    share = (
        np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    ) / counts[which]
    points = np.concatenate(
        [
            start[which] + share[:, None] * move[which],
            path[np.isfinite(path).all(axis=1)],
        ]
    )
    return np.asarray(np.unique(np.round(points / step), axis=0) * step)
