"""Policies of HGSP in the engine: plans are measured as planned, and what a policy
sees.
"""

import numpy as np
import pytest
from hgsp.tasks import FAST, SLOW, execute, instances, simulate
from hypothesis import given, settings
from support import check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.hgsp.schedule import RULES, columns_of, dispatch
from cgrsp_simpy.hgsp.search import search
from cgrsp_simpy.papers.hgsp.sagreedy import sagreedy


@given(instances())
@settings(max_examples=60)
def test_the_measured_schedule_is_the_planned_one(instance):
    plans = [
        cg.hgsp.greedy_assignment(instance, range(instance.tasks), least)
        for least in (True, False)
    ]
    plans += [
        sagreedy(instance, iterations=10)[0],
        search(instance, moves=500)[0],
        *(dispatch(instance, rule) for rule in RULES.values()),
    ]
    for plan in plans:
        assert plan.fault() == ""
        measured = execute(plan)
        np.testing.assert_array_equal(measured.gpu, plan.gpu)
        np.testing.assert_array_equal(measured.start_s, plan.start_s)
        np.testing.assert_array_equal(measured.finish_s, plan.finish_s)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@given(instance=instances())
@settings(max_examples=30)
def test_a_rule_is_the_same_online_when_tasks_are_revealed_as_they_arrive(
    rule, instance
):
    planned, online = dispatch(instance, rule), simulate(instance, cg.hgsp.Online(rule))
    np.testing.assert_array_equal(online.gpu, planned.gpu)
    np.testing.assert_array_equal(online.start_s, planned.start_s)


# A policy, the third and fourth of FOUR under it, and what the engine says
WRONG = [
    (
        lambda view: list(zip(view.queue, view.free)),
        "at t = 1 s assigned job 1 to GPU 1 (fast), which has 10 GB; task 3 needs"
        " 20 GB",
    ),
    (
        lambda view: [(view.queue[0], view.resources[1])],
        "at t = 2 s assigned job 2 to GPU 2, which is busy or already assigned",
    ),
    (
        lambda view: [(view.queue[0], 0)],
        "assigned job 1 to 0, which is not a resource of the view",
    ),
    (lambda view: [(1, view.free[0])], "assigned 1, which is not a job"),
    (
        lambda view: [(view.queue[0], view.free[1])] * 2,
        "assigned job 1, which is not waiting",
    ),
    (lambda view: view.queue, "neither a pair"),
    (lambda view: 1 / 0, "raised ZeroDivisionError"),
    (
        lambda view: view.queue[0].run_s,
        "raised AttributeError: 'Task' object has no attribute 'run_s'",
    ),
    (
        lambda view: None,
        (
            "left 2 jobs waiting, job 1 (task 3, 20 GB, weight 3, due 9.00), job 2"
            " (task 4, 5 GB"
        ),
    ),
]


@pytest.mark.parametrize(("policy", "said"), WRONG, ids=[said for _, said in WRONG])
def test_a_wrong_answer_gives_the_engines_one_line_error(policy, said):
    two = cg.hgsp.Instance(
        [4, 2],
        [20, 5],
        [9, 4],
        [3, 10],
        [1, 2],
        (FAST, SLOW),
        task_names=("3", "4"),
    )
    check_refused(lambda: simulate(two, policy), [said], cg.PolicyError)


@given(instances())
@settings(max_examples=40)
def test_a_policy_sees_only_jobs_that_have_arrived(instance):
    def policy(view):
        assert {task.arrival_s <= view.now_s for task in view.queue} == {True}
        assert not view.task(instance.tasks) or instance.arrival_s[-1] <= view.now_s
        seen = columns_of(instance, [task.id - 1 for task in view.queue])
        for own, arrived in zip(view.columns, seen, strict=True):
            np.testing.assert_array_equal(own, arrived)
        return [
            (task, gpu)
            for task, gpu in zip(view.queue, view.free)
            if view.time_s(task, gpu) < np.inf
        ][:1]

    if np.isfinite(instance.times_s).all():
        assert simulate(instance, policy).fault() == ""


def test_its_own_times_are_used_by_the_engine_and_seen_by_policies():
    """The GPU that is slow for the first task is the fast one for the second, and holds
    it alone.
    """
    instance = cg.hgsp.Instance(
        (),
        [0, FAST.memory_gb],
        [3, 2],
        [1, 1],
        [0, 0],
        (FAST, SLOW),
        times_s=[[3, 9], [np.inf, 2]],
    )
    seen = []

    def fastest(view):
        for task in view.queue:
            times_s = [view.time_s(task, gpu) for gpu in view.resources]
            seen.append(times_s)
            gpu = view.resources[int(np.argmin(times_s))]
            if gpu in view.free:
                yield task, gpu

    measured = simulate(instance, fastest)
    assert seen[:2] == [[3, 9], [np.inf, 2]]
    assert (measured.gpu.tolist(), measured.finish_s.tolist()) == ([0, 1], [3, 2])
    for name in cg.hgsp.SCHEDULERS:
        assert cg.hgsp.schedule_of(
            cg.hgsp.solve(instance, name, moves=100)
        ).finish_s.tolist() == [
            3,
            2,
        ], name
    check_refused(
        lambda: simulate(instance, lambda view: [(view.queue[1], view.free[0])]),
        "task 2 cannot run on it",
        cg.PolicyError,
    )
