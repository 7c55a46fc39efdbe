"""Exact solutions of small instances: the MILP of hgsp.txt Eq. 1 to 6, by HiGHS."""

from __future__ import annotations

import logging
import time
from itertools import combinations, count, permutations

import numpy as np
import scipy

from cgrsp_simpy.analysis.solver import LIMIT, SOLVED, tried_twice
from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.parameters import Positive, checked
from cgrsp_simpy.hgsp.bounds import lower_bound, matrix_of
from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.schedule import Schedule, Solution, from_sequences
from cgrsp_simpy.hgsp.search import search

log = logging.getLogger(__name__)

START_MOVES = 10_000


@checked
def solve_exact(instance: Instance, time_limit_s: Positive = 60.0) -> Solution:
    """Solve a small instance (up to about ten tasks) within a time limit.

    If the solver finds nothing better, the schedule of a local search is returned. If
    the solver fails twice, with and without presolve, a warning is logged, and the
    bound is `cgrsp_simpy.hgsp.bounds.lower_bound`. Raises InputError if a GPU is not
    free at 0.
    """
    require(
        not instance.free_s.any(),
        "free_s",
        instance.free_s.tolist(),
        "0 for every GPU: the program supports no other start times",
    )
    known, _ = search(instance, moves=START_MOVES)
    least = lower_bound(instance) if known.weighted_tardiness else 0.0
    if known.weighted_tardiness <= least:
        return Solution(known, bound=known.weighted_tardiness, optimal=True)
    model = _Model(instance, known.weighted_tardiness)
    end_s = time.perf_counter() + time_limit_s
    result = tried_twice(
        lambda presolve: scipy.optimize.milp(
            model.cost,
            constraints=model.constraints,
            bounds=model.bounds,
            integrality=model.whole,
            options={
                "time_limit": max(0.0, end_s - time.perf_counter()),
                "mip_rel_gap": 0.0,
                "presolve": presolve,
            },
        )
    )
    if result.status not in (SOLVED, LIMIT):
        log.warning(
            "%s: the solver failed, with presolve and without: %s",
            instance.name,
            result.message,
        )
        return Solution(known, bound=least)
    schedules = [known] if result.x is None else [known, model.schedule(result.x)]
    best = min(schedules, key=lambda schedule: schedule.weighted_tardiness)
    bound = (
        least
        if result.mip_dual_bound is None
        else max(least, float(result.mip_dual_bound))
    )
    return Solution(
        best, bound=min(bound, best.weighted_tardiness), optimal=result.status == SOLVED
    )


class _Model:
    """Variables in order: x_ij (task by GPU), s_i, tardiness T_i, y_ik per pair.

    y_ik = 1: i precedes k on the same GPU. With one variable per order of a pair, Eq. 6
    needs one H per row instead of three, and `_start_after_those_before` tightens the
    relaxation.
    """

    def __init__(self, instance: Instance, known: float) -> None:
        self.instance = instance
        n, m = instance.times_s.shape
        self._x = np.arange(n * m).reshape(n, m)
        self._s, self._t = n * m + np.arange(2 * n).reshape(2, n)
        self._y = dict(zip(permutations(range(n), 2), count(n * m + 2 * n)))
        self._size = n * m + 2 * n + len(self._y)
        self._fits = np.isfinite(instance.times_s)
        self._times_s = np.where(self._fits, instance.times_s, 0.0)
        self._latest_s = self._latest(known)
        self._rows: list[tuple[dict[int, float], float, float]] = []
        for i in range(n):
            self._assign(i)
            self._start_after_those_before(i)
        for i, k in combinations(range(n), 2):
            self._keep_apart(i, k)
        self._order_equal_gpus()
        self.cost = np.zeros(self._size)
        self.cost[self._t] = instance.weight  # Eq. 1
        self.whole = np.ones(self._size)
        self.whole[[self._s, self._t]] = 0
        self.bounds = self._limits()
        self.constraints = self._matrix()

    def _latest(self, known: float) -> Floats:
        """Return each task's latest completion in schedules of cost `known` or less."""
        jobs = self.instance
        alone = jobs.weight * np.maximum(
            0.0, jobs.arrival_s + jobs.least_time_s - jobs.deadline_s
        )
        left = known * (1 + 1e-9) - (alone.sum() - alone)
        allowed_s = left / np.where(jobs.weight > 0, jobs.weight, 1e-12)
        last_s = float(jobs.arrival_s.max() + self._times_s.max(axis=1).sum())
        return np.asarray(np.minimum(last_s, jobs.deadline_s + allowed_s))

    def _completion(self, i: int) -> dict[int, float]:
        """Return c_i = s_i + sum over j of x_ij p_ij (Eq. 4)."""
        return {self._s[i]: 1.0, **dict(zip(self._x[i], self._times_s[i]))}

    def _assign(self, i: int) -> None:
        late = {
            **{name: -factor for name, factor in self._completion(i).items()},
            self._t[i]: 1.0,
        }
        self._rows += [
            (dict.fromkeys(self._x[i], 1.0), 1.0, 1.0),  # Eq. 2
            (late, -self.instance.deadline_s[i], np.inf),  # T_i >= c_i - d_i, of Eq. 1
            (self._completion(i), -np.inf, self._latest_s[i]),
        ]

    def _keep_apart(self, i: int, k: int) -> None:
        """Add Eq. 6 with minimal H: two tasks on one GPU do not overlap."""
        both = {self._y[i, k]: 1.0, self._y[k, i]: 1.0}
        self._rows.append((both, -np.inf, 1.0))
        for j in np.flatnonzero(self._fits[i] & self._fits[k]).tolist():
            self._rows.append(
                ({**both, self._x[i, j]: -1.0, self._x[k, j]: -1.0}, -1.0, np.inf)
            )
        for first, second in ((i, k), (k, i)):
            big = max(0.0, self._latest_s[first] - self.instance.arrival_s[second])
            row = {
                **self._completion(first),
                self._s[second]: -1.0,
                self._y[first, second]: big,
            }
            self._rows.append((row, -np.inf, big))

    def _start_after_those_before(self, k: int) -> None:
        """Add rows: tasks arriving from a_r <= a_k that precede k run in a_r to s_k.

        If k is not on GPU j, their least times count; D is the excess of times on j.
        """
        jobs, n = self.instance, self.instance.tasks
        for since_s in np.unique(jobs.arrival_s[jobs.arrival_s <= jobs.arrival_s[k]]):
            before = [i for i in range(n) if i != k and jobs.arrival_s[i] >= since_s]
            least = {
                self._s[k]: 1.0,
                **{self._y[i, k]: -jobs.least_time_s[i] for i in before},
            }
            self._rows.append((least, since_s, np.inf))
            for j in np.flatnonzero(self._fits[k]).tolist():
                fit = [i for i in before if self._fits[i, j]]
                more = float(
                    sum(self._times_s[i, j] - jobs.least_time_s[i] for i in fit)
                )
                if more > 0:
                    row = {
                        self._s[k]: 1.0,
                        self._x[k, j]: -more,
                        **{self._y[i, k]: -self._times_s[i, j] for i in fit},
                    }
                    self._rows.append((row, since_s - more, np.inf))

    def _order_equal_gpus(self) -> None:
        """Break the symmetry of equal GPUs: earlier GPUs get earlier tasks."""
        times_s = self.instance.times_s.T
        for j in range(1, len(times_s)):
            if np.array_equal(times_s[j], times_s[j - 1]):
                fit = np.flatnonzero(self._fits[:, j]).tolist()
                for place, i in enumerate(fit):
                    before = dict.fromkeys(self._x[fit[:place], j - 1], -1.0)
                    self._rows += [({self._x[i, j]: 1.0, **before}, -np.inf, 0.0)]

    def _limits(self) -> scipy.optimize.Bounds:
        least, most = np.zeros(self._size), np.ones(self._size)
        jobs, starts, late = self.instance, self._s, self._t
        most[self._x] = self._fits  # Eq. 3
        least[starts] = jobs.arrival_s  # Eq. 5
        most[starts] = np.maximum(jobs.arrival_s, self._latest_s - jobs.least_time_s)
        least[late] = np.maximum(
            0.0, jobs.arrival_s + jobs.least_time_s - jobs.deadline_s
        )
        most[late] = np.maximum(least[late], self._latest_s - jobs.deadline_s)
        return scipy.optimize.Bounds(least, most)

    def _matrix(self) -> scipy.optimize.LinearConstraint:
        rows, lows, highs = zip(*self._rows)
        entries = (
            (number, *entry) for number, row in enumerate(rows) for entry in row.items()
        )
        numbers, columns, values = zip(*entries)
        matrix = matrix_of(values, numbers, columns, (len(rows), self._size))
        return scipy.optimize.LinearConstraint(matrix, lows, highs)

    def schedule(self, solution: Floats) -> Schedule:
        """Return the schedule of a solution, each task as early as its order allows."""
        chosen, start_s = solution[self._x].argmax(axis=1), solution[self._s]
        return from_sequences(
            self.instance,
            [
                sorted(np.flatnonzero(chosen == j), key=start_s.__getitem__)
                for j in range(len(self.instance.gpus))
            ],
        )
