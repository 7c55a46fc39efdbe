"""The job shop of Law in bare SimPy."""

import numpy as np
import simpy

ROUTES = ((3, 1, 2, 5), (4, 1, 3), (2, 5, 1, 4, 3))  # groups, by type of job
WORK = ((0.5, 0.6, 0.85, 0.5), (1.1, 0.8, 0.75), (1.2, 0.25, 0.7, 0.9, 1.0))  # hours
SHARES = (0.3, 0.5, 0.2)


def job_shop(seed, machines=(3, 2, 4, 3, 1), gap=0.25, end=365 * 8):
    rng = np.random.default_rng(seed)
    env = simpy.Environment()
    groups = [simpy.Resource(env, n) for n in machines]
    waits, busy = [[] for _ in machines], [0.0 for _ in machines]
    responses = []

    def job(kind):
        arrival = env.now
        for group, mean in zip(ROUTES[kind], WORK[kind]):
            queued = env.now
            with groups[group - 1].request() as turn:
                yield turn
                waits[group - 1].append(env.now - queued)
                work = rng.gamma(2, mean / 2)
                busy[group - 1] += min(work, end - env.now)
                yield env.timeout(work)
        responses.append(env.now - arrival)

    def source():
        while True:
            yield env.timeout(rng.exponential(gap))
            env.process(job(rng.choice(3, p=SHARES)))

    env.process(source())
    env.run(end)
    figures = {"response": np.mean(responses)}
    for k, servers in enumerate(machines):
        figures[f"group{k + 1}_wait"] = np.mean(waits[k])
        figures[f"group{k + 1}_utilisation_pct"] = 100 * busy[k] / end / servers
    return figures
