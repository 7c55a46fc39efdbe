"""Instances of the kind of the paper's data sets, which are not part of this package: tasks1 to
tasks4 (hgsp.txt Section IV).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cgrsp_simpy.hgsp.instance import Gpu, Instance, cluster
from cgrsp_simpy.model.checks import check_number, check_one_of, check_whole, entries_of, require
from cgrsp_simpy.model.streams import stream

BASE_SPEED = 30.0  # the A30's, the "baseline" of Section IV
MEAN_WORKLOAD = 900.0  # half a minute on an A30
SPREAD = 0.5  # standard deviation of the workload's logarithm
# what fits on all, on L40 and A100, on A100 alone
MEMORY_GB = ((2.0, 24.0), (24.0, 48.0), (48.0, 80.0))
MEMORY_SHARES = (0.80, 0.15, 0.05)


@dataclass(frozen=True)
class Level:
    """What makes a load level.

    Parameters
    ----------
    tasks : int
        Their number.
    cluster : str or tuple of Gpu
        The GPUs, or the name of a cluster that is printed.
    load : float
        Offered work per second over the speed of all GPUs of the cluster.
    slack : pair of float
        Least and greatest time from arrival to deadline, as multiples of the task's time on an A30.
    """

    tasks: int
    cluster: str | tuple[Gpu, ...]
    load: float
    slack: tuple[float, float]

    def __post_init__(self) -> None:
        check_whole("tasks", self.tasks, least=1)
        gpus = entries_of("cluster", self.gpus, "a name, or a list of Gpu")
        made = len(gpus) > 0 and all(isinstance(gpu, Gpu) for gpu in gpus)
        require(made, "cluster", self.cluster, "a name, or a list of Gpu, not empty")
        check_number("load", self.load, above=0)
        pair = "a pair [least, greatest]"
        slack = entries_of("slack", self.slack, pair)
        require(len(slack) == 2, "slack", self.slack, pair)
        least, greatest = slack
        check_number("least slack", least, least=0)
        check_number("greatest slack", greatest, least=least)

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """The GPUs of the cluster."""
        return cluster(self.cluster) if isinstance(self.cluster, str) else self.cluster

    @property
    def name(self) -> str:
        """What is generated."""
        least, greatest = self.slack
        return (
            f"{self.tasks} tasks on {len(self.gpus)} GPUs, load {self.load:g}, slack {least:g}"
            f" to {greatest:g}"
        )


# Sizes and clusters are printed; load and slack are ours, chosen so that FIFO misses about as many
# deadlines as in Table I (5.7 %, 1.9 %, 99.5 %, 99.1 %).
LEVELS = {
    "tasks1": Level(1000, "small", 0.7, (1.2, 4.0)),
    "tasks2": Level(2000, "medium", 0.45, (0.75, 3.0)),
    "tasks3": Level(1000, "small", 10.0, (1.0, 2.0)),
    "tasks4": Level(2000, "large", 30.0, (0.5, 1.5)),
}


def generate(level: str | Level, seed: int = 0, gpus: tuple[Gpu, ...] | None = None) -> Instance:
    """Tasks of a load level.

    Poisson arrivals, log-normal workloads, weights 1 to 10, memory of three classes that force the
    use of several models; each has its own stream.

    level: "tasks1" (medium), "tasks2" (medium), "tasks3" (high), "tasks4" (extreme), or one of
    one's own. seed: of the draws, >= 0. gpus: that the tasks run on; those of the level's cluster
    unless given. The arrivals do not depend on them. Result: tasks in order of arrival. Raises
    InputError for a level or seed that is not allowed. hgsp.txt Section IV.
    """
    check_whole("seed", seed, least=0)
    name = level if isinstance(level, str) else "generated"
    if isinstance(level, str):
        check_one_of("load level", level, LEVELS)
        level = LEVELS[level]
    require(isinstance(level, Level), "level", level, "a Level, or a name")
    own = level.gpus
    n = level.tasks
    rate_per_s = level.load * sum(gpu.speed for gpu in own) / MEAN_WORKLOAD
    arrival_s = np.cumsum(stream(seed, "arrivals").exponential(1 / rate_per_s, n))
    workload = stream(seed, "workloads").lognormal(np.log(MEAN_WORKLOAD) - SPREAD**2 / 2, SPREAD, n)
    memory = stream(seed, "memory")
    least, greatest = np.array(MEMORY_GB)[memory.choice(len(MEMORY_GB), n, p=MEMORY_SHARES)].T
    memory_gb = np.round(least + (greatest - least) * memory.random(n), 1)
    weight = stream(seed, "weights").integers(1, 11, n).astype(float)
    slack = stream(seed, "deadlines").uniform(*level.slack, n)
    deadline_s = arrival_s + slack * workload / BASE_SPEED
    return Instance(
        workload, memory_gb, deadline_s, weight, arrival_s, gpus or own, f"{name} seed {seed}"
    )
