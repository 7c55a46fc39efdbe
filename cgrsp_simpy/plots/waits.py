"""Histogram of waits."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.plots.data import named, runs_of
from cgrsp_simpy.plots.literal import literal
from cgrsp_simpy.plots.parts import dots, merged, say, told
from cgrsp_simpy.plots.style import axes, looks
from cgrsp_simpy.plots.timelines import name_lines

BINS = 40  # approximate number


@literal
def wait_histogram(
    runs: Run | Iterable[Run], ax: Axes | None = None, **style: Any
) -> Axes:
    """Plot the distribution of waits: one step line per run, with the mean marked.

    A wait is the time from submission to execution or, if the run records it (wait_s),
    the total of all waits of a job. A job that never started has no wait.

    runs: one or several runs with records. style: style of the lines. Raises InputError
    if there is no run. Source: thesis Eq. 3.7.
    """
    runs, ax = runs_of(runs), axes(ax)
    waits = [_waits_s(run.jobs) / 60 for run in runs]
    width = _width(max(waits_min.max(initial=0) for waits_min in waits))
    edges = width * np.arange(
        1
        + max(
            1,
            *(
                math.ceil(waits_min.max(initial=0) / width + 1e-9)
                for waits_min in waits
            ),
        )
    )
    drawn = []
    policies = [run.policy for run in runs]
    for waits_min, name, look in zip(waits, named(runs, policies), looks(policies)):
        if not len(waits_min):
            continue
        shares = 100 * np.histogram(waits_min, edges)[0] / len(waits_min)
        own = {
            "color": look.colour,
            "linestyle": look.line,
            "label": f"{name}, mean {told(waits_min.mean())} min",
        }
        drawn += ax.plot(
            np.repeat(edges, 2),
            [0, *np.repeat(shares, 2), 0],
            **merged(own, style, Line2D),
        )
        ax.plot(
            [waits_min.mean()],
            [0],
            **{**dots(look), "color": drawn[-1].get_color()},
            clip_on=False,
            zorder=4,
        )
    ax.set(
        xlabel="wait (min), means marked",
        ylabel=f"jobs (%) in each {width:g} min",
        xlim=(0, edges[-1]),
        ylim=(0, None),
    )
    if not drawn:
        say(ax, "no jobs")
    name_lines(ax, drawn)
    return ax


def _waits_s(jobs: np.ndarray) -> np.ndarray:
    """Return the waits of the jobs that have started, seconds."""
    recorded = "wait_s" in (jobs.dtype.names or ())
    waits_s = jobs["wait_s"] if recorded else jobs["start_s"] - jobs["submit_s"]
    return np.asarray(waits_s[~np.isnan(jobs["start_s"]) & ~np.isnan(waits_s)])


def _width(longest: float) -> float:
    wanted = longest / BINS or 1.0
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(
        step * power
        for step in (1.0, 2.0, 5.0, 10.0)
        if step * power >= wanted * (1 - 1e-9)
    )
