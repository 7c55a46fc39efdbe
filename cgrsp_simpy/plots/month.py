"""Plot of a month, day by day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from cgrsp_simpy.base.checks import InputError, check_one_of, entries_of, require
from cgrsp_simpy.plots.data import Month, axis
from cgrsp_simpy.plots.literal import literal
from cgrsp_simpy.plots.marks import legend_above, lines
from cgrsp_simpy.plots.style import axes

# day types, and their tints
KINDS = {
    "quiet": "#ffffff",
    "normal": "#eef1f4",
    "hectic": "#ffe9bd",
    "surge": "#f4cbb8",
}
OTHERS = ("#dcebdc", "#e3d9ec", "#d5e6f0", "#e8e0d0")
NOT_FIGURES = ("policy", "replication", "day", "kind", "seed", "error")


@literal
def daily(
    month: Month,
    metric: str = "miss_pct",
    replication: int | None = None,
    policies: Sequence[str] | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Plot a figure of each day of one month: one line per policy, days shaded by kind.

    A day whose run failed, or without the figure, is a gap.

    month: as from `cg.month`. metric: a figure of `Run.summary`. replication: the
    month's seed, by default the first. policies: those to draw, by default all. style:
    of the lines. Raises InputError for an unknown metric, replication or policy.
    Source: thesis Section 5.6.
    """
    require(hasattr(month, "days"), "month", month, "a month, such as cg.month(...)")
    if not month.days:
        raise InputError("month has no days")
    check_one_of(
        "metric",
        metric,
        [name for row in month.days for name in row if name not in NOT_FIGURES],
    )
    known = list(dict.fromkeys(row["policy"] for row in month.days))
    chosen = (
        known
        if policies is None
        else entries_of("policies", policies, "a list of policies")
    )
    for policy in chosen:
        check_one_of("policy", policy, known)
    months = list(dict.fromkeys(row["replication"] for row in month.days))
    replication = months[0] if replication is None else replication
    require(
        replication in months,
        "replication",
        replication,
        f"one of {', '.join(map(str, months))}",
    )
    rows = [row for row in month.days if row["replication"] == replication]
    ax = axes(ax)
    kinds = dict(sorted({row["day"]: row["kind"] for row in rows}.items()))
    handles = _shade(ax, kinds)
    ax.set_xlim(min(kinds) - 0.5, max(kinds) + 0.5)
    series = {}
    for policy in chosen:
        by_day = {
            row["day"]: row.get(metric, np.nan)
            for row in rows
            if row["policy"] == policy
        }
        series[policy] = ([by_day[day] for day in kinds], [np.nan] * len(kinds))
    lines(ax, list(kinds), series, **style)
    ax.set(xlabel=f"day (replication {replication})", ylabel=axis(metric, month))
    legend_above(ax, handles)
    return ax


def _shade(ax: Axes, kinds: dict[int, str]) -> list[Patch]:
    """Shade the days; return handles of the tints in the order of KINDS."""
    tints = dict(KINDS)
    for kind in kinds.values():
        tints.setdefault(kind, OTHERS[(len(tints) - len(KINDS)) % len(OTHERS)])
    for day, kind in kinds.items():
        ax.axvspan(day - 0.5, day + 0.5, color=tints[kind], linewidth=0, zorder=0)
    return [
        Patch(facecolor=tint, edgecolor="0.6", linewidth=0.5, label=kind)
        for kind, tint in tints.items()
        if kind in kinds.values()
    ]
