"""HGSP: weighted tardiness of tasks on GPUs of different speed and memory, and LLM inference
requests on a cluster.

A `Scenario` of tasks, or `Requests` on a cluster, is simulated, compared and swept as every
scenario. `solve` plans one instance and says how far from the best it can be. Source:
"Heterogeneous GPU Scheduling", cited as hgsp.txt.
"""

from typing import TYPE_CHECKING

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
from cgrsp_simpy.hgsp.llm import table_two
from cgrsp_simpy.hgsp.llm_policies import Request, RequestView
from cgrsp_simpy.hgsp.llm_requests import (
    LlmCluster,
    LlmModel,
    RequestList,
    printed_requests,
    read_requests,
)
from cgrsp_simpy.hgsp.policies import Follow, Online, Replan
from cgrsp_simpy.hgsp.reality import POLICIES
from cgrsp_simpy.hgsp.rules import RULES, dispatch
from cgrsp_simpy.hgsp.scenario import Scenario, plan_of, schedule_of, solve
from cgrsp_simpy.hgsp.schedule import Schedule, from_sequences, greedy_assignment
from cgrsp_simpy.hgsp.schedulers import SCHEDULERS
from cgrsp_simpy.hgsp.serving import Requests
from cgrsp_simpy.hgsp.view import Task, View
from cgrsp_simpy.model.renamed import renamed

__all__ = [
    "CLUSTERS",
    "LEVELS",
    "POLICIES",
    "RULES",
    "SCHEDULERS",
    "Follow",
    "Gpu",
    "Instance",
    "Level",
    "LlmCluster",
    "LlmModel",
    "Online",
    "Replan",
    "Request",
    "RequestList",
    "RequestView",
    "Requests",
    "Scenario",
    "Schedule",
    "Task",
    "View",
    "cluster",
    "dispatch",
    "from_sequences",
    "generate",
    "greedy_assignment",
    "lower_bound",
    "plan_of",
    "printed_requests",
    "read_cluster",
    "read_instance",
    "read_orlib",
    "read_requests",
    "schedule_of",
    "solve",
    "table_two",
    "write_instance",
]

if not TYPE_CHECKING:  # a checker would take every misspelt name for one that is there
    __getattr__ = renamed(
        globals(), {"Setting": "Scenario", "TaskView": "View", "RequestState": "RequestView"}
    )
