"""Texts of the report on tables and cells, for Markdown and HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable

from cgrsp_simpy.base.table import grouped
from cgrsp_simpy.papers.thesis.notes import TABLE_NOTES
from cgrsp_simpy.papers.thesis.published import INPUTS, PRINTED, Printed
from cgrsp_simpy.papers.thesis.verdict import (
    COARSEST,
    Judged,
    composite_error,
    decimals,
    z_limit,
)

TITLE = "The thesis's tables, printed and reproduced"  # the report's title
READING = (
    "z = (published - reproduced) / (between-seed deviation x sqrt(1 / published n + 1"
    " / reproduced n)), the rounding of the printed figure discounted; a cell agrees"
    " when |z| is at most the 97.5 % quantile of Student's t with reproduced n - 1"
    f" degrees of freedom ({z_limit(10):.3f} at 10 seeds, {z_limit(30):.3f} at 30), as"
    " 95 % of the cells of a perfect model do. A cell is undecided if a difference has"
    f" to be more than {COARSEST:g} times as large to be noticed as with as many seeds"
    " as printed. ± is the 95 % half width of the reproduced figure. t and d have"
    " their errors from the jackknife, composites from drawing our seeds again."
)
"""How to read its tables."""
# heading of what cannot be reproduced
CANNOT_TITLE = "What cannot be reproduced, and why"
# heading of the findings
FINDINGS_TITLE = "Tables 5.14 and 6.1, and sentences of the text"
FINDINGS_READING = (
    "Each is restated as a test on the reproduced figures: it holds when every part's"
    " 95 % interval lies within the bounds, does not hold when one lies outside, and is"
    " not decidable at these seeds otherwise. Policies tie where |d| is below 0.8."
)
"""How findings are judged."""


def heading(id: str) -> str:
    """Return a table's number and caption."""
    return f"Table {id}. {printed_table(id).caption}"


def printed_table(id: str) -> Printed:
    """Return a printed table by its number."""
    return INPUTS if id == INPUTS.id else PRINTED[id]


def column_of(each: Judged) -> str:
    """Return a figure's column, with its part if a cell holds two."""
    return f"{each.column}: {each.part}" if each.part else each.column


def ours_of(each: Judged) -> str:
    """Format the reproduced figure with its half width."""
    return (
        each.ours
        if math.isnan(each.half_width)
        else f"{each.ours} ± {each.half_width:.{decimals(each.ours)}f}"
    )


def z_of(each: Judged) -> str:
    """Format the sign and value of z, if there is one."""
    return "" if math.isnan(each.z) else f"{each.z:+.1f}".replace("-0.0", "+0.0")


MOST_NAMED = 6  # most cells that a note names; more: a note on the table


def notes_of(id: str, found: Iterable[Judged]) -> list[str]:
    """Return the notes of a table, each once, with its cells."""
    noted = grouped((each for each in found if each.note), lambda each: each.note)
    notes = [
        (
            "; ".join(f"{each.row}, {column_of(each)}" for each in own) + f": {note}"
            if len(own) <= MOST_NAMED
            else note
        )
        for note, own in noted.items()
    ]
    if id == "5.11":
        notes.append(
            "from the printed cells of Table 5.7 at C_max = 5 all entries follow within"
            f" {composite_error():.3f}"
        )
    return [*notes, *TABLE_NOTES.get(id, ())]
