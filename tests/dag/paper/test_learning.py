"""The network, its optimiser, and the agent that learns with them: gradients, goals
and deviations.
"""

import numpy as np
import pytest

from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.dag.paper.distance import node_loads_s
from cgrsp_simpy.dag.paper.learning import Adam, Agent, Network, Training, Turns, ddqn, double_q
from cgrsp_simpy.dag.paper.whales import greedy
from cgrsp_simpy.dag.platform import Servers
from cgrsp_simpy.dag.problem import Problem
from cgrsp_simpy.dag.search import Budget, random_units
from cgrsp_simpy.model.checks import InputError


def twelve() -> Problem:
    """12 nodes without edges, of work 5 to 16, on 3 equal GPUs."""
    return Problem(
        Graph(np.arange(5.0, 17.0), np.zeros(12), np.empty((0, 2)), np.empty(0)),
        Servers(3, tflops=(1.0,)).platform(),
    )


def test_the_network_is_matrices_with_relu_between():
    network = Network((2, 2, 1), np.random.default_rng(0))
    (first, first_bias), (last, last_bias) = network.layers
    first[:], first_bias[:], last[:], last_bias[:] = [[1, -1], [2, 1]], [0, -1], [[3], [5]], [7]
    assert network(np.array([[1.0, 1.0], [1.0, 4.0]])).tolist() == [
        [3 * 3 + 5 * 0 + 7],
        [3 * 9 + 5 * 2 + 7],
    ]


def test_what_is_worked_out_ahead_gives_the_same():
    network = Network((7, 5, 4, 3), np.random.default_rng(1))
    network.flat += 0.1
    inputs = np.random.default_rng(2).normal(size=(6, 7))
    assert network(inputs[:, :3], network.ahead(inputs[:, 3:])) == pytest.approx(
        network(inputs), abs=1e-12
    )


def test_first_weights_have_the_variance_of_he():
    weights, biases = Network((400, 300, 2), np.random.default_rng(3)).layers[0]
    # 4 standard errors
    assert weights.var() == pytest.approx(2 / 400, rel=4 * np.sqrt(2 / weights.size))
    assert not biases.any()


def test_the_gradient_is_that_of_differences():
    network, random = Network((4, 6, 5, 3), np.random.default_rng(4)), np.random.default_rng(5)
    network.flat += 0.05
    inputs, chosen, goal = (
        random.normal(size=(8, 4)),
        random.integers(0, 3, 8),
        random.normal(size=8),
    )

    def loss() -> float:
        return float(np.mean((goal - network(inputs)[np.arange(8), chosen]) ** 2))

    gradient = network.gradient(inputs, chosen, goal)
    for place in range(len(network.flat)):
        kept = network.flat[place]
        network.flat[place] = kept + 1e-6
        above = loss()
        network.flat[place] = kept - 1e-6
        assert gradient[place] == pytest.approx((above - loss()) / 2e-6, abs=1e-7)
        network.flat[place] = kept


def test_two_steps_of_adam_by_hand():
    # gradients 3, then 1: means 0.3 and 0.37 of 0.1 and 0.19; squares 0.009 and 0.009991 of
    # 0.001 and 0.001999
    flat = np.array([5.0])
    adam = Adam(flat, learning_rate=0.1)
    adam.step(np.array([3.0]))
    assert flat[0] == pytest.approx(5 - 0.1)
    adam.step(np.array([1.0]))
    assert flat[0] == pytest.approx(4.9 - 0.1 * (0.37 / 0.19) / np.sqrt(0.009991 / 0.001999))


def test_adam_reaches_the_least_squares_of_a_line():
    random = np.random.default_rng(6)
    inputs = random.normal(size=(50, 2))
    goal = inputs @ [1.5, -0.5] + 0.3 + random.normal(size=50)
    network, rows = Network((2, 1), random), np.zeros(50, dtype=np.int64)
    adam = Adam(network.flat, learning_rate=0.01)
    for _ in range(2000):
        adam.step(network.gradient(inputs, rows, goal))
    best = np.linalg.lstsq(np.column_stack((inputs, np.ones(50))), goal)[0]
    assert network.flat == pytest.approx(best, abs=1e-3)


def test_double_q_takes_the_action_of_one_network_and_the_worth_of_the_other():
    online, target = (
        np.array([[1.0, 5.0], [2.0, 0.0], [9.0, 1.0]]),
        np.array([[10.0, 20.0], [30.0, 40.0], [50.0, 60.0]]),
    )
    # the third ends an episode
    goal = double_q(np.array([-1.0, -2.0, -3.0]), np.array([0.5, 0.5, 0.0]), online, target)
    assert goal.tolist() == [-1 + 10, -2 + 15, -3]


def test_turns_are_those_of_the_units_first_nodes():
    # 3 before 1 before 0; 2 is free, and with 0 it is a unit: so 2 (and 0), 3, 1
    graph = Graph([1, 2, 4, 8], np.zeros(4), [(3, 1), (1, 0)], [0, 0], unit=[0, 1, 0, 2])
    turns = Turns(Problem(graph, Servers(2, tflops=(1.0, 2.0)).platform()), paced=True)
    assert turns.unit.tolist() == [0, 2, 1]
    assert turns.first.tolist() == [2, 1, 3]
    assert turns.time_s.tolist() == [[5, 2.5], [2, 1], [8, 4]]
    assert turns.mean_s == 15 / 3
    assert turns.part.tolist() == [5 / 15, 15 / 15, 13 / 15]


def test_the_deviation_is_the_distance_from_the_hopes():
    graph = Graph(
        np.arange(5.0, 17.0), np.zeros(12), [(node + 1, node) for node in range(11)], np.zeros(11)
    )  # from last to first
    problem = Problem(graph, Servers(3, tflops=(1.0, 2.0)).platform())
    agent, hopes = Agent(Turns(problem)), np.random.default_rng(1).uniform(10, 80, (2, 12))
    plans = agent.explore(hopes)
    assert agent.deviations == pytest.approx(
        np.abs(hopes - node_loads_s(problem, plans)).sum(axis=1).tolist()
    )


@pytest.mark.parametrize("paced", [False, True])
def test_goals_of_an_episode_of_two_turns(monkeypatch, paced):
    # works 2 and 2, hopes 4 and 3, mean load 2: on one GPU -|4 - 2| / 2, paced -|4 - 4| / 2;
    # then -|3 - 4| / 2
    seen = []
    monkeypatch.setattr(
        "cgrsp_simpy.dag.paper.learning.double_q",
        lambda *given: seen.append(given) or double_q(*given),
    )
    platform = Servers(2, tflops=(1.0,), memory_gb=1.0).platform()
    platform.memory_mb[1] = 10
    turns = Turns(Problem(Graph([2, 2], [500, 500], [(0, 1)], [0]), platform), paced)
    agent = Agent(turns)
    agent.explore(np.array([[4.0, 3.0]]))
    agent.learn()
    reward, gamma, online, _ = (np.concatenate(parts) for parts in zip(*seen))
    first = gamma == 0.97
    assert set(gamma.tolist()) == {0.97, 0}
    assert set(reward[first].tolist()) == {0.0 if paced else -1.0}
    assert set(reward[~first].tolist()) == {-0.5}
    assert (online[:, 1] == -np.inf).all() and np.isfinite(online[:, 0]).all()


def learn(agent, hopes, episodes):
    for _ in range(episodes):
        agent.explore(hopes)
        agent.learn()


def by_chance(problem, hopes):
    """How far random plans are from what is hoped for."""
    plans = random_units(problem, 1000, np.random.default_rng(0))
    return np.abs(hopes - node_loads_s(problem, plans)).sum(axis=1).mean()


@pytest.mark.slow
def test_the_agent_learns_to_meet_even_hopes_if_loads_are_paced():
    problem = twelve()
    turns = Turns(problem, paced=True)
    agent, hopes = Agent(turns, training=Training(updates=16)), np.full((1, 12), turns.mean_s)
    learn(agent, hopes, 300)
    assert np.mean(agent.deviations[-50:]) < 0.5 * by_chance(problem, hopes)
    assert np.mean(agent.deviations[-50:]) < 0.5 * np.mean(agent.deviations[:20])


def test_the_agent_learns_to_put_all_on_one_gpu_if_that_is_hoped_for():
    problem = twelve()
    agent, hopes = Agent(Turns(problem)), np.full((1, 12), problem.graph.work_tflop.sum())
    learn(agent, hopes, 60)
    own = np.abs(hopes - node_loads_s(problem, agent.plan(hopes))).sum()
    assert own < 0.5 * by_chance(problem, hopes)


def test_the_printed_rewards_sum_up_to_the_same_for_an_even_and_an_uneven_plan():
    # 8 nodes of 1 s hope for 4 s on 2 GPUs. 4 and 4: twice 3 + 2 + 1 + 0. 8 and 0:
    # 3 + 2 + 1 + 0 + 1 + 2 + 3 + 4; only the last node's own second is between them. That is why
    # such hopes are met by paced loads alone.
    graph = Graph(np.ones(8), np.zeros(8), np.empty((0, 2)), np.empty(0))
    printed, paced = (
        Turns(Problem(graph, Servers(2, tflops=(1.0,)).platform()), paced)
        for paced in (False, True)
    )
    hopes = np.full((1, 8), 4.0)
    assert np.bincount(greedy(printed, hopes)[0]).tolist() == [7, 1]
    assert np.bincount(greedy(paced, hopes)[0]).tolist() == [4, 4]
    even, uneven = (
        sum(abs(4 - load) for number in plan for load in range(1, number + 1))
        for plan in ((4, 4), (8, 0))
    )
    assert (even, uneven) == (12, 16)


def test_random_choices_go_to_gpus_with_the_memory():
    platform = Servers(3, tflops=(1.0,), memory_gb=1.0).platform()
    platform.memory_mb[1] = 10
    problem = Problem(Graph(np.ones(20), np.full(20, 500), np.empty((0, 2)), np.empty(0)), platform)
    plans = Agent(Turns(problem), training=Training(epsilon=1.0)).explore(np.full((30, 20), 7.0))
    assert set(plans.ravel().tolist()) == {0, 2}


def test_after_its_episodes_the_agent_alone_learns_no_more(monkeypatch):
    learned = []
    monkeypatch.setattr(Agent, "learn", lambda agent: learned.append(agent))
    assert ddqn(twelve(), Budget(evaluations=12), episodes=3).evaluations == 12
    assert len(learned) == 3


def test_the_target_network_is_a_copy_of_every_so_many_updates():
    agent = Agent(Turns(twelve()), training=Training(updates=5, sync_every=10))
    first = agent.online.flat.copy()
    assert (agent.target.flat == first).all()
    agent.explore(np.full((1, 12), 42.0))
    agent.learn()
    assert (agent.target.flat == first).all() and (agent.online.flat != first).any()
    agent.learn()
    assert (agent.target.flat == agent.online.flat).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gamma": 1.1}, "gamma"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"batch": 0}, "batch"),
        ({"buffer": 1.5}, "buffer"),
        ({"sync_every": 0}, "sync_every"),
        ({"updates": -1}, "updates"),
        ({"episodes": 0}, "episodes"),
        ({"paced": 1}, "paced"),
    ],
)
def test_bad_parameters_are_named(given, message):
    with pytest.raises(InputError, match=rf"^{message}\("):
        ddqn(twelve(), Budget(evaluations=1), **given)
