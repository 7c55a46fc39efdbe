"""Small clusters and jobs that tests write row by row."""

from types import SimpleNamespace

import numpy as np

from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.cluster.cluster import Cluster
from cgrsp_simpy.cluster.jobs import Jobs
from cgrsp_simpy.cluster.policies import make_scheduler
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.engine.simulation import Simulation
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


def waiting_run(jobs, cluster=ONE_NODE, now_s=0.0, free=None):
    """Return a run in which all jobs wait; free: idle GPUs by node, by default all."""
    scenario = Scenario(jobs, cluster)
    run = Simulation(scenario, lambda _: ())
    for _, job, row in scenario.arrivals(Draw(0)):
        run.hidden[job] = row
        run.view.on_enqueue(job)
    for node, gpus in enumerate(free or ()):
        run.free[node] = gpus
        run.view.on_available(node)
    run.view.on_decision(now_s)
    return run


def started(scheduler, run):
    """Return the jobs that are started, each granted before the next is asked for."""
    order = []
    for job, place in make_scheduler(scheduler)(run.view):
        for node, gpus in run.view.parse_assignment(SimpleNamespace(job=job), place):
            run.free[node] -= gpus
        run.view.on_dequeue(job)
        order.append(job)
    return order


def starts(scheduler, jobs, cluster=ONE_NODE):
    return simulate(jobs, cluster, make_scheduler(scheduler)).jobs["start_s"].tolist()


def simulate(jobs, cluster, scheduler, placement="best", *, listener=None, **more):
    """Run jobs on a cluster."""
    scenario = Scenario(jobs, cluster, placement, **more)
    return subject_of(scenario).run(scheduler, listener=listener)
