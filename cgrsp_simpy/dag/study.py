"""Schedulers compared on the same graphs at equal budgets: makespans by scheduler and seed, with intervals, tests and ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cgrsp_simpy.analysis.ranks import Ranks, rank_test
from cgrsp_simpy.dag.bounds import lower_bound_s
from cgrsp_simpy.dag.problem import Schedule
from cgrsp_simpy.dag.schedulers import check_scheduler, find
from cgrsp_simpy.dag.search import Budget, Found
from cgrsp_simpy.dag.setting import Setting
from cgrsp_simpy.dag.simulation import simulate
from cgrsp_simpy.model.checks import entries_of, require
from cgrsp_simpy.model.table import aligned
from cgrsp_simpy.studies.configuration import open_store
from cgrsp_simpy.studies.replicate import carried_out, check_seeds
from cgrsp_simpy.studies.study import Row, Study

__all__ = ["Comparison", "compare", "figures_of"]

SHORT = Budget(evaluations=1000)


@dataclass(frozen=True)
class _Task:
    """A seed, and the schedulers that meet its graph."""

    setting: Setting
    budget: Budget
    schedulers: tuple[str, ...]
    seed: int


def figures_of(found: Found, schedule: Schedule) -> dict[str, float]:
    """Figures of what was found and simulated: makespan_s, bound_s, over_bound (their ratio), evaluations, seconds."""
    makespan_s, bound_s = schedule.makespan_s, lower_bound_s(schedule.problem)
    over = makespan_s / bound_s if bound_s else 1.0  # a graph without work ends when its data have arrived
    figures = {"makespan_s": makespan_s, "bound_s": bound_s, "over_bound": over}
    return {**figures, "evaluations": float(found.evaluations), "seconds": found.seconds}


def compare(
    setting: Setting,
    schedulers: Sequence[str],
    seeds: Iterable[int] = range(10),
    budget: Budget = SHORT,
    executor: Executor | int | None = None,
    *,
    out: str | Path | None = None,
) -> Comparison:
    """Run each scheduler on the graph of each seed, with the same budget for every search.

    schedulers: texts as of `find`; the first is the one that the others are tested against. A graph that is there is the same for
    every seed, which then is that of the search. executor, out: as in `cg.compare`; searches that end by wall time share the
    machine with each other where there are several processes. Raises InputError for what is not allowed.
    """
    schedulers = entries_of("schedulers", schedulers, "a list of schedulers")
    require(len(set(schedulers)) == len(schedulers) > 0, "schedulers", list(schedulers), "names that differ, at least one")
    for scheduler in schedulers:
        check_scheduler(scheduler)
    seeds = check_seeds(seeds)
    setting.problem(seeds[0])  # an error before the first run
    store = open_store(out, "dag", dict(zip(schedulers, schedulers)), seeds, setting=setting, budget=budget)
    tasks = [_Task(setting, budget, tuple(schedulers), seed) for seed in seeds]
    done = carried_out(_carry_out, tasks, [[len(schedulers)]] * len(tasks), [len(schedulers)] * len(tasks), executor, store)
    by_seed = [outcomes for ((outcomes),) in done]
    rows = [
        {"policy": scheduler, "seed": seed, **outcomes[place]}
        for place, scheduler in enumerate(schedulers)
        for seed, outcomes in zip(seeds, by_seed)
    ]
    study = Comparison(setting, budget, rows)
    study.keep(store)
    return study


def _carry_out(task: _Task) -> list[list[dict[str, Any]]]:
    problem = task.setting.problem(task.seed)

    def told(scheduler: str) -> dict[str, Any]:
        try:
            found = find(problem, scheduler, task.budget, task.seed)
            return figures_of(found, simulate(problem, found.plan))
        except (Exception, SystemExit) as error:  # whatever a scheduler may raise: the other runs go on
            return {"error": " ".join(f"{type(error).__name__}: {error}".split())}

    return [[told(scheduler) for scheduler in task.schedulers]]


@dataclass(frozen=True)
class Comparison(Study):
    """Figures of several schedulers on the same graphs; rows: one dict a scheduler and seed, with the keys of `figures_of`."""

    setting: Setting
    budget: Budget
    _rows: list[Row] = field(repr=False)
    shown: ClassVar[Sequence[str]] = ("makespan_s", "over_bound", "evaluations", "seconds")
    tested: ClassVar[Sequence[str]] = ("makespan_s",)

    @property
    def title(self) -> str:
        """What was placed, where, and with which budget."""
        limits = (f"{self.budget.evaluations} evaluations", f"{self.budget.seconds} s")
        given = [text for text, limit in zip(limits, (self.budget.evaluations, self.budget.seconds)) if limit is not None]
        return f"{self.setting}, {' or '.join(given)} a search"

    def ranks(self) -> Ranks:
        """Friedman and Nemenyi over the makespans, a seed a block. Raises InputError for fewer than 2 seeds or 3 schedulers."""
        complete = [
            values for values in zip(*(self.values(name, "makespan_s") for name in self.policies)) if np.isfinite(values).all()
        ]
        return rank_test(complete)

    def ranks_shown(self) -> str:
        """Mean ranks as a table, with Friedman's test and Nemenyi's critical difference."""
        ranks = self.ranks()
        lines = [
            f"mean ranks of makespan_s: Friedman chi-square {ranks.statistic:.1f}, p {ranks.p:.2g};"
            f" ranks that differ by more than {ranks.critical_difference:.2f} differ (Nemenyi, 5 %)"
        ]
        rows = sorted(zip(ranks.mean.tolist(), self.policies))
        return "\n".join([*lines, *aligned([["policy", "rank"], *([name, f"{rank:.2f}"] for rank, name in rows)])])
