"""Animation of a run: the queue over time, and what each resource holds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib.animation import FFMpegWriter, FuncAnimation, PillowWriter
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.text import Text

from cgrsp_simpy.analysis import metrics
from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.base.files import write_whole
from cgrsp_simpy.base.parameters import NotNegative, Positive, TwoOrMore, checked
from cgrsp_simpy.base.table import visible
from cgrsp_simpy.base.timeline import PHASES, Timeline, timeline_of
from cgrsp_simpy.plots.data import Drawn, runs_of, time_unit
from cgrsp_simpy.plots.lanes import bars
from cgrsp_simpy.plots.literal import make_literal
from cgrsp_simpy.plots.parts import whole_numbers
from cgrsp_simpy.plots.player import player_page
from cgrsp_simpy.plots.style import EXECUTING, IDLE, colour_of, ink_on, phase_greys

A_ROW = 10  # boxes per row
LABELLED = 20  # most boxes that have names
LETTERS = 65  # of job names, in all boxes of a row
WRITTEN = 100  # most boxes that show their jobs
FLAT = 6  # width over height of all boxes, if there are more
SIDE = 0.9  # side of a box
FILMS = (".html", ".gif", ".mp4")
FILM = {1: (8.0, 4.5), 2: (12.8, 5.4)}  # size of a frame, inches, by number of runs


class RunAnimation:
    """One run, or two side by side, to be saved as an .html player, a .gif or an .mp4.

    frames, fps: number of frames, and frames per second, of a .gif or .mp4. captions:
    captions of the .html file.
    """

    def __init__(
        self,
        runs: Sequence[Drawn],
        frames: int,
        fps: float,
        captions: Mapping[float, str],
    ) -> None:
        self._runs = runs
        self._frames = frames
        self._fps = fps
        self._captions = captions

    def film(self) -> FuncAnimation:
        """Return matplotlib's animation, with frames at evenly spaced times."""
        timelines = [timeline_of(run) for run in self._runs]
        figure = Figure(figsize=FILM[len(timelines)], layout="constrained")
        _Unseen(figure)
        rows = figure.subplots(
            2, len(timelines), height_ratios=(2, 1), squeeze=False, sharey="row"
        )
        end_s = max(timeline.end_s for timeline in timelines)
        columns = zip(timelines, rows[0], rows[1])
        scenes = [
            _Scene(timeline, top, bottom, end_s) for timeline, top, bottom in columns
        ]
        make_literal(figure)
        figure.draw_without_rendering()
        # the layout is final; computing it again for each frame is slow
        figure.set_layout_engine("none")
        times_s = np.linspace(0.0, end_s, self._frames).tolist()

        def show(time_s: float) -> list[Any]:
            return [drawn for scene in scenes for drawn in scene.show(time_s)]

        return FuncAnimation(
            figure, show, frames=times_s, interval=1000 / self._fps, repeat=False
        )

    def save(self, filename: str | Path) -> None:
        """Write the animation; no partial file is left if this fails.

        filename: a name ending in .html, .gif or .mp4, which sets the format; .mp4
        needs ffmpeg. For other writers use `film().save(...)`. Raises InputError for
        another ending, or if the file cannot be written.
        """
        path, suffix = Path(filename), check_film("file", filename)
        if suffix == ".html":
            write_whole(
                path, player_page(self._runs, path.stem, self._captions).encode()
            )
            return
        writer_class = PillowWriter if suffix == ".gif" else FFMpegWriter
        with TemporaryDirectory() as folder:
            drawn = Path(folder) / path.name
            # fps: not only whole numbers
            self.film().save(
                str(drawn),
                writer=writer_class(fps=self._fps),  # type: ignore[arg-type]
            )
            write_whole(path, drawn.read_bytes())


def check_film(what: str, filename: str | Path) -> str:
    """Return a filename's ending; raise InputError if the format is unavailable."""
    suffix = Path(filename).suffix.lower()
    require(
        suffix in FILMS, what, str(filename), f"a name that ends in {', '.join(FILMS)}"
    )
    if suffix == ".mp4" and not FFMpegWriter.isAvailable():
        message = (
            "an .mp4 file needs ffmpeg, which is not installed; .html and .gif do not"
        )
        raise InputError(f"{filename}: {message}")
    return suffix


@checked
def animate(
    runs: Drawn | Iterable[Drawn],
    frames: TwoOrMore = 120,
    fps: Positive = 12.0,
    captions: Mapping[NotNegative, str] = {},
) -> RunAnimation:
    """Animate a run, or two of the same jobs: `animate(run).save("day.html")`.

    The .html file plays the runs or steps through events. It shows the queue with its
    deadlines, the resources with their jobs, and each job as a mark that can be
    followed; for rented slots, also the stock and the reasons for the policy's last
    decision. Times are rounded to a millionth of the run or less. In a .gif or .mp4,
    resources are boxes; up to 100 show their job or number of jobs, up to 20 names.

    runs: runs of any model, with records. captions: start time in seconds -> text in
    the .html file. Raises InputError for a run without jobs, more than two runs, or two
    with different jobs.
    """
    shown = runs_of(runs)
    require(len(shown) <= 2, "runs", len(shown), "one or two")
    jobs = []
    for run in shown:
        visits = timeline_of(run).visits
        require(
            len(visits) > 0, "jobs with records in the run", len(visits), "at least one"
        )
        due_s = np.nan_to_num(visits["due_s"], nan=-1.0).tolist()
        jobs.append(
            (getattr(run, "seed", 0), sorted(zip(visits["job"].tolist(), due_s)))
        )
    require(jobs[0] == jobs[-1], "runs", shown, "runs of the same jobs and seed")
    return RunAnimation(shown, frames, fps, captions)


class _Unseen(FigureCanvasAgg):
    """Canvas that draws a frame only when it is saved."""

    def draw_idle(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing."""


class _Scene:
    """Artists that show one run over time."""

    def __init__(
        self, timeline: Timeline, top: Axes, bottom: Axes, end_s: float
    ) -> None:
        self._policy, self._unit = timeline.policy, time_unit(end_s)
        times_s, waiting = metrics.queue_length(timeline)
        self._times_s = np.concatenate([[0.0], times_s])
        self._waiting = np.concatenate([[0], waiting])
        colour = colour_of(timeline.policy) or "black"
        (self._line,) = top.plot([], [], drawstyle="steps-post", color=colour)
        (self._now,) = top.plot([], [], "o", color=colour)
        top.set(
            xlim=(0, end_s / self._unit[0]),
            ylim=(0, max(2.0, top.get_ylim()[1], 1.05 * float(self._waiting.max()))),
            xlabel=f"time ({self._unit[1]})",
            ylabel="waiting jobs",
        )
        whole_numbers(top.yaxis)
        self._title = top.set_title(" ", loc="left")
        self._boxes = _Boxes(timeline, bottom)

    def show(self, time_s: float) -> list[Any]:
        """Update all artists to their state at a time in seconds."""
        unit, unit_name = self._unit
        past = int(np.searchsorted(self._times_s, time_s, side="right"))
        now = int(self._waiting[past - 1])
        self._line.set_data(
            [*(self._times_s[:past] / unit), time_s / unit],
            [*self._waiting[:past], now],
        )
        self._now.set_data([time_s / unit], [now])
        text = f"{time_s / unit:.1f} {unit_name}, {now} waiting"
        self._title.set_text(
            visible(f"{self._policy}: {text}" if self._policy else text)
        )
        self._boxes.show(time_s)
        return [self._line, self._now, self._title]


class _Boxes:
    """One box per resource."""

    def __init__(self, timeline: Timeline, ax: Axes) -> None:
        self._bars = bars(timeline)
        self._labels = timeline.labels
        number = len(timeline.resources)
        columns = (
            min(A_ROW, number)
            if number <= WRITTEN
            else math.ceil(math.sqrt(FLAT * number))
        )
        self._letters = LETTERS // columns
        row, column = np.divmod(np.arange(number), columns)
        self._corners = np.stack([column + 0.05, -row - 0.95], axis=1)
        self._colours = {
            PHASES[1]: EXECUTING,
            **phase_greys(self._bars["phase"].tolist()),
        }
        self._filled = PolyCollection([], linewidth=0)
        ax.add_collection(self._filled)
        rims = self._outlines(np.arange(number), np.zeros(number), np.ones(number))
        ax.add_collection(
            PolyCollection(
                list(rims),
                facecolor="none",
                edgecolor="0.4",
                linewidth=1 if number <= WRITTEN else 0.15,
            )
        )
        self._few, self._texts = number <= LABELLED, list[tuple[Text, Text]]()
        if number <= WRITTEN:
            self._texts = [
                self._text(ax, place, name)
                for place, name in enumerate(timeline.resources)
            ]
        handles = [
            Patch(facecolor=colour, edgecolor="0.4", label=name)
            for name, colour in {**self._colours, "idle": IDLE}.items()
        ]
        ax.legend(
            handles=handles,
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=len(handles),
            frameon=False,
        )
        ax.set(xlim=(0, columns), ylim=(-math.ceil(number / columns), 0))
        ax.set_axis_off()

    def _text(self, ax: Axes, place: int, name: str) -> tuple[Text, Text]:
        """Return texts for a resource's jobs and its name, if boxes are few."""
        left, bottom = self._corners[place]
        own: dict[str, Any] = {"x": left + SIDE / 2, "ha": "center", "va": "center"}
        held = ax.text(
            y=bottom + 0.53, s="", fontsize="medium" if self._few else "xx-small", **own
        )
        told = name.removeprefix(str(place)).strip() or name
        return held, ax.text(
            y=bottom + 0.13, s=told if self._few else "", fontsize="x-small", **own
        )

    def _outlines(
        self, place: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> np.ndarray:
        left, bottom = self._corners[place].T
        right, top, bottom = left + SIDE, bottom + SIDE * high, bottom + SIDE * low
        return np.stack(
            [left, bottom, left, top, right, top, right, bottom], axis=1
        ).reshape(-1, 4, 2)

    def show(self, time_s: float) -> None:
        here = self._bars[
            (self._bars["from_s"] <= time_s) & (time_s < self._bars["to_s"])
        ]
        colours = [self._colours[phase] for phase in here["phase"].tolist()]
        self._filled.set_verts(
            list(self._outlines(here["resource"], here["low"], here["high"]))
        )
        self._filled.set_facecolor(colours)
        # holders of each resource, with their colours
        jobs: list[dict[int, str]] = [{} for _ in self._texts]
        for place, job, colour in zip(
            here["resource"].tolist(), here["job"].tolist(), colours
        ):
            if jobs:
                jobs[place][job] = colour
        for texts, held in zip(self._texts, jobs):
            texts[0].set_text(visible(self._told(held)))
            for text in texts:
                text.set_color(
                    ink_on(next(iter(held.values()), IDLE))
                    if len(held) < 2
                    else "black"
                )

    def _told(self, held: Iterable[int]) -> str:
        jobs = list(held)
        if len(jobs) > 1:
            return f"{len(jobs)} jobs"
        if not self._few:
            return "".join(map(str, jobs))
        names = [self._labels.get(job, str(job)) for job in jobs]
        return "".join(
            f"job {name}" if name.isdecimal() else _shortened(name, self._letters)
            for name in names
        )


def _shortened(text: str, letters: int) -> str:
    half = letters // 2
    return (
        text if len(text) <= letters else f"{text[: letters - half - 1]}…{text[-half:]}"
    )
