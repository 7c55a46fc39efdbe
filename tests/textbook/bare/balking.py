"""Customers who balk, in bare SimPy."""

import numpy as np
import simpy


def balking(seed, barbers=2, places=2, gap=10.0, work=18.0, end=100_000):
    rng = np.random.default_rng(seed)
    env = simpy.Environment()
    chair = simpy.Resource(env, barbers)
    waits, busy = [], 0.0
    arrived = balked = 0

    def customer():
        nonlocal busy
        arrival = env.now
        with chair.request() as turn:
            yield turn
            waits.append(env.now - arrival)
            work_min = rng.exponential(work)
            busy += min(work_min, end - env.now)
            yield env.timeout(work_min)

    def source():
        nonlocal arrived, balked
        while True:
            yield env.timeout(rng.exponential(gap))
            arrived += 1
            if chair.count == barbers and len(chair.queue) >= places:
                balked += 1
            else:
                env.process(customer())

    env.process(source())
    env.run(end)
    return {
        "chair_wait": np.mean(waits),
        "chair_queue": np.sum(waits) / end,
        "chair_utilisation_pct": 100 * busy / end / barbers,
        "balked_pct": 100 * balked / arrived,
    }
