"""One long job under a deadline, on spot instances or on demand.

A job needs so many hours of computing by a deadline. A spot instance is cheap, is there or not, and
can be taken at any time; an instance on demand is dear and always there; each start costs a
changeover without progress. A `Scenario` (the job, and a market: `Traces` of zones, or a made-up
`TwoState` market) is simulated, compared and swept like that of any module; a policy is a name of
POLICIES, or any function of a `View`.

    import cgrsp_simpy as cg
    print(cg.compare(cg.spot.Scenario(deadline=52), ["greedy", "uniform-progress"], range(10)))

Source: Wu et al., "Can't Be Late: Optimizing Spot Instance Savings under Deadlines", NSDI 2024.
"""

from typing import TYPE_CHECKING

from cgrsp_simpy.logs.series import Series, read_series
from cgrsp_simpy.model.renamed import renamed
from cgrsp_simpy.spot.market import Job, Stretch, Traces, TwoState, Zone, read_traces
from cgrsp_simpy.spot.metrics import METRICS, Stay, stays
from cgrsp_simpy.spot.optimum import Held, Market, Optimum, optimum
from cgrsp_simpy.spot.policies import COMPARED, POLICIES, make_policy
from cgrsp_simpy.spot.rules import Choice, Oracle, Ruled
from cgrsp_simpy.spot.scenario import Scenario
from cgrsp_simpy.spot.view import Policy, View, ZoneView

__all__ = [
    "COMPARED",
    "METRICS",
    "POLICIES",
    "Choice",
    "Held",
    "Job",
    "Market",
    "Optimum",
    "Oracle",
    "Policy",
    "Ruled",
    "Scenario",
    "Series",
    "Stay",
    "Stretch",
    "Traces",
    "TwoState",
    "View",
    "Zone",
    "ZoneView",
    "make_policy",
    "optimum",
    "read_series",
    "read_traces",
    "stays",
]

if not TYPE_CHECKING:  # a checker would take every misspelt name for one that is there
    __getattr__ = renamed(globals(), {"Setting": "Scenario", "SpotView": "View"})
