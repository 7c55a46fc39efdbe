"""DAGs on GPUs: a node starts when its predecessors' data have arrived.

`cg.compare(cg.dag.Scenario("er:n=300"), ["heft", "worl-rtgs"], range(10))` works as for
every module. At a lower level, `find` returns a scheduler's plan for a `Problem` (graph
and GPUs). Source: "Efficient Scheduling for GPU-Based Neural Network Training via
Hybrid Reinforcement Learning and Metaheuristic Optimization", cited as worl-rtgs.txt.
"""

from cgrsp_simpy.dag.generate import training_graph
from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.dag.logs import read_graph
from cgrsp_simpy.dag.platform import Platform, Servers
from cgrsp_simpy.dag.policies import POLICIES, View, find
from cgrsp_simpy.dag.problem import Plan, Problem, lower_bound_s, makespans
from cgrsp_simpy.dag.scenario import Scenario, schedule_of
from cgrsp_simpy.dag.search import Budget

__all__ = [
    "POLICIES",
    "Budget",
    "Graph",
    "Plan",
    "Platform",
    "Problem",
    "Scenario",
    "Servers",
    "View",
    "find",
    "lower_bound_s",
    "makespans",
    "read_graph",
    "schedule_of",
    "training_graph",
]
