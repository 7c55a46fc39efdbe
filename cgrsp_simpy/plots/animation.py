"""A run in motion: the queue as it grows and shrinks, and what each slot holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.animation import AbstractMovieWriter, FuncAnimation, PillowWriter
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.text import Text

from cgrsp_simpy.analysis import metrics
from cgrsp_simpy.model.checks import check_number, check_whole, require
from cgrsp_simpy.model.record import PHASES, Run
from cgrsp_simpy.plots.data import time_unit
from cgrsp_simpy.plots.parts import whole_numbers
from cgrsp_simpy.plots.player import PageWriter
from cgrsp_simpy.plots.style import EXECUTING, IDLE, PROVISIONING, colour_of, ink_on

__all__ = ["RunAnimation", "animate"]

A_ROW = 10  # boxes
LABELLED = 20  # up to so many boxes say which job and which GPU


class RunAnimation(FuncAnimation):
    """A matplotlib animation that saves as .gif, or as one .html file with a play button that needs nothing else."""

    def __init__(self, figure: Figure, show: Callable[[float], list[Any]], times_s: list[float], fps: float) -> None:
        self.fps = fps
        super().__init__(figure, show, frames=times_s, interval=1000 / fps, repeat=False)

    def save(self, filename: str | Path, writer: AbstractMovieWriter | str | None = None, **options: Any) -> None:  # type: ignore[override]
        """Write the animation; a writer of another kind of file may be given, as matplotlib takes them.

        Raises InputError for a name that ends neither in .gif nor in .html, where no writer is given.
        """
        if writer is None:
            suffix = Path(filename).suffix.lower()
            require(suffix in WRITERS, "file", str(filename), f"a name that ends in {' or '.join(WRITERS)}")
            writer = WRITERS[suffix](fps=self.fps)
        super().save(str(filename), writer=writer, **options)


WRITERS: dict[str, Any] = {".gif": PillowWriter, ".html": PageWriter}


def animate(run: Run, frames: int = 120, fps: float = 12.0) -> RunAnimation:
    """The queue and the slots of a run, at evenly spaced times: `animate(run).save("day.html")`, or "day.gif".

    run: with records. frames: at least 2. fps: frames per second. Raises InputError for a run without jobs.
    """
    check_whole("frames", frames, least=2)
    check_number("fps", fps, above=0)
    require(len(run.jobs) > 0, "jobs with records in the run", len(run.jobs), "at least one")
    figure = Figure(figsize=(8.0, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    top, bottom = figure.subplots(2, height_ratios=(2, 1))
    scene = _Scene(run, top, bottom)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # all has its place; to find it anew for each frame takes long
    return RunAnimation(figure, scene.show, np.linspace(0.0, run.totals.end_s, frames).tolist(), fps)


class _Scene:
    """What is on the figure, and how it looks at a time."""

    def __init__(self, run: Run, top: Axes, bottom: Axes) -> None:
        self._run, self._unit = run, time_unit(run.totals.end_s)
        times_s, waiting = metrics.queue_length(run)
        self._times_s, self._waiting = np.concatenate([[0.0], times_s]), np.concatenate([[0], waiting])
        colour = colour_of(run.policy) or "black"
        (self._line,) = top.plot([], [], drawstyle="steps-post", color=colour)
        (self._now,) = top.plot([], [], "o", color=colour)
        top.set_xlim(0, run.totals.end_s / self._unit[0])
        top.set_ylim(0, max(1.0, 1.05 * float(self._waiting.max())))
        top.set_xlabel(f"time ({self._unit[1]})")
        top.set_ylabel("waiting jobs")
        whole_numbers(top.yaxis)
        self._title = top.set_title(" ", loc="left")
        self._boxes = [self._box(bottom, index) for index in range(len(run.scenario.slots))]
        states = {"executing": EXECUTING, "provisioning": PROVISIONING, "idle": IDLE}
        handles = [Patch(facecolor=colour, edgecolor="0.4", label=name) for name, colour in states.items()]
        bottom.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
        bottom.set_xlim(0, min(A_ROW, len(self._boxes)))
        bottom.set_ylim(-math.ceil(len(self._boxes) / A_ROW), 0)
        bottom.set_axis_off()

    def _box(self, ax: Axes, index: int) -> tuple[Rectangle, Text, Text]:
        """The box of a slot, a text for its job, and, where boxes are few, the name of its GPU."""
        row, column = divmod(index, A_ROW)
        few = len(self._run.scenario.slots) <= LABELLED
        box = Rectangle((column + 0.05, -row - 0.95), 0.9, 0.9, edgecolor="0.4")
        ax.add_patch(box)
        place: dict[str, Any] = {"x": column + 0.5, "ha": "center", "va": "center"}
        name = self._run.scenario.slots[index].name if few else ""
        job = ax.text(y=-row - 0.42, s="", fontsize="medium" if few else "xx-small", **place)
        return box, job, ax.text(y=-row - 0.82, s=name, fontsize="x-small", **place)

    def show(self, time_s: float) -> list[Any]:
        """Let all be as it is at a time, in seconds."""
        unit, unit_name = self._unit
        past = int(np.searchsorted(self._times_s, time_s, side="right"))
        now = int(self._waiting[past - 1])
        self._line.set_data([*(self._times_s[:past] / unit), time_s / unit], [*self._waiting[:past], now])
        self._now.set_data([time_s / unit], [now])
        self._title.set_text(f"{self._run.policy}: {time_s / unit:.1f} {unit_name}, {now} waiting")
        claims = self._run.claims
        here = claims[(claims["from_s"] <= time_s) & (time_s < claims["to_s"])]
        held = {int(claim["slot"]): (int(claim["job"]), PHASES[claim["phase"]] == "execution") for claim in here}
        for index, (box, text, name) in enumerate(self._boxes):
            job, runs = held.get(index, (None, False))
            colour = IDLE if job is None else EXECUTING if runs else PROVISIONING
            box.set_facecolor(colour)
            text.set_text("" if job is None else f"job {job}" if len(self._boxes) <= LABELLED else str(job))
            for each in (text, name):
                each.set_color(ink_on(colour))
        return [self._line, self._now, self._title]
