"""How many jobs wait."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes

from cgrsp_simpy.analysis.metrics import queue_length
from cgrsp_simpy.model.record import Run
from cgrsp_simpy.plots.style import axes, colour_of

__all__ = ["queue"]


def queue(runs: Iterable[Run], ax: Axes | None = None) -> Axes:
    """Waiting jobs over time, one line a run, named by its policy. runs: with records."""
    ax = axes(ax)
    for run in runs:
        times_s, waiting = queue_length(run)
        ax.step(times_s / 3600, waiting, where="post", label=run.policy, color=colour_of(run.policy), lw=1.5)
    ax.set_xlabel("time (h)")
    ax.set_ylabel("waiting jobs")
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    return ax
