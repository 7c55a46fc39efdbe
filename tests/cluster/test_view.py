"""The view of a scheduler of a cluster, and the assignments that it may return."""

import gc
import types

import numpy as np
import pytest
from cluster.cases import SMALL_NODES, jobs_of, simulate
from support import refusals

import cgrsp_simpy as cg
from cgrsp_simpy.cluster.cluster import Cluster
from cgrsp_simpy.cluster.jobs import Jobs
from cgrsp_simpy.engine.simulation import Simulation

# ---- visible state ----


def reached(start):
    """Return all objects that can be reached from one, except code and objects that can
    be reached through code only.
    """
    result, front = {}, [start]
    while front:
        each = front.pop()
        if id(each) not in result and not isinstance(
            each, type | types.ModuleType | types.FunctionType | types.CodeType
        ):
            result[id(each)] = each
            front += gc.get_referents(each)
            if isinstance(each, np.ndarray) and each.base is not None:
                front.append(each.base)
    return list(result.values())


def test_neither_run_times_nor_future_jobs_can_be_reached_from_a_view():
    """Five jobs on a pool of four GPUs; every duration and every arrival is a number
    that occurs once.
    """
    rows = [
        (0.125, 4, 10.5),
        (1.25, 2, 20.75),
        (2.375, 2, 30.875),
        (12.0625, 1, 40.5625),
        (100.03125, 1, 50.0625),
    ]
    jobs = jobs_of(*rows, estimate_s=[60.0, 61.0, 62.0, 63.0, 64.0])
    looks = []

    def look(view):
        names = [name for name in dir(view) if not name.startswith("_")]
        values = [getattr(view, name) for name in names if hasattr(view, name)]
        shown = [value for value in values if not callable(value)]
        assert len(shown) == 14
        every = reached((shown, view.fitting(), view.idle()))
        assert not [
            each
            for each in every
            if isinstance(each, Jobs | Simulation | types.GeneratorType)
        ]
        numbers = {each for each in every if isinstance(each, float)}
        numbers |= {
            number
            for each in every
            if isinstance(each, np.ndarray)
            for number in each.tolist()
        }
        for job, (arrival_s, _, duration_s) in enumerate(rows):
            assert (arrival_s in numbers) == (arrival_s <= view.now_s)
            ended = job < len(view.gpus) and view.jobs.run_s[job] == duration_s
            assert (duration_s in numbers) == ended
        looks.append([job for job in range(len(view.gpus)) if view.jobs.run_s[job] > 0])
        yield from cg.cluster.make_scheduler("fifo")(view)

    simulate(jobs, Cluster((4,)), look)
    # nobody is asked while all GPUs are busy
    assert looks == [[], [0], [0, 1], [0, 1, 2, 3]]


def test_columns_that_jobs_lack_are_none():
    def look(view):
        assert (view.jobs.iterations, view.jobs.user) == (None, None)
        assert view.jobs.family.tolist() == [3]
        return cg.cluster.make_scheduler("fifo")(view)

    simulate(Jobs([0], [1], [5], [5], None, [0], [3], None), Cluster((1,)), look)


# ---- valid assignments ----

ANSWERS = {
    "a job that runs": (
        lambda view: [(0, ((1, 1),))],
        1.0,
        "assigned job 0, which is not waiting",
    ),
    "a job that has not arrived": (
        lambda view: [(2, ((0, 1),))],
        0.0,
        "assigned job 2, which is not waiting",
    ),
    "a job that there is not": (
        lambda view: [(-1, ((0, 1),))],
        0.0,
        "assigned job -1, which is not waiting",
    ),
    "no job": (
        lambda view: [("first", ((0, 1),))],
        0.0,
        "assigned 'first', which is not a job",
    ),
    "no pair": (
        lambda view: [0],
        0.0,
        "returned 0, which is neither a pair (job, resources) nor a Wake",
    ),
    "twice": (
        lambda view: [(0, ((0, 2),)), (0, ((1, 2),))],
        0.0,
        "assigned job 0, which is not waiting",
    ),
    "an overfull node": (
        lambda view: [(1, ((0, 4),))],
        1.0,
        "assigned job 1 to node 0, which has 2 GPUs free; the job needs 4",
    ),
    "a node that there is not": (
        lambda view: [(1, ((2, 4),))],
        1.0,
        "assigned job 1 to node 2, but the cluster has the nodes 0 to 1",
    ),
    "a negative node": (
        lambda view: [(1, ((-1, 4),))],
        1.0,
        "assigned job 1 to node -1, but the cluster has the nodes 0 to 1",
    ),
    "too few GPUs": (
        lambda view: [(1, ((1, 3),))],
        1.0,
        "assigned job 1 to 3 GPUs; the job needs 4",
    ),
    "a negative number": (
        lambda view: [(1, ((1, 5), (0, -1)))],
        1.0,
        "assigned job 1 to node 0 with -1 GPUs; the number must be at least 1",
    ),
    "half a GPU": (
        lambda view: [(1, ((1, 3.5),))],
        1.0,
        "assigned job 1 to ((1, 3.5),), which is not a list of pairs (node, GPUs)",
    ),
    "no place": (
        lambda view: [(1, None)],
        1.0,
        "assigned job 1 to None, which is not a list of pairs (node, GPUs)",
    ),
    "a change": (
        lambda view: setattr(view.nodes, "sizes", ()),
        0.0,
        "raised AttributeError: nodes are read-only: sizes",
    ),
    "a slip": (
        lambda view: [(view.queue[7], ())],
        0.0,
        "raised IndexError: list index out of range",
    ),
}


@pytest.mark.parametrize(("wrong", "at_s", "message"), ANSWERS.values(), ids=ANSWERS)
def test_a_wrong_answer_is_one_message_that_names_policy_time_job_and_node(
    wrong, at_s, message
):
    """Job 0 takes two GPUs of node 0 at 0 s; job 1, of four, arrives at 1 s, job 2 at 9
    s.
    """

    def own(view):
        return (
            wrong(view)
            if view.now_s == at_s
            else cg.cluster.make_scheduler("fifo")(view)
        )

    with pytest.raises(cg.PolicyError) as caught:
        simulate(jobs_of((0, 2, 100), (1, 4, 100), (9, 1, 1)), SMALL_NODES, own)
    assert str(caught.value).startswith(f"policy 'own' at t = {at_s:g} s {message}")


test_a_scheduler_that_starts_no_job_gets_an_error_with_the_waiting_jobs = refusals(
    (
        lambda: simulate(jobs_of((0, 2, 5)), SMALL_NODES, lambda view: None),
        r"left 1 job waiting, job 0 \(2 GPUs, limit 5.00 s\), with 2 of 2 nodes"
        r" idle",
    ),
    (
        lambda: simulate(
            jobs_of((0, 2, 5), cores=[3]),
            Cluster((4, 4), cores=(4, 4)),
            lambda view: [(0, ((0, 2), (2, 2)))],
        ),
        r"assigned job 0 to \(\(0, 2\), \(2, 2\)\), which does not satisfy its demand",
    ),
    error=cg.PolicyError,
)
