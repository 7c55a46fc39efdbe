"""An emergency ward with priorities in bare SimPy."""

import numpy as np
import simpy

KINDS = ("urgent", "normal", "minor")
SHARES = (0.2, 0.5, 0.3)


def emergency_ward(
    seed, priorities=(0, 1, 2), gap=20.0, works=(25.0, 15.0, 10.0), end=100_000
):
    rng = np.random.default_rng(seed)
    env = simpy.Environment()
    doctor = simpy.PriorityResource(env)
    waits = [[] for _ in KINDS]
    busy = 0.0

    def patient(kind):
        nonlocal busy
        arrival = env.now
        with doctor.request(priorities[kind]) as turn:
            yield turn
            waits[kind].append(env.now - arrival)
            work = rng.exponential(works[kind])
            busy += min(work, end - env.now)
            yield env.timeout(work)

    def source():
        while True:
            yield env.timeout(rng.exponential(gap))
            env.process(patient(rng.choice(3, p=SHARES)))

    env.process(source())
    env.run(end)
    figures = {kind: np.mean(column) for kind, column in zip(KINDS, waits)}
    return figures | {"doctor_utilisation_pct": 100 * busy / end}
