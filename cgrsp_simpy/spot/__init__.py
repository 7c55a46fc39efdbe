"""One long job under a deadline, on spot instances or on demand.

A job needs some hours of computing by a deadline. A spot instance is cheap, but may be
unavailable or preempted at any time; an on-demand instance is expensive and always
available. Each start costs a changeover. A `Scenario` (the job, and a market: `Traces`
of zones, or a generated `TwoState` market) is used like any scenario; a policy is a
name of POLICIES, or a function of a `View`.

    import cgrsp_simpy as cg
    day = cg.spot.Scenario(deadline=52)
    print(cg.compare(day, ["greedy", "uniform-progress"], range(10)))

Wu et al., "Can't Be Late: Optimizing Spot Instance Savings under Deadlines", NSDI 2024.
"""

from cgrsp_simpy.market.zones import Traces, TwoState, read_traces
from cgrsp_simpy.spot.optimum import optimum
from cgrsp_simpy.spot.policies import POLICIES
from cgrsp_simpy.spot.scenario import Scenario
from cgrsp_simpy.spot.view import View

__all__ = [
    "POLICIES",
    "Scenario",
    "Traces",
    "TwoState",
    "View",
    "optimum",
    "read_traces",
]
