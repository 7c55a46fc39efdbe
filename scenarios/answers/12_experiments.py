"""Answers to lecture 12: an inventory with reviews at each sale, and an interaction of
servers and speed.
"""

# %%
import re

import numpy as np

import cgrsp_simpy as cg

student = "Ada"

# %% [markdown]
# **12.1** The effect of A with B high, minus the effect of A with B low, halved.

# %%
text = cg.exercises.question(12.1, student)
print(text)
low, one, two, high = map(float, re.findall(r"([\d.]+) USD", text))
answer = ((high - two) - (one - low)) / 2
print(f"{answer:+.2f} USD")
print("12.1:", cg.exercises.check(12.1, answer, student))

# %% [markdown]
# **12.2** The level changes at sales and deliveries. Each change first adds the area
# since the last one. The position counts what is on order, so that each sale orders at
# most once.


# %%
def on_hand(env, low, high, gaps, sizes, lead):
    level, position, area, since = high, high, 0.0, 0.0

    def change(items):
        nonlocal level, area, since
        area += max(level, 0) * (env.now - since)
        level, since = level + items, env.now

    def delivery(items):
        yield env.timeout(lead)
        change(items)

    def source():
        nonlocal position
        for gap, size in zip(gaps, sizes):
            yield env.timeout(gap)
            change(-size)
            position -= size
            if position <= low:
                env.process(delivery(high - position))
                position = high

    env.run(env.process(source()))
    return area / env.now


print("12.2:", cg.exercises.check(12.2, on_hand))

# %% [markdown]
# **12.3** Four runs of the same customers, one per combination of levels.


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


def interaction(systems, gaps, works):
    wait = {
        (servers, speed): mean_wait(*system, gaps, np.array(works) / speed)
        for (servers, speed), system in systems.items()
    }
    return (wait[2, 1.5] - wait[1, 1.5] - (wait[2, 1] - wait[1, 1])) / 2


print("12.3:", cg.exercises.check(12.3, interaction))

# %% [markdown]
# **12.4** If the parabola opens downwards, or its vertex is outside, an end is lowest.


# %%
def lowest(x, y):
    parabola = np.polynomial.Polynomial.fit(x, y, 2)
    vertex = parabola.deriv().roots().real
    candidates = [min(x), max(x), *(at for at in vertex if min(x) < at < max(x))]
    return min(candidates, key=parabola)


print("12.4:", cg.exercises.check(12.4, lowest))
