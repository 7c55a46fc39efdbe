"""Answers to lecture 15: interrupts."""

# %%
import re
from math import exp

import numpy as np
import simpy

import cgrsp_simpy as cg

student = "Ada"

# %% [markdown]
# **15.1** One piece, E(L) = (1 - exp(-r L)) exp(r (L + R)) / r. A simulation in plain
# SimPy gives nearly the same.

# %%
text = cg.exercises.question(15.1, student)
print(text)
work_h, mean_h, minutes = map(int, re.findall(r"\d+", text))
rate, restart_h = 1 / mean_h, minutes / 60
answer = (1 - exp(-rate * work_h)) * exp(rate * (work_h + restart_h)) / rate


def machine_job(env):
    need_h = work_h
    while True:
        try:
            yield env.timeout(need_h)
            return
        except simpy.Interrupt:
            need_h = restart_h + work_h


def failures(env, job, rng):
    while True:
        yield env.timeout(rng.exponential(mean_h))
        job.interrupt()


def hours(rng):
    env = simpy.Environment()
    job = env.process(machine_job(env))
    env.process(failures(env, job, rng))
    env.run(until=job)
    return env.now


rng = np.random.default_rng(15)
simulated = cg.statistics.mean([hours(rng) for _ in range(2000)])
print(f"by the formula {answer:.2f} h,", end=" ")
print(f"simulated {simulated.mean:.2f} ± {simulated.half_width:.2f} h")
print("15.1:", cg.exercises.check(15.1, answer, student))

# %% [markdown]
# **15.2** A piece counts when its timeout has passed without an interrupt. Otherwise
# the loop tries the same piece again.


# %%
def job(env, work, every):
    while work > 1e-9:
        piece = min(every, work)
        try:
            yield env.timeout(piece)
            work -= piece
        except simpy.Interrupt:
            pass
    return env.now


print("15.2:", cg.exercises.check(15.2, job))

# %% [markdown]
# **15.3** `with` withdraws the request of a caller who reneges, and releases the server
# of a caller who was served.


# %%
def caller(env, desk, talk, patience):
    with desk.request() as turn:
        if turn in (yield turn | env.timeout(patience)):
            yield env.timeout(talk)
            return 1
    return 0


print("15.3:", cg.exercises.check(15.3, caller))

# %% [markdown]
# **15.4** After an interrupt, the work since the machine was granted is subtracted, and
# the loop requests the machine for what is left.


# %%
def job(env, machine, priority, work):
    arrival, left = env.now, work
    while left > 0:
        with machine.request(priority=priority) as turn:
            yield turn
            begin = env.now
            try:
                yield env.timeout(left)
                left = 0
            except simpy.Interrupt:
                left -= env.now - begin
    return env.now - arrival


print("15.4:", cg.exercises.check(15.4, job))
