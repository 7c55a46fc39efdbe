"""Lower bounds on the total weighted tardiness, for instances of any size."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from heapq import heappop, heappush
from itertools import count, pairwise
from operator import le
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from cgrsp_simpy.analysis.solver import SOLVED, tried_twice
from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.hgsp.instance import Instance
from cgrsp_simpy.hgsp.schedule import best_listed

log = logging.getLogger(__name__)

MOST_TASKS, MOST_VARIABLES, MOST_INTERVALS = 500, 60_000, 100  # limits of the program
FINE_EDGES = 2001
TASKS_AT_ONCE = 200  # limits memory
ROUNDING = 1e-9  # share of the payments: more than rounding can add to a bound


@lru_cache(maxsize=1)
def lower_bound(instance: Instance) -> float:
    """Return the larger of `alone` and `by_capacity`, or `by_few` if both are 0.

    In weight x seconds. Cached for the last instance.
    """
    return max(alone(instance), by_capacity(instance)) or by_few(instance)


def alone(instance: Instance) -> float:
    """Sum of w_i max(0, a_i + min_j p_ij - d_i): each task alone on its fastest GPU."""
    earliest_s = instance.arrival_s + instance.least_time_s
    return float(instance.weight @ np.maximum(0.0, earliest_s - instance.deadline_s))


def by_capacity(instance: Instance) -> float:
    """Bound by prices of GPU time: minimum task costs minus maximum GPU earnings.

    Let a second on each of the n_m GPUs of model m cost lambda_m(t) >= 0 at time t. In
    a schedule at most n_m tasks run on them at once, so all runs together pay at most
    E, the sum over m of n_m times the integral of lambda_m. The weighted tardiness of a
    schedule is therefore at least the sum over tasks of the least tardiness cost and
    payment of any run after the arrival on any GPU that fits, minus E (Lagrangian
    relaxation of the capacity).

    The prices are dual values of a linear program in which tasks take shares of runs
    that begin at the edges of equal intervals or at the arrival; of many tasks, each
    represents several. The bound is the better of these stepwise prices and their
    linear interpolation. If the solver fails, a warning is logged and the bound is 0.

    M. L. Fisher, "The Lagrangian relaxation method for solving integer programming
    problems", Management Science 27 (1981) 1-18.
    """
    models = _models(instance)
    begin_s, end_s = _span(instance, models)
    every = -(-instance.tasks // MOST_TASKS)
    runs = len(models) * -(-instance.tasks // every)
    intervals = max(2, min(MOST_INTERVALS, MOST_VARIABLES // runs))
    edges_s = np.linspace(begin_s, end_s, intervals + 1)
    prices = _prices(instance, models, edges_s, every)
    if prices is None:
        return 0.0
    fine_s = np.linspace(begin_s, end_s, FINE_EDGES)
    return max(
        0.0,
        _worth(instance, models, edges_s, prices),
        _worth(instance, models, fine_s, _along_lines(models, edges_s, prices, fine_s)),
    )


class _Model(NamedTuple):
    """GPUs equally fast for every task; times_s: infinite if a task does not fit."""

    times_s: Floats
    number: int

    @property
    def mean_s(self) -> float:
        """Mean time of the tasks that fit, seconds."""
        return float(self.times_s[np.isfinite(self.times_s)].mean())


def _models(instance: Instance) -> list[_Model]:
    times_s, number = np.unique(instance.times_s.T, axis=0, return_counts=True)
    models = map(_Model, times_s, number.tolist())
    return [model for model in models if np.isfinite(model.times_s).any()]


def _span(instance: Instance, models: list[_Model]) -> tuple[float, float]:
    """Return the first arrival, and about the last end if no GPU is ever idle."""
    rate = summed(model.number / model.mean_s for model in models)
    work_s = instance.tasks / rate + instance.least_time_s.max()
    return float(instance.arrival_s.min()), float(instance.arrival_s.max() + work_s)


def _prices(
    instance: Instance, models: list[_Model], edges_s: Floats, every: int
) -> Floats | None:
    """Return the price of a GPU second by model and interval; None if the solver fails.

    every: use one in `every` tasks, and the same share of the GPUs' time.
    """
    deadline_s, weight, arrival_s = (
        column[::every]
        for column in (instance.deadline_s, instance.weight, instance.arrival_s)
    )
    times_s = np.array([model.times_s[::every] for model in models])
    length_s, fits = edges_s[1] - edges_s[0], np.isfinite(times_s)
    model, task, edge = np.nonzero(
        fits[:, :, None] & (edges_s + length_s >= arrival_s[:, None])
    )
    start_s = np.maximum(edges_s[edge], arrival_s[task])
    finish_s = start_s + times_s[model, task]
    cost = weight[task] * np.maximum(0.0, finish_s - deadline_s[task])
    once = matrix_of(
        np.ones(len(task)), task, np.arange(len(task)), (len(weight), len(task))
    )
    used = _used(model, start_s, finish_s, edges_s, len(models))
    room_s = np.repeat(
        [of_model.number * length_s / every for of_model in models], len(edges_s) - 1
    )
    result = tried_twice(
        lambda presolve: scipy.optimize.linprog(  # type: ignore[call-overload]
            cost,
            A_ub=used,
            b_ub=room_s,
            A_eq=once,
            b_eq=np.ones(len(weight)),
            method="highs-ipm",
            options={"presolve": presolve},
        )
    )
    if result.status != SOLVED:
        log.warning(
            "%s: no bound by capacity: the solver failed, with presolve and"
            " without: %s",
            instance.name,
            result.message,
        )
        return None
    return np.asarray(
        np.maximum(0.0, -result.ineqlin.marginals).reshape(len(models), -1)
    )


def _along_lines(
    models: list[_Model], edges_s: Floats, prices: Floats, fine_s: Floats
) -> Floats:
    """Interpolate prices linearly between the middles of the intervals' use by runs."""
    length_s, middles_s = edges_s[1] - edges_s[0], (fine_s[1:] + fine_s[:-1]) / 2
    used_s = [min(length_s, model.mean_s) for model in models]
    return np.array(
        [
            np.interp(middles_s, edges_s[:-1] + used / 2, prices_of_model)
            for used, prices_of_model in zip(used_s, prices)
        ]
    )


def _used(
    model: npt.NDArray[np.intp],
    start_s: Floats,
    finish_s: Floats,
    edges_s: Floats,
    models: int,
) -> scipy.sparse.csr_array:
    """Return the seconds of each run (column) in each interval of its model (row)."""
    intervals, used = len(edges_s) - 1, []
    for interval, (begin_s, end_s) in enumerate(pairwise(edges_s)):
        within_s = np.minimum(finish_s, end_s) - np.maximum(start_s, begin_s)
        runs = np.flatnonzero(within_s > 0)
        used.append((within_s[runs], model[runs] * intervals + interval, runs))
    values, rows, columns = map(np.concatenate, zip(*used))
    return matrix_of(values, rows, columns, (models * intervals, len(model)))


def _worth(
    instance: Instance, models: list[_Model], edges_s: Floats, prices: Floats
) -> float:
    """Return the bound at prices that are constant in each interval and 0 outside."""
    paid = np.concatenate(
        [np.zeros((len(models), 1)), np.cumsum(prices * np.diff(edges_s), axis=1)],
        axis=1,
    )
    least = np.full(instance.tasks, np.inf)
    for model, total in zip(models, paid):
        fit = np.flatnonzero(np.isfinite(model.times_s))
        for first in range(0, len(fit), TASKS_AT_ONCE):
            tasks = fit[first : first + TASKS_AT_ONCE]
            cost = _least(instance, tasks, model.times_s, edges_s, total)
            least[tasks] = np.minimum(least[tasks], cost)
    earned = float(sum(model.number * total[-1] for model, total in zip(models, paid)))
    return float(least.sum()) - earned * (1 + ROUNDING)


def _least(
    instance: Instance,
    tasks: npt.NDArray[np.intp],
    times_s: Floats,
    edges_s: Floats,
    paid: Floats,
) -> Floats:
    """Return the least tardiness cost and payment of a run of each of these tasks.

    times_s: all tasks' times on a GPU. paid: price of GPU use from the first edge to
    each. The minimum is at a corner of the cost (start or end at an edge, end at the
    deadline) or at the arrival.
    """
    jobs = (times_s, instance.arrival_s, instance.deadline_s, instance.weight)
    run_s, arrival_s, deadline_s, weight = (column[tasks, None] for column in jobs)
    edges = np.broadcast_to(edges_s, (len(tasks), len(edges_s)))
    corners_s = np.hstack([arrival_s, deadline_s - run_s, edges, edges - run_s])
    start_s = np.maximum(arrival_s, corners_s)
    finish_s = start_s + run_s
    price = np.interp(finish_s, edges_s, paid) - np.interp(start_s, edges_s, paid)
    return np.asarray(
        (weight * np.maximum(0.0, finish_s - deadline_s) + price).min(axis=1)
    )


def matrix_of(
    values: npt.ArrayLike,
    rows: npt.ArrayLike,
    columns: npt.ArrayLike,
    shape: tuple[int, int],
) -> scipy.sparse.csr_array:
    """Return the sparse matrix of a linear program."""
    # SciPy 1.13.0 passes these on to HiGHS, which needs 32 bits
    at = np.asarray(rows, np.int32), np.asarray(columns, np.int32)
    return scipy.sparse.csr_array((np.asarray(values), at), shape=shape)


MOST_NODES = 2000
FEW = 10  # tasks whose optimum usually needs no more nodes


def by_few(instance: Instance) -> float:
    """Return a lower bound: the sum of the optima of small groups of tasks.

    Groups are disjoint, and each has the GPUs to itself. A group is a late task of the
    best list schedule and the last ones to start before it, or all of few tasks.
    """
    best = best_listed(instance)
    order = np.argsort(best.start_s, kind="stable").tolist()
    late, bound = best.tardiness_s > 0, 0.0
    if instance.tasks <= FEW:
        return least_of_few(instance, order) if late.any() else 0.0
    while order:
        size = FEW if late[order[-1]] else 1
        group, order = order[-size:], order[:-size]
        bound += least_of_few(instance, group)
    return bound


def least_of_few(
    instance: Instance, tasks: Sequence[int], nodes: int = MOST_NODES
) -> float:
    """Return the least cost of some tasks alone on the GPUs, or a lower bound.

    The search is best first, up to `nodes` nodes: the partial schedule of least bound
    is extended by one task on one GPU. The bound is the cost of its tasks plus the
    least cost of each other task if it came next. No extension leaves a GPU idle for as
    long as another task would take there, as in some optimal schedule (Giffler and
    Thompson, Operations Research 8 (1960) 487-503). Dominated partial schedules of the
    same tasks are dropped.
    """
    columns = (
        instance.arrival_s,
        instance.deadline_s,
        instance.weight,
        instance.times_s,
    )
    jobs = list(zip(*(column[list(tasks)].tolist() for column in columns)))

    def bound(cost: float, free_s: tuple[float, ...], left: frozenset[int]) -> float:
        for k in left:
            arrival_s, deadline_s, weight, times_s = jobs[k]
            end_s = min(
                max(now_s, arrival_s) + time for now_s, time in zip(free_s, times_s)
            )
            cost += weight * max(0.0, end_s - deadline_s)
        return cost

    ties, everyone = count(), frozenset(range(len(jobs)))
    free_s = tuple(instance.free_s.tolist())
    heap = [
        (bound(0.0, free_s, everyone), len(jobs), next(ties), 0.0, free_s, everyone)
    ]
    seen: dict[frozenset[int], list[tuple[float, ...]]] = {}
    while True:
        least, many, _, cost, free_s, left = heappop(heap)
        if not many or not nodes:
            return float(least)
        nodes -= 1
        for j, now_s in enumerate(free_s):
            ends_s = {k: max(now_s, jobs[k][0]) + jobs[k][3][j] for k in left}
            first_end_s = min(ends_s.values())
            for k, end_s in ends_s.items():
                if end_s == np.inf or max(now_s, jobs[k][0]) >= first_end_s:
                    continue
                then = (*free_s[:j], end_s, *free_s[j + 1 :])
                others = left - {k}
                late = cost + jobs[k][2] * max(0.0, end_s - jobs[k][1])
                known = seen.setdefault(others, [])
                if not any(all(map(le, one, (*then, late))) for one in known):
                    known.append((*then, late))
                    entry = (bound(late, then, others), many - 1, next(ties))
                    heappush(heap, (*entry, late, then, others))
