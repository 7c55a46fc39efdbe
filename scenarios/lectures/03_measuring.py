"""On ten days of the same bank the mean wait differs by a factor of more than three:
one simulated day is not a result.

(Lecture 3: measuring)
"""

# %% [markdown]
# Lecture 2 measured waits in a list. Here we measure everything that a bank's manager
# may ask for: waits, the length of the queue, the utilisation of the teller. Then we
# repeat the day, because a single day is weak evidence.
#
# ## Two kinds of average
# A wait belongs to a customer, and its mean is an average **over customers**. The
# length of the queue belongs to a point in time, and its mean is an average **over
# time**: each length counts for as long as it lasts. It is the area under the curve of
# the queue length, divided by the time. These are the four customers of lecture 1.

# %%
from itertools import pairwise
from pathlib import Path

import numpy as np
import simpy
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim

ARRIVALS_MIN, SERVICES_MIN = (2, 5, 6, 11), (8, 2, 6, 4)


def customer(env, teller, arrival_min, service_min, lengths):
    yield env.timeout(arrival_min)
    with teller.request() as turn:
        lengths.append((env.now, len(teller.queue)))
        yield turn
        lengths.append((env.now, len(teller.queue)))
        yield env.timeout(service_min)


def area(lengths, end):
    """Return the area under a curve of pairs (time, length from then on)."""
    return sum(
        length * (later - begin)
        for (begin, length), (later, _) in pairwise([*lengths, (end, 0)])
    )


env, lengths = simpy.Environment(), []
teller = simpy.Resource(env)
for arrival_min, service_min in zip(ARRIVALS_MIN, SERVICES_MIN):
    env.process(customer(env, teller, arrival_min, service_min, lengths))
env.run()
print("time and length of the queue:", *lengths)
queue_area = area(lengths, env.now)
print(f"area {queue_area} customer minutes in {env.now} minutes")
print(f"time average of the queue: {queue_area / env.now:.3f} customers")
print(claim("The area is the sum of the waits", queue_area, equal=0 + 5 + 6 + 7))

# %% [markdown]
# Each waiting customer adds one minute to the area in each minute. This is why the area
# is the sum of the waits. We return to it below.
#
# ## A resource with statistics
# `cg.Resource` is SimPy's resource, and also records statistics. Nothing else in the
# model changes.
# Times are in minutes; `wait_p95` is the wait that 95 % of the customers do not exceed,
# and `withdrawn_pct` is the share of requests that were withdrawn (lecture 15).

# %%
env = simpy.Environment()
teller = cg.Resource(env, name="teller")
for arrival_min, service_min in zip(ARRIVALS_MIN, SERVICES_MIN):
    env.process(customer(env, teller, arrival_min, service_min, []))
env.run()
for name, value in teller.figures().items():
    print(f"  {name:16} {value:6.2f}")
same_queue = np.isclose(teller.figures()["queue"], queue_area / env.now)
print(claim("The queue is the one by hand", bool(same_queue), equal=True))
busy_pct = round(teller.figures()["utilisation_pct"], 6)
print(claim("The utilisation is 20 of 22 minutes", busy_pct, above=90.9, below=91))

# %% [markdown]
# The **utilisation** is the share of the time in which the server is busy, also an
# average over time.
#
# ## A model with parameters
# To run the bank again and again, it becomes a function. `@cg.model` marks it: the
# function receives an environment and random streams, all other arguments are
# parameters (`unit_s=60`: the clock counts minutes). `draw("gaps")` is a generator of
# random numbers for one purpose. A `cg.Monitor` records values: `stay.tally(value)`.
# The bank opens for eight hours and then serves those who are inside. A simulation with
# such a natural end is called **terminating**. `cg.simulate` runs the model once, and
# `summary()` returns its figures by name: `teller_wait` is the figure `wait` of the
# resource with the name `teller`.


# %%
@cg.model(unit_s=60)
def bank(env, draw, tellers=1, gap_min=5.0, service_min=4.0, open_min=480.0):
    teller = cg.Resource(env, tellers, name="teller")
    stay = cg.Monitor(env, "stay")
    customers = 0

    def customer(service_min):
        arrival_min = env.now
        with teller.request() as turn:
            yield turn
            yield env.timeout(service_min)
        stay.tally(env.now - arrival_min)

    def source():
        nonlocal customers
        while True:
            gap = draw("gaps").exponential(gap_min)
            if env.now + gap > open_min:
                break
            yield env.timeout(gap)
            customers += 1
            env.process(customer(draw("services").exponential(service_min)))
        yield env.timeout(open_min - env.now)  # until the doors close

    env.process(source())
    env.run()
    return {"customers": customers, "end_min": env.now}


day = cg.simulate(bank, seed=1)
figures = day.summary()
for name, value in figures.items():
    print(f"  {name:24} {value:8.2f}")

# %% [markdown]
# ## Little's law
# The mean number in a system is the arrival rate (customers per minute) times the mean
# time in the system: **L = λ W**. It holds for the queue alone, too, whatever the
# distributions and the order of service. If the system is empty at the beginning and at
# the end, it holds exactly, for the reason above: both sides are the same area, divided
# by time. If a run ends with customers inside, it holds approximately.

# %%
rate = figures["customers"] / figures["end_min"]
by_law = rate * figures["teller_wait"]
print(f"queue: over time {figures['teller_queue']:.6f}, rate times wait {by_law:.6f}")
exact = np.isclose(figures["teller_queue"], by_law)
print(claim("From empty to empty the law holds exactly", bool(exact), equal=True))

# %% [markdown]
# It checks any program: measure both sides separately and compare. It is also a
# shortcut: two of the three figures give the third.
#
# ## One day is not a result
# Another **seed**, the number from which the random streams begin, gives another day.
# Independent runs of the same model are called **replications**.

# %%
days = [cg.simulate(bank, seed=seed) for seed in range(10)]
waits_min = np.array([run.summary()["teller_wait"] for run in days])
print("mean waits of ten days in minutes:", *(f"{wait:.1f}" for wait in waits_min))
differ = waits_min.max() / waits_min.min()
print(claim("The days differ by a factor of more than three", differ, above=3))

# %% [markdown]
# The figure that we want is the mean over all possible days. Ten days give an estimate,
# and a **confidence interval**: mean plus or minus the **half width**
#
#     t s / sqrt(n)
#
# with the standard deviation s of the n values and the 97.5 % point t of Student's
# distribution with n - 1 degrees of freedom, 2.262 for ten values. If the values are
# normally distributed, 95 of 100 such intervals contain the true mean in the long run;
# if they are skewed, such as these mean waits, somewhat fewer (lecture 9).

# %%
interval = cg.statistics.mean(waits_min)
by_hand = 2.262 * waits_min.std(ddof=1) / np.sqrt(len(waits_min))
print(f"mean wait {interval.mean:.1f} ± {interval.half_width:.1f} min")
ratio = interval.half_width / by_hand
print(claim("The half width is the one by hand", ratio, above=0.999, below=1.001))

# %% [markdown]
# ## A first study
# `cg.compare` runs alternatives on the same seeds. Does a second teller help? And what
# if customers arrive every 4.5 minutes?

# %%
ALTERNATIVES = {"today": {}, "two tellers": {"tellers": 2}, "busier": {"gap_min": 4.5}}
study = cg.compare(bank, ALTERNATIVES, seeds=range(30))
for name, row in study.means().items():
    wait, queue = row["teller_wait"], row["teller_queue"]
    print(
        f"  {name:11}: wait {wait.mean:5.2f} ± {wait.half_width:.2f} min,"
        f" queue {queue.mean:.2f} ± {queue.half_width:.2f} customers,"
        f" utilisation {row['teller_utilisation_pct'].mean:.0f} %"
    )
one, two, busier = np.array([study.values(n, "teller_wait") for n in ALTERNATIVES])
saved = cg.statistics.mean(one - two)
print(claim("A second teller saves more than 3 minutes", saved, above=3))

# %% The figure


def draw():
    with cg.plots.styled("lecture"):
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(15, 6), layout="constrained", width_ratios=(3, 2)
        )
        times_min, queue = day.series("teller", "queue")
        left.step(np.array(times_min) / 60, queue, where="post", color="#0B4F9C")
        left.axhline(figures["teller_queue"], color="#C04A00")
        left.set(xlabel="time (h)", ylabel="customers in the queue", ylim=(0, None))
        left.set_title(
            "(a) one day, and its time average", loc="left", fontsize="medium"
        )
        right.plot(waits_min, range(1, 11), "o", color="0.5", label="mean of a day")
        right.errorbar(
            interval.mean,
            0,
            xerr=interval.half_width,
            fmt="D",
            color="#C04A00",
            capsize=6,
            label="mean of ten days, 95 % interval",
        )
        right.set(xlabel="mean wait (min)", ylabel="day", xlim=(0, None), ylim=(-1, 13))
        right.set_yticks(range(1, 11))
        right.legend(frameon=False, loc="upper right", fontsize="small")
        right.set_title("(b) ten days", loc="left", fontsize="medium")
        Path("pictures").mkdir(exist_ok=True)
        figure.savefig("pictures/lecture_3.png", dpi=150)


draw()

# %% [markdown]
# ## Three misconceptions
# **"The mean of the recorded lengths is the mean length of the queue."** It counts a
# length that lasts a second as much as one that lasts an hour. On the ten days above it
# is too high by more than 10 % on average, because more lengths are recorded in busy
# periods.
#
# **"11 % more customers wait about 11 % longer."** One arrival every 4.5 instead of
# every 5 minutes means 11 % more customers. In the study the mean wait rises by more
# than a quarter.
#
# **"95 % of the days lie in the 95 % interval."** The interval is for the mean over all
# days, not for a day. It becomes narrower with more replications, but the variation
# between days does not.

# %%
recorded = np.array([run.series("teller", "queue")[1].mean() for run in days])
over_time = np.array([run.summary()["teller_queue"] for run in days])
ratio = cg.statistics.mean(recorded / over_time)
print(f"mean of recorded lengths over time average: {ratio.mean:.2f}")
print(claim("The mean of the recorded lengths is too high", ratio, above=1.1))

rise = busier.mean() / one.mean()
more_pct = 100 * (5 / 4.5 - 1)
print(f"{more_pct:.0f} % more customers wait {rise:.2f} times as long")
print(claim("The wait rises by more than a quarter", rise, above=1.25))

mean = cg.statistics.mean(one)
inside = np.mean((mean.low < one) & (one < mean.high))
print(f"{100 * inside:.0f} % of 30 days lie in {mean.mean:.1f} ± {mean.half_width:.1f}")
print(claim("Fewer than 70 % of the days lie in it", inside, below=0.7))

# %% [markdown]
# ## Five questions
# <details><summary>1. Which of these are averages over time: wait, utilisation, queue
# length, time in the system?</summary>
#
# Utilisation and queue length.
# </details>
# <details><summary>2. A queue has length 0 for 50 minutes and length 6 for 10 minutes.
# What is its time average?</summary>
#
# (0 times 50 + 6 times 10) / 60 = 1 customer.
# </details>
# <details><summary>3. A shop has 12 customers inside on average, and 2 enter per
# minute. How long do they stay?</summary>
#
# By Little's law W = L / λ = 6 minutes.
# </details>
# <details><summary>4. You want the interval to be half as wide. How many replications
# do you need?</summary>
#
# About four times as many: the half width falls with the square root of n.
# </details>
# <details><summary>5. Are two runs with the same seed two replications?</summary>
#
# No. They draw the same numbers and give the same result.
# </details>
#
# ## You can now
# - say whether a figure is an average over customers or over time, and compute it;
# - measure waits, queue and utilisation with `cg.Resource` and `cg.Monitor`;
# - check a run by Little's law;
# - write a model with parameters and replicate it;
# - report a mean with its half width.
#
# ## References
# - Law, *Simulation Modeling and Analysis*, 5th ed., Chapter 1 (time averages, the
#   single-server queue) and Chapter 9 (output analysis).
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation*, 5th ed., Chapter 6
#   (Little's equation as the conservation equation) and Chapter 11 (estimation of
#   absolute performance).
# - J. D. C. Little, "A Proof for the Queuing Formula: L = λW", Operations Research 9
#   (1961), 383-387.
#
# ## Exercises
# **3.1** What is the time average of the length of a queue? Your own lengths:
# `cg.exercises.question(3.1, "your name")`.
# `cg.exercises.check(3.1, answer, "your name")`
#
# **3.2** How long do patients stay in a ward, by Little's law? Your own numbers:
# `cg.exercises.question(3.2, "your name")`.
# `cg.exercises.check(3.2, answer, "your name")`
#
# **3.3** Write a process `customer(env, desk, stay, service)`: the customer arrives
# now, is served by `desk` for the time `service`, and records the time from arrival to
# departure in the monitor `stay`. `cg.exercises.check(3.3, customer)`
