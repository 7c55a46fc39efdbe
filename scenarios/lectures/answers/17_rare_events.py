"""Answers to lecture 17: quantiles, correlated input and rare events."""

# %% [markdown]
# **17.1** The number of values below the median is binomial with p = 1/2. The lower end
# has the rank of its 2.5 % point, counted from 1; the upper one comes after the 97.5 %
# point.

# %%
from math import exp, log

import numpy as np
from scipy.stats import binom

import cgrsp_simpy as cg


def interval(x):
    """Two of the sorted values around the median."""
    low, high = binom.ppf([0.025, 0.975], len(x), 0.5).astype(int)
    ranked = sorted(x)
    return ranked[low - 1], ranked[high]


print("17.1:", cg.exercises.check(17.1, interval))

# %% [markdown]
# **17.2** With probability p, n runs see none with the chance (1 - p)^n. It must be
# 5 % at most.

# %%
n = log(0.05) / log(1 - 1e-4)
print(f"{n:,.0f} runs; 3 / p is {3 / 1e-4:,.0f}")
print("17.2:", cg.exercises.check(17.2, n))

# %% [markdown]
# **17.3** The first time that the sum of the steps is above the level, the weight is
# the ratio of the two laws there.


# %%
def weight(gaps_s, works_s, level_s):
    """What a walk contributes to P(W > level)."""
    walk_s = np.cumsum(np.subtract(works_s, gaps_s))
    return exp(-0.02 * walk_s[np.argmax(walk_s > level_s)])


print("17.3:", cg.exercises.check(17.3, weight))
