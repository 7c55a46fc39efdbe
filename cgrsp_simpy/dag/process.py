"""The life of a node: it waits for its predecessors and their data, claims a GPU, runs, and its
data go where they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import simpy

from cgrsp_simpy.dag.graph import Node
from cgrsp_simpy.engine.simulation import Process, Simulation

__all__ = ["life"]

Edge = tuple[simpy.Event, Node, float]  # the end of a predecessor, which it is, and gigabytes


def life(run: Simulation, node: Node) -> Process:
    """A node; it returns the number of the GPU on which it ran.

    Where there is a plan, data are sent on as soon as they are there, and the node claims its GPU
    when it has them. Else its GPU is known, and they are sent, once a policy has granted it.
    """
    problem, found = run.plan
    nodes, sent = problem.graph.jobs, problem.graph.sent[node.id]
    edges = [(run.ended(nodes[before]), nodes[before], data_gb) for before, data_gb in sent]
    if found is None:
        yield run.env.all_of([ended for ended, *_ in edges])
    else:
        yield data(run, edges, node, found.plan.gpu.item(node.id))  # Equation 1
    ready_s = run.now_s

    with run.claim(node, start=False) as claim:
        yield claim  # Equation 4
        gpu, _ = claim.parts[0]
        if found is None:
            run.tell("dispatch", claim, f"node {node.name}")
            yield data(run, edges, node, gpu)
            if run.now_s > claim.granted_s:
                claim.phase("data", claim.granted_s)

        claim.start()
        yield run.timeout(problem.time_s.item(node.id, gpu), ("finish", node.id))  # Equation 15
    run.note(node, gpu, ready_s)
    return gpu


def data(run: Simulation, edges: Sequence[Edge], node: Node, gpu: int) -> simpy.Event:
    """Happens when all data of a node have arrived at a GPU."""
    process = run.env.process
    return run.env.all_of([process(transfer(run, edge, node, gpu)) for edge in edges])


def transfer(run: Simulation, edge: Edge, node: Node, gpu: int) -> Process:
    """The data of an edge on their way (worl-rtgs.txt Equations 2 and 3)."""
    ended, before, data_gb = edge
    source = yield ended
    delay_s = run.plan.problem.moved_s(data_gb, source, gpu)
    yield run.timeout(delay_s, ("data", node.id))
    if delay_s and run.listener:
        nodes = f"of node {before.name} for node {node.name}"
        run.tell("data", node, f"{data_gb:.4g} GB {nodes}, GPU {source} to {gpu}")
