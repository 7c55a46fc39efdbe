"""A bare SimPy model with the structure of the engine, without policy, market or
records: the cost of SimPy itself.

It has the same arrivals, one resource per slot, a dispatcher that waits for an event,
one process per job from its arrival on, and two timeouts per job, for provisioning and
service. First come, first served.
"""

from __future__ import annotations

import argparse
import gc
import time

import simpy


def skeleton(slots: int, jobs: list[tuple[float, float, float]]) -> int:
    """Simulate jobs (submission, delay, service; seconds) on a number of slots, and
    return how many were completed.
    """
    env = simpy.Environment()
    resources = [simpy.Resource(env, 1) for _ in range(slots)]
    idle = list(range(slots))
    waiting = []
    done = 0
    decision = env.event()

    def request_decision():
        if idle and waiting and not decision.triggered:
            decision.succeed()

    def dispatcher():
        nonlocal decision
        while True:
            yield decision
            decision = env.event()
            while idle and waiting:
                waiting.pop(0).succeed(idle.pop(0))

    def job_process(delay, service):
        nonlocal done
        granted = env.event()
        waiting.append(granted)
        request_decision()
        slot = yield granted
        yield env.timeout(delay)
        request = resources[slot].request()
        yield request
        yield env.timeout(service)
        resources[slot].release(request)
        idle.append(slot)
        done += 1
        request_decision()

    def source():
        for arrival_s, delay, service in jobs:
            yield env.timeout(arrival_s - env.now)
            env.process(job_process(delay, service))

    env.process(dispatcher())
    env.process(source())
    env.run()
    return done


def cpu_s(call) -> float:
    """Return the CPU time of a call, seconds."""
    gc.collect()
    begin = time.process_time()
    call()
    return time.process_time() - begin


def beside(call, reference, repeats: int) -> tuple[float, float]:
    """Return the minimum CPU time of a call, seconds, and its ratio to a reference."""
    own, other = (
        min(column)
        for column in zip(*((cpu_s(call), cpu_s(reference)) for _ in range(repeats)))
    )
    return own, own / other


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with --repeats that prints the description unchanged."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    return parser
