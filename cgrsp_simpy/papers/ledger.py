"""Ledger of the papers' printed statements, with our values and verdicts.

Each paper's `printed` module has `GROUPS`: per command a function of the seeds and the
executor that returns entries. Untestable statements also have an entry, with the
reason.
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module, resources
from operator import attrgetter
from typing import Any

from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.table import Table, cells_of, from_cell, grouped

PAPERS = ("thesis", "waiting", "cluster", "hgsp", "dag")
# in the folder data: the output of cgrsp papers check --format csv
RECORD = "ledger.csv"
REPRODUCED, DIFFERENT, UNDECIDED = "reproduced", "different", "undecided"
CONTRADICTED, IMPOSSIBLE = "contradicted", "impossible"
UNTESTABLE = "not testable"
MEANING = {
    REPRODUCED: "ours agrees with the printed number, or the claim holds",
    DIFFERENT: "ours differs by more than chance, or the claim does not hold",
    UNDECIDED: "too few seeds to say",
    CONTRADICTED: "the document's own numbers contradict it",
    IMPOSSIBLE: "no data can have it",
    UNTESTABLE: "what would be needed is not public",
}


NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
# an interval wider than this part of the printed number confirms nothing
WIDEST = 0.25


@dataclass(frozen=True)
class Entry:
    """Printed statement and its verdict.

    where: table, figure or section. statement: the quantity, or the claim. ours: our
    value, with its 95 % interval. reason: reason for the verdict, or why untestable.
    command: command that computes the entry's group. seconds: CPU time of the group,
    all workers together. paper: name of the document. `of_paper` sets the last three.
    """

    where: str
    statement: str
    verdict: str
    printed: str = ""
    ours: str = ""
    reason: str = ""
    command: str = ""
    seconds: int = field(default=0, compare=False)
    paper: str = ""


def of_paper(paper: str, statements: Iterable[Entry], **more: Any) -> list[Entry]:
    """Return entries with the name of their paper. more: other fields to set."""
    return [replace(entry, paper=paper, **more) for entry in statements]


def claimed(
    where: str,
    statement: str,
    holds: bool,
    ours: str = "",
    reason: str = "",
    printed: str = "",
    otherwise: str = CONTRADICTED,
) -> Entry:
    """Return an entry: reproduced if the statement holds, else with another verdict."""
    verdict = REPRODUCED if holds else otherwise
    return Entry(where, statement, verdict, printed, ours, reason)


def compared(
    where: str,
    statement: str,
    printed: str,
    ours: float,
    reason: str = "",
    within: float | None = None,
    otherwise: str = CONTRADICTED,
) -> Entry:
    """Judge the first number of a printed text.

    within: the greatest difference that agrees, which the reason then names; by default
    half a unit of the last digit.
    """
    (digits,) = NUMBER.findall(printed)[:1]
    value = float(digits.replace(",", ""))
    half = 10.0 ** -len(digits.partition(".")[2]) / 2
    agrees = abs(ours - value) <= (half if within is None else within)
    reason += "" if within is None else f" (tolerance {within:,.5g})"
    shown = f"{ours:,.0f}" if abs(ours) >= 1000 else f"{ours:.4g}"
    return claimed(where, statement, agrees, shown, reason, printed, otherwise)


Setting = tuple[str, str, str, Sequence[float]]
"""Place, subject, printed text, and our values for its numbers."""


def settings(statements: Mapping[str, Iterable[Setting]]) -> list[Entry]:
    """Compare printed settings of experiments with those of the package.

    statements: reason -> settings.
    """
    return [
        claimed(
            where,
            statement,
            [float(text.replace(",", "")) for text in NUMBER.findall(printed)]
            == [*values],
            ours=", ".join(f"{value:,g}" for value in values),
            reason=reason,
            printed=printed,
            otherwise=DIFFERENT,
        )
        for reason, rows in statements.items()
        for where, statement, printed, values in rows
    ]


def untestable(statements: Mapping[str, Iterable[tuple[str, str, str]]]) -> list[Entry]:
    """Return entries of statements by the reason why they cannot be tested.

    statements: reason -> rows of place, subject and printed text.
    """
    return [
        Entry(where, statement, UNTESTABLE, printed=printed, reason=reason)
        for reason, rows in statements.items()
        for where, statement, printed in rows
    ]


def verdict_of(printed: float, ours: Mean, rounding: float = 0.0) -> str:
    """Return the verdict on a printed mean, given ours with its 95 % interval."""
    if not ours.low - rounding <= printed <= ours.high + rounding:
        return DIFFERENT if ours.n > 1 else UNDECIDED
    narrow = ours.half_width <= WIDEST * abs(printed) + rounding
    return REPRODUCED if narrow else UNDECIDED


def entries(
    papers: Iterable[str],
    seeds: int | None = None,
    executor: Executor | int | None = None,
) -> Iterator[Entry]:
    """Yield the entries of papers, in the order of the documents.

    seeds: number of seeds of every simulation; by default as printed.
    """
    for paper in papers:
        printed = import_module(f"cgrsp_simpy.papers.{paper}.printed")
        for command, make in printed.GROUPS.items():
            start_s = _computed_s()
            group = [*make(seeds, executor)]
            seconds = round(_computed_s() - start_s)
            yield from of_paper(paper, group, command=command, seconds=seconds)


def _computed_s() -> float:
    """Return the CPU seconds of this process and of ended workers so far."""
    return summed(os.times()[:4])


def recorded() -> list[Entry]:
    """Return the recorded entries, which have as many seeds as printed."""
    text = resources.files("cgrsp_simpy").joinpath(f"data/{RECORD}").read_text("utf-8")
    return [
        Entry(**{name: from_cell(cell) for name, cell in row.items()}, seconds=seconds)
        for row in csv.DictReader(text.splitlines())
        for seconds in [int(row.pop("seconds"))]
    ]


def recorded_s(papers: Iterable[str]) -> float:
    """Return the CPU seconds that the recorded entries of papers took."""
    groups = {(entry.paper, entry.command): entry.seconds for entry in recorded()}
    return summed(seconds for (paper, _), seconds in groups.items() if paper in papers)


def lost(statements: Iterable[Entry]) -> list[Entry]:
    """Return the entries that were reproduced when recorded, but no longer are."""
    agreed = {
        (entry.paper, entry.where, entry.statement)
        for entry in recorded()
        if entry.verdict == REPRODUCED
    }
    return [
        entry
        for entry in statements
        if entry.verdict != REPRODUCED
        and (entry.paper, entry.where, entry.statement) in agreed
    ]


def summary(statements: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the number of entries per paper and verdict, and in total."""
    papers = grouped(statements, lambda entry: entry.paper)
    every = {"all": statements} if len(papers) > 1 else {}
    return [
        {"paper": paper, **{verdict: counted[verdict] for verdict in MEANING}}
        for paper, group in (papers | every).items()
        for counted in [Counter(entry.verdict for entry in group)]
    ]


def rows(statements: Iterable[Entry]) -> list[dict[str, Any]]:
    """Return the entries as rows."""
    return [{"paper": entry.paper} | asdict(entry) for entry in statements]


def tables(statements: Sequence[Entry], every: bool = False) -> list[Table]:
    """Return the summary and, per command, all entries or those not reproduced."""
    note = "\n".join(f"{verdict}: {text}" for verdict, text in MEANING.items())
    result = [Table("Printed statements", cells_of(summary(statements)), note)]
    for head, group in by_command(statements).items():
        shown = [entry for entry in group if every or entry.verdict != REPRODUCED]
        if shown:
            result.append(listed(f"{shown[0].paper}: {head}", shown))
    return result


def listed(head: str, statements: Iterable[Entry]) -> Table:
    """Return a table of one line per entry."""
    return Table("", [[head], *([line(entry)] for entry in statements)])


def by_command(statements: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Group the entries by the command that computes them, with its seconds."""
    return grouped(statements, lambda entry: f"{entry.command} ({entry.seconds} s)")


def by_place(statements: Iterable[Entry]) -> list[Table]:
    """Return one table per table, figure or section of a document."""
    columns = ("statement", "printed", "ours", "verdict", "reason")
    return [
        Table(where, [columns, *(map(attrgetter(*columns), entries))])
        if any(entry.printed for entry in entries)
        else listed(where, entries)  # sentences, with long reasons
        for where, entries in grouped(statements, lambda entry: entry.where).items()
    ]


def line(entry: Entry) -> str:
    """Return an entry as one line."""
    what = f"{entry.where}, {entry.statement}" if entry.statement else entry.where
    parts = [
        f"printed {entry.printed}" if entry.printed else "",
        f"ours {entry.ours}" if entry.ours else "",
        entry.reason,
    ]
    return f"{entry.verdict}: {what}" + "".join(f"; {part}" for part in parts if part)
