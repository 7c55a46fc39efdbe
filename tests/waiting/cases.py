"""Jobs that a test writes row by row."""

import numpy as np

from cgrsp_simpy.waiting.jobs import ListedJobs


def jobs_of(*rows):
    """Jobs from rows of submission, running time, cores and memory."""
    return ListedJobs(*(np.array(column) for column in zip(*rows)))


def two(*, cores=1, memory_gb=0.0):
    return jobs_of((0, 1, 1, 0.0), (1, 1, cores, memory_gb))
