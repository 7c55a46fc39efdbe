"""Figures and galleries, drawn from rows or their CSV file."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO, StringIO
from itertools import combinations, compress
from pathlib import Path
from shutil import which
from typing import Any, TypeVar

import matplotlib.figure
from matplotlib import rcParams
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from cgrsp_simpy.base.checks import (
    InputError,
    check_number,
    check_one_of,
    require,
    shown,
)
from cgrsp_simpy.base.files import (
    check_folder,
    faults_of,
    number_or_text,
    output_path,
    write_files,
    write_whole,
)
from cgrsp_simpy.base.table import csv_text, from_cell, progress
from cgrsp_simpy.plots.parts import legend_outside, letters, literally, make_literal
from cgrsp_simpy.plots.style import MM, SIZE, STYLE, Style, styled

Row = dict[str, Any]
Canvas = matplotlib.figure.Figure
"""Figure of Matplotlib, on which a `Figure` is drawn."""
RowOf = TypeVar("RowOf", bound=Mapping[str, Any])
Handles = Sequence[Line2D | Patch]
Rows = Callable[[Any], list[Row]]  # function of the runs of a gallery
Draw = Callable[[Canvas, list[Row]], Handles | None]
DPI = 200
ENDINGS = ("png", "svg", "pdf")
# metadata that change with time
VARYING = {"png": "Software", "svg": "Date", "pdf": "CreationDate"}
LEAST_PT = 7.0  # smallest font size
OTHER = "other"  # column that names runs that are not the usual ones
# in every figure
TEXTS = (
    "row",
    "column",
    "part",
    "table",
    "name",
    "policy",
    "scheduler",
    "type",
    "other",
)


def _nothing(*_: Any) -> Any:
    return ""


@dataclass
class Figure:
    """Declaration of a figure; it decorates the function that computes its rows.

    stem: file name without extension. size: inches, in print. note: text above the
    legend, or a function of the runs. draw: function that draws the rows and returns
    the legend's handles, or None. sentence: function that describes the rows in a
    sentence, for the index. table: function that returns the rows in Markdown, for the
    index.
    head: text before the title in the index. options: command options after the id, or
    a function of the runs. texts: CSV columns of text. needs: the parts of the runs
    that it uses. legend: as in `legend_outside`. usual: function that returns the
    gallery's default runs.
    """

    stem: str
    title: str
    size: tuple[float, float] = SIZE
    note: str | Callable[[Any], str] = ""
    rows: Rows = _nothing
    draw: Draw = _nothing
    sentence: Callable[[list[Row]], str] = _nothing
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
        """Register a function that draws the rows (decorator)."""
        self.draw = draw
        return draw

    def describes(
        self, sentence: Callable[[list[Row]], str]
    ) -> Callable[[list[Row]], str]:
        """Register a function that describes the rows (decorator)."""
        self.sentence = sentence
        return sentence

    def tables(self, table: Callable[[list[Row]], str]) -> Callable[[list[Row]], str]:
        """Register a function that formats the rows in Markdown (decorator)."""
        self.table = table
        return table

    def read(self, text: str) -> list[Row]:
        """Return the rows of the figure's CSV text, with None for an empty cell."""
        texts = (*TEXTS, *self.texts)
        return [
            _Read(
                (name, from_cell(cell) if name in texts else _value(from_cell(cell)))
                for name, cell in row.items()
                if cell or name in texts
            )
            for row in csv.DictReader(StringIO(text, newline=""))
        ]

    def redraw(
        self, path: str | Path, style: Style = "print", *, width: float | None = None
    ) -> Canvas:
        """Draw the figure from its CSV; style, width: as in `Gallery.figure`."""
        with _faults_of(style, Path(path)):
            return self.drawn(self.read(_text_of(Path(path))), style, width=width)

    def drawn(
        self,
        rows: list[Row],
        style: Style = "print",
        runs: Any = None,
        *,
        width: float | None = None,
    ) -> Canvas:
        """Draw the figure from rows. runs: described by the note; default: `usual`."""
        check_look(style, width)
        with styled(style):
            canvas = self._drawn(rows, style, runs, width)
            for text in canvas.findobj(Text):
                text.set_fontsize(max(LEAST_PT, text.get_fontsize()))
            return canvas

    def write(
        self,
        folder: str | Path,
        rows: Sequence[Row] | None,
        style: Style = "print",
        runs: Any = None,
        *,
        width: float | None = None,
        pgf: bool = False,
    ) -> list[Path]:
        """Write the rows as CSV and, drawn from it, PNG (200 dpi), SVG and PDF.

        The bytes are reproducible. rows: None to read the figure's CSV in the folder.
        pgf: also write a PGF. Raises InputError if a file cannot be read or written; no
        file is then written.
        """
        contents = self.contents(folder, rows, style, runs, width=width, pgf=pgf)
        write_files(contents)
        return [*contents]

    def contents(
        self,
        folder: str | Path,
        rows: Sequence[Row] | None,
        style: Style = "print",
        runs: Any = None,
        *,
        width: float | None = None,
        pgf: bool = False,
    ) -> dict[Path, bytes]:
        """Return the content of each file that `write` writes."""
        endings = (*ENDINGS, *["pgf"] * pgf)
        folder = output_path("folder", folder)
        paths = [folder / f"{self.stem}.{ending}" for ending in ("csv", *endings)]
        with _faults_of(style, paths[0] if rows is None else None):
            text = _text_of(paths[0]) if rows is None else csv_text(rows)
            canvas = self.drawn(self.read(text), style, runs, width=width)
            if pgf:
                _check_tex(canvas)
            with styled(style):
                pictures = [picture(canvas, ending) for ending in endings]
        return dict(zip(paths, (text.encode(), *pictures)))

    def _drawn(
        self, rows: list[Row], style: Style, runs: Any, width: float | None
    ) -> Canvas:
        """Draw the figure, over two columns if it is too wide for one."""
        canvas = Canvas(figsize=_size(self.size, style, width), layout="constrained")
        FigureCanvasAgg(canvas)
        other = rows[0].get(OTHER) if rows else None
        note = "; ".join(filter(None, (_of(self.note, runs or self.usual()), other)))
        handles = literally(self.draw, canvas, rows)
        if note:
            legend_outside(canvas, handles or [], note, **self.legend)
        elif handles:
            legend_outside(
                canvas, handles, columns=len(handles), loc="outside upper right"
            )
        make_literal(canvas)
        if style == "single" and width is None and _needs_both(canvas):
            return self._drawn(rows, "double", runs, None)
        letters(canvas)
        return canvas


class _Read(Row):
    """Row of a CSV file, whose empty cells are None."""

    def __missing__(self, name: str) -> None:
        return None


def _of(text: str | Callable[[Any], str], runs: Any) -> str:
    return text if isinstance(text, str) else text(runs)


def _value(cell: str) -> Any:
    return cell == "True" if cell in ("True", "False") else number_or_text(cell)


class Gallery(dict[str, Figure]):
    """Figures of a module by id, in the order of their declarations.

    name: name of the module, and the prefix of file names. runs: function of sizes and
    an executor that makes the data. intro: function of the runs that returns the first
    paragraphs of the index. legend: settings for all figures, as in `legend_outside`.
    """

    def __init__(
        self,
        name: str,
        runs: Callable[..., Any] = _nothing,
        intro: Callable[[Any], list[str]] = _nothing,
        **legend: Any,
    ) -> None:
        super().__init__()
        self.name, self.runs, self.intro, self.legend = name, runs, intro, legend

    def add(
        self, id: str, title: str, size: tuple[float, float], **more: Any
    ) -> Figure:
        """Declare a figure. more: fields of `Figure`; stem defaults to name_id."""
        settings = {
            "stem": f"{self.name}_{id.replace('.', '_')}",
            "usual": self.runs,
            **more,
        }
        settings["legend"] = {**self.legend, **settings.get("legend", {})}
        self[id] = Figure(title=title, size=size, **settings)
        return self[id]

    def runs_of(self, _ids: Sequence[str], /, **sizes: Any) -> Any:
        """Return the runs behind some figures; by default, those behind all."""
        return self.runs(**sizes)

    def figure(
        self,
        id: str,
        *,
        style: Style = "print",
        width: float | None = None,
        csv: str | Path | None = None,
        executor: Executor | int | None = None,
        **sizes: Any,
    ) -> Canvas:
        """Return one figure, to be shown, changed or saved.

        style: "print", "lecture", "single" or "double" (columns of a journal), or
        settings of matplotlib by name. width: mm, > 0; default: that of the style. csv:
        file to draw from, without simulating. executor: as in `cg.compare`. sizes: as
        in `runs`. Raises InputError for an unknown figure, style or size, an invalid
        number, or a file that cannot be read.
        """
        check_look(style, width)
        check_one_of("figure", id, self)
        if csv is not None:
            require(not sizes, "csv", csv, f"omitted if {', '.join(sizes)} is given")
            return self[id].redraw(csv, style, width=width)
        runs = self.runs_of((id,), **sizes, executor=executor)
        rows = self[id].read(csv_text(_rows(self[id], runs)))
        return self[id].drawn(rows, style, runs, width=width)

    def draw(
        self,
        folder: str | Path,
        ids: Sequence[str] | None = None,
        *,
        style: Style = "print",
        width: float | None = None,
        pgf: bool = False,
        executor: Executor | int | None = None,
        runs: Any = None,
        **sizes: Any,
    ) -> list[Path]:
        """Draw figures into a folder: CSV, PNG (200 dpi), SVG, PDF, and an index.

        folder: created if missing. ids: all figures by default. style, width, executor,
        sizes: as in `figure`; figures too wide for a single column are drawn over two.
        pgf: also write a PGF, which needs LaTeX. runs: runs to use instead of sizes.
        Returns the files. Raises InputError as `figure`, or if a file cannot be
        written.
        """
        check_look(style, width, pgf)
        folder = output_path("folder", folder)
        check_folder(folder)
        ids = tuple(self) if ids is None else ids
        for id in ids:
            check_one_of("figure", id, self)
        if runs is None:
            runs = self.runs_of(ids, **sizes, executor=executor)
        rows = dict[str, list[Row]]()
        paths = list[Path]()
        for id in progress(ids, unit=" figures"):
            rows[id] = _rows(self[id], runs)
            # an interrupt keeps the figures that are complete
            paths += self[id].write(folder, rows[id], style, runs, width=width, pgf=pgf)
        if list(ids) == list(self):
            read = {id: self[id].read(csv_text(rows[id])) for id in ids}
            paths.append(folder / "README.md")
            write_whole(paths[-1], self._index(read, runs).encode())
        return paths

    def _index(self, rows: Mapping[str, list[Row]], runs: Any) -> str:
        lines = self.intro(runs)
        for id, figure in self.items():
            head = f"{figure.head}. " if figure.head else ""
            command = (
                f"cgrsp papers figures {self.name} {id}{_of(figure.options, runs)}"
            )
            source = f"`{command}`; [CSV]({figure.stem}.csv)"
            lines += [
                f"## {head}{figure.title}",
                f"![{figure.title}]({figure.stem}.png)",
                figure.table(rows[id]),
                f"{figure.sentence(rows[id])} {source}".lstrip(),
            ]
        return "\n\n".join(filter(None, lines)) + "\n"


def _rows(figure: Figure, runs: Any) -> list[Row]:
    """Return the figure's rows, with a note if the runs are not the default ones."""
    other = getattr(runs, OTHER, "")
    return [{**row, OTHER: other} if other else row for row in figure.rows(runs)]


def check_look(style: Style, width: float | None, pgf: bool = False) -> None:
    """Raise InputError for an invalid style or width, or PGF without LaTeX."""
    with styled(style):
        tex = rcParams["pgf.texsystem"]
    if width is not None:
        check_number("width", width, above=0)
    require(not pgf or which(tex) is not None, "pgf", tex, "an installed LaTeX program")


def where(rows: Sequence[RowOf], **equal: Any) -> list[RowOf]:
    """Return the rows whose columns have the given values."""
    return [
        row
        for row in rows
        if all(row.get(name) == value for name, value in equal.items())
    ]


def numbers(rows: Sequence[Row], name: str) -> list[float]:
    """Return the numbers of a column."""
    return [float(row[name]) for row in rows]


def distinct(rows: Sequence[RowOf], name: str) -> list[Any]:
    """Return the different values of a column, in the order of the rows."""
    return list(dict.fromkeys(row[name] for row in rows))


def markdown(head: str, texts: int, lines: Sequence[Sequence[str]]) -> str:
    """Format a Markdown table, `texts` text columns first. head: names joined by |."""
    rule = "|" + "---|" * texts + "---:|" * (head.count("|") + 1 - texts)
    rows = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([f"| {head} |", rule, *rows])


def _needs_both(canvas: Canvas) -> bool:
    """Return whether a figure is too wide for one column of a journal.

    True for a diagram, over two panels in a row, or texts that are cut or overlap.
    """
    specs = filter(None, (ax.get_subplotspec() for ax in canvas.axes))
    in_a_row = max((spec.get_gridspec().ncols for spec in specs), default=1)
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
    """Yield tick labels beyond the limits of their axes, which are not drawn."""
    for ax in canvas.axes:
        for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not min(limits) <= tick.get_loc() <= max(limits):
                    yield from (tick.label1, tick.label2)


def _size(
    size: tuple[float, float], style: Style, width: float | None
) -> tuple[float, float]:
    """Return the size in inches in a style, or at a width in mm.

    size: size in print. The height is scaled like text that does not shrink.
    """
    name = style if isinstance(style, str) else "print"
    text = STYLE[name]["font.size"] / STYLE["print"]["font.size"]
    if width is not None:
        return width / MM, size[1] * text
    scale = STYLE[name]["figure.figsize"][0] / SIZE[0]
    return size[0] * scale, size[1] * (text if style == "single" else scale)


def _text_of(path: Path) -> str:
    with faults_of(path):
        text = path.read_text(encoding="utf-8")
    if not text.partition("\n")[2].strip():
        raise InputError(f"{path} has no rows")
    return text


@contextmanager
def _faults_of(style: Style, path: Path | None) -> Iterator[None]:
    """Raise InputError if a figure cannot be drawn with the user's settings, or from
    the file that is read.
    """
    try:
        with warnings.catch_warnings():
            if path:  # for numbers that overflow
                warnings.simplefilter("error", RuntimeWarning)
            yield
    except (InputError, MemoryError):
        raise
    except Exception as error:  # drawing may fail in any way
        causes = {
            f"{path} must be unchanged since its command wrote it": path is not None,
            f"style(={shown(style)}) must be settings with which matplotlib can draw"
            " the figure": not isinstance(style, str),
        }
        if not any(causes.values()):
            raise
        raise InputError(", and ".join(compress(causes, causes.values()))) from error


def _check_tex(canvas: Canvas) -> None:
    """Raise InputError for texts in which LaTeX would find commands in a PGF."""
    for text in canvas.findobj(Text):
        if not text.get_parse_math() and re.search(r"[\\${}]", text.get_text()):
            require(
                False,
                "pgf: text",
                text.get_text(),
                r"text without \, $, { and }, which LaTeX interprets as commands",
            )


def picture(canvas: Any, ending: str) -> bytes:
    """Return the picture as bytes, without a date; raise InputError if LaTeX fails."""
    place = BytesIO()
    options: dict[str, Any] = (
        {"metadata": {VARYING[ending]: None}} if ending in VARYING else {}
    )
    try:
        canvas.savefig(place, format=ending, dpi=DPI, **options)
    except Exception as error:
        match = re.search(
            r"(?:Error measuring .*%{\\%}(.*)}\n)?(?s:.*?)! (.*)", str(error)
        )
        if ending != "pgf" or match is None:
            raise
        near = f" ({match[1]!r})" if match[1] else ""
        raise InputError(f"pgf: LaTeX says: {match[2]}{near}") from None
    return place.getvalue()
