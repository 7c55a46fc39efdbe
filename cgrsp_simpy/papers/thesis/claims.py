"""Claims of the thesis as bounds on numbers, and the verdicts on them.

If the printed figures determine such a number, and it is out of bounds, the document
contradicts itself. Otherwise the number is simulated, unless it is arithmetic on
printed figures: it agrees if its 95 % interval is within the bounds, differs if the
interval is outside, and is undecided otherwise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from cgrsp_simpy.papers.ledger import (
    CONTRADICTED,
    DIFFERENT,
    REPRODUCED,
    UNDECIDED,
    Entry,
)
from cgrsp_simpy.papers.thesis.experiments import (
    COUNTED,
    TABLES,
    Excess,
    Measure,
    OfMeans,
    Results,
    average,
)
from cgrsp_simpy.papers.thesis.published import INPUTS, PRINTED
from cgrsp_simpy.papers.thesis.verdict import (
    deviation,
    too_few,
    z_limit,
)

MOST_LISTED = 6  # printed figures in a reason
Function = Callable[[np.ndarray], Any]


@dataclass(frozen=True)
class OfPrint:
    """Number computed from printed figures alone.

    function: function of the array of a column's figures. rows: names of rows; default:
    all. source: source named in the reason if there is no table.
    """

    function: Callable[[np.ndarray], float]
    table: str = ""
    column: str = ""
    rows: tuple[str, ...] = ()
    source: str = ""

    def figures(self) -> list[float]:
        """Return the printed figures."""
        if not self.table:
            return []
        table = (INPUTS | PRINTED)[self.table]
        texts = [
            cells[table.columns.index(self.column)]
            for row, cells in table.rows.items()
            if row in self.rows or not self.rows
        ]
        return [float(re.findall(r"[-+]?[\d.]+", text)[0]) for text in texts]


@dataclass(frozen=True)
class Part:
    """Number and the bounds that a sentence puts on it.

    n: printed number of replications. table: table whose printed figures are used;
    default: the first table of means that has them.
    """

    text: str
    measure: Measure | OfPrint
    low: float = -math.inf
    high: float = math.inf
    n: int = 30
    table: str = ""

    @property
    def bounds(self) -> str:
        """The bounds in words."""
        if self.low == -math.inf:
            return f"less than {self.high:g}"
        over = self.high == math.inf
        return f"more than {self.low:g}" if over else f"{self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Claim:
    """Sentence of the thesis, restated, and its parts. where: table row or section."""

    where: str
    sentence: str
    parts: tuple[Part, ...]


def judge(claim: Claim, results: Results) -> Entry:
    """Return the worst verdict on a claim's parts, with the reasons of those parts."""
    verdicts, reasons = zip(*(_of_part(part, results) for part in claim.parts))
    order = (CONTRADICTED, DIFFERENT, UNDECIDED, REPRODUCED)
    verdict = min(verdicts, key=order.index)
    reason = "; ".join(
        text for text, judged in zip(reasons, verdicts) if judged == verdict
    )
    return Entry(claim.where, claim.sentence, verdict, reason=reason)


def _of_part(part: Part, results: Results) -> tuple[str, str]:
    printed, source = printed_number(part)
    if printed is not None:
        verdict = REPRODUCED if part.low <= printed <= part.high else CONTRADICTED
        if verdict == CONTRADICTED or isinstance(part.measure, OfPrint):
            return verdict, _reason(part, f"{printed:.4g} ({source})", verdict)
    assert isinstance(part.measure, Measure)
    n, statistic = results.replications or part.n, part.measure.statistic
    values = results.sample(part.measure, n)
    centre = float(statistic(*values))
    half = z_limit(n) * deviation(statistic, values, n)
    low, high = centre - half, centre + half
    verdict = UNDECIDED
    # equal values at few seeds do not show a deviation of 0
    if half > 0 or not too_few(n, part.n):
        if part.low <= low and high <= part.high:
            verdict = REPRODUCED
        elif high < part.low or low > part.high:
            verdict = DIFFERENT
    interval = f" ± {half:.2f}" if math.isfinite(half) else " without an interval"
    return verdict, _reason(part, f"{centre:+.2f}{interval}", verdict)


def _reason(part: Part, number: str, verdict: str) -> str:
    remark = "as said" if verdict == REPRODUCED else "needed"
    return f"{part.text} {number}, {part.bounds} {remark}"


def printed_number(part: Part) -> tuple[float | None, str]:
    """Return the number from printed figures, or None, and the place of these."""
    measure = part.measure
    if isinstance(measure, OfPrint):
        figures = measure.figures()
        number = float(measure.function(np.array(figures)))
        return number, measure.source or _source([measure.table], figures)
    known = printed_figures(part.table)
    if measure in known:
        number, table = known[measure]
        return number, f"Table {table}"
    sources = [Measure(average, (source,)) for source in measure.sources]
    of_means = isinstance(measure.statistic, Excess | OfMeans)
    if not of_means or not known.keys() >= {*sources}:
        return None, ""
    numbers, tables = zip(*(known[source] for source in sources))
    number = float(measure.statistic(*(np.array([value]) for value in numbers)))
    return number, _source(tables, numbers)


@cache
def printed_figures(table: str) -> dict[Measure, tuple[float, str]]:
    """Return the printed figure and the table per measure.

    table: its id; if empty, the first table of means or tests that has the measure.
    """
    return {
        cell.measure: (float(cell.figure), id)
        for id in ([table] if table else ["5.3", *reversed(COUNTED)])
        for cell in TABLES[id].cells
    }


def _source(tables: Sequence[str], figures: Sequence[float]) -> str:
    names = " and ".join(
        f"Table {id}" if id[0].isdigit() else id for id in dict.fromkeys(tables)
    )
    few = len(figures) <= MOST_LISTED
    return (
        f"{names}: {', '.join(f'{figure:g}' for figure in figures)}" if few else names
    )
