"""The figures of DAGs from runs of our own."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps, rcParams
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from cgrsp_simpy.dag.generate import training_graph
from cgrsp_simpy.dag.graph import Floats, Graph, Ints
from cgrsp_simpy.dag.paper import distance_figures, rank_figures, search_figures
from cgrsp_simpy.dag.paper.search_figures import Runs
from cgrsp_simpy.dag.platform import Servers
from cgrsp_simpy.dag.policies import find
from cgrsp_simpy.dag.problem import Problem
from cgrsp_simpy.dag.scenario import Scenario, schedule_of, simulate
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.plots.figure import Figures, Gallery, Handles, Row, where
from cgrsp_simpy.plots.parts import told

DRAWN = ("round-robin", "heft")  # whose plans of a training step are drawn
# of the nodes of a training step
KINDS = {"forward": "#9ecae1", "backward": "#4292c6", "other": "#a1d99b"}
GPUS = [to_hex(colour) for colour in colormaps["viridis"](np.linspace(0.95, 0.25, 4))]
# edges on one GPU, and between two
WITHIN: dict[str, Any] = {"color": "0.4", "linestyle": "-"}
TRANSFER: dict[str, Any] = {"color": "#D55E00", "linestyle": (0, (3, 2))}


FIGURES = Figures("dag_", Runs)


@FIGURES.add(
    "gantt",
    "A training step on four GPUs",
    (6.3, 4.4),
    note="8 layers in 4 pipeline stages, 4 micro-batches, on 2 servers of 2 GPUs",
)
def gantt(runs: Runs) -> list[Row]:
    """Of each node when and where it runs, and of each transfer between GPUs when the data
    leave and arrive.
    """
    return [
        row
        for name in DRAWN
        for row in run_rows(simulate(_step(), find(_step(), name, runs.budget).plan), name)
    ]


@gantt.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """A panel a scheduler: a line a GPU, idle ones too; nodes as boxes, transfers as lines
    from GPU to GPU.
    """
    axes = canvas.subplots(len(DRAWN), 1, sharex=True)
    # round-robin, which is drawn, uses all of them
    gpus = range(1 + max(row["gpu"] for row in rows))
    for ax, name in zip(axes, DRAWN):
        own = where(rows, scheduler=name)
        for row in own:
            if row["what"] == "node":
                length_s, colour = row["end_s"] - row["start_s"], KINDS[_kind(row["name"])]
                ax.barh(
                    row["gpu"],
                    length_s,
                    0.62,
                    row["start_s"],
                    color=colour,
                    edgecolor="white",
                    linewidth=0.4,
                )
            else:
                times_s, ends = [row["start_s"], row["end_s"]], [row["gpu"], row["to_gpu"]]
                ax.plot(times_s, ends, color="0.35", linewidth=0.5, zorder=3)
        end_s = max(row["end_s"] for row in own)
        used = {row["gpu"] for row in own}
        names = [f"GPU {gpu}" if gpu in used else f"GPU {gpu}, idle" for gpu in gpus]
        ax.set(ylim=(len(gpus) - 0.5, -0.5), yticks=gpus, yticklabels=names)
        ax.set_title(f"{name}, {told(end_s)} s", loc="left", fontsize="medium")
    axes[-1].set(xlabel="time (s)", xlim=(0, None))
    seen_s = 1e-3 * max(row["end_s"] for row in rows)
    there = {
        _kind(row["name"])
        for row in rows
        if row["what"] == "node" and row["end_s"] - row["start_s"] > seen_s
    }
    handles: list[Line2D | Patch] = [
        Patch(color=colour, label=kind) for kind, colour in KINDS.items() if kind in there
    ]
    return [*handles, Line2D([], [], color="0.35", linewidth=0.8, label="transfer")]


@gantt.says
def _(rows: list[Row]) -> str:
    told = []
    for name in DRAWN:
        own = where(rows, scheduler=name)
        moved = sum(row["what"] == "transfer" for row in own)
        told.append(
            f"{name} ends after {max(row['end_s'] for row in own):.3g} s with {moved} transfers"
            " between GPUs"
        )
    return f"{'; '.join(told)}. A unit, here a stage of the pipeline, stays on one GPU."


def _step() -> Problem:
    """A training step of four pipeline stages and four micro-batches, on two
    servers of two GPUs.
    """
    return Problem(training_graph(8, 4, 4), Servers(4, 2, tflops=(19.5,)).platform())


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


def _kind(name: str) -> str:
    return next((kind for kind in KINDS if kind in name), "other")


@FIGURES.add(
    "placement",
    "A small graph, and where HEFT puts it",
    (6.3, 3.2),
    texts=("to",),
    note="18 nodes, mean degree 1.5, on 2 servers of 2 GPUs of three speeds;"
    " edges lead to the right",
    legend={"columns": 6},
)
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


@placement.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """Nodes by level, coloured by their GPU; edges that change the GPU are dashed."""
    ax = canvas.add_subplot()
    nodes = {row["name"]: row for row in rows if row["what"] == "node"}
    for row in rows:
        if row["what"] == "edge":
            one, other = nodes[row["name"]], nodes[row["to"]]
            style = WITHIN if one["gpu"] == other["gpu"] else TRANSFER
            x, y = [one["x"], other["x"]], [one["y"], other["y"]]
            ax.plot(x, y, linewidth=0.9, zorder=1, **style)
    for row in nodes.values():
        place, colour = (row["x"], row["y"]), GPUS[row["gpu"]]
        ax.plot(*place, markersize=3.4 * rcParams["lines.markersize"], **_node(colour))
        ax.annotate(
            row["name"], place, color=_on(colour), ha="center", va="center", fontsize="small"
        )
    ax.axis("off")
    ax.margins(0.08)
    used = sorted({row["gpu"] for row in nodes.values()})
    handles: list[Line2D | Patch] = [
        Line2D([], [], label=f"GPU {gpu}", **_node(GPUS[gpu])) for gpu in used
    ]
    handles += [Line2D([], [], label="on one GPU", **WITHIN)]
    handles += [Line2D([], [], label="transfer", **TRANSFER)]
    return handles


@placement.says
def _(rows: list[Row]) -> str:
    gpu = {row["name"]: row["gpu"] for row in rows if row["what"] == "node"}
    edges = where(rows, what="edge")
    crossing = sum(gpu[row["name"]] != gpu[row["to"]] for row in edges)
    return (
        f"{len(gpu)} nodes on {len(set(gpu.values()))} GPUs; {crossing} of {len(edges)} edges"
        " change the GPU."
    )


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


def _node(colour: str) -> dict[str, Any]:
    return {"color": colour, "marker": "o", "linestyle": "none", "markeredgecolor": "0.3"}


def _on(colour: str) -> str:
    """Black or white, whichever is seen on a colour."""
    return "white" if sum(to_rgb(colour)) < 1.2 else "black"


FIGURES |= search_figures.FIGURES | rank_figures.FIGURES | distance_figures.FIGURES


def _intro(runs: Runs) -> list[str]:
    return [
        "# Figures of DAGs, drawn from this package's graphs and runs",
        "After “Efficient Scheduling for GPU-Based Neural Network Training via Hybrid"
        f" Reinforcement Learning and Metaheuristic Optimization”: {runs.graphs} Erdős–Rényi"
        f" graphs of {runs.nodes} nodes with the paper's law of times, on 10 GPUs of three speeds;"
        f" every search evaluates {runs.evaluations:,} plans. The paper's 10 whales move 300 times,"
        " and for each of these 3,000 plans its agent learns for 1,000 episodes, three million"
        " in all, too long for here: WORL-RTGS and DDQN learn for one a plan. So no figure"
        " here repeats the paper's budget. Random search at equal evaluations is the control;"
        " HEFT, CPOP, annealing, which begins with HEFT's plan, and the other rules are beside"
        " it for comparison; the five learning baselines of the paper are not described enough"
        " to be rebuilt. Each picture has the CSV of what is plotted beside it. All of them:"
        " `cgrsp dag figures --out figures/dag`.",
    ]


draw_figures = Gallery("dag", Runs, FIGURES, _intro).draw
