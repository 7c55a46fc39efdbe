"""Waiting policies: which jobs wait for fixed machines, which run on machines rented on demand, and
how many to own.

By formula: `analyze`, `optimum`, `closed_form`. By simulation: a `Case` of jobs, machines and
a policy is a model like any other (`cgrsp_simpy.simulate`, `compare`, `sweep`); under its own
policy it is simulated by `simulate`, or followed without events (`follow`). Source: Ambati, Bashir,
Irwin and Shenoy, "Modeling and Analyzing Waiting Policies for Cloud-Enabled Schedulers", cited as
waiting-policies.txt.
"""

from cgrsp_simpy.waiting.best import best_number
from cgrsp_simpy.waiting.bursty import BurstyJobs
from cgrsp_simpy.waiting.case import Case
from cgrsp_simpy.waiting.formulas import ClosedForm, analyze, closed_form, optimum
from cgrsp_simpy.waiting.jobs import ExponentialJobs, ListedJobs, scenario_jobs
from cgrsp_simpy.waiting.logs import describe, read_jobs
from cgrsp_simpy.waiting.machines import M5, Prices, Size, read_sizes
from cgrsp_simpy.waiting.orders import WaitingView
from cgrsp_simpy.waiting.outcome import Outcome
from cgrsp_simpy.waiting.policies import POLICIES, Mispredictions, WaitingPolicy, waiting_policy
from cgrsp_simpy.waiting.recursion import follow
from cgrsp_simpy.waiting.simulation import Simulation, simulate

__all__ = [
    "M5",
    "POLICIES",
    "BurstyJobs",
    "Case",
    "ClosedForm",
    "ExponentialJobs",
    "ListedJobs",
    "Mispredictions",
    "Outcome",
    "Prices",
    "Simulation",
    "Size",
    "WaitingPolicy",
    "WaitingView",
    "analyze",
    "best_number",
    "closed_form",
    "describe",
    "follow",
    "optimum",
    "read_jobs",
    "read_sizes",
    "scenario_jobs",
    "simulate",
    "waiting_policy",
]
