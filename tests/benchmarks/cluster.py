"""What the schedulers of clusters cost, beside bare SimPy in the same run. Prints; asserts nothing.

    python tests/benchmarks/cluster.py [--repeats 5] [--jobs 1000] [--load 1.0] [--overestimate 0] [--trace FILE]

CPU time, the fastest of several runs that take turns with what they are compared to: jobs of the paper's mix on 8 nodes of 8
GPUs. The bare model has the same events: a resource a GPU, a process a job that claims all its GPUs at once from a dispatcher,
first come, first served whatever the node; for jobs that keep to the order of arrival it is all that a simulation needs. With
--trace, a Philly log in Gavel's format under the same schedulers.
"""

from __future__ import annotations

import argparse
import gc
import time

import simpy

from cgrsp_simpy.cluster.jobs import PAPER_CLUSTER
from cgrsp_simpy.cluster.logs import read_philly
from cgrsp_simpy.cluster.metrics import metrics
from cgrsp_simpy.cluster.mix import Mix, generate
from cgrsp_simpy.cluster.schedulers import SCHEDULERS, make_scheduler
from cgrsp_simpy.cluster.simulation import lacking, simulate


def bare(gpus: int, jobs: list[tuple[float, int, float]]) -> int:
    """Simulate jobs (arrival, GPUs, duration) on bare SimPy; the number completed."""
    env = simpy.Environment()
    resources = [simpy.Resource(env, 1) for _ in range(gpus)]
    idle, waiting = list(range(gpus)), []
    done = 0
    bell = env.event()

    def ring():
        if idle and waiting and not bell.triggered:
            bell.succeed()

    def dispatcher():
        nonlocal bell
        while True:
            yield bell
            bell = env.event()
            while waiting and waiting[0][1] <= len(idle):
                granted, number = waiting.pop(0)
                granted.succeed([idle.pop() for _ in range(number)])

    def life(number, duration_s):
        nonlocal done
        granted = env.event()
        waiting.append((granted, number))
        ring()
        slots = yield granted
        requests = [resources[slot].request() for slot in slots]
        for request in requests:
            yield request
        yield env.timeout(duration_s)
        for slot, request in zip(slots, requests):
            resources[slot].release(request)
        idle.extend(slots)
        done += 1
        ring()

    def source():
        for arrival_s, number, duration_s in jobs:
            yield env.timeout(arrival_s - env.now)
            env.process(life(number, duration_s))

    env.process(dispatcher())
    env.process(source())
    env.run()
    return done


def cpu_s(call):
    gc.collect()
    begin = time.process_time()
    call()
    return time.process_time() - begin


def beside(call, reference, repeats):
    """Seconds of the fastest run, and how many times that of the reference."""
    own, other = (min(column) for column in zip(*((cpu_s(call), cpu_s(reference)) for _ in range(repeats))))
    return own, own / other


def tell(jobs, repeats):
    listed = list(zip(jobs.arrival_s.tolist(), jobs.gpus.tolist(), jobs.duration_s.tolist()))
    assert bare(PAPER_CLUSTER.gpus, listed) == jobs.jobs
    print(f"{jobs.name}: {jobs.jobs} jobs, offered load {jobs.load(PAPER_CLUSTER):.2f}")
    for name in SCHEDULERS:
        if lacking(jobs, make_scheduler(name)):
            continue
        outcome = simulate(jobs, PAPER_CLUSTER, make_scheduler(name))
        seconds, ratio = beside(
            lambda name=name: simulate(jobs, PAPER_CLUSTER, make_scheduler(name)),
            lambda: bare(PAPER_CLUSTER.gpus, listed),
            repeats,
        )
        count = f"{metrics(outcome)['wait_s'] / 3600:8.2f} h wait"
        print(f"{name:14} {1000 * seconds:10,.0f} ms {ratio:8.2f} x bare SimPy {count}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--load", type=float, default=1.0)
    parser.add_argument("--overestimate", type=float, default=0.0, help="users say up to 1 + this times the duration")
    parser.add_argument("--trace", help="a Philly log in Gavel's format")
    given = parser.parse_args()
    tell(generate(Mix(overestimate=given.overestimate), given.jobs, given.load, PAPER_CLUSTER), given.repeats)
    if given.trace:
        tell(read_philly(given.trace), given.repeats)
