"""Figures as files, for the commands that draw whole sets: the CSV of what is plotted, a PNG of 200
dpi, an SVG, and an index.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from io import BytesIO, StringIO
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from cgrsp_simpy.model.checks import InputError, check_one_of
from cgrsp_simpy.model.files import number_or_text, write_whole
from cgrsp_simpy.model.table import csv_text, from_cell, progress
from cgrsp_simpy.plots.parts import legend_outside, letters
from cgrsp_simpy.plots.style import COLUMNS_MM, SIZE, STYLE, styled

Row = dict[str, Any]
RowOf = TypeVar("RowOf", bound=Mapping[str, Any])
Handles = Sequence[Line2D | Patch]
Rows = Callable[[Any], list[Row]]  # of the runs of a gallery
Draw = Callable[[Canvas, list[Row]], Handles | None]
DPI = 200
UNSAID = {"png": "Software", "svg": "Date", "pdf": "CreationDate"}  # what changes with time
TEXTS = tuple("row column part table name policy scheduler type".split())  # in every figure


def _nothing(*_: Any) -> Any:
    return ""


@dataclass
class Figure:
    """The one declaration of a figure. It decorates the function that gives its rows from the
    gallery's runs; `draws`, `says` and `tables` of it decorate the others.

    stem: the name of its files, without ending. size: inches, in print. note: above the legend; of
    the runs where it depends on them. draw: draws the rows, and gives the legend's handles; None
    where it needs no legend. seen: a sentence on the rows, for the index. table: the rows in
    Markdown, where they should be read as well. head: what stands before the title in the index.
    options: what its command has after its id, of the runs as the note. texts: columns of its CSV
    that hold no numbers. needs: parts of the runs, where these are made for some figures alone.
    legend: as of `legend_outside`. usual: the gallery's runs of the usual size.
    """

    stem: str
    title: str
    size: tuple[float, float] = SIZE
    note: str | Callable[[Any], str] = ""
    rows: Rows = _nothing
    draw: Draw = _nothing
    seen: Callable[[list[Row]], str] = _nothing
    table: Callable[[list[Row]], str] = _nothing
    head: str = ""
    options: str | Callable[[Any], str] = ""
    texts: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    legend: Mapping[str, Any] = field(default_factory=dict)
    usual: Callable[[], Any] = _nothing

    def __call__(self, rows: Rows) -> Figure:
        self.rows = rows
        return self

    def draws(self, draw: Draw) -> Draw:
        """Decorates the function that draws the rows."""
        self.draw = draw
        return draw

    def says(self, seen: Callable[[list[Row]], str]) -> Callable[[list[Row]], str]:
        """Decorates the function that says what is seen in the rows."""
        self.seen = seen
        return seen

    def tables(self, table: Callable[[list[Row]], str]) -> Callable[[list[Row]], str]:
        """Decorates the function that gives the rows in Markdown."""
        self.table = table
        return table

    def read(self, text: str) -> list[Row]:
        """The rows of its CSV, in which an empty cell is None."""
        texts = (*TEXTS, *self.texts)
        return [
            _Read(
                (name, from_cell(cell) if name in texts else _value(from_cell(cell)))
                for name, cell in row.items()
                if cell or name in texts
            )
            for row in csv.DictReader(StringIO(text, newline=""))
        ]

    def redraw(self, path: str | Path, style: str = "print", runs: Any = None) -> Canvas:
        """The figure drawn from its CSV; nothing is run.

        runs: of the sizes that the note tells, unless they are the usual ones.
        """
        check_one_of("style", style, STYLE)
        rows = self.read(Path(path).read_text(encoding="utf-8"))
        with styled(style):
            return self._drawn(rows, style, runs)

    def write(
        self, folder: str | Path, rows: Sequence[Row], style: str = "print", runs: Any = None
    ) -> list[Path]:
        """Write the rows as CSV, and drawn from it as PNG and SVG, in a journal's style as PDF too,
        the same bytes each time; the paths. Raises InputError where a file cannot be written.
        """
        text = csv_text(rows)
        endings = ["png", "svg", *(["pdf"] if style in COLUMNS_MM else [])]
        with styled(style):
            canvas = self._drawn(self.read(text), style, runs)
            pictures = [_saved(canvas, ending) for ending in endings]
        paths = [Path(folder) / f"{self.stem}.{ending}" for ending in ("csv", *endings)]
        for path, content in zip(paths, (text.encode(), *pictures)):
            write_whole(path, content)
        return paths

    def _drawn(self, rows: list[Row], style: str, runs: Any) -> Canvas:
        """The figure; one too wide for a single column as wide as two."""
        canvas = Canvas(figsize=_size(self.size, style), layout="constrained")
        FigureCanvasAgg(canvas)
        note = _of(self.note, runs or self.usual())
        handles = self.draw(canvas, rows)
        if note:
            legend_outside(canvas, handles or [], note, **self.legend)
        elif handles:
            legend_outside(canvas, handles, columns=len(handles), loc="outside upper right")
        if style == "single" and _needs_both(canvas):
            return self._drawn(rows, "double", runs)
        letters(canvas)
        return canvas


class _Read(Row):
    """A row that was read: without its empty cells, each of which is None."""

    def __missing__(self, name: str) -> None:
        return None


def _of(text: str | Callable[[Any], str], runs: Any) -> str:
    return text if isinstance(text, str) else text(runs)


def _value(cell: str) -> Any:
    """The number that a cell holds, or whether it is True, or its text."""
    return cell == "True" if cell in ("True", "False") else number_or_text(cell)


class Figures(dict[str, Figure]):
    """The figures of a gallery by id, in the order in which they are declared.

    prefix: of the names of their files. usual: makes the gallery's runs of the usual size. legend:
    of all figures, as of `legend_outside`.
    """

    def __init__(self, prefix: str, usual: Callable[[], Any] = _nothing, **legend: Any) -> None:
        super().__init__()
        self.prefix, self.usual, self.legend = prefix, usual, legend

    def add(self, id: str, title: str, size: tuple[float, float], **more: Any) -> Figure:
        """Declare a figure. more: as of `Figure`; the stem is of the prefix and id unless given."""
        own = {"stem": self.prefix + id.replace(".", "_"), "usual": self.usual, **more}
        own["legend"] = {**self.legend, **own.get("legend", {})}
        self[id] = Figure(title=title, size=size, **own)
        return self[id]


@dataclass(frozen=True)
class Gallery:
    """The figures of a module.

    name: of the module. runs: makes what the rows are made of, from sizes and an executor. intro:
    the paragraphs at the head of the index. command: what draws one of the figures. moved: what
    draws figures that were here.
    """

    name: str
    runs: Callable[..., Any]
    figures: Mapping[str, Figure]
    intro: Callable[[Any], list[str]]
    command: str = "cgrsp {name} figures --only {id}"
    moved: Mapping[str, str] = field(default_factory=dict)

    def draw(
        self,
        folder: str | Path,
        ids: Sequence[str] | None = None,
        *,
        style: str = "print",
        executor: Executor | int | None = None,
        **sizes: Any,
    ) -> list[Path]:
        """Draw figures into a folder: of each the CSV of what is plotted, a PNG of 200 dpi and an
        SVG, in a journal's style a PDF too; and, where all are drawn, an index.

        folder: made where it is not there. ids: names of the figures; all unless told. style:
        "print", "lecture", "single" or "double" (columns of a journal); figures too wide for a
        single column are drawn in both. executor: as of `cg.compare`. sizes: how many, or how
        large, as of `runs`. Result: the files. Raises InputError for an unknown figure or style, a
        number that is not allowed, or a file that cannot be written.
        """
        check_one_of("style", style, STYLE)
        ids = tuple(self.figures) if ids is None else ids
        for id in ids:
            if id in self.moved:
                raise InputError(f"figure {id!r} has moved: {self.moved[id]}")
            check_one_of("figure", id, self.figures)
        runs = self.runs(**sizes, executor=executor)
        chosen = {id: self.figures[id] for id in ids}
        rows = {id: chosen[id].rows(runs) for id in progress(ids, unit=" figures' runs")}
        paths = [
            path
            for id in progress(ids, unit=" figures")
            for path in chosen[id].write(folder, rows[id], style, runs)
        ]
        if list(ids) == list(self.figures):
            paths.append(Path(folder) / "README.md")
            read = {id: chosen[id].read(csv_text(rows[id])) for id in ids}
            write_whole(paths[-1], self._index(read, runs).encode())
        return paths

    def _index(self, rows: Mapping[str, list[Row]], runs: Any) -> str:
        """All figures on one page to scroll."""
        lines = self.intro(runs)
        for id, figure in self.figures.items():
            head = f"{figure.head}. " if figure.head else ""
            lines += [f"## {head}{figure.title}", f"![{figure.title}]({figure.stem}.png)"]
            command = f"`{self.command.format(name=self.name, id=id)}{_of(figure.options, runs)}`"
            said = [figure.seen(rows[id]), f"{command}; [CSV]({figure.stem}.csv)"]
            lines += [figure.table(rows[id]), " ".join(filter(None, said))]
        return "\n\n".join(filter(None, lines)) + "\n"


def where(rows: Sequence[RowOf], **equal: Any) -> list[RowOf]:
    """The rows whose columns have these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in equal.items())]


def numbers(rows: Sequence[Row], name: str) -> list[float]:
    """The numbers of a column."""
    return [float(row[name]) for row in rows]


def markdown(head: str, texts: int, lines: Sequence[Sequence[str]]) -> str:
    """A table whose first columns are texts, the others numbers. head: names between bars."""
    rule = "|" + "---|" * texts + "---:|" * (head.count("|") + 1 - texts)
    rows = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([f"| {head} |", rule, *rows])


def _needs_both(canvas: Canvas) -> bool:
    """Whether a figure is too wide for one column of a journal: a diagram, more than two panels in
    a row, or texts that are cut off or lie on one another.
    """
    grids = [spec for ax in canvas.axes if (spec := ax.get_subplotspec())]
    in_a_row = max((spec.get_gridspec().ncols for spec in grids), default=1)
    if in_a_row > 2 or not all(ax.axison for ax in canvas.axes):
        return True
    canvas.draw_without_rendering()
    unseen = set(_beyond_limits(canvas))
    boxes = [
        Text.get_window_extent(text).padded(-1)
        for text in canvas.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text not in unseen
    ]
    frame = canvas.bbox
    cut_off = any(box.x0 < frame.x0 or frame.x1 < box.x1 for box in boxes)
    return cut_off or any(one.overlaps(other) for one, other in combinations(boxes, 2))


def _beyond_limits(canvas: Canvas) -> Iterator[Text]:
    """The texts of ticks beyond the limits of their axes, which are not drawn."""
    for ax in canvas.axes:
        for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not min(limits) <= tick.get_loc() <= max(limits):
                    yield from (tick.label1, tick.label2)


def _size(size: tuple[float, float], style: str) -> tuple[float, float]:
    """Inches in a style, of a figure of some inches in print.

    In one column of a journal figures are less high by the size of the text alone.
    """
    scale = STYLE[style]["figure.figsize"][0] / SIZE[0]
    text = STYLE[style]["font.size"] / STYLE["print"]["font.size"]
    return (size[0] * scale, size[1] * (text if style == "single" else scale))


def _saved(canvas: Canvas, ending: str) -> bytes:
    """The picture as bytes, without a date."""
    place = BytesIO()
    metadata = {UNSAID[ending]: None}
    canvas.savefig(place, format=ending, dpi=DPI, metadata=metadata)
    return place.getvalue()
