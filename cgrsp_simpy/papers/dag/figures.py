"""Figures of DAGs from our own runs: searches, order and placement, distances."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from concurrent.futures import Executor
from itertools import product
from typing import Annotated, Any

import numpy as np
from matplotlib.patches import Patch

from cgrsp_simpy.analysis.ranks import rank_test
from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.parameters import TwoOrMore, checked, limits
from cgrsp_simpy.base.table import grouped, many, progress
from cgrsp_simpy.dag.generate import SCHEDULES, training_graph
from cgrsp_simpy.dag.listing import ORDERS, heft, run_order
from cgrsp_simpy.dag.platform import Servers
from cgrsp_simpy.dag.policies import find
from cgrsp_simpy.dag.problem import Problem, lower_bound_s, makespans
from cgrsp_simpy.dag.scenario import Scenario, schedule_of, simulate
from cgrsp_simpy.dag.search import Budget
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.papers.dag.distance import correlate
from cgrsp_simpy.papers.dag.printed import ABLATION, COEFFICIENTS
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import (
    Canvas,
    Gallery,
    Handles,
    Row,
    distinct,
    markdown,
    numbers,
    where,
)
from cgrsp_simpy.plots.parts import (
    FAINT,
    Several,
    beside_point,
    dots,
    key,
    plus_minus,
    three_digits,
    titled,
)
from cgrsp_simpy.plots.style import Look, looks, mixed
from cgrsp_simpy.studies.compare import compare
from cgrsp_simpy.studies.executors import as_they_come

log = logging.getLogger(__name__)

# Search -> its text. Annealing starts at random, as whales do, not from HEFT's plan.
SEARCHED = {
    name: name
    for name in ("heft", "random-search", "woa", "worl-rtgs", "rtgs", "rtgs:paced=true")
} | {"annealing": "annealing:start=random,order=graph", "ddqn": "ddqn"}
INSTANCES = 10  # per size, as many as the paper's repetitions
BY_DDQN = 6  # only of the smaller size, to save time
# seconds of computing per plan and node, roughly, if BLAS has one thread
LEARNING_S = {"worl-rtgs": 2.5e-5, "ddqn": 2.2e-4}
PERCENTS = (0, 1, 10, 100, 1000)  # above the bound, on the axis
PLANS = (1, 3, 10, 30, 100, 300, 1000)  # numbers of evaluated plans on the axis
# Texts of the searches in both orders; ddqn is left out to save time
ORDERED = {
    name: f"{name}:" for name in ("random-search", "woa", "rtgs", "worl-rtgs")
} | {
    "annealing:reorders=0": "annealing:start=random,reorders=0,",
    "annealing": "annealing:start=random,",
}
ORDER_NAMES = {
    "heft": "HEFT's placement",
    "annealing:reorders=0": "annealing of\nplacement alone",
    "annealing": "annealing of\nboth",
}
KINDS = {"forward": "#9ecae1", "backward": "#4292c6"}  # colours of nodes
# see `correlate`
CONCENTRATIONS = {"even": None, "uneven": 1.0}
# nodes, and mark
SIZES = {"small": (300, "o"), "medium": (2000, "s"), "large": (5000, "^")}
DEGREE_COLOURS = {1: "#E69F00", 3: "#0B4F9C"}
# least, greatest and mean coefficient
PRINTED = {"pearson": COEFFICIENTS[2][2:5], "spearman": COEFFICIENTS[1][2:5]}


class Runs:
    """Inputs of figures: seeds from 0, nodes per graph, evaluations per search."""

    @checked
    def __init__(
        self,
        graphs: TwoOrMore = 20,
        nodes: Annotated[int, limits("a whole number >= 7", ge=7)] = 300,
        evaluations: int = 1000,
        executor: Executor | int | None = None,
    ) -> None:
        self.graphs, self.nodes, self.executor = graphs, nodes, executor
        self.budget = Budget(evaluations=evaluations)
        self.scenario = Scenario(f"er:n={nodes}", budget=self.budget)
        machines = Servers(50, tflops=(1.0,))
        self.tasks = {
            number: Scenario(
                f"er:n={number},degree=0", machines, "busy", budget=self.budget
            )
            for number in (nodes, 10 * nodes // 3)
        }


def _intro(runs: Runs) -> list[str]:
    few, more = (f"{number:,}" for number in runs.tasks)
    return [
        "# Figures of DAGs, drawn from this package's graphs and runs",
        (
            "After “Efficient Scheduling for GPU-Based Neural Network"
            " Training via Hybrid Reinforcement Learning and Metaheuristic"
            " Optimization”. The authors' instances have no edges, and"
            " their public program has no agent. The first figure is of"
            f" instances of this kind: {few} and {more} independent tasks on 50"
            " machines of one speed in the busy state, drawn from the"
            " distributions of Section 4.2 for small workloads; the"
            f" authors' files have no licence. The second is of {runs.graphs}"
            f" Erdős–Rényi graphs of {many(runs.nodes, 'node')} with the same"
            " distribution of"
            " times, on 10 GPUs of three speeds. Every search evaluates"
            f" {runs.budget.evaluations:,}"
            " plans. The paper's 10 whales move 300 times, and for each of"
            " these 3,000 plans its agent learns for 1,000 episodes, three"
            " million in all. Here WORL-RTGS and DDQN learn for one episode"
            " per plan, so no figure repeats the paper's budget. Random"
            " search with as many evaluations is the control; HEFT, and"
            " annealing from a random plan, are added. The paper does not"
            " describe its five learning baselines in enough detail to"
            " implement them."
        ),
        (
            "The paper's Figures 1 and 2 correspond to the training step;"
            " Figures 3 to 6 and Tables 1 to 3 to the distances; Figures 10"
            " to 13 and Tables 13 to 19 to the first figure and its table."
            " Figures 7 to 9 and Tables 7 to 12, on the parameters of"
            " WORL-RTGS, are not drawn: if its best plan is one of its"
            " initial ones, these parameters do not matter; `cgrsp sweep"
            " dag worl-rtgs:gamma=0.9,0.97 --policies worl-rtgs` compares"
            " them. Next to each picture is the CSV of its data. All of"
            " them: `cgrsp papers figures dag --out figures/dag`."
        ),
    ]


FIGURES = Gallery("dag", Runs, _intro)


def by(rows: list[Row], column: str, *names: str) -> dict[Any, Floats]:
    """Group the values of a column by other columns, in the order of the rows."""
    groups = grouped(rows, lambda row: tuple(row[name] for name in names))
    return {
        group: np.array(numbers(members, column)) for group, members in groups.items()
    }


def _compared(values: Floats, other: Floats) -> str:
    both = min(len(values), len(other))
    change = mean(100 * (values[:both] / other[:both] - 1))
    unsure = " (not shown to differ)" if change.low <= 0 <= change.high else ""
    return f"{change.mean:+.1f} ± {change.half_width:.1f} %{unsure}"


def _of_mean(values: Floats) -> str:
    estimate = mean(values)
    return plus_minus(estimate.mean, estimate.half_width)


@FIGURES.add(
    "searches",
    "The searches on instances of the authors' kind",
    (6.3, 5.6),
    note=lambda runs: (
        "independent tasks on 50 machines that others use to 50 to 80"
        f" %; {many(min(runs.graphs, INSTANCES), 'instance')} of each size,\n"
        f"under ddqn {min(runs.graphs, BY_DDQN)} of the smaller size only; 95 %"
        " intervals at"
        " the end; linear below 1 %"
    ),
)
def searches(runs: Runs) -> list[Row]:
    """Best makespan so far over the bound per search, instance and number of plans."""
    tasks = {
        (number, name, seed): (scenario, name, seed)
        for number, scenario in runs.tasks.items()
        for name in SEARCHED
        if name != "ddqn" or number == runs.nodes
        for seed in range(min(runs.graphs, BY_DDQN if name == "ddqn" else INSTANCES))
    }
    _announce(runs, [(name, number) for number, name, _ in tasks])
    courses = as_they_come(_course, tasks, runs.executor)
    done = dict(progress(courses, total=len(tasks), unit=" searches"))
    return [
        {
            "tasks": number,
            "scheduler": name,
            "seed": seed,
            "evaluations": at,
            "over_bound": best,
        }
        for number, name, seed in tasks
        for at, best in done[number, name, seed]
    ]


def _announce(runs: Runs, searched: Iterable[tuple[str, int]]) -> None:
    seconds = (runs.budget.evaluations or 0) * summed(
        nodes * LEARNING_S.get(name, 0.0) for name, nodes in searched
    )
    if seconds > 60:
        log.info(
            "the learning searches take about %.0f minutes in total; fewer plans"
            " (evaluations=100), several --workers or, if other programs run, one"
            " BLAS thread (OPENBLAS_NUM_THREADS=1) reduce this",
            seconds / 60,
        )


def _course(task: tuple[Scenario, str, int]) -> list[tuple[int, float]]:
    scenario, name, seed = task
    problem = scenario.problem(seed)
    history = find(problem, SEARCHED[name], scenario.budget, seed).history
    bound_s, most = lower_bound_s(problem), scenario.budget.evaluations or 0
    return [
        (at, min(best_s for number, best_s in history if number <= at) / bound_s)
        for at in sorted({min(plans, most) for plans in PLANS})
    ]


@searches.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    top = 120 * max(row["over_bound"] for row in rows)
    sizes = distinct(rows, "tasks")
    for ax, number in zip(
        canvas.subplots(len(sizes), 1, sharex=True, sharey=True), sizes
    ):
        selected = by(
            where(rows, tasks=number), "over_bound", "scheduler", "evaluations"
        )
        names, plans = (list(dict.fromkeys(keys)) for keys in zip(*selected))
        no_interval = [np.nan] * (len(plans) - 1)
        series = {
            name: (
                [100 * (float(selected[name, at].mean()) - 1) for at in plans],
                [*no_interval, 100 * mean(selected[name, plans[-1]]).half_width],
            )
            for name in names
        }
        marks.lines(ax, plans, series, markersize=3.0)
        ax.set_xscale("log")
        ax.set_yscale("symlog", linthresh=1.0, linscale=0.5)
        ax.set_yticks(PERCENTS, [f"{tick:,}" for tick in PERCENTS])
        ax.set(ylabel="best makespan above\nthe bound (%)", ylim=(0, top))
        ax.set_xticks(plans, [f"{tick:,}" for tick in plans])
        ax.minorticks_off()
        titled(ax, f"{number:,} tasks")
    ax.set_xlabel("plans evaluated")


def ended(rows: list[Row]) -> dict[Any, Floats]:
    """Return the final makespans over the bound, per number of tasks and search."""
    most = max(row["evaluations"] for row in rows)
    return by(where(rows, evaluations=most), "over_bound", "tasks", "scheduler")


@searches.describes
def _(rows: list[Row]) -> str:
    selected, most = ended(rows), max(row["evaluations"] for row in rows)
    early = where(rows, evaluations=min(10, most))
    first = by(early, "over_bound", "tasks", "scheduler")
    same = [
        values == selected[tasks, "worl-rtgs"]
        for (tasks, at), values in selected.items()
        if at == "rtgs"
    ]
    still = [
        f"{np.sum(first[number, name] == last)} of {len(last)} instances of {number:,}"
        f" tasks under {name}"
        for (number, name), last in selected.items()
        if name in ("rtgs", "worl-rtgs")
    ]
    return (
        f"After {most:,} plans the best plan is still one of the ten initial"
        f" random ones on {', '.join(still)}. The reason is that the current load of a"
        " GPU is compared with an estimate of its final load, so that"
        " GPUs are filled one after the other. Both searches begin with"
        " the same ten plans, so worl-rtgs has the makespan of rtgs on"
        f" {np.sum(same)} of {np.size(same)} instances. With rtgs:paced=true (ours),"
        " which"
        " estimates the load from the share of the work that is placed,"
        " later plans are better. HEFT evaluates no plan. Mean ranks"
        " are those of the searches on all instances, as in the paper's"
        " Tables 16 to 19; its critical differences, 3.374 and 4.033,"
        " lack a division by the square root of 2 (correct: 2.38 and"
        " 2.85). The published changes of the makespan of WORL-RTGS are"
        " those of the text; Tables 13 to 15 were not legible."
    )


@searches.tables
def _(rows: list[Row]) -> str:
    selected, lines = ended(rows), []
    for number in distinct(rows, "tasks"):
        by_search = {
            name: values
            for (tasks, name), values in selected.items()
            if tasks == number
        }
        full = {
            name: values
            for name, values in by_search.items()
            if len(values) == len(by_search["heft"])
        }
        test = rank_test(np.column_stack(list(full.values())))
        ranks = {name: f"{rank:.1f}" for name, rank in zip(full, test.mean)}
        for name, values in by_search.items():
            published = dict(zip(("ddqn", "woa"), ABLATION.get(number, ()))).get(name)
            cells = [f"{number:,}", name, str(len(values)), _of_mean(values)]
            cells += [
                _compared(values, by_search[other]) if name != other else ""
                for other in ("random-search", "worl-rtgs")
            ]
            lines.append(
                [*cells, f"{published:+g} %" if published else "", ranks.get(name, "")]
            )
        lines[-len(by_search)][-1] += (
            f" (critical difference {test.critical_difference:.1f})"
        )
    return markdown(
        "tasks | search | instances | makespan over the bound | to random-search"
        " | to worl-rtgs | published | mean rank",
        2,
        lines,
    )


@FIGURES.add(
    "order",
    "Effects of order and of placement",
    (6.3, 3.6),
    note=lambda runs: (
        f"{runs.graphs} Erdős–Rényi graphs of {many(runs.nodes, 'node')}, mean degree"
        " 3, on"
        " 10 GPUs;\n"
        f"{runs.budget.evaluations:,} plans evaluated by each search; 95 % intervals"
    ),
)
def order(runs: Runs) -> list[Row]:
    """Makespan over HEFT's on the same graph, per run order and scheduler."""
    texts = {
        (name, way): f"{text}order={way}"
        for name, text in ORDERED.items()
        for way in ORDERS
    }
    _announce(runs, [("worl-rtgs", runs.nodes)] * (len(ORDERS) * runs.graphs))
    study = compare(
        runs.scenario, ["heft", *texts.values()], range(runs.graphs), runs.executor
    )
    problems = [runs.scenario.problem(seed) for seed in range(runs.graphs)]
    ratios = {
        ("heft", way): [
            float(
                makespans(problem, heft(problem).gpu[None], run_order(problem, way))[0]
            )
            for problem in problems
        ]
        for way in ORDERS
    } | {key: list(study.values(text, "makespan_s")) for key, text in texts.items()}
    return [
        {
            "scheduler": name,
            "order": way,
            "seed": seed,
            "over_heft": makespan_s / heft_s,
        }
        for (name, way), makespans_s in ratios.items()
        for seed, (makespan_s, heft_s) in enumerate(
            zip(makespans_s, study.values("heft", "makespan_s"))
        )
    ]


@order.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    ax, over = canvas.add_subplot(), by(rows, "over_heft", "scheduler", "order")
    names: list[str] = distinct(rows, "scheduler")
    drawn = dict(zip(names, looks(names)))
    for place, (name, look) in enumerate(drawn.items()):
        selected = [mean(over[name, way]) for way in ORDERS]
        ax.plot(
            [ratio.mean for ratio in selected],
            [place, place],
            **{**FAINT, "color": look.colour},
        )
        for ratio, shade in zip(selected, (_pale(look), look)):
            x, x_half = [ratio.mean], [ratio.half_width]
            marks.intervals(ax, x, [place], x_half=x_half, colour=look.colour)
            ax.plot(x, [place], linestyle="none", **dots(shade))
            beside_point(ax, f"{ratio.mean:.2f}", (*x, place), (0, 6), ha="center")
    ax.axvline(1.0, **FAINT)
    ax.set_yticks(range(len(drawn)), [ORDER_NAMES.get(name, name) for name in drawn])
    ax.set(xlabel="makespan over HEFT's", ylim=(len(drawn) - 0.4, -0.8))
    pale, dark = (
        [key(linestyle="none", **dots(style(look))) for look in drawn.values()]
        for style in (_pale, Look._make)
    )
    return [
        Several("pale: plans begin in the graph's order", pale),
        Several("dark: in HEFT's rank order", dark),
    ]


def _pale(look: Look) -> Look:
    return look._replace(colour=mixed(look.colour, 1.0, 0.6))


@order.describes
def _(rows: list[Row]) -> str:
    over = by(rows, "over_heft", "scheduler", "order")
    named = {"heft": "HEFT's own placement"}
    means = [
        f"{named.get(name, name)}"
        f" {' and '.join(_of_mean(over[name, way]) for way in ORDERS)}"
        for name in distinct(rows, "scheduler")
    ]
    comparisons = [
        f"{name} "
        + " and ".join(
            _compared(over[name, way], over["random-search", way]) for way in ORDERS
        )
        for name in ORDERED
        if name != "random-search"
    ]
    in_graph, in_rank = (over["worl-rtgs", way] for way in ORDERS)
    above, by_order, left = map(
        _of_mean, (in_graph - 1, in_graph - in_rank, in_rank - 1)
    )
    return (
        "Makespans over HEFT's, with nodes run in the graph's order"
        f" and in HEFT's rank order: {', '.join(means)}. In the graph's order the"
        f" makespan of worl-rtgs exceeds HEFT's by {above} times HEFT's; {by_order}"
        " of this excess disappear if the same search runs its plans in"
        f" rank order, and {left} are due to the placement. Compared with"
        f" random search in the same order: {'; '.join(comparisons)}. Annealing starts"
        " from a"
        " random plan; except with reorders=0 it changes the order,"
        " which the other searches keep. ddqn is not shown because of"
        " its computing time."
    )


@FIGURES.add(
    "gantt",
    "A training step on four GPUs",
    (6.3, 4.4),
    note=(
        "8 layers in 4 pipeline stages, 4 micro-batches, on 2 servers of 2 GPUs, placed"
        " by HEFT"
    ),
)
def gantt(runs: Runs) -> list[Row]:
    """Start and end of each node and of each transfer between GPUs."""
    platform = Servers(4, 2, tflops=(19.5,)).platform()
    steps = {
        name: Problem(training_graph(8, 4, 4, schedule=name), platform)
        for name in SCHEDULES
    }
    return [
        row
        for name, step in steps.items()
        for row in run_rows(simulate(step, find(step, "heft", runs.budget).plan), name)
    ]


def run_rows(run: Run, name: str) -> list[Row]:
    """Return a run as rows: nodes, then transfers between GPUs."""
    schedule = schedule_of(run)
    names, edges = schedule.problem.graph.names, schedule.problem.graph.edges.tolist()
    gpu, begin_s, end_s, arrivals_s = (
        column.tolist()
        for column in (
            schedule.plan.gpu,
            schedule.start_s,
            schedule.finish_s,
            schedule.arrivals_s(),
        )
    )
    rows = [
        ("node", node, on, on, *s) for node, on, *s in zip(names, gpu, begin_s, end_s)
    ] + [
        (
            "transfer",
            f"{names[one]} to {names[other]}",
            gpu[one],
            gpu[other],
            end_s[one],
            arrival_s,
        )
        for (one, other), arrival_s in zip(edges, arrivals_s)
        if gpu[one] != gpu[other]
    ]
    columns = ("schedule", "what", "name", "gpu", "to_gpu", "start_s", "end_s")
    return [dict(zip(columns, (name, *row))) for row in rows]


@gantt.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    axes = canvas.subplots(len(SCHEDULES), 1, sharex=True)
    gpus = range(1 + max(row["gpu"] for row in rows))
    for ax, name in zip(axes, SCHEDULES):
        selected = where(rows, schedule=name)
        for row in selected:
            begin_s, end_s, gpu = row["start_s"], row["end_s"], row["gpu"]
            if row["what"] == "node":
                colours = [KINDS[kind] for kind in KINDS if kind in row["name"]]
                ax.barh(
                    *(gpu, end_s - begin_s, 0.62, begin_s),
                    color=[*colours, "#a1d99b"][0],
                    edgecolor="white",
                    linewidth=0.4,
                )
            else:
                ends = ([begin_s, end_s], [gpu, row["to_gpu"]])
                ax.plot(*ends, color="0.35", linewidth=0.5, zorder=3)
        used = {row["gpu"] for row in selected}
        names = [f"GPU {gpu}" if gpu in used else f"GPU {gpu}, idle" for gpu in gpus]
        ax.set(ylim=(len(gpus) - 0.5, -0.5), yticks=gpus, yticklabels=names)
        titled(ax, f"{name}, {three_digits(max(row['end_s'] for row in selected))} s")
    axes[-1].set(xlabel="time (s)", xlim=(0, None))
    nodes = [Patch(color=colour, label=kind) for kind, colour in KINDS.items()]
    return [*nodes, key(color="0.35", linewidth=0.8, label="transfer")]


@gantt.describes
def _(rows: list[Row]) -> str:
    parts = [
        f"under {name} the step ends after"
        f" {max(row['end_s'] for row in selected):.3g} s, and GPUs 0 to 3 hold"
        f" activations of at most {', '.join(map(str, held))} micro-batches"
        for name in SCHEDULES
        for selected in [where(rows, schedule=name)]
        for held in [[_held(where(selected, gpu=gpu, what="node")) for gpu in range(4)]]
    ]
    text = "; ".join(parts)
    return (
        f"{text[0].upper()}{text[1:]}. A unit, here a stage of the pipeline, is"
        " placed as a"
        " whole on one GPU."
    )


def _held(nodes: list[Row]) -> int:
    """Return the maximum number of micro-batches in flight at the same time."""
    passes = [row for row in nodes if row["name"].endswith("ward")]
    spans = [
        (min(numbers(batch, "start_s")), max(numbers(batch, "end_s")))
        for batch in grouped(passes, lambda row: row["name"].split()[1]).values()
    ]
    return max(sum(begin <= at_s < end for begin, end in spans) for at_s, _ in spans)


@FIGURES.add(
    "scatter",
    "Distance of plans and difference of their makespans",
    (6.3, 3.2),
    note=lambda runs: (
        f"500 pairs of random plans of {many(runs.nodes, 'node')} on 10 GPUs. Even:"
        " each GPU"
        " equally likely;\n"
        "uneven: probabilities from a Dirichlet distribution of parameter 1, drawn for"
        " each plan"
    ),
)
def scatter(runs: Runs) -> list[Row]:
    """SPD and FTG of pairs of even or uneven random plans for the graph of seed 0."""
    return [
        {"plans": kind, "pearson": result.pearson, "spearman": result.spearman}
        | {"spd_s": spd, "ftg_s": ftg}
        for kind, concentration in CONCENTRATIONS.items()
        for result in [correlate(runs.scenario.problem(), 500, 0, concentration)]
        for spd, ftg in zip(result.spd_s.tolist(), result.ftg_s.tolist())
    ]


@scatter.draws
def _(canvas: Canvas, rows: list[Row]) -> None:
    for ax, kind in zip(canvas.subplots(1, 2), CONCENTRATIONS):
        selected = where(rows, plans=kind)
        spd_s, ftg_s = (numbers(selected, column) for column in ("spd_s", "ftg_s"))
        ax.plot(spd_s, ftg_s, ".", color="#0B4F9C", alpha=0.4, markersize=3)
        titled(ax, f"{kind} plans: {_both(selected[0])}", "small")
        ax.set(xlabel="SPD (s)", ylabel="FTG (s)", xlim=(0, None), ylim=(0, None))


def _both(row: Row) -> str:
    return f"Pearson {row['pearson']:.2f}, Spearman {row['spearman']:.2f}"


@scatter.describes
def _(rows: list[Row]) -> str:
    texts = [f"{kind}: {_both(where(rows, plans=kind)[0])}" for kind in CONCENTRATIONS]
    return (
        f"{'; '.join(texts)}. SPD is correlated with FTG if plans differ in how"
        " evenly they load the GPUs, and hardly if all are even."
    )


@FIGURES.add(
    "coefficients",
    "Correlation of both distances, as Tables 1 to 3",
    (6.3, 4.6),
    note="1000 pairs per mark; two marks per setting, busy and idle",
    legend={"columns": 4},
)
def coefficients(runs: Runs) -> list[Row]:
    """Both coefficients per size, degree, GPUs, state and kind (as Tables 1 to 3)."""
    rows = [
        {"plans": kind, "size": size, "degree": degree, "gpus": gpus, "state": state}
        for kind in CONCENTRATIONS
        for size in SIZES
        for degree in (1, 3)
        for gpus in (10, 50, 200)
        for state in ("busy", "idle")
    ]
    results = dict(as_they_come(_coefficients, dict(enumerate(rows)), runs.executor))
    return [row | results[place] for place, row in enumerate(rows)]


def _coefficients(row: Row) -> Row:
    problem = Scenario(
        f"er:n={SIZES[row['size']][0]},degree={row['degree']},times={row['size']}",
        Servers(row["gpus"]),
        row["state"],
    ).problem()
    result = correlate(problem, 1000, 0, CONCENTRATIONS[row["plans"]])
    return {"pearson": result.pearson, "spearman": result.spearman}


@coefficients.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    gpus = sorted({row["gpus"] for row in rows})
    axes = canvas.subplots(2, 2, sharex=True, sharey=True)
    for ax, (kind, name) in zip(axes.flat, product(CONCENTRATIONS, PRINTED)):
        for row in where(rows, plans=kind):
            aside = 0.2 * (list(SIZES).index(row["size"]) - 1)
            aside += 0.05 if row["state"] == "busy" else -0.05
            ax.plot(
                *(gpus.index(row["gpus"]) + aside, row[name]),
                color=DEGREE_COLOURS[row["degree"]],
                marker=SIZES[row["size"]][1],
                markersize=4,
            )
        low, high, middle = PRINTED[name]
        ax.axhline(0, **FAINT)
        ax.axhspan(low, high, color="0.92", zorder=0)
        ax.axhline(middle, color="0.6", linewidth=0.8, zorder=0)
        titled(ax, f"{name.title()}, {kind} plans", "small")
    for ax in axes[-1]:
        ax.set(xlabel="GPUs", xticks=range(len(gpus)), xticklabels=map(str, gpus))
    handles = [
        key(color=colour, marker=mark, linestyle="", markersize=4, label=label)
        for size, (_, mark) in SIZES.items()
        for degree, colour in DEGREE_COLOURS.items()
        for label in [f"{size}, degree {degree}"]
    ]
    return [*handles, Patch(color="0.92", label="published range, and mean")]


@coefficients.describes
def _(rows: list[Row]) -> str:
    sentences = []
    for kind in CONCENTRATIONS:
        selected = {name: by(rows, name, "plans")[kind,] for name in PRINTED}
        larger = 100 * np.mean(selected["spearman"] > selected["pearson"])
        ranges = [
            f"{name.title()} {values.min():.2f} to {values.max():.2f}, mean"
            f" {values.mean():.2f}"
            for name, values in selected.items()
        ]
        sentences.append(
            f"{kind} plans: {', '.join(ranges)}, the larger in {larger:.0f} %"
        )
    low, high, middle = PRINTED["pearson"]
    return (
        f"{'; '.join(sentences)}. Published: Pearson {low} to {high}, mean"
        f" {middle:.2f}; Spearman's mean 0.51, the larger in 92 %."
    )
