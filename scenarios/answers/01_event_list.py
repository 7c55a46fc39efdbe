"""Answers to lecture 1: the event list."""

# %%
import heapq
import re

import simpy

import cgrsp_simpy as cg

student = "Ada"

# %% [markdown]
# **1.1** Each service begins at the arrival, or when the previous service ends, if that
# is later.

# %%
text = cg.exercises.question(1.1, student)
print(text)
arrivals, services = (eval(part) for part in re.findall(r"\[.*?\]", text))
free_at, waits = 0, []
for arrival, service in zip(arrivals, services):
    begin = max(arrival, free_at)
    free_at = begin + service
    waits.append(begin - arrival)
    print(f"arrives at {arrival:2}, served from {begin:2} to {free_at:2}")
answer = sum(waits) / 4
print("waits", waits, "mean", answer)
print("1.1:", cg.exercises.check(1.1, answer, student))

# %% [markdown]
# **1.2** The heap compares entries from the left. The third value counts the notices as
# they are scheduled, so that it decides if time and priority are equal. SimPy does it
# in the same way.


# %%
def in_order(events):
    heap = []
    for count, (time, priority, number) in enumerate(events):
        heapq.heappush(heap, (time, priority, count, number))
    return [heapq.heappop(heap)[-1] for _ in events]


print("1.2:", cg.exercises.check(1.2, in_order))

# %% [markdown]
# **1.3** The source waits for a gap, and the clock then shows the time of the arrival.


# %%
def source(env, gaps, times):
    for gap in gaps:
        yield env.timeout(gap)
        times.append(env.now)


env, times = simpy.Environment(), []
env.process(source(env, [2, 3, 1, 5], times))
env.run()
print("arrivals at", times)
print("1.3:", cg.exercises.check(1.3, source))
