"""The figures of DAGs that show how searches converge, and what the order of a plan does."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from functools import cached_property
from typing import Any, cast

import numpy as np
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from cgrsp_simpy.analysis.statistics import Mean, mean
from cgrsp_simpy.dag.listing import ORDERS, heft, run_order
from cgrsp_simpy.dag.policies import SCHEDULERS, SEARCHES, find
from cgrsp_simpy.dag.problem import makespans
from cgrsp_simpy.dag.scenario import Scenario
from cgrsp_simpy.dag.search import Budget
from cgrsp_simpy.model.checks import check_whole
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import Figures, Handles, Row, where
from cgrsp_simpy.plots.parts import FAINT, Several, beside_point, dots
from cgrsp_simpy.plots.style import LOOKS, Look
from cgrsp_simpy.studies.compare import Comparison, compare
from cgrsp_simpy.studies.executors import as_they_come

COURSES = 5  # graphs whose searches are shown on their way
# Search -> its text, to which the order is added. Annealing here starts as whales do, not from
# HEFT's plan; ddqn, which takes about a minute a graph, is left out.
ORDERED = {name: f"{name}:" for name in ("random-search", "woa", "rtgs", "worl-rtgs")} | {
    "annealing": "annealing:start=random,"
}


class Runs:
    """Runs that figures share, each made once.

    graphs: how many, of seeds from 0. nodes: of each. evaluations: of each search.

    scenario, budget: of the comparisons; small: of the many searches of the sensitivity, a third of
    the nodes and half of the evaluations.
    """

    def __init__(
        self,
        graphs: int = 20,
        nodes: int = 300,
        evaluations: int = 1000,
        executor: Executor | int | None = None,
    ) -> None:
        check_whole("graphs", graphs, least=2)
        check_whole("nodes", nodes, least=24)  # a third of them must allow a degree of 3
        self.graphs, self.nodes, self.evaluations = graphs, nodes, evaluations
        self.executor = executor
        self.budget = Budget(evaluations=evaluations)
        self.scenario = Scenario(f"er:n={nodes}", budget=self.budget)
        self.small = Scenario(
            f"er:n={nodes // 3}", budget=Budget(evaluations=(evaluations + 1) // 2)
        )

    @cached_property
    def compared(self) -> Comparison:
        """All schedulers at equal budgets."""
        return compare(self.scenario, list(SCHEDULERS), range(self.graphs), self.executor)


ORDER_NAMES = {"heft": "HEFT's placement", "annealing": "annealing,\nrandom start"}


FIGURES = Figures("dag_", Runs)


def of_graphs(runs: Runs) -> str:
    """What was studied, for a note."""
    return f"{runs.graphs} Erdős–Rényi graphs of {runs.nodes} nodes, mean degree 3, on 10 GPUs"


def searched(runs: Runs) -> str:
    """What was studied, for a note."""
    return f"{of_graphs(runs)};\n{runs.evaluations:,} plans evaluated by each search"


@FIGURES.add(
    "convergence",
    "How searches converge",
    (6.3, 3.6),
    note=lambda runs: (
        f"{of_graphs(runs)}; {min(runs.graphs, COURSES)} of them here.\n"
        "Lines: medians; areas: the middle half"
    ),
    legend={"columns": 6},
)
def convergence(runs: Runs) -> list[Row]:
    """Best makespan over HEFT's, by evaluations: median and quartiles over the first graphs."""
    graphs = min(runs.graphs, COURSES)
    heft_s = np.array(
        [find(runs.scenario.draw(seed), "heft", runs.budget).makespan_s for seed in range(graphs)]
    )
    tasks = [(runs.scenario, name, seed) for name in SEARCHES for seed in range(graphs)]
    done = dict(as_they_come(_history, dict(enumerate(tasks)), runs.executor))
    histories = {(name, seed): done[number] for number, (*_, name, seed) in enumerate(tasks)}
    assert runs.budget.evaluations is not None
    grid = np.unique(np.geomspace(1, runs.budget.evaluations, 40).astype(int))
    rows: list[Row] = []
    for name in SEARCHES:
        best = np.array(
            [_best_at(histories[name, seed], grid) / heft_s[seed] for seed in range(graphs)]
        )
        low, middle, high = np.quantile(best, (0.25, 0.5, 0.75), axis=0)
        columns = zip(grid.tolist(), middle.tolist(), low.tolist(), high.tolist())
        rows += [
            {"scheduler": name, "evaluations": at, "over_heft": m, "p25": p25, "p75": p75}
            for at, m, p25, p75 in columns
        ]
    return rows


@convergence.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """A line a search: the median over the graphs, and the middle half."""
    ax = canvas.add_subplot()
    names = list(dict.fromkeys(row["scheduler"] for row in rows))
    for name in names:
        columns = ("evaluations", "over_heft", "p25", "p75")
        at, middle, low, high = zip(
            *([row[column] for column in columns] for row in rows if row["scheduler"] == name)
        )
        look = LOOKS[name]
        ax.plot(at, middle, color=look.colour, linestyle=look.line, marker=look.marker, markevery=6)
        ax.fill_between(at, low, high, color=look.colour, alpha=0.15, linewidth=0)
    ax.axhline(1.0, **FAINT)
    beside_point(ax, "HEFT", (1, 1.0), (2, 2), color="0.35")
    ax.set(xscale="log", yscale="log", xlabel="plans evaluated", ylabel="best makespan over HEFT's")
    ax.yaxis.set_major_locator(LogLocator(2))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())
    return [_line(name) for name in names]


@convergence.says
def _(rows: list[Row]) -> str:
    last = {row["scheduler"]: row for row in rows}
    told = ", ".join(
        f"{name} {row['over_heft']:.2f}"
        for name, row in sorted(last.items(), key=lambda item: item[1]["over_heft"])
    )
    number = max(row["evaluations"] for row in rows)
    return (
        f"After {number:,} plans the best makespan over HEFT's, in the median, is: {told}."
        " HEFT itself evaluates none; annealing begins with HEFT's plan and runs all plans in its"
        " order; the others know neither."
    )


def _history(graph: tuple[Scenario, str, int]) -> tuple[tuple[int, float, float], ...]:
    scenario, scheduler, seed = graph
    return find(scenario.draw(seed), scheduler, scenario.budget, seed).history


def _best_at(history: Sequence[tuple[int, float, float]], grid: np.ndarray) -> np.ndarray:
    evaluations, _, best_s = (np.array(column) for column in zip(*history))
    place = np.searchsorted(evaluations, grid, side="right") - 1
    return np.where(place < 0, best_s[0], best_s[np.maximum(place, 0)])


def _line(name: str) -> Line2D:
    look = LOOKS[name]
    return Line2D([], [], label=name, linestyle=cast(Any, look.line), **dots(look))


@FIGURES.add(
    "order",
    "What part is order, what part is placement",
    (6.3, 3.6),
    note=lambda runs: f"{searched(runs)}; 95 % intervals",
)
def order(runs: Runs) -> list[Row]:
    """Makespans over HEFT's on the same graph, by the order in which plans run: HEFT's own
    placement, and what searches find.
    """
    texts = {
        (name, order): f"{text}order={order}" for name, text in ORDERED.items() for order in ORDERS
    }
    study = compare(runs.scenario, ["heft", *texts.values()], range(runs.graphs), runs.executor)
    heft_s = study.values("heft", "makespan_s")
    found = {("heft", order): _heft_placed_s(runs, order) for order in ORDERS}
    found |= {key: study.values(text, "makespan_s") for key, text in texts.items()}
    return [
        {"scheduler": name, "order": order, "seed": seed, "over_heft": makespan_s / heft_s[seed]}
        for (name, order), makespans_s in found.items()
        for seed, makespan_s in enumerate(makespans_s)
    ]


@order.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """A line a scheduler: mean and interval when plans run in the graph's order, pale, and in
    rank order, in full colour.
    """
    ax = canvas.add_subplot()
    names = list(dict.fromkeys(row["scheduler"] for row in rows))
    for place, name in enumerate(names):
        look, own = LOOKS[name], where(rows, scheduler=name)
        found = [mean([row["over_heft"] for row in own if row["order"] == way]) for way in ORDERS]
        ax.plot([each.mean for each in found], [place, place], **{**FAINT, "color": look.colour})
        for each, style in zip(found, (dots(_pale(look)), dots(look))):
            spread = [each.half_width]
            marks.intervals(ax, [each.mean], [place], x_half=spread, colour=look.colour)
            ax.plot([each.mean], [place], **{"linestyle": "none", **style})
            beside_point(ax, f"{each.mean:.2f}", (each.mean, place), (0, 6), ha="center")
    ax.axvline(1.0, **FAINT)
    ax.set_yticks(range(len(names)), [ORDER_NAMES.get(name, name) for name in names])
    ax.set(xlabel="makespan over HEFT's", ylim=(len(names) - 0.4, -0.8))
    drawn = [LOOKS[name] for name in names]
    pale = [Line2D([], [], linestyle="none", **dots(_pale(look))) for look in drawn]
    dark = [Line2D([], [], linestyle="none", **dots(look)) for look in drawn]
    return [
        Several("pale: run in the graph's order", pale),
        Several("dark: in HEFT's rank order", dark),
    ]


@order.says
def _(rows: list[Row]) -> str:
    over, named = over_heft(rows), {"heft": "HEFT's own placement"}
    told = []
    for name in dict.fromkeys(row["scheduler"] for row in rows):
        graph, rank = (_plus_minus(mean(over[name, way])) for way in ORDERS)
        told.append(f"{named.get(name, name)} {graph} and {rank}")
    beside = "; ".join(
        f"{name} {_beside_random(over, name)}" for name in ORDERED if name != "random-search"
    )
    in_graph, in_rank = (over["worl-rtgs", way] for way in ORDERS)
    above, by_order, left = (
        _plus_minus(mean(each)) for each in (in_graph - 1, in_graph - in_rank, in_rank - 1)
    )
    return (
        "Makespans over HEFT's, run in the graph's order and in HEFT's rank order:"
        f" {', '.join(told)}. In the graph's order worl-rtgs is {above} times HEFT's makespan"
        f" above it; {by_order} of that go when the same search runs its plans in rank order,"
        f" and {left} are left to the placement. Beside random search in the same order: {beside}."
        " Annealing here starts from a random plan, too; ddqn is left out for its time."
    )


def _heft_placed_s(runs: Runs, order: str) -> list[float]:
    """Makespans of HEFT's placement, of each graph, when its nodes run in another order."""
    problems = [runs.scenario.draw(seed) for seed in range(runs.graphs)]
    return [
        float(makespans(each, heft(each).gpu[None], run_order(each, order))[0]) for each in problems
    ]


def _pale(look: Look) -> Look:
    """The look, its colour mixed with white."""
    red, green, blue = (0.4 * part + 0.6 for part in to_rgb(look.colour))
    return look._replace(colour=to_hex((red, green, blue)))


def over_heft(rows: list[Row]) -> dict[tuple[str, str], np.ndarray]:
    """By scheduler and order, the makespans over HEFT's, a graph each."""
    keys = dict.fromkeys((row["scheduler"], row["order"]) for row in rows)
    return {
        key: np.array([row["over_heft"] for row in rows if (row["scheduler"], row["order"]) == key])
        for key in keys
    }


def _beside_random(over: dict[tuple[str, str], np.ndarray], name: str) -> str:
    """Difference from random search on the same graph, percent, in each order; said to be one if
    the interval is without 0.
    """
    found = [mean(100 * (over[name, way] / over["random-search", way] - 1)) for way in ORDERS]
    return " and ".join(
        f"{each.mean:+.1f} ± {each.half_width:.1f}"
        f" %{' (not shown to differ)' if each.low <= 0 <= each.high else ''}"
        for each in found
    )


def _plus_minus(value: Mean) -> str:
    """A mean with the half width of its 95 % interval."""
    return f"{value.mean:.2f} ± {value.half_width:.2f}"
