"""With one independent run of each, the worse of two systems looks better in about half
of the cases; with common random numbers hardly ever.

(Lecture 11: comparing systems)
"""

# %% [markdown]
# ## One fast machine or two slow ones?
# A bank can buy one fast cash machine or two of half the speed (after an example in
# Law, Chapter 10). Customers arrive once per minute on average; the fast machine takes
# 0.9 minutes on average, a slow one 1.8; all times are exponential. The bank asks for
# the mean wait of the first 100 customers of a day, which starts empty. This is a
# terminating simulation, so each day gives one independent value (lecture 9).

# %%
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim

SEED = 11_000  # the first seed of all runs
DAYS = 150


@cg.model(
    figures={
        "machine_wait": cg.Metric("mean wait", "min"),
        "response": cg.Metric("mean time in the bank", "min"),
    }
)
def bank(env, draw, machines=1, work=0.9, customers=100, one_stream=False):
    """work: mean minutes of the work on a single machine of full speed."""
    machine = cg.Resource(env, machines, name="machine")
    response = cg.Monitor(env, "response")

    def customer(work_min):
        arrival = env.now
        with machine.request() as turn:
            yield turn
            if one_stream:
                work_min = draw("all").exponential(work)
            yield env.timeout(machines * work_min)  # a machine of many is slower
        response.tally(env.now - arrival)

    def source():
        for _ in range(customers):
            yield env.timeout(draw("all" if one_stream else "gaps").exponential(1.0))
            env.process(customer(draw("work").exponential(work)))

    env.process(source())
    env.run()


SYSTEMS = {"one fast": {}, "two slow": {"machines": 2}}
days = cg.compare(bank, SYSTEMS, seeds=range(SEED, SEED + DAYS))
others = cg.compare(bank, SYSTEMS, seeds=range(SEED + DAYS, SEED + 2 * DAYS))
fast = np.array(days.values("one fast", "machine_wait"))
slow = np.array(days.values("two slow", "machine_wait"))
other = np.array(others.values("two slow", "machine_wait"))
for name, x in (("one fast", fast), ("two slow", slow)):
    wait = cg.statistics.mean(x)
    print(f"{name}: mean wait {wait.mean:.2f} ± {wait.half_width:.2f} min")

# %% [markdown]
# ## Common random numbers
# Compare one day of one system with one day of the other, and choose the one with the
# shorter wait. How often is this the wrong system? If the days are independent, in
# about half of the cases: days differ more than the systems do. **Common random
# numbers** give both systems the same customers: the same arrivals and, customer by
# customer, the same work. Each purpose has its own **stream** of random numbers, and
# values are drawn when the customer arrives. `cg.compare` does so for the same seeds.

# %%
wrong_independent = np.mean(other[:, None] > fast)  # all pairs of days
wrong_common = np.mean(slow > fast)
print(f"wrong choice by one day of each: independent {100 * wrong_independent:.0f} %,")
print(f"with common random numbers {100 * wrong_common:.0f} %")
print(claim("In about half of the cases", wrong_independent, above=0.35, below=0.6))
print(claim("With common random numbers hardly ever", wrong_common, below=0.1))

# %% [markdown]
# ## The paired t interval
# With common random numbers the values of a day belong together, so take the
# **difference day by day**, and the interval of the mean difference. The variance shows
# what is gained:
#
#     Var(X - Y) = Var X + Var Y - 2 Cov(X, Y)
#
# The more the two values of a day are correlated, the more cancels. For independent
# runs there are no pairs; the interval uses both variances (Welch's t).

# %%
paired = cg.statistics.paired_difference(slow, fast)
half = np.hypot(
    cg.statistics.mean(fast).half_width, cg.statistics.mean(other).half_width
)
correlation = np.corrcoef(slow, fast)[0, 1]
gain = (half / paired.half_width) ** 2
print(f"common random numbers: {paired.mean:+.2f} ± {paired.half_width:.2f} min")
print(f"independent:           {other.mean() - fast.mean():+.2f} ± {half:.2f} min")
print(f"correlation {correlation:.3f}; {gain:.0f} times as many independent days")
print(claim("Two slow machines have the shorter wait", paired, below=0))
print(claim("It takes many times as many independent days", gain, above=30))
response = days.differences()["two slow"]["response"]
print(f"time in the bank, two slow - one fast: {response.mean:+.2f} min")
print(claim("But the customers stay longer in the bank", response, above=0))

# %% [markdown]
# With two machines the wait is shorter, but the time in the bank is longer, because a
# slow machine takes longer. So choose the response before you compare.
#
# ## Synchronisation
# Common random numbers need **synchronisation**: each random number must serve the same
# purpose in both systems. If all numbers come from one stream and the work is drawn
# when service begins, then a customer who begins earlier changes the order of all
# later draws. The seeds are the same, but the customers are not.

# %%
mixed = {name: {**how, "one_stream": True} for name, how in SYSTEMS.items()}
lost = cg.compare(bank, mixed, seeds=range(SEED, SEED + 60))
lost_min = lost.differences()["two slow"]["machine_wait"]
kept_min = cg.statistics.paired_difference(slow[:60], fast[:60])
print(f"a stream per purpose: {kept_min.mean:+.2f} ± {kept_min.half_width:.2f} min")
print(f"one stream:           {lost_min.mean:+.2f} ± {lost_min.half_width:.2f} min")
wider = lost_min.half_width / kept_min.half_width
print(claim("With one stream the interval is several times as wide", wider, above=3))

# %% [markdown]
# ## Many tests
# Compare a system with itself 100 times, with other random numbers each time. There is
# no difference, but a test at the 5 % level finds one in about one of twenty cases.
# **Holm's correction** multiplies the smallest p-value by the number of tests, the next
# one by one less, and so on, and never lets an adjusted value fall below the one before
# it. The probability of at least one false result is then at most 5 %.

# %%
short = cg.compare(bank, [{"customers": 20}], seeds=range(SEED + 500, SEED + 1500))
x = np.reshape(short.values(short.policies[0], "machine_wait"), (100, 2, 5))
p_values = [cg.statistics.paired_test(one, two).p for one, two in x]
alone = sum(p < 0.05 for p in p_values)
corrected = sum(p < 0.05 for p in cg.statistics.holm(p_values))
print(f"p below 0.05: {alone} of 100 tests, after Holm's correction {corrected}")
print(claim("Some tests find a difference that does not exist", alone, above=0))
print(claim("After Holm's correction at most one does", corrected, below=1.5))

# %% [markdown]
# ## Selecting the best of several systems
# An interval for each pair is more than we need if we only want the best system. A
# **selection procedure** promises to select the best one with a probability of 95 %, if
# it is better than all others by an **indifference** amount. The procedure of Kim and
# Nelson drops a system as soon as it is clearly not the best, so that most runs are
# used for the closest competitors.
#
# The bank has five offers: one machine, or more machines that are slower one by one and
# faster together. With more machines a customer waits for a shorter time and is served
# for a longer one. So the response is the mean time in the bank. The least difference
# that matters to the bank is 0.1 minutes.

# %%
OFFERS = ((1, 0.90), (2, 0.84), (3, 0.78), (4, 0.76), (5, 0.80))  # machines and work
offers = [{"machines": machines, "work": work} for machines, work in OFFERS]
chosen = cg.select(bank, offers, indifference=0.1, figure="response", first=10)
print(chosen)
runs = dict(zip(OFFERS, chosen.observations.values()))
best = OFFERS[list(chosen.means).index(chosen.best)]
print(claim("Three machines are selected", best == (3, 0.78), equal=True))
print(claim("Five machines are dropped early", runs[5, 0.80], below=40))

# %% [markdown]
# The means are over different numbers of runs: a system that is dropped early may even
# have a lower mean than the selected system, if its few days were quiet. Compare means
# only between systems that were run on the same seeds. State the indifference before
# the first run: it is the least difference that matters in practice.


# %%
def draw_figure():
    with cg.plots.styled("lecture"):
        figure, (left, middle, right) = plt.subplots(
            1, 3, figsize=(17, 6), layout="constrained"
        )
        most = 1.05 * max(fast.max(), slow.max(), other.max())
        for ax, y, title in (
            (left, other, "independent days"),
            (middle, slow, "common random numbers"),
        ):
            ax.axline((0, 0), slope=1, color="black", lw=1.2)
            ax.plot(fast, y, "o", ms=5, color="#0B4F9C")
            ax.set(xlabel="one fast machine: wait (min)", aspect="equal")
            ax.set(xlim=(0, most), ylim=(0, most))
            ax.set_title(f"{title}, {DAYS} pairs", fontsize="medium")
        left.set_ylabel("two slow machines: wait (min)")
        colours = ["#0B4F9C" if offer == best else "0.65" for offer in OFFERS]
        names = [f"{machines}, {work} min" for machines, work in OFFERS]
        right.barh(names, runs.values(), color=colours)
        right.axvline(10, color="black", ls="--", lw=1.2)
        right.set(xlabel="runs until dropped or selected", ylim=(4.6, -0.6))
        right.set_ylabel("machines, work")
        right.set_title("selection of an offer", fontsize="medium")
        Path("pictures").mkdir(exist_ok=True)
        figure.savefig("pictures/lecture_11.png", dpi=150)


draw_figure()

# %% [markdown]
# ## Three misconceptions
# 1. *"One long day of each system shows which is better."* As shown above, the wrong
#    system is chosen in about half of the cases, unless common random numbers are used.
# 2. *"If the two confidence intervals overlap, there is no difference."* With 20 days
#    the intervals of the two systems overlap, but the paired interval excludes 0.
# 3. *"A tiny p-value means an important difference."* Take a machine that is 1 %
#    faster. The p-value is below one in a million, and the difference is a few seconds
#    per customer.

# %%
one, two = cg.statistics.mean(fast[:20]), cg.statistics.mean(slow[:20])
overlap = two.high - one.low
print(claim("2. The intervals overlap", overlap, above=0))
twenty = cg.statistics.paired_difference(slow[:20], fast[:20])
print(claim("2. The paired interval excludes 0", twenty, below=0))
faster = {"as it is": {}, "1 % faster": {"work": 0.891}}
little = cg.compare(bank, faster, seeds=range(SEED, SEED + 60))
test = little.tests()["1 % faster"]["machine_wait"]
less_s = -60 * test.difference
print(f"1 % faster: {less_s:.1f} s less per customer, p = {test.p:.0e}")
print(claim("3. The p-value is below one in a million", test.p, below=1e-6))
print(claim("3. The difference is a few seconds", less_s, above=2, below=20))

# %% [markdown]
# ## You can now
# - compare two systems by the paired t interval with common random numbers;
# - explain what synchronisation needs, and check it by the correlation;
# - correct a set of tests by Holm's method;
# - select the best of several systems with a stated indifference.
#
# ## Five questions
# 1. When do common random numbers gain nothing?
#    <details><summary>Answer</summary>If the two responses are not correlated, for
#    example if one system hardly varies, or if the draws are not
#    synchronised.</details>
# 2. What is lost if runs with common random numbers are analysed as independent, and
#    what if independent runs are analysed as pairs?
#    <details><summary>Answer</summary>The first interval is too wide, because it
#    ignores the positive correlation. The second is valid, but it has only n - 1
#    degrees of freedom; Welch's t has more, up to 2 n - 2.</details>
# 3. Ten systems are compared in pairs. How many tests are these?
#    <details><summary>Answer</summary>45. If the systems do not differ, two or three of
#    the tests still find a difference at the 5 % level, on average.</details>
# 4. The least of four p-values is 0.02. Is it significant after Holm's correction?
#    <details><summary>Answer</summary>No: 4 times 0.02 is 0.08.</details>
# 5. What does the indifference amount mean?
#    <details><summary>Answer</summary>The least difference that matters. If two systems
#    differ by less, either may be selected.</details>
#
# ## References
# - Law, *Simulation Modeling and Analysis* (5th ed.), Chapter 10; common random numbers
#   in Chapter 11.
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation* (5th ed.),
#   Chapter 12.
# - Kim and Nelson (2001), ACM Transactions on Modeling and Computer Simulation 11,
#   251-273.
#
# ## Exercises
# **11.1** Write `saving(one, two, gaps, works)`. `one` and `two` are two systems, each
# a pair of a SimPy environment and its desk, a `simpy.Resource`. Serve the same
# customers in both (customer k arrives gaps[k] after the customer before and holds the
# desk for works[k]), and return the mean wait in `one` minus the mean wait in `two`.
# Check it: `cg.exercises.check(11.1, saving)`
#
# **11.2** Seven days with common random numbers gave the waits of two systems. What is
# the half width of the 95 % interval of the mean difference? Your numbers:
# `print(cg.exercises.question(11.2, "your name"))`
# Check it: `cg.exercises.check(11.2, answer, "your name")`
#
# **11.3** Write `adjusted(p)`: the p-values after Holm's correction, in the order of
# the list, none above 1. Check it: `cg.exercises.check(11.3, adjusted)`
#
# **11.4** Compare orders of service: write `shortest_first(env, desk, gaps, works)`.
# `desk` is a `simpy.PriorityResource` with one server. When the server becomes free,
# the waiting customer with the shortest work is next; nobody is interrupted. Return the
# mean wait. Check it: `cg.exercises.check(11.4, shortest_first)`
