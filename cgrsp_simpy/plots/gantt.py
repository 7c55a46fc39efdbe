"""Who ran where and when."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from cgrsp_simpy.model.checks import check_one_of, require
from cgrsp_simpy.model.record import PHASES, Run
from cgrsp_simpy.plots.data import time_unit
from cgrsp_simpy.plots.labels import AtDrawing
from cgrsp_simpy.plots.parts import legend_above, merged, say
from cgrsp_simpy.plots.style import COMPLEXITY, DEADLINE, MISSED, PROVISIONING, STATUS, axes, ink_on

__all__ = ["gantt"]

NAMED = 25  # up to so many slots are named
NUMBERED = 60  # up to so many jobs carry their number, where it fits
EDGED = 400  # up to so many jobs have edges
WIDE = 0.005  # share of the time that is drawn, from which on these edges are white


class Colouring(NamedTuple):
    """A column of the records, and colours with their names for its values from the first on; greater ones take the last."""

    column: str
    first: int
    colours: tuple[str, ...]
    names: tuple[str, ...]


COLOURINGS = {
    "complexity": Colouring("complexity", 1, COMPLEXITY, ("complexity 1", "complexity 2", "complexity 3")),
    "class": Colouring("tight", 0, DEADLINE, ("loose deadline", "tight deadline")),
    "status": Colouring("status", 0, STATUS, ("High stock", "Medium stock", "Low stock")),
}


def gantt(
    run: Run, ax: Axes | None = None, jobs: Iterable[int] | None = None, colour_by: str = "complexity", **style: Any
) -> Axes:
    """Slots over time: provisioning grey, execution in colours, a line below each job that missed its deadline.

    run: with records. A job on several slots is drawn on each of them. jobs: ids of those to draw; all, unless told.
    colour_by: complexity, class (of the deadline) or status (the stock met at dispatch). style: of the bars.

    Raises InputError for a job that the run does not have, or another colour_by.
    """
    check_one_of("colour_by", colour_by, COLOURINGS)
    ax, drawn = axes(ax), _chosen(run, jobs)
    unit, unit_name = time_unit(drawn["finish_s"].max(initial=0))
    handles = _bars(ax, drawn, run.claims, unit, COLOURINGS[colour_by], style)
    late = drawn[drawn["finish_s"] > drawn["deadline_s"]]
    if len(late):
        first, last = (_of(run.claims, late, phase) for phase in PHASES)
        ax.hlines(first["slot"] + 0.44, first["from_s"] / unit, last["to_s"] / unit, MISSED, lw=2 * rcParams["lines.linewidth"])
        handles.append(Patch(color=MISSED, label="missed its deadline"))
    names = [f"{index}  {gpu.name}" for index, gpu in enumerate(run.scenario.slots)]
    every = math.ceil(len(names) / NAMED)
    ax.set_yticks(range(0, len(names), every), names[::every])
    ax.set_ylim(len(names) - 0.45, -0.55)
    ax.set_ylabel("slot")
    ax.set_xlabel(f"time ({unit_name})")
    if jobs is None:
        ax.set_xlim(left=0)
    if not len(drawn):
        say(ax, "no jobs")
    legend_above(ax, handles)
    return ax


def _chosen(run: Run, jobs: Iterable[int] | None) -> np.ndarray:
    """The records to draw."""
    if jobs is None:
        return run.jobs
    wanted = list(jobs)
    known = run.jobs["job"]
    for job in wanted:
        require(job in known, "jobs", job, f"ids of the run's {len(known)} jobs")
    return np.asarray(run.jobs[np.isin(known, wanted)])


def _of(claims: np.ndarray, jobs: np.ndarray, phase: str) -> np.ndarray:
    """The claims of some jobs in one phase."""
    return np.asarray(claims[np.isin(claims["job"], jobs["job"]) & (claims["phase"] == PHASES.index(phase))])


def _bars(ax: Axes, jobs: np.ndarray, claims: np.ndarray, unit: float, by: Colouring, style: dict[str, Any]) -> list[Patch]:
    """Draw the bars; what their colours mean."""
    own = _edges(jobs)
    handles = []
    kinds = np.minimum(jobs[by.column].astype(int) - by.first, len(by.colours) - 1)
    for kind, (colour, name) in enumerate(zip(by.colours, by.names)):
        part = jobs[kinds == kind]
        if len(part):
            beyond = " and more" if part[by.column].max() > kind + by.first else ""
            handles.append(Patch(color=colour, label=name + beyond))
            executing = _of(claims, part, "execution")
            _boxes(ax, executing, unit, {**own, "facecolor": colour}, style)
            if len(jobs) <= NUMBERED:
                _numbers(ax, executing, unit, colour)
    if jobs["delay_s"].any():
        handles.append(Patch(color=PROVISIONING, label="provisioning"))
        _boxes(ax, _of(claims, jobs, "provisioning"), unit, {**own, "facecolor": PROVISIONING}, style)
    return handles


def _edges(jobs: np.ndarray) -> dict[str, Any]:
    """White edges where bars are wide, edges of their own colour where they could be too thin to be seen, none in a crowd."""
    if not 0 < len(jobs) <= EDGED:
        return {"linewidth": 0}
    width = np.median(jobs["service_s"]) / (jobs["finish_s"].max() - jobs["dispatch_s"].min())
    return {"edgecolor": "white", "linewidth": 0.7} if width > WIDE else {"edgecolor": "face", "linewidth": 0.4}


def _boxes(ax: Axes, claims: np.ndarray, unit: float, own: dict[str, Any], style: dict[str, Any]) -> None:
    left, right, slot = claims["from_s"] / unit, claims["to_s"] / unit, claims["slot"]
    low, high = slot - 0.39, slot + 0.39
    corners = np.stack([left, low, left, high, right, high, right, low], axis=1).reshape(-1, 4, 2)
    ax.add_collection(PolyCollection(list(corners), **merged(own, style, PolyCollection)))


def _numbers(ax: Axes, claims: np.ndarray, unit: float, colour: str) -> None:
    """The numbers of jobs on their bars, where they fit."""
    place: dict[str, Any] = {"ha": "center", "va": "center", "color": ink_on(colour), "fontsize": "small", "clip_on": True}
    middles = (claims["from_s"] + claims["to_s"]) / 2 / unit
    texts = [ax.text(middle, claim["slot"], f"J{claim['job']}", **place) for middle, claim in zip(middles, claims)]

    def arrange(renderer: RendererBase) -> None:
        ends = [
            ax.transData.transform(np.stack([claims[end] / unit, claims["slot"]], axis=1))[:, 0] for end in ("from_s", "to_s")
        ]
        for text, width in zip(texts, ends[1] - ends[0]):
            text.set_visible(True)  # what is hidden has no extent
            text.set_visible(text.get_window_extent(renderer).width < width)

    AtDrawing(ax, arrange)
