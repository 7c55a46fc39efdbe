"""Waiting policies: which jobs wait for fixed machines, which run on machines rented on demand, and
how many to own.

By formula: `analyze`, `optimum`, `closed_form`. By simulation: a `Scenario` of jobs, machines and
a policy is a model like any other (`cgrsp_simpy.simulate`, `compare`, `sweep`); under its own
policy it can be followed without events (`follow`). Source: Ambati, Bashir, Irwin and Shenoy,
"Modeling and Analyzing Waiting Policies for Cloud-Enabled Schedulers", cited as
waiting-policies.txt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cgrsp_simpy.model.renamed import renamed
from cgrsp_simpy.waiting.best import best_number
from cgrsp_simpy.waiting.bursty import BurstyJobs
from cgrsp_simpy.waiting.formulas import ClosedForm, analyze, closed_form, optimum
from cgrsp_simpy.waiting.jobs import ExponentialJobs, ListedJobs, scenario_jobs
from cgrsp_simpy.waiting.logs import describe, read_jobs
from cgrsp_simpy.waiting.machines import M5, Prices, Size, read_sizes
from cgrsp_simpy.waiting.policies import POLICIES, Mispredictions, WaitingPolicy, waiting_policy
from cgrsp_simpy.waiting.recursion import follow
from cgrsp_simpy.waiting.scenario import Scenario
from cgrsp_simpy.waiting.view import View

__all__ = [
    "M5",
    "POLICIES",
    "BurstyJobs",
    "ClosedForm",
    "ExponentialJobs",
    "ListedJobs",
    "Mispredictions",
    "Prices",
    "Scenario",
    "Size",
    "View",
    "WaitingPolicy",
    "analyze",
    "best_number",
    "closed_form",
    "describe",
    "follow",
    "optimum",
    "read_jobs",
    "read_sizes",
    "scenario_jobs",
    "waiting_policy",
]

if not TYPE_CHECKING:  # a checker would take every misspelt name for one that is there
    __getattr__ = renamed(globals(), {"Case": "Scenario", "WaitingView": "View"})
