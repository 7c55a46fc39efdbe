"""A line with finite buffers in bare SimPy."""

import numpy as np
import simpy


def tandem(seed, stations=2, places=2, work=1.0, parts=5000):
    rng = np.random.default_rng(seed)
    env = simpy.Environment()
    buffers = [simpy.Store(env, places) for _ in range(stations - 1)]
    blocked = [[] for _ in buffers]
    areas, since = [0.0 for _ in buffers], [0.0 for _ in buffers]
    levels = [0 for _ in buffers]

    def record_level(number):
        areas[number] += levels[number] * (env.now - since[number])
        levels[number], since[number] = len(buffers[number].items), env.now

    def station(number):
        for part in range(parts):
            if number > 0:
                yield buffers[number - 1].get()
                record_level(number - 1)
            yield env.timeout(rng.exponential(work))
            if number < stations - 1:
                finished = env.now
                yield buffers[number].put(part)
                record_level(number)
                blocked[number].append(env.now - finished)

    for number in range(stations):
        env.process(station(number))
    env.run()
    figures = {"throughput": parts / env.now}
    for n in range(stations - 1):
        figures[f"buffer{n + 1}_level"] = areas[n] / env.now
        figures[f"buffer{n + 1}_put_wait"] = np.mean(blocked[n])
    return figures
