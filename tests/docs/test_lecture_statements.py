"""Statements of the lectures' texts and answers that the lectures do not compute."""

from dataclasses import replace

import numpy as np
from scipy.special import log_ndtr
from support import fifo_waits

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream


def test_lecture_3_somewhat_fewer_than_95_of_100_intervals_contain_the_mean():
    arrivals, works = stream(0, "days").exponential(1, (2, 6000, 200))
    days = [
        np.mean(fifo_waits(at[at <= 480], 4 * work))
        for at, work in zip(5 * arrivals.cumsum(axis=1), works)
    ]
    intervals = map(cg.statistics.mean, np.reshape(days, (-1, 10)))
    assert 0.84 < np.mean([x.low <= np.mean(days) <= x.high for x in intervals]) < 0.93


def test_lecture_14_times_are_correlated_at_distance_two_but_less():
    """By the copula with r = 0.9, normal numbers have correlation r^2 there."""
    rng, z = stream(0, "copula"), np.empty(100_000)
    z[0] = rng.normal()
    for k, error in enumerate(rng.normal(size=len(z) - 1), start=1):
        z[k] = 0.9 * z[k - 1] + 0.19**0.5 * error
    times = -log_ndtr(-z)
    one, two = (np.corrcoef(times[:-k], times[k:])[0, 1] for k in (1, 2))
    assert abs(np.corrcoef(z[:-2], z[2:])[0, 1] - 0.81) < 0.02
    assert 0.7 < two < one < 0.92


def test_lecture_17_faster_gpus_start_all_hectic_jobs_before_the_peak():
    day = cg.day("hectic")

    def twice(gpu):
        return replace(gpu, mean_execution_s=tuple(s / 2 for s in gpu.mean_execution_s))

    slots, gpus = (tuple(map(twice, kind)) for kind in (day.slots, day.gpus))
    fast = replace(day, slots=slots, gpus=gpus)
    last_h = [
        cg.simulate(scenario, "fifo", 0).jobs["start_s"].max() / 3600
        for scenario in (day, fast)
    ]
    assert last_h[0] > 10 and last_h[1] < 4
