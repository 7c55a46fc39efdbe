"""HGSP: weighted tardiness of tasks on GPUs of different speed and memory, and LLM inference
requests on a cluster.

A `Setting` of tasks, or `Requests` on a cluster, is simulated, compared and swept as every
scenario. `solve` plans one instance and says how far from the best it can be. Source:
"Heterogeneous GPU Scheduling", cited as hgsp.txt.
"""

from cgrsp_simpy.hgsp.bounds import lower_bound
from cgrsp_simpy.hgsp.generate import LEVELS, Level, generate
from cgrsp_simpy.hgsp.instance import (
    CLUSTERS,
    Gpu,
    Instance,
    cluster,
    read_cluster,
    read_instance,
    read_orlib,
    write_instance,
)
from cgrsp_simpy.hgsp.llm import Served, printed_requests, table_two
from cgrsp_simpy.hgsp.llm_policies import Request, RequestState
from cgrsp_simpy.hgsp.llm_requests import LlmCluster, LlmModel, RequestList, read_requests
from cgrsp_simpy.hgsp.policies import Follow, Online, Replan
from cgrsp_simpy.hgsp.reality import POLICIES
from cgrsp_simpy.hgsp.rules import RULES, dispatch
from cgrsp_simpy.hgsp.schedule import Schedule, from_sequences, greedy_assignment
from cgrsp_simpy.hgsp.schedulers import SCHEDULERS
from cgrsp_simpy.hgsp.serving import Requests
from cgrsp_simpy.hgsp.simulation import Uncertainty, execute, simulate
from cgrsp_simpy.hgsp.study import Setting, Solution, solve
from cgrsp_simpy.hgsp.tasks import GpuSlot, Task, TaskView

__all__ = [
    "CLUSTERS",
    "LEVELS",
    "POLICIES",
    "RULES",
    "SCHEDULERS",
    "Follow",
    "Gpu",
    "GpuSlot",
    "Instance",
    "Level",
    "LlmCluster",
    "LlmModel",
    "Online",
    "Replan",
    "Request",
    "RequestList",
    "RequestState",
    "Requests",
    "Schedule",
    "Served",
    "Setting",
    "Solution",
    "Task",
    "TaskView",
    "Uncertainty",
    "cluster",
    "dispatch",
    "execute",
    "from_sequences",
    "generate",
    "greedy_assignment",
    "lower_bound",
    "printed_requests",
    "read_cluster",
    "read_instance",
    "read_orlib",
    "read_requests",
    "simulate",
    "solve",
    "table_two",
    "write_instance",
]
