"""The scheduling loop of the cluster paper's public program.

Source: github.com/akhmadmamirov/orca, commit d10624a, test_scheduler_performance.py. In
each second the program offers the jobs that arrived in that second to the scheduler. A
job that does not fit then is never offered again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.base.table import grouped

GPUS, JOBS, DAY_S = 32, 5_000, 86_400.0


class Job(NamedTuple):
    """Job of the program; times in seconds."""

    submit_s: float
    gpus: int
    duration_s: float


Order = Callable[[Job], float]
"""The scheduler starts the job with the least value first."""
ORDERS: dict[str, Order] = {
    "fifo": lambda job: job.submit_s,
    "sjf": lambda job: job.gpus,
    "shortest": lambda job: job.duration_s,
    "shortest-gpu": lambda job: job.gpus * job.duration_s,
}


def drawn(seed: int, jobs: int = JOBS) -> list[Job]:
    """Draw the program's jobs over a day: 1, 2, 4 or 8 GPUs, 5 minutes to 2 hours."""
    rng = stream(seed, "public program")
    submit_s = np.sort(rng.uniform(0, DAY_S, jobs)).tolist()
    gpus = rng.choice([1, 2, 4, 8], jobs).tolist()
    return [*map(Job, submit_s, gpus, rng.uniform(300, 7200, jobs).tolist())]


def run(jobs: Sequence[Job], order: Order, gpus: int = GPUS) -> list[float]:
    """Return the waits of the jobs that start, in seconds; the others are lost."""
    free = gpus
    running = list[tuple[int, int]]()
    waits = list[float]()
    by_second = grouped(sorted(jobs), lambda job: int(np.ceil(job.submit_s)))
    for now_s, offered in by_second.items():
        while running and running[0][0] <= now_s:
            free += heapq.heappop(running)[1]
        while offered and free >= offered[0].gpus:
            job = min(offered, key=order)
            if job.gpus > free:
                break
            offered.remove(job)
            free -= job.gpus
            heapq.heappush(running, (now_s + int(np.ceil(job.duration_s)), job.gpus))
            waits.append(now_s - job.submit_s)
    return waits
