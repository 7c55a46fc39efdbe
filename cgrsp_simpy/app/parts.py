"""What several pages have: the options of a day, work with its estimate and progress, pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.model.table import figure_text
from cgrsp_simpy.plots import gantt, policy_bars, queue_length, slot_timeline, styled
from cgrsp_simpy.plots.player import player_page
from cgrsp_simpy.rental.scenario import Scenario, day
from cgrsp_simpy.rental.workload import DAYS
from cgrsp_simpy.studies.compare import compare

MOST_S = 60.0  # of work that a page starts
PLAYER = 760  # pixels high
A_ROW = 4  # figures


def scenario_of() -> Scenario:
    """The day that the sliders say."""
    left, middle, right = st.columns(3)
    name = left.selectbox("Day", list(DAYS), index=list(DAYS).index("hectic"), key="day")
    slots = middle.slider("Slots", 1, 20, 5, key="slots")
    jobs = right.slider("Jobs", 10, 2000, DAYS[name][1], 10, key=f"jobs of {name}")
    tight = left.slider("Share of 1-hour deadlines", 0.0, 1.0, 0.2, 0.05, key="tight")
    told = "Persistence of stock, minutes (0: drawn anew for each job)"
    persistence_min = middle.slider(told, 0, 240, 0, 10, key="persistence")
    free = right.checkbox("The policy chooses the GPU type", key="free")
    return day(name, slots, tight, jobs, free_types=free, persistence_s=60.0 * persistence_min)


def seeds_of(page: str, most: int, usual: int) -> range:
    """The seeds that a slider says. page: whose slider it is."""
    return range(st.slider("Seeds", 2, most, usual, key=f"{page}: seeds"))


def policies_of(page: str, model: Model, told: str) -> list[str]:
    """The policies that are chosen, of all that the model has. page: where; told: what for."""
    usual = list(model.default_policies())
    return st.multiselect(told, list(model.policies), usual, key=f"{page}: policies")


def estimate(runs: int, model: Model) -> float:
    """Tell how much work it is; seconds, roughly."""
    seconds = runs * model.work / model.pace_per_s
    about = f"about {seconds:.0f} s" if seconds >= 1 else "less than a second"
    st.caption(f"{runs:,} runs of {model.work:,} jobs: {about}.")
    return seconds


def wanted(label: str, seconds: float) -> bool:
    """Whether the button has been pressed, for work that is not too long."""
    if seconds > MOST_S:
        st.warning(f"That is more than {MOST_S:.0f} s: choose fewer seeds, jobs or policies.")
    return st.button(label, type="primary", disabled=seconds > MOST_S)


class Progress(ThreadPoolExecutor):
    """An executor of one thread that shows on the page how much of its work is done."""

    def __init__(self) -> None:
        context = get_script_run_ctx()
        super().__init__(1, initializer=lambda: add_script_run_ctx(None, context))
        self._bar, self._done, self._all = st.progress(0.0), 0, 0

    def submit(self, *args: Any, **named: Any) -> Future[Any]:
        """Take a task."""
        self._all += 1
        task = super().submit(*args, **named)
        task.add_done_callback(self._tell)
        return task

    def _tell(self, _: Future[Any]) -> None:
        self._done += 1
        self._bar.progress(self._done / self._all)

    def shutdown(self, *args: Any, **named: Any) -> None:
        """End, and take the bar away."""
        super().shutdown(*args, **named)
        self._bar.empty()


def compared(model: Model, policies: Sequence[str], seeds: range, metrics: Sequence[str]) -> None:
    """Compare policies when asked to; the table, and a figure a metric."""
    seeds = seeds if model.is_random else range(1)
    if not wanted("Compare", estimate(len(policies) * len(seeds), model)):
        return
    with Progress() as executor:
        study = compare(model, policies, seeds, executor)
    st.code(str(study), language=None)
    for column, metric in zip(st.columns(len(metrics)), metrics):
        draw(column, policy_bars, study, metric)


def figures(run: Any, model: Model, names: Iterable[str]) -> None:
    """Figures of a run, with their units."""
    found = run.summary()
    shown = [name for name in names if name in found]
    for row in range(0, len(shown), A_ROW):
        for column, name in zip(st.columns(A_ROW), shown[row : row + A_ROW]):
            column.metric(str(model.metrics[name]), figure_text(found[name]))


def pictures(run: Any, name: str) -> None:
    """A run as a player, a Gantt chart, its queue or what its places do: the one that is chosen."""
    plots: dict[str, Callable[..., Any]] = {
        "Gantt": gantt,
        "Queue": queue_length,
        "Places": slot_timeline,
    }
    chosen = st.radio("Shown", ["Player", *plots], horizontal=True, key="picture")
    if chosen in plots:
        draw(st, plots[chosen], run)
        return
    page = player_page(run.timeline, name)
    st.iframe(page, height=PLAYER)
    st.download_button("This player as a file", page, f"{name}.html", "text/html")


def draw(place: Any, plot: Callable[..., Any], *of: Any) -> None:
    """What a plot draws, at a place of the page."""
    with styled("lecture"):
        place.pyplot(plot(*of).figure)
