"""LLM inference requests on a cluster: each owns its GPUs from its start to its end.

A `Scenario` of requests is simulated, compared and swept as every scenario. Source:
"Heterogeneous GPU Scheduling", Section VI, cited as hgsp.txt.
"""

from cgrsp_simpy.llm.paper import table_two
from cgrsp_simpy.llm.policies import SCHEDULERS, Request, View
from cgrsp_simpy.llm.requests import LlmCluster, RequestList, read_requests
from cgrsp_simpy.llm.scenario import Scenario

__all__ = [
    "SCHEDULERS",
    "LlmCluster",
    "Request",
    "RequestList",
    "Scenario",
    "View",
    "read_requests",
    "table_two",
]
