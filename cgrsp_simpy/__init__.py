"""Scheduling on rented, heterogeneous cloud GPUs, simulated by SimPy processes.

    import cgrsp_simpy as cg
    print(cg.compare(cg.day("hectic"), policies=["fifo", "rh"], seeds=range(10)))

`day`, `trace` and `Scenario` define what is simulated; `simulate` runs one policy once,
`step_through` does so event by event, `compare` runs several on the same seeds,
`select` finds the best of them in few runs, `sweep` compares at every point of a grid,
`month` over days drawn from a mix. A policy is a name of POLICIES, or any function of a
`View`. `exercises` checks answers to the lectures. `plots` needs matplotlib, imported
when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.base.metric import Metric
from cgrsp_simpy.base.policy import PolicyError, Suspend, Wake, policy
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.engine.claim import Interrupt
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.monitors import (
    Container,
    FilterStore,
    Monitor,
    PreemptiveResource,
    PriorityResource,
    PriorityStore,
    Resource,
    Store,
    schedule,
    warm_up,
)
from cgrsp_simpy.engine.recorder import EventRecorder
from cgrsp_simpy.engine.report import Report
from cgrsp_simpy.engine.resources import pools, slots
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.view import first_come
from cgrsp_simpy.market.gpu import THESIS_GPUS, GpuType, round_robin
from cgrsp_simpy.market.model import Clock, HourlyStock, Market, Status, StockSeries
from cgrsp_simpy.rental.days import day, on_market, trace
from cgrsp_simpy.rental.job import ArrivalRates, DeadlineClass, Job, Service
from cgrsp_simpy.rental.policies import POLICIES, ListPolicy, make_policy, rules
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.rental.terms import Opening, Preemption, Terms
from cgrsp_simpy.rental.view import View
from cgrsp_simpy.rental.workload import (
    HourlyWorkload,
    JobList,
    LoggedWorkload,
    PoissonWorkload,
    arrival_rates,
)

if TYPE_CHECKING:
    from cgrsp_simpy import (
        cluster,
        dag,
        exercises,
        hgsp,
        llm,
        plots,
        spot,
        waiting,
    )
    from cgrsp_simpy.analysis import queueing, statistics
    from cgrsp_simpy.decide.advice import advise
    from cgrsp_simpy.decide.bounds import lower_bound
    from cgrsp_simpy.decide.month import month
    from cgrsp_simpy.market.measured import fit_stock, measured
    from cgrsp_simpy.market.series import read_market
    from cgrsp_simpy.papers.thesis import figures as thesis
    from cgrsp_simpy.rental.state import State
    from cgrsp_simpy.studies.compare import compare, select, sweep
    from cgrsp_simpy.studies.function import model
    from cgrsp_simpy.studies.replicate import simulate, step_through
    from cgrsp_simpy.studies.warm_up import warm_up_time

    __version__: str

__all__ = [
    "POLICIES",
    "THESIS_GPUS",
    "ArrivalRates",
    "Clock",
    "Container",
    "DeadlineClass",
    "Draw",
    "EventRecorder",
    "FilterStore",
    "GpuType",
    "HourlyStock",
    "HourlyWorkload",
    "InputError",
    "Interrupt",
    "Job",
    "JobList",
    "ListPolicy",
    "LoggedWorkload",
    "Market",
    "Metric",
    "Model",
    "Monitor",
    "Opening",
    "PoissonWorkload",
    "PolicyError",
    "Preemption",
    "PreemptiveResource",
    "PriorityResource",
    "PriorityStore",
    "Report",
    "Resource",
    "Run",
    "Scenario",
    "Service",
    "State",
    "Status",
    "StockSeries",
    "Store",
    "Suspend",
    "Terms",
    "View",
    "Wake",
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
    "llm",
    "lower_bound",
    "make_policy",
    "measured",
    "model",
    "month",
    "on_market",
    "plots",
    "policy",
    "pools",
    "queueing",
    "read_market",
    "round_robin",
    "rules",
    "schedule",
    "select",
    "simulate",
    "slots",
    "spot",
    "statistics",
    "step_through",
    "sweep",
    "thesis",
    "trace",
    "waiting",
    "warm_up",
    "warm_up_time",
]

# Loaded when first used: modules, and names that not every command needs.
MODULES = {
    name.rpartition(".")[2]: name
    for name in (
        "analysis.queueing analysis.statistics cluster dag exercises hgsp llm plots"
        " spot waiting"
    ).split()
} | {"thesis": "papers.thesis.figures"}
LATER = {
    "State": "rental.state",
    "advise": "decide.advice",
    "compare": "studies.compare",
    "fit_stock": "market.measured",
    "lower_bound": "decide.bounds",
    "measured": "market.measured",
    "model": "studies.function",
    "month": "decide.month",
    "read_market": "market.series",
    "select": "studies.compare",
    "simulate": "studies.replicate",
    "step_through": "studies.replicate",
    "sweep": "studies.compare",
    "warm_up_time": "studies.warm_up",
}


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # a checker would take every misspelt name for one that is there

    def __getattr__(name: str) -> Any:
        if name in MODULES:
            return import_module(f"cgrsp_simpy.{MODULES[name]}")
        if name in LATER:
            return getattr(import_module(f"cgrsp_simpy.{LATER[name]}"), name)
        if name == "__version__":
            return import_module("importlib.metadata").version("cgrsp_simpy")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
