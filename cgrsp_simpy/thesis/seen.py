"""What is seen in figures of the thesis, in sentences on their rows as they are read
from their files.
"""

from __future__ import annotations

from collections.abc import Sequence

TextRow = dict[str, str]
MISS, LATE = "miss, %", "tardiness, min"
FEWER = ("fewer", "more")


def seen_decision(rows: Sequence[TextRow]) -> str:
    """Of Figure 3.1: where each job goes, and from which run."""
    slots = {row["slot"]: row for row in rows if row["what"] == "slot"}
    told = []
    for row in rows:
        if row["what"] == "job":
            slot = slots[row["slot"]]
            told.append(
                f"J{row['id']} ({row['state']}) to slot {slot['id']} ({slot['kind']},"
                f" ${slot['price_usd_per_h']}/h)"
            )
    return (
        f"{', '.join(told)}. On the thesis's days jobs come one at a time and none waits while"
        " a slot is idle, so that no event has several of both: here the jobs of a surge day"
        f" (seed {rows[0]['seed']}) come three at a time. "
    )


def seen_front(rows: Sequence[TextRow]) -> str:
    """Of Figure 5.8: which policies none beats on both figures, here and as published, and
    Adaptive beside CADR.
    """
    ours, theirs = (", ".join(_front(rows, column)) for column in ("reproduced", "published"))
    return (
        f"On the Pareto front of ours lie {ours};"
        f" on that of the published values {theirs}. Here Adaptive"
        f" {_beside(rows, MISS, 'misses', FEWER, 'deadlines than CADR', '%', 'points')},"
        f" and {_beside(rows, LATE, 'is', ('less', 'more'), 'late than CADR', 'min', 'min')}. "
    )


def _front(rows: Sequence[TextRow], column: str) -> list[str]:
    """The policies that no other is at least as good as on both figures, and better on one."""
    miss, late = (
        {
            row["row"]: float(row[column])
            for row in rows
            if (row["column"], row["part"]) == (name, "")
        }
        for name in (MISS, LATE)
    )
    points = {name: (miss[name], late[name]) for name in miss}
    return [
        name
        for name, (x, y) in points.items()
        if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in points.values())
    ]


def _beside(
    rows: Sequence[TextRow],
    column: str,
    verb: str,
    words: tuple[str, str],
    what: str,
    unit: str,
    unit_of_difference: str,
) -> str:
    """One figure of both policies, and their difference over the same months with its interval."""
    one, other, paired = (
        next(row for row in rows if (row["row"], row["column"]) == (name, column))
        for name in ("Adaptive", "CADR", "Adaptive - CADR")
    )
    difference, half = float(paired["reproduced"]), float(paired["half_width_95"])
    doubt = (
        "" if abs(difference) > half else f", which {paired['n']} months cannot tell from chance"
    )
    return (
        f"{verb} {words[difference > 0]} {what}: {float(one['reproduced']):.2f}"
        f" against {float(other['reproduced']):.2f} {unit}, paired difference"
        f" {difference:+.2f} ± {half:.2f} {unit_of_difference}{doubt}"
    )
