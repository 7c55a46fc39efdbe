"""Answers to lecture 2: processes."""

# %%
import re

import simpy

import cgrsp_simpy as cg

student = "Ada"

# %% [markdown]
# **2.1** With the mean interarrival time a and the mean service time s, the utilisation
# is r = s / a, and the mean wait is r / (1 - r) times s.

# %%
text = cg.exercises.question(2.1, student)
print(text)
gap_min, service_min = map(float, re.findall(r"(\d+\.?\d*) minutes on", text))
utilisation = service_min / gap_min
answer = utilisation / (1 - utilisation) * service_min
print(f"mean wait {answer:.2f} min")
print("2.1:", cg.exercises.check(2.1, answer, student))

# %% [markdown]
# **2.2** The wait is known as soon as the server is granted; the process returns it at
# its end. `with` releases the server.


# %%
def customer(env, desk, service):
    arrival = env.now
    with desk.request() as turn:
        yield turn
        wait = env.now - arrival
        yield env.timeout(service)
    return wait


print("2.2:", cg.exercises.check(2.2, customer))

# %% [markdown]
# **2.3** The loop takes the next part when the previous one has been passed on, so the
# machine works on one part at a time.


# %%
def station(env, before, after, work):
    while True:
        part = yield before.get()
        yield env.timeout(work)
        yield after.put(part)


env = simpy.Environment()
before, after = simpy.Store(env), simpy.Store(env)
before.items.extend(["a", "b", "c"])
env.process(station(env, before, after, 5))
env.run(until=12)
print("after 12 minutes:", after.items, "are ready")
print("2.3:", cg.exercises.check(2.3, station))
