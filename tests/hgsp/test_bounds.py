"""Few tasks to proven optimality: against every schedule there is, and the
mixed-integer program.
"""

import pytest
from hgsp.tasks import instances
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


@given(instances(most=6))
@settings(max_examples=40)
def test_the_bound_from_fewer_nodes_or_tasks_is_not_greater(instance):
    tasks = range(instance.tasks)
    best = least_of_few(instance, tasks, 100_000)
    for nodes in (0, 3, 30):
        assert least_of_few(instance, tasks, nodes) <= best + 1e-9
    assert least_of_few(instance, tasks[::2]) <= best + 1e-9
