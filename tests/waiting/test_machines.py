"""Machines and jobs of the waiting module, each against an example worked out by
hand.
"""

import math

import numpy as np
import pytest
from support import check_refused, refusals, simulated
from waiting.cases import jobs_of, two

import cgrsp_simpy as cg
from cgrsp_simpy.waiting.jobs import CHUNK, ExponentialJobs, ListedJobs, scenario_jobs
from cgrsp_simpy.waiting.machines import (
    M5,
    Prices,
    Room,
    Size,
    paid_s,
    read_sizes,
    rent_per_h,
    rented,
    shared_machines,
)
from cgrsp_simpy.waiting.policies import waiting_policy
from cgrsp_simpy.waiting.recursion import follow


def test_the_number_of_jobs_may_exceed_the_block_size():
    sizes = [len(chunk.submit_s) for chunk in ExponentialJobs(CHUNK + 5).chunks(0)]
    assert sizes == [CHUNK, 5]


# ---- machines ----


@pytest.mark.parametrize(
    ("cores", "memory_gb", "name"),
    [
        (1, 0, "half m5.large"),
        (1, 5, "m5.large"),  # memory decides
        (3, 0, "m5.xlarge"),
        (33, 0, "m5.12xlarge"),
        (64, 256, "m5.16xlarge"),
    ],
)
def test_a_job_rents_the_smallest_sufficient_size(cores, memory_gb, name):
    size = next(each for each in M5 if each.name == name)
    assert rent_per_h(np.array([cores]), np.array([memory_gb]))[0] == size.price_per_h


def test_a_job_too_large_for_all_sizes_rents_several_of_the_cheapest_size():
    """65 of one core cost less than 5 of 16, or 2 of 48; 257 GB likewise."""
    cores, memory_gb = np.array([65, 1]), np.array([0.0, 257.0])
    index, number, rent = rented(cores, memory_gb)
    assert (index.tolist(), number.tolist()) == ([0, 0], [65, 65])
    np.testing.assert_allclose(rent, 65 * 0.048)
    pair = Size("pair", 2, 0.0, 0.05), Size("dozen", 12, 8.0, 0.5)
    assert rented(cores, memory_gb, pair)[1].tolist() == [33, 33]
    # no memory, none to add
    assert rented(cores, memory_gb, pair)[0].tolist() == [0, 1]
    assert rent_per_h(cores, memory_gb, pair[:1]).tolist() == [33 * 0.05, math.inf]


def test_a_user_price_table(file):
    sizes = read_sizes(
        file(
            "name,cores,memory_gb,price_per_h\nsmall,2,4,1\nodd,4,4,0.5\n",
            "sizes.csv",
        )
    )
    assert sizes == (Size("small", 2, 4.0, 1.0), Size("odd", 4, 4.0, 0.5))
    # the cheapest is not the smallest
    assert rent_per_h(np.array([1]), np.array([1.0]), sizes) == [0.5]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # no memory
        ("name,cores,price_per_h\na,1,1\n", ["columns", "name,memory_gb,price_per_h"]),
        ("name,memory_gb,price_per_h\na,4,1\n", ["columns", "cores or gpus"]),
        (
            "name,cores,memory_gb,price_per_h,boot_s\na,1,4,1,-2\n",
            ["line 2", "boot_s of a(=-2.0)"],
        ),
        (
            "name,gpus,memory_gb,price_per_h\n8 cores of a,0,4,1\n",
            ["line 2", "gpus of 8 cores of a(=0)"],
        ),
        (
            "name,cores,memory_gb,price_per_h\na,x,4,1\n",
            ["line 2", "'x'", "cores, a whole"],
        ),
        ("name,cores,memory_gb,price_per_h\na,0,4,1\n", ["line 2", "cores of a(=0)"]),
        (
            "name,cores,memory_gb,price_per_h\na,1,4,-1\n",
            ["line 2", "price_per_h of a(=-1.0)"],
        ),
        ("name,cores,memory_gb,price_per_h\na,1,4\n", ["line 2"]),  # a cell is missing
        ("name,cores,memory_gb,price_per_h\n", ["no machine size"]),
        ("", ["the file is empty"]),
        ("\0\0", []),
    ],
)
def test_a_wrong_price_table_is_rejected_by_name_and_line(file, text, words):
    path = file(text, "sizes.csv")
    check_refused(lambda: read_sizes(path), [str(path), *words])


def test_rented_machines_are_billed_with_boot_minimum_and_increment():
    """Jobs of 10, 3480 and 3481 s."""
    run_s, index = np.array([10.0, 3480.0, 3481.0]), np.zeros(3, int)
    for terms, expected in (
        ({}, [10, 3480, 3481]),
        ({"minimum_s": 60}, [60, 3480, 3481]),
        ({"minimum_s": 60, "boot_s": 120}, [130, 3600, 3601]),
        ({"increment_s": 3600, "boot_s": 120}, [3600, 3600, 7200]),
    ):
        assert paid_s(run_s, index, (Size("a", 1, 0, 1, **terms),)).tolist() == expected


def test_best_fit_leaves_the_fewest_free_gpus():
    room = Room([Size("a", 8, 32, 1), Size("b", 4, 16, 1), Size("c", 4, 8, 1)])
    # fewest cores left, then least memory
    needs = [
        (4, 4),
        (4, 8),
        (4, 12),
        (4, 16),
        (4, 17),
        (5, 0),
        (8, 32),
        (9, 0),
        (1, 33),
    ]
    assert [room.best(*need) for need in needs] == [2, 2, 1, 1, 0, 0, 0, None, None]
    room.put(0, 2, 2)
    assert room.best(2, 2) == 0
    room.put(0, 8, 32)
    assert room.best(5, 0) == 0


def test_jobs_of_a_thesis_day_run_for_the_times_that_the_engine_draws():
    day = cg.day("hectic", slots=["RTX A4000"] * 5)
    jobs = scenario_jobs(day, "RTX A4000", seed=3)
    run = cg.simulate(day, "fifo", seed=3)
    np.testing.assert_allclose(
        np.sort(jobs.run_s), np.sort(run.jobs["service_s"]), rtol=1e-12
    )
    assert jobs.jobs == 950


# ---- invalid input ----


FREE = (Size("without memory", 128, 0, 1),)


def idle(submit_s):
    """The figures of jobs without running time."""
    return simulated(
        cg.waiting.Scenario(
            jobs_of(*((at, 0, 1, 0) for at in submit_s)), waiting_policy("njw"), 1
        )
    ).summary()


test_impossible_input_gives_a_one_line_error = refusals(
    (lambda: ExponentialJobs(0), ["jobs(=0)"]),
    (lambda: read_sizes("none.csv"), ["none.csv: No such file"]),
    (lambda: cg.waiting.read_jobs("none", unit="core"), "unknown unit 'core'"),
    (lambda: ExponentialJobs(1, rate_per_s=0), ["rate_per_s(=0)"]),
    (lambda: ListedJobs([], [], [], []), ["no usable job"]),
    (lambda: ListedJobs([0, 1], [1], [1, 1], [0, 0]), ["run_s"]),
    # a negative time
    (lambda: jobs_of((0, 1, 1, 0), (1, -1, 1, 0)), ["run_s of job 2(=-1.0)"]),
    (lambda: jobs_of((-1, 1, 1, 0)), ["submit_s of job 1(=-1.0)"]),
    (
        lambda: jobs_of((1, 1, 1, 0), (0, 1, 1, 0)),
        ["submit_s of job 2(=0.0)", "before"],
    ),
    (lambda: two(cores=0), ["cores of job 2(=0)"]),
    (lambda: two(memory_gb=-1.0), ["memory_gb of job 2(=-1.0)"]),
    (lambda: cg.waiting.Scenario(two(), waiting_policy("ajw"), 0), ["machines(=0)"]),
    (lambda: cg.waiting.Scenario(two(), waiting_policy("njw"), -1), ["machines(=-1)"]),
    (lambda: cg.waiting.Scenario(two(), waiting_policy("ajw"), ()), ["machines"]),
    (lambda: shared_machines("0x64"), ["machines(=0)", ">= 1"]),
    (lambda: shared_machines("1000001x64"), ["machines(=1000001)", "1,000,000"]),
    (lambda: shared_machines("3x2.5"), ["cores of a machine(=2.5)", "whole number"]),
    (lambda: shared_machines("3"), ["machines(='3')", "such as 3, 3x64"]),
    (lambda: shared_machines("3x1x1x1"), ["machines(='3x1x1x1')", "such as 3, 3x64"]),
    (lambda: idle([0]), ["is undefined", "the counted jobs", "0 s"]),
    (lambda: idle([0, 5]), ["is undefined", "the counted jobs"]),
    (
        lambda: simulated(
            cg.waiting.Scenario(ExponentialJobs(1), waiting_policy("ajw"), 1)
        ).summary(),
        ["jobs(=1)", "at least 2"],
    ),
    (lambda: cg.waiting.Scenario(two(), order="lifo"), ["unknown order 'lifo'"]),
    (
        lambda: cg.waiting.Scenario(two(), order="nowhere.py:longest"),
        ["order file 'nowhere.py'"],
    ),
    (
        lambda: cg.waiting.Scenario(two(), order=3),
        ["order(=3)", "a string or a function"],
    ),
    (
        lambda: cg.waiting.Scenario(two(), machines=FREE, sizes=(3,)),
        ["sizes[0](=3)", "of type Size"],
    ),
    (lambda: cg.waiting.Scenario(two(), sizes=None), ["sizes(=None)", "a list"]),
    (lambda: cg.waiting.Scenario(two(), prices=3), ["prices(=3)", "of type Prices"]),
    (
        lambda: cg.waiting.Scenario(two(), errors=0.1),
        ["errors(=0.1)", "of type Mispredictions"],
    ),
    (
        lambda: cg.waiting.Scenario(two(), work_conserving="no"),
        ["work_conserving(='no')"],
    ),
    # no such size for rent
    (
        lambda: cg.waiting.Scenario(two(), waiting_policy("ajw"), M5[:1], sizes=FREE),
        ["price table"],
    ),
    (
        lambda: cg.waiting.Scenario(
            two(), waiting_policy("ajw"), M5, prices=Prices(1, 0)
        ),
        ["on-demand price(=0)"],
    ),
    (
        lambda: simulated(
            cg.waiting.Scenario(
                two(memory_gb=1), waiting_policy("njw"), 1 * FREE, sizes=FREE
            )
        ),
        ["job 2 (1 core, 1 GB)", "for rent"],
    ),
    (
        lambda: simulated(
            cg.waiting.Scenario(two(cores=3), waiting_policy("ajw"), M5[:2])
        ),
        ["job 2 (3 cores", "no fixed machine", "ajw"],
    ),
    (
        lambda: follow(cg.waiting.Scenario(two(), waiting_policy("ajw"), 1, "sjf")),
        ["recursion", "simulate"],
    ),
    (
        lambda: follow(cg.waiting.Scenario(two(), waiting_policy("ajw"), 1), seed=-1),
        ["seed(=-1)"],
    ),
    (lambda: cg.waiting.Scenario(two(), "ajw", 1), ["policy(='ajw')", "WaitingPolicy"]),
    (lambda: scenario_jobs(cg.day("quiet"), "H100"), ["gpu(='H100')", "RTX A4000"]),
)
