"""Answers to lecture 5: at a utilisation of 0.8 the honest interval is eight times as
wide, by theory more than nine.
"""

# %% [markdown]
# **5.1** The run, as in the lecture, with a utilisation of 0.8. Both intervals have
# the same mean in the middle; only the width differs.

# %%
import numpy as np

import cgrsp_simpy as cg
from cgrsp_simpy.analysis import statistics

server = cg.GpuType("server", 1.0, (10.0,), 1.0)
work = cg.PoissonWorkload(30_000, 0.8 / 10, complexity_mix=(1.0,))
law = {"market": cg.Market(delay_s=((0, 0),) * 3), "service": cg.Service("exponential")}
jobs = cg.simulate(
    cg.Scenario("queue", work, (server,), (server,), **law), "fifo", seed=1
).jobs
waits_s = (jobs["start_s"] - jobs["submit_s"])[1000:]

independent, batched = statistics.mean(waits_s), statistics.batch_means(waits_s, 20)
truth_s = float(cg.queueing.mmc(0.8 / 10, 1 / 10, 1).wait_s)
for name, found in (("taken as independent", independent), ("20 batches", batched)):
    print(
        f"{name:20} {found.mean:.1f} ± {found.half_width:.1f} s; the truth is"
        f" {truth_s:.1f} s"
    )
answer = batched.half_width / independent.half_width
print(f"{answer:.2f} times as wide")
print("5.1:", cg.exercises.check(5.1, answer))

# %% [markdown]
# Twenty batches know the width to about a sixth. By theory (lecture 3's formula for
# the variance of the mean, over the variance of a wait in M/M/1, both for long runs)
# the factor is the following, times t / z. The fuller the queue, the longer a wait is
# remembered: at lower utilisations the factor is smaller.

# %%
for rho in (0.5, 0.8, 0.95):
    # over mean^2
    of_the_mean = (2 + 5 * rho - 4 * rho**2 + rho**3) / (rho * (1 - rho) ** 2)
    of_a_wait = (2 - rho) / rho
    print(
        f"utilisation {rho:<4}: {(of_the_mean / of_a_wait) ** 0.5:4.1f} times as"
        " wide by theory"
    )

# %% [markdown]
# **5.2** The pilot gives mean and standard deviation; the function looks for the least
# number of days whose half width, t times s over the root of n, is small enough.

# %%
waits_min = cg.compare(cg.day("hectic"), ["fifo"], range(20)).values("fifo", "wait_min")
pilot = statistics.mean(waits_min)
answer = statistics.replications_needed(waits_min, 0.02)
print(
    f"pilot: {pilot.mean:.1f} ± {pilot.half_width:.1f} min, which is"
    f" ± {100 * pilot.half_width / pilot.mean:.1f} %"
)
print(f"{answer} days are needed")
print("5.2:", cg.exercises.check(5.2, answer))

# %% [markdown]
# **5.3** Every d from 0 to half of the values, and the least of them.


# %%
def warm_up(y):
    """How many values MSER leaves out."""
    rests = [np.asarray(y[d:]) for d in range(len(y) // 2 + 1)]
    return int(
        np.argmin(
            [((rest - rest.mean()) ** 2).sum() / len(rest) ** 2 for rest in rests]
        )
    )


print("5.3:", cg.exercises.check(5.3, warm_up))
