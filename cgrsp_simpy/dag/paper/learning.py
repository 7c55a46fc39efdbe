"""The agent that builds plans from hopes: a double deep Q-network (worl-rtgs.txt Section 4.3.4,
Algorithm 1), a small fully connected network in NumPy with the optimiser that fits it.

Wherever nodes share a unit, the unit takes the place of a node in the paper's words, with the work
of its nodes (ours).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.dag.graph import Floats, Ints
from cgrsp_simpy.dag.listing import run_order
from cgrsp_simpy.dag.problem import Problem
from cgrsp_simpy.dag.search import Budget, Search, Solution, of_parts, random_units
from cgrsp_simpy.model.checks import check_bool, check_fraction, check_number, check_whole
from cgrsp_simpy.model.streams import stream

HIDDEN = (128, 64)  # units of the hidden layers, printed


class Network:
    """Layers of weights and biases, ReLU between them and nothing after the last (printed).

    sizes: units of the layers, inputs and outputs included. The first weights are drawn as in He,
    Zhang, Ren and Sun (2015), Delving Deep into Rectifiers (ours; the paper prints none), the first
    biases are 0. flat: all weights and biases in one vector, to be changed in place; `layers` shows
    it as a pair (weights, biases) a layer.
    """

    def __init__(self, sizes: Sequence[int], generator: Generator) -> None:
        self.sizes = tuple(sizes)
        self.flat = np.zeros(sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes)))
        self.layers = self._split(self.flat)
        for weights, _ in self.layers:
            weights[:] = generator.normal(0.0, np.sqrt(2 / len(weights)), weights.shape)

    def _split(self, flat: Floats) -> list[tuple[Floats, Floats]]:
        """A vector of all parameters as (weights, biases) a layer, without copying."""
        answer, end = [], 0
        for inputs, outputs in pairwise(self.sizes):
            begin, middle = end, end + inputs * outputs
            end = middle + outputs
            answer.append((flat[begin:middle].reshape(inputs, outputs), flat[middle:end]))
        return answer

    def ahead(self, last_inputs: Floats) -> Floats:
        """What the last of the inputs, and the bias, add to the first layer: worked out once
        for many calls.
        """
        weights, biases = self.layers[0]
        return last_inputs @ weights[-last_inputs.shape[1] :] + biases

    def __call__(self, inputs: Floats, ahead: Floats | None = None) -> Floats:
        """Outputs, shape (rows, inputs) -> (rows, outputs); with `ahead` of the last inputs, only
        the others are given.
        """
        weights, biases = self.layers[0]
        values = inputs @ weights[: inputs.shape[1]] + (biases if ahead is None else ahead)
        for weights, biases in self.layers[1:]:
            values = np.maximum(values, 0.0) @ weights + biases
        return values

    def gradient(self, inputs: Floats, chosen: Ints, goal: Floats) -> Floats:
        """Gradient, as `flat`, of the mean of (goal - output)^2 over the rows, where a row counts
        its chosen output alone.
        """
        seen = [inputs]  # what each layer is given
        for weights, biases in self.layers[:-1]:
            seen.append(np.maximum(seen[-1] @ weights + biases, 0.0))
        weights, biases = self.layers[-1]
        outputs, rows = seen[-1] @ weights + biases, np.arange(len(inputs))
        slope = np.zeros_like(outputs)
        slope[rows, chosen] = 2 * (outputs[rows, chosen] - goal) / len(inputs)
        answer = np.empty_like(self.flat)
        for (weights, _), given, (by_weight, by_bias) in zip(
            self.layers[::-1], seen[::-1], self._split(answer)[::-1]
        ):
            np.matmul(given.T, slope, out=by_weight)
            by_bias[:] = slope.sum(axis=0)
            if given is not inputs:
                slope = slope @ weights.T * (given > 0)
        return answer


class Adam:
    """Adam: steps of about the learning rate along the mean gradient. Changes `flat` in place.

    Source: Kingma and Ba (2015), Adam: A Method for Stochastic Optimization, Algorithm 1, with
    its constants.
    """

    def __init__(self, flat: Floats, learning_rate: float = 1e-3) -> None:
        self.flat, self.learning_rate, self.steps = flat, learning_rate, 0
        self._mean, self._square, self._change = np.zeros((3, *flat.shape))

    def step(self, gradient: Floats) -> None:
        """Go a step down the gradient.

        All in place: arrays anew for each term would take five times as long.
        """
        self.steps += 1
        change = self._change
        for moment, of in ((self._mean, 0.9), (self._square, 0.999)):
            moment *= of
            np.multiply(gradient, 1 - of, out=change)
            if moment is self._square:
                change *= gradient
            moment += change
        np.sqrt(self._square, out=change)
        change *= 1 / np.sqrt(1 - 0.999**self.steps)
        change += 1e-8
        np.divide(self._mean, change, out=change)
        change *= self.learning_rate / (1 - 0.9**self.steps)
        self.flat -= change


@dataclass(frozen=True)
class Training:
    """How the agent learns. gamma: discount of the next rewards, printed; all others are ours.

    epsilon: share of the choices that are random while it explores. updates: mini-batches after
    each episode, or after those of all whales; the paper draws one a node. batch: transitions in
    each. buffer: episodes that are remembered, with all their transitions. sync_every: updates from
    one copy of the network to the target network to the next.
    """

    gamma: float = 0.97
    epsilon: float = 0.1
    learning_rate: float = 1e-3
    updates: int = 32
    batch: int = 32
    buffer: int = 50
    sync_every: int = 100

    def __post_init__(self) -> None:
        check_fraction("gamma", self.gamma)
        check_fraction("epsilon", self.epsilon)
        check_number("learning_rate", self.learning_rate, above=0)
        for name in ("updates", "batch", "buffer", "sync_every"):
            check_whole(name, getattr(self, name), least=1)


TRAINING = Training()  # how the agent learns unless told


class Turns:
    """In which order plans are built, that of the units' first nodes in topological order, and how
    the load of a GPU is foretold.

    unit: of each turn, shape (units,). first: the first node of each unit. time_s: of all nodes of
    a unit on each GPU, seconds, shape (units, gpus). mean_s: the load of each GPU, seconds, if all
    ended together: work over speed of all (ours).

    part: by what the load of a GPU with a unit is divided before it is compared with the unit's
    hope. 1 in the authors' program: a part of the load is compared with a hope for the whole,
    so that GPUs are filled one after the other, each to about twice its hope. If paced (ours),
    the share of all work that is then placed: so the load is foretold to grow as it has so far.
    """

    def __init__(self, problem: Problem, paced: bool = False) -> None:
        check_bool("paced", paced)
        graph = problem.graph
        place = np.unique(graph.unit[graph.order], return_index=True)[1]
        self.problem = problem
        self.unit, self.first = np.argsort(place), graph.order[place]
        self.time_s = np.zeros((graph.units, problem.platform.gpus))
        np.add.at(self.time_s, graph.unit, problem.time_s)
        self.mean_s = float(graph.work_tflop.sum() / problem.platform.tflops.sum())
        self.work_tflop, self.part = np.bincount(graph.unit, graph.work_tflop), np.ones(graph.units)
        if paced:
            done = np.cumsum(self.work_tflop[self.unit])
            self.part[self.unit] = np.where(done > 0, done / (done[-1] or 1.0), 1.0)


class Agent:
    """A network that tells what each GPU is worth for the unit whose turn it is, and learns
    from what it tried.

    State: turn, GPU loads, hopes and works of all units, 2n + m + 1 numbers as printed; scaled
    to about 1, lest the seconds outweigh all else (ours). Reward: -|hope - load of the GPU with
    the unit|, scaled likewise; the minus sign is lost in print. GPUs without the memory are never
    chosen. deviations: LoD of each episode explored, seconds.
    """

    def __init__(self, turns: Turns, seed: int = 0, training: Training = TRAINING) -> None:
        self.turns, self.training = turns, training
        units, gpus = turns.time_s.shape
        self._scale_s = turns.mean_s or 1.0
        self._works = turns.work_tflop[turns.unit] / (turns.work_tflop.mean() or 1.0)
        self._time, self._part = turns.time_s[turns.unit] / self._scale_s, turns.part[turns.unit]
        self._fits = turns.problem.fits[turns.unit]
        self._random = stream(seed, "exploration")
        self.online, self.target = (
            Network((2 * units + gpus + 1, *HIDDEN, gpus), stream(seed, "network"))
            for _ in range(2)
        )
        self._adam = Adam(self.online.flat, training.learning_rate)
        # the buffer: a row an episode, in it a column a turn
        self._hopes = np.empty((training.buffer, units))
        # before each turn, and after the last
        self._loads = np.empty((training.buffer, units + 1, gpus))
        self._chosen = np.empty((training.buffer, units), dtype=np.int64)
        self.deviations: list[float] = []

    def explore(self, hopes: Floats) -> Ints:
        """Episodes side by side, one for each row of hopes, which are remembered; answers
        their plans.

        hopes: seconds, shape (plans, units), as the answer.
        """
        hopes = hopes[:, self.turns.unit] / self._scale_s
        loads, chosen = self._act(hopes, self.training.epsilon)
        rows = (len(self.deviations) + np.arange(len(hopes))) % self.training.buffer
        self._hopes[rows], self._loads[rows], self._chosen[rows] = hopes, loads, chosen
        reached = np.take_along_axis(loads[:, -1], chosen, axis=1)
        self.deviations += (np.abs(hopes - reached).sum(axis=1) * self._scale_s).tolist()
        return self._by_unit(chosen)

    def learn(self) -> None:
        """Updates from what is remembered.

        That they come between episodes, and not at each turn of one, is ours.
        """
        for _ in range(self.training.updates):
            self._update()

    def plan(self, hopes: Floats) -> Ints:
        """Plans by the network as it is, shape (plans, units): always the GPU of most worth
        (Algorithm 1, line 18).
        """
        return self._by_unit(self._act(hopes[:, self.turns.unit] / self._scale_s, 0.0)[1])

    def _by_unit(self, chosen: Ints) -> Ints:
        answer = np.empty_like(chosen)
        answer[:, self.turns.unit] = chosen
        return answer

    def _act(self, hopes: Floats, epsilon: float) -> tuple[Floats, Ints]:
        """Loads before each turn and after the last, shape (plans, units + 1, gpus), and GPUs
        chosen, (plans, units).
        """
        plans, units = hopes.shape
        loads, rows = np.zeros((plans, units + 1, self._time.shape[1])), np.arange(plans)
        chosen = random_units(self.turns.problem, plans, self._random)[:, self.turns.unit]
        greedy = self._random.random((plans, units)) >= epsilon
        ahead = self.online.ahead(self._constant(hopes))
        for turn in range(units):
            worth = self.online(self._moving(np.full(plans, turn), loads[:, turn]), ahead)
            best = np.where(self._fits[turn], worth, -np.inf).argmax(axis=1)
            on = chosen[:, turn] = np.where(greedy[:, turn], best, chosen[:, turn])
            loads[:, turn + 1] = loads[:, turn]
            loads[rows, turn + 1, on] += self._time[turn, on]
        return loads, chosen

    def _moving(self, turn: Ints, loads: Floats) -> Floats:
        """What changes of the state from turn to turn."""
        return np.column_stack((turn / len(self._works), loads))

    def _constant(self, hopes: Floats) -> Floats:
        """The rest of the state."""
        return np.column_stack((hopes, np.broadcast_to(self._works, hopes.shape)))

    def _update(self) -> None:
        """A mini-batch (Algorithm 1, lines 12 to 17)."""
        row = self._random.integers(
            min(len(self.deviations), self.training.buffer), size=self.training.batch
        )
        turn = self._random.integers(len(self._works), size=self.training.batch)
        constant, on = self._constant(self._hopes[row]), self._chosen[row, turn]
        state, after = (
            np.hstack((self._moving(at, self._loads[row, at]), constant)) for at in (turn, turn + 1)
        )
        reward = -np.abs(self._hopes[row, turn] - self._loads[row, turn + 1, on] / self._part[turn])
        last = turn + 1 == len(self._works)
        allowed = self._fits[np.where(last, turn, turn + 1)]
        goal = double_q(
            reward,
            self.training.gamma * ~last,
            np.where(allowed, self.online(after), -np.inf),
            self.target(after),
        )
        self._adam.step(self.online.gradient(state, on, goal))
        if self._adam.steps % self.training.sync_every == 0:
            self.target.flat[:] = self.online.flat


def double_q(reward: Floats, gamma: Floats, online: Floats, target: Floats) -> Floats:
    """Goals: the reward and gamma times what the target network says of the action that the online
    network holds best.

    reward, gamma: shape (rows,), gamma 0 where an episode ends. online, target: worths in the next
    state, shape (rows, actions). Source: worl-rtgs.txt Section 4.3.4, the equation of y.
    """
    best = online.argmax(axis=1)
    return np.asarray(reward + gamma * target[np.arange(len(reward)), best])


@of_parts
def ddqn(  # noqa: D417, the fields of a part stand for it
    problem: Problem,
    budget: Budget,
    seed: int = 0,
    episodes: int = 1000,
    training: Training = TRAINING,
    paced: bool = False,
    order: str = "graph",
) -> Solution:
    """The agent alone, all units hoping for the mean load: the plans of successive episodes, until
    the budget is spent (ours).

    Parameters
    ----------
    problem : Problem
        A graph and its GPUs.
    budget : Budget
        When the search ends.
    seed : int
        Of its random numbers.
    episodes : int
        After so many (printed) the agent learns no more, and goes on with random choices among its
        own; >= 1.
    gamma : float
        Discount of the next rewards, 0 to 1 (printed; all other defaults are ours).
    epsilon : float
        Share of the choices that are random while it explores, 0 to 1.
    learning_rate : float
        Of the network, > 0.
    updates : int
        Mini-batches after each episode, >= 1.
    batch : int
        Transitions in each, >= 1.
    buffer : int
        Episodes that are remembered, with all their transitions, >= 1.
    sync_every : int
        Updates from one copy of the network to the target network to the next, >= 1.
    paced : bool
        Foretell the load of a GPU by the share of all work that is placed (ours), not as in the
        authors' program.
    order : str
        In which the nodes run, as of `run_order`; the agent does not see it.

    Returns
    -------
    Solution
        The best plan.

    References
    ----------
    worl-rtgs.txt Section 4.3.4, Algorithm 1.
    """
    check_whole("episodes", episodes, least=1)
    search, turns = (
        Search(problem, budget, "ddqn", run_order(problem, order)),
        Turns(problem, paced),
    )
    agent = Agent(turns, seed, training)
    hopes = np.full((1, problem.graph.units), turns.mean_s)
    while not search.over:
        search.evaluate(agent.explore(hopes))
        if len(agent.deviations) <= episodes:
            agent.learn()
    return search.found()
