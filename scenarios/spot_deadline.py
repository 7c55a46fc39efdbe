"""48 hours of computing within 52, on spot instances: a policy that waits until it is
late pays nearly as much as on demand only; one that keeps pace pays less.

Without arguments the market is generated: 2.3 h up and 1.6 h down on average. With
files of zones, each is a separate market, and policies learn from its first half:
python scenarios/spot_deadline.py zone.json ... Behind ± is half of a 95 % interval.
"""

import sys
from pathlib import Path

import cgrsp_simpy as cg
from cgrsp_simpy.papers.spot.table import deadline_study

if __name__ == "__main__":
    markets = {
        Path(name).stem: cg.spot.read_traces([name]) for name in sys.argv[1:]
    } or {"generated": cg.spot.TwoState(up_h=2.3, down_h=1.6)}
    policies = ["greedy", "uniform-progress", "expected-cost", "optimum"]
    study = deadline_study(markets, [52.0, 70.0], [0.05, 0.2], policies, range(10))
    print(study)
