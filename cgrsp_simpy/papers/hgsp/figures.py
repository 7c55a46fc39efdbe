"""Figures of HGSP from our own instances and runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from functools import cached_property
from itertools import product
from math import nan

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.parameters import Count, checked
from cgrsp_simpy.base.table import grouped, half, many, with_halves
from cgrsp_simpy.hgsp.bounds import lower_bound
from cgrsp_simpy.hgsp.generate import LEVELS, Level, generate
from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.report import schedule_of
from cgrsp_simpy.hgsp.scenario import Scenario, solve
from cgrsp_simpy.hgsp.schedule import Schedule
from cgrsp_simpy.papers.hgsp.table import PRINTED, printed_value
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import (
    Canvas,
    Gallery,
    Handles,
    Row,
    markdown,
    numbers,
    where,
)
from cgrsp_simpy.plots.parts import few_ticks, on_dark_bars, plus_minus, titled
from cgrsp_simpy.plots.style import LOOKS, MISSED
from cgrsp_simpy.studies.executors import as_they_come
from cgrsp_simpy.studies.subject import subject_of

GANTT = ("fifo", "greedy", "sagreedy", "search")
# few enough to see each task; twice the capacity of three GPUs
FIFTY = Level(50, "small", 2.0, (0.5, 1.5))
WINDOW_S = 600.0
ON_TIME, LATE = "#009E73", MISSED
COMPARED = ("fifo", "greedy", "sagreedy", "wspt", "edd", "atc", "search")
UTILISED = MEDIUM, HIGH = "tasks1", "tasks3"  # loads on the same three GPUs
MOVES = 1_000_000  # moves per search
METRICS = ("weighted_tardiness", "dmr_pct", "utilisation_pct", "lower_bound", "gap_pct")
PUBLISHED = {key: tuple(map(printed_value, cells)) for key, cells in PRINTED.items()}
PUBLISHED_OF_FIFO = {
    (level, name): value / PUBLISHED[level, "fifo"][0]
    for (level, name), (value, _) in PUBLISHED.items()
}


class Runs:
    """Runs shared by figures. instances: number per level. moves: search limit."""

    @checked
    def __init__(
        self,
        instances: Count = 10,
        moves: Count = MOVES,
        executor: Executor | int | None = None,
    ) -> None:
        self.instances, self.moves, self.executor = instances, moves, executor

    @cached_property
    def measured(self) -> dict[tuple[str, str], list[Row]]:
        """Metrics per (level, scheduler) and instance, in order of seeds."""
        seeds = range(self.instances)
        tasks = {pair: (*pair, self.moves) for pair in product(LEVELS, seeds)}
        metrics = dict(as_they_come(_measure, tasks, self.executor))
        return {
            (level, name): [metrics[level, seed][name] for seed in seeds]
            for level in LEVELS
            for name in COMPARED
        }


# from slow to fast, light to dark
MODELS = {"A30": "#9ecae1", "L40": "#4292c6", "A100": "#084594"}
LOADS = dict(zip(LEVELS, ("medium", "medium", "high", "extreme")))


def _measure(task: tuple[str, int, int]) -> dict[str, Row]:
    level, seed, moves = task
    scenario = Scenario(level, moves=moves)
    instance = scenario.instance(seed)
    return {
        name: {**run.summary(), "busy_pct": _busy_pct(schedule_of(run))}
        for name in COMPARED
        for run in [subject_of(scenario).run(name, seed, drawn=instance)]
    }


def _busy_pct(schedule: Schedule) -> dict[str, float]:
    """Utilisation per GPU model from the first arrival to the last end."""
    gpus, busy_s = schedule.instance.gpus, schedule.finish_s - schedule.start_s
    span_s = schedule.finish_s.max() - schedule.instance.arrival_s.min()
    models = grouped(range(len(gpus)), lambda j: gpus[j].name)
    return {
        model: (
            100
            * summed(float(busy_s[schedule.gpu == j].sum()) for j in indices)
            / (len(indices) * float(span_s))
        )
        for model, indices in models.items()
    }


def _intro(runs: Runs) -> list[str]:
    return [
        "# Figures of HGSP, drawn from this package's instances and runs",
        (
            "After “Heterogeneous GPU Scheduling”. tasks1 to tasks4 are"
            " drawn from the distributions of the paper's sets,"
            f" {many(runs.instances, 'instance')} each; the first instance of tasks3"
            " and of tasks4 is the paper's own. A printed value is of one instance;"
            " `cgrsp papers tables hgsp` compares each cell on the paper's"
            " instances. The number after ± is the half width of a 95 %"
            " interval. fifo, greedy and sagreedy are the paper's"
            " schedulers; wspt, edd and atc are dispatching rules, search"
            " is ours. Next to each picture is the CSV of its data. All of"
            " them: `cgrsp papers figures hgsp --out figures/hgsp`."
        ),
    ]


FIGURES = Gallery("hgsp", Runs, _intro, handlelength=1.6)


@FIGURES.add(
    "gantt",
    "Fifty tasks on three GPUs",
    (6.3, 5.4),
    note="50 tasks, twice as much work as three GPUs can do",
)
def gantt(runs: Runs) -> list[Row]:
    """When and where each of fifty tasks runs, by scheduler."""
    return [row for name in GANTT for row in _bars(generate(FIFTY), name, runs.moves)]


@gantt.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    axes = canvas.subplots(len(GANTT), 1, sharex=True)
    for ax, name in zip(axes, GANTT):
        selected = where(rows, scheduler=name)
        for place, gpu in enumerate(MODELS):
            tasks = where(selected, gpu=gpu)
            ax.broken_barh(
                [
                    (row["start_s"] / 60, (row["finish_s"] - row["start_s"]) / 60)
                    for row in tasks
                ],
                (place - 0.4, 0.8),
                facecolors=[LATE if row["late"] else ON_TIME for row in tasks],
                edgecolors="white",
                linewidth=0.5,
            )
        ax.set_yticks(range(len(MODELS)), list(MODELS))
        titled(ax, _headed(name, selected), "small", ylim=(-0.5, len(MODELS) - 0.5))
    first_s, last_s = min(numbers(rows, "start_s")), max(numbers(rows, "finish_s"))
    axes[-1].set(xlabel="time (min)", xlim=(first_s // 60, last_s / 60))
    return [
        Patch(color=ON_TIME, label="ends in time"),
        Patch(color=LATE, label="ends late"),
    ]


@gantt.describes
def _(rows: list[Row]) -> str:
    by_key = {row["scheduler"]: row for row in rows}
    late = ", ".join(
        f"{row['late_of_all']} under {name}" for name, row in by_key.items()
    )
    return f"Late tasks, of {rows[0]['tasks']}: {late}."


def _bars(instance: Instance, name: str, moves: int) -> list[Row]:
    schedule = schedule_of(solve(instance, name, moves=moves))
    late = schedule.tardiness_s > 0
    return [
        {
            "scheduler": name,
            **{
                column: row[column]
                for column in ("gpu", "task", "start_s", "finish_s", "deadline_s")
            },
            "late": int(is_late),
            "late_of_all": int(late.sum()),
            "tasks": instance.tasks,
            "weighted_tardiness": schedule.weighted_tardiness,
        }
        for row, is_late in zip(schedule.rows(), late.tolist())
    ]


def _headed(name: str, rows: Sequence[Row]) -> str:
    one, there = rows[0], sum(row["late"] for row in rows)
    here = "" if len(rows) == one["tasks"] else f", {there} of them here"
    return (
        f"{name}: {one['late_of_all']} of {one['tasks']} late{here}; weighted tardiness"
        f" {amount(one['weighted_tardiness'])} s"
    )


@FIGURES.add(
    "gantt_window",
    "Medium load (tasks1): FIFO's worst ten minutes",
    (6.3, 5.4),
    note=("1000 tasks drawn like tasks1: those that start in FIFO's worst ten minutes"),
    draw=gantt.draw,
    sentence=gantt.sentence,
)
def gantt_window(runs: Runs) -> list[Row]:
    """Tasks of tasks1 that start in the ten minutes with most late tasks under FIFO."""
    by_name = {name: _bars(generate(MEDIUM), name, runs.moves) for name in GANTT}
    late_s = [row["start_s"] for row in by_name["fifo"] if row["late"]]
    begin_s = max(
        late_s,
        key=lambda begin: sum(begin <= other < begin + WINDOW_S for other in late_s),
    )
    return [
        row
        for rows in by_name.values()
        for row in rows
        if begin_s <= row["start_s"] < begin_s + WINDOW_S
    ]


# ---- what schedulers make of the instances of each load level ----


def _generated(runs: Runs) -> str:
    return (
        f"{many(runs.instances, 'instance')} per level, drawn like the paper's, 95 %"
        " intervals"
    )


@FIGURES.add(
    "comparison",
    "Weighted tardiness compared with FIFO's, by load",
    (6.3, 3.6),
    note=_generated,
)
def comparison(runs: Runs) -> list[Row]:
    """Weighted tardiness over FIFO's per instance, and the published ratio."""
    return [
        {
            "level": level,
            "scheduler": name,
            **_known(
                "of_fifo",
                [ours / fifo for ours, fifo in _pairs(runs, level, name, "fifo")],
            ),
            "published_of_fifo": PUBLISHED_OF_FIFO.get((level, name)),
        }
        for level, name in runs.measured
    ]


@comparison.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    axes = canvas.subplots(1, len(LEVELS), sharex=True, sharey=True)
    for ax, level in zip(axes, LEVELS):
        _level_bars(ax, where(rows, level=level), "of_fifo")
    _heads(axes)
    canvas.supxlabel("weighted tardiness (FIFO = 1)", fontsize="medium")
    return [marks.published()]


@comparison.describes
def _(rows: list[Row]) -> str:
    least = [
        f"{best['of_fifo']:.2g} at {level} ({best['scheduler']})"
        for level in LEVELS
        for best in [
            min(where(rows, level=level), key=lambda row: float(row["of_fifo"]))
        ]
    ]
    printed, ours = (
        ", ".join(f"{row[key]:.2g}" for row in where(rows, scheduler="sagreedy"))
        for key in ("published_of_fifo", "of_fifo")
    )
    return (
        f"Lowest weighted tardiness as a share of FIFO's: {', '.join(least)}."
        f" SAGreedy: {ours}; printed: {printed}."
    )


def _pairs(
    runs: Runs, level: str, name: str, other: str
) -> Iterator[tuple[float, float]]:
    pair = (runs.measured[level, run] for run in (name, other))
    return zip(*([run["weighted_tardiness"] for run in rows] for rows in pair))


def _known(metric: str, values: Sequence[float]) -> Row:
    """Mean and half width; empty if an instance lacks the metric."""
    return {} if np.isnan(values).any() else with_halves({metric: mean(values)})


def _heads(axes: Sequence[Axes]) -> None:
    for ax, (level, load) in zip(axes, LOADS.items()):
        titled(ax, f"{level}\n{load} load", "small")


def _level_bars(ax: Axes, rows: Sequence[Row], metric: str) -> None:
    names = [row["scheduler"] for row in rows]
    values, halves, published = (
        [row.get(column, nan) for row in rows]
        for column in (metric, half(metric), f"published_{metric}")
    )
    colours = [LOOKS[name].colour for name in names]
    marks.bars(ax, names, values, halves, published, colours)
    ax.set_xlim(left=0)
    if metric.endswith("_pct"):  # the room for the values in figures has no percentages
        ax.set_xticks(
            [tick for tick in ax.get_xticks() if tick <= min(100, ax.get_xlim()[1])]
        )


@FIGURES.add(
    "table1",
    "Weighted tardiness and missed deadlines, by load (Table I)",
    (6.3, 6.2),
    note=_generated,
)
def table_one(runs: Runs) -> list[Row]:
    """Table I with 95 % half widths, and the printed values of one instance.

    minus_greedy: weighted tardiness minus Greedy's on the same instance, seconds.
    """
    return [
        {
            "level": level,
            "scheduler": name,
            "instances": len(per_seed),
            **{
                column: value
                for metric in METRICS
                for column, value in _known(
                    metric, [run[metric] for run in per_seed]
                ).items()
            },
            **_known(
                "minus_greedy",
                [ours - other for ours, other in _pairs(runs, level, name, "greedy")],
            ),
            "published_weighted_tardiness": printed,
            "published_dmr_pct": printed_pct,
        }
        for (level, name), per_seed in runs.measured.items()
        for printed, printed_pct in [PUBLISHED.get((level, name), (None, None))]
    ]


@table_one.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    axes = canvas.subplots(2, len(LEVELS), sharey=True)
    for (upper, lower), level in zip(axes.T, LEVELS):
        _points(upper, where(rows, level=level))
        _level_bars(lower, where(rows, level=level), "dmr_pct")
    _heads(axes[0])
    for ax, label in zip(
        axes[:, 1], ("weighted tardiness (s)", "missed deadlines (%)")
    ):
        ax.set_xlabel(label, x=1.1)  # one label for all four
    return [marks.published()]


@table_one.describes
def _(rows: list[Row]) -> str:
    by_key = {(row["level"], row["scheduler"]): row for row in rows}
    search = where(rows, scheduler="search")
    gaps = " and ".join(
        f"{row['gap_pct']:.1f} % at {row['level']}"
        for row in search
        if "gap_pct" in row
    )
    none = " and ".join(str(row["level"]) for row in search if "gap_pct" not in row)
    sagreedy, greedy = by_key[MEDIUM, "sagreedy"], by_key[MEDIUM, "greedy"]
    high, wspt = by_key[HIGH, "sagreedy"], by_key[HIGH, "wspt"]
    return (
        "On average no schedule can be better than the search's by"
        f" more than {gaps}; no gap is known at {none}. At medium load ({MEDIUM})"
        f" SAGreedy is better than Greedy: {_claimed(greedy, sagreedy)}; printed:"
        f" {sagreedy['published_weighted_tardiness']:,.0f} instead of"
        f" {greedy['published_weighted_tardiness']:,.0f}. At {HIGH} SAGreedy misses"
        f" {high['dmr_pct']:.1f} % of the deadlines (printed:"
        f" {high['published_dmr_pct']} %); wspt, which ignores deadlines, misses"
        f" {wspt['dmr_pct']:.1f} %, and its"
        f" weighted tardiness is {amount(wspt['weighted_tardiness'])} instead of"
        f" {amount(high['weighted_tardiness'])}. Each cell on the"
        " paper's own tasks: `cgrsp papers tables hgsp`."
    )


@table_one.tables
def _(rows: list[Row]) -> str:
    head = (
        "level | scheduler | weighted tardiness, s | printed* | missed, % | printed*"
        " | utilisation, % | lower bound, s"
    )
    lines = [
        [
            *(row["level"], row["scheduler"]),
            (
                f"{amount(tardiness)} ±"
                f" {amount(row[half('weighted_tardiness')], tardiness)}"
            ),
            "" if printed is None else amount(printed),
            plus_minus(row["dmr_pct"], row[half("dmr_pct")]),
            str(row.get("published_dmr_pct", "")),
            f"{row['utilisation_pct']:.1f}",
            amount(row["lower_bound"]) if row["lower_bound"] else "none known",
        ]
        for row in rows
        for tardiness, printed in [
            (row["weighted_tardiness"], row.get("published_weighted_tardiness"))
        ]
    ]
    return markdown(head, 2, lines) + (
        "\n\n\\* of one instance, drawn from the same distributions"
    )


def _points(ax: Axes, rows: Sequence[Row]) -> None:
    values = numbers(rows, "weighted_tardiness")
    for place, (value, row) in enumerate(zip(values, rows)):
        spread, look = row[half("weighted_tardiness")], LOOKS[row["scheduler"]]
        marks.point(ax, value, place, spread, color=look.colour)
    published = [row.get("published_weighted_tardiness", nan) for row in rows]
    ax.plot(published, range(len(rows)), **marks.hollow())
    decades = np.log10([value for value in [*published, *values] if value > 0])
    most = np.ceil(decades.max())
    ax.set(xscale="log", xlim=(10 ** min(np.floor(decades.min()), most - 2), 10**most))
    ax.xaxis.set_major_locator(LogLocator(numticks=4))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_axisbelow(True)
    ax.grid(axis="x", color="0.9")


def _claimed(greedy: Row, sagreedy: Row) -> str:
    difference, spread = sagreedy["minus_greedy"], sagreedy[half("minus_greedy")]
    verdict = "it fails" if difference >= spread else "it is not shown"
    if difference < -spread:
        verdict = "it holds"
    return (
        f"{verdict} ({sagreedy['weighted_tardiness']:,.0f} for"
        f" {greedy['weighted_tardiness']:,.0f} s, difference {difference:,.0f} ±"
        f" {spread:,.0f} s)"
    )


@FIGURES.add("utilisation", "Utilisation of the GPUs", (6.3, 4.4), note=_generated)
def utilisation(runs: Runs) -> list[Row]:
    """Utilisation per GPU model, level and scheduler, with half widths."""
    return [
        {
            "level": level,
            "scheduler": name,
            "gpu": gpu,
            **_known("busy_pct", [run["busy_pct"][gpu] for run in per_seed]),
        }
        for (level, name), per_seed in runs.measured.items()
        if level in UTILISED
        for gpu in per_seed[0]["busy_pct"]
    ]


@utilisation.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    axes = canvas.subplots(len(UTILISED), 1, sharex=True, sharey=True)
    for ax, level in zip(axes, UTILISED):
        for place, (model, colour) in enumerate(MODELS.items()):
            selected = where(rows, level=level, gpu=model)
            at = np.arange(len(selected)) + 0.27 * (place - 1)
            values, halves = (
                numbers(selected, name) for name in ("busy_pct", half("busy_pct"))
            )
            bars = list(ax.bar(at, values, 0.25, color=colour))
            marks.intervals(ax, at, values, y_half=halves)
            on_dark_bars(ax, bars, halves, upright=True)
        titled(ax, f"{level}, {LOADS[level]} load", "small", ylim=(0, 100))
    axes[-1].set_xticks(range(len(COMPARED)), COMPARED)
    canvas.supylabel("busy (% of the makespan)", fontsize="medium")
    return [Patch(color=colour, label=model) for model, colour in MODELS.items()]


@utilisation.describes
def _(rows: list[Row]) -> str:
    by_key = {
        (row["level"], row["scheduler"], row["gpu"]): row["busy_pct"] for row in rows
    }
    slow = {
        name: f"{by_key[MEDIUM, name, 'A30']:.0f} %"
        for name in ("fifo", "greedy", "edd")
    }
    least = min(value for (level, _, _), value in by_key.items() if level == HIGH)
    return (
        f"Under medium load the slow A30 is busy {slow['fifo']} of the time under"
        f" fifo, {slow['greedy']} under greedy and {slow['edd']} under edd; under"
        " high load"
        f" every type of GPU is busy at least {least:.0f} % of the makespan"
        " under every scheduler."
    )


def amount(value: float, other: float = 0.0) -> str:
    """Format a weighted tardiness; in millions if it or `other` is that large."""
    if max(value, other) >= 1e6:
        return f"{value / 1e6:.2f} M"
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


# ---- the searches ----


@FIGURES.add(
    "searches",
    "Progress of both searches",
    (6.3, 3.2),
    note=(
        "the paper's tasks3 (1500 tasks, high load), and the fifty"
        " tasks of the Gantt chart"
    ),
)
def searches(runs: Runs) -> list[Row]:
    """Tardiness over FIFO's in the course of both searches."""
    rows = []
    for name, level in (("sagreedy", HIGH), ("search", HIGH), ("search", FIFTY)):
        instance = generate(level)
        fifo = solve(instance, "fifo").summary()["weighted_tardiness"]
        bound = lower_bound(instance) / fifo
        limit = {"moves": runs.moves} if name == "search" else {}
        rows += [
            {
                "search": name,
                "on": f"{instance.tasks} tasks",
                "move": step.iteration,
                "of_fifo": step.objective / fifo,
                "best_of_fifo": step.best / fifo,
                "bound_of_fifo": bound,
            }
            for step in solve(instance, name, **limit).plan.solution.course
        ]
    return rows


@searches.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    kinds = list(dict.fromkeys((row["search"], row["on"]) for row in rows))
    axes = canvas.subplots(1, len(kinds), sharey=True)
    for ax, (name, on) in zip(axes, kinds):
        titled(ax, f"{name}\n{on}", "small")
        _course(ax, where(rows, search=name, on=on))
    axes[0].set_ylabel("weighted tardiness\n(FIFO = 1)")
    return list(axes[0].lines)


@searches.describes
def _(rows: list[Row]) -> str:
    last = {(row["search"], row["on"]): row for row in rows}
    first = {(row["search"], row["on"]): row for row in reversed(rows)}
    steps = (
        f"{name} from {first[name, on]['of_fifo']:.4f} to {row['best_of_fifo']:.4f} on"
        f" {on} (bound {row['bound_of_fifo']:.4f})"
        for (name, on), row in last.items()
    )
    return f"Weighted tardiness relative to FIFO's: {', '.join(steps)}."


def _course(ax: Axes, rows: Sequence[Row]) -> None:
    thousands = rows[-1]["move"] >= 10_000
    moves = [row["move"] / (1000 if thousands else 1) for row in rows]
    current, best = (numbers(rows, name) for name in ("of_fifo", "best_of_fifo"))
    thin = 0.7 * rcParams["lines.linewidth"]
    ax.plot(moves, current, color="0.65", lw=thin, label="current")
    ax.plot(moves, best, color="black", label="best so far")
    ax.axhline(
        rows[0]["bound_of_fifo"], color="0.3", lw=thin, ls=":", label="lower bound"
    )
    ax.set(ylim=(0, 1.05), xlabel="moves (thousand)" if thousands else "moves")
    few_ticks(ax.xaxis)
