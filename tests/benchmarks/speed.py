"""What a simulated day costs, as a ratio to bare SimPy on the same arrivals in the same run.

Prints a table; asserts nothing.

    python tests/benchmarks/speed.py [--days hectic,surge] [--repeats 7] [--memory]

CPU time of whole runs: set-up, draws, records and summary included. In each repeat the skeleton
and all policies take a turn, and a ratio is that of the fastest runs, which a busy machine disturbs
least. "study" is a run within a comparison of all policies, where the jobs of a seed are made once.
--memory runs 2 million jobs without records and prints the peak.
"""

from __future__ import annotations

import argparse
import functools
import gc
import resource
import sys
import time

from skeleton import skeleton

import cgrsp_simpy as cg


def cpu_s(call):
    gc.collect()
    begin = time.process_time()
    call()
    return time.process_time() - begin


def fastest_s(calls, repeats):
    """The least CPU seconds of each call, by its name; the calls take turns."""
    rounds = [[cpu_s(call) for call in calls.values()] for _ in range(repeats)]
    return dict(zip(calls, map(min, zip(*rounds))))


def one_day(name, repeats):
    scenario, seeds = cg.day(name), range(3)
    inputs = []
    for seed in seeds:
        jobs = cg.simulate(scenario, "fifo", seed).jobs
        inputs.append(
            list(
                zip(jobs["submit_s"].tolist(), jobs["delay_s"].tolist(), jobs["service_s"].tolist())
            )
        )

    def bare():
        for jobs in inputs:
            skeleton(len(scenario.slots), jobs)

    def engine(policy):
        for seed in seeds:
            cg.simulate(scenario, policy, seed).summary()

    def study():
        cg.compare(scenario, list(cg.POLICIES), seeds)

    calls = {policy: functools.partial(engine, policy) for policy in cg.POLICIES}
    fastest = fastest_s({"bare SimPy": bare, **calls, "study": study}, repeats)
    ratios = {policy: fastest[policy] / fastest["bare SimPy"] for policy in cg.POLICIES}
    for policy, times in ratios.items():
        print(
            f"{name:8} {policy:11} {1000 * fastest[policy] / len(seeds):6.1f} ms a day {times:6.2f}"
            " x bare SimPy"
        )
    print(
        f"{name:8} {'mean':11} {'':15} {sum(ratios.values()) / len(ratios):6.2f} x, greatest"
        f" {max(ratios.values()):.2f} x"
    )
    print(
        (
            f"{name:8} {'study':11} {'':15}"
            f" {fastest['study'] / fastest['bare SimPy'] / len(ratios):6.2f} x"
        ),
        flush=True,
    )


def memory(jobs=2_000_000):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = cg.simulate(cg.day("hectic", slots=20, jobs=jobs, rate_per_s=0.1), "fifo", records=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{run.tally.completed} jobs without records: peak {peak / 1024:.0f} MB,"
        f" {(peak - before) / 1024:.0f} MB above the start"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--days", default="hectic,surge")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--memory", action="store_true")
    given = parser.parse_args()
    if given.memory:
        sys.exit(memory())
    for day in given.days.split(","):
        one_day(day, given.repeats)
