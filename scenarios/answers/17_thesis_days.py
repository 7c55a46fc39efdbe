"""Answers to lecture 17: days of the thesis."""

# %%
import re

import simpy

import cgrsp_simpy as cg

student = "Ada"

# %% [markdown]
# **17.1** A slot that is never without a job serves one job in each time that it is
# held. The mean of this time is the mean provisioning delay and the execution time.

# %%
text = cg.exercises.question(17.1, student)
print(text)
numbers = map(float, re.findall(r"\d+\.?\d*", text))
medium_s, p_medium, low_s, p_low, work_s, slots = numbers
held_s = p_medium * medium_s + p_low * low_s + work_s
answer = 3600 * slots / held_s
print(f"a slot is held for {held_s:.0f} s on average; {answer:.2f} jobs per hour")
print("17.1:", cg.exercises.check(17.1, answer, student))

# %% [markdown]
# **17.2** The request comes first: from the dispatch on, the slot is held. The wait
# includes the provisioning, so it is taken after the delay.


# %%
def job(env, slot, delay, work):
    submit = env.now
    with slot.request() as turn:
        yield turn
        yield env.timeout(delay)
        wait = env.now - submit
        yield env.timeout(work)
    return wait


env = simpy.Environment()
slot = simpy.Resource(env)
jobs = [env.process(job(env, slot, 30, 60)) for _ in range(2)]
env.run()
print("two jobs at 0, delay 30, work 60: waits", [job.value for job in jobs])
print("17.2:", cg.exercises.check(17.2, job))
