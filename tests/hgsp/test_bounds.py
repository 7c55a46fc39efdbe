"""Few tasks to proven optimality: against every schedule there is, and the
mixed-integer program.
"""

from itertools import product

import pytest
from hgsp.tasks import instances
from hypothesis import given, settings
from support import brute_force

import cgrsp_simpy as cg
from cgrsp_simpy.hgsp.bounds import (
    alone,
    by_capacity,
    by_few,
    least_of_few,
    lower_bound,
)


@given(instances(most=4))
@settings(max_examples=60)
def test_few_tasks_cost_what_the_best_of_all_schedules_costs(instance):
    best = brute_force(instance)
    assert least_of_few(instance, range(instance.tasks)) == pytest.approx(
        best, abs=1e-9
    )
    assert by_few(instance) == pytest.approx(best, abs=1e-9)
    assert (lower_bound(instance) > 0) == (best > 0)


@given(instances(most=6))
@settings(max_examples=40)
def test_what_is_proven_in_fewer_nodes_is_no_more_nor_of_fewer_tasks(instance):
    tasks = range(instance.tasks)
    best = least_of_few(instance, tasks, 100_000)
    for nodes in (0, 3, 30):
        assert least_of_few(instance, tasks, nodes) <= best + 1e-9
    assert least_of_few(instance, tasks[::2]) <= best + 1e-9


def small(seed, load, slack):
    """Two to ten tasks on one to three GPUs."""
    gpus = tuple(
        cg.hgsp.Gpu(str(j), 48, 76.0 - 36 * (j % 2)) for j in range(1 + seed % 3)
    )
    return cg.hgsp.generate(cg.hgsp.Level(2 + seed % 9, gpus, load, slack), seed)


@pytest.mark.slow
def test_the_bound_is_above_0_wherever_the_optimum_is():
    """On 180 draws at low and medium load; in some of them that is known by neither
    other bound.
    """
    known = others = 0
    for load, slack in product((0.7, 1.0, 1.5), ((0.8, 1.6), (1.0, 2.0))):
        for seed in range(30):
            instance = small(seed, load, slack)
            best = least_of_few(instance, range(instance.tasks), 50_000)
            bound = lower_bound(instance)
            assert bound <= best * (1 + 1e-9) + 1e-9
            assert (bound > 0) == (best > 0), (load, slack, seed)
            known += best > 0
            others += max(alone(instance), by_capacity(instance)) > 0
    assert known > others > 0
