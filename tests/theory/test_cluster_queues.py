"""Clusters against queueing theory: jobs of one GPU are M/M/64; shortest first with two
lengths is Cobham's priority queue.
"""

import numpy as np
import pytest
from cluster.cases import simulate
from support import waits_s

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.cluster.cluster import PAPER_CLUSTER, Cluster


def of_one_gpu(rate_per_s, durations_s, seed):
    """Poisson arrivals of jobs of one GPU."""
    n = len(durations_s)
    arrival_s = np.cumsum(stream(seed, "arrivals").exponential(1 / rate_per_s, n))
    ones, none = np.ones(n), np.zeros(n)
    return cg.cluster.Jobs(
        arrival_s, ones, durations_s, durations_s, ones, none, none, none
    )


def exponential(seed):
    """Jobs that load 64 GPUs to 92 %."""
    return of_one_gpu(
        0.92 * 64 / 100, stream(seed, "durations").exponential(100.0, 8000), seed
    )


@pytest.mark.slow
def test_single_gpu_exponential_jobs_are_m_m_64():
    results = [
        waits_s(
            simulate(
                exponential(seed), PAPER_CLUSTER, cg.cluster.make_scheduler("fifo")
            ).jobs
        )[2000:].mean()
        for seed in range(6)
    ]
    error = np.std(results, ddof=1) / np.sqrt(len(results))
    assert (
        abs(np.mean(results) - cg.queueing.mmc(0.92 * 64 / 100, 0.01, 64).wait_s)
        < 4 * error
    )
    # four GPUs less make a difference
    assert (
        abs(np.mean(results) - cg.queueing.mmc(0.92 * 64 / 100, 0.01, 60).wait_s)
        > 4 * error
    )


@pytest.mark.slow
def test_shortest_first_with_two_lengths_is_a_priority_queue():
    """Cobham (1954): W_k = R / ((1 - sigma_(k-1)) (1 - sigma_k)), with R = lambda
    E[S^2] / 2.
    """
    rate, lengths_s, share = 0.008, np.array([20.0, 200.0]), 0.6
    load = rate * np.array([share, 1 - share]) * lengths_s
    rest_s = rate * (share * lengths_s[0] ** 2 + (1 - share) * lengths_s[1] ** 2) / 2
    theory = [rest_s / (1 - load[0]), rest_s / ((1 - load[0]) * (1 - load.sum()))]
    results = []
    for seed in range(8):
        short = stream(seed, "durations").random(8000) < share
        outcome = simulate(
            of_one_gpu(rate, np.where(short, *lengths_s), seed),
            Cluster((1,)),
            cg.cluster.make_scheduler("shortest"),
        )
        results.append(
            [
                waits_s(outcome.jobs)[500:][short[500:]].mean(),
                waits_s(outcome.jobs)[500:][~short[500:]].mean(),
            ]
        )
    error = np.std(results, axis=0, ddof=1) / np.sqrt(len(results))
    assert (np.abs(np.mean(results, axis=0) - theory) < 4 * error).all()
    in_order = rest_s / (1 - load.sum())  # M/G/1 without priorities
    assert abs(np.mean(results, axis=0)[0] - in_order) > 4 * error[0]
