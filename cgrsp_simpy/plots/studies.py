"""Plots of studies: bars by policy, lines over a parameter, trade-offs, and months."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cgrsp_simpy.base.checks import check_one_of, is_number, require
from cgrsp_simpy.base.metric import Metric
from cgrsp_simpy.base.parameters import checked
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.data import (
    Study,
    Sweep,
    axis,
    metrics_of,
    replications,
    values_of,
)
from cgrsp_simpy.plots.parts import literal
from cgrsp_simpy.plots.style import Look, axes, looks

LINES = ("-", "--", ":", "-.")


@literal
@checked
def policy_bars(
    study: Study,
    metric: str,
    ax: Axes | None = None,
    differences: bool = False,
    **style: Any,
) -> Axes:
    """Plot one bar per policy with its 95 % interval.

    study: result of `cg.compare`. metric: its name, such as "miss_pct". differences:
    plot paired differences from the first policy instead of means; their intervals show
    whether two policies differ. style: style of the bars. Raises InputError for an
    unknown metric. Source: thesis Section 5.1.3.
    """
    values, half_widths = values_of(study, metric)
    if differences:
        return _difference_bars(study, metric, ax, style)
    policies = study.policies
    ax = axes(ax, height=0.2 + 0.05 * len(policies))
    marks.bars(ax, policies, values, half_widths, **style)
    ax.set_xlabel(axis(metric, metrics_of(study)))
    _explain(ax, [study])
    return ax


def _difference_bars(
    study: Study, metric: str, ax: Axes | None, style: dict[str, Any]
) -> Axes:
    """Plot paired differences from the first policy, in the policies' colours."""
    against, policies = study.policies[0], study.policies[1:]
    require(
        bool(policies),
        "policies",
        study.policies,
        "at least two if differences are drawn",
    )
    rows = study.differences()
    check_one_of("metric", metric, rows[policies[0]])
    pairs = [rows[policy][metric] for policy in policies]
    ax = axes(ax, height=0.2 + 0.05 * len(policies))
    values, halves = [pair.mean for pair in pairs], [pair.half_width for pair in pairs]
    marks.bars(
        ax,
        policies,
        values,
        halves,
        colours=[look.colour for look in looks(study.policies)[1:]],
        **style,
    )
    ax.axvline(0, color="0.3", linewidth=0.8)
    ax.set_xlabel(f"{axis(metric, metrics_of(study))}: difference from {against}")
    note = replications(study)
    if len(study.seeds) > 1:
        note = f"paired by seed: {note.replace('seeds', 'differences')}"
    marks.legend_above(ax, [], f"{study.title}: {note}")
    return ax


@literal
@checked
def sweep_lines(
    sweep: Sweep,
    metric: str,
    ax: Axes | None = None,
    over: str | None = None,
    **style: Any,
) -> Axes:
    """Plot a metric over a parameter: one line per policy, with 95 % intervals.

    sweep: result of `cg.sweep`. over: the parameter, required if several vary; each
    combination of the others has its own line. style: style of the lines. Raises
    InputError for another object, an unknown metric or parameter, or a missing `over`.
    Source: thesis Section 5.1.3.
    """
    require(
        isinstance(sweep, Iterable), "sweep", sweep, "a sweep, such as cg.sweep(...)"
    )
    points = list(sweep)
    varied = list(points[0][0]) if points else []
    require(len(varied) > 0, "sweep", varied, "a sweep over at least one parameter")
    require(
        over is not None or len(varied) == 1,
        "over",
        over,
        f"one of the parameters that vary: {', '.join(varied)}",
    )
    over = varied[0] if over is None else over
    check_one_of("parameter", over, varied)
    x = list(dict.fromkeys(point[over] for point, _ in points))
    x = sorted(x) if all(map(is_number, x)) else x
    series, styles = _series(points, metric, over, x)
    ax = axes(ax)
    marks.lines(ax, x, series, styles=styles, **style)
    ax.set(xlabel=axis(over), ylabel=axis(metric, metrics_of(points[0][1])))
    _explain(ax, [study for _, study in points])
    return ax


def _series(
    points: list[tuple[dict[str, Any], Study]], metric: str, over: str, x: list[Any]
) -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], list[Look]]:
    known = dict.fromkeys(
        name for _, study in points for row in study.means().values() for name in row
    )
    series: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    lines: dict[str, tuple[str, str]] = {}
    for point, study in points:
        others = "".join(
            f", {name} {value}" for name, value in point.items() if name != over
        )
        for policy, mean, half_width in zip(
            study.policies, *values_of(study, metric, known)
        ):
            lines[policy + others] = (policy, others)
            unknown = (np.full(len(x), np.nan), np.full(len(x), np.nan))
            at = x.index(point[over])
            means, half_widths = series.setdefault(policy + others, unknown)
            means[at], half_widths[at] = mean, half_width
    policies, rest = (list(dict.fromkeys(column)) for column in zip(*lines.values()))
    by_policy = dict(zip(policies, looks(policies)))
    styles = [by_policy[policy] for policy, _ in lines.values()]
    if len(rest) > 1:
        styles = [
            look._replace(line=LINES[rest.index(others) % len(LINES)])
            for look, (_, others) in zip(styles, lines.values())
        ]
    return series, styles


@literal
@checked
def pareto(
    study: Study,
    x: str = "miss_pct",
    y: str = "tardiness_min",
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Plot one point per policy for two metrics, with intervals and the Pareto front.

    study: result of `cg.compare`. style: style of the points. Raises InputError for an
    unknown metric.
    """
    values = {metric: values_of(study, metric) for metric in (x, y)}
    policies, ax = study.policies, axes(ax)
    metrics = metrics_of(study)
    less = [name not in metrics or metrics[name].better != "more" for name in (x, y)]
    marks.points(ax, policies, values[x], values[y], front=less, **style)
    ax.set(xlabel=axis(x, metrics), ylabel=axis(y, metrics))
    _explain(ax, [study], front=True)
    return ax


def _explain(ax: Axes, studies: Sequence[Study], front: bool = False) -> None:
    handles = [Line2D([], [], label="Pareto front", **marks.FRONT)] if front else []
    titles = ", ".join(dict.fromkeys(study.title for study in studies))
    marks.legend_above(ax, handles, f"{titles}: {replications(studies[0])}")


# ---- a month, day by day ----

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
    require(
        0 < len(rows) == len(runs),
        "months",
        [run.policy for run in runs],
        "at least one run, each with a different policy",
    )
    first = next(iter(rows.values()))
    for days in rows.values():
        same = [(row["day"], row["seed"]) for row in days] == [
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
        policy: ([row.get(metric, np.nan) for row in days], [np.nan] * len(kinds))
        for policy, days in rows.items()
    }
    marks.lines(ax, list(kinds), series, **style)
    ax.set(xlabel=f"day (replication {seed})", ylabel=axis(metric, metrics))
    marks.legend_above(ax, handles)
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
