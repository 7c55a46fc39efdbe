"""The order in which searches run their plans, random search, and what annealing starts
from.
"""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from support import refusals

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.dag.listing import best_simple, run_order, upward_rank_s
from cgrsp_simpy.dag.policies import SEARCHES, find
from cgrsp_simpy.dag.problem import Problem, carried_out, latest, makespans
from cgrsp_simpy.dag.scenario import Scenario, schedule_of, simulate
from cgrsp_simpy.dag.search import Budget, Search, random_units

RANDOM = ":start=random,order=graph"


def two_chains() -> Problem:
    """Nodes 0 to 2 alone, 3 to 5 in a row, a second each, on one GPU and another: by
    rank, the row comes first.
    """
    graph = cg.dag.Graph(np.ones(6), np.zeros(6), [(3, 4), (4, 5)], [0, 0])
    return Problem(graph, cg.dag.Servers(2, tflops=(1.0,)).platform())


def test_the_two_orders():
    problem = two_chains()
    assert upward_rank_s(problem).tolist() == [1, 1, 1, 3, 2, 1]
    assert run_order(problem, "graph") is None
    assert run_order(problem, "rank").tolist() == [3, 4, 0, 1, 2, 5]


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_runs_its_plans_in_the_given_order(name):
    problem = Scenario("er:n=24,degree=2", cg.dag.Servers(3)).problem(4)
    kept = ",reorders=0" if name == "annealing" else ""
    by_rank, as_it_is = (
        find(problem, f"{name}:order={order}{kept}", Budget(12), 1)
        for order in ("rank", "graph")
    )
    assert by_rank.plan.order.tolist() == run_order(problem, "rank").tolist()
    assert as_it_is.plan.order is None or np.array_equal(
        as_it_is.plan.order, problem.graph.order
    )
    for result in (by_rank, as_it_is):
        assert (
            result.makespan_s == schedule_of(simulate(problem, result.plan)).makespan_s
        )
    # which runs its plans in the order of HEFT's plan by default
    if name != "annealing":
        assert find(problem, name, Budget(12), 1).makespan_s == as_it_is.makespan_s


@pytest.mark.parametrize("name", ["random-search", "woa", "rtgs", "ddqn", "worl-rtgs"])
def test_the_first_plan_is_the_same_in_either_order(name):
    """Only what is found on the way may differ."""
    problem = Scenario("er:n=40", cg.dag.Servers(4)).problem(2)
    one, other = (
        find(problem, f"{name}:order={order}", Budget(1), 3)
        for order in ("rank", "graph")
    )
    assert one.plan.gpu.tolist() == other.plan.gpu.tolist()


def test_a_search_ends_at_the_first_of_its_two_limits(monkeypatch):
    """Each evaluation is a quarter of the budget, each second a half."""
    clock_s = [7.0]
    clock = SimpleNamespace(perf_counter=lambda: clock_s[0])
    monkeypatch.setattr("cgrsp_simpy.dag.search.time", clock)
    problem, budget = two_chains(), Budget(4, 2.0)
    plans = random_units(problem, 9, np.random.default_rng(0))
    assert {*plans.ravel()} == {0, 1} and str(budget) == "4 evaluations or 2.0 s"
    search, timed = (
        Search(problem, limit, "") for limit in (budget, Budget(seconds=2.0))
    )
    for later_s, number, finite, spent in (
        (0.1, 0, 0, 0.0),
        (0.0, 1, 1, 0.25),
        (1.4, 1, 1, 0.75),
        (0.0, 4, 2, 1.0),
        (2.0, 1, 0, 1.0),
    ):
        clock_s[0] += later_s
        assert np.isfinite(search.evaluate(plans[:number])).sum() == finite
        assert (search.spent, search.over) == (spent, spent == 1)
    assert np.isfinite(timed.evaluate(plans)).all() and timed.over


@pytest.mark.parametrize("order", ["graph", "rank"])
def test_random_search_finds_the_best_of_as_many_random_plans(order):
    problem = Scenario("er:n=30", cg.dag.Servers(4)).problem(1)
    result = find(problem, f"random-search:order={order}", Budget(50), 7)
    generator = stream(7, "random search")
    plans = np.concatenate([random_units(problem, 1, generator) for _ in range(50)])[
        :, problem.graph.unit
    ]
    expected = makespans(problem, plans, run_order(problem, order))
    assert result.makespan_s == expected.min() and result.evaluations == 50
    assert result.plan.gpu.tolist() == plans[expected.argmin()].tolist()
    assert list(result.history) == [
        (at + 1, value)
        for at, value in enumerate(expected)
        if value < expected[:at].min(initial=np.inf)
    ]


@pytest.mark.parametrize("name", ["woa", "rtgs", "worl-rtgs"])
def test_a_history_names_the_better_plan_and_not_the_last_one(name):
    """Whales are evaluated by tens: the first plan is in the history at 1, not the best
    of ten.
    """
    history = find(
        Scenario("er:n=30", cg.dag.Servers(4)).problem(0), name, Budget(60)
    ).history
    assert history[0][0] == 1 and any(at % 10 for at, *_ in history[1:])
    assert all(
        one[0] < other[0] and one[1] > other[1] for one, other in pairwise(history)
    )


def test_annealing_starts_from_the_best_simple_plan_by_default():
    problem = Scenario("er:n=40", cg.dag.Servers(4)).problem(0)
    assert (
        find(problem, "annealing", Budget(1)).makespan_s
        == carried_out(problem, best_simple(problem)).makespan_s
    )
    drawn = find(problem, "annealing:start=random,order=graph", Budget(1), 5).plan
    assert (
        drawn.gpu.tolist()
        == random_units(problem, 1, stream(5, "dag annealing"))[
            0, problem.graph.unit
        ].tolist()
    )


@pytest.mark.parametrize(
    ("work", "memory", "edges", "options", "evaluations", "makespan_s"),
    [
        # nodes 0 to 2, of a second, fit on GPU 0 alone; 3, of 4 s, waits for 2, which
        # runs last unless it has another turn
        ([1, 1, 1, 4], [9, 9, 9, 1], [(2, 3)], RANDOM + ",reorders=0", 50, 7),
        ([1, 1, 1, 4], [9, 9, 9, 1], [(2, 3)], RANDOM + ",reorders=0.2", 50, 5),
        # nodes 0 to 3 fit on GPU 0 alone; 4 waits for 3, and 3 for 2: both go first
        ([1, 1, 1, 1, 4], [9, 9, 9, 9, 1], [(2, 3), (3, 4)], RANDOM, 60, 2 + 4),
        # node 3 waits for 0 on GPU 0, and for 1 and 2: they go before 0, on any GPU
        ([5, 1, 1, 1, 4], [9, 1, 1, 9, 1], [(1, 2), (2, 3), (3, 4)], RANDOM, 60, 3 + 5),
        ([3], [9], [], "", 1, 3),  # no node and no turn can change
        ([0], [1], [], "", 1, 0),  # no plan is shorter
    ],
    ids=["placement", "another order", "predecessors", "others", "nothing", "no work"],
)
def test_annealing_finds_the_least_makespan(
    work, memory, edges, options, evaluations, makespan_s
):
    graph = cg.dag.Graph(work, memory, edges, [0] * len(edges))
    problem = Problem(graph, cg.dag.Platform([1, 1], [9, 5], [0, 0], np.ones((2, 2))))
    budget = Budget(max(50, evaluations))
    result = find(problem, f"annealing{options}", budget)
    assert (result.makespan_s, result.evaluations) == (makespan_s, evaluations)
    assert carried_out(problem, result.plan).makespan_s == makespan_s


def test_annealing_cools_geometrically_with_the_budget(monkeypatch):
    """Two nodes of 1 s, on two GPUs or, for 2 s, on one, which is never accepted."""
    exponents = []
    module = SimpleNamespace(exp=lambda x: exponents.append(x) or 0.0)
    monkeypatch.setattr("cgrsp_simpy.dag.policies.math", module)
    graph = cg.dag.Graph([1, 1], [1, 1], [], [])
    problem = Problem(graph, cg.dag.Servers(2, tflops=(1.0,)).platform())
    assert find(problem, "annealing:hot=0.5,cold=0.1", Budget(10)).makespan_s == 1
    # the other moves leave a node on each GPU
    expected = [-1 / (0.5 * 0.2 ** (plans / 10)) for plans in (2, 4, 6, 8, 9)]
    assert exponents == pytest.approx(expected)


def test_the_critical_path_shows_the_cause_of_the_last_nodes_delay():
    """Nodes 0 and 1 of 2 s on GPU 0, 2 of 1 s on GPU 1 after 1, whose data take 3 s,
    and 3, after the data of 1 on GPU 0.
    """
    graph = cg.dag.Graph([2, 2, 1, 3], np.ones(4), [(1, 2), (1, 3)], [3, 3])
    problem = Problem(graph, cg.dag.Platform([1, 1], [9, 9], [0, 0], np.ones((2, 2))))
    gpu, order = np.array([0, 0, 1, 0]), np.arange(4)
    assert latest(problem, gpu, order) == ([2, 1, 0], [(0, 1)])
    assert latest(problem, np.zeros(4, int), order) == ([3, 2, 1, 0], [(2, 3), (0, 1)])


test_another_order_or_start_is_named = refusals(
    ("annealing:reorders=2", "reorders"),
    ("woa:order=heft", "unknown order 'heft'"),
    ("random-search:order=work", "unknown order 'work'"),
    ("annealing:order=ranks", "unknown order 'ranks'; did you mean 'rank'"),
    ("annealing:start=none", "unknown start 'none'"),
    call=lambda text: find(two_chains(), text, Budget(3)),
)
