"""Callers who renege, in bare SimPy."""

import numpy as np
import simpy


def reneging(seed, agents=5, patience=90.0, gap=12.0, talk=60.0, end=100_000):
    rng = np.random.default_rng(seed)
    env = simpy.Environment()
    desk = simpy.Resource(env, agents)
    waits, withdrawn, busy, queued = [], 0, 0.0, 0.0

    def caller():
        nonlocal withdrawn, busy, queued
        arrival = env.now
        with desk.request() as turn:
            served = turn in (yield turn | env.timeout(patience))
            queued += env.now - arrival
            if served:
                waits.append(env.now - arrival)
                talk_s = rng.exponential(talk)
                busy += min(talk_s, end - env.now)
                yield env.timeout(talk_s)
            else:
                withdrawn += 1

    def source():
        while True:
            yield env.timeout(rng.exponential(gap))
            env.process(caller())

    env.process(source())
    env.run(end)
    return {
        "desk_wait": np.mean(waits),
        "desk_queue": queued / end,
        "desk_utilisation_pct": 100 * busy / end / agents,
        "desk_withdrawn_pct": 100 * withdrawn / (withdrawn + len(waits)),
    }
