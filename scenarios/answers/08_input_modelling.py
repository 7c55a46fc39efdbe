"""Answers to lecture 8: input modelling."""

# %%
import re

import numpy as np
from scipy import stats

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream

student = "Ada"

# %% [markdown]
# **8.1** The maximum-likelihood mean of an exponential distribution that begins at 0 is
# the mean of the data. D is the largest distance on either side of a step.

# %%
n = int(re.search(r"stream\((\d+)", cg.exercises.question(8.1, student))[1])
x = np.sort(stream(n, "exercise").gamma(2.0, 300.0, 500))
fitted, steps = 1 - np.exp(-x / x.mean()), np.arange(501) / 500
answer = max((steps[1:] - fitted).max(), (fitted - steps[:-1]).max())
print(f"number {n}: mean {x.mean():.1f} s, D = {answer:.4f}")
print("8.1:", cg.exercises.check(8.1, answer, student))

# %% [markdown]
# **8.2** Every cell has an expected count of 25. Shape and scale were fitted, so 20 - 1
# - 2 = 17 degrees of freedom remain.

# %%
n = int(re.search(r"stream\((\d+)", cg.exercises.question(8.2, student))[1])
x = stream(n, "exercise").gamma(2.0, 300.0, 500)
shape, _, scale = stats.gamma.fit(x, floc=0)
cells = np.bincount((20 * stats.gamma.cdf(x, shape, 0, scale)).astype(int))
statistic = np.sum((cells - 25) ** 2 / 25)
answer = stats.chi2.sf(statistic, 17)
print(f"number {n}: shape {shape:.2f}, chi-square {statistic:.1f}, p = {answer:.3f}")
print("8.2:", cg.exercises.check(8.2, answer, student))

# %% [markdown]
# **8.3** The source waits until the next arrival, and starts one process per caller.


# %%
def replay(env, desk, log, waits):
    """A hotline driven by a log."""

    def caller(talk):
        arrival = env.now
        with desk.request() as turn:
            yield turn
            waits.append(env.now - arrival)
            yield env.timeout(talk)

    for arrival, talk in log:
        yield env.timeout(arrival - env.now)
        env.process(caller(talk))


print("8.3:", cg.exercises.check(8.3, replay))
