"""The figures of HGSP from instances and runs of our own."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch

from cgrsp_simpy.hgsp.bounds import lower_bound
from cgrsp_simpy.hgsp.generate import Level, generate
from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.paper import level_figures
from cgrsp_simpy.hgsp.paper.level_figures import (
    HIGH,
    MEDIUM,
    MODELS,
    Runs,
    amount,
)
from cgrsp_simpy.hgsp.scenario import schedule_of, solve
from cgrsp_simpy.plots.figure import Figures, Gallery, Handles, Row, where
from cgrsp_simpy.plots.parts import few_ticks
from cgrsp_simpy.plots.style import MISSED

GANTT = ("fifo", "greedy", "sagreedy", "search")
# few enough to see each task, twice as much as three GPUs can do
FIFTY = Level(50, "small", 2.0, (0.5, 1.5))
WINDOW_S = 600.0
ON_TIME, LATE = "#009E73", MISSED


FIGURES = Figures("hgsp_", Runs, handlelength=1.6)


@FIGURES.add(
    "gantt",
    "Fifty tasks on three GPUs",
    (6.3, 5.4),
    note="50 tasks, twice as much work as three GPUs can do",
)
def gantt(runs: Runs) -> list[Row]:
    """When each of fifty tasks runs where, by scheduler."""
    return [row for name in GANTT for row in _bars(generate(FIFTY), name, runs.moves)]


@gantt.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """A panel a scheduler: bars in green for tasks that end in time, in red for those
    that end late.
    """
    axes = canvas.subplots(len(GANTT), 1, sharex=True)
    for ax, name in zip(axes, GANTT):
        own = where(rows, scheduler=name)
        for place, gpu in enumerate(MODELS):
            _tasks(ax, where(own, gpu=gpu), place)
        ax.set_yticks(range(len(MODELS)), list(MODELS))
        ax.set_ylim(-0.5, len(MODELS) - 0.5)
        ax.set_title(_headed(name, own), loc="left", fontsize="small")
    axes[-1].set_xlabel("time (min)")
    last_s = max(row["finish_s"] for row in rows)
    axes[-1].set_xlim(min(row["start_s"] for row in rows) // 60, last_s / 60)
    return [Patch(color=ON_TIME, label="ends in time"), Patch(color=LATE, label="ends late")]


@gantt.says
def _(rows: list[Row]) -> str:
    found = {row["scheduler"]: row for row in rows}
    late = ", ".join(f"{row['late_of_all']} under {name}" for name, row in found.items())
    return f"Late of {rows[0]['tasks']} tasks: {late}."


def _bars(instance: Instance, name: str, moves: int) -> list[Row]:
    schedule = schedule_of(solve(instance, name, moves=moves))
    shown = ("gpu", "task", "start_s", "finish_s", "deadline_s")
    late = schedule.tardiness_s > 0
    of_all = {
        "late_of_all": int(late.sum()),
        "tasks": instance.tasks,
        "weighted_tardiness": schedule.weighted_tardiness,
    }
    return [
        {
            "scheduler": name,
            **{column: row[column] for column in shown},
            "late": int(is_late),
            **of_all,
        }
        for row, is_late in zip(schedule.rows(), late.tolist())
    ]


def _headed(name: str, rows: Sequence[Row]) -> str:
    one, there = rows[0], sum(row["late"] for row in rows)
    here = "" if len(rows) == one["tasks"] else f", {there} of them here"
    late = f"{one['late_of_all']} of {one['tasks']} late{here}"
    return f"{name}: {late}; weighted tardiness {amount(one['weighted_tardiness'])} s"


def _tasks(ax: Axes, rows: Sequence[Row], place: int) -> None:
    bars = [(row["start_s"] / 60, (row["finish_s"] - row["start_s"]) / 60) for row in rows]
    colours = [LATE if row["late"] else ON_TIME for row in rows]
    ax.broken_barh(bars, (place - 0.4, 0.8), facecolors=colours, edgecolors="white", linewidth=0.5)


@FIGURES.add(
    "gantt_window",
    "Medium load (tasks1): FIFO's worst ten minutes",
    (6.3, 5.4),
    note="tasks1, 1000 tasks by its law: what starts in FIFO's worst ten minutes",
    draw=gantt.draw,
    seen=gantt.seen,
)
def gantt_window(runs: Runs) -> list[Row]:
    """Of tasks1, the tasks that start in the ten minutes in which FIFO starts most of those
    that it ends late.
    """
    by_name = {name: _bars(generate(MEDIUM), name, runs.moves) for name in GANTT}
    late_s = [row["start_s"] for row in by_name["fifo"] if row["late"]]
    begin_s = max(
        late_s, key=lambda begin: sum(begin <= other < begin + WINDOW_S for other in late_s)
    )
    return [
        row
        for rows in by_name.values()
        for row in rows
        if begin_s <= row["start_s"] < begin_s + WINDOW_S
    ]


FIGURES |= level_figures.FIGURES


@FIGURES.add(
    "searches",
    "The course of both searches",
    (6.3, 3.2),
    note="the paper's tasks3 (1500 tasks, high load), and the fifty of the Gantt chart",
)
def searches(runs: Runs) -> list[Row]:
    """The course of SAGreedy and of the search under high load, and of the search on the fifty
    tasks; tardiness over FIFO's.
    """
    rows = []
    for name, level in (("sagreedy", HIGH), ("search", HIGH), ("search", FIFTY)):
        instance = generate(level)
        fifo = solve(instance, "fifo").summary()["weighted_tardiness"]
        bound = lower_bound(instance) / fifo
        found = solve(instance, name, **({"moves": runs.moves} if name == "search" else {}))
        rows += [
            {
                "search": name,
                "on": f"{instance.tasks} tasks",
                "move": step.iteration,
                "of_fifo": step.objective / fifo,
                "best_of_fifo": step.best / fifo,
                "bound_of_fifo": bound,
            }
            for step in found.plan.solution.course
        ]
    return rows


@searches.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    """A column a search: tardiness over FIFO's."""
    kinds = list(dict.fromkeys((row["search"], row["on"]) for row in rows))
    axes = canvas.subplots(1, len(kinds), sharey=True)
    for ax, (name, on) in zip(axes, kinds):
        ax.set_title(f"{name}\n{on}", loc="left", fontsize="small")
        _course(ax, where(rows, search=name, on=on))
    axes[0].set_ylabel("weighted tardiness\n(FIFO = 1)")
    return list(axes[0].lines)


@searches.says
def _(rows: list[Row]) -> str:
    last = {(row["search"], row["on"]): row for row in rows}
    first = {(row["search"], row["on"]): row for row in reversed(rows)}
    steps = (
        f"{name} from {first[name, on]['of_fifo']:.4f} to {row['best_of_fifo']:.4f} on {on}"
        f" (bound {row['bound_of_fifo']:.4f})"
        for (name, on), row in last.items()
    )
    return f"Weighted tardiness, FIFO's being 1: {', '.join(steps)}."


def _course(ax: Axes, rows: Sequence[Row]) -> None:
    thousands = rows[-1]["move"] >= 10_000
    moves = [row["move"] / (1000 if thousands else 1) for row in rows]
    best, thin = [row["best_of_fifo"] for row in rows], 0.7 * rcParams["lines.linewidth"]
    ax.plot(moves, [row["of_fifo"] for row in rows], color="0.65", lw=thin, label="current")
    ax.plot(moves, best, color="black", label="best so far")
    ax.axhline(rows[0]["bound_of_fifo"], color="0.3", lw=thin, ls=":", label="lower bound")
    ax.set_ylim(0, 1.05)
    ax.set_xlabel("moves (thousand)" if thousands else "moves")
    few_ticks(ax.xaxis)


def _intro(runs: Runs) -> list[str]:
    return [
        "# Figures of HGSP, drawn from this package's instances and runs",
        "After “Heterogeneous GPU Scheduling”. tasks1 to tasks4 are drawn by the laws of the"
        f" paper's sets, {runs.instances} instances each; of tasks3 and tasks4 the first is the"
        " paper's own. A printed value is of one instance; `cgrsp hgsp table` compares cell by cell"
        " on the paper's. What stands after ± is half of a 95 % interval. fifo, greedy and sagreedy"
        " are the paper's; wspt, edd and atc are dispatch rules, search is ours. Each picture has"
        " the CSV of what is plotted beside it. All of them: `cgrsp hgsp figures --out"
        " figures/hgsp`.",
    ]


MOVED = {
    "table2": "cgrsp llm figures --only table2",
    "annealing": "cgrsp hgsp figures --only searches",
}
draw_figures = Gallery("hgsp", Runs, FIGURES, _intro, moved=MOVED).draw
