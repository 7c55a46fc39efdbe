"""Whale optimisation: RTGS and WORL-RTGS, which move whales by the loads that their nodes hope
for, and plain WOA.

Source: worl-rtgs.txt Sections 4.1 and 4.3, Algorithm 2; RTGS also Du, Ji, Wu, Hou and Nie (2025),
Scheduling DAG-structured workloads based on whale optimization algorithm, J. Supercomput. 81, 911.
A whale is a plan, a GPU for each unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from cgrsp_simpy.dag.graph import Floats, Ints
from cgrsp_simpy.dag.listing import run_order
from cgrsp_simpy.dag.paper.distance import node_loads_s
from cgrsp_simpy.dag.paper.learning import TRAINING, Agent, Training, Turns
from cgrsp_simpy.dag.problem import Problem
from cgrsp_simpy.dag.search import Budget, Search, Solution, of_parts, random_units
from cgrsp_simpy.model.checks import check_fields, check_number, check_whole
from cgrsp_simpy.model.streams import stream

Build = Callable[[Floats], Ints]
"""From hopes of the units, seconds, to plans; both of shape (plans, units)."""

Bools = npt.NDArray[np.bool_]
Move = Callable[[Any, Any, Floats, Bools], Any]
"""From target (the leader, or a random whale) and current positions, factor (A, or e^{bl} cos(2
pi l)) and whether it is a spiral's, shape (whales, 1), to the next positions; all others of shape
(whales, units).
"""


def hopes(target: Floats, current: Floats, factor: Floats, generator: Generator) -> Floats:
    """Target +- factor (target - current), a sign drawn for each number (Equations 43, 45 and 50).

    All are arrays of loads, seconds. Hopes below 0 stay, as in the authors' program.
    """
    sign = generator.choice((-1.0, 1.0), current.shape)
    return target + sign * factor * (target - current)


def greedy(turns: Turns, hopes: Floats) -> Ints:
    """Plans built turn by turn: each unit goes to the GPU whose load with it is nearest to its
    hope; of equals, to the first.

    The rule is the authors' program's, for nodes. That a unit goes at once, with the time of all
    its nodes and the hope of its first, is ours, and so is that GPUs without the memory are left
    out. hopes: seconds, shape (plans, units), as the answer.
    """
    load_s, rows = np.zeros((len(hopes), turns.time_s.shape[1])), np.arange(len(hopes))
    answer = np.empty(hopes.shape, dtype=np.int64)
    for unit in turns.unit.tolist():
        gap_s = np.abs(hopes[:, unit, None] - (load_s + turns.time_s[unit]) / turns.part[unit])
        answer[:, unit] = on = np.where(turns.problem.fits[unit], gap_s, np.inf).argmin(axis=1)
        load_s[rows, on] += turns.time_s[unit, on]
    return answer


def _by_hopes(
    turns: Turns,
    build: Build,
    generator: Generator,
    target: Any,
    current: Any,
    factor: Floats,
    spiral: Bools,  # noqa: ARG001, one signature for all moves
) -> Ints:
    """Whales go where the loads are nearest to the hopes of their units, which are those of the
    units' first nodes.
    """
    unit = turns.problem.graph.unit
    lead_s, current_s = (
        node_loads_s(turns.problem, plans[:, unit])[:, turns.first] for plans in (target, current)
    )
    return build(hopes(lead_s, current_s, factor, generator))


def by_number(
    gpus: int, generator: Generator, target: Any, current: Any, factor: Floats, spiral: Bools
) -> Floats:
    """Whales go as in Section 4.1: positions are numbers of GPUs, not whole, clipped to those that
    there are (ours).

    C is drawn for each unit; it has no part in the spiral. A and -A are equally likely, so that one
    formula does for all.
    """
    c = np.where(spiral, 1.0, 2 * generator.random(current.shape))
    return np.asarray(np.clip(target + factor * np.abs(c * target - current), 0, gpus - 1))


def _plans(problem: Problem, positions: Any) -> Ints:
    """Positions as plans: the nearest GPU that has the memory. What is a plan stays as it is."""
    away = (
        np.where(problem.fits, np.abs(row[:, None] - np.arange(problem.platform.gpus)), np.inf)
        for row in positions
    )
    return np.array([distance.argmin(axis=1) for distance in away])


def factors(
    a: float, b: float, shape: tuple[int, int], generator: Generator
) -> tuple[Floats, Bools]:
    """Factor of each whale, shape (whales, units), and whether it is a spiral's, shape (whales, 1)
    (Equations 33, 45 and 46).

    A is drawn for each whale, l for each unit.
    """
    around = 2 * a * generator.random((shape[0], 1)) - a
    turn = generator.uniform(-1, 1, shape)
    spiral = generator.random((shape[0], 1)) >= 0.5
    return np.where(spiral, np.exp(b * turn) * np.cos(2 * np.pi * turn), around), spiral


@dataclass(frozen=True)
class Hunt:
    """How whales hunt.

    whales: their number. iterations: of moves. b: of the spiral. All printed.
    """

    whales: int = 10
    iterations: int = 300
    b: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self, check_whole, "whales", "iterations", least=1)
        check_number("b", self.b)


HUNT = Hunt()


def _hunt(search: Search, move: Move, generator: Generator, hunt: Hunt) -> Solution:
    """Algorithm 2.

    The leader is the best plan so far. All whales of an iteration move from where all were
    before it (ours).

    a falls from 2 to 0 over the iterations, or over the budget if that ends first. If it does
    not, new whales are drawn, a begins anew with what is left of the budget, and the leader
    stays (ours).
    """
    whales, iterations = hunt.whales, hunt.iterations
    while not search.over:
        positions: Any = random_units(search.problem, whales, generator)
        search.evaluate(positions)
        begun = search.spent
        for done in range(iterations):
            if search.over:
                break
            a = 2 * (1 - max(done / iterations, (search.spent - begun) / (1 - begun)))
            factor, spiral = factors(a, hunt.b, positions.shape, generator)
            others = positions[generator.integers(whales, size=whales)]
            target = np.where(spiral | (np.abs(factor) < 1), search.best, others)
            positions = move(target, positions, factor, spiral)
            search.evaluate(_plans(search.problem, positions))
    return search.found()


@of_parts
def rtgs(
    problem: Problem,
    budget: Budget,
    seed: int = 0,
    hunt: Hunt = HUNT,
    paced: bool = False,
    order: str = "graph",
) -> Solution:
    """Whales whose plans are built by `greedy`.

    problem: a graph and its GPUs. budget: when the search ends. seed: of its random numbers.
    whales: their number, >= 1. iterations: of moves, >= 1. b: of the spiral. paced: foretell the
    load of a GPU by the share of all work that is placed (ours), not as in the authors' program.
    order: in which the nodes run, as of `run_order`; plans are built in that of `Turns`, whichever
    is given. Result: the best plan. worl-rtgs.txt Sections 4.1 and 4.3, Algorithm 2.
    """
    turns, generator = Turns(problem, paced), stream(seed, "whales")
    move = partial(_by_hopes, turns, partial(greedy, turns), generator)
    return _hunt(Search(problem, budget, "rtgs", run_order(problem, order)), move, generator, hunt)


@of_parts
def woa(
    problem: Problem, budget: Budget, seed: int = 0, hunt: Hunt = HUNT, order: str = "graph"
) -> Solution:
    """Whale optimisation alone, on the numbers of the GPUs.

    problem: a graph and its GPUs. budget: when the search ends. seed: of its random numbers.
    whales: their number, >= 1. iterations: of moves, >= 1. b: of the spiral. order: in which the
    nodes run, as of `run_order`. Result: the best plan. worl-rtgs.txt Section 4.1.
    """
    generator = stream(seed, "whales")
    move = partial(by_number, problem.platform.gpus, generator)
    return _hunt(Search(problem, budget, "woa", run_order(problem, order)), move, generator, hunt)


@of_parts
def worl_rtgs(
    problem: Problem,
    budget: Budget,
    seed: int = 0,
    hunt: Hunt = HUNT,
    episodes: int = 1,
    training: Training = TRAINING,
    paced: bool = False,
    order: str = "graph",
) -> Solution:
    """Whales whose plans are built by the agent, after so many episodes with their hopes.

    One agent serves the whole search, and the whales of an iteration are its episodes side by side.
    Algorithm 1 has a new network for each position, and 1000 episodes to teach it: days a search of
    300 nodes. So 1 is ours.

    problem: a graph and its GPUs. budget: when the search ends. seed: of its random numbers.
    whales, iterations, b: as of `woa`. episodes: of the agent with the whales' hopes before each
    plan, >= 1. gamma, epsilon, learning_rate, updates, batch, buffer, sync_every: as of `ddqn`.
    paced, order: as of `rtgs`. Result: the best plan. worl-rtgs.txt Sections 4.1 and 4.3,
    Algorithms 1 and 2.
    """
    check_whole("episodes", episodes, least=1)
    turns, generator = Turns(problem, paced), stream(seed, "whales")
    agent = Agent(turns, seed, training)

    def build(hopes: Floats) -> Ints:
        for _ in range(episodes):
            agent.explore(hopes)
            agent.learn()
        return agent.plan(hopes)

    move = partial(_by_hopes, turns, build, generator)
    return _hunt(
        Search(problem, budget, "worl-rtgs", run_order(problem, order)), move, generator, hunt
    )
