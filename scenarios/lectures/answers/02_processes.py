"""Answers to lecture 2: processes."""

# %% [markdown]
# **2.1** All three jobs are dispatched before the first of them requests a slot,
# so all are sent to slot 0. Their GPUs come side by side; the slot serves one job
# after the other.

# %%
import cgrsp_simpy as cg

free_s = 0
for submit_s in (0, 10, 20):
    start_s = max(free_s, submit_s + 30)
    free_s = start_s + 60
    print(f"submitted at {submit_s:2} s, starts at {start_s:3} s, ends at {free_s:3} s")
print("2.1:", cg.exercises.check(2.1, free_s))

# %% [markdown]
# **2.2** Nothing happens at the end of the ten minutes by itself: no job comes, none
# ends, so no bell rings. The policy has to ask for it. The comparison is of `now_s`
# with the very number that it has asked for: a difference of two times, such as
# `now_s - submit_s >= 600`, may be a rounding error short.


# %%
def in_bunches(view):
    """Start jobs once three wait, or the oldest has waited for 600 s."""
    until_s = view.queue[0].submit_s + 600
    if view.waiting >= 3 or view.now_s >= until_s:
        return zip(view.queue, view.idle)
    return [cg.Wake(until_s)]


print(cg.compare(cg.day("normal"), ["fifo", in_bunches], seeds=range(10)))
print("\n2.2:", cg.exercises.check(2.2, in_bunches))

# %% [markdown]
# **2.3** The delay lies before the request: nobody's slot stands idle for it. `with`
# gives the slot back.


# %%
def job_process(env, slot, delay_s, work_s):
    """A job whose GPU comes first."""
    yield env.timeout(delay_s)
    with slot.request() as turn:
        yield turn
        yield env.timeout(work_s)


print("2.3:", cg.exercises.check(2.3, job_process))
