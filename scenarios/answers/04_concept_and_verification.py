"""Answers to lecture 4: from the question to a verified program."""

# %% [markdown]
# **4.1** The load is the arrival rate times the mean stay. Nobody waits, so formula B
# gives the share that is sent on. The numbers here are those of an empty name.

# %%
import re

import cgrsp_simpy as cg

text = cg.exercises.question(4.1)
print(text)
per_day, days, pct = map(int, re.findall(r"\d+", text))
beds = per_day * days
while 100 * cg.queueing.erlang_b(beds, per_day * days) > pct:
    beds += 1
for number in (beds - 1, beds):
    share_pct = 100 * cg.queueing.erlang_b(number, per_day * days)
    print(f"{number} beds: {share_pct:.2f} % are sent on")
print("4.1:", cg.exercises.check(4.1, beds))

# %% [markdown]
# **4.2** The smallest priority is served first, so urgent patients get 0 and others 1.
# Among equal priorities SimPy serves the oldest request first.


# %%
def patient(env, bed, urgent, stay):
    arrival = env.now
    with bed.request(priority=1 - urgent) as turn:
        yield turn
        wait = env.now - arrival
        yield env.timeout(stay)
    return wait


print("4.2:", cg.exercises.check(4.2, patient))
