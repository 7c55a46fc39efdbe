"""The searches of the paper: targets, plans built from them, and Algorithm 2's loop;
the network, its optimiser, and the agent that learns with them.
"""

from time import perf_counter

import numpy as np
import pytest
from support import refusals

import cgrsp_simpy as cg
from cgrsp_simpy.dag.policies import random_search
from cgrsp_simpy.dag.search import Budget, random_units
from cgrsp_simpy.papers.dag import searches as module
from cgrsp_simpy.papers.dag.distance import node_loads_s
from cgrsp_simpy.papers.dag.searches import (
    Adam,
    Agent,
    Network,
    Training,
    Turns,
    by_number,
    ddqn,
    double_q,
    factors,
    greedy,
    rtgs,
    target_loads,
    woa,
    worl_rtgs,
)

SEARCHES = [rtgs, woa, worl_rtgs, ddqn, random_search]
SLOW_DDQN = [
    pytest.param(search, marks=[pytest.mark.slow] * (search is ddqn))
    for search in SEARCHES
]
WHALES = SEARCHES[:3]


def four(unit=()) -> cg.dag.Problem:
    """Works 4, 2, 6 and 2 in a row, on a GPU of speed 1 and one of speed 2."""
    graph = cg.dag.Graph(
        [4, 2, 6, 2], np.zeros(4), [(0, 1), (1, 2), (2, 3)], [0, 0, 0], unit=unit
    )
    return cg.dag.Problem(
        graph, cg.dag.Servers(2, tflops=(1.0, 2.0), memory_gb=1.0).platform()
    )


def layered(nodes: int = 30, gpus: int = 4) -> cg.dag.Problem:
    """A random graph whose nodes share units by threes, some of which do not fit on
    one GPU in two.
    """
    random = np.random.default_rng(3)
    edges = np.argwhere(np.triu(random.random((nodes, nodes)) < 0.1, 1))
    memory_mb = np.where(np.arange(nodes) % 5 == 0, 900, 100)
    graph = cg.dag.Graph(
        random.uniform(1, 9, nodes),
        memory_mb,
        edges,
        random.uniform(0, 1, len(edges)),
        unit=np.arange(nodes) // 3,
    )
    platform = cg.dag.Servers(gpus, per_server=2, memory_gb=1.0).platform()
    platform.memory_mb[::2] = 500
    return cg.dag.Problem(graph, platform)


def test_loads_are_of_all_nodes_on_the_gpu():
    """4 + 2 on the first GPU, (2 + 6) / 2 on the second; then all on the second."""
    assert node_loads_s(four(), np.array([[0, 1, 1, 0], [1, 1, 1, 1]])).tolist() == [
        [6, 4, 4, 6],
        [7, 7, 7, 7],
    ]


def test_target_loads_lie_a_factor_of_the_distance_to_either_side_of_the_target():
    target, current, factor = np.full(200, 10.0), np.full(200, 4.0), np.full(200, 0.5)
    assert set(
        target_loads(target, current, factor, np.random.default_rng(0)).tolist()
    ) == {
        7.0,
        13.0,
    }
    assert set(
        target_loads(target, current, 3 * factor, np.random.default_rng(0)).tolist()
    ) == {1.0, 19.0}
    # not clipped
    assert (
        target_loads(target, current, 4 * factor, np.random.default_rng(0)).min()
        == -2.0
    )


def test_greedy_by_hand():
    # |hope - load| on either GPU: 2 or 4; 4.5 or 0.5; 5 or 1; 0.2 or 0.8
    assert greedy(Turns(four()), np.array([[6.0, 1.5, 5.0, 5.8]])).tolist() == [
        [0, 1, 1, 0]
    ]


def test_greedy_places_a_unit_with_its_first_node():
    # nodes 1 and 3 take 4 s or 2 s together: |3 - 8| or |3 - 2| after node 0; then |5 -
    # 10| or |5 - 5|
    assert greedy(
        Turns(four(unit=(0, 1, 2, 1))), np.array([[6.0, 3.0, 5.0]])
    ).tolist() == [[0, 1, 1]]


def test_greedy_leaves_out_gpus_without_the_memory():
    platform = cg.dag.Servers(2, tflops=(1.0, 2.0), memory_gb=1.0).platform()
    platform.memory_mb[1] = 500
    problem = cg.dag.Problem(cg.dag.Graph([4, 2], [0, 600], [(0, 1)], [0]), platform)
    # 2 s, where the other would take the 3 s hoped for
    assert greedy(Turns(problem), np.array([[2.0, 3.0]])).tolist() == [[1, 0]]
    # 6 s, where the other would take 1 s
    assert greedy(Turns(problem), np.array([[4.0, 1.0]])).tolist() == [[0, 0]]


def test_greedy_fills_a_gpu_beyond_its_hope_unless_loads_are_paced():
    # four of 1 s hope for 2 s: 1, 2 and 3 s are as near as 1 s on the other GPU, or
    # nearer, and the first of equals is taken; paced, the second node expects 4 s on
    # the first GPU and 2 s on the other
    graph = cg.dag.Graph(np.ones(4), np.zeros(4), np.empty((0, 2)), np.empty(0))
    problem = cg.dag.Problem(graph, cg.dag.Servers(2, tflops=(1.0,)).platform())
    assert greedy(Turns(problem), np.full((1, 4), 2.0)).tolist() == [[0, 0, 0, 1]]
    assert greedy(Turns(problem, paced=True), np.full((1, 4), 2.0)).tolist() == [
        [0, 1, 0, 1]
    ]


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
    target = np.array([[3, 3, 3]])
    current = np.array([[1.0, 4.5, 0.0]])
    factor = np.array([[-0.5, 2.0, -1.5]])
    moved = by_number(
        6, np.random.default_rng(0), target, current, factor, np.array([[True]])
    )
    # 3 + 2 x 1.5 and 3 - 1.5 x 3 are clipped
    assert moved.tolist() == [[3 - 0.5 * 2, 5, 0]]


@pytest.fixture
def seen_a(monkeypatch):
    """The values of a that a search goes through."""
    seen = []
    monkeypatch.setattr(
        module, "factors", lambda a, *rest: seen.append(a) or factors(a, *rest)
    )
    return seen


def test_a_falls_from_2_to_0_over_the_budget_if_it_ends_first(seen_a):
    rtgs(layered(), Budget(evaluations=22), whales=2)
    assert seen_a == pytest.approx([2 * (1 - done / 10) for done in range(10)])


def test_the_parameter_a_falls_over_the_iterations_and_again_over_the_rest(seen_a):
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
        lambda gpus, _, target, current, *rest: (
            seen.append((target, current)) or current
        ),
    )
    # the whales stay where they are, and so the leader
    best = woa(layered(), Budget(evaluations=120), whales=6).plan.gpu[::3]
    assert all((target == best).all() == leads for target, _ in seen)
    followed = {
        int((current == row).all(axis=1).argmax())
        for target, current in seen
        for row in target
    }
    assert len(followed) == (1 if leads else 6)


@pytest.mark.quick_cases(5)
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("evaluations", [1, 7, 23])
def test_searches_use_exactly_their_budget(search, evaluations):
    result = search(layered(), Budget(evaluations=evaluations))
    assert result.evaluations == evaluations
    assert result.history[-1][1] == result.makespan_s


def test_a_search_ends_when_its_seconds_are_over():
    begin_s = perf_counter()
    result = rtgs(layered(), Budget(seconds=0.2))
    assert 0.2 <= perf_counter() - begin_s < 2 and result.evaluations > 10


@pytest.mark.parametrize("search", SLOW_DDQN)
def test_the_same_seed_gives_the_same_plan(search):
    one, again, other = (
        search(layered(), Budget(evaluations=25), seed=seed) for seed in (5, 5, 6)
    )
    assert one.plan.gpu.tolist() == again.plan.gpu.tolist()
    assert one.history == again.history
    assert one.history != other.history


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("search", SLOW_DDQN[:4])
def test_paced_and_unpaced_searches_beat_random_plans(search):
    problem = layered()
    by_chance = cg.dag.makespans(
        problem,
        random_units(problem, 300, np.random.default_rng(0))[:, problem.graph.unit],
    ).mean()
    for given in [{}] if search is woa else [{"paced": False}, {"paced": True}]:
        assert search(problem, Budget(evaluations=60), **given).makespan_s < by_chance


test_bad_parameters_of_the_loop_are_named = refusals(
    *(
        (search, name, value, rf"^{name}\(")
        for search in WHALES
        for name, value in (
            ("whales", 0),
            ("iterations", 0),
            ("b", float("inf")),
            ("b", -1.0),
        )
    ),
    call=lambda search, name, value: search(
        four(), Budget(evaluations=1), **{name: value}
    ),
)


# ---- the network ----


def twelve() -> cg.dag.Problem:
    """12 nodes without edges, of work 5 to 16, on 3 equal GPUs."""
    return cg.dag.Problem(
        cg.dag.Graph(np.arange(5.0, 17.0), np.zeros(12), np.empty((0, 2)), np.empty(0)),
        cg.dag.Servers(3, tflops=(1.0,)).platform(),
    )


def test_the_network_is_matrices_with_relu_between():
    network = Network((2, 2, 1), np.random.default_rng(0))
    (first, first_bias), (last, last_bias) = network.layers
    first[:] = [[1, -1], [2, 1]]
    first_bias[:] = [0, -1]
    last[:] = [[3], [5]]
    last_bias[:] = [7]
    assert network.through(np.array([[1.0, 1.0], [1.0, 4.0]]))[-1].tolist() == [
        [3 * 3 + 5 * 0 + 7],
        [3 * 9 + 5 * 2 + 7],
    ]


def test_precomputed_values_do_not_change_the_result():
    network = Network((7, 5, 4, 3), np.random.default_rng(1))
    network.flat += 0.1
    inputs = np.random.default_rng(2).normal(size=(6, 7))
    result = network.through(inputs[:, :3], network.ahead(inputs[:, 3:]))[-1]
    assert result == pytest.approx(network.through(inputs)[-1], abs=1e-12)


def test_first_weights_have_the_variance_of_he():
    weights, biases = Network((400, 300, 2), np.random.default_rng(3)).layers[0]
    # 4 standard errors
    assert weights.var() == pytest.approx(2 / 400, rel=4 * np.sqrt(2 / weights.size))
    assert not biases.any()


def test_the_gradient_agrees_with_finite_differences():
    network = Network((4, 6, 5, 3), np.random.default_rng(4))
    random = np.random.default_rng(5)
    network.flat += 0.05
    inputs = random.normal(size=(8, 4))
    chosen = random.integers(0, 3, 8)
    goal = random.normal(size=8)

    def loss() -> float:
        return float(
            np.mean((goal - network.through(inputs)[-1][np.arange(8), chosen]) ** 2)
        )

    gradient = network.gradient(inputs, chosen, goal)
    for place in range(len(network.flat)):
        kept = network.flat[place]
        network.flat[place] = kept + 1e-6
        above = loss()
        network.flat[place] = kept - 1e-6
        assert gradient[place] == pytest.approx((above - loss()) / 2e-6, abs=1e-7)
        network.flat[place] = kept


def test_two_steps_of_adam_by_hand():
    # gradients 3, then 1: means 0.3 and 0.37 of 0.1 and 0.19; squares 0.009 and
    # 0.009991 of 0.001 and 0.001999
    flat = np.array([5.0])
    adam = Adam(flat, learning_rate=0.1)
    adam.step(np.array([3.0]))
    assert flat[0] == pytest.approx(5 - 0.1)
    adam.step(np.array([1.0]))
    assert flat[0] == pytest.approx(
        4.9 - 0.1 * (0.37 / 0.19) / np.sqrt(0.009991 / 0.001999)
    )


def test_double_q_takes_the_action_of_one_network_and_the_worth_of_the_other():
    online = np.array([[1.0, 5.0], [2.0, 0.0], [9.0, 1.0]])
    target = np.array([[10.0, 20.0], [30.0, 40.0], [50.0, 60.0]])
    # the third ends an episode
    goal = double_q(
        np.array([-1.0, -2.0, -3.0]), np.array([0.5, 0.5, 0.0]), online, target
    )
    assert goal.tolist() == [-1 + 10, -2 + 15, -3]


@pytest.mark.parametrize(
    ("work", "units", "part"),
    [
        ([1, 2, 4, 8], [5, 2, 8], [5 / 15, 15 / 15, 13 / 15]),
        ([0, 2, 0, 1], [0, 2, 1], [1, 3 / 3, 1 / 3]),
        ([0, 0, 0, 0], [0, 0, 0], [1, 1, 1]),
    ],
)
def test_turns_follow_the_first_nodes_of_units(work, units, part):
    # 3 before 1 before 0; 2 is free, and with 0 it is a unit: so 2 (and 0), 3, 1
    graph = cg.dag.Graph(work, np.zeros(4), [(3, 1), (1, 0)], [0, 0], unit=[0, 1, 0, 2])
    turns = Turns(
        cg.dag.Problem(graph, cg.dag.Servers(2, tflops=(1.0, 2.0)).platform()),
        paced=True,
    )
    assert (turns.unit.tolist(), turns.first.tolist()) == ([0, 2, 1], [2, 1, 3])
    assert turns.time_s.tolist() == [[one, one / 2] for one in units]
    assert (turns.mean_s, turns.part.tolist()) == (sum(units) / 3, part)


def test_the_deviation_is_the_distance_from_the_targets():
    # from last to first
    graph = cg.dag.Graph(
        np.arange(5.0, 17.0),
        np.zeros(12),
        [(node + 1, node) for node in range(11)],
        np.zeros(11),
    )
    problem = cg.dag.Problem(graph, cg.dag.Servers(3, tflops=(1.0, 2.0)).platform())
    agent = Agent(Turns(problem))
    targets = np.random.default_rng(1).uniform(10, 80, (2, 12))
    plans = agent.explore(targets)
    assert agent.deviations == pytest.approx(
        np.abs(targets - node_loads_s(problem, plans)).sum(axis=1).tolist()
    )


@pytest.mark.parametrize("paced", [False, True])
def test_goals_of_an_episode_of_two_turns(monkeypatch, paced):
    # works 2 and 2, targets 4 and 3, mean load 2: on one GPU -|4 - 2| / 2, paced
    # -|4 - 4| / 2; then -|3 - 4| / 2
    seen = []
    monkeypatch.setattr(
        "cgrsp_simpy.papers.dag.searches.double_q",
        lambda *given: seen.append(given) or double_q(*given),
    )
    platform = cg.dag.Servers(2, tflops=(1.0,), memory_gb=1.0).platform()
    platform.memory_mb[1] = 10
    turns = Turns(
        cg.dag.Problem(cg.dag.Graph([2, 2], [500, 500], [(0, 1)], [0]), platform), paced
    )
    agent = Agent(turns)
    agent.explore(np.array([[4.0, 3.0]]))
    agent.learn()
    reward, gamma, online, _ = (np.concatenate(parts) for parts in zip(*seen))
    first = gamma == 0.97
    assert set(gamma.tolist()) == {0.97, 0}
    assert set(reward[first].tolist()) == {0.0 if paced else -1.0}
    assert set(reward[~first].tolist()) == {-0.5}
    assert (online[:, 1] == -np.inf).all() and np.isfinite(online[:, 0]).all()


def learn(agent, targets, episodes):
    for _ in range(episodes):
        agent.explore(targets)
        agent.learn()


def by_chance(problem, targets):
    """The distance of random plans from the targets."""
    plans = random_units(problem, 1000, np.random.default_rng(0))
    return np.abs(targets - node_loads_s(problem, plans)).sum(axis=1).mean()


@pytest.mark.slow
def test_the_agent_learns_to_put_all_on_one_gpu_if_that_is_hoped_for():
    problem = twelve()
    agent = Agent(Turns(problem))
    targets = np.full((1, 12), problem.graph.work_tflop.sum())
    learn(agent, targets, 60)
    own = np.abs(targets - node_loads_s(problem, agent.plan(targets))).sum()
    assert own < 0.5 * by_chance(problem, targets)


def test_random_choices_go_to_gpus_with_the_memory():
    platform = cg.dag.Servers(3, tflops=(1.0,), memory_gb=1.0).platform()
    platform.memory_mb[1] = 10
    problem = cg.dag.Problem(
        cg.dag.Graph(np.ones(20), np.full(20, 500), np.empty((0, 2)), np.empty(0)),
        platform,
    )
    plans = Agent(Turns(problem), training=Training(epsilon=1.0)).explore(
        np.full((30, 20), 7.0)
    )
    assert set(plans.ravel().tolist()) == {0, 2}


def test_the_agent_alone_stops_learning_after_its_episodes(monkeypatch):
    learned = []
    monkeypatch.setattr(Agent, "learn", lambda agent: learned.append(agent))
    assert ddqn(twelve(), Budget(evaluations=12), episodes=3).evaluations == 12
    assert len(learned) == 3


def test_the_target_network_is_copied_at_a_fixed_interval():
    agent = Agent(Turns(twelve()), training=Training(updates=5, sync_every=10))
    first = agent.online.flat.copy()
    assert (agent.target.flat == first).all()
    agent.explore(np.full((1, 12), 42.0))
    agent.learn()
    assert (agent.target.flat == first).all() and (agent.online.flat != first).any()
    agent.learn()
    assert (agent.target.flat == agent.online.flat).all()


test_bad_parameters_are_named = refusals(
    *(
        (name, value, rf"^{name}\(")
        for name, value in (
            ("gamma", 1.1),
            ("epsilon", -0.1),
            ("learning_rate", 0),
            ("batch", 0),
            ("buffer", 1.5),
            ("sync_every", 0),
            ("updates", -1),
            ("episodes", 0),
            ("paced", 1),
        )
    ),
    call=lambda name, value: ddqn(twelve(), Budget(evaluations=1), **{name: value}),
)
