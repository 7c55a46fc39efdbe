"""Which GPUs should a studio own, and how many?

At 0.1 jobs per second, seven of any type: 57 % cheaper than renting for every job.

A reserved GPU costs 60 % less than one on demand, but is paid around the clock. Jobs
that would wait longer than five minutes run on demand at once (sww). The number is
computed by formula for exponential running times, then simulated with the thesis's
times, which vary less, so that fewer jobs run on demand.
"""

import cgrsp_simpy as cg
from cgrsp_simpy.waiting.jobs import scenario_jobs

RATE, HOURS, LONGEST_S = 0.1, 730, 300  # jobs per second; a month; five minutes
w = cg.waiting

if __name__ == "__main__":
    print(
        "GPU        own  wait, s  on demand  $ a month  renting all | simulated wait,"
        " s  on demand  $ a month"
    )
    jobs = cg.day("hectic", jobs=100_000, rate_per_s=RATE)
    for gpu in cg.THESIS_GPUS:
        prices = w.Prices(
            fixed=0.4 * gpu.price_usd_per_h, on_demand=gpu.price_usd_per_h
        )
        listed = scenario_jobs(jobs, gpu.name)
        service_s = listed.run_s.mean()
        best = w.optimum(
            "sww", RATE, service_s, wait_s=LONGEST_S, prices=prices, duration_h=HOURS
        )
        scenario = w.Scenario(listed, machines=best["servers"], prices=prices)
        found = cg.simulate(
            scenario, f"sww:wait_s={LONGEST_S}", records=False
        ).summary()
        print(
            f"{gpu.name:9} {best['servers']:4} {best['wait_s']:8.0f}"
            f" {best['on_demand_fraction']:9.1%} {best['cost']:10.0f}"
            f" {RATE * service_s * gpu.price_usd_per_h * HOURS:12.0f} |"
            f" {found['wait_s']:17.0f} {found['on_demand_fraction']:10.1%}"
            f" {found['cost_per_h'] * HOURS:10.0f}"
        )
