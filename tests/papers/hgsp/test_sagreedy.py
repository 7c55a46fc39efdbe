"""SAGreedy as the authors' program has it: its neighbour, insertion into gaps, and its
promise.
"""

from itertools import pairwise

import numpy as np
import pytest
from hgsp.tasks import SLOW, instance_of, instances
from hypothesis import given, settings
from hypothesis import strategies as st

import cgrsp_simpy as cg
from cgrsp_simpy.papers.hgsp import sagreedy as program
from cgrsp_simpy.papers.hgsp.sagreedy import inserter, sagreedy

COLDEST = program.INITIAL * program.COOLING**program.ITERATIONS


@pytest.mark.parametrize(
    ("temperature", "ratio"),
    [(1000.0, 0.8), (COLDEST, 0.1), (500.0 + COLDEST / 2, 0.45)],
)
def test_the_neighbour_moves_the_latest_tasks_to_the_front(temperature, ratio):
    """The ends of Eq. 15, and the floor of ratio x late: of ten late tasks 8, 1 and 4,
    by lateness; in all four orders, and others by arrival or shuffled, the more often
    the hotter.
    """
    late_s = np.array([3.0, 12, 1, 9, 5, 2, 8, 4, 10, 6, 0, 0])
    jobs = instance_of(*((2, 0, 40 - k, 1, 3 * k) for k in range(12)), gpus=(SLOW,))
    moved = int(ratio * 10 + 1e-9)
    worst = np.argsort(-late_s, kind="stable")[:moved].tolist()
    others = sorted(set(range(12)) - set(worst))
    rng, fronts, shuffled = np.random.default_rng(1), set(), 0
    for _ in range(400):
        order = program.neighbour(late_s, jobs, temperature, rng).tolist()
        assert sorted(order) == list(range(12))
        assert sorted(order[:moved]) == sorted(worst)
        fronts.add(tuple(order[:moved]))
        shuffled += order[moved:] != others
    assert {
        tuple(worst),
        tuple(sorted(worst)),
        tuple(sorted(worst, reverse=True)),
    } <= fronts
    assert moved < 3 or len(fronts) > 10
    assert shuffled == pytest.approx(
        400 * temperature / 1000 * (1 - 1 / 2 ** len(others)), abs=60
    )


def test_a_task_at_the_front_leaves_the_gap_before_it_to_others():
    """Five tasks of 2 s on one GPU; the last comes at 10, and is planned first, 10 to
    12.

    The others run before it, two of them in gaps of exactly 2 s, before and behind
    others. Where a task in front blocks its GPU they run behind it.
    """
    jobs = instance_of(*((2, 0, 9, 1, at_s) for at_s in (0, 2, 6, 7, 10)), gpus=(SLOW,))
    order = [4, 2, 1, 3, 0]
    assert inserter(jobs)(np.array(order)).start_s.tolist() == [0, 2, 6, 8, 10]
    greedy = cg.hgsp.greedy_assignment(jobs, order)
    assert greedy.start_s.tolist() == [18, 14, 12, 16, 10]


@given(instances(), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_insertion_is_greedy_in_order_of_arrival_and_puts_no_task_later_than_it_must(
    instance, rng
):
    """In any order each task is in the earliest gap there was, on the GPU where it
    ends first, as a search over every start says.
    """
    greedy = cg.hgsp.greedy_assignment(instance, range(instance.tasks))
    inserted = inserter(instance)(np.arange(instance.tasks))
    np.testing.assert_array_equal(inserted.gpu, greedy.gpu)
    np.testing.assert_array_equal(inserted.start_s, greedy.start_s)
    order = list(range(instance.tasks))
    rng.shuffle(order)
    result = inserter(instance)(np.array(order))
    assert result.fault() == ""
    for place, task in enumerate(order):
        before = order[:place]
        ends = [
            earliest_end(
                instance,
                task,
                j,
                [each for each in before if result.gpu[each] == j],
                result,
            )
            for j in range(len(instance.gpus))
        ]
        assert result.finish_s[task] == min(ends)
        assert result.gpu[task] == ends.index(min(ends))


def earliest_end(instance, task, gpu, others, schedule):
    """Of a task on a GPU among others that are there, tried at its arrival and at each
    end.
    """
    time_s, arrival_s = instance.times_s[task, gpu], instance.arrival_s[task]
    if time_s == np.inf:
        return np.inf
    runs = sorted((schedule.start_s[each], schedule.finish_s[each]) for each in others)
    runs = [(-1.0, instance.free_s[gpu]), *runs, (np.inf, np.inf)]
    return min(
        max(arrival_s, end_s) + time_s
        for (_, end_s), (begin_s, _) in pairwise(runs)
        if max(arrival_s, end_s) + time_s <= begin_s
    )


@given(instances(), st.integers(0, 3))
@settings(max_examples=40)
def test_sagreedy_is_never_worse_than_greedy_and_records_its_course(instance, seed):
    greedy = cg.hgsp.greedy_assignment(
        instance, range(instance.tasks)
    ).weighted_tardiness
    result, course = sagreedy(instance, seed, iterations=30)
    assert result.weighted_tardiness <= greedy
    assert (
        result.weighted_tardiness
        == course[-1].best
        == min(step.objective for step in course)
    )
    assert len(course) == 31 or course[-1].best == 0
    assert all(step.best > 0 for step in course[:-1])  # it ends with the first 0


def test_the_same_seed_gives_the_same_search():
    instance = cg.hgsp.generate(cg.hgsp.Level(60, "small", 10, (1, 2)), seed=1)
    one, again = (sagreedy(instance, seed=7, iterations=50) for _ in range(2))
    assert one[1] == again[1]
    assert one[1] != sagreedy(instance, seed=8, iterations=50)[1]
    # a worse order is accepted now and then
    assert any(after.objective > step.objective for step, after in pairwise(one[1]))
