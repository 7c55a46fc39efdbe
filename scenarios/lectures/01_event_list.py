"""Four customers of a bank are eight events, and the clock jumps from one event to the
next.

(Lecture 1: the event list)
"""

# %% [markdown]
# ## What is simulated
# A bank has one teller. Customers arrive, wait until the teller is free, are served and
# leave. How long do they wait? A **simulation** answers by imitating the bank in a
# program. First the words:
#
# | word | meaning | in the bank |
# |---|---|---|
# | **system** | the part of the world that we study | the bank |
# | **entity** | an object in it | a customer, the teller |
# | **attribute** | a property of an entity | arrival time, service time |
# | **state** | all that we need to know at a moment | who waits, who is served |
# | **event** | a moment at which the state changes | an arrival, a departure |
# | **activity** | a time of known length between events | a service |
#
# Between two events nothing changes. So it is enough to look at the bank when an event
# occurs. This is **discrete-event simulation**.
#
# ## The future event list
# The program keeps a list of future events, the **future event list**. An entry is
# an **event notice**: time, kind, customer. One loop does the whole simulation:
#
# 1. take the earliest notice off the list;
# 2. set the clock to its time;
# 3. change the state;
# 4. put the events on the list that follow from it.
#
# An arrival puts the next arrival on the list. The beginning of a service puts the
# departure, which is its end, on the list. In Python the list is a **heap**: `heappush`
# enters a notice, and `heappop` removes and returns the smallest one. Tuples are
# compared from the left, so this is the earliest. `claim` checks a sentence of the text
# against a result.

# %%
import heapq
from collections import Counter
from pathlib import Path

import numpy as np
import simpy
from matplotlib import pyplot as plt

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim

ARRIVALS_MIN, SERVICES_MIN = (2, 5, 6, 11), (8, 2, 6, 4)


def simulate(arrivals_min, services_min):
    """Return waits, and a row per event: clock, event, queue, served, event list."""
    future = [(arrivals_min[0], "arrival", 0)]
    queue, served, rows = [], None, []  # the state: who waits, and who is served
    waits_min = [None] * len(arrivals_min)
    while future:
        clock_min, kind, customer = heapq.heappop(future)
        if kind == "arrival":
            queue.append(customer)
            following = customer + 1
            if following < len(arrivals_min):
                heapq.heappush(future, (arrivals_min[following], "arrival", following))
        else:
            served = None
        if queue and served is None:  # a service begins
            served = queue.pop(0)
            waits_min[served] = clock_min - arrivals_min[served]
            end_min = clock_min + services_min[served]
            heapq.heappush(future, (end_min, "departure", served))
        event = f"{kind} {customer}"
        rows.append((clock_min, event, tuple(queue), served, sorted(future)))
    return waits_min, rows


waits_min, rows = simulate(ARRIVALS_MIN, SERVICES_MIN)
LINE = "{:>5}  {:<12}{:<9}{:<8}{}"
print(LINE.format("clock", "event", "queue", "served", "future event list"))
for clock_min, event, queue, served, future in rows:
    notices = ", ".join(f"{at} {kind} {customer}" for at, kind, customer in future)
    waiting = " ".join(map(str, queue)) or "-"
    served = "-" if served is None else served
    print(LINE.format(clock_min, event, waiting, served, notices or "-"))
print("waits in minutes:", waits_min)
print(claim("Four customers are eight events", len(rows), equal=8))
print(claim("Their mean wait is 4.5 minutes", sum(waits_min) / 4, equal=4.5))

# %% [markdown]
# Read the table line by line. At minute 6, customer 2 arrives: the teller serves
# customer 0 until minute 10, so both customers 1 and 2 wait. The next two events are
# known: a departure at 10 and an arrival at 11. The clock does not tick: it **jumps**
# from 2 to 5, to 6, to 10.
#
# ## The same in SimPy
# SimPy is a Python library that keeps clock (`env.now`) and event list. We write down
# what one customer does, a **process**. `yield` means "wait until this event has
# occurred", and `env.timeout(4)` is an event 4 minutes from now; lecture 2 explains
# both. `env.step()` takes one notice off the list. `env.peek()` is the time of the next
# one, infinity if there is none.


# %%
def customer(env, teller, arrival_min, service_min, waits_min):
    yield env.timeout(arrival_min)
    with teller.request() as turn:  # queue for the teller
        yield turn
        waits_min.append(env.now - arrival_min)
        yield env.timeout(service_min)


env, in_simpy = simpy.Environment(), []
teller = simpy.Resource(env, capacity=1)
for arrival_min, service_min in zip(ARRIVALS_MIN, SERVICES_MIN):
    env.process(customer(env, teller, arrival_min, service_min, in_simpy))
taken = Counter()
while env.peek() < float("inf"):
    env.step()
    taken[env.now] += 1
notices = ", ".join(f"{number} at {at}" for at, number in taken.items())
print("notices that SimPy takes off its list:", notices)
print("waits in minutes:", in_simpy)
print(claim("The waits are the same", in_simpy == waits_min, equal=True))
times_as_many = sum(taken.values()) / len(rows)
print(claim("SimPy takes three times as many notices", times_as_many, equal=3))

# %% [markdown]
# SimPy takes three times as many notices: the start of a process, a granted request and
# a release are events, too. The jumps of the clock are the same.
#
# ## A thousand customers
# The same function with random times: `rng.exponential(5, 1000)` draws 1,000 gaps
# between arrivals, 5 minutes on average. A service takes 4 minutes on average.

# %%
rng = np.random.default_rng(1)
arrivals_min = np.cumsum(rng.exponential(5, 1000)).tolist()
services_min = rng.exponential(4, 1000).tolist()
many_waits_min, many_rows = simulate(arrivals_min, services_min)
print(f"{len(many_rows)} events in {many_rows[-1][0]:.0f} minutes,", end=" ")
print(f"mean wait {np.mean(many_waits_min):.1f} min")
print(claim("1,000 customers are 2,000 events", len(many_rows), equal=2000))
longest = max(len(future) for *_, future in many_rows)
print(claim("The event list never has more than two notices", longest, equal=2))

# %% The figure


def draw():
    with cg.plots.styled("lecture"):
        figure, (top, bottom) = plt.subplots(
            2, 1, figsize=(10, 5.6), layout="constrained", sharex=True
        )
        for number, wait_min in enumerate(waits_min):
            begin_min = ARRIVALS_MIN[number] + wait_min
            top.broken_barh(
                [(begin_min, SERVICES_MIN[number])], (0, 1), color="#9ecae1", ec="white"
            )
            top.text(begin_min + 0.3, 0.5, str(number), va="center")
        bottom.step(
            [0, *(row[0] for row in rows)],
            [0, *(len(row[2]) for row in rows)],
            where="post",
            color="black",
        )
        for clock_min, event, *_ in rows:
            colour = "#C04A00" if "arrival" in event else "#0B4F9C"
            for ax in (top, bottom):
                ax.axvline(clock_min, color=colour, lw=1.5, ls=":", zorder=3)
        top.set(yticks=[0.5], yticklabels=["served"])
        top.set_title("arrivals (orange) and departures (blue)", fontsize="medium")
        bottom.set(xlabel="clock (min)", ylabel="queue", yticks=(0, 1, 2), xlim=(0, 23))
        bottom.set_xticks([row[0] for row in rows])
        Path("pictures").mkdir(exist_ok=True)
        figure.savefig("pictures/lecture_1.png", dpi=150)


draw()

# %% [markdown]
# ## Three misconceptions
# **"A long time needs a long run."** What counts is the number of events. If the bank
# is closed for a night of 16 hours between two customers, the number of events remains
# the same.
#
# **"A clock that ticks every 2 minutes gives the same result."** It notices arrivals
# and departures too late, and the delays add up in the queue. With ticks of one second
# the result is nearly right, but there are more than a hundred ticks per event.
#
# **"If two events have the same time, their order does not matter."** A shop closes at
# minute 480, and a customer arrives at minute 480. Order decides whether the customer
# is served: SimPy takes events of the same time in the order in which they were
# scheduled.


# %%
def ticking(arrivals_min, services_min, tick_min):
    """Return the mean wait and the number of ticks of a clock that ticks."""
    queue, free_at, total_min, tick, arrived = [], 0.0, 0.0, 0, 0
    while queue or arrived < len(arrivals_min):
        clock_min = tick * tick_min
        while arrived < len(arrivals_min) and arrivals_min[arrived] <= clock_min:
            queue.append(arrived)
            arrived += 1
        if queue and free_at <= clock_min:
            served = queue.pop(0)
            total_min += clock_min - arrivals_min[served]
            free_at = clock_min + services_min[served]
        tick += 1
    return total_min / len(arrivals_min), tick


def served_at_closing(closing_first):
    """Return whether a customer who arrives at the closing time is served."""
    env, door, served = simpy.Environment(), ["open"], []

    def closing():
        yield env.timeout(480)
        door[0] = "closed"

    def customer():
        yield env.timeout(480)
        served.append(door[0] == "open")

    processes = (closing, customer) if closing_first else (customer, closing)
    for process in processes:
        env.process(process())
    env.run()
    return served[0]


night_min = [2, 5, 6 + 960, 11 + 960]
night = len(simulate(night_min, SERVICES_MIN)[1])
print(claim("With a night between them there are still eight events", night, equal=8))

mean_min = np.mean(many_waits_min)
for tick_min in (2, 1 / 60):
    by_ticks_min, ticks = ticking(arrivals_min, services_min, tick_min)
    print(
        f"tick {60 * tick_min:3.0f} s: mean wait {by_ticks_min:5.1f} min, {ticks} ticks"
    )
    off = by_ticks_min / mean_min
    if tick_min == 2:
        print(claim("Ticks of 2 minutes more than double the wait", off, above=2))
    else:
        print(claim("Ticks of a second are 5 % off at most", off, above=1, below=1.05))
        often = ticks / len(many_rows)
        print(claim("They are more than a hundred per event", often, above=100))
differ = served_at_closing(True) is False and served_at_closing(False) is True
print(claim("Order decides whether the customer is served", differ, equal=True))

# %% [markdown]
# ## Five questions
# <details><summary>1. What is an event notice?</summary>
#
# An entry of the future event list: the time of an event, its kind, and the entity.
# </details>
# <details><summary>2. Which events are on the list while the teller serves a customer?
# </summary>
#
# The departure of this customer, and the next arrival.
# </details>
# <details><summary>3. Why is the next arrival enough? Others follow.</summary>
#
# Each arrival puts the following one on the list when it occurs.
# </details>
# <details><summary>4. Is the service time of a customer a state, an attribute, or an
# event?</summary>
#
# An attribute. The service itself is an activity.
# </details>
# <details><summary>5. The bank has two tellers. What changes in the loop?</summary>
#
# The state: two customers can be served. A service begins while fewer than two are
# served. The list can have three notices.
# </details>
#
# ## You can now
# - name entities, attributes, state, events and activities of a system;
# - run a simulation by hand, with clock, state and future event list;
# - explain why the clock jumps, and what it costs to let it tick;
# - step through the same simulation in SimPy.
#
# ## References
# - Law, *Simulation Modeling and Analysis*, 5th ed., Chapter 1 (discrete-event
#   simulation; time advance; the single-server queue).
# - Banks, Carson, Nelson, Nicol, *Discrete-Event System Simulation*, 5th ed., Chapter 1
#   (introduction), Chapter 2 (simulation examples) and Chapter 3 (general
#   principles: future event list and event notice).
#
# ## Exercises
# **1.1** What is the mean wait of four customers, in minutes? Work with a table as
# above. Your own numbers: `cg.exercises.question(1.1, "your name")`.
# `cg.exercises.check(1.1, answer, "your name")`, with the same name.
#
# **1.2** Write `in_order(events)`. The events are triples (time, priority, number) in
# the order in which they were scheduled. It returns a list of their numbers in the
# order in which they occur: by time; at the same time the smaller priority first; and
# if this is also equal, as they were scheduled. `cg.exercises.check(1.2, in_order)`
#
# **1.3** Write a process `source(env, gaps, times)`. `gaps` is a list of the times
# between arrivals. At each arrival the source appends the time on the clock to the list
# `times`; the first arrival is after the first gap. To try it, make `env` and an empty
# list `times`, call `env.process(source(env, [3, 4], times))` and then `env.run()`,
# which takes notices until none is left: `times` must be [3, 7].
# `cg.exercises.check(1.3, source)`
