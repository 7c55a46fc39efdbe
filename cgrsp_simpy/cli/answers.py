"""Output of commands: one document in five formats."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from cgrsp_simpy.base.table import Table, csv_text, json_text

FORMATS = ("table", "csv", "json", "markdown", "latex")


class Answer(NamedTuple):
    """Text for stdout, and the exit status."""

    text: str
    status: int = 0


def formatted(
    args: argparse.Namespace,
    content: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    tables: Callable[[], Sequence[Table]],
    status: int = 0,
) -> Answer:
    """Return a command's output in the requested format.

    content: from `document`, for JSON. rows: for CSV. tables: returns those for other
    formats.
    """
    if args.format == "json":
        return Answer(json_text(content), status)
    if args.format == "csv":
        return Answer(csv_text(rows).rstrip("\n"), status)
    made = {
        "table": Table.text,
        "markdown": Table.markdown,
        "latex": Table.latex,
        "html": Table.html,
    }
    return Answer("\n\n".join(map(made[args.format], tables())), status)
