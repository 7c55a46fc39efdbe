"""Answers to lecture 3: measuring."""

# %%
import json
import re

import numpy as np
import simpy

import cgrsp_simpy as cg

student = "Ada"

# %% [markdown]
# **3.1** Each length counts for the time it lasts; the last one lasts until the end.

# %%
text = cg.exercises.question(3.1, student)
print(text)
times, lengths = (json.loads(part) for part in re.findall(r"\[.*?\]", text))
end = int(re.search(r"time (\d+)\.", text)[1])
answer = np.dot(lengths, np.diff([*times, end])) / end
print(f"area {answer * end:.0f}, time average {answer:.4f}")
print("3.1:", cg.exercises.check(3.1, answer, student))

# %% [markdown]
# **3.2** Little's law L = λ W, solved for W. The rate is per day and the stay in hours.

# %%
text = cg.exercises.question(3.2, student)
print(text)
patients, per_day = map(float, re.findall(r"\d+\.?\d*", text))
answer = 24 * patients / per_day
print(f"{answer:.1f} hours")
print("3.2:", cg.exercises.check(3.2, answer, student))

# %% [markdown]
# **3.3** The clock at the arrival is kept in a variable of the process.


# %%
def customer(env, desk, stay, service):
    arrival = env.now
    with desk.request() as turn:
        yield turn
        yield env.timeout(service)
    stay.tally(env.now - arrival)


env = simpy.Environment()
desk, stay = cg.Resource(env, name="desk"), cg.Monitor(env, "stay")
for _ in range(3):
    env.process(customer(env, desk, stay, 4))
env.run()
print("three customers who arrive together stay", list(stay.values))
print("3.3:", cg.exercises.check(3.3, customer))
