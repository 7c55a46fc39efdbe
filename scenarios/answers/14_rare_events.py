"""Answers to lecture 14: quantiles, correlated input and rare events."""

# %%
import re
from math import log

import numpy as np
from scipy.stats import binom

import cgrsp_simpy as cg

student = "Ada"

# %% [markdown]
# **14.1** With probability p, n independent replications see no event with probability
# (1 - p)^n. Set this equal to 1 - confidence, and solve for n.

# %%
text = cg.exercises.question(14.1, student)
print(text)
p, confidence = map(float, re.search(r"of ([\d.]+) or .* with (\d+) %", text).groups())
answer = log(1 - confidence / 100) / log(1 - p)
print(f"{answer:,.0f} replications")
print("14.1:", cg.exercises.check(14.1, answer, student))

# %% [markdown]
# **14.2** The lower end has the rank of the 0.025 quantile, counted from 1; the upper
# end is the value after the rank of the 0.975 quantile.


# %%
def interval(x, p):
    """Return the ends of the 95 % interval for the p-quantile."""
    low, high = binom.ppf([0.025, 0.975], len(x), p).astype(int)
    return np.sort(x)[[low - 1, high]]


print("14.2:", cg.exercises.check(14.2, interval))

# %% [markdown]
# **14.3** Each arrival multiplies the weight by a / s, and each departure by s / a.


# %%
def cycle(env, gaps, works, level, load, weights):
    """A cycle with swapped rates, and its weight."""
    present, weight, end = 1, 1.0, env.event()

    def change(times, step, factor):
        nonlocal present, weight
        for time in times:
            yield env.timeout(time)
            if end.triggered:
                return
            present, weight = present + step, weight * factor
            if present in (0, level):
                end.succeed()

    env.process(change(gaps, 1, load))
    env.process(change(works, -1, 1 / load))
    yield end
    weights.append(weight if present == level else 0.0)


print("14.3:", cg.exercises.check(14.3, cycle))
