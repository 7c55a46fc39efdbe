"""Factors changed one at a time promise a wait that is half an hour too short, or
more: two of them interact.

(Lecture 13: design of experiments, and selection)
"""

# %% [markdown]
# What makes a hectic day late under FIFO? Three suspects: a sixth slot, twice as many
# rush orders, and stock that persists (what was Low stays so for two hours on
# average). The habit is to change one at a time. A **factorial design** runs all 2^3
# combinations of low and high. Each run then tells of all factors, and how they act
# together can be seen. A pilot of ten other seeds says how many seeds give the effect
# that slot and persistence have together to ± 15 % of itself; all eight points get
# the same.

# %%
from itertools import combinations, product
from math import ceil
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.selection import kim_nelson
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises import claim
from cgrsp_simpy.plots.style import MISSED

GRID = {"slots": [5, 6], "tight_fraction": [0.2, 0.4], "persistence_s": [0.0, 7200.0]}
SHORT = ("slots", "rush", "persistence")
SEED, PILOT = 130_000, 131_000  # no seed from here on had been run before


def swept(grid, seeds):
    """Points in the order of product."""
    design = cg.sweep(cg.day("hectic"), grid, ["fifo"], seeds)
    assert [tuple(at.values()) for at in design.points] == list(product(*grid.values()))
    return design


def responses(design, figure):
    """Shape (points, seeds)."""
    return np.array([study.values("fifo", figure) for study in design.studies])


two = {name: GRID[name] for name in ("slots", "persistence_s")}
pilot = responses(swept(two, range(PILOT, PILOT + 10)), "wait_min")
together = np.array([1, -1, -1, 1]) @ pilot / 2
seeds = cg.statistics.replications_needed(together, 0.15)
design = swept(GRID, range(SEED, SEED + seeds))
wait_min, missed_pct = responses(design, "wait_min"), responses(design, "miss_pct")
print(f"{seeds} seeds at each of {len(design.points)} points")

# %% [markdown]
# ## Effects
# Write -1 for low and +1 for high. The effect of a factor is the mean where it is
# high minus the mean where it is low. The effect of two together is made with the
# product of their signs: half the difference that one makes to the effect of the
# other. Each seed gives a value of each effect, and so an interval. Seven effects are
# seven tests: Holm's correction.

# %%
SIGNS = np.array(list(product((-1, 1), repeat=3)))
NAMED = {
    " x ".join(SHORT[k] for k in chosen): SIGNS[:, chosen].prod(axis=1)
    for size in (1, 2, 3)
    for chosen in combinations(range(3), size)
}


def effects(response):
    """Name -> interval of the effect."""
    by_seed = {name: signs @ response / 4 for name, signs in NAMED.items()}
    return {name: cg.statistics.mean(np.round(e, 9)) for name, e in by_seed.items()}


found = {"wait, min": effects(wait_min), "late, %": effects(missed_pct)}
adjusted = {
    figure: cg.statistics.holm([each.p for each in by_name.values()])
    for figure, by_name in found.items()
}
print(f"{'effect on':28}" + "".join(f"{figure:24}" for figure in found))
for k, name in enumerate(NAMED):
    cells = (
        f"{by_name[name].mean:+7.2f} ± {by_name[name].half_width:5.2f}"
        f" {'*' if adjusted[figure][k] < 0.05 else ' ':7}"
        for figure, by_name in found.items()
    )
    print(f"{name:26}", *cells)
print("* p < 0.05 after Holm")
of_wait = found["wait, min"]
rush = max(abs(each.mean) for name, each in of_wait.items() if "rush" in name)
print(claim("rush orders change no wait", rush, equal=0))
print(claim("A slot and persistence interact", of_wait["slots x persistence"], above=0))

# %% [markdown]
# FIFO does not look at deadlines: rush orders change no wait, to the last bit, and
# many misses. A slot and persistence interact. Each alone takes tens of minutes off the
# wait; behind the other it takes off less, by the same amount for both. Whoever changed
# one factor at a time, and added the gains up, would promise a wait that is too short
# by this amount:

# %%
by_seed = wait_min[[0, 4, 1, 5]]
base, slot, persistence, both = by_seed.mean(axis=1)
print(f"wait, min: as it is {base:.1f}, a slot more {slot:.1f}, persistence", end=" ")
print(f"{persistence:.1f}")
added = slot + persistence - base
short = cg.statistics.mean(np.array([1, -1, -1, 1]) @ by_seed)
print(f"both: added up {added:.1f}, simulated {both:.1f};", end=" ")
print(f"too short by {short.mean:.1f} ± {short.half_width:.1f}")
for gain in by_seed[0] - by_seed[1:3]:
    alone = cg.statistics.mean(gain)
    print(claim("Each alone takes tens of minutes off the wait", alone, above=20))
print(claim("half an hour too short, or more", short, above=30))

# %% [markdown]
# ## Which policy is best?
# That is another question than how far apart they are. Kim and Nelson's procedure
# (2001) answers it with a promise: if the best is better by delta at least, it is
# selected with a chance of 95 %. All policies get 20 runs; then run by run those are
# left out that lie too far behind. `cg.select` does it on the seeds 0, 1, 2 and so on;
# here run n of every policy has the seed 132,000 + n. Delta is what matters to us: a
# tenth of a minute.

# %%
POLICIES = ["fifo", "spt", "edf", "lcf", "balanced", "random", "rh", "cadr"]
four_slots = cg.day("normal", slots=4)


def observed_min(policy, n):
    run = cg.simulate(four_slots, policy, 132_000 + n, records=False)
    return run.summary()["wait_min"]


chosen = kim_nelson(observed_min, POLICIES, indifference=0.1)
print(chosen)
runs = np.array(list(chosen.observations.values()))
print(claim("LCF or CADR is selected", chosen.best in ("lcf", "cadr"), equal=True))
share = chosen.observations["fifo"] / runs.max()
print(claim("FIFO is left out in less than half of the runs", share, below=0.5))
near = abs(chosen.means["cadr"] - chosen.means["lcf"])
print(claim("means less than two deltas apart", near, below=0.2))
print(f"{runs.sum()} runs; as many for each as for the best: {len(runs) * runs.max()}")

# %% [markdown]
# ## Is the promise kept?
# On normal numbers we know the best: eight systems, seven alike and one better by
# delta, the hardest case; standard deviation 1, delta 0.5. Beside it the same number
# of observations shared equally, and a blind choice. As many repetitions as give a
# share of 95 % a half width of one point.

# %%
SYSTEMS, DELTA = [str(n) for n in range(8)], 0.5
REPEATS = ceil(0.95 * 0.05 * (1.96 / 0.01) ** 2)
right = {"Kim and Nelson": [], "shared equally": [], "blind choice": []}
taken = []
for repeat in range(REPEATS):
    best = repeat % len(SYSTEMS)
    x = stream(SEED + repeat, "observations").normal(size=(len(SYSTEMS), 2000))
    x[best] -= DELTA
    selected = kim_nelson(lambda system, n, x=x: x[int(system), n], SYSTEMS, DELTA)
    taken.append(sum(selected.observations.values()))
    y = (
        stream(SEED + repeat, "equal shares")
        .normal(size=(8, taken[-1] // 8))
        .mean(axis=1)
    )
    y[best] -= DELTA
    right["Kim and Nelson"].append(selected.best == SYSTEMS[best])
    right["shared equally"].append(np.argmin(y) == best)
    right["blind choice"].append(stream(SEED + repeat, "blind").integers(8) == best)
print(f"{np.mean(taken):.0f} observations on average; the best is selected in")
shares = {name: cg.statistics.mean(np.array(r, float)) for name, r in right.items()}
for name, share in shares.items():
    print(f"{name:15}{100 * share.mean:6.1f} ± {100 * share.half_width:.1f} %")
kept = shares["Kim and Nelson"].mean
print(claim("The procedure keeps its promise", kept, above=0.95))
worse = cg.statistics.paired_difference(
    *(np.array(right[name], float) for name in ("shared equally", "Kim and Nelson"))
)
print(claim("equal shares do worse", worse, below=0))

# %% [markdown]
# The procedure keeps its promise, and with the same number of observations equal shares
# do worse: they spend most of them on systems that are out of the question. Three more
# things to read from the table of policies. The means are over different numbers of
# runs; compare those of policies that have met the same seeds. LCF or CADR is selected,
# with means less than two deltas apart: between such two the promise says little, and
# either will do. And a policy left out early has been left out for this day alone: FIFO
# is left out in less than half of the runs.

# %%
with cg.plots.styled("lecture"):
    figure, (left, middle, last) = plt.subplots(
        1, 3, figsize=(17, 6.5), layout="constrained", width_ratios=(5, 4, 4)
    )
    own = found["wait, min"]
    left.errorbar(
        [each.mean for each in own.values()],
        range(len(own)),
        xerr=[each.half_width for each in own.values()],
        fmt="o",
        color="#0B4F9C",
        capsize=6,
    )
    left.axvline(0, color="black", lw=1.2)
    left.set(
        yticks=range(len(own)),
        yticklabels=[each.replace(" x ", " x\n") for each in own],
    )
    left.set(xlabel="effect on the mean wait (min)", ylim=(len(own) - 0.5, -0.5))
    left.tick_params(axis="y", labelsize="small")
    middle.plot([5, 6], [base, slot], "o-", color="black", label="no persistence")
    middle.plot(
        [5, 6], [persistence, both], "s-", color="#0B4F9C", label="for two hours"
    )
    middle.plot([5, 6], [persistence, added], "D--", color=MISSED, mfc="white")
    middle.lines[-1].set_label("added up")
    middle.axhline(0, color="0.6", lw=1.2)
    middle.set(xticks=[5, 6], xlim=(4.7, 6.3), ylim=(-20, 200))
    middle.set(xlabel="slots", ylabel="mean wait (min)")
    middle.legend(frameon=False, loc="upper right")
    colours = ["#0B4F9C" if name == chosen.best else "0.65" for name in POLICIES]
    last.barh(POLICIES, runs, color=colours)
    last.axvline(20, color="black", lw=1.2, ls="--", label="first 20")
    last.set(xlabel="runs until left out, or selected", ylim=(len(runs) - 0.5, -0.5))
    last.legend(frameon=False, loc="upper right")
    for letter, ax in zip("abc", (left, middle, last)):
        ax.set_title(f"({letter})", loc="left", fontsize="medium")
    Path("pictures").mkdir(exist_ok=True)
    figure.savefig("pictures/lecture_13.png", dpi=150)

# %% [markdown]
# ## Key points
# - Change factors together: a 2^k design costs no more runs than it needs for one
#   effect, and shows interactions.
# - Effects by seed, with intervals, and a correction for their number.
# - To select is not to measure: a procedure with a promise spends its runs on the
#   rivals.
# - Say what difference matters (delta) before the first run.
#
# ## Exercises
# **13.1** Hectic day, FIFO, seeds 0 to 4; 5 or 6 slots, persistence_s 0 or 7200. What
# is the interaction effect on the mean wait, in min? `cg.exercises.check(13.1,
# answer)`
#
# **13.2** Select among "fifo", "spt" and "lcf" by mean wait, on the normal day with
# four slots, with delta a tenth of a minute. How many runs does it take in all?
# `cg.exercises.check(13.2, answer)`
