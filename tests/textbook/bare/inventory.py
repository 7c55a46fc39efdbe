"""An (s, S) inventory in bare SimPy."""

import numpy as np
import simpy


def inventory(seed, low=25, high=60, gap=0.2, lead=5.0, warm_up=100, days=1100):
    rng = np.random.default_rng(seed)
    env = simpy.Environment()
    stock = simpy.Container(env, init=high)
    waits = []
    area, level, since = 0.0, high, warm_up

    def record_level():
        nonlocal area, level, since
        area += level * max(0, env.now - since)
        level, since = stock.level, max(env.now, warm_up)

    def delivery(amount):
        yield env.timeout(lead)
        yield stock.put(amount)
        record_level()

    def customer():
        arrival = env.now
        yield stock.get(1)
        record_level()
        if env.now >= warm_up:
            waits.append(env.now - arrival)

    def source():
        position = high
        while True:
            yield env.timeout(rng.exponential(gap))
            env.process(customer())
            position -= 1
            if position == low:
                env.process(delivery(high - low))
                position = high

    env.process(source())
    env.run(days)
    record_level()
    return {
        "stock_level": area / (days - warm_up),
        "stock_wait": np.mean(waits),
        "stock_immediate_pct": 100 * np.mean(np.array(waits) == 0),
    }
