"""Answers to lecture 5: validation."""

# %%
import re

import numpy as np
from scipy.stats import binom, t

import cgrsp_simpy as cg

student = "Ada"

# %% [markdown]
# **5.1** Ten differences, one per day; Student's t with 9 degrees of freedom.

# %%
lists = re.findall(r"\[(.*?)\]", cg.exercises.question(5.1, student))
log, model = (np.array(numbers.split(", "), float) for numbers in lists)
difference = model - log
answer = t.ppf(0.975, 9) * difference.std(ddof=1) / np.sqrt(10)
print(f"{difference.mean():.2f} ± {answer:.2f} min: the model waits too little")
print("5.1:", cg.exercises.check(5.1, answer, student))

# %% [markdown]
# **5.2** If the model is right, the number of such days has a binomial distribution
# with p = 0.1.

# %%
count, days = map(
    int, re.search(r"(\d+) of (\d+)", cg.exercises.question(5.2, student)).groups()
)
answer = binom.sf(count - 1, days, 0.1)
print(f"at least {count} of {days} days: {answer:.4f}")
print("5.2:", cg.exercises.check(5.2, answer, student))

# %% [markdown]
# **5.3** The bay is occupied during fetching, too.


# %%
def replay(env, bays, log, waits):
    """A repair shop driven by a log."""

    def job(fetch, repair):
        arrival = env.now
        with bays.request() as turn:
            yield turn
            yield env.timeout(fetch)
            waits.append((arrival, env.now - arrival))
            yield env.timeout(repair)

    for arrival, fetch, repair in log:
        yield env.timeout(arrival - env.now)
        env.process(job(fetch, repair))


print("5.3:", cg.exercises.check(5.3, replay))
