"""Nodes on GPUs in the engine: a node waits for its predecessors, claims a GPU, runs, and its data
go where they are needed.
"""

from __future__ import annotations

import copy
from collections.abc import Generator
from typing import Any

import numpy as np
import simpy

from cgrsp_simpy.dag.problem import Plan, Problem, Schedule
from cgrsp_simpy.dag.view import InTurn, Nodes, OwnPolicy
from cgrsp_simpy.engine.claims import Place, Pool, Slot
from cgrsp_simpy.engine.engine import Engine
from cgrsp_simpy.engine.events import Listener, policy_name
from cgrsp_simpy.model.checks import InputError

__all__ = ["Simulation", "simulate"]

Process = Generator[simpy.Event, Any, None]


def simulate(
    problem: Problem, scheduler: Plan | OwnPolicy, listener: Listener | None = None
) -> Schedule:
    """Simulate a plan, or a policy that puts nodes on GPUs as they become ready.

    Parameters
    ----------
    problem, scheduler, listener
        As of `Simulation`.

    Returns
    -------
    Schedule
        As it was measured.

    Raises
    ------
    InputError
        For a plan that the problem does not allow, or that needs a missing connection.
    PolicyError
        For a policy that answers what cannot be carried out.
    """
    run = Simulation(problem, scheduler, listener)
    run.env.run()
    return run.close()


class Simulation:
    """A graph that is about to run on its GPUs.

    Parameters
    ----------
    problem : Problem
        The graph and its GPUs.
    scheduler : Plan or callable
        A plan: data are sent on as soon as they are there, and a node claims its GPU when it has
        them. Or a function of the view `Ready`: data can be sent only once a node has a GPU, which
        it holds while they are on their way. The run works on a copy, so that one with memory is
        fresh for it.
    listener : callable, optional
        Called with each Event.
    evaluations, seconds
        What finding the plan has taken, as of `Schedule`.
    """

    def __init__(
        self,
        problem: Problem,
        scheduler: Plan | OwnPolicy,
        listener: Listener | None = None,
        evaluations: int = 0,
        seconds: float = 0.0,
    ) -> None:
        self.problem, self.effort = problem, (evaluations, seconds)
        self.plan = scheduler if isinstance(scheduler, Plan) else None
        if self.plan is not None:
            self.plan.check(problem)
            _check_connections(problem, self.plan)
        graph, env = problem.graph, simpy.Environment()
        self.env, self.nodes = env, Nodes(problem)
        policy = (
            InTurn(problem, scheduler) if isinstance(scheduler, Plan) else copy.deepcopy(scheduler)
        )
        self.engine = Engine(
            env, _places(env, problem), self.nodes, policy, listener, hears_all=True
        )
        self.ended = [env.event() for _ in range(graph.nodes)]
        self.granted_s, self.start_s, self.finish_s = np.zeros((3, graph.nodes))
        for node in range(graph.nodes):
            env.process(self.node_process(node))

    def close(self) -> Schedule:
        """When and where the nodes ran, once all have ended."""
        self.engine.check_done()
        if self.plan is not None:
            return Schedule(
                self.problem, self.plan, self.start_s, self.finish_s, None, *self.effort
            )
        nodes = self.problem.graph.nodes
        place = np.argsort(self.problem.graph.order)
        # of those that start at once, first what takes no time
        order = np.lexsort((place, self.finish_s, self.start_s))
        plan = Plan(
            np.array([self.nodes.gpu[node] for node in range(nodes)]),
            order,
            policy_name(self.engine.policy),
        )
        return Schedule(
            self.problem, plan, self.start_s, self.finish_s, self.granted_s, *self.effort
        )

    def node_process(self, number: int) -> Process:
        """A node: wait for its predecessors, and their data; claim a GPU; run.

        Parameters
        ----------
        number : int
            Of the node.

        Yields
        ------
        simpy.Event
            To be run by SimPy.
        """
        env, engine, graph = self.env, self.engine, self.problem.graph
        if self.plan is None:
            yield env.all_of([self.ended[before] for before in graph.predecessors[number].tolist()])
        else:
            yield self.data(number, int(self.plan.gpu[number]))  # Equation 1
        claim = yield engine.claim(self.nodes.node(number))  # Equation 4
        self.granted_s[number], node, gpu = env.now, claim.job, claim.terms
        if self.plan is None:
            engine.tell("dispatch", claim, f"node {node.name}")
            yield self.data(number, gpu)
        claim.acquire()
        self.start_s[number] = env.now
        engine.tell("start", claim, f"node {node.name}, {node.time_s[gpu]:.4g} s")
        yield env.timeout(node.time_s[gpu], ("finish", number))  # Equation 15
        self.finish_s[number] = env.now
        engine.tell("finish", claim, f"node {node.name}")
        engine.release(claim)
        self.ended[number].succeed()

    def data(self, number: int, gpu: int) -> simpy.Event:
        """The data of a node, on their way to a GPU.

        Parameters
        ----------
        number : int
            Of the node.
        gpu : int
            Its index.

        Returns
        -------
        simpy.Event
            Happens when all have arrived.
        """
        graph, env = self.problem.graph, self.env
        sent = zip(graph.predecessors[number].tolist(), graph.data_in_gb[number].tolist())
        return env.all_of(
            [env.process(self.transfer(before, number, gpu, data_gb)) for before, data_gb in sent]
        )

    def transfer(self, before: int, after: int, target: int, data_gb: float) -> Process:
        """The data of an edge on their way.

        Parameters
        ----------
        before, after : int
            Numbers of its nodes.
        target : int
            Index of the GPU that they go to.
        data_gb : float
            Gigabytes.

        Yields
        ------
        simpy.Event
            To be run by SimPy.

        References
        ----------
        worl-rtgs.txt Equations 2 and 3.
        """
        names = self.problem.graph.names
        yield self.ended[before]
        source = self.nodes.gpu[before]
        delay_s = self.nodes.transfer_s(data_gb, source, target)
        yield self.env.timeout(delay_s, ("data", after))
        if delay_s:
            told = (
                f"{data_gb:.4g} GB of node {names[before]} for node {names[after]}, GPU {source}"
                f" to {target}"
            )
            self.engine.tell("data", after, told)


def _check_connections(problem: Problem, plan: Plan) -> None:
    """Raise InputError where a plan has data go between GPUs that are not connected."""
    graph = problem.graph
    ends = plan.gpu[graph.edges]
    for edge in np.flatnonzero(np.isinf(problem.transfer_s(graph.data_gb, *ends.T)))[:1]:
        (one, other), (source, target) = (
            (graph.names[node] for node in graph.edges[edge]),
            ends[edge],
        )
        raise InputError(
            f"node {one} on GPU {source} sends data to {other} on GPU {target}, between which there"
            " is no bandwidth"
        )


def _places(env: simpy.Environment, problem: Problem) -> list[Place]:
    if problem.reading == "exclusive":
        return [Slot(env, "GPU", gpu) for gpu in range(problem.platform.gpus)]
    return [
        Pool(env, "GPU", gpu, mb, "MB")
        for gpu, mb in enumerate(problem.platform.memory_mb.tolist())
    ]
