"""HGSP: weighted tardiness of tasks on GPUs of different speed and memory.

A `Scenario` of tasks is used like that of any module. `solve` plans one instance and
bounds its distance from the optimum. Source: "Heterogeneous GPU Scheduling", hgsp.txt.
"""

from cgrsp_simpy.hgsp.generate import Level, generate
from cgrsp_simpy.hgsp.instance import Gpu, Instance, read_instance
from cgrsp_simpy.hgsp.policies import SCHEDULERS, Follow, Online, Replan, View
from cgrsp_simpy.hgsp.report import plan_of, schedule_of
from cgrsp_simpy.hgsp.scenario import Scenario, solve
from cgrsp_simpy.hgsp.schedule import RULES, dispatch, greedy_assignment

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
