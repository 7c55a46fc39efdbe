"""Answers to lecture 12: validation."""

# %% [markdown]
# **12.1** Ten differences, one a day; Student's t with 9 degrees of freedom.

# %%
import numpy as np
from scipy.stats import t

import cgrsp_simpy as cg

log = np.array([12, 9, 14, 8, 11, 10, 13, 9, 12, 12])
model = np.array([11, 8, 14, 6, 10, 10, 11, 8, 11, 11])
difference = model - log
half = t.ppf(0.975, 9) * difference.std(ddof=1) / np.sqrt(10)
print(f"by days {difference.mean():.1f} ± {half:.2f} min: the model waits too little")
print("12.1:", cg.exercises.check(12.1, half))

# %% [markdown]
# **12.2** Without the pairs the days' own ups and downs stay in: nothing is seen.

# %%
error = np.sqrt(log.var(ddof=1) / 10 + model.var(ddof=1) / 10)
apart = t.ppf(0.975, 18) * error
print(f"as independent {difference.mean():.1f} ± {apart:.2f} min")
print("12.2:", cg.exercises.check(12.2, apart))
