"""Answers to lecture 10: the number in the system changes at arrivals and departures,
and its average over time follows from these two.
"""

# %%
import re
from itertools import count

import numpy as np

import cgrsp_simpy as cg

student = "Ada"

# %% [markdown]
# **10.1** The formula for M/M/c, for one clerk more until the wait is short enough.

# %%
text = cg.exercises.question(10.1, student)
print(text)
per_min, work, limit = map(float, re.findall(r"\d+\.?\d*", text))
rate = per_min / 60
for answer in count(int(rate * work) + 1):
    wait_s = float(cg.queueing.mmc(rate, 1 / work, answer).wait_s)
    print(f"{answer} clerks: mean wait {wait_s:.1f} s")
    if wait_s <= limit:
        break
print("10.1:", cg.exercises.check(10.1, answer, student))

# %% [markdown]
# **10.2** Each customer is in the system from arrival to departure. So the area under
# the curve of the number in the system is the sum of these times. The average is the
# area over the length of the run, which ends with the last departure.


# %%
def mean_number(env, desk, gaps, works):
    times = []

    def customer(work):
        arrival = env.now
        with desk.request() as turn:
            yield turn
            yield env.timeout(work)
        times.append(env.now - arrival)

    def source():
        for gap, work in zip(gaps, works):
            yield env.timeout(gap)
            env.process(customer(work))

    env.process(source())
    env.run()
    return sum(times) / env.now


print("10.2:", cg.exercises.check(10.2, mean_number))

# %% [markdown]
# **10.3** With the utilisation work / gap the denominator is 2 (gap - work).


# %%
def bound(gap, gap_sd, work, work_sd):
    return (gap_sd**2 + work_sd**2) / (2 * gap * (1 - work / gap))


print("10.3:", cg.exercises.check(10.3, bound))

# %% [markdown]
# **10.4** `desk.count` is the number in service, `len(desk.queue)` the number of
# those who wait. `min` returns the first one of several least desks.


# %%
def shortest_queue(env, desks, gaps, works):
    waits = []

    def customer(work):
        arrival = env.now
        desk = min(desks, key=lambda desk: desk.count + len(desk.queue))
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


print("10.4:", cg.exercises.check(10.4, shortest_queue))
