"""Answers to lecture 9: each model is a few processes, and the deletion is by the time
of arrival.
"""

# %%
import re

import numpy as np
from scipy.stats import t

import cgrsp_simpy as cg

student = "Ada"

# %% [markdown]
# **9.1** A source process starts one process per customer. The arrival decides whether
# a wait counts. The first customer comes after the first gap.


# %%
def steady(env, desk, gaps, works, warm_up):
    waits = []

    def customer(work):
        arrival = env.now
        with desk.request() as turn:
            yield turn
            if arrival >= warm_up:
                waits.append(env.now - arrival)
            yield env.timeout(work)

    def source():
        for gap, work in zip(gaps, works):
            yield env.timeout(gap)
            env.process(customer(work))

    env.process(source())
    env.run()
    return np.mean(waits)


print("9.1:", cg.exercises.check(9.1, steady))

# %% [markdown]
# **9.2** The pilot gives mean and standard deviation; the function looks for the least
# number of days whose half width is small enough.

# %%
text = cg.exercises.question(9.2, student)
print(text)
pilot, percent = re.search(r"\[(.*?)\].* ([\d.]+) %", text).groups()
days = [float(wait) for wait in pilot.split(",")]
answer = cg.statistics.replications_needed(days, float(percent) / 100)
print(f"{answer} days are needed")
print("9.2:", cg.exercises.check(9.2, answer, student))

# %% [markdown]
# **9.3** The source stops at closing time. The last event is not always a departure: it
# may be the arrival of the customer who does not enter. So record the departures.


# %%
def closing(env, desk, gaps, works, closes):
    ends = []

    def customer(work):
        with desk.request() as turn:
            yield turn
            yield env.timeout(work)
        ends.append(env.now)

    def source():
        for gap, work in zip(gaps, works):
            yield env.timeout(gap)
            if env.now > closes:
                return
            env.process(customer(work))

    env.process(source())
    env.run()
    return len(ends), ends[-1]


print("9.3:", cg.exercises.check(9.3, closing))

# %% [markdown]
# **9.4** The batch means are the observations, and their number gives the degrees of
# freedom.


# %%
def batch_interval(waits, batches):
    means = np.reshape(waits, (batches, -1)).mean(axis=1)
    half = t.ppf(0.975, batches - 1) * means.std(ddof=1) / np.sqrt(batches)
    return means.mean() - half, means.mean() + half


print("9.4:", cg.exercises.check(9.4, batch_interval))
