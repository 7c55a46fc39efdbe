"""Schedulers that weigh several things at once: HPS, and the adaptive one that the paper gave up
(Sections III.D and V.A).
"""

from __future__ import annotations

import numpy as np

from cgrsp_simpy.cluster.jobs import Floats, Ints
from cgrsp_simpy.cluster.single import named, start_by
from cgrsp_simpy.cluster.view import Scheduler, Starts, View
from cgrsp_simpy.model.checks import check_bool, check_number, check_whole

__all__ = ["adaptive", "hps", "hps_aging", "scores_of_queue"]


def hps(
    aging_threshold_s: float = 300.0,
    aging_boost: float = 2.0,
    max_wait_s: float = 1800.0,
    monotone: bool = False,
) -> Scheduler:
    """Hybrid priority: the largest score first, score = Base x Aging x Penalty.

    Base = 1 / (1 + t / 3600), Penalty = 1 / (1 + g / 4); Aging: see `hps_aging`. Aging is at most
    the boost, and nothing is kept for a job that does not fit: so no wait is bounded, although the
    paper says so (tests: test_aging_does_not_bound_a_wait).

    aging_threshold_s: the wait from which on aging acts, seconds. aging_boost: the most that aging
    raises a score, >= 1. max_wait_s: the wait at which it does, seconds, above the threshold.
    monotone: aging that never falls, ours. cluster-schedulers.txt Section V.A; formulas: authors'
    program.
    """
    check_number("aging_threshold_s", aging_threshold_s, least=0)
    check_number("aging_boost", aging_boost, least=1)
    check_number("max_wait_s", max_wait_s, above=aging_threshold_s)
    check_bool("monotone", monotone)

    @named("hps")
    def schedule(view: View) -> Starts:
        columns = view.jobs

        def score(jobs: Ints) -> Floats:
            base = 1 / (1 + columns.estimate_s[jobs] / 3600)
            aging = hps_aging(
                view.now_s - columns.arrival_s[jobs],
                aging_threshold_s,
                aging_boost,
                max_wait_s,
                monotone,
            )
            return np.asarray(base * aging / (1 + columns.gpus[jobs] / 4))

        return start_by(view, lambda jobs: -score(jobs))

    return schedule


def hps_aging(
    wait_s: Floats, threshold_s: float, boost: float, max_wait_s: float, monotone: bool
) -> Floats:
    """How much a wait w raises a job: 1 up to the threshold, then boost x min(w / max_wait, 1).

    Just past the threshold that is below 1 (0.33 by default), and a job falls back until
    w = max_wait / boost. The monotone form, ours, rises from 1 at the threshold to boost at
    max_wait in a straight line.
    """
    if monotone:
        return 1 + (boost - 1) * np.clip((wait_s - threshold_s) / (max_wait_s - threshold_s), 0, 1)
    return np.where(wait_s > threshold_s, boost * np.minimum(wait_s / max_wait_s, 1), 1.0)


def adaptive(
    efficiency: float = 0.4,
    fairness: float = 0.3,
    resources: float = 0.3,
    short_queue: int = 5,
    long_queue: int = 20,
    shift: float = 2.0,
) -> Scheduler:
    """The multi-factor scheduler that failed: the largest weighted sum of three scores first.

    The paper prints no formula: all numbers are ours.

    efficiency, fairness, resources: weights of the `scores_of_queue`, >= 0. short_queue,
    long_queue: while more than `long_queue` jobs wait, efficiency counts `shift` times as much;
    while at most `short_queue` wait, fairness does. shift: at least 1. cluster-schedulers.txt
    Section III.D.
    """
    for name, weight in (
        ("efficiency", efficiency),
        ("fairness", fairness),
        ("resources", resources),
    ):
        check_number(name, weight, least=0)
    check_whole("short_queue", short_queue, least=0)
    check_whole("long_queue", long_queue, least=short_queue)
    check_number("shift", shift, least=1)

    @named("adaptive")
    def schedule(view: View) -> Starts:
        weights = np.array((efficiency, fairness, resources))
        queue = view.queue
        if len(queue) > long_queue:
            weights[0] *= shift
        elif len(queue) <= short_queue:
            weights[1] *= shift
        return start_by(view, lambda fits: (-weights @ scores_of_queue(view))[np.isin(queue, fits)])

    return schedule


def scores_of_queue(view: View) -> Floats:
    """Efficiency, fairness and resource score of the waiting jobs, each from 0 (worst in the queue)
    to 1 (best); (3, waiting).

    Efficiency: little GPU-time t g. Fairness: a long wait. Resources: few GPUs that leave
    little free on their nodes, g (1 + left). What they weigh is the paper's (Section III.D), the
    formulas are ours.
    """
    jobs, waiting = view.jobs, view.queue
    gpus = jobs.gpus[waiting]
    left = {width: _left(view, width) for width in set(gpus.tolist())}
    cost = jobs.estimate_s[waiting] * gpus
    wait_s = view.now_s - jobs.arrival_s[waiting]
    room = gpus * (1 + np.array([left[width] for width in gpus.tolist()]))
    return np.array([_normalised(-cost), _normalised(wait_s), _normalised(-room)])


def _left(view: View, gpus: int) -> int:
    """What a job of so many GPUs would leave free on its nodes; if it does not fit, as much as the
    largest node has.
    """
    place = view.room(gpus)
    if place is None:
        return max(view.sizes)
    return sum(view.nodes.count(view.free, node) - taken for node, taken in place)


def _normalised(values: Floats) -> Floats:
    """From 0 for the least to 1 for the greatest; 0 if all are equal."""
    least, greatest = values.min(), values.max()
    return np.asarray((values - least) / (greatest - least or 1.0))
