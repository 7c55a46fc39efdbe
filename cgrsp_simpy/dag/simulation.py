"""A plan carried out in SimPy: a node is a process that waits for its data, claims its GPU, runs, and sends its own data on."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import simpy

from cgrsp_simpy.dag.problem import Plan, Problem, Schedule
from cgrsp_simpy.engine.dispatcher import Bell
from cgrsp_simpy.model.checks import InputError

__all__ = ["simulate"]

Process = Generator[simpy.Event, Any, None]


def simulate(problem: Problem, plan: Plan) -> Schedule:
    """Simulate a plan. Raises InputError for a plan that the problem does not allow, or that needs a missing connection."""
    plan.check(problem)
    run = _Run(problem, plan)
    for node in range(problem.graph.nodes):
        run.env.process(run.life(node))
    run.env.process(run.dispatcher())
    run.env.run()
    return Schedule(problem, plan, run.start_s, run.finish_s)


class _Run:
    def __init__(self, problem: Problem, plan: Plan) -> None:
        self.problem, self.gpu = problem, plan.gpu.tolist()
        graph, env = problem.graph, simpy.Environment()
        order = graph.order if plan.order is None else plan.order
        self.env, self.bell, self.rung = env, Bell(env), False
        self.memory = [simpy.Container(env, mb, init=mb) for mb in problem.platform.memory_mb.tolist()]
        self.turn = [[node for node in order.tolist() if self.gpu[node] == gpu] for gpu in range(problem.platform.gpus)]
        self.busy = [0] * problem.platform.gpus  # nodes that run
        self.waiting: dict[int, simpy.Event] = {}  # the event with which each that is ready is let in
        self.ended = [env.event() for _ in range(graph.nodes)]
        self.start_s, self.finish_s = np.zeros((2, graph.nodes))

    def life(self, node: int) -> Process:
        """A node: wait for the data of its predecessors, wait for the GPU, hold memory and run."""
        env, graph, gpu = self.env, self.problem.graph, self.gpu[node]
        sent = zip(graph.predecessors[node].tolist(), graph.data_in_gb[node].tolist())
        yield env.all_of([env.process(self.transfer(before, node, data_gb)) for before, data_gb in sent])  # Equation 1
        self.waiting[node] = env.event()
        self.ring()
        yield self.waiting[node]  # Equation 4
        memory_mb = int(graph.memory_mb[node])
        if memory_mb:
            yield self.memory[gpu].get(memory_mb)
        self.start_s[node] = env.now
        yield env.timeout(self.problem.time_s[node, gpu])  # Equation 15
        self.finish_s[node] = env.now
        if memory_mb:
            yield self.memory[gpu].put(memory_mb)
        self.busy[gpu] -= 1
        self.ended[node].succeed()
        self.ring()

    def transfer(self, before: int, after: int, data_gb: float) -> Process:
        """The data of an edge on their way (Equations 2 and 3)."""
        source, target = self.gpu[before], self.gpu[after]
        delay_s = float(self.problem.transfer_s(np.array(data_gb), np.array(source), np.array(target)))
        if delay_s == np.inf:
            one, other = self.problem.graph.names[before], self.problem.graph.names[after]
            raise InputError(
                f"node {one} on GPU {source} sends data to {other} on GPU {target}, between which there is no bandwidth"
            )
        yield self.ended[before]
        yield self.env.timeout(delay_s)

    def ring(self) -> None:
        """Have the dispatcher decide once, after everything else of the instant."""
        if not self.rung:
            self.rung = True
            self.bell.ring()

    def dispatcher(self) -> Process:
        """Let in what may run, on every GPU."""
        while True:
            yield self.bell
            self.bell, self.rung = Bell(self.env), False
            for gpu, turn in enumerate(self.turn):
                free_mb = self.memory[gpu].level
                for node in list(turn):
                    if self.problem.reading == "exclusive" and (self.busy[gpu] or node not in self.waiting):
                        break  # one at a time, and each in its turn
                    memory_mb = int(self.problem.graph.memory_mb[node])
                    if node in self.waiting and memory_mb <= free_mb:
                        free_mb -= memory_mb
                        turn.remove(node)
                        self.busy[gpu] += 1
                        self.waiting.pop(node).succeed()
