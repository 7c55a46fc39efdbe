"""Animations of runs: as .gif or .mp4, and as an HTML page, player.html."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

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
from cgrsp_simpy.base.parameters import NotNegative, TwoOrMore, checked, limits
from cgrsp_simpy.base.table import filled_page, visible
from cgrsp_simpy.base.timeline import PHASES, Bands, Reasons, Timeline, timeline_of
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.plots.data import Drawn, runs_of, time_unit
from cgrsp_simpy.plots.lanes import bars
from cgrsp_simpy.plots.parts import make_literal, whole_numbers
from cgrsp_simpy.plots.style import (
    EXECUTING,
    IDLE,
    MISSED,
    STATUS,
    colour_of,
    ink_on,
    kind_colours,
    phase_greys,
)

A_ROW = 10  # boxes per row
LABELLED = 20  # most boxes that have names
LETTERS = 65  # letters of job names, in all boxes of a row
WRITTEN = 100  # most boxes that show their jobs
FLAT = 6  # width over height of all boxes, if there are more
SIDE = 0.9  # side of a box
FramesPerSecond = Annotated[
    float, limits("a number from 0.1 to 100", ge=0.1, le=100)  # 10 ms, of a GIF
]
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
        content = self.content(filename)
        write_whole(Path(filename), content)

    def content(self, filename: str | Path) -> bytes:
        """Return the content of the file that `save` writes."""
        suffix, path = check_film("file", filename), Path(filename)
        if suffix == ".html":
            return player_page(self._runs, path.stem, self._captions).encode()
        writer_class = PillowWriter if suffix == ".gif" else FFMpegWriter
        with TemporaryDirectory() as folder:
            drawn = Path(folder) / path.name
            # fps: not only whole numbers
            self.film().save(
                str(drawn),
                writer=writer_class(fps=self._fps),  # type: ignore[arg-type]
            )
            return drawn.read_bytes()


def check_film(what: str, filename: str | Path) -> str:
    """Return a filename's ending; raise InputError if the format is unavailable."""
    name = str(filename) if isinstance(filename, Path) else filename
    suffix = Path(name).suffix.lower() if isinstance(name, str) else ""
    require(suffix in FILMS, what, name, f"a name that ends in {', '.join(FILMS)}")
    if suffix == ".mp4" and not FFMpegWriter.isAvailable():
        raise InputError(
            f"{filename}: an .mp4 file needs ffmpeg, which is not installed; .html and"
            " .gif do not"
        )
    return suffix


@checked
def animate(
    runs: Drawn | Iterable[Drawn],
    frames: TwoOrMore = 120,
    fps: FramesPerSecond = 12.0,
    captions: Mapping[NotNegative, str] = {},
) -> RunAnimation:
    """Animate a run, or two of the same jobs: `animate(run).save("day.html")`.

    The .html file plays the runs or steps through events. It shows the queue with its
    deadlines, the resources with their jobs, and each job as a mark that can be
    followed; for rented slots, also the stock and the reasons for the policy's last
    decision. Times are rounded to a millionth of the run or less. In a .gif or .mp4,
    resources are boxes; up to 100 show their job or number of jobs, up to 20 names.

    runs: runs of any model, with records. captions: start time in seconds -> text in
    the .html file. Raises InputError for a run without jobs, more than two runs, two
    with different jobs, or a caption after the end.
    """
    shown = runs_of(runs)
    require(len(shown) <= 2, "runs", len(shown), "one or two")
    timelines = [timeline_of(run) for run in shown]
    jobs = []
    for timeline in timelines:
        visits = timeline.visits
        require(
            len(visits) > 0,
            "jobs with records in the run",
            len(visits),
            "at least one; in a function, those are the processes that request a"
            " cg.Resource",
        )
        due_s = np.nan_to_num(visits["due_s"], nan=-1.0).tolist()
        jobs.append(dict(zip(visits["job"].tolist(), due_s)))
    # under one policy, a run of a scenario may go on to later jobs
    one = len({id(getattr(run, "scenario", run)) for run in shown}) == 1
    fewer, more = sorted([jobs[0], jobs[-1]], key=len)
    same = fewer.items() <= more.items() if one else fewer == more
    same &= len({getattr(run, "seed", 0) for run in shown}) == 1
    require(same, "runs", shown, "runs of the same jobs and seed")
    end_s = max(timeline.end_s for timeline in timelines)
    last_s = max(captions, default=0.0)
    require(last_s <= end_s, "time of a caption", last_s, f"at most {end_s:g}, the end")
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
            xlim=(0, end_s / self._unit[0] or 1),
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
        centred: dict[str, Any] = {"x": left + SIDE / 2, "ha": "center", "va": "center"}
        held = ax.text(
            y=bottom + 0.53,
            s="",
            fontsize="medium" if self._few else "xx-small",
            **centred,
        )
        text = name.removeprefix(str(place)).strip() or name
        return held, ax.text(
            y=bottom + 0.13, s=text if self._few else "", fontsize="x-small", **centred
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
            texts[0].set_text(visible(self._job_text(held)))
            for text in texts:
                text.set_color(
                    ink_on(next(iter(held.values()), IDLE))
                    if len(held) < 2
                    else "black"
                )

    def _job_text(self, held: Iterable[int]) -> str:
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


# ---- the page that plays runs ----

DIGITS = 7  # digits of the end of a run, in ticks
DECIMALS = 6  # decimals of an amount
TEMPLATE = Path(__file__).with_name("player.html")


def player_page(
    runs: Sequence[Drawn], title: str, captions: Mapping[float, str] = {}
) -> str:
    """Return a self-contained HTML page of a run, or two of the same jobs side by side.

    runs: runs of any model, with jobs. captions: start time in seconds -> text.
    """
    return filled_page(TEMPLATE, title, encoded(runs, captions))


def encoded(runs: Sequence[Drawn], captions: Mapping[float, str]) -> dict[str, Any]:
    """Encode runs compactly for the page, as JSON-serialisable values.

    Times are whole ticks of `tick_s` seconds, a power of ten for which the end of the
    last run has at most seven digits. In each of `runs`, the columns `job` and `ready`
    of the jobs, in order of `ready`, and `from` of the bars are differences from the
    previous row; a job's `wait`, `stay` and `due` count from `ready` (null if it never
    got a resource or has no deadline), a bar's `length` from `from`. A bar's `job` is a
    row number of the jobs; `low` and `amount` are in the unit of its resource, to six
    decimals, and null if every job holds a whole resource. `why`, the reasons for
    decisions, is null for a policy without rules: `at` holds differences, `jobs` row
    numbers of the first waiting jobs, `said` and `offers` indices of `texts`.
    """
    timelines = [timeline_of(run) for run in runs]
    end_s = max(timeline.end_s for timeline in timelines)
    tick_s = 10.0 ** (math.ceil(math.log10(end_s)) - DIGITS) if end_s else 1.0
    bands = next(
        (_reported(run, "bands") for run in runs if isinstance(run, Run)), None
    )
    return {
        "tick_s": tick_s,
        "end": round(end_s / tick_s),
        "late": MISSED,
        "levels": STATUS,
        "captions": [
            [round(at_s / tick_s), text] for at_s, text in sorted(captions.items())
        ],
        "bands": bands and _bands(bands, tick_s),
        "runs": [_run(run, timeline, tick_s) for run, timeline in zip(runs, timelines)],
    }


def _reported(run: Drawn, name: str) -> Any:
    """Return the result of a method of the run's report, or None without one."""
    method = getattr(getattr(run, "report", None), name, None)
    return method and method(run)


def _bands(bands: Bands, tick_s: float) -> dict[str, Any]:
    levels = {
        name: [[round(at_s / tick_s), level, text] for at_s, level, text in rows]
        for name, rows in bands.levels.items()
    }
    scarce = [
        [round(from_s / tick_s), round(to_s / tick_s)] for from_s, to_s in bands.scarce
    ]
    return {"levels": levels, "scarce": scarce}


def _run(run: Drawn, timeline: Timeline, tick_s: float) -> dict[str, Any]:
    visits = _visits(timeline)
    kinds = kind_colours(
        timeline.kinds.get(job, PHASES[1]) for job in visits["job"].tolist()
    ) or {PHASES[1]: EXECUTING}
    drawn = bars(timeline)
    drawn = drawn[np.argsort(drawn["from_s"], kind="stable")]
    phases = {PHASES[1]: EXECUTING, **phase_greys(drawn["phase"].tolist())}
    row = {job: number for number, job in enumerate(visits["job"].tolist())}
    reasons = _reported(run, "reasons")
    return {
        "policy": timeline.policy,
        "noun": timeline.label,
        "places": list(timeline.resources),
        "sizes": _plain(np.array(timeline.sizes)),
        "kinds": _looks(kinds),
        "phases": _looks(phases),
        "jobs": _jobs(timeline, visits, list(kinds), tick_s),
        "bars": _bars(timeline, row, drawn, list(phases), tick_s),
        "why": reasons and _why(reasons, row, tick_s),
    }


def _visits(timeline: Timeline) -> np.ndarray:
    """Return visits in order, including jobs that have only claims."""
    claims, known = timeline.claims, timeline.visits
    others = claims[~np.isin(claims["job"], known["job"])]
    ids, visit = np.unique(others["job"], return_inverse=True)
    visits = np.zeros(len(ids), known.dtype)
    visits["job"], visits["ready_s"], visits["due_s"] = ids, np.inf, np.nan
    np.minimum.at(visits["ready_s"], visit, others["from_s"])
    np.maximum.at(visits["end_s"], visit, others["to_s"])
    visits["granted_s"] = visits["ready_s"]
    return np.sort(np.concatenate([known, visits]), order=["ready_s", "job"])


def _why(reasons: Reasons, row: Mapping[int, int], tick_s: float) -> dict[str, Any]:
    texts: dict[str, int] = {}

    def numbers(words: Iterable[str]) -> list[int]:
        return [texts.setdefault(text, len(texts)) for text in words]

    choices = reasons.choices
    return {
        "order": reasons.order,
        "place": reasons.place,
        "at": _differences(
            _ticks(np.array([choice.time_s for choice in choices]), tick_s)
        ),
        "jobs": [[row[job] for job, _ in choice.ranked] for choice in choices],
        "said": [numbers(words for _, words in choice.ranked) for choice in choices],
        "offers": [
            [[row[job], *numbers(words)] for job, words in choice.offers.items()]
            for choice in choices
        ],
        "kept": [choice.kept for choice in choices],
        "texts": list(texts),
    }


def _looks(colours: dict[str, str]) -> list[dict[str, str]]:
    return [
        {"name": name, "colour": colour, "ink": ink_on(colour)}
        for name, colour in colours.items()
    ]


def _jobs(
    timeline: Timeline, visits: np.ndarray, kinds: list[str], tick_s: float
) -> dict[str, Any]:
    ids = visits["job"].tolist()
    ready = _ticks(visits["ready_s"], tick_s)
    since = {
        name: _or_null(_ticks(visits[column], tick_s) - ready)
        for name, column in (("wait", "granted_s"), ("stay", "end_s"), ("due", "due_s"))
    }
    return {
        "job": _differences(visits["job"]),
        "ready": _differences(ready),
        **since,
        "kind": [kinds.index(timeline.kinds.get(job, PHASES[1])) for job in ids]
        if len(kinds) > 1
        else None,
        "label": [timeline.labels.get(job, str(job)) for job in ids]
        if timeline.labels
        else None,
    }


def _bars(
    timeline: Timeline,
    row: dict[int, int],
    drawn: np.ndarray,
    phases: list[str],
    tick_s: float,
) -> dict[str, Any]:
    size = np.array(timeline.sizes)[drawn["resource"]]
    begin = _ticks(drawn["from_s"], tick_s)
    whole = bool(((drawn["low"] == 0) & (drawn["high"] == 1)).all())
    return {
        "job": [row[job] for job in drawn["job"].tolist()],
        "place": drawn["resource"].tolist(),
        "phase": [phases.index(phase) for phase in drawn["phase"].tolist()],
        "from": _differences(begin),
        "length": _or_null(_ticks(drawn["to_s"], tick_s) - begin),
        "low": None if whole else _plain(drawn["low"] * size),
        "amount": None if whole else _plain((drawn["high"] - drawn["low"]) * size),
    }


def _ticks(times_s: np.ndarray, tick_s: float) -> np.ndarray:
    return np.rint(times_s / tick_s)


def _differences(values: np.ndarray) -> list[int]:
    return [int(value) for value in np.diff(values, prepend=0).tolist()]


def _or_null(values: np.ndarray) -> list[int | None]:
    return [int(value) if math.isfinite(value) else None for value in values.tolist()]


def _plain(values: np.ndarray) -> list[float]:
    return [
        int(value) if value.is_integer() else value
        for value in values.astype(float).round(DECIMALS).tolist()
    ]
