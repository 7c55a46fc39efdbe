"""Whale optimisation: hopes, plans built from them, and the loop of Algorithm 2."""

from itertools import pairwise

import numpy as np
import pytest

from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.dag.paper import whales as module
from cgrsp_simpy.dag.paper.distance import node_loads_s
from cgrsp_simpy.dag.paper.learning import Turns, ddqn
from cgrsp_simpy.dag.paper.whales import by_number, factors, greedy, hopes, rtgs, woa, worl_rtgs
from cgrsp_simpy.dag.platform import Servers
from cgrsp_simpy.dag.policies import random_search
from cgrsp_simpy.dag.problem import Problem, carried_out, makespans
from cgrsp_simpy.dag.search import Budget, random_units
from cgrsp_simpy.model.checks import InputError

SEARCHES = [rtgs, woa, worl_rtgs, ddqn, random_search]
WHALES = SEARCHES[:3]


def four(unit=()) -> Problem:
    """Works 4, 2, 6 and 2 in a row, on a GPU of speed 1 and one of speed 2."""
    graph = Graph([4, 2, 6, 2], np.zeros(4), [(0, 1), (1, 2), (2, 3)], [0, 0, 0], unit=unit)
    return Problem(graph, Servers(2, tflops=(1.0, 2.0), memory_gb=1.0).platform())


def layered(nodes: int = 30, gpus: int = 4) -> Problem:
    """A random graph whose nodes share units by threes, some of which do not fit on
    one GPU in two.
    """
    random = np.random.default_rng(3)
    edges = np.argwhere(np.triu(random.random((nodes, nodes)) < 0.1, 1))
    memory_mb = np.where(np.arange(nodes) % 5 == 0, 900, 100)
    graph = Graph(
        random.uniform(1, 9, nodes),
        memory_mb,
        edges,
        random.uniform(0, 1, len(edges)),
        unit=np.arange(nodes) // 3,
    )
    platform = Servers(gpus, per_server=2, memory_gb=1.0).platform()
    platform.memory_mb[::2] = 500
    return Problem(graph, platform)


def test_loads_are_of_all_nodes_on_the_gpu():
    """4 + 2 on the first GPU, (2 + 6) / 2 on the second; then all on the second."""
    assert node_loads_s(four(), np.array([[0, 1, 1, 0], [1, 1, 1, 1]])).tolist() == [
        [6, 4, 4, 6],
        [7, 7, 7, 7],
    ]


def test_hopes_lie_a_factor_of_the_distance_to_either_side_of_the_target():
    target, current, factor = np.full(200, 10.0), np.full(200, 4.0), np.full(200, 0.5)
    assert set(hopes(target, current, factor, np.random.default_rng(0)).tolist()) == {7.0, 13.0}
    assert set(hopes(target, current, 3 * factor, np.random.default_rng(0)).tolist()) == {1.0, 19.0}
    assert hopes(target, current, 4 * factor, np.random.default_rng(0)).min() == -2.0  # not clipped


def test_greedy_by_hand():
    # |hope - load| on either GPU: 2 or 4; 4.5 or 0.5; 5 or 1; 0.2 or 0.8
    assert greedy(Turns(four()), np.array([[6.0, 1.5, 5.0, 5.8]])).tolist() == [[0, 1, 1, 0]]


def test_greedy_places_a_unit_with_its_first_node():
    # nodes 1 and 3 take 4 s or 2 s together: |3 - 8| or |3 - 2| after node 0; then |5 - 10|
    # or |5 - 5|
    assert greedy(Turns(four(unit=(0, 1, 2, 1))), np.array([[6.0, 3.0, 5.0]])).tolist() == [
        [0, 1, 1]
    ]


def test_greedy_leaves_out_gpus_without_the_memory():
    platform = Servers(2, tflops=(1.0, 2.0), memory_gb=1.0).platform()
    platform.memory_mb[1] = 500
    problem = Problem(Graph([4, 2], [0, 600], [(0, 1)], [0]), platform)
    assert greedy(Turns(problem), np.array([[2.0, 3.0]])).tolist() == [
        [1, 0]
    ]  # 2 s, where the other would take the 3 s hoped for
    # 6 s, where the other would take 1 s
    assert greedy(Turns(problem), np.array([[4.0, 1.0]])).tolist() == [[0, 0]]


def test_greedy_fills_a_gpu_beyond_its_hope_unless_loads_are_paced():
    # four of 1 s hope for 2 s: 1, 2 and 3 s are as near as 1 s on the other GPU, or nearer,
    # and the first of equals is taken; paced, the second node expects 4 s on the first GPU and
    # 2 s on the other
    graph = Graph(np.ones(4), np.zeros(4), np.empty((0, 2)), np.empty(0))
    problem = Problem(graph, Servers(2, tflops=(1.0,)).platform())
    assert greedy(Turns(problem), np.full((1, 4), 2.0)).tolist() == [[0, 0, 0, 1]]
    assert greedy(Turns(problem, paced=True), np.full((1, 4), 2.0)).tolist() == [[0, 1, 0, 1]]


def test_plans_are_built_side_by_side_as_one_by_one():
    turns, wanted = Turns(layered()), np.random.default_rng(1).uniform(-5, 60, (6, 10))
    assert greedy(turns, wanted).tolist() == [
        greedy(turns, row[None])[0].tolist() for row in wanted
    ]


def test_a_lies_between_minus_a_and_a_and_half_of_the_whales_spiral():
    factor, spiral = factors(1.4, 1.0, (10_000, 3), np.random.default_rng(2))
    assert abs(spiral.mean() - 0.5) < 4 * 0.5 / 100  # 4 standard errors
    around = factor[~spiral[:, 0]]
    assert (around == around[:, :1]).all()  # one for each whale
    assert -1.4 <= around.min() < -1.39 and 1.39 < around.max() <= 1.4
    turning = factor[spiral[:, 0]]
    assert (turning[:, 0] != turning[:, 1]).all()  # one for each node
    # least near l = 1/2, greatest at l = 1
    assert -np.exp(0.52) < turning.min() < -1 and 2.6 < turning.max() <= np.e


def test_whales_by_number_spiral_around_the_target_and_stay_among_the_gpus():
    target, current, factor = (
        np.array([[3, 3, 3]]),
        np.array([[1.0, 4.5, 0.0]]),
        np.array([[-0.5, 2.0, -1.5]]),
    )
    moved = by_number(6, np.random.default_rng(0), target, current, factor, np.array([[True]]))
    assert moved.tolist() == [[3 - 0.5 * 2, 5, 0]]  # 3 + 2 x 1.5 and 3 - 1.5 x 3 are clipped


def test_whales_by_number_circle_at_a_times_c_x_target_minus_current():
    target, current, a = np.full((1, 4000), 2.0), np.full((1, 4000), 1.0), np.full((1, 4000), 0.5)
    moved = by_number(9, np.random.default_rng(0), target, current, a, np.array([[False]]))
    # |C 2 - 1| from 0 to 3, as C is from 0 to 2
    assert 2.0 <= moved.min() < 2.01 and 3.49 < moved.max() <= 3.5
    assert moved.mean() == pytest.approx(2 + 0.5 * 1.25, abs=0.03)  # the mean of |4 u - 1| is 5/4


@pytest.fixture
def seen_a(monkeypatch):
    """The values of a that a search goes through."""
    seen = []
    monkeypatch.setattr(module, "factors", lambda a, *rest: seen.append(a) or factors(a, *rest))
    return seen


def test_a_falls_from_2_to_0_over_the_budget_if_it_ends_first(seen_a):
    rtgs(layered(), Budget(evaluations=22), whales=2)
    assert seen_a == pytest.approx([2 * (1 - done / 10) for done in range(10)])


def test_a_falls_over_the_iterations_and_anew_with_what_is_left(seen_a):
    # 2 + 5 x 2 evaluations, twice; then 2 whales and 2 iterations of 2
    rtgs(layered(), Budget(evaluations=30), whales=2, iterations=5)
    assert seen_a == pytest.approx([2, 1.6, 1.2, 0.8, 0.4] * 2 + [2, 1])


@pytest.mark.parametrize(
    ("factor", "spiral", "leads"),
    [
        (0.9, False, True),
        (-0.9, False, True),
        (1.0, False, False),
        (-1.5, False, False),
        (2.0, True, True),
    ],
)
def test_whales_follow_the_leader_unless_a_is_large_and_then_any_whale(
    monkeypatch, factor, spiral, leads
):
    seen = []
    monkeypatch.setattr(
        module,
        "factors",
        lambda a, b, shape, _: (np.full(shape, factor), np.full((shape[0], 1), spiral)),
    )
    monkeypatch.setattr(
        module,
        "by_number",
        lambda gpus, _, target, current, *rest: seen.append((target, current)) or current,
    )
    # the whales stay where they are, and so the leader
    best = woa(layered(), Budget(evaluations=120), whales=6).plan.gpu[::3]
    assert all((target == best).all() == leads for target, _ in seen)
    followed = {
        int((current == row).all(axis=1).argmax()) for target, current in seen for row in target
    }
    assert len(followed) == (1 if leads else 6)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("evaluations", [1, 7, 23])
def test_searches_spend_their_evaluations_and_no_more(search, evaluations):
    found = search(layered(), Budget(evaluations=evaluations))
    assert found.evaluations == evaluations
    assert found.history[-1][2] == found.makespan_s


@pytest.mark.parametrize("search", WHALES)
def test_new_whales_keep_the_leader(search):
    history = search(layered(), Budget(evaluations=60), whales=3, iterations=2).history
    assert all(later[2] < earlier[2] for earlier, later in pairwise(history))


def test_a_search_ends_when_its_seconds_are_over():
    found = rtgs(layered(), Budget(seconds=0.2))
    assert 0.2 <= found.seconds < 2 and found.evaluations > 10


@pytest.mark.parametrize("search", SEARCHES)
def test_plans_respect_units_and_memory(search):
    problem = layered()
    found = search(problem, Budget(evaluations=40), seed=4)
    # checks the plan, too
    assert carried_out(problem, found.plan).makespan_s == pytest.approx(found.makespan_s)


@pytest.mark.parametrize("search", SEARCHES)
def test_the_same_seed_gives_the_same_plan(search):
    one, again, other = (search(layered(), Budget(evaluations=25), seed=seed) for seed in (5, 5, 6))
    assert one.plan.gpu.tolist() == again.plan.gpu.tolist()
    assert [entry[::2] for entry in one.history] == [entry[::2] for entry in again.history]
    assert [entry[::2] for entry in one.history] != [entry[::2] for entry in other.history]


@pytest.mark.parametrize("search", SEARCHES[:4])
def test_paced_or_not_a_search_finds_a_plan_better_than_chance(search):
    problem = layered()
    by_chance = makespans(
        problem, random_units(problem, 300, np.random.default_rng(0))[:, problem.graph.unit]
    ).mean()
    for given in [{}] if search is woa else [{"paced": False}, {"paced": True}]:
        assert search(problem, Budget(evaluations=60), **given).makespan_s < by_chance


def test_names_of_the_schedulers_are_on_their_plans():
    assert [
        search(four(), Budget(evaluations=1)).plan.scheduler for search in SEARCHES
    ] == "rtgs woa worl-rtgs ddqn random-search".split()


def test_a_graph_without_work_is_placed():
    problem = Problem(Graph([0, 0], [0, 0], [(0, 1)], [0]), Servers(2).platform())
    for search in SEARCHES:
        assert search(problem, Budget(evaluations=12)).makespan_s == 0
    assert rtgs(problem, Budget(evaluations=12), paced=True).makespan_s == 0


@pytest.mark.parametrize("search", WHALES)
@pytest.mark.parametrize("given", [{"whales": 0}, {"iterations": 0}, {"b": float("inf")}])
def test_bad_parameters_of_the_loop_are_named(search, given):
    with pytest.raises(InputError, match=rf"^{next(iter(given))}\("):
        search(four(), Budget(evaluations=1), **given)
