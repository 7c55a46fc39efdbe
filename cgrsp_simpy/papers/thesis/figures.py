"""Figures of the thesis, drawn from this package's runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.base.parameters import TwoOrMore, checked
from cgrsp_simpy.engine.resources import Slot
from cgrsp_simpy.engine.run import Records, Run
from cgrsp_simpy.engine.simulation import Simulation
from cgrsp_simpy.market.gpu import THESIS_GPUS
from cgrsp_simpy.market.model import Market
from cgrsp_simpy.papers.thesis import example_figures, table_figures
from cgrsp_simpy.papers.thesis.experiments import (
    MONTH,
    TABLES,
    Results,
    Table,
    known_directory,
    of_policies,
    reproduce,
)
from cgrsp_simpy.papers.thesis.printed import IDS, run_tables
from cgrsp_simpy.plots.figure import (
    Canvas,
    Gallery,
    Row,
    where,
)
from cgrsp_simpy.plots.style import Style
from cgrsp_simpy.rental.days import day
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.view import Policy, View
from cgrsp_simpy.rental.workload import PoissonWorkload
from cgrsp_simpy.studies.replicate import check_policies
from cgrsp_simpy.studies.subject import subject_of

__all__ = ["figure"]

QUEUE = "event queue"
# component, code and task, as in Section 4.1
PARTS: dict[str, tuple[tuple[Any, ...], str]] = {
    QUEUE: (
        ("simpy.Environment",),
        "submit, start and finish of each job, by time",
    ),
    "Job Generator": ((PoissonWorkload,), "jobs with their draws"),
    "DES Core": ((Simulation,), "one process per job; decisions"),
    "Scheduler": ((Policy, View), "a function of the view"),
    "Fleet Manager": ((Slot, Market), "usage of the slots; stock and delay"),
    "Metrics Collector": ((Records, Run), "one row per job; means"),
}
MESSAGES = (  # from, to, text
    ("Job Generator", QUEUE, "arrivals"),
    (QUEUE, "DES Core", "next event"),
    ("DES Core", QUEUE, "start, finish"),
    ("DES Core", "Scheduler", "View"),
    ("Scheduler", "DES Core", "(job, slot)"),
    ("Scheduler", "Fleet Manager", "idle slots?"),
    ("DES Core", "Fleet Manager", "claim, release"),
    ("DES Core", "Metrics Collector", "records"),
)
PLACES = {  # positions in Figure 5.2: left, bottom, width, height
    QUEUE: (0.0, 6.6, 12.0, 1.15),
    "Job Generator": (0.0, 3.9, 3.3, 1.6),
    "DES Core": (4.1, 3.9, 3.7, 1.6),
    "Metrics Collector": (8.9, 3.9, 3.1, 1.6),
    "Scheduler": (1.6, 1.0, 3.5, 1.6),
    "Fleet Manager": (7.6, 1.0, 3.5, 1.6),
}
# components in Section 4.1
COMPONENTS = ("Job Generator", "DES Core", "Scheduler", "Fleet Manager")
# start and end in Figure 5.2, and the position of the label, in message order
ARROWS = (
    ((1.65, 5.5), (1.65, 6.6), (1.8, 6.05)),
    ((5.3, 6.6), (5.3, 5.5), (5.15, 6.05)),
    ((6.6, 5.5), (6.6, 6.6), (6.75, 6.05)),
    ((4.4, 3.9), (4.4, 2.6), (4.25, 3.25)),
    ((4.9, 2.6), (4.9, 3.9), (5.05, 3.25)),
    ((5.1, 1.8), (7.6, 1.8), (6.35, 2.05)),
    ((7.5, 3.9), (8.4, 2.6), (8.15, 3.3)),
    ((7.8, 4.7), (8.9, 4.7), (8.35, 4.92)),
)
ROUND = "round,pad=0.02,rounding_size=0.12"


@example_figures.FIGURES.add(
    "5.2",
    ("The four components and the event queue, with their names in the code"),
    (6.3, 4.6),
)
def architecture(_results: Results | None) -> list[Row]:
    """Return the components of Section 4.1 with code, messages and fleet types."""
    rows = [
        (
            "part",
            part,
            "",
            " ".join(getattr(task, "__name__", task) for task in by),
            does,
        )
        for part, (by, does) in PARTS.items()
    ]
    rows += [("message", one, other, "", text) for one, other, text in MESSAGES]
    rows += [("type", gpu.name, "Fleet Manager", "GpuType", "") for gpu in THESIS_GPUS]
    return [dict(zip(("what", "name", "to", "names", "text"), row)) for row in rows]


@architecture.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    ax = canvas.add_subplot()
    for row in where(rows, what="part"):
        _part(
            ax,
            row,
            PLACES[row["name"]],
            "#dbe9f6" if row["name"] in COMPONENTS else "#f4f4f4",
        )
    for row, (begin, end, at) in zip(where(rows, what="message"), ARROWS):
        ax.annotate(
            "", end, begin, arrowprops={"arrowstyle": "-|>", "lw": 1.0, "color": "0.25"}
        )
        side = "right" if at[0] < begin[0] else "left"
        if begin[1] == end[1]:
            side = "center"
        ax.text(
            *at, row["text"], ha=side, va="center", fontsize="x-small", style="italic"
        )
    left, low, width, _ = PLACES["Fleet Manager"]
    ax.add_patch(
        FancyBboxPatch(
            (left - 0.9, -0.85),
            width + 1.8,
            1.15,
            boxstyle=ROUND,
            facecolor="none",
            edgecolor="0.4",
            linestyle="--",
        )
    )
    types = [row["name"].removeprefix("RTX ") for row in where(rows, what="type")]
    ax.text(
        left + width / 2,
        -0.28,
        f"GPU fleet: GpuType\n{', '.join(types)}",
        ha="center",
        va="center",
        fontsize="small",
    )
    ax.plot([left + width / 2] * 2, [0.3, low], color="0.4", lw=1.0, ls="--")
    ax.text(
        -0.05,
        -0.3,
        "blue: the four components\nof Section 4.1",
        fontsize="small",
        va="center",
    )
    ax.set(xlim=(-0.15, 12.15), ylim=(-0.95, 7.85))
    ax.axis("off")


def _part(
    ax: Axes, row: Row, place: tuple[float, float, float, float], colour: str
) -> None:
    left, low, width, height = place
    ax.add_patch(
        FancyBboxPatch(
            (left, low),
            width,
            height,
            boxstyle=ROUND,
            facecolor=colour,
            edgecolor="0.3",
            linewidth=0.8,
        )
    )
    names = row["names"].replace(" ", ", ")
    lines: tuple[tuple[str, float, dict[str, Any]], ...] = (
        (row["name"], 0.8, {"fontweight": "bold", "fontsize": "medium"}),
        (names, 0.48, {"fontsize": "small", "family": "monospace"}),
        (row["text"], 0.18, {"fontsize": "x-small"}),
    )
    for text, share, font in lines:
        at = (left + width / 2, low + share * height)
        ax.text(*at, text, ha="center", va="center", **font)


def _intro(_: Results) -> list[str]:
    return [
        "# Figures of the thesis, drawn from this package's runs",
        (
            "Hollow marks and numbers in italics are published values;"
            " bars and lines are ours, with their 95 % intervals. Next to"
            " each picture is the CSV of its data. All of them: `cgrsp"
            " papers figures thesis --out figures`."
        ),
    ]


# parameters of the runs behind figures
CHANGED = frozenset({"seeds", "policies", "scenario"})
# figures whose runs are not a table's, and their parameters
OF_DAYS = {"queue": CHANGED, "stock": CHANGED - {"policies"}}


@checked
def _results(
    executor: Executor | int | None,
    drawn: Sequence[str],
    runs_from: str | Path | None = None,
    seeds: TwoOrMore | None = None,
    policies: Sequence[Any] | None = None,
    scenario: Mapping[str, Any] | None = None,
) -> Results:
    """Return the runs behind figures, or those of a results directory.

    runs_from: directory written by `cgrsp papers tables thesis --out`.
    """
    changed = _given(seeds=seeds, policies=policies, scenario=scenario)
    if runs_from is not None:
        allowed = f"omitted if {', '.join(changed)} is given"
        require(not changed, "runs_from", runs_from, allowed)
        return run_tables(*known_directory(runs_from, IDS), executor, runs_from)[0]
    needs = list(dict.fromkeys(table for id in drawn for table in FIGURES[id].needs))
    if not changed:
        return run_tables(needs, None, executor)[0]
    for id in drawn:
        unused = changed.keys() - _parameters_of(id)
        if unused:
            others = [other for other in FIGURES if unused <= _parameters_of(other)]
            raise InputError(
                f"figure {id} does not depend on {' and '.join(sorted(unused))};"
                f" figures that do: {', '.join(others)}"
            )
    require(
        isinstance(scenario or {}, Mapping),
        "scenario",
        scenario,
        "values by the names of parameters",
    )
    named = None if policies is None else check_policies(policies, day("normal"))
    tables = {
        id: TABLES[id] if named is None else of_policies(TABLES[id], named)
        for id in needs
    }
    return replace(_changed_results(tables, seeds, executor, scenario), policies=named)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _parameters_of(id: str) -> frozenset[str]:
    """Return the parameters that change a figure."""
    return OF_DAYS.get(id, CHANGED if FIGURES[id].needs else frozenset())


def _changed_results(
    tables: Mapping[str, Table],
    seeds: int | None,
    executor: Executor | int | None,
    scenario: Mapping[str, Any] | None,
) -> Results:
    """Return the runs behind tables in scenarios with changed parameters.

    Raises InputError if a change has no effect, or makes two scenarios equal.
    """
    changes = dict(scenario or {})

    def change(scenario: Scenario) -> Any:
        return subject_of(scenario).varied(**changes)

    wanted = [
        (cell.measure, table.seeds(seeds))
        for table in tables.values()
        for cell in table.cells
    ]
    scenarios = {
        source.scenario
        for measure, _ in wanted
        for source in measure.sources
        if source.scenario != MONTH
    }
    varied = {change(usual) for usual in scenarios if isinstance(usual, Scenario)}
    no_effect = scenario is not None and varied == scenarios != set()
    require(
        len(varied) == len(scenarios) and not no_effect,
        "scenario",
        changes,
        "other values of parameters that the figure itself does not vary",
    )
    texts = ", ".join(f"{name} = {value}" for name, value in changes.items())
    return replace(
        reproduce(wanted, seeds, executor, market=change),
        tables=tables,
        other=f"here {texts}, other than in the thesis" if texts else "",
    )


class _Gallery(Gallery):
    def runs_of(self, ids: Sequence[str], /, **sizes: Any) -> Results:
        """Return the runs behind these figures; sizes: parameters of `_results`."""
        return _results(drawn=ids, **sizes)


FIGURES = _Gallery("thesis", _results, _intro)
for _id, _figure in sorted((example_figures.FIGURES | table_figures.FIGURES).items()):
    _figure.head = f"Figure {_id}" if _id[0].isdigit() else "More"
    _figure.options = " --out figures"
    FIGURES[_id] = _figure


def figure(
    id: str,
    *,
    seeds: int | None = None,
    policies: Sequence[Any] | None = None,
    scenario: Mapping[str, Any] | None = None,
    style: Style = "print",
    width: float | None = None,
    csv: str | Path | None = None,
    executor: Executor | int | None = None,
) -> Canvas:
    """Draw a figure of the thesis, optionally with other parameters.

    id: number of the figure, or "slots", "thresholds", "reservations", "stock", "queue"
    or "cells". seeds: number of replications, at least 2; default: as in the thesis.
    policies: default: those of the thesis; others have no published marks. scenario:
    parameters to change in each scenario, such as {"slots": 7}: those of
    `Scenario.varied` that the figure itself does not vary. style: "print", "lecture",
    "single" or "double" (columns of a journal), or settings of matplotlib by name
    ({"font.size": 10}); no text is below 7 pt. width: mm, by default the style's. csv:
    CSV file to draw from, without simulating. executor: as in `compare`. Returns a
    figure that pyplot does not manage. Raises InputError for an argument that is
    invalid or has no effect.
    """
    changed = _given(seeds=seeds, policies=policies, scenario=scenario)
    return FIGURES.figure(
        id, style=style, width=width, csv=csv, executor=executor, **changed
    )
