"""Small clusters and jobs that tests write row by row."""

from types import SimpleNamespace

import numpy as np

from cgrsp_simpy.cluster.cluster import Cluster
from cgrsp_simpy.cluster.jobs import Jobs
from cgrsp_simpy.cluster.policies import make_scheduler
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.studies.subject import subject_of

ONE_NODE, TWO_NODES, SMALL_NODES = Cluster((8,)), Cluster((8, 8)), Cluster((4, 4))


def jobs_of(*rows, **columns):
    """Rows of arrival, GPUs, duration; estimates are exact, iterations 1, families and
    users 0, where not given.
    """
    arrival_s, gpus, duration_s = np.array(rows, dtype=float).T
    rest = {"estimate_s": duration_s, "iterations": np.ones(len(rows))} | {
        name: np.zeros(len(rows)) for name in ("kind", "family", "user")
    }
    return Jobs(
        arrival_s=arrival_s, gpus=gpus, duration_s=duration_s, **(rest | columns)
    )


def view_of(jobs, cluster=ONE_NODE, now_s=0.0, free=None):
    """All jobs wait; `free` GPUs by node, all where not given."""
    view = Scenario(jobs, cluster).moment(now_s)
    for node, gpus in enumerate(free or ()):
        view._left[node] = gpus
        view.on_available(node)
    return view


def grant(view, job, place):
    """Carry out a grant as the engine does."""
    for node, gpus in view.parse_assignment(SimpleNamespace(job=job), place):
        view._left[node] -= gpus
    view.on_dequeue(job)


def starts(scheduler, jobs, cluster=ONE_NODE):
    return simulate(jobs, cluster, make_scheduler(scheduler)).jobs["start_s"].tolist()


def simulate(jobs, cluster, scheduler, placement="best", *, listener=None, **more):
    """Run jobs on a cluster."""
    scenario = Scenario(jobs, cluster, placement, **more)
    return subject_of(scenario).run(scheduler, listener=listener)
