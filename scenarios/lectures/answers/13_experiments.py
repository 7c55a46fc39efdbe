"""Answers to lecture 13: design of experiments, and selection."""

# %% [markdown]
# **13.1** The effect of the slot with persistence, minus that without, over two.

# %%
import cgrsp_simpy as cg

grid = {"slots": [5, 6], "persistence_s": [0.0, 7200.0]}
swept = cg.sweep(cg.day("hectic"), grid, ["fifo"], range(5))
five, five_persistent, six, six_persistent = (
    study.means()["fifo"]["wait_min"].mean for study in swept.studies
)
without, persistent = six - five, six_persistent - five_persistent
interaction = (persistent - without) / 2
print(f"a sixth slot: {without:+.1f} min, with persistence {persistent:+.1f} min")
print(f"interaction {interaction:+.1f} min")
print("13.1:", cg.exercises.check(13.1, interaction))

# %% [markdown]
# **13.2** Kim and Nelson's procedure stops FIFO first.

# %%
chosen = cg.select(cg.day("normal", slots=4), ["fifo", "spt", "lcf"], indifference=0.1)
print(chosen)
print("13.2:", cg.exercises.check(13.2, sum(chosen.observations.values())))
