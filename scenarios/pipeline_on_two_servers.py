"""Where do the stages of a pipeline go on two servers?

Neighbours together, which matters once the network between is slow.

A training step of eight layers in four stages, eight micro-batches, on two servers of
two equal GPUs. What keeps HEFT from the pipeline is the order in which the nodes run:
in HEFT's rank order none of the 256 placements ends a millisecond before HEFT's, on
two of the four GPUs. In the graph's order one ends in about half the time, and searches
find it, random search too; annealing, which begins with HEFT's placement, is caught
near it where the network is slow, unless it begins hotter.
"""

from itertools import product

import numpy as np

import cgrsp_simpy as cg
from cgrsp_simpy.dag.listing import ORDERS
from cgrsp_simpy.dag.scenario import simulate

STEP = cg.dag.training_graph(layers=8, stages=4, micro_batches=8)
BY_HAND = {
    "neighbours together": [0, 1, 2, 3],
    "neighbours apart": [0, 2, 1, 3],
    "all on one GPU": [0, 0, 0, 0],
}
SCHEDULERS = (
    "round-robin",
    "heft",
    "annealing",
    "annealing:order=graph",
    "annealing:order=graph,hot=0.3",
)
SCHEDULERS += (
    "random-search",
    "random-search:order=rank",
    "worl-rtgs",
    "worl-rtgs:order=rank",
)
# all, of four units on four GPUs
PLACEMENTS = np.array(list(product(range(4), repeat=STEP.units)))[:, STEP.unit]
BUDGET = cg.dag.Budget(evaluations=256)


def sent_between(plan):
    """Gigabytes that go from server to server."""
    start, end = STEP.edges.T
    return STEP.data_gb[plan.gpu[start] // 2 != plan.gpu[end] // 2].sum()


def best_of_all(problem, order):
    """The best of all placements when the nodes run in an order."""
    in_order = cg.dag.run_order(problem, order)
    return cg.dag.Plan(
        PLACEMENTS[cg.dag.makespans(problem, PLACEMENTS, in_order).argmin()], in_order
    )


if __name__ == "__main__":
    print(f"{STEP.nodes} nodes, {STEP.units} units: {STEP.name}")
    for inter_gb_per_s in (25.0, 1.0):
        problem = cg.dag.Problem(
            STEP,
            cg.dag.Servers(
                4, 2, tflops=(19.5,), inter_gb_per_s=inter_gb_per_s
            ).platform(),
        )
        plans = {
            name: cg.dag.Plan(np.array(gpus)[STEP.unit])
            for name, gpus in BY_HAND.items()
        }
        plans |= {name: cg.dag.find(problem, name, BUDGET).plan for name in SCHEDULERS}
        plans |= {
            f"best of all 256, order={order}": best_of_all(problem, order)
            for order in ORDERS
        }
        print(
            f"\n{inter_gb_per_s:g} GB/s between servers; no plan ends before"
            f" {cg.dag.lower_bound_s(problem):.2f} s"
        )
        print(f"{'':32}{'ends after, s':>14}{'GPUs used':>11}{'GB between':>12}")
        for name, plan in plans.items():
            end_s = simulate(problem, plan).summary()["makespan_s"]
            print(
                f"{name:32}{end_s:14.2f}{len(set(plan.gpu.tolist())):11}"
                f"{sent_between(plan):12.1f}"
            )
