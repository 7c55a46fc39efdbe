"""Answers to lecture 18: metamodels and optimisation."""

# %% [markdown]
# **18.1** The least of six standard normal values is expected 1.267 below their mean,
# as tables of order statistics say, or a trial:

# %%
import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream

below = -quad(lambda z: z * 6 * norm.pdf(z) * norm.sf(z) ** 5, -9, 9)[0]
trial = -stream(18, "trial").normal(size=(100_000, 6)).min(axis=1).mean()
print(f"{below:.3f} standard errors; in a trial {trial:.2f}")
print("18.1:", cg.exercises.check(18.1, 0.5 * below))

# %% [markdown]
# **18.2** The vertex is lowest if it lies between the ends and the parabola opens
# upwards. To compare all three says the same without cases.


# %%
def lowest(x, y):
    """Where the fitted parabola is lowest."""
    parabola, ends = np.polyfit(x, y, 2), (min(x), max(x))
    vertex = np.clip(-parabola[1] / parabola[0] / 2, *ends)
    return min((*ends, vertex), key=lambda at: np.polyval(parabola, at))


print("18.2:", cg.exercises.check(18.2, lowest))
