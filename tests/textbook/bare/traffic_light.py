"""Vehicles that pass a traffic light in batches, in bare SimPy."""

import numpy as np
import simpy


def traffic_light(seed, batch=10, cycle=60.0, gap=6.5, end=100_000):
    rng = np.random.default_rng(seed)
    env = simpy.Environment()
    lane = simpy.Store(env)
    waits = []
    area, level, since = 0.0, 0, 0.0

    def record_level():
        nonlocal area, level, since
        area += level * (env.now - since)
        level, since = len(lane.items), env.now

    def light():
        while True:
            yield env.timeout(cycle)
            for _ in range(min(batch, len(lane.items))):
                arrival = yield lane.get()
                waits.append(env.now - arrival)
                record_level()

    def source():
        while True:
            yield env.timeout(rng.exponential(gap))
            yield lane.put(env.now)
            record_level()

    env.process(light())
    env.process(source())
    env.run(end)
    record_level()
    return {
        "wait": np.mean(waits),
        "wait_p95": np.percentile(waits, 95),
        "lane_level": area / end,
    }
