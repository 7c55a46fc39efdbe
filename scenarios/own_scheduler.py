"""Your own scheduler for a cluster is a function of a view.

Widest job that fits first: the mean wait does not differ significantly from SJF's.
"""

import cgrsp_simpy as cg


def widest_first(view):
    """The widest job that fits, again and again; who waits longest for that?"""
    while jobs := view.fitting():
        job = max(jobs, key=lambda job: view.gpus[job])
        yield job, view.room(view.needs[job])


if __name__ == "__main__":
    scenario = cg.cluster.Scenario(cg.cluster.Offered(jobs=1000, load=0.7))
    print(cg.compare(scenario, ["sjf", widest_first, "easy"], seeds=range(10)))
