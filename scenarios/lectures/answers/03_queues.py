"""Answers to lecture 3: queues and theory."""

# %% [markdown]
# **3.1** The load is rate times mean work: 6 jobs a minute of one minute each, 6 slots'
# worth. More than 6 slots are needed; Erlang's formula says how many more.

# %%
import numpy as np

import cgrsp_simpy as cg

slots = np.arange(7, 13)
wait_s = cg.queueing.mmc(arrival_rate=6 / 60, service_rate=1 / 60, servers=slots).wait_s
for number, seconds in zip(slots, wait_s):
    print(f"{number:2} slots: mean wait {seconds:5.1f} s, utilisation {6 / number:.2f}")
print("3.1:", cg.exercises.check(3.1, int(slots[wait_s <= 5][0])))

# %% [markdown]
# **3.2** Little's law for the queue alone: its arrival rate, times the mean time in it.
# The rate is that of the whole run, all jobs over all of its time; the run goes on for
# a while after the last arrival.

# %%
run = cg.simulate(cg.day("surge"), "fifo", seed=3)
end_s = run.jobs["finish_s"].max()
rate_per_s = len(run.jobs) / end_s
waiting = rate_per_s * (run.jobs["dispatch_s"] - run.jobs["submit_s"]).mean()
print(
    f"last arrival at {run.jobs['submit_s'].max() / 3600:.1f} h, end at"
    f" {end_s / 3600:.1f} h; on average {waiting:.1f} jobs wait"
)
print("3.2:", cg.exercises.check(3.2, waiting))

# %% [markdown]
# **3.3** Mean gap times 1 - utilisation is mean gap minus mean service.


# %%
def bound_s(gap_s, gap_sd_s, work_s, work_sd_s):
    """Kingman's upper bound of the mean wait."""
    return (gap_sd_s**2 + work_sd_s**2) / (2 * (gap_s - work_s))


print(f"M/M/1 at 0.8: 40.0 s by formula, at most {bound_s(12.5, 12.5, 10, 10):.2f} s")
print("3.3:", cg.exercises.check(3.3, bound_s))
