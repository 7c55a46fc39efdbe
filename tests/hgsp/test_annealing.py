"""SAGreedy: its neighbour, both readings of its order, and its promise."""

import numpy as np
import pytest
from hgsp.tasks import SLOW, instance_of, instances
from hypothesis import given, settings
from hypothesis import strategies as st

from cgrsp_simpy.hgsp import annealing as printed
from cgrsp_simpy.hgsp.annealing import greedy_as_they_arrive, sagreedy
from cgrsp_simpy.hgsp.generate import Level, generate
from cgrsp_simpy.hgsp.schedule import (
    from_sequences,
    greedy_assignment,
)

# ---- SAGreedy as printed ----


@pytest.mark.parametrize(
    ("temperature", "ratio"),
    [(1000.0, 0.8), (printed.LEAST, 0.1), (500.0, (500 - printed.LEAST) / (1000 - printed.LEAST))],
)
def test_the_neighbour_moves_the_worst_tardy_tasks_to_the_front(temperature, ratio):
    """Eq. 15, and the floor of ratio x tardy: of ten tardy tasks 8, 1 and 4, by weighted tardiness,
    the others in their order.
    """
    ten = instance_of(
        *((2, 0, 0, weight, 0) for weight in (1, 9, 2, 8, 3, 7, 4, 6, 5, 10)), gpus=(SLOW,)
    )
    schedule = from_sequences(ten, [range(10)])
    moved = int(ratio * 10 + 1e-9)
    worst = np.argsort(-ten.weight * schedule.tardiness_s, kind="stable")[:moved].tolist()
    expected = worst + [task for task in range(10) if task not in worst]
    assert printed._neighbour(np.arange(10), schedule, temperature).tolist() == expected


def test_a_task_at_the_front_blocks_its_gpu_before_it_arrives_or_not():
    """Three tasks of 2 s on one GPU; the last comes at 10.

    Put in front it is planned first, 10 to 12, or runs when it comes.
    """
    three = instance_of((2, 0, 9, 1, 0), (2, 0, 9, 1, 1), (2, 0, 11, 1, 10), gpus=(SLOW,))
    order = [2, 1, 0]
    assert greedy_assignment(three, order).start_s.tolist() == [14, 12, 10]
    assert greedy_as_they_arrive(three, order).start_s.tolist() == [0, 2, 10]


def test_of_tasks_that_wait_the_order_says_who_starts_and_who_waits_for_a_faster_gpu():
    """At 0 task 1 takes the fast GPU, 0 to 1.

    Task 3, in front of 2, would end there at 5, and on the slow one at 8: it waits. Task 2 would
    end at 6 behind it, and at 2 on the slow one: it starts there. Task 4 comes at 0.5, before 3 in
    the order, and would end at 2 on the fast GPU: it waits for that, too, and 3 runs behind it.
    """
    four = instance_of((2, 0, 9, 1, 0), (2, 0, 9, 1, 0), (8, 0, 9, 1, 0), (2, 0, 9, 1, 0.5))
    found = greedy_as_they_arrive(four, [0, 3, 2, 1])
    assert found.gpu.tolist() == [0, 1, 0, 0]
    assert found.start_s.tolist() == [0, 0, 2, 1]


@given(instances(), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_both_readings_are_greedy_in_order_of_arrival_and_keep_the_equations_in_any(instance, rng):
    greedy, arrived = (
        assign(instance, range(instance.tasks))
        for assign in (greedy_assignment, greedy_as_they_arrive)
    )
    np.testing.assert_array_equal(arrived.gpu, greedy.gpu)
    np.testing.assert_array_equal(arrived.start_s, greedy.start_s)
    order = list(range(instance.tasks))
    rng.shuffle(order)
    for assign in (greedy_assignment, greedy_as_they_arrive):
        assert assign(instance, order).fault() == ""


@given(instances(), st.integers(0, 3), st.sampled_from([greedy_assignment, greedy_as_they_arrive]))
@settings(max_examples=40)
def test_sagreedy_is_never_worse_than_greedy_and_tells_its_course(instance, seed, assign):
    greedy = greedy_assignment(instance, range(instance.tasks)).weighted_tardiness
    found, course = sagreedy(instance, seed, assign=assign)
    assert found.weighted_tardiness <= greedy
    assert found.weighted_tardiness == course[-1].best == min(step.objective for step in course)
    assert len(course) == 101
    assert course[1].temperature == 1000.0
    assert course[-1].temperature == pytest.approx(1000 * 0.95**99)


def test_the_same_seed_gives_the_same_search():
    instance = generate(Level(60, "small", 10, (1, 2)), seed=1)
    one, again = (sagreedy(instance, seed=7) for _ in range(2))
    assert one[1] == again[1]
