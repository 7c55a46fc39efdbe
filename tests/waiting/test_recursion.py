"""Waiting policies on small cases worked out by hand, simulated and computed by
recursion.
"""

import numpy as np
import pytest
from support import simulated, waits_s
from waiting.cases import jobs_of, two

import cgrsp_simpy as cg
from cgrsp_simpy.waiting.jobs import Chunk
from cgrsp_simpy.waiting.machines import M5, Size
from cgrsp_simpy.waiting.policies import (
    MISLED,
    RENTS_AT_ONCE,
    WAITS,
    Mispredictions,
    waiting_policy,
)
from cgrsp_simpy.waiting.recursion import follow, started

# ---- events, by hand ----


def test_mispredicted_jobs_wait_in_vain():
    jobs = jobs_of((0, 100, 1, 0), (1, 5, 1, 0), (2, 5, 1, 0))
    misled = cg.waiting.Scenario(
        jobs, waiting_policy("sww", wait_s=7), 1, errors=Mispredictions(wait_under=1.0)
    )
    assert waits_s(simulated(misled, keep=True).jobs).tolist() == [0, 7, 7]
    sent = cg.waiting.Scenario(
        jobs, waiting_policy("sww", wait_s=7), 1, errors=Mispredictions(wait_over=1.0)
    )
    # an idle machine or not
    assert simulated(sent, keep=True).jobs["on_demand"].tolist() == [True, True, True]
    conserving = cg.waiting.Scenario(
        jobs,
        waiting_policy("sww", wait_s=7),
        1,
        errors=Mispredictions(wait_over=1.0),
        work_conserving=True,
    )
    assert simulated(conserving, keep=True).jobs["on_demand"].tolist() == [
        False,
        True,
        True,
    ]


@pytest.mark.parametrize("run_s", [0, 1e-10])
@pytest.mark.parametrize(
    ("sizes", "jobs", "starts_s"),
    [
        # the first job goes to the smaller machine; so the second goes to the larger,
        # until 50 s later; the third finds no room until the first is gone; the last
        # needs all of the larger
        ((4, 5), [(0, 0, 2), (0, 50, 4), (0, 100, 4), (10, 1, 5)], [0, 0, 0, 50]),
        # next to the first, the second fits best, and the last has to wait for it
        ((5, 3), [(0, 0, 4), (0, 50, 1), (10, 1, 5)], [0, 0, 50]),
    ],
)
def test_a_job_that_ends_as_it_starts_holds_its_cores_for_those_that_start_with_it(
    run_s, sizes, jobs, starts_s
):
    """Of the instants that differ at 2^24 s, none is 1e-10 s on."""
    now = 2.0**24
    rows = ((now + at_s, time_s or run_s, cores, 0) for at_s, time_s, cores in jobs)
    machines = [Size(f"{cores} cores", cores, 16, 1) for cores in sizes]
    case = cg.waiting.Scenario(jobs_of(*rows), waiting_policy("ajw"), machines)
    for run in (simulated, follow):
        starts = run(case, keep=True).jobs["start_s"]
        assert (starts - now).tolist() == starts_s


@pytest.mark.parametrize("policy", ["ajw", "sww:wait_s=6", "ajw-t:wait_s=6", "njw"])
def test_starts_do_not_depend_on_the_chunks_of_the_jobs(policy):
    """Jobs at once, or one by one; on whole machines, and on shared ones."""
    rng = np.random.default_rng(0)
    for _ in range(25):
        jobs, kinds = (
            rng.integers((0, 0, 1, 0), (3, 9, 4, 5), (9, 4)),
            rng.choice([WAITS, WAITS, RENTS_AT_ONCE, MISLED], 9),
        )
        jobs[:, 0] = jobs[:, 0].cumsum()
        for machines in (2, (Size("a", 3, 8, 1), Size("b", 2, 4, 1))):
            starts = [
                [
                    start
                    for _, _, starts in started(
                        [(Chunk(*jobs[part].T), kinds[part]) for part in parts],
                        waiting_policy(policy),
                        machines,
                    )
                    for start in starts
                ]
                for parts in ([range(9)], [[job] for job in range(9)])
            ]
            np.testing.assert_array_equal(*starts)


@pytest.mark.slow
@pytest.mark.parametrize("machines", [40, (M5[-1], M5[4]) * 3])
def test_compiled_the_recursion_gives_the_same_bits(machines):
    """Of jobs in many chunks, under policies that let jobs wait in vain, balk or wait
    for ever.
    """
    pytest.importorskip("numba")
    source = cg.waiting.BurstyJobs(6_000, rate_per_s=0.02)
    for name in ("njw", "ajw", "ajw-t", "sww", "compound"):
        case = cg.waiting.Scenario(source, waiting_policy(name), machines)
        rules = (case.policy, case.machines)
        plain, fast = (
            np.concatenate(
                [each[2] for each in started(case.foreseen(1), *rules, fast=fast)]
            )
            for fast in (False, True)
        )
        np.testing.assert_array_equal(plain, fast)
        starts = simulated(case, 1, keep=True).jobs
        np.testing.assert_array_equal(np.isnan(plain), starts["on_demand"])
        own = ~starts["on_demand"]
        np.testing.assert_array_equal(plain[own], starts["start_s"][own])


@pytest.mark.slow
def test_jobs_are_numbered_in_order_for_any_chunk_size():
    """Six days of bursty jobs, a chunk each; by simulation and by recursion the same
    jobs count.
    """
    source = cg.waiting.BurstyJobs(5_000, rate_per_s=0.01)
    assert len(list(source.chunks(0))) > 3
    case = cg.waiting.Scenario(source, waiting_policy("njw"), 30)
    one, followed = simulated(case, keep=True), follow(case, keep=True)
    np.testing.assert_array_equal(one.jobs["job"], np.arange(5_000) + 1)
    np.testing.assert_array_equal(followed.jobs["job"], np.arange(5_000) + 1)
    assert one.summary() == followed.summary() == simulated(case).summary()


@pytest.mark.parametrize(
    ("policy", "lent"), [("sww", True), ("ljw:short_s=0.5", False)]
)
def test_a_job_that_no_fixed_machine_takes_is_rented_though_idle_ones_are_lent(
    policy, lent
):
    case = cg.waiting.Scenario(
        two(cores=3), waiting_policy(policy), M5[:2], work_conserving=lent
    )
    assert simulated(case, keep=True).jobs["on_demand"].tolist() == [False, True]


def test_a_balking_job_takes_an_idle_machine_of_a_conserving_pool_only_at_once():
    """One machine, free at 10: a job that is sent away at 10 takes it, one at 9.5 does
    not wait for it.
    """
    for submit_s, sent in ((9.5, True), (10, False)):
        case = cg.waiting.Scenario(
            jobs_of((0, 10, 1, 0), (submit_s, 5, 1, 0)),
            waiting_policy("sww", wait_s=7),
            1,
            errors=Mispredictions(wait_over=1.0),
            work_conserving=True,
        )
        for run in (simulated, follow):
            jobs = run(case, keep=True).jobs
            assert jobs["on_demand"].tolist() == [False, sent]
            assert waits_s(jobs).tolist() == [0, 0]
            assert jobs["finish_s"].tolist() == [10, submit_s + 5]
