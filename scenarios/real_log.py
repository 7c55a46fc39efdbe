"""A real log at 8 % load waits ten minutes: nineteen requests met Low stock, held their slots, and the rest queued behind them.

The log is Alibaba's cluster-trace-v2026-GenAI (lora_request_trace.csv). Run it as: python scenarios/real_log.py PATH
"""

import sys

import cgrsp_simpy as cg

if __name__ == "__main__":
    for slots in (3, 5, 10):
        log = cg.trace(sys.argv[1], format="gentd26", window="2024-11-20:2024-11-22", slots=slots)
        means = cg.compare(log, policies=["fifo", "cadr"], seeds=range(5)).means()
        text = "; ".join(f"{name} {row['wait_min'].mean:.1f} min, {row['miss_pct'].mean:.2f} %" for name, row in means.items())
        print(f"{slots:2} slots, load {log.known().offered_load:.2f}: wait and miss of {text}")

    run = cg.simulate(cg.trace(sys.argv[1], format="gentd26", window="2024-11-20:2024-11-22"), "fifo")
    low = run.jobs[run.jobs["status"] == cg.Status.LOW]
    held_h = sum(run.slot_held_s) / 3600
    print(f"{len(low)} of {len(run.jobs)} requests met Low stock and held a slot for {low['delay_s'].sum() / 3600:.1f} h")
    print(f"of {held_h:.1f} h in all; executing took {run.jobs['service_s'].sum() / 3600:.1f} h")
