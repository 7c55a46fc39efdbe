"""Cost per job as the fleet grows at equal load, and as the queue grows on five slots.

Prints tables; asserts nothing.

    python tests/benchmarks/fleet.py [--policies fifo,edf] [--slots 5,50,500,2000]
        [--jobs 4000] [--repeats 3]
    python tests/benchmarks/fleet.py --waiting 100000

CPU time of whole runs, set-up, draws, records and summary included, the fastest of the
repeats, in microseconds per job. At equal load every slot has the arrival rate of the
normal day's; jobs of --waiting are all submitted in the first second.
"""

from __future__ import annotations

import argparse
import gc
import time

from skeleton import skeleton

import cgrsp_simpy as cg

POLICIES = "fifo,spt,edf,lcf,balanced,random,spt-rescue,adaptive,rh,cadr,cadr-oo,triage"


def us_a_job(scenario, policy, repeats):
    """Microseconds of CPU a job, of the fastest run."""
    return fastest_us(
        lambda: cg.simulate(scenario, policy, seed=0).summary(), scenario, repeats
    )


def bare_us_a_job(scenario, repeats):
    """The same of bare SimPy on the same arrivals, first come, first served."""
    run = cg.simulate(scenario, "fifo", seed=0).jobs
    jobs = list(
        zip(
            run["submit_s"].tolist(), run["delay_s"].tolist(), run["service_s"].tolist()
        )
    )
    return fastest_us(lambda: skeleton(len(scenario.slots), jobs), scenario, repeats)


def fastest_us(call, scenario, repeats):
    best = float("inf")
    for _ in range(repeats):
        gc.collect()
        begin = time.process_time()
        call()
        best = min(best, time.process_time() - begin)
    return 1e6 * best / scenario.workload.jobs


def at_equal_load(slots, jobs):
    """The normal day, with an arrival rate in proportion to its slots."""
    usual = cg.day("normal")
    rate_per_s = usual.workload.rate_per_s * slots / len(usual.slots)
    return cg.day("normal", slots=slots, jobs=jobs, rate_per_s=rate_per_s)


def all_waiting(jobs):
    """The hectic day's five slots, and all jobs within a second."""
    return cg.day("hectic", jobs=jobs, rate_per_s=float(jobs))


def print_table(policies, scenarios, repeats):
    """Print policies by scenario, and the ratio of the last to the first column."""
    print(
        f"{'us a job':11}"
        + "".join(f"{name:>10}" for name in scenarios)
        + f"{'ratio':>8}"
    )
    print_row(
        "bare SimPy",
        [bare_us_a_job(scenario, repeats) for scenario in scenarios.values()],
    )
    for policy in policies:
        print_row(
            policy,
            [us_a_job(scenario, policy, repeats) for scenario in scenarios.values()],
        )


def print_row(name, costs):
    print(
        f"{name:11}"
        + "".join(f"{cost:10.1f}" for cost in costs)
        + f"{costs[-1] / costs[0]:8.2f}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--policies", default=POLICIES)
    parser.add_argument("--slots", default="5,50,500,2000")
    parser.add_argument("--jobs", type=int, default=4000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--waiting", type=int)
    given = parser.parse_args()
    if given.waiting:
        made = {
            f"{number} jobs": all_waiting(number)
            for number in (given.waiting // 10, given.waiting)
        }
    else:
        made = {
            f"{slots} slots": at_equal_load(slots, given.jobs)
            for slots in map(int, given.slots.split(","))
        }
    print_table(given.policies.split(","), made, given.repeats)
