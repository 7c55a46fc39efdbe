"""Jobs of a log at 8 % load wait for eleven minutes: seventeen requests met Low stock
and held their slots, and others queued behind them.

The log is Alibaba's cluster-trace-v2026-GenAI (lora_request_trace.csv). Run it as:
python scenarios/real_log.py PATH
"""

import sys
from dataclasses import replace

import numpy as np

import cgrsp_simpy as cg

if __name__ == "__main__":
    for slots in (3, 5, 10):
        log = cg.trace(
            sys.argv[1], format="gentd26", window="2024-11-20:2024-11-22", slots=slots
        )
        means = cg.compare(log, policies=["fifo", "cadr"], seeds=range(20)).means()
        waits = (
            f"{name} {row['wait_min'].mean:4.1f} ± {row['wait_min'].half_width:.1f} min"
            for name, row in means.items()
        )
        misses = (
            f"{row['miss_pct'].mean:.2f} ± {row['miss_pct'].half_width:.2f} %"
            for row in means.values()
        )
        print(
            f"{slots:2} slots, load {log.known().offered_load:.2f}: wait of"
            f" {', of '.join(waits)}; missed {', '.join(misses)}"
        )

    log = cg.trace(sys.argv[1], format="gentd26", window="2024-11-20:2024-11-22")
    found = []
    for seed in range(20):
        run = cg.simulate(log, "fifo", seed)
        low = run.jobs[run.jobs["status"] == cg.Status.LOW]
        found.append(
            (
                len(low),
                low["delay_s"].sum() / 3600,
                run.jobs["service_s"].sum() / 3600,
                sum(run.held_s) / 3600,
            )
        )
    requests, low_h, executing_h, held_h = np.mean(found, axis=0)
    print(
        f"in the mean of 20 seeds {requests:.0f} of {log.workload.jobs} requests met"
        f" Low stock and held a slot for {low_h:.1f} h,"
    )
    print(f"of {held_h:.1f} h in all; executing took {executing_h:.1f} h")

    as_medium = replace(
        log,
        market=replace(
            log.market, delay_s=(*log.market.delay_s[:2], log.market.delay_s[1])
        ),
    )
    wait = cg.compare(as_medium, ["fifo"], range(20)).means()["fifo"]["wait_min"]
    print(
        "if Low stock came as soon as Medium, the wait would be"
        f" {wait.mean:.1f} ± {wait.half_width:.1f} min"
    )
