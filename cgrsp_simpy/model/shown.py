"""How results show themselves: in one line, as tables of text, and as tables of HTML in
notebooks; and how work shows its progress.
"""

from __future__ import annotations

import html
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cgrsp_simpy.model.table import aligned, visible

__all__ = ["ShownRun", "Table", "digits", "figure_text", "progress"]


class Table(NamedTuple):
    """A table to be read.

    title: what stands above it. rows: the first holds the names of the columns. note: what stands
    below it, if anything.
    """

    title: str
    rows: Sequence[Sequence[str]]
    note: str = ""

    def text(self) -> str:
        """Lines for a terminal, columns aligned."""
        title, note = (visible(text, "\n") for text in (self.title, self.note))
        return "\n".join([title, *aligned(self.rows), *([note] if note else [])])

    def html(self) -> str:
        """The same for a notebook."""
        head, *body = [[html.escape(cell.strip()) for cell in row] for row in self.rows]
        lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in body]
        return (
            f'<table><caption style="text-align: left">{html.escape(self.title)}</caption>'
            f"<thead><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr></thead>"
            f"<tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table>"
            + (f"<p>{html.escape(self.note)}</p>" if self.note else "")
        )


def figure_text(value: Any) -> str:
    """A figure as text: what is not known is a dash."""
    if value is None or value != value:
        return "-"
    return f"{value:z,{digits(value)}}" if isinstance(value, float) else str(value)


def digits(size: float) -> str:
    """The format of a number: two decimals, or as many as show two digits of one of this size that
    they would tell as 0.
    """
    small = abs(size)
    if not 0 < small < 0.005:
        return ".2f"
    return f".{1 - math.floor(math.log10(small))}f" if small >= 1e-6 else ".1e"


class ShownRun:
    """A run that shows itself in one line, and in a notebook as a table of its figures."""

    @property
    def title(self) -> str:
        """What was run, and how."""
        raise NotImplementedError

    def summary(self) -> Mapping[str, Any]:
        """The figures by name."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return visible(f"<{type(self).__name__} of {self.title}>")

    def _repr_html_(self) -> str:
        rows = [[name, figure_text(value)] for name, value in self.summary().items()]
        return Table(self.title, [["figure", "value"], *rows]).html()


def progress(things: Iterable[Any] | None = None, **how: Any) -> Any:
    """A bar of progress for what takes longer than a second, on a terminal or in a notebook.

    things: counted as they are taken; else the bar is updated by hand. how: parameters of tqdm:
    total, unit, and so on.
    """
    with warnings.catch_warnings():
        # a notebook without ipywidgets
        warnings.filterwarnings("ignore", "IProgress not found")
        from tqdm.auto import tqdm  # here, since it takes asyncio
    return tqdm(things, **{"delay": 1, "disable": None, "leave": False, **how})
