"""Answers to lecture 6: SPT makes large frames wait hours longer, and ten lines suffice
to save the rush orders.
"""

# %% [markdown]
# **6.1** Both policies meet the same jobs. Choose those of complexity 3; a wait ends
# when the execution starts.

# %%
import cgrsp_simpy as cg

day = cg.day("hectic")
large_min = {}
for policy in ("fifo", "spt"):
    jobs = cg.simulate(day, policy, seed=0).jobs
    large = jobs[jobs["complexity"] == 3]
    large_min[policy] = (large["start_s"] - large["submit_s"]).mean() / 60
    print(f"{policy}: large frames wait {large_min[policy]:.0f} min")
answer = large_min["spt"] - large_min["fifo"]
print(f"{answer:.1f} min longer")
print("6.1:", cg.exercises.check(6.1, answer))

# %% [markdown]
# **6.2** SPT saves the wait, but it makes a fifth of the rush orders late. A rush order
# is late when its slack is gone: the time to its deadline, less its execution. So a
# rush order with less than half an hour of slack goes first, the most urgent before
# the others, and SPT does the rest.


# %%
def rush_in_time(view):
    """Shortest first, but not at the expense of a rush order whose slack runs out."""

    def rank(job):
        expected_s = view.known.gpus[0].mean_execution_s[job.complexity - 1]
        slack_s = job.deadline_s - view.now_s - expected_s
        return (0, job.deadline_s) if job.tight and slack_s < 1800 else (1, expected_s)

    return zip(sorted(view.queue, key=rank), view.idle)


print(cg.compare(day, ["fifo", "spt", rush_in_time], range(3)))
print("6.2:", cg.exercises.check(6.2, rush_in_time))
