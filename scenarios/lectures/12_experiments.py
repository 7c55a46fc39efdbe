"""Changing one factor at a time predicts the wrong cost, because two factors interact;
a regression metamodel finds a better policy from few runs.

(Lecture 12: experiments, metamodels and optimisation)
"""

# %% [markdown]
# ## Factors and a response
# A **factor** is an input that we set, a **response** is an output that we measure, and
# a **design** specifies which combinations of values (**levels**) are run.
#
# The model is a shop with an (s, S) policy, after Law, Section 1.5 and Chapter 12. On
# the first day of each month the stock is reviewed; if it is below s, it is ordered up
# to S. A delivery takes at most a month, so nothing is on order at a review. Demands of
# 1 to 4 items arrive ten times per month; unmet demand is backlogged. An order costs 32
# USD and 3 USD per item, an item in stock 1 USD per month, a backlogged item 5 USD per
# month. The factors are s, the distance d = S - s, and the lead time of a delivery. The
# response is the mean cost per month.

# %%
from itertools import product
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from scipy.optimize import minimize
from scipy.stats import f as f_distribution

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim
from cgrsp_simpy.plots.style import MISSED

SEED = 12_000  # the first seed of all runs
RUNS = 10  # per setting
SIZES = (1, 2, 2, 3, 3, 4)  # of a demand, equally likely


@cg.model(figures={"cost": cg.Metric("mean cost", "USD per month")})
def shop(env, draw, s=20, d=20, lead=1.0, months=60):
    """lead: longest lead time of a delivery in months; the least is half of it."""
    stock = {"level": s + d, "cost": 0.0, "since": 0.0}

    def change(items):
        held, backlog = max(stock["level"], 0), max(-stock["level"], 0)
        stock["cost"] += (held + 5 * backlog) * (env.now - stock["since"])
        stock["level"] += items
        stock["since"] = env.now

    def customers():
        while True:
            yield env.timeout(draw("gaps").exponential(0.1))
            change(-SIZES[draw("sizes").integers(6)])

    def delivery(items, months):
        yield env.timeout(months)
        change(items)

    def review():
        while True:
            # drawn every month, so that each policy has the same lead times
            months = lead * draw("leads").uniform(0.5, 1)
            if stock["level"] < s:
                items = s + d - stock["level"]
                stock["cost"] += 32 + 3 * items
                env.process(delivery(items, months))
            yield env.timeout(1)

    env.process(customers())
    env.process(review())
    env.run(months)
    change(0)
    return {"cost": stock["cost"] / months}


def costs(settings, seeds):
    """Shape (settings, seeds); common random numbers."""
    alternatives = {str(at): dict(zip(("s", "d", "lead"), at)) for at in settings}
    study = cg.compare(shop, alternatives, seeds=seeds)
    return np.array([study.values(name, "cost") for name in alternatives])


# %% [markdown]
# ## A factorial design
# A **2^3 factorial design** runs all eight combinations of a low and a high level.
# Write -1 for low and +1 for high. The **main effect** of a factor is the mean response
# where it is high minus the mean where it is low. The **interaction** of two factors is
# half of the difference that one makes to the effect of the other; it uses the product
# of their signs. Each seed gives one value of each effect, so ten seeds give an
# interval. Seven effects are seven tests, so we use Holm's correction (lecture 11).

# %%
LOW, HIGH = (20, 20, 0.5), (40, 60, 1.0)
signs = np.array(list(product((-1, 1), repeat=3)))
design = [tuple(np.where(row > 0, HIGH, LOW).tolist()) for row in signs]
y = costs(design, range(SEED, SEED + RUNS))
NAMES = ("s", "d", "lead")
effects = {}
for columns in sorted(product((0, 1), repeat=3), key=sum)[1:]:
    name = " x ".join(NAMES[k] for k in range(3) if columns[k])
    effects[name] = cg.statistics.mean((signs**columns).prod(axis=1) @ y / 4)
adjusted = cg.statistics.holm([effect.p for effect in effects.values()])
print("effect on the cost, USD per month; * p < 0.05 after Holm's correction")
for (name, effect), p in zip(effects.items(), adjusted):
    mark = "*" if p < 0.05 else ""
    print(f"  {name:13} {effect.mean:+6.2f} ± {effect.half_width:.2f} {mark}")
print(claim("s and d interact", effects["s x d"], above=0))

# %% [markdown]
# ## One factor at a time
# A common habit is to change one factor at a time, from a base case, and to add up the
# changes. With an interaction the sum is wrong.

# %%
by_setting = dict(zip(design, y))
base, with_d, with_s, both = (by_setting[s, d, 1.0] for s in (20, 40) for d in (20, 60))
summed = cg.statistics.mean(with_s + with_d - base)
print(f"base {base.mean():.1f}, s = 40 {with_s.mean():.1f}, d = 60 {with_d.mean():.1f}")
print(f"both, added up {summed.mean:.1f}, measured {both.mean():.1f} USD per month")
error = cg.statistics.paired_difference(both, with_s + with_d - base)
print(claim("The sum is several USD too low", error, above=3))
later = {
    s: cg.statistics.paired_difference(by_setting[s, 20, 1.0], by_setting[s, 20, 0.5])
    for s in (20, 40)
}
print(claim("s = 20: a longer lead time costs more", later[20], above=0))
print(claim("s = 40: a longer lead time costs less", later[40], below=0))

# %% [markdown]
# The effect of the lead time depends on s, too. With s = 20 a longer lead time costs
# more, since more items are backlogged. With s = 40 it costs less: there is enough
# stock, and the items arrive later, so they are stored for a shorter time.
#
# ## A regression metamodel
# To search for the best policy we fit a **metamodel**, a formula for the response that
# needs no runs. With s and d scaled to -1 to 1, a quadratic metamodel is
#
#     y = b0 + b1 s + b2 d + b12 s d + b11 s² + b22 d²
#
# A 3 x 3 design has the nine settings that it needs. The **lack of fit** test compares
# the distance of the nine means from the surface with the distance that random
# variation would cause. With common random numbers, the random variation is the
# residual after the means of settings and of seeds are subtracted.


# %%
def terms(settings, region):
    """Columns of the quadratic metamodel, scaled to the region."""
    low, high = np.transpose(region)
    s, d = ((2 * np.asarray(settings, float)[:, :2] - low - high) / (high - low)).T
    return np.column_stack([s**0, s, d, s * d, s * s, d * d])


def fit(region):
    """Return the metamodel, a function of settings, and p of its lack of fit."""
    settings = list(product(*(np.linspace(*ends, 3).tolist() for ends in region)))
    y = costs(settings, range(SEED, SEED + RUNS))
    means = y.mean(axis=1)
    b = np.linalg.lstsq(terms(settings, region), means, rcond=None)[0]
    off = means - terms(settings, region) @ b
    chance = y - y.mean(axis=0) - means[:, None] + y.mean()
    ratio = (RUNS * (off**2).sum() / 3) / ((chance**2).sum() / (8 * (RUNS - 1)))
    p = f_distribution.sf(ratio, 3, 8 * (RUNS - 1))
    return lambda others: terms(others, region) @ b, p


WIDE, NARROW = ((10, 50), (10, 70)), ((16, 32), (26, 50))
numbers = cg.Draw(SEED)("settings").choice(16 * 24, 12, replace=False)
others = [(16 + number // 24, 26 + number % 24) for number in numbers.tolist()]
measured = costs(others, range(SEED, SEED + RUNS)).mean(axis=1)
surfaces, rms, p = {}, {}, {}
for name, region in (("wide", WIDE), ("narrow", NARROW)):
    surfaces[name], p[name] = fit(region)
    rms[name] = np.sqrt(np.mean((surfaces[name](others) - measured) ** 2))
    print(f"{name:6} region: lack of fit p = {p[name]:.1g},", end=" ")
    print(f"off by {rms[name]:.2f} USD at 12 other settings")

# %% [markdown]
# In the wide region the cost is steep where s and d are small, because the demand until
# a delivery is nearly S there, and a quadratic surface does not fit. So fit it again in
# a smaller region around the settings that look good. Judge a metamodel by settings
# that were not used to fit it, and do not use it outside of its region.
#
# ## Optimisation
# `scipy.optimize.minimize` finds the lowest point of the metamodel within its region.
# For comparison, it searches directly on the simulation by the method of Nelder and
# Mead, with as many runs (18 settings with ten seeds each, as in the two designs).
# Fixed seeds make the simulation a fixed function of its setting, which such a search
# needs. Then both results are run on 40 other seeds, and compared with the base case.

# %%
lowest = minimize(
    lambda x: surfaces["narrow"]([x])[0], np.mean(NARROW, axis=1), bounds=NARROW
)
direct = minimize(
    lambda x: costs([tuple(np.rint(x).tolist())], range(SEED, SEED + RUNS)).mean(),
    (20, 20),
    method="Nelder-Mead",
    options={"maxfev": 18, "initial_simplex": ((20, 20), (40, 20), (20, 60))},
)
winners = {"metamodel": lowest, "direct search": direct}
settings = [(20, 20), *(tuple(np.rint(best.x).tolist()) for best in winners.values())]
test = costs(settings, range(SEED + 200, SEED + 240))
gains = {}
for k, name in enumerate(winners, start=1):
    gains[name] = cg.statistics.paired_difference(test[k], test[0])
    s, d = settings[k]
    print(f"{name:13}: s = {s:.0f}, d = {d:.0f}, cost {test[k].mean():.1f},", end=" ")
    print(f"change {gains[name].mean:+.1f} ± {gains[name].half_width:.1f} USD")
print(claim("The metamodel's policy saves several USD", gains["metamodel"], below=-3))
print(claim("The direct search saves, too", gains["direct search"], below=0))

# %% [markdown]
# ## The winner's curse
# The setting with the lowest mean of many was usually also helped by chance, so its
# mean is too low on average. Twelve settings in the narrow region get one run each,
# with other random numbers, and the one with the lowest cost wins. How far is its cost
# below the mean of 19 other runs of it? We repeat this 20 times.

# %%
seeds = np.arange(SEED + 1000, SEED + 1000 + 20 * len(others)).reshape(-1, 20).tolist()
contest = np.concatenate([costs([at], row) for at, row in zip(others, seeds)])
elsewhere = (contest.sum(axis=1, keepdims=True) - contest) / 19
winner = contest.argmin(axis=0), np.arange(20)
bias = cg.statistics.mean(contest[winner] - elsewhere[winner])
print(f"the winner's run is {bias.mean:+.2f} ± {bias.half_width:.2f} USD off")


# %%
def draw_figure():
    with cg.plots.styled("lecture"):
        figure, (left, middle, right) = plt.subplots(
            1, 3, figsize=(18, 6.5), layout="constrained", width_ratios=(4, 4, 5)
        )
        blue = "#0B4F9C"
        means = [effect.mean for effect in effects.values()]
        halves = [effect.half_width for effect in effects.values()]
        left.errorbar(means, range(7), xerr=halves, fmt="o", color=blue, capsize=6)
        left.axvline(0, color="black", lw=1.2)
        left.set(yticks=range(7), yticklabels=effects, ylim=(6.5, -0.5))
        left.set(xlabel="effect on the cost (USD per month)")
        ends = (20, 40)
        middle.plot(ends, (base.mean(), with_s.mean()), "o-", color="black")
        middle.plot(ends, (with_d.mean(), both.mean()), "s-", color=blue)
        added = with_d.mean(), summed.mean
        middle.plot(ends, added, "D--", color=MISSED, mfc="white")
        for line, label in zip(middle.lines, ("d = 20", "d = 60", "added up")):
            line.set_label(label)
        middle.set(xticks=ends, xlabel="s", ylabel="mean cost (USD per month)")
        middle.set(xlim=(17, 43))
        middle.legend(frameon=False)
        grid = [np.linspace(*ends, 41) for ends in NARROW]
        height = surfaces["narrow"](list(product(*grid))).reshape(41, 41).T
        drawing = right.contourf(*grid, height, 12, cmap="Blues")
        figure.colorbar(drawing, ax=right, label="cost by the metamodel (USD)")
        nine = np.transpose(list(product(*(np.linspace(*e, 3) for e in NARROW))))
        right.plot(*nine, "o", color="black", ms=9, clip_on=False)
        right.plot(*lowest.x, "s", color=MISSED, ms=13, clip_on=False)
        right.set(xlabel="s", ylabel="d = S - s")
        right.set_title("design (circles) and lowest point", fontsize="medium")
        Path("pictures").mkdir(exist_ok=True)
        figure.savefig("pictures/lecture_12.png", dpi=150)


draw_figure()

# %% [markdown]
# ## Three misconceptions
# 1. *"Change one factor at a time, then you see what each of them does."* You see its
#    effect at only one level of the others. The sum of the changes differs from the
#    measured cost.
# 2. *"A surface with six coefficients through nine points fits well."* In the wide
#    region the lack of fit is significant (p below 0.001), and at other settings the
#    surface is further off than the one of the narrow region.
# 3. *"The winner will cost what its best run showed."* It will cost more; this is the
#    winner's curse. Report the result on other seeds.

# %%
print(claim("2. The wide region: lack of fit", p["wide"], below=0.001))
off = rms["wide"] / rms["narrow"]
print(claim("2. The wide surface is further off", off, above=1.5))
print(claim("3. The winner's run is below its expected cost", bias, below=0))

# %% [markdown]
# ## You can now
# - design a 2^k experiment and compute main effects and interactions with intervals;
# - fit a quadratic metamodel and test its lack of fit;
# - search for the best setting by `scipy.optimize` with common random numbers;
# - report a result without the winner's curse.
#
# ## Five questions
# 1. How many settings has a 2^5 factorial design?
#    <details><summary>Answer</summary>32.</details>
# 2. Two lines in an interaction plot are parallel. What does it mean?
#    <details><summary>Answer</summary>No interaction: the effect of one factor is the
#    same at both levels of the other.</details>
# 3. Why does a quadratic metamodel need three levels per factor?
#    <details><summary>Answer</summary>Two levels cannot distinguish a curve from a
#    straight line.</details>
# 4. Why should a search use the same seeds for all settings?
#    <details><summary>Answer</summary>Then differences between settings are precise,
#    and the function does not change between two calls.</details>
# 5. On which seeds is the best setting judged?
#    <details><summary>Answer</summary>On other seeds than those with which it was
#    selected.</details>
#
# ## References
# - Law, *Simulation Modeling and Analysis* (5th ed.), Chapter 12.
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation* (5th ed.),
#   Chapter 12.
#
# ## Exercises
# **12.1** A 2^2 design gave four mean costs. What is the interaction effect? Your
# numbers: `print(cg.exercises.question(12.1, "your name"))`
# Check it: `cg.exercises.check(12.1, answer, "your name")`
#
# **12.2** Write `on_hand(env, low, high, gaps, sizes, lead)` for a shop that reviews
# its stock at each sale. It starts with `high` items. Customer k arrives gaps[k] after
# the customer before and takes sizes[k] items; unmet demand is backlogged, so the level
# can be negative. The inventory position is the level plus all items on order. If it is
# at `low` or below after a sale, order up to `high` (as the position); the delivery
# arrives `lead` later. Return the time average of the items on hand (a negative level
# counts as 0) from time 0 to the last customer.
# Check it: `cg.exercises.check(12.2, on_hand)`
#
# **12.3** Write `interaction(systems, gaps, works)`. `systems[servers, speed]` is a
# pair of a SimPy environment and its desk, a `simpy.Resource`, for 1 and 2 servers and
# for speed 1 and 1.5. Serve the same customers in all four (a customer needs works[k] /
# speed), and return the interaction effect of servers and speed on the mean wait.
# Check it: `cg.exercises.check(12.3, interaction)`
#
# **12.4** Write `lowest(x, y)`: fit a parabola to the points by least squares, and
# return where between the least and the greatest x it is lowest.
# Check it: `cg.exercises.check(12.4, lowest)`
