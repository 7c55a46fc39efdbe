"""The data behind the figures of DAGs, from runs of our own: for each the rows that are plotted,
and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import cached_property, partial
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.ranks import rank_test
from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.dag.distance import correlate
from cgrsp_simpy.dag.graph import Floats, Graph, Ints
from cgrsp_simpy.dag.heft import ORDERS, heft, run_order
from cgrsp_simpy.dag.platform import Servers
from cgrsp_simpy.dag.problem import Problem
from cgrsp_simpy.dag.ranking import ranks as rank_study
from cgrsp_simpy.dag.recursion import makespans
from cgrsp_simpy.dag.scenario import Scenario, schedule_of, simulate
from cgrsp_simpy.dag.schedulers import SCHEDULERS, SEARCHES, find
from cgrsp_simpy.dag.search import Budget
from cgrsp_simpy.dag.training import training_graph
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.model.checks import check_whole
from cgrsp_simpy.studies.compare import Comparison, compare
from cgrsp_simpy.studies.executors import as_they_come

Row = dict[str, Any]
DRAWN = ("round-robin", "heft")  # whose plans of a training step are drawn
COURSES = 5  # graphs whose searches are shown on their way
CONCENTRATIONS = {"even": None, "uneven": 1.0}  # how even random plans are: see `correlate`
SIZES = {
    "small": (300, "small"),
    "medium": (2000, "medium"),
    "large": (5000, "large"),
}  # nodes and law, of each of the paper's classes
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


Rows = Callable[[Runs], list[Row]]


# ---- one plan ----


def _step() -> Problem:
    """A training step of four pipeline stages and four micro-batches, on two
    servers of two GPUs.
    """
    return Problem(training_graph(8, 4, 4), Servers(4, 2, tflops=(19.5,)).platform())


def gantt(runs: Runs) -> list[Row]:
    """Of each node when and where it runs, and of each transfer between GPUs when the data
    leave and arrive.
    """
    return [
        row
        for name in DRAWN
        for row in run_rows(simulate(_step(), find(_step(), name, runs.budget).plan), name)
    ]


def run_rows(run: Run, name: str) -> list[Row]:
    """A run as rows: nodes, then transfers that take time or change the GPU."""
    found = schedule_of(run)
    graph, gpu = found.problem.graph, found.plan.gpu.tolist()
    times = zip(found.start_s.tolist(), found.finish_s.tolist())
    rows: list[Row] = [
        {
            "scheduler": name,
            "what": "node",
            "name": graph.names[node],
            "gpu": gpu[node],
            "to_gpu": gpu[node],
            "start_s": begin,
            "end_s": end,
        }
        for node, (begin, end) in enumerate(times)
    ]
    for (before, after), arrival_s in zip(graph.edges.tolist(), found.arrivals_s().tolist()):
        if gpu[before] != gpu[after]:
            ends = f"{graph.names[before]} to {graph.names[after]}"
            places = {"gpu": gpu[before], "to_gpu": gpu[after]}
            times_s = {"start_s": float(found.finish_s[before]), "end_s": arrival_s}
            rows.append({"scheduler": name, "what": "transfer", "name": ends, **places, **times_s})
    return rows


def placement(runs: Runs) -> list[Row]:
    """A small graph: where each node is drawn (its level, and its place on it), where HEFT puts
    it, and its edges.
    """
    problem = Scenario("er:n=18,degree=1.5", Servers(4, 2)).draw()
    graph, gpu = problem.graph, find(problem, "heft", runs.budget).plan.gpu.tolist()
    level, across = _levels(graph)
    rows: list[Row] = [
        {"what": "node", "name": name, "x": x, "y": y, "gpu": on, "to": ""}
        for name, x, y, on in zip(graph.names, level.tolist(), across.tolist(), gpu)
    ]
    edges = [
        (graph.names[before], graph.names[after], gpu[before])
        for before, after in graph.edges.tolist()
    ]
    return rows + [
        {"what": "edge", "name": one, "x": "", "y": "", "gpu": on, "to": other}
        for one, other, on in edges
    ]


def _levels(graph: Graph) -> tuple[Ints, Floats]:
    """Level of each node, one more than the last of its predecessors, and its place on it, near
    the mean of theirs.
    """
    level, across = np.zeros(graph.nodes, dtype=np.int64), np.zeros(graph.nodes)
    for node in graph.order.tolist():
        level[node] = 1 + level[graph.predecessors[node]].max(initial=-1)
    for number in range(level.max() + 1):
        nodes = np.flatnonzero(level == number)
        wish = [
            across[graph.predecessors[node]].mean() if number else node for node in nodes.tolist()
        ]
        across[nodes[np.argsort(wish, kind="stable")]] = (
            np.arange(len(nodes)) - (len(nodes) - 1) / 2 + 0.25 * (number % 2)
        )
    return level, across


# ---- searches ----


def _history(graph: tuple[Scenario, str, int]) -> tuple[tuple[int, float, float], ...]:
    scenario, scheduler, seed = graph
    return find(scenario.draw(seed), scheduler, scenario.budget, seed).history


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


def _best_at(history: Sequence[tuple[int, float, float]], grid: np.ndarray) -> np.ndarray:
    evaluations, _, best_s = (np.array(column) for column in zip(*history))
    place = np.searchsorted(evaluations, grid, side="right") - 1
    return np.where(place < 0, best_s[0], best_s[np.maximum(place, 0)])


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


def _heft_placed_s(runs: Runs, order: str) -> list[float]:
    """Makespans of HEFT's placement, of each graph, when its nodes run in another order."""
    problems = [runs.scenario.draw(seed) for seed in range(runs.graphs)]
    return [
        float(makespans(each, heft(each).gpu[None], run_order(each, order))[0]) for each in problems
    ]


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


# ---- two distances ----


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


def _coefficients(concentration: float | None, task: tuple[Scenario, int]) -> tuple[float, float]:
    scenario, seed = task
    found = correlate(scenario.draw(seed), 1000, seed, concentration)
    return found.pearson, found.spearman


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
