"""The bound by capacity: no schedule is below it, whatever the prices, and it is near
known optima.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import brute_force

import cgrsp_simpy as cg
from cgrsp_simpy.hgsp.bounds import by_capacity, lower_bound
from cgrsp_simpy.hgsp.exact import solve_exact
from cgrsp_simpy.hgsp.schedule import from_sequences

FAST, SLOW = cg.hgsp.Gpu("A100", 80, 57.0), cg.hgsp.Gpu("A30", 24, 30.0)


@st.composite
def odd(draw, most=4):
    """Tasks that take from a hundredth of a second to days, of which some are late when
    they arrive, weigh nothing, or fit on few GPUs; and GPUs, up to three, whose speeds
    differ by up to a thousand.
    """
    number = draw(st.integers(1, most))
    row = st.tuples(
        st.one_of(st.floats(1, 9), st.sampled_from([0.01, 1e5])),
        st.sampled_from([0, 5, 20]),
        st.one_of(st.floats(0, 15), st.sampled_from([0, 1e4])),
        st.sampled_from([0, 1, 1, 3.5]),
        st.one_of(st.floats(0, 6), st.sampled_from([0, 1e3])),
    )
    rows = np.array(draw(st.lists(row, min_size=number, max_size=number)), dtype=float)
    other = st.sampled_from(
        [
            cg.hgsp.Gpu("fast", 10, 2.0),
            cg.hgsp.Gpu("slow", 40, 1.0),
            cg.hgsp.Gpu("rapid", 0, 1000.0),
        ]
    )
    return cg.hgsp.Instance(
        *rows.T, gpus=(cg.hgsp.Gpu("slow", 40, 1.0), *draw(st.lists(other, max_size=2)))
    )


@given(odd())
@settings(max_examples=40)
def test_the_bound_is_at_most_the_optimum(instance):
    assert lower_bound(instance) <= brute_force(instance) * (1 + 1e-9) + 1e-9


def near(tasks, load, slack, seed, *gpus):
    return cg.hgsp.generate(cg.hgsp.Level(tasks, gpus, load, slack), seed)


# A bound by shares of tasks in intervals, with g(u) = u + p/2 - d of the time u from d
# on in place of whole runs, reaches 0.81, 0.69, 0.19 and 0.52 of these optima.
@pytest.mark.parametrize(
    ("gpus", "seed"),
    [
        ((FAST,), 0),
        ((FAST, FAST, SLOW), 0),
        ((SLOW, FAST), 0),
        pytest.param((FAST, SLOW), 1, marks=pytest.mark.slow),
    ],
)
def test_the_bound_is_near_the_optimum_of_six_tasks(gpus, seed):
    instance = near(6, 8.0, (0.4, 1.0), seed, *gpus)
    exact = solve_exact(instance)
    assert exact.optimal
    best = exact.schedule.weighted_tardiness
    assert 0.96 * best < by_capacity(instance) <= best * (1 + 1e-9)


@pytest.mark.parametrize(
    ("tasks", "least"),
    [
        (100, 0.998),
        *(
            pytest.param(tasks, 0.995, marks=pytest.mark.slow, id=name)
            for tasks, name in ((400, "each in the program"), (1200, "every third"))
        ),
    ],
)
def test_the_bound_stays_near_if_an_interval_contains_many_tasks(tasks, least):
    """On one GPU, all due at once and of equal weight, shortest first is best."""
    workload = near(tasks, 30.0, (0.0, 0.0), 0, FAST).workload
    none, all_ = np.zeros(tasks), np.ones(tasks)
    crowd = cg.hgsp.Instance(workload, none, none, all_, none, gpus=(FAST,))
    best = from_sequences(
        crowd, [np.argsort(crowd.workload).tolist()]
    ).weighted_tardiness
    assert least * best < by_capacity(crowd) <= best


@given(odd(8), st.sampled_from(sorted(set(cg.hgsp.SCHEDULERS) - {"milp"})))
@settings(max_examples=20)
def test_no_scheduler_is_below_the_bound(instance, name):
    result = cg.hgsp.schedule_of(cg.hgsp.solve(instance, name, moves=200))
    assert lower_bound(instance) <= result.weighted_tardiness * (1 + 1e-9) + 1e-9


@pytest.mark.slow
def test_the_bound_is_0_if_all_deadlines_can_be_met():
    """A bound of a rounding error above 0 would count as known."""
    for seed in range(10):
        assert lower_bound(near(20, 0.2, (4.0, 9.0), seed, FAST, SLOW)) == 0.0
