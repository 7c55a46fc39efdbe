"""A shop that orders up to S items when s are left: which s and S cost least?

You build an (s, S) inventory with lead times in SimPy, verify it against a Markov
chain, and choose s and S from a grid. About six hours. Lectures 2 to 5, 9, 11 and 12.

(Assignment: inventory)
"""

# %% [markdown]
# ## The problem
# A shop sells bicycle tubes. Customers come at random and each wants one to three
# tubes. Tubes that are not in stock are owed: the customer waits for the next delivery
# (**backlog**). As soon as at most s tubes are left, the shop orders so many that there
# are S again. A delivery takes some days, always the same number. Each order has a
# fixed cost; each tube in stock costs money per day, and each tube owed costs more.
#
# In the terms of the lectures: the **entities** are customers and orders. The state is
# the **level** (tubes in stock; negative if tubes are owed) and the number **on
# order**. The sum of both is the inventory **position**. Unlike the shop of lecture 12,
# which reviews its stock once per month, this one reviews it at each sale, as in
# exercise 12.2. So the rule looks at the position, not at the level: otherwise the shop
# would order again while a delivery is on its way. Interarrival times are exponential.
# All times are in days.

# %%
import math
from itertools import pairwise

import numpy as np
import simpy

import cgrsp_simpy as cg

# %% [markdown]
# Write your name as your lecturer knows it. Your numbers depend on it.

# %%
student = "your name"

# %%
numbers = cg.Draw(0)(f"inventory of {student}")
GAP_DAYS = float(numbers.choice([0.2, 0.25, 0.4]))  # mean interarrival time
SIZES = [float(share) for share in numbers.permutation([0.5, 0.3, 0.2])]  # of 1, 2, 3
LEAD_DAYS = float(numbers.choice([3.0, 4.0, 5.0]))
ORDER_USD = float(numbers.choice([30.0, 40.0, 50.0]))  # per order
HELD_USD, OWED_USD = 1.0, 10.0  # per item and day
DEMAND = sum(n * share for n, share in enumerate(SIZES, 1)) / GAP_DAYS  # per day
LOW = round(0.8 * DEMAND * LEAD_DAYS)  # today's s
HIGH = LOW + 12  # today's S
WARM_UP_DAYS, END_DAYS = 50.0, 450.0
print(f"{student}: a customer every {GAP_DAYS} days, lead time {LEAD_DAYS} days")
print(f"shares of 1, 2 and 3 tubes: {SIZES}; {ORDER_USD} USD per order")
print(f"demand {DEMAND:.2f} per day; today s = {LOW}, S = {HIGH}")

# %% [markdown]
# ## What to submit
# This notebook, with code in the answer cells and text in the two report cells. Cells
# with points are tests; run them often. After submission, further tests run.
#
# | step | points |
# |---|---|
# | 1 conceptual model | 3 |
# | 2 sales and deliveries | 4 |
# | 3 the source | 3 |
# | 4 measuring | 3 |
# | 5 verification against a Markov chain | 3 |
# | 6 experiment and recommendation | 4 |
#
# ## 1 Conceptual model
# Describe the model before you write code, in at most 200 words: entities with their
# attributes, the state, the events that change it and how, three assumptions, and the
# performance measures. For one assumption, say in which direction it may change the
# result.
#
# | criterion | full | half | none |
# |---|---|---|---|
# | components (1) | entities, attributes, level, on order, position, measures complete | one missing | more |
# | events (1) | demand, order, delivery; how level and position change at each | the position at a delivery wrong | events missing |
# | assumptions (1) | three that matter for the question, and the effect of one on a figure with its reason | three, without effect | fewer, or general ones |

# %% [markdown]
# <!-- 3 points -->
# Entities: customers with the number of tubes they want; orders with the number of
# tubes ordered. State: level (stock minus backlog) and on order; position = level + on
# order. Events: *demand*: level and position fall by the size; *order*, in the same
# instant if the position is at most s: the amount on order rises by S minus the
# position, so the position becomes S; *delivery*, a lead time later: the level rises,
# the amount on order falls, and the position does not change. Measures: mean stock,
# mean backlog, orders per day, cost per day.
#
# Assumptions: customers always wait; the lead time is constant; the demand rate does
# not change. If some customers went elsewhere, the backlog would be smaller than the
# model's and sales would be lost, a cost that the model does not have.

# %% [markdown]
# ## 2 Sales and deliveries
# `store` is a dict with `level`, `on_order` and `log`. After every change, append
# `(env.now, level, on_order)` to the log (function `note`). A sale and the order that
# it causes are one change.


# %%
def note(env, store):
    """Append time, level and number on order to the log."""
    store["log"].append((env.now, store["level"], store["on_order"]))


# %%
def delivery(env, store, items, lead_days):
    """Process of an order that was placed now: bring the items after lead_days."""
    ### BEGIN SOLUTION
    yield env.timeout(lead_days)
    store["level"] += items
    store["on_order"] -= items
    note(env, store)
    ### END SOLUTION


def sell(env, store, items, low, high, lead_days):
    """Sell or owe the items, and order up to high if the position is at most low.

    This is a function, not a process; an order starts a process of `delivery`.
    """
    ### BEGIN SOLUTION
    store["level"] -= items
    position = store["level"] + store["on_order"]
    if position <= low:
        store["on_order"] += high - position
        env.process(delivery(env, store, high - position, lead_days))
    note(env, store)
    ### END SOLUTION


# %% [markdown]
# `play` sells at given times and runs until the last delivery.


# %%
def play(sales, low=2, high=6, lead_days=5):
    """Return the log after sales of (time, items), beginning with level `high`."""
    env = simpy.Environment()
    store = {"level": high, "on_order": 0, "log": []}

    def customers():
        for time, items in sales:
            yield env.timeout(time - env.now)
            sell(env, store, items, low, high, lead_days)

    env.process(customers())
    env.run()
    return store["log"]


# %%
# 2 points
assert play([(1, 3), (2, 1)]) == [(1, 3, 0), (2, 2, 4), (7, 6, 0)]
### BEGIN HIDDEN TESTS
# a size that jumps below s: the order fills up to S, it is not S - s
assert play([(1, 5)]) == [(1, 1, 5), (6, 6, 0)]
# items are owed, and the next delivery serves them
assert play([(1, 4), (2, 3)]) == [(1, 2, 4), (2, -1, 4), (6, 3, 0)]
# s = 0: ordered when the last item is sold
assert play([(1, 1), (2, 1)], low=0, high=2) == [(1, 1, 0), (2, 0, 2), (7, 2, 0)]
### END HIDDEN TESTS

# %%
# 2 points
# no second order while the first is on its way
assert play([(1, 4), (2, 1)]) == [(1, 2, 4), (2, 1, 4), (6, 5, 0)]
### BEGIN HIDDEN TESTS
# two orders on their way at once, as the position is at most s again
before = [(1, 2, 4), (2, -1, 4), (3, -2, 8), (4, -3, 8)]
after = [(6, 1, 4), (8, 5, 0)]
assert play([(1, 4), (2, 3), (3, 1), (4, 1)]) == before + after
# the position at which it is ordered: at most s, not below s
assert play([(1, 4)], low=2)[0] == (1, 2, 4) and play([(1, 3)], low=2)[0] == (1, 3, 0)
### END HIDDEN TESTS

# %% [markdown]
# ## 3 The source
# Write the source and run the model. The store begins with level `high`, nothing on
# order, and the entry `(0, high, 0)` in its log. Use the streams `draw("gaps")` and
# `draw("sizes")`, each a NumPy generator, so that every s and S meets the same
# customers (common random numbers). The first customer comes after the first
# interarrival time.


# %%
def record_store(env, draw, low, high, gap_days, sizes, lead_days, end_days):
    """Simulate until end_days and return the log.

    sizes: shares of customers who want 1, 2, ... items.
    """
    ### BEGIN SOLUTION
    store = {"level": high, "on_order": 0, "log": []}
    note(env, store)

    def source():
        while True:
            yield env.timeout(draw("gaps").exponential(gap_days))
            items = 1 + int(draw("sizes").choice(len(sizes), p=sizes))
            sell(env, store, items, low, high, lead_days)

    env.process(source())
    env.run(end_days)
    return store["log"]
    ### END SOLUTION


# %% [markdown]
# The model for studies is given. It uses your function `figures` of step 4, where you
# find what its figures mean.


# %%
@cg.model(
    figures={
        "cost_usd": cg.Metric("cost per day", "USD"),
        "stock": cg.Metric("mean stock", "items"),
        "backlog": cg.Metric("mean backlog", "items"),
        "orders": cg.Metric("orders per day", ""),
    }
)
def shop(
    env,
    draw,
    low=LOW,
    high=HIGH,
    gap_days=GAP_DAYS,
    lead_days=LEAD_DAYS,
    warm_up_days=WARM_UP_DAYS,
    end_days=END_DAYS,
):
    log = record_store(env, draw, low, high, gap_days, SIZES, lead_days, end_days)
    return figures(log, warm_up_days, end_days)


def trace(seed, low=LOW, high=HIGH, gap_days=GAP_DAYS, lead_days=LEAD_DAYS):
    """Return the log of one run."""
    env = simpy.Environment()
    draw = cg.Draw(seed)
    return record_store(env, draw, low, high, gap_days, SIZES, lead_days, END_DAYS)


def changes(log):
    """Return (time, change of the level, change of on order) of each entry but the
    first.
    """
    return [
        (time, level - old_level, on_order - old_on_order)
        for (_, old_level, old_on_order), (time, level, on_order) in pairwise(log)
    ]


# %%
# 2 points
log = trace(1)
sold = -sum(level for _, level, _ in changes(log) if level < 0)
delivered = sum(level for _, level, _ in changes(log) if level > 0)
assert log[0] == (0, HIGH, 0)
assert HIGH + delivered - sold == log[-1][1]
### BEGIN HIDDEN TESTS
ordered = sum(items for _, _, items in changes(log) if items > 0)
assert ordered == delivered + log[-1][2]
assert all(time <= END_DAYS for time, *_ in log)
sales = [-level for _, level, _ in changes(log) if level < 0]
expected = END_DAYS / GAP_DAYS
assert abs(len(sales) - expected) < 4.5 * math.sqrt(expected)
for items, share in enumerate(SIZES, 1):
    sd = math.sqrt(len(sales) * share * (1 - share))
    assert abs(sales.count(items) - len(sales) * share) < 4.5 * sd
# Little's law: what is on order is the orders per day times the lead time
times = [*(time for time, *_ in log), END_DAYS]
area = sum((b - a) * on_order for a, b, (*_, on_order) in zip(times, times[1:], log))
late = sum(
    items * (time + LEAD_DAYS - END_DAYS)
    for time, _, items in changes(log)
    if items > 0 and time + LEAD_DAYS > END_DAYS
)
assert math.isclose(area, ordered * LEAD_DAYS - late, rel_tol=1e-9)
### END HIDDEN TESTS

# %%
# 1 points
assert trace(1) == trace(1)
### BEGIN HIDDEN TESTS
assert trace(1) != trace(2)
sales = [
    [(time, level) for time, level, _ in changes(log) if level < 0]
    for log in (trace(3), trace(3, low=LOW + 5, high=HIGH + 15))
]
assert sales[0] == sales[1]
# no demand
assert trace(4, gap_days=1e9) == [(0, HIGH, 0)]
# a lead time of nearly zero: hardly anything is owed
log = trace(4, low=3, lead_days=1e-9)
assert min(level for _, level, _ in log) >= 0
### END HIDDEN TESTS

# %% [markdown]
# ## 4 Measuring
# Compute the figures of the measured window, from the end of the warm-up to the end of
# the run. The log begins with the state at time 0.
#
# - `stock`, `backlog`: **averages over time** of the tubes in stock and of those owed;
# - `orders`: orders per day, that is, how often per day the number on order rises;
# - `cost_usd`: cost per day, with ORDER_USD per order, HELD_USD per tube in stock and
#   day, OWED_USD per tube owed and day.


# %%
def figures(log, warm_up_days, end_days):
    """Return cost_usd, stock, backlog and orders of the window as a dict."""
    ### BEGIN SOLUTION
    stock = backlog = orders = 0
    ends = [*(time for time, *_ in log[1:]), end_days]
    before = log[0][2]
    for (time, level, on_order), end in zip(log, ends):
        days = max(0.0, min(end, end_days) - max(time, warm_up_days))
        stock += max(level, 0) * days
        backlog += max(-level, 0) * days
        orders += on_order > before and warm_up_days <= time <= end_days
        before = on_order
    span = end_days - warm_up_days
    cost = (ORDER_USD * orders + HELD_USD * stock + OWED_USD * backlog) / span
    return {
        "cost_usd": cost,
        "stock": stock / span,
        "backlog": backlog / span,
        "orders": orders / span,
    }
    ### END SOLUTION


# %%
# 3 points
result = figures([(0, 6, 0), (12, 2, 4), (17, 6, 0)], 10, 20)
assert math.isclose(result["stock"], 4) and result["backlog"] == 0
assert math.isclose(result["orders"], 0.1)
assert math.isclose(result["cost_usd"], 4 * HELD_USD + 0.1 * ORDER_USD)
### BEGIN HIDDEN TESTS
# stock and backlog are not the two parts of a mean level
result = figures([(0, 6, 0), (11, -2, 8), (16, 4, 2), (18, 5, 1)], 10, 20)
assert math.isclose(result["stock"], (6 + 2 * 4 + 2 * 5) / 10)
assert math.isclose(result["backlog"], 1)
# the warm-up is not measured, but the state at its end is
result = figures([(0, 9, 0), (1, 3, 6), (2, 2, 7), (4, 8, 1)], 10, 20)
assert math.isclose(result["stock"], 8) and result["orders"] == 0
result = figures([(0, 9, 0), (9, -3, 12), (14, 9, 0)], 10, 20)
assert math.isclose(result["backlog"], 1.2) and math.isclose(result["stock"], 5.4)
assert figures([(0, 0, 0)], 0, 5)["cost_usd"] == 0
### END HIDDEN TESTS

# %% [markdown]
# ## 5 Verification against a Markov chain
# The **position** after each customer is a Markov chain with the states s + 1 to S:
# a customer of size x takes it from y to y - x or, if that is at most s, to S. Each
# state lasts one interarrival time on average, so the stationary probability of a state
# is also its share of the time.
#
# Everything on order at a time has arrived a lead time later, and nothing ordered
# later. So the **level** at time t + lead time is the position at time t less the
# demand of a lead time, and the two are independent. The distribution of this demand is
# given.


# %%
def lead_time_demand(gap_days, sizes, lead_days, most=300):
    """Return the probabilities of a demand of 0, 1, ..., most within the lead time
    (compound Poisson, by Panjer's recursion).
    """
    rate = lead_days / gap_days
    share = np.zeros(most + 1)
    share[0] = math.exp(-rate)
    for total in range(1, most + 1):
        terms = (
            items * size * share[total - items]
            for items, size in enumerate(sizes, 1)
            if items <= total
        )
        share[total] = rate / total * sum(terms)
    return share


# %%
def positions(low, high, sizes):
    """Return the stationary probabilities of the positions low + 1, ..., high."""
    ### BEGIN SOLUTION
    states = high - low
    chain = np.zeros((states, states))
    for row in range(states):
        for items, size in enumerate(sizes, 1):
            chain[row, row - items if row >= items else states - 1] += size
    equations = np.vstack([chain.T - np.eye(states), np.ones(states)])
    right = np.append(np.zeros(states), 1.0)
    return np.linalg.lstsq(equations, right, rcond=None)[0]
    ### END SOLUTION


def exact(low, high, gap_days, sizes, lead_days):
    """Return the long-run cost_usd, stock, backlog and orders as a dict."""
    ### BEGIN SOLUTION
    shares = positions(low, high, sizes)
    demand = lead_time_demand(gap_days, sizes, lead_days)
    levels = np.arange(low + 1, high + 1)[:, None] - np.arange(len(demand))
    weights = shares[:, None] * demand
    stock = float((weights * np.maximum(levels, 0)).sum())
    backlog = float((weights * np.maximum(-levels, 0)).sum())
    ordering = sum(size * shares[:items].sum() for items, size in enumerate(sizes, 1))
    orders = float(ordering) / gap_days
    return {
        "cost_usd": ORDER_USD * orders + HELD_USD * stock + OWED_USD * backlog,
        "stock": stock,
        "backlog": backlog,
        "orders": orders,
    }
    ### END SOLUTION


# %%
def agrees(values, exact):
    """Return whether the 99.99 % confidence interval of the runs contains the exact
    value.
    """
    interval = cg.statistics.mean(values, confidence=0.9999)
    return interval.low <= exact <= interval.high


# %%
# 1 points
assert np.allclose(positions(2, 6, [1.0]), 0.25)
assert math.isclose(sum(positions(LOW, HIGH, SIZES)), 1)
### BEGIN HIDDEN TESTS
# by hand: from 4 half of the customers lead to 3, the others to 2, which is 4 again
assert np.allclose(positions(2, 4, [0.5, 0.5]), [1 / 3, 2 / 3])
# by repeated steps
shares, low, high = np.full(20, 0.05), LOW, LOW + 20
for _ in range(2000):
    after = np.zeros(20)
    for place, share in enumerate(shares):
        for items, size in enumerate(SIZES, 1):
            after[place - items if place >= items else 19] += share * size
    shares = after
assert np.allclose(positions(low, high, SIZES), shares, atol=1e-6)
### END HIDDEN TESTS

# %%
# 2 points
study = cg.compare(shop, {"today": {}}, seeds=range(12))
formula = exact(LOW, HIGH, GAP_DAYS, SIZES, LEAD_DAYS)
print(study)
print("exact:", ", ".join(f"{name} {value:.3f}" for name, value in formula.items()))
for name in ("stock", "backlog", "orders", "cost_usd"):
    assert agrees(study.values("today", name), formula[name])
### BEGIN HIDDEN TESTS
# single items: an order every S - s customers; the mean level by Zipkin, Chapter 6
single = exact(10, 30, 0.5, [1.0], 4.0)
assert math.isclose(single["orders"], 1 / (20 * 0.5), rel_tol=1e-9)
level = single["stock"] - single["backlog"]
assert math.isclose(level, (11 + 30) / 2 - 8.0, rel_tol=1e-6)
owed = exact(-1, 0, 0.5, [1.0], 4.0)  # one order per customer, no stock: M/D/infinity
assert math.isclose(owed["backlog"], 8.0, rel_tol=1e-6) and owed["stock"] == 0
cost = ORDER_USD * single["orders"]
cost += HELD_USD * single["stock"] + OWED_USD * single["backlog"]
assert math.isclose(single["cost_usd"], cost)
### END HIDDEN TESTS

# %% [markdown]
# ## 6 Experiment and recommendation
# Which s and S cost least? The grid is given. Run at least ten replications, on the
# same seeds.
#
# - `best`: the pair (s, S) of the grid that you recommend;
# - `saved_usd`: how much it saves per day compared with today, as
#   `cg.statistics.paired_difference(...)`, positive if it saves. Pair by seed.

# %%
GRID = [
    (low, low + distance)
    for low in (LOW, LOW + 4, LOW + 8, LOW + 12)
    for distance in (15, 25, 40)
]

# %%
### BEGIN SOLUTION
pairs = {f"({low}, {high})": (low, high) for low, high in GRID}
alternatives = {"today": {}}
for name, (low, high) in pairs.items():
    alternatives[name] = {"low": low, "high": high}
study = cg.compare(shop, alternatives, seeds=range(100, 110))
means = {name: row["cost_usd"] for name, row in study.means().items()}
for name, cost in means.items():
    print(f"{name}: {cost.mean:.2f} ± {cost.half_width:.2f} USD per day")
chosen = min(pairs, key=lambda name: means[name].mean)
best = pairs[chosen]
saved_usd = cg.statistics.paired_difference(
    study.values("today", "cost_usd"), study.values(chosen, "cost_usd")
)
### END SOLUTION
print(f"best {best}: saves {saved_usd.mean:.2f} ± {saved_usd.half_width:.2f} per day")

# %%
# 1 points
assert best in GRID
assert saved_usd.n >= 10 and saved_usd.low > 0
### BEGIN HIDDEN TESTS
costs = {
    pair: exact(*pair, GAP_DAYS, SIZES, LEAD_DAYS)["cost_usd"]
    for pair in [*GRID, (LOW, HIGH)]
}
assert costs[best] <= 1.05 * min(costs.values())
error = saved_usd.sd / saved_usd.n**0.5
assert abs(saved_usd.mean - (costs[LOW, HIGH] - costs[best])) < 6.6 * error
### END HIDDEN TESTS

# %% [markdown]
# Write a report for the owner, who knows no simulation, in at most 250 words: question,
# how it was studied, result with intervals, recommendation and its limits.
#
# | criterion | full | half | none |
# |---|---|---|---|
# | result (1) | costs with intervals and units in the text itself, replications, run length and warm-up | one missing | means alone |
# | recommendation (1) | follows from the intervals; names pairs that cost about as much, and what changes for customers | one of the two, or from means alone | against the figures, or without them |
# | limits (1) | two assumptions of this case, with the direction of their effect on the recommendation | without direction | fewer, or general phrases |

# %% [markdown]
# <!-- 3 points -->
# **Question.** When and how much shall we order, so that orders, stock and backlog
# together cost least?
#
# **Study.** A simulation of 400 days after 50 days of warm-up, ten times for each pair
# of a grid with the same customers. The model agrees with a Markov chain.
#
# **Result** (mean and 95 % interval). Today costs 32.23 ± 1.52 USD per day. The pair
# (10, 35) costs 24.52 ± 0.78 and saves 7.71 ± 0.80.
#
# **Recommendation.** Order up to 35 tubes when 10 are left. The pair (14, 39) costs
# about as much, 24.75 ± 0.31; take it if customers who wait are worse than extra stock.
# Orders become larger and rarer, and fewer customers wait for a delivery.
#
# **Limits.** The lead time is constant in the model; if it varies, a larger s is
# needed. All customers wait in the model; if some buy elsewhere, sales are lost, and a
# tube that is missing costs more than here, which also speaks for a larger s.
