"""The figures of how far apart plans are, and how far their finish times."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cgrsp_simpy.dag.paper.distance import correlate
from cgrsp_simpy.dag.paper.search_figures import Runs
from cgrsp_simpy.dag.platform import Servers
from cgrsp_simpy.dag.scenario import Scenario
from cgrsp_simpy.plots.figure import Figures, Handles, Row, where
from cgrsp_simpy.plots.parts import FAINT
from cgrsp_simpy.studies.executors import as_they_come

CONCENTRATIONS = {"even": None, "uneven": 1.0}  # how even random plans are: see `correlate`
SIZES = {
    "small": (300, "small"),
    "medium": (2000, "medium"),
    "large": (5000, "large"),
}  # nodes and law, of each of the paper's classes
SIZE_MARKS = {"small": "o", "medium": "s", "large": "^"}
DEGREE_COLOURS = {1: "#E69F00", 3: "#0B4F9C"}
# Least, greatest and mean coefficient: worl-rtgs.txt Section 4.2.
PRINTED = {"pearson": (0.16, 0.57, 0.4603), "spearman": (0.42, 0.59, 0.508)}


FIGURES = Figures("dag_", Runs)


@FIGURES.add(
    "scatter",
    "Distance of plans and gap of finish times",
    (6.3, 3.2),
    note=lambda runs: (
        f"500 pairs of random plans of {runs.nodes} nodes on 10 GPUs. Even: each GPU equally"
        " likely;\n"
        "uneven: with probabilities from a Dirichlet law of parameter 1, drawn for each plan"
    ),
)
def scatter(runs: Runs) -> list[Row]:
    """SPD and FTG of pairs of random plans, even and uneven, of the graph of seed 0."""
    rows: list[Row] = []
    for kind, concentration in CONCENTRATIONS.items():
        found = correlate(runs.scenario.draw(), 500, 0, concentration)
        own = {"plans": kind, "pearson": found.pearson, "spearman": found.spearman}
        rows += [
            own | {"spd_s": spd, "ftg_s": ftg}
            for spd, ftg in zip(found.spd_s.tolist(), found.ftg_s.tolist())
        ]
    return rows


@scatter.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    """A panel for even and for uneven plans: a point a pair, with both coefficients."""
    for ax, kind in zip(canvas.subplots(1, 2), CONCENTRATIONS):
        own = where(rows, plans=kind)
        spd_s, ftg_s = ([row[column] for row in own] for column in ("spd_s", "ftg_s"))
        ax.plot(spd_s, ftg_s, ".", color="#0B4F9C", alpha=0.4, markersize=3)
        both = f"Pearson {own[0]['pearson']:.2f}, Spearman {own[0]['spearman']:.2f}"
        ax.set_title(f"{kind} plans: {both}", loc="left", fontsize="small")
        ax.set(xlabel="SPD (s)", ylabel="FTG (s)", xlim=(0, None), ylim=(0, None))


@scatter.says
def _(rows: list[Row]) -> str:
    found = {row["plans"]: row for row in rows}
    told = "; ".join(
        f"{kind}: Pearson {found[kind]['pearson']:.2f}, Spearman {found[kind]['spearman']:.2f}"
        for kind in CONCENTRATIONS
    )
    return (
        f"{told}. SPD goes with FTG where plans differ in how even they are, and hardly where"
        " all are even."
    )


@FIGURES.add(
    "coefficients",
    "Correlation of both distances, as Tables 1 to 3",
    (6.3, 4.6),
    note="1000 pairs a mark; a pair of marks is busy and idle",
    legend={"columns": 4},
)
def coefficients(runs: Runs) -> list[Row]:
    """Both coefficients over sizes, degrees, GPUs and states, for even and uneven plans (as
    Tables 1 to 3).
    """
    scenarios = [
        (
            Scenario(f"er:n={nodes},degree={degree},times={law}", Servers(gpus), state),
            size,
            degree,
            gpus,
        )
        for size, (nodes, law) in SIZES.items()
        for degree in (1, 3)
        for gpus in (10, 50, 200)
        for state in ("busy", "idle")
    ]
    rows: list[Row] = []
    for kind, concentration in CONCENTRATIONS.items():
        tasks = {place: (scenario, 0) for place, (scenario, *_) in enumerate(scenarios)}
        found = dict(as_they_come(partial(_coefficients, concentration), tasks, runs.executor))
        for place, (scenario, size, degree, gpus) in enumerate(scenarios):
            own = {
                "plans": kind,
                "size": size,
                "degree": degree,
                "gpus": gpus,
                "state": scenario.state,
            }
            rows.append(own | dict(zip(("pearson", "spearman"), found[place])))
    return rows


@coefficients.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """A panel for Pearson's and for Spearman's, a row for even and for uneven plans: a mark a
    configuration, by GPUs.
    """
    axes = canvas.subplots(2, 2, sharex=True, sharey=True)
    gpus = sorted({row["gpus"] for row in rows})
    for line, kind in zip(axes, CONCENTRATIONS):
        for ax, name in zip(line, ("pearson", "spearman")):
            _draw_coefficients(ax, where(rows, plans=kind), name, gpus)
            ax.set_title(f"{name.title()}, {kind} plans", loc="left", fontsize="small")
            low, high, middle = PRINTED[name]
            ax.axhspan(low, high, color="0.92", zorder=0)
            ax.axhline(middle, color="0.6", linewidth=0.8, zorder=0)
    for ax in axes[-1]:
        ax.set(xlabel="GPUs", xticks=range(len(gpus)), xticklabels=[str(number) for number in gpus])
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=colour, marker=mark, linestyle="", markersize=4, label=label)
        for size, mark in SIZE_MARKS.items()
        for degree, colour in DEGREE_COLOURS.items()
        for label in [f"{size}, degree {degree}"]
    ]
    return [*handles, Patch(color="0.92", label="published range, and mean")]


@coefficients.says
def _(rows: list[Row]) -> str:
    told = []
    for kind in CONCENTRATIONS:
        own = where(rows, plans=kind)
        pearson, spearman = (
            np.array([row[name] for row in own]) for name in ("pearson", "spearman")
        )
        larger = 100 * float(np.mean(spearman > pearson))
        told.append(
            f"{kind} plans: Pearson {_range(pearson)}, Spearman {_range(spearman)}, the larger"
            f" in {larger:.0f} %"
        )
    return (
        f"{'; '.join(told)}. Published: Pearson 0.16 to 0.57, mean 0.46; Spearman's mean 0.51,"
        " the larger in 92 %."
    )


def _coefficients(concentration: float | None, task: tuple[Scenario, int]) -> tuple[float, float]:
    scenario, seed = task
    found = correlate(scenario.draw(seed), 1000, seed, concentration)
    return found.pearson, found.spearman


def _draw_coefficients(ax: Axes, rows: Sequence[Row], name: str, gpus: Sequence[int]) -> None:
    for row in rows:
        aside = (list(SIZE_MARKS).index(row["size"]) - 1) * 0.2
        aside += 0.05 if row["state"] == "busy" else -0.05
        at, mark, fill = gpus.index(row["gpus"]), SIZE_MARKS[row["size"]], row["degree"]
        ax.plot(at + aside, row[name], mark, color=DEGREE_COLOURS[fill], markersize=4)
    ax.axhline(0, **FAINT)


def _range(values: Sequence[float] | np.ndarray) -> str:
    return f"{np.min(values):.2f} to {np.max(values):.2f}, mean {np.mean(values):.2f}"
