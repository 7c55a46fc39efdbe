"""A plan carried out by the engine: a node waits for its data, claims its GPU, runs, and sends its own data on."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

import numpy as np
import simpy

from cgrsp_simpy.dag.problem import Plan, Problem, Schedule
from cgrsp_simpy.engine.claims import Claim, Part, Place, Pool, Slot
from cgrsp_simpy.engine.engine import Engine
from cgrsp_simpy.engine.events import Listener
from cgrsp_simpy.model.checks import InputError

__all__ = ["Simulation", "simulate"]

Process = Generator[simpy.Event, Any, None]


def simulate(problem: Problem, plan: Plan, listener: Listener | None = None) -> Schedule:
    """Simulate a plan. Raises InputError for a plan that the problem does not allow, or that needs a missing connection."""
    run = Simulation(problem, plan, listener)
    run.env.run()
    return run.close()


class Ready:
    """What the plan's policy sees. waiting: nodes that are ready. turn, free: by GPU, what is to start, in order, and room.

    A GPU is a slot, of one node at a time (the reading "exclusive"), or a pool of its memory (the reading "shared").
    """

    def __init__(self, problem: Problem, plan: Plan) -> None:
        order = problem.graph.order if plan.order is None else plan.order
        self.gpu, self.exclusive = plan.gpu.tolist(), problem.reading == "exclusive"
        self.names, self.memory_mb = problem.graph.names, problem.graph.memory_mb.tolist()
        self.turn = [[node for node in order.tolist() if self.gpu[node] == gpu] for gpu in range(problem.platform.gpus)]
        self.free = [1 if self.exclusive else mb for mb in problem.platform.memory_mb.tolist()]
        self.waiting: dict[int, Claim] = {}  # the nodes that are ready

    def needs(self, node: int) -> int:
        """How much of its GPU a node holds."""
        return 1 if self.exclusive else self.memory_mb[node]

    def view(self, now_s: float) -> Ready:  # noqa: ARG002, a plan does not look at the clock
        """Itself."""
        return self

    def summary(self) -> str:
        """What a listing says of a decision."""
        return f"{len(self.waiting)} ready"

    def describe(self, node: int) -> str:
        """What a listing says of a node that is ready."""
        return f"{self.names[node]}, {self.memory_mb[node]} MB"

    def add(self, node: int) -> None:
        """A node is ready."""

    def gave_up(self, node: int) -> None:
        """No node does."""

    def granted(self, claim: Claim, chosen: int) -> Sequence[Part]:
        """A node starts on its GPU."""
        needs = self.needs(claim.job)
        self.turn[chosen].remove(claim.job)
        self.free[chosen] -= needs
        return ((chosen, needs),)

    def released(self, claim: Claim, now_s: float) -> None:  # noqa: ARG002
        """A node has ended."""
        for gpu, amount in claim.parts:
            self.free[gpu] += amount


def in_turn(view: Ready) -> Iterator[tuple[int, int]]:
    """The plan as a policy: on each GPU the next node once it is ready; in "shared", each that is ready and finds room."""
    for gpu, turn in enumerate(view.turn):
        for node in list(turn):
            if node in view.waiting and view.needs(node) <= view.free[gpu]:
                yield node, gpu
            elif view.exclusive:
                break


class Simulation:
    """A plan that is about to be carried out."""

    def __init__(self, problem: Problem, plan: Plan, listener: Listener | None = None) -> None:
        plan.check(problem)
        self.problem, self.plan, self.gpu = problem, plan, plan.gpu.tolist()
        graph, env = problem.graph, simpy.Environment()
        self.env = env
        self.engine = Engine(env, _places(env, problem), Ready(problem, plan), in_turn, listener, hears_all=True)
        self.ended = [env.event() for _ in range(graph.nodes)]
        self.start_s, self.finish_s = np.zeros((2, graph.nodes))
        for node in range(graph.nodes):
            env.process(self.node_process(node))

    def close(self) -> Schedule:
        """When the nodes ran, once all have ended."""
        self.engine.check_done()
        return Schedule(self.problem, self.plan, self.start_s, self.finish_s)

    def node_process(self, node: int) -> Process:
        """A node: wait for the data of its predecessors, claim the GPU, run."""
        env, graph, engine = self.env, self.problem.graph, self.engine
        sent = zip(graph.predecessors[node].tolist(), graph.data_in_gb[node].tolist())
        yield env.all_of([env.process(self.transfer(before, node, data_gb)) for before, data_gb in sent])  # Equation 1
        claim = yield engine.claim(node)  # Equation 4
        claim.acquire()
        self.start_s[node] = env.now
        time_s = self.problem.time_s[node, self.gpu[node]]
        engine.tell("start", claim, f"{graph.names[node]}, {time_s:.4g} s")
        yield env.timeout(time_s, ("finish", node))  # Equation 15
        self.finish_s[node] = env.now
        engine.tell("finish", claim, graph.names[node])
        engine.release(claim)
        self.ended[node].succeed()

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
        yield self.env.timeout(delay_s, ("data", after))


def _places(env: simpy.Environment, problem: Problem) -> list[Place]:
    if problem.reading == "exclusive":
        return [Slot(env, "GPU", gpu) for gpu in range(problem.platform.gpus)]
    return [Pool(env, "GPU", gpu, mb, "MB") for gpu, mb in enumerate(problem.platform.memory_mb.tolist())]
