"""How sharp are forecasts of recorded waits, compared with the last known waits?

    python scenarios/research/wait_forecasts.py LANL-CM5-1994-4.1-cln.swf.gz

The log (Parallel Workloads Archive) records the waits of 122,055 jobs on the CM-5 of
Los Alamos. The first 30 % of the jobs are used only for learning, and the model's
parameters were chosen on them. Each later wait is forecast from what was known at its
submission. The control is the quantiles of the last 200 known waits of the same size
class. Needs scikit-learn, the extra "forecast"; takes about five minutes.
"""

import sys

import numpy as np

from cgrsp_simpy.cluster.logs import cluster_of, jobs_of
from cgrsp_simpy.cluster.waits import (
    LEARNED_FROM,
    coverage,
    known_waits,
    pinball_s,
    rolling_forecast,
)
from cgrsp_simpy.logs import read_log

START_H = 7.02  # of the log, in local time


def main(path: str) -> None:
    """Print the pinball loss and the coverage of both."""
    table = read_log(path)
    known = known_waits(jobs_of(table, cluster_of(table)), START_H)
    first = int(LEARNED_FROM * len(known.wait_s))
    quantiles_s = rolling_forecast(known, first)
    wait_s, control_s = known.wait_s[first:], known.control[first:]
    print(f"{len(wait_s):,} waits      pinball loss, s   coverage   median width, s")
    for name, rows in (("model", quantiles_s), ("control", control_s)):
        width_s = np.median(rows[:, -1] - rows[:, 0])
        loss_s, share = pinball_s(wait_s, rows), coverage(wait_s, rows)
        print(f"{name:16} {loss_s:16.1f} {share:10.3f} {width_s:17.0f}")


if __name__ == "__main__":
    main(sys.argv[1])
