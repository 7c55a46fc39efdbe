"""Answers to lecture 15: random numbers and their tests."""

# %% [markdown]
# **15.1** A right generator passes one test with the chance 0.99, and all thirty, which
# are independent, with 0.99^30.

# %%
import numpy as np
from scipy import stats

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream

chance = 1 - 0.99**30
least = stream(15, "p-values").random((100_000, 30)).min(axis=1)
found = cg.statistics.mean((least < 0.01).astype(float))
print(
    f"by formula {chance:.3f}; 100,000 times {found.mean:.3f} ± {found.half_width:.3f}"
)
print("15.1:", cg.exercises.check(15.1, chance))

# %% [markdown]
# **15.2** A pair is a cell from 0 to 99. All cells count, also those after the last one
# in which a pair lies: `minlength`. On RANDU's pairs the test finds nothing.


# %%
def pairs(u):
    """The p-value of the chi-square test of pairs in 10 x 10 cells."""
    tens, units = (10 * u.reshape(-1, 2)).astype(int).T
    return stats.chisquare(np.bincount(10 * tens + units, minlength=100)).pvalue


x, numbers = 1, []
for _ in range(20_000):
    x = 65539 * x % 2**31
    numbers.append(x / 2**31)
print(f"RANDU, 10,000 pairs: p = {pairs(np.array(numbers)):.2f}")
print("15.2:", cg.exercises.check(15.2, pairs))
