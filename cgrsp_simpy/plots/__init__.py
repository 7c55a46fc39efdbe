"""Plots: functions that take data and `ax=` and return the Axes.

Of a run or several: `gantt`, `queue_length`, `slot_timeline`, `wait_histogram`. Of a
study: `policy_bars`, `pareto`, of a sweep `sweep_lines`, of a month `daily`. Of plain
data: `marks`. `animate` sets a run in motion: an .html file that plays it, or a .gif.

Without `ax` they draw on a figure of their own, `ax.figure`, that needs neither a
display nor to be closed. Names are drawn letter by letter: a `$` begins no mathtext.
They do not simulate, save, show, nor change a setting; `styled("print")` and
`styled("lecture")` set matplotlib's for a while.
"""

from __future__ import annotations

from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.animation import animate
from cgrsp_simpy.plots.gantt import gantt
from cgrsp_simpy.plots.month import daily
from cgrsp_simpy.plots.studies import pareto, policy_bars, sweep_lines
from cgrsp_simpy.plots.style import styled
from cgrsp_simpy.plots.timelines import queue_length, slot_timeline
from cgrsp_simpy.plots.waits import wait_histogram

__all__ = [
    "animate",
    "daily",
    "gantt",
    "marks",
    "pareto",
    "policy_bars",
    "queue_length",
    "slot_timeline",
    "styled",
    "sweep_lines",
    "wait_histogram",
]
