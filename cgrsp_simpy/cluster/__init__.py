"""Multi-GPU clusters: gang scheduling, placement on nodes, fragmentation and starvation.

A `Scenario` of jobs (an `Offered` mix, or `Jobs` of a log) on a `Cluster` is simulated, stepped
through, compared and swept like the scenario of any module; a scheduler is a name of
SCHEDULERS, or any function of a `View`.

    import cgrsp_simpy as cg
    print(cg.compare(cg.cluster.Scenario(), ["fifo", "hps", "easy"], range(10)))

Source: "Reducing Fragmentation and Starvation in GPU Clusters through Dynamic Multi-Objective
Scheduling", cited as cluster-schedulers.txt.
"""

from typing import TYPE_CHECKING

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
from cgrsp_simpy.cluster.mix import Mix, Offered, generate
from cgrsp_simpy.cluster.placement import PLACEMENTS, Place, Placement
from cgrsp_simpy.cluster.scenario import Scenario, simulate
from cgrsp_simpy.cluster.schedulers import COMPARED, SCHEDULERS, make_scheduler
from cgrsp_simpy.cluster.view import Arrived, Running, Scheduler, View
from cgrsp_simpy.model.renamed import renamed

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
    "Jobs",
    "Mix",
    "Offered",
    "Place",
    "Placement",
    "Running",
    "Scenario",
    "Scheduler",
    "View",
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

if not TYPE_CHECKING:  # a checker would take every misspelt name for one that is there
    __getattr__ = renamed(globals(), {"Setting": "Scenario", "ClusterView": "View"})
