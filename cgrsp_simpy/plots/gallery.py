"""Figures as files, for the commands that draw whole sets: the CSV of what is plotted, a PNG of 200
dpi, an SVG, and an index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from io import BytesIO
from itertools import combinations
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from cgrsp_simpy.model.checks import check_one_of
from cgrsp_simpy.model.files import write_whole
from cgrsp_simpy.model.shown import progress
from cgrsp_simpy.model.table import csv_text
from cgrsp_simpy.plots.parts import letters
from cgrsp_simpy.plots.style import COLUMNS_MM, SIZE, STYLE, styled

Row = dict[str, Any]
DPI = 200
UNSAID = {"png": "Software", "svg": "Date", "pdf": "CreationDate"}  # what changes with time


@dataclass(frozen=True)
class Picture:
    """The one declaration of a figure of a gallery.

    stem: the name of its files, without ending. rows: what is plotted, from the runs that the
    gallery shares. draw: draws rows on a canvas, with a note above.

    seen: a sentence on the rows, for the index. table: the rows in Markdown, for the index, where
    they should be read as well. size: inches, in print. name: what stands before the title in the
    index, such as "Figure 2". options: what its command has after its id, such as " --trace FILE".
    """

    stem: str
    title: str
    rows: Callable[[Any], list[Row]]
    draw: Callable[[Figure, list[Row], str], None]
    seen: Callable[[list[Row]], str]
    note: str
    size: tuple[float, float]
    table: Callable[[list[Row]], str] | None = None
    name: str = ""
    options: str = ""


@dataclass(frozen=True)
class Gallery:
    """The figures of a module.

    name: of the module. runs: makes what the rows are made of, from sizes and an executor.
    pictures, intro: from that how each figure is drawn, and the head of the index.
    """

    name: str
    runs: Callable[..., Any]
    pictures: Callable[[Any], Mapping[str, Picture]]
    intro: Callable[[Any], list[str]]

    def draw(
        self,
        folder: str | Path,
        ids: Sequence[str] | None = None,
        *,
        style: str = "print",
        executor: Executor | int | None = None,
        **sizes: int,
    ) -> list[Path]:
        """Draw figures into a folder: of each the CSV of what is plotted, a PNG of 200 dpi and an
        SVG, in a journal's style a PDF too; and an index of all.

        folder: made where it is not there. ids: names of the figures; all unless told. style:
        "print", "lecture", "single" or "double" (columns of a journal); figures too wide for a
        single column are drawn in both. executor: as of `cg.compare`. sizes: how many, or how
        large, as of `runs`. Result: the files. Raises InputError for an unknown figure or style, a
        number that is not allowed, or a file that cannot be written.
        """
        runs, command = self.runs(**sizes, executor=executor), f"cgrsp {self.name} figures"
        pictures = self.pictures(runs)
        ids = tuple(pictures) if ids is None else ids
        return write_gallery(folder, pictures, ids, runs, style, self.intro(runs), command)


def write_gallery(
    folder: str | Path,
    pictures: Mapping[str, Picture],
    ids: Sequence[str],
    runs: Any,
    style: str,
    intro: Sequence[str],
    command: str,
) -> list[Path]:
    """Write the CSV, PNG and SVG of pictures into a folder, and, where all are drawn, an index of
    them; the paths.

    ids: of the pictures to draw. runs: what the rows of a picture are made of. intro: the
    paragraphs at the head of the index. command: what draws the pictures, such as "cgrsp dag
    figures". Raises InputError for an unknown figure or style, or a file that cannot be written.
    """
    check_one_of("style", style, STYLE)
    for id in ids:
        check_one_of("figure", id, pictures)
    rows = {id: pictures[id].rows(runs) for id in progress(ids, unit=" figures' runs")}
    paths = []
    for id in progress(ids, unit=" figures"):
        picture = pictures[id]

        def draw(canvas: Figure, rows: list[Row], picture: Picture = picture) -> None:
            picture.draw(canvas, rows, picture.note)

        paths += write_figure(Path(folder) / picture.stem, rows[id], picture.size, draw, style)
    if list(ids) == list(pictures):
        paths.append(Path(folder) / "README.md")
        write_whole(paths[-1], _index(pictures, rows, intro, command).encode())
    return paths


def _index(
    pictures: Mapping[str, Picture],
    rows: Mapping[str, list[Row]],
    intro: Sequence[str],
    command: str,
) -> str:
    """All figures on one page to scroll."""
    lines = list(intro)
    for id, picture in pictures.items():
        links = f"[CSV]({picture.stem}.csv)"
        name = f"{picture.name}. " if picture.name else ""
        lines += [f"## {name}{picture.title}", f"![{picture.title}]({picture.stem}.png)"]
        lines += [picture.table(rows[id])] if picture.table else []
        lines += [f"{picture.seen(rows[id])} `{command} --only {id}{picture.options}`; {links}"]
    return "\n\n".join(lines) + "\n"


def markdown(head: str, texts: int, lines: Sequence[Sequence[str]]) -> str:
    """A table whose first columns are texts, the others numbers. head: names between bars."""
    rule = "|" + "---|" * texts + "---:|" * (head.count("|") + 1 - texts)
    rows = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([f"| {head} |", rule, *rows])


def write_figure(
    stem: Path,
    rows: list[Row],
    size: tuple[float, float],
    draw: Callable[[Figure, list[Row]], None],
    style: str = "print",
) -> list[Path]:
    """Write stem.csv, stem.png and stem.svg, and in a journal's style stem.pdf, the same bytes each
    time; the paths.

    rows: what is plotted. size: inches, in print; other styles scale it. draw: draws the rows on
    a canvas. Raises InputError for another style, or where a file cannot be written.
    """
    endings = ["png", "svg", *(["pdf"] if style in COLUMNS_MM else [])]
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in ("csv", *endings)]
    with styled(style):
        canvas = drawn(rows, size, draw, style)
        pictures = [_saved(canvas, ending) for ending in endings]
    for path, content in zip(paths, (csv_text(rows).encode(), *pictures)):
        write_whole(path, content)
    return paths


def drawn(
    rows: list[Row],
    size: tuple[float, float],
    draw: Callable[[Figure, list[Row]], None],
    style: str = "print",
) -> Figure:
    """A figure as `write_figure` writes it; to be called within `styled(style)`."""
    canvas = Figure(figsize=_size(size, style), layout="constrained")
    FigureCanvasAgg(canvas)
    draw(canvas, rows)
    if style == "single" and _needs_both(canvas):
        return drawn(rows, size, draw, "double")
    letters(canvas)
    return canvas


def _needs_both(canvas: Figure) -> bool:
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


def _beyond_limits(canvas: Figure) -> Iterator[Text]:
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


def _saved(canvas: Figure, ending: str) -> bytes:
    """The picture as bytes, without a date."""
    place = BytesIO()
    metadata = {UNSAID[ending]: None}
    canvas.savefig(place, format=ending, dpi=DPI, metadata=metadata)
    return place.getvalue()
