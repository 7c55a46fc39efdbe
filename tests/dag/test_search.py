"""The order in which searches run their plans, random search, and what annealing starts from."""

from itertools import pairwise, product

import numpy as np
import pytest

from cgrsp_simpy.dag.generate import training_graph
from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.dag.listing import heft, run_order, upward_rank_s
from cgrsp_simpy.dag.platform import Servers
from cgrsp_simpy.dag.policies import SEARCHES, find
from cgrsp_simpy.dag.problem import Problem, carried_out, makespans
from cgrsp_simpy.dag.scenario import Scenario, schedule_of, simulate
from cgrsp_simpy.dag.search import Budget, random_units
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.model.streams import stream


def two_chains() -> Problem:
    """Nodes 0 to 2 alone, 3 to 5 in a row, a second each, on one GPU and another: by rank, the
    row comes first.
    """
    graph = Graph(np.ones(6), np.zeros(6), [(3, 4), (4, 5)], [0, 0])
    return Problem(graph, Servers(2, tflops=(1.0,)).platform())


def test_the_two_orders():
    problem = two_chains()
    assert upward_rank_s(problem).tolist() == [1, 1, 1, 3, 2, 1]
    assert run_order(problem, "graph") is None
    assert run_order(problem, "rank").tolist() == [3, 4, 0, 1, 2, 5]


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("reading", ["exclusive", "shared"])
def test_a_search_runs_its_plans_in_the_order_that_is_given(name, reading):
    problem = Scenario("er:n=24,degree=2", Servers(3), reading=reading).draw(4)
    by_rank, as_it_is = (
        find(problem, f"{name}:order={order}", Budget(12), 1) for order in ("rank", "graph")
    )
    assert (
        by_rank.plan.order.tolist() == run_order(problem, "rank").tolist()
        and as_it_is.plan.order is None
    )
    for found in (by_rank, as_it_is):
        assert found.makespan_s == schedule_of(simulate(problem, found.plan)).makespan_s
    # which runs its plans in the order of HEFT's plan unless told otherwise
    if name != "annealing":
        assert find(problem, name, Budget(12), 1).makespan_s == as_it_is.makespan_s


@pytest.mark.parametrize("name", ["random-search", "woa", "rtgs", "ddqn", "worl-rtgs"])
def test_in_either_order_the_first_plan_is_the_same_one(name):
    """Only what is found on the way may differ."""
    problem = Scenario("er:n=40", Servers(4)).draw(2)
    one, other = (
        find(problem, f"{name}:order={order}", Budget(1), 3) for order in ("rank", "graph")
    )
    assert one.plan.gpu.tolist() == other.plan.gpu.tolist()


@pytest.mark.parametrize("order", ["graph", "rank"])
def test_random_search_finds_the_best_of_as_many_random_plans(order):
    problem = Scenario("er:n=30", Servers(4)).draw(1)
    found = find(problem, f"random-search:order={order}", Budget(50), 7)
    generator = stream(7, "random search")
    plans = np.concatenate([random_units(problem, 1, generator) for _ in range(50)])[
        :, problem.graph.unit
    ]
    expected = makespans(problem, plans, run_order(problem, order))
    assert found.makespan_s == expected.min() and found.evaluations == 50
    assert found.plan.gpu.tolist() == plans[expected.argmin()].tolist()
    assert [(at, makespan_s) for at, _, makespan_s in found.history] == [
        (at + 1, value)
        for at, value in enumerate(expected)
        if value < expected[:at].min(initial=np.inf)
    ]


@pytest.mark.parametrize("name", ["woa", "rtgs", "worl-rtgs"])
def test_a_history_names_the_plan_that_was_better_and_not_the_last_beside_it(name):
    """Whales are evaluated by tens: the first plan is in the history at 1, not the best of ten."""
    history = find(Scenario("er:n=30", Servers(4)).draw(0), name, Budget(60)).history
    assert history[0][0] == 1 and any(at % 10 for at, *_ in history[1:])
    assert all(one[0] < other[0] and one[2] > other[2] for one, other in pairwise(history))


def test_annealing_begins_with_hefts_plan_unless_told_otherwise():
    problem = Scenario("er:n=40", Servers(4)).draw(0)
    assert (
        find(problem, "annealing", Budget(1)).makespan_s
        == carried_out(problem, heft(problem)).makespan_s
    )
    drawn = find(problem, "annealing:start=random,order=graph", Budget(1), 5).plan
    assert (
        drawn.gpu.tolist()
        == random_units(problem, 1, stream(5, "dag annealing"))[0, problem.graph.unit].tolist()
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("woa:order=heft", "unknown order 'heft'"),
        ("random-search:order=work", "unknown order 'work'"),
        ("annealing:order=ranks", "unknown order 'ranks'; did you mean 'rank'"),
        ("annealing:start=none", "unknown start 'none'"),
    ],
)
def test_another_order_or_start_is_named(text, message):
    with pytest.raises(InputError, match=message):
        find(two_chains(), text, Budget(3))


# ---- what is said of orders ----


@pytest.mark.parametrize("inter_gb_per_s", [25.0, 1.0])
def test_in_hefts_order_no_placement_of_a_pipeline_of_four_stages_ends_a_millisecond_before_hefts(
    inter_gb_per_s,
):
    """And in the graph's order one ends in about half the time: README, and
    scenarios/pipeline_on_two_servers.py.
    """
    graph = training_graph(layers=8, stages=4, micro_batches=8)
    problem = Problem(
        graph, Servers(4, 2, tflops=(19.5,), inter_gb_per_s=inter_gb_per_s).platform()
    )
    placements = np.array(list(product(range(4), repeat=4)))[:, graph.unit]
    by_heft, by_rank, in_graph = (
        makespans(problem, placements, order).min()
        for order in (heft(problem).order, run_order(problem, "rank"), None)
    )
    assert by_heft == pytest.approx(carried_out(problem, heft(problem)).makespan_s, abs=1e-3)
    assert by_rank == pytest.approx(by_heft, abs=1e-3)
    assert 0.5 < in_graph / by_heft < 0.55
    for name in ("random-search", "woa", "rtgs", "worl-rtgs", "annealing:order=graph,hot=0.3"):
        assert find(problem, name, Budget(256)).makespan_s == pytest.approx(in_graph, rel=0.01)
    assert len(set(heft(problem).gpu)) == 2
    caught = find(problem, "annealing:order=graph", Budget(256)).makespan_s > 1.5 * in_graph
    assert caught == (inter_gb_per_s == 1.0)
