"""DAGs on GPUs: graphs whose nodes start when their predecessors' data have arrived, and schedulers
that place the nodes.

A `Scenario` is simulated, compared and swept as that of any module:
`cg.compare(cg.dag.Scenario("er:n=300"), ["heft", "worl-rtgs"], range(10))`. Below it stand a
`Problem` (graph and GPUs), what schedulers `find`, and `simulate`. Source: "Efficient Scheduling
for GPU-Based Neural Network Training via Hybrid Reinforcement Learning and Metaheuristic
Optimization", cited as worl-rtgs.txt.
"""

from typing import TYPE_CHECKING

from cgrsp_simpy.dag.bounds import lower_bound_s
from cgrsp_simpy.dag.distance import correlate
from cgrsp_simpy.dag.generate import erdos_renyi, star
from cgrsp_simpy.dag.graph import Graph, Node
from cgrsp_simpy.dag.heft import ORDERS, run_order
from cgrsp_simpy.dag.logs import read_alibaba, read_wfformat
from cgrsp_simpy.dag.platform import Platform, Servers
from cgrsp_simpy.dag.platform_files import read_platform
from cgrsp_simpy.dag.problem import Plan, Problem, Schedule
from cgrsp_simpy.dag.ranking import ranks
from cgrsp_simpy.dag.recursion import makespans
from cgrsp_simpy.dag.scenario import METRICS, Scenario, read_graph, schedule_of, simulate
from cgrsp_simpy.dag.schedulers import SCHEDULERS, find
from cgrsp_simpy.dag.search import Budget, Found
from cgrsp_simpy.dag.training import training_graph
from cgrsp_simpy.dag.view import View
from cgrsp_simpy.model.renamed import renamed

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
    "Scenario",
    "Schedule",
    "Servers",
    "View",
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
    "schedule_of",
    "simulate",
    "star",
    "training_graph",
]

if not TYPE_CHECKING:  # a checker would take every misspelt name for one that is there
    __getattr__ = renamed(globals(), {"Setting": "Scenario", "Ready": "View"})
