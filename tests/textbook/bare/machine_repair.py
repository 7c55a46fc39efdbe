"""Machines that break down, in bare SimPy."""

import numpy as np
import simpy


def machine_repair(
    seed, machines=10, repairers=2, life=20.0, repair=5.0, part=0.5, end=4000
):
    rng = np.random.default_rng(seed)
    env = simpy.Environment()
    crew = simpy.Resource(env, repairers)
    waits, busy, parts = [], 0.0, 0

    def breakdown(machine):
        yield env.timeout(rng.exponential(life))
        machine.interrupt()

    def machine():
        nonlocal busy, parts
        env.process(breakdown(env.active_process))
        while True:
            left = rng.exponential(part)
            while left > 0:
                begin = env.now
                try:
                    yield env.timeout(left)
                    left = 0
                except simpy.Interrupt:
                    left -= env.now - begin
                    broken = env.now
                    with crew.request() as turn:
                        yield turn
                        waits.append(env.now - broken)
                        repair_h = rng.exponential(repair)
                        busy += min(repair_h, end - env.now)
                        yield env.timeout(repair_h)
                    env.process(breakdown(env.active_process))
            parts += 1

    for _ in range(machines):
        env.process(machine())
    env.run(end)
    return {
        "crew_wait": np.mean(waits),
        "crew_queue": np.sum(waits) / end,
        "crew_utilisation_pct": 100 * busy / end / repairers,
        "parts_per_h": parts / end,
    }
