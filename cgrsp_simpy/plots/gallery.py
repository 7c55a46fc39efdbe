"""A figure as files, for the commands that draw whole sets: the CSV of what is plotted, a PNG of 200 dpi and an SVG."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from cgrsp_simpy.model.files import write_whole
from cgrsp_simpy.model.table import csv_text
from cgrsp_simpy.plots.style import SIZE, STYLE, styled

__all__ = ["write_figure"]

Row = dict[str, Any]
DPI = 200


def write_figure(
    stem: Path,
    rows: list[Row],
    size: tuple[float, float],
    draw: Callable[[Figure, list[Row]], None],
    style: str = "print",
) -> list[Path]:
    """Write stem.csv, stem.png and stem.svg, the same bytes each time; the paths.

    rows: what is plotted. size: inches, in print; other styles scale it. draw: draws the rows on a canvas. Raises InputError for
    another style, or where a file cannot be written.
    """
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in ("csv", "png", "svg")]
    with styled(style):
        scale = STYLE[style]["figure.figsize"][0] / SIZE[0]
        canvas = Figure(figsize=(size[0] * scale, size[1] * scale), layout="constrained")
        FigureCanvasAgg(canvas)
        draw(canvas, rows)
        pictures = [_saved(canvas, ending) for ending in ("png", "svg")]
    for path, content in zip(paths, (csv_text(rows).encode(), *pictures)):
        write_whole(path, content)
    return paths


def _saved(canvas: Figure, ending: str) -> bytes:
    """The picture as bytes, without a date."""
    place = BytesIO()
    metadata = {"Date": None} if ending == "svg" else {"Software": None}
    canvas.savefig(place, format=ending, dpi=DPI, metadata=metadata)
    return place.getvalue()
