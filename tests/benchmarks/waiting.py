"""Cost of the simulation and the recursion of the waiting policies.

Compared with bare SimPy and Ciw on jobs of the same kind. Asserts nothing.

    python tests/benchmarks/waiting.py [--jobs 200000] [--repeats 5] [--memory]

CPU time of whole runs at the paper's baseline (0.2 jobs per second, 500 s, 108
machines), the fastest of several that alternate. Bare SimPy is an M/M/108 with one
Resource of 108 and one process per job, without policy, dispatcher or records. Ciw is
measured if it is installed. --memory simulates 2 million jobs and follows 14 million,
without records, and prints the peaks.
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
import time

import numpy as np
import simpy

import cgrsp_simpy as cg
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.waiting.formulas import closed_form
from cgrsp_simpy.waiting.policies import waiting_policy
from cgrsp_simpy.waiting.recursion import follow

w = cg.waiting
SERVERS = 108


def cpu_s(call):
    gc.collect()
    begin = time.process_time()
    call()
    return time.process_time() - begin


def simulate(scenario):
    """In SimPy, without records."""
    return subject_of(scenario).simulation(scenario.policy, 0, records=False).finish()


def bare(jobs):
    """M/M/108 in SimPy and nothing else."""
    env = simpy.Environment()
    machines = simpy.Resource(env, SERVERS)

    def job_process(run_s):
        with machines.request() as request:
            yield request
            yield env.timeout(run_s)

    def source():
        for gap_s, run_s in jobs:
            yield env.timeout(gap_s)
            env.process(job_process(run_s))

    env.process(source())
    env.run()


def ciw_model(jobs):
    """M/M/108 in Ciw, until about as many jobs have come; None where Ciw is not
    installed.
    """
    try:
        import ciw
    except ImportError:
        return None

    def run():
        network = ciw.create_network(
            arrival_distributions=[ciw.dists.Exponential(0.2)],
            service_distributions=[ciw.dists.Exponential(0.002)],
            number_of_servers=[SERVERS],
        )
        ciw.seed(0)
        ciw.Simulation(network).simulate_until_max_time(jobs / 0.2)

    return run


def speeds(jobs, repeats):
    source = w.ExponentialJobs(jobs)
    chunks = list(source.chunks(0))
    submit_s, run_s = (
        np.concatenate([getattr(chunk, name) for chunk in chunks])
        for name in ("submit_s", "run_s")
    )
    listed = list(zip(np.diff(submit_s, prepend=0).tolist(), run_s.tolist()))
    calls = {"bare SimPy": lambda: bare(listed)}
    for name in w.POLICIES:
        scenario = w.Scenario(source, waiting_policy(name), SERVERS)
        calls[f"simulate {name}"] = lambda scenario=scenario: simulate(scenario)
        calls[f"follow {name}"] = lambda scenario=scenario: follow(scenario)
    if other := ciw_model(jobs):
        calls["Ciw M/M/108"] = other
    times = {
        name: min(column)
        for name, column in zip(
            calls, zip(*(map(cpu_s, calls.values()) for _ in range(repeats)))
        )
    }
    for name, seconds in times.items():
        print(
            f"{name:18} {jobs / seconds:10,.0f} jobs/s"
            f" {times['bare SimPy'] / seconds:7.2f} x bare SimPy",
            flush=True,
        )
    for name in w.POLICIES:
        print(
            f"{name:9} recursion / simulation"
            f" {times[f'simulate {name}'] / times[f'follow {name}']:6.1f}"
        )


def formulas():
    servers = np.arange(1, 2001)
    for name in w.POLICIES:
        seconds = min(
            cpu_s(
                lambda name=name: closed_form(waiting_policy(name), 0.2, 500.0, servers)
            )
            for _ in range(5)
        )
        print(f"{name:9} formula for 1 to 2000 servers {1000 * seconds:5.1f} ms")


def memory():
    for jobs, run in ((2_000_000, simulate), (14_000_000, follow)):
        begin = time.perf_counter()
        run(w.Scenario(w.ExponentialJobs(jobs), waiting_policy("compound"), SERVERS))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{run.__name__:9} {jobs:11,} jobs: {time.perf_counter() - begin:6.1f} s,"
            f" peak {peak:.0f} MB so far",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory", action="store_true")
    given = parser.parse_args()
    if given.memory:
        sys.exit(memory())
    speeds(given.jobs, given.repeats)
    formulas()
