"""One long job under a deadline, on spot instances or on demand.

A job needs so many hours of computing by a deadline. A spot instance is cheap, is there or not, and
can be taken at any time; an instance on demand is dear and always there; each start costs a
changeover without progress. A `Setting` (the job, and a market: `Traces` of zones, or a made-up
`TwoState` market) is simulated, compared and swept like the scenario of any module; a policy is a
name of POLICIES, or any function of a `SpotView`.

    import cgrsp_simpy as cg
    print(cg.compare(cg.spot.Setting(deadline=52), ["greedy", "uniform-progress"], range(10)))

Source: Wu et al., "Can't Be Late: Optimizing Spot Instance Savings under Deadlines", NSDI 2024.
"""

from cgrsp_simpy.logs.series import Series, read_series
from cgrsp_simpy.spot.market import Stretch, Traces, TwoState, Zone
from cgrsp_simpy.spot.optimum import Held, Optimum, optimum
from cgrsp_simpy.spot.outcome import METRICS, Outcome, Stay
from cgrsp_simpy.spot.policies import COMPARED, POLICIES, make_policy
from cgrsp_simpy.spot.rules import Choice, Oracle, Ruled
from cgrsp_simpy.spot.setting import Setting, read_traces
from cgrsp_simpy.spot.simulation import Drawn, Simulation
from cgrsp_simpy.spot.view import Policy, SpotView, Terms, ZoneView

__all__ = [
    "COMPARED",
    "METRICS",
    "POLICIES",
    "Choice",
    "Drawn",
    "Held",
    "Optimum",
    "Oracle",
    "Outcome",
    "Policy",
    "Ruled",
    "Series",
    "Setting",
    "Simulation",
    "SpotView",
    "Stay",
    "Stretch",
    "Terms",
    "Traces",
    "TwoState",
    "Zone",
    "ZoneView",
    "make_policy",
    "optimum",
    "read_series",
    "read_traces",
]
