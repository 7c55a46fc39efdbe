"""Waiting policies: which jobs wait for fixed machines, and how many to own.

By formula: `analyze`, `optimum`, `closed_form`. Of a log: `plan`. By simulation: a
`Scenario` of jobs, machines and a policy, or without events (`follow`). Source: Ambati,
Bashir, Irwin and Shenoy, "Modeling and Analyzing Waiting Policies for Cloud-Enabled
Schedulers", cited as waiting-policies.txt.
"""

from __future__ import annotations

from cgrsp_simpy.waiting.formulas import analyze, optimum
from cgrsp_simpy.waiting.jobs import BurstyJobs, ExponentialJobs, ListedJobs, read_jobs
from cgrsp_simpy.waiting.machines import Prices, Size
from cgrsp_simpy.waiting.plan import plan
from cgrsp_simpy.waiting.policies import POLICIES, Mispredictions
from cgrsp_simpy.waiting.scenario import Scenario
from cgrsp_simpy.waiting.view import View

__all__ = [
    "POLICIES",
    "BurstyJobs",
    "ExponentialJobs",
    "ListedJobs",
    "Mispredictions",
    "Prices",
    "Scenario",
    "Size",
    "View",
    "analyze",
    "optimum",
    "plan",
    "read_jobs",
]
