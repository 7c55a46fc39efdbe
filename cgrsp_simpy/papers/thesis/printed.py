"""Every printed statement of the thesis's results, as entries of the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor

from cgrsp_simpy.papers import ledger
from cgrsp_simpy.papers.ledger import Entry
from cgrsp_simpy.papers.thesis.contradictions import decided
from cgrsp_simpy.papers.thesis.findings import FAILS, HOLDS, OPEN
from cgrsp_simpy.papers.thesis.notes import CANNOT
from cgrsp_simpy.papers.thesis.published import PRINTED
from cgrsp_simpy.papers.thesis.report import make_report
from cgrsp_simpy.papers.thesis.verdict import (
    AGREES,
    DIFFERS,
    INPUT,
    UNDECIDED,
    Judged,
)
from cgrsp_simpy.papers.thesis.wording import column_of, ours_of

OF_CELLS = {
    AGREES: ledger.REPRODUCED,
    DIFFERS: ledger.DIFFERENT,
    UNDECIDED: ledger.UNDECIDED,
    INPUT: ledger.UNTESTABLE,
}
OF_FINDINGS = {
    HOLDS: ledger.REPRODUCED,
    FAILS: ledger.DIFFERENT,
    OPEN: ledger.UNDECIDED,
}


def entries(
    seeds: int | None = None, executor: Executor | int | None = None
) -> Iterator[Entry]:
    """Yield the cells of all tables, the findings and what cannot be tested."""
    report = make_report(replications=seeds, executor=executor)
    of_t = {cell.row: cell.verdict for cell in report.cells if cell.column == "t"}
    for cell in filter(_is_printed, report.cells):
        yield _of_cell(cell, of_t)
    contradicted = {sentence for _, sentence, holds, _ in decided() if not holds}
    for finding in report.findings:
        verdict = OF_FINDINGS[finding.verdict]
        if finding.sentence in contradicted:
            verdict = ledger.CONTRADICTED
        reason = "; ".join(finding.reasons)
        yield Entry("thesis", finding.where, finding.sentence, verdict, reason=reason)
    for where, reason in CANNOT:
        yield Entry("thesis", where, "", ledger.UNTESTABLE, reason=reason)


def _is_printed(cell: Judged) -> bool:
    return bool(cell.printed) or cell.verdict == INPUT


def _of_cell(cell: Judged, of_t: Mapping[str, str]) -> Entry:
    """Return the entry of a cell; a p-value follows from the t beside it."""
    verdict = OF_CELLS[
        of_t[cell.row] if cell.column == "p" else cell.verdict or UNDECIDED
    ]
    n = PRINTED[cell.table].n if cell.table in PRINTED else 0
    return Entry(
        "thesis",
        f"Table {cell.table}",
        f"{cell.row}, {column_of(cell)}",
        verdict,
        cell.printed,
        ours_of(cell),
        "; ".join(filter(None, [cell.note, f"{n} seeds printed" * (n > 0)])),
    )


GROUPS = {"cgrsp papers tables thesis": entries}
