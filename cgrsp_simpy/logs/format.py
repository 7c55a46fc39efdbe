"""What a format of logs is: how lines become cells, which fields they have, and how these become
the columns of a log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TextIO

import numpy as np

from cgrsp_simpy.logs.fields import Array, Field
from cgrsp_simpy.logs.text import Rows, comma_rows


@dataclass(frozen=True)
class Raw:
    """The fields of some rows that could be read: numbers and times as arrays, texts as lists (""
    where the file has none).
    """

    numbers: Mapping[str, Array]
    texts: Mapping[str, Sequence[str]]
    rows: int

    def get(self, name: str, otherwise: float = np.nan) -> Array:
        """A number of each row; the other where the file has no such field."""
        return self.numbers.get(name, np.full(self.rows, otherwise))


class Made(NamedTuple):
    """The columns of a log from the fields of its rows.

    columns: by their names in COLUMNS, seconds as numbers, moments as the file tells them.
    left_out: reasons, each with the rows that tell of no job that can be run, as a mask. bad: masks
    of rows that cannot be, each with the field that is wrong and what it must be.
    """

    columns: Mapping[str, Array]
    left_out: tuple[tuple[str, Array], ...] = ()
    bad: tuple[tuple[Array, str, str], ...] = ()


def as_they_are(raw: Raw) -> Made:
    """The fields are the columns."""
    return Made(raw.numbers)


@dataclass(frozen=True)
class Format:
    """A format of logs.

    Attributes
    ----------
    name : str
        As in FORMATS.
    about : str
        What it is, in a line.
    fields : tuple of Field
        Those that are looked at; of several of one name, the first that the file has.
    rows : callable
        How lines become cells.
    names : tuple of str
        Of all fields of a line, where the file has no header line.
    made : callable
        How fields become columns.
    skip : tuple of (str, callable), optional
        A field, and what tells from its text why a row is left out unread, None for one that is
        read.
    group : str
        A field by which rows belong together, "" for none.
    start : callable, optional
        From the header to the calendar's time at time 0.
    none : str
        A text that stands for none in any column.
    whole : callable, optional
        Reads a file that is no table, to columns, tags and edges.
    """

    name: str
    about: str
    fields: tuple[Field, ...]
    rows: Callable[[TextIO, dict[str, str]], Rows] = comma_rows
    names: tuple[str, ...] = ()
    made: Callable[[Raw], Made] = as_they_are
    skip: tuple[str, Callable[[str], str | None]] | None = None
    group: str = ""
    start: Callable[[Mapping[str, str]], datetime | None] | None = None
    none: str = ""
    whole: Callable[[TextIO], Any] | None = None
