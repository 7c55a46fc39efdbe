"""The winner of a single day is flattered by its luck: a fitted surface, random choices
and a genetic search find better settings, and each has to be judged on other days.

(Lecture 18: metamodels and optimisation)
"""

# %% [markdown]
# ## Few runs, many choices
# SPT+Rescue has two knobs: how little laxity makes a job urgent (here 0 to 8 h; as
# given 10 min), and how much price counts in the choice of a slot (0 to 1). We want the
# least tardiness on a hectic day. Every choice costs runs, so we fit a **metamodel**: a
# formula that is cheap to ask. Nine choices, a 3 x 3 design (lecture 13), on five
# common days, and a quadratic surface
#
# y = b0 + b1 x1 + b2 x2 + b12 x1 x2 + b11 x1^2 + b22 x2^2.

# %%
from itertools import product
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from scipy.stats import f as f_law

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises import claim
from cgrsp_simpy.plots.style import MISSED

SEED = 180_000  # no seed from here on was run before the lengths were set
DAYS, BUDGET, GROUPS = 5, 18, 8  # a choice's days; choices a method; groups of days
TEST = range(SEED, SEED + 40)
TRAINING = range(TEST.stop, TEST.stop + DAYS)
DAY, HOURS, GIVEN = cg.day("hectic"), 8.0, (1 / 6 / 8.0, 0.3)


def late_min(choices, seeds):
    """Mean tardiness, shape (choices, seeds); a choice is (share of 8 h, weight)."""
    texts = (
        f"spt-rescue:threshold_s={3600 * HOURS * x:.1f},cost_weight={weight:.4f}"
        for x, weight in choices
    )
    # named by number, since two choices may be equal
    policies = {str(number): text for number, text in enumerate(texts)}
    study = cg.compare(DAY, policies, seeds)
    return np.array([study.values(each, "tardiness_min") for each in study.policies])


def terms(choices, degree=2):
    """The columns of the surface."""
    x, w = np.transpose(choices)
    return np.column_stack([x**0, x, w, x * w, x * x, w * w][: 3 * degree])


def fitted(choices, y, degree=2):
    """The surface as a function of choices."""
    b = np.linalg.lstsq(terms(choices, degree), np.array(y), rcond=None)[0]
    return lambda others: terms(others, degree) @ b


design = list(product((0.0, 0.5, 1.0), repeat=2))
late = late_min(design, TRAINING)
y = late.mean(axis=1)
print("tardiness, min   weight", *("0", "0.5", "1"), sep="       ")
for hours, row in zip((0, 4, 8), y.reshape(3, 3)):
    print(f"laxity below {hours} h ", *(f"{each:7.2f}" for each in row))
by_day = late.reshape(3, 3, DAYS)
laxity = cg.statistics.mean((by_day[2] - by_day[0]).mean(axis=0))
weight = cg.statistics.mean((by_day[:, 2] - by_day[:, 0]).mean(axis=0))
print(
    f"from the least to the most: laxity {laxity.mean:+.2f} ± {laxity.half_width:.2f},"
)
print(f"weight {weight.mean:+.2f} ± {weight.half_width:.2f} min")

# %% [markdown]
# ## Does the surface fit?
# Two tests. **Lack of fit** compares how far the nine means lie from the surface with
# what chance alone would do. With common days chance is not the spread between days,
# which all choices share, but what is left when the means of day and choice are taken
# out. A small p would say that the surface has the wrong form. **Cross-validation**
# asks what we want to know: how well are choices predicted that were not fitted? Each
# of the nine is left out once; and sixteen other choices, drawn at random, are run.

# %%
off = y - fitted(design, y)(design)
left_over = late - late.mean(axis=0) - y[:, None] + y.mean()
chance = (left_over**2).sum() / (8 * (DAYS - 1))
ratio = DAYS * (off**2).sum() / (9 - 6) / chance
print(f"lack of fit: F = {ratio:.2f}, p = {f_law.sf(ratio, 3, 8 * (DAYS - 1)):.2f}")
drawn = [tuple(each) for each in stream(SEED, "choices").random((16, 2))]
many = late_min(drawn, range(TRAINING.start, TRAINING.start + GROUPS * DAYS))
error = {}
print("off by, min   the nine   left out   the other sixteen")
for name, degree in (("plane", 1), ("quadratic", 2)):
    left_out = [
        fitted(np.delete(design, k, axis=0), np.delete(y, k), degree)([design[k]])[0]
        for k in range(len(design))
    ]
    surface = fitted(design, y, degree)
    offs = (
        surface(design) - y,
        left_out - y,
        surface(drawn) - many[:, :DAYS].mean(axis=1),
    )
    error[name] = [np.sqrt((each**2).mean()) for each in offs]
    print(
        f"{name:10}", *(f"{each:{w}.2f}" for each, w in zip(error[name], (10, 10, 14)))
    )
print(
    claim("it lies nearer to the nine", error["quadratic"][0], below=error["plane"][0])
)
print(
    claim("not to what is left out", error["quadratic"][1], above=error["quadratic"][0])
)

# %% [markdown]
# The quadratic surface has three coefficients more, so it lies nearer to the nine, but
# not to what is left out. That is why a surface is judged by the last two columns. They
# also say how far to trust it: where two choices differ by less, ask for more days.
#
# ## A search at an equal budget
# Eighteen choices of five days each, three ways. *Surface*: the nine, then nine times:
# fit, run the best of a fine grid that has not been run. *Random*: eighteen at random.
# *Genetic*: three generations of six. The first is random; then the best three so far
# are the parents. A child takes each setting from a parent drawn at random, and adds a
# normal mutation with a standard deviation of 0.1. Each method picks the least mean of
# its own runs. Then all are judged on 40 other days, paired.

# %%
grid = list(product(np.linspace(0, 1, 41), repeat=2))
asked, found = list(design), list(y)
while len(asked) < BUDGET:
    order = np.argsort(fitted(asked, found)(grid), kind="stable")
    asked.append(next(grid[k] for k in order if grid[k] not in asked))
    found.append(late_min(asked[-1:], TRAINING).mean())
at_random = [tuple(each) for each in stream(SEED, "random").random((BUDGET, 2))]
random = late_min(at_random, TRAINING).mean(axis=1)
rng = stream(SEED, "genetic")
bred = rng.random((BUDGET // 3, 2))
genetic = late_min(bred, TRAINING).mean(axis=1)
for _ in range(2):
    parents = bred[np.argsort(genetic, kind="stable")[:3]]
    crossed = parents[rng.integers(3, size=(BUDGET // 3, 2)), [0, 1]]
    children = np.clip(crossed + 0.1 * rng.standard_normal(crossed.shape), 0, 1)
    bred = np.vstack([bred, children])
    genetic = np.append(genetic, late_min(children, TRAINING).mean(axis=1))
winners = {
    "surface": asked[int(np.argmin(found))],
    "random": at_random[int(np.argmin(random))],
    "genetic": tuple(bred[int(np.argmin(genetic))]),
}
choices = [GIVEN, *winners.values()]
trained, tested = late_min(choices, TRAINING), late_min(choices, TEST)
gains = {}
print(
    f"least of {BUDGET}  laxity  weight    change on {DAYS} days",
    f"   on {len(TEST)} others, min",
)
for k, (name, (x, weight)) in enumerate(winners.items(), start=1):
    promised = (trained[k] - trained[0]).mean()
    gains[name] = cg.statistics.paired_difference(tested[k], tested[0])
    print(f"{name:12} {HOURS * x:5.1f} h {weight:7.2f} {promised:14.2f}", end=" ")
    print(f"{gains[name].mean:17.2f} ± {gains[name].half_width:.2f}")
worst = max(each.high for each in gains.values())
print(claim("Each is better than what was given", worst, below=0))
apart = cg.statistics.paired_difference(tested[1], tested[3])
print(f"surface - genetic: {apart.mean:+.2f} ± {apart.half_width:.2f} min")
print(claim("about a minute to each side", apart.half_width, above=0.5, below=1.5))

# %% [markdown]
# Each is better than what was given. Is the surface better than the search? The
# interval of their difference is about a minute to each side: a contest on 40 days
# decides no less. With two knobs any of them will do; a genetic search is for many
# knobs, for a surface with cliffs, or for figures that pull apart: NSGA-II finds the
# whole front (`scenarios/research/tune.py`).
#
# ## The winner's curse
# The winner was the least of many noisy means, so chance was on its side. How much?
# The sixteen drawn choices ran on 40 days, eight groups of five. In each group, the
# winner of these five days is compared with itself on the other days; what the group's
# days did to all choices is taken off. Then the same with single days.


# %%
def flattery_min(size):
    """By how much the winner of a group looks better than it is, by group."""
    found = []
    for group in range(many.shape[1] // size):
        own = np.arange(many.shape[1]) // size == group
        there, elsewhere = many[:, own].mean(axis=1), many[:, ~own].mean(axis=1)
        shift = elsewhere - there
        found.append(shift[np.argmin(there)] - shift.mean())
    return cg.statistics.mean(found)


curse = {size: flattery_min(size) for size in (1, 2, 5, 10)}
for size, each in curse.items():
    print(f"{size:2} days: flattered by {each.mean:.2f} ± {each.half_width:.2f} min")
print(claim("The winner of a single day is flattered", curse[1], above=0))
print(
    claim(
        "the winner of ten days is flattered less", curse[10].mean, below=curse[1].mean
    )
)

# %% [markdown]
# The winner of a single day is flattered; the winner of ten days is flattered less. So
# report what the winner does on days that did not choose it, as the table of the
# search above does: the days that chose, and next to them the others.

# %%
with cg.plots.styled("lecture"):
    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(18, 6.5), layout="constrained"
    )
    heights = fitted(asked, found)(grid).reshape(41, 41)
    ends = np.linspace(0, HOURS, 41), np.linspace(0, 1, 41)
    drawing = left.contourf(*ends, heights.T, 12, cmap="Blues")
    figure.colorbar(drawing, ax=left, label="tardiness by the surface (min)")
    left.plot(
        *(np.transpose(design) * [[HOURS], [1]]),
        "o",
        color="black",
        ms=9,
        clip_on=False,
    )
    marks = dict(zip(winners, "s^D"))
    for name, (x, weight) in winners.items():
        at = {"color": MISSED, "ms": 13, "clip_on": False, "label": name}
        left.plot(HOURS * x, weight, marks[name], **at)
    left.set(xlabel="urgent below (h of laxity)", ylabel="weight of the price")
    left.legend(loc="upper left", fontsize="small")
    for k, gain in enumerate(gains.values(), start=1):
        middle.plot(k, (trained[k] - trained[0]).mean(), "o", color="0.6", ms=12)
        middle.errorbar(
            k, gain.mean, gain.half_width, fmt="o", color="#0B4F9C", capsize=6
        )
    middle.axhline(0, color="black", lw=1.2)
    middle.lines[0].set_label(f"its own {DAYS} days")
    middle.lines[1].set_label(f"{len(TEST)} other days")
    middle.set(xticks=[1, 2, 3], xticklabels=gains, xlim=(0.5, 3.5))
    middle.set_ylabel("change of tardiness (min)")
    middle.legend(frameon=False, fontsize="small", bbox_to_anchor=(1, 0.93))
    sizes, means = list(curse), [each.mean for each in curse.values()]
    bars = [each.half_width for each in curse.values()]
    right.errorbar(sizes, means, bars, fmt="o-", color=MISSED, capsize=6)
    right.axhline(0, color="black", lw=1.2)
    right.set(xlabel="days that chose the winner", ylabel="flattered by (min)")
    for letter, ax in zip("abc", (left, middle, right)):
        ax.set_title(f"({letter})", loc="left", fontsize="medium")
    Path("pictures").mkdir(exist_ok=True)
    figure.savefig("pictures/lecture_18.png", dpi=150)

# %% [markdown]
# ## Key points
# - A metamodel turns a few runs into a formula. Ask it only where it was fitted, and
#   judge it by choices that were not.
# - Common days for all choices; chance is then what day and choice leave over.
# - Compare methods of search at an equal budget of runs.
# - The winner was chosen with luck on its side. Judge it on other days.
#
# ## Exercises
# **18.1** Six choices are equally good. The mean of each has a standard error of half a
# minute; the errors are normal and independent. By how many minutes is the least of the
# six means too low on average? Check it: `cg.exercises.check(18.1, answer)`
#
# **18.2** Write `lowest(x, y)`: fit a parabola to the points by least squares, and
# return where between the least and the greatest x it is lowest. Check it:
# `cg.exercises.check(18.2, lowest)`
