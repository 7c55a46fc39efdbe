"""A bare SimPy model of the engine's shape, without policy, market or records.

It measures the cost of SimPy itself: the same arrivals, one resource per slot, a
dispatcher that waits for an event, and one process per job from its arrival on, with a
timeout for provisioning and one for service. First come, first served.
"""

from __future__ import annotations

import argparse
import gc
import time

import simpy


def skeleton(slots: int, jobs: list[tuple[float, float, float]]) -> int:
    """Simulate jobs (submission, delay, service; seconds) on a number of slots; the
    number completed.
    """
    env = simpy.Environment()
    resources = [simpy.Resource(env, 1) for _ in range(slots)]
    idle = list(range(slots))
    waiting = []
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
            while idle and waiting:
                waiting.pop(0).succeed(idle.pop(0))

    def job_process(delay, service):
        nonlocal done
        granted = env.event()
        waiting.append(granted)
        ring()
        slot = yield granted
        yield env.timeout(delay)
        request = resources[slot].request()
        yield request
        yield env.timeout(service)
        resources[slot].release(request)
        idle.append(slot)
        done += 1
        ring()

    run(env, dispatcher, jobs, job_process)
    return done


def run(env, dispatcher, jobs, job_process) -> None:
    """Run a model to its end. jobs: the time of arrival of each, and the arguments of
    its life.
    """

    def source():
        for arrival_s, *job in jobs:
            yield env.timeout(arrival_s - env.now)
            env.process(job_process(*job))

    env.process(dispatcher())
    env.process(source())
    env.run()


def cpu_s(call) -> float:
    """The CPU time of a call."""
    gc.collect()
    begin = time.process_time()
    call()
    return time.process_time() - begin


def beside(call, reference, repeats: int) -> tuple[float, float]:
    """Seconds of the fastest run, and how many times that of the reference."""
    own, other = (
        min(column)
        for column in zip(*((cpu_s(call), cpu_s(reference)) for _ in range(repeats)))
    )
    return own, own / other


def parser_of(description: str | None) -> argparse.ArgumentParser:
    """A parser that shows a description as it is, with the number of repeats."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    return parser
