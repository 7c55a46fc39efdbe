"""Scheduling on rented, heterogeneous cloud GPUs, simulated process by process in SimPy.

    import cgrsp_simpy as cg
    print(cg.compare(cg.day("hectic"), policies=["fifo", "rh"], seeds=range(10)))

`day`, `trace` and `Scenario` say what happens; `simulate` runs one policy once, `step_through`
does so event by event, `compare` runs several on the same seeds, `select` finds the best of
them in few runs, `sweep` compares at every point of a grid, `month` over days drawn from a mix.
A policy is a name of POLICIES, or any function of a `View`. `exercises` checks answers to the
lectures. `plots` needs matplotlib, imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from cgrsp_simpy.analysis import queueing, statistics
from cgrsp_simpy.engine.claim import Interrupt
from cgrsp_simpy.engine.events import Event
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.places import Place, pools, slots
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.stepping import Due, Step
from cgrsp_simpy.engine.view import first_come
from cgrsp_simpy.logs.market import read_market
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.model.model import Metric
from cgrsp_simpy.model.policy import PolicyError, Suspend, Wake, policy
from cgrsp_simpy.rental.arrivals import ArrivalRates, arrival_rates
from cgrsp_simpy.rental.deadlines import DeadlineClass, DeadlineClasses
from cgrsp_simpy.rental.gpu import GPUS_2025, THESIS_GPUS, GpuType, round_robin
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.market import CLOCKS, Clock, HourlyStock, Market, Status, StockSeries
from cgrsp_simpy.rental.policies import POLICIES, PREEMPTIVE, ListPolicy, make_policy, rules
from cgrsp_simpy.rental.record import JobRecord
from cgrsp_simpy.rental.scenario import Scenario, day, trace
from cgrsp_simpy.rental.service import Service
from cgrsp_simpy.rental.terms import Preemption, Terms
from cgrsp_simpy.rental.view import Policy, SlotView, View
from cgrsp_simpy.rental.workload import HourlyWorkload, JobList, LoggedWorkload, PoissonWorkload
from cgrsp_simpy.studies.compare import Comparison, compare
from cgrsp_simpy.studies.executors import WorkerError
from cgrsp_simpy.studies.month import THESIS_MIX, Month, month
from cgrsp_simpy.studies.replicate import simulate, step_through
from cgrsp_simpy.studies.select import select
from cgrsp_simpy.studies.sweep import Sweep, sweep

if TYPE_CHECKING:
    from cgrsp_simpy import cluster, dag, exercises, hgsp, plots, spot, waiting
    from cgrsp_simpy.rental.bounds import lower_bound
    from cgrsp_simpy.rental.clairvoyant import optimum
    from cgrsp_simpy.rental.fit import fit_stock
    from cgrsp_simpy.rental.measured import measured, on_market
    from cgrsp_simpy.studies.advise import advise

__version__ = version("cgrsp_simpy")

__all__ = [
    "CLOCKS",
    "GPUS_2025",
    "POLICIES",
    "PREEMPTIVE",
    "THESIS_GPUS",
    "THESIS_MIX",
    "ArrivalRates",
    "Clock",
    "Comparison",
    "DeadlineClass",
    "DeadlineClasses",
    "Due",
    "Event",
    "GpuType",
    "HourlyStock",
    "HourlyWorkload",
    "InputError",
    "Interrupt",
    "Job",
    "JobList",
    "JobRecord",
    "ListPolicy",
    "LoggedWorkload",
    "Market",
    "Metric",
    "Model",
    "Month",
    "Place",
    "PoissonWorkload",
    "Policy",
    "PolicyError",
    "Preemption",
    "Run",
    "Scenario",
    "Service",
    "SlotView",
    "Status",
    "Step",
    "StockSeries",
    "Suspend",
    "Sweep",
    "Terms",
    "View",
    "Wake",
    "WorkerError",
    "advise",
    "arrival_rates",
    "cluster",
    "compare",
    "dag",
    "day",
    "exercises",
    "first_come",
    "fit_stock",
    "hgsp",
    "lower_bound",
    "make_policy",
    "measured",
    "month",
    "on_market",
    "optimum",
    "plots",
    "policy",
    "pools",
    "queueing",
    "read_market",
    "round_robin",
    "rules",
    "select",
    "simulate",
    "slots",
    "spot",
    "statistics",
    "step_through",
    "sweep",
    "trace",
    "waiting",
]

MODULES = (  # loaded when first used
    "cluster",
    "dag",
    "exercises",
    "hgsp",
    "plots",
    "spot",
    "waiting",
)
LATER = {  # names whose modules take SciPy's solvers
    "advise": "cgrsp_simpy.studies.advise",
    "fit_stock": "cgrsp_simpy.rental.fit",
    "lower_bound": "cgrsp_simpy.rental.bounds",
    "measured": "cgrsp_simpy.rental.measured",
    "on_market": "cgrsp_simpy.rental.measured",
    "optimum": "cgrsp_simpy.rental.clairvoyant",
}


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # a checker would take every misspelt name for one that is there

    def __getattr__(name: str) -> Any:
        if name in MODULES:
            return import_module(f"cgrsp_simpy.{name}")
        if name in LATER:
            return getattr(import_module(LATER[name]), name)
        raise AttributeError(f"module 'cgrsp_simpy' has no attribute {name!r}")
