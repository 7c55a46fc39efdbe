"""Who ran where and when."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from cgrsp_simpy.model.record import Run
from cgrsp_simpy.plots.style import COMPLEXITY, MISSED, PROVISIONING, axes

__all__ = ["gantt"]

LABELLED = 40  # up to so many jobs carry their number
UNITS = ((3 * 3600.0, 3600.0, "h"), (600.0, 60.0, "min"), (0.0, 1.0, "s"))  # from which span on, seconds, name


def gantt(run: Run, ax: Axes | None = None) -> Axes:
    """Slots over time: provisioning grey, execution by complexity, a line below each job that missed its deadline.

    run: with records. A job on several slots is drawn on the first of them.
    """
    ax = axes(ax)
    jobs, names = run.jobs, [gpu.name for gpu in run.scenario.slots]
    _, unit, unit_name = next(entry for entry in UNITS if jobs["finish_s"].max() >= entry[0])
    _bars(ax, jobs, jobs["dispatch_s"] / unit, jobs["delay_s"] / unit, PROVISIONING)
    for level, colour in enumerate(COMPLEXITY, start=1):
        part = jobs[jobs["complexity"] == level]
        _bars(ax, part, part["start_s"] / unit, part["service_s"] / unit, colour)
    late = jobs[jobs["finish_s"] > jobs["deadline_s"]]
    ax.hlines(late["slot"] + 0.44, late["dispatch_s"] / unit, late["finish_s"] / unit, MISSED, lw=2.5)
    if len(jobs) <= LABELLED:
        for job in jobs:
            middle = (job["start_s"] + job["service_s"] / 2) / unit
            colour = "black" if job["complexity"] == 1 else "white"
            ax.text(middle, job["slot"], f"J{job['job']}", ha="center", va="center", color=colour, fontsize=9)
    ax.set_yticks(range(len(names)), [f"{index}  {name}" for index, name in enumerate(names)])
    ax.set_ylim(len(names) - 0.45, -0.55)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"time ({unit_name})")
    ax.set_ylabel("slot")
    shown = sorted(set(jobs["complexity"].tolist()))
    handles = [Patch(color=COMPLEXITY[min(level, 3) - 1], label=f"complexity {level}") for level in shown]
    handles += [Patch(color=PROVISIONING, label="provisioning")] if jobs["delay_s"].any() else []
    handles += [Patch(color=MISSED, label="missed its deadline")] if len(late) else []
    ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=5, frameon=False, fontsize=9)
    return ax


def _bars(ax: Axes, jobs: np.ndarray, left: np.ndarray, width: np.ndarray, colour: str) -> None:
    ax.barh(jobs["slot"], width, left=left, height=0.78, color=colour, edgecolor="white", linewidth=0.2 if len(jobs) > 100 else 1)
