"""LLM inference: requests on replicas of a model, which process them in batches.

A `Scenario` of requests is used like any scenario. Table II of "Heterogeneous GPU
Scheduling", Section VI, cited as hgsp.txt, uses another model, in which each request
has its own GPUs (`cgrsp_simpy.papers.llm.table`).
"""

from cgrsp_simpy.llm.policies import View
from cgrsp_simpy.llm.requests import Offered, RequestList, read_requests
from cgrsp_simpy.llm.scenario import Scenario
from cgrsp_simpy.llm.service import Roofline, Service, read_steps

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
