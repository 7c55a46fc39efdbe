"""Few tasks to proven optimality: against every schedule there is, and the
mixed-integer program.
"""

import pytest
from hgsp.tasks import SLOW, instance_of, instances
from hypothesis import given, settings
from support import brute_force

from cgrsp_simpy.hgsp.bounds import (
    by_few,
    least_of_few,
    lower_bound,
)


@given(instances(most=4))
@settings(max_examples=60)
def test_few_tasks_have_the_cost_of_the_best_schedule(instance):
    best = brute_force(instance)
    assert least_of_few(instance, range(instance.tasks)) == pytest.approx(
        best, abs=1e-9
    )
    assert by_few(instance) == pytest.approx(best, abs=1e-9)
    assert (lower_bound(instance) > 0) == (best > 0)


# arrival and time, deadline, weight: ten tasks whose last one is in time
TEN = """0,2,24,4 1,5,14,4 2,4,34,4 8,5,27,1 9,6,7,1 9,1,10,2 19,2,15,1 19,1,28,4
20,5,36,1 21,2,24,3"""


@pytest.mark.parametrize(
    ("rows", "bound"),
    [
        ([tuple(map(int, row.split(","))) for row in TEN.split()], 19),  # not 17
        ([*[(0, 1, 0, 1)] * 10, (100, 1, 999, 1)], 55),  # without the last
    ],
)
def test_up_to_ten_tasks_are_one_group_and_others_end_with_a_late_one(rows, bound):
    tasks = [(time_s, 0, due_s, weight, at_s) for at_s, time_s, due_s, weight in rows]
    assert by_few(instance_of(*tasks, gpus=(SLOW,))) == bound


@given(instances(most=6))
@settings(max_examples=40)
def test_the_bound_from_fewer_nodes_or_tasks_is_not_greater(instance):
    tasks = range(instance.tasks)
    best = least_of_few(instance, tasks, 100_000)
    bounds = [least_of_few(instance, tasks, nodes) for nodes in (0, 3, 30)]
    assert max(*bounds, least_of_few(instance, tasks[::2])) <= best + 1e-9
