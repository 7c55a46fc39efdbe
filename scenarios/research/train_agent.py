"""Can a small agent learn to dispatch? Better than CADR does, not than EDF or triage.

The thesis leaves reinforcement learning as future work (Section 6.2.2, point 8). The
agent scores each action by a dozen features of the observation of `GymEnvironment`, and
takes the best. Its weights are learnt by the cross-entropy method (Szita and Lörincz,
Learning Tetris using the noisy cross-entropy method, Neural Computation 18, 2006), a
search without gradients: draw weights, simulate days of surge, keep the best few, draw
around them, each time on new days. The agent is then compared with policies, and with
the lower bound, on ten other days.
"""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from gym_environment import GymEnvironment

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.statistics import mean, paired_difference
from cgrsp_simpy.decide.recommend import COST, Prices

DAY = cg.day("surge")
TEST, GENERATIONS, DRAWN, KEPT, DAYS = range(10), 8, 16, 3, 3
MOST = 4000, 1000.0  # steps per day; a run with more is stopped, and costs these USD
NOISE = 0.3  # added to each deviation, less with every generation
WEIGHTS = 12


def features(env, seen):
    """Return one row per action (a class of jobs on a type); the last row waits."""
    number = len(env.classes)
    waiting, due_h = seen[: 2 * number : 2], seen[1 : 2 * number : 2]
    low = seen[2 * number : -3].reshape(-1, 4)[:, 3]
    rows = []
    for place, (kind, level) in enumerate(env.classes):
        tight, slack_h = float(DAY.workload.classes[kind].tight), due_h[place]
        late, soon = float(slack_h < 0), np.exp(-max(0.0, slack_h))
        for gpu, scarce in zip(env.types, low):
            minutes = gpu.mean_execution_s[level - 1] / 60
            own = [tight, late, soon, slack_h / 8, minutes, scarce, scarce * tight]
            rows.append([*own, scarce * late, scarce * soon, 0, 0, 0])
    hold = [1, np.log1p(waiting.sum()), low.mean()]
    return np.array([*rows, [0] * 9 + hold])


def played(weights, seed):
    """Return the cost of a day under the agent without that of the slots, USD."""
    env = GymEnvironment(DAY)
    (seen, told), usd = env.reset(seed=seed), 0.0
    for _ in range(MOST[0]):
        scores = np.where(told["action_mask"], features(env, seen) @ weights, -np.inf)
        seen, reward, over, _, told = env.step(np.argmax(scores))
        usd -= reward
        if over:
            return usd
    return usd + MOST[1]


def trained(pool):
    """Return the mean weights of the last best agents."""
    rng, centre, spread = np.random.default_rng(1), np.zeros(WEIGHTS), np.ones(WEIGHTS)
    for generation in range(GENERATIONS):
        drawn = rng.normal(centre, spread, (DRAWN, WEIGHTS))
        days = range(1000 + DAYS * generation, 1000 + DAYS * (generation + 1))
        tasks = [(weights, day) for weights in drawn for day in days]
        usd = list(pool.map(played, *zip(*tasks), chunksize=6))
        costs = np.reshape(usd, (DRAWN, DAYS)).mean(axis=1)
        best = drawn[np.argsort(costs)[:KEPT]]
        centre = best.mean(axis=0)
        spread = best.std(axis=0) + NOISE * (1 - generation / GENERATIONS)
        best_usd = np.sort(costs)[:KEPT].mean()
        print(f"{generation + 1:2}: best agents {best_usd:.2f} USD per day")
    return centre


def bound(seed):
    return cg.lower_bound(DAY, seed, "cost", 1800).value


def policies_usd(name):
    prices, slots = Prices(), len(DAY.slots)
    runs = [cg.simulate(DAY, name, seed) for seed in TEST]
    return [prices.bill(run.tally, slots, 1.0)[COST] for run in runs]


if __name__ == "__main__":
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        weights = trained(pool)
        kept_usd = Prices().price_slot * len(DAY.slots)
        agent = [
            usd + kept_usd for usd in pool.map(played, [weights] * len(TEST), TEST)
        ]
        least = list(pool.map(bound, TEST))
    print(f"weights: {np.round(weights, 2).tolist()}")
    found = {name: policies_usd(name) for name in ("fifo", "edf", "cadr", "triage")}
    found["bound"] = least
    print(f"agent: {mean(agent).mean:.2f} ± {mean(agent).half_width:.2f} USD per day")
    for name, usd in found.items():
        less = paired_difference(usd, agent)
        print(
            f"{name}: {mean(usd).mean:.2f} ± {mean(usd).half_width:.2f},"
            f" {less.mean:+.2f} ± {less.half_width:.2f} against the agent"
        )
