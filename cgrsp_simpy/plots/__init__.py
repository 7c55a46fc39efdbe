"""Plots: functions that take runs and `ax=` and return the Axes. They neither simulate, save nor show."""

from __future__ import annotations

from cgrsp_simpy.plots.gantt import gantt
from cgrsp_simpy.plots.queue import queue

__all__ = ["gantt", "queue"]
