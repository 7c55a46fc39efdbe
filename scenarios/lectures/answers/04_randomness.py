"""Answers to lecture 4: randomness."""

# %% [markdown]
# **4.1** With n independent seeds each, the mean difference has the variance
# (Var X + Var Y) / n; with 50 common seeds it has Var(X - Y) / 50. Set them equal,
# and solve for n.

# %%
import numpy as np
from scipy.stats import t

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream

study = cg.compare(cg.day("normal"), ["fifo", "spt"], seeds=range(50))
fifo, spt = (np.array(study.values(policy, "wait_min")) for policy in study.policies)
seeds = 50 * (fifo.var(ddof=1) + spt.var(ddof=1)) / (spt - fifo).var(ddof=1)
print(
    f"correlation {np.corrcoef(fifo, spt)[0, 1]:.2f}; {seeds:.0f} independent seeds"
    " for each policy"
)
print("4.1:", cg.exercises.check(4.1, seeds))

# %% [markdown]
# **4.2** The same numbers on another scale: each job works for 0.8 times the gap before
# it. Long work comes only after a long gap, in which the queue could run empty, and so
# the queue is far too short. Nothing warns: each column for itself looks right.


# %%
def wait_s(services):
    """Mean wait with service times from a stream of this name."""
    gaps_s = stream(4, "arrivals").exponential(12.5, 5000)
    service_s = stream(4, services).exponential(10, 5000)
    log = cg.LoggedWorkload(
        np.cumsum(gaps_s).tolist(),
        service_s.tolist(),
        [np.nan] * 5000,
        [1] * 5000,
        [1.0] * 5000,
    )
    gpu = cg.GpuType(
        "server",
        price_usd_per_h=1.0,
        mean_execution_s=(10,),
        high_stock_probability=1.0,
    )
    run = cg.simulate(
        cg.Scenario(
            "log", log, (gpu,), (gpu,), market=cg.Market(delay_s=((0, 0),) * 3)
        ),
        "fifo",
    )
    return (run.jobs["start_s"] - run.jobs["submit_s"]).mean()


formula_s = cg.queueing.mmc(1 / 12.5, 1 / 10, servers=1).wait_s
print(
    f"two streams {wait_s('service'):.1f} s, M/M/1 {formula_s:.1f} s, one stream"
    f" {wait_s('arrivals'):.1f} s"
)
print("4.2:", cg.exercises.check(4.2, wait_s("arrivals")))

# %% [markdown]
# **4.3** The seeds are common, so the differences are what is independent.

# %%


def interval(x, y):
    """Low and high end of the mean difference."""
    off = np.subtract(x, y)
    half = t.ppf(0.975, len(off) - 1) * off.std(ddof=1) / len(off) ** 0.5
    return off.mean() - half, off.mean() + half


print("4.3:", cg.exercises.check(4.3, interval))
