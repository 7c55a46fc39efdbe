"""A bare SimPy model of the engine's shape, without policy, market or records: what SimPy
itself costs.

Same arrivals, one resource a slot, a dispatcher with an event as bell, a process a job from its
arrival on, a timeout for provisioning and one for service. First come, first served.
"""

from __future__ import annotations

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

    def life(delay, service):
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

    def source():
        for submit, delay, service in jobs:
            yield env.timeout(submit - env.now)
            env.process(life(delay, service))

    env.process(dispatcher())
    env.process(source())
    env.run()
    return done
