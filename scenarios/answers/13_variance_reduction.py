"""Answers to lecture 13: the correlation of an antithetic pair by integration, and
three estimators.
"""

# %%
import re

import numpy as np

import cgrsp_simpy as cg

student = "Ada"

# %% [markdown]
# **13.1** The mean of two values of a pair has the variance (1 + r) / 2 of a single
# value, the mean of two independent ones 1 / 2 of it. The variance and the covariance
# are integrals: E e^(2aU) = (e^(2a) - 1) / (2a), E e^(aU) e^(a(1 - U)) = e^a.

# %%
text = cg.exercises.question(13.1, student)
print(text)
a = float(re.search(r"a = ([\d.]+)", text)[1])
mean = (np.exp(a) - 1) / a
variance = (np.exp(2 * a) - 1) / (2 * a) - mean**2
covariance = np.exp(a) - mean**2
answer = variance / (variance + covariance)
print(f"correlation {covariance / variance:.3f}, variance ratio {answer:.2f}")
print("13.1:", cg.exercises.check(13.1, answer, student))

# %% [markdown]
# **13.2** The second run has 1 - u in place of u and 1 - v in place of v.


# %%
def mean_wait(env, desk, gaps, works):
    waits = []

    def customer(work):
        arrival = env.now
        with desk.request() as turn:
            yield turn
            waits.append(env.now - arrival)
            yield env.timeout(work)

    def source():
        for gap, work in zip(gaps, works):
            yield env.timeout(gap)
            env.process(customer(work))

    env.process(source())
    env.run()
    return np.mean(waits)


def pair(one, two, u, v, gap, work):
    u, v = np.array(u), np.array(v)
    first = mean_wait(*one, -gap * np.log(1 - u), -work * np.log(1 - v))
    second = mean_wait(*two, -gap * np.log(u), -work * np.log(v))
    return (first + second) / 2


print("13.2:", cg.exercises.check(13.2, pair))

# %% [markdown]
# **13.3** The slope is the covariance over the variance of the control.


# %%
def controlled(y, x, known):
    covariance = np.cov(x, y)
    b = covariance[0, 1] / covariance[0, 0]
    return np.mean(y) - b * (np.mean(x) - known)


print("13.3:", cg.exercises.check(13.3, controlled))

# %% [markdown]
# **13.4** The control is the mean wait of the same customers at the fast server.


# %%
def external(two, one, gaps, works, b, known):
    control = mean_wait(*one, gaps, np.array(works) / 2)
    return mean_wait(*two, gaps, works) - b * (control - known)


print("13.4:", cg.exercises.check(13.4, external))
