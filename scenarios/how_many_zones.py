"""One zone or several: a job that may move to another zone after a preemption costs
less with each zone; except under greedy, the second zone saves the most.

The market is generated: each zone is up for 1 h and down for 3 h on average,
independent of the others. With files of zones, the first one, two, ... of these are
used: python scenarios/how_many_zones.py zone.json ... Behind ± is half of a 95 %
interval.
"""

import sys

import cgrsp_simpy as cg

if __name__ == "__main__":
    files = sys.argv[1:]
    market = (
        cg.spot.read_traces(files) if files else cg.spot.TwoState(up_h=1.0, down_h=3.0)
    )
    zones = list(range(1, 1 + (len(files) or 4)))
    policies = ["greedy", "uniform-progress", "expected-cost", "optimum"]
    scenario = cg.spot.Scenario(market, hours=24.0, deadline=28.0, zones=1)
    found = cg.sweep(scenario, {"zones": zones}, policies, range(10))
    print("cost, % of on demand only")
    print("zones" + "".join(f"{name:>22}" for name in policies))
    for number, study in zip(zones, found.studies):
        means = [study.means()[name]["cost_pct"] for name in policies]
        cells = [f"{each.mean:15.1f} ±{each.half_width:5.1f}" for each in means]
        print(f"{number:5}" + "".join(cells))
