"""Evaluations of plans of DAGs per second, compared with a bare loop and the
simulation.

Prints; asserts nothing.

    python tests/benchmarks/dag.py [--repeats 5]

CPU time, the fastest of several runs: plans of an Erdős–Rényi graph of 1,000 nodes and
mean degree 3 on 50 GPUs, one at a time and a thousand at once, and one with contention
for links; a bare Python loop, without checks or arrays; the simulation; the correlation
of one configuration, 1,000 pairs; and the plans that each search evaluates per second
of 300 nodes on 10 GPUs.
"""

from __future__ import annotations

import argparse
import gc
import time

import numpy as np

from cgrsp_simpy.dag.platform import Servers
from cgrsp_simpy.dag.policies import CONSTRUCTIVE, SEARCHES, find
from cgrsp_simpy.dag.problem import Plan, makespans
from cgrsp_simpy.dag.scenario import Scenario, simulate
from cgrsp_simpy.dag.search import Budget, random_units
from cgrsp_simpy.papers.dag.distance import correlate


def cpu_s(call, repeats):
    times = []
    for _ in range(repeats):
        gc.collect()
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return min(times)


def bare(order, before, times, delays, gpu, gpus):
    """The makespan of a plan, exclusive: lists of lists and nothing else."""
    free_s, finish_s = [0.0] * gpus, [0.0] * len(order)
    for node in order:
        on = gpu[node]
        ready_s = free_s[on]
        row = delays[on]
        for other, data_gb in before[node]:
            arrive_s = finish_s[other] + data_gb * row[gpu[other]]
            if arrive_s > ready_s:
                ready_s = arrive_s
        finish_s[node] = free_s[on] = ready_s + times[node][on]
    return max(finish_s)


def tell(what, number, unit, seconds):
    print(
        f"{what:44} {number / seconds:12,.1f} {unit:14} {1000 * seconds:10,.1f} ms",
        flush=True,
    )


def evaluations(repeats):
    for contention in (False, True):
        problem = Scenario(
            "er:n=1000,degree=3", Servers(50, contention=contention)
        ).draw()
        units = random_units(problem, 1000, np.random.default_rng(0))
        turns = "links in turns" if contention else "no contention"
        for plans in (1, 10, 1000):
            seconds = cpu_s(
                lambda plans=plans, problem=problem, units=units: makespans(
                    problem, units[:plans]
                ),
                repeats,
            )
            tell(f"{turns}, {plans} plans at once", plans, "plans/s", seconds)
        seconds = cpu_s(
            lambda problem=problem, units=units: simulate(problem, Plan(units[0])),
            repeats,
        )
        tell(f"{turns}, simulation in SimPy", 1, "plans/s", seconds)
    problem = Scenario("er:n=1000,degree=3", Servers(50)).draw()
    graph = problem.graph
    before = [
        list(zip(nodes.tolist(), graph.data_gb[edges].tolist()))
        for nodes, edges in zip(graph.predecessors, graph.edges_in)
    ]
    columns = (
        graph.order.tolist(),
        before,
        problem.time_s.tolist(),
        problem.s_per_gb.T.tolist(),
    )
    plan = units[0].tolist()
    assert bare(*columns, plan, 50) == makespans(problem, units[:1])[0]
    tell("a bare loop", 1, "plans/s", cpu_s(lambda: bare(*columns, plan, 50), repeats))
    tell(
        "correlation of 1,000 pairs",
        1000,
        "pairs/s",
        cpu_s(lambda: correlate(problem), 1),
    )


def schedulers(repeats):
    problem = Scenario("er:n=300,degree=3").draw()
    for name in CONSTRUCTIVE:
        tell(
            f"{name}, 300 nodes on 10 GPUs",
            1,
            "plans/s",
            cpu_s(lambda name=name: find(problem, name, Budget(1)), repeats),
        )
    for name in SEARCHES:
        found = find(problem, name, Budget(seconds=5))
        tell(
            f"{name}, 300 nodes on 10 GPUs", found.evaluations, "plans/s", found.seconds
        )
        print(f"{'':44} {found.makespan_s:12,.2f} s makespan", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    evaluations(given.repeats)
    schedulers(given.repeats)
