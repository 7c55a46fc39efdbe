"""Elements shared by pages: options of a day, work with progress, plots."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from math import inf
from threading import Lock
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.table import many, rounded, visible
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.plots import gantt, policy_bars, queue_length, slot_timeline, styled
from cgrsp_simpy.plots.animation import player_page
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.workload import DAYS
from cgrsp_simpy.studies.compare import compare
from cgrsp_simpy.studies.replicate import simulate
from cgrsp_simpy.studies.subject import subject_of

MOST_S = 60.0  # limit of work that a page starts
PLAYER = 780  # height in pixels
SEEDS, BATCH = 20, 5  # number, and batch size
NONE, NOW = "none", "policy"
MARKDOWN = re.compile(r"[\\`*_\[\]<>$~]")
# Matplotlib's settings belong to the process, and so to every session
DRAWING = Lock()


def scenario_of() -> Scenario:
    """Return the day set by the sliders."""
    bar = st.sidebar
    name = bar.selectbox("Day", list(DAYS), index=list(DAYS).index("hectic"), key="day")
    slots = bar.slider("Slots", 1, 20, 5, key="slots")
    jobs = bar.slider("Jobs", 10, 2000, DAYS[name][1], 10, key=f"jobs of {name}")
    tight = bar.slider("Share of 1-hour deadlines", 0.0, 1.0, 0.2, 0.05, key="tight")
    persistence_min = bar.slider(
        "Persistence of stock, minutes (0: none)", 0, 240, 0, 10, key="persistence"
    )
    free = bar.checkbox("The policy selects the GPU type", key="free")
    return day(
        name, slots, tight, jobs, free_types=free, persistence_s=60.0 * persistence_min
    )


def plain(text: str) -> str:
    """Escape a string for an element that interprets Markdown."""
    return MARKDOWN.sub(r"\\\g<0>", visible(text, "\n"))


def seeds_of(page: str, most: int, usual: int) -> range:
    """Return the seeds set by a slider. page: prefix of its key."""
    return range(st.slider("Seeds", 2, most, usual, key=f"{page}: seeds"))


def policies_of(page: str, model: Model, label: str) -> list[str]:
    """Return the selected policies of a model. page: prefix of the widget's key."""
    usual = list(subject_of(model).default_policies())
    return st.multiselect(label, list(model.policies), usual, key=f"{page}: policies")


def estimate(runs: int, model: Model) -> float:
    """Show the estimated computing time and return it, seconds."""
    seconds = runs * subject_of(model).work / subject_of(model).pace_per_s
    about = f"about {seconds:.0f} s" if seconds >= 1 else "less than a second"
    st.caption(
        f"{many(runs, 'run', ',')} of {many(subject_of(model).work, 'job', ',')}:"
        f" {about}."
    )
    return seconds


def wanted(label: str, seconds: float) -> bool:
    """Show a button, disabled for long work; return whether it was pressed."""
    if seconds > MOST_S:
        st.warning(
            f"That is more than {MOST_S:.0f} s: choose fewer seeds, jobs or policies."
        )
    return st.button(label, type="primary", disabled=seconds > MOST_S)


class Progress(ThreadPoolExecutor):
    """Executor with one thread that shows its progress on the page."""

    def __init__(self) -> None:
        context = get_script_run_ctx()
        super().__init__(1, initializer=lambda: add_script_run_ctx(None, context))
        self._bar, self._done, self._all = st.progress(0.0), 0, 0

    def submit(self, *args: Any, **named: Any) -> Future[Any]:
        self._all += 1
        task = super().submit(*args, **named)
        task.add_done_callback(self._advance)
        return task

    def _advance(self, _: Future[Any]) -> None:
        self._done += 1
        self._bar.progress(self._done / self._all)

    def shutdown(self, *args: Any, **named: Any) -> None:
        super().shutdown(*args, **named)
        self._bar.empty()


def compared(
    model: Model, policies: Sequence[str], seeds: range, metrics: Sequence[str]
) -> None:
    """Compare policies on request; show the table, and a figure per metric."""
    seeds = seeds if subject_of(model).is_random else range(1)
    if not wanted("Compare", estimate(len(policies) * len(seeds), model)):
        return
    with Progress() as executor:
        study = compare(model, policies, seeds, executor)
    st.code(str(study).replace("   inf", "no end"), language=None)
    for column, metric in zip(st.columns(len(metrics)), metrics):
        draw(column, policy_bars, study, metric)


def one_or_two_of(
    label: str, names: Iterable[str], key: str, first: str, second: str = NONE
) -> list[str]:
    """Select one or two policies. key: the widget's; first, second: initial choices."""
    left, right = st.columns(2)
    options = [*names, NONE]
    first = left.selectbox(label, options[:-1], options.index(first), key=key)
    second = right.selectbox(
        "Next to it", options, options.index(second), key=f"second {key}"
    )
    return [first] if second in (NONE, first) else [first, second]


def means_of(
    model: Model,
    policies: Sequence[str],
    names: Sequence[str],
    show: Callable[[], None],
) -> None:
    """Show means of policies while seeds run; call `show` after the first batch."""
    kept = st.session_state.setdefault(f"figures of a {model.policy_label}", {})
    if kept.get("of") != (model, policies):
        kept |= {"of": (model, policies), "before": kept.get("now", [])}
    seeds = SEEDS if subject_of(model).is_random else 1
    rows: list[dict[str, Any]] = []
    for first in range(0, seeds, BATCH):
        study = compare(model, policies, range(first, min(seeds, first + BATCH)))
        require(not study.failures, "runs", study.failures, "without errors")
        rows += study.rows
        kept["now"] = [
            {
                NOW: policy,
                **{
                    str(subject_of(model).report.metrics[name]): supported(
                        [row[name] for row in rows if row["policy"] == policy]
                    )
                    for name in names
                },
            }
            for policy in policies
        ]
        before = [{**row, NOW: f"{row[NOW]}, before"} for row in kept["before"]]
        if not first:  # previous content stays until there is something new
            place = st.empty()
        with place.container():
            st.table([*kept["now"], *before], hide_index=True)
            st.caption(
                f"Means of {many(len(rows) // len(policies), 'seed')} ± half of the 95"
                " % interval."
            )
        if not first:
            show()


def supported(values: Sequence[float]) -> str:
    """Format a mean ± 95 % half width, to two significant digits of the half width."""
    endless = list(values).count(inf)
    if endless:
        return f"the queue grows without end on {endless} of {len(values)} seeds"
    value = mean(values)
    return rounded(value.mean, value.half_width)


def pictures(model: Model, policies: Sequence[str], name: str) -> None:
    """Show the selected plot per policy: player, Gantt chart, queue or resources."""
    plots: dict[str, Callable[..., Any]] = {
        "Gantt": gantt,
        "Queue": queue_length,
        "Resources": slot_timeline,
    }
    seed = int(
        st.sidebar.number_input("Seed of the run shown", 0, 1_000_000, 0, key="seed")
    )
    chosen = st.sidebar.radio(
        "Picture", ["Player", *plots], horizontal=True, key="picture"
    )
    runs = [simulate(model, policy, seed) for policy in policies]
    if chosen in plots:
        for column, run in zip(st.columns(len(runs)), runs):
            draw(column, plots[chosen], run)
        return
    page = player_page(runs, f"{name}: {' and '.join(policies)}, seed {seed}")
    st.iframe(page, height=PLAYER)
    st.download_button("Save this player", page, f"{name}_{seed}.html", "text/html")


def draw(column: Any, plot: Callable[..., Any], *data: Any) -> None:
    """Show a plot on the page, one session at a time."""
    with DRAWING, styled("lecture"):
        ax = plot(*data)
        column.pyplot(ax.figure, alt=f"Plot: {ax.get_xlabel()}, {ax.get_ylabel()}")
