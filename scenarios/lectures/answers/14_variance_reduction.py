"""Answers to lecture 14: variance reduction."""

# %% [markdown]
# **14.1** Var e^U = (e^2 - 1) / 2 - (e - 1)^2, and the covariance of e^U and e^(1 - U)
# is e - (e - 1)^2. The mean of a pair has the variance (Var + Cov) / 2, that of two
# independent runs Var / 2.

# %%
from math import e

import numpy as np

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream

variance = (e**2 - 1) / 2 - (e - 1) ** 2
covariance = e - (e - 1) ** 2
ratio = variance / (variance + covariance)
u = stream(14, "trial").random((2, 100_000))
two = (np.exp(u[0]) + np.exp(u[1])) / 2
pair = (np.exp(u[0]) + np.exp(1 - u[0])) / 2
print(f"by theory {ratio:.1f} times; in a trial {two.var() / pair.var():.1f} times")
print("14.1:", cg.exercises.check(14.1, ratio))

# %% [markdown]
# **14.2** The slope of wait on control is their covariance over the control's variance.
# The control was 1.2 s too high, so the wait was too long by so many times the slope.

# %%
wait_s, control_s = np.array([12, 15, 9, 20, 14]), np.array([11, 12, 8, 15, 10])
slope = np.cov(wait_s, control_s)[0, 1] / control_s.var(ddof=1)
controlled_s = wait_s.mean() - slope * (control_s.mean() - 10)
print(f"slope {slope:.3f}; {wait_s.mean():.2f} s becomes {controlled_s:.2f} s")
print("14.2:", cg.exercises.check(14.2, controlled_s))

# %% [markdown]
# **14.3** The same steps as a function.


# %%
def controlled(y, x, known):
    """The mean of y, without what the control explains."""
    slope = np.cov(x, y)[0, 1] / np.var(x, ddof=1)
    return np.mean(y) - slope * (np.mean(x) - known)


print("14.3:", cg.exercises.check(14.3, controlled))
