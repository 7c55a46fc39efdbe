"""Plot of a month, day by day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from cgrsp_simpy.base.checks import check_one_of, require
from cgrsp_simpy.base.metric import Metric
from cgrsp_simpy.plots.data import axis
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
NOT_FIGURES = ("day", "kind", "seed")


@literal
def daily(
    months: Any, metric: str = "miss_pct", ax: Axes | None = None, **style: Any
) -> Axes:
    """Plot a metric per day of one month: one line per policy, days shaded by kind.

    A day without the metric is a gap. months: a run of `cg.month(...)`, such as
    `study.run(policy, seed)`, or several runs of one seed. metric: a key of
    `Run.summary`. style: style of the lines. Raises InputError for an unknown metric or
    runs of different days. Source: thesis Section 5.6.
    """
    runs = months if isinstance(months, list | tuple) else [months]
    allowed = "runs of a month, such as cg.simulate(cg.month(), 'rh')"
    for run in runs:
        require(hasattr(run, "rows") and hasattr(run, "day"), "months", run, allowed)
    rows = {run.policy: run.rows() for run in runs}
    allowed = "at least one run, each with a different policy"
    require(0 < len(rows) == len(runs), "months", [run.policy for run in runs], allowed)
    first = next(iter(rows.values()))
    for own in rows.values():
        same = [(row["day"], row["seed"]) for row in own] == [
            (row["day"], row["seed"]) for row in first
        ]
        require(same, "months", [run.seed for run in runs], "runs of one seed")
    names = [name for row in first for name in row if name not in NOT_FIGURES]
    check_one_of("metric", metric, dict.fromkeys(names))
    metrics = runs[0].scenario.report.metrics
    return draw_days(axes(ax), rows, metric, runs[0].seed, metrics, **style)


def draw_days(
    ax: Axes,
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    metric: str,
    seed: int,
    metrics: Mapping[str, Metric],
    **style: Any,
) -> Axes:
    """Plot a metric per day from the rows of each policy, as `daily` does."""
    first = next(iter(rows.values()))
    kinds = {row["day"]: row["kind"] for row in first}
    handles = _shade(ax, kinds)
    ax.set_xlim(min(kinds) - 0.5, max(kinds) + 0.5)
    series = {
        policy: ([row.get(metric, np.nan) for row in own], [np.nan] * len(kinds))
        for policy, own in rows.items()
    }
    lines(ax, list(kinds), series, **style)
    label = axis(metric, SimpleNamespace(metrics=metrics))
    ax.set(xlabel=f"day (replication {seed})", ylabel=label)
    legend_above(ax, handles)
    return ax


def _shade(ax: Axes, kinds: dict[int, str]) -> list[Patch]:
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
