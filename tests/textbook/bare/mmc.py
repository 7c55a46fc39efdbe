"""M/M/c in bare SimPy."""

import numpy as np
import simpy


def mmc(seed, servers=2, gap=60.0, work=100.0, warm_up=20_000, end=500_000):
    rng = np.random.default_rng(seed)
    env = simpy.Environment()
    desk = simpy.Resource(env, servers)
    waits, busy, queued = [], 0.0, 0.0

    def customer():
        nonlocal busy, queued
        arrival = env.now
        with desk.request() as turn:
            yield turn
            begin = env.now
            queued += max(0, begin - max(arrival, warm_up))
            if begin >= warm_up:
                waits.append(begin - arrival)
            work_s = rng.exponential(work)
            busy += max(0, min(begin + work_s, end) - max(begin, warm_up))
            yield env.timeout(work_s)

    def source():
        while True:
            yield env.timeout(rng.exponential(gap))
            env.process(customer())

    env.process(source())
    env.run(end)
    span = end - warm_up
    return {
        "desk_wait": np.mean(waits),
        "desk_wait_p95": np.percentile(waits, 95),
        "desk_queue": queued / span,
        "desk_utilisation_pct": 100 * busy / span / servers,
    }
