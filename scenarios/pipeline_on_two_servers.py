"""Where do the stages of a pipeline go on two servers?

Neighbours together, which matters if the network between the servers is slow.

A training step of eight layers in four stages, eight micro-batches, on two servers of
two equal GPUs. Each stage keeps the order of its schedule, 1F1B, so that only the
placement varies. Between the servers one transfer at a time is on the network, in each
direction. All 256 placements are tried.
"""

from itertools import product

import numpy as np

import cgrsp_simpy as cg
from cgrsp_simpy.dag.scenario import simulate

STEP = cg.dag.training_graph(layers=8, stages=4, micro_batches=8, schedule="1f1b")
BY_HAND = {
    "neighbours together": [0, 1, 2, 3],
    "neighbours apart": [0, 2, 1, 3],
    "all on one GPU": [0, 0, 0, 0],
}
SCHEDULERS = ("round-robin", "longest-first", "heft", "best-simple")
SCHEDULERS += ("annealing", "random-search", "worl-rtgs")
# all, of four units on four GPUs
PLACEMENTS = np.array(list(product(range(4), repeat=STEP.units)))[:, STEP.unit]
BUDGET = cg.dag.Budget(evaluations=256)


def sent_between(plan):
    """Gigabytes that go from server to server."""
    start, end = STEP.edges.T
    return STEP.data_gb[plan.gpu[start] // 2 != plan.gpu[end] // 2].sum()


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
        ends_s = cg.dag.makespans(problem, PLACEMENTS)
        plans["best of all 256"] = cg.dag.Plan(PLACEMENTS[ends_s.argmin()])
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
