"""Answers of commands: one document in five formats."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from cgrsp_simpy.base.table import Table, csv_text, figure_text, json_text

FORMATS = ("table", "csv", "json", "markdown", "latex")


class Answer(NamedTuple):
    """Text for stdout, and the exit status."""

    text: str
    status: int = 0


def document(
    subject: str,
    figures: Sequence[Mapping[str, Any]],
    *,
    parameters: Mapping[str, Any] | None = None,
    alternatives: Sequence[str] = (),
    seeds: Sequence[int] = (),
    **more: Any,
) -> dict[str, Any]:
    """Return what every command answers in JSON.

    subject: the scenario, log or paper. figures: one row per alternative, or per row of
    the table; a mean is an object of mean, ci95 and n. parameters: those that were
    given. alternatives: policies, or what else is compared. seeds: of the runs. more:
    what only this command answers.
    """
    return {
        "subject": subject,
        "parameters": dict(parameters or {}),
        "alternatives": list(alternatives),
        "seeds": list(seeds),
        "figures": list(figures),
        **more,
    }


def formatted(
    args: argparse.Namespace,
    content: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    tables: Callable[[], Sequence[Table]],
    status: int = 0,
) -> Answer:
    """Return an answer in the requested format.

    content: from `document`, for JSON. rows: for CSV. tables: returns those to read.
    """
    if args.format == "json":
        return Answer(json_text(content), status)
    if args.format == "csv":
        return Answer(csv_text(rows).rstrip("\n"), status)
    made = {"table": Table.text, "markdown": Table.markdown, "latex": Table.latex}
    return Answer("\n\n".join(map(made[args.format], tables())), status)


def cells_of(
    rows: Sequence[Mapping[str, Any]], shown: Callable[[Any], str] = figure_text
) -> list[list[str]]:
    """Return rows as table cells, below the column names. shown: formats a value."""
    return [list(rows[0]), *([shown(value) for value in row.values()] for row in rows)]


def short_text(value: Any) -> str:
    """Format a number in four digits or as a whole one; a dash for None."""
    if isinstance(value, int | float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return "-" if value is None else str(value)
