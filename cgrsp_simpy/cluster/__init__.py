"""Multi-GPU clusters: gang scheduling, placement, fragmentation and starvation.

A `Scenario` of jobs (an `Offered` mix, or `Jobs` of a log) on a `Cluster` is used like
any scenario; a scheduler is a name of SCHEDULERS, or a function of a `View`.

    import cgrsp_simpy as cg
    print(cg.compare(cg.cluster.Scenario(), ["fifo", "hps", "easy"], range(10)))

Source: "Reducing Fragmentation and Starvation in GPU Clusters through Dynamic
Multi-Objective Scheduling", cited as cluster-schedulers.txt.
"""

from cgrsp_simpy.cluster.cluster import Cluster
from cgrsp_simpy.cluster.jobs import Jobs, Mix, Offered
from cgrsp_simpy.cluster.logs import read_jobs
from cgrsp_simpy.cluster.policies import SCHEDULERS, make_scheduler
from cgrsp_simpy.cluster.report import by_class, metrics
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.cluster.view import Arrived, View

__all__ = [
    "SCHEDULERS",
    "Arrived",
    "Cluster",
    "Jobs",
    "Mix",
    "Offered",
    "Scenario",
    "View",
    "by_class",
    "make_scheduler",
    "metrics",
    "read_jobs",
]
