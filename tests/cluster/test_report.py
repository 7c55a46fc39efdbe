"""Metrics of a cluster run: by hand on small examples, and what must hold of every
run.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from cluster.cases import jobs_of, simulate
from hypothesis import given, settings
from hypothesis import strategies as st
from support import placed, waits_s

from cgrsp_simpy.cluster.cluster import Cluster, Nodes, best_fit, spread
from cgrsp_simpy.cluster.policies import fifo
from cgrsp_simpy.cluster.report import (
    by_class,
    course,
    fragmentation,
    measured,
    metrics,
    moves,
)


@pytest.fixture
def three():
    """Two nodes of two GPUs.

    Spread, jobs 1 and 2 take a GPU of each; job 3 comes at 10 and needs a whole node,
    free at 100.
    """
    return simulate(
        jobs_of((0, 1, 100), (0, 1, 200), (10, 2, 60)), Cluster((2, 2)), fifo, spread
    )


def test_all_metrics_of_three_jobs_by_hand(three):
    """Waits 0, 0, 90; completions 100, 200, 160; slowdowns 1, 1, 2.5; jobs arrive for
    10 s, in which 2 of 4 GPUs are in use.
    """
    assert metrics(three) == pytest.approx(
        {
            "throughput_per_h": 0.0,
            "utilisation_pct": 50.0,
            "makespan_s": 200.0,
            "wait_s": 30.0,
            "jct_s": 150.0,
            "starved": 0.0,
            "starved_pct": 0.0,
            "wait_min_s": 0.0,
            "wait_p50_s": 0.0,
            "wait_p95_s": 81.0,
            "wait_max_s": 90.0,
            "wait_variance_s2": 1800.0,
            "wait_variance_min2": 0.5,
            "bounded_slowdown": 1.5,
            "jain": 4.5**2 / (3 * (1 + 1 + 2.5**2)),
            "success_pct": 0.0,
            "censored": 1.0,
            "fragmentation_pct": 0.0,  # none waits before the last has arrived
            "node_fragmentation_pct": 0.0,
            "consolidation_pct": 0.0,
            "moves": 0.0,
            "killed": 0.0,
        }
    )


@pytest.mark.parametrize(
    "free, held, gpus, number",
    [
        ([2, 2], [[2], [2]], 4, 1),
        ([2, 2], [[1, 1], [2]], 4, 2),  # both of node 0, which comes first
        ([3, 1], [[1], [1, 1, 1]], 4, 1),  # the emptier node
        # one GPU is free elsewhere, and the job to be moved has two
        ([2, 1], [[2], [3]], 3, None),
        # on node 0 is a part of a job on several nodes, which stays
        ([2, 2], [[], [2]], 3, 1),
        ([2, 2], [[], []], 3, None),
        ([3, 3, 1], [[1], [1], [3]], 8, None),  # one node can be emptied, not two
        ([3, 3, 2], [[1], [1], [2]], 8, 2),
        ([0, 0], [[4], [4]], 1, None),
    ],
)
def test_jobs_that_a_consolidation_moves(free, held, gpus, number):
    assert moves(free, Nodes((4,) * len(free)), held, gpus) == number


@pytest.mark.parametrize(
    ("rows", "sizes", "figures"),
    [
        # the first ends, and the last starts, as the last arrives
        (
            ((0, 1, 10), (10, 1, 5)),
            (1,),
            {"throughput_per_h": 360, "success_pct": 50, "censored": 0},
        ),
        # job 0, of 9 GPUs, is not measured; it ends as the first of the others arrives
        (
            ((0, 9, 10), (10, 1, 5), (20, 1, 5)),
            (9,),
            {"throughput_per_h": 720, "makespan_s": 15, "starved_pct": 0},
        ),
        # all arrive at one time
        (
            ((5, 1, 100), (5, 1, 50)),
            (2,),
            {"throughput_per_h": np.nan, "utilisation_pct": np.nan},
        ),
        # from 50 to 100 one GPU of 4 is free that the job of 4 cannot use; from 100 to
        # 150 one waits and none is free; the last comes at 150: what waits later does
        # not count; one GPU is fewer than four, however it is placed
        (
            ((0, 3, 100), (50, 4, 50), (100, 1, 10), (150, 4, 10)),
            (4,),
            {"fragmentation_pct": 50, "node_fragmentation_pct": 0, "wait_min_s": 0},
        ),
        # a GPU taken of each of two nodes of 2; from 10 to 60 a job waits that one move
        # would help
        (
            ((0, 1, 100), (0, 1, 200), (10, 2, 60), (60, 1, 1)),
            (2, 2),
            {
                "fragmentation_pct": 100,
                "node_fragmentation_pct": 100,
                "consolidation_pct": 100,
                "moves": 1,
            },
        ),
        # 3 GPUs are free, 2 and 1; jobs of 2 and 3 cannot be moved
        (
            ((0, 2, 100), (0, 3, 200), (10, 3, 60), (60, 1, 1)),
            (4, 4),
            {"node_fragmentation_pct": 100, "consolidation_pct": 0, "moves": 0},
        ),
    ],
)
def test_figures_are_of_the_time_in_which_jobs_arrive(rows, sizes, figures):
    run = simulate(jobs_of(*rows), Cluster(sizes), fifo, spread)
    run.plan.jobs = range(rows[0][1] == 9, len(rows))
    result = metrics(run)
    shown = {name: result[name] for name in figures}
    assert shown == pytest.approx(figures, nan_ok=True)


def test_waits_by_class():
    """One node of 16: the jobs of 16 and 7 GPUs wait for those before them, half an
    hour and an hour; a job that waits for longer than half an hour is starved.
    """
    rows = ((0, 1, 1800), (0, 16, 1800), (0, 7, 900), (0, 3, 900))
    run = simulate(
        jobs_of(*rows, kind=[0, 1, 1, 0]),
        Cluster((16,)),
        fifo,
    )
    rows = [
        (
            row["by"],
            row["value"],
            row["jobs"],
            row["wait_s"],
            row["jct_s"],
            row["starved"],
            row["starved_pct"],
        )
        for row in by_class(run)
    ]
    assert rows == [
        ("kind", "inference", 2, 1800, 3150, 1, 50),
        ("kind", "training", 2, 2700, 4050, 1, 50),
        ("GPUs", "1", 1, 0, 1800, 0, 0),
        ("GPUs", "3-4", 1, 3600, 4500, 1, 100),
        ("GPUs", "5-8", 1, 3600, 4500, 1, 100),
        ("GPUs", "9+", 1, 1800, 3600, 0, 0),
    ]


# arrival, GPUs, duration
WORKLOADS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 12), st.integers(1, 40)),
    min_size=1,
    max_size=25,
)
CLUSTERS = st.sampled_from(
    [Cluster((4, 4, 4)), Cluster((8, 4)), Cluster((2, 6, 4)), Cluster((12,))]
)


@settings(max_examples=60)
@given(WORKLOADS, CLUSTERS, st.sampled_from([best_fit, spread]))
def test_the_course_holds_between_its_times(rows, cluster, placement):
    """Count the waiting and the running jobs in the middle of each interval instead.

    By Little's law, jobs in the queue over time are the waits of all jobs; likewise
    GPUs in use are the GPU-seconds.
    """
    run = simulate(jobs_of(*rows), cluster, fifo, placement)
    nodes = Nodes(cluster.sizes)
    columns = course(run)
    length_s = np.diff(columns["time_s"])
    assert columns["waiting"][:-1] @ length_s == pytest.approx(waits_s(run.jobs).sum())
    assert columns["busy"][:-1] @ length_s == pytest.approx(
        run.jobs["gpus"] @ run.jobs["duration_s"]
    )
    assert columns["waiting"][-1] == columns["busy"][-1] == 0
    for index, now in enumerate((columns["time_s"][1:] + columns["time_s"][:-1]) / 2):
        waits = (run.jobs["submit_s"] <= now) & (now < run.jobs["start_s"])
        free = np.array(cluster.sizes)
        for job in np.flatnonzero(
            (run.jobs["start_s"] <= now) & (now < run.jobs["finish_s"])
        ):
            for node, gpus in placed(run)[job]:
                free[node] -= gpus
        largest = int(max(run.jobs["gpus"][waits], default=0))
        assert columns["waiting"][index] == waits.sum()
        assert columns["busy"][index] == cluster.gpus - free.sum()
        assert columns["fragmentation"][index] == (
            fragmentation(nodes, nodes.packed(free.tolist()), largest) if largest else 0
        )
        blocked = (
            largest > 0
            and free.sum() >= largest
            and nodes.room(nodes.packed(free.tolist()), largest) is None
        )
        assert columns["unplaced"][index] == blocked


def test_a_job_that_the_clock_does_not_see_run_holds_nothing():
    """At 1e18 s the next time that a clock can show is 128 s later."""
    run = simulate(jobs_of((1e18, 2, 10.0)), Cluster((4,)), fifo)
    assert run.jobs["start_s"][0] == run.jobs["finish_s"][0]
    assert course(run)["busy"].tolist() == [0]


def test_a_course_ends_at_a_time_if_a_job_arrives_then():
    run = simulate(jobs_of((0, 1, 5), (10, 1, 5)), Cluster((1,)), fifo)
    assert course(run, 10)["time_s"].tolist() == [0, 5, 10]


def test_the_course_counts_gpus_and_no_cores():
    jobs = jobs_of((0, 1, 10.0), (0, 0, 10.0), cores=[2, 3])
    run = simulate(jobs, Cluster((4,), cores=(8,)), fifo)
    assert course(run)["busy"].tolist() == [1, 0]
    assert run.timeline.claims["resource"].tolist() == [0]


def test_jobs_that_start_after_the_last_arrival_of_an_unsettled_run_have_no_times(
    three,
):
    """The last job arrives at 10 and starts at 100; had it arrived at 100, it would
    have started.
    """
    plan = SimpleNamespace(jobs=range(3), settled=False)
    at_once = three.jobs.copy()
    at_once["submit_s"][2] = 100
    for jobs, finite in ((three.jobs, [True, True, False]), (at_once, [True] * 3)):
        result = measured(SimpleNamespace(jobs=jobs, plan=plan))
        assert np.isfinite(result["finish_s"]).tolist() == finite
