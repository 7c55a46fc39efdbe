"""Answers to lecture 8: Holm leaves two of four, and FIFO's printed wait
agrees with ours.
"""

# %% [markdown]
# **8.1** By hand, from the least p-value on: 0.004 x 5, 0.011 x 4, 0.020 x 3. The third
# product is above 0.05, so it stops there.

# %%
import math

import numpy as np

import cgrsp_simpy as cg
from cgrsp_simpy.analysis import statistics

p_values = (0.004, 0.011, 0.020, 0.045, 0.300)
adjusted = statistics.holm(p_values)
print("p          ", *(f"{p:.3f}" for p in p_values))
print("after Holm ", *(f"{p:.3f}" for p in adjusted))
answer = sum(p < 0.05 for p in adjusted)
print(f"{answer} tests are significant")
print("8.1:", cg.exercises.check(8.1, answer))

# %% [markdown]
# **8.2** Both means are random: the printed one is of 30 days, ours of 20. The
# variances of the two means add up.

# %%
ours = statistics.mean(
    cg.compare(cg.day("hectic"), ["fifo"], range(20)).values("fifo", "wait_min")
)
error_min = ours.sd * math.sqrt(1 / 30 + 1 / 20)
answer = (158.77 - ours.mean) / error_min
print(
    f"ours {ours.mean:.2f} min, between days {ours.sd:.1f} min; standard error of the"
    f" difference {error_min:.2f} min"
)
print(f"z = {answer:+.2f}")
print("8.2:", cg.exercises.check(8.2, answer))

# %% [markdown]
# The cell agrees: the print lies less than one standard error above ours.

# %% [markdown]
# **8.3** The least of n is multiplied by n, the next by n - 1. No p-value may then be
# less than one before it: the running maximum.

# %%


def adjusted(p):
    """Holm's p-values, in the order of p."""
    order, found = np.argsort(p), np.empty(len(p))
    times = np.arange(len(p), 0, -1)
    found[order] = np.minimum(1, np.maximum.accumulate(times * np.sort(p)))
    return found


print("8.3:", cg.exercises.check(8.3, adjusted))
