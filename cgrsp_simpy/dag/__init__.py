"""DAGs on GPUs: graphs whose nodes start when their predecessors' data have arrived, and schedulers
that place the nodes.

A `Setting` is simulated, compared and swept as the scenario of any module:
`cg.compare(cg.dag.Setting("er:n=300"), ["heft", "worl-rtgs"], range(10))`. Below it stand a
`Problem` (graph and GPUs), what schedulers `find`, and `simulate`. Source: "Efficient Scheduling
for GPU-Based Neural Network Training via Hybrid Reinforcement Learning and Metaheuristic
Optimization", cited as worl-rtgs.txt.
"""

from cgrsp_simpy.dag.bounds import lower_bound_s
from cgrsp_simpy.dag.distance import correlate
from cgrsp_simpy.dag.generate import erdos_renyi, star
from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.dag.heft import ORDERS, run_order
from cgrsp_simpy.dag.logs import read_alibaba, read_wfformat
from cgrsp_simpy.dag.platform import Platform, Servers
from cgrsp_simpy.dag.platform_files import read_platform
from cgrsp_simpy.dag.problem import METRICS, Plan, Problem, Schedule
from cgrsp_simpy.dag.ranking import ranks
from cgrsp_simpy.dag.recursion import makespans
from cgrsp_simpy.dag.schedulers import SCHEDULERS, find
from cgrsp_simpy.dag.search import Budget, Found
from cgrsp_simpy.dag.setting import Setting, read_graph
from cgrsp_simpy.dag.simulation import Simulation, simulate
from cgrsp_simpy.dag.training import training_graph
from cgrsp_simpy.dag.view import Node, Ready

__all__ = [
    "METRICS",
    "ORDERS",
    "SCHEDULERS",
    "Budget",
    "Found",
    "Graph",
    "Node",
    "Plan",
    "Platform",
    "Problem",
    "Ready",
    "Schedule",
    "Servers",
    "Setting",
    "Simulation",
    "correlate",
    "erdos_renyi",
    "find",
    "lower_bound_s",
    "makespans",
    "ranks",
    "read_alibaba",
    "read_graph",
    "read_platform",
    "read_wfformat",
    "run_order",
    "simulate",
    "star",
    "training_graph",
]
