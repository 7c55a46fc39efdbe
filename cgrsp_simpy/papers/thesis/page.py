"""Reproduction report as one HTML page, by chapter and section, with published figures
labelled "thesis" above ours, labelled "here".
"""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from cgrsp_simpy.papers.thesis.findings import FINDINGS, RECORDED, Verdict
from cgrsp_simpy.papers.thesis.notes import CANNOT
from cgrsp_simpy.papers.thesis.verdict import (
    AGREES,
    DIFFERS,
    INPUT,
    SHOWN,
    UNDECIDED,
    Judged,
    tally,
)
from cgrsp_simpy.papers.thesis.wording import (
    CANNOT_TITLE,
    FINDINGS_READING,
    TITLE,
    heading,
    notes_of,
    ours_of,
    printed_table,
    z_of,
)
from cgrsp_simpy.studies.page import bullets, page, paragraph

CHAPTERS = {
    "3": "Problem formulation and mathematical model",
    "4": "System design and scheduling algorithms",
    "5": "Experimental results and analysis",
    "6": "Discussion and future work",
}
SECTIONS = {  # section of the thesis -> title and tables
    "3.6": ("Optimisation Objective", ()),
    "4.3": ("GPU Fleet Model", ("4.1",)),
    "5.1.1": ("Platform and Data", ()),
    "5.2": ("Phase 2: Seven-Scheduler Benchmark", ("5.1",)),
    "5.3": ("Phase 3 Statistical Validation", ("5.2", "5.3")),
    "5.4": ("Ablation Analysis", ("5.4",)),
    "5.5.1": ("Day-Type Sensitivity", ("5.5",)),
    "5.5.2": ("Deadline Tightness Sensitivity", ("5.6",)),
    "5.5.3": ("Concurrency Limit Sensitivity", ("5.7",)),
    "5.5.4": ("Rescue Threshold Sensitivity", ("5.8",)),
    "5.5.5": ("Critical-Ratio Threshold Sensitivity", ("5.9",)),
    "5.5.6": ("Anticipation Reservation Sensitivity", ("5.10",)),
    "5.5.7": ("Objective-Weight Sensitivity", ("5.11", "5.12")),
    "5.6": ("Phase 4: Monthly Operational Simulation", ("5.13",)),
    "5.7": ("Summary of Findings", ("5.14",)),
    "6.1.1": ("Choosing Between RH and CADR", ("6.1",)),
}
KEY = {  # verdict -> meaning of its colour
    AGREES: "agrees: within sampling noise",
    DIFFERS: "differs, marked ≠ with its z",
    UNDECIDED: "undecided: too few seeds",
    INPUT: "inferred: an input that the thesis does not print",
    SHOWN: "white: shown, and not judged",
}
# of findings
KINDS = {"holds": "holds", "does not hold": "fails", "not decidable": "open"}
STYLE = """
body { max-width: 76rem }
h2 { border-bottom: 2px solid #ccc }
h3 { font-size: 1.02rem; margin: 1.6rem 0 .4rem }
table { font-size: .78rem; margin-bottom: .6rem }
.cells th, .cells td div { padding: .2rem .3rem }
.cells td { white-space: normal }
.cells span { white-space: nowrap }
.tests td { width: 38% }
.tests td:nth-child(2) { width: 22% }
th.who { font-weight: 400; font-style: italic; color: #444 }
tr.printed td, tr.printed th.who { border-bottom: none; font-style: italic }
tr.here td, tr.here th.who { border-top: 1px dotted #999 }
.key span {
  display: inline-block; border: 1px solid #ccc; padding: 0 .5rem; margin: .2rem
}
.chapter { background: #f6f6f6; border-left: 4px solid #888; padding: .4rem 1rem }
nav { font-size: .88rem; columns: 2 }
a { color: #084594 }
@page { size: A4; margin: 12mm }
@media print {
  body { font-size: 9pt; margin: 0; max-width: none; padding: 0 }
  body { print-color-adjust: exact; -webkit-print-color-adjust: exact }
  table { font-size: 6.4pt; width: 100% }
  th, td, td.text { white-space: normal }
  th, td.text, td div { padding: .1rem .2rem }
  .wide { overflow: visible }
  .cells tr, .said tr, .key, .chapter { break-inside: avoid }
  h2, h3, p[id], tr.printed, thead { break-after: avoid }
  a { color: inherit }
}
"""


def report_page(
    tables: Mapping[str, Sequence[Judged]],
    findings: Sequence[Verdict],
    preface: Sequence[str],
    summary: Sequence[str],
) -> str:
    """Return the report as HTML that needs nothing else.

    tables: number of a table -> its judged figures. findings: with their verdicts.
    preface: replications and the meaning of z. summary: on all tables.
    """
    numbered = list(enumerate(findings, start=1))
    body = [
        f"<h1>{html.escape(TITLE)}</h1>",
        *map(paragraph, preface),
        bullets(summary, "summary"),
    ]
    body += [_key(), _contents(tables, findings)]
    for chapter, title in CHAPTERS.items():
        own = {id: found for id, found in tables.items() if id.startswith(chapter)}
        said = [
            (number, each) for number, each in numbered if _section(each)[0] == chapter
        ]
        if own or said:
            body += [f'<h2 id="c{chapter}">Chapter {chapter}. {title}</h2>']
            body += [_summary(own, [each for _, each in said])]
            body += _sections(chapter, own, said)
    if findings:
        body += [
            '<h2 id="tests">The tests of the findings</h2>',
            paragraph(FINDINGS_READING),
        ]
        body += [_tests(numbered)]
    body += [f"<h2>{CANNOT_TITLE}</h2>", bullets(text for _, text in CANNOT)]
    return page(TITLE, body, STYLE)


def _key() -> str:
    spans = "".join(
        f'<span class="{verdict}">{html.escape(text)}</span>'
        for verdict, text in KEY.items()
    )
    told = (
        "In each table <i>thesis</i> is the published figure and <b>here</b> the"
        " reproduced one,"
    )
    return (
        f'<p class="key">{told} ± half of its 95 % interval; –: not printed. Colours:'
        f" {spans}</p>"
    )


def _contents(
    tables: Mapping[str, Sequence[Judged]], findings: Sequence[Verdict]
) -> str:
    """Return one line per section with content, with links."""
    there = {_section(each) for each in findings}
    lines = []
    for number, (title, ids) in SECTIONS.items():
        links = [f'<a href="#t{id}">Table {id}</a>' for id in ids if id in tables]
        if links or number in there:
            more = f": {', '.join(links)}" if links else ""
            lines.append(
                f'<li><a href="#s{number}">Section {number}</a> {title}{more}</li>'
            )
    return f"<nav><ul>{''.join(lines)}</ul></nav>"


def _section(each: Verdict) -> str:
    """Return the section of a finding or of its table."""
    kind, number = each.where.split(",")[0].split()
    if kind == "Table":
        return next(name for name, (_, ids) in SECTIONS.items() if number in ids)
    return number if kind == "Section" else "3.6"  # of Eq. 3.10


def _summary(
    tables: Mapping[str, Sequence[Judged]], findings: Sequence[Verdict]
) -> str:
    """Summarise the agreement in a chapter."""
    lines = []
    cells = [figure for figures in tables.values() for figure in figures]
    counted = tally(cells)
    if counted.cells:
        lines.append(f"Means over seeds, each counted once: {counted}.")
    count = Counter(cell.verdict for cell in cells)
    if judged := count[AGREES] + count[DIFFERS] + count[UNDECIDED]:
        differ = [
            f"{id}: {number}"
            for id, figures in tables.items()
            if (number := sum(figure.verdict == DIFFERS for figure in figures))
        ]
        undecided = f", {count[UNDECIDED]} are undecided" if count[UNDECIDED] else ""
        where = f"; those that differ, by table: {', '.join(differ)}" if differ else ""
        lines.append(
            f"Of all {judged} judged figures {count[AGREES]} agree{undecided}{where}."
        )
    if findings:
        often = Counter(finding.verdict for finding in findings)
        numbers = [
            f"{verdict}: {often[verdict]}" for verdict in KINDS if often[verdict]
        ]
        lines.append(f"Findings tested: {len(findings)}; {', '.join(numbers)}.")
    return f'<div class="chapter">{bullets(lines)}</div>' if lines else ""


def _sections(
    chapter: str,
    tables: Mapping[str, Sequence[Judged]],
    said: Sequence[tuple[int, Verdict]],
) -> list[str]:
    """Return the tables and tested sentences of each section."""
    body = []
    for number, (title, ids) in SECTIONS.items():
        own = [(place, each) for place, each in said if _section(each) == number]
        there = [id for id in ids if id in tables]
        if not number.startswith(chapter) or not (own or there):
            continue
        body.append(f'<h3 id="s{number}">Section {number}. {title}</h3>')
        for id in there:
            body.append(f'<p id="t{id}"><b>{html.escape(heading(id))}</b></p>')
            body.append(_table(tables[id]))
        if own:
            body.append(_findings(own))
    return body


def _table(found: Sequence[Judged]) -> str:
    """Return a table as printed, with a line of the thesis and one of ours per row."""
    columns = list(
        dict.fromkeys(
            [*printed_table(found[0].table).columns, *(each.column for each in found)]
        )
    )
    heads = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    lines = []
    for row in dict.fromkeys(each.row for each in found):
        cells = [
            [each for each in found if (each.row, each.column) == (row, column)]
            for column in columns
        ]
        name = f'<th rowspan="2">{html.escape(row)}</th>'
        theirs, ours = (
            "".join(
                f"<td>{''.join(_figure(each, here) for each in own)}</td>"
                for own in cells
            )
            for here in (0, 1)
        )
        lines.append(
            f'<tr class="printed">{name}<th class="who">thesis</th>{theirs}</tr>'
        )
        lines.append(f'<tr class="here"><th class="who"><b>here</b></th>{ours}</tr>')
    notes = notes_of(found[0].table, found)
    table = _html_table(f"<th></th><th></th>{heads}", lines, "cells")
    return table + (bullets(notes, "notes") if notes else "")


def _html_table(heads: str, lines: Iterable[str], kind: str) -> str:
    """Return a table whose headings repeat on each printed page."""
    body = f"<thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return f'<div class="wide"><table class="{kind}">{body}</table></div>'


def _figure(each: Judged, here: int) -> str:
    hint = f' title="{html.escape(each.note)}"' if each.note else ""
    text = f"<span>{html.escape(ours_of(each) if here else each.printed or '–')}</span>"
    if here and each.verdict == DIFFERS:
        z = "" if math.isnan(each.z) else f" <small>z {z_of(each)}</small>"
        text += f" <span><b>≠</b>{z}</span>"
    return f'<div class="{each.verdict}"{hint}>{text}</div>'


def _findings(said: Iterable[tuple[int, Verdict]]) -> str:
    """Return tests of a section: place, sentence, verdict, link to the test."""
    lines = [
        f'<tr><td class="text">{html.escape(each.where)}</td>'
        f'<td class="text">{html.escape(each.sentence)}</td>'
        f'<td class="text {KINDS[each.verdict]}">{each.verdict}</td>'
        f'<td class="text"><a href="#test{number}">test {number}</a></td></tr>'
        for number, each in said
    ]
    heads = "<th>where</th><th>what it says</th><th>verdict</th><th>test</th>"
    return _html_table(heads, lines, "said")


def _tests(numbered: Iterable[tuple[int, Verdict]]) -> str:
    """Return each finding's test: criteria with bounds, and the deciding figures."""
    parts = {(each.where, each.sentence): each.parts for each in (*FINDINGS, *RECORDED)}
    heads = ("test", "finding", "what is tested", "the figures that decide it")
    lines = []
    for number, each in numbered:
        section = _section(each)
        link = (
            f'<a href="#s{section}">{html.escape(each.where)}</a>:'
            f" {html.escape(each.sentence)}"
        )
        verdict = f'<span class="{KINDS[each.verdict]}">{each.verdict}</span>'
        own = parts.get((each.where, each.sentence), ())
        tested = [f"{part.text}, {part.bounds}, {part.n} seeds" for part in own]
        cells = (
            f"{link}<br>{verdict}",
            "<br>".join(map(html.escape, tested or ["see the figures at the right"])),
            "<br>".join(map(html.escape, each.reasons)),
        )
        row = "".join(f'<td class="text">{cell}</td>' for cell in cells)
        lines.append(f'<tr id="test{number}"><th>{number}</th>{row}</tr>')
    return _html_table("".join(f"<th>{head}</th>" for head in heads), lines, "tests")
