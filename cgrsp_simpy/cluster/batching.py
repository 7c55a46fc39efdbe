"""The smart batch scheduler, SBS (cluster-schedulers.txt Section V.C)."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from cgrsp_simpy.cluster.jobs import Ints, known
from cgrsp_simpy.cluster.single import named, start_chosen
from cgrsp_simpy.cluster.view import Arrived, Scheduler, Starts, View
from cgrsp_simpy.model.checks import check_fraction, check_number, check_whole

BATCHES = (3, 4, 5)  # jobs, by the authors' program


def sbs(capacity: int = 8, least_similarity: float = 0.8, time_unit_s: float = 3600.0) -> Scheduler:
    """Smart batch: the first job of the best batch of those that fit; without a batch, the best job
    by itself.

    A batch is 3 to 5 jobs of a family that follow each other in the queue. It is feasible if the
    sum of g is at most `capacity` and its similarity, 1 / (1 + Var t + Var g), at least
    `least_similarity`; its score is efficiency x similarity, with efficiency = sum of iterations /
    (sum of g x max t). A job by itself: efficiency / (1 + g / 4) / (1 + t / 3600).

    capacity: the most GPUs of a batch. least_similarity: the least similarity of a batch, 0 to 1.
    time_unit_s: of t in its variance, seconds. By seconds, 1.0, as in the authors' program, hardly
    any batch reaches 0.8 (the program itself does not look at the threshold: least_similarity=0);
    hours are ours. cluster-schedulers.txt Section V.C.
    """
    check_whole("capacity", capacity, least=1)
    check_fraction("least_similarity", least_similarity)
    check_number("time_unit_s", time_unit_s, above=0)

    @named("sbs", "iterations", "family")
    def schedule(view: View) -> Starts:
        jobs = view.jobs

        def choose(fits: Ints) -> int:
            batch = best_batch(jobs, fits, capacity, least_similarity, time_unit_s)
            return best_alone(jobs, fits) if batch is None else int(batch[0])

        return start_chosen(view, choose)

    return schedule


def best_batch(
    jobs: Arrived, queue: Ints, capacity: int, least_similarity: float, time_unit_s: float
) -> Ints | None:
    """The feasible batch of best score, or None."""
    family, iterations = known(jobs.family), known(jobs.iterations)
    by_family = queue[np.argsort(family[queue], kind="stable")]
    best, best_score = None, 0.0
    for size in BATCHES:
        if size > len(queue):
            break
        batches = sliding_window_view(by_family, size)
        batches = batches[family[batches[:, 0]] == family[batches[:, -1]]]
        gpus, time_s = jobs.gpus[batches], jobs.estimate_s[batches]
        efficiency = iterations[batches].sum(axis=1) / (gpus.sum(axis=1) * time_s.max(axis=1))
        similarity = 1 / (1 + (time_s / time_unit_s).var(axis=1) + gpus.var(axis=1))
        feasible = (gpus.sum(axis=1) <= capacity) & (similarity >= least_similarity)
        score = np.where(feasible, efficiency * similarity, 0.0)
        if score.max(initial=0.0) > best_score:
            best, best_score = batches[np.argmax(score)], score.max()
    return best


def best_alone(jobs: Arrived, queue: Ints) -> int:
    """The job of best score by itself."""
    gpus, time_s = jobs.gpus[queue], jobs.estimate_s[queue]
    score = known(jobs.iterations)[queue] / (gpus * time_s) / (1 + gpus / 4) / (1 + time_s / 3600)
    return int(queue[np.argmax(score)])
