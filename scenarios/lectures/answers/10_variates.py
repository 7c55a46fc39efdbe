"""Answers to lecture 10: variates and streams."""

# %% [markdown]
# **10.1** f(x) / g(x) = root(2 / pi) e^(-x^2 / 2 + x) is largest at x = 1. There it is
# root(2 e / pi), and so many draws does a kept one take.

# %%
import math
from math import log

import numpy as np

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream

c = math.sqrt(2 * math.e / math.pi)
x = stream(10, "half normal").standard_exponential(10_000)
u = stream(10, "u").random(10_000)
kept = u <= np.exp(-((x - 1) ** 2) / 2)
print(f"by formula {c:.3f} draws; in a trial {10_000 / kept.sum():.3f}")
print("10.1:", cg.exercises.check(10.1, c))

# %% [markdown]
# **10.2** Count the jobs that are expected up to each hour after the start: 12 hours of
# ten, 12 of two, and so on. The 500th job comes when so many are expected as its gaps
# of rate 1 add up to.

# %%
expected = stream(10, "exercise").standard_exponential(500).sum()
per_h = np.tile([10.0] * 12 + [2.0] * 12, 10)
until = np.append(0, np.cumsum(per_h))
last_h = np.interp(expected, until, np.arange(len(until)))
print(f"{expected:.1f} jobs are expected by then: {last_h:.2f} h after the start")
print("10.2:", cg.exercises.check(10.2, last_h))

# %% [markdown]
# **10.3** Set P(X > x) equal to 1 - u, and solve for x. (u in place of 1 - u gives the
# same law.)

# %%


def life_h(u, scale_h, shape):
    """A Weibull variate."""
    return scale_h * (-log(1 - u)) ** (1 / shape)


print("10.3:", cg.exercises.check(10.3, life_h))
