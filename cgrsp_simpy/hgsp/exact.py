"""Small instances to proven optimality: the mixed-integer program of hgsp.txt equations 1 to 6, solved by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from cgrsp_simpy.hgsp.annealing import anneal
from cgrsp_simpy.hgsp.instance import Floats, Instance
from cgrsp_simpy.hgsp.schedule import Schedule, from_sequences
from cgrsp_simpy.model.checks import check_number

__all__ = ["Exact", "solve_exact"]


START_MOVES = 10_000


@dataclass(frozen=True)
class Exact:
    """What the solver found. lower_bound: proven. optimal: whether the schedule is proven to be the best."""

    schedule: Schedule
    lower_bound: float
    optimal: bool


def solve_exact(instance: Instance, time_limit_s: float = 60.0) -> Exact:
    """The best schedule of a small instance (up to ten tasks or so), or what was found within the limit.

    An annealing's schedule bounds the search, and is the answer where nothing better was found in time. Raises InputError for
    a limit of 0 or less.
    """
    check_number("time_limit_s", time_limit_s, above=0)
    known, _ = anneal(instance, moves=START_MOVES)
    if known.weighted_tardiness == 0:
        return Exact(known, 0.0, True)
    model = _Model(instance, known.weighted_tardiness)
    found = milp(
        model.cost,
        constraints=model.constraints,
        bounds=model.bounds,
        integrality=model.whole,
        options={"time_limit": time_limit_s},
    )
    bound = max(0.0, float(found.mip_dual_bound)) if found.mip_dual_bound is not None else 0.0
    schedules = [known] if found.x is None else [known, model.schedule(found.x)]
    best = min(schedules, key=lambda schedule: schedule.weighted_tardiness)
    return Exact(best, min(bound, best.weighted_tardiness), found.status == 0)


class _Model:
    """Variables in this order: x_ij (task by GPU), s_i, tardiness T_i, and y_ik for each pair of tasks i < k."""

    def __init__(self, instance: Instance, known: float) -> None:
        self.instance = instance
        n, m = instance.times_s.shape
        self._pairs = {pair: number for number, pair in enumerate(combinations(range(n), 2))}
        self._size = n * m + 2 * n + len(self._pairs)
        self._times_s = np.where(np.isfinite(instance.times_s), instance.times_s, 0.0)
        # No GPU idles after the last arrival while it has tasks left; and no task alone costs more than a known schedule.
        latest_s = instance.arrival_s.max() + self._times_s.max(axis=1).sum()
        allowed_s = (1 + 1e-9) * known / np.where(instance.weight > 0, instance.weight, 1e-12)
        self._latest_s = np.minimum(latest_s, instance.deadline_s + allowed_s)  # of each completion
        self._rows: list[tuple[dict[int, float], float, float]] = []
        for i in range(n):
            self._assign(i)
        for i, k in self._pairs:
            self._keep_apart(i, k)
        self._order_equal_gpus()
        self.cost = np.zeros(self._size)
        self.cost[n * m + n : n * m + 2 * n] = instance.weight  # Eq. 1
        self.whole = np.ones(self._size)
        self.whole[n * m : n * m + 2 * n] = 0
        self.bounds = self._limits()
        self.constraints = self._matrix()

    def _x(self, i: int, j: int) -> int:
        return i * len(self.instance.gpus) + j

    def _s(self, i: int) -> int:
        return self.instance.times_s.size + i

    def _t(self, i: int) -> int:
        return self._s(i) + self.instance.tasks

    def _y(self, i: int, k: int) -> int:
        return self.instance.times_s.size + 2 * self.instance.tasks + self._pairs[i, k]

    def _completion(self, i: int) -> dict[int, float]:
        """c_i = s_i + sum over j of x_ij p_ij (Eq. 4)."""
        return {self._s(i): 1.0, **{self._x(i, j): self._times_s[i, j] for j in range(len(self.instance.gpus))}}

    def _assign(self, i: int) -> None:
        own = range(len(self.instance.gpus))
        self._rows.append(({self._x(i, j): 1.0 for j in own}, 1.0, 1.0))  # Eq. 2
        late = {**{name: -factor for name, factor in self._completion(i).items()}, self._t(i): 1.0}
        self._rows.append((late, -self.instance.deadline_s[i], np.inf))  # T_i >= c_i - d_i, of Eq. 1

    def _keep_apart(self, i: int, k: int) -> None:
        """Eq. 6, for each GPU that both fit on, with H as small as the horizon allows."""
        for j in range(len(self.instance.gpus)):
            if not np.isfinite(self.instance.times_s[[i, k], j]).all():
                continue
            for first, second, sign in ((i, k, 1.0), (k, i, -1.0)):
                big = max(0.0, self._latest_s[first] - self.instance.arrival_s[second])
                row = self._completion(first)
                row[self._s(second)] = -1.0
                for name in (self._x(i, j), self._x(k, j)):
                    row[name] = row.get(name, 0.0) + big
                row[self._y(i, k)] = sign * big
                self._rows.append((row, -np.inf, 3 * big - (0.0 if sign > 0 else big)))

    def _order_equal_gpus(self) -> None:
        """Of equal GPUs the first has as many tasks as the next, or more."""
        gpus = self.instance.gpus
        for j in range(1, len(gpus)):
            if (gpus[j].memory_gb, gpus[j].speed) == (gpus[j - 1].memory_gb, gpus[j - 1].speed):
                row = {self._x(i, at): sign for i in range(self.instance.tasks) for at, sign in ((j - 1, 1.0), (j, -1.0))}
                self._rows.append((row, 0.0, np.inf))

    def _limits(self) -> Bounds:
        least, most = np.zeros(self._size), np.ones(self._size)
        n = self.instance.tasks
        most[: self.instance.times_s.size] = np.isfinite(self.instance.times_s).ravel()  # Eq. 3
        least[self._s(0) : self._s(0) + n] = self.instance.arrival_s  # Eq. 5
        most[self._s(0) : self._s(0) + n] = np.maximum(self.instance.arrival_s, self._latest_s - self.instance.least_time_s)
        most[self._t(0) : self._t(0) + n] = np.maximum(0.0, self._latest_s - self.instance.deadline_s)
        return Bounds(least, most)

    def _matrix(self) -> LinearConstraint:
        rows, columns, values = [], [], []
        for number, (row, _, _) in enumerate(self._rows):
            rows += [number] * len(row)
            columns += list(row)
            values += list(row.values())
        matrix = csr_array((values, (rows, columns)), shape=(len(self._rows), self._size))
        return LinearConstraint(matrix, [low for _, low, _ in self._rows], [high for _, _, high in self._rows])

    def schedule(self, solution: Floats) -> Schedule:
        """The schedule that a solution stands for, each task as early as its GPU's order allows."""
        n, m = self.instance.times_s.shape
        chosen = solution[: n * m].reshape(n, m).argmax(axis=1)
        start_s = solution[self._s(0) : self._s(0) + n]
        return from_sequences(self.instance, [sorted(np.flatnonzero(chosen == j), key=lambda i: start_s[i]) for j in range(m)])
