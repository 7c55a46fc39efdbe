"""Lower bounds on the total weighted tardiness of any schedule, for instances of any size."""

from __future__ import annotations

import logging
from functools import lru_cache

import numpy as np
import scipy

from cgrsp_simpy.analysis.solver import SOLVED, tried_twice
from cgrsp_simpy.hgsp.instance import Floats, Instance

__all__ = ["alone", "by_capacity", "lower_bound"]

log = logging.getLogger(__name__)

MOST_VARIABLES, MOST_INTERVALS = 60_000, 200
SOLVER_TOLERANCE = 1e-6


@lru_cache(maxsize=1)
def lower_bound(instance: Instance) -> float:
    """The better of both bounds; below what any schedule of the instance can reach.

    Worked out once for schedulers in turn.

    Parameters
    ----------
    instance : Instance
        Tasks and GPUs.

    Returns
    -------
    float
        Weighted tardiness, in the unit of weight x seconds.
    """
    return max(alone(instance), by_capacity(instance))


def alone(instance: Instance) -> float:
    """As if each task had its fastest GPU to itself: the sum of w_i max(0,
    a_i + min_j p_ij - d_i).
    """
    earliest_s = instance.arrival_s + instance.least_time_s
    return float(instance.weight @ np.maximum(0.0, earliest_s - instance.deadline_s))


def by_capacity(instance: Instance) -> float:
    """As if tasks could be cut up and run on all GPUs at once: a linear program over
    intervals of time.

    x_it is the share of task i that is worked on in interval t. In an interval no more is worked
    on than the GPUs can do, those with enough memory for tasks that need it, and no task gets
    on faster than on its fastest GPU. A task that runs from C - p to C works at an even pace;
    let g(u) = u + p/2 - d from u = d + p/2 on, and 0 before, with p its least time. The mean of g
    over that time is at most max(0, C - d), so that the sum of w g(start of t) x_it is at most its
    weighted tardiness. Every schedule is a solution of the program; its least cost bounds them all.
    Should the solver fail, a warning is logged and the answer is 0.
    """
    edges_s = _edges(instance)
    length_s = np.diff(edges_s)
    middle_s = instance.deadline_s + instance.least_time_s / 2
    at = edges_s[:-1]
    late_s = at[None, :] + (instance.least_time_s / 2 - instance.deadline_s)[:, None]
    cost = instance.weight[:, None] * np.where(at[None, :] >= middle_s[:, None], late_s, 0.0)
    most = np.minimum(1.0, length_s[None, :] / instance.least_time_s[:, None])
    most[edges_s[None, 1:] <= instance.arrival_s[:, None]] = 0.0
    n, intervals = cost.shape
    place = np.arange(n * intervals)
    once = scipy.sparse.csr_array((np.ones(n * intervals), (place // intervals, place)))
    capacity, room = _capacity(instance, length_s)
    rows = [
        scipy.optimize.LinearConstraint(once, 1.0, 1.0),
        scipy.optimize.LinearConstraint(capacity, -np.inf, room),
    ]
    limits = scipy.optimize.Bounds(0.0, most.ravel())
    found = tried_twice(
        lambda presolve: scipy.optimize.milp(
            cost.ravel(), constraints=rows, bounds=limits, options={"presolve": presolve}
        )
    )
    if found.status != SOLVED:
        log.warning(
            "%s: no bound by capacity: the solver failed, with presolve and without: %s",
            instance.name,
            found.message,
        )
        return 0.0
    return max(0.0, float(found.fun)) * (1 - SOLVER_TOLERANCE)


def _edges(instance: Instance) -> Floats:
    """Edges of the intervals, the last of which has no end: there is room for all that is left."""
    intervals = max(2, min(MOST_INTERVALS, MOST_VARIABLES // instance.tasks))
    speed = sum(gpu.speed for gpu in instance.gpus)
    end_s = float(instance.arrival_s.max() + 1.5 * instance.workload.sum() / speed)
    return np.append(np.linspace(float(instance.arrival_s.min()), end_s, intervals), np.inf)


def _capacity(instance: Instance, length_s: Floats) -> tuple[scipy.sparse.csr_array, Floats]:
    """What all GPUs, and those of more memory than each smaller size, can work on in each
    interval with an end.
    """
    speed, memory_gb = (
        np.array([getattr(gpu, name) for gpu in instance.gpus]) for name in ("speed", "memory_gb")
    )
    intervals = len(length_s)
    place = np.arange(instance.tasks * intervals)
    blocks, rooms = [], []
    for least_gb in (-1.0, *np.unique(memory_gb)[:-1]):
        work = np.repeat(np.where(instance.memory_gb > least_gb, instance.workload, 0.0), intervals)
        block = scipy.sparse.csr_array(
            (work, (place % intervals, place)), shape=(intervals, len(place))
        )
        blocks.append(block[:-1])
        rooms.append(speed[memory_gb > least_gb].sum() * length_s[:-1])
    return scipy.sparse.csr_array(scipy.sparse.vstack(blocks)), np.concatenate(rooms)
