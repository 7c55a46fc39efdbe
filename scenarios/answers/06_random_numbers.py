"""Answers to lecture 6: random numbers and their tests."""

# %%
import re
from math import log

import numpy as np
from scipy import stats

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream

student = "Ada"

# %% [markdown]
# **6.1** A good generator passes one test with probability 1 - level, and all
# independent tests with the product of these probabilities.

# %%
match = re.search(r"(\d+) .* level ([\d.]+)\. ", cg.exercises.question(6.1, student))
tests, level = int(match[1]), float(match[2])
answer = 1 - (1 - level) ** tests
least = stream(6, "p-values").random((100_000, tests)).min(axis=1)
print(f"{tests} tests, level {level}: by formula {answer:.3f}", end="; ")
print(f"in 100,000 trials {np.mean(least < level):.3f}")
print("6.1:", cg.exercises.check(6.1, answer, student))

# %% [markdown]
# **6.2** A pair belongs to a cell from 0 to 99. `minlength` also counts the empty cells
# at the end.


# %%
def pairs(u):
    """Return the p-value of the chi-square test of pairs in 10 x 10 cells."""
    tens, units = (10 * u.reshape(-1, 2)).astype(int).T
    return stats.chisquare(np.bincount(10 * tens + units, minlength=100)).pvalue


print("6.2:", cg.exercises.check(6.2, pairs))

# %% [markdown]
# **6.3** Advance the state first, then use it.


# %%
def source(env, a, c, m, x, mean, n, arrivals):
    """Arrivals with the numbers of a linear congruential generator."""
    for _ in range(n):
        x = (a * x + c) % m
        yield env.timeout(-mean * log(1 - x / m))
        arrivals.append(env.now)


print("6.3:", cg.exercises.check(6.3, source))
