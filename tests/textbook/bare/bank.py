"""A bank with shifts and preemption in bare SimPy."""

import numpy as np
import simpy


def bank(seed, day=4, night=2, gap=60.0, work=100.0, vip_share=0.3, days=5):
    rng = np.random.default_rng(seed)
    env = simpy.Environment()
    end = days * 24 * 3600
    desk = simpy.PreemptiveResource(env, day)
    responses = [[], []]
    busy = 0.0

    def customer(priority, left):
        nonlocal busy
        arrival = env.now
        while left > 0:
            with desk.request(priority) as turn:
                yield turn
                begin = env.now
                try:
                    yield env.timeout(left)
                    left = 0
                except simpy.Interrupt:
                    left -= env.now - begin
                busy += env.now - begin
        responses[priority].append(env.now - arrival)

    def night_off():
        while True:
            yield env.timeout(16 * 3600)
            begin = env.now
            with desk.request(-1, preempt=False) as turn:
                yield turn
                yield env.timeout(begin + 8 * 3600 - env.now)

    def source():
        while True:
            yield env.timeout(rng.exponential(gap))
            priority = 0 if rng.random() < vip_share else 1
            env.process(customer(priority, rng.exponential(work)))

    for _ in range(day - night):
        env.process(night_off())
    env.process(source())
    env.run(end)
    open_time = days * 3600 * (16 * day + 8 * night)
    return {
        "vip": np.mean(responses[0]),
        "vip_p95": np.percentile(responses[0], 95),
        "plain": np.mean(responses[1]),
        "plain_p95": np.percentile(responses[1], 95),
        "desk_utilisation_pct": 100 * busy / open_time,
    }
