"""Answers to lecture 7: variates and streams."""

# %%
import math

import numpy as np

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream

student = "Ada"

# %% [markdown]
# **7.1** f(x) / g(x) = root(2 / pi) e^(-x^2 / 2 + x) is largest at x = 1. There it is
# c = root(2 e / pi), the number of draws per accepted variate.

# %%
answer = math.sqrt(2 * math.e / math.pi)
x = stream(7, "half normal").standard_exponential(10_000)
accepted = stream(7, "u").random(10_000) <= np.exp(-((x - 1) ** 2) / 2)
print(f"by formula {answer:.3f} variates; in a trial {1 / accepted.mean():.3f}")
print("7.1:", cg.exercises.check(7.1, answer))

# %% [markdown]
# **7.2** Thinning: propose arrivals at the highest rate, 10 per hour, and accept each
# with probability rate / 10.


# %%
def source(env, rng, arrive):
    """Poisson arrivals whose rate changes."""
    while True:
        yield env.timeout(rng.exponential(1 / 10))
        rate = 10 if 8 <= env.now % 24 < 20 else 2
        if rng.random() < rate / 10:
            arrive()


print("7.2:", cg.exercises.check(7.2, source))

# %% [markdown]
# **7.3** Set P(X > x) equal to 1 - U, and solve for x.


# %%
def machine(env, uniforms, scale, shape, repair, failures):
    """Weibull lifetimes and repairs."""
    for u in uniforms:
        yield env.timeout(scale * (-math.log(1 - u)) ** (1 / shape))
        failures.append(env.now)
        yield env.timeout(repair)


print("7.3:", cg.exercises.check(7.3, machine))

# %% [markdown]
# **7.4** Priority and service time are drawn by the source, at arrival. If the customer
# drew the service time after `yield turn`, another order of service would change it.


# %%
def source(env, desk, gaps, priorities, works, served):
    """Customers with priorities at one desk."""

    def customer(priority, work):
        arrival = env.now
        with desk.request(priority) as turn:
            yield turn
            yield env.timeout(work)
        served.append((arrival, env.now))

    for gap in gaps:
        yield env.timeout(gap)
        env.process(customer(next(priorities), next(works)))


print("7.4:", cg.exercises.check(7.4, source))
