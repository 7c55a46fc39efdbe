"""Plots of the records of a model function's monitors, and of a warm-up."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.plots.data import time_unit
from cgrsp_simpy.plots.literal import literal
from cgrsp_simpy.plots.parts import legend_above, merged, whole_numbers
from cgrsp_simpy.plots.style import axes, looks


@literal
def monitor(run: Any, name: str, ax: Axes | None = None, **style: Any) -> Axes:
    """Plot the records of a monitor over time.

    For a resource: queue, servers in use and capacity; for a container or store: level;
    for a `cg.Monitor`: values and their running mean.

    run: run of a function with `@cg.model`, with records. style: style of the lines.
    Raises InputError for any other run or an unknown monitor.
    """
    allowed = "a run of a function with @cg.model"
    require(hasattr(run, "recorded"), "run", run, allowed)
    ax = axes(ax)
    series = {what: run.series(name, what) for what in run.recorded(name)}
    unit, unit_name = time_unit(run.plan.end_s)
    unit /= run.scenario.declaration.unit_s  # series are in the model's unit
    end = run.plan.end_s / run.scenario.declaration.unit_s / unit
    observed = "value" in series
    if observed:
        times, values = series["value"]
        ax.plot(times / unit, values, ".", color="0.7", label="value")
        number = np.arange(1, len(values) + 1)
        series = {"running mean": (times, np.cumsum(values) / number)}
    series.pop("wait", None)
    for (what, (times, values)), look in zip(series.items(), looks(list(series))):
        last = [end] if len(values) else []
        usual = {
            "drawstyle": "default" if observed else "steps-post",
            "color": look.colour,
            "linestyle": look.line,
            "label": what,
        }
        ax.plot(
            [*times / unit, *last],
            [*values, *values[-1:]],
            **merged(usual, style, Line2D),
        )
    ax.set(xlabel=f"time ({unit_name})", ylabel=name, xlim=(0, end))
    if not observed:
        ax.set_ylim(bottom=0)
        whole_numbers(ax.yaxis)
    legend_above(ax, ax.get_lines())
    return ax


@literal
def welch(warm_up: Any, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw Welch's plot: mean of pilot runs, moving average, suggested warm-up.

    warm_up: result of `cg.warm_up_time`. style: style of the lines. Source: Law,
    Simulation Modeling and Analysis, Section 9.5.1.
    """
    allowed = "what cg.warm_up_time returns"
    require(hasattr(warm_up, "means"), "warm_up", warm_up, allowed)
    ax = axes(ax)
    window = max(1, len(warm_up.means) // 20)
    means = np.array(
        [
            warm_up.means[max(0, n - window) : n + window + 1].mean()
            for n in range(len(warm_up.means))
        ]
    )
    times = warm_up.times
    mean_label = f"mean of {warm_up.seeds} runs"
    for values, usual in (
        (warm_up.means, {"color": "0.75", "label": mean_label}),
        (means, {"color": looks(["mean"])[0].colour, "label": "moving average"}),
    ):
        ax.plot(times, values, **merged(usual, style, Line2D))
    end = f"suggested warm-up: {warm_up.time:g}"
    ax.axvline(warm_up.time, color="0.2", linestyle="--", label=end)
    ax.set(xlabel="time", ylabel=warm_up.figure, xlim=(0, times[-1]))
    legend_above(ax, ax.get_lines())
    return ax
