"""Multi-GPU clusters: gang scheduling, placement on nodes, fragmentation and starvation.

A `Setting` of jobs (an `Offered` mix, or `Jobs` of a log) on a `Cluster` is simulated, stepped
through, compared and swept like the scenario of any module; a run leaves an `Outcome`. A scheduler
is a name of SCHEDULERS, or any function of a `ClusterView`.

    import cgrsp_simpy as cg
    print(cg.compare(cg.cluster.Setting(), ["fifo", "hps", "easy"], range(10)))

Source: "Reducing Fragmentation and Starvation in GPU Clusters through Dynamic Multi-Objective
Scheduling", cited as cluster-schedulers.txt.
"""

from cgrsp_simpy.cluster.jobs import KINDS, PAPER_CLUSTER, Cluster, Jobs
from cgrsp_simpy.cluster.logs import cluster_of, jobs_of, read_jobs, schedule_text
from cgrsp_simpy.cluster.metrics import (
    GPU_CLASSES,
    METRICS,
    by_class,
    course,
    fragmentation,
    jain,
    metrics,
)
from cgrsp_simpy.cluster.mix import Mix, generate
from cgrsp_simpy.cluster.placement import PLACEMENTS, Place, Placement
from cgrsp_simpy.cluster.schedulers import COMPARED, SCHEDULERS, make_scheduler
from cgrsp_simpy.cluster.simulation import Outcome
from cgrsp_simpy.cluster.study import Offered, Setting, simulate
from cgrsp_simpy.cluster.view import Arrived, ClusterView, Running, Scheduler

__all__ = [
    "COMPARED",
    "GPU_CLASSES",
    "KINDS",
    "METRICS",
    "PAPER_CLUSTER",
    "PLACEMENTS",
    "SCHEDULERS",
    "Arrived",
    "Cluster",
    "ClusterView",
    "Jobs",
    "Mix",
    "Offered",
    "Outcome",
    "Place",
    "Placement",
    "Running",
    "Scheduler",
    "Setting",
    "by_class",
    "cluster_of",
    "course",
    "fragmentation",
    "generate",
    "jain",
    "jobs_of",
    "make_scheduler",
    "metrics",
    "read_jobs",
    "schedule_text",
    "simulate",
]
