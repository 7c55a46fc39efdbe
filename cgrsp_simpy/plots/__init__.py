"""Plots: functions that take data and `ax=` and return the Axes.

For runs: `gantt`, `queue_length`, `slot_timeline`, `wait_histogram`. For studies:
`policy_bars`, `pareto`, for a sweep `sweep_lines`, for a month `daily`. For functions
with `@cg.model`: `monitor`, `welch`. For plain data: `marks`. `animate` plays a run as
an .html file, .gif or .mp4.

Without `ax` they draw on a new figure, `ax.figure`, which needs no display and need not
be closed. A `$` in a name does not start mathtext. `styled("print")` and
`styled("lecture")` set matplotlib's settings temporarily; plots do not change them.
"""

from __future__ import annotations

from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.animation import animate
from cgrsp_simpy.plots.runs import (
    gantt,
    monitor,
    queue_length,
    slot_timeline,
    wait_histogram,
    welch,
)
from cgrsp_simpy.plots.studies import daily, pareto, policy_bars, sweep_lines
from cgrsp_simpy.plots.style import styled

__all__ = [
    "animate",
    "daily",
    "gantt",
    "marks",
    "monitor",
    "pareto",
    "policy_bars",
    "queue_length",
    "slot_timeline",
    "styled",
    "sweep_lines",
    "wait_histogram",
    "welch",
]
