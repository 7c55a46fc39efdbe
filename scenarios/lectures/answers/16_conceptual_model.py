"""Answers to lecture 16: from system to verified program."""

# %% [markdown]
# **16.1** The load is 3 patients a day times 4 days: 12 beds' worth. Nobody waits, so
# the formula is B.

# %%
import numpy as np

import cgrsp_simpy as cg

beds = np.arange(12, 26)
sent_on = cg.queueing.erlang_b(beds, load=12)
enough = int(beds[sent_on <= 0.01][0])
for number in (enough - 1, enough):
    print(f"{number} beds: {100 * sent_on[number - 12]:.2f} % are sent on")
print("16.1:", cg.exercises.check(16.1, enough))

# %% [markdown]
# **16.2** A coming is one more, a leaving one less. In order of time, and in the same
# instant those who leave first: -1 comes before 1 in the order of pairs.


# %%
def most(jobs):
    """The greatest number of patients in bed at one instant."""
    stays = jobs[~np.isnan(jobs["start_s"])]
    changes = [(at_s, 1) for at_s in stays["start_s"]]
    changes += [(at_s, -1) for at_s in stays["finish_s"]]
    return np.cumsum([change for _, change in sorted(changes)]).max(initial=0)


print("16.2:", cg.exercises.check(16.2, most))
