"""Answers to lecture 4: from the question to a verified program."""

# %%
import re

import cgrsp_simpy as cg

student = "Ada"

# %% [markdown]
# **4.1** The load is the arrival rate times the mean stay. Nobody waits, so formula B
# gives the share that is sent on.

# %%
text = cg.exercises.question(4.1, student)
print(text)
per_day, days, pct = map(int, re.findall(r"\d+", text))
answer = per_day * days
while 100 * cg.queueing.erlang_b(answer, per_day * days) > pct:
    answer += 1
for number in (answer - 1, answer):
    share_pct = 100 * cg.queueing.erlang_b(number, per_day * days)
    print(f"{number} beds: {share_pct:.2f} % are sent on")
print("4.1:", cg.exercises.check(4.1, answer, student))

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
