"""Answers to lecture 16: scheduling."""

# %%
import re

import simpy

import cgrsp_simpy as cg

student = "Ada"

# %% [markdown]
# **16.1** Serve the jobs one after the other, the shortest first. A job that ends after
# its due date adds the difference.

# %%
text = cg.exercises.question(16.1, student)
print(text)
works, dues = (
    [int(number) for number in numbers.split(",")]
    for numbers in re.findall(r"\[(.*?)\]", text)
)
now = answer = 0
for work, due in sorted(zip(works, dues)):
    now += work
    answer += max(0, now - due)
    print(f"work {work:3} min, ends at {now:3}, due at {due:3}")
print("16.1:", cg.exercises.check(16.1, answer, student))

# %% [markdown]
# **16.2** The due date is known at the request and does not change, so it can be the
# priority of the request. A job that ends early has a tardiness of 0.


# %%
def job(env, machine, work, due):
    with machine.request(priority=due) as turn:
        yield turn
        yield env.timeout(work)
    return max(0, env.now - due)


print("16.2:", cg.exercises.check(16.2, job))

# %% [markdown]
# **16.3** One timeout per batch, made when the first part is there. If it occurs before
# the next part, the request is still in the queue of the store. Without `cancel` it
# would take a part that nobody bakes.


# %%
def oven(env, store, size, patience, work, ends):
    while True:
        yield store.get()
        parts, over = 1, env.timeout(patience)
        while parts < size:
            part = store.get()
            if part not in (yield part | over):
                part.cancel()
                break
            parts += 1
        yield env.timeout(work)
        ends.extend([env.now] * parts)


env, ends = simpy.Environment(), []
store = simpy.Store(env)
store.items.extend("abcd")
env.process(oven(env, store, 3, 10, 5, ends))
env.run()
print("four parts at 0, three per batch, baked at", ends)
print("16.3:", cg.exercises.check(16.3, oven))

# %% [markdown]
# **16.4** The ratio depends on the time, so it is computed at each decision.


# %%
def policy(view):
    def ratio(job):
        return (job.due_s - view.now_s) / job.work_s

    return zip(sorted(view.queue, key=ratio), view.free)


print("16.4:", cg.exercises.check(16.4, policy))
