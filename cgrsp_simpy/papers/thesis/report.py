"""Reproduction report of printed and reproduced tables: Markdown, HTML or rows."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.base.table import Table, csv_text
from cgrsp_simpy.papers.thesis.experiments import TABLES, Measure
from cgrsp_simpy.papers.thesis.findings import FINDINGS, Verdict, told
from cgrsp_simpy.papers.thesis.notes import CANNOT
from cgrsp_simpy.papers.thesis.page import report_page
from cgrsp_simpy.papers.thesis.published import INPUTS, PRINTED
from cgrsp_simpy.papers.thesis.runs import Results, reproduce
from cgrsp_simpy.papers.thesis.verdict import (
    DIFFERS,
    Judged,
    Tally,
    inputs,
    judged,
    tally,
)
from cgrsp_simpy.papers.thesis.wording import (
    CANNOT_TITLE,
    FINDINGS_READING,
    FINDINGS_TITLE,
    READING,
    TITLE,
    column_of,
    heading,
    notes_of,
    ours_of,
    z_of,
)
from cgrsp_simpy.studies.store import Store, open_store

FINDING_TABLES = ("5.14", "6.1")
IDS = (INPUTS.id, *TABLES, *FINDING_TABLES)  # numbers of all tables of a report


@dataclass(frozen=True)
class Report:
    """Tables judged cell by cell, and findings.

    replications: for every table; None for the printed numbers. tables: number -> its
    figures in order.
    """

    replications: int | None
    tables: dict[str, list[Judged]]
    findings: list[Verdict]

    @property
    def cells(self) -> list[Judged]:
        """Every figure of every table."""
        return [each for found in self.tables.values() for each in found]

    @property
    def tally(self) -> Tally:
        """Tally of the cells that are means over seeds, each counted once."""
        return tally(self.cells)

    def summary(self) -> str:
        """Return one line per group of tables, and one on all."""
        month = tally(self.tables.get("5.13", ()))
        rest = tally(each for each in self.cells if each.table != "5.13")
        lines = [f"Tables 5.2 and 5.4 to 5.10: {rest}"] * bool(rest.cells) + [
            f"Table 5.13, the month: {month}"
        ] * bool(month.cells)
        return "\n".join(
            [*lines, f"together: {self.tally}"] if len(lines) > 1 else lines
        )

    def preface(self) -> list[str]:
        """Describe the replications and, if figures are judged, the meaning of z."""
        if all(math.isnan(each.z) for each in self.cells):
            return []
        return [f"Replications: {self.replications or 'as many as printed'}.", READING]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per figure."""
        return [
            {
                "table": each.table,
                "row": each.row,
                "column": column_of(each),
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
        """Return the report in Markdown."""
        parts = [
            f"# {TITLE}",
            *map(_wrapped, self.preface()),
            _bullets(self.summary().splitlines()),
        ]
        for id, found in self.tables.items():
            parts += [
                f"## {heading(id)}",
                _markdown_table(found),
                _bullets(notes_of(id, found)),
            ]
        if self.findings:
            parts += [
                f"## {FINDINGS_TITLE}",
                _wrapped(FINDINGS_READING),
                *map(_markdown_finding, self.findings),
            ]
        if len(self.tables) > 1:
            parts += [f"## {CANNOT_TITLE}", _bullets(text for _, text in CANNOT)]
        return "\n\n".join(filter(None, parts)) + "\n"

    def as_tables(self) -> list[Table]:
        """Return one table per table of the thesis, and one of the findings."""
        head = ["row", "column", "published", "reproduced", "z", "verdict"]
        tables = []
        for id, found in self.tables.items():
            cells = [
                [
                    each.row,
                    column_of(each),
                    each.printed,
                    ours_of(each),
                    z_of(each),
                    each.verdict,
                ]
                for each in found
            ]
            tables.append(
                Table(heading(id), [head, *cells], "\n".join(notes_of(id, found)))
            )
        if self.findings:
            sentences = [
                [each.where, each.sentence, each.verdict] for each in self.findings
            ]
            rows = [["where", "sentence", "verdict"], *sentences]
            tables.append(Table(FINDINGS_TITLE, rows, FINDINGS_READING))
        if tables and self.cells:
            notes = [tables[-1].note, self.summary(), *self.preface()]
            tables[-1] = tables[-1]._replace(note="\n".join(filter(None, notes)))
        return tables

    def html(self) -> str:
        """Return the report as one page that needs nothing else."""
        return report_page(
            self.tables, self.findings, self.preface(), self.summary().splitlines()
        )

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
    """Simulate the runs behind tables and judge every figure.

    ids: numbers of tables; 5.14 and 6.1 are the findings. replications: seeds (months
    for 5.13), by default the printed numbers. executor, out: as in `compare`; the
    report is written into the directory, too. Raises InputError for an unknown table.
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
    """Return the runs behind tables and the store; arguments as in `make_report`."""
    most = replications or max(
        (TABLES[id].seeds(None) for id in ids if id in TABLES), default=30
    )
    store = open_store(
        out, "thesis", {}, range(most), tables=list(ids), replications=replications
    )
    return reproduce(wanted_of(ids, replications), replications, executor, store), store


def wanted_of(
    ids: Sequence[str], replications: int | None = None
) -> list[tuple[Measure, int]]:
    """Return the measures of tables with numbers of seeds; InputError if unknown."""
    for id in ids:
        check_one_of("table", id, IDS)
    chosen = [TABLES[id] for id in ids if id in TABLES]
    wanted = [
        (cell.measure, table.seeds(replications))
        for table in chosen
        for cell in table.cells
    ]
    if _with_findings(ids):
        wanted += [
            (part.measure, replications or part.n)
            for finding in FINDINGS
            for part in finding.parts
        ]
    return wanted


def _with_findings(ids: Sequence[str]) -> bool:
    return any(id in FINDING_TABLES for id in ids)


# ---- Markdown ----


def _or_empty(number: float) -> float | str:
    return "" if math.isnan(number) else number


def _markdown_table(found: Sequence[Judged]) -> str:
    rows = [["", "", "published", "reproduced", "z", "verdict"]]
    for each in found:
        verdict = f"**{each.verdict}**" if each.verdict == DIFFERS else each.verdict
        rows.append(
            [
                each.row,
                column_of(each),
                each.printed,
                ours_of(each),
                z_of(each),
                verdict,
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
        for row in rows
    ]
    return "\n".join(
        [
            lines[0],
            "|" + "|".join("-" * (width + 2) for width in widths) + "|",
            *lines[1:],
        ]
    )


def _markdown_finding(found: Verdict) -> str:
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
