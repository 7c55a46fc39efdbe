"""Answers to lecture 7: fourteen slots would keep pace in the peak; the wait is the
queue's, not the own provisioning's.
"""

# %% [markdown]
# **7.1** A slot that is never without a job serves one job in every time that it is
# held. So its pace is one over the expected provisioning and execution, and the paces
# of the slots add up. Hour 5 of the run lies in the peak. Add slots until the pace
# reaches the arrivals.

# %%
import numpy as np

import cgrsp_simpy as cg


def pace(day, hour):
    """The most jobs a second."""
    total = 0.0
    for gpu in day.slots:
        chances = day.market.probabilities(gpu, 3600 * hour)
        delay_s = sum(
            chance * (least + most) / 2
            for chance, (least, most) in zip(chances, day.market.delay_s)
        )
        work_s = sum(
            share * mean_s
            for share, mean_s in zip(day.workload.mix, gpu.mean_execution_s)
        )
        total += 1 / (delay_s + work_s)
    return total


slots = 1
while pace(day := cg.day("surge", slots=slots), 5) < day.workload.rate_per_s:
    slots += 1
for number in (5, slots - 1, slots):
    print(
        f"{number:2} slots serve {3600 * pace(cg.day('surge', slots=number), 5):5.1f}"
        " jobs an hour in the peak"
    )
print("7.1:", cg.exercises.check(7.1, slots))
wait = cg.compare(cg.day("surge", slots=slots), ["fifo"], range(10)).means()["fifo"][
    "wait_min"
]
print(f"the surge day's mean wait is then {wait.mean:.0f} ± {wait.half_width:.0f} min")

# %% [markdown]
# **7.2** The wait lasts from submission to start, and its last part, from dispatch to
# start, is the job's own provisioning.

# %%
jobs = np.concatenate(
    [cg.simulate(cg.day("surge"), "fifo", seed).jobs for seed in range(10)]
)
waiting_s, own_s = jobs["start_s"] - jobs["submit_s"], jobs["delay_s"]
answer = 100 * own_s.sum() / waiting_s.sum()
print(
    f"of {waiting_s.mean() / 60:.0f} min of wait {own_s.mean() / 60:.1f} min are the"
    " job's own provisioning"
)
print(f"which is {answer:.2f} %")
print("7.2:", cg.exercises.check(7.2, answer))

# %% [markdown]
# Who looks at single jobs sees short delays and a long queue, and blames the number of
# slots. The queue is made of the few long delays of others.
