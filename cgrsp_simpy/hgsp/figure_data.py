"""The data behind the figures of HGSP, from runs of our own: for each the rows that are plotted,
and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import cached_property
from typing import Any

import numpy as np

from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.hgsp.bounds import lower_bound
from cgrsp_simpy.hgsp.generate import LEVELS, Level, generate
from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.llm import table_two
from cgrsp_simpy.hgsp.scenario import Scenario, schedule_of, solve
from cgrsp_simpy.hgsp.schedule import Schedule
from cgrsp_simpy.model.checks import check_whole
from cgrsp_simpy.model.table import half
from cgrsp_simpy.studies.executors import as_they_come

Row = dict[str, Any]
COMPARED = ("fifo", "greedy", "sagreedy", "sagreedy-arrived", "wspt", "edd", "atc", "annealing")
GANTT = ("fifo", "greedy", "sagreedy", "annealing")
UTILISED = ("tasks1", "tasks3")  # medium and high load on the same three GPUs
MEDIUM, HIGH = "tasks1", "tasks3"
# few enough to see each task, twice as much as three GPUs can do
FIFTY = Level(50, "small", 2.0, (1.0, 3.0))
WINDOW_S = 1800.0
MOVES = 100_000  # of the annealing
METRICS = ("weighted_tardiness", "dmr_pct", "utilisation_pct", "lower_bound", "gap_pct")

# hgsp.txt Table I: weighted tardiness and miss rate in %, of the authors' instances, which
# are not ours.
PUBLISHED = {
    ("tasks1", "fifo"): (524.0, 5.7),
    ("tasks1", "greedy"): (503.0, 5.2),
    ("tasks1", "sagreedy"): (393.0, 4.9),
    ("tasks2", "fifo"): (140.0, 1.9),
    ("tasks2", "greedy"): (0.35, 0.1),
    ("tasks2", "sagreedy"): (0.35, 0.1),
    ("tasks3", "fifo"): (4.40e6, 99.5),
    ("tasks3", "greedy"): (4.40e6, 99.6),
    ("tasks3", "sagreedy"): (3.96e6, 56.7),
    ("tasks4", "fifo"): (2.26e6, 99.1),
    ("tasks4", "greedy"): (2.26e6, 99.1),
    ("tasks4", "sagreedy"): (2.23e6, 91.3),
}

READINGS = ("sagreedy", "sagreedy-arrived")  # both of SAGreedy, printed once


def _published(level: str, name: str) -> tuple[float, float] | None:
    return PUBLISHED.get((level, "sagreedy" if name in READINGS else name))


class Runs:
    """Runs that figures share, each made once.

    instances: of each load level, with seeds from 0. moves: of the annealing.
    """

    def __init__(
        self, instances: int = 10, moves: int = MOVES, executor: Executor | int | None = None
    ) -> None:
        check_whole("instances", instances, least=1)
        check_whole("moves", moves, least=1)
        self.instances, self.moves, self.executor = instances, moves, executor

    @cached_property
    def measured(self) -> dict[tuple[str, str], list[Row]]:
        """Level and scheduler -> the figures of each instance, in order of their seeds."""
        keys = [(level, seed, self.moves) for level in LEVELS for seed in range(self.instances)]
        found = dict(as_they_come(_measure, dict(enumerate(keys)), self.executor))
        table: dict[tuple[str, str], list[Row]] = {
            (level, name): [] for level in LEVELS for name in COMPARED
        }
        for number, (level, _, _) in enumerate(keys):
            for name, figures in found[number].items():
                table[level, name].append(figures)
        return table


Rows = Callable[[Runs], list[Row]]


def _measure(task: tuple[str, int, int]) -> dict[str, Row]:
    """What every scheduler makes of an instance."""
    level, seed, moves = task
    scenario, found = Scenario(level, moves=moves), {}
    instance = scenario.draw(seed)
    for name in COMPARED:
        run = scenario.run(name, seed, drawn=instance)
        found[name] = dict(run.summary()) | {"busy_pct": _busy_pct(schedule_of(run))}
    return found


def _busy_pct(schedule: Schedule) -> dict[str, float]:
    """Share of the makespan, from the first arrival on, in which the GPUs of a model work."""
    gpus, busy_s = schedule.instance.gpus, schedule.finish_s - schedule.start_s
    span_s = schedule.finish_s.max() - schedule.instance.arrival_s.min()
    models = {gpu.name: [j for j, other in enumerate(gpus) if other == gpu] for gpu in gpus}
    return {
        model: 100
        * sum(float(busy_s[schedule.gpu == j].sum()) for j in own)
        / (len(own) * float(span_s))
        for model, own in models.items()
    }


def _known(metric: str, values: Sequence[float]) -> Row:
    """Mean and half width of a metric; nothing if an instance lacks it, as the gap where no
    bound is known.
    """
    if np.isnan(values).any():
        return {}
    known = mean(values)
    return {metric: known.mean, half(metric): known.half_width}


# ---- Table I, and what is compared over its instances ----


def table_one(runs: Runs) -> list[Row]:
    """Table I: each level and scheduler with 95 % half widths, the published values beside, of
    other instances.

    minus_greedy: weighted tardiness less Greedy's on the same instance, seconds.
    """
    rows = []
    for (level, name), found in runs.measured.items():
        row: Row = {"level": level, "scheduler": name, "instances": len(found)}
        for metric in METRICS:
            row |= _known(metric, [each[metric] for each in found])
        pairs = zip(found, runs.measured[level, "greedy"])
        row |= _known(
            "minus_greedy",
            [own["weighted_tardiness"] - greedy["weighted_tardiness"] for own, greedy in pairs],
        )
        if published := _published(level, name):
            row |= dict(zip(("published_weighted_tardiness", "published_dmr_pct"), published))
        rows.append(row)
    return rows


def comparison(runs: Runs) -> list[Row]:
    """Weighted tardiness over FIFO's on the same instance, with 95 % half widths; the
    published ratio beside.
    """
    rows = []
    for (level, name), found in runs.measured.items():
        pairs = zip(found, runs.measured[level, "fifo"])
        row: Row = {"level": level, "scheduler": name}
        row |= _known(
            "of_fifo",
            [own["weighted_tardiness"] / fifo["weighted_tardiness"] for own, fifo in pairs],
        )
        if published := _published(level, name):
            row["published_of_fifo"] = published[0] / PUBLISHED[level, "fifo"][0]
        rows.append(row)
    return rows


def utilisation(runs: Runs) -> list[Row]:
    """How busy the GPUs of each model are, by level and scheduler, with 95 % half widths."""
    return [
        {
            "level": level,
            "scheduler": name,
            "gpu": gpu,
            **_known("busy_pct", [each["busy_pct"][gpu] for each in found]),
        }
        for (level, name), found in runs.measured.items()
        if level in UTILISED
        for gpu in found[0]["busy_pct"]
    ]


# ---- single instances ----


def gantt(runs: Runs) -> list[Row]:
    """When each of fifty tasks runs where, by scheduler."""
    return [row for name in GANTT for row in _bars(generate(FIFTY), name, runs.moves)]


def gantt_window(runs: Runs) -> list[Row]:
    """Of tasks1, the tasks that start in the half hour in which FIFO starts most of those
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


def searches(runs: Runs) -> list[Row]:
    """The course of both annealings under high load, and of ours on the fifty tasks;
    tardiness over FIFO's.
    """
    rows = []
    for name, level in (("sagreedy", HIGH), ("annealing", HIGH), ("annealing", FIFTY)):
        instance = generate(level)
        fifo = solve(instance, "fifo").summary()["weighted_tardiness"]
        bound = lower_bound(instance) / fifo
        for step in solve(instance, name, moves=runs.moves).plan.found.course:
            row = {
                "search": name,
                "on": f"{instance.tasks} tasks",
                "move": step.iteration,
                "temperature": step.temperature,
            }
            rows.append(
                {
                    **row,
                    "of_fifo": step.objective / fifo,
                    "best_of_fifo": step.best / fifo,
                    "bound_of_fifo": bound,
                }
            )
    return rows


def table_two_rows(runs: Runs) -> list[Row]:  # noqa: ARG001, as of every figure
    """Table II in each mode, the printed values beside."""
    return table_two()
