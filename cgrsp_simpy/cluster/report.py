"""Metrics of runs of a cluster (cluster-schedulers.txt IV.C), rows and descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import inf, nan
from typing import Any

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.metric import Metric
from cgrsp_simpy.base.table import many
from cgrsp_simpy.base.timeline import Timeline
from cgrsp_simpy.cluster.cluster import Nodes
from cgrsp_simpy.cluster.jobs import KINDS, Jobs
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.report import NO_COLUMNS, Report
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.logs import Tags

SHORT_S = 10.0  # a shorter run counts as one of this length in bounded slowdown
STARVED_S = 1800.0  # a job starves that waits longer: Sections IV.C and VI.B
# largest number of GPUs per class; the paper's are 1, 2, 4, 8 and 16+
GPU_CLASSES = {"1": 1, "2": 2, "3-4": 4, "5-8": 8, "9+": np.inf}
MINUTE_S, HOUR_S = 60.0, 3600.0
COMES = 2  # kinds of event: end, start, arrival
Table = np.ndarray[Any, Any]  # rows of `Run.jobs`

METRICS = {
    "throughput_per_h": Metric(
        "jobs completed while measured jobs arrive", "1/h", "more"
    ),
    "utilisation_pct": Metric("GPUs in use while measured jobs arrive", "%", "more"),
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
    "success_pct": Metric("jobs completed by the last measured arrival", "%", "more"),
    "censored": Metric("jobs not started at the last arrival"),
    "fragmentation_pct": Metric("fragmentation while jobs wait", "%"),
    "node_fragmentation_pct": Metric("time in which free GPUs are too scattered", "%"),
    "consolidation_pct": Metric(
        "share of it that could be resolved by moving jobs", "%", ""
    ),
    "moves": Metric("moved jobs that resolve it", better=""),
    "killed": Metric("jobs ended at their limit"),
}
"""Labels and units of `metrics`."""

UNSETTLED = dict.fromkeys(  # if the queue grows for as long as jobs arrive
    (
        *(
            "makespan_s",
            "wait_s",
            "jct_s",
            "wait_min_s",
            "wait_p50_s",
            "wait_p95_s",
            "wait_max_s",
        ),
        *("wait_variance_s2", "wait_variance_min2", "bounded_slowdown"),
    ),
    inf,
) | {"jain": 0.0}


def metrics(run: Run) -> dict[str, float]:
    """Compute the paper's metrics of the measured jobs of a run (Section IV.C).

    throughput_per_h, utilisation_pct: completed jobs and GPUs in use, averaged from the
    first to the last measured arrival; NaN if all arrive at one time. makespan_s: from
    the first arrival to the last completion. wait_s, jct_s: means of the wait and of
    the time from arrival to completion. wait_min_s, wait_p50_s, wait_p95_s, wait_max_s:
    least, median, 95th percentile and greatest wait. wait_variance_s2,
    wait_variance_min2: variance of the waits, with divisor n; the paper does not state
    its unit. starved, starved_pct: jobs that wait over 1800 s. jain: Jain's index of
    the slowdowns, (wait + run time) / run time, from 1/n to 1. bounded_slowdown: mean
    slowdown, with run times of at least 10 s, and at least 1 [1]_. success_pct: jobs
    completed at the last measured arrival (our choice of time). censored: jobs that had
    not started at the last arrival, whose waits depend on when the run or the log ends.
    fragmentation_pct: mean of `fragmentation` over the time in which jobs wait while
    measured jobs arrive; 0 if none waits. node_fragmentation_pct: share of that time in
    which the largest waiting job does not fit although enough GPUs are free in total
    (Section II.B). consolidation_pct, moves: share of the latter time in which moving
    running jobs to other nodes would make room, and the mean number of jobs moved
    (`moves`; not in the paper). killed: jobs ended at their limit.

    If `Offered.after` did not suffice, metrics of waits and completions are infinite,
    except those of starved and successful jobs, and jain is 0.

    References
    ----------
    .. [1] Feitelson et al. (1997), LNCS 1291.
    """
    jobs = measured(run)
    from_s, to_s = jobs["submit_s"].min().item(), jobs["submit_s"].max().item()
    return {
        **_while_jobs_arrive(run, from_s, to_s),
        **waits(jobs),
        **(_of_waits(jobs) if run.plan.settled else UNSETTLED),
        "success_pct": 100 * float(np.mean(jobs["finish_s"] <= to_s)),
        "censored": float((jobs["start_s"] > run.jobs["submit_s"].max()).sum()),
        **_fragmented(course(run, to_s), from_s),
        "killed": float(jobs["killed"].sum()),
    }


def measured(run: Run) -> Table:
    """Return the measured jobs; if not settled, unstarted ones get infinite times."""
    jobs, stopping = run.jobs, run.plan
    chosen = jobs[stopping.jobs.start : stopping.jobs.stop].copy()
    if not stopping.settled:
        for name in ("dispatch_s", "finish_s", "start_s"):
            chosen[name][chosen["start_s"] > jobs["submit_s"].max()] = np.inf
    return chosen


def _of_waits(jobs: Table) -> dict[str, float]:
    wait_s, time_s = jobs["start_s"] - jobs["submit_s"], run_s(jobs)
    least_s, median_s, p95_s, most_s = np.percentile(wait_s, (0, 50, 95, 100)).tolist()
    slowdown = (wait_s + time_s) / np.maximum(time_s, SHORT_S)
    variance_s2 = float(wait_s.var())
    return {
        "makespan_s": float(jobs["finish_s"].max() - jobs["submit_s"].min()),
        "wait_min_s": least_s,
        "wait_p50_s": median_s,
        "wait_p95_s": p95_s,
        "wait_max_s": most_s,
        "wait_variance_s2": variance_s2,
        "wait_variance_min2": variance_s2 / MINUTE_S**2,
        "jain": jain((wait_s + time_s) / time_s),
        "bounded_slowdown": float(np.maximum(1.0, slowdown).mean()),
    }


def _while_jobs_arrive(run: Run, from_s: float, to_s: float) -> dict[str, float]:
    """Return throughput and utilisation between two times; NaN if they are equal."""
    jobs, gpus, length_s = run.jobs, run.scenario.cluster.gpus, (to_s - from_s) or nan
    start_s, finish_s = (
        np.clip(jobs[name], from_s, to_s) for name in ("start_s", "finish_s")
    )
    used_gpu_s = float(jobs["gpus"] @ (finish_s - start_s))
    completed = int(((from_s <= jobs["finish_s"]) & (jobs["finish_s"] <= to_s)).sum())
    return {
        "throughput_per_h": completed / length_s * HOUR_S,
        "utilisation_pct": 100 * used_gpu_s / (gpus * length_s),
    }


def by_class(run: Run) -> list[dict[str, str | float]]:
    """Return waits of the measured jobs, one dict per kind and per class of GPUs.

    Keys: by, value, jobs, wait_s and jct_s (means, seconds), starved and starved_pct.
    """
    jobs = measured(run)
    width = np.searchsorted(list(GPU_CLASSES.values()), jobs["gpus"])
    classes = (("kind", KINDS, jobs["kind"]), ("GPUs", tuple(GPU_CLASSES), width))
    return [
        {"by": by, "value": name, "jobs": len(members), **waits(members)}
        for by, names, index in classes
        for number, name in enumerate(names)
        if len(members := jobs[index == number])
    ]


def run_s(jobs: Table) -> Floats:
    """Return the run time of each job, seconds."""
    return np.where(jobs["killed"], jobs["estimate_s"], jobs["duration_s"])


def waits(jobs: Table) -> dict[str, float]:
    """Return the mean wait and mean time to completion, seconds, and starved jobs."""
    wait_s = jobs["start_s"] - jobs["submit_s"]
    starved = wait_s > STARVED_S
    return {
        "wait_s": float(wait_s.mean()),
        "jct_s": float((jobs["finish_s"] - jobs["submit_s"]).mean()),
        "starved": float(starved.sum()),
        "starved_pct": 100 * float(starved.mean()),
    }


def jain(values: Floats) -> float:
    """Return Jain's fairness index, (sum x)^2 / (n sum x^2), of numbers > 0.

    It ranges from 1/n, if a single number dominates, to 1, if all are equal. Jain,
    Chiu, Hawe (1984), DEC-TR-301.
    """
    return float(values.sum() ** 2 / (len(values) * (values**2).sum()))


def fragmentation(nodes: Nodes, free: int, gpus: int) -> float:
    """Return the share of the free GPUs that a job cannot use; 0 if none is free.

    Free GPUs are usable on nodes with room for the job or, if it is wider than any
    node, on empty nodes. free: see `Nodes`. gpus: number that the job needs. Adapted
    from Weng et al. (2023), USENIX ATC, who count unusable GPUs per node and average
    over tasks; we use one job and the share of free GPUs.
    """
    idle = free.bit_count()
    return (idle - nodes.usable(free, gpus)) / idle if idle else 0.0


def course(run: Run, to_s: float = inf) -> dict[str, Floats]:
    """Return time courses of a run up to a time; each value holds until the next time.

    Columns of shape (times,). waiting: jobs in the queue. busy: GPUs in use.
    fragmentation: `fragmentation` for the largest waiting job, from 0 to 1; 0 if none
    waits. unplaced: 1 if this job does not fit although enough GPUs are free in total,
    otherwise 0. moves: running jobs that would be moved to make room for it if it is
    unplaced; 0 if that does not help.
    """
    jobs, parts = run.jobs[run.jobs["submit_s"] <= to_s], run.parts()
    nodes = Nodes(run.scenario.cluster.sizes)
    # the order of events at the same time
    events = [
        np.minimum(jobs[name], to_s) for name in ("finish_s", "start_s", "submit_s")
    ]
    time_s, moment = np.unique(np.concatenate(events), return_inverse=True)
    # a job whose end is rounded to its start uses no GPUs
    holds, widths = (events[1] < events[0]).tolist(), jobs["gpus"].tolist()
    numbers = jobs["job"].tolist()
    free, queue = nodes.all, dict.fromkeys(widths, 0)
    # GPUs of the jobs that run on one node
    held: list[list[int]] = [[] for _ in nodes.sizes]
    waiting, busy, share, unplaced, moved = np.zeros((5, len(time_s)))
    for now, happens in groupby(
        np.argsort(moment, kind="stable").tolist(), moment.__getitem__
    ):
        for what, job in (divmod(event, len(jobs)) for event in happens):
            queue[widths[job]] += (0, -1, 1)[what]
            if what == COMES or not holds[job]:
                continue
            # placements may include cores, which are not counted
            place = parts[numbers[job]]
            placed = [(node, int(n)) for node, n in place if node < len(held)]
            free = (nodes.give, nodes.take)[what](free, placed)
            for node, width in placed if len(placed) == 1 else ():
                (held[node].remove, held[node].append)[what](width)
        waiting[now] = sum(queue.values())
        busy[now] = nodes.all.bit_count() - free.bit_count()
        # if none waits, as for a job of one GPU, which is never unplaced
        largest = max([1, *(width for width, number in queue.items() if number)])
        share[now] = fragmentation(nodes, free, largest)
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


def _fragmented(columns: dict[str, Floats], from_s: float) -> dict[str, float]:
    """Return the means of fragmentation, unplaced and moves from `from_s` on."""
    length_s = np.diff(np.maximum(columns["time_s"], from_s))
    waiting, share, unplaced, moved = (
        columns[name][:-1] for name in ("waiting", "fragmentation", "unplaced", "moves")
    )

    def mean(values: npt.NDArray[Any], when: npt.NDArray[Any]) -> float:
        weights = length_s * when
        return float(np.average(values, weights=weights)) if weights.any() else 0.0

    return {
        "fragmentation_pct": 100 * mean(share, waiting > 0),
        "node_fragmentation_pct": 100 * mean(unplaced, waiting > 0),
        "consolidation_pct": 100 * mean(moved > 0, unplaced),
        "moves": mean(moved, moved > 0),
    }


def moves(
    free: Sequence[int], nodes: Nodes, held: Sequence[Sequence[int]], gpus: int
) -> int | None:
    """Return how many running jobs must move for a job of `gpus` GPUs to fit, or None.

    free: free GPUs per node. held: per node, the GPUs of each job that runs only there;
    jobs on several nodes are not moved. A greedy heuristic of ours, not minimal: nodes
    are emptied in order of decreasing free GPUs, widest jobs first; each job moves
    once, to the non-empty node where it leaves the fewest free GPUs.
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


class ClusterReport(Report):
    """Report of the paper's metrics for the measured jobs."""

    claim_columns = NO_COLUMNS
    metrics = METRICS
    shown = (
        "throughput_per_h",
        "utilisation_pct",
        "wait_s",
        "wait_variance_min2",
        "starved",
        "censored",
        "fragmentation_pct",
    )
    tested = ("throughput_per_h", "wait_s", "wait_variance_min2", "starved")
    infinite = "unstable at this load, or more jobs (after) are needed to decide"
    keeps_jobs = True
    groups = ("job", "gpus", "kind", "family", "user", "killed", "nodes")

    @property
    def note(self) -> str:  # type: ignore[override]
        """Message about jobs that have no limit, or still run when the log ends."""
        source, jobs = self.model.source, self.model.jobs
        if not isinstance(source, Jobs):
            return ""
        none = 0 if source.limited is None else int((~source.limited).sum())
        still = 0 if source.running is None else int(source.running.sum())
        whose, see = (
            ("s", "the") if none == jobs else (f" for {none} of {jobs} jobs", "their")
        )
        no_limit = (
            f"{self.model.offered} records no limit{whose}: schedulers that use"
            f" limits use {see} run times instead"
        )
        running = (
            f"{still} of {jobs} jobs of {self.model.offered} were still running"
            " at its end: their waits are known, and their end is estimated by"
            " their limit"
        )
        return "; ".join([no_limit] * (none > 0) + [running] * (still > 0))

    def state_class(self) -> Any:
        from cgrsp_simpy.cluster.state import State  # it needs the scenario

        return State

    def summary(self, run: Run) -> dict[str, float]:
        return metrics(run)

    def summary_of(self, run: Run, chosen: np.ndarray[Any, Any]) -> dict[str, Any]:
        jobs = measured(run)[chosen]
        gpu_hours = float((jobs["gpus"] * run_s(jobs) / HOUR_S).sum())
        return {"jobs": len(jobs), "gpu_hours": gpu_hours, **waits(jobs)}

    def rows(self, run: Run) -> list[dict[str, Any]]:
        """Return one dict per measured job, with the columns of `Run.jobs` and of a
        log.

        nodes: a string of "node:GPUs" pairs. A log's families and users replace
        numbers.
        """
        names = run.jobs.dtype.names or ()
        tags = self.tags or Tags()
        taken = {"nodes", *names}.difference(("family", "user"))
        sizes = self.model.cluster.sizes
        nodes = {
            job: " ".join(
                f"{node}:{gpus:g}" for node, gpus in place if node < len(sizes)
            )
            for job, place in run.parts().items()
        }
        return [
            dict(zip(names, values))
            | {"nodes": nodes[values[0]]}
            | tags.of(values[0], taken)
            for values in measured(run).tolist()
        ]

    def timeline(self, run: Run, **parts: Any) -> Timeline:
        """Return a timeline of nodes and jobs, with the paper's kinds of jobs."""
        sizes, claims = enumerate(self.model.cluster.sizes), run.claims
        claims = claims[claims["resource"] < len(self.model.cluster.sizes)]
        fields = {
            "claims": claims[np.lexsort((claims["job"], claims["from_s"]))],
            "resources": tuple(f"{node}  {many(size, 'GPU')}" for node, size in sizes),
            "kinds": {
                job: KINDS[kind]
                for job, kind in zip(
                    run.jobs["job"].tolist(), run.jobs["kind"].tolist()
                )
            },
        }
        return super().timeline(run, **fields | parts)

    def describe(self, kind: str, claim: Claim) -> str:
        row = claim.run.hidden[claim.job]
        arrival_s, gpus, duration_s, estimate_s, *_ = row
        time_s = self.model.time_s(row)
        killed = ", killed at its limit" if time_s < duration_s else ""
        return {
            "submit": f"{many(gpus, 'GPU')}, limit {estimate_s:.2f} s",
            "start": f"{many(gpus, 'GPU')}, {claim.env.now - arrival_s:.2f} s of wait",
            "finish": f"{time_s:.2f} s of execution{killed}",
        }[kind]
