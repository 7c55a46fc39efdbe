"""Stock is plentiful in a log's busy hours: its jobs wait for 11 min, and for 30 min if
they are spread evenly over the day; at four times the rates, the log's own hours wait
longer.

Arrival rates by hour of day are estimated from a log, multiplied, and written into a
scenario file for the command line. The log is Alibaba's cluster-trace-v2026-GenAI
(lora_request_trace.csv). Run it as: python scenarios/rates_of_a_log.py PATH
"""

import sys
from dataclasses import replace

import cgrsp_simpy as cg

WINDOW = "2024-11-20:2024-11-22"


def day(log, rates, times):
    """A day of jobs drawn at the rates, so many times as high."""
    raised = [[times * rate for rate in hours] for hours in rates.per_h]
    jobs = round(sum(raised[0]))
    workload = cg.HourlyWorkload(jobs, replace(rates, per_h=raised))
    return replace(log, name=f"{times} x", workload=workload)


if __name__ == "__main__":
    log = cg.trace(sys.argv[1], format="gentd26", window=WINDOW)
    rates = cg.arrival_rates(log.workload)
    print(
        "jobs per hour, from midnight on:", *(f"{rate:.0f}" for rate in rates.per_h[0])
    )
    even = replace(rates, per_h=[sum(rates.per_h[0]) / 24] * 24)
    print(f"rates{'at its hours':>24}{'as many, evenly':>32}")
    print(" " * 5 + f"{'wait, min':>14}{'missed, %':>14}" * 2)
    for times in (1, 2, 4):
        cells = []
        for each in (rates, even):
            row = cg.compare(day(log, each, times), ["cadr"], range(20)).means()["cadr"]
            cells += [
                f"{row[name].mean:7.1f} ± {row[name].half_width:4.1f}"
                for name in ("wait_min", "miss_pct")
            ]
        print(f"{times:2} x ", *cells, sep="")
    # then: cgrsp compare busy_hours.toml --policies fifo,cadr
    day(log, rates, 2).to_toml("busy_hours.toml")
