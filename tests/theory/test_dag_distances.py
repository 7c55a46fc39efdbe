"""Distance of plans (SPD) and gap of finish times (FTG): by hand, and correlated."""

import numpy as np
import pytest
from support import check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.papers.dag.distance import (
    correlate,
    finish_time_gap_s,
    node_loads_s,
    plan_distance_s,
)


def test_both_distances_in_an_example_by_hand():
    """Three nodes of 4, 2 and 6 TFLOP on GPUs of 1 and 2 TFLOPS, no edges."""
    graph = cg.dag.Graph([4.0, 2.0, 6.0], [0, 0, 0], np.empty((0, 2)), [])
    problem = cg.dag.Problem(graph, cg.dag.Servers(2, tflops=(1.0, 2.0)).platform())
    one, other = np.array([[0, 0, 1]]), np.array([[1, 0, 1]])
    # 4 + 2 on the slow one, 3 on the fast one
    assert node_loads_s(problem, one).tolist() == [[6, 6, 3]]
    assert node_loads_s(problem, other).tolist() == [[5, 2, 5]]
    assert plan_distance_s(problem, one, other).tolist() == [(1 + 4 + 2) / 3]
    assert finish_time_gap_s(problem, one, other).tolist() == [6 - 5]


@pytest.mark.slow
def test_uneven_plans_correlate_as_published_and_even_ones_do_not():
    """Section 4.2 prints 0.16 to 0.57, on average 0.46: the coefficient depends on how
    plans are drawn, which is not printed.
    """
    problem = cg.dag.Scenario("er:n=500", cg.dag.Servers(50), state="busy").problem()
    even, uneven = correlate(problem), correlate(problem, concentration=1.0)
    assert even.pearson_ci95[1] < 0.25
    assert 0.35 < uneven.pearson < 0.6
    assert uneven.pearson_ci95[0] < uneven.pearson < uneven.pearson_ci95[1]


@pytest.mark.parametrize(
    ("gpus", "pairs", "concentration", "message"),
    [
        (2, 3, None, r"pairs\(=3\) must be a whole number >= 4"),
        (2, 9, 0.0, r"concentration\(=0.0\) must be a number from"),
        (1, 9, None, "SPD is 0 s for all 9 pairs of plans: there is no correlation"),
    ],
)
def test_data_without_a_correlation_are_rejected(gpus, pairs, concentration, message):
    problem = cg.dag.Scenario("er:n=20", cg.dag.Servers(gpus)).problem()
    check_refused(lambda: correlate(problem, pairs, 0, concentration), message)


@pytest.mark.parametrize("concentration", [None, 0.2])
def test_random_plans_keep_to_memory(concentration):
    """Large nodes fit on the last GPU only, so that all pairs agree on them: only the
    small one moves, between 1 and 4 s.
    """
    graph = cg.dag.Graph([1.0, 4.0], [10, 900], np.empty((0, 2)), [])
    problem = cg.dag.Problem(
        graph,
        cg.dag.Platform([1.0, 1.0, 1.0], [100, 100, 1000], [0, 0, 0], np.ones((3, 3))),
    )
    result = correlate(problem, 400, 0, concentration)
    assert set(result.ftg_s.tolist()) == {0.0, 1.0}  # 4 s, or 5 s on one GPU


def test_plans_that_never_end_have_no_gap():
    apart = cg.dag.Platform(
        [1.0, 1.0], [80_000] * 2, [0, 1], np.zeros((2, 2)), name="two islands"
    )
    check_refused(
        lambda: correlate(cg.dag.Scenario("er:n=20", apart).problem(0), pairs=20),
        r"GPUs\(='two islands'\) must be connected",
    )
