"""Answers to lecture 9: input modelling."""

# %% [markdown]
# **9.1** The maximum-likelihood mean of an exponential law that begins at 0 is the mean
# of the data. D is the largest gap on either side of a step.

# %%
import numpy as np
from scipy import stats

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream

x = np.sort(stream(9, "exercise").gamma(2.0, 300.0, 500))
below, steps = 1 - np.exp(-x / x.mean()), np.arange(501) / 500
d = max((steps[1:] - below).max(), (below - steps[:-1]).max())
library = stats.kstest(x, stats.expon(0, x.mean()).cdf).statistic
print(f"mean {x.mean():.1f} s, D = {d:.4f}; SciPy's {library:.4f}")
print("9.1:", cg.exercises.check(9.1, d))

# %% [markdown]
# **9.2** Cells are equally likely under the fitted law, so each expects 25 of 500.
# Shape and scale were fitted; if each takes a whole degree of freedom, 20 - 1 - 2 = 17
# are left.

# %%
shape, begins, scale = stats.gamma.fit(x, floc=0)
cells = np.bincount((20 * stats.gamma.cdf(x, shape, begins, scale)).astype(int))
statistic = np.sum((cells - 25) ** 2 / 25)
p = stats.chi2.sf(statistic, 17)
print(
    f"shape {shape:.2f}, scale {scale:.0f} s; chi-square {statistic:.1f}, p = {p:.3f}"
)
print("9.2:", cg.exercises.check(9.2, p))

# %% [markdown]
# **9.3** One way of several: in each section the number of jobs is Poisson, and their
# times are uniform.


# %%
def arrivals(rng):
    """Hours of one day's jobs."""
    sections = ((0, 8, 2), (8, 20, 10), (20, 24, 2))
    return np.concatenate(
        [rng.uniform(a, b, rng.poisson((b - a) * per_h)) for a, b, per_h in sections]
    )


print("9.3:", cg.exercises.check(9.3, arrivals))
