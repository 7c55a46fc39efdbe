"""LLM inference: requests on replicas of a model that batch them, step by step.

A `Scenario` of requests is simulated, compared and swept as every scenario. Table II of
"Heterogeneous GPU Scheduling", Section VI, cited as hgsp.txt, is apart: there a request
owns its GPUs (`cgrsp_simpy.llm.paper`).
"""

from cgrsp_simpy.base.checks import renamed
from cgrsp_simpy.llm.policies import View
from cgrsp_simpy.llm.requests import Offered, RequestList, read_requests
from cgrsp_simpy.llm.scenario import Scenario
from cgrsp_simpy.llm.service import Service
from cgrsp_simpy.llm.steps import Roofline, read_steps

__all__ = [
    "Offered",
    "RequestList",
    "Roofline",
    "Scenario",
    "Service",
    "View",
    "read_requests",
    "read_steps",
]

# by its text: else a checker takes every misspelt name for one that is there
globals()["__getattr__"] = renamed(
    globals(),
    {"LlmCluster": "Service", "SCHEDULERS": "llm.policies.POLICIES"},
    "llm.batch.Request llm.paper.table_two",
)
