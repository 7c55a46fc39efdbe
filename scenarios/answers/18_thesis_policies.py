"""Answers to lecture 18: policies of the thesis."""

# %%
import math
import re

import cgrsp_simpy as cg

student = "Ada"

# %% [markdown]
# **18.1** The variances of the two means add up. Take the standard deviation of your
# days for the published ones, too.

# %%
text = cg.exercises.question(18.1, student)
print(text)
numbers = map(float, re.findall(r"\d+\.?\d*", text))
printed_min, printed_days, days, mean_min, sd_min = numbers
error_min = sd_min * math.sqrt(1 / printed_days + 1 / days)
answer = (printed_min - mean_min) / error_min
print(f"standard error {error_min:.2f} min, z = {answer:+.2f}")
print("18.1:", cg.exercises.check(18.1, answer, student))

# %% [markdown]
# **18.2** Shortest first saves the wait, but makes a fifth of the rush orders late. A
# rush order is late if its slack is used up: the time to its deadline, less its
# execution. So a rush order with less than half an hour of slack goes first, the most
# urgent before the others, and the other jobs are served shortest first.


# %%
def policy(view):
    def rank(job):
        expected_s = view.known.gpus[0].mean_execution_s[job.complexity - 1]
        slack_s = job.deadline_s - view.now_s - expected_s
        return (0, job.deadline_s) if job.tight and slack_s < 1800 else (1, expected_s)

    return zip(sorted(view.queue, key=rank), view.idle)


study = cg.compare(cg.day("hectic"), ["fifo", "spt", policy], range(3))
for name, row in study.means().items():
    wait_min, late_pct = row["wait_min"].mean, row["tight_miss_pct"].mean
    print(f"{name:6} waits {wait_min:.0f} min, {late_pct:.0f} % of rush orders late")
print("18.2:", cg.exercises.check(18.2, policy))
