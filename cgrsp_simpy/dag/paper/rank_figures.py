"""The figures of DAGs that rank schedulers, and take WORL-RTGS apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from cgrsp_simpy.analysis.ranks import cliques, rank_test
from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.dag.paper.ranking import ranks as rank_study
from cgrsp_simpy.dag.paper.search_figures import Runs, searched
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import Figures, Handles, Row, markdown, where
from cgrsp_simpy.plots.parts import FAINT, beside_point, dots
from cgrsp_simpy.plots.style import LOOKS
from cgrsp_simpy.studies.compare import compare

# Parameter -> values; the paper's, but for episodes, of which it has 100 to 3000, and iterations,
# which it has up to 300.
SENSITIVITY = {
    "episodes": ("1", "2", "5", "10"),
    "gamma": ("0.90", "0.93", "0.95", "0.97", "0.99"),
    "b": ("0.5", "1.0", "1.5", "2.0"),
    "iterations": ("5", "10", "25", "50"),
}
ABLATED = {
    "worl-rtgs": "full",
    "ddqn": "without WOA",
    "woa": "without RL",
    "random-search": "without both",
}
# percent, of three sizes of graphs, worl-rtgs.txt Section 5.4
PRINTED_LOSS = {"ddqn": (121.5, 137.0), "woa": (314.2, 394.3)}
BAND: dict[str, Any] = {"color": "0.8", "linewidth": 8, "solid_capstyle": "butt"}


FIGURES = Figures("dag_", Runs)


def _small(runs: Runs) -> str:
    return (
        f"{runs.graphs} graphs of {runs.nodes // 3} nodes, {(runs.evaluations + 1) // 2:,} plans"
        " evaluated by each search"
    )


@FIGURES.add("ranks", "Who is best: critical differences", (6.3, 3.4), note=searched)
def ranks(runs: Runs) -> list[Row]:
    """Mean rank of each scheduler over the graphs, and the difference that counts."""
    found, names = rank_study(runs.compared), runs.compared.policies
    return [
        {
            "scheduler": name,
            "rank": rank,
            "critical_difference": found.critical_difference,
            "p": found.p,
        }
        for name, rank in zip(names, found.mean.tolist())
    ]


@ranks.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    """A critical-difference diagram: mean ranks on an axis, the best at the left; bars join what
    does not differ.
    """
    ax = canvas.add_subplot()
    ordered = sorted(rows, key=lambda row: float(row["rank"]))
    difference, half = rows[0]["critical_difference"], (len(rows) + 1) // 2
    low, high = 1.0, float(len(rows))
    for place, row in enumerate(ordered):
        left = place < half
        height = -1.0 - 0.9 * (place if left else len(rows) - 1 - place)
        end = low - 0.3 if left else high + 0.3
        colour = LOOKS[row["scheduler"]].colour
        ax.plot([row["rank"], row["rank"], end], [0, height, height], color=colour, linewidth=0.9)
        both = (row["scheduler"], f"{row['rank']:.2f}")
        text = "  ".join(both if left else both[::-1])
        ax.text(end, height, f" {text} ", ha="right" if left else "left", va="center")
    bars = cliques(np.array([row["rank"] for row in rows]), difference)
    for number, (begin, end) in enumerate(bars):
        height = -0.25 - 0.16 * number
        ax.plot(
            [begin - 0.05, end + 0.05],
            [height, height],
            color="black",
            linewidth=2.2,
            solid_capstyle="butt",
        )
    ax.plot([low, low + difference], [1.1, 1.1], color="black", marker="|")
    text = f"critical difference {difference:.2f}"
    ax.text(low + difference / 2, 1.25, text, ha="center", fontsize="small")
    ax.plot([low, high], [0, 0], color="black", linewidth=0.8)
    for rank in range(1, len(rows) + 1):
        ax.plot([rank, rank], [0, 0.14], color="black", linewidth=0.8)
        ax.text(rank, 0.22, str(rank), ha="center", fontsize="small")
    ax.set(xlim=(low - 3.4, high + 3.4), ylim=(-1.4 - 0.9 * half, 2.0))
    ax.axis("off")


@ranks.says
def _(rows: list[Row]) -> str:
    ordered = sorted(rows, key=lambda row: float(row["rank"]))
    best, difference = ordered[0], rows[0]["critical_difference"]
    near = [row["scheduler"] for row in ordered[1:] if row["rank"] - best["rank"] <= difference]
    also = (
        f"not shown to differ from it: {', '.join(near)}" if near else "every other differs from it"
    )
    return (
        f"{best['scheduler']} has the best mean rank, {best['rank']:.2f}; {also}. Annealing"
        " begins with HEFT's plan, and all of its plans run in its order; the other searches"
        f" know neither. {_control(rows)} The paper's critical differences, 3.374 and 4.033,"
        " lack a division by the square root of 2: 2.38 and 2.85 are right."
    )


def _control(rows: list[Row]) -> str:
    """Which of the paper's hybrid and its parts rank apart from random search by more than the
    critical difference.
    """
    rank = {row["scheduler"]: row["rank"] for row in rows}
    gaps = {
        name: rank[name] - rank["random-search"] for name in ("worl-rtgs", "rtgs", "woa", "ddqn")
    }
    apart = [
        f"{name} to be {'better' if gap < 0 else 'worse'} than random search"
        for name, gap in gaps.items()
        if abs(gap) > rows[0]["critical_difference"]
    ]
    shown = ", ".join(apart) or "none to differ from random search"
    return (
        f"Of {', '.join(gaps)}, this test shows {shown}, the control, of rank"
        f" {rank['random-search']:.2f}."
    )


@FIGURES.add(
    "ablation",
    "What whales and learning contribute",
    (6.3, 2.2),
    note=lambda runs: f"{searched(runs)}; 95 % intervals",
)
def ablation(runs: Runs) -> list[Row]:
    """What WORL-RTGS loses without whales, learning, or both: increase of the makespan on the same
    graph, percent.
    """
    full = np.array(runs.compared.values("worl-rtgs", "makespan_s"))
    rows: list[Row] = []
    for name, variant in ABLATED.items():
        values = np.array(runs.compared.values(name, "makespan_s"))
        increase = mean((100 * (values / full - 1)).tolist())
        of_variant = {"makespan_s": float(values.mean()), "sd_s": float(values.std(ddof=1))}
        half = increase.half_width if name != "worl-rtgs" else 0.0
        low, high = PRINTED_LOSS.get(name, ("", ""))
        own = {
            "increase_pct": increase.mean,
            "half_width_pct": half,
            "published_low_pct": low,
            "published_high_pct": high,
        }
        rows.append({"variant": variant, "scheduler": name, **of_variant, **own})
    return rows


@ablation.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """By how much the makespan changes without a part: a point with its interval, and the published
    range as a band.
    """
    ax = canvas.add_subplot()
    without = [row for row in rows if row["scheduler"] != "worl-rtgs"]
    for place, row in enumerate(without):
        low, high, value = row["published_low_pct"], row["published_high_pct"], row["increase_pct"]
        if low:
            ax.plot([low, high], [place, place], zorder=1, **BAND)
        look, spread = LOOKS[row["scheduler"]], [row["half_width_pct"]]
        ax.plot([value], [place], linestyle="", **dots(look))
        marks.intervals(ax, [value], [place], x_half=spread, colour=look.colour)
        beside_point(ax, f"{value:+.1f}", (value, place), (0, 7), ha="center")
    ax.axvline(0, **FAINT)
    names = [f"{row['variant']}\n({row['scheduler']})" for row in without]
    ax.set_yticks(range(len(without)), names)
    ax.set(xlabel="change of the makespan of WORL-RTGS (%)", ylim=(len(without) - 0.4, -0.6))
    band = Line2D([], [], label="published, three sizes of graphs", **BAND)
    return [band]


@ablation.says
def _(rows: list[Row]) -> str:
    told = []
    for row in rows:
        if row["scheduler"] != "worl-rtgs":
            own = f"{row['increase_pct']:+.1f} ± {row['half_width_pct']:.1f} %"
            low, high = row["published_low_pct"], row["published_high_pct"]
            printed = "" if not low else f", published {low:+g} to {high:+g} %"
            told.append(f"{row['variant']} ({row['scheduler']}) {own}{printed}")
    return (
        f"The makespan changes by: {'; '.join(told)}. Here all run their plans in the graph's"
        " order, at the budget above; the published runs had that of the paper. The bodies of"
        " Tables 13 to 15 are not in the text; these are the prose's."
    )


@ablation.tables
def _(rows: list[Row]) -> str:
    head = "variant | scheduler | mean makespan, s | standard deviation, s | increase, %"
    lines = []
    for row in rows:
        times_s = [f"{row[name]:.2f}" for name in ("makespan_s", "sd_s")]
        lines.append([row["variant"], row["scheduler"], *times_s, f"{row['increase_pct']:.1f}"])
    return markdown(head, 2, lines)


@FIGURES.add(
    "sensitivity",
    "WORL-RTGS: how much its parameters matter",
    (6.3, 4.4),
    note=_small,
    texts=("value",),
)
def sensitivity(runs: Runs) -> list[Row]:
    """Makespans of WORL-RTGS by value of each parameter over their mean on the same graph, with
    Friedman's p-value.
    """
    rows: list[Row] = []
    for parameter, values in SENSITIVITY.items():
        names = [f"worl-rtgs:{parameter}={value}" for value in values]
        study = compare(runs.small, names, range(runs.graphs), runs.executor)
        table = np.array([study.values(name, "makespan_s") for name in names]).T
        ranks, relative = rank_test(table), table / table.mean(axis=1, keepdims=True)
        rows += [
            {
                "parameter": parameter,
                "value": value,
                "seed": seed,
                "relative": float(relative[seed, place]),
                "p": ranks.p,
            }
            | {"rank": float(ranks.mean[place]), "critical_difference": ranks.critical_difference}
            for place, value in enumerate(values)
            for seed in range(runs.graphs)
        ]
    return rows


@sensitivity.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    """A panel a parameter: a box a value, of makespans relative to the mean on the same graph."""
    axes = canvas.subplots(2, 2, sharey=True)
    for ax, parameter in zip(axes.flat, SENSITIVITY):
        own = where(rows, parameter=parameter)
        values = list(dict.fromkeys(row["value"] for row in own))
        boxes = [[row["relative"] for row in own if row["value"] == value] for value in values]
        ax.boxplot(
            boxes,
            tick_labels=values,
            widths=0.6,
            patch_artist=True,
            boxprops={"facecolor": "#cfe3d8", "linewidth": 0.7},
            medianprops={"color": "black"},
            flierprops={"markersize": 2.5},
        )
        ax.set_xlabel(parameter)
        ax.set_title(f"Friedman p {_p(own[0]['p'])}", loc="right", fontsize="small", color="0.3")
    canvas.supylabel("makespan over the mean on the same graph", fontsize="medium")


@sensitivity.says
def _(rows: list[Row]) -> str:
    told = []
    for parameter, (first, *_, last) in SENSITIVITY.items():
        own = where(rows, parameter=parameter)
        ranks = {row["value"]: row["rank"] for row in own}
        best = min(ranks, key=ranks.__getitem__)
        p = own[0]["p"]
        seen = f"best mean rank at {best}" if p < 0.05 else "no difference shown"
        told.append(
            f"{parameter} from {first} to {last}: p = {p:.2g}, {seen} (mean makespans within"
            f" {_spread_pct(own):.1f} %)"
        )
    return (
        f"On {len(own) // len(ranks)} graphs of a third of the nodes, with half of the plans"
        f" evaluated: {'; '.join(told)}. Of larger budgets and graphs this says nothing."
        " The paper, on graphs of 500 to 5,000 nodes with 1,000 episodes a move (100 to 3,000"
        " where it varies them) and up to 300 iterations, finds all of them to matter, with b = 1"
        " to 1.5, gamma = 0.97 and more episodes best."
    )


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _spread_pct(rows: list[Row]) -> float:
    """By how much the means of the values differ at most, percent of the mean makespan on
    the same graph.
    """
    means = [
        np.mean([row["relative"] for row in rows if row["value"] == value])
        for value in {row["value"] for row in rows}
    ]
    return 100 * float(np.ptp(means))
