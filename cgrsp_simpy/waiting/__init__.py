"""Waiting policies: which jobs wait for fixed machines, and how many machines to own.

`analyze`, `optimum` and `closed_form` evaluate formulas. `plan` makes a plan from a
log. A `Scenario` of jobs, machines and a policy is simulated, or computed without
events (`follow`). Source: Ambati, Bashir, Irwin and Shenoy, "Modeling and Analyzing
Waiting Policies for Cloud-Enabled Schedulers", cited as waiting-policies.txt.
"""

from cgrsp_simpy.waiting.formulas import analyze, optimum
from cgrsp_simpy.waiting.jobs import BurstyJobs, ExponentialJobs, ListedJobs, read_jobs
from cgrsp_simpy.waiting.machines import Prices, Size
from cgrsp_simpy.waiting.plan import plan
from cgrsp_simpy.waiting.policies import POLICIES, Mispredictions, View
from cgrsp_simpy.waiting.scenario import Scenario

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
