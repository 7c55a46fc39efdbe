"""Every printed statement of the thesis's results, as entries of the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path

from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.papers.ledger import UNTESTABLE, Entry
from cgrsp_simpy.papers.thesis.experiments import TABLES, Measure
from cgrsp_simpy.papers.thesis.notes import CANNOT
from cgrsp_simpy.papers.thesis.published import INPUTS
from cgrsp_simpy.papers.thesis.readings import readings
from cgrsp_simpy.papers.thesis.runs import Results, reproduce
from cgrsp_simpy.papers.thesis.statements import CLAIMS, judged_claims
from cgrsp_simpy.papers.thesis.verdict import Judged, inputs, judged
from cgrsp_simpy.studies.store import Store, open_store

OF_CLAIMS = ("5.14", "6.1")  # tables of sentences, with which all others are judged
IDS = (*INPUTS, *TABLES, *OF_CLAIMS)  # of all tables, and of numbers of the text


def entries(
    seeds: int | None = None,
    executor: Executor | int | None = None,
    ids: Sequence[str] = IDS,
    out: str | Path | None = None,
) -> Iterator[Entry]:
    """Yield the cells of tables, the sentences, the readings and what is not testable.

    seeds: replications (months for 5.13), by default the printed numbers. ids: of
    tables; 5.14 or 6.1 selects all sentences. executor, out: as in `compare`. Raises
    InputError for an unknown table.
    """
    results, _ = run_tables(ids, seeds, executor, out)
    for cell in judged_cells(results, ids):
        if cell.printed or cell.verdict == UNTESTABLE:
            yield cell.entry()
    if {*ids} & {*OF_CLAIMS}:
        yield from judged_claims(results)
    if [*ids] == [*IDS]:
        yield from readings(results, executor)
        for where, reason in CANNOT:
            yield Entry("thesis", where, "", UNTESTABLE, reason=reason)


def judged_cells(results: Results, ids: Sequence[str]) -> Iterator[Judged]:
    """Yield the figures of tables, compared with ours."""
    for id in ids:
        if id not in OF_CLAIMS:
            yield from judged(TABLES[id], results) if id in TABLES else inputs(id)


def run_tables(
    ids: Sequence[str],
    replications: int | None = None,
    executor: Executor | int | None = None,
    out: str | Path | None = None,
) -> tuple[Results, Store | None]:
    """Return the runs behind tables and the store; arguments as in `entries`."""
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
    wanted = [
        (cell.measure, TABLES[id].seeds(replications))
        for id in ids
        if id in TABLES
        for cell in TABLES[id].cells
    ]
    if {*ids} & {*OF_CLAIMS}:
        wanted += [
            (part.measure, replications or part.n)
            for claim in CLAIMS
            for part in claim.parts
            if isinstance(part.measure, Measure)
        ]
    return wanted


GROUPS = {"cgrsp papers tables thesis": entries}
