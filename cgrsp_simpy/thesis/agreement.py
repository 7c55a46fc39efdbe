"""The thesis's printed figures beside the reproduced ones, all in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cgrsp_simpy.model.checks import require
from cgrsp_simpy.model.table import grouped
from cgrsp_simpy.plots.beside import Mark, label_marks
from cgrsp_simpy.plots.parts import Several, intervals, legend_above, merged, say
from cgrsp_simpy.plots.style import MISSED, axes

# what a cell measures, and its marker
KINDS = {"wait": "o", "miss": "s", "tardiness": "^", "cost": "D"}
UNITS = {
    "wait": "wait (min)",
    "miss": "misses (%)",
    "tardiness": "tardiness (min)",
    "cost": "cost (USD)",
}
BY_CAPTION = {"5.6": "miss"}  # tables whose columns are policies and whose caption names the figure
VERDICTS = {"agrees": "#7d9bb8", "differs": MISSED}
PLAIN: dict[str, Any] = {"linestyle": "none", "markeredgewidth": 0, "markersize": 4.0}
LINEAR = 0.1  # below it the scales are linear, to hold the zeros


class Cell(Protocol):
    """A printed figure beside ours, as the thesis's report judges it."""

    @property
    def table(self) -> str:
        """The number of its table."""

    @property
    def row(self) -> str:
        """Its row."""

    @property
    def column(self) -> str:
        """Its column."""

    @property
    def part(self) -> str:
        """Which of two figures in one printed cell."""

    @property
    def printed(self) -> str:
        """The printed figure, and its interval where one is printed."""

    @property
    def ours(self) -> str:
        """The reproduced figure."""

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval of the reproduced figure."""

    @property
    def verdict(self) -> str:
        """Agrees, or differs."""

    @property
    def counted(self) -> bool:
        """Whether it is a mean over seeds that counts."""


class Report(Protocol):
    """Judged cells."""

    @property
    def cells(self) -> Sequence[Cell]:
        """Every cell."""


def published_vs_reproduced(report: Report, ax: Axes | None = None, **style: Any) -> Axes:
    """Every counted cell of the thesis's tables: published on x, reproduced with its 95 % interval
    on y.

    Cells that differ are named by table, row and column.

    report: of `cgrsp thesis`. style: of the marks, as matplotlib's `plot` takes them. Raises
    InputError for a cell that is none of wait, misses, tardiness and cost.
    """
    ax = axes(ax, height=1.0)
    counted = [cell for cell in report.cells if cell.counted]
    for verdict, colour in VERDICTS.items():
        for kind, marker in KINDS.items():
            cells = [cell for cell in counted if (cell.verdict, _kind(cell)) == (verdict, kind)]
            x, y, half_widths = _numbers(cells)
            own = {
                **PLAIN,
                "marker": marker,
                "color": colour,
                "zorder": 4 if verdict == "differs" else 3,
            }
            intervals(ax, x, y, y_half=half_widths, colour=colour, caps=False)
            ax.plot(x, y, **merged(own, style, Line2D))
    _scale(ax, counted)
    _name(ax, counted)
    if not counted:
        say(ax, "no counted cells")
    ax.set(xlabel="published in the thesis", ylabel="reproduced, with 95 % interval")
    _explain(ax, counted)
    return ax


def _kind(cell: Cell) -> str:
    """What a cell measures: the first of KINDS that its part, else its column, speaks of."""
    text = BY_CAPTION.get(cell.table) or cell.part or cell.column
    kind = next((kind for kind in KINDS if kind in text), "")
    require(
        bool(kind), f"cell of table {cell.table}: column", cell.column, f"of {', '.join(KINDS)}"
    )
    return kind


def _numbers(cells: Sequence[Cell]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Published figures, reproduced ones and half widths."""
    return (
        np.array([float(cell.printed.split()[0]) for cell in cells]),
        np.array([float(cell.ours.split()[0]) for cell in cells]),
        np.array([cell.half_width for cell in cells]),
    )


def _scale(ax: Axes, cells: Sequence[Cell]) -> None:
    """Both axes alike: logarithmic, but linear near zero; and the line on which both
    figures are equal.
    """
    x, y, _ = _numbers(cells)
    most = 1.5 * max([1.0, *x, *y])
    ticks = [0, *(10.0**power for power in range(-1, 1 + int(np.log10(most))))]
    for name in ("x", "y"):
        getattr(ax, f"set_{name}scale")("symlog", linthresh=LINEAR, linscale=0.5)
        getattr(ax, f"set_{name}lim")(-0.4 * LINEAR, most)
        getattr(ax, f"set_{name}ticks")(ticks, [f"{tick:g}" for tick in ticks])
    ax.plot([0, most], [0, most], color="0.6", lw=0.8, zorder=1)
    ax.set_aspect("equal")


def _name(ax: Axes, counted: Sequence[Cell]) -> None:
    """Name cells that differ by table, row, column and part, off the other cells; those of one row
    that lie together share a name.
    """
    cells = [cell for cell in counted if cell.verdict == "differs"]
    others = [cell for cell in counted if cell.verdict != "differs"]
    places = grouped(
        cells,
        lambda cell: (
            *(cell.table, cell.row, cell.part, cell.printed),
            f"{float(cell.ours.split()[0]):.2g}",
        ),
    )
    marks = {}
    for (table, row, part, *_), there in places.items():
        (at_x, *_), (at_y, *_), halves = _numbers(there)
        half = np.nan_to_num(halves).max()
        columns = ("\n" if len(there) > 1 else "") + ", ".join(cell.column for cell in there)
        name = f"{table} {row}, {columns}" + (f": {part}" if part else "")
        marks[name] = Mark(
            np.array([(at_x, at_y)]), np.array([(at_x, at_y - half), (at_x, at_y + half)])
        )
    x, y, half_widths = map(np.nan_to_num, _numbers(others))
    gap = np.full_like(x, np.nan)
    bars = np.stack([x, y - half_widths, x, y + half_widths, gap, gap], axis=1).reshape(-1, 2)
    label_marks(ax, marks, [VERDICTS["differs"]] * len(marks), bars)


def _explain(ax: Axes, cells: Sequence[Cell]) -> None:
    """What markers and colours mean, and how many cells there are of each verdict."""
    kinds = {verdict: _kinds(cells, verdict) for verdict in VERDICTS}
    handles: list[Line2D | Patch] = [
        Line2D([], [], marker=KINDS[kind], label=UNITS[kind], color=VERDICTS["agrees"], **PLAIN)
        for kind in kinds["agrees"]
    ]
    differing = [
        Line2D([], [], marker=KINDS[kind], color=VERDICTS["differs"], **PLAIN)
        for kind in kinds["differs"]
    ]
    handles += [Several("differs", differing)] if differing else []
    agreeing = sum(cell.verdict == "agrees" for cell in cells)
    legend_above(ax, handles, f"{agreeing} of {len(cells)} cells agree, the others are named")


def _kinds(cells: Sequence[Cell], verdict: str) -> list[str]:
    """What the cells of a verdict measure, in the order of KINDS."""
    there = {_kind(cell) for cell in cells if cell.verdict == verdict}
    return [kind for kind in KINDS if kind in there]
