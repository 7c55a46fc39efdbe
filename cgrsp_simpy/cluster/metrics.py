"""What a run of a cluster comes to (cluster-schedulers.txt Section IV.C): figures, tables by class
of job, time courses, and what moving running jobs together would free (counted; nothing is moved in
a simulation).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from math import nan
from typing import Any

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.cluster.jobs import KINDS, Floats, Ints
from cgrsp_simpy.cluster.placement import Nodes, Place
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.model.checks import check_number
from cgrsp_simpy.model.metric import Metric

SHORT_S = 10.0  # a shorter run counts as one of this length in bounded slowdown
STARVED_S = 1800.0  # a job starves that waits longer: Sections IV.C and VI.B
# the most GPUs of each; the paper's 1, 2, 4, 8 and 16+
GPU_CLASSES = {"1": 1, "2": 2, "3-4": 4, "5-8": 8, "9+": np.inf}
MINUTE_S, HOUR_S = 60.0, 3600.0
Table = np.ndarray[Any, Any]  # rows of `Run.jobs`

METRICS = {
    "throughput_per_h": Metric("jobs completed while jobs arrive", "1/h", "more"),
    "utilisation_pct": Metric("GPUs in use while jobs arrive", "%", "more"),
    "makespan_s": Metric("last completion", "s"),
    "wait_s": Metric("mean wait", "s"),
    "jct_s": Metric("mean time from arrival to completion", "s"),
    "starved": Metric("starved jobs"),
    "starved_pct": Metric("starved jobs", "%"),
    "wait_min_s": Metric("shortest wait", "s"),
    "wait_p50_s": Metric("median wait", "s"),
    "wait_p95_s": Metric("95th percentile of the wait", "s"),
    "wait_max_s": Metric("longest wait", "s"),
    "wait_variance_s2": Metric("variance of the wait", "s²"),
    "wait_variance_min2": Metric("variance of the wait", "min²"),
    "jain": Metric("Jain's index of slowdowns", better="more"),
    "bounded_slowdown": Metric("mean bounded slowdown"),
    "success_pct": Metric("jobs completed by the last arrival", "%", "more"),
    "fragmentation_pct": Metric("fragmentation while jobs wait", "%"),
    "node_fragmentation_pct": Metric("time in which free GPUs are too spread", "%"),
    "consolidation_pct": Metric("share of it that moves would mend", "%", ""),
    "moves": Metric("moves that mend it", better=""),
    "killed": Metric("jobs ended at their limit"),
}
"""What the figures of `metrics` are."""


def metrics(run: Run, horizon_s: float | None = None) -> dict[str, float]:
    """The paper's metrics of a run (Section IV.C).

    horizon_s: of success_pct, seconds on the clock of the arrivals; the last arrival unless given
    (ours, the paper gives none).

    Returns
    -------
    dict
        The figures by name; labels and units stand in METRICS.

        throughput_per_h, utilisation_pct
            Measured while jobs arrive, from the first submission to the last, both included, of
            length L: jobs that complete by then over L, and GPU-seconds in use by then over GPUs
            times L. NaN if all arrive at one time. What comes after, the drain, tells how long the
            last job is, not how fast jobs are served: over the makespan a scheduler that leaves
            wide jobs to the end seems slow even if it completes most.
        makespan_s
            From the first arrival to the last completion.
        wait_s, jct_s
            Means of the wait and of the time from arrival to completion.
        wait_min_s, wait_p50_s, wait_p95_s, wait_max_s
            Least, median, 95th percentile and greatest.
        wait_variance_s2, wait_variance_min2
            Of the waits, over n; the paper does not say its unit.
        starved, starved_pct
            Jobs that wait over 1800 s.
        jain
            Jain's index of slowdowns, (wait + run time) / run time, from 1/n to 1; not of waits,
            which can all be 0.
        bounded_slowdown
            Mean of slowdowns, of a run below 10 s over 10 s, and at least 1 [1]_.
        success_pct
            Jobs that are complete by the horizon.
        fragmentation_pct
            Mean of `fragmentation` over the time in which jobs wait; 0 if none ever does.
        node_fragmentation_pct
            Share of that time in which the largest waiting job fits nowhere although as many GPUs
            are free as it needs (Section II.B: free GPUs are spread over nodes).
        consolidation_pct, moves
            Share of that second time in which moving running jobs to other nodes would make room,
            and how many jobs, on average over the time in which it would (`consolidation.moves`;
            ours); 0 if there is no such time.
        killed
            Jobs that were ended at their limit.

    Raises
    ------
    InputError
        For a horizon below 0.

    References
    ----------
    .. [1] Feitelson et al. (1997), LNCS 1291.
    """
    jobs = run.jobs
    wait_s, time_s, finish_s = jobs["start_s"] - jobs["submit_s"], run_s(jobs), jobs["finish_s"]
    horizon_s = float(jobs["submit_s"][-1]) if horizon_s is None else horizon_s
    check_number("horizon_s", horizon_s, least=0)
    makespan_s = float(finish_s.max() - jobs["submit_s"][0])
    throughput_per_h, utilisation_pct = _while_jobs_arrive(jobs, run.scenario.cluster.gpus)
    median_s, p95_s = np.percentile(wait_s, (50, 95)).tolist()
    variance_s2 = float(wait_s.var())
    fragmented, spread, mendable, moved = _fragmented(course(run))
    return {
        "throughput_per_h": throughput_per_h,
        "utilisation_pct": utilisation_pct,
        "makespan_s": makespan_s,
        **waits(jobs),
        "wait_min_s": float(wait_s.min()),
        "wait_p50_s": median_s,
        "wait_p95_s": p95_s,
        "wait_max_s": float(wait_s.max()),
        "wait_variance_s2": variance_s2,
        "wait_variance_min2": variance_s2 / MINUTE_S**2,
        "jain": jain((wait_s + time_s) / time_s),
        "bounded_slowdown": float(
            np.maximum(1.0, (wait_s + time_s) / np.maximum(time_s, SHORT_S)).mean()
        ),
        "success_pct": 100 * float(np.mean(finish_s <= horizon_s)),
        "fragmentation_pct": fragmented,
        "node_fragmentation_pct": spread,
        "consolidation_pct": mendable,
        "moves": moved,
        "killed": float(jobs["killed"].sum()),
    }


def _while_jobs_arrive(jobs: Table, gpus: int) -> tuple[float, float]:
    """Jobs completed per hour, and GPUs in use in percent, from the first
    submission to the last.
    """
    last_s = jobs["submit_s"][-1]
    length_s = float(last_s - jobs["submit_s"][0])
    if length_s == 0:
        return nan, nan
    start_s, finish_s = (np.minimum(jobs[name], last_s) for name in ("start_s", "finish_s"))
    used_gpu_s = float(jobs["gpus"] @ (finish_s - start_s))
    completed = int((jobs["finish_s"] <= last_s).sum())
    return completed / length_s * HOUR_S, 100 * used_gpu_s / (gpus * length_s)


def by_class(run: Run) -> list[dict[str, str | float]]:
    """Waits by kind and by class of GPUs: a dict for each class that has jobs, with by, value,
    jobs, wait_s, jct_s (means, seconds), starved and starved_pct.
    """
    jobs = run.jobs
    width = np.searchsorted(list(GPU_CLASSES.values()), jobs["gpus"])
    rows: list[dict[str, str | float]] = []
    for by, names, index in (("kind", KINDS, jobs["kind"]), ("GPUs", tuple(GPU_CLASSES), width)):
        for number, name in enumerate(names):
            if len(own := jobs[index == number]):
                rows.append({"by": by, "value": name, "jobs": len(own), **waits(own)})
    return rows


def run_s(jobs: Table) -> Floats:
    """For how long each job ran, seconds."""
    return np.where(jobs["killed"], jobs["estimate_s"], jobs["duration_s"])


def figures_of(jobs: Table) -> dict[str, float]:
    """Of some jobs: their number, GPU-hours and waits."""
    gpu_h = jobs["gpus"] * run_s(jobs) / HOUR_S
    return {"jobs": len(jobs), "gpu_hours": float(gpu_h.sum()), **waits(jobs)}


def waits(jobs: Table) -> dict[str, float]:
    """Mean wait and time to completion, seconds, and how many jobs starve."""
    wait_s = jobs["start_s"] - jobs["submit_s"]
    starved = wait_s > STARVED_S
    return {
        "wait_s": float(wait_s.mean()),
        "jct_s": float((jobs["finish_s"] - jobs["submit_s"]).mean()),
        "starved": float(starved.sum()),
        "starved_pct": 100 * float(starved.mean()),
    }


def jain(values: Floats) -> float:
    """Jain's fairness index, (sum x)^2 / (n sum x^2): 1 if all are equal, 1/n if one has all.

    values: numbers > 0. Result: from 1/n to 1. Jain, Chiu, Hawe (1984), DEC-TR-301.
    """
    return float(values.sum() ** 2 / (len(values) * (values**2).sum()))


def fragmentation(free: Ints, sizes: Ints, gpus: int) -> float:
    """Share of the free GPUs that a job cannot use.

    Usable are those of nodes with room for the job and, for one wider than any node, those of nodes
    that are all free.

    free, sizes: GPUs that are free on each node, and that it has. gpus: of the job. Result: from 0
    to 1; 0 if none is free. After Weng et al. (2023), USENIX ATC, who count the free GPUs of a node
    that a task cannot use; the share of the free ones, and one job instead of a mean over tasks,
    are ours.
    """
    nodes = Nodes(sizes.tolist())
    return _fragmentation(nodes, nodes.packed(free.tolist()), gpus)


def _fragmentation(nodes: Nodes, free: int, gpus: int) -> float:
    idle = free.bit_count()
    return (idle - nodes.usable(free, gpus)) / idle if idle else 0.0


def course(run: Run) -> dict[str, Floats]:
    """Time courses of a run: values that hold from each time to the next.

    Returns
    -------
    dict
        Columns of shape (times,), one time for all that happens at it:

        time_s
            Seconds.
        waiting
            Jobs in the queue.
        busy
            GPUs in use.
        fragmentation
            Of the largest waiting job, from 0 to 1; 0 if none waits.
        unplaced
            1 if this job fits nowhere although as many GPUs are free as it needs, else 0.
        moves
            Running jobs that are moved to make room for it when it is unplaced
            (`consolidation.moves`); 0 if it is not, or if that does not help.
    """
    jobs, parts = run.jobs, run.parts()
    nodes = Nodes(run.scenario.cluster.sizes)
    events = [jobs[name] for name in ("submit_s", "start_s", "finish_s")]
    time_s, moment = np.unique(np.concatenate(events), return_inverse=True)
    arrived, started, finished = moment.reshape(3, -1)
    own = len(nodes.sizes)  # beyond it, cores and memory
    places: list[Any] = [tuple(p for p in parts[job] if p[0] < own) for job in range(len(jobs))]
    change = _changes(places, started, finished, len(time_s))
    waiting = _steps(arrived, started, len(time_s))
    seen = _largest(jobs["gpus"], arrived, started, len(time_s))
    free, gpus, busy = nodes.all, nodes.all.bit_count(), np.zeros(len(time_s))
    held: list[list[int]] = [[] for _ in nodes.sizes]  # GPUs of the jobs that run on one node
    share, unplaced, moved = np.zeros((3, len(time_s)))
    for now, largest in enumerate(seen):
        for place, sign in change[now]:
            free = (nodes.take if sign < 0 else nodes.give)(free, nodes.held(place))
            if len(place) == 1:
                node, width = place[0]
                (held[node].append if sign < 0 else held[node].remove)(width)
        busy[now] = gpus - free.bit_count()
        if largest:
            share[now] = _fragmentation(nodes, free, largest)
            if free.bit_count() >= largest and not nodes.fits(free, largest):
                unplaced[now] = 1
                moved[now] = moves(nodes.counts(free), nodes, held, largest) or 0
    return {
        "time_s": time_s,
        "waiting": waiting,
        "busy": busy,
        "fragmentation": share,
        "unplaced": unplaced,
        "moves": moved,
    }


def _changes(
    places: Sequence[Place], started: Ints, finished: Ints, times: int
) -> list[list[tuple[Place, int]]]:
    """Places that are taken (-1) and given back (1), at each time; those given back first. A job
    so short that the clock does not tell its end from its start holds nothing.
    """
    change: list[list[tuple[Place, int]]] = [[] for _ in range(times)]
    held = [each for each in zip(places, started.tolist(), finished.tolist()) if each[1] < each[2]]
    for place, _, finish in held:
        change[finish].append((place, 1))
    for place, start, _ in held:
        change[start].append((place, -1))
    return change


def _steps(ups: Ints, downs: Ints, times: int) -> Floats:
    return np.cumsum(
        np.bincount(ups, minlength=times) - np.bincount(downs, minlength=times)
    ).astype(float)


def _largest(gpus: Ints, arrived: Ints, started: Ints, times: int) -> list[int]:
    """GPUs of the largest job that waits from each time on; 0 if none does."""
    coming = sorted(zip(arrived.tolist(), started.tolist(), gpus.tolist()), reverse=True)
    waiting: list[tuple[int, int]] = []
    answer: list[int] = []
    for now in range(times):
        while coming and coming[-1][0] == now:
            _, start, width = coming.pop()
            heappush(waiting, (-width, start))
        while waiting and waiting[0][1] <= now:
            heappop(waiting)
        answer.append(-waiting[0][0] if waiting else 0)
    return answer


def _fragmented(columns: dict[str, Floats]) -> tuple[float, float, float, float]:
    """Means over time: fragmentation and unplaced while jobs wait, moves > 0 while unplaced
    (percent), and moves while > 0.
    """
    length_s = np.diff(columns["time_s"])
    waiting, share, unplaced, moved = (
        columns[name][:-1] for name in ("waiting", "fragmentation", "unplaced", "moves")
    )

    def mean(values: npt.NDArray[Any], when: npt.NDArray[Any]) -> float:
        return (
            float(np.average(values, weights=length_s * when)) if (length_s * when).any() else 0.0
        )

    fragmented, spread, mendable = (
        100 * mean(share, waiting > 0),
        100 * mean(unplaced, waiting > 0),
        100 * mean(moved > 0, unplaced),
    )
    return fragmented, spread, mendable, mean(moved, moved > 0)


def moves(
    free: Sequence[int], nodes: Nodes, held: Sequence[Sequence[int]], gpus: int
) -> int | None:
    """How many running jobs are moved to other nodes until a job of so many GPUs fits; None if that
    does not make it fit.

    free: GPUs by node. held: GPUs of each job that runs on one node, by node; jobs on several nodes
    stay where they are. Greedy, ours: nodes are emptied in turn, that with most free GPUs first,
    widest jobs first, each job once and to the node on which least is left free, but to none that
    is empty. It is what a simple consolidation does, not the fewest moves there are.
    """
    left, moved = list(free), 0
    for node in sorted(range(len(left)), key=lambda node: -left[node]):
        for width in sorted(held[node], reverse=True):
            room = [
                other
                for other, idle in enumerate(left)
                if width <= idle < nodes.sizes[other] and other != node
            ]
            if not room:
                continue
            left[min(room, key=left.__getitem__)] -= width
            left[node] += width
            moved += 1
            if nodes.fits(nodes.packed(left), gpus):
                return moved
    return None
