"""The paper's searches: RTGS, WOA, DDQN and WORL-RTGS.

RTGS moves whales (plans) by targets: GPU loads per unit. WOA moves them by GPU numbers.
DDQN builds plans by a double deep Q-network, WORL-RTGS by the network and targets.
Nodes of a unit are placed together (not in the paper).

Source: worl-rtgs.txt Sections 4.1 and 4.3, Algorithms 1 and 2; RTGS also Du, Ji, Wu,
Hou and Nie (2025), Scheduling DAG-structured workloads based on whale optimization
algorithm, J. Supercomput. 81, 911.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import Parameter, signature
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.base.arrays import Bools, Floats, Ints
from cgrsp_simpy.base.parameters import (
    Count,
    Fraction,
    NotNegative,
    Positive,
    checked,
    declared,
    parameter,
)
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.dag.listing import run_order
from cgrsp_simpy.dag.problem import Problem
from cgrsp_simpy.dag.search import Budget, Search, Solution, random_units
from cgrsp_simpy.papers.dag.distance import node_loads_s

HIDDEN = (128, 64)  # units of the hidden layers, printed
Move = Callable[[Generator, Any, Any, Floats, Bools], Any]
"""(generator, target, current positions, factor, spiral) -> next positions.

The target is the leader or a random whale, the factor A or e^{bl} cos(2 pi l). Shape
(whales, units); spiral, whether the factor is a spiral's: (whales, 1).
"""


class Turns:
    """The order in which plans are built, and the forecast of GPU loads.

    unit: the unit at each turn, shape (units,), by first node in topological order.
    turn: the turn per unit. first: first node per unit. time_s: shape (units, gpus).
    mean_s: load per GPU if all GPUs ended together: total work over total speed (our
    choice).

    part: divisor of a GPU's load before comparison with its target load. It is 1 in the
    authors' program, which thus compares a partial load with an estimate of the total
    load; if paced (not in the paper), it is the share of all work placed so far.
    """

    @checked
    def __init__(self, problem: Problem, paced: bool = False) -> None:
        graph = problem.graph
        place = np.unique(graph.unit[graph.order], return_index=True)[1]
        self.problem = problem
        self.first = graph.order[place]
        self.unit = np.argsort(place)
        self.turn = np.argsort(self.unit)
        self.time_s = problem.unit_s
        self.mean_s = float(graph.work_tflop.sum() / problem.platform.tflops.sum())
        self.work_tflop = np.bincount(graph.unit, graph.work_tflop)
        self.part = np.ones(graph.units)
        if paced:
            done = np.cumsum(self.work_tflop[self.unit])
            self.part[self.unit] = np.divide(
                done, done[-1], out=self.part.copy(), where=done > 0
            )


# ---- whales ----


def target_loads(
    target: Floats, current: Floats, factor: Floats, generator: Generator
) -> Floats:
    """Return the loads target +- factor (target - current) (Equations 43, 45, 50).

    All are loads, seconds; they may be negative, as in the authors' program.
    """
    sign = generator.choice((-1.0, 1.0), current.shape)
    return target + sign * factor * (target - current)


def greedy(turns: Turns, targets: Floats) -> Ints:
    """Place each unit in turn on the GPU whose load comes closest to its target.

    Ties go to the first GPU. The rule is that of the authors' program for nodes. Here a
    whole unit is placed, with the time of all its nodes and the target of its first
    node, on a GPU with enough memory. targets: target loads, seconds; both arrays have
    shape (plans, units).
    """
    plans = np.arange(len(targets))
    load_s = np.zeros((len(targets), turns.time_s.shape[1]))
    answer = np.empty(targets.shape, dtype=np.int64)
    for unit in turns.unit.tolist():
        gap_s = np.abs(
            targets[:, unit, None] - (load_s + turns.time_s[unit]) / turns.part[unit]
        )
        gpu = np.where(turns.problem.fits[unit], gap_s, np.inf).argmin(axis=1)
        load_s[plans, gpu] += turns.time_s[unit, gpu]
        answer[:, unit] = gpu
    return answer


def _by_targets(
    turns: Turns,
    build: Callable[[Floats], Ints],
    generator: Generator,
    target: Any,
    current: Any,
    factor: Floats,
    spiral: Bools,  # noqa: ARG001, one signature for all moves
) -> Ints:
    lead_s, current_s = (
        node_loads_s(turns.problem, plans[:, turns.problem.graph.unit])[:, turns.first]
        for plans in (target, current)
    )
    return build(target_loads(lead_s, current_s, factor, generator))


def by_number(
    gpus: int,
    generator: Generator,
    target: Any,
    current: Any,
    factor: Floats,
    spiral: Bools,
) -> Floats:
    """Move whales as in Section 4.1; positions are real GPU numbers, here clipped.

    C is drawn per unit and is 1 in the spiral.
    """
    c = np.where(spiral, 1.0, 2 * generator.random(current.shape))
    return np.asarray(
        np.clip(target + factor * np.abs(c * target - current), 0, gpus - 1)
    )


def _plans(problem: Problem, positions: Any) -> Ints:
    """Round positions to the nearest GPU that has enough memory."""
    away = np.abs(np.asarray(positions)[:, :, None] - np.arange(problem.platform.gpus))
    return np.asarray(np.where(problem.fits, away, np.inf).argmin(axis=2))


def factors(
    a: float, b: float, shape: tuple[int, int], generator: Generator
) -> tuple[Floats, Bools]:
    """Return the factors, (whales, units), and whether a whale spirals, (whales, 1).

    Equations 33, 45 and 46. A is drawn per whale, l per unit.
    """
    around = 2 * a * generator.random((shape[0], 1)) - a
    turn = generator.uniform(-1, 1, shape)
    spiral = generator.random((shape[0], 1)) >= 0.5
    return np.where(spiral, np.exp(b * turn) * np.cos(2 * np.pi * turn), around), spiral


@checked
def _hunt(
    search: Search,
    seed: int,
    move: Move,
    whales: Count,
    iterations: Count,
    b: NotNegative,
) -> Solution:
    """Run Algorithm 2.

    The leader is the best plan so far. a falls from 2 to 0 over the iterations, or over
    the budget if that ends first. Not in the paper: all whales of an iteration move at
    once; new whales with the same leader use the rest of the budget.
    """
    generator = stream(seed, "whales")
    while not search.over:
        positions: Any = random_units(search.problem, whales, generator)
        search.evaluate(positions)
        begun = search.spent
        for done in range(iterations):
            if search.over:
                return search.solution()
            a = 2 * (1 - max(done / iterations, (search.spent - begun) / (1 - begun)))
            factor, spiral = factors(a, b, positions.shape, generator)
            others = positions[generator.integers(whales, size=whales)]
            target = np.where(spiral | (np.abs(factor) < 1), search.best, others)
            positions = move(generator, target, positions, factor, spiral)
            search.evaluate(_plans(search.problem, positions))
    return search.solution()


def rtgs(
    problem: Problem,
    budget: Budget,
    seed: int = 0,
    whales: int = 10,
    iterations: int = 300,
    b: float = 1.0,
    paced: bool = False,
    order: str = "graph",
) -> Solution:
    """Search by whales whose plans are built by `greedy`.

    b: constant of the spiral. paced: divide a GPU's load by the share of all work
    placed so far, unlike the authors' program. order: order of nodes, see `run_order`.
    worl-rtgs.txt Sections 4.1 and 4.3, Algorithm 2.
    """
    turns = Turns(problem, paced)
    search = Search(problem, budget, "rtgs", run_order(problem, order))
    move = partial(_by_targets, turns, partial(greedy, turns))
    return _hunt(search, seed, move, whales, iterations, b)


def woa(
    problem: Problem,
    budget: Budget,
    seed: int = 0,
    whales: int = 10,
    iterations: int = 300,
    b: float = 1.0,
    order: str = "graph",
) -> Solution:
    """Whale optimisation of GPU numbers, without target loads.

    b: constant of the spiral. order: order of nodes, see `run_order`. worl-rtgs.txt
    Section 4.1.
    """
    search = Search(problem, budget, "woa", run_order(problem, order))
    return _hunt(
        search, seed, partial(by_number, problem.platform.gpus), whales, iterations, b
    )


# ---- the network ----


class Network:
    """Fully connected layers with ReLU between them and none after the last (printed).

    sizes: units per layer, including inputs and outputs. Initial weights as in He,
    Zhang, Ren and Sun (2015), Delving Deep into Rectifiers (the paper prints none),
    biases 0. flat: all parameters, changed in place; layers: views of them (weights,
    biases).
    """

    def __init__(self, sizes: Sequence[int], generator: Generator) -> None:
        self.sizes = tuple(sizes)
        self.flat = np.zeros(
            sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))
        )
        self.layers = self._split(self.flat)
        for weights, _ in self.layers:
            weights[:] = generator.normal(0.0, np.sqrt(2 / len(weights)), weights.shape)

    def _split(self, flat: Floats) -> list[tuple[Floats, Floats]]:
        numbers = [
            size for one, other in pairwise(self.sizes) for size in (one * other, other)
        ]
        parts = np.split(flat, np.cumsum(numbers)[:-1])
        return [
            (one.reshape(-1, len(other)), other)
            for one, other in zip(parts[::2], parts[1::2])
        ]

    def ahead(self, last_inputs: Floats) -> Floats:
        """Return the contribution of the last inputs and bias to the first layer."""
        weights, biases = self.layers[0]
        return last_inputs @ weights[-last_inputs.shape[1] :] + biases

    def through(self, inputs: Floats, ahead: Floats | None = None) -> list[Floats]:
        """Return the inputs of each layer and the outputs, shape (rows, units).

        ahead: contribution of the last inputs, which are then left out of `inputs`.
        """
        weights, biases = self.layers[0]
        layers = [
            inputs,
            inputs @ weights[: inputs.shape[1]] + (biases if ahead is None else ahead),
        ]
        for weights, biases in self.layers[1:]:
            activations = np.maximum(layers[-1], 0.0)
            layers[-1:] = activations, activations @ weights + biases
        return layers

    def gradient(self, inputs: Floats, chosen: Ints, goal: Floats) -> Floats:
        """Return the gradient of the mean of (goal - chosen output)^2, as `flat`."""
        *seen, outputs = self.through(inputs)
        rows = np.arange(len(inputs))
        slope = np.zeros_like(outputs)
        answer = self.flat.copy()
        slope[rows, chosen] = 2 * (outputs[rows, chosen] - goal) / len(inputs)
        for (weights, _), activations, (by_weight, by_bias) in zip(
            self.layers[::-1], seen[::-1], self._split(answer)[::-1]
        ):
            np.matmul(activations.T, slope, out=by_weight)
            by_bias[:] = slope.sum(axis=0)
            if activations is not inputs:
                slope = slope @ weights.T * (activations > 0)
        return answer


# beta 1, beta 2 and epsilon of Adam
MEAN_DECAY, SQUARE_DECAY, LEAST_ROOT = 0.9, 0.999, 1e-8


class Adam:
    """The optimiser Adam, which changes `flat` in place.

    Kingma and Ba (2015), Adam: A Method for Stochastic Optimization, Algorithm 1.
    """

    def __init__(self, flat: Floats, learning_rate: float = 1e-3) -> None:
        self.flat, self.learning_rate, self.steps = flat, learning_rate, 0
        self._mean, self._square, self._change = np.zeros((3, *flat.shape))

    def step(self, gradient: Floats) -> None:
        """Take a step down the gradient."""
        self.steps += 1
        change = self._change
        for moment, decay, by in (
            (self._mean, MEAN_DECAY, 1.0),
            (self._square, SQUARE_DECAY, gradient),
        ):
            moment *= decay
            moment += np.multiply(
                np.multiply(gradient, 1 - decay, out=change), by, out=change
            )
        np.multiply(
            np.sqrt(self._square, out=change),
            1 / np.sqrt(1 - SQUARE_DECAY**self.steps),
            change,
        )
        np.divide(self._mean, np.add(change, LEAST_ROOT, out=change), out=change)
        self.flat -= np.multiply(
            change, self.learning_rate / (1 - MEAN_DECAY**self.steps), out=change
        )


@declared()
class Training:
    """Training of the agent; its fields are parameters of `ddqn` and `worl_rtgs`."""

    gamma: Fraction = parameter(
        "Discount factor, 0 to 1, as printed; the paper prints none of the other"
        " parameters.",
        default=0.97,
    )
    epsilon: Fraction = parameter(
        "Share of random choices during exploration, 0 to 1.", default=0.1
    )
    learning_rate: Positive = parameter(
        "Learning rate of the network, > 0.", default=1e-3
    )
    updates: Count = parameter(
        "Number of mini-batches after each episode, or after one episode per"
        " whale; the paper draws one per node.",
        default=32,
    )
    batch: Count = parameter("Number of transitions per mini-batch.", default=32)
    buffer: Count = parameter(
        "Number of episodes in the replay memory, with all their transitions.",
        default=50,
    )
    sync_every: Count = parameter(
        "Number of updates between two copies of the network to the target network.",
        default=100,
    )


AS_SET = Training()
FIELDS = signature(Training).parameters.values()


class Agent:
    """A double deep Q-network that estimates the value of each GPU for the next unit.

    State: turn, GPU loads, target loads and work of all units, 2n + m + 1 numbers as
    printed, but scaled to about 1. Reward: -|target - load of the GPU with the unit|,
    scaled likewise; the minus sign is missing in print. GPUs without enough memory are
    never chosen. deviations: LoD per explored episode, seconds.
    """

    def __init__(
        self, turns: Turns, seed: int = 0, training: Training = AS_SET
    ) -> None:
        self.turns, self.training, (units, gpus) = turns, training, turns.time_s.shape
        self._scale_s = turns.mean_s or 1.0
        self._works = turns.work_tflop[turns.unit] / (turns.work_tflop.mean() or 1.0)
        self._time = turns.time_s[turns.unit] / self._scale_s
        self._part = turns.part[turns.unit]
        self._fits = turns.problem.fits[turns.unit]
        self._random = stream(seed, "exploration")
        self.online, self.target = (
            Network((2 * units + gpus + 1, *HIDDEN, gpus), stream(seed, "network"))
            for _ in range(2)
        )
        self._adam = Adam(self.online.flat, training.learning_rate)
        # buffer: one row per episode, one column per turn; loads also after the last
        self._targets = np.empty((training.buffer, units))
        self._loads = np.empty((training.buffer, units + 1, gpus))
        self._chosen = np.empty((training.buffer, units), dtype=np.int64)
        self.deviations: list[float] = []

    def explore(self, targets: Floats) -> Ints:
        """Run and store one episode per row of target loads; return the plans.

        targets: target loads, seconds; both have shape (plans, units).
        """
        targets = targets[:, self.turns.unit] / self._scale_s
        loads, chosen = self._act(targets, self.training.epsilon)
        rows = (len(self.deviations) + np.arange(len(targets))) % self.training.buffer
        self._targets[rows] = targets
        self._loads[rows] = loads
        self._chosen[rows] = chosen
        reached = np.take_along_axis(loads[:, -1], chosen, axis=1)
        self.deviations += (
            np.abs(targets - reached).sum(axis=1) * self._scale_s
        ).tolist()
        return chosen[:, self.turns.turn]

    def plan(self, targets: Floats) -> Ints:
        """Return the current network's plans, (plans, units) (Algorithm 1, line 18)."""
        return self._act(targets[:, self.turns.unit] / self._scale_s, 0.0)[1][
            :, self.turns.turn
        ]

    def _act(self, targets: Floats, epsilon: float) -> tuple[Floats, Ints]:
        """Return loads (plans, units + 1, gpus) and chosen GPUs (plans, units)."""
        plans, units = targets.shape
        loads = np.zeros((plans, units + 1, self._time.shape[1]))
        rows = np.arange(plans)
        chosen = random_units(self.turns.problem, plans, self._random)[
            :, self.turns.unit
        ]
        greedy = self._random.random((plans, units)) >= epsilon
        ahead = self.online.ahead(self._constant(targets))
        for turn in range(units):
            worth = self.online.through(
                self._moving(np.full(plans, turn), loads[:, turn]), ahead
            )
            best = np.where(self._fits[turn], worth[-1], -np.inf).argmax(axis=1)
            on = chosen[:, turn] = np.where(greedy[:, turn], best, chosen[:, turn])
            loads[:, turn + 1] = loads[:, turn]
            loads[rows, turn + 1, on] += self._time[turn, on]
        return loads, chosen

    def _moving(self, turn: Ints, loads: Floats) -> Floats:
        return np.column_stack((turn / len(self._works), loads))

    def _constant(self, targets: Floats) -> Floats:
        return np.column_stack((targets, np.broadcast_to(self._works, targets.shape)))

    def learn(self) -> None:
        """Learn from mini-batches (Algorithm 1, lines 12 to 17), here per episode."""
        draw, training, units = self._random.integers, self.training, len(self._works)
        for _ in range(training.updates):
            row = draw(min(len(self.deviations), training.buffer), size=training.batch)
            turn = draw(units, size=training.batch)
            constant = self._constant(self._targets[row])
            on = self._chosen[row, turn]
            last = turn + 1 == units
            state, after = (
                np.hstack((self._moving(at, self._loads[row, at]), constant))
                for at in (turn, turn + 1)
            )
            load = self._loads[row, turn + 1, on] / self._part[turn]
            goal = double_q(
                -np.abs(self._targets[row, turn] - load),
                training.gamma * ~last,
                np.where(
                    self._fits[np.where(last, turn, turn + 1)],
                    self.online.through(after)[-1],
                    -np.inf,
                ),
                self.target.through(after)[-1],
            )
            self._adam.step(self.online.gradient(state, on, goal))
            if self._adam.steps % training.sync_every == 0:
                self.target.flat[:] = self.online.flat


def double_q(reward: Floats, gamma: Floats, online: Floats, target: Floats) -> Floats:
    """Return the target values y of double Q-learning (worl-rtgs.txt Section 4.3.4).

    reward, gamma: shape (rows,), gamma 0 at the end of an episode. online, target:
    values by both networks in the next state, shape (rows, actions).
    """
    best = online.argmax(axis=1)
    return np.asarray(reward + gamma * target[np.arange(len(reward)), best])


def _learns(search: Callable[..., Solution]) -> Callable[..., Solution]:
    """Add the fields of `Training` to the signature of a search."""
    plain = signature(search)
    *named, _ = plain.parameters.values()
    more = [field.replace(kind=Parameter.KEYWORD_ONLY) for field in FIELDS]
    search.__signature__ = plain.replace(  # type: ignore[attr-defined]
        parameters=[*named, *more]
    )
    return search


@_learns
@checked
def ddqn(
    problem: Problem,
    budget: Budget,
    seed: int = 0,
    episodes: Count = 1000,
    paced: bool = False,
    order: str = "graph",
    **training: Any,
) -> Solution:
    """The agent alone, with the mean load as every target: one plan per episode.

    episodes: number of episodes in which the agent learns, as printed; then it only
    explores until the budget is spent. paced, order: as in `rtgs`; the agent does not
    know the order. training: fields of `Training`. worl-rtgs.txt Section 4.3.4,
    Algorithm 1.
    """
    search = Search(problem, budget, "ddqn", run_order(problem, order))
    agent = Agent(Turns(problem, paced), seed, Training(**training))
    targets = np.full((1, problem.graph.units), agent.turns.mean_s)
    while not search.over:
        search.evaluate(agent.explore(targets))
        if len(agent.deviations) <= episodes:
            agent.learn()
    return search.solution()


@_learns
@checked
def worl_rtgs(
    problem: Problem,
    budget: Budget,
    seed: int = 0,
    whales: int = 10,
    iterations: int = 300,
    b: float = 1.0,
    episodes: Count = 1,
    paced: bool = False,
    order: str = "graph",
    **training: Any,
) -> Solution:
    """Search by whales; the agent, trained with their targets, builds their plans.

    One agent serves the whole search; the whales of an iteration are parallel episodes.
    whales, iterations, b, paced, order: as in `rtgs`. episodes: number before each
    plan; Algorithm 1 instead trains a new network for each position in 1000. training:
    fields of `Training`. worl-rtgs.txt Sections 4.1 and 4.3, Algorithms 1 and 2.
    """
    search = Search(problem, budget, "worl-rtgs", run_order(problem, order))
    agent = Agent(Turns(problem, paced), seed, Training(**training))

    def build(targets: Floats) -> Ints:
        for _ in range(episodes):
            agent.explore(targets)
            agent.learn()
        return agent.plan(targets)

    return _hunt(
        search, seed, partial(_by_targets, agent.turns, build), whales, iterations, b
    )
