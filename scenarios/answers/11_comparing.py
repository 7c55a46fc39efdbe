"""Answers to lecture 11: the same customers in two systems, and two orders."""

# %%
import re

import numpy as np
from scipy.stats import t

import cgrsp_simpy as cg

student = "Ada"

# %% [markdown]
# **11.1** One function serves the customers in one system; it is called for both.


# %%
def mean_wait(env, desk, gaps, works, priority=None):
    waits = []

    def customer(work):
        arrival = env.now
        request = desk.request(priority(work)) if priority else desk.request()
        with request as turn:
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


def saving(one, two, gaps, works):
    return mean_wait(*one, gaps, works) - mean_wait(*two, gaps, works)


print("11.1:", cg.exercises.check(11.1, saving))

# %% [markdown]
# **11.2** The differences day by day, and Student's t with six degrees of freedom.

# %%
text = cg.exercises.question(11.2, student)
print(text)
one, two = (eval(part) for part in re.findall(r"\[.*?\]", text))
differences = np.subtract(one, two)
answer = t.ppf(0.975, 6) * differences.std(ddof=1) / np.sqrt(7)
print(f"{differences.mean():+.2f} ± {answer:.3f} min")
print("11.2:", cg.exercises.check(11.2, answer, student))

# %% [markdown]
# **11.3** From the least p-value on: times the number of tests that are left, at most
# 1, and not below the value before.


# %%
def adjusted(p):
    order, result, before = np.argsort(p), np.zeros(len(p)), 0.0
    for rank, k in enumerate(order):
        before = max(before, min(1.0, (len(p) - rank) * p[k]))
        result[k] = before
    return result


print("11.3:", cg.exercises.check(11.3, adjusted))

# %% [markdown]
# **11.4** A `PriorityResource` takes the request with the least number first. So the
# work is the priority.


# %%
def shortest_first(env, desk, gaps, works):
    return mean_wait(env, desk, gaps, works, priority=lambda work: work)


print("11.4:", cg.exercises.check(11.4, shortest_first))
