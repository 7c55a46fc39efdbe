"""A cluster's own scheduler, a function of a view. Widest that fits first: the mean wait of SJF, nearly twice as many starve."""

from cgrsp_simpy.cluster.study import Offered, compare


def widest_first(view):
    """The widest job that fits, again and again; who waits longest for that?"""
    while jobs := view.fitting():
        job = max(jobs, key=lambda job: view.gpus[job])
        yield job, view.room(view.gpus[job])


if __name__ == "__main__":
    print(compare(Offered(jobs=1000, load=0.9), ["sjf", widest_first, "easy"], seeds=range(10)))
