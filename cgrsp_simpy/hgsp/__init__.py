"""HGSP: weighted tardiness of tasks on GPUs of different speed and memory.

A `Scenario` of tasks is simulated, compared and swept as every scenario. `solve` plans one instance
and says how far from the best it can be. Source: "Heterogeneous GPU Scheduling", cited as hgsp.txt.
"""

from cgrsp_simpy.hgsp.generate import Level, generate
from cgrsp_simpy.hgsp.instance import Gpu, Instance, read_instance
from cgrsp_simpy.hgsp.policies import SCHEDULERS, Follow, Online, Replan
from cgrsp_simpy.hgsp.rules import RULES, dispatch
from cgrsp_simpy.hgsp.scenario import Scenario, plan_of, schedule_of, solve
from cgrsp_simpy.hgsp.schedule import greedy_assignment
from cgrsp_simpy.hgsp.view import View
from cgrsp_simpy.model.checks import renamed

__all__ = [
    "RULES",
    "SCHEDULERS",
    "Follow",
    "Gpu",
    "Instance",
    "Level",
    "Online",
    "Replan",
    "Scenario",
    "View",
    "dispatch",
    "generate",
    "greedy_assignment",
    "plan_of",
    "read_instance",
    "schedule_of",
    "solve",
]

# by its text: else a checker takes every misspelt name for one that is there
globals()["__getattr__"] = renamed(
    globals(),
    {
        "Setting": "Scenario",
        "TaskView": "View",
        **dict.fromkeys(("RequestState", "RequestView"), "llm.View"),
        "Requests": "llm.Scenario",
        "LlmCluster": "llm.Service",
    },
    "llm.batch.Request llm.RequestList llm.read_requests llm.paper.table_two"
    " hgsp.bounds.lower_bound"
    " hgsp.generate.LEVELS hgsp.instance.CLUSTERS hgsp.instance.cluster hgsp.instance.read_cluster"
    " hgsp.instance.read_orlib hgsp.instance.write_instance hgsp.policies.POLICIES"
    " hgsp.schedule.Schedule hgsp.schedule.from_sequences hgsp.view.Task",
)
