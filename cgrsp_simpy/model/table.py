"""Rows of figures to CSV and pandas."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

__all__ = ["csv_text", "plain", "to_pandas", "write_csv"]

Rows = Sequence[Mapping[str, Any]]


def csv_text(rows: Rows) -> str:
    """The rows as CSV with a header line; numbers in full."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def write_csv(path: str | Path, rows: Rows) -> None:
    """Write the rows to a CSV file."""
    Path(path).write_text(csv_text(rows), encoding="utf-8")


def to_pandas(rows: Rows) -> pandas.DataFrame:
    """The rows as a pandas DataFrame.

    Raises ImportError that names the extra where pandas is missing.
    """
    try:
        import pandas
    except ImportError:
        raise ImportError('pandas is missing: pip install "cgrsp_simpy[pandas]"') from None
    return pandas.DataFrame(list(rows))


def plain(figures: Mapping[str, float]) -> dict[str, float | None]:
    """Figures for JSON, which has no NaN: None where a figure does not exist."""
    return {name: None if math.isnan(value) else value for name, value in figures.items()}
