"""A real workflow under five schedulers: how far is each from what no plan can beat, and what does its search cost?

The log is a genome workflow in WfFormat; a second of it is taken for a second on a GPU of 1 TFLOPS.
Run it as: python scenarios/workflow_on_gpus.py PATH
"""

import sys

from cgrsp_simpy.dag.setting import Setting, read_graph
from cgrsp_simpy.dag.study import compare

if __name__ == "__main__":
    graph = read_graph(sys.argv[1])
    setting = Setting(graph, gpus=8, per_server=4, tflops=(1.0, 2.0, 4.0))
    problem = setting.problem()
    print(f"{graph.nodes} tasks, {len(graph.edges)} edges, {graph.work_tflop.sum():.0f} s of work on a GPU of 1 TFLOPS")
    study = compare(setting, ["heft", "round-robin", "min-min", "annealing", "worl-rtgs"], seeds=range(5))
    print(f"\n{'1000 plans a search, 5 seeds':30}{'ends after, s':>16}{'over the bound':>16}")
    for name, means in study.means().items():
        print(f"{name:30}{means['makespan_s'].mean:16.1f}{means['over_bound'].mean:16.2f}")
