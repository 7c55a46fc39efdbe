"""The reproduction report: every table as printed and as reproduced, in Markdown, in one HTML
page, or as rows.
"""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgrsp_simpy.model.table import csv_text
from cgrsp_simpy.studies.page import bullets, page, paragraph
from cgrsp_simpy.studies.store import Store
from cgrsp_simpy.thesis.experiments import TABLES, Measure, tables_of
from cgrsp_simpy.thesis.findings import FINDINGS, Told, told
from cgrsp_simpy.thesis.notes import CANNOT, TABLE_NOTES
from cgrsp_simpy.thesis.published import INPUTS, PRINTED, Printed
from cgrsp_simpy.thesis.runs import Results, reproduce, store_of
from cgrsp_simpy.thesis.verdict import (
    DIFFERS,
    LIMIT,
    Judged,
    Tally,
    composite_error,
    decimals,
    inputs,
    judged,
    tally,
)

__all__ = ["IDS", "Report", "make_report", "run_tables", "wanted_of"]

FINDING_TABLES = ("5.14", "6.1")
IDS = (INPUTS.id, *TABLES, *FINDING_TABLES)


@dataclass(frozen=True)
class Report:
    """Tables judged cell by cell, and findings.

    replications: wanted for every table; None for the printed numbers. tables: number -> its
    figures in order.
    """

    replications: int | None
    tables: dict[str, list[Judged]]
    findings: list[Told]

    @property
    def cells(self) -> list[Judged]:
        """Every figure of every table."""
        return [each for found in self.tables.values() for each in found]

    @property
    def tally(self) -> Tally:
        """The tally of the cells that are means over seeds, each counted once."""
        return tally(self.cells)

    def summary(self) -> str:
        """One line a group of tables, and one on the whole."""
        month = tally(self.tables.get("5.13", ()))
        rest = tally(each for each in self.cells if each.table != "5.13")
        lines = [f"Tables 5.2 and 5.4 to 5.10: {rest}"] * bool(rest.cells) + [
            f"Table 5.13, the month: {month}"
        ] * bool(month.cells)
        return "\n".join([*lines, f"together: {self.tally}"] if len(lines) > 1 else lines)

    def preface(self) -> list[str]:
        """How many replications there are, and how z is to be read, where figures are judged."""
        if all(math.isnan(each.z) for each in self.cells):
            return []
        return [f"Replications: {self.replications or 'as many as printed'}.", READING]

    def rows(self) -> list[dict[str, Any]]:
        """One dict a figure."""
        return [
            {
                "table": each.table,
                "row": each.row,
                "column": _column(each),
                "published": each.printed,
                "published_n": PRINTED[each.table].n if each.table in PRINTED else "",
                "reproduced": each.ours,
                "half_width_95": _or_empty(each.half_width),
                "n": each.n,
                "z": _or_empty(each.z),
                "verdict": each.verdict,
                "counted": each.counted,
                "note": each.note,
            }
            for each in self.cells
        ]

    def markdown(self) -> str:
        """The report in Markdown."""
        parts = [
            f"# {TITLE}",
            *map(_wrapped, self.preface()),
            _bullets(self.summary().splitlines()),
        ]
        for id, found in self.tables.items():
            parts += [f"## {_heading(id)}", _markdown_table(found), _bullets(_notes(id, found))]
        if self.findings:
            parts += [
                f"## {FINDINGS_TITLE}",
                _wrapped(FINDINGS_READING),
                *map(_markdown_finding, self.findings),
            ]
        if len(self.tables) > 1:
            parts += ["## What cannot be reproduced, and why", _bullets(CANNOT)]
        return "\n\n".join(filter(None, parts)) + "\n"

    def html(self) -> str:
        """The report as one page that needs nothing else."""
        body = [
            f"<h1>{TITLE}</h1>",
            *map(paragraph, self.preface()),
            bullets(self.summary().splitlines(), "summary"),
        ]
        for id, found in self.tables.items():
            body += [f'<h2 id="t{id}">{html.escape(_heading(id))}</h2>', _html_table(found)]
        if self.findings:
            body += [
                f"<h2>{FINDINGS_TITLE}</h2>",
                paragraph(FINDINGS_READING),
                _html_findings(self.findings),
            ]
        body += ["<h2>What cannot be reproduced, and why</h2>", bullets(CANNOT)]
        return page(TITLE, body)

    def write(self, folder: Any) -> None:
        """Write report.md, report.html and cells.csv into a results directory."""
        folder.write("report.md", self.markdown())
        folder.write("report.html", self.html())
        folder.write("cells.csv", csv_text(self.rows()))


def make_report(
    ids: Sequence[str] = IDS,
    replications: int | None = None,
    executor: Executor | int | None = None,
    out: str | Path | None = None,
) -> Report:
    """Carry out the runs behind tables and judge every figure.

    ids: numbers of tables; 5.14 and 6.1 are the findings. replications: seeds (months for 5.13)
    in place of the printed numbers. executor, out: as in `compare`; the report is written into
    the directory, too.

    Raises InputError for a table that does not exist.
    """
    results, store = run_tables(ids, replications, executor, out)
    tables = {
        id: inputs() if id == INPUTS.id else judged(TABLES[id], results)
        for id in ids
        if id not in FINDING_TABLES
    }
    report = Report(replications, tables, told(results) if _with_findings(ids) else [])
    if store:
        report.write(store)
    return report


def run_tables(
    ids: Sequence[str],
    replications: int | None = None,
    executor: Executor | int | None = None,
    out: str | Path | None = None,
) -> tuple[Results, Store | None]:
    """Carry out the runs behind tables, or take them from a results directory; the arguments are
    those of `make_report`.
    """
    store = store_of(out, ids, replications)
    return reproduce(wanted_of(ids, replications), replications, executor, store), store


def wanted_of(ids: Sequence[str], replications: int | None = None) -> list[tuple[Measure, int]]:
    """What is measured for tables, each on how many seeds; raises InputError for a table that does
    not exist.
    """
    chosen = tables_of([id for id in ids if id not in (INPUTS.id, *FINDING_TABLES)])
    wanted = [(cell.measure, table.seeds(replications)) for table in chosen for cell in table.cells]
    if _with_findings(ids):
        wanted += [
            (part.measure, replications or part.n) for finding in FINDINGS for part in finding.parts
        ]
    return wanted


def _with_findings(ids: Sequence[str]) -> bool:
    return any(id in FINDING_TABLES for id in ids)


# ---- Text ----

TITLE = "The thesis's tables, printed and reproduced"
READING = (
    "z = (published - reproduced) / (between-seed deviation x sqrt(1 / published n + 1 /"
    " reproduced n)), the rounding of the printed figure discounted; a cell agrees when |z|"
    f" is at most {LIMIT}, as 95 % of the cells of a perfect model do. ± is the 95 % half width"
    " of the reproduced figure. Other statistics than means have their errors from drawing"
    " our seeds again."
)
FINDINGS_TITLE = "Tables 5.14 and 6.1, and sentences of the text"
FINDINGS_READING = (
    "Each is restated as a test on the reproduced figures: it holds when every part's 95 % interval"
    " lies within the bounds, does not hold when one lies outside, and is not decidable at these"
    " seeds otherwise. Policies tie where |d| is below 0.8."
)


def _heading(id: str) -> str:
    return f"Table {id}. {printed_table(id).caption}"


def printed_table(id: str) -> Printed:
    """A printed table by its number."""
    return INPUTS if id == INPUTS.id else PRINTED[id]


def _column(each: Judged) -> str:
    return f"{each.column}: {each.part}" if each.part else each.column


def _ours(each: Judged) -> str:
    return (
        each.ours
        if math.isnan(each.half_width)
        else f"{each.ours} ± {each.half_width:.{decimals(each.ours)}f}"
    )


def _z(each: Judged) -> str:
    return "" if math.isnan(each.z) else f"{each.z:+.1f}".replace("-0.0", "+0.0")


def _or_empty(number: float) -> float | str:
    return "" if math.isnan(number) else number


MOST_NAMED = 6  # cells that a note names; one on more belongs to the table


def _notes(id: str, found: Iterable[Judged]) -> list[str]:
    """The notes of a table, each once, with the cells that it belongs to."""
    cells: dict[str, list[str]] = {}
    for each in found:
        if each.note:
            cells.setdefault(each.note, []).append(f"{each.row}, {_column(each)}")
    notes = [
        f"{'; '.join(names)}: {note}" if len(names) <= MOST_NAMED else note
        for note, names in cells.items()
    ]
    if id == "5.11":
        notes.append(
            "from the printed cells of Table 5.7 at C_max = 5 all entries follow within"
            f" {composite_error():.3f}"
        )
    return [*notes, *TABLE_NOTES.get(id, ())]


# ---- Markdown ----


def _markdown_table(found: Sequence[Judged]) -> str:
    rows = [["", "", "published", "reproduced", "z", "verdict"]]
    rows += [
        [each.row, _column(each), each.printed, _ours(each), _z(each), _sign(each)]
        for each in found
    ]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
        for row in rows
    ]
    return "\n".join(
        [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]
    )


def _sign(each: Judged) -> str:
    return f"**{each.verdict}**" if each.verdict == DIFFERS else each.verdict


def _markdown_finding(found: Told) -> str:
    return (
        f"{found.where}: {found.sentence}. **{found.verdict.capitalize()}.**\n\n"
        f"{_bullets(found.reasons)}"
    )


def _wrapped(text: str, first: str = "", rest: str = "") -> str:
    return textwrap.fill(
        text, 110, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(_wrapped(line, "- ", "  ") for line in lines)


# ---- HTML ----


def _html_table(found: Sequence[Judged]) -> str:
    """The printed table's shape: above the published figure, below ours."""
    columns = list(
        dict.fromkeys([*printed_table(found[0].table).columns, *(each.column for each in found)])
    )
    lines = [
        "<tr><th></th>" + "".join(f"<th>{html.escape(column)}</th>" for column in columns) + "</tr>"
    ]
    for row in dict.fromkeys(each.row for each in found):
        cells = (
            [each for each in found if (each.row, each.column) == (row, column)]
            for column in columns
        )
        lines.append(f"<tr><th>{html.escape(row)}</th>" + "".join(map(_html_cell, cells)) + "</tr>")
    notes = _notes(found[0].table, found)
    return f'<div class="wide"><table>{"".join(lines)}</table></div>' + (
        bullets(notes, "notes") if notes else ""
    )


def _html_cell(figures: Sequence[Judged]) -> str:
    return "<td>" + "".join(map(_html_figure, figures)) + "</td>"


def _html_figure(each: Judged) -> str:
    mark = f" <b>≠</b>{_z_told(each)}" if each.verdict == DIFFERS else ""
    hint = f' title="{html.escape(each.note)}"' if each.note else ""
    ours = f'<span class="ours">{html.escape(_ours(each))}</span>'
    return f'<div class="{each.verdict}"{hint}>{html.escape(each.printed)}{mark}<br>{ours}</div>'


def _z_told(each: Judged) -> str:
    return "" if math.isnan(each.z) else f" <small>z {_z(each)}</small>"


def _html_findings(findings: Sequence[Told]) -> str:
    kinds = {"holds": "holds", "does not hold": "fails", "not decidable": "open"}
    lines = ["<tr><th>where</th><th>what it says</th><th>verdict</th><th>why</th></tr>"]
    for each in findings:
        why = "<br>".join(map(html.escape, each.reasons))
        cells = (
            f'<td class="text">{html.escape(each.where)}</td><td'
            f' class="text">{html.escape(each.sentence)}</td>'
        )
        verdict = f'<td class="text {kinds[each.verdict]}">{each.verdict}</td>'
        lines.append(f'<tr>{cells}{verdict}<td class="text">{why}</td></tr>')
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'
