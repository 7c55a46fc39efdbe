"""A real workflow under several schedulers: how far is each from a lower bound?

The log is a genome workflow in WfFormat; a recorded second counts as a second on a GPU
of 1 TFLOPS. Annealing starts from the best of the simple plans; random search is the
control of the whale optimisation. Behind ± is half of a 95 % interval over the seeds.
Run it as: python scenarios/workflow_on_gpus.py PATH
"""

import sys

import cgrsp_simpy as cg

SCHEDULERS = ["heft", "round-robin", "min-min", "annealing"]
SCHEDULERS += [
    f"{search}{order}"
    for order in ("", ":order=rank")
    for search in ("random-search", "worl-rtgs")
]

if __name__ == "__main__":
    graph = cg.dag.read_graph(sys.argv[1])
    scenario = cg.dag.Scenario(
        graph, cg.dag.Servers(8, per_server=4, tflops=(1.0, 2.0, 4.0))
    )
    print(
        f"{graph.nodes} tasks, {len(graph.edges)} edges, {graph.work_tflop.sum():.0f} s"
        " of work on a GPU of 1 TFLOPS"
    )
    study = cg.compare(scenario, SCHEDULERS, seeds=range(5))
    print(
        "\n"
        f"{'1000 plans a search, 5 seeds':30}{'ends after, s':>16}{'±':>7}"
        f"{'over the bound':>16}"
    )
    for name, means in study.means().items():
        makespan_s = means["makespan_s"]
        print(
            f"{name:30}{makespan_s.mean:16.1f}{makespan_s.half_width:7.1f}"
            f"{means['over_bound'].mean:16.2f}"
        )
