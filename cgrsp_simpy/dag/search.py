"""Budget of a search for a plan, the best plan so far and the search history."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.base.arrays import Floats, Ints
from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.base.parameters import Count, Positive, declared, parameter, prepared
from cgrsp_simpy.dag.problem import Plan, Problem, makespans


@declared()
class Budget:
    """Limits of a search; only a limit on evaluations is reproducible.

    Raises InputError if no limit is set or a limit is invalid.
    """

    evaluations: Count | None = parameter(
        "Maximum number of plan evaluations.", default=None
    )
    seconds: Positive | None = parameter(
        "Wall time, seconds; a search ends at the first of the two limits.",
        default=None,
        metadata={"unit": "s"},
    )

    def __post_init__(self) -> None:
        if self.evaluations is None and self.seconds is None:
            raise InputError("a budget must limit evaluations, seconds or both")

    def __str__(self) -> str:
        limits = {"evaluations": self.evaluations, "s": self.seconds}
        return " or ".join(
            f"{limit} {unit}" for unit, limit in limits.items() if limit is not None
        )


AnyBudget = Annotated[
    Budget,
    prepared(
        lambda value: Budget(evaluations=value) if isinstance(value, int) else value
    ),
]
"""A budget, or a number of evaluations."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Result of a scheduler.

    evaluations: number of evaluated plans. history: (evaluations, makespan_s) of the
    first plan and each improvement.
    """

    plan: Plan
    makespan_s: float
    evaluations: int = 1
    history: tuple[tuple[int, float], ...] = field(default=(), repr=False)


class Search:
    """Best plan and history of a search; a plan is one GPU per unit, shape (units,)."""

    def __init__(
        self,
        problem: Problem,
        budget: Budget,
        scheduler: str,
        order: Ints | None = None,
    ) -> None:
        self.problem = problem
        self.budget = budget
        self.scheduler = scheduler
        self.order = order
        self.best, self.best_order = np.empty(0, dtype=np.int64), order
        self.best_s, self.evaluations = np.inf, 0
        self.history: list[tuple[int, float]] = []
        self._begin = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Wall time since the search began."""
        return time.perf_counter() - self._begin

    @property
    def spent(self) -> float:
        """Share of the budget that is spent, 0 to 1; 0 before the first plan."""
        if not self.history:
            return 0.0
        by_number = self.evaluations / (self.budget.evaluations or np.inf)
        return min(1.0, max(by_number, self.seconds / (self.budget.seconds or np.inf)))

    @property
    def over(self) -> bool:
        """Whether the budget is spent."""
        return self.spent >= 1.0

    def evaluate(self, units: Ints, order: Ints | None = None) -> Floats:
        """Return the makespans of plans, (plans, units) -> (plans,), and keep the best.

        Plans beyond the budget of evaluations are not evaluated: they get infinity.
        """
        most = self.budget.evaluations
        counted = units if most is None else units[: max(0, most - self.evaluations)]
        order = self.order if order is None else order
        answer = np.full(len(units), np.inf)
        answer[: len(counted)] = makespans(
            self.problem, counted[:, self.problem.graph.unit], order
        )
        for place, makespan_s in enumerate(answer[: len(counted)].tolist()):
            if makespan_s < self.best_s or not self.history:
                self.best, self.best_s = units[place].copy(), makespan_s
                self.best_order = order
                self.history.append((self.evaluations + place + 1, makespan_s))
        self.evaluations += len(counted)
        return answer

    def solution(self) -> Solution:
        """Return the best plan and its history."""
        plan = Plan(self.best[self.problem.graph.unit], self.best_order, self.scheduler)
        return Solution(plan, self.best_s, self.evaluations, tuple(self.history))


def random_units(problem: Problem, plans: int, generator: Generator) -> Ints:
    """Draw plans, shape (plans, units), uniformly over the GPUs with enough memory."""
    fits = problem.fits
    if fits.all():
        return generator.integers(
            0, problem.platform.gpus, (plans, problem.graph.units)
        )
    return np.asarray(
        np.where(fits, generator.random((plans, *fits.shape)), -1.0).argmax(axis=2)
    )
