"""The predictive backfill scheduler, PBS (cluster-schedulers.txt Section V.B)."""

from __future__ import annotations

import numpy as np

from cgrsp_simpy.cluster.jobs import Floats, Ints, known
from cgrsp_simpy.cluster.single import fitting, named, start_chosen, start_in_order
from cgrsp_simpy.cluster.view import Arrived, Scheduler, Starts, View
from cgrsp_simpy.model.checks import check_bool, check_number, check_one_of, check_whole


def pbs(
    mode: str = "program",
    pairs: bool = False,
    threshold: float = 0.1,
    small_gpus: int = 2,
    medium_s: float = 3600.0,
    tolerance: float = 0.2,
) -> Scheduler:
    """Predictive backfill: of the jobs that fit, the most efficient if it stands out, else by the
    next rule that finds one.

    Efficiency is iterations / (g t). The rules after it: the shortest of those with at most
    `small_gpus`; the fewest GPUs of those below `medium_s`; the shortest.

    Parameters
    ----------
    mode : str
        When the best stands out. "program": its efficiency exceeds `threshold`, as in the authors'
        program; "text": it is at least `threshold` above the next best, as a share.
    pairs : bool
        First start the best pairs, see `best_pair`; the authors' program has such a function but
        never calls it.
    threshold : float
        See mode.
    small_gpus : int
        The most GPUs of a small job.
    medium_s : float
        Jobs below it are of medium length, seconds.
    tolerance : float
        How far the times of a pair may differ, as a share of the longer, ours.

    Returns
    -------
    Scheduler
        A function of a View.

    References
    ----------
    cluster-schedulers.txt Section V.B; numbers: authors' program.
    """
    check_one_of("mode of pbs", mode, ("program", "text"))
    check_bool("pairs", pairs)
    check_number("threshold", threshold, least=0)
    check_whole("small_gpus", small_gpus, least=1)
    check_number("medium_s", medium_s, least=0)
    check_number("tolerance", tolerance, least=0)

    @named("pbs", "iterations")
    def schedule(view: View) -> Starts:
        jobs = view.jobs
        while pairs and (pair := best_pair(view, tolerance)):
            yield from start_in_order(view, pair)
        yield from start_chosen(view, lambda fits: int(fits[choose(jobs, fits)]))

    def choose(jobs: Arrived, fits: Ints) -> np.intp:
        gpus, time_s = jobs.gpus[fits], jobs.estimate_s[fits]
        efficiency = known(jobs.iterations)[fits] / (gpus * time_s)
        if stands_out(efficiency):
            return np.argmax(efficiency)
        if (small := gpus <= small_gpus).any():
            return np.argmin(np.where(small, time_s, np.inf))
        if (medium := time_s < medium_s).any():
            return np.argmin(np.where(medium, gpus, np.inf))
        return np.argmin(time_s)

    def stands_out(efficiency: Floats) -> bool:
        if mode == "program":
            return bool(efficiency.max() > threshold)
        *_, second, best = 0.0, *np.sort(efficiency)
        return bool(best >= (1 + threshold) * second)

    return schedule


def best_pair(view: View, tolerance: float) -> tuple[int, int] | None:
    """The waiting jobs, oldest first, that together are most efficient: (it1 + it2) / (g1 t1 + g2
    t2); None if no pair will do.

    A pair will do if one node has room for both now and |t1 - t2| <= tolerance x max(t1, t2)
    (Section V.B; tolerance: ours).
    """
    room = max(view.idle())
    fits = fitting(view)
    fits = fits[view.jobs.gpus[fits] < room]
    gpus, time_s, work = (
        view.jobs.gpus[fits],
        view.jobs.estimate_s[fits],
        known(view.jobs.iterations)[fits],
    )
    first, second = np.triu_indices(len(fits), 1)
    longer_s = np.maximum(time_s[first], time_s[second])
    will_do = (gpus[first] + gpus[second] <= room) & (
        np.abs(time_s[first] - time_s[second]) <= tolerance * longer_s
    )
    if not will_do.any():
        return None
    first, second, gpu_s = first[will_do], second[will_do], gpus * time_s
    best = np.argmax((work[first] + work[second]) / (gpu_s[first] + gpu_s[second]))
    return int(fits[first[best]]), int(fits[second[best]])
