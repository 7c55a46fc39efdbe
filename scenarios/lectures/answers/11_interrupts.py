"""Answers to lecture 11: interrupts and preemption."""

# %% [markdown]
# **11.1** The lecture's E(L) for one piece of 8 h. A simulation beside it.

# %%
from math import exp

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream

PER_H, RESTART_H, WRITING_H = 1 / 3, 2 / 60, 1 / 60


def piece_h(length_h):
    """Expected hours of a piece that is lost as a whole."""
    fails = 1 - exp(-PER_H * length_h)
    return fails / PER_H + fails * (exp(PER_H * (length_h + RESTART_H)) - 1) / PER_H


def trial_h(lives, work_h=8.0):
    """Hours of one print: times between failures, until one is long enough."""
    spent_h, need_h = 0.0, work_h
    while (life_h := lives.exponential(1 / PER_H)) < need_h:
        spent_h, need_h = spent_h + life_h, work_h + RESTART_H
    return spent_h + need_h


lives = stream(11, "lives")
found = cg.statistics.mean([trial_h(lives) for _ in range(10_000)])
print(f"by formula {piece_h(8.0):.2f} h; 10,000 trials", end=" ")
print(f"{found.mean:.2f} ± {found.half_width:.2f} h")
print("11.1:", cg.exercises.check(11.1, piece_h(8.0)))

# %% [markdown]
# **11.2** Try all numbers of pieces. Young's rule says 4 h / 19.0 min = 12.6.

# %%
expected_h = {
    n: (n - 1) * piece_h(4.0 / n + WRITING_H) + piece_h(4.0 / n) for n in range(1, 50)
}
best = min(expected_h, key=expected_h.get)
for n in (1, best - 1, best, best + 1):
    print(f"{n:2} pieces: {expected_h[n]:.4f} h")
print("11.2:", cg.exercises.check(11.2, best))

# %% [markdown]
# **11.3** From failure to failure: what is kept is a whole number of pieces.


# %%
def done_h(work_h, every_h, failures_h):
    """The hour at which the work is done."""
    now_h = kept_h = 0.0
    for failure_h in failures_h:
        if now_h + work_h - kept_h <= failure_h:
            break
        kept_h += (failure_h - now_h) // every_h * every_h
        now_h = failure_h
    return now_h + work_h - kept_h


print("11.3:", cg.exercises.check(11.3, done_h))
